"""Borders: arrays made larger at their edges, in every way that NumPy's ``pad`` has."""

import numpy as np

from fastops import samples
from fastops._dispatch import as_tensor
from fastops.ops.create import arange
from fastops.ops.elementwise import equal, floor, rint, where
from fastops.ops.families import composite
from fastops.ops.reduce import amax, amin, mean
from fastops.ops.reduce import any as some
from fastops.ops.shape import broadcast_to, concat, copy, flip, moveaxis, normalized, reshape, take
from fastops.ops.statistics import median
from fastops.samples import Sample

STATISTICS = {"maximum": amax, "mean": mean, "median": median, "minimum": amin}
OPTIONS = {"constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type", "symmetric": "reflect_type",
           **dict.fromkeys(STATISTICS, "stat_length"), "edge": None, "wrap": None, "empty": None}


def _pad(x, pad_width, /, mode="constant", **options):
    x = as_tensor(x)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _filled_by(mode, x, widths)
    if mode not in OPTIONS:
        raise ValueError(f"pad: mode {mode!r} is none of {', '.join(OPTIONS)}, and no function")
    if surplus := set(options) - {OPTIONS[mode]}:
        raise ValueError(f"pad: mode {mode!r} does not take {', '.join(sorted(surplus))}")
    if mode in ("constant", "empty"):
        return _framed(x, widths, _pairs(options.get("constant_values", 0), x.ndim))
    extended = _extension(mode, options, x.ndim)
    result = x
    for axis, pair in enumerate(widths):
        if any(pair):
            if x.shape[axis] == 0:
                raise ValueError(f"pad: axis {axis} of shape {x.shape} is empty; only the modes 'constant' and 'empty' extend it")
            result = extended(result, axis, *pair)
    return copy(x) if result is x else result


def _extension(mode, options, rank):
    # The function that extends one axis of a tensor by so much before and behind.
    if mode == "linear_ramp":
        ends = _pairs(options.get("end_values", 0), rank)
        return lambda x, axis, before, after: concat([_ramp(x, axis, ends[axis][0], before), x,
                                                      flip(_ramp(flip(x, axis), axis, ends[axis][1], after), axis)], axis)
    if mode in STATISTICS:
        lengths = _lengths(options.get("stat_length"), rank)
        if mode in ("maximum", "minimum") and any(0 in pair for pair in lengths):
            raise ValueError(f"pad: there is no {mode} of no elements, but stat_length is {options['stat_length']!r}")
        return lambda x, axis, before, after: concat(_with_statistic(STATISTICS[mode], x, axis, before, after, *lengths[axis]),
                                                     axis)
    if options.get("reflect_type", "even") != "odd":
        return lambda x, axis, before, after: take(x, _source_places(x.shape[axis], before, after, mode), axis)

    def turned_over(x, axis, before, after):
        if x.shape[axis] == 1:
            return take(x, _source_places(1, before, after, "edge"), axis)
        period = x.shape[axis] - (mode == "reflect")
        x = _turned_over(x, axis, before, period, mode)
        return flip(_turned_over(flip(x, axis), axis, after, period, mode), axis)
    return turned_over


# What is given for each axis

def _pairs(value, rank):
    # One value, one pair for all axes, or a pair for each of them: numbers before and behind.
    try:
        return np.broadcast_to(np.asarray(value), (rank, 2)).tolist()
    except ValueError:
        raise ValueError(f"pad: {value!r} gives no pair for each of {rank} axes") from None


def _widths(value, rank):
    if isinstance(value, dict):
        pairs = [(0, 0)] * rank
        for axis, pair in value.items():
            pairs[normalized(axis, rank, "pad")] = (pair, pair) if isinstance(pair, int) else tuple(pair)
        value = np.array(pairs, np.intp).reshape(rank, 2)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"pad: widths are whole numbers, not {array.dtype}")
    if (array < 0).any():
        raise ValueError(f"pad: widths cannot be negative, but pad_width is {value!r}")
    return [tuple(pair) for pair in _pairs(array, rank)]


def _lengths(value, rank):
    if value is None:
        return [(None, None)] * rank
    lengths = np.rint(np.asarray(value)).astype(np.intp)
    if (lengths < 0).any():
        raise ValueError(f"pad: stat_length cannot be negative, but it is {value!r}")
    return _pairs(lengths, rank)


def _part(axis, *bounds):
    return (*(slice(None),) * axis, slice(*bounds))


def _with_size(x, axis, size):
    return (*x.shape[:axis], size, *x.shape[axis + 1:])


# The modes

def _framed(x, widths, values):
    result = x
    for axis, pair in enumerate(widths):
        if any(pair):
            sides = [broadcast_to(as_tensor(value).astype(x.dtype), _with_size(result, axis, width)) for value,
                     width in zip(values[axis], pair)]
            result = concat([sides[0], result, sides[1]], axis)
    return copy(x) if result is x else result


