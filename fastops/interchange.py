"""Tensors in pickles, and as other libraries see them.

The functions are plain functions, no operators: what they take is no tensor yet, or leaves the world of tensors.
"""

import sys
from copy import deepcopy
from pickle import PickleBuffer
from types import GenericAlias

import numpy as np

from fastops import _dispatch as machine
from fastops import errors
from fastops._create import empty_meta
from fastops._dispatch import Tensor
from fastops._interchange import fills_memory, import_capsule, is_column_major, memory_owner, set_writable
from fastops._loops import as_ndarray, share_ndarray
from fastops.files import array_of, memory_of
from fastops.ops.create import asarray

DLPACK_VERSION = (1, 1)             # the newest that imports understand
DLPACK_CPU = (1, 0)
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


# What other libraries hand over

def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of another library's array, which stays alive as long as the tensor.

    Parameters
    ----------
    x : object with ``__dlpack__``
        An array of NumPy, PyTorch, JAX, CuPy and so on.
    device : device or str, optional
        Where the memory is to be; ``"cpu"`` asks the producer for a copy there if it is elsewhere.
    copy : bool, optional
        True always copies, False never does; None copies only where the producer has to.

    Raises
    ------
    TypeError
        If x has no ``__dlpack__``; a bare capsule is refused, since it cannot say where its memory is.
    BufferError
        If the producer's memory cannot be shared: another device, an unsupported dtype, a capsule that is used up
        or makes no sense. The error is a ValueError too.
    ValueError
        If the device is not the CPU.

    Notes
    -----
    NumPy: ``numpy.from_dlpack``. Memory that the producer calls read-only is read-only here.

    Examples
    --------
    >>> import fastops as fo
    >>> import numpy as np
    >>> a = np.arange(3)
    >>> x = fo.from_dlpack(a)
    >>> x[0] = 7
    >>> a
    array([7, 1, 2])
    """
    if device is not None and machine.device(device) != "cpu":
        raise ValueError(f"from_dlpack: memory is imported on the CPU, not on device '{machine.device(device)}'; "
                         "move the tensor afterwards")
    if not hasattr(x, "__dlpack__"):
        what = "a bare capsule cannot be asked for its device and version: hand over the array that made it" \
            if type(x).__name__ == "PyCapsule" else "it has no __dlpack__ method: asarray takes what NumPy takes"
        raise errors.ProtocolError(f"from_dlpack: {type(x).__name__} is no array; {what}")
    capsule = _capsule(x, device, copy)         # held, so that its end does not meet an error on its way
    tensor, producer_copied = import_capsule(capsule)
    if copy is False and producer_copied:
        raise errors.InterchangeError(f"from_dlpack: {type(x).__name__} handed over a copy, and copy=False")
    if copy and not (producer_copied and tensor.writeable):
        return tensor.copy()
    return tensor


def _capsule(x, device, copy):
    # Producers of before version 1 of the protocol know none of the arguments; they never copy.
    options = {"max_version": DLPACK_VERSION}
    if device is not None:
        options["dl_device"] = DLPACK_CPU
    if copy is not None:
        options["copy"] = bool(copy)
    try:
        return x.__dlpack__(**options)
    except TypeError:
        return x.__dlpack__()


# Overlap

def shares_memory(a, b, /, max_work=None):
    """Whether two arrays have an element in common; a bool.

    Notes
    -----
    NumPy: ``numpy.shares_memory``. The question can be hard: *max_work* bounds the effort, and
    ``numpy.exceptions.TooHardError`` is raised beyond it.

    Examples
    --------
    >>> import fastops as fo
    >>> x = fo.arange(6)
    >>> fo.shares_memory(x, x[::2]), fo.shares_memory(x[1::2], x[::2])
    (True, False)
    """
    return np.shares_memory(array_of("shares_memory", a), array_of("shares_memory", b), max_work)


def may_share_memory(a, b, /, max_work=None):
    """Whether the memory of two arrays may overlap, judged by its bounds alone; a bool.

    Notes
    -----
    NumPy: ``numpy.may_share_memory``.

    Examples
    --------
    >>> import fastops as fo
    >>> x = fo.arange(6)
    >>> fo.may_share_memory(x[1::2], x[::2]), fo.may_share_memory(x[:3], x[3:])
    (True, False)
    """
    return np.may_share_memory(array_of("may_share_memory", a), array_of("may_share_memory", b), max_work)


# Pickles and copies

def rebuild(cls, buffer, dtype, shape, order):
    """What a pickled tensor becomes again: a *cls* over the memory of *buffer*, which is copied if it is not aligned."""
    tensor = share_ndarray(np.ndarray(shape, dtype, buffer, order=order))
    return tensor if cls is Tensor else tensor.as_subclass(cls)


def rebuild_meta(cls, dtype, shape, strides):
    """What a pickled tensor of the meta device becomes again."""
    tensor = machine.with_strides(empty_meta(shape, dtype), strides)
    return tensor if cls is Tensor else tensor.as_subclass(cls)


def reduce_tensor(self, protocol):
    """How a tensor pickles: by its memory, in its memory order; from protocol 5 on without a copy."""
    if type(self).__reduce__ is not Tensor.__reduce__:
        return self.__reduce__()        # a subclass has its own way
    if self.device == "meta":
        call = rebuild_meta, (type(self), self.dtype.str, self.shape, self.strides)
    elif self.keyset() - PLAIN_KEYS:
        raise TypeError(f"a tensor with keys {self.keyset()} cannot be pickled: it stands for something else")
    else:
        array = memory_of(self, "pickle")
        order = "F" if array.flags.fnc else "C"
        if not array.flags.forc:
            array = array.copy("C")
            array.flags.writeable = self.writeable
        if protocol >= 5:
            data = PickleBuffer(array)
        else:                           # bytes would come back read-only
            data = (bytearray if self.writeable else bytes)(array.tobytes(order))
        call = rebuild, (type(self), data, self.dtype.str, self.shape, order)
    state = self.__getstate__()
    return call if state is None else (*call, state)


PLAIN_KEYS = machine.DispatchKeySet("CPU")


def reduce_plainly(self):
    """``reduce_tensor`` for callers that name no protocol."""
    return reduce_tensor(self, 4)


def copy_tensor(self):
    """A copy of the values in the same memory order; a subclass's attributes are shared."""
    result = self.copy()
    if type(self) is not Tensor:
        result = result.as_subclass(type(self))
        _set_state(result, self.__getstate__())
    return result


