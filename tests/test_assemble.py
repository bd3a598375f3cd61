"""Arrays taken apart, put together, given borders, and made by a rule: values, dtypes and kinds of errors are NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops import samples
from fastops.testing import PassThrough, assert_array_equal, assert_close, check_op, results_of, to_numpy


def since(version):
    """Whether NumPy is at least of this version: older ones are no oracle for what came later."""
    return np.lib.NumpyVersion(np.__version__) >= version


KINDS = (np.exceptions.AxisError, OverflowError, IndexError, TypeError, ValueError)
DTYPES = st.sampled_from(["?", "u1", "i4", "f4", "f8", "c16"])


@st.composite
def arrays(draw, dtypes=DTYPES, least=1, most=3, min_side=0):
    """A NumPy array of small numbers: in rows, transposed, reversed, with gaps."""
    shape = draw(st.lists(st.integers(min_side, 5), min_size=least, max_size=most))
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
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


def agree(name, *args, **kwargs):
    """fo.name and np.name of the same arguments: equal results, or errors of the same kind. Returns fo's outcome."""
    theirs = outcome(getattr(np, name), *args, **kwargs)
    ours = outcome(getattr(fo, name), *tensors(args), **{key: tensors(value) for key, value in kwargs.items()})
    if isinstance(theirs, Exception):
        kind = next(kind for kind in KINDS if isinstance(theirs, kind))
        assert isinstance(ours, kind), f"{ours!r} where NumPy raises {theirs!r}"
        return ours
    assert not isinstance(ours, Exception), f"{ours!r} where NumPy gives {theirs!r}"
    for one, other in zip(results_of(ours), results_of(theirs), strict=True):
        assert_close(one, np.asarray(other), **({} if np.asarray(other).dtype.kind in "iub" else {"rtol": 1e-5, "atol": 1e-5}))
    return ours


# Taken apart

@settings(max_examples=150, deadline=None)
@given(data=st.data(), x=arrays())
def test_pieces_are_numpys_and_share_memory(data, x):
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim - 1))
    parts = data.draw(st.one_of(st.integers(1, 6), st.lists(st.integers(-7, 7), max_size=4)))
    for name in ("split", "array_split"):
        if axis < -x.ndim:
            assert isinstance(outcome(getattr(fo, name), fo.asarray(x), parts, axis), IndexError)
            continue
        tensor = fo.asarray(x.copy(order="K"))
        ours = outcome(getattr(fo, name), tensor, parts, axis)
        theirs = outcome(getattr(np, name), x, parts, axis)
        assert isinstance(ours, Exception) == isinstance(theirs, Exception)
        if isinstance(theirs, Exception):
            assert isinstance(ours, ValueError)
            continue
        assert type(ours) is list and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert_array_equal(one, other)
            assert one.size == 0 or np.shares_memory(to_numpy(one), to_numpy(tensor))
    joined = fo.concat(fo.array_split(fo.asarray(x), data.draw(st.integers(1, 6)), max(axis, -x.ndim)), max(axis, -x.ndim))
    assert_array_equal(joined, x)


@pytest.mark.parametrize("name, shape", [("hsplit", ()), ("hsplit", (4,)), ("hsplit", (3, 4)), ("vsplit", (4,)),
                                         ("vsplit", (4, 3)), ("dsplit", (4, 4)),
                                         ("dsplit", (1, 2, 4))])
@pytest.mark.parametrize("parts", [2, 3, [1], [1, 3], ()])
def test_splits_along_named_axes(name, shape, parts):
    agree(name, np.arange(np.prod(shape, dtype=int)).reshape(shape), parts)


def test_wrong_splits():
    x = fo.arange(4)
    for parts in (0, -1):
        with pytest.raises(ValueError, match="split: .* sections"):
            fo.split(x, parts)
        with pytest.raises(ValueError, match="array_split: .* sections"):
            fo.array_split(x, parts)
    with pytest.raises(TypeError):
        fo.split(x, [1.5])
    with pytest.raises(ValueError, match="4 elements .* 3"):
        fo.split(x, 3)


