"""What many operators share, said once: each family turns a few words into a declaration."""

import numpy as np

from fastops import samples
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, Tensor, as_tensor, has_values
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
where : array_like of bool
    Which elements to compute; the others keep what out holds, or are whatever the memory holds.
dtype : dtype, optional
    The result's dtype, in which the elements are computed.
casting : str
    The rule for casts to dtype and into out: "no", "equiv", "safe", "same_kind" or "unsafe".

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
where : array_like of bool
    Which elements to compute; the others keep what out holds, or are whatever the memory holds.
dtype : dtype, optional
    The result's dtype, in which the elements are computed.
casting : str
    The rule for casts to dtype and into out: "no", "equiv", "safe", "same_kind" or "unsafe".

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
    kernel = Elementwise(UfuncLoops(ufunc), compares=more.pop("compares", False), options=with_options)
    schema = elementwise_schema(name, ufunc)
    notes = UNARY_NOTES if ufunc.nin == 1 else BINARY_NOTES
    return declare(schema, summary, example=example, family="elementwise",
                   notes=notes.format(result=result, source=source or f"NumPy: ``numpy.{ufunc.__name__}``."),
                   kernels={DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}, reference=ufunc,
                   samples=more.pop("samples", None) or ufunc_samples(ufunc, domain, dtypes), **more)


def elementwise_schema(name, ufunc):
    """The schema of a ufunc's operator."""
    names = ["x"] if ufunc.nin == 1 else [f"x{position + 1}" for position in range(ufunc.nin)]
    several = "[]" if ufunc.nout > 1 else ""
    results = f"({', '.join(['Tensor'] * ufunc.nout)})" if several else "Tensor"
    return (f"{name}({', '.join('Array ' + parameter for parameter in names)}, /, Tensor(a!){several}? out=None, *, "
            f"Any where=True, ScalarType? dtype=None, str casting='same_kind') -> {results}")


def with_options(operator, inputs, out, where, dtype, casting):
    """A call of a ufunc's operator with ``where``, ``dtype`` or ``casting``, written in operators."""
    casting = casting or "same_kind"
    count = operator.rules.reference.nout
    outs = out if isinstance(out, tuple) else (out,)
    if out is not None and (len(outs) != count or not all(place is None or isinstance(place, Tensor) for place in outs)):
        raise TypeError(f"{operator}: out is {'a Tensor' if count == 1 else f'a tuple of {count} tensors'}, not {type(out).__name__}")
    out = None if out is None else outs[0] if count == 1 else outs
    if dtype is not None:
        inputs = in_dtype(operator, inputs, np.dtype(dtype), casting)
    if where is None or where is True:
        return into(operator, operator(*inputs), out, casting)
    where = as_tensor(where)
    if where.dtype != bool:
        raise TypeError(f"{operator}: where holds truth values, not {where.dtype}")
    shape = np.broadcast_shapes(where.shape, *[value.shape for value in inputs if isinstance(value, Tensor)])
    values = [broadcast(value, shape) if isinstance(value, Tensor) else value for value in inputs]
    if where.device == "meta" or any(isinstance(value, Tensor) and value.device == "meta" for value in values):
        return into(operator, operator(*values), out, casting)
    where = broadcast(where, shape)
    chosen = operator(*[value[where] if isinstance(value, Tensor) else value for value in values])
    several = isinstance(chosen, tuple)
    results = list(chosen) if several else [chosen]
    outs = [None] * len(results) if out is None else list(out) if isinstance(out, tuple) else [out]
    for place, result in enumerate(results):
        if outs[place] is None:
            outs[place] = share_ndarray(np.empty(shape, result.dtype))
        elif outs[place].shape != shape:
            raise ValueError(f"{operator}: the result has shape {shape}, which does not fit into the output of shape {outs[place].shape}")
        elif not np.can_cast(result.dtype, outs[place].dtype, casting):
            raise TypeError(f"{operator}: the result of dtype {result.dtype} does not cast to out's dtype {outs[place].dtype} by the "
                            f"rule {casting!r}")
        outs[place][where] = result
    return tuple(outs) if several else outs[0]


