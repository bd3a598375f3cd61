"""Derivatives that Python functions compute: of ``autograd.Function`` and of operators with ``register_autograd``.

Both keep what they need in a Context, both leave a record whose cotangents their ``backward`` computes, and for both
the forward mode follows from ``backward`` where none is given: it is linear in the cotangents, so it can be transposed.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from fastops._autograd cimport Derivative, ReverseLevel, alias_of, attach_one_result, is_inexact, structural, takes_part
from fastops._convert cimport Parameter
from fastops._dispatch cimport Level, Operator, Tensor, ThreadState, Tracer, is_tensor, thread_state

from fastops import _autograd, _forward, errors
from fastops._autograd import attach, belongs, lowered, pull_back, trace
from fastops._forward import ForwardLevel, dual, parts

cdef extern from "Python.h":
    object PyObject_Vectorcall(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *keywords)

cdef enum:
    AUTOGRAD_BIT = 1 << 10
    FRONT_BIT = 1 << 12


cdef class Context:
    """What a function's forward pass leaves for its backward pass: ``ctx``.

    Attributes may be set at will; tensors belong into ``save_for_backward``, which notices later writes.
    """
    cdef list saved, versions, results          # results: for each saved value which result it is, or -1
    cdef object record                          # the Node, while the sweep asks
    cdef public object needs_input_grad
    cdef readonly bint materialize_grads
    cdef readonly tuple dirty, non_differentiable
    cdef readonly object to_save
    cdef bint freed, smuggled
    cdef str title
    cdef dict __dict__

    def __cinit__(self):
        self.materialize_grads = True
        self.dirty = self.non_differentiable = ()

    def save_for_backward(self, *tensors):
        """Keep tensors, or None, for ``saved_tensors``; TypeError for anything else."""
        for tensor in tensors:
            if tensor is not None and not is_tensor(<PyObject *>tensor):
                raise TypeError(f"save_for_backward takes Tensors and None, not {type(tensor).__name__}; set an attribute instead")
        self.to_save = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self):
        """What was kept, a tuple; RuntimeError if one was written since, or the record is freed."""
        cdef list found = []
        cdef Py_ssize_t place
        cdef Tensor alias
        if self.saved is None:
            return self.to_save or ()
        if self.freed:
            raise errors.DerivativeError("saved_tensors: a second sweep goes through a record that the first has freed; pass "
                                         "retain_graph=True to the first")
        for place in range(len(self.saved)):
            value = self.saved[place]
            if value is not None and (<Tensor>value).storage.version != <int64_t>self.versions[place]:
                raise errors.DerivativeError(
                    f"{self.label()} saved an array of shape {value.shape} for its derivative, and it was modified after being saved")
            if value is not None and <int>self.results[place] >= 0 and self.record is not None:
                value = _autograd.with_record(value, self.record, <int>self.results[place])
            found.append(value)
        return tuple(found)

    def mark_dirty(self, *tensors):
        """Say which arguments the function has written; it must return them."""
        self.dirty = tensors

    def mark_non_differentiable(self, *results):
        """Say which results have no derivative."""
        self.non_differentiable = results

    def set_materialize_grads(self, bint value):
        """Whether cotangents that nothing arrived at are zeros (so if not called) or None."""
        self.materialize_grads = value

    cdef str label(self):
        return self.title or "the function"

    cdef int seal(self, results, inputs, bint plain) except -1:
        # Take what is to be saved. Where results get their record themselves (*plain*, no transform around), a kept one
        # goes under a header without it, lest it and the record keep each other.
        cdef list flat
        cdef Py_ssize_t place
        attributes = (<object>self).__dict__
        if self.to_save is None and not attributes:
            self.saved = []
            return 0
        flat = list(results) if isinstance(results, (tuple, list)) else [results]
        self.saved, self.versions, self.results = [], [], []
        for value in self.to_save or ():
            position = -1
            if value is not None:
                for place in range(len(flat)):
                    if flat[place] is value:
                        position = place
                        break
                if plain and position < 0 and not is_given(value, inputs):
                    self.smuggled = True
                if position >= 0 and plain:
                    value = alias_of(<Tensor>value)
                else:
                    position = -1
            self.saved.append(value)
            self.versions.append(0 if value is None else (<Tensor>value).storage.version)
            self.results.append(position)
        self.to_save = None
        for name, value in list(attributes.items()) if attributes and plain else ():
            if is_tensor(<PyObject *>value) and is_inexact(<Tensor>value) and not is_given(value, inputs):
                if any([one is value for one in flat]):
                    attributes[name] = alias_of(<Tensor>value)
                self.smuggled = True
        return 0


cdef object asked(object function, Context context, object values):
    # A user's formula: numbers that it reads from arrays are watched.
    cdef ThreadState *thread = thread_state()
    cdef int formula = thread.formula
    thread.formula = 1
    try:
        return function(context, *values)
    finally:
        thread.formula = formula


cdef bint is_given(object value, object inputs):
    # Whether a value is one of the arguments, in lists too.
    for one in inputs:
        if one is value or isinstance(one, (list, tuple)) and is_given(value, one):
            return True
    return False


cdef bint requires(object value, Level level):
    # Whether there is something to differentiate by in an argument.
    if is_tensor(<PyObject *>value):
        return belongs(level, value) if level is not None else (<Tensor>value).keys & AUTOGRAD_BIT != 0
    if isinstance(value, (list, tuple)):
        return any([requires(item, level) for item in value])
    return False


cdef object needs(object value, Level level):
    if isinstance(value, (list, tuple)):
        return [needs(item, level) for item in value]
    return requires(value, level)


cdef int flatten(object value, list leaves) except -1:
    if isinstance(value, (list, tuple)):
        for item in value:
            flatten(item, leaves)
    else:
        leaves.append(value)
    return 0


cdef class Formula:
    """How cotangents are computed by a ``backward`` function, for the parameters of one call."""
    cdef object backward, names, shapes
    cdef Context context
    cdef tuple structure                # of the arguments: None, or the length of a list
    cdef list facts                     # of the results: (shape, dtype), None for what is no tensor, a list for a list
    cdef str label
    cdef bint strict                    # an operator: lists get lists

    def __call__(self, *cotangents):
        # The sweep's view: one for each tensor result in order; gives one for each leaf of the arguments.
        cdef Context context = self.context
        cdef ThreadState *thread = thread_state()
        if context.smuggled and not thread.no_grad and self.recording(cotangents):
            raise errors.DerivativeError(
                f"{self.label}: its derivative is differentiated again, but uses a value that setup_context computed from the arguments, which "
                "would count as a constant: save the arguments or results themselves and compute it in backward")
        given = self.arranged(list(cotangents))
        if all([one is None for one in cotangents]):
            grads = [None] * len(self.structure)
        else:
            grads = asked(self.backward, context, given)
        return self.checked(grads)

    def bind(self, record):
        """The record that kept results are part of while the formula runs, or None."""
        self.context.record = record

    def free(self):
        """What was kept is gone."""
        self.context.freed = True
        self.context.saved = None if self.context.saved is None else []

    cdef bint recording(self, object cotangents):
        for one in cotangents:
            if requires(one, None) or is_tensor(<PyObject *>one) and (<Tensor>one).keys & FRONT_BIT:
                return True
        for one in context_values(self.context):
            if requires(one, None) or (<Tensor>one).keys & FRONT_BIT:
                return True
        return thread_state().no_grad == 0 and bool(self.context.record is not None)

    cdef list arranged(self, list cotangents):
        # As the backward function takes them: one for each result, zeros for those that nothing arrived at.
        cdef list given = []
        place = iter(cotangents)
        zeros = structural("zeros")
        for fact in self.facts:
            if fact is None:
                next(place)
                given.append(None)
            elif type(fact) is list:
                given.append([self.filled(next(place), one, zeros) for one in fact])
            else:
                given.append(self.filled(next(place), fact, zeros))
        return given

    cdef object filled(self, object cotangent, object fact, object zeros):
        if cotangent is not None or fact is None or not self.context.materialize_grads:
            return cotangent
        return zeros(*fact)

    cdef list checked(self, object grads):
        # One for each leaf of the arguments.
        cdef list leaves = []
        cdef Py_ssize_t count = len(self.structure), place
        if isinstance(grads, list) and self.strict and not (count == 1 and self.structure[0] is not None):
            raise errors.DerivativeError(f"{self.label}: backward returns a tuple of gradients or one, not a list")
        if not isinstance(grads, tuple):
            grads = (grads,)
        if len(grads) != count:
            self.refuse_count(grads, count)
        for place in range(count):
            one = grads[place]
            length = self.structure[place]
            if length is None:
                if one is not None and not is_tensor(<PyObject *>one):
                    raise errors.DerivativeError(f"{self.label}: the gradient of {self.names[place]!r} is {type(one).__name__}, not a Tensor or None")
                if one is not None and not self.shapes[place]:
                    raise errors.DerivativeError(f"{self.label}: the gradient of {self.names[place]!r}, which is no tensor, must be None")
                leaves.append(one)
                continue
            if not isinstance(one, (list, tuple)) and not (one is None and length == 0):
                if one is None and not any(self.context.needs_input_grad[place]):
                    one = [None] * length
                else:
                    raise errors.DerivativeError(f"{self.label}: the gradient of the list {self.names[place]!r} is a list of {length} "
                                                 f"gradients or None, not {type(one).__name__}")
            one = one or []
            if len(one) != length:
                raise errors.DerivativeError(f"{self.label}: the list {self.names[place]!r} has {length} tensors, its gradient {len(one)}")
            leaves.extend(one)
        return leaves

    cdef int refuse_count(self, object grads, Py_ssize_t count) except -1:
        names = ", ".join(self.names)
        if len(grads) < count:
            raise errors.DerivativeError(f"{self.label}: backward is expected to return one gradient for each positional parameter: "
                                         f"expected {count} gradients ({names}), got {len(grads)}")
        if any([one is not None for one in grads[count:]]):
            raise errors.DerivativeError(f"{self.label}: expected {count} gradients ({names}), got {len(grads)}, of which those too many are not None")
        return 0


cdef list context_values(Context context):
    return [value for value in context.saved or () if value is not None]


cdef object fact_of(object value):
    if is_tensor(<PyObject *>value):
        return (<Tensor>value).shape, (<Tensor>value).dtype
    return [fact_of(item) for item in value] if isinstance(value, list) else None


cdef Formula formula_of(str label, object backward, Context context, object names, object inputs, object results, bint strict, uint64_t mask):
    # *mask*: which parameters take tensors; a list of anything else is a value like others.
    cdef Formula formula = Formula.__new__(Formula)
    formula.label, formula.backward, formula.context, formula.names, formula.strict = label, backward, context, names, strict
    cdef list structure = [], tensors = []
    cdef int position = 0
    for value in inputs:
        tensors.append(is_tensor(<PyObject *>value))
        structure.append(len(value) if mask >> position & 1 and (type(value) is list or type(value) is tuple) else None)
        position += 1
    formula.structure, formula.shapes = tuple(structure), tensors
    formula.facts = [fact_of(results)] if not isinstance(results, tuple) else [fact_of(value) for value in results]
    return formula


cdef object left(str label, Formula formula, object inputs, object results, Level level):
    # The results with the record of the call.
    cdef list leaves = [], flat = [], items = []
    cdef Context context = formula.context
    for value in inputs:
        flatten(value, leaves)
    flatten(results, flat)
    for place, value in enumerate(flat):
        if is_tensor(<PyObject *>value) and not is_given(value, context.dirty) and is_given(value, leaves):
            flat[place] = _autograd.same_memory(value)      # an argument given back as it is
    constants = [is_given(value, context.non_differentiable) for value in flat] if context.non_differentiable else None
    made = attach(leaves, tuple(flat), formula, label, level, dirty=context.dirty, constants=constants)
    return made[0] if is_tensor(<PyObject *>results) else shaped(results, iter(made))


cdef object shaped(object like, object values):
    if isinstance(like, list):
        return [shaped(item, values) for item in like]
    if isinstance(like, tuple):
        items = [shaped(item, values) for item in like]
        return tuple(items) if type(like) is tuple else type(like)(*items)
    return next(values)


# ----------------------------------------------------------------------- operators with register_autograd

cdef uint64_t ANY = ~<uint64_t>0


cdef class OperatorRule:
    """What ``register_autograd`` and ``register_jvp`` say of an operator; called where a call of it is recorded."""
    cdef public object backward, setup_context, jvp, jvp_setup
    cdef readonly Operator op
    cdef readonly tuple names
    cdef readonly bint has_keywords, strict
    cdef list defaults
    cdef dict keyword_defaults
    cdef readonly str label

    def __init__(self, Operator op not None, *, bint strict=False):
        self.op = op
        self.strict = strict
        arguments = op._schema.arguments
        self.names = tuple([argument.name for argument in arguments if not argument.kwarg_only])
        self.defaults = [argument.default_value if argument.has_default_value() else None for argument in arguments if not argument.kwarg_only]
        self.keyword_defaults = {argument.name: argument.default_value if argument.has_default_value() else None for argument in arguments
                                 if argument.kwarg_only}
        self.has_keywords = bool(self.keyword_defaults)
        self.label = op.name()

    def derivative(self):
        """What the operator's ``derivative`` is, with this for its rule."""
        cdef Derivative made = Derivative(self.op, {}, custom=self)
        made.record_custom = record_call
        return made

    def filled(self, args, kwargs):
        """All positional arguments, defaults included, and a dict of all keyword-only ones."""
        cdef Py_ssize_t place
        positional = list(args)
        for place in range(len(positional), len(self.names)):
            positional.append(kwargs.get(self.names[place], self.defaults[place]))
        return tuple(positional), {name: kwargs.get(name, default) for name, default in self.keyword_defaults.items()}

    cdef Context prepare(self, tuple inputs, dict keywords, result, setup, int no_grad_inside):
        # Where a transform is around, what setup_context computes is computed one level below, and part of what levels
        # further out differentiate; elsewhere nothing is recorded.
        cdef Context context = Context.__new__(Context)
        cdef ThreadState *thread = thread_state()
        cdef int no_grad = thread.no_grad
        cdef PyObject *stack[4]
        context.title = self.label
        if setup is None:
            return context
        thread.no_grad = no_grad_inside
        try:
            if self.has_keywords:
                setup(ctx=context, inputs=inputs, keyword_only_inputs=keywords, output=result)
            else:
                stack[0], stack[1], stack[2] = <PyObject *>context, <PyObject *>inputs, <PyObject *>result
                PyObject_Vectorcall(<PyObject *>setup, stack, 0, <PyObject *>SETUP_NAMES)
        finally:
            thread.no_grad = no_grad
        if context.dirty:
            raise errors.DerivativeError(f"{self.label}: mark_dirty is for autograd.Function; an operator says in its schema, or in mutates_args, what it writes")
        return context

    def current_backward(self, context, *cotangents):
        """The backward function that is registered when the sweep comes."""
        if self.backward is None:
            raise errors.DerivativeError(f"{self.label} has a forward formula only: register_autograd gives it the other")
        return self.backward(context, *cotangents)

    def push(self, args, kwargs, result, tangents):
        """The tangents of the result, from those of the positional arguments (None where there is none)."""
        cdef Context context
        inputs, keywords = self.filled(args, kwargs)
        tangents = list(tangents) + [None] * (len(inputs) - len(tangents))
        if self.jvp is not None:
            context = self.prepare(inputs, keywords, result, self.jvp_setup if self.jvp_setup is not None else self.setup_context,
                                   thread_state().no_grad)
            context.needs_input_grad = tuple([needs_tangent(tangent) for tangent in tangents])
            return asked(self.jvp, context, tangents)
        if self.backward is None:
            raise _unregistered(self.label)()
        context = self.prepare(inputs, keywords, result, self.setup_context, thread_state().no_grad)
        context.needs_input_grad = tuple([needs_tangent(tangent) for tangent in tangents])
        context.seal(result, inputs, False)
        made = formula_of(self.label, self.current_backward, context, self.names, inputs, result, self.strict, self.op.tensor_mask)
        return transposed(made, inputs, result, tangents)


