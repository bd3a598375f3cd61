"""Arrays taken apart and put together: splits, blocks, rows and elements added and removed."""

import operator

import numpy as np

from fastops import samples
from fastops._dispatch import Tensor, as_tensor
from fastops._loops import as_ndarray
from fastops.ops.composite import NUMPY, vstack
from fastops.ops.create import full
from fastops.ops.families import composite, values_of
from fastops.ops.shape import (along, atleast_3d, broadcast_to, concat, copy, moveaxis, normalized, ravel, reshape,
                               take)
from fastops.samples import Sample


def _slices(axis, *bounds):
    return (*(slice(None),) * axis, slice(*bounds))


def _one(*shapes, dtypes=("f8", "i4"), args=((),), **more):
    return lambda rng: (Sample(samples.array(rng, shape, dtype), *one, **more) for dtype in dtypes for shape in shapes for one in args)


def _many(*groups, dtypes=("f8", "i4")):
    return lambda rng: (Sample([samples.array(rng, shape, dtype) for shape in shapes]) for dtype in dtypes for shapes in groups)


# Taken apart: views

def _pieces(name, x, indices_or_sections, axis, exact):
    x = as_tensor(x)
    axis = normalized(axis, x.ndim, name)
    size = x.shape[axis]
    try:
        count = operator.index(indices_or_sections)
    except TypeError:
        bounds = [operator.index(bound) for bound in indices_or_sections]
        return [x[_slices(axis, *ends)] for ends in zip([0, *bounds], [*bounds, size])]
    if count < 1:
        raise ValueError(f"{name}: the number of sections is {count}; it must be positive")
    if exact and size % count:
        raise ValueError(f"{name}: axis {axis} of {size} elements does not divide into {count} equal sections; array_split does")
    each, longer = divmod(size, count)
    ends = [0]
    for place in range(count):
        ends.append(ends[-1] + each + (place < longer))
    return [x[_slices(axis, *pair)] for pair in zip(ends, ends[1:])]


def _splitting(name, function, summary, example, axis="int axis=0"):
    more = f", {axis}" if axis else ""
    return composite(
        f"{name}(Array(a) x, /, Any indices_or_sections{more}) -> Tensor(a)[]", summary, function, reference=getattr(np, name),
        samples=_one((4, 6, 2), args=((2,), ([1, 3],), ([0, 9],))), example=example, notes=f"""
Parameters
----------
x : array_like
    The array.
indices_or_sections : int or sequence of ints
    How many equal sections, or the places where to cut.
axis : int
    The axis to cut.

Returns
-------
list of Tensor
    Views of x.

Raises
------
ValueError
    If the axis does not divide into so many sections.

Notes
-----
NumPy: ``numpy.{name}``.""")


array_split = _splitting("array_split", lambda x, parts, /, axis=0: _pieces("array_split", x, parts, axis, False),
                         "x cut into sections along an axis, the first ones longer by one where it does not divide.", """
>>> fo.array_split(fo.arange(5), 2)
[tensor([0, 1, 2]), tensor([3, 4])]""")
split = _splitting("split", lambda x, parts, /, axis=0: _pieces("split", x, parts, axis, True), "x cut into sections along an axis.", """
>>> fo.split(fo.arange(4), 2)
[tensor([0, 1]), tensor([2, 3])]""")


def _split_along(name, axis_of):
    def function(x, parts, /):
        x = as_tensor(x)
        return _pieces(name, x, parts, axis_of(x), True)
    return function


def _at_least_axes(name, count, axis):
    def axis_of(x):
        if x.ndim < count:
            raise ValueError(f"{name}: at least {count} axes are needed, not shape {x.shape}")
        return axis(x)
    return axis_of


