"""Post-dominators and TVM's partition: by hand, and against plain versions on random graphs."""

import random
from collections.abc import Iterable

import pytest

from oneflow_lite.graph.analyses import partition, post_dominators

ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, OUT_FUSABLE, OPAQUE = 0, 1, 2, 3, 4, 8
KINDS = (ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, OUT_FUSABLE, OPAQUE)
Use = tuple[int, int, int]


def uses_of(kinds: list[int], pairs: Iterable[tuple[int, int]]) -> list[Use]:
    """Each use has the kind of the operation that uses the value."""
    return [(before, after, kinds[after]) for before, after in pairs]


# --- By hand


@pytest.mark.parametrize(
    ("kinds", "pairs", "results", "groups"),
    [
        ([], [], [], []),
        ([0], [], [0], [0]),
        ([0, 0, 0], [(0, 1), (1, 2)], [2], [2, 2, 2]),
        # a result in the middle ends a group
        ([0, 0, 0], [(0, 1), (1, 2)], [1, 2], [1, 1, 2]),
        # a diamond
        ([0, 0, 0, 0], [(0, 1), (0, 2), (1, 3), (2, 3)], [3], [3, 3, 3, 3]),
        # a product with what follows; a second product is a group of its own
        ([4, 0, 0, 4], [(0, 1), (1, 2), (2, 3)], [3], [2, 2, 2, 3]),
        # a product whose result is used twice
        ([4, 0, 0, 0], [(0, 1), (0, 2), (1, 3), (2, 3)], [3], [3, 3, 3, 3]),
        # what comes before a sum is in its group, what comes behind is not
        ([0, 1, 3, 0], [(0, 1), (1, 2), (2, 3)], [3], [2, 2, 2, 3]),
        # of two products that meet the first one gets the sum
        ([4, 4, 0], [(0, 2), (1, 2)], [2], [2, 1, 2]),
        # injective work joins injective work, in the second phase, and no product's group
        ([2, 2, 0], [(0, 1), (1, 2)], [2], [2, 2, 2]),
        ([2, 4, 0], [(0, 1), (1, 2)], [2], [0, 2, 2]),
        # elementwise work goes into a product's group only behind it
        ([0, 4, 0], [(0, 1), (1, 2)], [2], [0, 2, 2]),
        # opaque work is alone
        ([0, 8, 0], [(0, 1), (1, 2)], [2], [0, 1, 2]),
    ],
)
def test_groups(
    kinds: list[int], pairs: list[tuple[int, int]], results: list[int], groups: list[int]
) -> None:
    assert partition(kinds, uses_of(kinds, pairs), results) == groups


def test_a_product_takes_broadcast_work_only_where_shapes_are_the_same() -> None:
    kinds = [OUT_FUSABLE, BROADCAST]
    assert partition(kinds, [(0, 1, ELEMENTWISE)], [1]) == [1, 1]
    assert partition(kinds, [(0, 1, BROADCAST)], [1]) == [0, 1]


def test_groups_are_no_longer_than_the_depth() -> None:
    count = 1000
    kinds = [ELEMENTWISE] * count
    uses = uses_of(kinds, ((i, i + 1) for i in range(count - 1)))
    for depth in (1, 2, 7, 256, 999):
        groups = partition(kinds, uses, [count - 1], depth)
        assert max(groups.count(sink) for sink in set(groups)) == depth
    assert len(set(partition(kinds, uses, [count - 1], count))) == 1


def test_long_chains_take_linear_time() -> None:
    count = 200_000
    kinds = [ELEMENTWISE] * count
    uses = uses_of(kinds, ((i, i + 1) for i in range(count - 1)))
    assert partition(kinds, uses, [count - 1], count) == [count - 1] * count
    assert post_dominators(count, uses, [count - 1]).parents[:2] == [1, 2]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"\[partition\] kinds: expected a kind .* got 5"):
        partition([5], [])
    with pytest.raises(ValueError, match=r"uses\[0\]: expected a kind from 0 to 4, or 8, got -1"):
        partition([0, 0], [(0, 1, -1)])
    with pytest.raises(ValueError, match="max_depth: expected at least 1, got 0"):
        partition([0], [], [], 0)
    with pytest.raises(IndexError, match="result"):
        partition([0], [], [1])
    with pytest.raises(ValueError, match="edge"):
        partition([0, 0], [(1, 0, 0)])
    with pytest.raises(IndexError):
        post_dominators(2, [(0, 2, 0)])


