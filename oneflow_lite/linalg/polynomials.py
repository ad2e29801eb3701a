"""Polynomials by their roots, which are eigenvalues."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import complex128, float32, float64, isdtype
from oneflow_lite.linalg.decompositions import eigvals
from oneflow_lite.ops.creation.data import asarray, full, ones, zeros
from oneflow_lite.ops.creation.matrices import diag
from oneflow_lite.ops.elementwise import conj
from oneflow_lite.ops.manipulation.joining import concat, stack
from oneflow_lite.ops.numpy.polynomials import _first_true, _product
from oneflow_lite.ops.numpy.shapes import atleast_1d
from oneflow_lite.ops.sorting import sort
from oneflow_lite.ops.statistics.reduction import all
from oneflow_lite.ops.table import exported


def poly(seq_of_zeros: Any) -> Tensor:
    """Return the coefficients of the polynomial that has the given roots.

    Parameters
    ----------
    seq_of_zeros : Tensor or array
        The roots, in one dimension; or a square matrix, whose eigenvalues are the roots.

    Returns
    -------
    Tensor
        One more than there are roots, the highest power first, which has the coefficient 1. Of no
        roots: the number 1.0. The dtype is float64 for integers, bool and float16. It is real
        where complex roots are in pairs of conjugates, and where all eigenvalues of a real matrix
        are real: complex roots and eigenvalues are looked at for this.

    Raises
    ------
    ValueError
        For other shapes.

    Examples
    --------
    >>> flow.poly(flow.tensor([1.0, 2.0])).numpy()
    array([ 1., -3.,  2.])
    """
    given = atleast_1d(asarray(seq_of_zeros))
    if given.ndim == 2 and given.shape[0] == given.shape[1] != 0:
        given = _eigenvalues("poly", given)
    elif given.ndim != 1:
        raise ValueError(
            "[poly] expected roots in one dimension or a square matrix with elements, "
            f"got shape {given.shape}"
        )
    if not isdtype(given.dtype, "complex floating") and given.dtype != float32:
        given = _C.astype(given, float64, False)
    if not len(given):
        return full((), 1.0, device=given.device)
    one = ones(1, given.dtype, device=given.device)
    found = one
    for i in range(len(given)):
        found = _product(found, concat([one, -given[i : i + 1]]))
    if not isdtype(found.dtype, "complex floating"):
        return found
    roots = _C.astype(given, complex128, False)
    in_pairs = all(sort(roots) == sort(conj(roots)))
    return _C.copy(found.real) if _C.look("poly", in_pairs) else found


def roots(p: Any) -> Tensor:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix.

    Parameters
    ----------
    p : Tensor or array
        The coefficients, in one dimension, the highest power first. It is looked at: zeros in
        front count for nothing, and zeros at the end are roots.

    Returns
    -------
    Tensor
        The roots: complex, or real where all are real and the coefficients are, for which they are
        looked at.

    Raises
    ------
    ValueError
        For more than one dimension.
    LinAlgError
        Where a coefficient is NaN or infinite.

    Examples
    --------
    >>> flow.roots(flow.tensor([1.0, -3.0, 2.0])).round(6).numpy()
    array([2., 1.])
    """
    given = atleast_1d(asarray(p))
    if given.ndim != 1:
        raise ValueError(f"[roots] expected one dimension, got shape {given.shape}")
    truths = given != 0
    ends = stack([_first_true(truths), _first_true(truths[::-1])])
    leading, trailing = _C.look("roots", ends).tolist()
    if leading == given.size:
        return zeros(0, float64, device=given.device)
    factors = given[leading : given.size - trailing]
    if not isdtype(factors.dtype, ("real floating", "complex floating")):
        factors = _C.astype(factors, float64, False)
    if factors.size == 1:
        return zeros(trailing, float64, device=given.device)
    companion = diag(ones(factors.size - 2, factors.dtype, device=given.device), -1)
    companion[0] = -factors[1:] / factors[0]
    found = _eigenvalues("roots", companion)
    return concat([found, zeros(trailing, found.dtype, device=given.device)])


def _eigenvalues(op: str, x: Tensor) -> Tensor:
    """Return those of a matrix as NumPy does: real ones, where those of a real one are; looks."""
    found = eigvals(x)
    if isdtype(x.dtype, "complex floating"):
        return found
    return found.real if _C.look(op, all(found.imag == 0)) else found


if not TYPE_CHECKING:
    __all__ = exported(globals())
