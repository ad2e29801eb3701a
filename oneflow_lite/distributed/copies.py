"""Tensors made of one of many ranks: its elements in another dtype, copies, and those like it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.creation import created, like
from oneflow_lite.distributed.functions import global_tensors, require_together, rule
from oneflow_lite.distributed.sbp import broadcast
from oneflow_lite.distributed.shapes import expand_dims, with_part
from oneflow_lite.ops import data_types
from oneflow_lite.ops.creation import data
from oneflow_lite.ops.numpy.shapes import copy
from oneflow_lite.ops.operands import order_of


@rule("asarray", "asanyarray")
def asarray(
    x: GlobalTensor, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None
) -> GlobalTensor:
    """Return the tensor itself, or in another dtype; ``copy``: with memory of its own.

    Raises
    ------
    TypeError
        For a device, which the placement decides.
    ValueError
        For ``copy=False`` and another dtype.
    """
    _refuse_device("asarray", device)
    if dtype is None or x.dtype == dtype:
        return copy_of(x) if copy else x
    if copy is False:
        raise ValueError(f"[asarray] copy=False, but {x.dtype} becomes {np.dtype(dtype)} by a copy")
    return astype(x, dtype)


def _refuse_device(name: str, device: Any) -> None:
    if device is not None:
        raise TypeError(
            f"[{name}] device: the placement decides, got {device!r}; "
            "x.to_global(placement=...) gives another one"
        )


@rule("ascontiguousarray")
def ascontiguousarray(x: GlobalTensor, dtype: Any = None, *, device: Any = None) -> GlobalTensor:
    """Return the tensor with parts that are row-major, and at least one dimension."""
    made = asarray(x, dtype, device=device)
    made = expand_dims(made) if made.ndim == 0 else made
    return with_part(made, made.shape, made.sbp, data.ascontiguousarray)


@rule("array")
def array(
    data: GlobalTensor,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
    device: Any = None,
) -> GlobalTensor:
    """Return a copy with at least ``ndmin`` dimensions, the new ones first; see ``asarray``."""
    made = asarray(data, dtype, device=device, copy=copy)
    return expand_dims(made, tuple(range(ndmin - made.ndim))) if made.ndim < ndmin else made


@rule("copy")
def copy_of(x: GlobalTensor, /, order: str = "K") -> GlobalTensor:
    """Return a copy in the same layout: each rank copies its part."""
    return with_part(x, x.shape, x.sbp, lambda part: copy(part, order))


@rule("astype")
def astype(
    x: GlobalTensor, /, dtype: Any, *, copy: bool = True, device: Any = None
) -> GlobalTensor:
    """Return the tensor in another dtype; partial values are made whole first."""
    _refuse_device("astype", device)
    return _C.elementwise_of_parts(
        "astype", lambda part: data_types.astype(part, dtype, copy=copy), x
    )


class _Like(NamedTuple):
    """A function that makes a tensor like another one, and the one that takes a shape."""

    of_tensor: Callable[..., Tensor]
    of_shape: Callable[..., Tensor]

    def make(
        self,
        x: GlobalTensor,
        fill: tuple[Any, ...],
        dtype: Any,
        order: Any,
        placement: Any,
        sbp: Any,
        shape: Any,
        device: Any,
    ) -> GlobalTensor:
        """``fill``: the value, where the functions take one."""
        name = self.of_tensor.__name__
        if shape is not None:
            raise TypeError(
                f"[{name}] shape: not for a GlobalTensor; "
                f"flow.{self.of_shape.__name__}(shape, placement=x.placement, sbp=x.sbp)"
            )
        _refuse_device(name, device)
        order_of(name, order, "KCA")  # parts that are made of a shape are row-major
        if placement is None and sbp is None:
            return like(x, lambda part: self.of_tensor(part, *fill, dtype, order))
        given = {"dtype": x.dtype if dtype is None else dtype}
        ranks = x.placement if placement is None else placement
        return created(self.of_shape, (x.shape, *fill), given, ranks, sbp or broadcast)


def _of_like(of: _Like) -> Callable[..., GlobalTensor]:
    def make(
        x: GlobalTensor,
        /,
        dtype: Any = None,
        order: Any = "K",
        *,
        placement: Any = None,
        sbp: Any = None,
        shape: Any = None,
        device: Any = None,
    ) -> GlobalTensor:
        return of.make(x, (), dtype, order, placement, sbp, shape, device)

    return make


for _each in (
    _Like(data.zeros_like, data.zeros),
    _Like(data.ones_like, data.ones),
    _Like(data.empty_like, data.empty),
):
    rule(_each.of_tensor.__name__)(_of_like(_each))
_FULL_LIKE = _Like(data.full_like, data.full)


@rule("full_like")
def full_like(
    x: Any,
    /,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    *,
    placement: Any = None,
    sbp: Any = None,
    shape: Any = None,
    device: Any = None,
) -> GlobalTensor:
    """Return a tensor like x, filled with a number or with what broadcasts to its shape."""
    given = (x, fill_value)
    for first in global_tensors(given):
        require_together("full_like", first, given)
    if not isinstance(x, GlobalTensor):
        raise TypeError(
            f"[full_like] x: expected a global tensor beside a global fill_value, got "
            f"{type(x).__name__}; write flow.tensor(x, placement=..., sbp=...)"
        )
    is_number = np.ndim(fill_value) == 0 and not isinstance(fill_value, GlobalTensor)
    is_of_parts = not is_number and placement is None and sbp is None
    fill = (0 if is_of_parts else fill_value,)
    made = _FULL_LIKE.make(x, fill, dtype, order, placement, sbp, shape, device)
    if is_of_parts:
        made[...] = fill_value
    return made
