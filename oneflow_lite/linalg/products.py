"""Products and diagonals of matrices as the array API standard has them: of the last dimensions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops import linear_algebra as whole
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """Return a view of a diagonal of matrices, the last two dimensions.

    Examples
    --------
    >>> flow.linalg.diagonal(flow.tensor([[1, 2], [3, 4]]), offset=1).numpy()
    array([2])
    """
    return whole.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of a diagonal of matrices, the last two dimensions.

    Examples
    --------
    >>> flow.linalg.trace(flow.tensor([[1, 2], [3, 4]])).item()
    5
    """
    return whole.trace(x, offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """Return the products of all pairs of elements of two vectors.

    Examples
    --------
    >>> flow.linalg.outer(flow.tensor([1, 2]), flow.tensor([1, 10])).numpy()
    array([[ 1, 10],
           [ 2, 20]])
    """
    a, b = on_one_device(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"[outer] expected two vectors, got shapes {a.shape} and {b.shape}")
    return whole.outer(a, b)


def multi_dot(arrays: Sequence[Any], /, *, out: Any = None) -> Tensor:
    """Return the product of several matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of Tensor or array
        Two or more matrices; the first and the last may be vectors.
    out : Tensor or array, optional
        Where the product goes, of its dtype and shape; an array waits for it. As in NumPy, that of
        three or more operands is a matrix: vectors are rows and columns in it, and what is returned
        is ``out`` without these dimensions.

    Examples
    --------
    >>> flow.linalg.multi_dot([flow.ones((2, 3)), flow.ones((3, 4)), flow.ones(4)]).numpy()
    array([12., 12.])
    """
    given = on_one_device(*arrays)
    if len(given) < 2:
        raise ValueError(f"[multi_dot] expected at least two arrays, got {len(given)}")
    if len(given) == 2:
        return whole.dot(given[0], given[1], out)
    first, last = given[0].ndim == 1, given[-1].ndim == 1
    if first:
        given[0] = _C.reshape(given[0], (1, -1), None)
    if last:
        given[-1] = _C.reshape(given[-1], (-1, 1), None)
    for x in given:
        if x.ndim != 2:
            raise LinAlgError(f"[multi_dot] expected two dimensions, got shape {x.shape}")
    if len(given) == 3:
        result = _product_of_three(*given)
    else:
        sizes = [x.shape[0] for x in given] + [given[-1].shape[1]]
        result = _chain(given, _best_splits(sizes), 0, len(given) - 1)
    if out is not None:
        result = store("multi_dot", out, result, "no")
    if not (first or last):
        return result
    shape = result.shape[int(first) : 2 - int(last)]
    return _C.reshape(result, shape, None) if out is None else out.reshape(shape)


def _product_of_three(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """``_chain`` of three matrices: the first two are multiplied first, or the last two."""
    (rows, inner), (other, columns) = a.shape, c.shape
    if rows * other * (inner + columns) < inner * columns * (other + rows):
        return whole.dot(whole.dot(a, b), c)
    return whole.dot(a, whole.dot(b, c))


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of matrices i..j (Cormen et al., matrix-chain order)."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], float] = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            split[i, j] = min(costs, key=lambda k, of=costs: of[k])  # type: ignore[misc]
            cost[i, j] = costs[split[i, j]]
    return split


def _chain(given: Sequence[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return given[i]
    k = split[i, j]
    return whole.dot(_chain(given, split, i, k), _chain(given, split, k + 1, j))


if not TYPE_CHECKING:
    __all__ = exported(globals())
