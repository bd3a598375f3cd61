"""Dask arrays whose chunks are tensors."""

import pytest

dask = pytest.importorskip("dask.array", reason="dask.array is not installed")

import numpy as np                      # noqa: E402
from dask.array import dispatch         # noqa: E402

import fastops as fo                    # noqa: E402

from .calls import INPUTS, Group, compare, plain        # noqa: E402


def chunked(array, *chunks):
    return dask.from_array(array, chunks=chunks or 2, asarray=False)


DASK = Group("Dask", 48, [
    ("round trip", lambda a: chunked(a).compute()),
    ("from_array by default", lambda a: dask.from_array(a, chunks=2).sum().compute()), ("meta", lambda a: chunked(a)._meta.shape),
    ("arithmetic", lambda a: (chunked(a) * 2 + 1).compute()), ("sum", lambda a: chunked(a).sum().compute()),
    ("sum over axis", lambda a: chunked(a).sum(axis=0).compute()), ("mean", lambda a: chunked(a).mean(axis=1).compute()),
    ("std", lambda a: chunked(a).std().compute()), ("var", lambda a: chunked(a).var(axis=0).compute()),
    ("max", lambda a: chunked(a).max(axis=0).compute()), ("argmax", lambda a: chunked(a).argmax(axis=0).compute()),
    ("any", lambda k: chunked(k).any(axis=0).compute()), ("cumsum", lambda v: chunked(v).cumsum(axis=0).compute()),
    ("ufunc", lambda a: dask.sin(chunked(a)).compute()), ("numpy ufunc", lambda a: np.exp(chunked(a)).compute()),
    ("numpy function", lambda a: np.sum(chunked(a), axis=0).compute()),
    ("matmul", lambda a, b: (chunked(a) @ chunked(b)).compute()),
    ("dot", lambda a, b: dask.dot(chunked(a), chunked(b)).compute()),
    ("tensordot", lambda t, a: dask.tensordot(chunked(t), chunked(a), axes=(2, 0)).compute()),
    ("einsum", lambda a, b: dask.einsum("ij,jk->ik", chunked(a), chunked(b)).compute()),
    ("transpose", lambda a: chunked(a).T.compute()), ("reshape", lambda a: chunked(a).reshape(12).compute()),
    ("slicing", lambda a: chunked(a)[1:, ::-1].compute()), ("integer index", lambda a: chunked(a)[1].compute()),
    ("list index", lambda a: chunked(a)[[0, 2]].compute()), ("mask", lambda a: chunked(a)[chunked(a) > 0].compute()),
    ("where", lambda a: dask.where(chunked(a) > 0, chunked(a), 0.0).compute()),
    ("concatenate", lambda a: dask.concatenate([chunked(a), chunked(a)]).compute()),
    ("stack", lambda v, w: dask.stack([chunked(v), chunked(w)]).compute()),
    ("rechunk", lambda a: chunked(a).rechunk(4).compute()),
    ("map_blocks", lambda a: chunked(a).map_blocks(lambda x: x + 1).compute()),
    ("map_overlap", lambda v: chunked(v).map_overlap(lambda x: x * 2, depth=1, boundary="reflect").compute()),
    ("percentile", lambda x: dask.percentile(chunked(x, 6), [50], method="linear").compute()),
    ("median", lambda a: dask.median(chunked(a, 4, 3), axis=0).compute()),
    ("histogram", lambda v: dask.histogram(chunked(v), bins=4, range=(0, 4))[0].compute()),
    ("bincount", lambda n: dask.bincount(chunked(n), minlength=5).compute()),
    ("unique", lambda i: dask.unique(chunked(i)).compute()),
    ("svd", lambda a: abs(dask.linalg.svd(chunked(a, 4, 3))[1]).compute()),
    ("qr", lambda a: abs(dask.linalg.qr(chunked(a, 2, 3))[1]).compute()),
    ("norm", lambda a: dask.linalg.norm(chunked(a)).compute()), ("fft", lambda c: dask.fft.fft(chunked(c, 6)).compute()),
    ("diff", lambda v: dask.diff(chunked(v)).compute()), ("pad", lambda v: dask.pad(chunked(v), 1, mode="constant").compute()),
    ("nansum", lambda a: dask.nansum(chunked(a)).compute()), ("nanmean", lambda a: dask.nanmean(chunked(a), axis=0).compute()),
    ("topk", lambda v: dask.topk(chunked(v), 2).compute()), ("clip", lambda a: chunked(a).clip(-0.5, 0.5).compute()),
    ("round", lambda a: chunked(a).round(1).compute()), ("astype", lambda a: chunked(a).astype("f4").compute()),
    ("tensor plus dask", lambda a: (a + chunked(a)).compute()),
    ("tokenize", lambda a: dask.core.tokenize(a) == dask.core.tokenize(a)),
    ("threads", lambda a: (chunked(a) + 1).sum(axis=0).compute(scheduler="threads")), ("setitem", lambda a: assigned(chunked(a))),
    ("repeat", lambda v: dask.repeat(chunked(v), 2).compute()),
])


def assigned(data):
    data[0] = 5.0
    return data.compute()


test_call_works, test_results_stay_native = DASK.tests()


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
def test_counts_of_a_chunk(axis, keepdims):
    # Dask's own count of the elements of a NumPy array is the oracle.
    chunk = np.where(INPUTS["t"] > 0.5, np.nan, INPUTS["t"])
    for lookup in (dispatch.numel_lookup, dispatch.nannumel_lookup):
        options = {"keepdims": keepdims, "dtype": "i8"} | ({} if axis is None else {"axis": axis if axis != -1 else 2})
        ours, theirs = lookup(fo.asarray(chunk), **options), lookup(chunk, **options)
        assert isinstance(ours, fo.Tensor)
        assert compare(plain(ours), plain(theirs)) == ""


def test_einsum_keeps_to_the_casting_rule():
    chunk = fo.asarray(INPUTS["a"])
    assert dispatch.einsum_lookup.dispatch(fo.Tensor)("ij->j", chunk, dtype="f4", casting="same_kind").dtype == np.float32
    with pytest.raises(TypeError, match="einsum.*float64.*float32.*safe"):
        dispatch.einsum_lookup.dispatch(fo.Tensor)("ij->j", chunk, dtype="f4")
