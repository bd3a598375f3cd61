"""The schema language: every type, default, alias and error; what is written parses back."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fastops.errors import SchemaError
from fastops.schema import BASE_TYPES, parse_schema

TYPES = ["Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "complex", "ScalarType", "Device", "Layout", "MemoryFormat",
         "Generator", "Any"]


@pytest.mark.parametrize("base", TYPES)
@pytest.mark.parametrize("form", ["{}", "{}?", "{}[]", "{}[3]", "{}?[]", "{}[]?", "{}[][]", "({}, {})", "Dict(str, {})"])
def test_G1_types(base, form):
    kind = form.format(base, base)
    schema = parse_schema(f"f({kind} x) -> ()")
    assert str(schema) == f"f({kind} x) -> ()"
    assert parse_schema(str(schema)) == schema


@pytest.mark.parametrize("kind", ["double", "t", "Tensr", "Int", "list", "Tensor??", "Tensor[", "Tensor[x]", "Tensor(", "Tensor(a", "()x"])
def test_G1_no_types(kind):
    with pytest.raises(SchemaError):
        parse_schema(f"f({kind} x) -> ()")


@pytest.mark.parametrize("kind, write, before, after", [
    ("Tensor(a)", False, {"a"}, {"a"}), ("Tensor(a!)", True, {"a"}, {"a"}), ("Tensor(a!)[]", True, {"a"}, {"a"}),
    ("Tensor(a!)?", True, {"a"}, {"a"}), ("Tensor(a! -> b)", True, {"a"}, {"b"}), ("Tensor(a|b)", False, {"a", "b"}, {"a", "b"}),
    ("Tensor(*)", False, {"*"}, {"*"})])
def test_G2_aliases(kind, write, before, after):
    argument = parse_schema(f"f({kind} x) -> Tensor").arguments[0]
    assert (argument.alias_info.is_write, set(argument.alias_info.before_set), set(argument.alias_info.after_set)) == (write, before, after)
    assert argument.is_write is write and str(argument) == f"{kind} x"


def test_G3_mutable_and_view():
    assert parse_schema("f(Tensor(a!) x) -> Tensor(a!)").is_mutable and not parse_schema("f(Tensor(a!) x) -> Tensor(a!)").is_view
    assert parse_schema("f(Tensor(a) x) -> Tensor(a)").is_view and not parse_schema("f(Tensor x) -> Tensor").is_view


@pytest.mark.parametrize("parameter, value", [
    ("int x=3", 3), ("int x=-3", -3), ("float x=1.5", 1.5), ("float x=1e-05", 1e-05), ("float x=2", 2.0), ("bool x=True", True),
    ("int? x=None", None), ("str x='a'", "a"), ('str x="a b"', "a b"), ("str x='it\\'s'", "it's"), ("int[] x=[]", []),
    ("int[2] x=[1, 2]", [1, 2]), ("int[2] x=0", [0, 0]), ("float[3] x=1.0", [1.0, 1.0, 1.0]), ("ScalarType x=float32", np.dtype("f4")),
    ("ScalarType x=long", np.dtype("i8")), ("Scalar x=1", 1), ("Scalar x=1.5", 1.5), ('Device x="cpu"', "cpu"),
    ("Tensor? x=None", None), ("Any x=True", True)])
def test_G21_G22_G23_defaults(parameter, value):
    schema = parse_schema(f"f({parameter}) -> ()")
    found = schema.arguments[0].default_value
    assert found == value and type(found) is type(value) and schema.arguments[0].has_default_value()
    assert parse_schema(str(schema)) == schema


@pytest.mark.parametrize("parameter", ["int x=1.5", "int x=None", "int x='a'", "str x=3", "bool x=1", "float x=inf", "float x=nan",
                                       "float x=1e999", "int[2] x=[1]", "int[2] x=[1, 2, 3]", "int[] x=3", "Tensor x=None", "Tensor x=1",
                                       "ScalarType x=nope", "int x=", "int x=[", "str x='a", "int x=a"])
def test_G21_wrong_defaults(parameter):
    with pytest.raises(SchemaError):
        parse_schema(f"f({parameter}) -> ()")


@pytest.mark.parametrize("text", ["", "f", "f()", "f() ->", "f( -> ()", "f(int) -> ()", "f(int x y) -> ()", "f() -> () x", "f(int x,) -> (",
                                  "1f() -> ()", "a-b() -> ()", "f(*, *) -> ()", "f(/) -> ()", "f(int x, *, int y, /) -> ()",
                                  "a::b::c() -> ()", "f.() -> ()", "::f() -> ()"])
def test_B5_malformed(text):
    with pytest.raises(SchemaError, match=r"expected"):
        parse_schema(text)


def test_errors_point_at_the_place():
    with pytest.raises(SchemaError) as caught:
        parse_schema("scale(Tensor x, flot factor) -> Tensor")
    lines = str(caught.value).split("\n")
    assert lines[1][lines[2].index("^"):].startswith("flot") and "float" in lines[0]


def test_B6_names():
    for overload in ("default", "__x"):
        with pytest.raises(SchemaError):
            parse_schema(f"f.{overload}() -> ()")
    assert parse_schema("ns::__and__.Tensor(Tensor self, Tensor other) -> Tensor").overload_name == "Tensor"
    assert parse_schema("lambda(int from) -> ()").arguments[0].name == "from"


def test_B11_a_name_twice():
    with pytest.raises(SchemaError, match="'x'"):
        parse_schema("f(int x, float x) -> ()")


def test_B12_defaults_come_last():
    with pytest.raises(SchemaError, match="'y'"):
        parse_schema("f(int x=1, int y) -> ()")
    assert parse_schema("f(int x=1, *, int y) -> ()").arguments[1].kwarg_only


def test_G24_H9_H10_names_of_results_and_arguments():
    schema = parse_schema("ns::f.ov(Tensor x, *, Tensor(a!) out) -> (Tensor(a!) value, int count)")
    assert [result.name for result in schema.returns] == ["value", "count"]
    assert (schema.name, schema.namespace, schema.opname, schema.overload_name) == ("ns::f", "ns", "f", "ov")
    assert [argument.is_out for argument in schema.arguments] == [False, True]


def test_signature():
    signature = parse_schema("f(Tensor x, /, int k=1, *, str mode='a') -> Tensor").signature()
    assert str(signature) == "(x, /, k=1, *, mode='a')"


identifiers = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: not name.startswith("__"))
bases = st.sampled_from(TYPES)
kinds = st.recursive(bases, lambda inner: st.one_of(
    inner.filter(lambda kind: not kind.endswith("?")).map("{}?".format), inner.map("{}[]".format),
    st.tuples(inner, st.integers(1, 9)).map(lambda pair: f"{pair[0]}[{pair[1]}]")), max_leaves=3)
defaults = {"int": st.integers(-9, 9).map(str), "float": st.floats(-9, 9).map(repr), "bool": st.sampled_from(["True", "False"]),
            "str": st.text("abc '\"\\", max_size=4).map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')}


@st.composite
def schemas(draw):
    names = draw(st.lists(identifiers, unique=True, max_size=5))
    parts = [f"{draw(kinds)} {name}" for name in names]
    if draw(st.booleans()):
        parts.append("*")
        for name in ("p", "q"):
            base = draw(st.sampled_from(sorted(defaults)))
            parts.append(f"{base} {name}_={draw(defaults[base])}")
    results = draw(st.lists(kinds, max_size=3))
    overload = draw(st.sampled_from(["", ".ov"]))
    return f"{draw(identifiers)}::{draw(identifiers)}{overload}({', '.join(parts)}) -> ({', '.join(results)})"


@settings(max_examples=300, deadline=None)
@given(schemas())
def test_what_is_written_parses_back(text):
    schema = parse_schema(text)
    again = parse_schema(str(schema))
    assert again == schema and str(again) == str(schema) and hash(again) == hash(schema)


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="f(Tensorint x=1,[]?*/)->!|.:'\" a_b", max_size=40))
def test_any_text_parses_or_raises_SchemaError(text):
    try:
        parse_schema(text)
    except SchemaError as error:
        assert "expected" in str(error)


@pytest.mark.parametrize("value", [None, 3, b"f() -> ()"])
def test_a_schema_is_a_string(value):
    with pytest.raises(SchemaError):
        parse_schema(value)


def test_every_base_type_is_spelled_in_the_error():
    with pytest.raises(SchemaError) as caught:
        parse_schema("f(Nothing x) -> ()")
    assert all(base in str(caught.value) for base in BASE_TYPES)
