"""Calls every operator with arguments that nobody thought of: an exception is fine, a crash is not.

``python tests/fuzz.py SEED [CALLS]``. Prints how many calls returned; exits non-zero on an exception of the wrong kind.
"""

import faulthandler
import random
import sys
import warnings

import numpy as np

import fastops as fo
from fastops import registry

FINE = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError, ZeroDivisionError, MemoryError, BufferError)


class RaisesAsIndex:
    def __index__(self):
        raise ZeroDivisionError


class SequenceInName:
    def __len__(self):
        return 3

    def __getitem__(self, position):
        raise IndexError


class RaisesAsArray:
    def __array__(self, *args, **kwargs):
        raise ValueError("no array")


class Subclass(fo.Tensor):
    pass


def arguments(rng):
    """One argument, out of all that a confused caller may give."""
    return rng.choice([
        lambda: None, lambda: fo.ones((2, 3)), lambda: fo.ones(3), lambda: fo.zeros((0, 2)), lambda: fo.ones(()),
        lambda: fo.ones((2, 3)).T, lambda: fo.ones((3, 2))[::-1], lambda: fo.ones((2, 3), device="meta"),
        lambda: fo.ones(3, dtype=rng.choice(["i1", "u8", "f2", "c8", "?", "f4", "c16", "i8"])),
        lambda: fo.ones(3).as_subclass(Subclass), lambda: np.ones(3), lambda: np.ones((2, 3), ">f8"), lambda: np.ma.ones(3),
        lambda: rng.choice([0, 1, -1, 2**70, -2**63, 5, True, 1.5, float("nan"), 1j, "x", b"y", Ellipsis, slice(1, 2)]),
        lambda: (), lambda: (1, 2), lambda: [1, [2]], lambda: [fo.ones(3)] * 2, lambda: [fo.ones(2), None], lambda: (0, -1),
        RaisesAsIndex, SequenceInName, RaisesAsArray, object, lambda: int, lambda: "float32", lambda: np.float32, dict,
        lambda: {1: 2}, lambda: range(3), lambda: fo.broadcast_to(fo.ones(1), (3,)), lambda: np.int64(1), lambda: np.float64(2),
        lambda: fo.add, lambda: (fo.ones(3), fo.ones(3)), lambda: "ij,jk", lambda: [True, False], lambda: np.array(["a"]),
        lambda: memoryview(b"abc")])()


NAMES = ["axis", "out", "dtype", "keepdims", "device", "copy", "shape", "initial", "where", "k", "n", "axes", "casting"]


def main(seed, calls):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    operators = list(registry.operators.values())
    returned = 0
    for _ in range(calls):
        operator = rng.choice(operators)
        args = [arguments(rng) for _ in range(rng.randint(0, 4))]
        kwargs = {rng.choice(NAMES): arguments(rng) for _ in range(rng.choice([0, 0, 1, 2]))}
        try:
            with np.errstate(all="ignore"):
                result = operator(*args, **kwargs)
        except FINE:
            continue
        except Exception as error:
            kinds = [type(value).__name__ for value in args]
            print(f"{operator} of {kinds} {sorted(kwargs)}: {type(error).__name__}: {error}")
            return 1
        returned += 1
        if isinstance(result, fo.Tensor) and result.size < 1000:
            repr(result)
    assert fo.dispatch.local_state()[2] == 0
    print(f"{returned} of {calls} calls returned")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000))
