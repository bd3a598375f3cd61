"""autograd.Function under vmap: a Function of all rows, whose parts are the mapped parts of the given one."""

from fastops import _batched, errors
from fastops._batched import BatchLevel, Constant
from fastops._dispatch import Tensor
from fastops._function import Context, set_mapped_function
from fastops.autograd.function import Function
from fastops.batching import Info, in_front
from fastops.ops.reduce import sum
from fastops.ops.shape import broadcast_to


class RowContext:
    """``ctx`` of the mapped backward pass: what was kept, as mapped arrays."""


class Kept:
    """A value kept for the backward pass, and whether it is mapped."""
    __slots__ = ("value", "mapped")

    def __init__(self, level, value):
        rows = _batched.rows(level, value) if isinstance(value, Tensor) else None
        self.value, self.mapped = (value, False) if rows is None else (rows, True)

    def traced(self, level):
        return _batched.trace(level, self.value) if self.mapped else self.value


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def by_rule(level, cls, args):
    """By the Function's own static method ``vmap(info, in_dims, *args) -> (results, out_dims)``."""
    rows = [_batched.rows(level, value) if isinstance(value, Tensor) else None for value in args]
    answer = cls.vmap(Info(level), tuple(None if one is None else 0 for one in rows),
                      *[value if one is None else one for value, one in zip(args, rows)])
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise errors.MappedError(f"{cls.__name__}.vmap returns a pair (results, out_dims), not {answer!r}")
    return _traced(level, in_front(cls.__name__, *answer))


def _traced(level, value):
    if isinstance(value, (tuple, list)):
        return type(value)(_traced(level, item) for item in value)
    return value.value if isinstance(value, Constant) else _batched.trace(level, value)


def mapped_function(level, cls, args):
    """What a Function gives for mapped arrays."""
    if cls.vmap is not None:
        return by_rule(level, cls, args)
    if cls.setup_context is None:
        raise errors.DerivativeError(f"{cls.__name__}: under vmap a Function needs forward(...) without ctx and setup_context(ctx, inputs, output), or a static "
                                     "method vmap(info, in_dims, *args)")
    given = [Kept(level, value) for value in args]
    shape = {}                      # of the results: whether there are several

    def opened(inner, values):
        return tuple(_batched.trace(inner, value) if one.mapped else value for value, one in zip(values, given))

    class AllRows(Function):
        @staticmethod
        def forward(*values):
            with BatchLevel(level.size, level.randomness) as inner:
                inner.label = f"vmap of {cls.__name__}"
                results = cls.forward(*opened(inner, values))
                shape["several"] = isinstance(results, tuple)
                kept = tuple(Kept(inner, result) for result in _tuple(results))
            return tuple(one.value if one.mapped or not isinstance(one.value, Tensor) else broadcast_to(one.value, (level.size, *one.value.shape))
                         for one in kept)

        @staticmethod
        def setup_context(ctx, inputs, output):
            with BatchLevel(level.size, level.randomness) as inner:
                inner.label = f"vmap of {cls.__name__}"
                context = Context()
                context.needs_input_grad = ctx.needs_input_grad
                results = tuple(_batched.trace(inner, one) if isinstance(one, Tensor) else one for one in output)
                cls.setup_context(context, opened(inner, inputs), results if shape["several"] else results[0])
                saved = [Kept(inner, value) for value in context.to_save or ()]
                ctx.attributes = {name: Kept(inner, value) for name, value in vars(context).items()}
                constant = [place for place, one in enumerate(results) if any(one is other for other in context.non_differentiable)]
            ctx.save_for_backward(*[one.value for one in saved])
            ctx.mapped = [one.mapped for one in saved]
            ctx.set_materialize_grads(context.materialize_grads)
            ctx.mark_non_differentiable(*[output[place] for place in constant])

        @staticmethod
        def backward(ctx, *cotangents):
            with BatchLevel(level.size, level.randomness) as inner:
                inner.label = f"vmap of {cls.__name__}"
                grads = cls.backward(reopened(ctx, inner), *[None if one is None else _batched.trace(inner, one) for one in cotangents])
                kept = [Kept(inner, grad) for grad in _tuple(grads)]
            # An argument that all rows share gets what all of them say.
            return tuple(None if one.value is None else
                         (one.value if one.mapped else broadcast_to(one.value, (level.size, *one.value.shape))) if argument.mapped else
                         sum(one.value, axis=0) if one.mapped else one.value * level.size
                         for one, argument in zip(kept, given, strict=True))

    def reopened(ctx, inner):
        context = RowContext()
        context.saved_tensors = tuple(_batched.trace(inner, value) if mapped else value for value, mapped in zip(ctx.saved_tensors, ctx.mapped))
        context.needs_input_grad = ctx.needs_input_grad
        vars(context).update({name: one.traced(inner) for name, one in ctx.attributes.items()})
        return context

    def jvp(ctx, *tangents):
        with BatchLevel(level.size, level.randomness) as inner:
            inner.label = f"vmap of {cls.__name__}"
            made = cls.jvp(reopened(ctx, inner), *[None if one is None else _batched.trace(inner, one) if argument.mapped else one
                                                   for one, argument in zip(tangents, given)])
            kept = [Kept(inner, one) for one in _tuple(made)]
        return tuple(one.value if one.mapped or one.value is None else broadcast_to(one.value, (level.size, *one.value.shape)) for one in kept)

    if cls.jvp is not None:
        AllRows.jvp = staticmethod(jvp)
    AllRows.__name__ = AllRows.__qualname__ = cls.__name__
    results = AllRows.apply(*[one.value for one in given])
    results = tuple(_batched.trace(level, one) if isinstance(one, Tensor) else one for one in results)
    return results if shape["several"] else results[0]


set_mapped_function(mapped_function)
