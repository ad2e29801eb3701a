"""Results written over operands: each reason, and runs on memory in which nothing else changes."""

import random
from itertools import pairwise
from typing import Any

import pytest

from oneflow_lite import _C
from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    SHAPE,
    WRITE,
    Access,
    InPlace,
    Reason,
    ValueKind,
    Values,
    in_place,
)
from tests.support.graphs.programs import Decisions, Program, differences, lane_edges, random_values

TEMPORARY, RESULT, GIVEN = ValueKind


def all_pairs(program: Program) -> list[tuple[int, int, int]]:
    return [
        (operation, operand, result)
        for operation, row in enumerate(program.accesses)
        for operand, how in row
        if how != WRITE
        for result, then in row
        if then == WRITE
    ]


def decide(program: Program, pairs: list[tuple[int, int, int]], **given: Any) -> InPlace:
    return in_place(program.accesses, pairs, program.values, **given)


@pytest.mark.parametrize("seed", range(150))
def test_nothing_else_changes(seed: int) -> None:
    rng = random.Random(seed)
    program = random_values(rng, rng.randint(3, 14))
    found = decide(program, all_pairs(program))
    operations = len(program.accesses)
    one_lane = [0] * operations
    assert differences(program, Decisions(found.classes), rng, one_lane, []) == []


@pytest.mark.parametrize("seed", range(150))
def test_nothing_else_changes_on_lanes(seed: int) -> None:
    """In any order that edges and lanes allow; no edge is added for the shared memory."""
    rng = random.Random(seed)
    program = random_values(rng, rng.randint(3, 12))
    lanes = [rng.randrange(3) for _ in program.accesses]
    edges = program.edges()
    found = decide(program, all_pairs(program), lanes=lanes, edges=edges)
    assert differences(program, Decisions(found.classes), rng, lanes, edges) == []


@pytest.mark.parametrize("seed", range(80))
def test_whatever_may_be_in_place_is(seed: int) -> None:
    """A pair that is refused because of its memory's uses changes something when it is taken."""
    rng = random.Random(seed)
    program = random_values(rng, 6)
    pairs = all_pairs(program)
    found = decide(program, pairs)
    about_data = {Reason.NOT_ELEMENTWISE, Reason.AT_ANOTHER_PLACE, Reason.USED_LATER}
    refused = [p for p, r in zip(pairs, found.reasons, strict=True) if r in about_data]
    for _, operand, result in refused:
        elements = program.values.elements
        same_size = elements[operand] == elements[result] == 4
        of_both = {found.classes[operand], found.classes[result]}
        if len(of_both) == 1 or not same_size or program.places[operand] != 0:
            continue
        joined = [min(of_both) if c in of_both else c for c in found.classes]
        operations = range(len(program.accesses))
        wrong = differences(program, Decisions(joined), rng, [0 for _ in operations], [])
        assert wrong or reads_of_dead_data(program, joined, of_both)


def reads_of_dead_data(program: Program, classes: list[int], of: set[int]) -> bool:
    """The class holds something given; what is written over it is not seen in a run."""
    return any(
        kind != TEMPORARY
        for kind, c in zip(program.kinds, classes, strict=True)
        if c in of or c == min(of)
    )


def one_pair(
    reads: list[tuple[int, Access]], *, after: list[tuple[int, Access]] | None = None, **given: Any
) -> Reason:
    """Value 0 is made, ``reads`` make value 1, then ``after`` is read; 2 is a view of 0."""
    accesses = [[(0, WRITE)], [*reads, (1, WRITE)], after or []]
    order = {name: given.pop(name) for name in ("lanes", "edges") if name in given}
    values = Values([0, 1, 0], [0, 0, 0], [0, 0, 1], [6, 6, 6], [4, 4, 4])._replace(**given)
    return in_place(accesses, [(1, 0, 1)], values, **order).reasons[0]


X = (0, ELEMENTWISE)


