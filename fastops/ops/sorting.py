"""Order: sorting, and searching what is sorted."""

import numpy as np

from fastops import _dispatch as machine
from fastops import samples
from fastops._dispatch import DispatchKey, as_tensor
from fastops._batched import Decomposed
from fastops._sort import Sort
from fastops.declare import declare
from fastops.derivatives import composed
from fastops.ops.families import through_numpy
from fastops.ops.elementwise import greater_equal, less
from fastops.ops.reduce import cumsum
from fastops.ops.shape import astype, concat, normalized, ravel, reshape, take_along_axis
from fastops.samples import Sample

INTEGER = np.dtype(np.int64)
ORDER = """
Parameters
----------
x : array_like
    Any shape but 0-dimensional.
axis : int, optional
    The axis along which to go; the flattened array if None.
kind : str, optional
    "quicksort", "heapsort", "mergesort" or "stable", the last two being one.
descending : bool
    From the largest to the smallest; equal elements keep their order.
stable : bool, optional
    Whether equal elements are to keep their order{stable}.

Returns
-------
Tensor
    {result}

Raises
------
AxisError
    If there is no such axis.
ValueError
    If kind is unknown, or order is given.

Notes
-----
NaN counts as larger than every number; complex numbers go by their real, then by their imaginary part. NumPy:
``numpy.{name}``; array API: ``{name}``.
"""


def _sort_samples(rng):
    for dtype in samples.ALL:
        for array in samples.layouts(rng, dtype):
            if array.ndim:
                yield Sample(array)
                yield Sample(array, 0)
                yield Sample(array, axis=None)
                yield Sample(array, -1, "stable")
    yield Sample(np.array([2.0, np.nan, -np.inf, 0.0, np.inf, np.nan]))


def _gathered(x, axis, places):
    # The elements at places along an axis.
    if axis is None:
        return ravel(x)[places]
    return take_along_axis(x, places, axis)


sort = declare(
    "sort(Array x, /, int? axis=-1, str? kind=None, Any order=None, *, bool descending=False, bool? stable=None) -> Tensor",
    "The elements in order along an axis.", family="primitive", kernels={DispatchKey.CPU: Sort(), DispatchKey.Meta: Sort()},
    reference=np.sort, batching="along axis", samples=_sort_samples, notes=ORDER.format(
        name="sort", stable="; if not given they need not, which only the signs of zeros show", result="x's shape and dtype."),
    example="""
>>> fo.sort(fo.asarray([3, 1, 2]), descending=True)
tensor([3, 2, 1])""",
    derivative=composed(lambda x, axis=-1, kind=None, order=None, **more: _gathered(x, axis, argsort(x, axis, kind, order, **more))))

argsort = declare(
    "argsort(Array x, /, int? axis=-1, str? kind=None, Any order=None, *, bool descending=False, bool? stable=None) -> Tensor",
    "The places of the elements in order along an axis.", family="primitive", methods=("argsort",),
    kernels={DispatchKey.CPU: Sort(places=True), DispatchKey.Meta: Sort(places=True)},
    reference=lambda x, axis=-1, kind=None: np.argsort(x, axis, kind=kind or "stable"),
    batching="along axis", samples=_sort_samples, notes=ORDER.format(name="argsort", stable="; they do if it is not given", result="x's shape; int64."),
    example="""
>>> fo.argsort(fo.asarray([3, 1, 2]))
tensor([1, 2, 0])""")


def _sort_in_place(self, axis=-1, kind=None, order=None, *, stable=None):
    """Sort the elements in place along an axis, as ``numpy.ndarray.sort``; returns None."""
    self[...] = sort(self, axis, kind, order, stable=stable)


machine.install_method("sort", _sort_in_place)


def _partition_shape(x, kth, axis=-1, kind="introselect", order=None):
    if axis is None:
        return (x.size,), x.dtype
    normalized(axis, x.ndim, "partition")
    return x.shape, x.dtype


def _partition_samples(rng):
    for dtype in ("f8", "i4", "u1"):
        yield Sample(samples.array(rng, (7,), dtype), 6)        # the largest last: the rest may come in any order


partition = through_numpy(
    "partition(Array x, /, Any kth, int? axis=-1, str kind='introselect', Any order=None) -> Tensor",
    "The elements so that the kth is where it would stand if they were sorted, smaller ones before, others after it.",
    np.partition, _partition_shape, reference=np.partition, batching="along axis", samples=_partition_samples,
    notes="NumPy: ``numpy.partition``.", example="""
>>> fo.partition(fo.asarray([4, 1, 3, 2]), 0)[0]
tensor(1)""",
    derivative=composed(lambda x, kth, axis=-1, kind="introselect", order=None: _gathered(x, axis, argpartition(x, kth, axis, kind, order))))

