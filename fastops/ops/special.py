"""Special functions: SciPy's ufuncs, and what is written in them. Imported when ``fastops.special`` is first used."""

import math

import numpy as np
import scipy.special as scipy
from scipy.special import _ufuncs

from fastops import errors, samples
from fastops._dispatch import as_tensor
from fastops.derivatives import partials
from fastops.ops.autograd import detach
from fastops.ops.elementwise import abs, exp, isfinite, log, log1p, multiply, polynomial, sign, square, subtract, where
from fastops.ops.families import composite, elementwise, holds, through_numpy
from fastops.ops.reduce import amax, sum
from fastops.ops.shape import squeeze
from fastops.samples import Sample

POSITIVE = (0.5, 4.0)
UNIT = (0.1, 0.9)


def _special(name, summary, example, *, of=None, dtypes=samples.REAL, **more):
    # The ufunc itself: with SCIPY_ARRAY_API set, the public function is a wrapper around it.
    ufunc = getattr(scipy, of or name)
    ufunc = ufunc if isinstance(ufunc, np.ufunc) else getattr(_ufuncs, of or name)
    return elementwise(ufunc, summary, example, name=name, module="special", source=f"SciPy: ``scipy.special.{name}``.",
                       dtypes=dtypes, **more)


def _by_parameter():
    raise errors.NoDerivativeError("there is no formula for the derivative of this function by its parameter; by its last argument there is")


def _bessel_over(x, result, sign):
    # i1(x) / x (sign 1) or j1(x) / x (sign -1), smooth through 0: near it by the series, which has its derivatives.
    near = abs(x) < 1
    series = polynomial(x * x, [sign ** k / (2 * 4 ** k * math.factorial(k) * math.factorial(k + 1)) for k in range(12)])
    return where(near, series, result / where(near, 1, x))


erf = _special("erf", "The error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to x.", """
>>> fo.special.erf(fo.asarray([0.0, 1.0]))
tensor([0.        , 0.84270079])""",
    derivative=partials(x=lambda x: 2 / math.sqrt(math.pi) * exp(-square(x))))
erfc = _special("erfc", "1 - erf(x), accurate for large x.", """
>>> fo.special.erfc(fo.asarray([0.0, 5.0]))
tensor([1.00000000e+00, 1.53745979e-12])""",
    derivative=partials(x=lambda x: -2 / math.sqrt(math.pi) * exp(-square(x))))
erfinv = _special("erfinv", "The number whose erf is x.", """
>>> fo.special.erfinv(fo.asarray([0.0, 0.5]))
tensor([0.        , 0.47693628])""", domain=UNIT, dtypes=samples.FLOATS,
    derivative=partials(x=lambda result: math.sqrt(math.pi) / 2 * exp(square(result))))
expit = _special("expit", "The logistic function, 1 / (1 + exp(-x)).", """
>>> fo.special.expit(fo.asarray([0.0, 2.0]))
tensor([0.5       , 0.88079708])""",
    derivative=partials(x=lambda result: result * (1 - result)))
logit = _special("logit", "log(x / (1 - x)), the inverse of expit.", """
>>> fo.special.logit(fo.asarray([0.5]))
tensor([0.])""", domain=UNIT, dtypes=samples.FLOATS,
    derivative=partials(x=lambda x: 1 / (x * (1 - x))))
gammaln = _special("gammaln", "The logarithm of the absolute value of the gamma function.", """
>>> fo.special.gammaln(fo.asarray([5.0]))
tensor([3.17805383])""", domain=POSITIVE,
    derivative=partials(x=lambda x: digamma(x)))
digamma = _special("digamma", "The derivative of the logarithm of the gamma function.", """
>>> fo.special.digamma(fo.asarray([1.0]))
tensor([-0.57721566])""", of="psi", domain=POSITIVE,
    derivative=partials(x=lambda x: polygamma(1, x)))
beta = _special("beta", "The beta function, gamma(a) gamma(b) / gamma(a + b).", """
>>> fo.special.beta(fo.asarray([2.0]), 3.0)
tensor([0.08333333])""", domain=POSITIVE,
    derivative=partials(x1=lambda x1, x2, result: result * (digamma(x1) - digamma(x1 + x2)), x2=lambda x1, x2, result: result * (digamma(x2) - digamma(x1 + x2))))
betainc = _special("betainc", "The regularized incomplete beta function of a, b and x.", """
>>> fo.special.betainc(1.0, 2.0, fo.asarray([0.5]))
tensor([0.75])""", samples=lambda rng: (Sample(*[samples.array(rng, (3, 4), dtype, *UNIT) for _ in range(3)]) for dtype in ("f4", "f8")),
    derivative=partials(x1=_by_parameter, x2=_by_parameter, x3=lambda x1, x2, x3: exp(xlogy(x1 - 1, x3) + xlog1py(x2 - 1, -x3)) / beta(x1, x2)))
gammainc = _special("gammainc", "The regularized lower incomplete gamma function of a and x.", """
>>> fo.special.gammainc(1.0, fo.asarray([1.0]))
tensor([0.63212056])""", domain=POSITIVE,
    derivative=partials(x1=_by_parameter, x2=lambda x1, x2: exp(xlogy(x1 - 1, x2) - x2 - gammaln(x1))))
