"""The laws of derivatives over every declared operator, from its own samples: limits, adjoints, second derivatives."""

import numpy as np
import pytest

import fastops as fo
from fastops import _autograd, registry
from fastops.differentiation import LAWS

fo.special.erf      # declares the special functions
OPERATORS = [operator for operator in registry.operators.values() if operator.namespace == "fastops"]
NAMES = [operator._opname for operator in OPERATORS]


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
@pytest.mark.parametrize("law", LAWS)
def test_law(operator, law):
    seen = 0
    for sample in operator.rules.samples(np.random.default_rng(0)):
        LAWS[law](operator, sample)
        seen += 1
    assert seen


@pytest.mark.parametrize("operator", OPERATORS, ids=NAMES)
def test_every_operator_says_what_its_derivative_is(operator):
    """A rule, or what it is made of, or why there is none; unless no result could have one."""
    if _autograd.derivative(operator) is not None or fo.DispatchKey.CompositeImplicitAutograd in operator.kernels:
        return
    if not operator._schema.returns:
        return
    for sample in operator.rules.samples(np.random.default_rng(0)):
        if any(isinstance(value, np.ndarray) and value.dtype == float for value in sample.args):
            result = operator(*[fo.asarray(value) if isinstance(value, np.ndarray) else value for value in sample.args], **sample.kwargs)
            results = result if isinstance(result, (tuple, list)) else [result]
            assert not any(isinstance(value, fo.Tensor) and value.dtype.kind in "fc" for value in results), sample
