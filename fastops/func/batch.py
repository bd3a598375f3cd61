"""``vmap``: a function of one row, called on all rows at once."""

import functools

import numpy as np

from fastops import _batched as engine
from fastops import tree
from fastops._batched import BatchLevel
from fastops._dispatch import Tensor, as_tensor
from fastops.ops.shape import broadcast_to, concat, moveaxis

RANDOMNESS = ("error", "same", "different")


def vmap(f, in_axes=0, out_axes=0, *, axis_size=None, randomness="error", chunk_size=None, in_dims=None, out_dims=None):
    """A function that calls *f* for every row of its arguments at once, without a loop.

    Parameters
    ----------
    f : callable
        A function of one row, written as if there were no others.
    in_axes : int, None, or a tuple of these
        For each positional argument the axis along which its rows lie; None for an argument that all rows share. One number stands
        for all arguments; for an argument that is a nested container, a container of axes, or one for all its leaves.
        Keyword arguments are shared.
    out_axes : int, None, or a container of these
        Where the rows lie in the results; None for a result that does not depend on the row.
    axis_size : int, optional
        How many rows there are; needed where no argument is mapped.
    randomness : "error", "same" or "different"
        What random numbers do inside: are refused, are the same in each row, or each row has its own, which depend on its place alone.
    chunk_size : int, optional
        Compute so many rows at a time, to save memory.
    in_dims, out_dims
        Other names of in_axes and out_axes.

    Returns
    -------
    callable

    Raises
    ------
    ValueError
        If an axis does not exist, the arguments have different numbers of rows, or containers do not match.
    MappedError
        A RuntimeError, if f reads the value of a mapped array, branches on it, or makes an array whose shape depends on it.

    Notes
    -----
    PyTorch: ``torch.func.vmap``; JAX: ``jax.vmap``.

    Examples
    --------
    >>> import fastops as fo
    >>> rows = fo.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> fo.vmap(lambda x: x @ x)(rows)
    tensor([ 5., 25.])
    >>> fo.vmap(fo.grad(lambda w, x: (w * x).sum() ** 2), (None, 0))(fo.ones(2), rows)
    tensor([[ 6., 12.],
            [42., 56.]])
    """
    if not callable(f):
        raise TypeError(f"vmap: a function is wanted, not {f!r}")
    in_axes = in_axes if in_dims is None else in_dims
    out_axes = out_axes if out_dims is None else out_dims
    if in_axes is not None and not isinstance(in_axes, (int, tuple, list, dict)):
        raise ValueError(f"vmap: in_axes is a number, None, or a tuple of them, not {in_axes!r}")
    if randomness not in RANDOMNESS:
        raise ValueError(f"vmap: randomness is one of {', '.join(RANDOMNESS)}, not {randomness!r}")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"vmap: chunk_size is a whole number from 1 on, not {chunk_size!r}")
    plain = in_axes == 0 and out_axes == 0 and type(in_axes) is int and axis_size is None and chunk_size is None
    label = "vmap"

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        if plain:
            result = engine.map_plain(label, f, args, kwargs, randomness, finish)
            if result is not NotImplemented:
                return result
        rows, structure = _rows(f, args, in_axes, axis_size)
        size = rows.size
        if chunk_size is None or size <= chunk_size:
            return _run(f, rows, structure, kwargs, out_axes, randomness, 0, size, None)
        starts = {}
        parts = [_run(f, rows, structure, kwargs, out_axes, randomness, first, min(chunk_size, size - first), starts) for first in range(0, size, chunk_size)]
        return _joined(parts, out_axes)

    def finish(level, result):
        return _gathered(level, result, out_axes, level.size)
    return mapped


class _Rows:
    """The leaves of the arguments, with the axis of each (None: shared), and the number of rows."""
    __slots__ = ("leaves", "axes", "size")


def _axes_for(structure, axes, place):
    # One axis for each leaf, from a container of axes that may end early.
    if axes is None or isinstance(axes, (int, np.integer)) and not isinstance(axes, bool):
        return [axes] * structure.leaves
    if structure.kind is None:
        raise ValueError(f"vmap: {place} is mapped along {axes!r}, which is no axis: a number or None is wanted")
    leaves, given = tree.flatten(axes) if not isinstance(axes, (tuple, list, dict)) else (None, axes)
    children = structure.children
    if isinstance(given, dict):
        keys = list(structure.context) if structure.kind is dict else None
        if keys is None or set(given) != set(keys):
            raise ValueError(f"vmap: {place}: the axes {axes!r} do not match a {structure}")
        given = [given[key] for key in keys]
    if len(given) != len(children):
        raise ValueError(f"vmap: {place}: the axes {axes!r} are {len(given)}, but there are {len(children)} values")
    found = []
    for child, axis in zip(children, given):
        found.extend(_axes_for(child, axis, place))
    return found


