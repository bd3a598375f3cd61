"""Forward mode over functions: ``jvp``, ``linearize``, ``jacfwd``, and what combines both modes."""

import functools

from fastops import _autograd as reverse
from fastops import _forward as engine
from fastops import errors, tree
from fastops._autograd import ReverseLevel
from fastops._dispatch import Tensor, as_tensor
from fastops._forward import ForwardLevel
from fastops.func.arguments import chosen, gathered, inexact, lowered, traced
from fastops.func.reverse import _pair, basis, grad, jacrev, vjp
from fastops.ops.create import zeros, zeros_like
from fastops.ops.shape import astype, moveaxis, reshape, stack


def _tangent(name, primal, tangent):
    tangent = as_tensor(tangent)
    if tangent.shape != primal.shape:
        raise ValueError(f"{name}: an argument has shape {primal.shape}, its tangent {tangent.shape}")
    if tangent.dtype != primal.dtype:
        if tangent.dtype.kind == "c" and primal.dtype.kind != "c":
            raise TypeError(f"{name}: an argument has dtype {primal.dtype}, its tangent {tangent.dtype}")
        tangent = astype(tangent, primal.dtype)
    return tangent


def _push(name, level, function, args, has_aux, kwargs={}):
    # The results, their tangents and aux of a call with dual arguments.
    level.label = name, function
    value = function(*args, **kwargs)
    aux = None
    if has_aux:
        value, aux = _pair(name, value)
    lower = functools.partial(engine.parts, level)
    if type(value) is Tensor:
        primal, tangent = lower(value)
        result, tangents = primal, zeros_like(primal) if tangent is None else tangent
    else:
        outputs, structure = tree.flatten(value)
        pairs = [lower(output) for output in outputs]
        result = tree.unflatten(structure, [primal for primal, _ in pairs])
        tangents = tree.unflatten(structure, [(zeros_like(primal) if isinstance(primal, Tensor) else 0) if tangent is None else tangent
                                              for primal, tangent in pairs])
    return result, tangents, lowered(lambda leaf: lower(leaf)[0], aux) if has_aux else None


