"""Indexing by arrays of whole numbers and by masks: each point's place in memory, then one copy of what lies there.

The index is read once into ``Points``; reading and writing are loops over the points' offsets. What is rare (several
masks, masks beside arrays, True and False as an index) is left to NumPy, which the caller asks.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastops._dispatch cimport CONTIGUOUS, CPU, Operator, Tensor, element_of, is_tensor, new_tensor, shape_tuple
from fastops._loops cimport (BOOL_CODE, DIMENSIONS, LONG_WORK, Nest, cast_strided, contiguous_copy, from_ndarray, is_ndarray,
                             nest_begin, nest_next, nest_operand)

import numpy as np

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject *)
    bint PySlice_Check(PyObject *)
    bint PyTuple_Check(PyObject *)
    bint PyList_CheckExact(PyObject *)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *) noexcept
    PyObject **tuple_items "&PyTuple_GET_ITEM"(PyObject *, Py_ssize_t) noexcept
    Py_ssize_t PyLong_AsSsize_t(PyObject *) except? -1
    int PySlice_Unpack(PyObject *, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t) noexcept
    PyObject *Py_Ellipsis

cdef enum:
    ARRAYS = 8                  # index arrays in one index

cdef object INT64 = np.dtype("i8")
cdef object EMPTY = np.empty(0, np.int64)


cdef Tensor index_tensor(PyObject *item):
    # An index array as a tensor: whole numbers as int64, or truth values; None where it is something else.
    cdef Tensor tensor
    if is_tensor(item):
        tensor = <Tensor>item
    elif is_ndarray(item) and (<object>item).dtype.kind in "bi" and (<object>item).flags.aligned and (<object>item).dtype.isnative:
        tensor = from_ndarray(<object>item)
    elif PyList_CheckExact(item):
        array = np.asarray(<object>item) if len(<list>item) else EMPTY
        if array.dtype.kind not in "bi":
            return None
        tensor = from_ndarray(array)
    else:
        return None
    if tensor.backend != CPU:
        return None
    if tensor.element.code == BOOL_CODE:
        return tensor if tensor.rank else None
    if tensor.element.kind == c"i" or tensor.element.kind == c"u" and tensor.element.itemsize < 8:
        return tensor if tensor.element == element_of(INT64) else contiguous_copy(tensor, element_of(INT64))
    return None


cdef bint find_points(Operator op, Tensor source, PyObject *index, Points *points) except -1:
    """Read *index* of *source*; False where it is not of the forms known here. The caller frees the points."""
    cdef PyObject *single = index
    cdef PyObject **items = &single
    cdef PyObject *item
    cdef Py_ssize_t count = 1, position, start, stop, step, used = 0
    cdef int axis = 0, arrays = 0, skipped, number, mask_axis = -1
    cdef int axes[ARRAYS]
    cdef bint ellipsis = False, apart = False, ints = False
    cdef Tensor tensor, lone = None, mask = None
    cdef list tensors = None            # made where there are several arrays
    points.offsets = points.few
    points.rest = points.rank = 0
    points.place = -1
    points.start = 0
    points.masked = False
    if source.backend != CPU:
        return False
    if PyTuple_Check(index):
        count = PyTuple_GET_SIZE(index)
        if count > DIMENSIONS:
            return False
        items = tuple_items(index, 0)
    for position in range(count):
        item = items[position]
        if item == Py_Ellipsis:
            if ellipsis:
                return False
            ellipsis = True
        elif is_tensor(item) and (<Tensor>item).element.code == BOOL_CODE:
            used += (<Tensor>item).rank
        elif is_ndarray(item) and (<object>item).dtype.kind == "b":
            used += (<object>item).ndim
        elif PyList_CheckExact(item) and len(<list>item) and type((<list>item)[0]) is not int:
            if count > 1:
                return False            # perhaps a mask of several axes: NumPy knows
            used += 1
        elif item != <PyObject *>None:
            used += 1
    if used > source.rank:
        return False                    # NumPy's IndexError
    for position in range(count):
        item = items[position]
        if PyLong_CheckExact(item):
            start = PyLong_AsSsize_t(item)
            if start < -source.sizes[axis] or start >= source.sizes[axis]:
                raise IndexError(f"{op}: index {start} is out of bounds for axis {axis} with size {source.sizes[axis]}")
            points.start += (start + source.sizes[axis] if start < 0 else start) * source.steps[axis]
            axis += 1
            ints = True
            place_of(points, &apart)
            continue
        if PySlice_Check(item) or item == <PyObject *>None or item == Py_Ellipsis:
            if points.place >= 0:
                apart = True
            skipped = 1
            if item == Py_Ellipsis:
                skipped = source.rank - <int>used
            if points.rest + skipped + source.rank > DIMENSIONS:
                return False
            if item == <PyObject *>None:
                points.rest_sizes[points.rest], points.rest_steps[points.rest] = 1, 0
                points.rest += 1
            elif item == Py_Ellipsis:
                for number in range(skipped):
                    points.rest_sizes[points.rest], points.rest_steps[points.rest] = source.sizes[axis], source.steps[axis]
                    points.rest += 1
                    axis += 1
            else:
                PySlice_Unpack(item, &start, &stop, &step)
                points.rest_sizes[points.rest] = PySlice_AdjustIndices(source.sizes[axis], &start, &stop, step)
                points.rest_steps[points.rest] = step * source.steps[axis]
                if points.rest_sizes[points.rest] > 0:
                    points.start += start * source.steps[axis]
                points.rest += 1
                axis += 1
            continue
        tensor = index_tensor(item)
        if tensor is None or arrays == ARRAYS or mask is not None:
            return False
        place_of(points, &apart)
        if tensor.element.code == BOOL_CODE:
            if arrays or ints:
                return False
            mask, mask_axis = tensor, axis
            axis += tensor.rank
        else:
            if arrays == 0:
                lone = tensor
            elif arrays == 1:
                tensors = [lone, tensor]
            else:
                tensors.append(tensor)
            axes[arrays] = axis
            arrays += 1
            axis += 1
    if points.place < 0 or mask is not None and ints or not arrays and mask is None:
        return False
    if points.rest + source.rank - axis > DIMENSIONS - source.rank:
        return False
    while axis < source.rank:
        points.rest_sizes[points.rest], points.rest_steps[points.rest] = source.sizes[axis], source.steps[axis]
        points.rest += 1
        axis += 1
    if mask is not None:
        masked_points(op, source, mask, mask_axis, points)
        points.masked = count == 1 and points.rest == 0
        return True
    if arrays == 1 and lone.flags & CONTIGUOUS and lone.rank <= 1:
        points.rank = lone.rank
        points.sizes[0] = points.count = lone.count
        take_room(points)
        row_points(op, source, axes[0], <const int64_t *>lone.data, points)
        return True
    broadcast_points(op, source, tensors if arrays > 1 else [lone], axes, points)
    return True


cdef inline void place_of(Points *points, bint *apart) noexcept:
    # Where the arrays' axes stand in the result: at the first array, or in front if they do not stand side by side.
    if points.place < 0:
        points.place = points.rest
    elif apart[0]:
        points.place = 0


cdef inline int take_room(Points *points) except -1:
    points.offsets = points.few
    if points.count > FEW_POINTS:
        points.offsets = <Py_ssize_t *>malloc(points.count * sizeof(Py_ssize_t))
        if points.offsets == NULL:
            raise MemoryError()
    return 0


cdef void free_points(Points *points) noexcept:
    if points.offsets != points.few:
        free(points.offsets)


cdef int raise_bounds(Operator op, Tensor source, int axis, int64_t place, Points *points) except -1:
    free_points(points)
    raise IndexError(f"{op}: index {place} is out of bounds for axis {axis} with size {source.sizes[axis]}")


cdef int row_points(Operator op, Tensor source, int axis, const int64_t *places, Points *points) except -1:
    cdef Py_ssize_t position, size = source.sizes[axis], step = source.steps[axis]
    cdef int64_t place
    for position in range(points.count):
        place = places[position]
        if place < 0:
            place += size
        if place < 0 or place >= size:
            raise_bounds(op, source, axis, places[position], points)
        points.offsets[position] = place * step
    return 0


cdef int broadcast_points(Operator op, Tensor source, list tensors, int *axes, Points *points) except -1:
    # Several index arrays, or one of several axes: their common shape, and the sum of what each moves.
    cdef int number, axis, offset, arrays = <int>len(tensors)
    cdef Tensor tensor
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[2]
    cdef Nest nest
    cdef int64_t place
    cdef Py_ssize_t size
    for number in range(arrays):
        tensor = <Tensor>tensors[number]
        points.rank = max(points.rank, tensor.rank)
    for axis in range(points.rank):
        points.sizes[axis] = 1
    for number in range(arrays):
        tensor = <Tensor>tensors[number]
        offset = points.rank - tensor.rank
        for axis in range(tensor.rank):
            size = tensor.sizes[axis]
            if size != 1:
                if points.sizes[offset + axis] != 1 and points.sizes[offset + axis] != size:
                    shapes = " ".join([str(other.shape) for other in tensors])
                    raise IndexError(f"{op}: shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}")
                points.sizes[offset + axis] = size
    points.count = 1
    for axis in range(points.rank):
        points.count *= points.sizes[axis]
    take_room(points)
    memset(points.offsets, 0, points.count * sizeof(Py_ssize_t))
    if points.count == 0:
        return 0
    size = sizeof(Py_ssize_t)
    for axis in range(points.rank - 1, -1, -1):
        steps[axis] = size
        size *= points.sizes[axis]
    for number in range(arrays):
        tensor = <Tensor>tensors[number]
        nest_begin(&nest, points.rank, points.sizes)
        nest_operand(&nest, tensor.data, tensor.rank, tensor.sizes, tensor.steps)
        nest_operand(&nest, <char *>points.offsets, points.rank, points.sizes, steps)
        memset(counter, 0, points.rank * sizeof(Py_ssize_t))
        pointers[0], pointers[1] = nest.data[0], nest.data[1]
        size = source.sizes[axes[number]]
        while True:
            place = (<int64_t *>pointers[0])[0]
            if place < 0:
                place += size
            if place < 0 or place >= size:
                raise_bounds(op, source, axes[number], (<int64_t *>pointers[0])[0], points)
            (<Py_ssize_t *>pointers[1])[0] += place * source.steps[axes[number]]
            if points.rank == 0 or not nest_next(&nest, counter, pointers, 0):
                break
    return 0


cdef int masked_points(Operator op, Tensor source, Tensor mask, int first, Points *points) except -1:
    # The places where a mask is true, in row-major order.
    cdef int axis
    cdef Py_ssize_t position, found = 0, moved
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef const char *truths
    for axis in range(mask.rank):
        if mask.sizes[axis] != source.sizes[first + axis] and mask.count:       # an empty mask chooses nothing of anything
            raise IndexError(f"{op}: boolean index of shape {mask.shape} did not match the array of shape {source.shape} along axis "
                             f"{first + axis}: {mask.sizes[axis]} and {source.sizes[first + axis]}")
    if not mask.flags & CONTIGUOUS:
        mask = contiguous_copy(mask, mask.element)
    truths = mask.data
    for position in range(mask.count):
        found += truths[position] != 0
    points.rank = 1
    points.sizes[0] = points.count = found
    take_room(points)
    found = 0
    if mask.rank == 1:
        for position in range(mask.count):
            if truths[position]:
                points.offsets[found] = position * source.steps[first]
                found += 1
        return 0
    memset(counter, 0, mask.rank * sizeof(Py_ssize_t))
    for position in range(mask.count):
        if truths[position]:
            moved = 0
            for axis in range(mask.rank):
                moved += counter[axis] * source.steps[first + axis]
            points.offsets[found] = moved
            found += 1
        axis = mask.rank - 1
        while axis >= 0:
            counter[axis] += 1
            if counter[axis] < mask.sizes[axis]:
                break
            counter[axis] = 0
            axis -= 1
    return 0


cdef int points_shape(Operator op, Points *points, Py_ssize_t *sizes) except -1:
    """The shape of what the points choose; returns how many axes it has."""
    cdef int axis
    if points.rest + points.rank > DIMENSIONS:
        raise IndexError(f"{op}: an array has at most {DIMENSIONS} dimensions, the result would have {points.rest + points.rank}")
    for axis in range(points.place):
        sizes[axis] = points.rest_sizes[axis]
    for axis in range(points.rank):
        sizes[points.place + axis] = points.sizes[axis]
    for axis in range(points.place, points.rest):
        sizes[points.rank + axis] = points.rest_sizes[axis]
    return points.rest + points.rank


cdef Tensor gather(Operator op, Tensor source, Points *points):
    """The chosen elements, in row-major order."""
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef int rank = points_shape(op, points, sizes)
    cdef Tensor result = new_tensor(rank, sizes, source.element, CPU, 0)
    if result.count == 0:
        return result
    if points.rest == 0 and source.element.itemsize == 8:
        read_eights(<int64_t *>result.data, source.data + points.start, points)
    elif result.count < LONG_WORK:
        move(source, points, result.data, False, True)
    else:
        with nogil:
            move(source, points, result.data, False, True)
    return result


cdef void read_eights(int64_t *target, const char *base, Points *points) noexcept nogil:
    cdef Py_ssize_t position
    for position in range(points.count):
        target[position] = (<const int64_t *>(base + points.offsets[position]))[0]


cdef int scatter(Tensor target, Points *points, const char *values, bint single) except -1:
    """Write values of target's type, gapless in the shape of the points, or a *single* one everywhere."""
    if points.count < LONG_WORK:
        move(target, points, <char *>values, single, False)
    else:
        with nogil:
            move(target, points, <char *>values, single, False)
    return 0


