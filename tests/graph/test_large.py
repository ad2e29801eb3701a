"""Programs of 100,000 operations: no recursion, and no table of all pairs."""

import random
import resource
import sys
from itertools import pairwise

import pytest

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    WRITE,
    BlockProgram,
    Values,
    addto,
    alias_classes,
    assign,
    class_users,
    colours,
    dependences,
    in_place,
    last_users,
    lower_bound,
    order_by_priority,
    plan_blocks,
    plan_offsets,
    reduction,
    starts,
    successors,
    waits,
)

COUNT = 100_000


@pytest.fixture(scope="module")
def program() -> list[list[tuple[int, int]]]:
    """Each operation makes a value of the last one, one of the last hundred, and value 0."""
    rng = random.Random(0)
    rows: list[list[tuple[int, int]]] = [[(0, WRITE)]]
    for i in range(1, COUNT):
        reads = [(i - 1, ELEMENTWISE), (rng.randrange(max(0, i - 100), i), READ), (0, READ)]
        rows.append([*reads, (i, WRITE)])
    return rows


def peak_memory() -> int:
    """Bytes; macOS counts these, Linux thousands of them."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def test_closure_takes_little_memory() -> None:
    """A table of 100,000 times 100,000 bits would take 1.25 GB."""
    before = peak_memory()
    rng = random.Random(0)
    edges = [(rng.randrange(i), i) for i in range(1, COUNT)]
    assert reduction(COUNT, edges) == sorted(edges)  # a tree
    assert peak_memory() - before < 200e6


@pytest.mark.slow
def test_a_long_program(program: list[list[tuple[int, int]]]) -> None:
    edges = dependences(program)
    assert edges == list(pairwise(range(COUNT)))
    assert reduction(COUNT, edges) == edges
    assert order_by_priority([-i for i in range(COUNT)], edges) == list(range(COUNT))
    assert len(successors(COUNT, edges)) == COUNT
    users = class_users(program, range(COUNT))
    assert last_users(COUNT, edges, users) == [[row[-1]] for row in users]
    lanes = [i % 4 for i in range(COUNT)]
    assert len(waits(lanes, edges)) == COUNT - 1
    assert len(starts(lanes, edges, [0, 0, 1, -1])) == COUNT - 1
    assert set(colours([1] * COUNT, edges, 4)) == {0}
    sizes = [64 + i % 3 * 64 for i in range(COUNT)]
    plan = plan_offsets(sizes, users)
    assert plan.bound == lower_bound(sizes, users) <= plan.bytes <= 1.3 * plan.bound
    assert plan_offsets(sizes, users, lanes=lanes, edges=edges).bytes >= plan.bound
    inputs = [[v for v, how in row if how != WRITE] for row in program]
    outputs = [[i] for i in range(COUNT)]
    blocks = plan_blocks(BlockProgram(inputs, outputs, sizes, [1] * COUNT), search=True)
    assert blocks.bytes < 1.5 * plan.bound
    values = Values(range(COUNT), [0] * COUNT, [0] * COUNT, sizes, [1] * COUNT)
    found = in_place(program, [(i, i - 1, i) for i in range(1, COUNT)], values)
    assert len(found.reasons) == COUNT - 1


def alike(count: int) -> Values:
    """Temporaries of one kind, each with its memory."""
    return Values(range(count), [0] * count, [0] * count, [1] * count, [4] * count)


@pytest.mark.slow
def test_long_chains_of_memory() -> None:
    chain = [[(0, WRITE)], *([(i - 1, ELEMENTWISE), (i, WRITE)] for i in range(1, COUNT))]
    found = in_place(chain, [(i, i - 1, i) for i in range(1, COUNT)], alike(COUNT))
    assert set(found.classes) == {0}
    assert set(alias_classes(COUNT, list(pairwise(range(COUNT))))) == {0}
    assert set(alias_classes(COUNT, [(i + 1, i) for i in reversed(range(COUNT - 1))])) == {0}


@pytest.mark.slow
def test_many_assignments_and_additions() -> None:
    half = COUNT // 2
    step = [[(0, ELEMENTWISE), (1, WRITE)], [(1, READ), (0, WRITE)]]
    steps = [[(v + (i if v else 0), how) for v, how in row] for i in range(half) for row in step]
    values = alike(half + 1)._replace(kinds=[2] + [0] * half)
    found = assign(steps, [(2 * i + 1, 0, i + 1) for i in range(half)], values)
    assert set(found.cases) == {2}
    rows: list[list[tuple[int, int]]] = [[(0, WRITE)]]
    additions = []
    for i in range(half):
        rows += [[(2 * i + 1, WRITE)], [(2 * i, READ), (2 * i + 1, READ), (2 * i + 2, WRITE)]]
        additions.append((2 * i + 2, 2 * i, 2 * i + 1, 2 * i + 2))
    sums = addto(rows, additions, alike(2 * half + 1))
    assert set(sums.classes) == {0}
