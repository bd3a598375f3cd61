"""What other compiled rooms use of the views: how arguments are read."""

from cpython.object cimport PyObject

from fastops._dispatch cimport Operator, Tensor

cdef Tensor array_argument(Operator op, PyObject **arguments)
cdef int axis_number(Operator op, PyObject *value, int rank) except -1
cdef bint is_given(PyObject *value) noexcept
