"""The Library object, and definitions and kernels outside one: what ``fastops.library`` is made of."""

import contextlib
import enum
import sys
import weakref

from fastops import _dispatch as machine
from fastops import errors, registry, schema as schemas
from fastops._dispatch import DispatchKey, Kernel, Operator

OWN_NAMESPACES = frozenset({"fastops"})         # a DEF library of these stands already: this package
RESERVED_NAMESPACES = frozenset({"prim"})
KINDS = ("DEF", "IMPL", "FRAGMENT")
DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "privateuseone": "PrivateUse1",
               "privateuse1": "PrivateUse1", "privateuse2": "PrivateUse2", "privateuse3": "PrivateUse3"}

Tag = enum.Enum("Tag", ["core", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
                        "inplace_view", "needs_exact_strides", "needs_fixed_stride_order",
                        "nondeterministic_bitwise", "nondeterministic_seeded", "pointwise", "pt2_compliant_tag",
                        "view_copy"], module="fastops.library")
Tag.__doc__ = "What an operator says of itself beside its schema."

fallthrough_kernel = machine.fallthrough.function       # a mark: registered at a key, the key is passed over

_definers = {}      # namespace -> site of the live DEF library
_owners = {}        # (operator name, key) -> site of the Python registration there
_sites = {}         # operator name -> site of its definition
_kept = []          # libraries behind the function forms without lib=: they live for ever


