"""Operators of foreign ufuncs: NumPy's, SciPy's, Numba's, with their loops, dtypes and core axes."""

import subprocess
import sys

import numpy as np
import pytest

import fastops as fo
from fastops import errors
from fastops._gufunc import parse_signature
from fastops.library import from_ufunc
from fastops.testing import assert_array_equal, assert_close, check_op

scipy_special = pytest.importorskip("scipy.special")

ELEMENTWISE = [getattr(scipy_special, name) for name in (
    "erf erfcx dawsn gamma rgamma psi jv yv kv ellipk ellipj airy sici fresnel expi binom betaln hyp2f1 eval_legendre owens_t kl_div "
    "boxcox exprel cosm1 round zetac agm nbdtr").split()]


@pytest.mark.parametrize("ufunc", ELEMENTWISE, ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_of_scipy_keeps_every_law(ufunc):
    operator = from_ufunc(ufunc, f"tests_scipy::{ufunc.__name__}")
    rng = np.random.default_rng(1)
    for dtypes in {tuple(types.partition("->")[0]) for types in ufunc.types if not set(types) & set("gGl")}:
        arguments = [rng.uniform(1.1, 3.0, (3, 4)).astype(dtype) for dtype in dtypes]
        assert check_op(operator, [fo.samples.Sample(*arguments)]) == 1
        assert check_op(operator, [fo.samples.Sample(arguments[0].T, *[argument[0, 0] for argument in arguments[1:]])]) == 1


def test_the_same_operator_comes_back_and_another_is_refused():
    first = from_ufunc(np.hypot, "tests_ufunc::same")
    assert from_ufunc(np.hypot, "tests_ufunc::same") is first
    assert fo.ops.tests_ufunc.same.default is first
    with pytest.raises(errors.RegistrationError, match="already defined"):
        from_ufunc(np.add, "tests_ufunc::same")
    assert from_ufunc(np.copysign)._name == "ufunc::copysign"


def test_derivative_is_kept():
    rule = object()
    assert from_ufunc(np.cbrt, "tests_ufunc::cbrt", derivative=rule).rules.derivative is rule


@pytest.mark.parametrize("name, shapes", [
    ("inv", [(2, 3, 3)]), ("det", [(4, 2, 2)]), ("eigh_lo", [(3, 3)]), ("solve", [(2, 1, 3, 3), (5, 3, 2)]), ("vecdot", [(2, 4), (4,)])])
def test_generalized_ufuncs(name, shapes):
    from numpy.linalg import _umath_linalg
    ufunc = getattr(_umath_linalg, name, None) or np.vecdot
    operator = from_ufunc(ufunc, f"tests_gufunc::{name}")
    rng = np.random.default_rng(2)
    arguments = [rng.uniform(0.0, 1.0, shape) + (4 * np.eye(shape[-1]) if shape[-2:] == (shape[-1],) * 2 else 0) for shape in shapes]
    expected = ufunc(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = operator(*[fo.asarray(argument) for argument in arguments])
    actual = actual if isinstance(actual, tuple) else (actual,)
    meta = operator(*[fo.empty(argument.shape, device="meta") for argument in arguments])
    meta = meta if isinstance(meta, tuple) else (meta,)
    for ours, theirs, without in zip(actual, expected, meta, strict=True):
        assert_close(ours, np.asarray(theirs), rtol=1e-12)
        assert without.shape == ours.shape and without.dtype == ours.dtype
    if len(expected) == 1 and expected[0].ndim:
        out = fo.zeros(expected[0].shape)
        assert operator(*[fo.asarray(argument) for argument in arguments], out=out) is out
        assert_close(out, expected[0], rtol=1e-12)


@pytest.mark.parametrize("arguments, word", [
    (([1.0, 2.0], [1.0, 2.0, 3.0]), "lengths 2 and 3"), ((1.0, [1.0]), "at least 1"), (([[1.0, 2.0]] * 2, [[1.0, 2.0]] * 3), "broadcast")])
def test_wrong_core_axes(arguments, word):
    operator = from_ufunc(np.vecdot, "tests_gufunc::core")
    with pytest.raises(ValueError, match=word):
        operator(*[fo.asarray(argument) for argument in arguments])


def test_signatures():
    assert parse_signature("(m, n),(n)->(m),()") == ([["m", "n"], ["n"], ["m"], []], 2)
    for text in ("", "m->n", "(m)", "(m)->n"):
        with pytest.raises(ValueError, match="no signature"):
            parse_signature(text)


def test_what_is_no_ufunc():
    for thing in (len, None, 3, np.frompyfunc(lambda x: x, 1, 1)):
        with pytest.raises(TypeError):
            from_ufunc(thing, "tests_ufunc::never")
    with pytest.raises(errors.RegistrationError, match="namespace::name"):
        from_ufunc(np.sin, "bare")


def test_numba_vectorize():
    numba = pytest.importorskip("numba", reason="Numba is not installed")

    @numba.vectorize
    def scaled(x, y):
        return 2 * x + y

    @numba.vectorize(["float64(float64, float64)", "float32(float32, float32)"])
    def fixed(x, y):
        return x * y

    @numba.guvectorize(["(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    def inner(x, y, out):
        out[0] = (x * y).sum()

    operator = from_ufunc(scaled, "tests_numba::scaled")
    for dtype in ("f4", "f8", "i8"):
        x = np.arange(6, dtype=dtype)
        assert_array_equal(operator(fo.asarray(x), fo.asarray(x)), 3 * x)
    x = np.arange(4.0)
    assert_array_equal(from_ufunc(fixed, "tests_numba::fixed")(fo.asarray(x), 2.0), 2 * x)
    assert_array_equal(from_ufunc(inner, "tests_numba::inner")(fo.ones((3, 4)), fo.asarray(x)), np.full(3, 6.0))


def test_special_functions_load_scipy_when_used_and_say_what_is_missing():
    program = """
import sys
import fastops as fo
assert "scipy" not in sys.modules and "fastops.ops.special" not in sys.modules
assert "erf" in dir(fo.special)
sys.modules["scipy"] = None
try:
    fo.special.erf
except ImportError as error:
    assert "fastops[scipy]" in str(error), error
else:
    raise SystemExit("no error")
try:
    fo.special.nothing
except AttributeError as error:
    assert "erfinv" in str(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
