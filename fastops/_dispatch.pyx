"""The machine: dispatch keys, thread state, tensors, kernels, operators and the walk of a call.

It knows no operator and no mathematics. A call goes

    bind the arguments to the parameters  ->  keys = (tensors' | forced | included) & ~excluded & mask
    ->  the highest key's kernel  ->  (that kernel may redispatch with the bits below its own)  ->  ...

Reference counts are Cython's except where memory is raw: Storage blocks and the tensor freelist.
"""

cimport cython
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset


from fastops._convert cimport Parameter

import enum

from fastops import _convert as _convert_module
from fastops import errors

cdef extern from *:
    """
    #include <stdlib.h>

    #if defined(_MSC_VER)
    static __declspec(thread) fastops_thread_state fastops_thread;
    #elif defined(__linux__)
    /* initial-exec: the state is small, and a plain load instead of a call per access */
    static __thread __attribute__((tls_model("initial-exec"))) fastops_thread_state fastops_thread;
    #else
    static _Thread_local fastops_thread_state fastops_thread;
    #endif

    /* Blocks on cache lines. From malloc, with its address kept in front: a block that posix_memalign gave is not used
       again by glibc for one of the same size, and programs that free every other large array would hold twice their
       memory. A sanitizer is to see the block's true ends. */
    #ifdef FASTOPS_SANITIZE
    static void *fastops_aligned(size_t size) {
        void *block = NULL;
        return posix_memalign(&block, 64, size) ? NULL : block;
    }
    #define fastops_aligned_free free
    #else
    static void *fastops_aligned(size_t size) {
        char *raw = size > PTRDIFF_MAX - 128 ? NULL : malloc(size + 64 + sizeof(void *));
        char *block = (char *)(((uintptr_t)raw + sizeof(void *) + 63) & ~(uintptr_t)63);
        if (raw == NULL)
            return NULL;
        ((void **)block)[-1] = raw;
        return block;
    }
    #define fastops_aligned_free(block) free(((void **)(block))[-1])
    #endif
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int fastops_highest(uint64_t bits) { unsigned long i; _BitScanReverse64(&i, bits); return (int)i; }
    static __inline int fastops_lowest(uint64_t bits) { unsigned long i; _BitScanForward64(&i, bits); return (int)i; }
    #else
    #define fastops_highest(bits) (63 - __builtin_clzll(bits))
    #define fastops_lowest(bits) __builtin_ctzll(bits)
    #endif

    /* How many freed blocks and headers are kept for reuse. None under a sanitizer: it is to see every free. */
    #ifdef FASTOPS_SANITIZE
    enum { FASTOPS_KEPT_BLOCKS = 0, FASTOPS_KEPT_HEADERS = 0 };
    #else
    enum { FASTOPS_KEPT_BLOCKS = 64, FASTOPS_KEPT_HEADERS = 128 };
    #endif

    /* A value that is never a tensor, nor holds one, nor needs conversion. */
    static inline int fastops_plain(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyFloat_Type || type == &PyLong_Type || value == Py_None || type == &PyBool_Type
            || type == &PySlice_Type || type == &PyComplex_Type || value == Py_Ellipsis || type == &PyUnicode_Type;
    }

    /* The same, of a tuple too: what indices, shapes and axes are made of. */
    static inline int fastops_plain_tuple(PyObject *value) {
        Py_ssize_t i;
        if (!PyTuple_CheckExact(value))
            return 0;
        for (i = 0; i < PyTuple_GET_SIZE(value); i++)
            if (!fastops_plain(PyTuple_GET_ITEM(value, i)))
                return 0;
        return 1;
    }
    """
    ThreadState thread "fastops_thread"
    void *fastops_aligned(size_t size) nogil
    void fastops_aligned_free(void *block) nogil
    int fastops_highest(uint64_t bits) nogil
    int fastops_lowest(uint64_t bits) nogil
    int FASTOPS_KEPT_BLOCKS, FASTOPS_KEPT_HEADERS
    bint fastops_plain(PyObject *value)
    bint fastops_plain_tuple(PyObject *value)

cdef extern from "Python.h":
    ctypedef PyObject *(*descrgetfunc)(PyObject *, PyObject *, PyObject *) noexcept
    ctypedef void (*destructor)(PyObject *) noexcept
    ctypedef int (*visitproc)(PyObject *, void *) noexcept
    ctypedef int (*traverseproc)(PyObject *, visitproc, void *) noexcept
    ctypedef struct TypeStruct "PyTypeObject":
        destructor tp_dealloc
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
        descrgetfunc tp_descr_get
        PyObject *(*tp_call)(PyObject *, PyObject *, PyObject *)
        PyObject *tp_dict
        Py_ssize_t tp_weaklistoffset
        traverseproc tp_traverse
    const unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    const unsigned long Py_TPFLAGS_METHOD_DESCRIPTOR
    const size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyTypeObject *Py_TYPE(PyObject *)
    PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *)
    object PyObject_Vectorcall(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *keywords)
    object PyMethod_New(PyObject *function, PyObject *instance)
    void PyType_Modified(PyTypeObject *)
    bint PyObject_GC_IsTracked(PyObject *)
    bint PyObject_IS_GC(PyObject *)
    void PyObject_GC_UnTrack(PyObject *)
    void PyObject_GC_Track(PyObject *)
    void PyObject_ClearWeakRefs(PyObject *)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    int PyDict_SetItem(PyObject *, object, object) except -1
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject *)
    bint PyTuple_Check(PyObject *)
    bint PyList_Check(PyObject *)
    bint PyUnicode_Check(PyObject *)
    bint PyLong_CheckExact(PyObject *)
    int PyUnicode_Compare(PyObject *, PyObject *) except? -1
    Py_ssize_t Py_REFCNT(PyObject *)
    const int PyBUF_WRITABLE, PyBUF_ND, PyBUF_STRIDES, PyBUF_FORMAT, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS
    const int PyBUF_ANY_CONTIGUOUS
    void Py_DECREF "Py_DECREF"(PyObject *)


# ---------------------------------------------------------------------------------------------- keys

RUNTIME_KEYS = ("Undefined", "CPU", "CUDA", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta", "BackendSelect",
                "Python", "Batched", "Autograd", "Autocast", "TransformFront")
BACKENDS = RUNTIME_KEYS[CPU:BACKEND_COUNT]
_members = {name: position for position, name in enumerate(RUNTIME_KEYS)}
_members.update({"Autograd" + name: AUTOGRAD_ON + _members[name] for name in BACKENDS})
_members.update({"Autocast" + name: AUTOCAST_ON + _members[name] for name in BACKENDS})
_members["CompositeExplicitAutograd"] = COMPOSITE_EXPLICIT
_members["CompositeImplicitAutograd"] = COMPOSITE_IMPLICIT
_members["FuncTorchBatched"] = BATCHED        # the name that ported programs use

DispatchKey = enum.IntEnum("DispatchKey", _members, module="fastops")
DispatchKey.__doc__ = """A dispatch key: what a call's bit set is made of, in order of priority.

``CPU CUDA PrivateUse1..3 Meta`` are backends; ``BackendSelect Python Batched Autograd Autocast
TransformFront`` are what happens above them. ``AutogradCPU``, ``AutocastCUDA`` and so on name a functionality
on one backend, ``CompositeExplicitAutograd`` and ``CompositeImplicitAutograd`` stand for many keys at once:
these serve for registration and never occur in a call.

>>> import fastops as fo
>>> fo.DispatchKey.Autograd > fo.DispatchKey.CPU
True
"""


def parse_key(key):
    """The DispatchKey of a member or its name.

    >>> parse_key("AutogradCPU")
    <DispatchKey.AutogradCPU: 33>
    """
    if isinstance(key, DispatchKey):
        return key
    if not isinstance(key, str):
        raise errors.ArgumentError(f"a dispatch key is a DispatchKey or its name, not {key!r}")
    try:
        return DispatchKey[key]
    except KeyError:
        raise errors.SchemaError(f"unknown dispatch key {key!r}; the keys are {', '.join(DispatchKey.__members__)}"
                                 ) from None


cdef uint64_t runtime_bit(key) except? 0:
    # Aliases expand to no bit: they never occur in a call.
    cdef int position = parse_key(key)
    if position >= COMPOSITE_EXPLICIT or position == UNDEFINED:
        return 0
    if position >= AUTOCAST_ON:
        return <uint64_t>1 << AUTOCAST | <uint64_t>1 << (position - AUTOCAST_ON)
    if position >= AUTOGRAD_ON:
        return <uint64_t>1 << AUTOGRAD | <uint64_t>1 << (position - AUTOGRAD_ON)
    return <uint64_t>1 << position


cdef DispatchKeySet key_set(uint64_t bits):
    cdef DispatchKeySet result = DispatchKeySet.__new__(DispatchKeySet)
    result.bits = bits
    return result


@cython.final
cdef class DispatchKeySet:
    """An immutable set of runtime dispatch keys.

    ``DispatchKeySet(key)`` takes a DispatchKey or its name. Sets are iterable (highest priority first), sized,
    hashable and equal by value; ``| & -`` work between sets, ``add`` and ``remove`` return new sets.

    >>> import fastops as fo
    >>> keys = fo.DispatchKeySet("CPU").add("Autograd")
    >>> [key.name for key in keys], keys.highestPriorityTypeId().name
    (['Autograd', 'CPU'], 'Autograd')
    """
    cdef uint64_t bits

    def __init__(self, key, *more):
        self.bits = runtime_bit(key)
        for key in more:
            self.bits |= runtime_bit(key)

    @staticmethod
    def from_bits(bits):
        """The set whose runtime keys are the set bits of the integer *bits*."""
        return key_set(<uint64_t>bits & ((<uint64_t>1 << KEY_COUNT) - 2))

    def has(self, key):
        """Whether the set holds *key*."""
        cdef uint64_t bit = runtime_bit(key)
        return bit != 0 and self.bits & bit == bit

    def __contains__(self, key):
        return self.has(key)

    def add(self, key):
        """A new set that also holds *key*."""
        return key_set(self.bits | runtime_bit(key))

    def remove(self, key):
        """A new set without *key*."""
        return key_set(self.bits & ~runtime_bit(key))

    def __or__(self, other):
        if not (isinstance(self, DispatchKeySet) and isinstance(other, DispatchKeySet)):
            return NotImplemented
        return key_set((<DispatchKeySet>self).bits | (<DispatchKeySet>other).bits)

    def __and__(self, other):
        if not (isinstance(self, DispatchKeySet) and isinstance(other, DispatchKeySet)):
            return NotImplemented
        return key_set((<DispatchKeySet>self).bits & (<DispatchKeySet>other).bits)

    def __sub__(self, other):
        if not (isinstance(self, DispatchKeySet) and isinstance(other, DispatchKeySet)):
            return NotImplemented
        return key_set((<DispatchKeySet>self).bits & ~(<DispatchKeySet>other).bits)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self.bits == (<DispatchKeySet>other).bits

    def __hash__(self):
        return hash((DispatchKeySet, self.bits))

    def __len__(self):
        return bin(self.bits).count("1")

    def __iter__(self):
        return iter([DispatchKey(position) for position in reversed(range(1, KEY_COUNT)) if self.bits >> position & 1])

    def highestPriorityTypeId(self):
        """The key that would run first; Undefined for the empty set."""
        return DispatchKey(fastops_highest(self.bits | 1))

    def __reduce__(self):
        return DispatchKeySet.from_bits, (self.bits,)

    def __repr__(self):
        return f"DispatchKeySet({', '.join([key.name for key in self])})"


