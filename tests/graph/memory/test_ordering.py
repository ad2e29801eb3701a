"""The order by memory: as an analysis, and of programs."""

import itertools
import random
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, compile, trace
from oneflow_lite.graph.analyses import order_by_memory
from oneflow_lite.graph.ordering import ordered
from tests.graph.test_random_traces import check, generators, programs, traced
from tests.support.oracle import LAYOUTS

Edge = tuple[int, int]
N = 1 << 17  # elements of float64: a value is 1 MiB


def most(order: list[int], sizes: list[int], users: list[list[int]], results: list[int]) -> int:
    """The bytes that are alive at most, told operation by operation."""
    alive = peak = 0
    left = [len(row) for row in users]
    for operation in order:
        used = [c for c, row in enumerate(users) if operation in row]
        alive += sum(sizes[c] for c in used if left[c] == len(users[c]))
        peak = max(peak, alive)
        for c in used:
            left[c] -= 1
            alive -= sizes[c] if left[c] == 0 and c not in results else 0
    return peak


def random_program(rng: random.Random) -> tuple[int, list[int], list[list[int]], list[int], Any]:
    count = rng.randint(1, 7)
    sizes = [rng.choice((0, 1, 5, 30)) for _ in range(count)]
    users = [
        [i, *sorted(rng.sample(range(i + 1, count), rng.randint(0, min(2, count - i - 1))))]
        for i in range(count)
    ]
    results = [i for i in range(count) if len(users[i]) == 1 or rng.random() < 0.1]
    edges = [(row[0], user) for row in users for user in row[1:]]
    return count, sizes, users, results, edges


def test_orders_are_allowed_and_rarely_worse() -> None:
    rng = random.Random(3)
    better = worse = 0
    for _ in range(500):
        count, sizes, users, results, edges = random_program(rng)
        order = order_by_memory(count, sizes, users, results, edges)
        assert sorted(order) == list(range(count))
        place = {operation: k for k, operation in enumerate(order)}
        assert all(place[a] < place[b] for a, b in edges)
        before = most(list(range(count)), sizes, users, results)
        after = most(order, sizes, users, results)
        better += after < before
        worse += after > before
    assert better > 2 * worse


def change(
    i: int, done: set[int], sizes: list[int], users: list[list[int]], results: list[int]
) -> int:
    """By how many bytes an operation changes what is alive after these."""
    made = sum(size for size, row in zip(sizes, users, strict=True) if row[0] == i)
    ended = sum(
        size
        for c, (size, row) in enumerate(zip(sizes, users, strict=True))
        if i in row and set(row) - done == {i} and c not in results
    )
    return made - ended


def test_each_step_leaves_the_fewest_bytes() -> None:
    rng = random.Random(5)
    for _ in range(300):
        count, sizes, users, results, edges = random_program(rng)
        order = order_by_memory(count, sizes, users, results, edges)
        for k in range(count):
            done = set(order[:k])
            ready = [
                i for i in set(range(count)) - done if all(a in done for a, b in edges if b == i)
            ]

            assert order[k] == min((change(i, done, sizes, users, results), i) for i in ready)[1]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="negative size -1"):
        order_by_memory(1, [-1], [[0]])
    with pytest.raises(IndexError, match="users"):
        order_by_memory(1, [1], [[1]])
    with pytest.raises(IndexError, match="results"):
        order_by_memory(1, [1], [[0]], [1])
    with pytest.raises(ValueError, match="edge"):
        order_by_memory(2, [], [], [], [(1, 0)])
    with pytest.raises(ValueError, match="users"):
        order_by_memory(1, [1, 2], [[0]])
    with pytest.raises(OverflowError):
        order_by_memory(1, [2**62, 2**62], [[0], [0]])
    assert order_by_memory(0, [], []) == []


# --- Programs


def sums(x: flow.Tensor) -> Any:
    """Eight values of 1 MiB, and a number of each."""
    made = [flow.sort(x * k) for k in range(8)]
    return [flow.cumulative_sum(value)[-1] for value in made]


def test_values_are_used_up_before_others_are_made() -> None:
    x = flow.arange(float(N))
    program = trace(sums, x).program
    run = compile(program, mode="serial")
    (arena,) = run.report()["memory"]["arenas"]
    assert arena["bytes"] < 4 * 8 * N
    wanted = [value.item() for value in sums(x)]
    assert [value.item() for value in run(x)] == wanted
    naive = compile(program, mode="naive")  # in the order of the program
    assert [value.item() for value in naive(x)] == wanted


def test_small_programs_keep_their_order() -> None:
    main = trace(sums, flow.arange(100.0)).program.main
    assert ordered(main) is main


def test_what_cannot_be_better_keeps_its_order() -> None:
    main = trace(lambda x: flow.sort(flow.sort(x * 2) + 1), flow.arange(float(N))).program.main
    assert ordered(main) is main


def test_effects_and_writes_keep_their_order() -> None:
    seen: list[float] = []

    def f(x: flow.Tensor) -> Any:
        made = []
        for k in range(6):
            x += 1
            made.append(flow.sort(x * k))
            flow.vm.host_func(lambda y: seen.append(float(y[0])), reads=[x])
        return [flow.cumulative_sum(value)[-1] for value in made]

    x, y = flow.zeros(N), flow.zeros(N)
    program = trace(f, x).program
    assert ordered(program.main) is not program.main
    results = compile(program)(x)
    flow.synchronize()
    assert seen == [1, 2, 3, 4, 5, 6]
    wanted = f(y)
    assert [value.item() for value in results] == [value.item() for value in wanted]
    assert x.numpy().tobytes() == y.numpy().tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_random_programs_in_another_order(layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every gain is taken, of programs of any size."""
    monkeypatch.setattr("oneflow_lite.graph.ordering._LEAST_BYTES", 0)
    monkeypatch.setattr("oneflow_lite.graph.ordering._LEAST_GAIN", 0.0)
    changed = 0
    for one in itertools.islice(programs(), 30):
        program = traced(one.on(layout), layout, generators())
        again = ordered(program.main)
        changed += again is not program.main
        assert sorted(map(id, again.ops)) == sorted(map(id, program.main.ops))
        Program("again", {"main": again}).verify()
        check(one.on(layout), layout)
    assert changed > 5
