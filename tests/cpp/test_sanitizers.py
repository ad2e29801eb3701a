"""The extension itself under a sanitizer: random programs of Python, the C++ below instrumented.

On request only, as it compiles the whole extension once for each (some minutes):
OFL_TEST_SANITIZERS=thread,address. The machine without Python always runs, in test_programs.py.

The programs on cuda devices have the simulated driver and its kernels under the sanitizer as well:
ThreadSanitizer then sees races between streams, AddressSanitizer kernels that leave their memory.

OFL_SANITIZED=FOLDER keeps what is built, for the next time.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import ROOT

RANDOM = ("-m", "tests.support.random_program")
FUSION = ("-m", "tests.support.fusion_program")
FUNCTIONS = ("-m", "tests.support.graphs.functions")
PYTEST = ("-m", "pytest", "-q")
REQUESTED = os.environ.get("OFL_TEST_SANITIZERS", "").split(",")
# AddressSanitizer must find the C++ runtime that Python itself does not load.
LIBRARIES = {"thread": ("libtsan.so",), "address": ("libasan.so", "libstdc++.so")}
# No program needs a GiB at once, and ThreadSanitizer takes eight times what is written. Without a
# sanitizer a limit of addresses refuses it.
COMMON = "halt_on_error=1 allocator_may_return_null=1 max_allocation_size_mb=1024"
# glibc frees what was local to a thread when another one gets its stack; its lock is not seen.
SUPPRESSED = "race:_dl_deallocate_tls\n"
OPTIONS = {
    # Python's own memory is not the subject; fork in a program with threads is.
    "thread": {"TSAN_OPTIONS": f"{COMMON} exitcode=66 die_after_fork=0"},
    "address": {"ASAN_OPTIONS": f"{COMMON} detect_leaks=0"},
}


def libraries(sanitizer: str) -> str:
    """What LD_PRELOAD wants."""
    compiler = shlex.split(os.environ.get("CXX", "g++"))  # "ccache g++" is two words
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]}")
    paths = []
    for name in LIBRARIES[sanitizer]:
        command = [*compiler, f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not os.path.isabs(path):
            pytest.skip(f"{shlex.join(compiler)} has no {name}")
        paths.append(path)
    return " ".join(paths)


@pytest.fixture(scope="module", params=LIBRARIES)
def sanitized(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """A copy of the tree, built with the sanitizer, and the environment that runs it."""
    sanitizer = request.param
    if sanitizer not in REQUESTED:
        pytest.skip(f"on request: OFL_TEST_SANITIZERS={sanitizer}")
    preload = libraries(sanitizer)
    kept = os.environ.get("OFL_SANITIZED")
    tree = Path(kept, sanitizer) if kept else tmp_path_factory.mktemp(sanitizer)
    for folder in ("csrc", "oneflow_lite", "sim", "tests", "examples"):
        ignored = shutil.ignore_patterns("*.so", "*.pyc")
        shutil.copytree(ROOT / folder, tree / folder, ignore=ignored, dirs_exist_ok=True)
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tree,
        env=os.environ | {"OFL_SANITIZE": sanitizer},
        check=True,
        capture_output=True,
    )
    environment = os.environ | OPTIONS[sanitizer]
    if sanitizer == "thread":
        suppressions = tree / "suppressions.txt"
        suppressions.write_text(SUPPRESSED)
        environment["TSAN_OPTIONS"] += f" suppressions={suppressions}"
    environment |= {"LD_PRELOAD": preload, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"OFL_SIM_SANITIZE": sanitizer, "TMPDIR": str(tmp_path_factory.mktemp("images"))}
    return tree, environment


def run(
    sanitized: tuple[Path, dict[str, str]], command: Sequence[str], **flags: str
) -> subprocess.CompletedProcess[str]:
    """Run Python on the sanitized copy; keywords are flags (``sync="1"``)."""
    tree, environment = sanitized
    given = {f"ONEFLOW_LITE_{name.upper()}": value for name, value in flags.items()}
    # The shadow memory of ThreadSanitizer wants addresses that are not random.
    fixed = ["setarch", "-R"] if "libtsan" in environment["LD_PRELOAD"] else []
    return subprocess.run(
        [*(fixed if shutil.which("setarch") else []), sys.executable, *command],
        cwd=tree,
        env=environment | given,
        capture_output=True,
        text=True,
        timeout=2400,  # later than what it starts: that ends with a report
        check=False,
    )


def is_clean(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert "Sanitizer" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        [*RANDOM, "--seed", "1", "--count", "40"],
        [*FUSION, "--seed", "1", "--count", "40"],
        [*PYTEST, "tests/contract/test_machine.py", "-k", "not watchdog and not slow_copy"],
        [*PYTEST, "tests/contract/test_errors.py", "tests/contract/test_faults.py"],
        # What is left out compiles kernels, which takes as long as everything else.
        [
            *(*PYTEST, "tests/contract/test_host_func.py", "tests/contract/test_overlap.py"),
            *("-k", "not simulated_gpu"),
        ],
        [*PYTEST, "tests/contract/test_threads.py", "-k", "batches or named or piece"],
        [*PYTEST, "tests/ops/linalg/test_matmul.py", "-k", "not_finite or several_threads"],
        [*PYTEST, "tests/contract/test_hostile.py"],
        [
            *(*PYTEST, "tests/graph/test_run_modes.py", "tests/graph/test_executables.py"),
            *("tests/graph/running/test_injected_failures.py", "-k", "not mixed and not process"),
        ],
        [*FUNCTIONS, "--seed", "1", "--count", "8", "--threads", "3"],
        ["-m", "tests.support.engine", "--programs", "300", "--timeout", "300"],
        [*PYTEST, "tests/engine/test_engine.py", "tests/engine/test_devices.py"],
        # TensorStore is not instrumented.
        [*PYTEST, "tests/distributed", "-m", "not process", "-k", "not file"],
        [
            *(*PYTEST, "tests/graph/running/test_captured.py"),
            *("tests/graph/lanes/test_recorded_lanes.py", "tests/graph/lanes/test_shared_bytes.py"),
        ],
        [*PYTEST, "tests/ops/random/test_many_numbers.py"],
        [*PYTEST, "tests/ops/elementwise/test_float_functions.py"],
    ],
    ids=[
        *("random programs", "fusion programs", "machine", "faults", "host functions", "threads"),
        *("products", "hostile objects", "recorded programs", "random functions"),
        *("pushed programs", "pushed functions", "ranks"),
        *("lanes and device graphs", "random numbers", "functions of floats"),
    ],
)
def test_python(sanitized: tuple[Path, dict[str, str]], command: list[str]) -> None:
    is_clean(run(sanitized, command))


# --- on the simulated driver

needs_bindings = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None or sys.platform != "linux",
    reason="the simulated driver needs Linux, its tests cuda-bindings",
)
JITTER = "devices=2,jitter=100us,seed=5"
# A small device has no slabs. Each block then ends where AddressSanitizer looks.
SIMULATED = {"thread": JITTER, "address": f"{JITTER},memory=200MB"}
TWO_STREAMS = """
import sys
import numpy as np, oneflow_lite as flow, sim
a = np.ones(200_000, np.float32)
assert (flow.tensor(a, device="cuda:0") + 1).numpy().sum() == 2 * a.size  # the kernel is compiled
flow.synchronize()
if len(sys.argv) > 1:
    sim.configure(f"omit={sys.argv[1]}:1")  # of h2d by compute, or of compute by d2h
