"""vmap: arguments and results, nesting with derivatives, writes, random numbers, rules of users' operators, errors."""

import collections
import itertools

import numpy as np
import pytest

import fastops as fo
from fastops import func
from fastops.errors import EscapeError, MappedError
from fastops.library import Tag, _scoped_library, custom_op, register_vmap

A = fo.asarray
names = (f"mapped{number}" for number in itertools.count())


@pytest.fixture(autouse=True)
def the_thread_is_clean():
    before = fo.dispatch.local_state()
    yield
    assert fo.dispatch.local_state() == before


def grid(*shape):
    return A(np.random.default_rng(len(shape)).normal(size=shape))


def loop(f, *rows, axis=0):
    """What vmap stands for, over NumPy's stack."""
    return np.stack([np.asarray(f(*[A(np.take(np.asarray(x), row, axis)) for x in rows])) for row in range(np.asarray(rows[0]).shape[axis])])


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)


# arguments and results

@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_every_axis(axis):
    x = grid(3, 4, 5)
    f = lambda x: fo.sort(x, axis=0) * x.sum()
    same(fo.vmap(f, in_axes=axis)(x), loop(f, x, axis=axis % 3))
    for out in (0, 1, 2, -1, -2):
        same(fo.vmap(f, in_axes=axis, out_axes=out)(x), np.moveaxis(loop(f, x, axis=axis % 3), 0, out))


def test_containers_shared_arguments_and_keywords():
    Pair = collections.namedtuple("Pair", "left right")
    x, y = grid(3, 4), grid(3)

    def f(parameters, pair, scale, *, shift=0.0):
        return {"out": parameters["w"] * pair.left + shift, "both": (pair.right * scale, [parameters["b"]])}
    found = fo.vmap(f, in_axes=({"w": None, "b": 0}, 0, None), out_axes={"out": 1, "both": 0})({"w": 2.0, "b": y}, Pair(x, y), 3, shift=1.0)
    same(found["out"], np.moveaxis(2 * x.numpy() + 1, 0, 1))
    same(found["both"][0], 3 * y.numpy())
    same(found["both"][1][0], y)
    same(fo.vmap(lambda a, b: a["x"] + b, in_dims=(0, None), out_dims=0)({"x": x}, 1.0), x.numpy() + 1)


def test_results_that_do_not_depend_on_the_row():
    x = grid(3, 2)
    same(fo.vmap(lambda x: fo.ones(2))(x), np.ones((3, 2)))
    assert fo.vmap(lambda x: 7)(x).tolist() == [7, 7, 7]
    a, b = fo.vmap(lambda x: (x, fo.arange(2)), out_axes=(0, None))(x)
    assert b.shape == (2,) and a.shape == (3, 2)
    same(fo.vmap(lambda: fo.arange(2), axis_size=4)(), np.tile(np.arange(2), (4, 1)))


@pytest.mark.parametrize("size", [0, 1])
def test_batches_of_none_and_of_one(size):
    x = fo.ones((size, 3))
    for f, shape in ((lambda x: x + 1, (size, 3)), (lambda x: x.sum(), (size,)), (lambda x: fo.outer(x, x), (size, 3, 3)), (fo.sort, (size, 3)),
                     (lambda x: fo.linalg.solve(fo.eye(3), x), (size, 3)), (lambda x: fo.interp(x, x, x), (size, 3)), (lambda x: x[fo.asarray([0, 2])], (size, 2))):
        assert fo.vmap(f)(x).shape == shape and fo.vmap(f)(x).dtype == fo.float64


def test_nested_to_any_depth():
    x = grid(2, 3, 4, 5)
    f = lambda x: x @ x
    same(fo.vmap(fo.vmap(fo.vmap(f)))(x), np.einsum("ijkl,ijkl->ijk", x.numpy(), x.numpy()))
    same(fo.vmap(fo.vmap(lambda a, b: a * b.sum(), (0, None)), (None, 0))(x[0, 0], x[0, 1]), np.stack([x[0, 0].numpy() * b.sum() for b in x[0, 1].numpy()]))
    same(fo.vmap(lambda a: fo.vmap(lambda b: a + b)(x[0, 0]))(x[0, 0, 0]), x[0, 0, 0].numpy()[:, None, None] + x[0, 0].numpy())


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 100])
def test_chunks(chunk):
    x = grid(5, 3)
    a, b = fo.vmap(lambda x: (x * 2, x.sum()), out_axes=(1, 0), chunk_size=chunk)(x)
    same(a, 2 * x.numpy().T), same(b, x.numpy().sum(1))


