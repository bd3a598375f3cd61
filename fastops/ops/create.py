"""Making tensors: from values, from nothing, from numbers in a row."""

import builtins
import math
import operator

import numpy as np

from fastops import _dispatch as machine
from fastops import errors, samples
from fastops._create import Arange, Fill, FillLike, empty_meta
from fastops._autograd import structural
from fastops._dispatch import DispatchKey, DispatchKeySet, Tensor
from fastops._loops import as_ndarray, copy_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import composed, constant, linear, refuse

PLAIN = DispatchKeySet("CPU")
PYTHON_VALUES = frozenset({bool, int, float, complex, list, tuple, range})

SHAPE_NOTES = """
Parameters
----------
shape : int or sequence of ints
{value}dtype : dtype, optional
    {dtype}.
order : str
    "C" row-major, "F" column-major.
device : device or str, optional
    Where the memory is; the CPU if not given.

Returns
-------
Tensor
    Of the given shape.

Raises
------
TypeError
    If a size is not a whole number or the dtype is unknown.
ValueError
    If a size is negative, the array would be too large to address, or there is no such device.

Notes
-----
NumPy: ``numpy.{name}``.
"""

LIKE_NOTES = """
Parameters
----------
x : array_like
{value}dtype : dtype, optional
    x's if not given.
order : str
    "C" row-major, "F" column-major, "K" and "A" like x.
subok : bool
    Accepted as NumPy does.
shape : int or sequence of ints, optional
    x's if not given.
device : device or str, optional
    x's if not given.

Returns
-------
Tensor
    Of the given shape.

Notes
-----
NumPy: ``numpy.{name}``.
"""

VALUE_NOTE = "fill_value : scalar or 0-dimensional array\n    What every element becomes.\n"


def _shape_samples(*values):
    def generate(rng):
        for shape in ((), 3, (2, 3), (0, 4), [2, 1, 2]):
            yield samples.Sample(shape, *values)
        for dtype in samples.ALL:
            yield samples.Sample((2, 2), *values, dtype=dtype)
        yield samples.Sample((2, 3), *values, order="F")
    return generate


def _like_samples(*values):
    def generate(rng):
        for dtype in samples.ALL:
            for array in samples.layouts(rng, dtype):
                yield samples.Sample(array, *values)
            yield samples.Sample(samples.array(rng, (2, 3), dtype), *values, dtype="f4")
        for order in "CFAK":
            yield samples.Sample(samples.array(rng, (2, 3), "f8").T, *values, order=order)
            yield samples.Sample(samples.array(rng, (2, 3), "f8"), *values, order=order, shape=(3, 2))
    return generate


def _filled(name, summary, value, example):
    kernel = Fill(value)
    return declare(
        f"{name}(int[] shape, ScalarType? dtype=None, str order='C', *, Device? device=None, bool requires_grad=False) -> Tensor", summary, family="creation",
        notes=SHAPE_NOTES.format(name=name, value="", dtype="float64 if not given"), example=example,
        kernels={DispatchKey.BackendSelect: machine.backend_select, DispatchKey.CPU: kernel, DispatchKey.Meta: kernel},
        samples=_shape_samples(), reference=getattr(np, name))


def _filled_like(name, summary, value, example):
    kernel = FillLike(value)
    return declare(
        f"{name}(Array x, /, ScalarType? dtype=None, str order='K', bool subok=True, int[]? shape=None, *, Device? device=None, bool requires_grad=False) -> Tensor", summary, family="creation",
        notes=LIKE_NOTES.format(name=name, value=""), example=example,
        kernels={DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}, samples=_like_samples(),
        derivative=constant(), reference=getattr(np, name))