cdef tuple SETUP_NAMES = ("ctx", "inputs", "output")


cdef object record_call(object custom, Operator op, PyObject **arguments, PyObject **values, object result, Level level):
    # The result of a call with its record: *arguments* as given, *values* as they are beneath the level.
    cdef OperatorRule rule = <OperatorRule>custom
    cdef Context context
    cdef Formula formula
    cdef list given = [], inputs = [], wanted = [], leaves = []
    cdef dict keywords = {}
    cdef int position
    for position in range(op.parameter_count):
        if position < op.positional_count:
            value = (<Parameter>op.parameters[position]).default if arguments[position] == NULL else <object>arguments[position]
            given.append(value)
            inputs.append(value if arguments[position] == NULL else <object>values[position])
            if op.tensor_mask >> position & 1 and (type(value) is list or type(value) is tuple):
                wanted.append(needs(value, level))
                flatten(value, leaves)
            else:
                wanted.append(takes_part(<PyObject *>value, level))
                leaves.append(value)
            continue
        keywords[(<Parameter>op.parameters[position]).name] = (
            (<Parameter>op.parameters[position]).default if arguments[position] == NULL else <object>values[position])
        if arguments[position] != NULL and requires(<object>arguments[position], level):
            raise errors.DerivativeError(f"{rule.label}: the keyword-only array {(<Parameter>op.parameters[position]).name!r} requires a gradient, but "
                                         "formulas give gradients of positional parameters; pass x.detach(), or make the parameter positional")
    if rule.backward is None and rule.jvp is None:
        flat = []
        flatten(result, flat)
        return shaped(result, iter(attach(leaves, tuple(flat), _unregistered(rule.label), rule.label, level)))
    context = rule.prepare(tuple(inputs), keywords, result, rule.setup_context, 1 if level is None else (<ReverseLevel>level).outer_no_grad)
    context.needs_input_grad = tuple(wanted)
    context.seal(result, inputs, level is None)
    formula = formula_of(rule.label, rule.current_backward, context, rule.names, inputs, result, rule.strict, op.tensor_mask)
    if is_tensor(<PyObject *>result) and not context.non_differentiable and not is_given(result, leaves):
        return attach_one_result(leaves, <Tensor>result, formula, rule.label, level)
    return left(rule.label, formula, given, result, level)


