"""Discrete Fourier transforms: the extension ``fft`` of the array API standard, with NumPy's bits.

All transforms take ``norm``: which direction is divided by the number of points, ``"forward"`` or
``"backward"`` (the default), or both by its root, ``"ortho"``.

>>> flow.fft.fft(flow.tensor([1.0, 0.0, 0.0, 0.0])).numpy()
array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
"""

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.fft import _pocketfft_umath as loops  # type: ignore[attr-defined]

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import DType, canonical, computed_in, float64, kind_of
from oneflow_lite.ops import elementwise
from oneflow_lite.ops.creation.data import full
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.gufunc import (
    PREPARED_CALLS,
    GufuncCall,
    Shape,
    as_dtype,
    prepare_gufunc,
)
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.rearranging import roll
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

Sizes = Sequence[int] | None
Axes = Sequence[int] | None
Transform = Callable[..., Tensor]

_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
_PLANE = (-2, -1)


def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the Fourier transform along an axis.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    n : int, optional
        How many points: the axis is cropped, or padded with zeros.
    axis : int
        The axis.
    norm : str, optional
        ``"backward"``, ``"ortho"`` or ``"forward"``.

    Returns
    -------
    Tensor
        complex64 for float32, float16, bfloat16 and complex64, complex128 otherwise.

    Examples
    --------
    >>> flow.fft.fft(flow.tensor([1.0, 2.0])).numpy()
    array([ 3.+0.j, -1.+0.j])
    """
    return _complex("fft", loops.fft, x, n, axis, norm)


def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of ``fft``; parameters as there.

    Examples
    --------
    >>> flow.fft.ifft(flow.tensor([3.0, -1.0])).numpy()
    array([1.+0.j, 2.+0.j])
    """
    return _complex("ifft", loops.ifft, x, n, axis, _opposite("ifft", norm))


