"""Masks and targets: what ``where=`` and ``out=`` mean."""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, bool as bool_dtype, native, result_type
from oneflow_lite.ops.creation.data import asarray, full, tensor


def selected(where: Any, value: Tensor, target: Any) -> Tensor:
    """Value where the mask is true; elsewhere what the target has, or 0. Tensors are not moved."""
    if where is True:
        return value
    mask = mask_like(where, value)
    if mask.dtype is not bool_dtype:
        raise TypeError(f"[where] expected a mask of dtype bool, got {mask.dtype}")
    if target is None:
        other = full((), 0, value.dtype, device=value.device)
    else:
        other = target if isinstance(target, Tensor) else asarray(target, device=value.device)
        value = _C.astype(value, other.dtype, False)
    return _C.where(mask, value, other)


def mask_like(where: Any, x: Tensor) -> Tensor:
    """Return a mask, on the device of x where it is no tensor; arrays keep their dtypes.

    Of numbers, alone or in sequences, the truth counts, as in NumPy.
    """
    if isinstance(where, Tensor):
        return where
    dtype = None if isinstance(where, np.ndarray) else bool_dtype
    return asarray(where, dtype, device=x.device)


def required_target(op: str, target: Any) -> Any:
    """Return a target of ``out=`` that is not None; TypeError for what nothing can be put into."""
    if not isinstance(target, (Tensor, np.ndarray)):
        hint = "; keepdims comes behind it" if isinstance(target, bool) else ""
        kind = type(target).__name__
        raise TypeError(f"[{op}] expected out to be a tensor or array, got {kind}{hint}")
    return target


def store(
    op: str,
    target: Any,
    value: Tensor,
    casting: Any = "same_kind",
    where: Any = True,
    *,
    widens: bool = False,
) -> Any:
    """Put a result where ``out`` says, and return that; where the mask is false it stays.

    All writes to ``out=`` go through here: a cast that the rule does not allow is a TypeError.
    The target has the shape of the result; ``widens``: or one to which the result broadcasts.
    """
    if target is None:
        return selected(where, value, None)
    require_fitting(op, target, value, casting, widens=widens)
    chosen = selected(where, value, target)
    if isinstance(target, Tensor):
        _C.assign(target, chosen)
    else:
        rule: Any = casting if native(target.dtype) is None else "unsafe"
        np.copyto(target, chosen.numpy(), casting=rule)
    return target


def require_fitting(op: str, target: Any, value: Tensor, casting: Any, *, widens: bool) -> None:
    """Raise an error where ``store`` would not put the value into the target."""
    required_target(op, target)
    if (dtype := native(target.dtype)) is not None:
        _C.require_castable(op, value.dtype, dtype, casting)
    if value.shape != target.shape and not (widens and broadcasts(value.shape, target.shape)):
        raise ValueError(f"[{op}] expected out of shape {value.shape}, got {target.shape}")


def store_back(op: str, target: Any, value: Tensor) -> Tensor:
    """Put a result where ``out`` says, as NumPy's ``take`` does: the target casts to the result.

    A target of a dtype whose values the result's dtype has not is a TypeError. What does not fit
    into a smaller one is lost.
    """
    given = required_target(op, target).dtype
    if not np.can_cast(given, value.dtype, "safe"):
        raise TypeError(f"[{op}] expected out of a dtype that casts to {value.dtype}, got {given}")
    stored: Tensor = store(op, target, value, "unsafe")
    return stored


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Tell whether a shape broadcasts to another one."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def written(op: str, values: Any, x: Tensor, casting: str) -> Tensor:
    """Return what is written to x in its dtype, on its device.

    Numbers of the host that have no dtype, alone or in sequences, become that dtype one by one: an
    integer that does not fit is an OverflowError. The rule is for arrays and tensors.
    """
    if not isinstance(values, (Tensor, np.ndarray, np.generic)):
        return tensor(values, x.dtype, x.device)
    if not isinstance(values, np.generic):
        _C.require_castable(op, values.dtype, x.dtype, casting)
    given = values if isinstance(values, Tensor) else asarray(values, device=x.device)
    return _C.astype(given, x.dtype, False)


def weak(op: str, number: Any, dtype: DType, casting: Any, device: Any) -> Tensor:
    """Return a Python number as a 0-d tensor of a dtype that promotion lets it have.

    Raises
    ------
    TypeError
        Where the rule does not allow the cast, as that of a float to an integer.
    OverflowError
        For an integer that does not fit.
    """
    _C.require_castable(op, result_type(dtype, number), dtype, casting)
    return full((), number, dtype, device=device)
