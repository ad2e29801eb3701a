"""Medians and quantiles, of partitioned lanes; NumPy's bits."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype, kind_of, result_type
from oneflow_lite.ops.creation.data import asarray, empty
from oneflow_lite.ops.elementwise import divide
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import moveaxis
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.numpy.statistics.quantile_methods import (
    METHODS,
    finds_elements,
    places_of,
    share_of,
)
from oneflow_lite.ops.numpy.statistics.quantiles_at_run import quantiles_at_run
from oneflow_lite.ops.numpy.statistics.weighted_quantiles import weighted_quantiles, weights_of
from oneflow_lite.ops.operands import host_array, is_kept, refused_at_run
from oneflow_lite.ops.places import (
    INEXACT,
    has_none,
    is_unknown,
    nan_if_any,
    partitioned,
    places_of_all,
    size_of,
)
from oneflow_lite.ops.statistics.reducing import cast_for
from oneflow_lite.ops.statistics.reduction import all, mean

Axis = SupportsIndex | Sequence[SupportsIndex] | None
Parts = npt.NDArray[Any] | Tensor  # a tensor: in a program that is recorded


class Chosen(NamedTuple):
    """How a quantile is asked for: the arguments that all its functions have."""

    method: str = "linear"
    keepdims: Any = False
    weights: Any = None
    out: Any = None


def median(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """Return the middle element, or the mean of the two; NaN where one is, and of no elements.

    Parameters
    ----------
    x : Tensor or array
        Operand; integers give float64.
    axis : int or sequence of int, optional
        The axes that go; None: all.
    out : Tensor or array, optional
        Where the result goes, which is cast to any dtype; it is returned.
    overwrite_input : bool
        Accepted, as in ``numpy.median``; x is never written to.
    keepdims : bool
        Keep the axes, with size 1.

    Examples
    --------
    >>> flow.median(flow.tensor([[3, 1, 2], [6, 5, 9]]), axis=1).numpy()
    array([2., 6.])
    """
    keeps = is_kept("median", keepdims)
    lanes, shape = lanes_of(asarray(x), axis, "median")
    n = lanes.shape[-1]
    if is_unknown(n):
        result = _median_at_run(lanes)
    else:
        last, first = n // 2 + 1, n // 2 if n % 2 else max(n // 2 - 1, 0)
        if n > 0:
            lanes = _in_places("median", lanes, list(range(first, last)), by_rows=False)
        middle = lanes[..., first:last]
        result = nan_if_any(_mean_for(middle, out), lanes)
    result = _C.reshape(result, shape, None) if keeps else result
    return result if out is None else stored_in("median", out, result, "unsafe")


def _mean_for(middle: Tensor, out: Any) -> Tensor:
    """The means along the last axis, in the dtype of ``out`` if there is one."""
    into = cast_for("median", out)
    if into is None:
        return mean(middle, axis=-1)
    return mean(middle, axis=-1, out=empty(middle.shape[:-1], into, device=middle.device))


def stored_in(op: str, out: Any, result: Tensor, casting: str) -> Tensor:
    target: Tensor = store(op, out, result, casting)
    return target


def _median_at_run(lanes: Tensor) -> Tensor:
    """The same of lanes whose size only a run knows; it has at least one element."""
    n = size_of(lanes)
    is_odd, high = n % 2 == 1, n // 2
    lanes, found = places_of_all("median", lanes, [_C.where(is_odd, high, high - 1), high])
    low = _C.where(is_odd, 0, found[0])  # a sum that nobody needs is not infinite
    middle = _C.where(is_odd, mean(stack(found[1:]), axis=0), mean(stack([low, found[1]]), axis=0))
    return nan_if_any(middle, lanes)


def quantile(
    x: Any,
    /,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Return the values below which given parts of the elements lie, interpolated between elements.

    Parameters
    ----------
    x : Tensor or array
        Real numbers.
    q : float, array or Tensor
        Parts, in [0, 1]; for more than one, their dimensions come first in the result. Values of a
        tensor are waited for.
    axis, overwrite_input, keepdims
        As for ``median``.
    out : Tensor or array, optional
        Where the result goes, which is cast within a kind, and with weights to any dtype; it is
        returned.
    method : str
        One of NumPy's: ``"linear"`` between two elements, ``"inverted_cdf"`` for the least element
        that has at least the part at or below it, and the others of ``quantile_methods.py``.
    weights : Tensor or array, optional
        What each element counts, at least 0, for ``"inverted_cdf"``: of the shape of x, or of its
        extents along the axes, in their order. The call waits for them, and for x.

    Raises
    ------
    ValueError
        For parts out of their range, for another method, and for weights that are negative, not
        finite, or all 0.

    Examples
    --------
    >>> flow.quantile(flow.tensor([1.0, 2.0, 4.0]), [0.5, 0.75]).numpy()
    array([2., 3.])
    """
    chosen = Chosen(method, keepdims, weights, out)
    return quantile_of("quantile", x, parts_of("quantile", q), q, axis, chosen)


