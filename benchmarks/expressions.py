"""Programs as text, for a library that evaluates expressions: a program runs once, on names.

Numbers of a program become named constants of its arrays' dtype, as Python numbers are weak.
"""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np


class Expression:
    """The text of an expression; operators make longer ones."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _binary(self, operator: str, other: Any, reflected: bool = False) -> "Expression":
        left, right = (_text(other), self.text) if reflected else (self.text, _text(other))
        return Expression(f"({left} {operator} {right})")

    def __add__(self, other: Any) -> "Expression":
        return self._binary("+", other)

    def __radd__(self, other: Any) -> "Expression":
        return self._binary("+", other, reflected=True)

    def __sub__(self, other: Any) -> "Expression":
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> "Expression":
        return self._binary("-", other, reflected=True)

    def __mul__(self, other: Any) -> "Expression":
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> "Expression":
        return self._binary("*", other, reflected=True)

    def __truediv__(self, other: Any) -> "Expression":
        return self._binary("/", other)

    def __rtruediv__(self, other: Any) -> "Expression":
        return self._binary("/", other, reflected=True)

    def __lt__(self, other: Any) -> "Expression":
        return self._binary("<", other)

    def __neg__(self) -> "Expression":
        return Expression(f"(-{self.text})")


def _text(operand: Any) -> str:
    return operand.text if isinstance(operand, Expression) else f"number({operand!r})"


def _function(name: str) -> Callable[..., Expression]:
    return lambda *operands: Expression(f"{name}({', '.join(map(_text, operands))})")


NAMES = SimpleNamespace(**{name: _function(name) for name in ("abs", "exp", "log", "sqrt", "tanh")})
NAMES.where = _function("where")


def _named_constants(text: str, dtype: np.dtype) -> tuple[str, dict[str, Any]]:
    """Put a name in the place of each ``number(...)``."""
    constants: dict[str, Any] = {}
    head, *parts = text.split("number(")
    for part in parts:
        digits, _, rest = part.partition(")")
        value = dtype.type(digits)
        name = next((n for n, v in constants.items() if v == value), f"c{len(constants)}")
        constants[name] = value
        head += name + rest
    return head, constants


def compiled(evaluate: Callable[..., Any], program: Callable[..., Any]) -> Callable[..., Any]:
    """Return what evaluates a program, a tuple of results one by one.

    Raises
    ------
    AttributeError
        When called, for a function that expressions do not have.
    """
    names = [f"x{i}" for i in range(len(inspect.signature(program).parameters) - 1)]
    texts: list[tuple[str, dict[str, Any]]] = []
    single = True

    def run(*arrays: np.ndarray) -> Any:
        nonlocal single
        if not texts:
            results = program(NAMES, *map(Expression, names))
            single = isinstance(results, Expression)
            for result in (results,) if single else results:
                texts.append(_named_constants(result.text, arrays[0].dtype))
        given = dict(zip(names, arrays, strict=True))
        found = [evaluate(text, local_dict=given | constants) for text, constants in texts]
        return found[0] if single else tuple(found)

    return run
