"""The contract of the machine, seen from Python: who waits for whom, bounds, reports, threads."""

import ctypes
import itertools
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.machine import Gate, here, in_thread

LARGE = 50_000  # elements: more than the calling thread does by itself


def test_work_on_other_operands_goes_past_a_held_host_function(device: flow.Device) -> None:
    with Gate() as gate:
        held = gate.on(device) + 1
        x = flow.ones(LARGE, device=device)
        assert (x + 1).numpy().sum() == 2 * LARGE
        assert (x.cpu() * 3).numpy().sum() == 3 * LARGE
        assert not held.is_ready()
    assert held.tolist() == [1, 1, 1, 1]


def test_work_on_other_operands_goes_past_a_slow_copy(run_program: Callable[..., object]) -> None:
    code = """
import os, numpy as np, oneflow_lite as flow
copied = flow.tensor(np.ones(50_000)).mock(0)  # takes 400 s
x = flow.ones(50_000)
assert (x + 1).numpy().sum() == 100_000
assert (x.mock(1) + 1).is_ready() in (True, False)
assert not copied.is_ready()
print("went past", flush=True)
os._exit(0)
"""
    done = run_program(code, mock="h2d=1kB/s")
    assert (done.returncode, done.stdout, done.stderr) == (0, "went past\n", "")


def test_two_readers_are_not_ordered() -> None:
    x = flow.ones(LARGE)
    read, looked = threading.Event(), threading.Event()

    def reader(array: np.ndarray) -> float:
        read.set()
        assert looked.wait(60)
        return float(array.sum())

    call = flow.vm.host_func(reader, reads=[x])
    assert read.wait(60)
    assert (x + 1).numpy().sum() == 2 * LARGE
    assert x.mock(0).sum().item() == LARGE
    looked.set()
    assert call.result() == LARGE


def test_a_write_waits_for_every_reader() -> None:
    x = flow.ones(LARGE)
    proceed = threading.Event()

    def reader(array: np.ndarray) -> float:
        proceed.wait(60)
        return float(array.sum())

    call = flow.vm.host_func(reader, reads=[x])
    x += 1
    assert not x.is_ready()
    proceed.set()
    assert call.result() == LARGE
    assert x.numpy().sum() == 2 * LARGE


@pytest.mark.parametrize("readers", [1, 8, 40])
def test_a_write_waits_for_a_read_that_is_held_up(device: flow.Device, readers: int) -> None:
    x = flow.ones(4, device=device)
    x.numpy()
    with Gate() as gate:
        late = x + gate.on(device)
        others = [x + 1 for _ in range(readers)]
        x[...] = 7.0
        (flow.zeros(4, device=device) + 1).numpy()  # the device has run what it could
    assert late.tolist() == [1, 1, 1, 1]
    assert all(other.tolist() == [2, 2, 2, 2] for other in others)
    assert x.tolist() == [7, 7, 7, 7]


def test_barrier(device: flow.Device) -> None:
    with Gate():
        flow.vm.barrier()
        after = flow.ones(4, device=device) + 1
        assert not after.is_ready()
    assert after.tolist() == [2, 2, 2, 2]


def test_a_source_may_be_changed_at_once(device: flow.Device, naive: bool) -> None:
    source = np.zeros(LARGE)
    copies = []
    for i in range(30):
        source[:] = i
        copies.append(flow.tensor(source, device=device))
        source[:] = -1
    for i, copy in enumerate(copies):
        assert (copy.numpy() == i).all()


def test_a_result_may_be_read_at_once(device: flow.Device) -> None:
    x = flow.zeros(LARGE, device=device)
    for i in range(1, 30):
        x += 1
        assert (x.cpu().numpy() == i).all()
        y = x.cpu()
        x += 0
        assert y[LARGE - 1].item() == i


def in_flight(device: flow.Device) -> int:
    return len(re.findall(rf" on {device} ", flow.vm.dump()))


def issue_until_held(issue: Callable[[], None]) -> threading.Thread:
    """Start a thread that issues, and return when it waits for room."""
    waits = flow.vm.stats()["host_waits"]
    issuer = in_thread(issue)
    while flow.vm.stats()["host_waits"] == waits and issuer.is_alive():
        time.sleep(0)
    return issuer


def test_the_number_in_flight_is_bounded(device: flow.Device) -> None:
    with flow.flags(max_in_flight=16), Gate() as gate:
        held = gate.on(device)

        def issue() -> None:
            for _ in range(100):
                held.__iadd__(1)

        issuer = issue_until_held(issue)
        seen = [in_flight(device) for _ in range(200)]
        assert issuer.is_alive()
        gate.open()
        issuer.join()
    assert 8 < max(seen) <= 16
    assert held.tolist() == [100] * 4


