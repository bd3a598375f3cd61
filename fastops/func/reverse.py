"""Reverse mode over functions: ``grad``, ``value_and_grad``, ``vjp``, ``jacrev``."""

import functools

from fastops import _autograd as engine
from fastops import _batched, errors, tree
from fastops._autograd import ReverseLevel
from fastops._batched import BatchLevel
from fastops._dispatch import Tensor, as_tensor
from fastops.func.arguments import chosen, gathered, lowered, traced
from fastops.ops.create import eye, ones_like, zeros, zeros_like
from fastops.ops.shape import broadcast_to, reshape, stack


def _number(name, value):
    # What grad differentiates: one real number.
    if isinstance(value, (tuple, list)) and len(value) == 2:
        raise TypeError(f"{name}: the function returned a {type(value).__name__} of 2 values; return the number alone, or pass has_aux=True "
                        "if the second is not to be differentiated")
    if not isinstance(value, Tensor):
        if isinstance(value, (int, float)):
            return as_tensor(float(value))
        raise TypeError(f"{name}: the function returned {type(value).__name__}; it must return a Tensor that is one number")
    if value.shape != ():
        raise ValueError(f"{name}: the function returned an array of shape {value.shape}; it must return one number: use .sum(), or "
                         "jacrev for all derivatives of an array")
    if value.dtype.kind != "f":
        raise TypeError(f"{name}: the function returned dtype {value.dtype}; it must be a real floating-point number" +
                        (": take .real or abs()" if value.dtype.kind == "c" else ""))
    return value


def _pair(name, value):
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name}: with has_aux=True the function returns a pair (result, aux), not {type(value).__name__}")
    return value


def _differentiate(name, function, argnums, has_aux, args, kwargs):
    # The value, aux and gradients of one call.
    if type(argnums) is int and not has_aux and 0 <= argnums < len(args) and type(args[argnums]) is Tensor and args[argnums].dtype.kind in "fc":
        value, primal, gradient = engine.differentiate(name, function, args, kwargs, argnums)       # the common case, in C
        if gradient is None:
            primal = _number(name, primal)
            gradient = zeros_like(args[argnums])
        return primal, None, gradient
    numbers = chosen(name, args, argnums)
    with ReverseLevel() as level:
        level.label = name, function
        args, leaves, structures = traced(name, args, numbers, functools.partial(engine.trace, level))
        value = function(*args, **kwargs)
        aux = None
        if has_aux:
            value, aux = _pair(name, value)
        value = _number(name, value)
    primal = engine.lowered(level, value)
    grads = engine.pull_back(level, (value,), (ones_like(primal),), leaves, False)
    for position, one in enumerate(grads):
        if one is None:
            grads[position] = zeros_like(engine.lowered(level, leaves[position]))
    if has_aux:
        aux = lowered(functools.partial(engine.lowered, level), aux)
    return primal, aux, gathered(structures, grads, not isinstance(argnums, (tuple, list)))


def grad(f, argnums=0, has_aux=False):
    """A function that computes the gradient of *f*, which returns one real number.

    Parameters
    ----------
    f : callable
        Returns a Tensor of shape (), or with has_aux a pair of that and anything else.
    argnums : int or tuple of ints
        By which positional arguments; of a tuple the gradients come as a tuple. Arguments may be nested containers.
    has_aux : bool
        Give ``(gradient, aux)``, aux being the second of what f returns.

    Returns
    -------
    callable
        Of f's arguments; gradients have the structure, shapes and dtypes of the arguments.

    Raises
    ------
    ValueError
        If f returns an array of another shape.
    TypeError
        If f returns no Tensor, or an argument is not of floating-point or complex dtype.

    Notes
    -----
    JAX: ``jax.grad``; PyTorch: ``torch.func.grad``. By complex arguments it is the gradient of PyTorch, the conjugate of JAX's.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.grad(lambda x: fo.sum(x ** 3))(fo.asarray([1.0, 2.0]))
    tensor([ 3., 12.])
    >>> fo.grad(fo.grad(fo.sin))(fo.asarray(0.5))
    tensor(-0.47942554)
    """
    @functools.wraps(f, updated=())
    def gradient(*args, **kwargs):
        _, aux, grads = _differentiate("grad", f, argnums, has_aux, args, kwargs)
        return (grads, aux) if has_aux else grads
    return gradient


def value_and_grad(f, argnums=0, has_aux=False):
    """As ``grad``, giving ``(value, gradient)``, with has_aux ``((value, aux), gradient)``.

    >>> import fastops as fo
    >>> fo.value_and_grad(fo.sin)(fo.asarray(0.0))
    (tensor(0.), tensor(1.))
    """
    @functools.wraps(f, updated=())
    def both(*args, **kwargs):
        value, aux, grads = _differentiate("value_and_grad", f, argnums, has_aux, args, kwargs)
        return ((value, aux), grads) if has_aux else (value, grads)
    return both


