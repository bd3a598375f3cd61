"""Where elements are, which are different, and which two arrays share: results whose shape depends on the data.

With ``size=`` the shape is given, and the result is computed in operators of known shapes: on every device, and inside vmap.
"""

import operator
from collections import namedtuple

import numpy as np

from fastops import _dispatch as machine
from fastops import errors, samples
from fastops._batched import Decomposed
from fastops._dispatch import DispatchKey, as_tensor
from fastops._loops import as_ndarray, share_ndarray
from fastops._sort import Unique
from fastops.declare import declare
from fastops.derivatives import refuse
from fastops.ops.create import arange, full, ones, zeros
from fastops.ops.elementwise import equal, floor_divide, isnan, less, logical_and, logical_not, not_equal, remainder, where
from fastops.ops.families import through_numpy
from fastops.ops.reduce import any as some
from fastops.ops.reduce import cumsum, sum
from fastops.ops.shape import concat, matrix_transpose, moveaxis, normalized, ravel, reshape
from fastops.ops.sorting import argsort, lexsort, searchsorted, sort
from fastops.samples import Sample

INTEGER = np.dtype(np.int64)


DIFFERENT = "which values are different, and how many, does not change smoothly"
SIZE = """size : int, optional
    How many {what} to give, whatever the data: the first of them, and fill_value in the places that are left. With it the
    shape is known without data, on device "meta" and inside vmap.
fill_value : {kind}, optional
    {fill}"""


def sized(name, size):
    """The number that size= says; without one a call on mapped arrays has no answer."""
    if size is None:
        raise errors.MappedError(f"{name}: the shape of the result depends on the data, and so would be another in each row; say with size= how many "
                                 "there are at most in a row")
    if operator.index(size) < 0:
        raise ValueError(f"{name}: size is not negative, not {size}")
    return operator.index(size)


def first_true(flags, size):
    """The places of the first *size* true elements of a flat array, and which of these places there are."""
    order = argsort(logical_not(flags))
    missing = size - order.shape[0]
    order = order[:size] if missing <= 0 else concat([order, zeros((missing,), dtype=order.dtype, device=order.device)])
    return order, less(arange(size, device=order.device), sum(flags))


def count_unknown(name):
    """A shape rule that refuses: how much there is depends on the data."""
    def shape(*args, **kwargs):
        raise NotImplementedError(f"{name}: the shape of the result depends on the data, which device 'meta' does not have")
    return shape


def _nonzero(x, size=None, fill_value=0):
    if x.ndim == 0:
        raise ValueError("nonzero: x is 0-dimensional; it has no axes that places could be counted along")
    if size is None:
        return x.nonzero()
    return [as_ndarray(part) for part in _sized_nonzero(share_ndarray(x), size=size, fill_value=fill_value)]


def _sized_nonzero(x, *, size=None, fill_value=0):
    size = sized("nonzero", size)
    if x.ndim == 0:
        raise ValueError("nonzero: x is 0-dimensional; it has no axes that places could be counted along")
    fills = fill_value if isinstance(fill_value, (tuple, list)) else (fill_value,) * x.ndim
    if len(fills) != x.ndim:
        raise ValueError(f"nonzero: fill_value has a number for each of {x.ndim} axes, not {fill_value!r}")
    places, known = first_true(not_equal(ravel(x), 0), size)
    results = []
    for length, fill in zip(x.shape[::-1], fills[::-1]):
        results.append(where(known, remainder(places, max(length, 1)), np.int64(fill)))
        places = floor_divide(places, max(length, 1))
    return tuple(results[::-1])


def _nonzero_shape(x, *, size=None, fill_value=0):
    return count_unknown("nonzero")() if size is None else [((sized("nonzero", size),), INTEGER)] * x.ndim


nonzero = through_numpy(
    "nonzero(Array x, /, *, int? size=None, Any fill_value=0) -> Tensor[]", "The places of the elements that are not zero: an array of places for each axis.",
    _nonzero, _nonzero_shape, family="data-dependent", batching=Decomposed(_sized_nonzero), reference=np.nonzero, methods=("nonzero",),
    samples=lambda rng: (Sample(a) for dtype in samples.ALL for a in samples.layouts(rng, dtype) if a.ndim), notes=f"""
Parameters
----------
x : array_like
    Any shape but 0-dimensional.
{SIZE.format(what="places", kind="int or tuple of int", fill="The place that stands for none, for each axis if there are several; 0 if not given.")}

Returns
-------
tuple of Tensor
    As many as x has axes; int64, in row-major order.

Raises
------
ValueError
    If x is 0-dimensional, or size negative.
NotImplementedError
    On device "meta" without size: the shape depends on the data.
MappedError
    Inside vmap without size.

Notes
-----
NumPy: ``numpy.nonzero``; array API: ``nonzero``; size and fill_value as in JAX.""", example="""
>>> fo.nonzero(fo.asarray([[0, 3], [2, 0]]))
(tensor([0, 1]), tensor([1, 0]))
>>> fo.nonzero(fo.asarray([0, 3, 2]), size=3, fill_value=-1)
(tensor([ 1,  2, -1]),)""")


