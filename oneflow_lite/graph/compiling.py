"""From a program to an executable: passes, then lowering.

Program ─► passes of the context ─► groups told apart ─► Executable
"""

from typing import Any

from oneflow_lite._C import Executable
from oneflow_lite.graph.executable import lowered
from oneflow_lite.graph.ir import Function, GroupCall
from oneflow_lite.graph.passes.alter_layout import AlterOpLayout
from oneflow_lite.graph.passes.base import Sequential
from oneflow_lite.graph.passes.common_subexpr import EliminateCommonSubexpr
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.dead_code import DeadCode
from oneflow_lite.graph.passes.device_rules import DeviceRules
from oneflow_lite.graph.passes.fold_constant import FoldConstant
from oneflow_lite.graph.passes.fuse_ops import FuseOps
from oneflow_lite.graph.passes.info import PassInfo, level_of
from oneflow_lite.graph.passes.instruments import PassInstrument
from oneflow_lite.graph.passes.order_by_memory import OrderByMemory
from oneflow_lite.graph.passes.widen_groups import WidenGroups
from oneflow_lite.graph.primitives import ALONE, inlined
from oneflow_lite.graph.program import Program

DEFAULT_LEVEL = 3
_ALTERED = (DeviceRules(), AlterOpLayout())  # first: what they pack of constants is folded
_FEWER = (*_ALTERED, FoldConstant(), EliminateCommonSubexpr(), DeadCode())
_IN_ORDER = Sequential(_FEWER)
_UNGROUPED = Sequential((*_FEWER, OrderByMemory()))  # products that add need their order
_ROW = Sequential((*_FEWER, OrderByMemory(), FuseOps(), WidenGroups()))


def context_for(op: str, opt_level: int | None) -> PassContext:
    """Return the context that decides about passes: the thread's, or one of the default level."""
    if opt_level is not None:
        opt_level = level_of(op, "opt_level", opt_level)
    context = PassContext.entered()
    if context is None:
        return PassContext(DEFAULT_LEVEL if opt_level is None else opt_level)
    return context if opt_level is None else context.at_level(opt_level)


def compiled(
    program: Program,
    mode: str = "auto",
    release: str = "plan",
    lanes: int = 1,
    addto: bool = False,
    opt_level: int | None = None,
    cuda_graph: bool | None = None,
) -> Executable:
    """Return a traced program ready to run, as ``flow.graph.compile`` does, whose text has more."""
    program.verify()
    context = context_for("compile", opt_level)
    run = made_ready(program, context, mode, release, lanes, addto, cuda_graph)
    run.program = program
    return run


def made_ready(
    program: Program,
    context: PassContext,
    mode: str,
    release: str,
    lanes: int,
    addto: bool,
    cuda_graph: bool | None,
) -> Executable:
    """Return a program that is known to be sound, after its passes and ready to run."""
    row = _IN_ORDER if mode == "naive" else _UNGROUPED if addto else _ROW
    notes = _Notes(program, row.info)
    watched = PassContext(
        context.opt_level,
        context.required_pass,
        context.disabled_pass,
        (*context.instruments, notes),
        context.config,
    )
    with watched.deciding():
        made = row(program)
    function, groups = inlined(made.main, made.functions)
    known = () if addto and context.opt_level > 0 else groups
    places = _issued(program.main, function)
    ways = (mode, release, lanes, addto, cuda_graph)
    run = lowered(function, program.name, *ways, known, places)
    run.passes = notes.rows
    run.functions = _places(made.main, function, groups)
    return run


def _issued(main: Function, flat: Function) -> list[int]:
    """Return the place of each operation of ``flat`` in ``main``, from which passes made it.

    An operation that a pass has made has the place of the one in front of it.
    """
    known: dict[int, int] = {}
    for place, op in enumerate(main.ops):
        known.setdefault(id(op.call), place)
    places, last = [], 0
    for op in flat.ops:
        last = known.get(id(op.call), last)
        places.append(last)
    return places


def _places(main: Function, flat: Function, groups: list[int]) -> list[tuple[str, list[int]]]:
    """Return the primitive functions that ``main`` calls, and where their operations run.

    Sources of random numbers are asked before a run, and are not counted.
    """
    found: list[list[int]] = [[] for op in main.ops if isinstance(op.call, GroupCall)]
    places = (group for group, op in zip(groups, flat.ops, strict=True) if op.call.kind != "source")
    for place, group in enumerate(places):
        if group != ALONE:
            found[group].append(place)
    names = (op.name for op in main.ops if isinstance(op.call, GroupCall))
    return list(zip(names, found, strict=True))


class _Notes(PassInstrument):
    """How many operations a program has after each pass, and how many of them are groups."""

    def __init__(self, program: Program, whole: PassInfo) -> None:
        self.rows: list[dict[str, Any]] = []
        self._whole = whole
        self._note("", program)

    def run_after_pass(self, program: Program, info: PassInfo) -> None:
        """Note the program that a pass made: one of the row, not the row as a whole."""
        if info is not self._whole:
            self._note(info.name, program)

    def _note(self, name: str, program: Program) -> None:
        ops = program.main.ops
        groups = sum(isinstance(op.call, GroupCall) for op in ops)
        self.rows.append({"pass": name, "operations": len(ops), "groups": groups})