# -------------------------------------------------------------------------------------- thread state

cdef ThreadState *thread_state() noexcept nogil:
    return &thread


def local_state():
    """The included and the excluded keys of this thread, and how many transforms are on its stack."""
    return (key_set(thread.included), key_set(thread.excluded),
            0 if thread.interpreters == NULL else len(<list>thread.interpreters))


@cython.final
cdef class KeyGuard:
    """A context manager that includes or excludes keys for this thread, then restores what was.

    It may be entered again while it is active: each entry remembers its own earlier state.
    """
    cdef uint64_t bits
    cdef bint excluding
    cdef list saved

    def __init__(self, DispatchKeySet keys not None, bint excluding):
        self.bits = keys.bits
        self.excluding = excluding
        self.saved = []

    def __enter__(self):
        self.saved.append((thread.included, thread.excluded))
        if self.excluding:
            thread.excluded |= self.bits
        else:
            thread.included |= self.bits
        return self

    def __exit__(self, *exception):
        included, excluded = self.saved.pop()
        if self.excluding:
            thread.excluded = excluded
        else:
            thread.included = included


def push_interpreter(interpreter):
    """Put a transform on this thread's stack: from now on every call reaches it first.

    *interpreter* has a method ``process(operator, args, kwargs)``, called with itself off the stack, so that
    a rule is written in ordinary operators.
    """
    if thread.interpreters == NULL:
        stack = []
        Py_INCREF(stack)
        thread.interpreters = <PyObject *>stack
    (<list>thread.interpreters).append(interpreter)
    thread.included |= <uint64_t>1 << TRANSFORM_FRONT


def pop_interpreter():
    """Take the innermost transform off this thread's stack and return it; IndexError if there is none."""
    if thread.interpreters == NULL:
        raise IndexError("pop_interpreter: no transform is active in this thread")
    stack = <list>thread.interpreters
    interpreter = stack.pop()
    if not stack:
        # An empty stack is given back at once, so that a thread which ends leaves nothing behind.
        Py_DECREF(thread.interpreters)
        thread.interpreters = NULL
        thread.included &= ~(<uint64_t>1 << TRANSFORM_FRONT)
    return interpreter


cdef class Level:
    """One call of a transform of functions (``grad``, ``jvp``, ``vmap``): its depth in this thread and whether it still runs."""

    def __cinit__(self):
        thread.levels += 1
        self.depth = thread.levels
        self.alive = True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """The transformed function has returned: tensors of this level that are still held cannot be computed with."""
        if self.alive:
            self.alive = False
            thread.levels -= 1


cdef str label_of(Level level):
    name, function = level.label if isinstance(level.label, tuple) else (level.label, None)
    return f"{name}" if function is None else f"{name} of {getattr(function, '__name__', repr(function))}()"


@cython.no_gc
cdef class Tracer:
    """What stands behind a tensor inside a transform."""


cdef Level level_of(PyObject *value):
    # The level of the tensors in an argument: of several the highest, None where there is none.
    cdef Level found = None, other
    cdef Py_ssize_t position
    if is_tensor(value):
        if (<Tensor>value).keys >> TRANSFORM_FRONT & 1:
            return (<Tracer>(<Tensor>value).autograd).level
    elif PyList_Check(value):
        for position in range(PyList_GET_SIZE(value)):
            other = level_of(PyList_GET_ITEM(value, position))
            if other is not None and (found is None or other.depth > found.depth):
                found = other
    elif PyTuple_Check(value):
        for position in range(PyTuple_GET_SIZE(value)):
            other = level_of(PyTuple_GET_ITEM(value, position))
            if other is not None and (found is None or other.depth > found.depth):
                found = other
    return found


cdef object run_transform(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # The transform of the highest level among the arguments handles the call; lower ones are what it computes with.
    # A transform on the thread's stack handles every call, while it is itself off the stack: whatever happens, it
    # goes back.
    cdef Level top = None, other
    cdef uint64_t mask = op.tensor_mask
    cdef int position
    if thread.interpreters == NULL:
        if op.composition is not None and op.batching is None:          # transforms see what it is made of
            return op.composition.run(op.composition, op, arguments, keys)
        while mask:
            position = fastops_lowest(mask)
            mask &= mask - 1
            if arguments[position] != NULL:
                other = level_of(arguments[position])
                if other is not None and (top is None or other.depth > top.depth):
                    top = other
        if top is None:
            return run_keys(op, arguments, keys & ~(<uint64_t>1 << TRANSFORM_FRONT))
        if not top.alive:
            raise errors.EscapeError(f"{op}: an argument was computed inside {label_of(top)}, which has returned: return "
                                     "values from the transformed function instead of storing them, or store x.detach()")
        if op.composition is not None and top.differentiates:
            return op.composition.run(op.composition, op, arguments, keys)
        if op.differentiator is not None and top.differentiates:
            return op.differentiator.run(op.differentiator, op, arguments, (keys | 1 << AUTOGRAD) & ~(<uint64_t>1 << TRANSFORM_FRONT))
        return top.process(top, op, arguments)
    positional, keywords = python_arguments(op, arguments)
    interpreter = pop_interpreter()
    try:
        return interpreter.process(op, positional, keywords)
    finally:
        push_interpreter(interpreter)


# ------------------------------------------------------------------------------------- element types

cdef ElementType element_types[64]
cdef int element_count = 0
_elements_by_dtype = {}
cdef dict _codes_by_spelling = {}


def register_element_type(dtype, int number, Py_ssize_t itemsize, str kind, bytes format):
    """Make *dtype* (an immutable NumPy dtype object) usable as a tensor's element type; returns its code."""
    global element_count
    if element_count == 64:
        raise OverflowError("register_element_type: at most 64 element types")
    cdef ElementType *element = &element_types[element_count]
    element.code = element_count
    element.number = number
    element.itemsize = itemsize
    element.kind = <char>ord(kind)
    element.format = <char *>format
    element.dtype = <PyObject *>dtype
    Py_INCREF(dtype)
    Py_INCREF(format)
    _elements_by_dtype[dtype] = element_count
    element_count += 1
    return element.code


def dtype_of_code(int code):
    """The dtype of a dense index."""
    return <object>element_types[code].dtype


cdef ElementType *element_type(int code) noexcept nogil:
    return &element_types[code]


cdef ElementType *element_by_number(int number) noexcept nogil:
    cdef int code
    for code in range(element_count):
        if element_types[code].number == number:
            return &element_types[code]
    return NULL


cdef ElementType *element_of(object dtype) except NULL:
    cdef int code
    cdef PyObject *known
    for code in range(element_count):
        if element_types[code].dtype == <PyObject *>dtype:
            return &element_types[code]
    if isinstance(dtype, (str, type)):          # the spellings in use are few, and each means one dtype for ever
        known = PyDict_GetItem(_codes_by_spelling, dtype)
        if known == NULL:
            found = _element_code(dtype)
            _codes_by_spelling[dtype] = found
            return &element_types[<int>found]
        return &element_types[<int><object>known]
    return &element_types[<int>_element_code(dtype)]


def _element_code(dtype):
    # Python's own number types are the only classes NumPy reads as dtypes in every position; the rest of the
    # conversions (strings, scalar types, byte order) are NumPy's.
    import numpy
    try:
        canonical = numpy.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"unknown dtype {dtype!r}: {error}") from None
    code = _elements_by_dtype.get(canonical)
    if code is None and not canonical.isnative and canonical.kind in "biufc":
        raise TypeError(f"dtype {canonical!r} is not in this machine's byte order; use .newbyteorder('=')")
    if code is None:
        for known, known_code in _elements_by_dtype.items():
            if known.kind == canonical.kind and known.itemsize == canonical.itemsize and known == canonical:
                return known_code
        raise TypeError(f"dtype {canonical!r} cannot be an array's element type here; "
                        f"those that can: {', '.join([str(known) for known in _elements_by_dtype])}")
    return code


# ------------------------------------------------------------------------------------------- devices

_devices = {}
_device_names = {"cpu": CPU, "cuda": CUDA, "meta": META, "privateuseone": PRIVATE_USE_1, "privateuse1": PRIVATE_USE_1,
                 "privateuse2": PRIVATE_USE_2, "privateuse3": PRIVATE_USE_3}
_device_types = {CPU: "cpu", CUDA: "cuda", META: "meta", PRIVATE_USE_1: "privateuse1",
                 PRIVATE_USE_2: "privateuse2", PRIVATE_USE_3: "privateuse3"}


