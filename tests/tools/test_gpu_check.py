"""The check of a GPU machine, on the simulated driver: its parts work, whatever one of them does is
a row of its table, and it ends in time."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import oneflow_lite as flow
from tests.support import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.process]

FOLDER = ROOT / "benchmarks"


def environment(**flags: str) -> dict[str, str]:
    """The variables of this process, with these flags only."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
    return given | {f"ONEFLOW_LITE_{name.upper()}": value for name, value in flags.items()}


def run(*arguments: object, **flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FOLDER / "gpu_check.py", *map(str, arguments)],
        env=environment(**flags),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(scope="module")
def check() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("gpu_check")


WRONG = {"values", "launches", "steps", "programs"}  # of which there are to be none


@pytest.mark.simulated
def test_everything_runs_on_the_simulated_driver(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings")
    parts = ("driver", "machine", "transfer", "latency", "calls", "chain", "stream", "dispatch")
    parts += ("launch", "reduce", "matmul", "accuracy", "engine", "graph")
    done = run("--only", *parts, "--output", tmp_path, cuda_sim="devices=1")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    rows = found["rows"]
    assert found["simulation"]
    assert all(row["note"].startswith("simulation") for row in rows)
    failed = [row for row in rows if row["status"] == "FAILED"]
    assert not failed, (failed, (tmp_path / "gpu_check.log").read_text()[-6000:])
    for part in parts:
        assert any(row["part"] == part and row["value"] for row in rows), part
    assert any("copy bandwidth" in row["unit"] for row in rows)
    assert any("slowest stage" in row["unit"] for row in rows)
    values = {row["question"]: row["value"] for row in rows}
    for call in ("cuLaunchKernel", "cuMemGetInfo", "cuEventQuery", "cuCtxGetCurrent"):
        assert values[call] > 0
    assert values["a graph of 100 kernels replayed, and waited for"] > 0
    calls = [row for row in rows if row["unit"] == "calls"]
    assert len(calls) == 5
    assert "cuLaunchKernel 1," in calls[0]["note"]
    assert any(row["unit"] == "% of slowest alone" for row in rows)
    wrong = [row for row in rows if row["unit"].startswith("wrong")]
    assert {row["unit"].removeprefix("wrong ") for row in wrong} == WRONG
    assert not any(row["value"] for row in wrong)
    assert captured_kernels(rows) == 100
    errors = json.loads((tmp_path / "gpu_check_accuracy.json").read_text())
    assert len(errors) > 5
    assert all({"op", "loop", "status"} <= set(line) for line in errors)
    trace = json.loads((tmp_path / "trace-cuda0.json").read_text())
    assert trace["traceEvents"]
    assert "| machine" in (tmp_path / "gpu_check.md").read_text()
    assert "simulation" in done.stdout


def captured_kernels(rows: list[dict[str, Any]]) -> float:
    """How many of the small kernels of the part "graph" were in a graph."""
    found = [row for row in rows if row["unit"] == "kernels in graphs" and row["target"]]
    assert len(found) == 1, found
    return float(found[0]["value"])


PARTS_THAT_JUDGE = """
import sys
sys.path[:0] = {folders}
from pathlib import Path
import gpu_engine, gpu_graph
import oneflow_lite as flow
from gpu_parts import Setting
from gpu_rows import Rows
from oneflow_lite.engine.run import Run
jit, push = flow.jit, flow.engine.CudaKernel.push
{broken}
folder = Path({folder!r})
rows = Rows("engine", folder / "rows", folder / "log")
setting = Setting(20, True, True, (0, 1), folder)
gpu_engine._kernels(rows, setting, gpu_engine.found(rows, True))
gpu_engine._orders(rows, setting, gpu_engine._driver())
gpu_graph._many_kernels(rows, setting, gpu_graph.found(rows, True))
gpu_graph._bits(rows, setting, 0.0)
"""
LAUNCHES = "a kernel of one's own, 16 float32, sustained: lost"
OWN_STREAM, BITS = "steps out of order, on a stream of its own", "random jitted programs, replayed"
# What is done to the library -> the questions that are then answered badly, and captured kernels.
BROKEN: dict[str, tuple[str, set[str], int]] = {
    "nothing": ("", set(), 100),
    "a stream does not wait": ("Run._hand_to = lambda run, queue: None", {OWN_STREAM}, 100),
    "a launch is lost": (
        "turns = [0]\n"
        "def lossy(*given):\n"
        "    turns[0] += 1\n"
        "    return turns[0] == 5 or push(*given)\n"
        "flow.engine.CudaKernel.push = lossy",
        {LAUNCHES},
        100,
    ),
    "other bits": (
        "def other(function, **options):\n"
        "    run = jit(function, **options)\n"
        "    def call(*given):\n"
        "        first, *rest = run(*given)\n"
        "        return (first + 1, *rest)\n"
        "    call.report = run.report\n"
        "    return run if function is gpu_graph.many_kernels else call\n"
        "flow.jit = other",
        {BITS},
        100,
    ),
    "no graph": (
        "flow.jit = lambda f, **options: jit(f, **options | {'cuda_graph': False})",
        {BITS},
        0,
    ),
}


@pytest.mark.simulated
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_seen(check: ModuleType, tmp_path: Path, name: str) -> None:
    """What is broken has a failed row, and nothing else has. The check has a step that nobody
    orders: that it is late shows that a count of 0 means something."""
    pytest.importorskip("cuda.bindings")
    code, expected, kernels = BROKEN[name]
    folders = [str(FOLDER), str(ROOT)]
    program = PARTS_THAT_JUDGE.format(broken=code, folder=str(tmp_path), folders=folders)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(cuda_sim="devices=1,jitter=500us"),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [vars(row) for row in importlib.import_module("gpu_rows").read(tmp_path / "rows")]
    failed = {row["question"] for row in rows if row["status"] == "FAILED"}
    assert failed == expected, rows
    assert captured_kernels(rows) == kernels
    late = [row["value"] for row in rows if row["unit"] == "late steps"]
    assert len(late) == 1
    assert late[0] > 0


@pytest.mark.simulated
def test_a_simulation_writes_nothing_unless_told_where() -> None:
    before = sorted(FOLDER.rglob("*.json"))
    done = run("--only", "launch", "--quick", cuda_sim="devices=1")
    assert done.returncode == 0, done.stderr
    assert "| launch" in done.stdout
    assert "| launch" in done.stderr  # as soon as it is known
    assert sorted(FOLDER.rglob("*.json")) == before


@pytest.mark.simulated
def test_the_driver_is_asked_before_anything_is_built(tmp_path: Path) -> None:
    """By what needs neither the extension nor NVRTC; and a driver that is not there is a row."""
    folder = tmp_path / "found"
    done = run("--only", "driver", "--output", folder)
    rows = json.loads((folder / "gpu_check.json").read_text())["rows"]
    mine = [row for row in rows if row["part"] == "driver" and row["contender"]]
    if flow.cuda.is_available():
        assert all(row["status"] == "ok" for row in mine), rows
    else:
        assert done.returncode == 1
        assert {row["status"] for row in mine} == {"FAILED"}
        assert "libcuda.so.1" in mine[0]["note"]


@pytest.mark.simulated
def test_calls_are_counted_before_any_driver(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings")
    library = tmp_path / "libcuda.so.1"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    source = str(FOLDER / "call_counter.cpp")
    soname = f"-Wl,-soname,{library.name}"
    subprocess.run(["g++", *options, soname, source, "-o", str(library), "-ldl"], check=True)
    program = f"""
import ctypes
from sim.build import build
counter = ctypes.CDLL({str(library)!r}, ctypes.RTLD_GLOBAL)
assert counter.counter_open(str(build() / "libcuda.so.1").encode())
counter.counter_calls.restype = ctypes.c_uint64
from cuda.bindings import driver
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
blocks = [driver.cuMemAlloc(100)[1] for _ in range(5)]
assert all(int(driver.cuMemFree(block)[0]) == 0 for block in blocks[:3])
names = b"cuInit", b"cuMemAlloc", b"cuMemFree", b"cuNone"
calls = [counter.counter_calls(name) for name in names]
assert calls == [1, 5, 3, 0], calls
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=120)
    assert done.returncode == 0


@pytest.mark.skipif(flow.cuda.is_available(), reason="there is a device")
def test_without_a_gpu_it_says_so_in_a_sentence() -> None:
    done = run("--only", "launch")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("no GPU to check: ")
    assert done.stderr.count("\n") == 1


# --- what a part does to the run


@pytest.fixture
def a_run(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A run whose parts are played by a script."""
    (tmp_path / "gpu_parts.py").write_text(
        f"""
import os, sys, time
sys.path.insert(0, {str(FOLDER)!r})
from pathlib import Path
from gpu_rows import Rows
name, file, log = sys.argv[1], Path(sys.argv[3]), Path(sys.argv[5])
rows = Rows(name, file, log)
with rows.attempt("raises", "A"):
    raise ValueError("no")
if name != "dies at once" or "--alone" in sys.argv:
    rows.add("works", "B", value=1.0, unit="s")
print("said", flush=True)
if name == "hangs":
    time.sleep(100)
if name.startswith("dies") and "--alone" not in sys.argv:
    os.abort()
"""
    )
    monkeypatch.setattr(check, "FOLDER", tmp_path)
    monkeypatch.delenv("ONEFLOW_LITE_CUDA_SIM", raising=False)
    return check.Run(tmp_path, Namespace(quick=False))


@pytest.mark.parametrize("name", ["raises", "hangs", "dies", "dies at once"])
def test_what_a_part_does_is_a_row(check: ModuleType, a_run: object, name: str) -> None:
    began = time.monotonic()
    seconds = 12.0 if name == "dies at once" else 4.0
    check.run_part(a_run, check.Part(name, seconds))
    rows = a_run.rows  # type: ignore[attr-defined]
    assert time.monotonic() - began < 60
    raised = next(row for row in rows if row.question == "raises")
    assert (raised.status, raised.note) == ("FAILED", "ValueError: no")
    assert any(row.question == "works" and row.value == 1 for row in rows)
    ends = [row for row in rows if row.status == "FAILED" and row.contender == ""]
    assert bool(ends) == (name != "raises")
    log = (a_run.log).read_text()  # type: ignore[attr-defined]
    assert "said" in log
    assert 'raise ValueError("no")' in log


def test_a_part_whose_time_is_up_is_skipped(
    check: ModuleType, a_run: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(a_run), "left", lambda _: 1.0)
    check.run_part(a_run, check.PARTS[0])
    check.run_tests(a_run)
    assert [row.status for row in a_run.rows] == ["skipped"] * 2  # type: ignore[attr-defined]


def test_the_time_of_all_parts_is_less_than_eight_minutes(check: ModuleType) -> None:
    seconds = sum(part.seconds for part in (check.DRIVER, *check.PARTS))
    seconds += check.EXAMPLES.seconds * len(importlib.import_module("gpu_sanitizer").TOOLS)
    assert seconds < check.MOST_SECONDS < 480
    assert check.DRIVER.seconds < 120  # the first results


TOOL = """#!/bin/sh
tool="$2"
while [ "$1" != "PYTHON" ]; do shift; done
case "$tool" in
racecheck) "$@"; echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)" ;;
synccheck) echo "========= Barrier error detected. Divergent thread(s) in block"; exec sleep 100 ;;
*) "$@"; echo "========= ERROR SUMMARY: 0 errors" ;;
esac
"""


@pytest.mark.simulated
def test_a_sanitizer_says_what_it_found(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Played by a script, that hangs once."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(TOOL.replace("PYTHON", sys.executable))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ONEFLOW_LITE_CUDA_SIM", "devices=1")
    a_run = check.Run(tmp_path, Namespace(quick=False))
    gpu_sanitizer = importlib.import_module("gpu_sanitizer")
    monkeypatch.setattr(gpu_sanitizer, "TOOLS", ("memcheck", "racecheck"))
    check.run_sanitizer(a_run)
    monkeypatch.setattr(gpu_sanitizer, "TOOLS", ("synccheck",))
    monkeypatch.setattr(check, "EXAMPLES", check.Part("examples", 5.5))
    check.run_sanitizer(a_run)
    memcheck, racecheck, synccheck = a_run.rows
    assert (memcheck.status, memcheck.value, memcheck.note) == ("ok", 0, "3 examples")
    assert (racecheck.status, racecheck.value) == ("FAILED", 2)
    assert (synccheck.status, synccheck.value) == ("FAILED", 1)
    assert "stopped before its end" in synccheck.note


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (0, "seed 0 has run\nseed 1 has run\n2 programs", ("ok", 2, "all of 2")),
        (124, "seed 0 has run\n", ("ok", 1, "partial: 1 of 2")),
        (124, "FAILED on cuda, x\nseed 0 has run\n", ("FAILED", 1, "partial: 1 of 2")),
        (124, "", ("FAILED", 0, "partial: 0 of 2")),
        (1, "FAILED on cuda, x\nseed 0 has run\n", ("FAILED", 1, "see the log")),
        (-11, "seed 0 has run\n", ("FAILED", 1, "ended with -11, after 1 of 2")),
    ],
)
def test_random_programs_that_run_out_of_time_are_right_so_far(
    check: ModuleType, status: int, text: str, expected: tuple[str, int, str]
) -> None:
    row = importlib.import_module("gpu_tests")._random_row(2, status, text)
    assert (row.status, row.value, row.note) == expected


