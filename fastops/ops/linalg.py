"""Contractions: products of matrices and vectors, and sums of products along any axes."""

import math
import operator
import string

import numpy as np

from fastops import _dispatch as machine
from fastops import samples
from fastops._autograd import structural
from fastops._contract import Dot, Einsum, Product, VectorDot
from fastops._create import empty_meta
from fastops._dispatch import DispatchKey
from fastops._loops import as_ndarray, share_ndarray
from fastops.declare import declare
from fastops.derivatives import multilinear
from fastops.ops.elementwise import conj, multiply
from fastops.ops.families import composite
from fastops.ops.shape import broadcast_to, expand_dims, matrix_transpose, moveaxis, permute_dims, reshape, transpose
from fastops.samples import Sample

NOTES = """
Parameters
----------
{parameters}
out : Tensor, optional
    Where to write the result; of the result's shape and of a dtype that it casts to. It may overlap the operands.

Returns
-------
Tensor
    {result}; of the operands' common dtype.

Raises
------
ValueError
    If the shapes do not fit{more}; the message has both.
TypeError
    If the result does not cast to out's dtype.

Notes
-----
{source}
"""


def _pairs(*shapes, dtypes=samples.ALL):
    # Operands of each pair of shapes: gapless, transposed, reversed; then of mixed dtypes. All positive, so that no
    # result is the small difference of large sums, whose rounding depends on their order.
    def generate(rng):
        def positive(shape, dtype):
            return samples.array(rng, shape, dtype, 0.5, 4.0)

        for first, second in shapes:
            for dtype in dtypes:
                yield Sample(positive(first, dtype), positive(second, dtype))
            yield Sample(positive(first[::-1], "f8").T, positive(second[::-1], "f8").T)
            yield Sample(np.flip(positive(first, "f4")), np.flip(positive(second, "f8")))
            yield Sample(positive(first, "i2"), positive(second, "c8"))
    return generate


def _contraction(schema, kernel, summary, example, *, parameters, result, more="", source=None, **declared):
    name = schema.partition("(")[0]
    notes = NOTES.format(parameters=parameters, result=result, more=more, source=source or f"NumPy: ``numpy.{name}``.")
    return declare(schema, summary, example=example, notes=notes, family="contraction",
                   kernels={DispatchKey.CPU: kernel, DispatchKey.Meta: kernel}, **declared)


# Derivatives

def _conj(x):
    return conj(x) if x.dtype.kind == "c" else x


def _adjoint(x):
    return _conj(matrix_transpose(x))


def _matmul_first(g, x1_shape, x2):
    if x2.ndim == 1:
        return g[..., None] * _conj(x2)
    if len(x1_shape) == 1:
        return matvec(_conj(x2), g)
    return matmul(g, _adjoint(x2))


def _matmul_second(g, x1, x2_shape):
    if x1.ndim == 1:
        return _conj(x1) * g[..., None] if len(x2_shape) == 1 else _conj(x1)[:, None] * g[..., None, :]
    if len(x2_shape) == 1:
        return matvec(_adjoint(x1), g)
    if len(x2_shape) == 2 and x1.ndim > 2:         # one matrix for a whole stack: one product, not a stack to be summed
        x1, g = reshape(x1, (-1, x1.shape[-1])), reshape(g, (-1, g.shape[-1]))
    return matmul(_adjoint(x1), g)


def _dot_first(g, x1_shape, x2):
    if not x1_shape or x2.ndim == 0:
        return g * _conj(x2)
    if x2.ndim == 1:
        return g[..., None] * _conj(x2)
    if x2.ndim == 2:
        return matmul(g, _adjoint(x2))
    left = len(x1_shape) - 1
    rest = [axis for axis in range(x2.ndim) if axis != x2.ndim - 2]
    return tensordot(g, _conj(x2), axes=(list(range(left, g.ndim)), rest))


def _dot_second(g, x1, x2_shape):
    if not x2_shape or x1.ndim == 0:
        return g * _conj(x1)
    left = list(range(x1.ndim - 1))
    product = tensordot(_conj(x1), g, axes=(left, left))
    return product if len(x2_shape) <= 2 else moveaxis(product, 0, -2)


