"""A program with types: fitting a line by gradient steps, a spectrum, a simulation. ``mypy --strict`` and ``pyright`` accept it."""

import numpy as np

import fastops as fo
from fastops import Tensor


def standardize(x: Tensor, axis: int = 0) -> Tensor:
    """Mean 0 and deviation 1 along an axis."""
    return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)


def fit(x: Tensor, y: Tensor, steps: int = 200, rate: float = 0.1) -> tuple[Tensor, float]:
    """Least squares by gradient steps: the weights and the mean squared error."""
    design = fo.concat([x, fo.ones((x.shape[0], 1))], axis=1)
    weights = fo.zeros(design.shape[1])
    for _ in range(steps):
        error = design @ weights - y
        weights -= rate * (design.T @ error) / x.shape[0]
    return weights, float(fo.mean((design @ weights - y) ** 2))


def spectrum(signal: Tensor, rate: float) -> dict[str, Tensor]:
    """Frequencies and powers of a signal sampled at a rate in Hz."""
    return {"frequency": fo.fft.rfftfreq(signal.size, d=1 / rate), "power": fo.abs(fo.fft.rfft(signal)) ** 2}


def walk(rng: fo.random.Generator, paths: int, steps: int) -> Tensor:
    """Random walks, a row each."""
    return fo.cumsum(rng.normal(size=(paths, steps)), axis=1)


def main() -> None:
    rng = fo.random.default_rng(0)
    x = standardize(rng.uniform(-1.0, 1.0, size=(100, 2)))
    y = x @ fo.asarray([2.0, -1.0]) + 0.5
    weights, error = fit(x, y)
    exact = fo.linalg.solve(x.T @ x, x.T @ (y - fo.mean(y)))
    print("weights", weights.round(3).tolist(), "exact", exact.round(3).tolist(), "error", f"{error:.1e}")

    times = fo.arange(0, 1, 1 / 64)
    found = spectrum(fo.sin(2 * fo.pi * 8 * times), 64.0)
    print("strongest frequency", found["frequency"][fo.argmax(found["power"])].item())

    ends = walk(rng, 1000, 100)[:, -1]
    inside = fo.where(fo.abs(ends) < 10.0, 1.0, 0.0)
    print("inside", bool((inside.mean() > 0.6) & (inside.mean() < 0.75)), "median", bool(fo.abs(fo.median(ends)) < 2.0))

    values = fo.sort(ends, descending=True)
    top: Tensor = values[:3]
    names: list[str] = [str(dtype) for dtype in (top.dtype, fo.float32, fo.result_type(top, fo.int8))]
    array: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(top)
    print(names, array.shape, top.shape, top.ndim, fo.isdtype(top.dtype, "real floating"), isinstance(fo.sin(0.5), Tensor))


if __name__ == "__main__":
    main()
