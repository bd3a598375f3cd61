"""NumPy and Python take a tensor's memory: buffers, ``__array__``, ``__array_interface__``, DLPack, Python's own protocols."""

import array
import base64
import ctypes
import hashlib
import io
import json
import math
import operator
import statistics
import struct
import zlib

import numpy as np

from .calls import Group

BUFFERS = Group("buffers, conversion, DLPack", 13, [
    ("asarray", lambda a: np.asarray(a)), ("asarray dtype", lambda a: np.asarray(a, dtype="f4")),
    ("array copies", lambda a: np.shares_memory(np.array(a), np.asarray(a))),
    ("asarray shares", lambda a: np.shares_memory(np.asarray(a), np.asarray(a))),
    ("asarray copy=False", lambda a: np.asarray(a, copy=False)), ("asarray copy=True", lambda a: np.array(a, copy=True)),
    ("asarray writes through", lambda v: (np.asarray(v).fill(3.0), v)[1]), ("asarray of a transpose", lambda a: np.asarray(a.T)),
    ("asarray of steps", lambda a: np.asarray(a[::-1, ::2])), ("asarray of nothing", lambda e: np.asarray(e)),
    ("asarray of a number", lambda z: np.asarray(z)), ("asarray of bools", lambda m: np.asarray(m)),
    ("asarray of complex", lambda c: np.asarray(c)), ("ascontiguousarray", lambda a: np.ascontiguousarray(a.T)),
    ("asfortranarray", lambda a: np.asfortranarray(a)), ("require", lambda a: np.require(a, "f4", "C")),
    ("asanyarray", lambda a: np.asanyarray(a)), ("array of a list of tensors", lambda v, w: np.array([v, w])),
    ("array of a list of numbers", lambda z: np.array([z, z])), ("__array__", lambda a: a.__array__()),
    ("__array__ dtype", lambda a: a.__array__(np.dtype("f4"))), ("__array__ copy", lambda a: a.__array__(copy=True)),
    ("__array_interface__",
     lambda a: (a.__array_interface__["shape"], a.__array_interface__["typestr"], a.__array_interface__["version"])),
    ("memoryview", lambda a: (memoryview(a).shape, memoryview(a).format, memoryview(a).itemsize)),
    ("memoryview of a transpose", lambda a: memoryview(a.T).strides), ("memoryview tolist", lambda i: memoryview(i).tolist()),
    ("memoryview writes", lambda v: (memoryview(v).__setitem__(0, 9.0), v)[1]), ("bytes", lambda v: bytes(memoryview(v))),
    ("tobytes", lambda a: a.tobytes()), ("tobytes order", lambda a: a.tobytes("F")), ("bytearray", lambda v: bytes(bytearray(v))),
    ("frombuffer", lambda v: np.frombuffer(v)), ("array.array", lambda v: array.array("d", bytes(memoryview(v))).tolist()),
    ("ctypes", lambda v: (ctypes.c_double * 6).from_buffer(v)[2]), ("struct", lambda v: struct.unpack_from("d", v, 8)[0]),
    ("hashlib", lambda v: hashlib.sha256(v).hexdigest()), ("zlib", lambda v: zlib.crc32(v)),
    ("hashlib of a view", lambda v: hashlib.sha256(memoryview(v)).hexdigest()),
    ("zlib of a view", lambda v: zlib.crc32(memoryview(v))), ("write", lambda v: written(memoryview(v))),
    ("base64", lambda v: base64.b64encode(v)), ("readinto", lambda v: (io.BytesIO(b"\0" * 48).readinto(v), v)[1]),
    ("BytesIO", lambda v: io.BytesIO(v).getvalue()), ("json of tolist", lambda a: json.dumps(a.tolist())),
    ("item", lambda z: z.item()), ("item of index", lambda a: a.item(3)), ("float", lambda z: float(z)),
    ("int", lambda i: int(i[0])), ("complex", lambda c: complex(c[0])), ("bool", lambda m: bool(m[0])),
    ("index", lambda n: operator.index(n[0])), ("list index", lambda n: list(range(10))[n[0]]),
    ("range", lambda n: list(range(n[0]))), ("len", lambda a: len(a)), ("iter", lambda a: [row for row in a]),
    ("list", lambda i: list(i)), ("contains", lambda i: (int(i[0]) in i, 99 in i)), ("reversed", lambda i: list(reversed(i))),
    ("sorted", lambda v: sorted(v)), ("builtin sum", lambda v: sum(v)), ("builtin max", lambda v: max(v)),
    ("min with key", lambda w: min(w, key=abs)), ("zip", lambda v, w: [p + q for p, q in zip(v, w)]),
    ("unpacking", lambda v: [*v]), ("math.sqrt", lambda z: math.sqrt(z)), ("math.fsum", lambda v: math.fsum(v)),
    ("statistics.mean", lambda v: statistics.fmean(v)), ("round", lambda z: z.round(1)), ("divmod", lambda w: divmod(w, 0.7)),
    ("format", lambda z: f"{z:.3f}"), ("format of an integer", lambda i: f"{i[0]:4d}"), ("format percent", lambda z: f"{z:%}"),
    ("% formatting", lambda z: "%.2f" % z), ("truth of many raises", lambda v: raises(ValueError, bool, v)),
    ("match sequence", lambda v: matched(v)), ("setitem", lambda a: (a.__setitem__((0, slice(None)), 1.0), a)[1]),
    ("setitem by mask", lambda a: (a.__setitem__(a > 0, 0.0), a)[1]), ("from_dlpack", lambda a: np.from_dlpack(a)),
    ("from_dlpack shares", lambda v: (np.from_dlpack(v), v.__setitem__(0, 1.5))[0]),
    ("from_dlpack of a transpose", lambda a: np.from_dlpack(a.T)), ("from_dlpack of steps", lambda a: np.from_dlpack(a[:, ::2])),
    ("from_dlpack of nothing", lambda e: np.from_dlpack(e)), ("from_dlpack of a number", lambda z: np.from_dlpack(z)),
    ("from_dlpack of bools", lambda m: np.from_dlpack(m)), ("from_dlpack of complex", lambda c: np.from_dlpack(c)),
    ("from_dlpack copy", lambda a: np.from_dlpack(a, copy=True)),
    ("from_dlpack device", lambda a: np.from_dlpack(a, device="cpu")),
    ("__dlpack_device__", lambda a: tuple(map(int, a.__dlpack_device__()))),
    ("capsule", lambda a: '"dltensor"' in repr(a.__dlpack__())),
    ("versioned capsule", lambda a: '"dltensor_versioned"' in repr(a.__dlpack__(max_version=(1, 0)))),
], faults=dict.fromkeys(["frombuffer", "struct", "hashlib", "zlib", "base64", "readinto"],
                        "a tensor hands out no memory without its shape; its memoryview does"))


def written(view):
    file = io.BytesIO()
    file.write(view)
    return file.getvalue()


def raises(error, function, *arguments):
    try:
        function(*arguments)
    except error:
        return True
    return False


def matched(value):
    first, *_, last = value
    return first + last


test_call_works, test_results_stay_native = BUFFERS.tests()
