"""Custom operators and their derivatives, item by item of the sections on ``custom_op`` (L), on formulas (N) and on kernels at Autograd (J)."""

import gc
import itertools
import warnings
import weakref
from typing import List, Optional, Tuple

import numpy as np
import pytest

import fastops as fo
from fastops import func
from fastops.library import (Library, Tag, _scoped_library, custom_op, impl_abstract, register_autograd, register_fake, register_jvp,
                             register_kernel)

T = fo.Tensor
names = (f"custom{number}" for number in itertools.count())


@pytest.fixture
def name():
    return f"{next(names)}::f"


@pytest.fixture
def lib():
    with _scoped_library(next(names), "DEF") as library:
        yield library


@pytest.fixture(autouse=True)
def the_thread_is_clean():
    before = fo.dispatch.local_state()
    yield
    assert fo.dispatch.local_state() == before


def leaf(*values):
    return fo.asarray(list(values), requires_grad=True)


def op_of(library, name):
    return getattr(getattr(fo.ops, library.ns), name)


def keep_inputs(ctx, inputs, output):
    ctx.save_for_backward(*[value for value in inputs if isinstance(value, T)])


def square_of(name, **options):
    made = custom_op(name, lambda x: x * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=keep_inputs)
    return made


# L. custom_op and CustomOpDef

def test_L1_forms(name):
    def f(x: T) -> T:
        return x + 1
    made = custom_op(name, f, mutates_args=())
    assert made(fo.ones(2)).tolist() == [2.0, 2.0] and name in repr(made)
    assert custom_op(f"{next(names)}::g", mutates_args=())(f)(fo.ones(1)).tolist() == [2.0]
    with pytest.raises(TypeError):
        custom_op(name, f)
    with pytest.raises(TypeError):
        custom_op(name, f, ())


