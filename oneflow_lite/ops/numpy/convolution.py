"""Convolutions and correlations of sequences."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    float32,
    is_narrow,
)
from oneflow_lite.ops.creation.data import ascontiguousarray, zeros
from oneflow_lite.ops.elementwise import conj
from oneflow_lite.ops.operands import on_one_device, promoted
from oneflow_lite.ops.table import exported

_MODES = ("full", "same", "valid")


@_C.native(_C.paths.convolve)
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


@_C.native(_C.paths.correlate)
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
    return ascontiguousarray(_overlaps(window, long, mode, "correlate")[::-1])


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
    has_kernel = _C.device_types()[long.device.type].runs_host_kernels
    made = _C.correlate(long, window, before, count) if has_kernel else None
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


if not TYPE_CHECKING:
    __all__ = exported(globals())
