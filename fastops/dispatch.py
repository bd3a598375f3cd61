"""The dispatcher's state in this thread: keys that every call includes or leaves out."""

from fastops._dispatch import (DispatchKey, DispatchKeySet, KeyGuard, fallbacks, local_state, pop_interpreter,
                               push_interpreter)

# What an Autograd kernel hands down to: keyset & after_autograd_keyset.
after_autograd_keyset = DispatchKeySet.from_bits((1 << DispatchKey.Batched) - 1)


def exclude(keys):
    """A context manager within which this thread's calls pass over *keys*.

    *keys* is a DispatchKeySet, a DispatchKey or its name.

    >>> import fastops as fo
    >>> with fo.dispatch.exclude("Autograd"):
    ...     fo.dispatch.local_state()[1]
    DispatchKeySet(Autograd)
    """
    return KeyGuard(_key_set(keys), True)


def include(keys):
    """A context manager within which this thread's calls have *keys* beside those of their tensors.

    >>> import fastops as fo
    >>> with fo.dispatch.include("Python"):
    ...     fo.dispatch.local_state()[0]
    DispatchKeySet(Python)
    """
    return KeyGuard(_key_set(keys), False)


def _key_set(keys):
    return keys if isinstance(keys, DispatchKeySet) else DispatchKeySet(keys)
