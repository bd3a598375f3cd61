"""Indexing and assignment against NumPy, in every form of index."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops._loops import as_ndarray
from fastops.testing import assert_array_equal
from test_views import assert_same, outcome, pairs

quick = settings(deadline=None, max_examples=300, derandomize=True)
number = st.integers(-5, 5)
part = st.builds(slice, st.none() | number, st.none() | number, st.none() | number.filter(bool))


def whole(draw, shape):
    count = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(-2, 1), min_size=count, max_size=count)),
                    draw(st.sampled_from(("i8", "i4", "u1"))) if count == 0 else "i8").reshape(shape)


@st.composite
def basic(draw, rank):
    items = draw(st.lists(st.one_of(part, part, number, st.none(), st.just(Ellipsis)), max_size=rank + 1))
    return tuple(items) if len(items) != 1 or draw(st.booleans()) else items[0]


@st.composite
def advanced(draw, shape):
    """A tuple with at least one array; masks cover the axes they stand at (or, rarely, do not fit)."""
    items, axis = [], 0
    while axis < len(shape) and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(("slice", "int", "None", "array", "array", "list", "mask", "0-d", "bool")))
        width = 1
        if kind == "slice":
            items.append(draw(part))
        elif kind == "int":
            items.append(draw(st.integers(-2, 1)))
        elif kind == "None":
            items.append(None)
            width = 0
        elif kind == "array":
            items.append(whole(draw, draw(st.sampled_from(((2,), (1,), (2, 1), (1, 2), (0,))))))
        elif kind == "list":
            items.append(draw(st.lists(st.integers(-2, 1), max_size=2)))
        elif kind == "mask":
            width = draw(st.integers(1, min(2, len(shape) - axis)))
            size = shape[axis:axis + width] if draw(st.integers(0, 9)) else (3,) * width
            items.append(np.arange(int(np.prod(size))).reshape(size) % 3 == draw(st.integers(0, 2)))
        elif kind == "0-d":
            items.append(np.array(draw(st.integers(-2, 1))))
        else:
            items.append(draw(st.booleans()))
            width = 0
        axis += width
    if draw(st.booleans()) and Ellipsis not in [item for item in items if item is Ellipsis]:
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items) if len(items) != 1 or draw(st.booleans()) else items[0]


def as_tensors(index, rng):
    """The same index with every array given as a Tensor, an ndarray or, where it can be, a list."""
    if isinstance(index, tuple):
        return tuple([as_tensors(item, rng) for item in index])
    if isinstance(index, np.ndarray):
        choice = rng.integers(0, 3)
        return fo.asarray(index) if choice == 0 or index.ndim == 0 else index if choice == 1 or not index.size \
            else index.tolist()
    if type(index) is int and rng.integers(0, 4) == 0:
        return np.int16(index)
    return index


@quick
@given(pairs(), st.data())
def test_basic_index(pair, data):
    index = data.draw(basic(pair.array.ndim))
    theirs = outcome(lambda: pair.array[index])
    if not isinstance(theirs, (Exception, np.ndarray)):
        theirs = pair.array[(*index, ...)] if isinstance(index, tuple) else pair.array[index, ...]  # a view, not a number
    assert_same(outcome(lambda: pair.tensor[index]), theirs, pair)


@quick
@given(pairs(st.integers(0, 4)), st.data(), st.integers(0, 9))
def test_advanced_index(pair, data, seed):
    index = data.draw(advanced(pair.array.shape))
    theirs = outcome(lambda: pair.array[index])
    ours = outcome(lambda: pair.tensor[as_tensors(index, np.random.default_rng(seed))])
    if isinstance(theirs, Exception):
        assert isinstance(ours, IndexError), f"{ours!r} where NumPy raises {theirs!r}"
        assert isinstance(theirs, IndexError)
        return
    if isinstance(ours, Exception):
        raise ours
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.writeable
    assert_array_equal(ours, theirs)


@st.composite
def values(draw, shape, dtype):
    """Something to assign: numbers, arrays that fit, are broadcast, or do not fit; lists; NumPy's numbers."""
    kind = draw(st.sampled_from(("number", "number", "array", "array", "list", "scalar", "front", "wrong")))
    if kind == "number":
        return draw(st.sampled_from((0, 1, 7, 1.5, -2.5, True, 1 + 2j, 300, -1, 1e300, float("nan"), 10 ** 30)))
    if kind == "scalar":
        return draw(st.sampled_from((np.float32(2.5), np.int8(3), np.bool_(True), np.complex64(1 + 1j))))
    shape = tuple([draw(st.sampled_from((size, size, 1))) for size in shape])[draw(st.integers(0, 1)):]
    if kind == "front":
        shape = (1, 1, *shape)
    if kind == "wrong":
        shape = (2, *shape)
    dtype = draw(st.sampled_from(("f8", "i4", "u1", "?", "c8", "f2")))
    array = np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)
    return array.tolist() if kind == "list" else array


