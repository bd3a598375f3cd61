"""Tensors and the world around them: NumPy's attributes of memory, copies, pickles, protocols of other libraries."""

import copyreg
import pickle

import numpy as np

from fastops import _dispatch as machine
from fastops._dispatch import Tensor
from fastops._loops import as_ndarray, share_ndarray

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


# NumPy's protocols

def array_interface(self):
    """NumPy's older protocol: a dict of address, shape, dtype and steps; the tensor must live while it is used."""
    return as_ndarray(self).__array_interface__


def to_array(self, dtype=None, copy=None):
    """What ``numpy.asarray`` asks: a NumPy array over the memory, or a copy of it.

    Raises ValueError if a copy is needed for the dtype and *copy* is False. NumPy: ``__array__``.
    """
    array = as_ndarray(self)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is not None and not copy:
            raise ValueError(f"__array__: a copy is needed to make {np.dtype(dtype)} of {array.dtype}, and copy=False")
        return array.astype(dtype)
    return array.copy() if copy else array


def numpy(self, *, force=False):
    """The values as a NumPy array over the same memory; with *force* after what it takes to get there.

    Raises TypeError for a tensor whose memory NumPy cannot read: on another device, or without any.
    """
    if force and hasattr(self, "detach"):
        self = self.detach()
    return as_ndarray(self.to_device("cpu") if force else self)


def array_namespace(self, /, *, api_version=None):
    """The namespace of the array API that works on tensors: fastops. Raises ValueError for a version that is not here."""
    import fastops
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"__array_namespace__: version {api_version!r} of the array API is not here; there are {', '.join(VERSIONS)}")
    return fastops


# Devices

def to_device(self, device, /, *, stream=None):
    """The tensor on *device*: itself if it is there. Raises ValueError for a device that it cannot be moved to.

    >>> import fastops as fo
    >>> fo.ones(2).to_device("meta").device
    device('meta')
    """
    if stream is not None and machine.device(device) == "cpu":
        raise ValueError(f"to_device: there are no streams on the CPU, but stream={stream!r}")
    return self if machine.device(device) == self.device else self.astype(self.dtype, device=device)


def cpu(self):
    """The tensor on the CPU: itself if it is there."""
    return to_device(self, "cpu")


# Memory

class Flags:
    """How a tensor lies in memory, with NumPy's names: ``t.flags.writeable``, ``t.flags["C_CONTIGUOUS"]``.

    >>> import fastops as fo
    >>> fo.ones((2, 3)).T.flags.f_contiguous, fo.ones(2).flags["W"]
    (True, True)
    """
    NAMES = {"C_CONTIGUOUS": "c_contiguous", "F_CONTIGUOUS": "f_contiguous", "OWNDATA": "owndata", "WRITEABLE": "writeable",
             "ALIGNED": "aligned", "WRITEBACKIFCOPY": "writebackifcopy", "C": "c_contiguous", "F": "f_contiguous", "O": "owndata",
             "W": "writeable", "A": "aligned", "X": "writebackifcopy", "CONTIGUOUS": "c_contiguous", "FORTRAN": "f_contiguous",
             "FNC": "fnc", "FORC": "forc", "BEHAVED": "behaved", "CARRAY": "carray", "FARRAY": "farray"}

    def __init__(self, tensor):
        self._tensor = tensor

    c_contiguous = property(lambda self: self._tensor.is_contiguous())
    f_contiguous = property(lambda self: self._tensor.T.is_contiguous())
    owndata = property(lambda self: base(self._tensor) is None)
    aligned = property(lambda self: True)
    writebackifcopy = property(lambda self: False)
    contiguous = c_contiguous
    fortran = f_contiguous
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)
    behaved = property(lambda self: self.writeable)
    carray = property(lambda self: self.behaved and self.c_contiguous)
    farray = property(lambda self: self.behaved and self.fnc)

    @property
    def writeable(self):
        return self._tensor.writeable

    @writeable.setter
    def writeable(self, value):
        self._tensor.setflags(write=value)

    def __getitem__(self, name):
        if name not in self.NAMES:
            raise KeyError(f"flags: unknown flag {name!r}")
        return getattr(self, self.NAMES[name])

    def __setitem__(self, name, value):
        if self.NAMES.get(name) != "writeable":
            raise ValueError(f"flags: only WRITEABLE can be set, not {name!r}")
        self.writeable = value

    def __repr__(self):
        return "\n".join(f"  {name} : {self[name]}" for name in list(self.NAMES)[:6])


def setflags(self, write=None, align=None, uic=None):
    """Set whether the elements may be written, as ``numpy.ndarray.setflags``; this tensor only, not those it is seen by.

    Raises ValueError where memory that is read-only is to become writeable, or another flag is to be set.
    """
    if align is not None and not align or uic:
        raise ValueError("setflags: memory here is always aligned and never a copy to be written back")
    if write is not None:
        machine.set_writeable(self, bool(write))


