"""What one call of another library on tensors is, and how it is judged.

A call is a function whose parameters are names of INPUTS. The same function on NumPy arrays says what it must give. Two facts
are recorded of each: it *works* if it gives the same values, shape and kind of dtype; it is *native* if what it gives is Tensors.
"""

import importlib
import inspect
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastops as fo

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))


def inputs():
    rng = np.random.default_rng(7)
    normal, square = rng.standard_normal, rng.standard_normal((4, 4))
    return {
        "v": rng.uniform(0.5, 4.0, 6), "w": normal(6), "x": np.sort(normal(6)), "z": np.array(1.5),     # vectors, a number
        "p": rng.uniform(0.05, 0.95, 6), "big": normal(60), "other": normal(60),
        "a": normal((4, 3)), "b": normal((3, 5)), "q": square, "s": square @ square.T + np.eye(4), "e": np.zeros((0, 3)),
        "t": normal((2, 3, 4)), "f": normal((4, 3)).astype("f4"), "image": rng.uniform(0, 1, (8, 9)),
        "i": rng.integers(-5, 6, 6), "n": rng.integers(0, 5, 6), "u": rng.integers(0, 200, (4, 3)).astype("u1"),
        "m": np.array([True, False, True, True, False, True]), "k": normal((4, 3)) > 0,
        "c": normal(6) + 1j * normal(6), "d": normal((3, 3)) + 1j * normal((3, 3)),
        "points": np.concatenate([normal((20, 3)) + 3, normal((20, 3)) - 3]), "labels": np.repeat([0, 1], 20),
        "scores": rng.uniform(0, 1, 40),
    }


INPUTS = inputs()
NUMPY = ("NumPy arrays", lambda array: array, (np.ndarray, np.generic))
FASTOPS = ("fastops", fo.asarray, fo.Tensor)


class Group:
    """The calls on one library: *minimum* is how many of them give Tensors, *environment* what must be set before imports.

    *faults* names the calls that do not work, with the reason: they are expected to fail, those in *unsteady* only mostly.
    A call that skips (its library is not here) counts nowhere.
    """

    def __init__(self, name, minimum, calls, environment=None, faults=None, unsteady=()):
        self.name, self.minimum = name, minimum
        self.environment, self.faults, self.unsteady = environment or {}, faults or {}, unsteady
        self.calls = dict(calls)
        assert len(self.calls) == len(calls), f"{name}: two calls have the same name"
        assert self.faults.keys() <= self.calls.keys(), self.faults.keys() - self.calls.keys()

    def facts(self, kind=FASTOPS):
        """A dict from call to (works, native, what went wrong); in another process if the environment is to be another."""
        if all(os.environ.get(name) == value for name, value in self.environment.items()):
            return {name: fact for name in self.calls if (fact := self.fact(name, kind)) is not None}
        file = next(iter(self.calls.values())).__module__.rpartition(".")[2]
        command = [sys.executable, "-m", "tests.ecosystem", "--of", kind[0], "--facts", file, self.name]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **self.environment}, capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def fact(self, name, kind=FASTOPS):
        try:
            return judge(self.calls[name], kind)
        except pytest.skip.Exception:
            return None

    def tests(self):
        """The two tests that a file hands to pytest: every call works, and enough of them are native."""
        found = {}

        def fact_of(name):
            # One by one where this process will do, so that a test alone runs its call alone.
            if self.environment and not found:
                found.update(self.facts())
            if name not in found:
                found[name] = self.fact(name)
            return found[name]

        def expectation(name):
            if name not in self.faults:
                return ()
            return pytest.mark.xfail(reason=self.faults[name], strict=name not in self.unsteady)

        @pytest.mark.parametrize("call", [pytest.param(name, marks=expectation(name)) for name in self.calls])
        def test_call_works(call):
            if fact_of(call) is None:
                pytest.skip("its library is not installed")
            works, _, problem = fact_of(call)
            assert works, problem

        def test_results_stay_native():
            native = [name for name in self.calls if fact_of(name) is not None and fact_of(name)[1]]
            assert len(native) >= self.minimum, f"{len(native)} of {len(self.calls)} calls give tensors: {native}"

        return test_call_works, test_results_stay_native


def arguments(function, make):
    return [make(INPUTS[name].copy()) for name in inspect.signature(function).parameters]


def judge(function, kind):
    """(works, native, what went wrong) of one call on arrays of *kind*."""
    _, make, classes = kind
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = plain(function(*arguments(function, np.asarray)))
        try:
            result = function(*arguments(function, make))
            difference = compare(plain(result), expected)
        except Exception as error:
            return False, False, f"{type(error).__name__}: {error}"
    arrays = [leaf for leaf in leaves(result) if hasattr(leaf, "dtype")]
    native = difference == "" and bool(arrays) and all(isinstance(leaf, classes) for leaf in arrays)
    return difference == "", native, difference


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def plain(value):
    """The same in NumPy's arrays, lists and dicts."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, bytes, type, np.dtype)):
        return value
    return np.asarray(value)


def compare(actual, expected):
    """What is different, in words; nothing if nothing is."""
    if isinstance(expected, np.ndarray):
        if not isinstance(actual, np.ndarray):
            return f"{actual!r} where NumPy gives an array"
        if actual.shape != expected.shape or actual.dtype.kind != expected.dtype.kind:
            return f"{actual.dtype}{actual.shape} where NumPy gives {expected.dtype}{expected.shape}"
        single = min(actual.dtype.itemsize, expected.dtype.itemsize) in (2, 4)
        same = np.allclose(actual, expected, 1e-5 if single else 1e-9, 1e-6 if single else 1e-12, equal_nan=True) \
            if expected.dtype.kind in "fc" else np.array_equal(actual, expected)
        return "" if same else f"{actual} where NumPy gives {expected}"
    if type(actual) is not type(expected):
        return f"{actual!r} where NumPy gives {expected!r}"
    if isinstance(expected, dict):
        if actual.keys() != expected.keys():
            return f"keys {list(actual)} where NumPy gives {list(expected)}"
        return "; ".join(filter(None, [compare(actual[name], expected[name]) for name in expected]))
    if isinstance(expected, list):
        if len(actual) != len(expected):
            return f"{len(actual)} results where NumPy gives {len(expected)}"
        return "; ".join(filter(None, map(compare, actual, expected)))
    return "" if actual == expected else f"{actual!r} where NumPy gives {expected!r}"


def groups(files=FILES):
    """Every group whose library is here, and the reasons why the others are not."""
    found, missing = {}, {}
    for name in files:
        try:
            module = importlib.import_module("." + name, __package__)
        except pytest.skip.Exception as skipped:
            missing[name] = str(skipped)
            continue
        found.update({group.name: group for group in vars(module).values() if isinstance(group, Group)})
    return found, missing
