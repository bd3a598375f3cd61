"""Elementwise operators: one value from the values at the same place."""

import math

import numpy as np

from fastops import samples
from fastops._autograd import structural
from fastops._dispatch import DispatchKey, as_tensor
from fastops._loops import Elementwise, SelectLoops
from fastops.declare import declare
from fastops.derivatives import linear, partials, refuse, transposes
from fastops.ops.create import ones_like, zeros_like
from fastops.ops.families import BINARY_NOTES, composite, elementwise

POSITIVE = (0.5, 4.0)
UNIT = (-0.9, 0.9)
WHOLE = samples.BOOLS + samples.INTEGERS
NUMBERS = samples.INTEGERS + samples.FLOATS + samples.COMPLEX

LN2, LN10 = math.log(2), math.log(10)

# What several derivatives are made of: at a kink or a pole they take the value that docs/adr/0011 says.


def _share(wins, x1, x2, result):
    # Of maximum and minimum: all where one wins, half where they tie.
    return where(wins, ones_like(result), where(equal(x1, x2), 0.5, zeros_like(result)))


def _ratio(x, size):
    # x / size, 0 where the size is 0.
    return where(equal(size, 0), 0, x / where(equal(size, 0), 1, size))


def _below(x, result):
    # x - result, 0 where both are the same infinity.
    return where(equal(x, result), 0, x - result)


def polynomial(x, coefficients):
    """The polynomial with these coefficients, the constant first: what stands in for a quotient near its zero."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def _power_by_base(x1, x2):
    # Polynomials stay polynomials: no 0 times a negative power of 0.
    if isinstance(x2, (int, float)):
        return 0 if x2 == 0 else 1 if x2 == 1 else 2 * x1 if x2 == 2 else x2 * pow(x1, x2 - 1)
    return structural("scale")(x2, pow(x1, where(logical_and(equal(x2, 0), equal(x1, 0)), 1, x2 - 1)))


def _power_by_exponent(x1, x2, result):
    if isinstance(x1, (int, float)):
        return result * math.log(x1) if x1 > 0 else result * (0 if x1 == 0 else math.nan)
    return where(logical_and(equal(x1, 0), greater_equal(real_part(x2), 0)), 0, result * log(where(equal(x1, 0), 1, x1)))


def real_part(x):
    """x itself, or the real part of complex numbers."""
    return x.real if getattr(x, "dtype", np.dtype(float)).kind == "c" or isinstance(x, complex) else x


def _sign_transpose(g, x, result):
    # Of complex numbers what is across the direction of x; of real ones nothing.
    if result.dtype.kind != "c":
        return zeros_like(g)
    along = scale(result, real_part(conj(result) * g))
    return _ratio(g - along, abs(x))


# Arithmetic

add = elementwise(np.add, "The sum of x1 and x2.", syntax="__add__", derivative=partials(x1=1, x2=1), example="""
>>> fo.add(fo.asarray([1, 2]), 0.5)
tensor([1.5, 2.5])""")

subtract = elementwise(np.subtract, "x1 minus x2.", syntax="__sub__", derivative=partials(x1=1, x2=-1), example="""
>>> fo.subtract(fo.asarray([3, 4]), 1)
tensor([2, 3])""")

multiply = elementwise(np.multiply, "The product of x1 and x2.", syntax="__mul__",
    derivative=partials(x1=lambda x2: x2, x2=lambda x1: x1), example="""
>>> fo.multiply(fo.asarray([1, 2]), fo.asarray([3, 4]))
tensor([3, 8])""")

divide = elementwise(np.divide, "x1 divided by x2; whole numbers give floating-point results.", name="divide",
                     syntax="__truediv__", domain=POSITIVE,
    derivative=partials(x1=lambda x2: 1 / x2, x2=lambda x2, result: -result / x2), example="""
>>> fo.divide(fo.asarray([1, 2]), 2)
tensor([0.5, 1. ])""")

floor_divide = elementwise(np.floor_divide, "The largest whole number not above x1 / x2.", syntax="__floordiv__",
                           domain=(1.0, 4.0), derivative=partials(x1=0, x2=0), example="""
>>> fo.floor_divide(fo.asarray([7, -7]), 2)
tensor([ 3, -4])""")

remainder = elementwise(np.remainder, "What floor_divide leaves over; it has the sign of x2.", syntax="__mod__",
                        domain=(1.0, 4.0), derivative=partials(x1=1, x2=lambda x1, x2: -floor_divide(x1, x2)), example="""
