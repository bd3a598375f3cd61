"""Long work lets other threads run; threads that call, register and destroy at once do not disturb each other."""

import threading

import numpy as np
import pytest

import fastops as fo

BIG = 4_000_000
big = fo.asarray(np.linspace(-50, 50, BIG))
matrix = fo.asarray(np.ones((900, 900)))
LONG = {"elementwise": lambda: fo.sin(big), "mixed dtypes": lambda: big + fo.ones(BIG, dtype="f4"),
        "strided": lambda: fo.exp(big[::-1]), "reduction": lambda: [big.sum() for _ in range(8)],
        "axis": lambda: fo.sum(big.reshape(2000, 2000), axis=0), "scan": lambda: big.cumsum(),
        "product": lambda: matrix @ matrix, "cast": lambda: [big.astype("f4") for _ in range(4)],
        "copy": lambda: [big.reshape(2000, 2000).T.reshape(-1) for _ in range(2)], "where": lambda: fo.where(big > 0, big, 0.0)}


@pytest.mark.parametrize("name", LONG)
def test_long_work_lets_others_run(name):
    """Another thread counts while the work runs: with the lock held for all of it, it could not count at all."""
    counted, best = [0], 0
    for _ in range(20):             # on a busy machine the counter may get no turn at once
        done = threading.Event()

        def work():
            nonlocal best
            before = counted[0]
            LONG[name]()
            after = counted[0]
            best = max(best, after - before)
            done.set()
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            counted[0] += 1
        thread.join()
        if best > 10:
            break
    assert best > 10, "no other thread ran during the work"


def test_calls_while_kernels_come_and_go():
    x, stop, failures = fo.asarray([1.0, 2.0]), threading.Event(), []

    def call():
        try:
            while not stop.is_set():
                assert (x + 1).tolist() == [2.0, 3.0]
                with fo.dispatch.exclude("Autograd"), fo.dispatch.include("Python"):
                    assert fo.sum(x).item() == 3.0
        except Exception as error:
            failures.append(error)

    def register():
        try:
            for number in range(150):
                with fo.library._scoped_library("threads_register", "FRAGMENT") as library:
                    library.define(f"f{threading.get_ident()}(Tensor x) -> Tensor")
                    library.impl(f"f{threading.get_ident()}", lambda x: x, "CPU")
                    getattr(fo.ops.threads_register, f"f{threading.get_ident()}")(x)
        except Exception as error:
            failures.append(error)

    def fall_back():
        try:
            for _ in range(20):
                with fo.library._scoped_library("_", "IMPL") as library:
                    library.fallback(lambda keys, op, *args, **kwargs: op.redispatch(keys.remove("Python"), *args, **kwargs),
                                     "Python", with_keyset=True)
        except Exception as error:
            failures.append(error)
    callers = [threading.Thread(target=call) for _ in range(3)]
    others = [threading.Thread(target=register) for _ in range(2)] + [threading.Thread(target=fall_back)]
    for thread in callers + others:
        thread.start()
    for thread in others:
        thread.join()
    stop.set()
    for thread in callers:
        thread.join()
    assert failures == []
