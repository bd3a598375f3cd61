"""Views against NumPy: values, shape, dtype, strides, what memory they share, what may be written, what raises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops._loops import as_ndarray
from fastops.testing import assert_array_equal

DTYPES = ("f8", "f4", "f2", "?", "i1", "i8", "u2", "c8", "c16")
quick = settings(deadline=None, max_examples=150, derandomize=True)


class Pair:
    """The same array twice, in NumPy and as a Tensor, over two blocks of memory with equal contents."""

    def __init__(self, shape, steps, order, dtype):
        count = int(np.prod([size * abs(step) for size, step in zip(shape, steps)]))
        self.block = np.arange(max(count, 1)).astype(dtype)[:count]
        self.own_block = self.block.copy()
        self.array, array = [
            block.reshape([size * abs(step) for size, step in zip(shape, steps)])[
                (*[slice(None, None, step) for step in steps], ...)].transpose(order)
            for block in (self.block, self.own_block)]
        self.tensor = fo.asarray(array)

    def __repr__(self):
        return f"Pair({self.array.shape}, strides {self.array.strides}, {self.array.dtype})"


@st.composite
def pairs(draw, rank=st.integers(0, 5), dtypes=DTYPES):
    rank = draw(rank)
    shape = draw(st.lists(st.sampled_from((1, 2, 3, 4, 0)) if rank < 5 else st.sampled_from((1, 2)),
                          min_size=rank, max_size=rank))
    steps = draw(st.lists(st.sampled_from((1, 1, 2, -1, -2)), min_size=rank, max_size=rank))
    return Pair(shape, steps, draw(st.permutations(range(rank))), draw(st.sampled_from(dtypes)))


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


def offset(array, block):
    return array.__array_interface__["data"][0] - block.__array_interface__["data"][0]


def lasting_steps(array):
    """The strides of the axes along which there is somewhere to go."""
    return [step for size, step in zip(array.shape, array.strides) if size > 1]


def assert_same(ours, theirs, pair):
    """Equal outcomes; a view of the same part of the same memory exactly where NumPy gives one."""
    if isinstance(theirs, Exception):
        kind = next(kind for kind in type(theirs).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))
        assert isinstance(ours, kind), f"{ours!r} where NumPy raises {theirs!r}"
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"{ours!r} where NumPy gives {theirs!r}") from ours
    assert isinstance(ours, fo.Tensor)
    is_number = not isinstance(theirs, np.ndarray)      # where NumPy gives one, there is a 0-dimensional array here
    theirs = np.asarray(theirs)
    array = as_ndarray(ours)
    assert array.shape == theirs.shape and ours.shape == theirs.shape
    assert array.dtype == theirs.dtype
    np.testing.assert_array_equal(array, theirs)
    assert ours.size == theirs.size
    if theirs.size == 0 or is_number:
        return
    shared = np.shares_memory(theirs, pair.block)
    assert np.shares_memory(array, pair.own_block) == shared
    if shared:
        assert offset(array, pair.own_block) == offset(theirs, pair.block)
        assert lasting_steps(array) == lasting_steps(theirs)
        assert ours.is_contiguous() == theirs.flags.c_contiguous
        assert ours.writeable == theirs.flags.writeable
        if ours.writeable:
            before = ours._version
            ours[...] = 1
            theirs[...] = 1
            assert ours._version > before
            np.testing.assert_array_equal(pair.own_block, pair.block)
        else:
            with pytest.raises(ValueError, match="read-only"):
                ours[...] = 1


def check(pair, function, reference, *args, **kwargs):
    assert_same(outcome(function, pair.tensor, *args, **kwargs), outcome(reference, pair.array, *args, **kwargs), pair)


axis = st.integers(-6, 6)
axes = st.one_of(st.none(), axis, st.lists(axis, max_size=3).map(tuple), st.permutations(range(3)).map(tuple))
some_axes = axes.filter(lambda value: value is not None)


@quick
@given(pairs(), st.data())
def test_reshape(pair, data):
    size = pair.array.size
    divisors = [number for number in range(1, size + 1) if size % number == 0] or [0]
    first = data.draw(st.sampled_from(divisors))
    shape = data.draw(st.sampled_from([-1, (-1,), (size,), (first, -1), (-1, first), (first, 1, size // max(first, 1)),
                                       pair.array.shape[::-1], (1, *pair.array.shape, 1), (2, 3), (-1, -1), (),
                                       [first, -1], np.array([1, size])], ))
    check(pair, fo.reshape, np.reshape, shape)
    check(pair, fo.Tensor.reshape, np.ndarray.reshape, shape)
    if isinstance(shape, tuple) and len(shape) > 1:
        check(pair, lambda x: x.reshape(*shape), lambda x: x.reshape(*shape))
    for copy in (True, False, None):
        ours, theirs = outcome(fo.reshape, pair.tensor, shape, copy=copy), outcome(np.reshape, pair.array, shape, copy=copy)
        assert_same(ours, theirs, pair)


@quick
@given(pairs())
def test_one_argument(pair):
    for name in ("ravel", "transpose", "squeeze", "flip", "fliplr", "flipud", "real", "imag", "matrix_transpose",
                 "atleast_1d", "atleast_2d", "atleast_3d"):
        check(pair, getattr(fo, name), getattr(np, name))
    for name in ("ravel", "flatten", "transpose", "squeeze", "copy"):
        ours = outcome(getattr(fo.Tensor, name), pair.tensor)
        assert_same(ours, outcome(getattr(np.ndarray, name), pair.array), pair) if name != "copy" else \
            np.testing.assert_array_equal(as_ndarray(ours), pair.array)
    for name in ("T", "mT", "real"):
        check(pair, lambda x: getattr(x, name), lambda x: getattr(x, name))


@quick
@given(pairs(), axes, axis, axis)
def test_axes_in_order(pair, some, first, second):
    check(pair, fo.transpose, np.transpose, some)
    if some is not None:
        check(pair, fo.permute_dims, np.transpose, some)
    if isinstance(some, tuple) and len(some) > 1:
        check(pair, lambda x: x.transpose(*some), lambda x: x.transpose(*some))
    check(pair, fo.swapaxes, np.swapaxes, first, second)
    check(pair, fo.Tensor.swapaxes, np.ndarray.swapaxes, first, second)


@quick
@given(pairs(st.integers(0, 4)), some_axes, some_axes)
def test_moveaxis(pair, source, destination):
    check(pair, fo.moveaxis, np.moveaxis, source, destination)


@quick
@given(pairs(), axes)
def test_axes_added_and_removed(pair, some):
    if some is not None:
        check(pair, fo.expand_dims, np.expand_dims, some)
        check(pair, fo.expand_dims, np.expand_dims, axis=some)
    check(pair, fo.squeeze, np.squeeze, some)
    check(pair, fo.flip, np.flip, some)
    check(pair, fo.flip, np.flip, axis=some)


@quick
@given(pairs(st.integers(0, 4)), st.integers(-5, 5), axis, axis)
def test_diagonal(pair, shift, first, second):
    check(pair, fo.diagonal, np.diagonal, shift)
    check(pair, fo.diagonal, np.diagonal, shift, first, second)
    check(pair, fo.Tensor.diagonal, np.ndarray.diagonal, offset=shift, axis1=first, axis2=second)


@quick
@given(pairs(st.integers(0, 3)), st.lists(st.integers(0, 4), max_size=2), st.data())
def test_broadcast_to(pair, front, data):
    shape = tuple(front) + tuple([data.draw(st.sampled_from((size, size, 3))) for size in pair.array.shape])
    check(pair, fo.broadcast_to, np.broadcast_to, shape)
    check(pair, fo.broadcast_to, np.broadcast_to, 4)


@quick
@given(st.lists(pairs(st.integers(0, 3)), min_size=1, max_size=3))
def test_broadcast_arrays(several):
    theirs = outcome(np.broadcast_arrays, *[pair.array for pair in several])
    ours = outcome(fo.broadcast_arrays, *[pair.tensor for pair in several])
    if isinstance(theirs, Exception):
        assert isinstance(ours, ValueError)
        return
    assert isinstance(ours, tuple)
    for one, other in zip(ours, theirs, strict=True):
        assert one.size == 0 or lasting_steps(one) == lasting_steps(other)
        np.testing.assert_array_equal(as_ndarray(one), other)


@quick
@given(pairs(), st.integers(-4, 4))
def test_unstack(pair, axis):
    theirs = outcome(lambda x: [np.moveaxis(x, axis, 0)[row, ...] for row in range(x.shape[axis])], pair.array)
    ours = outcome(fo.unstack, pair.tensor, axis=axis)
    if isinstance(theirs, Exception):
        assert_same(ours, theirs, pair)
        return
    assert isinstance(ours, tuple) and len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert_same(one, other, pair)


@quick
@given(pairs())
def test_imag(pair):
    ours, theirs = pair.tensor.imag, pair.array.imag
    np.testing.assert_array_equal(as_ndarray(ours), theirs)
    assert ours.dtype == theirs.dtype and ours.writeable == theirs.flags.writeable
    if pair.array.dtype.kind == "c":
        assert_same(ours, theirs, pair)


def test_parts_are_assigned():
    x, reference = fo.asarray([1 + 2j, 3 + 4j]), np.array([1 + 2j, 3 + 4j])
    x.real = 7
    reference.real = 7
    x.imag = [8, 9]
    reference.imag = [8, 9]
    assert_array_equal(x, reference)
    with pytest.raises(AttributeError, match="transpose"):
        x.T = x
    with pytest.raises(ValueError, match="read-only"):
        fo.ones(2).imag = 1


@pytest.mark.parametrize("rank", [5, 8, 32, 63, 64])
def test_many_dimensions(rank):
    shape = (2, 3) + (1,) * (rank - 2)
    reference = np.arange(6.0).reshape(shape)
    x = fo.asarray(reference.copy())
    assert fo.reshape(fo.arange(6.0), shape).shape == shape
    for function, name in ((fo.transpose, "transpose"), (fo.flip, "flip"), (fo.squeeze, "squeeze")):
        assert_array_equal(function(x), getattr(np, name)(reference))
    assert x.T.strides[-2:] == reference.T.strides[-2:]
    assert_array_equal(fo.moveaxis(x, 0, -1), np.moveaxis(reference, 0, -1))
    assert_array_equal(x[1], reference[1])
    assert_array_equal(fo.broadcast_to(x, (2, 3) + (1,) * (rank - 3) + (4,)),
                                  np.broadcast_to(reference, (2, 3) + (1,) * (rank - 3) + (4,)))
    assert_array_equal(fo.copy(x.T), reference.T)
    assert_array_equal(fo.tile(x, 2), np.tile(reference, 2))


def test_too_many_dimensions():
    full = fo.reshape(fo.arange(1), (1,) * 64)
    for call in (lambda: fo.expand_dims(full, 0), lambda: fo.reshape(full, (1,) * 65), lambda: fo.stack([full]),
                 lambda: fo.broadcast_to(full, (1,) * 65), lambda: fo.expand_dims(full, tuple(range(70)))):
        with pytest.raises(ValueError, match="64"):
            call()


def test_read_only_survives_every_view():
    source = np.arange(12.0).reshape(1, 3, 4)
    source.flags.writeable = False
    x = fo.asarray(source)
    views = (x[0], x[...], x.T, x.reshape(3, 4), x.ravel(), fo.squeeze(x), fo.expand_dims(x, 0), fo.flip(x),
             fo.moveaxis(x, 0, 1), x.swapaxes(0, 1), fo.broadcast_to(x, (2, 3, 4)), x.real, fo.unstack(x)[0],
             fo.reshape(x.T, (4, 3)), fo.atleast_3d(x), x.diagonal()[0])
    for position, view in enumerate(views):
        assert not view.writeable, position
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
        with pytest.raises(ValueError, match="read-only"):
            view += 1
    assert x.copy().writeable and x.flatten().writeable
    np.testing.assert_array_equal(source, np.arange(12.0).reshape(1, 3, 4))


def test_views_keep_the_memory_and_share_the_version():
    x = fo.arange(6.0)
    view = x.reshape(2, 3).T[1:]
    assert view._version == x._version
    view[0, 0] = 9
    assert view._version == x._version == 1
    x += 1
    assert view._version == 2
    del x
    assert view.tolist() == [[10.0, 5.0], [3.0, 6.0]]


@pytest.mark.parametrize("call", [
    lambda x: x.reshape(2, 6), lambda x: x.T, lambda x: x[1, ::-1, None], lambda x: fo.flip(x, 1), lambda x: x.diagonal(),
    lambda x: fo.broadcast_to(x, (2, 3, 4)), lambda x: x.T.reshape(12), lambda x: fo.squeeze(x[:1]), lambda x: x.copy(),
    lambda x: x.astype("f4"), lambda x: fo.concat([x, x.astype("f4")], 1), lambda x: fo.stack([x, x], -1),
    lambda x: x.real, lambda x: x.imag, lambda x: fo.repeat(x, 2, 1), lambda x: fo.tile(x, (2, 1)), lambda x: fo.roll(x, 1),
    lambda x: fo.take(x, [0, 2], axis=0), lambda x: fo.unstack(x)[1]])
def test_views_need_no_memory(call):
    real, meta = call(fo.ones((3, 4))), call(fo.empty((3, 4), device="meta"))
    assert meta.device == "meta" and meta.data_ptr() == 0
    assert (meta.shape, meta.dtype, meta.strides) == (real.shape, real.dtype, real.strides)


@quick
@given(pairs(dtypes=("f8", "c16", "i2", "?")), st.sampled_from(DTYPES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_astype_and_copy(pair, dtype):
    theirs = pair.array.astype(dtype)
    ours = pair.tensor.astype(dtype)
    assert ours.dtype == theirs.dtype and ours.writeable
    np.testing.assert_array_equal(as_ndarray(ours), theirs)
    assert not np.shares_memory(as_ndarray(ours), pair.own_block)
    assert pair.tensor.astype(pair.tensor.dtype, copy=False) is pair.tensor
    assert pair.tensor.astype(pair.tensor.dtype) is not pair.tensor


def test_casts_that_lose_are_reported():
    with pytest.warns(np.exceptions.ComplexWarning):
        fo.astype(fo.asarray([1 + 2j]), "f8")
    with pytest.warns(RuntimeWarning, match="overflow"):
        fo.astype(fo.asarray([1e300]), "f4")
    with pytest.raises(TypeError, match="no such|nosuch|unknown"):
        fo.astype(fo.ones(1), "nosuch")


@quick
@given(st.lists(pairs(st.integers(0, 3)), min_size=1, max_size=4), st.one_of(st.none(), st.integers(-4, 4)), st.booleans())
def test_arrays_put_together(several, axis, alike):
    if alike:
        several = several[:1] * 3
    arrays, tensors = [pair.array for pair in several], [pair.tensor for pair in several]
    calls = [(fo.concat, np.concatenate)]
    if axis is not None:
        calls.append((fo.stack, np.stack))
    for function, reference in calls:
        theirs, ours = outcome(reference, arrays, axis), outcome(function, tensors, axis)
        if isinstance(theirs, Exception):
            assert isinstance(ours, type(theirs)), f"{ours!r} where NumPy raises {theirs!r}"
            continue
        assert isinstance(ours, fo.Tensor), repr(ours)
        assert ours.dtype == theirs.dtype
        assert_array_equal(ours, theirs)


def test_arrays_put_together_from_anything():
    assert fo.concat([[1, 2], np.array([3.5])]).tolist() == [1, 2, 3.5]
    assert fo.concat((np.ones(1), np.zeros(1))).tolist() == [1, 0]
    assert fo.concat(fo.asarray([[1, 2], [3, 4]])).tolist() == [1, 2, 3, 4]
    assert fo.stack([1, fo.asarray(2.5)]).tolist() == [1, 2.5]
    assert fo.concatenate is fo.concat
    assert fo.concat([fo.ones(1), fo.ones(1)], dtype="f4").dtype == np.dtype("f4")
    with pytest.raises(TypeError, match="same_kind"):
        fo.concat([fo.ones(1)], dtype="i4")
    for empty in ([], ()):
        with pytest.raises(ValueError, match="at least one"):
            fo.concat(empty)
    with pytest.raises(TypeError, match="sequence"):
        fo.stack(5)
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        fo.stack([fo.ones(2), fo.ones(3)])
    assert fo.concat([fo.ones(2), fo.empty(3, device="meta")]).device == "meta"


@quick
@given(pairs(st.integers(0, 3)), st.data())
def test_elements_moved(pair, data):
    number, some = st.integers(-7, 7), st.integers(-3, 3)
    shift = data.draw(st.one_of(number, st.lists(number, min_size=1, max_size=2).map(tuple)))
    along = data.draw(st.one_of(st.none(), some, st.lists(some, min_size=1, max_size=2).map(tuple)))
    times = data.draw(st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=4).map(tuple)))
    for function, reference, *args in ((fo.roll, np.roll, shift, along), (fo.tile, np.tile, times)):
        theirs, ours = outcome(reference, pair.array, *args), outcome(function, pair.tensor, *args)
        if isinstance(theirs, Exception):
            assert isinstance(ours, type(theirs)), f"{args}: {ours!r} where NumPy raises {theirs!r}"
            continue
        assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype and not np.shares_memory(as_ndarray(ours), pair.own_block)


@quick
@given(pairs(st.integers(0, 3)), st.data())
def test_elements_repeated(pair, data):
    along = data.draw(st.one_of(st.none(), st.integers(-3, 3)))
    repeats = data.draw(st.one_of(st.sampled_from((0, 1, 2, 3, 17)), st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    theirs, ours = outcome(np.repeat, pair.array, repeats, along), outcome(fo.repeat, pair.tensor, repeats, axis=along)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} where NumPy raises {theirs!r}"
        return
    assert_array_equal(ours, theirs)
    assert_array_equal(fo.repeat(pair.tensor, fo.asarray(repeats), axis=along), theirs)


@quick
@given(pairs(st.integers(0, 3)), st.data())
def test_take(pair, data):
    along = data.draw(st.one_of(st.none(), st.integers(-3, 3)))
    shape = data.draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)] if pair.array.size else [(0,)]))
    count = int(np.prod(shape))
    numbers = data.draw(st.lists(st.integers(-5, 4), min_size=count, max_size=count))
    indices = np.array(numbers, dtype=np.int64).reshape(shape)
    theirs = outcome(np.take, pair.array, indices, along)
    ours = outcome(fo.take, pair.tensor, fo.asarray(indices), axis=along)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} where NumPy raises {theirs!r}"
        return
    assert_array_equal(ours, theirs)
    assert_array_equal(pair.tensor.take(indices, along), theirs)


def test_wrong_numbers_are_refused_for_arrays_without_elements_too():
    # NumPy lets these pass, as there is nothing to repeat or to take.
    with pytest.raises(ValueError, match="negative"):
        fo.repeat(fo.ones(0), -1)
    with pytest.raises(IndexError, match="out of bounds"):
        fo.take(fo.ones((0, 1)), 1, axis=1)


def test_take_wants_whole_numbers():
    for indices in ([0.0], [True]):
        with pytest.raises(TypeError, match="whole numbers"):
            fo.take(fo.ones(3), indices)
    with pytest.raises(IndexError):
        fo.take_along_axis(fo.ones(3), [0.5])
    with pytest.raises(ValueError, match="dimensions"):
        fo.take_along_axis(fo.ones((3, 3)), [1])


@pytest.mark.parametrize("call", [
    lambda: fo.reshape(None, (1,)), lambda: fo.reshape(fo.ones(2), None), lambda: fo.reshape(fo.ones(2), "2"),
    lambda: fo.reshape(fo.ones(2), (2.0,)), lambda: fo.transpose(fo.ones((2, 2)), (0.0, 1.0)),
    lambda: fo.swapaxes(None, 0, 0), lambda: fo.swapaxes(fo.ones(2), "0", 0), lambda: fo.diagonal(fo.ones((2, 2)), 0.5),
    lambda: fo.expand_dims(fo.ones(2), 0.5), lambda: fo.squeeze(fo.ones(1), "a"),
    lambda: fo.getitem(None, 0), lambda: fo.getitem(5, fo.asarray(0)), lambda: fo.getitem([1], 0),
    lambda: fo.setitem(None, 0, 0), lambda: fo.moveaxis(None, 0, fo.asarray(0)),
    lambda: fo.broadcast_to(None, (2,)), lambda: fo.concat(None), lambda: fo.concat([None]), lambda: fo.ravel(object())])
def test_wrong_arguments_are_type_errors(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_numbers_are_arrays():
    assert fo.reshape(3.0, (1, 1)).tolist() == [[3.0]]
    assert fo.expand_dims(True, 0).tolist() == [True]
    assert fo.moveaxis([[1, 2]], 0, 1).tolist() == [[1], [2]]


def test_sizes_below_minus_one_are_refused():
    # NumPy takes any negative size for "what is left".
    with pytest.raises(ValueError, match="negative size"):
        fo.reshape(fo.ones(2), (-2,))


def test_errors_name_the_operator_and_the_values():
    x = fo.ones((2, 3))
    for call, words in ((lambda: x.reshape(4, 2), ("reshape", "6 elements", "(2, 3)", "(4, 2)")),
                        (lambda: x.T.reshape(6, copy=False), ("reshape", "(8, 24)", "copy=False")),
                        (lambda: fo.squeeze(x, 1), ("squeeze", "axis 1", "(2, 3)", "3")),
                        (lambda: fo.swapaxes(x, 0, 2), ("swapaxes", "axis 2", "dimension 2")),
                        (lambda: fo.transpose(x, (0, 0)), ("transpose", "repeated", "(0, 0)")),
                        (lambda: fo.broadcast_to(x, (2, 4)), ("broadcast_to", "(2, 3)", "(2, 4)"))):
        with pytest.raises(ValueError) as caught:
            call()
        for word in words:
            assert word in str(caught.value), f"{word!r} is not in {caught.value}"


def test_schemas_say_what_is_shared():
    for operator in (fo.reshape, fo.ravel, fo.transpose, fo.flip, fo.diagonal, fo.real, fo.unstack, fo.squeeze):
        assert operator.is_view, operator
    for operator in (fo.copy, fo.astype, fo.concat, fo.flatten, fo.roll, fo.setitem):
        assert not operator.is_view, operator
    assert fo.setitem._schema.is_mutable
