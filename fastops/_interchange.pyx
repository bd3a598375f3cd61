"""DLPack: memory handed to other array libraries, and taken from them, without a copy.

A capsule holds a structure that describes the memory and keeps it alive. What comes in may be anything: each field is
checked before it is believed, and the deleter of a capsule that was opened is called once, whatever happens.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

from fastops._dispatch cimport (CPU, MAXIMUM_DIMENSIONS, ElementType, Storage, Tensor, element_of, finish_layout,
                                foreign_storage, new_header, overflows, release_storage, track)
from fastops._loops cimport contiguous_copy

import numpy as np

from fastops import _dispatch as machine

cdef extern from "_dlpack.h":
    enum:
        FASTOPS_DL_CPU
        FASTOPS_DL_CUDA_HOST
        FASTOPS_DL_INT
        FASTOPS_DL_UINT
        FASTOPS_DL_FLOAT
        FASTOPS_DL_COMPLEX
        FASTOPS_DL_BOOL
        FASTOPS_DL_READ_ONLY
        FASTOPS_DL_IS_COPIED
    ctypedef struct Device "fastops_dl_device":
        int device_type
        int device_id
    ctypedef struct Type "fastops_dl_type":
        unsigned char code
        unsigned char bits
        unsigned short lanes
    ctypedef struct Description "fastops_dl_tensor":
        void *data
        Device device
        int ndim
        Type dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset
    ctypedef struct Version "fastops_dl_version":
        unsigned int major
        unsigned int minor
    ctypedef struct Managed "fastops_dl_managed":
        Description tensor
        void *context
        void (*deleter)(Managed *) noexcept nogil
    ctypedef struct Versioned "fastops_dl_versioned":
        Version version
        void *context
        void (*deleter)(Versioned *) noexcept nogil
        uint64_t flags
        Description tensor

cdef extern from "Python.h":
    int Py_IsInitialized() noexcept nogil

NAME, NAME_VERSIONED = "dltensor", "dltensor_versioned"
CODES = {"i": FASTOPS_DL_INT, "u": FASTOPS_DL_UINT, "f": FASTOPS_DL_FLOAT, "c": FASTOPS_DL_COMPLEX, "b": FASTOPS_DL_BOOL}
DTYPES = {(CODES[dtype.kind], 8 * dtype.itemsize): dtype for dtype in map(np.dtype, (
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"))}


# ------------------------------------------------------------------------------------------------- export

# Whoever took the memory may give it back in a thread without the GIL, or when Python is gone.

cdef void delete_managed(Managed *managed) noexcept nogil:
    if Py_IsInitialized():
        let_go(<Storage *>managed.context)
    free(managed)


cdef void delete_versioned(Versioned *managed) noexcept nogil:
    if Py_IsInitialized():
        let_go(<Storage *>managed.context)
    free(managed)


cdef void let_go(Storage *storage) noexcept with gil:
    release_storage(storage)


cdef void drop_managed(object capsule) noexcept:
    # A capsule that nobody has opened.
    if PyCapsule_IsValid(capsule, b"dltensor"):
        managed = <Managed *>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)


cdef void drop_versioned(object capsule) noexcept:
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = <Versioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        managed.deleter(managed)


def to_dlpack(Tensor self not None, *, stream=None, max_version=None, dl_device=None, copy=None):
    """The memory as a capsule of DLPack, for ``from_dlpack`` of any library.

    Parameters
    ----------
    stream : None
        There is none on the CPU.
    max_version : (int, int), optional
        The newest version that the caller reads; from (1, 0) on the capsule says whether it is read-only or a copy.
    dl_device : (int, int), optional
        Where the memory is to be; only the CPU, (1, 0), is there.
    copy : bool, optional
        True always copies, False never does; by default only memory with negative steps is copied, which other libraries
        cannot read.

    Raises
    ------
    BufferError
        If the memory cannot be handed out as asked: read-only memory without a version to say so, steps that are no whole
        number of elements, a tensor without memory, one that requires a gradient, another device.

    Notes
    -----
    Array API: ``__dlpack__``; DLPack 1.1.

    >>> import fastops as fo, numpy as np
    >>> np.from_dlpack(fo.asarray([1, 2]))
    array([1, 2])
    """
    cdef bint versioned = version_asked(max_version) >= 1, copied = copy is not None and bool(copy)
    cdef Tensor source = self
    cdef int axis
    if self.keys != <uint64_t>1 << CPU:
        raise BufferError(f"__dlpack__: a tensor with keys {self.keyset()} on device '{self.device}' has no memory to hand out as it is; "
                          "detach it, or move it to the CPU")
    if stream is not None:
        raise ValueError(f"__dlpack__: there are no streams on the CPU, but stream={stream!r}")
    if dl_device is not None and tuple(dl_device) != (FASTOPS_DL_CPU, 0):
        raise BufferError(f"__dlpack__: the memory is on the CPU, (1, 0), and cannot be handed to device {tuple(dl_device)}")
    for axis in range(self.rank):
        if self.steps[axis] % self.element.itemsize and self.sizes[axis] > 1 and not copied:
            raise BufferError(f"__dlpack__: strides {self.strides} are no whole numbers of elements of {self.element.itemsize} bytes; "
                              "ask for a copy")
        if self.steps[axis] < 0 and self.sizes[axis] > 1:
            if copy is not None and not copy:
                raise BufferError(f"__dlpack__: negative strides {self.strides} need a copy, and copy=False")
            copied = True
    if copied:
        source = contiguous_copy(self, self.element)
    elif not self.writeable and not versioned:
        raise BufferError("__dlpack__: the array is read-only, which a capsule says only from version 1.0 on: ask with max_version=(1, 0), "
                          "or for a copy")
    return versioned_capsule(source, copied) if versioned else plain_capsule(source)


def dlpack_device(Tensor self not None):
    """The kind and number of the device: (1, 0), the CPU.

    >>> import fastops as fo
    >>> [int(number) for number in fo.ones(1).__dlpack_device__()]
    [1, 0]
    """
    if self.backend != CPU:
        raise BufferError(f"__dlpack_device__: device '{self.device}' is none of DLPack's")
    return (FASTOPS_DL_CPU, 0)


cdef int version_asked(max_version) except -1:
    if max_version is None:
        return 0
    try:
        major, _ = max_version
        return int(major)
    except (TypeError, ValueError):
        raise TypeError(f"__dlpack__: max_version is a pair of whole numbers, not {max_version!r}") from None


cdef int describe(Tensor source, Description *description, int64_t *sizes) except -1:
    cdef int axis
    description.data = source.data if source.count else NULL
    description.device.device_type, description.device.device_id = FASTOPS_DL_CPU, 0
    description.ndim = source.rank
    description.dtype.code = CODES[chr(source.element.kind)]
    description.dtype.bits = <unsigned char>(8 * source.element.itemsize)
    description.dtype.lanes = 1
    description.shape = sizes
    description.strides = sizes + source.rank
    description.byte_offset = 0
    for axis in range(source.rank):
        sizes[axis] = source.sizes[axis]
        sizes[source.rank + axis] = source.steps[axis] // source.element.itemsize
    return 0


cdef object plain_capsule(Tensor source):
    managed = <Managed *>malloc(sizeof(Managed) + 2 * source.rank * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    describe(source, &managed.tensor, <int64_t *>(managed + 1))
    managed.context, managed.deleter = source.storage, delete_managed
    source.storage.references += 1
    try:
        return PyCapsule_New(managed, b"dltensor", drop_managed)
    except BaseException:
        delete_managed(managed)
        raise


cdef object versioned_capsule(Tensor source, bint copied):
    managed = <Versioned *>malloc(sizeof(Versioned) + 2 * source.rank * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    describe(source, &managed.tensor, <int64_t *>(managed + 1))
    managed.version.major, managed.version.minor = 1, 1
    managed.flags = (0 if source.writeable else FASTOPS_DL_READ_ONLY) | (FASTOPS_DL_IS_COPIED if copied else 0)
    managed.context, managed.deleter = source.storage, delete_versioned
    source.storage.references += 1
    try:
        return PyCapsule_New(managed, b"dltensor_versioned", drop_versioned)
    except BaseException:
        delete_versioned(managed)
        raise


# ------------------------------------------------------------------------------------------------- import

cdef class Loan:
    """What keeps a foreign library's memory alive: the structure of its capsule, whose deleter is called at the end."""
    cdef Managed *plain
    cdef Versioned *versioned

    def __dealloc__(self):
        if self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of another library's array.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        An array of any library, in memory that the CPU reads.
    device : device or str, optional
        Where the tensor is to be; the CPU.
    copy : bool, optional
        True always copies, False never does.

    Returns
    -------
    Tensor
        It shares x's memory unless that was copied, keeps it alive, and is read-only if x says so.

    Raises
    ------
    TypeError
        If x does not hand out its memory, or what it hands out is no capsule of DLPack's.
    BufferError
        If the memory is on another device, of another version or of a dtype that is not here, or does not make sense.

    Notes
    -----
    Array API: ``from_dlpack``; DLPack 1.1.

    >>> import fastops as fo, numpy as np
    >>> fo.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__; a bare capsule does not say on which device its memory is, "
                        "hand over the array")
    if device is not None and machine.device(device) != "cpu":
        raise BufferError(f"from_dlpack: tensors are made on the CPU here, not on device {str(device)!r}")
    if hasattr(x, "__dlpack_device__"):
        kind, _ = x.__dlpack_device__()
        if int(kind) not in (FASTOPS_DL_CPU, FASTOPS_DL_CUDA_HOST):
            raise BufferError(f"from_dlpack: the memory is on device {tuple(map(int, x.__dlpack_device__()))}, which the CPU cannot read")
    options = {"max_version": (1, 1)}
    if copy is not None:
        options["copy"] = copy
    try:
        capsule = x.__dlpack__(**options)
    except TypeError:
        capsule = x.__dlpack__()                # a library of before version 1
        if copy is False:
            raise BufferError(f"from_dlpack: {type(x).__name__} cannot say whether it copies, and copy=False")
    tensor = tensor_of(capsule)
    return contiguous_copy(tensor, tensor.element) if copy and not is_copied(tensor) else tensor


