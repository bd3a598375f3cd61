"""The laws of derivatives, for an operator and a sample: forward mode against a numerical limit, reverse against forward.

    jvp      the tangent is the limit of differences along a random direction
    vjp      <u, J v> = <J^H u, v>
    second   the derivative of the gradient is the limit of its differences
"""

import functools

import numpy as np

import fastops as fo
from fastops import _autograd, errors
from fastops._loops import as_ndarray
from fastops.testing import as_tensors, copied, quietly

STEP = 1e-6


def is_exact_enough(value):
    return isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128)


class Call:
    """An operator's call as a function of its floating-point arrays, moved off the kinks where they may move."""

    def __init__(self, operator, sample, rng):
        self.operator, self.sample = operator, sample
        self.places, self.values = [], []
        rule = _autograd.derivative(operator)
        self.rule = rule
        values = list(sample.args) + list(sample.kwargs.values())
        self.names = list(sample.kwargs)
        smooth = [] if rule is None or rule.smooth is None else [
            place for place, name in enumerate(argument.name for argument in operator._schema.arguments) if name in rule.smooth]
        for place, value in enumerate(values):
            if is_exact_enough(value) and (rule is None or rule.smooth is None or place in smooth):
                self.add(place, None, value, rng)
            elif isinstance(value, (list, tuple)) and value and all(isinstance(item, np.ndarray) for item in value):
                for inner, item in enumerate(value):
                    if is_exact_enough(item):
                        self.add(place, inner, item, rng)
        self.fixed = [copied(value) for value in values]

    def add(self, place, inner, value, rng):
        self.places.append((place, inner))
        moved = np.array(value)
        moved[~np.isfinite(moved)] = np.nan
        if self.operator.rules.family != "linear-algebra" and moved.size:
            moved = moved * (1 + 1e-3 * rng.random(moved.shape))
        self.values.append(moved)

    def direction(self, rng):
        made = []
        for value in self.values:
            v = rng.standard_normal(value.shape)
            if value.dtype.kind == "c":
                v = v + 1j * rng.standard_normal(value.shape)
            if self.rule is not None and self.rule.hermitian and value.ndim >= 2:
                v = v + np.swapaxes(v, -1, -2).conj()
            made.append(v)
        return made

    def __call__(self, *arrays):
        """The results that have derivatives, a tuple of tensors."""
        values = [list(value) if isinstance(value, tuple) and any(place == position and inner is not None for position, inner in self.places)
                  else value for place, value in enumerate(self.fixed)]
        for (place, inner), array in zip(self.places, arrays):
            if inner is None:
                values[place] = array
            else:
                values[place] = [*values[place][:inner], array, *values[place][inner + 1:]]
        values = [as_tensors(copied(value)) for value in values]
        count = len(self.sample.args)
        mutable = self.operator._schema.is_mutable and not self.operator._schema.returns
        if mutable:
            values[0] = values[0].clone() if isinstance(values[0], fo.Tensor) else values[0]
        result = self.operator(*values[:count], **dict(zip(self.names, values[count:])))
        results = [values[0]] if mutable else list(result) if isinstance(result, (tuple, list)) else [result]
        if self.rule is not None and self.rule.determined is not None:
            results = [results[place] for place in self.rule.determined]
        return tuple([value for value in results if isinstance(value, fo.Tensor) and value.dtype.kind in "fc"])

    def numbers(self, arrays):
        return [np.array(as_ndarray(value)) for value in self(*[fo.asarray(array) for array in arrays])]


def inner(first, second):
    return sum([float(np.sum((np.conj(a) * b).real, where=a != 0)) for a, b in zip(first, second)])


def arrays_of(values):
    return [np.array(as_ndarray(value)) for value in values]


def differences(function, values, direction):
    """The derivative along a direction by differences, and how far the values of two step widths are apart."""
    found = []
    for step in (STEP, 2 * STEP):
        ahead = function([value + step * v for value, v in zip(values, direction)])
        behind = function([value - step * v for value, v in zip(values, direction)])
        found.append([(a - b) / (2 * step) for a, b in zip(ahead, behind)])
    return found


