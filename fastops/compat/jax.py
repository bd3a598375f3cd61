"""JAX takes tensors where it takes NumPy's arrays: as arguments of its functions, compiled or not, and beside its own arrays.

It has no public way to say so; the three tables are those in which it keeps what it knows of NumPy's arrays.
"""

import numpy as np
from jax import numpy as jnp
from jax._src import core, dtypes
from jax._src.interpreters import pxla

from fastops._dispatch import Tensor, install_method


def placed(tensors, *more):
    """Tensors on JAX's devices, as NumPy's arrays get there."""
    return pxla.shard_arg_handlers[np.ndarray]([np.asarray(tensor) for tensor in tensors], *more)


core.pytype_aval_mappings[Tensor] = lambda tensor: core.pytype_aval_mappings[np.ndarray](np.asarray(tensor))
dtypes.register_canonicalize_value_handler(Tensor, np.asarray)
pxla.shard_arg_handlers[Tensor] = placed
install_method("__jax_array__", lambda tensor: jnp.asarray(np.asarray(tensor)))
