"""The dtypes, which are NumPy's own objects: ``fo.float32 == numpy.dtype("float32")``; and NumPy's abstract kinds of them."""

import numpy as np

bool = np.dtype("bool")
int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(np.dtype, ("float16", "float32", "float64"))
complex64, complex128 = map(np.dtype, ("complex64", "complex128"))

# NumPy's names after C's types and after what they are for
bool_ = bool
half, single, double = float16, float32, float64
csingle, cdouble = complex64, complex128
byte, short, intc, int_, intp, longlong = map(np.dtype, ("byte", "short", "intc", "int_", "intp", "longlong"))
ubyte, ushort, uintc, uint, uintp, ulonglong = map(np.dtype, ("ubyte", "ushort", "uintc", "uint", "uintp", "ulonglong"))

# For issubdtype
dtype, generic, number, inexact, floating, complexfloating = (np.dtype, np.generic, np.number, np.inexact, np.floating,
                                                              np.complexfloating)
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
