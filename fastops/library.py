"""Registering operators and kernels from Python, as ``torch.library`` does.

A Library owns what is registered through it: when it is destroyed, by ``_destroy()`` or by the garbage collector,
its definitions and kernels go, and what its kernels had replaced comes back.

>>> import fastops as fo
>>> lib = fo.library.Library("example_doc", "DEF")
>>> lib.define("twice(Tensor x) -> Tensor")
'twice'
>>> lib.impl("twice", lambda x: x + x, "CPU")
>>> fo.ops.example_doc.twice(fo.asarray([1.0, 2.0]))
tensor([2., 4.])
>>> lib._destroy()
"""

from fastops.custom import (CustomOpDef, custom_op, impl_abstract, register_autograd, register_fake, register_jvp, register_kernel,
                             register_vmap)
from fastops.infer import infer_schema
from fastops.libraries import Library, Tag, _scoped_library, define, fallthrough_kernel, impl
from fastops.ufuncs import from_ufunc

__all__ = ["CustomOpDef", "Library", "Tag", "_scoped_library", "custom_op", "define", "fallthrough_kernel", "from_ufunc", "impl", "impl_abstract",
           "infer_schema", "register_autograd", "register_fake", "register_jvp", "register_kernel", "register_vmap"]