def jumps(call, direction, plain):
    """Whether a small step changes the results' shape or dtype, or their values by much: there is no limit then."""
    ahead = quietly(call.numbers, [value + STEP * v for value, v in zip(call.values, direction)])
    for a, b in zip(ahead, plain, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return True
        with np.errstate(all="ignore"):
            if np.any(np.abs(a - b) > 1e-2 * np.maximum(1, np.abs(b))):
                return True
    return False


def check_close(what, actual, expected, other, tolerance):
    for ours, limit, wider in zip(actual, expected, other, strict=True):
        assert ours.shape == limit.shape, f"{what}: shape {ours.shape}, the differences have {limit.shape}"
        with np.errstate(all="ignore"):
            size = np.max(np.abs(limit), initial=1.0, where=np.isfinite(limit))
            unsure = np.abs(limit - wider)      # where the differences themselves do not agree, they say nothing
            off = np.abs(ours - limit) > tolerance * size + 10 * unsure
            off &= np.isfinite(limit) & np.isfinite(wider)
        assert not off.any(), f"{what}: {ours[off][:3]}, by differences {limit[off][:3]}"
        assert np.all(np.isfinite(ours) | ~np.isfinite(limit)), f"{what}: not finite where the differences are"


def prepared(operator, sample, rng):
    # The call, or None where there is nothing to differentiate.
    if any(isinstance(value, np.ndarray) and value.dtype.kind in "fc" and not is_exact_enough(value)
           for value in (*sample.args, *sample.kwargs.values())):
        return None
    call = Call(operator, sample, rng)
    if not call.places:
        return None
    results = quietly(call, *[fo.asarray(value) for value in call.values])
    if not results or any(value.dtype not in (np.float64, np.complex128) for value in results):
        return None
    return call


def refused(operator, call):
    """Whether the declaration says that there is no derivative; then asking for one must say so too."""
    if call.rule is None or call.rule.refusal is None:
        return False
    try:
        fo.jvp(call, tuple(map(fo.asarray, call.values)), tuple(map(fo.asarray, call.direction(np.random.default_rng(0)))))
    except errors.NoDerivativeError as error:
        assert call.rule.refusal in str(error)
        return True
    raise AssertionError("the declaration refuses, the call does not")


def unless_refused(law):
    """The law, but where a formula itself says that there is no derivative for these arguments."""
    @functools.wraps(law)
    def checked(operator, sample):
        try:
            law(operator, sample)
        except errors.NoDerivativeError:
            pass
    return checked


@unless_refused
def law_jvp(operator, sample):
    """The tangent of the result is the limit of differences."""
    rng = np.random.default_rng(1)
    call = prepared(operator, sample, rng)
    if call is None or refused(operator, call):
        return
    direction = call.direction(rng)
    primals = tuple(map(fo.asarray, call.values))
    result, tangent = quietly(fo.jvp, call, primals, tuple(map(fo.asarray, direction)))
    plain = quietly(call.numbers, call.values)
    for with_tangent, without in zip(result, plain, strict=True) if not operator.__name__.startswith("empty") else ():
        size = np.max(np.abs(without), initial=1.0, where=np.isfinite(without))
        assert np.allclose(as_ndarray(with_tangent), without, rtol=1e-9, atol=1e-12 * size, equal_nan=True), "the value differs under jvp"
    for value, one in zip(result, tangent, strict=True):
        assert value.dtype == one.dtype, f"the tangent is {one.dtype}, the result {value.dtype}"
    if jumps(call, direction, plain):
        return
    near, wide = quietly(differences, call.numbers, call.values, direction)
    check_close("jvp", arrays_of(tangent), near, wide, 1e-6)


@unless_refused
def law_vjp(operator, sample):
    """Reverse mode is the adjoint of forward mode; gradients have their arguments' shapes and dtypes."""
    rng = np.random.default_rng(2)
    call = prepared(operator, sample, rng)
    if call is None or refused(operator, call):
        return
    direction = call.direction(rng)
    primals = tuple(map(fo.asarray, call.values))
    result, pull_back = quietly(fo.vjp, call, *primals)
    cotangents = tuple([fo.asarray((rng.standard_normal(value.shape) + (1j * rng.standard_normal(value.shape) if value.dtype.kind == "c" else 0))
                                   .astype(value.dtype)) for value in result])
    cotangents = tuple([fo.where(fo.isfinite(value), cotangent, 0) for value, cotangent in zip(result, cotangents)])
    grads = quietly(pull_back, cotangents)
    for value, grad in zip(primals, grads, strict=True):
        assert value.shape == grad.shape and value.dtype == grad.dtype, f"a gradient of {grad.shape} {grad.dtype} for {value.shape} {value.dtype}"
    tangent = quietly(fo.jvp, call, primals, tuple(map(fo.asarray, direction)))[1]
    forward, backward = inner(arrays_of(cotangents), arrays_of(tangent)), inner(direction, arrays_of(grads))
    size = sum([float(np.sum(np.abs(a) * np.abs(b), where=a != 0)) for a, b in zip(arrays_of(cotangents), arrays_of(tangent))])
    if np.isfinite(forward) or np.isfinite(backward):
        assert abs(forward - backward) <= 1e-8 * max(1.0, size), f"vjp: <u, J v> is {forward}, <J^H u, v> is {backward}"
    leaves = [value.clone().requires_grad_() for value in primals]
    recorded = quietly(call, *leaves)
    fo.autograd.backward([value for value in recorded if value.requires_grad],
                         [cotangent for value, cotangent in zip(recorded, cotangents) if value.requires_grad])
    for leaf, grad in zip(leaves, grads):
        if leaf.grad is None:
            assert not as_ndarray(grad).any(), "backward() gives nothing where vjp does"
        else:
            assert np.array_equal(as_ndarray(leaf.grad), as_ndarray(grad), equal_nan=True), "backward() and vjp differ"


@unless_refused
def law_second(operator, sample):
    """The gradient's own derivative is the limit of its differences."""
    rng = np.random.default_rng(3)
    call = prepared(operator, sample, rng)
    if call is None or refused(operator, call) or sum(value.size for value in call.values) > 40:
        return
    direction = call.direction(rng)
    primals = tuple(map(fo.asarray, call.values))
    results = quietly(call.numbers, call.values)
    cotangents = tuple([fo.asarray((rng.standard_normal(value.shape) + (1j * rng.standard_normal(value.shape) if value.dtype.kind == "c" else 0))
                                   .astype(value.dtype)) for value in results])

    def gradient(*values):
        return fo.vjp(call, *values)[1](cotangents)

    if jumps(call, direction, results):
        return
    made = quietly(fo.jvp, gradient, primals, tuple(map(fo.asarray, direction)))[1]
    near, wide = quietly(differences, lambda values: arrays_of(gradient(*map(fo.asarray, values))), call.values, direction)
    check_close("second", arrays_of(made), near, wide, 1e-5)


LAWS = {"jvp": law_jvp, "vjp": law_vjp, "second": law_second}
