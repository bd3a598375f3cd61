"""Random numbers, with NumPy's methods, from one counter-based generator: the same bits whatever the number of threads.

>>> import fastops as fo
>>> rng = fo.random.default_rng(7)
>>> rng.normal(size=3).shape
(3,)
>>> bool((fo.random.default_rng(7).random(5) == fo.random.default_rng(7).random(5)).all())
True

Results are tensors, 0-dimensional ones where NumPy gives a number.
"""

import inspect
import math
import operator
import os
import threading
import warnings

import numpy as np

from fastops import _batched, errors
from fastops._dispatch import Tensor, as_tensor
from fastops._loops import as_ndarray
from fastops.linalg import cholesky, eigh
from fastops.ops.elementwise import abs, divide, exp, expm1, pow, sqrt
from fastops.ops.families import holds
from fastops.ops.linalg import matmul
from fastops.ops.random import draw
from fastops.ops.reduce import cumsum, sum
from fastops.ops.shape import astype, broadcast_to, expand_dims, matrix_transpose, normalized, ravel, reshape, stack, take, take_along_axis
from fastops.ops.sorting import argsort, searchsorted


class BitGenerator:
    """The state behind a Generator: the key of its stream and the number of elements drawn.

    ``state`` is a dict that can be kept and set again; ``seed_seq`` the ``numpy.random.SeedSequence`` of the key.
    """

    def __init__(self, seed=None):
        self.seed_seq = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(_entropy(seed))
        self.key = int(self.seed_seq.generate_state(1, np.uint64)[0])
        self.counter = 0
        self.lock = threading.Lock()

    @property
    def state(self):
        return {"bit_generator": "Philox4x32", "key": self.key, "counter": self.counter}

    @state.setter
    def state(self, value):
        if not isinstance(value, dict) or value.get("bit_generator") != "Philox4x32":
            raise ValueError(f"state: a dict as of Generator.bit_generator.state is wanted, not {value!r}")
        with self.lock:
            self.key, self.counter = int(value["key"]) % 2 ** 64, int(value["counter"]) % 2 ** 64

    def advance(self, count):
        """Take the next *count* elements of the stream; returns the number of the first."""
        with self.lock:
            first = self.counter
            self.counter = (first + count) % 2 ** 64
        return first

    def spawn(self, n_children):
        """Generators' states that are independent of this one and of each other, a list."""
        return [BitGenerator(child) for child in self.seed_seq.spawn(n_children)]

    def __getstate__(self):
        return {"seed_seq": self.seed_seq, "key": self.key, "counter": self.counter}

    def __setstate__(self, state):
        self.__dict__.update(state, lock=threading.Lock())


def _entropy(seed):
    if isinstance(seed, Tensor):
        return as_ndarray(seed).tolist()
    if seed is not None and not isinstance(seed, (list, tuple, np.ndarray)):
        try:
            seed = operator.index(seed)
        except TypeError:
            raise TypeError(f"default_rng: a seed is a whole number or several, None, a SeedSequence or a Generator, not {seed!r}") from None
        if seed < 0:
            raise ValueError(f"default_rng: a seed is not negative, but {seed} was given")
    return seed


def _shape(size):
    if size is None:
        return None
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple([operator.index(one) for one in size])


def _count(shape):
    # How many elements a draw takes; none where the shape is wrong, which the operator says.
    count = 1
    for size in shape:
        count *= max(size, 0)
    return count


def _drawn_in_rows(levels, bits, distribution, parameters, shape, dtype, device):
    # Inside vmap: one draw for the rows of all levels at which rows differ, each row taking the elements that its place fixes.
    for level in levels:
        if level.randomness == "error":
            raise errors.MappedError(f"random numbers are drawn inside {level.title()}: say with randomness='different' that each row has its own, or with "
                                     "randomness='same' that all have the same")
        level.rewind(bits)
    own = tuple(np.broadcast_shapes(*[parameter.shape for parameter in parameters])) if shape is None else shape
    rows = [level for level in levels if level.randomness == "different"]
    first = bits.advance(_count(own) * math.prod(level.total for level in rows))
    if not rows:
        return draw(distribution, parameters, own, bits.key, first, dtype=dtype, device=device)
    if any(level.size != level.total for level in rows[1:]):
        raise NotImplementedError("random numbers inside a vmap with chunk_size, itself inside another with randomness='different': leave out the chunk_size "
                                  "of the inner one")
    first += rows[0].first * _count(own) * math.prod(level.total for level in rows[1:])
    lowered = []
    for parameter in parameters:
        parameter = reshape(parameter, (1,) * (len(own) - parameter.ndim) + parameter.shape)
        for level in reversed(rows):
            inside = _batched.rows(level, parameter)
            parameter = expand_dims(parameter, 0) if inside is None else inside
        lowered.append(parameter)
    value = draw(distribution, lowered, (*[level.size for level in rows], *own), bits.key, first, dtype=dtype, device=device)
    for level in rows:
        value = _batched.trace(level, value)
    return value


