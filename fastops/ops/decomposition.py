"""Linear algebra: solving, factors, eigenvalues, norms, over stacks of matrices in the last two axes."""

import builtins
from collections import namedtuple

import numpy as np
from numpy.linalg import LinAlgError, _umath_linalg

from fastops import errors, samples
from fastops._batched import Decomposed, beneath
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey, DispatchKeySet, as_tensor
from fastops._gufunc import ByRank, GeneralizedUfunc
from fastops._loops import as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import composed, transposes
from fastops.ops.composite import cross as cross_product
from fastops.ops.create import eye, ones_like, tril, triu
from fastops.ops.elementwise import abs, conj, divide, equal, greater, multiply, pow, sqrt, where
from fastops.ops.families import composite, through_numpy, write_out
from fastops.ops.linalg import matmul
from fastops.ops.linalg import outer as outer_product
from fastops.ops.reduce import all as every
from fastops.ops.reduce import amax, amin, count_nonzero, sum
from fastops.ops.shape import diagonal as diagonal_of
from fastops.ops.shape import (astype, broadcast_to, concat, copy, expand_dims, matrix_transpose, moveaxis, normalized, permute_dims,
                               ravel, reshape, stack, take_along_axis)
from fastops.ops.sorting import argsort
from fastops.samples import Sample

EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")

PLAIN = DispatchKeySet("CPU")
INEXACT = ("f4", "f8", "c8", "c16")
NOTES = """
Parameters
----------
{parameters}

Returns
-------
{result}

Raises
------
LinAlgError
    If the matrices are not {shape}{failure}.
TypeError
    If the dtype is float16.

Notes
-----
Whole numbers are taken as float64. {source}
"""
MATRIX = "x : array_like\n    Shape (..., {shape}), of whole, floating-point or complex numbers."


def _notes(name, result, *, shape="square", size="n, n", failure="", more="", source=None):
    parameters = MATRIX.format(shape=size) + ("\n" + more if more else "")
    return NOTES.format(parameters=parameters, result=result, shape=shape, failure=failure,
                        source=source or f"NumPy: ``numpy.linalg.{name}``, with LAPACK.")


def _both(kernel):
    return {DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}


def _well_conditioned(rng, size, dtype, stack=()):
    # Far from singular, so that another order of rounding shows in the last places only.
    matrix = samples.array(rng, (*stack, size, size), dtype, -1.0, 1.0)
    return (matrix + 4 * np.eye(size)).astype(dtype)


def _squares(rng):
    for dtype in (*INEXACT, "i4"):
        yield Sample(_well_conditioned(rng, 3, dtype))
        yield Sample(_well_conditioned(rng, 4, dtype).T)
        yield Sample(_well_conditioned(rng, 2, dtype, (3,)))
    yield Sample(np.zeros((2, 0, 0)))
    yield Sample(np.zeros((0, 2, 2), "f4"))


def _hermitian(rng):
    for sample in _squares(rng):
        matrix = sample.args[0]
        yield Sample(matrix @ matrix.swapaxes(-1, -2).conj() + np.eye(matrix.shape[-1], dtype=matrix.dtype))


# Derivatives. Cotangents of results that nothing arrived at are None.

def _conj(x):
    return conj(x) if x.dtype.kind == "c" else x


def _adjoint(x):
    return _conj(matrix_transpose(x))


def _scaled(numbers, matrices):
    return numbers[..., None, None] * matrices


def diagonal_of_last(x):
    return diagonal_of(x, 0, -2, -1)


def _diagonal_of(values):
    # Vectors as the diagonals of matrices.
    return values[..., None, :] * eye(values.shape[-1], dtype=values.dtype)


def _sum_of(*terms):
    terms = [term for term in terms if term is not None]
    return builtins.sum(terms[1:], terms[0]) if terms else None


def _slogdet_transpose(g, x, result):
    sign, size = g
    if x.dtype.kind == "c" and sign is not None:
        turned = (conj(sign) * result[0]).imag * 1j
        size = -turned if size is None else size - turned
    return None if size is None else _scaled(size, _adjoint(inv(x)))


def _solved(matrices, right, single):
    # With one right-hand side for each matrix, whose axes a stack of matrices has too.
    return solve(matrices, right[..., None])[..., 0] if single else solve(matrices, right)


def _solve_transpose(g, x1, x2_shape, result):
    back = _solved(_adjoint(x1), g, len(x2_shape) == 1)
    if len(x2_shape) == 1:
        return -back[..., :, None] * _conj(result)[..., None, :]
    return -matmul(back, _adjoint(result))


def _cholesky_transpose(g, result, upper):
    lower, g = (_adjoint(result), _adjoint(g)) if upper else (result, g)
    middle = tril(matmul(_adjoint(lower), g))
    half = np.tril(np.full((middle.shape[-1],) * 2, 1.0)) - 0.5 * np.eye(middle.shape[-1])
    inside = solve(_adjoint(lower), middle * half.astype(middle.real.dtype))
    found = _adjoint(solve(_adjoint(lower), _adjoint(inside)))
    return (found + _adjoint(found)) / 2


def _gaps(values):
    # 1 / (w_j - w_i), 0 on the diagonal and where two are equal.
    gaps = values[..., None, :] - values[..., :, None]
    return where(gaps == 0, 0, 1 / where(gaps == 0, 1, gaps))


def _eigh_transpose(g, result):
    values, vectors = result
    inner = None if g[0] is None else _diagonal_of(g[0])
    if g[1] is not None:
        inner = _sum_of(inner, matmul(_adjoint(vectors), g[1]) * _gaps(values))
    if inner is None:
        return None
    found = matmul(vectors, matmul(astype(inner, vectors.dtype), _adjoint(vectors)))
    return (found + _adjoint(found)) / 2


def _eig_transpose(g, result):
    values, vectors = result
    inner = None if g[0] is None else _diagonal_of(g[0])
    if g[1] is not None:
        along = matmul(_adjoint(vectors), g[1])
        along = along - matmul(_adjoint(vectors), vectors * diagonal_of_last(along).real[..., None, :])
        inner = _sum_of(inner, along * _conj(_gaps(values)))
    return None if inner is None else solve(_adjoint(vectors), matmul(inner, _adjoint(vectors)))