def is_element(array, index):
    """Whether whole numbers alone choose one element."""
    items = index if isinstance(index, tuple) else (index,)
    return len(items) == array.ndim and all(type(item) is int and -size <= item < size
                                            for item, size in zip(items, array.shape))


def assignment_agrees(pair, index, own_index, value, own_value):
    before = pair.tensor._version
    if isinstance(own_value, fo.Tensor) and own_value.ndim and is_element(pair.array, index):
        # NumPy raises ValueError or TypeError or, into bool, takes one element: it depends on the dtype.
        with pytest.raises(ValueError, match="one element"):
            pair.tensor[own_index] = own_value
        return
    with warnings.catch_warnings(record=True) as theirs_warned:
        warnings.simplefilter("always")
        theirs = outcome(pair.array.__setitem__, index, value)
    with warnings.catch_warnings(record=True) as ours_warned:
        warnings.simplefilter("always")
        ours = outcome(pair.tensor.__setitem__, own_index, own_value)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} where NumPy raises {theirs!r}"
    else:
        if isinstance(ours, Exception):
            raise ours
        assert pair.tensor._version == before + 1
        kinds = [{warning.category for warning in warned} - {DeprecationWarning} for warned in (theirs_warned, ours_warned)]
        assert kinds[0] == kinds[1]
    np.testing.assert_array_equal(pair.own_block, pair.block)


@quick
@given(pairs(), st.data(), st.booleans())
def test_basic_assignment(pair, data, as_tensor):
    index = data.draw(basic(pair.array.ndim))
    chosen = outcome(lambda: pair.array[index])
    value = data.draw(values(np.shape(chosen) if not isinstance(chosen, Exception) else (), pair.array.dtype))
    own_value = fo.asarray(value.copy()) if as_tensor and isinstance(value, np.ndarray) else value
    assignment_agrees(pair, index, index, value, own_value)


@quick
@given(pairs(st.integers(0, 3)), st.data(), st.booleans(), st.integers(0, 9))
def test_advanced_assignment(pair, data, as_tensor, seed):
    index = data.draw(advanced(pair.array.shape))
    chosen = outcome(lambda: pair.array[index])
    value = data.draw(values(np.shape(chosen) if not isinstance(chosen, Exception) else (), pair.array.dtype))
    own_value = fo.asarray(value.copy()) if as_tensor and isinstance(value, np.ndarray) else value
    assignment_agrees(pair, index, as_tensors(index, np.random.default_rng(seed)), value, own_value)


@quick
@given(st.integers(1, 8), part, part, st.sampled_from(("f8", "i2")))
def test_assignment_from_itself(size, to, source, dtype):
    reference = np.arange(size).astype(dtype)
    x = fo.asarray(reference.copy())
    theirs = outcome(reference.__setitem__, to, reference[source])
    ours = outcome(x.__setitem__, to, x[source])
    assert type(ours) is type(theirs)
    assert_array_equal(x, reference)


def test_assignment_from_itself_in_two_dimensions():
    for size in (2, 3, 65, 130):
        x, reference = fo.reshape(fo.arange(size * size), (size, size)), np.arange(size * size).reshape(size, size)
        x[...] = x.T
        reference[...] = reference.T.copy()
        assert_array_equal(x, reference)
        x[::-1, 1:] = x[:, :-1]
        reference[::-1, 1:] = reference[:, :-1].copy()
        assert_array_equal(x, reference)


