"""NumPy's assertions, which look at tensors: ``flow.testing.assert_allclose(x, y)``.

The package imports this module when it is asked for: NumPy's own takes long to import.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from numpy import testing as _numpys
from numpy.testing import assert_raises, assert_string_equal

from oneflow_lite._C import Tensor

__all__ = [
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_raises",
    "assert_string_equal",
]

_P = ParamSpec("_P")


def _seen(x: Any) -> Any:
    """The values of a tensor, also of those in lists, tuples and dicts."""
    if isinstance(x, Tensor):
        return x.numpy()
    if type(x) in (list, tuple):
        return type(x)(map(_seen, x))
    if type(x) is dict:
        return {key: _seen(value) for key, value in x.items()}
    return x


def _looking(function: Callable[_P, Any]) -> Callable[_P, Any]:
    """Let one of NumPy's assertions see the values of tensors."""

    @functools.wraps(function)
    def check(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        __tracebackhide__ = True  # of pytest: the assertion is where it is called
        return function(*map(_seen, args), **{name: _seen(x) for name, x in kwargs.items()})

    return check


assert_allclose = _looking(_numpys.assert_allclose)
assert_almost_equal = _looking(_numpys.assert_almost_equal)
assert_approx_equal = _looking(_numpys.assert_approx_equal)
assert_array_almost_equal = _looking(_numpys.assert_array_almost_equal)
assert_array_almost_equal_nulp = _looking(_numpys.assert_array_almost_equal_nulp)
assert_array_equal = _looking(_numpys.assert_array_equal)
assert_array_less = _looking(_numpys.assert_array_less)
assert_array_max_ulp = _looking(_numpys.assert_array_max_ulp)
assert_equal = _looking(_numpys.assert_equal)
