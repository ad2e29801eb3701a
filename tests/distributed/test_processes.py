"""Ranks that are processes, over the MPI library that is installed: what threads do, and faults.

Each start takes seconds, so one start of a number of ranks runs all tests of that many.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oneflow_lite.distributed.__main__ import command_of, in_parts
from tests.conftest import ROOT
from tests.support.distributed.mpi import BESIDE, Start, missing_for_processes

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def mpi() -> None:
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)


NAMES = (
    *("boxing", "operations", "functions", "random", "random_programs", "buckets", "runs"),
    *("sums", "partial_sums", "operands"),
)


@pytest.mark.parametrize(("ranks", "shares_memory"), [(3, "0"), (4, "1")])
def test_what_threads_do(ranks: int, shares_memory: str, start: Start) -> None:
    """The tests of threads as ranks, in each process of a world of so many."""
    done = start(
        ranks,
        *("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--color=no"),
        *(f"tests/distributed/test_{name}.py" for name in NAMES),
        *("--deselect", "tests/distributed/test_boxing.py::test_a_world_of_one_needs_no_start"),
        *(f"tests/distributed/test_files.py::test_{name}" for name in ("one_tensor", "a_set")),
        ccl_shared_memory=shares_memory,
    )
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"\d+ passed, \d+ skipped", done.stdout)) == ranks


# The program, after it has communicated once; how many ranks say what.
FAULTS = {
    "an exception": (
        "if rank == 1: raise ValueError('on purpose')\ntotal(flow.ones(5))",
        (2, r"RankError: rank 1: ValueError: on purpose, at .*program\.py:\d+"),
    ),
    "in a thread": (
        "if rank == 1:\n threading.Thread(target=lambda: 1 / 0).start()\n time.sleep(60)\n"
        "total(flow.ones(5))",
        (2, r"RankError: rank 1: ZeroDivisionError: division by zero, at .*program\.py:\d+"),
    ),
    "sys.exit": (
        "if rank == 1: sys.exit(3)\ntotal(flow.ones(5))",
        (2, r"DesyncError: rank 1 has ended; rank \d: collective \d+, .* at .*program\.py:\d+"),
    ),
    "an end": (
        "if rank != 1: total(flow.ones(5))",
        (2, r"DesyncError: rank 1 has ended; rank \d: collective \d+, .* at .*program\.py:\d+"),
    ),
    "os._exit": ("if rank == 1: os._exit(1)\ntotal(flow.ones(5))", (0, "")),
    "SIGKILL": ("if rank == 1: os.kill(os.getpid(), 9)\ntotal(flow.ones(5))", (0, "")),
    "SIGINT": (
        "if rank == 1: os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\ntotal(flow.ones(5))",
        (2, r"RankError: rank 1: KeyboardInterrupt, at .*program\.py:\d+"),
    ),
    "SIGSTOP": (
        "if rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\ntotal(flow.ones(5))",
        (2, r"RankError: waited 8 s .* for rank 1 in collective \d+, .* at .*program\.py:\d+"),
    ),
    "another operation": (
        "x = flow.ones(5).to_global(everywhere, sbp.partial_sum)\n"
        "x.to_global(sbp=sbp.split(0) if rank else sbp.broadcast).to_local().numpy()",
        (3, r"DesyncError: rank 0: .*reduce of.*program\.py:\d+; rank 1: .*reduce_scatter of"),
    ),
    "another shape": (
        "total(flow.ones(5 + rank))",
        (3, r"ValueError: \[to_global\] rank 0 has float64 \(5,\), rank 1 has float64 \(6,\)"),
    ),
    "another thread": (
        "threading.Thread(target=lambda: total(flow.ones(5))).start(); time.sleep(1)",
        (3, r"RuntimeError: \[distributed\] rank \d communicates from one thread"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, start: Start) -> None:
    """Nobody is left waiting, the status is not 0, and each rank says what it knows."""
    code, (ranks, pattern) = FAULTS[fault]
    done = start(3, code=code, ccl_timeout="8")  # longer than a crowded machine holds one up
    assert done.returncode > 0, done.stdout  # what has started them ended, too, by no signal
    if ranks:
        assert len(re.findall(pattern, done.stdout)) >= ranks, done.stdout


def test_an_interrupt_inside_save_is_told_to_the_others(start: Start, tmp_path: Path) -> None:
    done = start(
        2,
        code=f"""
from oneflow_lite.distributed import files, save
real = files.npy._create
def interrupted(*args, **names):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
files.npy._create = interrupted
x = flow.ones((4,), placement=everywhere, sbp=sbp.split(0))
try:
    save({str(tmp_path / "x.npy")!r}, x)
