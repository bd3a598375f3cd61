"""Reductions, running sums and the places of extrema: kernels that walk one axis or several.

A reduction calls a ufunc's binary loop with the result as first operand and as output, and a step of 0 along the
reduced axes, as NumPy's own does: for floating-point sums the loop then adds pairwise, so the rounding error is the
same. The axes are sorted by the input's steps and merged, any layout is read where it lies; a short innermost axis
is taken over by its longer neighbour in blocks, because a call of a loop costs as much as some ten elements.
"""

from cpython.object cimport PyObject
from libc.math cimport sqrt, sqrtf
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy, memset

cimport numpy

from fastops._dispatch cimport (CONTIGUOUS, CPU, ElementType, Kernel, Operator, Tensor, element_of, element_type,
                                finish_layout, is_tensor, mark_written, new_strided, new_tensor, new_view, require_writable)
from fastops._loops cimport (BOOL_CODE, DIMENSIONS, LONG_WORK, Loop, Nest, UfuncLoops, cast_strided, element_argument, contiguous_copy,
                             copy_into, floating_point_begin, floating_point_end, nest_begin, nest_next, nest_operand,
                             nest_order, output_argument, promote, raise_pending, scalar_code, store_value, to_ndarray)

import warnings
from operator import index as operator_index

import numpy as np

from fastops import _dispatch as machine
from fastops._loops import share_ndarray

