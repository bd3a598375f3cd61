"""Shapes: views of the same memory with other axes, and arrays put together."""

import builtins
import itertools
import math

import numpy as np

from fastops import _dispatch as machine
from fastops import _views as views
from fastops import errors, samples
from fastops._autograd import structural
from fastops._dispatch import DispatchKey
from fastops._loops import as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import linear, refuse
from fastops.ops.elementwise import clip, remainder
from fastops.ops.families import composite, view, write_out
from fastops.samples import Sample

VIEW_NOTE = "The result is a view: it shares x's memory. NumPy: ``numpy.{name}``."


def each(*shapes_and_calls):
    """Samples: an array of each shape, in row-major order and transposed, with the arguments that follow it."""
    def generate(rng):
        for shape, *calls in shapes_and_calls:
            for args, kwargs in calls:
                yield Sample(samples.array(rng, shape, "f8"), *args, **kwargs)
                yield Sample(samples.array(rng, shape[::-1], "i4").T, *args, **kwargs)
                yield Sample(samples.array(rng, shape, "c16")[..., ::-1] if shape else samples.array(rng, (), "c8"),
                             *args, **kwargs)
    return generate


def call(*args, **kwargs):
    return args, kwargs


# Transposes of what is linear: where the cotangent of an element comes from.

def _reshape_transpose(g, x_shape, order):
    if order not in ("C", "F"):
        raise errors.NoDerivativeError(f"order={order!r} depends on how the array lies in memory; use 'C' or 'F' where a derivative is wanted")
    return reshape(g, x_shape, order=order)


def _inverse(axes, rank):
    return sorted(range(rank), key=lambda place: axes[place] % rank)


def _diagonal_transpose(g, x_shape, offset, axis1, axis2):
    rank = len(x_shape)
    axis1, axis2 = axis1 % rank, axis2 % rank
    moved = tuple([size for axis, size in enumerate(x_shape) if axis not in (axis1, axis2)]) + (x_shape[axis1], x_shape[axis2])
    places = np.arange(g.shape[-1])
    index = (Ellipsis, places + builtins.max(-offset, 0), places + builtins.max(offset, 0))
    return moveaxis(structural("scattered")(g, index, moved), (-2, -1), (axis1, axis2))


def _windows_transpose(g, x_shape, window_shape, axis):
    count = math.prod(x_shape)
    places = np.lib.stride_tricks.sliding_window_view(np.arange(count).reshape(x_shape), window_shape, axis)
    return reshape(structural("scattered")(g, places, (count,)), x_shape)


def _concat_transpose(g, arrays_shape, axis):
    if axis is None:
        sizes = [math.prod(shape) for shape in arrays_shape]
        axis = 0
    else:
        sizes = [shape[axis] for shape in arrays_shape]
    ends = list(itertools.accumulate(sizes))
    rest = (slice(None),) * (axis % g.ndim)
    return [reshape(g[(*rest, slice(end - size, end))], shape) for end, size, shape in zip(ends, sizes, arrays_shape)]


reshape = view(
    "reshape(Array(a) x, /, int[] shape, *, str order='C', bool? copy=None) -> Tensor(a)", views.reshape_kernel,
    "The same elements in row-major order with another shape; one size may be -1, for what is left.", """
>>> fo.reshape(fo.arange(6), (2, -1))
tensor([[0, 1, 2],
        [3, 4, 5]])""", gather="shape", methods=("reshape",), reference=lambda x, shape, order="C", copy=None: np.reshape(x, shape, order=order),
    batching="reshaped", samples=each(((2, 6), call((3, 4)), call((3, 4), order="F"), call((3, 4), order="A"), call((-1, 2, 3), order="F"), call((-1,)), call((2, 2, -1)), call(12), call((2, 6), copy=True)),
                 ((0, 3), call((3, 0)), call((0,))), ((), call((1, 1)), call(())), ((4, 1, 3), call((4, 3)), call((2, 6)))),
    notes="""A view where the memory allows it, else a copy; copy=True always copies, copy=False never does. The elements are taken
and put by rows (order="C"), by columns ("F"), or by columns if they lie so in memory ("A").

Raises
------
ValueError
    If the number of elements differs, several sizes are -1, or copy is False and a copy is needed.

Notes
-----
NumPy: ``numpy.reshape``.""",
    derivative=linear(x=_reshape_transpose))

