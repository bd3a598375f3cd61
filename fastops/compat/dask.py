"""Dask keeps tensors as the chunks of its arrays, and joins and reduces them with fastops' functions."""

import numpy as np
from dask.array import dispatch, register_chunk_type
from dask.base import normalize_token

import fastops as fo
from fastops._dispatch import Tensor


def einsum(subscripts, *operands, dtype=None, casting="safe", order="K", optimize=False):
    result = fo.einsum(subscripts, *operands)
    if dtype is None or result.dtype == dtype:
        return result
    if not np.can_cast(result.dtype, dtype, casting):
        raise TypeError(f"einsum: the result of dtype {result.dtype} does not cast to {np.dtype(dtype)} by the rule {casting!r}")
    return fo.astype(result, dtype)


def empty(shape, dtype=float, order="C", **more):
    return fo.empty(shape, dtype=dtype)


def percentile(a, q, method="linear"):
    """Percentiles of a chunk and its size, as Dask wants them before it merges those of all chunks."""
    from dask.array.percentile import _percentile      # the chunk's function has no public name
    values, count = _percentile(np.asarray(a), q, method)
    return fo.asarray(values) if isinstance(values, np.ndarray) else values, count


def number_of_elements(x, axis=None, keepdims=False, dtype=np.float64):
    """The number of elements along the axes, at every place of the others."""
    axes = range(x.ndim) if axis is None else [place % x.ndim for place in np.atleast_1d(axis)]
    count = np.prod([x.shape[place] for place in axes], dtype=np.int64)
    left = [1 if place in axes else size for place, size in enumerate(x.shape) if keepdims or place not in axes]
    return fo.full(tuple(left), count, dtype=dtype)


def number_of_numbers(x, **options):
    """The number of elements that are not NaN."""
    dtype = options.pop("dtype", np.float64)
    return fo.sum(fo.logical_not(fo.isnan(x)), dtype=dtype, **options)


register_chunk_type(Tensor)
dispatch.concatenate_lookup.register(Tensor, fo.concatenate)
dispatch.tensordot_lookup.register(Tensor, fo.tensordot)
dispatch.einsum_lookup.register(Tensor, einsum)
dispatch.take_lookup.register(Tensor, fo.take)
dispatch.empty_lookup.register(Tensor, empty)
dispatch.percentile_lookup.register(Tensor, percentile)
dispatch.numel_lookup.register(Tensor, number_of_elements)
dispatch.nannumel_lookup.register(Tensor, number_of_numbers)
dispatch.to_numpy_dispatch.register(Tensor, lambda x, **more: np.asarray(x))
normalize_token.register(Tensor, lambda x: ("fastops", normalize_token(np.asarray(x))))
