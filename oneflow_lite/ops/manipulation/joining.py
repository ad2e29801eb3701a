"""Joining tensors: one after the other, or side by side along a new axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import SUPPORTED, canonical, result_type
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import expand_dims, normalize_axes, ravel
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

_WEAK = (int, float, complex)


@_C.native(_C.paths.concat)
def concat(
    arrays: Sequence[Any],
    /,
    axis: int | None = 0,
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
    given = _tensors(arrays, "concat")
    if axis is None:
        given, axis = [ravel(x) for x in given], 0
    if given[0].ndim == 0:
        raise ValueError("[concat] 0-d tensors cannot be joined; use stack")
    (along,) = normalize_axes(axis, given[0].ndim, "concat")
    return _joined("concat", arrays, given, given, along, out, dtype, casting)


@_C.native(_C.paths.stack)
def stack(
    arrays: Sequence[Any],
    axis: int = 0,
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
    given = _tensors(arrays, "stack")
    if any(x.shape != given[0].shape for x in given):
        shapes = ", ".join(str(x.shape) for x in given)
        raise ValueError(f"[stack] expected equal shapes, got {shapes}")
    (along,) = normalize_axes(axis, given[0].ndim + 1, "stack")
    rows = [expand_dims(x, axis=along) for x in given]
    return _joined("stack", arrays, given, rows, along, out, dtype, casting)


def _joined(
    op: str,
    arrays: Sequence[Any],
    given: Sequence[Tensor],
    parts: Sequence[Tensor],
    axis: int,
    out: Any,
    dtype: Any,
    casting: str,
) -> Tensor:
    """The parts, which are the arrays as tensors of a shape to join, in one tensor."""
    if out is not None and dtype is not None:
        raise TypeError(f"[{op}] expected out or dtype, got both")
    if dtype is not None:
        wanted = canonical(dtype, op)
    elif out is not None and getattr(out, "dtype", None) in SUPPORTED:
        wanted = out.dtype
    else:
        wanted = result_type(
            *(x if type(x) in _WEAK else one for x, one in zip(arrays, given, strict=True))
        )
    for x in given:
        _C.require_castable(op, x.dtype, wanted, casting)
    joined = _C.concat(parts, axis, wanted)
    return joined if out is None else store(op, out, joined, casting)


def _tensors(arrays: Sequence[Any], op: str) -> list[Tensor]:
    if isinstance(arrays, Tensor):
        raise TypeError(f"[{op}] expected a sequence of tensors, got one tensor")
    given = on_one_device(*arrays)
    if not given:
        raise ValueError(f"[{op}] expected at least one tensor")
    return given


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
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
    before = (slice(None),) * along
    return tuple(given[(*before, i)] for i in range(given.shape[along]))


concatenate = concat  # NumPy's older name

if not TYPE_CHECKING:
    __all__ = exported(globals())
