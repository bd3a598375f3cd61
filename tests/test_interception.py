"""NumPy's functions on tensors: unmodified NumPy code goes through the dispatcher, and its results stay tensors."""

import numpy as np
import pytest

import fastops as fo
from fastops import registry
from fastops._dispatch import pop_interpreter, push_interpreter
from fastops.testing import PassThrough, assert_array_equal, assert_close, quietly

RNG = np.random.default_rng(0)
UFUNCS = [value for name, value in sorted(vars(np).items()) if isinstance(value, np.ufunc) and value.signature is None
          and name == value.__name__ and value not in (np.isnat,)]


def arguments_for(ufunc):
    for kinds in ("d" * ufunc.nin, "l" * ufunc.nin, "?" * ufunc.nin, "dl"[:ufunc.nin]):
        arguments = [np.array([[1, 1], [0, 1]] if kind == "?" else [[1, 2], [3, 4]], kind) for kind in kinds]
        try:
            quietly(ufunc, *arguments)
        except TypeError:
            continue
        return arguments
    raise AssertionError(f"no arguments for {ufunc}")


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_every_ufunc(ufunc):
    arguments = arguments_for(ufunc)
    expected = quietly(ufunc, *arguments)
    interpreter = PassThrough()
    push_interpreter(interpreter)
    try:
        actual = quietly(ufunc, fo.asarray(arguments[0]), *arguments[1:])
    finally:
        pop_interpreter()
    assert interpreter.seen, "the call went past the dispatcher"
    for ours, theirs in zip(actual if isinstance(actual, tuple) else (actual,), expected if isinstance(expected, tuple) else (expected,),
                            strict=True):
        assert isinstance(ours, fo.Tensor)
        assert_close(ours, theirs)
    if ufunc.nin == 2 and ufunc.nout == 1:
        assert isinstance(quietly(ufunc, arguments[0], fo.asarray(arguments[1])), fo.Tensor)
    if ufunc.nout == 1:
        for out in (np.zeros_like(expected), fo.asarray(np.zeros_like(expected))):
            assert quietly(ufunc, fo.asarray(arguments[0]), *arguments[1:], out=out) is out
            assert_close(fo.asarray(out), expected)
            half = np.array([True, False])
            mine, theirs = fo.asarray(np.zeros_like(expected)), np.zeros_like(expected)
            assert quietly(ufunc, fo.asarray(arguments[0]), *arguments[1:], out=mine, where=half) is mine
            quietly(ufunc, *arguments, out=theirs, where=half)
            assert_close(mine, theirs)


METHODS = [(ufunc, method) for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or, np.logaddexp, np.subtract)
           for method in ("reduce", "accumulate", "outer", "reduceat")]


@pytest.mark.parametrize("ufunc, method", METHODS, ids=lambda value: getattr(value, "__name__", value))
def test_methods_of_ufuncs(ufunc, method):
    x = RNG.uniform(0.5, 2.0, (3, 4))
    more = {"outer": (x[0],), "reduceat": ([0, 2],)}.get(method, ())
    result = getattr(ufunc, method)(fo.asarray(x), *more)
    assert isinstance(result, fo.Tensor)
    assert_close(result, getattr(ufunc, method)(x, *more))
    if method in ("reduce", "accumulate"):
        assert_close(getattr(ufunc, method)(fo.asarray(x), axis=1), getattr(ufunc, method)(x, axis=1))
        out = fo.zeros(getattr(ufunc, method)(x, axis=1).shape, dtype=getattr(ufunc, method)(x, axis=1).dtype)
        assert getattr(ufunc, method)(fo.asarray(x), axis=1, out=out) is out
    if method == "reduce" and ufunc in (np.add, np.maximum):
        assert_close(ufunc.reduce(fo.asarray(x), axis=(0, 1), keepdims=True, initial=9.0), ufunc.reduce(x, axis=(0, 1), keepdims=True, initial=9.0))


def test_at_writes_in_place():
    x = fo.zeros(3)
    version = x._version
    np.add.at(x, [0, 0, 2], 1.0)
    assert x.tolist() == [2.0, 0.0, 1.0]
    assert x._version > version


