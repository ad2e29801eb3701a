"""Injected failures of the mock device: the right error at the right tensor, and nothing else."""

import gc
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import engine
from tests.support.machine import Gate, here, line_of

DEVICE = "mock:0"
COUNTERS = ("in_use", "staging", "events_leased")
ERRORS = {
    "alloc": flow.OutOfMemoryError,
    "launch": RuntimeError,
    "copy": RuntimeError,
    "event": RuntimeError,
}


def counters() -> dict[str, int]:
    gc.collect()  # a caught exception keeps the frames that it came through
    flow.empty_cache()  # blocks kept for reuse may hold events
    stats = flow.memory_stats(DEVICE)
    return {name: stats[name] for name in COUNTERS}


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    flow.synchronize()
    before = counters()
    yield
    flow.synchronize()
    assert counters() == before
    x = flow.tensor(np.arange(3.0)).to(DEVICE)
    assert (x * 2).tolist() == [0, 2, 4]


def taken(look: Callable[[], object]) -> BaseException | None:
    try:
        look()
    except Exception as error:
        return error
    return None


def program(source: np.ndarray) -> tuple[list[flow.Tensor], int]:
    """Copies, kernels and copies back on two independent chains; and the line of the first one."""
    line = here() + 1
    a = flow.tensor(source).to(DEVICE)
    b = a + 1
    c = b.cpu()
    d = flow.tensor(source).to("mock:1")
    e = d * 2
    return [a, b, c, d, e], line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("n", range(1, 8))
def test_any_fault_poisons_what_follows_it_only(kind: str, n: int) -> None:
    source = np.arange(1000.0)
    with flow.flags(fail=f"{kind}:{n}"):
        tensors, line = program(source)
        failed = [taken(tensor.cpu().numpy) for tensor in tensors]
    again = [taken(tensor.cpu().numpy) for tensor in tensors]
    for error, second, offset in zip(failed, again, range(5), strict=True):
        if second is None:
            continue  # the fault may also hit the look itself
        assert error is not None
        assert type(second) is ERRORS[kind]
        assert "injected failure" in str(second)
        found = re.search(r"issued at (.*):(\d+)$", line_of(second))
        assert found is not None
        assert found[1] == __file__
        assert line <= int(found[2]) <= line + offset
    expected = [source, source + 1, source + 1, source, source * 2]
    for tensor, error, want in zip(tensors, again, expected, strict=True):
        if error is None:
            assert np.array_equal(tensor.numpy(), want)
    # A failure of the first chain does not reach the second, and the other way round.
    assert not (any(again[:3]) and any(again[3:]))
    once = taken(flow.synchronize)
    assert once is None or type(once) is ERRORS[kind]
    if any(again):
        assert once is not None
    assert taken(flow.synchronize) is None


@pytest.mark.parametrize("kind", ["alloc", "launch", "copy"])
def test_the_failed_tensor_names_its_line(kind: str) -> None:
    source = flow.tensor(np.ones(1000)).to(DEVICE)
    other = source + 5
    flow.synchronize()
    with flow.flags(fail=f"{kind}:1"):
        line = here() + 1
        bad = source.to("mock:1") if kind == "copy" else source + 1
        after = bad * 2
        taken(after.numpy)
    for _ in range(3):
        with pytest.raises(ERRORS[kind], match="injected failure") as caught:
            after.numpy()
        assert line_of(caught.value).endswith(f"{__file__}:{line}")
        with pytest.raises(ERRORS[kind], match="injected failure"):
            bad.numpy()
    assert other.tolist() == [6] * 1000
    assert (source + 1).tolist() == [2] * 1000
    with pytest.raises(ERRORS[kind]):
        flow.synchronize()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ERRORS)
def test_a_fault_in_a_full_queue(kind: str) -> None:
    """All launches of the queue come at once, right behind the one that fails."""
    with flow.flags(fail=f"{kind}:2"), Gate(1000) as gate:
        x = gate.on(DEVICE)
        chain = [x + 1]
        for _ in range(20):
            chain.append(chain[-1] + 1)
        gate.open()
        taken(chain[-1].numpy)
    for i, tensor in enumerate(chain):
        error = taken(tensor.numpy)
        if error is None:
            assert tensor[0].item() == i + 1
        else:
            assert "injected failure" in str(error)
    taken(flow.synchronize)


