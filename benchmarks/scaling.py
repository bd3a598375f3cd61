"""How the cost of a backward pass and its memory grow: time for each node of longer and longer records, and peak memory beside what formulas keep.

Run: ``python benchmarks/scaling.py``.
"""

import resource
import subprocess
import sys
import time

import fastops as fo

LENGTHS = [100, 10_000, 1_000_000]
ARRAYS = 40
SIZE = 1_000_000            # elements of an array in the measurement of memory


def chain(length):
    """Nanoseconds for each node: recording, sweeping, and freeing a chain of additions."""
    x = fo.ones(1, requires_grad=True)
    started = time.perf_counter_ns()
    y = x
    for _ in range(length):
        y = y + 1.0
    recorded = time.perf_counter_ns()
    y.backward()
    swept = time.perf_counter_ns()
    del y
    freed = time.perf_counter_ns()
    return [part / length for part in (recorded - started, swept - recorded, freed - swept)]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory():
    """Peak memory of a training step and what its formulas must keep, in MB; for a fresh process.

    The sweep frees what it has used, and the gradients come in its place.
    """
    weights = [fo.full(SIZE, 0.5, requires_grad=True) for _ in range(ARRAYS)]
    x = fo.ones(SIZE)
    before = peak()
    for weight in weights:
        x = fo.tanh(x * weight)             # keeps x, the weight (there already) and the result, which is the next x
    x.sum().backward()
    needed = ARRAYS * SIZE * 8              # the results of tanh
    return (peak() - before) / 1e6, needed / 1e6


def main():
    if "--memory" in sys.argv:
        print(*memory())
        return
    print("nodes       recording   sweeping    freeing   (ns for each node; the least of several runs)")
    for length in LENGTHS:
        times = [chain(length) for _ in range(max(3, 200_000 // length))]
        print(f"{length:>9}  " + "".join(f"{min(column):10.0f}" for column in zip(*times)))
    used, needed = map(float, subprocess.run([sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True).stdout.split())
    print(f"\na training step over {ARRAYS} arrays of {SIZE * 8 / 1e6:.0f} MB: peak {used:.0f} MB, kept for formulas {needed:.0f} MB: {used / needed:.2f}x (target: at most 1.1)")


if __name__ == "__main__":
    main()
