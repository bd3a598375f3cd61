"""Arrays in files, in NumPy's own formats: ``.npy``, ``.npz``, text and raw bytes; and out of buffers and iterators."""

import os
from collections.abc import Mapping

import numpy as np

from fastops._loops import as_ndarray, share_ndarray
from fastops.ops.create import asarray


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """A tensor over the memory of any object with a buffer: one-dimensional, read-only where the buffer is.

    Memory that is not aligned for the dtype is copied. ValueError where the buffer is too small or no whole number of
    elements.

    Notes
    -----
    NumPy: ``numpy.frombuffer``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.frombuffer(bytearray(b"fast"), dtype="uint8")
    tensor([102,  97, 115, 116], dtype=uint8)
    """
    return _shared("frombuffer", np.frombuffer(buffer, _element("frombuffer", dtype), count, offset))


def fromiter(iter, dtype, count=-1):
    """A one-dimensional tensor of the numbers that an iterator yields; ValueError if there are fewer than count.

    Notes
    -----
    NumPy: ``numpy.fromiter``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.fromiter((n * n for n in range(4)), dtype=int)
    tensor([0, 1, 4, 9])
    """
    return _shared("fromiter", np.fromiter(iter, _element("fromiter", dtype), count))


def fromstring(string, dtype=float, count=-1, *, sep):
    """A one-dimensional tensor of the numbers written in *string*, with *sep* between them.

    ValueError if sep is empty: ``frombuffer`` reads binary data.

    Notes
    -----
    NumPy: ``numpy.fromstring``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.fromstring("1 2 3", sep=" ")
    tensor([1., 2., 3.])
    """
    if not sep:
        raise ValueError("fromstring: the separator is empty; frombuffer reads binary data")
    return _shared("fromstring", np.fromstring(string, _element("fromstring", dtype), count, sep=sep))


# Files

def fromfile(file, dtype=float, count=-1, sep="", offset=0):
    """A one-dimensional tensor of the raw numbers in a file, or of those written in it with *sep* between them.

    The file says nothing of dtype or shape: ``save`` and ``load`` keep both.

    Notes
    -----
    NumPy: ``numpy.fromfile``.
    """
    return _shared("fromfile", np.fromfile(file, _element("fromfile", dtype), count, sep, offset))


def save(file, arr, allow_pickle=False):
    """Write an array to a file in NumPy's format ``.npy``; a name without that ending gets it.

    Parameters
    ----------
    file : path or file object
    arr : array_like
    allow_pickle : bool
        Taken as NumPy takes it; no tensor holds objects, so nothing is ever pickled.

    Raises
    ------
    TypeError
        If the dtype is none that a tensor can have: objects, records, strings.

    Notes
    -----
    NumPy: ``numpy.save``.
    """
    np.save(file, array_of("save", arr), allow_pickle=False)


def savez(file, *args, allow_pickle=False, **kwds):
    """Write several arrays to one file in NumPy's format ``.npz``, under their keywords, or arr_0, arr_1 and so on.

    TypeError for an array whose dtype no tensor can have.

    Notes
    -----
    NumPy: ``numpy.savez``.
    """
    np.savez(file, *[array_of("savez", arr) for arr in args], **{name: array_of("savez", arr) for name, arr in kwds.items()})


def savez_compressed(file, *args, allow_pickle=False, **kwds):
    """``savez``, with each array compressed.

    Notes
    -----
    NumPy: ``numpy.savez_compressed``.
    """
    np.savez_compressed(file, *[array_of("savez_compressed", arr) for arr in args],
                        **{name: array_of("savez_compressed", arr) for name, arr in kwds.items()})


def load(file, mmap_mode=None, allow_pickle=False, *, max_header_size=10000):
    """Read what ``save`` or ``savez`` wrote, NumPy's too.

    Parameters
    ----------
    file : path or file object
        Of the format ``.npy`` or ``.npz``.
    mmap_mode : {None, 'r', 'r+', 'c'}
        Not to read the file but to map it into memory: for reading, for writing into the file, or for writing into
        memory only. ``.npz`` files are always read.
    allow_pickle : bool
        Whether to run pickles that the file holds. They can do anything: leave it for files from strangers.
    max_header_size : int
        The longest description of an array that is parsed.

    Returns
    -------
    Tensor or Archive
        An Archive for ``.npz``: a mapping from names to tensors that reads them when asked; close it, or use it in
        ``with``.

    Raises
    ------
    OSError, EOFError, ValueError
        If the file is missing, empty, cut off, damaged, or holds a pickle. The message has the file's name.
    TypeError
        If the array's dtype is none that a tensor can have: objects, records, strings.

    Notes
    -----
    NumPy: ``numpy.load``.
    """
    if mmap_mode not in (None, "r", "r+", "c"):
        raise ValueError(f"load: mmap_mode is None, 'r', 'r+' or 'c', not {mmap_mode!r}")
    name = _file_name(file)
    options = dict(allow_pickle=allow_pickle, max_header_size=max_header_size)
    with _Reading(name):
        if mmap_mode == "r+":           # which would make a file longer that is cut off
            np.load(file, "r", **options)
        found = np.load(file, mmap_mode, **options)
    if isinstance(found, np.lib.npyio.NpzFile):
        return Archive(found, name)
    return _shared(f"load: {name}", found)


