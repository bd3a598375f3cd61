"""How exact the loops are that are not NumPy's: the worst error in units of the last place, against long double."""

import numpy as np
import pytest

import fastops as fo

LONG = np.finfo(np.longdouble).nmant >= 63
ARGUMENTS = {
    "a turn": lambda rng: rng.uniform(-np.pi, np.pi, 100_000), "many turns": lambda rng: rng.uniform(-1000, 1000, 100_000),
    "up to the limit": lambda rng: rng.uniform(-1e5, 1e5, 100_000), "beyond it": lambda rng: rng.uniform(-1e300, 1e300, 1000),
    "next to quarter turns": lambda rng: np.nextafter(np.arange(1, 63_000) * np.pi / 2, rng.choice([-1e9, 1e9], 62_999)),
    "tiny": lambda rng: 10.0 ** rng.uniform(-300, 0, 10_000), "around 1e-8": lambda rng: 10.0 ** rng.uniform(-9, -7, 10_000)}


@pytest.mark.skipif(not LONG, reason="this platform's long double is no longer than double")
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_within_a_unit_of_the_last_place(name, arguments):
    x = ARGUMENTS[arguments](np.random.default_rng(0))
    exact = getattr(np, name)(x.astype(np.longdouble))
    found = np.asarray(getattr(fo, name)(fo.asarray(x)))
    error = np.abs(found - exact) / np.spacing(np.abs(exact.astype(float)))
    assert error.max() < 1.0


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_special_values_and_warnings(name):
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 1e5, np.nextafter(1e5, 2e5)]
    with np.errstate(all="ignore"):
        expected, found = getattr(np, name)(values), np.asarray(getattr(fo, name)(fo.asarray(values)))
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected)).all()
    with pytest.warns(RuntimeWarning, match="invalid value encountered in " + name):
        getattr(fo, name)(fo.asarray([1.0, np.inf]))
    with np.errstate(all="raise"):
        getattr(fo, name)(fo.asarray(np.linspace(-1e4, 1e4, 1001)))     # ordinary numbers raise no flag


@pytest.mark.parametrize("count", [1, 63, 64, 65, 130])
def test_sine_of_strided_and_overlapping_memory(count):
    base = np.linspace(-5, 5, 3 * count)
    np.testing.assert_allclose(np.asarray(fo.sin(fo.asarray(base)[::3])), np.sin(base[::3]), rtol=1e-15)
    np.testing.assert_allclose(np.asarray(fo.sin(fo.asarray(base)[::-1])), np.sin(base[::-1]), rtol=1e-15)
    tensor = fo.asarray(base.copy())
    fo.sin(tensor, out=tensor)
    np.testing.assert_allclose(np.asarray(tensor), np.sin(base), rtol=1e-15)
