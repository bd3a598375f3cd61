"""Kernels that make tensors: allocated, and filled with one value."""

from cpython.object cimport PyObject
from libc.math cimport ceil
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from fastops._dispatch cimport (CONTIGUOUS, CPU, META, ElementType, Kernel, Operator, Tensor, element_of, is_tensor,
                                new_strided, new_tensor, parse_device)
from fastops._loops cimport (BOOL_CODE, DIMENSIONS, copy_into, element_argument, ordered_steps, parse_shape, promote, scalar_code,
                             store_value)

import numpy as np

from fastops import _loops

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject *)
    bint PyFloat_CheckExact(PyObject *)
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *) noexcept

cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))
cdef ElementType *INT64 = element_of(np.dtype("i8"))


cdef int fill(Operator op, Tensor tensor, PyObject *value) except -1:
    # Every element of a fresh, gapless tensor becomes value, a Python scalar or a 0-dimensional array.
    cdef char element[16]
    cdef Py_ssize_t itemsize = tensor.element.itemsize, done, size, nbytes = tensor.count * tensor.element.itemsize
    cdef char *data = tensor.data
    if tensor.backend == META or nbytes == 0:
        return 0
    if tensor.backend != CPU:
        raise NotImplementedError(f"{op}: cannot fill memory on device '{tensor.device}' here")
    if scalar_code(value) < 0:
        try:
            copy_into(tensor, value_tensor(op, value))
        except ValueError as error:
            raise ValueError(f"{op}: {error}") from None
        return 0
    store_value(op, value, tensor.element, element)
    memcpy(data, element, itemsize)
    done = itemsize                 # doubling copies: every byte value at memcpy's speed
    while done < nbytes:
        size = done if done < nbytes - done else nbytes - done
        memcpy(data + done, data, size)
        done += size
    return 0


cdef Tensor value_tensor(Operator op, PyObject *value):
    if is_tensor(value):
        return <Tensor>value
    return _loops.share_ndarray(np.asarray(<object>value))


cdef class Fill(Kernel):
    """Kernel of empty, zeros, ones and full: parameters shape, (fill_value,) dtype, order, device."""
    cdef object value               # None: the memory is left as it is
    cdef int value_position         # where the call gives the value, -1 if it does not

    def __init__(self, value=None, *, int value_position=-1):
        self.run = run_fill
        self.value = value
        self.value_position = value_position
        self.description = "fastops/_create.pyx: allocate and fill"


