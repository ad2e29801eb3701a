"""Flag benchmark: one operation after the other, and a table of where the time goes."""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.machine import run_in_threads

SIZE = 25_000


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    _C.benchmark_clear()
    yield
    _C.benchmark_clear()


def table() -> dict[str, tuple[int, float, float, float]]:
    """Calls, total in ms, mean in us and MB, by operation."""
    head, *lines = flow.vm.benchmark_report().splitlines()
    assert head.split() == ["operation", "calls", "total", "ms", "mean", "us", "MB"]
    rows = [line.rsplit(maxsplit=4) for line in lines]
    return {name: (int(n), float(ms), float(us), float(mb)) for name, n, ms, us, mb in rows}


def test_calls_time_and_bytes(device: flow.Device) -> None:
    x = flow.ones(SIZE, device=device)
    with flow.flags(benchmark=True, fusion="always"):
        for _ in range(5):
            y = x + 1
        z = flow.tanh(y)
        assert z.is_ready()
    rows = table()
    assert rows["add"][0] == 5
    assert rows["tanh"][0] == 1
    assert rows["add"][3] == pytest.approx(5 * 2 * 8 * SIZE * 1e-6, abs=1e-3)
    for calls, total, mean, _ in rows.values():
        assert mean == pytest.approx(total * 1e3 / calls, abs=1.0)


def test_the_time_is_that_of_the_device() -> None:
    with flow.flags(mock="compute=1250k/s"):  # 20 ms for each operation
        x = flow.ones(SIZE, device="mock:0")
        with flow.flags(benchmark=True):
            for _ in range(3):
                x = x * 2
    calls, total, _, _ = table()["multiply"]
    assert calls == 3
    assert total >= 3 * 19


def test_operations_run_one_by_one() -> None:
    with (
        flow.flags(mock="compute=1250k/s", benchmark=True, fusion="always"),
        flow.profiler.profile() as prof,
    ):
        for lane in range(3):
            with flow.vm.lane(lane):
                x = flow.ones(SIZE, device="mock:0") * 2
                (x + 1).mock(1)
    runs = sorted((r.begin, r.end) for r in prof.records if r.kind == "run")
    assert len(runs) == 12
    assert all(a[1] <= b[0] for a, b in pairwise(runs))
    assert not any(r.group for r in prof.records)


def test_outside_of_the_scope_nothing_counts() -> None:
    with flow.flags(benchmark=True):
        (flow.ones(9) + 1).numpy()
    before = flow.vm.benchmark_report()
    (flow.ones(9) + 1).numpy()
    assert flow.vm.benchmark_report() == before
    assert table()["add"][0] == 1
    assert flow.vm.benchmark_report(clear=True) == before
    assert table() == {}


def test_the_end_of_the_scope_leaves_naive_mode_as_it_was() -> None:
    def is_naive() -> bool:
        with flow.flags(mock="compute=1250k/s"):
            x = flow.ones(SIZE, device="mock:0") * 2
            ready = x.is_ready()
            flow.synchronize()
        return ready

    assert not is_naive()
    with flow.flags(benchmark=True):
        assert is_naive()
        with flow.flags(sync=True):
            assert is_naive()
        assert is_naive()
    assert not is_naive()
    with flow.flags(sync=True):
        with flow.flags(benchmark=True):
            pass
        assert is_naive()


def test_in_several_threads(device: flow.Device) -> None:
    x = flow.ones(SIZE, device=device)

    def work(_: int) -> None:
        for _ in range(25):
            flow.sqrt(x)

    with flow.flags(benchmark=True):
        run_in_threads(work, 4)
    assert table()["sqrt"][0] == 100


def test_with_checked_results() -> None:
    with flow.flags(benchmark=True, check_nan_inf=True):
        (flow.ones(9) + 1).numpy()
        with pytest.raises(FloatingPointError):
            (flow.ones(9) / 0).numpy()
    rows = table()
    assert rows["add"][0] == rows["divide"][0] == 1
    assert rows["check_nan_inf"][0] == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_begins_a_table_of_its_own() -> None:
    with flow.flags(benchmark=True):
        flow.ones(9) + 1
        child = os.fork()
        if child == 0:
            code = 1
            try:
                flow.ones(9) * 2
                code = 0 if "add" not in table() and table()["multiply"][0] == 1 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "multiply" not in table()
    assert table()["add"][0] == 1


def test_the_variable_prints_at_exit(run_program: Callable[..., Any]) -> None:
    code = "import oneflow_lite as flow\nfor _ in range(7): flow.ones(9) + 1\n"
    done = run_program(code, benchmark="1")
    assert done.returncode == 0
    assert done.stdout == ""
    head, *rows = done.stderr.splitlines()
    assert head.startswith("operation")
    assert {row.split()[0]: row.split()[1] for row in rows} == {"full": "7", "add": "7"}
    assert run_program(code).stderr == ""