def base(self):
    """The object that owns the memory where it came from elsewhere (a NumPy array, a memory map), else None."""
    return machine.memory_owner(self)


def data(self):
    """The memory as a memoryview."""
    return memoryview(self)


def tobytes(self, order="C"):
    """The elements as bytes, by rows unless *order* says otherwise; ``numpy.ndarray.tobytes``."""
    return as_ndarray(self).tobytes(order)


def tofile(self, fid, sep="", format="%s"):
    """Write the elements into a file, as bytes or, with *sep*, as text; ``numpy.ndarray.tofile``."""
    as_ndarray(self).tofile(fid, sep, format)


def size_in_memory(self):
    return object.__sizeof__(self) + (self.nbytes if self.device == "cpu" and base(self) is None else 0)


def formatted(self, specification):
    """``f"{t:.2f}"`` of a 0-dimensional tensor formats its number; of any other only the empty format is there."""
    if self.ndim == 0 and self.device == "cpu":
        return format(self.item(), specification)
    if specification:
        raise TypeError(f"unsupported format string {specification!r} for a tensor of shape {self.shape}")
    return str(self)


# Copies and pickles

def shallow(self):
    """``copy.copy``: a tensor with its own memory, and the attributes of a subclass."""
    return with_attributes(self, as_class(self, self.copy()), getattr(self, "__dict__", None))


def deep(self, memo):
    """``copy.deepcopy``: a tensor with its own memory, and copies of the attributes of a subclass."""
    from copy import deepcopy
    result = memo[id(self)] = as_class(self, self.copy())
    return with_attributes(self, result, deepcopy(getattr(self, "__dict__", None), memo))


def as_class(self, tensor):
    return tensor if type(self) is Tensor else tensor.as_subclass(type(self))


def with_attributes(self, result, attributes):
    if attributes:
        result.__dict__.update(attributes)
    for name in copyreg._slotnames(type(self)):
        if hasattr(self, name):
            setattr(result, name, getattr(self, name))
    return result


def reduced(self, protocol):
    """What pickle stores: class, layout and memory; from protocol 5 on the memory may travel beside the pickle."""
    if self.device != "cpu":
        if self.device == "meta":
            return without_memory, (type(self), self.shape, self.dtype.str), attributes_of(self)
        raise TypeError(f"pickle: a tensor on device '{self.device}' has no memory that can be stored; move it to the CPU")
    array = as_ndarray(self)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    if protocol < 5:
        return from_bytes, (type(self), array.tobytes(order), self.shape, self.dtype.str, order), attributes_of(self)
    flat = np.asarray(array, order=order).reshape(-1, order="A") if order == "F" else np.ascontiguousarray(array).reshape(-1)
    return from_bytes, (type(self), pickle.PickleBuffer(flat), self.shape, self.dtype.str, order), attributes_of(self)


def attributes_of(self):
    slots = {name: getattr(self, name) for name in copyreg._slotnames(type(self)) if hasattr(self, name)}
    attributes = getattr(self, "__dict__", None)
    return (attributes, slots) if slots else attributes or None


def without_memory(kind, shape, dtype):
    """A tensor of the meta device, out of a pickle."""
    import fastops
    tensor = fastops.empty(shape, dtype=dtype, device="meta")
    return tensor if kind is Tensor else tensor.as_subclass(kind)


def from_bytes(kind, buffer, shape, dtype, order):
    """A tensor out of a pickle: over the buffer that came beside it, else with a copy of the bytes in it.

    Raises ValueError where the bytes are not those of the shape.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise ValueError(f"pickle: a tensor has no dtype {dtype}")
    owned = isinstance(buffer, (bytes, bytearray))
    array = np.frombuffer(buffer, dtype)
    if array.size != np.prod(shape, dtype=np.intp):
        raise ValueError(f"pickle: {array.size} elements are no tensor of shape {shape}")
    array = array.reshape(shape, order=order)
    if type(buffer) is bytes:
        array = array.copy(order="A")
    tensor = share_ndarray(array)
    return tensor if kind is Tensor else tensor.as_subclass(kind)


for _name, _value in {
        "__array_interface__": property(array_interface), "__array__": to_array, "numpy": numpy, "__array_namespace__": array_namespace,
        "to_device": to_device, "cpu": cpu, "flags": property(Flags), "setflags": setflags, "base": property(base), "data": property(data),
        "tobytes": tobytes, "tofile": tofile, "__sizeof__": size_in_memory, "__format__": formatted, "__copy__": shallow,
        "__deepcopy__": deep, "__reduce_ex__": reduced}.items():
    machine.install_method(_name, _value)
