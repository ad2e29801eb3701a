"""Searching: where things are, and choosing by a condition."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, int64
from oneflow_lite.ops import reduction
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.manipulation import ravel
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


def count_nonzero(
    x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False
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
    given = asarray(x)
    if axis is not None:
        return reduction.sum(_C.astype(given, bool_dtype, False), axis, int64, keepdims)
    (count,) = _C.call_kernel("count_nonzero", "count_nonzero", [given], [((), int64)])
    return _C.reshape(count, (1,) * given.ndim, None) if keepdims else count


if not TYPE_CHECKING:
    __all__ = exported(globals())
