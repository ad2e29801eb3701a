"""Matrices from a rule: identities, diagonals, triangles."""

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.creation.data import asarray, empty, zeros
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.signatures import makes_global
from oneflow_lite.ops.table import exported


@makes_global
@_C.native(_C.paths.eye)
def eye(
    N: int,  # noqa: N803 - NumPy's names, here and in tri
    M: int | None = None,  # noqa: N803
    k: SupportsIndex = 0,
    dtype: Any = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return a matrix with ones on its k-th diagonal and zeros elsewhere.

    Examples
    --------
    >>> flow.eye(2, 3, k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    columns = operator.index(N if M is None else M)
    matrix = zeros((operator.index(N), columns), dtype, device=device)
    _diagonal(matrix, operator.index(k))[...] = 1
    return matrix


def identity(n: int, dtype: Any = None, *, device: DeviceLike = None) -> Tensor:
    """Return the square matrix with ones on its diagonal; see ``eye``.

    Examples
    --------
    >>> flow.identity(2).numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype, device=device)


@_C.native(_C.paths.diag)
def diag(x: Any, /, k: SupportsIndex = 0) -> Tensor:
    """Return a matrix with x on its k-th diagonal, or a copy of the k-th diagonal of a matrix.

    Raises
    ------
    ValueError
        Unless x has one dimension or two.

    Examples
    --------
    >>> flow.diag(flow.tensor([1, 2])).numpy()
    array([[1, 0],
           [0, 2]])
    """
    given, offset = asarray(x), operator.index(k)
    if given.ndim == 1:
        size = given.shape[0] + abs(offset)
        matrix = zeros((size, size), given.dtype, device=given.device)
        _diagonal(matrix, offset)[...] = given
        return matrix
    if given.ndim != 2:
        raise ValueError(f"[diag] expected 1 or 2 dimensions, got shape {given.shape}")
    return _C.copy(_C.diagonal(given, offset, 0, 1))


@_C.native(_C.paths.tri)
def tri(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: SupportsIndex = 0,
    dtype: Any = None,
    *,
    device: DeviceLike = None,
) -> Tensor:
    """Return a matrix with ones at and below its k-th diagonal and zeros elsewhere.

    Examples
    --------
    >>> flow.tri(2, 3).numpy()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    like = empty((N, N if M is None else M), dtype, device=device)
    return _C.astype(_below(like, operator.index(k), "tri"), like.dtype, False)


@_C.native(_C.paths.tril)
def tril(x: Any, /, k: SupportsIndex = 0) -> Tensor:
    """Return x with zeros above the k-th diagonal of its last two dimensions.

    Examples
    --------
    >>> flow.tril(flow.ones((2, 2))).numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    given = asarray(x)
    below = _below(given, operator.index(k), "tril")
    return _C.where(below, given, False)


@_C.native(_C.paths.triu)
def triu(x: Any, /, k: SupportsIndex = 0) -> Tensor:
    """Return x with zeros below the k-th diagonal of its last two dimensions.

    Examples
    --------
    >>> flow.triu(flow.ones((2, 2))).numpy()
    array([[1., 1.],
           [0., 1.]])
    """
    given = asarray(x)
    below = _below(given, operator.index(k) - 1, "triu")
    return _C.where(below, False, given)


def _diagonal(matrix: Tensor, k: int) -> Tensor:
    """The k-th diagonal of a row-major matrix, a view."""
    rows, columns = matrix.shape
    if k >= columns or k <= -rows:
        return _C.reshape(matrix[:0, :1], (-1,), None)
    start = k if k >= 0 else -k * columns
    return _C.reshape(matrix[: columns - k], (-1,), None)[start :: columns + 1]


def _below(x: Tensor, k: int, op: str) -> Tensor:
    """Whether an element of the last two dimensions lies at or below the k-th diagonal."""
    if x.ndim == 0:
        raise ValueError(f"[{op}] expected at least one dimension, got a 0-d tensor")
    rows, columns = x.shape[-2:] if x.ndim > 1 else (x.shape[0], x.shape[0])
    are_known = isinstance(rows, int) and isinstance(columns, int)
    last = min(max(k, -rows), columns) if are_known else k  # of row 0
    is_small = are_known and max(columns, last + rows) < 2**15
    dtype = "int16" if is_small else "int64"
    numbers = arange(last, last + rows, dtype=dtype, device=x.device)
    return arange(columns, dtype=dtype, device=x.device) <= numbers[:, None]


if not TYPE_CHECKING:
    __all__ = exported(globals())
