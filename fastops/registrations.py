"""What other libraries want to know of Tensor is told to them when they are imported, before us or after; never imported here.

The names waited for stand in ``waiting``, each with the module of ours whose import is the registration. This module is itself
a finder on ``sys.meta_path``: it finds nothing of its own, but sees the names of modules as their import begins, and has the
loader of one that is waited for register after the module has run. Any other import costs a look-up in a dict. A library that
is in the midst of its import while fastops is imported is told at the next import of anything.
"""

import importlib
import sys
import warnings

waiting = {"dask.array": "fastops.compat.dask", "einops": "fastops.compat.einops", "jax": "fastops.compat.jax",
           "numba": "fastops.compat.numba", "torch": "fastops.compat.torch_function"}
unfinished = set()


def install():
    """Tell the libraries that are here, and wait for the others; a second call changes nothing."""
    for name in [name for name in waiting if name in sys.modules]:
        if is_initializing(name):
            unfinished.add(name)
        else:
            register(name)
    if waiting and sys.modules[__name__] not in sys.meta_path:
        sys.meta_path.insert(0, sys.modules[__name__])


def is_initializing(name):
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def register(name):
    """Run the registration of the library *name*, once: what is popped is gone for every other thread."""
    registration = waiting.pop(name, None)
    unfinished.discard(name)
    if registration is None:
        return
    try:
        importlib.import_module(registration)
    except Exception as error:      # another version of the library may have moved what we need: its import goes on
        warnings.warn(f"fastops could not register its Tensor with {name}: {error!r}", RuntimeWarning, stacklevel=2)


def find_spec(name, path=None, target=None):
    """Asked by Python as each import begins: the other finders' answer with a loader that registers, or None."""
    if unfinished:
        for late in [late for late in tuple(unfinished) if not is_initializing(late)]:
            register(late) if late in sys.modules else unfinished.discard(late)
    if name not in waiting:
        return None
    others = [finder for finder in sys.meta_path if finder is not sys.modules[__name__] and hasattr(finder, "find_spec")]
    spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
    if spec is not None and hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "__dict__"):
        announce(name, spec.loader)
    return spec


def announce(name, loader):
    # The loader itself stays, so that whoever asks for the module's source or resources finds what Python made.
    run = loader.exec_module

    def exec_module(module):
        try:
            run(module)
        finally:
            vars(loader).pop("exec_module", None)
        if module.__name__ == name:
            register(name)

    loader.exec_module = exec_module


install()
