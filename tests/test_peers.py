"""Derivatives beside PyTorch's and JAX's, where they are installed."""

import numpy as np
import pytest

import fastops as fo

# What differentiates at ordinary points: name here, name there (PyTorch, JAX) where it is another, and the interval of the argument.
UNARY = [("abs", None, None, (-2, 2)), ("acos", None, "arccos", (-.9, .9)), ("acosh", None, "arccosh", (1.1, 3)), ("asin", None, "arcsin", (-.9, .9)),
         ("asinh", None, "arcsinh", (-2, 2)), ("atan", None, "arctan", (-2, 2)), ("atanh", None, "arctanh", (-.9, .9)), ("cbrt", False, None, (.5, 2)),
         ("cos", None, None, (-2, 2)), ("cosh", None, None, (-2, 2)), ("exp", None, None, (-2, 2)), ("exp2", None, None, (-2, 2)),
         ("expm1", None, None, (-2, 2)), ("log", None, None, (.5, 3)), ("log10", None, None, (.5, 3)), ("log1p", None, None, (-.5, 3)),
         ("log2", None, None, (.5, 3)), ("negative", None, None, (-2, 2)), ("reciprocal", None, None, (.5, 2)), ("sin", None, None, (-2, 2)),
         ("sinc", None, None, (-2, 2)), ("sinh", None, None, (-2, 2)), ("sqrt", None, None, (.5, 2)), ("square", None, None, (-2, 2)),
         ("tan", None, None, (-1, 1)), ("tanh", None, None, (-2, 2)), ("deg2rad", None, None, (-90, 90)), ("floor", None, None, (.1, .9)),
         ("sign", None, None, (.1, .9))]
BINARY = ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "hypot", "atan2", "logaddexp", "logaddexp2", "fmod"]


def at(name, low, high, shape=(3, 4), seed=0):
    return np.random.default_rng([seed, len(name)]).uniform(low, high, shape)


class Torch:
    """Gradients, tangents and Hessian products in PyTorch."""

    def __init__(self):
        self.xp = pytest.importorskip("torch")

    def name(self, torchs, jaxs, ours):
        return ours if torchs is None else torchs

    def array(self, value):
        return self.xp.asarray(value)

    def vjp(self, f, arguments, cotangent):
        return [np.asarray(one.resolve_conj()) for one in self.xp.func.vjp(f, *arguments)[1](self.array(cotangent))]

    def jvp(self, f, arguments, tangents):
        return np.asarray(self.xp.func.jvp(f, tuple(arguments), tuple(map(self.array, tangents)))[1].resolve_conj())

    def hvp(self, f, x, v):
        gradient = lambda x: self.xp.func.grad(lambda x: f(x).sum())(x)
        return np.asarray(self.xp.func.jvp(gradient, (x,), (self.array(v),))[1])


class Jax:
    """The same in JAX, in double precision."""

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.xp = self.jax.numpy

    def name(self, torchs, jaxs, ours):
        return ours if jaxs is None else jaxs

    def array(self, value):
        return self.xp.asarray(value)

    def vjp(self, f, arguments, cotangent):
        return [np.asarray(one) for one in self.jax.vjp(f, *arguments)[1](self.array(cotangent))]

    def jvp(self, f, arguments, tangents):
        return np.asarray(self.jax.jvp(f, tuple(arguments), tuple(map(self.array, tangents)))[1])

    def hvp(self, f, x, v):
        gradient = self.jax.grad(lambda x: f(x).sum())
        return np.asarray(self.jax.jvp(gradient, (x,), (self.array(v),))[1])


class Ours:
    xp = fo
    array = staticmethod(fo.asarray)

    def vjp(self, f, arguments, cotangent):
        return [one.numpy() for one in fo.vjp(f, *arguments)[1](fo.asarray(cotangent))]

    def jvp(self, f, arguments, tangents):
        return fo.jvp(f, tuple(arguments), tuple(map(fo.asarray, tangents)))[1].numpy()

    def hvp(self, f, x, v):
        return fo.func.hvp(lambda x: f(x).sum(), (x,), (fo.asarray(v),)).numpy()


@pytest.fixture(params=[Torch, Jax], ids=["torch", "jax"])
def peer(request):
    return request.param()


