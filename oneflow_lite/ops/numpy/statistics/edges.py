"""The edges of the bins of histograms: given ones, or of bins of equal width."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, isdtype, uint8
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.operands import dimensions, on_one_device, refused_at_run
from oneflow_lite.ops.statistics.reduction import any, max, min

__all__ = ["histogram_bin_edges"]

Limits = tuple[float, float] | None


def histogram_bin_edges(
    x: Any, /, bins: Any = 10, range: Limits = None, weights: Any = None
) -> Tensor:
    """Return the edges of the bins that ``histogram`` counts in.

    Parameters
    ----------
    x : Tensor or array
        Real numbers, flattened.
    bins : int, str, Tensor or array
        How many bins of equal width, the name of NumPy's rule for them (``"auto"``, ``"fd"``,
        ...), or their ascending edges. NumPy's rules look at all elements, on the host.
    range : (float, float), optional
        The outer edges of bins of equal width; without it, the smallest and the largest element,
        for which the call waits.
    weights : Tensor or array, optional
        Of the shape of x. They change no edges.

    Returns
    -------
    Tensor
        The edges, one more than there are bins. Given edges are returned as they are.

    Raises
    ------
    ValueError
        For edges that do not ascend, for a range that is not finite, and for another name.
    TypeError
        For a rule and weights: NumPy has none that knows them.

    Examples
    --------
    >>> flow.histogram_bin_edges(flow.tensor([0.0, 2.0, 4.0]), 4).numpy()
    array([0., 1., 2., 3., 4.])
    """
    op = "histogram_bin_edges"
    given, *weighed = on_one_device(x) if weights is None else on_one_device(x, weights)
    numbers = numbers_of(op, given) if isinstance(bins, str) else _numbers(op, given)
    if weighed and weighed[0].shape != given.shape:
        raise ValueError(f"[{op}] expected weights of shape {given.shape}, got {weighed[0].shape}")
    return edges_of(op, numbers, bins, range, weights is not None)


def numbers_of(op: str, x: Tensor) -> Tensor:
    """Return the elements that are put into bins, in one dimension."""
    return ravel(_numbers(op, x))


def _numbers(op: str, x: Tensor) -> Tensor:
    """The elements as numbers that are in order."""
    numbers = real(op, x)
    return _C.astype(numbers, uint8, False) if numbers.dtype == bool_dtype else numbers


def edges_of(op: str, numbers: Tensor, bins: Any, limits: Limits, weighted: bool) -> Tensor:
    """Return the edges of bins: given ones, or of bins of equal width, as NumPy has them."""
    if dimensions(bins, op):
        return given_edges(op, bins, numbers)
    ends: npt.NDArray[Any] = np.empty(0, numbers.dtype)
    if isinstance(bins, str):
        if weighted:
            raise TypeError(f"[{op}] expected a number of bins beside weights, got {bins!r}")
        ends = _C.look(op, numbers)
    elif limits is None and numbers.size:
        ends = _C.look(op, stack([min(numbers), max(numbers)]))
    try:
        edges = _even(ends, bins)
        if edges is None:
            edges = np.histogram_bin_edges(ends, held(op, bins), outer_edges(op, limits))
    except (ValueError, TypeError) as error:
        raise type(error)(f"[{op}] {error}") from None
    return asarray(edges, device=numbers.device)


def _even(ends: npt.NDArray[Any], bins: Any) -> npt.NDArray[Any] | None:
    """NumPy's edges between two elements, of bins of equal width; None for what it may refuse."""
    if type(bins) is not int or bins < 1 or ends.dtype.kind not in "iuf" or len(ends) != 2:
        return None
    is_narrow = ends.dtype.kind == "f" and ends.dtype.itemsize < 8
    low, high = ends if is_narrow else map(float, ends.tolist())
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1, dtype=ends.dtype if is_narrow else float)
    return edges if (edges[:-1] < edges[1:]).all() else None


def given_edges(op: str, bins: Any, like: Tensor) -> Tensor:
    """Return edges that ascend; looks where a tensor has them."""
    message = f"[{op}] expected bins that ascend"
    edges = asarray(bins, device=None if isinstance(bins, Tensor) else like.device)
    if edges.ndim != 1:
        raise ValueError(f"[{op}] expected bins in one dimension, got shape {edges.shape}")
    if not isinstance(bins, Tensor):
        host = np.asarray(_C.held(bins, op))
        if (host[:-1] > host[1:]).any():
            raise ValueError(message)
        return edges
    bad = any(edges[:-1] > edges[1:])
    if _C.is_recording():
        return refused_at_run(op, edges, bad, message)
    if _C.look(op, bad):
        raise ValueError(message)
    return edges


def real(op: str, x: Tensor) -> Tensor:
    """Return x; TypeError for complex numbers."""
    if isdtype(x.dtype, "complex floating"):
        raise TypeError(f"[{op}] expected real numbers, got {x.dtype}")
    return x


def outer_edges(op: str, limits: Any) -> Any:
    """Return the ends of a range as numbers."""
    return None if limits is None else tuple(held(op, end) for end in limits)


def held(op: str, x: Any) -> Any:
    """Return a number as it is, and the element of a tensor."""
    return _C.look(op, x)[()] if isinstance(x, Tensor) else x
