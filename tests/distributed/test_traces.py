"""Traces of many ranks: a file a process, merged on one clock; lanes of ranks that are threads."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import launchers
from oneflow_lite.distributed import placement, sbp
from oneflow_lite.profiler import merge, profile, ranks
from tests.support.distributed.mpi import Start

Event = dict[str, Any]


def program(times: int = 3) -> list[float]:
    everywhere = placement.all("cpu")
    x = flow.ones(4)
    for _ in range(times):
        x = x.to_global(everywhere, sbp.partial_sum).full()
    return [float(number) for number in x.tolist()]


def lanes_of(events: list[Event]) -> dict[tuple[int, int], str]:
    named = [e for e in events if e["name"] == "thread_name"]
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in named}


def check_collectives(events: list[Event], world: int) -> None:
    """Each has a slice on every rank, and arrows from the last one that came to all others."""
    meetings = defaultdict(list)
    for event in events:
        if event.get("cat") == "run" and "collective" in event["args"]:
            meetings[event["args"]["group"], event["args"]["collective"]].append(event)
    assert len(meetings) >= 6
    assert len({number for _, number in meetings}) == len(meetings)  # there is one group
    arrows = [e for e in events if e.get("cat") == "collective"]
    begins = {e["id"]: e for e in arrows if e["ph"] == "s"}
    ends = {e["id"]: e for e in arrows if e["ph"] == "f"}
    assert begins.keys() == ends.keys()
    assert len(arrows) == 2 * len(begins)
    used = {e["id"] for e in events if e["ph"] in "sf" and e not in arrows}
    assert not used & begins.keys()
    others = defaultdict(set)
    for number, begin in begins.items():
        others[begin["pid"], begin["tid"], begin["ts"]].add(
            (ends[number]["pid"], ends[number]["tid"])
        )
    for slices in meetings.values():
        assert sorted(e["args"]["rank"] for e in slices) == list(range(world))
        assert all(e["args"]["bytes"] >= 0 for e in slices if "bytes" in e["args"])
        last = max(slices, key=lambda e: float(e["ts"]))
        places = {(e["pid"], e["tid"]) for e in slices}
        begin = (last["pid"], last["tid"], last["ts"])
        assert others[begin] == places - {begin[:2]}
        for event in slices:  # nobody is through before all have come
            assert event["ts"] + event["dur"] >= last["ts"]


def test_ranks_that_are_threads(naive: bool) -> None:
    with profile() as prof:
        flow.distributed.run(program, 3)
    names = set(lanes_of(prof.events).values())
    assert {f"rank {rank}" for rank in range(3)} <= names
    assert {f"cpu ccl of rank {rank}" for rank in range(3)} <= names
    check_collectives(prof.events, 3)


def test_worlds_one_after_the_other() -> None:
    with profile() as prof:
        for _ in range(2):
            flow.distributed.run(program, 2)
    slices = [e for e in prof.events if e.get("cat") == "run" and "collective" in e["args"]]
    arrows = [e for e in prof.events if e.get("cat") == "collective" and e["ph"] == "s"]
    assert len(slices) == 2 * len(arrows)


def test_one_rank_has_no_lanes_of_ranks() -> None:
    with profile() as prof:
        program()
    assert not any("rank" in name for name in lanes_of(prof.events).values())


# --- merging


def trace(rank: int, **notes: Any) -> dict[str, Any]:
    """Of a rank that has come to one collective."""
    args = {"rank": rank, "group": "1f", "collective": 0}
    events = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "oneflow_lite"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 1, "args": {"name": "cpu ccl"}},
        *(
            {"ph": phase, "name": "issue", "cat": "issue", "pid": 7, "tid": 1, "ts": 0.0, "id": 1}
            for phase in "sf"
        ),
        {
            **{"ph": "X", "name": "gather", "cat": "run", "pid": 7, "tid": 1},
            **{"ts": 2.0, "dur": 3.0, "args": args},
        },
    ]
    own = ranks.Rank(rank, 2, "a run", f"host{rank}", 0, 0)._asdict()
    said = {"clock": "CLOCK_MONOTONIC", "start_ns": 10_000} | own | notes
    return {"traceEvents": events, "otherData": said}


def written(folder: Path, *traces: object) -> list[Path]:
    paths = [folder / f"trace.rank{number}.json" for number in range(len(traces))]
    for path, given in zip(paths, traces, strict=True):
        path.write_text(given if isinstance(given, str) else json.dumps(given))
    return paths


def merged(folder: Path, *traces: object) -> list[Event]:
    merge(written(folder, *traces), folder / "trace.json")
    events: list[Event] = json.loads((folder / "trace.json").read_text())["traceEvents"]
    return events


def test_times_are_of_one_clock(tmp_path: Path) -> None:
    """Rank 1 began 1 us after rank 0, by a clock that is 5 us behind."""
    later = trace(1, start_ns=6_000, offset_ns=5_000)
    events = merged(tmp_path, later, trace(0))
    slices = {e["args"]["rank"]: e for e in events if e["name"] == "gather"}
    assert (slices[0]["ts"], slices[1]["ts"]) == (2.0, 3.0)
    assert slices[0]["pid"] != slices[1]["pid"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert named == {slices[rank]["pid"]: f"rank {rank}" for rank in (0, 1)}
    begin, end = (e for e in events if e.get("cat") == "collective")
    assert (begin["pid"], begin["ts"]) == (slices[1]["pid"], 3.0)
    assert (end["pid"], end["ts"]) == (slices[0]["pid"], 3.0)
    issues = [e["id"] for e in events if e.get("cat") == "issue"]
    assert len(issues) == 4
    assert len(set(issues)) == 2
    assert begin["id"] not in issues


def test_a_rank_that_recorded_nothing(tmp_path: Path) -> None:
    empty = trace(1, start_ns=0) | {"traceEvents": []}
    events = merged(tmp_path, trace(0), empty)
    assert next(e for e in events if e["name"] == "gather")["ts"] == 2.0


ONE = trace(0)
LONELY = trace(0) | {"otherData": {"clock": "CLOCK_MONOTONIC", "start_ns": 1}}


@pytest.mark.parametrize(
    ("traces", "message"),
    [
        ((), r"expected the traces of the ranks of a run, got none"),
        (("{",), r"rank0\.json is no trace; expected files of ONEFLOW_LITE_PROFILE"),
        (("[]",), r"rank0\.json is no trace"),
        (({"traceEvents": []},), r"rank0\.json does not say which rank it is of"),
        (({"traceEvents": [], "otherData": {"ranks": 2}},), r"has been merged already"),
        ((LONELY,), r"is of a process that has entered no world"),
        ((ONE, trace(1, run="b")), r"rank0\.json and .*rank1\.json are of different runs"),
        ((ONE,), r"the run had 2 ranks, and the file of rank 1 is missing; a rank that"),
        ((trace(3, size=4),), r"the files of ranks 0, 1, 2 are missing"),
        ((ONE, trace(1), ONE), r"expected one file a rank, got several of rank 0"),
    ],
)
def test_bad_input(traces: tuple[object, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        merged(tmp_path, *traces)
    assert not (tmp_path / "trace.json").exists()


def test_the_output_is_no_input(tmp_path: Path) -> None:
    paths = written(tmp_path, trace(0), trace(1))
    (tmp_path / "link.json").symlink_to(paths[1])
    before = paths[1].read_text()
    for output in (paths[1], tmp_path / "link.json"):
        with pytest.raises(ValueError, match="is to be read and to be written"):
            merge(paths, output)
    assert paths[1].read_text() == before


@pytest.mark.process
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, trace(0), trace(1))
    command = [sys.executable, "-m", "oneflow_lite.distributed", "merge"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    done = run("trace.rank0.json", "trace.rank1.json", "-o", "trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"]["ranks"] == 2
    monkeypatch.setenv("ONEFLOW_LITE_PROFILE", "again.json")  # of the program, not of the command
    assert run("trace.rank0.json", "trace.rank1.json", "-o", "again.json").returncode == 0
    assert (tmp_path / "again.json").read_text() == (tmp_path / "trace.json").read_text()
    for words, message in (
        (("trace.rank0.json", "-o", "x.json"), "the file of rank 1 is missing"),
        (("none.json", "-o", "x.json"), "[merge] none.json: No such file or directory"),
        (("trace.rank0.json",), "required: -o/--output"),
    ):
        done = run(*words)
        assert done.returncode != 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr


# --- processes


@pytest.mark.parametrize(
    ("names", "rank"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}, None),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, 3),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, 1),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}, 0),
        ({"WORLD_SIZE": "2", "RANK": "1"}, None),
        ({"WORLD_SIZE": "2", "RANK": "1", "TORCHELASTIC_RUN_ID": "x"}, 1),
    ],
)
def test_the_name_of_a_file(
    names: dict[str, str], rank: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for launcher in (*launchers.LAUNCHERS, launchers.TORCHRUN):
        monkeypatch.delenv(launcher.size, raising=False)
        monkeypatch.delenv(launcher.rank, raising=False)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "a.trace.json"
    wanted = path if rank is None else tmp_path / f"a.trace.rank{rank}.json"
    assert ranks.path_of_rank(str(path)) == str(wanted)
    assert ranks.path_of_rank("/dev/null") == "/dev/null"


def test_a_launcher_that_does_not_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    for launcher in launchers.LAUNCHERS:
        monkeypatch.delenv(launcher.size, raising=False)
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.delenv("PMI_RANK", raising=False)
    with pytest.raises(RuntimeError, match="one of 2, and PMI_RANK, which would say which one"):
        launchers.meant_rank()


@pytest.mark.process
def test_a_file_of_each_process(start: Start, tmp_path: Path) -> None:
    done = start(
        3,
        code="for _ in range(3): total(flow.ones(5))\n"
        "assert flow.device('mock') == f'mock:{rank % 2}', flow.device('mock')\n"
        "assert (flow.ones(2, device='mock') + 1).device == flow.device('mock')\n",
        profile="trace.json",
        mock="devices=2",
    )
    assert done.returncode == 0, done.stdout
    # The launcher has left none of its own.
    files = sorted(path.name for path in tmp_path.glob("*.json"))
    assert files == [f"trace.rank{rank}.json" for rank in range(3)]
    merge([tmp_path / name for name in files], tmp_path / "trace.json")
    whole = json.loads((tmp_path / "trace.json").read_text())
    check_collectives(whole["traceEvents"], 3)
    names = set(lanes_of(whole["traceEvents"]).values())
    assert "cpu ccl" in names


@pytest.mark.process
def test_ranks_that_are_ended_leave_their_traces(start: Start, tmp_path: Path) -> None:
    """The one that raises, and those that it ends, if these are in time; no file is empty."""
    done = start(
        3,
        code="if rank == 1: raise ValueError('on purpose')\ntotal(flow.ones(5))",
        profile="trace.json",
    )
    assert done.returncode != 0
    files = {path.name: path.read_text() for path in tmp_path.glob("trace.*.json")}
    assert "trace.rank1.json" in files, done.stdout
    for text in files.values():
        events = json.loads(text)["traceEvents"]
        assert any(e["ph"] == "X" and e["name"] == "to_global" for e in events)
    if len(files) == 3:
        merge([tmp_path / name for name in files], tmp_path / "trace.json")


@pytest.mark.process
def test_a_rank_that_is_killed_leaves_no_trace(start: Start, tmp_path: Path) -> None:
    done = start(
        2,
        code="if rank == 1: raise ValueError('on purpose')\nos.kill(os.getpid(), signal.SIGKILL)",
        profile="trace.json",
    )
    assert done.returncode != 0
    files = [path.name for path in tmp_path.glob("trace.*.json")]
    assert files in ([], ["trace.rank1.json"]), done.stdout
    for name in files:
        with pytest.raises(ValueError, match="rank 0 is missing; a rank that is killed before"):
            merge([tmp_path / name], tmp_path / "trace.json")


@pytest.mark.process
def test_clocks_are_compared(start: Start) -> None:
    """As if each rank had a machine: one's clock is off by no more than is said."""
    done = start(
        3,
        code="from mpi4py import MPI\n"
        "from oneflow_lite.distributed.clocks import rank_of\n"
        "world = MPI.COMM_WORLD.Dup()\n"
        "own = rank_of(world, f'clock {rank}', f'host {rank}')\n"
        "assert (own.rank, own.size, own.machine) == (rank, 3, f'host {rank}'), own\n"
        "assert abs(own.offset_ns) <= own.uncertainty_ns, own\n"
        "assert (own.uncertainty_ns > 0) == (rank > 0), own\n"
        "assert len(set(world.allgather(own.run))) == 1, own\n"
        "again = rank_of(world, 'one clock', 'host')\n"
        "assert (again.offset_ns, again.uncertainty_ns) == (0, 0), again\n"
        "assert again.run != own.run\n"
        "say('compared')\n",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("compared") == 3
