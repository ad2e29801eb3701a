"""Copies of tensors that lie as they did."""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.ir import Type
from oneflow_lite.ops.creation.data import asarray, empty


def type_of(x: Tensor) -> Type:
    """Return what programs know of a tensor."""
    return Type(x.dtype, x.shape, x.strides, x.device)


def copied(x: Tensor, given: Type) -> Tensor:
    """Return a copy that lies as the type says, in memory of its own."""
    spans = [(n - 1) * s for n, s in zip(given.shape, given.strides, strict=True)]
    low = sum(span for span in spans if span < 0) if given.size else 0
    high = sum(span for span in spans if span > 0) + given.dtype.itemsize if given.size else 0
    memory = empty(high - low, dtype="uint8", device=given.device)
    attr = (_C.type_code(given.dtype), -low, *given.shape, *given.strides)
    (copy,) = OpCall("view", "view", attr=attr).replay([memory])
    assign(copy, x)
    return copy


def assign(target: Tensor, value: Tensor) -> None:
    """Write a value of the target's shape, once along each axis that both repeat by a stride of 0.

    Raises
    ------
    ValueError
        Elements of the target still lie on each other.
    """
    axes = list(zip(target.shape, target.strides, value.strides, strict=True))
    if any(n > 1 and step == other == 0 for n, step, other in axes):
        key = tuple(slice(1 if step == other == 0 else n) for n, step, other in axes)
        target, value = target[key], value[key]
    _C.assign(target, value)


def laid_out(value: Any, given: Type) -> Tensor:
    """Return a copy as a tensor, which lies as the type says if it has its shape and dtype."""
    x = asarray(value, device=given.device, copy=True)
    is_other = x.shape != given.shape or x.dtype != given.dtype
    return x if is_other or x.strides == given.strides else copied(x, given)
