"""Sums by index: what the gradients of reads by index arrays are."""

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float32, float64
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import clip
from oneflow_lite.ops.manipulation.shapes import expand_dims, reshape


def scatter_add(size: int, places: Tensor, g: Tensor) -> Tensor:
    """Return ``size`` sums: of the elements of g for each place, in order, in float64.

    Both have one dimension. Places are from 0 to size; the nearest is taken for others, which were
    an error of the read.
    """
    inputs = [clip(places, 0, size - 1), _C.astype(g, float64, False)]
    outputs = [((size,), float64)]
    (summed,) = _C.call_kernel("scatter_add", "bincount", inputs, outputs, elements=g.size)
    return _C.astype(summed, g.dtype, False)


def add_rows(size: int, places: Tensor, rows: Tensor) -> Tensor:
    """Return ``size`` sums: of the rows for each place, in order, as ``numpy.add.at`` adds them.

    Places are as of ``scatter_add``. Rows of one element, and of float16 and bfloat16, are added in
    float64.
    """
    width = rows.shape[1]
    if width != 1 and rows.dtype in (float32, float64):
        inputs = [clip(places, 0, size - 1), rows]
        outputs = [((size, width), rows.dtype)]
        return _C.call_kernel("scatter_add", "scatter_add", inputs, outputs, elements=rows.size)[0]
    columns = arange(width, dtype="int64", device=rows.device)
    each = reshape(expand_dims(places * width, axis=1) + columns, -1)
    return reshape(scatter_add(size * width, each, reshape(rows, -1)), (size, width))
