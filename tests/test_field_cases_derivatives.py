"""Field cases of derivatives and custom operators: faults that bit users of other packages, each for its whole kind."""

import gc
import subprocess
import sys
from typing import List, Optional, Tuple

import numpy as np
import pytest

import fastops as fo
from fastops import dispatch, func, library
from fastops.library import custom_op

T, A = fo.Tensor, fo.asarray


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


def unique(name, counter=[0]):
    counter[0] += 1
    return f"q{counter[0]}::{name}"


# CO-02: signatures

def test_co_02_postponed_annotations():
    namespace = {}
    name, other = unique("fa"), unique("fb")
    exec(compile(f'''
from __future__ import annotations
from typing import List, Optional
import fastops as fo
from fastops.library import custom_op
@custom_op("{name}", mutates_args=())
def fa(xs: List[fo.Tensor], s: Optional[float] = None) -> fo.Tensor:
    return xs[0] * (1.0 if s is None else s)
def late():
    import fastops as only_here
    @custom_op("{other}", mutates_args=())
    def fb(x: only_here.Tensor) -> only_here.Tensor:
        return x + 0
    return fb
''', "mod", "exec"), namespace)
    assert values(namespace["fa"]([A([2.0])], 3.0)) == [6.0]
    try:
        made = namespace["late"]()
    except ValueError as error:
        assert "only_here" in str(error) and "'x'" in str(error) and "annotations" in str(error)
    else:
        assert values(made(A([1.0]))) == [1.0]


def test_co_02_tuples_and_a_bare_string():
    @custom_op(unique("fc"), mutates_args=())
    def fc(x: T, pad: Tuple[int, int]) -> T:
        return x + pad[0]
    assert values(fc(A([1.0]), (2, 3))) == [3.0]
    with pytest.raises(ValueError, match="sequence of names"):
        @custom_op(unique("fd"), mutates_args="out")
        def fd(out: T, y: T) -> None:
            out[...] = y


# CO-06: how many gradients

def test_co_06_the_schema_fixes_the_count():
    seen = []

    @custom_op(unique("scale"), mutates_args=())
    def scale(x: T, a: float = 2.0, b: float = 1.0) -> T:
        return x * (a * b)

    def setup(ctx, inputs, output):
        seen.append(len(inputs))
        ctx.k = inputs[1] * inputs[2]
    library.register_autograd(scale, lambda ctx, g: (g * ctx.k, None, None), setup_context=setup)
    grads = []
    for kw in ({}, {"a": 3.0}, {"b": 5.0}):
        x = A([1.0, 1.0], requires_grad=True)
        scale(x, **kw).sum().backward()
        grads.append(values(x.grad))
    assert seen == [3, 3, 3] and grads == [[2.0, 2.0], [3.0, 3.0], [10.0, 10.0]]


@pytest.mark.parametrize("given, message", [((), r"expected 2 gradients \(x, k\), got 0"), ((1.0,), "not a Tensor"), (("g", "g"), "'k'.*must be None"),
                                            (("g", None, "g"), "got 3")])
def test_co_06_wrong_counts_are_reported_right(given, message):
    name = unique("times")

    @custom_op(name, mutates_args=())
    def times(x: T, k: int) -> T:
        return x * k
    library.register_autograd(name, lambda ctx, g: tuple(g if one == "g" else one for one in given) if given != (1.0,) else (1.0, None),
                              setup_context=lambda ctx, inputs, output: None)
    with pytest.raises(RuntimeError, match=message) as caught:
        times(A([1.0], requires_grad=True), 3).sum().backward()
    assert name in str(caught.value)


# CO-08: keyword-only arguments

def test_co_08_keyword_only():
    got = {}

    @custom_op(unique("affine"), mutates_args=())
    def affine(x: T, *, alpha: float, beta: float = 1.0) -> T:
        return x * (alpha * beta)

    def setup(ctx, inputs, keyword_only_inputs, output):
        got.update(keyword_only_inputs)
        ctx.k = keyword_only_inputs["alpha"] * keyword_only_inputs["beta"]
    library.register_autograd(affine, lambda ctx, g: g * ctx.k, setup_context=setup)
    x = A([1.0, 1.0], requires_grad=True)
    affine(x, alpha=3.0).sum().backward()
    assert got == {"alpha": 3.0, "beta": 1.0} and values(x.grad) == [3.0, 3.0]
    assert values(fo.grad(lambda t: affine(t, alpha=3.0).sum())(A([1.0, 1.0]))) == [3.0, 3.0]

    @custom_op(unique("biased"), mutates_args=())
    def biased(x: T, *, bias: Optional[T] = None) -> T:
        return x + 0 if bias is None else x + bias
    assert values(biased(A([1.0]), bias=A([2.0]))) == [3.0] and values(biased(A([1.0]))) == [1.0]
    with pytest.raises(RuntimeError, match="bias"):
        biased(A([1.0]), bias=A([2.0], requires_grad=True))


