"""Diagonals, triangles, grids and other arrays made by a rule."""

import numpy as np

from fastops import samples
from fastops._dispatch import DispatchKey, Tensor, as_tensor
from fastops.declare import declare
from fastops.ops.composite import NUMPY
from fastops.ops.create import arange, asarray, eye, linspace, zeros
from fastops.ops.elementwise import greater_equal, pow
from fastops.ops.families import composite
from fastops.ops.shape import diagonal, expand_dims, ravel, reshape
from fastops.samples import Sample


def _diagflat(v, /, k=0):
    v = ravel(as_tensor(v))
    size = v.shape[0] + max(k, -k)
    result = zeros((size, size), dtype=v.dtype, device=v.device)
    places = np.arange(v.shape[0])
    result[places + max(-k, 0), places + max(k, 0)] = v
    return result


def _diag(v, /, k=0):
    v = as_tensor(v)
    if v.ndim == 1:
        return _diagflat(v, k)
    if v.ndim != 2:
        raise ValueError(f"diag: one or two axes are wanted, not shape {v.shape}")
    return diagonal(v, k)


def _one_array(*shapes, args=((), (1,), (-1,))):
    return lambda rng: (Sample(samples.array(rng, shape, d), *one) for d in ("f8", "i4") for shape in shapes for one in args)


diag = composite("diag(Array v, /, int k=0) -> Tensor", "The k-th diagonal of a matrix, or the matrix with a vector on that diagonal.", _diag,
                 reference=np.diag, samples=_one_array((3,), (3, 4)), notes=NUMPY.format(name="diag"), example="""
>>> fo.diag(fo.asarray([1, 2]))
tensor([[1, 0],
        [0, 2]])""")
diagflat = composite("diagflat(Array v, /, int k=0) -> Tensor", "The matrix with the elements of v, taken as flat, on its k-th diagonal.", _diagflat,
                     reference=np.diagflat, samples=_one_array((3,), (2, 2)), notes=NUMPY.format(name="diagflat"), example="""
>>> fo.diagflat([[1, 2]])
tensor([[1, 0],
        [0, 2]])""")


def _creating(schema, summary, function, example, *, calls, **more):
    name = schema.partition("(")[0]
    return declare(schema, summary, family="creation", kernels={DispatchKey.CompositeImplicitAutograd: function}, example=example,
                   reference=getattr(np, name), samples=lambda rng: (Sample(*args) for args in calls), notes=NUMPY.format(name=name), **more)


def _tri(N, M=None, k=0, dtype=None, *, device=None):
    rows = reshape(arange(N, device=device), (-1, 1))
    return greater_equal(rows, arange(-k, (N if M is None else M) - k, device=device)).astype(np.float64 if dtype is None else dtype)


tri = _creating("tri(int N, int? M=None, int k=0, ScalarType? dtype=None, *, Device? device=None, bool requires_grad=False) -> Tensor",
                "A matrix of ones on and below the k-th diagonal, zeros above.", _tri, """
>>> fo.tri(2)
tensor([[1., 0.],
        [1., 1.]])""", calls=((3,), (2, 4), (3, 2, 1), (3, None, -1, "i4")))
identity = _creating("identity(int n, ScalarType? dtype=None, *, Device? device=None, bool requires_grad=False) -> Tensor", "The unit matrix of n rows.",
                     lambda n, dtype=None, *, device=None: eye(n, dtype=dtype, device=device), """
>>> fo.identity(2)
tensor([[1., 0.],
        [0., 1.]])""", calls=((3,), (2, "i4"), (0,)))


def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, *, device=None):
    if device is None:
        device = next((one.device for one in (start, stop, base) if isinstance(one, Tensor)), None)
    if not isinstance(base, (int, float, complex)) and as_tensor(base).ndim:
        # One row of numbers for each element of base, beside those of start and stop.
        base = as_tensor(base)
        start = as_tensor(start)
        rank = max(start.ndim, as_tensor(stop).ndim, base.ndim)
        start = reshape(start, (1,) * (rank - start.ndim) + start.shape)
        base = expand_dims(reshape(base, (1,) * (rank - base.ndim) + base.shape), axis)
    result = pow(base, linspace(start, stop, num, endpoint, axis=axis, device=device))
    return result if dtype is None else result.astype(dtype)


logspace = _creating(
    "logspace(Any start, Any stop, int num=50, bool endpoint=True, Any base=10.0, ScalarType? dtype=None, int axis=0, *, Device? device=None)"
    " -> Tensor", "Numbers evenly spaced by their logarithms, from base**start to base**stop.", _logspace, """
>>> fo.logspace(0, 2, 3)
tensor([  1.,  10., 100.])""", calls=((0, 2, 3), (1.0, 3.0, 5, False), (0, 3, 4, True, 2.0), (0, 2, 3, True, [2.0, 10.0]),
                                              (np.array([0, 1], "f4"), 2, 3)))


