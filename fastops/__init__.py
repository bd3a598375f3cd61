"""fastops: NumPy-like arrays whose every operation goes through a table of kernels that anyone can fill.

>>> import fastops as fo
>>> a = fo.asarray([1.0, 2.0, 3.0])
>>> a + fo.sin(a) ** 2
tensor([1.70807342, 2.82682181, 3.01991486])
"""

from fastops import dispatch, printing
from fastops._dispatch import DispatchKey, DispatchKeySet, OpOverload, Tensor, device
from fastops.constants import e, euler_gamma, inf, nan, newaxis, pi
from fastops.dtypes import (bool, bool_, byte, cdouble, complex64, complex128, complexfloating, csingle, double, dtype, float16,
                            float32, float64, floating, generic, half, inexact, int8, int16, int32, int64, int_, intc, integer,
                            intp, longlong, number, short, signedinteger, single, ubyte, uint, uint8, uint16, uint32, uint64,
                            uintc, uintp, ulonglong, unsignedinteger, ushort)
from fastops._dispatch import Tensor as ndarray
from fastops.ops.create import (arange, array, asanyarray, asarray, asarray_chkfinite, ascontiguousarray, asfortranarray, empty,
                                empty_like, eye, full, full_like, geomspace, linspace, ones, ones_like, require, tril, triu, zeros,
                                zeros_like)
from fastops.ops.elementwise import (
    abs, absolute, acos, acosh, add, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh,
    atan, atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or,
    bitwise_right_shift, bitwise_xor, cbrt, ceil, clip, conj, conjugate, copysign, cos, cosh, deg2rad, degrees, divide,
    divmod, equal, exp, exp2, expm1, fabs, float_power, floor, floor_divide, fmax, fmin, fmod, frexp, gcd, greater,
    greater_equal, heaviside, hypot, invert, isfinite, isinf, isnan, lcm, ldexp, left_shift, less, less_equal, log,
    log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum, minimum,
    mod, modf, multiply, negative, nextafter, not_equal, positive, pow, power, rad2deg, radians, reciprocal, remainder,
    right_shift, rint, sign, signbit, sin, sinh, spacing, sqrt, square, subtract, tan, tanh, true_divide, trunc, where)
from fastops.ops.shape import (astype, atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_to, concat, concatenate,
                               copy, diagonal, expand_dims, flatten, flip, fliplr, flipud, imag, matrix_transpose, moveaxis,
                               permute_dims, ravel, real, reinterpret, repeat, reshape, roll, sliding_window_view, squeeze, stack, swapaxes, take,
                               take_along_axis, tile, transpose, unstack)
from fastops.ops.index import getitem, item, setitem
from fastops.ops.reduce import (all, amax, amin, any, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_prod,
                                cumulative_sum, logsumexp, max, mean, min, prod, std, sum, var)
from fastops.ops.sorting import argpartition, argsort, lexsort, partition, searchsorted, sort, sort_complex
from fastops.ops.sets import (intersect1d, isin, nonzero, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse,
                              unique_values)
from fastops.ops.linalg import dot, einsum, inner, matmul, matvec, outer, tensordot, vdot, vecdot, vecmat
from fastops.ops.composite import (allclose, around, array_equal, average, column_stack, cross, diff, fix, hstack, isclose,
                                   iscomplex, isneginf, isposinf, isreal, kron, meshgrid, nan_to_num, ptp, rot90, round,
                                   sinc, trace, vander, vstack)
from fastops.ops.assemble import (append, array_split, block, broadcast_shapes, delete, dsplit, dstack, hsplit, insert, resize,
                                  rollaxis, row_stack, split, trim_zeros, vsplit)
from fastops.ops.borders import pad
from fastops.ops.coordinates import (c_, diag, diag_indices, diag_indices_from, diagflat, fromfunction, identity, index_exp,
                                     indices, ix_, logspace, mask_indices, mgrid, ndenumerate, ndindex, ogrid, r_, s_, tri, tril_indices,
                                     tril_indices_from, triu_indices, triu_indices_from)
from fastops.ops.edit import (apply_along_axis, apply_over_axes, argwhere, array_equiv, choose, compress, copyto, extract, fill_diagonal,
                              flatnonzero, packbits, place, put, put_along_axis, putmask, ravel_multi_index, select, unpackbits,
                              unravel_index)
from fastops.ops.signal import (bartlett, blackman, convolve, correlate, ediff1d, gradient, hamming, hanning, i0, interp, kaiser, piecewise,
                                poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, real_if_close, roots,
                                trapezoid, unwrap, vectorize)
from fastops.ops.statistics import (bincount, corrcoef, cov, digitize, histogram, histogram2d, histogram_bin_edges, histogramdd, median,
                                    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanpercentile,
                                    nanprod, nanquantile, nanstd, nansum, nanvar, percentile, quantile)
from fastops.ops.autograd import detach
from fastops.interchange import from_dlpack, may_share_memory, shares_memory
from fastops import autograd, batching, func, methods, tree
from fastops.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from fastops.func import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from fastops.files import (frombuffer, fromfile, fromiter, fromstring, genfromtxt, load, loadtxt, memmap, save, savetxt, savez,
                           savez_compressed)
from fastops.inspection import (can_cast, common_type, errstate, exceptions, finfo, geterr, geterrcall, iinfo, iscomplexobj, isdtype,
                                isfortran, isrealobj, isscalar, issubdtype, iterable, min_scalar_type, mintypecode,
                                ndim, promote_types, result_type, seterr, seterrcall, shape, size, typename)
from fastops.printing import (array2string, array_repr, array_str, base_repr, binary_repr, format_float_positional,
                              format_float_scientific, get_printoptions, printoptions, set_printoptions)
from fastops.inspection import namespace_info as __array_namespace_info__
from fastops import fft, lib, library, linalg, random, special
from fastops.packets import OpOverloadPacket, ops
from fastops.explain import explain
from fastops import numpy_functions
from fastops.version import __array_api_version__, __version__
from fastops import registrations       # last: it tells libraries that are already here of the finished namespace