def _into(result, out, name):
    if out is None:
        return result
    if not isinstance(out, Tensor) or out.dtype != result.dtype or not out.is_contiguous():
        raise TypeError(f"{name}: out must be a gapless tensor of {result.dtype}")
    if out.shape != result.shape:
        raise ValueError(f"{name}: out has shape {out.shape}, the result {result.shape}")
    out[...] = result
    return out


def _checked(name, value, what):
    # Location and scale, which the operator does not see.
    value = as_tensor(value)
    if holds((value < 0).any()):
        raise ValueError(f"{name}: {what} < 0: {value!r}")
    return value


class Generator:
    """Random numbers of many distributions, as ``numpy.random.Generator``; methods take *device* besides.

    Element number e of its stream has bits of its own, a function of the seed and of e; each draw takes the next elements.
    Draws from several threads take different elements.

    >>> import fastops as fo
    >>> rng = fo.random.default_rng(1)
    >>> rng.integers(1, 7, size=4).dtype
    dtype('int64')
    """

    def __init__(self, bit_generator=None):
        self.bit_generator = bit_generator if isinstance(bit_generator, BitGenerator) else BitGenerator(bit_generator)

    def __repr__(self):
        return f"Generator(Philox4x32, counter={self.bit_generator.counter})"

    def spawn(self, n_children):
        """Generators independent of this one and of each other, a list of *n_children*."""
        return [Generator(child) for child in self.bit_generator.spawn(n_children)]

    def _draw(self, distribution, parameters=(), size=None, dtype=None, device=None):
        shape = _shape(size)
        levels = _batched.open_levels()
        parameters = [as_tensor(parameter) for parameter in parameters]
        if levels:
            return _drawn_in_rows(levels, self.bit_generator, distribution, parameters, shape, None if dtype is np.float64 else dtype, device)
        if not parameters:
            first = self.bit_generator.advance(_count(shape or ()))
            return draw(distribution, (), shape or (), self.bit_generator.key, first, dtype=None if dtype is np.float64 else dtype, device=device)
        common = np.broadcast_shapes(*[parameter.shape for parameter in parameters]) if shape is None else shape
        first = self.bit_generator.advance(_count(common))
        return draw(distribution, parameters, shape, self.bit_generator.key, first, dtype=dtype, device=device)

    # Uniform, normal, exponential

    def random(self, size=None, dtype=np.float64, out=None, *, device=None):
        """Uniform numbers from 0 to 1, 1 left out; float64 or float32."""
        return _into(self._draw("random", size=out.shape if size is None and out is not None else size, dtype=dtype, device=device), out, "random")

    def uniform(self, low=0.0, high=1.0, size=None, *, device=None):
        """Uniform numbers from low to high, high left out."""
        low, high = as_tensor(low), as_tensor(high)
        if low.device == "cpu" == high.device and not bool((abs(high - low) < np.inf).all()):
            raise OverflowError("uniform: high - low is not a finite number")
        return low + (high - low) * self._draw("random", size=self._common(size, low, high), device=device)

    def _common(self, size, *parameters):
        # The shape of a draw whose parameters are applied afterwards.
        common = np.broadcast_shapes(*[parameter.shape for parameter in parameters])
        if size is None:
            return common
        shape = _shape(size)
        try:
            fits = np.broadcast_shapes(common, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"random: size {shape} does not fit parameters of shape {common}")
        return shape

    def standard_normal(self, size=None, dtype=np.float64, out=None, *, device=None):
        """Normal numbers of mean 0 and deviation 1; float64 or float32."""
        return _into(self._draw("standard_normal", size=out.shape if size is None and out is not None else size, dtype=dtype, device=device),
                     out, "standard_normal")

    def normal(self, loc=0.0, scale=1.0, size=None, *, device=None):
        """Normal numbers of mean loc and deviation scale."""
        loc, scale = as_tensor(loc), _checked("normal", scale, "scale")
        return loc + scale * self._draw("standard_normal", size=self._common(size, loc, scale), device=device)

    def lognormal(self, mean=0.0, sigma=1.0, size=None, *, device=None):
        """exp of normal numbers of mean *mean* and deviation *sigma*."""
        return exp(self.normal(mean, _checked("lognormal", sigma, "sigma"), size, device=device))

    def standard_exponential(self, size=None, dtype=np.float64, method="zig", out=None, *, device=None):
        """Exponential numbers of mean 1; *method* is accepted as NumPy does, there is one here."""
        if method not in ("zig", "inv"):
            raise ValueError(f"standard_exponential: method is 'zig' or 'inv', not {method!r}")
        return _into(self._draw("standard_exponential", size=out.shape if size is None and out is not None else size, dtype=dtype, device=device),
                     out, "standard_exponential")

    def exponential(self, scale=1.0, size=None, *, device=None):
        """Exponential numbers of mean scale."""
        scale = _checked("exponential", scale, "scale")
        return scale * self._draw("standard_exponential", size=self._common(size, scale), device=device)

    def rayleigh(self, scale=1.0, size=None, *, device=None):
        """Numbers of the Rayleigh distribution."""
        scale = _checked("rayleigh", scale, "scale")
        return scale * sqrt(2.0 * self._draw("standard_exponential", size=self._common(size, scale), device=device))

    def weibull(self, a, size=None, *, device=None):
        """Numbers of the Weibull distribution of shape a."""
        a = _checked("weibull", a, "a")
        return pow(self._draw("standard_exponential", size=self._common(size, a), device=device), 1.0 / a)

    def pareto(self, a, size=None, *, device=None):
        """Numbers of the Pareto II distribution of shape a."""
        a = self._positive("pareto", a)
        return expm1(self._draw("standard_exponential", size=self._common(size, a), device=device) / a)

    def power(self, a, size=None, *, device=None):
        """Numbers from 0 to 1 whose density is a x**(a - 1)."""
        a = self._positive("power", a)
        return pow(-expm1(-self._draw("standard_exponential", size=self._common(size, a), device=device)), 1.0 / a)

    def _positive(self, name, a):
        a = as_tensor(a)
        if a.device == "cpu" and not bool((a > 0).all()):
            raise ValueError(f"{name}: a <= 0: {a!r}")
        return a

    def _located(self, name, loc, scale, size, device):
        loc, scale = as_tensor(loc), _checked(name, scale, "scale")
        return loc + scale * self._draw(name, size=self._common(size, loc, scale), device=device)

    def laplace(self, loc=0.0, scale=1.0, size=None, *, device=None):
        """Numbers of the Laplace distribution."""
        return self._located("laplace", loc, scale, size, device)

    def gumbel(self, loc=0.0, scale=1.0, size=None, *, device=None):
        """Numbers of the Gumbel distribution."""
        return self._located("gumbel", loc, scale, size, device)

    def logistic(self, loc=0.0, scale=1.0, size=None, *, device=None):
        """Numbers of the logistic distribution."""
        return self._located("logistic", loc, scale, size, device)

    def standard_cauchy(self, size=None, *, device=None):
        """Numbers of the Cauchy distribution with mode 0."""
        return self._draw("standard_cauchy", size=size, device=device)

    # Gamma and its kin

    def standard_gamma(self, shape, size=None, dtype=np.float64, out=None, *, device=None):
        """Numbers of the gamma distribution of scale 1."""
        return _into(self._draw("standard_gamma", [shape], out.shape if size is None and out is not None else size, dtype, device), out,
                     "standard_gamma")

    def gamma(self, shape, scale=1.0, size=None, *, device=None):
        """Numbers of the gamma distribution."""
        shape, scale = as_tensor(shape), _checked("gamma", scale, "scale")
        return scale * self._draw("standard_gamma", [shape], self._common(size, shape, scale), device=device)

    def chisquare(self, df, size=None, *, device=None):
        """Numbers of the chi-square distribution of df degrees of freedom."""
        return 2.0 * self._draw("standard_gamma", [self._positive("chisquare", df) / 2.0], size, device=device)

    def beta(self, a, b, size=None, *, device=None):
        """Numbers of the beta distribution."""
        return self._draw("beta", [a, b], size, device=device)

    def f(self, dfnum, dfden, size=None, *, device=None):
        """Numbers of the F distribution."""
        return self._draw("f", [dfnum, dfden], size, device=device)

    def standard_t(self, df, size=None, *, device=None):
        """Numbers of Student's distribution."""
        return self._draw("standard_t", [df], size, device=device)

    def noncentral_chisquare(self, df, nonc, size=None, *, device=None):
        """Numbers of the noncentral chi-square distribution."""
        return self._draw("noncentral_chisquare", [df, nonc], size, device=device)

    def noncentral_f(self, dfnum, dfden, nonc, size=None, *, device=None):
        """Numbers of the noncentral F distribution."""
        return self._draw("noncentral_f", [dfnum, dfden, nonc], size, device=device)

    def wald(self, mean, scale, size=None, *, device=None):
        """Numbers of the inverse Gaussian distribution."""
        return self._draw("wald", [mean, scale], size, device=device)

    def vonmises(self, mu, kappa, size=None, *, device=None):
        """Angles of the von Mises distribution."""
        return self._draw("vonmises", [mu, kappa], size, device=device)

    def triangular(self, left, mode, right, size=None, *, device=None):
        """Numbers of the triangular distribution."""
        return self._draw("triangular", [left, mode, right], size, device=device)

    def dirichlet(self, alpha, size=None, *, device=None):
        """Rows that sum up to 1, of the Dirichlet distribution."""
        alpha = self._positive("dirichlet", alpha)
        if alpha.ndim != 1:
            raise ValueError(f"dirichlet: alpha has one axis, not shape {alpha.shape}")
        parts = self._draw("standard_gamma", [alpha], (*(_shape(size) or ()), alpha.shape[0]), device=device)
        return parts / sum(parts, axis=-1, keepdims=True)

    # Whole numbers

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False, *, device=None):
        """Whole numbers from low to high, high left out unless *endpoint*; from 0 to low if high is not given."""
        low, high = (0, low) if high is None else (low, high)
        if type(low) is type(high) is int:
            shape = _shape(size) or ()
            first = self.bit_generator.advance(_count(shape))
            return draw("integers", [low, high if endpoint else high - 1], shape, self.bit_generator.key, first, dtype=dtype, device=device)
        return self._draw("integers", [_bound(low, 0), _bound(high, 0 if endpoint else 1)], size, dtype, device)

    def poisson(self, lam=1.0, size=None, *, device=None):
        """Numbers of the Poisson distribution of mean lam."""
        return self._draw("poisson", [lam], size, device=device)

    def binomial(self, n, p, size=None, *, device=None):
        """Numbers of successes in n trials of probability p."""
        return self._draw("binomial", [n, p], size, device=device)

    def negative_binomial(self, n, p, size=None, *, device=None):
        """Numbers of failures before n successes of probability p."""
        return self._draw("negative_binomial", [n, p], size, device=device)

    def geometric(self, p, size=None, *, device=None):
        """Numbers of trials up to the first success of probability p."""
        return self._draw("geometric", [p], size, device=device)

    def logseries(self, p, size=None, *, device=None):
        """Numbers of the logarithmic series distribution."""
        return self._draw("logseries", [p], size, device=device)

    def zipf(self, a, size=None, *, device=None):
        """Numbers of Zipf's distribution."""
        return self._draw("zipf", [a], size, device=device)

    def hypergeometric(self, ngood, nbad, nsample, size=None, *, device=None):
        """Numbers of good ones among nsample drawn from ngood good and nbad bad ones."""
        return self._draw("hypergeometric", [ngood, nbad, nsample], size, device=device)

    def multinomial(self, n, pvals, size=None, *, device=None):
        """How often each of several outcomes of probabilities pvals occurs in n trials."""
        n, pvals = as_tensor(n), as_tensor(pvals) * 1.0
        if pvals.ndim == 0:
            raise ValueError("multinomial: pvals must have at least one axis")
        if not bool(((pvals >= 0) & (pvals <= 1)).all()) or bool((sum(pvals[..., :-1], axis=-1) > 1.0 + 1e-12).any()):
            raise ValueError("multinomial: pvals must be probabilities that sum up to at most 1")
        shape = self._common(size, n, pvals[..., 0])
        left, rest, counts = broadcast_to(astype(n, np.int64), shape), 1.0, []
        for place in range(pvals.shape[-1] - 1):
            chance = (pvals[..., place] / rest).clip(0.0, 1.0) if place else pvals[..., place]
            counts.append(self._draw("binomial", [left, chance], shape, device=device))
            left, rest = left - counts[-1], (rest - pvals[..., place]).clip(1e-300, 1.0) if place or pvals.ndim else rest
        return stack([*counts, left], -1)

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals", *, device=None):
        """How many of each colour are among nsample drawn from a collection; there is one method here, by the marginals."""
        colors = as_tensor(colors)
        if colors.ndim != 1 or colors.dtype.kind not in "iu":
            raise ValueError("multivariate_hypergeometric: colors is a row of whole numbers")
        if method not in ("marginals", "count"):
            raise ValueError(f"multivariate_hypergeometric: method is 'marginals' or 'count', not {method!r}")
        if nsample < 0 or nsample > int(sum(colors)):
            raise ValueError("multivariate_hypergeometric: nsample lies between 0 and the number of all")
        shape = _shape(size) or ()
        left, rest, counts = broadcast_to(as_tensor(nsample), shape), int(sum(colors)), []
        for number in colors.tolist()[:-1]:
            rest -= number
            counts.append(self._draw("hypergeometric", [number, rest, left], shape, device=device))
            left = left - counts[-1]
        return stack([*counts, left], -1)

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", device=None):
        """Rows of normal numbers with a mean and a covariance matrix."""
        mean, cov = as_tensor(mean) * 1.0, as_tensor(cov) * 1.0
        if mean.ndim != 1 or cov.shape != (mean.shape[0],) * 2:
            raise ValueError(f"multivariate_normal: a mean of shape {mean.shape} and a covariance of shape {cov.shape} do not fit")
        if method not in ("svd", "eigh", "cholesky"):
            raise ValueError(f"multivariate_normal: method is 'svd', 'eigh' or 'cholesky', not {method!r}")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError(f"multivariate_normal: check_valid is 'warn', 'raise' or 'ignore', not {check_valid!r}")
        if method == "cholesky":
            factor = cholesky(cov)
        else:
            values, vectors = eigh(cov)
            if check_valid != "ignore" and bool((values < -tol * abs(values).max()).any()):
                if check_valid == "raise":
                    raise ValueError("multivariate_normal: covariance is not symmetric positive-semidefinite")
                warnings.warn("covariance is not symmetric positive-semidefinite", RuntimeWarning, stacklevel=2)
            factor = vectors * sqrt(values.clip(0.0, None))
        rows = self._draw("standard_normal", size=(*(_shape(size) or ()), mean.shape[0]), device=device)
        return mean + matmul(rows, matrix_transpose(factor))

    # Order and choice

    def bytes(self, length):
        """Random bytes."""
        return as_ndarray(self._draw("words", size=-(-length // 8))).tobytes()[:length]

    def permutation(self, x, axis=0):
        """The whole numbers below x in random order, or a copy of x with its slices along an axis so."""
        if isinstance(x, (int, np.integer)):
            return self._order(int(x))
        x = as_tensor(x)
        axis = normalized(axis, x.ndim, "permutation")
        return take(x, self._order(x.shape[axis]), axis)

    def _order(self, count):
        return argsort(self._draw("words", size=count))

    def shuffle(self, x, axis=0):
        """Bring a tensor's slices along an axis, or a list, into random order in place; returns None."""
        if isinstance(x, Tensor):
            x[...] = self.permutation(x, axis)
        elif isinstance(x, np.ndarray):
            x[...] = as_ndarray(self.permutation(x, axis))
        else:
            if axis:
                raise NotImplementedError("shuffle: a list has one axis, 0")
            x[:] = [x[place] for place in self._order(len(x)).tolist()]

    def permuted(self, x, *, axis=None, out=None):
        """x with each row along an axis in a random order of its own; all elements together if axis is None."""
        x = as_tensor(x)
        if axis is None:
            result = reshape(take(ravel(x), self._order(x.size)), x.shape)
        else:
            axis = normalized(axis, x.ndim, "permuted")
            result = take_along_axis(x, argsort(self._draw("words", size=x.shape), axis=axis), axis)
        return _into(result, out, "permuted") if out is None or out.dtype == result.dtype else _into(result.astype(out.dtype), out, "permuted")

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Elements of a (or whole numbers below it), with or without replacement, by probabilities p if they are given."""
        a = a if isinstance(a, (int, np.integer)) else as_tensor(a)
        whole = not isinstance(a, Tensor) or a.ndim == 0
        count = int(a) if whole else a.shape[normalized(axis, a.ndim, "choice")]
        shape = _shape(size)
        wanted = 1 if shape is None else int(np.prod(shape, dtype=np.intp))
        if count < 1 and wanted:
            raise ValueError("choice: there is nothing to choose from")
        if p is not None:
            p = as_tensor(p) * 1.0
            if p.shape != (count,):
                raise ValueError(f"choice: p of shape {p.shape} does not fit {count} elements")
            if bool((p < 0).any()) or not -1e-8 <= float(sum(p)) - 1.0 <= 1e-8:
                raise ValueError("choice: p holds probabilities, which are not negative and sum up to 1")
        if replace:
            places = self._draw("integers", [0, count - 1], wanted) if p is None else \
                searchsorted(cumsum(p) / sum(p), self._draw("random", size=wanted), side="right").clip(0, count - 1)
        else:
            if wanted > count:
                raise ValueError(f"choice: {wanted} elements cannot be taken from {count} without replacement")
            if p is None:
                places = self._order(count)[:wanted]
            else:
                if int((p > 0).sum()) < wanted:
                    raise ValueError("choice: fewer probabilities are above 0 than elements are wanted")
                with np.errstate(divide="ignore"):          # the smallest of exponential times: Efraimidis and Spirakis, 2006
                    places = argsort(divide(self._draw("standard_exponential", size=count), p))[:wanted]
        places = reshape(places, () if shape is None else shape)
        return places if whole else take(a, places, axis)


def _bound(value, less):
    # A bound of whole numbers, less by one where it is left out; Python's own may have 64 bits without a sign.
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if isinstance(value, (int, np.integer)):
        value = int(value) - less
        if not -2 ** 63 <= value < 2 ** 64:
            raise ValueError(f"integers: a bound is out of bounds for 64 bits: {value + less}")
        return as_tensor(np.asarray(value, np.int64 if value < 2 ** 63 else np.uint64))
    value = as_tensor(value)
    if value.dtype.kind not in "iub":
        if not bool((value == value.astype(np.int64)).all()):
            raise ValueError(f"integers: bounds are whole numbers, not {value!r}")
        value = value.astype(np.int64)
    if value.dtype == np.uint64 and less and bool((value == 0).any()):
        raise ValueError("integers: low >= high")
    return value - less if value.dtype.kind != "b" else value.astype(np.int64) - less


def default_rng(seed=None):
    """A Generator.

    Parameters
    ----------
    seed : None, int, sequence of ints, SeedSequence, BitGenerator or Generator
        None takes the operating system's entropy; a Generator is given back.

    Raises
    ------
    TypeError, ValueError
        If it is none of these, or negative.

    Notes
    -----
    NumPy: ``numpy.random.default_rng``; the numbers are others than NumPy's.

    >>> import fastops as fo
    >>> fo.random.default_rng(3)
    Generator(Philox4x32, counter=0)
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


# One generator for the functions of this module, made when it is first used; a forked process has another stream.

_default = None


def _generator():
    global _default
    if _default is None:
        _default = Generator()
    return _default


def _forget():
    global _default
    _default = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def seed(seed=None):
    """Start the stream of this module's functions anew; after a fork each process has its own again."""
    _generator().bit_generator = BitGenerator(seed)


def _of_default(name):
    method = getattr(Generator, name)

    def function(*args, **kwargs):
        return getattr(_generator(), name)(*args, **kwargs)

    signature = inspect.signature(method)
    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    function.__doc__ = f"{method.__doc__}\n\nAs ``Generator.{name}``, on the stream of this module's functions, which ``seed`` starts anew."
    return function


_METHODS = [name for name in vars(Generator) if not name.startswith("_") and name != "spawn"]
globals().update({name: _of_default(name) for name in _METHODS})


def rand(*shape):
    """Uniform numbers from 0 to 1 of a shape given size by size; ``numpy.random.rand``."""
    return _generator().random(shape)


def randn(*shape):
    """Normal numbers of a shape given size by size; ``numpy.random.randn``."""
    return _generator().standard_normal(shape)


def randint(low, high=None, size=None, dtype=np.int64):
    """Whole numbers from low to high, high left out; ``numpy.random.randint``."""
    return _generator().integers(low, high, size, dtype)


def random_sample(size=None):
    """Uniform numbers from 0 to 1; ``numpy.random.random_sample``."""
    return _generator().random(size)


__all__ = ["BitGenerator", "Generator", "default_rng", "draw", "rand", "randint", "randn", "random_sample", "seed", *_METHODS]
