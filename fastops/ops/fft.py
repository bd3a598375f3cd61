"""Fourier transforms: three of one axis, through NumPy's pocketfft, and all others written in these."""

from functools import cache

import numpy as np

from fastops import samples
from fastops._dispatch import DispatchKey, as_tensor
from fastops.declare import declare
from fastops.derivatives import linear
from fastops.ops.create import arange, zeros
from fastops.ops.elementwise import conj, divide
from fastops.ops.families import composite, through_numpy
from fastops.ops.shape import concat, normalized, roll
from fastops.samples import Sample

NORMS = {"backward": "forward", "ortho": "ortho", "forward": "backward"}     # each with that of the inverse
DTYPES = ("f4", "f8", "c8", "c16")

NOTES = """
Parameters
----------
x : array_like
    {x}
{more}norm : str
    "backward", "ortho" or "forward": where the factor 1/n stands: with the inverse, its root with both, or here.
out : Tensor, optional
    Where to write the result.

Returns
-------
Tensor
    {result}; single precision of float32 and complex64, else double.

Raises
------
ValueError
    If n is less than 1, the norm is unknown, or out does not fit.
IndexError
    If x has no axes, or there is no such axis.

Notes
-----
NumPy: ``numpy.fft.{name}``; array API: ``fft.{name}``.
"""
ONE = """n : int, optional
    The length {length}: x is cut, or filled up with zeros.
axis : int
    The axis to transform.
"""
SEVERAL = """s : sequence of ints, optional
    The lengths {length}; x is cut, or filled up with zeros, -1 leaving an axis as it is.
axes : sequence of ints, optional
    The axes to transform, by default {axes}.
"""


@cache
def _result_dtype(name, dtype):
    return getattr(np.fft, name)(np.ones(2, dtype)).dtype


def _length(name, n):
    if n is not None and n < 1:
        raise ValueError(f"{name}: invalid number of FFT data points ({n}); at least 1 is needed")
    return n


def _check(name, x, n, axis, norm):
    # What there is to know before any data is read: the axis from the front and the length.
    if norm is not None and norm not in NORMS:
        raise ValueError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if x.ndim == 0:
        raise IndexError(f"{name}: x is 0-dimensional; there is no axis to transform")
    axis = normalized(axis, x.ndim, name)
    return axis, _length(name, x.shape[axis] if n is None else n)


# Transposes, each the transform the other way with the other norm, of as many elements as x has

OTHER_NORM = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _cut(g, axis, length):
    # The first elements along an axis, zeros after them where there are too few.
    rest = (slice(None),) * (axis % g.ndim)
    if g.shape[axis] >= length:
        return g[(*rest, slice(0, length))]
    missing = list(g.shape)
    missing[axis] = length - g.shape[axis]
    return concat([g, zeros(tuple(missing), dtype=g.dtype)], axis=axis)


def _rfft_transpose(g, x_shape, n, axis, norm):
    n = x_shape[axis] if n is None else n
    return _cut(ifft(g, n, axis, OTHER_NORM[norm]).real, axis, x_shape[axis])


def _irfft_transpose(g, x_shape, n, axis, norm):
    n = g.shape[axis]
    found = rfft(g, None, axis, OTHER_NORM[norm])
    factors = np.full(found.shape[axis], 2.0)       # the others stand for two, of which one is the conjugate
    factors[0] = 1.0
    if n % 2 == 0:
        factors[-1] = 1.0
    return _cut(found * factors.astype(g.dtype).reshape((-1,) + (1,) * (g.ndim - 1 - axis % g.ndim)), axis, x_shape[axis])


TRANSPOSES = {
    "fft": lambda g, x_shape, axis, norm: _cut(ifft(g, None, axis, OTHER_NORM[norm]), axis, x_shape[axis]),
    "ifft": lambda g, x_shape, axis, norm: _cut(fft(g, None, axis, OTHER_NORM[norm]), axis, x_shape[axis]),
    "rfft": _rfft_transpose, "irfft": _irfft_transpose}


