"""Facts about dtypes, and about what this namespace can do: plain functions, which read no data."""

import numpy as np

from fastops import dtypes
from fastops._dispatch import Tensor, device
from fastops._loops import as_ndarray

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
DEFAULTS = {"real floating": dtypes.float64, "complex floating": dtypes.complex128, "integral": dtypes.int64,
            "indexing": dtypes.int64}


def _dtype_of(value):
    # The dtype of an array, or what names one.
    return np.dtype(getattr(value, "dtype", value))


class _Limits:
    # What finfo and iinfo share: facts in attributes, and a readable form of them.
    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


class finfo(_Limits):
    """The limits of a floating-point dtype, or of an array's; of a complex one those of its parts.

    Attributes
    ----------
    bits : int
        The size of one number in bits.
    eps, epsneg : float
        The distance from 1.0 to the next larger and to the next smaller number.
    max, min, smallest_normal, tiny, smallest_subnormal, resolution : float
        The largest and the most negative number, the smallest positive normal one (two names), the smallest positive one,
        and 10 to minus precision.
    precision, nmant, nexp : int
        Decimal digits that are right, bits of the mantissa, bits of the exponent.
    dtype : numpy.dtype
        The real dtype.

    Raises
    ------
    ValueError
        If the dtype is not a floating-point one.

    Notes
    -----
    NumPy: ``numpy.finfo``; array API: ``finfo``. The numbers are Python's.

    >>> import fastops as fo
    >>> fo.finfo(fo.float32).eps, fo.finfo("complex128").bits
    (1.1920928955078125e-07, 64)
    """

    def __init__(self, type, /):
        dtype = _dtype_of(type)
        if dtype.kind not in "fc":
            raise ValueError(f"finfo: {dtype} is not a floating-point dtype; iinfo is for whole numbers")
        limits = np.finfo(dtype)
        self.bits = int(limits.bits)
        for name in ("eps", "epsneg", "max", "min", "smallest_normal", "tiny", "smallest_subnormal", "resolution"):
            setattr(self, name, float(getattr(limits, name)))
        for name in ("precision", "nmant"):
            setattr(self, name, int(getattr(limits, name)))
        self.nexp = self.bits - self.nmant - 1
        self.dtype = np.dtype(limits.dtype)


class iinfo(_Limits):
    """The limits of a whole-number dtype, or of an array's.

    Attributes
    ----------
    bits : int
        The size of one number in bits.
    max, min : int
        The largest and the smallest number.
    dtype : numpy.dtype

    Raises
    ------
    ValueError
        If the dtype is not one of whole numbers.

    Notes
    -----
    NumPy: ``numpy.iinfo``; array API: ``iinfo``.

    >>> import fastops as fo
    >>> fo.iinfo(fo.int8).max
    127
    """

    def __init__(self, type, /):
        dtype = _dtype_of(type)
        if dtype.kind not in "iu":
            raise ValueError(f"iinfo: {dtype} is not a dtype of whole numbers; finfo is for floating-point ones")
        limits = np.iinfo(dtype)
        self.bits, self.max, self.min, self.dtype = int(limits.bits), int(limits.max), int(limits.min), dtype