def _rows(f, args, in_axes, axis_size):
    rows = _Rows()
    leaves, structure = tree.flatten(list(args))
    if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
        raise ValueError(f"vmap: in_axes has {len(in_axes)} axes, but {getattr(f, '__name__', f)} was given {len(args)} positional arguments")
    if isinstance(in_axes, (tuple, list)):
        axes = []
        for number, (child, axis) in enumerate(zip(structure.children, in_axes)):
            axes.extend(_axes_for(child, axis, f"argument {number}"))
    else:
        axes = _axes_for(structure, in_axes, "the arguments")
    size = axis_size
    mismatch = False
    for place, axis in enumerate(axes):
        if axis is None:
            continue
        leaf = leaves[place]
        if not isinstance(leaf, Tensor):
            if not hasattr(leaf, "__array__"):
                raise ValueError(f"vmap: {_named(structure, place)} is {leaf!r}, which has no axis {axis}: map it along None")
            leaf = leaves[place] = as_tensor(leaf)
        if not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(f"vmap: {_named(structure, place)} of shape {leaf.shape} has no axis {axis} to be mapped")
        axes[place] = axis % leaf.ndim
        if size is None:
            size = leaf.shape[axis]
        mismatch = mismatch or leaf.shape[axis] != size
    if mismatch:
        listed = "; ".join(f"{_named(structure, place)}: shape {leaf.shape}, axis {axis}, {leaf.shape[axis]} rows" for place, (leaf, axis) in
                           enumerate(zip(leaves, axes)) if axis is not None)
        raise ValueError(f"vmap: the mapped arguments have different numbers of rows" + (f", or not axis_size={axis_size}" if axis_size is not None else "")
                         + f": {listed}")
    if size is None:
        listed = "; ".join(f"{_named(structure, place)}: {'shape ' + str(leaf.shape) if isinstance(leaf, Tensor) else type(leaf).__name__}"
                           for place, leaf in enumerate(leaves))
        raise ValueError(f"vmap: no argument is mapped, and axis_size is not given: {listed or 'no arguments'}")
    rows.leaves, rows.axes, rows.size = leaves, axes, size
    return rows, structure


def _named(structure, place):
    # How an error names a leaf: by its argument.
    for number, child in enumerate(structure.children):
        if place < child.leaves:
            return f"argument {number}" if child.kind is None else f"argument {number} ({child}), leaf {place}"
        place -= child.leaves
    return "an argument"


def _run(f, rows, structure, kwargs, out_axes, randomness, first, size, starts):
    with BatchLevel(size, randomness, first, rows.size, starts) as level:
        level.label = "vmap", f
        leaves = []
        for leaf, axis in zip(rows.leaves, rows.axes):
            if axis is None:
                leaves.append(leaf)
                continue
            value = moveaxis(leaf, axis, 0) if axis else leaf
            leaves.append(engine.trace(level, value if size == rows.size else value[first:first + size]))
        result = f(*tree.unflatten(structure, leaves), **kwargs)
        gathered = _gathered(level, result, out_axes, size)
        del result, leaves
    return gathered


def _gathered(level, result, out_axes, size):
    # The results, with their rows where out_axes says.
    if type(result) is Tensor and type(out_axes) is int:
        return _placed(level, result, out_axes, size)
    leaves, structure = tree.flatten(result)
    axes = _axes_for(structure, out_axes, "the result")
    return tree.unflatten(structure, [_placed(level, leaf, axis, size) for leaf, axis in zip(leaves, axes)])


def _placed(level, value, axis, size):
    if axis is None:
        if engine.rows(level, value) is not None:
            raise ValueError(f"vmap: a result of shape {value.shape} is another in each row, but out_axes says None for it")
        return value
    if not isinstance(value, Tensor):
        if value is None or isinstance(value, str) or not isinstance(value, (int, float, complex, np.ndarray, np.generic)):
            raise ValueError(f"vmap: a result is {type(value).__name__}; results are Tensors or numbers, or None stands for them in out_axes")
        value = as_tensor(value)
    rank = value.ndim + 1
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank, "vmap: out_axes")
    rows = engine.rows(level, value)
    if rows is None:
        rows = broadcast_to(value, (size, *value.shape))
    return moveaxis(rows, 0, axis) if axis % rank else rows


def _joined(parts, out_axes):
    leaves, structure = tree.flatten(parts[0])
    axes = _axes_for(structure, out_axes, "the result")
    columns = zip(*[tree.flatten(part)[0] for part in parts])
    return tree.unflatten(structure, [column[0] if axis is None else concat(list(column), axis=axis) for column, axis in zip(columns, axes)])
