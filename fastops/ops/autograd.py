"""What the derivatives are computed with beside the public operators, and what the engine needs of both.

These are operators like all others, so that derivatives of derivatives, of vmap and of traces go through them.
"""

import builtins

import numpy as np

from fastops import _autograd as engine
from fastops import errors, samples
from fastops._autograd import region_arrays, region_facts
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, Tensor, as_tensor
from fastops._loops import Elementwise, ScaleLoops, as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import constant, linear, partials
from fastops.ops.create import asarray, ones_like, zeros, zeros_like
from fastops.ops.elementwise import add, conj, negative
from fastops.ops.families import with_options
from fastops.ops.index import choices, getitem, setitem
from fastops.ops.reduce import sum
from fastops.ops.shape import astype, broadcast_to, copy, expand_dims, real, reshape, stack
from fastops.samples import Sample


def _scale_samples(rng):
    for dtype in ("f4", "f8", "c8", "c16"):
        for array in samples.layouts(rng, dtype):
            yield Sample(array, array)
        yield Sample(np.zeros((3,), dtype), np.asarray([1, np.inf, np.nan], dtype))
        yield Sample(samples.array(rng, (3, 1), dtype), samples.array(rng, (4,), dtype))


def _scale_reference(g, factor):
    with np.errstate(invalid="ignore"):
        return np.where((g == 0) | (factor == 0), np.asarray(0, np.result_type(g, factor)), g * factor)


_scale = Elementwise(ScaleLoops())
scale = declare(
    "scale(Array x, Array factor, /, Tensor(a!)? out=None) -> Tensor",
    "x times factor, but 0 where one of them is 0, even if the other is infinite or NaN there.", module="autograd",
    family="elementwise", kernels={DispatchKey.CPU: _scale, DispatchKey.Meta: _scale}, samples=_scale_samples,
    reference=_scale_reference, derivative=partials(x=lambda factor: factor, factor=lambda x: x), notes="""
Derivatives are computed with it: what a choice such as ``where`` left out must not turn a gradient into NaN.

Parameters
----------
x, factor : array_like of floating-point or complex dtype
    Shapes that broadcast together.

Returns
-------
Tensor
    The broadcast shape, of the common dtype (float32 for float16).""", example="""
>>> fo.autograd.scale(fo.asarray([0.0, 2.0]), fo.inf)
tensor([ 0., inf])""")


def _bases(rng):
    # An array and the region of each of some views of it.
    base = share_ndarray(samples.array(rng, (3, 4), "f8"))
    for view in (base[1], base[::2, ::-1], base.T[1:], base[:0]):
        yield as_ndarray(base), engine.make_region(view, base)


def _region_on_cpu(x, region):
    return share_ndarray(region_arrays(region, as_ndarray(x))[1].copy())


def _placed_on_cpu(value, region):
    whole, part = region_arrays(region)
    if internally_overlapping(part):
        np.add.at(part, ..., as_ndarray(value))
    else:
        part[...] = as_ndarray(value)
    return share_ndarray(whole.copy())


def _overlaid_on_cpu(x, value, region):
    whole, part = region_arrays(region, as_ndarray(x))
    part[...] = as_ndarray(value)
    return share_ndarray(whole.copy())


def internally_overlapping(part):
    """Whether several elements may share a cell, as in what broadcast_to or sliding windows show."""
    extent = builtins.sum([abs(step) * (size - 1) for size, step in zip(part.shape, part.strides)]) + part.itemsize
    return part.size * part.itemsize > extent or 0 in [step for size, step in zip(part.shape, part.strides) if size > 1]


REGION_EXAMPLE = """
>>> from fastops._autograd import make_region
>>> base = fo.ones((2, 3))
>>> fo.autograd.{}({}, make_region(base[1], base)).shape
"""


region = declare(
    "region(Array x, Any region, /) -> Tensor", "The part of x that a view of it shows.", module="autograd", family="indexing", batching="regions",
    kernels={DispatchKey.CPU: _region_on_cpu, DispatchKey.Meta: lambda x, region: empty_meta(*region_facts(region)[2:])},
    samples=lambda rng: (Sample(*pair) for pair in _bases(rng)), derivative=linear(x=lambda g, region: placed(g, region)),
    notes="The engine reads a view with it whose origin was written in place.", example=REGION_EXAMPLE.format("region", "base") + "(3,)")

placed = declare(
    "placed(Array value, Any region, /) -> Tensor", "Zeros in the whole's shape, but value in the part.", module="autograd",
    family="indexing", batching="regions", kernels={DispatchKey.CPU: _placed_on_cpu,
                                DispatchKey.Meta: lambda value, region: empty_meta(*region_facts(region)[:2])},
    samples=lambda rng: (Sample(_region_on_cpu(share_ndarray(base), part), part) for base, part in _bases(rng)),
    derivative=linear(value=lambda g, region: _region(g, region)), notes="The transpose of region.", example=REGION_EXAMPLE.format("placed", "base[1]") + "(2, 3)")