# FT-03: result types are those of a loop

@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i1", "i4", "u8", "?"])
@pytest.mark.parametrize("other", [2, 2.5, 1j, np.float32(2), np.int64(3), True], ids=repr)
def test_ft_03_result_types(dtype, other):
    x = fo.ones((3, 2), dtype=dtype)
    scalars = fo.ones(3, dtype=dtype)
    for f in (lambda x: x + other, lambda x: other * x, lambda x: fo.where(x == 1, x, other), lambda x: fo.sum(x), lambda x: fo.mean(x), lambda x: x / 2):
        for rows in (x, scalars):
            assert fo.vmap(f)(rows).dtype == f(rows[0]).dtype
    assert fo.vmap(lambda a, b: a + b)(scalars, fo.ones((3, 2), dtype="f4")).dtype == (scalars[0] + fo.ones(2, dtype="f4")).dtype


# FT-05: sizes that do not match

def test_ft_05_mismatched_sizes_list_every_argument():
    with pytest.raises(ValueError, match=r"argument 0: shape \(3, 2\), axis 0, 3 rows; argument 1: shape \(2, 4\), axis 1, 4 rows"):
        fo.vmap(lambda a, b: a, in_axes=(0, 1))(grid(3, 2), grid(2, 4))
    with pytest.raises(ValueError, match="axis_size=5"):
        fo.vmap(lambda a: a, axis_size=5)(grid(3))
    with pytest.raises(ValueError, match=r"no argument is mapped.*argument 0: shape \(3,\)"):
        fo.vmap(lambda a: a, in_axes=None)(grid(3))
    with pytest.raises(ValueError, match=r"argument 0 of shape \(\) has no axis 0"):
        fo.vmap(lambda a: a)(A(1.0))
    with pytest.raises(ValueError, match="argument 1 is 2.0"):
        fo.vmap(lambda a, b: a)(grid(3), 2.0)


@pytest.mark.parametrize("call, error, message", [
    (lambda: fo.vmap(lambda x: x, in_axes=[0])(grid(2)), None, None),
    (lambda: fo.vmap(lambda x: x, in_axes=(0, 0))(grid(2)), ValueError, "2 axes"), (lambda: fo.vmap(lambda x: x, in_axes="0"), ValueError, "in_axes"),
    (lambda: fo.vmap(lambda x: x, in_axes=5)(grid(2)), ValueError, "no axis 5"), (lambda: fo.vmap(3), TypeError, "function"),
    (lambda: fo.vmap(lambda x: x, out_axes=None)(grid(2)), ValueError, "another in each row"),
    (lambda: fo.vmap(lambda x: x, out_axes=3)(grid(2)), IndexError, "out_axes"), (lambda: fo.vmap(lambda x: "a")(grid(2)), ValueError, "str"),
    (lambda: fo.vmap(lambda x: (x, x), out_axes=(0,))(grid(2)), ValueError, "1.*2 values"),
    (lambda: fo.vmap(lambda x: x, randomness="yes"), ValueError, "randomness"), (lambda: fo.vmap(lambda x: x, chunk_size=0), ValueError, "chunk_size")])
def test_what_is_wrong_is_said(call, error, message):
    if error is None:
        call()
        return
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("read", [float, bool, int, lambda x: x.item(), lambda x: x.tolist(), np.asarray, lambda x: x.numpy(), lambda x: 1 if x > 0 else 2,
                                  lambda x: np.from_dlpack(x), lambda x: memoryview(x), lambda x: [0, 1][fo.astype(x, int)]])
def test_values_of_a_row_cannot_be_read(read):
    for f, rows in ((fo.vmap(read), grid(3)), (fo.vmap(fo.grad(lambda x: (read(x), x * 1.0)[1])), grid(3)), (fo.vmap(fo.vmap(read)), grid(3, 2)),
                    (fo.vmap(fo.vmap(lambda x: read(x), in_axes=None), in_axes=0, out_axes=None), grid(3))):
        with pytest.raises((RuntimeError, TypeError, BufferError, ValueError)):
            f(rows)


def test_shapes_that_depend_on_data_say_the_way_out():
    for f, way in ((fo.nonzero, "size="), (lambda x: x[x > 0], "where.*size="), (fo.unique, "size=")):
        with pytest.raises(MappedError, match=way):
            fo.vmap(f)(grid(3, 4))


