"""How a declaration says an operator's derivative: once, for both modes.

A formula is a function whose parameters say what it uses, and so what a call has to keep: the operator's own
parameters by name, ``result``, ``x_shape`` and ``x_dtype`` for those of ``x``, and ``g``, the cotangent of the result.

    sin   partials(x=lambda x: cos(x))                   the derivative of each element: JVP t*p, VJP g*conj(p)
    sum   linear(x=lambda g, x_shape, axis, keepdims: ...)   its own JVP; the formula is the transpose
    matmul  multilinear(x1=lambda g, x2: ..., x2=...)    linear in each argument: JVP by the operator itself
    max   weights(x=lambda x, result, axis, keepdims: ...)   a weighted sum over the axes: JVP sum(t*w), VJP expand(g)*w
    inv   transposes(x=lambda g, result: ...)            VJP; the JVP follows by transposing it
    sort  composed(lambda x, ...: ...)                   the same in other operators, whose derivatives are known

Broadcasting and casts are undone by the machine. A number stands for a constant derivative.
"""

from fastops._autograd import Derivative


class Declared:
    """A derivative as a declaration says it; called with the operator it gives the Derivative."""
    __slots__ = ("formulas", "options")

    def __init__(self, kind, formulas, **options):
        self.formulas = {name: (kind, formula) for name, formula in formulas.items()}
        self.options = options

    def __call__(self, operator):
        return Derivative(operator, self.formulas, **self.options)

    def but(self, **options):
        """What the laws of derivatives are to know: *smooth*, the names of the arguments by which the result is smooth;
        *hermitian*, that the matrices given are; *determined*, which results are determined, others being so up to a phase.
        """
        self.options.update(options)
        return self

    def __or__(self, other):
        """Two declarations of different arguments as one."""
        both = Declared("", {}, **{**self.options, **other.options})
        both.formulas = {**self.formulas, **other.formulas}
        return both


def partials(**formulas):
    """Elementwise: the partial derivative by each argument, a number or a function."""
    return Declared("partial", formulas)


def weights(**formulas):
    """A reduction over ``axis``: what each element of x counts for in the result, in x's shape."""
    return Declared("weights", formulas)


def linear(**transposes):
    """Linear in all these arguments together; each formula is the transpose in that argument."""
    return Declared("transpose", transposes, linear=True)


def multilinear(**transposes):
    """Linear in each of these arguments by itself; each formula is the transpose in that argument."""
    return Declared("transpose", transposes, multilinear=True)


def transposes(**formulas):
    """The cotangent of each argument. The forward mode follows by transposing that once more."""
    return Declared("transpose", formulas)


def composed(function):
    """The derivative of *function*, of the same arguments, which is written in operators with derivatives.

    Where one is wanted it is called instead of the operator's kernel.
    """
    return Declared("partial", {}, composition=function)


def constant():
    """The result does not depend on the values smoothly, or is not meant to: no derivative goes through."""
    return Declared("partial", {})


def refuse(reason):
    """There is no derivative; *reason* ends the sentence of the error."""
    return Declared("partial", {}, refusal=reason)
