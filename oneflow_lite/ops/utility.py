"""Differences between neighbours."""

import builtins
import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import not_equal, subtract
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.diff)
def diff(
    x: Any,
    /,
    n: SupportsIndex = 1,
    axis: SupportsIndex = -1,
    prepend: Any = None,
    append: Any = None,
) -> Tensor:
    """Return the differences between neighbours along an axis, n times over.

    Parameters
    ----------
    x : Tensor or array
        Operand; of bool, neighbours are compared.
    n : int
        How often.
    axis : int
        The axis that becomes shorter by n.
    prepend, append : Tensor, array or scalar, optional
        What stands before and after x along the axis; scalars stand for one slice.

    Examples
    --------
    >>> flow.diff(flow.tensor([1, 4, 9])).numpy()
    array([3, 5])
    """
    given, times = asarray(x), operator.index(n)
    if times < 0:
        raise ValueError(f"[diff] expected n of at least 0, got {times}")
    if times == 0:
        return given
    if given.ndim == 0:
        raise ValueError("[diff] expected at least one dimension, got a 0-d tensor")
    along = operator.index(axis)
    if not -given.ndim <= along < given.ndim:
        raise AxisError(f"[diff] axis {along} is out of bounds for {given.ndim} dimensions")
    along %= given.ndim
    ends = [_slice_of(end, given, along) for end in (prepend, append)]
    if ends != [None, None]:
        given = concat([part for part in (ends[0], given, ends[1]) if part is not None], along)
    before = (slice(None),) * along
    difference = not_equal if given.dtype == bool_dtype else subtract
    size = given.shape[along]
    if isinstance(size, int):
        times = builtins.min(times, size)  # then there is nothing left
    for _ in range(times):
        given = difference(given[(*before, slice(1, None))], given[(*before, slice(None, -1))])
    return given


def _slice_of(value: Any, x: Tensor, axis: int) -> Tensor | None:
    """What goes before or after x along an axis."""
    if value is None:
        return None
    given = value if isinstance(value, Tensor) else asarray(value, device=x.device)
    if given.ndim:
        return given
    return _C.broadcast_to(given, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


if not TYPE_CHECKING:
    __all__ = exported(globals())
