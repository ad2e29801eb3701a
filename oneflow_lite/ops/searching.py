"""Searching: where things are, and choosing by a condition."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.table import exported


def argmax(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the int64 index of the first largest element (of the first NaN, if any).

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int, optional
        The axis that goes; None: the index is into the flattened tensor.
    keepdims : bool
        Keep the axis, with size 1.

    Raises
    ------
    ValueError
        For no elements.

    Examples
    --------
    >>> flow.argmax(flow.tensor([[1, 5], [4, 3]]), axis=1).numpy()
    array([1, 0])
    """
    return _C.arg_reduce(asarray(x), axis, keepdims, False)


def argmin(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the int64 index of the first smallest element. Parameters as for ``argmax``.

    Examples
    --------
    >>> flow.argmin(flow.tensor([2.0, -1.0, 3.0])).item()
    1
    """
    return _C.arg_reduce(asarray(x), axis, keepdims, True)


def where(condition: Any, x: Any, y: Any, /) -> Tensor:
    """Return x where the condition is true and y elsewhere, of their promoted dtype.

    Examples
    --------
    >>> flow.where(flow.tensor([True, False]), 1.0, -1.0).numpy()
    array([ 1., -1.])
    """
    return _C.where(condition, x, y)


if not TYPE_CHECKING:
    __all__ = exported(globals())
