"""An operator is one declaration: signature, documentation, kernels, samples.

Everything else follows from it: the function in the namespace (the operator itself), Tensor's method and Python's
operator syntax, the dispatch table, the tests of every law, the reference page.
"""

import sys

from fastops import _dispatch as machine
from fastops import registry
from fastops.schema import parse_schema


class Rules:
    """What a declaration says of an operator beside its kernels; found as ``operator.rules``.

    *reference* is a NumPy function of the same arguments, or None; *samples* a function of a
    ``numpy.random.Generator`` that yields Samples; *family* the word for what the operator has in common with
    others; *answers* the functions of NumPy's that this operator stands for beside the one of its own name;
    *derivative* what a user's operator says of its derivative, or None.
    """
    __slots__ = ("reference", "samples", "family", "answers", "derivative")

    def __init__(self, reference, samples, family, answers):
        self.reference = reference
        self.samples = samples
        self.family = family
        self.answers = answers
        self.derivative = None


def declare(schema, summary, *, kernels, family, samples, reference=None, notes="", example="", syntax=None,
            methods=(), gather=None, module="", answers=(), derivative=None, batching=None):
    """Make the built-in operator of *schema* and hand it out.

    *schema* reads ``"name(Array x, /, ...) -> Tensor"``; *kernels* is a dict from DispatchKey to kernel. *summary*
    is the docstring's first sentence, *notes* follow it (shapes, dtypes, what is raised, the source), *example* is
    a doctest. *syntax* names the special method that the operator answers (``"__add__"``), *methods* the names
    under which it is a method of Tensor; *gather* names the parameter that takes surplus positional arguments.
    *module* is the part of the namespace where the function stands ("linalg"), ``fastops::linalg_name`` being the
    operator's full name. *answers* lists functions of NumPy's of other names that this operator stands for when they
    meet a Tensor (``numpy.add.reduce`` for ``sum``). *derivative* is what ``fastops.derivatives`` makes. *batching* names the
    rule of ``fastops.batching`` for mapped arrays, where it is not that of the family; a composite needs one where it reads values.
    """
    parsed = parse_schema(f"fastops::{module}_{schema}" if module else "fastops::" + schema)
    operator = registry.define(parsed, checked=False, gather=gather, kernels={
        int(key): kernel if isinstance(kernel, machine.Kernel) else machine.Kernel(kernel) for key, kernel in kernels.items()})
    operator.rules = Rules(reference, samples, family, tuple(answers))
    operator.derivative = derivative
    operator.batching = batching
    operator.__name__ = operator.__qualname__ = parsed.opname.removeprefix(module + "_") if module else parsed.opname
    operator.__module__ = caller_module()
    operator.__doc__ = docstring(summary, notes, example)
    if syntax is not None:
        machine.install_slot(syntax, operator)
    for method in methods:
        machine.install_method(method, operator)
    return operator


def docstring(summary, notes, example):
    parts = [summary]
    if notes:
        parts.append(notes.strip("\n"))
    if example:
        parts.append("Examples\n--------\n>>> import fastops as fo\n" + example.strip("\n"))
    return "\n\n".join(parts) + "\n"


def caller_module():
    # The module of the declaration, past the families that built it: doctests are collected by it.
    frame = sys._getframe(2)
    while frame.f_globals["__name__"] in (__name__, "fastops.ops.families"):
        frame = frame.f_back
    return frame.f_globals["__name__"]
