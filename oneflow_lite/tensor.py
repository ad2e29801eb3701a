"""The methods of Tensor that are written in Python; operators and the call path are native."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C, display
from oneflow_lite._C import Device, Op, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.dtypes import canonical, kind_of
from oneflow_lite.inspection import VERSIONS
from oneflow_lite.interop import dlpack, files, numpy_functions, pickling, row_methods
from oneflow_lite.ops import (
    data_types,
    elementwise,
    flat,
    indexing,
    linear_algebra,
    searching,
    served,
    sorting,
)
from oneflow_lite.ops.creation.data import tensor
from oneflow_lite.ops.manipulation import shapes, tiling
from oneflow_lite.ops.numpy import selection, sorting as partial_sorting
from oneflow_lite.ops.operands import copied, is_by_columns, order_of
from oneflow_lite.ops.statistics import reduction, scan

__all__ = ["Tensor", "ndarray", "tensor"]

ndarray = Tensor  # NumPy's name

_METHODS: dict[str, Any] = {}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of this file a method of Tensor."""
    _METHODS[function.__name__] = function
    return function


# --- operations whose first operand is the tensor

_METHODS |= {
    "sum": reduction.sum,
    "prod": reduction.prod,
    "max": reduction.max,
    "min": reduction.min,
    "mean": reduction.mean,
    "any": reduction.any,
    "all": reduction.all,
    "argmax": searching.argmax,
    "argmin": searching.argmin,
    "argsort": sorting.argsort,
    "cumprod": scan.cumprod,
    "cumsum": scan.cumsum,
    "searchsorted": searching.searchsorted,
    "sort": sorting.sort_in_place,
    "nonzero": searching.nonzero,
    "argpartition": partial_sorting.argpartition,
    "choose": selection.choose,
    "ptp": reduction.ptp,
    "put": indexing.put,
    "take": indexing.take,
    "clip": elementwise.clip,
    "dot": linear_algebra.dot,
    "diagonal": linear_algebra.diagonal,
    "trace": linear_algebra.trace,
    "round": elementwise.round,
    "flatten": shapes.flatten,
    "ravel": shapes.ravel,
    "squeeze": shapes.squeeze,
    "swapaxes": shapes.swapaxes,
    "repeat": tiling.repeat,
    "std": reduction.std,
    "var": reduction.var,
}


@_method
@_C.native(_C.paths.reshape_method, "order")
def reshape(
    self: Tensor, *shape: Any, order: shapes.Order = "C", copy: bool | None = None
) -> Tensor:
    """Return the elements in another shape; see ``flow.reshape``.

    Examples
    --------
    >>> flow.arange(6).reshape(2, -1).shape
    (2, 3)
    """
    extents = shape[0] if len(shape) == 1 else shape
    return shapes.reshape(self, extents, order, copy=copy)


@_method
@_C.native(_C.paths.permute_dims_method)
def permute_dims(self: Tensor, *axes: Any) -> Tensor:
    """Return a view with the dimensions in another order.

    Examples
    --------
    >>> flow.zeros((2, 3, 4)).permute_dims(2, 0, 1).shape
    (4, 2, 3)
    """


@_method
@_C.native(_C.paths.transpose_method)
def transpose(self: Tensor, *axes: Any) -> Tensor:
    """Return a view with the dimensions in another order, reversed without arguments.

    Examples
    --------
    >>> flow.zeros((2, 3, 4)).transpose().shape
    (4, 3, 2)
    """


@_method
@_C.native(_C.paths.copy_method, "order")
def copy(self: Tensor, order: str = "C") -> Tensor:
    """Return a copy on the same device, row-major unless ``order`` says as for ``flow.copy``.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> y = x.copy()
    >>> y[0] = 1
    >>> x.tolist()
    [0.0, 0.0]
    """
    return copied(self, order_of("copy", order, "CKA"))