def test_arithmetic_in_place_on_overlapping_views():
    d = fo.asarray([1, 3, 6, 10, 15])
    d[1:] -= d[:-1]
    assert d.tolist() == [1, 2, 3, 4, 5]
    a = fo.asarray([[1.0, 2.0], [3.0, 5.0]])
    a -= a[:, :1]
    assert a.tolist() == [[0, 1], [0, 2]]
    r = fo.arange(5.0)[::-1]
    fo.add(r[1:], r[:-1], out=r[1:])
    assert r.tolist() == [4, 7, 5, 3, 1]
    for size in (2, 3, 65, 300):
        x = fo.reshape(fo.arange(float(size * size)), (size, size))
        x += x.T
        expected = np.arange(float(size * size)).reshape(size, size)
        assert_array_equal(x, expected + expected.T)
    wide = fo.broadcast_to(fo.ones((1, 1)), (2, 3))
    with pytest.raises(ValueError):
        wide += 1


def test_an_element_is_a_view():
    x = fo.zeros((2, 2))
    element = x[1, 1]
    assert isinstance(element, fo.Tensor) and element.shape == ()
    element[...] = 5
    element[()] += 1
    assert x.tolist() == [[0, 0], [0, 6]]


def test_an_index_by_arrays_is_a_copy():
    x = fo.zeros(3)
    for index in ([0, 1], fo.asarray([0, 1]), fo.asarray([True, True, False]), np.array(1), fo.asarray(1), True):
        chosen = x[index]
        chosen[...] = 5
        assert x.tolist() == [0, 0, 0], index
    assert x[[fo.asarray(1), 2]].shape == (2,) and x[[]].shape == (0,)
    assert x[fo.asarray(2)].shape == () and x[np.int64(2)].shape == ()
    x[np.int64(2)][...] = 1
    assert x.tolist() == [0, 0, 1]


class Two:
    def __index__(self):
        return 2


class Large:
    def __index__(self):
        return 10 ** 30


def test_whole_numbers_of_any_kind():
    x = fo.arange(5)
    assert x[Two()].item() == 2 and x[Two():].tolist() == [2, 3, 4] and x[np.uint8(3)].item() == 3
    assert x[(Two(), None)].shape == (1,) and x[fo.asarray(1):].tolist() == [1, 2, 3, 4]
    x[Two()] = 9
    assert x[2] == 9
    for index in (Large(), 10 ** 30, -10 ** 30):
        with pytest.raises(IndexError):
            x[index]


@pytest.mark.parametrize("index, words", [
    (5, ("index 5", "axis 0", "size 3")), ((0, -5), ("index -5", "axis 1", "size 4")), ((0, 0, 0), ("too many", "2", "3")),
    ((..., ...), ("ellipsis",)), ("a", ("indices",)), (1.5, ("indices",)), (([0, 3],), ("index 3", "axis 0", "size 3")),
    (np.ones(4, bool), ("boolean", "4", "3")), (([0, 1], [0, 1, 2]), ("broadcast",)), ({}, ("indices",)),
    ((None,) * 63, ("64",))])
def test_what_is_wrong_with_an_index(index, words):
    x = fo.zeros((3, 4))
    for call in (lambda: x[index], lambda: x.__setitem__(index, 1)):
        with pytest.raises(IndexError) as caught:
            call()
        for word in words:
            assert word in str(caught.value), f"{word!r} is not in {caught.value}"
    with pytest.raises(IndexError, match="getitem"):
        x[index]


def test_read_only_and_wrong_shapes():
    source = np.zeros(4)
    source.flags.writeable = False
    x = fo.asarray(source)
    for index in (0, slice(1), [0, 1], fo.asarray([True] * 4), ...):
        with pytest.raises(ValueError, match="read-only"):
            x[index] = 1
    y = fo.zeros((2, 3))
    for value in (fo.ones(2), np.ones((3, 2)), [1, 2], fo.ones((2, 2, 3))):
        with pytest.raises(ValueError):
            y[...] = value
    with pytest.raises(ValueError, match=r"\(2,\).*\(2, 3\)"):
        y[...] = fo.ones(2)
    assert y.tolist() == [[0] * 3] * 2


