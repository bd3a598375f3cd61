"""Memory goes to other libraries and comes from them: DLPack, NumPy's protocols, pickles, copies, files.

NumPy and PyTorch are the oracles; capsules that no sane library makes are built by hand with ctypes.
"""

import copy
import ctypes
import gc
import inspect
import io
import operator
import os
import pickle
import subprocess
import sys
import textwrap
import types
import warnings
import weakref
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastops as fo
from test_memory import grown

ROOT = Path(__file__).resolve().parent.parent
# Before 2.1, NumPy's side of DLPack knew no versions: it exports nothing read-only and imports everything so.
NUMPY_KNOWS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
numpy_knows_versions = pytest.mark.skipif(not NUMPY_KNOWS_VERSIONS, reason="NumPy's DLPack is too old")
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def filled(shape, dtype):
    """A NumPy array of different values."""
    values = np.arange(np.prod(shape, dtype=int)) % 7 - (0 if np.dtype(dtype).kind in "bu" else 3)
    return values.astype(dtype).reshape(shape)


LAYOUTS = {
    "0-d": lambda dtype: filled((), dtype), "1-d": lambda dtype: filled(5, dtype), "2-d": lambda dtype: filled((3, 4), dtype),
    "empty": lambda dtype: filled((0, 3), dtype), "transposed": lambda dtype: filled((3, 4), dtype).T,
    "strided": lambda dtype: filled((6, 8), dtype)[1::2, ::3], "deep": lambda dtype: filled((2, 1, 2, 1, 2, 3), dtype),
    "one row": lambda dtype: filled((4, 3), dtype)[1:2], "column": lambda dtype: filled((4, 3), dtype)[:, 1],
    "permuted": lambda dtype: filled((2, 3, 4), dtype).transpose(1, 0, 2),
}
REVERSED = {
    "reversed": lambda dtype: filled(5, dtype)[::-1], "both": lambda dtype: filled((3, 4), dtype)[::-1, ::-2],
    "reversed empty": lambda dtype: filled((3, 0), dtype)[::-1], "reversed one": lambda dtype: filled((1, 3), dtype)[::-1],
}


def same(first, second):
    first, second = np.asarray(first), np.asarray(second)
    return first.dtype == second.dtype and first.shape == second.shape and bool((first == second).all())


def steps_that_mean(array):
    """The strides along the axes that have more than one element, of an array that has any."""
    return [step for step, size in zip(array.strides, array.shape) if size > 1 and array.size]


def read_only(array):
    array = array.view()
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------------------------------- DLPack: round trips

def test_offsets_steps_and_strides_that_mean_nothing():
    """Field case DL-03."""
    base = np.arange(120.).reshape(10, 12)
    v = base[1::2, 2::3]
    strides, values = v.strides, v.copy()
    r1, r2 = fo.from_dlpack(v), fo.from_dlpack(v)
    f = fo.from_dlpack(base)[1::2, 2::3]
    o1, o2 = np.from_dlpack(f), np.from_dlpack(f)
    one = np.ndarray(dtype="f8", shape=(1, 10), strides=(4, 8), buffer=np.arange(100.))
    r3 = fo.from_dlpack(one)
    odd = np.zeros((2, 7), np.float32)[:, :6].view(np.complex64)
    with pytest.raises(BufferError, match="multiple"):
        fo.asarray(odd).__dlpack__()
    small = [fo.from_dlpack(np.array(3.)).shape, fo.from_dlpack(np.empty((0, 3))).shape, fo.from_dlpack(np.array([True])).dtype]
    assert small == [(), (0, 3), bool]
    assert v.strides == strides and f.strides == strides and same(r3, one)
    for imported in (r1, r2, o1, o2):
        assert same(imported, values) and np.shares_memory(np.asarray(imported), base)
    del base, v, f
    gc.collect()
    [np.zeros(120) for _ in range(50)]
    for imported in (r1, r2, o1, o2):
        assert same(imported, values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_both_ways(layout, dtype):
    array = LAYOUTS[layout](dtype)
    tensor = fo.from_dlpack(array)
    assert same(tensor, array) and tensor.writeable
    back = np.from_dlpack(tensor)
    assert same(back, array) and back.flags.writeable == NUMPY_KNOWS_VERSIONS
    if array.size:
        assert back.ctypes.data == array.ctypes.data == tensor.data_ptr()
    if array.size > 1 and 1 not in array.shape:
        assert tensor.strides == array.strides == back.strides


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS | REVERSED)
def test_torch_both_ways(layout, dtype):
    torch = pytest.importorskip("torch")
    array = (LAYOUTS | REVERSED)[layout](dtype)
    tensor = fo.asarray(array)
    foreign = torch.from_dlpack(tensor)
    assert same(foreign.numpy(), array)
    back = fo.from_dlpack(foreign)
    assert same(back, array) and back.writeable
    if array.size:
        assert (foreign.data_ptr() == tensor.data_ptr()) == (layout not in REVERSED or layout == "reversed one")
        assert back.data_ptr() == foreign.data_ptr()
    if layout == "strided":
        back[0, 0] = 1
        assert array[0, 0] == 1 and foreign[0, 0] == 1


@pytest.mark.parametrize("layout", REVERSED)
def test_negative_steps_are_copied_or_refused(layout):
    array = REVERSED[layout]("f8")
    tensor = fo.asarray(array)
    assert same(np.from_dlpack(tensor), array)
    if layout in ("reversed", "both"):
        with pytest.raises(BufferError, match="negative"):
            tensor.__dlpack__(copy=False)
    else:
        assert tensor.__dlpack__(copy=False) is not None
    assert same(fo.from_dlpack(array), array)           # an import may run backwards: NumPy hands it over


@st.composite
def views(draw):
    """A NumPy array and a tensor, both the same random view of the same memory."""
    dtype = draw(st.sampled_from(DTYPES))
    base = filled(draw(st.lists(st.integers(0, 5), max_size=4).map(tuple)), dtype)
    index = []
    for size in base.shape:
        kind = draw(st.integers(0, 4))
        start, stop = draw(st.integers(-size - 1, size + 1)), draw(st.integers(-size - 1, size + 1))
        if kind == 0 and size:
            index.append(draw(st.integers(-size, size - 1)))
        else:
            index.append(slice(start if kind > 1 else None, stop if kind > 2 else None,
                               draw(st.sampled_from([1, 1, 2, 3, -1, -2]))))
    index = tuple(index)
    array, tensor = base[index + (...,)], fo.asarray(base)[index + (...,)]
    order = draw(st.permutations(range(array.ndim)))
    if draw(st.booleans()):
        array, tensor = array.transpose(order), fo.transpose(tensor, order)
    return array, tensor


@given(views())
@settings(max_examples=200)
def test_any_view_goes_anywhere(pair):
    array, tensor = pair
    assert same(tensor, array) and steps_that_mean(np.asarray(tensor)) == steps_that_mean(array)
    imported = fo.from_dlpack(array)
    assert same(imported, array) and (array.size == 0 or imported.data_ptr() == array.ctypes.data)
    assert same(np.from_dlpack(tensor), array)
    assert same(fo.from_dlpack(tensor), array)
    assert same(fo.from_dlpack(tensor, copy=True), array)
    assert same(np.asarray(Interface(tensor.__array_interface__)), array)
    for protocol in range(6):
        assert same(pickle.loads(pickle.dumps(tensor, protocol)), array)
    assert same(copy.copy(tensor), array) and same(copy.deepcopy(tensor), array)
    for order in "CFA":
        assert tensor.tobytes(order) == array.tobytes(order)
    for name in ("c_contiguous", "f_contiguous", "fnc", "forc"):
        assert getattr(tensor.flags, name) == getattr(array.flags, name)


