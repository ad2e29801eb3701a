"""Programs on the simulated driver: one that forks while it compiles, and ones under sanitizers.

The sanitizers are on request, as in cpp/test_sanitizers.py: OFL_TEST_SANITIZERS=thread,address.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

SIM = Path(__file__).parent
REQUESTED = os.environ.get("OFL_TEST_SANITIZERS", "").split(",")
COMPILER = shlex.split(os.environ.get("CXX", "g++"))

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the simulation needs Linux"),
    pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason=f"no {COMPILER[0]}"),
    pytest.mark.skipif(not (ROOT / "sim").is_dir(), reason="not a checkout"),
]


def run(
    command: list[str], timeout: float = 300, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Without knobs from outside; a store out of bounds may make a process hang."""
    environment = {k: v for k, v in os.environ.items() if k != "ONEFLOW_LITE_CUDA_SIM"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_a_child_that_leaves_takes_nothing_from_a_compiler(tmp_path: Path) -> None:
    """Nor does the process itself, of a compiler in the background: what it writes to stays."""
    program = """
import os, pathlib, sys, threading, time, sim
begun, go = map(pathlib.Path, sys.argv[1:])
images = []
source = 'extern "C" __global__ void one(int* p) { *p = 1; }'
thread = threading.Thread(target=lambda: images.append(sim.compile(source, "sm_90")))
thread.start()
while not begun.exists():
    time.sleep(0.01)
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
go.touch()
thread.join()
assert len(images) == 1
"""
    begun, go, compiler = tmp_path / "begun", tmp_path / "go", tmp_path / "compiler.sh"
    compiler.write_text(
        f"touch {begun}\nwhile [ ! -e {go} ]; do sleep 0.01; done\n"
        f'exec {shlex.join(COMPILER)} "$@"\n'
    )
    arguments = [sys.executable, "-c", program, str(begun), str(go)]
    done = run(arguments, CXX=f"sh {compiler}")
    assert done.returncode == 0, done.stderr


def built_program(sanitizer: str, folder: Path) -> list[str]:
    """The command of tests/sim/streams.cpp, with the driver and its kernels under the sanitizer."""
    make = (
        "import sys, sim, sim.compiler\n"
        "from importlib import import_module\n"
        "name, source, target = sys.argv[1:]\n"
        "open(target, 'wb').write(sim.compile(open(source).read(), 'sm_90', sanitizer=name))\n"
        "print(import_module('sim.build').build(sanitizer=name))\n"
    )
    image, program = folder / "kernels.so", folder / "streams"
    kernels = str(SIM / "streams.cu")
    done = run([sys.executable, "-c", make, sanitizer, kernels, str(image)])
    assert done.returncode == 0, done.stderr
    libraries = done.stdout.strip()
    flags = ["-std=c++17", "-g1", "-O1", f"-fsanitize={sanitizer}", "-pthread"]
    source = str(SIM / "streams.cpp")
    done = run([*COMPILER, *flags, source, "-o", str(program), "-ldl"])
    assert done.returncode == 0, done.stderr
    return [str(program), f"{libraries}/libcuda.so.1", str(image)]


@pytest.mark.parametrize(
    ("sanitizer", "mode", "report"),
    [
        ("thread", "waits", ""),
        ("thread", "does not wait", "data race"),
        ("thread", "host does not wait", "data race"),
        ("address", "in bounds", ""),
        ("address", "out of bounds", "heap-buffer-overflow"),
        ("address", "after free", "use-after-poison"),
    ],
)
def test_sanitizers_see_what_programs_forget(
    tmp_path: Path, sanitizer: str, mode: str, report: str
) -> None:
    if sanitizer not in REQUESTED:
        pytest.skip(f"on request: OFL_TEST_SANITIZERS={sanitizer}")
    command = built_program(sanitizer, tmp_path)
    if sanitizer == "thread" and shutil.which("setarch"):
        command = [
            "setarch",
            "-R",
            *command,
        ]  # its shadow memory wants addresses that are not random
    for _ in range(5):
        done = run([*command, mode], TMPDIR=str(tmp_path))  # where images stay, for symbols
        if report:
            assert report in done.stderr, f"{done.stdout}\n{done.stderr[-4000:]}"
        else:
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-8000:]}"
            assert "Sanitizer" not in done.stderr