def deepcopy_tensor(self, memo):
    """A copy of the values in the same memory order, and of a subclass's attributes."""
    result = self.copy()
    if type(self) is not Tensor:
        result = result.as_subclass(type(self))
        memo[id(self)] = result         # an attribute may lead back here
        _set_state(result, deepcopy(self.__getstate__(), memo))
    memo[id(self)] = result
    return result


def _set_state(target, state):
    # As pickle does.
    if state is None:
        return
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(target, name, value)


# The memory, as methods

def tobytes(self, order="C"):
    """The elements as bytes, row-major; *order* is "C", "F" or "A", as in NumPy."""
    return memory_of(self, "tobytes").tobytes(order)


def tofile(self, fid, sep="", format="%s"):
    """Write the elements to a file, raw or as text with *sep* between them, as ``numpy.ndarray.tofile``."""
    memory_of(self, "tofile").tofile(fid, sep, format)


def numpy(self, *, force=False):
    """A NumPy array over the same memory.

    TypeError for a tensor without memory on the CPU, RuntimeError for one that requires a gradient unless *force* is
    True.
    """
    if getattr(self, "requires_grad", False):
        if not force:
            raise RuntimeError("numpy: the tensor requires a gradient, which NumPy would not record: "
                               "use detach().numpy() or numpy(force=True)")
        self = self.detach()
    return memory_of(self.cpu() if force else self, "numpy")


def to_device(self, device, /, *, stream=None):
    """The tensor on another device, itself if it is there; ValueError if there is no way or *stream* is given."""
    if stream is not None:
        raise ValueError(f"to_device: these devices have no streams: stream is None, not {stream!r}")
    return asarray(self, device=device)


def cpu(self):
    """The tensor on the CPU, itself if it is there; ValueError for one without values."""
    return asarray(self, device="cpu")


def format_tensor(self, spec):
    """A tensor of no dimensions formats as its number; others as they print, and take no specification."""
    if self.ndim == 0 and self.device == "cpu":
        return format(as_ndarray(self)[()], spec)
    if spec:
        raise TypeError(f"unsupported format string {spec!r} passed to Tensor.__format__: only an array of no dimensions "
                        f"formats as a number, not one of shape {self.shape}")
    return str(self)


def size_in_memory(self):
    """The header's bytes, and those of the memory if this tensor fills it."""
    return object.__sizeof__(self) + (self.nbytes if fills_memory(self) else 0)