def test_an_escaped_tensor_is_reported():
    kept = []
    fo.vmap(lambda x: kept.append(x) or x)(grid(3))
    with pytest.raises(EscapeError, match="vmap of <lambda>"):
        kept[0] + 1
    assert "tensor" in repr(kept[0])


def test_exceptions_unwind():
    def boom(x):
        raise KeyError("k")
    for f in (fo.vmap(boom), fo.vmap(fo.vmap(boom)), fo.vmap(fo.grad(boom)), fo.grad(fo.vmap(boom))):
        with pytest.raises(KeyError):
            f(grid(3, 2))


# with derivatives, in both orders

FUNCTIONS = [lambda x: (x ** 3).sum(), lambda x: fo.sin(x).prod() + x.max(), lambda x: fo.linalg.norm(x) * x[0], lambda x: (fo.outer(x, x) @ x).sum(),
             lambda x: fo.cumsum(x).std() + fo.sort(x)[1] * x.min(), lambda x: fo.linalg.solve(fo.outer(x, x) + 3 * fo.eye(3), x).sum(),
             lambda x: abs(fo.fft.fft(x)).sum(), lambda x: fo.where(x > 0, x ** 2, fo.exp(x)).sum(), lambda x: fo.einsum("i,j,ij->", x, x, fo.outer(x, x))]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("transform", [fo.grad, fo.hessian, fo.jacfwd, fo.jacrev, lambda f: lambda x: fo.jvp(f, (x,), (x,))[1],
                                       lambda f: lambda x: fo.vjp(f, x)[1](A(1.0))[0], lambda f: fo.jacfwd(fo.grad(f))],
                         ids=["grad", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "jacfwd of grad"])
def test_vmap_of_derivatives(f, transform):
    x = grid(4, 3)
    np.testing.assert_allclose(fo.vmap(transform(f))(x).numpy(), loop(transform(f), x), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_of_vmap(f):
    x = grid(4, 3)
    np.testing.assert_allclose(fo.grad(lambda x: fo.vmap(f)(x).sum())(x).numpy(), loop(fo.grad(f), x), rtol=1e-8, atol=1e-9)
    t = grid(4, 3) * 0.5
    expected = np.stack([float(fo.jvp(f, (a,), (b,))[1]) for a, b in zip(x, t)])
    np.testing.assert_allclose(fo.jvp(fo.vmap(f), (x,), (t,))[1].numpy(), expected, rtol=1e-8, atol=1e-9)
    leaf = x.detach()
    leaf.requires_grad = True
    fo.vmap(f)(leaf).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), loop(fo.grad(f), x), rtol=1e-8, atol=1e-9)


def test_jacobians_by_vmap_of_vjp():
    f = lambda x: fo.sin(x) * x.sum()
    x = grid(6)
    value, pull = fo.vjp(f, x)
    same(fo.vmap(lambda g: pull(g)[0])(fo.eye(6)), fo.jacrev(f)(x))
    same(fo.jacrev(f)(x), fo.jacfwd(f)(x))


def test_gradients_of_several_cotangents():
    x = A([1.0, 2.0, 3.0], requires_grad=True)
    y = x ** 2
    found, = fo.autograd.grad(y, x, fo.eye(3), is_grads_batched=True)
    same(found, np.diag([2.0, 4.0, 6.0]))


# writes

def write_into_fresh(x):
    y = fo.zeros(3)
    y[1] = x[0] * x[2]
    y += x
    y[0] *= 3.0
    return y


def write_into_a_view(x):
    y = fo.zeros((2, 3))
    v = y[0]
    v += x
    return y * 2


def write_by_a_mask(x):
    y = x * 2
    y[x > 0] = x[0]
    return y


def write_by_indices(x):
    y = fo.zeros(5)
    y[A([0, 3, 4])] = x
    y[fo.argsort(x)] += 1.0
    return y


def write_out(x):
    y = fo.empty(3)
    fo.multiply(x, 2.0, out=y)
    return y


@pytest.mark.parametrize("f", [write_into_fresh, write_into_a_view, write_by_a_mask, write_by_indices, write_out])
def test_mapped_values_are_written_into_arrays_that_were_not(f):
    x = grid(4, 3)
    same(fo.vmap(f)(x), loop(f, x))
    twice = fo.stack([x, x + 1])
    same(fo.vmap(fo.vmap(f))(twice), np.stack([loop(f, x), loop(f, x + 1)]))


@pytest.mark.parametrize("f", [write_into_fresh, write_into_a_view])
def test_writes_and_gradients(f):
    x = grid(4, 3)
    g = fo.grad(lambda x: (f(x) ** 2).sum())
    same(fo.vmap(g)(x), loop(g, x))
    same(fo.grad(lambda x: (fo.vmap(f)(x) ** 2).sum())(x), loop(g, x))