def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the first half (``n // 2 + 1`` points) of the transform of real numbers.

    Raises
    ------
    TypeError
        For complex numbers.

    Examples
    --------
    >>> flow.fft.rfft(flow.tensor([1.0, 2.0, 3.0])).shape
    (2,)
    """
    return _from_real("rfft", x, n, axis, norm)


def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of ``rfft``: n real points, by default ``2 * (size - 1)``.

    Examples
    --------
    >>> flow.fft.irfft(flow.tensor([3.0, -1.0])).numpy()
    array([1., 2.])
    """
    return _to_real("irfft", x, n, axis, _opposite("irfft", norm))


def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the transform, n real points, of a signal with Hermitian symmetry (its first half).

    Examples
    --------
    >>> flow.fft.hfft(flow.tensor([1.0, 2.0, 1.0])).numpy()
    array([ 6.,  0., -2.,  0.])
    """
    return _to_real("hfft", elementwise.conj(*on_one_device(x)), n, axis, norm)


def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of ``hfft``: the first half, ``n // 2 + 1`` points.

    Examples
    --------
    >>> flow.fft.ihfft(flow.tensor([1.0, 2.0, 3.0])).shape
    (2,)
    """
    return elementwise.conj(_from_real("ihfft", x, n, axis, _opposite("ihfft", norm)))


def fftn(x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Tensor:
    """Return the Fourier transform along several axes.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    s : sequence of int, optional
        How many points along each axis (-1: as many as there are).
    axes : sequence of int, optional
        The axes; None: the last ``len(s)``, or all.
    norm : str, optional
        As for ``fft``.

    Examples
    --------
    >>> flow.fft.fftn(flow.ones((2, 2))).numpy()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _repeated("fftn", fft, x, s, axes, norm)


def ifftn(x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Tensor:
    """Return the inverse of ``fftn``; parameters as there.

    Examples
    --------
    >>> flow.fft.ifftn(flow.ones((2, 2)))[0, 0].item()
    (1+0j)
    """
    return _repeated("ifftn", ifft, x, s, axes, norm)


def rfftn(x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Tensor:
    """Return ``rfft`` along the last of the axes, then ``fft`` along the others.

    Examples
    --------
    >>> flow.fft.rfftn(flow.ones((4, 4))).shape
    (4, 3)
    """
    (given,) = on_one_device(x)
    sizes, along = _plan("rfftn", given, s, axes)
    result = rfft(given, sizes[-1], along[-1], norm)
    for size, axis in zip(sizes[-2::-1], along[-2::-1], strict=True):
        result = fft(result, size, axis, norm)
    return result


def irfftn(x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Tensor:
    """Return the inverse of ``rfftn``: real numbers, ``2 * (size - 1)`` along the last axis.

    Examples
    --------
    >>> flow.fft.irfftn(flow.ones((4, 3))).shape
    (4, 4)
    """
    (given,) = on_one_device(x)
    sizes, along = _plan("irfftn", given, s, axes)
    if s is None:
        sizes[-1] = 2 * (given.shape[along[-1]] - 1)
    result = given
    for size, axis in zip(sizes[:-1], along[:-1], strict=True):
        result = ifft(result, size, axis, norm)
    return irfft(result, sizes[-1], along[-1], norm)


def fft2(x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None) -> Tensor:
    """Return ``fftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.fft2(flow.ones((2, 2)))[0, 0].item()
    (4+0j)
    """
    return fftn(x, s, axes, norm)


def ifft2(x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None) -> Tensor:
    """Return ``ifftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.ifft2(flow.ones((2, 2)))[0, 0].item()
    (1+0j)
    """
    return ifftn(x, s, axes, norm)


def rfft2(x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None) -> Tensor:
    """Return ``rfftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.rfft2(flow.ones((4, 4))).shape
    (4, 3)
    """
    return rfftn(x, s, axes, norm)


def irfft2(x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None) -> Tensor:
    """Return ``irfftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.irfft2(flow.ones((4, 3))).shape
    (4, 4)
    """
    return irfftn(x, s, axes, norm)


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


# --- one axis; `norm` is that of the direction computed: "forward" divides by the number of points


def _operand(x: Any) -> Tensor:
    (given,) = on_one_device(x)
    return as_dtype(given, computed_in(given.dtype))


def _complex(
    op: str, ufunc: np.ufunc, x: Any, n: int | None, axis: int, norm: str | None
) -> Tensor:
    given = _operand(x)
    size = _points(op, given, n, axis)
    return _transform(op, ufunc, given, size, size, axis, norm)


def _from_real(op: str, x: Any, n: int | None, axis: int, norm: str | None) -> Tensor:
    given = _operand(x)
    if given.dtype.kind == "c":
        raise TypeError(f"[{op}] expected real numbers, got {given.dtype}")
    size = _points(op, given, n, axis)
    ufunc = loops.rfft_n_odd if size % 2 else loops.rfft_n_even
    return _transform(op, ufunc, given, size, size // 2 + 1, axis, norm)


def _to_real(op: str, x: Any, n: int | None, axis: int, norm: str | None) -> Tensor:
    given = _operand(x)
    size = _points(op, given, n, axis, lambda half: 2 * (half - 1))
    return _transform(op, loops.irfft, given, size, size, axis, norm)


def _transform(
    op: str, ufunc: np.ufunc, x: Tensor, points: int, size: int, axis: int, norm: str | None
) -> Tensor:
    """``size`` results of a transform of ``points``, by the loop that NumPy takes."""
    if x.shape[axis] == 0:  # the loops read the first point, and may compute in the operand
        shape = list(x.shape)
        shape[axis] = 1
        x = full(shape, 0, x.dtype, device=x.device)
    ready = _prepared(op, ufunc, x.shape, x.dtype, points, size, axis, norm)
    call, order = ready.call, ready.order
    wanted, real = call.dtypes_in
    factor = full((), ready.factor, real, device=x.device)
    turned = x if order is None else _C.permute(x, order)
    (result,) = call.issue((as_dtype(turned, wanted), factor), like=turned)
    if order is not None:
        result = _C.permute(result, [order.index(d) for d in range(x.ndim)])
    return result if ready.made == ready.dtype else _C.astype(result, ready.dtype, True)


class _Prepared(NamedTuple):
    """A transform along the last axis, to which ``order`` brings another one (None: it is that).

    ``made`` is the dtype of the results, and ``dtype`` the one that is wanted.
    """

    call: GufuncCall
    factor: Any
    dtype: DType
    made: DType
    order: list[int] | None


@lru_cache(PREPARED_CALLS)
def _prepared(
    op: str,
    ufunc: np.ufunc,
    given_shape: Shape,
    given: DType,
    points: int,
    size: int,
    axis: int,
    norm: str | None,
) -> _Prepared:
    last = axis % len(given_shape)
    order = [d for d in range(len(given_shape)) if d != last] + [last]
    factor = _factor(op, norm, points, _real(given))
    weak = int if type(factor) is int else factor.dtype
    dtype = _real(given) if ufunc is loops.irfft else np.result_type(given, 1j)
    types = [one.char for one in ufunc.resolve_dtypes((given, weak, dtype))]
    call = prepare_gufunc(
        op,
        ufunc,
        f"{types[0]}{types[1]}->{types[2]}",
        [tuple(given_shape[d] for d in order), ()],
        sizes={str(ufunc.signature)[-2]: size},
        work=5.0 * points * (1 + math.log2(points)),
        divide=True,
    )
    ((_, made),) = call.results
    moved = None if last == len(given_shape) - 1 else order
    return _Prepared(call, factor, dtype, made, moved)


def _factor(op: str, norm: str | None, points: int, real: np.dtype[Any]) -> Any:
    """What the results are multiplied by; NumPy's plain 1 where that is nothing."""
    if norm not in _OPPOSITE:
        raise ValueError(f"[{op}] expected norm backward, ortho or forward, got {norm!r}")
    if norm in (None, "backward"):
        return 1
    divisor = np.sqrt(points, dtype=real) if norm == "ortho" else points
    return np.reciprocal(divisor, dtype=real)


def _opposite(op: str, norm: str | None) -> str:
    if norm not in _OPPOSITE:
        raise ValueError(f"[{op}] expected norm backward, ortho or forward, got {norm!r}")
    return _OPPOSITE[norm]


def _points(
    op: str, x: Tensor, n: int | None, axis: int, default: Callable[[int], int] = operator.index
) -> int:
    if not -x.ndim <= operator.index(axis) < x.ndim:
        raise IndexError(f"[{op}] axis {axis} is out of bounds for {x.ndim} dimensions")
    points = default(x.shape[axis]) if n is None else operator.index(n)
    if points < 1:
        raise ValueError(f"[{op}] expected at least 1 point, got {points}")
    return points


def _real(dtype: DType) -> DType:
    """The dtype of the factor, and of real results."""
    return np.result_type(np.empty(0, dtype).real.dtype, 1.0)


# --- several axes


def _plan(op: str, x: Tensor, s: Sizes, axes: Axes) -> tuple[list[int], list[int]]:
    """Return how many points along which axes."""
    if s is None and axes is None:
        return list(x.shape), list(range(-x.ndim, 0))
    if axes is None:
        count = x.ndim if s is None else len(s)
        along = list(range(-count, 0))
    else:
        along = list(_C.integers(axes, op))
    for axis in along:
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"[{op}] axis {axis} is out of bounds for {x.ndim} dimensions")
    sizes = [x.shape[axis] for axis in along] if s is None else _C.integers(s, op)
    if len(sizes) != len(along):
        raise ValueError(
            f"[{op}] expected as many sizes as axes, got {len(sizes)} and {len(along)}"
        )
    return [x.shape[d] if n == -1 else n for n, d in zip(sizes, along, strict=True)], along


def _repeated(
    op: str, transform: Transform, x: Any, s: Sizes, axes: Axes, norm: str | None
) -> Tensor:
    (result,) = on_one_device(x)
    sizes, along = _plan(op, result, s, axes)
    for size, axis in zip(sizes[::-1], along[::-1], strict=True):
        result = transform(result, size, axis, norm)
    return result


def _frequencies(op: str, numbers: Tensor, n: int, d: float, dtype: Any) -> Tensor:
    """Return the numbers of the frequencies in units of 1 / (n * d)."""
    wanted = float64 if dtype is None else canonical(dtype, op)
    if kind_of(wanted) != "f":
        raise TypeError(f"[{op}] expected a real floating dtype, got {wanted}")
    return _C.astype(numbers * (1.0 / (n * d)), wanted, False)


def _shifted(op: str, x: Tensor, axes: int | Axes, shift: Callable[[int], int]) -> Tensor:
    """X rolled by ``shift(size)`` along each axis."""
    along = range(x.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    for axis in along:
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"[{op}] axis {axis} is out of bounds for {x.ndim} dimensions")
    return roll(x, [shift(x.shape[axis]) for axis in along], list(along))


if not TYPE_CHECKING:
    __all__ = exported(globals())
