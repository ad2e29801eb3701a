"""OrderByMemory: operations in the order that needs less memory."""

from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.ordering import ordered
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.program import Program


class OrderByMemory(FunctionPass):
    """Moves operations so that fewer bytes are alive at one time. Level 1.

    Operations of one token, and uses of a memory that is written to, keep their order. Small
    programs, and those that gain little, stay as they are.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> f = lambda x: ((x + 1).sum(), (x + 2).sum())
    >>> program = flow.graph.trace(f, flow.ones(3)).program
    >>> passes.OrderByMemory()(program) is program  # it is small
    True
    """

    info = PassInfo(1, "OrderByMemory")

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with its operations in another order."""
        return ordered(function)


register_pass(OrderByMemory())
