"""The oracle itself, on the cases that the specification spells out: whom to believe when the two dispatchers differ."""

import contextlib

import pytest

import reference
from reference import FALLTHROUGH, NoKernel

CPU, CUDA, META = reference.Tensor("CPU"), reference.Tensor("CUDA"), reference.Tensor("Meta")
IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"


@pytest.fixture
def dispatcher():
    return reference.Dispatcher()


def report(place):
    """A kernel that says where it was registered and which keys it was given."""
    return lambda operator, keys, *args, **kwargs: (place, keys)


def hand_down(place):
    """A kernel that puts its own report before that of the keys below it."""
    def run(operator, keys, *args, **kwargs):
        return [(place, keys), operator.redispatch(keys - {max(keys, key=reference.PRIORITY.get)}, *args, **kwargs)]
    return run


def operator_with(dispatcher, places, passed_over=()):
    kernels = {place: report(place) for place in places} | dict.fromkeys(passed_over, FALLTHROUGH)
    return reference.Operator(dispatcher, "f", kernels)


@pytest.mark.smoke
@pytest.mark.parametrize("places, args, place, keys", [
    # A backend's slot: its own kernel, else the explicit alias, else the implicit one (J3).
    (["CPU"], [CPU], "CPU", {"CPU"}),
    (["CPU", EXPLICIT], [CPU], "CPU", {"CPU"}),
    (["CPU", EXPLICIT], [META], EXPLICIT, {"Meta"}),
    # J1: keys of tensors in lists count, None brings none; J2: the highest backend runs.
    (["CPU", "Meta"], [[CPU, META]], "Meta", {"CPU", "Meta"}),
    (["CPU", "CUDA"], [None, CPU], "CPU", {"CPU"}),
    # J4: one backend kernel takes only that backend from the implicit kernel, which runs above Autograd elsewhere.
    (["CPU", IMPLICIT], [CPU], "CPU", {"CPU"}),
    (["CPU", IMPLICIT], [META], IMPLICIT, {"Meta", "Autograd"}),
    (["CPU", IMPLICIT], [CPU, META], IMPLICIT, {"CPU", "Meta", "Autograd"}),
    ([IMPLICIT], [CPU], IMPLICIT, {"CPU", "Autograd"}),
    # J5: the explicit alias wins everywhere.
    ([EXPLICIT, IMPLICIT], [CPU], EXPLICIT, {"CPU"}),
    ([EXPLICIT, IMPLICIT], [], EXPLICIT, set()),
    # J6: the implicit kernel wins over the Autograd alias, not over a backend's own Autograd kernel.
    (["Autograd", IMPLICIT], [CPU], IMPLICIT, {"CPU", "Autograd"}),
    (["AutogradCPU", IMPLICIT], [CPU], "AutogradCPU", {"CPU", "Autograd"}),
    (["AutogradCPU", IMPLICIT], [META], IMPLICIT, {"Meta", "Autograd"}),
    (["Autograd", "CPU", IMPLICIT], [CPU], "Autograd", {"CPU", "Autograd"}),
    (["Autograd", "CPU", IMPLICIT], [META], IMPLICIT, {"Meta", "Autograd"}),
    # J7: the alias runs over backend and explicit kernels; a backend's own wins over the alias.
    (["Autograd", EXPLICIT], [CPU], "Autograd", {"CPU", "Autograd"}),
    (["Autograd", EXPLICIT, IMPLICIT], [CPU], "Autograd", {"CPU", "Autograd"}),
    (["Autograd", "AutogradCPU", "CPU", "Meta"], [CPU], "AutogradCPU", {"CPU", "Autograd"}),
    (["Autograd", "AutogradCPU", "CPU", "Meta"], [META], "Autograd", {"Meta", "Autograd"}),
    # An Autograd kernel for one backend forces the bit for every call, yet is passed over elsewhere.
    (["AutogradCUDA", "CPU"], [CPU], "CPU", {"CPU"}),
    # J9: without a tensor the key is Undefined, or BackendSelect where there is such a kernel.
    (["Undefined", IMPLICIT], [], "Undefined", set()),
    ([EXPLICIT], [[], None], EXPLICIT, set()),
    ([IMPLICIT], [], IMPLICIT, {"Autograd"}),
    (["BackendSelect", "CPU"], [], "BackendSelect", {"BackendSelect"}),
    (["BackendSelect", "CPU"], [CPU], "BackendSelect", {"BackendSelect", "CPU"}),
    # An Autocast kernel waits until somebody includes the key.
    (["Autocast", "CPU"], [CPU], "CPU", {"CPU"}),
])
def test_which_kernel_runs(dispatcher, places, args, place, keys):
    assert operator_with(dispatcher, places)(*args) == (place, keys)


@pytest.mark.parametrize("places, passed_over, args", [
    (["CPU"], [], [META]),                          # J10
    (["CPU"], [], []),                              # J9
    (["Autograd"], [], [CPU, 1]),                   # nothing below the functionality
    ([], ["CPU"], [CPU]),                           # D2
    ([], ["CPU", "Undefined"], [CPU]),
    ([], [EXPLICIT], [CPU]),
    (["Meta"], ["CPU"], [CPU]),
])
def test_no_kernel(dispatcher, places, passed_over, args):
    operator = operator_with(dispatcher, places, passed_over)
    with dispatcher.exclude({"Autograd"}), pytest.raises(NoKernel):
        operator(*args)