def jvp(f, primals, tangents, has_aux=False):
    """``f(*primals)`` and the derivative of *f* there in the direction of *tangents*.

    Parameters
    ----------
    f : callable
        Returns Tensors in any nested containers, or with has_aux a pair of that and anything else.
    primals, tangents : tuples of Tensors, in any nested containers
        Alike in structure and shapes.
    has_aux : bool
        Give ``(result, tangent, aux)``.

    Returns
    -------
    (result, tangent)
        Alike in structure, shapes and dtypes.

    Raises
    ------
    ValueError
        If structures or shapes differ.
    TypeError
        If a primal is not of floating-point or complex dtype.

    Notes
    -----
    JAX: ``jax.jvp``; PyTorch: ``torch.func.jvp``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.jvp(fo.sin, (fo.asarray([0.0, 1.0]),), (fo.asarray([1.0, 10.0]),))
    (tensor([0.        , 0.84147098]), tensor([1.        , 5.40302306]))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents are tuples, one entry for each argument of the function")
    with ForwardLevel() as level:
        if len(primals) == 1 == len(tangents) and type(primals[0]) is Tensor:      # the common case, without a tree
            args = [engine.dual(level, inexact("jvp", primals[0], "argument 0"), _tangent("jvp", primals[0], tangents[0]))]
        else:
            given, structure = tree.flatten(tuple(tangents))
            leaves, its = tree.flatten(tuple(primals))
            if its != structure:
                raise ValueError(f"jvp: the primals are {its}, the tangents {structure}")
            leaves = [inexact("jvp", leaf, "primals") for leaf in leaves]
            args = tree.unflatten(its, [engine.dual(level, leaf, _tangent("jvp", leaf, one)) for leaf, one in zip(leaves, given)])
        result, made, aux = _push("jvp", level, f, args, has_aux)
    return (result, made, aux) if has_aux else (result, made)


def linearize(f, *primals):
    """``f(*primals)`` and the linear function that maps tangents to the derivative there, without calling *f* again.

    Examples
    --------
    >>> import fastops as fo
    >>> y, push = fo.func.linearize(fo.sin, fo.asarray(0.0))
    >>> y, push(fo.asarray(3.0))
    (tensor(0.), tensor(3.))

    Notes
    -----
    JAX: ``jax.linearize``. The function is recorded once in reverse mode; its linear part is transposed twice.
    """
    result, pull_back = vjp(f, *primals)
    outputs, structure = tree.flatten(result)
    with ReverseLevel() as level:
        level.label = "linearize", f
        cotangents = [reverse.trace(level, zeros_like(output)) for output in outputs]
        pulled, its = tree.flatten(pull_back(tree.unflatten(structure, cotangents)))

    def push(*tangents):
        given, theirs = tree.flatten(tangents)
        if theirs != its:
            raise ValueError(f"linearize: the primals are {its}, the tangents {theirs}")
        given = [_tangent("linearize", reverse.lowered(level, one), tangent) for one, tangent in zip(pulled, given)]
        made = reverse.pull_back(level, pulled, given, cotangents, True)
        return tree.unflatten(structure, [zeros_like(output) if one is None else one for output, one in zip(outputs, made)])
    return result, push


def jacfwd(f, argnums=0, has_aux=False):
    """A function that computes the Jacobian of *f*, column by column, in forward mode: for more outputs than inputs.

    Takes and gives what ``jacrev`` does.

    >>> import fastops as fo
    >>> fo.jacfwd(lambda x: fo.stack([x[0] * x[1], x[0]]))(fo.asarray([2.0, 3.0]))
    tensor([[3., 2.],
            [1., 0.]])
    """
    @functools.wraps(f, updated=())
    def jacobian(*args, **kwargs):
        numbers = chosen("jacfwd", args, argnums)
        _, leaves, structures = traced("jacfwd", args, numbers, lambda leaf: leaf)
        columns, kept, structure, results = [], None, None, None
        for place, leaf in enumerate(leaves):
            units = []
            for unit in basis(leaf):
                with ForwardLevel() as level:
                    duals = [engine.dual(level, other, unit) if position == place else other for position, other in enumerate(leaves)]
                    changed = list(args)
                    for number, one in zip(numbers, gathered(structures, duals, False)):
                        changed[number] = one
                    value, tangents, aux = _push("jacfwd", level, f, changed, has_aux, kwargs)
                kept = aux if kept is None else kept
                made, structure = tree.flatten(tangents)
                results = tree.flatten(value)[0]
                for result in results:
                    if not isinstance(result, Tensor) or result.dtype.kind not in "fc":
                        raise errors.DerivativeError(f"jacfwd: the function returned {getattr(result, 'dtype', type(result).__name__)}, "
                                                     "which has no derivative")
                units.append(made)
            columns.append(units)
        if results is None:                 # nothing to go along: the shapes are all that is asked
            value = f(*args, **kwargs)
            if has_aux:
                value, kept = _pair("jacfwd", value)
            results, structure = tree.flatten(value)
        blocks = []
        for output, result in enumerate(results):
            block = [_column(result, leaf, [unit[output] for unit in units]) for leaf, units in zip(leaves, columns)]
            blocks.append(gathered(structures, block, not isinstance(argnums, (tuple, list))))
        made = tree.unflatten(structure, blocks)
        return (made, kept) if has_aux else made
    return jacobian


def _column(result, leaf, tangents):
    # The tangents along each unit vector, as a block of the Jacobian.
    if not tangents:
        return zeros(result.shape + leaf.shape, dtype=result.dtype)
    return reshape(moveaxis(stack(tangents), 0, -1), result.shape + leaf.shape)


def hessian(f, argnums=0, has_aux=False):
    """A function that computes the second derivatives of *f*: ``jacrev(jacrev(f))``, which calls f once.

    >>> import fastops as fo
    >>> fo.hessian(lambda x: x[0] ** 2 * x[1])(fo.asarray([2.0, 3.0]))
    tensor([[6., 4.],
            [4., 0.]])
    """
    return jacrev(jacrev(f, argnums, has_aux), argnums, has_aux)


def hvp(f, primals, tangents):
    """The product of the Hessian of *f*, which returns one number, with *tangents*: a tuple, or one if there is one primal.

    Costs a few calls of f, whatever the number of its arguments' elements.

    >>> import fastops as fo
    >>> fo.func.hvp(lambda x: (x ** 3).sum(), (fo.asarray([1.0, 2.0]),), (fo.asarray([1.0, 1.0]),))
    tensor([ 6., 12.])
    """
    numbers = tuple(range(len(primals)))
    return jvp(grad(f, numbers[0] if len(numbers) == 1 else numbers), primals, tangents)[1]
