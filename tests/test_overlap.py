"""Writing where one reads: the result is as if the operands had been copied first, for every operator that writes.

The field case behind it: adding the transpose in place, differencing in place, subtracting the first column in place, a
product into its own operand; results depended on loop order and array size elsewhere.
"""

import operator

import numpy as np
import pytest

import fastops as fo

IN_PLACE = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
            "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul}
VIEWS = {"transpose": lambda a: a.T, "rows reversed": lambda a: a[::-1], "columns reversed": lambda a: a[:, ::-1],
         "first column": lambda a: a[:, :1], "first row": lambda a: a[:1], "both reversed": lambda a: a[::-1, ::-1],
         "diagonal": lambda a: fo.diagonal(a) if isinstance(a, fo.Tensor) else a.diagonal(), "one element": lambda a: a[-1, -1]}


def square(size, dtype="f8"):
    return (np.arange(size * size) % 7 + 1.0).reshape(size, size).astype(dtype)


@pytest.mark.parametrize("size", [2, 3, 65, 300])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("symbol", IN_PLACE)
def test_in_place_with_a_view_of_itself(symbol, view, size):
    if symbol == "@=" and view in ("first column", "first row", "diagonal", "one element"):
        pytest.raises((ValueError, TypeError), IN_PLACE[symbol], fo.asarray(square(2)), VIEWS[view](fo.asarray(square(2))))
        return
    values = square(size)
    expected = IN_PLACE[symbol](values.copy(), np.array(VIEWS[view](values)))
    tensor = fo.asarray(values.copy())
    result = IN_PLACE[symbol](tensor, VIEWS[view](tensor))
    assert result is tensor
    np.testing.assert_allclose(np.asarray(tensor), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("size", [5, 2000])
def test_shifted_by_one(dtype, size):
    values = (np.arange(size) % 3).astype(dtype)
    for target, source in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)),
                           (slice(None, None, -1), slice(None))):
        tensor, expected = fo.asarray(values.copy()), values.copy()
        fo.logical_or(tensor[target], tensor[source], out=tensor[target])
        expected[target] = np.logical_or(values[target], values[source])
        assert np.array_equal(np.asarray(tensor), expected)
        tensor, expected = fo.asarray(values.copy()), values.copy()
        tensor[target] = tensor[source]
        expected[target] = values[source].copy()
        assert np.array_equal(np.asarray(tensor), expected)


def test_the_cases_that_bit():
    d = fo.asarray([1, 3, 6, 10, 15])
    d[1:] -= d[:-1]
    assert d.tolist() == [1, 2, 3, 4, 5]
    a = fo.asarray([[1.0, 2.0], [3.0, 5.0]])
    a -= a[:, :1]
    assert a.tolist() == [[0.0, 1.0], [0.0, 2.0]]
    r = fo.asarray(np.arange(5.0))[::-1]
    fo.add(r[1:], r[:-1], out=r[1:])
    assert r.tolist() == [4.0, 7.0, 5.0, 3.0, 1.0]
    m = fo.asarray(np.arange(9.0).reshape(3, 3))
    fo.matmul(m, m, out=m)
    assert m.tolist() == [[15.0, 18.0, 21.0], [42.0, 54.0, 66.0], [69.0, 90.0, 111.0]]


WIDENED = {"broadcast": lambda: fo.broadcast_to(fo.ones((1, 1)), (2, 3)),
           "sliding": lambda: fo.asarray(np.lib.stride_tricks.as_strided(np.ones(3), (2, 2), (8, 8))),
           "one cell": lambda: fo.asarray(np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,)))}


@pytest.mark.parametrize("write", [lambda w: w.__iadd__(1), lambda w: fo.add(w, 1, out=w), lambda w: fo.sin(w, out=w)],
                         ids=["in place", "out", "unary out"])
@pytest.mark.parametrize("widened", WIDENED)
def test_elements_that_share_a_cell_are_not_written(write, widened):
    tensor = WIDENED[widened]()
    before = tensor.tolist()
    with pytest.raises(ValueError, match="read-only|share one memory cell"):
        write(tensor)
    assert tensor.tolist() == before


def test_read_only_arrays_are_not_written():
    array = np.ones(3)
    array.flags.writeable = False
    tensor = fo.asarray(array)
    for write in (lambda t: t.__iadd__(1), lambda t: t.__setitem__(0, 2.0), lambda t: fo.add(t, 1, out=t), lambda t: t[1:].__imul__(2),
                  lambda t: fo.cumsum(t, out=t), lambda t: t.reshape(3, 1).__setitem__(0, 1)):
        with pytest.raises(ValueError, match="read-only"):
            write(tensor)
    assert array.tolist() == [1.0, 1.0, 1.0] and not tensor.writeable and not np.asarray(tensor).flags.writeable


def test_two_results_into_operands():
    a, b = fo.asarray([7.0, -7.0]), fo.asarray([3.0, 3.0])
    fo.divmod(a, b, out=(b, a))
    assert b.tolist() == [2.0, -3.0] and a.tolist() == [1.0, 2.0]
