"""What other compiled rooms use of the CPU engine: loop nests, casts, copies, ufunc loops, NumPy views."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from fastops._dispatch cimport ElementType, Kernel, Operator, Tensor

cdef enum:
    OPERANDS = 8                # the most operands one loop has
    DIMENSIONS = 64
    BOOL_CODE = 3               # bool's place among the element types
    WEAK_INTEGER = 29           # codes of Python scalars, which have a kind but no dtype (NEP 50)
    WEAK_FLOAT = 30
    WEAK_COMPLEX = 31
    LONG_WORK = 8192            # elements from which the GIL is released

ctypedef void (*LoopFunction)(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

ctypedef struct Loop:
    # One inner loop of a ufunc and the element types of its operands.
    LoopFunction function
    void *data
    ElementType *types[OPERANDS]
    int key

ctypedef struct Nest:
    # The loops around an inner loop: sizes, and for each operand a pointer and its steps in bytes.
    int rank
    int operands
    Py_ssize_t sizes[DIMENSIONS]
    Py_ssize_t steps[OPERANDS][DIMENSIONS]
    char *data[OPERANDS]

cdef extern from *:
    """
    /* A loop that ran without the GIL may have left an exception: -1 then, which Cython passes on. */
    #define fastops_pending_error() (PyErr_Occurred() ? -1 : 0)
    """
    int raise_pending "fastops_pending_error"() except -1

cdef class Loops:
    # Inner loops, found by the codes of the inputs.
    cdef readonly object ufunc          # None where the loops are our own
    cdef readonly int input_count, output_count
    cdef Loop **loops               # each stays where it is: others may be running it
    cdef int loop_count, loop_space
    cdef unsigned short table[1024] # by the codes of one or two inputs: the loop's number + 1, 0 for not yet resolved
    cdef Loop *find(self, Operator op, const int *codes) except NULL
    cdef Loop *resolve(self, Operator op, const int *codes) except NULL
    cdef Loop *keep(self, Operator op, const int *codes, LoopFunction function, void *data) except NULL

cdef class UfuncLoops(Loops):
    cdef object prepare             # called with new dtypes, or None

cdef ElementType *promote(int first, int second) except NULL
cdef ElementType *element_argument(Operator op, PyObject *dtype) except NULL
cdef int scalar_code(PyObject *value) noexcept
cdef int store_scalar(Operator op, PyObject *value, ElementType *element, char *place) except -1

cdef int broadcast(Operator op, int count, PyObject **operands, int *rank, Py_ssize_t *sizes) except -1
cdef void nest_begin(Nest *nest, int rank, const Py_ssize_t *sizes) noexcept nogil
cdef void nest_operand(Nest *nest, char *data, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps) noexcept nogil
cdef void nest_order(Nest *nest) noexcept nogil
cdef bint nest_next(Nest *nest, Py_ssize_t *counter, char **pointers, int inner) noexcept nogil

cdef int run_nest(Operator op, Nest *nest, Loop *loop, ElementType **actual, int inputs) except -1
cdef void run_inner(Loop *loop, ElementType **actual, char **pointers, const Py_ssize_t *steps, Py_ssize_t count,
                    int inputs, int operands) noexcept nogil

cdef void cast_strided(char *target, Py_ssize_t target_step, ElementType *target_type, const char *source,
                       Py_ssize_t source_step, ElementType *source_type, Py_ssize_t count) noexcept nogil
cdef int copy_into(Tensor target, Tensor source) except -1
cdef Tensor contiguous_copy(Tensor source, ElementType *element)
cdef bint overlaps(Tensor first, Tensor second) noexcept nogil
cdef bint same_layout(Tensor first, Tensor second) noexcept nogil
cdef int require_no_self_overlap(Tensor tensor, Operator op) except -1
cdef int require_castable(ElementType *source, ElementType *target, Operator op) except -1
cdef const Py_ssize_t *ordered_steps(Operator op, PyObject *order, Tensor like, bint keep) except? NULL
cdef bint is_column_major(Tensor tensor) noexcept nogil
cdef Tensor output_argument(Operator op, PyObject *value)
cdef int require_output(Operator op, Tensor out, int rank, const Py_ssize_t *sizes, ElementType *element, int backend,
                        int device_index) except -1

cdef int store_value(Operator op, PyObject *value, ElementType *element, char *place) except -1
cdef object load_scalar(Tensor tensor)
cdef int parse_shape(Operator op, PyObject *value, int *rank, Py_ssize_t *sizes) except -1

cdef int floating_point_begin() noexcept nogil
cdef int floating_point_end(Operator op) except -1
cdef bint floating_point_invalid() noexcept nogil

cdef object to_ndarray(Tensor tensor)
cdef Tensor from_ndarray(object array)
cdef bint is_ndarray(PyObject *value) noexcept