# Sets

UNIQUE = """{parameters}
Returns
-------
{result}

Raises
------
{errors}NotImplementedError
    On device "meta" without size: the shape depends on the data.
MappedError
    Inside vmap without size.

Notes
-----
The values are sorted{nan}. {source}
"""
UNIQUE_SIZE = SIZE.format(what="values", kind="scalar", fill="What fills the values up; the smallest of them if not given. Counts are filled with 0, indices with the "
                          "place of the smallest value.")
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


def _in_order(x, axis, equal_nan):
    # The elements, or the slices along an axis, in order; what sorts them; and which of them differ from the one before.
    if axis is None:
        lines = ravel(x)
        order = argsort(lines)
        ordered = lines[order]
        differ = not_equal(ordered[1:], ordered[:-1])
        if equal_nan and x.dtype.kind in "fc":
            differ = logical_and(differ, logical_not(logical_and(isnan(ordered[1:]), isnan(ordered[:-1]))))
    else:
        lines = moveaxis(x, normalized(axis, x.ndim, "unique"), 0)
        flat = reshape(lines, (lines.shape[0], -1 if lines.size else 0))
        order = lexsort(matrix_transpose(flat)[::-1]) if flat.shape[1] else arange(flat.shape[0], device=x.device)
        ordered, flat = lines[order], flat[order]
        differ = some(not_equal(flat[1:], flat[:-1]), axis=1)
    return ordered, order, concat([ones((min(ordered.shape[0], 1),), dtype=bool, device=x.device), differ])


