"""Layered drawings of graphs: edges go down, boxes stay apart, and time stays linear."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from oneflow_lite.graph.drawing.layers import (
    assigned_layers,
    crossings,
    in_order,
    layered,
    ordered_rows,
)

Edges = list[tuple[int, int]]


def random_graph(seed: int) -> tuple[list[tuple[int, int]], Edges]:
    numbers = np.random.default_rng(seed)
    count = int(numbers.integers(0, 40))
    sizes = [(int(w), int(h)) for w, h in numbers.integers(5, 200, (count, 2))]
    edges = {
        tuple(sorted(map(int, numbers.choice(count, 2, replace=False))))
        for _ in range(numbers.integers(0, 80) if count > 1 else 0)
    }
    return sizes, sorted((a, b) for a, b in edges)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    sizes, edges = random_graph(seed)
    drawn = layered(sizes, edges, most=5, reach=6)
    boxes = [
        (x, y, x + w, y + h) for x, y, (w, h) in zip(drawn.lefts, drawn.tops, sizes, strict=True)
    ]
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for left, top, right, bottom in boxes:
        assert 0 <= left <= right <= drawn.width
        assert 0 <= top <= bottom <= drawn.height
    counts = np.bincount(drawn.layers) if boxes else []
    assert max(counts, default=0) <= 5
    assert min(counts, default=1) >= 1
    for (a, b), path in zip(edges, drawn.paths, strict=True):
        assert drawn.layers[a] < drawn.layers[b]
        assert bool(path) == (drawn.layers[b] - drawn.layers[a] <= 6)
        if path:
            assert all(y <= other for (_, y), (_, other) in pairwise(path))
            assert boxes[a][0] <= path[0][0] <= boxes[a][2]
            assert path[0][1] == boxes[a][3]
            assert boxes[b][0] <= path[-1][0] <= boxes[b][2]
            assert path[-1][1] == boxes[b][1]
            assert not any(crosses(path, box) for k, box in enumerate(boxes) if k not in (a, b))


def crosses(path: list[tuple[int, int]], box: tuple[int, int, int, int]) -> bool:
    """A part of the path goes straight down through the box."""
    left, top, right, bottom = box
    return any(
        x == to and left < x < right and y < bottom and top < end
        for (x, y), (to, end) in pairwise(path)
    )


def test_inputs_stand_above_their_first_user() -> None:
    edges = [(0, 2), (2, 3), (3, 4), (1, 4)]
    assert assigned_layers(5, edges, 16) == [0, 2, 1, 2, 3]


def test_a_layer_has_room_for_some() -> None:
    assert sorted(assigned_layers(7, [], 3)) == [0, 0, 0, 1, 1, 1, 2]
    many = [(k, 9) for k in range(9)]  # nine inputs of one operation
    assert assigned_layers(10, many, 4) == [0, 0, 0, 0, 1, 2, 2, 2, 2, 3]


def test_crossings_are_counted_and_removed() -> None:
    rows, below = [[0, 1, 2], [3, 4, 5]], [[5], [4], [3], [], [], []]
    above: list[list[int]] = [[], [], [], [2], [1], [0]]
    assert crossings(rows, below) == 3
    assert crossings(ordered_rows(rows, above, below), below) == 0


def test_places_are_the_nearest_that_keep_the_distances() -> None:
    assert in_order([(10, 1), (0, 1), (50, 1)], [0, 4, 8]) == [3, 7, 50]
    assert in_order([(0, 3), (0, 1)], [0, 8]) == [-2, 6]


@pytest.mark.parametrize("edge", [(1, 0), (0, 0), (0, 2), (-1, 1)])
def test_edges_go_from_lower_to_higher_nodes(edge: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"\[layered\] the edge"):
        layered([(1, 1)] * 2, [edge])


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chain", "apart", "fan", "many inputs"])
def test_large_graphs_are_drawn(shape: str) -> None:
    count = 20_000
    edges = {
        "chain": [(k, k + 1) for k in range(count - 1)],
        "apart": [],
        "fan": [(0, k) for k in range(1, count)],
        "many inputs": [(k, count - 1) for k in range(count - 1)],
    }[shape]
    drawn = layered([(50, 20)] * count, edges)
    assert len(set(zip(drawn.lefts, drawn.tops, strict=True))) == count