def percentile(
    x: Any,
    /,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Return quantiles of parts given in percent; see ``quantile``.

    Examples
    --------
    >>> flow.percentile(flow.tensor([1.0, 2.0, 4.0]), 75).item()
    3.0
    """
    chosen = Chosen(method, keepdims, weights, out)
    return quantile_of("percentile", x, percents_of("percentile", q), q, axis, chosen)


def percents_of(op: str, q: Any) -> Parts:
    """Return the parts that are given in percent."""
    parts = parts_of(op, q)
    if isinstance(parts, Tensor):
        return divide(parts, 100)
    return np.asarray(np.true_divide(parts, 100, dtype=None))


def parts_of(op: str, q: Any) -> Parts:
    """Return the parts as an array; those of a tensor are looked at, unless a call is recorded."""
    parts = q if isinstance(q, Tensor) and _C.is_recording() else host_array(q, op)
    if kind_of(parts.dtype) not in "biuf":
        raise TypeError(f"[{op}] expected q to be real numbers, got {parts.dtype}")
    return parts


def quantile_of(op: str, x: Any, parts: Parts, q: Any, axis: Axis, chosen: Chosen) -> Tensor:
    """Return quantiles for the operation ``op``; ``q`` is what was given as parts."""
    given = asarray(x)
    keeps = is_kept(op, chosen.keepdims)
    parts = checked_parts(op, given, parts, q, chosen)
    lanes, shape = lanes_of(given, axis, op)
    weights = weights_along(op, given, chosen.weights, axis)
    if has_none(lanes.shape[-1:]):
        raise IndexError(f"[{op}] expected at least one element, got shape {given.shape}")
    rest = tuple(shape) if keeps else lanes.shape[:-1]
    if weights is not None:
        results = weighted_quantiles(op, lanes, weights, parts)
    else:
        weak = type(q) in (int, float)
        results = list(plain_quantiles(op, lanes, parts, weak, chosen.method))
    return joined(op, results, lanes, parts, rest, chosen)


def weights_along(op: str, x: Tensor, weights: Any, axis: Axis) -> Tensor | None:
    """Return the weights of lanes of x, checked; None where there are none."""
    if weights is None:
        return None
    return lanes_of(weights_of(op, x, weights, axis), axis, op)[0]


def joined(
    op: str,
    results: list[Tensor],
    lanes: Tensor,
    parts: Parts,
    rest: tuple[int, ...],
    chosen: Chosen,
    casting: str = "same_kind",
) -> Tensor:
    """Return the quantiles of all parts in one tensor, or where ``out`` says."""
    if results:
        made = results[0] if parts.ndim == 0 else stack(results)
        made = _C.reshape(made, (*parts.shape, *rest), None)
    else:
        is_element = finds_elements(chosen.method)
        dtype = lanes.dtype if is_element else result_type(lanes.dtype, parts.dtype)
        made = empty((*parts.shape, *rest), dtype, device=lanes.device)
    if chosen.out is None:
        return made
    return stored_in(op, chosen.out, made, casting if chosen.weights is None else "unsafe")


def checked_parts(op: str, x: Tensor, parts: Parts, q: Any, chosen: Chosen) -> Parts:
    """Return the parts, or raise what is wrong with the arguments of a quantile.

    ``q`` is what was given as parts. Those of a recorded program are checked when it runs.
    """
    method = chosen.method
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(
            f"[{op}] expected method {' or '.join(map(repr, METHODS))}, got {method!r}"
        )
    if chosen.weights is not None and method != "inverted_cdf":
        raise ValueError(f"[{op}] weights: only for the method 'inverted_cdf', got {method!r}")
    is_element = finds_elements(method) or (method == "linear" and parts.dtype.kind in "biu")
    refused = ("complex floating",) if is_element else ("bool", "complex floating")
    if isdtype(x.dtype, refused):
        raise TypeError(f"[{op}] expected real numbers, got {x.dtype}")
    if parts.ndim > 2:
        raise ValueError(f"[{op}] expected q in at most two dimensions, got shape {parts.shape}")
    message = f"[{op}] expected q in the range [0, {100 if op.endswith('percentile') else 1}]"
    are_parts = (parts >= 0) & (parts <= 1)
    if isinstance(parts, Tensor):
        guarded = refused_at_run(op, parts, ~all(are_parts), message)
        return _C.to_device(guarded, x.device, False)
    if not are_parts.all():
        raise ValueError(f"{message}, got {q}")
    return parts


def plain_quantiles(
    op: str, lanes: Tensor, parts: Parts, weak: bool, method: str
) -> Iterator[Tensor]:
    """The quantile of each part, as NumPy rounds it: from the nearer of its two neighbours."""
    if isinstance(parts, Tensor) or is_unknown(lanes.shape[-1]):
        given = _C.reshape(asarray(parts, device=lanes.device), (-1,), None)
        arranged, found = quantiles_at_run(
            partial(places_of_all, op, lanes), size_of(lanes), list(given), weak, method
        )
        if arranged is not None:
            yield from (nan_if_any(one, arranged) for one in found)
        return
    last = lanes.shape[-1] - 1
    places = places_of(method, lanes.shape[-1], parts)
    is_whole = finds_elements(method) or (method == "linear" and places.dtype.kind in "iu")
    neighbours = [_neighbours(place, last, is_whole) for place in places.reshape(-1)]
    lanes = _in_places(op, lanes, [place for pair in neighbours for place in pair], by_rows=True)
    for place, (low, high) in zip(places.reshape(-1), neighbours, strict=True):
        below, above = lanes[..., low], lanes[..., high]
        if is_whole:
            yield nan_if_any(below, lanes)
            continue
        before = np.floor(place) if low < high else 0 if place < 0 else -1
        weight = share_of(method, place, place - np.asarray(before, places.dtype)[()])
        share: Any = float(weight) if weak else weight
        difference = above - below
        near_above = share >= 0.5
        one = above - difference * (1 - share) if near_above else below + difference * share
        yield nan_if_any(one, lanes)


def _neighbours(place: Any, last: int, is_whole: bool) -> tuple[int, int]:
    """The two elements that a place is between."""
    if is_whole:
        return int(place), int(place)
    if place < 0:
        return 0, 0
    return (int(place), int(place) + 1) if place < last else (last, last)  # NaN is at the end


def _in_places(op: str, lanes: Tensor, places: list[int], *, by_rows: bool) -> Tensor:
    """Lanes with what a sort would put in the places, and with NaN at the end, as NumPy's lie."""
    last = [lanes.shape[-1] - 1] if isdtype(lanes.dtype, INEXACT) else []
    return partitioned(op, lanes, lanes.ndim - 1, [*places, *last], by_rows=by_rows)


def lanes_of(x: Tensor, axis: Axis, op: str) -> tuple[Tensor, list[int]]:
    """Return what the axes hold, in a new last dimension; x's shape with axes of size 1."""
    if axis is None:
        return _C.reshape(x, (x.size,), None), [1] * x.ndim
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        axes: tuple[int, ...] = (axis % x.ndim,)
    else:
        try:
            given: Any = axis  # integers of any type, which NumPy's stub does not say
            axes = np.lib.array_utils.normalize_axis_tuple(given, x.ndim)
        except ValueError as error:
            raise type(error)(f"[{op}] {error}") from None
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    kept = [n for d, n in enumerate(x.shape) if d not in axes]
    last = moveaxis(x, axes, tuple(range(len(kept), x.ndim)))
    count = prod(x.shape[d] for d in axes)
    return _C.reshape(last, (*kept, count), None), shape


if not TYPE_CHECKING:
    __all__ = ["median", "percentile", "quantile"]
