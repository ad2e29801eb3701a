"""Recordings of the machine, as intervals and as Chrome or Perfetto traces.

    issuing thread   ──[issue 7]──[issue 8]────────[sync]──
                          └───────►  (arrow: issue to run)
    mock:0 h2d       ──────────[run 7]─────────────────────
                                   └──►  (arrow: a queue waited for another's event)
    mock:0 compute   ────────────────[run 8]───────────────

Runs of a program are slices of its segments, and within each the steps that ran, with their lines:

    cpu compute      ──[segment                            ]──
                       [matmul][fused add tanh][sum]

Each rank that is a thread has a lane for what it issues, and one for its collectives. Arrows along
a collective go from the rank that came last to the others. Ranks that are processes have a trace
each, of which merging.py makes one.

Times are nanoseconds of one monotonic clock; in the trace, microseconds since the first record.
"""

import json
import os
import stat
import threading
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from oneflow_lite import _C
from oneflow_lite.locks import make_lock
from oneflow_lite.profiler import ranks
from oneflow_lite.profiler.collectives import arrows

Interval = tuple[int, int]  # [begin, end) in ns


class Collective(NamedTuple):
    """Which of a rank's collectives a record is of."""

    rank: int
    group: int  # a key, which is the same on all ranks of the group
    number: int  # in the group


class Record(NamedTuple):
    """One thing that happened; fields that do not apply are None or 0."""

    kind: str  # issue, run, wait (a queue for another), sync (the host), step (of a program)
    lane: str
    begin: int
    end: int
    seq: int
    name: str
    shape: tuple[int, ...] | None
    dtype: str | None
    bytes: int
    site: tuple[str, int] | None  # file, line
    other_seq: int
    group: int  # it ran as one with others: the seq of the first, below 0 for steps; else 0
    saved_bytes: int  # of the first of a group: results that never were in memory
    segment: int  # of a step: the number in its program; -1: the program ran as a whole
    measured: bool  # by the clock; False: a share of its run's time, as the last measured run had
    collective: Collective | None


class Profile:
    """A recording of the machine, made by ``profile()``.

    Attributes
    ----------
    records : list of Record
        Everything that happened, by begin.
    lanes : dict of str to str
        Name of each lane -> its kind, ``stream`` or ``thread``.

    Examples
    --------
    >>> with flow.profiler.profile() as prof:
    ...     y = flow.ones(1000).mock() + 1
    >>> "mock:0 compute" in prof.streams()
    True
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.lanes: dict[str, str] = {}
        self._thread: int | None = None  # of a scope

    def add(self, recording: dict[str, Any]) -> None:
        """Take over what ``_C.profile_stop()`` gave."""
        names = {}
        for lane, name, kind in recording["lanes"]:
            names[lane] = name
            self.lanes[name] = kind
        known = {seq: Collective(*its) for seq, its in recording["collectives"].items()}
        self.records += [
            Record._make((row[0], names[row[1]], *row[2:], known.get(row[4])))
            for row in recording["records"]
        ]
        self.records.sort(key=lambda record: (record.begin, -record.end))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of the trace, as Chrome's trace event format has them."""
        return _Trace(self).events

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as JSON, to be opened in Perfetto or chrome://tracing."""
        Path(path).write_text(self._json(), encoding="utf-8")

    def _json(self) -> str:
        trace = _Trace(self)
        said = ranks.notes(trace.start_ns)
        whole = {"displayTimeUnit": "ns", "traceEvents": trace.events, "otherData": said}
        return json.dumps(whole)

    def _overwrite(self, file: TextIO) -> None:
        """Make the trace the content of an open file; what is no regular file gets it appended."""
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate(0)
        file.write(self._json())

    def streams(self) -> list[str]:
        """Return the names of the streams that ran something."""
        return sorted(name for name, kind in self.lanes.items() if kind == "stream")

    def intervals(self, *lanes: str) -> list[Interval]:
        """Return when any of the lanes (such as ``"mock:0 h2d"``) ran something, merged."""
        for lane in lanes:
            if lane not in self.lanes:
                raise ValueError(f"[profiler] no lane {lane!r}; there are {sorted(self.lanes)}")
        runs = (r for r in self.records if r.kind == "run" and r.lane in lanes)
        return _union((r.begin, r.end) for r in runs)

    def busy(self, *lanes: str) -> int:
        """Return the time in ns during which any of the lanes ran something."""
        return sum(end - begin for begin, end in self.intervals(*lanes))

    def overlap(self, first: str | Sequence[str], second: str | Sequence[str]) -> int:
        """Return the time in ns during which both ran something; each is one lane or several."""
        both = _intersection(self.intervals(*_lanes(first)), self.intervals(*_lanes(second)))
        return sum(end - begin for begin, end in both)

    def hidden_fraction(self, copies: str | Sequence[str], compute: str | Sequence[str]) -> float:
        """Return the part of the copies' time in which compute was busy; 1 for no copies."""
        total = self.busy(*_lanes(copies))
        return self.overlap(copies, compute) / total if total else 1.0