def agree(peer, ours, theirs, arguments, *, conjugate=False, second=False):
    """Cotangents, tangents and, for one argument, second derivatives are the same; JAX's cotangents are conjugate to ours."""
    mine = Ours()
    given, foreign = [fo.asarray(a) for a in arguments], [peer.array(a) for a in arguments]
    result = ours(*given).numpy()
    np.testing.assert_allclose(np.asarray(theirs(*foreign)), result, rtol=1e-10, atol=1e-12)
    rng = np.random.default_rng(7)

    def like(array):
        more = 1j * rng.standard_normal(array.shape) if array.dtype.kind == "c" else 0
        return rng.standard_normal(array.shape) + more
    cotangent, tangents = like(result), [like(a) for a in arguments]
    turned = isinstance(peer, Jax) and conjugate
    for one, other in zip(mine.vjp(ours, given, cotangent), peer.vjp(theirs, foreign, cotangent.conj() if turned else cotangent)):
        np.testing.assert_allclose(one, other.conj() if turned else other, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(mine.jvp(ours, given, tangents), peer.jvp(theirs, foreign, tangents), rtol=1e-8, atol=1e-10)
    if second:
        np.testing.assert_allclose(mine.hvp(ours, given[0], tangents[0]), peer.hvp(theirs, foreign[0], tangents[0]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", UNARY, ids=[case[0] for case in UNARY])
def test_functions_of_one_argument(peer, case):
    ours, torchs, jaxs, interval = case
    name = peer.name(torchs, jaxs, ours)
    if name is False:
        pytest.skip(f"the peer has no {ours}")
    agree(peer, getattr(fo, ours), getattr(peer.xp, name), [at(ours, *interval)], second=True)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 2)), ((0, 3), (1, 3))])
def test_functions_of_two_arguments(peer, name, shapes):
    other = name if name != "atan2" or isinstance(peer, Torch) else "arctan2"
    first, second = (at(name, 0.5, 2.0, shape, seed) for seed, shape in enumerate(shapes))
    agree(peer, getattr(fo, name), getattr(peer.xp, other), [first, second])


# Programs of array functions, written once for an array namespace.
def norm(xp, x, **options):
    return xp.linalg.norm(x, **options)


PROGRAMS = {
    "sum": lambda xp, x: xp.sum(x, 1) if xp is not fo else fo.sum(x, axis=1),
    "mean": lambda xp, x: x.mean(0) * x.mean(),
    "prod": lambda xp, x: xp.prod(x, 1),
    "cumsum": lambda xp, x: xp.cumsum(x, 1) ** 2,
    "cumprod": lambda xp, x: xp.cumprod(x, 1),
    "matmul": lambda xp, x: x @ x.T @ x,
    "outer": lambda xp, x: xp.outer(x[0], x[1]),
    "tensordot": lambda xp, x: xp.tensordot(x, x, 1 if xp is not fo else 1) if x.shape[0] == x.shape[1] else x @ x.T,
    "einsum": lambda xp, x: xp.einsum("ij,kj->ik", x, x),
    "diag": lambda xp, x: xp.diag(x @ x.T),
    "trace": lambda xp, x: xp.trace(x @ x.T),
    "transpose": lambda xp, x: (x.T * x.T[0]).reshape((-1,)),
    "index": lambda xp, x: x[1:, ::2] * x[0, 1] + x[-1, 3],
    "gather": lambda xp, x: x[:, [0, 2, 2]] ** 2,
    "where": lambda xp, x: xp.where(x > 1, x * x, xp.sin(x)),
    "clip": lambda xp, x: xp.clip(x, 0.8, 1.5) * x,
    "concatenate": lambda xp, x: xp.concatenate([x, x * x, xp.cos(x)]),
    "stack": lambda xp, x: xp.stack([x, xp.exp(x)]),
    "flip": lambda xp, x: xp.flip(x, (0, 1)) * x,
    "roll": lambda xp, x: xp.roll(x, 1) * x,
    "tile": lambda xp, x: xp.tile(x, (2, 1)) ** 3,
    "tril": lambda xp, x: xp.tril(x) * x,
    "max": lambda xp, x: x.max() * x,
    "norm": lambda xp, x: norm(xp, x) * x,
    "fro": lambda xp, x: norm(xp, x, ord="fro") ** 3,
    "nuclear": lambda xp, x: norm(xp, x, ord="nuc"),
    "spectral": lambda xp, x: norm(xp, x, ord=2),
    "inv": lambda xp, x: xp.linalg.inv(x @ x.T + xp.eye(3)) if xp.__name__ != "torch" else xp.linalg.inv(x @ x.T + xp.eye(3, dtype=x.dtype)),
    "solve": lambda xp, x: xp.linalg.solve(x[:, :3] + 3 * xp.diag(x[0, :3] ** 0), x),
    "det": lambda xp, x: xp.linalg.det(x[:, :3] + 2 * xp.diag(x[0, :3] ** 0)),
    "slogdet": lambda xp, x: xp.linalg.slogdet(x @ x.T)[1],
    "cholesky": lambda xp, x: xp.linalg.cholesky(x @ x.T + 2 * xp.diag(x[0, :3] ** 0)),
    "qr": lambda xp, x: xp.linalg.qr(x.T)[1],
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x @ x.T),
    "eigh": lambda xp, x: xp.linalg.eigh(x @ x.T)[1] ** 2,
    "svdvals": lambda xp, x: xp.linalg.svd(x, full_matrices=False)[1],
    "pinv": lambda xp, x: xp.linalg.pinv(x),
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(x @ x.T, 3),
    "kron": lambda xp, x: xp.kron(x[:2, :2], x[:2, 2:]),
    "sort": lambda xp, x: (xp.sort(x, 1)[0] if xp.__name__ == "torch" else xp.sort(x)) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(peer, name):
    program = PROGRAMS[name]
    agree(peer, lambda x: program(fo, x), lambda x: program(peer.xp, x), [at(name, 0.5, 2.0)], second=name not in ("qr", "eigh"))


