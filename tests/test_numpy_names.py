"""NumPy's functions beyond the standard, on arguments that Hypothesis makes up: values, warnings and errors are NumPy's."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import fastops as fo
from fastops.testing import assert_close, results_of

FLOATS = arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
                       elements=st.sampled_from([0.0, -1.5, 2.0, 3.25, np.nan, np.inf, -np.inf, 7.0]))
FINITE = arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5), elements=st.floats(-8, 8, width=16))
WHOLE = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=6), elements=st.integers(-4, 9))


def outcome(function, *args, **kwargs):
    """What a call gives, or its exception; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            result = error
    return result, {warning.category for warning in caught}


def agree(ours, theirs, *args, warned=True, **kwargs):
    """Both functions on the same arguments; arrays are tensors for ours."""
    def tensor(value):
        return fo.asarray(value.copy()) if isinstance(value, np.ndarray) else value

    expected, their_warnings = outcome(theirs, *args, **kwargs)
    actual, our_warnings = outcome(ours, *map(tensor, args), **{name: tensor(value) for name, value in kwargs.items()})
    if isinstance(expected, Exception):
        kinds = tuple(kind for kind in (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError) if isinstance(expected, kind))
        assert isinstance(actual, kinds), f"{actual!r} where NumPy raises {expected!r}"
        return
    assert not isinstance(actual, Exception), f"{actual!r} where NumPy gives {expected!r}"
    for one, other in zip(results_of(actual), results_of(expected), strict=True):
        assert_close(one, other, rtol=1e-9, atol=1e-9)
    if warned:
        assert our_warnings == their_warnings


def some_axis(data, x, several=True):
    choices = [None, *range(-x.ndim, x.ndim)]
    if several and x.ndim > 1:
        choices += [(0, 1), (-1, 0), tuple(range(x.ndim))]
    return data.draw(st.sampled_from(choices))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian", "median"])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), x=FLOATS)
def test_reductions_with_nan(name, data, x):
    agree(getattr(fo, name), getattr(np, name), x, axis=some_axis(data, x), keepdims=data.draw(st.booleans()), warned=False)


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nanvar"])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), x=FLOATS)
def test_reductions_with_nan_and_a_mask(name, data, x):
    mask = data.draw(arrays.arrays(bool, x.shape))
    more = {"initial": -1.0} if name == "nanmax" else {}
    agree(getattr(fo, name), getattr(np, name), x, axis=some_axis(data, x), where=mask, warned=False, **more)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin", "nancumsum", "nancumprod"])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), x=FLOATS)
def test_places_and_running_sums_with_nan(name, data, x):
    agree(getattr(fo, name), getattr(np, name), x, axis=some_axis(data, x, several=False), warned=False)


@pytest.mark.parametrize("name", ["nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian", "median", "mean"])
@pytest.mark.parametrize("x", [np.array([np.nan, np.nan]), np.array([1.0, np.nan]), np.array([[np.nan, np.nan], [1.0, 2.0]]), np.array([])])
def test_warnings_are_numpys(name, x):
    for axis in (None, 0):
        agree(getattr(fo, name), getattr(np, name), x, axis=axis)


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), x=FINITE, q=st.floats(0, 1))
def test_quantiles(method, data, x, q):
    axis = some_axis(data, x)
    agree(fo.quantile, np.quantile, x, q, axis=axis, method=method)
    agree(fo.percentile, np.percentile, x, [q * 100, 50], axis=axis, method=method, keepdims=True)
    agree(fo.nanquantile, np.nanquantile, x, q, axis=axis, method=method)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), x=WHOLE, mode=st.sampled_from(["constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean", "minimum",
                                                      "median", "empty", "none"]))
def test_pad(data, x, mode):
    width = data.draw(st.one_of(st.integers(-1, 7), st.tuples(st.integers(0, 7), st.integers(0, 7)),
                                st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=x.ndim, max_size=x.ndim)))
    if mode != "empty":
        agree(fo.pad, np.pad, x, width, mode)


PLACES = st.one_of(st.integers(-7, 7), st.lists(st.integers(-6, 6), max_size=4), st.builds(slice, st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([None, 2, -1])))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), x=WHOLE, places=PLACES)
def test_delete(data, x, places):
    agree(fo.delete, np.delete, x, places, some_axis(data, x, several=False))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), x=WHOLE, places=PLACES)
def test_insert(data, x, places):
    axis = some_axis(data, x, several=False)
    length = x.size if axis is None else x.shape[axis]
    assume(not isinstance(places, list) or all(-length <= place <= length for place in places))     # NumPy takes others for what they are not
    value = data.draw(st.one_of(st.integers(-5, 5), st.just(np.arange(x.shape[-1])) if isinstance(places, int) else st.nothing()))
    agree(fo.insert, np.insert, x, places, value, axis)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), x=WHOLE)
