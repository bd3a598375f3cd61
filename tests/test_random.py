"""Random numbers: published values of the generator, the distributions, and that bits depend on the element alone."""

import hashlib
import inspect
import multiprocessing
import pickle
import sys
import threading

import numpy as np
import pytest

import fastops as fo
from fastops import _random

scipy_stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("counter, key, words", [
    ((0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2 ** 64 - 1, 2 ** 64 - 1), 2 ** 64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x85A308D3243F6A88, 0x0370734413198A2E), 0x299F31D0A4093822, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1))])
def test_published_values_of_philox(counter, key, words):
    """The known answers that came with the generator's publication (Random123, kat_vectors)."""
    assert tuple(_random.philox(*counter, key)) == words


def test_the_stream_is_fixed():
    """Programs that keep a seed keep their numbers: a change of the stream is a change that must be announced."""
    rng = fo.random.default_rng(12345)
    np.testing.assert_allclose(rng.random(3), [0.005138005513380839, 0.2888668377388378, 0.4920149229567402], rtol=1e-15)
    np.testing.assert_allclose(rng.standard_normal(3), [-0.6835313317240422, -0.12051651558723929, -0.7371535140723716], rtol=1e-15)
    assert rng.integers(0, 1000, 5).tolist() == [701, 664, 313, 990, 279]
    assert rng.poisson(4.0, 5).tolist() == [1, 2, 4, 5, 6]


def test_the_bits_are_the_same_everywhere():
    """Of uniform, normal and exponential numbers, whatever the processor, the compiler and its optimisations."""
    rng = fo.random.default_rng(12345)
    numbers = [rng.standard_normal(100001), rng.standard_exponential(1001), rng.random(1001)]
    assert hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in numbers)).hexdigest()[:16] == "a7f4c8f00853a0b6"


CONTINUOUS = {
    "random": ((), "uniform", ()), "uniform": ((2.0, 5.0), "uniform", (2.0, 3.0)), "standard_normal": ((), "norm", ()),
    "normal": ((1.0, 2.0), "norm", (1.0, 2.0)), "standard_exponential": ((), "expon", ()), "exponential": ((2.0,), "expon", (0, 2.0)),
    "standard_gamma": ((2.5,), "gamma", (2.5,)), "gamma": ((2.5, 2.0), "gamma", (2.5, 0, 2.0)), "beta": ((2.0, 3.0), "beta", (2.0, 3.0)),
    "chisquare": ((4.0,), "chi2", (4.0,)), "f": ((4.0, 7.0), "f", (4.0, 7.0)), "standard_cauchy": ((), "cauchy", ()),
    "laplace": ((1.0, 2.0), "laplace", (1.0, 2.0)), "gumbel": ((1.0, 2.0), "gumbel_r", (1.0, 2.0)), "logistic": ((1.0, 2.0), "logistic", (1.0, 2.0)),
    "lognormal": ((0.5, 0.7), "lognorm", (0.7, 0, np.exp(0.5))), "rayleigh": ((2.0,), "rayleigh", (0, 2.0)), "weibull": ((1.7,), "weibull_min", (1.7,)),
    "pareto": ((3.0,), "lomax", (3.0,)), "power": ((3.0,), "powerlaw", (3.0,)), "standard_t": ((5.0,), "t", (5.0,)),
    "wald": ((1.5, 2.0), "invgauss", (0.75, 0, 2.0)), "vonmises": ((0.0, 2.0), "vonmises", (2.0,)),
    "triangular": ((0.0, 1.0, 4.0), "triang", (0.25, 0, 4.0)), "noncentral_chisquare": ((3.0, 2.0), "ncx2", (3.0, 2.0)),
    "noncentral_f": ((3.0, 9.0, 2.0), "ncf", (3.0, 9.0, 2.0))}
DISCRETE = {
    "integers": ((2, 9), "randint", (2, 9)), "poisson": ((4.0,), "poisson", (4.0,)), "binomial": ((10, 0.3), "binom", (10, 0.3)),
    "negative_binomial": ((4.0, 0.4), "nbinom", (4.0, 0.4)), "geometric": ((0.3,), "geom", (0.3,)), "logseries": ((0.6,), "logser", (0.6,)),
    "zipf": ((3.0,), "zipf", (3.0,)), "hypergeometric": ((15, 10, 8), "hypergeom", (25, 15, 8))}
