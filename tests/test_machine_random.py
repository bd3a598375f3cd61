"""Random tables, fallbacks, guards and redispatches: the machine walks as the reference dispatcher does."""

import pytest
from hypothesis import given, settings, strategies as st

import fastops as fo
import reference
from fastops import _dispatch as machine
from fastops.schema import parse_schema

RUNTIME = reference.KEYS[1:-1]                  # TransformFront has a kernel of the machine's own
FUNCTIONALITIES = ["Python", "Batched", "Autograd", "Autocast"]
PLACES = [*reference.KEYS[:-1], *[key + backend for key in ("Autograd", "Autocast") for backend in ("CPU", "Meta", "CUDA")],
          "CompositeExplicitAutograd", "CompositeImplicitAutograd"]
OPERATORS = ["f", "g", "h"]
TENSORS = {"cpu": ("CPU",), "meta": ("Meta",)}

keys = st.sets(st.sampled_from(RUNTIME), max_size=3).map(sorted)
behaviours = st.one_of(
    st.just(("return",)), st.just(("return",)), st.just(("down",)), st.just(("down",)), st.just(("raise",)),
    st.just(("fallthrough",)),
    st.tuples(st.just("call"), st.sampled_from(OPERATORS), st.sampled_from(["args", "none", "cpu", "meta"])),
    st.tuples(st.sampled_from(["exclude", "include"]), keys, st.sampled_from(OPERATORS)),
    st.tuples(st.just("jump"), keys))
tables = st.dictionaries(st.sampled_from(PLACES), behaviours, min_size=1, max_size=6)
programs = st.fixed_dictionaries({
    "tables": st.fixed_dictionaries({name: tables for name in OPERATORS}),
    "fallbacks": st.dictionaries(st.sampled_from(FUNCTIONALITIES), behaviours, max_size=2),
    "calls": st.lists(st.tuples(st.sampled_from(OPERATORS), st.lists(st.sampled_from(sorted(TENSORS)), max_size=2),
                                st.sampled_from(["plain", "exclude", "include", "redispatch"]), keys),
                      min_size=1, max_size=4)})
DEPTH = 6


class Boom(Exception):
    """What a random kernel raises."""


class TooDeep(Exception):
    """A random program that would not end."""


class Program:
    """One random program, run on either dispatcher through a few functions that differ."""

    def __init__(self, program):
        self.program = program
        self.log = []
        self.depth = 0

    def kernel(self, place, behaviour):
        """The body of a kernel, the same for both: *operator* and *keys* are the dispatcher's own."""
        def run(operator, keys, *args):
            names = sorted(self.key_names(keys))
            self.log.append((self.operator_name(operator), place, tuple(names)))
            self.depth += 1
            try:
                if self.depth > DEPTH:
                    raise TooDeep
                return self.act(behaviour, operator, names, args)
            finally:
                self.depth -= 1
        return run

    def act(self, behaviour, operator, names, args):
        kind = behaviour[0]
        if kind == "return":
            return args[0] if args else self.tensors["cpu"]
        if kind == "raise":
            raise Boom
        if kind == "down":          # hand down to the keys below
            rest = sorted(names, key=reference.PRIORITY.get)[:-1]
            return self.redispatch(operator, rest, args)
        if kind == "jump":
            return self.redispatch(operator, behaviour[1], args)
        if kind == "call":
            given = {"args": args, "none": ()}.get(behaviour[2], (self.tensors.get(behaviour[2]),))
            return self.call(self.operators[behaviour[1]], given)
        with self.guard(kind, behaviour[1]):
            return self.call(self.operators[behaviour[2]], args)

    def run(self):
        """Every call's outcome, and the log of kernels."""
        outcomes = []
        for name, given, how, keys in self.program["calls"]:
            args = tuple(self.tensors[tensor] for tensor in given)
            operator = self.operators[name]
            try:
                if how == "redispatch":
                    result = self.redispatch(operator, keys, args)
                elif how == "plain":
                    result = self.call(operator, args)
                else:
                    with self.guard(how, keys):
                        result = self.call(operator, args)
                outcomes.append(next(name for name, tensor in self.tensors.items() if tensor is result))
            except (Boom, TooDeep) as error:
                outcomes.append(type(error).__name__)
            except self.no_kernel:
                outcomes.append("no kernel")
        return outcomes, self.log


