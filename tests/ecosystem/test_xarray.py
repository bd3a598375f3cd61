"""xarray with tensors inside."""

import pickle

import pytest

xarray = pytest.importorskip("xarray", reason="xarray is not installed")

import numpy as np                      # noqa: E402

from .calls import Group                # noqa: E402


def table(a):
    return xarray.DataArray(a, dims=("x", "y"), coords={"x": [0.0, 1.0, 2.0, 3.0], "y": list("abc")}, name="a")


def series(v):
    return xarray.DataArray(v, dims="x", coords={"x": np.arange(6.0)})


XARRAY = Group("xarray", 58, [
    ("construct", lambda a: table(a).data), ("values", lambda a: table(a).values),
    ("arithmetic", lambda a: (table(a) * 2 + 1).data), ("comparison", lambda a: (table(a) > 0).data),
    ("broadcasting", lambda a: (table(a) + table(a)[0]).data), ("sum", lambda a: table(a).sum().data),
    ("mean over dim", lambda a: table(a).mean("x").data), ("std", lambda a: table(a).std("x").data),
    ("var", lambda a: table(a).var("y", ddof=1).data), ("max", lambda a: table(a).max("y").data),
    ("min skipna", lambda a: table(a).min("y", skipna=True).data), ("median", lambda a: table(a).median("x").data),
    ("quantile", lambda a: table(a).quantile(0.3, "x").data), ("prod", lambda a: table(a).prod("x").data),
    ("any", lambda a: (table(a) > 0).any("x").data), ("count", lambda a: table(a).count("x").data),
    ("cumsum", lambda a: table(a).cumsum("x").data), ("argmax", lambda a: table(a).argmax("x").data),
    ("isel", lambda a: table(a).isel(x=1).data), ("isel slice", lambda a: table(a).isel(x=slice(1, 3)).data),
    ("isel list", lambda a: table(a).isel(x=[0, 2]).data), ("sel", lambda a: table(a).sel(y="b").data),
    ("sel nearest", lambda a: table(a).sel(x=1.2, method="nearest").data),
    ("boolean index", lambda v: series(v)[np.array([True, False] * 3)].data),
    ("transpose", lambda a: table(a).transpose("y", "x").data), ("T", lambda a: table(a).T.data),
    ("rename", lambda a: table(a).rename(x="z").data), ("stack", lambda a: table(a).stack(z=("x", "y")).data),
    ("unstack", lambda a: table(a).stack(z=("x", "y")).unstack().data), ("expand_dims", lambda a: table(a).expand_dims("z").data),
    ("squeeze", lambda a: table(a).expand_dims("z").squeeze("z").data),
    ("concat", lambda a: xarray.concat([table(a), table(a)], "z").data), ("where", lambda a: table(a).where(table(a) > 0).data),
    ("where other", lambda a: xarray.where(table(a) > 0, table(a), 0.0).data),
    ("fillna", lambda a: table(a).where(table(a) > 0).fillna(0.0).data), ("clip", lambda a: table(a).clip(-0.5, 0.5).data),
    ("isnull", lambda a: table(a).isnull().data), ("dot", lambda a: table(a).dot(table(a), dim="x").data),
    ("einsum dot", lambda a: xarray.dot(table(a), table(a)).data), ("shift", lambda a: table(a).shift(x=1).data),
    ("roll", lambda a: table(a).roll(x=1).data), ("pad", lambda a: table(a).pad(x=1, constant_values=0.0).data),
    ("diff", lambda a: table(a).diff("x").data), ("differentiate", lambda v: series(v).differentiate("x").data),
    ("integrate", lambda v: series(v).integrate("x").data), ("interp", lambda v: series(v).interp(x=[0.5, 1.5]).data),
    ("rolling mean", lambda v: series(v).rolling(x=3).mean().data),
    ("rolling construct", lambda v: series(v).rolling(x=3).construct("w").data),
    ("coarsen", lambda v: series(v).coarsen(x=2).mean().data),
    ("groupby", lambda v: series(v).groupby(xarray.DataArray([0, 1] * 3, dims="x", name="g")).mean().data),
    ("weighted", lambda v: series(v).weighted(series(v)).mean().data), ("astype", lambda a: table(a).astype("f4").data),
    ("round", lambda a: table(a).round(1).data), ("numpy ufunc", lambda a: np.sin(table(a)).data),
    ("apply_ufunc", lambda a: xarray.apply_ufunc(np.square, table(a)).data), ("real and imag", lambda c: series(c).real.data),
    ("item", lambda a: table(a)[0, 0].item()), ("float", lambda a: float(table(a)[0, 0])),
    ("Dataset", lambda a, v: xarray.Dataset({"a": table(a)}).mean()["a"].data),
    ("to_dataframe", lambda a: table(a).to_dataframe()["a"].to_numpy()), ("to_numpy", lambda a: table(a).to_numpy()),
    ("equals", lambda a: table(a).equals(table(a))), ("copy deep", lambda a: table(a).copy(deep=True).data),
    ("assignment", lambda a: assigned(table(a))), ("repr", lambda a: "x: 4" in repr(table(a))),
    ("polyfit", lambda v: series(v).polyfit("x", 1).polyfit_coefficients.data),
    ("Variable", lambda a: xarray.Variable(("x", "y"), a).mean("x").data),
    ("pickle", lambda a: pickle.loads(pickle.dumps(table(a))).data),
])


def assigned(data):
    data[0, :] = 5.0
    return data.data


test_call_works, test_results_stay_native = XARRAY.tests()
