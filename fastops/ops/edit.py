"""Elements chosen and elements written: what NumPy has beside indexing."""

import numpy as np

from fastops import _dispatch as machine
from fastops import samples
from fastops._dispatch import DispatchKey, Tensor, as_tensor, has_values
from fastops._loops import as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.ops.composite import NUMPY
from fastops.ops.create import zeros
from fastops.ops.elementwise import equal, not_equal, where
from fastops.ops.families import composite, holds, through_numpy, values_of, write_out
from fastops.ops.reduce import all as every
from fastops.ops.reduce import cumsum
from fastops.ops.shape import (along, broadcast_to, copy, expand_dims, flip, moveaxis, normalized, ravel, reinterpret, reshape,
                               stack, take, within)
from fastops.ops.sets import SIZE, first_true, nonzero, sized
from fastops.samples import Sample


NUMBERS = (bool, int, float, complex)


def _common_dtype(values):
    # NumPy's common dtype of arrays and numbers; Python's numbers say only their kind.
    return np.result_type(*[value if type(value) in NUMBERS else as_tensor(value).dtype for value in values])


# Chosen

def _choose(a, choices, /, out=None, mode="raise"):
    a = as_tensor(a)
    if not len(choices):
        raise ValueError("choose: there is nothing to choose from")
    dtype = _common_dtype(choices)
    choices = [as_tensor(choice) for choice in choices]
    if a.dtype.kind not in "iub":
        raise TypeError(f"choose: places are whole numbers, not {a.dtype}")
    a = a.astype(np.int64)
    shape = np.broadcast_shapes(a.shape, *[choice.shape for choice in choices])
    if mode == "raise" and a.size and holds(((a < 0) | (a >= len(choices))).any()):
        raise ValueError(f"choose: a place lies outside the {len(choices)} choices; mode='clip' or 'wrap' allows it")
    places = broadcast_to(within(a, len(choices), mode, "choose"), shape)
    result = broadcast_to(choices[0], shape).astype(dtype)
    for number, choice in enumerate(choices[1:], 1):
        result = where(equal(places, number), choice.astype(dtype), result)
    return result if out is None else write_out(result, out)


choose = composite(
    "choose(Array a, /, Array[] choices, Tensor(a!)? out=None, str mode='raise') -> Tensor",
    "At each place the element of that choice whose number a has there.", _choose, methods=("choose",), reference=np.choose,
    samples=lambda rng: (Sample(np.array([[0, 1], [2, 0]]), [samples.array(rng, (2, 2), d), samples.array(rng, (2,), d), samples.array(rng, (), d)], **more)
                         for d in ("f8", "i4") for more in ({}, {"mode": "wrap"})), notes=NUMPY.format(name="choose"), example="""
>>> fo.choose(fo.asarray([0, 1]), [fo.asarray([1, 2]), fo.asarray([3, 4])])
tensor([1, 4])""")


SIZE_NOTE = f"""
Parameters
----------
{SIZE.format(what="elements", kind="scalar", fill="What stands for an element that there is not; 0 if not given.")}

Notes
-----
"""


def _at_true(name, condition, x, axis, out, size, fill_value):
    # The slices of x along an axis where a flat condition is true.
    if size is None and has_values(condition):
        return take(x, np.flatnonzero(values_of(name, condition)), axis, out)
    if condition.shape[0] > x.shape[axis]:
        raise ValueError(f"{name}: a condition of {condition.shape[0]} elements does not fit {x.shape[axis]} of x")
    places, known = first_true(not_equal(condition, 0), sized(name, size))
    if x.shape[axis] == 0:
        chosen = zeros((*x.shape[:axis], size, *x.shape[axis + 1:]), dtype=x.dtype, device=x.device) + x.dtype.type(fill_value)
    else:
        chosen = where(reshape(known, (-1,) + (1,) * (x.ndim - 1 - axis)), take(x, places, axis), np.asarray(fill_value, dtype=x.dtype))
    return chosen if out is None else write_out(chosen, out)


def _compress(condition, x, /, axis=None, out=None, *, size=None, fill_value=0):
    x, axis = along(as_tensor(x), axis, "compress")
    condition = as_tensor(condition)
    if condition.ndim != 1:
        raise ValueError(f"compress: the condition has one axis, not shape {condition.shape}")
    return _at_true("compress", condition, x, axis, out, size, fill_value)


