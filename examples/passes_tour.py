"""A tour of passes, after TVM's "How to Use TVM Pass Infra": each prints the program it makes.

    python examples/passes_tour.py

A convolution with some additions is folded, merged, fused, and laid out in blocks of channels; a
pass of one's own multiplies constants; instruments print programs before each pass. The output is
the same each time: tests compare it with a file.
"""

import numpy as np

import oneflow_lite as flow
from oneflow_lite.graph import passes
from oneflow_lite.graph.passes import PassContext, Sequential


def example(x: flow.Tensor, weight: flow.Tensor) -> flow.Tensor:
    """A convolution, and sums with a constant, two of which are equal."""
    c = flow.tensor(np.ones((1, 64, 54, 54), np.float32))
    conv = flow.conv2d(x, weight)
    y = conv + (c + c) * 2
    z = y + c
    z1 = y + c
    return z + z1


def show(title: str, program: flow.graph.Program) -> flow.graph.Program:
    """Print a program without the lines of its operations, which move with this file."""
    lines = (line.partition("  # ")[0] for line in str(program).splitlines())
    print(f"== {title}: {len(program.main.ops)} operations", *lines, "", sep="\n")
    return program


@passes.register_alter_op_layout("conv2d", level=101)
def alter_conv2d(op: flow.graph.Op) -> passes.Altered | None:
    """Let convolutions take images in blocks of 16 channels."""
    *places, groups = op.call.attr[:9]
    stride, before, after, dilation = (tuple(places[k : k + 2]) for k in range(0, 8, 2))
    padding = tuple(zip(before, after, strict=True))

    def packed(x: flow.Tensor, w: flow.Tensor) -> flow.Tensor:
        return flow.conv2d(x, w, stride, padding, dilation, groups, "NCHW16c")

    return passes.Altered(passes.NCHW16c, (0,), packed)


@passes.function_pass(opt_level=1)
class CustomPipeline:
    """Multiplies all constants."""

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def transform_function(self, function, program, context):  # type: ignore[no-untyped-def]
        multiplier = self.multiplier

        class ReplaceConstant(passes.Rewriter):
            def visit_constant(self, bound):  # type: ignore[no-untyped-def]
                return bound.tensor * multiplier

        return ReplaceConstant().rewritten(function)


def counted(program: flow.graph.Program, name: str) -> int:
    """How often an operation stands in a program."""
    return sum(op.name == name for op in program.main.ops)


def main() -> None:
    """Print the tour."""
    shapes = (1, 64, 56, 56), (64, 64, 3, 3)
    program = flow.graph.trace(example, *(flow.graph.spec(x, "float32") for x in shapes)).program
    show("the program", program)

    folded = show("FoldConstant", passes.DeadCode()(passes.FoldConstant()(program)))
    merged = show("EliminateCommonSubexpr", passes.EliminateCommonSubexpr()(folded))
    show("FuseOps at level 0", passes.FuseOps(fuse_opt_level=0)(merged))
    show("FuseOps at level 2", passes.FuseOps(fuse_opt_level=2)(merged))

    row = Sequential(
        [
            passes.FoldConstant(),
            passes.DeadCode(),
            passes.EliminateCommonSubexpr(),
            passes.FuseOps(fuse_opt_level=2),
        ]
    )
    show("Sequential at the default level", row(program))
    with PassContext(opt_level=3):
        show("Sequential at level 3", row(program))
    with PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        show("Sequential at level 3, without EliminateCommonSubexpr", row(program))

    altered = show("AlterOpLayout", passes.AlterOpLayout()(merged))
    print("layout transforms:", counted(altered, "layout_transform"))
    with PassContext(opt_level=3):
        again = Sequential([passes.FoldConstant(), passes.DeadCode()])(altered)
    print("after folding:", counted(again, "layout_transform"), end="\n\n")

    small = flow.graph.trace(lambda x: x * flow.tensor([2.0, 3.0]), flow.graph.spec((2,))).program
    show("constants times 3", CustomPipeline(3)(small))

    with PassContext(opt_level=3):
        Sequential([passes.FoldConstant(), passes.PrintIR(), passes.DeadCode()])(small)
    with PassContext(opt_level=3, instruments=[passes.PrintIR()]):
        Sequential([passes.FoldConstant(), passes.DeadCode()])(small)


if __name__ == "__main__":
    main()
