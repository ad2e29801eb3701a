"""Factorizations, eigenvalues and singular values, by NumPy's choice of LAPACK's routines."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.linalg import _umath_linalg as loops

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.linalg.lapack import (
    Routine,
    cast,
    check_matrices,
    result_dtype,
)
from oneflow_lite.ops import elementwise
from oneflow_lite.ops.creation.matrices import triu
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.manipulation.shapes import expand_dims
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.sorting import argsort, sort
from oneflow_lite.ops.table import exported

_POSITIVE: dict[str, Any] = {"cost": 0.02, "failure": "not positive definite"}
_EIGENVALUES: dict[str, Any] = {"failure": "eigenvalues"}
_SINGULAR: dict[str, Any] = {"square": False, "failure": "singular values"}
_ORTHOGONAL: dict[str, Any] = {"square": False, "cost": 0.15, "failure": "qr"}

_CHOLESKY_LOWER = Routine("cholesky", loops.cholesky_lo, "d->d", "D->D", "=", **_POSITIVE)
_CHOLESKY_UPPER = Routine("cholesky", loops.cholesky_up, "d->d", "D->D", "=", **_POSITIVE)
_EIG = Routine("eig", loops.eig, "d->DD", "D->DD", "cc", cost=14, finite=True, **_EIGENVALUES)
_EIGVALS = Routine(
    "eigvals", loops.eigvals, "d->D", "D->D", "c", cost=8, finite=True, **_EIGENVALUES
)
_EIGH = {
    "L": Routine("eigh", loops.eigh_lo, "d->dd", "D->dD", "r=", cost=1.5, **_EIGENVALUES),
    "U": Routine("eigh", loops.eigh_up, "d->dd", "D->dD", "r=", cost=1.5, **_EIGENVALUES),
}
_EIGVALSH = {
    "L": Routine("eigvalsh", loops.eigvalsh_lo, "d->d", "D->d", "r", cost=0.6, **_EIGENVALUES),
    "U": Routine("eigvalsh", loops.eigvalsh_up, "d->d", "D->d", "r", cost=0.6, **_EIGENVALUES),
}
# The loop overwrites its operand with R and the reflectors, and returns their factors.
_QR = Routine("qr", loops.qr_r_raw, "d->d", "D->D", "=", in_place=True, **_ORTHOGONAL)
_QR_RAW = Routine("qr_raw", loops.qr_r_raw, "d->d", "D->D", "=", in_place=True, **_ORTHOGONAL)
Q_REDUCED = Routine("qr", loops.qr_reduced, "dd->d", "DD->D", "=", **_ORTHOGONAL)
_Q_COMPLETE = Routine("qr", loops.qr_complete, "dd->d", "DD->D", "=", complete=True, **_ORTHOGONAL)
_SVD_ALL = Routine(
    "svd", loops.svd_f, "d->ddd", "D->DdD", "=r=", cost=3.5, complete=True, **_SINGULAR
)
_SVD_REDUCED = Routine("svd", loops.svd_s, "d->ddd", "D->DdD", "=r=", cost=3.5, **_SINGULAR)
_SVDVALS = Routine("svdvals", loops.svd, "d->d", "D->d", "r", cost=1.2, **_SINGULAR)


class EigResult(NamedTuple):
    """Eigenvalues, and the right eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and the eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """The orthonormal and the upper triangular factor."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, right ones as conjugated rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of Hermitian, positive definite matrices.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, M). Only one triangle is read.
    upper : bool
        Return the upper triangular factor (and read the upper triangle) instead of the lower one.

    Raises
    ------
    LinAlgError
        At the call where matrices are not square; at the look where one is not positive definite.

    Examples
    --------
    >>> flow.linalg.cholesky(flow.tensor([[4.0, 2.0], [2.0, 5.0]])).numpy()
    array([[2., 0.],
           [1., 2.]])
    """
    return (_CHOLESKY_UPPER if upper else _CHOLESKY_LOWER)(*on_one_device(x))[0]


