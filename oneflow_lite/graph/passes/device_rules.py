"""DeviceRules: other operations in the place of some, as rules for a device say.

operation ─► its device and name ─► rules, the highest level first ─► values in its place
"""

from collections.abc import Callable
from typing import Any

from oneflow_lite import _C
from oneflow_lite.graph.ir import Function, Op, Value
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo, level_of
from oneflow_lite.graph.passes.rewriter import Rewriter
from oneflow_lite.graph.program import Program

Made = Value | tuple[Value, ...] | None
Rule = Callable[[Rewriter, Op], Made]
_RULES: dict[tuple[str, str], list[tuple[int, Rule]]] = {}


def register_device_rule(
    operation: str, device_type: str, level: int = 10
) -> Callable[[Rule], Rule]:
    """Register a rule for an operation on devices of a type, for the pass ``DeviceRules``.

    A rule is a function of a rewriter and an operation. It returns the values that take the place
    of the results, which ``rewriter.emit`` makes, or None: it leaves the operation as it is.

    Parameters
    ----------
    operation : str
        Its name in the text of a program.
    device_type : str
        Of the operation's first result: ``"cpu"``, ``"mock"``, ``"cuda"``.
    level : int
        Of several rules the one of the highest level is asked first.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> @passes.register_device_rule("cbrt", "mock")
    ... def cube_root(rewriter, op):
    ...     return rewriter.emit(flow.power, op.operands[0], 1 / 3)
    >>> program = flow.graph.trace(lambda x: flow.cbrt(x), flow.ones(3, device="mock")).program
    >>> [op.name for op in passes.DeviceRules()(program).main.ops]
    ['pow']
    """
    if not isinstance(operation, str) or not isinstance(device_type, str):
        raise TypeError(
            "[register_device_rule] expected names of an operation and of a device type"
        )

    if device_type not in _C.device_types():
        known = nearest(device_type, _C.device_types())
        raise ValueError(f"[register_device_rule] device_type: there is no {device_type}{known}")
    rank = level_of("register_device_rule", "level", level)

    def register(rule: Rule) -> Rule:
        rows = _RULES.setdefault((operation, device_type), [])
        rows.append((rank, rule))
        rows.sort(key=lambda row: -row[0])
        return rule

    return register


class DeviceRules(FunctionPass):
    """Puts other operations in the place of some, by the rules for their device. Level 4.

    Rules may change bits, so the pass runs by default nowhere: at level 4, or where a context
    requires it. What the rules make is verified.
    """

    info = PassInfo(4, "DeviceRules")
    is_checked = True

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with the rules applied."""
        if not any(_rules_for(op) for op in function.ops):
            return function
        return _Ruled().rewritten(function)


class _Ruled(Rewriter):
    def visit_op(self, op: Op) -> Any:
        for _, rule in _rules_for(op):
            made = rule(self, op)
            if made is not None:
                return made
        return op


def _rules_for(op: Op) -> list[tuple[int, Rule]]:
    return _RULES.get((op.name, op.results[0].type.device.type), []) if op.results else []


register_pass(DeviceRules())
