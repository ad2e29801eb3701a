"""The tests on a GPU, in what is left of the time: files in processes of their own, several
at once, each with a limit, as a hang must not cost the rest.
"""

import importlib.util
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_rows import FAILED, OK, SKIPPED, TOO_LONG, Row

if TYPE_CHECKING:
    from gpu_check import Run

ROOT = Path(__file__).resolve().parent.parent
PART = "tests"
AT_ONCE = 4
MOST_SECONDS = 90.0  # for one file
# What a device shows first, then the rest. Each on the first device alone, unless -k says more.
FILES = (
    *("contract/test_transfer", "ops/elementwise/test_elementwise", "contract/test_errors"),
    *("contract/test_memory", "tensor/test_tensor", "ops/statistics/test_reduction"),
    *("ops/indexing/test_basic", "ops/linalg/test_matmul", "ops/creation/test_creation"),
    *("contract/test_threads", "ops/random/test_random", "ops/statistics/test_scan"),
    *("ops/sorting/test_sorting", "interop/test_dlpack", "contract/test_machine"),
    *("contract/test_faults", "ops/manipulation/test_manipulation"),
    *("ops/statistics/test_statistics", "ops/sorting/test_searchsorted", "ops/sorting/test_sets"),
    *("interop/test_pickle", "ops/indexing/test_advanced", "tensor/test_dtypes"),
    *("ops/test_utility", "contract/process/test_exit", "interop/test_numpy_protocols"),
    *("cuda/test_compiler",),
)
WHOLE = {"cuda/test_compiler"}  # about devices as a whole
ON_DEVICE = "cuda:0"
_COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")
_AGREED = re.compile(r"^seed \d+ has run$", re.MULTILINE)
_DONE = re.compile(r"^\S+::.* (PASSED|FAILED|ERROR|SKIPPED)", re.MULTILINE)


def check(run: "Run") -> None:
    """Add a row for each file: how many passed and failed; and for the random programs."""
    _random_programs(run)
    if importlib.util.find_spec("pytest") is None:
        run.note(PART, "all", status=SKIPPED, note="pytest is not installed")
        return
    files = FILES[:2] if run.simulated else FILES
    with ThreadPoolExecutor(AT_ONCE) as pool:
        run.rows += pool.map(lambda name: _file(run, name, True), files)
        # Then what is wrong without kernels of the device's own is the runtime's.
        run.rows += pool.map(lambda name: _file(run, name, False), files)


def _file(run: "Run", name: str, device_kernels: bool) -> Row:
    title = name if device_kernels else f"{name}, computing on the host"
    seconds = min(MOST_SECONDS, run.left() - 2)
    if seconds < 5:
        return Row(PART, title, status=SKIPPED, note="the time is up")
    chosen = [] if name in WHOLE else ["-k", ON_DEVICE]
    chosen = ["-k", f"{ON_DEVICE} and threaded"] if run.simulated else chosen
    report = run.folder / f"{Path(name).name}-{device_kernels:d}.txt"
    command = [sys.executable, "-m", "pytest", f"tests/{name}.py", "-v", "--tb=short", *chosen]
    command += ["-W", "default"]  # a warning of another library is no failure here
    command += ["-p", "no:cacheprovider", "-o", "console_output_style=classic"]
    shell = f"exec {' '.join(map(_quoted, command))} > {_quoted(str(report))} 2>&1"
    flag = {} if device_kernels else {"ONEFLOW_LITE_CUDA_KERNELS": "0"}
    status = run.call(f"{PART}: {title}", ["bash", "-c", shell], seconds, **flag)
    text = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
    if status:
        _keep(run, title, text)
    return _row(title, status, text)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _keep(run: "Run", name: str, text: str) -> None:
    with run.log.open("a", encoding="utf-8") as log:
        log.write(f"=== {PART}: {name}, what it said last\n{text[-20_000:]}\n\n")


def _row(name: str, status: int, text: str) -> Row:
    counts = {word: int(number) for number, word in _COUNTS.findall(text[-300:])}
    if status == 5 and not counts.get("passed"):
        return Row(PART, name, status=SKIPPED, note="no test of it is for this device")
    if not counts:  # it did not come to its end
        words = [word.lower() for word in _DONE.findall(text)]
        counts = {word: words.count(word) for word in dict.fromkeys(words)}
    note = ", ".join(f"{number} {word}" for word, number in counts.items()) or "nothing was run"
    endings = {0: "", 1: "", TOO_LONG: "; TIMED OUT"}
    note += endings.get(status, f"; ended with {status}")
    passed = float(counts.get("passed", 0))
    row = Row(PART, name, value=passed, unit="passed", note=note)
    bad = status != 0 or counts.get("failed", 0) or counts.get("error", 0)
    return Row(**{**vars(row), "status": FAILED}) if bad else row


def _random_programs(run: "Run") -> None:
    """Needs no pytest."""
    count = 3 if run.simulated else 200
    seconds = min(60.0, run.left() / 3)
    command = [sys.executable, "-m", "tests.support.random_program"]
    command += ["--layout", "cuda", "--keep-going"]
    status, text = run.heard("random programs", [*command, "--count", str(count)], seconds)
    run.rows.append(_random_row(count, status, text))


def _random_row(count: int, status: int, text: str) -> Row:
    """Those that ran out of time without a difference are right as far as they came."""
    question = "random programs, each layout with a cuda device, threaded and naive"
    done = len(_AGREED.findall(text))
    is_right = "FAILED" not in text and (status == 0 or (status == TOO_LONG and done > 0))
    notes = {0: f"all of {count}", 1: "see the log", TOO_LONG: f"partial: {done} of {count}"}
    return Row(
        *(PART, question),
        value=float(done),
        unit="programs",
        status=OK if is_right else FAILED,
        note=notes.get(status, f"ended with {status}, after {done} of {count}"),
    )
