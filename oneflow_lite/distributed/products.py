"""Products of matrices of many ranks, by the rule of each axis of the grid."""

import math
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.distributed.functions import rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import Sbp, broadcast, partial_sum, split


def _along(a: GlobalTensor, b: GlobalTensor, left: Sbp, right: Sbp) -> tuple[Sbp, Sbp, Sbp]:
    """How two matrices are multiplied along one axis of the grid: their sbps, and the result's.

    =====================  ====================  ===================
    left                   right                 result
    =====================  ====================  ===================
    rows                   broadcast             rows
    broadcast              columns               columns
    inner, or broadcast    inner                 partial sum
    inner                  broadcast             partial sum
    partial sum            broadcast             partial sum
    broadcast              partial sum           partial sum
    rows                   columns               the smaller one is gathered
    =====================  ====================  ===================
    """
    rows, inner_left, inner_right, columns = split(0), split(1), split(0), split(1)
    if left.op == "sum" and right == broadcast:
        return left, right, partial_sum
    if left == broadcast and right.op == "sum":
        return left, right, partial_sum
    left = broadcast if left.op is not None else left
    right = broadcast if right.op is not None else right
    if left == rows and right == columns:
        smaller_is_left = math.prod(a.shape) < math.prod(b.shape)
        left, right = (broadcast, right) if smaller_is_left else (left, broadcast)
    if left == inner_left or (right == inner_right and left != rows):
        return inner_left, inner_right, partial_sum
    if left == rows:
        return left, broadcast, rows
    return broadcast, right, columns if right == columns else broadcast


@rule("matmul", "dot")
def matmul(a: GlobalTensor, b: Any) -> GlobalTensor:
    """Return the product of two matrices of many ranks.

    Parameters
    ----------
    a, b : GlobalTensor
        Two dimensions each, on one placement.

    Returns
    -------
    GlobalTensor
        Partial along the axes of the grid that split the inner dimension.

    Raises
    ------
    TypeError
        For a tensor of this rank alone.
    ValueError
        For other dimensions and shapes, and for two placements.
    """
    if not isinstance(b, GlobalTensor):
        raise TypeError(
            f"[matmul] expected two GlobalTensors, got {type(b).__name__}; to_global() makes one"
        )
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"[matmul] expected matrices, got shapes {a.shape} and {b.shape}")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"[matmul] shapes {a.shape} and {b.shape} do not fit")
    if a.placement != b.placement:
        raise ValueError(
            f"[matmul] operands are on {a.placement} and {b.placement}; "
            "x.to_global(placement=...) brings them together"
        )
    rules = [_along(a, b, left, right) for left, right in zip(a.sbp, b.sbp, strict=True)]
    left, right, result = (list(sbps) for sbps in zip(*rules, strict=True))
    parts = a.to_global(sbp=left).to_local(), b.to_global(sbp=right).to_local()
    is_here = a.layout.box(_C.rank_of(a)) is not None
    made = parts[0] @ parts[1] if is_here else parts[0] + parts[1]  # of no elements: its dtype
    layout = Layout([a.shape[0], b.shape[1]], a.placement, result)
    return _C.of_part(made, layout, a)
