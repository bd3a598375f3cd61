"""How operators are called on mapped arrays, most by their family: each rule says the one call that computes all rows.

A rule gets a Call: mapped arguments are Rows, whose ``value`` has all rows along the first axis. It gives results with
all rows along the first axis, or Constant for what is the same for all. Elementwise operators need no rule here, see
fastops/_batched.pyx; operators without one are computed row by row.
"""

import builtins
import math
import re
import warnings
from string import ascii_letters

import numpy as np

from fastops import _batched, errors
from fastops._autograd import repeated_region
from fastops._batched import Constant, Rows, call_by_name
from fastops._dispatch import Tensor, as_tensor
from fastops.ops.create import arange, zeros
from fastops.ops.elementwise import clip, conj, where
from fastops.ops.linalg import einsum, matmul, vecdot
from fastops.ops.reduce import cumsum, sum
from fastops.ops.shape import broadcast_to, copy, expand_dims, moveaxis, permute_dims, reshape, squeeze, stack


# -------------------------------------------------------------------------------------------- helpers

def aligned(value, rank):
    """An argument for an operator that broadcasts rows of *rank* axes: the rows of mapped ones get axes after the first."""
    if not isinstance(value, Rows):
        return value
    missing = rank - value.ndim
    return expand_dims(value.value, tuple(range(1, missing + 1))) if missing > 0 else value.value


def all_rows(call, value):
    """An argument with all rows along the first axis, repeated if it is the same for all."""
    if isinstance(value, Rows):
        return value.value
    value = as_tensor(value)
    return broadcast_to(value, (call.size, *value.shape))


def ndim(value):
    """The axes of one row."""
    return value.ndim if isinstance(value, (Rows, Tensor)) else np.ndim(value)


def at(call, axis, rank):
    """The place of a row's axis among all axes."""
    if not isinstance(axis, (int, np.integer)):
        axis = axis.__index__()
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank, str(call.op))
    return axis % rank + 1


def at_all(call, axes, rank):
    """The places of several axes, of all if None; what was one number stays one."""
    if axes is None:
        return tuple(range(1, rank + 1))
    return tuple(at(call, axis, rank) for axis in axes) if isinstance(axes, (tuple, list)) else at(call, axes, rank)


def default(operator, name):
    """What an argument is where it is not given."""
    return next(argument.default_value for argument in operator._schema.arguments if argument.name == name)


def only(call, *names):
    """Whether the arguments of these names alone are mapped."""
    return not any(holds_rows(value) for name, value in call.arguments.items() if name not in names)


def holds_rows(value):
    return isinstance(value, Rows) or isinstance(value, (list, tuple)) and any(map(holds_rows, value))


def row(value, index):
    """An argument for one row."""
    if isinstance(value, Rows):
        return value.value[index]
    if isinstance(value, (list, tuple)) and holds_rows(value):
        return type(value)(row(item, index) for item in value)
    return value


def row_by_row(call):
    """The results of one call for each row, stacked: right for every operator, and slow."""
    if call.size == 0:
        return _of_no_rows(call)
    results = [call_by_name(call.op, {name: row(value, index) for name, value in call.arguments.items()}) for index in range(call.size)]
    return _stacked(results)


def _stacked(results):
    first = results[0]
    if isinstance(first, Tensor):
        if any(one.shape != first.shape for one in results):
            raise errors.MappedError(f"the rows have results of different shapes, {first.shape} and others: their shape depends on the data")
        return stack(results)
    if isinstance(first, (tuple, list)):
        columns = [_stacked(column) for column in zip(*results)]
        return columns if type(first) is list else tuple(columns) if type(first) is tuple else type(first)(*columns)
    return first


def _of_no_rows(call):
    # The shapes and dtypes of a row of zeros.
    def blank(value):
        if isinstance(value, Rows):
            return zeros(value.shape, dtype=value.value.dtype)
        return type(value)(map(blank, value)) if isinstance(value, (list, tuple)) and holds_rows(value) else value

    def emptied(result):
        if isinstance(result, Tensor):
            return zeros((0, *result.shape), dtype=result.dtype)
        if isinstance(result, (tuple, list)):
            items = [emptied(item) for item in result]
            return items if type(result) is list else tuple(items) if type(result) is tuple else type(result)(*items)
        return result
    return emptied(call_by_name(call.op, {name: blank(value) for name, value in call.arguments.items()}))


