"""Generalized ufuncs: functions of vectors and matrices in the last axes, over stacks of these in the axes before.

``(m,n),(n,p)->(m,p)`` says which core axes the operands have. NumPy's linear algebra is made of such loops around
LAPACK; SciPy's and Numba's gufuncs have the same form. The loops are called straight, under our own broadcasting.
"""

import re

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from fastops._dispatch cimport CPU, META, ElementType, Kernel, Operator, Tensor, element_of, is_tensor, mark_written, new_tensor, shape_tuple
from fastops._loops cimport (DIMENSIONS, LONG_WORK, OPERANDS, Loop, Nest, UfuncLoops, contiguous_copy, copy_into,
                             floating_point_begin, floating_point_end, floating_point_invalid, nest_begin, nest_next,
                             nest_operand, nest_order, output_argument, overlaps, raise_pending, require_output)

import numpy as np

from fastops import _dispatch as machine

cdef enum:
    NAMES = 12                  # different core axes in one signature
    CORE = 4                    # core axes of one operand

cdef ElementType *FLOAT64 = element_of(np.dtype("f8"))
cdef ElementType *FLOAT16 = element_of(np.dtype("f2"))


def parse_signature(str signature):
    """The core axes of each operand, by name, and how many operands are inputs.

    >>> parse_signature("(m,n),(n)->(m)")
    ([['m', 'n'], ['n'], ['m']], 2)
    """
    text = signature.replace(" ", "")
    if not re.fullmatch(r"(\([\w,?]*\),?)+->(\([\w,?]*\),?)+", text):
        raise ValueError(f"{signature!r} is no signature of a generalized ufunc, such as '(m,n),(n)->(m)'")
    sides = [re.findall(r"\(([^)]*)\)", side) for side in text.split("->")]
    return [[name for name in core.split(",") if name] for side in sides for core in side], len(sides[0])


cdef class GeneralizedUfunc(Kernel):
    """The kernel of a generalized ufunc's operator; its parameters are the inputs, then perhaps ``out``.

    *signature* stands for the ufunc's own. *derived* gives the sizes of axes that only results have: a dict from name to
    a function of the dict of known sizes. *inexact*: whole numbers are taken as float64 and float16 is refused, as in
    linear algebra. *failure*: the loop leaves the floating-point status "invalid" where it fails, which becomes a
    LinAlgError with that text. *results* makes the result of several tensors, a named tuple perhaps.
    """
    cdef UfuncLoops loops
    cdef int core_count[OPERANDS]
    cdef int core_names[OPERANDS][CORE]
    cdef int name_count
    cdef Py_ssize_t fixed[NAMES]
    cdef bint inexact, has_out
    cdef object failure, results
    cdef list names
    cdef dict derived

    def __init__(self, ufunc, *, signature=None, derived=None, bint inexact=False, failure=None, results=tuple, bint has_out=False):
        self.run = run_generalized
        self.loops = UfuncLoops(ufunc)
        self.description = f"fastops/_gufunc.pyx: loops of {ufunc.__name__}"
        self.inexact, self.failure, self.results, self.has_out = inexact, failure, results, has_out
        self.derived = derived or {}
        self.names = []
        operands, inputs = parse_signature(signature or ufunc.signature)
        if len(operands) != ufunc.nargs or inputs != ufunc.nin:
            raise ValueError(f"the signature {signature or ufunc.signature!r} does not fit {ufunc!r}")
        for operand, core in enumerate(operands):
            if len(core) > CORE:
                raise ValueError(f"{ufunc!r} has {len(core)} core axes in one operand; {CORE} are allowed")
            self.core_count[operand] = len(core)
            for place, name in enumerate(core):
                if name not in self.names:
                    if name.endswith("?"):
                        raise ValueError(f"{ufunc!r}: core axes that may be missing ({name}) are not supported")
                    if len(self.names) == NAMES:
                        raise ValueError(f"{ufunc!r} has more than {NAMES} different core axes")
                    self.fixed[len(self.names)] = int(name) if name.isdigit() else -1
                    self.names.append(name)
                self.core_names[operand][place] = self.names.index(name)
        self.name_count = len(self.names)

    def apply(self, Operator op not None, *inputs):
        """Run on *inputs* for the operator *op*, whose name the messages have."""
        cdef PyObject *arguments[OPERANDS]
        cdef int position
        if len(inputs) != self.loops.input_count:
            raise TypeError(f"{op}: {self.loops.input_count} arrays are wanted, not {len(inputs)}")
        for position in range(self.loops.input_count):
            arguments[position] = <PyObject *>inputs[position]
        return generalized(self, op, arguments, NULL)


