"""Reverse mode: what a call leaves behind for the backward sweep, and the sweep.

A derivative is declared once for each operator (fastops/derivatives.py says how). A call that takes part leaves a
Node: the values that the formulas use, and for each argument the Node that it came from. Nodes are numbered as they
are made, and what a Node came from has a lower number: the sweep takes the highest number first, from a heap, and
needs neither recursion nor a count of what is still to come.

Two kinds of tensors take part. Those with the Autograd key carry their Node in ``Tensor.autograd``. Inside a function
that ``grad`` or ``vjp`` transforms they carry a ReverseTracer, whose primal is what lower levels see: values are kept
as primals, so that the formulas are computed one level below, and whoever differentiates there sees them.
"""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from fastops._convert cimport Parameter
from fastops._dispatch cimport (AUTOGRAD, BACKEND_BITS, CONTIGUOUS, CPU, Kernel, Level, MAXIMUM_PARAMETERS, META, Operator, Storage,
                                Tensor, ThreadState, TRANSFORM_FRONT, Tracer, call_bound, element_of, finish_layout, is_tensor,
                                last_writer, machine_kernel, mark_written, python_arguments, new_storage, new_tensor, new_view, release_storage, run_keys,
                                shape_tuple, thread_state)

from fastops import _dispatch as machine
from fastops import errors

cdef extern from "Python.h":
    void Py_DECREF "Py_DECREF"(PyObject *)
    void Py_XDECREF "Py_XDECREF"(PyObject *)
    Py_ssize_t Py_REFCNT(PyObject *)
    PyTypeObject *Py_TYPE(PyObject *)
    bint PyList_Check(PyObject *)
    bint PyTuple_Check(PyObject *)
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject *)
    const size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    object PyObject_Vectorcall(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *keywords)
    bint PyLong_CheckExact(PyObject *)
    bint PyFloat_CheckExact(PyObject *)
    void PyObject_GC_UnTrack(PyObject *)
    void PyObject_GC_Track(PyObject *)
    bint PyObject_GC_IsTracked(PyObject *)

cdef enum:
    AUTOGRAD_BIT = 1 << 10
    FRONT_BIT = 1 << 12
    EDGES_INSIDE = 3
    VALUES_INSIDE = 4
    NOT_A_TENSOR = -1

cdef enum ValueKind:
    ARGUMENT, SHAPE, DTYPE, RESULT, RESULT_SHAPE

cdef dict _structural = {}
cdef object _scale = None, _add = None, _negative = None, _conj = None, _fit = None, _sum = None
cdef uint64_t _sequence = 0


def set_structural(**operators):
    """Say which operators the sweep is written in: ``scale add negative conj fit expand sum zeros_like region placed copy``."""
    global _scale, _add, _negative, _conj, _fit, _sum
    _structural.update(operators)
    _scale, _add, _negative = operators["scale"], operators["add"], operators["negative"]
    _conj, _fit, _sum = operators["conj"], operators["fit"], operators["sum"]


cpdef object structural(str name):
    return _structural[name]


# ---------------------------------------------------------------------------------- what is declared

cdef class Formula:
    """How the cotangent of one argument follows; see ``fastops.derivatives``."""


cdef class Derivative:
    """What an operator's declaration says of its derivative, with names resolved to places."""

    def __init__(self, Operator op not None, formulas, *, bint linear=False, bint multilinear=False, refusal=None, composition=None,
                 smooth=None, hermitian=False, determined=None, custom=None):
        """*formulas*: {parameter: (kind, number or function)}, kind being "partial", "weights" or "transpose"."""
        cdef Formula formula
        cdef int slot
        self.op = op
        self.linear, self.multilinear, self.refusal, self.composition = linear, multilinear, refusal, composition
        self.formulas = []
        names = [(<Parameter>parameter).name for parameter in op.parameters]
        self.at_axis = names.index("axis") if "axis" in names else -1
        self.at_keepdims = names.index("keepdims") if "keepdims" in names else -1
        self.first_option = len(names) - 3 if names[-3:] == ["where", "dtype", "casting"] else -1
        self.smooth, self.hermitian, self.determined, self.custom = smooth, hermitian, determined, custom
        cdef dict slots = {}
        for name, (kind, function) in formulas.items():
            if name not in names:
                raise ValueError(f"{op}: the derivative speaks of {name!r}, but the parameters are {', '.join(names)}")
            formula = Formula.__new__(Formula)
            formula.parameter = names.index(name)
            if not callable(function):
                formula.kind, formula.constant = CONSTANT, function
                self.formulas.append(formula)
                continue
            formula.kind = {"partial": PARTIAL, "weights": WEIGHTS, "transpose": TRANSPOSE}[kind]
            formula.function = function
            wanted = function.__code__.co_varnames[:function.__code__.co_argcount]
            formula.count = len(wanted)
            for place, value in enumerate(wanted):
                if value == "g":
                    formula.places[place] = -1
                    continue
                if value not in slots:
                    slot = self.value_count
                    if slot == MOST_VALUES:
                        raise ValueError(f"{op}: the derivative uses more than {MOST_VALUES} values")
                    slots[value] = slot
                    self.value_count += 1
                    self.users[slot] = 0
                    self.positions[slot] = 0
                    if value in names:
                        self.kinds[slot], self.positions[slot] = ARGUMENT, names.index(value)
                    elif value.endswith("_shape") and value[:-6] in names:
                        self.kinds[slot], self.positions[slot] = SHAPE, names.index(value[:-6])
                    elif value.endswith("_dtype") and value[:-6] in names:
                        self.kinds[slot], self.positions[slot] = DTYPE, names.index(value[:-6])
                    elif value == "result":
                        self.kinds[slot] = RESULT
                    elif value == "result_shape":
                        self.kinds[slot] = RESULT_SHAPE
                    else:
                        raise ValueError(f"{op}: a formula asks for {value!r}; there are g, result, the parameters "
                                         f"{', '.join(names)}, and these with _shape or _dtype")
                slot = slots[value]
                formula.places[place] = slot
                self.users[slot] |= <uint32_t>1 << len(self.formulas)
            self.formulas.append(formula)
        self.elementwise = len(self.formulas) > 0 and all([(<Formula>one).kind == PARTIAL or (<Formula>one).kind == CONSTANT
                                                           for one in self.formulas])


cdef inline Derivative derivative_of(Operator op):
    # The declaration, its names resolved when it is first used.
    if type(op.derivative) is Derivative:
        return <Derivative>op.derivative
    return resolved(op)


cdef Derivative resolved(Operator op):
    if op.derivative is not None:
        op.derivative = op.derivative(op)
    return <Derivative>op.derivative


def derivative(Operator op not None):
    """The operator's Derivative, or None."""
    return derivative_of(op)


cdef bint is_inexact(Tensor tensor) noexcept:
    return tensor.element.kind == c"f" or tensor.element.kind == c"c"


cdef Tensor alias_of(Tensor tensor):
    # The same memory without a record.
    cdef Tensor alias = new_view(tensor, tensor.rank)
    memcpy(alias.sizes, tensor.sizes, tensor.rank * sizeof(Py_ssize_t))
    memcpy(alias.steps, tensor.steps, tensor.rank * sizeof(Py_ssize_t))
    alias.count = tensor.count
    alias.flags = tensor.flags
    alias.origin = None
    return alias


cdef object shape_of(object value):
    if is_tensor(<PyObject *>value):
        return shape_tuple((<Tensor>value).rank, (<Tensor>value).sizes)
    if isinstance(value, (list, tuple)):
        return [shape_of(item) for item in value]
    return getattr(value, "shape", ())


cdef object dtype_of(object value):
    if is_tensor(<PyObject *>value):
        return <object>(<Tensor>value).element.dtype
    if isinstance(value, (list, tuple)):
        return [dtype_of(item) for item in value]
    return getattr(value, "dtype", None)


cdef object value_of(Derivative derivative, int slot, PyObject **values, object result):
    cdef int kind = derivative.kinds[slot], position = derivative.positions[slot]
    cdef Parameter parameter
    cdef object value
    if kind == RESULT:
        return result
    if kind == RESULT_SHAPE:
        return shape_of(result)
    if values[position] == NULL:
        parameter = <Parameter>derivative.op.parameters[position]
        return None if kind != ARGUMENT else parameter.default
    value = <object>values[position]
    if kind == ARGUMENT:
        if derivative.elementwise and is_tensor(<PyObject *>value) and not is_inexact(<Tensor>value):
            return structural("astype")(value, "float64")       # formulas need not think of how whole numbers overflow
        return value
    return shape_of(value) if kind == SHAPE else dtype_of(value)


cdef object call_with_values(Formula formula, list values, object cotangent):
    # A formula on values that are at hand.
    cdef PyObject *stack[16]
    cdef int place
    for place in range(formula.count):
        stack[place + 1] = <PyObject *>cotangent if formula.places[place] < 0 \
            else PyList_GET_ITEM(<PyObject *>values, formula.places[place])
    return PyObject_Vectorcall(<PyObject *>formula.function, stack + 1, formula.count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)


cdef object scaled(object cotangent, object factor):
    # cotangent times a partial derivative, 0 where the cotangent is 0.
    cdef PyObject *arguments[MAXIMUM_PARAMETERS]
    if not is_tensor(<PyObject *>factor):
        if factor == 1:
            return cotangent
        if factor == -1:
            return _negative(cotangent)
        if factor == 0:
            return _structural["zeros_like"](cotangent)
    memset(arguments, 0, (<Operator>_scale).parameter_count * sizeof(PyObject *))
    arguments[0] = <PyObject *>cotangent
    arguments[1] = <PyObject *>factor
    return call_bound(<Operator>_scale, arguments)


# --------------------------------------------------------------------------------------------- nodes