ravel = view(
    "ravel(Array(a) x, /, str order='C') -> Tensor(a)", views.ravel_kernel,
    "The elements in row-major order along one axis; a view if they lie so, else a copy.", """
>>> fo.ravel(fo.asarray([[1, 2], [3, 4]]))
tensor([1, 2, 3, 4])""", methods=("ravel",), reference=np.ravel, notes="NumPy: ``numpy.ravel``.",
    batching="ravelled", samples=each(((2, 3), call(), call("F"), call(order="A"), call("K")), ((2, 3, 2), call("K")), ((), call()), ((0, 2), call())),
    derivative=linear(x=_reshape_transpose))

flatten = view(
    "flatten(Array x, /, str order='C') -> Tensor", views.flatten_kernel, "A copy of the elements in row-major order along one axis.", """
>>> fo.flatten(fo.asarray([[1, 2], [3, 4]]))
tensor([1, 2, 3, 4])""", methods=("flatten",), reference=lambda x, order="C": x.flatten(order), notes="NumPy: ``numpy.ndarray.flatten``.",
    batching="flattened", samples=each(((2, 3), call(), call("F"), call(order="A"), call("K")), ((), call())),
    derivative=linear(x=_reshape_transpose))

permute_dims = view(
    "permute_dims(Array(a) x, /, int[] axes) -> Tensor(a)", views.permute_kernel,
    "The axes in the order that axes says.", """
>>> fo.permute_dims(fo.zeros((2, 3, 4)), (2, 0, 1)).shape
(4, 2, 3)""", reference=np.transpose, notes=VIEW_NOTE.format(name="permute_dims"),
    batching="permuted", samples=each(((2, 3, 4), call((2, 0, 1)), call((0, -1, 1))), ((5,), call((0,))), ((), call(()))),
    derivative=linear(x=lambda g, axes: permute_dims(g, _inverse(axes, g.ndim))))

transpose = view(
    "transpose(Array(a) x, /, int[]? axes=None) -> Tensor(a)", views.permute_kernel,
    "The axes in the order that axes says, reversed if it is not given.", """
>>> fo.transpose(fo.asarray([[1, 2], [3, 4]]))
tensor([[1, 3],
        [2, 4]])""", gather="axes", methods=("transpose",), reference=np.transpose, notes=VIEW_NOTE.format(name="transpose"),
    batching="permuted", samples=each(((2, 3, 4), call(), call((1, 2, 0))), ((5,), call()), ((), call())),
    derivative=linear(x=lambda g, axes: transpose(g) if axes is None else permute_dims(g, _inverse(axes, g.ndim))))

swapaxes = view(
    "swapaxes(Array(a) x, /, int axis1, int axis2) -> Tensor(a)", views.swapaxes_kernel, "Two axes exchanged.", """
>>> fo.swapaxes(fo.zeros((2, 3, 4)), 0, -1).shape
(4, 3, 2)""", methods=("swapaxes",), reference=np.swapaxes, notes=VIEW_NOTE.format(name="swapaxes"),
    batching="two axes", samples=each(((2, 3, 4), call(0, -1), call(1, 1))),
    derivative=linear(x=lambda g, axis1, axis2: swapaxes(g, axis1, axis2)))

matrix_transpose = view(
    "matrix_transpose(Array(a) x, /) -> Tensor(a)", views.matrix_transpose_kernel, "The last two axes exchanged.", """
>>> fo.matrix_transpose(fo.zeros((2, 3, 4))).shape
(2, 4, 3)""", reference=lambda x: np.swapaxes(x, -1, -2), notes=VIEW_NOTE.format(name="matrix_transpose"),
    batching="transposed matrices", samples=each(((2, 3, 4), call()), ((2, 3), call())),
    derivative=linear(x=lambda g: matrix_transpose(g)))

