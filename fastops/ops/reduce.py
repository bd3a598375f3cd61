"""Reductions and running sums: many elements along the axes become one, or one each."""

import math

import numpy as np

from fastops import errors, samples
from fastops._autograd import structural
from fastops._dispatch import DispatchKey
from fastops._reduce import Accumulate, Mean, Place, Reduce, Variance
from fastops.declare import declare
from fastops.derivatives import composed, linear, weights
from fastops.ops.create import ones, ones_like
from fastops.ops.elementwise import conj, equal, exp, isfinite, log, where
from fastops.ops.elementwise import where as choose        # beside parameters called where
from fastops.ops.families import composite
from fastops.ops.shape import astype, broadcast_to, concat, flip, permute_dims, ravel, reshape, stack
from fastops.samples import Sample
from fastops.schema import parse_schema

# What the parameters mean, wherever they occur.
MEANINGS = {
    "x": "x : array_like\n    Any shape.",
    "axis": "axis : int or tuple of ints, optional\n    The axes that are reduced; negative ones count from the last. "
            "All of them if not given.",
    "dtype": "dtype : dtype, optional\n    In which the elements are added up, and the result's.",
    "out": "out : Tensor, optional\n    Where to write the result; of the result's shape.",
    "keepdims": "keepdims : bool\n    Keep the reduced axes, with length 1.",
    "initial": "initial : scalar, optional\n    What the reduction starts from, and the result of empty slices.",
    "where": "where : array_like of bool\n    Which elements take part; broadcast against x.",
    "ddof": "ddof, correction : float\n    The divisor is the number of elements minus this; two names of one thing.",
    "mean": "mean : array_like, optional\n    The mean, with the reduced axes kept, if it is known already.",
    "include_initial": "include_initial : bool\n    Begin with the identity, so that the axis is longer by one.",
}

ONE_AXIS = ("axis : int, optional\n    The axis along which to go; a negative one counts from the last. The flattened "
            "array if not given.")

ERRORS = """Raises
------
AxisError
    If there is no such axis.
{errors}TypeError
    If the function is not defined for x's dtype, or an axis is not a whole number.
ValueError
    If an axis is named twice, or out has another shape or is read-only."""

NO_IDENTITY = """ValueError
    If a slice is empty, there being no identity{unless}.
"""


def _samples(dtypes, calls, *, masks=(), domain=(-4.0, 4.0)):
    # Every layout of every dtype, each with some of the calls.
    def generate(rng):
        for dtype in dtypes:
            for number, array in enumerate(samples.layouts(rng, dtype, *domain)):
                for position, kwargs in enumerate(calls):
                    axis = kwargs.get("axis")
                    if axis is not None and (array.ndim < 2 and axis != 0 or array.ndim == 0) or (number + position) % 2:
                        continue
                    if array.size or kwargs.get("axis") == 1:
                        yield Sample(array, **kwargs)
            for mask in masks:
                yield Sample(samples.array(rng, (3, 4), dtype, *domain), where=np.arange(4) % 2 == 0, **mask)
    return generate


EVERY_AXIS = ({}, {"axis": 0}, {"axis": 1}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}, {"keepdims": True},
              {"axis": ()})


def _axiswise(signature, kernel_class, function, ufunc_arguments, summary, example, *, result, errors="", notes="",
              single=False, methods=(), **more):
    # A declaration of this module: the kernel is made from the schema's own parameter names.
    kernel_options = more.pop("kernel_options", {})
    if kernel_class in (Reduce, Accumulate) and not kernel_options.get("counts") and methods:
        more["answers"] = (ufunc_arguments[0].reduce if kernel_class is Reduce else ufunc_arguments[0].accumulate,)
    names = [argument.name for argument in parse_schema("fastops::" + signature).arguments]
    kernel = kernel_class(more.pop("numpy_function", function), names, *ufunc_arguments, **kernel_options)
    meanings = [ONE_AXIS if single and name == "axis" else MEANINGS[name] for name in names if name in MEANINGS]
    text = "\n".join(["Parameters\n----------", *meanings, "\nReturns\n-------\nTensor", f"    {result}", "",
                      ERRORS.format(errors=errors), "", "Notes\n-----", f"{notes}NumPy: ``numpy.{function.__name__}``."])
    return declare(signature, summary, example=example, notes=text, family="reduction", reference=function,
                   kernels={DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}, methods=methods, **more)


