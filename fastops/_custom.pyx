"""What calls of ``custom_op``'s operators add to those of others: results that share no memory with arguments, writes that show."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from fastops._dispatch cimport (Kernel, MAXIMUM_PARAMETERS, Operator, Storage, Tensor, ThreadState, VectorcallFunction, is_tensor,
                                mark_written, thread_state)

from fastops import errors

cdef extern from "Python.h":
    ctypedef struct TypeStruct "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
        PyObject *(*tp_call)(PyObject *, PyObject *, PyObject *)
    const unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *)
    void PyType_Modified(void *)
    bint PyList_Check(PyObject *)
    bint PyTuple_Check(PyObject *)
    Py_ssize_t PyList_GET_SIZE(PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)

cdef enum:
    AUTOGRAD_BIT = 1 << 10


cdef class CustomKernel(Kernel):
    """A user's function behind an operator: nothing in it is recorded, its results are new, its writes move versions."""
    cdef Kernel inner

    def __init__(self, function):
        super().__init__(function)
        self.inner = Kernel(function)
        self.run = run_custom


cdef object run_custom(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef CustomKernel kernel = <CustomKernel>base
    cdef ThreadState *thread = thread_state()
    cdef uint64_t excluded = thread.excluded
    cdef int position
    thread.excluded |= AUTOGRAD_BIT
    try:
        result = kernel.inner.run(kernel.inner, op, arguments, keys)
    finally:
        thread.excluded = excluded
    for position in range(op.parameter_count):
        if arguments[position] != NULL and op.tensor_mask >> position & 1:
            if op.write_mask >> position & 1:
                written(op, arguments[position])
            if result is not None:
                check_apart(op, kernel, result, arguments[position], position)
    if isinstance(result, (tuple, list)):
        check_twins(op, kernel, result)
    return result


cdef int written(Operator op, PyObject *value) except -1:
    if is_tensor(value):
        mark_written(<Tensor>value, op)
    elif PyList_Check(value) or PyTuple_Check(value):
        for item in <object>value:
            written(op, <PyObject *>item)
    return 0


cdef int check_apart(Operator op, CustomKernel kernel, object result, PyObject *value, int position) except -1:
    cdef Py_ssize_t place
    if is_tensor(value):
        if is_tensor(<PyObject *>result):
            if (<Tensor>result).storage == (<Tensor>value).storage:
                raise errors.AliasError(f"{op}: the function {kernel.source} returned its argument {op.parameters[position].name!r}, or an array that "
                                        "shares its memory: return a copy (.clone())")
        elif isinstance(result, (tuple, list)):
            for item in result:
                check_apart(op, kernel, item, value, position)
    elif PyList_Check(value) or PyTuple_Check(value):
        for item in <object>value:
            check_apart(op, kernel, result, <PyObject *>item, position)
    return 0


cdef int check_twins(Operator op, CustomKernel kernel, object results) except -1:
    flat = []
    for item in results:
        flat.extend(item if isinstance(item, (tuple, list)) else (item,))
    seen = set()
    for item in flat:
        if is_tensor(<PyObject *>item):
            if <size_t>(<Tensor>item).storage in seen:
                raise errors.AliasError(f"{op}: two results of the function {kernel.source} share memory: return a copy (.clone()) of one")
            seen.add(<size_t>(<Tensor>item).storage)
    return 0


cdef class Handle:
    """Something that is called as an operator is: the call costs nothing more."""
    cdef VectorcallFunction vectorcall
    cdef Operator op

    def __cinit__(self):
        self.vectorcall = call_handle

    def _hold(self, Operator op not None):
        self.op = op

    @property
    def _opoverload(self):
        """The operator."""
        return self.op


cdef object call_handle(PyObject *self, PyObject *const *given, size_t nargsf, PyObject *keywords):
    cdef Operator op = (<Handle>self).op
    return op.vectorcall(<PyObject *>op, given, nargsf, keywords)


cdef int set_up_calls(TypeStruct *kind) except -1:
    # Called through vectorcall, as operators are; classes made in Python do not take this over by themselves.
    cdef Handle probe = Handle.__new__(Handle)
    kind.tp_vectorcall_offset = <char *>&probe.vectorcall - <char *><PyObject *>probe
    kind.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL
    kind.tp_call = PyVectorcall_Call
    PyType_Modified(<void *>kind)
    return 0

set_up_calls(<TypeStruct *><PyObject *>Handle)


def quickly_called(type cls not None):
    """A decorator of subclasses of Handle: their instances are called without a detour."""
    set_up_calls(<TypeStruct *><PyObject *>cls)
    return cls
