"""The ``vjp`` column of the op table: expressions, and the functions that they may use.

These are the rows of the table, the functions of this file, ``where``, and ``total``: it sums along
the axes that the operand was broadcast to.
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
from oneflow_lite.ops.table import PARTS, ROWS

_PARAMETERS = ("g", "x", "y", "z", "out", "total")


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
    **{name: row.op for name, row in (ROWS | PARTS).items()},
    **{"power_slope": power_slope, "power_log": power_log, "signs": signs, "where": where},
    **{"LN2": math.log(2), "LN10": math.log(10)},
}


@cache
def expression(text: str) -> tuple[Callable[..., Tensor], frozenset[str]]:
    """Return the function of the parameters that a text describes, and which it uses."""
    tree = ast.parse(text, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    made = eval(f"lambda {', '.join(_PARAMETERS)}: {text}", _FUNCTIONS)
    return made, frozenset(names.intersection(_PARAMETERS))