def _svd_transpose(g, result):
    left, values, right = result            # x = left @ diag(values) @ right
    of_left, of_values, of_right = g
    k = values.shape[-1]
    if (left.shape[-1] > k and of_left is not None) or (right.shape[-2] > k and of_right is not None):
        raise errors.NoDerivativeError("svd: the derivative of the vectors beyond the singular values is not defined; pass full_matrices=False")
    left, right = left[..., :, :k], right[..., :k, :]
    squares = values * values
    gaps = _gaps(squares)
    safe = where(values == 0, 1, values)
    inverse = where(values == 0, 0, 1 / safe)
    inner = None if of_values is None else _diagonal_of(of_values)
    outer = []
    if of_left is not None:
        turned = matmul(_adjoint(left), of_left)
        skew = turned - _adjoint(turned)
        inner = _sum_of(inner, skew * gaps * values[..., None, :])
        if turned.dtype.kind == "c":
            inner = inner + _diagonal_of(diagonal_of_last(skew) * (0.5 * inverse))
        if left.shape[-2] > k:
            outer.append(matmul((of_left - matmul(left, turned)) * inverse[..., None, :], right))
    if of_right is not None:
        turned = matmul(right, _adjoint(of_right))
        skew = turned - _adjoint(turned)
        inner = _sum_of(inner, values[..., :, None] * skew * gaps)
        if right.shape[-1] > k:
            across = of_right - matmul(_adjoint(turned), right)
            outer.append(matmul(left, inverse[..., :, None] * across))
    if inner is None:
        return None
    return _sum_of(matmul(left, matmul(astype(inner, left.dtype), right)), *outer)


def _qr_transpose(g, result, mode):
    if mode != "reduced":
        raise errors.NoDerivativeError(f"qr: there is a derivative for mode='reduced', not for mode={mode!r}")
    q, r = result
    of_q, of_r = g
    if of_q is None and of_r is None:
        return None
    m, n = q.shape[-2], r.shape[-1]
    of_q = q * 0 if of_q is None else of_q
    of_r = r * 0 if of_r is None else of_r
    rest = None
    if n > m:                               # r = [u | v], x = [q u | q v]
        beyond, of_beyond = r[..., m:], of_r[..., m:]
        rest = matmul(q, of_beyond)
        of_q = of_q + matmul(matmul(q, beyond), _adjoint(of_beyond))
        r, of_r = r[..., :m], of_r[..., :m]
    inner = matmul(r, _adjoint(of_r)) - matmul(_adjoint(of_q), q)
    below = np.tril(np.ones(inner.shape[-2:]), -1).astype(inner.real.dtype)
    symmetric = inner * below + _adjoint(inner * below) + _diagonal_of(astype(diagonal_of_last(inner).real, inner.dtype))
    found = _adjoint(solve(r, _adjoint(of_q + matmul(q, symmetric))))
    return found if rest is None else concat([found, rest], axis=-1)


def _lstsq_composition(a, b, rcond=None):
    a, b = as_tensor(a), as_tensor(b)
    with_values = lstsq(a.detach(), b.detach(), rcond)
    x = matmul(pinv(a, rcond=rcond), b) if rcond is not None else matmul(pinv(a), b)
    away = b - matmul(a, x)
    residuals = sum(away.real * away.real + away.imag * away.imag if away.dtype.kind == "c" else away * away, axis=0)
    return x, reshape(residuals, with_values[1].shape) if with_values[1].size else with_values[1], with_values[2], svdvals(a)


def _expm_transpose(g, x):
    # The derivative of expm at x^H in the direction g stands beside it in the exponential of a block matrix.
    n = x.shape[-1]
    turned = _adjoint(x)
    top = concat([turned, g], axis=-1)
    bottom = concat([turned * 0, turned], axis=-1)
    return expm(concat([top, bottom], axis=-2))[..., :n, n:]


def _lu_transpose(g, result, permute_l):
    if permute_l:
        raise errors.NoDerivativeError("lu: there is a derivative for permute_l=False")
    p, lower, upper = result
    if lower.shape[-2] != upper.shape[-1]:
        raise errors.NoDerivativeError("lu: there is a derivative for square matrices")
    below = np.tril(np.ones(upper.shape[-2:]), -1).astype(upper.real.dtype)
    inner = None
    if g[1] is not None:
        inner = matmul(_adjoint(lower), g[1]) * below
    if g[2] is not None:
        inner = _sum_of(inner, matmul(g[2], _adjoint(upper)) * (1 - below))
    if inner is None:
        return None
    found = solve(_adjoint(lower), _adjoint(solve(upper, _adjoint(inner))))
    return matmul(astype(p, found.dtype), found)


def _back(a, g, trans, lower, unit_diagonal):
    # The cotangent of the right-hand side.
    kind = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if kind == 0:
        return solve_triangular(a, g, trans=2, lower=lower, unit_diagonal=unit_diagonal)
    return solve_triangular(_conj(a) if kind == 1 else a, g, trans=0, lower=lower, unit_diagonal=unit_diagonal)


def _solve_triangular_transpose(g, a, b_shape, result, trans, lower, unit_diagonal):
    back = _back(a, g, trans, lower, unit_diagonal)
    if len(b_shape) == 1:
        back, result = back[..., None], result[..., None]
    kind = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    found = -matmul(back, _adjoint(result)) if kind == 0 else -matmul(_conj(result), matrix_transpose(back)) if kind == 1 \
        else -matmul(result, _adjoint(back))
    step = -1 if unit_diagonal else 0
    return tril(found, step) if lower else triu(found, -step)


def _cho_solve_composition(c, b, *, lower=True):
    c, b = as_tensor(c), as_tensor(b)
    if lower:
        return solve_triangular(c, solve_triangular(c, b, lower=True), trans=2, lower=True)
    return solve_triangular(c, solve_triangular(c, b, trans=2, lower=False), lower=False)


def _cofactors(x, determinant):
    # The derivative of the determinant by each entry: of small matrices by products of entries, which singular ones have too.
    size = x.shape[-1]
    if size > 3:
        return _scaled(determinant, matrix_transpose(inv(x)))
    if size < 2:
        return ones_like(x)
    if size == 2:
        return stack([stack([x[..., 1, 1], -x[..., 1, 0]], axis=-1), stack([-x[..., 0, 1], x[..., 0, 0]], axis=-1)], axis=-2)
    first, second, third = x[..., 0, :], x[..., 1, :], x[..., 2, :]
    return stack([cross_product(second, third), cross_product(third, first), cross_product(first, second)], axis=-2)


det = declare(
    "det(Array x, /) -> Tensor", "The determinant.", module="linalg", family="linear-algebra",
    kernels=_both(GeneralizedUfunc(_umath_linalg.det, inexact=True)), reference=np.linalg.det, samples=_squares,
    notes=_notes("det", "Tensor\n    Shape (...)."), example="""
>>> fo.linalg.det(fo.asarray([[1.0, 2.0], [3.0, 4.0]]))
tensor(-2.)""",
    derivative=transposes(x=lambda g, x, result: _scaled(g, _conj(_cofactors(x, result)))))

slogdet = declare(
    "slogdet(Array x, /) -> (Tensor, Tensor)", "The sign of the determinant and the logarithm of its absolute value.",
    module="linalg", family="linear-algebra", reference=np.linalg.slogdet, samples=_squares,
    kernels=_both(GeneralizedUfunc(_umath_linalg.slogdet, inexact=True, results=SlogdetResult)),
    notes=_notes("slogdet", "SlogdetResult(sign, logabsdet)\n    Both of shape (...); of singular matrices 0 and -inf."), example="""
>>> fo.linalg.slogdet(fo.asarray([[1.0, 2.0], [3.0, 4.0]])).sign
tensor(-1.)""",
    derivative=transposes(x=_slogdet_transpose))