cdef object needs_tangent(object tangent):
    return [one is not None for one in tangent] if isinstance(tangent, list) else tangent is not None


def _unregistered(label):
    def backward(*cotangents):
        raise errors.DerivativeError(f"{label} has no derivative: register one with fastops.library.register_autograd({label!r}, backward, "
                                     "setup_context=...), or call it on x.detach()")
    return backward


cdef object transposed(Formula formula, object inputs, object result, object tangents):
    # The backward function is linear in the cotangents: differentiated by them, with tangents for cotangents, it is turned around.
    cdef list given = [], flat = [], traced = []
    zeros = structural("zeros_like")
    fit = structural("fit")
    for length, tangent in zip(formula.structure, tangents):
        if length is not None and tangent is None:
            given.extend([None] * length)
        else:
            flatten(tangent, given)
    flatten(result, flat)
    level = ReverseLevel()
    level.label = f"the derivative of {formula.label}"
    formula.context.smuggled = False
    with level:
        for value in flat:
            traced.append(trace(level, zeros(value)) if is_tensor(<PyObject *>value) and is_inexact(<Tensor>value) else None)
        arranged = shaped(list_of(result), iter(traced))
        grads = formula.checked(asked(formula.backward, formula.context, arranged))
        outputs, cotangents = [], []
        for grad, tangent in zip(grads, given):
            if grad is not None and tangent is not None and belongs(level, grad):
                outputs.append(fit(grad, tangent.shape, tangent.dtype))
                cotangents.append(tangent)
    found = iter(pull_back(level, outputs, cotangents, [one for one in traced if one is not None], False))
    made = []
    for value, one in zip(flat, traced):
        pulled = next(found) if one is not None else None
        made.append(zeros(value) if one is not None and pulled is None else pulled)
    return shaped(result, iter(made))