def _einsum_transpose(g, subscripts, operands):
    # For each operand the product of the cotangent and the others, in the operand's letters.
    single = not isinstance(operands, (tuple, list))
    subscripts, tensors = _subscripts(subscripts, operands)
    terms, output = _explicit(subscripts, [tensor.ndim for tensor in tensors])
    found = []
    for place, tensor in enumerate(tensors):
        term = terms[place]
        letters = "".join(dict.fromkeys(term))
        others = [(other, _conj(value)) for number, (other, value) in enumerate(zip(terms, tensors)) if number != place]
        known = set(output).union(*[other for other, _ in others])
        present = "".join([letter for letter in letters if letter in known])
        value = einsum(",".join([output] + [other for other, _ in others]) + "->" + present, g, *[value for _, value in others])
        sizes = dict(zip(term, tensor.shape))
        for axis, letter in enumerate(letters):
            if letter not in known:                 # summed over in this operand alone
                value = expand_dims(value, axis)
        shape = tuple([value.shape[axis] if letter in known else sizes[letter] for axis, letter in enumerate(letters)])
        value = broadcast_to(value, shape)
        if len(letters) < len(term):                # a diagonal
            places = dict(zip(letters, np.ogrid[tuple([slice(size) for size in shape])]))
            value = structural("scattered")(value, tuple([places[letter] for letter in term]), tensor.shape)
        found.append(value)
    return found[0] if single else found


def _explicit(subscripts, ranks):
    # The terms and the result's term with a letter for each axis, those of the ellipsis too.
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    width = max([rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks) if "..." in term], default=0)
    unused = [letter for letter in string.ascii_letters if letter not in subscripts][:width]
    if not arrow:
        joined = inputs.replace("...", "").replace(",", "")
        output = ("..." if "..." in inputs else "") + "".join(sorted([letter for letter in set(joined) if joined.count(letter) == 1]))
    terms = [term.replace("...", "".join(unused[width - (rank - len(term.replace("...", ""))):])) for term, rank in zip(terms, ranks)]
    return terms, output.replace("...", "".join(unused))


MATRICES = (((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2)),
            ((5, 1, 3, 4), (2, 4, 3)), ((3, 0), (0, 4)), ((0, 3), (3, 2)), ((4,), (2, 4, 3)), ((9, 8), (8, 7)))

matmul = _contraction(
    "matmul(Array x1, Array x2, /, Tensor(a!)? out=None) -> Tensor", Product("matmul", 0, 0),
    "The matrix product of x1 and x2, or of each pair in stacks of matrices.", """
>>> fo.matmul(fo.asarray([[1, 2], [3, 4]]), fo.asarray([5, 6]))
tensor([17, 39])""", syntax="__matmul__", reference=np.matmul, batching="product", samples=_pairs(*MATRICES),
    parameters="x1 : array_like\n    Shape (..., n, k), or (k,) for a vector.\n"
               "x2 : array_like\n    Shape (..., k, m), or (k,). The axes before broadcast.",
    result="Shape (..., n, m), without n or m where an operand is a vector", more=", or an operand is a scalar",
    derivative=multilinear(x1=_matmul_first, x2=_matmul_second))

matvec = _contraction(
    "matvec(Array x1, Array x2, /, Tensor(a!)? out=None) -> Tensor", Product("matvec", 2, 1),
    "The products of matrices x1 and vectors x2.", """
>>> fo.matvec(fo.asarray([[1, 2], [3, 4]]), fo.asarray([[5, 6], [1, 0]]))
tensor([[17, 39],
        [ 1,  3]])""", reference=lambda x1, x2: np.matmul(x1, x2[..., None])[..., 0],
    batching="(m,n),(n)->(m)", samples=_pairs(((3, 4), (4,)), ((3, 4), (2, 4)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4)), ((3, 0), (0,))),
    parameters="x1 : array_like\n    Shape (..., m, n).\nx2 : array_like\n    Shape (..., n). The axes before broadcast.",
    result="Shape (..., m)",
    derivative=multilinear(x1=lambda g, x2: g[..., None] * _conj(x2)[..., None, :], x2=lambda g, x1: matvec(_adjoint(x1), g)))