cdef object run_fill(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Fill kernel = <Fill>base
    cdef int rank, backend = CPU, index = 0, next_position = 1 if kernel.value_position < 0 else 2
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef PyObject *value = <PyObject *>kernel.value if kernel.value_position < 0 else arguments[kernel.value_position]
    cdef PyObject *dtype = arguments[next_position]
    cdef PyObject *order = arguments[next_position + 1]
    cdef PyObject *device = arguments[next_position + 2]
    cdef ElementType *element = FLOAT64
    cdef Tensor result
    parse_shape(op, arguments[0], &rank, sizes)
    if dtype != NULL and dtype != <PyObject *>None:
        element = element_argument(op, dtype)
    elif kernel.value_position >= 0:
        element = element_of_value(op, value)
    if device != NULL and device != <PyObject *>None:
        backend = device_argument(op, device, &index)
    try:
        result = new_strided(rank, sizes, NULL if order == NULL else ordered_steps(op, order, None, False), element, backend, index)
    except ValueError as error:
        raise ValueError(f"{op}: {error}") from None
    if value != <PyObject *>None:
        fill(op, result, value)
    return result


cdef int device_argument(Operator op, PyObject *device, int *index) except -1:
    # The backend of the device that a caller names; the error says which operator was called.
    cdef int backend
    try:
        parse_device(<object>device, &backend, index)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{op}: {error}") from None
    return backend


cdef ElementType *element_of_value(Operator op, PyObject *value) except NULL:
    cdef int code = scalar_code(value)
    if code >= 0:
        return promote(code, BOOL_CODE)
    return value_tensor(op, value).element


cdef class FillLike(Kernel):
    """Kernel of empty_like, zeros_like, ones_like and full_like: parameters x, (fill_value,) dtype, order, subok,
    shape, device.

    The result has x's shape and memory order unless the call says otherwise.
    """
    cdef object value
    cdef int value_position

    def __init__(self, value=None, *, int value_position=-1):
        self.run = run_fill_like
        self.value = value
        self.value_position = value_position
        self.description = "fastops/_create.pyx: allocate like another tensor and fill"


cdef object run_fill_like(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef FillLike kernel = <FillLike>base
    cdef Tensor like = <Tensor>arguments[0]
    cdef int backend = like.backend, index = like.device_index, next_position = 1 if kernel.value_position < 0 else 2
    cdef PyObject *value = <PyObject *>kernel.value if kernel.value_position < 0 else arguments[kernel.value_position]
    cdef PyObject *dtype = arguments[next_position]
    cdef PyObject *order = arguments[next_position + 1]
    cdef PyObject *shape = arguments[next_position + 3]
    cdef PyObject *device = arguments[next_position + 4]
    cdef ElementType *element = like.element
    cdef Tensor result
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int rank
    if dtype != NULL and dtype != <PyObject *>None:
        element = element_argument(op, dtype)
    if device != NULL and device != <PyObject *>None:
        backend = device_argument(op, device, &index)
    if shape != NULL and shape != <PyObject *>None:
        parse_shape(op, shape, &rank, sizes)
        result = new_strided(rank, sizes, ordered_steps(op, order, like if rank == like.rank else None, rank == like.rank), element,
                             backend, index)
    else:
        result = new_strided(like.rank, like.sizes, ordered_steps(op, order, like, True), element, backend, index)
    if value != <PyObject *>None:
        fill(op, result, value)
    return result


def empty_meta(shape, dtype):
    """A tensor without data, of *shape* (a sequence of ints) and *dtype*, for shape rules."""
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int axis, rank = len(shape)
    if rank > DIMENSIONS:
        raise ValueError(f"an array has at most {DIMENSIONS} dimensions, not {rank}")
    for axis in range(rank):
        sizes[axis] = shape[axis]
    return new_tensor(rank, sizes, element_of(dtype), META, 0)


_zero, _one = 0, 1
cdef PyObject *ZERO = <PyObject *>_zero
cdef PyObject *ONE = <PyObject *>_one


cdef class Arange(Kernel):
    """Kernel of arange for Python's own numbers: parameters start, stop, step, dtype, device.

    What else there is (other dtypes, NumPy's scalars, no memory) goes to *general*, a Kernel.
    """
    cdef Kernel general

    def __init__(self, Kernel general not None):
        self.run = run_arange
        self.general = general
        self.description = "fastops/_create.pyx: numbers in a row"


cdef object run_arange(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef PyObject *start = arguments[0]
    cdef PyObject *stop = arguments[1]
    cdef PyObject *step = arguments[2]
    cdef Py_ssize_t size, position
    cdef long long first, last, by
    cdef double real_first, real_last, real_by
    cdef Tensor result
    if stop == NULL or stop == <PyObject *>None:
        start, stop = ZERO, start
    if step == NULL:
        step = ONE
    if arguments[3] == NULL and keys >> META & 1 == 0:
        if is_small(start) and is_small(stop) and is_small(step):
            first, last, by = <object>start, <object>stop, <object>step
            if by != 0:
                if by > 0:
                    size = (last - first + by - 1) // by if last > first else 0
                else:
                    size = (first - last - by - 1) // -by if first > last else 0
                result = new_tensor(1, &size, INT64, CPU, 0)
                for position in range(size):
                    (<int64_t *>result.data)[position] = first + position * by
                return result
        elif is_real(start) and is_real(stop) and is_real(step):
            real_first, real_last, real_by = <object>start, <object>stop, <object>step
            if real_by != 0 and 0 <= (real_last - real_first) / real_by < 1e15:
                size = <Py_ssize_t>ceil((real_last - real_first) / real_by)
                result = new_tensor(1, &size, FLOAT64, CPU, 0)
                real_by = (real_first + real_by) - real_first       # as NumPy, which goes on from its first two
                for position in range(size):
                    (<double *>result.data)[position] = real_first + position * real_by
                return result
    cdef Kernel general = (<Arange>base).general
    return general.run(general, op, arguments, keys)


cdef bint is_small(PyObject *value) noexcept:
    # A Python int with which sums and products do not overflow here.
    cdef int overflow = 0
    cdef long long number
    if not PyLong_CheckExact(value):
        return False
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    return not overflow and -(<long long>1 << 50) < number < <long long>1 << 50


cdef bint is_real(PyObject *value) noexcept:
    return PyFloat_CheckExact(value) or is_small(value)
