"""What NumPy keeps in ``numpy.lib``."""

from fastops.lib import stride_tricks
