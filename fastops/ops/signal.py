"""Samples of functions: differences, integrals, interpolation, convolution, polynomials, windows."""

import math

import numpy as np

from fastops import samples
from fastops._batched import Decomposed
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, Tensor, as_tensor, backend_select
from fastops._loops import as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import composed, multilinear, refuse
from fastops.ops.composite import NUMPY, diff
from fastops.ops.create import arange, empty_like, zeros, zeros_like
from fastops.ops.elementwise import abs, add, clip, conj, divide, less, remainder, sqrt, subtract, where
from fastops.ops.families import composite, holds, through_numpy
from fastops.ops.linalg import matmul
from fastops.ops.reduce import cumsum, sum
from fastops.ops.shape import astype, concat, flip, normalized, ravel, reshape, sliding_window_view
from fastops.ops.sorting import argsort, searchsorted
from fastops.samples import Sample


def _at(axis, *bounds):
    return (*(slice(None),) * axis, slice(*bounds) if len(bounds) > 1 else bounds[0])


# Differences and integrals

def _rank(value):
    return value.ndim if isinstance(value, Tensor) else np.ndim(value)


def _spacings(x, spacings, axes):
    if not spacings:
        return [1.0] * len(axes)
    if len(spacings) == 1 and _rank(spacings[0]) == 0:
        return [spacings[0]] * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"gradient: {len(spacings)} spacings for {len(axes)} axes")
    result = []
    for spacing, axis in zip(spacings, axes):
        if _rank(spacing) == 0:
            result.append(spacing)
            continue
        spacing = as_tensor(spacing)
        if spacing.ndim != 1 or spacing.shape[0] != x.shape[axis]:
            raise ValueError(f"gradient: coordinates of shape {spacing.shape} do not fit axis {axis} of {x.shape[axis]} elements")
        steps = diff(spacing * 1.0 if spacing.dtype.kind in "iub" else spacing)
        even = holds((steps == steps[0]).all())
        result.append(steps[0].item() if even else steps)
    return result


def _slope(x, step, axis, edge_order):
    # The inside by central differences of second order, the ends by one-sided ones.
    shape = [1] * x.ndim
    shape[axis] = -1
    if isinstance(step, Tensor):
        before, after = step[:-1], step[1:]
        weights = [reshape(weight, shape) for weight in (-after / (before * (before + after)), (after - before) / (before * after),
                                                         before / (after * (before + after)))]
        inside = weights[0] * x[_at(axis, None, -2)] + weights[1] * x[_at(axis, 1, -1)] + weights[2] * x[_at(axis, 2, None)]
        first, last = step[0], step[-1]
    else:
        inside = divide(x[_at(axis, 2, None)] - x[_at(axis, None, -2)], 2.0 * step)
        first = last = step
    if edge_order == 1:
        ends = [divide(x[_at(axis, 1, 2)] - x[_at(axis, 0, 1)], first), divide(x[_at(axis, -1, None)] - x[_at(axis, -2, -1)], last)]
    else:
        second, previous = (step[1], step[-2]) if isinstance(step, Tensor) else (step, step)
        ends = [-(2.0 * first + second) / (first * (first + second)) * x[_at(axis, 0, 1)]
                + (first + second) / (first * second) * x[_at(axis, 1, 2)] - first / (second * (first + second)) * x[_at(axis, 2, 3)],
                last / (previous * (previous + last)) * x[_at(axis, -3, -2)] - (last + previous) / (previous * last) * x[_at(axis, -2, -1)]
                + (2.0 * last + previous) / (last * (previous + last)) * x[_at(axis, -1, None)]]
    return concat([ends[0], inside, ends[1]], axis)