hsplit = _splitting("hsplit", _split_along("hsplit", _at_least_axes("hsplit", 1, lambda x: 1 if x.ndim > 1 else 0)),
                    "x cut along axis 1, or 0 if it has one axis.", """
>>> fo.hsplit(fo.arange(4), 2)
[tensor([0, 1]), tensor([2, 3])]""", axis="")
vsplit = _splitting("vsplit", _split_along("vsplit", _at_least_axes("vsplit", 2, lambda x: 0)), "x cut along axis 0.", """
>>> fo.vsplit(fo.eye(2), 2)[0]
tensor([[1., 0.]])""", axis="")
dsplit = _splitting("dsplit", _split_along("dsplit", _at_least_axes("dsplit", 3, lambda x: 2)), "x cut along axis 2.", """
>>> fo.dsplit(fo.ones((1, 1, 2)), 2)[0].shape
(1, 1, 1)""", axis="")

rollaxis = composite(
    "rollaxis(Array(a) x, /, int axis, int start=0) -> Tensor(a)", "An axis moved to stand before another.",
    lambda x, axis, /, start=0: moveaxis(x, normalized(axis, x.ndim, "rollaxis"), _before(x, axis, start)), reference=np.rollaxis,
    samples=_one((2, 3, 4), args=((2,), (0, 3), (1, 2))), notes=NUMPY.format(name="rollaxis"), example="""
>>> fo.rollaxis(fo.zeros((2, 3, 4)), 2).shape
(4, 2, 3)""")


def _before(x, axis, start):
    axis = normalized(axis, x.ndim, "rollaxis")
    if not -x.ndim <= start <= x.ndim:
        raise np.exceptions.AxisError(start, x.ndim + 1, "rollaxis")
    start += x.ndim if start < 0 else 0
    return start - 1 if axis < start else start


# Put together

def _list(arrays):
    return [as_tensor(array) for array in (arrays if isinstance(arrays, (list, tuple)) else list(arrays))]


dstack = composite(
    "dstack(Array[] arrays, /) -> Tensor", "The arrays behind each other, along a third axis.",
    lambda arrays, /: concat([atleast_3d(array) for array in _list(arrays)], 2), reference=np.dstack,
    samples=_many([(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 1)]), notes=NUMPY.format(name="dstack"), example="""
>>> fo.dstack([fo.asarray([1, 2]), fo.asarray([3, 4])])
tensor([[[1, 3],
         [2, 4]]])""")


def _block(arrays):
    def depth(value):
        if isinstance(value, tuple):
            raise TypeError("block: blocks are given as lists, not as tuples")
        return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0

    levels = depth(arrays)

    def joined(value, level):
        if not isinstance(value, list):
            if level != levels:
                raise ValueError("block: the lists are not nested equally deep")
            return as_tensor(value)
        if not value:
            raise ValueError("block: a list of blocks is empty")
        parts = [joined(part, level + 1) for part in value]
        rank = max([levels, *[part.ndim for part in parts]])
        parts = [reshape(part, (1,) * (rank - part.ndim) + part.shape) for part in parts]
        return concat(parts, level - levels)

    result = joined(arrays, 0)
    return copy(result) if not isinstance(arrays, list) else result


block = composite(
    "block(Any arrays, /) -> Tensor", "An array of blocks: the innermost lists are joined along the last axis, the next along the one before.",
    _block, reference=np.block, samples=lambda rng: (Sample([[samples.array(rng, (2, 2), d), samples.array(rng, (2, 1), d)],
                                                             [samples.array(rng, (1, 2), d), samples.array(rng, (1, 1), d)]]) for d in ("f8", "i4")),
    notes=NUMPY.format(name="block"), example="""
>>> fo.block([[fo.eye(1), fo.zeros((1, 1))]])
tensor([[1., 0.]])""")


row_stack = vstack


def _append(x, values, /, axis=None):
    x, values = as_tensor(x), as_tensor(values)
    return concat([ravel(x), ravel(values)], 0) if axis is None else concat([x, values], axis)


