"""What the forward mode uses of the reverse one: how a derivative is declared, and how its formulas are called."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastops._dispatch cimport Level, Operator, Tensor, Tracer

cdef enum Limit:
    MOST_VALUES = 14            # that the formulas of one operator use

ctypedef object (*CustomRecord)(object custom, Operator op, PyObject **arguments, PyObject **values, object result, Level level)

cdef enum FormulaKind:
    CONSTANT, PARTIAL, WEIGHTS, TRANSPOSE

cdef class Formula:
    cdef int kind
    cdef int parameter          # position among the operator's parameters
    cdef object constant        # a number, for CONSTANT
    cdef object function
    cdef int count
    cdef int places[14]         # for each of the function's parameters: which value, -1 for the cotangent

cdef class Derivative:
    cdef readonly Operator op
    cdef readonly bint linear, multilinear
    cdef readonly object refusal, composition
    cdef readonly object smooth, hermitian, determined, custom      # for the laws, see fastops.derivatives
    cdef CustomRecord record_custom     # for custom
    cdef list formulas
    cdef int value_count
    cdef int kinds[14]          # of each value, see ValueKind
    cdef int positions[14]
    cdef uint32_t users[14]     # which formulas use the value
    cdef int at_axis, at_keepdims
    cdef bint elementwise       # all formulas are partial derivatives
    cdef int first_option       # where, dtype and casting of an elementwise operator; -1 without

cdef Derivative derivative_of(Operator op)
cdef object attach_one_result(list leaves, Tensor result, object backward, str label, Level level)
cdef bint takes_part(PyObject *value, Level level) noexcept
cdef object value_of(Derivative derivative, int slot, PyObject **values, object result)
cdef object call_with_values(Formula formula, list values, object cotangent)
cdef object scaled(object cotangent, object factor)
cpdef object structural(str name)
cdef Tensor alias_of(Tensor tensor)
cdef Tensor beneath(Tensor tensor, Level level)
cdef bint is_inexact(Tensor tensor) noexcept
cdef int check_read(Operator op, object result) except -1

cdef class ReverseLevel(Level):
    cdef int outer_no_grad          # whether nothing was recorded around it
    cdef list leaves