vecmat = _contraction(
    "vecmat(Array x1, Array x2, /, Tensor(a!)? out=None) -> Tensor", Product("vecmat", 1, 2, conjugates=True),
    "The products of vectors x1, conjugated, and matrices x2.", """
>>> fo.vecmat(fo.asarray([5, 6]), fo.asarray([[1, 2], [3, 4]]))
tensor([23, 34])""", reference=lambda x1, x2: np.matmul(
        (x1.conj() if x1.dtype.kind == "c" else x1)[..., None, :], x2)[..., 0, :],
    batching="(m),(m,n)->(n)", samples=_pairs(((3,), (3, 4)), ((2, 3), (3, 4)), ((3,), (2, 3, 4)), ((0,), (0, 3))),
    parameters="x1 : array_like\n    Shape (..., n).\nx2 : array_like\n    Shape (..., n, m). The axes before broadcast.",
    result="Shape (..., m)",
    derivative=multilinear(x1=lambda g, x2: matvec(x2, _conj(g)), x2=lambda g, x1: x1[..., None] * g[..., None, :]))

vecdot = _contraction(
    "vecdot(Array x1, Array x2, /, Tensor(a!)? out=None, *, int axis=-1) -> Tensor", VectorDot(),
    "The products of vectors along an axis of x1, conjugated, and of x2.", """
>>> fo.vecdot(fo.asarray([[1, 2], [3, 4]]), fo.asarray([1, 10]))
tensor([21, 43])""", reference=np.vecdot,
    batching="(n),(n)->()", samples=_pairs(((4,), (4,)), ((3, 4), (4,)), ((3, 4), (3, 4)), ((2, 1, 4), (3, 4)), ((2, 0), (0,))),
    parameters="x1, x2 : array_like\n    Vectors of the same length along axis; the other axes broadcast.\n"
               "axis : int\n    The axis of the vectors, of both operands.",
    result="The broadcast shape without axis", more=", or an operand is a scalar",
    derivative=multilinear(x1=lambda g, x2, axis: expand_dims(_conj(g), axis) * x2, x2=lambda g, x1, axis: expand_dims(g, axis) * x1))


# Composites

def _array(value):
    return value if isinstance(value, machine.Tensor) else machine.as_tensor(value)


def _axes_of(axes, side, ndim):
    # One operand's axes to contract, from the front.
    try:
        listed = [operator.index(axes)]
    except TypeError:
        listed = [operator.index(axis) for axis in axes]
    for axis in listed:
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(axis, ndim, f"tensordot, x{side}")
    found = [axis % ndim for axis in listed]
    if len(set(found)) != len(found):
        raise ValueError(f"tensordot: an axis of x{side} is named twice in {axes}")
    return found


def _tensordot(x1, x2, axes=2):
    x1, x2 = _array(x1), _array(x2)
    shape_first, shape_second = x1.shape, x2.shape
    try:
        first, second = axes
    except TypeError:
        # The axes stand where the matrix product wants them.
        count = operator.index(axes)
        if not 0 <= count <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: {count} axes cannot be contracted of shapes {x1.shape} and {x2.shape}") from None
        kept = x1.ndim - count
        lengths, shape_first = shape_first[kept:], shape_first[:kept]
        if shape_second[:count] != lengths:
            raise ValueError(f"tensordot: the last {count} axes of shape {x1.shape} and the first {count} of shape "
                             f"{x2.shape} differ in length") from None
        shape_second = shape_second[count:]
    else:
        first, second = _axes_of(first, 1, x1.ndim), _axes_of(second, 2, x2.ndim)
        lengths = [shape_first[axis] for axis in first]
        if lengths != [shape_second[axis] for axis in second]:
            raise ValueError(f"tensordot: axes {first} of shape {x1.shape} and {second} of shape {x2.shape} differ in length")
        kept_first = [axis for axis in range(x1.ndim) if axis not in first]
        kept_second = [axis for axis in range(x2.ndim) if axis not in second]
        shape_first = tuple([shape_first[axis] for axis in kept_first])
        shape_second = tuple([shape_second[axis] for axis in kept_second])
        x1, x2 = permute_dims(x1, kept_first + first), permute_dims(x2, second + kept_second)
    length = math.prod(lengths)
    left = reshape(x1, (math.prod(shape_first), length))
    right = reshape(x2, (length, math.prod(shape_second)))
    return reshape(matmul(left, right), shape_first + shape_second)


