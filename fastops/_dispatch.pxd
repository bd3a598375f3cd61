"""What other Cython modules may use of the machine: keys, Tensor, Kernel, Operator, memory.

A package with kernels of its own writes ``from fastops._dispatch cimport Tensor, Kernel, Operator``,
subclasses Kernel, sets ``run`` and puts an instance into an operator's ``kernels``.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef enum Key:
    # Runtime keys, lowest priority first; the value is the bit's position and the table's index.
    UNDEFINED = 0
    CPU = 1
    CUDA = 2
    PRIVATE_USE_1 = 3
    PRIVATE_USE_2 = 4
    PRIVATE_USE_3 = 5
    META = 6
    BACKEND_SELECT = 7
    PYTHON = 8
    BATCHED = 9
    AUTOGRAD = 10
    AUTOCAST = 11
    TRANSFORM_FRONT = 12
    KEY_COUNT = 13
    BACKEND_COUNT = 7           # UNDEFINED and the six backends
    BACKEND_BITS = 0x7e
    # Registration keys: a functionality on one backend (base + backend), and aliases.
    AUTOGRAD_ON = 32
    AUTOCAST_ON = 48
    COMPOSITE_EXPLICIT = 64
    COMPOSITE_IMPLICIT = 65

cdef enum Limit:
    INLINE_DIMENSIONS = 4       # layouts up to this many axes need no allocation
    MAXIMUM_DIMENSIONS = 64     # NumPy's own limit
    MAXIMUM_PARAMETERS = 64     # one bit each in an operator's masks

cdef enum Flag:
    CONTIGUOUS = 1              # row-major without gaps
    READ_ONLY = 2
    COLLECTABLE = 4             # of a storage: its owner can be part of a reference cycle

ctypedef struct ElementType:
    int code                    # dense index, stable within a process
    int number                  # NumPy's type number
    Py_ssize_t itemsize
    char kind                   # b i u f c, as in NumPy
    char *format                # PEP 3118
    PyObject *dtype             # the NumPy dtype object, kept for ever

ctypedef struct Storage:
    # One block of memory that tensors share; counted under the GIL. 64 bytes, so that data
    # which follows in the same block keeps the block's 64-byte alignment.
    Py_ssize_t references
    int64_t version             # moves with every write; views share it
    char *data
    Py_ssize_t nbytes
    PyObject *owner             # keeps foreign memory alive
    void (*release)(Storage *) noexcept
    int32_t size_class          # index of the freelist it came from, -1 for none
    uint32_t flags
    void *context               # for backends

ctypedef Storage *(*Allocator)(Py_ssize_t nbytes, int index) except NULL

cdef extern from *:
    """
    #ifndef FASTOPS_THREAD_STATE
    #define FASTOPS_THREAD_STATE
    #include <stdint.h>
    typedef struct {
        uint64_t included, excluded;
        PyObject *interpreters, *walk;
        int depth, levels, no_grad, formula, headers;
    } fastops_thread_state;

    /* Whether a product does not fit; *result holds it if it does. A division costs more than all the rest of
       a small allocation. */
    static inline int fastops_overflows(Py_ssize_t first, Py_ssize_t second, Py_ssize_t *result) {
    #if defined(__GNUC__)
        return __builtin_mul_overflow(first, second, result);
    #else
        *result = (Py_ssize_t)((size_t)first * (size_t)second);
        return first > 0 && second > PY_SSIZE_T_MAX / first;
    #endif
    }
    #endif
    """
    bint overflows "fastops_overflows"(Py_ssize_t first, Py_ssize_t second, Py_ssize_t *result) noexcept nogil
    ctypedef struct ThreadState "fastops_thread_state":
        uint64_t included
        uint64_t excluded
        PyObject *interpreters      # list of transforms, innermost last; NULL when empty
        PyObject *walk              # list that explain() collects, or NULL
        int depth                   # of the kernel that runs, while a walk is collected
        int levels                  # how many transforms of functions are open in this thread
        int no_grad                 # nonzero: nothing is recorded for derivatives
        int formula                 # nonzero: a user's formula of a derivative runs
        int headers                 # of mapped tensors above the array that is written, which share its memory rightly

cdef class Tensor:
    cdef char *data
    cdef Storage *storage
    cdef ElementType *element
    cdef Py_ssize_t *sizes
    cdef Py_ssize_t *steps      # in bytes
    cdef Py_ssize_t count        # number of elements
    cdef uint64_t keys
    cdef int rank
    cdef uint32_t flags
    cdef int32_t backend
    cdef int32_t device_index
    cdef object autograd        # None, what the Autograd key keeps, or the Tracer of a transform
    cdef object origin          # the tensor of which this one is a view, None if it is none
    cdef uint64_t generation    # which state of origin's record this view's own record was made from
    cdef int number             # which result of its record's operator this is
    cdef object __weakref__
    cdef Py_ssize_t layout[8]   # 2 * INLINE_DIMENSIONS

cdef class Kernel
cdef class Operator
cdef class Level

ctypedef object (*LevelFunction)(Level level, Operator op, PyObject **arguments)

cdef class Level:
    # One call of a transform of functions: what its tracers refer to, and how it handles an operator.
    cdef LevelFunction process
    cdef readonly int depth
    cdef public bint alive
    cdef bint differentiates    # handles what the Autograd key handles elsewhere
    cdef public object label    # what the transform is called, or the function that it transforms
    cdef object __weakref__

cdef class Tracer:
    # What a transform keeps in Tensor.autograd: the tensor underneath, which a lower level or none stands for.
    cdef Level level
    cdef Tensor primal

ctypedef object (*KernelFunction)(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys)

cdef class Kernel:
    cdef KernelFunction run
    cdef readonly object function
    cdef readonly bint with_keyset
    cdef readonly str description

ctypedef object (*VectorcallFunction)(PyObject *, PyObject *const *, size_t, PyObject *)

cdef class Operator:
    cdef VectorcallFunction vectorcall
    cdef PyObject *table[13]    # Kernels by runtime key, folded; KEY_COUNT
    cdef uint64_t mask          # keys whose slot is not a fallthrough
    cdef uint64_t forced        # keys that every call of this operator has
    cdef uint64_t tensor_mask   # parameters that can hold tensors, also inside lists
    cdef uint64_t array_mask    # parameters that take whatever asarray takes
    cdef uint64_t required_mask
    cdef int parameter_count
    cdef int positional_count
    cdef int positional_only_count
    cdef readonly int gather    # parameter that takes surplus positional arguments, -1 for none
    cdef int device_position    # parameter of type Device, -1 for none
    cdef int requires_position  # parameter that asks for gradients, -1 for none
    cdef Kernel composition     # what the operator is made of, where it has no kernel of its own
    cdef Kernel differentiator  # a kernel of its own at the Autograd key, or None
    cdef uint64_t write_mask    # parameters that the schema says are written
    cdef public object derivative   # what the declaration says of the derivative, or None
    cdef public object batching     # what the declaration says of calls on mapped arrays, or None
    cdef PyObject *names[64]    # interned; MAXIMUM_PARAMETERS; owned by `parameters`
    cdef readonly bint checked  # arguments converted and results checked against the schema
    cdef readonly list parameters
    cdef readonly object _schema
    cdef public dict kernels
    cdef public list tags
    cdef public object rules    # what the declaration says beside the kernels
    cdef readonly str namespace, _opname, _overloadname, _name
    cdef str retired
    cdef tuple spare            # of gathered whole numbers, for reuse
    cdef list results           # converters of the declared results
    cdef list folded            # owns the Kernels in `table`
    cdef object __weakref__
    cdef dict __dict__
    cdef Kernel resolve(self, int key, int backend)

# Tensors
cdef Tensor new_header(int ndim)
cdef Tensor new_tensor(int ndim, const Py_ssize_t *sizes, ElementType *element, int backend, int device_index)
cdef Tensor new_strided(int ndim, const Py_ssize_t *sizes, const Py_ssize_t *steps, ElementType *element, int backend, int device_index)
cdef Tensor new_view(Tensor base, int ndim)
cdef int finish_layout(Tensor tensor) except -1
cdef int adopt(Tensor target, Tensor source) except -1
cdef int require_values(Tensor tensor) except -1
cdef void track(Tensor tensor) noexcept
cdef Py_ssize_t count_elements(int ndim, const Py_ssize_t *sizes, Py_ssize_t itemsize) except -1
cdef Storage *new_storage(Py_ssize_t nbytes) except NULL
cdef Storage *foreign_storage(char *data, Py_ssize_t nbytes, object owner, bint read_only) except NULL
cdef void release_storage(Storage *storage) noexcept
cdef void mark_written(Tensor tensor, Operator op) noexcept
cdef int require_writable(Tensor tensor, object op) except -1
cdef void set_allocator(int backend, Allocator allocator) noexcept

# Element types
cdef ElementType *element_type(int code) noexcept nogil
cdef ElementType *element_of(object dtype) except NULL
cdef ElementType *element_by_number(int number) noexcept nogil

# Calls
cdef object call_bound(Operator op, PyObject **arguments)
cdef object run_keys(Operator op, PyObject **arguments, uint64_t keys)
cdef Kernel machine_kernel(KernelFunction run, str description)
cdef tuple python_arguments(Operator op, PyObject **arguments)
cdef Level level_of(PyObject *value)
cdef str last_writer(Tensor tensor)
cdef ThreadState *thread_state() noexcept nogil
cdef inline bint is_tensor(PyObject *value) noexcept:
    return isinstance(<object>value, Tensor)
cdef int parse_device(object device, int *backend, int *index) except -1
cdef tuple shape_tuple(int ndim, const Py_ssize_t *sizes)