moveaxis = view(
    "moveaxis(Array(a) x, /, int[] source, int[] destination) -> Tensor(a)", views.moveaxis_kernel,
    "Axes moved from source to destination; the others keep their order.", """
>>> fo.moveaxis(fo.zeros((2, 3, 4)), 0, -1).shape
(3, 4, 2)""", reference=np.moveaxis, notes=VIEW_NOTE.format(name="moveaxis"),
    batching="moved", samples=each(((2, 3, 4), call(0, -1), call((0, 1), (2, 0)), call(-1, 1))),
    derivative=linear(x=lambda g, source, destination: moveaxis(g, destination, source)))

expand_dims = view(
    "expand_dims(Array(a) x, /, Any axis=0) -> Tensor(a)", views.expand_dims_kernel,
    "Axes of length 1 added, at the places that they have in the result.", """
>>> fo.expand_dims(fo.asarray([1, 2]), axis=1)
tensor([[1],
        [2]])""", reference=lambda x, axis=0: np.expand_dims(x, axis), notes=VIEW_NOTE.format(name="expand_dims"),
    batching="expanded", samples=each(((2, 3), call(0), call(-1), call(axis=1), call((0, 2)), call((-1, 0))), ((), call(0))),
    derivative=linear(x=lambda g, x_shape: reshape(g, x_shape)))

squeeze = view(
    "squeeze(Array(a) x, /, int[]? axis=None) -> Tensor(a)", views.squeeze_kernel,
    "Axes of length 1 removed: those of axis, or all.", """
>>> fo.squeeze(fo.asarray([[[1], [2]]]), axis=0)
tensor([[1],
        [2]])""", methods=("squeeze",), reference=np.squeeze, notes=VIEW_NOTE.format(name="squeeze") + """

Raises
------
ValueError
    If an axis named is not of length 1.""",
    batching="squeezed", samples=each(((1, 3, 1), call(), call(0), call((0, 2)), call(axis=-1)), ((), call())),
    derivative=linear(x=lambda g, x_shape: reshape(g, x_shape)))

broadcast_to = view(
    "broadcast_to(Array(a) x, /, int[] shape) -> Tensor(a)", views.broadcast_to_kernel,
    "x seen with a larger shape; elements that are seen several times cannot be written.", """
>>> fo.broadcast_to(fo.asarray([1, 2]), (2, 2))
tensor([[1, 2],
        [1, 2]])""", reference=np.broadcast_to, notes=VIEW_NOTE.format(name="broadcast_to"),
    batching="broadcast", samples=each(((3, 1), call((3, 4)), call((2, 3, 4)), call((3, 1))), ((), call((2,)), call(())), ((1,), call((0,)))),
    derivative=linear(x=lambda g: g))

flip = view(
    "flip(Array(a) x, /, int[]? axis=None) -> Tensor(a)", views.flip_kernel,
    "The elements in reverse order along axes, along all if none is named.", """
>>> fo.flip(fo.asarray([1, 2, 3]))
tensor([3, 2, 1])""", reference=np.flip, notes=VIEW_NOTE.format(name="flip"),
    batching="over axes", samples=each(((2, 3), call(), call(0), call((0, 1)), call(axis=-1)), ((), call()), ((0, 2), call())),
    derivative=linear(x=lambda g, axis: flip(g, axis)))

diagonal = view(
    "diagonal(Array(a) x, /, int offset=0, int axis1=0, int axis2=1) -> Tensor(a)", views.diagonal_kernel,
    "The diagonal of two axes, as the last axis of the result; it cannot be written.", """
>>> fo.diagonal(fo.asarray([[1, 2], [3, 4]]))
tensor([1, 4])""", methods=("diagonal",), reference=np.diagonal, notes=VIEW_NOTE.format(name="diagonal"),
    batching="two axes", samples=each(((3, 4), call(), call(1), call(-2), call(9)), ((2, 3, 4), call(0, 1, 2), call(1, axis1=2, axis2=0))),
    derivative=linear(x=_diagonal_transpose))

