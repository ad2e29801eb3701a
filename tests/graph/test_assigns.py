"""Assignments and additions to accumulators, against runs in which each value has its memory."""

import random
from typing import Any

import pytest

from oneflow_lite import _C
from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    SHAPE,
    AssignCase,
    Reason,
    ValueKind,
    addto,
    assign,
)
from tests.support.graphs.programs import Decisions, Edges, Program, differences

TEMPORARY, RESULT, GIVEN = ValueKind
NONE, COPY, COMPUTED = AssignCase


def with_assignments(rng: random.Random, operations: int) -> Program:
    """Variables are read, whole or elementwise, and assigned, also several times."""
    program = Program()
    variables = [program.value(GIVEN) for _ in range(2)]
    views = [program.view(variables[0], 1)]
    temporaries: list[int] = []
    for _ in range(operations):
        if temporaries and rng.random() < 0.4:
            program.assign(rng.choice(variables), rng.choice(temporaries[-3:] + variables))
            continue
        operands = rng.choices(variables + views + temporaries[-3:], k=rng.randint(0, 2))
        reads = [(v, rng.choice([ELEMENTWISE, ELEMENTWISE, READ, SHAPE])) for v in operands]
        temporaries.append(program.value(rng.choice([TEMPORARY, TEMPORARY, RESULT])))
        program.operation(reads, temporaries[-1])
    return program


def assigned(program: Program, lanes: list[int] | None, edges: Edges) -> tuple[Decisions, Any]:
    found = assign(program.accesses, program.assignments, program.values, lanes=lanes, edges=edges)
    gone = {
        operation
        for (operation, *_), case in zip(program.assignments, found.cases, strict=True)
        if case != COPY
    }
    return Decisions(found.classes, gone), found


@pytest.mark.parametrize("seed", range(200))
def test_assignments_change_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    program = with_assignments(rng, rng.randint(2, 14))
    decisions, _ = assigned(program, None, [])
    assert differences(program, decisions, rng, [0] * len(program.accesses), []) == []


@pytest.mark.parametrize("seed", range(200))
def test_assignments_change_nothing_else_on_lanes(seed: int) -> None:
    rng = random.Random(seed)
    program = with_assignments(rng, rng.randint(2, 12))
    lanes = [rng.randrange(3) for _ in program.accesses]
    edges = program.edges()
    decisions, _ = assigned(program, lanes, edges)
    assert differences(program, decisions, rng, lanes, edges) == []


def test_all_cases_come_up() -> None:
    cases = set()
    for seed in range(100):
        _, found = assigned(with_assignments(random.Random(seed), 10), None, [])
        cases |= set(found.cases)
    assert cases == set(AssignCase)


def test_a_variable_is_assigned_to_itself() -> None:
    program = Program()
    w = program.value(GIVEN)
    view = program.view(w, 0)
    turned = program.view(w, 1)
    for source in (w, view, turned):
        program.assign(w, source)
    _, found = assigned(program, None, [])
    assert found.cases == [NONE, NONE, COPY]
    assert found.reasons[2] == Reason.AT_ANOTHER_PLACE


def test_a_step_of_descent_is_computed_in_the_variable() -> None:
    program = Program()
    w, gradient, new = program.value(GIVEN), program.value(), program.value()
    program.operation([(w, READ)], gradient)
    program.operation([(w, ELEMENTWISE), (gradient, ELEMENTWISE)], new)
    program.assign(w, new)
    decisions, found = assigned(program, None, [])
    assert found.cases == [COMPUTED]
    assert found.reasons == [Reason.ALLOWED]
    assert decisions.classes == [0, 1, 0]


def old_value_read_late() -> Program:
    """new = f(w); y = g(w); w = new: NNVM computes new in w, and y sees it."""
    program = Program()
    w, new, y = program.value(GIVEN), program.value(), program.value(RESULT)
    program.operation([(w, ELEMENTWISE)], new)
    program.operation([(w, READ)], y)
    program.assign(w, new)
    return program


def test_a_reader_of_the_old_value_makes_a_copy() -> None:
    program = old_value_read_late()
    decisions, found = assigned(program, None, [])
    assert found.cases == [COPY]
    assert found.reasons == [Reason.READ_SINCE]
    in_spite = Decisions([0, 0, 2], {2})
    lanes = [0, 0, 0]
    assert differences(program, in_spite, random.Random(0), lanes, [])  # what NNVM does
    assert differences(program, decisions, random.Random(0), lanes, []) == []


