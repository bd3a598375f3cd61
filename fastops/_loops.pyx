"""The CPU engine: broadcasting, loop nests, casts, copies, and the inner loops borrowed from NumPy's ufuncs.

NumPy hands out its inner loops in a public header (``PyUFuncObject.functions``). They are called here under our
own broadcasting and allocation, which costs a fifth of the same call through NumPy. Nothing below the Python
entry points makes a Python object on the way; long loops run without the GIL.

A call of an elementwise operator: codes of the inputs -> loop (looked up, resolved by NumPy's own promotion the
first time) -> result's shape and memory order -> a loop nest with the axes sorted and merged -> the inner loop,
through small buffers where an operand's dtype is not the loop's.
"""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

cimport numpy

from fastops cimport _dispatch
from fastops._dispatch cimport (CONTIGUOUS, CPU, META, READ_ONLY, TRANSFORM_FRONT, ElementType, Kernel, Operator, Tensor, require_values,
                                element_by_number, element_of, element_type, finish_layout, foreign_storage,
                                is_tensor, mark_written, new_header, new_strided, new_tensor, new_view, require_writable,
                                shape_tuple)

import warnings
from operator import index as operator_index

import numpy as np

from fastops import errors
from fastops import _dispatch as machine

numpy.import_array()
numpy.import_umath()

cdef extern from *:
    """
    #include <fenv.h>
    #if defined(__x86_64__) || defined(_M_X64)
    #include <xmmintrin.h>
    /* SSE's status word alone: reading it costs a nanosecond, fetestexcept reads the x87's too */
    #define fastops_status() (_mm_getcsr() & 0x1d)
    #define fastops_clear_status() _mm_setcsr(_mm_getcsr() & ~0x3fu)
    enum { FASTOPS_INVALID = 1, FASTOPS_DIVIDE = 4, FASTOPS_OVER = 8, FASTOPS_UNDER = 16 };
    #else
    #define fastops_status() fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)
    #define fastops_clear_status() feclearexcept(FE_ALL_EXCEPT)
    enum { FASTOPS_INVALID = FE_INVALID, FASTOPS_DIVIDE = FE_DIVBYZERO, FASTOPS_OVER = FE_OVERFLOW,
           FASTOPS_UNDER = FE_UNDERFLOW };
    #endif
    """
    int fastops_status() noexcept nogil
    void fastops_clear_status() noexcept nogil
    int FASTOPS_INVALID, FASTOPS_DIVIDE, FASTOPS_OVER, FASTOPS_UNDER

cdef extern from "numpy/ufuncobject.h":
    # The struct itself: the declarations that Cython's users import differ between NumPy's versions.
    ctypedef struct UfuncFields "struct _tagPyUFuncObject":
        void **functions
        void **data
        int ntypes
        const char *types

