"""Covariances, derivatives, integrals, convolutions and interpolation of sampled data."""

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    bool as bool_dtype,
    canonical,
    complex128,
    float32,
    float64,
    is_narrow,
    isdtype,
    result_type,
)
from oneflow_lite.ops.creation import asarray, empty, zeros
from oneflow_lite.ops.elementwise import clip, conj, isnan, real, sqrt
from oneflow_lite.ops.joining import concat
from oneflow_lite.ops.linalg import dot
from oneflow_lite.ops.manipulation import ravel, squeeze
from oneflow_lite.ops.operands import dimensions, host_array, on_one_device, promoted
from oneflow_lite.ops.ranges import diag
from oneflow_lite.ops.reduction import average, sum
from oneflow_lite.ops.searching import searchsorted
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.ops.table import exported
from oneflow_lite.ops.utility import diff

_MODES = ("full", "same", "valid")
_INEXACT = ("real floating", "complex floating")


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the covariance matrix of variables.

    Parameters
    ----------
    m, y : Tensor or array
        A variable, or a matrix with a variable in each row; those of y are added.
    rowvar : bool
        False: variables are the columns.
    bias : bool
        Divide by the number of observations instead of one less.
    ddof : int, optional
        What is taken from the number of observations, whatever ``bias`` says.
    fweights, aweights : Tensor or array, optional
        How often each observation occurs, and how much it counts. Those of the host are checked.
    dtype : dtype, optional
        To compute in; by default float64 at least.

    Examples
    --------
    >>> flow.cov(flow.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"[cov] expected ddof to be an integer, got {ddof}")
    given = on_one_device(m) if y is None else on_one_device(m, y)
    for x in given:
        if x.ndim > 2:
            raise ValueError(f"[cov] expected at most two dimensions, got shape {x.shape}")
    wanted = result_type(*given, float64) if dtype is None else canonical(dtype, "cov")
    if not isdtype(wanted, _INEXACT):
        raise TypeError(f"[cov] expected a floating or complex dtype, got {wanted}")
    rows = [_rows(_C.astype(x, wanted, False)) for x in given]
    if not rowvar:  # a y of one row stays as it is, an m of one dimension
        stay = [given[0].ndim == 1, rows[-1].shape[0] == 1]
        rows = [x if as_is else x.T for x, as_is in zip(rows, stay, strict=False)]
    if rows[0].shape[0] == 0:
        return empty((0, 0), device=given[0].device)
    variables = rows[0] if y is None else concat(rows, 0)
    less = (0 if bias else 1) if ddof is None else int(ddof)
    weights, factor = _weighted(variables, fweights, aweights, less)
    centred = variables - average(variables, 1, weights)[:, None]
    right = centred if weights is None else centred * weights
    products = dot(centred, conj(right.T) if isdtype(wanted, "complex floating") else right.T)
    return squeeze(_C.astype(products * factor, products.dtype, False))


def _rows(x: Tensor) -> Tensor:
    return x if x.ndim == 2 else _C.reshape(x, (1, -1), None)


def _weighted(x: Tensor, fweights: Any, aweights: Any, less: int) -> tuple[Tensor | None, Any]:
    """The weight of each observation, and what the sums of products are multiplied by."""
    counts = _weights(x, fweights, "fweights")
    weights = shares = _weights(x, aweights, "aweights")
    if counts is not None:
        weights = counts if shares is None else counts * shares
    if weights is None:
        left = x.shape[1] - less
        return None, np.divide(1.0, left if left > 0 else 0.0)
    total = _C.reshape(sum(_C.astype(weights, result_type(x, weights), False)), (), None)
    if less == 0:
        left_of = total
    elif shares is None:
        left_of = total - less
    else:
        left_of = total - less * sum(weights * shares) / total
    return weights, 1 / _C.where(left_of <= 0, 0.0, left_of)


