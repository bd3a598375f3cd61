"""Heat in a rod of several materials, in plain NumPy: knows nothing of derivatives.

The temperature u(x, t) obeys du/dt = d/dx (k du/dx) with a conductivity k that differs from place to place, and ends
held at 0. Implicit Euler: each step solves a tridiagonal system.
"""

import numpy as np

CELLS = 30
STEPS = 40
STEP = 0.004            # seconds
SENSORS = [4, 9, 15, 20, 26]


def conductivities(layers):
    """Of the cells' faces (CELLS + 1), from the logarithms of the conductivities of the layers; in cm^2/s."""
    places = np.linspace(0, 1, CELLS + 1)
    centres = (np.arange(len(layers)) + 0.5) / len(layers)
    weights = np.exp(-((places[:, None] - centres) * 3 * len(layers)) ** 2 / 8)
    return np.exp(weights @ layers / np.sum(weights, axis=1))


def simulate(layers, initial):
    """Temperatures at the sensors after each step, shape (STEPS, sensors), from those of the cells at the start."""
    faces = conductivities(layers) * STEP * CELLS ** 2 / 20
    system = np.eye(CELLS) + np.diag(faces[:-1] + faces[1:]) - np.diag(faces[1:-1], 1) - np.diag(faces[1:-1], -1)
    temperature, seen = initial, []
    for _ in range(STEPS):
        temperature = np.linalg.solve(system, temperature)
        seen.append(temperature[SENSORS])
    return np.stack(seen)


def mismatch(layers, initial, measured):
    """Half the mean squared difference between what is simulated and what was measured."""
    difference = simulate(layers, initial) - measured
    return 0.5 * np.mean(difference ** 2)
