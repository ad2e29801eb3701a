"""Compute lanes: streams beside each other on one device, with the results of one."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import Profile, profile
from tests.support.machine import run_in_threads

SIZE = 25_000
SLOW = "compute=1250k/s"  # 20 ms for each operation on a mock device


def runs_of(prof: Profile, size: int) -> list[tuple[int, int]]:
    return sorted((r.begin, r.end) for r in prof.records if r.kind == "run" and r.shape == (size,))


def two_chains_overlap(first: int, second: int, device: flow.Device) -> bool:
    """Whether operations of two chains, told apart by their sizes, ran at the same time."""
    with flow.flags(mock=SLOW, fusion="0"), profile() as prof:
        results = []
        for lane, size in ((first, SIZE), (second, SIZE + 1)):
            with flow.vm.lane(lane):
                x = flow.zeros(size, device=device)
                for _ in range(5):
                    x = x + 1
                results.append(x)
        flow.synchronize()
    assert all((x.numpy() == 5).all() for x in results)
    return any(
        max(a, c) < min(b, d) for a, b in runs_of(prof, SIZE) for c, d in runs_of(prof, SIZE + 1)
    )


@pytest.mark.alone
@pytest.mark.parametrize("lanes", [(0, 1), (3, 2)])
def test_operations_of_two_lanes_overlap(lanes: tuple[int, int]) -> None:
    assert two_chains_overlap(*lanes, "mock:0")


@pytest.mark.parametrize("lane", [0, 2])
def test_operations_of_one_lane_do_not_overlap(lane: int) -> None:
    assert not two_chains_overlap(lane, lane, "mock:0")


def test_the_trace_names_the_stream_of_a_lane() -> None:
    with profile() as prof:
        x = flow.ones(SIZE, device="mock:1")
        with flow.vm.lane(2):
            y = x * 2
    assert y[0].item() == 2
    ran = {r.lane for r in prof.records if r.kind == "run" and r.name == "multiply"}
    assert ran == {"mock:1 compute2"}
    assert "mock:1 compute2" in flow.vm.stats()["streams"]


def test_operands_order_operations_of_different_lanes(device: flow.Device) -> None:
    with flow.flags(mock="jitter=100us,launch=20us", inline="0"):
        for size in (7, SIZE):
            x = flow.zeros(size, device=device)
            expected = np.zeros(size)
            for i in range(60):
                with flow.vm.lane(i % 4):
                    y = x * 2
                with flow.vm.lane((i + 1) % 3):
                    x += y
                    x[::2] -= 3
                expected += expected * 2
                expected[::2] -= 3
                expected %= 1000
                with flow.vm.lane(i * 7 % 4):
                    x %= 1000
                del y
            assert (x.numpy() == expected).all()


@pytest.mark.parametrize("mode", [{"fusion": "always"}, {"fusion": "0"}, {"sync": True}])
def test_memory_made_on_one_lane_and_freed_while_another_uses_it(
    device: flow.Device, mode: dict[str, Any]
) -> None:
    with flow.flags(mock="jitter=200us,launch=50us", inline="0", **mode):
        results = []
        for i in range(80):
            with flow.vm.lane(1):
                x = flow.full((SIZE,), float(i), device=device) + 1
            with flow.vm.lane(2):
                y = x * 2
            results.append((i, y))
            del x, y  # the next tensor of lane 1 has its size
            with flow.vm.lane(1):
                flow.full((SIZE,), -1.0, device=device)
        for i, y in results:
            assert (y.numpy() == 2 * (i + 1)).all()


def test_a_group_takes_operations_of_its_lane_only() -> None:
    """The result of a group stays in memory for an operation of another lane."""
    with flow.flags(fusion="always", inline="0"), profile() as prof:
        x = flow.ones(300_000, device="cpu")
        for _ in range(20):
            a = x * 2
            with flow.vm.lane(1):
                b = a + 1
                c = b * 3
            d = a - 1
            x = (c + d) * 0 + 1
            del a, b, c, d
        assert (x.numpy() == 1).all()
    groups: dict[int, set[str]] = {}
    for r in prof.records:
        if r.kind == "run" and r.group:
            groups.setdefault(r.group, set()).add(r.lane)
    assert groups
    assert all(len(lanes) == 1 for lanes in groups.values())


def test_blocks_nest() -> None:
    def stream_of_a_multiplication() -> str:
        with profile() as prof:
            x = flow.ones(8, device="mock:0") * 2
            flow.synchronize()
        del x
        (name,) = {r.lane for r in prof.records if r.kind == "run" and r.name == "multiply"}
        return name

    assert stream_of_a_multiplication() == "mock:0 compute"
    with flow.vm.lane(1):
        with flow.vm.lane(3):
            assert stream_of_a_multiplication() == "mock:0 compute3"
            with flow.vm.lane(0):
                assert stream_of_a_multiplication() == "mock:0 compute"
        assert stream_of_a_multiplication() == "mock:0 compute1"
        with pytest.raises(ZeroDivisionError), flow.vm.lane(2):
            _ = 1 // 0
        assert stream_of_a_multiplication() == "mock:0 compute1"
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(stream_of_a_multiplication()))
        thread.start()
        thread.join()
        assert seen == ["mock:0 compute"]  # a thread does not inherit the lane
    assert stream_of_a_multiplication() == "mock:0 compute"


BAD: tuple[tuple[Any, type[Exception]], ...] = (
    (4, ValueError),
    (-1, ValueError),
    (2**70, ValueError),
    (1.0, TypeError),
    ("1", TypeError),
    (None, TypeError),
)


@pytest.mark.parametrize(("number", "kind"), BAD)
def test_a_bad_lane_is_named(number: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"\[vm\.lane\] expected number .* from 0 to 3, got ") as caught:
        flow.vm.lane(number)
    assert repr(number) in str(caught.value)


def test_an_integer_of_numpy_is_a_lane() -> None:
    with flow.vm.lane(np.int8(3)):
        assert (flow.ones(3) + 1).tolist() == [2, 2, 2]


COUNT = """
import os, oneflow_lite as flow
def work():
    for device in ("cpu", "mock"):
        x = flow.ones(200_000, device=device)
        for _ in range(3): x = flow.tanh(x) + 1
        x.cpu().numpy()
    flow.synchronize()