def test_a_trace_is_cut_to_what_can_be_sent(check: ModuleType, tmp_path: Path) -> None:
    streaming = importlib.import_module("gpu_streaming")
    file = tmp_path / "trace.json"
    events = [{"name": "x" * (i % 50), "ts": i} for i in range(1000)]
    whole = json.dumps({"displayTimeUnit": "ns", "traceEvents": events})
    file.write_text(whole)
    assert streaming.cut(file, len(whole)) == 0
    assert file.read_text() == whole
    left_out = streaming.cut(file, 20_000)
    assert 0 < left_out < 1000
    assert 15_000 < file.stat().st_size <= 20_000
    assert json.loads(file.read_text())["traceEvents"] == events[: 1000 - left_out]


def test_other_libraries_are_imported_meanwhile(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that hangs ends with the build."""
    (tmp_path / "quick_one.py").write_text("open('quick', 'w').close()\n")
    slow = "import os, time\nopen('slow', 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
    (tmp_path / "slow_one.py").write_text(slow)
    monkeypatch.setattr(check, "OTHERS", ("quick_one", "slow_one", "not_installed"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("ONEFLOW_LITE_CUDA_SIM", raising=False)
    folder = tmp_path / "found"
    folder.mkdir()
    with check.imported_meanwhile(check.Run(folder, Namespace(quick=False))):
        end = time.monotonic() + 30
        files = folder / "quick", folder / "slow"
        while time.monotonic() < end and not all(file.exists() for file in files):
            time.sleep(0.01)
        while time.monotonic() < end and not files[1].read_text():
            time.sleep(0.01)
        process = int(files[1].read_text())
    assert (folder / "quick").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_part_of_the_check_that_raises_costs_no_other(
    check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run = check.Run(tmp_path, Namespace(quick=False))

    def broken() -> None:
        raise OSError("no space left")

    check.step(a_run, "matmul", broken)
    check.step(a_run, "tests", lambda: a_run.note("tests", "all", value=1.0))
    assert [row.status for row in a_run.rows] == ["FAILED", "ok"]
    assert "OSError: no space left" in a_run.rows[0].note
    assert 'raise OSError("no space left")' in a_run.log.read_text()
    assert "| tests" in (tmp_path / "gpu_check.md").read_text()
    assert "| matmul" in capsys.readouterr().err


def test_errors_are_measured_in_units_in_the_last_place(check: ModuleType) -> None:
    np = pytest.importorskip("numpy")
    accuracy = importlib.import_module("gpu_accuracy")
    one = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    near = np.nextafter(one, np.float32(9))
    found = accuracy.difference(one, near, [one])
    assert (found["ulp"], found["kinds"]) == (1.0, 1)  # the infinity has become finite
    assert accuracy.difference(one, one, [one]) == {"ulp": 0.0, "other": 0, "kinds": 0}
    assert accuracy.difference(one, one.astype(float), [one])["status"] == "FAILED"


@pytest.mark.toolchain
def test_the_extension_is_built_without_setuptools(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pybind11")
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    monkeypatch.delenv("CXX", raising=False)
    (tmp_path / "csrc" / "deep").mkdir(parents=True)
    (tmp_path / "oneflow_lite").mkdir()
    (tmp_path / "csrc" / "answer.h").write_text("int answer();\n")
    (tmp_path / "csrc" / "deep" / "answer.cpp").write_text(
        '#include "answer.h"\nint answer() { return 42; }\n'
    )
    (tmp_path / "csrc" / "module.cpp").write_text(
        '#include <Python.h>\n#include "answer.h"\n'
        'static PyModuleDef def{PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr};\n'
        "PyMODINIT_FUNC PyInit__C() {\n"
        "  PyObject* made = PyModule_Create(&def);\n"
        '  PyModule_AddIntConstant(made, "answer", answer());\n  return made;\n}\n'
    )
    gpu_build = importlib.import_module("gpu_build")
    setup = (ROOT / "setup.py").read_text()
    assert [flag for flag in gpu_build.FLAGS if f'"{flag}"' not in setup] == ["-fPIC"]
    library = gpu_build.build(tmp_path)
    code = "import _C; print(_C.answer)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=library.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"
    objects = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.o")}
    assert len(objects) == 2
    gpu_build.build(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.o")} == objects
    (tmp_path / "csrc" / "module.cpp").write_text("nonsense")
    with pytest.raises(subprocess.CalledProcessError):
        gpu_build.build(tmp_path)
