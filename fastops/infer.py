"""The schema of a Python function, from its annotations."""

import builtins
import collections.abc
import functools
import inspect
import sys
import types
import typing

import numpy as np

from fastops._dispatch import Tensor, device
from fastops.errors import SchemaError
from fastops.schema import default_text

NUMBERS = {int: "SymInt", float: "float", bool: "bool", str: "str"}


def infer_schema(fn, /, *, mutates_args, op_name=None):
    """The schema text of the annotated function *fn*, ``"(Tensor x, SymInt n=1) -> Tensor"``, behind *op_name* if given.

    *mutates_args* is a sequence with the names of the tensors that the function writes, or ``"unknown"``, which
    stands for all of them. Parameters may be Tensor, int, float, bool, str, complex, numbers.Number, numpy.dtype or
    fastops.device, lists and sequences of these, tuples of one type as lists of fixed length, and any of them or None;
    results Tensor, int, float, bool, a number, a list of tensors, or a tuple of these.

    Raises ValueError (a RuntimeError too) that names the parameter and the annotation where there is no such type.

    >>> import fastops as fo
    >>> def scale(x: fo.Tensor, factor: float = 2.0) -> fo.Tensor:
    ...     return x * factor
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    signature = inspect.signature(fn)
    namespaces = namespaces_of(fn)
    tensors, parts, keyword_only = set(), [], False
    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise SchemaError(f"infer_schema: mutates_args is a sequence of names, such as [{mutates_args!r}], or 'unknown'; "
                          f"not the string {mutates_args!r}")
    written = set() if unknown else set(mutates_args)
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise SchemaError(f"infer_schema: the parameter {name!r} of {shown(fn)} is {parameter.kind.description}; a schema "
                              "has parameters that may be given by position or by name, and keyword-only ones")
        if parameter.annotation is parameter.empty:
            raise SchemaError(f"infer_schema: the parameter {name!r} of {shown(fn)} has no annotation")
        annotation = evaluated(parameter.annotation, namespaces, f"the parameter {name!r}", fn)
        kind = parameter_type(annotation)
        if kind is None:
            raise SchemaError(f"infer_schema: the parameter {name!r} of {shown(fn)} has the type {spelled(annotation)}, which "
                              f"no schema has; {advice(annotation)}")
        if kind.startswith("Tensor"):
            tensors.add(name)
            if unknown or name in written:
                kind = f"Tensor(a{position}!)" + kind[len("Tensor"):]
        elif name in written:
            raise SchemaError(f"infer_schema: mutates_args names {name!r} of {shown(fn)}, which is no tensor but {kind}")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        parts.append(f"{kind} {name}" + default_of(parameter, fn))
    if written - set(signature.parameters):
        raise SchemaError(f"infer_schema: mutates_args names {sorted(written - set(signature.parameters))}, but {shown(fn)} has "
                          f"the parameters {list(signature.parameters)}")
    return f"{op_name or ''}({', '.join(parts)}) -> {result_types(signature.return_annotation, namespaces, fn)}"


def default_of(parameter, fn):
    if parameter.default is parameter.empty:
        return ""
    value = parameter.default
    if isinstance(value, (np.dtype, type)) and not isinstance(value, bool) and value not in (None,):
        try:
            return f"={np.dtype(value).name}"
        except TypeError:
            pass
    if isinstance(value, device):
        return f'="{value}"'
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and value - value != 0:
            raise SchemaError(f"infer_schema: the default {parameter.name}={value!r} of {shown(fn)} is not a finite number")
        return f"={default_text(value)}"
    raise SchemaError(f"infer_schema: the default {parameter.name}={value!r} of {shown(fn)} is {type(value).__name__}; defaults are "
                      "None, numbers, strings, dtypes and devices")


def result_types(annotation, namespaces, fn):
    if annotation is inspect.Signature.empty:
        raise SchemaError(f"infer_schema: {shown(fn)} has no annotation for its result; write '-> None' if there is none")
    annotation = evaluated(annotation, namespaces, "the result", fn)
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        members = typing.get_args(annotation)
        if Ellipsis in members or not members:
            raise SchemaError(f"infer_schema: the result of {shown(fn)} is {spelled(annotation)}; how many values there are must "
                              "be said")
        return f"({', '.join([one_result(member, fn) for member in members])})"
    return one_result(annotation, fn)


def one_result(annotation, fn):
    kind = parameter_type(annotation)
    if kind not in ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar") or is_sequence_type(annotation):
        raise SchemaError(f"infer_schema: the result of {shown(fn)} has the type {spelled(annotation)}; results are Tensor, int, "
                          "float, bool, a number, list[Tensor], or a tuple of these")
    return kind


def is_sequence_type(annotation):
    return typing.get_origin(annotation) is collections.abc.Sequence


def parameter_type(annotation):
    """The schema's type for a Python type; None if it has none."""
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        others = [member for member in members if member is not type(None)]
        if len(others) == 1 and len(members) == 2:
            inner = parameter_type(others[0])
            return None if inner is None or inner.endswith("?") else inner + "?"
        if set(others) <= {int, float, bool, complex}:
            return "Scalar" + ("?" if type(None) in members else "")
        return None
    if origin in (list, collections.abc.Sequence) and len(members) == 1:
        inner = parameter_type(members[0])
        return None if inner is None or inner.endswith("]") or inner.endswith("]?") else inner + "[]"
    if origin is tuple and members and len(set(members)) == 1 and Ellipsis not in members:
        inner = parameter_type(members[0])
        return f"{inner}[{len(members)}]" if inner in ("SymInt", "float", "bool", "Tensor") else None
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, Tensor):
        return "Tensor"
    if annotation in NUMBERS:
        return NUMBERS[annotation]
    if annotation is complex:
        return "complex"
    if annotation.__name__ == "Number" and annotation.__module__ == "numbers":
        return "Scalar"
    if annotation is np.dtype:
        return "ScalarType"
    return "Device" if annotation is device else None


