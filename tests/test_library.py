"""Registration, item by item: libraries, definitions, kernels, fallbacks, lifetime, the function forms, fo.ops."""

import copy
import gc
import itertools
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import fastops as fo
from fastops.library import Library, Tag, _scoped_library, define, fallthrough_kernel, impl, register_kernel

T = fo.Tensor
names = (f"lib{number}" for number in itertools.count())


@pytest.fixture
def ns():
    """A namespace that nobody has used."""
    return next(names)


@pytest.fixture
def lib(ns):
    library = Library(ns, "DEF")
    yield library
    library._destroy()


@pytest.fixture(autouse=True)
def the_thread_is_clean():
    before = fo.dispatch.local_state()
    yield
    assert fo.dispatch.local_state() == before


def op_of(library, name):
    return getattr(getattr(fo.ops, library.ns), name)


x = fo.asarray([1.0, 2.0])
meta = fo.empty(2, device="meta")


# A. Library

def test_A1_attributes(ns):
    library = Library(ns, "FRAGMENT")
    assert (library.ns, library.kind, library.dispatch_key) == (ns, "FRAGMENT", "")
    assert Library(ns, "IMPL", "CPU").dispatch_key == "CPU"


@pytest.mark.parametrize("kind", ["def", "X", "", None])
def test_A2_unknown_kind(kind):
    with pytest.raises(ValueError):
        Library("prim", kind)


def test_A3_reserved_namespace():
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(ValueError):
            Library("prim", kind)
    Library("prim", "IMPL")._destroy()


def test_A4_second_DEF(lib):
    with pytest.raises(RuntimeError, match=lib.ns):
        Library(lib.ns, "DEF")
    with pytest.raises(RuntimeError):
        Library("fastops", "DEF")


def test_A5_fragments_and_impls_at_any_time(ns):
    parts = [Library(ns, "FRAGMENT"), Library(ns, "IMPL", "CPU"), Library(ns, "DEF"), Library(ns, "FRAGMENT")]
    parts[3].define("f(Tensor x) -> Tensor")
    parts[1].impl("f", lambda x: x)
    assert op_of(parts[0], "f")(x) is x


def test_A6_A7_keys_of_libraries(ns):
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(RuntimeError):
            Library(ns, kind, "CPU")
    with pytest.raises(RuntimeError, match="NoSuchKey"):
        Library(ns, "IMPL", "NoSuchKey")


def test_A8_the_wildcard_is_for_IMPL():
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(RuntimeError):
            Library("_", kind)


@pytest.mark.parametrize("namespace", ["", "my.ns", "1a", None, 3])
def test_A9_namespaces_are_identifiers(namespace):
    with pytest.raises((RuntimeError, ValueError)):
        Library(namespace, "FRAGMENT")


def test_A10_repr(lib):
    assert repr(lib) == f"Library(kind=DEF, ns={lib.ns}, dispatch_key=)"


# B. define

def test_B1_B2_what_define_returns(lib):
    assert lib.define("f1.ov(Tensor x) -> Tensor") == "f1"
    assert lib.define(f"{lib.ns}::f2(Tensor x) -> Tensor") == "f2"
    assert op_of(lib, "f1").ov._schema.overload_name == "ov"


