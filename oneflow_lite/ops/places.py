"""Elements that a sort would put in places: known ones, and those that a run computes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype
from oneflow_lite.ops.creation.data import ones
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.joining import stack

INEXACT = ("real floating", "complex floating")


def is_unknown(size: Any) -> bool:
    """Return whether only a run of a program knows the size."""
    return not isinstance(size, int)


def has_none(sizes: Sequence[Any]) -> bool:
    """Return whether there are no elements; unknown sizes are taken for some."""
    return any(not is_unknown(n) and n == 0 for n in sizes)


def size_of(lanes: Tensor) -> Tensor:
    """Return the size of the last dimension as a tensor."""
    return lanes.shape[-1] * ones((), dtype=np.int64, device=lanes.device)


def nan_if_any(result: Tensor, lanes: Tensor) -> Tensor:
    """Return the result, and the NaN of its lane where there is one: it is at the end."""
    if has_none(lanes.shape[-1:]) or not isdtype(lanes.dtype, INEXACT):
        return result
    last = _C.astype(lanes[..., -1], result.dtype, False)
    return _C.where(last != last, last, result)


def partitioned(
    op: str, x: Tensor, axis: int, places: Sequence[int] | Tensor, *, by_rows: bool = False
) -> Tensor:
    """Return x with what a sort would put in the places, for the operation ``op``.

    The axis and the places are counted from 0. A tensor of places has those of each lane. The
    result lies as x does, or ``by_rows``.
    """
    of_all: Sequence[int]
    inputs, of_all = ([x, places], ()) if isinstance(places, Tensor) else ([x], places)
    attr = (axis, 0, 0, *of_all)
    outputs = [(x.shape, x.dtype) if by_rows else (x.shape, x.dtype, x)]
    return _C.call_kernel(op, "partition", inputs, outputs, attr, _sort_of(x.dtype))[0]


def _sort_of(dtype: np.dtype[Any]) -> tuple[str, np.dtype[Any]] | None:
    """What the kernel sorts few elements with."""
    if isdtype(dtype, "complex floating"):
        return None
    floats = {2: "uint16", 4: "int32", 8: "int64"}
    return "sort", np.dtype(floats[dtype.itemsize]) if isdtype(dtype, "real floating") else dtype


def places_of_lanes(op: str, lanes: Tensor, places: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return partitioned lanes, and the element in each of the places of each lane.

    The places are in the last dimension.
    """
    arranged = partitioned(op, lanes, lanes.ndim - 1, places, by_rows=True)
    found = take_along_axis(arranged, places, axis=-1)
    return arranged, [found[..., k] for k in range(places.shape[-1])]


def places_of_all(op: str, lanes: Tensor, places: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return the same for places of all lanes; NaN are at the end of partitioned lanes."""
    last = [size_of(lanes) - 1] if isdtype(lanes.dtype, INEXACT) else []
    joined = stack([*places, *last])
    of_each = _C.broadcast_to(joined, (*lanes.shape[:-1], joined.shape[0]))
    arranged, found = places_of_lanes(op, lanes, of_each)
    return arranged, found[: len(places)]
