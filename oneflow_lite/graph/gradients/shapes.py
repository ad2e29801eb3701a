"""Gradients of operands that were broadcast."""

from oneflow_lite._C import Tensor
from oneflow_lite.ops.manipulation.shapes import squeeze
from oneflow_lite.ops.statistics.reduction import sum


def unbroadcast(g: Tensor, shape: tuple[int, ...], to: tuple[int, ...]) -> Tensor:
    """Return a gradient of one shape, summed along the axes that were broadcast to it."""
    if shape == to:
        return g
    added = len(shape) - len(to)
    repeated = [d + added for d, n in enumerate(to) if n == 1 and shape[d + added] != 1]
    if not repeated:
        return sum(g, axis=tuple(range(added)))
    g = sum(g, axis=(*range(added), *repeated), keepdims=True)
    return squeeze(g, axis=tuple(range(added))) if added else g
