"""Quantiles of elements that have weights, by the inverse of their distribution; NumPy's bits."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, isdtype
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import isnan, minimum
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.operands import refused_at_run
from oneflow_lite.ops.places import INEXACT, nan_if_any
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.ops.statistics.averages import _along
from oneflow_lite.ops.statistics.reduction import any, sum
from oneflow_lite.ops.statistics.scan import cumsum

__all__: list[str] = []

Axis = SupportsIndex | Sequence[SupportsIndex] | None


def weights_of(op: str, x: Tensor, weights: Any, axis: Axis) -> Tensor:
    """Return a weight for each element of x.

    Raises
    ------
    TypeError, ValueError
        For weights that have neither the shape of x nor the extents along the axes.
    """
    given = weights if isinstance(weights, Tensor) else asarray(weights, device=x.device)
    if isdtype(given.dtype, "complex floating"):
        raise TypeError(f"[{op}] expected real weights, got {given.dtype}")
    if given.shape == x.shape:
        return given
    return _C.broadcast_to(_along(op, given, x, axis), x.shape)


def weighted_quantiles(
    op: str,
    lanes: Tensor,
    weights: Tensor,
    parts: npt.NDArray[Any] | Tensor,
    counts: Tensor | None = None,
) -> list[Tensor]:
    """Return the quantile of each part along the last dimension.

    Parameters
    ----------
    op : str
        The operation, in errors.
    lanes, weights : Tensor
        Of one shape.
    parts : array or Tensor
        Of any shape; a tensor in a program that is recorded.
    counts : Tensor, optional
        How many elements of each lane are no NaN, with a last dimension of size 1: NaN are left
        out. Without it, the quantile of a lane with a NaN is NaN.
    """
    wanted = asarray(parts, device=lanes.device)
    flat = list(_C.reshape(wanted, (-1,), None))
    negative = any(weights < 0)
    if counts is not None and isdtype(lanes.dtype, INEXACT):
        weights = _C.where(isnan(lanes), 0, weights)
    order = argsort(lanes)
    ordered = take_along_axis(lanes, order, axis=-1)
    sums = cumsum(take_along_axis(weights, order, axis=-1), axis=-1, dtype=float64)
    shares = sums / sums[..., -1:]
    lacking = isnan(shares[..., -1:])
    bad = any(lacking if counts is None else lacking & (counts > 0))
    shares = _checked(op, shares, negative, bad)
    if isdtype(wanted.dtype, "real floating"):
        shares = _C.astype(shares, wanted.dtype, False)
    shares = _C.where(shares == 0, -1, shares)  # elements without a weight are not chosen
    found = []
    for part in flat:
        place = minimum(sum(shares < part, axis=-1, keepdims=True), lanes.shape[-1] - 1)
        found.append(take_along_axis(ordered, place, axis=-1)[..., 0])
    if counts is None:
        return [nan_if_any(one, ordered) for one in found]
    if not isdtype(lanes.dtype, INEXACT):
        return found
    is_empty = counts[..., 0] == 0
    return [_C.where(is_empty, _C.astype(ordered[..., -1], one.dtype, False), one) for one in found]


def _checked(op: str, shares: Tensor, negative: Tensor, bad: Tensor) -> Tensor:
    """The shares, or an error of the weights; in a program that is recorded, at its run."""
    messages = (
        f"[{op}] expected weights of at least 0, got a negative one",
        f"[{op}] expected weights that sum to a finite number above 0",
    )
    if _C.is_recording():
        for one, message in zip((negative, bad), messages, strict=True):
            shares = refused_at_run(op, shares, one, message)
        return shares
    for is_wrong, message in zip(_C.look(op, stack([negative, bad])), messages, strict=True):
        if is_wrong:
            raise ValueError(message)
    return shares
