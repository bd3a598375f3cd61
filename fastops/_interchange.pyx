"""Memory handed to other libraries and taken from them: DLPack, NumPy's protocols, facts about a tensor's memory.

An export holds the storage, not the tensor: the tensor may go while a consumer still reads. An import is a storage
whose release calls the producer's deleter. Nothing a capsule says is believed before it is checked.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

from fastops._dispatch cimport (CONTIGUOUS, CPU, CUDA, META, READ_ONLY, ElementType, Storage, Tensor, element_of,
                                finish_layout, new_header, new_storage, new_strided, overflows, release_storage,
                                shape_tuple)
from fastops._loops cimport copy_into, to_ndarray

import numpy as np

from fastops import _dispatch as machine
from fastops import errors

cdef extern from "_dlpack.h":
    ctypedef struct Described "fastops_dl_tensor":
        void *data
        int32_t device_type, device_index, rank
        uint8_t code, bits
        uint16_t lanes
        int64_t *sizes
        int64_t *steps
        uint64_t offset
    ctypedef struct Plain "fastops_dl_plain":
        Described tensor
        void *context
        void (*deleter)(Plain *) noexcept nogil
    ctypedef struct Versioned "fastops_dl_versioned":
        uint32_t major, minor
        void *context
        void (*deleter)(Versioned *) noexcept nogil
        uint64_t flags
        Described tensor
    const int FASTOPS_DL_READ_ONLY, FASTOPS_DL_COPIED, FASTOPS_DL_CPU, FASTOPS_DL_CUDA, FASTOPS_DL_CUDA_HOST
    const int FASTOPS_DL_ROCM_HOST, FASTOPS_DL_MANAGED
    void fastops_delete_plain(Plain *) noexcept
    void fastops_delete_versioned(Versioned *) noexcept
    void fastops_capsule_end(PyObject *capsule) noexcept
    bint fastops_python_runs() noexcept nogil

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX
    ctypedef void (*CapsuleEnd "PyCapsule_Destructor")(PyObject *) noexcept
    object PyCapsule_New(void *pointer, const char *name, CapsuleEnd end)
    bint PyCapsule_IsValid(object capsule, const char *name) noexcept
    bint PyCapsule_CheckExact(object value) noexcept
    void *PyCapsule_GetPointer(object capsule, const char *name) except NULL
    const char *PyCapsule_GetName(object capsule) except? NULL
    int PyCapsule_SetName(object capsule, const char *name) except -1

cdef enum:
    MOST_DIMENSIONS = 64
    SET_HERE = 1 << 8           # of a tensor: it was made read-only itself, by setflags, not by what it is a view of

# Without a lanes field: (DLPack's code of a kind, bits of an element) -> dtype.
_dtypes = {(0, 8): "i1", (0, 16): "i2", (0, 32): "i4", (0, 64): "i8", (1, 8): "u1", (1, 16): "u2", (1, 32): "u4",
           (1, 64): "u8", (2, 16): "f2", (2, 32): "f4", (2, 64): "f8", (5, 64): "c8", (5, 128): "c16", (6, 8): "?"}
_dtypes = {key: np.dtype(spelling) for key, spelling in _dtypes.items()}
_codes = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


# ------------------------------------------------------------------------------------------- who may read

cdef int require_memory(Tensor tensor, str name) except -1:
    # Only plain tensors on the CPU hand their memory out: what others hold stands for something else.
    if getattr(tensor, "requires_grad", False):
        raise errors.InterchangeError(f"{name}: a tensor that requires a gradient is not handed to other libraries, which "
                                      "would not record what they do: use detach() first")
    if tensor.backend != CPU:
        raise errors.InterchangeError(f"{name}: a tensor on device '{tensor.device}' has no memory that others can read")
    if tensor.keys != <uint64_t>1 << CPU:
        raise errors.InterchangeError(f"{name}: a tensor with keys {tensor.keyset()} has no memory of its own to hand out")
    return 0


cdef bint is_read_only(Tensor tensor) noexcept:
    return (tensor.flags | tensor.storage.flags) & READ_ONLY != 0


# ------------------------------------------------------------------------------------------- DLPack: out

cdef void let_go(void *storage, void *block) noexcept with gil:
    release_storage(<Storage *>storage)
    free(block)


cdef void delete_plain_export(Plain *managed) noexcept nogil:
    # In whatever thread the consumer ends, with the GIL or without.
    if fastops_python_runs():
        let_go(managed.context, managed)


cdef void delete_versioned_export(Versioned *managed) noexcept nogil:
    if fastops_python_runs():
        let_go(managed.context, managed)


cdef bint has_negative_step(Tensor tensor) noexcept:
    cdef int axis
    for axis in range(tensor.rank):
        if tensor.steps[axis] < 0 and tensor.sizes[axis] > 1:
            return tensor.count > 0
    return False


cdef Tensor copied(Tensor tensor):
    # A copy in the tensor's own memory order.
    cdef Tensor result = new_strided(tensor.rank, tensor.sizes, tensor.steps, tensor.element, CPU, 0)
    copy_into(result, tensor)
    return result


cdef int describe(Tensor tensor, Described *target, int64_t *layout) except -1:
    # What the capsule says of the tensor. A step along an axis of length 1 means nothing, so it becomes the one that
    # consumers expect of packed memory, as do all steps where there are no elements.
    cdef Py_ssize_t itemsize = tensor.element.itemsize, packed = 1
    cdef int axis = tensor.rank - 1
    while axis >= 0:
        layout[axis] = tensor.sizes[axis]
        if tensor.sizes[axis] == 1 or tensor.count == 0:
            layout[tensor.rank + axis] = packed
        elif tensor.steps[axis] % itemsize:
            raise errors.InterchangeError(
                f"__dlpack__: the step of {tensor.steps[axis]} bytes along axis {axis} is no multiple of the {itemsize} bytes of "
                f"one {tensor.dtype} element, and DLPack counts in elements: export a copy (copy=True)")
        else:
            layout[tensor.rank + axis] = tensor.steps[axis] // itemsize
        if tensor.sizes[axis] > 1:
            packed *= tensor.sizes[axis]
        axis -= 1
    kind = chr(tensor.element.kind)
    if kind not in _codes:
        raise errors.InterchangeError(f"__dlpack__: DLPack has no code for dtype {tensor.dtype}")
    target.data = tensor.data
    target.device_type = FASTOPS_DL_CPU
    target.device_index = 0
    target.rank = tensor.rank
    target.code = _codes[kind]
    target.bits = <uint8_t>(8 * itemsize)
    target.lanes = 1
    target.sizes = layout
    target.steps = layout + tensor.rank
    target.offset = 0
    return 0


cdef object plain_capsule(Tensor tensor):
    cdef Plain *managed = <Plain *>malloc(sizeof(Plain) + (2 * tensor.rank + 1) * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    try:
        describe(tensor, &managed.tensor, <int64_t *>(managed + 1))
        managed.context = tensor.storage
        managed.deleter = delete_plain_export
        capsule = PyCapsule_New(managed, "dltensor", fastops_capsule_end)
    except:
        free(managed)
        raise
    tensor.storage.references += 1
    return capsule


cdef object versioned_capsule(Tensor tensor, uint64_t flags):
    cdef Versioned *managed = <Versioned *>malloc(sizeof(Versioned) + (2 * tensor.rank + 1) * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    try:
        describe(tensor, &managed.tensor, <int64_t *>(managed + 1))
        managed.major = 1
        managed.minor = 0
        managed.context = tensor.storage
        managed.deleter = delete_versioned_export
        managed.flags = flags
        capsule = PyCapsule_New(managed, "dltensor_versioned", fastops_capsule_end)
    except:
        free(managed)
        raise
    tensor.storage.references += 1
    return capsule


cdef tuple pair_of_integers(object value, str name):
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"__dlpack__: {name} is a tuple of two whole numbers or None, not {value!r}")
    try:
        return (int(value[0]), int(value[1]))
    except (TypeError, ValueError):
        raise TypeError(f"__dlpack__: {name} is a tuple of two whole numbers or None, not {value!r}") from None


def __dlpack__(Tensor self not None, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule over the memory, for ``from_dlpack`` of another library.

    *max_version* is the newest version of the protocol that the consumer reads: from (1, 0) on the capsule says
    whether the memory may be written. *copy* True always copies, False never; None copies only where a step is
    negative, which other libraries do not take. *dl_device* is (1, 0), the CPU, or None; *stream* is None.

    BufferError for memory that cannot be handed over so: another device, a gradient to record, read-only memory
    without a versioned capsule, a step that is no multiple of the element's size.
    """
    cdef uint64_t flags = 0
    cdef Tensor tensor = self
    cdef bint versioned = max_version is not None and pair_of_integers(max_version, "max_version")[0] >= 1
    require_memory(self, "__dlpack__")
    if stream is not None:
        raise RuntimeError(f"__dlpack__: memory of the CPU has no stream: stream is None, not {stream!r}")
    if dl_device is not None and pair_of_integers(dl_device, "dl_device") != (FASTOPS_DL_CPU, 0):
        raise errors.InterchangeError(f"__dlpack__: this memory is on the CPU, device (1, 0), and is not moved to {dl_device!r}")
    if copy or (copy is None and has_negative_step(self)):
        tensor = copied(self)
        flags |= FASTOPS_DL_COPIED
    elif has_negative_step(self):
        raise errors.InterchangeError(f"__dlpack__: strides {self.strides} are partly negative, which DLPack's consumers do not "
                                      "take, and copy=False: allow the copy")
    if is_read_only(tensor):
        if not versioned:
            raise errors.InterchangeError("__dlpack__: read-only memory is handed over only in a versioned capsule, which can "
                                          "say so: ask with max_version=(1, 0), or for a copy (copy=True)")
        flags |= FASTOPS_DL_READ_ONLY
    return versioned_capsule(tensor, flags) if versioned else plain_capsule(tensor)


