"""Everything that wants to be known of a GPU machine, in one run of less than eight minutes.

    python benchmarks/gpu_check.py                      # build, benchmarks, values, tests
    python benchmarks/gpu_check.py --quick              # in two minutes
    python benchmarks/gpu_check.py --only chain stream
    python benchmarks/gpu_check.py --output DIR         # holds everything that is written

Needs Python, NumPy, pybind11 and a C++ compiler for the build, cuda-bindings and NVRTC for the
device; no network. PyTorch, CuPy, JAX and numba take part where they are installed. Each part is a
process of its own with a time limit: what crashes or hangs is a row of the table. What calls of
the driver cost comes first, as that needs no build. Table, log (tracebacks, what the driver says of
the device), errors of every kernel and a trace of the stream are written to ``results/gpu``, anew
after each part, and what each part finds is shown at once. With ONEFLOW_LITE_CUDA_SIM the same
runs on the simulated driver, at small sizes, and writes nothing unless told where to.
"""

import argparse
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import gpu_sanitizer
import gpu_tests
from gpu_rows import FAILED, OK, SKIPPED, TOO_LONG, Row, Rows, markdown, read

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
SIMULATION = "ONEFLOW_LITE_CUDA_SIM"
MOST_SECONDS = 460.0  # for all; a rented machine is given back after eight minutes
QUICK = 0.25  # of the time of each part
SHARDS = 6  # processes of the accuracy part: each compiles its own kernels
LOOK_SECONDS = 120.0  # to import the package, which reads the driver


# Files that an earlier run may have left in the same folder.
LEFT_BEHIND = ("*.rows", "accuracy-*.json", "trace-*.json", "gpu_check.log", "test_*.txt")
OTHERS = ("torch", "cupy", "jax", "numba")  # read from the disk while the compiler works


@dataclass(frozen=True)
class Part:
    """What gpu_parts.py runs under this name, and the seconds that it is given."""

    name: str
    seconds: float
    shards: int = 1
    script: str = "gpu_parts.py"


DRIVER = Part("driver", 15, script="gpu_driver.py")  # before the build, of which it needs nothing
PARTS = (
    Part("machine", 20),
    Part("transfer", 20),
    Part("latency", 15),
    Part("calls", 15, script="gpu_calls.py"),
    Part("chain", 30),
    Part("stream", 30),
    Part("dispatch", 20),
    Part("launch", 15),
    Part("reduce", 20),
    Part("matmul", 30),
    Part("accuracy", 60, SHARDS),
    Part("engine", 20),
    Part("ranks", 15),
    Part("graph", 45),  # after accuracy, which compiles most of its kernels
)
EXAMPLES = Part("examples", 15)  # of which each tool of the sanitizer gets so much
SANITIZER, TESTS = "sanitizer", "tests"
NAMES = (DRIVER.name, "build", *(part.name for part in PARTS), SANITIZER, TESTS)


class Run:
    """One run of the check: where it writes, and when it must be over."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        for pattern in LEFT_BEHIND:
            for file in folder.glob(pattern):
                file.unlink()
        self.log = folder / "gpu_check.log"
        self.quick: bool = options.quick
        self.simulated = bool(os.environ.get(SIMULATION))
        self._end = time.monotonic() + MOST_SECONDS * (QUICK if self.quick else 1)
        self.rows: list[Row] = []

    def left(self) -> float:
        """Return the seconds until the run must be over."""
        return self._end - time.monotonic()

    def table(self) -> list[Row]:
        """Return the rows; those of a simulation say so."""
        if not self.simulated:
            return self.rows
        return [replace(row, note=f"simulation {row.note}".strip()) for row in self.rows]

    def note(self, part: str, question: str, **columns: object) -> None:
        """Add a row of the run's own."""
        self.rows.append(Row(part, question, **columns))  # type: ignore[arg-type]

    def environment(self) -> dict[str, str]:
        """Return what processes are given: this tree before all others."""
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def call(self, title: str, command: Sequence[str], seconds: float, **variables: str) -> int:
        """As ``heard``; return the status alone."""
        return self.heard(title, command, seconds, **variables)[0]

    def heard(
        self, title: str, command: Sequence[str], seconds: float, **variables: str
    ) -> tuple[int, str]:
        """Run a command; its output goes to the log. Returns its status, TOO_LONG when it was, and
        the output.

        The whole group of its processes ends with it; ``variables`` are its environment's.
        """
        began = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment() | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(max(1.0, seconds))
            except BaseException as error:  # nothing is left behind when this is interrupted
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                status = TOO_LONG
            output.seek(0)
            text = output.read().decode(errors="replace")
        took = time.monotonic() - began
        Rows("", self.log, self.log).log(f"{title}: status {status}, {took:.1f} s", text[-60_000:])
        return status, text


