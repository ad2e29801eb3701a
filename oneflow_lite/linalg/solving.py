"""Inverses, determinants and linear equations, with NumPy's bits: the same LAPACK calls."""

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError, _umath_linalg as loops

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.linalg.decompositions import svd
from oneflow_lite.linalg.lapack import (
    Routine,
    cast,
    check_matrices,
    check_square,
    real_of,
    result_dtype,
)
from oneflow_lite.ops import elementwise
from oneflow_lite.ops.creation.data import empty, empty_like, full, zeros
from oneflow_lite.ops.creation.matrices import eye
from oneflow_lite.ops.gufunc import PREPARED_CALLS, GufuncCall, Shape, as_dtype, prepare_gufunc
from oneflow_lite.ops.manipulation.shapes import expand_dims
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics.reduction import max as max_of
from oneflow_lite.ops.table import exported

_DET = Routine("det", loops.det, "d->d", "D->D", "=", cost=0.05)
_INV = Routine("inv", loops.inv, "d->d", "D->D", "=", cost=0.25, failure="singular")
_SLOGDET = Routine("slogdet", loops.slogdet, "d->dd", "D->Dd", "=r", cost=0.05)
_SOLVE = Routine(
    "solve", loops.solve, "dd->d", "DD->D", "=", cost=0.05, side_cost=0.2, failure="singular"
)
_SOLVE_ONE = Routine("solve", loops.solve1, "dd->d", "DD->D", "=", cost=0.05, failure="singular")

_NUMPY_CUTOFF = 1e-15  # of pinv, relative to the largest singular value
_EPSILON = float(np.finfo(float).eps)


class SlogdetResult(NamedTuple):
    """Sign (of modulus 1) and logarithm of the absolute value of determinants."""

    sign: Tensor
    logabsdet: Tensor


class LstsqResult(NamedTuple):
    """Solution, sums of squared residuals, rank of the matrix, its singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def inv(x: Any, /) -> Tensor:
    """Return the inverse of square matrices.

    Raises
    ------
    LinAlgError
        At the call where matrices are not square; at the look where one is singular.

    Examples
    --------
    >>> flow.linalg.inv(flow.tensor([[2.0, 0.0], [0.0, 4.0]])).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return _INV(*on_one_device(x))[0]


def det(x: Any, /) -> Tensor:
    """Return the determinant of square matrices.

    Examples
    --------
    >>> flow.linalg.det(flow.tensor([[2.0, 1.0], [0.0, 4.0]])).round().item()
    8.0
    """
    return _DET(*on_one_device(x))[0]


def slogdet(x: Any, /) -> SlogdetResult:
    """Return sign and logarithm of the absolute value of determinants; 0 and -inf where singular.

    Examples
    --------
    >>> flow.linalg.slogdet(flow.tensor([[1.0, 0.0], [0.0, -1.0]])).sign.item()
    -1.0
    """
    return SlogdetResult(*_SLOGDET(*on_one_device(x)))


def solve(x1: Any, x2: Any, /) -> Tensor:
    """Return the solution of ``x1 @ x = x2``.

    Parameters
    ----------
    x1 : Tensor or array
        Square matrices (..., M, M).
    x2 : Tensor or array
        One vector (M), or matrices (..., M, K). Leading dimensions are broadcast.

    Raises
    ------
    LinAlgError
        At the call where x1 is not square; at the look where one is singular.

    Examples
    --------
    >>> flow.linalg.solve(flow.tensor([[2.0, 0.0], [0.0, 4.0]]), flow.tensor([2.0, 2.0])).numpy()
    array([1. , 0.5])
    """
    a, b = on_one_device(x1, x2)
    return (_SOLVE_ONE if b.ndim == 1 else _SOLVE)(a, b)[0]


def matrix_power(x: Any, n: int, /) -> Tensor:
    """Return square matrices to the power of n; of their inverse where n is negative.

    Examples
    --------
    >>> flow.linalg.matrix_power(flow.tensor([[1, 1], [0, 1]]), 5).numpy()
    array([[1, 5],
           [0, 1]])
    """
    (a,) = on_one_device(x)
    check_square("matrix_power", a.shape)
    power = operator.index(n)
    if power == 0:
        made = empty_like(a)
        _C.assign(made, eye(a.shape[-1], dtype=a.dtype, device=a.device))
        return made
    square, power = (inv(a), -power) if power < 0 else (a, power)
    if power == 3:  # NumPy's order
        return _C.matmul(_C.matmul(square, square), square)
    result: Tensor | None = None
    while power:
        if power % 2:
            result = square if result is None else _C.matmul(result, square)
        power //= 2
        square = _C.matmul(square, square) if power else square
    return square if result is None else result


