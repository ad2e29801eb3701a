"""WidenGroups: groups are as large as what runs as one in eager mode."""

from oneflow_lite.graph.executable import units_of
from oneflow_lite.graph.ir import Function, Value
from oneflow_lite.graph.passes.base import ModulePass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.grouping import grouped
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.primitives import ALONE, inlined
from oneflow_lite.graph.program import Program


class WidenGroups(ModulePass):
    """Joins groups, and operations, that the device's own fuser takes together. Level 3.

    TVM ends a group at each reduction, and has one result in it. The fusers of this library go on
    behind reductions, and give several results. The groups are those that a run would form, and
    with them the products whose only users are in one of them.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> def softmax(x):
    ...     y = flow.exp(x - x.max(axis=1, keepdims=True))
    ...     return y / y.sum(axis=1, keepdims=True)
    >>> program = flow.graph.trace(softmax, flow.ones((300, 400))).program
    >>> [op.name for op in passes.FuseOps()(program).main.ops]
    ['max', 'fused_subtract_exp', 'sum', 'divide']
    >>> [op.name for op in passes.WidenGroups()(program).main.ops]
    ['fused_max_subtract_exp_sum_divide']
    """

    info = PassInfo(3, "WidenGroups")

    def transform_module(self, program: Program, context: PassContext) -> Program:
        """Return the program with wider groups in ``main``."""
        main, groups = inlined(program.main, program.functions)
        functions = {name: each for name, each in program.functions.items() if not each.primitive}
        flat = Program(program.name, functions | {"main": main})
        return grouped(flat, _wider(main, units_of(main), groups), at_first=True)


def _wider(function: Function, units: list[int], groups: list[int]) -> list[int]:
    """Return units, and with each what all users of which are in it and in its group."""
    ops = function.ops
    found = [
        ALONE if op.effects or op.object else unit for op, unit in zip(ops, units, strict=True)
    ]
    fresh = max(units, default=ALONE) + 1
    kept = {*function.results, *(last for _, last in function.assigns)}
    users: dict[Value, set[int]] = {}
    written = 0
    writes = [0] * (len(ops) + 1)  # before each operation: what moves passes none
    for i, op in enumerate(ops):
        writes[i] = written
        written += bool(op.targets or op.effects)
        for value in op.values():
            users.setdefault(value, set()).add(i)
    for i in reversed(range(len(ops))):
        if units[i] != ALONE or groups[i] == ALONE:
            continue
        near = {k for x in ops[i].results for k in users.get(x, ())}
        wanted = {found[k] for k in near}
        is_inside = all(groups[k] == groups[i] and writes[k] == writes[i] for k in near)
        joins = len(wanted) == 1 and is_inside and kept.isdisjoint(ops[i].results)
        found[i] = wanted.pop() if joins else fresh + i
    return found


register_pass(WidenGroups())
