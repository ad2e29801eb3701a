"""Creation of ranges and of grids of coordinates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Placement, Sbp, Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import DType, canonical, computed_in, result_type
from oneflow_lite.inspection import returned
from oneflow_lite.ops.creation.data import tensor
from oneflow_lite.ops.operands import host_array, on_one_device
from oneflow_lite.ops.signatures import makes_global
from oneflow_lite.ops.table import exported


@makes_global
@_C.native(_C.paths.arange)
def arange(
    start: float | None = None,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return evenly spaced values in [start, stop), or in [0, start).

    Examples
    --------
    >>> flow.arange(2, 10, 3).numpy()
    array([2, 5, 8])
    """


@overload
def linspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = ...,
    endpoint: bool = ...,
    retstep: Literal[False] = ...,
    dtype: Any = ...,
    axis: SupportsIndex = ...,
    *,
    device: DeviceLike = ...,
) -> Tensor: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = ...,
    endpoint: bool = ...,
    *,
    retstep: Literal[True],
    dtype: Any = ...,
    axis: SupportsIndex = ...,
    device: DeviceLike = ...,
) -> tuple[Tensor, Tensor]: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = ...,
    endpoint: bool = ...,
    *,
    dtype: Any = ...,
    axis: SupportsIndex = ...,
    placement: Placement,
    sbp: Sbp | Sequence[Sbp] = ...,
) -> GlobalTensor: ...
# A placement goes elsewhere: to flow.distributed.
@_C.native(_C.paths.linspace, "retstep", "axis")  # type: ignore[misc]
def linspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike = None,
) -> Any:
    """Return ``num`` evenly spaced values from start to stop (left out without ``endpoint``).

    Parameters
    ----------
    start, stop : scalar, Tensor or array
        The ends; of arrays, which are broadcast against each other, each element is one. Values of
        tensors are waited for.
    num : int
        At least 0.
    endpoint : bool
        Whether stop is the last value.
    retstep : bool
        Return a tuple, with the step too; NaN where there is none.
    dtype, device
        As for ``tensor``; floats unless given.
    axis : int
        The axis of the result that the values are along.

    Examples
    --------
    >>> flow.linspace(0, 1, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> values, step = flow.linspace([0, 1], 2, 3, retstep=True, axis=1)
    >>> step.numpy()
    array([1. , 0.5])
    """
    wanted = _spaced("linspace", dtype, start, stop)
    first, last = _number("linspace", start), _number("linspace", stop)
    home = _home(device, start, stop)
    if not isinstance(num, int) and hasattr(num, "linspace"):  # an unknown extent
        if retstep or axis not in (0, -1):
            raise TypeError(
                "[linspace] num: an extent that only a run knows goes with neither retstep nor axis"
            )
        spaced: Tensor = num.linspace(first, last, endpoint, wanted, home)
        return spaced
    made, step = np.linspace(
        first, last, num, endpoint=endpoint, retstep=True, dtype=wanted, axis=axis
    )
    values = tensor(made, device=home)
    return (values, tensor(step, device=home)) if retstep else values


def logspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return ``base`` to the power of evenly spaced exponents from start to stop.

    Parameters
    ----------
    start, stop, num, endpoint, dtype, axis, device
        As for ``linspace``.
    base : scalar, Tensor or array
        Broadcast against start and stop.

    Examples
    --------
    >>> flow.logspace(0, 2, 3).numpy()
    array([  1.,  10., 100.])
    """
    if dtype is None and {type(start), type(stop), type(base)} <= {int, float}:
        exponents = np.linspace(start, stop, num, endpoint, axis=axis)
        return tensor(np.power(base, exponents), device=device)
    wanted = _spaced("logspace", dtype, start, stop, base)
    first, last, of = (_number("logspace", x) for x in (start, stop, base))
    values = np.logspace(first, last, num, endpoint, of, wanted, axis)
    return tensor(values, device=_home(device, start, stop, base))


def geomspace(
    start: Any,
    stop: Any,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: SupportsIndex = 0,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return ``num`` values from start to stop, each a constant multiple of the one before.

    Parameters are those of ``linspace``.

    Raises
    ------
    ValueError
        Where an end is 0.

    Examples
    --------
    >>> flow.geomspace(1, 8, 4).numpy()
    array([1., 2., 4., 8.])
    """
    wanted = _spaced("geomspace", dtype, start, stop)
    first, last = _number("geomspace", start), _number("geomspace", stop)
    values = np.geomspace(first, last, num, endpoint, wanted, axis)
    return tensor(values, device=_home(device, start, stop))


def _home(device: DeviceLike, *ends: Any) -> DeviceLike:
    """Return where a range goes: to the device of an end, unless told otherwise."""
    if device is not None:
        return device
    return next((end.device for end in ends if isinstance(end, Tensor)), None)


def _number(op: str, x: Any) -> Any:
    """The value of a tensor: NumPy would hand a tensor back to the function that asked it."""
    if not isinstance(x, Tensor):
        return _C.held(x, op)
    value = _C.look(op, x)
    return value.astype(computed_in(value.dtype), copy=False)


def _spaced(op: str, dtype: Any, *ends: Any) -> DType | None:
    """The dtype of numbers between these where NumPy, which has no bfloat16, would choose wrong."""
    if dtype is not None:
        return canonical(dtype, op)
    if not any(isinstance(x, Tensor) for x in ends):
        return None
    with_dtypes = (host_array(x, op) if isinstance(x, (list, tuple)) else x for x in ends)
    wanted = result_type(*with_dtypes, 1.0)
    return wanted if wanted != computed_in(wanted) else None


def meshgrid(
    *arrays: Any, indexing: Literal["xy", "ij"] = "xy", sparse: bool = False, copy: bool = True
) -> list[Tensor] | tuple[Tensor, ...]:
    """Return the coordinates of a grid from those of its axes.

    Parameters
    ----------
    *arrays : Tensor or array
        The coordinates along each axis, in one dimension.
    indexing : {'xy', 'ij'}
        Whether the first two axes are exchanged in the results, as plots have them.
    sparse : bool
        Leave the results with size 1 along the other axes.
    copy : bool
        False: the results are views.

    Returns
    -------
    list or tuple of Tensor
        One for each axis; a tuple from version 2025.12 of the standard.

    Examples
    --------
    >>> x, y = flow.meshgrid(flow.arange(3), flow.arange(2))
    >>> y.numpy()
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] expected indexing 'xy' or 'ij', got {indexing!r}")
    axes = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        axes[:2] = 1, 0
    given = on_one_device(*arrays)
    rows = []
    for axis, one in zip(axes, given, strict=True):
        shape = [1] * len(arrays)
        shape[axis] = -1
        rows.append(_C.reshape(one, shape, None))
    if not sparse:
        grid = [given[axis].size for axis in axes]
        rows = [_C.broadcast_to(row, grid) for row in rows]
    return returned([_C.copy(row) for row in rows] if copy else rows)


if not TYPE_CHECKING:
    __all__ = exported(globals())
