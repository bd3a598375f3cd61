"""What many operators share, said once: each family turns a few words into a declaration."""

import numpy as np

from fastops import samples
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, Tensor, as_tensor
from fastops._loops import Elementwise, UfuncLoops, as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.schema import parse_schema

UNARY_NOTES = """
Parameters
----------
x : array_like
    Any shape.
out : Tensor, optional
    Where to write the result; of the result's shape and of a dtype that it casts to.

Returns
-------
Tensor
    x's shape{result}.

Raises
------
TypeError
    If the function is not defined for x's dtype, or the result does not cast to out's dtype.
ValueError
    If out has another shape or is read-only.

Notes
-----
{source}
"""

BINARY_NOTES = """
Parameters
----------
x1, x2 : array_like
    Shapes that broadcast together; Python scalars take the other operand's dtype (NEP 50).
out : Tensor, optional
    Where to write the result; of the broadcast shape and of a dtype that the result casts to.

Returns
-------
Tensor
    The broadcast shape{result}.

Raises
------
TypeError
    If the function is not defined for the dtypes, or the result does not cast to out's dtype.
ValueError
    If the shapes do not broadcast, or out has another shape or is read-only.
OverflowError
    If a Python integer does not fit into the other operand's dtype.

Notes
-----
{source}
"""


def elementwise(ufunc, summary, example="", *, name=None, result="", domain=(-4.0, 4.0), dtypes=samples.ALL, source=None, **more):
    """One ufunc, applied to each element; domain and dtypes are those of the samples.

    *result* ends the sentence that says the result's shape: its dtype where it is not plain.
    """
    name = name or ufunc.__name__
    kernel = Elementwise(UfuncLoops(ufunc), compares=more.pop("compares", False))
    names = ["x"] if ufunc.nin == 1 else [f"x{position + 1}" for position in range(ufunc.nin)]
    parameters = ", ".join(f"Array {parameter}" for parameter in names)
    if ufunc.nout == 1:
        schema = f"{name}({parameters}, /, Tensor(a!)? out=None) -> Tensor"
    else:
        schema = f"{name}({parameters}, /, Tensor(a!)[]? out=None) -> ({', '.join(['Tensor'] * ufunc.nout)})"
    notes = UNARY_NOTES if ufunc.nin == 1 else BINARY_NOTES
    return declare(schema, summary, example=example, family="elementwise",
                   notes=notes.format(result=result, source=source or f"NumPy: ``numpy.{ufunc.__name__}``."),
                   kernels={DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}, reference=ufunc,
                   samples=more.pop("samples", None) or ufunc_samples(ufunc, domain, dtypes), **more)


def ufunc_samples(ufunc, domain, dtypes):
    """Samples over the dtypes for which *ufunc* is defined, in every layout."""
    def generate(rng):
        usable = [dtype for dtype in dtypes if is_defined(ufunc, (dtype,) * ufunc.nin)]
        if ufunc.nin == 1:
            for dtype in usable:
                for array in samples.layouts(rng, dtype, *domain):
                    yield samples.Sample(array)
        else:
            for sample in samples.pairs(rng, usable, *domain):
                if is_defined(ufunc, [getattr(value, "dtype", type(value)) for value in sample.args]):
                    yield sample
    return generate


def is_defined(ufunc, dtypes):
    dtypes = tuple(dtype if isinstance(dtype, type) else np.dtype(dtype) for dtype in dtypes)
    try:
        ufunc.resolve_dtypes(dtypes + (None,) * ufunc.nout)
    except TypeError:
        return False
    return True


def composite(schema, summary, function, **more):
    """An operator written in other operators: it decomposes, and needs no rule of its own anywhere."""
    return declare(schema, summary, family="composite",
                   kernels={DispatchKey.CompositeImplicitAutograd: function}, **more)


def view(schema, kernel, summary, example, **more):
    """A new shape over the same memory: one kernel for every backend."""
    return declare(schema, summary, example=example, family="view",
                   kernels={DispatchKey.CompositeExplicitAutograd: kernel}, **more)


def through_numpy(schema, summary, function, shape, *, family="primitive", keys=(), **more):
    """A function of NumPy's, run on zero-copy arrays; *shape* gives each result's (shape, dtype) without data.

    Both take what the operator takes but ``out``, tensors being NumPy arrays for *function* and tensors for *shape*.
    *shape* returns a pair, or a list of pairs where there are several results. *keys* are further dispatch keys for
    the CPU kernel: ``DispatchKey.Undefined`` for an operator over lists, which may hold no tensor.
    """
    kinds = {argument.name: argument.type for argument in parse_schema("fastops::" + schema).arguments}
    names = list(kinds)

    def tensor(kind, value):
        # An argument that is declared an array as a Tensor; lists of arrays too.
        if kind.element is not None and kind.element.base == "Array" and isinstance(value, (list, tuple)):
            return [tensor(kind.element, item) for item in value]
        if kind.base != "Array" or isinstance(value, Tensor) or value is None and kind.optional:
            return value
        return as_tensor(value)

    def converted(args, kwargs):
        return ([tensor(kinds[name], value) for name, value in zip(names, args)],
                {name: tensor(kinds[name], value) for name, value in kwargs.items()})

    def arrays(value):
        if isinstance(value, Tensor):
            return as_ndarray(value)
        return type(value)([arrays(item) for item in value]) if type(value) in (list, tuple) else value

    def tensors(value):
        if isinstance(value, (list, tuple)):
            return tuple([tensors(item) for item in value])
        return share_ndarray(np.asarray(value, order="C"))

    def on_cpu(*args, out=None, **kwargs):
        args, kwargs = converted(args, kwargs)
        result = tensors(function(*arrays(args), **{name: arrays(value) for name, value in kwargs.items()}))
        return result if out is None else write_out(result, out)

    def on_meta(*args, out=None, **kwargs):
        args, kwargs = converted(args, kwargs)
        facts = shape(*args, **kwargs)
        if isinstance(facts, list):
            return tuple([empty_meta(sizes, dtype) for sizes, dtype in facts])
        return empty_meta(*facts) if out is None else out

    return declare(schema, summary, family=family,
                   kernels={DispatchKey.CPU: on_cpu, DispatchKey.Meta: on_meta, **dict.fromkeys(keys, on_cpu)}, **more)


def write_out(result, out):
    """Write a result where the caller wants it, cast as NumPy's ``out=`` allows."""
    if result.shape != out.shape:
        raise ValueError(f"out has shape {out.shape}, the result {result.shape}")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(f"the result of dtype {result.dtype} does not cast to out's dtype {out.dtype}")
    out[...] = result
    return out
