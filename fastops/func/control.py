"""Control flow that mapped arrays can decide: ``cond``, ``switch``, ``while_loop``, ``scan``.

Where a condition can be read these are Python's own ``if``, ``while`` and ``for``. Inside ``vmap``, where rows decide differently, all
branches are computed and each row takes its own; loops go on until the last row is done, and rows that are done stay as they are.
Derivatives go through, in both modes: what a row did not take counts for nothing in them, be it infinite or undefined.
"""

import builtins

import numpy as np

from fastops import tree
from fastops._batched import beneath
from fastops._dispatch import Tensor, as_tensor, has_values
from fastops.ops.elementwise import where
from fastops.ops.reduce import any as any_of
from fastops.ops.shape import stack


def _condition(name, value):
    if isinstance(value, (bool, np.bool_)):
        value = as_tensor(bool(value))
    if not isinstance(value, Tensor) or value.shape != () or value.dtype.kind not in "b":
        raise TypeError(f"{name}: the condition is one truth value, not " + (f"of shape {value.shape} and dtype {value.dtype}" if isinstance(value, Tensor)
                                                                             else type(value).__name__))
    return value


def _chosen(name, condition, one, other):
    # Of two nested containers of the same structure, leaf by leaf.
    leaves, structure = tree.flatten(one)
    others, second = tree.flatten(other)
    if structure != second:
        raise TypeError(f"{name}: the branches give different structures, {structure} and {second}")
    made = []
    for first, second in zip(leaves, others):
        if first is second:
            made.append(first)
            continue
        shapes = getattr(first, "shape", ()), getattr(second, "shape", ())
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name}: the branches give arrays of different shapes, {shapes[0]} and {shapes[1]}")
        made.append(where(condition, first, second))
    return tree.unflatten(structure, made)


def cond(pred, true_fun, false_fun, *operands):
    """``true_fun(*operands) if pred else false_fun(*operands)``, also where *pred* is mapped.

    Parameters
    ----------
    pred : bool or Tensor of shape () and dtype bool
    true_fun, false_fun : callable
        Give nested containers of the same structure, with arrays of the same shapes.

    Raises
    ------
    TypeError
        If pred is not one truth value, or the structures differ.
    ValueError
        If the shapes differ where both branches are computed.

    Notes
    -----
    JAX: ``jax.lax.cond``; PyTorch: ``torch.cond``.

    Examples
    --------
    >>> import fastops as fo
    >>> halved = lambda x: fo.func.cond(x > 1, lambda x: x / 2, lambda x: x, x)
    >>> fo.vmap(halved)(fo.asarray([1.0, 4.0])), fo.vmap(fo.grad(halved))(fo.asarray([1.0, 4.0]))
    (tensor([1., 2.]), tensor([1. , 0.5]))
    """
    pred = _condition("cond", pred)
    if has_values(pred):
        return true_fun(*operands) if bool(pred) else false_fun(*operands)
    return _chosen("cond", pred, true_fun(*operands), false_fun(*operands))


def switch(index, branches, *operands):
    """``branches[index](*operands)``, also where *index* is mapped; an index that is out of bounds means the branch next to it.

    >>> import fastops as fo
    >>> fo.vmap(lambda i, x: fo.func.switch(i, [fo.sin, fo.cos, fo.square], x))(fo.asarray([0, 1, 2]), fo.asarray([0.0, 0.0, 3.0]))
    tensor([0., 1., 9.])

    TypeError if index is no whole number; JAX: ``jax.lax.switch``.
    """
    branches = list(branches)
    if not branches:
        raise ValueError("switch: there is no branch")
    index = as_tensor(index)
    if index.shape != () or index.dtype.kind not in "iu":
        raise TypeError(f"switch: the index is one whole number, not of shape {index.shape} and dtype {index.dtype}")
    if has_values(index):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    result = branches[0](*operands)
    for number, branch in enumerate(branches[1:], 1):
        result = _chosen("switch", index >= number, branch(*operands), result)
    return result


def while_loop(cond_fun, body_fun, init_val):
    """*init_val*, or what *body_fun* makes of it again and again while *cond_fun* of it is true; also where that is mapped.

    Parameters
    ----------
    cond_fun : callable
        Of the state; gives one truth value.
    body_fun : callable
        Of the state; gives the next, of the same structure and shapes.
    init_val : nested containers of arrays and numbers

    Raises
    ------
    TypeError
        If cond_fun gives no truth value, or body_fun another structure.

    Notes
    -----
    JAX: ``jax.lax.while_loop``; here it is differentiated in reverse mode too.

    Examples
    --------
    >>> import fastops as fo
    >>> doubled = lambda x: fo.func.while_loop(lambda x: x < 100, lambda x: 2 * x, x)
    >>> fo.vmap(doubled)(fo.asarray([3.0, 30.0, 300.0])), fo.vmap(fo.grad(doubled))(fo.asarray([3.0, 30.0, 300.0]))
    (tensor([192., 120., 300.]), tensor([64.,  4.,  1.]))
    """
    state = init_val
    while True:
        going = _condition("while_loop", cond_fun(state))
        if has_values(going):
            if not bool(going):
                return state
            state = body_fun(state)
        else:
            if not bool(any_of(beneath(going))):
                return state
            state = _chosen("while_loop", going, body_fun(state), state)


def scan(f, init, xs=None, length=None, reverse=False):
    """``carry, y = f(carry, x)`` for each x along the first axis of *xs*; gives the last carry and all y, stacked.

    Parameters
    ----------
    f : callable
        ``f(carry, x) -> (carry, y)``; nested containers all.
    init : nested containers
        The first carry.
    xs : nested containers of arrays with a first axis of one length, optional
    length : int, optional
        How many steps there are; needed without xs.
    reverse : bool
        From the last x to the first; y keep their places.

    Raises
    ------
    ValueError
        If the lengths differ, or there are neither xs nor length.
    TypeError
        If f gives no pair.

    Notes
    -----
    JAX: ``jax.lax.scan``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.func.scan(lambda total, x: (total + x, total * x), 0.0, fo.asarray([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    leaves, structure = tree.flatten(xs) if xs is not None else ([], None)
    leaves = [as_tensor(leaf) for leaf in leaves]
    lengths = {leaf.shape[0] if leaf.ndim else None for leaf in leaves} | ({length} if length is not None else set())
    if len(lengths) != 1 or None in lengths:
        raise ValueError(f"scan: xs and length say one number of steps, not {sorted(lengths, key=str)}")
    count = lengths.pop()
    carry, made = init, [None] * count
    for step in builtins.reversed(range(count)) if reverse else range(count):
        pair = f(carry, None if structure is None else tree.unflatten(structure, [leaf[step] for leaf in leaves]))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"scan: the function gives a pair (carry, y), not {type(pair).__name__}")
        carry, made[step] = pair
    if not made:
        return carry, None
    columns = [tree.flatten(y)[0] for y in made]
    return carry, tree.unflatten(tree.flatten(made[0])[1], [None if column[0] is None else stack(list(column)) for column in zip(*columns)])
