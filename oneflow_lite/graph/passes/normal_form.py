"""ToANormalForm: each operation by itself, in order, under a number."""

from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.program import Program


class ToANormalForm(FunctionPass):
    """Changes nothing: programs are lists of operations from the beginning. Level 1.

    In TVM, whose expressions are trees, the pass binds each one to a variable.
    """

    info = PassInfo(1, "ToANormalForm")

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function."""
        return function


register_pass(ToANormalForm())