except BaseException as error:
    say("raised:", type(error).__name__)
files.npy._create = real
save({str(tmp_path / "x.npy")!r}, x)
say("saved:", total(flow.ones(5))[0])
""",
    )
    assert done.returncode == 0, done.stdout
    raised = sorted(re.findall(r"raised: (\w+)", done.stdout))
    assert raised == ["KeyboardInterrupt", "RankError"], done.stdout
    assert re.findall(r"saved: (\S+)", done.stdout) == ["2.0", "2.0"], done.stdout


def test_a_rank_that_has_ended_waits_for_the_others_without_its_core(start: Start) -> None:
    done = start(
        2,
        code="""
import pathlib
pid = total(flow.asarray([os.getpid() if rank == 1 else 0]))[0]
if rank == 0:
    def used():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    time.sleep(0.5)  # it ends meanwhile
    before = used()
    time.sleep(2)
    say("seconds:", used() - before)
""",
    )
    assert done.returncode == 0, done.stdout
    assert float(re.findall(r"seconds: (\S+)", done.stdout)[0]) < 1, done.stdout


def test_a_rank_says_in_one_piece_why_it_ends(start: Start) -> None:
    """Others write into the same terminal, also between two pieces."""
    done = start(
        2,
        code="""
import sys
class Pieces(list):
    write = list.append
    def flush(self): pass
sys.stderr = pieces = Pieces()
thread = threading.Thread(target=lambda: 1 / 0, name="helper")
thread.start()
thread.join()
sys.excepthook(ValueError, ValueError("on purpose"), None)
sys.stderr = sys.__stderr__
say(len(pieces), [piece.splitlines()[1] for piece in pieces])
""",
    )
    assert done.returncode != 0
    said = "2 ['Exception in thread helper:', 'ValueError: on purpose']"
    assert done.stdout.count(said) == 2, done.stdout


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_failed_operand_poisons_its_result_alone(size: int, start: Start) -> None:
    """Also where receives of large pieces have been posted, which then are cancelled."""
    done = start(
        3,
        code=f"""
size = {size}"""
        """
mine = flow.ones(size)
if rank == 1:
    def fail(_): raise ValueError("on purpose")
    flow.vm.host_func(fail, writes=[mine])
x = flow.ones(size).to_global(everywhere, sbp.partial_sum)
part = x.to_local()
part += mine
try:
    x.full().numpy()
except Exception as error:
    say(type(error).__name__, error)
say(total(flow.ones(1)))
assert total(flow.ones(size)) == [3.0] * size
""",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("[3.0]") == 3
    assert done.stdout.count("ValueError on purpose") == 1
    assert (
        len(re.findall(r"RankError rank 1: fail: on purpose; issued at .*:\d+", done.stdout)) == 2
    )


def test_a_forked_child_is_no_rank(start: Start) -> None:
    done = start(
        2,
        code="""
x = flow.ones(2).to_global(everywhere, sbp.partial_sum)
pid = os.fork()
if pid == 0:
    try:
        flow.distributed.rank()
    except RuntimeError as error:
        say(error)
    say((flow.ones(1) + 6).tolist())
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
say(x.full().tolist())
""",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("this process was forked from a rank, and is none") == 2
    assert done.stdout.count("[7.0]") == done.stdout.count("[2.0, 2.0]") == 2


def test_large_pieces_and_the_cores_of_a_rank(start: Start) -> None:
    done = start(
        2,
        code="""
for n in (1, 383, 384, 385, 8191, 8192, 8193, 3_000_000):  # a message has 3 KiB at most
    x = flow.arange(float(n)) * (rank + 1)
    assert total(x)[-1] == 3.0 * (n - 1), n
say(flow.flags.num_threads, flow.distributed.local_rank() == rank)
""",
    )
    assert done.returncode == 0, done.stdout
    cores = max(1, len(os.sched_getaffinity(0)) // 2)
    assert done.stdout.count(f"{cores} True") == 2


def test_a_file_in_small_pieces(start: Start) -> None:
    """Many calls of MPI, each with a few bytes, of any box."""
    done = start(
        3,
        code="""
import numpy as np
from oneflow_lite.distributed import processes
from oneflow_lite.distributed.agreement import together
from oneflow_lite.distributed.files import boxes, mpi

