"""Type promotion is NumPy 2's (NEP 50), for every pair of dtypes and every Python scalar on either side."""

import itertools
import operator

import numpy as np
import pytest

import fastops as fo
from fastops.samples import ALL

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
              "%": operator.mod, "**": operator.pow, "<": operator.lt, "==": operator.eq, "&": operator.and_, "|": operator.or_,
              "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "divmod": divmod}
SCALARS = [True, 1, 2.5, 1j, np.float32(1), np.int8(1), np.float64(2), np.bool_(True), np.uint64(3)]


def outcome(function, *args):
    """The dtypes and values of a call, or the kind of its exception."""
    with np.errstate(all="ignore"):
        try:
            result = function(*args)
        except (TypeError, ValueError, OverflowError) as error:
            return [kind for kind in (OverflowError, ValueError, TypeError) if isinstance(error, kind)][0]
    results = result if isinstance(result, tuple) else (result,)
    return [(np.asarray(value).dtype, np.asarray(value).tolist()) for value in results]


def comparable(found):
    """Values with NaN made equal to itself and floats cut to 6 digits (float16 has three)."""
    if isinstance(found, type):
        return found
    return [(dtype, [f"{value:.3g}" if isinstance(value, (float, complex)) else value for value in values])
            for dtype, values in found]


@pytest.mark.parametrize("symbol", OPERATIONS)
@pytest.mark.parametrize("first", ALL)
def test_arrays(symbol, first):
    for second in ALL:
        a, b = np.array([1, 1, 0]).astype(first), np.array([1, 1, 1]).astype(second)
        function = OPERATIONS[symbol]
        assert comparable(outcome(function, fo.asarray(a), fo.asarray(b))) == comparable(outcome(function, a, b)), second


@pytest.mark.parametrize("symbol", OPERATIONS)
@pytest.mark.parametrize("dtype", ALL)
def test_scalars_on_either_side(symbol, dtype):
    function = OPERATIONS[symbol]
    for scalar, left in itertools.product(SCALARS, (False, True)):
        array = np.array([1, 1, 2]).astype(dtype)
        ours = (scalar, fo.asarray(array)) if left else (fo.asarray(array), scalar)
        theirs = (scalar, array) if left else (array, scalar)
        assert comparable(outcome(function, *ours)) == comparable(outcome(function, *theirs)), (scalar, left)


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype[0] in "iu"])
@pytest.mark.parametrize("value", [-2**63 - 1, -2**63, -1, 127, 128, 255, 256, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30])
def test_integers_that_may_not_fit(dtype, value):
    array = np.ones(2, dtype)
    for function in (operator.add, operator.lt, operator.eq, operator.ge, operator.ne):
        for swap in (False, True):
            ours = (value, fo.asarray(array)) if swap else (fo.asarray(array), value)
            theirs = (value, array) if swap else (array, value)
            assert outcome(function, *ours) == outcome(function, *theirs), function


@pytest.mark.parametrize("dtype", ALL)
def test_in_place_keeps_the_dtype_or_refuses(dtype):
    for other in (1, 2.5, 1j, np.ones(3, "i8"), np.ones(3, "f4"), np.ones(3, "c8"), np.ones(3, "?")):
        for function in (operator.iadd, operator.imul, operator.itruediv, operator.ifloordiv, operator.ipow):
            ours, theirs = fo.asarray(np.ones(3, dtype)), np.ones(3, dtype)
            given = fo.asarray(other) if isinstance(other, np.ndarray) else other
            assert comparable(outcome(function, ours, given)) == comparable(outcome(function, theirs, other)), (other, function)
            assert ours.dtype == np.dtype(dtype)


@pytest.mark.smoke
def test_the_cases_that_bite():
    """Field case: Python scalars are weak."""
    u, f = fo.asarray([200], dtype=fo.uint8), fo.asarray([1.0, 2.0], dtype=fo.float32)
    assert (u + 100).tolist() == [44] and (u + 100).dtype == fo.uint8
    for wrong in (lambda: u + 300, lambda: u + (-1), lambda: fo.asarray([300], dtype=fo.uint8)):
        with pytest.raises(OverflowError, match="uint8"):
            wrong()
    kinds = [(f + 1e-10).dtype, (f * 1j).dtype, (fo.asarray([1], dtype=fo.int8) + 1.0).dtype,
             (fo.asarray([1], dtype=fo.int32) + True).dtype, fo.where(f > 1.5, f, 0).dtype, fo.maximum(True, True).dtype]
    assert kinds == [fo.float32, fo.complex64, fo.float64, fo.int32, fo.float32, fo.bool]
    with np.errstate(over="ignore"):
        assert (f * 1e200).tolist() == [np.inf, np.inf] and (f * 1e200).dtype == fo.float32


@pytest.mark.parametrize("left", [np.ones(3), np.float32(2), np.int64(3), [1, 2, 3], 2.0, np.ones((2, 3))], ids=repr)
def test_numpy_on_the_left_leaves_it_to_the_tensor(left):
    tensor = fo.asarray([1.0, 2.0, 3.0])
    for function in (operator.add, operator.sub, operator.truediv, operator.pow, operator.lt, operator.eq):
        result = function(left, tensor)
        assert isinstance(result, fo.Tensor)
        assert result.tolist() == np.asarray(function(np.asarray(left), np.asarray(tensor))).tolist()