def __dlpack_device__(Tensor self not None):
    """DLPack's name of the device: (1, 0) for the CPU; BufferError where there is none."""
    if self.backend == CPU:
        return (FASTOPS_DL_CPU, 0)
    if self.backend == CUDA:
        return (FASTOPS_DL_CUDA, self.device_index)
    raise errors.InterchangeError(f"__dlpack_device__: DLPack has no name for device '{self.device}'")


# -------------------------------------------------------------------------------------------- DLPack: in

cdef void release_plain(Storage *storage) noexcept:
    fastops_delete_plain(<Plain *>storage.context)


cdef void release_versioned(Storage *storage) noexcept:
    fastops_delete_versioned(<Versioned *>storage.context)


cdef object refusal(str text):
    return errors.InterchangeError("from_dlpack: " + text)


cdef int read_layout(Described *given, Py_ssize_t itemsize, Py_ssize_t *sizes, Py_ssize_t *steps,
                     Py_ssize_t *count) except -1:
    # Sizes and steps in bytes, checked: what they reach must be addressable. Where a step means nothing, along an axis
    # of length 1 or in an empty array, whatever stands there is replaced.
    cdef Py_ssize_t packed = itemsize, low = 0, high = 0, reach
    cdef int axis, rank = given.rank
    cdef bint overflow = False
    count[0] = 1
    for axis in range(rank):
        if given.sizes[axis] < 0:
            raise refusal(f"the capsule has a negative size: {[given.sizes[other] for other in range(rank)]}")
        sizes[axis] = <Py_ssize_t>given.sizes[axis]
        if sizes[axis] > 1:
            overflow |= sizes[axis] != given.sizes[axis] or overflows(packed, sizes[axis], &packed)
        count[0] *= sizes[axis]
    if overflow:
        raise refusal(f"the capsule's shape {shape_tuple(rank, sizes)} of {itemsize}-byte elements exceeds what can be addressed")
    packed = itemsize
    for axis in range(rank - 1, -1, -1):
        if given.steps == NULL or sizes[axis] == 1 or count[0] == 0:
            steps[axis] = packed
        else:
            steps[axis] = <Py_ssize_t>given.steps[axis]
            overflow |= steps[axis] != given.steps[axis] or steps[axis] < -PY_SSIZE_T_MAX
            if overflow or overflows(abs(steps[axis]), itemsize, &reach) or overflows(reach, sizes[axis] - 1, &reach):
                overflow = True
                break
            steps[axis] *= itemsize
            if steps[axis] < 0:
                overflow |= low < reach - PY_SSIZE_T_MAX
                low -= 0 if overflow else reach
            else:
                overflow |= high > PY_SSIZE_T_MAX - itemsize - reach
                high += 0 if overflow else reach
            if overflow:
                break
        if sizes[axis] > 1:
            packed *= sizes[axis]
    if given.steps == NULL and count[0] > 0:
        high = packed - itemsize
    cdef uintptr_t first = <uintptr_t>given.data + <uintptr_t>given.offset
    if not overflow and count[0] > 0:
        overflow = first < <uintptr_t>(-low) or first + <uintptr_t>high + <uintptr_t>itemsize < first
    if overflow:
        raise refusal(f"the capsule's strides reach beyond what can be addressed, for shape {shape_tuple(rank, sizes)}")
    return 0

