"""pandas takes tensors as columns, as values and in arithmetic."""

import pytest

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np                      # noqa: E402

from .calls import Group                # noqa: E402


def frame(v, w):
    return pandas.DataFrame({"v": v, "w": w})


PANDAS = Group("pandas", 0, [
    ("Series", lambda v: pandas.Series(v).to_numpy()), ("Series dtype", lambda f: str(pandas.Series(f[:, 0]).dtype)),
    ("Series index", lambda i: pandas.Index(i).to_numpy()),
    ("DataFrame of a matrix", lambda a: pandas.DataFrame(a, columns=list("xyz")).to_numpy()),
    ("DataFrame of columns", lambda v, w: frame(v, w).to_numpy()),
    ("new column", lambda v, w: frame(v, w).assign(z=v * 2)["z"].to_numpy()),
    ("column assignment", lambda v, w: assigned(frame(v, w), w)),
    ("Series plus tensor", lambda v, w: (pandas.Series(np.asarray(v)) + w).to_numpy()),
    ("tensor plus Series", lambda v, w: np.asarray(w + pandas.Series(np.asarray(v)))),
    ("mask", lambda v, m: pandas.Series(np.asarray(v))[m].to_numpy()),
    ("iloc", lambda v, n: pandas.Series(np.asarray(v)).iloc[n].to_numpy()),
    ("isin", lambda i, n: pandas.Series(np.asarray(i)).isin(n).to_numpy()), ("cut", lambda v: pandas.cut(v, 3, labels=False)),
    ("qcut", lambda v: pandas.qcut(v, 2, labels=False)), ("factorize", lambda i: pandas.factorize(i)[0]),
    ("unique", lambda i: pandas.unique(i)), ("value_counts", lambda n: pandas.Series(n).value_counts().sort_index().to_numpy()),
    ("groupby", lambda v, n: pandas.Series(v).groupby(n).sum().to_numpy()), ("isna", lambda v: pandas.isna(v)),
    ("to_datetime", lambda n: pandas.to_datetime(n, unit="D").year.to_numpy()),
    ("Categorical", lambda n: pandas.Categorical(n).codes), ("crosstab", lambda n, m: pandas.crosstab(n, m).to_numpy()),
    ("get_dummies", lambda n: pandas.get_dummies(n).to_numpy()),
    ("rolling", lambda v: pandas.Series(v).rolling(2).mean().to_numpy()),
    ("tensor of a Series", lambda v: np.asarray(v + pandas.Series([1.0] * 6).to_numpy())),
    ("interpolate at", lambda v, x: pandas.Series(v, index=x).to_numpy()),
    ("where", lambda v, m: pandas.Series(np.asarray(v)).where(m, 0.0).to_numpy()),
    ("array", lambda v: pandas.array(v).to_numpy()),
], faults={
    **dict.fromkeys(["mask", "groupby"], "pandas takes lists, and only its own and NumPy's arrays beside them"),
    **dict.fromkeys(["factorize", "unique"], "pandas checks that it is its own or NumPy's array"),
    **dict.fromkeys(["isin", "Categorical"], "pandas makes a list of the elements, which are tensors and hash by identity"),
}, unsteady=("isin", "Categorical"))


def assigned(data, column):
    data["z"] = column
    data.loc[0, "z"] = 1.0
    return data["z"].to_numpy()


test_call_works, test_results_stay_native = PANDAS.tests()