@given(views())
def test_torch_reads_any_view(pair):
    torch = pytest.importorskip("torch")
    array, tensor = pair
    foreign = torch.from_dlpack(tensor)
    assert same(foreign.numpy(), array) and same(fo.from_dlpack(foreign), array)


# ---------------------------------------------------------------------------------------- DLPack: the rules

def capsule_name(capsule):
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get_name(capsule)


@pytest.mark.parametrize("max_version, name", [(None, b"dltensor"), ((0, 0), b"dltensor"), ((0, 8), b"dltensor"),
                                               ((1, 0), b"dltensor_versioned"), ((1, 1), b"dltensor_versioned"),
                                               ((2, 5), b"dltensor_versioned")])
def test_the_capsule_is_of_a_version_that_is_understood(max_version, name):
    capsule = fo.ones(3).__dlpack__(max_version=max_version)
    assert capsule_name(capsule) == name
    if name == b"dltensor_versioned":
        managed = pointed(capsule, name, Versioned)
        assert (managed.major, managed.flags) == (1, 0)


def test_the_capsule_says_what_it_is():
    x = fo.asarray(np.arange(6.0).reshape(2, 3))
    flags = {copy: pointed(x.__dlpack__(max_version=(1, 0), copy=copy), b"dltensor_versioned", Versioned).flags
             for copy in (None, False, True)}
    assert flags == {None: 0, False: 0, True: 2}
    frozen = fo.broadcast_to(x, (2, 2, 3))
    assert pointed(frozen.__dlpack__(max_version=(1, 0)), b"dltensor_versioned", Versioned).flags == 1
    assert pointed(frozen.__dlpack__(max_version=(1, 0), copy=True), b"dltensor_versioned", Versioned).flags == 2
    capsule = x.T[1:].__dlpack__()
    tensor = pointed(capsule, b"dltensor", Plain).tensor
    assert (tensor.device_type, tensor.device_index, tensor.rank, tensor.code, tensor.bits, tensor.lanes) == (1, 0, 2, 2, 64, 1)
    assert tensor.sizes[:2] == [2, 2] and tensor.steps[:2] == [1, 3] and tensor.data + tensor.offset == x.data_ptr() + 8


@numpy_knows_versions
def test_read_only_memory_needs_a_capsule_that_says_so():
    tensor = fo.asarray(read_only(np.arange(3.0)))
    with pytest.raises(BufferError, match="max_version"):
        tensor.__dlpack__()
    with pytest.raises(BufferError):
        tensor.__dlpack__(max_version=(0, 9))
    assert tensor.__dlpack__(copy=True) is not None
    assert not np.from_dlpack(tensor).flags.writeable
    again = fo.from_dlpack(tensor)
    assert not again.writeable and again.data_ptr() == tensor.data_ptr()
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1
    assert not fo.from_dlpack(read_only(np.arange(3.0))).writeable


@pytest.mark.parametrize("frozen", [False, True])
def test_copies_are_copies_and_writable(frozen):
    array = np.arange(6.0).reshape(2, 3).T
    source = read_only(array) if frozen else array
    for producer in (source if NUMPY_KNOWS_VERSIONS else fo.asarray(source), fo.asarray(source), WithoutArguments(array)):
        tensor = fo.from_dlpack(producer, copy=True)
        assert same(tensor, array) and not np.shares_memory(np.asarray(tensor), array)
        tensor[0, 0] = 9
        assert array[0, 0] == 0
    shared = fo.from_dlpack(fo.asarray(source), copy=False)
    assert shared.data_ptr() == array.ctypes.data


class WithoutArguments:
    """A producer of before version 1 of the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()


def test_producers_without_arguments():
    array = np.arange(4.0)
    for copy in (None, False):
        tensor = fo.from_dlpack(WithoutArguments(array), copy=copy, device="cpu")
        assert tensor.data_ptr() == array.ctypes.data and tensor.writeable


class Asked:
    """A producer that writes down what it is asked."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        return fo.asarray(self.array).__dlpack__(**options)


def test_producers_are_asked_once_for_a_version():
    producer = Asked(np.arange(3.0))
    fo.from_dlpack(producer)
    fo.from_dlpack(producer, copy=True)
    fo.from_dlpack(producer, copy=False, device=fo.device("cpu"))
    assert producer.asked == [{"max_version": (1, 1)}, {"max_version": (1, 1), "copy": True},
                              {"max_version": (1, 1), "copy": False, "dl_device": (1, 0)}]


def test_a_producer_that_copies_though_it_must_not():
    class Disobedient:
        def __dlpack__(self, *, max_version=None, copy=None):
            return fo.ones(3).__dlpack__(max_version=max_version, copy=True)
    assert fo.from_dlpack(Disobedient()).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="copy=False"):
        fo.from_dlpack(Disobedient(), copy=False)


@pytest.mark.parametrize("options, error", [
    ({"stream": 1}, RuntimeError), ({"max_version": 1}, TypeError), ({"max_version": (1,)}, TypeError),
    ({"max_version": "10"}, TypeError), ({"max_version": ("a", "b")}, TypeError), ({"dl_device": (2, 0)}, BufferError),
    ({"dl_device": (1, 1)}, BufferError), ({"dl_device": "cpu"}, TypeError), ({"version": (1, 0)}, TypeError)])
def test_what_cannot_be_asked_for(options, error):
    with pytest.raises(error):
        fo.ones(3).__dlpack__(**options)
    with pytest.raises(TypeError):
        fo.ones(3).__dlpack__(None)


def test_devices():
    x = fo.ones(3)
    assert x.__dlpack_device__() == (1, 0) and x.__dlpack__(dl_device=(1, 0)) is not None
    meta = fo.ones(3, device="meta")
    for call in (meta.__dlpack__, meta.__dlpack_device__):
        with pytest.raises(BufferError, match="meta"):
            call()
    for device in ("meta", "cuda", "nowhere"):
        with pytest.raises(ValueError, match="device"):
            fo.from_dlpack(x, device=device)


class Differentiable(fo.Tensor):
    requires_grad = True


def test_a_gradient_would_be_lost():
    tensor = fo.ones(2).as_subclass(Differentiable)
    with pytest.raises(BufferError, match="gradient"):
        tensor.__dlpack__()
    with pytest.raises(RuntimeError, match="detach"):
        tensor.numpy()


@pytest.mark.parametrize("value", [[1, 2], 3.0, None, "text", memoryview(b"ab")])
def test_what_has_no_capsule(value):
    with pytest.raises(TypeError, match="__dlpack__"):
        fo.from_dlpack(value)
    with pytest.raises(AttributeError):
        fo.from_dlpack(value)


def test_a_bare_capsule_is_refused_and_stays_whole():
    capsule = fo.ones(3).__dlpack__()
    with pytest.raises(TypeError, match="capsule"):
        fo.from_dlpack(capsule)
    assert capsule_name(capsule) == b"dltensor"