>>> fo.remainder(fo.asarray([7, -7]), 3)
tensor([1, 2])""")

fmod = elementwise(np.fmod, "What division towards zero leaves over; it has the sign of x1.", domain=(1.0, 4.0),
    derivative=partials(x1=1, x2=lambda x1, x2: -trunc(divide(x1, x2))), example="""
>>> fo.fmod(fo.asarray([7, -7]), 3)
tensor([ 1, -1])""")

divmod = elementwise(np.divmod, "The pair of floor_divide and remainder.", syntax="__divmod__", domain=(1.0, 4.0),
    derivative=transposes(x1=lambda g: g[1], x2=lambda g, result: None if g[1] is None else scale(g[1], -result[0])), example="""
>>> fo.divmod(fo.asarray([7, -7]), 3)
(tensor([ 2, -3]), tensor([1, 2]))""")

negative = elementwise(np.negative, "Minus x.", syntax="__neg__", derivative=partials(x=-1), example="""
>>> fo.negative(fo.asarray([1, -2]))
tensor([-1,  2])""")

positive = elementwise(np.positive, "A copy of x.", syntax="__pos__", derivative=partials(x=1), example="""
>>> fo.positive(fo.asarray([1, -2]))
tensor([ 1, -2])""")

abs = elementwise(np.absolute, "The absolute value; of complex numbers their magnitude.", name="abs",
                  syntax="__abs__", derivative=transposes(x=lambda g, x: scale(g, sign(x))), example="""
>>> fo.abs(fo.asarray([-1, 2]))
tensor([1, 2])""")

fabs = elementwise(np.fabs, "The absolute value as a floating-point number.",
    derivative=partials(x=lambda x: sign(x)), example="""
>>> fo.fabs(fo.asarray([-1, 2]))
tensor([1., 2.])""")

sign = elementwise(np.sign, "-1, 0 or 1 by the sign of x; x / abs(x) for complex numbers.",
    derivative=transposes(x=_sign_transpose), example="""
>>> fo.sign(fo.asarray([-3.0, 0.0, 2.0]))
tensor([-1.,  0.,  1.])""")

reciprocal = elementwise(np.reciprocal, "1 / x.", domain=POSITIVE, dtypes=samples.FLOATS + samples.COMPLEX,
    derivative=partials(x=lambda result: -square(result)), example="""
>>> fo.reciprocal(fo.asarray([2.0, 4.0]))
tensor([0.5 , 0.25])""")

square = elementwise(np.square, "x times x.", derivative=partials(x=lambda x: 2 * x), example="""
>>> fo.square(fo.asarray([1, -2]))
tensor([1, 4])""")

sqrt = elementwise(np.sqrt, "The non-negative square root.", domain=POSITIVE,
    derivative=partials(x=lambda result: 0.5 / result), example="""
>>> fo.sqrt(fo.asarray([1, 4]))
tensor([1., 2.])""")

cbrt = elementwise(np.cbrt, "The cube root.", derivative=partials(x=lambda result: 1 / (3 * square(result))), example="""
>>> fo.cbrt(fo.asarray([1.0, 8.0]))
tensor([1., 2.])""")

pow = elementwise(np.power, "x1 to the power of x2; a whole number to a negative whole power is a ValueError.",
                  name="pow", syntax="__pow__", domain=(1.0, 3.0),
    derivative=partials(x1=_power_by_base, x2=_power_by_exponent), example="""
>>> fo.pow(fo.asarray([2, 3]), 2)
tensor([4, 9])""")

float_power = elementwise(np.float_power, "x1 to the power of x2 in at least double precision.", domain=POSITIVE,
    derivative=partials(x1=_power_by_base, x2=_power_by_exponent), example="""
>>> fo.float_power(fo.asarray([2, 3]), -1)
tensor([0.5       , 0.33333333])""")

hypot = elementwise(np.hypot, "The length of the hypotenuse, sqrt(x1**2 + x2**2).",
    derivative=partials(x1=lambda x1, result: _ratio(x1, result), x2=lambda x2, result: _ratio(x2, result)), example="""
>>> fo.hypot(fo.asarray([3.0]), fo.asarray([4.0]))
tensor([5.])""")

heaviside = elementwise(np.heaviside, "0 where x1 is negative, 1 where it is positive, x2 where it is 0.",
    derivative=partials(x1=0, x2=lambda x1, result: where(equal(x1, 0), ones_like(result), 0)), example="""