sliding_window_view = view(
    "sliding_window_view(Array(a) x, /, int[] window_shape, int[]? axis=None, *, bool subok=False, bool writeable=False) -> Tensor(a)",
    views.windows_kernel, "The windows of a size, one for each place where it fits, as further axes at the end.", """
>>> fo.sliding_window_view(fo.asarray([1, 2, 3, 4]), 3)
tensor([[1, 2, 3],
        [2, 3, 4]])""", reference=np.lib.stride_tricks.sliding_window_view,
    batching="windows", samples=each(((3, 4), call((2, 2)), call(2, 1), call((2,), axis=-1), call((2, 2), (0, 0))), ((5,), call(5)), ((2, 0), call((1, 0)))),
    notes="""A view that cannot be written unless writeable is True: elements are seen several times. subok is accepted as NumPy does.

Raises
------
ValueError
    If a window is larger than the array, or the sizes do not fit the axes.
AxisError
    If there is no such axis.

Notes
-----
NumPy: ``numpy.lib.stride_tricks.sliding_window_view``.""",
    derivative=linear(x=_windows_transpose))

reinterpret = view(
    "reinterpret(Array(a) x, /, ScalarType dtype) -> Tensor(a)", views.reinterpret_kernel, "The same bytes seen as another dtype.", """
>>> fo.reinterpret(fo.asarray([1.0]), "int64")
tensor([4607182418800017408])""", reference=lambda x, dtype: x.view(dtype), batching="reinterpreted",
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), first), second) for first in ("f8", "i4", "c8", "u1") for second in ("i8", "f4", "u1", "c8")
                         if not (first == "u1" and second in ("c8", "i8"))), notes=VIEW_NOTE.format(name="ndarray.view") + """

Raises
------
ValueError
    If the last axis has gaps or does not divide into elements of the new size.""",
    derivative=refuse("it reads bytes as another dtype"))

real = view(
    "real(Array(a) x, /) -> Tensor(a)", views.real_kernel, "The real part; real numbers are their own.", """
>>> fo.real(fo.asarray([1 + 2j]))
tensor([1.])""", reference=np.real, notes=VIEW_NOTE.format(name="real"),
    batching="same shape", samples=lambda rng: (Sample(a) for dtype in samples.ALL for a in samples.layouts(rng, dtype)),
    derivative=linear(x=lambda g: g))

imag = view(
    "imag(Array(a) x, /) -> Tensor(a)", views.imag_kernel,
    "The imaginary part; zeros that cannot be written for real numbers.", """
>>> fo.imag(fo.asarray([1 + 2j]))
tensor([2.])""", reference=np.imag, notes=VIEW_NOTE.format(name="imag"),
    batching="same shape", samples=lambda rng: (Sample(a) for dtype in samples.ALL for a in samples.layouts(rng, dtype)),
    derivative=linear(x=lambda g: g * 1j))

machine.install_method("T", views.Attribute(transpose))
machine.install_method("mT", views.Attribute(matrix_transpose))
machine.install_method("real", views.Attribute(real, assignable=True))
machine.install_method("imag", views.Attribute(imag, assignable=True))


# Copies and casts

copy = declare(
    "copy(Array x, /, str order='K') -> Tensor", "A copy of x, in x's memory order unless another is given.", family="primitive", methods=("copy",),
    kernels={DispatchKey.CPU: views.copy_kernel, DispatchKey.Meta: views.copy_kernel}, reference=lambda x, order="K": x.copy(order),
    batching="same shape", samples=lambda rng: (Sample(a, *order) for dtype in samples.ALL for a in samples.layouts(rng, dtype)
                         for order in ((), ("C",), ("F",), ("A",))[:4 if dtype == "f8" else 1]),
    notes="NumPy: ``numpy.copy``.", example="""
>>> x = fo.asarray([1, 2])
>>> y = fo.copy(x)
>>> y[0] = 5
>>> x
tensor([1, 2])""",
    derivative=linear(x=lambda g: g))