@cython.final
cdef class device:
    """Where a tensor's memory is: ``device("cpu")``, ``device("cuda", 1)``, ``device("cuda:1")``.

    Devices are equal by type and index, and equal to the string they print as; they are hashable.
    TypeError if *type* is not a string or a device, ValueError if there is no such device.

    >>> import fastops as fo
    >>> fo.device("cuda:1").type, fo.device("cuda", 1).index, fo.device("cpu") == "cpu"
    ('cuda', 1, True)
    """
    cdef readonly str type
    cdef readonly int index
    cdef int backend

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, position = (<device>type).type, (<device>type).index
            index = position if index is None else index
        if not isinstance(type, str):
            raise TypeError(f"device() takes a name such as 'cpu' or 'cuda:0', not {type!r}")
        name, colon, number = type.partition(":")
        if name not in _device_names or (colon and not number.isdecimal()) or (colon and index is not None):
            raise ValueError(f"unknown device {type!r}; devices are {', '.join(_device_types.values())}, "
                             "an index may follow as in 'cuda:0'")
        position = int(number) if colon else 0 if index is None else index
        self.backend = _device_names[name]
        self.type = _device_types[self.backend]
        if not isinstance(position, int) or not 0 <= position < 1 << 16:
            raise ValueError(f"device index {position!r} is not a small whole number")
        if self.backend in (CPU, META) and position != 0:
            raise ValueError(f"there is one {self.type} device, no index {position}")
        self.index = position

    def __str__(self):
        return self.type if self.backend in (CPU, META) else f"{self.type}:{self.index}"

    def __repr__(self):
        return f"device({str(self)!r})"

    def __eq__(self, other):
        if isinstance(other, str):
            return other == str(self) or (other == self.type and self.index == 0)
        return (isinstance(other, device) and self.backend == (<device>other).backend
                and self.index == (<device>other).index)

    def __hash__(self):
        return hash(str(self))

    def __reduce__(self):
        return device, (str(self),)


cdef device cpu_device = device("cpu")


cdef int parse_device(object value, int *backend, int *index) except -1:
    cdef device parsed
    if value is None:
        value = cpu_device
    parsed = value if type(value) is device else device(value)
    backend[0] = parsed.backend
    index[0] = parsed.index
    return 0


# -------------------------------------------------------------------------------------------- memory

cdef enum:
    SIZE_CLASSES = 4
    MOST_BLOCKS = 64
    MOST_HEADERS = 128

cdef Py_ssize_t class_bytes[SIZE_CLASSES]
class_bytes[0], class_bytes[1], class_bytes[2], class_bytes[3] = 64, 256, 1024, 4096
cdef Storage *kept_blocks[SIZE_CLASSES][MOST_BLOCKS]
cdef int kept_count[SIZE_CLASSES]
cdef Allocator allocators[BACKEND_COUNT]
memset(allocators, 0, sizeof(allocators))
memset(kept_count, 0, sizeof(kept_count))

cdef void set_allocator(int backend, Allocator allocator) noexcept:
    allocators[backend] = allocator


cdef Storage *new_storage(Py_ssize_t nbytes) except NULL:
    # Header and data in one block: one allocation, and small data stands beside its header.
    cdef Storage *storage
    cdef int32_t size_class = 0
    while size_class < SIZE_CLASSES and nbytes > class_bytes[size_class]:
        size_class += 1
    if size_class < SIZE_CLASSES and kept_count[size_class] > 0:
        kept_count[size_class] -= 1
        storage = kept_blocks[size_class][kept_count[size_class]]
    else:
        storage = <Storage *>fastops_aligned(
            sizeof(Storage) + (class_bytes[size_class] if size_class < SIZE_CLASSES else <size_t>nbytes))
        if storage == NULL:
            raise MemoryError(f"cannot allocate {nbytes} bytes for an array")
        storage.size_class = size_class if size_class < SIZE_CLASSES else -1
        storage.data = <char *>storage + sizeof(Storage)
        storage.owner = NULL
        storage.release = NULL
        storage.context = NULL
        storage.flags = 0
    storage.references = 1
    storage.version = 0
    storage.nbytes = nbytes
    return storage


cdef Storage *foreign_storage(char *data, Py_ssize_t nbytes, object owner, bint read_only) except NULL:
    cdef Storage *storage = new_storage(0)
    storage.data = data
    storage.nbytes = nbytes
    storage.owner = <PyObject *>owner
    Py_INCREF(owner)
    storage.flags = (READ_ONLY if read_only else 0) | (COLLECTABLE if PyObject_IS_GC(<PyObject *>owner) else 0)
    return storage


cdef Storage *meta_storage(Py_ssize_t nbytes, int index) except NULL:
    cdef Storage *storage = new_storage(0)
    storage.data = NULL
    return storage

cdef Storage *cpu_storage(Py_ssize_t nbytes, int index) except NULL:
    return new_storage(nbytes)

set_allocator(CPU, cpu_storage)
set_allocator(META, meta_storage)


cdef void release_storage(Storage *storage) noexcept:
    storage.references -= 1
    if storage.references > 0:
        return
    cdef PyObject *owner = storage.owner
    if storage.release != NULL:
        storage.release(storage)
    storage.data = <char *>storage + sizeof(Storage)
    storage.owner = NULL
    storage.release = NULL
    storage.flags = 0
    cdef int32_t size_class = storage.size_class
    if size_class >= 0 and kept_count[size_class] < FASTOPS_KEPT_BLOCKS:
        kept_blocks[size_class][kept_count[size_class]] = storage
        kept_count[size_class] += 1
    else:
        fastops_aligned_free(storage)
    if owner != NULL:       # last: it may run Python
        Py_DECREF(owner)


cdef PyObject *kept_headers[MOST_HEADERS]
cdef int headers_count = 0
cdef Py_ssize_t weak_references_offset = 0
cdef destructor cython_dealloc = NULL
cdef traverseproc cython_traverse = NULL
cdef Storage *empty_storage = new_storage(0)    # what a tensor holds before it is filled


cdef Py_ssize_t count_elements(int ndim, const Py_ssize_t *sizes, Py_ssize_t itemsize) except -1:
    # The number of elements; a shape whose bytes cannot be addressed is refused even if an axis is empty,
    # as in NumPy.
    cdef Py_ssize_t count = 1, nonempty = itemsize
    cdef int axis
    for axis in range(ndim):
        count *= sizes[axis]
        if sizes[axis] > 0:
            if overflows(nonempty, sizes[axis], &nonempty):
                raise ValueError(f"array is too big: shape {shape_tuple(ndim, sizes)} of {itemsize}-byte elements "
                                 "exceeds what can be addressed")
        elif sizes[axis] < 0:
            raise ValueError(f"negative dimensions are not allowed: shape {shape_tuple(ndim, sizes)}")
    return count


cdef tuple shape_tuple(int ndim, const Py_ssize_t *sizes):
    cdef int axis
    if ndim == 1:
        return (sizes[0],)
    if ndim == 2:
        return (sizes[0], sizes[1])
    return tuple([sizes[axis] for axis in range(ndim)])


cdef Tensor new_header(int ndim):
    # A tensor of the exact class with room for its layout, holding no storage yet.
    global headers_count
    cdef Tensor tensor
    if headers_count > 0:
        headers_count -= 1
        # Kept headers have a reference count of zero: this assignment makes it one.
        tensor = <Tensor>kept_headers[headers_count]
    else:
        tensor = Tensor.__new__(Tensor)
        PyObject_GC_UnTrack(<PyObject *>tensor)
        release_storage(tensor.storage)
    tensor.storage = NULL
    tensor.rank = ndim
    if ndim <= INLINE_DIMENSIONS:
        tensor.sizes = tensor.layout
        tensor.steps = tensor.layout + INLINE_DIMENSIONS
    else:
        take_layout(tensor, ndim)
    return tensor


cdef int take_layout(Tensor tensor, int ndim) except -1:
    if ndim > MAXIMUM_DIMENSIONS:
        tensor.rank = 0
        tensor.sizes = tensor.layout
        raise ValueError(f"an array has at most {MAXIMUM_DIMENSIONS} dimensions, not {ndim}")
    tensor.sizes = <Py_ssize_t *>malloc(2 * ndim * sizeof(Py_ssize_t))
    if tensor.sizes == NULL:
        tensor.sizes = tensor.layout
        tensor.rank = 0
        raise MemoryError()
    tensor.steps = tensor.sizes + ndim
    return 0


cdef Tensor new_view(Tensor base, int ndim):
    # A header over base's storage; the caller fills the layout and calls finish_layout.
    cdef Tensor view = new_header(ndim)
    view.storage = base.storage
    view.storage.references += 1
    view.data = base.data
    view.element = base.element
    view.keys = base.keys & (BACKEND_BITS)
    view.flags = base.flags & READ_ONLY
    view.backend = base.backend
    view.device_index = base.device_index
    view.origin = base if base.origin is None else base.origin
    view.generation = 0
    if view.storage.flags & COLLECTABLE:
        PyObject_GC_Track(<PyObject *>view)
    return view


def has_values(Tensor tensor not None):
    """Whether an array stands for itself, and not for one row of a batch, whose values cannot be read."""
    cdef Tracer tracer
    while tensor.keys >> TRANSFORM_FRONT & 1:
        tracer = <Tracer>tensor.autograd
        if not tracer.level.differentiates:
            return False
        tensor = tracer.primal
    return True


cdef int require_values(Tensor tensor) except -1:
    # One row's values are not to be read where an array stands for all rows of a batch.
    if not has_values(tensor):
        raise errors.MappedError(f"inside {label_of(level_of(<PyObject *>tensor))} an array stands for one row of many, of shape {tensor.shape}: its values "
                                 "cannot be read, nor branched on; use where, or cond and while_loop of fastops.func")
    return 0


cdef int finish_layout(Tensor tensor) except -1:
    # Fills what follows from sizes and steps: the number of elements and the contiguity flag.
    cdef Py_ssize_t expected = tensor.element.itemsize, count = 1, extent
    cdef bint contiguous = True
    cdef int axis = tensor.rank - 1
    while axis >= 0:
        extent = tensor.sizes[axis]
        if extent != 1:
            if tensor.steps[axis] != expected:
                contiguous = False
            expected *= extent
            count *= extent
        axis -= 1
    tensor.count = count
    if contiguous or count == 0:
        tensor.flags |= CONTIGUOUS
    else:
        tensor.flags &= ~<uint32_t>CONTIGUOUS
    return 0


cdef inline Py_ssize_t magnitude(Py_ssize_t step) noexcept nogil:
    return step if step >= 0 else -step


