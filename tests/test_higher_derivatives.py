"""Derivatives to the fourth order, at ordinary points, at removable singularities and next to them, beside power series."""

import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import fastops as fo

A, S = fo.asarray, fo.special
TERMS = 24


def series(term):
    """The first coefficients of a power series at 0, as a polynomial, from a function of the power."""
    return Polynomial([float(term(power)) for power in range(TERMS)])


def even(term):
    return series(lambda power: 0 if power % 2 else term(power // 2))


def odd(term):
    return series(lambda power: term(power // 2) if power % 2 else 0)


def binomial(exponent):
    """(1 + x) ** exponent."""
    coefficients = [1.0]
    for power in range(1, TERMS):
        coefficients.append(coefficients[-1] * (exponent - power + 1) / power)
    return Polynomial(coefficients)


def exponential(inner):
    """exp of a series without a constant term."""
    result, term = Polynomial([1.0]), Polynomial([1.0])
    for power in range(1, TERMS):
        term = (term * inner / power).truncate(TERMS)
        result = result + term
    return result.truncate(TERMS)


LOG1P = series(lambda n: 0 if n == 0 else (-1) ** (n + 1) / n)
ONE_PLUS = Polynomial([1.0, 1.0])
FUNCTIONS = {
    "sinc": (fo.sinc, even(lambda k: (-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1))),
    "sin": (fo.sin, odd(lambda k: (-1) ** k / math.factorial(2 * k + 1))),
    "exp": (fo.exp, series(lambda n: 1 / math.factorial(n))),
    "expm1": (fo.expm1, series(lambda n: 0 if n == 0 else 1 / math.factorial(n))),
    "log1p": (fo.log1p, LOG1P),
    "atan": (fo.atan, odd(lambda k: (-1) ** k / (2 * k + 1))),
    "atanh": (fo.atanh, odd(lambda k: 1 / (2 * k + 1))),
    "erf": (S.erf, odd(lambda k: 2 / math.sqrt(math.pi) * (-1) ** k / (math.factorial(k) * (2 * k + 1)))),
    "ndtr": (S.ndtr, Polynomial([0.5]) + odd(lambda k: (-1) ** k / (math.sqrt(2 * math.pi) * 2 ** k * math.factorial(k) * (2 * k + 1)))),
    "i0": (S.i0, even(lambda k: 1 / (4 ** k * math.factorial(k) ** 2))),
    "i1": (S.i1, odd(lambda k: 1 / (2 * 4 ** k * math.factorial(k) * math.factorial(k + 1)))),
    "j0": (S.j0, even(lambda k: (-1) ** k / (4 ** k * math.factorial(k) ** 2))),
    "j1": (S.j1, odd(lambda k: (-1) ** k / (2 * 4 ** k * math.factorial(k) * math.factorial(k + 1)))),
    "hypot": (lambda x: fo.hypot(x, 1.0), even(lambda k: binomial(0.5).coef[k])),
    "norm": (lambda x: fo.linalg.norm(fo.stack([x, fo.ones_like(x)])), even(lambda k: binomial(0.5).coef[k])),
    "atan2": (lambda x: fo.atan2(x, 1.0), odd(lambda k: (-1) ** k / (2 * k + 1))),
    "cube": (lambda x: x ** 3, Polynomial([0.0, 0, 0, 1])),
    "root": (lambda x: fo.sqrt(x + 1), binomial(0.5)),
    "cube root": (lambda x: fo.cbrt(x + 1), binomial(1 / 3)),
    "power": (lambda x: (x + 1) ** 2.5, binomial(2.5)),
    "power of arrays": (lambda x: (x + 1) ** (x + 1), exponential((ONE_PLUS * LOG1P).truncate(TERMS))),
    "power of an array at 0": (lambda x: x ** fo.asarray(3.0), Polynomial([0.0, 0, 0, 1])),
    "prod with zeros": (lambda x: fo.prod(fo.stack([x, x, x + 1])), Polynomial([0.0, 0, 1, 1])),
    "cumprod with zeros": (lambda x: fo.cumprod(fo.stack([x, x, x + 1]))[2], Polynomial([0.0, 0, 1, 1])),
    "var": (lambda x: fo.var(fo.stack([x, 0 * x])), Polynomial([0, 0, 0.25])),
    "xlog1py": (lambda x: S.xlog1py(x, x), (Polynomial([0.0, 1.0]) * LOG1P).truncate(TERMS)),
    "det, 2x2": (lambda x: fo.linalg.det(fo.stack([fo.stack([x, x * 0 + 1]), fo.stack([x, x])])), Polynomial([0.0, -1, 1])),
    "det, 3x3": (lambda x: fo.linalg.det(x * fo.asarray([[1.0, 2, 0], [0, 1, 1], [1, 0, 1]])), Polynomial([0.0, 0, 0, 3])),
}
NEXT = {"grad": fo.grad, "jacfwd": fo.jacfwd}


@pytest.mark.parametrize("at", [0.0, 1e-9, 1e-3, 0.1, -0.3])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_to_the_fourth_order(name, at):
    function, expected = FUNCTIONS[name]
    for step in NEXT.values():
        found, slope = function, expected
        for order in range(5):
            assert float(found(A(at))) == pytest.approx(slope(at), rel=1e-7, abs=1e-9), f"derivative {order}"
            found, slope = step(found), slope.deriv()


def test_mixed_derivatives_of_a_power():
    # d/dx d/dy x**y = x**(y - 1) (1 + y log x), at exponents where a factor is 0 too.
    for x, y in ((2.0, 0.0), (1.0, 1.0), (2.0, 1.0), (0.5, 3.0), (1.0, 0.0)):
        expected = x ** (y - 1) * (1 + y * math.log(x))
        for outer, inner in (((0, 1), (1, 0))):
            mixed = fo.grad(lambda *z: fo.grad(fo.pow, inner)(*z), outer)(A(x), A(y))
            assert float(mixed) == pytest.approx(expected)


def test_the_slope_of_sinc_keeps_its_digits():
    x = np.logspace(-12, 0, 200)
    exact = FUNCTIONS["sinc"][1].deriv()
    near = x < 0.3
    found = fo.grad(lambda x: fo.sinc(x).sum())(A(x)).numpy()
    np.testing.assert_allclose(found[near], exact(x[near]), rtol=1e-13)
