"""Factorizations, eigenvalues and singular values, with NumPy's bits: the same LAPACK calls."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.linalg import _umath_linalg as loops

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.linalg.lapack import (
    call_lapack,
    cast,
    check_matrices,
    check_square,
    complex_of,
    loop_types,
    real_of,
    result_dtype,
)
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.ranges import triu
from oneflow_lite.ops.table import exported


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
    (a,) = on_one_device(x)
    check_square("cholesky", a)
    dtype = result_dtype("cholesky", a)
    loop = loops.cholesky_up if upper else loops.cholesky_lo
    types = loop_types(dtype, "d->d", "D->D")
    failure = "not positive definite"
    (factor,) = call_lapack("cholesky", loop, types, a, direct=True, failure=failure)
    return cast(factor, dtype)


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
    check_matrices("qr", given)
    dtype = result_dtype("qr", given)
    rows, columns = given.shape[-2:]
    smaller = min(rows, columns)
    # The loop overwrites its operand with R and the reflectors.
    a = _C.astype(given, np.dtype("D" if dtype.kind == "c" else "d"), True)
    tau = _C.empty((*a.shape[:-2], smaller), a.dtype, a.device)
    types = loop_types(dtype, "d->d", "D->D")
    call_lapack("qr", loops.qr_r_raw, types, a, outputs=[tau], in_place=True, failure="qr")
    if mode == "raw":
        return cast(a.mT, dtype), cast(tau, dtype)
    if mode == "r":
        return cast(triu(a[..., :smaller, :]), dtype)
    whole = mode == "complete" and rows > columns
    loop = loops.qr_complete if whole else loops.qr_reduced
    types = loop_types(dtype, "dd->d", "DD->D")
    # Reduced: (m,n),(k)->(m,k); complete: (m,n),(n)->(m,m).
    (q,) = call_lapack("qr", loop, types, a, tau, failure="qr")
    r = triu(a[..., : rows if whole else smaller, :])
    return QRResult(cast(q, dtype), cast(r, dtype))


def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition of matrices: U, S and Vh.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N); K is the smaller of M and N.
    full_matrices : bool
        U and Vh are square; else of shapes (..., M, K) and (..., K, N).
    compute_uv : bool
        False: return the singular values only.

    Returns
    -------
    SVDResult
        With S of shape (..., K) in descending order.

    Examples
    --------
    >>> flow.linalg.svd(flow.tensor([[3.0, 0.0], [0.0, 4.0]])).S.numpy()
    array([4., 3.])
    """
    if not compute_uv:
        return svdvals(x)
    (a,) = on_one_device(x)
    check_matrices("svd", a)
    dtype = result_dtype("svd", a)
    loop = loops.svd_f if full_matrices else loops.svd_s
    u, s, vh = call_lapack(
        "svd",
        loop,
        loop_types(dtype, "d->ddd", "D->DdD"),
        a,
        sizes={"p": min(a.shape[-2:])},
        failure="singular values",
    )
    return SVDResult(cast(u, dtype), cast(s, real_of(dtype)), cast(vh, dtype))


def svdvals(x: Any, /) -> Tensor:
    """Return the singular values of matrices, in descending order.

    Examples
    --------
    >>> flow.linalg.svdvals(flow.tensor([[3.0, 0.0], [0.0, 4.0]])).numpy()
    array([4., 3.])
    """
    (a,) = on_one_device(x)
    check_matrices("svdvals", a)
    dtype = result_dtype("svdvals", a)
    types = loop_types(dtype, "d->d", "D->d")
    sizes = {"p": min(a.shape[-2:])}
    (s,) = call_lapack("svdvals", loops.svd, types, a, sizes=sizes, failure="singular values")
    return cast(s, real_of(dtype))


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
    (a,) = on_one_device(x)
    check_square("eig", a)
    dtype = result_dtype("eig", a)
    types = loop_types(dtype, "d->DD", "D->DD")
    w, v = call_lapack("eig", loops.eig, types, a, finite=True, failure="eigenvalues")
    return EigResult(cast(w, complex_of(dtype)), cast(v, complex_of(dtype)))


def eigvals(x: Any, /) -> Tensor:
    """Return the eigenvalues of square matrices, complex ones always; see ``eig``.

    Examples
    --------
    >>> flow.linalg.eigvals(flow.tensor([[0.0, 1.0], [-1.0, 0.0]])).numpy()
    array([0.+1.j, 0.-1.j])
    """
    (a,) = on_one_device(x)
    check_square("eigvals", a)
    dtype = result_dtype("eigvals", a)
    types = loop_types(dtype, "d->D", "D->D")
    (w,) = call_lapack("eigvals", loops.eigvals, types, a, finite=True, failure="eigenvalues")
    return cast(w, complex_of(dtype))


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
    (a,) = on_one_device(x)
    check_square("eigh", a)
    dtype = result_dtype("eigh", a)
    loop = loops.eigh_lo if _is_lower(UPLO, "eigh") else loops.eigh_up
    types = loop_types(dtype, "d->dd", "D->dD")
    w, v = call_lapack("eigh", loop, types, a, failure="eigenvalues")
    return EighResult(cast(w, real_of(dtype)), cast(v, dtype))


def eigvalsh(x: Any, /, UPLO: str = "L") -> Tensor:  # noqa: N803 - NumPy's name
    """Return the eigenvalues of Hermitian matrices, in ascending order; see ``eigh``.

    Examples
    --------
    >>> flow.linalg.eigvalsh(flow.tensor([[3.0, 0.0], [0.0, 2.0]])).numpy()
    array([2., 3.])
    """
    (a,) = on_one_device(x)
    check_square("eigvalsh", a)
    dtype = result_dtype("eigvalsh", a)
    loop = loops.eigvalsh_lo if _is_lower(UPLO, "eigvalsh") else loops.eigvalsh_up
    types = loop_types(dtype, "d->d", "D->d")
    (w,) = call_lapack("eigvalsh", loop, types, a, failure="eigenvalues")
    return cast(w, real_of(dtype))


def _is_lower(triangle: str, op: str) -> bool:
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f"[{op}] expected UPLO 'L' or 'U', got {triangle!r}")
    return triangle.upper() == "L"


if not TYPE_CHECKING:
    __all__ = exported(globals())
