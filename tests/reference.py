"""A small dispatcher in plain Python, written from the specification: the oracle of the machine in C.

Tensors are anything with a set of keys; kernels are Python functions ``kernel(operator, keys, *args, **kwargs)`` that
may call ``operator.redispatch``, other operators, and the guards. Nothing here is fast, and nothing is folded: every
call asks the registered kernels anew.
"""

import contextlib

KEYS = ["Undefined", "CPU", "CUDA", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta", "BackendSelect", "Python",
        "Batched", "Autograd", "Autocast", "TransformFront"]
PRIORITY = {key: position for position, key in enumerate(KEYS)}
BACKENDS = {"CPU", "CUDA", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta"}
PER_BACKEND = {"Autograd", "Autocast"}
FALLTHROUGH = object()


class NoKernel(Exception):
    """There is no kernel for the keys of a call."""


class Tensor:
    """Something that brings keys to a call."""

    def __init__(self, *keys):
        self.keys = frozenset(keys)


def keys_of(value):
    """The keys that an argument brings: a tensor's own, those within a list, none for anything else."""
    if isinstance(value, (list, tuple)):
        return frozenset().union(*map(keys_of, value))
    return value.keys if isinstance(value, Tensor) else frozenset()


class Dispatcher:
    """Thread state and fallbacks, shared by the operators made with it."""

    def __init__(self):
        self.included = frozenset()
        self.excluded = frozenset()
        self.fallbacks = {}

    @contextlib.contextmanager
    def include(self, keys):
        """Calls within have *keys* too."""
        before = self.included
        self.included = before | frozenset(keys)
        try:
            yield
        finally:
            self.included = before

    @contextlib.contextmanager
    def exclude(self, keys):
        """Calls within pass over *keys*."""
        before = self.excluded
        self.excluded = before | frozenset(keys)
        try:
            yield
        finally:
            self.excluded = before


class Operator:
    """A name and its kernels, by the name of the registration key."""

    def __init__(self, dispatcher, name, kernels):
        self.dispatcher = dispatcher
        self.name = name
        self.kernels = dict(kernels)

    def kernel_at(self, key, backend):
        """What runs at a runtime key above a backend: a kernel, FALLTHROUGH, or None where a kernel is missing."""
        own = self.kernels.get
        if key in BACKENDS or key == "Undefined":
            choices = [own(key), own("CompositeExplicitAutograd"), own("CompositeImplicitAutograd"),
                       self.dispatcher.fallbacks.get(key)]
            return next((choice for choice in choices if choice is not None), None)
        choices = []
        if key in PER_BACKEND:
            choices.append(own(key + backend))
        if key == "Autograd" and backend not in self.kernels and own("CompositeExplicitAutograd") is None:
            choices.append(own("CompositeImplicitAutograd"))
        choices += [own(key), self.dispatcher.fallbacks.get(key)]
        return next((choice for choice in choices if choice is not None), FALLTHROUGH)

    def is_passed_over(self, key):
        """Whether no backend's slot at *key* holds a kernel: the key is then out of the operator's mask."""
        backends = [key] if key not in PER_BACKEND else ["Undefined", *BACKENDS]
        return all(self.kernel_at(key, backend) is FALLTHROUGH for backend in backends)

    def forced(self):
        """Keys that every call has, because somebody registered a kernel that would else not be reached."""
        keys = set()
        for name, kernel in self.kernels.items():
            if kernel is FALLTHROUGH:
                continue
            if name.startswith("Autograd") or name == "CompositeImplicitAutograd":
                keys.add("Autograd")
            if name == "BackendSelect":
                keys.add("BackendSelect")
        return keys

    def __call__(self, *args, **kwargs):
        keys = keys_of([*args, *kwargs.values()])
        keys = (keys | self.forced() | self.dispatcher.included) - self.dispatcher.excluded
        return self.redispatch(keys, *args, **kwargs)

    def redispatch(self, keys, *args, **kwargs):
        """Run the highest key of *keys* that this operator does not pass over."""
        keys = frozenset(key for key in keys if not self.is_passed_over(key))
        top = max(keys, key=PRIORITY.get, default="Undefined")
        backend = max(keys & BACKENDS, key=PRIORITY.get, default="Undefined")
        kernel = self.kernel_at(top, backend)
        if kernel is FALLTHROUGH:               # this backend's slot only, or Undefined itself
            if top == "Undefined":
                raise NoKernel(self.name)
            return self.redispatch(keys - {top}, *args, **kwargs)
        if kernel is None:
            raise NoKernel(self.name)
        return kernel(self, keys, *args, **kwargs)