@pytest.mark.parametrize("bad", ["f", "a::b::c", "", None, 3])
def test_L2_names(bad):
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op(bad, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_L2_an_overload(name):
    made = custom_op(f"{name}.ov", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    packet = getattr(getattr(fo.ops, name.split("::")[0]), "f")
    assert packet.ov(fo.ones(1)).tolist() == made(fo.ones(1)).tolist() == [2.0]


def test_L3_what_is_registered(name):
    made = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", tags=Tag.pointwise)
    assert made._opoverload.has_kernel_for_dispatch_key("CompositeExplicitAutograd") and Tag.pointwise in made._opoverload.tags
    with pytest.raises(NotImplementedError, match="register_fake"):
        made(fo.empty(3, device="meta"))


def test_L4_its_methods():
    made = square_of(f"{next(names)}::f")
    for method in ("register_kernel", "register_fake", "register_autograd", "register_jvp", "set_kernel_enabled"):
        assert callable(getattr(made, method))
    assert made._opoverload(fo.ones(1)).tolist() == [1.0]


def test_L5_a_second_definition_replaces_the_first(name):
    first = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    second = custom_op(name, lambda x, y: x + y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert second(fo.ones(1), fo.ones(1)).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="library"):
        first(fo.ones(1))


def test_L5_what_define_made_stays(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="already defined"):
        custom_op(f"{lib.ns}::f", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_L6_the_operator_stays_when_its_handle_goes(name):
    custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    gc.collect()
    assert getattr(fo.ops, name.split("::")[0]).f(fo.ones(1)).tolist() == [2.0]


@pytest.mark.parametrize("give, schema", [
    (lambda x: x, "(Tensor x) -> Tensor"), (lambda x: x[1:], "(Tensor x) -> Tensor"), (lambda x: x[:0], "(Tensor x) -> Tensor"),
    (lambda x: x.T, "(Tensor x) -> Tensor"), (lambda x: (x + 1, x), "(Tensor x) -> (Tensor, Tensor)"),
    (lambda x: [x + 1, x[:1]], "(Tensor x) -> Tensor[]"), (lambda x: (lambda y: (y, y))(x + 1), "(Tensor x) -> (Tensor, Tensor)"),
    (lambda x: (lambda y: [y[:1], y[1:]])(x + 1), "(Tensor x) -> Tensor[]"), (lambda *, x: x, "(*, Tensor x) -> Tensor")])
def test_L7_results_share_no_memory(name, give, schema):
    made = custom_op(name, give, mutates_args=(), schema=schema)
    with pytest.raises(RuntimeError, match=r"share.*clone\(\)|clone\(\)") as caught:
        made(x=fo.ones(3))
    assert name.replace("::", ".") in str(caught.value)


def test_L7_arguments_in_lists(name):
    @custom_op(name, mutates_args=())
    def second(xs: List[T], y: Optional[T] = None) -> T:
        return xs[1]
    with pytest.raises(RuntimeError, match="'xs'"):
        second([fo.ones(1), fo.ones(2)])


def test_L8_a_foreign_array_may_come_back_twice(name):
    kept = fo.ones(2)
    made = custom_op(name, lambda x: kept, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert made(fo.zeros(2)) is not None and made(fo.zeros(2)).tolist() == [1.0, 1.0]


def test_L9_a_writer_returns_nothing(name):
    def write(x):
        x += 1
        return x
    made = custom_op(name, write, mutates_args=["x"], schema="(Tensor(a!) x) -> Tensor(a!)")
    with pytest.raises(RuntimeError, match="returned its argument 'x'"):
        made(fo.ones(2))


@pytest.mark.parametrize("write", [lambda x: x.__iadd__(1) and None, lambda x: np.asarray(x).__iadd__(1) is None or None])
def test_L10_L11_writes_move_the_version(name, write):
    def kernel(x):
        write(x)
    made = custom_op(name, kernel, mutates_args=["x"], schema="(Tensor(a!) x) -> ()")
    x = fo.ones(1)
    before = x._version
    assert made(x) is None and x._version > before and x.tolist() == [2.0]
    z = leaf(3.0)
    h = z * 1.0
    y = h * h
    made(h.detach())
    with pytest.raises(RuntimeError, match="modified after being saved"):
        y.backward()


def test_X12_a_leaf_is_not_written(name):
    def kernel(x, ys, z=None):
        for one in [x, *ys] + ([] if z is None else [z]):
            one *= 2
    made = custom_op(name, kernel, mutates_args=["x", "ys", "z"], schema="(Tensor(a!) x, Tensor(b!)[] ys, Tensor(c!)? z=None) -> ()")
    plain = fo.ones(1)
    for arguments in ((leaf(1.0), []), (plain, [plain + 0, leaf(1.0)]), (plain, [], leaf(1.0)), (leaf(1.0, 2.0)[:1], [])):
        with pytest.raises(RuntimeError, match="leaf that requires a gradient is written"):
            made(*arguments)
    assert plain.tolist() == [1.0]
    with fo.no_grad():
        x = leaf(1.0)
        made(x, [])
    assert x.detach().tolist() == [2.0]


def test_L12_what_was_written_has_no_derivative_and_says_so(name):
    def kernel(x, y):
        y += x
    made = custom_op(name, kernel, mutates_args=["y"], schema="(Tensor x, Tensor(a!) y) -> ()")

    def program(x):
        y = fo.zeros(2)
        made(x, y)
        return (y * x).sum()
    with pytest.raises(RuntimeError, match="has no derivative: formulas are for operators whose results are new"):
        program(leaf(1.0, 2.0)).backward()
    for transform in (func.grad(program), func.jacrev(program), lambda x: func.jvp(program, (x,), (x,))):
        with pytest.raises(RuntimeError, match="has no derivative"):
            transform(fo.ones(2))
    y = fo.zeros(2)
    made(leaf(1.0, 2.0).detach(), y)
    assert y.tolist() == [1.0, 2.0] and not y.requires_grad


def test_L14_optional_targets(name):
    def kernel(x, y=None):
        x += 1
        if y is not None:
            y += 1
    made = custom_op(name, kernel, mutates_args=["x", "y"], schema="(Tensor(a!) x, Tensor(b!)? y=None) -> ()")
    x, y = fo.ones(1), fo.ones(1)
    made(x), made(x, None), made(x, y)
    assert x.tolist() == [4.0] and y.tolist() == [2.0] and y._version > 0


def test_L15_the_schema_and_mutates_args_agree(name):
    for schema, mutates in (("(Tensor(a!) x) -> ()", ()), ("(Tensor x) -> Tensor", ["x"]), ("(Tensor(a!) x) -> ()", "unknown")):
        with pytest.raises(ValueError, match="mutates_args"):
            custom_op(name, lambda x: None, mutates_args=mutates, schema=schema)
    with pytest.raises(ValueError, match="has no name"):
        custom_op(name, lambda x: x, mutates_args=(), schema="f(Tensor x) -> Tensor")
    assert not hasattr(getattr(fo.ops, name.split("::")[0]), "f")                           # X11: nothing is left behind


def test_L17_unknown_means_every_tensor(name):
    @custom_op(name, mutates_args="unknown")
    def touch(x: T, ys: List[T], n: int, z: Optional[T] = None) -> None:
        pass
    assert [argument.is_write for argument in touch._opoverload._schema.arguments] == [True, True, False, True]
    x, y, z = fo.ones(1), fo.ones(1), fo.ones(1)
    touch(x, [y], 3, z)
    assert min(x._version, y._version, z._version) > 0
    with pytest.raises(ValueError, match="sequence of names"):
        custom_op(f"{next(names)}::g", lambda x: None, mutates_args="x", schema=None)


def test_L18_L19_L20_without_tensors(name):
    made = custom_op(name, lambda n: fo.ones(n), mutates_args=(), schema="(int n) -> Tensor")
    assert made(2).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="device"):
        custom_op(f"{next(names)}::g", lambda n: fo.ones(n), mutates_args=(), schema="(int n) -> Tensor", device_types="cpu")
    chosen = custom_op(f"{next(names)}::g", lambda n, *, device="cpu": fo.ones(n), mutates_args=(),
                       schema="(int n, *, Device device='cpu') -> Tensor", device_types="cpu")
    assert chosen(2).tolist() == chosen(2, device="cpu").tolist() == [1.0, 1.0]


def test_L21_L22_L23_kernels_for_devices(name):
    made = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")

    def two(x):
        return x + 2
    assert made.register_kernel(["cpu", "cuda"], two) is two
    assert made(fo.ones(1)).tolist() == [3.0]
    made.register_kernel(None, lambda x: x + 10)
    assert made(fo.ones(1)).tolist() == [3.0]
    made.register_kernel("cuda", lambda x: x + 100)                                         # X3: each device is on its own
    assert made(fo.ones(1)).tolist() == [3.0]

    @made.register_kernel("cpu")
    def four(x):
        return x + 4
    assert four(1) == 5 and made(fo.ones(1)).tolist() == [5.0]
    for wrong in ("CPU", "gpu", ["cpu", "nothing"]):
        with pytest.raises(RuntimeError, match="unknown device"):
            made.register_kernel(wrong, two)
    with pytest.raises(TypeError, match="callable"):
        made.register_kernel("cpu", 3)
    with pytest.raises(RuntimeError, match="kernel"):
        made.register_kernel("cpu", lambda x, y: x)


def test_L24_L25_kernels_switched_off(name):
    made = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_kernel("cpu", lambda x: x + 2)

    def value():
        return made(fo.zeros(1)).tolist()[0]
    made.set_kernel_enabled("cpu", False)                                                   # not entered: nothing happens
    assert value() == 2.0
    with made.set_kernel_enabled("cpu", False):
        assert value() == 1.0
        with made.set_kernel_enabled("cpu", True):
            assert value() == 2.0
        assert value() == 1.0
        with pytest.warns(UserWarning, match="disabled already"), made.set_kernel_enabled("cpu", False):
            assert value() == 1.0
        assert value() == 1.0
    with pytest.raises(KeyError), made.set_kernel_enabled("cpu", False):
        raise KeyError
    assert value() == 2.0
    with pytest.warns(UserWarning, match="no kernel for 'cuda'"), made.set_kernel_enabled("cuda", False):
        assert value() == 2.0


def test_L26_no_kernel_for_the_device(name):
    made = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda")
    with pytest.raises(NotImplementedError, match="CPU"):
        made(fo.ones(1))


def test_L27_nothing_in_a_kernel_is_recorded(name):
    seen = []

    def kernel(x):
        with fo.enable_grad():
            y = x * 2
        seen.append((x.requires_grad, y.requires_grad))
        return y
    made = custom_op(name, kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    made(leaf(1.0))
    assert seen == [(True, False)]


def test_keyword_only_tensors_have_no_gradient(name):
    made = custom_op(name, lambda x, *, y: x * y, mutates_args=(), schema="(Tensor x, *, Tensor y) -> Tensor")
    made.register_autograd(lambda ctx, g: g * ctx.y, setup_context=lambda ctx, inputs, keyword_only_inputs, output: setattr(
        ctx, "y", keyword_only_inputs["y"]))
    x = leaf(2.0)
    made(x, y=fo.full(1, 3.0)).backward()
    assert x.grad.tolist() == [3.0]
    with pytest.raises(RuntimeError, match="keyword-only array 'y'"):
        made(x, y=leaf(3.0))


# N. formulas

def test_N1_forms(name):
    made = custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert register_autograd(made, lambda ctx, g: 2 * g) is None and made.register_autograd(lambda ctx, g: 2 * g) is None
    for wrong in (lambda: register_autograd(made, backward=lambda ctx, g: g), lambda: register_autograd(made, lambda ctx, g: g, lambda: None),
                  lambda: register_autograd(made, 3), lambda: register_autograd(made, lambda ctx, g: g, setup_context=3)):
        with pytest.raises(TypeError):
            wrong()


def test_N2_what_takes_no_formula(lib):
    for number, schema in enumerate(["(Tensor(a!) x) -> ()", "(Tensor(a) x) -> Tensor(a)", "(Tensor x) -> ()"]):
        lib.define(f"f{number}{schema}")
        with pytest.raises(RuntimeError, match="register_autograd"):
            register_autograd(f"{lib.ns}::f{number}", lambda ctx, g: g)
    lib.define("composite(Tensor x) -> Tensor")
    lib.impl("composite", lambda x: x + 1)
    with pytest.raises(RuntimeError, match="decomposes"):
        register_autograd(f"{lib.ns}::composite", lambda ctx, g: g)
    with pytest.raises(AttributeError, match="no operator"):
        register_autograd(f"{lib.ns}::nothing", lambda ctx, g: g)
    for wrong in (op_of(lib, "composite"), 3, None):
        with pytest.raises(ValueError, match="register_autograd"):
            register_autograd(wrong, lambda ctx, g: g)


def test_N3_the_current_formula_counts(name):
    made = square_of(name)
    x = leaf(3.0)
    y = made(x)
    made.register_autograd(lambda ctx, g: 100 * g, setup_context=keep_inputs)
    y.backward()
    assert x.grad.tolist() == [100.0]


def test_N4_N5_setup_context_runs_only_where_it_is_needed(lib):
    calls = []
    lib.define("f(Tensor x, Tensor[] ys) -> Tensor")
    lib.impl("f", lambda x, ys: x + sum(ys), "CPU")
    register_autograd(f"{lib.ns}::f", lambda ctx, g: (g, [g, g]), setup_context=lambda ctx, inputs, output: calls.append(
        (fo.is_grad_enabled(), output.requires_grad, len(inputs))), lib=lib)
    f = op_of(lib, "f")
    plain = fo.ones(1)
    f(plain, [plain, plain])
    with fo.no_grad():
        f(leaf(1.0), [plain, plain])
    with fo.inference_mode():
        f(leaf(1.0), [plain, plain])
    assert calls == []
    result = f(plain, [plain, leaf(1.0)])
    assert calls == [(False, False, 2)] and result.requires_grad


def test_N6_without_a_formula(name, lib):
    made = custom_op(name, lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    for op in (made, op_of(lib, "f")):
        y = op(leaf(1.0))
        assert y.requires_grad and y.grad_fn is not None
        with pytest.raises(RuntimeError, match="register one with fastops.library.register_autograd"):
            y.backward()
        for transform in (func.grad(lambda x: op(x).sum()), func.jacrev(op), func.jacfwd(op), func.hessian(lambda x: op(x).sum())):
            with pytest.raises(RuntimeError, match="has no derivative"):
                transform(fo.ones(1))


def test_N7_setup_context_is_called_by_name(name):
    made = custom_op(name, lambda x, k=2, *, s=1.0: x * (k * s), mutates_args=(), schema="(Tensor x, int k=2, *, float s=1.0) -> Tensor")
    made.register_autograd(lambda ctx, g: g, setup_context=lambda context, given, out: None)
    with pytest.raises(TypeError):
        made(leaf(1.0))
    seen = []
    made.register_autograd(lambda ctx, g: (g, None), setup_context=lambda ctx, inputs, keyword_only_inputs, output: seen.append(
        (inputs[1:], keyword_only_inputs)))
    made(leaf(1.0)), made(leaf(1.0), 5, s=2.0)
    assert seen == [((2,), {"s": 1.0}), ((5,), {"s": 2.0})]


def test_N8_N9_outputs_of_every_kind(name):
    seen = []

    def setup(ctx, inputs, output):
        ctx.x, ctx.facts = inputs[0], output[2]

    def backward(ctx, first, many, number):
        seen.append((type(first).__name__, [type(one).__name__ for one in many], number))
        return first + many[0] + 2 * many[1]
    made = custom_op(name, lambda x: (x + 1, [x * 1, x * 2], 7), mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor[], int)")
    made.register_autograd(backward, setup_context=setup)
    x = leaf(1.0)
    a, (b, c), n = made(x)
    assert n == 7 and a.requires_grad and c.requires_grad
    (a + b + c).sum().backward()
    assert x.grad.tolist() == [4.0] and seen == [("Tensor", ["Tensor", "Tensor"], None)]
    assert func.grad(lambda x: made(x)[1][1].sum())(fo.ones(1)).tolist() == [2.0]
    assert func.jvp(lambda x: made(x)[1][1], (fo.ones(1),), (fo.ones(1),))[1].tolist() == [2.0]


@pytest.mark.parametrize("give, message", [
    (lambda g: [g], "not a list"), (lambda g: (), "expected 3 gradients \\(x, k, y\\), got 0"), (lambda g: (g, None), "expected 3 gradients"),
    (lambda g: (g, g, None), "'k'.*must be None"), (lambda g: (g, None, None, g), "got 4"), (lambda g: ("g", None, None), "str"),
    (lambda g: (fo.ones(7), None, None), r"\(7,\)"), (lambda g: (g * 1j, None, None), "complex")])
def test_N10_N11_N12_N13_wrong_gradients(name, give, message):
    made = custom_op(name, lambda x, k=1, y=None: x * k, mutates_args=(), schema="(Tensor x, int k=1, Tensor? y=None) -> Tensor")
    made.register_autograd(lambda ctx, g: give(g))
    for arguments in ((), (1,), (1, fo.ones(2))):
        with pytest.raises(RuntimeError, match=message) as caught:
            made(leaf(1.0, 2.0), *arguments).sum().backward()
        assert name in str(caught.value) or name.replace("::", ".") in str(caught.value)


def test_N12_N13_gradients_that_fit(name):
    made = custom_op(name, lambda x, i, y: x * 1, mutates_args=(), schema="(Tensor x, Tensor i, Tensor y) -> Tensor")
    made.register_autograd(lambda ctx, g: (fo.ones((3, 2), dtype=fo.float32), fo.ones(2), None))
    x, y, z = leaf(1.0, 2.0), leaf(1.0), fo.ones(2)
    made(x, fo.asarray([1, 2]), y).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.dtype == fo.float64 and y.grad is None
    made(z, fo.asarray([1, 2]), y).sum().backward()                                         # a gradient that nobody asked for
    assert z.grad is None


def test_N14_needs_input_grad(name):
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, [g, None], None, None
    made = custom_op(name, lambda x, ys, k=1, z=None: x + ys[0], mutates_args=(), schema="(Tensor x, Tensor[] ys, int k=1, Tensor? z=None) -> Tensor")
    made.register_autograd(backward)
    plain = fo.ones(1)
    made(plain, [leaf(1.0), plain]).backward()
    made(leaf(1.0), [leaf(1.0), plain], 3, leaf(1.0)).backward()
    assert seen == [(False, [True, False], False, False), (True, [True, False], False, True)]


def test_N15_lists(name):
    give = {}
    made = custom_op(name, lambda xs, k=1: sum(xs, fo.zeros(1)) * k, mutates_args=(), schema="(Tensor[] xs, int k=1) -> Tensor")
    made.register_autograd(lambda ctx, g: give["n"](g))
    x, y = leaf(1.0), leaf(2.0)
    give["n"] = lambda g: ([g, None], None)
    made([x, y]).backward()
    assert x.grad.tolist() == [1.0] and y.grad is None
    for wrong in (lambda g: (g, None), lambda g: ([g], None), lambda g: (None, None), lambda g: ([g, g, g], None)):
        give["n"] = wrong
        with pytest.raises(RuntimeError, match="'xs'"):
            made([x, y]).backward()
    assert not made([]).requires_grad


def test_N16_N17_outputs_that_nothing_arrived_at(name):
    seen = []

    def setup(ctx, inputs, output):
        ctx.set_materialize_grads(materialize)
    made = custom_op(name, lambda x: (x * 2, x * 3, fo.asarray([1, 2])), mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor, Tensor)")
    made.register_autograd(lambda ctx, *gs: (seen.append(gs), 2 * gs[0])[1], setup_context=setup)
    for materialize in (True, False):
        x = leaf(1.0, 2.0)
        a, b, i = made(x)
        assert not i.requires_grad
        a.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert [None if g is None else (g.tolist(), g.dtype.name) for g in seen[0]] == [([1.0, 1.0], "float64"), ([0.0, 0.0], "float64"), ([0, 0], "int64")]
    assert seen[1][1] is None and seen[1][2] is None


def test_N17_mark_non_differentiable(name):
    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
    made = custom_op(name, lambda x: (x * 2, x * 3), mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
    made.register_autograd(lambda ctx, a, b: 2 * a + 3 * b, setup_context=setup)
    x = leaf(1.0)
    a, b = made(x)
    assert a.requires_grad and not b.requires_grad
    (a + b).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_N18_mark_dirty_is_for_functions(name):
    made = custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: 2 * g, setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]))
    with pytest.raises(RuntimeError, match="mark_dirty"):
        made(leaf(1.0))


def test_N19_N20_saved_values(name):
    made = square_of(name)
    h = leaf(3.0) * 1.0
    y = made(h)
    h += 1
    with pytest.raises(RuntimeError, match=f"{name}.*modified after being saved"):
        y.backward()
    x = leaf(3.0)
    y = made(x)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    assert x.grad.tolist() == [6.0]
    result = custom_op(f"{next(names)}::g", lambda x: fo.exp(x.detach()), mutates_args=(), schema="(Tensor x) -> Tensor")
    result.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output, None))
    for transform in (func.grad, lambda f: func.grad(func.grad(f)), lambda f: func.hessian(f)):
        assert np.allclose(transform(result)(fo.asarray(0.5)).numpy(), np.exp(0.5))
    with pytest.raises(TypeError, match="save_for_backward"):
        result.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(3))
        result(leaf(1.0))


