"""array-api-compat, array-api-extra and array-api-strict: programs that are written for any array namespace."""

import pytest

compat = pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
extra = pytest.importorskip("array_api_extra", reason="array-api-extra is not installed")

from .calls import Group        # noqa: E402


def xp(*arrays):
    return compat.array_namespace(*arrays)


def strict(array, *more):
    return pytest.importorskip("array_api_strict", reason="array-api-strict is not installed").asarray(array, *more)


def name_of(dtype):
    return str(dtype).split(".")[-1]


COMPAT = Group("array-api-compat", 50, [
    ("is_array_api_obj", lambda a: compat.is_array_api_obj(a)), ("array_namespace", lambda a: xp(a).__name__ != ""),
    ("namespace of two", lambda v, w: xp(v, w) is xp(v)), ("device", lambda a: str(compat.device(a))),
    ("size", lambda a: compat.size(a)), ("to_device", lambda a: compat.to_device(a, compat.device(a))),
    ("is_lazy_array", lambda a: compat.is_lazy_array(a)), ("is_writeable_array", lambda a: compat.is_writeable_array(a)),
    ("is_torch_array", lambda a: compat.is_torch_array(a)),
    ("is_numpy_namespace is answered", lambda a: isinstance(compat.is_numpy_namespace(xp(a)), bool)),
    ("sum", lambda a: xp(a).sum(a, axis=0)), ("mean", lambda a: xp(a).mean(a, axis=1, keepdims=True)),
    ("std correction", lambda a: xp(a).std(a, correction=1)), ("var correction", lambda a: xp(a).var(a, axis=0, correction=1.0)),
    ("matmul", lambda a, b: xp(a).matmul(a, b)), ("matrix_transpose", lambda t: xp(t).matrix_transpose(t)),
    ("permute_dims", lambda t: xp(t).permute_dims(t, (2, 0, 1))), ("concat", lambda a: xp(a).concat([a, a], axis=1)),
    ("stack", lambda v, w: xp(v).stack([v, w])), ("unstack", lambda a: xp(a).unstack(a)),
    ("where", lambda m, v, w: xp(v).where(m, v, w)), ("astype", lambda a: xp(a).astype(a, xp(a).float32)),
    ("isdtype", lambda a: xp(a).isdtype(a.dtype, "real floating")),
    ("result_type", lambda f, a: name_of(xp(a).result_type(f, a))), ("finfo", lambda f: float(xp(f).finfo(f.dtype).eps)),
    ("iinfo", lambda i: xp(i).iinfo(i.dtype).max), ("can_cast", lambda f, a: xp(a).can_cast(f.dtype, a.dtype)),
    ("unique_values", lambda i: xp(i).sort(xp(i).unique_values(i))), ("unique_counts", lambda i: tuple(xp(i).unique_counts(i))),
    ("unique_all", lambda i: tuple(xp(i).unique_all(i))[3]), ("sort descending", lambda v: -xp(v).sort(-v)),
    ("argsort", lambda v: xp(v).argsort(v, stable=True)), ("searchsorted", lambda x, w: xp(x).searchsorted(x, w)),
    ("take", lambda a, n: xp(a).take(a, n[:2] % 3, axis=1)),
    ("take_along_axis", lambda a: xp(a).take_along_axis(a, xp(a).argsort(a, axis=0), axis=0)),
    ("cumulative_sum", lambda v: xp(v).cumulative_sum(v, include_initial=True)),
    ("cumulative_prod", lambda v: xp(v).cumulative_prod(v)), ("clip", lambda a: xp(a).clip(a, -0.5, 0.5)),
    ("nonzero", lambda k: xp(k).nonzero(k)), ("count_nonzero", lambda k: xp(k).count_nonzero(k, axis=0)),
    ("expand_dims", lambda a: xp(a).expand_dims(a, axis=1)), ("squeeze", lambda a: xp(a).squeeze(a[None, ...], axis=0)),
    ("moveaxis", lambda t: xp(t).moveaxis(t, 0, -1)), ("tile", lambda a: xp(a).tile(a, (2, 1))),
    ("repeat", lambda v: xp(v).repeat(v, 2)), ("roll", lambda a: xp(a).roll(a, 1, axis=0)),
    ("flip", lambda a: xp(a).flip(a, axis=1)), ("diff", lambda v: xp(v).diff(v)), ("vecdot", lambda v, w: xp(v).vecdot(v, w)),
    ("tensordot", lambda t, a: xp(t).tensordot(t, a, axes=1)), ("logaddexp", lambda v, w: xp(v).logaddexp(v, w)),
    ("linalg.norm of vector", lambda v: xp(v).linalg.vector_norm(v)), ("linalg.solve", lambda s, q: xp(s).linalg.solve(s, q)),
    ("linalg.cholesky upper", lambda s: xp(s).linalg.cholesky(s, upper=True)),
    ("linalg.svd", lambda a: tuple(xp(a).linalg.svd(a, full_matrices=False))),
    ("linalg.eigh", lambda s: tuple(xp(s).linalg.eigh(s))), ("linalg.trace", lambda q: xp(q).linalg.trace(q)),
    ("fft.rfft", lambda v: xp(v).fft.rfft(v)), ("fft.fftfreq", lambda v: xp(v).fft.fftfreq(6)),
    ("asarray", lambda a: xp(a).asarray([1.0, 2.0], device=compat.device(a))),
    ("zeros", lambda a: xp(a).zeros((2, 3), dtype=a.dtype, device=compat.device(a))), ("arange", lambda a: xp(a).arange(5)),
    ("linspace", lambda a: xp(a).linspace(0.0, 1.0, 5)), ("eye", lambda a: xp(a).eye(3)),
    ("meshgrid", lambda v, w: xp(v).meshgrid(v, w, indexing="ij")), ("from_dlpack", lambda a: xp(a).from_dlpack(a)),
    ("constants", lambda a: (xp(a).pi, xp(a).inf, xp(a).newaxis)),
    ("info capabilities", lambda a: xp(a).__array_namespace_info__().capabilities()["boolean indexing"]),
    ("info default_dtypes", lambda a: name_of(xp(a).__array_namespace_info__().default_dtypes()["real floating"])),
    ("info dtypes", lambda a: sorted(xp(a).__array_namespace_info__().dtypes(kind="signed integer"))),
    ("api version", lambda a: xp(a).__array_api_version__ >= "2024.12"),
])

