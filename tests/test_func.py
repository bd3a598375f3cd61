"""Transforms of functions: values, nesting, containers, closures, escapes, and NumPy programs that know nothing of them."""

import collections
import dataclasses
import functools

import numpy as np
import pytest

import fastops as fo
from fastops import dispatch, func, tree
from fastops.errors import DerivativeError, EscapeError

A = fo.asarray


def values(thing):
    return tree.map(lambda leaf: np.asarray(leaf).tolist() if isinstance(leaf, fo.Tensor) else leaf, thing)


def cube(x):
    return (x ** 3).sum()


X = A([1.0, 2.0])


def test_each_transform():
    assert values(fo.grad(cube)(X)) == [3.0, 12.0]
    assert values(fo.value_and_grad(cube)(X)) == (9.0, [3.0, 12.0]) and values(func.grad_and_value(cube)(X)) == ([3.0, 12.0], 9.0)
    y, pull_back = fo.vjp(lambda x: x ** 2, X)
    assert values(y) == [1.0, 4.0] and values(pull_back(A([1.0, 10.0]))) == ([2.0, 40.0],) and values(pull_back(fo.ones(2))) == ([2.0, 4.0],)
    assert values(fo.jvp(lambda x: x ** 2, (X,), (A([1.0, 10.0]),))) == ([1.0, 4.0], [2.0, 40.0])
    assert values(fo.jacrev(lambda x: x ** 2)(X)) == values(fo.jacfwd(lambda x: x ** 2)(X)) == [[2.0, 0.0], [0.0, 4.0]]
    assert values(fo.hessian(cube)(X)) == [[6.0, 0.0], [0.0, 12.0]]
    assert values(func.hvp(cube, (X,), (A([1.0, 0.5]),))) == [6.0, 6.0]
    y, push = func.linearize(lambda x: x ** 2, X)
    assert values(y) == [1.0, 4.0] and values(push(A([1.0, 10.0]))) == [2.0, 40.0] and values(push(fo.ones(2))) == [2.0, 4.0]
    assert all(getattr(fo, name) is getattr(func, name) for name in ("grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian"))


def test_shapes_of_jacobians():
    def f(x, y):
        return {"sum": x.sum(0) + y, "outer": x}
    x, y = fo.ones((2, 3)), fo.ones(3)
    for jacobian in (fo.jacrev, fo.jacfwd):
        made = jacobian(f, argnums=(0, 1))(x, y)
        assert {name: tuple(block.shape for block in blocks) for name, blocks in made.items()} == {
            "sum": ((3, 2, 3), (3, 3)), "outer": ((2, 3, 2, 3), (2, 3, 3))}
        assert np.array_equal(np.asarray(made["outer"][0]).reshape(6, 6), np.eye(6)) and not np.asarray(made["outer"][1]).any()
        assert jacobian(lambda x: x[:0])(y).shape == (0, 3) and jacobian(lambda x: fo.ones(2) + x.sum())(fo.ones(0)).shape == (2, 0)
        assert jacobian(lambda x: (x * 2, "aux"), has_aux=True)(fo.ones(1))[1] == "aux"


# Nesting

def test_no_perturbation_is_confused():
    # https://arxiv.org/abs/1211.4892: the inner derivative is 1 whatever x is
    def f(derivative):
        return derivative(lambda x: x * derivative(lambda y: x + y)(A(1.0)))(A(2.0))

    def forward(f):
        return lambda x: fo.jvp(f, (x,), (A(1.0),))[1]
    for outer in (fo.grad, forward):
        for inner in (fo.grad, forward):
            assert float(outer(lambda x, inner=inner: x * inner(lambda y: x + y)(A(1.0)))(A(2.0))) == 1.0
    assert float(f(fo.grad)) == float(f(forward)) == 1.0


