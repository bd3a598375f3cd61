"""Whether calls are recorded for derivatives: per thread, as context managers and decorators."""

import functools

from fastops import _autograd as engine
from fastops import dispatch
from fastops._dispatch import DispatchKeySet


GENERATOR = 0x20        # inspect.CO_GENERATOR, of a module that is long to import


class GradMode:
    """A context manager and decorator; a decorated generator has the mode inside its own steps only."""

    def __init__(self):
        self._saved = []

    def __enter__(self):
        self._saved.append(engine.set_no_grad(self._no_grad))
        return self

    def __exit__(self, *exception):
        engine.set_no_grad(self._saved.pop())

    def _again(self):
        # A decorated function may be entered by several threads and by itself: each call has a mode of its own.
        return type(self)()

    def __call__(self, function):
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & GENERATOR:
            @functools.wraps(function)
            def steps(*args, **kwargs):
                generator = function(*args, **kwargs)
                value, advance = None, generator.send
                while True:
                    try:
                        with self._again():
                            given = advance(value)
                    except StopIteration as end:
                        return end.value
                    try:
                        value, advance = (yield given), generator.send
                    except GeneratorExit:
                        with self._again():
                            generator.close()
                        raise
                    except BaseException as error:      # thrown in by the consumer: the generator's to handle
                        value, advance = error, generator.throw
            return steps

        @functools.wraps(function)
        def called(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)
        return called

    def __new__(cls, function=None):
        mode = super().__new__(cls)
        if function is None:
            return mode
        mode.__init__()
        return mode(function)           # @fo.no_grad without parentheses


class no_grad(GradMode):
    """Nothing is recorded: results do not require gradients. ``with fo.no_grad(): ...`` or ``@fo.no_grad()``.

    >>> import fastops as fo
    >>> x = fo.ones(2, requires_grad=True)
    >>> with fo.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """
    _no_grad = 1


class enable_grad(GradMode):
    """Calls are recorded again, inside ``no_grad``."""
    _no_grad = 0


class set_grad_enabled(GradMode):
    """Whether calls are recorded, from now on in this thread, or until the ``with`` statement ends.

    >>> import fastops as fo
    >>> with fo.set_grad_enabled(False):
    ...     fo.is_grad_enabled()
    False
    """

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        super().__init__()
        self.mode = bool(mode)
        self._no_grad = 0 if mode else 1
        self._before = [engine.set_no_grad(self._no_grad)]

    def __enter__(self):
        # Constructing it has set the mode already.
        self._saved.append(self._before.pop() if self._before else engine.set_no_grad(self._no_grad))
        return self

    def _again(self):
        return type(self)(self.mode)

    def __call__(self, function):
        if self._before:
            engine.set_no_grad(self._before.pop())
        return super().__call__(function)


class inference_mode(GradMode):
    """As ``no_grad``, and the Autograd key is not visited at all: operators do not decompose above their kernels.

    Arrays made inside are ordinary ones. PyTorch: ``torch.inference_mode``.
    """
    _no_grad = 1

    def __new__(cls, mode=True):
        if callable(mode):
            return super().__new__(cls, mode)
        return object.__new__(cls)

    def __init__(self, mode=True):
        super().__init__()
        self.mode = True if callable(mode) else bool(mode)
        self._guards = []

    def __enter__(self):
        if self.mode:
            guard = dispatch.exclude(DispatchKeySet("Autograd"))
            guard.__enter__()
            self._guards.append(guard)
            super().__enter__()
        return self

    def __exit__(self, *exception):
        if self.mode:
            super().__exit__(*exception)
            self._guards.pop().__exit__(*exception)

    def _again(self):
        return type(self)(self.mode)


def is_grad_enabled():
    """Whether calls are recorded in this thread."""
    return not engine.no_grad_count()


def is_inference_mode_enabled():
    """Whether this thread is inside ``inference_mode``."""
    return "Autograd" in dispatch.local_state()[1]
