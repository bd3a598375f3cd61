"""Exceptions that are of Python's kind and of the kind that ported programs catch, RuntimeError, at once."""


class ArgumentError(TypeError, RuntimeError):
    """An argument does not fit the operator's schema."""


class NoArrayError(TypeError):
    """A value is nothing that arrays are made of."""


class SchemaError(ValueError, RuntimeError):
    """A schema, an annotation or the name of a dispatch key cannot be read."""


class RegistrationError(ValueError, RuntimeError):
    """A definition or a kernel cannot be registered as asked."""


class KernelError(TypeError, RuntimeError):
    """A kernel returned something else than its schema declares."""


class DispatchError(NotImplementedError):
    """An operator has no kernel for the keys of a call."""


class DestroyedError(AssertionError, RuntimeError):
    """A library is used after it was destroyed, or without what it needs."""


class DestroyedOperatorError(RuntimeError):
    """An operator is called after the library that defined it is gone."""


class InterchangeError(BufferError, ValueError):
    """Memory cannot be handed to another library, or taken from one, as asked."""


class ProtocolError(TypeError, AttributeError):
    """An object lacks the methods by which it would hand out its memory."""


class DerivativeError(RuntimeError, ValueError):
    """A derivative is asked for that there is none of, or no more."""


class NoDerivativeError(DerivativeError):
    """The declaration says that there is no derivative, or none for these arguments."""


class EscapeError(RuntimeError, ValueError):
    """A tensor is used outside the transformed function in which it was computed."""


class AliasError(RuntimeError, ValueError):
    """A result shares memory with an argument or another result, where it must not."""


class MappedError(RuntimeError, ValueError, TypeError):
    """Values are read, or an operator is called, where an array stands for all rows of a batch."""