inv = declare(
    "inv(Array x, /) -> Tensor", "The inverse.", module="linalg", family="linear-algebra",
    kernels=_both(GeneralizedUfunc(_umath_linalg.inv, inexact=True, failure="Singular matrix")), reference=np.linalg.inv,
    samples=_squares, notes=_notes("inv", "Tensor\n    x's shape.", failure=", or singular"), example="""
>>> fo.linalg.inv(fo.asarray([[2.0, 0.0], [0.0, 4.0]]))
tensor([[0.5 , 0.  ],
        [0.  , 0.25]])""",
    derivative=transposes(x=lambda g, result: -matmul(_adjoint(result), matmul(g, _adjoint(result)))))


def _systems(rng):
    for sample in _squares(rng):
        matrix = sample.args[0]
        yield Sample(matrix, samples.array(rng, matrix.shape[-1:], "f8"))
        yield Sample(matrix, samples.array(rng, (*matrix.shape[:-1], 2), matrix.dtype))


solve = declare(
    "solve(Array x1, Array x2, /) -> Tensor", "The x of x1 @ x = x2.", module="linalg", family="linear-algebra",
    kernels=_both(ByRank(GeneralizedUfunc(_umath_linalg.solve1, inexact=True, failure="Singular matrix"),
                         GeneralizedUfunc(_umath_linalg.solve, inexact=True, failure="Singular matrix"))),
    reference=np.linalg.solve, batching="solved", samples=_systems, notes=NOTES.format(
        parameters="x1 : array_like\n    Shape (..., n, n).\nx2 : array_like\n    Shape (n,), one right-hand side, or "
                   "(..., n, k), k of them.", result="Tensor\n    Shape (..., n) or (..., n, k).", shape="square",
        failure=", do not fit x2, or are singular", source="NumPy: ``numpy.linalg.solve``, with LAPACK."), example="""
>>> fo.linalg.solve(fo.asarray([[2.0, 0.0], [0.0, 4.0]]), fo.asarray([2.0, 2.0]))
tensor([1. , 0.5])""",
    derivative=transposes(x1=_solve_transpose, x2=lambda g, x1, x2_shape: _solved(_adjoint(x1), g, len(x2_shape) == 1)))

_lower = GeneralizedUfunc(_umath_linalg.cholesky_lo, inexact=True, failure="Matrix is not positive definite")
_upper = GeneralizedUfunc(_umath_linalg.cholesky_up, inexact=True, failure="Matrix is not positive definite")

cholesky = declare(
    "cholesky(Array x, /, *, bool upper=False) -> Tensor", "The triangular factor L of x = L @ L^H, or U of x = U^H @ U.",
    module="linalg", family="linear-algebra", kernels=_both(
        lambda x, upper=False: (_upper if upper else _lower).apply(cholesky, x)), reference=np.linalg.cholesky,
    samples=lambda rng: (Sample(sample.args[0], **more) for sample in _hermitian(rng) for more in ({}, {"upper": True})),
    notes=_notes("cholesky", "Tensor\n    x's shape, zeros in the other triangle.", failure=", or not positive definite",
                 more="upper : bool\n    Whether to give U."), example="""
>>> fo.linalg.cholesky(fo.asarray([[4.0, 2.0], [2.0, 5.0]]))
tensor([[2., 0.],
        [1., 2.]])""",
    derivative=transposes(x=_cholesky_transpose).but(hermitian=True))

# Eigenvalues

_NO_EIGENVALUES = "Eigenvalues did not converge"
UPLO = "UPLO : str\n    \"L\" or \"U\": the triangle that is read."


def _triangle(name, UPLO):
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"{name}: UPLO is 'L' or 'U', not {UPLO!r}")
    return str(UPLO).upper()


_eigh = {letter: GeneralizedUfunc(ufunc, inexact=True, failure=_NO_EIGENVALUES, results=EighResult)
         for letter, ufunc in (("L", _umath_linalg.eigh_lo), ("U", _umath_linalg.eigh_up))}
_eigvalsh = {letter: GeneralizedUfunc(ufunc, inexact=True, failure=_NO_EIGENVALUES)
             for letter, ufunc in (("L", _umath_linalg.eigvalsh_lo), ("U", _umath_linalg.eigvalsh_up))}
_eig = GeneralizedUfunc(_umath_linalg.eig, inexact=True, failure=_NO_EIGENVALUES, results=EigResult)
_eigvals = GeneralizedUfunc(_umath_linalg.eigvals, inexact=True, failure=_NO_EIGENVALUES)


def _finite(name, x):
    # LAPACK loops for ever, or gives nonsense, where something is not finite.
    if x.device == "cpu" and x.dtype.kind in "fc" and not np.isfinite(as_ndarray(x)).all():
        raise LinAlgError(f"{name}: Array must not contain infs or NaNs")
    return x


eigh = declare(
    "eigh(Array x, /, str UPLO='L') -> (Tensor, Tensor)", "Eigenvalues, ascending, and eigenvectors of Hermitian matrices.",
    module="linalg", family="linear-algebra",
    kernels=_both(lambda x, UPLO="L": _eigh[_triangle("eigh", UPLO)].apply(eigh, x)),
    reference=np.linalg.eigh, samples=_hermitian, notes=_notes(
        "eigh", "EighResult(eigenvalues, eigenvectors)\n    Shapes (..., n), real, and (..., n, n), a vector in each column.",
        more=UPLO), example="""
>>> fo.linalg.eigh(fo.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
tensor([1., 2.])""",
    derivative=transposes(x=_eigh_transpose).but(hermitian=True, determined=(0,)))

eigvalsh = declare(
    "eigvalsh(Array x, /, str UPLO='L') -> Tensor", "The eigenvalues, ascending, of Hermitian matrices.",
    module="linalg", family="linear-algebra",
    kernels=_both(lambda x, UPLO="L": _eigvalsh[_triangle("eigvalsh", UPLO)].apply(eigvalsh, x)),
    reference=np.linalg.eigvalsh, samples=_hermitian, notes=_notes("eigvalsh", "Tensor\n    Shape (..., n), real.", more=UPLO),
    example="""
>>> fo.linalg.eigvalsh(fo.asarray([[2.0, 0.0], [0.0, 1.0]]))
tensor([1., 2.])""",
    derivative=transposes(x=lambda g, x, UPLO: _eigh_transpose((g, None), eigh(x, UPLO))).but(hermitian=True))


def _with_eigenvalues(rng):
    # Triangular matrices of distinct diagonals: the order and the phase of the results are LAPACK's own.
    for dtype in (*INEXACT, "i4"):
        yield Sample(np.triu(samples.array(rng, (3, 3), dtype, 0.0, 1.0)) + np.diag([1, 3, 5]).astype(dtype))
    yield Sample(np.zeros((2, 0, 0)))


