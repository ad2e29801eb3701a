"""Transforms along one axis, by NumPy's loops."""

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.fft import _pocketfft_umath as loops  # type: ignore[attr-defined]

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, computed_in
from oneflow_lite.ops import elementwise
from oneflow_lite.ops.creation.data import ascontiguousarray, full
from oneflow_lite.ops.gufunc import (
    PREPARED_CALLS,
    GufuncCall,
    Shape,
    as_dtype,
    prepare_gufunc,
)
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def fft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
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
    out : Tensor or array, optional
        Where the result goes, in a dtype of its kind. The other axes may be longer, as those of
        operands that are broadcast. An array waits for it.

    Returns
    -------
    Tensor
        complex64 for float32, float16, bfloat16 and complex64, complex128 otherwise.

    Examples
    --------
    >>> flow.fft.fft(flow.tensor([1.0, 2.0])).numpy()
    array([ 3.+0.j, -1.+0.j])
    """
    made = _complex("fft", loops.fft, x, n, axis, norm, out)
    return made if out is None else _stored("fft", out, made, axis)


def ifft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return the inverse of ``fft``; parameters as there.

    Examples
    --------
    >>> flow.fft.ifft(flow.tensor([3.0, -1.0])).numpy()
    array([1.+0.j, 2.+0.j])
    """
    made = _complex("ifft", loops.ifft, x, n, axis, _opposite("ifft", norm), out)
    return made if out is None else _stored("ifft", out, made, axis)


def rfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
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
    made = _from_real("rfft", x, n, axis, norm, out)
    return made if out is None else _stored("rfft", out, made, axis)


def irfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return the inverse of ``rfft``: n real points, by default ``2 * (size - 1)``.

    Examples
    --------
    >>> flow.fft.irfft(flow.tensor([3.0, -1.0])).numpy()
    array([1., 2.])
    """
    made = _to_real("irfft", x, n, axis, _opposite("irfft", norm), out)
    return made if out is None else _stored("irfft", out, made, axis)


def hfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return the transform, n real points, of a signal with Hermitian symmetry (its first half).

    Examples
    --------
    >>> flow.fft.hfft(flow.tensor([1.0, 2.0, 1.0])).numpy()
    array([ 6.,  0., -2.,  0.])
    """
    made = _to_real("hfft", elementwise.conj(*on_one_device(x)), n, axis, norm, out)
    return made if out is None else _stored("hfft", out, made, axis)


def ihfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """Return the inverse of ``hfft``: the first half, ``n // 2 + 1`` points.

    Examples
    --------
    >>> flow.fft.ihfft(flow.tensor([1.0, 2.0, 3.0])).shape
    (2,)
    """
    made = elementwise.conj(_from_real("ihfft", x, n, axis, _opposite("ihfft", norm), out))
    return made if out is None else _stored("ihfft", out, made, axis)


def computed_for(out: Any, name: str, x: Tensor, n: int, axis: int, norm: str | None) -> Tensor:
    """Return what fft, ifft or rfft puts into a target, in its dtype; the target stays."""
    if name == "rfft":
        return _from_real(name, x, n, axis, norm, out)
    if name == "fft":
        return _complex(name, loops.fft, x, n, axis, norm, out)
    return _complex(name, loops.ifft, x, n, axis, _opposite(name, norm), out)


def _stored(op: str, out: Any, made: Tensor, axis: int) -> Tensor:
    """Put the result into ``out``, which has as many dimensions, and as many points."""
    shape = required_target(op, out).shape
    if len(shape) != made.ndim or shape[axis] != made.shape[axis]:
        raise ValueError(f"[{op}] expected out of shape {made.shape}, got {shape}")
    stored: Tensor = store(op, out, made, widens=True)
    return stored


# --- `norm` is that of the direction computed: "forward" divides by the number of points


def _operand(x: Any) -> Tensor:
    (given,) = on_one_device(x)
    return as_dtype(given, computed_in(given.dtype))


def _complex(
    op: str, ufunc: np.ufunc, x: Any, n: int | None, axis: int, norm: str | None, out: Any
) -> Tensor:
    given = _operand(x)
    size = _points(op, given, n, axis)
    return _transform(op, ufunc, given, size, size, axis, norm, out)


def _from_real(op: str, x: Any, n: int | None, axis: int, norm: str | None, out: Any) -> Tensor:
    given = _operand(x)
    if given.dtype.kind == "c":
        raise TypeError(f"[{op}] expected real numbers, got {given.dtype}")
    size = _points(op, given, n, axis)
    ufunc = loops.rfft_n_odd if size % 2 else loops.rfft_n_even
    return _transform(op, ufunc, given, size, size // 2 + 1, axis, norm, out)


def _to_real(op: str, x: Any, n: int | None, axis: int, norm: str | None, out: Any) -> Tensor:
    given = _operand(x)
    size = _points(op, given, n, axis, lambda half: 2 * (half - 1))
    return _transform(op, loops.irfft, given, size, size, axis, norm, out)


def _transform(
    op: str,
    ufunc: np.ufunc,
    x: Tensor,
    points: int,
    size: int,
    axis: int,
    norm: str | None,
    out: Any,
) -> Tensor:
    """``size`` results of a transform of ``points``, by the loop that NumPy takes.

    They are in the dtype of ``out``, if any.
    """
    if x.shape[axis] == 0:  # the loops read the first point, and may compute in the operand
        shape = list(x.shape)
        shape[axis] = 1
        x = full(shape, 0, x.dtype, device=x.device)
    target = None if out is None else computed_in(required_target(op, out).dtype)
    ready = _prepared(op, ufunc, x.shape, x.dtype, points, size, axis, norm, target)
    call, order = ready.call, ready.order
    wanted, real = call.dtypes_in
    factor = full((), ready.factor, real, device=x.device)
    turned = x if order is None else _C.permute(x, order)
    (result,) = call.issue((as_dtype(turned, wanted), factor), like=turned)
    if order is not None:
        result = _C.permute(result, [order.index(d) for d in range(x.ndim)])
        if type(x) is Tensor and x.is_contiguous():  # so `turned` may be, where extents are 1
            result = ascontiguousarray(result)
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
    target: DType | None,
) -> _Prepared:
    last = axis % len(given_shape)
    order = [d for d in range(len(given_shape)) if d != last] + [last]
    factor = _factor(op, norm, points, _real(given))
    weak = int if type(factor) is int else factor.dtype
    own = _real(given) if ufunc is loops.irfft else np.result_type(given, 1j)
    dtype = own if target is None else target
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


if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "computed_for"]