def namespace(self, /, *, api_version=None):
    """The module ``fastops``; ValueError for a version of the array API standard that it does not follow."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(f"__array_namespace__: the versions are {', '.join(API_VERSIONS)}, not {api_version!r}")
    return sys.modules["fastops"]


def setflags(self, write=None, align=None, uic=None):
    """Make the tensor read-only (write=False), or writable again where that was done to itself (write=True).

    ValueError for memory that is read-only and for views of a read-only tensor. *align* and *uic* are NumPy's.
    """
    if write is not None:
        set_writable(self, bool(write))
    if align is not None and bool(align) != self.flags.aligned:
        raise ValueError("setflags: whether memory is aligned is a fact, not a choice")
    if uic:
        raise ValueError("setflags: no tensor is written back")


class Flags:
    """What is so of a tensor's memory, under NumPy's names: ``x.flags.c_contiguous``, ``x.flags["WRITEABLE"]``.

    >>> import fastops as fo
    >>> x = fo.ones((2, 3))
    >>> x.T.flags.f_contiguous, x.flags["WRITEABLE"]
    (True, True)
    >>> x.flags.writeable = False
    >>> x[0, 0] = 5
    Traceback (most recent call last):
    ValueError: fastops.setitem.default: the array to be written is read-only; write into a copy
    """
    __slots__ = ("_tensor",)

    def __init__(self, tensor):
        self._tensor = tensor

    @property
    def c_contiguous(self):
        """Row-major without gaps."""
        return self._tensor.is_contiguous()

    @property
    def f_contiguous(self):
        """Column-major without gaps."""
        return is_column_major(self._tensor)

    @property
    def owndata(self):
        """Whether fastops allocated the memory and the tensor fills it: a reshaped view says so too, a part does not."""
        return fills_memory(self._tensor)

    @property
    def writeable(self):
        """Whether the elements may be written; to be set as by ``setflags``."""
        return self._tensor.writeable

    @writeable.setter
    def writeable(self, value):
        set_writable(self._tensor, bool(value))

    @property
    def aligned(self):
        """Always so: what is not aligned is copied when it becomes a tensor."""
        return True

    @property
    def writebackifcopy(self):
        """Never so."""
        return False

    @property
    def fnc(self):
        """Column-major and not row-major."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self):
        """Column-major or row-major."""
        return self.f_contiguous or self.c_contiguous

    @property
    def behaved(self):
        """Aligned and writeable."""
        return self.writeable

    @property
    def carray(self):
        """Behaved and row-major."""
        return self.writeable and self.c_contiguous

    @property
    def farray(self):
        """Behaved and column-major, not row-major."""
        return self.writeable and self.fnc

    contiguous = c_contiguous
    fortran = f_contiguous

    @property
    def num(self):
        """NumPy's bits of the flags."""
        return (self.c_contiguous | self.f_contiguous << 1 | self.owndata << 2 | 0x100 | self.writeable << 10)

    def __getitem__(self, key):
        return getattr(self, _flag_name(key))

    def __setitem__(self, key, value):
        name = _flag_name(key)
        if name != "writeable":
            raise ValueError(f"flags: {key!r} follows from the memory; only 'WRITEABLE' can be set")
        self.writeable = value

    def __eq__(self, other):
        return self.num == other.num if hasattr(other, "num") else NotImplemented

    __hash__ = None

    def __repr__(self):
        return "\n".join([f"  {name} : {self[name]}" for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE",
                                                                 "ALIGNED", "WRITEBACKIFCOPY")])


FLAG_NAMES = {"C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous",
              "W": "writeable", "A": "aligned", "O": "owndata", "X": "writebackifcopy", "B": "behaved", "CA": "carray",
              "FA": "farray"}
FLAG_NAMES.update({name.upper(): name for name in ("c_contiguous", "f_contiguous", "writeable", "aligned", "owndata",
                                                   "writebackifcopy", "behaved", "carray", "farray", "fnc", "forc")})


def _flag_name(key):
    if not isinstance(key, str) or key not in FLAG_NAMES:
        raise KeyError(f"unknown flag {key!r}; the flags are {', '.join(FLAG_NAMES)}")
    return FLAG_NAMES[key]


METHODS = {
    "__reduce_ex__": reduce_tensor, "__reduce__": reduce_plainly, "__copy__": copy_tensor, "__deepcopy__": deepcopy_tensor,
    "__format__": format_tensor, "__sizeof__": size_in_memory, "__array_namespace__": namespace,
    "__class_getitem__": classmethod(GenericAlias), "tobytes": tobytes, "tofile": tofile, "numpy": numpy, "to_device": to_device,
    "cpu": cpu, "setflags": setflags,
    "flags": property(Flags, doc="What is so of the memory, under NumPy's names."),
    "data": property(memoryview, doc="The memory as a memoryview."),
    "base": property(memory_owner, doc="The Python object whose memory this is; None where fastops allocated it.")}

for _name, _method in METHODS.items():
    machine.install_method(_name, _method)
