"""A function of PyTorch that meets a Tensor takes it as one of its own, over the same memory, and gives its own result."""

import numpy as np
import torch

from fastops._dispatch import Tensor, install_method


def foreign(value):
    """*value* with torch's tensors for ours, through lists, tuples and dicts."""
    if isinstance(value, Tensor):
        try:
            return torch.from_dlpack(value)
        except BufferError:         # read-only memory, or steps that DLPack cannot say
            return torch.from_numpy(np.array(value))
    if type(value) in (list, tuple):
        return type(value)(map(foreign, value))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(foreign, value))
    return {name: foreign(item) for name, item in value.items()} if type(value) is dict else value


def torch_function(cls, function, types, args=(), kwargs=None):
    """Called by PyTorch: *function* on its own tensors."""
    return function(*foreign(tuple(args)), **foreign(kwargs or {}))


install_method("__torch_function__", classmethod(torch_function))
