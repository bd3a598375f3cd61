"""Writes docs/reference.md, the list of all built-in operators, from their declarations.

``python docs/make_reference.py`` writes the page; with ``--check`` it only tells whether the page is current.
"""

import sys
from pathlib import Path

import fastops as fo
from fastops import registry

PAGE = Path(__file__).with_name("reference.md")
ORDER = ("elementwise", "reduction", "contraction", "view", "indexing", "creation", "primitive", "composite")


def page():
    """The text of the page."""
    lines = ["# Reference", "",
             "Written by `docs/make_reference.py` from the declarations in `fastops/ops`. `help(fo.add)` shows parameters,",
             "results, errors and an example; `python -m fastops.explain add` the kernels.", ""]
    operators = [operator for operator in registry.operators.values() if operator.namespace == "fastops"]
    others = names_by_operator()
    for family in ORDER:
        members = sorted((op for op in operators if op.rules.family == family), key=lambda op: op.__name__)
        if not members:
            continue
        lines += [f"## {family.capitalize()}", "", "| operator | also | what it gives |", "|---|---|---|"]
        for operator in members:
            also = ", ".join(f"`{name}`" for name in sorted(others[operator.name()] - {operator.__name__}))
            summary = operator.__doc__.partition("\n")[0].replace("|", "\\|")
            lines.append(f"| `{operator.__name__}{parameters(operator)}` | {also} | {summary} |")
        lines.append("")
    return "\n".join(lines)


def parameters(operator):
    """The signature as it is shown, without annotations."""
    return str(operator.__signature__).replace("|", "\\|")


def names_by_operator():
    """The public names of each operator: a dict from qualified name to a set of names."""
    result = {}
    for name in dir(fo):
        value = getattr(fo, name)
        if isinstance(value, fo.OpOverload):
            result.setdefault(value.name(), set()).add(name)
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