A, B = RNG.uniform(0.5, 2.0, (4, 4)), RNG.uniform(0.5, 2.0, (4, 4))
CALLS = {
    "concatenate": lambda t, n: np.concatenate([t, n]), "stack": lambda t, n: np.stack([n, t], axis=1), "vstack": lambda t, n: np.vstack((t, n)),
    "sum": lambda t, n: np.sum(t, axis=0), "mean": lambda t, n: np.mean(t, axis=1, keepdims=True), "std": lambda t, n: np.std(t, ddof=1),
    "max": lambda t, n: np.max(t), "argmax": lambda t, n: np.argmax(t, axis=0), "cumsum": lambda t, n: np.cumsum(t, axis=1),
    "where": lambda t, n: np.where(t > 1, t, n), "clip": lambda t, n: np.clip(t, 0.7, 1.5), "round": lambda t, n: np.round(t, 1),
    "reshape": lambda t, n: np.reshape(t, (2, 8)), "reshape in columns": lambda t, n: np.reshape(t, (2, 8), order="F"),
    "transpose": lambda t, n: np.transpose(t), "swapaxes": lambda t, n: np.swapaxes(t, 0, 1), "einsum": lambda t, n: np.einsum("ij,jk->ik", t, n),
    "tensordot": lambda t, n: np.tensordot(t, n, 1), "dot": lambda t, n: np.dot(n, t), "outer": lambda t, n: np.outer(t[0], n[0]),
    "matmul": lambda t, n: n @ t, "linalg.inv": lambda t, n: np.linalg.inv(t), "linalg.solve": lambda t, n: np.linalg.solve(t, n),
    "linalg.svd": lambda t, n: np.linalg.svd(t)[1], "linalg.norm": lambda t, n: np.linalg.norm(t, axis=1), "linalg.det": lambda t, n: np.linalg.det(t),
    "fft.fft": lambda t, n: np.fft.fft(t), "fft.rfft2": lambda t, n: np.fft.rfft2(t), "sort": lambda t, n: np.sort(t, axis=0),
    "unique": lambda t, n: np.unique(t), "median": lambda t, n: np.median(t, axis=0), "percentile": lambda t, n: np.percentile(t, 30),
    "zeros_like": lambda t, n: np.zeros_like(t), "full_like": lambda t, n: np.full_like(t, 3), "pad": lambda t, n: np.pad(t, 1),
    "diff": lambda t, n: np.diff(t), "gradient": lambda t, n: np.gradient(t)[0], "interp": lambda t, n: np.interp(t, n[0].cumsum(), n[1]),
    "trace": lambda t, n: np.trace(t), "take": lambda t, n: np.take(t, [1, 2], axis=0), "searchsorted": lambda t, n: np.searchsorted(np.sort(t[0]), n),
    "add with a list": lambda t, n: np.add([1, 2, 3, 4], t), "dtype=": lambda t, n: np.add(t, n, dtype="f4"), "comparison": lambda t, n: n < t,
    "reflected": lambda t, n: n - t, "histogram": lambda t, n: np.histogram(t, bins=3)[0], "broadcast_to": lambda t, n: np.broadcast_to(t, (2, 4, 4)),
    "asarray like": lambda t, n: np.asarray([1.0], like=t), "zeros like": lambda t, n: np.zeros(2, like=t),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_stay_native(name):
    result = CALLS[name](fo.asarray(A), B)
    assert isinstance(result, fo.Tensor), type(result)
    assert_close(result, CALLS[name](A, B), rtol=1e-10)


def test_what_reads_no_data_gives_what_numpy_gives():
    t = fo.asarray(A)
    assert np.shape(t) == (4, 4) and np.ndim(t) == 2 and np.size(t) == 16
    assert np.allclose(t, A) and np.array_equal(t, A) and np.may_share_memory(t, t)
    assert np.result_type(t, np.float32) == np.float64
    assert "1." in np.array2string(fo.ones(2)) and np.array_repr(fo.ones(2)) == "array([1., 1.])"


def test_writing_functions_of_numpy():
    t = fo.zeros(4)
    version = t._version
    np.copyto(t, [1.0, 2.0, 3.0, 4.0])
    assert t.tolist() == [1.0, 2.0, 3.0, 4.0] and (t._version > version or not hasattr(fo, 'copyto'))
    np.sum(fo.ones((2, 4)), axis=0, out=t)
    assert t.tolist() == [2.0] * 4
    n = np.zeros(4)
    assert np.sum(fo.ones((2, 4)), axis=0, out=n) is n and n.tolist() == [2.0] * 4
    n += fo.ones(4)
    assert type(n) is np.ndarray and n.tolist() == [3.0] * 4


def test_a_tensor_without_data_says_what_cannot_be():
    meta = fo.empty((3, 3), device="meta")
    assert np.sin(meta).device == "meta" and np.concatenate([meta, meta]).shape == (6, 3)
    with pytest.raises(TypeError, match=r"numpy\..*no counterpart"):
        np.apply_along_axis(sum, 0, meta)


def test_other_array_types_go_first():
    class Greedy:
        __array_priority__ = 1000

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "taken"

        def __array_function__(self, function, types, args, kwargs):
            return "taken"

    assert np.add(fo.ones(2), Greedy()) == "taken"
    assert np.concatenate([fo.ones(2), Greedy()]) == "taken"
    assert fo.ones(2).__array_ufunc__(np.add, "__call__", fo.ones(2), Greedy()) is NotImplemented


def test_foreign_ufuncs_become_operators():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 2.0, 5)
    before = set(registry.operators)
    assert_close(special.erf(fo.asarray(x)), special.erf(x))
    assert_close(special.jv(1.5, fo.asarray(x)), special.jv(1.5, x))
    assert {name for name in set(registry.operators) - before if name.startswith("ufunc::")} <= {"ufunc::jv"}
    assert fo.ops.ufunc.jv.default.namespace == "ufunc"


def test_modes_see_unmodified_numpy_code():
    def program(x):
        return np.sum(np.exp(-x ** 2) / np.sqrt(2 * np.pi), axis=0)

    interpreter = PassThrough()
    push_interpreter(interpreter)
    try:
        result = program(fo.asarray(A))
    finally:
        pop_interpreter()
    assert_close(result, program(A))
    assert {"exp", "sum"} <= {operator.__name__ for operator in interpreter.seen}
