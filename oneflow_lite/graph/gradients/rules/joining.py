"""Tensors that are joined."""

from collections.abc import Sequence

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.step import Step, rule


@rule("concat")
def concat(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give each operand its part."""
    (axis,) = step.call.attr
    before, begin = (slice(None),) * axis, 0
    found: list[Tensor | None] = []
    for k in range(len(step.operands)):
        end = begin + step.type(k).shape[axis]
        found.append(g[(*before, slice(begin, end))] if step.needs(k) else None)
        begin = end
    return found
