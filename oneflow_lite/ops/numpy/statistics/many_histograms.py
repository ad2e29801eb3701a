"""Histograms of points in several dimensions."""

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, int64
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.joining import stack, unstack
from oneflow_lite.ops.numpy.shapes import atleast_1d
from oneflow_lite.ops.numpy.statistics.edges import (
    Limits,
    given_edges,
    held,
    outer_edges,
    real,
)
from oneflow_lite.ops.operands import dimensions, on_one_device, promoted
from oneflow_lite.ops.searching import searchsorted
from oneflow_lite.ops.statistics.reduction import max, min, sum
from oneflow_lite.ops.table import exported
from oneflow_lite.ops.utility import diff


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Sequence[Limits] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return how many points of a plane fall into each bin, and the edges of the bins.

    Parameters
    ----------
    x, y : Tensor or array
        The coordinates of n points, in one dimension each.
    bins : int, Tensor, array, or a pair of these
        As for ``histogramdd``. More than two numbers are the edges for both coordinates.
    range, density, weights
        As for ``histogramdd``.

    Returns
    -------
    counts, x_edges, y_edges : Tensor
        The counts have a row for each bin of x. They are of float64.

    Examples
    --------
    >>> x, y = flow.tensor([0.5, 1.5, 1.5]), flow.tensor([0.5, 0.5, 1.5])
    >>> flow.histogram2d(x, y, [0, 1, 2])[0].numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    points = on_one_device(x, y)
    if len(points[0]) != len(points[1]):
        raise ValueError(
            f"[histogram2d] expected x and y of one length, got shapes {points[0].shape} and "
            f"{points[1].shape}"
        )
    is_number = not isinstance(bins, Sequence) and dimensions(bins, "histogram2d") == 0
    if not is_number and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (rows, columns) = _counted("histogram2d", points, bins, range, density, weights)
    return counts, rows, columns


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Limits] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Tensor, list[Tensor]]:
    """Return how many points fall into each bin, and the edges of the bins.

    Parameters
    ----------
    sample : Tensor, array, or a sequence of d of them
        n points of d coordinates, of shape (n, d); or the coordinates, in one dimension each.
    bins : int, Tensor, array, or a sequence of d of these
        How many bins of equal width, or their ascending edges, for each coordinate. A bin contains
        its left edge, the last one both. Numbers in a tensor are looked at, and so is whether edges
        in a tensor ascend.
    range : sequence of d (float, float) or None, optional
        The outer edges of bins of equal width. Without them, these are the smallest and the largest
        coordinate, for which the call waits.
    density : bool, optional
        Return the probability density at each bin instead of the counts.
    weights : Tensor or array, optional
        Of shape (n,): what each point counts.

    Returns
    -------
    counts : Tensor
        Of float64, with a dimension for each coordinate.
    edges : list of Tensor
        One for each coordinate.

    Raises
    ------
    ValueError
        For edges that do not ascend, for a range that is not finite, and where bins or ranges are
        not as many as coordinates.

    Examples
    --------
    >>> points = flow.tensor([[0.5, 0.5], [1.5, 0.5], [1.5, 1.5]])
    >>> counts, edges = flow.histogramdd(points, bins=2, range=[(0, 2), (0, 2)])
    >>> counts.numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    op = "histogramdd"
    if isinstance(sample, (list, tuple)):
        points = on_one_device(*sample)
        if points and not points[0].ndim:  # numbers: points of one coordinate
            points = [stack(points)]
    else:
        given = atleast_1d(asarray(sample))
        if given.ndim > 2:
            raise ValueError(f"[{op}] expected points in two dimensions, got shape {given.shape}")
        points = [given] if given.ndim == 1 else list(unstack(given, axis=1))
    return _counted(op, points, bins, range, density, weights)


def _counted(
    op: str, points: list[Tensor], bins: Any, ranges: Any, density: bool | None, weights: Any
) -> tuple[Tensor, list[Tensor]]:
    """Return how many points fall into each bin, and the edges."""
    if not points:
        raise ValueError(f"[{op}] expected at least one coordinate, got none")
    device = points[0].device
    given = [real(op, x) for x in promoted(*points)]
    weighed = None if weights is None else asarray(weights, device=device)
    for x in (*given, *(() if weighed is None else (weighed,))):
        if x.ndim != 1 or x.shape != given[0].shape:
            raise ValueError(
                f"[{op}] expected one dimension and one length, got shapes {given[0].shape} and "
                f"{x.shape}"
            )
    edges = _edges(op, given, _of_each(op, bins, len(given)), ranges)
    sizes = [len(one) + 1 for one in edges]  # with what is outside at both ends
    place: Any = 0
    for x, one, size in zip(given, edges, sizes, strict=True):
        place = place * size + (searchsorted(one, x, side="right") - (x == one[-1]))
    inputs, is_weighed = [place], weighed is not None and place.size != 0
    if weighed is not None:
        inputs.append(_C.astype(real(op, weighed), float64, False))
    outputs = [((math.prod(sizes),), float64 if is_weighed else int64)]
    (counts,) = _C.call_kernel(op, "bincount", inputs, outputs, elements=place.size)
    counts = _C.reshape(_C.astype(counts, float64, False), sizes, None)
    counts = counts[(slice(1, -1),) * len(sizes)]
    if not density:
        return counts, edges
    total = sum(counts)
    for i, one in enumerate(edges):
        counts = counts / _C.reshape(diff(one), (-1,) + (1,) * (len(edges) - i - 1), None)
    return counts / total, edges


def _edges(op: str, points: list[Tensor], bins: Sequence[Any], ranges: Any) -> list[Tensor]:
    """Return the edges for each coordinate; looks at the ends of all that need it at once."""
    limits = [None] * len(points) if ranges is None else list(ranges)
    if len(limits) != len(points):
        raise ValueError(f"[{op}] expected {len(points)} ranges, got {len(limits)}")
    are_numbers = [dimensions(one, op) == 0 for one in bins]
    open_ones = [i for i, x in enumerate(points) if are_numbers[i] and limits[i] is None and x.size]
    ends = stack([end(points[i]) for i in open_ones for end in (min, max)]) if open_ones else None
    seen = iter(() if ends is None else _C.look(op, ends))
    found = []
    for i, (x, one, given) in enumerate(zip(points, bins, limits, strict=True)):
        if not are_numbers[i]:
            found.append(given_edges(op, one, x))
            continue
        outer = (next(seen), next(seen)) if i in open_ones else outer_edges(op, given)
        found.append(asarray(_spaced(op, outer, one), device=x.device))
    return found


def _spaced(op: str, outer: Any, bins: Any) -> np.ndarray[Any, Any]:
    """Return the edges of bins of equal width as numpy.histogramdd does, in its dtype."""
    try:
        count = operator.index(held(op, bins))
    except TypeError:
        raise TypeError(f"[{op}] expected bins to be integers or edges, got {bins!r}") from None
    if count < 1:
        raise ValueError(f"[{op}] expected bins of at least 1, got {count}")
    low, high = (0, 1) if outer is None else outer
    if low > high:
        raise ValueError(f"[{op}] expected ascending ranges, got ({low}, {high})")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"[{op}] expected finite ranges, got ({low}, {high})")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, count + 1)


def _of_each(op: str, given: Any, count: int) -> Sequence[Any]:
    """Return what is given for each coordinate: a sequence has it, and a number stands for all."""
    if isinstance(given, (Tensor, np.ndarray)):
        each = [given] * count if not given.ndim else list(_numbers(op, given))
    else:
        each = list(given) if isinstance(given, Sequence) else [given] * count
    if isinstance(given, str) or len(each) != count:
        raise ValueError(f"[{op}] expected bins of {count} coordinates, got {given!r}")
    return each


def _numbers(op: str, x: Any) -> Any:
    """Return the elements of a tensor in one dimension on the host; others are as they are."""
    return _C.look(op, x) if isinstance(x, Tensor) and x.ndim == 1 else x


if not TYPE_CHECKING:
    __all__ = exported(globals())