@pytest.mark.parametrize("args", [(0, 3), (-1,), (3,), (0, 4), (1, -3), (1, -4), (2, 1), (-3, 2)])
def test_rollaxis(args):
    agree("rollaxis", np.zeros((2, 3, 4)), *args)


# Put together

@pytest.mark.parametrize("blocks", [
    [], [[], []], [[1, 2], [3]], [1, [2]], (1, 2), [(1, 2)], 5, [np.arange(2), 5],
    [[np.ones((1, 1)), np.arange(1)], [np.arange(2)]],
    [[[np.arange(2)]], [[np.arange(2)]]], [[np.ones((2, 2)), np.zeros((2, 1))], [np.ones((1, 3))]], np.arange(2),
    [np.arange(2), np.ones((1, 2))],
    [np.ones((2, 2)), np.ones((3, 1))]], ids=repr)
def test_block(blocks):
    agree("block", blocks)


def test_block_copies():
    x = fo.ones(2)
    fo.block(x)[0] = 5
    fo.block([x])[0] = 5
    assert x.tolist() == [1, 1]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), x=arrays(), y=arrays())
def test_append(data, x, y):
    agree("append", x, y)
    agree("append", x, y, axis=data.draw(st.integers(-x.ndim, x.ndim)))
    agree("append", x, values=x, axis=0)
    agree("append", x, 1.5)


@pytest.mark.parametrize("arrays", [[np.arange(2), np.ones((1, 2))], [], (1, 2), [np.ones((2, 1, 3)), np.ones((2, 1, 1))],
                                    np.ones((2, 3)), [np.arange(2), np.arange(3)]], ids=repr)
def test_dstack(arrays):
    agree("dstack", arrays)


def test_row_stack_is_vstack():
    assert fo.row_stack is fo.vstack


PLACES = st.one_of(st.integers(-7, 7), st.lists(st.integers(-5, 5), max_size=4),
                   st.lists(st.booleans(), min_size=1, max_size=5).map(np.array),
                   st.builds(slice, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6),
                             st.sampled_from([None, 2, -1, -2])),
                   st.lists(st.integers(-3, 3), max_size=4).map(lambda places: np.array(places, np.int32)))


@settings(max_examples=250, deadline=None)
@given(data=st.data(), x=arrays(), places=PLACES)
def test_delete(data, x, places):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim))
    before = x.copy()
    agree("delete", x, places, axis)
    agree("delete", x, obj=places, axis=axis)
    assert_array_equal(x, before)


@settings(max_examples=250, deadline=None)
@given(data=st.data(), x=arrays(), places=PLACES)
def test_insert(data, x, places):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    length = x.size if axis is None else x.shape[axis]
    given = np.arange(length)[places] if isinstance(places, slice) else np.asarray(places)
    if given.dtype == bool:
        if not since("2.2.0"):
            return              # NumPy took truth values for 0 and 1
        given = np.flatnonzero(given)
    if given.size > 1 and not all(-length <= place <= length for place in given):
        return                  # NumPy counts such places among the new ones, or refuses: a refusal here, see below
    rows = (x.size if axis is None else x.shape[axis])
    shape = [given.size] if axis is None else [given.size if place == axis % x.ndim else size for place,
                                               size in enumerate(x.shape)]
    values = data.draw(st.sampled_from([3, 2.75, np.arange(given.size), np.ones(shape, "f4"), np.arange(rows), np.ones((2, 1)),
                                        []]))
    with np.errstate(all="ignore"):
        agree("insert", x, places, values, axis)


def test_wrong_places():
    x = fo.arange(3)
    for places in ([0, 9], [-4, 1]):
        with pytest.raises(IndexError, match="insert: index"):
            fo.insert(x, places, 1)
        with pytest.raises(IndexError, match="delete: index"):
            fo.delete(x, places)
    for name, args in (("insert", ([[1]], 5)), *([("insert", (np.array([[True, False, True]]), 5))] if since("2.2.0") else []),
                       ("delete", (np.array([[True, False, True]]),)),
                       ("delete", ([True, False],)), ("delete", (1.0,)), ("delete", (0, 1)), ("insert", (0, 1, 1)),
                       ("insert", ([0, 1], [1, 2, 3]))):
        assert isinstance(agree(name, np.arange(3), *args), Exception)
    assert isinstance(agree("insert", np.array(5), 0, 1, 0), Exception) and isinstance(agree("delete", np.array(5), 0, 0),
                                                                                       Exception)