def test_a_fault_from_the_environment(run_program: Callable[..., object]) -> None:
    code = """
import oneflow_lite as flow
x = flow.ones(10, device="mock:0")
y = flow.ones(10, device="mock:0")
try:
    y.numpy()
except flow.OutOfMemoryError as error:
    print(error.__notes__)
print(x.tolist()[0])
"""
    done = run_program(code, fail="alloc:2")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"issued at .*program.py:4'\]\n1.0\n", done.stdout)


def test_memory_runs_out_on_a_device_with_a_queue() -> None:
    flow.empty_cache()
    with flow.flags(mock="capacity=16MiB"):
        line = here() + 1
        held = [flow.ones(1 << 18, device=DEVICE) for _ in range(6)]  # 2 MiB each
        flow.synchronize()
        big = flow.ones(1 << 20, device=DEVICE)
        behind = held[0] + 0.5
        with pytest.raises(flow.OutOfMemoryError) as caught:
            big.numpy()
        assert isinstance(caught.value, MemoryError)
        message = str(caught.value)
        assert "asked for 8.0 MiB" in message
        assert "12.0 MiB in live blocks" in message
        assert "capacity 16.0 MiB" in message
        assert "free" in message
        assert f"{6 * (1 << 21)} bytes in 6 blocks, issued at {__file__}:{line}" in message
        assert behind[0].item() == 1.5
        with pytest.raises(flow.OutOfMemoryError):
            flow.synchronize()
        del held[:], behind, big, caught
        assert flow.ones(1 << 20, device=DEVICE)[3].item() == 1
    flow.empty_cache()


@pytest.mark.slow
@pytest.mark.parametrize("behind", [0, 1, 40])
def test_memory_runs_out_in_a_full_queue(behind: int) -> None:
    flow.empty_cache()
    with flow.flags(mock="capacity=16MiB"), Gate() as gate:
        x = gate.on(DEVICE)
        before = [x + i for i in range(10)]
        big = flow.broadcast_to(x[:1], (1 << 22,)) + 1
        after = [x + i for i in range(behind)]
        gate.open()
        with pytest.raises(flow.OutOfMemoryError):
            big.numpy()
        for i, tensor in enumerate(before):
            assert tensor[0].item() == i
        for i, tensor in enumerate(after):
            assert tensor[0].item() == i
        with pytest.raises(flow.OutOfMemoryError):
            flow.synchronize()


def test_memory_in_flight_is_waited_for() -> None:
    """Far more work than fits, each piece dropped: none of it fails."""
    flow.empty_cache()
    with flow.flags(mock="capacity=8MiB,jitter=50us"):
        total = flow.zeros(1, device=DEVICE)
        for i in range(200):
            x = flow.full((1 << 17,), i, dtype=flow.float64, device=DEVICE)  # 1 MiB
            total += (x * 2)[:1]
        assert total.item() == sum(2 * i for i in range(200))
    flow.empty_cache()


@pytest.mark.parametrize("size", [1 << 20, 1 << 23])
def test_the_memory_limit_of_the_cpu(size: int) -> None:
    flow.empty_cache()
    in_use = flow.memory_stats("cpu")["in_use"]
    with flow.flags(memory_limit=in_use + (4 << 20)):
        x = flow.ones(1 << 18)  # 2 MiB
        big = flow.ones(size)
        with pytest.raises(flow.OutOfMemoryError, match="limit") as caught:
            big.numpy()
        assert f"issued at {__file__}:" in str(caught.value)
        with pytest.raises(flow.OutOfMemoryError):
            flow.synchronize()
        del big, caught
        assert x[0].item() == 1
        assert (x[:1000] + 1)[0].item() == 2
        del x
        assert flow.ones(1 << 18)[1].item() == 1
    assert flow.ones(size)[0].item() == 1
    flow.empty_cache()