def _tensordot_samples(rng):
    for dtype in ("f8", "f4", "i4", "c16", "?"):
        a, b = samples.array(rng, (2, 3, 4), dtype, 0.5), samples.array(rng, (4, 3, 2), dtype, 0.5)
        yield Sample(a, b, axes=1)
        yield Sample(a, b, axes=0)
        yield Sample(a, b, axes=([1, 2], [1, 0]))
        yield Sample(a, b, axes=((0, -1), (2, 0)))
        yield Sample(a.T, b.T, axes=(0, -1))
        yield Sample(samples.array(rng, (3, 4), dtype, 0.5), samples.array(rng, (3, 4), dtype, 0.5))
    yield Sample(samples.array(rng, (3, 0), "f8"), samples.array(rng, (0, 4), "f8"), axes=1)


tensordot = composite(
    "tensordot(Array x1, Array x2, /, Any axes=2) -> Tensor", "The sum of products along chosen axes of x1 and x2.",
    _tensordot, reference=lambda x1, x2, *, axes=2: np.tensordot(x1, x2, axes), samples=_tensordot_samples, notes="""
Parameters
----------
x1, x2 : array_like
    Any shapes.
axes : int or pair of sequences of ints
    The axes to contract: the last ones of x1 with the first ones of x2, or those named for each.

Returns
-------
Tensor
    The axes of x1 that are left, then those of x2; of the common dtype.

Raises
------
ValueError
    If the lengths of contracted axes differ.
AxisError
    If there is no such axis.

Notes
-----
NumPy: ``numpy.tensordot``.""", example="""
>>> fo.tensordot(fo.ones((2, 3)), fo.ones((3, 2)), axes=([1, 0], [0, 1]))
tensor(6.)""")

dot = _contraction(
    "dot(Array x1, Array x2, /, Tensor(a!)? out=None) -> Tensor", Dot(multiply, tensordot),
    "The product of x1 and x2: of vectors, matrices, scalars, or along the last axis of x1 and the last but one of x2.", """
>>> fo.dot(fo.asarray([1, 2]), fo.asarray([3, 4]))
tensor(11)""", methods=("dot",), reference=np.dot,
    batching="dotted", samples=_pairs(((4,), (4,)), ((3, 4), (4,)), ((3, 4), (4, 2)), ((2, 3, 4), (4,)), ((2, 3, 4), (5, 4, 2)), ((), (3,)),
                   ((4,), (2, 4, 3)), ((3, 0), (0, 2)), dtypes=("f8", "f4", "i4", "c16")),
    parameters="x1, x2 : array_like\n    Any shapes; the contracted axes have one length.",
    result="The axes of x1 that are left, then those of x2",
    derivative=multilinear(x1=_dot_first, x2=_dot_second))


def _outer(x1, x2, out=None):
    return multiply(reshape(x1, (-1, 1)), reshape(x2, (1, -1)), out)


outer = composite(
    "outer(Array x1, Array x2, /, Tensor(a!)? out=None) -> Tensor", "Each element of x1 times each of x2.", _outer,
    reference=np.outer, samples=_pairs(((3,), (4,)), ((2, 2), (3,)), ((0,), (2,)), ((), (2,)), dtypes=("f8", "i4", "c8", "?")),
    notes="""
Parameters
----------
x1, x2 : array_like
    Any shapes; they are taken as flat.
out : Tensor, optional
    Where to write the result.

Returns
-------
Tensor
    Shape (x1.size, x2.size); of the common dtype.

Notes
-----
NumPy: ``numpy.outer``.""", example="""
>>> fo.outer(fo.asarray([1, 2]), fo.asarray([3, 4]))
tensor([[3, 4],
        [6, 8]])""")


def _inner(x1, x2):
    x1, x2 = _array(x1), _array(x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return multiply(x1, x2)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"inner: the last axes of shapes {x1.shape} and {x2.shape} differ in length")
    if x2.ndim <= 2:
        return matmul(x1, transpose(x2))
    return tensordot(x1, x2, axes=((-1,), (-1,)))


