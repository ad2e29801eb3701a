"""Operands of functions that take several arrays."""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.creation import asarray


def on_one_device(*operands: Any) -> list[Tensor]:
    """Return the operands as tensors: arrays, lists and scalars go to where the first tensor is."""
    if all(isinstance(x, Tensor) for x in operands):
        return list(operands)
    home = next((x.device for x in operands if isinstance(x, Tensor)), None)
    return [x if isinstance(x, Tensor) else asarray(x, device=home) for x in operands]


def promoted(*tensors: Tensor) -> list[Tensor]:
    """Return the tensors in the dtype that NumPy's promotion gives."""
    dtype = result_type(*tensors)
    if all(x.dtype is dtype for x in tensors):
        return list(tensors)
    return [_C.astype(x, dtype, False) for x in tensors]
