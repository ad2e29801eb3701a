"""Hazards: each is covered by a path of edges, and no edge is superfluous."""

import random
from itertools import combinations

import pytest

from oneflow_lite import _C
from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    SHAPE,
    WRITE,
    Access,
    dependences,
    reduction,
)
from tests.support.graphs.programs import ancestors, random_edges, superfluous

Row = list[tuple[int, Access]]


def conflicts(one: Row, other: Row) -> bool:
    return any(
        a == b and WRITE in (how, then) and SHAPE not in (how, then)
        for a, how in one
        for b, then in other
    )


def hazards(accesses: list[Row], tokens: list[list[int]]) -> list[tuple[int, int]]:
    """All pairs of operations that may not change places."""
    return [
        (i, j)
        for i, j in combinations(range(len(accesses)), 2)
        if conflicts(accesses[i], accesses[j]) or (tokens and set(tokens[i]) & set(tokens[j]))
    ]


@pytest.mark.parametrize("seed", range(60))
def test_the_order_is_that_of_the_hazards_and_no_edge_is_superfluous(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(0, 25)
    accesses: list[Row] = [
        [(rng.randrange(6), rng.choice(list(Access))) for _ in range(rng.randint(0, 4))]
        for _ in range(count)
    ]
    tokens = [rng.sample(range(9), rng.choice([0, 0, 1])) for _ in range(count)] * rng.choice(
        [0, 1]
    )
    edges = dependences(accesses, tokens=tokens)
    assert edges == sorted(set(edges))
    assert ancestors(count, edges) == ancestors(count, hazards(accesses, tokens))
    assert superfluous(count, edges) == []


def test_reads_are_not_ordered() -> None:
    assert dependences([[(0, READ)], [(0, ELEMENTWISE)], [(0, READ)]]) == []
    assert dependences([[(0, WRITE)], [(0, READ)], [(0, READ)], [(0, WRITE)]]) == [
        *((0, 1), (0, 2), (1, 3), (2, 3))
    ]


def test_who_reads_and_writes_is_a_writer() -> None:
    update = [(0, READ), (0, WRITE)]
    assert dependences([update, update, update]) == [(0, 1), (1, 2)]
    assert dependences([[(0, READ)], update, [(0, READ)]]) == [(0, 1), (1, 2)]


def test_a_shape_is_no_hazard() -> None:
    assert dependences([[(0, WRITE)], [(0, SHAPE)], [(0, WRITE)]]) == [(0, 2)]


def test_tokens_are_apart_from_variables() -> None:
    assert dependences([[(3, WRITE)], []], tokens=[[], [3]]) == []
    assert dependences([[], [], []], tokens=[[1, 2], [1, 1], [2]]) == [(0, 1), (0, 2)]


def test_a_token_takes_part_in_the_reduction() -> None:
    """Edges for random operations that are added after the reduction leave (0, 2) in."""
    accesses = [[(0, WRITE)], [(1, WRITE)], [(0, READ)]]
    assert dependences(accesses) == [(0, 2)]
    assert dependences(accesses, tokens=[[7], [7], [7]]) == [(0, 1), (1, 2)]


def test_sequential_is_a_chain() -> None:
    accesses = [[(0, WRITE)], [], [(0, READ)], [(1, READ)]]
    assert dependences(accesses, sequential=True) == [(0, 1), (1, 2), (2, 3)]
    assert dependences([], sequential=True) == dependences([[]], sequential=True) == []


def test_variables_and_tokens_may_have_any_numbers() -> None:
    far = 10**15
    assert dependences([[(far, WRITE)], [(far, READ)]], tokens=[[far - 1], []]) == [(0, 1)]


@pytest.mark.parametrize("seed", range(40))
def test_reduction_keeps_the_order(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 30)
    edges = random_edges(rng, count, rng.randint(0, 90))
    reduced = reduction(count, edges)
    assert set(reduced) <= set(edges)
    assert ancestors(count, reduced) == ancestors(count, edges)
    assert superfluous(count, reduced) == []


def test_reduction_sees_paths_over_many_sets_of_bits() -> None:
    """Closure goes 512 operations at a time; the paths here are longer."""
    count = 2000
    chain = [(i, i + 1) for i in range(count - 1)]
    far = [(i, j) for i in range(0, count, 97) for j in range(i + 2, count, 301)]
    assert reduction(count, [*far, *chain, *far]) == chain
    broken = [edge for edge in chain if edge != (999, 1000)]
    kept = set(reduction(count, [*broken, (0, 1999), (998, 1001), (10, 1500)]))
    assert {(998, 1001)} <= kept
    assert not {(0, 1999), (10, 1500)} & kept


@pytest.mark.parametrize("count", [511, 512, 513, 1024, 1025])
def test_reduction_at_the_ends_of_sets_of_bits(count: int) -> None:
    rng = random.Random(count)
    edges = random_edges(rng, count, 2 * count)
    reduced = reduction(count, edges)
    before, kept = ancestors(count, edges), ancestors(count, reduced)
    assert before == kept
    successors: dict[int, set[int]] = {}
    for first, second in edges:
        successors.setdefault(first, set()).add(second)
    assert set(reduced) == {
        (first, second)
        for first, seconds in successors.items()
        for second in seconds
        if not any(other in before[second] for other in seconds)
    }


def test_the_names_of_accesses_are_those_of_csrc() -> None:
    assert [access.name.lower() for access in Access] == _C.GRAPH_ACCESSES
