"""Tensors that are joined."""

from collections.abc import Sequence
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.step import Step, rule


@rule("concat")
def concat(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give each operand its part."""
    (axis,) = step.call.attr
    before = (slice(None),) * axis
    begin: Any = 0
    found: list[Tensor | None] = []
    for k in range(len(step.operands)):
        end = begin + step.operand(k).shape[axis]  # which may be an unknown extent
        found.append(g[(*before, slice(begin, end))] if step.needs(k) else None)
        begin = end
    return found
