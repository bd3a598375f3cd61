"""Functions that carry their own derivatives: ``autograd.Function``."""

from fastops._function import Context, apply_function


class Function:
    """A computation whose derivative is written down, not recorded.

    A subclass has static methods: ``forward(*args)`` and ``setup_context(ctx, inputs, output)``, or both in one as
    ``forward(ctx, *args)``; ``backward(ctx, *cotangents)`` gives one cotangent, or None, for each argument. Optionally
    ``jvp(ctx, *tangents)`` gives the tangents of the results; without it forward mode follows from backward, which is
    linear. Called with ``apply``.

    ``ctx`` has ``save_for_backward``, ``saved_tensors``, ``needs_input_grad``, ``mark_dirty``, ``mark_non_differentiable``
    and ``set_materialize_grads``, and takes attributes.

    PyTorch: ``torch.autograd.Function``.

    Examples
    --------
    >>> import fastops as fo
    >>> class Cube(fo.autograd.Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return x ** 3
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         ctx.save_for_backward(*inputs)
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x ** 2 * g
    >>> fo.grad(Cube.apply)(fo.asarray(2.0)), fo.grad(fo.grad(Cube.apply))(fo.asarray(2.0))
    (tensor(12.), tensor(12.))
    """

    setup_context = None
    jvp = None
    vmap = None

    @staticmethod
    def forward(*args):
        """Compute the result; a subclass says how."""
        raise NotImplementedError("a Function has a static method forward(ctx, *args), or forward(*args) and setup_context")

    @staticmethod
    def backward(ctx, *cotangents):
        """The cotangents of the arguments from those of the results; a subclass says how."""
        raise NotImplementedError("a Function has a static method backward(ctx, *cotangents)")

    @classmethod
    def apply(cls, *args):
        """Call the function."""
        return apply_function(cls, args)


FunctionCtx = Context


def once_differentiable(backward):
    """A decorator of ``backward`` that computes plain numbers: differentiating its result again raises.

    >>> import fastops as fo
    >>> class Square(fo.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @fo.autograd.once_differentiable
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 2 * g * x
    >>> x = fo.asarray(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """
    from functools import wraps

    from fastops import _autograd as engine
    from fastops import errors
    from fastops._dispatch import Tensor
    from fastops.autograd.modes import no_grad

    @wraps(backward)
    def once(ctx, *cotangents):
        with no_grad():
            grads = backward(ctx, *cotangents)
        if engine.no_grad_count() or not any(isinstance(one, Tensor) and one.requires_grad for one in (*cotangents, *ctx.saved_tensors)):
            return grads
        several = isinstance(grads, tuple)
        flat = grads if several else (grads,)

        def refuse(*cotangents):
            raise errors.DerivativeError("a backward function marked once_differentiable is differentiated again")
        inputs = [one for one in (*cotangents, *ctx.saved_tensors) if isinstance(one, Tensor)]
        made = engine.attach(inputs, tuple([one.detach() if isinstance(one, Tensor) else one for one in flat]), refuse, "once_differentiable")
        return made if several else made[0]
    return once
