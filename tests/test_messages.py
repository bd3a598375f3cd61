"""Bad input gets an error of NumPy's kind that names the operator and the values at fault; the thread stays clean."""

import numpy as np
import pytest

import fastops as fo

x = fo.asarray([[1.0, 2.0], [3.0, 4.0]])
read_only = fo.broadcast_to(fo.ones(2), (2, 2))


def dead_library():
    library = fo.library.Library("message_dead", "DEF")
    library.define("f(Tensor x) -> Tensor")
    operator = fo.ops.message_dead.f.default
    library._destroy()
    return operator(x)


def wrong_kernel():
    with fo.library._scoped_library("message_wrong", "DEF") as library:
        library.define("f(Tensor x) -> (Tensor, Tensor)")
        library.impl("f", lambda x: x, "CPU")
        return fo.ops.message_wrong.f(x)


def bad_schema():
    with fo.library._scoped_library("message_schema", "DEF") as library:
        library.define("f(Tensor x, flot y) -> Tensor")


def unknown_key():
    with fo.library._scoped_library("message_key", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "CPUU")


CASES = {
    "shapes": (lambda: x + fo.ones(3), ValueError, ["add", "(2, 2)", "(3,)"]),
    "shapes of matmul": (lambda: x @ fo.ones((3, 2)), ValueError, ["matmul", "(2, 2)", "(3, 2)"]),
    "shapes of concat": (lambda: fo.concat([x, fo.ones((2, 3, 1))]), ValueError, ["concat", "(2, 2)", "(2, 3, 1)"]),
    "reshape": (lambda: x.reshape(3, 2), ValueError, ["reshape", "(2, 2)", "(3, 2)"]),
    "broadcast_to": (lambda: fo.broadcast_to(x, (3, 3)), ValueError, ["broadcast_to", "(2, 2)", "(3, 3)"]),
    "unknown dtype": (lambda: fo.zeros(2, dtype="flot64"), TypeError, ["zeros", "flot64"]),
    "dtype of astype": (lambda: x.astype("object"), TypeError, ["astype", "dtype('O')"]),
    "not for the dtype": (lambda: x & x, TypeError, ["bitwise_and", "float64"]),
    "cast of out": (lambda: fo.add(x, x, out=fo.zeros((2, 2), dtype="i4")), TypeError, ["add", "float64", "int32"]),
    "shape of out": (lambda: fo.add(x, x, out=fo.zeros(2)), ValueError, ["add", "(2, 2)", "(2,)"]),
    "axis": (lambda: x.sum(axis=2), np.exceptions.AxisError, ["sum", "2"]),
    "axis twice": (lambda: x.sum(axis=(0, 0)), ValueError, ["sum", "0"]),
    "axis of squeeze": (lambda: fo.squeeze(x, 0), ValueError, ["squeeze", "(2, 2)"]),
    "index": (lambda: x[0, 5], IndexError, ["getitem", "5", "axis 1", "size 2"]),
    "indices": (lambda: x[0, 0, 0], IndexError, ["getitem", "2 dim", "3"]),
    "index to write": (lambda: x.__setitem__(9, 0), IndexError, ["setitem", "9"]),
    "value to write": (lambda: (x + 0).__setitem__(0, [1, 2, 3]), ValueError, ["setitem", "(3,)", "(2,)"]),
    "take": (lambda: fo.take(x, 7, axis=0), IndexError, ["take", "7"]),
    "too large": (lambda: fo.zeros((2**40, 2**40)), ValueError, ["zeros", str(2**40)]),
    "negative size": (lambda: fo.ones((2, -3)), ValueError, ["ones", "-3"]),
    "a size that is none": (lambda: fo.ones(2.5), TypeError, ["ones", "2.5"]),
    "argument name": (lambda: fo.sum(x, axes=0), TypeError, ["sum", "axes"]),
    "too many arguments": (lambda: fo.sin(x, x, x), TypeError, ["sin", "3"]),
    "missing argument": (lambda: fo.where(x, x), ValueError, ["where", "x2"]),
    "argument twice": (lambda: fo.sum(x, 0, axis=1), TypeError, ["sum", "axis"]),
    "integer out of bounds": (lambda: fo.ones(2, dtype="u1") + 256, OverflowError, ["add", "256", "uint8"]),
    "negative whole power": (lambda: fo.asarray([2]) ** -1, ValueError, ["negative integer powers"]),
    "empty axis": (lambda: fo.max(fo.zeros((0, 2)), axis=0), ValueError, ["max", "(0, 2)"]),
    "device": (lambda: fo.zeros(2, device="tpu"), ValueError, ["zeros", "tpu", "cpu"]),
    "no kernel": (lambda: fo.ones(2, device="cuda"), NotImplementedError, ["ones", "CUDA"]),
    "item": (lambda: x.item(), ValueError, ["item", "(2, 2)"]),
    "truth": (lambda: bool(x), ValueError, ["(2, 2)", "any()"]),
    "as index": (lambda: [1, 2][fo.asarray(1.0)], TypeError, ["index", "float64"]),
    "to float": (lambda: float(x), TypeError, ["(2, 2)", "item()"]),
    "text": (lambda: fo.asarray("abc"), TypeError, ["<U3"]),
    "object": (lambda: fo.asarray(object()), TypeError, ["asarray", "object"]),
    "ragged": (lambda: fo.asarray([[1, 2], [3]]), ValueError, ["inhomogeneous"]),
    "read-only in place": (lambda: read_only.__iadd__(1), ValueError, ["add", "read-only"]),
    "read-only assignment": (lambda: read_only.__setitem__(0, 1), ValueError, ["setitem", "read-only"]),
    "read-only out": (lambda: fo.sin(x, out=read_only), ValueError, ["sin", "read-only"]),
    "out of another kind": (lambda: fo.sin(x, out=[1, 2]), TypeError, ["sin", "list"]),
    "schema": (bad_schema, ValueError, ["flot", "^"]),
    "result of a kernel": (wrong_kernel, TypeError, ["message_wrong.f", "Tensor", "2 results"]),
    "key": (unknown_key, ValueError, ["CPUU", "Autograd"]),
    "dead library": (dead_library, RuntimeError, ["message_dead.f", "gone", "test_messages.py"]),
    "einsum": (lambda: fo.einsum("ij,jk", x, fo.ones((3, 2))), ValueError, ["einsum", "ij,jk", "(3, 2)"]),
    "tensordot": (lambda: fo.tensordot(x, fo.ones((3, 3)), 1), ValueError, ["(2, 2)", "(3, 3)"]),
    "diagonal": (lambda: fo.diagonal(fo.ones(2)), ValueError, ["diagonal"]),
    "rank": (lambda: fo.zeros((1,) * 65), ValueError, ["zeros", "65"]),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, kind, parts = CASES[name]
    before = fo.dispatch.local_state()
    with pytest.raises(kind) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), f"{part!r} is not in: {caught.value}"
    assert fo.dispatch.local_state() == before
    assert (x + x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