# --- Against plain versions


def ways_out(count: int, uses: list[Use], results: list[int]) -> list[set[int]]:
    """The operations that all ways from each one go through, itself among them."""
    found: list[set[int]] = [set() for _ in range(count)]
    for i in reversed(range(count)):
        after = [found[use[1]] for use in uses if use[0] == i]
        common = set.intersection(*after) if after and i not in results else set()
        found[i] = {i} | common
    return found


def reached(source: int, sink: int, uses: list[Use]) -> set[int]:
    """The source, and all that is between it and the sink."""
    found, left = {source}, [source]
    while left:
        here = left.pop()
        new = {b for a, b, _ in uses if a == here and b != sink} - found
        found |= new
        left += new
    return found


def plain_tree(count: int, uses: list[Use], results: list[int]) -> tuple[list[int], dict[int, int]]:
    ways = ways_out(count, uses, results)
    parents = [max(x - {i}, key=lambda j: len(ways[j]), default=-1) for i, x in enumerate(ways)]
    kinds = {}
    for i, parent in enumerate(parents):
        if parent >= 0:
            inner = reached(i, parent, uses)
            kinds[i] = max(kind for a, _, kind in uses if a in inner)
    return parents, kinds


def plain_partition(kinds: list[int], uses: list[Use], results: list[int], most: int) -> list[int]:
    count = len(kinds)
    parents, ways = plain_tree(count, uses, results)
    group = list(range(count))  # of each operation, its sink
    kind = list(kinds)  # of groups, by sink
    size = [1] * count  # what each has taken in while it was a sink
    for phase in (0, 1):
        for i in range(count):
            sink = parents[i]
            if sink < 0 or kind[i] == OPAQUE:
                continue
            inner = reached(i, sink, uses)
            if size[group[sink]] + sum(size[x] for x in inner) > most or group[i] == group[sink]:
                continue
            between = [kind[group[x]] for x in inner - {i}]
            end = kind[group[sink]]
            if kind[i] == OUT_FUSABLE:
                fits = phase == 0 and ways[i] == ELEMENTWISE
                fits = fits and max([*between, end]) <= BROADCAST
            elif kind[i] <= BROADCAST:
                fits = ways[i] <= REDUCTION and max(between, default=0) <= INJECTIVE
                fits = fits and end <= OUT_FUSABLE
            else:
                fits = kind[i] == INJECTIVE and phase == 1
                fits = fits and max([*between, end]) <= INJECTIVE
            if not fits:
                continue
            target = group[sink]
            for x in sorted(inner):
                joined = group[x]
                if joined == target:
                    continue
                size[target] += size[joined]
                if kind[joined] == OUT_FUSABLE:
                    kind[target] = max(kind[target], OUT_FUSABLE)
                group = [target if g == joined else g for g in group]
    return group


def random_graph(rng: random.Random) -> tuple[list[int], list[Use], list[int]]:
    count = rng.randint(1, 14)
    weights = [6, 4, 3, 2, 2, rng.choice((0, 1))]
    kinds = rng.choices(KINDS, weights, k=count)
    uses = []
    for after in range(1, count):
        for before in {rng.randrange(max(0, after - 5), after) for _ in range(rng.randint(0, 2))}:
            same = kinds[after] == BROADCAST and rng.random() < 0.5
            uses.append((before, after, ELEMENTWISE if same else kinds[after]))
    results = [i for i in range(count) if rng.random() < 0.1 or all(a != i for a, _, _ in uses)]
    return kinds, uses, results


def test_random_graphs() -> None:
    rng = random.Random(7)
    sizes: list[int] = []
    for _ in range(3000):
        kinds, uses, results = random_graph(rng)
        tree = post_dominators(len(kinds), uses, results)
        parents, ways = plain_tree(len(kinds), uses, results)
        assert tree.parents == parents, (kinds, uses, results)
        assert {i: tree.kinds[i] for i in ways} == ways, (kinds, uses, results)
        most = rng.choice((2, 3, 5, 256))
        groups = partition(kinds, uses, results, most)
        assert groups == plain_partition(kinds, uses, results, most), (kinds, uses, results, most)
        sizes.append(max(groups.count(sink) for sink in groups))
    assert max(sizes) >= 8
    assert sum(size > 2 for size in sizes) > 500
