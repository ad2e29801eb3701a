"""Elementwise operations, by the ``vjp`` column of their table; where; copies and casts."""

from collections.abc import Sequence
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.expressions import expression
from oneflow_lite.graph.gradients.shapes import unbroadcast
from oneflow_lite.graph.gradients.step import Step, rule, widened
from oneflow_lite.ops.searching import where
from oneflow_lite.ops.table import row_named


@rule("elementwise")
def elementwise(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Evaluate the expression of each operand."""
    row = row_named(step.call.row)
    texts = row.vjp if row is not None else None
    if texts is None:
        step.fail("is not differentiable: its row has no vjp")
    return [
        _evaluated(step, g, k, text) if text is not None and step.needs(k) else None
        for k, text in enumerate(texts)
    ]


def _evaluated(step: Step, g: Tensor, k: int, text: str) -> Tensor:
    function, used = expression(text)
    given: dict[str, Any] = dict.fromkeys("xyz")
    for place, name in enumerate("xyz"):
        if name in used:
            given[name] = widened(step.operand(place), step.call.scalar_dtype(place))

    def total(x: Tensor) -> Tensor:
        return unbroadcast(x, step.out_type.shape, step.type(k).shape)

    made = function(g, **given, out=step.out if "out" in used else None, total=total)
    return made if "total" in used else total(made)


@rule("where")
def choice(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give each element to the operand that it is from."""
    condition, shape = step.operand(0), step.out_type.shape

    def given(k: int, chosen: Tensor) -> Tensor:
        return unbroadcast(chosen, shape, step.type(k).shape)

    of_x = given(1, where(condition, g, 0)) if step.needs(1) else None
    of_y = given(2, where(condition, 0, g)) if step.needs(2) else None
    return None, of_x, of_y


@rule("copy")
def copy(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give the elements back; the walk casts them."""
    return (unbroadcast(g, step.out_type.shape, step.type(0).shape),)


@rule("transfer")
def transfer(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Copy the elements to where they came from."""
    return (_C.to_device(g, step.type(0).device, False),)


@rule("fill")
def fill(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Nothing: it is filled with a number."""
    return [None] * len(step.operands)