@settings(max_examples=80, deadline=None)
@given(x=arrays(least=0), shape=st.one_of(st.integers(-1, 9), st.lists(st.integers(-1, 4), max_size=3).map(tuple)))
def test_resize(x, shape):
    agree("resize", x, shape)
    agree("resize", x, np.asarray(shape, dtype=np.int64) if not isinstance(shape, int) else np.int64(shape))


@settings(max_examples=120, deadline=None)
@given(data=st.data(), x=arrays(most=1), trim=st.sampled_from(["f", "b", "fb", "bf", "FB"]))
def test_trim_zeros(data, x, trim):
    x = np.where(samples.array(np.random.default_rng(data.draw(st.integers(0, 99))), x.shape, "?"), x, 0).astype(x.dtype)
    agree("trim_zeros", x, trim)
    agree("trim_zeros", np.zeros_like(x), trim)
    with pytest.raises(ValueError, match="trim_zeros"):
        fo.trim_zeros(fo.asarray(x), "x")


@pytest.mark.skipif(not since("2.4.0"), reason="NumPy trims several axes from 2.4 on")
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (), 2])
@pytest.mark.parametrize("trim", ["f", "b", "fb"])
def test_trim_zeros_of_several_axes(axis, trim):
    for x in (np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]]), np.zeros((2, 2), int), np.array([[0, 2], [1, 0]])):
        agree("trim_zeros", x, trim, axis=axis)


@pytest.mark.parametrize("shapes", [((1, 2), (3, 1)), ((2,), (3,)), (), (3, (1,)), (-1,), ((2, 1), (0,)), (1.5,)], ids=repr)
def test_broadcast_shapes(shapes):
    ours, theirs = outcome(fo.broadcast_shapes, *shapes), outcome(np.broadcast_shapes, *shapes)
    assert type(ours) is type(theirs) and (isinstance(theirs, Exception) or ours == theirs)


# Borders

WIDTHS = st.one_of(st.integers(0, 12), st.tuples(st.integers(0, 12), st.integers(0, 12)))


@settings(max_examples=400, deadline=None)
@given(data=st.data(), x=arrays(), mode=st.sampled_from(["constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp",
                                                         "maximum", "minimum", "mean",
                                                         "median"]))
def test_pad(data, x, mode):
    width = data.draw(st.one_of(WIDTHS, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=x.ndim,
                                                 max_size=x.ndim)))
    numbers = st.integers(0, 9) | st.tuples(st.integers(0, 9), st.integers(0, 9))
    options = {"constant": {"constant_values": numbers}, "linear_ramp": {"end_values": numbers},
               "reflect": {"reflect_type": st.sampled_from(["even", "odd"])},
               "symmetric": {"reflect_type": st.sampled_from(["even", "odd"])}}.get(mode,
                                                                                    {"stat_length": st.none() | st.integers(1, 4)}
                                                                                   if mode in ("maximum", "minimum", "mean",
                                                                                               "median") else {})
    more = {name: value for name, value in data.draw(st.fixed_dictionaries(options)).items() if value is not None}
    if mode == "linear_ramp" and x.dtype.kind == "b":
        return                  # numbers near 0 are true or not as the last bit falls
    if x.dtype.kind == "b" and more.get("reflect_type") == "odd" or mode in ("mean", "median") and x.dtype.kind == "u":
        x = x.astype("i4")
    before = x.copy()
    agree("pad", x, width, mode, **more)
    assert_array_equal(x, before)