cdef extern from "_trigonometric.h":
    void fastops_sin_loop(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_cos_loop(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef extern from "_complex.h":
    void fastops_expm1_c8(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_expm1_c16(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_tanh_c8(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_tanh_c16(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef extern from "_scale.h":
    void fastops_scale_f4(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_scale_f8(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_scale_c8(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_scale_c16(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef extern from "_casts.h":
    ctypedef void (*CastLoop "fastops_cast")(char *, Py_ssize_t, const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    CastLoop cast_loops[14][14]

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject *)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *) noexcept
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t) noexcept
    Py_ssize_t PyLong_AsSsize_t(PyObject *) except? -1
    bint PyFloat_CheckExact(PyObject *)
    bint PyLong_CheckExact(PyObject *)
    bint PyBool_Check(PyObject *)
    bint PyComplex_CheckExact(PyObject *)
    double PyFloat_AS_DOUBLE(PyObject *) noexcept
    double PyLong_AsDouble(PyObject *) except? -1
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(PyObject *) except? -1
    double PyComplex_RealAsDouble(PyObject *) noexcept
    double PyComplex_ImagAsDouble(PyObject *) noexcept

cdef extern from "numpy/ndarrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    ctypedef struct PyArrayObject:
        pass
    object PyArray_NewFromDescr(PyTypeObject *subtype, PyArray_Descr *dtype, int rank, Py_ssize_t *sizes,
                                Py_ssize_t *steps, void *data, int flags, PyObject *owner)
    int PyArray_SetBaseObject(PyArrayObject *array, PyObject *base) except -1
    int PyArray_Pack(PyArray_Descr *dtype, void *place, PyObject *value) except -1
    bint PyArray_CheckExact(PyObject *)
    bint PyArray_Check(PyObject *)
    int NPY_ARRAY_WRITEABLE, NPY_ARRAY_ALIGNED


# The element types, in the order of their codes; float64 first: it is what an empty tensor has.
for _dtype in map(np.dtype, ("f8", "f4", "f2", "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16")):
    machine.register_element_type(_dtype, _dtype.num, _dtype.itemsize, _dtype.kind,
                                  memoryview(np.zeros(1, _dtype)).format.encode())

cdef ElementType *BOOL = element_of(np.dtype("?"))
cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))
cdef ElementType *FLOAT16 = element_of(np.dtype("f2"))


# --------------------------------------------------------------------------------- NumPy's arrays, shared

cdef bint is_ndarray(PyObject *value) noexcept:
    return PyArray_Check(value)


cdef object to_ndarray(Tensor tensor):
    # A NumPy array over the same memory; it keeps the tensor alive.
    cdef int flags = NPY_ARRAY_ALIGNED
    if tensor.keys >> TRANSFORM_FRONT & 1:
        require_values(tensor)
    if tensor.backend != CPU:
        raise TypeError(f"a tensor on device '{tensor.device}' has no memory that NumPy can read")
    if not (tensor.flags & READ_ONLY or tensor.storage.flags & READ_ONLY):
        flags |= NPY_ARRAY_WRITEABLE
    Py_INCREF(<object>tensor.element.dtype)             # NewFromDescr keeps the reference
    array = PyArray_NewFromDescr(<PyTypeObject *>numpy.ndarray, <PyArray_Descr *>tensor.element.dtype, tensor.rank,
                                 tensor.sizes, tensor.steps, tensor.data, flags, NULL)
    Py_INCREF(tensor)                                   # and so does SetBaseObject
    PyArray_SetBaseObject(<PyArrayObject *>array, <PyObject *>tensor)
    return array


cdef Tensor from_ndarray(object value):
    # A tensor over the memory of a NumPy array in native byte order, aligned.
    cdef numpy.ndarray array = value
    cdef ElementType *element = element_of(array.dtype)
    cdef Tensor tensor = new_header(numpy.PyArray_NDIM(array))
    cdef int axis
    tensor.element = element
    tensor.storage = foreign_storage(<char *>numpy.PyArray_DATA(array), numpy.PyArray_NBYTES(array), array,
                                     not numpy.PyArray_ISWRITEABLE(array))
    tensor.data = tensor.storage.data
    tensor.backend = CPU
    tensor.device_index = 0
    tensor.keys = <uint64_t>1 << CPU
    tensor.flags = 0
    for axis in range(tensor.rank):
        tensor.sizes[axis] = numpy.PyArray_DIMS(array)[axis]
        tensor.steps[axis] = numpy.PyArray_STRIDES(array)[axis]
    finish_layout(tensor)
    _dispatch.track(tensor)
    return tensor


def as_ndarray(Tensor tensor not None):
    """A NumPy array over the memory of *tensor*: nothing is copied, and each keeps it alive.

    >>> import fastops as fo
    >>> x = fo.asarray([1, 2])
    >>> as_ndarray(x)[0] = 5
    >>> x
    tensor([5, 2])
    """
    return to_ndarray(tensor)


def share_ndarray(array not None):
    """A tensor over the memory of a NumPy array of a supported dtype; unaligned memory is copied first."""
    if not PyArray_Check(<PyObject *>array):
        raise TypeError(f"a NumPy array is wanted, not {type(array).__name__}")
    if not numpy.PyArray_ISBEHAVED_RO(array):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), copy=True)
    return from_ndarray(array)


def copy_ndarray(array not None):
    """A tensor with memory of its own, aligned to 64 bytes, and the values of a NumPy array, in its memory order."""
    cdef Tensor source = share_ndarray(array)
    cdef Tensor result = new_strided(source.rank, source.sizes, NULL if source.flags & CONTIGUOUS else source.steps, source.element, CPU, 0)
    copy_into(result, source)
    return result


# ------------------------------------------------------------------------------------- floating-point status

cdef int floating_point_begin() noexcept nogil:
    # Flags stay set until somebody clears them: what other code left is not ours to report.
    if fastops_status():
        fastops_clear_status()
    return 0


cdef int floating_point_end(Operator op) except -1:
    cdef int status = fastops_status()
    if status:
        fastops_clear_status()
        report_floating_point(op, status)
    return 0


cdef bint floating_point_invalid() noexcept nogil:
    # Whether something was undefined since floating_point_begin: how the loops of linear algebra say that they failed.
    cdef int status = fastops_status()
    if status:
        fastops_clear_status()
    return status & FASTOPS_INVALID != 0


cdef int report_floating_point(Operator op, int status) except -1:
    # As NumPy does, under numpy.errstate.
    settings = np.geterr()
    name = op._opname
    for flag, kind, what, number in ((FASTOPS_DIVIDE, "divide", "divide by zero", 1), (FASTOPS_OVER, "over", "overflow", 2),
                                     (FASTOPS_UNDER, "under", "underflow", 4), (FASTOPS_INVALID, "invalid", "invalid value", 8)):
        action = settings[kind]
        if not status & flag or action == "ignore":
            continue
        message = f"{what} encountered in {name}"
        if action == "raise":
            raise FloatingPointError(message)
        elif action == "warn":
            warnings.warn(message, RuntimeWarning)
        elif action == "print":
            print(f"Warning: {message}")
        elif action == "call":
            np.geterrcall()(what, number)
        else:
            np.geterrcall().write(f"Warning: {message}\n")
    return 0


# ------------------------------------------------------------------------------------------ scalars

cdef int scalar_code(PyObject *value) noexcept:
    # The code of a Python scalar; -1 for anything else.
    if PyFloat_CheckExact(value):
        return WEAK_FLOAT
    if PyLong_CheckExact(value):
        return WEAK_INTEGER
    if PyBool_Check(value):
        return BOOL.code
    if PyComplex_CheckExact(value):
        return WEAK_COMPLEX
    return -1


cdef int store_scalar(Operator op, PyObject *value, ElementType *element, char *place) except -1:
    # A Python scalar as one element; OverflowError where an integer does not fit, as NEP 50 says.
    cdef double real
    cdef long long integer
    cdef unsigned long long natural = 0
    cdef int overflow = 0
    if element.kind == c"f" and element.itemsize == 8 or element.kind == c"f" and element.itemsize == 4:
        real = PyFloat_AS_DOUBLE(value) if PyFloat_CheckExact(value) else PyLong_AsDouble(value)
        if element.itemsize == 8:
            (<double *>place)[0] = real
        else:
            (<float *>place)[0] = <float>real
        return 0
    if element.kind == c"c":
        if PyComplex_CheckExact(value):
            real = PyComplex_RealAsDouble(value)
        else:
            real = PyFloat_AS_DOUBLE(value) if PyFloat_CheckExact(value) else PyLong_AsDouble(value)
        if element.itemsize == 16:
            (<double *>place)[0] = real
            (<double *>place)[1] = PyComplex_ImagAsDouble(value)
        else:
            (<float *>place)[0] = <float>real
            (<float *>place)[1] = <float>PyComplex_ImagAsDouble(value)
        return 0
    if element.kind == c"b":
        (<uint8_t *>place)[0] = <bint>(<object>value)
        return 0
    if element.kind == c"i" or element.kind == c"u":
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
        if element.kind == c"u" and element.itemsize == 8:
            if overflow > 0:
                if not 0 <= <object>value < 1 << 64:
                    raise_out_of_bounds(op, value, element)
                natural = PyLong_AsUnsignedLongLong(value)
            elif overflow < 0 or integer < 0:
                raise_out_of_bounds(op, value, element)
            else:
                natural = <unsigned long long>integer
            (<uint64_t *>place)[0] = natural
            return 0
        if overflow or not fits(integer, element):
            raise_out_of_bounds(op, value, element)
        memcpy(place, &integer, element.itemsize)       # little-endian, checked at import
        return 0
    PyArray_Pack(<PyArray_Descr *>element.dtype, place, value)
    return 0


cdef int store_value(Operator op, PyObject *value, ElementType *element, char *place) except -1:
    # As an assignment does: a floating-point number is cut to a whole one.
    cdef int code = scalar_code(value)
    if element.kind == c"i" or element.kind == c"u":
        if code == WEAK_FLOAT:
            whole = int(<object>value)
            return store_scalar(op, <PyObject *>whole, element, place)
    if code == WEAK_COMPLEX and element.kind != c"c" and element.kind != c"b":
        raise TypeError(f"{op}: the complex number {<object>value} does not fit into {<object>element.dtype}")
    return store_scalar(op, value, element, place)


cdef object load_scalar(Tensor tensor):
    # The one element as a Python number.
    cdef char *place = tensor.data
    if tensor.element.kind == c"f" and tensor.element.itemsize == 8:
        return (<double *>place)[0]
    if tensor.element.kind == c"i" and tensor.element.itemsize == 8:
        return (<int64_t *>place)[0]
    if tensor.element.kind == c"b":
        return place[0] != 0
    return to_ndarray(tensor).item()


cdef bint fits(long long value, ElementType *element) noexcept nogil:
    if element.kind == c"i":
        if element.itemsize == 8:
            return True
        return -(<long long>1 << (8 * element.itemsize - 1)) <= value < <long long>1 << (8 * element.itemsize - 1)
    return 0 <= value < <long long>1 << (8 * element.itemsize)


cdef int raise_out_of_bounds(Operator op, PyObject *value, ElementType *element) except -1:
    raise OverflowError(f"{op}: Python integer {<object>value} out of bounds for {<object>element.dtype}")


cdef int parse_shape(Operator op, PyObject *value, int *rank, Py_ssize_t *sizes) except -1:
    # A whole number or a sequence of whole numbers; what they mean is the caller's affair.
    cdef Py_ssize_t axis, count
    if PyTuple_CheckExact(value):
        count = PyTuple_GET_SIZE(value)
        if count <= DIMENSIONS:
            for axis in range(count):
                if not PyLong_CheckExact(PyTuple_GET_ITEM(value, axis)):
                    break
                sizes[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(value, axis))
            else:
                rank[0] = <int>count
                return 0
    shape = <object>value
    if PyLong_CheckExact(value) or hasattr(shape, "__index__") and not is_sequence(shape):
        rank[0] = 1
        sizes[0] = parse_size(op, shape)
        return 0
    if not is_sequence(shape):
        raise TypeError(f"{op}: a shape is a whole number or a sequence of them, not {shape!r}")
    count = len(shape)
    if count > DIMENSIONS:
        raise ValueError(f"{op}: an array has at most {DIMENSIONS} dimensions, not {count}")
    for axis in range(count):
        sizes[axis] = parse_size(op, shape[axis])
    rank[0] = <int>count
    return 0


cdef bint is_sequence(object value) except -1:
    return isinstance(value, (tuple, list, range)) or getattr(value, "ndim", None) == 1


cdef Py_ssize_t parse_size(Operator op, object value) except? -1:
    try:
        return operator_index(value)
    except TypeError:
        raise TypeError(f"{op}: {value!r} is not a whole number, as a size must be") from None
    except OverflowError:
        raise ValueError(f"{op}: the size {value!r} is too large") from None


# -------------------------------------------------------------------------------------------- casts

cdef enum:
    CHUNK = 512                 # elements that go through a buffer at a time


cdef void copy_strided(char *target, Py_ssize_t target_step, const char *source, Py_ssize_t source_step,
                       Py_ssize_t itemsize, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t position
    if target_step == itemsize and source_step == itemsize:
        memcpy(target, source, count * itemsize)
    elif itemsize == 8:
        for position in range(count):
            (<uint64_t *>target)[0] = (<const uint64_t *>source)[0]
            target += target_step
            source += source_step
    elif itemsize == 4:
        for position in range(count):
            (<uint32_t *>target)[0] = (<const uint32_t *>source)[0]
            target += target_step
            source += source_step
    elif itemsize == 2:
        for position in range(count):
            (<uint16_t *>target)[0] = (<const uint16_t *>source)[0]
            target += target_step
            source += source_step
    elif itemsize == 1:
        for position in range(count):
            target[0] = source[0]
            target += target_step
            source += source_step
    else:
        for position in range(count):
            memcpy(target, source, itemsize)
            target += target_step
            source += source_step


cdef void cast_strided(char *target, Py_ssize_t target_step, ElementType *target_type, const char *source,
                       Py_ssize_t source_step, ElementType *source_type, Py_ssize_t count) noexcept nogil:
    # count elements from one type to another.
    if source_type == target_type:
        copy_strided(target, target_step, source, source_step, source_type.itemsize, count)
    else:
        cast_loops[source_type.code][target_type.code](target, target_step, source, source_step, count)


# --------------------------------------------------------------------------------------- loop nests

cdef int broadcast(Operator op, int count, PyObject **operands, int *rank, Py_ssize_t *sizes) except -1:
    # The common shape of the operands that are not NULL.
    cdef int position, axis, offset, result_rank = 0
    cdef Py_ssize_t extent
    for position in range(count):
        if operands[position] != NULL and (<Tensor>operands[position]).rank > result_rank:
            result_rank = (<Tensor>operands[position]).rank
    for axis in range(result_rank):
        sizes[axis] = 1
    for position in range(count):
        if operands[position] == NULL:
            continue
        offset = result_rank - (<Tensor>operands[position]).rank
        for axis in range((<Tensor>operands[position]).rank):
            extent = (<Tensor>operands[position]).sizes[axis]
            if extent != 1:
                if sizes[offset + axis] == 1:
                    sizes[offset + axis] = extent
                elif sizes[offset + axis] != extent:
                    raise_shapes(op, count, operands)
    rank[0] = result_rank
    return 0


cdef int raise_shapes(Operator op, int count, PyObject **operands) except -1:
    cdef int position
    shapes = " and ".join([str((<Tensor>operands[position]).shape) for position in range(count)
                           if operands[position] != NULL])
    raise ValueError(f"{op}: operands could not be broadcast together with shapes {shapes}")


cdef void nest_begin(Nest *nest, int rank, const Py_ssize_t *sizes) noexcept nogil:
    nest.rank = rank
    nest.operands = 0
    memcpy(nest.sizes, sizes, rank * sizeof(Py_ssize_t))


cdef void nest_operand(Nest *nest, char *data, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps) noexcept nogil:
    # An operand that broadcasts to the nest's shape: missing and length-1 axes get a step of 0.
    cdef int axis, offset = nest.rank - rank
    cdef Py_ssize_t *place = nest.steps[nest.operands]
    for axis in range(offset):
        place[axis] = 0
    for axis in range(rank):
        place[offset + axis] = 0 if sizes[axis] == 1 else steps[axis]
    nest.data[nest.operands] = data
    nest.operands += 1


cdef void nest_order(Nest *nest) noexcept nogil:
    # Sort the axes so that the last operand's memory is walked in order, drop axes of length 1, and merge
    # neighbours that make one run for every operand.
    cdef int axis, place, operand, last = nest.operands - 1
    cdef Py_ssize_t size, step, other
    cdef bint mergeable
    axis = 0
    for place in range(nest.rank):          # length-1 axes
        if nest.sizes[place] != 1:
            if axis != place:
                nest.sizes[axis] = nest.sizes[place]
                for operand in range(nest.operands):
                    nest.steps[operand][axis] = nest.steps[operand][place]
            axis += 1
    nest.rank = axis
    for axis in range(1, nest.rank):        # insertion sort by the last operand's steps
        place = axis
        while place > 0:
            step = nest.steps[last][place]
            other = nest.steps[last][place - 1]
            if (step if step >= 0 else -step) <= (other if other >= 0 else -other):
                break
            for operand in range(nest.operands):
                step = nest.steps[operand][place]
                nest.steps[operand][place] = nest.steps[operand][place - 1]
                nest.steps[operand][place - 1] = step
            size = nest.sizes[place]
            nest.sizes[place] = nest.sizes[place - 1]
            nest.sizes[place - 1] = size
            place -= 1
    axis = 0
    for place in range(1, nest.rank):
        mergeable = True
        for operand in range(nest.operands):
            if nest.steps[operand][axis] != nest.steps[operand][place] * nest.sizes[place]:
                mergeable = False
                break
        if mergeable:
            nest.sizes[axis] *= nest.sizes[place]
        else:
            axis += 1
            nest.sizes[axis] = nest.sizes[place]
        for operand in range(nest.operands):
            nest.steps[operand][axis] = nest.steps[operand][place]
    if nest.rank > 0:
        nest.rank = axis + 1


cdef bint nest_next(Nest *nest, Py_ssize_t *counter, char **pointers, int inner) noexcept nogil:
    # Advance the axes outside the inner ones by one; False when all is done.
    cdef int axis = nest.rank - 1 - inner, operand
    while axis >= 0:
        counter[axis] += 1
        if counter[axis] < nest.sizes[axis]:
            for operand in range(nest.operands):
                pointers[operand] += nest.steps[operand][axis]
            return True
        for operand in range(nest.operands):
            pointers[operand] -= nest.steps[operand][axis] * (nest.sizes[axis] - 1)
        counter[axis] = 0
        axis -= 1
    return False


cdef void run_inner(Loop *loop, ElementType **actual, char **pointers, const Py_ssize_t *steps, Py_ssize_t count,
                    int inputs, int operands) noexcept nogil:
    # One run of the inner loop, through buffers for the operands whose type is not the loop's.
    cdef char buffers[OPERANDS][CHUNK * 16]
    cdef char *places[OPERANDS]
    cdef Py_ssize_t buffer_steps[OPERANDS]
    cdef Py_ssize_t done = 0, size
    cdef int operand
    while done < count:
        size = CHUNK if count - done > CHUNK else count - done
        for operand in range(operands):
            places[operand] = pointers[operand] + done * steps[operand]
            buffer_steps[operand] = steps[operand]
            if actual[operand] != loop.types[operand]:
                buffer_steps[operand] = loop.types[operand].itemsize
                if operand < inputs:
                    if steps[operand] == 0:
                        buffer_steps[operand] = 0
                    cast_strided(buffers[operand], loop.types[operand].itemsize, loop.types[operand], places[operand],
                                 steps[operand], actual[operand], 1 if steps[operand] == 0 else size)
                places[operand] = buffers[operand]
        loop.function(places, &size, buffer_steps, loop.data)
        for operand in range(inputs, operands):
            if actual[operand] != loop.types[operand]:
                cast_strided(pointers[operand] + done * steps[operand], steps[operand], actual[operand],
                             buffers[operand], loop.types[operand].itemsize, loop.types[operand], size)
        done += size


cdef void walk_nest(Nest *nest, Loop *loop, ElementType **actual, bint buffered, int inputs) noexcept nogil:
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[OPERANDS]
    cdef char *scratch[OPERANDS]
    cdef Py_ssize_t steps[OPERANDS]
    cdef Py_ssize_t count = 1
    cdef int operand, axis, inner = nest.rank - 1
    for operand in range(nest.operands):
        pointers[operand] = nest.data[operand]
        steps[operand] = nest.steps[operand][inner] if nest.rank > 0 else 0
    if nest.rank > 0:
        count = nest.sizes[inner]
        for axis in range(inner):
            counter[axis] = 0
    while True:
        if buffered:
            run_inner(loop, actual, pointers, steps, count, inputs, nest.operands)
        else:
            # Loops may move the pointers they are given.
            for operand in range(nest.operands):
                scratch[operand] = pointers[operand]
            loop.function(scratch, &count, steps, loop.data)
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            return


cdef int run_nest(Operator op, Nest *nest, Loop *loop, ElementType **actual, int inputs) except -1:
    # All runs of the inner loop; the axes are sorted and merged here.
    cdef Py_ssize_t total = 1
    cdef int operand, axis
    cdef bint buffered = False
    for axis in range(nest.rank):
        total *= nest.sizes[axis]
    if total == 0:
        return 0
    nest_order(nest)
    for operand in range(nest.operands):
        if actual[operand] != loop.types[operand]:
            buffered = True
    floating_point_begin()
    if total >= LONG_WORK:
        with nogil:
            walk_nest(nest, loop, actual, buffered, inputs)
    else:
        walk_nest(nest, loop, actual, buffered, inputs)
    raise_pending()
    floating_point_end(op)
    return 0


# --------------------------------------------------------------------------------- memory and layout

cdef void extent_of(Tensor tensor, char **low, char **high) noexcept nogil:
    cdef int axis
    low[0] = tensor.data
    high[0] = tensor.data + tensor.element.itemsize
    for axis in range(tensor.rank):
        if tensor.steps[axis] < 0:
            low[0] += (tensor.sizes[axis] - 1) * tensor.steps[axis]
        else:
            high[0] += (tensor.sizes[axis] - 1) * tensor.steps[axis]


cdef bint overlaps(Tensor first, Tensor second) noexcept nogil:
    # Whether the memory between the lowest and the highest byte is shared: never a missed overlap.
    cdef char *low
    cdef char *high
    cdef char *other_low
    cdef char *other_high
    if first.count == 0 or second.count == 0 or first.data == NULL or second.data == NULL:
        return False
    extent_of(first, &low, &high)
    extent_of(second, &other_low, &other_high)
    return low < other_high and other_low < high


cdef bint same_layout(Tensor first, Tensor second) noexcept nogil:
    # Whether element i of both is the same memory.
    cdef int axis
    if first.data != second.data or first.rank != second.rank or first.element.itemsize != second.element.itemsize:
        return False
    for axis in range(first.rank):
        if first.sizes[axis] != second.sizes[axis]:
            return False
        if first.steps[axis] != second.steps[axis] and first.sizes[axis] != 1:
            return False
    return True


cdef int require_no_self_overlap(Tensor tensor, Operator op) except -1:
    # A written tensor whose elements share cells has no defined result. Sorted by step, each axis must clear
    # the extent of those below it; layouts that interleave without sharing are refused too, never the reverse.
    cdef int order[DIMENSIONS]
    cdef int axis, place
    cdef Py_ssize_t step, reach = tensor.element.itemsize
    if tensor.flags & CONTIGUOUS or tensor.count <= 1:
        return 0
    for axis in range(tensor.rank):
        place = axis
        step = tensor.steps[axis] if tensor.steps[axis] >= 0 else -tensor.steps[axis]
        while place > 0 and abs(tensor.steps[order[place - 1]]) > step:
            order[place] = order[place - 1]
            place -= 1
        order[place] = axis
    for place in range(tensor.rank):
        axis = order[place]
        if tensor.sizes[axis] == 1:
            continue
        step = tensor.steps[axis] if tensor.steps[axis] >= 0 else -tensor.steps[axis]
        if step < reach:
            raise ValueError(f"{op}: several elements of the array to be written share one memory cell (shape "
                             f"{tensor.shape}, strides {tensor.strides}); write into a copy")
        reach += step * (tensor.sizes[axis] - 1)
    return 0


cdef int require_castable(ElementType *source, ElementType *target, Operator op) except -1:
    # NumPy's "same_kind" rule for results that are stored.
    if source != target and not np.can_cast(<object>source.dtype, <object>target.dtype, "same_kind"):
        raise TypeError(f"{op}: cannot cast the result from {<object>source.dtype!r} to {<object>target.dtype!r} "
                        "with casting rule 'same_kind'")
    return 0


cdef Tensor output_argument(Operator op, PyObject *value):
    # The tensor given as out=, also in a tuple of one, NULL-safe: None where nothing is written.
    if value == NULL or value == <PyObject *>None:
        return None
    if not is_tensor(value):
        if isinstance(<object>value, tuple) and len(<tuple><object>value) == 1:
            return output_argument(op, <PyObject *>(<tuple><object>value)[0])
        if isinstance(<object>value, np.ndarray):
            return share_ndarray(<object>value)
        raise TypeError(f"{op}: out must be a Tensor, not {type(<object>value).__name__}")
    return <Tensor>value


cdef int require_broadcast(Tensor source, Tensor target) except -1:
    cdef int axis, offset = target.rank - source.rank
    for axis in range(source.rank):
        if offset < 0 or source.sizes[axis] != 1 and source.sizes[axis] != target.sizes[offset + axis]:
            raise ValueError(f"an array of shape {source.shape} does not broadcast into shape {target.shape}")
    return 0


cdef int copy_into(Tensor target, Tensor source) except -1:
    # target[...] = source, broadcast and cast; overlapping memory is copied first.
    cdef Nest nest
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[OPERANDS]
    cdef Py_ssize_t count, step, other
    if target.count == 0:
        return 0
    if source.backend != CPU or target.backend != CPU:
        raise TypeError(f"cannot copy between devices '{source.device}' and '{target.device}' here")
    if source.count != target.count or not target.flags & source.flags & CONTIGUOUS:
        require_broadcast(source, target)
    if overlaps(target, source) and not same_layout(target, source):
        source = contiguous_copy(source, source.element)
    if target.flags & source.flags & CONTIGUOUS and target.count == source.count:
        if target.count >= LONG_WORK:
            with nogil:
                cast_strided(target.data, target.element.itemsize, target.element, source.data,
                             source.element.itemsize, source.element, target.count)
        else:
            cast_strided(target.data, target.element.itemsize, target.element, source.data,
                         source.element.itemsize, source.element, target.count)
        return 0
    nest_begin(&nest, target.rank, target.sizes)
    nest_operand(&nest, source.data, source.rank, source.sizes, source.steps)
    nest_operand(&nest, target.data, target.rank, target.sizes, target.steps)
    nest_order(&nest)
    memset(counter, 0, sizeof(counter))
    pointers[0], pointers[1] = nest.data[0], nest.data[1]
    count = nest.sizes[nest.rank - 1] if nest.rank else 1
    step = nest.steps[0][nest.rank - 1] if nest.rank else source.element.itemsize
    other = nest.steps[1][nest.rank - 1] if nest.rank else target.element.itemsize
    with nogil:
        while True:
            cast_strided(pointers[1], other, target.element, pointers[0], step, source.element, count)
            if not nest_next(&nest, counter, pointers, 1):
                break
    return 0


cdef Tensor contiguous_copy(Tensor source, ElementType *element):
    # A row-major copy with the given element type.
    cdef Tensor result = new_tensor(source.rank, source.sizes, element, CPU, 0)
    copy_into(result, source)
    return result


# ------------------------------------------------------------------------------------- ufuncs' loops

cdef class Loops:
    """Inner loops by the dtypes of the inputs; each combination is resolved once and then looked up."""

    def __dealloc__(self):
        cdef int position
        for position in range(self.loop_count):
            free(self.loops[position])
        free(self.loops)

    cdef Loop *find(self, Operator op, const int *codes) except NULL:
        cdef int place, key
        if self.input_count == 2:
            place = self.table[codes[0] << 5 | codes[1]]
            if place:
                return self.loops[place - 1]
        elif self.input_count == 1:
            place = self.table[codes[0]]
            if place:
                return self.loops[place - 1]
        else:
            key = 0
            for place in range(self.input_count):
                key |= codes[place] << 5 * place
            for place in range(self.loop_count):
                if self.loops[place].key == key:
                    return self.loops[place]
        return self.resolve(op, codes)

    cdef Loop *resolve(self, Operator op, const int *codes) except NULL:
        raise NotImplementedError(f"{op}: no loops")

    cdef Loop *keep(self, Operator op, const int *codes, LoopFunction function, void *data) except NULL:
        # A new loop for these codes; the caller fills its types.
        cdef int operand
        cdef Loop *loop
        cdef Loop **loops
        if self.loop_count == self.loop_space:
            loops = <Loop **>realloc(self.loops, (2 * self.loop_space + 8) * sizeof(Loop *))
            if loops == NULL:
                raise MemoryError()
            self.loops, self.loop_space = loops, 2 * self.loop_space + 8
        loop = <Loop *>malloc(sizeof(Loop))
        if loop == NULL:
            raise MemoryError()
        loop.function, loop.data, loop.key = function, data, 0
        for operand in range(self.input_count):
            loop.key |= codes[operand] << 5 * operand
        self.loops[self.loop_count] = loop
        self.loop_count += 1
        if self.input_count == 2:
            self.table[codes[0] << 5 | codes[1]] = self.loop_count
        elif self.input_count == 1:
            self.table[codes[0]] = self.loop_count
        return loop


cdef class UfuncLoops(Loops):
    """The loops of one ufunc. Promotion is NumPy's: the first call with new dtypes asks the ufunc itself.

    *prepare*, if given, is called before that with the dtypes (types for Python's numbers): a ufunc that compiles its
    loops when they are needed does so there.
    """

    def __init__(self, ufunc, *, prepare=None):
        if not isinstance(ufunc, np.ufunc):
            raise TypeError(f"not a ufunc: {ufunc!r}")
        self.prepare = prepare
        if ufunc.nargs > OPERANDS:
            raise ValueError(f"{ufunc!r} has {ufunc.nargs} operands; {OPERANDS} are allowed")
        self.ufunc = ufunc
        self.input_count = ufunc.nin
        self.output_count = ufunc.nout

    cdef Loop *resolve(self, Operator op, const int *codes) except NULL:
        cdef int position, operand, number, nargs = self.input_count + self.output_count
        cdef UfuncFields *ufunc = <UfuncFields *>self.ufunc
        cdef Loop *loop
        cdef LoopFunction function
        cdef int wanted[OPERANDS]
        inputs = tuple([dtype_of_code(codes[position]) for position in range(self.input_count)])
        if self.prepare is not None:
            self.prepare(inputs)
        try:
            resolved = self.ufunc.resolve_dtypes(inputs + (None,) * self.output_count)
        except TypeError as error:
            names = ", ".join([getattr(kind, "__name__", str(kind)) for kind in inputs])
            raise TypeError(f"{op} is not supported for dtypes {names}: {error}") from None
        for operand in range(nargs):
            wanted[operand] = element_of(resolved[operand]).code
        for position in range(ufunc.ntypes):
            for operand in range(nargs):
                number = <unsigned char>ufunc.types[position * nargs + operand]
                if canonical_codes[number] != wanted[operand]:
                    break
            else:
                function = own_loop(self.ufunc, element_type(wanted[0]))
                if function == NULL:
                    function = <LoopFunction>ufunc.functions[position]
                loop = self.keep(op, codes, function, <void *>ufunc.data[position])
                for operand in range(nargs):
                    loop.types[operand] = element_type(wanted[operand])
                return loop
        raise TypeError(f"{op} has no loop for {', '.join([str(dtype) for dtype in resolved])}")


cdef LoopFunction own_loop(object ufunc, ElementType *element) noexcept:
    # Where a measurement says that NumPy's loop is slow, or the standard wants other values; NULL elsewhere.
    if element == FLOAT64:
        if ufunc is np.sin:
            return fastops_sin_loop
        if ufunc is np.cos:
            return fastops_cos_loop
    elif element.kind == c"c":
        if ufunc is np.expm1:
            return fastops_expm1_c8 if element.itemsize == 8 else fastops_expm1_c16
        if ufunc is np.tanh:
            return fastops_tanh_c8 if element.itemsize == 8 else fastops_tanh_c16
    return NULL


cdef class SelectLoops(Loops):
    """The loops that take one of two values by a condition; any dtypes, promoted together."""

    def __cinit__(self):
        self.input_count, self.output_count = 3, 1

    cdef Loop *resolve(self, Operator op, const int *codes) except NULL:
        cdef ElementType *element = promote(codes[1], codes[2])
        cdef LoopFunction function = select_any
        cdef Loop *loop
        if element.itemsize == 1:
            function = select_1
        elif element.itemsize == 2:
            function = select_2
        elif element.itemsize == 4:
            function = select_4
        elif element.itemsize == 8:
            function = select_8
        loop = self.keep(op, codes, function, <void *>element.itemsize)
        loop.types[0] = BOOL
        loop.types[1] = loop.types[2] = loop.types[3] = element
        return loop


cdef class ScaleLoops(Loops):
    """The loops that multiply, 0 times anything being 0; floating-point and complex dtypes, promoted together."""

    def __cinit__(self):
        self.input_count, self.output_count = 2, 1

    cdef Loop *resolve(self, Operator op, const int *codes) except NULL:
        cdef ElementType *element = promote(codes[0], codes[1])
        cdef LoopFunction function
        cdef Loop *loop
        if element.kind == c"c":
            function = fastops_scale_c8 if element.itemsize == 8 else fastops_scale_c16
            element = element_of("c8") if element.itemsize == 8 else element_of("c16")
        elif element.kind == c"f" and element.itemsize <= 4:
            function = fastops_scale_f4
            element = element_of("f4")
        else:
            function = fastops_scale_f8
            element = element_of("f8")
        loop = self.keep(op, codes, function, NULL)
        loop.types[0] = loop.types[1] = loop.types[2] = element
        return loop


cdef void select_1(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count[0]):
        pointers[3][i * steps[3]] = pointers[1][i * steps[1]] if pointers[0][i * steps[0]] else pointers[2][i * steps[2]]

cdef void select_2(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count[0]):
        (<uint16_t *>(pointers[3] + i * steps[3]))[0] = (
            (<uint16_t *>(pointers[1] + i * steps[1]))[0] if pointers[0][i * steps[0]]
            else (<uint16_t *>(pointers[2] + i * steps[2]))[0])

cdef void select_4(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count[0]):
        (<uint32_t *>(pointers[3] + i * steps[3]))[0] = (
            (<uint32_t *>(pointers[1] + i * steps[1]))[0] if pointers[0][i * steps[0]]
            else (<uint32_t *>(pointers[2] + i * steps[2]))[0])

cdef void select_8(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count[0]):
        (<uint64_t *>(pointers[3] + i * steps[3]))[0] = (
            (<uint64_t *>(pointers[1] + i * steps[1]))[0] if pointers[0][i * steps[0]]
            else (<uint64_t *>(pointers[2] + i * steps[2]))[0])

cdef void select_any(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count[0]):
        memcpy(pointers[3] + i * steps[3],
               pointers[1] + i * steps[1] if pointers[0][i * steps[0]] else pointers[2] + i * steps[2],
               <Py_ssize_t>data)


cdef ElementType *promotions[32][32]
memset(promotions, 0, sizeof(promotions))

cdef ElementType *promote(int first, int second) except NULL:
    # The common element type of two codes, Python scalars' included (NEP 50).
    if promotions[first][second] == NULL:
        promotions[first][second] = element_of(np.result_type(example_of_code(first), example_of_code(second)))
    return promotions[first][second]


cdef ElementType *element_argument(Operator op, PyObject *dtype) except NULL:
    # The element type that a caller's dtype names; the error says which operator was called.
    try:
        return element_of(<object>dtype)
    except TypeError as error:
        raise TypeError(f"{op}: {error}") from None


cdef object dtype_of_code(int code):
    return weak_types[code - WEAK_INTEGER] if code >= WEAK_INTEGER else <object>element_type(code).dtype


cdef object example_of_code(int code):
    return weak_types[code - WEAK_INTEGER](0) if code >= WEAK_INTEGER else <object>element_type(code).dtype


weak_types = (int, float, complex)
cdef int canonical_codes[256]
for _position in range(256):        # by NumPy's type numbers: two for 64-bit integers, which are one type here
    canonical_codes[_position] = -1
for _dtype in map(np.dtype, "?bhilqBHILQefdFD"):
    canonical_codes[_dtype.num] = element_of(np.dtype(_dtype.kind + str(_dtype.itemsize))).code



# ------------------------------------------------------------------------------ elementwise operators

cdef class Elementwise(Kernel):
    """The kernel of an elementwise operator: a ufunc's loops under our own broadcasting.

    The operator's parameters are the inputs, then ``out``. Runs on the CPU; on Meta it stops after the result's
    shape, dtype and strides are known. *compares*: a Python integer out of the array's range is compared, not
    refused. *options*: there are three more parameters, ``where``, ``dtype`` and ``casting``; where one is given,
    this function does the call, in other operators. *fewer*: what a call with the first input alone means.
    """
    cdef Loops loops
    cdef bint compares
    cdef object options, fewer

    def __init__(self, Loops loops not None, *, bint compares=False, options=None, fewer=None):
        self.run = run_elementwise
        self.fewer = fewer
        self.loops = loops
        self.options = options
        self.compares = compares
        source = f"numpy.{loops.ufunc.__name__}" if loops.ufunc is not None else type(loops).__name__
        self.description = f"fastops/_loops.pyx: elementwise, loops of {source}"


cdef object run_elementwise(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Elementwise kernel = <Elementwise>base
    cdef Loops loops = kernel.loops
    cdef int inputs = loops.input_count, outputs = loops.output_count, position, rank
    cdef int codes[OPERANDS]
    cdef ElementType *actual[OPERANDS]
    cdef PyObject *tensors[OPERANDS]
    cdef char scalars[OPERANDS][16]
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Loop *loop
    cdef PyObject *value
    cdef Tensor first = None, tensor, result
    cdef bint plain = True          # all tensors gapless and of one shape, no cast, no out
    if kernel.options is not None and (arguments[inputs + 1] != NULL or arguments[inputs + 2] != NULL
                                       or arguments[inputs + 3] != NULL):
        return kernel.options(op, [<object>arguments[position] for position in range(inputs)],
                              *[None if arguments[position] == NULL else <object>arguments[position]
                                for position in range(inputs, inputs + 4)])
    if kernel.fewer is not None and arguments[1] == NULL:
        return kernel.fewer(<object>arguments[0])
    for position in range(inputs):
        value = arguments[position]
        if value == NULL:
            raise ValueError(f"{op}: the argument {<object>op.names[position]} is missing; give all arrays, or the first alone")
        if is_tensor(value):
            tensors[position] = value
            actual[position] = (<Tensor>value).element
            codes[position] = actual[position].code
            if first is None:
                first = <Tensor>value
                plain = first.flags & CONTIGUOUS != 0
            elif plain:
                plain = ((<Tensor>value).flags & CONTIGUOUS != 0 and (<Tensor>value).rank == first.rank
                         and (<Tensor>value).backend == CPU and same_sizes(<Tensor>value, first))
        else:
            tensors[position] = NULL
            codes[position] = scalar_code(value)
            if codes[position] < 0:
                raise TypeError(f"{op}: argument {position + 1} is {type(<object>value).__name__}; wanted is an "
                                "array or a number")
    loop = loops.find(op, codes)
    for position in range(inputs):
        if tensors[position] == NULL:
            actual[position] = loop.types[position]
            try:
                store_scalar(op, arguments[position], loop.types[position], scalars[position])
            except OverflowError:
                if kernel.compares:
                    return compare_out_of_bounds(kernel, op, arguments)
                raise
        elif actual[position] != loop.types[position]:
            plain = False
    if plain and outputs == 1 and first.backend == CPU:
        value = arguments[inputs]
        if value == NULL or value == <PyObject *>None:
            result = new_tensor(first.rank, first.sizes, loop.types[inputs], CPU, 0)
            if first.count:
                run_plain(op, loop, inputs, tensors, scalars, result)
            return result
        if is_tensor(value) and is_plain_output(<Tensor>value, loop.types[inputs], first, inputs, tensors):
            result = <Tensor>value
            if first.count:
                run_plain(op, loop, inputs, tensors, scalars, result)
            mark_written(result, op)
            return result
    if inputs == 2 and outputs == 1 and tensors[0] != NULL and tensors[1] != NULL and actual[0] == loop.types[0] \
            and actual[1] == loop.types[1] and (arguments[2] == NULL or arguments[2] == <PyObject *>None):
        if is_repeated(<Tensor>tensors[1], <Tensor>tensors[0]):
            return run_rows(op, loop, <Tensor>tensors[0], <Tensor>tensors[1], False)
        if is_repeated(<Tensor>tensors[0], <Tensor>tensors[1]):
            return run_rows(op, loop, <Tensor>tensors[1], <Tensor>tensors[0], True)
    return run_general(op, loop, inputs, outputs, arguments, tensors, actual, scalars)


cdef inline bint same_sizes(Tensor first, Tensor second) noexcept nogil:
    cdef int axis
    for axis in range(first.rank):
        if first.sizes[axis] != second.sizes[axis]:
            return False
    return True


cdef bint is_plain_output(Tensor out, ElementType *element, Tensor like, int inputs, PyObject **tensors) noexcept:
    cdef int position
    if (not out.flags & CONTIGUOUS or out.flags & READ_ONLY or out.storage.flags & READ_ONLY or out.element != element
            or out.backend != CPU or out.rank != like.rank or not same_sizes(out, like)):
        return False
    for position in range(inputs):
        if tensors[position] != NULL and clobbers(out, <Tensor>tensors[position]):
            return False
    return True


cdef int run_plain(Operator op, Loop *loop, int inputs, PyObject **tensors, char (*scalars)[16], Tensor result) except -1:
    # One run of the loop over everything.
    cdef char *pointers[OPERANDS]
    cdef Py_ssize_t steps[OPERANDS]
    cdef Py_ssize_t count = result.count
    cdef int position
    for position in range(inputs):
        if tensors[position] == NULL:
            pointers[position] = scalars[position]
            steps[position] = 0
        else:
            pointers[position] = (<Tensor>tensors[position]).data
            steps[position] = loop.types[position].itemsize
    pointers[inputs] = result.data
    steps[inputs] = loop.types[inputs].itemsize
    floating_point_begin()
    if count >= LONG_WORK:
        with nogil:
            loop.function(pointers, &count, steps, loop.data)
    else:
        loop.function(pointers, &count, steps, loop.data)
    raise_pending()
    return floating_point_end(op)


cdef bint is_repeated(Tensor row, Tensor whole) noexcept nogil:
    # Whether row is a small gapless array whose shape ends that of another: a bias beside a batch.
    cdef int axis, offset = whole.rank - row.rank
    if (offset <= 0 or whole.count > LONG_WORK or row.count == 0 or whole.count == 0 or row.backend != CPU
            or whole.backend != CPU or not row.flags & whole.flags & CONTIGUOUS):
        return False
    for axis in range(row.rank):
        if row.sizes[axis] != whole.sizes[offset + axis]:
            return False
    return True


cdef Tensor run_rows(Operator op, Loop *loop, Tensor whole, Tensor row, bint row_first):
    # The loop over each run of whole that is as long as row: no loop nest is needed.
    cdef Tensor result = new_tensor(whole.rank, whole.sizes, loop.types[2], CPU, 0)
    cdef char *pointers[3]
    cdef Py_ssize_t steps[3]
    cdef Py_ssize_t done = 0, count
    steps[0], steps[1], steps[2] = loop.types[0].itemsize, loop.types[1].itemsize, loop.types[2].itemsize
    floating_point_begin()
    while done < whole.count:
        count = row.count
        pointers[0] = row.data if row_first else whole.data + done * steps[0]
        pointers[1] = whole.data + done * steps[1] if row_first else row.data
        pointers[2] = result.data + done * steps[2]
        loop.function(pointers, &count, steps, loop.data)
        done += row.count
    raise_pending()
    floating_point_end(op)
    return result


cdef object run_general(Operator op, Loop *loop, int inputs, int outputs, PyObject **arguments,
                        PyObject **tensors, ElementType **actual, char (*scalars)[16]):
    # Broadcasting, strides, casts, out=, several results.
    cdef PyObject *operands[OPERANDS]
    cdef PyObject *given[OPERANDS]
    cdef Nest nest
    cdef int position, output, rank = 0, backend = CPU, device_index = 0
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Tensor tensor, out
    cdef list copies = [], results = []
    cdef bint first = True, writes = arguments[inputs] != NULL and arguments[inputs] != <PyObject *>None
    for position in range(inputs):
        operands[position] = tensors[position]
        if tensors[position] != NULL:
            common_device(op, <Tensor>tensors[position], &backend, &device_index, first)
            first = False
    broadcast(op, inputs, operands, &rank, sizes)
    outputs_given(op, arguments[inputs] if writes else NULL, outputs, given)
    for output in range(outputs):
        out = result_tensor(op, given[output], inputs, operands, rank, sizes, loop.types[inputs + output], backend, device_index)
        actual[inputs + output] = out.element
        results.append(out)
    if backend == CPU:
        if writes:
            for position in range(inputs):
                if operands[position] != NULL and clobbered(<Tensor>operands[position], results):
                    tensor = contiguous_copy(<Tensor>operands[position], actual[position])
                    copies.append(tensor)
                    operands[position] = <PyObject *>tensor
        nest_begin(&nest, rank, sizes)
        for position in range(inputs):
            if operands[position] == NULL:
                nest_operand(&nest, scalars[position], 0, NULL, NULL)
            else:
                tensor = <Tensor>operands[position]
                nest_operand(&nest, tensor.data, tensor.rank, tensor.sizes, tensor.steps)
        for output in range(outputs):
            out = <Tensor>results[output]
            nest_operand(&nest, out.data, out.rank, out.sizes, out.steps)
        run_nest(op, &nest, loop, actual, inputs)
    if writes:
        for output in range(outputs):
            if given[output] != NULL:
                mark_written((<Tensor>results[output]), op)
    return results[0] if outputs == 1 else tuple(results)


cdef int outputs_given(Operator op, PyObject *out, int count, PyObject **given) except -1:
    # What out= holds for each result, NULL where there is nothing; a tuple of one serves for one result, as in NumPy.
    cdef int output
    for output in range(count):
        given[output] = NULL
    if out == NULL:
        return 0
    if count == 1 and not PyTuple_CheckExact(out):
        given[0] = out
        return 0
    if not PyTuple_CheckExact(out) or PyTuple_GET_SIZE(out) != count:
        raise TypeError(f"{op}: out must be a tuple of {count} tensors or None")
    for output in range(count):
        if PyTuple_GET_ITEM(out, output) != <PyObject *>None:
            given[output] = PyTuple_GET_ITEM(out, output)
    return 0


cdef bint clobbered(Tensor operand, list results) noexcept:
    for result in results:
        if clobbers(<Tensor>result, operand):
            return True
    return False


cdef bint clobbers(Tensor out, Tensor operand) noexcept nogil:
    # Whether writing out, element by element, would change elements of operand that are still to be read.
    return overlaps(out, operand) and not same_layout(out, operand)


cdef Tensor result_tensor(Operator op, PyObject *given, int inputs, PyObject **operands, int rank,
                          const Py_ssize_t *sizes, ElementType *element, int backend, int device_index):
    cdef Tensor out = output_argument(op, given)
    if out is None:
        return new_strided(rank, sizes, memory_order(inputs, operands, rank, sizes), element, backend, device_index)
    require_output(op, out, rank, sizes, element, backend, device_index)
    return out


cdef int common_device(Operator op, Tensor tensor, int *backend, int *device_index, bint first) except -1:
    # Meta takes part with any device; all else must be memory that the CPU reads.
    if tensor.backend == META:
        backend[0], device_index[0] = META, 0
    elif tensor.backend != CPU:
        raise TypeError(f"{op}: this kernel reads the CPU's memory, not that of device '{tensor.device}'")
    elif first:
        backend[0], device_index[0] = CPU, 0
    return 0


cdef Py_ssize_t *memory_order(int count, PyObject **operands, int rank, const Py_ssize_t *sizes) noexcept:
    # The steps of the first operand that has the result's shape: the result is laid out like it. NULL for row-major.
    cdef int position
    for position in range(count):
        if (operands[position] != NULL and (<Tensor>operands[position]).rank == rank
                and memcmp((<Tensor>operands[position]).sizes, sizes, rank * sizeof(Py_ssize_t)) == 0):
            return NULL if (<Tensor>operands[position]).flags & CONTIGUOUS else (<Tensor>operands[position]).steps
    return NULL


cdef Py_ssize_t column_steps[DIMENSIONS]        # as new_strided compares them: the first axis is the quickest
for _axis in range(DIMENSIONS):
    column_steps[_axis] = _axis + 1


cdef const Py_ssize_t *ordered_steps(Operator op, PyObject *order, Tensor like, bint keep) except? NULL:
    # What new_strided is to lay out a result by: "C" row-major (NULL), "F" column-major, "K" and "A" like a tensor.
    if order == NULL or order == <PyObject *>None:
        return like.steps if keep and not like.flags & CONTIGUOUS else NULL
    name = <object>order
    if name == "C":
        return NULL
    if name == "F":
        return column_steps
    if name not in ("K", "A"):
        raise ValueError(f"{op}: order is 'C', 'F', 'A' or 'K', not {name!r}")
    if like is None or like.flags & CONTIGUOUS:
        return NULL
    return like.steps if name == "K" else column_steps if is_column_major(like) else NULL


cdef bint is_column_major(Tensor tensor) noexcept nogil:
    cdef Py_ssize_t expected = tensor.element.itemsize
    cdef int axis
    for axis in range(tensor.rank):
        if tensor.sizes[axis] != 1 and tensor.steps[axis] != expected:
            return tensor.count == 0
        expected *= tensor.sizes[axis]
    return True


cdef int require_output(Operator op, Tensor out, int rank, const Py_ssize_t *sizes, ElementType *element,
                        int backend, int device_index) except -1:
    if out.rank != rank or memcmp(out.sizes, sizes, rank * sizeof(Py_ssize_t)) != 0:
        raise ValueError(f"{op}: the result has shape {shape_tuple(rank, sizes)}, which does not fit into the "
                         f"output of shape {out.shape}")
    if out.backend != backend and out.backend == META:
        raise ValueError(f"{op}: the output is on device 'meta', which has no memory to write")
    if out.backend != backend or out.device_index != device_index:
        raise ValueError(f"{op}: the output is on device '{out.device}', the arguments are not")
    require_castable(element, out.element, op)
    require_writable(out, op)
    require_no_self_overlap(out, op)
    return 0


cdef object compare_out_of_bounds(Elementwise kernel, Operator op, PyObject **arguments):
    # A Python integer that the array's dtype cannot hold still compares; NumPy knows the answer.
    cdef int position
    values = []
    for position in range(2):
        values.append(to_ndarray(<Tensor>arguments[position]) if is_tensor(arguments[position])
                      else <object>arguments[position])
    result = from_ndarray(np.asarray(kernel.loops.ufunc(*values)))
    out = output_argument(op, arguments[2])
    if out is None:
        return result
    copy_into(out, result)
    return out