@cython.freelist(64)
cdef class Node:
    """One step of a record: an operator's call, ``Tensor.grad_fn``.

    ``name()`` is the operator's name, ``next_functions`` the nodes of the arguments with the number of the result each
    was, ``register_hook(function)`` lets a function see and replace what the sweep hands on.
    """
    cdef Derivative rule
    cdef uint64_t sequence
    cdef Level level
    cdef int edge_count, value_count, output_count
    cdef bint freed
    cdef void *sweep                    # which sweep has it in its heap, and where
    cdef Py_ssize_t place
    cdef PyObject **edges               # Nodes, NULL where an argument takes no part
    cdef int *numbers                   # which result of the edge's Node the argument was
    cdef PyObject **values
    cdef int64_t *versions              # of a tensor's memory when it was kept
    cdef PyObject *edges_inside[3]
    cdef int numbers_inside[3]
    cdef PyObject *values_inside[4]
    cdef int64_t versions_inside[4]
    cdef int slots[14]                  # of each declared value: where it is kept, -1 for nowhere
    cdef list spans                     # for lists of tensors: how many edges each formula has, else None
    cdef int rank, code, backend        # of the first result
    cdef Py_ssize_t sizes[4]
    cdef object shapes                  # of all results where there are several or many axes: [(shape, dtype)]
    cdef dict hooks                     # {number: {key: function}} on cotangents, {-1: ...} on what is handed on
    cdef object retained                # {number: cotangent} of retain_grad
    cdef object __weakref__

    def __cinit__(self):
        self.edges, self.numbers = self.edges_inside, self.numbers_inside
        self.values, self.versions = self.values_inside, self.versions_inside
        self.code = -1

    def __dealloc__(self):
        release(self)

    def name(self):
        """The name of what was called."""
        return "leaf" if self.rule is None else f"{self.rule.op._opname}"

    @property
    def next_functions(self):
        """The Nodes that the arguments came from, None for those without, each with the number of the result it was."""
        cdef int edge
        return tuple([(None if self.edges[edge] == NULL else <object>self.edges[edge], self.numbers[edge])
                      for edge in range(self.edge_count)])

    def register_hook(self, function):
        """Call ``function(cotangents of the arguments, cotangents of the results)`` once they are known.

        What it returns, if not None, replaces the former. Returns a handle with ``remove()``.
        """
        return add_hook(self, -1, function)

    def __repr__(self):
        return f"<Node {self.name()}>"


cdef class Leaf(Node):
    # Where the sweep ends: a tensor that was made to require a gradient.
    cdef object grad
    cdef bint plain                     # .grad was assigned, but no gradient is required

    def name(self):
        return "accumulate"


cdef class FunctionNode(Node):
    # A step whose cotangents a Python function computes: fastops.autograd.Function and custom operators.
    cdef object backward
    cdef str label

    def name(self):
        return self.label


# A chain of a million nodes must not take a million frames of C to free: what a node held is freed by whoever frees first.
cdef PyObject **_pending = NULL
cdef Py_ssize_t _pending_count = 0, _pending_space = 0
cdef bint _draining = False


cdef inline void push_pending(PyObject *value) noexcept:
    global _pending, _pending_count, _pending_space
    cdef PyObject **grown
    if value == NULL:
        return
    if Py_REFCNT(value) > 1:            # someone else keeps it: nothing follows
        Py_DECREF(value)
        return
    if _pending_count == _pending_space:
        grown = <PyObject **>realloc(_pending, (2 * _pending_space + 64) * sizeof(PyObject *))
        if grown == NULL:
            Py_DECREF(value)
            return
        _pending = grown
        _pending_space = 2 * _pending_space + 64
    _pending[_pending_count] = value
    _pending_count += 1


cdef void release_values(Node node) noexcept:
    cdef int place
    cdef int count = node.value_count
    node.value_count = 0
    for place in range(count):
        push_pending(node.values[place])
        node.values[place] = NULL
    drain()


cdef void drain() noexcept:
    global _draining, _pending_count
    if _draining:
        return
    _draining = True
    while _pending_count > 0:
        _pending_count -= 1
        Py_DECREF(_pending[_pending_count])
    _draining = False


cdef void release(Node node) noexcept:
    cdef int edge
    for edge in range(node.edge_count):
        push_pending(node.edges[edge])
    node.edge_count = 0
    release_values(node)
    if node.edges != node.edges_inside:
        free(node.edges)
        free(node.numbers)
        node.edges, node.numbers = node.edges_inside, node.numbers_inside
    if node.values != node.values_inside:
        free(node.values)
        free(node.versions)
        node.values, node.versions = node.values_inside, node.versions_inside


cdef int take_space(Node node, int edges, int values) except -1:
    if edges > EDGES_INSIDE:
        node.edges = <PyObject **>malloc(edges * sizeof(PyObject *))
        node.numbers = <int *>malloc(edges * sizeof(int))
        if node.edges == NULL or node.numbers == NULL:
            raise MemoryError()
    if values > VALUES_INSIDE:
        node.values = <PyObject **>malloc(values * sizeof(PyObject *))
        node.versions = <int64_t *>malloc(values * sizeof(int64_t))
        if node.values == NULL or node.versions == NULL:
            raise MemoryError()
    return 0


cdef inline void number_node(Node node) noexcept:
    global _sequence
    _sequence += 1
    node.sequence = _sequence


cdef int note_result(Node node, Tensor tensor) noexcept:
    # The shape and dtype that the cotangent of the first result will have.
    node.output_count = 1
    node.rank = tensor.rank
    node.code = tensor.element.code
    node.backend = tensor.backend
    if tensor.rank <= 4:
        memcpy(node.sizes, tensor.sizes, tensor.rank * sizeof(Py_ssize_t))
    return 0


cdef Leaf new_leaf(Tensor tensor):
    cdef Leaf leaf = Leaf.__new__(Leaf)
    PyObject_GC_UnTrack(<PyObject *>leaf)
    number_node(leaf)
    note_result(leaf, tensor)
    if tensor.rank > 4:
        leaf.shapes = [(shape_of(tensor), dtype_of(tensor))]
    return leaf


# ----------------------------------------------------------------------------------- where tensors stand

cdef class ReverseLevel(Level):
    """One call of ``grad`` or ``vjp``: tensors of this level carry a ReverseTracer."""

    def __cinit__(self):
        cdef ThreadState *thread = thread_state()
        self.process = process_reverse
        self.differentiates = True
        self.outer_no_grad = thread.no_grad
        self.leaves = []

    def __enter__(self):
        # Gradients are recorded at this level, whatever was so outside.
        thread_state().no_grad = 0
        return self

    def __exit__(self, *exception):
        thread_state().no_grad = self.outer_no_grad
        self.close()


@cython.no_gc
@cython.freelist(64)
cdef class ReverseTracer(Tracer):
    cdef Node node
    cdef int number


cdef inline Node node_of(Tensor tensor, Level level, int *number):
    # The record of a tensor at a level (None: of the Autograd key), or None. A view whose origin was written since is
    # first given the record of what it now shows.
    cdef Node node
    cdef Tensor origin
    cdef ReverseTracer tracer
    if level is None:
        if not tensor.keys & AUTOGRAD_BIT:
            return None
        node = <Node>tensor.autograd
        number[0] = tensor.number
    else:
        if not tensor.keys & FRONT_BIT or (<Tracer>tensor.autograd).level is not level:
            return None
        tracer = <ReverseTracer>tensor.autograd
        node = tracer.node
        number[0] = tracer.number
    if tensor.origin is not None:
        origin = <Tensor>tensor.origin
        if tensor.generation != generation_of(origin, level):
            return follow_origin(tensor, origin, level, number)
    return node


cdef uint64_t generation_of(Tensor origin, Level level) noexcept:
    # Which record the origin has now; 0 for none.
    if level is None:
        return (<Node>origin.autograd).sequence if origin.keys & AUTOGRAD_BIT else 0
    if origin.keys & FRONT_BIT and (<Tracer>origin.autograd).level is level:
        return (<ReverseTracer>origin.autograd).node.sequence
    return 0


cdef Tensor beneath(Tensor tensor, Level level):
    # What the tensor is below a level that it enters.
    cdef Tensor primal = snapshot(tensor), origin
    if tensor.origin is not None:
        origin = <Tensor>tensor.origin
        if origin.keys & FRONT_BIT and (<Tracer>origin.autograd).level is level:
            origin = (<Tracer>origin.autograd).primal
        primal.origin = origin
        primal.generation = tensor.generation
    return primal


cdef int set_node(Tensor tensor, Level level, Node node, int number) except -1:
    # Give a tensor that is there already the record of a new value.
    cdef ReverseTracer tracer
    cdef Tensor primal
    if level is None:
        tensor.autograd = node
        tensor.number = number
        tensor.keys |= AUTOGRAD_BIT
        return 0
    if tensor.keys & FRONT_BIT and (<Tracer>tensor.autograd).level is level:
        primal = (<Tracer>tensor.autograd).primal
    else:                               # it enters this level now: what it was stays beneath
        primal = beneath(tensor, level)
    tracer = ReverseTracer.__new__(ReverseTracer)
    tracer.level, tracer.primal, tracer.node, tracer.number = level, primal, node, number
    tensor.keys = (tensor.keys & BACKEND_BITS) | FRONT_BIT
    tensor.autograd = tracer
    return 0


cdef object wrap(Tensor primal, ReverseLevel level, Node node, int number):
    # A tensor of the level over the primal's memory.
    cdef Tensor tensor = alias_of(primal)
    cdef ReverseTracer tracer = ReverseTracer.__new__(ReverseTracer)
    tracer.level, tracer.primal, tracer.node, tracer.number = level, primal, node, number
    tensor.keys = (primal.keys & BACKEND_BITS) | FRONT_BIT
    tensor.autograd = tracer
    return tensor


# --------------------------------------------------------------------------- views of what was written

