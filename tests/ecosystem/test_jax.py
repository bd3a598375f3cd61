"""JAX takes tensors; its functions give its own arrays."""

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)

import numpy as np                      # noqa: E402
from jax import numpy as jnp            # noqa: E402

from .calls import Group                # noqa: E402

JAX = Group("JAX", 0, [
    ("asarray", lambda a: jnp.asarray(a)), ("asarray of float32", lambda f: jnp.asarray(f)),
    ("asarray of bools", lambda m: jnp.asarray(m)), ("asarray of complex", lambda c: jnp.asarray(c)),
    ("asarray of a number", lambda z: jnp.asarray(z)), ("asarray of a transpose", lambda a: jnp.asarray(a.T)),
    ("asarray of nothing", lambda e: jnp.asarray(e)), ("array", lambda a: jnp.array(a)),
    ("array of several", lambda v, w: jnp.array([v, w])), ("from_dlpack", lambda a: jnp.from_dlpack(a)),
    ("from_dlpack of integers", lambda u: jnp.from_dlpack(u)), ("device_put", lambda a: jax.device_put(a)),
    ("device_put of a tree", lambda a, v: jax.device_put({"a": a, "v": v})), ("sin", lambda v: jnp.sin(v)),
    ("sum", lambda a: jnp.sum(a, axis=0)), ("matmul", lambda a, b: jnp.matmul(a, b)),
    ("where", lambda m, v, w: jnp.where(m, v, w)), ("stack", lambda v, w: jnp.stack([v, w])),
    ("einsum", lambda a, b: jnp.einsum("ij,jk->ik", a, b)), ("jit", lambda a: jax.jit(lambda x: x * 2)(a)),
    ("grad", lambda v: jax.grad(lambda x: (x ** 2).sum())(v)), ("vmap", lambda a: jax.vmap(lambda x: x.sum())(a)),
    ("jvp", lambda v, w: jax.jvp(jnp.sin, (v,), (w,))), ("array of JAX plus tensor", lambda v: np.asarray(jnp.ones(6) + v)),
    ("tensor plus array of JAX", lambda v: np.asarray(v + jnp.ones(6))),
    ("tree_map", lambda a: jax.tree.map(lambda x: x * 2, {"a": a})), ("index by a tensor", lambda n: jnp.arange(10.0)[n]),
    ("at set", lambda v: jnp.zeros(6).at[:].set(v)), ("back again", lambda a: np.from_dlpack(jnp.asarray(a) * 2)),
    ("lax.scan", lambda v: jax.lax.scan(lambda s, x: (s + x, s), 0.0, v)[1]),
    ("scipy.special", lambda v: jax.scipy.special.erf(v)),
], faults={"index by a tensor": "JAX takes only its own and NumPy's arrays as indices"})

test_call_works, test_results_stay_native = JAX.tests()
