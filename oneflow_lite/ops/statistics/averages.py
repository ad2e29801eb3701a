"""Averages by weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.statistics.reduction import Axis, mean, sum
from oneflow_lite.ops.table import exported


def average(x: Any, /, axis: Axis = None, weights: Any = None, *, keepdims: bool = False) -> Tensor:
    """Return the mean, each element counted by its weight; NaN or infinite where these sum to 0.

    Parameters
    ----------
    x, axis, keepdims
        As for ``mean``.
    weights : Tensor or array, optional
        Of the shape of x, or in one dimension along the axis.

    Raises
    ------
    ZeroDivisionError
        For weights of no elements, and without weights for a result that has none.

    Examples
    --------
    >>> flow.average(flow.tensor([1.0, 2.0]), weights=flow.tensor([3, 1])).item()
    1.25
    """
    given = asarray(x)
    if weights is None:
        averaged = mean(given, axis, keepdims=keepdims)
        if averaged.size == 0:
            raise ZeroDivisionError("[average] expected elements, got a result without any")
        return averaged
    weight = weights if isinstance(weights, Tensor) else asarray(weights, device=given.device)
    if weight.shape != given.shape:
        along = axis if not isinstance(axis, Sequence) else None
        if along is None or weight.ndim != 1:
            raise TypeError(
                f"[average] expected weights of shape {given.shape}, or in one dimension along one "
                f"axis, got {weight.shape}"
            )
        if weight.shape[0] != given.shape[along]:
            raise ValueError(
                f"[average] expected {given.shape[along]} weights, got {weight.shape[0]}"
            )
        rows = _C.reshape(weight, (-1,) + (1,) * (given.ndim - along % given.ndim - 1), None)
        weight = _C.broadcast_to(rows, given.shape)
    wanted = result_type(given, weight)
    if isdtype(given.dtype, ("bool", "integral")):
        wanted = result_type(wanted, float64)
    products = _C.astype(given, wanted, False) * _C.astype(weight, wanted, False)
    scale = sum(weight, axis, wanted, keepdims)
    if given.size == 0 and scale.size:
        raise ZeroDivisionError("[average] expected weights to average by, got none along the axis")
    return sum(products, axis, keepdims=keepdims) / scale


if not TYPE_CHECKING:
    __all__ = exported(globals())
