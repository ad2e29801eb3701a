"""InferType: checks that a program is sound."""

from oneflow_lite.graph.passes.base import ModulePass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.program import Program


class InferType(ModulePass):
    """Makes every call again without memory, and compares the types of what comes out. Level 0.

    Raises ValueError, with the operation and its line, where a value is used before it is made, is
    made twice, or has another type than its operation gives.
    """

    info = PassInfo(0, "InferType")

    def transform_module(self, program: Program, context: PassContext) -> Program:
        """Return the program, which is sound."""
        program.verify()
        return program


register_pass(InferType())