cdef object list_of(object result):
    return list(result) if isinstance(result, tuple) else [result]


# ----------------------------------------------------------------------------------- autograd.Function

cdef Level top_level(object args):
    cdef Level found = None, other
    for value in args:
        if is_tensor(<PyObject *>value) and (<Tensor>value).keys & FRONT_BIT:
            other = (<Tracer>(<Tensor>value).autograd).level
            if found is None or other.depth > found.depth:
                found = other
    return found


def apply_function(cls, args):
    """One call of a Function's class with the positional arguments *args*."""
    cdef Level level = top_level(args)
    cdef Context context
    cdef ThreadState *thread = thread_state()
    if level is not None:
        if not level.alive:
            raise errors.EscapeError(f"{cls.__name__}: an argument was computed inside a transformed function that has returned")
        if isinstance(level, ForwardLevel):
            return function_forward(cls, args, level)
        if not isinstance(level, ReverseLevel):
            return _mapped_function(level, cls, args)
    recording = not thread.no_grad and any([requires(value, level) for value in args])
    inner = tuple([lowered(level, value) for value in args]) if level is not None else args
    outside = thread.no_grad
    if level is not None:
        thread.no_grad = (<ReverseLevel>level).outer_no_grad
    try:
        context, result = run_forward(cls, inner, level is not None)
    finally:
        thread.no_grad = outside
    if not recording:
        return result
    context.needs_input_grad = tuple([needs(value, level) for value in args])
    context.seal(result, inner, level is None)
    formula = formula_of(cls.__name__, cls.backward, context, names_of(cls, len(args)), inner, result, False, ANY)
    if context.dirty and level is None:
        for value in context.dirty:
            _autograd.check_dirty(cls.__name__, value)
    return left(f"{cls.__name__}Backward", formula, args, result, level)


