"""The plan by offsets: nothing overlaps, and it is as small as can be."""

import random
from itertools import pairwise
from math import prod
from typing import Any

import pytest

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    WRITE,
    BlockProgram,
    MemoryPlan,
    class_users,
    lower_bound,
    plan_blocks,
    plan_offsets,
)
from tests.support.graphs.networks import NETWORKS, Network
from tests.support.graphs.programs import ancestors, lane_edges, overlaps, random_values

Users = list[list[int]]


def random_classes(rng: random.Random, count: int, operations: int) -> tuple[list[int], Users]:
    sizes = [rng.choice([0, 1, 64, 65, 100, 128, 500, 1000]) for _ in range(count)]
    users = []
    for _ in range(count):
        length = rng.choice([1, 2, 3, operations])
        first = rng.randrange(operations)
        users.append(sorted({first, *rng.choices(range(first, operations), k=length)}))
    return sizes, users


def check(
    plan: MemoryPlan, sizes: list[int], users: Users, before: list[set[int]], align: int
) -> None:
    """Without results."""
    assert overlaps(sizes, users, plan.spaces, plan.offsets, before) == []
    assert all(offset % align == 0 for offset in plan.offsets if offset >= 0)
    ends = [o + s for o, s in zip(plan.offsets, sizes, strict=True) if o >= 0]
    assert max(ends, default=0) <= plan.bytes
    assert plan.bound <= plan.bytes == min(size for _, size in plan.tried)
    assert dict(plan.tried)[plan.name] == plan.bytes


def in_one_lane(operations: int) -> list[set[int]]:
    return [set(range(i)) for i in range(operations)]


