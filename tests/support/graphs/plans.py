"""A checker of what an executable has become, from its report: where memory is, and what waits.

It knows bytes, uses and lanes, and nothing of how the planner finds them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from oneflow_lite.graph import Executable
from tests.support.graphs.programs import ancestors, lane_edges, superfluous

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Base:
    """Bytes of a run that hold one value after the other, and the units that use them."""

    memory: int
    offset: int
    bytes: int
    is_input: bool
    uses: tuple[tuple[int, bool], ...]  # (unit, whether it writes)
    is_result: bool

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Base":
        memory, offset, size, is_input, uses, is_result = row
        return cls(memory, offset, size, is_input, tuple(uses), is_result)

    def touches(self, other: "Base") -> bool:
        return (
            self.memory == other.memory
            and self.offset < other.offset + other.bytes
            and other.offset < self.offset + self.bytes
        )


@dataclass(frozen=True)
class Plan:
    """The parts of a report that are checked."""

    bases: list[Base]
    segments: list[dict[str, Any]]
    edges: Edges
    waits: Edges
    inline: list[tuple[int, int, int, int]]  # offset, bytes, first and last step
    inline_bytes: int
    memories: list[tuple[int, bool, bool]]  # bytes, is_result, is_arena
    arenas: list[dict[str, Any]]

    @classmethod
    def of(cls, run: Executable) -> "Plan":
        report = run.report()
        memory = report["memory"]
        return cls(
            [Base.of(row) for row in memory["bases"]],
            report["segments"],
            report["edges"],
            report["waits"],
            memory["inline_bases"],
            report["arena_bytes"],
            memory["memories"],
            memory["arenas"],
        )

    def segment_of(self) -> dict[int, int]:
        return {unit: s for s, each in enumerate(self.segments) for unit in each["units"]}

    def in_memory(self) -> list[Base]:
        return [base for base in self.bases if base.memory >= 0 and base.uses and base.bytes]


def check(run: Executable) -> None:
    """Fail where something in the plans of an executable is wrong, or is not needed."""
    plan = Plan.of(run)
    check_places(plan)
    check_inline(plan.inline, plan.inline_bytes)
    check_lifetimes(plan)
    check_machine_order(plan)
    check_strands(plan)
    hazards = set(segment_hazards(plan))
    lanes = [each["lane"] for each in plan.segments]
    numbers = [sorted(set(lanes)).index(lane) for lane in lanes]
    check_edges(plan, hazards)
    check_waits(plan.waits, numbers, hazards)


# --- bytes


def check_places(plan: Plan) -> None:
    """Bases are within their memories; inputs and results have memories of their own."""
    for base in plan.bases:
        if base.memory < 0:
            continue
        size, is_result, is_arena = plan.memories[base.memory]
        assert base.offset >= 0, base
        if not base.is_input:  # an input may be a part of what is given
            assert base.offset + base.bytes <= size, f"{base} ends outside of its memory"
        assert not (base.is_result and (is_arena or not is_result)), base
    given = {base.memory for base in plan.bases if base.is_input}
    for base in plan.bases:
        assert base.is_input or base.memory not in given, f"{base} lies in an input"
    for arena in plan.arenas:
        assert arena["lower_bound"] <= arena["bytes"], arena


def check_lifetimes(plan: Plan) -> None:
    """No two values are in use at one time on the same bytes, on whichever lanes they are used."""
    segment_of = plan.segment_of()
    order = {unit: place for place, unit in enumerate(segment_of)}
    assert sorted(order) == list(range(len(order))), "each unit is in one segment"
    lanes = [each["lane"] for each in plan.segments]
    numbers = [sorted(set(lanes)).index(lane) for lane in lanes]
    before = ancestors(len(lanes), [*plan.waits, *lane_edges(numbers)])

    def comes_after(unit: int, other: int) -> bool:
        one, two = segment_of[other], segment_of[unit]
        return order[other] <= order[unit] if one == two else one in before[two]

    for a, b in combinations(plan.in_memory(), 2):
        if a.touches(b):
            first, second = check_apart(a, b, order)
            pairs = [(unit, other) for unit, _ in second.uses for other, _ in first.uses]
            assert all(comes_after(*pair) for pair in pairs), f"lanes use {first} and {second}"


def check_apart(a: Base, b: Base, order: dict[int, int]) -> tuple[Base, Base]:
    """One is over when the other begins; or the other is written over it by its last user.

    Return the two in this order.
    """
    first, second = sorted((a, b), key=lambda base: min(order[unit] for unit, _ in base.uses))
    label = f"{first} and {second}"
    assert not first.is_input, f"{label}: an input is shared"
    assert not second.is_input, f"{label}: an input is shared"
    assert not first.is_result, f"{label}: a result is written over"
    ends = max(order[unit] for unit, _ in first.uses)
    begins = min(order[unit] for unit, _ in second.uses)
    assert ends <= begins, f"{label} overlap"
    if ends == begins:
        assert min(order[unit] for unit, _ in first.uses) < begins, f"{label} are both new"
        writes = [writes for unit, writes in second.uses if order[unit] == begins]
        assert any(writes), f"{label}: nothing is written over the first one"
    return first, second


def check_inline(bases: Sequence[tuple[int, int, int, int]], arena: int) -> None:
    """The arena of runs in the calling thread: values of different steps share bytes."""
    for offset, size, first, last in bases:
        assert 0 <= offset <= offset + size <= arena, (offset, size)
        assert offset % 64 == 0, f"offset {offset} is not aligned"
        assert first <= last, (first, last)
    for a, b in combinations(bases, 2):
        apart = a[0] + a[1] <= b[0] or b[0] + b[1] <= a[0]
        assert apart or a[3] < b[2] or b[3] < a[2], f"{a} and {b} overlap"


# --- order


def segment_hazards(plan: Plan) -> Iterator[tuple[int, int]]:
    """Pairs of segments that touch a byte, one of them writing; or a base of no bytes, which the
    machine orders as any other one."""
    segment_of = plan.segment_of()
    by_memory: dict[int, list[Base]] = {}
    for base in (base for base in plan.bases if base.memory >= 0):
        by_memory.setdefault(base.memory, []).append(base)
    for bases in by_memory.values():
        for i, a in enumerate(bases):
            for b in bases[i:]:
                if a is not b and not a.touches(b):
                    continue
                for unit, writes in a.uses:
                    for other, also_writes in b.uses:
                        pair = sorted((segment_of[unit], segment_of[other]))
                        if pair[0] != pair[1] and (writes or also_writes):
                            yield pair[0], pair[1]


def check_machine_order(plan: Plan) -> None:
    """Of two segments that touch a byte, one of them writing, the machine sees one write."""
    segment_of = plan.segment_of()
    for a in plan.in_memory():
        for b in plan.in_memory():
            if not a.touches(b):
                continue
            for unit, writes in a.uses:
                for other, _ in b.uses:
                    one, two = segment_of[unit], segment_of[other]
                    if one == two or not writes:
                        continue
                    uses = [dict(plan.segments[s]["memories"])[a.memory] for s in (one, two)]
                    assert any(uses), f"segments {one} and {two} are not ordered by {a}"


def check_strands(plan: Plan) -> None:
    """What threads share of a segment touches no bytes that another thread writes."""
    of_unit: dict[int, list[tuple[Base, bool]]] = {}
    for base in plan.in_memory():
        for unit, writes in base.uses:
            of_unit.setdefault(unit, []).append((base, writes))
    for each in plan.segments:
        found = sorted(unit for strand in each["strands"] for unit in strand)
        assert found == sorted(each["units"]), "units that are not in the strands"
        for one, two in combinations(each["strands"], 2):
            for unit in one:
                for other in two:
                    check_no_race(of_unit.get(unit, []), of_unit.get(other, []))


def check_no_race(uses: Sequence[tuple[Base, bool]], others: Sequence[tuple[Base, bool]]) -> None:
    for a, writes in uses:
        for b, also_writes in others:
            assert not (a.touches(b) and (writes or also_writes)), f"{a} and {b} are of two strands"


def check_edges(plan: Plan, hazards: set[tuple[int, int]]) -> None:
    """Edges order all hazards; each is one between uses of a memory, and follows from no others."""
    count = len(plan.segments)
    assert all(first < second for first, second in plan.edges), "edges go forward"
    before = ancestors(count, plan.edges)
    for first, second in hazards:
        assert first in before[second], f"no edge orders segments {first} and {second}"
    needless = superfluous(count, plan.edges)
    assert needless == [], f"edges {needless} follow from others"
    for first, second in plan.edges:
        uses, others = (dict(plan.segments[s]["memories"]) for s in (first, second))
        meet = [uses[m] or others[m] for m in uses.keys() & others.keys()]
        assert any(meet), f"edge {first}, {second} is of no memory"


def check_waits(waits: Edges, lanes: Sequence[int], hazards: set[tuple[int, int]]) -> None:
    """Waits and the order of lanes order all hazards; without any of them, some would not be."""
    count = len(lanes)
    fixed = lane_edges(lanes)

    def is_ordered(edges: Edges) -> bool:
        before = ancestors(count, [*edges, *fixed])
        return all(first in before[second] for first, second in hazards)

    assert is_ordered(waits), f"waits {waits} leave a hazard"
    for k, wait in enumerate(waits):
        assert lanes[wait[0]] != lanes[wait[1]], f"wait {wait} is in one lane"
        assert not is_ordered([*waits[:k], *waits[k + 1 :]]), f"wait {wait} is not needed"