>>> fo.heaviside(fo.asarray([-1.0, 0.0, 2.0]), 0.5)
tensor([0. , 0.5, 1. ])""")

maximum = elementwise(np.maximum, "The larger of x1 and x2; NaN if one is NaN.",
    derivative=partials(x1=lambda x1, x2, result: _share(greater(x1, x2), x1, x2, result),
                                   x2=lambda x1, x2, result: _share(less(x1, x2), x1, x2, result)), example="""
>>> fo.maximum(fo.asarray([1, 5]), 3)
tensor([3, 5])""")

minimum = elementwise(np.minimum, "The smaller of x1 and x2; NaN if one is NaN.",
    derivative=partials(x1=lambda x1, x2, result: _share(less(x1, x2), x1, x2, result),
                                   x2=lambda x1, x2, result: _share(greater(x1, x2), x1, x2, result)), example="""
>>> fo.minimum(fo.asarray([1, 5]), 3)
tensor([1, 3])""")

fmax = elementwise(np.fmax, "The larger of x1 and x2; a NaN loses against a number.",
    derivative=partials(x1=lambda x1, x2, result: _share(logical_or(greater(x1, x2), isnan(x2)), x1, x2, result),
                                   x2=lambda x1, x2, result: _share(logical_or(less(x1, x2), isnan(x1)), x1, x2, result)), example="""
>>> fo.fmax(fo.asarray([1.0, fo.nan]), 0.0)
tensor([1., 0.])""")

fmin = elementwise(np.fmin, "The smaller of x1 and x2; a NaN loses against a number.",
    derivative=partials(x1=lambda x1, x2, result: _share(logical_or(less(x1, x2), isnan(x2)), x1, x2, result),
                                   x2=lambda x1, x2, result: _share(logical_or(greater(x1, x2), isnan(x1)), x1, x2, result)), example="""
>>> fo.fmin(fo.asarray([1.0, fo.nan]), 2.0)
tensor([1., 2.])""")

gcd = elementwise(np.gcd, "The greatest common divisor of whole numbers.", example="""
>>> fo.gcd(fo.asarray([12, 18]), 8)
tensor([4, 2])""")

lcm = elementwise(np.lcm, "The least common multiple of whole numbers.", example="""
>>> fo.lcm(fo.asarray([4, 6]), 10)
tensor([20, 30])""")

# Exponentials and logarithms

exp = elementwise(np.exp, "e to the power of x.", derivative=partials(x=lambda result: result), example="""
>>> fo.exp(fo.asarray([0.0, 1.0]))
tensor([1.        , 2.71828183])""")

exp2 = elementwise(np.exp2, "2 to the power of x.", derivative=partials(x=lambda result: result * LN2), example="""
>>> fo.exp2(fo.asarray([0.0, 3.0]))
tensor([1., 8.])""")

expm1 = elementwise(np.expm1, "exp(x) - 1, accurate near 0.", derivative=partials(x=lambda result: result + 1), example="""
>>> fo.expm1(fo.asarray([0.0, 1e-10]))
tensor([0.e+00, 1.e-10])""")

log = elementwise(np.log, "The natural logarithm.", domain=POSITIVE, derivative=partials(x=lambda x: 1 / x), example="""
>>> fo.log(fo.asarray([1.0, fo.e]))
tensor([0., 1.])""")

log2 = elementwise(np.log2, "The logarithm to base 2.", domain=POSITIVE,
    derivative=partials(x=lambda x: 1 / (x * LN2)), example="""
>>> fo.log2(fo.asarray([1, 8]))
tensor([0., 3.])""")

log10 = elementwise(np.log10, "The logarithm to base 10.", domain=POSITIVE,
    derivative=partials(x=lambda x: 1 / (x * LN10)), example="""
>>> fo.log10(fo.asarray([1, 1000]))
tensor([0., 3.])""")

log1p = elementwise(np.log1p, "log(1 + x), accurate near 0.", domain=POSITIVE,
    derivative=partials(x=lambda x: 1 / (1 + x)), example="""
>>> fo.log1p(fo.asarray([0.0, 1e-10]))
tensor([0.e+00, 1.e-10])""")

logaddexp = elementwise(np.logaddexp, "log(exp(x1) + exp(x2)), without overflow.",
    derivative=partials(x1=lambda x1, result: exp(_below(x1, result)), x2=lambda x2, result: exp(_below(x2, result))), example="""
