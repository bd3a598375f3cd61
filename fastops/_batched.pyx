"""vmap's levels: what a call of an operator does to arrays that stand for one of a batch.

Inside a function that ``vmap`` transforms, a mapped array shows the shape of one row; its tracer's primal has all of
them, along the first axis. A call is computed one level below, on the primals: elementwise operators align their
axes here, in C; for all others a rule, found by the operator's family (fastops/batching.py), says the call that
computes all rows at once.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from fastops._convert cimport Parameter
from fastops._dispatch cimport (BACKEND_BITS, CONTIGUOUS, Level, MAXIMUM_PARAMETERS, Operator, Tensor, Tracer, adopt, call_bound,
                                finish_layout, is_tensor, new_view, python_arguments, shape_tuple, thread_state)

from fastops import errors

cdef extern from "Python.h":
    bint PyList_Check(PyObject *)
    bint PyTuple_Check(PyObject *)
    Py_ssize_t Py_REFCNT(PyObject *)

cdef enum:
    FRONT_BIT = 1 << 12
    AUTOGRAD_BIT = 1 << 10

cdef object _find_rule = None, _expand_dims = None, _spread = None, _row_by_row = None
ELEMENTWISE = "elementwise"


def set_rules(find_rule, expand_dims, spread, row_by_row):
    """Say where rules are found, and the operators that bring arrays into line.

    ``find_rule(operator)`` gives ELEMENTWISE or ``rule(call)``; ``spread(x, size)`` repeats x along a new first axis, in memory of its own;
    *row_by_row* is the rule where there is none.
    """
    global _find_rule, _expand_dims, _spread, _row_by_row
    _find_rule, _expand_dims, _spread, _row_by_row = find_rule, expand_dims, spread, row_by_row


@cython.final
cdef class BatchLevel(Level):
    """One call of ``vmap``: how many rows there are, which of them are in this chunk, and what is done with random numbers."""
    cdef readonly Py_ssize_t size, first, total
    cdef readonly str randomness
    cdef dict starts                # {stream of random bits: where it stood before the first chunk}
    cdef set rewound
    cdef list converted             # arrays that mapped values were written into, and what they were

    def __init__(self, Py_ssize_t size, str randomness="error", Py_ssize_t first=0, Py_ssize_t total=-1, starts=None):
        self.process = process_batched
        self.size, self.randomness, self.first, self.starts = size, randomness, first, starts
        self.total = size if total < 0 else total

    def rewind(self, bits):
        """Let each chunk of rows find a stream of random bits where the first found it."""
        if self.starts is None:
            return
        if self.rewound is None:
            self.rewound = set()
        if bits not in self.rewound:
            self.rewound.add(bits)
            bits.counter = self.starts.setdefault(bits, bits.counter)

    def __enter__(self):
        levels = _open_levels()
        levels.append(self)
        return self

    def __exit__(self, *exception):
        _open_levels().remove(self)
        self.close()
        self.restore(exception[0] is None)

    cdef int restore(self, bint checked) except -1:
        # Arrays from outside that mapped values were written into are as they were; what was made inside is gone.
        cdef list converted = self.converted
        cdef bint escaped = False
        if converted is None:
            return 0
        self.converted = None
        while converted:
            target, former = converted.pop()
            if Py_REFCNT(<PyObject *>target) > 1:
                escaped = True
                adopt(<Tensor>target, <Tensor>former)
                (<Tensor>target).autograd = (<Tensor>former).autograd
        if escaped and checked:
            raise errors.EscapeError(f"{self.title()}: mapped values were written into an array that is held outside of the function; it is unchanged. "
                                     "Write into an array made inside, and return it")
        return 0

    def title(self):
        name, function = self.label if isinstance(self.label, tuple) else (self.label, None)
        return f"{name}" if function is None else f"{name} of {getattr(function, '__name__', repr(function))}()"


cdef object _local = None


cdef list _open_levels():
    # vmap's levels that are open in this thread, the innermost last.
    global _local
    if _local is None:
        import threading
        _local = threading.local()
    try:
        return _local.levels
    except AttributeError:
        _local.levels = []
        return _local.levels


def open_levels():
    """vmap's levels that are open in this thread, the innermost last."""
    return _open_levels()


@cython.no_gc
@cython.freelist(64)
cdef class BatchTracer(Tracer):
    pass


