"""Arguments of users' operators, checked and converted in C as their schema says."""

from cpython.object cimport PyObject

cdef class Parameter:
    cdef readonly str name
    cdef readonly bint keyword_only, positional_only, required, optional
    cdef readonly object default
    cdef readonly bint holds_tensors    # may be a tensor, or hold tensors
    cdef readonly Parameter element     # of a list, else None
    cdef readonly object type           # the schema's Type
    cdef int kind
    cdef Py_ssize_t size                # of int[N], -1 for any
    cdef list items                     # Parameters of a tuple's places
    cdef object convert(self, PyObject *value, object op)
    cdef bint is_default(self, PyObject *value) except -1
    cdef object integer(self, PyObject *value, object op)
    cdef object real(self, PyObject *value, object op)
    cdef object truth(self, PyObject *value, object op)
    cdef object dtype(self, PyObject *value, object op)
    cdef object sequence(self, PyObject *value, object op)
    cdef object refuse(self, PyObject *value, object op, str because)
