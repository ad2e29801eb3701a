"""Numbers that stand for unknown extents in the types of programs, and texts of them.

batch ─► 293701        2*batch+1 ─► 587403        (1, 4*batch) ─► (1, 1174804)
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneflow_lite.graph.literals import check_numerals, integer

# Primes. Sums of up to eight of each are not near each other.
_STAND_INS = ((293701, 293717), (393557, 393571), (463963, 463969))
STAND_INS = {number for pair in _STAND_INS for number in pair}
MOST = len(_STAND_INS)  # unknown extents of a program

_ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def stand_ins(names: Sequence[str], which: int = 0) -> dict[str, int]:
    """Return the numbers that stand for extents of these names; there are two for each.

    Raises
    ------
    ValueError
        There are too many names, or one comes twice.
    """
    if len(names) > MOST or len(set(names)) < len(names):
        raise ValueError(f"expected at most {MOST} different extents, got {', '.join(names)}")
    return {name: pair[which] for name, pair in zip(names, _STAND_INS, strict=False)}


def evaluated(text: str, sizes: Mapping[str, int], texts: dict[int, str]) -> Any:
    """Return the literal that a text shows, where numbers may be made of extents.

    Those are put into ``texts``, by number.

    Raises
    ------
    ValueError
        It is no such text, or there is no such extent.
    """
    check_numerals(text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"expected a number or an extent, got {text.strip()}") from None
    return _literal(tree, sizes, texts)


def _literal(node: ast.expr, sizes: Mapping[str, int], texts: dict[int, str]) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_literal(item, sizes, texts) for item in node.elts)
    if not any(isinstance(part, ast.Name) for part in ast.walk(node)):
        found = ast.literal_eval(node)
        return integer(found, "an attribute") if type(found) is int else found
    number = _number(node, sizes)
    integer(number, "an extent")
    texts[number] = ast.unparse(node).replace(" ", "")
    return number


def _number(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, sizes)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        made: int = _ARITHMETIC[type(node.op)](
            *(_number(x, sizes) for x in (node.left, node.right))
        )
        return made
    if isinstance(node, ast.Name) and node.id in sizes:
        return sizes[node.id]
    raise ValueError(f"there is no extent {ast.unparse(node)}")
