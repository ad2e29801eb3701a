"""The frequencies of the points of a transform, and the order in which they are."""

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import canonical, float64, kind_of
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.rearranging import roll
from oneflow_lite.ops.operands import integers, on_one_device
from oneflow_lite.ops.table import exported

Axes = Sequence[int] | None


def fftfreq(
    n: SupportsIndex, /, d: float = 1.0, *, dtype: Any = None, device: DeviceLike = None
) -> Tensor:
    """Return the frequencies of the points of ``fft``, in cycles per unit of d.

    Parameters
    ----------
    n : int
        How many points.
    d : float
        The distance between two samples.
    dtype : dtype, optional
        A real floating dtype; float64 by default.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> flow.fft.fftfreq(4).numpy()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"[fftfreq] expected a number of points, got {count}")
    half = count // 2
    rising = arange(count - half, device=device)
    numbers = concat([rising, arange(-half, 0, device=device)]) if half else rising
    return _frequencies("fftfreq", numbers, count, d, dtype)


def rfftfreq(
    n: SupportsIndex, /, d: float = 1.0, *, dtype: Any = None, device: DeviceLike = None
) -> Tensor:
    """Return the frequencies of the points of ``rfft``; parameters as for ``fftfreq``.

    Examples
    --------
    >>> flow.fft.rfftfreq(4).numpy()
    array([0.  , 0.25, 0.5 ])
    """
    count = operator.index(n)
    return _frequencies("rfftfreq", arange(count // 2 + 1, device=device), count, d, dtype)


def fftshift(x: Any, /, axes: int | Axes = None) -> Tensor:
    """Return x with the frequency 0 in the middle of the axes (None: of all).

    Examples
    --------
    >>> flow.fft.fftshift(flow.arange(5)).numpy()
    array([3, 4, 0, 1, 2])
    """
    (given,) = on_one_device(x)
    return _shifted("fftshift", given, axes, lambda size: size // 2)


def ifftshift(x: Any, /, axes: int | Axes = None) -> Tensor:
    """Return the inverse of ``fftshift``.

    Examples
    --------
    >>> flow.fft.ifftshift(flow.tensor([3, 4, 0, 1, 2])).numpy()
    array([0, 1, 2, 3, 4])
    """
    (given,) = on_one_device(x)
    return _shifted("ifftshift", given, axes, lambda size: -(size // 2))


def _frequencies(op: str, numbers: Tensor, n: int, d: float, dtype: Any) -> Tensor:
    """Return the numbers of the frequencies in units of 1 / (n * d)."""
    wanted = float64 if dtype is None else canonical(dtype, op)
    if kind_of(wanted) != "f":
        raise TypeError(f"[{op}] expected a real floating dtype, got {wanted}")
    return _C.astype(numbers * (1.0 / (n * d)), wanted, False)


def _shifted(op: str, x: Tensor, axes: int | Axes, shift: Callable[[int], int]) -> Tensor:
    """X rolled by ``shift(size)`` along each axis."""
    along = range(x.ndim) if axes is None else integers(op, axes)
    for axis in along:
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"[{op}] axis {axis} is out of bounds for {x.ndim} dimensions")
    return roll(x, [shift(x.shape[axis]) for axis in along], list(along))


if not TYPE_CHECKING:
    __all__ = exported(globals())
