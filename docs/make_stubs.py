"""Writes the type stubs of the package from the declarations: ``python docs/make_stubs.py``; a test checks that they are current.

Operators are objects of one class; in the stubs each is a function of its own signature, which is what a program that calls
it needs to have checked. Functions in Python take their parameters from ``inspect``, without types where they state none.
"""

import inspect
import keyword
import sys
import types
from pathlib import Path

import numpy as np

import fastops as fo
from fastops._dispatch import DispatchKey, DispatchKeySet, OpOverload, Tensor, device

fo.special.erf              # declares the special functions
PACKAGE = Path(fo.__file__).parent
MODULES = ("autograd", "func", "linalg", "fft", "random", "special", "library")
HEADER = '''"""Written by docs/make_stubs.py from the declarations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

'''
ALIASES = '''ArrayLike: TypeAlias = Tensor | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any] | memoryview
DTypeLike: TypeAlias = np.dtype[Any] | type[Any] | str
DeviceLike: TypeAlias = device | str
Scalar: TypeAlias = complex | np.generic | Tensor

'''
SIMPLE = {"Tensor": "Tensor", "Array": "ArrayLike", "int": "SupportsIndex", "float": "float", "bool": "bool", "str": "str", "Scalar": "Scalar",
          "ScalarType": "DTypeLike", "Device": "DeviceLike", "Any": "Any"}
RESERVED = {"lambda"}


def annotation(kind, *, result=False):
    """A schema type as Python's."""
    if kind.element is not None:
        inner = annotation(kind.element, result=result)
        if result:
            text = f"tuple[{inner}, ...]"
        else:
            text = f"Sequence[{inner}]" + (f" | {inner}" if kind.element.base in ("int", "float") else "")
    elif result and kind.base in ("int", "Scalar"):
        text = "Any"
    else:
        text = SIMPLE.get(kind.base, "Any")
    return f"{text} | None" if kind.optional and text != "Any" else text


def returns(operator):
    """What an operator gives, as an annotation."""
    if operator.__name__ in VARIABLE:
        return "Any"
    results = [annotation(result.type, result=True) for result in operator._schema.returns]
    if operator.__name__ in ("split", "array_split", "hsplit", "vsplit", "dsplit"):
        return "list[Tensor]"
    return "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"


# What gives one thing or several, as its arguments say.
VARIABLE = {"unique", "gradient", "average", "linspace", "svd", "qr", "item", "where", "polyfit", "polydiv", "setitem", "logsumexp", "intersect1d",
            "getitem"}


def shown(value):
    """A default that a stub may state as it is; any other is left as dots."""
    return repr(value) if value is None or type(value) in (bool, int, str) or type(value) is float and value == value and abs(value) < 1e300 \
        else "..."


def parameters(operator, skip=0):
    """The parameters of an operator, without the first *skip* for a method."""
    schema, gather = operator._schema, operator.gather
    parts, marked, starred = [], False, False
    for place, argument in enumerate(schema.arguments[skip:], skip):
        if place == gather and argument.positional_only:
            parts.append(f"*{argument.name}: {annotation(argument.type.element) if argument.type.element else 'Any'}")
            starred = True
            continue
        if place == gather:
            parts.append(f"*{argument.name}: Any")
            starred = True
            continue
        if argument.positional_only:
            marked = True
        elif marked and parts and not starred:
            parts.append("/")
            marked = False
        if argument.kwarg_only and not starred:
            parts.append("*")
            starred = True
        default = f" = {shown(argument.default_value)}" if argument.has_default_value() else ""
        hint = annotation(argument.type)
        hint = f"{hint} | None" if default == " = None" and hint != "Any" and "None" not in hint else hint
        parts.append(f"{argument.name}: {hint}{default}")
    if marked and not starred:
        parts.append("/")
    return parts


def operator_lines(name, operator, *, method=False, indent=""):
    parts = (["self"] if method else []) + parameters(operator, 1 if method else 0)
    if method and "/" in parts and parts.index("/") == 1:
        parts.remove("/")
    return f"{indent}def {name}({', '.join(parts)}) -> {returns(operator)}: ..."