def _indices(dimensions, dtype=np.int64, sparse=False, *, device=None):
    shape = tuple(dimensions)
    axes = [reshape(arange(size, dtype=dtype, device=device), (1,) * place + (size,) + (1,) * (len(shape) - 1 - place))
            for place, size in enumerate(shape)]
    if sparse:
        return tuple(axes)
    result = zeros((len(shape), *shape), dtype=dtype, device=device)
    for place, axis in enumerate(axes):
        result[place] = axis
    return result


indices = _creating("indices(int[] dimensions, ScalarType? dtype=None, bool sparse=False, *, Device? device=None) -> Tensor",
                    "The places of a grid's points along each of its axes, in an array of one axis more.",
                    lambda dimensions, dtype=None, sparse=False, *, device=None: _indices(dimensions, dtype or np.int64, sparse, device=device), """
>>> fo.indices((2, 2))[0]
tensor([[0, 0],
        [1, 1]])""", calls=(((2, 3),), ((3,), "f8"), ((2, 0),)))


def fromfunction(function, shape, *, dtype=float, **kwargs):
    """*function* of the places along each axis of an array of *shape*; as ``numpy.fromfunction``.

    >>> import fastops as fo
    >>> fo.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    tensor([[0, 1],
            [1, 2]])
    """
    return function(*_indices(shape, np.dtype(dtype)), **kwargs)


def _tensors_of(function):
    def made(*args, **kwargs):
        return tuple([asarray(part) for part in function(*args, **kwargs)])

    made.__name__ = made.__qualname__ = function.__name__
    made.__doc__ = f"As ``numpy.{function.__name__}``, a tuple of tensors.\n\nThe arguments and errors are NumPy's."
    return made


diag_indices, tril_indices, triu_indices, mask_indices, ix_ = map(_tensors_of, (
    np.diag_indices, np.tril_indices, np.triu_indices, np.mask_indices, np.ix_))


def _of_shape(function, of_size):
    def made(arr, k=0):
        shape = as_tensor(arr).shape
        if of_size is np.diag_indices:
            if len(shape) < 2 or len(set(shape)) > 1:
                raise ValueError(f"{function.__name__}: an array of at least two axes of one length is wanted, not shape {shape}")
            return diag_indices(shape[0], len(shape))
        if len(shape) != 2:
            raise ValueError(f"{function.__name__}: a matrix is wanted, not shape {shape}")
        return _tensors_of(of_size)(shape[0], k, shape[1])

    made.__name__ = made.__qualname__ = function.__name__
    made.__doc__ = f"As ``numpy.{function.__name__}``, a tuple of tensors.\n\nRaises ValueError for an array of a shape that does not fit."
    return made


diag_indices_from = _of_shape(np.diag_indices_from, np.diag_indices)
tril_indices_from = _of_shape(np.tril_indices_from, np.tril_indices)
triu_indices_from = _of_shape(np.triu_indices_from, np.triu_indices)


class Grid:
    """``mgrid[0:2, 0:3]``: the coordinates of a grid's points, from slices; NumPy's ``mgrid`` and, sparse, ``ogrid``.

    >>> import fastops as fo
    >>> fo.mgrid[0:2, 0:2][1]
    tensor([[0, 1],
            [0, 1]])
    """

    def __init__(self, grid):
        self._grid = grid

    def __getitem__(self, key):
        result = self._grid[key]
        return tuple(map(asarray, result)) if isinstance(result, (tuple, list)) else asarray(result)


class Joiner:
    """``r_[1:3, 0, 5]``: slices, numbers and arrays joined along an axis; NumPy's ``r_`` and ``c_``.

    >>> import fastops as fo
    >>> fo.r_[1:3, 0, fo.asarray([5, 6])]
    tensor([1, 2, 0, 5, 6])
    """

    def __init__(self, joiner):
        self._joiner = joiner

    def __getitem__(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        return asarray(self._joiner[tuple([np.asarray(part) if hasattr(part, "keyset") else part for part in parts])])


mgrid, ogrid, r_, c_ = Grid(np.mgrid), Grid(np.ogrid), Joiner(np.r_), Joiner(np.c_)
s_, index_exp, ndindex = np.s_, np.index_exp, np.ndindex


def ndenumerate(arr):
    """Pairs of place and number of each element, as ``numpy.ndenumerate``.

    >>> import fastops as fo
    >>> list(fo.ndenumerate(fo.asarray([5, 6])))
    [((0,), 5), ((1,), 6)]
    """
    arr = as_tensor(arr)
    for place in np.ndindex(arr.shape):
        yield place, arr.item(*place) if place else arr.item()