gammaincc = _special("gammaincc", "The regularized upper incomplete gamma function of a and x.", """
>>> fo.special.gammaincc(1.0, fo.asarray([1.0]))
tensor([0.36787944])""", domain=POSITIVE,
    derivative=partials(x1=_by_parameter, x2=lambda x1, x2: -exp(xlogy(x1 - 1, x2) - x2 - gammaln(x1))))
i0 = _special("i0", "The modified Bessel function of order 0.", """
>>> fo.special.i0(fo.asarray([1.0]))
tensor([1.26606588])""",
    derivative=partials(x=lambda x: i1(x)))
i0e = _special("i0e", "exp(-abs(x)) i0(x).", """
>>> fo.special.i0e(fo.asarray([1.0]))
tensor([0.46575961])""",
    derivative=partials(x=lambda x, result: i1e(x) - sign(x) * result))
i1 = _special("i1", "The modified Bessel function of order 1.", """
>>> fo.special.i1(fo.asarray([1.0]))
tensor([0.5651591])""",
    derivative=partials(x=lambda x, result: i0(x) - _bessel_over(x, result, 1)))
i1e = _special("i1e", "exp(-abs(x)) i1(x).", """
>>> fo.special.i1e(fo.asarray([1.0]))
tensor([0.20791042])""",
    derivative=partials(x=lambda x, result: i0e(x) - sign(x) * result - exp(-abs(x)) * _bessel_over(x, i1(x), 1)))
j0 = _special("j0", "The Bessel function of the first kind of order 0.", """
>>> fo.special.j0(fo.asarray([1.0]))
tensor([0.76519769])""",
    derivative=partials(x=lambda x: -j1(x)))
j1 = _special("j1", "The Bessel function of the first kind of order 1.", """
>>> fo.special.j1(fo.asarray([1.0]))
tensor([0.44005059])""",
    derivative=partials(x=lambda x, result: j0(x) - _bessel_over(x, result, -1)))
ndtr = _special("ndtr", "The distribution function of the standard normal distribution.", """
>>> fo.special.ndtr(fo.asarray([0.0, 1.96]))
tensor([0.5      , 0.9750021])""",
    derivative=partials(x=lambda x: exp(-0.5 * square(x)) / math.sqrt(2 * math.pi)))
ndtri = _special("ndtri", "The number whose ndtr is x.", """
>>> fo.special.ndtri(fo.asarray([0.5, 0.975]))
tensor([0.        , 1.95996398])""", domain=UNIT, dtypes=samples.FLOATS,
    derivative=partials(x=lambda result: math.sqrt(2 * math.pi) * exp(0.5 * square(result))))
log_ndtr = _special("log_ndtr", "The logarithm of ndtr(x), accurate for very negative x.", """
>>> fo.special.log_ndtr(fo.asarray([-40.0]))
tensor([-804.60844201])""",
    derivative=partials(x=lambda x, result: exp(-0.5 * square(x) - result) / math.sqrt(2 * math.pi)))
xlogy = _special("xlogy", "x log(y), and 0 where x is 0.", """
>>> fo.special.xlogy(fo.asarray([0.0, 2.0]), fo.asarray([0.0, fo.e]))
tensor([0., 2.])""", domain=POSITIVE,
    derivative=partials(x1=lambda x2: log(x2), x2=lambda x1, x2: x1 / x2))
xlog1py = _special("xlog1py", "x log(1 + y), and 0 where x is 0.", """
>>> fo.special.xlog1py(fo.asarray([0.0]), -1.0)
tensor([0.])""", domain=POSITIVE,
    derivative=partials(x1=lambda x2: log1p(x2), x2=lambda x1, x2: x1 / (1 + x2)))
entr = _special("entr", "-x log(x), 0 at 0, and -inf for negative x.", """
>>> fo.special.entr(fo.asarray([0.0, 0.5]))
tensor([0.        , 0.34657359])""", domain=POSITIVE,
    derivative=partials(x=lambda x: -log(x) - 1))
rel_entr = _special("rel_entr", "x log(x / y), 0 where x is 0 and y is not negative, else inf where a sign is wrong.", """
>>> fo.special.rel_entr(fo.asarray([0.5]), 0.25)
tensor([0.34657359])""", domain=POSITIVE,
    derivative=partials(x1=lambda x1, x2: log(x1 / x2) + 1, x2=lambda x1, x2: -x1 / x2))


def _composite(schema, summary, function, example, **more):
    name = schema.partition("(")[0]
    return composite(schema, summary, function, example=example, module="special", reference=getattr(scipy, name),
                     notes=f"SciPy: ``scipy.special.{name}``.", **more)


def _floating(x):
    x = as_tensor(x)
    return x if x.dtype.kind in "fc" else x * 1.0