def _gradient(x, spacings=None, /, *, axis=None, edge_order=1):
    x = as_tensor(x)
    spacings = () if spacings is None else spacings if isinstance(spacings, tuple) else (spacings,)
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = [normalized(one, x.ndim, "gradient") for one in axes]
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is 1 or 2, not {edge_order!r}")
    steps = _spacings(x, spacings, axes)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    for one in axes:
        if x.shape[one] < edge_order + 1:
            raise ValueError(f"gradient: axis {one} has {x.shape[one]} elements; at least {edge_order + 1} are needed")
    slopes = [_slope(x, step, one, edge_order).astype(x.dtype, copy=False) for step, one in zip(steps, axes)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


gradient = composite(
    "gradient(Array x, Any spacings=None, /, *, int[]? axis=None, int edge_order=1) -> Tensor",
    "The slopes along the axes: central differences inside, one-sided ones at the ends.",
    _gradient, gather="spacings",
    reference=lambda x, *spacings, **options: np.gradient(x, *spacings, **options), samples=lambda rng: (
        Sample(samples.array(rng, (4, 5), d), *args, **more) for d in ("f4", "f8", "i4") for args, more in (
            ((), {}), ((2.0,), {}), ((), {"axis": 0}), ((2.0, 0.5), {}), ((np.array([0.0, 1.0, 3.0, 4.0]),), {"axis": 0}),
            ((np.array([0.0, 1.0, 3.0, 4.0]),), {"axis": 0, "edge_order": 2}), ((), {"edge_order": 2, "axis": (1, 0)}))), notes="""
Parameters
----------
x : array_like
    At least edge_order + 1 elements along each axis.
spacings : scalars or arrays
    One number for all axes, or for each axis a number or the coordinates along it.
axis : int or tuple of ints, optional
    The axes; all if not given.
edge_order : int
    1 or 2: the order of the differences at the ends.

Returns
-------
Tensor, or a tuple of one for each axis

Raises
------
ValueError
    If an axis is too short or coordinates do not fit.

Notes
-----
NumPy: ``numpy.gradient``.""", example="""
>>> fo.gradient(fo.asarray([1.0, 2.0, 4.0]))
tensor([1. , 1.5, 2. ])""")


def _trapezoid(y, x=None, dx=1.0, axis=-1):
    y = as_tensor(y)
    axis = normalized(axis, y.ndim, "trapezoid")
    if x is not None:
        x = as_tensor(x)
        steps = diff(x, axis=0 if x.ndim == 1 else axis)
        dx = reshape(steps, [-1 if place == axis else 1 for place in range(y.ndim)]) if x.ndim == 1 else steps
    return sum(dx * (y[_at(axis, 1, None)] + y[_at(axis, None, -1)]) / 2.0, axis=axis)


trapezoid = composite(
    "trapezoid(Array y, Array? x=None, Any dx=1.0, int axis=-1) -> Tensor", "The integral along an axis by the trapezoidal rule.", _trapezoid,
    reference=np.trapezoid, samples=lambda rng: (Sample(samples.array(rng, (3, 4), d), *args, **more) for d in ("f4", "f8", "i4") for args, more in (
        ((), {}), ((), {"dx": 0.5, "axis": 0}), ((np.array([0.0, 1.0, 3.0, 4.0]),), {}))), notes=NUMPY.format(name="trapezoid"), example="""
>>> fo.trapezoid(fo.asarray([1.0, 2.0, 3.0]))
tensor(4.)""")

ediff1d = composite(
    "ediff1d(Array x, /, Array? to_end=None, Array? to_begin=None) -> Tensor", "The differences of neighbours, x taken as flat.",
    lambda x, /, to_end=None, to_begin=None: concat(
        [*([] if to_begin is None else [ravel(as_tensor(to_begin)).astype(as_tensor(x).dtype)]), diff(ravel(as_tensor(x))),
         *([] if to_end is None else [ravel(as_tensor(to_end)).astype(as_tensor(x).dtype)])], 0), reference=np.ediff1d,
    samples=lambda rng: (Sample(samples.array(rng, (2, 3), d), **more) for d in ("f8", "i4") for more in ({}, {"to_end": np.array([9], d), "to_begin": np.array(8, d)})),
    notes=NUMPY.format(name="ediff1d"), example="""
>>> fo.ediff1d(fo.asarray([1, 4, 9]))
tensor([3, 5])""")


def _unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    p = as_tensor(p)
    axis = normalized(axis, p.ndim, "unwrap")
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    steps = diff(p, axis=axis)
    dtype = np.result_type(steps.dtype, period)
    half = period // 2 if whole else period / 2
    low = -half
    turned = remainder(steps - low, period) + low
    if not whole or period % 2 == 0:
        turned = where((turned == low) & (steps > 0), half, turned)
    correction = where(less(abs(steps), period / 2 if discont is None else discont), 0, turned - steps)
    result = p.astype(dtype)
    return concat([result[_at(axis, None, 1)], result[_at(axis, 1, None)] + cumsum(correction, axis=axis)], axis).astype(dtype)


unwrap = composite(
    "unwrap(Array p, /, float? discont=None, int axis=-1, *, Any period=6.283185307179586) -> Tensor",
    "Angles without jumps: multiples of the period added so that neighbours differ by at most half of it.", _unwrap, reference=np.unwrap,
    samples=lambda rng: (Sample(samples.array(rng, (3, 5), d, -20, 20), **more) for d in ("f8", "f4", "i4") for more in ({}, {"axis": 0}, {"period": 4})),
    notes=NUMPY.format(name="unwrap"), example="""
>>> fo.unwrap(fo.asarray([0, 3, 2, 1, 0]), period=4)
tensor([ 0, -1, -2, -3, -4])""")


# Interpolation and convolution

def _interp_shape(x, xp, fp, left=None, right=None, period=None):
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError(f"interp: xp and fp are of one axis and one length, not of shapes {xp.shape} and {fp.shape}")
    return x.shape, np.dtype(np.complex128 if fp.dtype.kind == "c" else np.float64)


interp = through_numpy(
    "interp(Array x, /, Array xp, Array fp, Any left=None, Any right=None, float? period=None) -> Tensor",
    "The values at x of the piecewise linear function through the points (xp, fp), xp ascending.", np.interp, _interp_shape, reference=np.interp,
    batching=Decomposed(lambda x, xp, fp, left=None, right=None, period=None: _interpolated(
        *[astype(as_tensor(one), np.float64) for one in (x, xp)], astype(as_tensor(fp), np.result_type(as_tensor(fp).dtype, np.float64)), left, right, period), pointwise=("x",)),
    samples=lambda rng: (Sample(samples.array(rng, (3, 4), "f8", 0, 5), np.arange(5.0), samples.array(rng, (5,), d), *more)
                         for d in ("f8", "i4", "c16") for more in ((), (-1.0, 9.0), (None, None, 3.0))), notes="""
Raises
------
ValueError
    If xp and fp do not fit each other, or period is 0.

Notes
-----
left and right are the values outside, period that of a periodic function. NumPy: ``numpy.interp``.""", example="""
>>> fo.interp(fo.asarray([1.5]), fo.asarray([1.0, 2.0]), fo.asarray([10.0, 20.0]))
tensor([15.])""",
    derivative=composed(lambda *args, **kwargs: _interpolated(*args, **kwargs)))


def _interpolated(x, /, xp, fp, left=None, right=None, period=None):
    x, xp, fp = as_tensor(x), as_tensor(xp), as_tensor(fp)
    if period is not None:
        period = abs(period)
        x, xp = x % period, xp % period
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = concat([xp[-1:] - period, xp, xp[:1] + period])
        fp = concat([fp[-1:], fp, fp[:1]])
    if xp.shape[0] == 1:
        result = fp[0] + zeros_like(x)
    else:
        place = clip(searchsorted(xp, x.detach(), side="right") - 1, 0, xp.shape[0] - 2)
        low, width = xp[place], xp[place + 1] - xp[place]
        part = (x - low) / where(width == 0, 1, width)
        result = fp[place] + (fp[place + 1] - fp[place]) * part
    result = where(x < xp[0], fp[0] if left is None or period is not None else left, result)
    return where(x > xp[-1], fp[-1] if right is None or period is not None else right, result)


def _shifts(name, mode, count, length):
    # Where in the full convolution of count and length elements the result begins and ends.
    long, short = max(count, length), min(count, length)
    if mode == "full":
        return 0, count + length - 1
    if mode == "valid":
        return short - 1, long
    begin = (short - 1) // 2 if name == "convolve" or count >= length else short // 2
    return begin, begin + long


def _full(name, g, mode, count, length):
    # The cotangent of the full convolution.
    begin, end = _shifts(name, mode, count, length)
    return concat([zeros((begin,), dtype=g.dtype), g, zeros((count + length - 1 - end,), dtype=g.dtype)])


def _conjugated(x):
    return conj(x) if x.dtype.kind == "c" else x


def _first_of(name, default):
    # Of convolve: each element of a has met the whole of v. correlate is convolve with v conjugated and turned around.
    def transpose(g, a_shape, v, mode):
        v = reshape(v, -1)
        kernel = v if name == "convolve" else flip(_conjugated(v))
        count = math.prod(a_shape)
        return reshape(correlate(_full(name, g, mode or default, count, kernel.shape[0]), kernel, "valid"), a_shape)
    return transpose


def _second_of(name, default):
    def transpose(g, a, v_shape, mode):
        a = reshape(a, -1)
        length = math.prod(v_shape)
        found = correlate(_full(name, g, mode or default, a.shape[0], length), a, "valid")
        return reshape(found if name == "convolve" else flip(_conjugated(found)), v_shape)
    return transpose


def _convolved(name, function):
    def shape(a, v, mode="full"):
        if a.ndim != 1 and (a.ndim or name != "convolve") or v.ndim != 1 and (v.ndim or name != "convolve"):
            raise ValueError(f"{name}: arrays of one axis are wanted, not shapes {a.shape} and {v.shape}")
        if not a.size or not v.size:
            raise ValueError(f"{name}: an array is empty")
        long, short = max(a.size, v.size), min(a.size, v.size)
        sizes = {"full": long + short - 1, "same": long, "valid": long - short + 1}
        if mode not in sizes:
            raise ValueError(f"{name}: mode is 'full', 'same' or 'valid', not {mode!r}")
        return (sizes[mode],), np.result_type(a.dtype, v.dtype)

    default = "full" if name == "convolve" else "valid"

    def by_windows(a, v, mode=default):
        # A window of a for each shift, times v.
        a, v = [reshape(as_tensor(one), -1) if name == "convolve" else as_tensor(one) for one in (a, v)]
        _, dtype = shape(a, v, mode)
        a, v = astype(a, dtype), astype(v, dtype)
        begin, end = _shifts(name, mode, a.shape[0], v.shape[0])
        border = zeros((v.shape[0] - 1,), dtype=dtype)
        windows = sliding_window_view(concat([border, a, border])[begin:end + v.shape[0] - 1], v.shape[0])
        return matmul(windows, flip(v) if name == "convolve" else _conjugated(v))

    def on_arrays(a, v, mode=default):
        if name == "convolve":                  # numbers count as arrays of one element
            a, v = np.atleast_1d(a), np.atleast_1d(v)
        shape(a, v, mode)
        return function(a, v, mode)

    return through_numpy(
        f"{name}(Array a, /, Array v, str mode='{default}') -> Tensor", "The discrete, linear convolution of a and v." if name == "convolve" else
        "The sums of products of a and of v, conjugated, at each shift.", on_arrays, lambda a, v, mode=default: shape(a, v, mode), batching=Decomposed(by_windows), derivative=multilinear(a=_first_of(name, default), v=_second_of(name, default)), reference=function,
        samples=lambda rng: (Sample(samples.array(rng, (5,), d, 0.5), samples.array(rng, (3,), d, 0.5), *mode) for d in ("f8", "f4", "i4", "c16")
                             for mode in ((), ("same",), ("valid",), ("full",))), notes=f"mode : \"full\", \"same\" or \"valid\". NumPy: ``numpy.{name}``.",
        example=f"""
>>> fo.{name}(fo.asarray([1, 2, 3]), fo.asarray([0, 1]))
tensor({'[0, 1, 2, 3]' if name == 'convolve' else '[2, 3]'})""")


convolve, correlate = _convolved("convolve", np.convolve), _convolved("correlate", np.correlate)


# Polynomials, by their coefficients from the highest power down

def _polyval(p, x):
    p, x = as_tensor(p), as_tensor(x)
    if p.ndim != 1:
        raise ValueError(f"polyval: the coefficients are of one axis, not of shape {p.shape}")
    result = zeros(x.shape, dtype=np.result_type(p.dtype, x.dtype), device=x.device)
    for place in range(p.shape[0]):
        result = result * x + p[place]
    return result


polyval = composite("polyval(Array p, /, Array x) -> Tensor", "The values at x of the polynomial with coefficients p, the highest power first.", _polyval,
                    reference=np.polyval, samples=lambda rng: (Sample(samples.array(rng, (3,), d, 0.5), samples.array(rng, (2, 3), d, 0.5)) for d in ("f8", "i4", "c16")),
                    notes=NUMPY.format(name="polyval"), example="""
>>> fo.polyval(fo.asarray([1, 0, 2]), fo.asarray([3]))
tensor([11])""")


def _sum_of_polynomials(combine):
    def rows(a1, a2):
        a1, a2 = [reshape(as_tensor(one), -1) if as_tensor(one).ndim == 0 else as_tensor(one) for one in (a1, a2)]
        if a1.ndim != 1 or a2.ndim != 1:
            return NotImplemented
        length = max(a1.shape[0], a2.shape[0])
        return combine(*[concat([zeros((length - one.shape[0],), dtype=one.dtype), one]) for one in (a1, a2)])
    return rows


def _polyder_rows(p, m=1):
    p = as_tensor(p)
    if p.ndim != 1 or m < 0:
        return NotImplemented
    for _ in range(m):
        p = p[:-1] * arange(p.shape[0] - 1, 0, -1)
    return p


def _polyint_rows(p, m=1, k=None):
    p = as_tensor(p)
    if p.ndim != 1 or m < 0 or k is not None:
        return NotImplemented
    for _ in range(m):
        p = divide(p, arange(p.shape[0], 0, -1))
        p = concat([p, zeros((1,), dtype=p.dtype)])
    return p


def _poly_rows(seq_of_zeros):
    # The factors multiplied, one root after the other.
    found = as_tensor(seq_of_zeros)
    if found.ndim != 1 or found.dtype.kind == "c":
        return NotImplemented
    found = astype(found, np.float32 if found.dtype == np.float32 else np.float64)
    result = zeros((1,), dtype=found.dtype) + 1
    for place in range(found.shape[0]):
        border = zeros((1,), dtype=found.dtype)
        result = concat([result, border]) - concat([border, result * found[place]])
    return result


def _polyfit_rows(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov or not isinstance(deg, int) or deg < 0:
        return NotImplemented
    from fastops.ops.decomposition import lstsq            # declared later
    x, y = as_tensor(x) + 0.0, as_tensor(y) + 0.0
    powers = x[:, None] ** arange(deg, -1, -1)
    if w is not None:
        w = as_tensor(w)
        powers, y = powers * w[:, None], y * (w if y.ndim == 1 else w[:, None])
    scale = sqrt(sum(powers * powers, axis=0))
    found = lstsq(powers / scale, y, len(x) * np.finfo(x.dtype).eps if rcond is None else rcond)[0]
    return found / (scale if y.ndim == 1 else scale[:, None])


def _polynomial(name, signature, summary, example, calls, rows="row by row", derivative=refuse("it has no rule yet; polyval, and arithmetic on coefficients, have")):
    function = getattr(np, name)

    def on_arrays(*args, **kwargs):
        result = function(*args, **kwargs)
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)

    def shape(*args, **kwargs):
        raise NotImplementedError(f"{name}: the number of coefficients may depend on the data, which device 'meta' does not have")

    return through_numpy(f"{name}({signature}) -> Tensor", summary, on_arrays, shape, family="data-dependent", batching=rows if rows == "row by row" else Decomposed(rows), reference=function,
                         samples=lambda rng: (Sample(*call) for call in calls), notes=NUMPY.format(name=name), example=example, derivative=derivative)


A, B = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0])
polyadd = _polynomial("polyadd", "Array a1, Array a2, /", "The sum of two polynomials.", """
>>> fo.polyadd(fo.asarray([1, 2]), fo.asarray([3]))
tensor([1, 5])""", ((A, B), (B, A)), _sum_of_polynomials(add))
polysub = _polynomial("polysub", "Array a1, Array a2, /", "The difference of two polynomials.", """
>>> fo.polysub(fo.asarray([1, 2]), fo.asarray([3]))
tensor([ 1, -1])""", ((A, B), (B, A)), _sum_of_polynomials(subtract))
polymul = _polynomial("polymul", "Array a1, Array a2, /", "The product of two polynomials.", """
>>> fo.polymul(fo.asarray([1, 2]), fo.asarray([1, 3]))
tensor([1, 5, 6])""", ((A, B),))
polydiv = _polynomial("polydiv", "Array u, Array v, /", "Quotient and remainder of two polynomials.", """
>>> fo.polydiv(fo.asarray([1.0, 5.0, 6.0]), fo.asarray([1.0, 3.0]))
(tensor([1., 2.]), tensor([0.]))""", ((A, B),))
polyder = _polynomial("polyder", "Array p, /, int m=1", "The m-th derivative of a polynomial.", """
>>> fo.polyder(fo.asarray([1, 2, 3]))
tensor([2, 2])""", ((A,), (A, 2)), _polyder_rows)
polyint = _polynomial("polyint", "Array p, /, int m=1, Any k=None", "The m-th integral of a polynomial, with constants k.", """
>>> fo.polyint(fo.asarray([2.0, 2.0]))
tensor([1., 2., 0.])""", ((A,), (A, 2)), _polyint_rows)
poly = _polynomial("poly", "Array seq_of_zeros, /", "The polynomial with these roots, or of a matrix's eigenvalues.", """
>>> fo.poly(fo.asarray([1.0, 2.0]))
tensor([ 1., -3.,  2.])""", ((A,), (B,)), _poly_rows)
roots = _polynomial("roots", "Array p, /", "The roots of a polynomial.", """
>>> fo.roots(fo.asarray([1.0, -3.0, 2.0]))
tensor([2., 1.])""", ((np.array([1.0, -3.0, 2.0]),),))
polyfit = _polynomial("polyfit", "Array x, Array y, /, int deg, float? rcond=None, bool full=False, Array? w=None, Any cov=False",
                      "The polynomial of a degree that fits points best.", """
>>> fo.polyfit(fo.asarray([0.0, 1.0, 2.0]), fo.asarray([1.0, 3.0, 5.0]), 1).round(6)
tensor([2., 1.])""", ((np.arange(5.0), np.arange(5.0) ** 2, 2), (np.arange(5.0), np.arange(10.0).reshape(5, 2), 1)), _polyfit_rows)