cdef object run_generalized(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef GeneralizedUfunc kernel = <GeneralizedUfunc>base
    return generalized(kernel, op, arguments, arguments[kernel.loops.input_count] if kernel.has_out else NULL)


cdef object generalized(GeneralizedUfunc kernel, Operator op, PyObject **arguments, PyObject *given):
    cdef int inputs = kernel.loops.input_count, outputs = kernel.loops.output_count, operand, position, axis, offset
    cdef int stack = 0, rank, backend = CPU
    cdef int codes[OPERANDS]
    cdef Py_ssize_t dimensions[NAMES + 1]
    cdef Py_ssize_t sizes[DIMENSIONS]
    cdef Py_ssize_t steps[OPERANDS * (CORE + 1)]
    cdef Py_ssize_t size
    cdef PyObject *tensors[OPERANDS]
    cdef Tensor tensor, out
    cdef Loop *loop
    cdef Nest nest
    cdef list kept = [], results = [], outs = outputs_given(op, given, outputs)
    for operand in range(inputs):
        tensor = <Tensor>arguments[operand] if is_tensor(arguments[operand]) else machine.as_tensor(<object>arguments[operand])
        kept.append(tensor)
        tensors[operand] = <PyObject *>tensor
        codes[operand] = tensor.element.code
        if tensor.backend != CPU:
            if tensor.backend != META:
                raise TypeError(f"{op}: this kernel reads the CPU's memory, not that of device '{tensor.device}'")
            backend = META
        if kernel.inexact and tensor.element.kind not in (c"f", c"c"):
            codes[operand] = FLOAT64.code
        elif kernel.inexact and tensor.element == FLOAT16:
            raise TypeError(f"{op}: array type float16 is not supported in linear algebra; take float32")
    loop = kernel.loops.find(op, codes)
    for position in range(kernel.name_count):
        dimensions[position + 1] = kernel.fixed[position]
    for operand in range(inputs):
        tensor = <Tensor>tensors[operand]
        offset = tensor.rank - kernel.core_count[operand]
        if offset < 0:
            raise_core(kernel, op, kept, f"argument {operand + 1} has {tensor.rank} dimensions, at least "
                                         f"{kernel.core_count[operand]} are needed")
        for axis in range(kernel.core_count[operand]):
            position = kernel.core_names[operand][axis] + 1
            if dimensions[position] < 0:
                dimensions[position] = tensor.sizes[offset + axis]
            elif dimensions[position] != tensor.sizes[offset + axis]:
                raise_core(kernel, op, kept, f"the axis {kernel.names[position - 1]} has lengths {dimensions[position]} and "
                                             f"{tensor.sizes[offset + axis]}")
        if offset > stack:
            stack = offset
    for axis in range(stack):
        sizes[axis] = 1
    for operand in range(inputs):
        tensor = <Tensor>tensors[operand]
        offset = tensor.rank - kernel.core_count[operand]
        for axis in range(offset):
            size = tensor.sizes[axis]
            position = stack - offset + axis
            if size != 1:
                if sizes[position] != 1 and sizes[position] != size:
                    raise_core(kernel, op, kept, "the axes before the core axes do not broadcast")
                sizes[position] = size
        if tensor.element != loop.types[operand]:
            tensor = contiguous_copy(tensor, loop.types[operand]) if tensor.backend == CPU else new_tensor(
                tensor.rank, tensor.sizes, loop.types[operand], META, 0)
            kept.append(tensor)
            tensors[operand] = <PyObject *>tensor
    for position in range(kernel.name_count):
        if dimensions[position + 1] < 0:
            derive(kernel, op, dimensions, position)
    for operand in range(inputs, inputs + outputs):
        rank = stack
        for axis in range(kernel.core_count[operand]):
            sizes[rank] = dimensions[kernel.core_names[operand][axis] + 1]
            rank += 1
        tensor = None
        if outs is not None and outs[operand - inputs] is not None:
            out = outs[operand - inputs]
            require_output(op, out, rank, sizes, loop.types[operand], backend, 0)
            if out.element == loop.types[operand] and not overlaps_any(out, inputs, tensors):
                tensor = out
        if tensor is None:
            tensor = new_tensor(rank, sizes, loop.types[operand], backend, 0)
        results.append(tensor)
        tensors[operand] = <PyObject *>tensor
    if backend == CPU:
        size = 1
        nest_begin(&nest, stack, sizes)
        position = inputs + outputs
        for operand in range(inputs + outputs):
            tensor = <Tensor>tensors[operand]
            offset = tensor.rank - kernel.core_count[operand]
            nest_operand(&nest, tensor.data, offset, tensor.sizes, tensor.steps)
            for axis in range(kernel.core_count[operand]):
                steps[position] = tensor.steps[offset + axis]
                position += 1
            if tensor.count > size:
                size = tensor.count
        for axis in range(stack):
            if sizes[axis] == 0:
                size = 0
        if size:
            run_stack(kernel, op, &nest, loop, dimensions, steps, size)
    if outs is not None:
        for position in range(outputs):
            if outs[position] is not None:
                out = outs[position]
                if out is not results[position] and backend == CPU:
                    copy_into(out, results[position])
                mark_written(out, op)
                results[position] = out
    return results[0] if outputs == 1 else kernel.results(*results) if kernel.results is not tuple else tuple(results)


cdef list outputs_given(Operator op, PyObject *given, int count):
    # The tensors to write into, None for those to be made; None if there is none at all.
    if given == NULL or given == <PyObject *>None:
        return None
    outs = <object>given
    if not isinstance(outs, (tuple, list)):
        outs = (outs,)
    if len(outs) != count:
        raise TypeError(f"{op}: out must be a tuple of {count} tensors")
    return [None if out is None else output_argument(op, <PyObject *>out) for out in outs]


cdef bint overlaps_any(Tensor out, int inputs, PyObject **tensors) noexcept:
    cdef int operand
    for operand in range(inputs):
        if overlaps(out, <Tensor>tensors[operand]):
            return True
    return False


cdef int raise_core(GeneralizedUfunc kernel, Operator op, list tensors, str why) except -1:
    shapes = ", ".join([str(tensor.shape) for tensor in tensors])
    signature = kernel.loops.ufunc.signature
    if kernel.inexact:
        raise np.linalg.LinAlgError(f"{op}: shapes {shapes} do not fit {signature}: {why}")
    raise ValueError(f"{op}: shapes {shapes} do not fit {signature}: {why}")


cdef int derive(GeneralizedUfunc kernel, Operator op, Py_ssize_t *dimensions, int position) except -1:
    # The size of an axis that no input has.
    name = kernel.names[position]
    if name not in kernel.derived:
        raise ValueError(f"{op}: the length of the result's axis {name} follows from nothing")
    known = {other: dimensions[place + 1] for place, other in enumerate(kernel.names) if dimensions[place + 1] >= 0}
    dimensions[position + 1] = kernel.derived[name](known)
    return 0


cdef int run_stack(GeneralizedUfunc kernel, Operator op, Nest *nest, Loop *loop, Py_ssize_t *dimensions, Py_ssize_t *steps,
                   Py_ssize_t work) except -1:
    nest_order(nest)
    floating_point_begin()
    if work >= LONG_WORK // 8:      # there is more to do for each element than an addition
        with nogil:
            walk_stack(nest, loop, dimensions, steps)
    else:
        walk_stack(nest, loop, dimensions, steps)
    raise_pending()
    if kernel.failure is not None:
        if floating_point_invalid():
            raise np.linalg.LinAlgError(f"{op}: {kernel.failure}")
        return 0
    return floating_point_end(op)


cdef void walk_stack(Nest *nest, Loop *loop, Py_ssize_t *dimensions, Py_ssize_t *steps) noexcept nogil:
    # The innermost stack axis goes to the loop as its outer dimension; the nest walks the others.
    cdef Py_ssize_t counter[DIMENSIONS]
    cdef char *pointers[OPERANDS]
    cdef char *scratch[OPERANDS]
    cdef int operand
    memcpy(pointers, nest.data, sizeof(pointers))
    dimensions[0] = 1
    for operand in range(nest.operands):
        steps[operand] = 0
    if nest.rank > 0:
        memset(counter, 0, nest.rank * sizeof(Py_ssize_t))
        dimensions[0] = nest.sizes[nest.rank - 1]
        for operand in range(nest.operands):
            steps[operand] = nest.steps[operand][nest.rank - 1]
    while True:
        memcpy(scratch, pointers, sizeof(pointers))     # loops may move their pointers
        loop.function(scratch, dimensions, steps, loop.data)
        if nest.rank < 2 or not nest_next(nest, counter, pointers, 1):
            return


cdef class ByRank(Kernel):
    """One kernel where the second operand has one axis, another where it has more."""
    cdef GeneralizedUfunc vectors, matrices

    def __init__(self, GeneralizedUfunc vectors not None, GeneralizedUfunc matrices not None):
        self.run = run_by_rank
        self.vectors, self.matrices = vectors, matrices
        self.description = matrices.description


cdef object run_by_rank(Kernel base, Operator op, PyObject **arguments, uint64_t keys):
    cdef ByRank kernel = <ByRank>base
    second = <object>arguments[1] if is_tensor(arguments[1]) else machine.as_tensor(<object>arguments[1])
    arguments[1] = <PyObject *>second
    return generalized(kernel.vectors if (<Tensor>second).rank == 1 else kernel.matrices, op, arguments, NULL)