empty = _filled("empty", "A new tensor whose elements are whatever the memory holds.", None, """
>>> fo.empty((2, 3)).shape
(2, 3)""")
zeros = _filled("zeros", "A new tensor of zeros.", 0, """
>>> fo.zeros(3)
tensor([0., 0., 0.])""")
ones = _filled("ones", "A new tensor of ones.", 1, """
>>> fo.ones(3, dtype="int64")
tensor([1, 1, 1])""")
empty_like = _filled_like("empty_like", "A new tensor like x whose elements are whatever the memory holds.", None, """
>>> fo.empty_like(fo.ones((2, 3))).shape
(2, 3)""")
zeros_like = _filled_like("zeros_like", "A new tensor of zeros like x.", 0, """
>>> fo.zeros_like(fo.asarray([1, 2]))
tensor([0, 0])""")
ones_like = _filled_like("ones_like", "A new tensor of ones like x.", 1, """
>>> fo.ones_like(fo.asarray([5.0, 6.0]))
tensor([1., 1.])""")

_full = Fill(value_position=1)
full = declare(
    "full(int[] shape, Scalar fill_value, ScalarType? dtype=None, str order='C', *, Device? device=None, bool requires_grad=False) -> Tensor",
    "A new tensor whose elements all are fill_value.", family="creation",
    notes=SHAPE_NOTES.format(name="full", value=VALUE_NOTE, dtype="The fill value's if not given"),
    kernels={DispatchKey.BackendSelect: machine.backend_select, DispatchKey.CPU: _full, DispatchKey.Meta: _full},
    samples=_shape_samples(2), reference=np.full, example="""
>>> fo.full(2, 7)
tensor([7, 7])""",
    derivative=constant())

_full_like = FillLike(value_position=1)
full_like = declare(
    "full_like(Array x, /, Scalar fill_value, ScalarType? dtype=None, str order='K', bool subok=True, int[]? shape=None, *, "
    "Device? device=None, bool requires_grad=False) -> Tensor",
    "A new tensor like x whose elements all are fill_value.", family="creation",
    notes=LIKE_NOTES.format(name="full_like", value=VALUE_NOTE),
    kernels={DispatchKey.CPU: _full_like, DispatchKey.Meta: _full_like}, samples=_like_samples(1),
    reference=np.full_like, example="""
>>> fo.full_like(fo.asarray([1.0, 2.0]), 7)
tensor([7., 7.])""",
    derivative=constant())


def _through_numpy(schema, summary, function, shape, *, kernel=lambda general: general, **more):
    """A creation function of NumPy's, run as it is; *shape* tells (shape, dtype) without making the values.

    *kernel* may put a faster kernel for the common case around the general one.
    """
    def numpy_value(value):
        # NumPy would hand a tensor back to where it came from.
        return as_ndarray(value)[()] if isinstance(value, Tensor) else value

    def on_cpu(*args, device=None, **kwargs):
        result = function(*map(numpy_value, args), **{name: numpy_value(value) for name, value in kwargs.items()})
        if isinstance(result, tuple):
            return tuple([share_ndarray(np.asarray(part)) for part in result])
        return share_ndarray(np.asarray(result, order="C"))

    def on_meta(*args, device=None, **kwargs):
        # A tensor without data goes on as it is: its shape and dtype are enough, or asking for its value raises.
        args = [value if getattr(value, "device", "cpu") != "cpu" else numpy_value(value) for value in args]
        sizes, dtype = shape(*args, **{name: numpy_value(value) for name, value in kwargs.items()})
        return empty_meta(sizes, dtype)

    return declare(schema, summary, family="creation", reference=function,
                   kernels={DispatchKey.BackendSelect: machine.backend_select, DispatchKey.CPU: kernel(machine.Kernel(on_cpu)),
                            DispatchKey.Meta: on_meta}, **more)


def _arange_shape(start, stop=None, step=1, *, dtype=None):
    if stop is None:
        start, stop = 0, start
    length = max(0, math.ceil((stop - start) / step)) if step else np.arange(start, stop, step).size
    return (length,), dtype or np.result_type(np.arange(0).dtype, start, stop, step)


