"""Nested containers as a list of leaves and a structure: what transforms take and give.

Dicts, lists, tuples, named tuples, dataclasses and classes that are registered are containers; None is an empty one;
everything else is a leaf. JAX calls these pytrees: https://docs.jax.dev/en/latest/pytrees.html
"""

_registered = {}        # class -> (flatten: value -> (children, context), unflatten: (context, children) -> value)


class Structure:
    """What is left of nested containers without their leaves: equal where the containers are alike."""
    __slots__ = ("kind", "context", "children", "leaves")

    def __init__(self, kind, context, children):
        self.kind, self.context, self.children = kind, context, children
        self.leaves = 1 if kind is None else sum([child.leaves for child in children])

    def __eq__(self, other):
        return isinstance(other, Structure) and (self.kind, self.context, self.children) == (other.kind, other.context, other.children)

    def __hash__(self):
        return hash((self.kind, self.leaves))

    def __repr__(self):
        if self.kind is None:
            return "*"
        return repr(_rebuilt(self, list(self.children)))


LEAF = Structure(None, None, ())


def register_pytree_node(cls, flatten, unflatten):
    """Let transforms look into instances of *cls*.

    ``flatten(value)`` gives the children and a hashable context, ``unflatten(context, children)`` the value again.

    >>> import fastops as fo
    >>> class Line:
    ...     def __init__(self, slope, shift):
    ...         self.slope, self.shift = slope, shift
    >>> fo.tree.register_pytree_node(Line, lambda line: ((line.slope, line.shift), None), lambda _, parts: Line(*parts))
    >>> fo.grad(lambda line: line.slope * 2 + line.shift)(Line(1.0, 3.0)).slope
    tensor(2.)
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node: {cls!r} is not a class")
    if cls in _registered:
        raise ValueError(f"register_pytree_node: {cls.__name__} is registered already")
    _registered[cls] = flatten, unflatten


def _opened(tree):
    # The kind, context and children of a container; None for a leaf.
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, None, tree
    if kind is dict:
        keys = tuple(tree)
        try:
            keys = tuple(sorted(keys))
        except TypeError:
            pass
        return kind, keys, [tree[key] for key in keys]
    if tree is None:
        return kind, None, ()
    if kind in _registered:
        children, context = _registered[kind][0](tree)
        return kind, context, tuple(children)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind, None, tuple(tree)
    if isinstance(tree, dict):
        keys = tuple(tree)
        return kind, (keys, getattr(tree, "default_factory", None)), [tree[key] for key in keys]
    if isinstance(tree, (list, tuple)) and kind.__module__ != "builtins":
        return kind, None, tuple(tree)
    if hasattr(kind, "__dataclass_fields__"):       # as the module dataclasses marks them, which is long to import
        from dataclasses import fields
        names = tuple(field.name for field in fields(tree))
        return kind, names, [getattr(tree, name) for name in names]
    return None


def _rebuilt(structure, children):
    kind, context = structure.kind, structure.context
    if kind is list:
        return list(children)
    if kind is tuple:
        return tuple(children)
    if kind is dict:
        return dict(zip(context, children))
    if kind is type(None):
        return None
    if kind in _registered:
        return _registered[kind][1](context, tuple(children))
    if hasattr(kind, "_fields"):
        return kind(*children)
    if issubclass(kind, dict):
        keys, factory = context
        pairs = zip(keys, children)
        return kind(pairs) if factory is None else kind(factory, pairs)
    if issubclass(kind, (list, tuple)):
        return kind(children)
    value = object.__new__(kind)        # a dataclass, whatever its __init__ does
    for name, child in zip(context, children):
        object.__setattr__(value, name, child)
    return value


def flatten(tree):
    """The leaves of nested containers in order, and their Structure.

    >>> from fastops import tree
    >>> tree.flatten({"b": [1, 2], "a": (3, None)})
    ([3, 1, 2], {'a': (*, None), 'b': [*, *]})
    """
    leaves = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    opened = _opened(tree)
    if opened is None:
        leaves.append(tree)
        return LEAF
    kind, context, children = opened
    return Structure(kind, context, tuple([_flatten(child, leaves) for child in children]))


def unflatten(structure, leaves):
    """The containers again, around other leaves.

    >>> from fastops import tree
    >>> leaves, structure = tree.flatten((1, [2]))
    >>> tree.unflatten(structure, ["one", "two"])
    ('one', ['two'])
    """
    return _unflatten(structure, iter(leaves))


def _unflatten(structure, leaves):
    if structure.kind is None:
        return next(leaves)
    return _rebuilt(structure, [_unflatten(child, leaves) for child in structure.children])


def map(function, tree, *rest):
    """*function* of each leaf, and of the leaves at the same place in *rest*; ValueError if the structures differ.

    >>> from fastops import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1}, {"a": 10})
    {'a': 11}
    """
    leaves, structure = flatten(tree)
    others = []
    for other in rest:
        found, its = flatten(other)
        if its != structure:
            raise ValueError(f"the structures differ: {structure} and {its}")
        others.append(found)
    return unflatten(structure, [function(*values) for values in zip(leaves, *others)])