@pytest.mark.parametrize("seed", range(100))
def test_no_two_live_classes_overlap(seed: int) -> None:
    rng = random.Random(seed)
    operations, align = rng.randint(1, 30), rng.choice([1, 64, 256])
    sizes, users = random_classes(rng, rng.randint(0, 40), operations)
    plan = plan_offsets(sizes, users, alignment=align)
    check(plan, sizes, users, in_one_lane(operations), align)
    rounded = [-(-size // align) * align for size in sizes]
    live = [
        sum(size for size, row in zip(rounded, users, strict=True) if row[0] <= i <= row[-1])
        for i in range(operations)
    ]
    assert plan.bound == lower_bound(sizes, users, align) == max(live)


@pytest.mark.parametrize("seed", range(100))
def test_no_two_live_classes_overlap_on_lanes(seed: int) -> None:
    """A class is over when all of its users are, in any order that edges and lanes allow."""
    rng = random.Random(seed)
    program = random_values(rng, rng.randint(3, 25))
    operations, count = len(program.accesses), len(program.kinds)
    lanes, edges = [rng.randrange(3) for _ in range(operations)], program.edges()
    users = class_users(program.accesses, program.classes)
    users = [[] if c < 2 else row for c, row in enumerate(users)]  # 0 and 1 are given
    sizes = [rng.choice([64, 128, 1000]) for _ in users]
    plan = plan_offsets(sizes, users, lanes=lanes, edges=edges)
    check(plan, sizes, users, ancestors(operations, [*edges, *lane_edges(lanes)]), 64)
    assert count >= len(users)


def test_bytes_are_not_taken_over_from_a_lane_that_may_still_run() -> None:
    users, edges = [[0, 1], [2, 3]], [(0, 1), (2, 3)]
    assert plan_offsets([64, 64], users).bytes == 64
    assert plan_offsets([64, 64], users, lanes=[0, 1, 0, 1], edges=edges).bytes == 128
    assert plan_offsets([64, 64], users, lanes=[0, 1, 0, 1], edges=[*edges, (1, 2)]).bytes == 64


def test_each_packing_is_checked() -> None:
    """A packing by search wins here; the greedy ones are more than a sixth larger."""
    sizes = [262144, 262144, 5120, 512, 512, 5120, 5120, 5120, 512, 262144, 262144, 401408]
    times = [(0, 26), (3, 22), (6, 18), (8, 9), (11, 12), (13, 13), (14, 21), (15, 16), (16, 17)]
    users = [list(time) for time in [*times, (20, 25), (24, 29), (28, 28)]]
    plan = plan_offsets(sizes, users)
    assert plan.name == "moves"
    assert plan.bytes == plan.bound
    assert min(size for name, size in plan.tried if name != "moves") > 1.16 * plan.bytes
    check(plan, sizes, users, in_one_lane(30), 64)


def fits(sizes: list[int], users: Users, height: int, placed: list[int]) -> bool:
    """All ways to put what is left within the height, by units of 1."""
    item = len(placed)
    if item == len(sizes):
        return True
    for offset in range(height - sizes[item] + 1):
        free = all(
            users[item][-1] < users[other][0]
            or users[other][-1] < users[item][0]
            or offset >= begin + sizes[other]
            or begin >= offset + sizes[item]
            for other, begin in enumerate(placed)
        )
        if free and fits(sizes, users, height, [*placed, offset]):
            return True
    return False


def smallest(sizes: list[int], users: Users) -> int:
    height = max(lower_bound(sizes, users, 1), max(sizes))
    while not fits(sizes, users, height, []):
        height += 1
    return height


@pytest.mark.parametrize("seed", range(60))
def test_small_plans_are_the_smallest(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(3, 7)
    sizes = [rng.randint(1, 5) for _ in range(count)]
    users = [sorted(rng.choices(range(count), k=2)) for _ in range(count)]
    assert plan_offsets(sizes, users, alignment=1).bytes == smallest(sizes, users)


def test_the_smallest_plan_may_be_above_the_bound() -> None:
    sizes = [2, 5, 4, 3, 3, 5, 2]
    users = [[2, 3], [0, 1], [1, 2], [4, 6], [2, 4], [5, 6], [3, 4]]
    plan = plan_offsets(sizes, users, alignment=1)
    assert (plan.bytes, plan.bound, smallest(sizes, users)) == (10, 9, 10)


def test_a_plan_that_needs_lowest_fits() -> None:
    """Best fits alone end at 5568 bytes here, in as many moves."""
    rng = random.Random(4)
    sizes = [64 * rng.choice([1, 2, 3, 4, 8, 16, 32]) for _ in range(40)]
    users = []
    for _ in sizes:
        first = rng.randrange(40)
        users.append([first, min(39, first + rng.choice([1, 2, 3, 5, 13]))])
    plan = plan_offsets(sizes, users)
    assert (plan.name, plan.bytes, plan.bound) == ("moves", 5504, 5504)


# --- Results


def test_temporaries_lie_in_results_until_these_begin() -> None:
    """A chain of three; the last is handed out. The first lies where the last will be."""
    plan = plan_offsets([100, 100, 100], [[0, 1], [1, 2], [2]], results=[2])
    assert plan.spaces == [2, -1, 2]
    assert plan.offsets == [0, 0, 0]
    assert (plan.bytes, plan.bound) == (128, 128)
    assert plan_offsets([100, 100, 64], [[0, 1], [1, 2], [2]], results=[2]).bytes == 256


def test_a_result_that_begins_early_has_no_room() -> None:
    assert plan_offsets([64, 64], [[0, 1], [0, 1]], results=[1]).spaces == [-1, 1]
    assert plan_offsets([64, 64], [[0, 1], [1]], results=[1]).spaces == [-1, 1]  # read as it begins


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("many_lanes", [False, True])
def test_nothing_of_temporaries_is_left_in_results(seed: int, many_lanes: bool) -> None:
    rng = random.Random(seed)
    program = random_values(rng, rng.randint(5, 25))
    operations = len(program.accesses)
    lanes = [rng.randrange(3) * many_lanes for _ in range(operations)]
    edges = program.edges()
    users = class_users(program.accesses, program.classes)
    users = [[] if c < 2 else row for c, row in enumerate(users)]
    sizes = [rng.choice([64, 100, 128, 1000]) for _ in users]
    results = rng.sample([c for c, row in enumerate(users) if row], 3)
    plan = plan_offsets(sizes, users, results=results, lanes=lanes, edges=edges)
    before = ancestors(operations, [*edges, *lane_edges(lanes)])
    to_the_end = [row + [operations - 1] * (c in results) for c, row in enumerate(users)]
    assert overlaps(sizes, users, plan.spaces, plan.offsets, before) == []
    for item, (space, offset) in enumerate(zip(plan.spaces, plan.offsets, strict=True)):
        if item in results:
            assert (space, offset) == (item, 0)
        elif space >= 0:
            assert offset + sizes[item] <= sizes[space]
            first = to_the_end[space][0]
            assert all(user in before[first] for user in users[item])
    alone = plan_offsets(
        sizes,
        [[] if c in results else row for c, row in enumerate(users)],
        lanes=lanes,
        edges=edges,
    )
    assert plan.bound <= plan.bytes
    assert plan.bound <= alone.bound


# --- Networks


def memory(net: Network) -> dict[str, Any]:
    classes = net.classes()
    count = max(classes) + 1
    members: list[list[int]] = [[] for _ in range(count)]
    for value, c in enumerate(classes):
        members[c].append(value)
    kinds = [max(net.kinds[v] for v in row) for row in members]
    users = class_users(net.accesses, classes)
    return {
        "sizes": [max(net.sizes[v] for v in row) for row in members],
        "users": [[] if kind == 2 else row for kind, row in zip(kinds, users, strict=True)],
        "results": [c for c, kind in enumerate(kinds) if kind == 1],
    }


def in_blocks(net: Network) -> int:
    """NNVM's plan, results included, with the best range."""
    rows = net.accesses
    program = BlockProgram(
        [[v for v, how in row if how != WRITE] for row in rows],
        [[v for v, how in row if how == WRITE] for row in rows],
        elements=[prod(shape) for shape in net.shapes],
        item_sizes=[4] * len(net.shapes),
        results=[v for v, kind in enumerate(net.kinds) if kind == 1],
        pairs=[[(k, 0, 0) for k, (_, how) in enumerate(r) if how == ELEMENTWISE] for r in rows],
    )
    return plan_blocks(program, search=True).bytes


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_planned_at_the_bound(name: str) -> None:
    net = NETWORKS[name]()
    given = memory(net)
    plan = plan_offsets(**given)
    assert plan.bytes <= 1.02 * plan.bound
    alone = [[] if c in given["results"] else row for c, row in enumerate(given["users"])]
    temporaries = plan_offsets(given["sizes"], alone)
    assert temporaries.bytes <= 1.02 * temporaries.bound
    assert plan.bytes <= temporaries.bytes
    end = len(net.accesses)
    to_the_end = [row + [end] * (c in given["results"]) for c, row in enumerate(given["users"])]
    before = in_one_lane(end + 1)
    assert overlaps(given["sizes"], to_the_end, plan.spaces, plan.offsets, before) == []
    with_results = plan_offsets(given["sizes"], to_the_end)  # as NNVM has them: in the arena
    assert with_results.bytes <= min(1.02 * with_results.bound, in_blocks(net))


# --- Any size


def test_more_classes_than_are_packed_in_any_order() -> None:
    rng = random.Random(0)
    sizes = [rng.choice([0, 1, 64, 65, 100, 128, 500, 1000]) for _ in range(12000)]
    users = [[i, min(i + rng.choice([0, 1, 2, 40]), 3999)] for i in range(4000) for _ in range(3)]
    plan = plan_offsets(sizes, users)
    assert {name.split()[0] for name, _ in plan.tried} == {"time", "blocks"}
    assert plan.bytes <= 1.5 * plan.bound
    live: dict[int, tuple[int, int]] = {}  # by offset: a sweep over time, of what is there
    at: list[list[int]] = [[] for _ in range(4001)]
    for item, row in enumerate(users):
        at[row[0]].append(item)
    for i in range(4000):
        live = {offset: end for offset, end in live.items() if end[1] >= i}
        for item in at[i]:
            if sizes[item]:
                assert plan.offsets[item] not in live
                live[plan.offsets[item]] = (plan.offsets[item] + sizes[item], users[item][-1])
        spans = sorted((offset, end) for offset, (end, _) in live.items())
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def test_nothing_to_plan() -> None:
    assert plan_offsets([], []) == ([], [], 0, 0, "size", [("size", 0)])
    assert plan_offsets([5], [[]])[:4] == ([-1], [-1], 0, 0)
    assert plan_offsets([0, 0], [[0], [0]])[:4] == ([-1, -1], [0, 0], 0, 0)
    assert lower_bound([], []) == 0
