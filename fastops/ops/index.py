"""Indexing: what ``x[...]``, ``x[...] = y`` and ``x.item()`` mean."""

import numpy as np

from fastops import _dispatch as machine
from fastops import _views as views
from fastops import samples
from fastops._autograd import structural
from fastops._dispatch import DispatchKey
from fastops._loops import as_ndarray
from fastops.declare import declare
from fastops.derivatives import constant, linear
from fastops.ops.create import arange, zeros
from fastops.ops.elementwise import where
from fastops.samples import Sample

BASIC = (0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(-1, 0, -2), None, Ellipsis, (1, 2),
         (slice(None), 1), (Ellipsis, -1), (None, 1, Ellipsis, None), (slice(5, 9), 0), ())


# A mask is a list here: as an array on the meta device it would have no values to count.
ADVANCED = ([True, False, True], np.array([[0, 1], [2, 2]]), (np.array([0, 2]), slice(None, None, 2)),
            (slice(None), np.array([1, -1])), ([0, 1], [1, 0]), (np.array([0, 1]), None, np.array(1)), True, np.int64(1))


def choices(rng):
    """Arrays in several layouts, each with every form of index."""
    for dtype in ("f8", "i2", "c8", "?"):
        for array in (samples.array(rng, (3, 4), dtype), samples.array(rng, (4, 3), dtype).T,
                      samples.array(rng, (3, 4, 2), dtype)[:, ::-1]):
            for index in BASIC + ADVANCED:
                yield array, index


def assignments(rng):
    """The same with a value that fits: a number, an array of the chosen shape, one that is broadcast and cast."""
    for array, index in choices(rng):
        chosen = np.asarray(array[index])
        yield Sample(array.copy(), index, 1)
        yield Sample(array.copy(), index, samples.array(rng, chosen.shape, array.dtype))
        yield Sample(array.copy(), index, samples.array(rng, (1, *chosen.shape) if chosen.ndim else (), "u1"))


getitem = declare(
    "getitem(Tensor x, Any index, /) -> Tensor", "The elements of x that an index chooses, ``x[index]``.",
    family="indexing", kernels={DispatchKey.CompositeExplicitAutograd: views.getitem_kernel}, syntax="__getitem__",
    batching="taken", samples=lambda rng: (Sample(array, index) for array, index in choices(rng)),
    reference=lambda x, index: x[index], notes="""
Whole numbers, slices, None and Ellipsis give a view; boolean and integer arrays, lists of these, and mixtures give a
copy, all as in NumPy, but that a single element is a 0-dimensional Tensor.

Raises
------
IndexError
    If an index is out of bounds, there are too many, or something else than these is among them.

Notes
-----
NumPy: "Indexing on ndarrays" in its user guide.""", example="""
>>> x = fo.asarray([[1, 2, 3], [4, 5, 6]])
>>> fo.getitem(x, (slice(None), -1)), x[0, ::2], x[x > 4]
(tensor([3, 6]), tensor([1, 3]), tensor([5, 6]))""",
    derivative=linear(x=lambda g, x_shape, index: structural("scattered")(g, index, x_shape)))


setitem = declare(
    "setitem(Tensor(a!) x, Any index, Any value, /) -> ()", "Writes value where an index chooses, ``x[index] = value``.",
    family="indexing", kernels={DispatchKey.CompositeExplicitAutograd: views.setitem_kernel}, syntax="__setitem__",
    batching="put", samples=assignments, notes="""
The value is broadcast and cast as NumPy's assignment does; it may overlap x.

Raises
------
IndexError
    If the index does not fit.
ValueError
    If the value does not broadcast, or x is read-only.

Notes
-----
NumPy: "Assigning values to indexed arrays" in its user guide.""", example="""
>>> x = fo.zeros(4)
>>> x[1:3] = 7
>>> x
tensor([0., 7., 7., 0.])""",
    derivative=linear(x=lambda g, index: _without(g, index), value=lambda g, index: _written_value(g, index)))


def _written_value(g, index):
    # What is there in the end: of several values written to one place the last.
    chosen = getitem(g, index)
    parts = index if isinstance(index, tuple) else (index,)
    if all([part is None or part is Ellipsis or isinstance(part, (int, slice, bool)) or getattr(part, "dtype", None) == bool for part in parts]):
        return chosen
    order = arange(chosen.size).reshape(chosen.shape)
    writers = zeros(g.shape, dtype=order.dtype)
    writers[index] = order
    return where(writers[index] == order, chosen, 0)


def _without(g, index):
    # What was written over counts for nothing any more.
    g = g.clone()
    g[index] = 0
    return g


item = declare(
    "item(Tensor x, /, int[]? index=None) -> Scalar", "The one element of x, or that at an index, as a Python number.",
    family="indexing", kernels={DispatchKey.CPU: views.item_kernel}, syntax="item",
    methods=("item",), gather="index",
    batching="read", samples=lambda rng: (Sample(samples.array(rng, shape, dtype)) for dtype in samples.ALL for shape in ((), (1,), (1, 1))),
    notes="""
Raises
------
ValueError
    If x has not one element and no index is given.

Notes
-----
NumPy: ``numpy.ndarray.item``.""", example="""
>>> fo.asarray([5]).item(), fo.asarray([[1, 2]]).item(0, 1)
(5, 2)""",
    derivative=constant())


def tolist(self):
    """The elements as Python numbers in nested lists, as ``numpy.ndarray.tolist``."""
    return as_ndarray(self).tolist()


def _contains(self, value):
    return bool(np.any(as_ndarray(self == value)))


machine.install_method("tolist", tolist)
machine.install_hook("contains", _contains)
