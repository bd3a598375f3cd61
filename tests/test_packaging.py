"""The wheel: what is in it, what is not, and that it works where there is no compiler."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command, **options):
    """The standard output of *command*, a fault with all that it said if it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


def build_wheel(folder):
    """A wheel built by pip from a copy of the tree that holds nothing built before."""
    built = shutil.ignore_patterns(".*", "build", "dist", "*.so", "*.pyd", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, folder / "source", ignore=built)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, folder / "source",
        env=dict(os.environ, FASTOPS_CFLAGS="-O1 -g0 -fno-strict-aliasing -w"))     # -O3 takes twice as long
    return next(folder.glob("*.whl"))


def check_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        size = sum(entry.file_size for entry in archive.infolist())
    assert not [name for name in names if name.endswith((".c", ".cpp", ".pyx", ".o"))]
    expected = {str(path.relative_to(ROOT)) for suffix in ("py", "pxd", "h") for path in ROOT.glob(f"fastops/**/*.{suffix}")}
    assert "fastops/_dispatch.pxd" in expected and not expected - set(names)
    rooms = {path.stem for path in ROOT.glob("fastops/*.pyx")}
    assert rooms == {name.split("/")[1].partition(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    tops = {name.partition("/")[0] for name in names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"fastops"}
    assert size < 10_000_000, f"{size} bytes installed"


def check_import_without_a_compiler(site, environment, folder):
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    code = ("import shutil; assert not any(map(shutil.which, ('cc', 'gcc', 'clang'))); "
            "import fastops as fo; print(fo.__file__, fo.arange(3.0) @ fo.ones(3))")
    assert run(python, "-c", code, env=environment, cwd=folder) == f"{site / 'fastops' / '__init__.py'} 3.0"


def check_other_packages_cimport_it(site, environment, folder):
    (folder / "guest.pyx").write_text("from fastops._dispatch cimport Tensor\n"
                                      "def is_tensor(value):\n    return isinstance(value, Tensor)\n")
    (folder / "setup.py").write_text(
        "import numpy\nfrom Cython.Build import cythonize\nfrom setuptools import Extension, setup\n"
        f"places = [numpy.get_include(), {str(site / 'fastops')!r}]\n"
        "setup(name='guest', ext_modules=cythonize([Extension('guest', ['guest.pyx'], include_dirs=places)], language_level=3))\n")
    run(sys.executable, "setup.py", "build_ext", "--inplace", cwd=folder,
        env=dict(os.environ, PYTHONPATH=environment["PYTHONPATH"], CFLAGS="-O0 -w"))
    code = "import fastops as fo, guest; print(fo.__file__, guest.is_tensor(fo.ones(3)), guest.is_tensor(1))"
    assert run(sys.executable, "-c", code, env=environment, cwd=folder) == f"{site / 'fastops' / '__init__.py'} True False"


@pytest.mark.packaging
def test_wheel(tmp_path):
    """One test, so that tests side by side build one wheel."""
    wheel = build_wheel(tmp_path)
    check_contents(wheel)
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
    # Where a new process finds the wheel's files and NumPy, but no compiler.
    environment = {"PATH": str(site), "PYTHONPATH": os.pathsep.join([str(site), str(Path(numpy.__file__).parent.parent)]),
                   "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    check_import_without_a_compiler(site, environment, tmp_path)
    check_other_packages_cimport_it(site, environment, tmp_path)


def test_import_is_light():
    """Importing fastops imports nothing large beside NumPy."""
    code = ("import sys, numpy; before = set(sys.modules); import fastops; "
            "print(' '.join(sorted(name for name in set(sys.modules) - before if '.' not in name)))")
    loaded = run(sys.executable, "-c", code, cwd=Path(sys.executable).anchor).split()
    heavy = {"scipy", "cupy", "torch", "jax", "sympy", "pytest", "hypothesis", "sklearn", "pandas", "unittest", "asyncio",
             "multiprocessing"}
    assert "fastops" in loaded and not heavy & set(loaded), loaded


@pytest.mark.smoke
def test_version_is_one():
    import fastops
    assert fastops.__version__ == fastops.version.__version__
