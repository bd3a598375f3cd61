"""Operators written in other operators: they decompose, and need no kernel or rule of their own."""

import math

import numpy as np

from fastops import samples
from fastops._dispatch import Tensor, as_tensor
from fastops.derivatives import partials
from fastops.ops.create import arange, full_like
from fastops.ops.elementwise import (abs, cos, divide, equal, isfinite, isinf, isnan, less, less_equal, logical_and, multiply,
                                     not_equal, polynomial, positive, pow, rint, signbit, sin, subtract, trunc, where)
from fastops.ops.families import composite, holds
from fastops.ops.reduce import all as every
from fastops.ops.reduce import max, mean, min, sum
from fastops.ops.shape import copy as copied
from fastops.ops.shape import (atleast_1d, atleast_2d, broadcast_to, concat, diagonal, expand_dims, flip, normalized,
                               permute_dims, reshape, swapaxes)
from fastops.samples import Sample

NUMPY = "NumPy: ``numpy.{name}``."


def arrays_of(*shapes, dtypes=("f4", "f8", "i4", "c16"), **options):
    """Samples of one array each, of every shape and dtype."""
    def generate(rng):
        for dtype in dtypes:
            for shape in shapes:
                yield Sample(samples.array(rng, shape, dtype), **options)
                yield Sample(samples.array(rng, shape[::-1], dtype).T, **options)
    return generate


def _round(x, /, decimals=0, out=None):
    x = as_tensor(x)
    if x.dtype.kind in "iub" and decimals >= 0:
        return positive(x, out=out) if x.dtype.kind != "b" else rint(x, out=out)
    if x.dtype.kind == "c":
        result = _round(x.real, decimals) + 1j * _round(x.imag, decimals)
        return positive(result.astype(x.dtype), out=out)
    if decimals == 0:
        return rint(x, out=out)
    if not -400 < decimals < 400:       # beyond every number's digits
        return positive(x, out=out) if decimals > 0 else multiply(x, 0, out)
    power = 10 ** (decimals if decimals >= 0 else -decimals)
    if decimals > 0:
        return divide(rint(multiply(x, power)), power, out=out)
    result = multiply(rint(divide(x, power)), power)
    return positive(result.astype(x.dtype), out=out)


round = composite(
    "round(Array x, /, int decimals=0, Tensor(a!)? out=None) -> Tensor",
    "The nearest number with so many decimals; halves go to the even one.", _round, reference=np.round, methods=("round",),
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype, -90, 90), decimals)
                         for dtype in samples.INTEGERS + samples.FLOATS + samples.COMPLEX for decimals in (0, 2, -1)
                         if not (dtype in samples.INTEGERS and decimals < 0) and not (dtype == "f2" and decimals)),
    notes=NUMPY.format(name="round"), example="""
>>> fo.round(fo.asarray([1.25, 2.75]), 1)
tensor([1.2, 2.8])""")


