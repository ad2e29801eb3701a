"""Whose memory it is, in which order, and copies into it."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.masking import broadcasts, store, weak
from oneflow_lite.ops.operands import host_array, is_by_columns
from oneflow_lite.ops.table import exported

_Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


@_C.native(_C.paths.copyto)
def copyto(dst: Any, src: Any, casting: _Casting = "same_kind", where: Any = True) -> None:
    """Write values to a tensor or an array, in place.

    Parameters
    ----------
    dst : Tensor or array
        What is written to; an array waits.
    src : Tensor, array or scalar
        The values, broadcast to the shape of ``dst``.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which casts to the dtype of ``dst`` are allowed; another one is a TypeError.
    where : Tensor or array of bool
        Where it is written; broadcast to the shape of ``dst``.

    Raises
    ------
    ValueError
        Where the values do not broadcast to the shape.

    Examples
    --------
    >>> x = flow.zeros(3)
    >>> flow.copyto(x, [1, 2, 3], where=flow.tensor([True, False, True]))
    >>> x.numpy()
    array([1., 0., 3.])
    """
    if not isinstance(dst, (Tensor, np.ndarray)):
        got = type(dst).__name__
        raise TypeError(f"[copyto] expected a tensor or array to write to, got {got}")
    if type(src) in (bool, int, float, complex):
        source = weak("copyto", src, dst.dtype, casting, asarray(dst).device)
    else:
        source = src if isinstance(src, Tensor) else asarray(src)
    if isinstance(dst, Tensor):
        source = _C.to_device(source, dst.device, False)
    while source.ndim > dst.ndim and source.shape[0] == 1:
        source = source[0]
    if not broadcasts(source.shape, dst.shape):
        shapes = f"shape {dst.shape}, got {source.shape}"
        raise ValueError(f"[copyto] expected src to broadcast to {shapes}")
    store("copyto", dst, source, casting, where, widens=True)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Tell whether a change of one tensor or array may change the other.

    Parameters
    ----------
    a, b : Tensor or array
        Two tensors may share memory where they are views of one storage.
    max_work : int, optional
        Of two arrays, or an array and a tensor on the cpu: as for ``numpy.may_share_memory``.

    Examples
    --------
    >>> x = flow.zeros(3)
    >>> flow.may_share_memory(x, x[1:]), flow.may_share_memory(x, x + 1)
    (True, False)
    """
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shares_storage(b)
    arrays = _arrays("may_share_memory", a, b)
    return arrays is not None and np.may_share_memory(*arrays, max_work)


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Tell whether two tensors or arrays share memory.

    Parameters
    ----------
    a, b : Tensor or array
        Two tensors share memory where they are views of one storage, whichever elements they have.
    max_work : int, optional
        Of two arrays, or an array and a tensor on the cpu: as for ``numpy.shares_memory``.

    Examples
    --------
    >>> x = flow.zeros(3)
    >>> flow.shares_memory(x, x[1:]), flow.shares_memory(x, x + 1)
    (True, False)
    """
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shares_storage(b)
    arrays = _arrays("shares_memory", a, b)
    return arrays is not None and np.shares_memory(*arrays, max_work)


def _arrays(op: str, *given: Any) -> tuple[Any, Any] | None:
    """Two arrays over the memory; None where one is a tensor in the memory of a device."""
    if any(isinstance(x, Tensor) and x.device.type != "cpu" for x in given):
        return None
    first, second = (
        _C.shared_array(x) if isinstance(x, Tensor) else host_array(x, op) for x in given
    )
    return first, second


def isfortran(a: Any) -> bool:
    """Tell whether the elements are in column-major order, and not in row-major order, too.

    Parameters
    ----------
    a : Tensor, array or nested lists
        Nothing is looked at.

    Examples
    --------
    >>> x = flow.zeros((2, 3))
    >>> flow.isfortran(x), flow.isfortran(x.T)
    (False, True)
    """
    if not isinstance(a, Tensor):
        return host_array(a, "isfortran").flags.fnc
    return is_by_columns(a)


if not TYPE_CHECKING:
    __all__ = exported(globals())