EXTRA = Group("array-api-extra, array-api-strict", 19, [
    ("at set", lambda v: extra.at(v, 0).set(9.0)), ("at add by mask", lambda v, m: extra.at(v, m).add(1.0)),
    ("at multiply", lambda a: extra.at(a)[1, :].multiply(2.0)), ("at min", lambda v: extra.at(v, slice(0, 2)).min(1.0)),
    ("atleast_nd", lambda v: extra.atleast_nd(v, ndim=3)),
    ("broadcast_shapes", lambda a: extra.broadcast_shapes(a.shape, (1, 3))), ("cov", lambda a: extra.cov(a)),
    ("create_diagonal", lambda v: extra.create_diagonal(v)), ("expand_dims", lambda a: extra.expand_dims(a, axis=(0, 2))),
    ("isclose", lambda v, w: extra.isclose(v, w)), ("isin", lambda i, n: extra.isin(i, n)),
    ("kron", lambda v, w: extra.kron(v, w)), ("nan_to_num", lambda v: extra.nan_to_num(v)),
    ("nunique", lambda i: extra.nunique(i)), ("one_hot", lambda n: extra.one_hot(n, 5)), ("pad", lambda v: extra.pad(v, 2)),
    ("partition", lambda v: xp(v).sort(extra.partition(v, 2)[:3])),
    ("argpartition", lambda v: xp(v).sort(extra.argpartition(v, 2)[:3])),
    ("setdiff1d", lambda i, n: xp(i).sort(extra.setdiff1d(i, n))), ("sinc", lambda v: extra.sinc(v)),
    ("apply_where", lambda w: extra.apply_where(w > 0, w, lambda x: x * 2, lambda x: -x)),
    ("default_dtype", lambda a: name_of(extra.default_dtype(xp(a)))), ("strict asarray", lambda a: strict(a).__array__()),
    ("strict from_dlpack", lambda a: strict(a[:1]).__array_namespace__().from_dlpack(a).__array__()),
    ("strict asarray copy=False", lambda v: xp(strict(v)).sum(xp(strict(v)).asarray(v)).__float__()),
])

test_compat, test_compat_native = COMPAT.tests()
test_extra, test_extra_native = EXTRA.tests()
