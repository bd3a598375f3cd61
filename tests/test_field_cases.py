"""Faults that bit real users of array frameworks: the case as it was reported, and the whole kind of it."""

import itertools

import numpy as np
import pytest

import fastops as fo
from fastops import registry, samples
from fastops.testing import assert_array_equal, quietly

A = fo.asarray
ELEMENTWISE = [operator for operator in registry.operators.values() if operator.namespace == "fastops" and operator.rules.family == "elementwise"
               and isinstance(operator.rules.reference, np.ufunc)]
REDUCTIONS = [getattr(fo, name) for name in ("sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "argmax", "argmin", "count_nonzero",
                                             "median", "nansum", "nanmax", "nanmean", "ptp", "cumsum", "logsumexp")]


# NP-01: in place and out= with overlapping memory are as if the operands had been copied first

def test_NP_01_as_reported():
    def tri(n):
        return A(np.arange(float(n * n)).reshape(n, n))

    for n in (2, 3, 65, 300):
        x = tri(n)
        x += x.T
        assert np.array_equal(np.asarray(x), np.asarray(tri(n)) + np.asarray(tri(n)).T)
    d = A([1, 3, 6, 10, 15])
    d[1:] -= d[:-1]
    assert d.tolist() == [1, 2, 3, 4, 5]
    a = A([[1.0, 2.0], [3.0, 5.0]])
    a -= a[:, :1]
    assert a.tolist() == [[0, 1], [0, 2]]
    r = A(np.arange(5.0))[::-1]
    fo.add(r[1:], r[:-1], out=r[1:])
    assert r.tolist() == [4, 7, 5, 3, 1]
    m = tri(3)
    fo.matmul(m, m, out=m)
    assert m.tolist() == [[15, 18, 21], [42, 54, 66], [69, 90, 111]]
    w = fo.broadcast_to(fo.ones((1, 1)), (2, 3))
    with pytest.raises(ValueError):
        w += 1


SHIFTS = {"later": (slice(1, None), slice(None, -1)), "earlier": (slice(None, -1), slice(1, None)),
          "reversed": (slice(None), slice(None, None, -1)), "every other": (slice(None, None, 2), slice(1, None, 2))}


@pytest.mark.parametrize("operator", [op for op in ELEMENTWISE if op.rules.reference.nin == 2 and op.rules.reference.nout == 1],
                         ids=lambda operator: operator._opname)
@pytest.mark.parametrize("shift", SHIFTS)
def test_NP_01_every_operator_of_two_arrays(operator, shift):
    target, source = SHIFTS[shift]
    for dtype, length in itertools.product(("f8", "i8", "?"), (4, 100, 20000)):
        base = samples.array(np.random.default_rng(length), (length,), dtype, 1.0, 3.0)
        try:
            wanted = quietly(operator.rules.reference, base[target].copy(), base[source].copy())
        except TypeError:
            continue
        if wanted.dtype != base.dtype:
            continue
        x = A(base.copy())
        quietly(operator, x[target], x[source], out=x[target])
        base[target] = wanted
        assert_array_equal(x, base)


# NP-02: Python's scalars are weak

def test_NP_02_as_reported():
    u = A([200], dtype=fo.uint8)
    assert (u + 100).tolist() == [44] and (u + 100).dtype == fo.uint8
    for call in (lambda: u + 300, lambda: u + (-1), lambda: A([300], dtype=fo.uint8)):
        with pytest.raises(OverflowError, match="uint8"):
            call()
    f = A([1.0, 2.0], dtype=fo.float32)
    kinds = [(f + 1e-10).dtype, (f * 1j).dtype, (A([1], dtype=fo.int8) + 1.0).dtype, (A([1], dtype=fo.int32) + True).dtype,
             fo.where(f > 1.5, f, 0).dtype, fo.maximum(True, True).dtype]
    assert kinds == [fo.float32, fo.complex64, fo.float64, fo.int32, fo.float32, fo.bool]
    with np.errstate(over="ignore"):
        big = f * 1e200
    assert big.tolist() == [np.inf, np.inf] and big.dtype == fo.float32


@pytest.mark.parametrize("operator", [op for op in ELEMENTWISE if op.rules.reference.nin == 2], ids=lambda operator: operator._opname)
def test_NP_02_every_operator_of_two_arrays(operator):
    """An array beside a scalar gives NumPy's dtype, on either side, with and without data."""
    for dtype, scalar in itertools.product(samples.ALL, (True, 2, 2.0, 2j)):
        array = np.ones((2,), dtype)
        for pair in ((array, scalar), (scalar, array)):
            try:
                wanted = quietly(operator.rules.reference, *pair)
            except TypeError:
                continue
            ours = quietly(operator, *[A(value) if value is array else value for value in pair])
            meta = operator(*[fo.empty((2,), dtype=dtype, device="meta") if value is array else value for value in pair])
            for one, other, expected in zip(*[value if isinstance(value, tuple) else (value,) for value in (ours, meta, wanted)]):
                assert one.dtype == other.dtype == expected.dtype


# NP-08: empty axes

def test_NP_08_as_reported():
    e = fo.empty
    shapes = [fo.argmax(e((0, 1)), axis=1).shape, fo.max(e((0, 2)), axis=1).shape, (fo.ones((2, 0)) + fo.ones((1, 1))).shape,
              (fo.ones((0, 1)) * fo.ones((1, 3))).shape, fo.einsum("ij,j", e((0, 3)), fo.ones(3)).shape, (fo.ones((3, 0, 0)) @ fo.ones((0, 0))).shape]
    assert shapes == [(0,), (0,), (2, 0), (0, 3), (0,), (3, 0, 0)]
    values = [fo.ones((3, 0)) @ fo.ones((0, 4)), fo.tensordot(fo.ones((3, 0)), fo.ones((0, 4)), axes=1), fo.sum(e((0, 3)), axis=0), fo.prod(e((0, 3)), axis=0)]
    for value, wanted in zip(values, (np.zeros((3, 4)), np.zeros((3, 4)), np.zeros(3), np.ones(3))):
        assert_array_equal(value, wanted)
    assert [len(fo.nonzero(fo.ones(shape))) for shape in ((0,), (1,), (0, 2), (0, 0, 2, 0))] == [1, 1, 2, 4]
    for call in (lambda: fo.max(e((0, 3)), axis=0), lambda: fo.min(e(0)), lambda: fo.argmax(e((0, 3)), axis=0)):
        with pytest.raises(ValueError, match="empty.*identity|identity"):
            call()
    assert fo.max(e((0, 3)), axis=0, initial=-np.inf).tolist() == [-np.inf] * 3
    with pytest.raises(ValueError, match=r"\(2, 0\).*\(2, 3\)"):
        fo.ones((2, 0)) + fo.ones((2, 3))
    with pytest.warns(RuntimeWarning):
        assert np.isnan(fo.mean(e(0)).item())


@pytest.mark.parametrize("operator", REDUCTIONS, ids=lambda operator: operator._opname)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_NP_08_every_reduction(operator, shape):
    """Of empty arrays along each axis: NumPy's shape and values, or NumPy's kind of error."""
    for axis in (None, *range(len(shape))):
        reference = operator.rules.reference
        try:
            wanted = quietly(reference, np.empty(shape), axis=axis)
        except ValueError:
            with pytest.raises(ValueError):
                quietly(operator, fo.empty(shape), axis=axis)
            continue
        result = quietly(operator, fo.empty(shape), axis=axis)
        assert result.dtype == np.asarray(wanted).dtype
        assert_array_equal(result, wanted)
