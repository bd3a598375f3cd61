"""Special functions, SciPy's, as operators. SciPy, an optional extra, is imported when one is first asked for.

>>> import fastops as fo
>>> fo.special.expit(fo.asarray([0.0]))
tensor([0.5])
"""

import importlib

__all__ = ["beta", "betainc", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1",
           "i1e", "j0", "j1", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "rel_entr",
           "softmax", "xlog1py", "xlogy", "zeta"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'fastops.special' has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        operators = importlib.import_module("fastops.ops.special")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "scipy":
            raise
        raise ImportError(f"special.{name} is SciPy's, which is not installed: pip install 'fastops[scipy]'") from None
    globals().update({public: getattr(operators, public) for public in __all__})
    return globals()[name]


def __dir__():
    return __all__