class _Reading:
    """Within it, whatever NumPy, zipfile or zlib say of a bad file becomes an error that names the file."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None or not isinstance(error, Exception):
            return
        if isinstance(error, OSError) and (error.filename is not None or error.errno is not None):
            return                      # the system's own errors name the file
        text = f"load: {self.name}: {error or type(error).__name__}"
        if "Object arrays" in str(error):
            raise TypeError(f"load: {self.name}: an array of dtype object cannot be a tensor") from None
        if isinstance(error, EOFError):
            raise EOFError(text) from None
        raise ValueError(text) from error


class Archive(Mapping):
    """The arrays of an ``.npz`` file by name; each is read, as a Tensor, whenever it is asked for.

    >>> import io
    >>> import fastops as fo
    >>> file = io.BytesIO()
    >>> fo.savez(file, weights=[1.0, 2.0], bias=[3.0])
    >>> _ = file.seek(0)
    >>> with fo.load(file) as archive:
    ...     list(archive), archive["bias"]
    (['weights', 'bias'], tensor([3.]))
    """

    def __init__(self, archive, name):
        self._archive = archive
        self._name = name
        self.files = list(archive.files)

    def __getitem__(self, key):
        if self._archive is None:
            raise ValueError(f"load: {self._name} is closed")
        if key not in self._archive:
            raise KeyError(f"{key!r} is not in {self._name}, which holds {', '.join(self.files) or 'nothing'}")
        where = f"{self._name}, {key!r}"
        with _Reading(where):
            found = self._archive[key]
        if not isinstance(found, np.ndarray):
            raise ValueError(f"load: {where}: no array, but {len(found)} bytes of something else")
        return _shared(f"load: {where}", found)

    def __contains__(self, key):
        return key in self.files

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def close(self):
        """Close the file; what was read stays."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"Archive({self._name!r}: {', '.join(self.files)})"


def loadtxt(fname, dtype=float, comments="#", delimiter=None, converters=None, skiprows=0, usecols=None, unpack=False,
            ndmin=0, encoding=None, max_rows=None, *, quotechar=None):
    """A tensor of the numbers in a text file, a row a line.

    Parameters and errors are those of ``numpy.loadtxt``; TypeError for a dtype that no tensor can have.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.loadtxt(["1 2", "3 4"], dtype=int)
    tensor([[1, 2],
            [3, 4]])
    """
    return _shared("loadtxt", np.loadtxt(fname, _element("loadtxt", dtype), comments, delimiter, converters, skiprows, usecols,
                                         unpack, ndmin, encoding, max_rows, quotechar=quotechar))


def genfromtxt(fname, dtype=float, *args, **kwargs):
    """A tensor of the numbers in a text file in which some may be missing.

    Parameters and errors are those of ``numpy.genfromtxt``; TypeError where the columns have several dtypes.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.genfromtxt(["1,2", "3,"], delimiter=",")
    tensor([[ 1.,  2.],
            [ 3., nan]])
    """
    return _shared("genfromtxt", np.genfromtxt(fname, dtype, *args, **kwargs))


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# ", encoding=None):
    """Write an array of one or two dimensions to a text file, a row a line; parameters are ``numpy.savetxt``'s."""
    np.savetxt(fname, array_of("savetxt", X), fmt, delimiter, newline, header, footer, comments, encoding)


def _file_name(file):
    # What to call a file in messages: its path, the name of an open one, or what kind of object it is.
    name = getattr(file, "name", file)
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else f"<{type(file).__name__}>"


def _element(name, dtype):
    # A dtype that a tensor can have, before anything is read.
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise TypeError(f"{name}: dtype {dtype} cannot be a tensor's")
    return dtype


def _shared(name, array):
    # A tensor over what NumPy made, which may be nothing that a tensor can be.
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}: {type(array).__name__} is no array of numbers")
    try:
        return share_ndarray(array)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def array_of(name, value):
    """A NumPy array over a tensor, or over what becomes one; *name* is the function that the message names."""
    try:
        tensor = asarray(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    return memory_of(tensor, name)


def memory_of(tensor, name):
    """A NumPy array over a tensor's memory; TypeError where there is none."""
    if tensor.device != "cpu":
        raise TypeError(f"{name}: a tensor on device '{tensor.device}' has no values to read")
    return as_ndarray(tensor)


def memmap(filename, dtype=np.uint8, mode="r+", offset=0, shape=None, order="C"):
    """A tensor over a file of raw bytes, which is read and written as its elements are; ``numpy.memmap``.

    *mode* is "r", "r+", "w+" or "c" (written to memory only). Raises what ``numpy.memmap`` raises.
    """
    return _shared("memmap", np.memmap(filename, _element("memmap", dtype), mode, offset, shape, order))