cdef class Region:
    """Where a view lies in its origin: in bytes, whatever the two dtypes and layouts are."""
    cdef tuple base_shape, base_steps, shape, steps
    cdef object base_dtype, dtype
    cdef Py_ssize_t offset

    def __repr__(self):
        return f"<Region of shape {self.shape} in {self.base_shape}>"


cdef Region region_of(Tensor view, Tensor origin):
    cdef Region region = Region.__new__(Region)
    region.base_shape = shape_of(origin)
    region.base_steps = shape_tuple(origin.rank, origin.steps)
    region.base_dtype = <object>origin.element.dtype
    region.shape = shape_of(view)
    region.steps = shape_tuple(view.rank, view.steps)
    region.dtype = <object>view.element.dtype
    region.offset = view.data - origin.data
    return region


def region_arrays(Region region not None, base=None):
    """Two NumPy arrays over one block: one laid out as the origin, filled with *base* or 0, and the view's part of it."""
    import numpy as np
    lowest = sum([min(0, (size - 1) * step) for size, step in zip(region.base_shape, region.base_steps)])
    highest = sum([max(0, (size - 1) * step) for size, step in zip(region.base_shape, region.base_steps)])
    itemsize = np.dtype(region.base_dtype).itemsize
    block = np.zeros(highest - lowest + itemsize if 0 not in region.base_shape else itemsize, np.uint8)
    whole = np.ndarray(region.base_shape, region.base_dtype, block, -lowest, region.base_steps)
    if base is not None:
        whole[...] = base
    part = np.ndarray(region.shape, region.dtype, block, region.offset - lowest if 0 not in region.shape else 0, region.steps)
    return whole, part


def region_facts(Region region not None):
    """The shape and dtype of the origin and of the view."""
    return region.base_shape, region.base_dtype, region.shape, region.dtype


def make_region(Tensor view not None, Tensor origin not None):
    """Where *view* lies in *origin*, the same memory."""
    return region_of(view, origin)


def repeated_region(Region region not None, Py_ssize_t count):
    """The region of *count* arrays one after the other, along a new first axis."""
    cdef Region repeated = Region.__new__(Region)
    highest = sum([max(0, (size - 1) * step) for size, step in zip(region.base_shape, region.base_steps)])
    lowest = sum([min(0, (size - 1) * step) for size, step in zip(region.base_shape, region.base_steps)])
    extent = highest - lowest + region.base_dtype.itemsize
    repeated.base_shape, repeated.base_steps = (count, *region.base_shape), (extent, *region.base_steps)
    repeated.shape, repeated.steps = (count, *region.shape), (extent, *region.steps)
    repeated.base_dtype, repeated.dtype, repeated.offset = region.base_dtype, region.dtype, region.offset
    return repeated


cdef Node follow_origin(Tensor view, Tensor origin, Level level, int *number):
    # The view shows what was written into its origin: its record is the origin's, through the region operator.
    cdef Node node, below
    cdef int origin_number = 0
    below = node_of(origin, level, &origin_number)
    if below is None:
        raise errors.DerivativeError(f"an array is a view of one that takes no part in the derivative any more "
                                     f"(shape {shape_of(view)}): take the view again")
    node = region_node(derivative_of(structural("region")), below, origin_number, region_of(view, origin), level)
    note_result(node, view)
    if view.rank > 4:
        node.shapes = [(shape_of(view), dtype_of(view))]
    set_node(view, level, node, 0)
    view.generation = below.sequence
    number[0] = 0
    return node


cdef Node region_node(Derivative rule, Node below, int number, Region region, Level level):
    # A record of region(x, region), whose cotangent is laid into zeros.
    cdef Node node = new_node(rule, 1, rule.value_count)
    number_node(node)
    cdef int slot
    node.level = level
    node.edges[0] = <PyObject *>below
    Py_INCREF(below)
    node.numbers[0] = number
    node.edge_count = 1
    for slot in range(rule.value_count):
        keep(node, slot, region)
    return node


cdef Node new_node(Derivative rule, int edges, int values):
    cdef Node node = Node.__new__(Node)
    cdef int slot
    PyObject_GC_UnTrack(<PyObject *>node)
    node.rule = rule
    take_space(node, edges, values)
    for slot in range(rule.value_count):
        node.slots[slot] = -1
    return node


cdef int64_t version_of(object value) noexcept:
    cdef int64_t version = 0
    if is_tensor(<PyObject *>value):
        return (<Tensor>value).storage.version
    if type(value) is list or type(value) is tuple:
        for item in value:
            if is_tensor(<PyObject *>item):
                version += (<Tensor>item).storage.version
        return version
    return NOT_A_TENSOR


cdef void keep(Node node, int slot, object value):
    cdef int place = node.value_count
    node.slots[slot] = place
    node.values[place] = <PyObject *>value
    Py_INCREF(value)
    node.versions[place] = version_of(value)
    node.value_count = place + 1


# ----------------------------------------------------------------------------------------- recording

cdef object run_autograd(Kernel kernel, Operator op, PyObject **arguments, uint64_t keys):
    # The Autograd key's one kernel.
    cdef ThreadState *thread = thread_state()
    keys &= ~<uint64_t>AUTOGRAD_BIT
    if thread.no_grad:
        return run_below(op, arguments, keys)
    result = record(op, arguments, arguments, None, keys)
    if thread.formula:
        check_read(op, result)
    return result


cdef int check_read(Operator op, object result) except -1:
    """Refuse a Python number that a formula makes of an array by which the formula itself is differentiated."""
    if type(result) is float or type(result) is complex:
        raise errors.DerivativeError(f"{op}: a formula of a derivative reads a number from an array that it is differentiated by itself; the number "
                                     "would count as a constant: compute with the array, or take x.detach() if a constant is meant")
    return 0


cdef object run_below(Operator op, PyObject **arguments, uint64_t keys):
    # Kernels may be written in operators: those record nothing.
    cdef ThreadState *thread = thread_state()
    cdef uint64_t excluded = thread.excluded
    thread.excluded |= AUTOGRAD_BIT
    try:
        return run_keys(op, arguments, keys)
    finally:
        thread.excluded = excluded