# Derivatives

def _restored(value, rank, axis, keepdims):
    # A result with the reduced axes put back.
    return structural("expand")(value, rank, axis, keepdims)


def _sum_transpose(g, x_shape, axis, keepdims, where):
    if axis is None and where is True:          # one number broadcasts as it is
        return broadcast_to(g, x_shape)
    return _masked(broadcast_to(_restored(g, len(x_shape), axis, keepdims), x_shape), where)


def _masked(values, where):
    return values if where is True or where is None else choose(where, values, 0)


def _axes(axis, rank):
    if axis is None:
        return list(range(rank))
    return [place % rank for place in (axis if isinstance(axis, (tuple, list)) else (axis,))] if rank else []


def _count(x_shape, axis, where):
    # How many elements take part in each result, the reduced axes kept.
    if where is True or where is None:
        return math.prod([x_shape[place] for place in _axes(axis, len(x_shape))])
    return sum(broadcast_to(where, x_shape), axis=axis, keepdims=True)


def _mean_transpose(g, x_shape, axis, keepdims, where):
    return _masked(broadcast_to(_restored(g, len(x_shape), axis, keepdims) / _count(x_shape, axis, where), x_shape), where)


def _extremum_weights(x, result, axis, keepdims, where):
    # Equal ones share alike; what initial= has won has no share.
    chosen = _masked(equal(x, _restored(result, x.ndim, axis, keepdims)), where)
    count = sum(chosen, axis=axis, keepdims=True)
    return astype(chosen, result.dtype) / choose(equal(count, 0), 1, count)


def _deviations(x, axis, where, ddof, correction):
    # The distances from the mean, and the divisor.
    less = ddof if correction is None else correction
    away = _masked(x - mean(x, axis=axis, keepdims=True, where=where), where)
    return conj(away) if away.dtype.kind == "c" else away, _count(x.shape, axis, where) - less


def _var_weights(x, axis, keepdims, where, ddof, correction):
    away, divisor = _deviations(x, axis, where, ddof, correction)
    return 2 * away / divisor


def _std_weights(x, result, axis, keepdims, where, ddof, correction):
    away, divisor = _deviations(x, axis, where, ddof, correction)
    spread = _restored(result, x.ndim, axis, keepdims)
    return choose(equal(spread, 0), 0, away / (divisor * choose(equal(spread, 0), 1, spread)))


def _prod_weights(x, axis, keepdims, where, initial):
    rank, axes = x.ndim, _axes(axis, x.ndim)
    x = choose(where, x, 1) if where is not True and where is not None else x
    if not axes:
        return ones_like(x) if initial is None else ones_like(x) * initial
    order = [place for place in range(rank) if place not in axes] + axes
    moved = permute_dims(x, order)
    flat = reshape(moved, moved.shape[:rank - len(axes)] + (math.prod([x.shape[place] for place in axes]),))
    others = reshape(_products_of_others(flat), moved.shape)
    others = others if initial is None else others * initial
    return _masked(permute_dims(others, sorted(range(rank), key=lambda place: order[place])), where)


def _products_of_others(x):
    # Along the last axis, without dividing: products of pairs, then of pairs of pairs.
    length = x.shape[-1]
    if length <= 1:
        return ones_like(x)
    if length % 2:
        x = concat([x, ones_like(x[..., :1])], axis=-1)
    first, second = x[..., ::2], x[..., 1::2]
    beside = _products_of_others(first * second)
    both = stack([beside * second, beside * first], axis=-1)
    return reshape(both, x.shape)[..., :length]


def _running_product(x, axis=None, dtype=None, out=None, include_initial=False):
    # cumprod in products alone: each step doubles how far back an element sees.
    if out is not None:
        raise errors.DerivativeError("cumprod: out= cannot take part in a derivative; use the result")
    x = x if dtype is None else astype(x, dtype)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis % x.ndim
    rest = (slice(None),) * axis
    if include_initial:
        x = concat([ones(x.shape[:axis] + (1,) + x.shape[axis + 1:], dtype=x.dtype), x], axis)
    step = 1
    while step < x.shape[axis]:
        x = concat([x[(*rest, slice(0, step))], x[(*rest, slice(step, None))] * x[(*rest, slice(0, -step))]], axis)
        step *= 2
    return x


