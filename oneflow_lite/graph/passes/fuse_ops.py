"""FuseOps: TVM's partition of a program into groups, each of which is a primitive function."""

from oneflow_lite.graph.analyses import partition
from oneflow_lite.graph.ir import Function, Op, Value
from oneflow_lite.graph.passes.base import ModulePass, register_pass
from oneflow_lite.graph.passes.context import PassContext, register_config
from oneflow_lite.graph.passes.grouping import grouped
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.passes.pure import only_computes
from oneflow_lite.graph.program import Program

_ELEMENTWISE, _BROADCAST, _OPAQUE = 0, 1, 8
_MAX_DEPTH = 256

register_config("FuseOps.max_depth", int)


class FuseOps(ModulePass):
    """Makes primitive functions of operations that TVM would compute together. Level 1.

    Kinds of operations are those of the table: elementwise, broadcast, injective, reduction,
    out-fusable and opaque. Writes, draws and what has effects are opaque. An operation that nothing
    is fused with stays as it is. The setting ``FuseOps.max_depth`` says how many operations a group
    has at most: 256 by default.

    Parameters
    ----------
    fuse_opt_level : int
        0: each operation is a function by itself; -1: the level of the context decides.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> f = lambda x, w: flow.tanh(x @ w + 1)
    >>> program = flow.graph.trace(f, flow.ones((2, 2)), flow.ones((2, 2))).program
    >>> print(passes.FuseOps()(program))  # doctest: +ELLIPSIS
    program <lambda>
    %0: f64[2,2] cpu = parameter x
    %1: f64[2,2] cpu = parameter w
    %2: f64[2,2] cpu = call.fused_matmul_add_tanh(%0, %1)...
    return %2
    primitive fused_matmul_add_tanh
    %0: f64[2,2] cpu = parameter
    %1: f64[2,2] cpu = parameter
    %2: f64[2,2] cpu = matmul(%0, %1)...
    %3: f64[2,2] cpu = add(%2, 1)...
    %4: f64[2,2] cpu = tanh(%3)...
    return %4
    <BLANKLINE>
    """

    info = PassInfo(1, "FuseOps")

    def __init__(self, fuse_opt_level: int = -1) -> None:
        if type(fuse_opt_level) is not int or fuse_opt_level < -1:
            raise ValueError(
                f"[FuseOps] fuse_opt_level: expected -1, 0 or more: {fuse_opt_level!r}"
            )
        self.fuse_opt_level = fuse_opt_level

    def transform_module(self, program: Program, context: PassContext) -> Program:
        """Return the program with calls of primitive functions in ``main``."""
        level = context.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level
        main = program.main
        if level == 0:
            kinds = map(kind_of, main.ops)
            alone = [-1 if kind == _OPAQUE else i for i, kind in enumerate(kinds)]
            return grouped(program, alone, least=1)
        depth = context.setting("FuseOps.max_depth", _MAX_DEPTH)
        return grouped(program, groups_of(main, depth))


def groups_of(function: Function, max_depth: int = _MAX_DEPTH) -> list[int]:
    """Return the group of each operation, by the number of its last one."""
    makers = {x: i for i, op in enumerate(function.ops) for x in op.results}
    kept = (*function.results, *(last for _, last in function.assigns))
    results = sorted({makers[x] for x in kept if x in makers})
    kinds = [kind_of(op) for op in function.ops]
    uses = [
        (makers[x], i, _kind_of_use(x, op, kinds[i]))
        for i, op in enumerate(function.ops)
        for x in op.values()
        if x in makers
    ]
    return partition(kinds, uses, results, max_depth)


def kind_of(op: Op) -> int:
    """Return what fusion may do with an operation: the kind of its row in the table."""
    if not only_computes(op):
        return _OPAQUE
    kind = op.call.pattern
    shape = op.results[0].type.shape if op.results else ()
    if kind == _ELEMENTWISE and any(value.type.shape != shape for value in op.values()):
        return _BROADCAST
    return kind


def _kind_of_use(value: Value, op: Op, kind: int) -> int:
    is_alike = kind == _BROADCAST and value.type.shape == op.results[0].type.shape
    return _ELEMENTWISE if is_alike else kind


register_pass(FuseOps())