def _sized_unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True, size=None, fill_value=None):
    x, size = as_tensor(x), sized("unique", size)
    ordered, order, first = _in_order(x, axis, equal_nan)
    count = ordered.shape[0]
    if count == 0:
        if fill_value is None and size:
            raise ValueError("unique: of no elements none is the smallest; say with fill_value= what stands for a value that there is not")
        values = full((size, *ordered.shape[1:]), 0 if fill_value is None else fill_value, dtype=x.dtype, device=x.device)
        places = known = zeros((size,), dtype=INTEGER, device=x.device)
    else:
        places, known = first_true(first, size)
        fill = ordered[0] if fill_value is None else np.asarray(fill_value, dtype=x.dtype)
        values = where(reshape(known, (size,) + (1,) * (ordered.ndim - 1)), ordered[places], fill)
    results = [values if axis is None else moveaxis(values, 0, normalized(axis, x.ndim, "unique"))]
    if return_index:
        results.append(where(known, order[places], order[0]) if count else places)
    if return_inverse:
        inverse = (cumsum(first) - 1)[argsort(order)]
        results.append(reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        following, there = first_true(first, size + 1)
        ends = where(there[1:], following[1:], count)
        results.append(where(known, ends - places, 0) if count else places)
    return tuple(results) if len(results) > 1 else results[0]


def _several(kind, name, *wanted):
    def function(x):
        found = np.unique(x, equal_nan=False, **dict.fromkeys(wanted, True))
        parts = dict(zip(("values", *wanted), found))
        if "return_inverse" in parts:
            parts["return_inverse"] = parts["return_inverse"].reshape(x.shape)
        return list(parts.values())

    def with_size(x, *, size=None, fill_value=None):
        sized(name, size)
        return kind(*_sized_unique(x, equal_nan=False, size=size, fill_value=fill_value, **dict.fromkeys(wanted, True)))

    def on_cpu(x, *, size=None, fill_value=None):
        if size is not None:
            return with_size(x, size=size, fill_value=fill_value)
        return kind(*[share_ndarray(np.asarray(part)) for part in function(as_ndarray(x))])

    def on_meta(x, *, size=None, fill_value=None):
        return count_unknown(name)() if size is None else with_size(x, size=size, fill_value=fill_value)

    fields = ", ".join(kind._fields)
    return declare(
        f"{name}(Array x, /, *, int? size=None, Scalar? fill_value=None) -> ({', '.join(['Tensor'] * len(kind._fields))})",
        f"The different values among the elements, with {' and '.join(kind._fields[1:])}.", derivative=refuse(DIFFERENT), family="data-dependent",
        batching=Decomposed(with_size),
        kernels={DispatchKey.CPU: on_cpu, DispatchKey.Meta: on_meta}, reference=function, samples=_unique_samples, notes=UNIQUE.format(
            parameters=f"\nParameters\n----------\nx : array_like\n    Any shape.\n{UNIQUE_SIZE}\n", errors="",
            result=f"named tuple of Tensor\n    {fields}; inverse_indices has x's shape, all places are int64.",
            nan=EACH_NAN, source=f"Array API: ``{name}``."), example=f"""
>>> fo.{name}(fo.asarray([3, 1, 3])).values
tensor([1, 3])""")


unique_all = _several(UniqueAll, "unique_all", "return_index", "return_inverse", "return_counts")
unique_counts = _several(UniqueCounts, "unique_counts", "return_counts")
unique_inverse = _several(UniqueInverse, "unique_inverse", "return_inverse")


def _unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True, size=None, fill_value=None):
    if size is not None:
        return _sized_unique(x, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, size=size, fill_value=fill_value)
    found = np.unique(as_ndarray(x), return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
    if not isinstance(found, tuple):
        return share_ndarray(found)
    return tuple([share_ndarray(part) for part in found])


_values_kernel = Unique(machine.Kernel(lambda x, *, size, fill_value=None: _sized_unique(x, equal_nan=False, size=size, fill_value=fill_value)))
unique_values = declare(
    "unique_values(Array x, /, *, int? size=None, Scalar? fill_value=None) -> Tensor", "The different values among the elements.", family="data-dependent",
    kernels={DispatchKey.CPU: _values_kernel, DispatchKey.Meta: _values_kernel},
    batching=Decomposed(lambda x, *, size=None, fill_value=None: _sized_unique(x, equal_nan=False, size=size, fill_value=fill_value)),
    reference=lambda x: np.unique(x, equal_nan=False), samples=_unique_samples, notes=UNIQUE.format(
        parameters=f"\nParameters\n----------\nx : array_like\n    Any shape.\n{UNIQUE_SIZE}\n", errors="",
        result="Tensor\n    One-dimensional, of x's dtype.", nan=EACH_NAN, source="Array API: ``unique_values``."), example="""
>>> fo.unique_values(fo.asarray([3, 1, 3]))
tensor([1, 3])""",
    derivative=refuse(DIFFERENT))

_unique_kernel = Unique(machine.Kernel(_unique))
unique = declare(
    "unique(Array x, /, bool return_index=False, bool return_inverse=False, bool return_counts=False, int? axis=None, *, "
    "bool equal_nan=True, bool sorted=True, int? size=None, Scalar? fill_value=None) -> Tensor",
    "The different values among the elements, or the different slices along an axis.", family="data-dependent",
    kernels={DispatchKey.CPU: _unique_kernel, DispatchKey.Meta: _unique_kernel}, batching=Decomposed(_sized_unique), reference=np.unique,
    samples=lambda rng: (Sample(sample.args[0], **kwargs) for sample in _unique_samples(rng) for kwargs in (
        {}, {"return_index": True, "return_counts": True}, {"return_inverse": True}, {"equal_nan": False}, {"axis": 0})
        if not ("axis" in kwargs and (sample.args[0].ndim == 0 or sample.args[0].dtype == np.float16))),
    notes=UNIQUE.format(parameters=f"""
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
{UNIQUE_SIZE}
""", result="Tensor or tuple of Tensor\n    The values, of x's dtype; what else is wanted, int64.", errors="AxisError\n    If there is no such axis.\n", nan="",
                        source="NumPy: ``numpy.unique``; size and fill_value as in JAX."), example="""
>>> fo.unique(fo.asarray([3, 1, 3]), return_counts=True)
(tensor([1, 3]), tensor([1, 2]))
>>> fo.unique(fo.asarray([3, 1, 3]), size=3, fill_value=0)
tensor([1, 3, 0])""",
    derivative=refuse(DIFFERENT))


def _among(x1, x2, assume_unique=False, invert=False, *, kind=None):
    # An element is there if it stands at its place among the others in order.
    x1, known = as_tensor(x1), sort(ravel(as_tensor(x2)))
    if known.shape[0] == 0:
        return full(x1.shape, invert, device=x1.device)
    place = searchsorted(known, x1)
    found = logical_and(less(place, known.shape[0]), equal(known[where(less(place, known.shape[0]), place, 0)], x1))
    return logical_not(found) if invert else found


isin = through_numpy(
    "isin(Array x1, Array x2, /, bool assume_unique=False, bool invert=False, *, str? kind=None) -> Tensor",
    "Whether each element of x1 is among those of x2; the contrary if invert.",
    lambda x1, x2, assume_unique=False, invert=False, *, kind=None: np.isin(x1, x2, assume_unique, invert, kind=kind),
    lambda x1, x2, assume_unique=False, invert=False, *, kind=None: (x1.shape, np.dtype(bool)), reference=np.isin,
    batching=Decomposed(_among, pointwise=("x1",)),
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), samples.array(rng, (5,), dtype), invert=invert)
                         for dtype in ("?", "i4", "u8", "f8", "c8") for invert in (False, True)),
    notes="NumPy: ``numpy.isin``; array API: ``isin``. NaN is in nothing.", example="""
>>> fo.isin(fo.asarray([1, 2, 3]), [2, 5])
tensor([False,  True, False])""")


