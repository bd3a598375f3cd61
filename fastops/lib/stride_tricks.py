"""Views with other steps, as in ``numpy.lib.stride_tricks``."""

from fastops.ops.shape import broadcast_arrays, broadcast_to, sliding_window_view

__all__ = ["broadcast_arrays", "broadcast_to", "sliding_window_view"]