class Given:
    """A producer of one ready capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, *, max_version=None):
        return self.capsule


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_a_capsule_is_good_once(max_version):
    source = fo.asarray(np.arange(3.0))
    capsule = source.__dlpack__(max_version=max_version)
    first = fo.from_dlpack(Given(capsule))
    assert capsule_name(capsule).startswith(b"used_dltensor")
    for error in (ValueError, BufferError):
        with pytest.raises(error, match="used"):
            fo.from_dlpack(Given(capsule))
    del capsule
    gc.collect()
    assert first.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("result", [None, 3, "dltensor", object()])
def test_what_a_producer_returns_is_a_capsule(result):
    with pytest.raises(TypeError, match="capsule"):
        fo.from_dlpack(Given(result))


def test_what_a_producer_raises_comes_through():
    class Failing:
        def __dlpack__(self, **options):
            raise BufferError("not today")
    with pytest.raises(BufferError, match="not today"):
        fo.from_dlpack(Failing())


def test_signatures_can_be_read():
    assert str(inspect.signature(fo.from_dlpack)) == "(x, /, *, device=None, copy=None)"
    names = list(inspect.signature(fo.Tensor.__dlpack__).parameters)
    assert names == ["self", "stream", "max_version", "dl_device", "copy"]
    assert list(inspect.signature(fo.Tensor.to_device).parameters) == ["self", "device", "stream"]


def test_subclasses_hand_over_their_memory():
    tensor = fo.ones(3).as_subclass(Holder)
    assert np.shares_memory(np.from_dlpack(tensor), np.asarray(tensor))


# ---------------------------------------------------------------------------------------- hostile capsules

class Described(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_index", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("steps", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CapsuleEnd = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Described), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", Deleter),
                ("flags", ctypes.c_uint64), ("tensor", Described)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def pointed(capsule, name, kind):
    """What a capsule holds; the capsule itself is kept alive by it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    managed = kind.from_address(get(capsule, name))
    managed.kept = capsule
    return managed


class Hostile:
    """A producer whose capsule says whatever it is told to, and that counts how often it is deleted."""
    alive = []      # ctypes' memory must outlive the capsules

    def __init__(self, versioned=False, name=None, sizes=(4,), steps=(1,), data=True, offset=0, code=2, bits=64, lanes=1,
                 rank=None, device=1, major=1, minor=0, flags=0, ends=True, deleter=True):
        self.deletions = 0
        self.memory = (ctypes.c_double * 64)(*range(64))
        kind = Versioned if versioned else Plain
        self.managed = kind()
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.memory) + (data if data is not True else 0) if data is not None else None
        tensor.device_type, tensor.rank, tensor.code, tensor.bits, tensor.lanes = device, 0, code, bits, lanes
        tensor.offset = offset
        tensor.rank = len(sizes or ()) if rank is None else rank
        if sizes is not None:
            tensor.sizes = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        if steps is not None:
            tensor.steps = (ctypes.c_int64 * max(1, len(steps)))(*steps)
        if versioned:
            self.managed.major, self.managed.minor, self.managed.flags = major, minor, flags
        if deleter:
            self.managed.deleter = Deleter(self.delete)
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")
        self.end = CapsuleEnd(self.capsule_ends)
        self.ends = ends
        Hostile.alive.append(self)

    def delete(self, managed):
        self.deletions += 1

    def capsule_ends(self, capsule):
        if is_valid(capsule, self.name):
            self.deletions += 1

    def __dlpack__(self, *, max_version=None, copy=None):
        end = ctypes.cast(self.end, ctypes.c_void_p) if self.ends else None
        return new_capsule(ctypes.addressof(self.managed), self.name, end)


HUGE = 2**62
REFUSED = {
    "negative rank": dict(rank=-1), "many dimensions": dict(rank=65), "rank": dict(rank=2**31 - 1),
    "no shape": dict(sizes=None, rank=2), "negative size": dict(sizes=(3, -1), steps=(1, 1)),
    "least size": dict(sizes=(-2**63,)), "too big": dict(sizes=(2**32, 2**32), steps=(0, 0)), "size": dict(sizes=(2**63 - 1,)),
    "too big and empty": dict(sizes=(2**40, 2**40, 0), steps=None), "no memory": dict(data=None),
    "no memory with an offset": dict(data=None, offset=64), "strides": dict(sizes=(4, 4), steps=(HUGE, 1)),
    "sum of strides": dict(sizes=(2, 2, 2), steps=(2**59, 2**59, 2**59)),
    "negative strides": dict(sizes=(2, 2), steps=(-2**59, -2**59)),
    "below nothing": dict(sizes=(2,), steps=(-2**56,)), "least stride": dict(steps=(-2**63,)),
    "greatest stride": dict(steps=(2**63 - 1,)), "offset": dict(offset=2**64 - 8), "large offset": dict(offset=2**63),
    "misaligned": dict(data=4), "misaligned by its offset": dict(offset=3), "odd complex": dict(code=5, bits=128, data=4),
    "lanes": dict(lanes=2), "no lanes": dict(lanes=0), "handle": dict(code=3), "bfloat": dict(code=4, bits=16),
    "code": dict(code=200), "bits": dict(bits=0), "128 bits": dict(bits=128), "4 bits": dict(code=0, bits=4),
    "bool of 1 bit": dict(code=6, bits=1), "bool of 16": dict(code=6, bits=16), "8-bit float": dict(code=7, bits=8),
    "CUDA": dict(device=2), "device": dict(device=0), "negative device": dict(device=-1), "Metal": dict(device=8),
}
REFUSED_VERSIONED = {"major version": dict(major=2), "version 0": dict(major=0), "far version": dict(major=2**32 - 1)}


@pytest.mark.parametrize("ends", [True, False], ids=["ends", "does not end"])
@pytest.mark.parametrize("versioned", [False, True], ids=["plain", "versioned"])
@pytest.mark.parametrize("case", REFUSED | REFUSED_VERSIONED)
def test_hostile_capsules_are_refused_and_deleted_once(case, versioned, ends):
    options = (REFUSED | REFUSED_VERSIONED)[case]
    producer = Hostile(versioned or case in REFUSED_VERSIONED, ends=ends, **options)
    with pytest.raises(BufferError, match="^from_dlpack: ") as caught:
        fo.from_dlpack(producer)
    assert isinstance(caught.value, ValueError)
    del caught
    gc.collect()
    assert producer.deletions == 1


@pytest.mark.parametrize("name", [b"", b"tensor", b"dltensor2", b"DLTENSOR", b"used_dltensor", b"\xff\xfe"])
def test_capsules_of_another_name_are_left_alone(name):
    producer = Hostile(name=name or b" ", ends=False)
    with pytest.raises(ValueError, match="from_dlpack"):
        fo.from_dlpack(producer)
    assert producer.deletions == 0


def test_a_capsule_without_a_name():
    producer = Hostile(ends=False)
    with pytest.raises(ValueError, match="from_dlpack"):
        fo.from_dlpack(Given(new_capsule(ctypes.addressof(producer.managed), None, None)))
    assert producer.deletions == 0


ACCEPTED = {
    "plain": (dict(), [0, 1, 2, 3]), "no steps": (dict(steps=None), [0, 1, 2, 3]), "offset": (dict(offset=16), [2, 3, 4, 5]),
    "steps": (dict(steps=(3,)), [0, 3, 6, 9]), "backwards": (dict(steps=(-1,), offset=24), [3, 2, 1, 0]),
    "repeated": (dict(steps=(0,)), [0, 0, 0, 0]), "scalar": (dict(sizes=(), steps=None), 0), "scalar without shape":
    (dict(sizes=None, steps=None, rank=0, offset=8), 1), "empty": (dict(sizes=(0,), data=None), []),
    "empty with odd steps": (dict(sizes=(0, 2), steps=(2**63 - 1, -2**63), data=1), []),
    "one with an odd step": (dict(sizes=(1, 2), steps=(-2**63, 2)), [[0, 2]]), "pinned": (dict(device=3), [0, 1, 2, 3]),
    "no deleter": (dict(deleter=False), [0, 1, 2, 3]),
}