def test_arrays_from_outside_are_not_written():
    outside = fo.zeros(3)

    def f(x):
        nonlocal_array = outside
        nonlocal_array += x
        return nonlocal_array * 1
    with pytest.raises(EscapeError, match="held outside"):
        fo.vmap(f)(grid(4, 3))
    assert outside.tolist() == [0.0, 0.0, 0.0] and (outside + 1).tolist() == [1.0, 1.0, 1.0]


def test_mapped_arguments_are_written_in_place():
    x = fo.ones((2, 3))

    def f(x):
        x += 1
        return x.sum()
    assert fo.vmap(f)(x).tolist() == [6.0, 6.0] and x.tolist() == [[2.0] * 3] * 2


# random numbers

def noisy(rng):
    return lambda x: x + rng.random(3)


def test_randomness():
    x = fo.zeros((6, 3))
    with pytest.raises(RuntimeError, match="randomness='different'"):
        fo.vmap(noisy(fo.random.default_rng(0)))(x)
    rng = fo.random.default_rng(0)
    whole = fo.vmap(noisy(rng), randomness="different")(x)
    assert len(set(whole.reshape(-1).tolist())) == 18 and rng.bit_generator.counter == 18
    for chunk in (1, 2, 4, 6):
        rng = fo.random.default_rng(0)
        assert (fo.vmap(noisy(rng), randomness="different", chunk_size=chunk)(x) == whole).all() and rng.bit_generator.counter == 18
    equal = fo.vmap(noisy(fo.random.default_rng(0)), randomness="same")(x)
    assert (equal == equal[0]).all() and (equal[0] == fo.random.default_rng(0).random(3)).all()
    nested = fo.vmap(fo.vmap(noisy(fo.random.default_rng(0)), randomness="different"), randomness="same")(fo.zeros((2, 6, 3)))
    assert (nested[0] == nested[1]).all() and len(set(nested[0].reshape(-1).tolist())) == 18


def test_random_numbers_with_mapped_parameters():
    rng = fo.random.default_rng(0)
    found = fo.vmap(lambda m: rng.normal(m, 1.0), randomness="different")(A([0.0, 100.0, 1000.0]))
    assert abs(found - A([0.0, 100.0, 1000.0])).max() < 6
    counts = fo.vmap(lambda m: rng.poisson(m), randomness="different")(A([1.0, 1000.0]))
    assert counts[0] < 50 < counts[1]


# users' operators