compress = composite(
    "compress(Array condition, Array x, /, int? axis=None, Tensor(a!)? out=None, *, int? size=None, Scalar fill_value=0) -> Tensor",
    "The slices along an axis, or the elements, where the condition is true.", _compress, family="data-dependent", reference=np.compress,
    samples=lambda rng: (Sample(np.array([True, False, True]), samples.array(rng, (4, 3), d), *axis) for d in ("f8", "i4") for axis in ((), (0,), (1,))),
    notes=SIZE_NOTE + "NumPy: ``numpy.compress``; size and fill_value as in JAX.", example="""
>>> fo.compress([True, False], fo.asarray([5, 6]))
tensor([5])""")
machine.install_method("compress", lambda self, condition, axis=None, out=None: compress(condition, self, axis, out))

extract = composite(
    "extract(Array condition, Array x, /, *, int? size=None, Scalar fill_value=0) -> Tensor", "The elements of x where the condition is true, as one axis.",
    lambda condition, x, /, *, size=None, fill_value=0: _at_true("extract", ravel(as_tensor(condition)), ravel(as_tensor(x)), 0, None, size, fill_value),
    family="data-dependent", reference=np.extract,
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), "?"), samples.array(rng, (3, 4), d)) for d in ("f8", "i4")),
    notes=SIZE_NOTE + "NumPy: ``numpy.extract``; size and fill_value as in JAX: what ``x[condition]`` is where the shape must be known.", example="""
>>> fo.extract(fo.asarray([True, False]), fo.asarray([5, 6]))
tensor([5])
>>> fo.vmap(lambda x: fo.extract(x > 1, x, size=2))(fo.asarray([[0, 2, 4], [1, 1, 3]]))
tensor([[2, 4],
        [3, 0]])""")

flatnonzero = composite(
    "flatnonzero(Array x, /, *, int? size=None, Scalar fill_value=0) -> Tensor", "The places of the elements that are not zero, x taken as flat.",
    lambda x, /, *, size=None, fill_value=0: nonzero(ravel(as_tensor(x)), size=size, fill_value=fill_value)[0], family="data-dependent", reference=np.flatnonzero,
    samples=lambda rng: (Sample(a) for d in ("f8", "?", "i4") for a in samples.layouts(rng, d)), notes=SIZE_NOTE + "NumPy: ``numpy.flatnonzero``; size and fill_value as in JAX.", example="""
>>> fo.flatnonzero(fo.asarray([0, 3, 2]))
tensor([1, 2])""")


def _argwhere(x, /, *, size=None, fill_value=0):
    x = as_tensor(x)
    if x.ndim == 0:
        return share_ndarray(np.argwhere(values_of("argwhere", x))) if size is None else zeros((sized("argwhere", size), 0), dtype=np.int64, device=x.device)
    return stack(nonzero(x, size=size, fill_value=fill_value), 1)


argwhere = composite(
    "argwhere(Array x, /, *, int? size=None, Any fill_value=0) -> Tensor", "The places of the elements that are not zero, one in each row.", _argwhere, family="data-dependent",
    reference=np.argwhere, samples=lambda rng: (Sample(a) for d in ("f8", "?", "i4") for a in samples.layouts(rng, d)),
    notes=SIZE_NOTE + "NumPy: ``numpy.argwhere``; size and fill_value as in JAX.", example="""
>>> fo.argwhere(fo.asarray([[0, 3], [2, 0]]))
tensor([[0, 1],
        [1, 0]])""")


def _select(condlist, choicelist, default=0):
    dtype = _common_dtype([*choicelist, default])
    conditions, choices = [as_tensor(one) for one in condlist], [as_tensor(one) for one in choicelist]
    if len(conditions) != len(choices):
        raise ValueError(f"select: {len(conditions)} conditions for {len(choices)} choices")
    if not conditions:
        raise ValueError("select: at least one condition is needed")
    for condition in conditions:
        if condition.dtype != bool:
            raise TypeError(f"select: conditions are truth values, not {condition.dtype}")
    shape = np.broadcast_shapes(*[one.shape for one in conditions + choices])
    result = broadcast_to(as_tensor(default).astype(dtype), shape)
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        result = where(condition, choice.astype(dtype), result)
    return result


