"""The types that people see: the stubs are current and whole, checkers accept a right program and report every wrong use."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fastops as fo

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fastops"
WRONG = ROOT / "tests" / "typing_errors.py"
fo.special.erf              # declares the special functions


def generator():
    spec = importlib.util.spec_from_file_location("make_stubs", ROOT / "docs" / "make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_are_current():
    assert (PACKAGE / "py.typed").exists()
    for path, text in generator().stubs():
        assert path.read_text() == text, f"{path.name}: run docs/make_stubs.py"


def names_in(stub):
    """The names that a stub defines, and those of its class Tensor."""
    path = PACKAGE / stub / "__init__.pyi"
    tree = ast.parse((path if path.exists() else PACKAGE / f"{stub}.pyi").read_text())
    names, members = set(), set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.ClassDef) and node.name == "Tensor":
            members = {member.name for member in node.body}
    return names, members


def test_every_public_name_has_a_type():
    names, members = names_in("__init__")
    public = {name for name in vars(fo) if not name.startswith("_")}
    assert not public - names - {"compat", "ops", "registrations"}, sorted(public - names)
    attributes = {name for name in dir(fo.Tensor) if not name.startswith("_")}
    assert not attributes - members, sorted(attributes - members)
    assert not {name for name in members if not name.startswith("_")} - attributes
    for module in ("autograd", "func", "linalg", "fft", "random", "special"):
        listed = set(getattr(fo, module).__all__)
        assert listed <= names_in(module)[0], sorted(listed - names_in(module)[0])


def lines_with_errors():
    return {number for number, line in enumerate(WRONG.read_text().split("\n"), 1) if line.endswith("# error")}


def reported(output):
    return {int(line) for line in re.findall(r"typing_errors\.py:(\d+):(?:\d+)?.*error", output)}


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, timeout=300)


def test_mypy():
    pytest.importorskip("mypy", reason="mypy is not installed")
    options = ("mypy", "--strict", "--follow-imports=silent", "--cache-dir=/dev/null")
    right = run(*options, "examples/typed.py", *[str(path) for path, _ in generator().stubs()])
    assert right.returncode == 0, right.stdout
    assert reported(run(*options, str(WRONG)).stdout) == lines_with_errors()


def test_pyright():
    pytest.importorskip("pyright", reason="pyright is not installed")
    right = run("pyright", "--pythonpath", sys.executable, "examples/typed.py")
    if "error" not in right.stdout and right.returncode:
        pytest.skip(f"pyright cannot run here: {right.stderr[-200:]}")
    assert right.returncode == 0, right.stdout
    assert reported(run("pyright", "--pythonpath", sys.executable, str(WRONG)).stdout) == lines_with_errors()


def test_the_program_runs():
    done = subprocess.run([sys.executable, "examples/typed.py"], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "weights [2.0, -1.0, 0.5]" in done.stdout and "strongest frequency 8.0" in done.stdout