def test_the_bytes_in_flight_are_bounded() -> None:
    mebibyte = 1 << 20
    _C.configure(max_bytes_in_flight=8 * mebibyte)
    try:
        with Gate(mebibyte // 8) as gate:
            held = gate.on("mock:0")
            results: list[flow.Tensor] = []
            issuer = issue_until_held(
                lambda: results.extend(held + i for i in range(40))  # 1 MiB each
            )
            seen = [in_flight(flow.Device("mock:0")) for _ in range(200)]
            assert 4 < max(seen) <= 9  # one of them is the copy
            assert issuer.is_alive()
            gate.open()
            issuer.join()
    finally:
        _C.configure(max_bytes_in_flight=1 << 30)
    assert [int(result[0].item()) for result in results] == list(range(40))


def test_a_full_window_of_one_device_lets_python_run() -> None:
    """Also when the bound is above the size of the window, and on the second mock device only."""
    with flow.flags(max_in_flight=1_000_000), Gate() as gate:
        held = gate.on("mock:1")

        def issue() -> None:
            for _ in range(10_000):
                held.__iadd__(1)

        issuer = issue_until_held(issue)
        assert issuer.is_alive()
        gate.open()
        issuer.join()
    assert held.tolist() == [10_000] * 4


def test_dump_says_what_waits_for_what() -> None:
    with Gate() as gate:
        line = here() + 1
        y = gate.on("mock:0") + 1
        report = flow.vm.dump()
    add = next(row for row in report.splitlines() if " add on " in row)
    assert re.search(r"#\d+ add on mock:0 compute, waiting, waits for #\d+, issued at ", add)
    assert add.endswith(f"{__file__}:{line}")
    assert "on cpu host_func, calling" in report
    assert "h2d on mock:0 h2d, waiting" in report
    y.numpy()
    flow.synchronize()
    assert "0 instructions in flight" in flow.vm.dump()


def test_operations_between_two_looks_are_handed_over() -> None:
    """Work that is not small stays with who looks at each result; else it can run as one."""
    x = flow.ones(100_000, dtype="float32")
    inlined = {}
    with flow.flags(inline="20us"):  # an addition in the cache is a third of it
        for operations in (1, 8):
            for _ in range(3):
                flow.synchronize()
                before = flow.vm.stats()["inlined"]
                y = x
                for _ in range(operations):
                    y = y + x
                flow.synchronize()
                inlined[operations] = flow.vm.stats()["inlined"] - before
    assert inlined == {1: 1, 8: 0}


def test_parts_of_an_operation_are_one_until_the_next_look() -> None:
    x = flow.ones(200_000, dtype="float32")  # a copy is more than a third of what stays
    with flow.flags(inline="80us"):
        flow.synchronize()
        y = x + x  # is looked at, whatever was before
        for _ in range(3):
            flow.synchronize()
            before = flow.vm.stats()["inlined"]
            y = flow.concat([x, x])
            flow.synchronize()
            inlined = flow.vm.stats()["inlined"] - before
    assert inlined == 2
    assert y.shape == (400_000,)


def test_stats_count() -> None:
    flow.synchronize()
    before = flow.vm.stats()
    x = flow.ones(LARGE)  # no instruction, as nothing is in flight
    for _ in range(10):
        x = x + 1
    y = flow.ones(2) + 1
    flow.synchronize()
    after = flow.vm.stats()
    assert after["issued"] - before["issued"] >= 11
    assert after["inlined"] > before["inlined"]
    assert after["issued"] == after["retired"]
    assert after["in_flight"] == 0
    assert (
        after["streams"]["cpu compute"]["retired"]
        - before["streams"].get("cpu compute", {}).get("retired", 0)
        >= 10
    )
    assert y.tolist() == [2, 2]


def test_a_wait_that_an_earlier_one_implies_is_left_out() -> None:
    with Gate() as gate:
        gate.on("mock:0")
        x = flow.ones(4, device="mock:0")
        y = flow.tensor(np.ones(4)).mock(0)
        (y + x).numpy()
        before = flow.vm.stats()
        for _ in range(5):
            y + x  # the queue waits for the copy already
        flow.synchronize("mock:1")
    flow.synchronize()
    after = flow.vm.stats()
    assert after["stream_waits"] == before["stream_waits"]


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.numpy(),
        lambda x: x[0].item(),
        lambda x: x.tolist(),
        lambda x: bool(x[0]),
        lambda x: float(x[0]),
        repr,
        np.asarray,
    ],
    ids=["numpy", "item", "tolist", "bool", "float", "repr", "asarray"],
)
def test_implicit_sync(look: Callable[[flow.Tensor], object], device: flow.Device) -> None:
    ready = flow.ones(4)
    with Gate() as gate:
        held = gate.on(device) + 1
        with flow.flags(implicit_sync="error"):
            look(ready)
            with pytest.raises(RuntimeError, match="waits for a tensor that is not ready"):
                look(held)
        shown: list[tuple[str, str]] = []

        def show(message: Warning | str, _: object, file: str, *__: object) -> None:
            shown.append((str(message), file))
            gate.open()

        with flow.flags(implicit_sync="warn"), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show  # type: ignore[assignment]
            look(held)
        assert "waits for a tensor that is not ready" in shown[0][0]
        assert shown[0][1] == __file__