@pytest.mark.parametrize("call", [
    ({0: 1, -1: (2, 0)},), ([1.0],), ([[1], [2]],), ([[1, 2, 3]],), (np.array([1, 2]),), ("a",), ([[[1]]],), (-1,), ((1, -1),),
    (True,), (None,), (1, "bad"), (1, None)], ids=repr)
def test_widths_and_modes(call):
    if isinstance(call[0], dict) and not since("2.4.0"):
        pytest.skip("NumPy takes a dict from 2.4 on")
    agree("pad", np.arange(6).reshape(2, 3), *call)


@pytest.mark.parametrize("options", [{"mode": "edge", "constant_values": 1}, {"mode": "constant", "stat_length": 1},
                                     {"mode": "mean", "stat_length": -1},
                                     {"mode": "maximum", "stat_length": 0}, {"constant_values": [1, 2, 3]},
                                     {"mode": "reflect", "reflect_type": "weird"}], ids=repr)
def test_options_of_pad(options):
    agree("pad", np.arange(6).reshape(2, 3), 1, **options)
    agree("pad", np.zeros((0, 2)), 1, **options)


def test_pad_by_a_function_that_writes_into_tensors():
    def border(row, width, axis, options):
        assert axis in (0, 1) and options == {}
        row[:width[0]] = 10 + axis
        if width[1]:
            row[-width[1]:] = row[width[0]]

    for x in (np.arange(6.0).reshape(2, 3), np.arange(4)):
        agree("pad", x, (1, 2), border)
    kinds = set()
    fo.pad(fo.ones(3), 1, lambda row, *more: kinds.add(type(row)))
    assert kinds == {fo.Tensor}


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "minimum",
                                  "mean", "median", "empty"])
def test_pad_is_made_of_operators(mode):
    """Without data the shape is known; a transform sees other operators below pad; nothing is pad itself."""
    assert fo.pad(fo.ones((2, 3), dtype="f4", device="meta"), ((1, 2), (0, 4)), mode).shape == (5, 7)
    x = fo.ones(3)
    padded = fo.pad(x, 0, mode)
    padded[0] = 5
    assert x.tolist() == [1, 1, 1]
    interpreter = PassThrough()
    fo._dispatch.push_interpreter(interpreter)
    try:
        fo.pad.decompose(fo.ones(3), 2, mode)
    finally:
        fo._dispatch.pop_interpreter()
    assert {operator.__name__ for operator in interpreter.seen} & {"concat", "take"}


def test_odd_reflections_continue_a_line():
    """Turned about its ends again and again, a straight line goes on: an oracle that is not NumPy's."""
    line = fo.arange(4) * 3 + 1
    assert fo.pad(line, (11, 9), "reflect", reflect_type="odd").tolist() == [3 * place + 1 for place in range(-11, 13)]


# Diagonals, triangles and grids

@pytest.mark.parametrize("args", [(np.arange(2), 2), (np.arange(2), -1), ([[1, 2], [3, 4]],), (np.ones((2, 3)), 1),
                                  (np.ones((2, 3)), -5), (np.array(5),), (np.ones((2, 2, 2)),), (np.array([]),),
                                  ([True, False],), (np.array([1.5, np.nan], "f4"), 1)], ids=repr)
def test_diag(args):
    agree("diag", *args)
    agree("diagflat", *args)


@pytest.mark.parametrize("args", [(3,), (2, 3, 1), (0,), (3, 0), (2, 2, 9), (4, 2, -1), (-1,)])
def test_tri(args):
    agree("tri", *args)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_triangles(name):
    for args, more in (((3,), {}), ((3, 1), {}), ((3,), {"k": -1, "m": 4}), ((0,), {}), ((2, 0, 3), {})):
        agree(name, *args, **more)
    for shape in ((2, 3), (3, 2), (2, 3, 2), (3,)):
        for args, more in (((), {}), ((-1,), {}), ((), {"k": 1})):
            agree(f"{name}_from", np.ones(shape), *args, **more)