# Windows

def _window(name, summary, more=""):
    function = getattr(np, name)

    def on_cpu(M, beta=None, *, device=None):
        return share_ndarray(function(M) if beta is None else function(M, beta))

    def on_meta(M, beta=None, *, device=None):
        return empty_meta((max(int(M), 0),), np.float64)

    return declare(f"{name}(int M, {more}*, Device? device=None, bool requires_grad=False) -> Tensor", summary, family="creation", reference=function,
                   kernels={DispatchKey.BackendSelect: backend_select, DispatchKey.CPU: on_cpu, DispatchKey.Meta: on_meta},
                   samples=lambda rng: (Sample(size, *((5.0,) if more else ())) for size in (0, 1, 5, 8)), notes=NUMPY.format(name=name), example=f"""
>>> fo.{name}(3{', 0.0' if more else ''}).shape
(3,)""")


bartlett, blackman, hamming, hanning = (_window(name, f"The {name.capitalize()} window of M points.") for name in (
    "bartlett", "blackman", "hamming", "hanning"))
kaiser = _window("kaiser", "The Kaiser window of M points, beta being its shape.", "float beta, ")



def _special_function(name):
    from fastops import special         # SciPy's, which knows the derivative
    return getattr(special, name)


i0 = through_numpy("i0(Array x, /) -> Tensor", "The modified Bessel function of order 0.", np.i0, lambda x: (x.shape, np.i0(np.zeros(1, x.dtype)).dtype), reference=np.i0,
                   batching="same shape", samples=lambda rng: (Sample(samples.array(rng, shape, d)) for d in ("f8", "f4", "i4") for shape in ((3,), (2, 3))),
                   notes=NUMPY.format(name="i0") + " ``fo.special.i0`` is SciPy's, faster.", example="""
>>> fo.i0(fo.asarray([0.0]))
tensor([1.])""",
    derivative=composed(lambda x: _special_function("i0")(x)))