def test_casts_of_assignment():
    whole = fo.zeros(2, dtype="i4")
    whole[0] = 2.9
    whole[1:] = fo.asarray([-2.9])
    assert whole.tolist() == [2, -2]
    for value, error in ((3e9, OverflowError), (float("nan"), ValueError), (1j, TypeError), ("text", ValueError),
                         (None, TypeError)):
        with pytest.raises(error):
            whole[0] = value
        with pytest.raises(error):
            whole[:] = value
    assert whole.tolist() == [2, -2]
    with pytest.warns(np.exceptions.ComplexWarning):
        whole[:] = fo.asarray([1 + 1j, 2 + 2j])
    with pytest.warns(RuntimeWarning, match="overflow"):
        fo.zeros(1, dtype="f4")[0] = 1e300


def test_without_memory():
    x = fo.empty((3, 4), device="meta")
    reference = fo.zeros((3, 4))
    for index in (1, (..., None), slice(None, None, -1), [0, 2], (slice(None), np.array([[1, 2]])), ([True, False, True],)):
        assert x[index].device == "meta"
        assert (x[index].shape, x[index].strides) == (reference[index].shape, reference[index].strides)
    assert x[fo.empty((2, 5), dtype="i8", device="meta")].shape == (2, 5, 4)
    assert fo.zeros((3, 4))[fo.empty(2, dtype="i8", device="meta")].device == "meta"
    with pytest.raises(NotImplementedError, match="getitem.*mask"):
        x[fo.empty(3, dtype=bool, device="meta")]
    before = x._version
    x[0] = 5
    x[[0, 1]] = fo.empty(4, device="meta")
    assert x._version == before + 2
    for value in (fo.ones(3), np.ones(3)):
        with pytest.raises(ValueError, match="broadcast"):
            x[0] = value
    with pytest.raises(IndexError, match="out of bounds"):
        x[3]
    with pytest.raises((TypeError, NotImplementedError)):
        fo.zeros(3)[0:1] = fo.empty(1, device="meta")
    with pytest.raises(NotImplementedError, match="item"):
        x[0, 0].item()


def test_item():
    x, reference = fo.asarray([[1.5, 2.5], [3.5, 4.5]]), np.array([[1.5, 2.5], [3.5, 4.5]])
    for args in ((0,), (3,), (-1,), (1, 0), ((1, 0),), (-1, -2)):
        assert x.item(*args) == reference.item(*args)
        assert type(x.item(*args)) is float
    for args in ((), (4,), (2, 0), (0, 0, 0)):
        theirs, ours = outcome(reference.item, *args), outcome(x.item, *args)
        assert isinstance(ours, type(theirs)), (args, ours)
    for dtype, kind in (("f2", float), ("f4", float), ("i1", int), ("u8", int), ("?", bool), ("c8", complex)):
        value = fo.ones((1, 1), dtype=dtype).item()
        assert type(value) is kind and value == 1


def test_iteration_and_membership():
    x = fo.asarray([[1, 2], [3, 4]])
    rows = list(x)
    rows[0][0] = 9
    assert x.tolist() == [[9, 2], [3, 4]]
    assert 9 in x and 5 not in x
    first, second = x
    assert second.tolist() == [3, 4]
    with pytest.raises(TypeError, match="0-d"):
        iter(fo.asarray(1))


def test_many_dimensions():
    shape = (2,) * 3 + (1,) * 61
    reference = np.arange(8).reshape(shape)
    x = fo.asarray(reference.copy())
    assert_array_equal(x[:, 1, ..., 0], reference[:, 1, ..., 0])
    assert_array_equal(x[1, ..., None], reference[1, ..., None])
    assert_array_equal(x[[0, 1], 1], reference[[0, 1], 1])
    x[..., 0] = 5
    assert x.reshape(-1).tolist() == [5] * 8
    with pytest.raises(IndexError, match="64"):
        x[None]


def test_an_indexed_array_outlives_its_source():
    chosen = fo.arange(10)[[1, 2]]
    view = fo.arange(10)[3:5]
    assert chosen.tolist() == [1, 2] and view.tolist() == [3, 4]
    assert as_ndarray(view).tolist() == [3, 4]
