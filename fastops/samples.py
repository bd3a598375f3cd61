"""Sample inputs from which the laws are tested: what an operator is called with, as NumPy arrays and scalars."""

BOOLS = ("?",)
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
ALL = BOOLS + INTEGERS + FLOATS + COMPLEX
REAL = BOOLS + INTEGERS + FLOATS


class Sample:
    """One call: positional and keyword arguments, arrays given as NumPy arrays."""
    __slots__ = ("args", "kwargs")

    def __init__(self, *args, **kwargs):
        self.args = args
        self.kwargs = kwargs

    def __repr__(self):
        parts = [describe(value) for value in self.args] + [f"{k}={describe(v)}" for k, v in self.kwargs.items()]
        return f"Sample({', '.join(parts)})"


def describe(value):
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return type(value)(map(describe, value)).__repr__()
    return repr(value)


def array(rng, shape, dtype, low=-4.0, high=4.0):
    """Random values of *dtype* between *low* and *high* (as far as the dtype has them)."""
    import numpy as np
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low = max(low, 0) if dtype.kind == "u" else low
        return rng.integers(int(np.ceil(low)), int(high) + 1, shape).astype(dtype)
    values = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def layouts(rng, dtype, low=-4.0, high=4.0):
    """Arrays of one dtype in every layout: 0-d, empty, contiguous, transposed, reversed, strided, broadcast."""
    import numpy as np
    yield array(rng, (), dtype, low, high)
    yield array(rng, (0, 3), dtype, low, high)
    yield array(rng, (5,), dtype, low, high)
    yield array(rng, (3, 4), dtype, low, high).T
    yield array(rng, (2, 3, 4), dtype, low, high)[:, ::-1]
    yield array(rng, (7, 4), dtype, low, high)[1::2, ::2]
    yield np.broadcast_to(array(rng, (4,), dtype, low, high), (3, 4))


def pairs(rng, dtypes, low=-4.0, high=4.0):
    """Two operands: equal shapes, broadcasting, scalars on either side, mixed dtypes, odd layouts."""
    import itertools
    for dtype in dtypes:
        yield Sample(array(rng, (5,), dtype, low, high), array(rng, (5,), dtype, low, high))
        yield Sample(array(rng, (3, 4), dtype, low, high).T, array(rng, (4, 3), dtype, low, high))
        yield Sample(array(rng, (4, 4), dtype, low, high), array(rng, (4,), dtype, low, high)[::-1])
        yield Sample(array(rng, (3, 1), dtype, low, high), array(rng, (1, 4), dtype, low, high))
        yield Sample(array(rng, (0, 3), dtype, low, high), array(rng, (3,), dtype, low, high))
        yield Sample(array(rng, (), dtype, low, high), array(rng, (2, 3), dtype, low, high))
        yield Sample(array(rng, (2, 3), dtype, low, high), max(1, int(low)))
        yield Sample(max(1, int(low)), array(rng, (2, 3), dtype, low, high))
    if dtypes and "f8" in dtypes:
        yield Sample(array(rng, (4,), "f8", low, high), 2.5)
        yield Sample(array(rng, (4,), "f4", low, high), 0.5)
    for first, second in itertools.combinations(dtypes, 2):
        yield Sample(array(rng, (3,), first, low, high), array(rng, (3,), second, low, high))
