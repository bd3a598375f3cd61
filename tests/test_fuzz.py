"""Arguments that nobody thought of: in processes of their own, so that a crash is seen as one."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest


def limit_memory():
    """8 GB of address space: what asks for more gets a MemoryError instead of the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_no_arguments_crash(seed):
    result = subprocess.run([sys.executable, str(Path(__file__).with_name("fuzz.py")), str(seed)], capture_output=True, text=True,
                            timeout=300, preexec_fn=limit_memory)
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    assert "calls returned" in result.stdout