class profile:  # noqa: N801 - a scope, spelled as in `with flow.profiler.profile()`
    """Record the machine for the time of a ``with`` block, which ends when the machine is idle.

    Its end raises no error of an operation: a look at the result does, or ``synchronize``.

    Examples
    --------
    >>> with flow.profiler.profile() as prof:
    ...     y = flow.ones(1000).mock() + 1
    >>> prof.busy("mock:0 compute") > 0
    True
    """

    def __init__(self) -> None:
        self._profile = Profile()

    def __enter__(self) -> Profile:
        self._profile._thread = threading.get_ident()
        _recorder.begin(self._profile)
        return self._profile

    def __exit__(self, *exception: object) -> None:
        _recorder.end(self._profile)


class _Recorder:
    """Shares the machine's one recorder between profiles that are open at the same time."""

    def __init__(self) -> None:
        self._lock = make_lock()  # guards _open
        self._open: list[Profile] = []

    def begin(self, profile: Profile) -> None:
        _C.wait_until_idle("profile")  # without the lock: a function in flight may take it
        with self._lock:
            try:
                self._collect()
                self._open.append(profile)
                _C.profile_start()
            except BaseException:  # Ctrl-C
                self._close(profile)
                raise

    def end(self, profile: Profile, wait: bool = True) -> None:
        """Without a wait, also by Ctrl-C in it, what is in flight is left out."""
        try:
            if wait:
                _C.wait_until_idle("profile")
        finally:
            with self._lock:
                if not any(profile is each for each in self._open):
                    raise RuntimeError("[profile] the block is left, and was not entered")
                try:
                    self._collect()
                finally:
                    self._close(profile)

    def forget_in_child(self) -> None:
        """Only the scopes of the thread that has forked go on."""
        with self._lock:
            self._open = [each for each in self._open if each._thread == threading.get_ident()]
            if not self._open:
                _C.profile_drop()

    def _close(self, profile: Profile) -> None:
        """The others go on."""
        self._open = [each for each in self._open if each is not profile]
        if self._open:
            _C.profile_start()

    def _collect(self) -> None:
        """Give each open profile its part."""
        if not self._open:
            return
        recording = _C.profile_stop()
        for profile in self._open:
            profile.add(recording)


_recorder = _Recorder()


