"""Sets: the distinct elements of a tensor, and membership. How many there are is data-dependent, so
these functions wait for that one number, except ``isin``.
"""

import builtins
import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex, overload

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, int64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray, full
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.manipulation.joining import concat, unstack
from oneflow_lite.ops.manipulation.shapes import moveaxis, normalize_axes, ravel
from oneflow_lite.ops.operands import on_one_device, promoted
from oneflow_lite.ops.sorting import argsort, sort
from oneflow_lite.ops.statistics.reduction import any
from oneflow_lite.ops.table import exported


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Tensor
    inverse_indices: Tensor


class _Runs:
    """The elements of a tensor, sorted, as runs of equal ones."""

    def __init__(self, x: Tensor, op: str, positions: bool, equal_nan: bool) -> None:
        self._op, self._shape = op, x.shape
        flat = ravel(x)
        self._order = argsort(flat) if positions else None
        self._sorted = sort(flat) if self._order is None else _pick(op, flat, self._order)
        outputs: list[Any] = [((flat.size + 1,), int64), ((), int64)]
        starts, count = _C.call_kernel(op, "run_starts", [self._sorted], outputs, (equal_nan,))
        self._bounds = starts[: int(_C.look(op, count)) + 1]

    def values(self) -> Tensor:
        return _pick(self._op, self._sorted, self._bounds[:-1])

    def counts(self) -> Tensor:
        return self._bounds[1:] - self._bounds[:-1]

    def first_positions(self) -> Tensor:
        assert self._order is not None
        return _pick(self._op, self._order, self._bounds[:-1])

    def inverse(self) -> Tensor:
        """Of the shape of the tensor."""
        assert self._order is not None
        inputs, outputs = [self._bounds, self._order], [(self._order.shape, int64)]
        (numbers,) = _C.call_kernel(self._op, "run_numbers", inputs, outputs)
        return _C.reshape(numbers, self._shape, None)

    def parts(self, index: bool, inverse: bool, counts: bool) -> tuple[Tensor, ...]:
        """Return the values, and what else is asked for."""
        parts = [self.values()]
        if index:
            parts.append(self.first_positions())
        if inverse:
            parts.append(self.inverse())
        if counts:
            parts.append(self.counts())
        return tuple(parts)


class _Slices(_Runs):
    """The slices of a tensor along an axis, sorted by their first elements, then by the next."""

    def __init__(self, x: Tensor, axis: int, op: str) -> None:
        self._op, self._axis = op, axis
        slices = moveaxis(x, axis, 0)
        count, *self._slice = slices.shape
        self._shape = (count,)
        rows = _C.reshape(slices, (count, math.prod(self._slice)), None)
        order = arange(count, device=x.device)
        for column in unstack(rows, axis=1)[::-1]:
            order = take(order, argsort(take(column, order)))
        self._order, self._sorted = order, take(rows, order, 0)
        first = full(builtins.min(count, 1), True, device=x.device)
        differ = any(self._sorted[1:] != self._sorted[:-1], axis=1)
        starts = _C.nonzero(concat([first, differ]), op)[0]
        self._bounds = concat([starts, full(1, count, int64, device=x.device)])

    def values(self) -> Tensor:
        """In the dimensions of the tensor."""
        rows = take(self._sorted, self._bounds[:-1], 0)
        return moveaxis(_C.reshape(rows, (len(rows), *self._slice), None), 0, self._axis)


@_C.native(_C.paths.distinct)
def _distinct(
    op: str, x: Any, index: bool, inverse: bool, counts: bool, equal_nan: bool
) -> tuple[Tensor, ...]:
    """The distinct elements, and what else is asked of them."""
    runs = _Runs(asarray(x), op, bool(index or inverse), equal_nan)
    return runs.parts(index, inverse, counts)


def unique_all(x: Any) -> UniqueAllResult:
    """Return the distinct elements, where each occurs first, which of them each element is, and how
    often each occurs.

    Parameters
    ----------
    x : Tensor or array
        Operand, flattened.

    Returns
    -------
    UniqueAllResult
        ``values``, ascending, in which each NaN is distinct and -0 equals 0; ``indices`` and
        ``counts`` of their shape, ``inverse_indices`` of x's shape, all int64.

    Examples
    --------
    >>> flow.unique_all(flow.tensor([2, 1, 2])).inverse_indices.numpy()
    array([1, 0, 1])
    """
    return UniqueAllResult(*_distinct("unique_all", x, True, True, True, False))