>>> fo.logaddexp(fo.asarray([1000.0]), 1000.0)
tensor([1000.69314718])""")

logaddexp2 = elementwise(np.logaddexp2, "log2(2**x1 + 2**x2), without overflow.",
    derivative=partials(x1=lambda x1, result: exp2(_below(x1, result)), x2=lambda x2, result: exp2(_below(x2, result))), example="""
>>> fo.logaddexp2(fo.asarray([3.0]), 3.0)
tensor([4.])""")

# Trigonometric and hyperbolic functions

sin = elementwise(np.sin, "The sine; angles are in radians.", derivative=partials(x=lambda x: cos(x)), example="""
>>> fo.sin(fo.asarray([0.0, fo.pi / 2]))
tensor([0., 1.])""")

cos = elementwise(np.cos, "The cosine; angles are in radians.", derivative=partials(x=lambda x: -sin(x)), example="""
>>> fo.cos(fo.asarray([0.0, fo.pi]))
tensor([ 1., -1.])""")

tan = elementwise(np.tan, "The tangent; angles are in radians.", domain=UNIT,
    derivative=partials(x=lambda result: 1 + square(result)), example="""
>>> fo.tan(fo.asarray([0.0]))
tensor([0.])""")

asin = elementwise(np.arcsin, "The angle in radians, from -pi/2 to pi/2, whose sine is x.", name="asin", domain=UNIT,
    derivative=partials(x=lambda x: 1 / sqrt(1 - square(x))), example="""
>>> fo.asin(fo.asarray([0.0, 1.0]))
tensor([0.        , 1.57079633])""")

acos = elementwise(np.arccos, "The angle in radians, from 0 to pi, whose cosine is x.", name="acos", domain=UNIT,
    derivative=partials(x=lambda x: -1 / sqrt(1 - square(x))), example="""
>>> fo.acos(fo.asarray([1.0, -1.0]))
tensor([0.        , 3.14159265])""")

atan = elementwise(np.arctan, "The angle in radians, from -pi/2 to pi/2, whose tangent is x.", name="atan", domain=UNIT,
    derivative=partials(x=lambda x: 1 / (1 + square(x))), example="""
>>> fo.atan(fo.asarray([0.0, 1.0]))
tensor([0.        , 0.78539816])""")

atan2 = elementwise(np.arctan2, "The angle in radians, from -pi to pi, of the point with coordinates x2 and x1.",
                    name="atan2",
    derivative=partials(x1=lambda x1, x2: _ratio(x2, square(x1) + square(x2)), x2=lambda x1, x2: _ratio(negative(x1), square(x1) + square(x2))), example="""
>>> fo.atan2(fo.asarray([1.0, -1.0]), 0.0)
tensor([ 1.57079633, -1.57079633])""")

sinh = elementwise(np.sinh, "The hyperbolic sine.", derivative=partials(x=lambda x: cosh(x)), example="""
>>> fo.sinh(fo.asarray([0.0]))
tensor([0.])""")

cosh = elementwise(np.cosh, "The hyperbolic cosine.", derivative=partials(x=lambda x: sinh(x)), example="""
>>> fo.cosh(fo.asarray([0.0]))
tensor([1.])""")

tanh = elementwise(np.tanh, "The hyperbolic tangent.", derivative=partials(x=lambda result: 1 - square(result)), example="""
>>> fo.tanh(fo.asarray([0.0, 100.0]))
tensor([0., 1.])""")

asinh = elementwise(np.arcsinh, "The number whose hyperbolic sine is x.", name="asinh",
    derivative=partials(x=lambda x: 1 / sqrt(square(x) + 1)), example="""
>>> fo.asinh(fo.asarray([0.0]))
tensor([0.])""")

acosh = elementwise(np.arccosh, "The non-negative number whose hyperbolic cosine is x.", name="acosh",
                    domain=(1.5, 4.0), derivative=partials(x=lambda x: 1 / (sqrt(x - 1) * sqrt(x + 1))), example="""
>>> fo.acosh(fo.asarray([1.0]))
tensor([0.])""")

atanh = elementwise(np.arctanh, "The number whose hyperbolic tangent is x.", name="atanh", domain=UNIT,
    derivative=partials(x=lambda x: 1 / (1 - square(x))), example="""