# --- the extension


def said(run: Run, code: str) -> tuple[int, str]:
    """Run Python code on this tree; return its status and its last line."""
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=run.environment(),
            capture_output=True,
            text=True,
            timeout=LOOK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TOO_LONG, f"it did not end in {LOOK_SECONDS:.0f} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def is_built(run: Run) -> bool:
    """Whether this Python can import the extension, and no source is newer."""
    status, file = said(run, "import oneflow_lite._C as c; print(c.__file__)")
    if status:
        return False
    built = Path(file).stat().st_mtime
    return all(path.stat().st_mtime <= built for path in (ROOT / "csrc").rglob("*.[hc]*"))


def build(run: Run) -> bool:
    """Build the extension with what is installed, unless it is there."""
    if is_built(run):
        run.note("build", "extension", note="is built")
        return True
    began = time.monotonic()
    how = ["setup.py", "build_ext", "--inplace"]
    if importlib.util.find_spec("setuptools") is None:
        how = [str(FOLDER / "gpu_build.py")]
    with imported_meanwhile(run):
        status = run.call("build", [sys.executable, *how], run.left())
    seconds = time.monotonic() - began
    if status == 0 and is_built(run):
        run.note("build", "extension", value=seconds, unit="s")
        return True
    note = f"{how[0]} ended with {status}: see {run.log.name}"
    run.note("build", "extension", value=seconds, unit="s", status=FAILED, note=note)
    return False


@contextmanager
def imported_meanwhile(run: Run) -> Iterator[None]:
    """Import other libraries, once: their first import on a machine takes long."""
    names = [name for name in OTHERS if importlib.util.find_spec(name) and not run.simulated]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", f"import {name}"],
            cwd=run.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for name in names
    ]
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def why_no_device(run: Run) -> str:
    """Return what is wrong, in one sentence; "" where there is a device."""
    status, line = said(run, "import oneflow_lite as f; print(f.cuda.unavailable_reason())")
    return f"oneflow_lite cannot be imported: {line or status}" if status else line


# --- its parts


def run_part(run: Run, part: Part) -> None:
    """Run a part; where it dies with nothing of ours done, once more without other libraries."""
    began = time.monotonic()
    seconds = min(part.seconds * (QUICK if run.quick else 1), run.left() - 2)
    if seconds < 3:
        run.note(part.name, "the whole part", status=SKIPPED, note="the time is up")
        return
    with ThreadPoolExecutor(part.shards) as pool:
        shards = range(part.shards)
        found = list(pool.map(lambda shard: shard_rows(run, part, shard, seconds, False), shards))
    rows = [row for one in found for row in one]
    if part.shards == 1 and not any(row.contender and row.status == OK for row in rows):
        again = min(seconds - (time.monotonic() - began), run.left() - 2)
        if any(row.status == FAILED for row in rows) and again > 5:
            rows += shard_rows(run, part, 0, again, True)
    run.rows += rows
    run.note(part.name, "the whole part", value=time.monotonic() - began, unit="s")


def part_command(run: Run, part: Part, file: Path, seconds: float, alone: bool) -> list[str]:
    """Return the command that runs a part, with rows to the file."""
    command = [sys.executable, str(FOLDER / part.script), part.name, "--rows", str(file)]
    command += ["--log", str(run.log), "--seconds", f"{seconds:.1f}"]
    return command + (["--tiny", "--alone"] if run.simulated else ["--alone"] if alone else [])


def shard_rows(run: Run, part: Part, shard: int, seconds: float, alone: bool) -> list[Row]:
    """Run a share of a part; return its rows, and one that says how it ended if not well."""
    suffix = f"-{shard}{'-alone' if alone else ''}"
    file = run.folder / f"{part.name}{suffix}.rows"
    file.unlink(missing_ok=True)
    command = part_command(run, part, file, seconds, alone)
    command += ["--shard", str(shard), str(part.shards)]
    # A part looks at its time itself; the limit is for what hangs.
    status = run.call(f"{part.name}{suffix}", command, min(1.3 * seconds + 5, run.left()))
    rows = read(file)
    if status:
        how = f"killed after {seconds:.0f} s" if status == TOO_LONG else f"ended with {status}"
        what = "without other libraries" if alone else f"shard {shard}"
        rows.append(Row(part.name, what, status=FAILED, note=f"{how}: see {run.log.name}"))
    return rows


