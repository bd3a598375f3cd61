"""Transforms of functions: each takes a function and gives one, and they nest in any order.

>>> import fastops as fo
>>> fo.func.hessian(lambda x: (x ** 3).sum())(fo.asarray([1.0, 2.0]))
tensor([[ 6.,  0.],
        [ 0., 12.]])
"""

from fastops.func.forward import hessian, hvp, jacfwd, jvp, linearize
from fastops.func.reverse import grad, grad_and_value, jacrev, value_and_grad, vjp
from fastops.func.batch import vmap
from fastops.func.control import cond, scan, switch, while_loop

__all__ = ["cond", "grad", "grad_and_value", "hessian", "hvp", "jacfwd", "jacrev", "jvp", "linearize", "scan", "switch", "value_and_grad", "vjp", "vmap", "while_loop"]
