"""In which order the operations of a program are run: that of the program, or by memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oneflow_lite.graph.analyses import (
    ValueKind,
    class_users,
    dependences,
    lower_bound,
    order_by_memory,
)
from oneflow_lite.graph.ir import Function, Op, Value
from oneflow_lite.graph.numbered import Numbered, numbered

_LEAST_BYTES = 1 << 20  # of all values: smaller programs are run as they are
_LEAST_GAIN = 0.05  # of what is alive at most: less is not worth another order


def ordered(function: Function) -> Function:
    """Return the function with its operations in the order that needs less memory.

    Views are made where they are used first. Operations of one token, and writes of a memory and
    its uses, keep their order. The function itself is returned where it is small, or where another
    order gains little.
    """
    made = (value for op in function.ops for value in op.results if not op.is_view)
    if sum(value.type.nbytes for value in made) < _LEAST_BYTES:
        return function
    program = numbered(function)
    order = _order(program)
    return function if order is None else replace(function, ops=_reordered(function, order))


def _order(program: Numbered) -> list[int] | None:
    """Return a better order of the operations without views; None: there is none."""
    count = len(program.names)
    memories = _memories(program)
    sizes = [memory.size for memory in memories]
    users = [memory.users for memory in memories]
    results = [k for k, memory in enumerate(memories) if memory.is_result]
    edges = dependences(program.variables(), program.tokens)
    order = order_by_memory(count, sizes, users, results, edges)
    place = [0] * count
    for k, operation in enumerate(order):
        place[operation] = k

    def most(places: Sequence[int]) -> int:
        """Return the bytes that are alive at most; a result stays."""
        rows = [sorted(places[x] for x in row) for row in users]
        for k in results:
            rows[k].append(count)
        return lower_bound(sizes, rows)

    return order if most(place) < (1 - _LEAST_GAIN) * most(range(count)) else None


@dataclass
class _Memory:
    """The bytes of a class of values, and of those that are computed over them."""

    size: int
    users: list[int]
    is_result: bool


def _memories(program: Numbered) -> list[_Memory]:
    """Return memories that a run makes, as they are in any order.

    An elementwise result is over its operand where nobody else reads that.
    """
    values = program.values
    classes = list(values.classes)
    found = [_Memory(0, list(row), False) for row in class_users(program.accesses, classes)]
    is_given = [False] * len(found)
    for value, at in enumerate(classes):
        bytes_ = int(values.elements[value]) * int(values.item_sizes[value])
        found[at].size = max(found[at].size, bytes_)
        found[at].is_result |= values.kinds[value] == ValueKind.RESULT
        is_given[at] |= values.kinds[value] == ValueKind.GIVEN
    over = {}
    for operation, operand, result in program.pairs:
        at, to = classes[operand], classes[result]
        is_free = to not in over and not (is_given[at] or is_given[to] or found[at].is_result)
        is_alone = found[at].users[1:] == [operation] and found[to].users[0] == operation
        if is_free and is_alone and found[at].size == found[to].size:
            over[to] = at
    first: dict[int, int] = {}
    for to, operand in over.items():  # in the order of the program: what that is over comes before
        at = first[to] = first.get(operand, operand)
        found[at].users += found[to].users[1:]
        found[at].is_result |= found[to].is_result
    return [
        memory
        for at, memory in enumerate(found)
        if memory.users and not is_given[at] and at not in over
    ]


def _reordered(function: Function, order: list[int]) -> tuple[Op, ...]:
    views = {op.results[0]: op for op in function.ops if op.is_view}
    others = [op for op in function.ops if not op.is_view]
    found: list[Op] = []
    seen: set[Value] = set()

    def add_views(value: Value) -> None:
        path = []
        while value in views and value not in seen:
            seen.add(value)
            path.append(views[value])
            value = path[-1].values()[0]
        found.extend(reversed(path))

    for number in order:
        if number >= len(others):
            continue  # an assign
        for value in others[number].values():
            add_views(value)
        found.append(others[number])
    for value in views:  # results, and what nobody uses
        add_views(value)
    return tuple(found)
