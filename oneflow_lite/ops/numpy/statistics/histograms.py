"""Histograms: how often numbers occur, and into which bins they fall."""

import builtins
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, int64, isdtype, result_type
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.manipulation.joining import concat, stack
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.numpy.statistics.edges import edges_of, numbers_of
from oneflow_lite.ops.operands import dimensions, on_one_device, refused_at_run
from oneflow_lite.ops.searching import argmax, searchsorted
from oneflow_lite.ops.sorting import argsort, sort
from oneflow_lite.ops.statistics.reduction import any, max, min, sum
from oneflow_lite.ops.statistics.scan import cumsum
from oneflow_lite.ops.table import exported
from oneflow_lite.ops.utility import diff

_BLOCK = 65536  # numbers that NumPy weighs at once


@_C.native(_C.paths.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """Return how often each of 0, 1, 2, ... occurs in x; waits for the smallest and the largest.

    Parameters
    ----------
    x : Tensor or array
        Integers of at least 0, in one dimension.
    weights : Tensor or array, optional
        Of x's shape: what each counts. The result is float64 then, else and for an empty x int64.
    minlength : int
        The result has at least so many elements.

    Raises
    ------
    ValueError
        For negative elements, and for a result that no memory could hold.

    Examples
    --------
    >>> flow.bincount(flow.tensor([0, 1, 1, 3])).numpy()
    array([1, 2, 0, 1])
    """
    given = on_one_device(x) if weights is None else on_one_device(x, weights)
    if minlength < 0:
        raise ValueError(f"[bincount] expected minlength to be at least 0, got {minlength}")
    numbers = given[0]
    if numbers.ndim != 1:
        raise ValueError(f"[bincount] expected one dimension, got shape {numbers.shape}")
    if numbers.size and not isdtype(numbers.dtype, ("integral", "bool")):
        raise TypeError(f"[bincount] expected integers, got {numbers.dtype}")
    inputs = [_C.astype(numbers, int64, False)]
    if weights is not None:
        if given[1].shape != numbers.shape:
            raise ValueError(
                f"[bincount] expected weights of shape {numbers.shape}, got {given[1].shape}"
            )
        if isdtype(given[1].dtype, "complex floating"):
            raise TypeError(f"[bincount] expected real weights, got {given[1].dtype}")
        inputs.append(_C.astype(given[1], float64, False))
    largest = _largest(inputs[0])
    length = largest + 1 if largest >= minlength else minlength
    if length > sys.maxsize:
        raise ValueError(f"[bincount] expected elements that can be counted, got {largest}")
    is_weighted = weights is not None and numbers.size != 0  # NumPy's rule
    outputs = [((length,), float64 if is_weighted else int64)]
    return _C.call_kernel("bincount", "bincount", inputs, outputs, elements=numbers.size)[0]


@_C.native(_C.paths.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """Return the int64 number of the bin that each element of x is in; waits for the bins.

    Parameters
    ----------
    x : Tensor or array
        Real numbers.
    bins : Tensor or array
        The edges, ascending or descending, in one dimension.
    right : bool
        Bins contain their right edge instead of the left one.

    Raises
    ------
    ValueError
        For bins that are not monotonic.

    Examples
    --------
    >>> flow.digitize(flow.tensor([0.2, 6.4, 3.0]), [0.0, 1.0, 2.5, 4.0]).numpy()
    array([1, 4, 3])
    """
    given, edges = on_one_device(x, bins)
    if isdtype(given.dtype, "complex floating"):
        raise TypeError(f"[digitize] expected real numbers, got {given.dtype}")
    edges = _C.astype(edges, float64, False)
    if edges.ndim != 1:
        raise ValueError(f"[digitize] expected bins in one dimension, got shape {edges.shape}")
    side = "left" if right else "right"
    ascends = _ascend(edges)
    if isinstance(ascends, Tensor):
        falling = edges.size - searchsorted(edges[::-1], given, side=side)
        return _C.where(ascends, searchsorted(edges, given, side=side), falling)
    if ascends:
        return searchsorted(edges, given, side=side)
    return edges.size - searchsorted(edges[::-1], given, side=side)


def _ascend(edges: Tensor) -> bool | Tensor:
    """Return whether the edges ascend; ValueError where they neither ascend nor descend. A tensor
    while a program is recorded.

    As in NumPy, the first two that differ tell the direction. NaN differs, and rises never.
    """
    if edges.size < 2:
        return True
    low, high = edges[:-1], edges[1:]
    rise, differ = high > low, high != low
    first = argmax(differ)
    findings = [take(rise, first) | ~take(differ, first), any(rise), any(high < low)]
    message = "[digitize] expected bins that only ascend or only descend"
    if _C.is_recording():
        first_rises, some_rise, some_fall = findings
        bad = _C.where(first_rises, some_fall, some_rise)
        return refused_at_run("digitize", first_rises, bad, message)
    ascends, rises, falls = _C.look("digitize", stack(findings)).tolist()
    if falls if ascends else rises:
        raise ValueError(message)
    return bool(ascends)


def histogram(
    x: Any,
    /,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return how many elements of x fall into each bin, and the edges of the bins.

    Parameters
    ----------
    x : Tensor or array
        Real numbers, flattened.
    bins : int, str, Tensor or array
        How many bins of equal width, the name of NumPy's rule for them (see
        ``histogram_bin_edges``), or their ascending edges. A bin contains its left edge, the last
        one both.
    range : (float, float), optional
        The outer edges of bins of equal width; without it, the smallest and the largest element,
        for which the call waits.
    density : bool
        Return the probability density at each bin instead of the int64 counts.
    weights : Tensor or array, optional
        Of x's shape: what each element counts. The counts have their dtype.

    Raises
    ------
    ValueError
        For weights of another shape, for bins that do not ascend, and for a range without width.
    TypeError
        For complex numbers, for weights of bool where bins are given by their edges, and for
        weights beside the name of a rule.

    Examples
    --------
    >>> counts, edges = flow.histogram(flow.tensor([1.0, 2.0, 1.0]), bins=[0, 1, 2, 3])
    >>> counts.numpy()
    array([0, 2, 1])
    """
    given, *weight = on_one_device(x) if weights is None else on_one_device(x, weights)
    numbers = numbers_of("histogram", given)
    if weight and weight[0].shape != given.shape:
        raise ValueError(
            f"[histogram] expected weights of shape {given.shape}, got {weight[0].shape}"
        )
    edges = edges_of("histogram", numbers, bins, range, bool(weight))
    if weight:
        weigh = _weigh_sorted if dimensions(bins, "histogram") else _weigh_equal_bins
        counts = _weighted(weigh, numbers, ravel(weight[0]), edges)
    else:
        counts = _counts(numbers, edges)
    if not density:
        return counts, edges
    widths = _C.astype(diff(edges), float64, False)
    return counts / widths / sum(counts), edges


def _counts(numbers: Tensor, edges: Tensor) -> Tensor:
    """How many numbers each bin has."""
    common = result_type(numbers.dtype, edges.dtype)
    has_kernel = _C.device_types()[numbers.device.type].runs_host_kernels
    if has_kernel and not isdtype(common, "complex floating"):
        given = numbers if common == float64 else _C.astype(numbers, common, False)
        inputs = [given, _C.astype(edges, common, False)]
        outputs = [(edges.shape, int64)]  # the last one is of numbers outside of all bins
        made = _C.call_kernel("histogram", "histogram", inputs, outputs, elements=numbers.size)
        return made[0][:-1]
    bounds = _bounds(sort(numbers), edges)
    return bounds[1:] - bounds[:-1]


def _weighted(
    weigh: Callable[..., None], numbers: Tensor, weights: Tensor, edges: Tensor
) -> Tensor:
    """The weights of each bin, summed block by block, as NumPy sums them."""
    by_edge = zeros(edges.shape, weights.dtype, device=numbers.device)
    sums = by_edge if weigh is _weigh_sorted else by_edge[:-1]
    for start in builtins.range(0, numbers.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        weigh(numbers[block], weights[block], edges, sums)
    return diff(sums) if weigh is _weigh_sorted else sums


def _weigh_equal_bins(numbers: Tensor, weights: Tensor, edges: Tensor, sums: Tensor) -> None:
    """Add the weights in each bin of equal width."""
    common, last = result_type(numbers.dtype, edges.dtype), edges.size - 1
    given, ends = _C.astype(numbers, common, False), _C.astype(edges, common, False)
    bins = searchsorted(ends, given, side="right") - 1  # the last one is of NaN, too
    bins = _C.where(given == ends[-1:], last - 1, _C.where(bins < 0, last, bins))
    is_complex = isdtype(weights.dtype, "complex floating")
    parts = [(sums.real, weights.real), (sums.imag, weights.imag)] if is_complex else []
    for target, part in parts or [(sums, weights)]:
        inputs, outputs = [bins, _C.astype(part, float64, False)], [(edges.shape, float64)]
        made = _C.call_kernel("histogram", "bincount", inputs, outputs, elements=numbers.size)
        added = made[0][:-1]
        target += added if is_complex else _C.astype(added, sums.dtype, False)


def _weigh_sorted(numbers: Tensor, weights: Tensor, edges: Tensor, sums: Tensor) -> None:
    """Add the running sums of the weights, in the order of their numbers, at each edge."""
    order = argsort(numbers)
    ordered = take(numbers, order)
    nothing = zeros((1,), weights.dtype, device=weights.device)
    running = concat([nothing, cumsum(take(weights, order))])
    sums += take(running, _bounds(ordered, edges))


def _bounds(ordered: Tensor, edges: Tensor) -> Tensor:
    """How many of ascending numbers are below each edge; of the last one, not above it."""
    inner = searchsorted(ordered, edges[:-1])
    return concat([inner, searchsorted(ordered, edges[-1:], side="right")])


def _largest(numbers: Tensor) -> int:
    """The largest of integers of at least 0; -1 of none."""
    if numbers.size == 0:
        return -1
    least, most = min(numbers), max(numbers)
    if _C.look("bincount", least) < 0:
        raise ValueError("[bincount] expected numbers of at least 0, got a negative one")
    return int(_C.look("bincount", most))


if not TYPE_CHECKING:
    __all__ = exported(globals())
