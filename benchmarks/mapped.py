"""vmap: what small batches cost beside PyTorch and JAX, and large ones beside the same program written for all rows by hand.

``python benchmarks/mapped.py [--json FILE] [--markdown] [--only TEXT]``. Peers that are not installed are left out. One thread;
JAX without jit, as the others run without. In the second table the ratio is the hand-written program's time to vmap's: 1 is as fast.
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
except ImportError:
    jax = None

ROWS, SIZE = 2000, 200


def small_rows():
    """Batches of 8 rows of 4 elements."""
    data = np.random.default_rng(0).normal(size=(8, 4))
    peers = {"fastops": (fo, fo.vmap, fo.grad)}
    if torch:
        peers["torch"] = (torch, torch.func.vmap, torch.func.grad)
    if jax:
        peers["jax"] = (jax.numpy, jax.vmap, jax.grad)
    programs = [
        ("vmap(x + y)", {"torch": 25, "jax": 100}, lambda xp, vmap, grad: vmap(lambda x, y: x + y), 2),
        ("vmap(grad((x * x).sum()))", {"torch": 20}, lambda xp, vmap, grad: vmap(grad(lambda x: (x * x).sum())), 1),
        ("vmap(vmap(x + y))", {"torch": 25}, lambda xp, vmap, grad: vmap(vmap(lambda x, y: x + y)), 2),
        ("vmap(vmap(grad(x * x)))", {"torch": 20}, lambda xp, vmap, grad: vmap(vmap(grad(lambda x: x * x))), 1),
        ("vmap(x @ w), w shared", {"torch": 25}, lambda xp, vmap, grad: (lambda f: lambda x: f(x))(vmap(lambda x: x @ x)), 1),
    ]
    for call, targets, make, count in programs:
        row = {"call": call, "target": targets}
        for name, (xp, vmap, grad) in peers.items():
            arrays = [xp.asarray(data)] * count
            function = make(xp, vmap, grad)
            row[name] = lambda function=function, arrays=arrays: function(*arrays)
        yield row


def large_rows():
    """2000 rows of 200 elements: each function of one row, and the same for all rows."""
    rng = np.random.default_rng(0)
    x, y = fo.asarray(rng.normal(size=(ROWS, SIZE))), fo.asarray(rng.normal(size=(ROWS, SIZE)))
    v, w = fo.asarray(rng.normal(size=SIZE)), fo.asarray(rng.normal(size=(SIZE, SIZE)))
    m = fo.asarray(rng.normal(size=(ROWS, 20, 20)) + 20 * np.eye(20))
    b = fo.asarray(rng.normal(size=(ROWS, 20)))
    i = fo.asarray(rng.integers(0, SIZE, (ROWS, 30)))
    shared = fo.asarray(rng.integers(0, SIZE, 30))
    window = np.arange(SIZE - 4)[:, None] + np.arange(5)
    kernel = fo.asarray(rng.normal(size=5))

    def written(x):
        out = fo.zeros(SIZE)
        out[1:] = x[1:] - x[:-1]
        return out

    def written_all(x):
        out = fo.zeros((ROWS, SIZE))
        out[:, 1:] = x[:, 1:] - x[:, :-1]
        return out

    def masked(x):
        x = x * 1
        x[x > 0] = 0.0
        return x
    cases = [
        ("x + y", lambda x, y: x + y, lambda x, y: x + y, (x, y)), ("x + v, shared", lambda x: x + v, lambda x: x + v, (x,)),
        ("x < 0.5", lambda x: x < 0.5, lambda x: x < 0.5, (x,)), ("exp", fo.exp, fo.exp, (x,)), ("copy", fo.copy, fo.copy, (x,)),
        ("astype", lambda x: x.astype("f4"), lambda x: x.astype("f4"), (x,)), ("where", lambda x, y: fo.where(x > 0, x, y), lambda x, y: fo.where(x > 0, x, y), (x, y)),
        ("clip", lambda x: fo.clip(x, -1, 1), lambda x: fo.clip(x, -1, 1), (x,)), ("maximum", fo.maximum, fo.maximum, (x, y)),
        ("sum", fo.sum, lambda x: fo.sum(x, axis=1), (x,)), ("mean", fo.mean, lambda x: fo.mean(x, axis=1), (x,)), ("std", fo.std, lambda x: fo.std(x, axis=1), (x,)),
        ("max", fo.max, lambda x: fo.max(x, axis=1), (x,)), ("argmax", fo.argmax, lambda x: fo.argmax(x, axis=1), (x,)),
        ("prod", fo.prod, lambda x: fo.prod(x, axis=1), (x,)), ("any", lambda x: fo.any(x > 3), lambda x: fo.any(x > 3, axis=1), (x,)),
        ("cumsum", fo.cumsum, lambda x: fo.cumsum(x, axis=1), (x,)), ("sort", fo.sort, lambda x: fo.sort(x, axis=1), (x,)),
        ("argsort", fo.argsort, lambda x: fo.argsort(x, axis=1), (x,)), ("median", fo.median, lambda x: fo.median(x, axis=1), (x,)),
        ("reshape", lambda x: x.reshape(10, 20) + 1, lambda x: x.reshape(ROWS, 10, 20) + 1, (x,)), ("flip", lambda x: fo.flip(x) + 1, lambda x: fo.flip(x, axis=1) + 1, (x,)),
        ("roll", lambda x: fo.roll(x, 3), lambda x: fo.roll(x, 3, axis=1), (x,)), ("diff", fo.diff, lambda x: fo.diff(x, axis=1), (x,)),
        ("concat", lambda x, y: fo.concat([x, y]), lambda x, y: fo.concat([x, y], axis=1), (x, y)), ("stack", lambda x, y: fo.stack([x, y]), lambda x, y: fo.stack([x, y], axis=1), (x, y)),
        ("slice", lambda x: x[10:190:2] + 0, lambda x: x[:, 10:190:2] + 0, (x,)), ("gather, shared", lambda x: x[shared], lambda x: x[:, shared], (x,)),
        ("gather, mapped", lambda x, i: x[i], lambda x, i: fo.take_along_axis(x, i, 1), (x, i)), ("setitem", written, written_all, (x,)),
        ("mask, setitem", masked, lambda x: masked(x), (x,)), ("x @ w, shared", lambda x: x @ w, lambda x: x @ w, (x,)), ("w @ x", lambda x: w @ x, lambda x: x @ w.T, (x,)),
        ("x @ y", lambda x, y: x @ y, lambda x, y: fo.vecdot(x, y), (x, y)), ("m @ m", lambda m: m @ m, lambda m: m @ m, (m,)),
        ("m @ b", lambda m, b: m @ b, lambda m, b: (m @ b[:, :, None])[:, :, 0], (m, b)), ("outer", lambda x: fo.outer(x[:20], v), lambda x: x[:, :20, None] * v, (x,)),
        ("solve", fo.linalg.solve, lambda m, b: fo.linalg.solve(m, b[:, :, None])[:, :, 0], (m, b)), ("inv", fo.linalg.inv, fo.linalg.inv, (m,)),
        ("det", fo.linalg.det, fo.linalg.det, (m,)), ("fft", fo.fft.fft, fo.fft.fft, (x,)), ("einsum", lambda x, y: fo.einsum("i,i->", x, y),
         lambda x, y: fo.einsum("bi,bi->b", x, y), (x, y)), ("norm", fo.linalg.norm, lambda x: fo.linalg.norm(x, axis=1), (x,)),
        ("convolution by indices", lambda x: x[window] @ kernel, lambda x: x[:, window] @ kernel, (x,)), ("softmax", lambda x: fo.special.softmax(x, 0),
         lambda x: fo.special.softmax(x, 1), (x,)), ("interp", lambda x: fo.interp(x, fo.arange(10.0), fo.arange(10.0)), lambda x: fo.interp(x, fo.arange(10.0), fo.arange(10.0)), (x,)),
    ]
    for call, one, every, arrays in cases:
        mapped = fo.vmap(one)
        assert np.allclose(np.asarray(mapped(*arrays)), np.asarray(every(*arrays))), call
        yield {"call": call, "fastops": lambda mapped=mapped, arrays=arrays: mapped(*arrays), "by hand": lambda every=every, arrays=arrays: every(*arrays),
               "target": {"by hand": round(1 / 1.15, 2)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    peers = [name for name, module in (("torch", torch), ("jax", jax)) if module is not None]
    small = table([row for row in small_rows() if options.only in row["call"]], peers)
    print()
    large = table([row for row in large_rows() if options.only in row["call"]], ["by hand"])
    if options.markdown:
        print(markdown(small, peers))
        print(markdown(large, ["by hand"]))
    if options.json:
        save(small + large, options.json)


if __name__ == "__main__":
    main()
