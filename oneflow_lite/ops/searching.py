"""Searching: where things are, and choosing by a condition."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, int64, isdtype
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import is_kept, is_number_along, on_one_device, promoted
from oneflow_lite.ops.statistics import reduction
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.argmax)
def argmax(
    x: Any, /, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """Return the int64 index of the first largest element (of the first NaN, if any).

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int, optional
        The axis that goes; None: the index is into the flattened tensor.
    out : Tensor or array, optional
        Where the result goes, of a dtype whose values int64 has; an array waits for it.
    keepdims : bool
        Keep the axis, with size 1.

    Raises
    ------
    TypeError
        For ``out`` of another dtype.
    ValueError
        For no elements.

    Examples
    --------
    >>> flow.argmax(flow.tensor([[1, 5], [4, 3]]), axis=1).numpy()
    array([1, 0])
    """
    return _arg_reduce("argmax", x, axis, out, keepdims, False)


@_C.native(_C.paths.argmin)
def argmin(
    x: Any, /, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """Return the int64 index of the first smallest element. Parameters as for ``argmax``.

    Examples
    --------
    >>> flow.argmin(flow.tensor([2.0, -1.0, 3.0])).item()
    1
    """
    return _arg_reduce("argmin", x, axis, out, keepdims, True)


def _arg_reduce(
    op: str, x: Any, axis: SupportsIndex | None, out: Any, keepdims: bool, minimum: bool
) -> Tensor:
    given, kept = asarray(x), is_kept(op, keepdims)
    along = None if is_number_along(given, axis) else axis
    if out is not None and not np.can_cast(required_target(op, out).dtype, int64, "safe"):
        raise TypeError(f"[{op}] expected out of bool or of integers in int64, got {out.dtype}")
    found = _C.arg_reduce(given, along, kept, minimum)
    return found if out is None else store(op, out, found, "unsafe")


@overload
def where(condition: Any, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, x1: Any, x2: Any, /) -> Tensor: ...
@_C.native(_C.paths.where)
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Return x1 where the condition is true and x2 elsewhere, of their promoted dtype.

    Without them, the indices of what is true, as ``nonzero`` returns them; that is a look.

    Parameters
    ----------
    condition : Tensor, array or scalar
        Of any dtype; what is not 0 is true.
    x1, x2 : Tensor, array or scalar
        Operands; all three are broadcast against each other. What is no tensor goes to the device
        of what is one. Without both: ``nonzero(condition)``.

    Examples
    --------
    >>> flow.where(flow.tensor([True, False]), 1.0, -1.0).numpy()
    array([ 1., -1.])
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("[where] expected both x1 and x2 or neither, got one")
    if not isinstance(condition, Tensor):
        homes = [x.device for x in (x1, x2) if isinstance(x, Tensor)]
        condition = asarray(condition, device=homes[0] if homes else None)
    return _C.where(condition, *(_operand(x, condition) for x in (x1, x2)))


def _operand(x: Any, condition: Tensor) -> Any:
    """What the extension takes as it is: tensors, NumPy's arrays and numbers."""
    if isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
        return x
    return asarray(x, device=condition.device)


@_C.native(_C.paths.searchsorted)
def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Tensor:
    """Return the int64 positions at which the elements of x2 would keep x1 sorted.

    Parameters
    ----------
    x1 : Tensor or array
        Ascending, in one dimension (NaN last); or in any order, with a sorter.
    x2 : Tensor, array or scalar
        Of any shape; both are compared in their promoted dtype.
    side : {"left", "right"}
        Before or after the elements that are equal.
    sorter : Tensor or array of int, optional
        The positions that sort x1, such as ``argsort`` returns. One that is out of range raises
        ValueError where the result is looked at.

    Examples
    --------
    >>> flow.searchsorted(flow.tensor([1, 3, 3, 5]), [3, 6], side="right").numpy()
    array([3, 4])
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise ValueError(f"[searchsorted] expected side 'left' or 'right', got {side!r}")
    given = on_one_device(x1, x2) if sorter is None else on_one_device(x1, x2, sorter)
    if given[0].ndim != 1:
        raise ValueError(f"[searchsorted] expected x1 in one dimension, got shape {given[0].shape}")
    values, needles = promoted(*given[:2])
    inputs = [values, ravel(needles)]
    if sorter is not None:
        inputs.append(_sorter(given[2], values))
    outputs = [((needles.size,), int64)]
    attr = (side == "right",)
    (found,) = _C.call_kernel("searchsorted", "search_sorted", inputs, outputs, attr)
    return _C.reshape(found, needles.shape, None)


def _sorter(given: Tensor, values: Tensor) -> Tensor:
    if not isdtype(given.dtype, "integral") and given.size:
        raise TypeError(f"[searchsorted] expected a sorter of integers, got {given.dtype}")
    if given.shape != values.shape:
        raise ValueError(
            f"[searchsorted] expected a sorter of shape {values.shape}, got {given.shape}"
        )
    return _C.astype(given, int64, False)


@_C.native(_C.paths.nonzero)
def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """Return the indices of the elements that are not zero, an int64 tensor for each dimension.

    Parameters
    ----------
    x : Tensor or array
        Operand, of one dimension or more. How many are not zero is looked at.

    Raises
    ------
    ValueError
        For a 0-d tensor.

    Examples
    --------
    >>> rows, columns = flow.nonzero(flow.tensor([[0, 5], [7, 0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    return tuple(_C.nonzero(asarray(x), "nonzero"))


def flatnonzero(x: Any, /) -> Tensor:
    """Return the positions of the elements that are not zero in the flattened tensor.

    Examples
    --------
    >>> flow.flatnonzero(flow.tensor([[0, 5], [7, 0]])).numpy()
    array([1, 2])
    """
    return _C.nonzero(ravel(x), "flatnonzero")[0]


def argwhere(x: Any, /) -> Tensor:
    """Return the indices of the elements that are not zero, a row for each.

    Examples
    --------
    >>> flow.argwhere(flow.tensor([[0, 5], [7, 0]])).numpy()
    array([[0, 1],
           [1, 0]])
    """
    given = asarray(x)
    if given.ndim == 0:
        return _C.nonzero(ravel(given), "argwhere").T[:, :0]
    return _C.nonzero(given, "argwhere").T


@_C.native(_C.paths.count_nonzero)
def count_nonzero(
    x: Any,
    /,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    *,
    keepdims: bool = False,
) -> Tensor:
    """Return, as int64, how many elements are not zero (NaN is not).

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int or sequence of int, optional
        The axes that go; None: all.
    keepdims : bool
        Keep the axes, with size 1.

    Examples
    --------
    >>> flow.count_nonzero(flow.tensor([[0, 5], [7, 8]]), axis=1).numpy()
    array([1, 2])
    """
    given, keepdims = asarray(x), is_kept("count_nonzero", keepdims)
    if axis is not None:
        return reduction.sum(_C.astype(given, bool_dtype, False), axis, int64, keepdims=keepdims)
    (count,) = _C.call_kernel("count_nonzero", "count_nonzero", [given], [((), int64)])
    return _C.reshape(count, (1,) * given.ndim, None) if keepdims else count


if not TYPE_CHECKING:
    __all__ = exported(globals())
