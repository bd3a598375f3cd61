"""The examples run, and reach what they promise."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name):
    result = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_digits():
    shown = run("digits.py")
    assert float(re.search(r"held-out accuracy   fastops ([\d.]+)%", shown).group(1)) >= 96.0
    assert float(re.search(r"largest difference of a weight ([\d.e+-]+)", shown).group(1)) < 1e-8
    assert re.search(r"digits.cross_entropy.default  CPU  .*digits.py:\d+", shown)
    assert "by vmap(grad): median" in shown and "device='meta'" in shown and "epoch  40/40" in shown


def test_fit_heat():
    shown = run("fit_heat.py")
    differences = [float(value) for value in re.findall(r"relative difference ([\d.e+-]+)", shown)]
    assert len(differences) == 3 and max(differences) < 1e-6
    assert float(re.search(r"largest relative error of a conductivity ([\d.]+)%", shown).group(1)) < 5.0


def test_newton():
    shown = run("newton.py")
    assert "found 4 solutions" in shown and len(re.findall(r"steps +\d+ orbits", shown)) > 2


def test_ensemble():
    shown = run("ensemble.py")
    assert float(re.search(r"beside jacfwd: largest difference ([\d.e+-]+)", shown).group(1)) < 1e-12


def test_the_program_that_is_differentiated_knows_nothing_of_it():
    assert "fastops" not in (EXAMPLES / "heat.py").read_text()
