"""Compiled functions of Numba take tensors as arrays, and hand tensors out."""

import pytest

numba = pytest.importorskip("numba", reason="Numba is not installed")

import gc                               # noqa: E402
import sys                              # noqa: E402

import numpy as np                      # noqa: E402

import fastops as fo                    # noqa: E402

from .calls import Group                # noqa: E402


@numba.njit
def total(a):
    result = 0.0
    for value in a.flat:
        result += value
    return result


@numba.njit
def doubled(a):
    return a * 2


@numba.njit
def same(a):
    return a


@numba.njit
def fill(a):
    a[:] = 7
    return a


@numba.njit
def transposed(a):
    return a.T


@numba.njit
def product(a, b):
    return a @ b


@numba.njit
def both(a):
    return a.sum(), a.mean()


@numba.njit
def sliced(a):
    return a[1:, ::-1]


@numba.njit
def swapped(pair):
    return pair[1], pair[0]


@numba.njit
def listed(a):
    return [row.sum() for row in a]


@numba.njit("f8(f8[:])")
def typed(v):
    return v.sum()


@numba.njit(parallel=True)
def parallel(v):
    result = 0.0
    for place in numba.prange(len(v)):
        result += v[place]
    return result


@numba.vectorize(["f8(f8)"])
def square(value):
    return value * value


@numba.vectorize
def cube(value):
    return value * value * value


@numba.guvectorize(["f8[:], f8[:]"], "(n)->()")
def largest(v, result):
    result[0] = v.max()


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


NUMBA = Group("Numba", 9, [
    ("loop", lambda a: total(a)), ("loop over a transpose", lambda a: total(a.T)), ("float32", lambda f: total(f)),
    ("integers", lambda i: total(i)), ("nothing", lambda e: total(e)), ("number", lambda z: both(z)),
    ("array result", lambda a: doubled(a)), ("complex", lambda c: doubled(c)), ("same", lambda a: same(a)),
    ("written", lambda v: (fill(v), v)[1]), ("transposed", lambda a: transposed(a)), ("matmul", lambda a, b: product(a, b)),
    ("several results", lambda a: both(a)), ("sliced", lambda a: sliced(a)), ("tuple", lambda v, w: swapped((v, w))),
    ("list", lambda a: listed(a)), ("mixed with NumPy", lambda a: product(a, np.ones((3, 2)))),
    ("typed signature", lambda v: typed(v)), ("parallel", lambda v: parallel(v)), ("vectorize", lambda v: square(v)),
    ("dynamic vectorize", lambda v: cube(v)), ("guvectorize", lambda a: largest(a)), ("stencil", lambda v: neighbours(v)),
    ("typeof", lambda a: numba.typeof(a).ndim),
], faults={"typed signature": "a signature names NumPy's arrays, and Numba unboxes only these for it"})

test_call_works, test_results_stay_native = NUMBA.tests()


def test_memory_is_shared_and_kept():
    tensor = fo.asarray(np.arange(12.0).reshape(4, 3))
    view = transposed(tensor)
    tensor[0, 1] = 50.0
    assert float(view[1, 0]) == 50.0
    del tensor
    gc.collect()
    again = fo.zeros((4, 3)) + 9.0          # would take the freed memory
    assert float(view[1, 0]) == 50.0 and float(again[0, 0]) == 9.0


@pytest.mark.parametrize("function", [total, doubled, same, transposed, fill])
def test_no_reference_is_kept(function):
    tensor = fo.asarray(np.ones((4, 3)))
    function(tensor)
    before = sys.getrefcount(tensor)
    for _ in range(1000):
        function(tensor)
    assert sys.getrefcount(tensor) == before


def test_read_only_memory_is_not_written():
    array = np.ones(3)
    array.flags.writeable = False
    tensor = fo.asarray(array)
    assert not tensor.writeable and total(tensor) == 3.0
    with pytest.raises(numba.TypingError, match="setitem"):
        fill(tensor)
    assert not same(tensor).writeable


def test_types_of_tensors_and_arrays_differ():
    tensor = fo.asarray(np.ones((4, 3), order="F"))
    kind = numba.typeof(tensor)
    assert (kind.ndim, kind.layout, kind.mutable, kind.dtype) == (2, "F", True, numba.float64)
    assert kind != numba.typeof(np.asarray(tensor)) and isinstance(kind, numba.types.Array)
    assert type(doubled(tensor)) is fo.Tensor and type(doubled(np.asarray(tensor))) is np.ndarray


def test_no_memory_no_call():
    with pytest.raises(TypeError, match="meta"):
        total(fo.zeros((2, 2), device="meta"))