class OnReference(Program):
    no_kernel = reference.NoKernel

    def __init__(self, program):
        super().__init__(program)
        self.dispatcher = reference.Dispatcher()
        self.tensors = {name: reference.Tensor(*keys) for name, keys in TENSORS.items()}
        self.dispatcher.fallbacks = {key: self.entry("fallback " + key, behaviour)
                                     for key, behaviour in program["fallbacks"].items()}
        self.operators = {name: reference.Operator(self.dispatcher, name, {
            place: self.entry(place, behaviour) for place, behaviour in table.items()})
            for name, table in program["tables"].items()}

    def entry(self, place, behaviour):
        return reference.FALLTHROUGH if behaviour[0] == "fallthrough" else self.kernel(place, behaviour)

    def key_names(self, keys):
        return keys

    def operator_name(self, operator):
        return operator.name

    def redispatch(self, operator, keys, args):
        return operator.redispatch(frozenset(keys), *args)

    def call(self, operator, args):
        return operator(*args)

    def guard(self, kind, keys):
        return getattr(self.dispatcher, kind)(keys)


def key_set(keys):
    result = fo.DispatchKeySet("Undefined")
    for key in keys:
        result = result.add(key)
    return result


class OnMachine(Program):
    no_kernel = NotImplementedError

    def __init__(self, program):
        super().__init__(program)
        self.tensors = {"cpu": fo.ones(2), "meta": fo.ones(2, device="meta")}
        self.operators = {}
        for name, table in program["tables"].items():
            kernels = {int(fo.DispatchKey[place]): self.entry(place, behaviour, name) for place, behaviour in table.items()}
            self.operators[name] = machine.Operator(parse_schema(f"random::{name}(Tensor? a=None, Tensor? b=None) -> Tensor"),
                                                    kernels)
        for key, behaviour in program["fallbacks"].items():
            machine.set_fallback(key, self.fallback("fallback " + key, behaviour))

    def entry(self, place, behaviour, name):
        if behaviour[0] == "fallthrough":
            return machine.fallthrough
        body = self.kernel(place, behaviour)
        return machine.Kernel(lambda keyset, *args: body(self.operators[name], keyset, *args), with_keyset=True)

    def fallback(self, place, behaviour):
        if behaviour[0] == "fallthrough":
            return machine.fallthrough
        body = self.kernel(place, behaviour)
        return machine.FallbackKernel(lambda keyset, operator, *args: body(operator, keyset, *args), with_keyset=True)

    def close(self):
        for key in self.program["fallbacks"]:
            machine.set_fallback(key, None)

    def key_names(self, keys):
        return [key.name for key in keys]

    def operator_name(self, operator):
        return operator._opname

    def redispatch(self, operator, keys, args):
        return operator.redispatch(key_set(keys), *args)

    def call(self, operator, args):
        return operator(*args)

    def guard(self, kind, keys):
        return getattr(fo.dispatch, kind)(key_set(keys))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(programs)
def test_the_machine_walks_as_the_reference(program):
    expected = OnReference(program).run()
    clean = fo.dispatch.local_state()
    run = OnMachine(program)
    try:
        actual = run.run()
    finally:
        run.close()
    assert actual == expected
    assert fo.dispatch.local_state() == clean


@pytest.mark.smoke
def test_the_reference_knows_the_rules():
    """The oracle itself, on the cases that the specification spells out."""
    dispatcher = reference.Dispatcher()
    cpu, meta = reference.Tensor("CPU"), reference.Tensor("Meta")

    def named(name):
        return lambda operator, keys, *args: (name, tuple(sorted(keys)))
    both = reference.Operator(dispatcher, "both", {"CPU": named("cpu"), "CompositeImplicitAutograd": named("implicit")})
    assert both(cpu) == ("cpu", ("CPU",))                       # J4: one backend kernel flips only that backend
    assert both(meta)[0] == "implicit" and "Autograd" in both(meta)[1]
    explicit = reference.Operator(dispatcher, "explicit", {"CompositeExplicitAutograd": named("explicit"),
                                                           "CompositeImplicitAutograd": named("implicit")})
    assert explicit(cpu)[0] == explicit(meta)[0] == "explicit"  # J5
    trap = reference.Operator(dispatcher, "trap", {"Autograd": named("autograd"), "CompositeImplicitAutograd": named("implicit")})
    assert trap(cpu)[0] == "implicit"                           # J6
    specific = reference.Operator(dispatcher, "specific", {"AutogradCPU": named("cpu grad"), "Autograd": named("grad"),
                                                           "CPU": named("cpu"), "Meta": named("meta")})
    assert (specific(cpu)[0], specific(meta)[0]) == ("cpu grad", "grad")        # J7
    assert both(cpu, meta)[0] == "implicit"                     # J2: CPU and Meta dispatch to Meta
    with pytest.raises(reference.NoKernel):                     # D2
        reference.Operator(dispatcher, "none", {"CPU": reference.FALLTHROUGH})(cpu)
    with dispatcher.exclude({"CPU"}), pytest.raises(reference.NoKernel):
        both_backends = reference.Operator(dispatcher, "one", {"CPU": named("cpu")})
        both_backends(cpu)
    assert dispatcher.excluded == frozenset()