cdef Tensor tensor_over(Storage *storage, Described *given, bint read_only):
    # A tensor over what the capsule describes; it takes over the reference to the storage, unless this raises.
    cdef Py_ssize_t sizes[MOST_DIMENSIONS]
    cdef Py_ssize_t steps[MOST_DIMENSIONS]
    cdef Py_ssize_t count = 0, unit
    cdef ElementType *element
    cdef Tensor tensor
    cdef int axis
    if given.device_type not in (FASTOPS_DL_CPU, FASTOPS_DL_CUDA_HOST, FASTOPS_DL_ROCM_HOST, FASTOPS_DL_MANAGED):
        raise refusal(f"the memory is on a device of DLPack's type {given.device_type}, not on the CPU: move it there first, "
                      "or ask for a copy with device='cpu'")
    if not 0 <= given.rank <= MOST_DIMENSIONS:
        raise refusal(f"the capsule has {given.rank} dimensions; an array has 0 to {MOST_DIMENSIONS}")
    if given.rank > 0 and given.sizes == NULL:
        raise refusal("the capsule has no shape")
    dtype = _dtypes.get((given.code, given.bits)) if given.lanes == 1 else None
    if dtype is None:
        raise refusal(f"DLPack's dtype of code {given.code}, {given.bits} bits and {given.lanes} lanes is none that a tensor has")
    element = element_of(dtype)
    if given.offset > <uint64_t>PY_SSIZE_T_MAX:
        raise refusal(f"the capsule's offset of {given.offset} bytes exceeds what can be addressed")
    read_layout(given, element.itemsize, sizes, steps, &count)
    if count > 0 and given.data == NULL:
        raise refusal(f"the capsule has no memory for its {count} elements")
    unit = element.itemsize // 2 if element.kind == c"c" else element.itemsize
    if count > 0 and (<uintptr_t>given.data + <uintptr_t>given.offset) % <uintptr_t>unit:
        raise refusal(f"the memory is not aligned for {dtype}: copy it on the producer's side")
    tensor = new_header(given.rank)
    for axis in range(given.rank):
        tensor.sizes[axis] = sizes[axis]
        tensor.steps[axis] = steps[axis]
    if count > 0:           # else the storage's own block: some address that is valid
        storage.data = <char *>given.data + given.offset
        storage.nbytes = count * element.itemsize
    storage.flags = READ_ONLY if read_only else 0
    tensor.storage = storage
    tensor.data = storage.data
    tensor.element = element
    tensor.backend = CPU
    tensor.device_index = 0
    tensor.keys = <uint64_t>1 << CPU
    tensor.flags = 0
    finish_layout(tensor)
    return tensor