COUNT = 20000


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    """Kolmogorov and Smirnov's test against SciPy's distribution function."""
    parameters, distribution, shape = CONTINUOUS[name]
    values = np.asarray(getattr(fo.random.default_rng(11), name)(*parameters, size=COUNT))
    assert values.dtype == np.float64
    assert scipy_stats.kstest(values, getattr(scipy_stats, distribution)(*shape).cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    """Pearson's test over the values that are expected at least ten times."""
    parameters, distribution, shape = DISCRETE[name]
    values = np.asarray(getattr(fo.random.default_rng(5), name)(*parameters, size=COUNT))
    assert values.dtype == np.int64
    law = getattr(scipy_stats, distribution)(*shape)
    places = np.arange(values.min(), values.min() + 200)
    expected = law.pmf(places) * COUNT
    places, expected = places[expected > 10], expected[expected > 10]
    counted = np.array([(values == place).sum() for place in places])
    statistic = ((counted - expected) ** 2 / expected).sum() + (COUNT - counted.sum() - (COUNT - expected.sum())) ** 2 / max(COUNT - expected.sum(), 10)
    assert scipy_stats.chi2(len(places)).sf(statistic) > 1e-4


@pytest.mark.parametrize("distribution, parameters", [
    ("random", []), ("standard_normal", []), ("words", []), ("standard_exponential", []), ("standard_gamma", [0.7]), ("poisson", [30.0]),
    ("binomial", [100.0, 0.4]), ("integers", [0, 2 ** 40]), ("integers", [-5, 5])])
def test_a_draw_is_its_pieces(distribution, parameters):
    """Elements drawn at once, in pieces from any place, and one by one have the same bits."""
    whole = np.asarray(fo.random.draw(distribution, parameters, (101,), 3, 1000))
    for cut in (1, 2, 50, 99):
        pieces = [fo.random.draw(distribution, parameters, (cut,), 3, 1000), fo.random.draw(distribution, parameters, (101 - cut,), 3, 1000 + cut)]
        np.testing.assert_array_equal(whole, np.concatenate([np.asarray(piece) for piece in pieces]))
    single = [fo.random.draw(distribution, parameters, (), 3, 1000 + place).item() for place in range(101)]
    np.testing.assert_array_equal(whole, single)
    assert not np.array_equal(whole, np.asarray(fo.random.draw(distribution, parameters, (101,), 4, 1000)))


def test_single_precision_has_the_same_leading_bits():
    double = np.asarray(fo.random.default_rng(1).random(1000))
    single = np.asarray(fo.random.default_rng(1).random(1000, dtype=fo.float32))
    assert single.dtype == np.float32 and np.all(single < 1) and np.all(np.abs(double - single) < 2.0 ** -24)
    for name in ("standard_normal", "standard_exponential"):
        single = getattr(fo.random.default_rng(1), name)(1000, dtype="f4")
        np.testing.assert_allclose(single, np.asarray(getattr(fo.random.default_rng(1), name)(1000)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("low, high, dtype", [
    (0, 2, "?"), (-128, 128, "i1"), (0, 256, "u1"), (-2 ** 31, 2 ** 31, "i4"), (-2 ** 63, 2 ** 63, "i8"), (0, 2 ** 64, "u8"), (2 ** 63, 2 ** 64, "u8"), (7, 8, "i8")])
def test_integers_over_whole_ranges(low, high, dtype):
    values = fo.random.default_rng(2).integers(low, high, size=3000, dtype=dtype)
    assert values.dtype == np.dtype(dtype)
    found = [int(value) for value in values.tolist()]
    assert low <= min(found) and max(found) < high
    if high - low > 2:
        middle = (low + high) / 2
        assert 1300 < sum(value < middle for value in found) < 1700
    inclusive = fo.random.default_rng(2).integers(low, high - 1, size=3000, dtype=dtype, endpoint=True)
    assert inclusive.tolist() == values.tolist()


def test_broadcast_parameters():
    rng = fo.random.default_rng(0)
    assert rng.normal([0.0, 100.0], [[1.0], [2.0]]).shape == (2, 2)
    assert rng.poisson([1.0, 1e6], size=(5, 2)).shape == (5, 2)
    assert rng.integers([0, 10], [5, 20], size=(100, 2)).min(axis=0).tolist() == [0, 10]
    assert rng.normal().shape == () and rng.integers(5).shape == ()


METHODS = [name for name in dir(np.random.Generator) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_numpys_generator(name):
    """All are here, with NumPy's names of parameters in NumPy's order."""
    ours = getattr(fo.random.Generator, name, None) or getattr(fo.random.default_rng(0), name)
    if name == "bit_generator":
        return
    theirs = getattr(np.random.Generator, name)
    text = " ".join(theirs.__doc__.strip().split("\n\n")[0].split())
    wanted = [part.split("=")[0].strip() for part in text[text.index("(") + 1:text.rindex(")")].split(",") if part.strip() not in ("*", "/", "")]
    named = [parameter for parameter in inspect.signature(ours).parameters if parameter not in ("self", "device")]
    assert named == [word for word in wanted if word != "'"], text


@pytest.mark.parametrize("call, error", [
    (lambda r: r.normal(0, -1), ValueError), (lambda r: r.exponential(-1.0), ValueError), (lambda r: r.beta(0.0, 1.0), ValueError),
    (lambda r: r.poisson(-1.0), ValueError), (lambda r: r.poisson(np.nan), ValueError), (lambda r: r.binomial(5, 1.5), ValueError),
    (lambda r: r.geometric(0.0), ValueError), (lambda r: r.zipf(1.0), ValueError), (lambda r: r.logseries(1.0), ValueError),
    (lambda r: r.hypergeometric(3, 3, 7), ValueError), (lambda r: r.triangular(0, 2, 1), ValueError), (lambda r: r.integers(5, 5), ValueError),
    (lambda r: r.integers(0, 300, dtype="u1"), ValueError), (lambda r: r.integers(0, 3, dtype="f8"), TypeError), (lambda r: r.random(dtype="i4"), TypeError),
    (lambda r: r.normal([1.0, 2.0], size=3), ValueError), (lambda r: r.poisson([1.0, 2.0], size=3), ValueError), (lambda r: r.random((2, -1)), ValueError),
    (lambda r: r.choice(0), ValueError), (lambda r: r.choice(3, 4, replace=False), ValueError), (lambda r: r.choice(3, p=[0.5, 0.5]), ValueError),
    (lambda r: r.choice(2, p=[0.5, 0.6]), ValueError), (lambda r: r.dirichlet([0.0, 1.0]), ValueError), (lambda r: r.multinomial(3, [0.9, 0.9, 0.1]), ValueError),
    (lambda r: r.multivariate_normal([0.0], np.eye(2)), ValueError), (lambda r: r.random(2, out=fo.empty(3)), ValueError),
    (lambda r: r.random(out=np.empty(3)), TypeError), (lambda r: fo.random.default_rng(-1), ValueError), (lambda r: fo.random.default_rng("a"), TypeError),
    (lambda r: fo.random.draw("nothing", [], (1,), 0, 0), ValueError), (lambda r: fo.random.draw("poisson", [], (1,), 0, 0), TypeError),
    (lambda r: r.uniform(-np.inf, 1.0), OverflowError)])
def test_bad_parameters(call, error):
    with pytest.raises(error):
        call(fo.random.default_rng(0))


def test_order_and_choice():
    rng = fo.random.default_rng(3)
    assert sorted(rng.permutation(50).tolist()) == list(range(50))
    x = fo.reshape(fo.arange(12), (4, 3))
    assert sorted(rng.permutation(x).tolist()) == x.tolist()
    mixed = rng.permuted(x, axis=1)
    assert [sorted(row) for row in mixed.tolist()] == x.tolist()
    y = fo.arange(20)
    rng.shuffle(y)
    assert sorted(y.tolist()) == list(range(20)) and y.tolist() != list(range(20))
    items = list("abcdef")
    rng.shuffle(items)
    assert sorted(items) == list("abcdef")
    assert len(set(rng.choice(30, 30, replace=False).tolist())) == 30
    picks = np.asarray(rng.choice(3, 30000, p=[0.2, 0.3, 0.5]))
    np.testing.assert_allclose(np.bincount(picks) / 30000, [0.2, 0.3, 0.5], atol=0.02)
    firsts = np.array([rng.choice(3, 2, replace=False, p=[0.1, 0.1, 0.8]).tolist()[0] for _ in range(2000)])
    assert 0.75 < (firsts == 2).mean() < 0.85
    assert rng.choice(fo.asarray([5.0, 6.0]), (2, 2)).shape == (2, 2)
    orders = np.array([rng.permutation(3).tolist() for _ in range(6000)])
    counted = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counted) == 6 and scipy_stats.chisquare(counted).pvalue > 1e-4


def test_several_outcomes():
    rng = fo.random.default_rng(4)
    counts = np.asarray(rng.multinomial(100, [0.2, 0.3, 0.5], size=2000))
    assert counts.shape == (2000, 3) and np.all(counts.sum(1) == 100)
    np.testing.assert_allclose(counts.mean(0), [20, 30, 50], atol=0.6)
    hands = np.asarray(rng.multivariate_hypergeometric([10, 20, 30], 12, size=2000))
    assert np.all(hands.sum(1) == 12) and np.all(hands <= [10, 20, 30])
    np.testing.assert_allclose(hands.mean(0), [2, 4, 6], atol=0.15)
    rows = np.asarray(rng.dirichlet([2.0, 3.0, 5.0], size=5000))
    np.testing.assert_allclose(rows.sum(1), 1.0)
    np.testing.assert_allclose(rows.mean(0), [0.2, 0.3, 0.5], atol=0.01)
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    for method in ("svd", "eigh", "cholesky"):
        points = np.asarray(rng.multivariate_normal([1.0, -1.0], cov, size=20000, method=method))
        np.testing.assert_allclose(points.mean(0), [1.0, -1.0], atol=0.05)
        np.testing.assert_allclose(np.cov(points.T), cov, atol=0.07)


def test_out_spawn_state_pickle_and_bytes():
    rng = fo.random.default_rng([1, 2, 3])
    out = fo.empty(5)
    assert rng.random(out=out) is out and bool((out > 0).all())
    first, second = rng.spawn(2)
    streams = [np.asarray(one.random(1000)) for one in (rng, first, second)]
    assert all(abs(np.corrcoef(a, b)[0, 1]) < 0.12 for a, b in ((streams[0], streams[1]), (streams[1], streams[2])))
    state = rng.bit_generator.state
    kept = rng.random(4).tolist()
    rng.bit_generator.state = state
    assert rng.random(4).tolist() == kept
    copy = pickle.loads(pickle.dumps(rng))
    assert copy.random(4).tolist() == rng.random(4).tolist()
    assert len(rng.bytes(13)) == 13 and rng.bytes(8) != rng.bytes(8)
    assert fo.random.default_rng(rng) is rng
    with pytest.raises(ValueError, match="state"):
        rng.bit_generator.state = {"bit_generator": "PCG64"}


def test_functions_of_the_module():
    fo.random.seed(9)
    first = fo.random.normal(size=3).tolist()
    fo.random.seed(9)
    assert fo.random.normal(size=3).tolist() == first
    assert fo.random.rand(2, 3).shape == fo.random.randn(2, 3).shape == (2, 3)
    assert fo.random.randint(3, size=4).shape == (4,)
    assert "size" in inspect.signature(fo.random.normal).parameters and "self" not in inspect.signature(fo.random.normal).parameters


def test_threads_draw_different_elements():
    rng = fo.random.default_rng(6)
    results = []

    def work():
        for _ in range(200):
            results.append(rng.random(10).tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    drawn = [value for result in results for value in result]
    assert sorted(drawn) == sorted(np.asarray(fo.random.default_rng(6).random(len(drawn))).tolist())


def _child(queue):
    queue.put(fo.random.random(3).tolist())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_has_another_stream():
    context = multiprocessing.get_context("fork")
    fo.random.seed(1)
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
    [child.start() for child in children]
    found = [queue.get(timeout=30) for _ in children]
    [child.join() for child in children]
    assert found[0] != found[1] != fo.random.random(3).tolist()


def test_shapes_without_data():
    rng = fo.random.default_rng(0)
    for name in ("random", "standard_normal", "standard_exponential", "standard_cauchy"):
        assert getattr(rng, name)((2, 3), device="meta").shape == (2, 3)
    assert rng.poisson(3.0, (4,), device="meta").dtype == np.int64
    assert rng.normal(1.0, 2.0, (4,), device="meta").device == "meta"