def advice(annotation):
    """What to write instead."""
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and members:
        nearest = parameter_type(members[0])
        word = {"SymInt": "int", "float": "float", "bool": "bool", "Tensor": "Tensor", "str": "str"}.get(nearest, "int")
        return f"a tuple of one type and a fixed length is one, or write list[{word}]"
    if annotation in (list, tuple) or origin in (list, collections.abc.Sequence):
        return "say what the list holds, for instance list[int] or list[Tensor]"
    return ("known are Tensor, int, float, bool, str, complex, Number, numpy.dtype, fastops.device, lists of these, and these or "
            "None")


def evaluated(annotation, namespaces, place, fn):
    """The type that an annotation means: postponed ones are strings, and names are sought where the function was written."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, namespaces[0], namespaces[1])
    except NameError as error:
        raise SchemaError(f"infer_schema: the name {error.name!r} in the annotation {annotation!r} of {place} of {shown(fn)} is not "
                          "found where the function was defined: annotations postponed by 'from __future__ import annotations' "
                          "are looked up in its module and in the scope around it; import the name there") from None
    except Exception as error:
        raise SchemaError(f"infer_schema: the annotation {annotation!r} of {place} of {shown(fn)} cannot be evaluated: {error}"
                          ) from None


def namespaces_of(fn):
    """The globals and the enclosing variables of a function, a method, a partial or a callable object.

    A function defined inside another sees that one's variables only if it uses them; annotations alone do not count
    as use. So the frames that are running, from the caller outwards, are searched too, as far as they belong to the same
    module.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    if not hasattr(fn, "__globals__") and not hasattr(fn, "__func__") and not isinstance(fn, type):
        fn = getattr(type(fn), "__call__", fn)
    fn = inspect.unwrap(getattr(fn, "__func__", fn))
    module = getattr(fn, "__globals__", vars(builtins))
    around = {}
    frame = sys._getframe(1)
    frames = []
    while frame is not None:
        if frame.f_globals is module and frame.f_locals is not module:
            frames.append(frame.f_locals)
        frame = frame.f_back
    for variables in reversed(frames):
        around.update(variables)
    for name, cell in zip(getattr(getattr(fn, "__code__", None), "co_freevars", ()), getattr(fn, "__closure__", None) or ()):
        try:
            around[name] = cell.cell_contents
        except ValueError:          # not yet assigned
            continue
    return module, around


def shown(fn):
    return getattr(fn, "__qualname__", None) or repr(fn)


def spelled(annotation):
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)
