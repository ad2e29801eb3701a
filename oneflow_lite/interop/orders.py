"""The order of elements in memory that pickles and files keep, as NumPy does.

It is column-major where that is the only order without gaps, and row-major otherwise.
"""

from typing import Any

import numpy.typing as npt

from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.creation.data import tensor
from oneflow_lite.ops.manipulation.shapes import transpose


def is_column_major(x: npt.NDArray[Any]) -> bool:
    """Return whether the array is column-major, and not row-major too."""
    return x.flags.fnc


def array_in_order(x: Tensor) -> npt.NDArray[Any]:
    """Return the values as an array in the order that is kept; waits for them."""
    if not x.is_contiguous():
        turned = transpose(x)
        if turned.is_contiguous():
            return turned.numpy().T
    return x.numpy()


def tensor_in_order(x: npt.NDArray[Any], device: DeviceLike) -> Tensor:
    """Return a tensor of the array, in the order that is kept."""
    return transpose(tensor(x.T, device=device)) if is_column_major(x) else tensor(x, device=device)
