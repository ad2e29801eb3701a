"""Operands of several functions, made tensors."""

from collections.abc import Iterable
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray


def together(arrays: Iterable[Any]) -> list[Tensor]:
    """Return all as tensors; what is none goes to the device of the first that is one."""
    given = list(arrays)
    home = next((x.device for x in given if isinstance(x, Tensor)), None)
    return [x if isinstance(x, Tensor) else asarray(x, device=home) for x in given]