x = flow.tensor(a, device="cuda:0") + 1
x.cpu().numpy()
"""
WIDER_FILL = """
import os, sys, tempfile
import oneflow_lite as flow
from oneflow_lite.cuda import compiler
flow.zeros(3, dtype="int8", device="cuda:0").numpy()
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()  # what is wrong is not kept
compile_kernel = compiler.compile
def wider(source, arch, options=()):
    assert "args.count" in source
    return compile_kernel(source.replace("args.count", "(args.count + 5000)"), arch, options)
if len(sys.argv) > 1:
    compiler.compile = wider
flow.full(1000, 7, dtype="int32", device="cuda:0").numpy()
"""


@needs_bindings
@pytest.mark.parametrize(
    "command",
    [
        [*RANDOM, "--layout", "cuda", "--seed", "1", "--count", "10"],
        [*RANDOM, "--layout", "cuda", "--count", "4", "--threads", "3"],
        [*FUSION, "--device", "cuda:0", "--seed", "1", "--count", "3"],
        [*PYTEST, "tests/cuda/test_devices.py"],
        [*PYTEST, "tests/contract/test_transfer.py", "tests/contract/test_errors.py", "-k", "cuda"],
        [*PYTEST, "tests/graph/cuda/test_segments.py"],
        [*PYTEST, "tests/graph/cuda/test_graphs.py"],
    ],
    ids=[
        *("random programs", "several threads", "fusion programs", "cuda", "transfers"),
        *("segments", "graphs"),
    ],
)
def test_python_on_simulated_devices(
    sanitized: tuple[Path, dict[str, str]], command: list[str]
) -> None:
    is_clean(run(sanitized, command, cuda_sim=SIMULATED[sanitized[1]["OFL_SIM_SANITIZE"]]))


WRONG = {  # program, its argument, what is reported
    "thread": (TWO_STREAMS, "cuStreamWaitEvent", "data race"),
    "address": (WIDER_FILL, "wider", "AddressSanitizer: heap-"),  # overflow, or use after free
}


@needs_bindings
def test_a_missing_wait_and_a_store_out_of_bounds_are_reported(
    sanitized: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    sanitizer = sanitized[1]["OFL_SIM_SANITIZE"]
    code, argument, report = WRONG[sanitizer]
    program = tmp_path / "program.py"
    program.write_text(code, encoding="utf-8")
    is_clean(run(sanitized, [str(program)], cuda_sim=SIMULATED[sanitizer]))
    done = run(sanitized, [str(program), argument], cuda_sim=SIMULATED[sanitizer])
    assert report in done.stderr, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert done.returncode != 0