def grad_and_value(f, argnums=0, has_aux=False):
    """As ``grad``, giving ``(gradient, value)``, with has_aux ``(gradient, (value, aux))``; PyTorch's order.

    >>> import fastops as fo
    >>> fo.func.grad_and_value(fo.sin)(fo.asarray(0.0))
    (tensor(1.), tensor(0.))
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def turned(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return grads, value
    return turned


def vjp(f, *primals, has_aux=False):
    """``f(*primals)`` and the function that maps cotangents of the result to those of the primals.

    Parameters
    ----------
    f : callable
        Returns Tensors in any nested containers, or with has_aux a pair of that and anything else.
    *primals : Tensors, in any nested containers
        All are differentiated; bind others with ``functools.partial`` or a lambda.
    has_aux : bool
        Give ``(result, pull_back, aux)``.

    Returns
    -------
    (result, pull_back)
        ``pull_back(cotangents)``, in the structure of the result, gives a tuple with the cotangent of each primal. It may
        be called any number of times.

    Notes
    -----
    JAX: ``jax.vjp``; PyTorch: ``torch.func.vjp``.

    Examples
    --------
    >>> import fastops as fo
    >>> y, pull_back = fo.vjp(fo.sin, fo.asarray([0.0, 1.0]))
    >>> pull_back(fo.asarray([1.0, 10.0]))
    (tensor([1.        , 5.40302306]),)
    """
    with ReverseLevel() as level:
        level.label = "vjp", f
        args, leaves, structures = traced("vjp", primals, range(len(primals)), functools.partial(engine.trace, level))
        value = f(*args)
        aux = None
        if has_aux:
            value, aux = _pair("vjp", value)
    lower = functools.partial(engine.lowered, level)
    outputs, structure = tree.flatten(value)
    results = [lower(output) for output in outputs]

    def pull_back(cotangents):
        given, its = tree.flatten(cotangents)
        if its != structure:
            raise ValueError(f"vjp: the function returned {structure}, but the cotangents are {its}")
        checked = []
        for place, (result, cotangent) in enumerate(zip(results, given)):
            if cotangent is not None and isinstance(result, Tensor):
                cotangent = as_tensor(cotangent)
                if cotangent.shape != result.shape:
                    raise ValueError(f"vjp: result {place} has shape {result.shape}, its cotangent {cotangent.shape}")
            checked.append(cotangent)
        grads = engine.pull_back(level, outputs, checked, leaves, True)
        for position, one in enumerate(grads):
            if one is None:
                grads[position] = zeros_like(lower(leaves[position]))
        return gathered(structures, grads, False)

    result = tree.unflatten(structure, results)
    return (result, pull_back, lowered(lower, aux)) if has_aux else (result, pull_back)


def basis(value):
    """The unit vectors of an array's space, one after the other, each in its shape."""
    for position in range(value.size):
        unit = zeros(value.size, dtype=value.dtype, device=value.device)
        unit[position] = 1
        yield reshape(unit, value.shape)


FEW = 4         # rows of a Jacobian that a loop finds as fast as one mapped sweep


def _all_rows(level, output, result, leaves):
    # One sweep for all unit vectors, by vmap; None where a formula reads the values of its cotangents.
    units = reshape(eye(result.size, dtype=result.dtype, device=result.device), (result.size, *result.shape))
    with BatchLevel(result.size) as batch:
        batch.label = "jacrev"
        try:
            found = engine.pull_back(level, (output,), (_batched.trace(batch, units),), leaves, True)
        except errors.MappedError:
            return None
        columns = []
        for one in found:
            rows = None if one is None else _batched.rows(batch, one)
            columns.append(rows if one is None or rows is not None else broadcast_to(one, (result.size, *one.shape)))
    return columns


def jacrev(f, argnums=0, has_aux=False):
    """A function that computes the Jacobian of *f*, row by row, in reverse mode: for more inputs than outputs.

    Parameters
    ----------
    f : callable
        Returns Tensors in any nested containers, or with has_aux a pair of that and anything else.
    argnums : int or tuple of ints
        By which positional arguments.
    has_aux : bool
        Give ``(jacobian, aux)``.

    Returns
    -------
    callable
        Of f's arguments. For each result a block of shape ``result.shape + argument.shape``, for each argument: in the
        structure of the result, and within it in that of the argument.

    Notes
    -----
    JAX: ``jax.jacrev``; PyTorch: ``torch.func.jacrev``. By complex arguments it is the transpose of what ``vjp`` gives.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.jacrev(lambda x: fo.stack([x[0] * x[1], x[0]]))(fo.asarray([2.0, 3.0]))
    tensor([[3., 2.],
            [1., 0.]])
    """
    @functools.wraps(f, updated=())
    def jacobian(*args, **kwargs):
        numbers = chosen("jacrev", args, argnums)
        with ReverseLevel() as level:
            level.label = "jacrev", f
            args, leaves, structures = traced("jacrev", args, numbers, functools.partial(engine.trace, level))
            value = f(*args, **kwargs)
            aux = None
            if has_aux:
                value, aux = _pair("jacrev", value)
        lower = functools.partial(engine.lowered, level)
        outputs, structure = tree.flatten(value)
        primals = [lower(leaf) for leaf in leaves]
        blocks = []
        for output in outputs:
            if not isinstance(output, Tensor):
                raise TypeError(f"jacrev: the function returned {type(output).__name__} where Tensors are wanted")
            result = lower(output)
            if result.dtype.kind not in "fc":
                raise errors.DerivativeError(f"jacrev: the function returned dtype {result.dtype}, which has no derivative")
            columns = _all_rows(level, output, result, leaves) if result.size > FEW else None
            if columns is None:
                rows = [engine.pull_back(level, (output,), (unit,), leaves, True) for unit in basis(result)]
                columns = [stack([zeros_like(primal) if row[place] is None else row[place] for row in rows]) if rows else None
                           for place, primal in enumerate(primals)]
            columns = [zeros(result.shape + primal.shape, dtype=primal.dtype) if column is None else reshape(column, result.shape + primal.shape)
                       for column, primal in zip(columns, primals)]
            blocks.append(gathered(structures, columns, not isinstance(argnums, (tuple, list))))
        made = tree.unflatten(structure, blocks)
        return (made, lowered(lower, aux)) if has_aux else made
    return jacobian
