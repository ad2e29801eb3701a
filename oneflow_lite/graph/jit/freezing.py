"""Captured tensors that become constants of a program."""

from dataclasses import replace

from oneflow_lite._C import TraceError
from oneflow_lite.graph.copies import copied
from oneflow_lite.graph.ir import Bound
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.tracing import Traced


def frozen(traced: Traced) -> Traced:
    """Return the same with the elements that captured tensors have now.

    Raises
    ------
    TraceError
        The program writes to a captured tensor.
    """
    program = traced.program
    main = program.main
    written = {target for target, _ in main.assigns}
    if any(bound.value in written for bound in main.captures):
        raise TraceError(
            f"[jit] {program.name} writes to a captured tensor, which freeze=True makes a "
            "constant: pass it as an argument"
        )
    baked = (
        Bound(bound.value, copied(bound.tensor, bound.value.type))
        for bound in main.captures
        if bound.tensor is not None
    )
    changed = replace(main, captures=(), constants=(*baked, *main.constants))
    return replace(traced, program=Program(program.name, {**program.functions, "main": changed}))
