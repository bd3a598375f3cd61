"""The one operator behind all random numbers: a function of a distribution, a key and a counter."""

import functools

import numpy as np

from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, as_tensor, backend_select
from fastops._loops import as_ndarray
from fastops._random import fill_fixed, fill_integers, fill_range, fill_sampled
from fastops.declare import declare
from fastops.derivatives import constant
from fastops.ops.create import empty
from fastops.ops.shape import broadcast_to
from fastops.samples import Sample

FIXED = {"words": np.uint64, "random": np.float64, "standard_normal": np.float64, "standard_exponential": np.float64}
WHOLE = frozenset({"poisson", "negative_binomial", "binomial", "logseries", "geometric", "zipf", "hypergeometric"})


def _positive(name, value, what):
    _refuse(name, what, value, ~(value > 0), "positive")


def _not_negative(name, value, what):
    _refuse(name, what, value, ~(value >= 0), "not negative")


def _probability(name, value, what):
    _refuse(name, what, value, ~((value >= 0) & (value <= 1)), "between 0 and 1")


def _proper(name, value, what):
    _refuse(name, what, value, ~((value > 0) & (value <= 1)), "above 0 and at most 1")


def _below_one(name, value, what):
    _refuse(name, what, value, ~((value >= 0) & (value < 1)), "at least 0 and below 1")


def _above_one(name, value, what):
    _refuse(name, what, value, ~(value > 1), "above 1")


def _mean(name, value, what):
    _refuse(name, what, value, ~((value >= 0) & (value < 9.2e18)), "not negative and below 9.2e18")


def _any(name, value, what):
    _refuse(name, what, value, np.isnan(value), "a number")


def _refuse(name, what, value, wrong, rule):
    if np.any(wrong):
        raise ValueError(f"{name}: {what} must be {rule}, but {np.asarray(value)[np.asarray(wrong)].flat[0] if np.ndim(value) else value} "
                         "was given")


# The parameters of each distribution, and what they must satisfy.
PARAMETERS = {
    "words": {}, "random": {}, "standard_normal": {}, "standard_exponential": {}, "standard_cauchy": {}, "laplace": {}, "gumbel": {},
    "logistic": {}, "integers": {"low": _any, "high": _any}, "standard_gamma": {"shape": _not_negative},
    "beta": {"a": _positive, "b": _positive}, "f": {"dfnum": _positive, "dfden": _positive}, "standard_t": {"df": _positive},
    "noncentral_chisquare": {"df": _positive, "nonc": _not_negative},
    "noncentral_f": {"dfnum": _positive, "dfden": _positive, "nonc": _not_negative}, "wald": {"mean": _positive, "scale": _positive},
    "vonmises": {"mu": _any, "kappa": _not_negative}, "triangular": {"left": _any, "mode": _any, "right": _any}, "poisson": {"lam": _mean},
    "negative_binomial": {"n": _positive, "p": _proper}, "binomial": {"n": _not_negative, "p": _probability},
    "logseries": {"p": _below_one}, "geometric": {"p": _proper}, "zipf": {"a": _above_one},
    "hypergeometric": {"ngood": _not_negative, "nbad": _not_negative, "nsample": _not_negative}}


