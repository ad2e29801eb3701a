"""The order of axes in memory, and new tensors of a given order."""

from oneflow_lite._C import Tensor
from oneflow_lite.graph.ir import Type, row_major
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.manipulation.shapes import permute_dims


def memory_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Return the axes, those of the longest steps first."""
    return sorted(range(len(shape)), key=lambda d: (-strides[d], -shape[d]))


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    """Return whether elements lie one behind the other, in some order of the axes."""
    order = memory_order(shape, strides)
    expected = row_major(tuple(shape[d] for d in order), step)
    return all(
        shape[d] == 1 or strides[d] == wanted for d, wanted in zip(order, expected, strict=True)
    )


def inverse(axes: list[int]) -> list[int]:
    """Return the axes that undo a permutation."""
    return sorted(range(len(axes)), key=axes.__getitem__)


def zeros_like(given: Type) -> Tensor:
    """Return zeros of a dense type: of its shape, dtype and device, and its order of axes."""
    order = memory_order(given.shape, given.strides)
    made = zeros([given.shape[d] for d in order], dtype=given.dtype, device=given.device)
    return permute_dims(made, inverse(order))
