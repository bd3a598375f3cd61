"""Newton's method for many equations at once: Kepler's equation for 2,000 orbits, each with as many steps as it needs.

``solve`` is written for one orbit, with a ``while`` loop that ends when that orbit is done; ``vmap`` runs it for all. Its derivative is
``grad``'s. Then systems of two equations are solved from many starting points, with Jacobians by ``jacfwd``.

Run: ``python examples/newton.py``.
"""

import sys
import time

import numpy as np

import fastops as fo

TOLERANCE = 1e-12


def solve(mean_anomaly, eccentricity):
    """The eccentric anomaly E with E - e sin(E) = M, and the number of steps; all angles in radians."""
    def f(angle):
        return angle - eccentricity * fo.sin(angle) - mean_anomaly

    def step(state):
        angle, count = state
        return angle - f(angle) / fo.grad(f)(angle), count + 1
    return fo.func.while_loop(lambda state: (abs(f(state[0])) > TOLERANCE) & (state[1] < 50), step, (mean_anomaly + eccentricity, 0))


def crossing(point):
    """Where a circle of radius 2 meets the hyperbola x y = 1: both are zero."""
    x, y = point
    return fo.stack([x ** 2 + y ** 2 - 4, x * y - 1])


def newton(start):
    point = start
    for _ in range(30):
        point = point - fo.linalg.solve(fo.jacfwd(crossing)(point), crossing(point))
    return point


def main():
    rng = np.random.default_rng(0)
    anomalies, eccentricities = fo.asarray(rng.uniform(0.1, 3.0, 2000)), fo.asarray(rng.uniform(0.0, 0.95, 2000))
    started = time.perf_counter()
    angles, steps = fo.vmap(solve)(anomalies, eccentricities)
    together = time.perf_counter() - started
    started = time.perf_counter()
    alone = [solve(anomalies[i], eccentricities[i])[0] for i in range(100)]
    one_by_one = (time.perf_counter() - started) * 20
    worst = float(abs(angles - eccentricities * fo.sin(angles) - anomalies).max())
    print(f"Kepler's equation for 2000 orbits: {together * 1e3:.1f} ms together, {one_by_one * 1e3:.0f} ms one by one; largest residual {worst:.0e}")
    counts = np.bincount(steps.numpy())
    print("\n".join(f"    {count} steps   {number:5} orbits  {'#' * (number // 20)}" for count, number in enumerate(counts) if number))
    same = bool(np.array_equal(np.array([float(a) for a in alone]), angles[:100].numpy()))
    slopes = fo.vmap(fo.grad(lambda m, e: solve(m, e)[0]))(anomalies, eccentricities)
    slope_error = float(abs(slopes - 1 / (1 - eccentricities * fo.cos(angles))).max())
    print(f"\nd(angle)/d(anomaly) by grad through the loop beside the formula: largest difference {slope_error:.0e}")

    starts = fo.asarray(rng.uniform(-3, 3, (500, 2)))
    points = fo.vmap(newton)(starts)
    found = sorted({(round(float(x), 6), round(float(y), 6)) for x, y in points})
    print(f"\n500 starts of Newton's method on two equations found {len(found)} solutions:")
    print("\n".join(f"    ({x: .6f}, {y: .6f})" for x, y in found))
    return 0 if worst < 1e-11 and same and slope_error < 1e-8 and len(found) == 4 else 1


if __name__ == "__main__":
    sys.exit(main())
