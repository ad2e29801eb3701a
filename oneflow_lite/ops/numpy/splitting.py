"""Splitting a tensor into views of its parts."""

import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.exceptions import AxisError

from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.table import exported


def array_split(
    x: Any, parts: SupportsIndex | Sequence[SupportsIndex], /, axis: SupportsIndex = 0
) -> list[Tensor]:
    """Return views of x cut along an axis; of equal sizes, or larger by one at the front.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    parts : int or sequence of int
        How many parts, or where they begin.
    axis : int
        Where to cut.

    Examples
    --------
    >>> [part.tolist() for part in flow.array_split(flow.arange(3), 2)]
    [[0, 1], [2]]
    """
    given = asarray(x)
    if not -given.ndim <= operator.index(axis) < given.ndim:
        raise AxisError(f"[split] axis {axis} is out of bounds for {given.ndim} dimensions")
    before, size = (slice(None),) * (operator.index(axis) % given.ndim), given.shape[axis]
    cuts = _cuts(parts)
    if cuts is not None:
        bounds = [0, *cuts, None]
    else:
        count = operator.index(parts)  # type: ignore[arg-type]
        if count <= 0:
            raise ValueError(f"[split] expected at least one part, got {count}")
        each, more = divmod(size, count)
        sizes = [each + 1] * more + [each] * (count - more)
        bounds = [0, *itertools.accumulate(sizes)]
    pairs = itertools.pairwise(bounds)
    return [given[(*before, slice(start, end))] for start, end in pairs]


def split(
    x: Any, parts: SupportsIndex | Sequence[SupportsIndex], /, axis: SupportsIndex = 0
) -> list[Tensor]:
    """Return views of x cut along an axis, of equal sizes. Parameters as for ``array_split``.

    Raises
    ------
    ValueError
        Where the number of parts does not divide the size.

    Examples
    --------
    >>> [part.tolist() for part in flow.split(flow.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    given = asarray(x)
    if _cuts(parts) is None and -given.ndim <= operator.index(axis) < given.ndim:
        count, size = operator.index(parts), given.shape[axis]  # type: ignore[arg-type]
        if count > 0 and size % count:
            raise ValueError(
                f"[split] {count} parts do not divide the size {size}; array_split does"
            )
    return array_split(given, parts, axis)


def _cuts(parts: Any) -> list[int] | None:
    """Where parts begin, None for a number of parts. A tensor is looked at."""
    given = parts.tolist() if isinstance(parts, (Tensor, np.ndarray)) else parts
    return [operator.index(cut) for cut in list(given)] if isinstance(given, Sequence) else None


def vsplit(x: Any, parts: SupportsIndex | Sequence[SupportsIndex], /) -> list[Tensor]:
    """Return views of x cut along its first axis; see ``split``.

    Examples
    --------
    >>> [part.tolist() for part in flow.vsplit(flow.tensor([[1, 2], [3, 4]]), 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return split(_of_dimensions(x, 2, "vsplit"), parts, 0)


def hsplit(x: Any, parts: SupportsIndex | Sequence[SupportsIndex], /) -> list[Tensor]:
    """Return views of x cut along its second axis, or its only one; see ``split``.

    Examples
    --------
    >>> [part.tolist() for part in flow.hsplit(flow.tensor([[1, 2], [3, 4]]), 2)]
    [[[1], [3]], [[2], [4]]]
    """
    given = _of_dimensions(x, 1, "hsplit")
    return split(given, parts, 1 if given.ndim > 1 else 0)


def dsplit(x: Any, parts: SupportsIndex | Sequence[SupportsIndex], /) -> list[Tensor]:
    """Return views of x cut along its third axis; see ``split``.

    Examples
    --------
    >>> [part.shape for part in flow.dsplit(flow.zeros((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    return split(_of_dimensions(x, 3, "dsplit"), parts, 2)


def _of_dimensions(x: Any, least: int, op: str) -> Tensor:
    given = asarray(x)
    if given.ndim < least:
        raise ValueError(f"[{op}] expected at least {least} dimensions, got shape {given.shape}")
    return given


if not TYPE_CHECKING:
    __all__ = exported(globals())
