"""Groups of operations become primitive functions, and calls of them.

ops and their groups ─► one node a group ─► nodes in order, by need ─► calls, bodies
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any, cast

import numpy as np

from oneflow_lite._C import OpCall
from oneflow_lite.graph.ir import Function, GroupCall, Op, Scalar, Slot, Value
from oneflow_lite.graph.primitives import ALONE, written_params
from oneflow_lite.graph.program import Program

_LONGEST_NAME = 40
_DTYPES: dict[type, np.dtype[Any]] = {float: np.dtype(float), complex: np.dtype(complex)}


def grouped(
    program: Program, groups: Sequence[int], *, least: int = 2, at_first: bool = False
) -> Program:
    """Return the program with a primitive function for each group of ``main``.

    ``groups`` has the number of each operation's group, or ALONE. Views are made where they are
    used, in the group and outside. Groups of fewer than ``least`` other operations are none. A call
    stands where its last operation did; ``at_first``: the first one, where its operands allow it.
    Groups that need each other are none.
    """
    return _Grouping(program, groups, least, at_first).made()


class _Grouping:
    def __init__(self, program: Program, groups: Sequence[int], least: int, at_first: bool) -> None:
        self.program = program
        self.function = program.main
        self.at_first = at_first
        self.maker = {x: i for i, op in enumerate(self.function.ops) for x in op.results}
        self.group = list(groups)
        self.members: dict[int, list[int]] = {}
        for i, number in enumerate(groups):
            if number != ALONE:
                self.members.setdefault(number, []).append(i)
        for number, row in list(self.members.items()):
            if sum(not self.function.ops[i].is_view for i in row) < least:
                self._dissolve(number)

    def _dissolve(self, number: int) -> None:
        for i in self.members.pop(number):
            self.group[i] = ALONE

    def made(self) -> Program:
        order = None
        while order is None:
            bodies = {number: self._body(row) for number, row in self.members.items()}
            outside = self._used_outside(bodies)
            order = self._order(bodies, outside)
        if not bodies:
            return self.program
        functions = self.program.functions
        ops: list[Op] = []
        for node in order:
            if node < len(self.function.ops):
                ops.append(self.function.ops[node])
                continue
            body = bodies[node - len(self.function.ops)]
            made, call = _primitive(_name(body, functions), body, outside)
            functions[made.name] = made
            ops.append(call)
        functions["main"] = replace(self.function, ops=tuple(ops))
        return Program(self.program.name, functions)

    def _body(self, row: list[int]) -> list[Op]:
        """Return the operations of a group: views of it that others use, and those of targets."""
        ops = self.function.ops
        inside = set(row)
        kept: set[int] = set()
        left = [i for i in row if not ops[i].is_view]
        while left:
            i = left.pop()
            if i in kept:
                continue
            kept.add(i)
            for value in ops[i].values():
                maker = self.maker.get(value)
                if maker is None or not ops[maker].is_view:
                    continue
                if maker in inside or (value in ops[i].targets) or ops[i].is_view:
                    left.append(maker)
        return [ops[i] for i in sorted(kept)]

    def _used_outside(self, bodies: dict[int, list[Op]]) -> set[Value]:
        """Return the values that somebody needs besides the group that makes them."""
        used = {*self.function.results, *(last for _, last in self.function.assigns)}
        for body in bodies.values():
            made = {x for op in body for x in op.results}
            used.update(x for op in body for x in op.values() if x not in made)
        for i, op in enumerate(self.function.ops):
            if self.group[i] == ALONE and not op.is_view:
                used.update(op.values())
        for i in reversed(range(len(self.function.ops))):
            op = self.function.ops[i]
            if op.is_view and (self.group[i] == ALONE or op.results[0] in used):
                used.update(op.values())
        return used

    def _order(self, bodies: dict[int, list[Op]], outside: set[Value]) -> list[int] | None:
        """Return operations, and groups behind them by number; None: some groups are gone."""
        ops, count = self.function.ops, len(self.function.ops)
        place = min if self.at_first else max
        keys: dict[int, int] = {}
        needs: dict[int, Iterable[Value]] = {}
        for i, op in enumerate(ops):
            if self.group[i] == ALONE or (op.is_view and op.results[0] in outside):
                keys[i], needs[i] = i, op.values()
        for number, body in bodies.items():
            made = {x for op in body for x in op.results}
            keys[count + number] = place(i for i in self.members[number] if not ops[i].is_view)
            needs[count + number] = [x for op in body for x in op.values() if x not in made]
        makers = {node: self._makers(given, keys) for node, given in needs.items()}
        for before, after in _kept_order(self.function):
            nodes = self._node(before), self._node(after)
            if nodes[0] != nodes[1]:
                makers[nodes[1]].add(nodes[0])
        order = _sorted(keys, makers)
        if len(order) == len(keys):
            return order
        for node in keys.keys() - set(order):  # they need each other
            if node >= count:
                self._dissolve(node - count)
        return None

    def _makers(self, values: Iterable[Value], nodes: dict[int, int]) -> set[int]:
        """Return the nodes that make these values."""
        found = set()
        for value in values:
            i = self.maker.get(value)
            if i is not None:
                found.add(i if i in nodes else self._node(i))
        return found

    def _node(self, i: int) -> int:
        return i if self.group[i] == ALONE else len(self.function.ops) + self.group[i]


def _kept_order(function: Function) -> Iterator[tuple[int, int]]:
    """Return pairs of operations that keep their order, besides those that use what others make.

    They have a token in common, or the second one writes over what the first one reads.
    """
    root: dict[Value, Value] = {}
    readers: dict[Value, list[int]] = {}
    last: dict[str, int] = {}
    for i, op in enumerate(function.ops):
        if op.is_view:
            operand = op.values()[0]
            root[op.results[0]] = root.get(operand, operand)
            continue
        for token in op.effects:
            if token in last:
                yield last[token], i
            last[token] = i
        for target in op.targets:
            whole = root.get(target, target)
            yield from ((reader, i) for reader in readers.pop(whole, ()))
        targets = iter(op.targets)
        for k, value in enumerate(op.results):
            if op.call.targets >> k & 1:
                target = next(targets)
                root[value] = root.get(target, target)
        for value in op.values():
            readers.setdefault(root.get(value, value), []).append(i)


def _sorted(keys: dict[int, int], makers: dict[int, set[int]]) -> list[int]:
    """Return nodes behind what they need, the smallest key first; not those in a ring."""
    users: dict[int, list[int]] = {}
    left = {}
    for node, needed in makers.items():
        left[node] = len(needed)
        for maker in needed:
            users.setdefault(maker, []).append(node)
    ready = [(keys[node], node) for node, count in left.items() if count == 0]
    heapify(ready)
    order = []
    while ready:
        _, node = heappop(ready)
        order.append(node)
        for user in users.get(node, ()):
            left[user] -= 1
            if left[user] == 0:
                heappush(ready, (keys[user], user))
    return order


def _primitive(name: str, body: list[Op], outside: set[Value]) -> tuple[Function, Op]:
    """Return the function of a group, and the call of it."""
    made = {x for op in body for x in op.results}
    params = tuple(dict.fromkeys(x for op in body for x in op.values() if x not in made))
    results = tuple(x for op in body if not op.is_view for x in op.results if x in outside)
    numbers = dict.fromkeys(
        x.value for op in body for x in op.operands if type(x) is Scalar and type(x.value) is Slot
    )
    slots = {slot: Slot(slot.kind) for slot in numbers}
    ops = tuple(_with_slots(op, slots) for op in body) if slots else tuple(body)
    function = Function(
        name, params, (), (), ops, results, slots=tuple(slots.values()), primitive=True
    )
    written = written_params(function)
    call = GroupCall(name, sum(1 << k for k, x in enumerate(written) if x is not None))
    operands: tuple[Value | Scalar, ...] = (*params, *(_number(slot) for slot in slots))
    targets = tuple(x for x in written if x is not None)
    return function, Op(cast(OpCall, call), operands, targets, results, body[-1].site)


def _number(slot: Slot) -> Scalar:
    return Scalar(_DTYPES[slot.kind], slot, True)


def _with_slots(op: Op, slots: dict[Slot, Slot]) -> Op:
    operands = tuple(
        Scalar(x.dtype, slots[x.value], x.weak) if type(x) is Scalar and x.value in slots else x
        for x in op.operands
    )
    return replace(op, operands=operands)


def _name(body: list[Op], known: dict[str, Function]) -> str:
    """Return a name that tells what is in the group, and that no function has."""
    words = (re.sub(r"\W", "_", op.name) for op in body if not op.is_view)
    name = first = "_".join(("fused", *words))[:_LONGEST_NAME].rstrip("_")
    number = 1
    while name in known:
        name = f"{first}_{number}"
        number += 1
    return name
