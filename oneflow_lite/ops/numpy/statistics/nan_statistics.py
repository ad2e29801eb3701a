"""Statistics of what is not NaN; NumPy's bits where it adds in the same order."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray, full
from oneflow_lite.ops.elementwise import isnan, maximum
from oneflow_lite.ops.manipulation.joining import concat, stack
from oneflow_lite.ops.masking import store_back
from oneflow_lite.ops.numpy.statistics.quantiles import (
    Chosen,
    Parts,
    checked_parts,
    joined,
    lanes_of,
    median,
    parts_of,
    percents_of,
    plain_quantiles,
    stored_in,
    weights_along,
)
from oneflow_lite.ops.numpy.statistics.quantiles_at_run import quantiles_at_run
from oneflow_lite.ops.numpy.statistics.weighted_quantiles import weighted_quantiles
from oneflow_lite.ops.operands import is_kept, refused_at_run
from oneflow_lite.ops.places import INEXACT, has_none, places_of_lanes
from oneflow_lite.ops.searching import argmax, argmin
from oneflow_lite.ops.statistics.nan_reduction import nanmean, without_nan
from oneflow_lite.ops.statistics.reducing import Axis
from oneflow_lite.ops.statistics.reduction import all, any, mean, sum
from oneflow_lite.ops.statistics.scan import cumprod, cumsum
from oneflow_lite.ops.table import exported


def nanargmax(
    x: Any, /, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """Return the index of the first largest element that is not NaN. Parameters as for ``argmax``.

    Raises
    ------
    ValueError
        Where all elements of a lane are NaN; floats are looked at for this.

    Examples
    --------
    >>> flow.nanargmax(flow.tensor([1.0, flow.nan, 3.0])).item()
    2
    """
    given = asarray(x)
    if out is not None:
        return store_back("nanargmax", out, nanargmax(given, axis, keepdims=keepdims))
    found = _found_at_once("nanargmax", argmax, given, axis, keepdims)
    if found is not None:
        return found
    return argmax(_filled("nanargmax", given, axis, -np.inf), axis, keepdims=keepdims)


def nanargmin(
    x: Any, /, axis: SupportsIndex | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """Return the index of the first smallest element that is not NaN; see ``nanargmax``.

    Examples
    --------
    >>> flow.nanargmin(flow.tensor([flow.nan, 2.0, 1.0])).item()
    2
    """
    given = asarray(x)
    if out is not None:
        return store_back("nanargmin", out, nanargmin(given, axis, keepdims=keepdims))
    found = _found_at_once("nanargmin", argmin, given, axis, keepdims)
    if found is not None:
        return found
    return argmin(_filled("nanargmin", given, axis, np.inf), axis, keepdims=keepdims)


def nancumsum(
    x: Any, /, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the running sums, in which NaN counts as 0. Parameters as for ``cumsum``.

    Examples
    --------
    >>> flow.nancumsum(flow.tensor([1.0, flow.nan, 2.0])).numpy()
    array([1., 1., 3.])
    """
    given = without_nan(asarray(x), 0)
    return cumsum(given, axis, dtype) if out is None else cumsum(given, axis, dtype, out=out)