select = composite(
    "select(Array[] condlist, Array[] choicelist, Any default=0) -> Tensor", "At each place the choice of the first condition that is true there.",
    _select, reference=np.select, samples=lambda rng: (Sample([samples.array(rng, (2, 3), "?"), samples.array(rng, (3,), "?")],
                                                              [samples.array(rng, (2, 3), d), samples.array(rng, (3,), d)], *more)
                                                       for d in ("f8", "i4") for more in ((), (7,))), notes=NUMPY.format(name="select"), example="""
>>> x = fo.asarray([1, 2, 3])
>>> fo.select([x < 2, x > 2], [x, x * 10])
tensor([ 1,  0, 30])""")


# Written

def _writing(schema, summary, function, example, **more):
    """An operator that writes its first argument and returns nothing."""
    name = schema.partition("(")[0]

    def kernel(x, *args, **kwargs):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: a Tensor is written, not {type(x).__name__}")
        if not x.writeable:
            raise ValueError(f"{name}: the array to be written is read-only; write into a copy")
        function(x, *args, **kwargs)

    return declare(schema, summary, family="indexing", kernels={DispatchKey.CompositeImplicitAutograd: kernel}, example=example,
                   notes=f"""
Raises
------
ValueError
    If the array is read-only, or what is written does not fit.

Notes
-----
NumPy: ``numpy.{name}``.""", **more)


def _to_write(name, values, dtype, casting="unsafe"):
    # Values in the dtype of the array that they are written into, along one axis. Numbers and lists of them are read in that
    # dtype, so that one that does not fit raises; arrays are cast by a rule.
    if isinstance(values, NUMBERS) or isinstance(values, (list, tuple)) and all(type(value) in NUMBERS for value in values):
        return as_tensor(np.asarray(values, dtype=dtype).ravel())
    values = as_tensor(values)
    if not np.can_cast(values.dtype, dtype, casting):
        raise TypeError(f"{name}: {values.dtype} does not cast to {dtype} by the rule {casting!r}; astype does")
    return ravel(values).astype(dtype)


_chosen = where


def _copyto(dst, src, casting="same_kind", where=True):
    src = as_tensor(src) if not isinstance(src, NUMBERS) else src
    dtype = src.dtype if isinstance(src, Tensor) else np.result_type(src, dst.dtype)
    if not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(f"copyto: {dtype} does not cast to {dst.dtype} by the rule {casting!r}")
    if isinstance(src, complex) and dst.dtype.kind != "c":      # an unsafe cast, which assignment refuses for a number
        src = as_tensor(src)
    if where is True:
        dst[...] = src
        return
    while isinstance(src, Tensor) and src.ndim > dst.ndim and src.shape[0] == 1:
        src = src[0]
    where = as_tensor(where if isinstance(where, (Tensor, np.ndarray)) else np.asarray(where, dtype=bool))
    if where.dtype != bool:
        raise TypeError(f"copyto: where holds truth values, not {where.dtype}")
    where = broadcast_to(where, dst.shape)
    if isinstance(src, Tensor) and has_values(where):
        dst[where] = broadcast_to(src, dst.shape)[where]
    elif isinstance(src, Tensor):
        dst[...] = _chosen(where, src, dst)
    else:
        dst[where] = src


def _array_and(*more):
    return lambda rng: (Sample(samples.array(rng, (3, 4), d), *one) for d in ("f8", "i4") for one in more)


copyto = _writing(
    "copyto(Tensor(a!) dst, /, Any src, str casting='same_kind', Any where=True) -> ()", "Writes src into dst, broadcast and cast.", _copyto, """
>>> x = fo.zeros(2)
>>> fo.copyto(x, [1, 2])
>>> x
tensor([1., 2.])""", samples=_array_and((5,), (np.ones(4, "i1"),), (1, "unsafe", np.arange(4) % 2 == 0)))


def _put(x, ind, v, /, mode="raise"):
    flat, places = x.size, as_tensor(ind)
    if places.dtype.kind not in "iub" and places.size:
        raise TypeError(f"put: places are whole numbers, not {places.dtype}")
    places = within(ravel(places.astype(np.int64)), flat, mode, "put")
    values = _to_write("put", v, x.dtype)
    if flat == 0 and places.size:
        raise IndexError(f"put: an array of shape {x.shape} has no elements to write")
    if places.size == 0 or values.size == 0:
        return
    values = take(values, np.arange(places.size) % values.size)
    if places.device == "cpu" and has_values(places) and (wrong := as_ndarray(places)[(as_ndarray(places) < -flat) | (as_ndarray(places) >= flat)]).size:
        raise IndexError(f"put: index {wrong[0]} is out of bounds for {flat} elements")
    if x.is_contiguous():
        reshape(x, -1)[places] = values
    else:
        x[unravel_index(places % flat, x.shape)] = values