cdef Tensor wrap(Tensor primal, BatchLevel level):
    # A tensor of the level: one row's shape over all rows.
    cdef Tensor tensor = new_view(primal, primal.rank - 1)
    cdef BatchTracer tracer = BatchTracer.__new__(BatchTracer)
    tracer.level, tracer.primal = level, primal
    memcpy(tensor.sizes, primal.sizes + 1, (primal.rank - 1) * sizeof(Py_ssize_t))
    memcpy(tensor.steps, primal.steps + 1, (primal.rank - 1) * sizeof(Py_ssize_t))
    finish_layout(tensor)
    tensor.origin = None
    tensor.keys = (primal.keys & BACKEND_BITS) | FRONT_BIT
    tensor.autograd = tracer
    return tensor


cdef inline bint is_mapped(PyObject *value, Level level) noexcept:
    return is_tensor(value) and (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level


cdef bint holds_mapped(object value, Level level):
    if is_tensor(<PyObject *>value):
        return is_mapped(<PyObject *>value, level)
    if isinstance(value, (list, tuple)):
        for item in value:
            if holds_mapped(item, level):
                return True
    elif isinstance(value, slice):
        return holds_mapped(value.start, level) or holds_mapped(value.stop, level) or holds_mapped(value.step, level)
    return False


# ------------------------------------------------------------------------------------------------ calls

@cython.final
cdef class Rows:
    """A mapped argument, as rules see it: ``value`` has all rows, along its first axis."""
    cdef readonly Tensor value

    @staticmethod
    def of(Tensor value not None):
        """The rows along the first axis of *value*."""
        cdef Rows rows = Rows.__new__(Rows)
        rows.value = value
        return rows

    @property
    def ndim(self):
        """The number of axes of one row."""
        return self.value.rank - 1

    @property
    def shape(self):
        """The shape of one row."""
        return shape_tuple(self.value.rank - 1, self.value.sizes + 1)

    def __repr__(self):
        return f"Rows({self.value!r})"


@cython.final
cdef class Call:
    """A call that a rule answers: the operator, the number of rows, the arguments by name, mapped ones as Rows."""
    cdef readonly Operator op
    cdef readonly Py_ssize_t size
    cdef readonly dict arguments
    cdef readonly BatchLevel level

    def run(self, **changed):
        """The operator, with some of the arguments given otherwise, and none of them Rows."""
        given = dict(self.arguments)
        given.update(changed)
        return call_by_name(self.op, given)


@cython.final
cdef class Constant:
    """A result that is the same for all rows."""
    cdef readonly object value

    def __init__(self, value):
        self.value = value


@cython.final
cdef class Decomposed:
    """A rule that is the same call written in other operators, for one row: ``function`` takes the operator's arguments.

    NotImplemented from it means row by row. Where only arguments named in *pointwise* are mapped the operator itself is called: it goes element by element through these.
    """
    cdef readonly object function
    cdef readonly tuple pointwise

    def __init__(self, function, tuple pointwise=()):
        self.function, self.pointwise = function, pointwise


cdef bint is_pointwise(Decomposed rule, Operator op, uint64_t mapped):
    cdef int position
    for position in range(op.parameter_count):
        if mapped >> position & 1 and (<Parameter>op.parameters[position]).name not in rule.pointwise:
            return False
    return True


def _with_all_rows(call):
    return call.run(**{name: value.value for name, value in call.arguments.items() if type(value) is Rows})


def as_call(Operator op not None, Call call not None, rule):
    """What *rule* gives for another operator with the same arguments."""
    cdef Call other = Call.__new__(Call)
    other.op, other.size, other.arguments, other.level = op, call.size, call.arguments, call.level
    return rule(other)


def call_by_name(Operator op not None, dict given):
    """The operator with arguments by the names of its parameters."""
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef int position
    for position in range(op.parameter_count):
        name = (<Parameter>op.parameters[position]).name
        values[position] = <PyObject *>given[name] if name in given else NULL
    return call_bound(op, values)


cdef object rows_of(object value, BatchLevel level):
    # Mapped tensors as Rows, inside lists, tuples and slices too.
    cdef Rows rows
    if is_tensor(<PyObject *>value):
        if not is_mapped(<PyObject *>value, level):
            return value
        rows = Rows.__new__(Rows)
        rows.value = (<Tracer>(<Tensor>value).autograd).primal
        return rows
    if isinstance(value, (list, tuple)) and holds_mapped(value, level):
        items = [rows_of(item, level) for item in value]
        return items if type(value) is list else tuple(items)
    return value


cdef object process_batched(Level base, Operator op, PyObject **arguments):
    cdef BatchLevel level = <BatchLevel>base
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef uint64_t mapped = 0
    cdef int position, target = -1, headers = 0
    cdef bint containers = False
    for position in range(op.parameter_count):
        values[position] = arguments[position]
        if arguments[position] == NULL or not op.tensor_mask >> position & 1:
            continue
        if is_tensor(arguments[position]):
            if op.write_mask >> position & 1:
                target = position
            if is_mapped(arguments[position], level):
                values[position] = <PyObject *>(<Tracer>(<Tensor>arguments[position]).autograd).primal
                mapped |= <uint64_t>1 << position
        elif PyList_Check(arguments[position]) or PyTuple_Check(arguments[position]):
            containers = containers or holds_mapped(<object>arguments[position], level)
    if target >= 0 and not mapped >> target & 1:
        become_mapped(level, op, <Tensor><object>arguments[target])
        for position in range(op.parameter_count):          # it may be an operand too
            if arguments[position] != NULL and is_mapped(arguments[position], level):
                values[position] = <PyObject *>(<Tracer>(<Tensor>arguments[position]).autograd).primal
                mapped |= <uint64_t>1 << position
    rule = op.batching
    if rule is None or type(rule) is str and rule is not ELEMENTWISE:
        rule = op.batching = _find_rule(op)
    if type(rule) is Decomposed:
        if containers or not is_pointwise(<Decomposed>rule, op, mapped):
            positional, keywords = python_arguments(op, arguments)
            result = (<Decomposed>rule).function(*positional, **keywords)
            if result is not NotImplemented:
                return result
            rule = _row_by_row
        else:
            rule = _with_all_rows
    if target >= 0:
        headers = 1 if (<Tensor>arguments[target]).origin is None else 2
        thread_state().headers += headers
    try:
        if rule is ELEMENTWISE and not containers:
            result = run_elementwise(op, values, mapped, level)
        else:
            result = run_rule(op, rule, arguments, values, level)
    finally:
        if target >= 0:
            thread_state().headers -= headers
    if target >= 0:
        show_again(<Tensor><object>arguments[target], level)
        return None if result is None else <object>arguments[target]
    if is_tensor(<PyObject *>result):
        find_origin(<Tensor>result, op, arguments)
    return result


cdef int show_again(Tensor target, BatchLevel level) except -1:
    # A write may have given the primal other memory, at a level further out.
    cdef Tensor primal = (<Tracer>target.autograd).primal
    tracer = target.autograd
    if primal.storage != target.storage:
        adopt(target, wrap(primal, level))
        target.autograd = tracer
    return 0


cdef int find_origin(Tensor result, Operator op, PyObject **arguments) except -1:
    # A view is one of the argument whose rows its own are views of: levels further in follow what is written into either.
    cdef Tensor primal, argument
    cdef int position
    if not result.keys & FRONT_BIT:
        return 0
    primal = (<Tracer>result.autograd).primal
    if primal.origin is None:
        return 0
    for position in range(op.parameter_count):
        if arguments[position] != NULL and is_tensor(arguments[position]):
            argument = <Tensor>arguments[position]
            if argument is not result and argument.storage == primal.storage:
                result.origin = argument if argument.origin is None else argument.origin
                return 0
    return 0


cdef object run_elementwise(Operator op, PyObject **values, uint64_t mapped, BatchLevel level):
    # Rows of fewer axes than the result get theirs after the first; arrays that are not mapped broadcast as they are.
    cdef list owned = None
    cdef int position, rank = 0, own
    for position in range(op.parameter_count):
        if values[position] != NULL and is_tensor(values[position]):
            own = (<Tensor>values[position]).rank - <int>(mapped >> position & 1)
            rank = own if own > rank else rank
    for position in range(op.parameter_count):
        if mapped >> position & 1 and (<Tensor>values[position]).rank - 1 < rank:
            if owned is None:
                owned = []
            value = _expand_dims(<object>values[position], tuple(range(1, rank + 2 - (<Tensor>values[position]).rank)))
            owned.append(value)
            values[position] = <PyObject *>value
    return wrapped(call_bound(op, values), level)


cdef object wrapped(object result, BatchLevel level):
    # What a rule gives, as tensors of the level.
    if is_tensor(<PyObject *>result):
        return wrap(<Tensor>result, level)
    if type(result) is Constant:
        return (<Constant>result).value
    if isinstance(result, (tuple, list)):
        items = [wrapped(item, level) for item in result]
        return items if type(result) is list else tuple(items) if type(result) is tuple else type(result)(*items)
    return result


cdef object run_rule(Operator op, object rule, PyObject **arguments, PyObject **values, BatchLevel level):
    cdef Call call = Call.__new__(Call)
    cdef int position
    cdef dict given = {}
    for position in range(op.parameter_count):
        if arguments[position] != NULL and not (op.write_mask >> position & 1 and <object>arguments[position] is None):
            given[(<Parameter>op.parameters[position]).name] = rows_of(<object>arguments[position], level)
    call.op, call.size, call.arguments, call.level = op, level.size, given, level
    return wrapped(rule(call), level)


# ----------------------------------------------------------------------------------------------- writes

cdef int become_mapped(BatchLevel level, Operator op, Tensor target) except -1:
    # Mapped values are to be written into an array that is the same for all rows: each row gets one of its own.
    cdef Tensor origin, physical, view
    cdef Py_ssize_t offset
    if target.origin is None:
        spread(level, op, target, 1 + thread_state().headers)
        return 0
    origin = <Tensor>target.origin
    if origin.keys & (FRONT_BIT | AUTOGRAD_BIT) or not origin.flags & CONTIGUOUS:
        refuse_shared(op, target)
    offset = target.data - origin.data
    spread(level, op, origin, 2 + thread_state().headers)
    physical = (<Tracer>origin.autograd).primal
    view = new_view(physical, target.rank + 1)
    view.data = physical.data + offset
    view.sizes[0], view.steps[0] = physical.sizes[0], physical.steps[0]
    memcpy(view.sizes + 1, target.sizes, target.rank * sizeof(Py_ssize_t))
    memcpy(view.steps + 1, target.steps, target.rank * sizeof(Py_ssize_t))
    finish_layout(view)
    replace(level, target, view)
    return 0


cdef int spread(BatchLevel level, Operator op, Tensor target, Py_ssize_t sharers) except -1:
    if target.storage.references > sharers:
        refuse_shared(op, target)
    replace(level, target, <Tensor>_spread(former_of(target), level.size))
    return 0


cdef Tensor former_of(Tensor target):
    cdef Tensor former = new_view(target, target.rank)
    memcpy(former.sizes, target.sizes, target.rank * sizeof(Py_ssize_t))
    memcpy(former.steps, target.steps, target.rank * sizeof(Py_ssize_t))
    finish_layout(former)
    former.origin, former.keys, former.autograd, former.number = None, target.keys, target.autograd, target.number
    return former


cdef int replace(BatchLevel level, Tensor target, Tensor physical) except -1:
    cdef Tensor former = former_of(target), shown = wrap(physical, level)
    adopt(target, shown)
    target.autograd = shown.autograd
    if level.converted is None:
        level.converted = []
    level.converted.append((target, former))
    return 0


cdef int refuse_shared(Operator op, Tensor target) except -1:
    raise ValueError(f"{op}: mapped values are written into an array of shape {shape_tuple(target.rank, target.sizes)} that is not mapped and whose memory other "
                     "arrays share, which would not know: write before views are taken of it")


# ---------------------------------------------------------------------------------- what Python sees

def trace(BatchLevel level not None, Tensor primal not None):
    """A tensor of the level, from one with all rows along the first axis."""
    return wrap(primal, level)


def rows(BatchLevel level not None, value):
    """All rows of a tensor of the level, or None for anything else."""
    return (<Tracer>(<Tensor>value).autograd).primal if is_mapped(<PyObject *>value, level) else None


def beneath(Tensor tensor not None):
    """What stands beneath all transforms: all rows of all levels, which can be read."""
    while tensor.keys & FRONT_BIT:
        tensor = (<Tracer>tensor.autograd).primal
    return tensor


def map_plain(label, function, args, kwargs, str randomness, finish):
    """``vmap`` in the common case: all arguments Tensors mapped along axis 0, a Tensor as result; else ``finish(level, result)``.

    NotImplemented if the arguments are others.
    """
    cdef Py_ssize_t size = -1
    cdef BatchLevel level
    for value in args:
        if type(value) is not Tensor or (<Tensor>value).rank == 0 or (size >= 0 and (<Tensor>value).sizes[0] != size):
            return NotImplemented
        size = (<Tensor>value).sizes[0]
    if size < 0:
        return NotImplemented
    level = BatchLevel(size, randomness)
    level.label = label, function
    with level:
        result = function(*[wrap(<Tensor>value, level) for value in args], **kwargs)
        found = finish(level, result) if not is_mapped(<PyObject *>result, level) else (<Tracer>(<Tensor>result).autograd).primal
        result = None                   # an array that became mapped inside is held by no one else now
    return found
