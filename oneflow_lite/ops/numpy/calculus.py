"""Derivatives and integrals of sampled data."""

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    bool as bool_dtype,
    float64,
    isdtype,
)
from oneflow_lite.ops.creation.data import asarray, empty_like
from oneflow_lite.ops.numpy.statistics.covariance import _INEXACT
from oneflow_lite.ops.operands import dimensions, host_array, on_one_device
from oneflow_lite.ops.statistics.reduction import sum
from oneflow_lite.ops.table import exported
from oneflow_lite.ops.utility import diff


@overload
def gradient(f: Any, *spacing: Any, axis: SupportsIndex, edge_order: int = ...) -> Tensor: ...
@overload
def gradient(
    f: Any,
    *spacing: Any,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = ...,
    edge_order: int = ...,
) -> Any: ...
def gradient(
    f: Any,
    *spacing: Any,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    edge_order: int = 1,
) -> Any:
    """Return the derivatives of sampled data by differences between neighbours.

    Parameters
    ----------
    f : Tensor or array
        The samples.
    *spacing : float, Tensor or array
        The distance of samples for all axes, or one for each; or their coordinates in one
        dimension, which are looked at in a tensor.
    axis : int or sequence of int, optional
        Where to; None: along all.
    edge_order : {1, 2}
        Of the differences at the ends.

    Returns
    -------
    Tensor or tuple of Tensor
        A derivative for each axis.

    Examples
    --------
    >>> flow.gradient(flow.tensor([1.0, 2.0, 4.0, 7.0])).numpy()
    array([1. , 1.5, 2.5, 3. ])
    """
    given = asarray(f)
    try:
        along: Any = tuple(range(given.ndim)) if axis is None else axis
        axes = np.lib.array_utils.normalize_axis_tuple(along, given.ndim)
    except ValueError as error:
        raise type(error)(f"[gradient] {error}") from None
    if edge_order not in (1, 2):
        raise ValueError(f"[gradient] expected edge_order 1 or 2, got {edge_order}")
    if not isdtype(given.dtype, _INEXACT):
        if given.dtype == bool_dtype:
            raise TypeError("[gradient] expected numbers, got bool")
        given = _C.astype(given, float64, False)
    steps = _spacings(given, axes, spacing)
    results = [
        _derivative(given, along, step, edge_order) for along, step in zip(axes, steps, strict=True)
    ]
    return results[0] if len(axes) == 1 else tuple(results)


def _spacings(x: Tensor, axes: Sequence[int], spacing: Sequence[Any]) -> list[Any]:
    """A number for each axis, or the differences of coordinates that differ unevenly."""
    if not spacing:
        return [1.0] * len(axes)
    if len(spacing) == 1 and dimensions(spacing[0], "gradient") == 0:
        return list(spacing) * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"[gradient] expected {len(axes)} distances, got {len(spacing)}")
    steps: list[Any] = []
    for along, one in zip(axes, spacing, strict=True):
        if dimensions(one, "gradient") == 0:
            steps.append(one)
            continue
        places = host_array(one, "gradient")
        if places.shape != (x.shape[along],):
            raise ValueError(
                f"[gradient] expected {x.shape[along]} coordinates, got shape {places.shape}"
            )
        if places.dtype.kind in "iu":
            places = places.astype(np.float64)
        between = np.diff(places)
        even = between.size > 0 and bool((between == between[0]).all())
        steps.append(between[0] if even else between)
    return steps


def _derivative(x: Tensor, axis: int, step: Any, edge_order: int) -> Tensor:
    if x.shape[axis] < edge_order + 1:
        raise ValueError(
            f"[gradient] expected at least {edge_order + 1} samples, got shape {x.shape}"
        )
    before = (slice(None),) * axis

    def part(key: Any) -> Tensor:
        return x[(*before, key, ...)]

    out = empty_like(x)
    inner, even = (*before, slice(1, -1)), dimensions(step, "gradient") == 0
    low, high = part(slice(None, -2)), part(slice(2, None))
    if even:
        _C.assign(out[inner], (high - low) / (2.0 * step))
    else:
        middle = part(slice(1, -1))
        d1, d2 = step[:-1], step[1:]
        factors = (-d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2)))
        a, b, c = (one.reshape((-1,) + (1,) * (x.ndim - axis - 1)) for one in factors)
        _C.assign(out[inner], low * a + middle * b + high * c)
    ends = [(0, step if even else step[0]), (-1, step if even else step[-1])]
    for end, distance in ends:
        if edge_order == 1:
            value = (part(end + 1) - part(end)) if end == 0 else (part(end) - part(end - 1))
            _C.assign(out[(*before, end, ...)], value / distance)
            continue
        places = (0, 1, 2) if end == 0 else (-3, -2, -1)
        a, b, c = _edge_factors(step, end, even)
        value = part(places[0]) * a + part(places[1]) * b + part(places[2]) * c
        _C.assign(out[(*before, end, ...)], value)
    return out


def _edge_factors(step: Any, end: int, even: bool) -> tuple[Any, Any, Any]:
    """Of the three samples nearest to an end, in their order."""
    if even:
        return (-1.5 / step, 2.0 / step, -0.5 / step) if end == 0 else _last_factors(step)
    d1, d2 = (step[0], step[1]) if end == 0 else (step[-2], step[-1])
    if end == 0:
        return (
            -(2.0 * d1 + d2) / (d1 * (d1 + d2)),
            (d1 + d2) / (d1 * d2),
            -d1 / (d2 * (d1 + d2)),
        )
    return d2 / (d1 * (d1 + d2)), -(d2 + d1) / (d1 * d2), (2.0 * d2 + d1) / (d2 * (d1 + d2))


def _last_factors(step: Any) -> tuple[Any, Any, Any]:
    return 0.5 / step, -2.0 / step, 1.5 / step


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: SupportsIndex = -1) -> Tensor:
    """Return the integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor or array
        The samples.
    x : Tensor or array, optional
        Where they were taken, in one dimension or of the shape of y.
    dx : float
        Their distance, without x.
    axis : int
        The axis that goes.

    Examples
    --------
    >>> flow.trapezoid(flow.tensor([1.0, 2.0, 3.0])).item()
    4.0
    """
    given = on_one_device(y) if x is None else on_one_device(y, x)
    samples, along = given[0], operator.index(axis)
    if not -samples.ndim <= along < samples.ndim:
        raise AxisError(f"[trapezoid] axis {along} is out of bounds for {samples.ndim} dimensions")
    along %= samples.ndim
    width: Any = dx
    if x is not None and given[1].ndim == 1:
        width = _C.reshape(diff(given[1]), (-1,) + (1,) * (samples.ndim - along - 1), None)
    elif x is not None:
        width = diff(given[1], axis=axis)
    before = (slice(None),) * along
    pairs = samples[(*before, slice(1, None))] + samples[(*before, slice(None, -1))]
    areas: Tensor = width * pairs / 2.0
    return sum(areas, along)


if not TYPE_CHECKING:
    __all__ = exported(globals())
