"""Creation from data and values. Defaults: float64, int64, the thread's default device."""

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.operands import is_by_columns, order_of
from oneflow_lite.ops.signatures import makes_global
from oneflow_lite.ops.table import exported

Shape = SupportsIndex | Sequence[SupportsIndex]
Order = Literal["C", "K", "A"]

_MOST_DIMENSIONS = 32


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
@_C.native(_C.paths.asarray, "order")
def asarray(
    obj: Any,
    /,
    dtype: Any = None,
    order: Order | None = None,
    *,
    device: DeviceLike = None,
    copy: bool | None = None,
) -> Tensor:
    """Return obj as a tensor; a tensor that fits is returned as it is.

    Parameters
    ----------
    obj : anything that ``tensor`` takes
        The data. The memory of a CUDA device (of CuPy, of PyTorch) is shared, as by
        ``from_dlpack``.
    dtype, device
        As for ``tensor``.
    order : {'K', 'C', 'A'}, optional
        ``"C"``: the result is row-major; ``"A"``: it is, unless it is column-major.
    copy : bool, optional
        True: always copy; False: raise ValueError where a copy is needed.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> flow.asarray(x) is x
    True
    """
    wanted = order_of("asarray", order, "KCA")
    return _in_order("asarray", asarray(obj, dtype, device=device, copy=copy), wanted, copy)


