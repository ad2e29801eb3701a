"""Products of arrays, and diagonals. Decompositions and the like are in ``flow.linalg``."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import canonical, resolve_loop
from oneflow_lite.ops import blas as blas
from oneflow_lite.ops.creation.data import ascontiguousarray
from oneflow_lite.ops.elementwise import conj
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import moveaxis
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import on_one_device, paired_axes
from oneflow_lite.ops.scalar_products import scalar_product
from oneflow_lite.ops.statistics.reduction import sum as sum_of
from oneflow_lite.ops.table import Pattern, Properties, exported

_PRODUCT = Properties(pattern=Pattern.OUT_FUSABLE, reuses=0)
_C.register_op("matmul", np.matmul, _PRODUCT, "matmul", "Matrix product.", "matmul")

_FAR = 2**62  # beyond every diagonal

Axes = SupportsIndex | Sequence[SupportsIndex]


def matmul(
    x1: Any, x2: Any, /, *, dtype: Any = None, casting: str = "same_kind", out: Any = None
) -> Tensor:
    """Return the matrix product of the last two dimensions; the others are broadcast.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Of at least one dimension; one dimension stands for a row on the left and a column on the
        right, which the result does not have.
    dtype : dtype, optional
        To multiply in, and of the result, instead of the promoted one.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which casts of the operands, and of the result to ``out``, are allowed.
    out : Tensor or array, optional
        Where the result goes; its first dimensions may be larger, as those of operands that are
        broadcast. A tuple of one is taken, too, as by ufuncs. An array waits for it.

    Raises
    ------
    TypeError
        For a cast that is not allowed.
    ValueError
        Where the last dimension of x1 is not that of x2 before the last; for ``out`` of another
        shape.

    Examples
    --------
    >>> flow.matmul(flow.tensor([[1.0, 2.0]]), flow.tensor([3.0, 4.0])).numpy()
    array([11.])
    """
    given = on_one_device(x1, x2)
    if out is None is dtype and casting == "same_kind":
        return _C.matmul(*given)
    return _as_ufunc(np.matmul, _C.matmul, given, dtype, casting, out)


@_C.native(_C.paths.vecdot, "dtype", "casting", "out")
def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: SupportsIndex = -1,
    dtype: Any = None,
    casting: str = "same_kind",
    out: Any = None,
) -> Tensor:
    """Return the dot products of the vectors along an axis; x1 is conjugated.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Operands, broadcast against each other but for the axis.
    axis : int
        Of both operands.
    dtype, casting, out
        As for ``matmul``.

    Examples
    --------
    >>> flow.vecdot(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 10])).numpy()
    array([21, 43])
    """
    if not (out is None is dtype and casting == "same_kind"):
        given = on_one_device(x1, x2)
        return _as_ufunc(np.vecdot, partial(vecdot, axis=axis), given, dtype, casting, out)
    a, b = (_last(x, axis, "vecdot") for x in on_one_device(x1, x2))
    _check_vectors("vecdot", a, 1, b, 1)
    return _C.matmul(_row(_conjugate(a)), _column(b))[..., 0, 0]


@_C.native(_C.paths.matvec, "dtype", "casting", "out")
def matvec(
    x1: Any, x2: Any, /, *, dtype: Any = None, casting: str = "same_kind", out: Any = None
) -> Tensor:
    """Return the products of matrices with vectors; leading dimensions are broadcast.

    ``dtype``, ``casting`` and ``out`` as for ``matmul``.

    Examples
    --------
    >>> flow.matvec(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 10])).numpy()
    array([21, 43])
    """
    if not (out is None is dtype and casting == "same_kind"):
        return _as_ufunc(np.matvec, matvec, on_one_device(x1, x2), dtype, casting, out)
    a, b = on_one_device(x1, x2)
    _check_vectors("matvec", a, 2, b, 1)
    return _C.matmul(a, _column(b))[..., 0]


@_C.native(_C.paths.vecmat, "dtype", "casting", "out")
def vecmat(
    x1: Any, x2: Any, /, *, dtype: Any = None, casting: str = "same_kind", out: Any = None
) -> Tensor:
    """Return the products of vectors, conjugated, with matrices; leading dimensions are broadcast.

    ``dtype``, ``casting`` and ``out`` as for ``matmul``.

    Examples
    --------
    >>> flow.vecmat(flow.tensor([1, 10]), flow.tensor([[1, 2], [3, 4]])).numpy()
    array([31, 42])
    """
    if not (out is None is dtype and casting == "same_kind"):
        return _as_ufunc(np.vecmat, vecmat, on_one_device(x1, x2), dtype, casting, out)
    a, b = on_one_device(x1, x2)
    _check_vectors("vecmat", a, 1, b, 2)
    return _C.matmul(_row(_conjugate(a)), b)[..., 0, :]


@_C.native(_C.paths.tensordot)
def tensordot(x1: Any, x2: Any, /, axes: int | tuple[Axes, Axes] = 2) -> Tensor:
    """Return the sums of products over pairs of axes.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Operands.
    axes : int or pair of axes
        A number n: the last n axes of x1 with the first n of x2, none where n is negative; or the
        axes of x1 and those of x2, in pairs.

    Returns
    -------
    Tensor
        Of the other axes of x1, then those of x2.

    Examples
    --------
    >>> flow.tensordot(flow.ones((2, 3)), flow.ones((3, 4)), axes=1).numpy()
    array([[3., 3., 3., 3.],
           [3., 3., 3., 3.]])
    """
    a, b = on_one_device(x1, x2)
    return _contracted(a, b, *paired_axes(a.shape, b.shape, axes), _dot)


def _contracted(
    a: Tensor,
    b: Tensor,
    left: list[int],
    right: list[int],
    product: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """The sums over these axes, as a product of matrices."""
    # In the order in which the larger operand lies, so that it need not be copied.
    larger, axes_of = (a, left) if a.size >= b.size else (b, right)
    steps = [_C.raw_strides(larger)[d] for d in axes_of]
    order = sorted(range(len(left)), key=lambda i: -abs(steps[i]))
    left, right = [left[i] for i in order], [right[i] for i in order]
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in kept_a] + [b.shape[d] for d in kept_b]
    rows = math.prod([a.shape[d] for d in kept_a])
    inner = math.prod([a.shape[d] for d in left])
    columns = math.prod([b.shape[d] for d in kept_b])
    first = _C.reshape(_C.permute(a, [*kept_a, *left]), (rows, inner), None)
    second = _C.reshape(_C.permute(b, [*right, *kept_b]), (inner, columns), None)
    return _C.reshape(product(first, second), shape, None)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    """``dot`` of tensors of at most two dimensions."""
    if (scaled := scalar_product(x, y)) is not None:
        return scaled
    return _C.matmul(x, y) if x.ndim and y.ndim else x * y


def _summed(x: Tensor, y: Tensor, matrix: Tensor, axis: int) -> Tensor:
    """The sums of products over the last axis of x and one of y; ``matrix`` is y as a factor."""
    if x.ndim <= 2 and y.ndim <= 2:
        return _dot(x, matrix)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return _contracted(x, y, *paired_axes(x.shape, y.shape, (-1, axis)), _C.matmul)


@_C.native(_C.paths.dot, "out")
def dot(a: Any, b: Any, out: Any = None) -> Tensor:
    """Return the sums of products over the last axis of a and the last but one of b.

    That is the inner product of vectors (nothing is conjugated), the product of matrices, and
    ``a * b`` where either has no dimensions.

    Parameters
    ----------
    a, b : Tensor or array
        Operands.
    out : Tensor or array, optional
        Where the result goes, of its dtype and shape. Of ``a * b``, as for ``multiply``. An array
        waits for it.

    Raises
    ------
    TypeError
        For ``out`` of another dtype.
    ValueError
        For shapes that do not fit.

    Examples
    --------
    >>> flow.dot(flow.tensor([1, 2]), flow.tensor([3, 4])).item()
    11
    """
    x, y = on_one_device(a, b)
    scales = x.ndim == 0 or y.ndim == 0
    if out is not None:
        rule = "same_kind" if scales else "no"
        stored: Tensor = store("dot", out, dot(x, y), rule, widens=scales)
        return stored
    return _summed(x, y, y, -2 if y.ndim > 1 else -1)


@_C.native(_C.paths.inner)
def inner(a: Any, b: Any, /) -> Tensor:
    """Return the sums of products over the last axes; ``a * b`` where either has no dimensions.

    Examples
    --------
    >>> flow.inner(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 10])).numpy()
    array([21, 43])
    """
    x, y = on_one_device(a, b)
    return _summed(x, y, y.T if x.ndim and y.ndim == 2 else y, -1)


@_C.native(_C.paths.vdot)
def vdot(a: Any, b: Any, /) -> Tensor:
    """Return the dot product of the flattened operands; a is conjugated.

    Examples
    --------
    >>> flow.vdot(flow.tensor([1 + 2j]), flow.tensor([3 + 0j])).item()
    (3-6j)
    """
    x, y = (_C.reshape(x, (-1,), None) for x in on_one_device(a, b))
    return _C.matmul(_conjugate(x), y)


def outer(a: Any, b: Any, out: Any = None) -> Tensor:
    """Return the products of all pairs of elements of the flattened operands.

    ``out`` as for ``multiply``: where the result goes, in a dtype of its kind or of a higher one.

    Examples
    --------
    >>> flow.outer(flow.tensor([1, 2]), flow.tensor([1, 10])).numpy()
    array([[ 1, 10],
           [ 2, 20]])
    """
    x, y = on_one_device(a, b)
    made = _C.reshape(x, (-1, 1), None) * _C.reshape(y, (1, -1), None)
    return made if out is None else store("outer", out, made, widens=True)


def kron(a: Any, b: Any) -> Tensor:
    """Return the Kronecker product: each element of a times all of b.

    Examples
    --------
    >>> flow.kron(flow.tensor([1, 10]), flow.tensor([1, 2])).numpy()
    array([ 1,  2, 10, 20])
    """
    x, y = on_one_device(a, b)
    ndim = max(x.ndim, y.ndim)
    outside = (1,) * (ndim - x.ndim) + x.shape
    inside = (1,) * (ndim - y.ndim) + y.shape
    first = _C.reshape(x, [n for size in outside for n in (size, 1)], None)
    second = _C.reshape(y, [n for size in inside for n in (1, size)], None)
    shape = [n * m for n, m in zip(outside, inside, strict=True)]
    return _C.reshape(first * second, shape, None)


def cross(
    x1: Any,
    x2: Any,
    /,
    axisa: SupportsIndex = -1,
    axisb: SupportsIndex = -1,
    axisc: SupportsIndex = -1,
    axis: SupportsIndex | None = None,
) -> Tensor:
    """Return the cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Operands, broadcast against each other.
    axisa, axisb, axisc : int
        Where the vectors are in x1, in x2 and in the result.
    axis : int, optional
        The same for all three.

    Raises
    ------
    ValueError
        For vectors of another size.

    Examples
    --------
    >>> flow.cross(flow.tensor([1, 0, 0]), flow.tensor([0, 1, 0])).numpy()
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = on_one_device(x1, x2)
    a, b = _last(a, axisa, "cross"), _last(b, axisb, "cross")
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"[cross] expected vectors of 3 elements, got {a.shape[-1]} and {b.shape[-1]}"
        )
    a0, a1, a2 = (a[..., i] for i in range(3))
    b0, b1, b2 = (b[..., i] for i in range(3))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    # As NumPy's, the vectors lie by rows.
    by_rows = [part if part.is_contiguous() else ascontiguousarray(part) for part in parts]
    return moveaxis(stack(by_rows, axis=-1), -1, axisc)


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a view of a diagonal of two axes, which becomes the last axis.

    Parameters
    ----------
    x : Tensor or array
        Of at least two dimensions.
    offset : int
        How far above the main diagonal (below, where it is negative).
    axis1, axis2 : int
        The axes of rows and columns.

    Examples
    --------
    >>> flow.diagonal(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([1, 4])
    """
    (given,) = on_one_device(x)
    place = max(-_FAR, min(operator.index(offset), _FAR))
    return _C.diagonal(given, place, axis1, axis2)


def trace(
    x: Any,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return the sum along a diagonal of two axes; parameters as for ``diagonal`` and ``sum``.

    Examples
    --------
    >>> flow.trace(flow.tensor([[1, 2], [3, 4]])).item()
    5
    """
    if out is not None:
        return sum_of(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)
    return sum_of(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


def _as_ufunc(
    ufunc: np.ufunc,
    product: Callable[[Tensor, Tensor], Tensor],
    given: Sequence[Tensor],
    dtype: Any,
    casting: str,
    out: Any,
) -> Tensor:
    """Return the product in the loop that NumPy chooses, put into ``out``, if any.

    Where there is no loop, NumPy's own error.
    """
    op = ufunc.__name__
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    target = None if out is None else required_target(op, out).dtype
    wanted = None if dtype is None else canonical(dtype, op)
    dtypes = (*(x.dtype for x in given), target)
    loop = resolve_loop(ufunc, dtypes, (None, None, wanted), casting=casting)
    a, b = (_C.astype(x, one, False) for x, one in zip(given, loop, strict=False))
    made = product(a, b)
    if out is None:
        return made
    # The last dimensions of products are not broadcast to those of out.
    cores = (a.ndim > 1) + (b.ndim > 1) if op == "matmul" else int(op != "vecdot")
    if made.shape[made.ndim - cores :] != out.shape[out.ndim - cores :]:
        raise ValueError(f"[{op}] expected out of shape {made.shape}, got {out.shape}")
    stored: Tensor = store(op, out, made, casting, widens=True)
    return stored


def _last(x: Tensor, axis: SupportsIndex, op: str) -> Tensor:
    """X with the axis moved to the end."""
    if x.ndim == 0:
        raise ValueError(f"[{op}] expected at least one dimension, got shape ()")
    return x if axis == -1 else moveaxis(x, axis, -1)


def _conjugate(x: Tensor) -> Tensor:
    return conj(x) if x.dtype.kind == "c" else x


def _check_vectors(op: str, a: Tensor, cores_a: int, b: Tensor, cores_b: int) -> None:
    """ValueError unless the last dimension of a goes with that of b, or with the rows of b.

    ``cores``: how many dimensions are not broadcast.
    """
    for x, cores in ((a, cores_a), (b, cores_b)):
        if x.ndim < cores:
            raise ValueError(f"[{op}] expected at least {cores} dimensions, got shape {x.shape}")
    if a.shape[-1] != b.shape[-cores_b]:
        raise ValueError(
            f"[{op}] expected size {a.shape[-1]}, got {b.shape[-cores_b]} ({a.shape} and {b.shape})"
        )
    try:
        np.broadcast_shapes(a.shape[:-cores_a], b.shape[:-cores_b])
    except ValueError:
        raise ValueError(
            f"[{op}] the leading dimensions of {a.shape} and {b.shape} do not broadcast"
        ) from None


def _row(x: Tensor) -> Tensor:
    return _C.reshape(x, (*x.shape[:-1], 1, x.shape[-1]), None)


def _column(x: Tensor) -> Tensor:
    return _C.reshape(x, (*x.shape, 1), None)


if not TYPE_CHECKING:
    __all__ = exported(globals())
