"""Forward mode: tensors of a level carry their tangent, and each operator's declaration says that of its result."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from fastops._autograd cimport (CONSTANT, Derivative, Formula, PARTIAL, TRANSPOSE, WEIGHTS, alias_of, beneath, call_with_values, check_read, derivative_of,
                                is_inexact, scaled, structural, value_of)
from fastops._convert cimport Parameter
from fastops._dispatch cimport (BACKEND_BITS, CPU, Level, MAXIMUM_PARAMETERS, Operator, Tensor, Tracer, TRANSFORM_FRONT, call_bound, finish_layout, new_view,
                                is_tensor, python_arguments, thread_state)

from fastops import _autograd, errors

cdef extern from "Python.h":
    bint PyList_Check(PyObject *)
    bint PyTuple_Check(PyObject *)

cdef enum:
    FRONT_BIT = 1 << 12


cdef class ForwardLevel(Level):
    """One call of ``jvp``: tensors of this level carry a tangent."""

    def __cinit__(self):
        self.process = process_forward
        self.differentiates = True


@cython.no_gc
@cython.freelist(64)
cdef class ForwardTracer(Tracer):
    cdef object tangent


cdef object wrap(Tensor primal, Level level, object tangent):
    cdef Tensor tensor = alias_of(primal)
    set_tracer(tensor, primal, level, tangent)
    return tensor


cdef int set_tracer(Tensor tensor, Tensor primal, Level level, object tangent) except -1:
    cdef ForwardTracer tracer = ForwardTracer.__new__(ForwardTracer)
    tracer.level, tracer.primal, tracer.tangent = level, primal, tangent
    tensor.keys = (tensor.keys & BACKEND_BITS) | FRONT_BIT
    tensor.autograd = tracer
    return 0


def dual(Level level not None, Tensor primal not None, tangent):
    """A tensor of the level with a tangent."""
    return wrap(primal, level, tangent)


def parts(Level level not None, value):
    """The primal and the tangent, or None, of a value."""
    if is_tensor(<PyObject *>value) and (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level:
        return (<Tracer>(<Tensor>value).autograd).primal, (<ForwardTracer>(<Tensor>value).autograd).tangent
    return value, None


cdef object tangent_of(object value, Level level):
    # None where nothing in it has a tangent; of a list a list.
    if is_tensor(<PyObject *>value):
        if (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level:
            return (<ForwardTracer>(<Tensor>value).autograd).tangent
        return None
    if type(value) is list or type(value) is tuple:
        tangents = [tangent_of(item, level) for item in value]
        return tangents if any([tangent is not None for tangent in tangents]) else None
    return None


cdef object lower(object value, Level level):
    if is_tensor(<PyObject *>value):
        if (<Tensor>value).keys & FRONT_BIT and (<Tracer>(<Tensor>value).autograd).level is level:
            return (<Tracer>(<Tensor>value).autograd).primal
        return value
    if type(value) is list:
        return [lower(item, level) for item in value]
    if type(value) is tuple:
        return tuple([lower(item, level) for item in value])
    return value


cdef object process_forward(Level level, Operator op, PyObject **arguments):
    cdef PyObject *values[MAXIMUM_PARAMETERS]
    cdef list owned = [], tangents = [None] * op.parameter_count
    cdef Derivative rule = derivative_of(op)
    cdef Formula formula
    cdef Tensor target = None
    cdef int position
    cdef bint any_tangent = False, own = False
    if rule is not None and rule.first_option >= 0:
        for position in range(rule.first_option, op.parameter_count):
            if arguments[position] != NULL:
                inputs = [<object>arguments[position] for position in range(op.parameter_count - 4)]
                options = [None if arguments[position] == NULL else <object>arguments[position]
                           for position in range(op.parameter_count - 4, op.parameter_count)]
                return structural("with_options")(op, inputs, *options)
    if rule is not None and rule.composition is not None:
        for position in range(op.parameter_count):
            if arguments[position] != NULL and op.tensor_mask >> position & 1 and tangent_of(<object>arguments[position], level) is not None:
                positional, keywords = python_arguments(op, arguments)
                return rule.composition(*positional, **keywords)
    for position in range(op.parameter_count):
        values[position] = arguments[position]
        if arguments[position] == NULL or not op.tensor_mask >> position & 1:
            continue
        value = <object>arguments[position]
        if op.write_mask >> position & 1 and is_tensor(arguments[position]):
            target = <Tensor>value
        lowered = lower(value, level)
        owned.append(lowered)
        values[position] = <PyObject *>lowered
        tangents[position] = tangent_of(value, level)
    if rule is None and writes(op, arguments) and not all([tangent is None for tangent in tangents]):
        raise errors.DerivativeError(f"{op} has no derivative: formulas are for operators whose results are new: return the result instead of "
                                     "writing it, or call it on x.detach()")
    if target is not None:
        return write(level, op, rule, arguments, values, tangents, target)
    result = call_bound(op, values)
    if thread_state().formula:
        check_read(op, result)
    if rule is not None and rule.custom is not None:
        if not inexact(result) or all([tangent is None for tangent in tangents]):
            return result
        args, kwargs = python_arguments(op, values)
        return dressed(level, result, rule.custom.push(args, kwargs, result, tangents[:op.positional_count]))
    if rule is None:
        if inexact(result):
            raise errors.DerivativeError(
                f"{op} has no derivative: register one with fastops.library.register_autograd({op.name()!r}, backward, "
                "setup_context=...) or register_jvp, or call it on x.detach()")
        return result
    if rule.refusal is not None and inexact(result):
        raise errors.NoDerivativeError(f"{op} has no derivative: {rule.refusal}. Use x.detach() where none is wanted")
    return of_origin(op, arguments, values, result, dressed(level, result, result_tangent(op, rule, values, tangents, result)))


cdef bint writes(Operator op, PyObject **arguments):
    # Whether anything that could have a tangent is written.
    cdef int position
    for position in range(op.parameter_count):
        if op.write_mask >> position & 1 and arguments[position] != NULL and inexact(<object>arguments[position]):
            return True
    return False


cdef bint inexact(object result):
    if is_tensor(<PyObject *>result):
        return is_inexact(<Tensor>result)
    return isinstance(result, (tuple, list)) and any([inexact(item) for item in result])


cdef object dressed(Level level, object result, object tangent):
    if tangent is None:
        return result
    if is_tensor(<PyObject *>result):
        return wrap(<Tensor>result, level, tangent) if is_inexact(<Tensor>result) else result
    if not isinstance(result, (tuple, list)):
        return result
    items = [dressed(level, item, one) for item, one in zip(result, tangent)]
    return items if type(result) is list else tuple(items) if type(result) is tuple else type(result)(*items)


cdef object of_origin(Operator op, PyObject **arguments, PyObject **values, object result, object made):
    # A view of an argument's primal is a view of the argument.
    cdef Tensor origin
    cdef int position
    if made is result or not is_tensor(<PyObject *>result) or (<Tensor>result).origin is None:
        return made
    for position in range(op.parameter_count):
        if arguments[position] != NULL and arguments[position] != values[position] and is_tensor(arguments[position]):
            if (<Tensor>values[position]).storage == (<Tensor>result).storage:
                origin = <Tensor>arguments[position]
                (<Tensor>made).origin = origin if origin.origin is None else origin.origin
                break
    return made


cdef object zeros(object value):
    return structural("zeros_like")(value)


cdef object filled(object value, object tangent):
    # The tangent, with zeros for what has none.
    if tangent is None:
        if is_tensor(<PyObject *>value):
            return zeros(value)
        if isinstance(value, (list, tuple)):
            return [filled(item, None) for item in value]
        return zeros(structural("asarray")(value)) if hasattr(value, "shape") else type(value)(0) if isinstance(value, (int, float, complex)) else value
    if type(tangent) is list:
        return [filled(item, one) for item, one in zip(value, tangent)]
    return tangent


cdef object result_tangent(Operator op, Derivative rule, PyObject **values, list tangents, object result):
    # The sum of what each argument's tangent makes; None where that is nothing.
    cdef PyObject *changed[MAXIMUM_PARAMETERS]
    cdef Formula formula
    cdef list owned = [], needed = None, transposed = []
    cdef int position, slot
    cdef object sum_ = None
    if not inexact(result):
        return None
    active = [formula for formula in rule.formulas if tangents[(<Formula>formula).parameter] is not None]
    if not active:
        return None
    for position in range(op.parameter_count):
        changed[position] = values[position]
        if (<Parameter>op.parameters[position]).name == "initial":
            changed[position] = NULL
    if rule.linear:
        for formula in rule.formulas:
            if values[formula.parameter] == NULL:
                continue
            tangent = filled(<object>values[formula.parameter], tangents[formula.parameter])
            owned.append(tangent)
            changed[formula.parameter] = <PyObject *>tangent
        return call_bound(op, changed)
    if rule.multilinear:
        for formula in active:
            position = formula.parameter
            tangent = tangents[position]
            if type(tangent) is list:
                base = list(<object>values[position])
                for place, one in enumerate(tangent):
                    if one is not None:
                        operands = base[:place] + [one] + base[place + 1:]
                        changed[position] = <PyObject *>operands
                        sum_ = added(sum_, call_bound(op, changed))
            else:
                changed[position] = <PyObject *>tangent
                sum_ = added(sum_, call_bound(op, changed))
            changed[position] = values[position]
        return sum_
    for formula in active:
        tangent = tangents[formula.parameter]
        if formula.kind == CONSTANT:
            sum_ = added(sum_, scaled(tangent, formula.constant))
            continue
        if needed is None:
            needed = [value_of(rule, slot, values, result) for slot in range(rule.value_count)]
        if formula.kind == TRANSPOSE:
            transposed.append(formula)
            continue
        factor = call_with_values(formula, needed, None)
        part = scaled(tangent, factor)
        if formula.kind == WEIGHTS:
            part = structural("sum")(part, axis=argument(op, values, rule.at_axis), keepdims=bool(argument(op, values, rule.at_keepdims)))
        sum_ = added(sum_, part)
    if transposed:
        sum_ = added(sum_, transpose(rule, transposed, needed, tangents, result))
    if is_tensor(<PyObject *>sum_):
        sum_ = like(sum_, result)
        if any([sum_ is tangent for tangent in tangents]):
            sum_ = structural("copy")(sum_)         # a write into the result is to leave the argument's alone
    return sum_


cdef object argument(Operator op, PyObject **values, int position):
    return (<Parameter>op.parameters[position]).default if values[position] == NULL else <object>values[position]


cdef object added(object first, object second):
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, (tuple, list)):
        return tuple([added(one, other) for one, other in zip(first, second)])
    return structural("add")(first, second)


cdef object like(object tangent, object result):
    # A tangent in the shape and dtype of its result.
    if tangent.dtype != result.dtype:
        tangent = structural("fit")(tangent, tangent.shape, result.dtype)
    if tangent.shape != result.shape:
        tangent = structural("copy")(structural("broadcast_to")(tangent, result.shape))
    return tangent


cdef object transpose(Derivative rule, list formulas, list needed, list tangents, object result):
    # The formulas are linear in the cotangent: differentiating them by it, with the tangents for cotangents, transposes.
    several = isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    level = _autograd.ReverseLevel()
    level.label = f"the derivative of {rule.op}"
    with level:
        traced = [_autograd.trace(level, zeros(item)) if inexact(item) else item for item in results]
        cotangent = tuple(traced) if several else traced[0]
        outputs, cotangents = [], []
        for formula in formulas:
            given = tangents[(<Formula>formula).parameter]
            outcome = call_with_values(<Formula>formula, needed, cotangent)
            for output, one in zip(outcome, given) if type(given) is list else ((outcome, given),):
                if output is not None and one is not None and _autograd.belongs(level, output):
                    outputs.append(structural("fit")(output, one.shape, one.dtype))
                    cotangents.append(one)
    found = iter(_autograd.pull_back(level, outputs, cotangents, [item for item in traced if _autograd.belongs(level, item)], False))
    pulled = []
    for item in results:
        one = next(found) if inexact(item) else None
        pulled.append(zeros(item) if one is None and inexact(item) else one)
    return tuple(pulled) if several else pulled[0]


cdef int raise_shared(Operator op) except -1:
    raise errors.DerivativeError(f"{op}: a value with a tangent is written into an array whose memory other arrays share, and those would not know: "
                                 "write before the views are taken")


cdef Tensor tangent_of_part(Operator op, Level level, Tensor view, Tensor origin):
    # A view is written whose origin has no tangent yet: the origin joins too, and the view's tangent is a part of its own.
    cdef Tensor whole, part
    cdef bint alike
    cdef int axis
    if tangent_of(origin, level) is None:
        if view.storage.references > 3 + thread_state().headers:
            raise_shared(op)
        set_tracer(origin, beneath(origin, level), level, zeros(origin))
    whole = <Tensor>tangent_of(origin, level)
    alike = whole.keys == <uint64_t>1 << CPU and whole.element == view.element
    for axis in range(origin.rank):
        alike = alike and (whole.steps[axis] == origin.steps[axis] or origin.sizes[axis] == 1)
    if not alike:
        raise errors.DerivativeError(f"{op}: a value with a tangent is written into a view whose origin lies otherwise in memory than its tangent; "
                                     "write into the array itself")
    part = new_view(whole, view.rank)
    memcpy(part.sizes, view.sizes, view.rank * sizeof(Py_ssize_t))
    memcpy(part.steps, view.steps, view.rank * sizeof(Py_ssize_t))
    part.data = whole.data + (view.data - origin.data)
    finish_layout(part)
    return part


cdef object write(Level level, Operator op, Derivative rule, PyObject **arguments, PyObject **values, list tangents, Tensor target):
    # A write: the tangent is written too, where the target has one, or the target joins the level.
    cdef PyObject *changed[MAXIMUM_PARAMETERS]
    cdef int position, out = -1
    cdef bint own = False
    if rule is None or rule.refusal is not None:
        raise errors.DerivativeError(f"{op} has no derivative" + ("" if rule is None else f": {rule.refusal}"))
    for position in range(op.parameter_count):
        if arguments[position] == <PyObject *>target:
            if (<Parameter>op.parameters[position]).name == "out":
                out = position
            else:
                own = True
    if not own:
        raise errors.DerivativeError(f"{op}: out= cannot take part in a derivative; use the result, or write it in with out[...] = result")
    if not is_inexact(target):
        raise errors.DerivativeError(f"{op}: an array of dtype {target.dtype} cannot hold values that have a derivative")
    joined = target.keys & FRONT_BIT != 0 and (<Tracer>target.autograd).level is level
    setitem = structural("setitem")
    primal, held = parts(level, target)
    if not joined:
        if target.origin is None and target.storage.references > 1 + thread_state().headers:
            raise_shared(op)
        primal = beneath(target, level)
        if target.origin is not None:
            held = tangent_of_part(op, level, target, <Tensor>target.origin)
    if out >= 0:                        # op(x, ..., out=x): computed aside, so that the formulas see what x was
        for position in range(op.parameter_count):
            changed[position] = values[position] if position != out else NULL
        tangents[out] = None
        result = call_bound(op, changed)
        tangent = result_tangent(op, rule, changed, tangents, result)
        setitem(primal, ..., result)
        tangent = zeros(primal) if tangent is None else tangent
        held = zeros(primal) if held is None else held
        setitem(held, ..., tangent)
    else:
        held = zeros(primal) if held is None else held
        for position in range(op.parameter_count):
            changed[position] = values[position]
        owned = [held]
        for formula in rule.formulas:
            position = (<Formula>formula).parameter
            if arguments[position] == <PyObject *>target:
                changed[position] = <PyObject *>held
            elif values[position] != NULL:
                tangent = filled(<object>values[position], tangents[position])
                owned.append(tangent)
                changed[position] = <PyObject *>tangent
        call_bound(op, changed)
        for position in range(op.parameter_count):
            if arguments[position] == <PyObject *>target:
                values[position] = <PyObject *>primal
        result = call_bound(op, values)
    set_tracer(target, <Tensor>primal, level, held)
    return None if result is None else target