put = _writing("put(Tensor(a!) x, /, Array ind, Any v, str mode='raise') -> ()",
               "Writes values at places of x taken as flat, over and over if there are fewer.", _put, """
>>> x = fo.zeros(3)
>>> fo.put(x, [0, 2], [5, 6])
>>> x
tensor([5., 0., 6.])""", samples=_array_and(([1, 5], [7, 8]), ([0, 3, -1], 2), (np.array([99]), 1, "clip")))


def _masked(name, x, mask, values, counted):
    mask = as_tensor(mask)
    if mask.size != x.size:
        raise ValueError(f"{name}: a mask of shape {mask.shape} has not as many elements as x of shape {x.shape}")
    mask = reshape(mask if mask.dtype == bool else not_equal(mask, 0), x.shape)
    values = _to_write(name, values, x.dtype, "safe")
    if not has_values(mask):                    # another number of places in each row
        if values.size:
            order = reshape(cumsum(ravel(mask)) - 1, x.shape) if counted else np.arange(x.size).reshape(x.shape)
            x[...] = where(mask, take(values, order % values.size), x)
        return
    places = np.flatnonzero(values_of(name, mask))
    if places.size == 0 or values.size == 0 and not counted:
        return
    if values.size == 0:
        raise ValueError(f"{name}: there are no values to write")
    order = np.arange(places.size) if counted else places
    x[mask] = take(values, order % values.size)


place = _writing("place(Tensor(a!) x, /, Array mask, Any vals) -> ()", "Writes values one after the other where the mask is true.",
                 lambda x, mask, vals, /: _masked("place", x, mask, vals, True), """
>>> x = fo.zeros(3)
>>> fo.place(x, [True, False, True], [5, 6])
>>> x
tensor([5., 0., 6.])""", samples=_array_and((np.arange(12).reshape(3, 4) % 3 == 0, [7, 8]),))
putmask = _writing("putmask(Tensor(a!) x, /, Array mask, Any values) -> ()", "Writes, where the mask is true, the value of the same place.",
                   lambda x, mask, values, /: _masked("putmask", x, mask, values, False), """
>>> x = fo.zeros(3)
>>> fo.putmask(x, [True, False, True], [5, 6, 7])
>>> x
tensor([5., 0., 7.])""", samples=_array_and((np.arange(12).reshape(3, 4) % 3 == 0, [7, 8]),))


def _put_along_axis(x, indices, values, /, axis=-1):
    indices = as_tensor(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"put_along_axis: indices have one axis where x is taken as flat, not shape {indices.shape}")
        _put(x, indices, broadcast_to(as_tensor(values), indices.shape))
        return
    axis = normalized(axis, x.ndim, "put_along_axis")
    if indices.ndim != x.ndim:
        raise ValueError(f"put_along_axis: x has {x.ndim} dimensions, indices {indices.ndim}")
    if indices.dtype.kind not in "iu":
        raise IndexError(f"put_along_axis: indices are whole numbers, not {indices.dtype}")
    rows = [np.arange(size).reshape(size, *[1] * (x.ndim - 1 - place)) for place, size in enumerate(x.shape)]
    rows[axis] = indices
    x[tuple(rows)] = values


put_along_axis = _writing("put_along_axis(Tensor(a!) x, /, Array indices, Array values, int? axis=-1) -> ()",
                          "Writes, for each row along an axis, values at that row's indices.", _put_along_axis, """
>>> x = fo.zeros((1, 2))
>>> fo.put_along_axis(x, fo.asarray([[1]]), 5, axis=1)
>>> x
tensor([[0., 5.]])""", samples=_array_and((np.array([[0], [3], [1]]), 9, 1), (np.array([[2, 0, 1, 2]]), 1, 0)))