class Library:
    """What is registered together and goes together.

    *kind* is ``"DEF"`` (claims the namespace *ns*; one at a time), ``"FRAGMENT"`` (adds to a namespace) or
    ``"IMPL"`` (kernels only; may name a *dispatch_key* for all of them). The namespace ``"_"`` stands for all
    operators and takes fallbacks.

    Raises ValueError for an unknown kind or a reserved namespace, RuntimeError for a namespace that is taken, a
    key where none is allowed or an unknown key.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in KINDS:
            raise ValueError(f"Library: kind is one of {', '.join(KINDS)}, not {kind!r}")
        if ns in RESERVED_NAMESPACES and kind != "IMPL":
            raise ValueError(f"Library: the namespace {ns!r} is reserved")
        if not isinstance(ns, str) or not ns.isidentifier():
            raise errors.RegistrationError(f"Library: a namespace is an identifier, not {ns!r}")
        if ns == "_" and kind != "IMPL":
            raise errors.RegistrationError(f"Library: the namespace '_' takes fallbacks only: use kind IMPL, not {kind}")
        if dispatch_key and kind != "IMPL":
            raise errors.RegistrationError(f"Library: only an IMPL library has a key of its own, not {kind}")
        if dispatch_key:
            parse_key(dispatch_key)
        site = call_site()
        if kind == "DEF":
            if ns in _definers or ns in OWN_NAMESPACES:
                taken = _definers.get(ns, "fastops itself")
                raise errors.RegistrationError(f"Library: the namespace {ns!r} is already defined by {taken}; "
                                               "use kind FRAGMENT to add to it")
            _definers[ns] = site
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._op_defs = set()
        self._op_impls = set()
        self._undo = []             # callables, run last first
        if kind == "DEF":
            self._undo.append(lambda: _definers.pop(ns, None))
        # The finalizer must not hold the library: it holds the list.
        self._finalizer = weakref.finalize(self, undo_all, self._undo)
        self._finalizer.atexit = False

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def _require_alive(self):
        if not self._finalizer.alive:
            raise errors.DestroyedError(f"{self} was destroyed: make a new Library")

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define the operator of *schema*, ``"name[.overload](args) -> results"``; returns its name.

        Raises RuntimeError (a ValueError too) if the schema does not parse, belongs to another namespace, or its
        name is taken; in an IMPL library, and for an unknown *alias_analysis*. *tags* is a Tag or several.
        """
        self._require_alive()
        if self.kind == "IMPL":
            raise errors.RegistrationError(f"{self}: an IMPL library defines no operators")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise errors.RegistrationError(f"{self}: unknown alias_analysis {alias_analysis!r}; "
                                           "'FROM_SCHEMA' and 'CONSERVATIVE' are known")
        tags = [tags] if isinstance(tags, Tag) else list(tags)
        for tag in tags:
            if not isinstance(tag, Tag):
                raise TypeError(f"{self}: tags are members of fastops.library.Tag, not {tag!r}")
        parsed = schemas.parse_schema(schema)
        if parsed.namespace and parsed.namespace != self.ns:
            raise errors.RegistrationError(f"{self}: the schema {schema!r} names another namespace, {parsed.namespace!r}")
        parsed = parsed.with_namespace(self.ns)
        name = registry.qualified_name(parsed)
        site = call_site()
        if name in registry.operators:
            raise errors.RegistrationError(f"the operator {name} is already defined at {_sites.get(name, 'fastops itself')}"
                                           f" (here: {site}): {registry.operators[name]._schema}")
        for key, kernel in list(registry.table(name).items()):
            check_signature(kernel, parsed)
        operator = registry.define(parsed)
        operator.tags = tags
        _sites[name] = site
        self._op_defs.add(name)

        def undo():
            _sites.pop(name, None)
            registry.remove(name, f"the library that defined it ({site}) is gone")
        self._undo.append(undo)
        return parsed.opname

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False):
        """Register *fn* as the kernel of an operator at *dispatch_key* (a name).

        *op_name* is ``"name"``, ``"name.overload"``, ``"ns::name"`` or an OpOverload; the operator need not exist
        yet. Without a key the library's stands, else CompositeImplicitAutograd. ``with_keyset`` hands *fn* the
        DispatchKeySet of the call first. ``fallthrough_kernel`` as *fn* passes the key over.

        Raises TypeError if *fn* is not callable or the key no string, RuntimeError if another Python kernel is
        there, the name or key does not fit the library, or *fn* cannot take what the schema gives it.
        """
        self._require_alive()
        if not callable(fn):
            raise TypeError(f"{self}.impl: a kernel is a callable, not {fn!r}")
        name = self._operator_name(op_name)
        if not isinstance(dispatch_key, str):
            raise TypeError(f"{self}.impl: a dispatch key is given by its name, not as {dispatch_key!r}")
        if self.dispatch_key and dispatch_key and parse_key(dispatch_key) != parse_key(self.dispatch_key):
            raise errors.RegistrationError(f"{self}.impl: this library's kernels are for {self.dispatch_key}, "
                                           f"not {dispatch_key}")
        key = parse_key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        site = call_site()
        if (name, key) in _owners:
            raise errors.RegistrationError(f"{name} already has a kernel for {key.name}, registered at "
                                           f"{_owners[name, key]} (here: {site})")
        if key == DispatchKey.Meta and DispatchKey.CompositeImplicitAutograd in registry.table(name):
            raise errors.RegistrationError(f"{name} has a CompositeImplicitAutograd kernel, which serves Meta too: "
                                           "a Meta kernel beside it would never agree with it")
        kernel = machine.fallthrough if fn is fallthrough_kernel else Kernel(fn, with_keyset=with_keyset)
        if name in registry.operators:
            check_signature(kernel, registry.operators[name]._schema)
        replaced = registry.register(name, key, kernel)
        _owners[name, key] = site
        self._op_impls.add(f"{name}/{key.name}")

        def undo():
            _owners.pop((name, key), None)
            registry.unregister(name, key, kernel, replaced)
        self._undo.append(undo)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Let *fn* run at *dispatch_key* for every operator without a kernel there: ``fn(operator, *args, **kwargs)``.

        Only for a library of the namespace ``"_"``; with ``with_keyset`` the DispatchKeySet comes first.
        """
        self._require_alive()
        if self.ns != "_":
            raise errors.RegistrationError(f"{self}.fallback: fallbacks belong to a library of the namespace '_'")
        if not (dispatch_key or self.dispatch_key):
            raise errors.DestroyedError(f"{self}.fallback: no dispatch key is given")
        if not callable(fn):
            raise TypeError(f"{self}.fallback: a fallback is a callable, not {fn!r}")
        key = parse_key(dispatch_key or self.dispatch_key)
        if key >= DispatchKey.CompositeExplicitAutograd:
            raise errors.RegistrationError(f"{self}.fallback: {key.name} stands for several keys; name one")
        if key in machine.fallbacks():
            raise errors.RegistrationError(f"the key {key.name} already has a fallback, "
                                           f"{machine.fallbacks()[key].source}")
        kernel = machine.fallthrough if fn is fallthrough_kernel else machine.FallbackKernel(fn, with_keyset=with_keyset)
        machine.set_fallback(key, kernel)
        self._undo.append(lambda: machine.set_fallback(key, None))

    def _destroy(self):
        """Take back everything registered through this library; harmless the second time."""
        self._finalizer()
        self._op_defs.clear()
        self._op_impls.clear()

    def _operator_name(self, op_name):
        if isinstance(op_name, Operator):
            op_name = op_name.name()
        elif not isinstance(op_name, str):
            raise errors.ArgumentError(f"{self}.impl: an operator is given by its name or as an OpOverload, not as "
                                       f"{op_name!r}")
        namespace, separator, name = op_name.rpartition("::")
        if separator and namespace != self.ns:
            raise errors.RegistrationError(f"{self}.impl: {op_name!r} is in another namespace; open "
                                           f"Library({namespace!r}, 'IMPL')")
        base, dot, overload = name.partition(".")
        if dot and overload == "default":
            raise errors.RegistrationError(f"{self}.impl: the overload without a name is called {base!r} here, "
                                           f"not {name!r}")
        return f"{self.ns}::{name}"


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A Library that is destroyed at the end of the ``with`` block.

    >>> import fastops as fo
    >>> with fo.library._scoped_library("scoped_doc", "FRAGMENT") as lib:
    ...     _ = lib.define("f(Tensor x) -> Tensor")
    >>> hasattr(fo.ops.scoped_doc, "f")
    False
    """
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def define(qualname, schema, alias_analysis="", *, lib=None, tags=()):
    """Define the operator *qualname*, ``"ns::name"``, with a schema without a name, ``"(Tensor x) -> Tensor"``.

    Without *lib* the definition stays for ever. The older form ``define(lib, "name(args) -> results")`` is a
    decorator: the function becomes the operator's CompositeImplicitAutograd kernel.

    Raises ValueError for a malformed name or schema, or a *lib* of another namespace.

    >>> import fastops as fo
    >>> fo.library.define("define_doc::f", "(Tensor x, int n=1) -> Tensor")
    >>> fo.ops.define_doc.f.default._schema
    define_doc::f(Tensor x, int n=1) -> Tensor
    """
    if isinstance(qualname, Library):
        if tags:
            raise TypeError("define: the decorator form takes no tags")
        return _define_decorator(qualname, schema, alias_analysis)
    if not isinstance(qualname, str) or qualname.count("::") != 1:
        raise ValueError(f"define: the name is a string 'namespace::name', not {qualname!r}")
    if not isinstance(schema, str) or not schema.lstrip().startswith("(") or "\n" in schema:
        raise ValueError(f"define: the schema is one line without a name, like '(Tensor x) -> Tensor', not {schema!r}")
    namespace, name = qualname.split("::")
    if lib is not None and lib.ns != namespace:
        raise errors.RegistrationError(f"define: {qualname!r} does not belong into {lib}")
    library = lib if lib is not None else keep_library(namespace)
    library.define(name + schema.strip(), alias_analysis, tags=tags)