def _running_sum_transpose(g, x_shape, axis):
    if axis is None:
        return reshape(flip(cumsum(flip(g), axis=0)), x_shape)
    return flip(cumsum(flip(g, axis), axis=axis), axis)


def _cumulative_sum_transpose(g, x_shape, axis, include_initial):
    axis = 0 if axis is None else axis
    if include_initial:
        g = g[(*(slice(None),) * (axis % g.ndim), slice(1, None))]
    return flip(cumsum(flip(g, axis), axis=axis), axis)


# Reductions by an operator of two arguments

SUMS = "(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, bool keepdims=False, " \
       "Scalar? initial=None, Any where=True) -> Tensor"
EXTREMA = "(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool keepdims=False, Scalar? initial=None, " \
          "Any where=True) -> Tensor"
TRUTHS = "(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool keepdims=False, *, Any where=True) -> Tensor"
MEANS = "(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, bool keepdims=False, *, " \
        "Any where=True) -> Tensor"
SPREADS = "(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, float ddof=0.0, " \
          "bool keepdims=False, *, Any where=True, Array? mean=None, float? correction=None) -> Tensor"

WIDENED = "x without the reduced axes; whole numbers smaller than 64 bits and bools give int64, unsigned ones uint64."
SAME_DTYPE = "x without the reduced axes, of x's dtype."

sum = _axiswise(
    "sum" + SUMS, Reduce, np.sum, (np.add, 0), "The sum of the elements along the axes; 0 where there are none.", """
>>> fo.sum(fo.asarray([[1, 2], [3, 4]]), axis=0)
tensor([4, 6])""", result=WIDENED, methods=("sum",), notes="Floating-point numbers are added pairwise.\n",
    samples=_samples(samples.ALL, EVERY_AXIS + ({"axis": 0, "dtype": "f8"}, {"axis": 0, "initial": 2}), masks=({}, {"axis": 0})),
    derivative=linear(x=_sum_transpose))

prod = _axiswise(
    "prod" + SUMS, Reduce, np.prod, (np.multiply, 1), "The product of the elements along the axes; 1 where there are none.",
    """
>>> fo.prod(fo.asarray([[1, 2], [3, 4]]), axis=1)
tensor([ 2, 12])""", result=WIDENED, methods=("prod",),
    samples=_samples(samples.ALL, EVERY_AXIS + ({"axis": 0, "dtype": "c16"}, {"axis": 0, "initial": 2}), masks=({},),
                     domain=(0.5, 1.5)),
    derivative=weights(x=_prod_weights))


def _extremum(name, ufunc, summary, function, example, methods=()):
    return _axiswise(name + EXTREMA, Reduce, function, (ufunc, None), summary, example, result=SAME_DTYPE, methods=methods,
                     errors=NO_IDENTITY.format(unless=" and no initial"), notes="NaN if any element is NaN.\n",
                     samples=_samples(samples.ALL, EVERY_AXIS + ({"axis": 0, "initial": 1},),
                                      masks=({"initial": 1}, {"axis": 1, "initial": 0})),
                     derivative=weights(x=_extremum_weights))


max = _extremum("max", np.maximum, "The largest element along the axes.", np.max, """
>>> fo.max(fo.asarray([[1, 5], [3, 4]]), axis=1)
tensor([5, 4])""", ("max",))
amax = _extremum("amax", np.maximum, "The largest element along the axes; NumPy's other name of max.", np.amax, """
>>> fo.amax(fo.asarray([1, 5, 3]))
tensor(5)""")
min = _extremum("min", np.minimum, "The smallest element along the axes.", np.min, """
>>> fo.min(fo.asarray([[1, 5], [3, 4]]), axis=0)
tensor([1, 4])""", ("min",))
amin = _extremum("amin", np.minimum, "The smallest element along the axes; NumPy's other name of min.", np.amin, """
>>> fo.amin(fo.asarray([4, 2, 3]))
tensor(2)""")


def _truth(function, ufunc, start, summary, example):
    return _axiswise(function.__name__ + TRUTHS, Reduce, function, (ufunc, start), summary, example, methods=(function.__name__,),
                     kernel_options={"element": "?"}, result="x without the reduced axes; bool.",
                     notes="NaN is true.\n", samples=_samples(samples.ALL, EVERY_AXIS, masks=({}, {"axis": 1})))


