"""EliminateCommonSubexpr: what is computed twice is computed once."""

from dataclasses import replace
from typing import Any

from oneflow_lite.graph.calls import head_of
from oneflow_lite.graph.ir import Function, Op, Scalar, Slot, Value
from oneflow_lite.graph.literals import literal
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.passes.memory import Memories
from oneflow_lite.graph.passes.pure import is_allocation, only_computes
from oneflow_lite.graph.passes.rewriter import with_operands
from oneflow_lite.graph.program import Program


class EliminateCommonSubexpr(FunctionPass):
    """Lets equal calls on the same operands, in the same order, be one. Level 3.

    One sweep forwards. Calls that draw, write, allocate or have effects stay. Where both values are
    seen by the caller they stay two, as they are two memories in eager.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> program = flow.graph.trace(lambda x: flow.exp(x) + flow.exp(x), flow.ones(3)).program
    >>> [op.name for op in passes.EliminateCommonSubexpr()(program).main.ops]
    ['exp', 'add']
    """

    info = PassInfo(3, "EliminateCommonSubexpr")

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with each call once."""
        memories = Memories(function)
        new: dict[Value, Value] = {}
        known = _Calls()
        kept: list[Op] = []
        for given in function.ops:
            op = with_operands(given, new)
            if only_computes(op) and not is_allocation(op):
                first = known.first(op)
                if first is not op and _may_be_one(first, given, memories):
                    new |= zip(given.results, first.results, strict=True)
                    continue
            kept.append(op)
        if len(kept) == len(function.ops):
            return function
        return replace(
            function,
            ops=tuple(kept),
            results=tuple(new.get(value, value) for value in function.results),
            assigns=tuple((target, new.get(last, last)) for target, last in function.assigns),
        )


class _Calls:
    """Calls by what they are. Most have a kind or operands that no other one has."""

    def __init__(self) -> None:
        self._alone: dict[Any, Op] = {}
        self._known: dict[Any, Op] = {}

    def first(self, op: Op) -> Op:
        """Return the first call that was the same as this one, which may be itself."""
        kind = op.call.kind
        name = op.call.name if kind == "elementwise" else kind
        other = self._alone.setdefault((name, op.values()), op)
        if other is op:
            return op
        self._known.setdefault(_key(other), other)
        return self._known.setdefault(_key(op), op)


def _key(op: Op) -> Any:
    operands = tuple(_number_key(x) if isinstance(x, Scalar) else x for x in op.operands)
    return head_of(op, {}), operands, tuple(value.type for value in op.results)


def _number_key(scalar: Scalar) -> Any:
    """0.0 and -0.0 are equal, and 1 is True: the text tells them apart. A slot is itself alone."""
    value = scalar.value if isinstance(scalar.value, Slot) else literal(scalar.value)
    return scalar.dtype, scalar.weak, type(scalar.value), value


def _may_be_one(first: Op, other: Op, memories: Memories) -> bool:
    if first.is_view:
        return True  # of the same memory in any case
    pairs = list(zip(first.results, other.results, strict=True))
    if any(memories.escapes(one) and memories.escapes(two) for one, two in pairs):
        return False
    for one, two in pairs:
        if memories.escapes(two):
            memories.escape(one)
    return True


register_pass(EliminateCommonSubexpr())