def _isclose(a, b, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = as_tensor(a), as_tensor(b)
    if b.dtype.kind in "iub":
        b = b * 1.0         # differences of unsigned numbers would wrap
    near = less_equal(abs(a - b), atol + rtol * abs(b))
    result = where(logical_and(isfinite(a), isfinite(b)), near, equal(a, b))
    return result | (isnan(a) & isnan(b)) if equal_nan else result


def _isclose_samples(rng):
    for dtype in ("f4", "f8", "i4", "u1", "c16"):
        a = samples.array(rng, (3, 4), dtype)
        yield Sample(a, a + np.asarray(1e-9, "f8"))
        yield Sample(a, samples.array(rng, (4,), dtype), 0.5, 0.1)
    special = np.array([np.nan, np.inf, -np.inf, 0.0])
    yield Sample(special, special[:, None])
    yield Sample(special, special[::-1], equal_nan=True)


CLOSE_NOTES = """
Finite numbers are close if abs(a - b) <= atol + rtol * abs(b); infinities only to themselves; NaN to NaN if equal_nan.

Notes
-----
NumPy: ``numpy.{name}``.
"""

isclose = composite(
    "isclose(Array a, /, Array b, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    "Whether the elements of a and b are nearly equal.", _isclose, reference=np.isclose, samples=_isclose_samples,
    notes=CLOSE_NOTES.format(name="isclose"), example="""
>>> fo.isclose(fo.asarray([1.0, 2.0]), fo.asarray([1.0 + 1e-9, 2.1]))
tensor([ True, False])""")

allclose = composite(
    "allclose(Array a, /, Array b, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    "Whether all elements of a and b are nearly equal, as True or False.", lambda a, b, /, rtol=1e-05, atol=1e-08, equal_nan=False:
    every(isclose(a, b, rtol, atol, equal_nan)).item(), reference=np.allclose, samples=_isclose_samples,
    notes=CLOSE_NOTES.format(name="allclose"), example="""
>>> fo.allclose(fo.asarray([1.0, 2.0]), [1.0, 2.0])
True""")


def _array_equal(a, b, /, equal_nan=False):
    a, b = as_tensor(a), as_tensor(b)
    if a.shape != b.shape:
        return False
    same = equal(a, b)
    return every(same | (isnan(a) & isnan(b)) if equal_nan and a.dtype.kind in "fc" else same).item()


array_equal = composite(
    "array_equal(Array a, Array b, /, bool equal_nan=False) -> bool",
    "Whether a and b have the same shape and the same elements, as True or False.",
    _array_equal, reference=np.array_equal, notes=NUMPY.format(name="array_equal"),
    samples=lambda rng: (Sample(np.arange(3), np.arange(3.0)), Sample(np.arange(3), np.arange(4)),
                         Sample(np.ones((2, 1)), np.ones((2, 1))), Sample(np.zeros((0, 2)), np.zeros((0, 2)))), example="""
>>> fo.array_equal(fo.asarray([1, 2]), [1, 3])
False""")


def _nan_to_num(x, /, copy=True, nan=0.0, posinf=None, neginf=None):
    result = _numbers_for_nan(x, nan, posinf, neginf)
    if copy:
        return result
    x[...] = result
    return x


def _numbers_for_nan(x, nan, posinf, neginf):
    if x.dtype.kind not in "fc":
        return positive(x)
    if x.dtype.kind == "c":
        real, imag = _numbers_for_nan(x.real, nan, posinf, neginf), _numbers_for_nan(x.imag, nan, posinf, neginf)
        return (real + 1j * imag).astype(x.dtype)
    limits = np.finfo(x.dtype)
    x = where(isnan(x), nan, x)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    return where(isinf(x), where(signbit(x), low, high).astype(x.dtype), x)


nan_to_num = composite(
    "nan_to_num(Array x, /, bool copy=True, float nan=0.0, float? posinf=None, float? neginf=None) -> Tensor",
    "x with numbers for NaN and for the infinities, the largest there are if none are given.", _nan_to_num,
    reference=np.nan_to_num,
    samples=lambda rng: (Sample(np.array([1.0, np.nan, np.inf, -np.inf], dtype), *more) for dtype in ("f4", "f8", "c16")
                         for more in ((), (True, 1.0, 2.0, 3.0))), notes=NUMPY.format(name="nan_to_num"), example="""
>>> fo.nan_to_num(fo.asarray([1.0, fo.nan]))
tensor([1., 0.])""")

isposinf = composite(
    "isposinf(Array x, /) -> Tensor", "Whether x is plus infinity.", lambda x, /: isinf(x) & ~signbit(x),
    reference=np.isposinf, samples=lambda rng: (Sample(np.array([1.0, np.inf, -np.inf, np.nan], dtype)) for dtype in samples.FLOATS),
    notes=NUMPY.format(name="isposinf"), example="""
>>> fo.isposinf(fo.asarray([fo.inf, -fo.inf]))
tensor([ True, False])""")

isneginf = composite(
    "isneginf(Array x, /) -> Tensor", "Whether x is minus infinity.", lambda x, /: isinf(x) & signbit(x),
    reference=np.isneginf, samples=lambda rng: (Sample(np.array([1.0, np.inf, -np.inf, np.nan], dtype)) for dtype in samples.FLOATS),
    notes=NUMPY.format(name="isneginf"), example="""
>>> fo.isneginf(fo.asarray([fo.inf, -fo.inf]))
tensor([False,  True])""")

isreal = composite(
    "isreal(Array x, /) -> Tensor", "Whether the imaginary part is zero.", lambda x, /: equal(x.imag, 0), reference=np.isreal,
    samples=arrays_of((3,), (2, 3)), notes=NUMPY.format(name="isreal"), example="""
>>> fo.isreal(fo.asarray([1 + 0j, 1j]))
tensor([ True, False])""")

iscomplex = composite(
    "iscomplex(Array x, /) -> Tensor", "Whether the imaginary part is not zero.", lambda x, /: not_equal(x.imag, 0),
    reference=np.iscomplex, samples=arrays_of((3,), (2, 3)), notes=NUMPY.format(name="iscomplex"), example="""
>>> fo.iscomplex(fo.asarray([1 + 0j, 1j]))
tensor([False,  True])""")

fix = composite(
    "fix(Array x, /) -> Tensor", "The whole number next to x towards zero.", lambda x, /: trunc(x), reference=np.fix,
    samples=arrays_of((3, 4), dtypes=("f4", "f8", "i4")), notes=NUMPY.format(name="fix"), example="""
>>> fo.fix(fo.asarray([1.5, -1.5]))
tensor([ 1., -1.])""")


def _sinc(x, /):
    if x.dtype.kind in "iub":
        x = x * 1.0
    angle = np.pi * where(equal(x, 0), 1.0e-20 if x.dtype.itemsize > 2 else 1e-4, x)
    return divide(sin(angle), angle).astype(x.dtype)


def _sinc_slope(x, result):
    # (cos(pi x) - sinc(x)) / x, near 0 by its series, which has its derivatives and loses no digits.
    near = less(abs(x), 0.3)
    series = x * polynomial(x * x, [(-1) ** k * np.pi ** (2 * k) * 2 * k / math.factorial(2 * k + 1) for k in range(1, 13)])
    return where(near, series, (cos(np.pi * x) - result) / where(near, 1.0, x))


sinc = composite(
    "sinc(Array x, /) -> Tensor", "sin(pi x) / (pi x), which is 1 at 0.", _sinc, reference=np.sinc, derivative=partials(x=_sinc_slope),
    batching="same shape", samples=arrays_of((3, 4), dtypes=("f4", "f8", "i4")), notes=NUMPY.format(name="sinc"), example="""
>>> fo.sinc(fo.asarray([0.0, 0.5]))
tensor([1.        , 0.63661977])""")


def _trace(x, /, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


trace = composite(
    "trace(Array x, /, int offset=0, int axis1=0, int axis2=1, ScalarType? dtype=None, Tensor(a!)? out=None) -> Tensor", "The sum of a diagonal.", _trace, methods=("trace",),
    reference=np.trace, samples=lambda rng: (Sample(samples.array(rng, shape, dtype), *more) for dtype in ("f8", "i4", "c8")
                                             for shape, more in (((3, 4), ()), ((3, 4), (1,)), ((2, 3, 4), (0, 1, 2)))),
    notes=NUMPY.format(name="trace"), example="""
>>> fo.trace(fo.asarray([[1, 2], [3, 4]]))
tensor(5)""")


def _diff(x, /, n=1, axis=-1, prepend=None, append=None):
    x = as_tensor(x)
    if n < 0:
        raise ValueError(f"diff: the order n is {n}; it cannot be negative")
    if x.ndim == 0:
        raise ValueError("diff: x has no axis along which there are differences")
    axis = normalized(axis, x.ndim, "diff")
    ends = [_as_end(end, x, axis) for end in (prepend, append)]
    if n and ends != [[], []]:
        x = concat(ends[0] + [x] + ends[1], axis)
    if n > x.shape[axis]:
        n = x.shape[axis]           # nothing is left after so many
    before = (slice(None),) * axis
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = not_equal(later, earlier) if x.dtype.kind == "b" else subtract(later, earlier)
    return x


def _as_end(end, x, axis):
    # What stands before or behind x: a number stands there in every row.
    if end is None:
        return []
    end = as_tensor(end)
    return [end if end.ndim else broadcast_to(end, x.shape[:axis] + (1,) + x.shape[axis + 1:])]


diff = composite(
    "diff(Array x, /, int n=1, int axis=-1, Array? prepend=None, Array? append=None) -> Tensor", "The differences of neighbours along an axis, n times.", _diff,
    reference=np.diff, samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), n, axis)
                                            for dtype in ("?", "f8", "i4", "u1") for n in (0, 1, 2, 9) for axis in (0, -1)),
    notes=NUMPY.format(name="diff"), example="""
>>> fo.diff(fo.asarray([1, 4, 9]))
tensor([3, 5])""")

