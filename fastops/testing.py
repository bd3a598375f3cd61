"""Checks for tests: comparison of arrays, and the laws that every operator keeps.

``check_op(operator)`` runs an operator's own samples through every law that applies to it: the built-in ones are
tested with it, and a user's operator with samples can be.
"""

import warnings

import numpy as np

import fastops as fo
from fastops import _dispatch as machine
from fastops._loops import as_ndarray
from fastops.samples import Sample

UNIT_ROUNDOFF = {"f2": 2.0 ** -10, "f4": 2.0 ** -23, "f8": 2.0 ** -52, "c8": 2.0 ** -23, "c16": 2.0 ** -52}


def assert_array_equal(actual, expected):
    """AssertionError unless both have the same shape and the same values, NaN being equal to NaN.

    >>> import fastops as fo
    >>> assert_array_equal(fo.asarray([1, 2]), [1, 2])
    """
    actual, expected = to_numpy(actual), to_numpy(expected)
    assert actual.shape == expected.shape, f"shapes differ: {actual.shape} and {expected.shape}"
    np.testing.assert_array_equal(actual, expected)


def assert_close(actual, expected, *, rtol=None, atol=None):
    """AssertionError unless both have the same shape and dtype and nearly the same values.

    The default tolerances follow from the dtype: 8 roundings relative to the value, exact for whole numbers.

    >>> import fastops as fo
    >>> assert_close(fo.asarray([0.1 + 0.2]), fo.asarray([0.3]))
    """
    actual, expected = to_numpy(actual), to_numpy(expected)
    assert actual.shape == expected.shape, f"shapes differ: {actual.shape} and {expected.shape}"
    assert actual.dtype == expected.dtype, f"dtypes differ: {actual.dtype} and {expected.dtype}"
    roundoff = UNIT_ROUNDOFF.get(actual.dtype.str[1:], 0.0)
    np.testing.assert_allclose(actual, expected, rtol=8 * roundoff if rtol is None else rtol,
                               atol=roundoff if atol is None and roundoff else atol or 0.0, equal_nan=True)


def to_numpy(value):
    return as_ndarray(value) if isinstance(value, fo.Tensor) else np.asarray(value)


def as_tensors(value):
    """The same structure with a Tensor for each NumPy array, sharing its memory."""
    if isinstance(value, np.ndarray):
        return fo.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)([as_tensors(item) for item in value])
    if isinstance(value, dict):
        return {key: as_tensors(item) for key, item in value.items()}
    return value


def as_meta(value):
    """The same structure with a tensor without data for each NumPy array, of the same layout."""
    if isinstance(value, np.ndarray):
        result = fo.empty(value.shape, dtype=value.dtype, device="meta")
        return machine.with_strides(result, value.strides)
    if isinstance(value, (list, tuple)):
        return type(value)([as_meta(item) for item in value])
    if isinstance(value, dict):
        return {key: as_meta(item) for key, item in value.items()}
    return value