def _facts(distribution, parameters, shape, dtype):
    # The shape and dtype of a draw, and its parameters as tensors.
    if distribution not in PARAMETERS:
        raise ValueError(f"random: there is no distribution {distribution!r}; there are {', '.join(PARAMETERS)}")
    names = PARAMETERS[distribution]
    parameters = [as_tensor(parameter) for parameter in parameters]
    if len(parameters) != len(names):
        raise TypeError(f"{distribution}: {len(names)} parameters are wanted ({', '.join(names)}), not {len(parameters)}")
    common = np.broadcast_shapes(*[parameter.shape for parameter in parameters])
    shape = common if shape is None else (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    try:
        fits = np.broadcast_shapes(common, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{distribution}: size {shape} does not fit parameters of shape {common}")
    own = FIXED.get(distribution, np.int64 if distribution in WHOLE or distribution == "integers" else np.float64)
    dtype = np.dtype(own if dtype is None else dtype)
    single = distribution in ("random", "standard_normal", "standard_exponential", "standard_gamma") and dtype == np.float32
    if distribution == "integers":
        if dtype.kind not in "iub":
            raise TypeError(f"integers: dtype {dtype} is not one of whole numbers or bool")
    elif dtype != own and not single:
        raise TypeError(f"{distribution}: dtype {dtype} is not supported; {np.dtype(own)} is")
    return shape, dtype, parameters


def _on_cpu(distribution, parameters, shape, seed, counter, *, dtype=None, device=None):
    seed, counter = int(seed) % 2 ** 64, int(counter) % 2 ** 64
    if distribution == "integers" and len(parameters) == 2 and type(parameters[0]) is type(parameters[1]) is int:
        return _range(*parameters, () if shape is None else shape, np.dtype(np.int64 if dtype is None else dtype), seed, counter)
    if shape is None or dtype is not None or distribution not in FIXED or parameters:
        shape, dtype, parameters = _facts(distribution, parameters, shape, dtype)
    if distribution in FIXED:
        result = empty(shape, dtype=FIXED[distribution] if dtype is None else dtype)
        fill_fixed(distribution, result, seed, counter)
        return result
    if distribution == "integers":
        return _integers(parameters, shape, dtype, seed, counter)
    for parameter, (name, check) in zip(parameters, PARAMETERS[distribution].items()):
        check(distribution, as_ndarray(parameter), name)
    if distribution == "hypergeometric" and np.any(as_ndarray(parameters[0] + parameters[1]) < as_ndarray(parameters[2])):
        raise ValueError("hypergeometric: nsample must not be larger than ngood + nbad")
    if distribution == "triangular":
        left, mode, right = map(as_ndarray, parameters)
        if np.any(left > mode) or np.any(mode > right) or np.any(left == right):
            raise ValueError("triangular: left <= mode <= right and left < right are wanted")
    result = empty(shape, dtype=np.int64 if distribution in WHOLE else np.float64)
    fill_sampled(distribution, result, [broadcast_to(parameter.astype(np.float64), shape) for parameter in parameters], seed, counter)
    return result if result.dtype == dtype else result.astype(dtype)


@functools.cache
def _limits(dtype):
    if dtype.kind not in "iub":
        raise TypeError(f"integers: dtype {dtype} is not one of whole numbers or bool")
    return (0, 1) if dtype == bool else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _range(low, high, shape, dtype, seed, counter):
    # Bounds that are Python's own numbers, which most are.
    smallest, largest = _limits(dtype)
    if low < smallest:
        raise ValueError(f"integers: low is out of bounds for {dtype}: {low}")
    if high > largest:
        raise ValueError(f"integers: high is out of bounds for {dtype}: {high}")
    if low > high:
        raise ValueError("integers: low >= high")
    wide = empty(shape, dtype=np.uint64)
    fill_range(wide, low % 2 ** 64, high - low, seed, counter)
    return wide.astype(dtype)


def _integers(parameters, shape, dtype, seed, counter):
    # From low up to high, both included; bounds are compared as Python's whole numbers, since 64 bits may be signed or not.
    low, high = [np.asarray(as_ndarray(parameter)) for parameter in parameters]
    limits = _limits(dtype)
    if low.size and int(low.min()) < limits[0]:
        raise ValueError(f"integers: low is out of bounds for {dtype}: {low.min()}")
    if high.size and int(high.max()) > limits[1]:
        raise ValueError(f"integers: high is out of bounds for {dtype}: {high.max()}")
    if np.any(low > high):
        raise ValueError("integers: low >= high")
    wide = empty(shape, dtype=np.uint64)
    low = low.astype(np.uint64) if low.dtype.kind == "u" else low.astype(np.int64).view(np.uint64)
    high = high.astype(np.uint64) if high.dtype.kind == "u" else high.astype(np.int64).view(np.uint64)
    fill_integers(wide, broadcast_to(as_tensor(low), shape), broadcast_to(as_tensor(high - low), shape), seed, counter)
    return wide.astype(dtype)


def _on_meta(distribution, parameters, shape, seed, counter, *, dtype=None, device=None):
    return empty_meta(*_facts(distribution, parameters, shape, dtype)[:2])


def _draws(rng):
    for distribution, names in PARAMETERS.items():
        parameters = [{"high": 9, "n": 5.0, "a": 2.5, "mode": 0.5, "right": 1.0, "left": 0.0, "p": 0.5, "nbad": 4, "ngood": 6, "low": 2,
                       "nsample": 3}.get(name, 1.5) for name in names]
        yield Sample(distribution, parameters, (3, 4), 5, 7)
        yield Sample(distribution, parameters, (), 5, 2 ** 40)


draw = declare(
    "draw(str distribution, Array[] parameters, int[]? shape, int seed, int counter, *, ScalarType? dtype=None, Device? device=None) "
    "-> Tensor",
    "Random numbers: those of the elements counter, counter + 1, ... of the stream that seed names.", module="random", family="creation",
    kernels={DispatchKey.BackendSelect: backend_select, DispatchKey.Undefined: _on_cpu, DispatchKey.CPU: _on_cpu, DispatchKey.Meta: _on_meta},
    samples=_draws, notes="""
Parameters
----------
distribution : str
    "random" (uniform from 0 to 1), "standard_normal", "integers", "poisson" and the like; "words" for 64 random bits.
parameters : sequence of array_like
    Those of the distribution, which broadcast; of "integers" the least and the largest number.
shape : int or sequence of ints, optional
    The shape of the result; that of the parameters if None.
seed : int
    The key of the stream, 64 bits.
counter : int
    The number of the first element, 64 bits.
dtype : dtype, optional
    float64, int64 or uint64 by the distribution; float32 for some, any whole-number dtype for "integers".
device : device or str, optional
    Where the memory is.

Returns
-------
Tensor
    The same bits whenever the arguments are the same, however a draw is cut into pieces.

Raises
------
ValueError
    If there is no such distribution, a parameter is out of its range, or the shape does not fit the parameters.
TypeError
    If the number of parameters or the dtype is wrong.

Notes
-----
Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Whole numbers are fair to 2**-32 where
there are up to 2**32 of them, else to 2**-64.""", example="""
>>> fo.random.draw("integers", [1, 6], (3,), seed=0, counter=0).shape
(3,)""",
    derivative=constant())
