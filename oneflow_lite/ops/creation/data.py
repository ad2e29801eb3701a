"""Creation from data and values. Defaults: float64, int64, the thread's default device."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.dtypes import DType, canonical, computed_in, float64, kind_of, result_type
from oneflow_lite.ops.creation.cuda_arrays import from_cuda, on_cuda
from oneflow_lite.ops.table import exported

Shape = int | Sequence[int]

MAX_LEVELS = 32  # of nested sequences: as many as tensors have dimensions


@_C.native(_C.paths.tensor)
def tensor(
    data: Any, dtype: Any = None, device: DeviceLike = None, *, pin_memory: bool = False
) -> Tensor:
    """Return a new tensor with a copy of the data.

    Parameters
    ----------
    data : nested sequence, scalar, NumPy array, Tensor or object with ``__array__``
        Arrays may have any strides and byte order; they may be written to at once. What is in the
        memory of a CUDA device (of CuPy, of PyTorch) is copied there.
    dtype : dtype, optional
        NumPy's choice unless given.
    device : Device or str, optional
        That of ``data`` when it is a tensor, or in the memory of a device; the thread's default
        device otherwise.
    pin_memory : bool
        A tensor of the cpu in pinned memory; see ``empty``.

    Raises
    ------
    TypeError
        For data of objects, strings, dates, records or long doubles.
    ValueError
        For ragged sequences.
    OverflowError
        For Python integers that do not fit.

    Examples
    --------
    >>> flow.tensor([[1, 2], [3, 4]], dtype=flow.float32)
    tensor([[1., 2.],
            [3., 4.]], dtype=float32, device='cpu')
    """
    if pin_memory:
        return _pinned_copy(data, dtype, device)
    if isinstance(data, Tensor):
        return _converted(data, dtype, device, copy=True)
    if on_cuda(data):
        return _converted(from_cuda(data), dtype, device, copy=True)
    if isinstance(data, (list, tuple)) and (first := _first_leaf(data)) is not None:
        return _converted(_stacked(data, first.device), dtype, device, copy=False)
    return _C.from_numpy(_host_array(data, dtype), resolve(device))


@_C.native(_C.paths.asarray)
def asarray(
    obj: Any, /, dtype: Any = None, *, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """Return obj as a tensor; a tensor that fits is returned as it is.

    Parameters
    ----------
    obj : anything that ``tensor`` takes
        The data. The memory of a CUDA device (of CuPy, of PyTorch) is shared, as by
        ``from_dlpack``.
    dtype, device
        As for ``tensor``.
    copy : bool, optional
        True: always copy; False: raise ValueError where a copy is needed.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> flow.asarray(x) is x
    True
    """
    if isinstance(obj, Tensor):
        if dtype is None and device is None and not copy:
            return obj
        if copy is not False:
            return _converted(obj, dtype, device, copy=bool(copy))
        same_dtype = dtype is None or canonical(dtype, "asarray") == obj.dtype
        if same_dtype and (device is None or resolve(device) == obj.device):
            return obj
    if on_cuda(obj):
        return asarray(from_cuda(obj, copy), dtype, device=device, copy=copy)
    if copy is False:
        raise ValueError("[asarray] copy=False, but a copy is needed")
    return tensor(obj, dtype, device)


@_C.native(_C.paths.array)
def array(
    data: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
    device: DeviceLike = None,
) -> Tensor:
    """Return the data as a tensor of at least ``ndmin`` dimensions; NumPy's name for ``tensor``.

    Parameters
    ----------
    data, dtype, device
        As for ``tensor``.
    copy : bool, optional
        None: a tensor that fits is not copied; False: raise ValueError where a copy is needed.
    ndmin : int
        Dimensions of size 1 are added in front.

    Examples
    --------
    >>> flow.array([1, 2], ndmin=2).shape
    (1, 2)
    """
    made = asarray(data, dtype=dtype, device=device, copy=copy)
    return made if made.ndim >= ndmin else made[(None,) * (ndmin - made.ndim)]


@_C.native(_C.paths.asanyarray)
def asanyarray(obj: Any, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return obj as a tensor; see ``asarray``.

    Examples
    --------
    >>> flow.asanyarray([1, 2]).numpy()
    array([1, 2])
    """
    return asarray(obj, dtype=dtype, device=device)


