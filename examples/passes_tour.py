"""A tour of passes, after TVM's "How to Use TVM Pass Infra": each prints the program it makes.

    python examples/passes_tour.py

A convolution with some additions is folded, merged, fused, and laid out in blocks of channels. A
pass of one's own multiplies constants. Instruments print programs before each pass. Each time the
tour prints the same: a test compares it with a file.
"""

from typing import Any

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

    def transform_function(
        self, function: flow.graph.Function, program: flow.graph.Program, context: PassContext
    ) -> flow.graph.Function:
        """Return the function with other constants."""
        multiplier = self.multiplier

        class ReplaceConstant(passes.Rewriter):
            def visit_constant(self, bound: Any) -> flow.Tensor:
                return bound.tensor * multiplier

        return ReplaceConstant().rewritten(function)


@passes.pass_instrument
class PrintOperations:
    """Prints which pass runs, and on which operations."""

    def run_before_pass(self, program: flow.graph.Program, info: passes.PassInfo) -> None:
        """Print a line."""
        print(f"{info.name} gets:", *(op.name for op in program.main.ops))


def transforms(program: flow.graph.Program) -> int:
    """How often a layout changes in a program."""
    return sum(op.name == "layout_transform" for op in program.main.ops)


def one_by_one(program: flow.graph.Program) -> flow.graph.Program:
    """Call passes by hand; return the program before it is fused."""
    folded = show("FoldConstant", passes.FoldConstant()(program))
    merged = show("EliminateCommonSubexpr", passes.EliminateCommonSubexpr()(folded))
    show("FuseOps, level 0", passes.FuseOps(fuse_opt_level=0)(merged))
    show("FuseOps, level 2", passes.FuseOps(fuse_opt_level=2)(merged))
    return merged


def in_a_row(program: flow.graph.Program) -> None:
    """Let contexts decide: EliminateCommonSubexpr is a pass of level 3, the default level is 2."""
    fewer = Sequential([passes.FoldConstant(), passes.EliminateCommonSubexpr()])
    row = Sequential([fewer, passes.FuseOps(fuse_opt_level=2)])
    for title, context in (
        ("the default level", PassContext()),
        ("level 3", PassContext(opt_level=3)),
        (
            "level 3, without EliminateCommonSubexpr",
            PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]),
        ),
    ):
        with context:
            show(f"Sequential, {title}", fewer(program))
            show(f"Sequential with FuseOps, {title}", row(program))


def with_layouts(program: flow.graph.Program) -> None:
    """Give convolutions another layout; what packs constants is folded."""
    with PassContext(opt_level=3):
        altered = show("AlterOpLayout", Sequential([passes.AlterOpLayout()])(program))
        fewer = Sequential([passes.FoldConstant(), passes.DeadCode()])
        folded = show("AlterOpLayout, folded", fewer(altered))
    print(f"{transforms(altered)} layout transforms, {transforms(folded)} after folding\n")


def watched(program: flow.graph.Program) -> None:
    """Print programs between passes: by a pass, by an instrument, and by one of one's own."""
    with PassContext(opt_level=3):
        Sequential([passes.FoldConstant(), passes.PrintIR(), passes.DeadCode()])(program)
    print()
    row = Sequential([passes.FoldConstant(), passes.EliminateCommonSubexpr()])
    with PassContext(opt_level=3, instruments=[passes.PrintIR(), PrintOperations()]):
        row(program)


def main() -> None:
    """Print the tour."""
    shapes = (1, 64, 56, 56), (64, 64, 3, 3)
    given = (flow.graph.spec(shape, "float32") for shape in shapes)
    program = show("the program", flow.graph.trace(example, *given).program)
    merged = one_by_one(program)
    in_a_row(program)
    with_layouts(merged)
    show("constants times 3", CustomPipeline(3)(merged))
    watched(program)


if __name__ == "__main__":
    main()