def test_a_reader_on_another_lane_makes_a_copy() -> None:
    program = Program()
    w, y, new = program.value(GIVEN), program.value(RESULT), program.value()
    program.operation([(w, READ)], y)
    program.operation([(w, ELEMENTWISE)], new)
    program.assign(w, new)
    assert assigned(program, None, [])[1].cases == [COMPUTED]
    _, found = assigned(program, [1, 0, 0], program.edges())
    assert (found.cases, found.reasons) == ([COPY], [Reason.UNORDERED])


@pytest.mark.parametrize(
    ("reason", "reads", "kind"),
    [
        (Reason.NOT_ELEMENTWISE, [(0, READ)], TEMPORARY),
        (Reason.AT_ANOTHER_PLACE, [(1, ELEMENTWISE)], TEMPORARY),
        (Reason.IS_RESULT, [(0, ELEMENTWISE)], RESULT),
        (Reason.GIVEN, [(0, ELEMENTWISE)], GIVEN),
    ],
)
def test_reasons_for_a_copy(reason: Reason, reads: list[Any], kind: ValueKind) -> None:
    program = Program()
    w = program.value(GIVEN)
    program.view(w, 1)
    source = program.value(kind)
    program.operation(reads, source)
    program.assign(w, source)
    _, found = assigned(program, None, [])
    assert (found.cases, found.reasons) == ([COPY], [reason])


def test_a_source_with_later_uses_is_copied() -> None:
    program = Program()
    v, w, new = program.value(GIVEN), program.value(GIVEN), program.value()
    program.operation([], new)
    program.assign(v, new)
    program.assign(w, new)
    _, found = assigned(program, None, [])
    assert found.cases == [COPY, COMPUTED]  # the second takes the memory, the first copies from it
    assert found.reasons[0] == Reason.USED_LATER


def test_one_operation_that_assigns_twice_computes_in_one_variable() -> None:
    program = Program()
    v, w, new = program.value(GIVEN), program.value(GIVEN), program.value()
    program.operation([], new)
    operation = program.operation([(new, READ)], v, w)
    found = assign(program.accesses, [(operation, v, new), (operation, w, new)], program.values)
    assert found.cases == [COMPUTED, COPY]
    assert len(set(found.classes)) == 2


def test_the_second_assignment_sees_the_first_and_stays() -> None:
    program = Program()
    w, first, second = program.value(GIVEN), program.value(), program.value()
    program.operation([(w, ELEMENTWISE)], first)
    program.assign(w, first)
    program.operation([(w, ELEMENTWISE)], second)
    program.assign(w, second)
    decisions, found = assigned(program, None, [])
    assert found.cases == [COMPUTED, COMPUTED]
    assert differences(program, decisions, random.Random(0), [0] * 4, []) == []


def test_a_source_that_begins_before_the_first_assignment_is_copied() -> None:
    program = Program()
    w, first, second = program.value(GIVEN), program.value(), program.value()
    program.operation([], first)
    program.operation([], second)
    program.assign(w, first)
    program.assign(w, second)
    _, found = assigned(program, None, [])
    assert found.cases == [COMPUTED, COPY]
    assert found.reasons[1] == Reason.READ_SINCE


# --- Additions


def with_additions(rng: random.Random, operations: int) -> Program:
    """Products, also of accumulators, and sums of what there is."""
    program = Program()
    values = [program.value(GIVEN), program.value()]
    program.operation([], values[1])
    for _ in range(operations):
        recent = values[-4:]
        made = program.value(rng.choice([TEMPORARY, TEMPORARY, TEMPORARY, RESULT]))
        if len(values) > 3 and rng.random() < 0.5:
            program.add(*rng.sample(recent, 2), made)
        else:
            reads = [(v, READ) for v in rng.choices(recent, k=rng.randint(0, 1))]
            program.operation(reads, made)
        values.append(made)
    return program


def added(program: Program, lanes: list[int] | None, edges: Edges) -> tuple[Decisions, Any]:
    makers = {row[-1][0]: i for i, row in enumerate(program.accesses)}
    sums = {operation for operation, *_ in program.additions}
    asked = [a for a in program.additions if makers.get(a[2], -1) not in {-1, *sums}]
    found = addto(program.accesses, asked, program.values, lanes=lanes, edges=edges)
    decisions = Decisions(found.classes)
    for (operation, accumulator, part, _), reason in zip(asked, found.reasons, strict=True):
        if reason == Reason.ALLOWED:
            decisions.gone.add(operation)
            decisions.adds[makers[part]] = (part, accumulator)
    return decisions, found


