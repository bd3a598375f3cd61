"""NumPy's functions on tensors: ``np.sin(t)``, ``np.concatenate([t, n])``, ``np.linalg.inv(t)`` become fastops' own.

NumPy hands a call that meets a Tensor to ``__array_ufunc__`` (ufuncs) or ``__array_function__`` (all else). The
counterpart is the operator of the same name, in the same part of the namespace; it goes through the dispatcher, so that
modes, transforms and subclasses see unmodified NumPy code. Any other ufunc becomes an operator on the spot. What has no
counterpart runs in NumPy on the memory of plain tensors on the CPU, and its arrays come back as tensors; for other
tensors it raises.
"""

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from fastops._dispatch cimport CPU, Tensor, mark_written, is_tensor

from types import MethodType

import numpy as np

from fastops import _dispatch as machine
from fastops import errors
from fastops._loops import as_ndarray, share_ndarray

# Arrays beside which a tensor stands; other types that take ufuncs over (xarray's, Dask's, pandas') go first.
KNOWN = (Tensor, np.ndarray, np.generic, int, float, complex, list, tuple)
OPTIONS = frozenset({"where", "dtype", "casting"})          # keywords of ufuncs that our elementwise operators have

cdef extern from "Python.h":
    PyObject **tuple_items "&PyTuple_GET_ITEM"(PyObject *, Py_ssize_t) noexcept
    object PyObject_Vectorcall(PyObject *, PyObject **, size_t, PyObject *)

cdef dict counterparts = {}         # function of NumPy's -> ours, or None where there is none; filled as they are met
cdef list providers = []            # the functions that find counterparts, in order


def add_provider(find):
    """Let *find*, from a function of NumPy's to ours or None, look for counterparts."""
    providers.append(find)


def counterpart(function):
    """What stands here for a function of NumPy's, or None."""
    cdef PyObject *known = PyDict_GetItem(counterparts, function)
    if known != NULL:
        return <object>known
    found = None
    for find in providers:
        found = find(function)
        if found is not None:
            break
    counterparts[function] = found
    return found


cdef class ArrayUfunc:
    """NumPy's protocol for ufuncs: the operator of the same name, or what ``fo.library.from_ufunc`` makes of it.

    An object and no function, so that the tuple of arguments that NumPy has made is handed on as it is.
    """

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *arguments, **kwargs):
        # The tensor that was asked, the ufunc, the method of it, the inputs.
        cdef PyObject *known
        cdef Py_ssize_t position, count = len(<tuple>arguments)
        if count < 4:
            raise TypeError("__array_ufunc__ takes a ufunc, its method and inputs")
        for position in range(3, count):
            if not is_tensor((tuple_items(<PyObject *>arguments, position))[0]):
                value = arguments[position]
                if not isinstance(value, KNOWN) and hasattr(type(value), "__array_ufunc__"):
                    return NotImplemented
        if not kwargs and arguments[2] == "__call__":
            known = PyDict_GetItem(counterparts, arguments[1])
            if known != NULL and known != <PyObject *>None:
                return PyObject_Vectorcall(known, tuple_items(<PyObject *>arguments, 3), count - 3, NULL)
        return array_ufunc(arguments[1], arguments[2], arguments[3:], kwargs)


cdef object array_ufunc(ufunc, str method, tuple inputs, dict kwargs):
    if method == "__call__":
        function = counterpart(ufunc)
        if function is not None:
            if not kwargs:
                return function(*inputs)
            if "out" not in kwargs and kwargs.keys() <= OPTIONS:
                return function(*inputs, **kwargs)
            out = kwargs.pop("out", None)
            kwargs.pop("subok", None)
            if kwargs.keys() <= OPTIONS:
                return with_out(function, inputs, kwargs, out)
            if out is not None:
                kwargs["out"] = out
    elif method in ("reduce", "accumulate"):
        function = counterpart(getattr(ufunc, method))
        if function is not None:
            kwargs.setdefault("axis", 0)
            out = kwargs.pop("out", None)
            try:
                return with_out(function, inputs, {name: value for name, value in kwargs.items() if value is not np._NoValue}, out)
            except errors.ArgumentError:
                pass
            if out is not None:
                kwargs["out"] = out
    elif method == "outer":
        function = counterpart(ufunc)
        if function is not None and not kwargs:
            first, second = map(machine.as_tensor, inputs)
            return function(first.reshape(first.shape + (1,) * second.ndim), second)
    return in_numpy(getattr(ufunc, method), inputs, kwargs, inputs[0] if method == "at" else None)


def array_function(self, function, types, args, kwargs):
    """NumPy's protocol for all other functions: the one of the same name here, or NumPy's on the tensors' memory."""
    for kind in types:
        if not issubclass(kind, (Tensor, np.ndarray)):
            return NotImplemented
    ours = counterpart(function)
    if ours is not None:
        try:
            out = kwargs.get("out")
            if out is None:
                return ours(*args, **kwargs)
            return with_out(ours, args, {name: value for name, value in kwargs.items() if name != "out"}, (out,))
        except (errors.ArgumentError, errors.NoArrayError):
            pass                    # an argument that only NumPy's function has, or one that is no array here
    return in_numpy(function, args, kwargs, None)


cdef object with_out(function, args, dict kwargs, out):
    # Arrays to write into may be NumPy's own: what was given comes back.
    if out is None:
        return function(*args, **kwargs)
    given = out if isinstance(out, tuple) else (out,)
    tensors = tuple([share_ndarray(place) if isinstance(place, np.ndarray) else place for place in given])
    result = function(*args, out=tensors[0] if len(tensors) == 1 else tensors, **kwargs)
    if len(given) == 1:
        return given[0] if given[0] is not None else result
    return tuple([made if place is None else place for made, place in zip(result, given)])


cdef object in_numpy(function, args, dict kwargs, written):
    # NumPy's own function on the memory of plain tensors.
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    result = function(*[as_array(name, value) for value in args],
                      **{key: as_array(name, value) for key, value in kwargs.items()})
    out = kwargs.get("out")
    for place in (written, *(out if isinstance(out, tuple) else (out,))):
        if isinstance(place, Tensor):
            mark_written(<Tensor>place, None)
    if out is not None:
        places = out if isinstance(out, tuple) else (out,)
        if len(places) == 1 and places[0] is not None:
            return places[0]
    return as_tensors(result)


cdef object as_array(str name, value):
    cdef Tensor tensor
    if isinstance(value, Tensor):
        tensor = <Tensor>value
        if tensor.keys != <uint64_t>1 << CPU:
            raise TypeError(f"numpy.{name} has no counterpart in fastops that takes these arguments, and a tensor with keys "
                            f"{tensor.keyset()} on device '{tensor.device}' cannot be handed to NumPy; rewrite the call in fastops, "
                            "or take its values first (detach(), cpu())")
        return as_ndarray(tensor)
    if type(value) in (list, tuple):
        return type(value)([as_array(name, item) for item in value])
    if type(value) is dict:
        return {key: as_array(name, item) for key, item in value.items()}
    return value


cdef object as_tensors(value):
    # NumPy's results: arrays and its scalars of numbers become tensors; Python's values and all else stay.
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "biufc" and value.dtype.itemsize <= 16 and type(value) is not np.longdouble:
            return share_ndarray(np.asarray(value))
        return value
    if type(value) in (list, tuple):
        return type(value)([as_tensors(item) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[as_tensors(item) for item in value])
    return value


machine.install_method("__array_ufunc__", ArrayUfunc())
machine.install_method("__array_function__", array_function)
