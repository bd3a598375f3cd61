"""What runs: the dispatch table of an operator, and the walk of keys that one call takes.

``python -m fastops.explain add`` prints the table with each kernel's file and line; ``fo.explain(lambda: a + b)``
prints the walk.
"""

import os
import sys

from fastops import _dispatch as machine
from fastops import registry


def explain(call):
    """Print the walk of *call*: each operator, the key at which it runs and the kernel; nested calls are indented.

    *call* is a function without arguments, whose result is returned; or an operator or its name, whose table is
    printed.

    >>> import fastops as fo
    >>> x = fo.asarray([1.0])
    >>> _ = fo.explain(lambda: x + x)
    fastops.add.default  CPU  fastops/_loops.pyx: elementwise, loops of numpy.add
    """
    if isinstance(call, (machine.Operator, str)):
        print(table(call))
        return None
    result, walk = machine.record_walk(call)
    lines = [f"{'  ' * depth}{operator}  {key.name}  {shown(kernel)}" for depth, operator, key, kernel in walk]
    print("\n".join(lines) or "no operator ran")
    return result


def table(operator):
    """The dispatch table of *operator* (or of the operator so named) as text."""
    if isinstance(operator, str):
        operator = find(operator)
    lines = [str(operator._schema), ""]
    width = max(len(key.name) for key, kernel in operator.table_rows())
    own = {int(key) for key in list(operator.kernels)}
    for key, kernel in operator.table_rows():
        if kernel is None:
            continue
        note = "" if int(key) in own or kernel.source == "no kernel" else "  (through an alias or a fallback)"
        lines.append(f"{key.name:<{width}}  {shown(kernel)}{note}")
    passed = [key.name for key, kernel in operator.table_rows() if kernel is None]
    lines.append(f"{'passed over':<{width}}  {', '.join(passed)}")
    return "\n".join(lines)


def find(name):
    """The operator called ``"add"``, ``"ns::name"``, ``"ns::name.overload"`` or ``"ns.name.overload"``; LookupError if none."""
    candidates = [name, f"fastops::{name}", name.replace(".", "::", 1), name.replace(".", "::", 1).removesuffix(".default")]
    for candidate in candidates:
        if candidate in registry.operators:
            return registry.operators[candidate]
    import difflib
    names = {key.partition("::")[2] if key.startswith("fastops::") else key for key in list(registry.operators)}
    close = difflib.get_close_matches(name, names, 3)
    raise LookupError(f"no operator is called {name!r}" + (f"; did you mean {', '.join(close)}?" if close else ""))


def shown(kernel):
    source = kernel.source
    path, colon, line = source.rpartition(":")
    if os.path.isabs(path):
        relative = os.path.relpath(path)
        return f"{relative if not relative.startswith('..') else path}:{line}"
    return source


def main(arguments):
    """The command line: prints the table of each operator named."""
    import fastops          # noqa: F401  registers the operators
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m fastops.explain OPERATOR [OPERATOR ...]\n\n" + __doc__.strip())
        return 0 if arguments else 2
    for position, name in enumerate(arguments):
        try:
            print(("\n" if position else "") + table(name))
        except LookupError as error:
            print(error.args[0], file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