any = _truth(np.any, np.logical_or, 0, "Whether some element along the axes is not zero; False where there are none.", """
>>> fo.any(fo.asarray([[0, 0], [0, 2]]), axis=1)
tensor([False,  True])""")
all = _truth(np.all, np.logical_and, 1, "Whether every element along the axes is not zero; True where there are none.", """
>>> fo.all(fo.asarray([[1, 0], [1, 2]]), axis=1)
tensor([False,  True])""")

count_nonzero = _axiswise(
    "count_nonzero(Array x, /, int[]? axis=None, *, bool keepdims=False) -> Tensor", Reduce, np.count_nonzero, (np.add, 0),
    "How many elements along the axes are not zero.", """
>>> fo.count_nonzero(fo.asarray([[1, 0], [1, 2]]), axis=0)
tensor([2, 1])""", kernel_options={"element": "i8", "counts": True}, result="x without the reduced axes; int64.",
    samples=_samples(samples.ALL, [kwargs for kwargs in EVERY_AXIS if kwargs.get("axis") != ()]))


# Mean, variance, standard deviation

FLOATING = "x without the reduced axes; float64 for whole numbers, else x's dtype{real}."
EMPTY_NOTE = "Of an empty slice it is NaN, with a RuntimeWarning. float16 is added up in float32.\n"

mean = _axiswise(
    "mean" + MEANS, Mean, np.mean, (), "The arithmetic mean of the elements along the axes.", """
>>> fo.mean(fo.asarray([[1, 2], [3, 4]]), axis=0)
tensor([2., 3.])""", result=FLOATING.format(real=""), notes=EMPTY_NOTE, methods=("mean",),
    samples=_samples(samples.ALL, EVERY_AXIS + ({"axis": 0, "dtype": "c16"},), masks=({}, {"axis": 0})),
    derivative=linear(x=_mean_transpose))


def _spread(function, root, summary, example):
    return _axiswise(
        function.__name__ + SPREADS, Variance, function, (), summary, example, kernel_options={"root": root},
        result=FLOATING.format(real="; real for complex numbers"), methods=(function.__name__,),
        notes=EMPTY_NOTE + "Two passes: the mean, then the mean of the squared distances from it.\n",
        samples=_samples(samples.ALL, EVERY_AXIS + ({"axis": 0, "ddof": 1}, {"correction": 0.5}), masks=({},)),
        derivative=weights(x=_std_weights if root else _var_weights))


var = _spread(np.var, False, "The variance of the elements along the axes.", """
>>> fo.var(fo.asarray([1.0, 2.0, 3.0, 4.0]), correction=1)
tensor(1.66666667)""")
std = _spread(np.std, True, "The standard deviation of the elements along the axes.", """
>>> fo.std(fo.asarray([[1.0, 3.0], [2.0, 6.0]]), axis=1)
tensor([1., 2.])""")


# Where the extremum is

def _place(function, smallest, summary, example):
    return _axiswise(
        f"{function.__name__}(Array x, /, int? axis=None, Tensor(a!)? out=None, *, bool keepdims=False) -> Tensor", Place,
        function, (), summary, example, kernel_options={"smallest": smallest}, single=True, batching="along axis", methods=(function.__name__,),
        errors=NO_IDENTITY.format(unless=""), result="x without the axis; int64.",
        notes="The first of several equal elements; the first NaN where there is one.\n",
        samples=_samples(samples.ALL, ({}, {"axis": 0}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True})))


argmax = _place(np.argmax, False, "The place of the largest element along an axis.", """
>>> fo.argmax(fo.asarray([[1, 5, 5], [7, 0, 2]]), axis=1)
tensor([1, 0])""")
argmin = _place(np.argmin, True, "The place of the smallest element along an axis.", """
>>> fo.argmin(fo.asarray([[1, 5, 5], [7, 0, 2]]), axis=1)
tensor([0, 1])""")


# Running sums and products

ALONG = ({}, {"axis": 0}, {"axis": 1}, {"axis": -1})
RUNNING = "x's shape, or one axis if axis is not given; whole numbers smaller than 64 bits and bools give int64, unsigned " \
          "ones uint64."


