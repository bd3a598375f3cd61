"""Reductions, running sums and places of extrema, against NumPy over random shapes, layouts, axes and dtypes."""

import math
import threading
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops import samples
from fastops._loops import as_ndarray

ROUNDOFF = {"e": 2.0 ** -11, "f": 2.0 ** -24, "d": 2.0 ** -53, "F": 2.0 ** -24, "D": 2.0 ** -53}


@st.composite
def arrays(draw, dtypes=samples.ALL, max_dims=4, max_size=6, min_size=0):
    """A NumPy array in any layout: axes permuted, reversed, with gaps, broadcast; sizes of 0 and 1 among them."""
    shape = draw(st.lists(st.integers(min_size, max_size), max_size=max_dims))
    if shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.sampled_from((1, 9, 40)))
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 32)))
    strides = draw(st.lists(st.sampled_from((1, 1, 2, -1, -2)), min_size=len(shape), max_size=len(shape)))
    array = samples.array(rng, [size * abs(step) for size, step in zip(shape, strides)], draw(st.sampled_from(dtypes)))
    array = array[tuple(slice(None, None, step) for step in strides)]
    if array.ndim and draw(st.booleans()):
        array = array.transpose(draw(st.permutations(range(array.ndim))))
    if array.ndim and array.shape[0] and draw(st.integers(0, 5)) == 0:
        array = np.broadcast_to(array[:1], (4,) + array.shape[1:])
    if array.dtype.kind in "fc" and array.size and draw(st.integers(0, 4)) == 0 and array.flags.writeable:
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from((np.nan, np.inf, -0.0)))
    return array


@st.composite
def axes_of(draw, array, *, several=True):
    axis = st.integers(-array.ndim, array.ndim - 1)
    if array.ndim == 0:
        return None
    kinds = [st.none(), axis]
    if several:
        kinds.append(st.lists(axis, max_size=array.ndim, unique_by=lambda item: item % array.ndim).map(tuple))
    return draw(st.one_of(kinds))


