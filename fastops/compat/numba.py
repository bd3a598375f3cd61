"""Numba's compiled functions take tensors as arrays over the same memory, and hand tensors out where tensors went in.

Inside a compiled function a Tensor is an array like NumPy's: its type derives from Numba's, and has the same layout in memory.
"""

from numba.core import types
from numba.core.boxing import box_array, unbox_buffer
from numba.extending import box, models, overload_classmethod, register_model, typeof_impl, unbox
from numba.np.arrayobj import intrin_alloc
from numba.np.numpy_support import from_dtype, map_layout

from fastops._dispatch import Tensor
from fastops._loops import as_ndarray, share_ndarray


class TensorType(types.Array):
    """The type of a Tensor in compiled code."""

    def __init__(self, dtype, ndim, layout, readonly=False, name=None, aligned=True):
        name = name or f"fastops.Tensor({dtype}, {ndim}d, {layout}{', readonly' if readonly else ''})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=name, aligned=aligned)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return TensorType if method == "__call__" else NotImplemented

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        return TensorType(self.dtype if dtype is None else dtype, self.ndim if ndim is None else ndim, layout or self.layout,
                          readonly=not self.mutable if readonly is None else readonly, aligned=self.aligned)


def register():
    """What Numba calls by its entry point; the import of this module has told it all."""


@typeof_impl.register(Tensor)
def typeof_tensor(value, context):
    return TensorType(from_dtype(value.dtype), value.ndim, map_layout(as_ndarray(value)), readonly=not value.writeable)


register_model(TensorType)(models.ArrayModel)
unbox(TensorType)(unbox_buffer)


@box(TensorType)
def box_tensor(kind, value, context):
    array = box_array(kind, value, context)
    share = context.pyapi.unserialize(context.pyapi.serialize_object(share_ndarray))
    result = context.pyapi.call_function_objargs(share, (array,))
    context.pyapi.decref(share)
    context.pyapi.decref(array)
    return result


@overload_classmethod(TensorType, "_allocate")
def allocate(cls, size, align):
    return lambda cls, size, align: intrin_alloc(size, align)
