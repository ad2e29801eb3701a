"""Operations on tensors that take the place of functions, for oneflow_lite and for NumPy.

Each changes ``x`` so that its order with the others shows.
"""

from collections.abc import Callable
from typing import Any


def _add(x: Any, y: Any) -> None:
    x += y


def _scale(x: Any, y: Any) -> None:
    x *= 31


def _copy(x: Any, y: Any) -> None:
    x[...] = y


def _shift(x: Any, y: Any) -> None:
    x[1:] += x[:-1]


def _mix(x: Any, y: Any) -> None:
    x[...] = x * 31 + y - 7


def _part(x: Any, y: Any) -> None:
    x[::2] -= y[::2]


OPERATIONS: dict[str, Callable[[Any, Any], None]] = {
    "add": _add,
    "scale": _scale,
    "copy": _copy,
    "shift": _shift,
    "mix": _mix,
    "part": _part,
}