astype = declare(
    "astype(Array x, /, ScalarType dtype, str order='K', str casting='unsafe', bool subok=True, bool copy=True, "
    "Device? device=None) -> Tensor",
    "x with another dtype; x itself if copy is False and nothing is to be changed.", family="primitive", methods=("astype",),
    kernels={DispatchKey.CPU: views.astype_kernel, DispatchKey.Meta: views.astype_kernel},
    reference=lambda x, dtype, order="K": x.astype(dtype, order),
    batching="same shape", samples=lambda rng: (Sample(a, other, *order) for dtype in samples.ALL for other in samples.ALL
                         for a in samples.layouts(rng, dtype, 0.0, 4.0)
                         for order in ((), ("C",), ("F",))[:3 if dtype == "f4" == other else 1]),
    notes="""
Parameters
----------
x : array_like
    Any shape.
dtype : dtype
    The new one.
order : str
    How the result lies in memory: "C" row-major, "F" column-major, "K" or "A" like x.
casting : str
    The rule that the cast must satisfy: "no", "equiv", "safe", "same_kind" or "unsafe".
subok : bool
    Accepted as NumPy does; subclasses decide for themselves here.
copy : bool
    Whether to copy where nothing is to be changed.
device : device or str, optional
    Where the result is; x's device if not given.

Returns
-------
Tensor
    x's shape. Conversions are C's: floating-point numbers are cut towards zero, complex numbers lose their imaginary part
with a ComplexWarning, bool is "not zero".

Raises
------
TypeError
    If the dtype is unknown, or the cast breaks the rule.
ValueError
    If the order is unknown, or x cannot be moved to the device.

Notes
-----
NumPy: ``numpy.ndarray.astype``; array API: ``astype``.""", example="""
>>> fo.astype(fo.asarray([1.5, -1.5]), "int32")
tensor([ 1, -1], dtype=int32)""",
    derivative=linear(x=lambda g: g))


# Arrays put together

def joining(kernel):
    """The kernels of an operator over a list of arrays: where none of them is a Tensor, they become some on the CPU."""
    return {DispatchKey.Undefined: kernel, DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}


def joined(rng):
    for dtypes in (("f8", "f8"), ("i4", "f4"), ("?", "u1", "c8"), ("f2",), ("i2", "u2", "f4")):
        yield Sample([samples.array(rng, (2, 3), dtype) for dtype in dtypes])
        yield Sample([samples.array(rng, (3, 2), dtype).T for dtype in dtypes], -1)
        yield Sample(tuple(samples.array(rng, (0, 3), dtype) for dtype in dtypes), axis=1)


def concat_samples(rng):
    yield from joined(rng)
    yield Sample([samples.array(rng, (2, 3), "f8"), samples.array(rng, (1, 3), "f8")])
    yield Sample([samples.array(rng, (2, 3), "f8"), samples.array(rng, (4,), "f8")], axis=None)
    yield Sample([samples.array(rng, (2,), "f8"), samples.array(rng, (2,), "i4")], dtype="f4")


concat = declare(
    "concat(Array[] arrays, /, int? axis=0, Tensor(a!)? out=None, *, ScalarType? dtype=None, str casting='same_kind') -> Tensor",
    "The arrays one after the other along an axis; flattened first if axis is None.", family="primitive",
    kernels=joining(views.concat_kernel),
    reference=lambda arrays, axis=0, dtype=None: np.concatenate(arrays, axis, dtype=dtype), batching="joined", samples=concat_samples,
    notes="""
Returns
-------
Tensor
    All sizes but that of axis are those of the arrays; the dtype is their common one, or dtype, to which they cast by the
    rule casting.

Raises
------
ValueError
    If there is no array, or the shapes do not fit, or out has another shape or is read-only.
TypeError
    If a cast breaks the rule.

Notes
-----
NumPy: ``numpy.concatenate``.""", example="""
>>> fo.concat([fo.asarray([1, 2]), fo.asarray([3.5])])
tensor([1. , 2. , 3.5])""",
    derivative=linear(arrays=_concat_transpose))

stack = declare(
    "stack(Array[] arrays, /, int axis=0, Tensor(a!)? out=None, *, ScalarType? dtype=None, str casting='same_kind') -> Tensor", "The arrays, all of one shape, along a new axis.", family="primitive",
    kernels=joining(views.stack_kernel), reference=np.stack, batching="joined", samples=joined,
    notes="""
Raises
------
ValueError
    If there is no array, or the shapes differ.

Notes
-----
NumPy: ``numpy.stack``.""", example="""
>>> fo.stack([fo.asarray([1, 2]), fo.asarray([3, 4])], axis=1)
tensor([[1, 3],
        [2, 4]])""",
    derivative=linear(arrays=lambda g, axis: unstack(g, axis=axis)))


