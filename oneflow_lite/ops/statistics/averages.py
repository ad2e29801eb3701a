"""Averages by weights."""

from typing import TYPE_CHECKING, Any, Literal, overload

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray, full_like
from oneflow_lite.ops.manipulation.shapes import normalize_axes, permute_dims
from oneflow_lite.ops.statistics.reducing import Axis
from oneflow_lite.ops.statistics.reduction import mean, sum
from oneflow_lite.ops.table import exported


@overload
def average(
    x: Any,
    /,
    axis: Axis = ...,
    weights: Any = ...,
    returned: Literal[False] = ...,
    *,
    keepdims: bool = ...,
) -> Tensor: ...


@overload
def average(
    x: Any, /, axis: Axis, weights: Any, returned: Literal[True], *, keepdims: bool = ...
) -> tuple[Tensor, Tensor]: ...


@overload
def average(
    x: Any,
    /,
    axis: Axis = ...,
    weights: Any = ...,
    *,
    returned: Literal[True],
    keepdims: bool = ...,
) -> tuple[Tensor, Tensor]: ...


def average(
    x: Any,
    /,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the mean, each element counted by its weight; NaN or infinite where these sum to 0.

    Parameters
    ----------
    x, axis, keepdims
        As for ``mean``.
    weights : Tensor or array, optional
        Of the shape of x, or of its extents along the axes, in their order.
    returned : bool
        Return the sums of the weights, too, in the shape of the averages.

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
        if not returned:
            return averaged
        return averaged, full_like(averaged, given.size / averaged.size)
    weight = weights if isinstance(weights, Tensor) else asarray(weights, device=given.device)
    if weight.shape != given.shape:
        weight = _C.broadcast_to(_along("average", weight, given, axis), given.shape)
    wanted = result_type(given, weight)
    if isdtype(given.dtype, ("bool", "integral")):
        wanted = result_type(wanted, float64)
    products = _C.astype(given, wanted, False) * _C.astype(weight, wanted, False)
    scale = sum(weight, axis, wanted, keepdims=keepdims)
    if given.size == 0 and scale.size:
        raise ZeroDivisionError("[average] expected weights to average by, got none along the axis")
    averaged = sum(products, axis, keepdims=keepdims) / scale
    return (averaged, scale) if returned else averaged


def _along(op: str, weight: Tensor, given: Tensor, axis: Axis) -> Tensor:
    """Weights of some axes, where those of the operand are."""
    if axis is None:
        raise TypeError(
            f"[{op}] expected weights of shape {given.shape}, or an axis that they are along, "
            f"got weights of shape {weight.shape}"
        )
    axes = normalize_axes(axis, given.ndim, op)
    extents = tuple([given.shape[a] for a in axes])
    if weight.shape != extents:
        raise ValueError(
            f"[{op}] expected weights of shape {given.shape} or {extents}, got {weight.shape}"
        )
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    shape = [n if a in axes else 1 for a, n in enumerate(given.shape)]
    return _C.reshape(permute_dims(weight, order), shape, None)


if not TYPE_CHECKING:
    __all__ = exported(globals())