def test_taken_apart_and_put_together(data, x):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    parts = data.draw(st.one_of(st.integers(1, 4), st.lists(st.integers(-7, 7), max_size=3)))
    agree(fo.array_split, np.array_split, x, parts, axis)
    agree(fo.split, np.split, x, parts, axis)
    agree(fo.append, np.append, x, x, axis)
    agree(fo.resize, np.resize, x, data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4))))
    agree(fo.trim_zeros, np.trim_zeros, x.ravel())
    agree(fo.repeat, np.repeat, x, 2, axis)
    agree(fo.roll, np.roll, x, data.draw(st.integers(-5, 5)), axis)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), x=FINITE)
def test_differences(data, x):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = data.draw(st.integers(1, 2))
    agree(fo.gradient, np.gradient, x, axis=axis, edge_order=order)
    agree(fo.gradient, np.gradient, x, np.cumsum(np.arange(1.0, x.shape[axis] + 1)), axis=axis, edge_order=order)
    agree(fo.trapezoid, np.trapezoid, x, axis=axis)
    agree(fo.unwrap, np.unwrap, x, axis=axis)
    agree(fo.diff, np.diff, x, n=order, axis=axis)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), x=WHOLE)
def test_chosen_and_written(data, x):
    places = data.draw(arrays.arrays(np.int64, st.integers(1, 4), elements=st.integers(-12, 12)))
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip"]))
    agree(fo.take, np.take, x, places, mode=mode)
    mask = data.draw(arrays.arrays(bool, x.shape))
    agree(fo.extract, np.extract, mask, x)
    agree(fo.argwhere, np.argwhere, x)
    agree(fo.flatnonzero, np.flatnonzero, x)
    for name, args in (("put", (places, [7, 8])), ("place", (mask, [7, 8])), ("putmask", (mask, [7, 8])), ("copyto", (5,)), ("fill_diagonal", (9,))):
        ours, theirs = fo.asarray(x.copy()), x.copy()
        more = {"mode": mode} if name == "put" else {}
        expected, _ = outcome(getattr(np, name), theirs, *args, **more)
        actual, _ = outcome(getattr(fo, name), ours, *args, **more)
        assert isinstance(actual, Exception) == isinstance(expected, Exception), (name, actual, expected)
        if not isinstance(expected, Exception):
            assert ours.tolist() == theirs.tolist(), name


@settings(max_examples=60, deadline=None)
@given(data=st.data(), x=FINITE)
def test_counts(data, x):
    agree(fo.histogram, np.histogram, x, bins=data.draw(st.integers(1, 5)), range=(-8.0, 8.0))
    agree(fo.digitize, np.digitize, x, np.array([-2.0, 0.0, 3.0]), right=data.draw(st.booleans()))
    if x.ndim <= 2 and x.shape[-1] > 1:
        agree(fo.cov, np.cov, x, warned=False)
        agree(fo.cov, np.cov, x, bias=True, warned=False)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), x=FLOATS)
def test_order(data, x):
    axis = some_axis(data, x, several=False)
    kind = data.draw(st.sampled_from([None, "quicksort", "stable", "heapsort", "bubble"]))
    agree(fo.sort, np.sort, x, axis=axis, kind=kind)
    agree(fo.argsort, np.argsort, x, axis=axis, kind="stable")
    agree(fo.unique, np.unique, x, return_counts=True, return_inverse=True)
    agree(fo.unique, np.unique, x, equal_nan=False)
    ours = fo.sort(fo.asarray(x), axis=-1, descending=True)
    agree(lambda: fo.flip(ours, -1), lambda: np.sort(x, axis=-1))


CALLS = {
    "block": ([[np.ones((2, 2)), np.zeros((2, 1))], [np.ones((1, 3))]],), "dstack": ([np.arange(3), np.arange(3)],),
    "select": ([np.array([True, False]), np.array([False, True])], [np.array([1, 2]), np.array([3.0, 4.0])]), "diag": (np.arange(3.0), -2),
    "tri": (3, 4, -1), "logspace": (0.0, 2.0, 5), "geomspace": (1, 1000, 4), "indices": ((2, 3),), "packbits": (np.array([[1, 0, 1]]), 1),
    "unravel_index": (np.array([5, 1]), (2, 3)), "ravel_multi_index": ((np.array([1, 0]), np.array([2, 1])), (2, 3)), "corrcoef": (np.random.default_rng(0).random((3, 5)),),
    "polyfit": (np.arange(5.0), np.arange(5.0) ** 2, 2), "roots": (np.array([1.0, -3.0, 2.0]),), "convolve": (np.arange(4.0), np.arange(3.0), "same"),
    "kaiser": (5, 3.0), "interp": (np.array([0.5, 9.0]), np.arange(3.0), np.arange(3.0) ** 2), "average": (np.arange(6.0).reshape(2, 3), 1, np.array([1.0, 2.0, 3.0]), True),
    "bincount": (np.array([1, 1, 3]), np.array([0.5, 0.25, 1.0])), "histogram2d": (np.arange(4.0), np.arange(4.0), 2), "array_equiv": (np.ones((2, 2)), np.ones(2)),
    "common_type": (np.ones(1, "f4"), np.ones(1, "i4")), "nan_to_num": (np.array([np.nan, np.inf, 1.0]),), "apply_over_axes": (None,),
}


