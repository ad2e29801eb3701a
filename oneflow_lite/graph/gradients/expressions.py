"""The ``vjp`` column of the op table: expressions, and the functions that they may use.

Besides the rows of the table these are the functions of this file and ``where``.
"""

import ast
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import full
from oneflow_lite.ops.elementwise import copysign, log
from oneflow_lite.ops.searching import where
from oneflow_lite.ops.table import ROWS

_PARAMETERS = ("g", "x", "y", "z", "out")


def larger(g: Tensor, x: Any, y: Any) -> Tensor:
    """Return g where x is the larger, half of it where both are equal, else 0."""
    return where(x > y, g, where(x == y, g * 0.5, 0))


def taken(g: Tensor, x: Any, y: Any) -> Tensor:
    """Return the same, but for NaN, which is never the larger."""
    return where((x > y) | (y != y), g, where(x == y, g * 0.5, 0))


def signs(x: Any) -> Any:
    """Return 1 with the sign of x, which -0 has."""
    return math.copysign(1.0, x) if type(x) in (int, float) else copysign(1, x)


def power_slope(x: Tensor, y: Any) -> Any:
    """Return what x ** y grows by, for each x."""
    if type(y) in (int, float):
        return y * x ** (y - 1) if y else 0.0
    if not isinstance(y, Tensor):  # a number that each run is given
        return y * x ** (y - 1)
    return where(y == 0, 0, y * x ** where(y == 0, 1, y - 1))


def power_log(x: Any) -> Any:
    """Return the logarithm of the base of a power; of 0: 0."""
    if type(x) in (int, float):
        return math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    if not isinstance(x, Tensor):
        x = full((), x, dtype="float64")
    return log(where(x == 0, 1, x))


_FUNCTIONS: dict[str, Any] = {
    **{name: row.op for name, row in ROWS.items()},
    **{"larger": larger, "taken": taken, "signs": signs, "where": where},
    **{"power_slope": power_slope, "power_log": power_log},
    **{"LN2": math.log(2), "LN10": math.log(10)},
}


@cache
def expression(text: str) -> tuple[Callable[..., Tensor], frozenset[str]]:
    """Return the function of g, x, y, z and out that a text describes, and which it uses."""
    tree = ast.parse(text, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    made = eval(f"lambda {', '.join(_PARAMETERS)}: {text}", _FUNCTIONS)
    return made, frozenset(names.intersection(_PARAMETERS))
