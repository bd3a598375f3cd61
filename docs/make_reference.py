"""Writes docs/reference.md, the list of all built-in operators, from their declarations.

``python docs/make_reference.py`` writes the page; with ``--check`` it only tells whether the page is current.
"""

import sys
from pathlib import Path

import fastops as fo
from fastops import registry

PAGE = Path(__file__).with_name("reference.md")
ORDER = ("elementwise", "reduction", "contraction", "view", "indexing", "creation", "primitive", "data-dependent",
         "linear-algebra", "composite")
fo.special.erf      # declares the special functions
MODULES = [name for name in ("autograd", "linalg", "fft", "random", "special") if hasattr(fo, name)]


def page():
    """The text of the page."""
    lines = ["# Reference", "",
             "Written by `docs/make_reference.py` from the declarations in `fastops/ops`. `help(fo.add)` shows parameters,",
             "results, errors and an example; `python -m fastops.explain add` the kernels.", ""]
    operators = [operator for operator in registry.operators.values() if operator.namespace == "fastops"]
    others = names_by_operator()
    for family in ORDER:
        members = sorted((op for op in operators if op.rules.family == family), key=lambda op: chosen(op, others[op.name()]))
        if not members:
            continue
        lines += [f"## {family.capitalize()}", "", "| operator | also | what it gives |", "|---|---|---|"]
        for operator in members:
            name = chosen(operator, others[operator.name()])
            also = ", ".join(f"`{other}`" for other in sorted(others[operator.name()] - {name}))
            summary = operator.__doc__.partition("\n")[0].replace("|", "\\|")
            lines.append(f"| `{name}{parameters(operator)}` | {also} | {summary} |")
        lines.append("")
    return "\n".join(lines)


def chosen(operator, names):
    """The name under which an operator is listed: its own, the shortest where it stands in several modules."""
    return min(names, key=lambda name: (name.rpartition(".")[2] != operator.__name__, len(name), name))


def parameters(operator):
    """The signature as it is shown, without annotations."""
    return str(operator.__signature__).replace("|", "\\|")


def names_by_operator():
    """The public names of each operator: a dict from qualified name to a set of names."""
    result = {}
    for prefix, module in [("", fo), *((f"{name}.", getattr(fo, name)) for name in MODULES)]:
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if isinstance(value, fo.OpOverload):
                result.setdefault(value.name(), set()).add(prefix + name)
    return result


def main(arguments):
    if "--check" in arguments:
        current = PAGE.exists() and PAGE.read_text() == page()
        print("docs/reference.md is current" if current else "docs/reference.md is not current: run docs/make_reference.py")
        return 0 if current else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