@pytest.mark.parametrize("seed", range(200))
def test_additions_change_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    program = with_additions(rng, rng.randint(2, 14))
    decisions, _ = added(program, None, [])
    assert differences(program, decisions, rng, [0] * len(program.accesses), []) == []


@pytest.mark.parametrize("seed", range(200))
def test_additions_change_nothing_else_on_lanes(seed: int) -> None:
    rng = random.Random(seed)
    program = with_additions(rng, rng.randint(2, 12))
    lanes = [rng.randrange(3) for _ in program.accesses]
    edges = program.edges()
    decisions, _ = added(program, lanes, edges)
    # The order of an addition that goes passes to its product; readers of the sum wait for both.
    assert differences(program, decisions, rng, lanes, edges) == []


def sum_of_products(count: int) -> Program:
    program = Program()
    total = program.value()
    program.operation([], total)
    for _ in range(count):
        part, after = program.value(), program.value()
        program.operation([], part)
        program.add(total, part, after)
        total = after
    program.kinds[total] = RESULT
    return program


def test_a_sum_of_products_is_one_class() -> None:
    decisions, found = added(sum_of_products(4), None, [])
    assert found.reasons == [Reason.ALLOWED] * 4
    assert set(decisions.classes) == {0}


def test_products_that_all_come_first_add_in_their_order() -> None:
    program = Program()
    total = program.value()
    program.operation([], total)
    parts = [program.value() for _ in range(3)]
    for part in parts:
        program.operation([], part)
    for part in parts:
        after = program.value()
        program.add(total, part, after)
        total = after
    program.kinds[total] = RESULT
    decisions, found = added(program, None, [])
    assert found.reasons == [Reason.ALLOWED] * 3
    assert differences(program, decisions, random.Random(0), [0] * 7, []) == []


def test_a_reader_of_the_accumulator_in_between_keeps_the_addition() -> None:
    """MXNet does not ask: the reader would see the sum."""
    program = Program()
    acc, part, y, total = program.value(), program.value(), program.value(RESULT), program.value()
    program.operation([], acc)
    program.operation([], part)
    program.operation([(acc, READ)], y)
    program.add(acc, part, total)
    program.kinds[total] = RESULT
    decisions, found = added(program, None, [])
    assert found.reasons == [Reason.READ_SINCE]
    in_spite = Decisions([0, 0, 2, 0], {3}, {1: (part, acc)})
    assert differences(program, in_spite, random.Random(0), [0] * 4, [])
    assert differences(program, decisions, random.Random(0), [0] * 4, []) == []


def test_a_product_of_the_accumulator_keeps_the_addition() -> None:
    program = Program()
    acc, part, total = program.value(), program.value(), program.value(RESULT)
    program.operation([], acc)
    program.operation([(acc, READ)], part)
    program.add(acc, part, total)
    _, found = added(program, None, [])
    assert found.reasons == [Reason.READ_SINCE]
    in_spite = Decisions([0, 0, 0], {2}, {1: (part, acc)})
    assert differences(program, in_spite, random.Random(0), [0] * 3, [])


def test_reasons_to_keep_an_addition() -> None:
    def reason(*, before: int = 1, **change: Any) -> Reason:
        program = Program()
        acc = program.value(change.get("kind", TEMPORARY))
        part, total = program.value(), program.value(place=change.get("place", 0))
        for value in ((acc, part), (part, acc))[before == 0]:
            program.operation([], value)
        if change.get("part_read"):
            program.operation([(part, READ)])
        program.add(acc, part, total)
        if change.get("later"):
            program.operation([(acc, READ)])
        return added(program, change.get("lanes"), program.edges())[1].reasons[0]

    assert reason() == Reason.ALLOWED
    assert reason(before=0) == Reason.MADE_LATER
    assert reason(kind=GIVEN) == Reason.GIVEN
    assert reason(kind=RESULT) == Reason.IS_RESULT
    assert reason(place=1) == Reason.AT_ANOTHER_PLACE
    assert reason(part_read=True) == Reason.SEVERAL_USES
    assert reason(later=True) == Reason.USED_LATER
    assert reason(lanes=[0, 1, 0]) == Reason.UNORDERED


def test_the_names_of_cases_are_those_of_csrc() -> None:
    assert [case.name.lower() for case in AssignCase] == _C.GRAPH_ASSIGN_CASES