@pytest.mark.slow
def test_lists_wait_for_memory_in_flight() -> None:
    numbers = [1.5] * 300_000
    flow.empty_cache()
    in_use = flow.memory_stats("cpu")["in_use"]
    goes_on = threading.Event()
    with flow.flags(memory_limit=in_use + (4 << 20)):
        x = flow.ones(3 << 17)  # 3 MiB
        assert x[0].item() == 1
        flow.vm.host_func(lambda _: goes_on.wait(), reads=[x])
        del x
        threading.Timer(0.1, goes_on.set).start()
        assert flow.tensor(numbers).sum().item() == 450_000
    flow.empty_cache()


def test_small_work_waits_for_memory_in_flight_too() -> None:
    """Work that the calling thread could do itself climbs the same ladder."""
    flow.empty_cache()
    in_use = flow.memory_stats("cpu")["in_use"]
    with flow.flags(memory_limit=in_use + (4 << 20)):
        for i in range(100):
            big = flow.full((200_000,), i, dtype=flow.float64)  # 1.5 MiB
            y = big * 1
            del big
            small = flow.ones(2000) + 1
            assert small[0].item() == 2
            del y
    flow.synchronize()


STARVING = """
import sys, threading, oneflow_lite as flow
from oneflow_lite import engine

device, how = sys.argv[1:]
begun, goes_on, x = threading.Event(), threading.Event(), flow.ones(500_000, device=device)
flow.synchronize()

def starve():
    try:
        (x * 2).numpy()
    except flow.OutOfMemoryError as error:
        return "no memory" in str(error) or "out of memory" in str(error)

if how == "push":
    print(engine.push(starve).result())
elif how == "operator":
    print(engine.Operator(starve, writes=[engine.Var()]).push().result())
elif how == "host_func":
    print(flow.vm.host_func(starve).result())
elif how == "others behind it":
    first = flow.vm.host_func(starve)
    behind = [flow.vm.host_func(lambda: 7) for _ in range(3)]
    print(first.result() and [each.result() for each in behind] == [7] * 3)
elif how == "two":
    print(all(each.result() for each in [engine.push(starve) for _ in range(2)]))
elif how == "beside a server":
    engine.push(goes_on.wait, blocking=True)
    print(starve())
elif how == "beside one that waits":
    var = engine.Var()
    engine.push(goes_on.wait, writes=[var], blocking=True)
    engine.push(lambda: (begun.set(), engine.wait(var)))
    begun.wait()
    print(starve())
goes_on.set()
"""


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize(
    "how",
    [
        "push",
        "operator",
        "host_func",
        "others behind it",
        "two",
        "beside a server",
        "beside one that waits",
    ],
)
def test_functions_and_memory_that_does_not_come(
    run_program: Callable[..., Any], device: str, how: str
) -> None:
    """Nobody waits for memory of a function that waits itself, or that serves others."""
    done = run_program(STARVING, device, how, memory_limit="6MiB", hang_timeout="5", timeout=15)
    assert done.stdout.split() == ["True"], done.stderr


def test_functions_that_wait_make_room_for_others() -> None:
    """As many wait as there are threads; what they wait for is completed by one more."""
    var, notes = engine.Var("table"), []
    engine.push_async(lambda _, done: notes.append(done), writes=[var])
    waiting = [engine.push(lambda: engine.wait(var)) for _ in range(8)]
    engine.push(lambda: notes[0]()).result()
    assert [each.result(timeout=30) for each in waiting] == [None] * 8


def test_memory_that_blocking_functions_give_back_is_waited_for() -> None:
    flow.empty_cache()
    in_use = flow.memory_stats("cpu")["in_use"]
    goes_on = threading.Event()
    with flow.flags(memory_limit=in_use + (6 << 20)):
        x = flow.ones(500_000)
        assert x[0].item() == 1
        engine.push(lambda x=x: goes_on.wait(), blocking=True)
        del x
        threading.Timer(0.2, goes_on.set).start()
        assert flow.ones(500_000).sum().item() == 500_000
    flow.empty_cache()
