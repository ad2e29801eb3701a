"""Matrix products."""

from collections.abc import Sequence
from math import prod

import numpy as np

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.shapes import unbroadcast
from oneflow_lite.graph.gradients.step import Step, rule
from oneflow_lite.ops.linear_algebra import matmul
from oneflow_lite.ops.manipulation.shapes import expand_dims, matrix_transpose, reshape, squeeze


@rule("matmul")
def product(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Multiply by the other factor, turned; sum over matrices that were broadcast."""
    a, b = step.operand(0), step.operand(1)
    is_row, is_column = a.ndim == 1, b.ndim == 1
    if is_row:
        a, g = expand_dims(a, axis=0), expand_dims(g, axis=-1 if is_column else -2)
    if is_column:
        b, g = expand_dims(b, axis=1), expand_dims(g, axis=-1)
    batches = [step.type(k).shape[:-2] for k in range(2)]
    all_batches = np.broadcast_shapes(*batches)
    of_a = of_b = None
    if step.needs(0):
        of_a = _summed(matmul(g, matrix_transpose(b)), all_batches, batches[0])
        of_a = squeeze(of_a, axis=-2) if is_row else of_a
    if step.needs(1):
        if b.ndim == 2 and a.ndim > 2:  # one product over all rows
            of_b = matmul(matrix_transpose(_rows(a)), _rows(g))
        else:
            of_b = _summed(matmul(matrix_transpose(a), g), all_batches, batches[1])
        of_b = squeeze(of_b, axis=-1) if is_column else of_b
    return of_a, of_b


def _rows(x: Tensor) -> Tensor:
    return reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def _summed(g: Tensor, shape: tuple[int, ...], to: tuple[int, ...]) -> Tensor:
    return g if shape == to else unbroadcast(g, (*shape, 0, 0), (*to, 0, 0))