# ------------------------------------------------------------------------------------ rules by family

def leading(call):
    """Stacks: whatever stands before the axes that the operator works on is looped over, the rows too."""
    first = next(name for name in call.arguments)
    if not only(call, first):
        return row_by_row(call)
    return call.run(**{first: call.arguments[first].value})


def reduction(call):
    x = call.arguments["x"]
    rank = ndim(x)
    changed = {}
    if "where" in call.arguments:
        changed["where"] = aligned(call.arguments["where"], rank)
    if any(isinstance(call.arguments.get(name), Rows) for name in ("initial", "mean")):
        return row_by_row(call)
    x = all_rows(call, x)
    if "out" in call.arguments:
        changed["out"] = call.arguments["out"].value
    axis = call.arguments.get("axis")
    return call.run(x=x, axis=at_all(call, axis, rank), **changed)


def along_axis(call):
    """One axis, or all elements in a row where it is None."""
    x = call.arguments["x"]
    axis, rank = call.arguments.get("axis", default(call.op, "axis")), x.ndim
    if not only(call, "x", "out"):
        return row_by_row(call)
    changed = {"out": call.arguments["out"].value} if "out" in call.arguments else {}
    if axis is None:
        if call.arguments.get("keepdims"):
            result = call.run(x=reshape(x.value, (call.size, math.prod(x.shape))), axis=1, **changed)
            return reshape(result, (call.size,) + (1,) * rank)
        return call.run(x=reshape(x.value, (call.size, math.prod(x.shape))), axis=1, **changed)
    if rank == 0:
        if axis not in (0, -1):
            at(call, axis, rank)
        return row_by_row(call)
    return call.run(x=x.value, axis=at(call, axis, rank), **changed)


def along_one_axis(call):
    """The same where the axis may be left out of arrays of one axis alone."""
    axis, rank = call.arguments.get("axis"), call.arguments["x"].ndim
    if rank == 0:
        return row_by_row(call)
    if axis is None and rank != 1:
        raise ValueError(f"{call.op}: an axis is wanted for an array of {rank} dimensions")
    if axis is None:
        call.arguments["axis"] = 0
    return along_axis(call)


def same_shape(call):
    """Results of x's shape, whatever its axes: copies, casts, parts of complex numbers."""
    return call.run(x=call.arguments["x"].value) if only(call, "x") else row_by_row(call)


def creation(call):
    """What takes of x its shape and dtype alone."""
    if not only(call, "x"):
        return row_by_row(call)
    x = call.arguments["x"]
    return Constant(call.run(x=Tensor.__getitem__(x.value, 0) if call.size else zeros(x.shape, dtype=x.value.dtype)))


def reinterpreted(call):
    """The bytes of the last axis seen as another dtype."""
    x = call.arguments["x"]
    if x.ndim:
        return call.run(x=x.value)
    result = call.run(x=expand_dims(x.value, 1))
    if result.shape[1] != 1:
        raise ValueError(f"{call.op}: a single {x.value.dtype} does not change its size: dtype {result.dtype} has another")
    return squeeze(result, 1)


def regions(call):
    """What the engine reads of an array, or writes into it, through a view."""
    arrays = {name: all_rows(call, call.arguments[name]) for name in ("x", "value") if name in call.arguments}
    return call.run(region=repeated_region(call.arguments["region"], call.size), **arrays)


def matrices(call):
    """tril and triu: of the last two axes."""
    x = call.arguments["x"]
    return call.run(x=x.value) if x.ndim >= 2 else row_by_row(call)


# views

def order_of(call, x):
    """Whether a row is read in row-major order ("C") or the other way around ("F"), or neither (None)."""
    order = call.arguments.get("order", "C")
    if order in ("A", "K"):
        flags = Tensor.__getitem__(x.value, 0).flags if call.size else None
        order = "C" if flags is None or flags.c_contiguous or order == "A" and not flags.f_contiguous else "F" if flags.f_contiguous else None
    return order


def reversed_axes(x):
    """The axes of each row the other way around."""
    return permute_dims(x, (0, *range(x.ndim - 1, 0, -1)))