def _real_if_close(a, tol=100):
    a = as_tensor(a)
    if a.dtype.kind != "c":
        return a
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a.real if bool((abs(a.imag) < limit).all()) else a


real_if_close = composite("real_if_close(Array a, /, float tol=100.0) -> Tensor", "The real part, if no imaginary part is larger than tol roundings.",
                          _real_if_close, family="data-dependent", batching="row by row", reference=np.real_if_close,
                          samples=lambda rng: (Sample(np.array(values)) for values in ([1 + 1e-15j, 2], [1 + 1j])),
                          notes="The data are read. " + NUMPY.format(name="real_if_close"), example="""
>>> fo.real_if_close(fo.asarray([1 + 0j]))
tensor([1.])""")


def _piecewise(x, condlist, funclist, *args, **kw):
    x = as_tensor(x)
    conditions = [as_tensor(condition) for condition in (condlist if isinstance(condlist, (list, tuple)) else [condlist])]
    conditions = [condition if condition.dtype == bool else condition != 0 for condition in conditions]
    if len(funclist) == len(conditions) + 1:
        rest = conditions[0]
        for condition in conditions[1:]:
            rest = rest | condition
        conditions.append(~rest)
    elif len(funclist) != len(conditions):
        raise ValueError(f"piecewise: {len(funclist)} functions for {len(conditions)} conditions")
    result = empty_like(x)
    result[...] = 0
    for condition, function in zip(conditions, funclist):
        if callable(function):
            chosen = x[condition]
            if chosen.size:
                result[condition] = function(chosen, *args, **kw)
        else:
            result[condition] = function
    return result


def piecewise(x, condlist, funclist, *args, **kw):
    """At each place the function of the last condition that is true there, of x; as ``numpy.piecewise``.

    >>> import fastops as fo
    >>> x = fo.asarray([-1.0, 2.0])
    >>> fo.piecewise(x, [x < 0, x >= 0], [lambda x: -x, 5])
    tensor([1., 5.])
    """
    return _piecewise(x, condlist, funclist, *args, **kw)


class vectorize(np.vectorize):
    """A function of numbers as one of arrays, as ``numpy.vectorize``; it gives tensors.

    >>> import fastops as fo
    >>> fo.vectorize(lambda a, b: a if a > b else b)(fo.asarray([1, 5]), 3)
    tensor([3, 5])
    """

    def __call__(self, *args, **kwargs):
        def values(value):
            return as_ndarray(value) if isinstance(value, Tensor) else value

        result = super().__call__(*map(values, args), **{name: values(value) for name, value in kwargs.items()})
        if not isinstance(result, (np.ndarray, np.generic, tuple)):
            return result               # it was used as a decorator
        return tuple(map(share_ndarray, map(np.asarray, result))) if isinstance(result, tuple) else share_ndarray(np.asarray(result))