>>> fo.atanh(fo.asarray([0.0, 0.5]))
tensor([0.        , 0.54930614])""")

deg2rad = elementwise(np.deg2rad, "Degrees to radians.", derivative=partials(x=math.pi / 180), example="""
>>> fo.deg2rad(fo.asarray([180.0]))
tensor([3.14159265])""")

rad2deg = elementwise(np.rad2deg, "Radians to degrees.", derivative=partials(x=180 / math.pi), example="""
>>> fo.rad2deg(fo.asarray([fo.pi]))
tensor([180.])""")

# Rounding

floor = elementwise(np.floor, "The largest whole number not above x, in x's dtype.", derivative=partials(x=0), example="""
>>> fo.floor(fo.asarray([1.5, -1.5]))
tensor([ 1., -2.])""")

ceil = elementwise(np.ceil, "The smallest whole number not below x, in x's dtype.", derivative=partials(x=0), example="""
>>> fo.ceil(fo.asarray([1.5, -1.5]))
tensor([ 2., -1.])""")

trunc = elementwise(np.trunc, "The whole number next to x towards zero, in x's dtype.", derivative=partials(x=0), example="""
>>> fo.trunc(fo.asarray([1.5, -1.5]))
tensor([ 1., -1.])""")

rint = elementwise(np.rint, "The nearest whole number, the even one of two, as a floating-point number.",
    derivative=partials(x=0), example="""
>>> fo.rint(fo.asarray([1.5, 2.5]))
tensor([2., 2.])""")

# Comparison

equal = elementwise(np.equal, "Whether x1 equals x2.", compares=True, syntax="__eq__", result=", bool", example="""
>>> fo.equal(fo.asarray([1, 2]), 2)
tensor([False,  True])""")

not_equal = elementwise(np.not_equal, "Whether x1 differs from x2.", compares=True, syntax="__ne__", result=", bool",
                        example="""
>>> fo.not_equal(fo.asarray([1, 2]), 2)
tensor([ True, False])""")

less = elementwise(np.less, "Whether x1 is below x2.", compares=True, syntax="__lt__", result=", bool", example="""
>>> fo.less(fo.asarray([1, 2]), 2)
tensor([ True, False])""")

less_equal = elementwise(np.less_equal, "Whether x1 is at most x2.", compares=True, syntax="__le__", result=", bool",
                         example="""
>>> fo.less_equal(fo.asarray([1, 2, 3]), 2)
tensor([ True,  True, False])""")

greater = elementwise(np.greater, "Whether x1 is above x2.", compares=True, syntax="__gt__", result=", bool",
                      example="""
>>> fo.greater(fo.asarray([1, 2, 3]), 2)
tensor([False, False,  True])""")

greater_equal = elementwise(np.greater_equal, "Whether x1 is at least x2.", compares=True, syntax="__ge__",
                            result=", bool", example="""
>>> fo.greater_equal(fo.asarray([1, 2, 3]), 2)
tensor([False,  True,  True])""")

isnan = elementwise(np.isnan, "Whether x is NaN.", result=", bool", example="""
>>> fo.isnan(fo.asarray([1.0, fo.nan]))
tensor([False,  True])""")

isinf = elementwise(np.isinf, "Whether x is infinite.", result=", bool", example="""
>>> fo.isinf(fo.asarray([1.0, -fo.inf]))
tensor([False,  True])""")

isfinite = elementwise(np.isfinite, "Whether x is neither infinite nor NaN.", result=", bool", example="""
>>> fo.isfinite(fo.asarray([1.0, fo.inf, fo.nan]))
tensor([ True, False, False])""")

signbit = elementwise(np.signbit, "Whether the sign bit is set, as it is for -0.0.", result=", bool", example="""
>>> fo.signbit(fo.asarray([1.0, -0.0]))
tensor([False,  True])""")

# Logic and bits

logical_and = elementwise(np.logical_and, "Whether both x1 and x2 are true (not zero).", result=", bool", example="""
>>> fo.logical_and(fo.asarray([True, False]), True)
tensor([ True, False])""")

logical_or = elementwise(np.logical_or, "Whether x1 or x2 is true (not zero).", result=", bool", example="""
>>> fo.logical_or(fo.asarray([True, False]), False)
tensor([ True, False])""")

logical_xor = elementwise(np.logical_xor, "Whether just one of x1 and x2 is true (not zero).", result=", bool",
                          example="""
