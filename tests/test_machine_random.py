"""The machine walks as the reference dispatcher does: on every small table, and on random programs."""

import contextlib
import itertools
import threading

import pytest
from hypothesis import given, settings, strategies as st

import fastops as fo
import reference
from fastops import _dispatch as machine
from fastops.schema import parse_schema

RUNTIME = reference.KEYS[1:-1]                  # TransformFront has a kernel of the machine's own
PLACES = [*reference.KEYS[:-1],
          *[key + backend for key in ("Autograd", "Autocast") for backend in ("CPU", "CUDA", "PrivateUse1", "Meta")],
          "CompositeExplicitAutograd", "CompositeImplicitAutograd"]
OPERATORS = ["f", "g", "h"]
TENSORS = {"cpu": ("CPU",), "meta": ("Meta",)}
PARAMETERS = "Tensor? a=None, Tensor[] rest=[], *, Tensor? k=None"      # every way by which a tensor can come
LONGEST_CHAIN = 6                               # of kernels that call each other

# What a name stands for is drawn evenly, so frequent things are named more than once: a program in which no kernel
# is found tells little.
FREQUENT = ["CPU", "Meta", "Autograd", "AutogradCPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"]
places = st.sampled_from([*PLACES, *FREQUENT, *FREQUENT])
keys = st.sets(st.sampled_from(RUNTIME), max_size=3).map(sorted)
operators = st.sampled_from(OPERATORS)
arguments = st.tuples(st.sampled_from([None, *TENSORS]), st.lists(st.sampled_from(sorted(TENSORS)), max_size=2),
                      st.sampled_from([None, None, *TENSORS]))
endings = st.sampled_from([("return",), ("return",), ("down",), ("down",), ("down",), ("fallthrough",),
                           ("fallthrough",), ("raise",)])
behaviours = st.one_of(
    *[endings] * 6,
    st.tuples(st.just("jump"), keys),
    st.tuples(st.just("call"), operators, st.one_of(st.none(), arguments)),
    st.tuples(st.just("attempt"), operators),
    st.tuples(st.sampled_from(["exclude", "include"]), keys, operators),
    st.tuples(st.just("register"), operators, places, st.tuples(st.booleans(), endings)))
entries = st.tuples(st.sampled_from([True, True, False]), behaviours)   # is it given the key set; what does it do
calls = st.tuples(st.just("call"), operators, arguments,
                  st.sampled_from(["plain", "plain", "plain", "exclude", "include", "include", "redispatch"]), keys)
steps = st.one_of(
    *[calls] * 3,
    st.tuples(st.just("register"), operators, places, st.one_of(st.none(), entries)),
    st.tuples(st.just("fallback"), st.sampled_from(RUNTIME), st.one_of(st.none(), entries)))
programs = st.fixed_dictionaries({
    "tables": st.fixed_dictionaries({name: st.dictionaries(places, entries, min_size=2, max_size=7)
                                     for name in OPERATORS}),
    "fallbacks": st.dictionaries(st.sampled_from(RUNTIME), entries, max_size=2),
    "steps": st.tuples(st.lists(steps, max_size=5), calls).map(lambda drawn: [*drawn[0], drawn[1]])})


class Boom(Exception):
    """What a random kernel raises."""


class TooDeep(Exception):
    """A random program that would not end."""


