"""Joining tensors: one after the other, or side by side along a new axis."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import canonical, native, result_type
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray
from oneflow_lite.ops.manipulation.shapes import normalize_axes
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import is_by_columns, is_weak, on_one_device
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.concat)
def concat(
    arrays: Sequence[Any],
    /,
    axis: SupportsIndex | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """Return the arrays, one after the other along an axis.

    Parameters
    ----------
    arrays : sequence of Tensors or arrays
        They agree in all dimensions but that of the axis; their dtypes are promoted.
    axis : int, optional
        None: all are flattened first.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    dtype : dtype, optional
        Of the result, instead of the promoted one.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which casts to the dtype of the result are allowed; another one is a TypeError.

    Examples
    --------
    >>> flow.concat([flow.zeros(2), flow.ones(1)]).numpy()
    array([0., 0., 1.])
    """
    return _joined(concat, arrays, axis, out, dtype, casting)


@_C.native(_C.paths.stack)
def stack(
    arrays: Sequence[Any],
    axis: SupportsIndex = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """Return the arrays, of one shape, side by side along a new axis. Parameters as for ``concat``.

    Examples
    --------
    >>> flow.stack([flow.zeros(2), flow.ones(2)], axis=1).numpy()
    array([[0., 1.],
           [0., 1.]])
    """
    return _joined(stack, arrays, axis, out, dtype, casting)


def _joined(
    join: Callable[..., Tensor],
    arrays: Sequence[Any],
    axis: SupportsIndex | None,
    out: Any,
    dtype: Any,
    casting: str,
) -> Tensor:
    """Give the native path what it takes: tensors of one dtype, which NumPy's promotion chooses."""
    op = join.__name__
    if isinstance(arrays, Tensor):
        raise TypeError(f"[{op}] expected a sequence of tensors, got one tensor")
    given = on_one_device(*arrays)
    if not given:
        raise ValueError(f"[{op}] expected at least one tensor")
    if out is not None and dtype is not None:
        raise TypeError(f"[{op}] expected out or dtype, got both")
    # Numbers are weak where they are flattened with others; along an axis they have a dtype.
    numbered: list[Any] = [
        x if axis is None and is_weak(x) else one for x, one in zip(arrays, given, strict=True)
    ]
    if dtype is not None:
        wanted = canonical(dtype, op)
    elif out is not None and (target := native(required_target(op, out).dtype)) is not None:
        wanted = target
    else:
        wanted = result_type(*numbered)
    for x in numbered:
        kind = result_type(wanted, x) if is_weak(x) else x.dtype
        _C.require_castable(op, kind, wanted, casting)
    joined = join([_C.astype(x, wanted, False) for x in given], axis)
    return joined if out is None else store(op, out, joined, casting)


def unstack(x: Any, /, *, axis: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Return the slices of x along an axis, as views without it.

    Examples
    --------
    >>> [row.tolist() for row in flow.unstack(flow.tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    given = asarray(x)
    if given.ndim == 0:
        raise ValueError("[unstack] expected at least one dimension, got a 0-d tensor")
    (along,) = normalize_axes(axis, given.ndim, "unstack")
    return _slices(given, along) if type(given) is Tensor else _slices_by_keys(given, along)


def _slices_by_keys(x: Tensor, axis: int) -> tuple[Tensor, ...]:
    before = (slice(None),) * axis
    return tuple(x[(*before, i)] for i in range(x.shape[axis]))


@_C.native(_C.paths.unstack)
def _slices(x: Tensor, axis: int) -> tuple[Tensor, ...]:
    """The slices along an axis, counted from 0."""
    return _slices_by_keys(x, axis)


def _by_rows_or_columns(x: Tensor) -> Tensor:
    """Return x, or a copy by rows where its axes are in neither order, as parts of the result.

    A global tensor is never copied.
    """
    if type(x) is not Tensor or x.is_contiguous():
        return x
    steps = [abs(step) for step in _C.raw_strides(x)]
    return x if steps == sorted(steps, reverse=True) or is_by_columns(x) else ascontiguousarray(x)


def _joined_by(x: Tensor, parts: list[Tensor], axis: int) -> Tensor:
    """Parts of a new x one behind the other, by columns where x is, else by rows, as NumPy's."""
    if is_by_columns(x):
        return concat([part.T for part in parts], x.ndim - 1 - axis).T
    return concat(parts, axis)


concatenate = concat  # NumPy's older name

if not TYPE_CHECKING:
    __all__ = exported(globals())
