"""Sorting. NumPy's order: NaN after every number, signed zeros equal, complex numbers by their real
and then their imaginary parts. Descending is the reverse order, in which NaN comes first.
"""

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.operands import is_number_along
from oneflow_lite.ops.table import exported

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


@_C.native(_C.paths.sort)
def sort(
    x: Any,
    /,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """Return a sorted copy of x.

    Parameters
    ----------
    x : Tensor or array
        Operand, of any dtype and of at least one dimension; of ``argsort``, 0-d tensors too.
    axis : int, optional
        The axis to sort along; None: the elements are flattened first.
    descending : bool
        The largest first, and NaN before them.
    stable : bool
        Zeros of different signs, and NaN of different payloads, keep their order.
    kind : str, optional
        Accepted, as in ``numpy.sort``; there is one algorithm.

    Examples
    --------
    >>> flow.sort(flow.tensor([[3.0, 1.0], [2.0, flow.nan]]), axis=0).numpy()
    array([[ 2.,  1.],
           [ 3., nan]])
    """
    given, along = _lanes(asarray(x), axis, kind, "sort")
    return _C.sort(given, along, descending, stable is not False)


@_C.native(_C.paths.argsort)
def argsort(
    x: Any,
    /,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """Return the int64 positions that sort x; equal elements keep their order, descending too.

    Parameters
    ----------
    x, axis, descending
        As for ``sort``.
    stable, kind
        Accepted; the order is always stable.

    Examples
    --------
    >>> flow.argsort(flow.tensor([2, 1, 2, 3]), descending=True).numpy()
    array([3, 0, 2, 1])
    """
    elements = asarray(x)
    elements = ravel(elements) if is_number_along(elements, axis) else elements
    given, along = _lanes(elements, axis, kind, "argsort")
    return _C.argsort(given, along, descending)


def sort_in_place(
    x: Tensor, axis: SupportsIndex = -1, kind: str | None = None, *, stable: bool | None = None
) -> None:
    """Sort the tensor itself along an axis, ascending; parameters as for ``flow.sort``.

    Examples
    --------
    >>> x = flow.tensor([3, 1, 2])
    >>> x.sort()
    >>> x.tolist()
    [1, 2, 3]
    """
    _C.assign(x, sort(x, axis=operator.index(axis), stable=stable, kind=kind))


def _lanes(x: Tensor, axis: SupportsIndex | None, kind: str | None, op: str) -> tuple[Tensor, int]:
    """What to sort and the axis, counted from 0."""
    if not (kind is None or isinstance(kind, str)) or kind not in _KINDS:
        raise ValueError(f"[{op}] expected kind to be one of {_KINDS}, got {kind!r}")
    if axis is None:
        return ravel(x), 0
    along = operator.index(axis)
    if not -x.ndim <= along < x.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {along} is out of bounds for {x.ndim} dimensions"
        )
    return x, along % x.ndim


if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "sort_in_place"]