def normalized(axis, rank, name):
    """An axis counted from the front; AxisError if there is none."""
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank, name)
    return axis % rank


def _unstack(x, /, *, axis=0):
    axis = normalized(axis, x.ndim, "unstack")
    rest = (slice(None),) * axis
    return tuple([x[(*rest, position)] for position in range(x.shape[axis])])


unstack = composite(
    "unstack(Array(a) x, /, *, int axis=0) -> Tensor(a)[]", "The slices of x along an axis, a tuple of views.", _unstack,
    reference=lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)), notes="Array API: ``unstack``.",
    samples=each(((2, 3), call(), call(axis=1), call(axis=-1)), ((3, 1, 2), call(axis=2))), example="""
>>> fo.unstack(fo.asarray([[1, 2], [3, 4]]))
(tensor([1, 2]), tensor([3, 4]))""")


def _broadcast_arrays(arrays):
    if not isinstance(arrays, (list, tuple)):       # one array alone
        arrays = (arrays,)
    arrays = [machine.as_tensor(array) for array in arrays]
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    return tuple([broadcast_to(array, shape) for array in arrays])


broadcast_arrays = composite(
    "broadcast_arrays(Array[] arrays, /) -> Tensor[]", "The arrays seen with their common shape, a tuple of views.",
    _broadcast_arrays, gather="arrays", reference=lambda arrays: np.broadcast_arrays(*arrays),
    samples=lambda rng: (Sample([samples.array(rng, (3, 1), "f8"), samples.array(rng, (4,), "i4")]),
                         Sample([samples.array(rng, (), "f8"), samples.array(rng, (2,), "i4")])),
    notes="Called with the arrays one by one, or with a list of them. NumPy: ``numpy.broadcast_arrays``.", example="""
>>> a, b = fo.broadcast_arrays(fo.asarray([1, 2]), fo.asarray([[3], [4]]))
>>> a.shape, b.shape
((2, 2), (2, 2))""")


def _fliplr(x, /):
    if x.ndim < 2:
        raise ValueError(f"fliplr: at least 2 dimensions are needed, not {x.ndim}")
    return flip(x, 1)


fliplr = composite("fliplr(Array(a) x, /) -> Tensor(a)", "The columns in reverse order.", _fliplr, reference=np.fliplr,
                   samples=each(((2, 3), call())), notes=VIEW_NOTE.format(name="fliplr"), example="""
>>> fo.fliplr(fo.asarray([[1, 2]]))
tensor([[2, 1]])""")


def _flipud(x, /):
    if x.ndim < 1:
        raise ValueError("flipud: at least 1 dimension is needed, not 0")
    return flip(x, 0)


flipud = composite("flipud(Array(a) x, /) -> Tensor(a)", "The rows in reverse order.", _flipud, reference=np.flipud,
                   samples=each(((2, 3), call())), notes=VIEW_NOTE.format(name="flipud"), example="""
>>> fo.flipud(fo.asarray([1, 2]))
tensor([2, 1])""")


def _at_least(rank):
    def function(x, /):
        if x.ndim >= rank:
            return x
        if rank == 3 and x.ndim == 2:
            return expand_dims(x, 2)
        if rank == 3 and x.ndim == 1:
            return expand_dims(x, (0, 2))
        return reshape(x, (1,) * (rank - x.ndim) + x.shape)
    return function


