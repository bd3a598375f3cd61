"""Sorting: NumPy's own C functions for each dtype, called straight on rows of our memory.

A dtype hands out its sorting functions in NumPy's public header (``PyArray_ArrFuncs``). NaN is sorted to the end,
complex numbers by their real, then their imaginary part. Descending order is the stable order of the reversed row,
reversed: equal elements keep their order.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset

cimport numpy

from fastops._dispatch cimport (CONTIGUOUS, CPU, META, ElementType, Kernel, Operator, Tensor, element_of, finish_layout,
                                new_strided, new_tensor, new_view)
from fastops._loops cimport (DIMENSIONS, LONG_WORK, Loop, Nest, UfuncLoops, cast_strided, contiguous_copy,
                             nest_begin, nest_next, nest_operand, nest_order)
from fastops._views cimport array_argument, axis_number, is_given

import numpy as np

numpy.import_array()

ctypedef int (*SortFunction)(void *, Py_ssize_t, void *) noexcept nogil
ctypedef int (*ArgumentSortFunction)(void *, Py_ssize_t *, Py_ssize_t, void *) noexcept nogil

cdef extern from "numpy/ndarrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    ctypedef struct PyArray_ArrFuncs:
        SortFunction sort[3]
        ArgumentSortFunction argsort[3]
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(PyArray_Descr *) noexcept nogil

cdef enum:
    QUICK = 0
    HEAP = 1
    STABLE = 2

cdef ElementType *INT64 = element_of(np.dtype("i8"))
cdef UfuncLoops unequal_loops = UfuncLoops(np.not_equal)


cdef class Sort(Kernel):
    """Kernel of sort(x, axis, kind, order, *, descending, stable); with *places*, of argsort."""
    cdef bint places

    def __init__(self, *, bint places=False):
        self.run = run_sort
        self.places = places
        self.description = "fastops/_sort.pyx: NumPy's sorting functions"


cdef int chosen_kind(Operator op, PyObject *kind, PyObject *stable, int default) except -1:
    if is_given(stable):
        if is_given(kind):
            raise ValueError(f"{op}: kind and stable say the same; give one of them")
        return STABLE if <object>stable else default if default != STABLE else QUICK
    if not is_given(kind):
        return default
    name = str(<object>kind).lower()
    if name in ("stable", "mergesort"):
        return STABLE
    if name in ("quicksort", "heapsort"):
        return QUICK if name == "quicksort" else HEAP
    raise ValueError(f"{op}: kind is 'quicksort', 'heapsort', 'mergesort' or 'stable', not {<object>kind!r}")


cdef object run_sort(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Sort kernel = <Sort>base
    cdef Tensor x = array_argument(op, arguments), result, source
    cdef bint descending = is_given(arguments[4]) and <object>arguments[4]
    cdef int axis, kind = chosen_kind(op, arguments[2], arguments[5], STABLE if kernel.places else QUICK)
    cdef int failed
    if is_given(arguments[3]):
        raise ValueError(f"{op}: order names fields of structured dtypes, which there are none of here")
    if arguments[1] == <PyObject *>None:
        x = contiguous_copy(x, x.element) if x.backend == CPU else new_tensor(x.rank, x.sizes, x.element, x.backend, 0)
        x = new_row(x)
        axis = 0
    else:
        axis = x.rank - 1 if arguments[1] == NULL and x.rank else axis_number(op, arguments[1] if arguments[1] != NULL else
                                                                             <PyObject *>minus_one, x.rank)
    result = new_strided(x.rank, x.sizes, NULL if x.flags & CONTIGUOUS else x.steps, INT64 if kernel.places else x.element,
                         x.backend, x.device_index)
    if x.backend == META or x.count == 0:
        return result
    if descending:
        kind = STABLE
    if x.count < LONG_WORK:
        failed = sort_rows(x, result, axis, kind, descending, kernel.places)
    else:
        with nogil:
            failed = sort_rows(x, result, axis, kind, descending, kernel.places)
    if failed:
        raise MemoryError(f"{op}: no memory to sort rows of {x.sizes[axis]} elements")
    return result


minus_one = -1


cdef Tensor new_row(Tensor x):
    # A gapless tensor seen along one axis.
    cdef Tensor row = new_view(x, 1)
    row.sizes[0], row.steps[0] = x.count, x.element.itemsize
    finish_layout(row)
    return row


cdef int sort_rows(Tensor x, Tensor result, int axis, int kind, bint descending, bint places) noexcept nogil:
    # Each row along axis: copied, where it has gaps or is to be reversed into a buffer, and sorted there.
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<PyArray_Descr *>x.element.dtype)
    cdef Py_ssize_t length = x.sizes[axis], size = x.element.itemsize, position, other
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[2]
    cdef char *row
    cdef char *target
    cdef Py_ssize_t *order
    cdef Nest nest
    cdef int failed = 0
    memcpy(sizes, x.sizes, x.rank * sizeof(Py_ssize_t))
    sizes[axis] = 1
    nest_begin(&nest, x.rank, sizes)
    nest_operand(&nest, x.data, x.rank, sizes, x.steps)
    nest_operand(&nest, result.data, x.rank, sizes, result.steps)
    nest_order(&nest)
    memset(counter, 0, sizeof(counter))
    pointers[0], pointers[1] = nest.data[0], nest.data[1]
    row = <char *>malloc(length * size)
    order = <Py_ssize_t *>malloc(length * sizeof(Py_ssize_t)) if places else NULL
    if row == NULL or places and order == NULL:
        free(row)
        free(order)
        return -1
    while True:
        target = row
        if not places and not descending and result.steps[axis] == size:
            target = pointers[1]
        if descending:
            cast_strided(target, size, x.element, pointers[0] + (length - 1) * x.steps[axis], -x.steps[axis], x.element, length)
        else:
            cast_strided(target, size, x.element, pointers[0], x.steps[axis], x.element, length)
        if places:
            for position in range(length):
                order[position] = position
            failed = functions.argsort[kind](target, order, length, NULL)
            for position in range(length):
                other = length - 1 - order[length - 1 - position] if descending else order[position]
                (<int64_t *>(pointers[1] + position * result.steps[axis]))[0] = other
        else:
            failed = functions.sort[kind](target, length, NULL)
            if descending:
                cast_strided(pointers[1], result.steps[axis], x.element, target + (length - 1) * size, -size, x.element, length)
            elif target == row:
                cast_strided(pointers[1], result.steps[axis], x.element, target, size, x.element, length)
        if failed or not nest_next(&nest, counter, pointers, 0):
            break
    free(row)
    free(order)
    return failed


cdef enum:
    EQUAL_NAN = 5       # the places of these parameters
    SORTED = 6


cdef class Unique(Kernel):
    """Kernel of unique(x, return_index, return_inverse, return_counts, axis, *, equal_nan, sorted, size, fill_value), and of (x, *, size, fill_value).

    Where nothing but the values of the flattened array is wanted they are sorted here; *general* does the rest.
    """
    cdef Kernel general

    def __init__(self, Kernel general not None):
        self.run = run_unique
        self.general = general
        self.description = "fastops/_sort.pyx: sorted, neighbours compared"


cdef object run_unique(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Unique kernel = <Unique>base
    cdef Tensor x = array_argument(op, arguments), row, result
    cdef bint equal_nan = False
    cdef Py_ssize_t kept
    cdef int position
    if op.parameter_count > EQUAL_NAN:
        equal_nan = arguments[EQUAL_NAN] == NULL or <object>arguments[EQUAL_NAN]
    for position in range(1, op.parameter_count):
        if position not in (EQUAL_NAN, SORTED) and is_given(arguments[position]) and <object>arguments[position] is not False:
            if x.backend != META or is_given(arguments[op.parameter_count - 2]):
                return kernel.general.run(kernel.general, op, arguments, keys)
    if x.backend == META:
        raise NotImplementedError(f"{op}: how many values there are depends on the data, which device 'meta' does not have; size= says it")
    row = contiguous_copy(x, x.element)
    cdef Py_ssize_t count = row.count
    if count:
        kept = distinct(op, row, equal_nan)
    else:
        kept = 0
    result = new_tensor(1, &kept, x.element, CPU, 0)
    memcpy(result.data, row.data, kept * x.element.itemsize)
    return result


cdef Py_ssize_t distinct(Operator op, Tensor row, bint equal_nan) except -1:
    # Sorts the elements and moves the different ones to the front; returns how many there are.
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<PyArray_Descr *>row.element.dtype)
    cdef Py_ssize_t size = row.element.itemsize, count = row.count, position, kept = 1, more = count - 1
    cdef Py_ssize_t steps[3]
    cdef char *pointers[3]
    cdef char *differs
    cdef int codes[2]
    cdef Loop *loop
    cdef int failed
    codes[0] = codes[1] = row.element.code
    loop = unequal_loops.find(op, codes)
    differs = <char *>malloc(2 * count)
    if differs == NULL:
        raise MemoryError()
    with nogil:
        failed = functions.sort[QUICK](row.data, count, NULL)
        steps[0], steps[1], steps[2] = size, size, 1
        pointers[0], pointers[1], pointers[2] = row.data, row.data + size, differs
        if more:
            loop.function(pointers, &more, steps, loop.data)
        if equal_nan and row.element.kind in (c"f", c"c"):
            # NaN stands last and differs from itself.
            pointers[0], pointers[1], pointers[2] = row.data, row.data, differs + count
            loop.function(pointers, &count, steps, loop.data)
            for position in range(count - 1):
                if differs[count + position]:
                    differs[position] = 0
        for position in range(1, count):
            if differs[position - 1]:
                if kept != position:
                    memmove(row.data + kept * size, row.data + position * size, size)
                kept += 1
    free(differs)
    if failed:
        raise MemoryError(f"{op}: no memory to sort {count} elements")
    return kept