def outcome(function, *args, **kwargs):
    """The result of a call, or the kind of its error."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return type(error)


def check(ours, theirs, array):
    if isinstance(theirs, type):
        assert isinstance(ours, type) and issubclass(ours, theirs), (ours, theirs)
        return
    theirs = np.asarray(theirs)
    assert isinstance(ours, fo.Tensor), ours
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    ours = as_ndarray(ours)
    if theirs.dtype.kind not in "fc":
        np.testing.assert_array_equal(ours, theirs)
        return
    # Any order of summation is within this of any other.
    finite = np.abs(array[np.isfinite(array)].astype("c16")) if array.size else np.zeros(0)
    scale = max(1.0, float(finite.max(initial=0.0))) ** 2 * max(1, array.size)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours, theirs, rtol=64 * ROUNDOFF[theirs.dtype.char],
                                   atol=16 * ROUNDOFF[theirs.dtype.char] * scale)


REDUCTIONS = ("sum", "prod", "max", "min", "amax", "amin", "any", "all", "mean", "var", "std", "count_nonzero")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, data):
    array = data.draw(arrays(dtypes=samples.ALL if name != "prod" else samples.BOOLS + samples.INTEGERS + ("f8", "c16")))
    if name == "prod" and array.dtype.kind in "fc":
        assume(array.size < 50)
    axis, keepdims = data.draw(axes_of(array)), data.draw(st.booleans())
    if name == "count_nonzero" and axis == ():
        axis = None
    ours = outcome(getattr(fo, name), fo.asarray(array), axis=axis, keepdims=keepdims)
    theirs = outcome(getattr(np, name), array, axis=axis, keepdims=keepdims)
    check(ours, theirs, array)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", ("argmax", "argmin"))
def test_places(name, data):
    array = data.draw(arrays())
    axis, keepdims = data.draw(axes_of(array, several=False)), data.draw(st.booleans())
    check(outcome(getattr(fo, name), fo.asarray(array), axis=axis, keepdims=keepdims),
          outcome(getattr(np, name), array, axis=axis, keepdims=keepdims), array)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
def test_running(name, data):
    array = data.draw(arrays(dtypes=samples.BOOLS + samples.INTEGERS + ("f8", "c16") if name == "cumprod" else samples.ALL))
    if name == "cumprod":
        array = np.where(np.isfinite(array), np.sign(array) if array.dtype.kind in "fc" else array, 1).astype(array.dtype)
    if array.dtype.kind in "fc":
        assume(np.isfinite(array).all())
    axis = data.draw(axes_of(array, several=False))
    check(outcome(getattr(fo, name), fo.asarray(array), axis), outcome(getattr(np, name), array, axis), array)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("start", (0, 1))
def test_cumulative_with_initial(start, data):
    array = data.draw(arrays(dtypes=samples.INTEGERS + samples.BOOLS, min_size=1))
    assume(array.ndim)
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    function, reference = ((fo.cumulative_sum, np.cumsum), (fo.cumulative_prod, np.cumprod))[start]
    ours = as_ndarray(function(fo.asarray(array), axis=axis, include_initial=True))
    rest = reference(array, axis)
    first = np.full_like(np.take(rest, [0], axis), start)
    np.testing.assert_array_equal(ours, np.concatenate([first, rest], axis))
    assert ours.dtype == rest.dtype


@settings(max_examples=40, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", REDUCTIONS + ("argmax", "cumsum"))
def test_without_data(name, data):
    array = data.draw(arrays(min_size=1))
    axis = data.draw(axes_of(array, several=name not in ("argmax", "cumsum")))
    real = outcome(getattr(fo, name), fo.asarray(array), axis=axis)
    meta = outcome(getattr(fo, name), fo.empty(array.shape, dtype=array.dtype, device="meta"), axis=axis)
    if isinstance(real, type):
        assert meta is real
    else:
        assert (meta.shape, meta.dtype, meta.device) == (real.shape, real.dtype, "meta")


@pytest.mark.parametrize("shape, axis", (((1000,), None), ((40, 300), 1), ((300, 5), 1), ((7, 300), 0), ((100, 100), None)))
@pytest.mark.parametrize("dtype", ("f4", "f8", "c16", "f2"))
def test_sums_are_numpys_to_the_bit(shape, axis, dtype):
    array = samples.array(np.random.default_rng(0), shape, dtype)
    ours, theirs = as_ndarray(fo.sum(fo.asarray(array), axis)), np.sum(array, axis)
    assert ours.tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.parametrize("shape, axis", (((20000,), None), ((5000, 4), 0), ((4, 5000), 1), ((300, 300), (0, 1)), ((64, 3), 1)))
@pytest.mark.parametrize("gaps", (False, True))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_sum_is_no_less_exact_than_numpys(shape, axis, gaps, dtype):
    # In the mean over many arrays: one sum may be exact by chance.
    rng = np.random.default_rng(1)
    axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    errors = []
    for _ in range(12):
        array = rng.normal(size=(2 * shape[0],) + shape[1:]).astype(dtype)
        array = array[::-2] if gaps else array[: shape[0]].copy()
        slices = np.moveaxis(array, axes, range(len(axes))).reshape((math.prod([shape[i] for i in axes]), -1))
        exact = np.array([math.fsum(column) for column in slices.T.astype("f8")])
        errors.append([np.mean((np.ravel(total).astype("f8") - exact) ** 2)
                       for total in (as_ndarray(fo.sum(fo.asarray(array), axis)), np.sum(array, axis))])
    ours, numpys = np.sqrt(np.mean(errors, axis=0))
    assert ours <= 2 * numpys


@pytest.mark.parametrize("dtype", ("f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("axis", (None, 0, 1))
def test_variance_is_accurate_far_from_zero(dtype, axis):
    array = (samples.array(np.random.default_rng(2), (50, 60), dtype) + 1000).astype(dtype)
    exact = np.var(array.astype("c16" if array.dtype.kind == "c" else "f8"), axis)
    error = np.abs(as_ndarray(fo.var(fo.asarray(array), axis)) - exact).max()
    numpys = np.abs(np.var(array, axis) - exact).max()
    assert error <= 2 * numpys + 8 * np.finfo(dtype).eps * np.abs(exact).max()


def test_NP_08_empty_axes():
    e = fo.empty
    shapes = [fo.argmax(e((0, 1)), axis=1).shape, fo.max(e((0, 2)), axis=1).shape,
              (fo.ones((2, 0)) + fo.ones((1, 1))).shape, (fo.ones((0, 1)) * fo.ones((1, 3))).shape,
              fo.einsum("ij,j", e((0, 3)), fo.ones(3)).shape, (fo.ones((3, 0, 0)) @ fo.ones((0, 0))).shape]
    assert shapes == [(0,), (0,), (2, 0), (0, 3), (0,), (3, 0, 0)]
    values = [fo.ones((3, 0)) @ fo.ones((0, 4)), fo.tensordot(fo.ones((3, 0)), fo.ones((0, 4)), axes=1),
              fo.sum(e((0, 3)), axis=0), fo.prod(e((0, 3)), axis=0)]
    for value, expected in zip(values, (np.zeros((3, 4)), np.zeros((3, 4)), np.zeros(3), np.ones(3)), strict=True):
        np.testing.assert_array_equal(as_ndarray(value), expected)
    for call, shape in ((lambda: fo.max(e((0, 3)), axis=0), r"\(0, 3\)"), (lambda: fo.min(e(0)), r"\(0,\)"),
                        (lambda: fo.argmax(e((0, 3)), axis=0), r"\(0, 3\)")):
        with pytest.raises(ValueError, match=f"identity.*{shape}|{shape}.*identity"):
            call()
    np.testing.assert_array_equal(as_ndarray(fo.max(e((0, 3)), axis=0, initial=-np.inf)), np.full(3, -np.inf))
    with pytest.raises(ValueError, match=r"\(2, 0\) and \(2, 3\)"):
        fo.ones((2, 0)) + fo.ones((2, 3))
    for function in (fo.mean, fo.var, fo.std):
        with pytest.warns(RuntimeWarning, match="empty|freedom"):
            assert np.isnan(function(e((0, 3)), axis=0).sum().item())


@pytest.mark.parametrize("name", ("sum", "prod", "max", "min", "mean", "var", "any"))
def test_errors(name):
    function, x = getattr(fo, name), fo.ones((2, 3))
    for axis in (2, -3, (0, 5)):
        with pytest.raises(np.exceptions.AxisError, match=f"fastops.{name}"):
            function(x, axis=axis)
    with pytest.raises(ValueError, match="duplicate"):
        function(x, axis=(0, -2))
    for axis in (0.5, "0", (1.0,), True):
        with pytest.raises(TypeError, match="axis"):
            function(x, axis=axis)
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        function(x, axis=0, out=fo.empty(2))
    with pytest.raises(ValueError, match="read-only"):
        function(x, axis=0, out=fo.asarray(np.broadcast_to(np.float64(0), 3)))


@pytest.mark.parametrize("name", ("cumsum", "cumprod", "argmax", "argmin"))
def test_errors_of_one_axis(name):
    function, x = getattr(fo, name), fo.ones((2, 3))
    with pytest.raises(np.exceptions.AxisError):
        function(x, axis=2)
    with pytest.raises(TypeError):
        function(x, axis=(0, 1))
    with pytest.raises(ValueError, match="shape"):
        function(x, axis=0, out=fo.empty((7, 7)))


def test_cumulative_needs_an_axis():
    with pytest.raises(ValueError, match="axis"):
        fo.cumulative_sum(fo.ones((2, 2)))
    np.testing.assert_array_equal(as_ndarray(fo.cumulative_sum(fo.asarray(3.0))), [3.0])
    np.testing.assert_array_equal(as_ndarray(fo.cumulative_sum(fo.ones(0), include_initial=True)), [0.0])


@pytest.mark.parametrize("name", ("sum", "prod", "mean", "cumsum"))
@pytest.mark.parametrize("dtype, wanted", (("i1", "f8"), ("f8", "f4"), ("f4", "f8"), ("u2", "i4"), ("?", "f2"), ("f4", "c16")))
def test_dtype(name, dtype, wanted):
    array = samples.array(np.random.default_rng(3), (4, 5), dtype, 1, 3)
    ours, theirs = getattr(fo, name)(fo.asarray(array), axis=0, dtype=wanted), getattr(np, name)(array, axis=0, dtype=wanted)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(as_ndarray(ours), theirs, rtol=4 * np.finfo(wanted).eps if np.dtype(wanted).kind in "fc" else 0)


@pytest.mark.parametrize("name, dtype, out", (("sum", "i1", "i1"), ("sum", "f4", "f8"), ("mean", "i4", "f8"), ("max", "i4", "f4"),
                                              ("cumsum", "i1", "i2"), ("argmax", "f8", "i4"), ("var", "f4", "f8"),
                                              ("any", "f8", "f4"), ("sum", "f4", "c16"), ("mean", "f4", "c8")))
def test_out_of_another_dtype(name, dtype, out):
    array = samples.array(np.random.default_rng(4), (4, 5), dtype)
    theirs = np.zeros((4, 5) if name == "cumsum" else 5, out)
    ours = fo.asarray(theirs.copy())
    assert getattr(fo, name)(fo.asarray(array), axis=0, out=ours) is ours
    if np.can_cast(getattr(np, name)(array, axis=0).dtype, out, "same_kind"):
        theirs[...] = getattr(np, name)(array, axis=0)
    np.testing.assert_allclose(as_ndarray(ours), theirs, rtol=1e-6)


@pytest.mark.parametrize("name", ("sum", "max", "cumsum", "mean"))
def test_out_may_be_the_input(name):
    array = samples.array(np.random.default_rng(5), (4, 4), "f8")
    x = fo.asarray(array.copy())
    expected = getattr(np, name)(array, axis=0)
    target = x if name == "cumsum" else x[1]
    version = x._version
    getattr(fo, name)(x, axis=0, out=target)
    np.testing.assert_allclose(as_ndarray(target), expected, rtol=1e-15)
    assert x._version > version


@pytest.mark.parametrize("name", ("sum", "prod", "max", "min"))
def test_initial(name):
    array = samples.array(np.random.default_rng(6), (3, 4), "i4", 1, 3)
    for initial in (2, np.int64(2), np.asarray(2), fo.asarray(2), 1.5):
        plain = initial.item() if hasattr(initial, "item") else initial
        np.testing.assert_array_equal(as_ndarray(getattr(fo, name)(fo.asarray(array), axis=1, initial=initial)),
                                      getattr(np, name)(array, axis=1, initial=plain))
    with pytest.raises(OverflowError):
        getattr(fo, name)(fo.asarray(array), initial=np.inf)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", ("sum", "prod", "any", "all", "mean", "std", "max"))
def test_where(name, data):
    array = data.draw(arrays(dtypes=("i4", "f8", "?"), max_dims=3))
    assume(np.isfinite(array).all())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = rng.integers(0, 2, array.shape[data.draw(st.integers(0, array.ndim)):]).astype(bool)
    options = {"initial": 1} if name == "max" else {}
    axis = data.draw(axes_of(array))
    check(outcome(getattr(fo, name), fo.asarray(array), axis=axis, where=fo.asarray(mask), **options),
          outcome(getattr(np, name), array, axis=axis, where=mask, **options), array)


def test_where_needs_an_identity():
    with pytest.raises(ValueError, match="initial"):
        fo.max(fo.ones(3), where=fo.asarray([True, False, True]))


@pytest.mark.parametrize("name", ("var", "std"))
@pytest.mark.parametrize("dtype, wanted", (("f8", "f4"), ("f4", "f8"), ("i4", "f4"), ("f8", "f2"), ("c8", "c16"), ("f8", "c8")))
def test_dtype_of_spreads(name, dtype, wanted):
    array = samples.array(np.random.default_rng(8), (4, 5), dtype)
    ours, theirs = getattr(fo, name)(fo.asarray(array), 0, wanted), getattr(np, name)(array, 0, wanted)
    meta = getattr(fo, name)(fo.empty((4, 5), dtype=dtype, device="meta"), 0, wanted)
    assert ours.dtype == theirs.dtype == meta.dtype
    np.testing.assert_allclose(as_ndarray(ours), theirs, rtol=8 * np.finfo(wanted).eps)


def test_correction_is_ddof():
    x = fo.asarray(np.arange(6.0).reshape(2, 3))
    for amount in (0, 1, 0.5):
        expected = np.var(as_ndarray(x), axis=1, ddof=amount)
        np.testing.assert_array_equal(as_ndarray(fo.var(x, axis=1, correction=amount)), expected)
        np.testing.assert_array_equal(as_ndarray(fo.var(x, axis=1, ddof=amount)), expected)
    with pytest.raises(ValueError, match="ddof"):
        fo.var(x, ddof=1, correction=2)
    with pytest.warns(RuntimeWarning, match="freedom"):
        assert fo.std(fo.ones(3), correction=3).item() != 0
    np.testing.assert_array_equal(as_ndarray(fo.std(x, axis=1, mean=fo.asarray([[1.0], [4.0]]))), np.std(as_ndarray(x), axis=1))


def test_methods_are_the_functions():
    array = np.arange(12.0).reshape(3, 4)
    x = fo.asarray(array)
    for name in ("sum", "mean", "std", "var", "min", "max", "argmin", "argmax", "prod", "any", "all", "cumsum", "cumprod"):
        for args, kwargs in (((), {}), ((0,), {}), ((), {"axis": 1}), ((-1,), {})):
            np.testing.assert_array_equal(as_ndarray(getattr(x, name)(*args, **kwargs)), getattr(array, name)(*args, **kwargs))


def test_scalars_and_lists_are_arrays():
    assert fo.sum(3).item() == 3 and fo.sum(3, axis=0).item() == 3 and fo.argmax(7).item() == 0
    assert fo.sum([[1, 2], [3, 4]], axis=-1).shape == (2,)
    assert fo.max(np.float32(2.5)).dtype == "f4"


def test_nan_wins_and_comes_first():
    x = fo.asarray([[1.0, np.nan, 3.0, np.nan], [5.0, 2.0, 5.0, 2.0]])
    assert as_ndarray(fo.argmax(x, axis=1)).tolist() == [1, 0] and as_ndarray(fo.argmin(x, axis=1)).tolist() == [1, 1]
    assert as_ndarray(fo.argmax(x, axis=0)).tolist() == [1, 0, 1, 0]
    assert np.isnan(fo.max(x).item()) and np.isnan(fo.min(x).item())


@pytest.mark.parametrize("dtype", samples.ALL)
@pytest.mark.parametrize("shape", ((40, 30), (3, 200), (200, 3), (5, 6, 20)))
def test_places_in_wide_and_narrow_arrays(dtype, shape):
    array = samples.array(np.random.default_rng(7), shape, dtype)
    for axis in range(len(shape)):
        for view in (array, array[..., ::-1], array.T):
            np.testing.assert_array_equal(as_ndarray(fo.argmax(fo.asarray(view), axis)), np.argmax(view, axis))
            np.testing.assert_array_equal(as_ndarray(fo.argmin(fo.asarray(view), axis)), np.argmin(view, axis))


@pytest.mark.parametrize("dtype", samples.ALL)
def test_truth_of_every_dtype_and_length(dtype):
    # Lengths around the counters' lanes and blocks; -0.0 is false and NaN is true.
    for length in (1, 31, 32, 33, 255 * 32 + 5, 9000):
        array = np.zeros(length, dtype)
        if array.dtype.kind in "fc":
            array[0] = -0.0
        for place in (None, length // 2, length - 1):
            if place is not None:
                array[place] = np.nan if array.dtype.kind in "fc" else 1
            x = fo.asarray(array)
            assert fo.any(x).item() == (place is not None)
            assert fo.count_nonzero(x).item() == np.count_nonzero(array)
            assert fo.all(x).item() == bool(array.all())
            assert fo.all(fo.asarray(array[place:])[:1]).item() == bool(array[place:][:1].all())
    full = np.ones((300, 70), dtype)
    assert fo.count_nonzero(fo.asarray(full)).item() == full.size and fo.all(fo.asarray(full.T[::-1])).item()


def test_overflow_is_reported_as_numpy_reports_it():
    big = fo.asarray(np.full(3, 1e308))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        fo.sum(big)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert fo.sum(big).item() == np.inf


def test_long_sums_let_other_threads_run():
    x = fo.ones(4_000_000)
    results = []
    threads = [threading.Thread(target=lambda: results.append(fo.sum(x).item())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4e6] * 4


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_logsumexp(data):
    array = data.draw(arrays(dtypes=("f8", "f4", "i4"), max_dims=3))
    assume(not np.isnan(array).any())
    axis = data.draw(axes_of(array))
    ours = outcome(fo.logsumexp, fo.asarray(array), axis=axis)
    theirs = outcome(lambda: np.log(np.sum(np.exp(array.astype("f8")), axis=axis)))
    np.testing.assert_allclose(as_ndarray(ours), theirs, rtol=1e-5, atol=1e-5)
    assert ours.dtype == (array.dtype if array.dtype.kind == "f" else np.float64)


def test_logsumexp_does_not_overflow():
    assert fo.logsumexp(fo.asarray([1000.0, 1000.0])).item() == pytest.approx(1000 + math.log(2))
    assert fo.logsumexp(fo.asarray([-np.inf, -np.inf])).item() == -np.inf
    assert fo.logsumexp(fo.asarray([np.inf, 1.0])).item() == np.inf
    assert fo.logsumexp(fo.ones((0,))).item() == -np.inf