cdef void move(Tensor tensor, Points *points, char *values, bint single, bint reads) noexcept nogil:
    # Between tensor and the gapless values: for each place of the axes before the points', each point, the block behind.
    cdef Py_ssize_t size = tensor.element.itemsize, block = 1, expected = size, position, outer = 1, done, base
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef int axis, inner = points.rest - 1
    cdef bint gapless = True
    for axis in range(points.rest - 1, points.place - 1, -1):
        if points.rest_sizes[axis] != 1 and points.rest_steps[axis] != expected:
            gapless = False
        expected *= points.rest_sizes[axis]
        block *= points.rest_sizes[axis]
    for axis in range(points.place):
        outer *= points.rest_sizes[axis]
    if block == 0 or outer == 0:
        return
    memset(counter, 0, sizeof(counter))
    for done in range(outer):
        base = points.start
        for axis in range(points.place):
            base += counter[axis] * points.rest_steps[axis]
        for position in range(points.count):
            if gapless:
                move_block(tensor.data + base + points.offsets[position], values, block, size, single, reads)
            else:
                move_nest(tensor, points, tensor.data + base + points.offsets[position], values, single, reads)
            if not single:
                values += block * size
        axis = points.place - 1
        while axis >= 0:
            counter[axis] += 1
            if counter[axis] < points.rest_sizes[axis]:
                break
            counter[axis] = 0
            axis -= 1


