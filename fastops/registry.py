"""Which operators there are, and the kernels registered for each name.

Kernels are kept by name, not by operator: they may be registered before the operator is defined, and they are
there again when it is defined anew.
"""

from fastops import errors
from fastops._dispatch import DispatchKey, Kernel, Operator, install_hook

operators = {}      # "namespace::name" or "namespace::name.overload" -> Operator, in the order of definition
tables = {}         # the same names -> {registration key: Kernel}; the machine reads these dicts
_changes = 0


def generation():
    """A number that changes whenever an operator is defined or removed."""
    return _changes


def qualified_name(schema):
    """The name under which the operator of *schema* stands here."""
    overload = f".{schema.overload_name}" if schema.overload_name else ""
    return f"{schema.namespace}::{schema.opname}{overload}"


def overloads(name):
    """The operators called *name* ("namespace::name"): a dict from overload name, "" for the unnamed one."""
    return {key[len(name) + 1:]: operator for key, operator in list(operators.items())
            if key == name or key.startswith(name + ".")}


def names(namespace):
    """The names in *namespace*, sorted, without their overloads."""
    prefix = namespace + "::"
    return sorted({name[len(prefix):].partition(".")[0] for name in list(operators) if name.startswith(prefix)})


def table(name):
    """The kernels registered for *name*, a dict that the operator of that name shares."""
    return tables.setdefault(name, {})


def define(schema, *, checked=True, gather=None, kernels=()):
    """Make the operator of *schema* and enter it, with *kernels* by key; RegistrationError if its name is taken."""
    global _changes
    name = qualified_name(schema)
    if name in operators:
        raise errors.RegistrationError(f"the operator {name} is already defined: {operators[name]._schema}")
    table(name).update(kernels)
    operators[name] = operator = Operator(schema, table(name), checked=checked, gather=gather)
    _changes += 1
    return operator


def remove(name, reason):
    """Take the operator *name* out; whoever still holds it gets *reason* as a RuntimeError on every call."""
    global _changes
    operator = operators.pop(name, None)
    if operator is not None:
        operator.retire(reason)
        _changes += 1


def register(name, key, kernel):
    """Enter *kernel* for *name* at the registration key *key* and return the Kernel that it replaces, or None."""
    key = int(key)
    kernels = table(name)
    replaced = kernels.get(key)
    kernels[key] = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    refold(name)
    return replaced


def unregister(name, key, kernel, replaced=None):
    """Take *kernel* away from *name* at *key*, if it is still there, and put back what it replaced."""
    kernels = table(name)
    if kernels.get(int(key)) is not kernel:
        return
    if replaced is None:
        del kernels[int(key)]
    else:
        kernels[int(key)] = replaced
    refold(name)


def refold(name):
    if name in operators:
        operators[name].refold()


def key_name(key):
    """The name of a registration key, for messages."""
    return DispatchKey(int(key)).name


def find(name):
    """The operator of a qualified name, as pickles keep it."""
    return operators[name]


def pickled(operator):
    """What pickle keeps of an operator: the name, for ours; a user's lives in the process that registered it: TypeError."""
    if operator.namespace != "fastops":
        raise TypeError(f"{operator} cannot be pickled: an operator lives in the process that registered it")
    return find, (operator.name(),)


install_hook("pickle", pickled)
