"""Order: sorting, searching, sets, and where elements are."""

from collections import namedtuple

import numpy as np

from fastops import _dispatch as machine
from fastops import samples
from fastops._dispatch import DispatchKey
from fastops._loops import as_ndarray, share_ndarray
from fastops._sort import Sort, Unique
from fastops.declare import declare
from fastops.derivatives import composed, refuse
from fastops.ops.families import through_numpy
from fastops.ops.shape import astype, normalized, ravel, take_along_axis
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


DIFFERENT = "which values are different, and how many, does not change smoothly"


def _gathered(x, axis, places):
    # The elements at places along an axis.
    if axis is None:
        return ravel(x)[places]
    return take_along_axis(x, places, axis)


sort = declare(
    "sort(Array x, /, int? axis=-1, str? kind=None, Any order=None, *, bool descending=False, bool? stable=None) -> Tensor",
    "The elements in order along an axis.", family="primitive", kernels={DispatchKey.CPU: Sort(), DispatchKey.Meta: Sort()},
    reference=np.sort, samples=_sort_samples, notes=ORDER.format(
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
    samples=_sort_samples, notes=ORDER.format(name="argsort", stable="; they do if it is not given", result="x's shape; int64."),
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
    np.partition, _partition_shape, reference=np.partition, samples=_partition_samples,
    notes="NumPy: ``numpy.partition``.", example="""
>>> fo.partition(fo.asarray([4, 1, 3, 2]), 0)[0]
tensor(1)""",
    derivative=composed(lambda x, kth, axis=-1, kind="introselect", order=None: _gathered(x, axis, argpartition(x, kth, axis, kind, order))))

argpartition = through_numpy(
    "argpartition(Array x, /, Any kth, int? axis=-1, str kind='introselect', Any order=None) -> Tensor",
    "The places of the elements in the order of partition.", np.argpartition,
    lambda *args, **kwargs: (_partition_shape(*args, **kwargs)[0], INTEGER), methods=("argpartition",),
    reference=np.argpartition, samples=_partition_samples, notes="NumPy: ``numpy.argpartition``.", example="""
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
    _lexsort, lambda keys, axis=-1: (keys[0].shape, INTEGER), keys=(DispatchKey.Undefined,), reference=_lexsort, samples=lambda rng: (Sample([samples.array(rng, (6,), "i4"), samples.array(rng, (6,), "f8")]),),
    notes="NumPy: ``numpy.lexsort``.", example="""
>>> fo.lexsort([fo.asarray([2, 1, 1]), fo.asarray([0, 1, 0])])
tensor([2, 0, 1])""")

sort_complex = through_numpy(
    "sort_complex(Array x, /) -> Tensor", "The elements in order as complex numbers.", np.sort_complex,
    lambda x: (x.shape, np.sort_complex(np.zeros(1, x.dtype)).dtype), reference=np.sort_complex,
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


searchsorted = through_numpy(
    "searchsorted(Array x1, Array x2, /, str side='left', Array? sorter=None) -> Tensor",
    "Where the values x2 would have to be put into the sorted x1 to keep it sorted.", _searchsorted,
    lambda x1, x2, side="left", sorter=None: (x2.shape, INTEGER), reference=np.searchsorted, methods=("searchsorted",),
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


def count_unknown(name):
    """A shape rule that refuses: how much there is depends on the data."""
    def shape(*args, **kwargs):
        raise NotImplementedError(f"{name}: the shape of the result depends on the data, which device 'meta' does not have")
    return shape


def _nonzero(x):
    if x.ndim == 0:
        raise ValueError("nonzero: x is 0-dimensional; it has no axes that places could be counted along")
    return x.nonzero()


nonzero = through_numpy(
    "nonzero(Array x, /) -> Tensor[]", "The places of the elements that are not zero: an array of places for each axis.",
    _nonzero, count_unknown("nonzero"), family="data-dependent", reference=np.nonzero, methods=("nonzero",),
    samples=lambda rng: (Sample(a) for dtype in samples.ALL for a in samples.layouts(rng, dtype) if a.ndim), notes="""
Returns
-------
tuple of Tensor
    As many as x has axes; int64, in row-major order.

Raises
------
ValueError
    If x is 0-dimensional.
NotImplementedError
    On device "meta": the shape depends on the data.

Notes
-----
NumPy: ``numpy.nonzero``; array API: ``nonzero``.""", example="""
>>> fo.nonzero(fo.asarray([[0, 3], [2, 0]]))
(tensor([0, 1]), tensor([1, 0]))""")


# Sets

UNIQUE = """
Returns
-------
{result}

Raises
------
NotImplementedError
    On device "meta": the shape depends on the data.

Notes
-----
The values are sorted{nan}. {source}
"""
EACH_NAN = "; every NaN is a value of its own"

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def _unique_samples(rng):
    for dtype in samples.ALL:
        for array in samples.layouts(rng, dtype, 0.0, 3.0):
            yield Sample(array)
    yield Sample(np.array([1.0, np.nan, 0.0, np.nan, 1.0]))
    yield Sample(np.array([1.0, np.nan + 1j, 0.0, np.nan, 1.0]))


unique_values = declare(
    "unique_values(Array x, /) -> Tensor", "The different values among the elements.", family="data-dependent",
    kernels={DispatchKey.CPU: Unique(), DispatchKey.Meta: Unique()},
    reference=lambda x: np.unique(x, equal_nan=False), samples=_unique_samples, notes=UNIQUE.format(
        result="Tensor\n    One-dimensional, of x's dtype.", nan=EACH_NAN, source="Array API: ``unique_values``."), example="""
>>> fo.unique_values(fo.asarray([3, 1, 3]))
tensor([1, 3])""",
    derivative=refuse(DIFFERENT))


def _several(kind, name, *wanted):
    def function(x):
        found = np.unique(x, equal_nan=False, **dict.fromkeys(wanted, True))
        parts = dict(zip(("values", *wanted), found))
        if "return_inverse" in parts:
            parts["return_inverse"] = parts["return_inverse"].reshape(x.shape)
        return list(parts.values())

    def on_cpu(x):
        return kind(*[share_ndarray(np.asarray(part)) for part in function(as_ndarray(x))])

    fields = ", ".join(kind._fields)
    return declare(
        f"{name}(Array x, /) -> ({', '.join(['Tensor'] * len(kind._fields))})",
        f"The different values among the elements, with {' and '.join(kind._fields[1:])}.", derivative=refuse(DIFFERENT), family="data-dependent",
        kernels={DispatchKey.CPU: on_cpu, DispatchKey.Meta: count_unknown(name)}, reference=function, samples=_unique_samples, notes=UNIQUE.format(
            result=f"named tuple of Tensor\n    {fields}; inverse_indices has x's shape, all places are int64.",
            nan=EACH_NAN, source=f"Array API: ``{name}``."), example=f"""
>>> fo.{name}(fo.asarray([3, 1, 3])).values
tensor([1, 3])""")


unique_all = _several(UniqueAll, "unique_all", "return_index", "return_inverse", "return_counts")
unique_counts = _several(UniqueCounts, "unique_counts", "return_counts")
unique_inverse = _several(UniqueInverse, "unique_inverse", "return_inverse")


def _unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    found = np.unique(as_ndarray(x), return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
    if not isinstance(found, tuple):
        return share_ndarray(found)
    return tuple([share_ndarray(part) for part in found])


_unique_kernel = Unique(machine.Kernel(_unique))
unique = declare(
    "unique(Array x, /, bool return_index=False, bool return_inverse=False, bool return_counts=False, int? axis=None, *, "
    "bool equal_nan=True, bool sorted=True) -> Tensor",
    "The different values among the elements, or the different slices along an axis.", family="data-dependent",
    kernels={DispatchKey.CPU: _unique_kernel, DispatchKey.Meta: _unique_kernel}, reference=np.unique,
    samples=lambda rng: (Sample(sample.args[0], **kwargs) for sample in _unique_samples(rng) for kwargs in (
        {}, {"return_index": True, "return_counts": True}, {"return_inverse": True}, {"equal_nan": False}, {"axis": 0})
        if not ("axis" in kwargs and (sample.args[0].ndim == 0 or sample.args[0].dtype == np.float16))),
    notes="""
Parameters
----------
x : array_like
    Any shape.
return_index, return_inverse, return_counts : bool
    Whether to give, after the values, the first place of each, the places that make x of them, how often each occurs.
axis : int, optional
    The axis whose slices are compared; single elements if not given.
equal_nan : bool
    Whether NaN equals NaN.
sorted : bool
    The values are sorted in either case.

Returns
-------
Tensor or tuple of Tensor
    The values, of x's dtype; what else is wanted, int64.

Raises
------
AxisError
    If there is no such axis.
NotImplementedError
    On device "meta": the shape depends on the data.

Notes
-----
NumPy: ``numpy.unique``.""", example="""
>>> fo.unique(fo.asarray([3, 1, 3]), return_counts=True)
(tensor([1, 3]), tensor([1, 2]))""",
    derivative=refuse(DIFFERENT))


isin = through_numpy(
    "isin(Array x1, Array x2, /, bool assume_unique=False, bool invert=False, *, str? kind=None) -> Tensor",
    "Whether each element of x1 is among those of x2; the contrary if invert.",
    lambda x1, x2, assume_unique=False, invert=False, *, kind=None: np.isin(x1, x2, assume_unique, invert, kind=kind),
    lambda x1, x2, assume_unique=False, invert=False, *, kind=None: (x1.shape, np.dtype(bool)), reference=np.isin,
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), samples.array(rng, (5,), dtype), invert=invert)
                         for dtype in ("?", "i4", "u8", "f8", "c8") for invert in (False, True)),
    notes="NumPy: ``numpy.isin``; array API: ``isin``. NaN is in nothing.", example="""
>>> fo.isin(fo.asarray([1, 2, 3]), [2, 5])
tensor([False,  True, False])""")


def _set_operation(function, summary, example):
    name = function.__name__
    more = ", bool return_indices=False" if name == "intersect1d" else ""
    plain = "" if name == "union1d" else ", bool assume_unique=False"
    return through_numpy(
        f"{name}(Array x1, Array x2, /{plain}{more}) -> Tensor", summary, function, count_unknown(name),
        derivative=refuse(DIFFERENT), family="data-dependent", reference=function, notes=f"One-dimensional and sorted. NumPy: ``numpy.{name}``.",
        samples=lambda rng: (Sample(samples.array(rng, (6,), dtype), samples.array(rng, (2, 3), dtype))
                             for dtype in ("i4", "u1", "f8")), example=example)


union1d = _set_operation(np.union1d, "The values that are in x1 or in x2.", """
>>> fo.union1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1, 2, 3])""")
intersect1d = _set_operation(np.intersect1d, "The values that are in both x1 and x2.", """
>>> fo.intersect1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([3])""")
setdiff1d = _set_operation(np.setdiff1d, "The values that are in x1 and not in x2.", """
>>> fo.setdiff1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1])""")
setxor1d = _set_operation(np.setxor1d, "The values that are in just one of x1 and x2.", """
>>> fo.setxor1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1, 2])""")
