"""Polynomials by their coefficients, the highest power first."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import int64, result_type
from oneflow_lite.ops.creation.data import asarray, empty, zeros_like
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics.scan import cumprod
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return a matrix with the powers of the elements of x in its rows, the highest first.

    Parameters
    ----------
    x : Tensor or array
        In one dimension.
    N : int, optional
        How many powers; by default as many as elements.
    increasing : bool
        The lowest power first.

    Examples
    --------
    >>> flow.vander(flow.tensor([1, 2, 3])).numpy()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    given = asarray(x)
    if given.ndim != 1:
        raise ValueError(f"[vander] expected one dimension, got shape {given.shape}")
    count = given.size if N is None else N
    powers = empty((given.size, count), result_type(given, int64), device=given.device)
    _C.assign(powers[:, :1], 1)
    if count > 1:
        rows = _C.broadcast_to(given[:, None], (given.size, count - 1))
        _C.assign(powers[:, 1:], cumprod(rows, 1, powers.dtype))
    return powers if increasing else _C.copy(flip(powers, 1))


def polyval(p: Any, x: Any) -> Tensor:
    """Return the values of a polynomial.

    Parameters
    ----------
    p : Tensor or array
        The coefficients, in one dimension, the highest power first.
    x : Tensor, array or scalar
        Where.

    Examples
    --------
    >>> flow.polyval([3, 0, 1], flow.tensor([5, 2])).numpy()
    array([76, 13])
    """
    factors, given = on_one_device(p, x)
    value = zeros_like(given)
    for factor in factors:
        value = value * given + factor
    return value


if not TYPE_CHECKING:
    __all__ = exported(globals())