def test_N21_recording_in_formulas(name):
    seen = []
    made = custom_op(name, lambda x: x ** 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: (seen.append(fo.is_grad_enabled()), 3 * ctx.saved_tensors[0] ** 2 * g)[1], setup_context=keep_inputs)
    x = fo.asarray(2.0, requires_grad=True)
    made(x).backward()
    first, = fo.autograd.grad(made(x), x, create_graph=True)
    second, = fo.autograd.grad(first, x)
    assert seen == [False, True] and float(x.grad) == 12.0 and float(second) == 12.0


def test_N23_the_records_name(name):
    made = square_of(name)
    assert "f" in made(leaf(1.0)).grad_fn.name() and made(leaf(1.0)).grad_fn.name().startswith(name)


CUBE = [("grad", lambda f: func.grad(f), 12.0), ("grad of grad", lambda f: func.grad(func.grad(f)), 12.0),
        ("third", lambda f: func.grad(func.grad(func.grad(f))), 6.0), ("jacrev", func.jacrev, 12.0), ("jacfwd", func.jacfwd, 12.0),
        ("hessian", func.hessian, 12.0), ("jacfwd of jacfwd", lambda f: func.jacfwd(func.jacfwd(f)), 12.0),
        ("jacfwd of jacrev", lambda f: func.jacfwd(func.jacrev(f)), 12.0), ("jacrev of jacfwd", lambda f: func.jacrev(func.jacfwd(f)), 12.0),
        ("jvp", lambda f: lambda x: func.jvp(f, (x,), (fo.asarray(1.0),))[1], 12.0), ("vjp", lambda f: lambda x: func.vjp(f, x)[1](fo.asarray(1.0))[0], 12.0),
        ("linearize", lambda f: lambda x: func.linearize(f, x)[1](fo.asarray(1.0)), 12.0),
        ("hvp", lambda f: lambda x: func.hvp(f, (x,), (fo.asarray(1.0),)), 12.0)]