def reshaped(call):
    x, shape = call.arguments["x"], call.arguments["shape"]
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if shape.count(-1) == 1:
        known = math.prod(size for size in shape if size != -1)
        total = math.prod(x.shape)
        if known == 0 or total % known:
            raise ValueError(f"{call.op}: an array of shape {x.shape} does not reshape to {shape}")
        shape = tuple(total // known if size == -1 else size for size in shape)
    if math.prod(shape) != math.prod(x.shape):
        raise ValueError(f"{call.op}: an array of shape {x.shape} does not reshape to {shape}")
    if order_of(call, x) == "F":
        return reversed_axes(call.run(x=reversed_axes(x.value), shape=(call.size, *shape[::-1]), order="C"))
    return call.run(x=x.value, shape=(call.size, *shape), order="C")


def flattened(call):
    """A copy of the elements along one axis."""
    return copy(ravelled(call))


def ravelled(call):
    x, order = call.arguments["x"], order_of(call, call.arguments["x"])
    if order is None:                           # as the memory has them
        strides = x.value.strides[1:]
        value = permute_dims(x.value, (0, *[1 + axis for axis in sorted(range(x.ndim), key=lambda axis: -abs(strides[axis]))]))
    else:
        value = reversed_axes(x.value) if order == "F" else x.value
    return reshape(value, (call.size, math.prod(x.shape)))


def permuted(call):
    x = call.arguments["x"]
    axes = call.arguments.get("axes")
    axes = tuple(range(x.ndim))[::-1] if axes is None else axes
    if len(axes) != x.ndim:
        return row_by_row(call)
    return call.run(x=x.value, axes=(0, *[at(call, axis, x.ndim) for axis in axes]))


def two_axes(call):
    x = call.arguments["x"]
    given = {name: at(call, call.arguments.get(name, default), x.ndim) for name, default in (("axis1", 0), ("axis2", 1))}
    return call.run(x=x.value, **given)


def transposed_matrices(call):
    x = call.arguments["x"]
    return call.run(x=x.value) if x.ndim >= 2 else row_by_row(call)


def moved(call):
    x = call.arguments["x"]
    return call.run(x=x.value, source=at_all(call, call.arguments["source"], x.ndim), destination=at_all(call, call.arguments["destination"], x.ndim))


def expanded(call):
    x, axis = call.arguments["x"], call.arguments.get("axis", 0)
    rank = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    return call.run(x=x.value, axis=at_all(call, axis, rank))


def squeezed(call):
    x, axis = call.arguments["x"], call.arguments.get("axis")
    if axis is None:
        axis = tuple(place for place, size in enumerate(x.shape) if size == 1)
    return call.run(x=x.value, axis=at_all(call, axis, x.ndim))


def broadcast(call):
    x, shape = call.arguments["x"], call.arguments["shape"]
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if x.ndim > len(shape):
        return row_by_row(call)
    return call.run(x=aligned(x, len(shape)), shape=(call.size, *shape))


def over_axes(call):
    """An axis, several, or None for all, and results of x's shape."""
    x = call.arguments["x"]
    return call.run(x=x.value, axis=at_all(call, call.arguments.get("axis"), x.ndim))


def windows(call):
    x, shape, axis = call.arguments["x"], call.arguments["window_shape"], call.arguments.get("axis")
    return call.run(x=x.value, axis=at_all(call, axis, x.ndim), window_shape=shape)


# lists

def joined(call):
    """concat and stack."""
    arrays, axis = call.arguments["arrays"], call.arguments.get("axis", 0)
    changed = {"out": call.arguments["out"].value} if "out" in call.arguments else {}
    if isinstance(arrays, Rows):                # the rows of one array
        if call.op._opname == "stack":
            return moveaxis(arrays.value, 1, at(call, axis, arrays.ndim)) if not changed else row_by_row(call)
        return row_by_row(call)
    values = [all_rows(call, one) for one in arrays]
    if axis is None:
        return call.run(arrays=[reshape(one, (call.size, math.prod(one.shape[1:]))) for one in values], axis=1, **changed)
    rank = values[0].ndim - 1 + (call.op._opname == "stack")
    if rank == 0:
        return row_by_row(call)
    return call.run(arrays=values, axis=at(call, axis, rank), **changed)


def in_line(call):
    """A list of arrays that broadcast together, element by element."""
    name = next(iter(call.arguments))
    arrays = call.arguments[name]
    if isinstance(arrays, Rows):                # the rows of one array
        return call.run(**{name: [arrays.value[:, place] for place in range(arrays.shape[0])]})
    return call.run(**{name: [aligned(one, max(map(ndim, arrays))) for one in arrays]})


def sort_keys(call):
    keys = call.arguments["keys"]
    if isinstance(keys, Rows):
        keys = moveaxis(keys.value, 0, 1)
        return call.run(keys=keys, axis=at(call, call.arguments.get("axis", -1), keys.ndim - 2))
    values = [all_rows(call, one) for one in keys]
    return call.run(keys=values, axis=at(call, call.arguments.get("axis", -1), values[0].ndim - 1))


# products

def product(call):
    """matmul: stacks of matrices, and vectors."""
    first, second = call.arguments["x1"], call.arguments["x2"]
    ranks = ndim(first), ndim(second)
    if 0 in ranks or "out" in call.arguments:
        return row_by_row(call)
    if ranks == (1, 1):
        left = first.value if isinstance(first, Rows) else as_tensor(first)
        return vecdot(conj(left) if left.dtype.kind == "c" else left, second.value if isinstance(second, Rows) else second)     # which conjugates
    if isinstance(first, Rows) and isinstance(second, Rows):
        rank = max(ranks[0], 2), max(ranks[1], 2)
        stacks = max(rank) - 2
        a = expand_dims(first.value, 1) if ranks[0] == 1 else first.value
        b = expand_dims(second.value, 2) if ranks[1] == 1 else second.value
        a = expand_dims(a, tuple(range(1, stacks + 3 - rank[0]))) if rank[0] - 2 < stacks else a
        b = expand_dims(b, tuple(range(1, stacks + 3 - rank[1]))) if rank[1] - 2 < stacks else b
        result = matmul(a, b)
        result = result[..., 0, :] if ranks[0] == 1 else result
        return result[..., 0] if ranks[1] == 1 else result
    if isinstance(first, Rows):
        if ranks[0] == 1 and ranks[1] > 2:      # a row vector for each matrix of a stack
            a = expand_dims(first.value, tuple(range(1, ranks[1])))
            return matmul(a, second)[..., 0, :]
        if ranks[1] > ranks[0] > 1:
            return matmul(aligned(first, ranks[1]), second)
        return matmul(first.value, second)
    if ranks[1] == 1:                           # one matrix, or a stack, for all vectors
        if ranks[0] == 1:
            return matmul(second.value, first)
        if ranks[0] == 2:
            return matmul(second.value, as_tensor(first).mT)
        b = expand_dims(second.value, tuple(range(1, ranks[0] - 1)) + (ranks[0],))
        return matmul(first, b)[..., 0]
    return matmul(first, aligned(second, max(ranks)))


def dotted(call):
    """dot: the last axis of x1 with the last but one of x2."""
    first, second = call.arguments["x1"], call.arguments["x2"]
    ranks = ndim(first), ndim(second)
    if "out" in call.arguments:
        return row_by_row(call)
    if 0 in ranks:
        return aligned(first, max(ranks)) * aligned(second, max(ranks))
    if ranks[1] <= 2 and ranks[0] <= 2:
        return _batched.as_call(matmul, call, product)
    left, right = ascii_letters[2:2 + ranks[0]], ascii_letters[2 + ranks[0]:2 + builtins.sum(ranks)]
    contracted = max(ranks[1] - 2, 0)
    right = right[:contracted] + left[-1] + right[contracted + 1:]
    result = left[:-1] + right.replace(left[-1], "")
    terms = [("a" if isinstance(value, Rows) else "") + letters for value, letters in ((first, left), (second, right))]
    return einsum(f"{terms[0]},{terms[1]}->a{result}", *[value.value if isinstance(value, Rows) else value for value in (first, second)])


def cores(signature):
    """The rule of an operator with a signature, as "(m,n),(n)->(m)", that loops over whatever stands before these axes."""
    ranks = [len(list(filter(None, core.split(",")))) for core in re.findall(r"\(([^()]*)\)", signature.replace(" ", "").partition("->")[0])]

    def rule(call):
        names = [argument.name for argument in call.op._schema.arguments[:len(ranks)]]
        if not only(call, *names) or any(ndim(call.arguments[name]) < rank for name, rank in zip(names, ranks)):
            return row_by_row(call)
        loops = max(ndim(call.arguments[name]) - rank for name, rank in zip(names, ranks))
        if call.arguments.get("axis", -1) >= 0:             # counted from the front, of arrays that may have other ranks
            return row_by_row(call)
        return call.run(**{name: aligned(call.arguments[name], loops + rank) for name, rank in zip(names, ranks)})
    return rule


def solved(call):
    """solve: a right-hand side of one axis is one vector."""
    a, b = call.arguments["x1"], call.arguments["x2"]
    if ndim(b) == 1:
        if isinstance(b, Rows) and not isinstance(a, Rows) and ndim(a) == 2:
            return call.run(x1=a, x2=b.value.mT).mT             # all right-hand sides at once
        b = expand_dims(b.value, 2) if isinstance(b, Rows) else as_tensor(b)[:, None]
        if ndim(a) > 2:
            b = expand_dims(b, tuple(range(1, ndim(a) - 1))) if b.ndim == 3 else b
        return call.run(x1=a.value if isinstance(a, Rows) else a, x2=b)[..., 0]
    rank = max(ndim(a), ndim(b))
    return call.run(x1=aligned(a, rank), x2=aligned(b, rank))


def summed(call):
    """einsum: a letter for the rows."""
    subscripts, operands = call.arguments["subscripts"], call.arguments["operands"]
    if not isinstance(subscripts, str) or "out" in call.arguments:
        return row_by_row(call)
    if not isinstance(operands, (tuple, list)):
        operands = [operands]
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    inputs = inputs.split(",")
    if len(inputs) != len(operands):
        return row_by_row(call)
    letter = next(letter for letter in ascii_letters if letter not in text)
    if not arrow:
        plain = "".join(inputs).replace(".", "")
        output = ("..." if "..." in text else "") + "".join(sorted(one for one in set(plain) if plain.count(one) == 1))
    inputs = [letter + one if isinstance(value, Rows) else one for one, value in zip(inputs, operands)]
    return call.run(subscripts=f"{','.join(inputs)}->{letter}{output}",
                    operands=[value.value if isinstance(value, Rows) else value for value in operands])


# indices

def _index_items(index):
    return index if isinstance(index, tuple) else (index,)


def _is_array(item):
    return isinstance(item, (Rows, Tensor, np.ndarray, list)) and not (isinstance(item, Tensor) and item.ndim == 0 and item.dtype.kind in "iu")


def _consumed(item):
    """How many axes an item of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Rows):
        return item.ndim if item.value.dtype.kind == "b" else 1
    if isinstance(item, (Tensor, np.ndarray)) and item.dtype.kind == "b":
        return item.ndim
    return 1


def _full_index(index, rank):
    # The items with the ellipsis written out.
    items = list(_index_items(index))
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    missing = rank - builtins.sum(map(_consumed, items))
    if places:
        items[places[0]:places[0] + 1] = [slice(None)] * max(missing, 0)
    else:
        items += [slice(None)] * max(missing, 0)
    return items


def _unmapped_index(call, x, index):
    # The index of all rows, and where the rows' axis is in the result.
    items = _index_items(index)
    advanced = [place for place, item in enumerate(items) if _is_array(item) or isinstance(item, (bool, np.bool_))]
    if advanced:
        taking = [place for place, item in enumerate(items) if place in advanced or isinstance(item, (int, np.integer)) or isinstance(item, Tensor)]
        if taking[-1] - taking[0] + 1 != len(taking):
            arrays = [np.asarray(items[place]) for place in taking]
            rank = len(np.broadcast_shapes(*[a.nonzero()[0].shape if a.dtype == bool else a.shape for a in arrays]))
            return (slice(None), *items), rank
    return (slice(None), *items), 0


def taken(call):
    """getitem."""
    x, index = call.arguments["x"], call.arguments["index"]
    if not holds_rows(index):
        full, place = _unmapped_index(call, x, index)
        result = x.value[full]
        return moveaxis(result, place, 0) if place else result
    items, first, lengths = _mapped_index(call, ndim(x), index, isinstance(x, Rows))
    source = x.value if isinstance(x, Rows) else x
    result = source[tuple(items)]
    return _placed(result, first, lengths, isinstance(x, Rows))


def _mapped_index(call, rank, index, leading):
    # The index with all rows of the mapped arrays, of an array of rows if *leading*; where their result's axes belong in a row, and how many they are.
    items = _full_index(index, rank)
    for item in items:
        if isinstance(item, Rows) and item.value.dtype.kind == "b":
            raise errors.MappedError(f"{call.op}: an index by a mask that is mapped has as many elements as the mask says, another number in each row; use "
                                     "where(mask, x, y), or extract(mask, x, size=...)")
    advanced = [place for place, item in enumerate(items) if _is_array(item) or isinstance(item, (int, np.integer, Tensor)) and not isinstance(item, bool)]
    items = [item if place not in advanced or isinstance(item, Rows) else as_tensor(item) for place, item in enumerate(items)]
    if any(not isinstance(items[place], Rows) and items[place].dtype.kind == "b" for place in advanced):
        items, advanced = _masks_as_indices(items, advanced)
    rank = max(ndim(items[place]) for place in advanced)
    for place in advanced:
        items[place] = aligned(items[place], rank)
    together = advanced[-1] - advanced[0] + 1 == len(advanced)
    first = builtins.sum(1 for item in items[:advanced[0]]) if together else 0
    if leading:
        items = [reshape(arange(call.size), (call.size,) + (1,) * rank), *items]
    return items, first, rank


def _masks_as_indices(items, advanced):
    made, places = [], []
    for place, item in enumerate(items):
        if place in advanced and not isinstance(item, Rows) and item.dtype.kind == "b":
            for one in np.asarray(item).nonzero():
                places.append(len(made))
                made.append(as_tensor(one))
            continue
        if place in advanced:
            places.append(len(made))
        made.append(item)
    return made, places


def _placed(result, first, rank, leading):
    # The axes of the arrays' result moved to where they belong; the rows' axis to the front.
    if leading:
        # rows' numbers and arrays: together at the front if anything stands between, else in place, which is the front too
        return moveaxis(result, tuple(range(1, rank + 1)), tuple(range(1 + first, 1 + first + rank))) if rank and first else result
    return moveaxis(result, first, 0) if first else result


def put(call):
    """setitem: the target is mapped."""
    x, index, value = call.arguments["x"], call.arguments["index"], call.arguments["value"]
    target = x.value
    if holds_rows(index):
        items = _index_items(index)
        if len(items) == 1 and isinstance(items[0], Rows) and items[0].value.dtype.kind == "b":
            return _put_masked(call, target, items[0], value)
        items, first, rank = _mapped_index(call, x.ndim, index, True)
        row_rank = _row_rank(target.ndim, tuple(items))
        if isinstance(value, Rows):
            value = aligned(value, row_rank) if value.ndim <= row_rank else _without_ones(call, value, row_rank)
        elif isinstance(value, Tensor) and value.ndim > 0 and first:
            value = broadcast_to(value, (call.size, *((1,) * (row_rank - value.ndim)), *value.shape))
        if first and isinstance(value, Tensor) and value.ndim == row_rank + 1:
            value = moveaxis(value, tuple(range(1 + first, 1 + first + rank)), tuple(range(1, rank + 1)))
        target[tuple(items)] = value
        return None
    full, place = _unmapped_index(call, x, index)
    if isinstance(value, Rows):
        rank = _row_rank(target.ndim, full)
        value = aligned(value, rank) if value.ndim <= rank else _without_ones(call, value, rank)
        value = moveaxis(value, 0, place) if place else value
    elif place and isinstance(value, Tensor) and value.ndim > place:
        value = moveaxis(broadcast_to(value, (call.size, *value.shape)), 0, place)
    target[full] = value
    return None


def scattered(call):
    """Added into zeros where an index chooses."""
    index, shape, value = call.arguments["index"], call.arguments["shape"], call.arguments["x"]
    value = Rows.of(all_rows(call, value))
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if holds_rows(index):
        items, first, rank = _mapped_index(call, len(shape), index, True)
        value = aligned(value, _row_rank(len(shape) + 1, tuple(items)))
        value = moveaxis(value, tuple(range(1 + first, 1 + first + rank)), tuple(range(1, rank + 1))) if first else value
        return call.run(x=value, index=tuple(items), shape=(call.size, *shape))
    full, place = _unmapped_index(call, None, index)
    value = aligned(value, _row_rank(len(shape) + 1, full))
    return call.run(x=moveaxis(value, 0, place) if place else value, index=full, shape=(call.size, *shape))


def _row_rank(rank, index):
    # The axes of one row of what an index takes of an array of *rank* axes, the rows' among them.
    items = _full_index(index, rank)
    arrays = [item for item in items if _is_array(item) or isinstance(item, (bool, np.bool_))]
    taken = max((1 if isinstance(item, (bool, np.bool_)) or as_tensor(item).dtype.kind == "b" else ndim(item) for item in arrays), default=0)
    return builtins.sum(1 for item in items if isinstance(item, slice) or item is None) + taken - 1


def _without_ones(call, value, rank):
    extra = value.ndim - rank
    if any(size != 1 for size in value.shape[:extra]):
        raise ValueError(f"{call.op}: a value of shape {value.shape} does not fit")
    return reshape(value.value, (call.size, *value.shape[extra:]))


def _put_masked(call, target, mask, value):
    # One number for each row, or as many as the mask has places in each row, one after the other.
    missing = target.ndim - 1 - mask.ndim
    flags = expand_dims(mask.value, tuple(range(1 + mask.ndim, 1 + mask.ndim + missing))) if missing else mask.value
    if ndim(value) > missing:
        value = _in_places(call, mask, value)
    target[...] = where(flags, aligned(value, target.ndim - 1), target)


def _in_places(call, mask, value):
    # The values moved to where the mask is true, of the mask's axes and those that follow.
    value = all_rows(call, value)
    flat = reshape(mask.value, (call.size, math.prod(mask.shape)))
    if value.shape[1] == 1:
        return reshape(value, (call.size,) + (1,) * mask.ndim + value.shape[2:])
    counts = np.asarray(_batched.beneath(sum(flat, axis=1)))
    if (counts != value.shape[1]).any():
        raise ValueError(f"{call.op}: {value.shape[1]} values for each row do not fit masks that choose {sorted(set(counts.ravel().tolist()))} places")
    order = clip(cumsum(flat, axis=1) - 1, 0, max(value.shape[1] - 1, 0))
    chosen = value[reshape(arange(call.size), (call.size, 1)), order] if value.shape[1] else zeros((*order.shape, *value.shape[2:]), dtype=value.dtype)
    return reshape(chosen, (call.size, *mask.shape, *value.shape[2:]))


# what has no answer for all rows at once

def read(call):
    raise errors.MappedError(f"{call.op}: inside {call.level.title()} an array stands for one row of many: its value cannot be read, nor branched on; use "
                             "where, or cond and while_loop of fastops.func")


def depends_on_data(call):
    names = {argument.name for argument in call.op._schema.arguments}
    way = "say with size= how many there are at most in a row" if "size" in names else "use where(condition, x, y), or call it outside of the function"
    raise errors.MappedError(f"{call.op}: the shape of the result depends on the data, and so would be another in each row; {way}")


def first_mapped(call):
    """Elementwise in the first argument, where the others are not mapped."""
    name = next(iter(call.arguments))
    return call.run(**{name: call.arguments[name].value}) if only(call, name) else row_by_row(call)


def quantiles(call):
    x, q = call.arguments["x"], call.arguments["q"]
    if holds_rows(call.arguments.get("weights")) or "out" in call.arguments:
        return row_by_row(call)
    if not isinstance(x, Rows):                 # all parts of all rows at once
        result = call.run(q=reshape(q.value, -1))
        return reshape(result, (*q.value.shape, *result.shape[1:]))
    if isinstance(q, Rows) or call.arguments.get("weights") is not None:
        return row_by_row(call)
    result = call.run(x=x.value, axis=at_all(call, call.arguments.get("axis"), x.ndim))
    return moveaxis(result, np.ndim(q), 0) if np.ndim(q) else result


RULES = {rule.__name__.replace("_", " "): rule for rule in (
    along_axis, along_one_axis, broadcast, creation, depends_on_data, dotted, expanded, first_mapped, flattened, in_line, joined, leading, matrices, moved,
    over_axes, permuted, product, put, quantiles, ravelled, read, reduction, regions, reinterpreted, reshaped, row_by_row, same_shape, scattered, sort_keys,
    solved, squeezed, summed, taken, transposed_matrices, two_axes, windows)}
RULES["elementwise"] = _batched.ELEMENTWISE
FAMILIES = {"elementwise": _batched.ELEMENTWISE, "reduction": reduction, "linear-algebra": leading, "creation": creation,
            "data-dependent": depends_on_data}


class Info:
    """What a rule of a user's operator is told beside the arguments: how many rows there are, and what random numbers do."""
    __slots__ = ("batch_size", "randomness")

    def __init__(self, level):
        self.batch_size, self.randomness = level.size, level.randomness

    def __repr__(self):
        return f"Info(batch_size={self.batch_size}, randomness={self.randomness!r})"


def _bare(value):
    # An argument without its Rows.
    if isinstance(value, Rows):
        return value.value
    return type(value)(map(_bare, value)) if holds_rows(value) else value


def _axes(value):
    # 0 for a mapped argument, None for any other; lists of these for lists that hold one.
    if isinstance(value, Rows):
        return 0
    return list(map(_axes, value)) if holds_rows(value) else None


def in_front(name, result, axes):
    # Results of a user's rule with the rows along the first axis.
    if isinstance(result, (tuple, list)):
        if axes is None or isinstance(axes, int):
            axes = [axes] * len(result)
        if not isinstance(axes, (tuple, list)) or len(axes) != len(result):
            raise errors.MappedError(f"{name}: the rule of register_vmap gives {len(result)} results and the axes {axes!r}, which do not match")
        items = [in_front(name, item, axis) for item, axis in zip(result, axes)]
        return items if type(result) is list else tuple(items)
    if axes is None:
        return Constant(result)
    if not isinstance(result, Tensor) or not isinstance(axes, int):
        raise errors.MappedError(f"{name}: the rule of register_vmap gives {type(result).__name__} with the axis {axes!r}; a Tensor with a number, or None, is wanted")
    return moveaxis(result, axes, 0) if axes % max(result.ndim, 1) else result


def users_rule(function):
    """The rule that ``function(info, in_dims, *args, **kwargs) -> (results, out_dims)`` says."""
    def rule(call):
        names = [argument.name for argument in call.op._schema.arguments if not argument.kwarg_only]
        given = [name for name in names if name in call.arguments]
        args = [call.arguments[name] for name in given]
        kwargs = {name: _bare(value) for name, value in call.arguments.items() if name not in given}
        answer = function(Info(call.level), tuple(map(_axes, args)), *map(_bare, args), **kwargs)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise errors.MappedError(f"{call.op}: the rule of register_vmap returns a pair (results, out_dims), not {answer!r}")
        return in_front(call.op, *answer)
    return rule


def _with_warning(call):
    # A user's operator without a rule.
    _warn_once(call.op)
    return row_by_row(call)


_warned = set()


def _warn_once(operator):
    if operator.name() not in _warned:
        _warned.add(operator.name())
        warnings.warn(f"{operator} has no rule for mapped arrays and is called row by row: register one with "
                      f"fastops.library.register_vmap({operator.name()!r}, rule), or tag the operator as pointwise", RuntimeWarning, stacklevel=4)


def rule_of(operator):
    """The rule that the declaration says, or that of the family; row by row where there is neither."""
    said = operator.batching
    if isinstance(said, str):
        return cores(said) if "->" in said else RULES[said]
    if said is not None:
        return said
    if operator.namespace == "fastops":
        return FAMILIES.get(operator.rules.family, row_by_row)
    return _batched.ELEMENTWISE if any(tag.name == "pointwise" for tag in operator.tags) else _with_warning


_batched.set_rules(rule_of, expand_dims, lambda x, size: copy(broadcast_to(x, (size, *x.shape)), "C"), row_by_row)