ptp = composite(
    "ptp(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool keepdims=False) -> Tensor", "The largest element less the smallest.",
    lambda x, /, axis=None, out=None, keepdims=False: subtract(max(x, axis=axis, keepdims=keepdims),
                                                               min(x, axis=axis, keepdims=keepdims), out), reference=np.ptp,
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), *more) for dtype in ("f8", "i4", "u2")
                         for more in ((), (0,), (-1,), ((0, 1),))), notes=NUMPY.format(name="ptp"), example="""
>>> fo.ptp(fo.asarray([1, 4, 9]))
tensor(8)""")


def _several(arrays):
    return [as_tensor(array) for array in (arrays if isinstance(arrays, (list, tuple)) else list(arrays))]


def _hstack(arrays, /, *, dtype=None, casting="same_kind"):
    arrays = [atleast_1d(array) for array in _several(arrays)]
    return concat(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def _vstack(arrays, /, *, dtype=None, casting="same_kind"):
    return concat([atleast_2d(array) for array in _several(arrays)], 0, dtype=dtype, casting=casting)


def _stacks(rng):
    for dtype in ("f8", "i4"):
        yield Sample([samples.array(rng, (3,), dtype), samples.array(rng, (3,), dtype)])
        yield Sample([samples.array(rng, (2, 3), dtype), samples.array(rng, (2, 3), dtype)])
        yield Sample([samples.array(rng, (2, 3, 2), dtype)])


hstack = composite("hstack(Array[] arrays, /, *, ScalarType? dtype=None, str casting='same_kind') -> Tensor", "The arrays side by side: along axis 1, or 0 if they have one axis.",
                   _hstack, reference=np.hstack, samples=_stacks, notes=NUMPY.format(name="hstack"), example="""
>>> fo.hstack([fo.asarray([1, 2]), fo.asarray([3])])
tensor([1, 2, 3])""")

vstack = composite("vstack(Array[] arrays, /, *, ScalarType? dtype=None, str casting='same_kind') -> Tensor",
                   "The arrays one under the other; those with one axis are rows.", _vstack, reference=np.vstack,
                   samples=_stacks, notes=NUMPY.format(name="vstack"), example="""
>>> fo.vstack([fo.asarray([1, 2]), fo.asarray([3, 4])])
tensor([[1, 2],
        [3, 4]])""")


def _column_stack(arrays, /):
    columns = [reshape(array, (-1, 1)) if array.ndim < 2 else array for array in _several(arrays)]
    return concat(columns, 1)


column_stack = composite("column_stack(Array[] arrays, /) -> Tensor", "The arrays as columns of a matrix.", _column_stack,
                         reference=np.column_stack, samples=_stacks, notes=NUMPY.format(name="column_stack"), example="""
>>> fo.column_stack([fo.asarray([1, 2]), fo.asarray([3, 4])])
tensor([[1, 3],
        [2, 4]])""")


def _meshgrid(arrays, *, indexing="xy", sparse=False, copy=True):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    arrays = _several([arrays] if isinstance(arrays, Tensor) else arrays)      # one array alone
    count = len(arrays)
    lifted = [reshape(array, (1,) * place + (-1,) + (1,) * (count - 1 - place)) for place, array in enumerate(arrays)]
    shape = tuple([array.size for array in arrays])
    grids = lifted if sparse else [broadcast_to(array, shape) for array in lifted]
    if copy:
        grids = [copied(grid) for grid in grids]
    return tuple([swapaxes(grid, 0, 1) if indexing == "xy" and count > 1 else grid for grid in grids])


meshgrid = composite(
    "meshgrid(Array[] arrays, /, *, str indexing='xy', bool sparse=False, bool copy=True) -> Tensor[]", "The coordinates of a grid, an array for each axis.",
    _meshgrid, gather="arrays", reference=lambda arrays, **options: tuple(np.meshgrid(*arrays, **options)),
    samples=lambda rng: (Sample([samples.array(rng, (size,), "f8") for size in sizes], **more) for sizes in ((2, 3), (4,), (2, 3, 2))
                         for more in ({}, {"indexing": "ij"}, {"sparse": True})), notes=NUMPY.format(name="meshgrid"), example="""
>>> fo.meshgrid(fo.asarray([1, 2]), fo.asarray([3, 4]))
(tensor([[1, 2],
        [1, 2]]), tensor([[3, 3],
        [4, 4]]))""")


def _rot90(x, /, k=1, axes=(0, 1)):
    first, second = [normalized(axis, x.ndim, "rot90") for axis in axes]
    if first == second:
        raise ValueError(f"rot90: the axes {axes} are the same")
    turns = k % 4
    if turns == 0:
        return x[...]
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


rot90 = composite("rot90(Array x, /, int k=1, int[2] axes=[0, 1]) -> Tensor",
                  "x turned by k quarter turns, from the first of the axes to the second.", _rot90, reference=np.rot90,
                  samples=lambda rng: (Sample(samples.array(rng, (2, 3, 2), "i4"), k, axes) for k in (-1, 0, 1, 2, 3)
                                       for axes in ((0, 1), (1, 2), (-1, 0))), notes=NUMPY.format(name="rot90"), example="""
>>> fo.rot90(fo.asarray([[1, 2], [3, 4]]))
tensor([[2, 4],
        [1, 3]])""")


def _kron(a, b, /):
    a, b = as_tensor(a), as_tensor(b)
    rank = a.ndim if a.ndim > b.ndim else b.ndim
    a, b = reshape(a, (1,) * (rank - a.ndim) + a.shape), reshape(b, (1,) * (rank - b.ndim) + b.shape)
    spread = multiply(expand_dims(a, tuple(range(1, 2 * rank, 2))), expand_dims(b, tuple(range(0, 2 * rank, 2))))
    return reshape(spread, tuple([first * second for first, second in zip(a.shape, b.shape)]))


kron = composite("kron(Array a, /, Array b) -> Tensor", "The Kronecker product: b scaled by each element of a, as blocks.", _kron,
                 reference=np.kron, samples=lambda rng: (Sample(samples.array(rng, a, "f8"), samples.array(rng, b, "i4"))
                                                         for a, b in (((2, 3), (3, 2)), ((2,), (2, 2)), ((3,), (2,)))),
                 notes=NUMPY.format(name="kron"), example="""
>>> fo.kron(fo.asarray([1, 10]), fo.asarray([1, 2]))
tensor([ 1,  2, 10, 20])""")


def _average(x, /, axis=None, weights=None, returned=False, *, keepdims=False):
    x = as_tensor(x)
    axis = tuple([normalized(one, x.ndim, "average") for one in axis]) if isinstance(axis, (tuple, list)) else axis
    if weights is None:
        result = mean(x * 1.0 if x.dtype.kind in "iub" else x, axis=axis, keepdims=keepdims)
        if not returned:
            return result
        return result, full_like(result, x.size / (result.size or 1))
    weights = as_tensor(weights)
    if weights.shape != x.shape:
        axes = (axis,) if isinstance(axis, int) else axis
        if axes is None or weights.shape != tuple([x.shape[one] for one in axes]):
            raise ValueError(f"average: weights of shape {weights.shape} do not fit x of shape {x.shape} along axis {axis}")
        axes = [normalized(one, x.ndim, "average") for one in axes]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weights = permute_dims(weights, order)
        weights = reshape(weights, [x.shape[place] if place in axes else 1 for place in range(x.ndim)])
    weights = broadcast_to(weights, x.shape)
    total = sum(weights, axis=axis, keepdims=keepdims, dtype=np.result_type(x.dtype, weights.dtype, "f8" if x.dtype.kind in "iub" else "?"))
    if holds((total == 0).any()):
        raise ZeroDivisionError("average: the weights sum up to zero")
    result = divide(sum(multiply(x, weights), axis=axis, keepdims=keepdims), total)
    return (result, total) if returned else result


average = composite(
    "average(Array x, /, int[]? axis=None, Array? weights=None, bool returned=False, *, bool keepdims=False) -> Tensor", "The weighted mean.", _average,
    reference=np.average, samples=lambda rng: (Sample(samples.array(rng, (3, 4), "f8"), axis, weights)
                                               for axis, weights in ((None, None), (0, None), (1, np.arange(1.0, 5.0)),
                                                                     (0, np.arange(1.0, 4.0)), (None, np.full((3, 4), 2.0)),
                                                                     ((1, 0), np.arange(12.0).reshape(4, 3) + 1), ((0, 1), None))),
    notes=NUMPY.format(name="average"), example="""
>>> fo.average(fo.asarray([1.0, 4.0]), weights=fo.asarray([3, 1]))
tensor(1.75)""")


def _vander(x, /, N=None):
    if x.ndim != 1:
        raise ValueError(f"vander: x has {x.ndim} dimensions; one is wanted")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise ValueError(f"vander: the number of columns is {count}; it cannot be negative")
    return pow(reshape(x, (-1, 1)), arange(count - 1, -1, -1, device=x.device))


vander = composite("vander(Array x, /, int? N=None) -> Tensor", "The powers of x, highest first, as rows of a matrix.", _vander,
                   reference=np.vander, samples=lambda rng: (Sample(samples.array(rng, (4,), dtype), *more)
                                                             for dtype in ("f8", "i8") for more in ((), (2,), (0,))),
                   notes=NUMPY.format(name="vander"), example="""
>>> fo.vander(fo.asarray([1, 2, 3]))
tensor([[1, 1, 1],
        [4, 2, 1],
        [9, 3, 1]])""")


def _cross(a, b, /, *, axis=-1):
    a, b = as_tensor(a), as_tensor(b)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross: vectors of 3 elements are wanted along axis {axis}, but the shapes are {a.shape} and {b.shape}")
    rank = a.ndim if a.ndim > b.ndim else b.ndim
    place = normalized(axis, rank, "cross") - rank
    parts = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        def pick(x, k):
            return x[(Ellipsis, k, *[slice(None)] * (-1 - place))]
        parts.append(expand_dims(subtract(multiply(pick(a, i), pick(b, j)), multiply(pick(a, j), pick(b, i))), place))
    return concat(parts, place)


cross = composite("cross(Array a, Array b, /, *, int axis=-1) -> Tensor", "The vector product of vectors of three elements.", _cross,
                  reference=np.cross, samples=lambda rng: (Sample(samples.array(rng, a, "f8"), samples.array(rng, b, "f8"), **more)
                                                           for a, b, more in (((3,), (3,), {}), ((2, 3), (3,), {}),
                                                                              ((3, 2), (3, 2), {"axis": 0}))),
                  notes=NUMPY.format(name="cross"), example="""
>>> fo.cross(fo.asarray([1, 0, 0]), fo.asarray([0, 1, 0]))
tensor([0, 0, 1])""")

around = round
