"""Small calls: what one operator costs, beside NumPy and, where it is installed, PyTorch.

``python benchmarks/calls.py [--json FILE] [--markdown] [--only TEXT]``. One thread; plain CPU tensors through the public API.
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


def array_rows(case, arrays):
    """NumPy-like arrays: indexing by arrays, order, linear algebra, NumPy's own functions, interchange."""
    (a, b), (na, nb), (ta, tb) = arrays(16, 16)
    (m,), (nm,), (tm,) = arrays((4, 4))
    ni, nmask = np.array([3, 0, 7, 9]), na > 1.5
    i, mask = fo.asarray(ni), a > 1.5
    ti, tmask = (torch.asarray(ni), ta > 1.5) if torch else (None, None)
    nj = np.array([0, 2])
    j, tj = fo.asarray(nj), torch.asarray(nj) if torch else None
    yield case("a[i], i an array of 4", 1.5, None, lambda: a[i], lambda: na[ni], lambda: ta[ti])
    yield case("a[mask]", 1.5, None, lambda: a[mask], lambda: na[nmask], lambda: ta[tmask])
    yield case("m[:, j], (4, 4)", 1.5, None, lambda: m[:, j], lambda: nm[:, nj], lambda: tm[:, tj])
    yield case("m[j, j]", 1.5, None, lambda: m[j, j], lambda: nm[nj, nj], lambda: tm[tj, tj])
    yield case("a[mask] = 0.0", None, None, lambda: a.__setitem__(mask, 0.0), lambda: na.__setitem__(nmask, 0.0),
               lambda: ta.__setitem__(tmask, 0.0))
    yield case("stack([a, b])", 1.5, None, lambda: fo.stack([a, b]), lambda: np.stack([na, nb]), lambda: torch.stack([ta, tb]))
    yield case("sort(a)", 1.5, None, lambda: fo.sort(a), lambda: np.sort(na), lambda: torch.sort(ta))
    yield case("argsort(a)", None, None, lambda: fo.argsort(a), lambda: np.argsort(na, kind="stable"), lambda: torch.argsort(ta, stable=True))
    yield case("unique(a)", 1.5, None, lambda: fo.unique(a), lambda: np.unique(na), lambda: torch.unique(ta))
    square, nsquare = fo.eye(4) * 4.0 + m, np.eye(4) * 4.0 + nm
    tsquare = torch.asarray(nsquare) if torch else None
    c, nc = a[:4], na[:4]
    tc = ta[:4] if torch else None
    yield case("linalg.solve, 4x4", 4, None, lambda: fo.linalg.solve(square, c), lambda: np.linalg.solve(nsquare, nc),
               lambda: torch.linalg.solve(tsquare, tc))
    yield case("linalg.inv, 4x4", 4, None, lambda: fo.linalg.inv(square), lambda: np.linalg.inv(nsquare), lambda: torch.linalg.inv(tsquare))
    yield case("linalg.det, 4x4", 4, None, lambda: fo.linalg.det(square), lambda: np.linalg.det(nsquare), lambda: torch.linalg.det(tsquare))
    yield case("np.sin(a) of a Tensor, and of NumPy's", 0.67, None, lambda: np.sin(a), lambda: np.sin(na))
    yield case("np.asarray(tensor): under 400 ns", None, None, lambda: np.asarray(a), lambda: np.asarray(na))
    yield case("fo.asarray(ndarray): under 300 ns", None, None, lambda: fo.asarray(na), lambda: np.asarray(na), lambda: torch.asarray(na))


