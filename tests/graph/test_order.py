"""Successors, last users, and the order of issue."""

import random

import pytest

from oneflow_lite.graph.analyses import (
    last_users,
    order_by_priority,
    successors,
    successors_by_thread,
)
from tests.support.graphs.programs import ancestors, random_edges


@pytest.mark.parametrize("seed", range(30))
def test_last_users_are_those_before_no_other_user(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([1, 5, 30, 700, 1300])
    edges = random_edges(rng, count, rng.randint(0, 2 * count))
    users = [rng.choices(range(count), k=rng.randint(0, 6)) for _ in range(20)]
    before = ancestors(count, edges)
    assert last_users(count, edges, users) == [
        sorted({u for u in row if not any(u in before[other] for other in row)}) for row in users
    ]


def test_a_value_used_everywhere() -> None:
    count = 3000
    edges = [(i, i + 1) for i in range(count - 1) if i != 1500]
    assert last_users(count, edges, [range(count)]) == [[1500, 2999]]


def test_last_users_count_down_to_the_end_of_all_users() -> None:
    """When the last users are over, all users are, in any order that the edges allow."""
    rng = random.Random(1)
    edges = random_edges(rng, 12, 14)
    before = ancestors(12, edges)
    users = [sorted(rng.sample(range(12), 5)) for _ in range(10)]
    for row, last in zip(users, last_users(12, edges, users), strict=True):
        over = set(last).union(*(before[user] for user in last))
        assert set(row) <= over


def test_successors() -> None:
    assert successors(4, [(0, 3), (0, 1), (0, 1), (1, 3)]) == [[1, 3], [3], [], []]


def test_successors_by_thread() -> None:
    host = [1, 0, 1, 0, 1]
    edges = [(0, 4), (0, 2), (0, 1), (1, 3), (1, 4)]
    kept, given = successors_by_thread(host, edges)
    assert kept == [[2, 4], [3], [], [], []]
    assert given == [[1], [4], [], [], []]


def model_order(priorities: list[int], edges: list[tuple[int, int]]) -> list[int]:
    order: list[int] = []
    while len(order) < len(priorities):
        ready = [
            i
            for i in range(len(priorities))
            if i not in order and all(a in order for a, b in edges if b == i)
        ]
        order.append(min(ready, key=lambda i: (priorities[i], i)))
    return order


@pytest.mark.parametrize("seed", range(30))
def test_the_smallest_ready_priority_is_next(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 15)
    edges = random_edges(rng, count, rng.randint(0, 20))
    priorities = [rng.randint(-2, 2) for _ in range(count)]
    assert order_by_priority(priorities, edges) == model_order(priorities, edges)


def test_a_priority_is_no_edge() -> None:
    """Readers that go first by an edge may go against the program: 1 is a reader that waits for 0,
    and an edge to 0 would make a cycle. A priority does not."""
    assert order_by_priority([0, -5, 0], [(0, 1)]) == [0, 1, 2]
    with pytest.raises(ValueError, match="cycle"):
        order_by_priority([0, 0, 0], [(0, 1), (1, 0)])


def test_edges_may_go_backwards_where_nothing_else_goes_forward() -> None:
    assert order_by_priority([0, 0, 0], [(2, 0)]) == [1, 2, 0]


@pytest.mark.parametrize("seed", range(20))
def test_the_operation_that_is_named_is_in_a_cycle(seed: int) -> None:
    rng = random.Random(seed)
    ring = rng.sample(range(1, 12), rng.randint(1, 4))
    edges = [*zip(ring, ring[1:] + ring[:1], strict=True), (ring[0], 12), (12, 13)]
    edges += [(0, i) for i in ring]  # 0 is before all of them
    rng.shuffle(edges)
    with pytest.raises(ValueError, match=r"^\[order_by_priority\] the edges make a cycle") as error:
        order_by_priority([0] * 14, edges)
    assert int(str(error.value).split()[-1]) in ring
