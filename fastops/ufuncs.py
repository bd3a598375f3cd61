"""Operators of other libraries' ufuncs: SciPy's, Numba's, anyone's that follows NumPy's protocol."""

import numpy as np

from fastops import errors, registry
from fastops._dispatch import DispatchKey
from fastops._gufunc import GeneralizedUfunc
from fastops._loops import Elementwise, UfuncLoops
from fastops.declare import Rules
from fastops.ops.families import elementwise_schema, ufunc_samples, with_options
from fastops.samples import ALL
from fastops.schema import parse_schema

NAMESPACE = "ufunc"


def from_ufunc(ufunc, name=None, derivative=None):
    """An operator of a ufunc or a generalized ufunc, whose inner loops are called straight.

    Parameters
    ----------
    ufunc : numpy.ufunc, or a compiling one of Numba's
        Promotion, the loops for each dtype and, of a generalized one, the core axes are read from it.
    name : str, optional
        ``"namespace::name"``; ``"ufunc::"`` with the ufunc's own name if not given.
    derivative : callable, optional
        Kept as ``operator.rules.derivative`` for the rules of derivatives.

    Returns
    -------
    OpOverload
        ``f(x1, ..., out=None)``, found under ``fo.ops`` too, with kernels for the CPU and, for shapes, the meta device.
        The same operator again if it was made before under that name.

    Raises
    ------
    TypeError
        If it is no ufunc, or all its loops are of Python objects.
    ValueError
        If it has too many operands or core axes, or the name is taken by something else.

    Notes
    -----
    NumPy: "Universal functions" in its reference; ``PyUFuncObject`` in its C-API.

    Examples
    --------
    >>> import fastops as fo, numpy as np
    >>> hypotenuse = fo.library.from_ufunc(np.hypot, "doc_ufunc::hypotenuse")
    >>> hypotenuse(fo.asarray([3.0, 6.0]), 4.0)
    tensor([5.        , 7.21110255])
    >>> fo.ops.doc_ufunc.hypotenuse(3.0, fo.asarray([4.0]))
    tensor([5.])
    """
    function, prepare = loops_of(ufunc)
    name = name or f"{NAMESPACE}::{function.__name__}"
    if "::" not in name:
        raise errors.RegistrationError(f"from_ufunc: a name reads 'namespace::name', not {name!r}")
    existing = registry.operators.get(name)
    if existing is not None and getattr(existing.rules, "answers", ()) == (ufunc,):
        return existing
    plain = function.signature is None
    schema = parse_schema(elementwise_schema(name, function) if plain else generalized_schema(name, function))
    kernel = (Elementwise(UfuncLoops(function, prepare=prepare), options=with_options) if plain
              else GeneralizedUfunc(function, has_out=True))
    operator = registry.define(schema, checked=False)
    for key in (DispatchKey.CPU, DispatchKey.Meta):
        registry.register(name, key, kernel)
    operator.rules = Rules(function, ufunc_samples(function, (0.1, 0.9), ALL) if plain else None,
                           "elementwise" if plain else "generalized", (ufunc,))
    operator.rules.derivative = derivative
    operator.__name__ = operator.__qualname__ = schema.opname
    operator.__module__ = schema.namespace
    operator.__doc__ = f"The ufunc {function.__name__} as an operator.\n\n{ufunc.__doc__ or ''}"
    return operator


def generalized_schema(name, ufunc):
    """The schema of a generalized ufunc's operator."""
    several = "[]" if ufunc.nout > 1 else ""
    results = f"({', '.join(['Tensor'] * ufunc.nout)})" if several else "Tensor"
    inputs = ", ".join(f"Array x{place + 1}" for place in range(ufunc.nin))
    return f"{name}({inputs}, /, Tensor(a!){several}? out=None) -> {results}"


def loops_of(ufunc):
    """The numpy.ufunc that holds the loops, and what makes it compile those for new dtypes (None where it has them)."""
    if isinstance(ufunc, np.ufunc):
        if ufunc.ntypes and all(set(types) <= set("O->") for types in ufunc.types):
            raise TypeError(f"from_ufunc: {ufunc!r} has loops of Python objects only; register a kernel with fastops.library.define")
        return ufunc, None
    inner = getattr(ufunc, "ufunc", None)
    if not isinstance(inner, np.ufunc):
        raise TypeError(f"from_ufunc: not a ufunc: {ufunc!r}")

    def prepare(dtypes):
        # A call with one element of each dtype makes it compile.
        ufunc(*[np.ones((), dtype)[()] if isinstance(dtype, np.dtype) else dtype(1) for dtype in dtypes])

    return inner, prepare
