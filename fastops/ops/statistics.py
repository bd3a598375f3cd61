"""Order statistics, histograms, covariances, and reductions that leave NaN out."""

import warnings

import numpy as np

from fastops import errors, samples
from fastops._batched import Decomposed, beneath
from fastops._dispatch import Tensor, as_tensor
from fastops.derivatives import composed, linear, refuse
from fastops.ops.composite import NUMPY
from fastops.ops.create import full_like, zeros
from fastops.ops.elementwise import (ceil, clip, conj, divide, equal, floor, greater_equal, isnan, less, logical_and, logical_not, multiply, rint,
                                      sqrt, where)
from fastops.ops.families import composite, holds, through_numpy, values_of, write_out
from fastops.ops.linalg import matmul
from fastops.ops.reduce import all as every
from fastops.ops.reduce import amax, amin, any as some
from fastops.ops.reduce import argmax, argmin, count_nonzero, cumprod, cumsum, mean, prod, sum, var
from fastops.ops.shape import (astype, broadcast_to, concat, expand_dims, flip, matrix_transpose, moveaxis, normalized, permute_dims, ravel, reshape,
                               take_along_axis)
from fastops.ops.sorting import searchsorted, sort
from fastops.samples import Sample

NAN_NOTES = """
Parameters
----------
x : array_like
    Any shape.
axis : int{several}, optional
    The axes that are reduced; all of them if not given.
{more}
Returns
-------
Tensor
    x without the reduced axes.

Notes
-----
{empty}NumPy: ``numpy.{name}``."""


def _warn(condition, text):
    if holds(some(condition)):
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _with_nan(rng, *, empty_rows=True, dtypes=("f4", "f8")):
    for dtype in dtypes:
        x = samples.array(rng, (3, 4), dtype)
        x[0, 1] = x[2, 2] = x[2, 0] = np.nan
        yield x
        yield x.T
        if empty_rows:
            y = x.copy()
            y[1] = np.nan
            yield y
    yield samples.array(rng, (3, 4), "i4")


AXES = ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)})


def _nan_samples(calls=AXES, **more):
    return lambda rng: (Sample(x, **call) for x in _with_nan(rng, **more) for call in calls)


# Reductions without NaN

def _filled(x, value):
    x = as_tensor(x)
    return where(isnan(x), value, x) if x.dtype.kind in "fc" else x


def _masked(x, where_):
    # Which elements take part: those that are numbers, of those that the caller names.
    numbers = logical_not(isnan(x))
    return numbers if where_ is True else numbers & as_tensor(where_)