def _along_one(name, summary, length_of, example, *, x, result, length="of the input that is used", dtypes=DTYPES):
    function = getattr(np.fft, name)

    def on_arrays(x, n=None, axis=-1, norm="backward"):
        _check(name, x, n, axis, norm)
        return function(x, n, axis, norm)

    def shape(x, n=None, axis=-1, norm="backward"):
        axis, length = _check(name, x, n, axis, norm)
        length = length_of(length, n is not None)
        _length(name, length)
        return (*x.shape[:axis], length, *x.shape[axis + 1:]), _result_dtype(name, x.dtype)

    return through_numpy(
        f"{name}(Array x, /, int? n=None, int axis=-1, str? norm='backward', Tensor(a!)? out=None) -> Tensor", summary, on_arrays, shape,
        module="fft", batching="along axis", reference=function, derivative=linear(x=TRANSPOSES[name]), example=example, notes=NOTES.format(
            x=x, more=ONE.format(length=length), result=result, name=name),
        samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), *args, **more) for dtype in (*dtypes, "i4")
                             for args, more in (((), {}), ((6,), {}), ((3, 0), {}), ((), {"axis": 0, "norm": "ortho"}), ((), {"norm": "forward"}))))


ANY, REAL = "Whole, floating-point or complex numbers, at least one axis.", "Real numbers, at least one axis."
fft = _along_one("fft", "The discrete Fourier transform along an axis.", lambda n, given: n, """
>>> fo.fft.fft(fo.asarray([1.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])""", x=ANY, result="x's shape with n along the axis; complex")
ifft = _along_one("ifft", "The inverse of fft along an axis.", lambda n, given: n, """
>>> fo.fft.ifft(fo.asarray([4.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])""", x=ANY, result="x's shape with n along the axis; complex")
rfft = _along_one("rfft", "The first n // 2 + 1 values of the Fourier transform of real numbers; the others are their conjugates.",
                  lambda n, given: n // 2 + 1, """
>>> fo.fft.rfft(fo.asarray([1.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j])""", x=REAL, result="x's shape with n // 2 + 1 along the axis; complex", dtypes=("f4", "f8"))
irfft = _along_one("irfft", "The inverse of rfft along an axis.", lambda n, given: n if given else 2 * (n - 1), """
>>> fo.fft.irfft(fo.asarray([1.0, 1.0, 1.0]))
tensor([1., 0., 0., 0.])""", x=ANY, result="x's shape with n along the axis, by default 2 * (m - 1) of m elements; real",
                   length="of the output")


def _inverse_norm(name, norm):
    if norm is not None and norm not in NORMS:
        raise ValueError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return NORMS[norm or "backward"]


def _written(schema, summary, function, example, *, notes, **more):

    return composite(schema, summary, function, module="fft", example=example, notes=notes, **more)


def _hermitian_samples(dtypes):
    return lambda rng: (Sample(samples.array(rng, (3, 4), dtype), *args, **more) for dtype in dtypes for args, more in (
        ((), {}), ((6,), {}), ((3, 0), {}), ((), {"norm": "ortho"})))


hfft = _written(
    "hfft(Array x, /, int? n=None, int axis=-1, str? norm='backward', Tensor(a!)? out=None) -> Tensor",
    "The Fourier transform, which is real, of what is its own conjugate reversed; x is the first half of that.",
    lambda x, n=None, axis=-1, norm="backward", out=None: irfft(conj(as_tensor(x)), n, axis, _inverse_norm("hfft", norm), out), """
>>> fo.fft.hfft(fo.asarray([1.0, 0.0, 0.0]))
tensor([1., 1., 1., 1.])""", reference=np.fft.hfft, samples=_hermitian_samples(DTYPES), notes=NOTES.format(
        x=ANY, more=ONE.format(length="of the output"), result="x's shape with n along the axis, by default 2 * (m - 1); real", name="hfft"))

ihfft = _written(
    "ihfft(Array x, /, int? n=None, int axis=-1, str? norm='backward', Tensor(a!)? out=None) -> Tensor", "The inverse of hfft.",
    lambda x, n=None, axis=-1, norm="backward", out=None: conj(rfft(x, n, axis, _inverse_norm("ihfft", norm)), out), """
>>> fo.fft.ihfft(fo.asarray([4.0, 0.0, 0.0, 0.0]))
tensor([1.-0.j, 1.-0.j, 1.-0.j])""", reference=np.fft.ihfft, samples=_hermitian_samples(("f4", "f8")), notes=NOTES.format(
        x=REAL, more=ONE.format(length="of the input that is used"), result="x's shape with n // 2 + 1 along the axis; complex", name="ihfft"))


# Several axes, one after the other

def _axes(name, x, s, axes):
    # Pairs of axis and length, None where the axis keeps its own.
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    s = [None] * len(axes) if s is None else (s,) if isinstance(s, int) else list(s)
    if len(s) != len(axes):
        raise ValueError(f"{name}: {len(s)} lengths are given for {len(axes)} axes")
    axes = [normalized(axis, x.ndim, name) for axis in axes]
    return [(axis, x.shape[axis] if n == -1 else n) for axis, n in zip(axes, s)]


def _each(name, step):
    def function(x, s=None, axes=None, norm="backward", out=None):
        x = as_tensor(x)
        pairs = _axes(name, x, s, axes)
        if not pairs:
            return x.astype(_result_dtype("fft", x.dtype))
        for axis, n in pairs[:0:-1]:
            x = step(x, n, axis, norm)
        return step(x, pairs[0][1], pairs[0][0], norm, out)
    return function


def _rfftn(x, s=None, axes=None, norm="backward", out=None):
    x = as_tensor(x)
    pairs = _axes("rfftn", x, s, axes)
    if not pairs:
        raise ValueError("rfftn: at least one axis must be transformed")
    x = rfft(x, pairs[-1][1], pairs[-1][0], norm, out if len(pairs) == 1 else None)
    for place, (axis, n) in enumerate(pairs[-2::-1], 2):
        x = fft(x, n, axis, norm, out if place == len(pairs) else None)
    return x


def _irfftn(x, s=None, axes=None, norm="backward", out=None):
    x = as_tensor(x)
    pairs = _axes("irfftn", x, s, axes)
    if not pairs:
        raise ValueError("irfftn: at least one axis must be transformed")
    if s is None:
        pairs[-1] = pairs[-1][0], None
    for axis, n in pairs[:-1]:
        x = ifft(x, n, axis, norm)
    return irfft(x, pairs[-1][1], pairs[-1][0], norm, out)


def _last_two(several):
    return lambda x, s=None, axes=(-2, -1), norm="backward", out=None: several(x, s, axes, norm, out)


def _several(name, summary, function, result, default, dtypes, example):
    axes = "int[2] axes=[-2, -1]" if name.endswith("2") else "int[]? axes=None"
    calls = [({}), ({"s": (3, 5), "axes": (0, 1)}), ({"norm": "ortho"}), ({"axes": (1, 0)})]
    return _written(
        f"{name}(Array x, /, int[]? s=None, {axes}, str? norm='backward', Tensor(a!)? out=None) -> Tensor", summary, function, example,
        reference=getattr(np.fft, name), samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), **call) for dtype in dtypes
                                                              for call in calls),
        notes=NOTES.format(x=REAL if name.startswith("r") else ANY, more=SEVERAL.format(
            length="of the output" if name.startswith("irfft") else "of the input that is used", axes=default), result=result, name=name))


ALL = "all, or as many of the last as s has lengths"
COMPLEX = "x's shape with the lengths of s; complex"
HALF = "x's shape with the lengths of s, the last one halved; complex"
RESTORED = "x's shape with the lengths of s, the last one 2 * (m - 1) by default; real"
fftn = _several("fftn", "The Fourier transform along several axes.", _each("fftn", fft), COMPLEX, ALL, DTYPES, """
>>> fo.fft.fftn(fo.ones((2, 2)))
tensor([[4.+0.j, 0.+0.j],
        [0.+0.j, 0.+0.j]])""")
ifftn = _several("ifftn", "The inverse of fftn.", _each("ifftn", ifft), COMPLEX, ALL, DTYPES, """
>>> fo.fft.ifftn(fo.ones((2, 2)))
tensor([[1.+0.j, 0.+0.j],
        [0.+0.j, 0.+0.j]])""")
rfftn = _several("rfftn", "The Fourier transform of real numbers along several axes, half of it along the last.", _rfftn, HALF, ALL,
                 ("f4", "f8"), """
>>> fo.fft.rfftn(fo.ones((2, 2)))
tensor([[4.+0.j, 0.+0.j],
        [0.+0.j, 0.+0.j]])""")
irfftn = _several("irfftn", "The inverse of rfftn.", _irfftn, RESTORED, ALL, DTYPES, """
>>> fo.fft.irfftn(fo.asarray([[4.0, 0.0], [0.0, 0.0]]))
tensor([[1., 1.],
        [1., 1.]])""")
fft2 = _several("fft2", "The Fourier transform along two axes.", _last_two(_each("fft2", fft)), COMPLEX, "the last two", DTYPES, """
>>> fo.fft.fft2(fo.ones((2, 2)))[0, 0]
tensor(4.+0.j)""")
ifft2 = _several("ifft2", "The inverse of fft2.", _last_two(_each("ifft2", ifft)), COMPLEX, "the last two", DTYPES, """
>>> fo.fft.ifft2(fo.ones((2, 2)))[0, 0]
tensor(1.+0.j)""")
rfft2 = _several("rfft2", "The Fourier transform of real numbers along two axes, half of it along the last.", _last_two(_rfftn), HALF,
                 "the last two", ("f4", "f8"), """
>>> fo.fft.rfft2(fo.ones((2, 2)))[0, 0]
tensor(4.+0.j)""")
irfft2 = _several("irfft2", "The inverse of rfft2.", _last_two(_irfftn), RESTORED, "the last two", DTYPES, """
>>> fo.fft.irfft2(fo.asarray([[4.0, 0.0], [0.0, 0.0]]))
tensor([[1., 1.],
        [1., 1.]])""")


# Frequencies

def _count(name, n):
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
        raise ValueError(f"{name}: n is a whole number, not {n!r}")
    if n < 1:
        raise ValueError(f"{name}: n is {n}; at least 1 is needed")
    return int(n)


def _scaled(name, numbers, n, d, dtype):
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"{name}: frequencies are floating-point numbers, not {dtype}")
    return divide(numbers, n * d).astype(dtype)


def _fftfreq(n, d=1.0, *, dtype=None, device=None):
    n = _count("fftfreq", n)
    numbers = concat([arange(0, (n - 1) // 2 + 1, device=device), arange(-(n // 2), 0, device=device)])
    return _scaled("fftfreq", numbers, n, d, dtype)


def _rfftfreq(n, d=1.0, *, dtype=None, device=None):
    n = _count("rfftfreq", n)
    return _scaled("rfftfreq", arange(0, n // 2 + 1, device=device), n, d, dtype)


def _frequencies(name, function, summary, example):
    return declare(
        f"{name}(int n, /, float d=1.0, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", summary, module="fft", family="creation",
        kernels={DispatchKey.CompositeImplicitAutograd: function}, reference=getattr(np.fft, name),
        samples=lambda rng: (Sample(n, *d) for n in (1, 2, 5, 8) for d in ((), (0.5,))), example=example, notes=f"""
Parameters
----------
n : int
    The length of the transformed axis.
d : float
    The distance between samples, in any unit; the frequencies are in cycles of its inverse.
dtype : dtype, optional
    float64 if not given.
device : device or str, optional
    Where the memory is.

Raises
------
ValueError
    If n is not a positive whole number.

Notes
-----
NumPy: ``numpy.fft.{name}``.""")


fftfreq = _frequencies("fftfreq", _fftfreq, "The frequencies that the values of fft belong to.", """
>>> fo.fft.fftfreq(4)
tensor([ 0.  ,  0.25, -0.5 , -0.25])""")
rfftfreq = _frequencies("rfftfreq", _rfftfreq, "The frequencies that the values of rfft belong to.", """
>>> fo.fft.rfftfreq(4)
tensor([0.  , 0.25, 0.5 ])""")


def _shift(name, amount):
    def function(x, axes=None):
        x = as_tensor(x)
        axes = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        axes = [normalized(axis, x.ndim, name) for axis in axes]
        return roll(x, [amount(x.shape[axis]) for axis in axes], axes)
    return function


def _shifts(name, amount, summary, example):
    return _written(f"{name}(Array x, /, int[]? axes=None) -> Tensor", summary, _shift(name, amount), example,
                    reference=getattr(np.fft, name), notes=f"axes : those to shift, by default all. NumPy: ``numpy.fft.{name}``.",
                    samples=lambda rng: (Sample(samples.array(rng, (3, 4), dtype), *axes) for dtype in ("f8", "c8", "i2")
                                         for axes in ((), (0,), ((0, 1),), (-1,))))


fftshift = _shifts("fftshift", lambda size: size // 2, "The frequency 0 moved into the middle.", """
>>> fo.fft.fftshift(fo.asarray([0, 1, -2, -1]))
tensor([-2, -1,  0,  1])""")
ifftshift = _shifts("ifftshift", lambda size: -(size // 2), "The inverse of fftshift.", """
>>> fo.fft.ifftshift(fo.asarray([-2, -1, 0, 1]))
tensor([ 0,  1, -2, -1])""")
