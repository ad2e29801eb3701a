"""Masks and targets: what ``where=`` and ``out=`` mean."""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import castable
from oneflow_lite.ops.creation import asarray


def selected(where: Any, value: Tensor, target: Any) -> Tensor:
    """Value where the mask is true; elsewhere what the target has, or 0."""
    if where is True:
        return value
    mask = asarray(where)
    if mask.dtype != np.bool_:
        raise TypeError(f"[where] expected a mask of dtype bool, got {mask.dtype}")
    if target is None:
        other = _C.full((), 0, value.dtype, value.device)
    else:
        other = asarray(target)
        value = value.astype(other.dtype, copy=False)
    return _C.where(_C.to_device(mask, value.device, False), value, other)


def store(target: Any, value: Tensor, casting: Any = "same_kind") -> Any:
    """Put a result where ``out`` says, and return that."""
    if target is None:
        return value
    if not castable(value.dtype, target.dtype, casting):
        raise TypeError(
            f"[out] cannot cast {value.dtype} to {target.dtype} with casting rule {casting!r}"
        )
    if isinstance(target, Tensor):
        try:
            fits = np.broadcast_shapes(value.shape, target.shape) == target.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"[out] expected shape {value.shape}, got {target.shape}")
        _C.assign(target, value)
    else:
        np.copyto(target, value.numpy(), casting="unsafe")
    return target