def _arange_samples(rng):
    for args in ((5,), (2, 7), (2, 9, 3), (5, 0, -2), (0, 1, 0.25), (3, 3), (1.0, 2.5), (-3,), (9, 0, -4), (8, 0, -4),
                 (0.1, 3, 0.3), (3.5, -1, -0.7), (5, 2.5), (2**60, 2**60 + 3), (0, 10, 1e300)):
        yield samples.Sample(*args)
        yield samples.Sample(*args, dtype="f4")


arange = _through_numpy(
    "arange(Scalar start, Scalar? stop=None, Scalar step=1, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    "Numbers from start up to, not including, stop in steps; arange(stop) starts at 0.", np.arange, _arange_shape,
    kernel=Arange,
    notes="""
Returns
-------
Tensor
    One-dimensional, with ceil((stop - start) / step) elements; int64 if all arguments are whole numbers.

Raises
------
ZeroDivisionError
    If step is 0.

Notes
-----
NumPy: ``numpy.arange``.""", samples=_arange_samples, example="""
>>> fo.arange(2, 8, 2)
tensor([2, 4, 6])""",
    derivative=refuse("its length depends on its arguments"))


def _end_of(value):
    # An end as NumPy's promotion takes it: Python's numbers are weak.
    if isinstance(value, (int, float, complex)):
        return value
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _linspace_shape(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, least=1.0):
    shape = np.broadcast_shapes(*[end.shape if isinstance(end, Tensor) else np.shape(end) for end in (start, stop)])
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"linspace: the number of samples is {count}; it cannot be negative")
    place = axis % (len(shape) + 1)
    return (*shape[:place], count, *shape[place:]), dtype or np.result_type(least, _end_of(start), _end_of(stop))


linspace = _through_numpy(
    "linspace(Any start, Any stop, /, int num=50, bool endpoint=True, bool retstep=False, ScalarType? dtype=None, int axis=0, *, "
    "Device? device=None, bool requires_grad=False) -> Tensor",
    "num evenly spaced numbers from start to stop, which is left out if endpoint is False.", np.linspace,
    _linspace_shape, notes="""
Parameters
----------
start, stop : scalar or array_like
    The ends; of arrays, one row of numbers for each element.
num : int
    How many numbers.
endpoint : bool
    Whether stop is among them.
retstep : bool
    Whether to give the distance too.
dtype : dtype, optional
    float64, or complex128 if start or stop is complex, if not given.
axis : int
    Where the axis of the numbers stands in the result.
device : device or str, optional
    Where the memory is.

Returns
-------
Tensor, or (Tensor, Tensor) with retstep
    One-dimensional where the ends are scalars.

Raises
------
ValueError
    If num is negative.

Notes
-----
NumPy: ``numpy.linspace``.""",
    samples=lambda rng: (samples.Sample(*args, **kwargs) for args in ((0, 1, 5), (2, -2, 4), (0.0, 1.0, 1), (0, 1, 0),
                         (1j, 2, 3)) for kwargs in ({}, {"endpoint": False})), example="""
>>> fo.linspace(0, 1, 5)
tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])""",
    derivative=composed(lambda *args, **kwargs: _spaced(*args, **kwargs)))


geomspace = _through_numpy(
    "geomspace(Any start, Any stop, /, int num=50, bool endpoint=True, ScalarType? dtype=None, int axis=0, *, Device? device=None, bool requires_grad=False) -> Tensor",
    "num numbers from start to stop, each the same multiple of the one before.", np.geomspace,
    lambda start, stop, num=50, endpoint=True, dtype=None, axis=0: _linspace_shape(
        start, stop, num, endpoint, False, dtype, axis, np.float64),
    notes="""
Raises
------
ValueError
    If num is negative, or an end is 0.

Notes
-----
NumPy: ``numpy.geomspace``.""", samples=lambda rng: (samples.Sample(*args) for args in ((1, 1000, 4), (1.0, 256.0, 9, False), (-1, -100, 3))),
    example="""
>>> fo.geomspace(1, 8, 4)
tensor([1., 2., 4., 8.])""",
    derivative=composed(lambda *args, **kwargs: _spaced_by_factors(*args, **kwargs)))


