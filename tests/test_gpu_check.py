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

import pytest

import oneflow_lite as flow

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"

simulated = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None,
    reason="the simulated driver needs Linux and g++",
)


def run(*arguments: object, **flags: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
    environment |= {f"ONEFLOW_LITE_{name.upper()}": value for name, value in flags.items()}
    return subprocess.run(
        [sys.executable, FOLDER / "gpu_check.py", *map(str, arguments)],
        env=environment,
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


@simulated
def test_everything_runs_on_the_simulated_driver(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings")
    parts = ("machine", "chain", "stream", "dispatch", "launch", "reduce", "matmul", "accuracy")
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
    errors = json.loads((tmp_path / "gpu_check_accuracy.json").read_text())
    assert len(errors) > 5
    assert all({"op", "loop", "status"} <= set(line) for line in errors)
    trace = json.loads((tmp_path / "trace-cuda0.json").read_text())
    assert trace["traceEvents"]
    assert "| machine" in (tmp_path / "gpu_check.md").read_text()
    assert "simulation" in done.stdout


@simulated
def test_a_simulation_writes_nothing_unless_told_where() -> None:
    before = sorted(FOLDER.rglob("*.json"))
    done = run("--only", "launch", "--quick", cuda_sim="devices=1")
    assert done.returncode == 0, done.stderr
    assert "| launch" in done.stdout
    assert sorted(FOLDER.rglob("*.json")) == before


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
    assert sum(part.seconds for part in check.PARTS) < check.MOST_SECONDS < 480


def test_errors_are_measured_in_units_in_the_last_place(check: ModuleType) -> None:
    np = pytest.importorskip("numpy")
    accuracy = importlib.import_module("gpu_accuracy")
    one = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    near = np.nextafter(one, np.float32(9))
    found = accuracy.difference(one, near, [one])
    assert (found["ulp"], found["kinds"]) == (1.0, 1)  # the infinity has become finite
    assert accuracy.difference(one, one, [one]) == {"ulp": 0.0, "other": 0, "kinds": 0}
    assert accuracy.difference(one, one.astype(float), [one])["status"] == "FAILED"


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