@pytest.mark.parametrize(
    ("reason", "reads", "given"),
    [
        (Reason.ALLOWED, [X], {}),
        (Reason.ALLOWED, [X, X], {}),
        (Reason.ALLOWED, [X, (0, SHAPE)], {}),
        (Reason.ALLOWED, [X], {"after": [(0, SHAPE)]}),
        (Reason.ALLOWED, [X], {"kinds": [TEMPORARY, RESULT, TEMPORARY]}),
        (Reason.HAS_MEMORY, [X], {"classes": [0, 0, 0]}),
        (Reason.HAS_MEMORY, [X], {"kinds": [TEMPORARY, GIVEN, TEMPORARY]}),
        (Reason.GIVEN, [X], {"kinds": [GIVEN, TEMPORARY, TEMPORARY]}),
        (Reason.GIVEN, [X], {"kinds": [TEMPORARY, TEMPORARY, GIVEN]}),  # a view of what is given
        (Reason.IS_RESULT, [X], {"kinds": [RESULT, TEMPORARY, TEMPORARY]}),
        (Reason.IS_RESULT, [X], {"kinds": [TEMPORARY, TEMPORARY, RESULT]}),
        (Reason.NOT_READ, [(0, SHAPE)], {}),
        (Reason.NOT_ELEMENTWISE, [(0, READ)], {}),
        (Reason.NOT_ELEMENTWISE, [X, (0, READ)], {}),  # x + sum(x)
        (Reason.AT_ANOTHER_PLACE, [X, (2, ELEMENTWISE)], {}),  # x + x[::-1]
        (Reason.AT_ANOTHER_PLACE, [X], {"places": [0, 5, 1]}),
        (Reason.OTHER_ITEM_SIZE, [X], {"item_sizes": [4, 8, 4]}),
        (Reason.BROADCAST, [X], {"elements": [1, 6, 6]}),
        (Reason.USED_LATER, [X], {"after": [(0, READ)]}),
        (Reason.USED_LATER, [X], {"after": [(2, READ)]}),
        (Reason.UNORDERED, [X], {"lanes": [1, 0, 0]}),
        (Reason.ALLOWED, [X], {"lanes": [1, 0, 0], "edges": [(0, 1)]}),
    ],
)
def test_reasons(reason: Reason, reads: list[tuple[int, Access]], given: dict[str, Any]) -> None:
    assert one_pair(reads, **given) == reason


def test_x_times_x_is_in_place() -> None:
    """NNVM counts two uses of x, and allocates."""
    program = Program()
    x, y = program.value(), program.value()
    program.operation([], x)
    program.operation([(x, ELEMENTWISE), (x, ELEMENTWISE)], y)
    assert decide(program, [(1, x, y)]).reasons == [Reason.ALLOWED]


def test_one_result_takes_the_operand() -> None:
    program = Program()
    x, q, r = (program.value() for _ in range(3))
    program.operation([], x)
    program.operation([(x, ELEMENTWISE)], q, r)
    found = decide(program, [(1, x, q), (1, x, r), (1, x, q)])
    assert found.reasons == [Reason.ALLOWED, Reason.TAKEN, Reason.HAS_MEMORY]
    assert found.classes == [0, 0, 1]


def test_a_result_takes_the_first_operand_that_it_may() -> None:
    program = Program()
    x, y, z = program.value(GIVEN), program.value(), program.value()
    program.operation([], y)
    program.operation([(x, ELEMENTWISE), (y, ELEMENTWISE)], z)
    found = decide(program, [(1, x, z), (1, y, z)])
    assert found.reasons == [Reason.GIVEN, Reason.ALLOWED]
    assert found.classes == [0, 1, 1]


def test_a_chain_in_place_is_one_class_that_ends_in_the_result() -> None:
    program = Program()
    values = [program.value() for _ in range(5)]
    program.operation([], values[0])
    for before, after in pairwise(values):
        program.operation([(before, ELEMENTWISE)], after)
    program.kinds[values[-1]] = RESULT
    found = decide(program, all_pairs(program))
    assert found.classes == [0] * 5
    program.kinds[values[2]] = RESULT  # handed out in the middle
    found = decide(program, all_pairs(program))
    assert found.classes == [0, 0, 0, 1, 1]
    assert found.reasons[2] == Reason.IS_RESULT


def test_another_reader_on_another_lane_counts() -> None:
    """The last use in the order of the program is the pair's; a use before it may still run."""
    program = Program()
    x, y = program.value(), program.value()
    program.operation([], x)
    program.operation([(x, READ)])
    program.operation([(x, ELEMENTWISE)], y)
    lanes, edges = [0, 1, 0], program.edges()
    found = decide(program, [(2, x, y)], lanes=lanes, edges=edges)
    assert found.reasons == [Reason.UNORDERED]
    in_spite = Decisions([0, 0])
    assert differences(program, in_spite, random.Random(0), [0, 0, 0], lane_edges([0, 0, 0])) == []
    assert any(differences(program, in_spite, random.Random(s), lanes, edges) for s in range(9))


def test_reasons_are_those_of_csrc() -> None:
    assert [reason.name.lower() for reason in Reason] == [name for name, _ in _C.GRAPH_REASONS]
    assert all(reason.text for reason in Reason)


def test_kinds_are_those_of_csrc() -> None:
    assert [kind.name.lower() for kind in ValueKind] == _C.GRAPH_VALUE_KINDS