def _define_decorator(library, schema, alias_analysis):
    def register(function):
        parsed = schemas.parse_schema(schema)
        library.define(schema, alias_analysis)
        overload = f".{parsed.overload_name}" if parsed.overload_name else ""
        library.impl(parsed.opname + overload, function)
        return function
    return register


def impl(qualname, types, func=None, *, lib=None):
    """Register *func* for the operator *qualname* on devices or dispatch keys; without *func* a decorator.

    *types* is a name or a sequence of names: devices ("cpu", "cuda", "meta"), dispatch keys, or "default" for
    every backend. The older form ``impl(lib, name, key="")`` is a decorator too. Both return the function.
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""

        def register_older(function):
            library.impl(name, function, key)
            return function
        return register_older
    if isinstance(qualname, Operator):
        qualname = qualname.name()
    if not isinstance(qualname, str) or qualname.count("::") != 1:
        raise errors.ArgumentError(f"impl: the operator is named 'namespace::name', not {qualname!r}")
    if isinstance(types, str):
        types = (types,)
    elif types is None:
        raise TypeError("impl: name the devices or dispatch keys, or 'default' for every backend")
    keys = list(dict.fromkeys(_key_of_device(name) for name in types))
    if not keys:
        raise errors.RegistrationError(f"impl: no device or dispatch key is named for {qualname}")
    namespace = qualname.partition("::")[0]

    def register(function):
        library = lib if lib is not None else keep_library(namespace)
        for key in keys:
            library.impl(qualname, function, key)
        return function
    return register if func is None else register(func)


def keep_library(namespace):
    """A FRAGMENT library that nobody owns: what is registered through it stays."""
    library = Library(namespace, "FRAGMENT")
    _kept.append(library)
    return library


def _key_of_device(name):
    if not isinstance(name, str):
        raise errors.ArgumentError(f"impl: a device or dispatch key is given by its name, not as {name!r}")
    if name == "default":
        return "CompositeExplicitAutograd"
    if name in DEVICE_KEYS:
        return DEVICE_KEYS[name]
    if name in DispatchKey.__members__:
        return DispatchKey[name].name
    raise errors.RegistrationError(f"impl: {name!r} is neither a device ({', '.join(DEVICE_KEYS)}) nor a dispatch key "
                                   f"({', '.join(DispatchKey.__members__)})")


def parse_key(name):
    """The DispatchKey called *name*; RuntimeError (a ValueError too) if there is none."""
    return machine.parse_key(name)


def undo_all(actions):
    while actions:
        actions.pop()()


def check_signature(kernel, schema):
    """Refuse a Python kernel that cannot take what *schema* gives it, or whose own defaults say otherwise."""
    if kernel is machine.fallthrough or kernel.function is None:
        return
    import inspect
    try:
        signature = inspect.signature(kernel.function)
    except (TypeError, ValueError):         # written in C: it says nothing of itself
        return
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    keywords = [argument for argument in schema.arguments if argument.kwarg_only]
    if schema.namespace in OWN_NAMESPACES:
        # Our operators have NumPy's options (out, where, ...), which a kernel may well do without.
        optional = {argument.name for argument in schema.arguments if argument.has_default_value()} - set(signature.parameters)
        positional = [argument for argument in positional if argument.name not in optional]
        keywords = [argument for argument in keywords if argument.name not in optional]
    values = [None] * (len(positional) + kernel.with_keyset)
    try:
        bound = signature.bind(*values, **{argument.name: None for argument in keywords})
    except TypeError as error:
        raise errors.ArgumentError(f"the kernel {kernel.source} cannot take the arguments of {schema}: {error}") from None
    parameters = list(signature.parameters.values())[kernel.with_keyset:]
    by_position = [parameter for parameter in parameters
                   if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    pairs = list(zip(positional, by_position)) + [(argument, signature.parameters.get(argument.name))
                                                   for argument in keywords]
    for argument, parameter in pairs:
        if parameter is None or parameter.default is parameter.empty or not argument.has_default_value():
            continue
        if not same_default(argument.default_value, parameter.default):
            raise errors.ArgumentError(
                f"the kernel {kernel.source} has the default {parameter.name}={parameter.default!r}, but {schema} says "
                f"{argument.name}={argument.default_value!r}: a value equal to the schema's default is not passed on, "
                "so the two must agree")


def same_default(declared, own):
    if declared is None or own is None:
        return declared is own
    if isinstance(declared, (list, tuple)) and isinstance(own, (list, tuple)):
        return list(declared) == list(own)
    return bool(declared == own)


def call_site():
    """Where the user's code called into this module: "file:line"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in (__name__, "contextlib"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
