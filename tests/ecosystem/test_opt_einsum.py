"""opt_einsum, cotengra and autoray find the tensor's own functions by its module's name."""

import sys

import pytest

opt_einsum = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed")
autoray = pytest.importorskip("autoray", reason="autoray is not installed")

from autoray import do                  # noqa: E402

from .calls import Group                # noqa: E402


def cotengra():
    return pytest.importorskip("cotengra", reason="cotengra is not installed")


CONTRACT = Group("opt_einsum, cotengra, autoray", 33, [
    ("contract two", lambda a, b: opt_einsum.contract("ij,jk->ik", a, b)),
    ("contract three", lambda q, a, b: opt_einsum.contract("ij,jk,kl->il", q, a, b)),
    ("contract trace", lambda q: opt_einsum.contract("ii->", q)),
    ("contract diagonal", lambda q: opt_einsum.contract("ii->i", q)),
    ("contract outer", lambda v, w: opt_einsum.contract("i,j->ij", v, w)),
    ("contract batch", lambda t: opt_einsum.contract("bij,bkj->bik", t, t)),
    ("contract transpose", lambda t: opt_einsum.contract("abc->cba", t)),
    ("contract sum", lambda a: opt_einsum.contract("ij->j", a)),
    ("contract Hadamard", lambda a: opt_einsum.contract("ij,ij->ij", a, a)),
    ("contract greedy", lambda q, a, b: opt_einsum.contract("ij,jk,kl->il", q, a, b, optimize="greedy")),
    ("contract optimal", lambda q, a, b: opt_einsum.contract("ij,jk,kl->il", q, a, b, optimize="optimal")),
    ("contract with int subscripts", lambda a, b: opt_einsum.contract(a, [0, 1], b, [1, 2], [0, 2])),
    ("contract ellipsis", lambda t: opt_einsum.contract("...ij,...kj->...ik", t, t)),
    ("contract backend by name", lambda a, b: opt_einsum.contract("ij,jk->ik", a, b, backend="auto")),
    ("contract_expression", lambda a, b: opt_einsum.contract_expression("ij,jk->ik", (4, 3), (3, 5))(a, b)),
    ("contract_expression with a constant",
     lambda a, b: opt_einsum.contract_expression("ij,jk->ik", (4, 3), b, constants=[1])(a)),
    ("contract_path", lambda a, b: opt_einsum.contract_path("ij,jk->ik", a, b)[0]),
    ("shared intermediates", lambda q, a: shared(q, a)), ("cotengra einsum", lambda a, b: cotengra().einsum("ij,jk->ik", a, b)),
    ("cotengra tree", lambda q, a, b: cotengra().einsum("ij,jk,kl->il", q, a, b)),
    ("cotengra trace", lambda q: cotengra().einsum("ii->", q)),
    ("cotengra batch", lambda t: cotengra().einsum("bij,bkj->bik", t, t)), ("do sum", lambda a: do("sum", a, axis=0)),
    ("do sin", lambda v: do("sin", v)), ("do transpose", lambda t: do("transpose", t, (2, 0, 1))),
    ("do reshape", lambda a: do("reshape", a, (3, 4))), ("do tensordot", lambda t, a: do("tensordot", t, a, axes=1)),
    ("do einsum", lambda a, b: do("einsum", "ij,jk->ik", a, b)), ("do stack", lambda v, w: do("stack", (v, w))),
    ("do concatenate", lambda v, w: do("concatenate", (v, w))), ("do where", lambda m, v, w: do("where", m, v, w)),
    ("do linalg.norm", lambda a: do("linalg.norm", a)),
    ("do linalg.svd", lambda a: tuple(do("linalg.svd", a, full_matrices=False))),
    ("do linalg.qr", lambda a: tuple(do("linalg.qr", a))), ("do linalg.eigh", lambda s: tuple(do("linalg.eigh", s))),
    ("do zeros like", lambda a: do("zeros", (2, 3), like=a)),
    ("do random", lambda a: do("random.uniform", size=(2, 3), like=a).shape), ("do diag", lambda v: do("diag", v)),
    ("do astype", lambda a: autoray.astype(a, "float32")), ("do pad", lambda a: do("pad", a, 1)),
    ("do to_numpy", lambda a: do("to_numpy", a)),
    ("infer_backend is a module", lambda a: autoray.infer_backend(a) in sys.modules),
    ("get_dtype_name", lambda f: autoray.get_dtype_name(f)), ("shape", lambda a: autoray.shape(a)),
    ("lazy", lambda a: do("sum", autoray.lazy.array(a)).compute()),
])


def shared(q, a):
    with opt_einsum.shared_intermediates():
        return opt_einsum.contract("ij,jk->ik", q, a), opt_einsum.contract("ij,jk->ik", q, a)


test_call_works, test_results_stay_native = CONTRACT.tests()
