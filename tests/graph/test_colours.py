"""NNVM's colouring."""

import random
from itertools import pairwise

import pytest

from oneflow_lite.graph.analyses import colours
from tests.support.graphs.programs import ancestors, random_edges


def paths(operations: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    found: list[list[int]] = []
    left = [[i] for i in range(operations)]
    while left:
        path = left.pop()
        found.append(path)
        left += [[*path, after] for before, after in set(edges) if before == path[-1]]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_each_colour_is_the_heaviest_path_that_is_left(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 9)
    edges = random_edges(rng, count, rng.randint(0, 12))
    weights = [rng.choice([0, 1, 1, 3]) for _ in range(count)]
    most = rng.randint(1, 4)
    found = colours(weights, edges, most)
    assert all(0 <= colour < most for colour in found)
    before, left = ancestors(count, edges), list(weights)
    for colour in range(most - 1):
        heaviest = max(sum(left[i] for i in path) for path in paths(count, edges))
        members = [i for i in range(count) if found[i] == colour]
        if heaviest == 0:  # the rest has this colour
            assert all(found[i] <= colour for i in range(count))
            break
        assert sum(left[i] for i in members) == heaviest
        assert all(a in before[b] for a, b in pairwise(members))
        for i in members:
            left[i] = 0


def test_two_branches_get_two_colours() -> None:
    edges = [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (4, 5)]
    assert colours([1] * 6, edges, 2) == [0, 1, 1, 0, 0, 0]


def test_of_equal_paths_the_one_that_starts_latest_is_taken() -> None:
    """As NNVM, which goes backwards and takes what is strictly heavier."""
    assert colours([1, 1], [], 2) == [1, 0]
    assert colours([1, 1, 1], [(0, 1), (0, 2)], 2) == [0, 1, 0]


def test_one_colour_is_for_all() -> None:
    assert colours([1, 1, 1], [], 1) == [0, 0, 0]
    assert colours([0, 0], [], 5) == [0, 0]
    assert colours([], [], 3) == []


def test_a_heavy_operation_draws_the_path() -> None:
    edges = [(0, 1), (1, 3), (0, 2), (2, 3)]
    assert colours([1, 1, 1, 1], edges, 2) == [0, 1, 0, 0]
    assert colours([1, 9, 1, 1], edges, 2) == [0, 0, 1, 0]