overlaid = declare(
    "overlaid(Array x, Array value, Any region, /) -> Tensor", "x, but value in the part.", module="autograd", family="indexing", batching="regions",
    kernels={DispatchKey.CPU: _overlaid_on_cpu,
             DispatchKey.Meta: lambda x, value, region: empty_meta(*region_facts(region)[:2])},
    samples=lambda rng: (Sample(base, _region_on_cpu(share_ndarray(base), part), part) for base, part in _bases(rng)),
    derivative=linear(x=lambda g, region: overlaid(g, zeros_like(_region(g, region)), region), value=lambda g, region: _region(g, region)),
    notes="The engine records it where an array is written through a view.", example=REGION_EXAMPLE.format("overlaid", "base, base[0]") + "(2, 3)")

def _scattered_on_cpu(g, index, shape):
    whole = np.zeros(shape, g.dtype)
    if is_basic(index):
        whole[index] = as_ndarray(g)
    else:
        np.add.at(whole, places_of(index), as_ndarray(g))
    return share_ndarray(whole)


def is_basic(index):
    """Whether an index gives a view: each element is then chosen once."""
    parts = index if isinstance(index, tuple) else (index,)
    return all([part is None or part is Ellipsis or isinstance(part, (int, slice)) and not isinstance(part, bool) for part in parts])


def places_of(index):
    """An index with NumPy arrays for tensors."""
    if isinstance(index, tuple):
        return tuple([places_of(part) for part in index])
    return as_ndarray(index) if isinstance(index, Tensor) else index


scattered = declare(
    "scattered(Array x, Any index, int[] shape, /) -> Tensor", "Zeros of a shape, with x added where an index chooses.", module="autograd",
    family="indexing", batching="scattered", kernels={DispatchKey.CPU: _scattered_on_cpu, DispatchKey.Meta: lambda g, index, shape: empty_meta(shape, g.dtype)},
    samples=lambda rng: (Sample(np.asarray(array[index]), index, array.shape) for array, index in choices(rng) if array.dtype == "f8"),
    derivative=linear(x=lambda g, index: getitem(g, index)), notes="""
The transpose of indexing: elements that are chosen several times are added up.""", example="""
>>> fo.autograd.scattered(fo.asarray([1.0, 2.0, 3.0]), fo.asarray([0, 2, 0]), (3,))
tensor([4., 0., 2.])""")


_region = region        # a formula's parameter has the operator's name


detach = declare(
    "detach(Array x, /) -> Tensor", "The same memory, of which no derivative is taken: a constant to every transform.", methods=("detach",),
    family="view", kernels={DispatchKey.CompositeExplicitAutograd: lambda x: engine.alias(as_tensor(x))}, derivative=constant().but(smooth=()),
    batching="same shape", samples=lambda rng: map(Sample, samples.layouts(rng, "f8")), reference=np.asarray, notes="""
Returns
-------
Tensor
    x's shape and dtype, sharing its memory.

Notes
-----
PyTorch: ``torch.Tensor.detach``; JAX: ``jax.lax.stop_gradient``.""", example="""
>>> fo.grad(lambda x: x * fo.detach(x))(3.0)
tensor(3.)""")


def fit(g, shape, dtype):
    """A cotangent of a broadcast and cast argument as that argument's: summed over the broadcast axes, and cast."""
    if g.shape != shape:
        added = g.ndim - len(shape)
        if added < 0 or any(size not in (1, g.shape[added + axis]) for axis, size in enumerate(shape)):
            try:
                g = broadcast_to(g, shape)
            except ValueError:
                raise errors.DerivativeError(f"the gradient has shape {g.shape}, but the argument has shape {shape}") from None
        else:
            axes = tuple(range(added)) + tuple([added + axis for axis, size in enumerate(shape) if size == 1 != g.shape[added + axis]])
            g = sum(g, axis=axes, dtype=g.dtype) if axes else g
            g = g if g.shape == shape else reshape(g, shape)
    if g.dtype != dtype:
        if g.dtype.kind == "c" and dtype.kind != "c":
            g = real(g)
        g = g if g.dtype == dtype else astype(g, dtype)
    return g


def expand(g, rank, axis, keepdims):
    """The cotangent of a reduction with the reduced axes put back, of length 1."""
    if keepdims:
        return g
    if axis is None:
        return reshape(g, (1,) * rank)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return expand_dims(g, tuple(sorted([place % rank for place in axes]))) if rank else g


engine.set_structural(scale=scale, reshape=reshape, add=add, negative=negative, conj=conj, fit=fit, expand=expand, sum=sum, zeros_like=zeros_like, ones_like=ones_like,
                      zeros=zeros, region=region, placed=overlaid, copy=copy, broadcast_to=broadcast_to, detach=detach,
                      with_options=with_options, stack=stack, astype=astype, setitem=setitem, scattered=scattered, asarray=asarray)
