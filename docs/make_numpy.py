"""Writes docs/numpy.md: which of NumPy's functions go through the dispatcher when they meet a Tensor, and which are converted.

``python docs/make_numpy.py`` writes the page; a test checks that it is current.
"""

import sys
from pathlib import Path

import numpy as np

import fastops as fo
from fastops import numpy_functions
from fastops._dispatch import Operator

PAGE = Path(__file__).with_name("numpy.md")
DISPATCHED = type(np.concatenate)           # what NumPy makes of a function that looks for __array_function__
INTRODUCTION = """# NumPy's functions on tensors

Written by `docs/make_numpy.py` for NumPy {version}. A function of NumPy's that meets a Tensor hands the call to fastops, so unmodified NumPy code
goes through the dispatcher and its results stay tensors.

- **Counterpart**: the call becomes one of the operator in the second column; modes, transforms and every device see it. A
  keyword that only NumPy's function has makes the call a conversion.
- **Conversion**: NumPy's own function runs on the memory of plain tensors on the CPU, without a copy, and its arrays come
  back as tensors. For any other tensor (no data, a transform's, another device's) it raises TypeError and says so.
- Any other library's ufunc (`scipy.special`, Numba's `@vectorize`) becomes an operator when it is first called;
  `ufunc.reduce` and `ufunc.accumulate` of `add`, `multiply`, `maximum`, `minimum`, `logical_and` and `logical_or` are
  reductions here, `ufunc.outer` is the operator on reshaped operands, `ufunc.at` and `ufunc.reduceat` are conversions.
- Results that are scalars in NumPy are 0-dimensional tensors.
"""


def functions():
    """(shown name, function) of all that NumPy hands over, ufuncs and others."""
    for prefix, module in (("numpy", np), ("numpy.linalg", np.linalg), ("numpy.fft", np.fft)):
        for name in sorted(dir(module)):
            value = getattr(module, name)
            if isinstance(value, (np.ufunc, DISPATCHED)) and getattr(value, "__name__", name) == name and not name.startswith("_"):
                if getattr(value, "__module__", prefix) == prefix or isinstance(value, np.ufunc):
                    yield f"{prefix}.{name}", value


def counterpart(function):
    """The name of what stands here for a function of NumPy's, or None."""
    found = numpy_functions.same_name(function) or numpy_functions.declared(function)
    if found is None:
        return None
    if not isinstance(found, Operator):
        return f"fo.{found.__name__}"
    module, _, name = found._opname.partition("_")
    return f"fo.{module}.{name}" if hasattr(getattr(fo, module, None), name) and name == found.__name__ else f"fo.{found._opname}"


def page():
    """The text of the page."""
    names = {name: counterpart(function) for name, function in functions()}
    here = {name: found for name, found in names.items() if found}
    lines = [INTRODUCTION.format(version='.'.join(np.__version__.split('.')[:2])), f"## Counterparts ({len(here)})", "", "| NumPy | fastops |", "|---|---|",
             *(f"| `{name}` | `{found}` |" for name, found in here.items()), "",
             f"## Conversions ({len(names) - len(here)})", "", ", ".join(f"`{name}`" for name in names if name not in here), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
