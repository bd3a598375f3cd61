"""Kernels that make tensors: allocated, and filled with one value."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from fastops._dispatch cimport (CONTIGUOUS, CPU, META, ElementType, Kernel, Operator, Tensor, element_of, is_tensor,
                                new_strided, new_tensor, parse_device)
from fastops._loops cimport BOOL_CODE, DIMENSIONS, copy_into, parse_shape, promote, scalar_code, store_value

import numpy as np

from fastops import _loops

cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))


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
        copy_into(tensor, value_tensor(op, value))
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
    """Kernel of empty, zeros, ones and full: parameters shape, (fill_value,) dtype, device."""
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
    cdef PyObject *device = arguments[next_position + 1]
    cdef ElementType *element = FLOAT64
    cdef Tensor result
    parse_shape(op, arguments[0], &rank, sizes)
    if dtype != NULL and dtype != <PyObject *>None:
        element = element_of(<object>dtype)
    elif kernel.value_position >= 0:
        element = element_of_value(op, value)
    if device != NULL and device != <PyObject *>None:
        parse_device(<object>device, &backend, &index)
    result = new_tensor(rank, sizes, element, backend, index)
    if value != <PyObject *>None:
        fill(op, result, value)
    return result


cdef ElementType *element_of_value(Operator op, PyObject *value) except NULL:
    cdef int code = scalar_code(value)
    if code >= 0:
        return promote(code, BOOL_CODE)
    return value_tensor(op, value).element


cdef class FillLike(Kernel):
    """Kernel of empty_like, zeros_like, ones_like and full_like: parameters x, (fill_value,) dtype, device.

    The result has x's shape and memory order.
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
    cdef PyObject *device = arguments[next_position + 1]
    cdef ElementType *element = like.element
    cdef Tensor result
    if dtype != NULL and dtype != <PyObject *>None:
        element = element_of(<object>dtype)
    if device != NULL and device != <PyObject *>None:
        parse_device(<object>device, &backend, &index)
    result = new_strided(like.rank, like.sizes, NULL if like.flags & CONTIGUOUS else like.steps, element, backend, index)
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
