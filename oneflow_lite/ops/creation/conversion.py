"""Tensors of data that is not read natively.

It is memory of another library, has tensors in nested sequences, or is left to NumPy's rules.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Device, GlobalTensor, Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import DType, canonical, computed_in, kind_of
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, tensor
from oneflow_lite.ops.creation.device_arrays import from_device, on_device
from oneflow_lite.ops.manipulation.joining import stack

MAX_LEVELS = 32  # of nested sequences: as many as tensors have dimensions


def converted(data: Any, dtype: Any, device: DeviceLike, copy: bool | None) -> Tensor:
    """Return what ``asarray`` makes of the data; it is no tensor, or ``copy`` is False."""
    if on_device(data):
        return asarray(from_device(data, copy), dtype, device=device, copy=copy)
    if copy is False:
        if isinstance(data, GlobalTensor):
            raise TypeError("[asarray] a GlobalTensor is no data, and has a rule of its own")
        raise ValueError("[asarray] copy=False, but a copy is needed")
    if isinstance(data, (list, tuple)) and (first := _first_tensor(data)) is not None:
        return asarray(_stacked(data, first.device), dtype, device=device)
    return asarray(_host_array(data, dtype), device=device)


def _first_tensor(data: Any) -> Tensor | None:
    """The first tensor of nested sequences, if there is one; a sequence may contain itself."""
    waiting, seen = [data], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Tensor):
            return one
        if isinstance(one, (list, tuple)) and id(one) not in seen:
            seen.add(id(one))
            waiting.extend(reversed(one))
    return None


def _stacked(data: Any, home: Device, level: int = 0) -> Tensor:
    """Nested sequences of tensors, one after the other; they are not looked at."""
    if not isinstance(data, (list, tuple)) or not data:
        return data if isinstance(data, Tensor) else tensor(data, device=home)
    if level == MAX_LEVELS:
        raise ValueError(
            f"[tensor] at most {MAX_LEVELS} dimensions, got a list in more levels, or one that "
            "contains itself"
        )
    parts = [_stacked(one, home, level + 1) for one in data]
    for part in parts:
        if part.shape != parts[0].shape:
            raise ValueError(
                f"[tensor] inhomogeneous: expected shape {parts[0].shape}, got {part.shape}"
            )
    return stack([part if part.is_contiguous() else ascontiguousarray(part) for part in parts])


def _host_array(data: Any, dtype: Any) -> npt.NDArray[Any]:
    """The data as a NumPy array of a supported dtype in native byte order."""
    wanted = None if dtype is None else canonical(dtype, "tensor")
    is_array = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    try:
        data = _C.held(data, "tensor")
        array = np.asarray(data)
        if array.dtype == object and not is_array and _all_numbers(array):
            array = _large_integers(array, wanted)
        if array.dtype.kind in "SUT":  # NumPy reads the numbers
            return _of_text(data, array.dtype, wanted)
        native = canonical(array.dtype, "tensor")
        if wanted is None or wanted == native:
            return array.astype(native, copy=False)
        if native.kind == "c" and kind_of(wanted) not in "cb":
            raise TypeError(f"[tensor] cannot cast {native} to {wanted}; take the real part first")
        # From the numbers themselves where there are any: 300 does not fit in uint8, 2**53 + 1 does
        # not go through float64.
        with np.errstate(all="ignore"):
            if is_array:
                return array.astype(wanted)
            # ml_dtypes takes fewer kinds of numbers, and float32 is what it rounds from.
            return np.asarray(data, dtype=computed_in(wanted)).astype(wanted, copy=False)
    except (ValueError, OverflowError) as error:
        raise type(error)(f"[tensor] {error}") from None


def _of_text(data: Any, text: DType, wanted: DType | None) -> npt.NDArray[Any]:
    """The numbers that strings say."""
    if wanted is None:
        raise TypeError(
            f"[tensor] unsupported dtype {text}: tensors hold no text; with a dtype the numbers in "
            "it are read, as in array(['1', '2'], dtype='int64')"
        )
    return np.array(data, dtype=computed_in(wanted)).astype(wanted, copy=False)


def _all_numbers(array: npt.NDArray[Any]) -> bool:
    return array.size > 0 and all(isinstance(value, (int, float)) for value in array.flat)


def _large_integers(array: npt.NDArray[Any], wanted: DType | None) -> npt.NDArray[Any]:
    """Of Python integers beyond 64 bits: an error for a dtype of integers, and without a dtype."""
    if wanted is None or kind_of(wanted) not in "fcb":
        raise OverflowError("a Python integer does not fit in 64 bits")
    return array.astype(computed_in(wanted)).astype(wanted, copy=False)