>>> fo.logical_xor(fo.asarray([True, False]), True)
tensor([False,  True])""")

logical_not = elementwise(np.logical_not, "Whether x is false (zero).", result=", bool", example="""
>>> fo.logical_not(fo.asarray([0, 1]))
tensor([ True, False])""")

bitwise_and = elementwise(np.bitwise_and, "The bits set in both whole numbers.", syntax="__and__", example="""
>>> fo.bitwise_and(fo.asarray([6, 5]), 3)
tensor([2, 1])""")

bitwise_or = elementwise(np.bitwise_or, "The bits set in either whole number.", syntax="__or__", example="""
>>> fo.bitwise_or(fo.asarray([6, 5]), 3)
tensor([7, 7])""")

bitwise_xor = elementwise(np.bitwise_xor, "The bits set in just one of the whole numbers.", syntax="__xor__",
                          example="""
>>> fo.bitwise_xor(fo.asarray([6, 5]), 3)
tensor([5, 6])""")

bitwise_invert = elementwise(np.invert, "Every bit inverted; the negation of a truth value.", name="bitwise_invert",
                             syntax="__invert__", example="""
>>> fo.bitwise_invert(fo.asarray([0, 5]))
tensor([-1, -6])""")

bitwise_left_shift = elementwise(np.left_shift, "x1 times 2**x2, by shifting bits.", name="bitwise_left_shift",
                                 syntax="__lshift__", domain=(0, 4), example="""
>>> fo.bitwise_left_shift(fo.asarray([1, 2]), 3)
tensor([ 8, 16])""")

bitwise_right_shift = elementwise(np.right_shift, "x1 divided by 2**x2 and rounded down, by shifting bits.",
                                  name="bitwise_right_shift", syntax="__rshift__", domain=(0, 4), example="""
>>> fo.bitwise_right_shift(fo.asarray([8, -1]), 2)
tensor([ 2, -1])""")

bitwise_count = elementwise(np.bitwise_count, "How many bits of the absolute value are set.", result=", uint8",
                            example="""
>>> fo.bitwise_count(fo.asarray([7, 8]))
tensor([3, 1], dtype=uint8)""")

# Parts of numbers

conj = elementwise(np.conjugate, "The complex conjugate.", name="conj", methods=("conj", "conjugate"),
                   dtypes=NUMBERS, derivative=linear(x=lambda g: conj(g)), example="""
>>> fo.conj(fo.asarray([1 + 2j]))
tensor([1.-2.j])""")

copysign = elementwise(np.copysign, "x1 with the sign of x2.",
    derivative=partials(x1=lambda x1, x2: sign(x1) * copysign(1.0, x2), x2=0), example="""
>>> fo.copysign(fo.asarray([1.0, 2.0]), -0.0)
tensor([-1., -2.])""")

nextafter = elementwise(np.nextafter, "The number next to x1 in the direction of x2.",
    derivative=refuse("the next floating-point number is a matter of bits"), example="""
>>> fo.nextafter(fo.asarray([1.0]), 2.0) - 1.0
tensor([2.22044605e-16])""")

spacing = elementwise(np.spacing, "The distance from x to the next number away from zero.",
    derivative=refuse("the distance of floating-point numbers is a matter of bits"), example="""
>>> fo.spacing(fo.asarray([1.0]))
tensor([2.22044605e-16])""")

modf = elementwise(np.modf, "The pair of the fractional and the whole part; both have x's sign.",
    derivative=transposes(x=lambda g: g[0]), example="""
>>> fo.modf(fo.asarray([1.5, -1.5]))
(tensor([ 0.5, -0.5]), tensor([ 1., -1.]))""")

frexp = elementwise(np.frexp, "The pair of mantissa, from 0.5 to 1, and exponent of 2.",
    derivative=transposes(x=lambda g, result: None if g[0] is None else ldexp(g[0], -result[1])), example="""
>>> fo.frexp(fo.asarray([8.0]))
(tensor([0.5]), tensor([4], dtype=int32))""")

ldexp = elementwise(np.ldexp, "x1 times 2 to the whole power x2.", domain=(0.0, 4.0),
    derivative=partials(x1=lambda x2: exp2(x2)), example="""
>>> fo.ldexp(fo.asarray([0.5]), 4)
tensor([8.])""")


def scale(g, factor):
    """The engine's product, in which 0 wins."""
    return structural("scale")(g, factor)


# A choice, and what is written in the operators above

