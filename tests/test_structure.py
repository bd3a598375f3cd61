"""The house keeps its rules: imports run one way, the machine names no operator, names agree everywhere."""

import ast
import importlib.util
import io
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

import fastops as fo
from fastops import registry

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fastops"

# A module may import those before it in the list; those in one group do not import each other.
ORDER = [{"version", "errors", "constants", "dtypes", "tree"}, {"_convert", "schema"}, {"_dispatch"}, {"_loops"}, {"_index"},
         {"inspection", "_random", "_interchange", "_create", "_views", "_reduce", "_contract", "samples", "registry", "printing", "dispatch"}, {"_autograd"}, {"_forward", "_batched", "derivatives"}, {"_sort", "_gufunc", "declare"},
         {"ops.families"}, {"ops.create"}, {"ops.elementwise"}, {"ops.shape", "ops.index"}, {"ops.reduce"}, {"ops.sorting"}, {"ops.sets"}, {"ops.linalg"},
         {"ops.composite"}, {"ops.assemble", "ops.edit", "ops.coordinates", "ops.signal", "ops.statistics", "methods", "files"}, {"interchange", "ops.borders", "ops.autograd"}, {"autograd.modes", "autograd.engine", "batching", "func.arguments", "func.batch", "func.control"}, {"autograd.check"}, {"func.reverse"}, {"func.forward"}, {"_function"}, {"autograd.function"}, {"autograd.mapped"}, {"autograd.__init__", "func.__init__"}, {"ops.decomposition", "ops.fft", "ops.special", "ops.random", "ufuncs", "_interception"}, {"fft", "linalg", "special", "lib.stride_tricks"}, {"lib.__init__", "random"}, {"numpy_functions"}, {"packets", "infer"}, {"_custom", "libraries"}, {"custom"}, {"library"}, {"explain"}, {"registrations"}, {"__init__"},
         {"testing"}, {"differentiation", "ops.__init__", "compat.__init__", "compat.dask", "compat.einops", "compat.jax", "compat.numba",
          "compat.torch_function"}]
LEVEL = {name: position for position, group in enumerate(ORDER) for name in group}


# The parts of the public namespace beside its main one.
fo.special.erf      # declares them all
NAMESPACES = {name: getattr(fo, name) for name in ("autograd", "linalg", "fft", "random", "special") if hasattr(fo, name)}


def modules():
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyx"):
            yield ".".join(path.relative_to(PACKAGE).with_suffix("").parts), path


def imported(path):
    """The modules of fastops that a file imports at module level (and cimports anywhere)."""
    text = path.read_text()
    names = set()
    for match in re.finditer(r"^(?:from (fastops[\w.]*) (?:c?import) (\([^)]*\)|[^\n]+)|c?import (fastops[\w.]*))", text, re.M):
        module = match.group(1) or match.group(3)
        inner = module.partition(".")[2]
        if inner:
            names.add(inner)
        elif match.group(2):
            for word in re.findall(r"\w+(?= as|,|\)|\s|$)", match.group(2)):
                names.add(word if (PACKAGE / f"{word}.py").exists() or (PACKAGE / f"{word}.pyx").exists() else "")
        else:
            names.add("__init__")
    return names - {""}


@pytest.mark.parametrize("name, path", list(modules()), ids=[name for name, path in modules()])
def test_imports_run_one_way(name, path):
    assert name in LEVEL, f"{name} has no place in the order of imports: say where it belongs"
    for other in imported(path):
        if other in ("ops", "lib", name):
            continue
        other = other if other in LEVEL else f"{other}.__init__"        # a package
        assert LEVEL[other] < LEVEL[name], f"{name} imports {other}, which stands beside or above it"


def identifiers(path):
    """The words of code and of strings in a Cython file, comments and docstrings left out."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.NAME:
            yield token.string
        elif token.type == tokenize.STRING and not token.string.startswith('"""'):
            yield from re.findall(r"(?<![\w-])[a-z]\w*(?![\w-])", token.string) if len(token.string) < 30 else ()


# Words that the machine has of its own or of Python, and that are operators' names as well: DispatchKeySet.add, all(),
# any(), the argument copy=, list.append, str.partition, a block of memory and a place in it, the slot behind int() and bool(), a real number, the stack of transforms, where a kernel is.
SHARED_WORDS = {"add", "all", "any", "append", "block", "copy", "item", "partition", "place", "real", "stack", "where"}


def test_the_machine_names_no_operator():
    operators = {operator.__name__ for operator in registry.operators.values() if operator.namespace == "fastops"}
    words = set()
    for path in (PACKAGE / "_dispatch.pyx", PACKAGE / "_dispatch.pxd", PACKAGE / "_convert.pyx"):
        words |= set(identifiers(path))
    found = (words & operators) - SHARED_WORDS
    assert not found, f"the machine speaks of {sorted(found)}"
    assert {"sin", "matmul", "exp", "reshape", "getitem"} <= operators
    assert "import numpy" not in (PACKAGE / "_dispatch.pyx").read_text().split("def _element_code")[0]


def test_cuda_is_no_package():
    assert not (ROOT / "cuda" / "__init__.py").exists(), "it would shadow cuda.pathfinder, which CuPy imports"
    spec = importlib.util.find_spec("fastops.cuda")
    assert spec is None or "cuda/__init__" not in str(spec.origin)


def test_public_names_are_the_registry():
    public = {value.name() for module in (fo, *NAMESPACES.values()) for value in vars(module).values()
              if isinstance(value, fo.OpOverload) and value.namespace == "fastops"}
    declared = {name for name in registry.operators if name.startswith("fastops::")}
    assert public == declared


def test_every_operator_is_found_under_its_name():
    for name, operator in registry.operators.items():
        if operator.namespace == "fastops":
            module, _, opname = operator._opname.partition("_")
            if module not in NAMESPACES or operator.__name__ != opname:
                module, opname = "", operator._opname
            assert operator.__name__ == opname
            assert getattr(NAMESPACES.get(module, fo), opname) is operator
            assert getattr(fo.ops.fastops, operator._opname).default is operator


def test_methods_are_the_operators():
    for name, value in vars(fo.Tensor).items():
        if isinstance(value, fo.OpOverload):
            assert getattr(fo.Tensor, name) is value
            assert value.namespace == "fastops"
    assert fo.Tensor.sum is fo.sum


@pytest.mark.parametrize("name", ["make_reference", "make_numpy"])
def test_written_pages_are_current(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if name == "make_numpy":        # the page lists the functions of one version of NumPy
        assert {line for line in module.page().split("\n") if line.startswith("| `")} >= {"| `numpy.sum` | `fo.sum` |"}
        if np.__version__.split(".")[:2] != module.PAGE.read_text().partition("NumPy ")[2].split(".")[:2]:
            return
    assert module.PAGE.read_text() == module.page(), f"run docs/{name}.py"


def test_public_functions_are_documented():
    for name, value in vars(fo).items():
        if name.startswith("_") or not callable(value):
            continue
        assert (value.__doc__ or "").strip(), f"fo.{name} has no docstring"


def test_no_name_is_imported_for_nothing():
    for name, path in modules():
        if path.suffix != ".py" or name.endswith("__init__"):
            continue
        tree = ast.parse(path.read_text())
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used |= {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
        exported = set(re.findall(r'"(\w+)"', path.read_text().split("__all__ =")[1].split("]")[0])) \
            if "__all__ =" in path.read_text() else set()
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    assert bound in used | exported or name == "dispatch", f"{path.name} imports {bound} and does not use it"