def _filled_by(function, x, widths):
    # The function gets each row with its borders, as a view, and writes into it: rows of axis 0 first, and so on.
    padded = _framed(x, widths, [(0, 0)] * x.ndim)
    for axis, pair in enumerate(widths):
        rows = moveaxis(padded, axis, -1)
        for place in np.ndindex(rows.shape[:-1]):
            function(rows[(*place, ...)], pair, axis, {})
    return padded


def _source_places(size, before, after, mode):
    # Which element each place of the extended axis shows.
    places = np.arange(-before, size + after)
    if mode == "edge":
        return places.clip(0, size - 1)
    if mode == "wrap":
        return places % size
    period = 2 * size if mode == "symmetric" else max(2 * size - 2, 1)
    places %= period
    return np.where(places < size, places, period - places - (mode == "symmetric"))


def _turned_over(x, axis, width, period, mode):
    # Extended at the front by the elements behind the edge, turned about the edge in place and in value. A round takes whole
    # periods, so that the next one turns about an edge again.
    skipped = mode == "reflect"
    while width > 0:
        count = min((x.shape[axis] - skipped) // period * period, width)
        behind = flip(x[_part(axis, skipped, skipped + count)], axis)
        x = concat([(2 * x[_part(axis, 0, 1)] - behind).astype(x.dtype), x], axis)
        width -= count
    return x


def _ramp(x, axis, end, width):
    # From an end value towards the first element, evenly; rounded down for whole numbers.
    edge = x[_part(axis, 0, 1)]
    if width == 0:
        return x[_part(axis, 0, 0)]
    numbers = reshape(arange(width, dtype=np.float64, device=x.device), (-1,) + (1,) * (x.ndim - 1 - axis))
    distance = edge.astype(np.complex128 if x.dtype.kind == "c" else np.float64) - end
    step = distance / width
    # A step of zero may be one that is too small: there, and beside it, the division comes first. NumPy rounds so.
    ramp = where(some(equal(step, 0)), numbers / width * distance, numbers * step) + end
    return (floor(ramp) if x.dtype.kind in "iu" else ramp).astype(x.dtype)


def _with_statistic(statistic, x, axis, before, after, first, last):
    # x between the statistics of its first and of its last elements.
    size = x.shape[axis]
    first, last = [size if length is None else min(length, size) for length in (first, last)]
    sides = []
    for width, chosen in ((before, _part(axis, 0, first)), (after, _part(axis, size - last, size))):
        value = x[chosen].astype(np.uint8) if statistic is median and x.dtype.kind == "b" else x[chosen]
        value = statistic(value, axis=axis, keepdims=True)
        value = rint(value) if x.dtype.kind in "iu" and value.dtype.kind == "f" else value
        sides.append(broadcast_to(value.astype(x.dtype), _with_size(x, axis, width)))
    return [sides[0], x, sides[1]]


def _samples(rng):
    for dtype in ("f8", "i4", "c8"):
        for args, more in (((1,), {}), (((1, 2),), {"constant_values": 5}), ((((1, 0), (2, 3)),), {"constant_values": (1, 2)}),
                           ((2, "edge"), {}),
                           ((5, "wrap"), {}), ((2, "reflect"), {}), ((7, "symmetric"), {}), ((0,), {}), ((0, "mean"), {}),
                           ((2, "reflect"), {"reflect_type": "odd"}),
                           ((3, "symmetric"), {"reflect_type": "odd"}), (((1, 3), "linear_ramp"), {"end_values": (2, -3)}),
                           ((2, "mean"), {}),
                           ((((0, 2), (1, 1)), "mean"), {"stat_length": 2}), ((2, "maximum"), {"stat_length": 1}),
                           ((2, "minimum"), {})):
            yield Sample(samples.array(rng, (3, 4), dtype), *args, **more)
            yield Sample(samples.array(rng, (4, 3), dtype).T, *args, **more)
    yield Sample(samples.array(rng, (3, 4), "f8"), 2, "median", stat_length=3)
    yield Sample(samples.array(rng, (0, 2), "f4"), ((0, 0), (1, 1)), "edge")
    yield Sample(samples.array(rng, (3, 1), "u1"), ((0, 0), (1, 2)), "reflect", reflect_type="odd")


pad = composite(
    "pad(Array x, /, Any pad_width, Any mode='constant', *, Any constant_values=0, Any end_values=0, Any stat_length=None, "
    "str reflect_type='even') -> Tensor",
    "x with a border of some width before and behind each axis.", _pad, reference=np.pad, samples=_samples, notes="""
Parameters
----------
x : array_like
    Any shape.
pad_width : int, pair or sequence of pairs of ints, or dict of these by axis
    How many elements go before and behind each axis.
mode : str or callable
    "constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean", "median", "minimum", "empty", or a
    function that fills the borders of a vector, as in NumPy; it gets the vector as a Tensor, and no keywords.
constant_values, end_values, stat_length, reflect_type
    Of the modes that take them, as in NumPy.

Raises
------
TypeError
    If a width is no whole number.
ValueError
    If a width is negative, the mode is unknown or does not take an option, or an empty axis is to be extended.

Notes
-----
NumPy: ``numpy.pad``.""", example="""
>>> fo.pad(fo.asarray([1, 2]), 1)
tensor([0, 1, 2, 0])""")
