"""einops on tensors."""

import pytest

einops = pytest.importorskip("einops", reason="einops is not installed")

from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack       # noqa: E402

from .calls import Group        # noqa: E402

EINOPS = Group("einops", 25, [
    ("transpose", lambda t: rearrange(t, "a b c -> c a b")), ("flatten", lambda t: rearrange(t, "a b c -> a (b c)")),
    ("split axis", lambda t: rearrange(t, "a b (c d) -> a b c d", d=2)), ("add axis", lambda a: rearrange(a, "x y -> x 1 y")),
    ("drop axis", lambda a: rearrange(a[:, :1], "x 1 -> x")), ("ellipsis", lambda t: rearrange(t, "... c -> c ...")),
    ("list of arrays", lambda a: rearrange([a, a], "n x y -> x n y")),
    ("space to depth", lambda image: rearrange(image, "(h p) (w q) -> h w (p q)", p=2, q=3)),
    ("sum", lambda t: reduce(t, "a b c -> b", "sum")), ("mean", lambda t: reduce(t, "a b c -> a c", "mean")),
    ("max", lambda t: reduce(t, "a b c -> ", "max")), ("min", lambda t: reduce(t, "a b c -> c a", "min")),
    ("prod", lambda t: reduce(t, "a b c -> a", "prod")), ("any", lambda k: reduce(k, "x y -> x", "any")),
    ("all", lambda k: reduce(k, "x y -> y", "all")),
    ("pooling", lambda image: reduce(image, "(h p) (w q) -> h w", "max", p=2, q=3)),
    ("keep axes", lambda t: reduce(t, "a b c -> a 1 1", "mean")), ("reduce of float32", lambda f: reduce(f, "x y -> y", "mean")),
    ("custom reduction", lambda t: reduce(t, "a b c -> a c", lambda x, axes: x.sum(axis=tuple(axes)))),
    ("repeat new axis", lambda a: repeat(a, "x y -> x y n", n=3)), ("repeat elements", lambda v: repeat(v, "x -> (x n)", n=2)),
    ("tile", lambda a: repeat(a, "x y -> (n x) y", n=2)), ("einsum", lambda a, b: einsum(a, b, "x y, y z -> x z")),
    ("einsum trace", lambda q: einsum(q, "i i ->")), ("pack", lambda a, t: pack([a, a], "* y")),
    ("unpack", lambda a: unpack(a, [[1], [3]], "* y")), ("parse_shape", lambda t: parse_shape(t, "a _ c")),
    ("asnumpy", lambda a: asnumpy(a)),
])

test_call_works, test_results_stay_native = EINOPS.tests()
