"""What reductions share: their rows, masks, targets and counts."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    DType,
    canonical,
    complex64,
    complex128,
    float32,
    float64,
    int64,
    native,
    reduced_in,
    result_type,
)
from oneflow_lite.ops.creation.data import full
from oneflow_lite.ops.masking import mask_like, required_target, selected, store
from oneflow_lite.ops.operands import is_kept, is_number_along
from oneflow_lite.ops.table import reduction

__all__: list[str] = []

Axis = SupportsIndex | Sequence[SupportsIndex] | None

SUM = reduction("sum", np.add, "sum")
PROD = reduction("prod", np.multiply, "prod")
MAX = reduction("max", np.maximum, "max")
MIN = reduction("min", np.minimum, "min")
ANY = reduction("any", np.logical_or, "any")
ALL = reduction("all", np.logical_and, "all")
MEAN = reduction("mean", np.add)  # sums, that go by these names in errors and traces
VAR = reduction("var", np.add)
NANMAX = reduction("nanmax", np.fmax)
NANMIN = reduction("nanmin", np.fmin)

_EXACT_FLOAT32 = 2**24  # integers up to here are float32 numbers


def reduce_along(
    op: _C.Op,
    x: Tensor,
    axis: Axis,
    accumulate: DType,
    initial: Any,
    keepdims: bool,
    neutral: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Reduce; ``neutral`` takes the place of elements that ``where`` leaves out."""
    keepdims = is_kept(op.__name__, keepdims)
    axes = axis if axis is None or isinstance(axis, Sequence) else (axis,)
    if op not in (MEAN, VAR) and is_number_along(x, axis):
        axes = None
    if where is not True:
        mask = mask_of(op.__name__, where, x)
        given = _C.astype(x, accumulate, False)
        x = selected(mask, given, full((), neutral, accumulate, device=x.device))
    result = _C.reduce(op, x, axes, accumulate, initial, keepdims)
    return result if out is None else store(op.__name__, out, result, "unsafe")


def compared_in(op: str, x: Tensor, out: Any) -> DType:
    """Return the dtype in which an extremum of x that goes to ``out`` is found."""
    return x.dtype if out is None else result_type(x, required_target(op, out))


def mask_of(op: str, where: Any, x: Tensor) -> Tensor:
    """Return a mask in the shape of x; ValueError where it does not broadcast to that."""
    mask = mask_like(where, x)
    try:
        return _C.broadcast_to(mask, x.shape)
    except ValueError:
        raise ValueError(
            f"[{op}] where of shape {mask.shape} does not broadcast to {x.shape}"
        ) from None


def divided(total: Tensor, count: Any) -> Tensor:
    """``total / count`` rounded as NumPy does it: the count is an int64 or float64, not weak."""
    if isinstance(count, Tensor):
        count = _C.reshape(count, total.shape, None)
    elif total.dtype == complex64:
        total = _C.astype(total, complex128, True)
    elif total.dtype not in (float32, float64, complex128) or (
        total.dtype == float32 and not _is_exact(count)
    ):
        total = _C.astype(total, float64, True)
    quotient: Tensor = total / count
    return quotient


def cast_for(op: str, target: Any) -> DType | None:
    """Return the dtype of ``out``, to which NumPy rounds sums before it divides them, if any."""
    if target is None:
        return None
    return native(required_target(op, target).dtype)


def summed_in(dtype: DType, into: DType | None) -> DType:
    """Return the dtype in which sums of a dtype that go to one of ``into``, if any, are made."""
    return dtype if into is None else canonical(reduced_in(np.add, dtype, into), "sum")


def quotient(op: str, total: Tensor, count: Any, dtype: DType, into: DType | None) -> Tensor:
    """``total / count`` in a dtype; where ``into`` is one, both are rounded to that."""
    if into is None:
        return _C.astype(divided(total, count), dtype, False)
    _C.require_castable(op, total.dtype, into, "unsafe")
    return _C.astype(divided(_C.astype(total, into, False), count), into, False)


def _is_exact(count: float) -> bool:
    """Return whether float32 has the count; of an extent that is not known yet, it is unsure.

    Where it has, a division in float64 gives the same bits: 53 digits are more than twice 24.
    """
    return isinstance(count, Real) and count <= _EXACT_FLOAT32 and float(count).is_integer()


def count_of(op: _C.Op, x: Tensor, axis: Axis, where: Any = True) -> Any:
    """How many elements of x make one of the reduction; of a mask, a tensor with the axes kept."""
    if where is not True:
        return reduce_along(SUM, mask_of(op.__name__, where, x), axis, int64, 0, True)
    if axis is None:
        return x.size
    count = 1
    for one in axis if isinstance(axis, Sequence) else (axis,):
        count *= x.shape[one]
    return count