cdef inline void move_block(char *place, char *values, Py_ssize_t count, Py_ssize_t size, bint single, bint reads) noexcept nogil:
    cdef Py_ssize_t position
    if single:
        for position in range(count):
            move_one(place + position * size, values, size)
    elif reads:
        if count == 1:
            move_one(values, place, size)
        else:
            memcpy(values, place, count * size)
    elif count == 1:
        move_one(place, values, size)
    else:
        memcpy(place, values, count * size)


cdef inline void move_one(char *target, const char *source, Py_ssize_t size) noexcept nogil:
    if size == 8:
        (<int64_t *>target)[0] = (<const int64_t *>source)[0]
    elif size == 4:
        (<int32_t *>target)[0] = (<const int32_t *>source)[0]
    elif size == 1:
        target[0] = source[0]
    elif size == 2:
        (<int16_t *>target)[0] = (<const int16_t *>source)[0]
    else:
        memcpy(target, source, size)


cdef void move_nest(Tensor tensor, Points *points, char *place, char *values, bint single, bint reads) noexcept nogil:
    # One block whose axes have gaps.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef Py_ssize_t size = tensor.element.itemsize, count = points.rest_sizes[points.rest - 1], step = points.rest_steps[points.rest - 1]
    cdef int axis
    cdef char *row
    memset(counter, 0, sizeof(counter))
    while True:
        row = place
        for axis in range(points.place, points.rest - 1):
            row += counter[axis] * points.rest_steps[axis]
        if reads:
            cast_strided(values, size, tensor.element, row, step, tensor.element, count)
        else:
            cast_strided(row, step, tensor.element, values, 0 if single else size, tensor.element, count)
        if not single:
            values += count * size
        axis = points.rest - 2
        while axis >= points.place:
            counter[axis] += 1
            if counter[axis] < points.rest_sizes[axis]:
                break
            counter[axis] = 0
            axis -= 1
        if axis < points.place:
            return
