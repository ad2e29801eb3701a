"""flow.arange and flow.linspace where their numbers are made of unknown extents."""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor, TraceError
from oneflow_lite.graph.sites import at, here, user_site
from oneflow_lite.ops.creation.data import ones
from oneflow_lite.ops.statistics.scan import cumulative_sum


def arange(start: Any, stop: Any, step: Any, dtype: Any, device: Any) -> Tensor:
    """Return start, start + step and so on: as many as there are steps to stop, whatever it is.

    Raises
    ------
    TraceError
        How many there are, or what they are in the dtype, depends on more than that.
    """
    kind = np.dtype(np.int64) if dtype is None else _C.canonical(dtype, "arange")
    is_whole = type(step) is int and step != 0 and type(start) is not float
    span = stop - start if is_whole and type(stop) is not float else None
    is_counted = kind.kind in "iu" or (kind.name in _EXACT and (start, step) == (0, 1))
    if span is None or span % step != 0 or not is_counted:
        raise TraceError(
            "[arange] with an unknown extent, numbers are integers and steps divide the whole "
            f"way, got {start!r} to {stop!r} in steps of {step!r} as {kind}{at(user_site())}: "
            "count from 0 in steps of 1, and compute the rest from that"
        )
    numbers = cumulative_sum(ones(span // step, dtype=np.int64, device=device)) - 1
    if step != 1:
        numbers = numbers * step
    if not (type(start) is int and start == 0):
        numbers = numbers + start
    return numbers if kind == numbers.dtype else numbers.astype(kind)


def linspace(count: Any, start: Any, stop: Any, endpoint: bool, dtype: Any, device: Any) -> Tensor:
    """Return ``count`` evenly spaced numbers, as NumPy computes them.

    Raises
    ------
    TraceError
        The ends are no real numbers, or the dtype is none of float64 and float32.
    """
    kind = np.dtype(np.float64 if dtype is None else dtype)
    are_real = all(isinstance(x, int | float | np.floating | np.integer) for x in (start, stop))
    if not are_real or kind.name not in _EXACT:
        raise TraceError(
            "[linspace] for an unknown extent, ends are real numbers and dtypes float64 or "
            f"float32, got {start!r} to {stop!r} as {kind}{here()}: count by arange, and compute "
            "the rest from that"
        )
    first, last = float(start), float(stop)
    numbers = arange(0, count, 1, np.float64, device)
    given = count * ones((), device=device) - int(endpoint)
    has_parts = given > 0
    parts = _C.where(has_parts, given, 1.0)  # never zero: no infinity on the way
    step = (last - first) / parts
    spaced = _C.where(step == 0, numbers / parts * (last - first), numbers * step)
    spaced = _C.where(has_parts, spaced, numbers * (last - first)) + first
    if endpoint:
        spaced = _C.where((numbers == parts) & has_parts, last, spaced)
    return spaced if kind == spaced.dtype else spaced.astype(kind)


_EXACT = ("float32", "float64")  # NumPy counts in them as it converts integers