class Program:
    """One random program; what a dispatcher does its own way is left to the two subclasses."""

    def __init__(self, program):
        self.steps = program["steps"]
        self.log = []
        self.depth = 0
        self.tensors = {name: self.tensor(name) for name in TENSORS}
        self.operators = {name: self.operator(name) for name in OPERATORS}
        for name, table in program["tables"].items():
            for place, entry in table.items():
                self.register(name, place, entry)
        for key, entry in program["fallbacks"].items():
            self.set_fallback(key, entry)

    def body(self, place, behaviour):
        """What a kernel does once it is called as ``run(operator, keys or None, *args, **kwargs)``."""
        def run(operator, keys, *args, **kwargs):
            names = None if keys is None else sorted(self.key_names(keys), key=reference.PRIORITY.get)
            given = self.tensor_names([*args, *kwargs.values()])
            self.log.append((self.operator_name(operator), place, names, given, self.state()))
            self.depth += 1
            try:
                if self.depth > LONGEST_CHAIN:
                    raise TooDeep
                return self.act(behaviour, operator, names, args, kwargs)
            finally:
                self.depth -= 1
        return run

    def act(self, behaviour, operator, names, args, kwargs):
        kind, *details = behaviour
        if kind == "raise":
            raise Boom
        if kind == "down" and names:            # hand down to the keys below its own
            return self.redispatch(operator, names[:-1], args, kwargs)
        if kind == "jump":
            return self.redispatch(operator, details[0], args, kwargs)
        if kind == "call":
            name, instead = details
            args, kwargs = (args, kwargs) if instead is None else self.arguments(instead)
            return self.operators[name](*args, **kwargs)
        if kind == "attempt":
            with contextlib.suppress(Boom, self.no_kernel):
                return self.operators[details[0]](*args, **kwargs)
        if kind in ("exclude", "include"):
            keys, name = details
            with self.guard(kind, keys):
                return self.operators[name](*args, **kwargs)
        if kind == "register":                  # perhaps in its own place, while it runs
            name, place, entry = details
            self.register(name, place, entry)
            return self.operators[name](*args, **kwargs)
        return next(self.flat([*args, *kwargs.values()]), self.tensors["cpu"])

    def arguments(self, names):
        first, rest, keyword = names
        return ((first and self.tensors[first], [self.tensors[name] for name in rest]),
                {"k": keyword and self.tensors[keyword]})

    def flat(self, value):
        if isinstance(value, (list, tuple)):
            for item in value:
                yield from self.flat(item)
        elif value is not None:
            yield value

    def tensor_names(self, value):
        """By identity: what a kernel is given are the tensors of the call."""
        return [next(name for name, tensor in self.tensors.items() if tensor is found) for found in self.flat(value)]

    def run(self):
        """The outcome of every call, and the log of the kernels that ran."""
        outcomes = []
        for kind, *details in self.steps:
            if kind == "call":
                outcomes.append(self.outcome(*details))
            elif kind == "register":
                self.register(*details)
            else:
                self.set_fallback(*details)
        return outcomes, self.log

    def outcome(self, name, given, how, keys):
        operator = self.operators[name]
        args, kwargs = self.arguments(given)
        try:
            if how == "redispatch":
                result = self.redispatch(operator, keys, args, kwargs)
            else:
                with self.guard(how, keys) if how != "plain" else contextlib.nullcontext():
                    result = operator(*args, **kwargs)
        except (Boom, TooDeep) as error:
            return type(error).__name__
        except self.no_kernel:
            return "no kernel"
        return self.tensor_names(result)


class OnReference(Program):
    no_kernel = reference.NoKernel

    def __init__(self, program):
        self.dispatcher = reference.Dispatcher()
        super().__init__(program)

    def tensor(self, name):
        return reference.Tensor(*TENSORS[name])

    def operator(self, name):
        return reference.Operator(self.dispatcher, name, {})

    def kernel(self, place, entry):
        with_keyset, behaviour = entry
        if behaviour == ("fallthrough",):
            return reference.FALLTHROUGH
        body = self.body(place, behaviour)
        return body if with_keyset else lambda operator, keys, *args, **kwargs: body(operator, None, *args, **kwargs)

    def register(self, name, place, entry):
        self.operators[name].kernels.pop(place, None)
        if entry is not None:
            self.operators[name].kernels[place] = self.kernel(place, entry)

    def set_fallback(self, key, entry):
        self.dispatcher.fallbacks[key] = None if entry is None else self.kernel("fallback " + key, entry)

    def redispatch(self, operator, keys, args, kwargs):
        return operator.redispatch(keys, *args, **kwargs)

    def guard(self, kind, keys):
        return getattr(self.dispatcher, kind)(keys)

    def state(self):
        return set(self.dispatcher.included), set(self.dispatcher.excluded)

    def key_names(self, keys):
        return keys

    def operator_name(self, operator):
        return operator.name


def key_set(names):
    result = fo.DispatchKeySet("Undefined")
    for name in names:
        result = result.add(name)
    return result


