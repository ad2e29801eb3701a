"""Polynomials that fit samples."""

from typing import TYPE_CHECKING, Any, Literal, overload

from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import finfo
from oneflow_lite.linalg.solving import inv, lstsq
from oneflow_lite.ops.elementwise import sqrt
from oneflow_lite.ops.linear_algebra import outer
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
    cov: Literal[False] = ...,
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
    cov: bool | Literal["unscaled"] = ...,
) -> tuple[Tensor, Tensor, Tensor, Tensor, float]: ...
@overload
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = ...,
    full: Literal[False] = ...,
    w: Any = ...,
    *,
    cov: Literal[True, "unscaled"],
) -> tuple[Tensor, Tensor]: ...
@overload
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = ...,
    full: bool = ...,
    w: Any = ...,
    cov: bool | Literal["unscaled"] = ...,
) -> Any: ...
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | Literal["unscaled"] = False,
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
    cov : bool or "unscaled"
        Unless ``full``, return the covariance matrix of the coefficients too, one for each
        polynomial in a third dimension. It is scaled by the residuals, for which there must be more
        samples than coefficients, or not.

    Examples
    --------
    >>> fit = flow.polyfit(flow.tensor([0.0, 1.0, 2.0]), flow.tensor([1.0, 3.0, 5.0]), 1)
    >>> fit.round(6).numpy()
    array([2., 1.])
    """
    deg = int(deg)  # of any number, as in NumPy
    places, samples, weight = _checked(x, y, deg, w)
    part = len(places) * finfo(places.dtype).eps if rcond is None else rcond
    left = vander(places, deg + 1)
    if weight is not None:
        left *= weight[:, None]  # in their dtypes, as NumPy does
        samples *= weight if samples.ndim == 1 else weight[:, None]
    scale = sqrt(sum(left * left, 0))
    left = left / scale
    solution, residuals, rank, singular = lstsq(left, samples, part)
    fitted: Tensor = solution / (scale if samples.ndim == 1 else scale[:, None])
    if full:
        return fitted, residuals, rank, singular, part
    if not cov:
        return fitted
    varied = inv(left.T @ left) / outer(scale, scale)
    varied = varied if samples.ndim == 1 else varied[:, :, None]
    return fitted, varied if cov == "unscaled" else varied * _variance(residuals, places, deg)


def _variance(residuals: Tensor, places: Tensor, deg: int) -> Tensor:
    """That of the samples around the polynomial, for each of several."""
    free = len(places) - (deg + 1)
    if free <= 0:
        raise ValueError(
            f"[polyfit] cov: expected more samples than the {deg + 1} coefficients, got "
            f'{len(places)}; cov="unscaled" needs none more'
        )
    return residuals / free


def _checked(x: Any, y: Any, deg: int, w: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Where samples were taken, the samples and their weights, as floating-point numbers."""
    given = on_one_device(x, y) if w is None else on_one_device(x, y, w)
    places, samples, *weights = (one + 0.0 for one in given)
    if deg < 0:
        raise ValueError(f"[polyfit] expected deg of at least 0, got {deg}")
    if places.ndim != 1 or not places.size or samples.ndim not in (1, 2):
        raise TypeError(
            f"[polyfit] expected x in one dimension and y in one or two, got shapes {places.shape} "
            f"and {samples.shape}"
        )
    for one in weights:
        if one.ndim != 1:
            raise TypeError(f"[polyfit] expected w in one dimension, got shape {one.shape}")
    for one in (samples, *weights):
        if one.shape[:1] != places.shape:
            raise TypeError(f"[polyfit] expected {places.size} samples, got shape {one.shape}")
    return places, samples, weights[0] if weights else None


if not TYPE_CHECKING:
    __all__ = exported(globals())
