"""Transforms along several axes, one after the other."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.fft.one_axis import computed_for, fft, ifft, irfft, rfft
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

Sizes = Sequence[int] | None
Axes = Sequence[int] | None
Transform = Callable[..., Tensor]

_PLANE = (-2, -1)


def fftn(
    x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Any = None
) -> Tensor:
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
    out : Tensor or array, optional
        Where the result goes, in a dtype of its kind, to which the result along each axis is cast.
        An array waits for it.

    Examples
    --------
    >>> flow.fft.fftn(flow.ones((2, 2))).numpy()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return _repeated("fftn", fft, x, s, axes, norm, out)


def ifftn(
    x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return the inverse of ``fftn``; parameters as there.

    Examples
    --------
    >>> flow.fft.ifftn(flow.ones((2, 2)))[0, 0].item()
    (1+0j)
    """
    return _repeated("ifftn", ifft, x, s, axes, norm, out)


def rfftn(
    x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return ``rfft`` along the last of the axes, then ``fft`` along the others.

    Examples
    --------
    >>> flow.fft.rfftn(flow.ones((4, 4))).shape
    (4, 3)
    """
    (given,) = on_one_device(x)
    sizes, along = _plan("rfftn", given, s, axes)
    if out is None:
        first = rfft(given, sizes[-1], along[-1], norm)
    else:
        first = computed_for(out, "rfft", given, sizes[-1], along[-1], norm)
    return _one_by_one("rfftn", fft, first, sizes[:-1], along[:-1], norm, out)


def irfftn(
    x: Any, /, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: Any = None
) -> Tensor:
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
    return irfft(result, sizes[-1], along[-1], norm, out=out)


def fft2(
    x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return ``fftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.fft2(flow.ones((2, 2)))[0, 0].item()
    (4+0j)
    """
    return fftn(x, s, axes, norm, out=out)


def ifft2(
    x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return ``ifftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.ifft2(flow.ones((2, 2)))[0, 0].item()
    (1+0j)
    """
    return ifftn(x, s, axes, norm, out=out)


def rfft2(
    x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return ``rfftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.rfft2(flow.ones((4, 4))).shape
    (4, 3)
    """
    return rfftn(x, s, axes, norm, out=out)


def irfft2(
    x: Any, /, s: Sizes = None, axes: Axes = _PLANE, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return ``irfftn`` along the last two axes.

    Examples
    --------
    >>> flow.fft.irfft2(flow.ones((4, 3))).shape
    (4, 4)
    """
    return irfftn(x, s, axes, norm, out=out)


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
    op: str, transform: Transform, x: Any, s: Sizes, axes: Axes, norm: str | None, out: Any
) -> Tensor:
    (result,) = on_one_device(x)
    sizes, along = _plan(op, result, s, axes)
    return _one_by_one(op, transform, result, sizes, along, norm, out)


def _one_by_one(
    op: str,
    transform: Transform,
    x: Tensor,
    sizes: Sequence[int],
    axes: Sequence[int],
    norm: str | None,
    out: Any,
) -> Tensor:
    """Transform x along axes, from the last to the first."""
    result = x
    for size, axis in zip(sizes[::-1], axes[::-1], strict=True):
        if out is None:
            result = transform(result, size, axis, norm)
        else:
            result = computed_for(out, transform.__name__, result, size, axis, norm)
    return result if out is None else store(op, out, result)


if not TYPE_CHECKING:
    __all__ = exported(globals())