argpartition = through_numpy(
    "argpartition(Array x, /, Any kth, int? axis=-1, str kind='introselect', Any order=None) -> Tensor",
    "The places of the elements in the order of partition.", np.argpartition,
    lambda *args, **kwargs: (_partition_shape(*args, **kwargs)[0], INTEGER), methods=("argpartition",),
    reference=np.argpartition, batching="along axis", samples=_partition_samples, notes="NumPy: ``numpy.argpartition``.", example="""
>>> fo.argpartition(fo.asarray([4, 1, 3, 2]), 0)[0]
tensor(1)""")


def _partition_in_place(self, kth, axis=-1, kind="introselect", order=None):
    """Partition the elements in place along an axis, as ``numpy.ndarray.partition``; returns None."""
    self[...] = partition(self, kth, axis, kind, order)


machine.install_method("partition", _partition_in_place)


def _lexsort(keys, axis=-1):
    return np.lexsort(keys if isinstance(keys, np.ndarray) else tuple(keys), axis)


lexsort = through_numpy(
    "lexsort(Array[] keys, /, int axis=-1) -> Tensor", "The places that sort by several keys, the last being the first to count.",
    _lexsort, lambda keys, axis=-1: (keys[0].shape, INTEGER), keys=(DispatchKey.Undefined,), reference=_lexsort, batching="sort keys", samples=lambda rng: (Sample([samples.array(rng, (6,), "i4"), samples.array(rng, (6,), "f8")]),),
    notes="NumPy: ``numpy.lexsort``.", example="""
>>> fo.lexsort([fo.asarray([2, 1, 1]), fo.asarray([0, 1, 0])])
tensor([2, 0, 1])""")

sort_complex = through_numpy(
    "sort_complex(Array x, /) -> Tensor", "The elements in order as complex numbers.", np.sort_complex,
    lambda x: (x.shape, np.sort_complex(np.zeros(1, x.dtype)).dtype), reference=np.sort_complex,
    batching=Decomposed(lambda x: sort(astype(x, np.sort_complex(np.zeros(1, x.dtype)).dtype))),
    samples=lambda rng: (Sample(samples.array(rng, (5,), dtype)) for dtype in ("f4", "f8", "i2", "i8", "c8", "c16")),
    notes="NumPy: ``numpy.sort_complex``.", example="""
>>> fo.sort_complex(fo.asarray([2, 1]))
tensor([1.+0.j, 2.+0.j])""",
    derivative=composed(lambda x: _gathered(astype(x, np.result_type(x.dtype, np.complex64)), -1, argsort(astype(x, np.result_type(x.dtype, np.complex64))))))


# Searching

def _searchsorted(x1, x2, side="left", sorter=None):
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: x1 has one axis, not shape {x1.shape}")
    return np.searchsorted(x1, x2, side, sorter)


def _placed_by_sorting(x1, x2, side="left", sorter=None):
    # Both sorted together, equal elements in the order that side says: before each of x2 stand as many of x1 as belong there.
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or side not in ("left", "right"):
        raise ValueError(f"searchsorted: x1 has one axis and side is 'left' or 'right', not shape {x1.shape} and {side!r}")
    x1, values = x1 if sorter is None else x1[sorter], ravel(x2)
    count = values.shape[0] if side == "left" else x1.shape[0]
    order = argsort(concat([values, x1] if side == "left" else [x1, values]))
    known = cumsum(greater_equal(order, count) if side == "left" else less(order, count))
    places = argsort(order)
    return reshape(known[places[:count] if side == "left" else places[count:]], x2.shape)


searchsorted = through_numpy(
    "searchsorted(Array x1, Array x2, /, str side='left', Array? sorter=None) -> Tensor",
    "Where the values x2 would have to be put into the sorted x1 to keep it sorted.", _searchsorted,
    lambda x1, x2, side="left", sorter=None: (x2.shape, INTEGER), reference=np.searchsorted, methods=("searchsorted",),
    batching=Decomposed(_placed_by_sorting, pointwise=("x2",)),
    samples=lambda rng: (Sample(np.sort(samples.array(rng, (6,), dtype)), samples.array(rng, (2, 3), dtype), side)
                         for dtype in ("f4", "f8", "i2", "u8", "c16") for side in ("left", "right")), notes="""
Parameters
----------
x1 : array_like
    One axis, in ascending order, unless sorter is given.
x2 : array_like
    Any shape.
side : str
    "left": before equal elements, "right": behind them.
sorter : array_like, optional
    The places that sort x1, as of argsort.

Returns
-------
Tensor
    x2's shape; int64.

Raises
------
ValueError
    If x1 has not one axis, or side is neither.

Notes
-----
NumPy: ``numpy.searchsorted``; array API: ``searchsorted``.""", example="""
>>> fo.searchsorted(fo.asarray([1, 3, 5]), fo.asarray([3, 4]), side="right")
tensor([2, 2])""")