rng = np.random.default_rng(0)
for number in range(20):
    shape = tuple(int(n) for n in rng.integers(1, 9, size=rng.integers(1, 5)))
    whole = rng.integers(0, 99, size=shape)
    at, most, name = int(rng.integers(0, 50)), int(rng.integers(8, 99)), f"{number}.bin"
    where = flow.distributed.layout(shape, everywhere, sbp.split(int(rng.integers(len(shape)))))
    box = boxes.box_to_write(where, rank)
    together("test", lambda: rank == 0 and open(name, "wb").close())
    if box is not None:
        mpi.write(processes.mpi(), name, at, shape, box, whole[box], most)
    together("test", lambda: None)
    assert (np.fromfile(name, np.int64, offset=at).reshape(shape) == whole).all(), (shape, at)
say("whole")
""",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("whole") == 3


@pytest.mark.parametrize("limit", ["FSIZE", "NOFILE"])
def test_a_rank_that_cannot_write(limit: str, start: Start, tmp_path: Path) -> None:
    """A disk that is full, or no descriptor left: an error on all ranks, and the old file."""
    done = start(
        3,
        code=f"""
import resource
import numpy as np

x = flow.arange(3e5, placement=everywhere, sbp=sbp.split(0))
flow.distributed.save("x.npy", x)
least = len(os.listdir("/proc/self/fd")) if "{limit}" == "NOFILE" else 1_000_000
if rank == 1:
    hard = resource.getrlimit(resource.RLIMIT_{limit})[1]
    resource.setrlimit(resource.RLIMIT_{limit}, (least, hard))
    held = []
    while "{limit}" == "NOFILE":
        try:
            held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            break
try:
    flow.distributed.save("x.npy", x + 1)
except Exception as error:
    say(type(error).__name__, error)
if rank == 1:
    resource.setrlimit(resource.RLIMIT_{limit}, (hard, hard))
same = flow.distributed.load("x.npy", placement=everywhere, sbp=sbp.split(0))
say((same == x).all().item())
flow.distributed.save("x.npy", x + 1)
""",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("OSError [save] MPI") == 1
    assert len(re.findall(r"RankError \[save\] rank 1: OSError: \[save\] MPI", done.stdout)) == 2
    assert done.stdout.count("True") == 3
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x.npy"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "3"}, "Open MPI's mpiexec has started 3 processes, of which"),
        (
            {"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2"},
            "python -m oneflow_lite.distributed -n 2",
        ),
    ],
)
def test_other_launchers(variables: dict[str, str], message: str) -> None:
    code = "import oneflow_lite as flow; flow.distributed.rank()"
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert message in done.stderr


def test_words_of_the_launcher() -> None:
    assert in_parts(["-n", "4", "p.py", "-n", "5"]) == (["-n", "4"], ["p.py", "-n", "5"], [])
    assert in_parts(["--ranks=2", "-m", "a.b", "--", "x", "--", "--tag-output"]) == (
        *(["--ranks=2"], ["-m", "a.b", "--", "x"], ["--tag-output"]),
    )
    assert in_parts(["-n"]) == (["-n"], [], [])
    words = command_of(str(BESIDE), 2, ["--tag-output"], ["p.py", "1"])
    assert words[:3] == [str(BESIDE), "-n", "2"]
    assert words[-4:] == ["--tag-output", sys.executable, "p.py", "1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [((), "required: -n"), (("-n", "2"), "expected a program"), (("-n", "0", "p"), "got 0")],
)
def test_wrong_words(words: tuple[str, ...], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "oneflow_lite.distributed", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.skipif(
    not (BESIDE.parent / "ompi_info").exists(), reason="Open MPI outlives the death of a rank"
)
def test_survivors_of_a_killed_rank(start: Start, tmp_path: Path) -> None:
    done = start(
        3,
        *("--", "--with-ft", "ulfm"),
        code="""
import ctypes
from mpi4py import MPI
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
assert ctypes.c_bool.in_dll(ctypes.CDLL(MPI.__file__), "ompi_async_mpi_finalize")
x = flow.ones(5)
try:
    while True:
        total(x)
except flow.distributed.RankError as error:
    say(rank, error)
(x * rank).numpy().tofile(f"{rank}.bin")
say(rank, "goes on")
""",
    )
    for rank in (0, 2):
        assert f"{rank} rank 1 has died" in done.stdout, done.stdout
        assert f"{rank} goes on" in done.stdout, done.stdout
        assert (tmp_path / f"{rank}.bin").stat().st_size == 40


def test_a_process_that_a_rank_starts_is_a_world_of_its_own(start: Start) -> None:
    done = start(
        2,
        code="""
import subprocess
ask = "import oneflow_lite as flow; print(flow.distributed.world_size(), flow.device('mock'))"
done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
assert done.stdout == "1 mock:0\\n", done
total(flow.ones(2))
say("all is well")
""",
    )
    assert done.stdout.count("all is well") == 2, done.stdout