def norm_op():
    name = f"{next(names)}::norm1"
    made = custom_op(name, lambda x: A(np.abs(np.asarray(x)).sum()), mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: g * fo.sign(ctx.saved_tensors[0]), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return name, made


def test_without_a_rule_row_by_row_with_one_warning():
    name, op = norm_op()
    x = grid(4, 3)
    with pytest.warns(RuntimeWarning, match=f"register_vmap.*{name}"):
        same(fo.vmap(op)(x), abs(x.numpy()).sum(1))
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(fo.vmap(fo.grad(op))(x), np.sign(x.numpy()))
        same(fo.grad(lambda x: fo.vmap(op)(x).sum())(x), np.sign(x.numpy()))
        same(fo.vmap(fo.vmap(op))(fo.stack([x, x])), np.tile(abs(x.numpy()).sum(1), (2, 1)))
        assert fo.vmap(op)(fo.ones((0, 3))).shape == (0,)


def test_O15_O16_a_rule():
    name, op = norm_op()
    calls = []

    @register_vmap(name)
    def rule(info, in_dims, x):
        calls.append((info.batch_size, info.randomness, in_dims, x.shape))
        return fo.moveaxis(abs(x), in_dims[0], 0).reshape(info.batch_size, -1).sum(axis=1), 0
    assert callable(rule)
    x = grid(4, 3)
    same(fo.vmap(op)(x), abs(x.numpy()).sum(1))
    assert calls == [(4, "error", (0,), (4, 3))]
    same(fo.vmap(op, in_axes=1)(x), abs(x.numpy()).sum(0))
    same(fo.vmap(fo.grad(op))(x), np.sign(x.numpy()))
    same(fo.grad(lambda x: fo.vmap(op)(x).sum())(x), np.sign(x.numpy()))
    calls.clear()
    op(x), fo.vmap(lambda y: op(x) * y)(fo.ones(3))
    assert calls == []                                          # O21: nothing is mapped
    op.register_vmap(lambda info, in_dims, x: (fo.zeros(info.batch_size), 0))
    assert fo.vmap(op)(x).tolist() == [0.0] * 4


def test_O17_O19_lists_keywords_and_results():
    seen = []
    op = custom_op(f"{next(names)}::f", lambda xs, k=2, *, s=1.0: (xs[0] * k * s, [xs[1] + 0, xs[0] + 0]), mutates_args=(),
                   schema="(Tensor[] xs, int k=2, *, float s=1.0) -> (Tensor, Tensor[])")

    @op.register_vmap
    def rule(info, in_dims, xs, k=2, *, s=1.0):
        seen.append((in_dims, k, s))
        return (xs[0] * k * s, [xs[1] + 0, fo.moveaxis(xs[0] + 0, 0, -1)]), (0, [None, -1])
    x, y = grid(3, 2), grid(2)
    a, (b, c) = fo.vmap(lambda x: op([x, y], 5, s=2.0))(x)
    same(a, 10 * x.numpy()), same(b, np.tile(y.numpy(), (3, 1))), same(c, x.numpy())
    assert seen == [(([0, None], None), 5, 2.0)]


@pytest.mark.parametrize("answer", [lambda x: x, lambda x: (x,), lambda x: (x, "a"), lambda x: ((x, x), (0,)), lambda x: (3, 0)])
def test_O20_wrong_rules(answer):
    _, op = norm_op()
    op.register_vmap(lambda info, in_dims, x: answer(x))
    with pytest.raises(RuntimeError):
        fo.vmap(op)(grid(3, 2))


def test_O22_where_rules_are_refused():
    with pytest.raises(AttributeError):
        register_vmap("nowhere::f", lambda *a: a)
    with pytest.raises(ValueError):
        register_vmap(3, lambda *a: a)
    with pytest.raises(TypeError):
        register_vmap(norm_op()[1], 3)


def test_pointwise_operators_need_no_rule():
    with _scoped_library(next(names), "DEF") as library:
        library.define("f(Tensor x, Tensor y) -> Tensor", tags=Tag.pointwise)
        calls = []
        library.impl("f", lambda x, y: (calls.append(x.shape), x * y)[1], "CPU")
        op = getattr(fo.ops, library.ns).f
        x, y = grid(4, 3), grid(3)
        same(fo.vmap(op, (0, None))(x, y), x.numpy() * y.numpy())
        same(fo.vmap(lambda x: op(x, y))(x[:, 0]), x.numpy()[:, :1] * y.numpy())
        assert calls == [(4, 3), (4, 1)]


def test_the_rule_goes_with_its_library():
    with _scoped_library(next(names), "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x * 2, "CPU")
        op = getattr(fo.ops, library.ns).f
        with _scoped_library(library.ns, "FRAGMENT") as other:
            register_vmap(f"{library.ns}::f", lambda info, in_dims, x: (x * 100, in_dims[0]), lib=other)
            assert fo.vmap(op)(fo.ones(2)).tolist() == [100.0, 100.0]
        with pytest.warns(RuntimeWarning):
            assert fo.vmap(op)(fo.ones(2)).tolist() == [2.0, 2.0]


# autograd.Function

class Scaled(fo.autograd.Function):
    @staticmethod
    def forward(x, w):
        return x ** 3 * w, x + w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.factor = 3.0

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        return ctx.factor * x ** 2 * w * g + h, (x ** 3 * g).sum() + h.sum()


class WithRule(Scaled):
    calls = []

    @staticmethod
    def vmap(info, in_dims, x, w):
        WithRule.calls.append((info.batch_size, in_dims))
        return (x ** 3 * w, x + w), (0, 0)


def with_function(kind):
    def f(x, w):
        a, b = kind.apply(x, w)
        return a.sum() + (b * b).sum()
    return f


def plain(x, w):
    return (x ** 3 * w).sum() + ((x + w) ** 2).sum()


@pytest.mark.parametrize("transform", [
    lambda f: fo.vmap(f, (0, None)), lambda f: fo.vmap(fo.grad(f, (0, 1)), (0, None)), lambda f: fo.vmap(fo.hessian(f), (0, None)),
    lambda f: fo.grad(lambda x, w: fo.vmap(f, (0, None))(x, w).sum(), (0, 1)), lambda f: lambda x, w: fo.jvp(lambda x, w: fo.vmap(f, (0, None))(x, w), (x, w), (x, w))[1],
    lambda f: lambda x, w: fo.vmap(lambda x, w: fo.jvp(f, (x, w), (x, w))[1], (0, None))(x, w), lambda f: fo.vmap(fo.vmap(f, (0, None)), (None, None), axis_size=2)])
@pytest.mark.parametrize("kind", [Scaled, WithRule])
def test_functions(transform, kind):
    x, w = grid(4, 3), A(2.0)
    found, expected = (fo.tree.flatten(transform(f)(x, w))[0] for f in (with_function(kind), plain))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10)


# NumPy code

def test_unmodified_numpy_functions():
    x = grid(4, 3)
    for f in (np.sin, np.sum, lambda x: np.linalg.norm(x), lambda x: np.concatenate([x, x[:1]]), lambda x: np.where(x > 0, x, 0.0), np.sort,
              lambda x: np.einsum("i,i->", x, x), lambda x: np.fft.rfft(x).real, lambda x: np.outer(x, x) @ x, lambda x: np.clip(x, -1, 1), np.median):
        same(fo.vmap(f)(x), loop(f, x))


# control flow

def halving(x):
    return func.cond(x.sum() > 0, lambda x: x / 2, lambda x: x ** 3, x).sum()


def collatz(x):
    return func.while_loop(lambda s: s[0] < 50, lambda s: (s[0] * s[1] + 1, s[1] + 0.5), (abs(x).sum(), 1.5))[0]


def polynomial(x):
    carry, ys = func.scan(lambda c, a: (c * a + 1, c + a), x[0], x)
    return carry + ys.sum()


def backwards(x):
    return func.scan(lambda c, a: (c * 0.5 + a ** 2, {"y": c}), 0.0, x, reverse=True)[1]["y"].sum()


def switched(x):
    return func.switch((x[0] > 0).astype(int) + (x[1] > 0), [lambda x: x, lambda x: x ** 2, lambda x: fo.sin(x)], x).sum()


def guarded(x):         # the branch that is not taken is infinite, and has no derivative
    return func.cond(x[0] > 0, lambda x: fo.log(x), lambda x: x * 2.0, x[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [halving, collatz, polynomial, backwards, switched, guarded])
@pytest.mark.parametrize("transform", [lambda f: f, fo.grad, fo.hessian, fo.jacfwd, lambda f: lambda x: fo.jvp(f, (x,), (x,))[1]],
                         ids=["value", "grad", "hessian", "jacfwd", "jvp"])
def test_control_flow(f, transform):
    x = grid(5, 3)
    g = transform(f)
    expected = loop(g, x)
    np.testing.assert_allclose(fo.vmap(g)(x).numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(fo.vmap(fo.vmap(g))(fo.stack([x, x])).numpy(), np.stack([expected, expected]), rtol=1e-10)
    if transform is fo.grad:
        np.testing.assert_allclose(fo.grad(lambda x: fo.vmap(f)(x).sum())(x).numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("call, error", [
    (lambda: func.cond(fo.ones(2) > 0, lambda: 1, lambda: 2), TypeError), (lambda: func.cond(1.5, lambda: 1, lambda: 2), TypeError),
    (lambda: fo.vmap(lambda x: func.cond(x > 0, lambda: (x, x), lambda: x))(grid(3)), TypeError),
    (lambda: fo.vmap(lambda x: func.cond(x > 0, lambda: fo.ones(2), lambda: fo.ones(3)))(grid(3)), ValueError),
    (lambda: func.switch(0, []), ValueError), (lambda: func.switch(0.5, [lambda: 1]), TypeError),
    (lambda: func.scan(lambda c, x: c, 0.0, fo.ones(3)), TypeError), (lambda: func.scan(lambda c, x: (c, x), 0.0), ValueError),
    (lambda: func.scan(lambda c, x: (c, x), 0.0, (fo.ones(3), fo.ones(2))), ValueError), (lambda: func.while_loop(lambda x: x, lambda x: x, 2.0), TypeError)])
def test_wrong_control_flow(call, error):
    with pytest.raises(error):
        call()


def test_an_index_out_of_bounds_means_the_branch_next_to_it():
    branches = [lambda: 0.0, lambda: 1.0]
    assert [float(func.switch(index, branches)) for index in (-3, 0, 1, 9)] == [0.0, 0.0, 1.0, 1.0]
    assert fo.vmap(lambda i: func.switch(i, branches))(A([-3, 0, 1, 9])).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert func.scan(lambda c, x: (c + 1, c), 0, length=3)[1].tolist() == [0, 1, 2]