inner = composite(
    "inner(Array x1, Array x2, /) -> Tensor", "The sums of products along the last axes of x1 and x2.", _inner,
    reference=np.inner, samples=_pairs(((4,), (4,)), ((3, 4), (4,)), ((3, 4), (2, 4)), ((), (3,)), ((2, 3, 4), (5, 4)),
                                       ((3, 0), (2, 0)), dtypes=("f8", "i4", "c8")), notes="""
Parameters
----------
x1, x2 : array_like
    Their last axes have one length, unless one is a scalar.

Returns
-------
Tensor
    The axes of x1 that are left, then those of x2; of the common dtype.

Raises
------
ValueError
    If the last axes differ in length.

Notes
-----
NumPy: ``numpy.inner``.""", example="""
>>> fo.inner(fo.asarray([[1, 2], [3, 4]]), fo.asarray([1, 10]))
tensor([21, 43])""")


vdot = composite(
    "vdot(Array x1, Array x2, /) -> Tensor", "The product of x1, conjugated, and x2, both taken as flat.",
    lambda x1, x2: vecdot(reshape(_array(x1), -1), reshape(_array(x2), -1)), reference=np.vdot,
    samples=_pairs(((4,), (4,)), ((2, 2), (4,)), ((0,), (0,)), ((), (1,)), dtypes=("f8", "i4", "c8")), notes="""
Parameters
----------
x1, x2 : array_like
    Of the same number of elements.

Returns
-------
Tensor
    0-dimensional, of the common dtype.

Raises
------
ValueError
    If the numbers of elements differ.

Notes
-----
NumPy: ``numpy.vdot``.""", example="""
>>> fo.vdot(fo.asarray([1j, 2]), fo.asarray([1j, 3]))
tensor(7.+0.j)""")


# Einstein's notation