@pytest.mark.parametrize("order", range(1, 6))
def test_any_mixture_of_modes_to_any_order(order):
    def forward(f):
        return lambda x: fo.jvp(f, (x,), (A(1.0),))[1]
    rng = np.random.default_rng(order)
    for _ in range(8):
        f = fo.sin
        for _ in range(order):
            f = [fo.grad, forward, fo.jacrev, fo.jacfwd][rng.integers(4)](f)
        expected = [np.sin, np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v)][order % 4](0.7)
        assert float(f(A(0.7))) == pytest.approx(expected, rel=1e-9)


def test_closures_over_outer_values():
    outer = fo.grad(lambda x: (fo.grad(lambda y: (x * y ** 2).sum())(A([3.0])) * x).sum())(A([2.0]))
    assert values(outer) == [2 * 2 * 2.0 * 3.0]
    w = A([2.0], requires_grad=True)
    inner = fo.grad(lambda x: (w * x ** 2).sum())(A([3.0]))
    assert inner.requires_grad and values(inner.detach()) == [12.0]
    inner.sum().backward()
    assert values(w.grad) == [6.0]
    assert not fo.grad(lambda x: (x ** 2).sum())(X).requires_grad
    leaf = A([3.0], requires_grad=True)
    slope = fo.grad(lambda x: (x ** 3).sum())(leaf)
    slope.sum().backward()
    assert values(leaf.grad) == [18.0]


def test_no_grad_around_and_inside():
    with fo.no_grad():
        assert values(fo.grad(cube)(X)) == [3.0, 12.0] and not fo.is_grad_enabled()

    def partly(x):
        with fo.no_grad():
            frozen = x * 2
        return (x * frozen).sum()
    assert values(fo.grad(partly)(X)) == [2.0, 4.0]
    assert values(fo.grad(lambda x: (x * fo.detach(x)).sum())(X)) == [1.0, 2.0]
    assert values(fo.grad(lambda x: (x * x.detach()).sum())(X)) == [1.0, 2.0]


def test_writes_inside_functions():
    def f(x):
        out = fo.zeros(3)
        out[0] = x[0] * x[1]
        out[1:] = x
        out *= 2
        y = x * 1.0
        view = y[:1]
        view += out[0]
        return (out * A([1.0, 10.0, 100.0])).sum() + y.sum()
    expected = [2 * X.tolist()[1] * 2 + 21, 2 * 2 + 201]
    assert values(fo.grad(f)(X)) == [4.0 + 20.0 + 1.0 + 4.0, 2.0 + 200.0 + 1.0 + 2.0], expected
    tangent = fo.jvp(f, (X,), (A([1.0, 0.0]),))[1]
    assert float(tangent) == 29.0
    assert values(fo.hessian(f)(X)) == [[0.0, 4.0], [4.0, 0.0]]


# Containers

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: object
    shift: object = None


class Bag:
    def __init__(self, *items):
        self.items = items


tree.register_pytree_node(Bag, lambda bag: (bag.items, "bag"), lambda context, items: Bag(*items))


def test_arguments_and_results_of_every_kind():
    def f(params, other):
        a, (b, layers) = params["a"], params["rest"]
        return {"loss": (a * b.x).sum() + layers[0].weight.sum() * b.y + other.items[0] * other.items[1]}["loss"]
    params = {"rest": (Point(fo.ones(2), A(3.0)), [Layer(fo.ones(2))]), "a": A([1.0, 2.0])}
    grads, bag = fo.grad(f, argnums=(0, -1))(params, Bag(A(2.0), 5.0))
    assert list(grads) == ["a", "rest"] and type(grads["rest"][0]) is Point and type(grads["rest"][1][0]) is Layer and type(bag) is Bag
    assert values(grads["a"]) == [1.0, 1.0] and values(tuple(grads["rest"][0])) == ([1.0, 2.0], 2.0)
    assert values(grads["rest"][1][0].weight) == [3.0, 3.0] and grads["rest"][1][0].shift is None and values(bag.items) == (5.0, 2.0)
    y, tangent = fo.jvp(lambda p: Point(p.x * 2, [p.y]), (Point(A(1.0), A(2.0)),), (Point(A(5.0), A(7.0)),))
    assert values(tuple(y)) == (2.0, [2.0]) and values(tuple(tangent)) == (10.0, [7.0])
    result, pull_back = fo.vjp(lambda a, d: {"s": a + d["k"]}, A(1.0), {"k": A(2.0)})
    assert values(pull_back({"s": A(3.0)})) == (3.0, {"k": 3.0})


