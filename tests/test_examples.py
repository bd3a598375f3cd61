"""The examples run, and reach what they promise."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_digits():
    result = subprocess.run([sys.executable, str(EXAMPLES / "digits.py")], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    accuracy = float(re.search(r"held-out accuracy   fastops ([\d.]+)%", result.stdout).group(1))
    assert accuracy >= 96.0
    assert re.search(r"digits.softmax_error.default  CPU  .*digits.py:\d+", result.stdout)
    assert "device='meta'" in result.stdout
    assert "epoch  40/40" in result.stdout
