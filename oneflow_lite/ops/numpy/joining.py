"""NumPy's ways to join tensors: stacks by dimension, columns, nested blocks."""

import builtins
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.conversion import MAX_LEVELS
from oneflow_lite.ops.creation.data import empty
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.numpy.shapes import _at_least_1d, _at_least_2d, _at_least_3d
from oneflow_lite.ops.operands import on_one_device, promoted_dtype
from oneflow_lite.ops.table import exported


def vstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Return the arrays one below the other; those of one dimension are rows. See ``concat``.

    Examples
    --------
    >>> flow.vstack([flow.tensor([1, 2]), flow.tensor([3, 4])]).numpy()
    array([[1, 2],
           [3, 4]])
    """
    given = [_at_least_2d(x) for x in on_one_device(*arrays)]
    return concat(given, 0, dtype=dtype, casting=casting)


def hstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Return the arrays side by side, along the second axis or the only one. See ``concat``.

    Examples
    --------
    >>> flow.hstack([flow.tensor([1, 2]), flow.tensor([3])]).numpy()
    array([1, 2, 3])
    """
    given = [_at_least_1d(x) for x in on_one_device(*arrays)]
    axis = 0 if given and given[0].ndim == 1 else 1
    return concat(given, axis, dtype=dtype, casting=casting)


def dstack(arrays: Sequence[Any], /) -> Tensor:
    """Return the arrays one behind the other, along the third axis.

    Examples
    --------
    >>> flow.dstack([flow.tensor([1, 2]), flow.tensor([3, 4])]).shape
    (1, 2, 2)
    """
    return concat([_at_least_3d(x) for x in on_one_device(*arrays)], 2)


def column_stack(arrays: Sequence[Any], /) -> Tensor:
    """Return the arrays side by side; those of one dimension are columns.

    Examples
    --------
    >>> flow.column_stack([flow.tensor([1, 2]), flow.tensor([3, 4])]).numpy()
    array([[1, 3],
           [2, 4]])
    """
    given = on_one_device(*arrays)
    columns = [x if x.ndim > 1 else _C.reshape(x, (-1, 1), None) for x in given]
    return concat(columns, 1)


def block(arrays: Any) -> Tensor:
    """Return a tensor put together from nested lists of blocks.

    The innermost lists are joined along the last axis, those around them along the axis before.

    Examples
    --------
    >>> flow.block([[flow.eye(2), flow.zeros((2, 1))]]).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    leaves: list[Any] = []
    depth = _depth(arrays, leaves)
    given = on_one_device(*leaves)
    ndim = builtins.max(depth, *[one.ndim for one in given])
    if depth == 0:
        return _C.copy(given[0])
    blocks = [one[(None,) * (ndim - one.ndim)] if one.ndim < ndim else one for one in given]
    if depth == 1:
        return concat(blocks, -1)
    placed: list[tuple[Tensor, tuple[slice, ...]]] = []
    shape = _extent(arrays, (0,) * ndim, ndim - depth, iter(blocks), placed)
    dtype, device = promoted_dtype(blocks), given[0].device
    by_columns = builtins.all(block.T.is_contiguous() for block in blocks)
    if by_columns and not builtins.all(block.is_contiguous() for block in blocks):
        result = empty(shape[::-1], dtype, device=device).T
    else:
        result = empty(shape, dtype, device=device)
    for one, where in placed:
        _C.setitem(result, where, one, "block")
    return result


def _extent(
    part: Any,
    place: tuple[int, ...],
    axis: int,
    blocks: Iterator[Tensor],
    placed: list[tuple[Tensor, tuple[slice, ...]]],
) -> tuple[int, ...]:
    """Return the shape of a part that begins at a place; collects where its blocks are."""
    if not isinstance(part, list):
        one = next(blocks)
        shape = one.shape
        placed.append((one, tuple(map(slice, place, map(operator.add, place, shape)))))
        return shape
    before, at, after = place[:axis], place[axis], place[axis + 1 :]
    shape = ()
    for one in part:
        own = _extent(one, (*before, at, *after), axis + 1, blocks, placed)
        shape = shape or own
        fits = own == shape or (own[:axis] == shape[:axis] and own[axis + 1 :] == shape[axis + 1 :])
        if not fits:
            raise ValueError(f"[block] shapes {shape} and {own} do not fit along axis {axis}")
        at += own[axis]
    return (*shape[:axis], at - place[axis], *shape[axis + 1 :])


def _depth(part: Any, leaves: list[Any], level: int = 0) -> int:
    """How deep lists are nested; collects what they hold."""
    if not isinstance(part, list):
        if isinstance(part, tuple):
            raise TypeError("[block] expected lists, got a tuple")
        leaves.append(part)
        return 0
    if level == MAX_LEVELS:
        raise ValueError(
            f"[block] at most {MAX_LEVELS} dimensions, got a list in more levels, or one that "
            "contains itself"
        )
    depths = {_depth(one, leaves, level + 1) for one in part}
    if len(depths) != 1:
        raise ValueError(f"[block] expected lists that are all as deep and not empty, got {part}")
    return depths.pop() + 1


if not TYPE_CHECKING:
    __all__ = exported(globals())
