"""``custom_op``: an annotated Python function as a first-class operator, and what is registered beside it.

>>> import fastops as fo
>>> @fo.library.custom_op("custom_doc::cube", mutates_args=())
... def cube(x: fo.Tensor) -> fo.Tensor:
...     return x ** 3
>>> cube.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
...                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
>>> fo.grad(cube)(fo.asarray(2.0)), fo.hessian(cube)(fo.asarray(2.0))
(tensor(12.), tensor(12.))
"""

import contextlib
import warnings

from fastops import errors, libraries, registry
from fastops._autograd import Derivative
from fastops._custom import CustomKernel, Handle, quickly_called
from fastops._dispatch import DispatchKey, Kernel, Operator, backend_select
from fastops._function import OperatorRule
from fastops.batching import users_rule
from fastops.infer import infer_schema
from fastops.packets import OpOverloadPacket
from fastops.schema import parse_schema

_definitions = {}       # qualified name -> CustomOpDef


@quickly_called
class CustomOpDef(Handle):
    """An operator made by ``custom_op``: called like the function, with methods that register what goes with it."""

    def __init__(self, namespace, name, schema, fn, device_types, tags):
        self._namespace, self._name, self._qualname = namespace, name, f"{namespace}::{name}"
        self._init_fn = fn
        self._kernels = {}              # device or None -> function
        self._disabled = {}             # device -> how often it is disabled
        self._lib = libraries.Library(namespace, "FRAGMENT")
        self._lib.define(name + schema, tags=tags)
        self._installed = {}            # key -> Kernel, which go with the library
        qualname, installed = self._qualname, self._installed
        self._lib._undo.append(lambda: [registry.unregister(qualname, key, kernel) for key, kernel in list(installed.items())])
        operator = registry.operators[self._qualname]
        self._hold(operator)
        self._rule = OperatorRule(operator, strict=True)
        if not operator._schema.is_mutable:
            operator.derivative = self._rule.derivative()
        self.__name__, self.__doc__, self.__wrapped__ = name, fn.__doc__, fn
        try:
            self._check_device_parameter(device_types)
            self.register_kernel(device_types, fn)
        except BaseException:
            self._lib._destroy()
            raise

    def _register(self, key, kernel):
        self._installed[key] = kernel
        registry.register(self._qualname, key, kernel)

    def _check_device_parameter(self, device_types):
        # Without a tensor it is the device argument that says which kernel runs.
        arguments = self._opoverload._schema.arguments
        if device_types is None or any(argument.type.base == "Tensor" or getattr(argument.type.element, "base", "") == "Tensor"
                                       for argument in arguments):
            return
        if not any(argument.name == "device" and argument.type.base == "Device" for argument in arguments):
            raise ValueError(f"custom_op {self._qualname}: with device_types and without a tensor argument it needs a parameter "
                             "'device: fastops.device', by which the kernel is chosen")
        self._register(DispatchKey.BackendSelect, backend_select)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """Register *fn* for devices ("cpu", a sequence, or None for all that have none of their own); returns it.

        Without *fn* a decorator. RuntimeError for an unknown device.
        """
        devices = [None] if device_types is None else [device_types] if isinstance(device_types, str) else list(device_types)
        for device in devices:
            if device is not None and device not in libraries.DEVICE_KEYS:
                raise errors.RegistrationError(f"{self._qualname}: unknown device {device!r}; there are {', '.join(libraries.DEVICE_KEYS)}")

        def register(function):
            if not callable(function):
                raise TypeError(f"{self._qualname}: a kernel is a callable, not {function!r}")
            libraries.check_signature(Kernel(function), self._opoverload._schema)
            for device in devices:
                self._kernels[device] = function
                self._install(device)
            return function
        return register if fn is None else register(fn)

    def _install(self, device):
        key = DispatchKey.CompositeExplicitAutograd if device is None else DispatchKey[libraries.DEVICE_KEYS[device]]
        function = self._init_fn if self._disabled.get(device) else self._kernels[device]
        self._register(key, CustomKernel(function))
        if DispatchKey.Meta not in registry.table(self._qualname):
            self._register(DispatchKey.Meta, Kernel(_no_fake(self._opoverload)))

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Within the ``with`` statement the kernel of a device is used, or the original function instead of it."""
        if device_type not in self._kernels:
            warnings.warn(f"{self._qualname} has no kernel for {device_type!r} that could be {'en' if enabled else 'dis'}abled", stacklevel=3)
            yield
            return
        earlier = self._disabled.get(device_type, False)
        if earlier is not enabled:
            warnings.warn(f"{self._qualname}: the kernel for {device_type!r} is {'en' if enabled else 'dis'}abled already", stacklevel=3)
        self._disabled[device_type] = not enabled
        self._install(device_type)
        try:
            yield
        finally:
            self._disabled[device_type] = earlier
            self._install(device_type)

    def register_fake(self, fn, /):
        """Register what gives the result's shape and dtype without data; returns *fn*. For the meta device."""
        libraries.check_signature(Kernel(fn), self._opoverload._schema)
        self._register(DispatchKey.Meta, Kernel(fn))
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Register the derivative, see ``fastops.library.register_autograd``; a later one replaces it."""
        _set_backward(self._rule, backward, setup_context)

    def register_vmap(self, func=None, /):
        """Register how it is called on mapped arrays, see ``fastops.library.register_vmap``; a later one replaces it. Returns *func*."""
        return _set_vmap(self._opoverload, func)

    def register_jvp(self, jvp, /, *, setup_context=None):
        """Register the forward-mode derivative, see ``fastops.library.register_jvp``; a later one replaces it."""
        _set_jvp(self._rule, jvp, setup_context)


def _no_fake(operator):
    def fake(*args, **kwargs):
        raise NotImplementedError(f"{operator}: there is no fake kernel, which gives the result's shape and dtype without data: register one with "
                                  f"fastops.library.register_fake({operator.name()!r}, ...)")
    return fake


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=()):
    """Make an operator of an annotated Python function; without *fn* a decorator.

    Parameters
    ----------
    name : str
        ``"namespace::name"``.
    fn : callable
        Its annotations say the schema, see ``infer_schema``. It gets and gives Tensors; nothing in it is recorded for
        derivatives, and its results must not share memory with its arguments.
    mutates_args : sequence of str or "unknown"
        The Tensors that fn writes; "unknown" stands for all.
    device_types : str or sequence of str, optional
        The devices that fn serves; all if not given.
    schema : str, optional
        ``"(Tensor x, float y) -> Tensor"`` instead of annotations.
    tags : Tag or sequence of Tags

    Returns
    -------
    CustomOpDef
        Called like fn; its methods register kernels, fakes and derivatives.

    Raises
    ------
    ValueError
        If the name is malformed, the annotations make no schema, or mutates_args and the schema disagree.
    RuntimeError
        If the name belongs to an operator that was defined otherwise.

    Notes
    -----
    PyTorch: ``torch.library.custom_op``. What is registered once works under every transform.

    Examples
    --------
    >>> import fastops as fo
    >>> @fo.library.custom_op("custom_op_doc::double", mutates_args=())
    ... def double(x: fo.Tensor) -> fo.Tensor:
    ...     return 2 * x
    >>> double(fo.asarray([1.0, 2.0])), fo.ops.custom_op_doc.double
    (tensor([2., 4.]), <OpOverloadPacket(op='custom_op_doc.double')>)
    """
    if not isinstance(name, str) or name.count("::") != 1:
        raise ValueError(f"custom_op: the name is a string 'namespace::name', not {name!r}")
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(f"custom_op {name}: mutates_args is a sequence of names, such as [{mutates_args!r}], or 'unknown'; not the string "
                         f"{mutates_args!r}")

    def make(function):
        namespace, opname = name.split("::")
        if schema is None:
            text = infer_schema(function, mutates_args=mutates_args)
        else:
            text = schema.strip()
            if not text.startswith("("):
                raise ValueError(f"custom_op {name}: schema= has no name, as in '(Tensor x) -> Tensor', not {schema!r}")
            written = {argument.name for argument in parse_schema(f"{name}{text}").arguments if argument.is_write}
            if mutates_args == "unknown" or written != set(mutates_args):
                raise ValueError(f"custom_op {name}: the schema writes {sorted(written)}, mutates_args says {mutates_args!r}")
        earlier = _definitions.pop(name, None)
        if earlier is not None:
            earlier._lib._destroy()
        _definitions[name] = made = CustomOpDef(namespace, opname, text, function, device_types, tags)
        return made
    return make if fn is None else make(fn)


def _operator(function, op):
    # The CustomOpDef or the operator that a name, an operator or a CustomOpDef means.
    if isinstance(op, CustomOpDef):
        return op, op._opoverload
    if isinstance(op, Operator):
        name = op.name()
    elif isinstance(op, str):
        name = op
    else:
        raise ValueError(f"{function}: the operator is given by its name, as an OpOverload or as what custom_op returned, not as {op!r}"
                         + (" (name an overload: packet.default)" if isinstance(op, OpOverloadPacket) else ""))
    if name in _definitions:
        return _definitions[name], registry.operators[name]
    if name not in registry.operators:
        raise AttributeError(f"{function}: there is no operator {name!r}")
    return None, registry.operators[name]


def _check_differentiable(function, operator):
    schema = operator._schema
    if schema.is_mutable or schema.is_view:
        raise errors.RegistrationError(f"{function}: {schema} {'writes into' if schema.is_mutable else 'gives views of'} its arguments; formulas are for "
                                       "operators whose results are new")
    if not schema.returns:
        raise errors.RegistrationError(f"{function}: {schema} has no result to differentiate")
    kernels = operator.kernels
    if DispatchKey.CompositeImplicitAutograd in kernels and DispatchKey.CompositeExplicitAutograd not in kernels and DispatchKey.CPU not in kernels:
        raise errors.RegistrationError(f"{function}: {operator} decomposes into other operators, whose derivatives are used; give it a kernel for a "
                                       "device or at CompositeExplicitAutograd to have one of its own")


def _callable(function, what, value):
    if value is not None and not callable(value):
        raise TypeError(f"{function}: {what} is a callable, not {value!r}")


def _set_backward(rule, backward, setup_context):
    _check_differentiable("register_autograd", rule.op)
    if not callable(backward):
        raise TypeError(f"register_autograd: backward is a callable, not {backward!r}")
    _callable("register_autograd", "setup_context", setup_context)
    rule.backward, rule.setup_context = backward, setup_context


def _set_jvp(rule, jvp, setup_context):
    _check_differentiable("register_jvp", rule.op)
    if not callable(jvp):
        raise TypeError(f"register_jvp: jvp is a callable, not {jvp!r}")
    _callable("register_jvp", "setup_context", setup_context)
    rule.jvp, rule.jvp_setup = jvp, setup_context


def _set_vmap(operator, function):
    if function is None:
        return lambda function: _set_vmap(operator, function)
    if not callable(function):
        raise TypeError(f"register_vmap: a rule is a callable, not {function!r}")
    operator.batching = users_rule(function)
    return function


def register_vmap(op, func=None, /, *, lib=None):
    """Register how an operator is called on mapped arrays; without *func* a decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    func : callable
        ``func(info, in_dims, *args, **kwargs)`` gets the arguments with all rows and in_dims, the axis of the rows for each positional
        one that was given: None where it is not mapped, a list for a list. It returns ``(results, out_dims)``.
        ``info.batch_size`` is the number of rows, ``info.randomness`` what random numbers do.
    lib : Library, optional
        With which the rule goes; it stays if not given.

    Returns
    -------
    callable
        *func*.

    Raises
    ------
    AttributeError
        If there is no such operator.
    ValueError
        If op is none of the above.

    Notes
    -----
    PyTorch: ``torch.library.register_vmap``. An operator without a rule is called row by row, or, tagged ``pointwise``, as elementwise
    operators are.

    Examples
    --------
    >>> import fastops as fo
    >>> @fo.library.custom_op("vmap_doc::total", mutates_args=())
    ... def total(x: fo.Tensor) -> fo.Tensor:
    ...     return x.sum()
    >>> @fo.library.register_vmap("vmap_doc::total")
    ... def rule(info, in_dims, x):
    ...     return fo.moveaxis(x, in_dims[0], 0).reshape(info.batch_size, -1).sum(axis=1), 0
    >>> fo.vmap(total)(fo.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor([3., 7.])
    """
    definition, operator = _operator("register_vmap", op)
    earlier = operator.batching
    if definition is None and lib is not None:
        lib._undo.append(lambda: setattr(operator, "batching", earlier))
    return _set_vmap(operator, func)


def _rule_of(operator, lib):
    # The rule of an operator that was not made by custom_op; it goes with lib.
    found = operator.derivative
    if isinstance(found, Derivative) and found.custom is not None:
        return found.custom
    rule = OperatorRule(operator)
    operator.derivative = rule.derivative()
    owner = lib if lib is not None else libraries.keep_library(operator.namespace)

    def undo():
        if isinstance(operator.derivative, Derivative) and operator.derivative.custom is rule:
            operator.derivative = found
    owner._undo.append(undo)
    return rule


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Register the derivative of an operator whose results are new.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    backward : callable
        ``backward(ctx, *cotangents)``, one for each result (a list for a list), gives one cotangent, or None, for each
        positional parameter of the schema: a tuple, or the one alone. For a list of tensors it is a list. Where it is to
        be differentiated itself, it is written in operators.
    setup_context : callable, optional
        ``setup_context(ctx, inputs, output)`` keeps what backward needs: ``ctx.save_for_backward(*tensors)`` and attributes.
        Called by keyword; inputs are all positional ones, defaults included. With keyword-only parameters there is
        ``keyword_only_inputs``, a dict, too.
    lib : Library, optional
        With which the formula goes; it stays if not given.

    Raises
    ------
    RuntimeError
        If the operator writes or aliases its arguments, has no result, or decomposes.
    AttributeError
        If there is no such operator.

    Notes
    -----
    PyTorch: ``torch.library.register_autograd``. The forward mode follows from it, unless ``register_jvp`` gives it.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.library.define("autograd_doc::sine", "(Tensor x) -> Tensor")
    >>> fo.library.impl("autograd_doc::sine", "cpu", fo.sin)
    <OpOverload(op='fastops.sin', overload='default')>
    >>> fo.library.register_autograd("autograd_doc::sine", lambda ctx, g: g * fo.cos(ctx.saved_tensors[0]),
    ...                              setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> fo.grad(fo.ops.autograd_doc.sine)(fo.asarray(0.0))
    tensor(1.)
    """
    definition, operator = _operator("register_autograd", op)
    _check_differentiable("register_autograd", operator)
    _set_backward(definition._rule if definition is not None else _rule_of(operator, lib), backward, setup_context)


def register_jvp(op, jvp, /, *, setup_context=None, lib=None):
    """Register the forward-mode derivative of an operator: ``jvp(ctx, *tangents)`` gives the tangents of the results.

    Tangents are None for arguments that have none. *setup_context* is as for ``register_autograd``, whose own serves if
    it is not given.

    >>> import fastops as fo
    >>> fo.library.define("jvp_doc::twice", "(Tensor x) -> Tensor")
    >>> _ = fo.library.impl("jvp_doc::twice", "cpu", lambda x: x + x)
    >>> fo.library.register_jvp("jvp_doc::twice", lambda ctx, t: t + t)
    >>> fo.jvp(fo.ops.jvp_doc.twice, (fo.asarray(1.0),), (fo.asarray(5.0),))
    (tensor(2.), tensor(10.))
    """
    definition, operator = _operator("register_jvp", op)
    _check_differentiable("register_jvp", operator)
    _set_jvp(definition._rule if definition is not None else _rule_of(operator, lib), jvp, setup_context)


def register_fake(op, func=None, /, *, lib=None):
    """Register what gives an operator's result for arguments without data, as on the meta device; returns *func*.

    Without *func* a decorator. RuntimeError if there is no such operator.

    >>> import fastops as fo
    >>> fo.library.define("fake_doc::pairs", "(Tensor x) -> Tensor")
    >>> @fo.library.register_fake("fake_doc::pairs")
    ... def pairs(x):
    ...     return fo.empty((2, *x.shape), dtype=x.dtype, device=x.device)
    >>> fo.ops.fake_doc.pairs(fo.empty(3, device="meta")).shape
    (2, 3)
    """
    try:
        definition, operator = _operator("register_fake", op)
    except AttributeError as error:
        raise errors.RegistrationError(str(error)) from None

    def register(function):
        if definition is not None:
            return definition.register_fake(function)
        owner = lib if lib is not None else libraries.keep_library(operator.namespace)
        owner.impl(operator.name(), function, "Meta")
        return function
    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None):
    """The older name of ``register_fake``."""
    warnings.warn("impl_abstract is called register_fake now", FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register a kernel for devices, None standing for all; of what custom_op made too. Without *func* a decorator.

    >>> import fastops as fo
    >>> fo.library.define("kernel_doc::negated", "(Tensor x) -> Tensor")
    >>> @fo.library.register_kernel("kernel_doc::negated", "cpu")
    ... def negated(x):
    ...     return -x
    >>> fo.ops.kernel_doc.negated(fo.asarray([1.0]))
    tensor([-1.])
    """
    name = op.name() if isinstance(op, Operator) else op
    definition = op if isinstance(op, CustomOpDef) else _definitions.get(name) if isinstance(name, str) else None
    if definition is not None:
        return definition.register_kernel(device_types, func)
    if isinstance(op, OpOverloadPacket) or not isinstance(op, (str, Operator)):
        raise ValueError(f"register_kernel: the operator is given by its name, as an OpOverload or as what custom_op returned, not as {op!r}")
    return libraries.impl(op, "default" if device_types is None else device_types, func, lib=lib)