atleast_1d = composite("atleast_1d(Array(a) x, /) -> Tensor(a)", "x with at least one axis.", _at_least(1),
                       reference=np.atleast_1d, samples=each(((), call()), ((2, 3), call())),
                       notes=VIEW_NOTE.format(name="atleast_1d"), example="""
>>> fo.atleast_1d(5)
tensor([5])""")
atleast_2d = composite("atleast_2d(Array(a) x, /) -> Tensor(a)", "x with at least two axes, new ones in front.",
                       _at_least(2),
                       reference=np.atleast_2d, samples=each(((), call()), ((3,), call()), ((2, 3), call())),
                       notes=VIEW_NOTE.format(name="atleast_2d"), example="""
>>> fo.atleast_2d([1, 2])
tensor([[1, 2]])""")
atleast_3d = composite("atleast_3d(Array(a) x, /) -> Tensor(a)", "x with at least three axes, as NumPy adds them.",
                       _at_least(3),
                       reference=np.atleast_3d, samples=each(((), call()), ((3,), call()), ((2, 3), call())),
                       notes=VIEW_NOTE.format(name="atleast_3d"), example="""
>>> fo.atleast_3d([1, 2]).shape
(1, 2, 1)""")


# Elements moved

def _roll(x, shift, axis=None, /):
    if axis is None:
        return reshape(_roll(ravel(x), shift, 0), x.shape)
    result = x
    for step, one in np.nditer([np.asarray(shift), np.asarray(axis)], ["zerosize_ok"]):
        one = normalized(int(one), x.ndim, "roll")
        step = int(step) % max(x.shape[one], 1)
        if step:
            before = (slice(None),) * one
            result = concat([result[(*before, slice(-step, None))], result[(*before, slice(None, -step))]], one)
    return copy(x) if result is x else result


roll = composite(
    "roll(Array x, /, int[] shift, int[]? axis=None) -> Tensor", "The elements moved along axes, round the end.", _roll,
    reference=np.roll, notes="NumPy: ``numpy.roll``.",
    samples=each(((3, 4), call(1), call(-2, 0), call((1, 2), (0, 1)), call(1, axis=-1), call(3, (0, 1)), call((1, 5), 0)),
                 ((), call(1)), ((0, 2), call(1, 0))), example="""
>>> fo.roll(fo.asarray([1, 2, 3]), 1)
tensor([3, 1, 2])""")


def _tile(x, repetitions, /):
    repetitions = tuple(repetitions) if isinstance(repetitions, (tuple, list)) else (repetitions,)
    rank = max(x.ndim, len(repetitions))
    sizes = (1,) * (rank - x.ndim) + x.shape
    repetitions = (1,) * (rank - len(repetitions)) + repetitions
    if rank > 32:                   # the steps between need two axes for each
        return share_ndarray(np.tile(as_ndarray(x), repetitions))
    pairs = [number for pair in zip(repetitions, sizes) for number in pair]
    lifted = reshape(x, [number for size in sizes for number in (1, size)])
    return reshape(broadcast_to(lifted, pairs), [times * size for times, size in zip(repetitions, sizes)], copy=True)


tile = composite(
    "tile(Array x, int[] repetitions, /) -> Tensor", "x repeated along each axis, as tiles are laid.", _tile,
    reference=np.tile, notes="NumPy: ``numpy.tile``.",
    samples=each(((2, 3), call(2), call((2, 1)), call((2, 1, 3)), call((0,))), ((), call((2, 2)))), example="""
>>> fo.tile(fo.asarray([1, 2]), 2)
tensor([1, 2, 1, 2])""")


FEW = 16


def along(x, axis, name):
    """x and an axis of it counted from the front; None, and an array without axes, are x flattened."""
    if axis is None:
        return ravel(x), 0
    x = atleast_1d(x)
    return x, normalized(axis, x.ndim, name)


def _repeat(x, repeats, /, axis=None):
    x, axis = along(x, axis, "repeat")
    length = x.shape[axis]
    if isinstance(repeats, int):
        if repeats < 0:
            raise ValueError(f"repeat: the number of repetitions is {repeats}; it cannot be negative")
        before, after = x.shape[:axis], x.shape[axis + 1:]
        if 0 < repeats <= FEW and math.prod(after) <= FEW:      # a pass for each repetition: no short inner runs
            return reshape(stack([x] * repeats, axis + 1), (*before, length * repeats, *after))
        seen = broadcast_to(expand_dims(x, axis + 1), (*before, length, repeats, *after))
        return reshape(seen, (*before, length * repeats, *after), copy=True)
    if getattr(repeats, "device", "cpu") == "meta":
        raise NotImplementedError("repeat: the length of the result depends on the values of repeats, which are not there "
                                  "on device 'meta'")
    return take(x, np.repeat(np.arange(length), np.asarray(repeats)), axis)


