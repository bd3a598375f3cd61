"""New shapes over the same storage, and indexing.

The views touch no data and serve every backend. What moves data (indexing by arrays, assignment, copies, arrays put
together) runs on the CPU, and on Meta as far as the result's shape; indexing by arrays is NumPy's, on zero-copy views.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy, memset

from fastops._dispatch cimport (CONTIGUOUS, CPU, META, READ_ONLY, ElementType, Kernel, KernelFunction,
                                Operator, Tensor, call_bound, count_elements, element_of, finish_layout, is_tensor, mark_written,
                                new_strided, new_tensor, new_view, overflows, require_writable, shape_tuple, parse_device)
from fastops._index cimport Points, find_points, free_points, gather, points_shape, scatter
from fastops._loops cimport (DIMENSIONS, LONG_WORK, OPERANDS, Nest, cast_strided, element_argument, contiguous_copy, copy_into,
                             floating_point_begin, floating_point_end, from_ndarray, is_ndarray, load_scalar, nest_begin,
                             nest_next, nest_operand, nest_order, parse_shape, require_castable, scalar_code,
                             store_value, to_ndarray, is_column_major, ordered_steps, output_argument, require_output)

import warnings
from operator import index as operator_index

import numpy as np

from fastops import _dispatch as machine

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject *)
    bint PyBool_Check(PyObject *)
    bint PySlice_Check(PyObject *)
    bint PyTuple_CheckExact(PyObject *)
    bint PyTuple_Check(PyObject *)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyLong_AsSsize_t(PyObject *) noexcept
    bint PyFloat_CheckExact(PyObject *)
    double PyFloat_AS_DOUBLE(PyObject *) noexcept
    bint PyIndex_Check(PyObject *)
    object PyNumber_Index(PyObject *)
    PyObject *PyErr_Occurred() noexcept
    void PyErr_Clear() noexcept
    int PySlice_Unpack(PyObject *, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t) noexcept
    PyTypeObject *Py_TYPE(PyObject *)
    PyObject *Py_Ellipsis

cdef extern from *:
    """
    #define fastops_tuple_items(value) (((PyTupleObject *)(value))->ob_item)
    """
    PyObject **tuple_items "fastops_tuple_items"(PyObject *)

cdef ElementType *FLOAT32 = element_of(np.dtype("f4"))
cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))


cdef class View(Kernel):
    """A kernel that makes a view; which one is said when it is made."""


cdef View view_kernel(KernelFunction run, str what):
    cdef View kernel = View.__new__(View)
    kernel.run = run
    kernel.description = f"fastops/_views.pyx: {what}"
    return kernel


cdef class Attribute:
    """An attribute of Tensor that an operator of one tensor answers, without a Python call between.

    *assignable*: assigning to the attribute writes into the view that reading it gives.
    """
    cdef Operator op
    cdef bint assignable

    def __init__(self, Operator op not None, *, bint assignable=False):
        if op.parameter_count > 4:
            raise ValueError(f"{op} has more than 4 parameters")
        self.op = op
        self.assignable = assignable

    def __get__(self, instance, owner):
        cdef PyObject *arguments[4]
        if instance is None:
            return self
        arguments[0] = <PyObject *>instance
        arguments[1] = arguments[2] = arguments[3] = NULL
        return call_bound(self.op, arguments)

    def __set__(self, instance, value):
        if not self.assignable:
            raise AttributeError(f"attribute {self.op._opname!r} of a Tensor cannot be assigned")
        self.op(instance)[...] = value

    @property
    def __doc__(self):
        return self.op.__doc__


# ------------------------------------------------------------------------------------------- arguments

cdef Tensor array_argument(Operator op, PyObject **arguments):
    # The first argument; a number becomes an array, as everywhere.
    if Py_TYPE(arguments[0]) == <PyTypeObject *>Tensor:
        return <Tensor>arguments[0]
    return converted_argument(op, arguments[0])


cdef Tensor converted_argument(Operator op, PyObject *value):
    if is_tensor(value):
        return <Tensor>value
    if value == <PyObject *>None:
        raise TypeError(f"{op}: an array is wanted, not None")
    return machine.as_tensor(<object>value)


cdef inline Tensor tensor_argument(Operator op, PyObject **arguments):
    # The first argument of an operator that takes tensors alone.
    if Py_TYPE(arguments[0]) != <PyTypeObject *>Tensor and not is_tensor(arguments[0]):
        raise TypeError(f"{op}: a Tensor is wanted, not {type(<object>arguments[0]).__name__}")
    return <Tensor>arguments[0]


cdef inline Py_ssize_t as_size(PyObject *number, bint *fits) noexcept:
    # An int as a C number. Without a try: saving the exception state costs more than all the rest.
    cdef Py_ssize_t value = PyLong_AsSsize_t(number)
    fits[0] = True
    if value == -1 and PyErr_Occurred() != NULL:
        PyErr_Clear()
        fits[0] = False
    return value


cdef Py_ssize_t whole_number(Operator op, PyObject *value, str what) except? -1:
    cdef bint fits
    cdef Py_ssize_t number
    if not PyLong_CheckExact(value):
        if not PyIndex_Check(value):
            raise TypeError(f"{op}: {what} is a whole number, not {<object>value!r}")
        converted = operator_index(<object>value)
        return whole_number(op, <PyObject *>converted, what)
    number = as_size(value, &fits)
    if not fits:
        raise ValueError(f"{op}: {what} {<object>value} is too large")
    return number


cdef int axis_number(Operator op, PyObject *value, int rank) except -1:
    # An axis counted from the front; AxisError if there is no such axis.
    cdef Py_ssize_t axis = whole_number(op, value, "an axis")
    if axis < -rank or axis >= rank:
        raise np.exceptions.AxisError(axis, rank, f"{op}")
    return <int>(axis + rank if axis < 0 else axis)


cdef int axis_numbers(Operator op, PyObject *value, int rank, int *axes) except -1:
    # One axis or several, no axis twice; returns how many.
    cdef int count, place, position
    cdef tuple given
    if PyLong_CheckExact(value):
        axes[0] = axis_number(op, value, rank)
        return 1
    if PyTuple_CheckExact(value):
        given = <tuple><object>value
    elif isinstance(<object>value, (tuple, list)):
        given = tuple(<object>value)
    else:
        try:
            given = (operator_index(<object>value),)
        except TypeError:       # not one number: a sequence of them, or wrong
            given = tuple(<object>value) if hasattr(<object>value, "__iter__") else (<object>value,)
    if len(given) > DIMENSIONS:
        raise ValueError(f"{op}: {len(given)} axes are given, more than an array has")
    count = <int>len(given)
    for place in range(count):
        axes[place] = axis_number(op, PyTuple_GET_ITEM(<PyObject *>given, place), rank)
    for place in range(count):
        for position in range(place):
            if axes[position] == axes[place]:
                raise ValueError(f"{op}: repeated axis {axes[place]} in {given}")
    return count


cdef int shape_argument(Operator op, PyObject *value, int *rank, Py_ssize_t *sizes) except -1:
    # parse_shape, without a Python call for an int or a tuple of ints.
    cdef Py_ssize_t axis, count
    cdef PyObject *item
    cdef bint fits
    if PyLong_CheckExact(value):
        rank[0] = 1
        sizes[0] = as_size(value, &fits)
        if fits:
            return 0
    if PyTuple_CheckExact(value):
        count = PyTuple_GET_SIZE(value)
        if count <= DIMENSIONS:
            for axis in range(count):
                item = PyTuple_GET_ITEM(value, axis)
                if not PyLong_CheckExact(item):
                    break
                sizes[axis] = as_size(item, &fits)
                if not fits:
                    break
            else:
                rank[0] = <int>count
                return 0
    return parse_shape(op, value, rank, sizes)


cdef bint is_given(PyObject *value) noexcept:
    return value != NULL and value != <PyObject *>None


# --------------------------------------------------------------------------------------------- reshape

cdef bint regroup(Tensor source, int rank, const Py_ssize_t *sizes, Py_ssize_t *steps) noexcept nogil:
    # The steps of source's memory seen with other sizes, if such steps exist. Axes are matched in groups of equal
    # product; within a group the old axes must follow each other without a gap.
    cdef Py_ssize_t old_sizes[DIMENSIONS]
    cdef Py_ssize_t old_steps[DIMENSIONS]
    cdef Py_ssize_t old_product, new_product, step
    cdef int old_rank = 0, axis, old_from = 0, old_to, new_from = 0, new_to
    for axis in range(source.rank):
        if source.sizes[axis] != 1:
            old_sizes[old_rank] = source.sizes[axis]
            old_steps[old_rank] = source.steps[axis]
            old_rank += 1
    while old_from < old_rank and new_from < rank:
        old_product, new_product = old_sizes[old_from], sizes[new_from]
        old_to, new_to = old_from + 1, new_from + 1
        while old_product != new_product:
            if new_product < old_product:
                new_product *= sizes[new_to]
                new_to += 1
            else:
                old_product *= old_sizes[old_to]
                old_to += 1
        for axis in range(old_from, old_to - 1):
            if old_steps[axis] != old_sizes[axis + 1] * old_steps[axis + 1]:
                return False
        step = old_steps[old_to - 1]
        axis = new_to - 1
        while axis >= new_from:
            steps[axis] = step
            step *= sizes[axis]
            axis -= 1
        old_from, new_from = old_to, new_to
    for axis in range(new_from, rank):          # what remains has length 1
        steps[axis] = source.element.itemsize
    return True


cdef object reshaped(Operator op, Tensor source, int rank, Py_ssize_t *sizes, int copy):
    # copy: 1 always, 0 never, -1 where needed.
    cdef Tensor result
    cdef Py_ssize_t count = 1, step
    cdef int axis, unknown = -1
    for axis in range(rank):
        if sizes[axis] == -1:
            if unknown >= 0:
                raise ValueError(f"{op}: only one size may be -1, not several: {shape_tuple(rank, sizes)}")
            unknown = axis
        elif sizes[axis] < 0:
            raise ValueError(f"{op}: negative size in {shape_tuple(rank, sizes)}")
        elif overflows(count, sizes[axis], &count):
            raise ValueError(f"{op}: {shape_tuple(rank, sizes)} has more elements than can be addressed")
    if unknown >= 0:
        if count == 0 or source.count % count:
            raise ValueError(f"{op}: cannot reshape an array of {source.count} elements, shape {source.shape}, into "
                             f"{shape_tuple(rank, sizes)}")
        sizes[unknown] = source.count // count
    elif count != source.count:
        raise ValueError(f"{op}: cannot reshape an array of {source.count} elements, shape {source.shape}, into "
                         f"{shape_tuple(rank, sizes)}")
    if copy != 1:
        result = new_view(source, rank)
        memcpy(result.sizes, sizes, rank * sizeof(Py_ssize_t))
        if source.flags & CONTIGUOUS:
            step = source.element.itemsize
            axis = rank - 1
            while axis >= 0:
                result.steps[axis] = step
                if sizes[axis]:
                    step *= sizes[axis]
                axis -= 1
            result.count = source.count
            result.flags |= CONTIGUOUS
            return result
        if regroup(source, rank, sizes, result.steps):
            finish_layout(result)
            return result
        if copy == 0:
            raise ValueError(f"{op}: shape {shape_tuple(rank, sizes)} of this array (shape {source.shape}, strides "
                             f"{source.strides}) needs a copy, and copy=False")
    if source.backend != CPU and source.backend != META:
        raise NotImplementedError(f"{op}: shape {shape_tuple(rank, sizes)} of this array (shape {source.shape}, strides "
                                  f"{source.strides}) needs a copy, which is not there on device '{source.device}'")
    result = new_tensor(source.rank, source.sizes, source.element, source.backend, source.device_index)
    if source.backend == CPU:
        copy_into(result, source)
    return reshaped(op, result, rank, sizes, -1)


cdef object run_reshape(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # reshape(x, shape, *, order="C", copy=None)
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t size
    cdef int rank, axis, copy = <bint>(<object>arguments[3]) if is_given(arguments[3]) else -1
    cdef Tensor source = array_argument(op, arguments)
    shape_argument(op, arguments[1], &rank, sizes)
    if arguments[2] == NULL or not by_columns(op, source, arguments[2], False):
        return reshaped(op, source, rank, sizes, copy)
    for axis in range(rank // 2):           # by columns is by rows with all axes reversed
        size = sizes[axis]
        sizes[axis] = sizes[rank - 1 - axis]
        sizes[rank - 1 - axis] = size
    return turned(reshaped(op, turned(source), rank, sizes, copy))


cdef bint by_columns(Operator op, Tensor source, PyObject *order, bint keeps) except -1:
    # Whether the elements are taken with the first axis the quickest.
    name = <object>order
    if name in ("A", "K") and (keeps or name == "A"):
        return not source.flags & CONTIGUOUS and is_column_major(source)
    if name not in ("C", "F"):
        raise ValueError(f"{op}: order is 'C', 'F'{', ' if keeps else ' or '}'A'{" or 'K'" if keeps else ''}, not {name!r}")
    return name == "F"


cdef Tensor turned(Tensor source):
    # The axes in reverse order.
    cdef int axes[DIMENSIONS]
    cdef int axis
    for axis in range(source.rank):
        axes[axis] = source.rank - 1 - axis
    return permuted(source, axes)


cdef Tensor in_order(Operator op, Tensor source, PyObject *order):
    # source with its axes so that row-major order is the order asked for.
    cdef int axes[DIMENSIONS]
    cdef int axis, place
    if order == NULL or order == <PyObject *>None:
        return source
    if by_columns(op, source, order, True):
        return turned(source)
    if <object>order != "K" or source.flags & CONTIGUOUS:
        return source
    for axis in range(source.rank):         # as the elements lie: insertion sort by the steps
        place = axis
        while place > 0 and magnitude(source.steps[axes[place - 1]]) < magnitude(source.steps[axis]):
            axes[place] = axes[place - 1]
            place -= 1
        axes[place] = axis
    return permuted(source, axes)


cdef inline Py_ssize_t magnitude(Py_ssize_t step) noexcept nogil:
    return step if step >= 0 else -step


cdef object run_ravel(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # ravel(x, order="C"): a view only where the result has no gaps.
    cdef Tensor source = in_order(op, array_argument(op, arguments), arguments[1])
    return flat(op, source, -1 if source.flags & CONTIGUOUS else 1)


cdef object run_flatten(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    return flat(op, in_order(op, array_argument(op, arguments), arguments[1]), 1)


cdef object flat(Operator op, Tensor tensor, int copy):
    cdef Py_ssize_t sizes[1]
    sizes[0] = tensor.count
    return reshaped(op, tensor, 1, sizes, copy)


# ---------------------------------------------------------------------------------------- axes in order

cdef Tensor permuted(Tensor source, const int *axes):
    cdef Tensor result = new_view(source, source.rank)
    cdef int axis
    for axis in range(source.rank):
        result.sizes[axis] = source.sizes[axes[axis]]
        result.steps[axis] = source.steps[axes[axis]]
    finish_layout(result)
    return result


cdef object run_permute(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # permute_dims(x, axes), transpose(x, axes=None): None reverses.
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef int axis, count
    if not is_given(arguments[1]):
        for axis in range(source.rank):
            axes[axis] = source.rank - 1 - axis
        return permuted(source, axes)
    count = axis_numbers(op, arguments[1], source.rank, axes)
    if count != source.rank:
        raise ValueError(f"{op}: axes {<object>arguments[1]} do not match an array of {source.rank} dimensions")
    return permuted(source, axes)


cdef object run_swapaxes(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef int axis, first, second
    first = axis_number(op, arguments[1], source.rank)
    second = axis_number(op, arguments[2], source.rank)
    for axis in range(source.rank):
        axes[axis] = axis
    axes[first], axes[second] = second, first
    return permuted(source, axes)


cdef object run_matrix_transpose(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef int axis
    if source.rank < 2:
        raise ValueError(f"{op}: a matrix has at least 2 dimensions, not {source.rank}")
    for axis in range(source.rank):
        axes[axis] = axis
    axes[source.rank - 1], axes[source.rank - 2] = source.rank - 2, source.rank - 1
    return permuted(source, axes)


cdef object run_moveaxis(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int sources[DIMENSIONS]
    cdef int targets[DIMENSIONS]
    cdef int axes[DIMENSIONS]
    cdef bint moved[DIMENSIONS]
    cdef int axis, place, next_axis = 0, count = axis_numbers(op, arguments[1], source.rank, sources)
    if axis_numbers(op, arguments[2], source.rank, targets) != count:
        raise ValueError(f"{op}: source {<object>arguments[1]} and destination {<object>arguments[2]} must have the same "
                         "number of axes")
    for axis in range(source.rank):
        moved[axis] = False
        axes[axis] = -1
    for place in range(count):
        moved[sources[place]] = True
        axes[targets[place]] = sources[place]
    for axis in range(source.rank):
        if axes[axis] < 0:
            while moved[next_axis]:
                next_axis += 1
            axes[axis] = next_axis
            next_axis += 1
    return permuted(source, axes)


# --------------------------------------------------------------------------- axes more, fewer, repeated

cdef object run_expand_dims(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef bint added[DIMENSIONS]
    cdef int extra = 1
    cdef object front = 0
    cdef PyObject *given = <PyObject *>front if arguments[1] == NULL else arguments[1]
    if PyTuple_Check(given) or isinstance(<object>given, list):
        extra = <int>min(<Py_ssize_t>len(<object>given), DIMENSIONS + 1)
    cdef int rank = source.rank + extra, axis, place = 0
    cdef Tensor result
    if rank > DIMENSIONS:
        raise ValueError(f"{op}: an array has at most {DIMENSIONS} dimensions, not {rank}")
    if axis_numbers(op, given, rank, axes) != extra:
        raise TypeError(f"{op}: the axes are a whole number, or a tuple or list of them, not {<object>given!r}")
    for axis in range(rank):
        added[axis] = False
    for axis in range(extra):
        added[axes[axis]] = True
    result = new_view(source, rank)
    for axis in range(rank):
        if added[axis]:
            result.sizes[axis] = 1
            result.steps[axis] = 0
        else:
            result.sizes[axis] = source.sizes[place]
            result.steps[axis] = source.steps[place]
            place += 1
    finish_layout(result)
    return result


cdef object run_squeeze(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef bint dropped[DIMENSIONS]
    cdef bint several
    cdef int axis, count, rank = 0
    cdef Tensor result
    if is_given(arguments[1]):
        # As in NumPy, axis 0 of an array without axes is nothing to remove rather than an error.
        several = PyTuple_Check(arguments[1]) or isinstance(<object>arguments[1], list)
        count = axis_numbers(op, arguments[1], 1 if source.rank == 0 and not several else source.rank, axes)
        for axis in range(source.rank):
            dropped[axis] = False
        for axis in range(count if source.rank else 0):
            if source.sizes[axes[axis]] != 1:
                raise ValueError(f"{op}: axis {axes[axis]} of shape {source.shape} has length "
                                 f"{source.sizes[axes[axis]]}, not 1")
            dropped[axes[axis]] = True
    else:
        for axis in range(source.rank):
            dropped[axis] = source.sizes[axis] == 1
    for axis in range(source.rank):
        rank += not dropped[axis]
    result = new_view(source, rank)
    rank = 0
    for axis in range(source.rank):
        if not dropped[axis]:
            result.sizes[rank] = source.sizes[axis]
            result.steps[rank] = source.steps[axis]
            rank += 1
    finish_layout(result)
    return result


cdef object run_broadcast_to(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int rank, axis, offset
    cdef Tensor result
    shape_argument(op, arguments[1], &rank, sizes)
    count_elements(rank, sizes, 1)
    offset = rank - source.rank
    for axis in range(source.rank):
        if offset < 0 or (source.sizes[axis] != 1 and source.sizes[axis] != sizes[offset + axis]):
            raise ValueError(f"{op}: an array of shape {source.shape} does not broadcast to {shape_tuple(rank, sizes)}")
    result = new_view(source, rank)
    for axis in range(rank):
        result.sizes[axis] = sizes[axis]
        result.steps[axis] = 0 if axis < offset or source.sizes[axis - offset] == 1 and sizes[axis] != 1 \
            else source.steps[axis - offset]
    finish_layout(result)
    result.flags |= READ_ONLY           # many elements share a cell
    return result


cdef object run_flip(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef int axes[DIMENSIONS]
    cdef int axis, place, count = source.rank
    cdef Tensor result
    if is_given(arguments[1]):
        count = axis_numbers(op, arguments[1], source.rank, axes)
    else:
        for axis in range(count):
            axes[axis] = axis
    result = new_view(source, source.rank)
    memcpy(result.sizes, source.sizes, source.rank * sizeof(Py_ssize_t))
    memcpy(result.steps, source.steps, source.rank * sizeof(Py_ssize_t))
    for place in range(count):
        axis = axes[place]
        if result.data != NULL and source.count:
            result.data += (source.sizes[axis] - 1) * source.steps[axis]
        result.steps[axis] = -source.steps[axis]
    finish_layout(result)
    return result


cdef object run_diagonal(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # diagonal(x, offset=0, axis1=0, axis2=1): the diagonal is the last axis of the result.
    cdef Tensor source = array_argument(op, arguments)
    cdef Py_ssize_t offset = whole_number(op, arguments[1], "an offset") if arguments[1] != NULL else 0
    cdef int first = 0, second = 1, axis, place = 0
    cdef Py_ssize_t length, start
    cdef Tensor result
    if source.rank < 2:
        raise ValueError(f"{op}: a diagonal needs at least 2 dimensions, not {source.rank}")
    if arguments[2] != NULL:
        first = axis_number(op, arguments[2], source.rank)
    if arguments[3] != NULL:
        second = axis_number(op, arguments[3], source.rank)
    if first == second:
        raise ValueError(f"{op}: axis1 and axis2 are the same axis, {first}")
    if offset >= 0:
        length = min(source.sizes[first], source.sizes[second] - offset)
        start = offset * source.steps[second]
    else:
        length = min(source.sizes[first] + offset, source.sizes[second])
        start = -offset * source.steps[first]
    result = new_view(source, source.rank - 1)
    for axis in range(source.rank):
        if axis != first and axis != second:
            result.sizes[place] = source.sizes[axis]
            result.steps[place] = source.steps[axis]
            place += 1
    result.sizes[place] = max(length, 0)
    result.steps[place] = source.steps[first] + source.steps[second]
    if length > 0 and result.data != NULL:
        result.data += start
    finish_layout(result)
    result.flags |= READ_ONLY           # as in NumPy
    return result


# --------------------------------------------------------------------------------- parts of complex numbers

cdef object run_windows(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False)
    cdef Tensor source = array_argument(op, arguments), result
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int axes[DIMENSIONS]
    cdef int count, rank, axis, place
    parse_shape(op, arguments[1], &rank, sizes)
    if is_given(arguments[2]):
        given = <object>arguments[2]
        count = 0
        for one in (given if isinstance(given, (tuple, list)) else (given,)):
            if count == DIMENSIONS:
                raise ValueError(f"{op}: more axes are named than an array has")
            axes[count] = axis_number(op, <PyObject *>one, source.rank)     # an axis may be named twice
            count += 1
    else:
        count = source.rank
        for axis in range(count):
            axes[axis] = axis
    if count != rank:
        raise ValueError(f"{op}: a window of {rank} sizes does not fit {count} axes; the array has shape {source.shape}")
    if source.rank + count > DIMENSIONS:
        raise ValueError(f"{op}: an array has at most {DIMENSIONS} dimensions")
    result = new_view(source, source.rank + count)
    memcpy(result.sizes, source.sizes, source.rank * sizeof(Py_ssize_t))
    memcpy(result.steps, source.steps, source.rank * sizeof(Py_ssize_t))
    for place in range(count):
        axis = axes[place]
        result.sizes[source.rank + place] = sizes[place]
        result.steps[source.rank + place] = source.steps[axis]
        result.sizes[axis] -= sizes[place] - 1
        if result.sizes[axis] < 0:
            for axis in range(result.rank):
                result.sizes[axis] = 0
            finish_layout(result)
            raise ValueError(f"{op}: the window {shape_tuple(rank, sizes)} is larger than the array of shape {source.shape}")
    finish_layout(result)
    if not is_given(arguments[4]) or not <object>arguments[4]:
        result.flags |= READ_ONLY
    return result


cdef object run_view(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # view(x, dtype): the same bytes as another dtype; where the sizes differ, along the last axis, which has no gaps then.
    cdef Tensor source = array_argument(op, arguments), result
    cdef ElementType *element = element_argument(op, arguments[1])
    cdef Py_ssize_t old = source.element.itemsize, new = element.itemsize
    cdef int last = source.rank - 1
    result = new_view(source, source.rank)
    memcpy(result.sizes, source.sizes, source.rank * sizeof(Py_ssize_t))
    memcpy(result.steps, source.steps, source.rank * sizeof(Py_ssize_t))
    result.element = element
    if old != new:
        if last < 0:
            finish_layout(result)
            raise ValueError(f"{op}: a 0-dimensional array of {old} bytes cannot be seen as {<object>element.dtype}")
        if source.steps[last] != old and source.sizes[last] != 1 and source.count:
            finish_layout(result)
            raise ValueError(f"{op}: the last axis must have no gaps to be seen as {<object>element.dtype}, but the strides are "
                             f"{source.strides}")
        if source.sizes[last] * old % new:
            finish_layout(result)
            raise ValueError(f"{op}: a last axis of {source.sizes[last] * old} bytes does not divide into elements of {new}")
        result.sizes[last] = source.sizes[last] * old // new
        result.steps[last] = new
    finish_layout(result)
    if source.backend == CPU and result.count and <uint64_t>result.data % <uint64_t>(new // 2 if element.kind == c"c" else new):
        raise ValueError(f"{op}: the memory is not aligned for {<object>element.dtype}")
    return result


cdef Tensor part(Tensor source, Py_ssize_t offset):
    cdef Tensor result = new_view(source, source.rank)
    memcpy(result.sizes, source.sizes, source.rank * sizeof(Py_ssize_t))
    memcpy(result.steps, source.steps, source.rank * sizeof(Py_ssize_t))
    result.element = FLOAT32 if source.element.itemsize == 8 else FLOAT64
    if result.data != NULL:
        result.data += offset
    finish_layout(result)
    return result


cdef object run_real(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    if source.element.kind == c"c":
        return part(source, 0)
    return source


cdef object run_imag(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = array_argument(op, arguments)
    cdef Tensor result
    if source.element.kind == c"c":
        return part(source, source.element.itemsize // 2)
    # A real number's imaginary part is nowhere in memory: one zero, seen everywhere and never written.
    cdef Tensor zero = new_tensor(0, NULL, source.element, source.backend, source.device_index)
    cdef int axis
    if zero.backend == CPU:
        memset(zero.data, 0, zero.element.itemsize)
    result = new_view(zero, source.rank)
    for axis in range(source.rank):
        result.sizes[axis] = source.sizes[axis]
        result.steps[axis] = 0
    finish_layout(result)
    result.flags |= READ_ONLY
    return result


# --------------------------------------------------------------------------------------------- indexing

ctypedef struct Selection:
    # What a basic index chooses: the layout of the view and where it begins.
    int rank
    bint element                # whole numbers alone, as many as there are axes: one element, not a view of it
    Py_ssize_t offset
    Py_ssize_t sizes[DIMENSIONS]
    Py_ssize_t steps[DIMENSIONS]


cdef bint select(Operator op, Tensor source, PyObject *index, Selection *selection) except -1:
    # Whole numbers, slices, None and Ellipsis; False where anything else is among them.
    cdef Py_ssize_t count = 1, position, start, stop, step, length, rest
    cdef PyObject *single = index
    cdef PyObject **items = &single
    cdef PyObject *item
    cdef bint ellipsis = False
    cdef int axis = 0, target = 0
    selection.offset = 0
    if PyTuple_Check(index):
        count = PyTuple_GET_SIZE(index)
        if count > 2 * DIMENSIONS:
            raise IndexError(f"{op}: too many indices: {count}")
        items = tuple_items(index)
    for position in range(count):
        item = items[position]
        if PyLong_CheckExact(item):
            if axis >= source.rank:
                return too_many(op, source, items, count)
            selection.offset += index_number(op, item, axis, source.sizes[axis]) * source.steps[axis]
            axis += 1
        elif PySlice_Check(item):
            if axis >= source.rank:
                return too_many(op, source, items, count)
            PySlice_Unpack(item, &start, &stop, &step)
            length = adjusted(source.sizes[axis], &start, stop, step)
            if length > 0:
                selection.offset += start * source.steps[axis]
            require_room(op, target)
            selection.sizes[target] = length
            selection.steps[target] = step * source.steps[axis]
            axis += 1
            target += 1
        elif item == <PyObject *>None:
            require_room(op, target)
            selection.sizes[target] = 1
            selection.steps[target] = 0
            target += 1
        elif item == Py_Ellipsis:
            if ellipsis:
                raise IndexError(f"{op}: an index has at most one ellipsis ('...')")
            ellipsis = True
            rest = source.rank - axis
            for start in range(position + 1, count):
                if PyLong_CheckExact(items[start]) or PySlice_Check(items[start]):
                    rest -= 1
                elif items[start] != <PyObject *>None and items[start] != Py_Ellipsis:
                    return False
            for start in range(rest):
                require_room(op, target)
                selection.sizes[target] = source.sizes[axis]
                selection.steps[target] = source.steps[axis]
                axis += 1
                target += 1
        else:
            return False
    while axis < source.rank:
        require_room(op, target)
        selection.sizes[target] = source.sizes[axis]
        selection.steps[target] = source.steps[axis]
        axis += 1
        target += 1
    selection.rank = target
    selection.element = target == 0 and not ellipsis
    return True


cdef inline Py_ssize_t adjusted(Py_ssize_t length, Py_ssize_t *start, Py_ssize_t stop, Py_ssize_t step) noexcept:
    # PySlice_AdjustIndices, without its division in the common case.
    if step != 1:
        return PySlice_AdjustIndices(length, start, &stop, step)
    if start[0] < 0:
        start[0] = max(start[0] + length, 0)
    elif start[0] > length:
        start[0] = length
    if stop < 0:
        stop += length
    elif stop > length:
        stop = length
    return max(stop - start[0], 0)


cdef inline int require_room(Operator op, int target) except -1:
    if target >= DIMENSIONS:
        raise IndexError(f"{op}: an array has at most {DIMENSIONS} dimensions, the result would have more")
    return 0


cdef bint too_many(Operator op, Tensor source, PyObject **items, Py_ssize_t count) except -1:
    # The index is too long, unless it is not a basic one: then NumPy says what is wrong with it.
    cdef Py_ssize_t position
    cdef int used = 0
    for position in range(count):
        if PyLong_CheckExact(items[position]) or PySlice_Check(items[position]):
            used += 1
        elif items[position] != <PyObject *>None and items[position] != Py_Ellipsis:
            return False
    raise IndexError(f"{op}: too many indices: the array has {source.rank} dimensions, but {used} were indexed")


cdef inline Py_ssize_t index_number(Operator op, PyObject *item, int axis, Py_ssize_t length) except -1:
    # Counted from the front.
    cdef bint fits
    cdef Py_ssize_t place = as_size(item, &fits)
    if not fits or place < -length or place >= length:
        raise IndexError(f"{op}: index {<object>item} is out of bounds for axis {axis} with size {length}")
    return place + length if place < 0 else place


cdef Tensor selected(Tensor source, Selection *selection):
    # finish_layout's work is done in the same pass.
    cdef Tensor result = new_view(source, selection.rank)
    cdef Py_ssize_t count = 1, expected = source.element.itemsize, size
    cdef int axis = selection.rank - 1
    cdef bint contiguous = True
    if result.data != NULL:
        result.data += selection.offset
    while axis >= 0:
        size = selection.sizes[axis]
        result.sizes[axis] = size
        result.steps[axis] = selection.steps[axis]
        if size != 1:
            contiguous = contiguous and selection.steps[axis] == expected
            expected *= size
            count *= size
        axis -= 1
    result.count = count
    if contiguous or count == 0:
        result.flags |= CONTIGUOUS
    return result


cdef object numpy_index(Operator op, object index, bint *basic):
    # The index in NumPy's terms: tensors as arrays over the same memory, whole numbers of any type as ints.
    # *basic* says afterwards whether nothing but what `select` knows is in it.
    cdef PyObject *value = <PyObject *>index
    if is_tensor(value):
        basic[0] = False
        return index_array(op, <Tensor>index)
    if is_ndarray(value) or PyLong_CheckExact(value) or PySlice_Check(value) or value == <PyObject *>None \
            or value == Py_Ellipsis:
        basic[0] = basic[0] and not is_ndarray(value)
        return index
    if PyTuple_Check(value):
        return tuple([numpy_index(op, item, basic) for item in <tuple>index])
    if PyIndex_Check(value) and not PyBool_Check(value):
        try:
            return PyNumber_Index(value)
        except TypeError:       # an array of another library
            pass
    basic[0] = False
    return index


cdef object index_array(Operator op, Tensor index):
    if index.backend == CPU:
        return to_ndarray(index)
    if index.backend != META:
        raise NotImplementedError(f"{op}: an index on device '{index.device}' cannot be read here; move it to the CPU")
    if index.element.kind == c"b":
        raise NotImplementedError(f"{op}: how many elements a mask chooses depends on its values, which are not there "
                                  "on device 'meta'")
    return np.broadcast_to(np.zeros((), np.intp), index.shape)      # for the shape any values will do


cdef object run_getitem(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor source = tensor_argument(op, arguments)
    cdef Selection selection
    cdef Points points
    cdef bint basic = True
    if select(op, source, arguments[1], &selection):
        return selected(source, &selection)
    if keys >> META & 1 == 0 and find_points(op, source, arguments[1], &points):
        try:
            return gather(op, source, &points)
        finally:
            free_points(&points)
    index = numpy_index(op, <object>arguments[1], &basic)
    if basic and select(op, source, <PyObject *>index, &selection):
        return selected(source, &selection)
    if keys >> META & 1:
        return chosen_meta(op, source, index)
    if source.backend != CPU:
        raise NotImplementedError(f"{op}: indexing by arrays on device '{source.device}' is not there; move to the CPU")
    array = to_ndarray(source)
    axis = lone_array(index) if source.count else 0
    try:
        # Row-major at once, where NumPy's indexing would lay out the chosen axis first.
        array = np.take(array, index[axis], axis) if axis > 0 else array[index]
    except IndexError as error:
        raise IndexError(f"{op}: {error}") from None
    source = from_ndarray(array if is_ndarray(<PyObject *>array) else np.asarray(array))
    return source if source.flags & CONTIGUOUS else contiguous_copy(source, source.element)


cdef int lone_array(object index) except -1:
    # The place of an integer array that stands last, behind nothing but ":"; 0 if the index is not of this form.
    cdef Py_ssize_t position, last
    if not PyTuple_CheckExact(<PyObject *>index):
        return 0
    last = PyTuple_GET_SIZE(<PyObject *>index) - 1
    for position in range(last):
        if not PySlice_Check(PyTuple_GET_ITEM(<PyObject *>index, position)) or index[position] != slice(None):
            return 0
    if last < 1 or not is_ndarray(PyTuple_GET_ITEM(<PyObject *>index, last)) or index[last].dtype.kind != "i":
        return 0
    return <int>last


cdef object chosen_meta(Operator op, Tensor source, object index):
    # The shape alone, from NumPy's own rule over elements of no bytes.
    try:
        shape = np.broadcast_to(np.empty((), "V0"), source.shape)[index].shape
    except IndexError as error:
        raise IndexError(f"{op}: {error}") from None
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int rank
    parse_shape(op, <PyObject *>shape, &rank, sizes)
    return new_tensor(rank, sizes, source.element, META, source.device_index)


cdef void walk_cast(Nest *nest, ElementType *target, ElementType *source) noexcept nogil:
    # Operand 0 into operand 1; the axes are in order.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[OPERANDS]
    cdef Py_ssize_t count = 1, source_step = 0, target_step = 0
    cdef int axis, inner = nest.rank - 1
    if nest.rank:
        count, source_step, target_step = nest.sizes[inner], nest.steps[0][inner], nest.steps[1][inner]
    for axis in range(inner):
        counter[axis] = 0
    pointers[0], pointers[1] = nest.data[0], nest.data[1]
    while True:
        cast_strided(pointers[1], target_step, target, pointers[0], source_step, source, count)
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            return


cdef void run_cast(Nest *nest, ElementType *target, ElementType *source, Py_ssize_t count) noexcept:
    if count == 0:
        return
    nest_order(nest)
    if count >= LONG_WORK:
        with nogil:
            walk_cast(nest, target, source)
    else:
        walk_cast(nest, target, source)


cdef int fill(Tensor target, char *place) except -1:
    # Every element of target from the one at place, of target's own type.
    cdef Nest nest
    nest_begin(&nest, target.rank, target.sizes)
    nest_operand(&nest, place, 0, NULL, NULL)
    nest_operand(&nest, target.data, target.rank, target.sizes, target.steps)
    run_cast(&nest, target.element, target.element, target.count)
    return 0


cdef inline int store_element(Operator op, PyObject *value, ElementType *element, char *place) except -1:
    # A Python number; too large a one for few bits becomes infinity and is reported, as any overflow.
    if element == FLOAT64 or (element.kind != c"f" and element.kind != c"c"):
        return store_value(op, value, element, place)
    floating_point_begin()
    store_value(op, value, element, place)
    return floating_point_end(op)


cdef int cast_into(Operator op, Tensor target, Tensor source) except -1:
    # target[...] = source with any cast, as assignments and astype do it.
    if target.element == source.element:
        return copy_into(target, source)
    warn_if_cut(source.element, target.element)
    floating_point_begin()
    copy_into(target, source)
    return floating_point_end(op)


cdef int warn_if_cut(ElementType *source, ElementType *target) except -1:
    if source.kind == c"c" and target.kind != c"c" and target.kind != c"b":
        warnings.warn("casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
    return 0


cdef Tensor fitted(Operator op, Tensor source, Tensor target):
    # source without the leading axes of length 1 that target does not have; ValueError if it does not broadcast.
    cdef int axis, extra = max(source.rank - target.rank, 0)
    cdef Tensor result
    cdef bint fits = True
    for axis in range(extra):
        if source.sizes[axis] != 1:
            fits = False
    for axis in range(extra, source.rank):
        if source.sizes[axis] != 1 and source.sizes[axis] != target.sizes[target.rank - source.rank + axis]:
            fits = False
    if not fits:
        raise ValueError(f"{op}: a value of shape {source.shape} does not broadcast into shape {target.shape}")
    if extra == 0:
        return source
    result = new_view(source, source.rank - extra)
    memcpy(result.sizes, source.sizes + extra, result.rank * sizeof(Py_ssize_t))
    memcpy(result.steps, source.steps + extra, result.rank * sizeof(Py_ssize_t))
    finish_layout(result)
    return result


cdef int assign(Operator op, Tensor target, PyObject *value, bint element) except -1:
    # target[...] = value, as NumPy assigns: broadcast, and cast without asking. On Meta only checked.
    cdef char place[16]
    if scalar_code(value) >= 0:
        # It is converted before anything is written.
        store_element(op, value, target.element, place)
        if target.backend == META:
            return 0
        if target.rank == 0:
            memcpy(target.data, place, target.element.itemsize)
        else:
            fill(target, place)
        return 0
    source = <object>value if is_tensor(value) else machine.as_tensor(<object>value)
    if element and (<Tensor>source).rank:
        raise ValueError(f"{op}: one element is set to an array of shape {source.shape}; give a number, or a 0-dimensional "
                         "array")
    source = fitted(op, <Tensor>source, target)
    if target.backend == CPU:
        cast_into(op, target, <Tensor>source)
    return 0


cdef int assign_points(Operator op, Tensor target, Points *points, PyObject *value) except -1:
    # A number goes into every point, an array is broadcast to their shape and cast.
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef char place[16]
    cdef Tensor values
    cdef int rank = points_shape(op, points, sizes)
    if scalar_code(value) >= 0:
        store_element(op, value, target.element, place)
        return scatter(target, points, place, True)
    given = <object>value if is_tensor(value) else machine.as_tensor(<object>value)
    warn_if_cut((<Tensor>given).element, target.element)
    if points.masked and (<Tensor>given).rank > 1:
        raise TypeError(f"{op}: a mask takes a number or an array of one axis, not one of shape {given.shape}")
    if (<Tensor>given).backend != CPU:
        raise TypeError(f"{op}: a value on device '{(<Tensor>given).device}' cannot be written into the CPU's memory")
    values = new_tensor(rank, sizes, target.element, CPU, 0)
    copy_into(values, fitted(op, <Tensor>given, values))
    return scatter(target, points, values.data, False)


cdef object run_setitem(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor target = tensor_argument(op, arguments)
    cdef Selection selection
    cdef char place[16]
    cdef Points points
    cdef bint basic = True
    cdef PyObject *value = arguments[2]
    if (target.flags | target.storage.flags) & READ_ONLY:
        require_writable(target, op)
    if target.backend != CPU and target.backend != META:
        raise NotImplementedError(f"{op}: writing on device '{target.device}' is not there")
    if select(op, target, arguments[1], &selection):
        if selection.rank == 0 and target.element == FLOAT64 and PyFloat_CheckExact(value) and target.backend == CPU:
            (<double *>(target.data + selection.offset))[0] = PyFloat_AS_DOUBLE(value)
            mark_written(target, op)
            return None
        if scalar_code(value) >= 0 or is_tensor(value) or target.backend == META:
            assign(op, selected(target, &selection), value, selection.element)
            mark_written(target, op)
            return None
    if scalar_code(value) >= 0:
        store_element(op, value, target.element, place)     # what cannot be stored is said before what cannot be found
    if keys >> META & 1 == 0 and find_points(op, target, arguments[1], &points):
        try:
            assign_points(op, target, &points, value)
        finally:
            free_points(&points)
        mark_written(target, op)
        return None
    index = numpy_index(op, <object>arguments[1], &basic)
    if basic and is_tensor(value) and select(op, target, <PyObject *>index, &selection):
        assign(op, selected(target, &selection), value, selection.element)
    elif target.backend == META:
        assign(op, chosen_meta(op, target, index), value, False)
    elif keys >> META & 1:
        raise NotImplementedError(f"{op}: an index or a value without data (device 'meta') cannot be written into memory")
    else:
        array = to_ndarray(target)
        content = to_ndarray(<Tensor>value) if is_tensor(value) else <object>value
        try:
            array[index] = content
        except IndexError as error:
            raise IndexError(f"{op}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{op}: {error}") from None
    mark_written(target, op)
    return None


cdef object run_item(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # item(x, *index): one element as a Python number; without an index x has just one.
    cdef Tensor source = tensor_argument(op, arguments)
    cdef Selection selection
    if source.backend != CPU:
        raise NotImplementedError(f"{op}: a tensor on device '{source.device}' has no value to read here")
    if is_given(arguments[1]) and not (PyTuple_Check(arguments[1]) and PyTuple_GET_SIZE(arguments[1]) == 0):
        if (PyTuple_GET_SIZE(arguments[1]) if PyTuple_Check(arguments[1]) else 1) == source.rank \
                and select(op, source, arguments[1], &selection) and selection.rank == 0:
            return load_scalar(selected(source, &selection))
        index = <object>arguments[1]
        try:
            return to_ndarray(source).item(*index if isinstance(index, tuple) else (index,))
        except IndexError as error:
            raise IndexError(f"{op}: {error}") from None
    if source.count != 1:
        raise ValueError(f"{op}: only an array of one element can become a Python number, not one of shape {source.shape}")
    return load_scalar(source)


# ------------------------------------------------------------------------------------------ moving data

cdef Tensor copied(Operator op, Tensor source, ElementType *element):
    # A copy in source's memory order.
    cdef Tensor result = new_strided(source.rank, source.sizes, NULL if source.flags & CONTIGUOUS else source.steps,
                                     element, source.backend, source.device_index)
    if source.backend == META:
        return result
    if source.flags & CONTIGUOUS and source.element == element and source.count <= SMALL_COPY:
        memcpy(result.data, source.data, source.count * element.itemsize)
    else:
        cast_into(op, result, source)
    return result


cdef enum:
    SMALL_COPY = 64             # elements below which looking at the layout costs more than copying


cdef object run_copy(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # copy(x, order="K")
    cdef Tensor source = array_argument(op, arguments)
    return ordered_copy(op, source, source.element, arguments[1])


cdef object run_astype(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # astype(x, /, dtype, order="K", casting="unsafe", subok=True, copy=True, device=None)
    cdef Tensor source = array_argument(op, arguments), result
    cdef ElementType *element = element_argument(op, arguments[1])
    cdef int backend = source.backend, index = source.device_index
    cdef bint moved = False
    if is_given(arguments[6]):
        parse_device(<object>arguments[6], &backend, &index)
        moved = backend != source.backend or index != source.device_index
    if moved and backend != META:
        raise ValueError(f"{op}: cannot move from device '{source.device}' to '{<object>arguments[6]}'")
    if arguments[3] != NULL and not np.can_cast(source.dtype, <object>element.dtype, <object>arguments[3]):
        raise TypeError(f"{op}: {source.dtype} does not cast to {<object>element.dtype} by the rule "
                        f"{<object>arguments[3]!r}")
    if arguments[2] != NULL:
        ordered_steps(op, arguments[2], source, True)       # raises where there is no such order
    if (element == source.element and not moved and arguments[5] != NULL and not <object>arguments[5]
            and laid_out(op, source, arguments[2])):
        return source
    if moved:
        return new_strided(source.rank, source.sizes, source.steps, element, backend, index)
    return ordered_copy(op, source, element, arguments[2])


cdef Tensor ordered_copy(Operator op, Tensor source, ElementType *element, PyObject *order):
    cdef Tensor result
    if order == NULL:
        return copied(op, source, element)
    result = new_strided(source.rank, source.sizes, ordered_steps(op, order, source, True), element, source.backend,
                         source.device_index)
    if source.backend == CPU:
        cast_into(op, result, source)
    return result


cdef bint laid_out(Operator op, Tensor source, PyObject *order) except -1:
    # Whether the elements lie in the order asked for.
    if order == NULL or <object>order in ("K", "A"):
        return True
    return is_column_major(source) if <object>order == "F" else source.flags & CONTIGUOUS != 0


cdef list member_tensors(Operator op, PyObject *given, int *backend, int *device_index):
    # The arrays of a sequence as tensors, and where they are. A tensor counts as the sequence of its rows.
    cdef list tensors = []
    cdef Tensor tensor
    sequence = <object>given
    if not isinstance(sequence, (list, tuple)) and not hasattr(sequence, "__len__"):
        raise TypeError(f"{op}: a sequence of arrays is wanted, not {type(sequence).__name__}")
    for item in sequence:
        tensor = item if is_tensor(<PyObject *>item) else machine.as_tensor(item)
        if not tensors or tensor.backend == META or (backend[0] == CPU and tensor.backend != CPU):
            backend[0] = META if tensors and backend[0] == META else tensor.backend
            device_index[0] = tensor.device_index
        tensors.append(tensor)
    if not tensors:
        raise ValueError(f"{op}: at least one array is needed")
    return tensors


cdef ElementType *common_element(list tensors) except NULL:
    # Promotion is not associative: several dtypes are promoted at once.
    cdef ElementType *element = (<Tensor>tensors[0]).element
    for tensor in tensors:
        if (<Tensor>tensor).element != element:
            return element_of(np.result_type(*[(<Tensor>tensor).dtype for tensor in tensors]))
    return element


cdef int place_members(Operator op, Tensor result, int axis, list tensors, bint stacked) except -1:
    # Copy the arrays one after the other along an axis of result; stacked arrays lack that axis.
    cdef Tensor tensor
    cdef Nest nest
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef char *place = result.data
    cdef int other, count = 0
    for other in range(result.rank):
        if not (stacked and other == axis):
            steps[count] = result.steps[other]
            count += 1
    for tensor in tensors:
        if tensor.backend != CPU:
            raise NotImplementedError(f"{op}: an array on device '{tensor.device}' cannot be joined with one on the CPU")
        if tensor.element != result.element:
            warn_if_cut(tensor.element, result.element)
        nest_begin(&nest, tensor.rank, tensor.sizes)
        nest_operand(&nest, tensor.data, tensor.rank, tensor.sizes, tensor.steps)
        nest_operand(&nest, place, tensor.rank, tensor.sizes, steps)
        run_cast(&nest, result.element, tensor.element, tensor.count)
        place += result.steps[axis] * (1 if stacked else tensor.sizes[axis])
    return 0


cdef object run_concat(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # concat(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"); axis None flattens.
    cdef int axis = 0, other, backend = CPU, device_index = 0
    cdef list tensors = member_tensors(op, arguments[0], &backend, &device_index)
    cdef Tensor first, tensor, result
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef ElementType *element
    if arguments[1] == <PyObject *>None:
        tensors = [flat(op, <Tensor>item, -1) for item in tensors]
    first = tensors[0]
    if first.rank == 0:
        raise ValueError(f"{op}: zero-dimensional arrays cannot be joined")
    if is_given(arguments[1]):
        axis = axis_number(op, arguments[1], first.rank)
    for tensor in tensors:
        if tensor.rank != first.rank:
            raise ValueError(f"{op}: all arrays must have the same number of dimensions, but there are shapes "
                             f"{first.shape} and {tensor.shape}")
        for other in range(first.rank):
            if other != axis and tensor.sizes[other] != first.sizes[other]:
                raise ValueError(f"{op}: all sizes but that of axis {axis} must agree, but there are shapes "
                                 f"{first.shape} and {tensor.shape}")
        total += tensor.sizes[axis]
    element = joined_element(op, tensors, arguments[3], arguments[4])
    memcpy(sizes, first.sizes, first.rank * sizeof(Py_ssize_t))
    sizes[axis] = total
    result = new_tensor(first.rank, sizes, element, backend, device_index)
    if backend != META:
        place_members(op, result, axis, tensors, False)
    return result if not is_given(arguments[2]) else joined_into(op, arguments[2], result, arguments[4])


cdef ElementType *joined_element(Operator op, list tensors, PyObject *dtype, PyObject *casting) except NULL:
    # The dtype asked for, if all arrays cast to it by the rule, else their common one.
    cdef ElementType *element
    if not is_given(dtype):
        return common_element(tensors)
    element = element_argument(op, dtype)
    rule = "same_kind" if casting == NULL else <object>casting
    for tensor in tensors:
        if not np.can_cast(tensor.dtype, <object>element.dtype, rule):
            raise TypeError(f"{op}: an array of {tensor.dtype} does not cast to {<object>element.dtype} by the rule {rule!r}")
    return element


cdef object joined_into(Operator op, PyObject *given, Tensor result, PyObject *casting):
    cdef Tensor out = output_argument(op, given)
    rule = "same_kind" if casting == NULL else <object>casting
    if not np.can_cast(result.dtype, out.dtype, rule):
        raise TypeError(f"{op}: the result of {result.dtype} does not cast to out's dtype {out.dtype} by the rule {rule!r}")
    require_output(op, out, result.rank, result.sizes, out.element, result.backend, result.device_index)
    if result.backend == CPU:
        copy_into(out, result)
    mark_written(out, op)
    return out


cdef object run_stack(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"): the new axis counts the arrays.
    cdef int axis = 0, other, place = 0, backend = CPU, device_index = 0
    cdef list tensors = member_tensors(op, arguments[0], &backend, &device_index)
    cdef Tensor first = tensors[0], tensor, result
    cdef Py_ssize_t sizes[DIMENSIONS]
    if first.rank == DIMENSIONS:
        raise ValueError(f"{op}: an array has at most {DIMENSIONS} dimensions")
    if is_given(arguments[1]):
        axis = axis_number(op, arguments[1], first.rank + 1)
    for tensor in tensors:
        if tensor.rank != first.rank or memcmp(tensor.sizes, first.sizes, first.rank * sizeof(Py_ssize_t)) != 0:
            raise ValueError(f"{op}: all arrays must have the same shape, but there are {first.shape} and {tensor.shape}")
    for other in range(first.rank + 1):
        if other == axis:
            sizes[other] = len(tensors)
        else:
            sizes[other] = first.sizes[place]
            place += 1
    result = new_tensor(first.rank + 1, sizes, joined_element(op, tensors, arguments[3], arguments[4]), backend, device_index)
    if backend != META:
        place_members(op, result, axis, tensors, True)
    return result if not is_given(arguments[2]) else joined_into(op, arguments[2], result, arguments[4])


reshape_kernel = view_kernel(run_reshape, "reshape")
ravel_kernel = view_kernel(run_ravel, "ravel")
flatten_kernel = view_kernel(run_flatten, "flatten")
permute_kernel = view_kernel(run_permute, "axes in another order")
swapaxes_kernel = view_kernel(run_swapaxes, "two axes exchanged")
matrix_transpose_kernel = view_kernel(run_matrix_transpose, "the last two axes exchanged")
moveaxis_kernel = view_kernel(run_moveaxis, "axes moved")
expand_dims_kernel = view_kernel(run_expand_dims, "axes of length 1 added")
squeeze_kernel = view_kernel(run_squeeze, "axes of length 1 removed")
broadcast_to_kernel = view_kernel(run_broadcast_to, "broadcast")
flip_kernel = view_kernel(run_flip, "axes reversed")
diagonal_kernel = view_kernel(run_diagonal, "a diagonal")
windows_kernel = view_kernel(run_windows, "windows")
reinterpret_kernel = view_kernel(run_view, "the same bytes as another dtype")
real_kernel = view_kernel(run_real, "the real part")
imag_kernel = view_kernel(run_imag, "the imaginary part")
getitem_kernel = view_kernel(run_getitem, "indexing")
setitem_kernel = view_kernel(run_setitem, "assignment to an index")
item_kernel = view_kernel(run_item, "one element as a Python number")
copy_kernel = view_kernel(run_copy, "copy")
astype_kernel = view_kernel(run_astype, "cast")
concat_kernel = view_kernel(run_concat, "arrays one after the other")
stack_kernel = view_kernel(run_stack, "arrays along a new axis")