def _different(x):
    # All elements in order, and which are the first of their kind.
    ordered, _, first = _in_order(x, None, True)
    return ordered, first


def _sized_union1d(x1, x2):
    return _different(concat([ravel(x1), ravel(x2)]))


def _sized_intersect1d(x1, x2):
    ordered, first = _different(concat([ravel(x1), ravel(x2)]))
    return ordered, logical_and(first, logical_and(isin(ordered, x1), isin(ordered, x2)))


def _sized_setdiff1d(x1, x2):
    ordered, first = _different(x1)
    return ordered, logical_and(first, isin(ordered, x2, invert=True))


def _sized_setxor1d(x1, x2):
    ordered, first = _different(concat([ravel(x1), ravel(x2)]))
    return ordered, logical_and(first, logical_not(logical_and(isin(ordered, x1), isin(ordered, x2))))


def _set_operation(function, summary, chosen, example):
    name = function.__name__
    more = ", bool return_indices=False" if name == "intersect1d" else ""
    plain = "" if name == "union1d" else ", bool assume_unique=False"

    def with_size(x1, x2, *options, size=None, fill_value=None, **more):
        if True in options or True in more.values():
            raise ValueError(f"{name}: size= goes with neither assume_unique=True nor return_indices=True")
        size = sized(name, size)
        values, kept = chosen(as_tensor(x1), as_tensor(x2))
        if values.shape[0] == 0:
            return full((size,), 0 if fill_value is None else fill_value, dtype=values.dtype, device=values.device)
        places, known = first_true(kept, size)
        return where(known, values[places], values[0] if fill_value is None else np.asarray(fill_value, values.dtype))

    def on_arrays(x1, x2, *options, size=None, fill_value=None, **more):
        if size is None:
            return function(x1, x2, *options, **more)
        return as_ndarray(with_size(share_ndarray(x1), share_ndarray(x2), *options, size=size, fill_value=fill_value, **more))

    def shape(x1, x2, *options, size=None, fill_value=None, **more):
        if size is None:
            return count_unknown(name)()
        return (sized(name, size),), x1.dtype if name == "setdiff1d" else np.result_type(x1.dtype, x2.dtype)

    return through_numpy(
        f"{name}(Array x1, Array x2, /{plain}{more}, *, int? size=None, Scalar? fill_value=None) -> Tensor", summary, on_arrays, shape,
        batching=Decomposed(with_size), derivative=refuse(DIFFERENT), family="data-dependent", reference=function, notes=f"""
Parameters
----------
x1, x2 : array_like
    Any shapes.
{SIZE.format(what="values", kind="scalar", fill="What fills the values up; the smallest element if not given.")}

Notes
-----
One-dimensional and sorted. NumPy: ``numpy.{name}``; size and fill_value as in JAX.""",
        samples=lambda rng: (Sample(samples.array(rng, (6,), dtype), samples.array(rng, (2, 3), dtype))
                             for dtype in ("i4", "u1", "f8")), example=example)


union1d = _set_operation(np.union1d, "The values that are in x1 or in x2.", _sized_union1d, """
>>> fo.union1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1, 2, 3])""")
intersect1d = _set_operation(np.intersect1d, "The values that are in both x1 and x2.", _sized_intersect1d, """
>>> fo.intersect1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([3])""")
setdiff1d = _set_operation(np.setdiff1d, "The values that are in x1 and not in x2.", _sized_setdiff1d, """
>>> fo.setdiff1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1])""")
setxor1d = _set_operation(np.setxor1d, "The values that are in just one of x1 and x2.", _sized_setxor1d, """
>>> fo.setxor1d(fo.asarray([1, 3]), fo.asarray([3, 2]))
tensor([1, 2])""")