append = composite(
    "append(Array x, /, Array values, int? axis=None) -> Tensor", "x with values behind it, along an axis or as flat.", _append,
    reference=np.append, samples=lambda rng: (Sample(samples.array(rng, (2, 3), d), samples.array(rng, (1, 3), "f4"), *axis)
                                              for d in ("f8", "i4") for axis in ((), (0,))), notes=NUMPY.format(name="append"), example="""
>>> fo.append(fo.asarray([1, 2]), 3)
tensor([1, 2, 3])""")


def _chosen(name, obj, length, ends):
    # The places that an index of insert or delete means, counted from the front, in NumPy's order.
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length)), False
    places = np.asarray(as_ndarray(obj) if isinstance(obj, Tensor) else obj)
    single = places.ndim == 0
    if places.ndim > 1 and (name == "insert" or places.dtype == bool):
        raise ValueError(f"{name}: places are a number or have one axis, not shape {places.shape}")
    if places.dtype == bool:
        if places.shape != (length,) and name == "delete":
            raise ValueError(f"delete: a mask of shape {places.shape} does not fit an axis of {length}")
        places, single = np.flatnonzero(places), False
    if places.size == 0 and not single:
        places = places.astype(np.intp)
    if places.dtype.kind not in "iu":
        raise IndexError(f"{name}: places are whole numbers, slices or masks, not {places.dtype}")
    places = np.atleast_1d(places).ravel()
    wrong = places[(places < -length) | (places >= length + ends)]
    if wrong.size:
        raise IndexError(f"{name}: index {wrong[0]} is out of bounds for an axis of {length} elements")
    return np.where(places < 0, places + length, places), single


def _along(x, axis, name):
    # As for other functions, but that an array without axes has no axis 0 here.
    x = as_tensor(x)
    return along(x, axis if axis is None else normalized(axis, x.ndim, name), name)


def _delete(x, obj, /, axis=None):
    x, axis = _along(x, axis, "delete")
    places, _ = _chosen("delete", obj, x.shape[axis], 0)
    kept = np.ones(x.shape[axis], bool)
    kept[places] = False
    return take(x, np.flatnonzero(kept), axis)


_PLACES = """
Parameters
----------
x : array_like
    The array; it is taken as flat if axis is None.
obj : int, slice, sequence of ints or mask
    The places{where}.
{more}axis : int, optional
    The axis.

Raises
------
IndexError
    If a place is out of bounds.

Notes
-----
The places must be known: they are read. NumPy: ``numpy.{name}``."""

delete = composite(
    "delete(Array x, /, Any obj, int? axis=None) -> Tensor", "x without the elements, rows or columns at some places.", _delete,
    reference=np.delete, samples=_one((4, 3), args=((1,), (1, 0), ([0, 2], 1), (slice(None, None, 2), 0), (-1, 1), ([], 0))),
    notes=_PLACES.format(name="delete", where=" that are left out", more=""), example="""
>>> fo.delete(fo.asarray([5, 6, 7]), 1)
tensor([5, 7])""")


def _insert(x, obj, values, /, axis=None):
    x, axis = _along(x, axis, "insert")
    length = x.shape[axis]
    places, scalar = _chosen("insert", obj, length, 1)
    values = as_tensor(values).astype(x.dtype)
    if len(places) == 1:            # one place takes as many slices as there are
        values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape) if values.ndim < x.ndim else values
        values = moveaxis(values, 0, axis) if scalar else values
        places = np.full(values.shape[axis], places[0])
    count = len(places)
    values = broadcast_to(values, (*x.shape[:axis], count, *x.shape[axis + 1:]))
    order = np.argsort(places, kind="stable")
    targets = np.empty(count, np.intp)
    targets[order] = places[order] + np.arange(count)
    source = np.empty(length + count, np.intp)
    old = np.ones(length + count, bool)
    old[targets] = False
    source[old] = np.arange(length)
    source[targets] = length + np.arange(count)
    return take(concat([x, values], axis), source, axis)


