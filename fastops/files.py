"""Arrays in files, in NumPy's own formats: ``.npy``, ``.npz``, text and raw bytes."""

import collections.abc

import numpy as np

from fastops._dispatch import Tensor
from fastops._loops import as_ndarray, share_ndarray


def _tensor(array, what):
    # An array out of a file as a tensor over the same memory.
    if not isinstance(array, np.ndarray):
        raise ValueError(f"load: {what} holds a Python object, not an array; numpy.load reads it")
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or array.dtype == np.longdouble:
        raise TypeError(f"load: {what} holds an array of dtype {array.dtype}, which tensors do not have; numpy.load reads it")
    return share_ndarray(array)


def _array(value):
    return as_ndarray(value) if isinstance(value, Tensor) else np.asarray(value)


class ArchiveOfTensors(collections.abc.Mapping):
    """The arrays of a ``.npz`` file by name, each read when it is asked for; a context manager that closes the file."""

    def __init__(self, archive):
        self._archive = archive
        self.files = archive.files

    def __getitem__(self, name):
        return _tensor(self._archive[name], f"{name!r}")

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def __contains__(self, name):
        return name in self._archive

    def close(self):
        """Close the file."""
        self._archive.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"ArchiveOfTensors({', '.join(self.files)})"


def load(file, mmap_mode=None, allow_pickle=False, **options):
    """The tensor of a ``.npy`` file, or the tensors of a ``.npz`` file by name.

    Parameters
    ----------
    file : path or file
        What ``save``, ``savez`` or NumPy's functions of these names have written.
    mmap_mode : str, optional
        "r", "r+", "w+" or "c": the tensor lies over the file itself, which is read as its elements are.
    allow_pickle : bool
        Whether pickled objects are read, which can run any code; no tensor needs it.
    **options
        ``max_header_size`` and the like, as in NumPy.

    Raises
    ------
    ValueError
        If the file is malformed, cut off, or holds Python objects.
    TypeError
        If it holds an array of a dtype that tensors do not have.
    OSError
        If it cannot be read.

    Notes
    -----
    NumPy: ``numpy.load``.

    >>> import fastops as fo, io
    >>> file = io.BytesIO()
    >>> fo.save(file, fo.asarray([1, 2]))
    >>> fo.load(io.BytesIO(file.getvalue()))
    tensor([1, 2])
    """
    try:
        found = np.load(file, mmap_mode=mmap_mode, allow_pickle=allow_pickle, **options)
    except (EOFError, SyntaxError, KeyError, IndexError, UnicodeError, TypeError, AttributeError, OverflowError, MemoryError,
            RecursionError) as error:
        raise ValueError(f"load: {file!r} is no file of arrays, or is damaged: {error}") from error
    return ArchiveOfTensors(found) if isinstance(found, np.lib.npyio.NpzFile) else _tensor(found, repr(file))


def save(file, arr):
    """Write an array into a ``.npy`` file, NumPy's format. Raises OSError if that cannot be.

    NumPy: ``numpy.save``.
    """
    np.save(file, _array(arr), allow_pickle=False)


def savez(file, *args, **kwds):
    """Write several arrays into one ``.npz`` file, by name or as arr_0, arr_1, ...; NumPy: ``numpy.savez``."""
    np.savez(file, *map(_array, args), allow_pickle=False, **{name: _array(value) for name, value in kwds.items()})


def savez_compressed(file, *args, **kwds):
    """Write several arrays into one compressed ``.npz`` file; NumPy: ``numpy.savez_compressed``."""
    np.savez_compressed(file, *map(_array, args), allow_pickle=False, **{name: _array(value) for name, value in kwds.items()})


def savetxt(fname, X, *args, **kwds):
    """Write an array of one or two axes as text; the arguments are those of ``numpy.savetxt``."""
    np.savetxt(fname, _array(X), *args, **kwds)


def _reader(function, summary):
    def read(*args, **kwds):
        result = function(*args, **kwds)
        if isinstance(result, (list, tuple)):
            return type(result)([_tensor(part, "it") for part in result])
        return _tensor(result, "it")

    read.__name__ = read.__qualname__ = function.__name__
    read.__doc__ = f"{summary} The arguments and errors are those of ``numpy.{function.__name__}``."
    return read


loadtxt = _reader(np.loadtxt, "The numbers of a text file.")
genfromtxt = _reader(np.genfromtxt, "The numbers of a text file in which some may be missing.")
fromfile = _reader(np.fromfile, "The numbers of a file of raw bytes, or of text.")
frombuffer = _reader(np.frombuffer, "A tensor over the memory of an object with a buffer.")
fromiter = _reader(np.fromiter, "The numbers that an iterator yields.")
fromstring = _reader(np.fromstring, "The numbers in a string of text.")


def memmap(filename, dtype=np.uint8, mode="r+", offset=0, shape=None, order="C"):
    """A tensor over a file of raw bytes, which is read and written as its elements are; ``numpy.memmap``.

    *mode* is "r", "r+", "w+" or "c" (written to memory only). Raises what ``numpy.memmap`` raises.
    """
    return _tensor(np.memmap(filename, dtype, mode, offset, shape, order), repr(filename))