@pytest.mark.parametrize("name", [name for name in CALLS if name != "apply_over_axes"])
def test_calls(name):
    def tensors(value):
        if isinstance(value, np.ndarray):
            return fo.asarray(value)
        return type(value)([tensors(item) for item in value]) if isinstance(value, (list, tuple)) else value

    expected = getattr(np, name)(*CALLS[name])
    actual = getattr(fo, name)(*map(tensors, CALLS[name]))
    if isinstance(expected, (type, bool)):
        assert actual is expected
        return
    for one, other in zip(results_of(actual), results_of(expected), strict=True):
        assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_objects_of_indices_and_grids():
    assert fo.mgrid[0:2, 0:3].tolist() == np.mgrid[0:2, 0:3].tolist()
    assert [part.tolist() for part in fo.ogrid[0:2, 0:3]] == [part.tolist() for part in np.ogrid[0:2, 0:3]]
    assert fo.r_[1:4, 0, fo.asarray([5])].tolist() == [1, 2, 3, 0, 5]
    assert fo.c_[fo.arange(2), fo.arange(2)].tolist() == [[0, 0], [1, 1]]
    assert fo.s_[1:2, None] == np.s_[1:2, None]
    assert [index for index, _ in fo.ndenumerate(fo.ones((1, 2)))] == [(0, 0), (0, 1)]
    assert [part.tolist() for part in fo.ix_([0, 1], [2])] == [part.tolist() for part in np.ix_([0, 1], [2])]
    assert fo.fromfunction(lambda i, j: i * j, (2, 3)).tolist() == np.fromfunction(lambda i, j: i * j, (2, 3)).tolist()
    assert [part.tolist() for part in fo.tril_indices_from(fo.ones((3, 3)))] == [part.tolist() for part in np.tril_indices(3)]


def test_methods_of_tensors():
    x = fo.asarray([[3.0, 1.0], [2.0, 4.0]])
    y = x.copy()
    assert y.sort(axis=0) is None and y.tolist() == [[2.0, 1.0], [3.0, 4.0]]
    assert y.fill(7) is None and y.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert y.partition(0) is None
    y.put([0, 3], [1, 2])
    assert y.tolist() == [[1.0, 7.0], [7.0, 2.0]]
    y.flat[1:3] = [5, 6]
    assert y.tolist() == [[1.0, 5.0], [6.0, 2.0]] and list(y.flat) == [1.0, 5.0, 6.0, 2.0] and len(y.flat) == 4
    y.flat = 0
    assert y.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert x.view("i8").dtype == np.int64 and x.view(4).shape == (4,) and x.view(-1, 1).shape == (4, 1)
    assert np.shares_memory(np.asarray(x), np.asarray(x.view("u1")))
    assert x.T.contiguous().is_contiguous() and x.unsqueeze(0).shape == (1, 2, 2) and x.permute(1, 0).tolist() == x.T.tolist()
    assert x.expand(3, -1, -1).shape == (3, 2, 2) and x.new_zeros((2,)).dtype == x.dtype and x.movedim(0, 1).shape == (2, 2)
    assert x.compress([True, False], axis=1).tolist() == [[3.0], [2.0]] and x.choose is not None
    assert fo.asarray([1, 256], dtype="i2").byteswap().tolist() == [256, 1]
    with pytest.raises(ValueError, match="resize"):
        x.resize(3)
    with pytest.raises(ValueError, match="gaps"):
        fo.ones((2, 4))[:, ::2].view("f4")
    with pytest.raises(ValueError, match="aligned"):
        fo.zeros(16, dtype="u1")[1:9].view("f8")


def test_text():
    x = fo.asarray([1.23456789, 1000.0])
    with fo.printoptions(precision=2, suppress=True):
        assert repr(x) == "tensor([   1.23, 1000.  ])" and str(x) == "[   1.23 1000.  ]"
    assert fo.array_repr(x, precision=2, suppress_small=True) == "tensor([   1.23, 1000.  ])"
    assert fo.array2string(x, separator=", ") == np.array2string(np.asarray(x), separator=", ")
    assert "..." in repr(fo.arange(2000)) and repr(fo.empty((0, 3))) == "tensor([], shape=(0, 3))"
    assert repr(fo.ones((2, 2, 2), dtype="f4")).count("\n") == 4 and repr(fo.ones(1, dtype="f4")).endswith("dtype=float32)")
    assert repr(fo.ones(2, device="meta")) == "tensor(..., shape=(2,), device='meta')"
    assert fo.binary_repr(5) == "101" and fo.base_repr(5, 3) == "12"