@pytest.mark.parametrize("places, passed_over, args, place, keys", [
    # D1, J13: a key passed over is out of the keys that kernels see.
    (["CPU", "Autograd"], ["Meta"], [CPU, META], "Autograd", {"CPU", "Autograd"}),
    (["CPU", "Meta"], ["Meta"], [CPU, META], "CPU", {"CPU"}),
    # A backend without anything ends at Undefined, which an alias may serve.
    ([EXPLICIT], ["CPU"], [CPU], EXPLICIT, set()),
    # A fallthrough for one backend's Autograd leaves the others; the mark counts as that slot's own entry.
    (["Autograd", "CPU", "Meta"], ["AutogradCPU"], [CPU], "CPU", {"CPU"}),
    (["Autograd", "CPU", "Meta"], ["AutogradCPU"], [META], "Autograd", {"Meta", "Autograd"}),
    ([IMPLICIT], ["AutogradCPU"], [CPU], IMPLICIT, {"CPU"}),
    # The mark at Undefined is a registration there: the implicit kernel leaves the Autograd slot above it.
    (["Autograd", IMPLICIT], ["Undefined"], [], "Autograd", {"Autograd"}),
    # A mark forces nothing.
    (["CPU"], ["Autograd"], [CPU], "CPU", {"CPU"}),
])
def test_fallthrough(dispatcher, places, passed_over, args, place, keys):
    places = [name for name in places if name not in passed_over]
    assert operator_with(dispatcher, places, passed_over)(*args) == (place, keys)


def test_guards_add_and_take_away_keys(dispatcher):
    operator = operator_with(dispatcher, ["CPU", "Python", "Autograd", "AutocastCPU"])
    with dispatcher.include({"Python", "Autocast"}):
        assert operator(CPU) == ("AutocastCPU", {"CPU", "Python", "Autograd", "Autocast"})
        with dispatcher.exclude({"Autocast", "Autograd"}):      # taking away beats adding and forcing
            assert operator(CPU) == ("Python", {"CPU", "Python"})
            with dispatcher.exclude({"Python"}), dispatcher.include({"Python"}):
                assert operator(CPU) == ("CPU", {"CPU"})
    assert operator(CPU) == ("Autograd", {"CPU", "Autograd"})


def test_guards_restore_what_was_after_an_exception(dispatcher):
    with pytest.raises(KeyError), dispatcher.exclude({"CPU"}):
        with contextlib.suppress(ValueError), dispatcher.include({"Python"}), dispatcher.exclude({"Meta"}):
            raise ValueError
        assert (dispatcher.included, dispatcher.excluded) == (frozenset(), {"CPU"})
        raise KeyError
    assert (dispatcher.included, dispatcher.excluded) == (frozenset(), frozenset())


def test_redispatch_looks_at_its_keys_only(dispatcher):
    """H15: not at tensors, thread state or forced keys; the operator's own mask holds."""
    operator = operator_with(dispatcher, ["CPU", "Meta", "Autograd", "BackendSelect"], ["Python"])
    with dispatcher.exclude({"Meta"}), dispatcher.include({"Autograd"}):
        assert operator.redispatch({"Meta", "Python"}, CPU) == ("Meta", {"Meta"})
    with pytest.raises(NoKernel):
        operator.redispatch({"CUDA"}, CPU)
    with pytest.raises(NoKernel):
        operator.redispatch(set(), CPU)


def test_handing_down_walks_the_keys_in_order(dispatcher):
    operator = reference.Operator(dispatcher, "f", {"CPU": report("CPU"), "Autograd": hand_down("Autograd"),
                                                    "Python": hand_down("Python"), "Autocast": hand_down("Autocast")})
    with dispatcher.include({"Python", "Autocast"}):
        assert operator(CPU) == [
            ("Autocast", {"Autocast", "Autograd", "Python", "CPU"}),
            [("Autograd", {"Autograd", "Python", "CPU"}), [("Python", {"Python", "CPU"}), ("CPU", {"CPU"})]]]


def test_redispatch_with_its_own_key_runs_the_same_kernel_again(dispatcher):
    """H16."""
    def again(operator, keys, *args):
        return operator.redispatch(keys, *args)
    with pytest.raises(RecursionError):
        reference.Operator(dispatcher, "f", {"CPU": again})(CPU)


def test_nested_calls_start_from_the_top(dispatcher):
    """J14: inside a backend's kernel another operator meets its Autograd kernel again."""
    inner = operator_with(dispatcher, ["CPU", "Autograd"])
    outer = reference.Operator(dispatcher, "outer", {"CPU": lambda operator, keys, *args: inner(*args)})
    assert outer(CPU) == ("Autograd", {"CPU", "Autograd"})


def test_fallbacks_serve_what_has_no_kernel(dispatcher):
    """D8, D9: an operator's own kernel and its aliases go first; no tensor is needed; a mark is a fallback too."""
    dispatcher.fallbacks = {key: report("fallback " + key) for key in ("Undefined", "CPU", "Python", "Autograd", "Autocast")}
    operator = operator_with(dispatcher, ["Meta", "AutocastMeta"])
    assert operator(CPU) == ("fallback CPU", {"CPU"})           # fallbacks force nothing
    assert operator() == ("fallback Undefined", set())
    assert operator(META) == ("Meta", {"Meta"})
    with dispatcher.include({"Autograd", "Python"}):
        assert operator() == ("fallback Autograd", {"Autograd", "Python"})
        assert operator_with(dispatcher, ["Autograd"])(CPU)[0] == "Autograd"
        assert operator_with(dispatcher, [IMPLICIT])(CPU)[0] == IMPLICIT
        dispatcher.fallbacks["Autograd"] = FALLTHROUGH
        assert operator(META) == ("fallback Python", {"Python", "Meta"})
    with dispatcher.include({"Autocast"}):
        assert operator(META)[0] == "AutocastMeta"
        assert operator(CUDA)[0] == "fallback Autocast"
