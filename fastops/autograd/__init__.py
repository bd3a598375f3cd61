"""Derivatives: recording and the backward sweep, modes, functions with derivatives of their own, and checks.

>>> import fastops as fo
>>> x = fo.asarray([0.5, 1.5], requires_grad=True)
>>> (fo.sin(x) * x).sum().backward()
>>> x.grad
tensor([0.91821682, 1.10360079])
"""

from fastops.autograd.check import gradcheck, gradgradcheck
from fastops.autograd.engine import backward, grad
from fastops.autograd.function import Function, FunctionCtx, once_differentiable
from fastops.autograd.mapped import mapped_function
from fastops.autograd.modes import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from fastops.ops.autograd import overlaid, placed, region, scale, scattered

__all__ = ["Function", "FunctionCtx", "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_grad", "once_differentiable", "overlaid", "placed", "region", "scale", "scattered", "set_grad_enabled"]
