"""Whether tensors are equal, exactly or nearly."""

import builtins
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.elementwise import abs, isfinite, isnan
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics.reduction import all
from oneflow_lite.ops.table import exported


def isclose(
    x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Tell where ``abs(x1 - x2) <= atol + rtol * abs(x2)``; infinities are close to themselves.

    Parameters
    ----------
    x1, x2 : Tensor, array or scalar
        Operands; x2 is the reference.
    rtol, atol : float, Tensor or array
        Relative and absolute tolerance.
    equal_nan : bool
        Whether a NaN is close to a NaN.

    Examples
    --------
    >>> flow.isclose(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.1])).numpy()
    array([ True, False])
    """
    given, reference = on_one_device(x1, x2)
    reference = _C.astype(reference, result_type(reference, 1.0), False)
    near: Tensor = abs(given - reference) <= atol + rtol * abs(reference)
    close = near & isfinite(reference) | (given == reference)
    return close | (isnan(given) & isnan(reference)) if equal_nan else close


def allclose(
    x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> builtins.bool:
    """Tell whether ``isclose`` holds everywhere. Looks at the tensors.

    Examples
    --------
    >>> flow.allclose(flow.tensor([1.0]), flow.tensor([1.0 + 1e-9]))
    True
    """
    return builtins.bool(all(isclose(x1, x2, rtol, atol, equal_nan)))


@_C.native(_C.paths.array_equal)
def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> builtins.bool:
    """Tell whether shapes and elements are the same. Looks at the tensors where shapes are.

    Examples
    --------
    >>> flow.array_equal(flow.tensor([1, 2]), flow.tensor([1.0, 2.0]))
    True
    """
    given, reference = on_one_device(x1, x2)
    if given.shape != reference.shape:
        return False
    same = given == reference
    if equal_nan:
        same |= isnan(given) & isnan(reference)
    return builtins.bool(all(same))


def array_equiv(x1: Any, x2: Any, /) -> builtins.bool:
    """Tell whether elements are the same where shapes broadcast. Looks at the tensors.

    Examples
    --------
    >>> flow.array_equiv(flow.tensor([1, 1]), 1)
    True
    """
    given, reference = on_one_device(x1, x2)
    try:
        same = given == reference
    except ValueError:
        return False
    return builtins.bool(all(same))


if not TYPE_CHECKING:
    __all__ = exported(globals())
