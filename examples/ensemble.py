"""An ensemble: sixteen networks trained at once, by ``vmap`` over their weights, and Jacobians by ``vmap`` of ``vjp``.

One network is written; nothing in it knows of the others. Their disagreement says where the ensemble has seen no data.

Run: ``python examples/ensemble.py``.
"""

import sys
import time

import numpy as np

import fastops as fo

MEMBERS, HIDDEN, STEPS, RATE = 16, 32, 800, 0.05


def network(weights, x):
    """The value at one point."""
    hidden = fo.tanh(weights["w1"] * x + weights["b1"])
    return hidden @ weights["w2"] + weights["b2"]


def loss(weights, x, y):
    return ((fo.vmap(network, (None, 0))(weights, x) - y) ** 2).mean()


def start(rng):
    return {"w1": fo.asarray(rng.normal(0, 2, (MEMBERS, HIDDEN))), "b1": fo.asarray(rng.normal(0, 2, (MEMBERS, HIDDEN))),
            "w2": fo.asarray(rng.normal(0, 0.3, (MEMBERS, HIDDEN))), "b2": fo.zeros(MEMBERS)}


def main():
    rng = np.random.default_rng(0)
    x = fo.asarray(np.concatenate([rng.uniform(-2, -0.5, 40), rng.uniform(0.7, 2, 40)]))
    y = fo.sin(2 * x) + fo.asarray(rng.normal(0, 0.05, 80))
    weights = start(rng)
    step = fo.vmap(fo.value_and_grad(loss), (0, None, None))
    started = time.perf_counter()
    for number in range(STEPS):
        losses, gradients = step(weights, x, y)
        weights = fo.tree.map(lambda w, g: w - RATE * g, weights, gradients)
        if number % 200 == 0 or number == STEPS - 1:
            print(f"step {number:4}   losses from {float(losses.min()):.4f} to {float(losses.max()):.4f}")
    print(f"{MEMBERS} networks, {STEPS} steps: {time.perf_counter() - started:.1f} s\n")

    grid = fo.linspace(-2.5, 2.5, 21)
    values = fo.vmap(lambda w: fo.vmap(lambda x: network(w, x))(grid))(weights)
    spread = values.std(axis=0)
    print("     x     mean   disagreement (no data between -0.5 and 0.7)")
    for place, mean, width in zip(grid.tolist(), values.mean(axis=0).tolist(), spread.tolist()):
        print(f"  {place: .2f}   {mean: .2f}   {'#' * round(60 * width)}")

    one = fo.tree.map(lambda w: w[0], weights)
    _, pull = fo.vjp(lambda x: fo.vmap(network, (None, 0))(one, x), x[:5])
    jacobian = fo.vmap(lambda g: pull(g)[0])(fo.eye(5))
    apart = float(abs(jacobian - fo.jacfwd(lambda x: fo.vmap(network, (None, 0))(one, x))(x[:5])).max())
    print(f"\nthe Jacobian of five values by vmap(vjp) beside jacfwd: largest difference {apart:.0e}")
    seen, unseen = float(spread[(grid > 0.8) & (grid < 1.9)].mean()), float(spread[(grid > -0.4) & (grid < 0.6)].mean())
    return 0 if float(losses.max()) < 0.05 and unseen > seen and apart < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