def broadcast(value, shape):
    from fastops.ops.shape import broadcast_to      # a view operator, declared later
    return value if value.shape == shape else broadcast_to(value, shape)


def in_dtype(operator, inputs, dtype, casting):
    # The inputs as the loop for that result's dtype takes them.
    ufunc = operator.rules.reference
    kinds = tuple(value.dtype if isinstance(value, Tensor) else type(value) for value in inputs)
    try:
        resolved = ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout, signature=(None,) * ufunc.nin + (dtype,) * ufunc.nout,
                                        casting=casting)
    except TypeError as error:
        raise TypeError(f"{operator}: no loop gives dtype {dtype} by the rule {casting!r}: {error}") from None
    return [value.astype(wanted, casting=casting) if isinstance(value, Tensor) else share_ndarray(np.asarray(value, wanted))
            for value, wanted in zip(inputs, resolved)]


def into(operator, result, out, casting):
    # The result, or out with it, cast as far as the rule allows.
    if out is None:
        return result
    if isinstance(result, tuple):
        return tuple([into(operator, one, place, casting) for one, place in zip(result, out)])
    if out.shape != result.shape:
        raise ValueError(f"{operator}: the result has shape {result.shape}, which does not fit into the output of shape {out.shape}")
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(f"{operator}: the result of dtype {result.dtype} does not cast to out's dtype {out.dtype} by the rule {casting!r}")
    out[...] = result
    return out


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


def composite(schema, summary, function, *, family="composite", **more):
    """An operator written in other operators: it decomposes, and needs no rule of its own anywhere; but may have a derivative."""
    key = DispatchKey.CompositeExplicitAutograd if "derivative" in more else DispatchKey.CompositeImplicitAutograd
    return declare(schema, summary, family=family, kernels={key: function}, **more)


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
        if kind.element is not None and kind.element.base == "Array":
            return [tensor(kind.element, item) for item in (value if isinstance(value, (list, tuple)) else as_tensor(value))]
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

    place = names.index("out") if "out" in names else None

    def without_out(args, kwargs):
        # out stands among the positional arguments or the others; the function itself does not see it.
        out = kwargs.pop("out", None)
        if place is not None and len(args) > place:
            out, args = args[place], (*args[:place], *args[place + 1:])
            if len(args) > place:
                args, late = args[:place], args[place:]
                kwargs.update(zip(names[place + 1:], late))
        return args, kwargs, out

    def on_cpu(*args, **kwargs):
        args, kwargs, out = without_out(args, kwargs)
        args, kwargs = converted(args, kwargs)
        result = tensors(function(*arrays(args), **{name: arrays(value) for name, value in kwargs.items()}))
        return result if out is None else write_out(result, out)

    def on_meta(*args, **kwargs):
        args, kwargs, out = without_out(args, kwargs)
        args, kwargs = converted(args, kwargs)
        facts = shape(*args, **kwargs)
        if isinstance(facts, list):
            return tuple([empty_meta(sizes, dtype) for sizes, dtype in facts])
        return empty_meta(*facts) if out is None else out

    return declare(schema, summary, family=family,
                   kernels={DispatchKey.CPU: on_cpu, DispatchKey.Meta: on_meta, **dict.fromkeys(keys, on_cpu)}, **more)


def holds(condition):
    """Whether a truth value that warnings and errors depend on can be read and is true: without data nothing is said."""
    return condition.device == "cpu" and has_values(condition) and bool(condition)


def values_of(name, x):
    """The values of x as a NumPy array, for an operator whose result's shape depends on them."""
    if x.device != "cpu":
        raise NotImplementedError(f"{name}: the shape of the result depends on the data, which device '{x.device}' does not have here")
    return as_ndarray(x)


def write_out(result, out):
    """Write a result where the caller wants it, cast as NumPy's ``out=`` allows."""
    if not isinstance(out, Tensor):
        raise TypeError(f"out is a Tensor, not {type(out).__name__}")
    if result.shape != out.shape:
        raise ValueError(f"out has shape {out.shape}, the result {result.shape}")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(f"the result of dtype {result.dtype} does not cast to out's dtype {out.dtype}")
    out[...] = result
    return out