def _nan_sum(function, neutral):
    def run(x, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        options = {} if initial is None else {"initial": initial}
        return function(_filled(x, neutral), axis, dtype, out, keepdims, where=where, **options)
    return run


SUM_SIGNATURE = ("(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, bool keepdims=False, Scalar? initial=None, "
                 "Any where=True) -> Tensor")


def _reduction(name, signature, summary, function, example, *, calls=AXES, more="", empty="", several=" or tuple of ints", **options):
    return composite(name + signature, summary, function, example=example, reference=getattr(np, name), samples=_nan_samples(calls, **options),
                     notes=NAN_NOTES.format(name=name, more=more, empty=empty, several=several))


nansum = _reduction("nansum", SUM_SIGNATURE, "The sum of the elements that are numbers; 0 where there are none.", _nan_sum(sum, 0), """
>>> fo.nansum(fo.asarray([1.0, fo.nan]))
tensor(1.)""")
nanprod = _reduction("nanprod", SUM_SIGNATURE, "The product of the elements that are numbers; 1 where there are none.", _nan_sum(prod, 1), """
>>> fo.nanprod(fo.asarray([2.0, fo.nan]))
tensor(2.)""")


def _nan_running(function, neutral):
    return lambda x, axis=None, dtype=None, out=None: function(_filled(x, neutral), axis, dtype, out)


RUNNING = "(Array x, /, int? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None) -> Tensor"
nancumsum = _reduction("nancumsum", RUNNING, "The sums so far along an axis, NaN counting as 0.", _nan_running(cumsum, 0), """
>>> fo.nancumsum(fo.asarray([1.0, fo.nan, 2.0]))
tensor([1., 1., 3.])""", calls=({}, {"axis": 0}, {"axis": 1}), several="")
nancumprod = _reduction("nancumprod", RUNNING, "The products so far along an axis, NaN counting as 1.", _nan_running(cumprod, 1), """
>>> fo.nancumprod(fo.asarray([2.0, fo.nan, 3.0]))
tensor([2., 2., 6.])""", calls=({}, {"axis": 0}, {"axis": 1}), several="")


def _nan_extremum(name, function, beyond):
    def run(x, axis=None, out=None, keepdims=False, initial=None, where=True):
        x = as_tensor(x)
        options = {} if initial is None else {"initial": initial}
        if x.dtype.kind not in "fc":
            return function(x, axis, out, keepdims, where=where, **options)
        if x.size == 0 and initial is None:
            return function(x, axis, out, keepdims, where=where)
        empty = every(logical_not(_masked(x, where)), axis=axis, keepdims=keepdims)
        with np.errstate(invalid="ignore"):
            result = function(_filled(x, beyond), axis, None, keepdims, where=where, initial=beyond if initial is None else initial)
        if initial is None:
            _warn(empty, "All-NaN slice encountered" if axis is not None else "All-NaN axis encountered")
            result = _where(empty, np.nan, result).astype(x.dtype, copy=False)
        return result if out is None else write_out(result, out)
    return run


_where = where
EXTREMUM = "(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool keepdims=False, Scalar? initial=None, Any where=True) -> Tensor"
ALL_NAN = "Of a slice without numbers it is NaN, with a RuntimeWarning. "
nanmax = _reduction("nanmax", EXTREMUM, "The largest of the elements that are numbers.", _nan_extremum("nanmax", amax, -np.inf), """
>>> fo.nanmax(fo.asarray([1.0, fo.nan]))
tensor(1.)""", empty=ALL_NAN)
nanmin = _reduction("nanmin", EXTREMUM, "The smallest of the elements that are numbers.", _nan_extremum("nanmin", amin, np.inf), """
>>> fo.nanmin(fo.asarray([1.0, fo.nan]))
tensor(1.)""", empty=ALL_NAN)


def _nan_place(name, function, beyond):
    def run(x, axis=None, out=None, *, keepdims=False):
        x = as_tensor(x)
        if x.dtype.kind == "f":
            if holds(some(every(isnan(x), axis=axis))):
                raise ValueError(f"{name}: All-NaN slice encountered")
            # Infinities of the wrong kind beside NaN must not hide behind it: NaN first becomes the limit.
            x = _filled(x, beyond)
        return function(x, axis, out, keepdims=keepdims)
    return run


PLACE = "(Array x, /, int? axis=None, Tensor(a!)? out=None, *, bool keepdims=False) -> Tensor"
nanargmax = _reduction("nanargmax", PLACE, "The place of the largest of the elements that are numbers.", _nan_place("nanargmax", argmax, -np.inf), """
>>> fo.nanargmax(fo.asarray([fo.nan, 2.0, 1.0]))
tensor(1)""", calls=({}, {"axis": 0}, {"axis": 1, "keepdims": True}), empty_rows=False, several="", empty="A slice without numbers is a ValueError. ")
nanargmin = _reduction("nanargmin", PLACE, "The place of the smallest of the elements that are numbers.", _nan_place("nanargmin", argmin, np.inf), """
>>> fo.nanargmin(fo.asarray([fo.nan, 2.0, 1.0]))
tensor(2)""", calls=({}, {"axis": 0}, {"axis": 1, "keepdims": True}), empty_rows=False, several="", empty="A slice without numbers is a ValueError. ")


def _nanmean(x, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    x = as_tensor(x)
    if x.dtype.kind not in "fc":
        return mean(x, axis, dtype, out, keepdims, where=where)
    numbers = _masked(x, where)
    count = sum(numbers, axis=axis, keepdims=keepdims)
    total = sum(_filled(x, 0), axis, dtype, None, keepdims, where=where)
    _warn(count == 0, "Mean of empty slice")
    with np.errstate(all="ignore"):
        result = divide(total, count).astype(total.dtype, copy=False)
    return result if out is None else write_out(result, out)


nanmean = _reduction("nanmean", "(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, bool keepdims=False, *, "
                     "Any where=True) -> Tensor", "The mean of the elements that are numbers.", _nanmean, """
>>> fo.nanmean(fo.asarray([1.0, 3.0, fo.nan]))
tensor(2.)""", empty=ALL_NAN)


def _nanvar(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    x = as_tensor(x)
    ddof = ddof if correction is None else correction
    if x.dtype.kind not in "fc":
        options = {} if mean is None else {"mean": mean}
        return var(x, axis, dtype, out, ddof, keepdims, where=where, **options)
    numbers = _masked(x, where)
    count = sum(numbers, axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        middle = divide(sum(_filled(x, 0), axis, dtype, None, True, where=where), count) if mean is None else as_tensor(mean)
        distance = _where(numbers, x - middle.astype(x.dtype, copy=False) if dtype is None else x.astype(dtype) - middle, 0)
        squares = multiply(distance, conj(distance)).real if distance.dtype.kind == "c" else multiply(distance, distance)
        total = sum(squares, axis=axis, dtype=None if dtype is None or squares.dtype.kind != "f" else dtype, keepdims=keepdims)
        left = sum(numbers, axis=axis, keepdims=keepdims) - ddof
        _warn(left <= 0, "Degrees of freedom <= 0 for slice.")
        result = _where(left > 0, divide(total, left), np.nan).astype(total.dtype, copy=False)
    return result if out is None else write_out(result, out)


def _nanstd(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    return sqrt(_nanvar(x, axis, dtype, None, ddof, keepdims, **options), out)


SPREAD = ("(Array x, /, int[]? axis=None, ScalarType? dtype=None, Tensor(a!)? out=None, float ddof=0, bool keepdims=False, *, Any where=True, "
          "Array? mean=None, float? correction=None) -> Tensor")
nanvar = _reduction("nanvar", SPREAD, "The variance of the elements that are numbers.", _nanvar, """
>>> fo.nanvar(fo.asarray([1.0, 3.0, fo.nan]))
tensor(1.)""", calls=(*AXES, {"axis": 0, "ddof": 1}), empty="Of a slice of too few numbers it is NaN, with a RuntimeWarning. ")
nanstd = _reduction("nanstd", SPREAD, "The standard deviation of the elements that are numbers.", _nanstd, """
>>> fo.nanstd(fo.asarray([1.0, 3.0, fo.nan]))
tensor(1.)""", calls=(*AXES, {"axis": 0, "ddof": 1}), empty="Of a slice of too few numbers it is NaN, with a RuntimeWarning. ")


# Order statistics

def _rows(x, axis, name):
    # The reduced axes as one, the last; and where the result keeps them.
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = [normalized(one, x.ndim, name) for one in axes]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is named twice in {axis}")
    kept = [one for one in range(x.ndim) if one not in axes]
    shape = tuple([x.shape[one] for one in kept])
    rows = moveaxis(x, axes, list(range(x.ndim - len(axes), x.ndim))) if axes else expand_dims(x, -1)
    length = int(np.prod([x.shape[one] for one in axes], dtype=np.intp)) if axes else 1
    return reshape(rows, (*shape, length)), axes


def _median(x, axis=None, out=None, overwrite_input=False, keepdims=False):
    x = as_tensor(x)
    rows, axes = _rows(x, axis, "median")
    length = rows.shape[-1]
    if x.dtype.kind == "b":
        raise TypeError("median: truth values have no middle; take them as numbers")
    if length == 0:
        if x.device == "cpu":
            warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=4)
        result = full_like(sum(rows, axis=-1) * 1.0, np.nan)
    else:
        rows = sort(rows)
        half = length // 2
        middle = rows[..., half:half + 1] if length % 2 else rows[..., half - 1:half + 1]
        result = mean(middle, axis=-1)
        if x.dtype.kind in "fc":            # NaN stands last
            result = _where(isnan(rows[..., -1]), rows[..., -1], result)
    if keepdims:
        result = expand_dims(result, tuple(sorted(axes))) if axes else result
    return result if out is None else write_out(result, out)


median = composite(
    "median(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool overwrite_input=False, bool keepdims=False) -> Tensor",
    "The middle element along the axes, or the mean of the two in the middle; NaN if there is one.", _median, reference=np.median,
    samples=lambda rng: (Sample(x, **call) for x in (*_with_nan(rng), samples.array(rng, (5, 3), "f2"), samples.array(rng, (3, 3), "f8"),
                                                     samples.array(rng, (2, 3, 4), "u1")) for call in AXES),
    notes=NAN_NOTES.format(name="median", more="", empty="overwrite_input is accepted as NumPy does. ", several=" or tuple of ints"), example="""
>>> fo.median(fo.asarray([3.0, 1.0, 2.0]))
tensor(2.)""")


def _nanmedian(x, axis=None, out=None, overwrite_input=False, keepdims=False):
    x = as_tensor(x)
    if x.dtype.kind not in "fc" or x.size == 0:
        return _median(x, axis, out, overwrite_input, keepdims)
    rows, axes = _rows(x, axis, "nanmedian")
    rows = sort(rows)
    count = count_nonzero(logical_not(isnan(rows)), axis=-1, keepdims=True)
    _warn(count == 0, "All-NaN slice encountered")
    low = take_along_axis(rows, ((count - 1) // 2).clip(0, None), -1)
    high = take_along_axis(rows, (count // 2).clip(0, rows.shape[-1] - 1), -1)
    result = mean(concat([low, high], -1), axis=-1)
    result = _where(count[..., 0] == 0, np.nan, result).astype(x.dtype, copy=False)
    if keepdims:
        result = expand_dims(result, tuple(sorted(axes))) if axes else result
    return result if out is None else write_out(result, out)


nanmedian = composite(
    "nanmedian(Array x, /, int[]? axis=None, Tensor(a!)? out=None, bool overwrite_input=False, bool keepdims=False) -> Tensor",
    "The middle one of the elements that are numbers.", _nanmedian, reference=np.nanmedian, samples=_nan_samples(),
    notes=NAN_NOTES.format(name="nanmedian", more="", empty=ALL_NAN, several=" or tuple of ints"), example="""
>>> fo.nanmedian(fo.asarray([3.0, fo.nan, 1.0]))
tensor(2.)""")


def _quantile_shape(name):
    def shape(x, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = [normalized(one, x.ndim, name) for one in axes]
        rest = [1 if one in axes else size for one, size in enumerate(x.shape) if keepdims or one not in axes]
        zero = np.zeros((1,), x.dtype)
        found = getattr(np, name)(zero, np.zeros((), q.dtype), axis=0, method=method,
                                  **({} if weights is None else {"weights": np.ones(1, weights.dtype)}))
        return (*q.shape, *rest), np.asarray(found).dtype
    return shape


COUNTS = "how many elements lie in a bin does not change smoothly"


def _quantile_composition(name, scale):
    # The elements in order, and a straight line between the two next to the place.
    def composition(x, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        if out is not None or weights is not None or method not in ("linear", "lower", "higher", "nearest", "midpoint"):
            raise errors.NoDerivativeError(f"{name}: there is a derivative for the methods linear, lower, higher, nearest and midpoint, "
                                         "without weights= and out=")
        x, q = as_tensor(x), as_tensor(q)
        axes = list(range(x.ndim)) if axis is None else [place % x.ndim for place in (axis if isinstance(axis, (tuple, list)) else (axis,))]
        kept = [place for place in range(x.ndim) if place not in axes]
        lines = reshape(permute_dims(x, kept + axes), tuple([x.shape[place] for place in kept]) + (-1,))
        ordered = sort(lines, axis=-1)              # NaN last
        bad = isnan(lines)
        count = lines.shape[-1] - (sum(bad, axis=-1) if name.startswith("nan") else 0)
        where_at = reshape(q / scale, q.shape + (1,) * len(kept)) * (count - 1)
        low = floor(where_at.detach()) if method != "higher" else ceil(where_at.detach())
        high = low if method in ("lower", "higher") else ceil(where_at.detach())
        if method == "nearest":
            low = high = rint(where_at.detach())
        part = 0.5 * (high != low) if method == "midpoint" else where_at - low if method == "linear" else 0

        def at(place):
            place = clip(astype(place, np.int64), 0, lines.shape[-1] - 1)
            return take_along_axis(broadcast_to(ordered, q.shape + ordered.shape), expand_dims(broadcast_to(place, q.shape + lines.shape[:-1]), -1), -1)[..., 0]
        first = at(low)
        result = first if low is high else first + (at(high) - first) * part
        if not name.startswith("nan"):
            result = where(some(bad, axis=-1), np.nan, result)
        if keepdims:
            result = expand_dims(result, tuple([q.ndim + place for place in sorted(axes)]))
        return result
    return composition


def _quantile(name, summary, scale, example):
    function = getattr(np, name)

    def on_arrays(x, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        return function(x, q, axis, None, False, method, keepdims, weights=weights)

    methods = ("linear", "lower", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "inverted_cdf", "closest_observation")
    return through_numpy(
        f"{name}(Array x, /, Array q, int[]? axis=None, Tensor(a!)? out=None, bool overwrite_input=False, str method='linear', "
        "bool keepdims=False, *, Array? weights=None) -> Tensor", summary, on_arrays, _quantile_shape(name), batching="quantiles", derivative=composed(_quantile_composition(name, scale)).but(smooth=("x",)), reference=function,
        samples=lambda rng: [*(Sample(samples.array(rng, (3, 4), d), np.array(q) * scale, **call) for d in ("f8", "f4", "i4")
                               for q in (0.3, [0.0, 0.5, 1.0]) for call in AXES),
                             *(Sample(samples.array(rng, (7,), "f8"), 0.4 * scale, method=method) for method in methods),
                             Sample(samples.array(rng, (5,), "f8"), 0.4 * scale, method="inverted_cdf", weights=np.arange(1.0, 6.0))],
        notes=f"""
Parameters
----------
x : array_like
    Any shape.
q : array_like
    From 0 to {scale}.
axis : int or tuple of ints, optional
    The axes that are reduced; all if not given.
out : Tensor, optional
    Where to write the result.
overwrite_input : bool
    Accepted as NumPy does.
method : str
    How to go between two elements, one of NumPy's names: "linear", "lower", "nearest", "hazen" and others.
keepdims : bool
    Keep the reduced axes, with length 1.
weights : array_like, optional
    With method "inverted_cdf".

Returns
-------
Tensor
    q's axes, then those of x that are left.

Raises
------
ValueError
    If q is out of its range, or the method unknown.

Notes
-----
NumPy: ``numpy.{name}``.""", example=example)


quantile = _quantile("quantile", "The values below which the parts q of the elements lie.", 1, """
>>> fo.quantile(fo.asarray([1.0, 2.0, 3.0]), 0.25)
tensor(1.5)""")
percentile = _quantile("percentile", "The values below which q percent of the elements lie.", 100, """
>>> fo.percentile(fo.asarray([1.0, 2.0, 3.0]), 25)
tensor(1.5)""")
nanquantile = _quantile("nanquantile", "The values below which the parts q of the elements that are numbers lie.", 1, """
>>> fo.nanquantile(fo.asarray([1.0, fo.nan, 3.0]), 0.5)
tensor(2.)""")
nanpercentile = _quantile("nanpercentile", "The values below which q percent of the elements that are numbers lie.", 100, """
>>> fo.nanpercentile(fo.asarray([1.0, fo.nan, 3.0]), 50)
tensor(2.)""")


# Counts

def _bins(name, bins):
    # How many bins; what depends on the data is not known without them.
    if isinstance(bins, str):
        raise NotImplementedError(f"{name}: how many bins {bins!r} gives depends on the data; give a number or the edges")
    return bins if isinstance(bins, int) else (bins.shape if isinstance(bins, Tensor) else np.shape(bins))[0] - 1


def _edges(name, x, bins, range):
    # The edges of the bins of one row, as NumPy lays them.
    if isinstance(bins, str):
        raise errors.MappedError(f"{name}: how many bins {bins!r} gives depends on the data, and so would be another number in each row; give a number or the edges")
    if not isinstance(bins, int):
        return as_tensor(bins)
    kind = _edges_dtype(x, bins)
    if range is not None:
        return as_tensor(np.histogram_bin_edges(np.ones(1, x.dtype), bins, range))
    if x.size == 0:
        return as_tensor(np.linspace(0, 1, bins + 1, dtype=kind))
    low, high = amin(x).astype(kind), amax(x).astype(kind)
    alone = equal(low, high)
    low, high = where(alone, low - 0.5, low), where(alone, high + 0.5, high)
    steps = np.arange(bins + 1, dtype=kind)
    return where(equal(steps, bins), high, steps * ((high - low) / bins) + low)


def _bin_of(x, edges):
    # The bin of each element of one axis, and whether it lies in any; the last has both of its edges.
    count = edges.shape[0] - 1
    place = searchsorted(edges, x, side="right") - 1
    place = where(equal(x, edges[-1]), count - 1, place)
    return clip(place, 0, count - 1), logical_and(greater_equal(place, 0), less(place, count))


def _counted(places, there, weights, shape):
    from fastops.ops.autograd import scattered         # declared later
    each = there.astype(np.int64) if weights is None else where(there, ravel(as_tensor(weights)), 0)
    return scattered(each, places, shape)


def _histogram_rows(x, bins=10, range=None, density=None, weights=None):
    x = ravel(as_tensor(x))
    edges = _edges("histogram", x, bins, range)
    counts = _counted(*_bin_of(x, edges), weights, (edges.shape[0] - 1,))
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum(counts)
    return counts, edges


def _histogram2d_rows(x, y, bins=10, range=None, density=None, weights=None):
    x, y = as_tensor(x), as_tensor(y)
    if not isinstance(bins, int):
        bins = list(bins) if len(bins) in (1, 2) else [bins]
    bins = [bins, bins] if isinstance(bins, int) else bins * 2 if len(bins) == 1 else bins
    edges = [_edges("histogram2d", one, each, None if range is None else range[place]) for place, (one, each) in enumerate(zip((x, y), bins))]
    (first, in_first), (second, in_second) = [_bin_of(one, each) for one, each in zip((x, y), edges)]
    counts = _counted((first, second), logical_and(in_first, in_second), weights, tuple([each.shape[0] - 1 for each in edges])).astype(np.float64)
    if density:
        areas = expand_dims(edges[0][1:] - edges[0][:-1], 1) * (edges[1][1:] - edges[1][:-1])
        counts = counts / areas / sum(counts)
    return counts, *edges


def _bincount_rows(x, weights=None, minlength=0, *, size=None):
    # Without size= all rows must have one and the same length, which is read.
    x = as_tensor(x)
    if x.ndim != 1:
        raise ValueError(f"bincount: x has one axis, not shape {x.shape}")
    if size is None:
        every_row = values_of("bincount", beneath(x))
        lengths = {max(minlength, int(top) + 1) for top in np.ravel(every_row.max(-1))} if x.shape[0] else {minlength}
        if x.shape[0] and every_row.min() < 0:
            raise ValueError(f"bincount: x holds a negative number, {every_row.min()}")
        if len(lengths) != 1:
            raise errors.MappedError(f"bincount: the rows have results of different lengths, {sorted(lengths)}; say with size= how long they are to be")
        size, = lengths
    there = logical_and(greater_equal(x, 0), less(x, size))
    if weights is not None:
        weights = as_tensor(weights).astype(np.float64)
    return _counted(where(there, x, 0), there, weights, (size,)) if size else zeros((0,), dtype=np.int64 if weights is None else np.float64)


def _histogram_shape(x, bins=10, range=None, density=None, weights=None):
    count = _bins("histogram", bins)
    counted = np.dtype(np.float64) if density else np.dtype(np.int64) if weights is None else weights.dtype
    return [((count,), counted), ((count + 1,), _edges_dtype(x, bins))]


def _edges_dtype(x, bins):
    return np.histogram_bin_edges(np.ones(1, x.dtype), np.asarray(bins) if isinstance(bins, Tensor) else bins).dtype


histogram = through_numpy(
    "histogram(Array x, /, Any bins=10, Any range=None, bool? density=None, Array? weights=None) -> (Tensor, Tensor)",
    "How many elements lie in each bin, and the edges of the bins.", lambda x, bins=10, range=None, density=None, weights=None:
    np.histogram(x, bins, range, density, weights), _histogram_shape, batching=Decomposed(_histogram_rows), reference=np.histogram, samples=lambda rng: (
        Sample(samples.array(rng, (3, 4), d), **more) for d in ("f8", "i4") for more in (
            {}, {"bins": 3, "range": (-1.0, 1.0)}, {"bins": [-4, 0, 1, 4]}, {"density": True}, {"weights": np.ones((3, 4))})), notes="""
Parameters
----------
x : array_like
    Any shape.
bins : int, sequence of edges, or str
    How many bins of one width, their edges, or the name of one of NumPy's rules.
range : (float, float), optional
    From where to where; the smallest and the largest element if not given.
density : bool, optional
    Whether to give the density instead of counts.
weights : array_like, optional
    Of x's shape: what each element counts.

Notes
-----
NumPy: ``numpy.histogram``.""", example="""
>>> fo.histogram(fo.asarray([1, 2, 1]), bins=[0, 1, 2, 3])
(tensor([0, 2, 1]), tensor([0, 1, 2, 3]))""",
    derivative=refuse(COUNTS))

histogram_bin_edges = through_numpy(
    "histogram_bin_edges(Array x, /, Any bins=10, Any range=None, Array? weights=None) -> Tensor", "The edges of histogram's bins.",
    lambda x, bins=10, range=None, weights=None: np.histogram_bin_edges(x, bins, range, weights), lambda x, bins=10, range=None, weights=None: (
        (_bins("histogram_bin_edges", bins) + 1,), _edges_dtype(x, bins)), batching=Decomposed(lambda x, bins=10, range=None, weights=None: _edges("histogram_bin_edges", ravel(x), bins, range)),
    reference=np.histogram_bin_edges,
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), d), *more) for d in ("f8", "i4") for more in ((), (3, (-1.0, 1.0)))),
    notes=NUMPY.format(name="histogram_bin_edges"), example="""
>>> fo.histogram_bin_edges(fo.asarray([0.0, 1.0]), bins=2)
tensor([0. , 0.5, 1. ])""",
    derivative=refuse(COUNTS))


def _unknown(name):
    def shape(*args, **kwargs):
        raise NotImplementedError(f"{name}: the shapes of the results depend on the arguments' values, which device 'meta' does not have")
    return shape


histogram2d = through_numpy(
    "histogram2d(Array x, Array y, /, Any bins=10, Any range=None, bool? density=None, Array? weights=None) -> (Tensor, Tensor, Tensor)",
    "How many points (x, y) lie in each bin, and the edges along x and along y.", lambda x, y, bins=10, range=None, density=None, weights=None:
    np.histogram2d(x, y, bins, range, density, weights), _unknown("histogram2d"), family="data-dependent", batching=Decomposed(_histogram2d_rows), reference=np.histogram2d,
    samples=lambda rng: (Sample(samples.array(rng, (9,), "f8"), samples.array(rng, (9,), "f8"), *bins) for bins in ((), (3,), ([2, 4],))),
    notes=NUMPY.format(name="histogram2d"), example="""
>>> fo.histogram2d(fo.asarray([0.0, 1.0]), fo.asarray([0.0, 1.0]), bins=2)[0]
tensor([[1., 0.],
        [0., 1.]])""",
    derivative=refuse(COUNTS))

def _bincount(x, weights=None, minlength=0, *, size=None):
    found = np.bincount(x, weights, minlength if size is None else size)
    return found if size is None else found[:size]


def _bincount_shape(x, weights=None, minlength=0, *, size=None):
    return _unknown("bincount")() if size is None else ((size,), np.dtype(np.int64 if weights is None else np.float64))


bincount = through_numpy(
    "bincount(Array x, /, Array? weights=None, int minlength=0, *, int? size=None) -> Tensor", "How often each whole number occurs, from 0 on.",
    _bincount, _bincount_shape, family="data-dependent", batching=Decomposed(_bincount_rows), reference=np.bincount,
    samples=lambda rng: (Sample(rng.integers(0, 5, 9), **more) for more in ({}, {"minlength": 9}, {"weights": np.linspace(0, 1, 9)})), notes="""
Parameters
----------
x : array_like
    Whole numbers, none negative, along one axis.
weights : array_like, optional
    Of x's shape: what each element counts.
minlength : int
    How many counts to give at least.
size : int, optional
    How many counts to give, whatever the data: larger numbers are not counted. Wanted on device "meta", and inside vmap where the rows' own lengths differ.

Raises
------
ValueError
    If x has not one axis, or holds a negative number.
TypeError
    If x does not hold whole numbers.

Notes
-----
NumPy: ``numpy.bincount``.""", example="""
>>> fo.bincount(fo.asarray([0, 1, 1, 3]))
tensor([1, 2, 0, 1])""",
    derivative=linear(weights=lambda g, x: g[x]))

def _digitize_rows(x, bins, right=False):
    bins, side = as_tensor(bins), "left" if right else "right"
    if bins.shape[0] == 0:
        return searchsorted(bins, x, side)
    falling = less(bins[-1], bins[0])
    rises = bins[1:] - bins[:-1] if bins.dtype.kind != "u" else astype(bins[1:], np.float64) - bins[:-1]
    rises = values_of("digitize", beneath(where(falling, -rises, rises)))
    if (rises < 0).any():
        raise ValueError("digitize: bins must be monotonically increasing or decreasing")
    place = searchsorted(where(falling, flip(bins), bins), x, side)
    return where(falling, bins.shape[0] - place, place)


digitize = through_numpy(
    "digitize(Array x, /, Array bins, bool right=False) -> Tensor", "The number of the bin that each element lies in; bins are edges in order.",
    np.digitize, lambda x, bins, right=False: (x.shape, np.dtype(np.int64)), reference=np.digitize, batching=Decomposed(_digitize_rows, pointwise=("x",)),
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), d), np.array([-1.0, 0.0, 2.0]), right) for d in ("f8", "i4") for right in (False, True)),
    notes=NUMPY.format(name="digitize"), example="""
>>> fo.digitize(fo.asarray([0.5, 1.5]), fo.asarray([0.0, 1.0, 2.0]))
tensor([1, 2])""")


# Covariance

def _cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"cov: ddof is a whole number, not {ddof!r}")
    arrays = [as_tensor(one) for one in (m, y) if one is not None]
    for one in arrays:
        if one.ndim > 2:
            raise ValueError(f"cov: variables are rows of one or two axes, not of shape {one.shape}")
    kind = np.result_type(*[one.dtype for one in arrays], np.float64) if dtype is None else np.dtype(dtype)
    parts = []
    for one in arrays:
        one = reshape(one, (1, -1)) if one.ndim < 2 else one
        one = matrix_transpose(one) if not rowvar and one.shape[0] != 1 else one
        parts.append(astype(one, kind))
    x = concat(parts, 0) if len(parts) > 1 else parts[0]
    ddof = (0 if bias else 1) if ddof is None else int(ddof)
    weights = None
    for given, name in ((fweights, "fweights"), (aweights, "aweights")):
        if given is None:
            continue
        given = as_tensor(given) * 1.0
        if given.ndim != 1 or given.shape[0] != x.shape[1]:
            raise ValueError(f"cov: {name} of shape {given.shape} do not fit {x.shape[1]} observations")
        if holds(some(given < 0)):
            raise ValueError(f"cov: {name} cannot be negative")
        weights = given if weights is None else weights * given
    if weights is None:
        total, middle, factor = x.shape[1], mean(x, axis=1, keepdims=True), x.shape[1] - ddof
    else:
        total = sum(weights)
        middle = expand_dims(sum(x * weights, axis=1) / total, 1)
        factor = total - ddof if aweights is None else total - ddof * sum(weights * as_tensor(aweights)) / total if ddof else total
    if isinstance(factor, int) and factor <= 0 or isinstance(factor, Tensor) and holds(factor <= 0):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=4)
        factor = 0.0
    x = x - middle
    right = conj(matrix_transpose(x if weights is None else x * weights))
    result = matmul(x, right) * divide(1.0, as_tensor(factor)).astype(x.dtype if x.dtype.kind == "f" else np.float64)
    return reshape(result, [size for size in result.shape if size != 1])


def _observations(rng):
    for d in ("f4", "f8", "i4", "c16"):
        yield Sample(samples.array(rng, (3, 5), d))
        yield Sample(samples.array(rng, (5,), d))
        yield Sample(samples.array(rng, (5,), d), samples.array(rng, (5,), d))
        yield Sample(samples.array(rng, (5, 3), d), rowvar=False)


cov = composite(
    "cov(Array m, /, Array? y=None, bool rowvar=True, bool bias=False, int? ddof=None, Array? fweights=None, Array? aweights=None, *, "
    "ScalarType? dtype=None) -> Tensor", "The covariances of variables, a row of m each (a column if rowvar is False).", _cov, reference=np.cov,
    samples=lambda rng: [*_observations(rng), Sample(samples.array(rng, (3, 5), "f8"), bias=True),
                         Sample(samples.array(rng, (3, 5), "f8"), fweights=np.arange(1, 6), aweights=np.linspace(1, 2, 5))], notes=NUMPY.format(name="cov"), example="""
>>> fo.cov(fo.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
tensor([[ 1., -1.],
        [-1.,  1.]])""")


def _corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = _cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = sqrt(reshape(ravel(c)[::c.shape[0] + 1].real, -1))
    c = c / reshape(spread, (-1, 1)) / reshape(spread, (1, -1))
    if c.dtype.kind == "c":
        return (c.real.clip(-1, 1) + 1j * c.imag.clip(-1, 1)).astype(c.dtype)
    return c.clip(-1, 1)


corrcoef = composite(
    "corrcoef(Array x, /, Array? y=None, bool rowvar=True, *, ScalarType? dtype=None) -> Tensor", "The correlations of variables, a row of x each.",
    _corrcoef, reference=np.corrcoef, samples=_observations, notes=NUMPY.format(name="corrcoef"), example="""
>>> fo.corrcoef(fo.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
tensor([[ 1., -1.],
        [-1.,  1.]])""")


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """How many points of several coordinates lie in each bin, and the edges along each; as ``numpy.histogramdd``.

    >>> import fastops as fo
    >>> fo.histogramdd(fo.asarray([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
    tensor([[1., 0.],
            [0., 1.]])
    """
    def values(value):
        if isinstance(value, Tensor):
            return values_of("histogramdd", value)
        return [values(one) for one in value] if isinstance(value, (list, tuple)) else value

    counts, edges = np.histogramdd(values(sample), values(bins), range, density, values(weights))
    return as_tensor(counts), tuple(map(as_tensor, edges))
