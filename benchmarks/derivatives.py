"""Derivatives and custom operators: what small graphs, transforms and registered formulas cost, beside PyTorch, JAX and autograd.

``python benchmarks/derivatives.py [--json FILE] [--markdown] [--only TEXT]``. Peers that are not installed are left out.
One thread; plain CPU tensors through the public API; JAX without jit, as the others run without.
"""

import argparse
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")        # before NumPy and PyTorch read them

import numpy as np

import fastops as fo
from measure import markdown, save, table

try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None
try:
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
except ImportError:
    jax = None
try:
    import autograd
    import autograd.numpy as anp
except ImportError:
    autograd = None


def case(call, ours, targets, **peers):
    row = {"call": call, "fastops": ours, "target": targets}
    row.update({name: peer for name, peer in peers.items() if peer is not None})
    return row


def graph_rows():
    """Recording, and forward with backward."""
    a, b = fo.ones(1, requires_grad=True), fo.ones(1)
    ta, tb = (torch.ones(1, dtype=torch.float64, requires_grad=True), torch.ones(1, dtype=torch.float64)) if torch else (None, None)
    yield case("a + b, recording", lambda: a + b, {"torch": 10}, torch=torch and (lambda: ta + tb))

    def chain(x, other):
        for _ in range(21):
            x = x * other
        return x

    def ours():
        chain(a, b).backward()
        a.grad = None

    def theirs():
        chain(ta, tb).backward()
        ta.grad = None
    yield case("21 operators, forward and backward", ours, {"torch": 8}, torch=torch and theirs)


def transform_rows():
    """Transforms of small functions."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    x, tx, jx = fo.asarray(values), torch and torch.asarray(values), jax and jnp.asarray(values)

    def f(x):
        return (x * x).sum()
    one = fo.grad(f)
    yield case("grad((x*x).sum())", lambda: one(x), {"torch": 20, "jax": 100, "autograd": 15},
               torch=torch and (lambda g=torch.func.grad(f): g(tx)), jax=jax and (lambda g=jax.grad(f): g(jx)),
               autograd=autograd and (lambda g=autograd.grad(lambda x: anp.sum(x * x)): g(values)))
    yield case("jvp((x*x).sum())", lambda: fo.jvp(f, (x,), (x,)), {"torch": 15, "jax": 50},
               torch=torch and (lambda: torch.func.jvp(f, (tx,), (tx,))), jax=jax and (lambda: jax.jvp(f, (jx,), (jx,))))
    for name in ("jacrev", "hessian"):
        g = (lambda x: x * x) if name == "jacrev" else f
        yield case(f"{name}, 4 elements", lambda t=getattr(fo, name)(g): t(x), {"torch": 15, "jax": 50},
                   torch=torch and (lambda t=getattr(torch.func, name)(g): t(tx)), jax=jax and (lambda t=getattr(jax, name)(g): t(jx)))


def custom_rows():
    """Operators of the user's own."""
    def clone(x: fo.Tensor) -> fo.Tensor:
        return x.clone()
    plain = fo.library.custom_op("bench::plain", clone, mutates_args=())
    formula = fo.library.custom_op("bench::formula", clone, mutates_args=())
    formula.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
    x, leaf = fo.ones(4), fo.ones(4, requires_grad=True)
    tplain = tformula = tx = tleaf = None
    if torch:
        def tclone(x: torch.Tensor) -> torch.Tensor:
            return x.clone()
        tplain = torch.library.custom_op("bench::plain", tclone, mutates_args=())
        tformula = torch.library.custom_op("bench::formula", tclone, mutates_args=())
        tformula.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
        tx, tleaf = torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64, requires_grad=True)
    yield case("clone, a plain function", lambda: clone(x), {})
    yield case("custom_op around clone", lambda: plain(x), {"torch": 20}, torch=torch and (lambda: tplain(tx)))
    yield case("the same with a formula, recording", lambda: formula(leaf), {"torch": 20}, torch=torch and (lambda: tformula(tleaf)))

    def many(a: fo.Tensor, b: fo.Tensor, c: fo.Tensor, d: fo.Tensor, i1: list[int], f1: list[float], i2: list[int], f2: list[float],
             i3: list[int], f3: list[float], n: int, s: float, flag: bool, mode: str) -> fo.Tensor:
        return a + 0
    wide = fo.library.custom_op("bench::wide", many, mutates_args=())
    args = (x, x, x, x, [1, 2], [1.0, 2.0], [1, 2], [1.0, 2.0], [1, 2], [1.0, 2.0], 3, 1.5, True, "m")
    yield case("a function of 14 arguments", lambda: many(*args), {})
    yield case("custom_op around it: at most 1500 ns more", lambda: wide(*args), {})


def network_rows():
    """One training step of a two-layer network, batch 64."""
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((64, 64)), np.eye(10)[rng.integers(0, 10, 64)]
    weights = [rng.normal(0, 0.2, shape) for shape in ((64, 64), (64,), (64, 10), (10,))]

    def step(xp, x, y, w1, b1, w2, b2):
        hidden = xp.tanh(x @ w1 + b1)
        scores = hidden @ w2 + b2
        return -((scores - xp.logsumexp(scores, 1)[:, None]) * y).sum() / 64

    x, y = fo.asarray(data), fo.asarray(labels)
    ours = [fo.asarray(w.copy(), requires_grad=True) for w in weights]

    def train():
        step(fo, x, y, *ours).backward()
        with fo.no_grad():
            for w in ours:
                w -= 1e-4 * w.grad
                w.grad = None
    theirs = None
    if torch:
        tx, ty = torch.asarray(data), torch.asarray(labels)
        tw = [torch.asarray(w.copy()).requires_grad_() for w in weights]

        def theirs():
            step(torch, tx, ty, *tw).backward()
            with torch.no_grad():
                for w in tw:
                    w -= 1e-4 * w.grad
                    w.grad = None
    yield case("two-layer network, one step", train, {"torch": 3}, torch=theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    peers = [name for name, module in (("torch", torch), ("jax", jax), ("autograd", autograd)) if module is not None]
    rows = [row for part in (graph_rows, transform_rows, custom_rows, network_rows) for row in part() if options.only in row["call"]]
    results = table(rows, peers)
    if options.markdown:
        print(markdown(results, peers))
    if options.json:
        save(results, options.json)


if __name__ == "__main__":
    main()
