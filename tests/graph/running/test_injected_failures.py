"""Injected failures and devices that are full or not there: the next run is unharmed."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program

DEVICE = "mock:0"
ERRORS = {
    "alloc": flow.OutOfMemoryError,
    "launch": RuntimeError,
    "copy": RuntimeError,
    "event": RuntimeError,
}
WAYS = [
    *((mode, "plan") for mode in ("serial", "parallel", "sequential", "naive")),
    *(("serial", release) for release in ("fast", "event")),
]
MOST = 60  # faults of one kind that a run can meet


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    flow.synchronize()
    x = flow.tensor(np.arange(3.0)).to(DEVICE)
    assert flow.jit(lambda x: x * 2)(x).tolist() == [0, 2, 4]


def work(x: Any, y: Any) -> list[Any]:
    """Two chains of copies and kernels that meet once."""
    a, b = x.to(DEVICE), y.to(DEVICE)
    for _ in range(2):
        a = flow.tanh(a @ a) + 1
        b = flow.sin(b) * 2
    b += flow.sum(b)
    return [a, b, (a + b).cpu(), flow.exp(b).cpu(), flow.cumulative_sum(a, axis=0)]


def arguments() -> list[flow.Tensor]:
    return [flow.tensor(np.random.default_rng(i).normal(size=(20, 20))) for i in range(2)]


def taken(x: flow.Tensor) -> tuple[bytes | None, BaseException | None]:
    try:
        return x.numpy().tobytes(), None
    except Exception as error:
        return None, error


def calm(error: type[BaseException]) -> None:
    with suppress(error):
        flow.synchronize()
    flow.synchronize()


def strike(kind: str, call: Callable[..., list[flow.Tensor]]) -> tuple[int, int]:
    """Fail the first fault of a kind, the second, and so on, until none is left: how many results
    have failed, and how many have not."""
    given = arguments()
    expected = [x.numpy().tobytes() for x in work(*given)]
    lost = kept = 0
    for n in range(1, MOST):
        flow.synchronize()
        flow.empty_cache()
        with flow.flags(fail=f"{kind}:{n}"):
            results = call(*given)
            found = [*map(taken, results)]
            is_hit = False
            with suppress(ERRORS[kind]):
                is_hit = True
                flow.synchronize()
                is_hit = any(error for _, error in found)
        for (got, error), right in zip(found, expected, strict=True):
            if error is None:
                assert got == right
                kept += is_hit
                continue
            lost += 1
            assert type(error) is ERRORS[kind]
            assert "injected failure" in str(error)
        calm(ERRORS[kind])
        assert [x.numpy().tobytes() for x in call(*given)] == expected
        if not is_hit:
            return lost, kept
    raise AssertionError(f"more than {MOST} faults")


@pytest.mark.parametrize(("mode", "release"), WAYS)
@pytest.mark.parametrize("kind", ERRORS)
def test_any_fault_of_a_run(kind: str, mode: str, release: str) -> None:
    program = flow.graph.trace(work, *arguments()).program
    run = flow.graph.compile(program, mode=mode, release=release)
    run.fill_arena(0xA5)
    lost, _ = strike(kind, run)
    assert lost


@pytest.mark.parametrize("kind", ERRORS)
def test_any_fault_of_a_jitted_call(kind: str) -> None:
    run = flow.jit(work)
    run(*arguments())
    lost, _ = strike(kind, run)
    assert lost
    assert run.report()["traces"] == 1


@pytest.mark.parametrize("kind", ERRORS)
def test_any_fault_of_a_run_of_an_executor(kind: str) -> None:
    main = Program("main")
    with flow.graph.building(main):
        fetches = work(*(flow.graph.data(name, (20, 20)) for name in "xy"))
    executor = Executor()
    lost, _ = strike(kind, lambda x, y: executor.run(main, {"x": x, "y": y}, fetches))
    assert lost


def test_a_fault_leaves_what_does_not_need_it() -> None:
    run = flow.graph.compile(flow.graph.trace(work, *arguments()).program, mode="serial")
    lost, kept = strike("copy", run)
    assert lost
    assert kept


# --- no memory


def wide(x: Any) -> tuple[Any, Any]:
    """Something large beside something small, of one segment."""
    big = flow.sum(flow.cumulative_sum(flow.broadcast_to(x[:1], (1 << 21,)) * 2, axis=0))
    return big, x * 2


LIMITS: dict[str, dict[str, Any]] = {
    "cpu": {"memory_limit": None},
    DEVICE: {"mock": "capacity=12MiB"},
}


@pytest.mark.parametrize("device", LIMITS)
@pytest.mark.parametrize(("mode", "release"), [("auto", "plan"), ("inline", "plan"), *WAYS])
def test_out_of_memory_while_it_runs(device: str, mode: str, release: str) -> None:
    x = flow.ones(1000, device=device)
    run = flow.graph.compile(flow.graph.trace(wide, x).program, mode=mode, release=release)
    flow.synchronize()
    flow.empty_cache()
    limits = dict(LIMITS[device])
    if "memory_limit" in limits:
        limits["memory_limit"] = flow.memory_stats("cpu")["in_use"] + (12 << 20)
    with flow.flags(fusion="0", **limits):
        for _ in range(2):
            big, small = run(x)
            with pytest.raises(flow.OutOfMemoryError, match="16|32"):
                big.numpy()
            with suppress(flow.OutOfMemoryError):  # of the same segment
                assert small.tolist() == [2] * 1000
            calm(flow.OutOfMemoryError)
    flow.empty_cache()
    big, small = run(x)
    assert big.item() == wide(x)[0].item()
    assert small.tolist() == [2] * 1000
    flow.empty_cache()


def test_runs_that_queue_up_share_little_memory() -> None:
    """Far more than fits, if each run kept its arena: none fails."""
    flow.empty_cache()
    with flow.flags(mock="capacity=40MiB,jitter=50us"):
        x = flow.ones((512, 512), device=DEVICE)  # 2 MiB

        def chain(x: Any) -> Any:
            for _ in range(4):
                x = flow.cumulative_sum(x * 0.5, axis=0)
            return x[:1, :1] + 0

        run = flow.jit(chain)
        results = [run(x) for _ in range(60)]
        expected = chain(x).item()
        assert {y.item() for y in results} == {expected}
    flow.empty_cache()


def test_out_of_memory_while_it_is_built() -> None:
    table = np.ones(1 << 21)

    def with_constant(x: Any) -> Any:
        return x + flow.tensor(table, device=DEVICE)[:2]

    flow.empty_cache()
    run = flow.jit(with_constant)
    x = flow.ones(2, device=DEVICE)
    with flow.flags(mock="capacity=8MiB"):
        with pytest.raises(flow.OutOfMemoryError):
            run(x).numpy()
        calm(flow.OutOfMemoryError)
        assert flow.jit(lambda x: x + 1)(x).tolist() == [2, 2]
    flow.empty_cache()
    run.clear()
    assert run(x).tolist() == [2, 2]


def test_out_of_memory_in_a_startup_program() -> None:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        w = flow.graph.parameter("w", (1 << 21,), init=1.0, dtype="float64")
        y = w[:2] * 2
    scope, executor = flow.graph.Scope(), Executor(DEVICE)
    flow.empty_cache()
    with flow.flags(mock="capacity=8MiB"):
        with pytest.raises(flow.OutOfMemoryError):
            executor.run(startup, scope=scope)
            executor.run(main, {}, [y], scope)[0].numpy()
        calm(flow.OutOfMemoryError)
    flow.empty_cache()
    executor.run(startup, scope=scope)
    assert executor.run(main, {}, [y], scope)[0].tolist() == [2, 2]


# --- no device


NOWHERE: dict[str, Callable[[str, flow.Tensor], object]] = {
    "jit": lambda device, x: flow.jit(lambda x: x.to_device(device) * 2)(x),
    "spec": lambda device, x: flow.graph.trace(lambda x: x + 1, flow.graph.spec(2, device=device)),
    "trace": lambda device, x: flow.graph.trace(lambda x: flow.zeros(2, device=device) + x, x),
    "text": lambda device, x: flow.graph.compile(
        Program.parse(str(flow.graph.trace(lambda x: x * 2, x).program).replace("cpu", device))
    ),
    "executor": lambda device, x: Executor(device),
}


@pytest.mark.parametrize("device", ["mock:99", "cuda:7", "gpu:0"])
@pytest.mark.parametrize("way", NOWHERE)
def test_a_device_that_is_not_there(way: str, device: str) -> None:
    x = flow.ones(2)
    with pytest.raises((ValueError, RuntimeError), match=device.partition(":")[0]):
        NOWHERE[way](device, x)
    assert flow.jit(lambda x: x * 2)(x).tolist() == [2, 2]