def streams(): return sorted(name for name in flow.vm.stats()["streams"] if "compute" in name)
def threads(): return len(os.listdir("/proc/self/task"))
work()
print(streams())
before = threads()
with flow.vm.lane(2): work()
print(streams())
print(threads() - before)
"""


def test_a_lane_has_no_stream_before_its_first_use(run_program: Callable[..., Any]) -> None:
    first, second, more = run_program(COUNT).stdout.splitlines()
    assert first == str(["cpu compute", "mock:0 compute"])
    assert second == str(["cpu compute", "cpu compute2", "mock:0 compute", "mock:0 compute2"])
    assert int(more) >= 2


def test_a_failure_on_one_lane_is_seen_on_another(device: flow.Device) -> None:
    x = flow.ones((3, 3), device=device)
    with flow.vm.lane(1):
        bad = x[flow.tensor([7], device=device)]
    with flow.vm.lane(2):
        after = bad * 2
    with pytest.raises(IndexError):
        after.numpy()
    with pytest.raises(IndexError):
        flow.synchronize()
    assert (x.numpy() == 1).all()


def test_threads_have_lanes_of_their_own(device: flow.Device) -> None:
    shared = flow.arange(SIZE, device=device)

    def work(number: int) -> None:
        with flow.vm.lane(number % 4):
            for i in range(30):
                y = shared * i + number
                assert (y[:50].numpy() == np.arange(50) * i + number).all()

    run_in_threads(work, 8)