def test_indices_of_diagonals():
    for args in ((2,), (2, 3), (0,), (2, 1)):
        agree("diag_indices", *args)
    for shape in ((2, 2), (2, 3), (3,), (2, 2, 2)):
        agree("diag_indices_from", np.ones(shape))
    agree("mask_indices", 3, np.triu, 1)
    for ours, theirs in zip(fo.mask_indices(3, fo.triu, 1), np.mask_indices(3, np.triu, 1), strict=True):
        assert_array_equal(ours, theirs)


def test_indices_and_identity():
    for args, more in ((((2, 3),), {}), (((2, 3),), {"dtype": "f4", "sparse": True}), (((),), {}), (((2, 0),), {}),
                       (([2, 2], int), {}), (((-1,),), {})):
        agree("indices", *args, **more)
    agree("identity", 3, dtype="i4")
    agree("identity", -1)
    agree("ix_", np.array([0, 1]), np.array([True, False, True]))
    agree("ix_", [[1]])
    agree("ix_", [])


@pytest.mark.parametrize("key", [np.s_[0:3], np.s_[0:1:3j], np.s_[0:2, 0:2], np.s_[0:1:3j, 0:2], np.s_[2:0:-1], np.s_[0.5:2],
                                 np.s_[0:3:0.5], np.s_[0:0]], ids=repr)
def test_grids(key):
    for ours, theirs in ((fo.mgrid, np.mgrid), (fo.ogrid, np.ogrid)):
        for one, other in zip(results_of(ours[key]), results_of(theirs[key]), strict=True):
            assert isinstance(one, fo.Tensor)
            assert_close(one, other)


@pytest.mark.parametrize("key", [(slice(1, 4), 0, np.array([5, 6])), (np.arange(2), np.array([3.5])),
                                 ("0,2", np.arange(2), np.arange(2)), ("-1", np.ones((1, 2)), np.ones((1, 2))),
                                 (slice(0, 1, 3j),), ("1,2,0", np.arange(2), np.arange(2)), (np.array([1], "i1"), 2),
                                 (np.array([1], "f4"), 0.5), ([1, 2], (3, 4))], ids=repr)
def test_joined_by_brackets(key):
    for ours, theirs in ((fo.r_, np.r_), (fo.c_, np.c_)):
        expected, actual = outcome(theirs.__getitem__, key), outcome(ours.__getitem__, tensors(key))
        assert isinstance(actual, Exception) == isinstance(expected, Exception)
        if not isinstance(expected, Exception):
            assert_close(actual, expected)


@pytest.mark.parametrize("args, more", [
    ((0, 2, 3), {}), ((0, [1, 2], 3), {}), (([0, 1], [1, 2], 3), {"axis": -1}), ((0, 2, 3), {"base": 2}),
    ((0, 2, 3, True, 2, int), {}), ((np.array([0., 1.]), 2, 3), {}),
    ((0, 2, 1), {}), ((0, 2, 0), {}), ((0, 2, -1), {}), ((0, 1j, 3), {}), ((np.array([0, 1], "f4"), 2, 3), {}),
    ((0, 3, 4), {"base": [2, 10]}),
    ((0, 2, 3), {"base": np.array([2, 10]), "axis": -1}), ((0, 2, 3), {"base": [[2], [10]]}),
    (([0, 1], 2, 3), {"base": [[2], [10]], "axis": 1})], ids=repr)
def test_logspace(args, more):
    agree("logspace", *args, **more)


@pytest.mark.parametrize("args, more", [((1, 1000, 4), {}), ((1, 1000), {"num": 4, "endpoint": False}),
                                        (([1, 2], [4, 16], 3), {}), ((1, -8, 4), {}), ((0, 1), {}), ((1, 8, -1), {}),
                                        ((1j, 16j, 5), {}), ((np.array([1., 2.]), 8, 3), {"axis": 1}),
                                        ((1, 256, 9), {"dtype": "f4"})], ids=repr)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_geomspace(args, more):
    agree("geomspace", *args, **more)


