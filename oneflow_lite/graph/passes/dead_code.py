"""DeadCode: leaves out what nobody needs."""

from dataclasses import replace

from oneflow_lite.graph.ir import Function, Op, Value
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.program import Program


class DeadCode(FunctionPass):
    """Leaves out operations, and constants, that no result, assign or effect needs. Level 1.

    Goes backwards once. Streams of counted random numbers stay, so what is drawn later is what
    eager draws. Parameters and captured tensors stay: programs know them by position.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> def f(x):
    ...     unused = flow.exp(x)
    ...     return x + 1
    >>> program = flow.graph.trace(f, flow.ones(3)).program
    >>> [op.name for op in passes.DeadCode()(program).main.ops]
    ['add']
    """

    info = PassInfo(1, "DeadCode")

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function without what is not needed."""
        needed: set[Value] = {*function.results, *(last for _, last in function.assigns)}
        kept: list[Op] = []
        for op in reversed(function.ops):
            if op.effects or not needed.isdisjoint(op.results):
                kept.append(op)
                needed.update(op.values())
        constants = tuple(bound for bound in function.constants if bound.value in needed)
        if len(kept) == len(function.ops) and len(constants) == len(function.constants):
            return function
        return replace(function, ops=tuple(reversed(kept)), constants=constants)


register_pass(DeadCode())
