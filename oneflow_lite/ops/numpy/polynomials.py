"""Polynomials by their coefficients, the highest power first."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import computed_in, int64, result_type
from oneflow_lite.ops.creation.data import asarray, empty, zeros_like
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics.scan import write_products
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
    dtype = result_type(given, int64)
    wide = computed_in(dtype)
    powers = empty((given.size, count), wide, device=given.device)
    ascending = powers if increasing else flip(powers, 1)
    _C.assign(ascending[:, :1], 1)
    if count > 1:
        column = _C.astype(given, wide, False)[:, None]
        rows = _C.broadcast_to(column, (given.size, count - 1))
        write_products("vander", rows, ascending[:, 1:], 1)
    return _C.astype(powers, dtype, False)


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
