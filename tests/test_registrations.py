"""Other libraries are told of Tensor when they are imported, in either order, once, and are never imported by us."""

import importlib
import importlib.util
import inspect
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

import fastops as fo
from fastops import registrations

ROOT = Path(__file__).resolve().parent.parent

CHECKS = {
    "dask.array": "from dask.array.chunk_types import is_valid_chunk_type; assert is_valid_chunk_type(fo.Tensor)",
    "einops": "assert type(einops.rearrange(fo.ones((2, 3)), 'a b -> b a')) is fo.Tensor",
    "jax": "assert jax.numpy.sum(fo.ones((2, 3))) == 6",
    "numba": "assert type(numba.njit(lambda a: a + a)(fo.ones(3))) is fo.Tensor",
    "torch": "assert '__torch_function__' in vars(fo.Tensor)",
}


def run(program):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_registration_is_checked():
    run(f"from fastops.registrations import waiting; assert set(waiting) == {set(CHECKS)}, waiting")


def test_nothing_is_imported():
    names = sorted({name.partition(".")[0] for name in CHECKS})
    run(f"import sys, fastops; found = set(sys.modules) & set({names}); assert not found, found")


@pytest.mark.parametrize("order", ["import fastops as fo, {0}", "import {0}, fastops as fo"])
@pytest.mark.parametrize("name", CHECKS)
def test_both_orders(name, order):
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed")
    run(f"{order.format(name)}\n{CHECKS[name]}\nassert {name!r} not in fo.registrations.waiting")


def test_numba_finds_the_entry_point():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["numba_extensions"]
    module, _, function = points["init"].partition(":")
    if importlib.util.find_spec("numba") is None:
        pytest.skip("Numba is not installed")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library that does not exist elsewhere and its registration, which counts; a function that writes either."""
    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()

    write("some_library", "import time\ntime.sleep(0.05)\ndone = True\n")
    write("some_registration", "import some_library\nassert some_library.done\nsome_library.told = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registrations, "waiting", {"some_library": "some_registration"})
    monkeypatch.setattr(registrations, "unfinished", set())
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder is not registrations])
    yield write
    for name in ("some_library", "some_registration"):
        sys.modules.pop(name, None)


def test_registered_after_the_import(library):
    registrations.install()
    registrations.install()
    assert sys.meta_path.count(registrations) == 1
    import some_library
    assert some_library.told and not registrations.waiting


def test_registered_at_once_if_imported_before(library):
    import some_library
    assert not hasattr(some_library, "told")
    registrations.install()
    assert some_library.told and registrations not in sys.meta_path


def test_the_loader_is_pythons_own(library):
    registrations.install()
    import some_library
    assert type(some_library.__spec__.loader) is importlib.machinery.SourceFileLoader
    assert "exec_module" not in vars(some_library.__spec__.loader)
    assert "done = True" in inspect.getsource(some_library)


def test_many_threads_register_once(library):
    library("some_registration", "import builtins\nbuiltins.times_told = getattr(builtins, 'times_told', 0) + 1\n")
    registrations.install()
    start, seen = threading.Barrier(8), []

    def work():
        start.wait()
        seen.append(importlib.import_module("some_library").done)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    import builtins
    told = vars(builtins).pop("times_told")
    assert seen == [True] * 8 and told == 1


def test_a_library_that_imports_us_is_told_later(library):
    library("some_library", "from fastops import registrations\nregistrations.install()\ndone = True\n")
    import some_library
    assert registrations.unfinished == {"some_library"} and not hasattr(some_library, "told")
    importlib.util.find_spec("some_module_that_is_nowhere")       # any import that Python has to look for
    assert some_library.told and not registrations.waiting


def test_a_failed_import_is_waited_for_again(library):
    library("some_library", "raise ImportError('not yet')\n")
    registrations.install()
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module("some_library")
    assert "some_library" in registrations.waiting
    library("some_library", "done = True     # at last\n")
    assert importlib.import_module("some_library").told


def test_a_failed_registration_warns_and_the_import_goes_on(library):
    library("some_registration", "raise AttributeError('moved')\n")
    registrations.install()
    with pytest.warns(RuntimeWarning, match="some_library.*moved"):
        assert importlib.import_module("some_library").done


def test_other_imports_are_left_alone(library):
    registrations.install()
    assert registrations.find_spec("json.decoder") is None
    assert importlib.util.find_spec("some_module_that_is_nowhere") is None
    assert fo.registrations is registrations
