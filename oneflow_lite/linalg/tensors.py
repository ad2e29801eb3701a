"""Linear equations whose unknowns are tensors of more dimensions."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from numpy.linalg import LinAlgError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.linalg.solving import inv, solve
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import moveaxis, ravel
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported


def tensorinv(a: Any, /, ind: int = 2) -> Tensor:
    """Return the inverse of a for ``tensordot(a, b, ind)``.

    Parameters
    ----------
    a : Tensor or array
        Whose first ``ind`` dimensions have as many places as the others.
    ind : int
        At least 1.

    Examples
    --------
    >>> flow.linalg.tensorinv(flow.reshape(flow.eye(6), (6, 2, 3)), ind=1).shape
    (2, 3, 6)
    """
    given = asarray(a)
    if ind <= 0:
        raise ValueError(f"[tensorinv] expected ind of at least 1, got {ind}")
    rest = given.shape[ind:]
    inverse = inv(_C.reshape(given, (math.prod(rest), -1), None))
    return _C.reshape(inverse, rest + given.shape[:ind], None)


def tensorsolve(a: Any, b: Any, /, axes: Sequence[SupportsIndex] | None = None) -> Tensor:
    """Return the x for which ``tensordot(a, x, x.ndim)`` is b.

    Parameters
    ----------
    a, b : Tensor or array
        The first dimensions of a are those of b, the others those of x.
    axes : sequence of int, optional
        Dimensions of a that are moved behind the others first.

    Examples
    --------
    >>> a = flow.reshape(flow.eye(6), (2, 3, 6))
    >>> flow.linalg.tensorsolve(a, flow.ones((2, 3))).shape
    (6,)
    """
    matrix, right = on_one_device(a, b)
    if axes is not None:
        matrix = moveaxis(matrix, tuple(axes), tuple(range(-len(axes), 0)))
    shape = matrix.shape[-(matrix.ndim - right.ndim) :]
    count = math.prod(shape)
    if matrix.size != count**2:
        raise LinAlgError(
            f"[tensorsolve] expected as many equations as the {count} unknowns, got shapes "
            f"{matrix.shape} and {right.shape}"
        )
    return _C.reshape(solve(_C.reshape(matrix, (count, count), None), ravel(right)), shape, None)


if not TYPE_CHECKING:
    __all__ = exported(globals())
