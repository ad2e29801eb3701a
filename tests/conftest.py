"""Fixtures of all tests: the devices present, and programs run as a user runs them; and the turns
that tests in several processes take.
"""

import fcntl
import functools
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.dtypes import SUPPORTED
from tests.support import ROOT
from tests.support.compiling import missing_for_simulation

# A shell that starts a program in the background has it ignore Ctrl-C, and what that starts, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PREFIX = "ONEFLOW_LITE_"
LIMITS = (PREFIX + "CPU_ISA",)  # of the whole run
# Arrays of a few thousand elements are work for a worker, and run as one, however busy the machine.
FLAGS = {
    "inline": "1us",
    "fusion": "always",
    "num_threads": str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()),
}


# A test has its turn as long as it holds the room: marked ``alone``, it shares it with no other one
# of this checkout, whichever process they are in. Who waits for the room holds the gate, so that
# nobody comes in before. A test that another one runs has that one's turn.
_IS_INNER = "PYTEST_CURRENT_TEST" in os.environ
_GATE, _ROOM = (os.open(path, os.O_RDONLY) for path in (ROOT / "tests", ROOT / "tests/cpp"))


@contextmanager
def _turn(alone: bool) -> Iterator[None]:
    fcntl.flock(_GATE, fcntl.LOCK_EX)
    fcntl.flock(_ROOM, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
    fcntl.flock(_GATE, fcntl.LOCK_UN)
    try:
        yield
    finally:
        fcntl.flock(_ROOM, fcntl.LOCK_UN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if _IS_INNER:
        return (yield)
    with _turn(item.get_closest_marker("alone") is not None):
        return (yield)


# What all tests of a folder need; the others say it themselves.
_NEEDS = {
    "contract/process": ["process"],
    "cpp": ["toolchain", "process"],
    "sim": ["toolchain", "process"],
}
_NO_SIMULATION = missing_for_simulation()


# Tests with a seed are many alike, of which the quick part has the first.
_QUICK_SEEDS = 6


@functools.cache
def _needs(path: Path) -> list[str]:
    """The marks of all tests of a file."""
    inside = path.relative_to(ROOT / "tests")
    return [mark for room, marks in _NEEDS.items() if inside.is_relative_to(room) for mark in marks]


_DTYPES = {dtype.name for dtype in SUPPORTED}
# Of the values of a parameter that is a dtype, those that other devices than the cpu have.
_FEW_DTYPES = {"bool", "int64", "float32", "complex64"}
# Where each dtype has a kernel of its own on cuda devices.
_OF_KERNELS = {
    *(f"ops/elementwise/test_{name}.py" for name in ("elementwise", "standard_values")),
    *("ops/indexing/test_basic.py", "ops/statistics/test_scan.py", "ops/sorting/test_sorting.py"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most dtypes of operations on mock devices, and on cuda devices that compute on the
    host: the kernels are those of the cpu, where all dtypes are.
    """
    if os.environ.get("OFL_TEST_EXHAUSTIVE") == "1":
        return
    alike: dict[object, list[pytest.Item]] = {}
    for item in items:
        if _has_kernels_of_the_cpu(item):
            alike.setdefault(_all_but_dtypes(item), []).append(item)
    left_out: set[pytest.Item] = set()
    for group in alike.values():
        few = [item for item in group if _dtypes(item) <= _FEW_DTYPES]
        left_out.update(set(group) - set(few or group[:1]))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _has_kernels_of_the_cpu(item: pytest.Item) -> bool:
    inside = item.path.relative_to(ROOT / "tests")
    device = str(_parameters(item).get("device", "cpu"))
    if device == "cpu" or inside.parts[0] not in ("ops", "tensor"):
        return False
    runs_kernels = device.startswith("cuda") and os.environ.get(PREFIX + "CUDA_KERNELS") != "0"
    return not (runs_kernels and inside.as_posix() in _OF_KERNELS)


def _all_but_dtypes(item: pytest.Item) -> object:
    others = [
        (name, repr(value))
        for name, value in _parameters(item).items()
        if _dtype_name(value) is None
    ]
    return item.nodeid.partition("[")[0], *sorted(others)


def _dtypes(item: pytest.Item) -> set[str]:
    names = map(_dtype_name, _parameters(item).values())
    return {name for name in names if name is not None}


def _dtype_name(value: object) -> str | None:
    """The name of a dtype; None for any other value of a parameter."""
    if isinstance(value, str):
        return value if value in _DTYPES else None
    is_dtype = isinstance(value, np.dtype) or (
        isinstance(value, type) and issubclass(value, np.generic)
    )
    return np.dtype(value).name if is_dtype else None


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by its folder and by what it uses."""
    marks = list(_needs(item.path))
    if isinstance(seed := _parameters(item).get("seed"), int) and seed >= _QUICK_SEEDS:
        marks.append("slow")
    if "run_program" in getattr(item, "fixturenames", ()):
        marks.append("process")
    if item.get_closest_marker("simulated") is not None:
        marks += ["toolchain", "process"]
        if _NO_SIMULATION is not None:
            item.add_marker(pytest.mark.skip(reason=_NO_SIMULATION))
    for mark in dict.fromkeys(marks):
        item.add_marker(mark)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of ``--dist loadgroup``, which here forgets a group when its tests have run.

    It counts over all groups that a worker was given, whenever a test ends. Most tests are groups
    of their own: for 26,000 of them it would count for minutes.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    scheduler = import_module("xdist.scheduler").LoadGroupScheduling(config, log)
    mark = scheduler.mark_test_complete

    def mark_and_forget(node: Any, item_index: int, duration: float = 0) -> None:
        group = scheduler._split_scope(scheduler.registered_collections[node][item_index])
        mark(node, item_index, duration)
        groups = scheduler.assigned_work[node]
        if all(groups[group].values()):
            del groups[group]

    scheduler.mark_test_complete = mark_and_forget
    return scheduler


def pytest_collection_finish() -> None:
    """The garbage collector need not go over what tens of thousands of collected tests are."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def work_for_workers() -> Iterator[None]:
    """Tests need not be large to reach the workers."""
    with flow.flags(**FLAGS):
        yield


@pytest.fixture(autouse=True)
def failures_end_with_their_test() -> Iterator[None]:
    """What synchronize() has yet to raise is raised here, not in the next test of this process."""
    yield
    with suppress(Exception):
        flow.synchronize()


@pytest.fixture(autouse=True)
def flags_end_with_their_test(work_for_workers: None) -> Iterator[None]:
    """A flag that a test leaves behind fails it, and not another test of this process."""
    before = repr(flow.flags)
    yield
    assert repr(flow.flags) == before


def _present(per_type: int) -> list[str]:
    """The cpu and the first devices of each other type."""
    return [str(device) for device in flow.devices() if device.index < per_type]


# What is computed on the second device of a type is computed as on the first: only here may it
# matter that there are two.
_FOR_SECOND_DEVICES = {
    *(f"contract/{name}" for name in ("bad_input", "errors", "faults", "host_func", "host_leak")),
    *(f"contract/{name}" for name in ("machine", "memory", "overlap", "profiler", "threads")),
    *("contract/random_programs", "contract/transfer", "ops/indexing/basic", "ops/random/random"),
    *(f"contract/process/{name}" for name in ("fork", "idle", "interrupt")),
    *(f"interop/{name}" for name in ("buffer", "cuda_interchange", "dlpack", "pickle")),
    *("cuda/devices", "interop/save_load", "interop/shared_memory", "tensor/tensor"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the fixture ``device`` its values, where a test does not give it others."""
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "device" not in metafunc.fixturenames or any("device" in names for names in given):
        return
    path = metafunc.definition.path.relative_to(ROOT / "tests").with_suffix("")
    if path.is_relative_to("cuda/kernels"):  # which has another fixture of this name
        return
    per_type = 2 if path.as_posix().replace("test_", "") in _FOR_SECOND_DEVICES else 1
    metafunc.parametrize("device", _present(per_type), indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> flow.Device:
    """Each device present, one after the other."""
    return flow.Device(request.param)


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """NumPy does not say what it thinks of infinities and NaN."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(params=[False, True], ids=["threaded", "naive"])
def naive(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Both modes of the machine."""
    with flow.flags(sync=request.param):
        yield request.param


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``code`` in a fresh Python, in an empty folder; keywords are flags (``sync="1"``)."""

    def run(
        code: str, *arguments: str, timeout: float = 120, **flags: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(PREFIX) or k in LIMITS
        }
        flags = FLAGS | flags
        environment |= {PREFIX + name.upper(): value for name, value in flags.items()}
        paths = [str(ROOT), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        (tmp_path / "program.py").write_text(code, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "program.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