def test_functions_of_places():
    assert_close(fo.fromfunction(lambda i, j, k: i + j + k, (2, 3), dtype=int, k=5),
                 np.fromfunction(lambda i, j: i + j + 5, (2, 3), dtype=int))
    assert list(fo.ndindex(2, 2)) == list(np.ndindex(2, 2))
    for x in (np.arange(6).reshape(2, 3).T, np.array(5), np.zeros((0, 2))):
        assert list(fo.ndenumerate(fo.asarray(x))) == [(place, value.item()) for place, value in np.ndenumerate(x)]


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "c8"])
def test_dtypes_of_spaced_numbers_without_data(dtype):
    start = np.array([1, 1], dtype)
    for name in ("linspace", "logspace", "geomspace"):
        expected = getattr(np, name)(start, 2, 3)
        assert getattr(fo, name)(fo.asarray(start), 2, 3).dtype == expected.dtype
        without = getattr(fo, name)(fo.asarray(start), 2, 3, device="meta")
        assert (without.shape, without.dtype, without.device) == (expected.shape, expected.dtype, "meta"), name
        without = getattr(fo, name)(fo.ones(2, dtype=dtype, device="meta"), 2, 3, device="meta")
        assert (without.shape, without.dtype, without.device) == (expected.shape, expected.dtype, "meta"), name
    with pytest.raises((TypeError, NotImplementedError)):
        fo.arange(fo.asarray(3, device="meta"), device="meta")


@pytest.mark.parametrize("args, more", [
    (((np.array([1, 0]), np.array([2, 1])), (2, 3)), {}), ((np.array([[1, 0], [2, 1]]), (2, 3)), {}), (((3, 4), (6, 7)), {}),
    (((np.array([3]), np.array([1])), (2, 3)), {}),
    (((np.array([3]), np.array([1])), (2, 3)), {"mode": "clip"}),
    (((np.array([3]), np.array([5])), (2, 3)), {"mode": ("wrap", "clip")}),
    (((np.array([1]), np.array([1])),), {"dims": (2, 3), "order": "F"}), (((np.array([1]),), (2, 3)), {}),
    (((np.array([[1], [0]]), np.array([0, 1, 2])), (2, 3)), {}),
    (((np.array([1.5]),), (2,)), {})], ids=repr)
def test_ravel_multi_index(args, more):
    agree("ravel_multi_index", *args, **more)


@pytest.mark.parametrize("args, more", [((5, (2, 3)), {}), ((np.array([5, 1]), (2, 3)), {}), ((np.array([9]), (2, 3)), {}),
                                        ((np.array([5]),), {"shape": (2, 3), "order": "F"}),
                                        ((np.array([[1], [2]]), (6,)), {}), ((np.array([1]), 6), {}),
                                        ((np.array([1.5]), (2,)), {}), ((-1, (2,)), {})], ids=repr)
def test_unravel_index(args, more):
    agree("unravel_index", *args, **more)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), x=arrays(st.just("?")), order=st.sampled_from(["big", "little"]))
def test_bits(data, x, order):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim))
    agree("packbits", x, axis, order)
    packed = np.packbits(x, axis if axis is None or axis < x.ndim else 0, order)
    count = data.draw(st.none() | st.integers(-9, 20))
    if packed.size:
        agree("unpackbits", packed, axis, count, order)
    else:                       # what is not there is 0; NumPy does not write it
        ours, theirs = outcome(fo.unpackbits, fo.asarray(packed), axis, count, order), outcome(np.unpackbits, packed, axis,
                                                                                               count, order)
        assert isinstance(theirs, Exception) == isinstance(ours, Exception)
        assert isinstance(theirs, Exception) or ours.shape == theirs.shape and not ours.any()
    if axis is None:            # there and back, whatever NumPy says
        assert_array_equal(fo.unpackbits(fo.packbits(fo.asarray(x), bitorder=order), count=x.size, bitorder=order), x.ravel())


def test_bits_of_what_is_none():
    assert isinstance(agree("packbits", np.array([1.5])), TypeError)
    assert isinstance(agree("unpackbits", np.array([5])), TypeError)
    assert isinstance(agree("packbits", [1], None, "x"), ValueError)


def test_laws_of_pad():
    assert check_op(fo.pad) > 90
