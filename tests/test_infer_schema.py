"""infer_schema, item by item."""

import functools
import numbers
import typing
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union

import numpy as np
import pytest

import fastops as fo
from fastops.library import infer_schema
from fastops.schema import parse_schema

T = fo.Tensor


def test_M1_form():
    def f(x: T) -> T: ...
    assert infer_schema(f, mutates_args=()) == "(Tensor x) -> Tensor"
    assert infer_schema(f, mutates_args=(), op_name="ns::g") == "ns::g(Tensor x) -> Tensor"
    with pytest.raises(TypeError):
        infer_schema(f)
    with pytest.raises(TypeError):
        infer_schema(f, ())


@pytest.mark.parametrize("annotation, expected", [
    (T, "Tensor"), (int, "SymInt"), (float, "float"), (bool, "bool"), (str, "str"), (numbers.Number, "Scalar"),
    (np.dtype, "ScalarType"), (fo.device, "Device"), (complex, "complex"),
    (Optional[T], "Tensor?"), (Optional[int], "SymInt?"), (float | None, "float?"), (Optional[str], "str?"),
    (Optional[np.dtype], "ScalarType?"), (Optional[fo.device], "Device?"),
    (List[T], "Tensor[]"), (Sequence[T], "Tensor[]"), (typing.Sequence[int], "SymInt[]"), (list[float], "float[]"),
    (List[bool], "bool[]"), (List[numbers.Number], "Scalar[]"), (List[Optional[T]], "Tensor?[]"), (list[str], "str[]"),
    (Optional[List[int]], "SymInt[]?"), (Optional[List[float]], "float[]?"), (Optional[List[T]], "Tensor[]?"),
    (Tuple[int, int], "SymInt[2]"), (tuple[float, float, float], "float[3]"), (Union[int, float], "Scalar")])
def test_M2_parameter_types(annotation, expected):
    def f(x): ...
    f.__annotations__ = {"x": annotation, "return": T}
    text = infer_schema(f, mutates_args=(), op_name="f")
    assert text == f"f({expected} x) -> Tensor"
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize("annotation", [dict, typing.Any, list, tuple, List[List[int]], Tuple[int, str], Tuple[int, ...],
                                        Union[T, int], object, np.ndarray, typing.Callable, bytes])
def test_M3_types_that_no_schema_has(annotation):
    def f(pad): ...
    f.__annotations__ = {"pad": annotation, "return": T}
    with pytest.raises(ValueError, match="pad"):
        infer_schema(f, mutates_args=())


def test_M3_a_tuple_of_several_types_is_told_the_nearest():
    def f(x: T, pad: Tuple[int, str]) -> T: ...
    with pytest.raises(ValueError, match=r"list\[int\]"):
        infer_schema(f, mutates_args=())


@pytest.mark.parametrize("annotation, expected", [
    (T, "Tensor"), (List[T], "Tensor[]"), (int, "SymInt"), (float, "float"), (bool, "bool"), (numbers.Number, "Scalar"),
    (None, "()"), (Tuple[T, T], "(Tensor, Tensor)"), (tuple[T, int], "(Tensor, SymInt)"),
    (Tuple[T, List[T]], "(Tensor, Tensor[])")])
def test_M5_results(annotation, expected):
    def f(x: T): ...
    f.__annotations__["return"] = annotation
    assert infer_schema(f, mutates_args=()) == f"(Tensor x) -> {expected}"


@pytest.mark.parametrize("annotation", [Optional[T], str, np.dtype, List[int], Tuple[T, ...], Sequence[T], dict])
def test_M5_results_that_are_refused(annotation):
    def f(x: T): ...
    f.__annotations__["return"] = annotation
    with pytest.raises(ValueError, match="result"):
        infer_schema(f, mutates_args=())


def test_M5_no_annotation_of_the_result():
    def f(x: T): ...
    with pytest.raises(ValueError, match="result"):
        infer_schema(f, mutates_args=())


def test_M6_a_tuple_of_one():
    def f(x: T) -> Tuple[T]: ...
    text = infer_schema(f, mutates_args=(), op_name="f")
    assert len(parse_schema(text).returns) == 1


def test_M7_parameters_that_no_schema_has():
    def star(*x: T) -> T: ...
    def stars(**x: T) -> T: ...
    def positional(x: T, /) -> T: ...
    def bare(x) -> T: ...

    class Model:
        def method(self, x: T) -> T: ...
    for function in (star, stars, positional, bare, Model.method):
        with pytest.raises(ValueError):
            infer_schema(function, mutates_args=())
    assert infer_schema(Model().method, mutates_args=()) == "(Tensor x) -> Tensor"