def isdtype(dtype, kind):
    """Whether *dtype* is of a kind: a dtype, the name of a kind, or a tuple of these.

    The names are "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" and
    "numeric". Raises ValueError for another name, TypeError for what is neither. Array API: ``isdtype``.

    >>> import fastops as fo
    >>> fo.isdtype(fo.int8, "integral"), fo.isdtype(fo.int8, (fo.float32, "bool"))
    (True, False)
    """
    dtype = np.dtype(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in KINDS:
            if dtype.name in KINDS[one]:
                return True
        elif isinstance(one, str) and not _is_dtype(one):
            raise ValueError(f"isdtype: there is no kind {one!r}; the kinds are {', '.join(KINDS)}")
        elif not isinstance(one, (str, np.dtype, type)):
            raise TypeError(f"isdtype: a kind is a dtype or a name, not {one!r}")
        elif np.dtype(one) == dtype:
            return True
    return False


def _is_dtype(name):
    try:
        np.dtype(name)
    except TypeError:
        return False
    return True


def _operand(value):
    # What NumPy's promotion asks: dtypes of arrays, Python's numbers as they are (they are weak).
    return value.dtype if isinstance(value, Tensor) else value


def result_type(*arrays_and_dtypes):
    """The dtype of a result of arrays, dtypes and Python numbers together; Python's numbers only say their kind (NEP 50).

    Raises ValueError where nothing is given, TypeError where there is no common dtype. NumPy: ``numpy.result_type``.

    >>> import fastops as fo
    >>> fo.result_type(fo.float32, 1.5), fo.result_type(fo.int8, fo.uint8)
    (dtype('float32'), dtype('int16'))
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: at least one array or dtype is needed")
    return np.result_type(*[_operand(value) for value in arrays_and_dtypes])


def can_cast(from_, to, /, casting="safe"):
    """Whether a dtype, or an array of it, casts to *to* by the rule *casting*: "safe", "same_kind", "unsafe", ...

    NumPy: ``numpy.can_cast``; array API: ``can_cast``.

    >>> import fastops as fo
    >>> fo.can_cast(fo.int32, fo.float64), fo.can_cast(fo.float64, fo.int32)
    (True, False)
    """
    return bool(np.can_cast(_operand(from_), _operand(to), casting))


def promote_types(type1, type2):
    """The smallest dtype to which both cast safely; ``numpy.promote_types``.

    >>> import fastops as fo
    >>> fo.promote_types("int8", "uint8")
    dtype('int16')
    """
    return np.promote_types(type1, type2)


def min_scalar_type(a, /):
    """The smallest dtype that holds a number, also one in an array without axes; other arrays' own; ``numpy.min_scalar_type``.

    >>> import fastops as fo
    >>> fo.min_scalar_type(300)
    dtype('uint16')
    """
    if isinstance(a, Tensor):
        return a.dtype if a.ndim or a.device != "cpu" else np.min_scalar_type(as_ndarray(a))
    return np.min_scalar_type(a)


def common_type(*arrays):
    """The floating-point type that all arrays fit into; ``numpy.common_type``.

    >>> import fastops as fo
    >>> fo.common_type(fo.ones(1, dtype="f4"), fo.ones(1, dtype="i4"))
    <class 'numpy.float64'>
    """
    return np.common_type(*[np.empty(0, array.dtype) if isinstance(array, Tensor) else array for array in arrays])


def ndim(a):
    """The number of axes; ``numpy.ndim``.

    >>> import fastops as fo
    >>> fo.ndim(fo.ones((2, 3)))
    2
    """
    return a.ndim if isinstance(a, Tensor) else np.ndim(a)


def shape(a):
    """The sizes of the axes, a tuple; ``numpy.shape``.

    >>> import fastops as fo
    >>> fo.shape([[1, 2]])
    (1, 2)
    """
    return a.shape if isinstance(a, Tensor) else np.shape(a)


def size(a, axis=None):
    """The number of elements, or that along an axis or several; ``numpy.size``.

    >>> import fastops as fo
    >>> fo.size(fo.ones((2, 3)), 1)
    3
    """
    if not isinstance(a, Tensor):
        return np.size(a, axis)
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    result = 1
    for one in axes:
        if not -a.ndim <= one < a.ndim:
            raise np.exceptions.AxisError(one, a.ndim)
        result *= a.shape[one]
    return result


def isscalar(element):
    """Whether it is a number, not an array; ``numpy.isscalar``.

    >>> import fastops as fo
    >>> fo.isscalar(3.1), fo.isscalar(fo.asarray(3.1))
    (True, False)
    """
    return not isinstance(element, Tensor) and np.isscalar(element)


def iscomplexobj(x):
    """Whether the dtype is complex, whatever the values; ``numpy.iscomplexobj``.

    >>> import fastops as fo
    >>> fo.iscomplexobj(fo.ones(1, dtype=complex))
    True
    """
    return x.dtype.kind == "c" if isinstance(x, Tensor) else np.iscomplexobj(x)


def isrealobj(x):
    """Whether the dtype is not complex; ``numpy.isrealobj``.

    >>> import fastops as fo
    >>> fo.isrealobj(fo.ones(1))
    True
    """
    return not iscomplexobj(x)


def isfortran(a):
    """Whether the elements lie in column-major and not in row-major order; ``numpy.isfortran``.

    >>> import fastops as fo
    >>> fo.isfortran(fo.ones((2, 3)).T)
    True
    """
    return a.T.is_contiguous() and not a.is_contiguous()


def iterable(y):
    """Whether it can be iterated over; ``numpy.iterable``.

    >>> import fastops as fo
    >>> fo.iterable(fo.ones(2)), fo.iterable(fo.asarray(1.0))
    (True, False)
    """
    return np.iterable(y)


# NumPy's own, which read no arrays: what they say and set holds here too.
issubdtype, mintypecode, typename = np.issubdtype, np.mintypecode, np.typename
errstate, geterr, seterr, geterrcall, seterrcall = np.errstate, np.geterr, np.seterr, np.geterrcall, np.seterrcall
exceptions = np.exceptions


class ArrayNamespaceInfo:
    """What the array API's inspection finds here; ``fo.__array_namespace_info__()`` makes it.

    >>> import fastops as fo
    >>> fo.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """

    def capabilities(self):
        """A dict: boolean indexing and data-dependent shapes are there; arrays have up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of what is created without saying where."""
        return device("cpu")

    def default_dtypes(self, *, device=None):
        """A dict from "real floating", "complex floating", "integral" and "indexing" to dtypes."""
        _known(device)
        return dict(DEFAULTS)

    def dtypes(self, *, device=None, kind=None):
        """A dict from names to the standard's dtypes of a kind, or of a tuple of kinds; float16, which is here, is no part of it."""
        _known(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in KINDS:
                raise ValueError(f"dtypes: there is no kind {one!r}; the kinds are {', '.join(KINDS)}")
        return {name: np.dtype(name) for one in kinds for name in KINDS[one] if name != "float16"}

    def devices(self):
        """A tuple of the devices that arrays can be on."""
        return (device("cpu"), device("meta"))


def _known(where):
    return where if where is None else device(where)


def namespace_info():
    """The array API's inspection of this namespace.

    >>> import fastops as fo
    >>> [str(device) for device in fo.__array_namespace_info__().devices()]
    ['cpu', 'meta']
    """
    return ArrayNamespaceInfo()