cdef bint is_copied(Tensor tensor) except -1:
    loan = <object>tensor.storage.owner if tensor.storage.owner != NULL else None
    return isinstance(loan, Loan) and (<Loan>loan).versioned != NULL and (<Loan>loan).versioned.flags & FASTOPS_DL_IS_COPIED != 0


cdef Tensor tensor_of(capsule):
    cdef Loan loan = Loan.__new__(Loan)
    cdef Description *description
    cdef bint read_only = False
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        loan.versioned = <Versioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        if loan.versioned.version.major != 1:
            raise BufferError(f"from_dlpack: a capsule of version {loan.versioned.version.major}.{loan.versioned.version.minor} is newer than "
                              "what is read here, 1.1")
        description = &loan.versioned.tensor
        read_only = loan.versioned.flags & FASTOPS_DL_READ_ONLY != 0
    elif PyCapsule_IsValid(capsule, b"dltensor"):
        loan.plain = <Managed *>PyCapsule_GetPointer(capsule, b"dltensor")
        PyCapsule_SetName(capsule, b"used_dltensor")
        description = &loan.plain.tensor
    elif PyCapsule_IsValid(capsule, b"used_dltensor") or PyCapsule_IsValid(capsule, b"used_dltensor_versioned"):
        raise BufferError("from_dlpack: the capsule was used already; ask the array for another one")
    else:
        raise TypeError(f"from_dlpack: __dlpack__ gave {capsule!r}, which is no capsule of DLPack's")
    return described(description, loan, read_only)


