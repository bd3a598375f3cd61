"""What ``import fastops`` costs beside ``import numpy``: medians of new processes, taken in turn."""

import statistics
import subprocess
import sys
import time


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main(rounds=21):
    import compileall
    import fastops
    compileall.compile_dir(fastops.__path__[0], quiet=1)        # as an installation does
    cases = {"nothing": "pass", "numpy": "import numpy", "fastops": "import fastops"}
    samples = {name: [] for name in cases}
    for _ in range(rounds):
        for name, code in cases.items():
            samples[name].append(seconds(code))
    medians = {name: statistics.median(values) * 1000 for name, values in samples.items()}
    print(f"import numpy    {medians['numpy'] - medians['nothing']:6.1f} ms")
    print(f"import fastops  {medians['fastops'] - medians['nothing']:6.1f} ms, "
          f"{medians['fastops'] - medians['numpy']:.1f} ms more than NumPy's own (target: at most 40)")


if __name__ == "__main__":
    main()
