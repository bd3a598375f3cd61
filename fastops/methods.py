"""Methods of Tensor that are spelled otherwise than the functions they call, or have no function of their own."""

import inspect
import pickle

import numpy as np

from fastops import _dispatch as machine
from fastops._dispatch import Tensor
from fastops._loops import as_ndarray
from fastops.ops.create import empty, full, ones, zeros
from fastops.ops.shape import broadcast_to, copy, expand_dims, moveaxis, permute_dims, ravel, reinterpret, reshape


def view(self, *shape, dtype=None, type=None):
    """The same memory with another dtype (NumPy's ``view(dtype)``), as a subclass, or with another shape (``view(2, -1)``).

    Raises ValueError where that needs a copy.
    """
    if type is not None:
        return self.as_subclass(type)
    if dtype is not None or not shape:
        return self[...] if dtype is None else reinterpret(self, dtype)
    first = shape[0]
    if len(shape) == 1 and not isinstance(first, (int, tuple, list)):
        return self.as_subclass(first) if inspect.isclass(first) and issubclass(first, Tensor) else reinterpret(self, first)
    return reshape(self, first if isinstance(first, (tuple, list)) else shape, copy=False)


def contiguous(self):
    """The tensor in row-major order: itself if it lies so, else a copy."""
    return self if self.is_contiguous() else copy(self, "C")


def clone(self):
    """A copy, in the tensor's memory order."""
    return copy(self)


def unsqueeze(self, dim):
    """An axis of length 1 added at *dim*; ``expand_dims``."""
    return expand_dims(self, dim)


def movedim(self, source, destination):
    """Axes moved; ``moveaxis``."""
    return moveaxis(self, source, destination)


def permute(self, *dims):
    """The axes in another order; ``permute_dims``."""
    return permute_dims(self, dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims)


def expand(self, *sizes):
    """Seen with larger sizes; -1 keeps an axis. ``broadcast_to``."""
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    added = len(sizes) - self.ndim
    if added < 0:
        raise ValueError(f"expand: sizes {tuple(sizes)} are fewer than the axes of shape {self.shape}")
    return broadcast_to(self, tuple([self.shape[place - added] if size == -1 and place >= added else size for place, size in enumerate(sizes)]))


def _new(make):
    def new(self, size, *value, dtype=None, device=None):
        return make(size, *value, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device)

    new.__name__ = new.__qualname__ = f"new_{make.__name__}"
    new.__doc__ = f"``{make.__name__}`` of this tensor's dtype and device, unless others are given."
    return new


class FlatIterator:
    """``t.flat``: the elements in row-major order, to be iterated over, indexed, and written; as ``numpy.ndarray.flat``.

    >>> import fastops as fo
    >>> x = fo.asarray([[1, 2], [3, 4]])
    >>> x.flat[2] = 9
    >>> list(x.flat), x.flat[1:3]
    ([1, 2, 9, 4], tensor([2, 9]))
    """

    def __init__(self, base):
        self.base = base
        self.index = 0

    @property
    def coords(self):
        """The place of the next element."""
        if not (self.base.size and self.base.ndim):
            return (0,) * self.base.ndim
        return tuple(map(int, np.unravel_index(self.index, self.base.shape)))

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return self

    def __next__(self):
        if self.index >= self.base.size:
            raise StopIteration
        self.index += 1
        return as_ndarray(self.base).flat[self.index - 1].item()

    def __getitem__(self, key):
        return ravel(self.base)[self._checked(key)]

    def __setitem__(self, key, value):
        places = np.arange(self.base.size)[self._checked(key)]
        values = np.asarray(value)
        if np.ndim(places) == 0 and values.size != 1:
            raise ValueError(f"flat: one element takes one number, not an array of shape {values.shape}")
        if places.size == 0 or values.size == 0:
            return
        if not isinstance(value, (Tensor, np.ndarray)):         # Python's numbers must fit, as in NumPy
            values = np.asarray(value, dtype=self.base.dtype)
        values = np.resize(values, places.shape)
        self.base[np.unravel_index(places, self.base.shape) if self.base.ndim else ()] = values if self.base.ndim else values.reshape(-1)[-1]

    def _checked(self, key):
        # What stands between the brackets, without what would give other axes than one.
        if any(part is None or isinstance(part, (bool, np.bool_)) for part in (key if isinstance(key, tuple) else (key,))):
            raise IndexError(f"flat: an index is a whole number, a slice, a list or a mask, not {key!r}")
        return as_ndarray(key) if isinstance(key, Tensor) else key

    def __eq__(self, other):
        return ravel(self.base) == other

    def __ne__(self, other):
        return ravel(self.base) != other

    def __lt__(self, other):
        return ravel(self.base) < other

    def __le__(self, other):
        return ravel(self.base) <= other

    def __gt__(self, other):
        return ravel(self.base) > other

    def __ge__(self, other):
        return ravel(self.base) >= other

    __hash__ = None

    def copy(self):
        """The elements as a tensor of one axis."""
        return copy(ravel(self.base))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.copy(), dtype=dtype)


def _set_flat(self, value):
    FlatIterator(self)[:] = value


def dumps(self):
    """The tensor's pickle, as bytes."""
    return pickle.dumps(self)


def dump(self, file):
    """Write the tensor's pickle into a file, given by its path or open; ``numpy.ndarray.dump``."""
    if hasattr(file, "write"):
        pickle.dump(self, file)
    else:
        with open(file, "wb") as opened:
            pickle.dump(self, opened)


for _method in (view, contiguous, clone, unsqueeze, movedim, permute, expand, dump, dumps, *map(_new, (empty, zeros, ones, full))):
    machine.install_method(_method.__name__, _method)
machine.install_method("flat", property(FlatIterator, _set_flat, doc="The elements in row-major order; see FlatIterator."))
machine.install_method("ctypes", property(lambda self: as_ndarray(self).ctypes, doc="The memory for ctypes; ``numpy.ndarray.ctypes``."))