def _eye_shape(n_rows, n_cols=None, k=0, dtype=None):
    return (n_rows, n_rows if n_cols is None else n_cols), dtype or np.float64


def _eye(n_rows, n_cols=None, k=0, dtype=None):
    return np.eye(n_rows, n_cols, k, dtype or np.float64)


eye = _through_numpy(
    "eye(int n_rows, int? n_cols=None, /, int k=0, ScalarType? dtype=None, *, Device? device=None, bool requires_grad=False) -> Tensor",
    "A matrix with ones on the k-th diagonal and zeros elsewhere.", _eye, _eye_shape, notes="""
Returns
-------
Tensor
    n_rows by n_cols, square if n_cols is not given; float64 if no dtype is given.

Notes
-----
NumPy: ``numpy.eye``.""",
    samples=lambda rng: (samples.Sample(3), samples.Sample(2, 4, k=1), samples.Sample(3, k=-1, dtype="i4"),
                         samples.Sample(0)), example="""
>>> fo.eye(2)
tensor([[1., 0.],
        [0., 1.]])""")


def _triangle(name, summary, reference, example):
    def on_cpu(x, k=0):
        return share_ndarray(reference(as_ndarray(x), k))

    def on_meta(x, k=0):
        if x.ndim < 2:
            raise ValueError(f"{name}: x has {x.ndim} dimensions; at least 2 are needed")
        return empty_meta(x.shape, x.dtype)

    return declare(
        f"{name}(Array x, /, int k=0) -> Tensor", summary, family="creation", notes=f"""
Parameters
----------
x : array_like
    At least two-dimensional; the last two axes are matrices.
k : int
    The diagonal up to which values are kept; above the main one if positive.

Notes
-----
NumPy: ``numpy.{name}``.""", kernels={DispatchKey.CPU: on_cpu, DispatchKey.Meta: on_meta}, derivative=linear(x=lambda g, k: _operator(name)(g, k)), batching="matrices", reference=reference,
        samples=lambda rng: (samples.Sample(samples.array(rng, shape, dtype), *k) for dtype in samples.ALL
                             for shape in ((3, 3), (2, 3, 4)) for k in ((), (1,), (-1,))), example=example)


tril = _triangle("tril", "x with zeros above the k-th diagonal.", np.tril, """
>>> fo.tril(fo.ones((2, 2)))
tensor([[1., 0.],
        [1., 1.]])""")
triu = _triangle("triu", "x with zeros below the k-th diagonal.", np.triu, """
>>> fo.triu(fo.ones((2, 2)))
tensor([[1., 1.],
        [0., 1.]])""")