def rows():
    """The table: each row's calls, and how many times faster than each peer fastops is to be."""
    def case(call, numpy_target, torch_target, ours, numpys, torchs=None):
        row = {"call": call, "fastops": ours, "target": {}}
        if numpys is not None:
            row["numpy"] = numpys
            row["target"]["numpy"] = numpy_target
        if torch is not None and torchs is not None:
            row["torch"] = torchs
            row["target"]["torch"] = torch_target
        return row

    def arrays(*shapes, dtype="float64"):
        rng = np.random.default_rng(0)
        values = [rng.uniform(1, 2, shape).astype(dtype) for shape in shapes]
        return ([fo.asarray(v.copy()) for v in values], values,
                [torch.asarray(v.copy()) for v in values] if torch else [None] * len(values))

    (a, b), (na, nb), (ta, tb) = arrays(1, 1)
    yield case("a + b, 1 element", 3.5, 10, lambda: a + b, lambda: na + nb, lambda: ta + tb)
    (a, b), (na, nb), (ta, tb) = arrays(16, 16)
    yield case("a + b, 16 elements", 3.5, 10, lambda: a + b, lambda: na + nb, lambda: ta + tb)
    yield case("a + 2.0", 4, 10, lambda: a + 2.0, lambda: na + 2.0, lambda: ta + 2.0)
    yield case("a * 2", None, None, lambda: a * 2, lambda: na * 2, lambda: ta * 2)
    (m, v), (nm, nv), (tm, tv) = arrays((4, 4), (4,))
    yield case("a (4,4) + b (4,)", 2.5, 8, lambda: m + v, lambda: nm + nv, lambda: tm + tv)
    (s,), (ns,), (ts,) = arrays(1)
    yield case("fo.sin(a), 1 element", 3, 8, lambda: fo.sin(s), lambda: np.sin(ns), lambda: torch.sin(ts))
    yield case("fo.sin(a), 16 elements", 3, 8, lambda: fo.sin(a), lambda: np.sin(na), lambda: torch.sin(ta))
    yield case("fo.exp(a)", None, None, lambda: fo.exp(a), lambda: np.exp(na), lambda: torch.exp(ta))
    yield case("-a", None, None, lambda: -a, lambda: -na, lambda: -ta)
    yield case("a < b", 3, 8, lambda: a < b, lambda: na < nb, lambda: ta < tb)
    mask, nmask = a < b, na < nb
    tmask = ta < tb if torch else None
    yield case("where(m, a, b)", 3, 8, lambda: fo.where(mask, a, b), lambda: np.where(nmask, na, nb),
               lambda: torch.where(tmask, ta, tb))
    yield case("fo.sum(a)", 10, 8, lambda: fo.sum(a), lambda: np.sum(na), lambda: torch.sum(ta))
    yield case("a.sum(axis=0), (4,4)", 6, 8, lambda: m.sum(axis=0), lambda: nm.sum(axis=0), lambda: tm.sum(dim=0))
    yield case("a.max()", None, None, lambda: a.max(), lambda: na.max(), lambda: ta.max())
    yield case("a.mean()", None, None, lambda: a.mean(), lambda: na.mean(), lambda: ta.mean())
    yield case("a.argmax()", None, None, lambda: a.argmax(), lambda: na.argmax(), lambda: ta.argmax())
    (x, y), (nx, ny), (tx, ty) = arrays((4, 4), (4, 4))
    yield case("a @ b, 4x4", 4, 6, lambda: x @ y, lambda: nx @ ny, lambda: tx @ ty)
    yield case("a[2:5]", 1.3, 6, lambda: a[2:5], lambda: na[2:5], lambda: ta[2:5])
    yield case("a[1]", None, None, lambda: x[1], lambda: nx[1], lambda: tx[1])
    yield case("a[1, 2]", None, None, lambda: x[1, 2], lambda: nx[1, 2], lambda: tx[1, 2])
    yield case("a.reshape(4, 4)", 2, 6, lambda: a.reshape(4, 4), lambda: na.reshape(4, 4), lambda: ta.reshape(4, 4))
    yield case("fo.reshape(a, (4, 4))", 2, 6, lambda: fo.reshape(a, (4, 4)), lambda: np.reshape(na, (4, 4)),
               lambda: torch.reshape(ta, (4, 4)))
    yield case("a.T", 1.2, 6, lambda: x.T, lambda: nx.T, lambda: tx.T)
    yield case("empty(16)", 1.5, 6, lambda: fo.empty(16), lambda: np.empty(16), lambda: torch.empty(16))
    yield case("zeros((4, 4))", None, None, lambda: fo.zeros((4, 4)), lambda: np.zeros((4, 4)),
               lambda: torch.zeros((4, 4)))
    yield case("concat([a, b])", None, None, lambda: fo.concat([a, b]), lambda: np.concatenate([na, nb]),
               lambda: torch.cat([ta, tb]))
    (p, q), (np_, nq), (tp, tq) = arrays(16, 16)

    def in_place():
        nonlocal p
        p += q

    def numpy_in_place():
        nonlocal np_
        np_ += nq

    def torch_in_place():
        nonlocal tp
        tp += tq
    yield case("a += b", 2.5, 6, in_place, numpy_in_place, torch_in_place)

    def store():
        p[3] = 1.5

    def numpy_store():
        np_[3] = 1.5

    def torch_store():
        tp[3] = 1.5
    yield case("a[3] = 1.5", None, None, store, numpy_store, torch_store)
    yield from array_rows(case, arrays)
    ours, theirs = python_kernel_operators()
    yield case("operator with a Python kernel", None, 8, lambda: ours(a), None, theirs and (lambda: theirs(ta)))


def python_kernel_operators():
    """The same operator, a Python kernel that returns its argument's copy, through either registration API."""
    library = fo.library.Library("benchmark_calls", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x, "CPU")
    python_kernel_operators.keep = [library]
    theirs = None
    if torch is not None:
        other = torch.library.Library("benchmark_calls", "DEF")
        other.define("same(Tensor x) -> Tensor")
        other.impl("same", lambda x: x, "CPU")
        python_kernel_operators.keep.append(other)
        theirs = torch.ops.benchmark_calls.same.default
    return fo.ops.benchmark_calls.same.default, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--markdown", action="store_true", help="print the table once more, for a page")
    parser.add_argument("--only", default="", help="only the rows whose name holds this text")
    options = parser.parse_args()
    chosen = [row for row in rows() if options.only in row["call"]]
    peers = ("numpy", "torch") if torch else ("numpy",)
    results = table(chosen, peers)
    if options.markdown:
        print(markdown(results, peers))
    if options.json:
        save(options.json, "small calls", results)


if __name__ == "__main__":
    main()
