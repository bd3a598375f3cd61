"""PyTorch takes tensors of fastops; its functions give its own."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np                      # noqa: E402
from torch.utils import data, dlpack    # noqa: E402

from .calls import Group                # noqa: E402


def batch(points, labels):
    pairs = data.DataLoader([(point, label) for point, label in zip(points, labels)], batch_size=4)
    return next(iter(pairs))


TORCH = Group("PyTorch", 0, [
    ("from_dlpack", lambda a: torch.from_dlpack(a)), ("from_dlpack of a transpose", lambda a: torch.from_dlpack(a.T)),
    ("from_dlpack of float32", lambda f: torch.from_dlpack(f)), ("from_dlpack of bools", lambda m: torch.from_dlpack(m)),
    ("from_dlpack of complex", lambda c: torch.from_dlpack(c)), ("from_dlpack of integers", lambda u: torch.from_dlpack(u)),
    ("from_dlpack of a number", lambda z: torch.from_dlpack(z)), ("from_dlpack of nothing", lambda e: torch.from_dlpack(e)),
    ("from_dlpack shares", lambda v: (torch.from_dlpack(v).fill_(2.0), v)[1]),
    ("from a capsule", lambda a: dlpack.from_dlpack(a.__dlpack__())), ("asarray", lambda a: torch.asarray(a)),
    ("as_tensor", lambda a: torch.as_tensor(a)), ("as_tensor of integers", lambda i: torch.as_tensor(i)),
    ("tensor", lambda a: torch.tensor(a)), ("tensor of a number", lambda z: torch.tensor(z)),
    ("frombuffer", lambda v: torch.frombuffer(v, dtype=torch.float64)),
    ("from_numpy of asarray", lambda a: torch.from_numpy(np.asarray(a))),
    ("tensor of a list", lambda v: torch.tensor(v.tolist(), dtype=torch.float64)),
    ("torch's tensor for NumPy", lambda a: np.add(a, torch.ones(4, 3, dtype=torch.float64).numpy())),
    ("back again", lambda a: np.from_dlpack(torch.from_dlpack(a) * 2)),
    ("DataLoader", lambda points, labels: batch(np.asarray(points), np.asarray(labels))),
    ("torch.float64 is found", lambda a: torch.from_dlpack(a).dtype is torch.float64),
    ("TensorDataset", lambda points: data.TensorDataset(torch.as_tensor(points))[0]), ("sin", lambda v: t("sin", v)),
    ("exp of float32", lambda f: t("exp", f)), ("add", lambda v, w: t("add", v, w)), ("matmul", lambda a, b: t("matmul", a, b)),
    ("sum", lambda a: t("sum", a)), ("sum over dim", lambda a: t("sum", a, dim=0)), ("mean", lambda a: t("mean", a)),
    ("stack", lambda v, w: t("stack", (v, w))), ("cat", lambda v, w: t("cat", (v, w))),
    ("where", lambda m, v, w: t("where", m, v, w)), ("relu", lambda w: t("relu", w)),
    ("softmax", lambda a: t("softmax", a, dim=1)), ("linalg.norm", lambda a: t("linalg.norm", a)),
    ("linalg.inv", lambda s: t("linalg.inv", s)), ("nn.functional.linear", lambda a, q: t("nn.functional.linear", a.T, q)),
    ("einsum", lambda a, b: t("einsum", "ij,jk->ik", a, b)), ("allclose", lambda v: t("allclose", v, v)),
    ("sum of read-only memory", lambda v: t("sum", np.broadcast_to(v, (2, 6)))),
    ("torch.Tensor.add", lambda v: t("add", torch.ones(6, dtype=torch.float64), v)),
], faults=dict.fromkeys(["asarray", "frombuffer"], "torch asks for memory without its shape and takes it for float32: we refuse"))


def t(name, *arguments, **options):
    """A function of torch; NumPy's arrays, which it does not take, are made its own first."""
    def made(value):
        if isinstance(value, tuple):
            return tuple(map(made, value))
        return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    return function(*map(made, arguments), **options)


test_call_works, test_results_stay_native = TORCH.tests()
