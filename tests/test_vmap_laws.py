"""vmap is a loop: over every operator, on rows made of its own samples, mapped in all arguments and in each alone."""

import numpy as np
import pytest

import fastops as fo
from fastops import registry, tree
from fastops.errors import MappedError

fo.special.erf          # declares them all
ROWS = 3
OPERATORS = [operator for operator in registry.operators.values() if operator.namespace == "fastops"]
# What gives Python values, or shapes that depend on values, has no answer for all rows at once: it says so.
READS = {"item", "allclose", "array_equal", "array_equiv", "nonzero", "flatnonzero", "argwhere", "compress", "extract", "trim_zeros", "unique_values",
         "unique_all", "unique_counts", "unique_inverse", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d"}
ORDERED = {"searchsorted", "interp", "digitize"}        # one axis of theirs is in order
UNDEFINED = {"empty_like"}          # its values are whatever the memory holds


def is_array(value):
    return isinstance(value, (np.ndarray, fo.Tensor))


def places(sample):
    """Where a sample has arrays: (position or keyword, place in a list or None)."""
    for key, value in [*enumerate(sample.args), *sample.kwargs.items()]:
        if is_array(value):
            yield key, None
        elif isinstance(value, (list, tuple)) and value and all(map(is_array, value)):
            yield from ((key, place) for place in range(len(value)))


def value_at(sample, place):
    value = sample.args[place[0]] if isinstance(place[0], int) else sample.kwargs[place[0]]
    return np.asarray(value if place[1] is None else value[place[1]])


def rows_of(operator, x):
    """Rows of x's shape whose values the operator takes."""
    if "linalg" in operator._opname or operator.rules.family == "linear-algebra":
        return np.stack([x * (1 + 0.25 * row) if x.dtype.kind in "fc" else x for row in range(ROWS)]).astype(x.dtype)
    if operator._opname in ORDERED and x.ndim == 1:
        return np.stack([x + np.asarray(row, x.dtype) for row in range(ROWS)])
    return np.stack([np.roll(x.reshape(-1), row).reshape(x.shape) for row in range(ROWS)])


def call_with(operator, sample, chosen):
    """A function of the arrays at these places."""
    def call(*values):
        args = [list(value) if isinstance(value, (list, tuple)) else fo.asarray(value) if isinstance(value, np.ndarray) else value for value in sample.args]
        kwargs = dict(sample.kwargs)
        for (key, place), value in zip(chosen, values):
            holder = args if isinstance(key, int) else kwargs
            if place is None:
                holder[key] = value
            else:
                holder[key][place] = value
        if operator._schema.is_mutable and operator._schema.arguments[0].is_write:
            args[0] = fo.copy(args[0])
        result = operator(*args, **kwargs)
        return args[0] if result is None else result
    return call


def check(operator, sample, chosen, transform=lambda call: call):
    """The rows of vmap beside those of a loop; True if there was something to compare."""
    stacks = [rows_of(operator, value_at(sample, place)) for place in chosen]
    call = transform(call_with(operator, sample, chosen))
    try:
        loop = [tree.flatten(call(*[fo.asarray(stack[row].copy()) for stack in stacks]))[0] for row in range(ROWS)]
    except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError, np.linalg.LinAlgError) as error:
        with pytest.raises(Exception):
            fo.vmap(call)(*map(fo.asarray, stacks))
        return False
    if operator._opname in READS:
        try:
            fo.vmap(call)(*map(fo.asarray, stacks))
        except MappedError:
            return True
    try:
        expected = [np.stack([np.asarray(row[place]) for row in loop]) for place in range(len(loop[0]))]
    except ValueError:                          # the rows have different shapes
        with pytest.raises(MappedError):
            fo.vmap(call)(*map(fo.asarray, stacks))
        return True
    found = tree.flatten(fo.vmap(call)(*map(fo.asarray, stacks)))[0]
    for one, other in zip(found, expected, strict=True):
        one = np.asarray(one)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if operator._opname not in UNDEFINED:
            precise = np.finfo(other.dtype).eps < 1e-10 if other.dtype.kind in "fc" else True
            np.testing.assert_allclose(one, other, rtol=1e-9 if precise else 2e-4, atol=1e-10 if precise else 1e-5)
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("operator", OPERATORS, ids=[operator._opname for operator in OPERATORS])
def test_every_operator(operator):
    compared, arrays = 0, 0
    for sample in operator.rules.samples(np.random.default_rng(0)):
        found = list(places(sample))
        arrays += len(found)
        for chosen in ([found] if found else []) + ([[place] for place in found] if len(found) > 1 else []):
            compared += check(operator, sample, chosen)
    assert compared or not arrays


TWICE = [operator for operator in OPERATORS if operator._opname not in READS | UNDEFINED]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("operator", TWICE, ids=[operator._opname for operator in TWICE])
def test_every_operator_nested(operator):
    # vmap over rows of rows: two levels, the second along the last axis of the first argument's rows.
    for number, sample in enumerate(operator.rules.samples(np.random.default_rng(0))):
        found = list(places(sample))
        if number > 12 or not found:
            continue
        stacks = [rows_of(operator, value_at(sample, place)) for place in found]
        call = call_with(operator, sample, found)
        try:
            once = tree.flatten(fo.vmap(call)(*map(fo.asarray, stacks)))[0]
        except Exception:
            continue
        twice = tree.flatten(fo.vmap(fo.vmap(call), in_axes=1, out_axes=1)(*[fo.asarray(np.stack([stack, stack], 1)) for stack in stacks]))[0]
        for one, two in zip(once, twice, strict=True):
            assert two.shape == (2, ROWS, *one.shape[1:]) or two.shape == (ROWS, 2, *one.shape[1:])
            for half in range(2):
                np.testing.assert_allclose(np.asarray(two)[:, half] if two.shape[0] == ROWS and two.shape[1] == 2 else np.asarray(two)[half],
                                           np.asarray(one), rtol=1e-6, atol=1e-6)