def _subscripts(subscripts, operands):
    # The subscripts as a string and the operands as tensors. NumPy's other form, with lists of numbers
    # (x1, [0, 1], x2, [1], [0]), becomes a string. A single operand comes here as it was given.
    if isinstance(subscripts, str):
        single = "," not in subscripts and not (isinstance(operands, (tuple, list)) and len(operands) == 1
                                                and hasattr(operands[0], "dtype"))
        return subscripts, [_array(value) for value in ([operands] if single or not isinstance(operands, (tuple, list))
                                                        else operands)]
    given = [subscripts, *(operands if isinstance(operands, tuple) else [operands])]

    def spelled(numbers):
        return "".join(["..." if number is Ellipsis else string.ascii_letters[number] for number in numbers])

    terms = ",".join([spelled(numbers) for numbers in given[1::2]])
    if len(given) % 2:
        terms += "->" + spelled(given[-1])
    return terms, [_array(value) for value in given[:len(given) // 2 * 2:2]]


def _einsum_shape(subscripts, shapes):
    """The result's shape; ValueError where the subscripts do not fit the shapes."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {subscripts!r} has {len(terms)} terms, but there are {len(shapes)} operands")
    sizes, ellipsis = {}, ()
    for term, shape in zip(terms, shapes):
        before, dots, after = term.partition("...")
        rest = len(shape) - len(before) - len(after)
        if rest < 0 or rest and not dots:
            raise ValueError(f"einsum: the term {term!r} does not fit an operand of shape {shape}")
        for letter, size in [*zip(before, shape), *zip(after, shape[len(shape) - len(after):])]:
            if not letter.isalpha():
                raise ValueError(f"einsum: {letter!r} in {subscripts!r} is not a letter")
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise ValueError(f"einsum: the axis {letter!r} of {subscripts!r} has lengths {sizes[letter]} and {size} in "
                                 f"shapes {', '.join(map(str, shapes))}")
            if sizes[letter] == 1:
                sizes[letter] = size
        if dots:
            ellipsis = np.broadcast_shapes(ellipsis, shape[len(before):len(before) + rest])
    if not arrow:
        joined = inputs.replace("...", "").replace(",", "")
        once = sorted(letter for letter in set(joined) if joined.count(letter) == 1)
        output = ("..." if "..." in inputs else "") + "".join(once)
    before, dots, after = output.partition("...")
    letters = before + after
    if len(set(letters)) != len(letters) or not set(letters) <= set(sizes):
        raise ValueError(f"einsum: the result {output!r} of {subscripts!r} names an axis twice, or one that no operand has")
    if ellipsis and not dots:
        raise ValueError(f"einsum: the result {output!r} of {subscripts!r} leaves out the axes of the ellipsis")
    return tuple(sizes[letter] for letter in before) + tuple(ellipsis if dots else ()) + tuple(sizes[letter] for letter in after)


def _einsum(subscripts, operands, *, out=None, dtype=None, optimize=False):
    subscripts, tensors = _subscripts(subscripts, operands)
    arrays = [as_ndarray(tensor) for tensor in tensors]
    options = {"optimize": optimize} if optimize else {}
    if dtype is not None:
        options.update(dtype=dtype, casting="unsafe")
    try:
        result = np.asarray(np.einsum(subscripts, *arrays, **options), dtype=dtype)
    except ValueError as error:
        raise ValueError(f"einsum: {subscripts!r} with shapes {[array.shape for array in arrays]}: {error}") from None
    if len(arrays) == 1 and np.may_share_memory(result, arrays[0]):
        result = result.copy()              # NumPy hands out views of a single operand; a result of ours is its own
    return share_ndarray(result) if out is None else multiply(share_ndarray(result), True, out)


def _einsum_meta(subscripts, operands, *, out=None, dtype=None, optimize=False):
    subscripts, tensors = _subscripts(subscripts, operands)
    shape = _einsum_shape(subscripts, [tensor.shape for tensor in tensors])
    return empty_meta(shape, dtype or np.result_type(*[tensor.dtype for tensor in tensors])) if out is None else out


def _einsum_of_anything(subscripts, operands, **options):
    subscripts, tensors = _subscripts(subscripts, operands)
    return einsum(subscripts, *tensors, **options)


def _einsum_samples(rng):
    for dtype in ("f8", "f4", "i8", "c16"):
        matrix, other, vector = (samples.array(rng, shape, dtype, 0.5) for shape in ((3, 4), (4, 3), (4,)))
        for text, operands in (("ij,jk->ik", (matrix, other)), ("ij,j", (matrix, vector)), ("ij->ji", (matrix,)),
                               ("ii", (matrix[:, :3],)), ("ii->i", (matrix[:, :3],)), ("i,i", (vector, vector)),
                               ("...j,jk->...k", (matrix, other)), ("ij,jk,k->i", (matrix, other, matrix[:, 0])),
                               ("i,j->ij", (vector, vector[::-1])), ("ij->", (matrix.T,)), ("...->...", (matrix,))):
            yield Sample(text, *operands)
    yield Sample("ij,j", np.zeros((0, 3)), np.ones(3))


einsum = declare(
    "einsum(Any subscripts, Any operands, /, *, Tensor(a!)? out=None, ScalarType? dtype=None, Any optimize=False) -> Tensor",
    "Sums of products by Einstein's notation: axes are named by letters, and those that the result lacks are summed.",
    family="contraction", kernels={DispatchKey.Undefined: _einsum_of_anything, DispatchKey.CPU: Einsum(machine.Kernel(_einsum)),
                                   DispatchKey.Meta: _einsum_meta},
    gather="operands", reference=np.einsum, batching="summed", samples=_einsum_samples, notes="""
Parameters
----------
subscripts : str
    Terms of letters for each operand, separated by commas, then "->" and the result's term; without it the result
    has the letters that occur once, in order. "..." stands for the axes left over.
operands : array_like
    One for each term.
out : Tensor, optional
    Where to write the result.
dtype : dtype, optional
    In which to calculate.
optimize : bool or str
    Whether to look for a good order of several products, as in NumPy.

Returns
-------
Tensor
    A new tensor, never a view.

Raises
------
ValueError
    If the subscripts are malformed or do not fit the shapes.

Notes
-----
NumPy: ``numpy.einsum``.""", example="""
>>> fo.einsum("ij,j", fo.asarray([[1, 2], [3, 4]]), fo.asarray([1, 10]))
tensor([21, 43])""",
    derivative=multilinear(operands=_einsum_transpose))
