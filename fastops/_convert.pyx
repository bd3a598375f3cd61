"""Arguments of users' operators, checked and converted in C as their schema says.

``Parameter.convert`` returns the value a kernel sees, the argument itself where it fits; anything else raises
ArgumentError with the operator, its schema, the parameter and the value. Nothing is narrowed in silence: a float is
not an int, None is no bool, a string no list of strings.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t

from fastops.errors import ArgumentError

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject *)
    bint PyFloat_Check(PyObject *)
    bint PyLong_CheckExact(PyObject *)
    bint PyBool_Check(PyObject *)
    bint PyUnicode_CheckExact(PyObject *)
    bint PyList_CheckExact(PyObject *)
    bint PyTuple_CheckExact(PyObject *)
    bint PyComplex_CheckExact(PyObject *)
    bint PyObject_TypeCheck(PyObject *, PyTypeObject *)
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *) except? -1
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)

cdef enum Kind:
    ANY, TENSOR, INT, FLOAT, BOOL, STR, SCALAR, COMPLEX, DTYPE, DEVICE, LIST, TUPLE, DICT

cdef dict kinds = {"Tensor": TENSOR, "Array": ANY, "int": INT, "SymInt": INT, "float": FLOAT, "SymFloat": FLOAT,
                   "bool": BOOL, "SymBool": BOOL, "str": STR, "Scalar": SCALAR, "number": SCALAR, "complex": COMPLEX,
                   "ScalarType": DTYPE, "Device": DEVICE, "Dict": DICT}

cdef object tensor_class = None
cdef object device_class = None


def set_tensor_type(type cls):
    """Say which class tensors are of; the machine does."""
    global tensor_class
    tensor_class = cls


def set_device_type(cls):
    """Say what makes a device of a name; the machine does."""
    global device_class
    device_class = cls


cdef inline bint is_tensor(PyObject *value) noexcept:
    return PyObject_TypeCheck(value, <PyTypeObject *>tensor_class)


cdef class Parameter:
    """One parameter (or result) of a schema, ready for C."""

    cdef object convert(self, PyObject *value, object op):
        cdef int overflow = 0
        cdef int kind = self.kind
        if value == <PyObject *>None:
            if self.optional or kind == ANY:
                return None
            return self.refuse(value, op, "None is not allowed")
        if kind == TENSOR:
            if is_tensor(value):
                return <object>value
        elif kind == INT:
            if PyLong_CheckExact(value):
                PyLong_AsLongLongAndOverflow(value, &overflow)
                if overflow:
                    return self.refuse(value, op, "it does not fit into 64 bits")
                return <object>value
            return self.integer(value, op)
        elif kind == FLOAT:
            if PyFloat_CheckExact(value):
                return <object>value
            return self.real(value, op)
        elif kind == BOOL:
            if PyBool_Check(value):
                return <object>value
            return self.truth(value, op)
        elif kind == STR:
            if PyUnicode_CheckExact(value) or isinstance(<object>value, str):
                return <object>value
            if isinstance(<object>value, bytes):
                return (<bytes><object>value).decode()
        elif kind == SCALAR:
            if PyFloat_CheckExact(value) or PyLong_CheckExact(value) or PyBool_Check(value) or PyComplex_CheckExact(value):
                return <object>value
            number = number_of(<object>value)
            if number is not None:
                return number
        elif kind == COMPLEX:
            number = number_of(<object>value)
            if number is not None:
                return complex(number)
        elif kind == DTYPE:
            return self.dtype(value, op)
        elif kind == DEVICE:
            if isinstance(<object>value, (str, device_class)):
                return device_class(<object>value)
        elif kind == LIST:
            return self.sequence(value, op)
        elif kind == TUPLE:
            if isinstance(<object>value, (tuple, list)) and len(<object>value) == len(self.items):
                return tuple([(<Parameter>item).convert(<PyObject *>part, op)
                              for item, part in zip(self.items, <object>value)])
        elif kind == DICT:
            if isinstance(<object>value, dict):
                return {(<Parameter>self.items[0]).convert(<PyObject *>key, op):
                        (<Parameter>self.items[1]).convert(<PyObject *>part, op)
                        for key, part in (<dict><object>value).items()}
        else:
            return <object>value
        return self.refuse(value, op, "")

    cdef object integer(self, PyObject *value, object op):
        given = <object>value
        if is_tensor(value):
            if given.size == 1 and given.dtype.kind in "biu":
                return int(given.item())
            return self.refuse(value, op, f"only a tensor of one whole number is an int, not one of shape {given.shape} "
                                          f"and dtype {given.dtype}")
        if PyBool_Check(value) or hasattr(given, "__index__") and not isinstance(given, (list, tuple, str)):
            try:
                number = int(given.__index__())
            except TypeError:
                return self.refuse(value, op, "")
            if not -(1 << 63) <= number < 1 << 63:
                return self.refuse(value, op, "it does not fit into 64 bits")
            return number
        if isinstance(given, float) or hasattr(given, "dtype"):
            return self.refuse(value, op, "a whole number is wanted; round it first")
        return self.refuse(value, op, "")

    cdef object real(self, PyObject *value, object op):
        given = <object>value
        if PyLong_CheckExact(value) or PyBool_Check(value):
            return float(given)
        if is_tensor(value):
            if given.size == 1 and given.dtype.kind in "biuf":
                return float(given.item())
            return self.refuse(value, op, "only a tensor of one real number is a float")
        number = number_of(given)
        if number is None or isinstance(number, complex):
            return self.refuse(value, op, "")
        return float(number)

    cdef object truth(self, PyObject *value, object op):
        given = <object>value
        if is_tensor(value) and given.size == 1:
            return bool(given.item())
        number = number_of(given)
        if number is None:
            return self.refuse(value, op, "")
        return bool(number)

    cdef object dtype(self, PyObject *value, object op):
        import numpy
        given = <object>value
        if isinstance(given, numpy.dtype):
            return given
        if isinstance(given, (type, str)):
            try:
                return numpy.dtype(given)
            except TypeError:
                return self.refuse(value, op, "there is no such dtype")
        return self.refuse(value, op, "a dtype is wanted, such as numpy.float32 or 'float32'")

    cdef object sequence(self, PyObject *value, object op):
        cdef Py_ssize_t position, count
        cdef list result
        cdef Parameter element = self.element
        cdef bint numbers = element.kind == INT or element.kind == FLOAT or element.kind == BOOL or element.kind == SCALAR
        given = <object>value
        if not (PyList_CheckExact(value) or PyTuple_CheckExact(value) or isinstance(given, (list, tuple, range))):
            if self.size >= 0 and (element.kind == INT or element.kind == FLOAT) and not hasattr(given, "__len__"):
                return [element.convert(value, op)] * self.size     # one number stands for all N
            if not numbers or is_tensor(value) or getattr(given, "ndim", 0) != 1:
                return self.refuse(value, op, "a list or a tuple is wanted")
            given = given.tolist()
        result = []
        count = len(given)
        if self.size >= 0 and count != self.size:
            return self.refuse(value, op, f"{self.size} values are wanted, not {count}")
        for item in given:
            result.append(element.convert(<PyObject *>item, op))
        return result

    cdef bint is_default(self, PyObject *value) except -1:
        # Never compares arrays: == on those is elementwise.
        default = self.default
        given = <object>value
        if self.required:
            return False
        if given is default:
            return True
        if given is None or default is None or is_tensor(value):
            return False
        if self.kind == LIST:
            if not isinstance(given, (list, tuple)) or not isinstance(default, (list, tuple)):
                return False
            if len(given) != len(default):
                return False
            for item in given:
                if is_tensor(<PyObject *>item) or hasattr(item, "__array__"):
                    return False
            return list(given) == list(default)
        if isinstance(given, (bool, int, float, complex, str)):
            return isinstance(default, (bool, int, float, complex, str)) and given == default
        if self.kind == DTYPE or self.kind == DEVICE:
            return given == default
        return False

    cdef object refuse(self, PyObject *value, object op, str because):
        text = repr(<object>value)
        if len(text) > 60:
            text = text[:57] + "..."
        raise ArgumentError(f"{op}: the argument {self.name!r} is {text} ({type(<object>value).__name__}), but the schema "
                            f"{op._schema} wants {self.type}" + (f": {because}" if because else ""))

    def __repr__(self):
        return f"<Parameter {self.type} {self.name}>"


cdef object number_of(object value):
    # The Python number behind a number of Python's or NumPy's; None for anything else.
    if isinstance(value, (bool, int, float, complex)):
        for cls in (bool, int, float, complex):
            if isinstance(value, cls):
                return cls(value)
    if getattr(value, "shape", None) == () and hasattr(value, "dtype") and value.dtype.kind in "biufc" \
            and not isinstance(value, tensor_class) and not hasattr(value, "__array_function__"):
        return value.item()
    return None


cdef Parameter parameter(str name, object kind, bint keyword_only, bint positional_only, bint required, object default):
    cdef Parameter result = Parameter.__new__(Parameter)
    result.name = name
    result.type = kind
    result.keyword_only = keyword_only
    result.positional_only = positional_only
    result.required = required
    result.default = default
    result.optional = kind.optional
    result.size = -1 if kind.size is None else kind.size
    if kind.element is not None:
        result.kind = LIST
        result.element = parameter(name, kind.element, False, False, True, None)
        result.holds_tensors = result.element.holds_tensors
    elif kind.items is not None:
        result.kind = DICT if kind.base == "Dict" else TUPLE
        result.items = [parameter(name, item, False, False, True, None) for item in kind.items]
        result.holds_tensors = any([(<Parameter>item).holds_tensors for item in result.items])
    else:
        result.kind = kinds.get(kind.base, ANY)
        result.holds_tensors = kind.base in ("Tensor", "Array", "Any")
    return result


cdef dict made = {}             # lists of Arguments by identity -> (the list, its Parameters): many operators share theirs


def parameters(arguments):
    """A Parameter for each Argument of a schema's arguments or results; one list for one list."""
    known = made.get(id(arguments))
    if known is not None and known[0] is arguments:
        return known[1]
    result = [parameter(argument.name, argument.type, argument.kwarg_only, argument.positional_only,
                        not argument.has_default_value(), argument.default_value if argument.has_default_value() else None)
              for argument in arguments]
    made[id(arguments)] = arguments, result
    return result
