"""Norms, condition and rank; each follows NumPy's sequence of operations, for its bits."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.linalg import LinAlgError, _umath_linalg as loops

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import complex128, computed_in, float64, int64, kind_of
from oneflow_lite.linalg.decompositions import svd, svdvals
from oneflow_lite.linalg.lapack import Routine, cast, real_of, result_dtype
from oneflow_lite.ops import elementwise
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.linear_algebra import vecdot
from oneflow_lite.ops.manipulation.shapes import expand_dims, moveaxis
from oneflow_lite.ops.operands import is_kept, on_one_device
from oneflow_lite.ops.statistics import reduction
from oneflow_lite.ops.table import exported

Order = int | float | str | None
Axis = SupportsIndex | tuple[SupportsIndex, ...] | None

_INVERSE = Routine("cond", loops.inv, "d->d", "D->D", "=", cost=0.25)  # NaN where singular


@_C.native(_C.paths.vector_norm)
def vector_norm(
    x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """Return norms of vectors.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int or tuple of int, optional
        The axes whose elements make a vector; None: all.
    keepdims : bool
        Keep these axes, with size 1.
    ord : int or float
        2: the Euclidean norm; inf and -inf: the largest and the smallest absolute value; 0: how
        many elements are not 0; p: the p-th root of the sum of p-th powers.

    Examples
    --------
    >>> flow.linalg.vector_norm(flow.tensor([3.0, 4.0])).item()
    5.0
    """
    (given,) = on_one_device(x)
    axes = _axes(axis, given.ndim, "vector_norm")
    rest = [d for d in range(given.ndim) if d not in axes]
    count = math.prod(given.shape[d] for d in axes)
    if len(axes) == 1:
        result = _vector_norm(_floating(given), axes[0], ord, "vector_norm")
    else:
        flat = _C.reshape(
            _C.permute(given, [*axes, *rest]), [count, *(given.shape[d] for d in rest)], None
        )
        result = _vector_norm(_floating(flat), 0, ord, "vector_norm")
    return _kept(result, given, axes) if is_kept("vector_norm", keepdims) else result


@_C.native(_C.paths.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Order = "fro") -> Tensor:
    """Return norms of matrices, the last two dimensions.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N).
    keepdims : bool
        Keep the dimensions, with size 1.
    ord : int, float or str
        ``"fro"``: Frobenius; ``"nuc"``: the sum of the singular values; 2 and -2: the largest and
        the smallest of them; 1 and -1: the largest and smallest sum of absolute values of a column;
        inf and -inf: of a row.

    Examples
    --------
    >>> flow.linalg.matrix_norm(flow.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1).item()
    6.0
    """
    (given,) = on_one_device(x)
    if given.ndim < 2:
        raise ValueError(f"[matrix_norm] expected at least two dimensions, got shape {given.shape}")
    result = _matrix_norm(_floating(given), ord, "matrix_norm")
    axes = (given.ndim - 2, given.ndim - 1)
    return _kept(result, given, axes) if is_kept("matrix_norm", keepdims) else result


@_C.native(_C.paths.norm)
def norm(x: Any, /, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return NumPy's ``linalg.norm``: of vectors along one axis, of matrices along two.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    ord : int, float or str, optional
        As for ``vector_norm`` and ``matrix_norm``; None: the root of the sum of squares.
    axis : int or tuple of int, optional
        One or two axes; None: all (of one or two dimensions, unless ord is None).
    keepdims : bool
        Keep these axes, with size 1.

    Examples
    --------
    >>> flow.linalg.norm(flow.tensor([[3.0, 4.0], [6.0, 8.0]]), axis=1).numpy()
    array([ 5., 10.])
    """
    (given,) = on_one_device(x)
    floating = _floating(given)
    everything = axis is None
    axes = _axes(axis, given.ndim, "norm")
    is_root = ord is None or (ord in ("f", "fro") and given.ndim == 2)
    if everything and (is_root or (ord == 2 and given.ndim == 1)):
        result = _root_of_squares(_in_memory_order(floating))
    elif len(axes) == 1:
        result = _vector_norm(floating, axes[0], ord, "norm")
    elif len(axes) == 2:
        result = _matrix_norm(moveaxis(floating, axes, (-2, -1)), ord, "norm")
    else:
        raise ValueError(f"[norm] expected one or two axes, got {len(axes)}")
    return _kept(result, given, axes) if is_kept("norm", keepdims) else result


def cond(x: Any, /, p: Order = None) -> Tensor:
    """Return condition numbers of matrices: the norm times that of the inverse; inf where singular.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N); square unless p is None, 2 or -2.
    p : int, float or str, optional
        The norm, as for ``matrix_norm``; None: 2.

    Examples
    --------
    >>> flow.linalg.cond(flow.tensor([[2.0, 0.0], [0.0, 4.0]])).item()
    2.0
    """
    (a,) = on_one_device(x)
    if a.size == 0 and 0 in a.shape[-2:]:
        raise LinAlgError(f"[cond] expected matrices with elements, got shape {a.shape}")
    if p is None or p in (2, -2):
        s = svdvals(a)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        dtype = real_of(result_dtype("cond", a.dtype))
        (inverse,) = _INVERSE(cast(a, complex128 if a.dtype.kind == "c" else float64))
        result = cast(matrix_norm(a, ord=p) * matrix_norm(inverse, ord=p), dtype)
    was_nan = reduction.any(elementwise.isnan(a), axis=(-2, -1))
    return _C.where(elementwise.isnan(result) & ~was_nan, math.inf, result)