def _single(x, results):
    # LAPACK is called in double precision for complex numbers of single precision; the result is as precise as x.
    if as_tensor(x).dtype != np.complex64:
        return results
    if isinstance(results, tuple):
        return type(results)(*[astype(result, np.complex64) for result in results])
    return astype(results, np.complex64)


def _as_complex(values):
    return values.astype("c8" if values.dtype.itemsize == 4 else "c16") if values.dtype.kind == "f" else values


eig = declare(
    "eig(Array x, /) -> (Tensor, Tensor)", "The eigenvalues and eigenvectors; always complex numbers.",
    module="linalg", family="linear-algebra", kernels=_both(lambda x: _single(x, _eig.apply(eig, _finite("eig", as_tensor(x))))),
    reference=lambda x: tuple(map(_as_complex, np.linalg.eig(x))), samples=_with_eigenvalues, notes=_notes(
        "eig", "EigResult(eigenvalues, eigenvectors)\n    Shapes (..., n) and (..., n, n), a vector in each column.",
        failure=", or not finite", source="NumPy: ``numpy.linalg.eig``, which turns real results into real numbers; array API: "
                                          "``linalg.eig``."), example="""
>>> fo.linalg.eig(fo.asarray([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
tensor([0.+1.j, 0.-1.j])""",
    derivative=transposes(x=_eig_transpose).but(determined=(0,)))

eigvals = declare(
    "eigvals(Array x, /) -> Tensor", "The eigenvalues; always complex numbers.", module="linalg", family="linear-algebra",
    kernels=_both(lambda x: _single(x, _eigvals.apply(eigvals, _finite("eigvals", as_tensor(x))))),
    reference=lambda x: _as_complex(np.linalg.eigvals(x)), samples=_with_eigenvalues,
    notes=_notes("eigvals", "Tensor\n    Shape (..., n).", failure=", or not finite"), example="""
>>> fo.linalg.eigvals(fo.asarray([[0.0, -1.0], [1.0, 0.0]]))
tensor([0.+1.j, 0.-1.j])""",
    derivative=transposes(x=lambda g, x: _eig_transpose((g, None), eig(x))))

# Singular values

_SMALLER = {"p": lambda sizes: min(sizes["m"], sizes["n"])}
_NO_SVD = "SVD did not converge"
_svd_full = GeneralizedUfunc(_umath_linalg.svd_f, derived=_SMALLER, inexact=True, failure=_NO_SVD, results=SVDResult)
_svd_reduced = GeneralizedUfunc(_umath_linalg.svd_s, derived=_SMALLER, inexact=True, failure=_NO_SVD, results=SVDResult)
_svd_values = GeneralizedUfunc(_umath_linalg.svd, derived=_SMALLER, inexact=True, failure=_NO_SVD)


def _svd(x, full_matrices=True, compute_uv=True, hermitian=False):
    if not compute_uv:
        return svdvals(x)
    if hermitian:
        return _hermitian_svd(x)
    return (_svd_full if full_matrices else _svd_reduced).apply(svd, x)


def _hermitian_svd(x):
    # The singular values are the sizes of the eigenvalues, descending; the signs go into Vh.
    values, vectors = eigh(x)
    order = argsort(abs(values), axis=-1, descending=True)
    values = take_along_axis(values, order, -1)
    vectors = take_along_axis(vectors, broadcast_to(expand_dims(order, -2), vectors.shape), -1)
    signs = astype(where(values < 0, -1, 1), values.dtype)
    return SVDResult(vectors, abs(values), matrix_transpose(conj(multiply(vectors, expand_dims(signs, -2)))))


def _rectangles(rng):
    for dtype in (*INEXACT, "i4"):
        for shape in ((3, 2), (2, 3), (2, 4, 3)):
            yield Sample(samples.array(rng, shape, dtype))


svd = declare(
    "svd(Array x, /, bool full_matrices=True, bool compute_uv=True, bool hermitian=False) -> (Tensor, Tensor, Tensor)",
    "The singular value decomposition x = U @ diag(S) @ Vh.", module="linalg", family="linear-algebra", kernels=_both(_svd),
    reference=np.linalg.svd, samples=lambda rng: (Sample(sample.args[0], full) for sample in _rectangles(rng) for full in (True, False)),
    notes=_notes("svd", "SVDResult(U, S, Vh)\n    Shapes (..., m, m), (..., k), (..., n, n) with k the smaller of m and n, or "
                        "(..., m, k), (..., k), (..., k, n); S descending and real. S alone if compute_uv is False.",
                 shape="matrices", size="m, n", more="full_matrices : bool\n    Whether U and Vh are square.\n"
                 "compute_uv : bool\n    Whether to give U and Vh.\nhermitian : bool\n    Whether x is Hermitian, which is quicker."),
    example="""
>>> fo.linalg.svd(fo.asarray([[3.0, 0.0], [0.0, 4.0]])).S
tensor([4., 3.])""",
    derivative=transposes(x=_svd_transpose).but(determined=(1,)))

svdvals = declare(
    "svdvals(Array x, /) -> Tensor", "The singular values, descending.", module="linalg", family="linear-algebra",
    kernels=_both(_svd_values), reference=lambda x: np.linalg.svd(x, compute_uv=False),
    samples=_rectangles, notes=_notes("svdvals", "Tensor\n    Shape (..., k) with k the smaller of m and n, real.",
                                      shape="matrices", size="m, n"), example="""
>>> fo.linalg.svdvals(fo.asarray([[3.0, 0.0], [0.0, 4.0]]))
tensor([4., 3.])""",
    derivative=transposes(x=lambda g, x: _svd_transpose((None, g, None), svd(x, full_matrices=False))))


# Orthogonal factors and least squares

def _inexact_dtype(dtype, name):
    if dtype == np.float16:
        raise TypeError(f"{name}: array type float16 is not supported in linear algebra; take float32")
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _qr(x, mode="reduced"):
    result = np.linalg.qr(x, mode)
    return QRResult(*result) if mode in ("reduced", "complete") else tuple(result) if mode == "raw" else result


def _qr_shape(x, mode="reduced"):
    if x.ndim < 2:
        raise LinAlgError(f"qr: x has {x.ndim} dimensions, at least 2 are needed")
    *stack, m, n = x.shape
    k, dtype = min(m, n), _inexact_dtype(x.dtype, "qr")
    shapes = {"reduced": [(m, k), (k, n)], "complete": [(m, m), (m, n)], "raw": [(n, m), (k,)], "r": [(k, n)]}
    if mode not in shapes:
        raise ValueError(f"qr: mode is 'reduced', 'complete', 'r' or 'raw', not {mode!r}")
    facts = [((*stack, *shape), dtype) for shape in shapes[mode]]
    return facts if len(facts) > 1 else facts[0]


def _qr_on_meta(x, mode="reduced"):
    facts = _qr_shape(as_tensor(x), mode)
    if isinstance(facts, tuple):
        return empty_meta(*facts)
    tensors = [empty_meta(*fact) for fact in facts]
    return QRResult(*tensors) if mode != "raw" else tuple(tensors)