def test_trees():
    made = collections.OrderedDict(b=[1, (2, None)], a=collections.defaultdict(list, z=3))
    leaves, structure = tree.flatten(made)
    again = tree.unflatten(structure, [leaf * 10 for leaf in leaves])
    assert leaves == [1, 2, 3] and type(again) is collections.OrderedDict and again["a"].default_factory is list and again["b"] == [10, (20, None)]
    assert tree.flatten({"b": 1, "a": 2})[0] == [2, 1] and tree.flatten({"b": 1, 2: 3})[0] == [1, 3]
    assert tree.flatten((1, 2))[1] == tree.flatten((3, 4))[1] != tree.flatten([1, 2])[1]
    assert hash(tree.flatten((1, 2))[1]) == hash(tree.flatten((3, 4))[1])
    with pytest.raises(ValueError, match="differ"):
        tree.map(lambda a, b: a, [1], (1,))
    with pytest.raises(ValueError, match="already"):
        tree.register_pytree_node(Bag, None, None)
    with pytest.raises(TypeError):
        tree.register_pytree_node(5, None, None)


def test_argnums():
    def f(x, y, scale=1.0):
        return (x * y).sum() * scale
    assert values(fo.grad(f, argnums=1)(A([2.0]), A([3.0]))) == [2.0]
    assert values(fo.grad(f, argnums=-2)(A([2.0]), A([3.0]), scale=10.0)) == [30.0]
    assert values(fo.grad(f, argnums=(1, 0))(A([2.0]), A([3.0]))) == ([2.0], [3.0])
    assert values(fo.grad(f, argnums=[0])(A([2.0]), A([3.0]))) == ([3.0],)
    for wrong, error in ((2, ValueError), ((0, 0), ValueError), ((0, -2), ValueError), ("x", TypeError), (True, TypeError)):
        with pytest.raises(error, match="argnums"):
            fo.grad(f, argnums=wrong)(A([2.0]), A([3.0]))


def test_python_numbers():
    assert float(fo.grad(lambda x: x * x)(3.0)) == 6.0
    assert values(fo.grad(lambda d: d["a"] * d["b"])({"a": 2.0, "b": 3.0})) == {"a": 3.0, "b": 2.0}
    assert float(fo.grad(lambda x: 5.0)(A(1.0))) == 0.0
    with pytest.raises(DerivativeError, match="argument 0.*int64"):
        fo.grad(lambda x: x * 1.0)(3)
    with pytest.raises(TypeError, match="str"):
        fo.grad(lambda x: x)("text")


@pytest.mark.parametrize("call, error, message", [
    (lambda: fo.grad(lambda x: x)(X), ValueError, r"shape \(2,\)"), (lambda: fo.grad(lambda x: "s")(X), TypeError, "str"),
    (lambda: fo.grad(lambda x: x.sum() > 0)(X), TypeError, "bool"), (lambda: fo.grad(lambda x: x.sum() * 1j)(X), TypeError, "real or abs"),
    (lambda: fo.grad(lambda x: x.sum(), has_aux=True)(X), TypeError, "pair"), (lambda: fo.jvp(cube, X, X), TypeError, "tuples"),
    (lambda: fo.jvp(cube, (X,), (fo.ones(3),)), ValueError, r"\(2,\).*\(3,\)"), (lambda: fo.jvp(cube, (X,), (X, X)), ValueError, "primals"),
    (lambda: fo.jvp(cube, (X,), (X + 1j,)), TypeError, "complex"), (lambda: fo.jvp(cube, (A([1]),), (A([1]),)), DerivativeError, "int64"),
    (lambda: fo.vjp(cube, X)[1](fo.ones(3)), ValueError, r"\(\).*\(3,\)"), (lambda: fo.vjp(cube, X)[1]((A(1.0),)), ValueError, "cotangents"),
    (lambda: fo.jacrev(lambda x: x > 0)(X), DerivativeError, "bool"), (lambda: fo.jacfwd(lambda x: x > 0)(X), DerivativeError, "bool"),
    (lambda: fo.jacrev(lambda x: 5)(X), TypeError, "int"), (lambda: func.linearize(cube, X)[1](fo.ones(3)), ValueError, r"\(3,\)")])
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert fo.is_grad_enabled() and dispatch.local_state()[2] == 0