@overload
def qr(x: Any, /, mode: Literal["reduced", "complete"] = ...) -> QRResult: ...
@overload
def qr(x: Any, /, mode: Literal["r"]) -> Tensor: ...
@overload
def qr(x: Any, /, mode: Literal["raw"]) -> tuple[Tensor, Tensor]: ...
@overload
def qr(x: Any, /, mode: str) -> Any: ...
def qr(x: Any, /, mode: str = "reduced") -> Any:
    """Return the factors of matrices: Q with orthonormal columns, R upper triangular.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N); K is the smaller of M and N.
    mode : str
        ``"reduced"``: Q (..., M, K) and R (..., K, N); ``"complete"``: Q (..., M, M) and R (..., M,
        N); ``"r"``: only R (..., K, N); ``"raw"``: the reflectors (..., N, M) and their factors
        (..., K), as LAPACK has them.

    Examples
    --------
    >>> q, r = flow.linalg.qr(flow.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).round().numpy()
    array([[3., 1.],
           [4., 2.]])
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"[qr] expected mode reduced, complete, r or raw, got {mode!r}")
    (given,) = on_one_device(x)
    check_matrices("qr", given.shape)
    dtype = result_dtype("qr", given.dtype)
    rows, columns = given.shape[-2:]
    smaller = min(rows, columns)
    a = _C.astype(given, np.dtype("D" if dtype.kind == "c" else "d"), True)
    (factors,) = (_QR_RAW if mode == "raw" else _QR)(a)
    if mode == "raw":
        return cast(a.mT, dtype), cast(factors, dtype)
    if mode == "r":
        return cast(triu(a[..., :smaller, :]), dtype)
    whole = mode == "complete" and rows > columns
    (q,) = (_Q_COMPLETE if whole else Q_REDUCED)(a, factors)
    r = triu(a[..., : rows if whole else smaller, :])
    return QRResult(cast(q, dtype), cast(r, dtype))


@overload
def svd(
    x: Any, /, full_matrices: bool = ..., compute_uv: Literal[True] = ..., hermitian: bool = ...
) -> SVDResult: ...
@overload
def svd(
    x: Any, /, full_matrices: bool, compute_uv: Literal[False], hermitian: bool = ...
) -> Tensor: ...
@overload
def svd(
    x: Any, /, full_matrices: bool = ..., *, compute_uv: Literal[False], hermitian: bool = ...
) -> Tensor: ...
@overload
def svd(
    x: Any, /, full_matrices: bool = ..., compute_uv: bool = ..., hermitian: bool = ...
) -> Any: ...
def svd(
    x: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return the singular value decomposition of matrices: U, S and Vh.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N); K is the smaller of M and N.
    full_matrices : bool
        U and Vh are square; else of shapes (..., M, K) and (..., K, N).
    compute_uv : bool
        False: return the singular values only.
    hermitian : bool
        The matrices are Hermitian, which is not looked at: one triangle is read, and the singular
        values are the absolute values of ``eigh``.

    Returns
    -------
    SVDResult
        With S of shape (..., K) in descending order.

    Examples
    --------
    >>> flow.linalg.svd(flow.tensor([[3.0, 0.0], [0.0, 4.0]])).S.numpy()
    array([4., 3.])
    """
    if hermitian:
        return _hermitian_svd(x) if compute_uv else _hermitian_svdvals(x)
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*(_SVD_ALL if full_matrices else _SVD_REDUCED)(*on_one_device(x)))


def _hermitian_svd(x: Any) -> SVDResult:
    """By eigenvalues, whose signs go into Vh."""
    values, vectors = eigh(x)
    signs = elementwise.copysign(1.0, values)
    sizes = elementwise.abs(values)
    order = flip(argsort(sizes), -1)
    signs, sizes = (take_along_axis(one, order, axis=-1) for one in (signs, sizes))
    columns = take_along_axis(vectors, expand_dims(order, axis=-2), axis=-1)
    rows = elementwise.conj((columns * expand_dims(signs, axis=-2)).mT)
    return SVDResult(columns, sizes, rows)


def _hermitian_svdvals(x: Any) -> Tensor:
    return flip(sort(elementwise.abs(eigvalsh(x))), -1)


def svdvals(x: Any, /) -> Tensor:
    """Return the singular values of matrices, in descending order.

    Examples
    --------
    >>> flow.linalg.svdvals(flow.tensor([[3.0, 0.0], [0.0, 4.0]])).numpy()
    array([4., 3.])
    """
    return _SVDVALS(*on_one_device(x))[0]


def eig(x: Any, /) -> EigResult:
    """Return eigenvalues and right eigenvectors of square matrices, complex ones always.

    NumPy up to 2.4 returns real numbers where all eigenvalues are real, which takes a look.

    Raises
    ------
    LinAlgError
        At the look, for matrices with infinities or NaNs.

    Examples
    --------
    >>> flow.linalg.eig(flow.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.numpy()
    array([2.+0.j, 3.+0.j])
    """
    return EigResult(*_EIG(*on_one_device(x)))


def eigvals(x: Any, /) -> Tensor:
    """Return the eigenvalues of square matrices, complex ones always; see ``eig``.

    Examples
    --------
    >>> flow.linalg.eigvals(flow.tensor([[0.0, 1.0], [-1.0, 0.0]])).numpy()
    array([0.+1.j, 0.-1.j])
    """
    return _EIGVALS(*on_one_device(x))[0]


def eigh(x: Any, /, UPLO: str = "L") -> EighResult:  # noqa: N803 - NumPy's name
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, M).
    UPLO : str
        The triangle that is read: ``"L"`` or ``"U"``.

    Examples
    --------
    >>> flow.linalg.eigh(flow.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues.numpy()
    array([2., 3.])
    """
    return EighResult(*_EIGH[_triangle(UPLO, "eigh")](*on_one_device(x)))


def eigvalsh(x: Any, /, UPLO: str = "L") -> Tensor:  # noqa: N803 - NumPy's name
    """Return the eigenvalues of Hermitian matrices, in ascending order; see ``eigh``.

    Examples
    --------
    >>> flow.linalg.eigvalsh(flow.tensor([[3.0, 0.0], [0.0, 2.0]])).numpy()
    array([2., 3.])
    """
    return _EIGVALSH[_triangle(UPLO, "eigvalsh")](*on_one_device(x))[0]


def _triangle(given: str, op: str) -> str:
    triangle = given.upper()
    if triangle not in ("L", "U"):
        raise ValueError(f"[{op}] expected UPLO 'L' or 'U', got {given!r}")
    return triangle


if not TYPE_CHECKING:
    __all__ = exported(globals())
