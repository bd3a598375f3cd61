"""Nothing grows, nothing leaks, nothing dangles: long runs of calls, views, foreign memory, weak references, cycles."""

import copy
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import fastops as fo


def grown(work, count=10_000, warm=200):
    """How many more memory blocks Python holds after *count* runs of *work*, the collector being off.

    The test runner's own threads allocate meanwhile, so the least of three repeats counts: a leak is in each.
    """
    for _ in range(warm):
        work()
    found = []
    for _ in range(3):
        gc.collect()
        gc.disable()
        try:
            before = sys.getallocatedblocks()
            for _ in range(count):
                work()
            found.append(sys.getallocatedblocks() - before)
        finally:
            gc.enable()
    return min(found)


x = fo.asarray([[1.0, 2.0], [3.0, 4.0]])
v = fo.asarray([1.0, 2.0])
mask = x > 2
big = fo.zeros((2, 1, 2, 1, 2, 1))

CALLS = {
    "add": lambda: x + v, "scalar": lambda: x + 2.5, "in place": lambda: x.__iadd__(0.0), "out": lambda: fo.add(x, v, out=x - x),
    "mixed": lambda: x + fo.ones(2, dtype="i4"), "compare": lambda: x < v, "where": lambda: fo.where(mask, x, 0),
    "sum": lambda: x.sum(axis=0), "mean": lambda: x.mean(), "argmax": lambda: x.argmax(), "cumsum": lambda: x.cumsum(0),
    "matmul": lambda: x @ x, "einsum": lambda: fo.einsum("ij,j", x, v), "view": lambda: x[0, ::-1], "T": lambda: x.T,
    "reshape": lambda: x.reshape(4, 1), "mask": lambda: x[mask], "fancy": lambda: x[[0, 1], [1, 0]],
    "setitem": lambda: x.__setitem__((0, 0), 1.0), "concat": lambda: fo.concat([x, x]), "deep": lambda: big + 1,
    "list": lambda: fo.asarray([1, 2, 3]), "ndarray": lambda: fo.asarray(np.ones(3)) + 1, "numpy": lambda: np.asarray(x),
    "divmod": lambda: fo.divmod(x, 2.0), "astype": lambda: x.astype("f4"), "meta": lambda: fo.zeros(3, device="meta") + 1,
    "item": lambda: v[0].item(), "float": lambda: float(v[1]), "composite": lambda: fo.clip(x, 0, 1), }


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_grow(name):
    assert grown(CALLS[name], 2000) < 60


def test_printing_does_not_grow():
    repr(v)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        repr(v)
    gc.collect()            # NumPy's printing makes cycles of its own
    assert sys.getallocatedblocks() - before < 60