def test_M8_defaults():
    def f(a: Optional[T] = None, b: int = 3, c: float = 2.5, d: bool = True, e: str = "x", g: np.dtype = np.float32, *,
          h: float = 1e-05, i: Optional[fo.device] = fo.device("cpu")) -> T: ...
    text = infer_schema(f, mutates_args=(), op_name="f")
    schema = parse_schema(text)
    assert [argument.default_value for argument in schema.arguments] == [None, 3, 2.5, True, "x", np.dtype("float32"), 1e-05, "cpu"]
    assert [argument.kwarg_only for argument in schema.arguments] == [False] * 6 + [True] * 2


@pytest.mark.parametrize("default", [[1, 2], (1,), fo.ones(2), float("inf"), float("nan"), object()])
def test_M8_defaults_that_are_refused(default):
    def f(x: T, y: List[int] = default) -> T: ...
    with pytest.raises(ValueError, match="y="):
        infer_schema(f, mutates_args=())


def test_M8_a_quote_in_a_string():
    def f(x: T, how: str = 'say "hi"') -> T: ...
    assert parse_schema(infer_schema(f, mutates_args=(), op_name="f")).arguments[1].default_value == 'say "hi"'


def test_M9_mutates_args():
    def f(x: T, y: List[T], z: Optional[T], n: int) -> None: ...
    assert infer_schema(f, mutates_args=("y", "x")) == "(Tensor(a0!) x, Tensor(a1!)[] y, Tensor? z, SymInt n) -> ()"
    assert infer_schema(f, mutates_args={}) == infer_schema(f, mutates_args=()) == "(Tensor x, Tensor[] y, Tensor? z, SymInt n) -> ()"
    assert infer_schema(f, mutates_args="unknown") == "(Tensor(a0!) x, Tensor(a1!)[] y, Tensor(a2!)? z, SymInt n) -> ()"
    assert parse_schema(infer_schema(f, mutates_args="unknown", op_name="f")).is_mutable
    with pytest.raises(ValueError, match="missing"):
        infer_schema(f, mutates_args={"missing"})
    with pytest.raises(ValueError, match="'n'"):
        infer_schema(f, mutates_args={"n"})
    with pytest.raises(ValueError, match="sequence of names"):
        infer_schema(f, mutates_args="x")
    with pytest.raises(TypeError):
        infer_schema(f, mutates_args=None)


def test_M10_a_result_beside_a_mutated_argument_is_unaliased():
    def f(x: T) -> T: ...
    schema = parse_schema(infer_schema(f, mutates_args={"x"}, op_name="f"))
    assert schema.arguments[0].is_write and schema.returns[0].alias_info is None


POSTPONED = '''
from __future__ import annotations
from typing import List, Optional
import fastops as fo
def plain(xs: List[fo.Tensor], s: Optional[float] = None) -> fo.Tensor: ...
def enclosing():
    import fastops as only_here
    def f(x: only_here.Tensor) -> only_here.Tensor: ...
    return infer(f, mutates_args=())
def out_of_reach():
    def make():
        import fastops as gone
        def f(x: gone.Tensor) -> gone.Tensor: ...
        return f
    return infer(make(), mutates_args=())

'''


def test_M11_postponed_annotations():
    module = {"infer": infer_schema}
    exec(compile(POSTPONED, "postponed", "exec"), module)
    assert infer_schema(module["plain"], mutates_args=()) == "(Tensor[] xs, float? s=None) -> Tensor"
    assert module["enclosing"]() == "(Tensor x) -> Tensor"
    with pytest.raises(ValueError, match="gone") as caught:
        module["out_of_reach"]()
    assert "'x'" in str(caught.value) and "__future__" in str(caught.value)


def test_M11_a_string_that_is_no_expression():
    def f(x): ...
    f.__annotations__ = {"x": "not a type", "return": T}
    with pytest.raises(ValueError, match="not a type"):
        infer_schema(f, mutates_args=())


def test_M12_partials_and_callable_objects():
    def f(k: int, x: T, n: int = 2) -> T: ...

    class Scale:
        def __call__(self, x: T, n: int) -> T: ...
    assert infer_schema(functools.partial(f, 3), mutates_args=()) == "(Tensor x, SymInt n=2) -> Tensor"
    assert infer_schema(Scale(), mutates_args=()) == "(Tensor x, SymInt n) -> Tensor"
