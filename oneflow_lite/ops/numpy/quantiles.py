"""Medians and quantiles, of sorted lanes; NumPy's bits."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype, kind_of, result_type
from oneflow_lite.ops.creation.data import asarray, empty
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import moveaxis
from oneflow_lite.ops.operands import host_array
from oneflow_lite.ops.sorting import sort
from oneflow_lite.ops.statistics.reduction import mean

Axis = int | Sequence[int] | None


def median(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the middle element, or the mean of the two; NaN where one is, and of no elements.

    Parameters
    ----------
    x : Tensor or array
        Operand; integers give float64.
    axis : int or sequence of int, optional
        The axes that go; None: all.
    keepdims : bool
        Keep the axes, with size 1.

    Examples
    --------
    >>> flow.median(flow.tensor([[3, 1, 2], [6, 5, 9]]), axis=1).numpy()
    array([2., 6.])
    """
    lanes, shape = sorted_lanes(asarray(x), axis, "median")
    n = lanes.shape[-1]
    middle = (
        lanes[..., n // 2 : n // 2 + 1] if n % 2 else lanes[..., max(n // 2 - 1, 0) : n // 2 + 1]
    )
    result = _nan_if_any(mean(middle, axis=-1), lanes)
    return _C.reshape(result, shape, None) if keepdims else result


def quantile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Return the values below which given parts of the elements lie, interpolated between elements.

    Parameters
    ----------
    x : Tensor or array
        Real numbers.
    q : float, array or Tensor
        Parts, in [0, 1]; for more than one, their dimensions come first in the result. Values of a
        tensor are waited for.
    axis, keepdims
        As for ``median``.
    method : str
        Only ``"linear"``.

    Examples
    --------
    >>> flow.quantile(flow.tensor([1.0, 2.0, 4.0]), [0.5, 0.75]).numpy()
    array([2., 3.])
    """
    return quantile_of("quantile", x, parts_of("quantile", q), q, axis, method, keepdims)


def percentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Return quantiles of parts given in percent; see ``quantile``.

    Examples
    --------
    >>> flow.percentile(flow.tensor([1.0, 2.0, 4.0]), 75).item()
    3.0
    """
    parts = np.true_divide(parts_of("percentile", q), 100, dtype=None)
    return quantile_of("percentile", x, np.asarray(parts), q, axis, method, keepdims)


def parts_of(op: str, q: Any) -> npt.NDArray[Any]:
    """Return the parts as an array; those of a tensor are looked at."""
    parts = host_array(q, op)
    if kind_of(parts.dtype) not in "biuf":
        raise TypeError(f"[{op}] expected q to be real numbers, got {parts.dtype}")
    return parts


def quantile_of(
    op: str, x: Any, parts: npt.NDArray[Any], q: Any, axis: Axis, method: str, keepdims: bool
) -> Tensor:
    """Return quantiles for the operation ``op``; ``q`` is what was given as parts."""
    given = asarray(x)
    checked_parts(op, given, parts, q, method)
    lanes, shape = sorted_lanes(given, axis, op)
    if lanes.shape[-1] == 0:
        raise IndexError(f"[{op}] expected at least one element, got shape {given.shape}")
    weak = type(q) in (int, float)
    results = [_nan_if_any(one, lanes) for one in _interpolated(lanes, parts, weak)]
    rest = tuple(shape) if keepdims else lanes.shape[:-1]
    if not results:
        dtype = result_type(lanes.dtype, parts.dtype)
        return empty((*parts.shape, *rest), dtype, device=lanes.device)
    joined = results[0] if parts.ndim == 0 else stack(results)
    return _C.reshape(joined, (*parts.shape, *rest), None)


def checked_parts(op: str, x: Tensor, parts: npt.NDArray[Any], q: Any, method: str) -> None:
    """Raise what is wrong with the arguments of a quantile; ``q`` is what was given as parts."""
    if not isinstance(method, str) or method != "linear":
        raise ValueError(f"[{op}] expected method 'linear', got {method!r}")
    if isdtype(x.dtype, ("bool", "complex floating")):
        raise TypeError(f"[{op}] expected real numbers, got {x.dtype}")
    if parts.ndim > 2:
        raise ValueError(f"[{op}] expected q in at most two dimensions, got shape {parts.shape}")
    if not ((parts >= 0) & (parts <= 1)).all():
        most = 100 if op.endswith("percentile") else 1
        raise ValueError(f"[{op}] expected q in the range [0, {most}], got {q}")


def _interpolated(lanes: Tensor, parts: npt.NDArray[Any], weak: bool) -> Iterator[Tensor]:
    """The quantile of each part, as NumPy rounds it: from the nearer of its two neighbours."""
    last = lanes.shape[-1] - 1
    places = last * parts
    for place in places.ravel():
        if places.dtype.kind in "iu":
            yield lanes[..., int(place)]
            continue
        low, high = (-1, -1) if place >= last else (int(place), int(place) + 1)
        below, above = lanes[..., low], lanes[..., high]
        weight = place - np.asarray(np.floor(place) if low >= 0 else -1, places.dtype)[()]
        share: Any = float(weight) if weak else weight
        difference = above - below
        yield above - difference * (1 - share) if share >= 0.5 else below + difference * share


def _nan_if_any(result: Tensor, lanes: Tensor) -> Tensor:
    """The result, and the NaN of its lane where there is one: it is sorted to the end."""
    if lanes.shape[-1] == 0 or not isdtype(lanes.dtype, ("real floating", "complex floating")):
        return result
    last = _C.astype(lanes[..., -1], result.dtype, False)
    return _C.where(last != last, last, result)


def sorted_lanes(x: Tensor, axis: Axis, op: str) -> tuple[Tensor, list[int]]:
    """Return what the axes hold, sorted in a new last dimension; x's shape with axes of size 1."""
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        try:
            axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
        except ValueError as error:
            raise type(error)(f"[{op}] {error}") from None
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    kept = [n for d, n in enumerate(x.shape) if d not in axes]
    last = moveaxis(x, axes, tuple(range(len(kept), x.ndim)))
    count = int(np.prod([x.shape[d] for d in axes], dtype=np.int64))
    return sort(_C.reshape(last, (*kept, count), None)), shape


if not TYPE_CHECKING:
    __all__ = ["median", "percentile", "quantile"]
