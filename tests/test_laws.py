"""Every law over every declared operator, from the operator's own samples."""

import inspect

import numpy as np
import pytest

import fastops as fo
from fastops import registry
from fastops.libraries import check_signature
from fastops.testing import LAWS, as_meta, as_tensors, check_op, results_of

fo.special.erf      # declares the special functions
OPERATORS = [operator for operator in registry.operators.values() if operator.namespace == "fastops"]
NAMES = [operator._opname for operator in OPERATORS]


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
@pytest.mark.parametrize("law", LAWS)
def test_law(operator, law):
    assert check_op(operator, laws=(law,)) > 0


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_declaration_is_complete(operator):
    assert operator.__doc__.strip().split("\n")[0].endswith(".")
    assert ">>> " in operator.__doc__, "no example"
    assert operator.rules.family in {"elementwise", "comparison", "reduction", "view", "contraction", "creation",
                                     "composite", "indexing", "primitive", "data-dependent", "linear-algebra"}
    signature = inspect.signature(operator)
    assert list(signature.parameters) == [argument.name for argument in operator._schema.arguments]


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_python_kernels_take_what_the_schema_gives(operator):
    for kernel in operator.kernels.values():
        assert kernel.source
        check_signature(kernel, operator._schema)       # raises where a parameter or a default does not agree


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_wrong_calls_raise(operator):
    many = [fo.ones(2)] * 70
    with pytest.raises(TypeError):
        operator(*many, no_such_argument=1)
    required = [argument for argument in operator._schema.arguments if not argument.has_default_value()]
    if required:
        with pytest.raises(TypeError, match=required[0].name):
            operator()
    assert fo.dispatch.local_state() == EMPTY_STATE


EMPTY_STATE = fo.dispatch.local_state()


@pytest.mark.parametrize("operator", [op for op in OPERATORS if op.rules.family == "elementwise" and isinstance(op.rules.reference, np.ufunc)],
                         ids=lambda op: op.__name__)
def test_elementwise_errors_are_numpys(operator):
    inputs = [argument for argument in operator._schema.arguments if argument.name not in ("out", "dtype")]
    if len(inputs) == 2:
        with pytest.raises(ValueError, match="broadcast"):
            operator(fo.ones((2, 3), dtype=fitting_dtype(operator)), fo.ones(4, dtype=fitting_dtype(operator)))
    with pytest.raises((TypeError, ValueError)):
        operator(*["text"] * len(inputs))
    with pytest.raises((TypeError, ValueError)):
        operator(*[object()] * len(inputs))


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_tensors_without_data_beside_others(operator):
    """One operand on the meta device: the result is there too, or an exception says why not."""
    seen = 0
    for sample in operator.rules.samples(np.random.default_rng(0)):
        arrays = [position for position, value in enumerate(sample.args) if isinstance(value, np.ndarray)]
        for chosen in arrays if len(arrays) > 1 else ():
            args = [as_meta(value) if position == chosen else as_tensors(value) for position, value in enumerate(sample.args)]
            seen += 1
            try:
                result = operator(*args, **as_tensors(sample.kwargs))
            except (TypeError, ValueError, NotImplementedError):
                continue
            for tensor in results_of(result):
                assert not isinstance(tensor, fo.Tensor) or tensor.device == "meta", f"{sample} gives {tensor.device}"
        if seen > 60:
            break


def fitting_dtype(operator):
    for dtype in ("f8", "i8", "?"):
        ones = [np.ones((), dtype)] * operator.rules.reference.nin
        try:
            operator.rules.reference(*ones)
        except TypeError:
            continue
        return dtype
