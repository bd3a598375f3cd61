"""How tensors print: NumPy's layout, with what differs from the default said after it."""

import numpy as np

from fastops import _dispatch as machine
from fastops._loops import as_ndarray

DEFAULT_DTYPES = frozenset(map(np.dtype, ("bool", "int64", "float64", "complex128")))


def represent(tensor):
    """``tensor([1., 2.])``, with dtype, shape and device where the values do not show them."""
    name = "tensor" if type(tensor) is machine.Tensor else type(tensor).__name__
    notes = []
    if tensor.device != "cpu":
        body = "..."
        notes.append(f"shape={tensor.shape}")
        notes.append(f"device='{tensor.device}'")
    elif not machine.has_values(tensor):
        body = "..."
        notes += [f"shape={tensor.shape}", "mapped=True"]
    else:
        body = np.array2string(as_ndarray(tensor), separator=", ", prefix=name + "(", suffix=")")
        if tensor.size == 0 and tensor.shape != (0,):
            notes.append(f"shape={tensor.shape}")
    if tensor.dtype not in DEFAULT_DTYPES or tensor.size == 0 and tensor.dtype != float:
        notes.append(f"dtype={tensor.dtype}")
    if getattr(tensor, "requires_grad", False):
        notes.append("requires_grad=True")
    return f"{name}({', '.join([body] + notes)})"


def array2string(a, *args, **kwargs):
    """The values as text, with all the options of ``numpy.array2string``.

    >>> import fastops as fo
    >>> fo.array2string(fo.asarray([1.0, 2.5]), precision=1, separator=", ")
    '[1. , 2.5]'
    """
    return np.array2string(_values(a), *args, **kwargs)


def array_repr(arr, max_line_width=None, precision=None, suppress_small=None):
    """What repr() gives, with NumPy's options of how numbers are written; ``numpy.array_repr``.

    >>> import fastops as fo
    >>> fo.array_repr(fo.asarray([1.23456]), precision=2)
    'tensor([1.23])'
    """
    options = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    with np.printoptions(**{name: value for name, value in options.items() if value is not None}):
        return repr(arr)


def array_str(a, max_line_width=None, precision=None, suppress_small=None):
    """What str() gives, with NumPy's options of how numbers are written; ``numpy.array_str``.

    >>> import fastops as fo
    >>> fo.array_str(fo.asarray([1.23456]), precision=2)
    '[1.23]'
    """
    return np.array_str(_values(a), max_line_width, precision, suppress_small)


def _values(a):
    return as_ndarray(a) if isinstance(a, machine.Tensor) else np.asarray(a)


# NumPy's own options govern how tensors print, and its functions of single numbers serve here too.
set_printoptions, get_printoptions, printoptions = np.set_printoptions, np.get_printoptions, np.printoptions
format_float_positional, format_float_scientific = np.format_float_positional, np.format_float_scientific
base_repr, binary_repr = np.base_repr, np.binary_repr


def as_text(tensor):
    """The values as NumPy prints them."""
    return str(as_ndarray(tensor)) if tensor.device == "cpu" else represent(tensor)


machine.install_hook("repr", represent)
machine.install_hook("str", as_text)
