"""Recording and the backward sweep: what Tensor shows, writes in place, hooks, memory, depth, threads."""

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastops as fo
from fastops.errors import DerivativeError

A = fo.asarray


def leaf(*values, dtype=float):
    return A(list(values), dtype=dtype, requires_grad=True)


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


# What Tensor shows

def test_leaves_and_results():
    x, c = leaf(1.0, 2.0), fo.ones(2)
    y = x * c
    assert x.requires_grad and x.is_leaf and x.grad_fn is None and x.grad is None
    assert y.requires_grad and not y.is_leaf and y.grad_fn.name() == "multiply"
    assert not c.requires_grad and c.is_leaf and not (c * c).requires_grad
    (node, number), other = y.grad_fn.next_functions
    assert node.name() == "accumulate" and number == 0 and other == (None, 0)
    assert "requires_grad=True" in repr(x)


@pytest.mark.parametrize("make", [
    lambda: fo.zeros(2, requires_grad=True), lambda: fo.ones((2,), requires_grad=True), lambda: fo.empty(2, requires_grad=True),
    lambda: fo.full(2, 1.5, requires_grad=True), lambda: fo.zeros_like(fo.ones(2), requires_grad=True), lambda: fo.linspace(0.0, 1.0, 3, requires_grad=True),
    lambda: fo.arange(3.0, requires_grad=True), lambda: fo.eye(2, requires_grad=True), lambda: A([1.0], requires_grad=True),
    lambda: fo.array([1.0], requires_grad=True), lambda: fo.ones(2).requires_grad_()])
def test_every_way_to_a_leaf(make):
    x = make()
    assert x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    assert not x.detach().requires_grad and not fo.ones(2, requires_grad=False).requires_grad


def test_asarray_of_a_tensor_leaves_it_alone():
    x = fo.ones(2)
    y = A(x, requires_grad=True)
    assert y.requires_grad and not x.requires_grad and y.data_ptr() == x.data_ptr()


def test_what_cannot_require_gradients():
    for made in (lambda: fo.ones(2, dtype=int, requires_grad=True), lambda: A([True], requires_grad=True), lambda: fo.arange(3).requires_grad_()):
        with pytest.raises(DerivativeError, match="astype"):
            made()
    y = leaf(1.0) * 2
    with pytest.raises(DerivativeError, match="detach"):
        y.requires_grad = False
    x = leaf(1.0)
    x.requires_grad = False
    assert not x.requires_grad and not (x * 2).requires_grad


def test_gradients_add_up_and_can_be_cleared():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert values(x.grad) == [4.0, 8.0]
    x.grad = None
    (3 * x).sum().backward()
    assert values(x.grad) == [3.0, 3.0]
    with pytest.raises(DerivativeError, match="shape"):
        x.grad = fo.ones(3)
    del x.grad
    assert x.grad is None


def test_grad_is_the_callers_own():
    g = fo.ones(2)
    x = leaf(1.0, 2.0)
    (x + 0.0).backward(g)
    x.grad += 1
    assert values(g) == [1.0, 1.0] and values(x.grad) == [2.0, 2.0]
    y = leaf(1.0, 2.0)
    z = leaf(1.0, 2.0)
    (y + z).backward(fo.ones(2))
    y.grad *= 5
    assert values(z.grad) == [1.0, 1.0]


def test_arguments_of_backward():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    out = x * y
    with pytest.raises(DerivativeError, match=r"shape \(2,\)"):
        out.backward()
    with pytest.raises(DerivativeError, match="shape"):
        out.backward(fo.ones(3))
    out.backward(A([1.0, 10.0]), retain_graph=True)
    assert values(x.grad) == [3.0, 40.0] and values(y.grad) == [1.0, 20.0]
    out.backward(A([1.0, 1.0]), inputs=[x])
    assert values(x.grad) == [6.0, 44.0] and values(y.grad) == [1.0, 20.0]
    with pytest.raises(DerivativeError, match="second sweep.*retain_graph"):
        out.backward(A([1.0, 1.0]))
    with pytest.raises(DerivativeError, match="does not require a gradient"):
        fo.ones(1).backward()
    with pytest.raises(TypeError):
        fo.autograd.backward([1.0])