def asarray(obj, /, dtype=None, order=None, *, device=None, copy=None, requires_grad=False):
    """A tensor of *obj*: the thing itself or its memory where that is possible, else a copy.

    Parameters
    ----------
    obj : Tensor, NumPy array, scalar, or nested sequence of these
        Python numbers become int64, float64, complex128 or bool.
    dtype : dtype, optional
        obj's own if not given.
    order : str, optional
        "C" row-major, "F" column-major, "K" or "A" as obj lies.
    device : device or str, optional
        obj's own if not given.
    copy : bool, optional
        True always copies, False raises ValueError where a copy is needed.
    requires_grad : bool
        Whether derivatives by it are recorded; of a Tensor then comes another over its memory.

    Raises
    ------
    TypeError
        If obj is nothing that arrays are made of.
    ValueError
        If a nested sequence is ragged, or copy is False and a copy is needed.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.asarray([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if requires_grad:
        return required(asarray(obj, dtype, order, device=device, copy=copy))
    if dtype is None and order is None and device is None and not copy:
        if isinstance(obj, Tensor):
            return obj
        if type(obj) is np.ndarray and (copy is None or obj.flags.aligned and obj.dtype.isnative):
            return share_ndarray(obj)
    if isinstance(obj, Tensor):
        if obj.device == "cpu" and obj.keyset() != PLAIN:       # in operators, which are recorded
            return converted_tensor(obj, dtype, order, device, copy)
        tensor, owned = obj, False
    elif isinstance(obj, np.ndarray):
        tensor = share_ndarray(obj)         # a copy where NumPy's loops could not read the memory as it lies
        owned = not (obj.flags.aligned and obj.dtype.isnative)
    else:
        owned = type(obj) in PYTHON_VALUES or not exports_memory(obj)
        if owned and copy is False:
            raise ValueError(f"asarray: {type(obj).__name__} cannot become an array without a copy")
        if type(obj) in (list, tuple) and holds_recorded(obj):
            stacked = stack_nested(obj)
            return stacked if dtype is None and order is None and device is None else asarray(stacked, dtype, order, device=device)
        array = np.asarray(obj)
        if array.dtype == object:
            raise errors.NoArrayError(f"asarray: {type(obj).__name__} {shortened(obj)} is nothing that numbers are made of")
        tensor = copy_ndarray(array) if owned else share_ndarray(array)
    converted = tensor
    if dtype is not None and np.dtype(dtype) != tensor.dtype:
        if owned and isinstance(obj, (int, list, tuple)) and np.dtype(dtype).kind in "iu":
            converted = share_ndarray(np.asarray(obj, dtype=dtype))     # Python integers out of bounds raise
        else:
            converted = share_ndarray(as_ndarray(tensor).astype(dtype))
    elif copy and not owned:
        converted = copy_ndarray(as_ndarray(tensor))
    if order is not None:
        converted = converted.astype(converted.dtype, order, copy=False)
    if converted is not tensor and copy is False:
        raise ValueError(f"asarray: a copy is needed for dtype {np.dtype(dtype)} and order {order!r}, and copy=False")
    if device is not None and machine.device(device) != converted.device:
        if machine.device(device) == "meta":
            return empty_like(converted, device=device)
        raise ValueError(f"asarray: cannot move from device '{converted.device}' to '{machine.device(device)}'")
    return converted


def required(tensor):
    """The tensor as a leaf that requires a gradient."""
    return structural("detach")(tensor).requires_grad_()


def converted_tensor(tensor, dtype, order, device, copy):
    """What asarray makes of a tensor that takes part in a transform."""
    if device is not None and machine.device(device) != tensor.device:
        raise ValueError(f"asarray: cannot move from device '{tensor.device}' to '{machine.device(device)}' here")
    made = tensor.astype(tensor.dtype if dtype is None else dtype, "K" if order is None else order, copy=bool(copy))
    if copy is False and made is not tensor and dtype is not None and np.dtype(dtype) != tensor.dtype:
        raise ValueError(f"asarray: a copy is needed for dtype {np.dtype(dtype)}, and copy=False")
    return made


def holds_recorded(values):
    """Whether nested lists hold a tensor that takes part in a transform."""
    return any(value.keyset() != PLAIN if isinstance(value, Tensor) else type(value) in (list, tuple) and holds_recorded(value)
               for value in values)


def stack_nested(values):
    """Nested lists as one tensor, in operators."""
    return structural("stack")([value if isinstance(value, Tensor) else stack_nested(value) if type(value) in (list, tuple) else asarray(value)
                                for value in values])


def array(obj, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, device=None, requires_grad=False):
    """A new tensor of *obj*; ``asarray`` with a copy, as ``numpy.array`` is. *ndmin* is the least number of axes.

    >>> import fastops as fo
    >>> fo.array([1, 2], dtype="float32")
    tensor([1., 2.], dtype=float32)
    """
    tensor = asarray(obj, dtype=dtype, order=None if order == "K" else order, device=device, copy=copy)
    tensor = tensor[(None,) * (ndmin - tensor.ndim)] if tensor.ndim < ndmin else tensor
    return required(tensor) if requires_grad else tensor


def asanyarray(a, dtype=None, order=None, *, device=None, copy=None):
    """``asarray``, subclasses of Tensor as they are; ``numpy.asanyarray``.

    >>> import fastops as fo
    >>> fo.asanyarray([1, 2])
    tensor([1, 2])
    """
    return asarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a, dtype=None):
    """A tensor in row-major order of at least one axis, a copy only where it must be; ``numpy.ascontiguousarray``.

    >>> import fastops as fo
    >>> fo.ascontiguousarray(fo.ones((2, 3)).T).is_contiguous()
    True
    """
    tensor = asarray(a, dtype, "C")
    return tensor if tensor.ndim else tensor.reshape(1)


def asfortranarray(a, dtype=None):
    """A tensor in column-major order of at least one axis, a copy only where it must be; ``numpy.asfortranarray``.

    >>> import fastops as fo
    >>> fo.asfortranarray(fo.ones((2, 3))).strides
    (8, 16)
    """
    tensor = asarray(a, dtype, "F")
    return tensor if tensor.ndim else tensor.reshape(1)


def asarray_chkfinite(a, dtype=None, order=None):
    """``asarray``; ValueError if an element is infinite or NaN; ``numpy.asarray_chkfinite``.

    >>> import fastops as fo
    >>> fo.asarray_chkfinite([1.0, 2.0])
    tensor([1., 2.])
    """
    tensor = asarray(a, dtype, order)
    if tensor.dtype.kind in "fc" and tensor.device == "cpu" and not np.isfinite(as_ndarray(tensor)).all():
        raise ValueError("asarray_chkfinite: array must not contain infs or NaNs")
    return tensor


def require(a, dtype=None, requirements=None):
    """A tensor that meets NumPy's requirements ("C", "F", "A", "W", "O", "E"), a copy if it must be; ``numpy.require``.

    >>> import fastops as fo
    >>> fo.require(fo.ones((2, 3)).T, requirements="C").is_contiguous()
    True
    """
    tensor = asarray(a, dtype)
    array = as_ndarray(tensor)
    met = np.require(array, None, [one for one in requirements or () if one not in ("O", "OWNDATA")])
    return tensor if met is array else share_ndarray(met)


def exports_memory(obj):
    """Whether obj hands out its memory, so that an array of it may share it."""
    if hasattr(obj, "__array_interface__") or hasattr(obj, "__array__"):
        return True
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def shortened(obj):
    text = repr(obj)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_operand(obj):
    # What stands beside a tensor in Python's operators: numbers and arrays, not whatever has a length.
    return isinstance(obj, (int, float, complex, np.ndarray, np.generic, list, tuple)) and \
        getattr(type(obj), "__array_ufunc__", True) is not None


# NumPy's arrays and scalars leave `array + tensor` to the tensor.
machine.install_method("__array_priority__", 100.0)
machine.install_hook("array", asarray)
machine.install_hook("operand", _is_operand)


# Derivatives

def _operator(name):
    return globals()[name]


def _steps(start, stop, num, endpoint, axis):
    # From 0 to 1 along an axis, to stand between start and stop; and both with that axis.
    start, stop = asarray(start), asarray(stop)
    rank = builtins.max(start.ndim, stop.ndim)
    axis = axis % (rank + 1)
    steps = np.linspace(0.0, 1.0, num, endpoint).reshape((num,) + (1,) * (rank - axis))

    def placed(end):
        shape = (1,) * (rank - end.ndim) + end.shape
        return end.reshape(shape[:axis] + (1,) + shape[axis:])
    return placed(start), placed(stop), steps


def _spaced(start, stop, /, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    first, last, steps = _steps(start, stop, num, endpoint, axis)
    result = first * (1 - steps) + last * steps
    result = result if dtype is None else result.astype(dtype)
    return (result, (asarray(stop) - start) / builtins.max(1, num - bool(endpoint))) if retstep else result


def _spaced_by_factors(start, stop, /, num=50, endpoint=True, dtype=None, axis=0, *, device=None):
    first, last, steps = _steps(start, stop, num, endpoint, axis)
    result = first * (last / first) ** steps
    return result if dtype is None else result.astype(dtype)