@pytest.mark.parametrize("versioned", [False, True], ids=["plain", "versioned"])
@pytest.mark.parametrize("case", ACCEPTED)
def test_strange_capsules_that_make_sense(case, versioned):
    options, values = ACCEPTED[case]
    producer = Hostile(versioned, minor=7, **options)
    tensor = fo.from_dlpack(producer)
    assert tensor.tolist() == values and producer.deletions == 0
    view = tensor[...]
    del tensor
    gc.collect()
    assert view.tolist() == values and producer.deletions == 0
    del view
    assert producer.deletions == (case != "no deleter")


def test_flags_of_a_capsule():
    assert not fo.from_dlpack(Hostile(True, flags=1)).writeable
    assert fo.from_dlpack(Hostile(True, flags=2)).writeable
    producer = Hostile(True, flags=3)           # its own copy, but not to be written
    tensor = fo.from_dlpack(producer, copy=True)
    assert tensor.writeable and producer.deletions == 1


def test_a_deleter_that_raises_does_no_harm(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
    producer = Hostile()
    producer.managed.deleter = Deleter(lambda managed: 1 / 0)
    tensor = fo.from_dlpack(producer)
    with pytest.raises(KeyError, match="kept"):
        try:
            raise KeyError("kept")
        finally:
            del tensor
    assert seen == [ZeroDivisionError]


@given(sizes=st.lists(st.integers(-2, 4) | st.integers(-2**63, 2**63 - 1), max_size=5), data=st.data(),
       code=st.integers(0, 8), bits=st.sampled_from([0, 1, 8, 16, 32, 64, 128]), lanes=st.sampled_from([0, 1, 1, 1, 2]),
       offset=st.sampled_from([0, 0, 8, 3, 2**63, 2**64 - 1]), rank=st.none() | st.integers(-3, 5),
       device=st.sampled_from([1, 1, 1, 2, 3, 13]), versioned=st.booleans(), major=st.sampled_from([1, 1, 0, 2]))
@settings(max_examples=300)
def test_random_capsules_are_taken_or_refused(sizes, data, code, bits, lanes, offset, rank, device, versioned, major):
    steps = data.draw(st.none() | st.lists(st.integers(-3, 3) | st.integers(-2**63, 2**63 - 1), min_size=len(sizes),
                                           max_size=len(sizes)))
    assume(rank is None or rank <= len(sizes))
    producer = Hostile(versioned, sizes=sizes, steps=steps, code=code, bits=bits, lanes=lanes, offset=offset, rank=rank,
                       device=device, major=major)
    try:
        tensor = fo.from_dlpack(producer)
    except BufferError:
        pass
    else:
        assert tensor.size * tensor.itemsize < 2**63 and tensor.shape == tuple(sizes[:tensor.ndim])
        del tensor
    assert producer.deletions == 1
    Hostile.alive.clear()


# ---------------------------------------------------------------------------------------- life and death

class Owner(np.ndarray):
    pass


def test_an_export_keeps_the_memory_and_lets_it_go():
    array = np.arange(1000.0).view(Owner)
    alive = weakref.ref(array)
    tensor = fo.asarray(array)
    exports = [np.from_dlpack(tensor), np.asarray(tensor[::2]), tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0)),
               fo.from_dlpack(tensor), np.asarray(Interface(tensor.__array_interface__)), memoryview(tensor)]
    del array, tensor
    while exports:
        gc.collect()
        assert alive() is not None
        if len(exports) > 1:
            assert exports[0][2] in (2.0, 4.0) if not type(exports[0]).__name__ == "PyCapsule" else True
        del exports[0]
    gc.collect()
    assert alive() is None


def test_an_import_keeps_its_producer():
    array = np.arange(3.0).view(Owner)
    alive = weakref.ref(array)
    tensor = fo.from_dlpack(array)
    view = tensor[1:]
    del array, tensor
    gc.collect()
    assert alive() is not None and view.tolist() == [1.0, 2.0]
    del view
    gc.collect()
    assert alive() is None


EXCHANGES = {
    "plain capsule": lambda x, a: x.__dlpack__(), "versioned capsule": lambda x, a: x.__dlpack__(max_version=(1, 0)),
    "copy": lambda x, a: x.__dlpack__(copy=True), "to numpy": lambda x, a: np.from_dlpack(x),
    "from numpy": lambda x, a: fo.from_dlpack(a), "copied import": lambda x, a: fo.from_dlpack(a, copy=True),
    "refused": lambda x, a: refused(x), "backwards": lambda x, a: np.from_dlpack(x[::-1]),
    "array": lambda x, a: x.__array__(), "cast array": lambda x, a: x.__array__("f4"),
    "interface": lambda x, a: x.__array_interface__, "pickle": lambda x, a: pickle.loads(pickle.dumps(x, 5)),
    "pickle 2": lambda x, a: pickle.loads(pickle.dumps(x, 2)), "copy.copy": lambda x, a: copy.copy(x),
    "deepcopy": lambda x, a: copy.deepcopy(x), "flags": lambda x, a: x.flags["C"], "data": lambda x, a: x.data,
    "tobytes": lambda x, a: x.tobytes(), "format": lambda x, a: format(x[0], ".2f"), "numpy": lambda x, a: x.numpy(),
}


def refused(x):
    for options in ({"dl_device": (2, 0)}, {"stream": 3}, {"max_version": 7}):
        try:
            x.__dlpack__(**options)
        except (BufferError, RuntimeError, TypeError):
            continue
        raise AssertionError("not refused")


@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges_do_not_grow(name):
    x, a = fo.asarray(np.arange(3.0)), np.arange(3.0)
    # Python keeps up to 80 freed dictionaries of keyword arguments; a leak would be thousands.
    assert grown(lambda: EXCHANGES[name](x, a), 10_000) < 150


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer keeps what is freed")
def test_exported_memory_is_freed():
    resource = pytest.importorskip("resource")
    x = fo.zeros(2**17)                                     # a megabyte

    def work():
        np.from_dlpack(x[::-1])
        fo.from_dlpack(np.zeros(2**17))
        x.__dlpack__(copy=True)
        x[::-1].__dlpack__(max_version=(1, 0))
        fo.from_dlpack(x, copy=True)
    work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        work()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000     # kilobytes, of 500 that went through


