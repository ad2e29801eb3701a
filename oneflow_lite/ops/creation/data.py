"""Creation from data and values. Defaults: float64, int64, the thread's default device."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.signatures import makes_global
from oneflow_lite.ops.table import exported

Shape = SupportsIndex | Sequence[SupportsIndex]


@makes_global
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


@makes_global
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


@_C.native(_C.paths.asanyarray)
def asanyarray(obj: Any, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return obj as a tensor; see ``asarray``.

    Examples
    --------
    >>> flow.asanyarray([1, 2]).numpy()
    array([1, 2])
    """


@_C.native(_C.paths.ascontiguousarray)
def ascontiguousarray(obj: Any, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return obj as a row-major tensor of at least one dimension; one that fits as it is.

    Examples
    --------
    >>> flow.ascontiguousarray(flow.zeros((2, 3)).T).strides
    (16, 8)
    """


@makes_global
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


@makes_global
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


@makes_global
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


@makes_global
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


@_C.native(_C.paths.empty_like)
def empty_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of x's shape, dtype and device, whose values are undefined.

    Examples
    --------
    >>> flow.empty_like(flow.zeros((2, 3), dtype=flow.int8)).shape
    (2, 3)
    """


@_C.native(_C.paths.zeros_like)
def zeros_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of zeros, of x's shape, dtype and device.

    Examples
    --------
    >>> flow.zeros_like(flow.tensor([1, 2])).numpy()
    array([0, 0])
    """


@_C.native(_C.paths.ones_like)
def ones_like(x: Any, /, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return a new tensor of ones, of x's shape, dtype and device.

    Examples
    --------
    >>> flow.ones_like(flow.tensor([1.5, 2.5])).numpy()
    array([1., 1.])
    """


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


if not TYPE_CHECKING:
    __all__ = exported(globals())