insert = composite(
    "insert(Array x, /, Any obj, Array values, int? axis=None) -> Tensor", "x with values put before some places.", _insert,
    reference=np.insert, samples=lambda rng: [
        *(Sample(samples.array(rng, (4,), d), *args) for d in ("f8", "i4") for args in ((1, 5), ([0, 2], 7), ([1, 1], np.array([8, 9])),
                                                                                     (slice(0, 2), 3), (-1, 2), (2, np.array([1, 2])))),
        *(Sample(samples.array(rng, (2, 3), d), *args) for d in ("f8", "i4") for args in ((1, 5, 1), (0, np.array([1, 2, 3]), 0),
                                                                                         ([0, 2], np.array([[7], [8]]), 1)))],
    notes=_PLACES.format(name="insert", where=" before which they are put", more="values : array_like\n    What is put there; cast to x's dtype.\n"),
    example="""
>>> fo.insert(fo.asarray([5, 7]), 1, 6)
tensor([5, 6, 7])""")


def _resize(x, new_shape):
    x = ravel(as_tensor(x))
    shape = tuple(np.atleast_1d(np.asarray(new_shape, dtype=np.intp)).tolist())
    if any(size < 0 for size in shape):
        raise ValueError(f"resize: all sizes must be non-negative, not {shape}")
    count = int(np.prod(shape, dtype=np.intp))
    if x.size == 0 or count == 0:
        return full(shape, 0, dtype=x.dtype, device=x.device)
    times = -(-count // x.size)
    return reshape(concat([x] * times, 0)[:count], shape)


resize = composite("resize(Array x, /, int[] new_shape) -> Tensor", "The elements of x in another shape, over and over as far as it takes.",
                   _resize, reference=np.resize, samples=_one((2, 3), args=(((3, 4),), (4,), ((0, 2),), ((2, 2),))),
                   notes=NUMPY.format(name="resize"), example="""
>>> fo.resize(fo.asarray([1, 2, 3]), (2, 2))
tensor([[1, 2],
        [3, 1]])""")


def _trim_zeros(filt, trim="fb", axis=None):
    x = as_tensor(filt)
    trim = str(trim).lower()
    if trim not in ("fb", "f", "b", "bf"):
        raise ValueError(f"trim_zeros: trim is made of 'f' and 'b', not {trim!r}")
    places = np.argwhere(values_of("trim_zeros", x))
    axes = range(x.ndim) if axis is None else [normalized(one, x.ndim, "trim_zeros") for one in ((axis,) if isinstance(axis, int) else axis)]
    low = places.min(0) if len(places) else np.array(x.shape)
    high = places.max(0) + 1 if len(places) else np.zeros(x.ndim, np.intp)      # nothing is left, from either side
    return x[tuple([slice(low[one] if "f" in trim else 0, high[one] if "b" in trim else None) if one in axes else slice(None)
                    for one in range(x.ndim)])]


trim_zeros = composite(
    "trim_zeros(Array(a) filt, /, str trim='fb', int[]? axis=None) -> Tensor(a)", "x without the zeros at the front and at the back.",
    _trim_zeros, family="data-dependent", reference=np.trim_zeros, samples=lambda rng: (Sample(np.array([0, 0, 1, 0, 2, 0], d), *trim) for d in ("f8", "i4")
                                                               for trim in ((), ("f",), ("b",))),
    notes="The data are read. " + NUMPY.format(name="trim_zeros"), example="""
>>> fo.trim_zeros(fo.asarray([0, 1, 2, 0]))
tensor([1, 2])""")


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to, a tuple of ints.

    Raises ValueError if they do not broadcast or a size is negative, TypeError if one is no whole number. NumPy:
    ``numpy.broadcast_shapes``.

    >>> import fastops as fo
    >>> fo.broadcast_shapes((3, 1), 4)
    (3, 4)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError(f"broadcast_shapes: shapes {', '.join(map(str, shapes))} do not broadcast: {error}") from None
