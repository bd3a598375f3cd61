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
    else:
        body = np.array2string(as_ndarray(tensor), separator=", ", prefix=name + "(", suffix=")")
        if tensor.size == 0 and tensor.shape != (0,):
            notes.append(f"shape={tensor.shape}")
    if tensor.dtype not in DEFAULT_DTYPES:
        notes.append(f"dtype={tensor.dtype}")
    return f"{name}({', '.join([body] + notes)})"


def as_text(tensor):
    """The values as NumPy prints them."""
    return str(as_ndarray(tensor)) if tensor.device == "cpu" else represent(tensor)


machine.install_hook("repr", represent)
machine.install_hook("str", as_text)
