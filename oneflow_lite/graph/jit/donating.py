"""Programs that take arguments for good: a result is computed in the memory of a donated one.

%3 = subtract(%0, %2)          %3 = subtract(%0, %2) into %0
return %3              ─►      %0 := %3
                               return %3
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.arguments.sharing import memories
from oneflow_lite.graph.ir import Function, Op, Value
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.trees import visit


def with_donated(program: Program, donated: Iterable[int]) -> Program:
    """Return the program with results in the memory of these parameters, where that is possible.

    A result may go there that an elementwise operation makes, of the parameter's type, where nobody
    uses the parameter behind that operation.
    """
    main = program.main
    for place in donated:
        main = _with_result_in(main, main.params[place])
    return Program(program.name, {**program.functions, "main": main})


def _with_result_in(function: Function, param: Value) -> Function:
    roots = _roots(function)
    results = {roots[value] for value in function.results}
    taken = {value for pair in function.assigns for value in pair}
    if param in results or param in taken:
        return function
    uses = [i for i, op in enumerate(function.ops) if any(roots[x] is param for x in op.values())]
    last = uses[-1] if uses else 0
    for i, op in enumerate(function.ops[last:], last):
        if not _may_write_to(op, param) or op.results[0] in taken:
            continue
        if op.results[0] not in function.results:
            continue
        ops = (*function.ops[:i], _written_to(op, param), *function.ops[i + 1 :])
        return replace(function, ops=ops, assigns=(*function.assigns, (param, op.results[0])))
    return function


def _roots(function: Function) -> dict[Value, Value]:
    """Return whose memory each value is in."""
    roots = {value: value for value in function.inputs()}
    for op in function.ops:
        for value in op.results:
            roots[value] = value
        if op.is_view:
            roots[op.results[0]] = roots[op.values()[0]]
    return roots


def _may_write_to(op: Op, param: Value) -> bool:
    """Tell whether the operation has the same bits there: NumPy's loops differ for one element."""
    is_new = op.call.kind == "elementwise" and not op.targets
    return is_new and op.results[0].type == param.type and param.type.shape != ()


def _written_to(op: Op, param: Value) -> Op:
    name = op.call.name
    made = OpCall("elementwise", name, op=_C.op_named(name), codes=op.call.codes, targets=1)
    return replace(op, call=made, targets=(param,))


def donated_paths(
    args: Sequence[Any], kwargs: dict[str, Any], chosen: Collection[int | str]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the tensors in the chosen arguments, and those in others, by their paths."""
    donated: dict[str, Tensor] = {}
    others: dict[str, Tensor] = {}

    def add(found: dict[str, Tensor], x: Any, path: str) -> None:
        if type(x) is Tensor:
            found[path] = x

    for i, x in enumerate(args):
        visit(x, partial(add, donated if i in chosen else others), f"args[{i}]")
    for name, x in kwargs.items():
        visit(x, partial(add, donated if name in chosen else others), name)
    return donated, others


def donated_places(
    label: str,
    parameters: Parameters,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    chosen: Collection[int | str],
    tensors: Sequence[Tensor],
) -> tuple[int, ...]:
    """Return which of a call's tensors are in the chosen arguments.

    Raises
    ------
    ValueError
        One of them is in another argument, too.
    """
    donated, others = donated_paths(args, kwargs, chosen)
    found: dict[int, str] = {}  # paths of donated tensors, by their identity
    for path, x in [*donated.items(), *others.items()]:
        first = found.get(id(x))
        if first is not None:
            raise ValueError(
                f"{label}: {parameters.path(first)} is donated, and "
                f"{parameters.path(path)} is the same tensor: pass a copy of it"
            )
        if path in donated:
            found[id(x)] = path
    places = {id(x): place for place, x in enumerate(tensors)}
    return tuple(sorted(places[id(x)] for x in donated.values()))


def check_donated(
    name: str, donated: Sequence[tuple[str, Tensor]], others: Iterable[tuple[str, Tensor]]
) -> None:
    """Raise ValueError where a donated tensor shares memory with another one."""
    given = [*donated, *others]
    for first, *rest in memories([x for _, x in given]):
        if rest and first < len(donated):
            label, other = given[first][0], given[rest[0]][0]
            raise ValueError(
                f"[jit] {name}: {label} is donated, and {other} has memory in common with it: "
                "pass a copy of one of them"
            )
