"""Checks of derivatives by differences: ``gradcheck`` and ``gradgradcheck``."""

import numpy as np

from fastops import errors, tree
from fastops._dispatch import Tensor
from fastops._loops import as_ndarray
from fastops.autograd.engine import grad
from fastops.ops.create import asarray


class GradcheckError(RuntimeError, AssertionError):
    """A derivative and the differences do not agree."""


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, fast_mode=False, seed=0):
    """Whether the gradients of *func* agree with differences of its values.

    Parameters
    ----------
    func : callable
        Of *inputs*, giving a Tensor or a tuple of Tensors.
    inputs : Tensor or tuple
        Those Tensors that require a gradient are checked; they should be float64 or complex128.
    eps, atol, rtol : float
        The step, and how far the two may be apart.
    raise_exception : bool
        Raise, with a table of both Jacobians; else return False.
    fast_mode : bool
        Compare along one random direction instead of every element.

    Raises
    ------
    RuntimeError
        If they do not agree (an AssertionError too).
    ValueError
        If no input requires a gradient.

    Notes
    -----
    PyTorch: ``torch.autograd.gradcheck``.

    Examples
    --------
    >>> import fastops as fo
    >>> fo.autograd.gradcheck(lambda x: x ** 3, fo.asarray([1.0, 2.0], requires_grad=True))
    True
    """
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = [place for place, value in enumerate(inputs) if isinstance(value, Tensor) and value.requires_grad]
    if not checked:
        raise ValueError("gradcheck: no input requires a gradient")
    for place in checked:
        if inputs[place].dtype not in (np.float64, np.complex128):
            raise ValueError(f"gradcheck: input {place} is {inputs[place].dtype}; differences need float64 or complex128")
    rng = np.random.default_rng(seed)
    try:
        _compare(func, tuple(inputs), checked, eps, atol, rtol, fast_mode, rng)
    except (GradcheckError, errors.DerivativeError):
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, fast_mode=False, seed=0):
    """Whether the second derivatives of *func* agree with differences of its gradients; see ``gradcheck``.

    >>> import fastops as fo
    >>> fo.autograd.gradgradcheck(lambda x: x ** 3, fo.asarray([1.0, 2.0], requires_grad=True))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    rng = np.random.default_rng(seed + 1)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        grad_outputs = [asarray(_random(rng, as_ndarray(output))).requires_grad_() for output in outputs]
    grad_outputs = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(inputs)

    def gradients(*values):
        given = [value for value in values[:count] if isinstance(value, Tensor) and value.requires_grad]
        results = [(output, one) for output, one in zip(_outputs(func, values[:count]), values[count:]) if output.requires_grad]
        return grad([output for output, _ in results], given, [one for _, one in results], create_graph=True, materialize_grads=True)

    return gradcheck(gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, fast_mode=fast_mode, seed=seed)


def _outputs(func, inputs):
    leaves, _ = tree.flatten(func(*inputs))
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.dtype.kind in "fc"]


def _random(rng, array):
    made = rng.standard_normal(array.shape)
    return np.asarray(made + 1j * rng.standard_normal(array.shape) if array.dtype.kind == "c" else made, array.dtype)


def _values(func, inputs):
    return [np.array(as_ndarray(output)) for output in _outputs(func, inputs)]


def _moved(inputs, place, step):
    # The inputs, fresh leaves, one of them a step away.
    fresh = []
    for position, value in enumerate(inputs):
        if isinstance(value, Tensor) and value.requires_grad:
            array = np.array(as_ndarray(value))
            value = asarray(array + step if position == place else array, requires_grad=True)
        fresh.append(value)
    return tuple(fresh)


def _compare(func, inputs, checked, eps, atol, rtol, fast, rng):
    outputs = _outputs(func, inputs)
    if not outputs or not any(output.requires_grad for output in outputs):
        raise GradcheckError("gradcheck: no output requires a gradient: the function's results do not depend on its inputs, as far as is recorded")
    for number, output in enumerate(outputs):
        for place in checked:
            array = np.array(as_ndarray(inputs[place]))
            units = [_random(rng, array)] if fast else _units(array)
            rows = [_random(rng, as_ndarray(output))] if fast else _units(as_ndarray(output))
            numeric = np.array([_difference(func, inputs, place, unit, number, eps) for unit in units])
            if output.requires_grad:
                pulled = [grad(output, inputs[place], asarray(row), retain_graph=True, materialize_grads=True)[0] for row in rows]
                adjoint = [np.array(as_ndarray(one.detach())) for one in pulled]
            else:
                adjoint = [np.zeros_like(array) for row in rows]
            # <row, J unit> by differences, <J^H row, unit> by the formula.
            expected = np.array([[np.sum((np.conj(row) * change).real) for change in numeric] for row in rows])
            actual = np.array([[np.sum((np.conj(one) * unit).real) for unit in units] for one in adjoint])
            if not np.allclose(actual, expected, atol=atol, rtol=rtol, equal_nan=True):
                off = np.unravel_index(np.argmax(np.abs(actual - expected)), actual.shape)
                raise GradcheckError(
                    f"gradcheck: the Jacobian of output {number} (shape {output.shape}) by input {place} (shape {array.shape}) is not that of "
                    f"differences; the largest deviation is at row {off[0]}, column {off[1]}: {actual[off]:.6g} by the formula, {expected[off]:.6g} by "
                    f"differences\nby the formula:\n{actual}\nby differences:\n{expected}")


def _units(array):
    # One element at a time; of complex arrays its real and its imaginary part.
    found = []
    for position in range(array.size):
        for value in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
            unit = np.zeros(array.size, array.dtype)
            unit[position] = value
            found.append(unit.reshape(array.shape))
    return found


def _difference(func, inputs, place, unit, number, eps):
    ahead = _values(func, _moved(inputs, place, eps * unit))[number]
    behind = _values(func, _moved(inputs, place, -eps * unit))[number]
    return (ahead - behind) / (2 * eps)
