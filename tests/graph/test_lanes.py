"""Waits between lanes, how operations start, and bytes that lanes share."""

import random
from itertools import combinations

import pytest

from oneflow_lite import _C
from oneflow_lite.graph.analyses import (
    READ,
    WRITE,
    Start,
    dependences,
    reuse_across_lanes,
    spread,
    starts,
    waits,
)
from tests.support.graphs.programs import (
    ancestors,
    lane_edges,
    linear_orders,
    random_edges,
    superfluous,
)


def random_lanes(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(rng.choice([1, 2, 3, 5])) for _ in range(count)]


@pytest.mark.parametrize("seed", range(60))
def test_every_edge_is_covered_and_no_wait_is_superfluous(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 25)
    lanes, edges = random_lanes(rng, count), random_edges(rng, count, rng.randint(0, 40))
    found = waits(lanes, edges)
    assert all(lanes[a] != lanes[b] and a < b for a, b in found)
    order = ancestors(count, [*found, *lane_edges(lanes)])
    assert all(first in order[second] for first, second in edges)
    assert order == ancestors(count, [*edges, *lane_edges(lanes)])  # nothing else is delayed
    assert superfluous(count, found, lane_edges(lanes)) == []


@pytest.mark.parametrize("seed", range(25))
def test_fewer_waits_do_not_do(seed: int) -> None:
    """By search over all sets of waits that delay nothing else."""
    rng = random.Random(seed)
    count = rng.randint(4, 7)
    lanes, edges = random_lanes(rng, count), random_edges(rng, count, rng.randint(2, 7))
    chains = lane_edges(lanes)
    order = ancestors(count, [*edges, *chains])
    possible = [(a, b) for b in range(count) for a in order[b] if lanes[a] != lanes[b]]
    found = waits(lanes, edges)
    for fewer in range(len(found)):
        for chosen in combinations(possible, fewer):
            assert ancestors(count, [*chosen, *chains]) != order


def test_the_latest_of_a_lane_is_enough() -> None:
    assert waits([0, 0, 0, 1], [(0, 3), (1, 3), (2, 3)]) == [(2, 3)]


def test_a_wait_brings_what_the_other_lane_has_waited_for() -> None:
    assert waits([0, 1, 2], [(0, 1), (1, 2), (0, 2)]) == [(0, 1), (1, 2)]


def test_only_waits_cover_edges() -> None:
    """0 and 1 are in one lane of two queues; that 0 comes before 2 by an edge says nothing of 3,
    which a shrink by the program's edges would believe: 2 has not waited for 1."""
    assert waits([0, 0, 1, 1], [(0, 2), (1, 3)]) == [(0, 2), (1, 3)]


def test_a_pipeline_of_chunks_waits_twice_a_chunk() -> None:
    chunks = 16
    accesses, lanes = [], []
    for chunk in range(chunks):
        host, device, out = 3 * chunk, 3 * chunk + 1, 3 * chunk + 2
        accesses += [
            [(host, READ), (device, WRITE)],
            [(device, READ), (out, WRITE)],
            [(out, READ)],
        ]
        lanes += [0, 1, 2]
    assert len(waits(lanes, dependences(accesses))) == 2 * chunks


@pytest.mark.parametrize(
    ("devices", "edge", "start"),
    [
        ([4, 4], (0, 1), Start.DIRECT),
        ([4, 4], (0, 2), Start.EVENT),
        ([4, 5], (0, 2), Start.SYNCHRONIZE),
        ([4, -1], (0, 2), Start.SYNCHRONIZE),
        ([-1, 4], (0, 2), Start.SYNCHRONIZE),
        ([-1, -1], (0, 2), Start.SYNCHRONIZE),
        ([-1, -1], (0, 1), Start.SYNCHRONIZE),  # a pool of threads keeps no order
    ],
)
def test_starts(devices: list[int], edge: tuple[int, int], start: Start) -> None:
    assert starts([0, 0, 1], [edge], devices) == [start]


@pytest.mark.parametrize("seed", range(40))
def test_bytes_are_reused_where_all_users_are_over(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 20)
    lanes, edges = random_lanes(rng, count), random_edges(rng, count, rng.randint(0, 30))
    users = [rng.choices(range(count), k=rng.randint(0, 4)) for _ in range(6)]
    pairs = [(value, writer) for value in range(6) for writer in range(count)]
    before = ancestors(count, [*edges, *lane_edges(lanes)])
    expected = [set(users[value]) <= before[writer] for value, writer in pairs]
    assert reuse_across_lanes(lanes, edges, users, pairs) == expected


def test_the_last_releaser_is_not_the_only_reader() -> None:
    """NNVM compares the colour of operation 2, which reads last; 1 may run after 3 yet."""
    lanes, edges = [0, 1, 0, 0], [(0, 1), (0, 2)]
    assert reuse_across_lanes(lanes, edges, [[0, 1, 2]], [(0, 3)]) == [False]
    orders = linear_orders(random.Random(0), 4, [*edges, *lane_edges(lanes)], 20)
    assert any(order.index(1) > order.index(3) for order in orders)


def test_the_names_of_starts_are_those_of_csrc() -> None:
    assert [start.name.lower() for start in Start] == _C.GRAPH_STARTS


# --- operations divided between lanes


@pytest.mark.parametrize("seed", range(60))
def test_each_operation_goes_where_it_ends_first(seed: int) -> None:
    rng = random.Random(seed)
    count, most, wait = rng.randint(1, 20), rng.randint(1, 4), rng.randint(0, 6)
    edges = random_edges(rng, count, rng.randint(0, 25))
    costs = [rng.randint(0, 9) for _ in range(count)]
    devices = [rng.choice([-1, 0, 0, 7]) for _ in range(count)]
    lanes = spread(costs, devices, edges, most, wait)
    ends: list[int] = []
    busy: dict[tuple[int, int], int] = {}

    def end_on(operation: int, lane: int) -> int:
        place = devices[operation], lane
        ready = [
            ends[a] + wait * ((devices[a], lanes[a]) != place) for a, b in edges if b == operation
        ]
        begin = wait if lane > 0 else 0
        return max([begin, busy.get(place, 0), *ready]) + costs[operation]

    for operation, lane in enumerate(lanes):
        assert (lane == -1) == (devices[operation] == -1)
        if lane >= 0:
            assert lane < most
            found = [end_on(operation, other) for other in range(most)]
            assert found[lane] == min(found)
            busy[devices[operation], lane] = found[lane]
            ends.append(found[lane])
        else:
            ends.append(
                costs[operation]
                + max(
                    [ends[a] + wait * (lanes[a] != -1) for a, b in edges if b == operation],
                    default=0,
                )
            )


def test_a_chain_stays_on_its_lane() -> None:
    assert spread([3] * 5, [0] * 5, [(i, i + 1) for i in range(4)], 4, 0) == [0] * 5


def test_branches_share_the_lanes() -> None:
    """NNVM's colours put all but the heaviest path on the last one."""
    assert spread([9, 9, 9, 9], [0] * 4, [], 4, 1) == [0, 1, 2, 3]
    assert spread([9, 9, 9, 9], [0] * 4, [], 2, 1) == [0, 1, 0, 1]


def test_devices_have_lanes_of_their_own() -> None:
    assert spread([9, 9, 9, 9], [0, 1, 0, 1], [], 2, 1) == [0, 0, 1, 1]