cdef object process_reverse(Level base, Operator op, PyObject **arguments):
    cdef ReverseLevel level = <ReverseLevel>base
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef list owned = None
    cdef int position
    cdef PyObject *value
    for position in range(op.parameter_count):
        value = values[position] = arguments[position]
        if value == NULL or not op.tensor_mask >> position & 1:
            continue
        if is_tensor(value):
            if (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level:
                values[position] = <PyObject *>(<Tracer>(<Tensor>value).autograd).primal
        elif PyList_Check(value) or PyTuple_Check(value):
            if owned is None:
                owned = []
            lowered = lower(<object>value, level)
            owned.append(lowered)
            values[position] = <PyObject *>lowered
    if thread_state().no_grad:
        return run_outside(op, values, level)
    result = record(op, arguments, values, level, 0)
    if thread_state().formula:
        check_read(op, result)
    return result


cdef object lower(object value, Level level):
    # Tensors of the level as their primals, inside lists and tuples too.
    if is_tensor(<PyObject *>value):
        if (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level:
            return (<Tracer>(<Tensor>value).autograd).primal
        return value
    if type(value) is list:
        return [lower(item, level) for item in value]
    if type(value) is tuple:
        return tuple([lower(item, level) for item in value])
    return value


cdef object run_outside(Operator op, PyObject **values, ReverseLevel level):
    # The call one level below, where recording is as it was outside the transform.
    cdef ThreadState *thread = thread_state()
    cdef int no_grad = thread.no_grad
    thread.no_grad = level.outer_no_grad
    try:
        return call_bound(op, values)
    finally:
        thread.no_grad = no_grad


cdef bint takes_part(PyObject *value, Level level) noexcept:
    cdef Py_ssize_t position
    if value == NULL:
        return False
    if is_tensor(value):
        if level is None:
            return (<Tensor>value).keys & AUTOGRAD_BIT != 0
        return (<Tensor>value).keys & FRONT_BIT != 0 and (<Tracer>(<Tensor>value).autograd).level is level
    if PyList_Check(value):
        for position in range(PyList_GET_SIZE(value)):
            if takes_part(PyList_GET_ITEM(value, position), level):
                return True
    elif PyTuple_Check(value):
        for position in range(PyTuple_GET_SIZE(value)):
            if takes_part(PyTuple_GET_ITEM(value, position), level):
                return True
    return False


cdef object record(Operator op, PyObject **arguments, PyObject **values, ReverseLevel level, uint64_t keys):
    # Run the call below, on `values`, and leave a record of it. `arguments` are what the caller gave.
    cdef Derivative rule = derivative_of(op)
    cdef Node node
    cdef Tensor target = None
    cdef object result
    cdef Py_ssize_t sharers = 0
    cdef int position
    if rule is None:
        return run_without_rule(op, arguments, values, level, keys)
    if op.write_mask:
        target = written_argument(op, arguments)
    if target is not None and (rule.first_option < 0 or arguments[rule.first_option] == NULL):
        check_target(op, arguments, target, level)
        sharers = target.storage.references - thread_state().headers
    if rule.custom is not None:
        return run_custom(op, rule, arguments, values, level, keys)
    if rule.first_option >= 0:
        for position in range(rule.first_option, op.parameter_count):
            if arguments[position] != NULL:
                return with_options(op, arguments)
    if rule.composition is not None:
        for position in range(op.parameter_count):
            if op.tensor_mask >> position & 1 and takes_part(arguments[position], level):
                positional, keywords = python_arguments(op, arguments)
                return rule.composition(*positional, **keywords)
    node = begin_node(rule, arguments, values, level, target)
    if level is None:
        result = run_below(op, arguments, keys)
    else:
        result = run_outside(op, values, level)
    if node is None:
        return result if target is None or result is None else target
    if rule.refusal is not None:
        if not any_inexact(target if target is not None else result):
            return result
        raise errors.NoDerivativeError(f"{op} has no derivative: {rule.refusal}. Use x.detach() where none is wanted")
    if target is not None:
        keep_result(node, target if level is None else lower(target, level), level)
        rebase(op, target, node, level, sharers)
        return None if result is None else target
    return finish(op, node, arguments, values, result, level)


cdef object with_options(Operator op, PyObject **arguments):
    # where=, dtype= and casting= of an elementwise operator are other operators around it.
    cdef int position, count = op.parameter_count
    inputs = [<object>arguments[position] for position in range(count - 4)]
    options = [None if arguments[position] == NULL else <object>arguments[position] for position in range(count - 4, count)]
    return structural("with_options")(op, inputs, *options)


cdef bint any_inexact(object result) noexcept:
    if is_tensor(<PyObject *>result):
        return is_inexact(<Tensor>result)
    if isinstance(result, (tuple, list)):
        for item in result:
            if any_inexact(item):
                return True
    return False


cdef object run_without_rule(Operator op, PyObject **arguments, PyObject **values, ReverseLevel level, uint64_t keys):
    # Nothing is declared: what could have a derivative, a result or what was written, gets a record which says so when it is asked.
    cdef object result
    cdef int position
    cdef bint taking = False
    cdef list inputs = [], targets = [], sharers
    for position in range(op.parameter_count):
        if op.tensor_mask >> position & 1 and arguments[position] != NULL:
            inputs.append(<object>arguments[position])
            taking = taking or takes_part(arguments[position], level)
            if op.write_mask >> position & 1:
                note_targets(<object>arguments[position], targets)
    if taking:
        for target in targets:
            check_leaf(op, target, level)
    sharers = [(<Tensor>target).storage.references - thread_state().headers for target in targets]
    result = run_below(op, arguments, keys) if level is None else run_outside(op, values, level)
    if not taking:
        return result
    leaves = []
    for value in inputs:
        leaves.extend(value if isinstance(value, (tuple, list)) else [value])
    for target, count in zip(targets, sharers):
        rebase(op, target, new_function_node(leaves, refusal(op), op._opname, level), level, count)
    if any_inexact(result) and not (len(targets) == 1 and result is targets[0]):
        flat = list(result) if isinstance(result, (tuple, list)) else [result]
        made = attach(leaves, tuple(flat), refusal(op), op._opname, level)
        return rebuilt(result, list(made)) if isinstance(result, (tuple, list)) else made[0]
    return result


cdef object refusal(Operator op):
    # What a sweep hears that comes to a call of an operator without a derivative.
    if op.write_mask:
        way = "formulas are for operators whose results are new: return the result instead of writing it, call it on x.detach()"
    else:
        way = f"register one with fastops.library.register_autograd({op.name()!r}, backward, setup_context=...), call it on x.detach()"

    def backward(*cotangents):
        raise errors.DerivativeError(f"{op} has no derivative: {way}, or under fo.no_grad()")
    return backward


cdef int note_targets(object value, list targets) except -1:
    if is_tensor(<PyObject *>value):
        if is_inexact(<Tensor>value):
            targets.append(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            note_targets(item, targets)
    return 0


cdef object run_custom(Operator op, Derivative rule, PyObject **arguments, PyObject **values, ReverseLevel level, uint64_t keys):
    # The formulas are Python functions, see fastops/_function.pyx.
    cdef int position
    cdef bint taking = False
    cdef object result
    for position in range(op.parameter_count):
        if op.tensor_mask >> position & 1 and takes_part(arguments[position], level):
            taking = True
            break
    result = run_below(op, arguments, keys) if level is None else run_outside(op, values, level)
    if not taking or not any_inexact(result):
        return result
    return rule.record_custom(rule.custom, op, arguments, values, result, level)


cdef Tensor written_argument(Operator op, PyObject **arguments):
    cdef uint64_t mask = op.write_mask
    cdef int position
    for position in range(op.parameter_count):
        if mask >> position & 1 and arguments[position] != NULL and is_tensor(arguments[position]):
            return <Tensor>arguments[position]
    return None


cdef int check_target(Operator op, PyObject **arguments, Tensor target, Level level) except -1:
    cdef int position, number = 0
    cdef Node node
    cdef bint taking = False, own = False
    for position in range(op.parameter_count):
        if arguments[position] == NULL or not op.tensor_mask >> position & 1:
            continue
        taking = taking or takes_part(arguments[position], level)
        if arguments[position] == <PyObject *>target and (not op.write_mask >> position & 1 or not is_output(op, position)):
            own = True
    if not taking:
        return 0
    if not own:
        raise errors.DerivativeError(f"{op}: out= cannot take part in a derivative, for what it held before would have to be "
                                     "kept; use the result, or write it in with out[...] = result")
    if not is_inexact(target):
        raise errors.DerivativeError(f"{op}: an array of dtype {<object>target.element.dtype} cannot hold values that have a derivative")
    return check_leaf(op, target, level)


cdef int check_leaf(Operator op, Tensor target, Level level) except -1:
    if level is None:
        if target.keys & AUTOGRAD_BIT and isinstance(target.autograd, Leaf):
            raise errors.DerivativeError(f"{op}: a leaf that requires a gradient is written in place; write under fo.no_grad(), "
                                         "or into a copy")
        if target.origin is not None and (<Tensor>target.origin).keys & AUTOGRAD_BIT \
                and isinstance((<Tensor>target.origin).autograd, Leaf):
            raise errors.DerivativeError(f"{op}: a view of a leaf that requires a gradient is written in place; write under "
                                         "fo.no_grad(), or into a copy")
    return 0


cdef bint is_output(Operator op, int position):
    return (<Parameter>op.parameters[position]).name == "out"


cdef Node begin_node(Derivative rule, PyObject **arguments, PyObject **values, ReverseLevel level, Tensor target):
    # The record, as far as the arguments go; None if none of them takes part.
    cdef Node node = None
    cdef Formula formula
    cdef PyObject *value
    cdef Py_ssize_t length
    cdef int index, edges = 0, edge = 0, position, number = 0, slot, count = PyList_GET_SIZE(<PyObject *>rule.formulas)
    cdef uint32_t wanted = 0
    cdef bint lists = False
    cdef Node below
    for index in range(count):
        formula = <Formula>PyList_GET_ITEM(<PyObject *>rule.formulas, index)
        value = arguments[formula.parameter]
        edges += 1
        if value == NULL:
            continue
        if is_tensor(value):
            if (<Tensor>value).keys & AUTOGRAD_BIT if level is None else takes_part(value, level):
                wanted |= <uint32_t>1 << index
        elif PyList_Check(value) or PyTuple_Check(value):
            if takes_part(value, level):
                wanted |= <uint32_t>1 << index
            lists = True
            edges += <int>len(<object>value) - 1
    if wanted == 0:
        if rule.refusal is not None:
            for position in range(rule.op.parameter_count):
                if rule.op.tensor_mask >> position & 1 and takes_part(arguments[position], level):
                    return new_node(rule, 0, 0)
        return None
    node = new_node(rule, edges, rule.value_count)
    node.level = level
    if lists:
        node.spans = []
    for index in range(count):
        formula = <Formula>PyList_GET_ITEM(<PyObject *>rule.formulas, index)
        value = arguments[formula.parameter]
        if lists and value != NULL and not is_tensor(value) and (PyList_Check(value) or PyTuple_Check(value)):
            node.spans.append(len(<object>value))
            for item in <object>value:
                add_edge(node, <PyObject *>item, level)
        else:
            if lists:
                node.spans.append(-1)
            add_edge(node, value, level)
    number_node(node)                   # after the records of views that were made for it
    for slot in range(rule.value_count):
        if not rule.users[slot] & wanted or rule.kinds[slot] == RESULT or rule.kinds[slot] == RESULT_SHAPE:
            continue
        kept = value_of(rule, slot, values, None)
        if target is not None and <PyObject *>kept == values[rule.positions[slot]] and rule.kinds[slot] == ARGUMENT \
                and arguments[rule.positions[slot]] == <PyObject *>target and is_tensor(<PyObject *>kept):
            kept = snapshot(<Tensor>kept)
        keep(node, slot, kept)
    return node


cdef Tensor snapshot(Tensor tensor):
    # The value as it is recorded now, under a header of its own.
    cdef Tensor alias = alias_of(tensor)
    alias.keys = tensor.keys
    alias.autograd = tensor.autograd
    alias.number = tensor.number
    return alias


cdef inline int add_edge(Node node, PyObject *value, Level level) except -1:
    cdef int number = 0
    cdef Node below = None
    if value != NULL and is_tensor(value) and (<Tensor>value).keys & (AUTOGRAD_BIT | FRONT_BIT):
        below = node_of(<Tensor>value, level, &number)
    if below is None:
        node.edges[node.edge_count] = NULL
    else:
        node.edges[node.edge_count] = <PyObject *>below
        Py_INCREF(below)
    node.numbers[node.edge_count] = number
    node.edge_count += 1
    return 0


cdef int keep_result(Node node, object result, Level level) except -1:
    # The result's own values, where a formula uses them: under headers without a record, lest the node refer to itself.
    cdef Derivative rule = node.rule
    cdef int slot
    for slot in range(rule.value_count):
        if rule.kinds[slot] == RESULT_SHAPE:
            keep(node, slot, shape_of(result))
        elif rule.kinds[slot] == RESULT and needed(node, rule.users[slot]):
            keep(node, slot, result if level is not None else without_record(result))
    return 0


cdef bint needed(Node node, uint32_t users) noexcept:
    # Whether one of the formulas has an argument that takes part.
    cdef int index, edge = 0, span, count = PyList_GET_SIZE(<PyObject *>node.rule.formulas)
    cdef bint found
    for index in range(count):
        span = 1 if node.spans is None else <int>node.spans[index]
        span = 1 if span < 0 else span
        found = False
        for edge in range(edge, edge + span):
            if node.edges[edge] != NULL:
                found = True
        edge += 1
        if found and users >> index & 1:
            return True
    return False


cdef object without_record(object result):
    if is_tensor(<PyObject *>result):
        return alias_of(<Tensor>result)
    if isinstance(result, (tuple, list)):
        return tuple([without_record(item) for item in result])
    return result


cdef object finish(Operator op, Node node, PyObject **arguments, PyObject **values, object result, ReverseLevel level):
    # The results, with their record.
    cdef Tensor tensor
    cdef int position
    if is_tensor(<PyObject *>result):
        tensor = <Tensor>result
        if not is_inexact(tensor):
            return result
        for position in range(op.parameter_count):
            if values[position] == <PyObject *>result:          # the kernel gave an argument back as it is
                tensor = new_view(tensor, tensor.rank)
                memcpy(tensor.sizes, (<Tensor>result).sizes, tensor.rank * sizeof(Py_ssize_t))
                memcpy(tensor.steps, (<Tensor>result).steps, tensor.rank * sizeof(Py_ssize_t))
                finish_layout(tensor)
                if level is not None:
                    tensor.keys, tensor.autograd, tensor.number = (<Tensor>result).keys, (<Tensor>result).autograd, (<Tensor>result).number
                break
        keep_result(node, tensor, level)
        note_result(node, tensor)
        if tensor.rank > 4:
            node.shapes = [(shape_of(tensor), dtype_of(tensor))]
        return attach_one(tensor, node, 0, level, arguments, values, op)
    if not isinstance(result, (tuple, list)):
        return result
    items = []
    keep_result(node, result, level)
    node.shapes = []
    node.output_count = 0
    for item in result:
        node.shapes.append((shape_of(item), dtype_of(item)) if is_tensor(<PyObject *>item) else None)
        if is_tensor(<PyObject *>item) and is_inexact(<Tensor>item):
            item = attach_one(<Tensor>item, node, node.output_count, level, arguments, values, op)
        node.output_count += 1
        items.append(item)
    return rebuilt(result, items)


cdef object rebuilt(object result, list items):
    # A tuple, list or named tuple with other items.
    if type(result) is list:
        return items
    return tuple(items) if type(result) is tuple else type(result)(*items)


cdef object attach_one(Tensor tensor, Node node, int number, ReverseLevel level, PyObject **arguments, PyObject **values, Operator op):
    cdef Tensor wrapped, origin
    cdef int position
    if level is None:
        tensor.autograd = node
        tensor.number = number
        tensor.keys |= AUTOGRAD_BIT
        if tensor.origin is not None:
            tensor.generation = generation_of(<Tensor>tensor.origin, None)
        return tensor
    wrapped = wrap(tensor, level, node, number)
    if tensor.origin is not None:
        # A view: of the argument whose primal it is a view of.
        for position in range(op.parameter_count):
            if arguments[position] != NULL and arguments[position] != values[position] and is_tensor(arguments[position]):
                if (<Tensor>values[position]).storage == tensor.storage:
                    origin = <Tensor>arguments[position]
                    wrapped.origin = origin if origin.origin is None else origin.origin
                    wrapped.generation = generation_of(<Tensor>wrapped.origin, level)
                    break
    return wrapped


cdef int rebase(Operator op, Tensor target, Node node, ReverseLevel level, Py_ssize_t sharers) except -1:
    # The target was written: its record is now the node's, and so are those of what shares its memory.
    cdef Tensor origin
    cdef Node placed, below = None
    cdef Derivative rule
    cdef int number = 0, slot
    cdef Region region
    note_result(node, target)
    if target.rank > 4:
        node.shapes = [(shape_of(target), dtype_of(target))]
    if target.origin is None:
        if generation_of(target, level) == 0 and sharers > 1:
            raise_shared(op, target)
        set_node(target, level, node, 0)
        return 0
    origin = <Tensor>target.origin
    if generation_of(origin, level) == 0 and sharers > 2:
        raise_shared(op, target)
    if not is_inexact(origin):
        raise errors.DerivativeError(f"{op}: the array is a view of one of dtype {dtype_of(origin)}, which has no derivative")
    below = node_of(origin, level, &number)
    region = region_of(target, origin)
    rule = derivative_of(structural("placed"))
    placed = new_node(rule, 2, rule.value_count)
    number_node(placed)
    placed.level = level
    placed.edge_count = 2
    placed.edges[0] = NULL
    if below is not None:
        placed.edges[0] = <PyObject *>below
        Py_INCREF(below)
    placed.numbers[0] = number
    placed.edges[1] = <PyObject *>node
    Py_INCREF(node)
    placed.numbers[1] = 0
    for slot in range(rule.value_count):
        keep(placed, slot, region)
    note_result(placed, origin)
    if origin.rank > 4:
        placed.shapes = [(shape_of(origin), dtype_of(origin))]
    set_node(origin, level, placed, 0)
    if not target.keys & (AUTOGRAD_BIT if level is None else FRONT_BIT):
        set_node(target, level, node, 0)
    follow_origin(target, origin, level, &number)
    return 0


cdef int raise_shared(Operator op, Tensor target) except -1:
    raise errors.DerivativeError(
        f"{op}: values that have a derivative are written into an array of shape {shape_of(target)} whose memory other arrays share, "
        "and those would not know: write before the views are taken, or take them from the result")


_kernel = machine_kernel(run_autograd, "fastops/_autograd.pyx: records the call")


def install():
    """Let the Autograd key record."""
    machine.set_fallback("Autograd", _kernel)


# --------------------------------------------------------------------------------------------- sweep

cdef struct Entry:
    uint64_t sequence
    PyObject *node              # owned
    PyObject *cotangent         # owned; of the first result where there is one
    PyObject *cotangents        # owned list, where there are several results


cdef class Sweep:
    cdef Entry *heap
    cdef Py_ssize_t count, space
    cdef bint create_graph, retain
    cdef object needed          # ids of the nodes to visit, or None for all
    cdef dict captured          # {id of node: {number: cotangent}}, for autograd.grad

    def __dealloc__(self):
        cdef Py_ssize_t position
        for position in range(self.count):
            drop_entry(self, &self.heap[position])
        free(self.heap)


cdef void drop_entry(Sweep sweep, Entry *entry) noexcept:
    if (<Node>entry.node).sweep == <void *>sweep:
        (<Node>entry.node).sweep = NULL
    Py_XDECREF(entry.cotangent)
    Py_XDECREF(entry.cotangents)
    Py_DECREF(entry.node)


cdef inline void put_entry(Sweep sweep, Py_ssize_t position, Entry entry) noexcept:
    sweep.heap[position] = entry
    if (<Node>entry.node).sweep == <void *>sweep:
        (<Node>entry.node).place = position


cdef void sift_up(Sweep sweep, Py_ssize_t position) noexcept:
    cdef Entry entry = sweep.heap[position]
    cdef Py_ssize_t parent
    while position > 0:
        parent = (position - 1) >> 1
        if sweep.heap[parent].sequence >= entry.sequence:
            break
        put_entry(sweep, position, sweep.heap[parent])
        position = parent
    put_entry(sweep, position, entry)


cdef Entry pop_entry(Sweep sweep) noexcept:
    cdef Entry top = sweep.heap[0], last
    cdef Py_ssize_t position = 0, child
    sweep.count -= 1
    if sweep.count > 0:
        last = sweep.heap[sweep.count]
        while True:
            child = 2 * position + 1
            if child >= sweep.count:
                break
            if child + 1 < sweep.count and sweep.heap[child + 1].sequence > sweep.heap[child].sequence:
                child += 1
            if sweep.heap[child].sequence <= last.sequence:
                break
            put_entry(sweep, position, sweep.heap[child])
            position = child
        put_entry(sweep, position, last)
    if (<Node>top.node).sweep == <void *>sweep:
        (<Node>top.node).sweep = NULL
    return top


cdef Entry *find_entry(Sweep sweep, Node node) except NULL:
    # The node's entry, made if there is none.
    cdef Py_ssize_t position
    cdef Entry *grown
    if node.sweep == <void *>sweep:
        return &sweep.heap[node.place]
    if node.sweep != NULL:              # another sweep has it: look it up
        for position in range(sweep.count):
            if sweep.heap[position].node == <PyObject *>node:
                return &sweep.heap[position]
    if sweep.count == sweep.space:
        grown = <Entry *>realloc(sweep.heap, (2 * sweep.space + 16) * sizeof(Entry))
        if grown == NULL:
            raise MemoryError()
        sweep.heap = grown
        sweep.space = 2 * sweep.space + 16
    position = sweep.count
    sweep.heap[position].sequence = node.sequence
    sweep.heap[position].node = <PyObject *>node
    Py_INCREF(node)
    sweep.heap[position].cotangent = sweep.heap[position].cotangents = NULL
    sweep.count += 1
    if node.sweep == NULL:
        node.sweep = <void *>sweep
        node.place = position
    sift_up(sweep, position)
    if node.sweep == <void *>sweep:
        return &sweep.heap[node.place]
    for position in range(sweep.count):
        if sweep.heap[position].node == <PyObject *>node:
            return &sweep.heap[position]
    raise AssertionError("a node is lost")


cdef object total(object first, object second, bint create_graph):
    return _add(first, second)


cdef int deliver(Sweep sweep, Node node, int number, object cotangent) except -1:
    # Add a cotangent to what the node's result has got so far.
    cdef Entry *entry
    cdef object earlier
    cdef list several
    if sweep.needed is not None and <size_t><PyObject *>node not in sweep.needed:
        return 0
    entry = find_entry(sweep, node)
    if node.output_count <= 1:
        if entry.cotangent == NULL:
            entry.cotangent = <PyObject *>cotangent
            Py_INCREF(cotangent)
            return 0
        earlier = <object>entry.cotangent
        cotangent = _add(earlier, cotangent)
        entry = find_entry(sweep, node)
        Py_DECREF(entry.cotangent)
        entry.cotangent = <PyObject *>cotangent
        Py_INCREF(cotangent)
        return 0
    if entry.cotangents == NULL:
        several = [None] * node.output_count
        entry.cotangents = <PyObject *>several
        Py_INCREF(several)
    several = <list>entry.cotangents
    earlier = several[number]
    several[number] = cotangent if earlier is None else _add(earlier, cotangent)
    return 0


cdef object fitted(Node node, int number, object cotangent, Node source):
    # A cotangent in the shape and dtype of the result it belongs to: broadcasting and casts undone.
    cdef Tensor tensor
    cdef int axis
    cdef bint same
    if not is_tensor(<PyObject *>cotangent):
        if isinstance(cotangent, (int, float, complex)) or hasattr(cotangent, "dtype"):
            cotangent = machine.as_tensor(cotangent)
        else:
            raise TypeError(f"{source.name()}: a cotangent is a Tensor or None, not {type(cotangent).__name__}")
    tensor = <Tensor>cotangent
    if node.shapes is None:
        same = tensor.rank == node.rank and tensor.element.code == node.code
        if same:
            for axis in range(node.rank):
                if tensor.sizes[axis] != node.sizes[axis]:
                    same = False
                    break
        if same:
            return cotangent
        if tensor.element.code == node.code and broadcast_from(tensor, node.rank, node.sizes):
            return summed(tensor, node.rank, node.sizes)
        shape, dtype = shape_tuple(node.rank, node.sizes), machine_dtype(node.code)
    else:
        shape, dtype = node.shapes[number]
        if shape == shape_tuple(tensor.rank, tensor.sizes) and dtype == <object>tensor.element.dtype:
            return cotangent
    try:
        return _fit(cotangent, shape, dtype)
    except errors.DerivativeError as error:
        raise errors.DerivativeError(f"{source.name()}: {error}") from None


cdef bint broadcast_from(Tensor tensor, int rank, const Py_ssize_t *sizes) noexcept:
    # Whether broadcasting an array of these sizes gave the tensor's shape.
    cdef int axis, added = tensor.rank - rank
    for axis in range(rank):
        if added < 0 or sizes[axis] != 1 and sizes[axis] != tensor.sizes[added + axis]:
            return False
    return added >= 0


cdef tuple _AXIS = ("axis",), _AXIS_KEPT = ("axis", "keepdims")
cdef object _TRUE = True


cdef object summed(Tensor tensor, int rank, const Py_ssize_t *sizes):
    # Summed over the axes that broadcasting added or lengthened.
    cdef int axis, added = tensor.rank - rank
    cdef list axes = list(range(added))
    cdef PyObject *stack[4]
    cdef bint kept = False
    for axis in range(rank):
        if sizes[axis] == 1 and tensor.sizes[added + axis] != 1:
            axes.append(added + axis)
            kept = True
    along = tuple(axes)
    stack[1], stack[2], stack[3] = <PyObject *>tensor, <PyObject *>along, <PyObject *>_TRUE
    result = PyObject_Vectorcall(<PyObject *>_sum, stack + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, <PyObject *>(_AXIS_KEPT if kept else _AXIS))
    if kept and added:
        result = structural("reshape")(result, shape_tuple(rank, sizes))
    return result


cdef object machine_dtype(int code):
    from fastops._dispatch import dtype_of_code
    return dtype_of_code(code)


cdef object unpacked(Node node, int place, Sweep sweep, int slot):
    # A kept value; RuntimeError if it was written since.
    cdef object value = <object>node.values[place]
    cdef Tensor alias
    if node.versions[place] != NOT_A_TENSOR and version_of(value) != node.versions[place]:
        raise_written(node, value, node.versions[place])
    if node.rule.kinds[slot] == RESULT and node.level is None and sweep is not None and sweep.create_graph:
        return recorded(value, node)
    return value


cdef object recorded(object value, Node node):
    # The node's own result, as part of the record again.
    cdef Tensor alias
    cdef int number = 0
    if is_tensor(<PyObject *>value):
        alias = alias_of(<Tensor>value)
        alias.autograd, alias.number = node, 0
        alias.keys |= AUTOGRAD_BIT
        return alias
    items = []
    for item in value:
        if is_tensor(<PyObject *>item) and is_inexact(<Tensor>item):
            alias = alias_of(<Tensor>item)
            alias.autograd, alias.number = node, number
            alias.keys |= AUTOGRAD_BIT
            item = alias
        number += 1
        items.append(item)
    return tuple(items)


cdef object raise_written(Node node, object value, int64_t version):
    cdef Tensor tensor
    if is_tensor(<PyObject *>value):
        tensor = <Tensor>value
        raise errors.DerivativeError(
            f"{node.name()} saved an array of shape {shape_of(tensor)} for its derivative, and it was modified after being saved: "
            f"by {last_writer(tensor)}, version {tensor.storage.version} instead of {version}. Write into a copy, or out of place")
    raise errors.DerivativeError(f"{node.name()} saved arrays for its derivative, and one was modified after being saved")


cdef object call_formula(Node node, Formula formula, object cotangent, Sweep sweep):
    cdef PyObject *stack[16]
    cdef list owned = None
    cdef int place, slot
    for place in range(formula.count):
        slot = formula.places[place]
        if slot < 0:
            stack[place + 1] = <PyObject *>cotangent
            continue
        value = unpacked(node, node.slots[slot], sweep, slot)
        if <PyObject *>value != node.values[node.slots[slot]]:
            if owned is None:
                owned = []
            owned.append(value)
        stack[place + 1] = <PyObject *>value
    return PyObject_Vectorcall(<PyObject *>formula.function, stack + 1, formula.count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)


cdef object apply_formula(Node node, Formula formula, object cotangent, Sweep sweep):
    # The cotangent of one argument, before it is fitted; None for none.
    cdef object factor
    if formula.kind == CONSTANT:
        return scaled(cotangent, formula.constant)
    factor = call_formula(node, formula, cotangent, sweep)
    if formula.kind == TRANSPOSE or factor is None:
        return factor
    if is_tensor(<PyObject *>factor):
        if (<Tensor>factor).element.kind == c"c":
            factor = _conj(factor)
        if formula.kind == WEIGHTS:
            # The values themselves are needed for the axes only, and those are kept with the node.
            return scaled(structural("expand")(cotangent, (<Tensor>factor).rank, node_argument(node, node.rule.at_axis),
                                               node_argument(node, node.rule.at_keepdims)), factor)
    elif type(factor) is complex:
        factor = factor.conjugate()
    return scaled(cotangent, factor)


cdef object node_argument(Node node, int position):
    # A kept argument, by its place among the operator's parameters.
    cdef int slot
    for slot in range(node.rule.value_count):
        if node.rule.kinds[slot] == ARGUMENT and node.rule.positions[slot] == position and node.slots[slot] >= 0:
            return <object>node.values[node.slots[slot]]
    raise AssertionError("a weights formula takes axis and keepdims")


cdef int visit(Sweep sweep, Node node, object cotangent) except -1:
    # Hand the cotangent of a node's results on to where the arguments came from.
    cdef Derivative rule = node.rule
    cdef Formula formula
    cdef int index, edge = 0, span, step
    cdef object grad
    cdef bint wanted
    if node.freed:
        raise errors.DerivativeError(f"{node.name()}: a second sweep goes through a record whose values were freed by the first; "
                                     "pass retain_graph=True to the first")
    if type(node) is FunctionNode:
        return visit_function(sweep, <FunctionNode>node, cotangent)
    if node.output_count > 1:
        cotangent = filled(node, cotangent)
    handed = [None] * node.edge_count if node.hooks is not None and -1 in node.hooks else None
    for index in range(PyList_GET_SIZE(<PyObject *>rule.formulas)):
        formula = <Formula>PyList_GET_ITEM(<PyObject *>rule.formulas, index)
        span = -1 if node.spans is None else <int>node.spans[index]
        if span < 0:
            if node.edges[edge] != NULL and (sweep.needed is None or <size_t>node.edges[edge] in sweep.needed):
                grad = apply_formula(node, formula, cotangent, sweep)
                if grad is not None:
                    grad = fitted(<Node>node.edges[edge], node.numbers[edge], grad, node)
                    if handed is None:
                        deliver(sweep, <Node>node.edges[edge], node.numbers[edge], grad)
                    else:
                        handed[edge] = grad
            edge += 1
            continue
        wanted = False
        for step in range(span):
            wanted = wanted or node.edges[edge + step] != NULL
        if wanted:
            grad = apply_formula(node, formula, cotangent, sweep)
            for step in range(span):
                if node.edges[edge + step] == NULL or grad is None or grad[step] is None:
                    continue
                one = fitted(<Node>node.edges[edge + step], node.numbers[edge + step], grad[step], node)
                if handed is None:
                    deliver(sweep, <Node>node.edges[edge + step], node.numbers[edge + step], one)
                else:
                    handed[edge + step] = one
        edge += span
    if handed is not None:
        hand_on(sweep, node, handed, cotangent)
    if not sweep.retain:
        free_values(node)
    return 0


cdef void free_values(Node node) noexcept:
    if node.value_count > 0:
        node.freed = True
        release_values(node)


cdef int hand_on(Sweep sweep, Node node, list handed, object cotangent) except -1:
    # Through the hooks of the node, then on.
    cdef int edge
    given = cotangent if isinstance(cotangent, tuple) else (cotangent,)
    grads = tuple(handed)
    for function in list(node.hooks.get(-1, {}).values()):
        replaced = function(grads, given)
        if replaced is not None:
            grads = tuple(replaced) if isinstance(replaced, (tuple, list)) else (replaced,)
    for edge in range(node.edge_count):
        if node.edges[edge] != NULL and grads[edge] is not None:
            deliver(sweep, <Node>node.edges[edge], node.numbers[edge], grads[edge])
    return 0


cdef object filled(Node node, object cotangents):
    # Several results: None where nothing arrived.
    return tuple(<list>cotangents)


cdef int visit_function(Sweep sweep, FunctionNode node, object cotangent) except -1:
    cdef int edge
    cdef list given = [cotangent] if node.output_count <= 1 else list(<list>cotangent)
    bind_record(node)
    try:
        grads = node.backward(*given)
    finally:
        unbind_record(node)
    handed = list(grads)
    if len(handed) != node.edge_count:
        raise errors.DerivativeError(f"{node.name()}: expected {node.edge_count} gradients, got {len(handed)}")
    for edge in range(node.edge_count):
        if node.edges[edge] == NULL or handed[edge] is None:
            handed[edge] = None
        else:
            check_real(node, <Node>node.edges[edge], node.numbers[edge], handed[edge])
            handed[edge] = fitted(<Node>node.edges[edge], node.numbers[edge], handed[edge], node)
    if node.hooks is not None and -1 in node.hooks:
        hand_on(sweep, node, handed, given[0] if len(given) == 1 else tuple(given))
    else:
        for edge in range(node.edge_count):
            if handed[edge] is not None:
                deliver(sweep, <Node>node.edges[edge], node.numbers[edge], handed[edge])
    if not sweep.retain:
        node.freed = True
        node.backward = None
    return 0


cdef int check_real(Node node, Node source, int number, object cotangent) except -1:
    if is_tensor(<PyObject *>cotangent) and (<Tensor>cotangent).element.kind == c"c":
        dtype = machine_dtype(source.code) if source.shapes is None else source.shapes[number][1]
        if dtype.kind != "c":
            raise errors.DerivativeError(f"{node.name()}: the gradient of an argument of dtype {dtype} is complex, {(<Tensor>cotangent).dtype}: "
                                         "give its real part")
    return 0


cdef int bind_record(FunctionNode node) except -1:
    # While the formula runs, what it kept of the results is part of the record.
    if node.level is None and not thread_state().no_grad and hasattr(node.backward, "bind"):
        node.backward.bind(node)
    return 0


cdef int unbind_record(FunctionNode node) except -1:
    if node.level is None and not thread_state().no_grad and hasattr(node.backward, "bind"):
        node.backward.bind(None)
    return 0


cdef object hooked(Node node, object cotangent):
    # What the hooks on the results' tensors make of it.
    cdef int number
    for number in range(node.output_count):
        functions = node.hooks.get(number)
        if not functions:
            continue
        for function in list(functions.values()):
            current = cotangent if node.output_count <= 1 else cotangent[number]
            if current is None:
                continue
            replaced = function(current)
            if replaced is None:
                continue
            if not is_tensor(<PyObject *>replaced) or shape_of(replaced) != shape_of(current):
                raise errors.DerivativeError(f"a hook on {node.name()} returned {type(replaced).__name__} "
                                             f"where a Tensor of shape {shape_of(current)} or None is wanted")
            if node.output_count <= 1:
                cotangent = replaced
            else:
                cotangent[number] = replaced
    return cotangent


cdef int run_sweep(Sweep sweep) except -1:
    cdef Entry entry
    cdef Node node
    cdef object cotangent
    cdef ThreadState *thread = thread_state()
    while sweep.count > 0:
        entry = pop_entry(sweep)
        node = <Node>entry.node
        Py_DECREF(entry.node)
        if entry.cotangents != NULL:
            cotangent = <object>entry.cotangents
            Py_DECREF(entry.cotangents)
        elif entry.cotangent != NULL:
            cotangent = <object>entry.cotangent
            Py_DECREF(entry.cotangent)
        else:
            continue
        if node.hooks is not None:
            cotangent = hooked(node, cotangent)
        if node.retained is not None:
            for number in node.retained:
                node.retained[number] = cotangent if node.output_count <= 1 else cotangent[number]
        if sweep.captured is not None:
            places = sweep.captured.get(<size_t><PyObject *>node)
            if places is not None:
                for number in places:
                    places[number] = cotangent if node.output_count <= 1 else cotangent[number]
                if isinstance(node, Leaf):
                    continue
        if type(node) is Leaf:
            accumulate(<Leaf>node, cotangent, sweep)
        else:
            visit(sweep, node, cotangent)
        cotangent = None
    return 0


cdef int accumulate(Leaf leaf, object cotangent, Sweep sweep) except -1:
    cdef object earlier = leaf.grad
    if earlier is None:
        if not sweep.create_graph and is_tensor(<PyObject *>cotangent) and leaf.level is None \
                and (Py_REFCNT(<PyObject *>cotangent) > 2 or (<Tensor>cotangent).storage.references > 1
                     or (<Tensor>cotangent).origin is not None):
            cotangent = structural("copy")(cotangent)           # others hold it: .grad is the caller's to write into
        leaf.grad = cotangent
    elif sweep.create_graph or leaf.level is not None:
        leaf.grad = _add(earlier, cotangent)
    else:
        leaf.grad = _add(earlier, cotangent)
    return 0


cdef Sweep new_sweep(bint create_graph, bint retain):
    cdef Sweep sweep = Sweep.__new__(Sweep)
    sweep.create_graph, sweep.retain = create_graph, retain
    return sweep


# ------------------------------------------------------------------------ what Python sees: the Autograd key

def is_recorded(Tensor tensor not None):
    """Whether the tensor takes part in the derivative: ``Tensor.requires_grad``."""
    cdef Tracer tracer
    if tensor.keys & FRONT_BIT:
        return isinstance(tensor.autograd, ReverseTracer)
    return tensor.keys & AUTOGRAD_BIT != 0


def require(Tensor tensor not None, bint required):
    """Make a tensor a leaf that requires a gradient, or no longer so."""
    cdef bint is_leaf = not tensor.keys & AUTOGRAD_BIT or isinstance(tensor.autograd, Leaf)
    if tensor.keys & FRONT_BIT:
        raise errors.DerivativeError("requires_grad cannot be set inside a function that is being transformed; use fo.func.grad there")
    if not required:
        if not is_leaf:
            raise errors.DerivativeError("requires_grad can be taken from leaves only; x.detach() gives the values without the record")
        tensor.keys &= ~<uint64_t>AUTOGRAD_BIT
        return
    if tensor.keys & AUTOGRAD_BIT:
        return
    if not is_inexact(tensor):
        raise errors.DerivativeError(f"only arrays of floating-point or complex dtype can require gradients, not {dtype_of(tensor)}: "
                                     "use x.astype(float)")
    if tensor.autograd is None:
        tensor.autograd = new_leaf(tensor)
    tensor.number = 0
    tensor.keys |= AUTOGRAD_BIT


def record_of(Tensor tensor not None):
    """``Tensor.grad_fn``: the Node that the tensor came from, None for leaves."""
    cdef int number = 0
    cdef Node node
    if tensor.keys & FRONT_BIT:
        if not isinstance(tensor.autograd, ReverseTracer):
            return None
        node = node_of(tensor, (<Tracer>tensor.autograd).level, &number)
    else:
        node = node_of(tensor, None, &number)
    return None if node is None or isinstance(node, Leaf) else node


def edge_of(Tensor tensor not None):
    """The Node and the number of the result that a tensor with the Autograd key is; (None, 0) without."""
    cdef int number = 0
    cdef Node node = node_of(tensor, None, &number)
    return node, number


def grad_of(Tensor tensor not None):
    """``Tensor.grad``: what the sweeps have added up for a leaf, or kept for a tensor with retain_grad."""
    if isinstance(tensor.autograd, Leaf):
        return (<Leaf>tensor.autograd).grad
    if tensor.keys & AUTOGRAD_BIT and (<Node>tensor.autograd).retained is not None:
        return (<Node>tensor.autograd).retained.get(tensor.number)
    return None


def set_grad(Tensor tensor not None, grad):
    """Assign ``Tensor.grad``."""
    cdef Leaf leaf
    if grad is not None:
        if not is_tensor(<PyObject *>grad):
            raise TypeError(f"grad is a Tensor or None, not {type(grad).__name__}")
        if shape_of(grad) != shape_of(tensor) or dtype_of(grad) != dtype_of(tensor):
            raise errors.DerivativeError(f"grad has the array's shape and dtype, {shape_of(tensor)} and {dtype_of(tensor)}, "
                                         f"not {shape_of(grad)} and {dtype_of(grad)}")
    if tensor.keys & FRONT_BIT or tensor.keys & AUTOGRAD_BIT and not isinstance(tensor.autograd, Leaf):
        raise errors.DerivativeError("grad can be assigned on leaves only")
    if tensor.autograd is None:
        if grad is None:
            return
        tensor.autograd = new_leaf(tensor)
    leaf = <Leaf>tensor.autograd
    leaf.grad = grad


def retain(Tensor tensor not None):
    """Let the sweep keep the cotangent of a tensor that is no leaf in its ``grad``."""
    cdef Node node
    if not tensor.keys & AUTOGRAD_BIT:
        raise errors.DerivativeError("retain_grad: the tensor does not require a gradient")
    node = <Node>tensor.autograd
    if isinstance(node, Leaf):
        return
    if node.retained is None:
        node.retained = {}
    node.retained.setdefault(tensor.number, None)


def retains(Tensor tensor not None):
    """Whether a tensor that is no leaf keeps its cotangent: ``Tensor.retains_grad``."""
    return bool(tensor.keys & AUTOGRAD_BIT and (<Node>tensor.autograd).retained is not None
                and tensor.number in (<Node>tensor.autograd).retained)


def is_leaf(Tensor tensor not None):
    """Whether nothing was computed to get the tensor, as far as the record knows."""
    return record_of(tensor) is None


def forget(Tensor tensor not None):
    """Take the record from a tensor, in place."""
    if tensor.origin is not None:
        raise errors.DerivativeError("detach_: a view cannot forget its record; use detach()")
    tensor.keys &= ~<uint64_t>AUTOGRAD_BIT
    tensor.autograd = None


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away; a context manager does it at its end."""

    def __init__(self, hooks, key):
        self.hooks, self.key = hooks, key

    def remove(self):
        """Take the hook away; harmless if it is gone already."""
        self.hooks.pop(self.key, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


cdef object add_hook(Node node, int number, function):
    if not callable(function):
        raise TypeError(f"a hook is a function, not {type(function).__name__}")
    if node.hooks is None:
        node.hooks = {}
        if not PyObject_GC_IsTracked(<PyObject *>node):         # a hook may refer back to what is differentiated
            PyObject_GC_Track(<PyObject *>node)
    hooks = node.hooks.setdefault(number, {})
    key = object()
    hooks[key] = function
    return RemovableHandle(hooks, key)


def register_hook(Tensor tensor not None, function):
    """Call *function* with the tensor's cotangent when a sweep has it; what it returns, if not None, replaces it."""
    cdef int number = 0
    cdef Node node
    if not tensor.keys & AUTOGRAD_BIT:
        raise errors.DerivativeError("register_hook: the tensor does not require a gradient")
    node = node_of(tensor, None, &number)
    return add_hook(node, number, function)


def detached(Tensor tensor not None):
    """The same memory without a record, at every level."""
    cdef Tensor alias
    while tensor.keys & FRONT_BIT:
        tensor = (<Tracer>tensor.autograd).primal
    alias = alias_of(tensor)
    return alias


def alias(Tensor tensor not None):
    """The same memory under a header of its own, without a record."""
    return alias_of(tensor)


def no_grad_count():
    """Nonzero while nothing is recorded in this thread."""
    return thread_state().no_grad


def set_no_grad(int value):
    """Set whether nothing is recorded in this thread; returns what was."""
    cdef ThreadState *thread = thread_state()
    cdef int earlier = thread.no_grad
    thread.no_grad = value
    return earlier


def sweep(tensors, cotangents, *, bint retain_graph, bint create_graph, inputs=None, bint accumulate_grads=True):
    """Run the backward sweep from *tensors* with their *cotangents*, at the Autograd key.

    With *inputs* it visits only what leads to them; returns their cotangents, None for those that are not reached,
    unless *accumulate_grads* says to add them into ``grad``.
    """
    cdef Sweep run = new_sweep(create_graph, retain_graph)
    cdef int number = 0, earlier
    cdef Node node
    cdef ThreadState *thread = thread_state()
    roots = []
    for tensor, cotangent in zip(tensors, cotangents):
        node = node_of(<Tensor>tensor, None, &number)
        roots.append((node, number, fitted(node, number, cotangent, node)))
    places = []
    if inputs is not None:
        captured = {}
        for tensor in inputs:
            node = node_of(<Tensor>tensor, None, &number)
            places.append((node, number))
            captured.setdefault(<size_t><PyObject *>node, {}).setdefault(number, None)
        run.needed = leading_to([root[0] for root in roots], captured)
        run.captured = captured
    earlier = thread.no_grad
    thread.no_grad = 0 if create_graph else 1
    try:
        for root, position, cotangent in roots:
            deliver(run, root, position, cotangent)
        del roots
        run_sweep(run)
    finally:
        thread.no_grad = earlier
    if inputs is None:
        return None
    found = [captured[<size_t><PyObject *>node][position] for node, position in places]
    if accumulate_grads:
        for (target, position), cotangent in zip(places, found):
            if cotangent is not None:
                if not isinstance(target, Leaf):
                    raise errors.DerivativeError("backward: inputs= takes leaves")
                accumulate(<Leaf>target, cotangent, run)
    return found


cdef object leading_to(list roots, dict targets):
    # The ids of the nodes through which a target is reached: parents have lower numbers, so one pass upwards decides.
    cdef Node node
    cdef int edge
    cdef set seen = set()
    cdef list found = [], waiting = list(roots)
    while waiting:
        node = <Node>waiting.pop()
        if <size_t><PyObject *>node in seen:
            continue
        seen.add(<size_t><PyObject *>node)
        found.append((node.sequence, <size_t><PyObject *>node, node))
        for edge in range(node.edge_count):
            if node.edges[edge] != NULL:
                waiting.append(<object>node.edges[edge])
    found.sort()
    leading = set()
    for _, key, entry in found:
        node = <Node>entry
        if key in targets:
            leading.add(key)
            continue
        for edge in range(node.edge_count):
            if node.edges[edge] != NULL and <size_t>node.edges[edge] in leading:
                leading.add(key)
                break
    return leading


cdef FunctionNode new_function_node(list leaves, object backward, str label, Level level):
    cdef FunctionNode node = FunctionNode.__new__(FunctionNode)
    PyObject_GC_UnTrack(<PyObject *>node)
    take_space(node, PyList_GET_SIZE(<PyObject *>leaves), 0)
    for value in leaves:
        add_edge(node, <PyObject *>value, level)
    node.label, node.backward, node.level = label, backward, level
    PyObject_GC_Track(<PyObject *>node)
    number_node(node)
    return node


def attach(inputs, results, backward, str label, Level level=None, dirty=(), constants=None):
    """Give *results*, a tuple, a record whose cotangents ``backward(*cotangents)`` computes; returns them as a tuple.

    It returns one for each of *inputs* (those that are no tensors included). Those of *dirty* were written: they keep
    their identity. *constants* says which results have no derivative.
    """
    cdef FunctionNode node = new_function_node(list(inputs), backward, label, level)
    cdef list items = []
    cdef Tensor tensor
    cdef int number = 0
    node.output_count = len(results)
    node.shapes = [(shape_of(item), dtype_of(item)) if is_tensor(<PyObject *>item) else None for item in results]
    for item in results:
        if is_tensor(<PyObject *>item) and is_inexact(<Tensor>item) and (constants is None or not constants[number]):
            tensor = <Tensor>item
            if level is None or any([one is item for one in dirty]):
                set_node(tensor, level, node, number)
                if tensor.origin is not None:
                    tensor.generation = generation_of(<Tensor>tensor.origin, level)
            else:
                item = wrap(tensor, <ReverseLevel>level, node, number)
        items.append(item)
        number += 1
    return tuple(items)


cdef object attach_one_result(list leaves, Tensor result, object backward, str label, Level level):
    # attach() for one result that is no argument.
    cdef FunctionNode node = new_function_node(leaves, backward, label, level)
    note_result(node, result)
    if result.rank > 4:
        node.shapes = [(shape_of(result), dtype_of(result))]
    if level is not None:
        return wrap(result, <ReverseLevel>level, node, 0)
    set_node(result, None, node, 0)
    return result


def with_record(Tensor tensor not None, Node node not None, int number):
    """A kept result of *node*, as part of the record again."""
    cdef Tensor alias = alias_of(tensor)
    alias.autograd, alias.number = node, number
    alias.keys |= AUTOGRAD_BIT
    return alias


def same_memory(Tensor tensor not None):
    """Another header over a tensor's memory, with what it keeps."""
    return snapshot(tensor)


def check_dirty(str label, Tensor tensor not None):
    """Refuse the write of a leaf, or of a view."""
    if tensor.keys & AUTOGRAD_BIT and isinstance(tensor.autograd, Leaf):
        raise errors.DerivativeError(f"{label}: a leaf that requires a gradient is written in place")
    if tensor.origin is not None:
        raise errors.DerivativeError(f"{label}: mark_dirty takes arrays that are no views")
    mark_written(tensor, None)


# ---------------------------------------------------------------------- what Python sees: transforms of functions

def trace(ReverseLevel level not None, Tensor primal not None):
    """A tensor of the level that the sweep ends at."""
    cdef Leaf leaf = new_leaf(primal)
    leaf.level = level
    return wrap(primal, level, leaf, 0)


def differentiate(label, function, args, kwargs, int position):
    """``function(*args, **kwargs)`` with the argument at *position*, a Tensor, traced: (what it returned, its primal, the cotangent).

    The cotangent is None where what was returned is not one real floating-point number, or nothing arrives.
    """
    cdef ReverseLevel level = ReverseLevel()
    cdef ThreadState *thread = thread_state()
    cdef Tensor traced, result, ones
    cdef list given = list(args)
    level.label = label, function
    traced = trace(level, <Tensor>given[position])
    given[position] = traced
    thread.no_grad = 0
    try:
        value = function(*given, **kwargs)
    finally:
        thread.no_grad = level.outer_no_grad
        level.close()
    if not is_tensor(<PyObject *>value):
        return value, value, None
    result = <Tensor>lower(value, level)
    if result.rank != 0 or result.element.kind != c"f":
        return value, result, None
    return value, result, pull_back(level, (value,), (_structural["ones_like"](result),), (traced,), False)[0]


def lowered(Level level not None, value):
    """A tensor of the level as its primal, anything else as it is; inside lists and tuples too."""
    return lower(value, level)


def belongs(Level level not None, value):
    """Whether a tensor is of the level."""
    return takes_part(<PyObject *>value, level)


def pull_back(ReverseLevel level not None, outputs, cotangents, inputs, bint retain):
    """The cotangents of *inputs*, made by ``trace``, from those of *outputs*; None where nothing arrives."""
    cdef Sweep run = new_sweep(True, retain)
    cdef int number = 0
    cdef Node node
    cdef Leaf leaf
    for output, cotangent in zip(outputs, cotangents):
        if cotangent is None or not is_tensor(<PyObject *>output):
            continue
        node = node_of(<Tensor>output, level, &number)
        if node is not None:
            deliver(run, node, number, fitted(node, number, cotangent, node))
    run_sweep(run)
    grads = []
    for value in inputs:
        leaf = <Leaf>(<ReverseTracer>(<Tensor>value).autograd).node
        grads.append(leaf.grad)
        leaf.grad = None
    return grads


install()       # before the operators are declared: each then has the Autograd key from the start