def function_lines(name, function, *, method=False, indent="", result="Any"):
    """A function in Python, by its signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{indent}def {name}({'self, ' if method else ''}*args: Any, **kwargs: Any) -> {result}: ..."
    parts, starred = [], False
    for place, parameter in enumerate(signature.parameters.values()):
        if method and place == 0:
            parts.append("self")
            if parameter.kind is parameter.POSITIONAL_ONLY and not any(
                    other.kind is other.POSITIONAL_ONLY for other in list(signature.parameters.values())[1:]):
                continue
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        starred = starred or stars == "*"
        default = "" if parameter.default is parameter.empty or stars else f" = {shown(parameter.default)}"
        parts.append(f"{stars}{parameter.name}: {HINTS.get(parameter.name, 'Any')}{default}")
    return f"{indent}def {name}({', '.join(parts)}) -> {result}: ..."


# What parameters of functions in Python mean by their names, and what such functions give.
HINTS = {"dtype": "DTypeLike | None", "device": "DeviceLike | None", "copy": "bool | None", "size": "int | Sequence[int] | None", "obj": "Any"}
TENSORS = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "require", "from_dlpack", "frombuffer",
           "fromfile", "fromiter", "fromstring", "loadtxt", "genfromtxt", "memmap", "apply_along_axis", "apply_over_axes", "piecewise",
           "contiguous", "clone", "unsqueeze", "movedim", "permute", "expand", "new_empty", "new_zeros", "new_ones", "new_full", "to_device", "cpu",
           "byteswap", "view", "as_subclass"}
RESULTS = {"shape": "tuple[int, ...]", "ndim": "int", "size": "int", "broadcast_shapes": "tuple[int, ...]", "isdtype": "bool", "can_cast": "bool",
           "result_type": "np.dtype[Any]", "promote_types": "np.dtype[Any]", "min_scalar_type": "np.dtype[Any]", "isscalar": "bool",
           "iscomplexobj": "bool", "isrealobj": "bool", "isfortran": "bool", "iterable": "bool", "shares_memory": "bool", "may_share_memory": "bool",
           "array2string": "str", "array_repr": "str", "array_str": "str", "save": "None", "savez": "None", "savez_compressed": "None",
           "savetxt": "None", "tolist": "Any", "tobytes": "bytes", "numpy": "np.ndarray[Any, Any]", "fill": "None", "sort": "None", "partition": "None",
           "resize": "None", "tofile": "None", "setflags": "None", "dim": "int", "stride": "Any", "storage_offset": "int", "data_ptr": "int",
           "is_contiguous": "bool", "keyset": "DispatchKeySet", "dumps": "bytes", "default_rng": "Generator", "seed": "None", "spawn": "list[Generator]",
           "shuffle": "None", "bytes": "builtins.bytes"}


def result_of(name, *, in_random=False):
    if in_random and name not in RESULTS and name != "draw":
        return "Tensor"
    return "Tensor" if name in TENSORS else RESULTS.get(name, "Any")


PROPERTIES = {"shape": "tuple[int, ...]", "ndim": "int", "size": "int", "dtype": "np.dtype[Any]", "itemsize": "int", "nbytes": "int",
              "strides": "tuple[int, ...]", "device": "device", "_version": "int", "writeable": "bool", "T": "Tensor", "mT": "Tensor", "real": "Tensor",
              "imag": "Tensor", "flat": "Any", "flags": "Any", "base": "Any", "data": "memoryview", "ctypes": "Any", "__array_interface__": "dict[str, Any]",
              "requires_grad": "bool", "grad": "Tensor | None", "grad_fn": "Any", "is_leaf": "bool", "retains_grad": "bool"}
SETTABLE = {"real", "imag", "flat", "requires_grad", "grad"}
BINARY = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split()
SPECIAL = '''    def __init__(self, source: Any = ..., *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None) -> None: ...
    def __eq__(self, other: ArrayLike) -> Tensor: ...  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride]
    def __ne__(self, other: ArrayLike) -> Tensor: ...  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride]
    def __lt__(self, other: ArrayLike) -> Tensor: ...
    def __le__(self, other: ArrayLike) -> Tensor: ...
    def __gt__(self, other: ArrayLike) -> Tensor: ...
    def __ge__(self, other: ArrayLike) -> Tensor: ...
    def __divmod__(self, other: ArrayLike) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: ArrayLike) -> tuple[Tensor, Tensor]: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType: ...
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __dlpack__(self, *, stream: None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
                   copy: bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def item(self, *index: Any) -> Any: ...
'''


def tensor_lines():
    """The class Tensor: attributes, methods, operators."""
    lines = ["class Tensor:"]
    for name in sorted(dir(Tensor)):
        value = inspect.getattr_static(Tensor, name)
        if name in PROPERTIES:
            lines += ["    @property", f"    def {name}(self) -> {PROPERTIES[name]}: ..."]
            if name in SETTABLE:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        elif name.startswith("_") or name == "item":
            continue
        elif isinstance(value, OpOverload):
            lines.append(operator_lines(name, value, method=True, indent="    "))
        else:
            lines.append(function_lines(name, value, method=True, indent="    ", result=result_of(name)))
    for name in BINARY:
        lines.append(f"    def __{name}__(self, other: ArrayLike) -> Tensor: ...")
        lines.append(f"    def __r{name}__(self, other: ArrayLike) -> Tensor: ...")
        lines.append(f"    def __i{name}__(self, other: ArrayLike) -> Tensor: ...")
    # Inside the class a property named "device" stands before the class of that name.
    text = "\n".join(lines) + "\n" + SPECIAL
    return text.replace("def device(self) -> device:", "def device(self) -> Device:")


def machine_lines():
    """The machine's classes that programs meet."""
    lines = ["class device:", "    def __init__(self, type: str, index: int = 0) -> None: ...", "    @property", "    def type(self) -> str: ...",
             "    @property", "    def index(self) -> int: ...", "    def __eq__(self, other: object) -> bool: ...", "    def __hash__(self) -> int: ...",
             "", "Device: TypeAlias = device", "", "class DispatchKey:"]
    lines += [f"    {key.name}: DispatchKey" for key in DispatchKey] + ["    name: str", "    value: int", "    def __int__(self) -> int: ...", ""]
    for cls in (DispatchKeySet, OpOverload):
        lines.append("class DispatchKeySet:" if cls is DispatchKeySet else "class OpOverload:")
        if cls is DispatchKeySet:
            lines.append("    def __init__(self, *keys: Any) -> None: ...")
            lines += [f"    def __{name}__(self, other: Any) -> DispatchKeySet: ..." for name in ("or", "and", "sub")]
            lines += ["    def __iter__(self) -> Iterator[DispatchKey]: ...", "    def __contains__(self, key: Any) -> bool: ..."]
        else:
            lines.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...")
        for name in sorted(dir(cls)):
            value = inspect.getattr_static(cls, name)
            if name.startswith("_") and name != "_schema":
                continue
            if callable(value):
                lines.append(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...")
            else:
                lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        lines.append("")
    return "\n".join(lines)


def class_lines(name, cls):
    """A class in Python: its public methods and what __init__ takes."""
    lines = [f"class {name}{'(Exception)' if issubclass(cls, BaseException) else ''}:"]
    if "__init__" in vars(cls):
        lines.append(function_lines("__init__", cls.__init__, method=True, indent="    ", result="None"))
    if hasattr(cls, "__enter__"):
        lines += [f"    def __enter__(self) -> {name}: ...", "    def __exit__(self, *exception: Any) -> None: ..."]
        if hasattr(cls, "__call__"):
            lines.append("    def __call__(self, function: Any) -> Any: ...")
    for member, value in sorted(vars(cls).items()):
        if isinstance(value, property):
            lines += ["    @property", f"    def {member}(self) -> Any: ..."]
        elif not member.startswith("_") and inspect.isfunction(value):
            result = "Tensor" if cls.__name__ == "Generator" and member not in RESULTS else RESULTS.get(member, "Any")
            lines.append(function_lines(member, value, method=True, indent="    ", result=result))
    if cls.__name__ == "Generator":
        lines.append("    bit_generator: BitGenerator")
    else:
        lines.append("    def __getattr__(self, name: str) -> Any: ...")
    return "\n".join(lines)


def name_line(name, value, module):
    """One public name of a module."""
    if keyword.iskeyword(name):
        return ""
    if isinstance(value, OpOverload):
        return operator_lines(name, value)
    if isinstance(value, np.dtype):
        return f"{name}: np.dtype[Any]"
    if isinstance(value, type):
        if value.__module__ in ("numpy", "builtins") or value is np.dtype:
            return f"{name} = {'np.' if value.__module__ == 'numpy' else ''}{value.__name__}"
        if value is Tensor:
            return f"{name} = Tensor"
        return class_lines(name, value)
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        if getattr(value, "__module__", "").startswith("numpy"):
            return f"{name} = np.{name}"
        return function_lines(name, value, result=result_of(name, in_random=module == "random"))
    if isinstance(value, float):
        return f"{name}: float"
    if value is None:
        return f"{name}: None"
    return f"{name}: Any"


def submodules():
    """The modules of the package by name, but those whose name a function has taken."""
    found = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")} | {"lib", "autograd", "func"}
    return sorted(name for name in found if isinstance(getattr(fo, name, fo), types.ModuleType))


def main_stub():
    names = {name: value for name, value in sorted(vars(fo).items()) if not name.startswith("_") and not isinstance(value, types.ModuleType)}
    known = {"Tensor", "device", "DispatchKey", "DispatchKeySet", "OpOverload", "ndarray"}
    lines = [HEADER.replace("import numpy as np\n", "import numpy as np\n\n" + "\n".join(
        f"from fastops import {name} as {name}" for name in submodules())
        + "\nfrom numpy import exceptions as exceptions\n", 1), machine_lines(), tensor_lines(), "ndarray = Tensor", "", ALIASES]
    lines += [name_line(name, value, "") for name, value in names.items() if name not in known]
    lines += ["", "__version__: str", "__array_api_version__: str", "def __array_namespace_info__() -> Any: ...", ""]
    # Names that hide Python's own inside this stub.
    text = "\n".join(lines)
    return hide_builtins(text)


def module_stub(module):
    values = vars(getattr(fo, module))
    names = values.get("__all__") or sorted(name for name in values if not name.startswith("_"))
    lines = [HEADER, "from fastops import ArrayLike, DeviceLike, DTypeLike, Scalar, Tensor", ""]
    lines += [name_line(name, getattr(getattr(fo, module), name), module) for name in sorted(names)]
    return hide_builtins("\n".join(lines) + "\n")


def hide_builtins(text):
    """Python's own types by their module where the stub has a name of its own like theirs."""
    import re
    text = text.replace("import numpy as np\n", "import builtins\n\nimport numpy as np\n", 1)
    return re.sub(r"(?<=[:\[|>] )(bool|float|int|complex|str|tuple|list|dict|bytes)\b|(?<=\[)(bool|float|int|complex|str|tuple)\b",
                  lambda match: f"builtins.{match.group(0)}", text)


def stubs():
    """Path and text of every stub."""
    yield PACKAGE / "__init__.pyi", main_stub()
    for module in MODULES[:-1]:
        folder = PACKAGE / module
        yield folder / "__init__.pyi" if folder.is_dir() else PACKAGE / f"{module}.pyi", module_stub(module)


if __name__ == "__main__":
    for path, text in stubs():
        path.write_text(text)
    (PACKAGE / "py.typed").write_text("")
    sys.exit(0)