FAILURES = {
    "shapes": lambda: x + fo.ones(3), "dtype": lambda: fo.bitwise_and(x, x), "argument": lambda: fo.sin(x, axis=1),
    "missing": lambda: fo.add(x), "index": lambda: x[7], "axis": lambda: x.sum(axis=5), "device": lambda: fo.zeros(2, device="no"),
    "overflow": lambda: fo.ones(2, dtype="u1") + 300, "size": lambda: fo.zeros((2**40, 2**40)), "negative": lambda: fo.zeros(-1),
    "reshape": lambda: x.reshape(5, 5), "matmul": lambda: x @ fo.ones(3), "read-only": lambda: fo.broadcast_to(v, (2, 2)).__iadd__(1),
    "out": lambda: fo.add(x, x, out=v), "rank": lambda: fo.zeros((1,) * 65), "key": lambda: fo.DispatchKeySet("None"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_do_not_grow_and_leave_the_thread_clean(name):
    def work():
        try:
            FAILURES[name]()
        except Exception:
            return
        raise AssertionError(f"{name} did not fail")
    state = fo.dispatch.local_state()
    assert grown(work, 500, 50) < 60
    assert fo.dispatch.local_state() == state


@pytest.mark.smoke
def test_a_million_calls_do_not_grow():
    a, b = fo.asarray([1.0]), fo.asarray([2.0])

    def work():
        for _ in range(1000):
            a + b
    assert grown(work, 350, 5) < 60


def test_a_million_calls_of_a_python_kernel_do_not_grow():
    with fo.library._scoped_library("memory_kernel", "DEF") as library:
        library.define("same(Tensor x, int k=1, *, str mode='a') -> Tensor")
        library.impl("same", lambda x, k=1, *, mode="a": x, "CPU")
        same, a = fo.ops.memory_kernel.same.default, fo.asarray([1.0])

        def work():
            for _ in range(500):
                same(a, 2, mode="b")
                same(a)
        assert grown(work, 350, 5) < 60


def test_views_keep_the_memory():
    base = fo.arange(10.0) + 0
    view = base[2:5]
    del base
    gc.collect()
    [fo.zeros(10) for _ in range(100)]
    assert view.tolist() == [2.0, 3.0, 4.0]


def test_numpy_arrays_keep_the_memory_both_ways():
    array = np.arange(5.0)
    count = sys.getrefcount(array)
    tensor = fo.asarray(array)
    view = tensor[1:]
    assert sys.getrefcount(array) == count + 1
    del array, tensor
    gc.collect()
    assert view.tolist() == [1.0, 2.0, 3.0, 4.0]
    back = np.asarray(view)
    del view
    [fo.ones(4) for _ in range(50)]
    assert back.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_weak_references():
    tensor = fo.ones(3) + 1
    seen = []
    reference = weakref.ref(tensor, lambda ref: seen.append("gone"))
    assert reference() is tensor
    del tensor
    assert reference() is None and seen == ["gone"]
    again = [weakref.ref(fo.ones(2)) for _ in range(300)]
    assert all(ref() is None for ref in again)


class Holder(fo.Tensor):
    pass


def test_cycles_through_a_subclass_are_collected():
    tensor = fo.ones(3).as_subclass(Holder)
    tensor.itself = tensor
    reference = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert reference() is None


class Exporter(np.ndarray):
    pass


def test_cycles_through_foreign_memory_are_collected():
    array = np.ones(3).view(Exporter)
    tensor = fo.asarray(array)
    array.tensor = tensor
    reference = weakref.ref(array)
    del array, tensor
    gc.collect()
    assert reference() is None


def test_foreign_memory_in_use_survives_the_collector():
    array = np.ones(3).view(Exporter)
    tensor = fo.asarray(array)
    views = [tensor[1:] for _ in range(3)]
    array.tensor = tensor
    del array, tensor
    for _ in range(3):
        gc.collect()
    assert [view.tolist() for view in views] == [[1.0, 1.0]] * 3


def test_subclasses_with_slots_attributes_and_finalizers():
    gone = []

    class Slotted(fo.Tensor):
        __slots__ = ("unit",)

        def __del__(self):
            gone.append(self.unit)
    tensor = fo.asarray([1.0, 2.0]).as_subclass(Slotted)
    tensor.unit = "m"
    assert tensor.unit == "m" and (tensor + 1).tolist() == [2.0, 3.0]
    del tensor
    assert gone == ["m"]


def test_a_resurrected_tensor_is_whole():
    saved = []

    class Phoenix(fo.Tensor):
        def __del__(self):
            saved.append(self)
    fo.asarray([5.0, 6.0]).as_subclass(Phoenix)
    gc.collect()
    assert saved[0].tolist() == [5.0, 6.0]


def test_a_subclass_without_initialisation_is_an_empty_tensor():
    class Bare(fo.Tensor):
        def __init__(self):
            pass
    bare = Bare()
    assert bare.shape == (0,) and bare.dtype == fo.float64 and (bare + 1).shape == (0,)


def test_memory_is_taken_once():
    class Labelled(fo.Tensor):
        def __new__(cls, source, label):
            self = fo.asarray(source).as_subclass(cls)
            self.label = label
            return self

        def __init__(self, source, label):
            super().__init__([9.0, 9.0, 9.0])
    tensor = Labelled([1.0, 2.0], "m")
    assert tensor.tolist() == [1.0, 2.0] and tensor.label == "m"
    plain = fo.Tensor([1.0, 2.0])
    view = plain[1:]
    plain.__init__([5.0])
    assert plain.tolist() == [1.0, 2.0] and view.tolist() == [2.0]


def test_threads_allocate_side_by_side():
    failures = []

    def work():
        try:
            for _ in range(3000):
                a = fo.ones(5) + 1
                assert (a[1:] * 2).tolist() == [4.0] * 4
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_memory_that_cannot_be_had():
    with pytest.raises(MemoryError):
        fo.empty(2**45)
    assert fo.ones(2).tolist() == [1.0, 1.0]


def test_data_is_aligned():
    tensors = [fo.empty(size) for size in (1, 3, 100, 1000, 10**5)]
    assert all(tensor.data_ptr() % 64 == 0 for tensor in tensors)
