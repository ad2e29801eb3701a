"""An operation of a recording, as its rule for gradients sees it."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from oneflow_lite._C import Tensor
from oneflow_lite.graph.arguments.slots import number_of
from oneflow_lite.graph.gradients.record import Record
from oneflow_lite.graph.ir import Type
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.tracing import scalar_of


class Step:
    """An operation: its operands, its result, and which gradients are wanted.

    ``kept``: of an operation that writes to a part of its target only, what a rule leaves of the
    gradient for the target's old elements; None: nothing is left. ``beside``: values that are no
    operands, and what a rule gives for them.
    """

    def __init__(self, record: Record, index: int) -> None:
        self.record = record
        self.index = index
        row = record.rows[index]
        self.call, self.operands, self.targets, self.results, self.site = row[:5]
        self.kept: Tensor | None = None
        self.beside: list[tuple[int, Tensor]] = []

    def needs(self, k: int) -> bool:
        """Return whether the gradient of an operand is wanted."""
        return self.operands[k] in self.record.follows

    def type(self, k: int) -> Type:
        """Return the type of an operand that is no number."""
        found: Type = self.record.types[self.operands[k]]
        return found

    def shape(self, k: int) -> tuple[Any, ...]:
        """Return the shape of an operand that is no number; what is not known of it is a Dim."""
        return self.record.shape(self.operands[k])

    def operand(self, k: int) -> Any:
        """Return an operand: a tensor, or a number as the program had it."""
        x = self.operands[k]
        if isinstance(x, int):
            return self.record.tensor(x)
        dtype, value, slot = x
        if slot >= 0:
            return number_of(slot)
        scalar = scalar_of(self.call, k, dtype, value)
        return scalar.value if scalar.weak else dtype.type(scalar.value)

    @property
    def out_type(self) -> Type:
        """The type of the result, or of the target that it is written to."""
        found: Type = self.record.types[self._out_value]
        return found

    @property
    def out_shape(self) -> tuple[Any, ...]:
        """The shape of that; what is not known of it is a Dim."""
        return self.record.shape(self._out_value)

    @property
    def _out_value(self) -> int:
        found: int = self.targets[0] if self.targets else self.results[0]
        return found

    @property
    def out(self) -> Tensor:
        """The result; where it is written to a target, what is there afterwards."""
        whole = self.record.tensor(self.results[0])
        if self.targets and self.targets[0] in self.record.views:
            return self.record.views[self.targets[0]][1].replay([whole])[0]
        return whole

    @property
    def changes_operand(self) -> bool:
        """Whether it is a loop of linear algebra that works in the memory of its only operand."""
        return (
            self.call.kernel == "gufunc"
            and self.targets == self.operands
            and self.targets[0] not in self.record.views
        )

    @property
    def outs(self) -> list[Tensor]:
        """All results, of an operation that writes to no view."""
        return [self.record.tensor(value) for value in self.results]

    def fail(self, why: str) -> NoReturn:
        """Refuse the operation, by its name and line."""
        raise NotImplementedError(f"[gradients] {self.call.name}{at(self.site)} {why}")


Results = Sequence[Any]  # a gradient for each result; None: nothing came
Rule = Callable[[Step, Tensor], Sequence[Tensor | None]]
LoopRule = Callable[[Step, Results], Sequence[Tensor | None]]
KINDS: dict[str, Rule] = {}  # by kind of call
KERNELS: dict[str, Rule] = {}  # of calls of kind array, by kernel
LOOPS: dict[str, LoopRule] = {}  # of calls of kernel gufunc, by NumPy's loop


def given_by_rule(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Return what the rule of an operation gives for its operands, of gradients of its results.

    Raises
    ------
    NotImplementedError
        There is none. Names the operation and its line.
    """
    call = step.call
    if call.kernel == "gufunc":
        of_loop = LOOPS.get(call.loop[0])
        if of_loop is not None:
            return of_loop(step, gs)
    table, key = (KERNELS, call.kernel) if call.kind == "array" else (KINDS, call.kind)
    rule = table.get(key or "")
    if rule is None or len(gs) != 1:
        step.fail("is not differentiable: there is no rule for it")
    return rule(step, gs[0])


def rule(*kinds: str) -> Callable[[Rule], Rule]:
    """Register the rule of calls of these kinds."""

    def registered(function: Rule) -> Rule:
        KINDS.update(dict.fromkeys(kinds, function))
        return function

    return registered


def kernel_rule(*kernels: str) -> Callable[[Rule], Rule]:
    """Register the rule of calls of these array kernels."""

    def registered(function: Rule) -> Rule:
        KERNELS.update(dict.fromkeys(kernels, function))
        return function

    return registered


def loop_rule(*loops: str) -> Callable[[LoopRule], LoopRule]:
    """Register the rule of calls of these loops of linear algebra, with all of their results."""

    def registered(function: LoopRule) -> LoopRule:
        LOOPS.update(dict.fromkeys(loops, function))
        return function

    return registered


def widened(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand as the loop of its operation gets it; Python's numbers as they are."""
    return x.astype(dtype) if isinstance(x, Tensor) and x.dtype != dtype else x