def _qr_on_cpu(x, mode="reduced"):
    _qr_shape(as_tensor(x), mode)
    result = _qr(as_ndarray(as_tensor(x)), mode)
    if isinstance(result, np.ndarray):
        return share_ndarray(result)
    parts = [share_ndarray(np.ascontiguousarray(part)) for part in result]
    return QRResult(*parts) if mode != "raw" else tuple(parts)


qr = declare(
    "qr(Array x, /, str mode='reduced') -> (Tensor, Tensor)", "The factors of x = Q @ R, Q of orthonormal columns, R triangular.",
    module="linalg", family="linear-algebra", kernels={DispatchKey.CPU: _qr_on_cpu, DispatchKey.Meta: _qr_on_meta},
    reference=np.linalg.qr, samples=lambda rng: (Sample(sample.args[0], *mode) for sample in _rectangles(rng)
                                                 for mode in ((), ("complete",))), notes=_notes(
        "qr", "QRResult(Q, R)\n    Shapes (..., m, k) and (..., k, n), k the smaller of m and n; of mode \"complete\" (..., m, m) and "
              "(..., m, n); R alone of mode \"r\"; LAPACK's form of Q and the factors of its reflections of mode \"raw\".",
        shape="matrices", size="m, n", more="mode : str\n    \"reduced\", \"complete\", \"r\" or \"raw\"."), example="""
>>> fo.linalg.qr(fo.asarray([[0.0, 2.0], [1.0, 0.0]])).R
tensor([[-1.,  0.],
        [ 0., -2.]])""",
    derivative=transposes(x=_qr_transpose))


def _lstsq_rows(a, b, rcond=None):
    # By singular values. Whether there are residuals is read: all rows must agree in it.
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0] or 0 in a.shape:
        return NotImplemented
    (m, n), right = a.shape, b if b.ndim == 2 else b[:, None]
    left, values, adjoint = svd(a, full_matrices=False)
    limit = (np.finfo(values.dtype).eps * max(m, n) if rcond is None else rcond) * values[0]
    used = greater(values, limit)
    rank = sum(used).astype(np.int32)
    part = matmul(_adjoint(left), right) * where(used, 1.0 / where(used, values, 1), 0)[:, None].astype(values.dtype)
    x = matmul(_adjoint(adjoint), part)
    complete = as_ndarray(beneath(rank)) == n
    if m > n and complete.any() != complete.all():
        raise errors.MappedError("lstsq: some rows have residuals and others none, as their rank is less; solve these apart")
    residuals = right - matmul(a, x)
    residuals = sum(abs(residuals) ** 2, axis=0) if m > n and complete.all() else abs(residuals[0, :0])
    return x if b.ndim == 2 else x[:, 0], residuals, rank, values


def _lstsq_shape(a, b, rcond=None):
    raise NotImplementedError("lstsq: whether there are residuals depends on the rank, that is on the data, which device 'meta' does "
                              "not have")


lstsq = through_numpy(
    "lstsq(Array a, Array b, /, float? rcond=None) -> (Tensor, Tensor, Tensor, Tensor)",
    "The x for which the norm of b - a @ x is least.", lambda a, b, rcond=None: np.linalg.lstsq(a, b, rcond), _lstsq_shape,
    module="linalg", family="data-dependent", batching=Decomposed(_lstsq_rows), reference=np.linalg.lstsq, samples=lambda rng: (
        Sample(samples.array(rng, (4, 2), dtype), samples.array(rng, shape, dtype)) for dtype in INEXACT for shape in ((4,), (4, 3))),
    notes="""
Parameters
----------
a : array_like
    Shape (m, n).
b : array_like
    Shape (m,) or (m, k).
rcond : float, optional
    Singular values below rcond times the largest count as zero.

Returns
-------
tuple of Tensor
    x, of shape (n,) or (n, k); the sums of squared residuals, empty if the rank is below n or m <= n; the rank; the singular
    values of a.

Raises
------
LinAlgError
    If a is no matrix, does not fit b, or the computation does not converge.

Notes
-----
NumPy: ``numpy.linalg.lstsq``.""", example="""
>>> x, residuals, rank, values = fo.linalg.lstsq(fo.asarray([[1.0], [1.0]]), fo.asarray([1.0, 3.0]))
>>> x, int(rank)
(tensor([2.]), 1)""",
    derivative=composed(_lstsq_composition))


# Written in the operators above

def _stack(name, x, *, square=False):
    x = as_tensor(x)
    if x.ndim < 2 or square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: x has shape {x.shape}; {'square ' if square else ''}matrices in the last two axes are needed")
    return x


def _adjoint(x):
    return conj(matrix_transpose(x)) if x.dtype.kind == "c" else matrix_transpose(x)


def _inexact(x):
    x = as_tensor(x)
    return x if x.dtype.kind in "fc" else astype(x, np.float64)


def _composite(schema, summary, function, name, *, notes="", **more):
    return composite(schema, summary, function, module="linalg", notes=notes or f"NumPy: ``numpy.linalg.{name}``.", **more)


def _tolerance(name, values, shape, rtol, default):
    # What singular values are compared with: rtol times the largest one.
    if rtol is None:
        rtol = default * np.finfo(values.dtype).eps
    rtol = as_tensor(rtol)
    largest = amax(values, axis=-1, keepdims=True, initial=0)
    return multiply(largest, expand_dims(rtol, -1) if rtol.ndim else rtol)


def _matrix_rank(x, tol=None, hermitian=False, *, rtol=None):
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: tol and rtol exclude each other; give one of them")
    x = _inexact(x)
    if x.ndim < 2:
        return astype(~every(equal(x, 0)), np.int64)
    values = abs(eigvalsh(x)) if hermitian else svdvals(x)
    if tol is not None:
        tol = as_tensor(tol)
        limit = expand_dims(tol, -1) if tol.ndim else tol
    else:
        limit = _tolerance("matrix_rank", values, x.shape, rtol, max(x.shape[-2:]))
    return count_nonzero(values > limit, axis=-1)


matrix_rank = _composite(
    "matrix_rank(Array x, /, Any tol=None, bool hermitian=False, *, Any rtol=None) -> Tensor",
    "How many singular values are not negligible.", _matrix_rank, "matrix_rank", reference=np.linalg.matrix_rank,
    samples=lambda rng: (Sample(samples.array(rng, shape, dtype)) for dtype in INEXACT for shape in ((3, 3), (2, 4, 3), (4,))),
    notes="Negligible are values up to tol, or up to rtol times the largest one. NumPy: ``numpy.linalg.matrix_rank``.", example="""
>>> fo.linalg.matrix_rank(fo.asarray([[1.0, 2.0], [2.0, 4.0]]))
tensor(1)""")


