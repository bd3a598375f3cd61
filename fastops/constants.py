"""The constants of the namespace, as Python's and NumPy's."""

from math import e, inf, nan, pi

newaxis = None
euler_gamma = 0.5772156649015329       # Euler's constant

__all__ = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]