def copied(value):
    """The same structure with copies of the arrays, in the same memory order."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, (list, tuple)):
        return type(value)([copied(item) for item in value])
    return value


def results_of(value):
    """The results of a call as a list."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def quietly(function, *args, **kwargs):
    """The result of a call with NumPy's floating-point warnings off."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def law_forward(operator, sample):
    """The values, dtypes and shapes are those of the NumPy reference."""
    reference = operator.rules.reference
    if reference is None:
        return
    expected = results_of(quietly(reference, *copied(sample.args), **sample.kwargs))
    actual = results_of(quietly(operator, *as_tensors(sample.args), **as_tensors(sample.kwargs)))
    assert len(actual) == len(expected), f"{len(actual)} results, NumPy gives {len(expected)}"
    for ours, theirs in zip(actual, expected):
        if isinstance(theirs, bool):            # a Python value, where NumPy gives one
            assert ours is theirs, f"{ours!r}, NumPy gives {theirs!r}"
            continue
        theirs = np.asarray(theirs)
        assert isinstance(ours, fo.Tensor), f"a result is {type(ours).__name__}, not a Tensor"
        assert ours.shape == theirs.shape, f"shape {ours.shape}, NumPy gives {theirs.shape}"
        assert ours.dtype == theirs.dtype, f"dtype {ours.dtype}, NumPy gives {theirs.dtype}"
        if operator.__name__.startswith("empty"):
            continue            # what fresh memory holds is nobody's promise
        if operator.rules.family == "linear-algebra" or operator._opname.startswith("fft_"):
            # The order of a sum is BLAS's or the transform's own: small against the largest element is right.
            largest = np.max(np.abs(theirs), initial=1.0)
            assert_close(ours, theirs, atol=32 * largest * UNIT_ROUNDOFF.get(theirs.dtype.str[1:], 0.0))
        else:
            assert_close(ours, theirs)


def law_meta(operator, sample):
    """Without data the results have the same shapes, dtypes and strides."""
    if not has_meta(operator) or not returns_tensors(operator):
        return
    if operator.rules.family == "data-dependent":       # no shape without data: a clear refusal
        try:
            operator(*as_meta(sample.args), **as_meta(sample.kwargs))
        except NotImplementedError:
            return
        raise AssertionError("a shape that depends on data came out without any")
    real = results_of(quietly(operator, *as_tensors(sample.args), **as_tensors(sample.kwargs)))
    if not any(isinstance(value, np.ndarray) for value in flattened(sample)):
        if operator.rules.family != "creation":
            return              # scalars alone become tensors on the CPU
        meta = results_of(operator(*sample.args, **sample.kwargs, device="meta"))
    else:
        meta = results_of(operator(*as_meta(sample.args), **as_meta(sample.kwargs)))
    for with_data, without in zip(real, meta, strict=True):
        assert without.device == "meta", f"the result is on {without.device}"
        # The strides of an array without elements, and of an axis of length 1, mean nothing.
        facts = [(tensor.shape, tensor.dtype, tensor.size and [step for size, step in zip(tensor.shape, tensor.strides)
                                                               if size > 1]) for tensor in (with_data, without)]
        assert facts[0] == facts[1], f"shape, dtype, strides: {facts[0]} with data, {facts[1]} without"


def returns_tensors(operator):
    """Whether all declared results are tensors or lists of them."""
    kinds = [result.type.element or result.type for result in operator._schema.returns]
    return bool(kinds) and all(kind.base == "Tensor" for kind in kinds)


def has_meta(operator):
    keys = operator.kernels
    return any(int(key) in keys for key in (fo.DispatchKey.Meta, fo.DispatchKey.CompositeExplicitAutograd,
                                            fo.DispatchKey.CompositeImplicitAutograd))


def law_out(operator, sample):
    """Writing into out= gives the functional result, returns out and moves its version."""
    if not any(argument.name == "out" for argument in operator._schema.arguments):
        return
    args, kwargs = as_tensors(sample.args), as_tensors(sample.kwargs)
    expected = quietly(operator, *args, **kwargs)
    several = isinstance(expected, tuple)
    out = tuple(fo.empty_like(result) for result in results_of(expected)) if several else fo.empty_like(expected)
    versions = [tensor._version for tensor in results_of(out)]
    returned = quietly(operator, *args, **kwargs, out=out)
    for given, result, wanted, version in zip(results_of(out), results_of(returned), results_of(expected), versions):
        assert result is given, "out is not what was returned"
        assert given._version > version or given.size == 0, "the version counter did not move"
        assert_array_equal(given, wanted)


def law_in_place(operator, sample):
    """Writing the result over the first operand gives the functional result, also where operands overlap."""
    if operator.rules.family != "elementwise" or len(operator._schema.returns) != 1 or not sample.args:
        return
    first = sample.args[0]
    if not isinstance(first, np.ndarray) or sample.kwargs:
        return
    expected = quietly(operator, *as_tensors(sample.args))
    if expected.shape != first.shape or not np.can_cast(expected.dtype, first.dtype, "same_kind"):
        return
    target = fo.asarray(first.copy(order="K"))
    result = quietly(operator, target, *as_tensors(sample.args[1:]), out=target)
    assert result is target
    assert_array_equal(target, to_numpy(expected).astype(first.dtype))
    if len(sample.args) == 2 and first.ndim and first.shape[0] > 1:
        base = first.copy()
        shifted = fo.asarray(base)
        wanted = quietly(operator, *as_tensors((base[:-1].copy(), base[1:].copy()))) if is_valid_pair(operator, base) \
            else None
        if wanted is not None and wanted.dtype == base.dtype:
            quietly(operator, shifted[:-1], shifted[1:], out=shifted[1:])
            assert_array_equal(shifted[1:], wanted)


def is_valid_pair(operator, base):
    try:
        quietly(operator.rules.reference, base[:1], base[:1])
    except (TypeError, ValueError):
        return False
    return True


class PassThrough:
    """A transform that only hands the call on."""

    def __init__(self):
        self.seen = []

    def process(self, operator, args, kwargs):
        self.seen.append(operator)
        return operator(*args, **kwargs)


def law_transform(operator, sample):
    """Under a transform that only hands calls on, the result is the same and the transform has seen the call."""
    args, kwargs = as_tensors(sample.args), as_tensors(sample.kwargs)
    if operator.__name__.startswith("empty"):
        return
    expected = quietly(operator, *args, **kwargs)
    interpreter = PassThrough()
    machine.push_interpreter(interpreter)
    try:
        actual = quietly(operator, *args, **kwargs)
    finally:
        machine.pop_interpreter()
    assert operator in interpreter.seen, "the transform has not seen the call"
    assert type(actual) is type(expected)
    for ours, plain in zip(results_of(actual), results_of(expected), strict=True):
        assert_array_equal(ours, plain)
        assert to_numpy(ours).dtype == to_numpy(plain).dtype


def flattened(sample):
    pending = list(sample.args) + list(sample.kwargs.values())
    while pending:
        value = pending.pop()
        if isinstance(value, (list, tuple)):
            pending.extend(value)
        else:
            yield value


LAWS = {"forward": law_forward, "meta": law_meta, "out": law_out, "in_place": law_in_place, "transform": law_transform}


def check_op(operator, samples=None, *, laws=tuple(LAWS), seed=0):
    """Run *samples* (those of the declaration if not given) of *operator* through *laws*; returns how many there were.

    Raises AssertionError with the law, the sample and what differs; ValueError if there are no samples.

    >>> import fastops as fo
    >>> check_op(fo.sin) > 0
    True
    """
    if samples is None:
        samples = operator.rules.samples(np.random.default_rng(seed))
    count = 0
    for sample in samples:
        if not isinstance(sample, Sample):
            raise TypeError(f"check_op: a sample is a fastops.samples.Sample, not {sample!r}")
        count += 1
        for law in laws:
            try:
                LAWS[law](operator, sample)
            except AssertionError as error:
                raise AssertionError(f"{operator}: law {law!r} broken for {sample}: {error}") from error
            except Exception as error:
                raise AssertionError(f"{operator}: law {law!r} raised {error!r} for {sample}") from error
    if count == 0:
        raise ValueError(f"check_op: {operator} has no samples")
    return count