def _pinv(x, rcond=None, hermitian=False, *, rtol=None):
    x = _inexact(_stack("pinv", x))
    if rcond is None:
        rcond = rtol if rtol is not None else max(x.shape[-2:]) * np.finfo(x.dtype).eps
    elif rtol is not None:
        raise ValueError("pinv: rcond and rtol exclude each other; give one of them")
    if x.size == 0:
        return matrix_transpose(x)
    u, values, vh = svd(x, False, True, hermitian)
    limit = _tolerance("pinv", values, x.shape, rcond, 0)
    large = values > limit
    inverted = where(large, divide(1.0, where(large, values, 1)).astype(values.dtype), 0)
    return matmul(_adjoint(vh), multiply(expand_dims(inverted, -1), _adjoint(u)))


pinv = _composite(
    "pinv(Array x, /, Any rcond=None, bool hermitian=False, *, Any rtol=None) -> Tensor",
    "The pseudo-inverse, of Moore and Penrose.", _pinv, "pinv", reference=np.linalg.pinv,
    samples=lambda rng: (Sample(_well_conditioned(rng, 3, dtype)) for dtype in INEXACT), example="""
>>> fo.linalg.pinv(fo.asarray([[2.0], [0.0]]))
tensor([[0.5, 0. ]])""")


def _matrix_power(x, n):
    x = _stack("matrix_power", x, square=True)
    if not isinstance(n, int):
        try:
            n = n.__index__()
        except AttributeError:
            raise TypeError(f"matrix_power: the exponent is a whole number, not {n!r}") from None
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return copy(broadcast_to(eye(x.shape[-1], dtype=x.dtype, device=x.device), x.shape))
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    return result


matrix_power = _composite(
    "matrix_power(Array x, int n, /) -> Tensor", "The matrix product of n copies of x, of its inverse if n is negative.", _matrix_power,
    "matrix_power", reference=np.linalg.matrix_power, samples=lambda rng: (
        Sample(_well_conditioned(rng, 3, dtype), n) for dtype in ("f8", "c16", "i8") for n in (0, 1, 3) + ((-1,) if dtype != "i8" else ())),
    example="""
>>> fo.linalg.matrix_power(fo.asarray([[1, 1], [0, 1]]), 5)
tensor([[1, 5],
        [0, 1]])""")


def _vector_norm(x, *, axis=None, keepdims=False, ord=2):
    x = as_tensor(x)
    x = x if x.dtype.kind in "fc" else astype(x, np.float64)
    shape = x.shape
    if axis is None:
        x, axis = ravel(x), 0
        result = _norm_along(x, axis, False, ord)
        return reshape(result, (1,) * len(shape)) if keepdims else result
    return _norm_along(x, axis, keepdims, ord)


def _norm_along(x, axis, keepdims, ord):
    if isinstance(ord, str):
        raise ValueError(f"vector_norm: ord is a number, not {ord!r}, which is for matrices")
    if ord == 2:
        squares = multiply(x.real, x.real) + multiply(x.imag, x.imag) if x.dtype.kind == "c" else multiply(x, x)
        return sqrt(sum(squares, axis=axis, keepdims=keepdims))
    sizes = abs(x)
    if ord == np.inf:
        return amax(sizes, axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return amin(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return astype(count_nonzero(sizes, axis=axis, keepdims=keepdims), sizes.dtype)
    if ord == 1:
        return sum(sizes, axis=axis, keepdims=keepdims)
    return pow(sum(pow(sizes, ord), axis=axis, keepdims=keepdims), 1 / ord)


vector_norm = _composite(
    "vector_norm(Array x, /, *, int[]? axis=None, bool keepdims=False, Any ord=2) -> Tensor",
    "The ord-norm of vectors along the axes: (sum of abs(x)**ord)**(1/ord), or what it tends to.", _vector_norm, "vector_norm",
    reference=np.linalg.vector_norm, samples=lambda rng: (
        Sample(samples.array(rng, (3, 4), dtype), ord=ord, **more) for dtype in INEXACT for ord in (2, 1, 0, np.inf, -np.inf, 3, -1)
        for more in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True})), example="""
>>> fo.linalg.vector_norm(fo.asarray([3.0, 4.0]))
tensor(5.)""")


def _matrix_norm(x, *, keepdims=False, ord="fro"):
    x = _inexact(_stack("matrix_norm", x))
    if ord in ("fro", None):
        return _norm_along(x, (-2, -1), keepdims, 2)
    if ord in (2, -2, "nuc"):
        values = svdvals(x)
        result = sum(values, axis=-1) if ord == "nuc" else (amax(values, axis=-1, initial=0) if ord == 2 else amin(values, axis=-1))
    elif ord in (1, -1, np.inf, -np.inf):
        sums = sum(abs(x), axis=-2 if ord in (1, -1) else -1)
        result = amax(sums, axis=-1, initial=0) if ord > 0 else amin(sums, axis=-1)
    else:
        raise ValueError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
    return expand_dims(result, (-2, -1)) if keepdims else result


matrix_norm = _composite(
    "matrix_norm(Array x, /, *, bool keepdims=False, Any ord='fro') -> Tensor",
    "A norm of matrices in the last two axes: \"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf.", _matrix_norm, "matrix_norm",
    reference=np.linalg.matrix_norm, samples=lambda rng: (
        Sample(samples.array(rng, shape, dtype), ord=ord, keepdims=keepdims) for dtype in INEXACT for shape in ((3, 4), (2, 3, 3))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf) for keepdims in (False, True)), example="""
>>> fo.linalg.matrix_norm(fo.asarray([[3.0, 0.0], [4.0, 0.0]]), ord=1)
tensor(7.)""")