def _running(function, ufunc, start, summary, example):
    return _axiswise(
        f"{function.__name__}(Array x, /, int? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None) -> Tensor", Accumulate,
        function, (ufunc, start), summary, example, kernel_options={"flattens": True}, single=True, batching="along axis", result=RUNNING,
        methods=(function.__name__,), samples=_samples(samples.ALL, ALONG, domain=(0.5, 1.5)),
        derivative=composed(_running_product) if ufunc is np.multiply else linear(x=_running_sum_transpose))


def _cumulative(name, reference, ufunc, start, summary, example):
    def numpy_function(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        # NumPy has it from 2.1 on.
        if axis is None:
            axis = 0
            x = np.atleast_1d(x)
        if include_initial:
            x = np.concatenate([np.full_like(np.take(x, [0], axis) if x.shape[axis] else np.empty(
                x.shape[:axis % x.ndim] + (1,) + x.shape[axis % x.ndim + 1:], x.dtype), start), x], axis)
        return reference(x, axis, dtype, out)

    numpy_function.__name__ = name

    def generate(rng):
        for dtype in samples.ALL:
            for array in samples.layouts(rng, dtype, 0.5, 1.5):
                for axis in range(-1, array.ndim):
                    for include_initial in (False, True):
                        yield Sample(array, axis=None if array.ndim < 2 else axis, include_initial=include_initial)

    return _axiswise(
        f"{name}(Array x, /, *, int? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, bool include_initial=False) "
        "-> Tensor", Accumulate, numpy_function, (ufunc, start), summary, example, kernel_options={"flattens": False},
        single=True, batching="along one axis", result="x's shape, the axis longer by one with include_initial; dtype as of cumsum.",
        errors="ValueError\n    If x has several dimensions and no axis is given.\n", samples=generate,
        derivative=composed(_running_product) if ufunc is np.multiply else linear(x=_cumulative_sum_transpose))


cumsum = _running(np.cumsum, np.add, 0, "The sums of the elements so far along an axis.", """
>>> fo.cumsum(fo.asarray([1, 2, 3]))
tensor([1, 3, 6])""")
cumprod = _running(np.cumprod, np.multiply, 1, "The products of the elements so far along an axis.", """
>>> fo.cumprod(fo.asarray([2, 3, 4]))
tensor([ 2,  6, 24])""")
cumulative_sum = _cumulative("cumulative_sum", np.cumsum, np.add, 0, "The sums of the elements so far along an axis.", """
>>> fo.cumulative_sum(fo.asarray([1, 2, 3]), include_initial=True)
tensor([0, 1, 3, 6])""")
cumulative_prod = _cumulative("cumulative_prod", np.cumprod, np.multiply, 1,
                              "The products of the elements so far along an axis.", """
>>> fo.cumulative_prod(fo.asarray([2, 3, 4]))
tensor([ 2,  6, 24])""")


# Composites

def _logsumexp(x, axis=None, keepdims=False):
    if x.dtype.kind in "biu":
        x = x * 1.0
    top = max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = where(isfinite(top), top, 0.0).detach()       # its derivatives cancel
    with np.errstate(divide="ignore"):
        total = log(sum(exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else sum(total, axis=axis)


def _logsumexp_reference(x, axis=None, keepdims=False):
    with np.errstate(divide="ignore"):
        if x.dtype.kind in "biu":
            x = x.astype(float)
        top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, top.dtype.type(0))
        return np.log(np.sum(np.exp(x - top), axis=axis, keepdims=keepdims)) + np.max(top, axis=axis, keepdims=keepdims)


logsumexp = composite(
    "logsumexp(Array x, /, int[]? axis=None, bool keepdims=False) -> Tensor",
    "The logarithm of the sum of the exponentials along the axes, without overflow.", _logsumexp,
    reference=_logsumexp_reference, notes="""
Parameters
----------
x : array_like
    Any shape; real.
axis : int or tuple of ints, optional
    The axes that are reduced; all of them if not given.
keepdims : bool
    Keep the reduced axes, with length 1.

Returns
-------
Tensor
    x without the reduced axes; float64 for whole numbers, else x's dtype. Of an empty slice it is -inf.

Notes
-----
The largest element is taken out before the exponential. SciPy: ``scipy.special.logsumexp``.""", example="""
>>> fo.logsumexp(fo.asarray([1000.0, 1000.0]))
tensor(1000.69314718)""",
    samples=_samples(samples.INTEGERS + samples.FLOATS, [kwargs for kwargs in EVERY_AXIS if kwargs.get("axis") != ()]))
