"""Which function here stands for which of NumPy's when that meets a Tensor: the one of the same name."""

import sys

import numpy as np

from fastops import _interception, errors, registry, special as special_functions
from fastops._dispatch import Operator
from fastops.ufuncs import from_ufunc

# The parts of NumPy's namespace and ours; numpy.exceptions and the like have no functions.
MODULES = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}

# Functions here that are no operators: they read shapes and dtypes only, or make tensors of what they are given.
PLAIN = frozenset({"broadcast_shapes", "can_cast", "iscomplexobj", "isrealobj", "ndim", "result_type", "shape", "size"})


def same_name(function):
    """The operator here that has the name of a function of NumPy's, in the same part of the namespace."""
    name = getattr(function, "__name__", "")
    module = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", None)
    if module not in MODULES or getattr(sys.modules[module], name, None) is not function:
        return None
    namespace = sys.modules["fastops"]          # which imports this module, last
    found = getattr(getattr(namespace, MODULES[module], None) if MODULES[module] else namespace, name, None)
    return found if isinstance(found, Operator) or name in PLAIN else None


def real_where_numpy_is(function):
    """NumPy's eigenvalues are real numbers where they can be, up to its version 2.4; the array API's, and ours, are always complex."""
    name = getattr(function, "__name__", "")
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0" or getattr(function, "__module__", None) != "numpy.linalg" or name not in ("eig", "eigvals"):
        return None
    ours = getattr(sys.modules["fastops"].linalg, name)

    def numpys(a):
        result = ours(a)
        values = result if name == "eigvals" else result[0]
        if getattr(a, "dtype", None) is not None and a.dtype.kind == "c" or values.device == "meta" or (values.imag != 0).any():
            return result
        return values.real if name == "eigvals" else type(result)(*[part.real for part in result])

    numpys.__name__ = f"linalg.{name}"
    return numpys


def declared(function):
    """The operator whose declaration says that it stands for the function."""
    for operator in list(registry.operators.values()):
        rules = operator.rules
        if rules is not None and function in rules.answers:
            return operator
    return None


def special(function):
    """The special function of the same name, if it is SciPy's ufunc."""
    scipy = sys.modules.get("scipy.special")
    name = getattr(function, "__name__", "")
    if scipy is not None and name in special_functions.__all__ and getattr(scipy, name, None) is function:
        return getattr(special_functions, name)
    return None


def any_ufunc(function):
    """An operator made of any other ufunc; None where that cannot be."""
    if not isinstance(function, np.ufunc):
        return None
    try:
        return from_ufunc(function)
    except (TypeError, ValueError, errors.RegistrationError):
        return None


for _find in (real_where_numpy_is, same_name, declared, special, any_ufunc):
    _interception.add_provider(_find)