COMPLEX = {
    "product": lambda xp, z: z * z * z,
    "absolute": lambda xp, z: abs(z),
    "conjugate": lambda xp, z: xp.conj(z) * z + z,
    "real": lambda xp, z: z.real * z.imag,
    "exp": lambda xp, z: xp.exp(z) * xp.sin(z),
    "power": lambda xp, z: z ** 2.5,
    "division": lambda xp, z: 1 / (z + 3),
    "sqrt": lambda xp, z: xp.sqrt(z) + xp.log(z),
    "matmul": lambda xp, z: z @ z.T,
    "solve": lambda xp, z: xp.linalg.solve(z[:, :3] + 0.0, z),
    "fft": lambda xp, z: xp.fft.fft(z) * z,
    "ifft2": lambda xp, z: xp.fft.ifft2(z) ** 2,
    "sum": lambda xp, z: z.sum() * z,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_programs(peer, name):
    program = COMPLEX[name]
    z = at(name, 0.5, 1.5) + 1j * at(name, 0.2, 1.0, seed=1)
    agree(peer, lambda z: program(fo, z), lambda z: program(peer.xp, z), [z], conjugate=True)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_of_real_numbers(peer, name):
    if name == "irfft":
        ours, theirs = (lambda x, xp=xp: xp.fft.irfft(x * (1 + 0.5j), n=6) for xp in (fo, peer.xp))
    elif name == "hfft":
        ours, theirs = (lambda x, xp=xp: xp.fft.hfft(x * (1 + 0.5j), n=6) for xp in (fo, peer.xp))
    else:
        ours, theirs = (lambda x, xp=xp: abs(getattr(xp.fft, name)(x)) ** 2 for xp in (fo, peer.xp))
    agree(peer, ours, theirs, [at(name, 0.5, 2.0)], second=True)


SPECIAL = [("erf", (-2, 2)), ("erfc", (-2, 2)), ("gammaln", (.5, 3)), ("digamma", (.5, 3)), ("i0", (-2, 2)), ("i0e", (.2, 2)), ("i1", (.2, 2)),
           ("i1e", (.2, 2)), ("expit", (-2, 2)), ("logit", (.1, .9)), ("ndtr", (-2, 2)), ("ndtri", (.1, .9)), ("log_ndtr", (-2, 2)), ("entr", (.2, 2))]


@pytest.mark.parametrize("name, interval", SPECIAL)
def test_special_functions(peer, name, interval):
    module = peer.xp.special if isinstance(peer, Torch) else pytest.importorskip("jax.scipy.special")
    agree(peer, getattr(fo.special, name), getattr(module, name), [at(name, *interval)], second=True)