# Escapes

@pytest.mark.parametrize("transform", [fo.grad, fo.jacrev, fo.jacfwd, fo.value_and_grad])
def test_an_escaped_tensor_is_reported_by_name(transform):
    kept = []

    def leaky(x):
        kept.append(x * 2)
        return (x * x).sum()
    transform(leaky)(X)
    with pytest.raises(EscapeError, match=r"leaky\(\).*detach") as caught:
        kept[0] + 1
    assert "add" in str(caught.value)
    assert "2., 4." in repr(kept[0])


def test_results_do_not_escape():
    kept = fo.grad(lambda x: (x.sum(), {"x": x, "y": [x * 2, 3]}), has_aux=True)(X)[1]
    assert values(kept["x"] + 1) == [2.0, 3.0] and values(kept["y"][0] * 2) == [4.0, 8.0] and kept["y"][1] == 3


# NumPy programs

def newton_root(f, x, steps=20):
    for _ in range(steps):
        x = x - f(x) / fo.grad(f)(x)
    return x


def test_derivatives_through_solvers():
    assert float(newton_root(lambda x: x ** 2 - 2.0, A(1.0))) == pytest.approx(np.sqrt(2))
    root = fo.grad(lambda a: newton_root(lambda x: x ** 2 - a, A(1.0)))(A(2.0))
    assert float(root) == pytest.approx(0.5 / np.sqrt(2))


def plain_numpy(x):
    y = np.sin(x) @ np.ones((3, 2)) + np.linalg.solve(np.eye(2) * 3 + np.outer(x[:2], x[:2]), x[:2])
    z = np.concatenate([y, np.where(x > 0.5, x, np.exp(x))])
    return np.sum(np.sort(z)[::-1] * np.arange(z.shape[0])) / np.linalg.norm(z) + np.mean(np.fft.fft(z).real ** 2)


def test_unmodified_numpy_programs():
    x = np.array([0.3, 0.7, 1.1])
    differences = [(plain_numpy(x + step) - plain_numpy(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(fo.grad(plain_numpy)(A(x)).numpy(), differences, rtol=1e-6)
    np.testing.assert_allclose(fo.jacfwd(plain_numpy)(A(x)).numpy(), differences, rtol=1e-6)
    leaf = A(x, requires_grad=True)
    plain_numpy(leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), differences, rtol=1e-6)


def test_lists_of_traced_numbers_become_arrays():
    def f(x):
        return (A([x[0], 2.0, x[1] * x[0]]) * np.asarray([1.0, 10.0, 100.0])).sum() + fo.sum([x[0], x[1]]) + fo.array(x, dtype="f4").sum()
    assert values(fo.grad(f)(X)) == [1.0 + 200.0 + 1.0 + 1.0, 100.0 + 1.0 + 1.0]


def test_partial_and_methods():
    class Model:
        def loss(self, x):
            return (x * x).sum()

        def __call__(self, x):
            return x.sum()
    assert values(fo.grad(Model().loss)(X)) == [2.0, 4.0] and values(fo.grad(Model())(X)) == [1.0, 1.0]
    assert values(fo.grad(functools.partial(lambda k, x: k * x.sum(), 3.0))(X)) == [3.0, 3.0]
    assert values(fo.grad(fo.sum)(X)) == [1.0, 1.0] and fo.grad(cube).__name__ == "cube"
