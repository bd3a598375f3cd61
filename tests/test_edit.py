"""Elements chosen, elements written, functions along axes, text and facts: values, dtypes and kinds of errors are NumPy's."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops import samples
from fastops.testing import PassThrough, assert_array_equal, assert_close, results_of, to_numpy

KINDS = (np.exceptions.AxisError, OverflowError, IndexError, TypeError, ValueError)


@st.composite
def arrays(draw, dtypes=st.sampled_from(["?", "i1", "i4", "f4", "f8", "c16"]), least=1, most=3, min_side=0):
    """A NumPy array of small numbers that can be written: in rows, transposed, reversed, with gaps."""
    shape = draw(st.lists(st.integers(min_side, 4), min_size=least, max_size=most))
    array = samples.array(np.random.default_rng(draw(st.integers(0, 2 ** 32))), shape, draw(dtypes))
    layout = draw(st.sampled_from(["rows", "transposed", "reversed", "gaps"]))
    if not shape or layout == "rows":
        return array
    return array.T if layout == "transposed" else array[::-1] if layout == "reversed" else np.repeat(array, 2, -1)[..., ::2]


def tensors(value):
    if isinstance(value, np.ndarray):
        return fo.asarray(value)
    return type(value)([tensors(item) for item in value]) if isinstance(value, (list, tuple)) else value


def outcome(function, *args, **kwargs):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return error


def same(ours, theirs):
    """Equal results, or errors of one kind."""
    if isinstance(theirs, Exception):
        kind = next(kind for kind in KINDS if isinstance(theirs, kind))
        assert isinstance(ours, kind), f"{ours!r} where NumPy raises {theirs!r}"
        return
    assert not isinstance(ours, Exception), f"{ours!r} where NumPy gives {theirs!r}"
    for one, other in zip(results_of(ours), results_of(theirs), strict=True):
        if other is None or isinstance(other, (str, bool, int, type, np.dtype)):
            assert one == other and type(one) is type(other), f"{one!r}, NumPy gives {other!r}"
        else:
            assert_close(one, np.asarray(other))


def agree(name, *args, **kwargs):
    theirs = outcome(getattr(np, name), *args, **kwargs)
    ours = outcome(getattr(fo, name), *tensors(args), **{key: tensors(value) for key, value in kwargs.items()})
    same(ours, theirs)
    return ours


def laid_out(array):
    """A copy of *array* with the same strides, in memory that may be written."""
    base = np.zeros(4096, "u1")
    start = 2048 - (2048 % 16)
    copy = np.ndarray(array.shape, array.dtype, base, start, array.strides)
    copy[...] = array
    return copy


def agree_in_writing(name, x, *args, **kwargs):
    """fo.name and np.name write the same into arrays of one layout; a refused write leaves the array as it was."""
    theirs, ours = laid_out(x), fo.asarray(laid_out(x))
    assert ours.strides == x.strides
    version = ours._version
    expected = outcome(getattr(np, name), theirs, *args, **kwargs)
    actual = outcome(getattr(fo, name), ours, *tensors(args), **{key: tensors(value) for key, value in kwargs.items()})
    same(actual, expected)
    if not isinstance(expected, Exception):
        assert_array_equal(ours, theirs)
        assert ours._version > version or np.array_equal(theirs, x, equal_nan=True), "the version counter did not move"
    else:
        assert_array_equal(ours, x)
    return actual


# Chosen

@settings(max_examples=150, deadline=None)
@given(data=st.data(), mode=st.sampled_from(["raise", "wrap", "clip"]))
def test_choose(data, mode):
    rng = np.random.default_rng(data.draw(st.integers(0, 2 ** 32)))
    places = rng.integers(-1 if mode != "raise" else 0, 4, data.draw(st.sampled_from([(), (3,), (2, 3), (0,)])))
    choice = st.one_of(st.sampled_from(["i1", "f4", "i8", "c8", "?"]).map(lambda dtype: samples.array(rng, (3,), dtype)),
                       st.sampled_from([2, 1.5, True]),
                       st.just(samples.array(rng, (2, 1), "f4")))
    choices = data.draw(st.lists(choice, min_size=1, max_size=4))
    agree("choose", places, choices, mode=mode)


def test_choose_beside():
    agree("choose", np.array([0, 5]), [1, 2])
    agree("choose", np.array([0.5]), [1, 2])
    agree("choose", np.array([0, 1]), [])
    agree("choose", np.array([0, 1]), [1, 2], mode="bad")
    agree("choose", np.array([0, 9]), np.array([[1, 2], [3, 4]]), mode="clip")
    agree("choose", np.array([True, False]), [1, 2.5])
    out = fo.zeros(2, dtype="i8")
    assert fo.choose(fo.asarray([1, 0]), [[1, 2], [3, 4]], out=out) is out and out.tolist() == [3, 2]
    assert fo.asarray([1, 0]).choose([[1, 2], [3, 4]]).tolist() == [3, 2]


@settings(max_examples=80, deadline=None)
@given(data=st.data(), x=arrays())
def test_compress_and_extract(data, x):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim))
    condition = np.array(data.draw(st.lists(st.booleans() | st.integers(0, 2), max_size=6)))
    if x.size == 0:             # NumPy looks at no place where nothing is copied
        condition = condition[:0]
    agree("compress", condition, x, axis)
    same(outcome(fo.asarray(x).compress, condition, axis), outcome(x.compress, condition, axis))
    same(outcome(fo.asarray(x).compress, condition=condition, axis=axis), outcome(x.compress, condition, axis))
    mask = samples.array(np.random.default_rng(x.size), x.shape, data.draw(st.sampled_from(["?", "i4"])))
    agree("extract", mask, x)
    agree("argwhere", x)
    agree("flatnonzero", x)


def test_choosing_beside():
    agree("compress", [[True]], np.arange(1))
    agree("compress", True, np.arange(3))
    agree("extract", [True, False, True], np.arange(2))
    agree("extract", [True], 5)
    for value in (5, 0):
        agree("argwhere", np.array(value))
        agree("flatnonzero", np.array(value))
    for name, args in (("compress", (fo.ones(2, device="meta"), fo.ones(2))), ("flatnonzero", (fo.ones(2, device="meta"),)),
                       ("argwhere", (fo.ones(2, device="meta"),)),
                       ("extract", (fo.ones(2, device="meta"), fo.ones(2)))):
        with pytest.raises(NotImplementedError):
            getattr(fo, name)(*args)


def test_select_takes_weak_numbers():
    mask = np.array([True, False])
    agree("select", [mask], [2.5], np.float32(1))
    agree("select", [mask, ~mask], [np.array([1, 2], "i1"), 3])
    agree("select", [mask], [np.array([1, 2], "f4")], 1.5)
    agree("select", [], [])
    agree("select", [mask], [1, 2])


# Written

VALUES = st.sampled_from([7, [7, 8], np.array([7, 8], "i1"), np.array([2.75, 3.0]), np.array([[5], [6]], "f4"), [], 1.5,
                          [2.5, True], np.array([1j])])


@settings(max_examples=250, deadline=None)
@given(data=st.data(), x=arrays(), values=VALUES)
def test_put(data, x, values):
    places = data.draw(st.one_of(st.integers(-9, 9), st.lists(st.integers(-9, 9),
                                                              max_size=4).map(lambda places: np.array(places, "i4")),
                                 st.just([True, False]), st.just(np.array([[0, 1]]))))
    if isinstance(values, np.ndarray) or x.dtype.kind != "b":
        agree_in_writing("put", x, places, values, mode=data.draw(st.sampled_from(["raise", "wrap", "clip"])))


def test_put_refuses():
    x = np.zeros(3, "i1")
    assert isinstance(agree_in_writing("put", x, 0, 300), OverflowError)
    assert isinstance(agree_in_writing("put", x, [0], [300]), OverflowError)
    assert isinstance(agree_in_writing("put", x, 0, 2j), TypeError)
    assert isinstance(agree_in_writing("put", x, np.array([1.0]), 1), TypeError)
    assert isinstance(agree_in_writing("put", x, 0, 1, "bad"), ValueError)
    assert isinstance(agree_in_writing("put", x, [0, 3], 1), IndexError)
    tensor = fo.zeros(3)
    tensor.put(indices=[1], values=[5])
    tensor.put(7, 2, mode="clip")
    assert tensor.tolist() == [0, 5, 2]


@settings(max_examples=250, deadline=None)
@given(data=st.data(), x=arrays(), values=VALUES)
def test_place_and_putmask(data, x, values):
    mask = samples.array(np.random.default_rng(data.draw(st.integers(0, 99))), x.shape, data.draw(st.sampled_from(["?", "i4"])))
    mask = data.draw(st.sampled_from([mask, mask.ravel(), np.ones(x.size + 1, bool)]))
    for name in ("place", "putmask"):
        agree_in_writing(name, x, mask, values)


def test_places_in_masks_refuse():
    x = np.zeros(3, "i1")
    for name in ("place", "putmask"):
        assert isinstance(agree_in_writing(name, x, [1, 0, 0], 300), OverflowError)
        assert isinstance(agree_in_writing(name, x, [1, 0, 0], np.array([2.5])), TypeError)
        assert agree_in_writing(name, x, [1, 0, 0], [2.5]) is None
    assert isinstance(agree_in_writing("place", x, [1, 0, 0], []), ValueError)
    assert agree_in_writing("place", x, [0, 0, 0], []) is None and agree_in_writing("putmask", x, [1, 0, 0], []) is None


@settings(max_examples=250, deadline=None)
@given(data=st.data(), x=arrays(), casting=st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe"]))
def test_copyto(data, x, casting):
    source = data.draw(st.sampled_from([x.real.astype("f4"), np.ones(x.shape[-1:], "i1"), np.ones((1, *x.shape)),
                                        np.ones((2, *x.shape)), x[::-1], np.arange(3), x[:1] != 0]))
    where = data.draw(st.sampled_from([True, False, samples.array(np.random.default_rng(1), x.shape, "?"),
                                       np.ones(x.shape[-1:], bool), [1, 0], np.ones((2, 1), "i4")]))
    agree_in_writing("copyto", x, source, casting, where)


@pytest.mark.parametrize("dtype", ["?", "i1", "f4", "c8"])
@pytest.mark.parametrize("value", [True, 1, 300, 2.5, 2j])
@pytest.mark.parametrize("casting", ["same_kind", "unsafe"])
@pytest.mark.parametrize("where", [True, [True, False, True]])
def test_copyto_of_numbers(dtype, value, casting, where):
    if (value, dtype) == (300, "i1"):       # NumPy before 2.1 cuts the number off
        with pytest.raises(OverflowError):
            fo.copyto(fo.zeros(3, dtype=dtype), value, casting, where)
    else:
        agree_in_writing("copyto", np.zeros(3, dtype), value, casting, where)


def test_copyto_beside():
    agree_in_writing("copyto", np.zeros(3), 5, casting="nonsense")
    x = fo.arange(4)
    fo.copyto(x[1:], x[:-1])
    assert x.tolist() == [0, 0, 1, 2], "overlapping memory is read before it is written"
    fo.copyto(x[1:], x[:-1], where=[True, True, False])
    assert x.tolist() == [0, 0, 0, 2]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), x=arrays(), values=VALUES)
def test_fill_diagonal(data, x, values):
    if x.dtype.kind == "b" and not isinstance(values, np.ndarray):
        return
    agree_in_writing("fill_diagonal", x, values, data.draw(st.booleans()))


@settings(max_examples=200, deadline=None)
@given(data=st.data(), x=arrays(min_side=1))
def test_put_along_axis(data, x):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim))
    rng = np.random.default_rng(data.draw(st.integers(0, 2 ** 32)))
    if axis is None:            # NumPy writes into a read-only copy of what does not lie in rows
        x = np.ascontiguousarray(x)
        places = rng.integers(-x.size - 1, x.size + 1, data.draw(st.sampled_from([(2,), (1, 1), ()])))
    else:
        along = min(axis, x.ndim - 1)
        shape = [2 if place == along % x.ndim else size for place, size in enumerate(x.shape)]
        places = rng.integers(-x.shape[along], x.shape[along] + data.draw(st.sampled_from([0, 0, 1])), shape)
    values = data.draw(st.sampled_from([5, np.float32(2.5), np.ones(places.shape, "i1")]))
    agree_in_writing("put_along_axis", x, places, values, axis)
    if axis == -1:
        agree_in_writing("put_along_axis", x, places, values, axis=-1)


@pytest.mark.parametrize("name, args", [("put", ([0], [1])), ("put", ([], [1])), ("place", ([False] * 6, [1])),
                                        ("putmask", ([False] * 6, [1])), ("copyto", (1,)), ("fill_diagonal", (1,)),
                                        ("put_along_axis", ([[0], [0]], 1, 1))])
def test_writing_is_refused(name, args):
    """A read-only array, also where nothing would be written; and what is no tensor, since nobody would see the change."""
    read_only = fo.broadcast_to(fo.zeros(3), (2, 3))
    with pytest.raises(ValueError, match=f"^{name}: .*read-only"):
        getattr(fo, name)(read_only, *args)
    assert not read_only.any()
    with pytest.raises(TypeError, match=f"^{name}: .*list"):
        getattr(fo, name)([[0.0] * 3] * 2, *args)


@pytest.mark.parametrize("name, args", [("put", ([0], [1])), ("place", ([True] * 6, [1])), ("putmask", ([True] * 6, [1])),
                                        ("copyto", (1,)), ("fill_diagonal", (1,)),
                                        ("put_along_axis", ([[0], [0]], 1, 1))])
def test_writing_without_data(name, args):
    assert getattr(fo, name)(fo.zeros((2, 3), device="meta"), *args) is None


def test_writing_passes_through_a_transform():
    interpreter = PassThrough()
    x = fo.zeros(3)
    fo._dispatch.push_interpreter(interpreter)
    try:
        fo.put(x, [0, 2], [5, 6])
        fo.copyto(x, fo.ones(3), where=[False, True, False])
    finally:
        fo._dispatch.pop_interpreter()
    assert [operator.__name__ for operator in interpreter.seen][:1] == ["put"] and fo.copyto in interpreter.seen
    assert x.tolist() == [5, 1, 6]


# Methods

def test_fill():
    for value in (3, 2.7, True, fo.asarray(5), np.float32(2)):
        x, y = fo.zeros((2, 3), dtype="i4").T, np.zeros((2, 3), "i4").T
        assert x.fill(value) is None
        y.fill(to_numpy(value))
        assert_array_equal(x, y)
    for value in ([1, 2], [5], fo.asarray([5]), np.ones((1, 1))):
        with pytest.raises(ValueError, match="fill"):
            fo.zeros(2).fill(value)
    with pytest.raises(TypeError):
        fo.zeros(2).fill(1j)
    with pytest.raises(ValueError, match="read-only"):
        fo.broadcast_to(fo.zeros(1), (3,)).fill(1)


@settings(max_examples=80, deadline=None)
@given(x=arrays(st.sampled_from(samples.ALL), least=0))
def test_byteswap(x):
    ours = fo.asarray(x)
    swapped = ours.byteswap()
    assert swapped.dtype == x.dtype and swapped.shape == x.shape
    assert np.ascontiguousarray(to_numpy(swapped)).tobytes() == np.ascontiguousarray(x.byteswap()).tobytes()
    assert_array_equal(swapped.byteswap(), x)
    again = fo.asarray(laid_out(x))
    assert again.byteswap(inplace=True) is again
    assert np.ascontiguousarray(to_numpy(again)).tobytes() == np.ascontiguousarray(x.byteswap()).tobytes()


def test_byteswap_without_data():
    assert fo.ones((2, 3), dtype="c8", device="meta").byteswap().shape == (2, 3)


@settings(max_examples=200, deadline=None)
@given(x=arrays(st.sampled_from(["u1", "i2", "f4", "i8", "c8"]), least=0),
       dtype=st.sampled_from(["u1", "i2", "f4", "f8", "c8", "c16", "?"]))
def test_view(x, dtype):
    expected, actual = outcome(x.view, dtype), outcome(fo.asarray(x).view, dtype)
    if isinstance(expected, Exception):
        assert isinstance(actual, ValueError)
        return
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert np.ascontiguousarray(to_numpy(actual)).tobytes() == np.ascontiguousarray(expected).tobytes()
    assert x.size == 0 or np.shares_memory(to_numpy(actual), x)


def test_view_moves_the_version_of_its_source():
    x = fo.zeros(4)
    version = x._version
    x.view("i8")[0] = 1
    assert x._version > version and x[0] != 0
    for dtype in ("O", "U4"):
        with pytest.raises((TypeError, ValueError)):
            x.view(dtype)


def test_resize_is_refused():
    x = fo.arange(4)
    with pytest.raises(ValueError, match="resize.*fastops.resize"):
        x.resize((2, 2))
    with pytest.raises(ValueError, match="resize"):
        x.resize(2, 2, refcheck=False)
    assert x.shape == (4,)


@st.composite
def flat_keys(draw, size):
    place = st.integers(-size - 1, size)
    return draw(st.one_of(place, st.builds(slice, st.none() | place, st.none() | place, st.sampled_from([None, 2, -1])),
                          st.just(...),
                          st.lists(place, max_size=3).map(lambda places: np.array(places, "i8")),
                          st.lists(st.booleans(), min_size=size, max_size=size).map(lambda mask: np.array(mask, bool))))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), x=arrays(least=0))
def test_flat(data, x):
    ours = fo.asarray(laid_out(x))
    assert len(ours.flat) == x.size and [value for value in ours.flat] == x.ravel().tolist() and ours.flat.base is ours
    assert_array_equal(ours.flat.copy(), x.ravel())
    assert_array_equal(np.asarray(ours.flat), x.ravel())
    assert ours.flat.coords == tuple(int(place) for place in x.flat.coords)
    key = data.draw(flat_keys(x.size))
    same(outcome(ours.flat.__getitem__, tensors(key)), outcome(x.flat.__getitem__, key))
    value = data.draw(st.sampled_from([1, np.array([0, 1, 1]) if x.dtype.kind == "b" else [0, 1, 1], np.array([1.0, 0.0]),
                                       np.array([[1], [0]], "f4")]))
    theirs = laid_out(x)
    expected, actual = outcome(theirs.flat.__setitem__, key, value), outcome(ours.flat.__setitem__, tensors(key), tensors(value))
    if isinstance(expected, Exception):
        assert isinstance(actual, (IndexError, ValueError)), f"{actual!r} where NumPy raises {expected!r}"
        assert_array_equal(ours, x)             # NumPy may have written some elements by then
    else:
        same(actual, expected)
        assert_array_equal(ours, theirs)


def test_flat_beside():
    x = fo.asarray([[1, 2], [3, 4]])
    iterator = x.flat
    assert (next(iterator), next(iterator), next(iterator)) == (1, 2, 3) and iterator.index == 3 and iterator.coords == (1, 1)
    assert list(iterator) == [4] and list(iterator) == []
    assert (x.flat == 2).tolist() == [False, True, False, False] and (x.flat >= x.flat[1]).tolist() == [False, True, True, True]
    assert (x.flat != 2).any() and (x.flat < 2).any() and (x.flat <= 1).any() and (x.flat > 3).any()
    with pytest.raises(TypeError):
        hash(x.flat)
    for key in (None, True, (0, None)):
        with pytest.raises(IndexError, match="flat"):
            x.flat[key]
        with pytest.raises(IndexError, match="flat"):
            x.flat[key] = 1
    with pytest.raises(ValueError, match="flat"):
        x.flat[0] = [1, 2]
    with pytest.raises(TypeError):
        x.flat[0] = 1j
    x.flat = []
    assert x.tolist() == [[1, 2], [3, 4]]
    version = x._version
    x.T.flat = [7, 8, 9]
    assert x.tolist() == [[7, 9], [8, 7]] and x._version > version
    with pytest.raises(ValueError, match="read-only"):
        fo.broadcast_to(fo.zeros(1), (3,)).flat[0] = 1


# Functions along axes

@pytest.mark.parametrize("function", ["total", "turned", "twice", "diagonal", "whole", "listed"])
@pytest.mark.parametrize("axis", [0, 1, -1, 2])
def test_apply_along_axis(function, axis):
    def functions(module):
        return {"total": lambda row: row.sum(), "turned": lambda row: row[::-1],
                "twice": lambda row: module.stack([row, row, row]), "diagonal": lambda row: module.diag(row),
                "whole": lambda row: int(row[0]), "listed": lambda row: sorted(row.tolist())}[function]
    for x in (np.arange(6).reshape(2, 3), np.arange(12.0).reshape(2, 3, 2)[:, ::-1], np.array([[1.5, 0.5]])):
        same(outcome(fo.apply_along_axis, functions(fo), axis, fo.asarray(x)),
             outcome(np.apply_along_axis, functions(np), axis, x))


def test_apply_along_axis_beside():
    x = np.array([[1, 2], [3.5, 4]])
    same(fo.apply_along_axis(lambda row, k, z=0: row.sum() + k + z, -1, fo.asarray(x), 5, z=1),
         np.apply_along_axis(lambda row, k, z=0: row.sum() + k + z, -1, x, 5, z=1))
    same(fo.apply_along_axis(lambda row: 1 if row[0] < 2 else 2.5, 1, x),
         np.apply_along_axis(lambda row: 1 if row[0] < 2 else 2.5, 1, x))
    for wrong in (np.array(5), np.ones((2, 0))):
        assert isinstance(outcome(np.apply_along_axis, np.sum, 0, wrong), ValueError)
        assert isinstance(outcome(fo.apply_along_axis, fo.sum, 0, fo.asarray(wrong)), ValueError)
    kinds = set()
    fo.apply_along_axis(lambda row: kinds.add(type(row)) or row, 0, fo.ones((2, 2)))
    assert kinds == {fo.Tensor}
    assert fo.apply_along_axis(fo.cumsum, 0, fo.ones((2, 3), device="meta")).shape == (2, 3)


def test_apply_over_axes():
    x = np.arange(8.0).reshape(2, 2, 2)
    for axes in ([0, 2], 0, -1, [0, 1, 2], 5):
        same(outcome(fo.apply_over_axes, fo.sum, fo.asarray(x), axes), outcome(np.apply_over_axes, np.sum, x, axes))
    same(fo.apply_over_axes(fo.cumsum, fo.asarray(x), [0]), np.apply_over_axes(np.cumsum, x, [0]))
    assert isinstance(outcome(fo.apply_over_axes, lambda a, axis: a.sum(), fo.asarray(x), [0]), ValueError)


# Arrays as they must lie, text and facts

@pytest.mark.parametrize("value", [np.ones((2, 3)).T, np.ones((2, 3)), np.arange(3, dtype="i4"), 5, [[1, 2]],
                                   np.ones((2, 3, 4))[:, ::-1], np.zeros((0, 2))], ids=lambda value: repr(np.shape(value)))
@pytest.mark.parametrize("dtype", [None, "f4"])
def test_memory_order(value, dtype):
    for name in ("ascontiguousarray", "asfortranarray", "asanyarray", "asarray_chkfinite"):
        ours, theirs = getattr(fo, name)(tensors(value), dtype=dtype), getattr(np, name)(value, dtype=dtype)
        assert_close(ours, theirs)
        if theirs.size:
            flags = to_numpy(ours).flags
            assert (flags.c_contiguous, flags.f_contiguous) == (theirs.flags.c_contiguous, theirs.flags.f_contiguous)
        if isinstance(value, np.ndarray) and value.size:
            assert np.shares_memory(to_numpy(ours), value) == np.shares_memory(theirs, value)


@pytest.mark.parametrize("value", [[1, np.nan], [1.0, np.inf], [complex(0, np.nan)], [1, 2], np.array([1.0, 2.0], "f4")],
                         ids=repr)
def test_asarray_chkfinite(value):
    agree("asarray_chkfinite", value)


@pytest.mark.parametrize("requirements", [None, "C", "F", ["C", "W"], ["F_CONTIGUOUS", "A"], ["F", "C"], "X", ["W", "O", "E"],
                                          ["C_CONTIGUOUS", "WRITEABLE", "OWNDATA"]], ids=repr)
@pytest.mark.parametrize("dtype", [None, "f4"])
def test_require(requirements, dtype):
    for x in (np.ones((2, 3)), np.ones((2, 3)).T, np.broadcast_to(np.ones(3), (2, 3))):
        expected, actual = outcome(np.require, x, dtype, requirements), outcome(fo.require, fo.asarray(x), dtype, requirements)
        if isinstance(expected, Exception):
            assert isinstance(actual, type(expected))
            continue
        assert_close(actual, expected)
        flags = to_numpy(actual).flags
        wanted = {flag[0] for flag in requirements or ()}
        assert ("C" not in wanted or flags.c_contiguous) and ("F" not in wanted or flags.f_contiguous)
        assert "W" not in wanted or actual.writeable


@pytest.mark.parametrize("pair", [([1, 2], [[1, 2], [1, 2]]), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ([], []),
                                  ([np.nan], [np.nan]), (np.array([]), 1), (np.ones(2), 1)], ids=repr)
def test_array_equiv(pair):
    agree("array_equiv", *pair)


@pytest.mark.parametrize("args, more", [
    ((np.array([1.123456, 2]),), {"precision": 2}), ((np.array([[1, 2], [3, 4]]),), {"separator": ",", "prefix": "xx"}),
    ((np.array([1, 2]),), {"formatter": {"int": lambda v: f"<{v}>"}}),
    ((np.arange(2000),), {"threshold": 5, "edgeitems": 1}), ((np.array(5),), {}),
    ((np.array([1e-20, 1]),), {"suppress_small": True}),
    ((np.array([1.5]),), {"max_line_width": 5, "floatmode": "fixed", "sign": "+"})])
def test_array2string(args, more):
    agree("array2string", *args, **more)


def test_array_str():
    agree("array_str", np.array([1.123456, 2]), precision=2)
    agree("array_str", np.array([1e-20, 1]), None, None, True)
    assert fo.array_repr(fo.asarray([1.123456, 2]), precision=2) == "tensor([1.12, 2.  ])"


def test_numpys_settings_are_ours():
    for name in ("set_printoptions", "get_printoptions", "printoptions", "errstate", "seterr", "geterr"):
        assert getattr(fo, name) is getattr(np, name)
    x = fo.asarray([1.0])
    with fo.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x / 0
    with fo.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fo.isinf(x / 0).all()
    with fo.printoptions(precision=3):
        assert repr(fo.asarray([1.23456])) == "tensor([1.235])"


FACTS = {
    "isscalar": [(1,), ("a",), (np.array(1),), (1j,)], "isrealobj": [(np.array([1j]),), ([1],), (1j,)],
    "iscomplexobj": [(np.array([1j]),), (1j,), ([1],)],
    "ndim": [([[1]],), (np.array(5),), (5,)], "shape": [(5,), (np.ones((1, 2)),), ([[1, 2]],)],
    "size": [([[1, 2]],), (np.ones((1, 2)), 0), (np.ones((1, 2)), -1), (np.ones((1, 2)), 5), (5,)],
    "iterable": [(np.array(5),), (np.arange(2),), ([],), (5,)],
    "common_type": [(np.ones(1), np.ones(1, "f4")), (np.array([1j]),), (np.ones(1, "i4"),), (np.ones(1, "f2"), np.ones(1, "f4")),
                    (np.ones(1, bool),), ()],
    "min_scalar_type": [(3,), (np.array(3),), (np.array([3]),), (np.array(3.0),), (-1,), (1e50,), (np.array(-300),)],
    "promote_types": [("i4", "f4"), ("u8", "i8"), ("f4", "c8")],
    "issubdtype": [(np.float32, np.floating), (np.int8, np.floating)], "mintypecode": [("fd",)],
    "base_repr": [(10, 3), (-5, 2, 4), (5, 40)],
    "binary_repr": [(-3, 5), (5,), (-3,)], "format_float_positional": [(1.5,), (np.float32(0.1),)],
    "format_float_scientific": [(12345.0,), (np.float32(0.1),)],
}


@pytest.mark.parametrize("name, args", [(name, args) for name, calls in FACTS.items() for args in calls], ids=repr)
def test_facts(name, args):
    agree(name, *args)


def test_facts_of_single_elements():
    assert fo.binary_repr(fo.asarray(5)) == "101" and fo.base_repr(fo.asarray(5)) == "101"
    assert fo.format_float_positional(fo.asarray(1.5)) == "1.5" and fo.format_float_scientific(fo.asarray(1.5)) == "1.5e+00"
    assert fo.min_scalar_type(fo.ones((), dtype="i8", device="meta")) == np.int64
