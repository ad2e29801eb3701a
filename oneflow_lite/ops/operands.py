"""Operands of functions that take several arrays."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.dtypes import DType, result_type


@_C.native(_C.paths.on_one_device)
def on_one_device(*operands: Any) -> list[Tensor]:
    """Return the operands as tensors: arrays, lists and scalars go to where the first tensor is."""


def promoted_dtype(tensors: Sequence[Tensor]) -> DType:
    """Return the dtype that NumPy's promotion gives."""
    dtype = tensors[0].dtype
    for x in tensors:
        if x.dtype is not dtype:
            return result_type(*tensors)
    return dtype


def is_number_along(x: Tensor, axis: Any) -> bool:
    """Tell whether x is 0-d and the axis 0 or -1, which NumPy takes for the axis of one element."""
    return x.ndim == 0 and axis is not None and not isinstance(axis, Sequence) and axis in (0, -1)


def is_weak(x: Any) -> bool:
    """Tell whether x is a number of Python, which takes the dtype of others; or stands for one.

    What stands for a number, while a function is recorded, has a type of its own.
    """
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)


def is_kept(op: str, keepdims: Any) -> bool:
    """Return ``keepdims`` as a bool.

    Raises
    ------
    TypeError
        It is no truth or integer.
    """
    if isinstance(keepdims, (bool, int, np.bool_, np.integer)):
        return bool(keepdims)
    raise TypeError(f"[{op}] keepdims: expected bool, got {type(keepdims).__name__}")


def order_of(op: str, order: Any, allowed: str = "C") -> str:
    """Return the order in memory that is asked for; None is the first of those that are allowed.

    Raises
    ------
    TypeError
        For column-major order ("F"), which no function makes, and for what is no string.
    ValueError
        For another string.
    """
    wanted = allowed[0] if order is None else order
    if not isinstance(wanted, str):
        raise TypeError(f"[{op}] order: expected a string, got {type(wanted).__name__}")
    if len(wanted) == 1 and wanted.upper() in allowed:
        return wanted.upper()
    orders = " or ".join(repr(one) for one in allowed)
    if wanted in ("F", "f"):
        raise TypeError(
            f"[{op}] order: expected {orders}, got {order!r}; a column-major result is the .T of a "
            "row-major one"
        )
    raise ValueError(f"[{op}] order: expected {orders}, got {order!r}")


def is_by_columns(x: Tensor) -> bool:
    """Tell whether x is column-major, and not row-major too; a global tensor never is."""
    return type(x) is Tensor and not x.is_contiguous() and x.T.is_contiguous()


def copied(x: Tensor, order: str) -> Tensor:
    """Return a copy in the order "K", "C" or "A"."""
    as_it_lies = order == "K" or (order == "A" and is_by_columns(x))
    return _C.astype(x, x.dtype, True) if as_it_lies else _C.copy(x)


def unbroadcast(x: Tensor) -> Tensor:
    """Return x, or NumPy's copy of a broadcast view: equal elements lie side by side in it.

    Sums in the order of memory then have NumPy's bits.
    """
    return _C.astype(x, x.dtype, True) if 0 in _C.raw_strides(x) else x


def host_array(x: Any, op: str) -> npt.NDArray[Any]:
    """Return the values of a tensor, an array or nested sequences; waits for a tensor."""
    return _C.look(op, x) if isinstance(x, Tensor) else np.asarray(_C.held(x, op))


def refused_at_run(op: str, x: Tensor, bad: Tensor, message: str) -> Tensor:
    """Return a copy of x, in a program that is recorded: it fails at a run where ``bad`` is true.

    ``bad`` is one truth. Eager calls look at it, and raise the ValueError themselves.
    """

    def check(found: npt.NDArray[np.bool_], _: npt.NDArray[Any]) -> None:
        if found:
            raise ValueError(message)

    host = Device("cpu")
    guarded = _C.to_device(x, host, True)
    _C.host_func(check, (_C.to_device(bad, host, False),), (guarded,), op)
    return _C.to_device(guarded, x.device, False)


def dimensions(x: Any, op: str) -> int:
    """Return how many dimensions a tensor, an array or nested sequences have."""
    if isinstance(x, (int, float)):
        return 0
    return x.ndim if isinstance(x, Tensor) else np.ndim(_C.held(x, op))


def promoted(*tensors: Tensor) -> list[Tensor]:
    """Return the tensors in the dtype that NumPy's promotion gives."""
    dtype = promoted_dtype(tensors)
    return [x if x.dtype is dtype else _C.astype(x, dtype, False) for x in tensors]


def integers(op: str, given: Any) -> list[int]:
    """One integer, or those of a sequence or an array; a tensor is looked at."""
    if isinstance(given, Tensor):
        given = _C.look(op, given)
    if isinstance(given, np.ndarray):
        if given.ndim > 1:
            raise ValueError(f"[{op}] expected an integer or integers in one dimension")
        given = given.tolist()
    try:
        return [operator.index(n) for n in (given if isinstance(given, Sequence) else (given,))]
    except TypeError:
        raise TypeError(f"[{op}] expected an integer or integers, got {given!r}") from None


def paired_axes(a: Sequence[int], b: Sequence[int], axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes of two shapes that ``tensordot`` sums over; a tensor is looked at."""
    given = _C.look("tensordot", axes) if isinstance(axes, Tensor) else axes
    if np.iterable(given):
        sides = [integers("tensordot", side) for side in given]
        if len(sides) != 2:
            raise ValueError(
                f"[tensordot] expected a number of axes, or those of two operands, got {axes!r}"
            )
        if len(sides[0]) != len(sides[1]):
            raise ValueError(f"[tensordot] expected pairs of axes, got {sides[0]} and {sides[1]}")
        left, right = _numbered(sides[0], len(a)), _numbered(sides[1], len(b))
    else:
        count = max(0, *integers("tensordot", given))
        if count > min(len(a), len(b)):
            raise IndexError(
                f"[tensordot] expected at most {min(len(a), len(b))} axes, got {count} "
                f"(shapes {a} and {b})"
            )
        left, right = list(range(len(a) - count, len(a))), list(range(count))
    if [a[d] for d in left] != [b[d] for d in right]:
        raise ValueError(
            f"[tensordot] expected equal sizes along axes {left} of shape {a} and {right} of "
            f"shape {b}"
        )
    return left, right


def _numbered(axes: Sequence[int], ndim: int) -> list[int]:
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(f"[tensordot] axis {axis} is out of bounds for {ndim} dimensions")
    normal = [axis % ndim for axis in axes]
    if len(set(normal)) != len(normal):
        raise ValueError(f"[tensordot] an axis is given twice: {axes}")
    return normal