def _select_samples(rng):
    for dtype in samples.ALL:
        condition = samples.array(rng, (3, 4), "?")
        yield samples.Sample(condition, samples.array(rng, (3, 4), dtype), samples.array(rng, (4,), dtype))
        yield samples.Sample(condition[:, ::2], samples.array(rng, (2, 3), dtype).T, samples.array(rng, (), dtype))
        yield samples.Sample(condition[:0], samples.array(rng, (4,), dtype), samples.array(rng, (1, 4), dtype))
        yield samples.Sample(condition, samples.array(rng, (3, 4), dtype), 1)
    yield samples.Sample(samples.array(rng, (5,), "i4"), samples.array(rng, (5,), "f4"), 2.5)
    yield samples.Sample(samples.array(rng, (5,), "?"), samples.array(rng, (5,), "i2"), samples.array(rng, (5,), "u2"))
    yield samples.Sample(samples.array(rng, (5,), "?"), 1, 2.0)


_select = Elementwise(SelectLoops(), fewer=lambda condition: as_tensor(condition).nonzero())
where = declare(
    "where(Array condition, Array? x1=None, Array? x2=None, /, Tensor(a!)? out=None) -> Tensor",
    "x1 where the condition is true (not zero), else x2; of a condition alone the places where it is true, as nonzero.",
    notes=BINARY_NOTES.format(result=", the common dtype of x1 and x2", source="NumPy: ``numpy.where``.").replace(
        "x1, x2 : array_like", "condition, x1, x2 : array_like"),
    kernels={DispatchKey.CPU: _select, DispatchKey.Meta: _select}, family="elementwise",
    samples=_select_samples, reference=np.where,
    derivative=linear(x1=lambda g, condition: where(condition, g, 0), x2=lambda g, condition: where(condition, 0, g)), example="""
>>> fo.where(fo.asarray([True, False]), 1, fo.asarray([5, 6]))
tensor([1, 6])""")


def _clip(x, min=None, max=None, out=None, *, a_min=None, a_max=None):
    if a_min is not None or a_max is not None:          # NumPy's older names
        if min is not None or max is not None:
            raise ValueError("clip: the bounds are given as min and max or as a_min and a_max, not both")
        min, max = a_min, a_max
    if min is None and max is None:
        return positive(x, out=out)
    if min is not None:
        x = maximum(x, min, out=out) if max is None else maximum(x, min)
    return x if max is None else minimum(x, max, out=out)


def _clip_samples(rng):
    for dtype in samples.INTEGERS + samples.FLOATS:
        for array in samples.layouts(rng, dtype):
            yield samples.Sample(array, 1, 3)
        yield samples.Sample(samples.array(rng, (3, 4), dtype), samples.array(rng, (4,), dtype), None)
        yield samples.Sample(samples.array(rng, (4,), dtype), None, samples.array(rng, (3, 1), dtype))


clip = composite(
    "clip(Array x, /, Array? min=None, Array? max=None, Tensor(a!)? out=None, *, Array? a_min=None, Array? a_max=None) -> Tensor",
    "x, but min where it is below min and max where it is above max.", _clip, methods=("clip",),
    notes=BINARY_NOTES.format(result="", source="NumPy: ``numpy.clip``.").replace(
        "x1, x2 : array_like", "x, min, max : array_like, None for no bound"),
    samples=_clip_samples, reference=np.clip, example="""
>>> fo.clip(fo.asarray([1, 5, 9]), 2, 6)
tensor([2, 5, 6])""")


def _angle(z, /, deg=False):
    result = atan2(z.imag, z.real) if z.dtype.kind == "c" else atan2(0, z)
    return rad2deg(result) if deg else result


angle = composite(
    "angle(Array z, /, bool deg=False) -> Tensor", "The angle of complex numbers in radians, or in degrees.", _angle,
    notes="NumPy: ``numpy.angle``.", reference=np.angle,
    samples=lambda rng: (samples.Sample(a, **k) for dtype in ("f4", "f8", "c8", "c16")
                         for a in samples.layouts(rng, dtype) for k in ({}, {"deg": True})), example="""
>>> fo.angle(fo.asarray([1j]), deg=True)
tensor([90.])""")


# NumPy's other names for the same operators

absolute = abs
true_divide = divide
power = pow
mod = remainder
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
radians, degrees = deg2rad, rad2deg
conjugate = conj
invert = bitwise_not = bitwise_invert
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