def _fill_diagonal(x, val, /, wrap=False):
    if x.ndim < 2:
        raise ValueError(f"fill_diagonal: at least 2 dimensions are needed, not shape {x.shape}")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(f"fill_diagonal: all axes must have one length, not shape {x.shape}")
    if x.ndim == 2:
        step, stop = x.shape[1] + 1, None if wrap else x.shape[1] * x.shape[1]
    else:
        step, stop = 1 + int(np.cumprod(x.shape[:-1]).sum()), None
    places = np.arange(x.size)[:stop:step]
    values = _to_write("fill_diagonal", val, x.dtype)
    if places.size and values.size:
        x[np.unravel_index(places, x.shape)] = take(values, np.arange(places.size) % values.size)


fill_diagonal = _writing("fill_diagonal(Tensor(a!) x, /, Any val, bool wrap=False) -> ()", "Writes val on the diagonal.", _fill_diagonal, """
>>> x = fo.zeros((2, 2))
>>> fo.fill_diagonal(x, 5)
>>> x
tensor([[5., 0.],
        [0., 5.]])""", samples=_array_and((5,), ([1, 2],), (7, True)))


def _put_method(self, indices, values, mode="raise"):
    """``fastops.put``, with the names that ``numpy.ndarray.put`` has."""
    return put(self, indices, values, mode)


machine.install_method("put", _put_method)


def fill(self, value, /):
    """Write a number into every element, as ``numpy.ndarray.fill``; returns None, raises ValueError for more than one."""
    if not isinstance(value, NUMBERS) and as_tensor(value).ndim:
        raise ValueError(f"fill: one number is wanted, not an array of shape {as_tensor(value).shape}; x[...] = values takes one")
    self[...] = value


def byteswap(self, inplace=False):
    """The elements with their bytes in reverse order, as ``numpy.ndarray.byteswap``; with *inplace* written over the old ones."""
    size = self.itemsize // 2 if self.dtype.kind == "c" else self.itemsize
    result = copy(self)
    if size > 1 and result.size:
        numbers = reshape(reinterpret(ravel(self), np.uint8), (-1, size))
        result = reshape(reinterpret(ravel(copy(flip(numbers, 1), "C")), self.dtype), self.shape)
    if not inplace:
        return result
    self[...] = result
    return self


def resize(self, *new_shape, refcheck=True):
    """Refused: memory here never changes its size; ``fastops.resize`` gives a new tensor."""
    raise ValueError("resize: a tensor's memory does not change its size; fastops.resize(x, shape) gives a new tensor")


for _method in (fill, byteswap, resize):
    machine.install_method(_method.__name__, _method)


# Functions along an axis

def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """*func1d* of each row along an axis, a tensor of one axis, put together; as ``numpy.apply_along_axis``.

    The axes of the results stand where the axis was; their dtype is that of the first. Raises ValueError where there is no row.

    >>> import fastops as fo
    >>> fo.apply_along_axis(lambda row: row.sum(), 1, fo.ones((2, 3)))
    tensor([3., 3.])
    """
    arr = as_tensor(arr)
    axis = normalized(axis, arr.ndim, "apply_along_axis")
    rows = moveaxis(arr, axis, -1)
    outer = rows.shape[:-1]
    results = [as_tensor(func1d(rows[(*place, ...)], *args, **kwargs)) for place in np.ndindex(outer)]
    if not results:
        raise ValueError(f"apply_along_axis: there is no row along axis {axis} of shape {arr.shape}")
    inner = results[0].shape
    together = reshape(stack([broadcast_to(result.astype(results[0].dtype), inner) for result in results]), (*outer, *inner))
    return moveaxis(together, tuple(range(len(outer), together.ndim)), tuple(range(axis, axis + len(inner))))


def apply_over_axes(func, a, axes):
    """*func(a, axis)* one axis after the other, the axes kept; as ``numpy.apply_over_axes``.

    >>> import fastops as fo
    >>> fo.apply_over_axes(fo.sum, fo.ones((2, 3)), [0, 1])
    tensor([[6.]])
    """
    result = as_tensor(a)
    rank = result.ndim
    for axis in ravel(as_tensor(axes)).tolist():
        axis = normalized(axis, rank, "apply_over_axes")
        step = func(result, axis)
        if step.ndim == rank - 1:
            step = expand_dims(step, axis)
        if step.ndim != rank:
            raise ValueError("apply_over_axes: the function changed the number of axes by more than one")
        result = step
    return result