def nancumprod(
    x: Any, /, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the running products, in which NaN counts as 1. Parameters as for ``cumprod``.

    Examples
    --------
    >>> flow.nancumprod(flow.tensor([3.0, flow.nan, 2.0])).numpy()
    array([3., 3., 6.])
    """
    given = without_nan(asarray(x), 1)
    return cumprod(given, axis, dtype) if out is None else cumprod(given, axis, dtype, out=out)


def nanmedian(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """Return the middle element of what is not NaN, or the mean of the two; NaN where all are.

    Parameters as for ``median``.

    Examples
    --------
    >>> flow.nanmedian(flow.tensor([3.0, flow.nan, 1.0, 2.0])).item()
    2.0
    """
    given, keeps = asarray(x), is_kept("nanmedian", keepdims)
    if not isdtype(given.dtype, INEXACT):
        made = median(given, axis, keepdims=keeps)
    elif has_none(given.shape):
        made = nanmean(given, axis, keepdims=keeps)
    else:
        made = _nan_median(given, axis, keeps)
    return made if out is None else stored_in("nanmedian", out, made, "unsafe")


def _nan_median(x: Tensor, axis: Axis, keeps: bool) -> Tensor:
    lanes, shape = lanes_of(x, axis, "nanmedian")
    count = sum(~isnan(lanes), -1, keepdims=True)
    low, high = _at("nanmedian", lanes, [maximum((count - 1) // 2, 0), count // 2])
    count = _C.reshape(count, low.shape, None)
    alone = low
    if x.dtype.kind == "c":  # the mean of one has another imaginary part where it is infinite
        alone = mean(low[None], axis=0)
    middle = _C.where(count % 2 == 1, alone, mean(stack([low, high]), axis=0))
    middle = _C.where(count == 0, low, middle)  # a NaN: the first element of all
    return _C.reshape(middle, shape, None) if keeps else middle


def nanquantile(
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
    """Return quantiles of what is not NaN; NaN where all are, and of no elements.

    Parameters as for ``quantile``, but for ``out``, which may have any dtype.

    Examples
    --------
    >>> flow.nanquantile(flow.tensor([1.0, flow.nan, 2.0, 4.0]), 0.75).item()
    3.0
    """
    chosen = Chosen(method, keepdims, weights, out)
    return _nan_quantile("nanquantile", x, parts_of("nanquantile", q), q, axis, chosen)


def nanpercentile(
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
    """Return quantiles, of what is not NaN, of parts given in percent; see ``nanquantile``.

    Examples
    --------
    >>> flow.nanpercentile(flow.tensor([1.0, flow.nan, 2.0, 4.0]), 75).item()
    3.0
    """
    chosen = Chosen(method, keepdims, weights, out)
    return _nan_quantile("nanpercentile", x, percents_of("nanpercentile", q), q, axis, chosen)


def _nan_quantile(op: str, x: Any, parts: Parts, q: Any, axis: Axis, chosen: Chosen) -> Tensor:
    given, keeps = asarray(x), is_kept(op, chosen.keepdims)
    parts = checked_parts(op, given, parts, q, chosen)
    weights = weights_along(op, given, chosen.weights, axis)
    if has_none(given.shape):
        weak = chosen.method != "linear" or type(q) in (int, float)
        made = _of_nothing(op, given, parts, weak, axis, keeps)
        return made if chosen.out is None else stored_in(op, chosen.out, made, "unsafe")
    lanes, shape = lanes_of(given, axis, op)
    rest = tuple(shape) if keeps else lanes.shape[:-1]
    weak = type(q) in (int, float)
    if weights is not None:
        counts = sum(~isnan(lanes), -1, keepdims=True)
        results = weighted_quantiles(op, lanes, weights, parts, counts)
    elif isdtype(given.dtype, "real floating"):
        results = _quantiles(op, lanes, parts, weak, chosen.method)
    else:
        results = list(plain_quantiles(op, lanes, parts, weak, chosen.method))
    return joined(op, results, lanes, parts, rest, chosen, "unsafe")


def _of_nothing(op: str, x: Tensor, parts: Parts, weak: bool, axis: Axis, keepdims: bool) -> Tensor:
    """NaN for each lane of a tensor without elements, and for each part."""
    lanes, shape = lanes_of(x, axis, op)
    dtype = lanes.dtype if isdtype(lanes.dtype, "real floating") else float64
    if not weak and isdtype(parts.dtype, "real floating"):
        dtype = result_type(dtype, parts.dtype)
    rest = tuple(shape) if keepdims else lanes.shape[:-1]
    return full((*parts.shape, *rest), np.nan, dtype, device=x.device)


def _quantiles(op: str, lanes: Tensor, parts: Parts, weak: bool, method: str) -> list[Tensor]:
    """The quantile of each part; each lane has a count of numbers of its own."""

    def find(places: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        every = [_C.broadcast_to(place, (*lanes.shape[:-1], 1)) for place in places]
        return places_of_lanes(op, lanes, concat(every, axis=-1))

    count = maximum(sum(~isnan(lanes), -1, keepdims=True), 1)
    return quantiles_at_run(find, count, list(parts.reshape(-1)), weak, method)[1]


def _at(op: str, lanes: Tensor, places: Sequence[Tensor]) -> list[Tensor]:
    """The elements that a sort would put in these places of each lane, without the dimension."""
    return places_of_lanes(op, lanes, concat(places, axis=-1))[1]


def _found_at_once(
    op: str, search: Callable[..., Tensor], x: Tensor, axis: SupportsIndex | None, keepdims: bool
) -> Tensor | None:
    """The index where there is no NaN: the search finds the first one, and that is looked at."""
    if x.dtype.kind in "biu":
        return search(x, axis, keepdims=keepdims)
    if axis is not None or x.size == 0 or _C.is_recording():
        return None
    place = search(x, None, keepdims=keepdims)
    best = _C.reshape(x, (-1,), None)[place]
    return None if _C.look(op, isnan(best)) else place


def _filled(op: str, x: Tensor, axis: SupportsIndex | None, instead: float) -> Tensor:
    is_nan = isnan(x)
    filler: Any = instead
    if x.size:
        bad = any(all(is_nan, axis))
        message = f"[{op}] expected a number in every lane, got one of NaN only"
        if _C.is_recording():
            instead_tensor = asarray(instead, x.dtype, device=x.device)
            filler = refused_at_run(op, instead_tensor, bad, message)
        elif _C.look(op, bad):
            raise ValueError(message)
    return _C.where(is_nan, filler, x)


if not TYPE_CHECKING:
    __all__ = exported(globals())
