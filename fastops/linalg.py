"""Linear algebra over stacks of matrices: the array API's and NumPy's functions, and some of SciPy's."""

from numpy.linalg import LinAlgError

from fastops.ops.decomposition import (
    EighResult, EigResult, QRResult, SlogdetResult, SVDResult, cho_solve, cholesky, cond, cross, det, diagonal, eig, eigh, eigvals,
    eigvalsh, expm, inv, lstsq, lu, matrix_norm, matrix_power, matrix_rank, multi_dot, norm, outer, pinv, qr, slogdet, solve,
    solve_triangular, svd, svdvals, tensorinv, tensorsolve, trace, vector_norm)
from fastops.ops.linalg import matmul, tensordot, vecdot
from fastops.ops.shape import matrix_transpose

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cho_solve", "cholesky", "cond", "cross", "det",
    "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "lstsq", "lu", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd",
    "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm"]
