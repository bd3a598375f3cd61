"""Contractions: products of matrices and vectors, through the inner loops of NumPy's generalized ufuncs.

Operands are passed by their strides, transposed ones included; the loops hand them to BLAS where it can read them.
Stacks of matrices broadcast in a loop nest around that. Products so small that calling BLAS is most of the work
run in a loop of our own.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from fastops._dispatch cimport (CPU, META, ElementType, Kernel, Operator, Tensor, element_of, finish_layout,
                                is_tensor, mark_written, new_tensor, new_view, require_writable, shape_tuple)
from fastops._loops cimport (DIMENSIONS, LONG_WORK, Loop, LoopFunction, Nest, UfuncLoops, contiguous_copy, copy_into,
                             floating_point_begin, floating_point_end, from_ndarray, nest_begin, nest_next, nest_operand, nest_order,
                             output_argument, raise_pending, overlaps, require_castable, require_no_self_overlap, to_ndarray)

from operator import index as operator_index

import numpy as np

from fastops import _dispatch as machine
from fastops._loops import share_ndarray

cdef extern from *:
    """
    /* One product of an n by k and a k by m matrix, with the arguments of a ufunc's loop for one of a stack. Rows of
       the result are summed up side by side, so that the compiler can vectorize over them. */
    #define FASTOPS_SMALL_PRODUCT(NAME, REAL)                                                                     \\
    static void NAME(char **places, const Py_ssize_t *sizes, const Py_ssize_t *steps, void *data) {               \\
        Py_ssize_t n = sizes[1], k = sizes[2], m = sizes[3], stack, i, j, l;                                      \\
        for (stack = 0; stack < sizes[0]; stack++) {                                                              \\
            const char *a = places[0] + stack * steps[0], *b = places[1] + stack * steps[1];                      \\
            char *c = places[2] + stack * steps[2];                                                               \\
            for (i = 0; i < n; i++) {                                                                             \\
                const char *row = a + i * steps[3];                                                               \\
                char *target = c + i * steps[7];                                                                  \\
                if (m == 4 && steps[6] == (Py_ssize_t)sizeof(REAL) && steps[8] == (Py_ssize_t)sizeof(REAL)) {     \\
                    REAL sums[4] = {0, 0, 0, 0};                                                                  \\
                    for (l = 0; l < k; l++) {                                                                     \\
                        REAL factor = *(const REAL *)(row + l * steps[4]);                                        \\
                        const REAL *other = (const REAL *)(b + l * steps[5]);                                     \\
                        for (j = 0; j < 4; j++)                                                                   \\
                            sums[j] += factor * other[j];                                                         \\
                    }                                                                                             \\
                    memcpy(target, sums, sizeof(sums));                                                           \\
                    continue;                                                                                     \\
                }                                                                                                 \\
                for (j = 0; j < m; j++) {                                                                         \\
                    const char *column = b + j * steps[6];                                                        \\
                    REAL sum = 0;                                                                                 \\
                    for (l = 0; l < k; l++)                                                                       \\
                        sum += *(const REAL *)(row + l * steps[4]) * *(const REAL *)(column + l * steps[5]);      \\
                    *(REAL *)(target + j * steps[8]) = sum;                                                       \\
                }                                                                                                 \\
            }                                                                                                     \\
        }                                                                                                         \\
    }
    FASTOPS_SMALL_PRODUCT(fastops_small_product_double, double)
    FASTOPS_SMALL_PRODUCT(fastops_small_product_float, float)
    """
    void fastops_small_product_double(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil
    void fastops_small_product_float(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef enum:
    SMALL = 128                 # multiplications up to which a product is quicker without BLAS

cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))
cdef ElementType *FLOAT32 = element_of(np.dtype("f4"))

cdef UfuncLoops product_loops = UfuncLoops(np.matmul)
cdef UfuncLoops vecdot_loops = UfuncLoops(np.vecdot)


cdef Tensor operand(PyObject *value):
    # A scalar comes here as it is where the other argument is a tensor.
    return <Tensor>value if is_tensor(value) else machine.as_tensor(<object>value)


cdef Tensor in_type(Tensor x, ElementType *element):
    # x, or a copy of it in another type; without data only the type counts.
    if x.element == element:
        return x
    return contiguous_copy(x, element) if x.backend == CPU else new_tensor(x.rank, x.sizes, element, x.backend, x.device_index)


cdef Loop *find_loop(UfuncLoops loops, Operator op, Tensor first, Tensor second) except NULL:
    cdef int codes[2]
    codes[0], codes[1] = first.element.code, second.element.code
    return loops.find(op, codes)


cdef int common_backend(Tensor first, Tensor second) noexcept:
    return META if first.backend == META or second.backend == META else CPU


cdef int raise_mismatch(Operator op, Tensor first, Tensor second, str why) except -1:
    raise ValueError(f"{op}: shapes {first.shape} and {second.shape} do not fit: {why}")


cdef int stack_shape(Operator op, Tensor first, int first_rank, const Py_ssize_t *first_sizes, Tensor second,
                     int second_rank, const Py_ssize_t *second_sizes, Py_ssize_t *sizes) except -1:
    # The common shape of the axes before the matrices; returns how many there are.
    cdef int rank = first_rank if first_rank > second_rank else second_rank, axis
    cdef Py_ssize_t one, other
    for axis in range(rank):
        one = first_sizes[axis - rank + first_rank] if axis >= rank - first_rank else 1
        other = second_sizes[axis - rank + second_rank] if axis >= rank - second_rank else 1
        if one != other and one != 1 and other != 1:
            raise_mismatch(op, first, second, f"the stacks {shape_tuple(first_rank, first_sizes)} and "
                                              f"{shape_tuple(second_rank, second_sizes)} do not broadcast")
        sizes[axis] = other if one == 1 else one
    return rank


cdef Tensor result_place(Operator op, Tensor out, int rank, const Py_ssize_t *sizes, ElementType *element, int backend,
                         Tensor first, Tensor second):
    # Where the loop writes: out itself where it fits and holds no operand, else a new tensor.
    cdef int axis
    cdef bint fits
    if out is None:
        return new_tensor(rank, sizes, element, backend, 0)
    fits = out.rank == rank
    for axis in range(rank):
        fits = fits and out.sizes[axis] == sizes[axis]
    if not fits:
        raise ValueError(f"{op}: the result has shape {shape_tuple(rank, sizes)}, which does not fit into the output of "
                         f"shape {out.shape}")
    if out.backend != backend:
        raise ValueError(f"{op}: the output is on device '{out.device}', the arguments are not")
    require_castable(element, out.element, op)
    require_writable(out, op)
    require_no_self_overlap(out, op)
    if out.element == element and not overlaps(out, first) and not overlaps(out, second):
        return out
    return new_tensor(rank, sizes, element, backend, 0)


cdef Tensor written(Operator op, Tensor out, Tensor result):
    # The result, in out if that was given.
    if out is None:
        return result
    if out is not result and out.backend == CPU:
        copy_into(out, result)
    mark_written(out, op)
    return out


cdef void walk_stack(Nest *nest, LoopFunction function, void *data, Py_ssize_t *sizes, Py_ssize_t *steps) noexcept nogil:
    # The innermost stack axis goes to the loop as its outer dimension, sizes[0]; the nest walks the others.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[3]
    cdef char *scratch[3]
    cdef int position
    memcpy(pointers, nest.data, sizeof(pointers))
    sizes[0] = 1
    steps[0] = steps[1] = steps[2] = 0
    if nest.rank > 0:
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
        sizes[0] = nest.sizes[nest.rank - 1]
        for position in range(3):
            steps[position] = nest.steps[position][nest.rank - 1]
    while True:
        memcpy(scratch, pointers, sizeof(pointers))
        function(scratch, sizes, steps, data)
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            return


cdef int run_stack(Operator op, Nest *nest, LoopFunction function, void *data, Py_ssize_t *sizes, Py_ssize_t *steps,
                   double work) except -1:
    nest_order(nest)
    floating_point_begin()
    if work >= LONG_WORK:
        with nogil:
            walk_stack(nest, function, data, sizes, steps)
    else:
        walk_stack(nest, function, data, sizes, steps)
    raise_pending()
    return floating_point_end(op)


# ---------------------------------------------------------------------------------------------- matmul

cdef object product(Operator op, Tensor first, int first_core, Tensor second, int second_core, PyObject *given):
    # Matrices (2) or vectors (1) in the last axes of each operand; stacks of them before.
    cdef Tensor out = output_argument(op, given), result, left, right
    cdef Loop *loop
    cdef LoopFunction function
    cdef Nest nest
    cdef Py_ssize_t sizes[DIMENSIONS + 2]
    cdef Py_ssize_t dimensions[4]
    cdef Py_ssize_t steps[9]
    cdef int stack, rank, backend = common_backend(first, second)
    cdef int first_stack = first.rank - first_core, second_stack = second.rank - second_core
    if first_stack < 0 or second_stack < 0:
        raise_mismatch(op, first, second, f"{'a matrix' if first_core == 2 else 'a vector'} and "
                                          f"{'a matrix' if second_core == 2 else 'a vector'} are wanted")
    dimensions[1] = first.sizes[first_stack] if first_core == 2 else 1
    dimensions[2] = first.sizes[first.rank - 1]
    dimensions[3] = second.sizes[second.rank - 1] if second_core == 2 else 1
    if second.sizes[second_stack] != dimensions[2]:
        raise_mismatch(op, first, second, f"axis -1 of the first has {dimensions[2]} elements, axis {-second_core} of the "
                                          f"second {second.sizes[second_stack]}")
    stack = 0
    if first_stack or second_stack:
        stack = stack_shape(op, first, first_stack, first.sizes, second, second_stack, second.sizes, sizes)
    rank = stack
    if first_core == 2:
        sizes[rank] = dimensions[1]
        rank += 1
    if second_core == 2:
        sizes[rank] = dimensions[3]
        rank += 1
    loop = find_loop(product_loops, op, first, second)
    left, right = in_type(first, loop.types[0]), in_type(second, loop.types[1])
    result = result_place(op, out, rank, sizes, loop.types[2], backend, left, right)
    if backend == CPU and result.count > 0:
        nest_begin(&nest, stack, sizes)
        nest_operand(&nest, left.data, first_stack, left.sizes, left.steps)
        nest_operand(&nest, right.data, second_stack, right.sizes, right.steps)
        nest_operand(&nest, result.data, stack, result.sizes, result.steps)
        steps[3] = left.steps[first_stack] if first_core == 2 else 0
        steps[4] = left.steps[left.rank - 1]
        steps[5] = right.steps[second_stack]
        steps[6] = right.steps[right.rank - 1] if second_core == 2 else 0
        steps[7] = result.steps[stack] if first_core == 2 else 0
        steps[8] = result.steps[rank - 1] if second_core == 2 else 0
        function = loop.function
        if dimensions[1] * dimensions[2] * dimensions[3] <= SMALL:
            if loop.types[0] == FLOAT64:
                function = fastops_small_product_double
            elif loop.types[0] == FLOAT32:
                function = fastops_small_product_float
        run_stack(op, &nest, function, loop.data, dimensions, steps, <double>result.count * dimensions[2])
    return written(op, out, result)


cdef class Product(Kernel):
    """Kernel of matmul, matvec and vecmat: *first* and *second* say how many axes of an operand are contracted.

    2 for matrices, 1 for vectors, 0 for either: then a one-dimensional operand is a vector. *conjugates*: the first
    operand is conjugated.
    """
    cdef int first, second
    cdef bint conjugates

    def __init__(self, str name, int first, int second, *, bint conjugates=False):
        self.run = run_product
        self.first, self.second = first, second
        self.conjugates = conjugates
        self.description = f"fastops/_contract.pyx: {name}, loops of numpy.matmul"


cdef object run_product(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Product kernel = <Product>base
    cdef Tensor first = operand(arguments[0]), second = operand(arguments[1])
    cdef int first_core = kernel.first, second_core = kernel.second
    if first_core == 0:
        first_core = 1 if first.rank == 1 else 2
    if second_core == 0:
        second_core = 1 if second.rank == 1 else 2
    if kernel.conjugates and first.element.kind == c"c" and first.backend == CPU:
        first = share_ndarray(np.conjugate(to_ndarray(first)))
    return product(op, first, first_core, second, second_core, arguments[2])


cdef class Dot(Kernel):
    """Kernel of dot: matmul where both agree, else *multiply* for scalars and *tensordot* for higher dimensions."""
    cdef object multiply, tensordot

    def __init__(self, multiply, tensordot):
        self.run = run_dot
        self.multiply, self.tensordot = multiply, tensordot
        self.description = "fastops/_contract.pyx: dot, loops of numpy.matmul"


cdef object run_dot(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Dot kernel = <Dot>base
    cdef Tensor first = operand(arguments[0]), second = operand(arguments[1]), out
    if first.rank > 0 and second.rank > 0 and (first.rank == 1 or second.rank <= 2):
        return product(op, first, 1 if first.rank == 1 else 2, second, 1 if second.rank == 1 else 2, arguments[2])
    if first.rank == 0 or second.rank == 0:
        result = kernel.multiply(first, second)
    else:
        result = kernel.tensordot(first, second, axes=((-1,), (-2,)))
    out = output_argument(op, arguments[2])
    if out is None:
        return result
    return written(op, out, replaced(op, out, result))


cdef Tensor replaced(Operator op, Tensor out, Tensor result):
    # The result, once it is known that out can take it.
    result_place(op, out, result.rank, result.sizes, result.element, result.backend, result, result)
    return result


# ---------------------------------------------------------------------------------------------- vecdot

cdef class VectorDot(Kernel):
    """Kernel of vecdot(x1, x2, out, axis): the first operand is conjugated."""

    def __init__(self):
        self.run = run_vecdot
        self.description = "fastops/_contract.pyx: vecdot, loops of numpy.vecdot"


cdef Tensor with_axis_last(Operator op, Tensor x, PyObject *axis):
    # A view whose last axis is the one that is contracted.
    cdef Tensor view
    cdef Py_ssize_t along = -1
    cdef int position, place = 0
    if axis != NULL:
        try:
            along = operator_index(<object>axis)
        except TypeError:
            raise TypeError(f"{op}: an axis is a whole number, not {<object>axis!r}") from None
    if along < -x.rank or along >= x.rank:
        raise np.exceptions.AxisError(along, x.rank, f"{op}")
    if along < 0:
        along += x.rank
    if along == x.rank - 1:
        return x
    view = new_view(x, x.rank)
    for position in range(x.rank):
        if position != along:
            view.sizes[place], view.steps[place] = x.sizes[position], x.steps[position]
            place += 1
    view.sizes[place], view.steps[place] = x.sizes[along], x.steps[along]
    finish_layout(view)
    return view


cdef object run_vecdot(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Tensor first = operand(arguments[0]), second = operand(arguments[1])
    cdef Tensor out = output_argument(op, arguments[2]), left, right, result
    cdef Loop *loop
    cdef Nest nest
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t dimensions[2]
    cdef Py_ssize_t steps[5]
    cdef int stack, backend = common_backend(first, second)
    if first.rank == 0 or second.rank == 0:
        raise_mismatch(op, first, second, "vectors are wanted")
    left, right = with_axis_last(op, first, arguments[3]), with_axis_last(op, second, arguments[3])
    dimensions[1] = left.sizes[left.rank - 1]
    if right.sizes[right.rank - 1] != dimensions[1]:
        raise_mismatch(op, first, second, f"the vectors have {dimensions[1]} and {right.sizes[right.rank - 1]} elements")
    stack = stack_shape(op, first, left.rank - 1, left.sizes, second, right.rank - 1, right.sizes, sizes)
    loop = find_loop(vecdot_loops, op, left, right)
    left, right = in_type(left, loop.types[0]), in_type(right, loop.types[1])
    result = result_place(op, out, stack, sizes, loop.types[2], backend, left, right)
    if backend == CPU and result.count > 0:
        nest_begin(&nest, stack, sizes)
        nest_operand(&nest, left.data, left.rank - 1, left.sizes, left.steps)
        nest_operand(&nest, right.data, right.rank - 1, right.sizes, right.steps)
        nest_operand(&nest, result.data, stack, result.sizes, result.steps)
        steps[3], steps[4] = left.steps[left.rank - 1], right.steps[right.rank - 1]
        run_stack(op, &nest, loop.function, loop.data, dimensions, steps, <double>result.count * dimensions[1])
    return written(op, out, result)


# ---------------------------------------------------------------------------------------------- einsum

cdef class Einsum(Kernel):
    """Kernel of einsum(subscripts, operands, ...): NumPy's, on arrays over the same memory.

    *general* takes the calls that are not a string and several tensors.
    """
    cdef Kernel general

    def __init__(self, Kernel general not None):
        self.run = run_einsum
        self.general = general
        self.description = "fastops/_contract.pyx: numpy.einsum"


cdef object run_einsum(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef Einsum kernel = <Einsum>base
    cdef list values
    cdef int position
    for position in range(2, op.parameter_count):
        if arguments[position] != NULL:
            return kernel.general.run(kernel.general, op, arguments, keys)
    if isinstance(<object>arguments[0], str) and isinstance(<object>arguments[1], tuple):
        values = [<object>arguments[0]]
        for value in <tuple><object>arguments[1]:
            if not is_tensor(<PyObject *>value) or (<Tensor>value).backend != CPU:
                break
            values.append(to_ndarray(<Tensor>value))
        else:
            if len(values) > 2:
                try:
                    return from_ndarray(np.asarray(np.einsum(*values)))
                except ValueError as error:
                    shapes = ", ".join([str(value.shape) for value in values[1:]])
                    raise ValueError(f"{op}: {values[0]!r} with shapes {shapes}: {error}") from None
    return kernel.general.run(kernel.general, op, arguments, keys)