@_C.native(_C.paths.ascontiguousarray)
def ascontiguousarray(obj: Any, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return obj as a row-major tensor of at least one dimension; one that fits as it is.

    Examples
    --------
    >>> flow.ascontiguousarray(flow.zeros((2, 3)).T).strides
    (16, 8)
    """
    made = asarray(obj, dtype=dtype, device=device)
    made = made if made.is_contiguous() else _C.copy(made)
    return made if made.ndim else _C.reshape(made, (1,), None)


@_C.native(_C.paths.empty)
def empty(
    shape: Shape, dtype: Any = None, *, device: DeviceLike = None, pin_memory: bool = False
) -> Tensor:
    """Return a new tensor whose values are undefined, of float64 unless told otherwise.

    Parameters
    ----------
    shape : int or sequence of int
        The dimensions.
    dtype, device
        As for ``tensor``.
    pin_memory : bool
        A tensor of the cpu in memory that the driver of the CUDA devices has pinned: copies to and
        from them need no staging. RuntimeError where there is no such device.

    Examples
    --------
    >>> flow.empty((2, 3)).shape
    (2, 3)
    """
    wanted = _float_or(dtype, "empty")
    return (
        _pinned(shape, wanted, device) if pin_memory else _C.empty(shape, wanted, resolve(device))
    )


@_C.native(_C.paths.zeros)
def zeros(
    shape: Shape, dtype: Any = None, *, device: DeviceLike = None, pin_memory: bool = False
) -> Tensor:
    """Return a new tensor of zeros, of float64 unless told otherwise.

    Examples
    --------
    >>> flow.zeros(2).numpy()
    array([0., 0.])
    """
    if pin_memory:
        return _filled_pinned(shape, 0, _float_or(dtype, "zeros"), device)
    return _C.full(shape, 0, _float_or(dtype, "zeros"), resolve(device))


@_C.native(_C.paths.ones)
def ones(
    shape: Shape, dtype: Any = None, *, device: DeviceLike = None, pin_memory: bool = False
) -> Tensor:
    """Return a new tensor of ones, of float64 unless told otherwise.

    Examples
    --------
    >>> flow.ones(2, dtype=flow.int8).numpy()
    array([1, 1], dtype=int8)
    """
    if pin_memory:
        return _filled_pinned(shape, 1, _float_or(dtype, "ones"), device)
    return _C.full(shape, 1, _float_or(dtype, "ones"), resolve(device))


@_C.native(_C.paths.full)
def full(
    shape: Shape,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: DeviceLike = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor of one value (or of an array broadcast to the shape).

    Examples
    --------
    >>> flow.full((2,), 7).numpy()
    array([7, 7])
    """
    if isinstance(fill_value, (bool, int, float, complex, np.generic)):
        wanted = _scalar_dtype(fill_value) if dtype is None else canonical(dtype, "full")
        if pin_memory:
            return _filled_pinned(shape, fill_value, wanted, device)
        return _C.full(shape, fill_value, wanted, resolve(device))
    values = asarray(fill_value, device=resolve(device))
    wanted = values.dtype if dtype is None else dtype
    filled = empty(shape, dtype=wanted, device=device, pin_memory=pin_memory)
    _C.assign(filled, values)
    return filled


@_C.native(_C.paths.empty_like)
def empty_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of x's shape, dtype and device, whose values are undefined.

    Examples
    --------
    >>> flow.empty_like(flow.zeros((2, 3), dtype=flow.int8)).shape
    (2, 3)
    """
    given = asarray(x)
    return empty(given.shape, **_like(given, dtype, device))


@_C.native(_C.paths.zeros_like)
def zeros_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of zeros, of x's shape, dtype and device.

    Examples
    --------
    >>> flow.zeros_like(flow.tensor([1, 2])).numpy()
    array([0, 0])
    """
    given = asarray(x)
    return zeros(given.shape, **_like(given, dtype, device))


@_C.native(_C.paths.ones_like)
def ones_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of ones, of x's shape, dtype and device.

    Examples
    --------
    >>> flow.ones_like(flow.tensor([1.5, 2.5])).numpy()
    array([1., 1.])
    """
    given = asarray(x)
    return ones(given.shape, **_like(given, dtype, device))


@_C.native(_C.paths.full_like)
def full_like(
    x: Any, /, fill_value: Any, dtype: Any = None, *, device: DeviceLike = None
) -> Tensor:
    """Return a new tensor of one value, of x's shape, dtype and device.

    Examples
    --------
    >>> flow.full_like(flow.tensor([1, 2]), 7).numpy()
    array([7, 7])
    """
    given = asarray(x)
    return full(given.shape, fill_value, **_like(given, dtype, device))


def _like(x: Tensor, dtype: Any, device: DeviceLike) -> dict[str, Any]:
    return {
        "dtype": x.dtype if dtype is None else dtype,
        "device": x.device if device is None else device,
    }


def _pinned(shape: Shape, dtype: DType, device: DeviceLike) -> Tensor:
    if device is not None and (asked := resolve(device)).type != "cpu":
        raise ValueError(f"[pin_memory] expected a tensor of the cpu, got device {asked}")
    return _C.empty_pinned(shape, dtype)


def _filled_pinned(shape: Shape, value: Any, dtype: DType, device: DeviceLike) -> Tensor:
    filled = _pinned(shape, dtype, device)
    _C.assign(filled, value)
    return filled


def _pinned_copy(data: Any, dtype: Any, device: DeviceLike) -> Tensor:
    values = asarray(data, dtype) if isinstance(data, Tensor) else tensor(data, dtype, "cpu")
    made = _pinned(values.shape, values.dtype, device)
    _C.assign(made, _C.to_device(values, made.device, False))
    return made


def _converted(x: Tensor, dtype: Any, device: DeviceLike, copy: bool) -> Tensor:
    """X in the dtype and on the device asked for (None: its own), cast where it is."""
    wanted = x.dtype if dtype is None else canonical(dtype, "tensor")
    target: Device = x.device if device is None else resolve(device)
    if wanted != x.dtype:
        x, copy = _C.astype(x, wanted, True), False
    return _C.to_device(x, target, copy)


def _first_leaf(data: Any) -> Tensor | None:
    """The tensor that nested sequences begin with."""
    for _ in range(MAX_LEVELS + 1):
        if not isinstance(data, (list, tuple)) or not data:
            break
        data = data[0]
    return data if isinstance(data, Tensor) else None


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
    return _C.concat([part[None] for part in parts], 0, result_type(*parts))


def _float_or(dtype: Any, op: str) -> DType:
    return float64 if dtype is None else canonical(dtype, op)


def _scalar_dtype(value: Any) -> DType:
    if isinstance(value, np.generic):
        return canonical(value.dtype, "full")
    return result_type(np.asarray(value))


def _host_array(data: Any, dtype: Any) -> npt.NDArray[Any]:
    """The data as a NumPy array of a supported dtype in native byte order."""
    wanted = None if dtype is None else canonical(dtype, "tensor")
    is_array = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    try:
        data = _C.held(data, "tensor")
        array = np.asarray(data)
        if array.dtype == object and not is_array and _all_integers(array):
            array = _large_integers(array, wanted)
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


def _all_integers(array: npt.NDArray[Any]) -> bool:
    return array.size > 0 and all(isinstance(value, int) for value in array.flat)


def _large_integers(array: npt.NDArray[Any], wanted: DType | None) -> npt.NDArray[Any]:
    """Python integers beyond 64 bits: numbers for a floating dtype, an error for any other."""
    if wanted is None or kind_of(wanted) not in "fc":
        raise OverflowError("a Python integer does not fit in 64 bits")
    return array.astype(computed_in(wanted)).astype(wanted, copy=False)


if not TYPE_CHECKING:
    __all__ = exported(globals())