numpy.import_array()

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    /* One copy of the function for wide registers, one without; the loader takes the one that the machine has. */
    #define FASTOPS_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define FASTOPS_CLONES
    #endif

    /* The squares of the deviations from the mean, in the floating-point type of the values; complex ones give
       the square of the magnitude. mean_step is 0 along reduced axes, where the compiler can vectorize. */
    #define FASTOPS_DEVIATIONS(NAME, REAL)                                                                        \\
    FASTOPS_CLONES static void NAME(const char *source, Py_ssize_t step, const char *mean, Py_ssize_t mean_step,  \\
                                    char *target, Py_ssize_t count) {                                             \\
        REAL *out = (REAL *)target;                                                                               \\
        Py_ssize_t i;                                                                                             \\
        if (mean_step == 0 && step == (Py_ssize_t)sizeof(REAL)) {                                                 \\
            const REAL *in = (const REAL *)source, m = *(const REAL *)mean;                                       \\
            for (i = 0; i < count; i++) {                                                                         \\
                REAL d = in[i] - m;                                                                               \\
                out[i] = d * d;                                                                                   \\
            }                                                                                                     \\
            return;                                                                                               \\
        }                                                                                                         \\
        for (i = 0; i < count; i++) {                                                                             \\
            REAL d = *(const REAL *)(source + i * step) - *(const REAL *)(mean + i * mean_step);                  \\
            out[i] = d * d;                                                                                       \\
        }                                                                                                         \\
    }                                                                                                             \\
    static void NAME##_complex(const char *source, Py_ssize_t step, const char *mean, Py_ssize_t mean_step,       \\
                               char *target, Py_ssize_t count) {                                                  \\
        REAL *out = (REAL *)target;                                                                               \\
        Py_ssize_t i;                                                                                             \\
        for (i = 0; i < count; i++) {                                                                             \\
            const REAL *in = (const REAL *)(source + i * step), *m = (const REAL *)(mean + i * mean_step);        \\
            REAL re = in[0] - m[0], im = in[1] - m[1];                                                            \\
            out[i] = re * re + im * im;                                                                           \\
        }                                                                                                         \\
    }
    FASTOPS_DEVIATIONS(fastops_deviations_double, double)
    FASTOPS_DEVIATIONS(fastops_deviations_float, float)

    /* A running sum or product in a register: through a ufunc's loop every element would wait for the store of
       the one before. */
    #define FASTOPS_RUNNING(NAME, TYPE, OPERATION)                                                                \\
    static void NAME(char **places, const Py_ssize_t *count, const Py_ssize_t *steps, void *data) {               \\
        TYPE value = *(TYPE *)places[0];                                                                          \\
        Py_ssize_t i, in = steps[1], out = steps[2];                                                              \\
        const char *source = places[1];                                                                           \\
        char *target = places[2];                                                                                 \\
        for (i = 0; i < *count; i++, source += in, target += out)                                                 \\
            *(TYPE *)target = value = value OPERATION *(const TYPE *)source;                                      \\
    }
    FASTOPS_RUNNING(fastops_running_sum_double, double, +)
    FASTOPS_RUNNING(fastops_running_sum_float, float, +)
    FASTOPS_RUNNING(fastops_running_sum_integer, uint64_t, +)
    FASTOPS_RUNNING(fastops_running_product_double, double, *)
    FASTOPS_RUNNING(fastops_running_product_float, float, *)
    FASTOPS_RUNNING(fastops_running_product_integer, uint64_t, *)

    /* How many elements are zero, and whether each is not: by the bits, so that -0.0 is zero and NaN is not. Lanes
       of the element's own width let the compiler add up comparisons without widening them. */
    #define FASTOPS_TRUTH(NAME, WORD, COMPARE, MASK)                                                              \\
    FASTOPS_CLONES static Py_ssize_t NAME##_zeros(const char *source, Py_ssize_t step, Py_ssize_t count) {        \\
        Py_ssize_t total = 0, i = 0;                                                                              \\
        enum { LANES = 32 / sizeof(WORD) };                                                                       \\
        if (step == (Py_ssize_t)sizeof(WORD)) {                                                                   \\
            while (count - i >= LANES) {                                                                          \\
                WORD lanes[LANES] = {0};                                                                          \\
                Py_ssize_t runs = (count - i) / LANES, run;                                                       \\
                int lane;                                                                                         \\
                if (runs > 255) runs = 255;                                                                       \\
                for (run = 0; run < runs; run++, i += LANES)                                                      \\
                    for (lane = 0; lane < LANES; lane++)                                                          \\
                        lanes[lane] += COMPARE(((const WORD *)source)[i + lane], MASK);                           \\
                for (lane = 0; lane < LANES; lane++)                                                              \\
                    total += (Py_ssize_t)lanes[lane];                                                             \\
            }                                                                                                     \\
        }                                                                                                         \\
        for (; i < count; i++)                                                                                    \\
            total += COMPARE(*(const WORD *)(source + i * step), MASK);                                           \\
        return total;                                                                                             \\
    }                                                                                                             \\
    FASTOPS_CLONES static void NAME##_truths(const char *source, Py_ssize_t step, char *target, Py_ssize_t count) {\\
        Py_ssize_t i;                                                                                             \\
        if (step == (Py_ssize_t)sizeof(WORD))                                                                     \\
            for (i = 0; i < count; i++)                                                                           \\
                target[i] = !COMPARE(((const WORD *)source)[i], MASK);                                            \\
        else                                                                                                      \\
            for (i = 0; i < count; i++)                                                                           \\
                target[i] = !COMPARE(*(const WORD *)(source + i * step), MASK);                                   \\
    }
    #define FASTOPS_MASKED(VALUE, MASK) (((VALUE) & (MASK)) == 0)
    FASTOPS_TRUTH(fastops_1, uint8_t, FASTOPS_MASKED, 0xffu)
    FASTOPS_TRUTH(fastops_2, uint16_t, FASTOPS_MASKED, 0xffffu)
    FASTOPS_TRUTH(fastops_4, uint32_t, FASTOPS_MASKED, 0xffffffffu)
    FASTOPS_TRUTH(fastops_8, uint64_t, FASTOPS_MASKED, ~(uint64_t)0)
    FASTOPS_TRUTH(fastops_half, uint16_t, FASTOPS_MASKED, 0x7fffu)
    FASTOPS_TRUTH(fastops_float, uint32_t, FASTOPS_MASKED, 0x7fffffffu)
    FASTOPS_TRUTH(fastops_double, uint64_t, FASTOPS_MASKED, ~((uint64_t)1 << 63))

    /* The places of the extrema of many slices at once: the values that are best so far stay in a block, so that
       memory is read in order whichever axis is reduced. */
    #define FASTOPS_PLACES(NAME, TYPE, ORDER, IS_NAN)                                                             \\
    FASTOPS_CLONES static void NAME(const char *source, Py_ssize_t length, Py_ssize_t step, Py_ssize_t width,     \\
                                    Py_ssize_t across, char *target, Py_ssize_t target_step) {                    \\
        TYPE best[128];                                                                                           \\
        int64_t places[128];                                                                                      \\
        while (width > 0) {                                                                                       \\
            int size = width > 128 ? 128 : (int)width, j;                                                         \\
            Py_ssize_t k;                                                                                         \\
            for (j = 0; j < size; j++) {                                                                          \\
                best[j] = *(const TYPE *)(source + j * across);                                                   \\
                places[j] = 0;                                                                                    \\
            }                                                                                                     \\
            for (k = 1; k < length; k++) {                                                                        \\
                const char *row = source + k * step;                                                              \\
                for (j = 0; j < size; j++) {                                                                      \\
                    TYPE value = *(const TYPE *)(row + j * across);                                               \\
                    int better = (value ORDER best[j]) | (IS_NAN(value) & !IS_NAN(best[j]));                      \\
                    best[j] = better ? value : best[j];                                                           \\
                    places[j] = better ? k : places[j];                                                           \\
                }                                                                                                 \\
            }                                                                                                     \\
            for (j = 0; j < size; j++)                                                                            \\
                *(int64_t *)(target + j * target_step) = places[j];                                               \\
            source += size * across;                                                                              \\
            target += size * target_step;                                                                         \\
            width -= size;                                                                                        \\
        }                                                                                                         \\
    }
    #define FASTOPS_NEVER(VALUE) 0
    #define FASTOPS_UNORDERED(VALUE) ((VALUE) != (VALUE))
    #define FASTOPS_BOTH_PLACES(NAME, TYPE, IS_NAN)                                                               \\
        FASTOPS_PLACES(fastops_greatest_##NAME, TYPE, >, IS_NAN)                                                  \\
        FASTOPS_PLACES(fastops_smallest_##NAME, TYPE, <, IS_NAN)
    FASTOPS_BOTH_PLACES(f8, double, FASTOPS_UNORDERED)
    FASTOPS_BOTH_PLACES(f4, float, FASTOPS_UNORDERED)
    FASTOPS_BOTH_PLACES(i1, int8_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(i2, int16_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(i4, int32_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(i8, int64_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(u1, uint8_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(u2, uint16_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(u4, uint32_t, FASTOPS_NEVER)
    FASTOPS_BOTH_PLACES(u8, uint64_t, FASTOPS_NEVER)

    typedef Py_ssize_t (*fastops_zeros)(const char *, Py_ssize_t, Py_ssize_t);
    typedef void (*fastops_truths)(const char *, Py_ssize_t, char *, Py_ssize_t);
    typedef void (*fastops_places)(const char *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, char *, Py_ssize_t);
    /* By the codes of the element types, whose order _loops.pyx says; NULL for complex numbers, and for the order
       of float16. */
    static const fastops_zeros fastops_zeros_of[14] = {
        fastops_double_zeros, fastops_float_zeros, fastops_half_zeros, fastops_1_zeros, fastops_1_zeros, fastops_2_zeros,
        fastops_4_zeros, fastops_8_zeros, fastops_1_zeros, fastops_2_zeros, fastops_4_zeros, fastops_8_zeros, NULL, NULL};
    static const fastops_truths fastops_truths_of[14] = {
        fastops_double_truths, fastops_float_truths, fastops_half_truths, fastops_1_truths, fastops_1_truths,
        fastops_2_truths, fastops_4_truths, fastops_8_truths, fastops_1_truths, fastops_2_truths, fastops_4_truths,
        fastops_8_truths, NULL, NULL};
    static const fastops_places fastops_places_of[2][14] = {
        {fastops_greatest_f8, fastops_greatest_f4, NULL, fastops_greatest_u1, fastops_greatest_i1, fastops_greatest_i2,
         fastops_greatest_i4, fastops_greatest_i8, fastops_greatest_u1, fastops_greatest_u2, fastops_greatest_u4,
         fastops_greatest_u8, NULL, NULL},
        {fastops_smallest_f8, fastops_smallest_f4, NULL, fastops_smallest_u1, fastops_smallest_i1, fastops_smallest_i2,
         fastops_smallest_i4, fastops_smallest_i8, fastops_smallest_u1, fastops_smallest_u2, fastops_smallest_u4,
         fastops_smallest_u8, NULL, NULL}};
    """
    void fastops_deviations_double(const char *, Py_ssize_t, const char *, Py_ssize_t, char *, Py_ssize_t) noexcept nogil
    void fastops_deviations_float(const char *, Py_ssize_t, const char *, Py_ssize_t, char *, Py_ssize_t) noexcept nogil
    void fastops_deviations_double_complex(const char *, Py_ssize_t, const char *, Py_ssize_t, char *,
                                           Py_ssize_t) noexcept nogil
    void fastops_deviations_float_complex(const char *, Py_ssize_t, const char *, Py_ssize_t, char *,
                                          Py_ssize_t) noexcept nogil
    void fastops_running_sum_double(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_running_sum_float(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_running_sum_integer(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_running_product_double(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_running_product_float(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_running_product_integer(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    ctypedef Py_ssize_t (*ZeroCounter "fastops_zeros")(const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef void (*TruthLoop "fastops_truths")(const char *, Py_ssize_t, char *, Py_ssize_t) noexcept nogil
    ctypedef void (*PlaceLoop "fastops_places")(const char *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, char *,
                                                Py_ssize_t) noexcept nogil
    ZeroCounter fastops_zeros_of[14]
    TruthLoop fastops_truths_of[14]
    PlaceLoop fastops_places_of[2][14]

ctypedef void (*Deviations)(const char *, Py_ssize_t, const char *, Py_ssize_t, char *, Py_ssize_t) noexcept nogil
ctypedef void (*Running)(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef extern from "Python.h":
    bint PyLong_CheckExact(PyObject *)
    Py_ssize_t PyLong_AsSsize_t(PyObject *) except? -1
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *) noexcept

ctypedef int (*ArgumentFunction)(void *, Py_ssize_t, Py_ssize_t *, void *) noexcept nogil

cdef extern from "numpy/ndarrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    ctypedef struct PyArray_ArrFuncs:
        ArgumentFunction argmax
        ArgumentFunction argmin
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(PyArray_Descr *) noexcept nogil

cdef enum:
    FEW = 512                   # elements that go through a buffer on the stack
    MANY = 8192                 # elements that go through a buffer otherwise; NumPy's number
    SMALL = 1024                # elements up to which one axis of a gapless array is reduced without a loop nest
    SHORT = 8                   # an innermost axis shorter than this is not run along, if there is a longer one
    BLOCK = 1024                # rows that are taken at a time instead

cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))
cdef ElementType *FLOAT32 = element_of(np.dtype("f4"))
cdef ElementType *FLOAT16 = element_of(np.dtype("f2"))
cdef ElementType *COMPLEX64 = element_of(np.dtype("c8"))
cdef ElementType *COMPLEX128 = element_of(np.dtype("c16"))
cdef ElementType *INT64 = element_of(np.dtype("i8"))
cdef ElementType *UINT64 = element_of(np.dtype("u8"))
cdef ElementType *BOOL = element_type(BOOL_CODE)

cdef UfuncLoops add_loops = UfuncLoops(np.add)
cdef UfuncLoops divide_loops = UfuncLoops(np.true_divide)


# ----------------------------------------------------------------------------------------- arguments

cdef inline bint is_given(PyObject *value) noexcept:
    return value != NULL and value != <PyObject *>None


cdef Tensor operand(PyObject *value):
    # The array to be reduced; a scalar comes here as it is where another argument is a tensor.
    return <Tensor>value if is_tensor(value) else machine.as_tensor(<object>value)


cdef int parse_axis(Operator op, object value, int rank) except -1:
    cdef Py_ssize_t axis
    try:
        axis = operator_index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{op}: an axis is a whole number, a tuple of them or None, not {value!r}") from None
    if axis < -rank or axis >= rank:
        raise np.exceptions.AxisError(axis, rank, f"{op}")
    return <int>(axis + rank if axis < 0 else axis)


cdef int parse_axes(Operator op, PyObject *value, int rank, bint *reduced) except -1:
    # Marks the axes named by None, a whole number or a tuple.
    cdef int axis
    cdef Py_ssize_t number
    if not is_given(value):
        for axis in range(rank):
            reduced[axis] = True
        return 0
    for axis in range(rank):
        reduced[axis] = False
    if PyLong_CheckExact(value):
        number = PyLong_AsSsize_t(value)
        if -rank <= number < rank:
            reduced[number + rank if number < 0 else number] = True
            return 0
    if isinstance(<object>value, (tuple, list)):
        for item in <object>value:
            axis = parse_axis(op, item, rank)
            if reduced[axis]:
                raise ValueError(f"{op}: duplicate value in 'axis': {<object>value}")
            reduced[axis] = True
    elif rank == 0 and operator_index(<object>value) in (0, -1):
        return 0                # a scalar may be reduced along "its axis", as in NumPy
    else:
        reduced[parse_axis(op, <object>value, rank)] = True
    return 0


# The objects themselves: Cython reads the literal True, cast to a pointer, as the C number 1.
cdef object YES = bool(1), NO = bool(0)


cdef bint is_true(PyObject *value) except -1:
    # A flag such as keepdims; NULL and None are False.
    if value == NULL or value == <PyObject *>None or value == <PyObject *>NO:
        return False
    return True if value == <PyObject *>YES else <bint>(<object>value)


cdef bint is_masked(PyObject *value) noexcept:
    # Whether where= leaves something out, or may.
    return value != NULL and value != <PyObject *>YES and value != <PyObject *>None


cdef object as_numpy(PyObject *value):
    # Tensors as arrays over the same memory, anything else as it is.
    return to_ndarray(<Tensor>value) if is_tensor(value) else <object>value


cdef class Axiswise(Kernel):
    """What the kernels here share: an operator's parameters are found by name, and rare options go to NumPy.

    *function* is NumPy's function of the same parameters; *names* are the operator's, the array first.
    """
    cdef object numpy_function
    cdef tuple names
    cdef int parameter_count
    cdef int at_axis, at_dtype, at_out, at_keepdims, at_initial, at_where, at_ddof, at_correction, at_mean, at_include

    def __init__(self, function, names):
        self.numpy_function = function
        self.names = tuple(names)
        self.parameter_count = len(self.names)
        places = {name: position for position, name in enumerate(self.names)}
        self.at_axis = places["axis"]
        self.at_dtype = places.get("dtype", -1)
        self.at_out = places.get("out", -1)
        self.at_keepdims = places.get("keepdims", -1)
        self.at_initial = places.get("initial", -1)
        self.at_where = places.get("where", -1)
        self.at_ddof = places.get("ddof", -1)
        self.at_correction = places.get("correction", -1)
        self.at_mean = places.get("mean", -1)
        self.at_include = places.get("include_initial", -1)
        self.description = f"fastops/_reduce.pyx: {function.__name__}"

    cdef bint is_bare(self, PyObject **arguments) noexcept:
        # Whether nothing but the array was given.
        cdef int position
        for position in range(1, self.parameter_count):
            if arguments[position] != NULL:
                return False
        return True


cdef inline PyObject *chosen(PyObject **arguments, int position) noexcept:
    return arguments[position] if position >= 0 else NULL


cdef object through_numpy(Axiswise kernel, Operator op, PyObject **arguments):
    # The call as it is, on arrays over the same memory: for masks and other options that are rare.
    cdef dict keywords = {}
    cdef Py_ssize_t position
    for position in range(1, len(kernel.names)):
        if position != kernel.at_out and is_given(arguments[position]):
            keywords[kernel.names[position]] = as_numpy(arguments[position])
    result = share_ndarray(np.asarray(kernel.numpy_function(to_ndarray(operand(arguments[0])), **keywords)))
    return deliver(op, chosen(arguments, kernel.at_out), result)


# ------------------------------------------------------------------------------------- shape of a result

ctypedef struct Plan:
    # What a reduction of one array is to do.
    bint reduced[DIMENSIONS]
    bint keepdims
    Py_ssize_t length           # elements that make one of the result


cdef Tensor allocate(Tensor x, Plan *plan, ElementType *element):
    # The result: the axes that stay, in the memory order that they have in x.
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef int axis, rank = 0
    plan.length = 1
    for axis in range(x.rank):
        if plan.reduced[axis]:
            plan.length *= x.sizes[axis]
            if not plan.keepdims:
                continue
        sizes[rank] = 1 if plan.reduced[axis] else x.sizes[axis]
        steps[rank] = x.steps[axis]
        rank += 1
    return new_strided(rank, sizes, NULL if x.flags & CONTIGUOUS else steps, element, x.backend, x.device_index)


cdef void result_steps(Tensor x, Plan *plan, Tensor result, Py_ssize_t *steps) noexcept nogil:
    # The result's steps along x's axes: 0 along the reduced ones.
    cdef int axis, place = 0
    for axis in range(x.rank):
        if plan.reduced[axis]:
            steps[axis] = 0
            place += plan.keepdims
        else:
            steps[axis] = result.steps[place]
            place += 1


cdef int only_reduced(Tensor x, Plan *plan) noexcept nogil:
    # The axis that is reduced, if it is one; else -1.
    cdef int axis, found = -1
    for axis in range(x.rank):
        if plan.reduced[axis]:
            if found >= 0:
                return -1
            found = axis
    return found


cdef void copy_first(Tensor x, Plan *plan, Tensor result) noexcept nogil:
    # The first element of every slice that is reduced.
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef int axis
    for axis in range(x.rank):
        sizes[axis] = 1 if plan.reduced[axis] else x.sizes[axis]
    result_steps(x, plan, result, steps)
    copy_block(x.rank, sizes, result.data, steps, result.element, x.data, x.steps, x.element)


cdef void copy_block(int rank, const Py_ssize_t *sizes, char *target, const Py_ssize_t *target_steps, ElementType *target_type,
                     char *source, const Py_ssize_t *source_steps, ElementType *source_type) noexcept nogil:
    # Elements of a common shape, none of them shared.
    cdef Nest nest
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[2]
    cdef int inner
    cdef Py_ssize_t count = 1, source_step = 0, target_step = 0
    for inner in range(rank):
        if sizes[inner] == 0:
            return
    nest_begin(&nest, rank, sizes)
    nest_operand(&nest, source, rank, sizes, source_steps)
    nest_operand(&nest, target, rank, sizes, target_steps)
    nest_order(&nest)
    pointers[0], pointers[1] = source, target
    if nest.rank > 0:
        inner = nest.rank - 1
        count, source_step, target_step = nest.sizes[inner], nest.steps[0][inner], nest.steps[1][inner]
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
    while True:
        cast_strided(pointers[1], target_step, target_type, pointers[0], source_step, source_type, count)
        if nest.rank < 2 or not nest_next(&nest, counter, pointers, 1):
            return


cdef object deliver(Operator op, PyObject *given, Tensor result):
    # The result, or out= with the result in it.
    cdef Tensor out = output_argument(op, given)
    cdef int axis
    if out is None:
        return result
    if out.rank != result.rank:
        raise ValueError(f"{op}: the result has shape {result.shape}, which does not fit into the output of shape {out.shape}")
    for axis in range(out.rank):
        if out.sizes[axis] != result.sizes[axis]:
            raise ValueError(f"{op}: the result has shape {result.shape}, which does not fit into the output of shape {out.shape}")
    if out.backend != result.backend:
        raise ValueError(f"{op}: the output is on device '{out.device}', the array on '{result.device}'")
    require_writable(out, op)
    if out.backend == CPU:
        copy_into(out, result)
    mark_written(out, op)
    return out


cdef ElementType *output_element(Operator op, PyObject *given) except? NULL:
    cdef Tensor out = output_argument(op, given)
    return NULL if out is None else out.element


# ------------------------------------------------------------------------------------------- the walk

cdef enum Preparation:
    CAST                        # the loop's input is x, of another dtype perhaps
    SOME                        # whether x is not zero: of any,
    EVERY                       # all
    COUNT                       # and count_nonzero
    DEVIATION                   # the square of x's distance from the mean, which is the nest's second operand

ctypedef struct Walk:
    Loop *loop                  # (result, element, result)
    ElementType *source         # x's type
    ElementType *middle         # the mean's type
    Deviations deviations
    Preparation preparation
    bint direct                 # the loop reads x itself
    bint rounds                 # a sum of floating-point numbers, in which two innermost axes are reduced
    char *buffer                # room for `capacity` elements of 16 bytes, twice
    Py_ssize_t capacity


cdef Py_ssize_t count_zeros(ElementType *element, const char *source, Py_ssize_t step, Py_ssize_t count) noexcept nogil:
    cdef char truths[FEW]
    cdef Py_ssize_t total = 0, size
    if fastops_zeros_of[element.code] != NULL:
        return fastops_zeros_of[element.code](source, step, count)
    while count > 0:
        size = FEW if count > FEW else count
        cast_strided(truths, 1, BOOL, source, step, element, size)
        total += fastops_zeros_of[BOOL_CODE](truths, 1, size)
        source += size * step
        count -= size
    return total


cdef void truths(ElementType *element, const char *source, Py_ssize_t step, char *target, Py_ssize_t count) noexcept nogil:
    if fastops_truths_of[element.code] != NULL:
        fastops_truths_of[element.code](source, step, target, count)
    else:
        cast_strided(target, 1, BOOL, source, step, element, count)


cdef void truth_run(Preparation preparation, ElementType *element, char *out, const char *source, Py_ssize_t step,
                    Py_ssize_t count) noexcept nogil:
    # A whole run joins one element of the result; any and all look no further than they need.
    cdef Py_ssize_t size
    if preparation == COUNT:
        (<int64_t *>out)[0] += count - count_zeros(element, source, step, count)
        return
    if element == BOOL and step == 1:
        if out[0] == (preparation == EVERY) and memchr(source, preparation == SOME, count) != NULL:
            out[0] = preparation == SOME
        return
    while count > 0 and out[0] == (preparation == EVERY):
        size = MANY if count > MANY else count
        if preparation == EVERY:
            out[0] = count_zeros(element, source, step, size) == 0
        else:
            out[0] = count_zeros(element, source, step, size) < size
        source += size * step
        count -= size


cdef void reduce_run(Walk *walk, char *out, Py_ssize_t out_step, char *mean, Py_ssize_t mean_step, char *source,
                     Py_ssize_t step, Py_ssize_t count) noexcept nogil:
    # count elements along one axis.
    cdef char *places[3]
    cdef Py_ssize_t steps[3]
    cdef Py_ssize_t size
    cdef char *second
    steps[0] = steps[2] = out_step
    if out_step == 0 and walk.preparation != CAST and walk.preparation != DEVIATION:
        truth_run(walk.preparation, walk.source, out, source, step, count)
        return
    if walk.direct:
        places[0] = places[2] = out
        places[1] = source
        steps[1] = step
        walk.loop.function(places, &count, steps, walk.loop.data)
        return
    while count > 0:
        size = walk.capacity if count > walk.capacity else count
        places[0] = places[2] = out
        places[1] = walk.buffer
        steps[1] = walk.loop.types[1].itemsize
        second = walk.buffer + walk.capacity * 16
        if walk.preparation == CAST:
            cast_strided(walk.buffer, steps[1], walk.loop.types[1], source, step, walk.source, size)
        elif walk.preparation == COUNT:
            truths(walk.source, source, step, second, size)
            cast_strided(walk.buffer, steps[1], walk.loop.types[1], second, 1, BOOL, size)
        elif walk.preparation != DEVIATION:
            truths(walk.source, source, step, walk.buffer, size)
        elif walk.source == walk.middle:
            walk.deviations(source, step, mean, mean_step, walk.buffer, size)
        else:
            cast_strided(second, walk.middle.itemsize, walk.middle, source, step, walk.source, size)
            walk.deviations(second, walk.middle.itemsize, mean, mean_step, walk.buffer, size)
        walk.loop.function(places, &size, steps, walk.loop.data)
        count -= size
        out += size * out_step
        mean += size * mean_step
        source += size * step


cdef void reduce_nest(Walk *walk, Nest *nest) noexcept nogil:
    # Operands of the nest: result, mean, x.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[3]
    cdef Py_ssize_t count = 1, start, size, length, row
    cdef Py_ssize_t out_step = 0, mean_step = 0, step = 0, itemsize = walk.loop.types[2].itemsize
    cdef Py_ssize_t steps[3]
    cdef char *places[3]
    cdef char partial[FEW * 16]
    cdef int inner = nest.rank - 1, across, short = SHORT
    memcpy(pointers, nest.data, sizeof(pointers))
    if nest.rank > 0:
        count = nest.sizes[inner]
        out_step, mean_step, step = nest.steps[0][inner], nest.steps[1][inner], nest.steps[2][inner]
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
    if out_step == 0:
        # Rows are summed up more exactly by the loop: float16 in float32, complex numbers pairwise from 4 on.
        short = 0 if walk.loop.types[2] == FLOAT16 else 4 if walk.loop.types[2].kind == c"c" else SHORT
    if nest.rank > 1 and count < short and nest.sizes[inner - 1] > 2 * count:
        across = inner - 1
        length = nest.sizes[across]
        while True:
            start = 0
            while start < length:
                size = BLOCK if length - start > BLOCK else length - start
                for row in range(count):
                    reduce_run(walk, pointers[0] + start * nest.steps[0][across] + row * out_step, nest.steps[0][across],
                               pointers[1] + start * nest.steps[1][across] + row * mean_step, nest.steps[1][across],
                               pointers[2] + start * nest.steps[2][across] + row * step, nest.steps[2][across], size)
                start += BLOCK
            if not nest_next(nest, counter, pointers, 2):
                return
    if walk.rounds:
        # Rows of one sum are summed up each for itself and then pairwise, as if they were one row.
        across = inner - 1
        length = nest.sizes[across]
        while True:
            start = 0
            while start < length:
                size = FEW if length - start > FEW else length - start
                memset(partial, 0, size * itemsize)
                for row in range(size):
                    reduce_run(walk, partial + row * itemsize, 0, pointers[1] + (start + row) * nest.steps[1][across], mean_step,
                               pointers[2] + (start + row) * nest.steps[2][across], step, count)
                places[0] = places[2] = pointers[0]
                places[1] = partial
                steps[0] = steps[2] = 0
                steps[1] = itemsize
                walk.loop.function(places, &size, steps, walk.loop.data)
                start += FEW
            if not nest_next(nest, counter, pointers, 2):
                return
    length = nest.sizes[inner - 1] if nest.rank > 1 else 1
    while True:
        for row in range(length):
            reduce_run(walk, pointers[0], out_step, pointers[1], mean_step, pointers[2], step, count)
            if nest.rank > 1:
                pointers[0] += nest.steps[0][inner - 1]
                pointers[1] += nest.steps[1][inner - 1]
                pointers[2] += nest.steps[2][inner - 1]
        if nest.rank < 3:
            return
        pointers[0] -= length * nest.steps[0][inner - 1]
        pointers[1] -= length * nest.steps[1][inner - 1]
        pointers[2] -= length * nest.steps[2][inner - 1]
        if not nest_next(nest, counter, pointers, 2):
            return


cdef int reduce_into(Operator op, Tensor x, Plan *plan, Tensor result, Loop *loop, Preparation preparation,
                     Tensor mean, int begun) except -1:
    # Every element of x joins its element of the result, which holds what the reduction starts from; along the axis
    # begun, if it is not -1, the first is in it already.
    cdef Nest nest
    cdef Walk walk
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef char few[2 * FEW * 16]
    cdef char *many = NULL
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef char *data = x.data
    cdef int inner
    if x.count == 0:
        return 0
    memcpy(sizes, x.sizes, x.rank * sizeof(Py_ssize_t))
    if begun >= 0:
        sizes[begun] -= 1
        data += x.steps[begun]
        if sizes[begun] == 0:
            return 0
    walk.loop = loop
    walk.source = x.element
    walk.preparation = preparation
    walk.direct = x.element == loop.types[1] and preparation != DEVIATION and preparation != COUNT
    walk.buffer = few
    walk.capacity = FEW
    nest_begin(&nest, x.rank, sizes)
    result_steps(x, plan, result, steps)
    nest_operand(&nest, result.data, x.rank, sizes, steps)
    if mean is not None:
        walk.middle = mean.element
        walk.deviations = deviations_of(mean.element)
        result_steps(x, plan, mean, steps)
        nest_operand(&nest, mean.data, x.rank, sizes, steps)
    else:
        nest_operand(&nest, result.data, x.rank, sizes, steps)
    nest_operand(&nest, data, x.rank, sizes, x.steps)
    nest_order(&nest)
    inner = nest.rank - 1
    walk.rounds = inner > 0 and nest.steps[0][inner] == 0 and nest.steps[0][inner - 1] == 0 \
        and (loop.types[2].kind == c"f" or loop.types[2].kind == c"c") \
        and loop.function == loop_for(add_loops, op, loop.types[2]).function
    floating_point_begin()
    if x.count < LONG_WORK:
        reduce_nest(&walk, &nest)
    else:
        if not walk.direct and nest.rank > 0 and nest.sizes[nest.rank - 1] > FEW:
            many = <char *>malloc(2 * MANY * 16)
            if many == NULL:
                raise MemoryError()
            walk.buffer = many
            walk.capacity = MANY
        with nogil:
            reduce_nest(&walk, &nest)
        free(many)
    raise_pending()
    return floating_point_end(op)


cdef Deviations deviations_of(ElementType *element) noexcept nogil:
    if element.kind == c"f":
        return fastops_deviations_double if element.itemsize == 8 else fastops_deviations_float
    return fastops_deviations_double_complex if element.itemsize == 16 else fastops_deviations_float_complex


# ------------------------------------------------------------------------------- sum, prod, max, any, ...

cdef enum Start:
    ZERO                        # what a result is before the first element joins
    ONE
    FIRST                       # the first element itself: joining twice changes nothing


cdef class Reduce(Axiswise):
    """Kernel of a reduction by a ufunc of two arguments.

    *start* is the identity, 0 or 1, or None if there is none. *element* is the dtype of the result; where it is not
    given it is what NumPy's reduction gives. *counts*: elements are counted if they are not zero.
    """
    cdef UfuncLoops loops
    cdef Start start
    cdef Preparation preparation
    cdef ElementType *results[32]

    def __init__(self, function, names, ufunc, start, *, element=None, bint counts=False):
        Axiswise.__init__(self, function, names)
        self.run = run_reduce
        self.loops = UfuncLoops(ufunc)
        self.start = FIRST if start is None else ONE if start else ZERO
        self.preparation = CAST
        if counts:
            self.preparation = COUNT
        elif ufunc is np.logical_or or ufunc is np.logical_and:
            self.preparation = EVERY if start else SOME
        for code in range(14):
            dtype = <object>element_type(code).dtype if element is None else np.dtype(element)
            self.results[code] = element_of(ufunc.reduce(np.ones(1, dtype)).dtype)


cdef void fill(Tensor result, const char *element) noexcept nogil:
    # Every element of a fresh, gapless tensor: by copies that double, which are as fast as memory.
    cdef Py_ssize_t nbytes = result.count * result.element.itemsize, done = result.element.itemsize, size
    if nbytes == 0:
        return
    memcpy(result.data, element, done)
    while done < nbytes:
        size = done if done < nbytes - done else nbytes - done
        memcpy(result.data + done, result.data, size)
        done += size


cdef void fill_start(Tensor result, Start start) noexcept nogil:
    # A fresh result of zeros or ones.
    cdef char one[16]
    if start == ONE:
        store_one(result.element, one)
        fill(result, one)
    else:
        memset(result.data, 0, result.count * result.element.itemsize)


cdef void store_one(ElementType *element, char *place) noexcept nogil:
    cdef char one = 1
    cast_strided(place, element.itemsize, element, &one, 1, BOOL, 1)


cdef int fill_initial(Operator op, Tensor result, PyObject *initial) except -1:
    cdef char value[16]
    number = <object>initial
    if scalar_code(initial) < 0:
        number = np.asarray(as_numpy(initial)).item()
    if scalar_code(<PyObject *>number) < 0:
        raise TypeError(f"{op}: initial must be a number, not {<object>initial!r}")
    store_value(op, <PyObject *>number, result.element, value)
    fill(result, value)
    return 0


cdef Loop *loop_for(UfuncLoops loops, Operator op, ElementType *element) except NULL:
    cdef int codes[2]
    codes[0] = codes[1] = element.code
    return loops.find(op, codes)


cdef int bare_axis(Axiswise kernel, PyObject **arguments, Tensor x) noexcept:
    # The axis, if it is one whole number and nothing else was given for a small gapless array; else -1.
    cdef int position, overflow = 0
    cdef long long axis
    if (arguments[kernel.at_axis] == NULL or not PyLong_CheckExact(arguments[kernel.at_axis]) or not x.flags & CONTIGUOUS
            or x.backend != CPU or not 0 < x.count <= SMALL):
        return -1
    for position in range(1, kernel.parameter_count):
        if position != kernel.at_axis and arguments[position] != NULL:
            return -1
    axis = PyLong_AsLongLongAndOverflow(arguments[kernel.at_axis], &overflow)
    if axis < 0:
        axis += x.rank
    return <int>axis if not overflow and 0 <= axis < x.rank else -1


cdef Tensor reduce_gapless(Reduce kernel, Operator op, Tensor x, int axis, Loop *loop):
    # One axis of a small gapless array, seen as (before, along, after): the loop runs on the memory as it lies.
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t before = 1, along = x.sizes[axis], after = 1, itemsize = x.element.itemsize, row, place, first = 0, count
    cdef Py_ssize_t steps[3]
    cdef char *places[3]
    cdef char *out
    cdef char *source
    cdef int other
    cdef Tensor result
    for other in range(x.rank):
        if other < axis:
            before *= x.sizes[other]
            sizes[other] = x.sizes[other]
        elif other > axis:
            after *= x.sizes[other]
            sizes[other - 1] = x.sizes[other]
    result = new_tensor(x.rank - 1, sizes, x.element, CPU, 0)
    if kernel.start == FIRST:
        first = 1
        for row in range(before):
            memcpy(result.data + row * after * itemsize, x.data + row * along * after * itemsize, after * itemsize)
    else:
        fill_start(result, kernel.start)
    steps[0] = steps[2] = 0 if after == 1 else itemsize
    steps[1] = itemsize
    floating_point_begin()
    for row in range(before):
        out = result.data + row * after * itemsize
        source = x.data + (row * along + first) * after * itemsize
        if after == 1:
            places[0] = places[2] = out
            places[1] = source
            count = along - first
            loop.function(places, &count, steps, loop.data)
            continue
        for place in range(along - first):
            places[0] = places[2] = out
            places[1] = source + place * after * itemsize
            count = after
            loop.function(places, &count, steps, loop.data)
    floating_point_end(op)
    return result


cdef object run_reduce(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Reduce kernel = <Reduce>base
    cdef Tensor x = operand(arguments[0]), result
    cdef ElementType *element = kernel.results[x.element.code]
    cdef Plan plan
    cdef Loop *loop
    cdef char *places[3]
    cdef Py_ssize_t steps[3]
    cdef PyObject *given
    cdef int begun = -1, axis
    if kernel.is_bare(arguments) and x.flags & CONTIGUOUS and x.backend == CPU and 0 < x.count < LONG_WORK \
            and (x.element == element or kernel.preparation != CAST):
        # All of a gapless array: one run of the loop.
        loop = loop_for(kernel.loops, op, element)
        result = new_tensor(0, NULL, element, CPU, 0)
        if kernel.start == FIRST:
            memcpy(result.data, x.data, element.itemsize)
        else:
            fill_start(result, kernel.start)
        if kernel.preparation != CAST:
            truth_run(kernel.preparation, x.element, result.data, x.data, x.element.itemsize, x.count)
            return result
        places[0] = places[2] = result.data
        places[1] = x.data
        steps[0] = steps[2] = 0
        steps[1] = element.itemsize
        floating_point_begin()
        loop.function(places, &x.count, steps, loop.data)
        floating_point_end(op)
        return result
    axis = bare_axis(kernel, arguments, x)
    if axis >= 0 and x.element == element and kernel.preparation == CAST:
        return reduce_gapless(kernel, op, x, axis, loop_for(kernel.loops, op, element))
    if is_masked(chosen(arguments, kernel.at_where)) and x.backend == CPU:
        return through_numpy(kernel, op, arguments)
    given = chosen(arguments, kernel.at_dtype)
    if is_given(given):
        element = element_argument(op, given)
    elif is_given(chosen(arguments, kernel.at_out)) and kernel.at_dtype >= 0:
        element = promote(element.code, output_element(op, arguments[kernel.at_out]).code)
    loop = loop_for(kernel.loops, op, element)
    parse_axes(op, arguments[kernel.at_axis], x.rank, plan.reduced)
    plan.keepdims = is_true(chosen(arguments, kernel.at_keepdims))
    result = allocate(x, &plan, loop.types[2])
    given = chosen(arguments, kernel.at_initial)
    if plan.length == 0 and kernel.start == FIRST and not is_given(given):
        raise ValueError(f"{op}: zero-size array to reduction operation {kernel.loops.ufunc.__name__} which has no "
                         f"identity: an axis of shape {x.shape} is empty; initial= gives the result of empty slices")
    if x.backend == CPU:
        if is_given(given):
            fill_initial(op, result, given)
        elif kernel.start == FIRST:
            copy_first(x, &plan, result)
            begun = only_reduced(x, &plan)
        else:
            fill_start(result, kernel.start)
        reduce_into(op, x, &plan, result, loop, kernel.preparation, None, begun)
    given = chosen(arguments, kernel.at_out)
    return result if given == NULL else deliver(op, given, result)


# ------------------------------------------------------------------------------------ mean, var and std

cdef class Mean(Axiswise):
    """Kernel of the arithmetic mean."""

    def __init__(self, function, names):
        Axiswise.__init__(self, function, names)
        self.run = run_mean


cdef ElementType *mean_element(ElementType *element) noexcept nogil:
    # The type in which a mean is computed: float16 would overflow.
    if element == FLOAT16:
        return FLOAT32
    return element if element.kind == c"f" or element.kind == c"c" else FLOAT64


cdef int divide_all(Operator op, Tensor result, double divisor) except -1:
    # Every element of a fresh tensor of a floating-point type, by NumPy's own division.
    cdef Loop *loop = loop_for(divide_loops, op, result.element)
    cdef char number[16]
    cdef char *places[3]
    cdef Py_ssize_t steps[3]
    if result.element == FLOAT64 and result.count == 1 and divisor != 0:
        (<double *>result.data)[0] /= divisor
        return 0
    cast_strided(number, result.element.itemsize, result.element, <char *>&divisor, 8, FLOAT64, 1)
    places[0] = places[2] = result.data
    places[1] = number
    steps[0] = steps[2] = result.element.itemsize
    steps[1] = 0
    loop.function(places, &result.count, steps, loop.data)
    return 0


cdef Tensor mean_of(Operator op, Tensor x, Plan *plan, ElementType *element):
    # The mean in type element; NaN where there is nothing.
    cdef Tensor result = allocate(x, plan, element)
    if x.backend == CPU:
        fill_start(result, ZERO)
        reduce_into(op, x, plan, result, loop_for(add_loops, op, element), CAST, None, -1)
        floating_point_begin()
        divide_all(op, result, <double>plan.length)
        floating_point_begin()      # that 0 / 0 is invalid is said by the warning below
    return result


cdef int warn_empty(Operator op, str what) except -1:
    warnings.warn(f"{op}: {what} of an empty slice", RuntimeWarning)
    return 0


cdef object run_mean(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Mean kernel = <Mean>base
    cdef Tensor x = operand(arguments[0]), result
    cdef ElementType *element = mean_element(x.element)
    cdef ElementType *wanted = x.element if x.element == FLOAT16 else element
    cdef Plan plan
    cdef PyObject *given = arguments[kernel.at_dtype]
    if is_masked(arguments[kernel.at_where]) and x.backend == CPU:
        return through_numpy(kernel, op, arguments)
    if is_given(given):
        wanted = element = element_argument(op, given)
        if element.kind != c"f" and element.kind != c"c":
            if x.backend == CPU:
                return through_numpy(kernel, op, arguments)
    elif is_given(arguments[kernel.at_out]):
        element = promote(element.code, mean_element(output_element(op, arguments[kernel.at_out])).code)
        wanted = element
    parse_axes(op, arguments[kernel.at_axis], x.rank, plan.reduced)
    plan.keepdims = is_true(arguments[kernel.at_keepdims])
    result = mean_of(op, x, &plan, element)
    if plan.length == 0 and x.backend == CPU:
        warn_empty(op, "mean")
    if wanted != element:
        result = converted(result, wanted)
    return result if arguments[kernel.at_out] == NULL else deliver(op, arguments[kernel.at_out], result)


cdef Tensor converted(Tensor source, ElementType *element):
    # The same values in another type and the same memory order.
    cdef Tensor result = new_strided(source.rank, source.sizes, NULL if source.flags & CONTIGUOUS else source.steps,
                                     element, source.backend, source.device_index)
    if source.backend == CPU:
        copy_into(result, source)
    return result


cdef class Variance(Axiswise):
    """Kernel of the variance, or with *root* of the standard deviation: two passes over the array."""
    cdef bint root

    def __init__(self, function, names, *, bint root=False):
        Axiswise.__init__(self, function, names)
        self.run = run_variance
        self.root = root


cdef object run_variance(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Variance kernel = <Variance>base
    cdef Tensor x = operand(arguments[0]), mean, result
    cdef ElementType *element = mean_element(x.element)
    cdef ElementType *real
    cdef ElementType *wanted
    cdef Plan plan
    cdef double divisor, correction = 0
    cdef PyObject *given = arguments[kernel.at_dtype]
    if is_given(given):
        element = element_argument(op, given)
        wanted = element
        element = mean_element(element)
    else:
        wanted = FLOAT16 if x.element == FLOAT16 else element
    if wanted.kind == c"c" and not is_given(given):
        wanted = FLOAT64 if wanted == COMPLEX128 else FLOAT32
    if x.backend == CPU and (is_masked(arguments[kernel.at_where]) or is_given(arguments[kernel.at_mean])
                             or is_given(given) and (wanted.kind != c"f" or x.element.kind != c"f" or wanted == FLOAT16)):
        return through_numpy(kernel, op, arguments)
    real = element if element.kind == c"f" else FLOAT64 if element == COMPLEX128 else FLOAT32
    if is_given(arguments[kernel.at_correction]):
        if arguments[kernel.at_ddof] != NULL and <object>arguments[kernel.at_ddof] != 0:
            raise ValueError(f"{op}: ddof and correction are two names of one thing; give one of them")
        correction = <object>arguments[kernel.at_correction]
    elif is_given(arguments[kernel.at_ddof]):
        correction = <object>arguments[kernel.at_ddof]
    parse_axes(op, arguments[kernel.at_axis], x.rank, plan.reduced)
    plan.keepdims = is_true(arguments[kernel.at_keepdims])
    result = allocate(x, &plan, real)
    if x.backend == CPU:
        divisor = <double>plan.length - correction
        if divisor <= 0:
            warnings.warn(f"{op}: Degrees of freedom <= 0 for slice: {plan.length} elements, correction {correction:g}",
                          RuntimeWarning)
            divisor = 0
        mean = mean_of(op, x, &plan, element)
        fill_start(result, ZERO)
        reduce_into(op, x, &plan, result, loop_for(add_loops, op, real), DEVIATION, mean, -1)
        floating_point_begin()
        divide_all(op, result, divisor)
        if kernel.root:
            take_roots(result)
        floating_point_begin()
    if wanted != real:
        result = converted(result, wanted)
    return result if arguments[kernel.at_out] == NULL else deliver(op, arguments[kernel.at_out], result)


cdef void take_roots(Tensor tensor) noexcept nogil:
    cdef Py_ssize_t position
    if tensor.element.itemsize == 8:
        for position in range(tensor.count):
            (<double *>tensor.data)[position] = sqrt((<double *>tensor.data)[position])
    else:
        for position in range(tensor.count):
            (<float *>tensor.data)[position] = sqrtf((<float *>tensor.data)[position])


# --------------------------------------------------------------------------------------- argmax and argmin

cdef class Place(Axiswise):
    """Kernel of argmax, or with *smallest* of argmin: the first place of the extremum, NaN counting as one."""
    cdef bint smallest

    def __init__(self, function, names, *, bint smallest=False):
        Axiswise.__init__(self, function, names)
        self.run = run_place
        self.smallest = smallest


cdef ArgumentFunction place_function(ElementType *element, bint smallest) noexcept nogil:
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<PyArray_Descr *>element.dtype)
    return functions.argmin if smallest else functions.argmax


cdef int single_axis(Operator op, PyObject *value, int rank) except -2:
    # The one axis that is named; -1 where the array is taken as flat.
    if not is_given(value):
        return -1
    if rank == 0 and operator_index(<object>value) in (0, -1):
        return -1
    return parse_axis(op, <object>value, rank)


cdef object run_place(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Place kernel = <Place>base
    cdef Tensor x = operand(arguments[0]), result, source
    cdef Plan plan
    cdef Nest nest
    cdef int axis, along = single_axis(op, arguments[kernel.at_axis], x.rank)
    cdef Py_ssize_t place = 0, length
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t steps[DIMENSIONS]
    cdef ArgumentFunction function = place_function(x.element, kernel.smallest)
    for axis in range(x.rank):
        plan.reduced[axis] = along < 0 or axis == along
    plan.keepdims = is_true(arguments[kernel.at_keepdims])
    result = allocate(x, &plan, INT64)
    length = plan.length
    if length == 0:
        raise ValueError(f"{op}: attempt to get {op._opname} of an empty sequence: an axis of shape {x.shape} is empty, "
                         "and an extremum has no identity")
    if x.backend == CPU and result.count > 0:
        if along < 0:
            source = x if x.flags & CONTIGUOUS else contiguous_copy(x, x.element)
            if length < LONG_WORK:
                function(source.data, length, &place, NULL)
            else:
                with nogil:
                    function(source.data, length, &place, NULL)
            (<int64_t *>result.data)[0] = place
        else:
            memcpy(sizes, x.sizes, x.rank * sizeof(Py_ssize_t))
            sizes[along] = 1
            result_steps(x, &plan, result, steps)
            nest_begin(&nest, x.rank, sizes)
            nest_operand(&nest, result.data, x.rank, sizes, steps)
            nest_operand(&nest, x.data, x.rank, sizes, x.steps)
            nest_order(&nest)
            if x.count < LONG_WORK:
                places_nest(&nest, x.element, kernel.smallest, function, x.steps[along], length)
            else:
                with nogil:
                    places_nest(&nest, x.element, kernel.smallest, function, x.steps[along], length)
    return result if arguments[kernel.at_out] == NULL else deliver(op, arguments[kernel.at_out], result)


cdef int places_nest(Nest *nest, ElementType *element, bint smallest, ArgumentFunction function, Py_ssize_t step,
                     Py_ssize_t length) except -1 nogil:
    # Operands of the nest: result, first element of each slice. NumPy's function wants a slice without gaps, and is
    # the best for a long one; other slices are taken many at a time, or copied where there is no loop for that.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[2]
    cdef char *row = NULL
    cdef PlaceLoop places = fastops_places_of[smallest][element.code]
    cdef Py_ssize_t width = 1, across = 0, target_step = 0, place = 0, slice
    cdef bint gapless = step == element.itemsize or length == 1
    memcpy(pointers, nest.data, sizeof(pointers))
    if nest.rank > 0:
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
    if nest.rank > 0:
        width = nest.sizes[nest.rank - 1]
        target_step, across = nest.steps[0][nest.rank - 1], nest.steps[1][nest.rank - 1]
    if places != NULL and (length < 16 or not gapless and width >= 16):
        while True:
            places(pointers[1], length, step, width, across, pointers[0], target_step)
            if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
                return 0
    if not gapless:
        row = <char *>malloc(length * element.itemsize)
        if row == NULL:
            raise MemoryError()
    while True:
        for slice in range(width):
            if gapless:
                function(pointers[1] + slice * across, length, &place, NULL)
            else:
                cast_strided(row, element.itemsize, element, pointers[1] + slice * across, step, element, length)
                function(row, length, &place, NULL)
            (<int64_t *>(pointers[0] + slice * target_step))[0] = place
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            break
    free(row)
    return 0


# -------------------------------------------------------------------------------- running sums and products

cdef class Accumulate(Axiswise):
    """Kernel of a running reduction by a ufunc.

    *flattens*: without an axis an array of several dimensions is taken as flat, else it is refused.
    """
    cdef UfuncLoops loops
    cdef Start start
    cdef bint flattens
    cdef ElementType *results[32]

    def __init__(self, function, names, ufunc, start, *, bint flattens):
        Axiswise.__init__(self, function, names)
        self.run = run_accumulate
        self.loops = UfuncLoops(ufunc)
        self.start = ONE if start else ZERO
        self.flattens = flattens
        for code in range(14):
            self.results[code] = element_of(ufunc.reduce(np.ones(1, <object>element_type(code).dtype)).dtype)


cdef Running register_loop(Accumulate kernel, ElementType *element) noexcept nogil:
    cdef bint adds = kernel.start == ZERO
    if element == FLOAT64:
        return fastops_running_sum_double if adds else fastops_running_product_double
    if element == FLOAT32:
        return fastops_running_sum_float if adds else fastops_running_product_float
    if element == INT64 or element == UINT64:
        return fastops_running_sum_integer if adds else fastops_running_product_integer
    return NULL


cdef object run_accumulate(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Accumulate kernel = <Accumulate>base
    cdef Tensor x = operand(arguments[0]), result, flat
    cdef ElementType *element = kernel.results[x.element.code]
    cdef PyObject *given = arguments[kernel.at_dtype]
    cdef bint leading = is_true(chosen(arguments, kernel.at_include))
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Loop *loop
    cdef int axis
    if is_given(given):
        element = element_argument(op, given)
    elif is_given(arguments[kernel.at_out]):
        element = promote(element.code, output_element(op, arguments[kernel.at_out]).code)
    loop = loop_for(kernel.loops, op, element)
    if not kernel.flattens and not is_given(arguments[kernel.at_axis]) and x.rank > 1:
        raise ValueError(f"{op}: an array of {x.rank} dimensions needs axis=")
    axis = single_axis(op, arguments[kernel.at_axis], x.rank)
    if axis < 0 and x.rank != 1:
        if x.backend == CPU and not x.flags & CONTIGUOUS:
            x = contiguous_copy(x, x.element)
        flat = new_view(x, 1)
        flat.sizes[0] = x.count
        flat.steps[0] = x.element.itemsize
        finish_layout(flat)
        x = flat
    if axis < 0:
        axis = 0
    memcpy(sizes, x.sizes, x.rank * sizeof(Py_ssize_t))
    sizes[axis] += leading
    result = new_strided(x.rank, sizes, NULL if x.flags & CONTIGUOUS else x.steps, loop.types[2], x.backend, x.device_index)
    if x.backend == CPU and result.count > 0:
        accumulate(op, kernel, x, axis, leading, result, loop)
    return result if arguments[kernel.at_out] == NULL else deliver(op, arguments[kernel.at_out], result)


cdef int accumulate(Operator op, Accumulate kernel, Tensor x, int along, bint leading, Tensor result, Loop *loop) except -1:
    # The first slice is copied, or is the identity where that is wanted; then each follows from the one before.
    # Along the axis of the smallest step a run is as long as the axis, else it goes across the axis.
    cdef Nest nest
    cdef ElementType *source = x.element
    cdef char identity[16]
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t still[DIMENSIONS]
    cdef Py_ssize_t length = x.sizes[along], count = length if leading else length - 1
    cdef Py_ssize_t in_step = x.steps[along], out_step = result.steps[along], step
    cdef char *begin = x.data if leading else x.data + in_step
    cdef Running running = register_loop(kernel, loop.types[2])
    cdef bint inner = True
    cdef int axis
    memcpy(sizes, result.sizes, result.rank * sizeof(Py_ssize_t))
    sizes[along] = 1
    if leading:
        memset(identity, 0, sizeof(identity))
        if kernel.start == ONE:
            store_one(loop.types[2], identity)
        memset(still, 0, result.rank * sizeof(Py_ssize_t))
        copy_block(result.rank, sizes, result.data, result.steps, result.element, identity, still, result.element)
    else:
        copy_block(result.rank, sizes, result.data, result.steps, result.element, x.data, x.steps, source)
    if count <= 0 or x.count == 0:
        return 0
    for axis in range(result.rank):
        step = result.steps[axis] if result.steps[axis] >= 0 else -result.steps[axis]
        if axis != along and result.sizes[axis] > 4 and step < abs(out_step):
            inner = False
    nest_begin(&nest, result.rank, sizes)
    nest_operand(&nest, begin, x.rank, sizes, x.steps)
    nest_operand(&nest, result.data, result.rank, sizes, result.steps)
    nest_order(&nest)
    floating_point_begin()
    if x.count < LONG_WORK:
        accumulate_nest(&nest, loop, running, source, inner, count, in_step, out_step)
    else:
        with nogil:
            accumulate_nest(&nest, loop, running, source, inner, count, in_step, out_step)
    raise_pending()
    return floating_point_end(op)


cdef void accumulate_run(Loop *loop, Running running, ElementType *source, char *before, Py_ssize_t before_step,
                         char *begin, Py_ssize_t in_step, char *out, Py_ssize_t out_step, Py_ssize_t count) noexcept nogil:
    # out[i] = before[i] joined with begin[i], through a buffer where x's type is not the loop's.
    cdef char buffer[FEW * 16]
    cdef char *places[3]
    cdef Py_ssize_t steps[3]
    cdef Py_ssize_t size
    cdef bint along = before + out_step == out and before_step == out_step and running != NULL
    while count > 0:
        places[0], places[1], places[2] = before, begin, out
        steps[0], steps[1], steps[2] = before_step, in_step, out_step
        size = count
        if source != loop.types[1]:
            size = FEW if count > FEW else count
            cast_strided(buffer, loop.types[1].itemsize, loop.types[1], begin, in_step, source, size)
            places[1] = buffer
            steps[1] = loop.types[1].itemsize
        if along:
            running(places, &size, steps, NULL)
        else:
            loop.function(places, &size, steps, loop.data)
        count -= size
        before += size * before_step
        begin += size * in_step
        out += size * out_step


cdef void accumulate_nest(Nest *nest, Loop *loop, Running running, ElementType *source, bint inner, Py_ssize_t count,
                          Py_ssize_t in_step, Py_ssize_t out_step) noexcept nogil:
    # Operands of the nest, which is one slice: x, result.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[2]
    cdef Py_ssize_t position, width = 1, across_in = 0, across_out = 0
    memcpy(pointers, nest.data, sizeof(pointers))
    if nest.rank > 0:
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
    if inner:
        while True:
            accumulate_run(loop, running, source, pointers[1], out_step, pointers[0], in_step, pointers[1] + out_step,
                           out_step, count)
            if not nest_next(nest, counter, pointers, 0):
                return
    if nest.rank > 0:
        width = nest.sizes[nest.rank - 1]
        across_in, across_out = nest.steps[0][nest.rank - 1], nest.steps[1][nest.rank - 1]
    while True:
        for position in range(count):
            accumulate_run(loop, NULL, source, pointers[1] + position * out_step, across_out,
                           pointers[0] + position * in_step, across_in, pointers[1] + (position + 1) * out_step,
                           across_out, width)
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            return
