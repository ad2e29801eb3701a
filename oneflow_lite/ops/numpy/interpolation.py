"""Interpolation of sampled data."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    complex128,
    float64,
    isdtype,
)
from oneflow_lite.ops.creation.data import empty
from oneflow_lite.ops.elementwise import clip, isnan
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.searching import searchsorted
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """Return the values at x of the lines through given points, as float64 or complex128.

    Parameters
    ----------
    x : Tensor or array
        Where to.
    xp, fp : Tensor or array
        The coordinates of the points, which ascend, and the values there.
    left, right : scalar, optional
        What is below the first and above the last point; by default the value there.
    period : float, optional
        Of x and xp, which need not ascend then.

    Examples
    --------
    >>> flow.interp(flow.tensor([0.5, 1.5, 9.0]), [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]).numpy()
    array([2. , 2.5, 2. ])
    """
    where, points, values = on_one_device(x, xp, fp)
    complex_ = isdtype(values.dtype, "complex floating")
    values = _C.astype(values, complex128 if complex_ else float64, False)
    for one in (where, points):
        if isdtype(one.dtype, "complex floating"):
            raise TypeError(f"[interp] expected real coordinates, got {one.dtype}")
    where, points = (_C.astype(one, float64, False) for one in (where, points))
    if points.ndim != 1 or points.shape != values.shape:
        raise ValueError(
            f"[interp] expected as many values as points, got {values.shape} and {points.shape}"
        )
    if not points.size:
        raise ValueError("[interp] expected at least one point, got none")
    if period is not None:
        where, points, values = _periodic(where, points, values, period)
        left = right = None
    if not complex_:
        return _lines(where, points, values, left, right, False)
    result = empty(where.shape, complex128, device=where.device)
    for name in ("real", "imag"):
        below, above = (None if end is None else getattr(end, name) for end in (left, right))
        part = _lines(where, points, getattr(values, name), below, above, True)
        if name == "imag" and points.size > 1:
            part = _C.where(isnan(where), 0.0, part)  # the real part alone is NaN
        _C.assign(getattr(result, name), part)
    return result


def _periodic(where: Tensor, points: Tensor, values: Tensor, period: Any) -> tuple[Tensor, ...]:
    if not isinstance(period, Tensor) and period == 0:
        raise ValueError("[interp] expected a period other than 0")
    length = abs(period)
    where, points = where % length, points % length
    order = argsort(points)
    points, values = points[order], values[order]
    points = concat([points[-1:] - length, points, points[:1] + length])
    return where, points, concat([values[-1:], values, values[:1]])


def _lines(
    where: Tensor, points: Tensor, values: Tensor, left: Any, right: Any, is_part: bool
) -> Tensor:
    ends = (_end(values[:1], left), _end(values[-1:], right))
    if not _C.device_types()[where.device.type].runs_host_kernels:
        return _composed_lines(where, points, values, *ends)
    inputs = [points, ravel(where), values, *ends]
    outputs = [((where.size,), float64)]
    (made,) = _C.call_kernel("interp", "interpolate", inputs, outputs, (is_part,))
    return _C.reshape(made, where.shape, None)


def _end(value: Tensor, given: Any) -> Tensor:
    if given is None:
        return value
    if isdtype((given := on_one_device(value, given)[1]).dtype, "complex floating"):
        raise TypeError(f"[interp] expected real ends for real values, got {given.dtype}")
    return _C.reshape(_C.astype(given, float64, False), (1,), None)


def _composed_lines(where: Tensor, points: Tensor, values: Tensor, left: Any, right: Any) -> Tensor:
    """One operation after the other, where there is no kernel."""
    last = points.size - 1
    place = clip(searchsorted(points, where, side="right") - 1, 0, max(last - 1, 0))
    after = clip(place + 1, 0, last)
    x0, x1, y0, y1 = points[place], points[after], values[place], values[after]
    slope = (y1 - y0) / (x1 - x0)
    line = slope * (where - x0) + y0
    other = slope * (where - x1) + y1
    line = _C.where(isnan(line), _C.where(isnan(other) & (y0 == y1), y0, other), line)
    line = _C.where(where == x0, y0, line)
    lowest, highest = points[0, ...], points[-1, ...]
    line = _C.where(where == highest, values[-1, ...], line)
    line = _C.where(where < lowest, left[0, ...], line)
    line = _C.where(where > highest, right[0, ...], line)
    return _C.where(isnan(where), where, line) if last else line


if not TYPE_CHECKING:
    __all__ = exported(globals())