class _Trace:
    """The trace events of a profile."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.start_ns = profile.records[0].begin if profile.records else 0
        self._of_threads = _ranks_that_are_threads(profile)
        lanes = {name: kind for name, kind in profile.lanes.items() if kind == "stream"}
        for record in profile.records:
            lanes.setdefault(self._lane(record), profile.lanes[record.lane])
        # Streams come first, then the threads.
        by_kind = sorted(lanes, key=lambda name: (lanes[name] != "stream", name))
        self._tids = {name: tid for tid, name in enumerate(by_kind, 1)}
        self._runs = {r.seq: r for r in profile.records if r.kind == "run" and r.seq}
        self._groups: dict[int, list[Record]] = {}
        steps = (r for r in profile.records if r.kind == "step")
        for record in (*self._runs.values(), *steps):
            if record.group:
                self._groups.setdefault(record.group, []).append(record)
        self._arrows = 0
        self.events = self._names()
        for record in profile.records:
            self._add(record)
        self.events += arrows(self.events, self._arrows + 1)

    def _lane(self, record: Record) -> str:
        """Ranks that are threads have lanes of their own, also of their collectives."""
        if record.collective and record.kind == "run" and self._of_threads:
            return f"{record.lane} of rank {record.collective.rank}"
        return self._of_threads.get(record.lane, record.lane)

    def _names(self) -> list[dict[str, Any]]:
        own = ranks.known()
        name = "oneflow_lite" if own is None else f"rank {own.rank}"
        events = [self._event("M", "process_name", 0, args={"name": name})]
        for name, tid in self._tids.items():
            events.append(self._event("M", "thread_name", tid, args={"name": name}))
            events.append(self._event("M", "thread_sort_index", tid, args={"sort_index": tid}))
        return events

    def _add(self, record: Record) -> None:
        run = self._runs.get(record.seq)
        if record.kind == "wait":
            before = self._runs.get(record.other_seq)
            if before is not None and run is not None:
                self._arrow("wait", before, max(before.begin, before.end - 1), run)
            return
        name, arguments = f"{record.kind} {record.name}", _arguments(record)
        if record.kind in ("run", "step"):
            name = record.name
        if record.group:
            members = self._groups[record.group]
            if record is not members[0]:
                return  # a part of the slice of the first
            name, arguments = _group(members)
        span = {"ts": self._us(record.begin), "dur": (record.end - record.begin) / 1000}
        lane = self._tids[self._lane(record)]
        self.events.append(self._event("X", name, lane, cat=record.kind, args=arguments, **span))
        if record.kind == "issue" and run is not None:
            self._arrow("issue", record, record.begin, run)

    def _arrow(self, kind: str, source: Record, at: int, target: Record) -> None:
        """From inside the slice of ``source`` to the begin of ``target``."""
        self._arrows += 1
        common = {"cat": kind, "id": self._arrows}
        begin, end = self._us(at), self._us(target.begin)
        from_lane, to_lane = self._tids[self._lane(source)], self._tids[self._lane(target)]
        self.events.append(self._event("s", kind, from_lane, ts=begin, **common))
        self.events.append(self._event("f", kind, to_lane, ts=end, bp="e", **common))

    def _us(self, ns: int) -> float:
        return (ns - self.start_ns) / 1000

    @staticmethod
    def _event(phase: str, name: str, tid: int, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": os.getpid(), "tid": tid, **more}


def _ranks_that_are_threads(profile: Profile) -> dict[str, str]:
    """The lane of each thread that has issued collectives of one rank, and the rank's name.

    Empty where all collectives are of one rank, as in a process that is one.
    """
    found: dict[str, set[int]] = {}
    for record in profile.records:
        if record.kind == "issue" and record.collective:
            found.setdefault(record.lane, set()).add(record.collective.rank)
    if len(set().union(*found.values())) < 2:
        return {}
    return {lane: f"rank {min(its)}" for lane, its in found.items() if len(its) == 1}


def _arguments(record: Record) -> dict[str, Any]:
    given: dict[str, Any] = {"seq": record.seq} if record.seq else {}
    if record.shape is not None:
        given["shape"] = list(record.shape)
    if record.dtype is not None:
        given["dtype"] = record.dtype
    if record.bytes:
        given["bytes"] = record.bytes
    if record.kind == "step" and record.segment >= 0:
        given["segment"] = record.segment
    if not record.measured:
        given["measured"] = False
    if record.collective:
        rank, group, number = record.collective
        given |= {"rank": rank, "group": f"{group:016x}", "collective": number}
    if record.site is not None:
        given["site"] = f"{record.site[0]}:{record.site[1]}"
    return given


def _group(members: Sequence[Record]) -> tuple[str, dict[str, Any]]:
    """The slice of operations that ran as one: its name, and its arguments."""
    operations = [{"name": record.name, **_arguments(record)} for record in members]
    name = f"fused {' '.join(record.name for record in members)}"
    return name, {"operations": operations, "saved_bytes": members[0].saved_bytes}


def _lanes(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _intersection(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """Of two sorted lists without overlaps."""
    common: list[Interval] = []
    i = j = 0
    while i < len(first) and j < len(second):
        begin, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if begin < end:
            common.append((begin, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return common


# --- the whole program, for ONEFLOW_LITE_PROFILE


class _File(NamedTuple):
    profile: Profile
    path: str
    file: TextIO | None  # None: it is made when it is written, as one of several processes does
    is_made: bool  # it was not there before


_file: list[_File] = []  # at most one


def start_file(path: str | os.PathLike[str]) -> None:
    """Record from now until ``write_file``.

    The file is opened here, so that a path that cannot be written is known before the program runs.
    What it holds stays there until then. One of several processes has its rank in the name of its
    file: of ``trace.json``, rank 0 writes ``trace.rank0.json``; ``merge`` makes one trace of them.
    That file is whole or not there, as another rank may end this one at any time.

    Raises
    ------
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "trace.json")
    >>> flow.profiler.start_file(path)
    >>> y = flow.ones(3) + 1
    >>> flow.synchronize()
    >>> flow.profiler.write_file()
    >>> os.path.exists(path)
    True
    >>> folder.cleanup()
    """
    try:
        given = os.fspath(path)
        path = ranks.path_of_rank(given)
        was_there = os.path.exists(path)
        file: TextIO | None = open(path, "a", encoding="utf-8")  # noqa: SIM115 - until write_file
        if path != given:
            _close(file, None if was_there else path)
            file = None
    except OSError as error:
        text = f"[profiler] expected a path that can be written, got {path!r}: {error.strerror}"
        raise OSError(error.errno, text) from error
    profile = Profile()
    _recorder.begin(profile)
    _file.append(_File(profile, os.path.abspath(path), file, not was_there))


def _close(file: TextIO | None, made: str | None) -> None:
    """Close a file, if it is open, and remove what was made for it."""
    if file is not None:
        file.close()
        if made is not None:
            os.remove(made)


def write_file() -> None:
    """Write the trace of the whole program; the machine is idle. Nothing in a forked child.

    Where it is not, as before a rank ends the others, what is in flight is left out.

    Examples
    --------
    >>> flow.profiler.write_file()  # nothing, unless ``start_file`` was called
    """
    while _file:
        own = _file.pop()
        with own.file or nullcontext():
            _recorder.end(own.profile, wait=False)
            if own.file is not None:
                own.profile._overwrite(own.file)
                continue
            part = f"{own.path}.part"
            try:
                own.profile.save(part)
                os.replace(part, own.path)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(part)
                raise


def drop_file() -> None:
    """Take ``start_file`` back: this process has nothing to trace. The file is as it was."""
    while _file:
        own = _file.pop()
        _close(own.file, own.path if own.is_made else None)
        _recorder.end(own.profile, wait=False)


def forget_in_child() -> None:
    """In a forked child: what the parent records and writes is not the child's."""
    while _file:
        _close(_file.pop().file, None)
    _recorder.forget_in_child()