class OnMachine(Program):
    no_kernel = NotImplementedError

    def tensor(self, name):
        return fo.ones(2, device=name)

    def operator(self, name):
        return machine.Operator(parse_schema(f"random::{name}({PARAMETERS}) -> Tensor"), {})

    def register(self, name, place, entry):
        operator = self.operators[name]
        operator.kernels.pop(int(fo.DispatchKey[place]), None)
        if entry is not None:
            operator.kernels[int(fo.DispatchKey[place])] = self.kernel(operator, place, *entry)
        operator.refold()

    def kernel(self, operator, place, with_keyset, behaviour):
        if behaviour == ("fallthrough",):
            return machine.fallthrough
        body = self.body(place, behaviour)
        if with_keyset:
            return machine.Kernel(lambda keys, *args, **kwargs: body(operator, keys, *args, **kwargs), with_keyset=True)
        return machine.Kernel(lambda *args, **kwargs: body(operator, None, *args, **kwargs))

    def set_fallback(self, key, entry):
        machine.set_fallback(key, None if entry is None else self.fallback("fallback " + key, *entry))

    def fallback(self, place, with_keyset, behaviour):
        if behaviour == ("fallthrough",):
            return machine.fallthrough
        body = self.body(place, behaviour)
        if with_keyset:
            return machine.FallbackKernel(lambda keys, operator, *args, **kwargs: body(operator, keys, *args, **kwargs),
                                          with_keyset=True)
        return machine.FallbackKernel(lambda operator, *args, **kwargs: body(operator, None, *args, **kwargs))

    def redispatch(self, operator, keys, args, kwargs):
        return operator.redispatch(key_set(keys), *args, **kwargs)

    def guard(self, kind, keys):
        return getattr(fo.dispatch, kind)(key_set(keys))

    def state(self):
        included, excluded, _ = fo.dispatch.local_state()
        return {key.name for key in included}, {key.name for key in excluded}

    def key_names(self, keys):
        return [key.name for key in keys]

    def operator_name(self, operator):
        return operator._opname


@contextlib.contextmanager
def no_fallbacks():
    """Fallbacks belong to the process: those that stand are put aside, and put back in place of the program's."""
    before = {key: kernel for key, kernel in machine.fallbacks().items() if key.name in RUNTIME}
    for key in before:
        machine.set_fallback(key, None)
    try:
        yield
    finally:
        for key in machine.fallbacks().keys() | before.keys():
            if key.name in RUNTIME:
                machine.set_fallback(key, before.get(key))


def run_on_machine(program):
    with no_fallbacks():
        return OnMachine(program).run()


@pytest.mark.parametrize("places, fallbacks", [(["Undefined", *FREQUENT], {}), (FREQUENT, {"Autograd": (True, ("down",))})],
                         ids=["no fallback", "fallback"])
def test_every_small_table(places, fallbacks):
    """Each place empty, with a kernel that hands down, or passed over: all combinations, with each choice of tensors."""
    every_call = [("call", "f", given, "plain", []) for given in itertools.product([None, "cpu"], [[], ["meta"]], [None])]
    for choices in itertools.product([None, (True, ("down",)), (True, ("fallthrough",))], repeat=len(places)):
        table = {place: entry for place, entry in zip(places, choices) if entry is not None}
        program = {"tables": {"f": table}, "fallbacks": fallbacks, "steps": every_call}
        expected = OnReference(program).run()
        assert run_on_machine(program) == expected, program


@settings(max_examples=1200, deadline=None, derandomize=True)
@given(programs)
def test_the_machine_walks_as_the_reference(program):
    clean = fo.dispatch.local_state()
    assert run_on_machine(program) == OnReference(program).run()
    assert fo.dispatch.local_state() == clean


@settings(max_examples=50, deadline=None, derandomize=True)
@given(programs, keys, keys)
def test_the_state_of_one_thread_is_not_seen_in_another(program, included, excluded):
    results = []
    thread = threading.Thread(target=lambda: results.append(run_on_machine(program)))
    with fo.dispatch.include(key_set(included)), fo.dispatch.exclude(key_set(excluded)):
        here = fo.dispatch.local_state()
        thread.start()
        thread.join()
        assert fo.dispatch.local_state() == here
    assert results == [OnReference(program).run()]
