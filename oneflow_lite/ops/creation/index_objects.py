"""Objects that make tensors of what is between brackets: ``r_[1:4, 0]``, ``mgrid[:2, :3]``."""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.creation.data import array, asarray, empty, tensor
from oneflow_lite.ops.creation.ranges import arange, linspace
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import permute_dims

__all__ = ["c_", "mgrid", "ogrid", "r_"]

_SCALARS = (bool, int, float, complex, np.generic)


class Joined:
    """Joins what is between its brackets: slices are ranges, others are parts.

    Parameters
    ----------
    axis : int
        Along which the parts are joined.
    ndmin : int
        At least so many dimensions the parts have.
    trans1d : int
        Where the dimensions of a part with less go among these; -1: behind new ones.
    """

    def __init__(self, axis: int, ndmin: int, trans1d: int) -> None:
        self._axis, self._ndmin, self._trans1d = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Tensor:
        """Return the parts, joined; a text in front says how, as ``"0,2"``."""
        parts = list(key) if isinstance(key, tuple) else [key]
        how: Joined = self
        if parts and isinstance(parts[0], str):
            how = Joined(*_directive(parts.pop(0), self))
        if any(isinstance(part, str) for part in parts):
            raise ValueError("[r_] expected a text in the first place only")
        if not parts:
            raise ValueError("[r_] expected at least one part to join")
        return how._join(parts)

    def __len__(self) -> int:
        """Return 0, as NumPy's objects do."""
        return 0

    def _join(self, parts: list[Any]) -> Tensor:
        home = next((part.device for part in parts if isinstance(part, Tensor)), None)
        made: list[Any] = []
        types: list[Any] = []
        for part in parts:
            if isinstance(part, _SCALARS):
                made.append(part)
                types.append(part)
                continue
            if isinstance(part, slice):
                part = _range(part, home)
            elif not isinstance(part, Tensor):
                part = asarray(part, device=home)
            made.append(self._placed(part))
            types.append(part.dtype)
        wanted = result_type(*types)
        joined = [
            array(one, wanted, copy=None, ndmin=self._ndmin)
            if isinstance(one, Tensor)
            else array(one, wanted, ndmin=self._ndmin, device=home)
            for one in made
        ]
        return concat(joined, self._axis)

    def _placed(self, x: Tensor) -> Tensor:
        """A part with as many dimensions as are wanted; its own go where ``trans1d`` says."""
        wide = array(x, copy=None, ndmin=self._ndmin)
        added = self._ndmin - x.ndim
        if self._trans1d == -1 or added <= 0:
            return wide
        first = self._trans1d + (added + 1 if self._trans1d < 0 else 0)
        axes = list(range(self._ndmin))
        return permute_dims(wide, [*axes[:first], *axes[added:], *axes[first:added]])


def _directive(text: str, given: Joined) -> tuple[int, int, int]:
    """The axis, the dimensions and the place of a part's own that a text names."""
    numbers = text.split(",")
    try:
        axis, *rest = (int(one) for one in numbers)
        ndmin, trans1d = [*rest, *(given._ndmin, given._trans1d)[len(rest) :]]
    except ValueError:
        raise ValueError(
            f"[r_] expected a text of one to three integers, as '0,2,-1', got {text!r}; "
            "there are no matrices"
        ) from None
    return axis, ndmin, trans1d


def _range(key: slice, home: Any) -> Tensor:
    """What ``arange`` makes of a slice, or ``linspace`` of one whose step is imaginary."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, num=int(abs(step)), device=home)
    return arange(start, key.stop, step, device=home)


class Grid:
    """Makes the coordinates of the slices between its brackets.

    Parameters
    ----------
    sparse : bool
        Whether each tensor of coordinates has size 1 along the other axes.
    """

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        """Return a tensor of all coordinates, or a tuple of them where they are sparse.

        A tensor as an end or a step is looked at.
        """
        if not isinstance(key, tuple):
            return tensor(np.ogrid[_known(key)])
        rows = [tensor(row) for row in np.ogrid[tuple(map(_known, key))]]
        if self._sparse:
            return tuple(rows)
        shape = [row.size for row in rows]
        grids = empty((len(rows), *shape), rows[0].dtype if rows else np.int64)
        for d, row in enumerate(rows):
            _C.assign(grids[d, ...], row)
        return grids


def _known(key: Any) -> Any:
    """The slice with numbers for tensors."""
    if not isinstance(key, slice):
        raise TypeError(f"[mgrid] expected slices, got {type(key).__name__}")
    start, stop, step = (
        _C.look("mgrid", one)[()] if isinstance(one, Tensor) else one
        for one in (key.start, key.stop, key.step)
    )
    return slice(start, stop, step)


r_ = Joined(0, 1, -1)
c_ = Joined(-1, 2, 0)
mgrid, ogrid = Grid(sparse=False), Grid(sparse=True)