def run_sanitizer(run: Run) -> None:
    """Run the examples under compute-sanitizer."""
    gpu_sanitizer.check(
        run,
        EXAMPLES.seconds * (QUICK if run.quick else 1),
        lambda file, seconds: part_command(run, EXAMPLES, file, seconds, True),
    )


def run_tests(run: Run) -> None:
    """Run the tests on the device in what is left of the time."""
    if run.left() < 10:
        run.note(TESTS, "all", status=SKIPPED, note="the time is up")
        return
    gpu_tests.check(run)


# --- what comes out


def save(run: Run) -> None:
    """Write what there is so far."""
    target = run.folder
    (target / "gpu_check.md").write_text(document(run) + "\n", encoding="utf-8")
    rows = [asdict(row) for row in run.table()]
    given = {"benchmark": "gpu_check", "date": date(), "simulation": run.simulated, "rows": rows}
    (target / "gpu_check.json").write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    accuracy = [
        line
        for file in sorted(target.glob("accuracy-*.json"))
        for line in json.loads(file.read_text(encoding="utf-8"))
    ]
    lines = ",\n".join(json.dumps(line) for line in accuracy)
    (target / "gpu_check_accuracy.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def document(run: Run) -> str:
    """Return the table in Markdown, with what it was measured on."""
    failed = [row for row in run.rows if row.status == FAILED]
    missed = [row for row in run.rows if row.status == OK and row.cells()[7] == "NO"]
    head = [
        f"# GPU check, {date()}",
        "Simulation: nothing here says how fast or right a device is." if run.simulated else "",
        f"{platform.node()}, {platform.platform()}, Python {platform.python_version()}; "
        f"{len(run.rows)} rows, {len(failed)} failed, {len(missed)} targets missed.",
        "Medians; the spread is the interquartile range. Ratios are taken within a turn.",
        markdown(run.table()),
    ]
    return "\n\n".join(filter(None, head))


def date() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the time")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="PART", help=", ".join(NAMES))
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: results/gpu")
    return parser.parse_args(arguments)


def step(run: Run, name: str, work: Callable[[], object]) -> None:
    """Do a part of the run, and write and show what it has found. It fails alone."""
    print(f"--- {name} ({run.left():.0f} s are left)", file=sys.stderr, flush=True)
    before = len(run.rows)
    try:
        work()
    except Exception as error:  # of the check itself; the other parts go on
        Rows(name, run.log, run.log).log(name, "".join(traceback.format_exception(error)))
        note = f"{type(error).__name__}: {error}"
        run.note(name, "the whole part", status=FAILED, note=note)
    save(run)
    print(markdown(run.table()[before:]), file=sys.stderr, flush=True)


def check(run: Run, only: Sequence[str]) -> bool:
    """Run the parts, and write after each what there is; False where nothing could be run."""
    if DRIVER.name in only:
        step(run, DRIVER.name, partial(run_part, run, DRIVER))
    if "build" in only:
        step(run, "build", partial(build, run))
        if any(row.part == "build" and row.status == FAILED for row in run.rows):
            return False
    reason = why_no_device(run)
    if reason:
        print(f"no GPU to check: {reason}", file=sys.stderr)
        return False
    work = [(part.name, partial(run_part, run, part)) for part in PARTS]
    work += [(SANITIZER, partial(run_sanitizer, run)), (TESTS, partial(run_tests, run))]
    for name, part in work:
        if name in only:
            step(run, name, part)
    return True


def main() -> int:
    options = parse_arguments()
    with ExitStack() as stack:
        target = options.output
        if target is None and not os.environ.get(SIMULATION):
            target = FOLDER / "results" / "gpu"
        folder = target or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="gpu_check-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(folder.resolve(), options)
        done = check(run, options.only or NAMES)
        if done:
            print(document(run))
            print(f"written to {target}" if target else "nothing is written: a simulation")
        elif any(row.status == FAILED for row in run.rows):
            print(run.log.read_text(encoding="utf-8")[-8000:], file=sys.stderr)
        return 0 if done else 1


if __name__ == "__main__":
    raise SystemExit(main())
