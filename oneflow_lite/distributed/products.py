"""Products of matrices of many ranks, by the rule of each axis of the grid."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.distributed.functions import KNOWN, is_here, rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import Sbp, broadcast, partial_sum, split


def _along(a: Layout, b: Layout, left: Sbp, right: Sbp) -> tuple[Sbp, Sbp, Sbp]:
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


class _Plan(NamedTuple):
    """How matrices of two layouts are multiplied."""

    left: list[Sbp]
    right: list[Sbp]
    result: Layout


@lru_cache(KNOWN)
def _plan(a: Layout, b: Layout) -> _Plan:
    if len(a.shape) != 2 or len(b.shape) != 2:
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
    return _Plan(left, right, Layout([a.shape[0], b.shape[1]], a.placement, result))


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
    plan = _plan(_C.layout_of(a), _C.layout_of(b))
    left = _C.bring("matmul", a, plan.left).to_local()
    right = _C.bring("matmul", b, plan.right).to_local()
    made = left @ right if is_here(a) else left + right  # of no elements: its dtype
    return _C.of_part(made, plan.result, a)