array_equiv = composite(
    "array_equiv(Array a1, Array a2, /) -> bool", "Whether the arrays broadcast together and are equal then, as True or False.",
    lambda a1, a2, /: _equivalent(as_tensor(a1), as_tensor(a2)), reference=np.array_equiv,
    samples=lambda rng: (Sample(np.ones((2, 2)), np.ones(2)), Sample(np.ones(3), np.ones(2)), Sample(np.ones(2), np.zeros(2))),
    notes=NUMPY.format(name="array_equiv"), example="""
>>> fo.array_equiv(fo.ones((2, 2)), [1, 1])
True""")


def _equivalent(first, second):
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return False
    return every(equal(first, second)).item()


unravel_index = through_numpy(
    "unravel_index(Array indices, /, int[] shape, str order='C') -> Tensor[]", "The places along each axis of places in an array taken as flat.",
    lambda indices, shape, order="C": tuple(np.unravel_index(indices, shape, order)), lambda indices, shape, order="C": [
        (indices.shape, np.dtype(np.intp))] * (1 if isinstance(shape, int) else len(shape)), reference=np.unravel_index,
    batching="first mapped", samples=lambda rng: (Sample(np.array([[1, 5], [3, 0]]), shape, *order) for shape in ((2, 3), (6, 1)) for order in ((), ("F",))),
    notes=NUMPY.format(name="unravel_index"), example="""
>>> fo.unravel_index(fo.asarray([4]), (2, 3))
(tensor([1]), tensor([1]))""")

ravel_multi_index = through_numpy(
    "ravel_multi_index(Array[] multi_index, /, int[] dims, Any mode='raise', str order='C') -> Tensor",
    "The places in an array taken as flat of places along each axis.", lambda multi_index, dims, mode="raise", order="C":
    np.ravel_multi_index(tuple(multi_index), dims, mode, order), lambda multi_index, dims, mode="raise", order="C": (
        np.broadcast_shapes(*[one.shape for one in multi_index]), np.dtype(np.intp)), keys=(DispatchKey.Undefined,), reference=lambda index, *more:
    np.ravel_multi_index(tuple(index), *more), batching="in line", samples=lambda rng: (Sample([np.array([1, 0]), np.array([2, 1])], (2, 3), *more)
                                                                    for more in ((), ("clip", "F"))), notes=NUMPY.format(name="ravel_multi_index"),
    example="""
>>> fo.ravel_multi_index([fo.asarray([1]), fo.asarray([1])], (2, 3))
tensor([4])""")


def _bits_shape(name, factor):
    def shape(x, axis=None, bitorder="big", count=None):
        length = x.size if axis is None else x.shape[normalized(axis, x.ndim, name)]
        length = factor(length) if count is None else count if count >= 0 else factor(length) + count
        if axis is None:
            return (length,), np.dtype(np.uint8)
        axis = normalized(axis, x.ndim, name)
        return (*x.shape[:axis], length, *x.shape[axis + 1:]), np.dtype(np.uint8)
    return shape


def _unpackbits(x, axis=None, count=None, bitorder="big"):
    result = np.unpackbits(x, axis, count, bitorder)
    if x.size == 0:             # NumPy leaves what is not there as the memory has it
        result[...] = 0
    return result


packbits = through_numpy(
    "packbits(Array x, /, int? axis=None, str bitorder='big') -> Tensor", "Eight truth values to a byte, along an axis or as flat.", np.packbits,
    _bits_shape("packbits", lambda length: -(-length // 8)), batching="along axis", reference=np.packbits, samples=lambda rng: (
        Sample(samples.array(rng, (3, 10), "?"), *more) for more in ((), (1,), (0, "little"))), notes=NUMPY.format(name="packbits"), example="""
>>> fo.packbits(fo.asarray([True, False, True]))
tensor([160], dtype=uint8)""")
unpackbits = through_numpy(
    "unpackbits(Array x, /, int? axis=None, int? count=None, str bitorder='big') -> Tensor", "The bits of bytes, along an axis or as flat.",
    _unpackbits, lambda x, axis=None, count=None, bitorder="big": _bits_shape("unpackbits", lambda length: 8 * length)(x, axis, bitorder, count),
    reference=np.unpackbits, batching="along axis", samples=lambda rng: (Sample(samples.array(rng, (2, 3), "u1"), *more) for more in ((), (1,), (0, 5), (1, -2, "little"))),
    notes=NUMPY.format(name="unpackbits"), example="""
>>> fo.unpackbits(fo.asarray([160], dtype=fo.uint8), count=3)
tensor([1, 0, 1], dtype=uint8)""")
