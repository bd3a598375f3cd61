"""Fair timing of small calls: interleaved rounds in one process, medians, the empty loop taken off."""

import json
import platform
import statistics
import time


def time_once(call, repeats):
    clock = time.perf_counter
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def repeats_for(call, seconds=0.004):
    """How often to run *call* so that one measurement takes about *seconds*."""
    count = 1
    while True:
        spent = time_once(call, count) * count
        if spent > seconds / 4:
            return max(1, int(count * seconds / spent))
        count *= 4


def measure(calls, rounds=41):
    """Median seconds of each of *calls*, a dict of functions, without the cost of the loop around them.

    Each round times every call once, one after the other, so that a slow moment of the machine meets all of them.
    """
    repeats = {name: repeats_for(call) for name, call in calls.items()}
    samples = {name: [] for name in calls}
    empty = []
    for _ in range(rounds):
        empty.append(time_once(nothing, 20000))
        for name, call in calls.items():
            samples[name].append(time_once(call, repeats[name]))
    floor = statistics.median(empty)
    return {name: statistics.median(values) - floor for name, values in samples.items()}


def nothing():
    pass


def table(rows, peers, progress=None):
    """Measure *rows*, dicts {"call": text, "fastops": f, peer: g, ..., "target": {peer: ratio}}; return results.

    Prints each line as it is there.
    """
    print(f"{'call':<34}{'fastops':>10}" + "".join(f"{peer:>12}{'ratio':>8}{'target':>8}" for peer in peers))
    results = []
    for row in rows:
        calls = {name: row[name] for name in ("fastops", *peers) if name in row}
        seconds = measure(calls)
        result = {"call": row["call"], "nanoseconds": {name: value * 1e9 for name, value in seconds.items()},
                  "ratio": {name: value / seconds["fastops"] for name, value in seconds.items() if name != "fastops"},
                  "target": row.get("target", {})}
        results.append(result)
        line = f"{row['call']:<34}{result['nanoseconds']['fastops']:>8.0f}ns"
        for peer in peers:
            if peer in seconds:
                target = result["target"].get(peer)
                line += f"{result['nanoseconds'][peer]:>10.0f}ns{result['ratio'][peer]:>7.1f}x"
                line += f"{target:>7}x" if target else f"{'-':>8}"
            else:
                line += f"{'-':>12}{'-':>8}{'-':>8}"
        print(line, flush=True)
    return results


def markdown(results, peers):
    """The results as a table for a page."""
    lines = ["| call | fastops | " + " | ".join(f"{peer} | times faster | to reach" for peer in peers) + " |",
             "|---|---|" + "---|---|---|" * len(peers)]
    for result in results:
        cells = [f"`{result['call']}`", f"{result['nanoseconds']['fastops']:.0f} ns"]
        for peer in peers:
            if peer in result["nanoseconds"]:
                target = result["target"].get(peer)
                cells += [f"{result['nanoseconds'][peer]:.0f} ns", f"{result['ratio'][peer]:.1f}", str(target or "")]
            else:
                cells += ["", "", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def save(path, name, results):
    """Write *results* with what they were measured on as JSON."""
    import fastops
    import numpy
    versions = {"python": platform.python_version(), "numpy": numpy.__version__, "fastops": fastops.__version__}
    try:
        import torch
        versions["torch"] = torch.__version__
    except ImportError:
        pass
    with open(path, "w") as file:
        json.dump({"benchmark": name, "machine": platform.machine(), "versions": versions, "results": results}, file,
                  indent=1)
    print(f"written: {path}")