def matrix_rank(x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """Return how many singular values are above a tolerance, as int64.

    Parameters
    ----------
    x : Tensor or array
        Of shape (..., M, N); for less dimensions, whether some element is not 0.
    tol : float or Tensor, optional
        The tolerance.
    hermitian : bool
        As for ``svd``.
    rtol : float or Tensor, optional
        The tolerance as a part of the largest singular value; by default max(M, N) times the
        dtype's precision.

    Examples
    --------
    >>> flow.linalg.matrix_rank(flow.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    if tol is not None and rtol is not None:
        raise ValueError("[matrix_rank] expected tol or rtol, got both")
    (a,) = on_one_device(x)
    if a.ndim < 2:
        return cast(reduction.any(a != 0), int64)
    s: Tensor = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        part: Any = max(a.shape[-2:]) * np.finfo(s.dtype).eps
        part = part if rtol is None else expand_dims(on_one_device(a, rtol)[1], axis=-1)
        limit = expand_dims(_max_or_zero(s, s.ndim - 1), axis=-1) * part
    else:
        limit = expand_dims(on_one_device(a, tol)[1], axis=-1)
    above: Tensor = s > limit
    return reduction.sum(above, axis=-1)


# --- how NumPy computes them


def _vector_norm(x: Tensor, axis: int, ord: Order, op: str) -> Tensor:
    if isinstance(ord, str):
        raise ValueError(f"[{op}] expected a number as the order of a vector norm, got {ord!r}")
    if (wide := computed_in(x.dtype)) != x.dtype:
        return cast(_vector_norm(cast(x, wide), axis, ord, op), x.dtype)
    if ord is None or ord == 2:
        squares = (elementwise.conj(x) * x).real
        return elementwise.sqrt(reduction.sum(squares, axis=axis, dtype=squares.dtype))
    if ord == 0:
        return reduction.sum(cast(x != 0, x.real.dtype), axis=axis, dtype=x.real.dtype)
    sizes = elementwise.abs(x)
    if ord == math.inf:
        return _max_or_zero(sizes, axis)
    if ord == -math.inf:
        return reduction.min(sizes, axis=axis)
    if ord == 1:
        return reduction.sum(sizes, axis=axis)
    powers = reduction.sum(cast(sizes**ord, sizes.dtype), axis=axis)  # as NumPy's, in place
    return powers ** float(np.reciprocal(ord, dtype=powers.dtype))


def _matrix_norm(x: Tensor, ord: Order, op: str) -> Tensor:
    """Of the last two dimensions."""
    if ord in (2, -2, "nuc"):
        return _of_singular_values(ord)(svdvals(x))
    if (wide := computed_in(x.dtype)) != x.dtype:
        return cast(_matrix_norm(cast(x, wide), ord, op), x.dtype)
    if ord in (None, "fro", "f"):
        squares = (elementwise.conj(x) * x).real
        return elementwise.sqrt(reduction.sum(squares, axis=(-2, -1)))
    last = x.ndim - 2  # of the sums
    if ord in (1, -1):
        sums = reduction.sum(elementwise.abs(x), axis=-2)
    elif ord in (math.inf, -math.inf):
        sums = reduction.sum(elementwise.abs(x), axis=-1)
    else:
        raise ValueError(f"[{op}] expected fro, nuc, 1, -1, 2, -2, inf or -inf, got {ord!r}")
    return _max_or_zero(sums, last) if ord in (1, math.inf) else reduction.min(sums, axis=last)


def _of_singular_values(ord: Order) -> Callable[[Tensor], Tensor]:
    if ord == 2:
        return lambda s: _max_or_zero(s, s.ndim - 1)
    function = reduction.sum if ord == "nuc" else reduction.min
    return lambda s: function(s, axis=-1)


def _in_memory_order(x: Tensor) -> Tensor:
    """The elements in one dimension, those that are neighbours in memory beside each other."""
    if x.ndim > 1 and not x.is_contiguous():
        x = _C.permute(x, sorted(range(x.ndim), key=lambda d: -abs(_C.raw_strides(x)[d])))
    return _C.reshape(x, (-1,), None)


def _root_of_squares(x: Tensor) -> Tensor:
    """Of a vector, by the loops of the dot product."""
    if (wide := computed_in(x.dtype)) != x.dtype:
        return cast(_root_of_squares(cast(x, wide)), x.dtype)
    if x.dtype.kind != "c":
        return elementwise.sqrt(vecdot(x, x))
    real, imag = x.real, x.imag
    return elementwise.sqrt(vecdot(real, real) + vecdot(imag, imag))


def _max_or_zero(x: Tensor, axis: int) -> Tensor:
    """The largest of numbers that are not negative; 0 of none."""
    if x.shape[axis]:
        return reduction.max(x, axis=axis)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return zeros(shape, dtype=x.dtype, device=x.device)


def _floating(x: Tensor) -> Tensor:
    return x if kind_of(x.dtype) in "fc" else cast(x, float64)


def _axes(axis: Axis, ndim: int, op: str) -> tuple[int, ...]:
    """Axes as numbers from 0."""
    if axis is None:
        return tuple(range(ndim))
    given = tuple(map(operator.index, axis if isinstance(axis, Sequence) else (axis,)))
    for one in given:
        if not -ndim <= one < ndim:
            raise IndexError(f"[{op}] axis {one} is out of bounds for {ndim} dimensions")
    normal = tuple(one % ndim for one in given)
    if len(set(normal)) != len(normal):
        raise ValueError(f"[{op}] an axis is given twice: {given}")
    return normal


def _kept(result: Tensor, x: Tensor, axes: Sequence[int]) -> Tensor:
    """The result with the axes that it was reduced over, as size 1."""
    shape = [1 if d in axes else size for d, size in enumerate(x.shape)]
    return _C.reshape(result, shape, None)


if not TYPE_CHECKING:
    __all__ = exported(globals())