@_method
@_C.native(_C.paths.astype, "order", "casting", "subok")
def astype(
    self: Tensor,
    dtype: Any,
    order: str | None = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return the elements in another dtype; see ``flow.astype``.

    Parameters
    ----------
    dtype, copy, device
        As for ``flow.astype``.
    order : {'K', 'C', 'A'}
        As for ``flow.copy``.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
        TypeError for a cast that this rule does not allow.
    subok : bool
        Is not used: there are no subclasses.

    Examples
    --------
    >>> flow.tensor([1.5, -2.5]).astype(flow.int8).numpy()
    array([ 1, -2], dtype=int8)
    """
    wanted = order_of("astype", order, "KCA")
    target = canonical(dtype, "astype")
    if not _C.castable(self.dtype, target, casting, "astype"):
        raise TypeError(f"[astype] cannot cast {self.dtype} to {target} by the rule {casting!r}")
    made: Tensor = data_types.astype(self, dtype, copy=copy, device=device)
    lies_so = wanted == "K" or (wanted == "A" and is_by_columns(self)) or made.is_contiguous()
    return made if lies_so else _C.copy(made)


# --- devices


@_method
def to_device(self: Tensor, device: DeviceLike, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device: itself when it is there, an asynchronous copy otherwise.

    Examples
    --------
    >>> flow.zeros(2).to_device("mock:1").device == "mock:1"
    True
    """
    if stream is not None:
        raise ValueError("[to_device] expected stream=None: the machine chooses the stream")
    return _C.to_device(self, resolve(device), False)


@_method
def to(self: Tensor, target: Any, /, *, copy: bool = False) -> Tensor:
    """Return the tensor on a device or in a dtype, whichever ``target`` names.

    Parameters
    ----------
    target : Device, str or dtype
        Such as ``"mock:1"`` or ``flow.float32``.
    copy : bool
        Copy even where nothing changes.

    Examples
    --------
    >>> flow.ones(2).to(flow.float32).to("mock:0")
    tensor([1., 1.], dtype=float32, device='mock:0')
    """
    is_name = isinstance(target, str) and target.split(":")[0] in _C.device_types()
    if is_name or isinstance(target, Device):
        return _C.to_device(self, resolve(target), copy)
    return _C.astype(self, canonical(target, "to"), copy)


@_method
def cpu(self: Tensor) -> Tensor:
    """Return the tensor on the cpu; see ``to_device``.

    Examples
    --------
    >>> (flow.ones(2).mock() * 3).cpu().tolist()
    [3.0, 3.0]
    """
    return _C.to_device(self, Device("cpu"), False)


@_method
def mock(self: Tensor, index: int = 0) -> Tensor:
    """Return the tensor on a mock device; see ``to_device``.

    Examples
    --------
    >>> str(flow.ones(2).mock(1).device)
    'mock:1'
    """
    return _C.to_device(self, Device("mock", index), False)


@_method
def cuda(self: Tensor, index: int = 0) -> Tensor:
    """Return the tensor on a CUDA device; see ``to_device``."""
    return _C.to_device(self, Device("cuda", index), False)


# --- looking


@_method
@_C.native(_C.paths.tolist)
def tolist(self: Tensor) -> Any:
    """Return the values as nested lists of Python numbers.

    Examples
    --------
    >>> flow.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return self.numpy().tolist()


@_method
def is_pinned(self: Tensor) -> bool:
    """Return whether the tensor is one of the cpu in pinned memory; see ``flow.empty``.

    Examples
    --------
    >>> flow.zeros(2).is_pinned()
    False
    """
    return _C.is_pinned(self)


@_method
def __array__(  # noqa: N807
    self: Tensor, dtype: Any = None, copy: bool | None = None
) -> npt.NDArray[Any]:
    _C.raise_unseen(self)
    wanted = self.dtype if dtype is None else np.dtype(dtype)
    if self.device.type == "cpu" and wanted == self.dtype and not copy:
        return _C.shared_array(self)  # of bfloat16: the buffer protocol has no format for it
    if copy is False:
        raise ValueError(
            f"[__array__] copy=False, but {self.dtype} on {self.device} becomes an array of "
            f"{wanted} by a copy only"
        )
    return self.numpy().astype(wanted, copy=False)


@_method
def __format__(self: Tensor, spec: str) -> str:  # noqa: N807
    if self.ndim == 0:
        return format(self.item(), spec)
    if spec:
        raise TypeError(f"[format] a format needs a 0-d tensor, got shape {self.shape}")
    return str(self)


@_method
def __contains__(self: Tensor, value: Any) -> bool:  # noqa: N807
    return bool(reduction.any(self == value))


# --- the data model


def _number(self: Tensor, op: str) -> Any:
    """The Python number of a 0-d tensor."""
    if self.ndim:
        raise TypeError(f"[{op}] expected a 0-d tensor, got shape {self.shape}")
    return self.item()


@_method
def __round__(self: Tensor, ndigits: int | None = None) -> Any:  # noqa: N807
    number = _number(self, "round")
    return round(number) if ndigits is None else elementwise.round(self, ndigits)


@_method
def __trunc__(self: Tensor) -> int:  # noqa: N807
    number: float = _number(self, "trunc")
    return math.trunc(number)


@_method
def __floor__(self: Tensor) -> int:  # noqa: N807
    number: float = _number(self, "floor")
    return math.floor(number)


@_method
def __ceil__(self: Tensor) -> int:  # noqa: N807
    number: float = _number(self, "ceil")
    return math.ceil(number)


@_method
def as_integer_ratio(self: Tensor) -> tuple[int, int]:
    """Return a pair of integers whose ratio is the only element, as Python's numbers do.

    Examples
    --------
    >>> flow.tensor(0.75).as_integer_ratio()
    (3, 4)
    """
    ratio: tuple[int, int] = _number(self, "as_integer_ratio").as_integer_ratio()
    return ratio


@_method
def __array_namespace__(self: Tensor, *, api_version: str | None = None) -> Any:  # noqa: N807
    if api_version is not None and api_version not in VERSIONS:
        known = " or ".join(VERSIONS)
        raise ValueError(f"[__array_namespace__] expected api_version {known}, got {api_version!r}")
    return sys.modules["oneflow_lite"]


@_method
def conj(self: Tensor) -> Tensor:
    """Return the complex conjugate, of real numbers the tensor itself; see ``flow.conj``.

    Examples
    --------
    >>> flow.tensor(1 + 2j).conj().item()
    (1-2j)
    """
    return elementwise.conj(self) if kind_of(self.dtype) == "c" else self


@_method
def fill(self: Tensor, value: Any) -> None:
    """Write one value to every element.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> x.fill(3)
    >>> x.tolist()
    [3.0, 3.0]
    """
    if isinstance(value, Tensor):
        if value.ndim:
            raise ValueError(f"[fill] expected a number, got shape {value.shape}")
        return _C.assign(self, value)
    _C.fill(self, value)


@_method
def compress(self: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """Return the slices along an axis for which a condition is true; see ``flow.compress``.

    Examples
    --------
    >>> flow.tensor([1, 2]).compress([False, True]).tolist()
    [2]
    """
    if out is not None:
        return indexing.compress(condition, self, axis, out=out)
    return indexing.compress(condition, self, axis)


@_method
def partition(self: Tensor, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
    """Put the kth element in its place, in the tensor itself; see ``flow.partition``.

    Examples
    --------
    >>> x = flow.tensor([3, 1, 2])
    >>> x.partition(1)
    >>> x.tolist()
    [1, 2, 3]
    """
    _C.assign(self, partial_sorting.partition(self, kth, axis, kind))


@_method
def tobytes(self: Tensor, order: str | None = "C") -> bytes:
    r"""Return the values as bytes.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}
        ``"C"`` and ``"K"``: the elements in row-major order; ``"F"``: in column-major order;
        ``"A"``: in row-major order, unless the tensor is column-major.

    Examples
    --------
    >>> flow.tensor([1, 2], dtype="int8").tobytes()
    b'\x01\x02'
    """
    wanted = order_of("tobytes", order, "CFAK")
    by_columns = wanted == "F" or (wanted == "A" and is_by_columns(self))
    return (self.transpose() if by_columns else self).numpy().tobytes()


@_method
def __copy__(self: Tensor) -> Tensor:  # noqa: N807
    return _C.astype(self, self.dtype, True)


@_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # noqa: N807
    return _C.astype(self, self.dtype, True)


@_method
def view(self: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """Return a view of the same bytes, in another dtype if one is given.

    Along the last axis, whose elements lie side by side, a dtype of another size has more
    elements, or fewer. An element begins at a multiple of its own size in the storage.

    Parameters
    ----------
    dtype : dtype, optional
        That of the view; by default that of the tensor.
    type : type, optional
        NumPy's; ``flow.Tensor`` is the only one.

    Raises
    ------
    ValueError
        Where the bytes are no elements of the dtype.

    Examples
    --------
    >>> flow.tensor([1.0, 2.0], dtype="float32").view("int32").tolist()
    [1065353216, 1073741824]
    """
    if dtype is Tensor:
        dtype, type = None, dtype
    if type not in (None, Tensor):
        raise TypeError(f"[view] type: expected flow.Tensor, got {type!r}")
    return _C.reinterpret(self, self.dtype if dtype is None else dtype, "view")


_METHODS |= (
    dlpack.METHODS | files.METHODS | pickling.METHODS | numpy_functions.METHODS | served.METHODS
)
_METHODS |= {
    "conjugate": conj,
    "flat": property(flat.flat_of, flat.set_flat),
    "__repr__": display.tensor_repr,
    "__str__": display.tensor_str,
}
for _type, _methods in ((Tensor, _METHODS), (Op, row_methods.METHODS)):
    for _name, _function in _methods.items():
        setattr(_type, _name, _function)