cdef void track(Tensor tensor) noexcept:
    # Let the collector see a tensor that refers to foreign objects; others have nothing to show it.
    if tensor.storage.flags & COLLECTABLE and not PyObject_GC_IsTracked(<PyObject *>tensor):
        PyObject_GC_Track(<PyObject *>tensor)


cdef Tensor new_strided(int ndim, const Py_ssize_t *sizes, const Py_ssize_t *steps, ElementType *element,
                        int backend, int device_index):
    # A new tensor of sizes; its axes lie in memory in the order of decreasing magnitude of `steps` (which are
    # only compared); row-major where steps is NULL.
    cdef Py_ssize_t count = count_elements(ndim, sizes, element.itemsize)
    cdef Tensor tensor = new_header(ndim)
    cdef Py_ssize_t step = element.itemsize
    cdef int order[MAXIMUM_DIMENSIONS]
    cdef int axis, place, other
    tensor.element = element
    tensor.backend = backend
    tensor.device_index = device_index
    tensor.keys = <uint64_t>1 << backend
    tensor.flags = CONTIGUOUS
    tensor.count = count
    if steps == NULL:
        axis = ndim - 1
        while axis >= 0:
            tensor.sizes[axis] = sizes[axis]
            tensor.steps[axis] = step
            if sizes[axis] > 0:
                step *= sizes[axis]
            axis -= 1
    else:
        for axis in range(ndim):       # insertion sort, stable: equal steps keep row-major order
            place = axis
            while place > 0 and magnitude(steps[order[place - 1]]) < magnitude(steps[axis]):
                order[place] = order[place - 1]
                place -= 1
            order[place] = axis
        place = ndim - 1
        while place >= 0:
            axis = order[place]
            tensor.sizes[axis] = sizes[axis]
            tensor.steps[axis] = step
            if sizes[axis] > 0:
                step *= sizes[axis]
            place -= 1
        finish_layout(tensor)
    if backend == CPU:
        tensor.storage = new_storage(count * element.itemsize)
    elif allocators[backend] == NULL:
        raise NotImplementedError(f"no allocator is registered for device '{_device_types[backend]}'")
    else:
        tensor.storage = allocators[backend](count * element.itemsize, device_index)
    tensor.data = tensor.storage.data
    return tensor


cdef Tensor new_tensor(int ndim, const Py_ssize_t *sizes, ElementType *element, int backend, int device_index):
    return new_strided(ndim, sizes, NULL, element, backend, device_index)


cdef enum:
    WRITERS = 256               # how many writes are remembered, for messages

cdef void *written_storages[WRITERS]
cdef PyObject *writers[WRITERS]
memset(writers, 0, sizeof(writers))
memset(written_storages, 0, sizeof(written_storages))


cdef str last_writer(Tensor tensor):
    # The operator that last wrote into the tensor's memory, as far as it is remembered.
    cdef size_t place = (<size_t>tensor.storage >> 6) % WRITERS
    if written_storages[place] != <void *>tensor.storage or writers[place] == NULL:
        return "a write"
    return str(<object>writers[place])


cdef void mark_written(Tensor tensor, Operator op) noexcept:
    # The memory is not what it was: its version moves, and messages may say who did it.
    cdef size_t place = (<size_t>tensor.storage >> 6) % WRITERS
    cdef PyObject *earlier = writers[place]
    tensor.storage.version += 1
    written_storages[place] = <void *>tensor.storage
    writers[place] = NULL if op is None else <PyObject *>op._name
    if op is not None:
        Py_INCREF(op._name)
    Py_XDECREF(earlier)


cdef int require_writable(Tensor tensor, object op) except -1:
    if tensor.flags & READ_ONLY or tensor.storage.flags & READ_ONLY:
        raise ValueError(f"{op}: the array to be written is read-only; write into a copy")
    return 0


cdef void tensor_dealloc(PyObject *self) noexcept:
    # The exact class goes to the freelist, whole; subclasses take Cython's way after their fields are freed.
    global headers_count
    cdef Storage *storage = (<Tensor>self).storage
    if (<Tensor>self).rank > INLINE_DIMENSIONS and (<Tensor>self).sizes != (<Tensor>self).layout:
        free((<Tensor>self).sizes)
        (<Tensor>self).rank = 0
    (<Tensor>self).storage = NULL
    if Py_TYPE(self) == tensor_type and headers_count < FASTOPS_KEPT_HEADERS:
        if PyObject_GC_IsTracked(self):
            PyObject_GC_UnTrack(self)
        if (<PyObject **>(<char *>self + weak_references_offset))[0] != NULL:
            PyObject_ClearWeakRefs(self)
        if storage != NULL:
            release_storage(storage)
        if (<Tensor>self).origin is not None:
            (<Tensor>self).origin = None
        if (<Tensor>self).autograd is not None:
            (<Tensor>self).autograd = None
        if headers_count < FASTOPS_KEPT_HEADERS:
            kept_headers[headers_count] = self
            headers_count += 1
            return
        cython_dealloc(self)
        return
    PyObject_GC_UnTrack(self)
    if storage != NULL:
        release_storage(storage)
    cython_dealloc(self)


cdef int tensor_traverse(PyObject *self, visitproc visit, void *argument) noexcept:
    cdef int result = cython_traverse(self, visit, argument)
    cdef Storage *storage = (<Tensor>self).storage
    # The owner of foreign memory is referenced by the storage, once for all the tensors that share it: only
    # a sole sharer may account for it.
    if result == 0 and storage != NULL and storage.owner != NULL and storage.references == 1:
        result = visit(storage.owner, argument)
    return result


# ----------------------------------------------------------------------------------- Python's hooks

cdef enum Slot:
    ADD, SUBTRACT, MULTIPLY, MATMUL, TRUEDIV, FLOORDIV, MOD, DIVMOD, POW, LSHIFT, RSHIFT, AND, OR, XOR
    NEG, POS, ABS, INVERT, LT, LE, EQ, NE, GT, GE, GETITEM, SETITEM, ITEM
    SLOT_COUNT

cdef enum:
    SLOT_PARAMETERS = 6         # the most that an operator behind Python's syntax has

# The operators that stand behind Python's own syntax; the declarations say which.
cdef PyObject *slot_operators[SLOT_COUNT]
memset(slot_operators, 0, sizeof(slot_operators))
_slot_names = {"__add__": ADD, "__sub__": SUBTRACT, "__mul__": MULTIPLY, "__matmul__": MATMUL, "__truediv__": TRUEDIV,
               "__floordiv__": FLOORDIV, "__mod__": MOD, "__divmod__": DIVMOD, "__pow__": POW, "__lshift__": LSHIFT,
               "__rshift__": RSHIFT, "__and__": AND, "__or__": OR, "__xor__": XOR, "__neg__": NEG, "__pos__": POS,
               "__abs__": ABS, "__invert__": INVERT, "__lt__": LT, "__le__": LE, "__eq__": EQ, "__ne__": NE,
               "__gt__": GT, "__ge__": GE, "__getitem__": GETITEM, "__setitem__": SETITEM, "item": ITEM}
cdef dict hooks = {}
cdef object array_hook = None


def install_slot(str name, Operator op not None):
    """Let *operator* answer Python's syntax *name* ("__add__", ...); in-place forms write into its third parameter."""
    if op.parameter_count > SLOT_PARAMETERS:
        raise ValueError(f"{name}: {op} has more than {SLOT_PARAMETERS} parameters")
    Py_INCREF(op)
    slot_operators[<int>_slot_names[name]] = <PyObject *>op


def install_hook(str name, function):
    """Let *function* answer what the machine leaves open: "array" (anything -> Tensor), "repr", "contains", "pickle",
    "require" (a new tensor and whether it is to require gradients -> it)."""
    global array_hook
    hooks[name] = function
    if name == "array":
        array_hook = function


def as_tensor(value):
    """*value* as a tensor, through the "array" hook."""
    return array_hook(value)


def install_method(str name, value):
    """Put *value* into Tensor's type dictionary: operators are methods as they are, properties too."""
    PyDict_SetItem((<TypeStruct *>tensor_type).tp_dict, name, value)
    PyType_Modified(tensor_type)


cdef inline Operator slot_operator(int slot):
    if slot_operators[slot] == NULL:
        raise NotImplementedError("no operator stands behind this syntax yet: import fastops")
    return <Operator>slot_operators[slot]


cdef object binary(int slot, PyObject *left, PyObject *right, PyObject *out):
    cdef PyObject *arguments[SLOT_PARAMETERS]
    cdef object foreign
    if not (Py_TYPE(left) == tensor_type and (Py_TYPE(right) == tensor_type or fastops_plain(right))):
        for other in (<object>left, <object>right):
            if not is_tensor(<PyObject *>other) and not hooks["operand"](other):
                return NotImplemented
    arguments[0] = left
    arguments[1] = right
    arguments[2] = out
    arguments[3] = arguments[4] = arguments[5] = NULL
    return call_bound(slot_operator(slot), arguments)


cdef object in_place(int slot, PyObject *left, PyObject *right):
    result = binary(slot, left, right, left)
    if result is NotImplemented:
        return result
    return <object>left


cdef object unary(int slot, PyObject *value):
    cdef PyObject *arguments[SLOT_PARAMETERS]
    arguments[0] = value
    arguments[1] = arguments[2] = arguments[3] = arguments[4] = arguments[5] = NULL
    return call_bound(slot_operator(slot), arguments)


cdef int compare_slots[6]
compare_slots[Py_LT], compare_slots[Py_LE], compare_slots[Py_EQ] = LT, LE, EQ
compare_slots[Py_NE], compare_slots[Py_GT], compare_slots[Py_GE] = NE, GT, GE


# -------------------------------------------------------------------------------------------- tensor

