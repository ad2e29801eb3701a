"""The ranks that a tensor is on, as a grid."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Protocol, cast

import numpy as np

from oneflow_lite import _C

Placement = _C.Placement

_MOST_AXES = 32  # as many as a tensor has dimensions at most


class _Placements(Protocol):
    """The function ``placement``, and what is written behind a point."""

    def __call__(self, type: str, ranks: Sequence[Any] | int) -> Placement: ...
    def all(self, type: str) -> Placement: ...


def everywhere(type: str) -> Placement:
    """Return the placement of all ranks of the world, in a row.

    Parameters
    ----------
    type : str
        Of the devices that the ranks compute on: "cpu", "cuda" or "mock".

    Returns
    -------
    Placement

    Raises
    ------
    ValueError
        For another type.

    Examples
    --------
    >>> flow.distributed.placement.all("cpu")
    cpu [0]
    """
    return placement(type, range(_C.current_member().size))


def _with_all(function: Callable[[str, Sequence[Any] | int], Placement]) -> "_Placements":
    function.all = everywhere  # type: ignore[attr-defined]
    return cast("_Placements", function)


@_with_all
def placement(type: str, ranks: Sequence[Any] | int) -> Placement:
    """Return the placement of a grid of ranks.

    Parameters
    ----------
    type : str
        Of the devices that the ranks compute on: "cpu", "cuda" or "mock".
    ranks : int, or nested sequence of int
        The grid: its nesting gives the axes. One rank is a grid of one.

    Returns
    -------
    Placement
        There is one object of each value. It has ``type``, ``grid`` (extents), ``size``,
        ``rank_at(parallel_id)`` and ``parallel_id(rank)``, which is None for a rank outside.

    Raises
    ------
    TypeError
        For ranks that are no integers.
    ValueError
        For no rank, one that comes twice or is negative, for lists of other lengths, and for more
        than 32 axes.

    Examples
    --------
    >>> from oneflow_lite.distributed import placement
    >>> grid = placement("cpu", ranks=[[0, 1, 2], [3, 4, 5]])
    >>> grid.grid, grid.parallel_id(4), grid.parallel_id(6)
    ((2, 3), 4, None)
    """
    flat: list[int] = []
    grid = _flatten([ranks] if isinstance(ranks, (int, np.integer)) else ranks, flat)
    return Placement(type, list(grid), flat)


def _flatten(ranks: Sequence[Any], flat: list[int], depth: int = 1) -> tuple[int, ...]:
    """Append the ranks, and return the extents of their grid."""
    if depth > _MOST_AXES:
        raise ValueError(f"[placement] ranks: expected a grid of at most {_MOST_AXES} axes")
    if isinstance(ranks, str) or not hasattr(ranks, "__iter__"):
        raise TypeError(f"[placement] ranks: expected integers or lists of them, got {ranks!r}")
    if isinstance(ranks, np.ndarray | _C.Tensor) and ranks.ndim == 0:  # it looks at no value
        raise TypeError(
            "[placement] ranks: expected integers or lists of them, got an array without "
            f"dimensions ({type(ranks).__name__}); tolist() gives lists"
        )
    rows = list(ranks)
    if not rows:
        raise ValueError("[placement] expected ranks, got an empty list")
    if not any(hasattr(row, "__iter__") for row in rows):
        for row in rows:
            try:
                flat.append(index(row))
            except TypeError:
                raise TypeError(f"[placement] ranks: expected integers, got {row!r}") from None
        return (len(rows),)
    extents = set()
    for row in rows:
        extents.add(_flatten(row, flat, depth + 1))
    if len(extents) > 1:
        found = " and ".join(map(str, sorted(extents)))
        raise ValueError(f"[placement] ranks: expected lists of one shape, got {found}")
    return (len(rows), *extents.pop())