def test_is_ready(device: flow.Device, naive: bool) -> None:
    if naive:
        assert (flow.ones(LARGE, device=device) + 1).is_ready()
        return
    with Gate() as gate:
        held = gate.on(device) * 2
        assert not held.is_ready()
    held.numpy()
    assert held.is_ready()


def test_the_watchdog_reports(run_program: Callable[..., object]) -> None:
    code = """
import threading, oneflow_lite as flow
x = flow.zeros(4)
opened = threading.Event()
call = flow.vm.host_func(lambda _: opened.wait(), writes=[x], name="slow one")
y = x.mock(0) + 1
threading.Timer(2, opened.set).start()
print(y.tolist())
"""
    done = run_program(code, hang_timeout="300ms")
    assert (done.returncode, done.stdout) == (0, "[1.0, 1.0, 1.0, 1.0]\n")
    assert "nothing has retired for 0.3 s while a thread waits" in done.stderr
    assert "slow one on cpu host_func, calling" in done.stderr
    assert re.search(r"add on mock:0 compute, waiting, .*program.py:6", done.stderr)


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("most", ["1024", "100000"])  # of the device: with so many, the window's
def test_the_watchdog_reports_a_thread_that_waits_for_room(
    run_program: Callable[..., object], device: str, most: str
) -> None:
    code = """
import sys, threading, oneflow_lite as flow
held = flow.zeros(3)
opened = threading.Event()
flow.vm.host_func(lambda _: opened.wait(), writes=[held], name="slow one")
x = held.to(sys.argv[1])
threading.Timer(2, opened.set).start()
for _ in range(3000):
    x = x + 1
print(x.tolist())
"""
    done = run_program(code, device, hang_timeout="300ms", max_in_flight=most)
    assert (done.returncode, done.stdout) == (0, "[3000.0, 3000.0, 3000.0]\n")
    assert "nothing has retired for 0.3 s while a thread waits" in done.stderr
    assert "slow one on cpu host_func, calling" in done.stderr


def test_the_watchdog_can_be_switched_off(run_program: Callable[..., object]) -> None:
    code = """
import threading, oneflow_lite as flow
opened = threading.Event()
threading.Timer(1, opened.set).start()
flow.vm.host_func(opened.wait).wait()
"""
    done = run_program(code, hang_timeout="0")
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_share_tensors(device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(0)
    host = [rng.standard_normal(size) for size in (3, 300, LARGE)]
    shared = [flow.tensor(array, device=device) for array in host]
    failures: list[str] = []

    def work(k: int) -> None:
        mine = [flow.zeros(array.size, device=device) for array in host]
        expected = [np.zeros(array.size) for array in host]
        for i, (x, y, array, out) in itertools.product(
            range(20), zip(shared, mine, host, expected, strict=True)
        ):
            y += x * (k + 1)
            out += array * (k + 1)
            if i % 7 == k and not np.array_equal(y.numpy(), out):
                failures.append(f"thread {k}, step {i}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_update_one_tensor(device: flow.Device) -> None:
    """Each update is one instruction that reads and writes: none is lost."""
    total = flow.zeros(LARGE, device=device)

    def work() -> None:
        for _ in range(50):
            total.__iadd__(1)

    threads = [in_thread(work) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert (total.numpy() == 200).all()


def test_naive_mode_may_be_switched_while_others_work(device: flow.Device) -> None:
    stop = threading.Event()
    sums: list[float] = []

    def work() -> None:
        x = flow.zeros(LARGE, device=device)
        count = 0
        while not stop.is_set():
            x += 1
            count += 1
        sums.append(x[0].item() - count)

    other = in_thread(work)
    try:
        for _ in range(30):
            with flow.flags(sync=True):
                assert (flow.ones(LARGE, device=device) + 1).sum().item() == 2 * LARGE
            assert (flow.ones(LARGE, device=device) + 1).sum().item() == 2 * LARGE
    finally:
        stop.set()
        other.join()
    assert sums == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="timer slack is Linux's")
def test_naps_of_workers_end_when_they_are_over() -> None:
    get_timer_slack = 30  # PR_GET_TIMERSLACK, in ns; 50 us by default

    def of_this_thread() -> int:
        return int(ctypes.CDLL(None).prctl(get_timer_slack, 0, 0, 0, 0))

    assert flow.vm.host_func(of_this_thread).result() == 1