@cython.c_api_binop_methods(True)
cdef class Tensor:
    """An n-dimensional array whose every operation goes through the dispatcher.

    ``Tensor(source)`` is ``asarray(source)`` as a class: it shares the memory of a Tensor or a NumPy array and
    copies anything else. Its methods and operators are the functions of the fastops namespace.

    >>> import fastops as fo
    >>> x = fo.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, str(x.device)
    ((2, 2), dtype('float64'), 'cpu')
    """

    def __cinit__(self):
        self.storage = empty_storage
        empty_storage.references += 1
        self.data = empty_storage.data
        self.element = &element_types[0]
        self.sizes = self.layout
        self.steps = self.layout + INLINE_DIMENSIONS
        self.rank = 1
        self.sizes[0] = 0
        self.steps[0] = self.element.itemsize
        self.count = 0
        self.keys = <uint64_t>1 << CPU
        self.flags = CONTIGUOUS
        self.backend = CPU
        self.device_index = 0

    def __init__(self, source=(), *, dtype=None, device=None, copy=None):
        # Memory is taken once: a subclass's __new__ may have done it, and a loop in another thread may be on it.
        if self.storage == empty_storage:
            adopt(self, array_hook(source, dtype=dtype, device=device, copy=copy))

    # Layout and kind

    @property
    def shape(self):
        """The sizes of the axes, a tuple of ints."""
        return shape_tuple(self.rank, self.sizes)

    @property
    def ndim(self):
        """The number of axes."""
        return self.rank

    @property
    def size(self):
        """The number of elements."""
        return self.count

    @property
    def dtype(self):
        """The element type, a ``numpy.dtype``."""
        return <object>self.element.dtype

    @property
    def itemsize(self):
        """The size of one element in bytes."""
        return self.element.itemsize

    @property
    def nbytes(self):
        """The size of all elements in bytes."""
        return self.element.itemsize * self.count

    @property
    def strides(self):
        """The step of each axis in bytes, as in NumPy."""
        return shape_tuple(self.rank, self.steps)

    def stride(self, dim=None):
        """The step of each axis, or of axis *dim*, in elements."""
        steps = [self.steps[axis] // self.element.itemsize for axis in range(self.rank)]
        return tuple(steps) if dim is None else steps[dim]

    @property
    def device(self):
        """Where the memory is."""
        return device_of(self)

    @property
    def _version(self):
        """A counter that moves with every write into this memory; views share it."""
        return self.storage.version

    def dim(self):
        """The number of axes."""
        return self.rank

    def storage_offset(self):
        """The distance in elements from the start of the storage to the first element."""
        return (self.data - self.storage.data) // self.element.itemsize if self.data != NULL else 0

    def data_ptr(self):
        """The address of the first element; 0 where there is no memory."""
        return <uint64_t>self.data

    def is_contiguous(self):
        """Whether the elements lie in memory in row-major order without gaps."""
        return self.flags & CONTIGUOUS != 0

    @property
    def writeable(self):
        """Whether the elements may be written."""
        return not (self.flags & READ_ONLY or self.storage.flags & READ_ONLY)

    def keyset(self):
        """The DispatchKeySet that this tensor brings to a call."""
        return key_set(self.keys)

    def as_subclass(self, cls):
        """The same memory as an instance of *cls*, a subclass of Tensor."""
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(f"as_subclass: {cls!r} is not a subclass of Tensor")
        result = Tensor.__new__(cls)        # not the class's own __new__, which may well be what calls this
        adopt(result, self)
        return result

    # Interchange that needs C

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.keys != <uint64_t>1 << CPU:
            raise BufferError(f"a tensor with keys {key_set(self.keys)} exports no buffer")
        if flags & PyBUF_WRITABLE == PyBUF_WRITABLE and not self.writeable:
            raise BufferError("the array is read-only")
        if flags & PyBUF_ND != PyBUF_ND:
            raise BufferError("an array exports its buffer only with its shape (PyBUF_ND)")
        if flags & PyBUF_STRIDES != PyBUF_STRIDES and not self.flags & CONTIGUOUS:
            raise BufferError("the array is not contiguous; ask for strides")
        if flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS and not self.flags & CONTIGUOUS:
            raise BufferError("the array is not contiguous in row-major order")
        if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and not column_major(self):
            raise BufferError("the array is not contiguous in column-major order")
        if (flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS and not self.flags & CONTIGUOUS
                and not column_major(self)):
            raise BufferError("the array is not contiguous")
        view.buf = self.data
        view.obj = self
        view.len = self.count * self.element.itemsize
        view.readonly = not self.writeable
        view.itemsize = self.element.itemsize
        view.format = self.element.format if flags & PyBUF_FORMAT == PyBUF_FORMAT else NULL
        view.ndim = self.rank
        view.shape = self.sizes
        view.strides = self.steps if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL

    # Python's syntax

    def __add__(left, right):
        return binary(ADD, <PyObject *>left, <PyObject *>right, NULL)

    def __sub__(left, right):
        return binary(SUBTRACT, <PyObject *>left, <PyObject *>right, NULL)

    def __mul__(left, right):
        return binary(MULTIPLY, <PyObject *>left, <PyObject *>right, NULL)

    def __matmul__(left, right):
        return binary(MATMUL, <PyObject *>left, <PyObject *>right, NULL)

    def __truediv__(left, right):
        return binary(TRUEDIV, <PyObject *>left, <PyObject *>right, NULL)

    def __floordiv__(left, right):
        return binary(FLOORDIV, <PyObject *>left, <PyObject *>right, NULL)

    def __mod__(left, right):
        return binary(MOD, <PyObject *>left, <PyObject *>right, NULL)

    def __divmod__(left, right):
        return binary(DIVMOD, <PyObject *>left, <PyObject *>right, NULL)

    def __pow__(left, right, modulo):
        if modulo is not None:
            return NotImplemented
        return binary(POW, <PyObject *>left, <PyObject *>right, NULL)

    def __lshift__(left, right):
        return binary(LSHIFT, <PyObject *>left, <PyObject *>right, NULL)

    def __rshift__(left, right):
        return binary(RSHIFT, <PyObject *>left, <PyObject *>right, NULL)

    def __and__(left, right):
        return binary(AND, <PyObject *>left, <PyObject *>right, NULL)

    def __or__(left, right):
        return binary(OR, <PyObject *>left, <PyObject *>right, NULL)

    def __xor__(left, right):
        return binary(XOR, <PyObject *>left, <PyObject *>right, NULL)

    def __iadd__(self, other):
        return in_place(ADD, <PyObject *>self, <PyObject *>other)

    def __isub__(self, other):
        return in_place(SUBTRACT, <PyObject *>self, <PyObject *>other)

    def __imul__(self, other):
        return in_place(MULTIPLY, <PyObject *>self, <PyObject *>other)

    def __imatmul__(self, other):
        return in_place(MATMUL, <PyObject *>self, <PyObject *>other)

    def __itruediv__(self, other):
        return in_place(TRUEDIV, <PyObject *>self, <PyObject *>other)

    def __ifloordiv__(self, other):
        return in_place(FLOORDIV, <PyObject *>self, <PyObject *>other)

    def __imod__(self, other):
        return in_place(MOD, <PyObject *>self, <PyObject *>other)

    def __ipow__(self, other):
        return in_place(POW, <PyObject *>self, <PyObject *>other)

    def __ilshift__(self, other):
        return in_place(LSHIFT, <PyObject *>self, <PyObject *>other)

    def __irshift__(self, other):
        return in_place(RSHIFT, <PyObject *>self, <PyObject *>other)

    def __iand__(self, other):
        return in_place(AND, <PyObject *>self, <PyObject *>other)

    def __ior__(self, other):
        return in_place(OR, <PyObject *>self, <PyObject *>other)

    def __ixor__(self, other):
        return in_place(XOR, <PyObject *>self, <PyObject *>other)

    def __neg__(self):
        return unary(NEG, <PyObject *>self)

    def __pos__(self):
        return unary(POS, <PyObject *>self)

    def __abs__(self):
        return unary(ABS, <PyObject *>self)

    def __invert__(self):
        return unary(INVERT, <PyObject *>self)

    def __richcmp__(left, right, int comparison):
        return binary(compare_slots[comparison], <PyObject *>left, <PyObject *>right, NULL)

    def __hash__(self):
        # By identity, so that tensors can key dictionaries; equality stays elementwise.
        return <Py_ssize_t><PyObject *>self >> 4

    def __getitem__(self, index):
        cdef PyObject *arguments[SLOT_PARAMETERS]
        arguments[0], arguments[1] = <PyObject *>self, <PyObject *>index
        arguments[2] = arguments[3] = arguments[4] = arguments[5] = NULL
        return call_bound(slot_operator(GETITEM), arguments)

    def __setitem__(self, index, value):
        cdef PyObject *arguments[SLOT_PARAMETERS]
        arguments[0], arguments[1], arguments[2] = <PyObject *>self, <PyObject *>index, <PyObject *>value
        arguments[3] = arguments[4] = arguments[5] = NULL
        call_bound(slot_operator(SETITEM), arguments)

    def __len__(self):
        if self.rank == 0:
            raise TypeError("len() of a 0-dimensional array")
        return self.sizes[0]

    def __iter__(self):
        if self.rank == 0:
            raise TypeError("iteration over a 0-dimensional array")
        return iter([self[position] for position in range(self.sizes[0])])

    def __contains__(self, value):
        return hooks["contains"](self, value)

    def __bool__(self):
        if self.count != 1:
            raise ValueError(f"the truth value of an array of shape {self.shape} is ambiguous; use any() or all()")
        return bool(unary(ITEM, <PyObject *>self))

    def __int__(self):
        return int(scalar(self, "int"))

    def __float__(self):
        return float(scalar(self, "float"))

    def __complex__(self):
        return complex(scalar(self, "complex"))

    def __index__(self):
        if self.rank != 0 or self.element.kind not in (c"i", c"u"):
            raise TypeError("only 0-dimensional integer arrays can be used as an index, not an array of shape "
                            f"{self.shape} and dtype {self.dtype}")
        return unary(ITEM, <PyObject *>self)

    def __repr__(self):
        return hooks["repr"](self)

    def __str__(self):
        return hooks["str"](self)


cdef object scalar(Tensor tensor, str target):
    if tensor.rank != 0:
        raise TypeError(f"only 0-dimensional arrays can be converted to a Python {target}, not one of shape "
                        f"{tensor.shape}; take an element or call item()")
    return unary(ITEM, <PyObject *>tensor)


cdef bint column_major(Tensor tensor) noexcept:
    cdef Py_ssize_t expected = tensor.element.itemsize
    cdef int axis
    for axis in range(tensor.rank):
        if tensor.sizes[axis] != 1 and tensor.steps[axis] != expected:
            return tensor.count == 0
        expected *= tensor.sizes[axis]
    return True


cdef object device_of(Tensor tensor):
    if tensor.backend == CPU:
        return cpu_device
    return device(_device_types[tensor.backend], tensor.device_index)


cdef int adopt(Tensor target, Tensor source) except -1:
    # Make target another header over source's memory.
    cdef Storage *previous = target.storage
    source.storage.references += 1
    if target.sizes != target.layout:
        free(target.sizes)
    target.rank = source.rank
    if source.rank <= INLINE_DIMENSIONS:
        target.sizes = target.layout
        target.steps = target.layout + INLINE_DIMENSIONS
    else:
        take_layout(target, source.rank)
    memcpy(target.sizes, source.sizes, source.rank * sizeof(Py_ssize_t))
    memcpy(target.steps, source.steps, source.rank * sizeof(Py_ssize_t))
    target.storage = source.storage
    target.data = source.data
    target.element = source.element
    target.keys = source.keys
    target.flags = source.flags
    target.backend = source.backend
    target.device_index = source.device_index
    target.count = source.count
    release_storage(previous)
    return 0


def with_strides(Tensor tensor not None, strides):
    """A tensor without data of the same shape and dtype, with *strides* in bytes."""
    cdef int axis
    if tensor.backend != META or len(strides) != tensor.rank:
        raise ValueError("with_strides: a tensor on the meta device and a stride for each axis are wanted")
    cdef Tensor result = new_view(tensor, tensor.rank)
    for axis in range(tensor.rank):
        result.sizes[axis] = tensor.sizes[axis]
        result.steps[axis] = strides[axis]
    finish_layout(result)
    return result


# ------------------------------------------------------------------------------------------- kernels

cdef class Kernel:
    """One entry of an operator's table: ``Kernel(function)`` runs a Python callable.

    With ``with_keyset=True`` the callable gets, before the operator's arguments, the DispatchKeySet of the keys
    from its own downwards. Kernels in C are instances of subclasses that set ``run``.
    """

    def __init__(self, function, *, bint with_keyset=False):
        if not callable(function):
            raise TypeError(f"a kernel is a callable, not {function!r}")
        self.run = run_python
        self.function = function
        self.with_keyset = with_keyset

    @property
    def source(self):
        """Where the kernel is written: "file:line", or what a kernel in C says of itself."""
        if self.function is None:
            return self.description
        function = self.function
        while not hasattr(function, "__code__"):
            wrapped = getattr(function, "__wrapped__", getattr(function, "func", getattr(function, "__func__", None)))
            if wrapped is None:
                return repr(self.function)
            function = wrapped
        return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"

    def __repr__(self):
        return f"<Kernel {self.source}>"


cdef Kernel machine_kernel(KernelFunction run, str description):
    cdef Kernel kernel = Kernel.__new__(Kernel)
    kernel.run = run
    kernel.description = description
    return kernel


cdef object run_python(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef PyObject *stack[MAXIMUM_PARAMETERS + 2]
    cdef PyObject **place = stack + 1       # one before it, as vectorcall may want
    cdef PyObject *value
    cdef Parameter parameter
    cdef int position, last = op.positional_count - 1, given = op.parameter_count - 1
    cdef object keyset, names = None
    cdef Py_ssize_t count
    if kernel.with_keyset:
        keyset = key_set(keys)
        place[0] = <PyObject *>keyset
        place += 1
    # Trailing values equal to their default are not passed on: each kernel says its own defaults.
    while last >= 0 and is_trimmed(op, last, arguments[last]):
        last -= 1
    for position in range(last + 1):
        value = arguments[position]
        if value == NULL:
            value = <PyObject *>(<Parameter>PyList_GET_ITEM(<PyObject *>op.parameters, position)).default
        place[0] = value
        place += 1
    count = place - stack - 1
    if op.positional_count < op.parameter_count:
        found = []
        for position in range(op.positional_count, op.parameter_count):
            if not is_trimmed(op, position, arguments[position]):
                place[0] = arguments[position]
                place += 1
                found.append((<Parameter>PyList_GET_ITEM(<PyObject *>op.parameters, position)).name)
        if found:
            names = tuple(found)
    result = PyObject_Vectorcall(<PyObject *>kernel.function, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 NULL if names is None else <PyObject *>names)
    if op.checked:
        return checked_result(op, kernel, result)
    return result


cdef inline bint is_trimmed(Operator op, int position, PyObject *value) except -1:
    if value == NULL:
        return True
    if op.required_mask >> position & 1:
        return False
    return (<Parameter>PyList_GET_ITEM(<PyObject *>op.parameters, position)).is_default(value)


cdef tuple python_arguments(Operator op, PyObject **arguments):
    # The call as (args, kwargs), trimmed as for a Python kernel.
    cdef int position, last = op.positional_count - 1
    cdef list positional = []
    cdef dict keywords = {}
    while last >= 0 and is_trimmed(op, last, arguments[last]):
        last -= 1
    for position in range(last + 1):
        positional.append((<Parameter>op.parameters[position]).default if arguments[position] == NULL
                          else <object>arguments[position])
    for position in range(op.positional_count, op.parameter_count):
        if not is_trimmed(op, position, arguments[position]):
            keywords[(<Parameter>op.parameters[position]).name] = <object>arguments[position]
    return tuple(positional), keywords


cdef object checked_result(Operator op, Kernel kernel, object result):
    cdef Py_ssize_t count = PyList_GET_SIZE(<PyObject *>op.results)
    if count == 1:
        if Py_TYPE(<PyObject *>result) == tensor_type and (<Parameter>op.results[0]).holds_tensors \
                and (<Parameter>op.results[0]).element is None:
            return result
        return converted_result(op, kernel, result, 0)
    if count == 0:
        if result is not None:
            raise errors.KernelError(f"{op}: the kernel {kernel.source} returned {type(result).__name__}, but "
                                     f"the schema {op._schema} declares no result: return None")
        return None
    if not isinstance(result, (tuple, list)) or len(result) != count:
        what = f"{len(result)} values" if isinstance(result, (tuple, list)) else type(result).__name__
        raise errors.KernelError(f"{op}: the kernel {kernel.source} returned {what}, but the schema "
                                 f"{op._schema} declares {count} results: return a tuple of {count}")
    return tuple([converted_result(op, kernel, result[position], position) for position in range(count)])


cdef object converted_result(Operator op, Kernel kernel, object value, int position):
    try:
        return (<Parameter>op.results[position]).convert(<PyObject *>value, op)
    except errors.ArgumentError:
        raise errors.KernelError(
            f"{op}: the kernel {kernel.source} returned {type(value).__name__} where the schema "
            f"{op._schema} declares {op._schema.returns[position]}") from None


def _never_called(*arguments, **keywords):
    raise NotImplementedError("fallthrough_kernel is a mark for registration, not a function to call")

_never_called.__name__ = "fallthrough_kernel"

cdef Kernel fallthrough_ = Kernel(_never_called)
fallthrough = fallthrough_


cdef object run_missing(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    key = DispatchKey(fastops_highest(keys | 1)).name
    if op.retired is not None:
        raise errors.DispatchError(f"{op}: {op.retired}")
    registered = ", ".join([DispatchKey(position).name for position in list(op.kernels)]) or "none"
    where = "without a tensor argument" if keys & BACKEND_BITS == 0 else f"for the key {key}"
    raise errors.DispatchError(
        f"{op} has no kernel {where}; kernels: {registered}. Register one with "
        f"fastops.library.impl({op.name()!r}, ...)")

cdef Kernel missing = machine_kernel(run_missing, "no kernel")


cdef class FallbackKernel(Kernel):
    """A kernel for many operators: ``FallbackKernel(function)`` calls ``function(operator, *args, **kwargs)``.

    With ``with_keyset=True`` the DispatchKeySet comes before the operator.
    """

    def __init__(self, function, *, bint with_keyset=False):
        super().__init__(function, with_keyset=with_keyset)
        self.run = run_fallback


cdef object run_fallback(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    positional, keywords = python_arguments(op, arguments)
    if kernel.with_keyset:
        result = kernel.function(key_set(keys), op, *positional, **keywords)
    else:
        result = kernel.function(op, *positional, **keywords)
    return checked_result(op, kernel, result) if op.checked else result


cdef class PerBackend(Kernel):
    # A functionality whose kernel depends on the backend below it.
    cdef list rows

    def __init__(self, rows):
        self.run = run_per_backend
        self.rows = rows
        self.description = "by backend: " + ", ".join(
            [f"{RUNTIME_KEYS[backend]} {row.source if row is not fallthrough_ else 'fallthrough'}"
             for backend, row in enumerate(rows)])


cdef object run_per_backend(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef int backend = fastops_highest(keys & BACKEND_BITS | 1)
    cdef Kernel row = (<PerBackend>kernel).rows[backend]
    if row is fallthrough_:
        return run_keys(op, arguments, keys & ~(<uint64_t>1 << fastops_highest(keys)))
    return row.run(row, op, arguments, keys)


cdef object run_backend_select(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # A call that makes tensors goes to the backend its device parameter names.
    cdef int backend = CPU, index
    cdef PyObject *value = arguments[op.device_position]
    if value != NULL and value != <PyObject *>None:
        try:
            parse_device(<object>value, &backend, &index)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{op}: {error}") from None
    return run_keys(op, arguments, keys & ~(<uint64_t>1 << BACKEND_SELECT) & ~<uint64_t>BACKEND_BITS
                    | <uint64_t>1 << backend)

backend_select = machine_kernel(run_backend_select, "fastops/_dispatch.pyx: the device argument chooses the backend")


# ----------------------------------------------------------------------------------------- operators

import weakref

_operators = set()      # weak references; copied in one step, as other threads may define meanwhile
_fallbacks = {TRANSFORM_FRONT: machine_kernel(run_transform, "fastops/_dispatch.pyx: the innermost transform")}


def fallbacks():
    """The process-wide fallback kernels: a dict from DispatchKey to Kernel."""
    return {DispatchKey(position): kernel for position, kernel in list(_fallbacks.items())}


def set_fallback(key, Kernel kernel):
    """Let *kernel* run at *key* for every operator without a kernel of its own there; None removes it."""
    position = parse_key(key)
    if not 0 < position < KEY_COUNT:
        raise errors.SchemaError(f"a fallback stands at one runtime key, not at {position.name}")
    if kernel is None:
        _fallbacks.pop(int(position), None)
    else:
        _fallbacks[int(position)] = kernel
    for reference in list(_operators):
        op = reference()
        if op is not None:
            op.refold()


cdef class Operator:
    """An operator: a schema and a table of kernels by dispatch key; calling it dispatches.

    Operators are made by declarations and by ``fastops.library``, and found as ``fo.ops.<namespace>.<name>``.
    They are the functions of the fastops namespace and the methods of Tensor as they are.

    >>> import fastops as fo
    >>> fo.add.name(), fo.add(fo.asarray([1, 2]), 3)
    ('fastops::add', tensor([4, 5]))
    """

    def __init__(self, schema, dict kernels, *, bint checked=True, gather=None):
        cdef Parameter parameter
        cdef int position
        self._schema = schema
        self.kernels = kernels
        self.checked = checked
        self.namespace = schema.namespace
        self._opname = schema.opname
        self._overloadname = schema.overload_name or "default"
        self._name = f"{schema.namespace}::{schema.opname}"
        if schema.overload_name:
            self._name += "." + schema.overload_name
        self.tags = []
        self.parameters = _convert_module.parameters(schema.arguments)
        self.results = _convert_module.parameters(schema.returns)
        self.parameter_count = len(self.parameters)
        if self.parameter_count > MAXIMUM_PARAMETERS:
            raise errors.SchemaError(f"{self._name} has {self.parameter_count} parameters; {MAXIMUM_PARAMETERS} are allowed")
        self.gather = self.device_position = self.requires_position = -1
        self.positional_count = 0
        for position, parameter in enumerate(self.parameters):
            bit = <uint64_t>1 << position
            self.names[position] = <PyObject *>parameter.name
            if not parameter.keyword_only:
                self.positional_count = position + 1
            if parameter.positional_only:
                self.positional_only_count = position + 1
            if parameter.required:
                self.required_mask |= bit
            if schema.arguments[position].is_write:
                self.write_mask |= bit
            if parameter.holds_tensors:
                self.tensor_mask |= bit
            if schema.arguments[position].type.base == "Array":
                self.array_mask |= bit
            if schema.arguments[position].type.base == "Device":
                self.device_position = position
            if parameter.name == "requires_grad" and not checked:
                self.requires_position = position
            if parameter.name == gather:
                self.gather = position
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = self._name
        self.vectorcall = operator_call
        self.refold()
        _operators.add(weakref.ref(self, _operators.discard))

    def refold(self):
        """Fold ``kernels`` and the fallbacks into the table; called whenever either changes."""
        cdef int key, backend
        cdef list folded = []
        cdef uint64_t mask = 0, forced = 0
        if self.retired is None:
            for key in range(KEY_COUNT):
                rows = [self.resolve(key, backend) for backend in range(BACKEND_COUNT)] \
                    if key == AUTOGRAD or key == AUTOCAST else [self.resolve(key, key)]
                if any([row is not fallthrough_ for row in rows]):
                    mask |= <uint64_t>1 << key
                folded.append(rows[0] if all([row is rows[0] for row in rows]) else PerBackend(rows))
            for position, kernel in list(self.kernels.items()):     # other threads may register meanwhile
                if kernel is fallthrough_:
                    continue
                if position == BACKEND_SELECT:
                    forced |= <uint64_t>1 << BACKEND_SELECT
                elif position == AUTOGRAD or AUTOGRAD_ON <= position < AUTOCAST_ON or position == COMPOSITE_IMPLICIT:
                    forced |= <uint64_t>1 << AUTOGRAD
        else:
            folded = [missing] * KEY_COUNT
        for key in range(KEY_COUNT):
            self.table[key] = <PyObject *>folded[key] if folded[key] is not fallthrough_ else <PyObject *>missing
        self.folded, self.mask, self.forced = folded, mask, forced
        self.composition = None if COMPOSITE_EXPLICIT in self.kernels or CPU in self.kernels else self.kernels.get(COMPOSITE_IMPLICIT)
        own = self.kernels.get(AUTOGRAD_ON + CPU, self.kernels.get(AUTOGRAD))
        self.differentiator = None if own is fallthrough_ else own

    cdef Kernel resolve(self, int key, int backend):
        # The order of precedence at one key, above one backend.
        cdef dict kernels = self.kernels
        found = None
        implicit = kernels.get(COMPOSITE_IMPLICIT)
        if key < BACKEND_COUNT:
            found = kernels.get(key)
            if found is None:
                found = kernels.get(COMPOSITE_EXPLICIT)
            if found is None:
                found = implicit
        elif key == AUTOGRAD:
            found = kernels.get(AUTOGRAD_ON + backend)
            if found is None and implicit is not None and backend not in kernels and COMPOSITE_EXPLICIT not in kernels:
                found = implicit
            if found is None:
                found = kernels.get(AUTOGRAD)
        elif key == AUTOCAST:
            found = kernels.get(AUTOCAST_ON + backend)
            if found is None:
                found = kernels.get(AUTOCAST)
        else:
            found = kernels.get(key)
        if found is None:
            found = _fallbacks.get(key)
        if found is None:
            found = missing if key < BACKEND_COUNT else fallthrough_
        return found

    def retire(self, str reason not None):
        """Make every later call raise RuntimeError with *reason*; a call that is under way ends normally."""
        self.retired = reason
        self.refold()

    def name(self):
        """The qualified name, ``"namespace::name"`` or ``"namespace::name.overload"``."""
        return self._name

    @property
    def _namespace(self):
        return self.namespace

    @property
    def __signature__(self):
        return self._schema.signature(self.gather)

    @property
    def is_view(self):
        """Whether the schema says that some argument is aliased by a result and none is written."""
        return self._schema.is_view

    def redispatch(self, keyset, *args, **kwargs):
        """Call the kernel of the highest key of *keyset*, whatever the tensors' and the thread's keys."""
        cdef PyObject *arguments[MAXIMUM_PARAMETERS]
        cdef DispatchKeySet keys
        if not isinstance(keyset, DispatchKeySet):
            raise TypeError(f"{self}.redispatch: the first argument is a DispatchKeySet, not {type(keyset).__name__}")
        keys = keyset
        gathered = bind(self, arguments, args, kwargs)
        if self.checked:
            return call_checked(self, arguments, keys.bits, True)
        return run_keys(self, arguments, keys.bits)

    def check_arguments(self, *args, **kwargs):
        """Bind and convert the arguments without running anything; raises what a call would raise."""
        cdef PyObject *arguments[MAXIMUM_PARAMETERS]
        cdef int position
        gathered = bind(self, arguments, args, kwargs)
        if self.checked:
            for position in range(self.parameter_count):
                if arguments[position] != NULL:
                    (<Parameter>self.parameters[position]).convert(arguments[position], self)

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel is registered at exactly *key*, by itself and not through an alias."""
        return int(parse_key(key)) in self.kernels

    def has_kernel_for_any_dispatch_key(self, DispatchKeySet keys not None):
        """Whether a kernel is registered at exactly one of *keys*."""
        return any([int(key) in self.kernels for key in keys])

    def decompose(self, *args, **kwargs):
        """Run the CompositeImplicitAutograd kernel; NotImplemented if there is none."""
        cdef PyObject *arguments[MAXIMUM_PARAMETERS]
        cdef Kernel kernel = self.kernels.get(COMPOSITE_IMPLICIT)
        if kernel is None:
            return NotImplemented
        gathered = bind(self, arguments, args, kwargs)
        return kernel.run(kernel, self, arguments, 0)

    def py_impl(self, key):
        """A decorator that registers a kernel at *key* and returns the function; RuntimeError if one is there."""
        position = parse_key(key)
        if position == PYTHON:
            raise AssertionError(f"{self}.py_impl: rules at the Python key belong to a mode or a class")
        def register(function):
            if int(position) in self.kernels:
                raise errors.RegistrationError(f"{self} already has a kernel at {position.name}")
            self.kernels[int(position)] = Kernel(function)
            self.refold()
            return function
        return register

    def table_rows(self):
        """What runs at each runtime key: pairs of a DispatchKey and a Kernel, or None for a fallthrough."""
        return [(DispatchKey(key), None if self.folded[key] is fallthrough_ else self.folded[key])
                for key in reversed(range(KEY_COUNT))]

    def __get__(self, instance, owner):
        # For introspection; the slot itself is operator_get.
        return self if instance is None else PyMethod_New(<PyObject *>self, <PyObject *>instance)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return hooks["pickle"](self)

    def __str__(self):
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"


cdef object operator_call(PyObject *self, PyObject *const *given, size_t nargsf, PyObject *keywords):
    cdef Operator op = <Operator>self
    cdef PyObject *arguments[MAXIMUM_PARAMETERS]
    cdef Py_ssize_t position, count = PyVectorcall_NARGS(nargsf)
    cdef object gathered = None
    if keywords == NULL and op.gather >= 0 and count > op.gather + 1:
        gathered = surplus(op, given + op.gather, count - op.gather)
        for position in range(op.gather):
            arguments[position] = given[position]
        for position in range(op.gather, op.parameter_count):
            arguments[position] = NULL
        arguments[op.gather] = <PyObject *>gathered
    elif keywords == NULL and count <= op.positional_count and (op.gather < 0 or count <= op.gather + 1):
        for position in range(count):
            arguments[position] = given[position]
        for position in range(count, op.parameter_count):
            arguments[position] = NULL
        if count < MAXIMUM_PARAMETERS and op.required_mask >> count:
            raise_missing(op, arguments)
    else:
        gathered = bind_array(op, arguments, given, count, keywords)
    if op.checked:
        return call_checked(op, arguments, 0, False)
    if op.requires_position >= 0 and arguments[op.requires_position] != NULL:
        required = <object>arguments[op.requires_position]
        arguments[op.requires_position] = NULL
        return hooks["require"](call_bound(op, arguments), required)
    return call_bound(op, arguments)


cdef tuple surplus(Operator op, PyObject *const *given, Py_ssize_t count):
    # The surplus arguments as a tuple. One of whole numbers is used again where nobody else has kept it, as zip()
    # does with its own: `x.reshape(2, 3)` then makes no tuple.
    cdef tuple result = op.spare
    cdef Py_ssize_t position
    cdef bint reusable = True
    for position in range(count):
        if not PyLong_CheckExact(given[position]):
            reusable = False
            break
    if reusable and result is not None and Py_REFCNT(<PyObject *>result) == 2 and len(result) == count:
        for position in range(count):
            Py_INCREF(<object>given[position])
            earlier = PyTuple_GET_ITEM(<PyObject *>result, position)
            PyTuple_SET_ITEM(result, position, <object>given[position])
            Py_DECREF(earlier)
        return result
    result = PyTuple_New(count)
    for position in range(count):
        Py_INCREF(<object>given[position])
        PyTuple_SET_ITEM(result, position, <object>given[position])
    if reusable:
        op.spare = result
    return result


cdef object bind(Operator op, PyObject **arguments, tuple positional, dict keywords):
    # The tuple-and-dict form of bind_array.
    cdef tuple names = tuple(keywords)
    cdef list values = list(positional)
    values.extend(keywords.values())
    cdef PyObject *given[2 * MAXIMUM_PARAMETERS]
    cdef Py_ssize_t position
    if len(values) > 2 * MAXIMUM_PARAMETERS:
        raise errors.ArgumentError(f"{op} takes {op.parameter_count} arguments, not {len(values)}")
    for position in range(len(values)):
        given[position] = PyList_GET_ITEM(<PyObject *>values, position)
    return (values, bind_array(op, arguments, given, len(positional), <PyObject *>names))


cdef object bind_array(Operator op, PyObject **arguments, PyObject *const *given, Py_ssize_t count,
                       PyObject *keywords):
    # Borrowed references in the schema's order, NULL where nothing was given. Returns what must stay alive.
    cdef Py_ssize_t position, keyword, first_keyword = count
    cdef PyObject *name
    cdef tuple gathered = None
    cdef uint64_t missing_mask = op.required_mask
    memset(arguments, 0, op.parameter_count * sizeof(PyObject *))
    if op.gather >= 0 and count > op.gather + 1:
        gathered = surplus(op, given + op.gather, count - op.gather)
        arguments[op.gather] = <PyObject *>gathered
        count = op.gather
        missing_mask &= ~(<uint64_t>1 << op.gather)
    elif count > op.positional_count:
        raise errors.ArgumentError(f"{op} takes at most {op.positional_count} positional arguments "
                                   f"({count} given): {op._schema}")
    for position in range(count):
        arguments[position] = given[position]
        missing_mask &= ~(<uint64_t>1 << position)
    if keywords != NULL:
        for keyword in range(PyTuple_GET_SIZE(keywords)):
            name = PyTuple_GET_ITEM(keywords, keyword)
            position = find_name(op, name)
            if position < op.positional_only_count:
                raise errors.ArgumentError(f"{op} got an unexpected keyword argument {<object>name!r}: "
                                           f"{op._schema}")
            if arguments[position] != NULL:
                raise errors.ArgumentError(f"{op} got several values for argument {<object>name!r}: "
                                           f"{op._schema}")
            arguments[position] = given[first_keyword + keyword]
            missing_mask &= ~(<uint64_t>1 << position)
    if missing_mask:
        raise_missing(op, arguments)
    return gathered


cdef int find_name(Operator op, PyObject *name) except -2:
    cdef int position
    for position in range(op.parameter_count):
        if op.names[position] == name:
            return position
    for position in range(op.parameter_count):
        if PyUnicode_Compare(op.names[position], name) == 0:
            return position
    return -1


cdef int raise_missing(Operator op, PyObject **arguments) except -1:
    names = [repr((<Parameter>op.parameters[position]).name) for position in range(op.parameter_count)
             if op.required_mask >> position & 1 and arguments[position] == NULL]
    raise errors.ArgumentError(f"{op} is missing the argument {', '.join(names)}: {op._schema}")


cdef object run_keys(Operator op, PyObject **arguments, uint64_t keys):
    # The one step of the loop: the highest key that the operator does not let through. The kernel is held
    # while it runs: the table may be folded anew meanwhile.
    keys &= op.mask
    cdef int index = fastops_highest(keys | 1)
    cdef Kernel kernel = <Kernel>op.table[index]
    if thread.walk != NULL:
        return run_recorded(kernel, op, arguments, keys, index)
    return kernel.run(kernel, op, arguments, keys)


cdef object run_recorded(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys, int index):
    (<list>thread.walk).append((thread.depth, op, DispatchKey(index), kernel))
    thread.depth += 1
    try:
        return kernel.run(kernel, op, arguments, keys)
    finally:
        thread.depth -= 1


cdef object call_bound(Operator op, PyObject **arguments):
    # Arguments as they were given. Plain tensors and Python scalars take the short way.
    cdef uint64_t keys = 0, mask = op.tensor_mask
    cdef PyObject *value
    cdef int position
    while mask:
        position = fastops_lowest(mask)
        mask &= mask - 1
        value = arguments[position]
        if value == NULL:
            continue
        if Py_TYPE(value) == tensor_type:
            keys |= (<Tensor>value).keys
        elif not fastops_plain(value) and (op.array_mask >> position & 1 or not fastops_plain_tuple(value)):
            return call_with_foreign(op, arguments)
    if keys == 0 and op.array_mask:
        return call_with_foreign(op, arguments)
    return run_keys(op, arguments, (keys | op.forced | thread.included) & ~thread.excluded)


cdef object call_with_foreign(Operator op, PyObject **arguments):
    # Subclasses, lists that may hold tensors, and array-likes, which become tensors here; where no argument is
    # a tensor, scalars do too.
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef list owned = []
    cdef uint64_t keys = 0, bit
    cdef PyObject *value
    cdef int position
    for position in range(op.parameter_count):
        value = values[position] = arguments[position]
        bit = <uint64_t>1 << position
        if value == NULL or not op.tensor_mask & bit:
            continue
        if op.array_mask & bit and not is_tensor(value) and not fastops_plain(value):
            converted = array_hook(<object>value)
            owned.append(converted)
            value = values[position] = <PyObject *>converted
        keys |= keys_of(value)
    if keys == 0:
        for position in range(op.parameter_count):
            value = values[position]
            if value == <PyObject *>None and op.array_mask & op.required_mask & <uint64_t>1 << position \
                    and not (<Parameter>op.parameters[position]).optional:
                raise errors.ArgumentError(f"{op}: the argument {(<Parameter>op.parameters[position]).name!r} is None, where "
                                           f"an array is wanted: {op._schema}")
            if op.array_mask >> position & 1 and value != NULL and value != <PyObject *>None:
                converted = array_hook(<object>value)
                owned.append(converted)
                values[position] = <PyObject *>converted
                keys |= keys_of(<PyObject *>converted)
    return run_keys(op, values, (keys | op.forced | thread.included) & ~thread.excluded)


cdef object call_checked(Operator op, PyObject **arguments, uint64_t keys, bint redispatching):
    # A user's operator: every argument is converted to what the schema says, and defaults are left out.
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef int position, filled = 0
    cdef Parameter parameter
    try:
        for position in range(op.parameter_count):
            values[position] = NULL
            filled += 1
            if arguments[position] == NULL:
                continue
            parameter = <Parameter>PyList_GET_ITEM(<PyObject *>op.parameters, position)
            value = parameter.convert(arguments[position], op)
            if parameter.required or not parameter.is_default(<PyObject *>value):
                Py_INCREF(value)
                values[position] = <PyObject *>value
        if not redispatching:
            for position in range(op.parameter_count):
                if op.tensor_mask >> position & 1 and values[position] != NULL:
                    keys |= keys_of(values[position])
            keys = (keys | op.forced | thread.included) & ~thread.excluded
        return run_keys(op, values, keys)
    finally:
        for position in range(filled):
            Py_XDECREF(values[position])


cdef uint64_t keys_of(PyObject *value) noexcept:
    cdef uint64_t keys = 0
    cdef Py_ssize_t position
    if is_tensor(value):
        return (<Tensor>value).keys
    if PyList_Check(value):
        for position in range(PyList_GET_SIZE(value)):
            keys |= keys_of(PyList_GET_ITEM(value, position))
    elif PyTuple_Check(value):
        for position in range(PyTuple_GET_SIZE(value)):
            keys |= keys_of(PyTuple_GET_ITEM(value, position))
    return keys


cdef PyObject *operator_get(PyObject *self, PyObject *instance, PyObject *owner) noexcept:
    # As a function does: bound to an instance, itself on a class.
    if instance == NULL:
        Py_INCREF(<object>self)
        return self
    cdef object method
    try:
        method = PyMethod_New(self, instance)
    except BaseException:
        return NULL
    Py_INCREF(method)
    return <PyObject *>method


def record_walk(call):
    """Run *call* and return its result and the steps taken: a list of (depth, operator, key, kernel)."""
    cdef PyObject *earlier = thread.walk
    cdef int depth = thread.depth
    cdef list walk = []
    thread.walk = <PyObject *>walk
    thread.depth = 0
    try:
        return call(), walk
    finally:
        thread.walk = earlier
        thread.depth = depth


# ------------------------------------------------------------- what Cython has no spelling for: type slots

cdef PyTypeObject *tensor_type = <PyTypeObject *>Tensor

cdef int set_up_types() except -1:
    global cython_dealloc, cython_traverse, weak_references_offset
    cdef TypeStruct *tensor = <TypeStruct *>tensor_type
    cdef TypeStruct *op = <TypeStruct *><PyTypeObject *>Operator
    cdef Operator probe = Operator.__new__(Operator)
    # A new tensor header costs a dozen instructions: exact tensors come back to a freelist whole.
    cython_dealloc = tensor.tp_dealloc
    cython_traverse = tensor.tp_traverse
    weak_references_offset = tensor.tp_weaklistoffset
    tensor.tp_dealloc = tensor_dealloc
    tensor.tp_traverse = tensor_traverse
    # An operator is called through vectorcall and binds as a method like a function does.
    op.tp_vectorcall_offset = <char *>&probe.vectorcall - <char *><PyObject *>probe
    op.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR
    op.tp_call = PyVectorcall_Call
    op.tp_descr_get = operator_get
    PyType_Modified(<PyTypeObject *>Operator)
    return 0

set_up_types()
_convert_module.set_tensor_type(Tensor)
_convert_module.set_device_type(device)
OpOverload = Operator