def import_capsule(capsule):
    """A tensor over the memory of a DLPack capsule, which is then used up, and whether its producer copied.

    The producer's deleter is called once: when the memory is no longer needed, or at once where it is refused.
    TypeError for what is no capsule, BufferError (a ValueError too) for one that is used or cannot be read.
    """
    cdef Versioned *versioned
    cdef Storage *storage
    cdef uint64_t flags = 0
    cdef Tensor tensor
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"from_dlpack: __dlpack__ returned {type(capsule).__name__}, not a capsule")
    if not (PyCapsule_IsValid(capsule, "dltensor_versioned") or PyCapsule_IsValid(capsule, "dltensor")):
        name = <bytes>PyCapsule_GetName(capsule) if PyCapsule_GetName(capsule) != NULL else b""
        if name.startswith(b"used_dltensor"):
            raise refusal("the capsule is used up: each is good for one import, so ask the producer for another")
        raise refusal(f"a capsule is called 'dltensor' or 'dltensor_versioned', not {name.decode('ascii', 'replace')!r}")
    storage = new_storage(0)
    try:
        if PyCapsule_IsValid(capsule, "dltensor"):
            storage.context = PyCapsule_GetPointer(capsule, "dltensor")
            PyCapsule_SetName(capsule, "used_dltensor")
            storage.release = release_plain
            tensor = tensor_over(storage, &(<Plain *>storage.context).tensor, False)
        else:
            versioned = <Versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
            storage.context = versioned
            PyCapsule_SetName(capsule, "used_dltensor_versioned")
            storage.release = release_versioned
            if versioned.major != 1:
                raise refusal(f"the capsule is of DLPack's version {versioned.major}.{versioned.minor}; version 1 is understood")
            flags = versioned.flags
            tensor = tensor_over(storage, &versioned.tensor, flags & FASTOPS_DL_READ_ONLY != 0)
    except:
        release_storage(storage)
        raise
    return tensor, flags & FASTOPS_DL_COPIED != 0