def test_grad_of_chosen_inputs():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    out = z * z
    assert [values(g) for g in fo.autograd.grad(out, (x, z), fo.ones(1))] == [[36.0], [12.0]]
    assert x.grad is None and y.grad is None
    w = leaf(1.0)
    out = (x * x).sum()
    with pytest.raises(DerivativeError, match="input 1.*allow_unused"):
        fo.autograd.grad(out, (x, w), retain_graph=True)
    found = fo.autograd.grad(out, (x, w), allow_unused=True, retain_graph=True)
    assert values(found[0]) == [4.0] and found[1] is None
    assert values(fo.autograd.grad(out, (x, w), materialize_grads=True)[1]) == [0.0]
    with pytest.raises(ValueError, match="contradicts"):
        fo.autograd.grad(out, x, allow_unused=False, materialize_grads=True)


def test_several_gradients_at_once():
    x = leaf(1.0, 2.0)
    jacobian, = fo.autograd.grad(x ** 3, x, fo.eye(2), is_grads_batched=True)
    assert values(jacobian) == [[3.0, 0.0], [0.0, 12.0]]


def test_a_sweep_visits_only_what_leads_to_the_inputs():
    x, y = leaf(1.0), leaf(2.0)

    class Costly(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("visited")
    out = (x * 2 + Costly.apply(y)).sum()
    assert values(fo.autograd.grad(out, x)[0]) == [2.0]


def test_higher_derivatives():
    x = leaf(2.0)
    y = (x ** 4).sum()
    for expected in (32.0, 48.0, 48.0, 24.0):
        y, = fo.autograd.grad(y, x, fo.ones(1) if y.shape else None, create_graph=True)
        assert values(y) == [expected]
    x = leaf(0.5)
    y = fo.exp(fo.sin(x)).sum()
    first, = fo.autograd.grad(y, x, create_graph=True)
    second, = fo.autograd.grad(first.sum(), x)
    s, c = np.sin(0.5), np.cos(0.5)
    np.testing.assert_allclose(second.numpy(), [np.exp(s) * (c * c - s)])


def test_retain_grad_and_hooks():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    seen = []
    handle = y.register_hook(lambda g: seen.append(values(g)))
    doubled = x.register_hook(lambda g: g * 2)
    (y * y).sum().backward()
    assert values(y.grad) == [6.0, 12.0] and seen == [[6.0, 12.0]] and values(x.grad) == [36.0, 72.0]
    handle.remove()
    handle.remove()
    with doubled:
        pass
    x.grad = None
    (x * 3).sum().backward()
    assert values(x.grad) == [3.0, 3.0] and seen == [[6.0, 12.0]]
    z = x * 2
    with pytest.warns(UserWarning, match="retain_grad"):
        assert z.grad is None
    with pytest.raises(TypeError):
        x.register_hook(5)
    with pytest.raises(DerivativeError):
        fo.ones(2).register_hook(print)
    bad = x * 2
    bad.register_hook(lambda g: 3)
    with pytest.raises(DerivativeError, match="hook"):
        bad.sum().backward()


def test_node_hooks_see_and_replace():
    x = leaf(1.0)
    y = x * 3
    seen = []
    handle = y.grad_fn.register_hook(lambda given, arrived: seen.append((values(given[0]), values(arrived[0]))))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.grad_fn.register_hook(lambda given, arrived: (given[0] * 10, None))
    x.grad = None
    y.sum().backward()
    assert seen == [([3.0], [1.0])] and values(x.grad) == [30.0]


# Modes

def test_no_grad_and_its_kin():
    x = leaf(1.0)
    with fo.no_grad():
        assert not fo.is_grad_enabled() and not (x * 2).requires_grad
        with fo.enable_grad():
            assert (x * 2).requires_grad
        with fo.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    fo.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        fo.set_grad_enabled(True)
    with fo.inference_mode():
        assert not (x * 2).requires_grad and fo.autograd.is_inference_mode_enabled()
    with fo.inference_mode(False):
        assert (x * 2).requires_grad


@pytest.mark.parametrize("decorate", [fo.no_grad, fo.no_grad(), fo.inference_mode, fo.inference_mode(), lambda f: fo.set_grad_enabled(False)(f)],
                         ids=["no_grad", "no_grad()", "inference_mode", "inference_mode()", "set_grad_enabled"])
def test_modes_as_decorators(decorate):
    x = leaf(1.0)

    @decorate
    def product(depth):
        if depth:
            return product(depth - 1)
        return x * 2
    assert product.__name__ == "product" and fo.is_grad_enabled()
    assert not product(2).requires_grad and (x * 2).requires_grad

    @decorate
    def steps():
        received = yield (x * 2).requires_grad
        try:
            yield received, (x * 2).requires_grad
        except ValueError:
            yield "caught", (x * 2).requires_grad
        return "end"
    generator = steps()
    assert next(generator) is False and (x * 2).requires_grad
    assert generator.send(5) == (5, False) and fo.is_grad_enabled()
    assert generator.throw(ValueError) == ("caught", False) and fo.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_modes_end_with_exceptions_and_belong_to_threads():
    with pytest.raises(KeyError), fo.no_grad():
        raise KeyError
    assert fo.is_grad_enabled()
    with fo.no_grad(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(fo.is_grad_enabled).result()


# Writes

def test_writes_in_place():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1.0
    y += x
    y *= 2.0
    y[0] = 5.0
    y[1:] = x[:2] * 3
    (y * A([1.0, 10.0, 100.0])).sum().backward()
    assert values(y) == [5.0, 3.0, 6.0] and values(x.grad) == [30.0, 300.0, 0.0]


def test_writes_by_masks_and_indices():
    x = leaf(1.0, 2.0, 3.0)
    y = fo.zeros(4)
    y[A([0, 2, 3])] = x * 2
    y[A([True, False, False, True])] = x[:2]
    (y * A([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert values(y) == [1.0, 0.0, 4.0, 2.0] and values(x.grad) == [1.0, 1200.0, 0.0]


def test_of_values_written_to_one_place_the_last_counts():
    x = leaf(1.0, 2.0, 3.0)
    y = fo.zeros(2)
    y[A([0, 0, 1])] = x
    y.sum().backward()
    assert values(y) == [2.0, 3.0] and values(x.grad) == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("view", [lambda y: y[1:], lambda y: y[::-1], lambda y: y.reshape(3, 1)[1:], lambda y: y[None, :, None],
                                  lambda y: y.reshape(1, 3).T, lambda y: y[1:][0:1]])
@pytest.mark.parametrize("tracked", [True, False])
def test_writes_through_views(view, tracked):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1.0 if tracked else fo.ones(3)
    v = view(y)
    v *= 2
    v += x[0]
    assert y.requires_grad and not y.is_leaf
    weights = A([1.0, 10.0, 100.0])
    (y * weights + 0 * v.sum()).sum().backward()
    probe = np.zeros(3)                     # what the same program gives along each direction, by differences
    for place in range(3):
        def run(step):
            start = np.array([1.0, 2.0, 3.0])
            start[place] += step
            array = start * 1.0 if tracked else np.ones(3)
            part = np.asarray(view(A(array)))
            part *= 2
            part += start[0]
            return (array * [1.0, 10.0, 100.0]).sum()
        probe[place] = (run(1e-6) - run(-1e-6)) / 2e-6
    np.testing.assert_allclose(x.grad.numpy(), probe, rtol=1e-6)


def test_views_see_later_writes_into_their_origin():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1.0
    v = y[1:]
    y *= 10.0
    (v * v).sum().backward()
    assert values(x.grad) == [0.0, 400.0, 600.0]
    z = x * 1.0
    first, second = z[:2], z[1:]
    first *= 3.0
    second += first.sum()
    x.grad = None
    z.sum().backward()
    assert values(x.grad) == [9.0, 9.0, 1.0]


def test_augmented_assignment_of_items():
    x = leaf(1.0, 2.0, 3.0)
    out = fo.zeros((2, 3))
    for row in range(2):
        out[row] += x * (row + 1)
        out[row][0] = x[2]
    out.sum().backward()
    assert values(x.grad) == [0.0, 3.0, 5.0]


def test_complex_parts_are_views():
    x = leaf(1.0, 2.0)
    z = fo.zeros(2, dtype=complex)
    z.real[...] = x
    z.imag[...] = x * 3
    (z.real * z.imag).sum().backward()
    assert values(x.grad) == [6.0, 12.0]


def test_writes_that_are_refused():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.__iadd__(1), lambda: x.__setitem__(0, 1.0), lambda: x[:1].__imul__(2)):
        with pytest.raises(DerivativeError, match="leaf"):
            write()
    assert values(x) == [1.0, 2.0]
    with fo.no_grad():
        x += 1
    assert values(x) == [2.0, 3.0]
    with pytest.raises(DerivativeError, match="out="):
        fo.add(x, 1, out=fo.zeros(2))
    with pytest.raises(DerivativeError, match="out="):
        fo.add(fo.ones(2), 1, out=x * 1)
    with pytest.raises(DerivativeError, match="int64"):
        fo.zeros(2, dtype=int)[...] = x
    base = fo.zeros(4)
    views = [base[:2], base[2:]]
    with pytest.raises(DerivativeError, match="share"):
        base[0] = x[0]
    assert len(views) == 2


def test_a_write_under_no_grad_is_noticed_where_it_matters():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = h * h
    with fo.no_grad():
        h *= 2
    with pytest.raises(DerivativeError, match="multiply saved.*by fastops::multiply, version 1 instead of 0"):
        y.sum().backward()


# Values

def test_undefined_gradients_cost_nothing_and_dtypes_fit():
    x = leaf(1.0, 2.0, dtype=np.float32)
    y = (x * A([1.0, 2.0])).sum()
    assert y.dtype == np.float64
    y.backward()
    assert x.grad.dtype == np.float32 and values(x.grad) == [1.0, 2.0]
    x = leaf(4.0, 9.0)
    whole, part = fo.modf(x)[1], fo.modf(x)[0]
    part.sum().backward()
    assert values(x.grad) == [1.0, 1.0] and whole.requires_grad
    x = leaf(1.0)
    assert not (x > 0).requires_grad and not x.argmax().requires_grad and not x.astype(int).requires_grad


def test_complex_gradients_are_those_of_pytorch():
    z = A([1 + 2j, 3 - 1j], requires_grad=True)
    fo.abs(z * z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * z.detach().numpy())     # abs(z**2) = abs(z)**2, whose gradient is 2z
    w = A([1 + 2j], requires_grad=True)
    (w.real * 3 + w.imag * 5).sum().backward()
    assert values(w.grad) == [3 + 5j]
    x = leaf(2.0)
    (x * (1 + 1j)).real.sum().backward()
    assert x.grad.dtype == float and values(x.grad) == [1.0]


def test_what_was_not_chosen_does_not_poison():
    x = leaf(0.0, 4.0)
    fo.where(x > 0, fo.sqrt(x), 0.0).sum().backward()
    assert values(x.grad) == [0.0, 0.25]
    x = leaf(1000.0, 1.0)
    fo.where(x < 100, fo.exp(x), x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, np.e])
    x = leaf(0.0, 0.0)
    fo.linalg.norm(x).backward()
    assert values(x.grad) == [0.0, 0.0]
    tangent = fo.jvp(lambda x: fo.where(x > 0, fo.log(x), 0.0), (fo.zeros(2),), (fo.ones(2),))[1]
    assert values(tangent) == [0.0, 0.0]


def test_conventions_at_kinks():
    assert float(fo.grad(fo.abs)(A(0.0))) == 0 and float(fo.grad(fo.sign)(A(0.0))) == 0
    assert values(fo.grad(lambda x: x.max())(A([2.0, 2.0, 1.0]))) == [0.5, 0.5, 0.0]
    assert values(fo.grad(lambda x: x.min())(A([2.0, 1.0, 1.0]))) == [0.0, 0.5, 0.5]
    assert [float(g) for g in fo.grad(fo.maximum, (0, 1))(A(1.0), A(1.0))] == [0.5, 0.5]
    assert float(fo.grad(lambda x: fo.clip(x, 0.0, 1.0))(A(2.0))) == 0
    assert float(fo.grad(lambda x: fo.std(x * A([1.0, 1.0])))(A(3.0))) == 0


def test_operators_without_a_derivative_say_why():
    x = leaf(1.0, 2.0)
    for call in (lambda: fo.unique(x), lambda: fo.histogram(x)[1], lambda: fo.nextafter(x, 1.0), lambda: fo.reinterpret(x, "f4")):
        with pytest.raises(DerivativeError, match="has no derivative: "):
            call()
    assert fo.histogram(x.detach())[0].sum() == 2


def test_arrays_leave_only_detached():
    x = leaf(1.0, 2.0)
    with pytest.raises(BufferError, match="detach"):
        np.asarray(x)
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(x)
    assert x.detach().numpy().tolist() == [1.0, 2.0] and float(x[0]) == 1.0 and x.tolist() == [1.0, 2.0]


# Depth, memory, threads

def test_a_million_nodes():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward(fo.ones(1))
    assert values(x.grad) == [1.0]
    del y
    y = x
    for _ in range(200_000):
        y = y * 1.0
    del y                       # freed without a sweep, too


def test_a_wide_record():
    x = leaf(1.0)
    total = x * 0
    for place in range(2000):
        total = total + x * place
    total.backward(fo.ones(1))
    assert values(x.grad) == [sum(range(2000))]


def test_records_are_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        def work(count):
            for _ in range(count):
                x = fo.ones(3, requires_grad=True)
                y = fo.exp(x)
                y = y * y
                y[0] = x[1]
                v = y[1:]
                v += 1
                y.sum().backward(create_graph=False)
                fo.grad(lambda t: (fo.sin(t) * t).sum())(fo.ones(3))
                fo.jvp(lambda t: fo.tanh(t) * t, (x.detach(),), (x.detach(),))
        work(300)
        before = sys.getallocatedblocks()
        work(3000)
        assert sys.getallocatedblocks() - before < 100
    finally:
        gc.enable()


def test_what_is_saved_goes_with_the_sweep():
    x = leaf(1.0, 2.0)
    h = fo.sin(x)
    kept = weakref.ref(h)
    y = (h * h).sum()
    del h
    assert kept() is not None
    y.backward()
    assert kept() is None


def test_addition_saves_nothing():
    x = leaf(1.0, 2.0)
    h = x * 2
    kept = weakref.ref(h)
    y = h + 1
    del h
    assert kept() is None
    y.sum().backward()


def test_cycles_through_hooks_are_collected():
    class Mark:
        pass
    mark = Mark()
    gone = weakref.ref(mark)
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g, mark=mark: None)
    y.sum().backward()
    del mark, y, x
    gc.collect()
    assert gone() is None


def test_threads_at_once_on_their_own_and_on_a_shared_record():
    def work(seed):
        x = A(np.full(1000, float(seed)), requires_grad=True)
        for _ in range(20):
            x.grad = None
            y = x
            for _ in range(20):
                y = fo.sin(y) + x
            y.sum().backward()
        return x.grad.numpy()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(8)))
    for seed, one in enumerate(found):
        np.testing.assert_array_equal(one, work(seed))

    x = A(np.linspace(0.0, 1.0, 50_000), requires_grad=True)
    h = x
    for _ in range(30):
        h = fo.sin(h) * 1.1
    expected = fo.autograd.grad(h.sum(), x, retain_graph=True)[0].numpy()
    failures = []

    def sweep():
        for _ in range(5):
            got = fo.autograd.grad(h.sum(), x, retain_graph=True)[0].numpy()
            if not np.array_equal(got, expected):
                failures.append(got)
    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_sweep_inside_a_sweep():
    x = leaf(2.0)
    inner = leaf(3.0)

    class Reentrant(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with fo.enable_grad():
                (inner * inner).sum().backward()
            return g
    (Reentrant.apply(x) * x).sum().backward()
    assert values(x.grad) == [4.0] and values(inner.grad) == [6.0]


def test_an_exception_in_a_sweep_leaves_it_usable():
    x = leaf(2.0)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    z = (y * y).sum()
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    handle.remove()
    z.backward()
    assert values(x.grad) == [16.0] and fo.is_grad_enabled()


# Functions

class Scaled(fo.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        assert ctx.needs_input_grad == (True, False)
        assert len(ctx.saved_tensors) == 1
        return g * ctx.factor, None


def test_functions():
    x = leaf(1.0, 2.0)
    y = Scaled.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaledBackward"
    y.sum().backward()
    assert values(x.grad) == [3.0, 3.0]
    assert values(fo.grad(lambda t: Scaled.apply(t, 5.0).sum())(fo.ones(2))) == [5.0, 5.0]
    assert values(fo.jvp(lambda t: Scaled.apply(t, 5.0), (fo.ones(2),), (fo.ones(2),))[1]) == [5.0, 5.0]
    with fo.no_grad():
        assert not Scaled.apply(x, 3.0).requires_grad
    with pytest.raises(DerivativeError, match="setup_context"):
        fo.grad(fo.grad(lambda t: Scaled.apply(t, 5.0).sum()))(A(1.0))


class StraightThrough(fo.autograd.Function):
    @staticmethod
    def forward(x):
        return fo.rint(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g


def test_functions_nest():
    def loss(x):
        return (StraightThrough.apply(x) * x ** 2).sum()
    x = A([1.2, 2.7])
    assert values(fo.grad(loss)(x)) == pytest.approx([1.44 + 2 * 1.2, 2.7 ** 2 + 2 * 2.7 * 3])
    assert np.diag(fo.hessian(loss)(x).numpy()).tolist() == pytest.approx([2 * 1.2 + 2 * 1.2 + 2 * 1.0, 2 * 2.7 * 2 + 2 * 3.0])


def test_marks_of_the_context():
    class Both(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            places = fo.argsort(x)
            rank = x * 0 + 1
            ctx.mark_non_differentiable(rank)
            return x * 1, y * 1, rank, places

        @staticmethod
        def backward(ctx, gx, gy, grank, gplaces):
            assert gy is None and grank is None and gplaces is None
            return gx, None
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    first, second, rank, places = Both.apply(x, y)
    assert first.requires_grad and second.requires_grad and not rank.requires_grad and not places.requires_grad
    first.sum().backward()
    assert values(x.grad) == [1.0, 1.0] and y.grad is None

    class Zeros(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g1, g2):
            assert values(g2) == [0.0, 0.0]
            return g1
    x = leaf(1.0, 2.0)
    Zeros.apply(x)[0].sum().backward()

    class InPlace(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g
    x = leaf(1.0, 2.0)
    h = x * 1
    out = InPlace.apply(h)
    assert out is h
    h.sum().backward()
    assert values(x.grad) == [2.0, 2.0]
    with pytest.raises(DerivativeError, match="leaf"):
        InPlace.apply(leaf(1.0))


def test_an_argument_given_back_is_another_tensor():
    class Same(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7
    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert values(x.grad) == [7.0]


def test_wrong_functions():
    class Wrong(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            with pytest.raises(TypeError, match="save_for_backward"):
                ctx.save_for_backward(5)
            return x * y

        @staticmethod
        def backward(ctx, g):
            return (g,)
    with pytest.raises(DerivativeError, match="expected 2 gradients.*got 1"):
        Wrong.apply(leaf(1.0), leaf(2.0)).sum().backward()

    class Saved(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = fo.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    x = leaf(1.0)
    y = Saved.apply(x)
    y += 1
    with pytest.raises(DerivativeError, match="Saved saved.*modified"):
        y.sum().backward()
    x = leaf(0.5)
    slope, = fo.autograd.grad(Saved.apply(x).sum(), x, create_graph=True)      # a saved result is part of the record
    curve, = fo.autograd.grad(slope.sum(), x)
    np.testing.assert_allclose(curve.numpy(), np.exp([0.5]))

    class Once(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @fo.autograd.once_differentiable
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]
    x = leaf(3.0)
    slope, = fo.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(DerivativeError, match="once_differentiable"):
        slope.sum().backward()


# Checks

def test_gradcheck_finds_what_is_wrong():
    x = leaf(0.3, 0.7)
    assert fo.autograd.gradcheck(fo.sin, x) and fo.autograd.gradgradcheck(fo.sin, x)
    assert fo.autograd.gradcheck(lambda z: z * z.conj() * 2j, A([1 + 2j], requires_grad=True))
    assert fo.autograd.gradcheck(lambda a, b: (a @ b, a.sum()), (fo.ones((2, 3), requires_grad=True), fo.ones((3, 1), requires_grad=True)), fast_mode=True)

    class Lying(fo.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 2
    with pytest.raises(RuntimeError, match="by the formula, .* by differences"):
        fo.autograd.gradcheck(Lying.apply, x)
    with pytest.raises(RuntimeError):
        fo.autograd.gradcheck(Lying.apply, x, fast_mode=True)
    assert fo.autograd.gradcheck(Lying.apply, x, raise_exception=False) is False
    with pytest.raises(ValueError, match="no input"):
        fo.autograd.gradcheck(fo.sin, fo.ones(2))
    with pytest.raises(ValueError, match="float32"):
        fo.autograd.gradcheck(fo.sin, leaf(1.0, dtype=np.float32))