def _weights(x: Tensor, weights: Any, name: str) -> Tensor | None:
    if weights is None:
        return None
    if not isinstance(weights, Tensor):
        numbers = host_array(weights, "cov").astype(float)
        if name == "fweights" and (numbers != np.round(numbers)).any():
            raise TypeError(f"[cov] expected fweights to be integers, got {weights}")
        if (numbers < 0).any():
            raise ValueError(f"[cov] {name} cannot be negative, got {weights}")
    given = _C.astype(asarray(weights, device=x.device), float64, False)
    if given.ndim != 1 or given.shape[0] != x.shape[1]:
        raise RuntimeError(f"[cov] expected {x.shape[1]} {name}, got shape {given.shape}")
    return given


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Return the correlation coefficients of variables. Parameters as for ``cov``.

    Examples
    --------
    >>> flow.corrcoef(flow.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    covariance = cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = sqrt(real(diag(covariance)))
    scaled = covariance / deviation[:, None] / deviation[None, :]
    if not isdtype(scaled.dtype, "complex floating"):
        return clip(scaled, -1, 1)
    for part in (scaled.real, scaled.imag):
        _C.assign(part, clip(part, -1, 1))
    return scaled


def gradient(
    f: Any, *spacing: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
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
        axes = np.lib.array_utils.normalize_axis_tuple(
            tuple(range(given.ndim)) if axis is None else axis, given.ndim
        )
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

    out = empty(x.shape, x.dtype, device=x.device)
    inner, even = (*before, slice(1, -1)), dimensions(step, "gradient") == 0
    low, middle, high = part(slice(None, -2)), part(slice(1, -1)), part(slice(2, None))
    if even:
        _C.assign(out[inner], (high - low) / (2.0 * step))
    else:
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


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
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
    return sum(width * pairs / 2.0, along)


@_C.native
def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """Return the convolution of two sequences of numbers.

    Parameters
    ----------
    a, v : Tensor or array
        In one dimension. The work is done for all of the longer one, by each number of the shorter.
    mode : {"full", "same", "valid"}
        Every overlap; as many as the longer one has; or where they overlap completely.

    Examples
    --------
    >>> flow.convolve(flow.tensor([1, 2, 3]), flow.tensor([0, 1])).numpy()
    array([0, 1, 2, 3])
    """
    long, short = _sequences(a, v, "convolve")
    if short.size > long.size:
        long, short = short, long
    return _overlaps(long, short[::-1], mode, "convolve")


@_C.native
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Return the cross-correlation of two sequences; v is conjugated. Parameters as ``convolve``.

    Examples
    --------
    >>> flow.correlate(flow.tensor([1, 2, 3]), flow.tensor([0, 1, 2])).numpy()
    array([8])
    """
    long, short = _sequences(a, v, "correlate")
    window = conj(short) if short.dtype.kind == "c" else short
    if short.size <= long.size:
        return _overlaps(long, window, mode, "correlate")
    return _overlaps(window, long, mode, "correlate")[::-1]


def _sequences(a: Any, v: Any, op: str) -> list[Tensor]:
    given = on_one_device(a, v)
    if op == "convolve":  # takes numbers for sequences of one
        given = [x if x.ndim else x[None] for x in given]
    for x in given:
        if x.ndim != 1 or x.size == 0:
            raise ValueError(f"[{op}] expected one dimension with elements, got shape {x.shape}")
    return promoted(*given)


def _overlaps(long: Tensor, window: Tensor, mode: str, op: str) -> Tensor:
    """Sums of products with the window at each place over the long sequence."""
    n, m = long.size, window.size
    if mode == "full":
        before, count = m - 1, n + m - 1
    elif mode == "same":
        before, count = m // 2, n
    elif mode == "valid":
        before, count = 0, n - m + 1
    else:
        raise ValueError(f"[{op}] expected mode to be one of {_MODES}, got {mode!r}")
    if long.dtype.kind not in "biufc":  # bfloat16, of which NumPy has no dot product
        wide, factors = (_C.astype(x, float32, False) for x in (long, window))
        return _C.astype(_overlaps(wide, factors, mode, op), long.dtype, False)
    made = None if long.device.type == "cuda" else _C.correlate(long, window, before, count)
    return _summed_overlaps(long, window, before, count) if made is None else made


def _summed_overlaps(long: Tensor, window: Tensor, before: int, count: int) -> Tensor:
    """One product after the other, where there is no kernel."""
    n, m = long.size, window.size
    dtype = float32 if is_narrow(long.dtype) else long.dtype
    total = zeros(n + m - 1, dtype, device=long.device)
    wide, factors = _C.astype(long, dtype, False), _C.astype(window, dtype, False)
    for i in range(m):
        place = total[i : i + n]
        place += wide * factors[m - 1 - i, ...]
    return _C.astype(total, long.dtype, False)[m - 1 - before :][:count]


@_C.native
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
    if where.device.type == "cuda":
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
