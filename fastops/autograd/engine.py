"""Derivatives by what was recorded: ``backward`` and ``grad``, and what Tensor shows of the record."""

import warnings

from fastops import _autograd as engine
from fastops import errors
from fastops._dispatch import Tensor, install_hook, install_method
from fastops.ops.create import ones_like, zeros_like
from fastops.ops.shape import stack


def _sequence(values, what):
    values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(f"{what} are Tensors, not {type(value).__name__}")
    return values


def _cotangents(name, outputs, given):
    # One for each output: ones for a single number, else what the caller says.
    if given is None:
        given = (None,) * len(outputs)
    elif isinstance(given, Tensor) or not isinstance(given, (tuple, list)):
        given = (given,)
    if len(given) != len(outputs):
        raise ValueError(f"{name}: {len(outputs)} outputs, but {len(given)} gradients of them")
    cotangents = []
    for output, cotangent in zip(outputs, given):
        if not output.requires_grad:
            raise errors.DerivativeError(f"{name}: an output of shape {output.shape} does not require a gradient: it was computed from "
                                         "nothing that does, or under fo.no_grad(), or it was detached")
        if engine.edge_of(output)[0] is None:
            raise errors.DerivativeError(f"{name}: inside a transformed function the derivative is the transform's; use fo.func.grad")
        if cotangent is None:
            if output.size != 1:
                raise errors.DerivativeError(f"{name}: an output has shape {output.shape}: only for a single number is the gradient "
                                             "known to be 1; pass one of that shape, or reduce, as by .sum()")
            if output.dtype.kind == "c":
                raise errors.DerivativeError(f"{name}: an output is complex: pass its gradient, or take .real or abs()")
            cotangent = ones_like(output)
        elif not isinstance(cotangent, Tensor):
            raise TypeError(f"{name}: a gradient is a Tensor or None, not {type(cotangent).__name__}")
        elif cotangent.shape != output.shape:
            raise errors.DerivativeError(f"{name}: the gradient has shape {cotangent.shape}, the output {output.shape}")
        elif cotangent.dtype.kind == "c" != output.dtype.kind:
            raise errors.DerivativeError(f"{name}: the gradient is complex, the output {output.dtype}")
        cotangents.append(cotangent)
    return cotangents


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, *, inputs=None):
    """Add the gradients of *tensors* into the ``grad`` of the leaves that they were computed from.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensors
        What is differentiated.
    grad_tensors : Tensor or sequence of Tensors and None, optional
        The gradient of each, of its shape; not needed for a single number.
    retain_graph : bool, optional
        Keep what the record holds, for another sweep; create_graph if not given.
    create_graph : bool
        Record the sweep itself, so that the gradients can be differentiated.
    inputs : Tensor or sequence of Tensors, optional
        The leaves whose gradients are wanted; all if not given.

    Raises
    ------
    RuntimeError
        If there is no record, it was freed by an earlier sweep, a kept value was written since, or an operator in it has
        no derivative.

    Notes
    -----
    PyTorch: ``torch.autograd.backward``. For complex numbers the gradient is that of PyTorch, the conjugate one: the
    direction of steepest ascent.

    Examples
    --------
    >>> import fastops as fo
    >>> x = fo.asarray([1.0, 2.0], requires_grad=True)
    >>> fo.autograd.backward((x ** 2).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    outputs = _sequence(tensors, "backward: what is differentiated")
    if inputs is not None:
        inputs = _sequence(inputs, "backward: inputs")
        if not inputs:
            raise ValueError("backward: inputs is empty")
        for value in inputs:
            if not value.requires_grad:
                raise errors.DerivativeError(f"backward: an input of shape {value.shape} does not require a gradient")
    engine.sweep(outputs, _cotangents("backward", outputs, grad_tensors), create_graph=create_graph, inputs=inputs,
                 retain_graph=create_graph if retain_graph is None else retain_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None, is_grads_batched=False,
         materialize_grads=False):
    """The gradients of *outputs* by *inputs*, as a tuple; nothing is added into ``grad``.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensors
        What is differentiated, and by what: leaves or values on the way.
    grad_outputs : Tensor or sequence of Tensors and None, optional
        The gradient of each output, of its shape; not needed for a single number.
    retain_graph, create_graph : bool, optional
        As for ``backward``.
    allow_unused : bool, optional
        Give None for an input that the outputs do not depend on, instead of an error; materialize_grads if not given.
    is_grads_batched : bool
        The first axis of each of grad_outputs counts several gradients, and so does that of the results.
    materialize_grads : bool
        Give zeros instead of None.

    Raises
    ------
    RuntimeError
        As ``backward``; and if an input has no part in the outputs.

    Notes
    -----
    PyTorch: ``torch.autograd.grad``.

    Examples
    --------
    >>> import fastops as fo
    >>> x = fo.asarray(3.0, requires_grad=True)
    >>> slope, = fo.autograd.grad(x ** 3, x, create_graph=True)
    >>> slope.detach(), fo.autograd.grad(slope, x)
    (tensor(27.), (tensor(18.),))
    """
    outputs, inputs = _sequence(outputs, "grad: outputs"), _sequence(inputs, "grad: inputs")
    for position, value in enumerate(inputs):
        if not value.requires_grad:
            raise errors.DerivativeError(f"grad: input {position} of shape {value.shape} does not require a gradient")
    if is_grads_batched:
        given = _sequence(grad_outputs, "grad: grad_outputs")
        rows = [grad(outputs, inputs, tuple([one[row] for one in given]), True, create_graph, True, materialize_grads=True)
                for row in range(len(given[0]))]
        return tuple([stack(column) for column in zip(*rows)])
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if materialize_grads and not allow_unused:
        raise ValueError("grad: with materialize_grads unused inputs get zeros; allow_unused=False contradicts that")
    found = engine.sweep(outputs, _cotangents("grad", outputs, grad_outputs), create_graph=create_graph, inputs=inputs,
                         retain_graph=create_graph if retain_graph is None else retain_graph, accumulate_grads=False)
    for position, cotangent in enumerate(found):
        if cotangent is None and materialize_grads:
            found[position] = zeros_like(inputs[position])
        elif cotangent is None and not allow_unused:
            raise errors.DerivativeError(f"grad: the outputs do not depend on input {position} of shape {inputs[position].shape}; pass "
                                         "allow_unused=True to get None, or materialize_grads=True to get zeros")
    return tuple(found)


# What Tensor shows

def _requires_grad(self):
    """Whether derivatives by this tensor are recorded."""
    return engine.is_recorded(self)


def _set_requires_grad(self, value):
    engine.require(self, value)


def requires_grad_(self, requires_grad=True):
    """Set ``requires_grad`` and return the tensor; RuntimeError for integers, and for False on what was computed."""
    engine.require(self, requires_grad)
    return self


def _grad(self):
    """The gradient that backward() has added up: of leaves, and where retain_grad() asks for it; else None."""
    found = engine.grad_of(self)
    if found is None and not self.is_leaf and not self.retains_grad:
        warnings.warn("grad of a tensor that is no leaf is None; call retain_grad() on it before backward()", UserWarning, stacklevel=2)
    return found


def _backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the gradients of this tensor into the ``grad`` of the leaves; see ``fastops.autograd.backward``.

    >>> import fastops as fo
    >>> x = fo.asarray([1.0, 2.0], requires_grad=True)
    >>> (x * x).backward(fo.ones(2))
    >>> x.grad
    tensor([2., 4.])
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def detach_(self):
    """Forget the record in place; returns the tensor."""
    if engine.record_of(self) is not None:
        engine.forget(self)
    else:
        engine.require(self, False)
    return self


def required(made, wanted):
    """What a creation function has made, requiring a gradient if that is wanted: its ``requires_grad=``."""
    if wanted:
        engine.require(made[0] if isinstance(made, tuple) else made, True)
    return made


install_hook("require", required)
install_method("requires_grad", property(_requires_grad, _set_requires_grad))
install_method("requires_grad_", requires_grad_)
install_method("grad", property(_grad, engine.set_grad, lambda self: engine.set_grad(self, None)))
install_method("grad_fn", property(engine.record_of))
install_method("is_leaf", property(engine.is_leaf))
install_method("retains_grad", property(engine.retains))
install_method("retain_grad", engine.retain)
install_method("register_hook", engine.register_hook)
install_method("backward", _backward)
install_method("detach_", detach_)
