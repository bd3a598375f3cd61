"""Pickling, copying, files, threads and processes."""

import concurrent.futures
import copy
import io
import multiprocessing
import pickle
import queue
import tempfile
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from .calls import Group


@dataclass
class Record:
    data: object


def out_of_band(value):
    buffers = []
    text = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=buffers), len(buffers)


def saved(value, save, load):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "array"
        save(path, value)
        return load(path)


def in_pool(function, value, pool):
    with pool as workers:
        return workers.submit(function, value).result()


def double(value):
    return value * 2


def processes():
    return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def deep(value):
    copied = copy.deepcopy({"one": value, "two": value})
    return copied["one"] is copied["two"], copied["one"]


def alive(value):
    reference = weakref.ref(value)
    return reference() is value


def npz(value):
    file = io.BytesIO()
    np.savez(file, value, named=value)
    file.seek(0)
    return {name: item for name, item in np.load(file).items()}


def text(value):
    file = io.StringIO()
    np.savetxt(file, value)
    file.seek(0)
    return np.loadtxt(file)


def through_queue(value):
    line = queue.Queue()
    line.put(value)
    return line.get()


def filled(path, value):
    value.tofile(path)


PICKLE = Group("pickle, copy, files", 18, [
    ("pickle 0", lambda a: pickle.loads(pickle.dumps(a, 0))), ("pickle 2", lambda a: pickle.loads(pickle.dumps(a, 2))),
    ("pickle 4", lambda a: pickle.loads(pickle.dumps(a, 4))), ("pickle 5", lambda a: pickle.loads(pickle.dumps(a, 5))),
    ("pickle out of band", lambda a: out_of_band(a)), ("pickle of a transpose", lambda a: pickle.loads(pickle.dumps(a.T))),
    ("pickle of steps", lambda a: pickle.loads(pickle.dumps(a[::2]))),
    ("pickle of a number", lambda z: pickle.loads(pickle.dumps(z))),
    ("pickle of nothing", lambda e: pickle.loads(pickle.dumps(e))), ("pickle of bools", lambda m: pickle.loads(pickle.dumps(m))),
    ("pickle in a dict", lambda c: pickle.loads(pickle.dumps({"c": c}))["c"]), ("copy", lambda a: copy.copy(a)),
    ("deepcopy", lambda a: copy.deepcopy(a)), ("deepcopy keeps identity", lambda a: deep(a)),
    ("copy is independent", lambda v: (copy.copy(v), v.fill(0.0))[0]), ("weakref", lambda a: alive(a)),
    ("dataclass asdict", lambda a: asdict(Record(a))),
    ("np.save", lambda a: saved(a, lambda path, value: np.save(f"{path}.npy", value), lambda path: np.load(f"{path}.npy"))),
    ("np.savez", lambda a: npz(a)), ("np.savetxt", lambda a: text(a)), ("tofile", lambda a: saved(a, filled, np.fromfile)),
    ("thread pool", lambda a: in_pool(double, a, concurrent.futures.ThreadPoolExecutor(1))),
    ("process pool", lambda a: in_pool(double, a, processes())), ("queue", lambda a: through_queue(a)),
])

test_call_works, test_results_stay_native = PICKLE.tests()