cdef Tensor described(Description *description, Loan loan, bint read_only):
    # Nothing is believed that is not checked.
    cdef Tensor tensor
    cdef ElementType *element
    cdef Py_ssize_t size, step, expected, extent, low = 0, high = 0
    cdef int axis
    cdef char *data
    if description.device.device_type not in (FASTOPS_DL_CPU, FASTOPS_DL_CUDA_HOST):
        raise BufferError(f"from_dlpack: the memory is on a device of kind {description.device.device_type}, which the CPU cannot read")
    if description.ndim < 0 or description.ndim > MAXIMUM_DIMENSIONS:
        raise BufferError(f"from_dlpack: an array has up to {MAXIMUM_DIMENSIONS} dimensions, not {description.ndim}")
    if description.ndim and description.shape == NULL:
        raise BufferError("from_dlpack: the capsule has no shape")
    dtype = DTYPES.get((int(description.dtype.code), int(description.dtype.bits)))
    if dtype is None or description.dtype.lanes != 1:
        raise BufferError(f"from_dlpack: no dtype here has code {description.dtype.code}, {description.dtype.bits} bits and "
                          f"{description.dtype.lanes} lanes")
    element = element_of(dtype)
    tensor = new_header(description.ndim)
    tensor.element, tensor.backend, tensor.device_index = element, CPU, 0
    tensor.keys, tensor.flags = <uint64_t>1 << CPU, 0
    expected, extent = element.itemsize, element.itemsize
    for axis in range(description.ndim):
        tensor.sizes[axis] = 0
    tensor.storage = foreign_storage(NULL, 0, loan, read_only)          # it holds the loan from here on
    for axis in range(description.ndim - 1, -1, -1):
        size = description.shape[axis]
        if size < 0:
            raise BufferError(f"from_dlpack: axis {axis} has {size} elements")
        if overflows(extent, size if size else 1, &extent):
            raise BufferError("from_dlpack: the array has more elements than can be addressed")
        step = expected
        if description.strides != NULL and overflows(description.strides[axis], element.itemsize, &step):
            raise BufferError(f"from_dlpack: axis {axis} has a stride of {description.strides[axis]} elements")
        tensor.sizes[axis], tensor.steps[axis] = size, step
        expected = expected * size if size else expected
        if size > 1:
            if overflows(step, size - 1, &step):
                raise BufferError(f"from_dlpack: axis {axis} reaches further than can be addressed")
            if step < 0:
                low += step
            else:
                high += step
    finish_layout(tensor)
    data = <char *>description.data
    if tensor.count:
        if data == NULL:
            raise BufferError(f"from_dlpack: an array of shape {tensor.shape} has no memory")
        data += description.byte_offset
        if <uint64_t>data % <uint64_t>alignment(element):
            raise BufferError(f"from_dlpack: the memory at {hex(<uint64_t>data)} is not aligned for {dtype}; ask for a copy")
    else:
        data = NULL
    tensor.storage.data, tensor.storage.nbytes = data, high + element.itemsize if tensor.count else 0
    tensor.data = data
    track(tensor)
    return tensor


cdef Py_ssize_t alignment(ElementType *element) noexcept:
    return element.itemsize // 2 if element.kind == c"c" else element.itemsize


machine.install_method("__dlpack__", to_dlpack)
machine.install_method("__dlpack_device__", dlpack_device)
