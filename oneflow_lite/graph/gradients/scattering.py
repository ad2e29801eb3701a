"""Sums by index: what the gradients of reads by index arrays are."""

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64
from oneflow_lite.ops.elementwise import clip


def scatter_add(size: int, places: Tensor, g: Tensor) -> Tensor:
    """Return ``size`` sums: of the elements of g for each place, in order, in double.

    Both have one dimension. Places are from 0 to size; the nearest is taken for others, which were
    an error of the read.
    """
    inputs = [clip(places, 0, max(size - 1, 0)), _C.astype(g, float64, False)]
    outputs = [((size,), float64)]
    (summed,) = _C.call_kernel("scatter_add", "bincount", inputs, outputs, elements=g.size)
    return _C.astype(summed, g.dtype, False)
