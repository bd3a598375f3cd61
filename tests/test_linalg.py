"""Contractions against NumPy over random shapes, layouts and dtypes."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastops as fo
from fastops import samples
from fastops._loops import as_ndarray

EPSILON = {"e": 2.0 ** -10, "f": 2.0 ** -23, "d": 2.0 ** -52, "F": 2.0 ** -23, "D": 2.0 ** -52}
SMALL = st.integers(0, 5) | st.sampled_from((9, 20))


def laid_out(draw, shape, dtype):
    """An array of *shape* whose axes are permuted in memory, reversed or with gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 32)))
    order = draw(st.permutations(range(len(shape))))
    strides = [draw(st.sampled_from((1, 1, 1, 2, -1))) for _ in shape]
    array = samples.array(rng, [shape[axis] * abs(strides[axis]) for axis in order], dtype)
    array = array.transpose(np.argsort(order)) if shape else array
    return array[tuple(slice(None, None, step) for step in strides)]


def check(ours, theirs, length, magnitude=16.0):
    """Same shape and dtype, exact for whole numbers, else within the rounding of any order of summation."""
    theirs = np.asarray(theirs)
    assert isinstance(ours, fo.Tensor)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if theirs.dtype.kind in "fc":
        tolerance = 4 * EPSILON[theirs.dtype.char] * max(1, length) * 2 * magnitude
        np.testing.assert_allclose(as_ndarray(ours), theirs, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(as_ndarray(ours), theirs)


@st.composite
def operands(draw, first_core, second_core):
    """Two arrays with the given core sizes, and stacks before them that broadcast."""
    stack = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2)))]
    arrays = []
    for core in (first_core, second_core):
        kept = stack[draw(st.integers(0, len(stack))):]
        kept = [1 if draw(st.integers(0, 3)) == 0 else size for size in kept]
        arrays.append(laid_out(draw, [*kept, *core], draw(st.sampled_from(samples.ALL))))
    return arrays


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_matmul(data):
    n, k, m = data.draw(SMALL), data.draw(SMALL), data.draw(SMALL)
    first_core, second_core = data.draw(st.sampled_from((((n, k), (k, m)), ((n, k), (k, m)), ((k,), (k, m)), ((n, k), (k,)))))
    first, second = data.draw(operands(first_core, second_core))
    if len(first_core) == 1:
        first = first.reshape(-1, k)[0] if first.size else np.zeros(k, first.dtype)
    if len(second_core) == 1:
        second = second.reshape(-1, k)[0] if second.size else np.zeros(k, second.dtype)
    expected = np.matmul(first, second)
    check(fo.asarray(first) @ fo.asarray(second), expected, k)
    meta = fo.matmul(fo.empty(first.shape, dtype=first.dtype, device="meta"), fo.empty(second.shape, dtype=second.dtype, device="meta"))
    assert (meta.shape, meta.dtype, meta.device) == (expected.shape, expected.dtype, "meta")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_vectors(data):
    n, m = data.draw(SMALL), data.draw(SMALL)
    first, second = data.draw(operands((m, n), (n,)))
    check(fo.matvec(fo.asarray(first), fo.asarray(second)), np.matmul(first, second[..., None])[..., 0], n)
    second, first = data.draw(operands((n, m), (n,)))
    conjugate = first.conj() if first.dtype.kind == "c" else first
    check(fo.vecmat(fo.asarray(first), fo.asarray(second)), np.matmul(conjugate[..., None, :], second)[..., 0, :], n)
    first, second = data.draw(operands((n,), (n,)))
    check(fo.vecdot(fo.asarray(first), fo.asarray(second)), np.vecdot(first, second), n)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_dot_and_inner(data):
    k = data.draw(SMALL)
    before = [data.draw(st.integers(0, 4)) for _ in range(data.draw(st.integers(0, 2)))]
    after = [data.draw(st.integers(0, 4)) for _ in range(data.draw(st.integers(0, 2)))]
    dtype, other = data.draw(st.sampled_from(samples.ALL)), data.draw(st.sampled_from(samples.ALL))
    first = laid_out(data.draw, [*before, k], dtype)
    second = laid_out(data.draw, [*after[:-1], k, *after[-1:]], other)
    check(fo.dot(fo.asarray(first), fo.asarray(second)), np.dot(first, second), k)
    second = laid_out(data.draw, [*after, k], other)
    check(fo.inner(fo.asarray(first), fo.asarray(second)), np.inner(first, second), k)
    check(fo.outer(fo.asarray(first), fo.asarray(second)), np.outer(first, second), 1)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_tensordot(data):
    common = [data.draw(st.integers(0, 4)) for _ in range(data.draw(st.integers(0, 2)))]
    first_rest = [data.draw(st.integers(0, 4)) for _ in range(data.draw(st.integers(0, 2)))]
    second_rest = [data.draw(st.integers(0, 4)) for _ in range(data.draw(st.integers(0, 2)))]
    dtype = data.draw(st.sampled_from(("f8", "f4", "i4", "c16", "?")))
    first, second = laid_out(data.draw, first_rest + common, dtype), laid_out(data.draw, common + second_rest, dtype)
    check(fo.tensordot(fo.asarray(first), fo.asarray(second), axes=len(common)), np.tensordot(first, second, len(common)),
          int(np.prod(common)))
    order, other = data.draw(st.permutations(range(first.ndim))), data.draw(st.permutations(range(second.ndim)))
    first, second = first.transpose(order), second.transpose(other)
    axes = ([order.index(len(first_rest) + axis) - data.draw(st.sampled_from((0, first.ndim))) for axis in range(len(common))],
            [other.index(axis) for axis in range(len(common))])
    check(fo.tensordot(fo.asarray(first), fo.asarray(second), axes=axes), np.tensordot(first, second, axes),
          int(np.prod(common)))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_einsum(data):
    sizes = {letter: data.draw(st.integers(1, 4)) for letter in "ijkl"}
    terms = data.draw(st.lists(st.text("ijkl", max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = data.draw(st.none() | st.permutations(used).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: "".join(p[:n]))))
    text = ",".join(terms) + ("" if output is None else "->" + output)
    if data.draw(st.booleans()):
        text = text.replace(",", " , ")
    arrays = [laid_out(data.draw, [sizes[letter] for letter in term], data.draw(st.sampled_from(("f8", "i8", "c16"))))
              for term in terms]
    expected = np.einsum(text, *arrays)
    check(fo.einsum(text, *[fo.asarray(array) for array in arrays]), expected, 256, 64.0)
    meta = fo.einsum(text, *[fo.empty(array.shape, dtype=array.dtype, device="meta") for array in arrays])
    assert (meta.shape, meta.dtype) == (np.shape(expected), np.asarray(expected).dtype)


def test_einsum_forms():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    x, y = fo.asarray(a), fo.asarray(b)
    np.testing.assert_array_equal(as_ndarray(fo.einsum(x, [0, 1], y, [1, 2], [2, 0])), (a @ b).T)
    np.testing.assert_array_equal(as_ndarray(fo.einsum(x, [0, 1], y, [1, 2])), a @ b)
    np.testing.assert_array_equal(as_ndarray(fo.einsum("...i,i", x, y[:, 0])), a @ b[:, 0])
    np.testing.assert_array_equal(as_ndarray(fo.einsum("ij,jk", [x, y])), a @ b)
    np.testing.assert_array_equal(as_ndarray(fo.einsum("ij,jk", a, b)), a @ b)
    np.testing.assert_array_equal(as_ndarray(fo.einsum("i->", [1.0, 2.0])), 3.0)
    out = fo.empty((2, 4))
    assert fo.einsum("ij,jk->ik", x, y, out=out) is out
    np.testing.assert_array_equal(as_ndarray(out), a @ b)
    assert fo.einsum("ij->ij", fo.asarray([[1]]), dtype="f4").dtype == "f4"
    np.testing.assert_allclose(as_ndarray(fo.einsum("ij,jk,kl", x, y, y.T, optimize=True)), a @ b @ b.T)


def test_einsum_result_is_its_own():
    x = fo.asarray(np.arange(9.0).reshape(3, 3))
    for text in ("ij", "ij->ji", "ii->i", "...->..."):
        result = fo.einsum(text, x)
        result += 1
    np.testing.assert_array_equal(as_ndarray(x), np.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize("text, shapes", (("ij,jk", [(2, 3), (4, 5)]), ("ij", [(2,)]), ("i,j", [(2,)]), ("i->j", [(2,)]),
                                          ("i->ii", [(2,)]), ("i1", [(2, 2)]), ("...->", [(2,)])))
def test_einsum_errors(text, shapes):
    arrays = [np.ones(shape) for shape in shapes]
    if text != "...->":
        with pytest.raises(ValueError):
            np.einsum(text, *arrays)
        with pytest.raises(ValueError):
            fo.einsum(text, *map(fo.asarray, arrays))
    with pytest.raises(ValueError, match="einsum"):
        fo.einsum(text, *[fo.empty(shape, device="meta") for shape in shapes])


@pytest.mark.parametrize("name", ("matmul", "matvec", "vecmat", "vecdot", "dot", "inner"))
def test_shapes_that_do_not_fit(name):
    function = getattr(fo, name)
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4, 5\)"):
        function(fo.ones((2, 3)), fo.ones((4, 5)))
    if name not in ("dot", "inner"):
        with pytest.raises(ValueError, match=r"\(3,\)" if name in ("matmul", "vecdot") else "shape"):
            function(fo.ones(()), fo.ones(3))
    if name in ("matmul", "vecdot"):
        with pytest.raises(ValueError, match="broadcast"):
            function(fo.ones((2, 3, 3)), fo.ones((5, 3, 3)))


def test_tensordot_errors():
    x, y = fo.ones((2, 3)), fo.ones((4, 5))
    for axes in (1, 2, ((0,), (0,)), 3):
        with pytest.raises(ValueError, match=r"tensordot.*\(2, 3\).*\(4, 5\)"):
            fo.tensordot(x, y, axes=axes)
    with pytest.raises(np.exceptions.AxisError):
        fo.tensordot(x, y, axes=((5,), (0,)))
    with pytest.raises(ValueError, match="twice"):
        fo.tensordot(x, x, axes=((0, 0), (0, 0)))


def test_vecdot_axis():
    a, b = samples.array(np.random.default_rng(0), (3, 4, 2), "c16"), samples.array(np.random.default_rng(1), (3, 4, 2), "c16")
    for axis in (0, 1, 2, -1, -2, -3):
        check(fo.vecdot(fo.asarray(a), fo.asarray(b), axis=axis), np.vecdot(a, b, axis=axis), 4)
    for axis in (3, -4):
        with pytest.raises(np.exceptions.AxisError, match="vecdot"):
            fo.vecdot(fo.asarray(a), fo.asarray(b), axis=axis)
    with pytest.raises(TypeError, match="axis"):
        fo.vecdot(fo.asarray(a), fo.asarray(b), axis=0.5)


@pytest.mark.parametrize("size", (3, 4, 8, 40))
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c8"))
def test_out_may_overlap(size, dtype):
    matrix = samples.array(np.random.default_rng(2), (size, size), dtype)
    expected = matrix @ matrix
    x = fo.asarray(matrix.copy())
    version = x._version
    assert fo.matmul(x, x, out=x) is x and x._version > version
    check(x, expected, size)
    x = fo.asarray(matrix.copy())
    x @= fo.asarray(matrix)
    check(x, expected, size)
    base = fo.zeros((2 * size, size), dtype=dtype)
    out = base[::-2]
    fo.matmul(fo.asarray(matrix), fo.asarray(matrix), out=out)
    check(base[::-2], expected, size)
    assert not as_ndarray(base)[::2].any()


@pytest.mark.parametrize("name", ("matmul", "dot", "vecdot"))
def test_out_is_checked(name):
    function, x = getattr(fo, name), fo.ones((3, 3))
    shape = (3,) if name == "vecdot" else (3, 3)
    wide = fo.empty(shape, dtype="c16")
    assert function(x, x, out=wide) is wide
    np.testing.assert_array_equal(as_ndarray(wide), np.full(shape, 3.0))
    with pytest.raises(TypeError, match="cast"):
        function(x, x, out=fo.empty(shape, dtype="i4"))
    with pytest.raises(ValueError, match=r"\(7,\)"):
        function(x, x, out=fo.empty(7))
    with pytest.raises(ValueError, match="read-only"):
        function(x, x, out=fo.asarray(np.broadcast_to(0.0, shape)))


def test_numbers_and_arrays_as_operands():
    a = np.arange(4.0).reshape(2, 2)
    for result in (fo.asarray(a) @ a, fo.matmul(a, a), fo.matmul(a.tolist(), a)):
        assert isinstance(result, fo.Tensor)
        np.testing.assert_array_equal(as_ndarray(result), a @ a)
    np.testing.assert_array_equal(as_ndarray(fo.dot(2, fo.asarray(a))), 2 * a)
    np.testing.assert_array_equal(as_ndarray(fo.inner(fo.asarray(a), 3)), 3 * a)
    assert fo.dot([1, 2], [3, 4]).item() == 11 and fo.asarray(a).dot(a).shape == (2, 2)
    with pytest.raises(ValueError, match="matmul"):
        fo.asarray(a) @ 2.0


@pytest.mark.parametrize("shapes", (((33, 17), (17, 29)), ((64, 64), (64, 64)), ((3, 50, 20), (20, 30)), ((200,), (200, 3))))
@pytest.mark.parametrize("dtype", ("f4", "f8", "c8", "i4"))
def test_operands_transposed_and_with_gaps(shapes, dtype):
    rng = np.random.default_rng(3)
    first, second = (samples.array(rng, shape, dtype) for shape in shapes)
    for one in (first, first[::-1], np.asfortranarray(first), np.repeat(first, 2, -1)[..., ::2]):
        for other in (second, second[..., ::-1], np.asfortranarray(second), np.repeat(second, 2, 0)[::2]):
            check(fo.matmul(fo.asarray(one), fo.asarray(other)), np.matmul(one, other), shapes[0][-1])
    square = fo.asarray(first[..., :17] if first.ndim == 2 else np.eye(3, dtype=dtype))
    check(square @ square.T, as_ndarray(square) @ as_ndarray(square).T, 17)


def test_long_products_let_other_threads_run():
    x = fo.ones((300, 300), dtype="i8")
    results = []
    threads = [threading.Thread(target=lambda: results.append(int((x @ x).sum().item()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [300 ** 3] * 3
