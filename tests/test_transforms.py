"""The stack of transforms and the guards: two orders, two mechanisms."""

import threading

import pytest

import fastops as fo
from fastops import dispatch

x = fo.asarray([1.0, 2.0])


@pytest.fixture(autouse=True)
def the_stack_is_empty():
    assert dispatch.local_state()[2] == 0
    yield
    assert dispatch.local_state() == (fo.DispatchKeySet("Undefined"), fo.DispatchKeySet("Undefined"), 0)


class Named:
    """Notes each call with its name, then does something with it."""

    def __init__(self, name, log, act=lambda operator, args, kwargs: operator(*args, **kwargs)):
        self.name, self.log, self.act = name, log, act

    def process(self, operator, args, kwargs):
        self.log.append((self.name, operator.__name__, dispatch.local_state()[2]))
        return self.act(operator, args, kwargs)

    def __enter__(self):
        dispatch.push_interpreter(self)

    def __exit__(self, *exception):
        assert dispatch.pop_interpreter() is self


def test_innermost_first_and_off_while_it_runs():
    log = []
    with Named("outer", log), Named("inner", log):
        assert (x + 1).tolist() == [2.0, 3.0]
    assert log == [("inner", "add", 1), ("outer", "add", 0)]


def test_rules_written_in_operators_reach_the_next_transform():
    log = []
    doubled = Named("inner", log, lambda operator, args, kwargs: operator(*args, **kwargs) * 2)
    with Named("outer", log), doubled:
        assert (x + 1).tolist() == [4.0, 6.0]
    assert [entry[:2] for entry in log] == [("inner", "add"), ("outer", "add"), ("outer", "multiply")]


def test_the_order_of_nesting_matters():
    def plus_one(operator, args, kwargs):
        return fo.add(operator(*args, **kwargs), 1)

    def times_two(operator, args, kwargs):
        return fo.multiply(operator(*args, **kwargs), 2)
    with Named("a", [], plus_one), Named("b", [], times_two):
        first = fo.negative(x).tolist()
    with Named("b", [], times_two), Named("a", [], plus_one):
        second = fo.negative(x).tolist()
    assert first != second


def test_the_same_transform_twice():
    log = []
    both = Named("same", log)
    with both, both:
        fo.sin(x)
    assert log == [("same", "sin", 1), ("same", "sin", 0)]


def test_exceptions_put_it_back():
    def fail(operator, args, kwargs):
        raise KeyError("k7")
    transform = Named("fails", [], fail)
    with transform:
        for _ in range(3):
            with pytest.raises(KeyError, match="k7"):
                fo.sin(x)
            assert dispatch.local_state()[2] == 1


def test_factories_views_writes_and_users_operators_are_seen():
    log = []
    with fo.library._scoped_library("transformed", "DEF") as library, Named("all", log):
        library.define("f(Tensor x, int k=2, *, int m=3) -> Tensor")
        library.impl("f", lambda x, k=2, *, m=3: x, "CPU")
        tensor = fo.zeros(3)
        tensor[0] = 1.0
        tensor[1:].reshape(2, 1).sum(axis=0)
        tensor += 1
        fo.ops.transformed.f(tensor, 5, m=4)
    assert [name for _, name, _ in log] == ["zeros", "setitem", "getitem", "reshape", "sum", "add", "f.default"]


def test_arguments_arrive_trimmed():
    seen = []
    with Named("args", [], lambda operator, args, kwargs: (seen.append((args[1:], kwargs)), operator(*args, **kwargs))[1]):
        fo.sum(x, axis=0, keepdims=False)
        fo.sum(x, axis=None)
        fo.concat([x, x], axis=0)
    assert seen == [((0,), {}), ((), {}), ((), {})]


def test_pop_without_push():
    with pytest.raises(IndexError):
        dispatch.pop_interpreter()


def test_threads_have_stacks_of_their_own():
    found = []
    with Named("here", []):
        thread = threading.Thread(target=lambda: found.append((dispatch.local_state()[2], (x + 1).tolist())))
        thread.start()
        thread.join()
    assert found == [(0, [2.0, 3.0])]


def test_guards_nest_and_restore():
    state = dispatch.local_state
    with dispatch.exclude("Autograd"):
        with dispatch.exclude(fo.DispatchKeySet("Autograd").add("Batched")), dispatch.include(fo.DispatchKey.Python):
            assert state()[1] == fo.DispatchKeySet("Autograd").add("Batched") and state()[0] == fo.DispatchKeySet("Python")
        assert state()[1] == fo.DispatchKeySet("Autograd") and not state()[0]
        with pytest.raises(ZeroDivisionError), dispatch.exclude("Python"):
            1 / 0
        assert state()[1] == fo.DispatchKeySet("Autograd")


def test_one_guard_entered_twice():
    guard = dispatch.exclude("Python")
    with guard:
        with guard:
            assert dispatch.local_state()[1] == fo.DispatchKeySet("Python")
        assert dispatch.local_state()[1] == fo.DispatchKeySet("Python")
    assert not dispatch.local_state()[1]


def test_a_generator_that_is_left_keeps_its_guard_until_it_ends():
    def generator():
        with dispatch.include("Python"):
            yield
    running = generator()
    next(running)
    assert dispatch.local_state()[0] == fo.DispatchKeySet("Python")
    running.close()
    assert not dispatch.local_state()[0]


def test_wrong_keys():
    with pytest.raises(RuntimeError, match="NoKey"):
        dispatch.exclude("NoKey")
    with pytest.raises(TypeError):
        dispatch.include(3.5)


def test_explain_prints_the_walk(capsys):
    result = fo.explain(lambda: fo.clip(x, 0, 1))
    lines = capsys.readouterr().out.splitlines()
    assert result.tolist() == [1.0, 1.0]
    assert lines[0].startswith("fastops.clip.default  Autograd  ") and "elementwise.py:" in lines[0]
    assert lines[1].startswith("  fastops.maximum.default  CPU") and lines[2].startswith("  fastops.minimum.default  CPU")
    fo.explain(lambda: None)
    assert capsys.readouterr().out == "no operator ran\n"


def test_explain_prints_the_table(capsys):
    fo.explain("add")
    text = capsys.readouterr().out
    assert "CPU " in text and "loops of numpy.add" in text and "passed over" in text
    with pytest.raises(LookupError, match="add"):
        fo.explain("ad")
    with pytest.raises(ZeroDivisionError):
        fo.explain(lambda: 1 / 0)
    assert (x + 1).tolist() == [2.0, 3.0]


def test_explain_on_the_command_line(capsys):
    from fastops.explain import main
    assert main(["add", "fastops::sin"]) == 0
    assert capsys.readouterr().out.count("passed over") == 2
    assert main(["nothing_like_it"]) == 1 and "no operator" in capsys.readouterr().err
    assert main([]) == 2 and main(["--help"]) == 0