zeta = through_numpy(
    "zeta(Array x, /, Array? q=None) -> Tensor", "The zeta function of Riemann, or of Hurwitz with q.",
    lambda x, q=None: scipy.zeta(x, q), lambda x, q=None: (
        np.broadcast_shapes(x.shape, () if q is None else q.shape),
        np.result_type(x.dtype, np.float32 if q is None else q.dtype, np.float32)),
    module="special", family="primitive", batching="elementwise", reference=scipy.zeta, samples=lambda rng: (
        Sample(samples.array(rng, (3, 4), dtype, 1.5, 4.0), *more) for dtype in ("f4", "f8")
        for more in ((), (samples.array(rng, (4,), dtype, *POSITIVE),))), notes="SciPy: ``scipy.special.zeta``.", example="""
>>> fo.special.zeta(fo.asarray([2.0]))
tensor([1.64493407])""",
    derivative=partials(x=_by_parameter, q=lambda x, q: -x * zeta(x + 1, q)))


def _polygamma(n, x):
    n, x = as_tensor(n), _floating(x)
    if holds((n < 0).any()):
        raise ValueError(f"polygamma: the order n is not negative, but {n!r} was given")
    order = n * 1.0
    sign = where(n % 2 == 0, -1.0, 1.0)
    return where(n == 0, digamma(x), sign * exp(gammaln(order + 1.0)) * zeta(order + 1.0, x))


polygamma = _composite(
    "polygamma(Array n, Array x, /) -> Tensor", "The n-th derivative of digamma.", _polygamma, """
>>> fo.special.polygamma(1, fo.asarray([1.0]))
tensor([1.64493407])""", samples=lambda rng: (Sample(np.array([[0], [1], [2]]), samples.array(rng, (4,), "f8", *POSITIVE)),))


def _multigammaln(a, d):
    a = _floating(a)
    if not isinstance(d, int) or d < 1:
        raise ValueError(f"multigammaln: the dimension d is a positive whole number, not {d!r}")
    total = gammaln(a)
    for j in range(1, d):
        total = total + gammaln(a - j / 2)
    return total + d * (d - 1) / 4 * math.log(math.pi)


multigammaln = _composite(
    "multigammaln(Array a, int d, /) -> Tensor", "The logarithm of the multivariate gamma function of d dimensions.", _multigammaln, """
>>> fo.special.multigammaln(fo.asarray([3.0]), 2)
tensor([1.55019499])""", samples=lambda rng: (Sample(samples.array(rng, (3, 4), "f8", 2.0, 4.0), d) for d in (1, 2, 3)))


def _finite_top(x, axis, **initial):
    # What keeps exponentials in range. The result does not depend on it, so no derivative is taken of it.
    top = amax(detach(x), axis=axis, keepdims=True, **initial)
    return where(isfinite(top), top, top.dtype.type(0))


def _logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    a = _floating(a)
    top = _finite_top(a.real if a.dtype.kind == "c" else a, axis, initial=-np.inf)
    terms = exp(subtract(a, top))
    total = sum(terms if b is None else multiply(b, terms), axis=axis, keepdims=True)
    sign = None
    if return_sign:
        sign = where(total > 0, 1.0, where(total < 0, -1.0, total)).astype(total.dtype)
        total = abs(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = log(total) + top
    if not keepdims:
        result = squeeze(result, axis=axis)
        sign = None if sign is None else squeeze(sign, axis=axis)
    return (result, sign) if return_sign else result


logsumexp = _composite(
    "logsumexp(Array a, /, int[]? axis=None, Array? b=None, bool keepdims=False, bool return_sign=False) -> Tensor",
    "The logarithm of the sum of the exponentials, each times b, without overflow.", _logsumexp, """
>>> fo.special.logsumexp(fo.asarray([1000.0, 1000.0]))
tensor(1000.69314718)""", samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), **more) for dtype in ("f4", "f8") for more in (
        {}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 0, "b": samples.array(rng, (3, 1), dtype, 0.5, 1.0)})))


def _softmax(x, axis=None):
    x = _floating(x)
    terms = exp(subtract(x, amax(detach(x), axis=axis, keepdims=True)))
    return terms / sum(terms, axis=axis, keepdims=True)


def _log_softmax(x, axis=None):
    x = _floating(x)
    shifted = subtract(x, _finite_top(x, axis))
    with np.errstate(divide="ignore"):
        return shifted - log(sum(exp(shifted), axis=axis, keepdims=True))


def _rows(rng):
    for dtype in ("f4", "f8"):
        yield Sample(samples.array(rng, (3, 4), dtype))
        yield Sample(samples.array(rng, (3, 4), dtype), 1)
        yield Sample(samples.array(rng, (3, 4), dtype), axis=(0, 1))


softmax = _composite("softmax(Array x, /, int[]? axis=None) -> Tensor", "exp(x) divided by its sum along the axes.", _softmax, """
>>> fo.special.softmax(fo.asarray([0.0, 0.0]))
tensor([0.5, 0.5])""", samples=_rows)
log_softmax = _composite("log_softmax(Array x, /, int[]? axis=None) -> Tensor", "The logarithm of softmax.", _log_softmax, """
>>> fo.special.log_softmax(fo.asarray([0.0, 0.0]))
tensor([-0.69314718, -0.69314718])""", samples=_rows)
