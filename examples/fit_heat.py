"""Differentiates a program that was written in plain NumPy, ``heat.py``, and finds the materials of a rod with it.

``heat.py`` imports NumPy alone. Called with tensors, its NumPy functions go through fastops, so it has gradients,
Jacobians and Hessian products; each is checked against finite differences of the unchanged program on plain arrays.
Then five conductivities are recovered from noisy temperatures by Gauss-Newton steps, whose Jacobian is ``jacfwd``'s.

Run: ``python examples/fit_heat.py``.
"""

import sys
import time

import numpy as np

import fastops as fo
import heat

TRUE = np.log([0.3, 2.0, 0.6, 4.0, 1.0])        # of five layers, cm^2/s
NOISE = 1e-3


def finite_difference(f, x, direction, size=1e-5):
    """The central difference of f along a direction."""
    return (f(x + size * direction) - f(x - size * direction)) / (2 * size)


def check(initial, measured):
    """Derivatives of the program beside finite differences: a table, and the largest relative difference."""
    rng = np.random.default_rng(2)
    at = np.zeros(5)

    def loss(layers):
        return heat.mismatch(layers, initial, measured)
    gradient = fo.grad(loss)(fo.asarray(at)).numpy()
    differences = [finite_difference(loss, at, axis) for axis in np.eye(5)]
    print("the gradient of the mismatch by the logarithm of each conductivity\n")
    print("    layer     fastops.grad     finite differences")
    for layer, (ours, theirs) in enumerate(zip(gradient, differences)):
        print(f"    {layer}      {ours: .9e}     {theirs: .9e}")
    direction = rng.standard_normal(5)
    pushed = fo.jvp(lambda layers: heat.simulate(layers, initial), (fo.asarray(at),), (fo.asarray(direction),))[1].numpy()
    curved = fo.func.hvp(loss, (fo.asarray(at),), (fo.asarray(direction),)).numpy()
    worst = 0.0
    for name, ours, theirs in (
            ("gradient", gradient, np.array(differences)),
            ("tangent of all sensors (jvp)", pushed, finite_difference(lambda layers: heat.simulate(layers, initial), at, direction)),
            ("Hessian times a vector (hvp)", curved,
             finite_difference(lambda layers: fo.grad(loss)(fo.asarray(layers)).numpy(), at, direction))):
        error = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
        worst = max(worst, error)
        print(f"\n    {name}: relative difference {error:.1e}", end="")
    print("\n")
    return worst


def fit(initial, measured):
    """Gauss-Newton from equal conductivities; returns the layers and the mismatch after each step."""
    layers, history = fo.zeros(5), []
    residual = lambda layers: (heat.simulate(layers, initial) - measured).reshape(-1)
    for _ in range(8):
        history.append(float(heat.mismatch(layers, initial, measured)))
        jacobian = fo.jacfwd(residual)(layers)
        layers = layers - np.linalg.solve(jacobian.T @ jacobian + 1e-9 * np.eye(5), jacobian.T @ residual(layers))
    return layers, history


def bar(value):
    return "#" * round(8 * value)


def main():
    initial = np.sin(np.pi * (np.arange(heat.CELLS) + 0.5) / heat.CELLS) + 0.3 * (np.arange(heat.CELLS) % 7 == 0)
    measured = heat.simulate(TRUE, initial)
    measured = measured + NOISE * np.random.default_rng(1).standard_normal(measured.shape)
    worst = check(initial, measured)
    started = time.perf_counter()
    layers, history = fit(initial, measured)
    print("Gauss-Newton:", "  ".join(f"{value:.1e}" for value in history), f"  ({time.perf_counter() - started:.2f} s)\n")
    found = np.exp(layers.numpy())
    for layer, (ours, true) in enumerate(zip(found, np.exp(TRUE))):
        print(f"    layer {layer}   found {ours:.3f}   true {true:.3f}   {bar(ours)}")
    recovered = np.max(np.abs(found / np.exp(TRUE) - 1))
    print(f"\nlargest relative error of a conductivity {recovered:.1%}, with noise of {NOISE:g} in temperatures up to 1.3")
    return 0 if worst < 1e-6 and recovered < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
