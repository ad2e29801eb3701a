"""Contract 8: an idle process uses no CPU, whichever workers it has."""

import time
from collections.abc import Callable

import numpy as np
import pytest

import oneflow_lite as flow

pytestmark = pytest.mark.alone  # late wake-ups cost processor time


def use_cpu() -> None:
    (flow.ones(50_000) + 1).numpy()


def use_helpers() -> None:
    with flow.flags(num_threads=3):
        flow.exp(flow.ones(1_000_000)).numpy()


def use_mock() -> None:
    for i in range(2):
        x = flow.tensor(np.ones(50_000)).mock(i)
        (x + 1).cpu().numpy()
        x.mock(1 - i).numpy()


def use_host_functions() -> None:
    flow.vm.host_func(lambda: None).wait()


def use_barrier() -> None:
    flow.vm.barrier()
    flow.synchronize()


def use_naive_mode() -> None:
    with flow.flags(sync=True):
        use_cpu()
        use_mock()


def use_failure() -> None:
    with flow.flags(fail="launch:1"), pytest.raises(RuntimeError, match="injected"):
        (flow.ones(50_000, device="mock:0") + 1).numpy()
    with pytest.raises(RuntimeError, match="injected"):
        flow.synchronize()


def use_everything() -> None:
    for use in USES[:-1]:
        use()


USES: list[Callable[[], None]] = [
    *(use_cpu, use_helpers, use_mock, use_host_functions, use_barrier, use_naive_mode, use_failure),
    use_everything,
]


def share_of_cpu(seconds: float) -> float:
    """CPU time of all threads of the process over wall time, while this thread sleeps."""
    cpu, wall = time.process_time(), time.monotonic()
    time.sleep(seconds)
    return (time.process_time() - cpu) / (time.monotonic() - wall)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_idle(use: Callable[[], None]) -> None:
    """A worker that spins or polls never passes; a late wake-up of another test's thread may cost
    one measurement, so the best of three counts."""
    use()
    assert any(share_of_cpu(1.0) <= 0.01 for _ in range(3))


def test_waiting_for_a_slow_device_uses_little_cpu() -> None:
    """The worker of a busy queue naps between its looks, and so does the waiting thread."""
    shares = []
    for _ in range(3):
        with flow.flags(mock="h2d=400kB/s"):  # 1 s
            x = flow.tensor(np.ones(50_000)).mock(0)
            cpu, wall = time.process_time(), time.monotonic()
            x.numpy()
            shares.append((time.process_time() - cpu) / (time.monotonic() - wall))
        if shares[-1] <= 0.15:
            return
    pytest.fail(f"shares of a core: {shares}")