def run_apart(code):
    """Run *code* in a process of its own: it may die of it."""
    start = "import ctypes, gc, sys, threading\nimport numpy as np\nimport fastops as fo\n"
    command = [sys.executable, "-X", "faulthandler", "-c", start + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


def test_exports_that_outlive_the_interpreter():
    assert run_apart("""
        x = fo.asarray(np.arange(3.0))
        kept = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0)), np.from_dlpack(x), fo.from_dlpack(np.ones(3)), memoryview(x)]
        sys.kept = kept
        print("done")""") == "done"


def test_torch_outlives_the_interpreter():
    pytest.importorskip("torch")
    assert run_apart("""
        import torch
        x = fo.ones(1000)
        kept = torch.from_dlpack(x), fo.from_dlpack(torch.ones(1000)), torch.from_dlpack(x[::-1])
        torch.kept = kept
        del x
        print("done")""") == "done"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reaches into the C library")
def test_a_deleter_runs_in_a_foreign_thread_and_after_the_end():
    """Without the GIL, in a thread that Python does not know, and from the C library's exit after Python's own."""
    assert run_apart("""
        api, library = ctypes.pythonapi, ctypes.CDLL(None)
        api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        class Owner(np.ndarray): pass
        import weakref
        def consumed(deleter_at, name, **options):
            array = np.arange(100.0).view(Owner)
            capsule = fo.asarray(array).__dlpack__(**options)
            managed = api.PyCapsule_GetPointer(capsule, name)
            api.PyCapsule_SetName(capsule, b"used_dltensor")
            return weakref.ref(array), managed, ctypes.c_void_p.from_address(managed + deleter_at).value
        for arguments in (((56, b"dltensor"), {}), ((16, b"dltensor_versioned"), {"max_version": (1, 0)})):
            alive, managed, deleter = consumed(*arguments[0], **arguments[1])
            assert alive() is not None
            thread = ctypes.c_ulong()
            assert library.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(managed)) == 0
            library.pthread_join(thread, None)          # lets the GIL go
            assert alive() is None
            alive, managed, deleter = consumed(*arguments[0], **arguments[1])
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(managed)
            assert alive() is None
            alive, managed, deleter = consumed(*arguments[0], **arguments[1])
            assert library.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(managed), None) == 0
        print("done")""") == "done"


def test_threads_exchange_side_by_side():
    assert run_apart("""
        x = fo.asarray(np.arange(100.0))
        failures = []
        def work():
            try:
                for _ in range(2000):
                    a = np.asarray(fo.from_dlpack(x[1:]))
                    b = fo.from_dlpack(a)
                    assert b[3].item() == 4.0
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(failures)""") == "[]"


# ---------------------------------------------------------------------------------------- NumPy's protocols

class Interface:
    def __init__(self, description):
        self.__array_interface__ = description


class OnlyArray:
    def __init__(self, tensor):
        self.tensor = tensor

    def __array__(self, dtype=None, copy=None):
        return self.tensor.__array__(dtype, copy=copy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS | REVERSED)
def test_the_protocols_share_the_memory(layout, dtype):
    array = (LAYOUTS | REVERSED)[layout](dtype)
    tensor = fo.asarray(array)
    for seen in (np.asarray(tensor), tensor.__array__(), np.asarray(Interface(tensor.__array_interface__)),
                 np.asarray(OnlyArray(tensor)), tensor.numpy(), np.asarray(tensor.data)):
        assert same(seen, array) and seen.flags.writeable
        assert array.size == 0 or seen.ctypes.data == array.ctypes.data
        assert steps_that_mean(seen) == steps_that_mean(array)


def test_copies_as_numpy_means_them():
    tensor = fo.asarray(np.arange(6.0).reshape(2, 3).T)
    for source in (tensor, OnlyArray(tensor)):
        assert np.shares_memory(np.asarray(source, copy=False), np.asarray(tensor))
        assert not np.shares_memory(np.array(source), np.asarray(tensor))
        with pytest.raises(ValueError):
            np.asarray(source, dtype="f4", copy=False)
        assert np.asarray(source, dtype="f4").dtype == "f4"
    assert tensor.__array__("f4").dtype == "f4" and tensor.__array__(float).base is tensor
    assert tensor.__array__(copy=True).strides == tensor.strides and tensor.__array__(copy=True).base is None
    assert tensor.__array__("f8", copy=False).base is tensor
    with pytest.raises(ValueError, match="copy=False"):
        tensor.__array__("i4", copy=False)
    with pytest.raises(TypeError):
        tensor.__array__("no such dtype")


def test_no_protocol_warns():
    tensor = fo.ones((2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in (tensor, OnlyArray(tensor), Interface(tensor.__array_interface__)):
            np.asarray(source), np.array(source, copy=True), np.asarray(source, dtype="f4"), np.sum(source)


def test_read_only_in_every_protocol():
    tensor = fo.asarray(read_only(np.arange(3.0)))
    assert tensor.__array_interface__["data"] == (tensor.data_ptr(), True)
    for seen in (np.asarray(tensor), tensor.__array__(), np.asarray(Interface(tensor.__array_interface__)), tensor.numpy()):
        assert not seen.flags.writeable
        with pytest.raises(ValueError):
            seen.flags.writeable = True
    assert tensor.data.readonly


def test_no_memory_no_protocol():
    meta = fo.ones(3, device="meta")
    assert not hasattr(meta, "__array_interface__")
    for call in (meta.__array__, lambda: np.asarray(meta), meta.numpy, meta.tobytes, lambda: memoryview(meta),
                 lambda: fo.save(io.BytesIO(), meta), lambda: meta.tofile("nowhere")):
        with pytest.raises((TypeError, BufferError), match="meta|Meta"):
            call()


def test_namespace_and_generic():
    x = fo.ones(2)
    assert x.__array_namespace__() is fo
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is fo
    for version in ("2020.12", "2026.12", 2024):
        with pytest.raises(ValueError, match="2025.12"):
            x.__array_namespace__(api_version=version)
    assert isinstance(fo.Tensor[int, float], types.GenericAlias)


def test_devices_of_tensors():
    x = fo.ones(2)
    assert x.to_device("cpu") is x and x.to_device(x.device) is x and x.cpu() is x
    assert x.to_device("meta").device == "meta"
    with pytest.raises(ValueError):
        x.to_device("meta").cpu()
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    with pytest.raises(ValueError):
        x.to_device("cuda")
    assert same(x.numpy(force=True), x)


# ---------------------------------------------------------------------------------------- read-only, flags, alignment

def frozen():
    """Read-only tensors of every origin, with a NumPy array or None to see what is written."""
    array = np.arange(12.0).reshape(3, 4)
    tensor = fo.asarray(array.copy())
    tensor.setflags(write=False)
    yield tensor
    yield fo.asarray(read_only(array))
    yield fo.from_dlpack(fo.asarray(read_only(array)))
    if NUMPY_KNOWS_VERSIONS:
        yield fo.from_dlpack(read_only(array))
    yield fo.frombuffer(array.tobytes()).reshape(3, 4)
    yield fo.broadcast_to(fo.arange(4.0), (3, 4))
    yield pickle.loads(pickle.dumps(fo.asarray(read_only(array)), 5))


VIEWS = {
    "itself": lambda x: x, "slice": lambda x: x[1:, ::2], "row": lambda x: x[0], "T": lambda x: x.T,
    "reshape": lambda x: x[0].reshape(2, 2), "flip": lambda x: fo.flip(x),
    "squeeze": lambda x: x[:1].squeeze(), "subclass": lambda x: x.as_subclass(Holder), "real": lambda x: x.real,
    "expand": lambda x: fo.expand_dims(x, 0), "dlpack": lambda x: fo.from_dlpack(x), "numpy": lambda x: fo.asarray(np.asarray(x)),
    "numpy's dlpack": lambda x: fo.from_dlpack(np.from_dlpack(x) if NUMPY_KNOWS_VERSIONS else x),
    "pickle": lambda x: pickle.loads(pickle.dumps(x, 5)),
    "old pickle": lambda x: pickle.loads(pickle.dumps(x, 2)), "asarray": fo.asarray, "moved": lambda x: fo.moveaxis(x, 0, 1),
    "memoryview": lambda x: fo.asarray(memoryview(x)),
}


@pytest.mark.parametrize("view", VIEWS)
def test_read_only_survives(view):
    for source in frozen():
        before = source.tolist()
        tensor = VIEWS[view](source)
        writes = (lambda: tensor.__setitem__(..., 9), lambda: operator.iadd(tensor, 1), lambda: fo.add(tensor, 1, out=tensor),
                  lambda: np.asarray(tensor).__setitem__(..., 9), lambda: tensor.setflags(write=True),
                  lambda: setattr(np.asarray(tensor).flags, "writeable", True))
        assert not tensor.writeable and not tensor.flags.writeable
        if view in ("itself", "subclass", "asarray", "real"):
            writes = writes[:4]         # these are the tensor where write=False was set, which may take it back
        for write in writes:
            with pytest.raises(ValueError):
                write()
        assert source.tolist() == before
        assert (tensor + 1).writeable and tensor.copy().writeable and copy.copy(tensor).writeable


def test_flags_are_set_and_taken_back_where_they_were_set():
    x = fo.zeros((2, 3))
    view = x[0]
    x.flags.writeable = False
    late = x[1]
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 1
    view[0] = 5             # made before: as in NumPy, it may still be written
    for call in (lambda: late.setflags(write=True), lambda: setattr(late.flags, "writeable", True),
                 lambda: late.flags.__setitem__("W", True)):
        with pytest.raises(ValueError, match="read-only"):
            call()
    late.setflags(write=False)
    with pytest.raises(ValueError):
        late.setflags(write=True)
    x.setflags(write=True)
    x[0, 1] = 6
    assert x[0].tolist() == [5.0, 6.0, 0.0] and not late.writeable
    x.setflags(True, True, False)
    for options in ({"align": False}, {"uic": True}):
        with pytest.raises(ValueError):
            x.setflags(**options)


@pytest.mark.parametrize("layout", LAYOUTS | REVERSED)
def test_flags_are_numpys(layout):
    array = (LAYOUTS | REVERSED)[layout]("f4")
    flags = fo.asarray(array).flags
    for name in ("c_contiguous", "f_contiguous", "contiguous", "fortran", "writeable", "aligned", "writebackifcopy",
                 "behaved", "carray", "fnc", "forc"):
        assert getattr(flags, name) == getattr(array.flags, name), name
    for key in ("C", "F", "W", "A", "X", "B", "CA", "C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "BEHAVED",
                "CARRAY", "FNC", "FORC", "CONTIGUOUS", "FORTRAN", "WRITEBACKIFCOPY"):
        assert flags[key] == array.flags[key], key
    assert flags.farray == flags["FA"] == (flags.behaved and flags.fnc)        # NumPy's own says yes to any behaved memory
    assert flags.num & ~4 == array.flags.num & ~4 and not flags.owndata
    assert fo.asarray(array).flags == fo.asarray(array).flags
    for key in ("c_contiguous", "NOTHING", 3):
        with pytest.raises(KeyError):
            flags[key]
    with pytest.raises(ValueError):
        flags["C"] = True
    with pytest.raises(AttributeError):
        flags.aligned = True


def test_flags_print_as_numpys():
    array = np.zeros((2, 3))
    assert str(fo.zeros((2, 3)).flags) == str(array.flags).rstrip()


def test_owners():
    array = np.zeros((2, 3))
    x = fo.zeros((2, 3))
    assert x.base is None and x.flags.owndata and not x[0].flags.owndata and x.reshape(6).flags.owndata
    assert fo.asarray(array).base is array and fo.asarray(array)[0].base is array and not fo.asarray(array).flags.owndata
    assert fo.from_dlpack(array).base is None and not fo.from_dlpack(array).flags.owndata
    assert not fo.zeros(3, device="meta").flags.owndata
    assert sys.getsizeof(fo.zeros(1000)) == sys.getsizeof(fo.zeros(1)) + 8 * 999
    assert sys.getsizeof(fo.zeros(1000)[1:]) == sys.getsizeof(fo.zeros(0)) == sys.getsizeof(fo.asarray(np.zeros(1000)))


@pytest.mark.parametrize("make", [
    lambda n: fo.empty(n), lambda n: fo.asarray([1.0] * n), lambda n: fo.array(np.ones(n)), lambda n: fo.asarray(np.ones(n), copy=True), lambda n: fo.zeros(n, dtype="u1"), lambda n: fo.ones(n) + 1, lambda n: fo.sin(fo.ones(n)),
    lambda n: fo.ones((n, 2)).sum(axis=1), lambda n: fo.ones((n, 2)) @ fo.ones((2, 3)), lambda n: fo.ones(n).copy(),
    lambda n: copy.deepcopy(fo.asarray(np.ones(n))), lambda n: fo.ones(n).astype("f4"),
    lambda n: np.from_dlpack(fo.flip(fo.ones(n)))])
def test_own_memory_is_aligned_to_cache_lines(make):
    kept = [make(n) for n in (1, 2, 3, 5, 17, 100, 1000, 10_000) for _ in range(5)]
    for tensor in kept:
        address = tensor.data_ptr() if isinstance(tensor, fo.Tensor) else tensor.ctypes.data
        assert address % 64 == 0


# ---------------------------------------------------------------------------------------- pickles and copies

class Holder(fo.Tensor):
    pass


class Slotted(fo.Tensor):
    __slots__ = ("unit", "__dict__")


class WithState(fo.Tensor):
    def __getstate__(self):
        return {"name": self.name + "!"}

    def __setstate__(self, state):
        self.name = state["name"]


def sevens(shape):
    return fo.full(shape, 7.0)


class OwnWay(fo.Tensor):
    def __reduce__(self):
        return sevens, (self.shape,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS | REVERSED)
def test_pickles(layout, dtype):
    array = (LAYOUTS | REVERSED)[layout](dtype)
    tensor = fo.asarray(array)
    for protocol in range(6):
        back = pickle.loads(pickle.dumps(tensor, protocol))
        assert type(back) is fo.Tensor and same(back, array) and back.writeable
        assert back.flags.f_contiguous if array.flags.f_contiguous else back.flags.c_contiguous
        if back.size:
            back[...] = back
    buffers = []
    text = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    back = pickle.loads(text, buffers=buffers)
    assert same(back, array)
    if array.size and array.flags.forc:
        assert len(buffers) == 1 and back.data_ptr() == tensor.data_ptr()


def test_buffers_out_of_band():
    tensor = fo.asarray(np.arange(10_000.0))
    buffers = []
    text = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    assert len(text) < 200 and buffers[0].raw().nbytes == tensor.nbytes
    received = bytearray(buffers[0].raw())
    back = pickle.loads(text, buffers=[received])
    back[0] = 7.0
    assert np.frombuffer(received)[0] == 7.0 and tensor[0].item() == 0.0
    frozen = pickle.loads(text, buffers=[bytes(received)])
    assert not frozen.writeable and frozen[0].item() == 7.0
    shifted = memoryview(bytearray(b"x" + bytes(received)))[1:]
    assert same(pickle.loads(text, buffers=[shifted]), back)
    with pytest.raises((TypeError, ValueError)):
        pickle.loads(text, buffers=[b"short"])
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(text)


@pytest.mark.parametrize("protocol", range(6))
def test_subclasses_pickle_whole(protocol):
    held = fo.ones(2).as_subclass(Holder)
    held.unit, held.itself = "m", held
    back = pickle.loads(pickle.dumps(held, protocol))
    assert type(back) is Holder and back.unit == "m" and back.itself is back and same(back, held)
    slotted = fo.ones(2).as_subclass(Slotted)
    slotted.unit, slotted.other = "s", 3
    back = pickle.loads(pickle.dumps(slotted, protocol))
    assert type(back) is Slotted and back.unit == "s" and back.other == 3
    state = fo.ones(2).as_subclass(WithState)
    state.name = "n"
    assert pickle.loads(pickle.dumps(state, protocol)).name == "n!"
    assert pickle.loads(pickle.dumps(fo.ones(2).as_subclass(OwnWay), protocol)).tolist() == [7.0, 7.0]


@pytest.mark.parametrize("protocol", range(6))
def test_what_else_pickles(protocol):
    meta = pickle.loads(pickle.dumps(fo.ones((2, 3), dtype="f4", device="meta").T, protocol))
    assert (meta.shape, meta.dtype, meta.strides, str(meta.device)) == ((3, 2), np.dtype("f4"), (4, 12), "meta")
    x = fo.ones(3)
    pair = pickle.loads(pickle.dumps([x, x], protocol))
    assert pair[0] is pair[1]


def test_reduce_without_a_protocol():
    function, arguments = fo.asarray([1, 2]).__reduce__()
    assert function(*arguments).tolist() == [1, 2]


def test_copies():
    array = filled((3, 4), "f4").T
    tensor = fo.asarray(read_only(array))
    for make in (copy.copy, copy.deepcopy):
        result = make(tensor)
        assert same(result, array) and result.strides == array.strides and result.writeable
        assert not fo.shares_memory(result, tensor)
        assert make(fo.ones(2, device="meta")).device == "meta"
    x = fo.ones(2)
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1] and pair[0] is not x


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_of_subclasses(make):
    held = fo.ones(2).as_subclass(Holder)
    held.parts = [1]
    back = make(held)
    assert type(back) is Holder and back.parts == [1] and (back.parts is held.parts) == (make is copy.copy)
    back[0] = 5
    assert held.tolist() == [1.0, 1.0]
    held.itself = held
    assert (make(held).itself is held) == (make is copy.copy)
    slotted = fo.ones(2).as_subclass(Slotted)
    slotted.unit = "s"
    assert make(slotted).unit == "s"
    state = fo.ones(2).as_subclass(WithState)
    state.name = "n"
    assert make(state).name == "n!"
    cycle = copy.deepcopy(held)
    assert cycle.itself is cycle


def test_copies_die():
    held = fo.ones(2).as_subclass(Holder)
    held.itself = held
    gone = [weakref.ref(value) for value in (copy.deepcopy(held), pickle.loads(pickle.dumps(held)), copy.copy(fo.ones(2)),
                                             fo.from_dlpack(np.ones(2)))]
    gc.collect()
    assert [reference() for reference in gone] == [None] * 4


@pytest.mark.parametrize("value", [1.5, 3, True, 2 + 1j, np.float32(0.1), np.int8(-3), np.float16(2.5)])
def test_format(value):
    array = np.asarray(value)
    for spec in ("", ".2f", "10", "e", "x", "+d", "nonsense"):
        try:
            expected = format(array, spec)
        except (ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                format(fo.asarray(array), spec)
        else:
            assert format(fo.asarray(array), spec) == expected
    assert f"{fo.asarray([1.0, 2.0])}" == f"{np.array([1.0, 2.0])}"
    with pytest.raises(TypeError, match="format"):
        format(fo.asarray([1.0]), ".2f")
    assert "meta" in f"{fo.ones((), device='meta')}"


# ---------------------------------------------------------------------------------------- files

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS | REVERSED)
def test_npy_files_are_numpys(layout, dtype, tmp_path):
    array = (LAYOUTS | REVERSED)[layout](dtype)
    ours, theirs = tmp_path / "ours.npy", tmp_path / "theirs.npy"
    fo.save(ours, fo.asarray(array))
    np.save(theirs, array)
    assert ours.read_bytes() == theirs.read_bytes()
    for back in (fo.load(theirs), fo.load(str(ours)), fo.load(io.BytesIO(ours.read_bytes()))):
        assert type(back) is fo.Tensor and same(back, array) and back.writeable
    with open(ours, "rb") as file:
        assert same(fo.load(file), array)


def test_npz_files(tmp_path):
    path = tmp_path / "several"
    for write in (fo.savez, fo.savez_compressed):
        write(path, fo.arange(3), [1.5], named=fo.ones((2, 2), dtype="f4"))
        with np.load(f"{path}.npz") as theirs:
            assert sorted(theirs.files) == ["arr_0", "arr_1", "named"] and same(theirs["named"], np.ones((2, 2), "f4"))
        archive = fo.load(f"{path}.npz")
        with archive as inside:
            assert inside is archive and list(archive) == archive.files and len(archive) == 3
            assert archive["arr_0"].tolist() == [0, 1, 2] and archive["arr_1"].tolist() == [1.5] and "named" in archive
            assert {name: type(value) for name, value in archive.items()} == dict.fromkeys(archive.files, fo.Tensor)
            with pytest.raises(KeyError, match="nothing.*several"):
                archive["nothing"]
            assert archive.get("nothing") is None and "several" in repr(archive)
        archive.close()
        with pytest.raises(ValueError, match="closed"):
            archive["arr_0"]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts open files")
def test_files_are_closed(tmp_path):
    fo.savez(tmp_path / "a.npz", fo.ones(3))
    (tmp_path / "bad.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-20])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with fo.load(tmp_path / "a.npz") as archive:
            archive["arr_0"]
        with pytest.raises(ValueError):
            fo.load(tmp_path / "bad.npz")
        fo.load(tmp_path / "a.npz")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_maps(tmp_path):
    path = tmp_path / "map.npy"
    fo.save(path, fo.arange(12.0).reshape(3, 4).T)
    mapped = fo.load(path, mmap_mode="r")
    assert isinstance(mapped.base, np.memmap) and not mapped.writeable and mapped.flags.f_contiguous
    with pytest.raises(ValueError, match="read-only"):
        mapped[0, 0] = 1
    assert mapped[1:].sum().item() == 66.0 - 12.0
    private = fo.load(path, mmap_mode="c")
    private[0, 0] = 5
    assert fo.load(path)[0, 0].item() == 0.0
    shared = fo.load(path, mmap_mode="r+")
    shared[0, 0] = 7
    shared.base.flush()
    view = shared[0]
    del shared
    gc.collect()
    assert view[0].item() == 7.0 and fo.load(path)[0, 0].item() == 7.0
    with pytest.raises(ValueError, match="mmap_mode"):
        fo.load(path, mmap_mode="w+")


def test_a_file_that_is_cut_off_is_not_made_longer(tmp_path):
    path = tmp_path / "cut.npy"
    fo.save(path, fo.arange(1000.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:500])
    for mode in (None, "r", "r+", "c"):
        with pytest.raises(ValueError, match="cut.npy"):
            fo.load(path, mmap_mode=mode)
    assert path.read_bytes() == whole[:500]


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("should_not_exist",)


def npy(dtype="'<f8'", shape="(3,)", data=bytes(24), magic=b"\x93NUMPY\x01\x00"):
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return magic + len(header).to_bytes(2, "little") + header + data


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


MALFORMED = {
    "empty": (b"", EOFError), "text": (b"hello world", ValueError), "magic only": (b"\x93NUMPY", ValueError),
    "version": (npy(magic=b"\x93NUMPY\x09\x00"), ValueError), "no data": (npy(data=b""), ValueError),
    "short": (npy(data=bytes(20)), ValueError),
    "header": (b"\x93NUMPY\x01\x00\x40\x00{", ValueError), "huge": (npy(shape="(10**18,)"), ValueError),
    "large": (npy(shape="(1000000000000000000,)"), ValueError), "wraps": (npy(shape="(4294967296, 4294967296)"), ValueError),
    "negative": (npy(shape="(-1, 2)"), ValueError), "call": (npy(shape="__import__('os').getcwd()"), ValueError),
    "no dtype": (npy(dtype="'no'"), ValueError), "shape": (npy(shape="'abc'"), ValueError),
    "nested": (npy(shape="(" * 3000 + ")" * 3000), ValueError), "long header": (npy(shape="(" + "1," * 20000 + ")"), ValueError),
    "dimensions": (npy(shape="(" + "1," * 65 + ")", data=bytes(8)), ValueError), "pickle": (pickle.dumps(Bomb()), ValueError),
    "objects": (npy(dtype="'|O'", data=pickle.dumps(Bomb())), TypeError), "records": (npy(dtype="[('a', '<f8')]"), TypeError),
    "texts": (npy(dtype="'<U2'"), TypeError), "dates": (npy(dtype="'<M8[s]'"), TypeError),
    "zip": (b"PK\x03\x04" + bytes(50), ValueError),
    "long doubles": (npy(dtype="'<f16'", data=bytes(48)), TypeError),
}


@pytest.mark.parametrize("how", ["path", "bytes", "member"])
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files(case, how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, kind = MALFORMED[case]
    path = tmp_path / "strange.npy"
    path.write_bytes(content)
    if how == "member":
        path.write_bytes(zipped(**{"a.npy": content}))
    with pytest.raises(ValueError if how == "member" and kind is EOFError else kind) as caught:
        if how == "member":
            with fo.load(path) as archive:
                archive["a"]
        else:
            fo.load(path if how == "path" else io.BytesIO(content))
    assert ("BytesIO" if how == "bytes" else "strange.npy") in str(caught.value)
    if kind is TypeError:
        assert "dtype" in str(caught.value)
    assert not os.path.exists("should_not_exist")


def test_pickles_in_files_run_only_when_allowed(tmp_path):
    path = tmp_path / "objects.npy"
    np.save(path, np.array([1, None], dtype=object), allow_pickle=True)
    with pytest.raises(TypeError, match="object"):
        fo.load(path)
    with pytest.raises(TypeError, match="object"):
        fo.load(path, allow_pickle=True)
    path.write_bytes(pickle.dumps(np.arange(3)))
    assert fo.load(path, allow_pickle=True).tolist() == [0, 1, 2]


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fo.load(tmp_path / "nowhere.npy")
    with pytest.raises(OSError):
        fo.load(tmp_path)
    with pytest.raises(OSError):
        fo.save(tmp_path / "no" / "where.npy", fo.ones(2))


@pytest.mark.parametrize("value", [np.array([None]), np.array(["a"]), np.zeros(2, "f8,i4"), np.zeros(2, "M8[s]"), [object()]])
def test_other_dtypes_are_refused_by_name(value):
    for call in (lambda: fo.save(io.BytesIO(), value), lambda: fo.savez(io.BytesIO(), value),
                 lambda: fo.savez_compressed(io.BytesIO(), a=value), lambda: fo.savetxt(io.StringIO(), value)):
        with pytest.raises(TypeError, match="^save"):
            call()
    for dtype in (object, "U3", "f8,i4", "M8[s]"):
        for call in (lambda: fo.frombuffer(b"12345678", dtype), lambda: fo.fromiter([1], dtype),
                     lambda: fo.fromstring("1", dtype, sep=" "), lambda: fo.loadtxt(["1"], dtype),
                     lambda: fo.genfromtxt(["1 2"], dtype), lambda: fo.fromfile("nowhere", dtype)):
            with pytest.raises(TypeError, match="dtype"):
                call()


SAVED = {"npy": io.BytesIO(), "npz": io.BytesIO(), "compressed": io.BytesIO()}
fo.save(SAVED["npy"], fo.arange(20.0).reshape(4, 5))
fo.savez(SAVED["npz"], a=fo.arange(5), b=fo.ones((2, 2), dtype="f4"))
fo.savez_compressed(SAVED["compressed"], a=fo.arange(50), b=fo.ones((2, 2), dtype="c8"))


@given(kind=st.sampled_from(list(SAVED)), length=st.none() | st.floats(0, 1), mapped=st.sampled_from([None, "r", "c", "r+"]),
       changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4), apart=st.booleans())
@settings(max_examples=400)
def test_damaged_files_never_crash(kind, length, changes, mapped, apart, tmp_path_factory):
    content = bytearray(SAVED[kind].getvalue())
    for place, value in changes:
        content[int(place * len(content))] = value
    if length is not None:
        del content[int(length * len(content)):]
    path = None
    if apart:
        path = tmp_path_factory.getbasetemp() / "damaged"
        path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fo.load(path if apart else io.BytesIO(content), mmap_mode=mapped if apart else None)
            values = list(found.values()) if isinstance(found, Mapping) else [found]
    except (ValueError, OSError, EOFError):
        return
    except TypeError as error:
        assert "dtype" in str(error)
        return
    assert all([isinstance(value, fo.Tensor) and np.asarray(value).size == value.size for value in values])


def test_text_files(tmp_path):
    path = tmp_path / "table.txt"
    table = fo.asarray([[1.5, 2.0], [3.0, -4.25]])
    fo.savetxt(path, table.T, fmt="%.3f", delimiter=",", header="a b")
    np.savetxt(tmp_path / "theirs.txt", np.asarray(table).T, fmt="%.3f", delimiter=",", header="a b")
    assert path.read_text() == (tmp_path / "theirs.txt").read_text()
    assert same(fo.loadtxt(path, delimiter=","), np.loadtxt(path, delimiter=","))
    positional = (path, "f4", "#", ",", None, 1, (1,), False, 1)
    assert same(fo.loadtxt(*positional), np.loadtxt(*positional))
    keywords = dict(delimiter=",", unpack=True, skiprows=1, max_rows=1)
    assert same(fo.loadtxt(path, **keywords), np.loadtxt(path, **keywords))
    assert same(fo.genfromtxt(path, float, "#", ","), np.genfromtxt(path, float, "#", ","))
    assert fo.genfromtxt(["1", "2"], dtype=None).dtype == "i8"
    with pytest.raises(TypeError, match="dtype"):
        fo.genfromtxt(["1 a"], dtype=None, encoding="utf-8")
    with pytest.raises(ValueError):
        fo.loadtxt(["1 x"])


def test_raw_files(tmp_path):
    path = tmp_path / "raw"
    x = fo.asarray(filled((3, 4), "f4").T)
    x.tofile(path)
    assert same(fo.fromfile(path, "f4"), np.asarray(x).ravel()) and path.read_bytes() == x.tobytes()
    assert same(fo.fromfile(path, dtype="f4", count=2, offset=4), np.asarray(x).ravel()[1:3])
    x.tofile(str(path), sep=" ", format="%g")
    assert same(fo.fromfile(path, sep=" "), np.fromfile(path, sep=" "))


def test_buffers_iterators_and_strings():
    memory = bytearray(np.arange(4.0).tobytes())
    x = fo.frombuffer(memory)
    x[0] = 9
    assert np.frombuffer(memory)[0] == 9.0 and not fo.frombuffer(bytes(memory)).writeable
    assert fo.frombuffer(memory, "f8", 2, 8).tolist() == [1.0, 2.0]
    assert fo.frombuffer(memoryview(memory)[1:17], "f8").size == 2                     # not aligned: copied
    for arguments in ((memory, "f8", 9), (memory, "f8", -1, 3), (b"123", "f8"), (memory, "f8", -1, 99)):
        with pytest.raises(ValueError):
            fo.frombuffer(*arguments)
    assert fo.frombuffer(memory, ">f8").tolist() == np.frombuffer(memory, ">f8").tolist()
    assert fo.fromiter(range(4), "i2", 3).tolist() == [0, 1, 2] and fo.fromiter([], float).shape == (0,)
    with pytest.raises(ValueError):
        fo.fromiter([1], int, 2)
    assert fo.fromstring("1, 2", int, sep=",").tolist() == [1, 2]
    with pytest.raises(ValueError, match="frombuffer"):
        fo.fromstring("1 2", sep="")


@given(views(), views())
def test_overlap_is_numpys(first, second):
    for a in (first[0], second[0], first[0][..., ::2] if first[0].ndim else first[0]):
        assert fo.shares_memory(first[1], fo.asarray(a)) == np.shares_memory(first[0], a)
        assert fo.may_share_memory(first[1], a) is np.may_share_memory(first[0], a)
