"""Random programs with views and writes in place: NumPy runs them too, and its differences are what derivatives must be."""

import numpy as np
import pytest

import fastops as fo
from fastops.errors import DerivativeError

SIZE = 6
SEEDS = 300


def program(rng):
    """Steps on a list of arrays: each is a function of that list, which appends to it or writes into one of it."""
    steps = []
    count = 1

    def pick():
        return int(rng.integers(count))
    for _ in range(rng.integers(4, 14)):
        kind = rng.integers(12)
        a, b, k = pick(), pick(), float(rng.uniform(0.5, 1.5))
        low = int(rng.integers(0, 3))
        new = True
        if kind == 0:
            step = ("{a} * {b}", lambda v, a=a, b=b: v.append(flat(v[a]) * flat(v[b])))
        elif kind == 1:
            step = ("sin({a}) + k", lambda v, a=a, k=k: v.append(np.sin(v[a]) + k))
        elif kind == 2:
            step = ("{a}[low:]", lambda v, a=a, low=low: v.append(v[a][low:] if v[a].shape[0] > low else v[a][:1]))
        elif kind == 3:
            step = ("{a}[::-1]", lambda v, a=a: v.append(v[a][::-1]))
        elif kind == 4:
            step = ("{a} as a matrix, transposed", lambda v, a=a: v.append(v[a].reshape(-1, 1).T[0]))
        elif kind == 5:
            step = ("zeros", lambda v: v.append(zeros_beside(v[0])))
        elif kind == 6:
            new, step = False, ("{a} *= k", lambda v, a=a, k=k: times(v, a, k))
        elif kind == 7:
            new, step = False, ("{a} += first of {b}", lambda v, a=a, b=b: plus(v, a, v[b][0] * 1.0))
        elif kind == 8:
            new, step = False, ("{a}[:2] = last of {b}", lambda v, a=a, b=b: v[a].__setitem__(slice(0, 2), v[b][-1] * 2.0))
        elif kind == 9:
            new, step = False, ("{a}[index] = sin of {b}", lambda v, a=a, b=b: v[a].__setitem__(np.array([0, -1]), np.sin(v[b][0])))
        elif kind == 10:
            step = ("where", lambda v, a=a: v.append(np.where(np.arange(v[a].shape[0]) % 2 == 0, v[a], np.exp(v[a] * 0.1))))
        else:
            step = ("mean", lambda v, a=a: v.append(v[a] - v[a].mean()))
        steps.append((step[0].replace("{a}", f"v{a}").replace("{b}", f"v{b}").replace("k", f"{k:.3f}"), step[1]))
        count += new
    return steps


def flat(x):
    return x[:3] if x.shape[0] >= 3 else x[:1]


def zeros_beside(x):
    return fo.zeros(SIZE) if isinstance(x, fo.Tensor) else np.zeros(SIZE)


def times(values, place, k):
    x = values[place]
    x *= k


def plus(values, place, other):
    x = values[place]
    x += other


def run(steps, x):
    values = [x * 1.0]
    for _, step in steps:
        step(values)
    total = 0.0
    for place, value in enumerate(values):
        total = total + (value * (place + 1.0)).sum() + (value * value).sum()
    return total


def differences(steps, x, step=1e-5):
    return np.array([(run(steps, x + step * unit) - run(steps, x - step * unit)) / (2 * step) for unit in np.eye(SIZE)])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_programs(seed):
    rng = np.random.default_rng(seed)
    steps = program(rng)
    x = rng.uniform(0.5, 1.5, SIZE)
    text = "\n".join([line for line, _ in steps])
    expected = differences(steps, x)
    scale = max(1.0, np.abs(expected).max())
    unit = fo.asarray(rng.standard_normal(SIZE))
    seen = 0
    for name, gradient in {"backward": backward, "grad": lambda f, x: fo.grad(f)(x), "jacfwd": lambda f, x: fo.jacfwd(f)(x),
                           "grad of a leaf": lambda f, x: fo.grad(f)(fo.asarray(x, requires_grad=True)).detach()}.items():
        try:
            found = gradient(lambda t: run(steps, t), fo.asarray(x)).numpy()
        except DerivativeError as error:            # what cannot be followed is refused, never wrong
            assert "share" in str(error) or "modified after being saved" in str(error) or "lies otherwise" in str(error), (text, error)
            continue
        seen += 1
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * scale, err_msg=f"{name}:\n{text}")
    if seen == 4:
        curve = (fo.grad(lambda t: run(steps, t))(fo.asarray(x + 1e-5 * unit.numpy())).numpy()
                 - fo.grad(lambda t: run(steps, t))(fo.asarray(x - 1e-5 * unit.numpy())).numpy()) / 2e-5
        size = max(1.0, np.abs(curve).max())
        for name, product in {"forward over reverse": lambda f, x: fo.jvp(fo.grad(f), (x,), (unit,))[1],
                              "reverse over reverse": lambda f, x: fo.grad(lambda t: (fo.grad(f)(t) * unit).sum())(x),
                              "reverse over forward": lambda f, x: fo.grad(lambda t: fo.jvp(f, (t,), (unit,))[1])(x),
                              "forward over forward": lambda f, x: fo.jacfwd(lambda t: fo.jvp(f, (t,), (unit,))[1])(x)}.items():
            try:
                found = product(lambda t: run(steps, t), fo.asarray(x)).numpy()
            except DerivativeError as error:
                assert "share" in str(error) or "modified after being saved" in str(error) or "lies otherwise" in str(error), (text, error)
                continue
            np.testing.assert_allclose(found, curve, rtol=1e-5, atol=1e-5 * size, err_msg=f"{name}:\n{text}")


def backward(f, x):
    leaf = fo.asarray(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad


def test_most_programs_are_followed():
    followed = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        steps = program(rng)
        x = rng.uniform(0.5, 1.5, SIZE)
        try:
            backward(lambda t: run(steps, t), fo.asarray(x))
            followed += 1
        except DerivativeError:
            pass
    assert followed >= 0.4 * SEEDS, followed