def unique_counts(x: Any) -> UniqueCountsResult:
    """Return the distinct elements and how often each occurs; see ``unique_all``.

    Examples
    --------
    >>> flow.unique_counts(flow.tensor([2, 1, 2])).counts.numpy()
    array([1, 2])
    """
    return UniqueCountsResult(*_distinct("unique_counts", x, False, False, True, False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Return the distinct elements, and which of them each element is; see ``unique_all``.

    Examples
    --------
    >>> values, inverse = flow.unique_inverse(flow.tensor([[5, 3], [3, 3]]))
    >>> inverse.numpy()
    array([[1, 0],
           [0, 0]])
    """
    return UniqueInverseResult(*_distinct("unique_inverse", x, False, True, False, False))


def unique_values(x: Any) -> Tensor:
    """Return the distinct elements, ascending; see ``unique_all``.

    Examples
    --------
    >>> flow.unique_values(flow.tensor([2, 1, 2])).numpy()
    array([1, 2])
    """
    return _distinct("unique_values", x, False, False, False, False)[0]


@overload
def unique(
    x: Any,
    /,
    return_index: Literal[False] = ...,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    axis: SupportsIndex | None = ...,
    *,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> Tensor: ...
@overload
def unique(
    x: Any,
    /,
    return_index: bool = ...,
    return_inverse: bool = ...,
    *,
    return_counts: Literal[True],
    axis: SupportsIndex | None = ...,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: Any,
    /,
    return_index: bool = ...,
    *,
    return_inverse: Literal[True],
    return_counts: bool = ...,
    axis: SupportsIndex | None = ...,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: Any,
    /,
    return_index: Literal[True],
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: SupportsIndex | None = ...,
    *,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: Any,
    /,
    return_index: bool,
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: SupportsIndex | None = ...,
    *,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> Any: ...
def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements, ascending, as ``numpy.unique`` does.

    Parameters
    ----------
    x : Tensor or array
        Operand, flattened.
    return_index, return_inverse, return_counts : bool
        Return a tuple, with where each element occurs first, which of them each element of x is,
        and how often each occurs.
    axis : int, optional
        Compare slices along the axis, element for element, instead of the elements of the flattened
        tensor. The inverse then has one dimension. It takes a sort for each element of a slice.
    equal_nan : bool
        All NaN are one. A slice with a NaN is equal to no other, as in NumPy.
    sorted : bool
        Accepted; the elements are always sorted.

    Examples
    --------
    >>> flow.unique(flow.tensor([2.0, flow.nan, 2.0, flow.nan])).numpy()
    array([ 2., nan])
    """
    given, along = x, None
    if axis is not None:
        given = asarray(x)
        (along,) = normalize_axes(axis, given.ndim, "unique")
    if along is None or given.ndim == 1:
        parts = _distinct("unique", given, return_index, return_inverse, return_counts, equal_nan)
    else:
        parts = _Slices(given, along, "unique").parts(return_index, return_inverse, return_counts)
    return parts if len(parts) > 1 else parts[0]


def isin(
    x1: Any,
    x2: Any,
    /,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Tell for each element of x1 whether it is in x2. NaN is nowhere.

    Parameters
    ----------
    x1, x2 : Tensor, array or scalar
        Of any shapes; compared in their promoted dtype, integers exactly.
    invert : bool
        Tell whether it is not.
    assume_unique, kind
        Accepted, as in ``numpy.isin``; they change nothing.

    Examples
    --------
    >>> flow.isin(flow.tensor([[1, 2], [3, 4]]), [2, 4]).numpy()
    array([[False,  True],
           [False,  True]])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"[isin] expected kind to be None, 'sort' or 'table', got {kind!r}")
    elements, tests = on_one_device(x1, x2)
    flat, among = ravel(elements), ravel(tests)
    integers = isdtype(flat.dtype, "integral") and isdtype(among.dtype, "integral")
    if integers and isdtype(result_type(flat, among), "real floating"):
        # uint64 and a signed one: equal bits are equal numbers unless the sign bit is set.
        flat, among = _C.astype(flat, int64, False), _C.astype(among, int64, False)
        found = _contains(flat, among, False) & (flat >= 0)
        found = ~found if invert else found
    else:
        flat, among = promoted(flat, among)
        found = _contains(flat, among, invert)
    return _C.reshape(found, elements.shape, None)


@overload
def intersect1d(
    x1: Any, x2: Any, /, assume_unique: bool = ..., return_indices: Literal[False] = ...
) -> Tensor: ...
@overload
def intersect1d(
    x1: Any, x2: Any, /, assume_unique: bool, return_indices: Literal[True]
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def intersect1d(
    x1: Any, x2: Any, /, assume_unique: bool = ..., *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def intersect1d(
    x1: Any, x2: Any, /, assume_unique: bool = ..., return_indices: bool = ...
) -> Any: ...
@_C.native(_C.paths.intersect1d, "return_indices")
def intersect1d(
    x1: Any, x2: Any, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the distinct elements that are in both, ascending.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Flattened.
    assume_unique : bool
        Neither has an element twice, which is not looked at.
    return_indices : bool
        Return a tuple, with where each element occurs first in x1 and in x2, as int64.

    Examples
    --------
    >>> flow.intersect1d(flow.tensor([3, 1, 2]), flow.tensor([2, 3, 5])).numpy()
    array([2, 3])
    """
    first, second = promoted(*(ravel(x) for x in on_one_device(x1, x2)))
    if return_indices:
        return _common_with_places(first, second, assume_unique)
    elements = sort(first) if assume_unique else unique(first)
    return _members("intersect1d", elements, second, invert=False)


def _common_with_places(
    first: Tensor, second: Tensor, assume_unique: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """What both have, and where: neighbours in the sorted elements of both are equal."""
    size, places = first.size, []
    if not assume_unique:
        first, *places = unique(first, return_index=True)
        second, *others = unique(second, return_index=True)
        size, places = first.size, [*places, *others]
    joined = concat([first, second])
    order = argsort(joined)
    ordered = _pick("intersect1d", joined, order)
    is_common = ordered[1:] == ordered[:-1]
    elements, mine, theirs = (
        _C.getitem(x, is_common, "intersect1d") for x in (ordered[:-1], order[:-1], order[1:])
    )
    theirs = theirs - size
    if places:
        mine, theirs = (
            _pick("intersect1d", *each) for each in zip(places, (mine, theirs), strict=True)
        )
    return elements, mine, theirs


@_C.native(_C.paths.union1d)
def union1d(x1: Any, x2: Any, /) -> Tensor:
    """Return the distinct elements of both, ascending.

    Examples
    --------
    >>> flow.union1d(flow.tensor([3, 1]), flow.tensor([2, 3])).numpy()
    array([1, 2, 3])
    """
    result: Tensor = unique(concat([x1, x2], axis=None))
    return result


@_C.native(_C.paths.setdiff1d)
def setdiff1d(x1: Any, x2: Any, /, assume_unique: bool = False) -> Tensor:
    """Return the distinct elements of x1 that are not in x2, ascending.

    Examples
    --------
    >>> flow.setdiff1d(flow.tensor([3, 1, 2]), flow.tensor([2, 5])).numpy()
    array([1, 3])
    """
    first, second = (ravel(x) for x in on_one_device(x1, x2))
    elements = first if assume_unique else unique(first)
    return _members("setdiff1d", elements, second, invert=True)


def _contains(flat: Tensor, among: Tensor, invert: bool) -> Tensor:
    outputs = [(flat.shape, bool_dtype)]
    return _C.call_kernel("isin", "contains", [sort(among), flat], outputs, (invert,))[0]


def _members(op: str, elements: Tensor, among: Tensor, invert: bool) -> Tensor:
    """Return the elements that are in ``among`` (invert: that are not), in their order."""
    keys, tests = promoted(elements, among)
    inputs, outputs = [sort(tests), keys, elements], [(keys.shape, elements.dtype), ((), int64)]
    values, count = _C.call_kernel(op, "members", inputs, outputs, (invert,))
    return _C.copy(values[: int(_C.look(op, count))])


def _pick(op: str, x: Tensor, positions: Tensor) -> Tensor:
    return _C.call_kernel(op, "pick", [x, positions], [(positions.shape, x.dtype)])[0]


@_C.native(_C.paths.setxor1d)
def setxor1d(x1: Any, x2: Any, /, assume_unique: bool = False) -> Tensor:
    """Return the elements that are in one of both only, ascending.

    Examples
    --------
    >>> flow.setxor1d(flow.tensor([1, 2, 3]), flow.tensor([2, 5])).numpy()
    array([1, 3, 5])
    """
    parts = [ravel(x) for x in on_one_device(x1, x2)]
    ordered = sort(concat(parts if assume_unique else [unique(x) for x in parts]))
    if not ordered.size:
        return ordered
    end = asarray([True], device=ordered.device)
    flags = concat([end, ordered[1:] != ordered[:-1], end])
    return _C.getitem(ordered, flags[1:] & flags[:-1], "setxor1d")


if not TYPE_CHECKING:
    __all__ = exported(globals())
