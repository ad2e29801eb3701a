"""Differences between neighbours, and what they tell."""

import builtins
import math
import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, bool as bool_dtype, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import abs, not_equal, remainder, subtract
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import normalize_axes, ravel
from oneflow_lite.ops.statistics.scan import cumsum
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
    (along,) = normalize_axes(operator.index(axis), given.ndim, "diff")
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


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Return the differences between neighbours of the flattened tensor.

    Parameters
    ----------
    ary : Tensor or array
        Operand, not of bool.
    to_end, to_begin : Tensor, array or scalar, optional
        What stands behind and before the differences, flattened.

    Returns
    -------
    Tensor
        In one dimension, of the dtype of ``ary``.

    Raises
    ------
    TypeError
        Where ``to_end`` or ``to_begin`` does not cast to that dtype within its kind.

    Examples
    --------
    >>> flow.ediff1d(flow.tensor([[1, 2], [4, 7]]), to_begin=-9).numpy()
    array([-9,  1,  2,  3])
    """
    flat = ravel(asarray(ary))
    begin, end = (_cast_end("ediff1d", x, flat) for x in (to_begin, to_end))
    between = subtract(flat[1:], flat[:-1])
    if begin is None and end is None:
        return between
    return concat([part for part in (begin, between, end) if part is not None])


def _cast_end(op: str, value: Any, x: Tensor) -> Tensor | None:
    if value is None:
        return None
    given = value if isinstance(value, Tensor) else asarray(value, device=x.device)
    _C.require_castable(op, given.dtype, x.dtype, "same_kind")
    return ravel(_C.astype(given, x.dtype, False))


def unwrap(
    p: Any,
    discont: Any = None,
    axis: SupportsIndex = -1,
    *,
    period: Any = 2 * math.pi,
) -> Tensor:
    """Return angles without jumps: a jump of more than half a period is changed by whole periods.

    Parameters
    ----------
    p : Tensor or array
        Real numbers, along an axis.
    discont : float, optional
        Jumps below it stay, too; by default half of the period.
    axis : int
        The axis along which neighbours are compared.
    period : float or int
        The size of a whole turn. The result of integers and an int is one of integers.

    Returns
    -------
    Tensor
        Of the shape of p.

    Examples
    --------
    >>> flow.unwrap(flow.tensor([0, 1, 2, -1, 0]), period=4).numpy()
    array([0, 1, 2, 3, 4])
    """
    given = asarray(p)
    if not given.ndim:
        raise ValueError("[unwrap] expected at least one dimension, got a 0-d tensor")
    (along,) = normalize_axes(operator.index(axis), given.ndim, "unwrap")
    jumps = diff(given, axis=along)
    dtype, least = result_type(jumps, period), period / 2 if discont is None else discont
    fixed = _in_one_period(jumps, period, dtype) - jumps
    fixed = _C.where(abs(jumps) < least, 0, fixed)
    before = (slice(None),) * along
    first, others = given[(*before, slice(None, 1))], given[(*before, slice(1, None))]
    moved = others + cumsum(fixed, along)
    parts = [_C.astype(part, dtype, False) for part in (first, moved)]
    return concat(parts, along)


def _in_one_period(jumps: Tensor, period: Any, dtype: DType) -> Tensor:
    """Return differences by whole periods, from minus half a period to half a one."""
    is_whole = isdtype(dtype, "integral")
    high = period // 2 if is_whole else period / 2
    low = -high
    found: Tensor = remainder(jumps - low, period) + low
    if is_whole and period % 2:
        return found
    return _C.where((found == low) & (jumps > 0), high, found)  # it keeps its direction


if not TYPE_CHECKING:
    __all__ = exported(globals())
