"""What transforms of functions share: which arguments are differentiated, and what they must be."""

from fastops import errors, tree
from fastops._dispatch import Tensor, as_tensor


def chosen(name, args, argnums):
    """The positions that *argnums* names, as non-negative numbers."""
    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    found = []
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name}: argnums are whole numbers, not {number!r}")
        if not -len(args) <= number < len(args):
            raise ValueError(f"{name}: argnums says {number}, but the function was given {len(args)} positional arguments")
        found.append(number % len(args))
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: argnums {argnums} names an argument twice")
    return found


def inexact(name, value, place):
    """A leaf of what is differentiated, as a Tensor of floating-point or complex dtype."""
    if isinstance(value, (int, bool)) or not isinstance(value, Tensor):
        if not isinstance(value, (int, float, complex)) and not hasattr(value, "__array__"):
            raise TypeError(f"{name}: {place} holds {type(value).__name__}, which has no derivative; choose others with argnums")
        value = as_tensor(value)
    if value.dtype.kind not in "fc":
        raise errors.DerivativeError(f"{name}: {place} has dtype {value.dtype}: derivatives are by floating-point or complex numbers; "
                                     "use x.astype(float), or choose other arguments with argnums")
    return value


def place_of(position, total, structure):
    """How an error names a leaf's argument."""
    return f"argument {position}" if structure.kind is None else f"argument {position}, {structure},"


def traced(name, args, numbers, trace):
    """The arguments with the leaves of those at *numbers* traced; their leaves, traced, and their structures."""
    args = list(args)
    leaves, structures = [], []
    for number in numbers:
        if type(args[number]) is Tensor:        # the common case, without a tree
            value = args[number]
            if value.dtype.kind not in "fc":
                inexact(name, value, f"argument {number}")
            args[number] = trace(value)
            leaves.append(args[number])
            structures.append(tree.LEAF)
            continue
        found, structure = tree.flatten(args[number])
        made = [trace(inexact(name, leaf, place_of(number, len(args), structure))) for leaf in found]
        leaves.extend(made)
        structures.append(structure)
        args[number] = tree.unflatten(structure, made)
    return args, leaves, structures


def gathered(structures, values, single):
    """Values in the structures of the arguments; one of them if *single*, else a tuple."""
    values = iter(values)
    trees = [next(values) if structure.kind is None else tree.unflatten(structure, [next(values) for _ in range(structure.leaves)])
             for structure in structures]
    return trees[0] if single else tuple(trees)


def lowered(lower, value):
    """A result with the tensors of a transform as what is beneath them."""
    if type(value) is Tensor:
        return lower(value)
    return tree.map(lambda leaf: lower(leaf) if isinstance(leaf, Tensor) else leaf, value)