def test_B3_where_definitions_are_refused(lib):
    with pytest.raises(RuntimeError):
        Library(lib.ns, "IMPL").define("g(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="elsewhere"):
        lib.define("elsewhere::g(Tensor x) -> Tensor")


def test_B4_the_name_is_taken(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError) as caught:
        Library(lib.ns, "FRAGMENT").define("f(Tensor x, int k) -> Tensor")
    assert str(caught.value).count("test_library.py:") == 2         # both places


def test_B7_alias_analysis(lib):
    lib.define("a() -> ()", "")
    lib.define("b() -> ()", "FROM_SCHEMA")
    lib.define("c() -> ()", "CONSERVATIVE")
    with pytest.raises(RuntimeError):
        lib.define("d() -> ()", "PURE_FUNCTION")


def test_B8_tags(lib):
    lib.define("a(Tensor x) -> Tensor", tags=Tag.pointwise)
    lib.define("b(Tensor x) -> Tensor", tags=(Tag.core, Tag.pointwise))
    assert op_of(lib, "a").default.tags == [Tag.pointwise]
    assert op_of(lib, "b").default.tags == [Tag.core, Tag.pointwise]
    for wrong in (None, ["pointwise"], 3):
        with pytest.raises(TypeError):
            lib.define("c(Tensor x) -> Tensor", tags=wrong)
    assert not hasattr(getattr(fo.ops, lib.ns), "c")


def test_B9_packets_follow(lib):
    lib.define("f(Tensor x) -> Tensor")
    packet = op_of(lib, "f")
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    assert op_of(lib, "f") is packet and packet.overloads() == ["default", "two"]


def test_B10_a_prefix_does_not_break_destruction(ns):
    library = Library(ns, "DEF")
    library.define(f"{ns}::f(Tensor x) -> Tensor")
    library._destroy()
    assert not hasattr(getattr(fo.ops, ns), "f")


# C. impl

def test_C1_names(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.ov(Tensor x, int k) -> Tensor")
    assert lib.impl(f"{lib.ns}::f", lambda x: x, "CPU") is None
    lib.impl("f.ov", lambda x, k: x * k, "CPU")
    lib.impl(op_of(lib, "f").default, lambda x: x, "Meta")
    assert op_of(lib, "f").ov(x, 3).tolist() == [3.0, 6.0]
    assert op_of(lib, "f")(meta) is meta


def test_C2_C3_wrong_arguments(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(TypeError):
        lib.impl("f", 3, "CPU")
    for wrong in (op_of(lib, "f"), 3, None):
        with pytest.raises(RuntimeError):
            lib.impl(wrong, lambda x: x, "CPU")
    with pytest.raises(TypeError):
        lib.impl("f", lambda x: x, fo.DispatchKey.CPU)
    with pytest.raises(RuntimeError, match="Unknown"):
        lib.impl("f", lambda x: x, "Unknown")


def test_C4_C5_the_librarys_key(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    backend = Library(lib.ns, "IMPL", "CPU")
    backend.impl("f", lambda x: x)
    assert op_of(lib, "f").default.has_kernel_for_dispatch_key("CPU")
    for key in ("Meta", "Autograd"):
        with pytest.raises(RuntimeError):
            backend.impl("g", lambda x: x, key)
    lib.impl("g", lambda x: x)
    assert op_of(lib, "g").default.has_kernel_for_dispatch_key("CompositeImplicitAutograd")


def test_C6_another_namespace(lib):
    with pytest.raises(RuntimeError, match="fastops"):
        lib.impl("fastops::sin", lambda x: x, "CPU")


def test_C7_a_kernel_before_its_definition(ns):
    kernels = Library(ns, "IMPL")
    kernels.impl("f", lambda x: x * 2, "CPU")
    assert not hasattr(getattr(fo.ops, ns), "f")
    for _ in range(2):
        with _scoped_library(ns, "DEF") as library:
            library.define("f(Tensor x) -> Tensor")
            assert op_of(library, "f")(x).tolist() == [2.0, 4.0]
    kernels._destroy()


def test_C8_C9_overloads(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.ov(Tensor x, int k) -> Tensor")
    with pytest.raises(RuntimeError, match="f.default"):
        lib.impl("f.default", lambda x: x, "CPU")
    lib.impl("f", lambda x: x, "CPU")
    with pytest.raises(NotImplementedError):
        op_of(lib, "f").ov(x, 1)


def test_C10_a_second_kernel(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match="CPU"):
        Library(lib.ns, "IMPL").impl("f", lambda x: x + 1, "CPU")
    assert op_of(lib, "f")(x) is x


def test_C11_overriding_a_kernel_of_ours():
    before = fo.sin(x).tolist()
    with _scoped_library("fastops", "IMPL") as library:
        library.impl("sin", lambda x: x * 0, "CPU")
        assert fo.sin(x).tolist() == [0.0, 0.0]
        with pytest.raises(RuntimeError):
            library.impl("sin", lambda x, out=None: x, "CPU")
    assert fo.sin(x).tolist() == before


def test_C12_Meta_beside_a_composite(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x)
    with pytest.raises(RuntimeError):
        lib.impl("f", lambda x: x, "Meta")


def test_C13_J13_with_keyset(lib):
    lib.define("f(Tensor x) -> Tensor")
    seen = []
    lib.impl("f", lambda keys, x: (seen.append(keys), op_of(lib, "f").default.redispatch(keys.remove("Autograd"), x))[1],
             "Autograd", with_keyset=True)
    lib.impl("f", lambda keys, x: (seen.append(keys), x)[1], "CPU", with_keyset=True)
    op_of(lib, "f")(x)
    assert [[key.name for key in keys] for keys in seen] == [["Autograd", "CPU"], ["CPU"]]


def test_C14_parameter_names_and_keywords(lib):
    lib.define("f(Tensor x, int k=2, *, str mode='a') -> Tensor")
    lib.impl("f", lambda other_name, factor=2, *, mode="a": other_name * (factor if mode == "a" else -factor), "CPU")
    f = op_of(lib, "f")
    assert f(x, mode="b").tolist() == [-2.0, -4.0] and f(x=x, k=3).tolist() == [3.0, 6.0]


def test_C14_kernels_that_cannot_take_the_schema(lib):
    lib.define("f(Tensor x, int k=2, *, str mode='a') -> Tensor")
    for wrong in (lambda x, k=2: x, lambda x, *, mode="a": x, lambda x, k=5, *, mode="a": x, lambda x, k=2, *, mode="b": x,
                  lambda: x):
        with pytest.raises(RuntimeError, match="kernel"):
            lib.impl("f", wrong, "CPU")
    lib.impl("f", lambda *args, **kwargs: args[0], "CPU")
    lib.impl("early", lambda x, k: x, "CPU")
    with pytest.raises(RuntimeError, match="kernel"):
        lib.define("early(Tensor x) -> Tensor")


def test_C15_after_destruction(ns):
    library = Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library._destroy()
    library._destroy()
    for call in (lambda: library.define("g() -> ()"), lambda: library.impl("f", lambda x: x, "CPU"),
                 lambda: library.fallback(lambda op: None, "Python")):
        with pytest.raises(AssertionError):
            call()


# D. fallthrough and fallback

def test_D1_D2_fallthrough(lib):
    with pytest.raises(NotImplementedError):
        fallthrough_kernel()
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", fallthrough_kernel, "CPU", with_keyset=True)
    with pytest.raises(NotImplementedError):
        op_of(lib, "f")(x)
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", fallthrough_kernel, "Autograd")
    lib.impl("g", lambda x: x, "CPU")
    assert op_of(lib, "g")(x) is x


def test_D4_D8_D9_D10_fallback(lib):
    lib.define("f(Tensor x, int k=1) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    seen = []
    lib.impl("f", lambda x, k=1: x * k, "CPU")
    lib.impl("g", lambda x: x, "CPU")
    lib.impl("g", lambda x: x + 100, "Python")
    with _scoped_library("_", "IMPL") as wildcard:
        def fallback(keys, op, *args, **kwargs):
            seen.append((op, args[1:]))
            return op.redispatch(keys.remove("Python"), *args, **kwargs)
        wildcard.fallback(fallback, "Python", with_keyset=True)
        with fo.dispatch.include("Python"):
            assert op_of(lib, "f")(x, 1).tolist() == [1.0, 2.0]
            assert op_of(lib, "f")(x, k=2).tolist() == [2.0, 4.0]
            fo.ones(3)
            with fo.dispatch.exclude("Python"):
                op_of(lib, "f")(x)
            found = list(seen)
            assert op_of(lib, "g")(x).tolist() == [101.0, 102.0]
    f = op_of(lib, "f").default
    assert [call for call in found if call[0] is f] == [(f, ()), (f, (2,))]     # trimmed; not where the key is excluded
    assert [op for op, _ in found if op is not f] == [fo.multiply, fo.multiply, fo.ones]    # factories and inner calls too
    count = len(seen)
    with fo.dispatch.include("Python"):
        assert op_of(lib, "f")(x).tolist() == [1.0, 2.0] and len(seen) == count     # gone with its library


def test_D5_D6_D7_wrong_fallbacks(lib):
    with pytest.raises(RuntimeError):
        lib.fallback(lambda op, *args: None, "Python")
    with _scoped_library("_", "IMPL") as wildcard:
        with pytest.raises(AssertionError):
            wildcard.fallback(lambda op, *args: None)
        with pytest.raises(RuntimeError):
            wildcard.fallback(lambda op, *args: None, "NoKey")
        with pytest.raises(TypeError):
            wildcard.fallback(3, "Python")
        with pytest.raises(RuntimeError):
            wildcard.fallback(lambda op, *args: None, "CompositeImplicitAutograd")
        wildcard.fallback(lambda op, *args: None, "Batched")
        with pytest.raises(RuntimeError):
            wildcard.fallback(lambda op, *args: None, "Batched")


# E. lifetime

def test_E1_E2_destroy_frees_names(ns):
    for schema in ("f(Tensor x) -> Tensor", "f(Tensor x, int k) -> Tensor"):
        library = Library(ns, "DEF")
        library.define(schema)
        library.impl("f", lambda *args: args[0], "CPU")
        library._destroy()
        assert not hasattr(getattr(fo.ops, ns), "f")


def test_E3_overloads_of_two_libraries(lib):
    lib.define("f(Tensor x) -> Tensor")
    with _scoped_library(lib.ns, "FRAGMENT") as other:
        other.define("f.ov(Tensor x, int k) -> Tensor")
        assert op_of(lib, "f").overloads() == ["default", "ov"]
    assert op_of(lib, "f").overloads() == ["default"]


def test_E5_the_collector_unregisters(ns):
    library = Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    Library(ns, "IMPL").impl("f", lambda x: x, "CPU")
    gc.collect()
    with pytest.raises(NotImplementedError):
        op_of(library, "f")(x)
    del library
    gc.collect()
    assert not hasattr(getattr(fo.ops, ns), "f")


def test_E7_X1_a_call_after_its_library_has_gone(ns):
    library = Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
    packet, overload = op_of(library, "f"), op_of(library, "f").default
    library._destroy()
    for call in (lambda: overload(x), lambda: packet(x), lambda: overload.redispatch(fo.DispatchKeySet("CPU"), x)):
        with pytest.raises(RuntimeError, match="gone"):
            call()


def test_E7_a_kernel_destroys_its_own_library(ns):
    library = Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: (library._destroy(), gc.collect(), x + 1)[-1], "CPU")
    f = op_of(library, "f").default
    assert f(x).tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError):
        f(x)


def test_E8_E9_X6_scoped(ns):
    with pytest.raises(KeyError), _scoped_library(ns, "DEF") as library:
        library.define("f() -> ()")
        raise KeyError
    assert not hasattr(getattr(fo.ops, ns), "f")
    with pytest.raises(ValueError), _scoped_library(ns, "WRONG"):
        pass


# F. function forms

def test_F1_F2_define(ns):
    assert define(f"{ns}::f", "(Tensor x, int k=1) -> Tensor") is None
    define(f"{ns}::f.ov", "(Tensor x) -> Tensor", tags=[Tag.core])
    assert op_of(type("L", (), {"ns": ns}), "f").overloads() == ["default", "ov"]
    for name, schema in ((3, "() -> ()"), ("f", "() -> ()"), ("a::b::c", "() -> ()"), (f"{ns}::g", "g() -> ()"),
                         (f"{ns}::g", "()\n -> ()"), (f"{ns}::g", "nonsense")):
        with pytest.raises(ValueError):
            define(name, schema)


def test_F3_X7_lib_of_another_namespace(lib, ns):
    with pytest.raises(RuntimeError):
        define("some_other_ns::f", "() -> ()", lib=lib)


def test_F4_F5_X4_older_define(lib):
    @define(lib, "f(Tensor x) -> Tensor")
    def f(x):
        return x * 2

    @define(lib, "f.ov(Tensor x, int k) -> Tensor")
    def overload(x, k):
        return x * k
    assert f(x).tolist() == op_of(lib, "f").default(x).tolist() == [2.0, 4.0]
    assert op_of(lib, "f").ov(x, 3).tolist() == [3.0, 6.0]
    with pytest.raises(TypeError):
        define(lib, "g() -> ()", tags=Tag.core)


def test_F6_F7_impl(lib):
    lib.define("f(Tensor x) -> Tensor")

    @impl(f"{lib.ns}::f", ("cpu", "CPU"), lib=lib)
    def on_cpu(x):
        return x * 2

    @impl(f"{lib.ns}::f", "default", lib=lib)
    def anywhere(x):
        return x
    assert callable(on_cpu) and callable(anywhere)
    assert op_of(lib, "f")(x).tolist() == [2.0, 4.0] and op_of(lib, "f")(meta) is meta

    lib.define("g(Tensor x) -> Tensor")

    @impl(lib, "g", "CPU")
    def older(x):
        return x
    assert op_of(lib, "g")(x) is x and older(x) is x


def test_F8_wrong_impls(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError):
        impl(f"{lib.ns}::f", "abacus", lambda x: x)
    with pytest.raises(TypeError):
        impl(f"{lib.ns}::f", None, lambda x: x)
    with pytest.raises(RuntimeError):
        impl(f"{lib.ns}::f", (), lambda x: x)
    with pytest.raises((RuntimeError, TypeError)):
        impl(3, "cpu", lambda x: x)


def test_F9_device_names(lib):
    lib.define("f(Tensor x) -> Tensor")
    impl(f"{lib.ns}::f", ["cpu", "cuda", "meta", "privateuseone"], lambda x: x, lib=lib)
    keys = [fo.DispatchKey(key).name for key in op_of(lib, "f").default.kernels]
    assert keys == ["CPU", "CUDA", "Meta", "PrivateUse1"]


def test_F11_F13_register_kernel(lib):
    lib.define("f(Tensor x) -> Tensor")
    register_kernel(op_of(lib, "f").default, "cpu", lambda x: x * 2, lib=lib)

    @register_kernel(f"{lib.ns}::f", None, lib=lib)
    def everywhere(x):
        return x
    assert op_of(lib, "f")(x).tolist() == [2.0, 4.0] and op_of(lib, "f")(meta) is meta and everywhere(x) is x
    for wrong in (op_of(lib, "f"), 3):
        with pytest.raises(ValueError):
            register_kernel(wrong, "cpu", lambda x: x)
    register_kernel(f"{lib.ns}::later", "cpu", lambda x: x, lib=lib)
    lib.define("later(Tensor x) -> Tensor")
    assert op_of(lib, "later")(x) is x


# G. arguments at the call

@pytest.fixture
def seen(lib):
    """An operator that records what its kernel gets."""
    calls = []

    def make(schema):
        name = lib.define(schema)
        lib.impl(name, lambda *args, **kwargs: calls.append((args, kwargs)), "CompositeExplicitAutograd")
        return op_of(lib, name).default, calls
    return make


def test_G15_G16_trimming(seen):
    f, calls = seen("f(int a, int b=1, int c=2, *, int d=3, int e=4) -> ()")
    f(0)
    f(0, 1, 2, d=3, e=4)
    f(0, True)
    f(0, c=5)
    f(a=0, e=5)
    assert calls == [((0,), {}), ((0,), {}), ((0,), {}), ((0, 1, 5), {}), ((0,), {"e": 5})]


def test_G17_a_kernel_without_the_default(lib):
    lib.define("f(Tensor x, int k=2) -> Tensor")
    lib.impl("f", lambda x, k: x * k, "CPU")
    assert op_of(lib, "f")(x, 3).tolist() == [3.0, 6.0]
    with pytest.raises(TypeError):
        op_of(lib, "f")(x)


def test_G20_wrong_calls(seen):
    f, _ = seen("f(Tensor x, int k=1, *, int m=2) -> ()")
    for args, kwargs in (((), {}), ((x, 1, 2), {}), ((x,), {"z": 1}), ((x, 1), {"k": 1}), ((), {"k": 1}), ((x, 1, 3), {"m": 3})):
        with pytest.raises(RuntimeError, match="f"):
            f(*args, **kwargs)
        with pytest.raises(TypeError):
            f(*args, **kwargs)


def test_H11_names_like_self(seen):
    f, calls = seen("f(int self, int op, int args=0) -> ()")
    f(self=1, op=2, args=3)
    assert calls == [((1, 2, 3), {})]


@pytest.mark.parametrize("schema, good, bad", [
    ("int a", [(1, 1), (True, 1), (np.int64(3), 3), (fo.asarray([4]), 4), (fo.asarray(5), 5)],
     [1.0, "1", None, 1j, 2**63, np.float32(1), fo.asarray(1.5), fo.asarray([1, 2]), [1]]),
    ("float a", [(1, 1.0), (1.5, 1.5), (np.float32(0.5), 0.5), (fo.asarray([2.0]), 2.0)], [1j, "1", None, fo.asarray([1.0, 2.0])]),
    ("bool a", [(True, True), (0, False), (2.5, True), (np.bool_(True), True)], [None, "x"]),
    ("str a", [("s", "s"), (b"s", "s")], [1, None]),
    ("Scalar a", [(1, 1), (1.5, 1.5), (True, True), (1j, 1j), (np.float64(2), 2.0)], ["1", None, fo.asarray([1, 2])]),
    ("ScalarType a", [(np.float32, np.dtype("f4")), ("int8", np.dtype("i1")), (fo.bool, np.dtype("?"))], [6, None, "nope"]),
    ("Device a", [("cpu", fo.device("cpu")), (fo.device("cuda", 1), fo.device("cuda:1"))], [0, None]),
    ("int[2] a", [((1, 2), [1, 2]), ([3, 4], [3, 4]), (5, [5, 5])], [[1], [1, 2, 3], "ab", [1.0, 2.0]]),
    ("int[] a", [((1, 2), [1, 2]), (range(3), [0, 1, 2]), (np.arange(2), [0, 1]), ([], []), ([fo.asarray(3)], [3])],
     [3, fo.asarray([1, 2]), [1.0], [None], None]),
    ("Tensor a", [], [None, 1.0, np.ones(2), [1.0]]),
    ("Tensor[] a", [], [fo.ones(2), [None], iter([fo.ones(1)]), None]),
    ("Tensor?[] a", [([None], [None])], [fo.ones(2), None]),
    ("Tensor[]? a", [(None, None), ([], [])], [fo.ones(1)]),
    ("str[] a", [(["a", "b"], ["a", "b"])], ["ab", [1]]),
    ("int? a", [(None, None), (1, 1)], ["x"])])
def test_G4_to_G14_conversion(seen, schema, good, bad):
    f, calls = seen(f"f({schema}) -> ()")
    for given, expected in good:
        f(given)
        value = calls[-1][0][0]
        assert value == expected and type(value) is type(expected)
    for given in bad:
        with pytest.raises(TypeError) as caught:
            f(given)
        assert "'a'" in str(caught.value) and f.name().split("::")[0] in str(caught.value)


# H. fo.ops

def test_H1_namespaces():
    assert not hasattr(fo.ops.never_heard_of, "f")
    with pytest.raises(AttributeError, match="f"):
        fo.ops.never_heard_of.f


def test_H2_identity(lib):
    lib.define("f(Tensor x) -> Tensor")
    f = op_of(lib, "f")
    assert f is op_of(lib, "f") and f.default is f.default and copy.deepcopy(f) is f and copy.deepcopy(f.default) is f.default
    assert len({f, f, f.default}) == 2
    for value in (f, f.default):
        with pytest.raises((TypeError, RuntimeError)):
            pickle.dumps(value)


def test_H3_H5_H8_H9_names(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.ov(Tensor(a!) x, *, Tensor(b!) out, int k=3) -> (Tensor, Tensor)")
    f, ns = op_of(lib, "f"), lib.ns
    assert str(f) == f"{ns}.f" and f._qualified_op_name == f"{ns}::f" and f.__name__ == "f" and "f" in repr(f)
    assert f.overloads() == ["default", "ov"] and f.op_overloads() == [f.default, f.ov]
    for missing in ("nothing", "__nothing__"):
        with pytest.raises(AttributeError):
            getattr(f, missing)
    d, o = f.default, f.ov
    assert (d.name(), o.name(), str(d), str(o)) == (f"{ns}::f", f"{ns}::f.ov", f"{ns}.f.default", f"{ns}.f.ov")
    assert (d.namespace, d._opname, d._overloadname, o._overloadname, d.__name__, o.__name__) == (ns, "f", "default", "ov",
                                                                                               "f.default", "f.ov")
    schema = o._schema
    assert (schema.name, schema.overload_name, d._schema.overload_name, schema.is_mutable) == (f"{ns}::f", "ov", "", True)
    assert [argument.is_out for argument in schema.arguments] == [False, True, False]
    assert [argument.is_write for argument in schema.arguments] == [True, True, False]
    assert schema.arguments[2].default_value == 3 and not schema.arguments[0].has_default_value()
    assert not o.is_view and len(schema.returns) == 2


def test_H6_a_packet_tries_its_overloads(lib):
    lib.define("f.int(Tensor x, int k) -> Tensor")
    lib.define("f.float(Tensor x, float k) -> Tensor")
    lib.impl("f.int", lambda x, k: x * 0, "CPU")
    lib.impl("f.float", lambda x, k: x * 0 + 1, "CPU")
    f = op_of(lib, "f")
    assert f(x, 1).tolist() == [0.0, 0.0] and f(x, 1.5).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError) as caught:
        f("x")
    assert "int" in str(caught.value) and "float" in str(caught.value)
    with pytest.raises(AttributeError):
        f.default


def test_H12_H13_H14_kernels_and_decomposition(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 3)
    lib.impl("g", lambda x: x, "CompositeExplicitAutograd")
    f, g = op_of(lib, "f").default, op_of(lib, "g").default
    assert not f.has_kernel_for_dispatch_key("CPU") and f.has_kernel_for_dispatch_key(fo.DispatchKey.CompositeImplicitAutograd)
    assert not g.has_kernel_for_any_dispatch_key(fo.DispatchKeySet("CPU"))
    assert f.decompose(x).tolist() == [3.0, 6.0] and g.decompose(x) is NotImplemented


def test_H15_redispatch(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    f = op_of(lib, "f").default
    assert f.redispatch(fo.DispatchKeySet("CPU"), x) is x
    for wrong in ("CPU", None, fo.DispatchKey.CPU):
        with pytest.raises(TypeError):
            f.redispatch(wrong, x)
    with pytest.raises(TypeError):
        f.redispatch(x, fo.DispatchKeySet("CPU"))
    with pytest.raises(NotImplementedError):
        f.redispatch(fo.DispatchKeySet("Meta"), x)
    assert not hasattr(op_of(lib, "f"), "redispatch")


def test_H16_an_unreduced_key_set_recurses_to_an_end():
    program = """
import fastops as fo
lib = fo.library.Library("endless", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda keys, x: fo.ops.endless.f.default.redispatch(keys, x), "CPU", with_keyset=True)
try:
    fo.ops.endless.f(fo.ones(2))
except RecursionError:
    print("ended", fo.dispatch.local_state()[2])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "ended 0", result.stderr


def test_H17_py_impl(lib):
    lib.define("f(Tensor x) -> Tensor")
    f = op_of(lib, "f").default

    @f.py_impl(fo.DispatchKey.CPU)
    def on_cpu(x):
        return x * 5
    assert on_cpu is not None and f(x).tolist() == [5.0, 10.0] and f.has_kernel_for_dispatch_key("CPU")
    with pytest.raises(RuntimeError):
        f.py_impl(fo.DispatchKey.CPU)(on_cpu)
    with pytest.raises(AssertionError):
        f.py_impl(fo.DispatchKey.Python)


def test_H19_load_library():
    with pytest.raises(OSError):
        fo.ops.load_library("/no/such/library.so")


# I. key sets

def test_I_key_sets():
    cpu = fo.DispatchKeySet("CPU")
    both = cpu.add("Autograd")
    assert both == cpu | fo.DispatchKeySet(fo.DispatchKey.Autograd) and hash(both) == hash(cpu.add("Autograd")) and len(both) == 2
    assert [key.name for key in both] == ["Autograd", "CPU"] and both.has("CPU") and not cpu.has("Autograd") and "CPU" in both
    assert both - cpu == fo.DispatchKeySet("Autograd") and both & cpu == cpu and both.remove("CPU") == both - cpu and cpu == cpu
    assert not fo.DispatchKeySet("CompositeImplicitAutograd") and bool(cpu)
    assert (cpu | fo.DispatchKeySet("CUDA")) - fo.DispatchKeySet("CUDA") == cpu
    assert both.highestPriorityTypeId() == fo.DispatchKey.Autograd
    assert fo.DispatchKeySet("Undefined").highestPriorityTypeId() == fo.DispatchKey.Undefined
    assert pickle.loads(pickle.dumps(both)) == both and repr(both) == "DispatchKeySet(Autograd, CPU)"
    for wrong in (lambda: fo.DispatchKeySet(), lambda: fo.DispatchKeySet(["CPU"]), lambda: cpu | "CPU", lambda: cpu - "CPU"):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(RuntimeError, match="valid|keys are"):
        fo.DispatchKeySet("NoKey")
    assert fo.DispatchKey["FuncTorchBatched"] is fo.DispatchKey.Batched


# J. selection

def test_J1_tensors_in_lists_and_keywords(lib):
    lib.define("f(Tensor[] a, Tensor?[] b=[], *, Tensor? c=None) -> str")
    lib.impl("f", lambda *args, **kwargs: "cpu", "CPU")
    lib.impl("f", lambda *args, **kwargs: "meta", "Meta")
    f = op_of(lib, "f")
    assert (f([x]), f([x, meta]), f([], [None, meta]), f([x], c=meta), f([], c=x)) == ("cpu", "meta", "meta", "meta", "cpu")
    with pytest.raises(NotImplementedError):
        f([])


def test_J9_J10_no_tensors(lib):
    lib.define("f(int k) -> int")
    lib.impl("f", lambda k: k, "CPU")
    with pytest.raises(NotImplementedError, match=lib.ns):
        op_of(lib, "f")(1)
    lib.define("g(int k) -> int")
    lib.impl("g", lambda k: k + 1, "CompositeExplicitAutograd")
    assert op_of(lib, "g")(1) == 2


def test_J12_an_Autograd_kernel_runs_for_every_call(lib):
    lib.define("f(Tensor x) -> Tensor")
    seen = []
    lib.impl("f", lambda keys, x: (seen.append(1), op_of(lib, "f").default.redispatch(
        keys & fo.dispatch.after_autograd_keyset, x))[1], "Autograd", with_keyset=True)
    lib.impl("f", lambda x: x, "CPU")
    op_of(lib, "f")(x)
    with fo.dispatch.exclude("Autograd"):
        op_of(lib, "f")(x)
    assert seen == [1]


def test_J14_position_is_not_inherited(lib):
    lib.define("outer(Tensor x) -> Tensor")
    lib.define("inner(Tensor x) -> Tensor")
    seen = []
    lib.impl("inner", lambda keys, x: (seen.append("autograd"), op_of(lib, "inner").default.redispatch(
        keys.remove("Autograd"), x))[1], "Autograd", with_keyset=True)
    lib.impl("inner", lambda x: x, "CPU")
    lib.impl("outer", lambda x: op_of(lib, "inner")(x), "CPU")
    op_of(lib, "outer")(x)
    assert seen == ["autograd"]


def test_J22_threads_have_states_of_their_own():
    found = []
    with fo.dispatch.include("Python"), fo.dispatch.exclude("Autograd"):
        thread = threading.Thread(target=lambda: found.append(fo.dispatch.local_state()))
        thread.start()
        thread.join()
        assert len(fo.dispatch.local_state()[0]) == 1
    assert [len(keys) for keys in found[0][:2]] == [0, 0]


# K. what kernels return

def test_K1_exceptions_pass_unchanged(lib):
    lib.define("f(Tensor x) -> Tensor")
    error = StopIteration("mine")

    def kernel(x):
        raise error
    lib.impl("f", kernel, "CPU")
    with pytest.raises(StopIteration) as caught:
        op_of(lib, "f")(x)
    assert caught.value is error


@pytest.mark.parametrize("results, good, bad", [
    ("Tensor", [x], [None, 1, "s", NotImplemented, [x], (x,), np.ones(2)]),
    ("float", [1.5, 1], ["s", None, 1j]), ("int", [1, fo.asarray([3])], [1.5, "s", None]), ("bool", [True, fo.asarray([True])], ["s", None]),
    ("()", [None], [x, 1, ()]), ("(Tensor, Tensor)", [(x, x), [x, x]], [x, (x,), (x, x, x), (x, 1), None]),
    ("Tensor[]", [[x, x], (x,), []], [x, [1], None]), ("str", ["s"], [1, None]), ("ScalarType", [np.dtype("f4")], [6])])
def test_K2_to_K7_X2_results(lib, results, good, bad):
    lib.define(f"f(Tensor x) -> {results}")
    value = None
    lib.impl("f", lambda x: value, "CPU")
    for value in good:
        result = op_of(lib, "f")(x)
        if results == "(Tensor, Tensor)":
            assert type(result) is tuple and result == tuple(value) or result[0] is x
        if results == "Tensor[]":
            assert type(result) is list and len(result) == len(value)
    for value in bad:
        with pytest.raises(RuntimeError, match=lib.ns):
            op_of(lib, "f")(x)


def test_K9_K11_the_same_object_comes_back(lib):
    lib.define("f_(Tensor(a!) x) -> Tensor(a!)")

    def kernel(x):
        x += 1
        return x
    lib.impl("f_", kernel, "CPU")
    tensor = fo.asarray([1.0]) + 0
    version = tensor._version
    assert op_of(lib, "f_")(tensor) is tensor and tensor._version > version and tensor.tolist() == [2.0]


def test_64_parameters_and_65(lib):
    lib.define(f"f({', '.join(f'int a{n}' for n in range(64))}) -> int")
    lib.impl("f", lambda *args: sum(args), "CompositeExplicitAutograd")
    assert op_of(lib, "f")(*range(64)) == sum(range(64))
    with pytest.raises(RuntimeError, match="65"):
        lib.define(f"g({', '.join(f'int a{n}' for n in range(65))}) -> int")


def test_SL_01_fourteen_arguments(lib):
    lib.define("f(Tensor a, Tensor b, Tensor c, Tensor d, int[] i1, float[] f1, int[] i2, float[] f2, int[] i3, float[] f3, "
               "int n, float s, bool flag, str mode) -> Tensor")
    lib.impl("f", lambda a, *rest: a + 0, "CPU")
    args = (x, x, x, x, [1, 2], [1.0, 2.0], [1, 2], [1.0, 2.0], [1, 2], [1.0, 2.0], 3, 1.5, True, "m")
    assert op_of(lib, "f")(*args).tolist() == [1.0, 2.0]
