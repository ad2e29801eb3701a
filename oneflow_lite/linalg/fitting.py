"""Polynomials that fit samples."""

from typing import TYPE_CHECKING, Any, Literal, overload

from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import finfo
from oneflow_lite.linalg.solving import lstsq
from oneflow_lite.ops.elementwise import sqrt
from oneflow_lite.ops.numpy.polynomials import vander
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics.reduction import sum
from oneflow_lite.ops.table import exported


@overload
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = ...,
    full: Literal[False] = ...,
    w: Any = ...,
) -> Tensor: ...
@overload
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = ...,
    *,
    full: Literal[True],
    w: Any = ...,
) -> tuple[Tensor, Tensor, Tensor, Tensor, float]: ...
@overload
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = ..., full: bool = ..., w: Any = ...
) -> Any: ...
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None
) -> Any:
    """Return the coefficients of the polynomial that fits samples by least squares.

    Parameters
    ----------
    x : Tensor or array
        Where samples were taken, in one dimension.
    y : Tensor or array
        The samples, or a column for each of several polynomials.
    deg : int
        The highest power.
    rcond : float, optional
        As for ``linalg.lstsq``; by default the number of samples times the precision.
    full : bool
        Return residuals, rank, singular values and rcond too.
    w : Tensor or array, optional
        What each sample counts.

    Examples
    --------
    >>> fit = flow.polyfit(flow.tensor([0.0, 1.0, 2.0]), flow.tensor([1.0, 3.0, 5.0]), 1)
    >>> fit.round(6).numpy()
    array([2., 1.])
    """
    given = on_one_device(x, y) if w is None else on_one_device(x, y, w)
    places, samples, *weights = (one + 0.0 for one in given)
    if deg < 0:
        raise ValueError(f"[polyfit] expected deg of at least 0, got {deg}")
    if places.ndim != 1 or not places.size or samples.ndim not in (1, 2):
        raise TypeError(
            f"[polyfit] expected x in one dimension and y in one or two, got shapes {places.shape} "
            f"and {samples.shape}"
        )
    for one in (samples, *weights):
        if one.shape[:1] != places.shape:
            raise TypeError(f"[polyfit] expected {places.size} samples, got shape {one.shape}")
    part = len(places) * finfo(places.dtype).eps if rcond is None else rcond
    left = vander(places, deg + 1)
    if weights:
        left = left * weights[0][:, None]
        samples = samples * (weights[0] if samples.ndim == 1 else weights[0][:, None])
    scale = sqrt(sum(left * left, 0))
    solution, residuals, rank, singular = lstsq(left / scale, samples, part)
    fitted: Tensor = solution / (scale if samples.ndim == 1 else scale[:, None])
    return (fitted, residuals, rank, singular, part) if full else fitted


if not TYPE_CHECKING:
    __all__ = exported(globals())