# ------------------------------------------------------------------------------------ NumPy's protocols

def __array__(Tensor self not None, dtype=None, copy=None):
    """A NumPy array over the same memory; a copy if *copy* is True or *dtype* is another one.

    ValueError if a copy is needed and copy is False.
    """
    require_memory(self, "__array__")
    array = to_ndarray(self)
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype != array.dtype:
            if copy is not None and not copy:
                raise ValueError(f"__array__: a copy is needed to make {dtype} of {array.dtype}, and copy=False")
            return array.astype(dtype)
    return array.copy("K") if copy else array


def array_interface(Tensor self not None):
    """NumPy's description of the memory, version 3; the dict keeps the memory alive. None beside the CPU."""
    try:
        require_memory(self, "__array_interface__")
    except BufferError as error:
        raise AttributeError(str(error)) from None      # so that hasattr says no
    dtype = self.dtype
    return {"version": 3, "shape": self.shape, "typestr": dtype.str, "descr": [("", dtype.str)],
            "data": (<uintptr_t>self.data, is_read_only(self)),
            "strides": None if self.flags & CONTIGUOUS else self.strides, "__ref": self}


# ------------------------------------------------------------------------------------ facts about memory

def memory_owner(Tensor tensor not None):
    """The Python object whose memory this is; None where fastops or a DLPack producer allocated it."""
    return None if tensor.storage.owner == NULL else <object>tensor.storage.owner


def fills_memory(Tensor tensor not None):
    """Whether fastops allocated the memory, and the tensor reaches over all of it."""
    cdef bint own = tensor.backend != META and tensor.storage.owner == NULL and tensor.storage.release == NULL
    return own and tensor.count * tensor.element.itemsize >= tensor.storage.nbytes


def is_column_major(Tensor tensor not None):
    """Whether the elements lie in memory in column-major order without gaps."""
    cdef Py_ssize_t expected = tensor.element.itemsize
    cdef int axis
    for axis in range(tensor.rank):
        if tensor.sizes[axis] != 1 and tensor.steps[axis] != expected:
            return tensor.count == 0
        expected *= tensor.sizes[axis]
    return True


def set_writable(Tensor tensor not None, bint writable):
    """Make *tensor* read-only, or writable again where it was made read-only itself; views made meanwhile stay so.

    ValueError for memory that is read-only, or for a view of a tensor that is.
    """
    if not writable:
        if not is_read_only(tensor):
            tensor.flags |= READ_ONLY | SET_HERE
    elif is_read_only(tensor):
        if tensor.storage.flags & READ_ONLY or not tensor.flags & SET_HERE:
            raise ValueError("setflags: this memory is read-only, or the array is a view of a read-only one: write into a copy")
        tensor.flags &= ~<uint32_t>(READ_ONLY | SET_HERE)


machine.install_method("__dlpack__", __dlpack__)
machine.install_method("__dlpack_device__", __dlpack_device__)
machine.install_method("__array__", __array__)
machine.install_method("__array_interface__", property(array_interface))
