"""``fo.ops``: every operator by its name, ``fo.ops.<namespace>.<name>.<overload>``."""

import types

from fastops import errors, registry


class OpOverloadPacket:
    """All the overloads of one operator name; calling it runs the first whose schema accepts the arguments.

    ``packet.default`` and ``packet.<overload>`` are the operators themselves.

    >>> import fastops as fo
    >>> fo.ops.fastops.add, fo.ops.fastops.add.default is fo.add, fo.ops.fastops.add.overloads()
    (<OpOverloadPacket(op='fastops.add')>, True, ['default'])
    """

    def __init__(self, namespace, name):
        self._namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self._generation = None

    def _current(self):
        # Overload name -> operator, as registered now. Kept until the registry changes.
        if self._generation != registry.generation():
            self._found = registry.overloads(self._qualified_op_name)
            self._generation = registry.generation()
        return self._found

    @property
    def op(self):
        """The function behind the packet: the packet itself, as calls go through it."""
        return self

    def overloads(self):
        """The names of the overloads in the order of their definition; the unnamed one is "default"."""
        return [name or "default" for name in self._current()]

    def op_overloads(self):
        """The operators in the order of their definition."""
        return list(self._current().values())

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'{self}' has no attribute {name!r}")
        found = self._current().get("" if name == "default" else name)
        if found is None:
            names = ", ".join(self.overloads()) or "none, it is no longer defined"
            raise AttributeError(f"'{self}' has no overload {name!r}; overloads: {names}")
        return found

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(self.overloads()))

    def __iter__(self):
        return iter(self.overloads())

    def __call__(self, /, *args, **kwargs):
        candidates = self.op_overloads()
        if len(candidates) == 1:
            return candidates[0](*args, **kwargs)
        if not candidates:
            raise errors.DestroyedOperatorError(f"{self} is no longer defined: its library is gone")
        refused = []
        for operator in candidates:
            try:
                operator.check_arguments(*args, **kwargs)
            except errors.ArgumentError as error:
                refused.append(f"  {operator._schema}\n    {error}")
                continue
            return operator(*args, **kwargs)
        raise errors.ArgumentError(f"no overload of {self} takes these arguments:\n" + "\n".join(refused))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError(f"{self} cannot be pickled: operators live in the process that registered them")

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace(types.ModuleType):
    """The operators of one namespace, as attributes."""

    def __init__(self, name):
        super().__init__(f"fastops.ops.{name}")
        self._packets = {}
        self._namespace = name

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__") and not registry.overloads(f"{self._namespace}::{name}"):
            raise AttributeError(name)
        if not registry.overloads(f"{self._namespace}::{name}"):
            self._packets.pop(name, None)
            raise AttributeError(f"the namespace {self._namespace!r} has no operator {name!r}")
        packet = self._packets.get(name)
        if packet is None:
            packet = self._packets[name] = OpOverloadPacket(self._namespace, name)
        return packet

    def __dir__(self):
        return registry.names(self._namespace)

    def __iter__(self):
        return iter(registry.names(self._namespace))

    def __repr__(self):
        return f"<operators of the namespace '{self._namespace}'>"


class Operators:
    """``fo.ops``: a namespace for every name, empty ones included.

    >>> import fastops as fo
    >>> fo.ops.fastops.sin.default(fo.asarray([0.0]))
    tensor([0.])
    """

    def __init__(self):
        self._namespaces = {}

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self._namespaces.setdefault(name, OpNamespace(name))

    def __dir__(self):
        return sorted({name.partition("::")[0] for name in list(registry.operators)})

    def __iter__(self):
        return iter(dir(self))

    def load_library(self, path):
        """Load a shared library whose initialisation registers operators; OSError if it cannot be loaded."""
        import ctypes
        ctypes.CDLL(path)

    def __repr__(self):
        return f"<operators of the namespaces {', '.join(dir(self))}>"


ops = Operators()