# CO-09: declared mutation moves versions

@pytest.mark.parametrize("pick", ["list", "y", "z"])
def test_co_09_declared_mutation(pick):
    @custom_op(unique("sin_"), mutates_args={"xs", "y"})
    def sin_(xs: List[T], y: T, z: T) -> None:
        for t in [*xs, y]:
            n = np.asarray(t)
            np.sin(n, out=n)
    x = A([0.5], requires_grad=True)
    h = x * 1.0
    out = h * h
    o1, o2 = A([0.5]), A([0.5])
    args = {"list": ([o1, h.detach()], o2, o1 + 0), "y": ([o1], h.detach(), o2), "z": ([o1], o2, h.detach())}[pick]
    sin_(*args)
    if pick == "z":
        out.backward()
        assert values(x.grad) == [1.0]
    else:
        with pytest.raises(RuntimeError, match="modified after being saved"):
            out.backward()


# AG-04: saved values that change

def test_ag_04_a_view_of_a_saved_value():
    name = unique("mm")

    @custom_op(name, mutates_args=())
    def mm(x: T, w: T) -> T:
        return x @ w
    library.register_autograd(name, lambda ctx, g: (g @ ctx.saved_tensors[0], None),
                              setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1].T))
    x = fo.ones((2, 3))
    x.requires_grad = True
    w = fo.ones((3, 2))
    out = mm(x, w)
    w += 1
    with pytest.raises(RuntimeError, match=f"{name}.*modified after being saved"):
        out.sum().backward()


def test_ag_04_an_output_and_what_is_harmless():
    x = A([0.0, 1.0], requires_grad=True)
    y = fo.exp(x)
    y += 1
    with pytest.raises(RuntimeError, match=r"exp saved.*modified after being saved: by fastops::add"):
        y.sum().backward()
    x = A([0.0, 1.0], requires_grad=True)
    y = x + 1
    y *= 2
    y.sum().backward()
    assert values(x.grad) == [2.0, 2.0]


# Which elementwise operators keep their argument, their result, or nothing: each is caught, or harmless.
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "tanh", "sqrt", "log", "square", "reciprocal", "expm1", "atan", "abs"])
@pytest.mark.parametrize("which", ["argument", "result"])
def test_ag_04_every_kind_of_saved_value(name, which):
    leaf = A([0.5, 1.5], requires_grad=True)
    h = leaf * 1.0
    y = getattr(fo, name)(h)
    expected = fo.grad(lambda x: getattr(fo, name)(x).sum())(leaf.detach())
    with fo.no_grad():
        target = h if which == "argument" else y
        target += 1
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert name in str(error) and "modified" in str(error)
    else:
        np.testing.assert_allclose(leaf.grad.numpy(), expected.numpy())


# AG-05: broadcasting

@pytest.mark.parametrize("shape_a, shape_b, grad_a, grad_b", [
    ((1,), (5, 4), 40, 1), ((4, 1), (1, 4), 8, 4), ((), (3,), 6, 1), ((2, 0), (1, 1), None, 0), ((0, 1), (1, 3), None, 0), ((1, 1, 3), (2, 1), 4, 3)])
def test_ag_05_broadcasting(shape_a, shape_b, grad_a, grad_b):
    a, b = fo.ones(shape_a, requires_grad=True), fo.full(shape_b, 2.0, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.shape == shape_a and b.grad.shape == shape_b
    if grad_a is not None:
        assert (a.grad == grad_a).all()
    assert (b.grad == grad_b).all()


BINARY = ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "hypot", "atan2", "logaddexp", "fmod", "remainder", "copysign"]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((2, 0), (1, 1)), ((3, 1), (4,)), ((), (2, 3)), ((1, 1, 3), (2, 1)), ((0,), ())])
def test_ag_05_for_every_binary_operator(name, shapes):
    a, b = (fo.full(shape, value, requires_grad=True) for shape, value in zip(shapes, (1.5, 2.5)))
    getattr(fo, name)(a, b).sum().backward()
    assert a.grad.shape == a.shape and b.grad.shape == b.shape


# AG-06: powers at zero

def derivatives(f, order, x):
    found = []
    for _ in range(order + 1):
        found.append(float(f(A(x))))
        f = func.grad(f)
    return found