@pytest.mark.parametrize("transform, expected", [case[1:] for case in CUBE], ids=[case[0] for case in CUBE])
@pytest.mark.parametrize("how", ["backward", "jvp", "both", "raw"])
def test_N24_what_was_registered_once_works_under_every_transform(transform, expected, how):
    with _scoped_library(next(names), "DEF") as library:
        name = f"{library.ns}::cube"
        if how == "raw":
            library.define("cube(Tensor x) -> Tensor")
            library.impl("cube", lambda x: fo.asarray(np.asarray(x) ** 3), "CPU")
            register_autograd(name, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=keep_inputs, lib=library)
            cube = op_of(library, "cube")
        else:
            cube = custom_op(f"{next(names)}::cube", lambda x: fo.asarray(np.asarray(x) ** 3), mutates_args=(), schema="(Tensor x) -> Tensor")
        if how in ("backward", "both"):
            cube.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=keep_inputs)
        if how in ("jvp", "both"):
            cube.register_jvp(lambda ctx, t: 3 * ctx.saved_tensors[0] ** 2 * t, setup_context=keep_inputs)
        call = transform(lambda x: cube(x))
        try:
            found = float(call(fo.asarray(2.0)))
        except RuntimeError as error:
            assert how == "jvp" and "forward formula only" in str(error)            # a forward formula alone cannot be swept backward
        else:
            assert found == expected


