"""The wheel: what is in it, what is not, and that it works where there is no compiler."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built by pip from a copy of what git would hand out, without the built files of the tree."""
    target = tmp_path_factory.mktemp("wheel")
    source = tmp_path_factory.mktemp("source")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    files = listed.stdout.split("\n") if listed.returncode == 0 else [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.suffix not in (".so", ".c") and path.is_file()]
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    environment = dict(os.environ, FASTOPS_CFLAGS="-O1 -g0 -fno-strict-aliasing -w")    # fast to compile; size is measured too
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir",
                    str(target), str(source)], check=True, env=environment)
    return next(target.glob("*.whl"))


@pytest.mark.packaging
def test_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        size = sum(entry.file_size for entry in archive.infolist())
    assert not [name for name in names if name.endswith((".c", ".pyx", ".o"))]
    assert {"fastops/__init__.py", "fastops/_dispatch.pxd", "fastops/_convert.pxd", "fastops/_loops.pxd",
            "fastops/ops/elementwise.py"} <= set(names)
    tops = {name.partition("/")[0] for name in names}
    assert tops - {name for name in tops if name.endswith(".dist-info")} == {"fastops"}
    assert size < 10_000_000, f"{size} bytes installed"


@pytest.mark.packaging
def test_imports_without_a_compiler(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False, system_site_packages=False)
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    import numpy
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": f"{site}{os.pathsep}{Path(numpy.__file__).parent.parent}",
                   "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    result = subprocess.run([str(python), "-c", "import fastops as fo; print(fo.__file__, fo.arange(3.0) @ fo.ones(3))"],
                            env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout.strip() == f"{site / 'fastops' / '__init__.py'} 3.0", result.stderr


def test_import_is_light():
    """Importing fastops imports nothing large beside NumPy."""
    code = ("import sys, numpy; before = set(sys.modules); import fastops; "
            "print(' '.join(sorted(name for name in set(sys.modules) - before if '.' not in name)))")
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout.split()
    heavy = {"scipy", "cupy", "torch", "jax", "sympy", "pytest", "hypothesis", "sklearn", "pandas", "unittest", "asyncio",
             "multiprocessing"}
    assert not heavy & set(loaded), loaded
    assert "fastops" in loaded


@pytest.mark.smoke
def test_version_is_one():
    import fastops
    assert fastops.__version__ == fastops.version.__version__