@_C.native(_C.paths.array, "order", "ndmax")
def array(
    data: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Order | None = "K",
    ndmin: int = 0,
    ndmax: int | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return the data as a tensor of at least ``ndmin`` dimensions; NumPy's name for ``tensor``.

    Parameters
    ----------
    data, dtype, device
        As for ``tensor``.
    copy : bool, optional
        None: a tensor that fits is not copied; False: raise ValueError where a copy is needed.
    order : {'K', 'C', 'A'}
        As for ``asarray``.
    ndmin : int
        Dimensions of size 1 are added in front.
    ndmax : int, optional
        ValueError for sequences that are nested deeper.

    Examples
    --------
    >>> flow.array([1, 2], ndmin=2).shape
    (1, 2)
    """
    wanted = order_of("array", order, "KCA")
    made = array(data, dtype, copy=copy, ndmin=ndmin, device=device)
    if ndmax is not None:
        most = operator.index(ndmax)
        if not 0 <= most <= _MOST_DIMENSIONS:
            raise ValueError(f"[array] expected ndmax from 0 to {_MOST_DIMENSIONS}, got {most}")
        if ndmin > most:
            raise ValueError(f"[array] expected ndmin of at most ndmax ({most}), got {ndmin}")
        if isinstance(data, Sequence) and made.ndim > most:
            raise ValueError(
                f"[array] expected at most {most} dimensions (ndmax), got shape {made.shape}"
            )
    return _in_order("array", made, wanted, copy)


@_C.native(_C.paths.asanyarray, "order", "copy")
def asanyarray(
    obj: Any,
    dtype: Any = None,
    order: Order | None = None,
    *,
    device: DeviceLike = None,
    copy: bool | None = None,
) -> Tensor:
    """Return obj as a tensor; see ``asarray``.

    Examples
    --------
    >>> flow.asanyarray([1, 2]).numpy()
    array([1, 2])
    """
    return asarray(obj, dtype, order, device=device, copy=copy)


@_C.native(_C.paths.ascontiguousarray)
def ascontiguousarray(obj: Any, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return obj as a row-major tensor of at least one dimension; one that fits as it is.

    Examples
    --------
    >>> flow.ascontiguousarray(flow.zeros((2, 3)).T).strides
    (16, 8)
    """


@makes_global
@_C.native(_C.paths.empty, "order")
def empty(
    shape: Shape,
    dtype: Any = None,
    order: Literal["C"] | None = "C",
    *,
    device: DeviceLike = None,
    pin_memory: bool = False,
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
    order_of("empty", order)
    return empty(shape, dtype, device=device, pin_memory=pin_memory)


@makes_global
@_C.native(_C.paths.zeros, "order")
def zeros(
    shape: Shape,
    dtype: Any = None,
    order: Literal["C"] | None = "C",
    *,
    device: DeviceLike = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor of zeros, of float64 unless told otherwise.

    Examples
    --------
    >>> flow.zeros(2).numpy()
    array([0., 0.])
    """
    order_of("zeros", order)
    return zeros(shape, dtype, device=device, pin_memory=pin_memory)


@makes_global
@_C.native(_C.paths.ones, "order")
def ones(
    shape: Shape,
    dtype: Any = None,
    order: Literal["C"] | None = "C",
    *,
    device: DeviceLike = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor of ones, of float64 unless told otherwise.

    Examples
    --------
    >>> flow.ones(2, dtype=flow.int8).numpy()
    array([1, 1], dtype=int8)
    """
    order_of("ones", order)
    return ones(shape, dtype, device=device, pin_memory=pin_memory)


@makes_global
@_C.native(_C.paths.full, "order")
def full(
    shape: Shape,
    fill_value: Any,
    dtype: Any = None,
    order: Literal["C"] | None = "C",
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
    order_of("full", order)
    return full(shape, fill_value, dtype, device=device, pin_memory=pin_memory)


@_C.native(_C.paths.empty_like, "order", "shape")
def empty_like(
    x: Any,
    /,
    dtype: Any = None,
    order: Order | None = "K",
    *,
    shape: Shape | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return a new tensor of x's shape, dtype and device, whose values are undefined.

    Parameters
    ----------
    x : Tensor or array
        Gives what is not told otherwise.
    dtype, device
        As for ``tensor``.
    order : {'K', 'C', 'A'}
        ``"K"``: the axes lie in memory as those of x; ``"C"``: the result is row-major; ``"A"``: it
        is, unless x is column-major.
    shape : int or sequence of int, optional
        Another shape. Where it has other dimensions than x, ``"K"`` is row-major.

    Examples
    --------
    >>> flow.empty_like(flow.zeros((2, 3), dtype=flow.int8)).shape
    (2, 3)
    """
    like, wanted = asarray(x), order_of("empty_like", order, "KCA")
    device = like.device if device is None else device
    dtype = like.dtype if dtype is None else dtype
    made = empty(like.shape if shape is None else shape, dtype, device=device)
    return _lying_like(made, like, wanted)


@_C.native(_C.paths.zeros_like, "order", "shape")
def zeros_like(
    x: Any,
    /,
    dtype: Any = None,
    order: Order | None = "K",
    *,
    shape: Shape | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return a new tensor of zeros, of x's shape, dtype and device; see ``empty_like``.

    Examples
    --------
    >>> flow.zeros_like(flow.tensor([1, 2])).numpy()
    array([0, 0])
    """
    like, wanted = asarray(x), order_of("zeros_like", order, "KCA")
    device = like.device if device is None else device
    dtype = like.dtype if dtype is None else dtype
    made = zeros(like.shape if shape is None else shape, dtype, device=device)
    return _lying_like(made, like, wanted)


@_C.native(_C.paths.ones_like, "order", "shape")
def ones_like(
    x: Any,
    /,
    dtype: Any = None,
    order: Order | None = "K",
    *,
    shape: Shape | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return a new tensor of ones, of x's shape, dtype and device; see ``empty_like``.

    Examples
    --------
    >>> flow.ones_like(flow.tensor([1.5, 2.5])).numpy()
    array([1., 1.])
    """
    like, wanted = asarray(x), order_of("ones_like", order, "KCA")
    device = like.device if device is None else device
    dtype = like.dtype if dtype is None else dtype
    made = ones(like.shape if shape is None else shape, dtype, device=device)
    return _lying_like(made, like, wanted)


@_C.native(_C.paths.full_like, "order", "shape")
def full_like(
    x: Any,
    /,
    fill_value: Any,
    dtype: Any = None,
    order: Order | None = "K",
    *,
    shape: Shape | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return a new tensor of one value, of x's shape, dtype and device; see ``empty_like``.

    Examples
    --------
    >>> flow.full_like(flow.tensor([1, 2]), 7).numpy()
    array([7, 7])
    """
    like, wanted = asarray(x), order_of("full_like", order, "KCA")
    device = like.device if device is None else device
    dtype = like.dtype if dtype is None else dtype
    made = full(like.shape if shape is None else shape, fill_value, dtype, device=device)
    return _lying_like(made, like, wanted)


def _in_order(op: str, x: Tensor, order: str, copy: bool | None) -> Tensor:
    """Return x, or a row-major copy where its order is not the one that is asked for."""
    if order == "K" or x.is_contiguous() or (order == "A" and is_by_columns(x)):
        return x
    if copy is False:
        raise ValueError(f"[{op}] copy=False, but order={order!r} needs a copy")
    return _C.copy(x)


def _lying_like(made: Tensor, like: Tensor, order: str) -> Tensor:
    """Return a new row-major tensor with its axes in the order of another one's, as NumPy does."""
    by_columns = is_by_columns(like)
    if order == "C" or (order == "A" and not by_columns):
        return made
    if order == "K" and (like.is_contiguous() or made.ndim != like.ndim):
        return made
    strides = _C.raw_strides(like)
    axes = (
        range(made.ndim)[::-1]
        if by_columns
        else sorted(range(made.ndim), key=lambda a: -abs(strides[a]))
    )
    lying = empty([made.shape[a] for a in axes], made.dtype, device=made.device)
    turned = _C.permute(lying, sorted(range(made.ndim), key=lambda a: axes[a]))
    _C.assign(turned, made)
    return turned


if not TYPE_CHECKING:
    __all__ = exported(globals())