def slopes():
    """The cube with a formula that uses what setup_context computed, kept as an attribute, or saved; as operators and as Functions."""
    made = custom_op(f"{next(names)}::f", lambda x: x ** 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: ctx.slope * g, setup_context=lambda ctx, inputs, output: setattr(ctx, "slope", 3 * inputs[0] ** 2))
    saved = custom_op(f"{next(names)}::g", lambda x: x ** 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    saved.register_autograd(lambda ctx, g: ctx.saved_tensors[0] * g, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(3 * inputs[0] ** 2))

    class Cube(fo.autograd.Function):
        @staticmethod
        def forward(x):
            return x ** 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.slope = 3 * inputs[0] ** 2

        @staticmethod
        def backward(ctx, g):
            return ctx.slope * g
    return [made, saved, Cube.apply]


def test_a_value_smuggled_out_of_the_record():
    # What setup_context computes is no part of the record: right once, and refused where it would be wrong.
    for op in slopes():
        x = fo.asarray(2.0, requires_grad=True)
        assert float(fo.autograd.grad(op(x), x)[0]) == 12.0
        with pytest.raises(RuntimeError, match="differentiated again, but uses a value that setup_context computed"):
            fo.autograd.grad(op(x), x, create_graph=True)


@pytest.mark.parametrize("order, nestings", [(1, [func.grad, func.jacrev, func.jacfwd]), (2, [
    func.hessian, lambda f: func.grad(func.grad(f)), lambda f: func.jacfwd(func.grad(f)), lambda f: func.grad(func.jacfwd(f)),
    lambda f: func.jacfwd(func.jacfwd(f)), lambda f: func.jacrev(func.jacrev(f))])])
def test_what_setup_context_computes_is_part_of_what_transforms_further_out_differentiate(order, nestings):
    for op in slopes():
        for transform in nestings:
            assert float(transform(op)(fo.asarray(2.0))) == 12.0
            with fo.no_grad():
                assert float(transform(op)(fo.asarray(2.0))) == 12.0
        x = fo.asarray(2.0, requires_grad=True)                                 # and through a record outside of the transforms
        nestings[0](op)(x).backward()
        assert float(x.grad) == (12.0 if order == 1 else 6.0)


def test_a_number_read_in_a_formula_is_no_way_out(name):
    made = custom_op(name, lambda x: x ** 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(lambda ctx, g: 3 * float(ctx.saved_tensors[0]) ** 2 * g, setup_context=keep_inputs)
    two = fo.asarray(2.0)
    assert float(func.grad(made)(two)) == 12.0
    with pytest.raises((RuntimeError, TypeError), match="detach"):
        func.grad(func.grad(made))(two)


# J. kernels at Autograd, composites, inference

def test_J11_composites_are_recorded_by_their_parts(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: fo.sin(x) * x)
    f = op_of(lib, "f")
    x = leaf(2.0)
    f(x).backward()
    expected = np.cos(2.0) * 2.0 + np.sin(2.0)
    assert np.allclose(x.grad.numpy(), expected)
    assert np.allclose(func.grad(lambda x: f(x).sum())(fo.asarray([2.0])).numpy(), expected)
    assert np.allclose(func.jvp(f, (fo.asarray([2.0]),), (fo.ones(1),))[1].numpy(), expected)


def test_J12_J15_an_autograd_kernel_of_the_users(lib):
    calls = []
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")

    class Triple(fo.autograd.Function):
        @staticmethod
        def forward(x):
            return op_of(lib, "f").default.redispatch(fo.dispatch.DispatchKeySet("CPU"), x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    def kernel(x):
        calls.append(1)
        return Triple.apply(x)
    lib.impl("f", kernel, "Autograd")
    f = op_of(lib, "f")
    assert func.grad(lambda x: f(x).sum())(fo.ones(1)).tolist() == [3.0]        # under transforms too
    assert func.jvp(f, (fo.ones(1),), (fo.ones(1),))[1].tolist() == [3.0]
    assert func.hessian(lambda x: (f(x) ** 2).sum())(fo.ones(1)).tolist() == [[18.0]] and calls
    calls.clear()
    x = leaf(1.0)
    f(x).backward()
    assert x.grad.tolist() == [3.0] and f(fo.ones(1)).tolist() == [2.0] and len(calls) == 2
    with fo.no_grad():
        f(x)
    assert len(calls) == 3
    with fo.inference_mode():
        f(x)
    assert len(calls) == 3


def test_J14_a_raw_kernel_is_not_recorded_twice(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: fo.sin(x), "CPU")
    with pytest.raises(RuntimeError, match="register_autograd"):
        op_of(lib, "f")(leaf(1.0)).backward()


def test_C11_an_overridden_kernel_keeps_the_formula_above_it():
    with _scoped_library("fastops", "IMPL") as library:
        library.impl("sin", lambda x, out=None: x * 0 + 7, "CPU")
        x = leaf(0.0)
        y = fo.sin(x)
        y.backward()
        assert y.detach().tolist() == [7.0] and x.grad.tolist() == [1.0]


# lifetime and routes

def test_E10_a_formula_goes_with_its_library(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    f = op_of(lib, "f")
    with _scoped_library(lib.ns, "FRAGMENT") as other:
        register_autograd(f"{lib.ns}::f", lambda ctx, g: 2 * g, lib=other)
        assert func.grad(lambda x: f(x).sum())(fo.ones(1)).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="has no derivative"):
        func.grad(lambda x: f(x).sum())(fo.ones(1))


def test_F10_F12_names_lead_to_the_definition(name, lib):
    made = custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    register_autograd(name, lambda ctx, g: 2 * g, lib=lib)
    register_kernel(name, "cpu", lambda x: x * 3, lib=lib)
    register_jvp(name, lambda ctx, t: 5 * t, lib=lib)
    with pytest.warns(FutureWarning, match="register_fake"):
        impl_abstract(name, lambda x: fo.empty_like(x), lib=lib)
    lib._destroy()
    assert made(fo.ones(1)).tolist() == [3.0] and made(fo.empty(4, device="meta")).shape == (4,)
    assert func.grad(lambda x: made(x).sum())(fo.ones(1)).tolist() == [2.0]
    assert func.jvp(made, (fo.ones(1),), (fo.ones(1),))[1].tolist() == [5.0]
    with pytest.raises(RuntimeError, match="no operator"):
        register_fake("nowhere::f", lambda x: x)
    with pytest.raises(ValueError, match="packet.default"):
        register_fake(getattr(fo.ops, name.split("::")[0]).f, lambda x: x)


def test_K1_exceptions_pass_unchanged(name):
    error = StopIteration("here")

    def kernel(x):
        raise error

    def give_up(ctx, g):
        raise error
    with pytest.raises(StopIteration) as caught:
        custom_op(name, kernel, mutates_args=(), schema="(Tensor x) -> Tensor")(leaf(1.0))
    assert caught.value is error
    made = custom_op(f"{next(names)}::g", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    made.register_autograd(give_up)
    with pytest.raises(StopIteration) as caught:
        made(leaf(1.0)).backward()
    assert caught.value is error and fo.is_grad_enabled()
    made.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: give_up(ctx, None))
    with pytest.raises(StopIteration):
        made(leaf(1.0))
    assert fo.is_grad_enabled()


def test_a_record_keeps_neither_its_results_nor_the_collector_busy(name):
    made = square_of(name)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            x = leaf(1.0)
            y = made(x)
            gone = weakref.ref(y)
            y.backward()
            del y
            assert gone() is None
    finally:
        gc.enable()


def test_a_tuple_of_gradients_for_a_list_of_one_operator(name):
    @custom_op(name, mutates_args=())
    def split(x: T, sizes: List[int]) -> List[T]:
        return [piece + 0 for piece in fo.split(x, sizes)]
    split.register_autograd(lambda ctx, gs: (fo.concat(gs), None))
    x = leaf(1.0, 2.0, 3.0)
    a, b = split(x, [1])
    (a * 10).sum().backward()
    assert x.grad.tolist() == [10.0, 0.0, 0.0]
    assert func.jacrev(lambda x: split(x, [1])[1])(fo.ones(3)).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert func.jacfwd(lambda x: split(x, [1])[1])(fo.ones(3)).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