def pinv(
    x: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NUMPY_CUTOFF
) -> Tensor:
    """Return the pseudo-inverse of matrices.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N).
    rcond, rtol : float or Tensor, optional
        Singular values up to this part of the largest one count as 0; tensors are broadcast
        against the leading dimensions. 1e-15 by default, as in NumPy; ``rtol=None``: max(M, N)
        times the dtype's precision. rcond is NumPy's other name.
    hermitian : bool
        As for ``svd``.

    Examples
    --------
    >>> flow.linalg.pinv(flow.tensor([[2.0], [0.0]])).numpy()
    array([[0.5, 0. ]])
    """
    if rcond is not None and rtol is not _NUMPY_CUTOFF:
        raise ValueError("[pinv] expected rcond or rtol, got both")
    (a,) = on_one_device(x)
    check_matrices("pinv", a.shape)
    rows, columns = a.shape[-2:]
    if rows == 0 or columns == 0:
        return empty((*a.shape[:-2], columns, rows), dtype=a.dtype, device=a.device)
    dtype = result_dtype("pinv", a.dtype)
    part = rtol if rcond is None else rcond
    if part is None:
        part = max(rows, columns) * np.finfo(dtype).eps
    u, s, vh = svd(elementwise.conj(a), full_matrices=False, hermitian=hermitian)
    # Not a weak scalar, as in NumPy: a cutoff of float64 is not rounded to float32.
    cutoff = expand_dims(on_one_device(a, part)[1], axis=-1)
    large = s > cutoff * max_of(s, axis=-1, keepdims=True)
    reciprocal = _C.where(large, 1 / _C.where(large, s, 1), 0)  # no infinity on the way
    return _C.matmul(vh.mT, expand_dims(reciprocal, axis=-1) * u.mT)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """Return the solution of ``a @ x = b`` that has the least squares.

    Parameters
    ----------
    a, b : Tensor or array
        A matrix (M, N); a vector (M) or a matrix (M, K).
    rcond : float, optional
        Singular values up to this part of the largest one count as 0; by default max(M, N) times
        the precision of float64.

    Returns
    -------
    LstsqResult
        With residuals of shape (0,) where the rank is not N, or M is not above N. For M above N
        that is a look at the rank.

    Examples
    --------
    >>> flow.linalg.lstsq(flow.tensor([[1.0], [1.0]]), flow.tensor([1.0, 3.0])).x.numpy()
    array([2.])
    """
    matrix, given = on_one_device(a, b)
    right = expand_dims(given, axis=-1) if given.ndim == 1 else given
    for x in (matrix, right):
        if x.ndim != 2:
            raise LinAlgError(f"[lstsq] expected two dimensions, got shape {x.shape}")
    rows, columns = matrix.shape
    if right.shape[0] != rows:
        raise LinAlgError(f"[lstsq] expected {rows} rows, got shape {given.shape}")
    dtype = result_dtype("lstsq", matrix.dtype, right.dtype)
    solution, residuals, rank, s = _least_squares(matrix, right, rcond, dtype.kind == "c")
    if rows == 0:
        solution = zeros(solution.shape, dtype=solution.dtype, device=matrix.device)
    if rows <= columns or int(_C.look("lstsq", rank)) != columns:
        residuals = empty((0,), dtype=real_of(dtype), device=matrix.device)
    if given.ndim == 1:
        solution = solution[:, 0]
    return LstsqResult(
        cast(solution, dtype), cast(residuals, real_of(dtype)), rank, cast(s, real_of(dtype))
    )


def _least_squares(
    matrix: Tensor, right: Tensor, rcond: float | None, is_complex: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solution, residuals, rank, singular values; LAPACK wants a right side, so one is made up."""
    rows, columns = matrix.shape
    count = right.shape[1]
    if count == 0:
        right = zeros((rows, 1), dtype=right.dtype, device=matrix.device)
    part = _EPSILON * max(rows, columns) if rcond is None else rcond
    operands = [matrix, right, full((), float(part), device=matrix.device)]
    call = _least_squares_call(is_complex, *[x.shape for x in operands])
    x, residuals, rank, s = call.issue([*map(as_dtype, operands, call.dtypes_in)])
    return (x, residuals, rank, s) if count else (x[:, :0], residuals[:0], rank, s)


@lru_cache(PREPARED_CALLS)
def _least_squares_call(is_complex: bool, *shapes: Shape) -> GufuncCall:
    rows, columns = shapes[0]
    smaller = min(rows, columns)
    types = "DDd->Ddid" if is_complex else "ddd->ddid"
    work = 16.0 * (rows + 1) * (columns + 1) * smaller
    how: dict[str, Any] = {"sizes": {"p": smaller}, "work": work, "failure": "least squares"}
    return prepare_gufunc("lstsq", loops.lstsq, types, shapes, **how)


if not TYPE_CHECKING:
    __all__ = exported(globals())