cdef object _mapped_function = None


def set_mapped_function(function):
    """Say what a Function gives for mapped arrays: ``function(level, cls, args)``."""
    global _mapped_function
    _mapped_function = function


cdef object names_of(cls, count):
    return [f"argument {place}" for place in range(count)]


cdef object run_forward(cls, inner, bint lower):
    # The forward pass, with setup_context where that is apart; nothing in it is recorded.
    cdef Context context = Context.__new__(Context)
    cdef ThreadState *thread = thread_state()
    cdef int no_grad = thread.no_grad
    context.title = cls.__name__
    context.needs_input_grad = tuple([needs(value, None) for value in inner])
    if cls.setup_context is not None:
        if lower:                       # levels below see the function as such, too
            result = apply_function(cls, inner)
        else:
            thread.no_grad = 1
            try:
                result = cls.forward(*inner)
            finally:
                thread.no_grad = no_grad
        thread.no_grad = no_grad if lower else 1
        try:
            cls.setup_context(context, inner, result)
        finally:
            thread.no_grad = no_grad
        return context, result
    if lower and (top_level(inner) is not None or not thread.no_grad and any([requires(value, None) for value in inner])):
        raise errors.DerivativeError(f"{cls.__name__}: forward(ctx, ...) keeps values for one derivative; for nested ones write forward(...) without "
                                     "ctx, and setup_context(ctx, inputs, output)")
    thread.no_grad = 1
    try:
        result = cls.forward(context, *inner)
    finally:
        thread.no_grad = no_grad
    return context, result


cdef object function_forward(cls, args, Level level):
    cdef Context context
    cdef list pairs = [parts(level, value) if is_tensor(<PyObject *>value) else (value, None) for value in args]
    inner = tuple([pair[0] for pair in pairs])
    context, result = run_forward(cls, inner, True)
    tangents = [pair[1] for pair in pairs]
    if all([tangent is None for tangent in tangents]):
        return result
    context.needs_input_grad = tuple([tangent is not None for tangent in tangents])
    context.seal(result, inner, False)
    if cls.jvp is not None:
        made = asked(cls.jvp, context, tangents)
    else:
        formula = formula_of(cls.__name__, cls.backward, context, names_of(cls, len(args)), inner, result, False, ANY)
        made = transposed(formula, inner, result, tangents)
    several = isinstance(result, tuple)
    items = [dual(level, value, tangent) if is_tensor(<PyObject *>value) and is_inexact(<Tensor>value) and tangent is not None
             and not is_given(value, context.non_differentiable) else value
             for value, tangent in zip(result if several else (result,), made if several else (made,))]
    return tuple(items) if several else items[0]