repeat = composite(
    "repeat(Array x, /, Any repeats, int? axis=None) -> Tensor",
    "Each element repeated, along an axis or of the flattened array.", _repeat, methods=("repeat",), reference=np.repeat,
    notes="NumPy: ``numpy.repeat``.",
    samples=each(((2, 3), call(2), call(2, axis=1), call([1, 2], axis=0), call(0)), ((), call(3))), example="""
>>> fo.repeat(fo.asarray([1, 2]), 2)
tensor([1, 1, 2, 2])""")


def _take(x, indices, /, axis=None, out=None, mode="raise"):
    x, axis = along(x, axis, "take")
    indices = machine.as_tensor(indices)
    if indices.dtype.kind not in "iu":
        if indices.size:
            raise TypeError(f"take: indices are whole numbers, not {indices.dtype}")
        indices = astype(indices, np.int64)
    indices = within(indices, x.shape[axis], mode, "take")
    try:
        result = x[(*(slice(None),) * axis, indices)]
    except IndexError as error:
        raise IndexError(f"take: {error}") from None
    return result if out is None else write_out(result, out)


def within(indices, length, mode, name):
    """Indices as NumPy's *mode* says: as they are ("raise"), cut off at the ends ("clip") or counted round ("wrap")."""
    if mode == "raise":
        return indices
    if mode == "clip":
        return clip(indices, 0, length - 1)
    if mode == "wrap":
        return remainder(indices, length)
    raise ValueError(f"{name}: mode is 'raise', 'wrap' or 'clip', not {mode!r}")


take = composite(
    "take(Array x, /, Array indices, int? axis=None, Tensor(a!)? out=None, str mode='raise') -> Tensor",
    "The elements at indices along an axis, or of the flattened array.", _take, methods=("take",), reference=np.take,
    notes="""
Raises
------
IndexError
    If an index is out of bounds.
TypeError
    If the indices are not whole numbers.

Notes
-----
NumPy: ``numpy.take``.""",
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), index, **kwargs) for dtype in ("f8", "i4", "?")
                         for index in (np.array([0, 2]), np.array([[1, -1]]), np.array(1), np.array([5, -7]))
                         for kwargs in ({}, {"axis": 0}, {"axis": -1}, {"axis": 0, "mode": "wrap"}, {"axis": 1, "mode": "clip"})
                         if index.size != 2 or index.flat[0] != 5 or "mode" in kwargs), example="""
>>> fo.take(fo.asarray([5, 6, 7]), fo.asarray([2, 0]))
tensor([7, 5])""")


def _take_along_axis(x, indices, /, axis=-1):
    x, indices = machine.as_tensor(x), machine.as_tensor(indices)
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_axis: x has {x.ndim} dimensions, indices {indices.ndim}")
    if indices.dtype.kind not in "iu":
        raise IndexError(f"take_along_axis: indices are whole numbers, not {indices.dtype}")
    axis = normalized(axis, x.ndim, "take_along_axis")
    rows = [np.arange(size).reshape(size, *[1] * (x.ndim - 1 - place)) for place, size in enumerate(x.shape)]
    rows[axis] = indices
    return x[tuple(rows)]


take_along_axis = composite(
    "take_along_axis(Array x, /, Array indices, int axis=-1) -> Tensor",
    "For each row along an axis the elements at that row's indices.", _take_along_axis, reference=np.take_along_axis,
    notes="NumPy: ``numpy.take_along_axis``.",
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), "f8"), rng.integers(0, 3, shape), axis)
                         for shape, axis in (((3, 2), 1), ((2, 4), 0), ((3, 1), -1), ((1, 2), 1))), example="""
>>> fo.take_along_axis(fo.asarray([[5, 6]]), fo.asarray([[1, 0, 1]]), axis=1)
tensor([[6, 5, 6]])""")

concatenate = concat

