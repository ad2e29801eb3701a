"""FoldConstant: computes what is known before the run."""

from dataclasses import replace
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.copies import copied
from oneflow_lite.graph.ir import Bound, Function, Op, Value
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.passes.memory import Memories
from oneflow_lite.graph.passes.pure import is_allocation, only_computes, uses_slots
from oneflow_lite.graph.program import Program

_MOST_ELEMENTS = 1024  # of an allocation that becomes a constant


class FoldConstant(FunctionPass):
    """Computes operations whose operands are all constants. Level 2.

    The eager path runs them, one by one, on their device: the bits are those of a run. One that
    fails stays, and fails in the run, at its line. Calls that draw, write or have effects stay, and
    so do allocations of more than 1024 elements. What the caller gets is computed at each run: it
    is fresh memory. Views stay views; ``DeadCode`` leaves out those that nobody needs any more.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> program = flow.graph.trace(lambda x: x + flow.tensor([1.0, 2.0]) * 3, flow.ones(2)).program
    >>> [op.name for op in passes.FoldConstant()(program).main.ops]
    ['add']
    """

    info = PassInfo(2, "FoldConstant")

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with constants in the place of what is known."""
        if any(bound.tensor is None for bound in function.constants):
            return function  # a program that was read from text
        folding = _Folding(function)
        return folding.made() if folding.folded else function


class _Folding:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.tensors: dict[Value, Tensor] = {
            bound.value: bound.tensor for bound in function.constants if bound.tensor is not None
        }
        self.folded: dict[Value, Tensor] = {}
        self._memories = Memories(function)
        for op in function.ops:
            self._try(op)

    def made(self) -> Function:
        used = {value for op in self._left() for value in op.values()}
        used |= {*self.function.results, *(last for _, last in self.function.assigns)}
        new = tuple(
            Bound(value, copied(x, value.type)) for value, x in self.folded.items() if value in used
        )
        return replace(
            self.function, ops=tuple(self._left()), constants=self.function.constants + new
        )

    def _left(self) -> list[Op]:
        """Return the operations that no constant replaces."""
        return [op for op in self.function.ops if self.folded.keys().isdisjoint(op.results)]

    def _try(self, op: Op) -> None:
        if not self._may_fold(op):
            return
        operands: list[Any] = [
            self.tensors[x] if isinstance(x, Value) else x.value for x in op.operands
        ]
        try:
            made = op.call.replay(operands, [])
        except (ValueError, ArithmeticError, IndexError, MemoryError, RuntimeError):
            return  # the run raises it, at its line
        if any(_C.failure(x, "fold") is not None for x in made):
            return
        found = dict(zip(op.results, made, strict=True))
        self.tensors |= found
        is_seen = any(self._memories.escapes(value) for value in op.results)
        if not op.is_view and not is_seen:  # a view costs nothing in the run, and stays one
            self.folded |= found

    def _may_fold(self, op: Op) -> bool:
        if not only_computes(op) or uses_slots(op):
            return False
        if op.call.kind == "empty" or (is_allocation(op) and _elements(op) > _MOST_ELEMENTS):
            return False
        return all(value in self.tensors for value in op.values())


def _elements(op: Op) -> int:
    return sum(value.type.size for value in op.results)


register_pass(FoldConstant())