def test_ag_06_powers_at_zero():
    assert [derivatives(lambda x: x ** 4, 6, v) for v in (-1.0, 0.0, 1.0)] == [
        [1, -4, 12, -24, 24, 0, 0], [0, 0, 0, 0, 24, 0, 0], [1, 4, 12, 24, 24, 0, 0]]
    assert derivatives(lambda x: x ** 1, 2, 0.0) == [0, 1, 0] and derivatives(lambda x: x ** 0, 1, 0.0) == [1, 0]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["python", "float", "tensor", "square"])
def test_ag_06_every_spelling_of_a_power(exponent, kind):
    n = {"python": exponent, "float": float(exponent), "tensor": A(float(exponent)), "square": exponent}[kind]

    def power(x):
        return fo.square(x) * x ** (n - 2) if kind == "square" and exponent >= 2 else x ** n
    found = derivatives(power, exponent + 2, 0.0)
    expected = [0.0] * (exponent + 3)
    expected[exponent] = float(np.prod(np.arange(1, exponent + 1)))
    assert found == expected


# FT-07: exceptions inside transforms

def test_ft_07_exceptions_leave_nothing_behind():
    def boom(x):
        raise KeyError("k7")

    def stop(x):
        raise KeyboardInterrupt
    x = fo.ones(3)
    for fn, kind in ((boom, KeyError), (stop, KeyboardInterrupt)):
        for call in (func.grad(fn), lambda x: func.jvp(fn, (x,), (x,)), lambda x: func.grad(lambda y: func.grad(fn)(y).sum())(x), func.jacrev(fn),
                     func.jacfwd(fn), func.hessian(fn), lambda x: func.vjp(fn, x), lambda x: func.linearize(fn, x), func.value_and_grad(fn)):
            with pytest.raises(kind) as caught:
                call(x)
            assert kind is not KeyError or caught.value.args == ("k7",)
            assert dispatch.local_state()[2] == 0 and fo.is_grad_enabled()
    assert values(func.grad(lambda x: (x ** 2).sum())(x)) == [2.0] * 3 and not (x + 1).requires_grad


# FT-11: gradients of integers, vectors and pairs

def test_ft_11_what_cannot_be_differentiated():
    with pytest.raises((TypeError, RuntimeError), match="argument 0.*int64.*astype"):
        func.grad(lambda x: (x / 2).sum())(A([110]))
    with pytest.raises(ValueError, match=r"\(3,\).*sum\(\).*jacrev"):
        func.grad(lambda x: x * 2)(fo.ones(3))
    with pytest.raises(TypeError, match="tuple.*has_aux"):
        func.grad(lambda x: (x.sum(), x - 1))(fo.ones(3))
    ok = func.grad(lambda x: (x.sum(), x - 1), has_aux=True)(fo.ones(3))
    assert values(ok[0]) == [1.0] * 3 and values(ok[1]) == [0.0] * 3
    assert values(func.grad(lambda x, n: (x * n).sum())(fo.ones(3), A([1, 2, 3]))) == [1.0, 2.0, 3.0]


# DM-06: growth

def test_dm_06_nothing_is_left_of_a_call():
    class Kept:
        pass
    kept = Kept()
    name = unique("leakcheck")

    @custom_op(name, mutates_args=())
    def leakcheck(x: T) -> T:
        return x + 1
    library.register_autograd(name, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: kept)

    def work(count):
        for _ in range(count):
            fo.ones((3, 4))
            x = A([1.0], requires_grad=True)
            leakcheck(x).sum().backward()
    work(200)
    gc.collect()
    blocks, references = sys.getallocatedblocks(), sys.getrefcount(kept)
    work(2000)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100 and sys.getrefcount(kept) == references


# TH-03: fork after a backward pass

PROGRAM = '''
import multiprocessing as mp
import numpy as np
import fastops as fo
def f(k):
    big = fo.asarray(np.random.rand(600, 600))
    (big + big).sum(); big @ big
    x = fo.asarray([float(k)], requires_grad=True)
    (x * x).sum().backward()
    return float(x.grad[0])
if __name__ == "__main__":
    f(0)
    with mp.get_context("fork").Pool(2) as p:
        print(p.map_async(f, [1, 2, 3]).get(timeout=30))
'''


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_th_03_fork_after_a_backward_pass():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=90)
        assert done.stdout.strip() == "[2.0, 4.0, 6.0]", done.stderr


# SL-01: what a call costs grows with nothing that it does not use

def test_sl_01_a_list_that_is_not_written_costs_no_more_than_its_length():
    @custom_op(unique("touch"), mutates_args={"x"})
    def touch(x: T, xs: List[T]) -> None:
        x += 1
    x = fo.ones(4)
    version = x._version
    touch(x, [fo.ones(1) for _ in range(64)])
    assert x._version > version and values(x) == [2.0] * 4