def _norm(x, ord=None, axis=None, keepdims=False):
    x = as_tensor(x)
    if axis is None:
        if ord is None:
            return _vector_norm(x, keepdims=keepdims)
        if x.ndim not in (1, 2):
            raise ValueError(f"norm: x has shape {x.shape}; with ord={ord!r} and no axis it is a vector or a matrix")
        axis = tuple(range(x.ndim))
    axis = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axis:
        normalized(one, x.ndim, "norm")
    if len(axis) == 1:
        return _vector_norm(x, axis=axis[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axis) != 2:
        raise ValueError(f"norm: axis names one axis or two, not {axis}")
    first, second = [normalized(one, x.ndim, "norm") for one in axis]
    if first == second:
        raise ValueError(f"norm: the axes {axis} are the same")
    result = _matrix_norm(moveaxis(x, (first, second), (-2, -1)), ord="fro" if ord is None else ord)
    return expand_dims(result, (first, second)) if keepdims else result


norm = _composite(
    "norm(Array x, /, Any ord=None, Any axis=None, bool keepdims=False) -> Tensor",
    "The norm of vectors (one axis) or matrices (two axes).", _norm, "norm", reference=np.linalg.norm, samples=lambda rng: (
        Sample(samples.array(rng, (3, 4), dtype), *args, **more) for dtype in INEXACT for args, more in (
            ((), {}), (("fro",), {}), ((1,), {}), ((3, 0), {}), ((np.inf, 1), {}), (("nuc", (1, 0)), {"keepdims": True}),
            ((None, (0, 1)), {}))), example="""
>>> fo.linalg.norm(fo.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1)
tensor([ 5., 10.])""")


def _cond(x, p=None):
    x = _inexact(_stack("cond", x))
    if x.size == 0:
        raise LinAlgError("cond: the condition of an empty matrix is not defined")
    if p in (None, 2, -2):
        values = svdvals(x)
        ends = values[..., -1], values[..., 0]
        with np.errstate(all="ignore"):
            result = divide(ends[0], ends[1]) if p == -2 else divide(ends[1], ends[0])
    else:
        with np.errstate(all="ignore"):
            result = multiply(_matrix_norm(x, ord=p), _matrix_norm(_inverse_or_nan(_stack("cond", x, square=True)), ord=p))
    undefined = (result != result) & every(x == x, axis=(-2, -1))
    return where(undefined, np.inf, result)


def _inverse_or_nan(x):
    if x.keyset() != PLAIN:                 # a transform is to see it
        return inv(x)
    return _inv_or_nan.apply(inv, x)


_inv_or_nan = GeneralizedUfunc(_umath_linalg.inv, inexact=True)
cond = _composite(
    "cond(Array x, /, Any p=None) -> Tensor", "The condition number by the norm p, of the singular values if p is not given.", _cond,
    "cond", reference=np.linalg.cond, samples=lambda rng: (
        Sample(_well_conditioned(rng, 3, dtype, stack), p) for dtype in INEXACT for stack in ((), (2,)) for p in (None, -2, 1, "fro")), example="""
>>> fo.linalg.cond(fo.asarray([[2.0, 0.0], [0.0, 4.0]]))
tensor(2.)""")


def _multi_dot(arrays, *, out=None):
    arrays = [as_tensor(array) for array in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot: at least two arrays are needed, not {len(arrays)}")
    ends = arrays[0].ndim, arrays[-1].ndim
    arrays[0] = expand_dims(arrays[0], 0) if ends[0] == 1 else arrays[0]
    arrays[-1] = expand_dims(arrays[-1], 1) if ends[1] == 1 else arrays[-1]
    for array in arrays:
        if array.ndim != 2:
            raise LinAlgError(f"multi_dot: an array has shape {array.shape}; matrices are needed, vectors only at the ends")
    result = _chain(arrays, _cheapest(arrays), 0, len(arrays) - 1)
    result = result[0] if ends[0] == 1 else result
    result = result[..., 0] if ends[1] == 1 else result
    return result if out is None else write_out(result, out)


def _cheapest(arrays):
    # Where to cut the product of arrays[i..j] so that the multiplications are fewest (Cormen et al., Introduction to Algorithms, 15.2).
    sizes = [array.shape[0] for array in arrays] + [arrays[-1].shape[1]]
    count = len(arrays)
    cost, cut = {(i, i): 0 for i in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], cut[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return cut


def _chain(arrays, cut, i, j):
    if i == j:
        return arrays[i]
    return matmul(_chain(arrays, cut, i, cut[i, j]), _chain(arrays, cut, cut[i, j] + 1, j))


multi_dot = _composite(
    "multi_dot(Array[] arrays, /, *, Tensor(a!)? out=None) -> Tensor", "The matrix product of several arrays, in the cheapest order.",
    _multi_dot, "multi_dot", reference=np.linalg.multi_dot, samples=lambda rng: (
        Sample([samples.array(rng, shape, dtype, 0.5) for shape in shapes]) for dtype in ("f4", "f8", "c16")
        for shapes in (((2, 3), (3, 4)), ((5, 2), (2, 6), (6, 3)), ((3,), (3, 4), (4, 2), (2,)))), example="""
>>> fo.linalg.multi_dot([fo.ones((2, 3)), fo.ones((3, 4)), fo.ones(4)])
tensor([12., 12.])""")


def _tensorinv(a, ind=2):
    a = as_tensor(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind is {ind}; it must be positive")
    rest = a.shape[ind:]
    return reshape(inv(reshape(a, (int(np.prod(rest)), -1))), (*rest, *a.shape[:ind]))


tensorinv = _composite(
    "tensorinv(Array a, /, int ind=2) -> Tensor", "The inverse of a as a linear map between arrays; ind axes are those of its results.",
    _tensorinv, "tensorinv", reference=np.linalg.tensorinv,
    samples=lambda rng: (Sample(_well_conditioned(rng, 6, "f8").reshape(2, 3, 6), 2), Sample(_well_conditioned(rng, 6, "c16").reshape(6, 3, 2), 1)),
    example="""
>>> fo.linalg.tensorinv(fo.reshape(fo.eye(4), (2, 2, 2, 2))).shape
(2, 2, 2, 2)""")


def _tensorsolve(a, b, axes=None):
    a, b = as_tensor(a), as_tensor(b)
    if axes is not None:
        axes = [normalized(axis, a.ndim, "tensorsolve") for axis in axes]
        a = permute_dims(a, [axis for axis in range(a.ndim) if axis not in axes] + axes)
    rest = a.shape[b.ndim:]
    length = int(np.prod(rest))
    if a.size != length ** 2:
        raise LinAlgError(f"tensorsolve: a of shape {a.shape} is no square map for b of shape {b.shape}")
    return reshape(solve(reshape(a, (length, length)), ravel(b)), rest)


tensorsolve = _composite(
    "tensorsolve(Array a, Array b, /, int[]? axes=None) -> Tensor", "The x whose product with a, over all of x's axes, is b.", _tensorsolve,
    "tensorsolve", reference=np.linalg.tensorsolve, samples=lambda rng: (
        Sample(_well_conditioned(rng, 6, "f8").reshape(2, 3, 6), samples.array(rng, (2, 3), "f8")),
        Sample(_well_conditioned(rng, 6, "f8").reshape(6, 3, 2).transpose(1, 0, 2), samples.array(rng, (6,), "f8"), (0, 2))), example="""
>>> fo.linalg.tensorsolve(fo.reshape(fo.eye(4), (2, 2, 4)), fo.ones((2, 2)))
tensor([1., 1., 1., 1.])""")


# The array API's functions of the last two axes, where the main namespace has NumPy's of the first two

diagonal = _composite(
    "diagonal(Array(a) x, /, *, int offset=0) -> Tensor(a)", "The diagonals of matrices in the last two axes; a view that cannot be written.",
    lambda x, *, offset=0: diagonal_of(_stack("diagonal", x), offset, -2, -1), "diagonal", reference=np.linalg.diagonal,
    samples=lambda rng: (Sample(samples.array(rng, shape, "f8"), offset=offset) for shape in ((3, 4), (2, 3, 3)) for offset in (0, 1, -1)),
    example="""
>>> fo.linalg.diagonal(fo.asarray([[1, 2], [3, 4]]))
tensor([1, 4])""")

trace = _composite(
    "trace(Array x, /, *, int offset=0, ScalarType? dtype=None) -> Tensor", "The sums of the diagonals of matrices in the last two axes.",
    lambda x, *, offset=0, dtype=None: sum(diagonal_of(_stack("trace", x), offset, -2, -1), axis=-1, dtype=dtype), "trace",
    reference=np.linalg.trace, samples=lambda rng: (Sample(samples.array(rng, shape, dtype), offset=offset) for dtype in ("f4", "i2", "c8")
                                                    for shape in ((3, 4), (2, 3, 3)) for offset in (0, 1)), example="""
>>> fo.linalg.trace(fo.asarray([[1, 2], [3, 4]]))
tensor(5)""")


def _outer(x1, x2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: vectors are needed, not shapes {x1.shape} and {x2.shape}")
    return outer_product(x1, x2)


outer = _composite(
    "outer(Array x1, Array x2, /) -> Tensor", "Each element of the vector x1 times each of x2.", _outer, "outer",
    reference=np.linalg.outer, samples=lambda rng: (Sample(samples.array(rng, (3,), "f8"), samples.array(rng, (2,), "i4")),), example="""
>>> fo.linalg.outer(fo.asarray([1, 2]), fo.asarray([3, 4]))
tensor([[3, 4],
        [6, 8]])""")

cross = _composite(
    "cross(Array x1, Array x2, /, *, int axis=-1) -> Tensor", "The vector product of vectors of three elements.",
    lambda x1, x2, *, axis=-1: cross_product(x1, x2, axis=axis), "cross", reference=np.linalg.cross,
    samples=lambda rng: (Sample(samples.array(rng, (2, 3), "f8"), samples.array(rng, (2, 3), "f8")),), example="""
>>> fo.linalg.cross(fo.asarray([1, 0, 0]), fo.asarray([0, 1, 0]))
tensor([0, 0, 1])""")


# SciPy's, where NumPy has none

def _scipy_linalg(name):
    try:
        import scipy.linalg
    except ImportError:
        raise ImportError(f"linalg.{name} is SciPy's: install it with pip install 'fastops[scipy]'") from None
    return scipy.linalg


def _through_scipy(schema, summary, shape, function, *, notes, **more):
    name = schema.partition("(")[0]

    def on_arrays(*args, **kwargs):
        return function(_scipy_linalg(name), *args, **kwargs)

    return through_numpy(schema, summary, on_arrays, shape, module="linalg", family="linear-algebra",
                         notes=f"{notes} SciPy, an optional extra: ``scipy.linalg.{name}``.", **more)


def _same(x, *rest, **more):
    return _stack("linalg", x).shape, _inexact_dtype(x.dtype, "linalg")


def _lu_shape(x, permute_l=False):
    *stack, m, n = _stack("lu", x).shape
    k, dtype = min(m, n), _inexact_dtype(x.dtype, "lu")
    factors = [((*stack, m, k), dtype), ((*stack, k, n), dtype)]
    return factors if permute_l else [((*stack, m, m), np.dtype(dtype.type(0).real.dtype)), *factors]


expm = _through_scipy(
    "expm(Array x, /) -> Tensor", "The matrix exponential.", _same, lambda scipy, x: scipy.expm(x), notes="x : square matrices.",
    samples=lambda rng: (Sample(samples.array(rng, (3, 3), dtype, -1, 1)) for dtype in INEXACT), example="""
>>> fo.linalg.expm(fo.zeros((2, 2)))
tensor([[1., 0.],
        [0., 1.]])""",
    derivative=transposes(x=_expm_transpose))

lu = _through_scipy(
    "lu(Array x, /, bool permute_l=False) -> (Tensor, Tensor, Tensor)",
    "The factors of x = P @ L @ U: a permutation, a lower and an upper triangular matrix; (P @ L, U) if permute_l.", _lu_shape,
    lambda scipy, x, permute_l=False: tuple(scipy.lu(x, permute_l)), notes="x : shape (..., m, n).",
    samples=lambda rng: (Sample(samples.array(rng, (3, 3), dtype), *more) for dtype in INEXACT for more in ((), (True,))), example="""
>>> p, l, u = fo.linalg.lu(fo.asarray([[0.0, 2.0], [1.0, 0.0]]))
>>> u
tensor([[1., 0.],
        [0., 2.]])""",
    derivative=transposes(x=_lu_transpose))


def _solution_shape(a, b, *args, **kwargs):
    dtype = _inexact_dtype(np.result_type(a.dtype, b.dtype), "solve_triangular")
    if b.ndim == 1:
        return (*a.shape[:-2], a.shape[-1]), dtype
    return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-1], b.shape[-1]), dtype


solve_triangular = _through_scipy(
    "solve_triangular(Array a, Array b, /, *, Any trans=0, bool lower=False, bool unit_diagonal=False) -> Tensor",
    "The x of a @ x = b for triangular matrices a.", _solution_shape,
    lambda scipy, a, b, **more: scipy.solve_triangular(a, b, check_finite=False, **more),
    notes="a : shape (..., n, n), of which one triangle is read; b : (n,) or (..., n, k); trans : 0, 1 (transposed) or 2 (adjoint).",
    samples=lambda rng: (Sample(_well_conditioned(rng, 3, dtype), samples.array(rng, shape, dtype), lower=lower)
                         for dtype in INEXACT for shape in ((3,), (3, 2)) for lower in (False, True)), example="""
>>> fo.linalg.solve_triangular(fo.asarray([[2.0, 0.0], [0.0, 4.0]]), fo.asarray([2.0, 2.0]))
tensor([1. , 0.5])""",
    batching=Decomposed(lambda a, b, **options: _solve_triangular_rows(a, b, **options)), derivative=transposes(a=_solve_triangular_transpose, b=lambda g, a, trans, lower, unit_diagonal: _back(a, g, trans, lower, unit_diagonal)))

def _solve_triangular_rows(a, b, *, trans=0, lower=False, unit_diagonal=False):
    # As any system, of the triangle that is read.
    a, b = as_tensor(a), as_tensor(b)
    a = tril(a, -1 if unit_diagonal else 0) if lower else triu(a, 1 if unit_diagonal else 0)
    a = a + eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else a
    kind = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    return solve(a if kind == 0 else matrix_transpose(a) if kind == 1 else _adjoint(a), b)


cho_solve = _through_scipy(
    "cho_solve(Array c, Array b, /, *, bool lower=True) -> Tensor", "The x of a @ x = b, c being the Cholesky factor of a.",
    _solution_shape, lambda scipy, c, b, lower=True: scipy.cho_solve((c, lower), b, check_finite=False),
    notes="c : shape (..., n, n), as of ``cholesky``; b : (n,) or (..., n, k); lower : whether c is the lower factor.",
    samples=lambda rng: (Sample(np.linalg.cholesky(sample.args[0]), samples.array(rng, sample.args[0].shape[-1:], "f8"))
                         for sample in _hermitian(rng) if sample.args[0].ndim == 2 and sample.args[0].dtype == np.float64), example="""
>>> fo.linalg.cho_solve(fo.asarray([[2.0, 0.0], [0.0, 1.0]]), fo.asarray([4.0, 1.0]))
tensor([1., 1.])""",
    batching=Decomposed(_cho_solve_composition), derivative=composed(_cho_solve_composition))
