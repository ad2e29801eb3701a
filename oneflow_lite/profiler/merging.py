"""The traces of the ranks of one run, as one."""

import json
import os
from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from oneflow_lite.profiler.collectives import Event, arrows

Given = str | os.PathLike[str]
_NEEDED = ("rank", "size", "run", "machine", "offset_ns", "start_ns")


def merge(traces: Iterable[Given], output: Given) -> None:
    """Write one trace of those that the ranks of a run have written.

    Each rank is a process of the trace. Their times are of one clock: rank 0's CLOCK_MONOTONIC.
    Ranks of its machine have the same clock. Each other machine has compared its clock with that of
    rank 0 when it entered the world, by messages to and fro, which is right up to half of the time
    that the fastest of them took. Arrows go along collectives: from the rank that came last to each
    other one.

    Parameters
    ----------
    traces : iterable of str or path
        The files of all ranks of one run, in any order.
    output : str or path
        The file to write, which is none of them.

    Raises
    ------
    ValueError
        A file is no trace of a rank, or not all are of one run, a rank is missing or comes twice,
        or the output is one of the files.
    OSError
        A file cannot be read, or written.

    Examples
    --------
    >>> flow.profiler.merge(["trace.json"], "trace.json")
    Traceback (most recent call last):
        ...
    ValueError: [merge] trace.json is to be read and to be written; expected another output
    """
    paths = [Path(path) for path in traces]
    if not paths:
        raise ValueError("[merge] expected the traces of the ranks of a run, got none")
    for path in paths:
        if _is_same(path, Path(output)):
            raise ValueError(
                f"[merge] {path} is to be read and to be written; expected another output"
            )
    read = [_read(path) for path in paths]
    _require_one_run(paths, [notes for notes, _ in read])
    read.sort(key=lambda trace: trace[0]["rank"])
    merged = _merged(read)
    said = {"ranks": len(read), "run": read[0][0]["run"]}
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": merged, "otherData": said})
    Path(output).write_text(text, encoding="utf-8")


def _is_same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def _read(path: Path) -> tuple[dict[str, Any], list[Event]]:
    """What a trace says of its rank, and its events."""
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        trace = None
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError(f"[merge] {path} is no trace; expected files of ONEFLOW_LITE_PROFILE")
    notes = trace.get("otherData")
    if not isinstance(notes, dict) or "start_ns" not in notes:
        merged = isinstance(notes, dict) and "ranks" in notes
        raise ValueError(
            f"[merge] {path} has been merged already; expected the files of the ranks"
            if merged
            else f"[merge] {path} does not say which rank it is of; expected files of "
            "ONEFLOW_LITE_PROFILE"
        )
    if any(name not in notes for name in _NEEDED):
        raise ValueError(
            f"[merge] {path} is of a process that has entered no world of several ranks"
        )
    return notes, trace["traceEvents"]


def _require_one_run(paths: list[Path], notes: list[dict[str, Any]]) -> None:
    for path, said in zip(paths, notes, strict=True):
        if said["run"] != notes[0]["run"]:
            raise ValueError(f"[merge] {paths[0]} and {path} are of different runs")
    size = notes[0]["size"]
    times = Counter(said["rank"] for said in notes)
    if twice := [rank for rank, files in times.items() if files > 1]:
        raise ValueError(f"[merge] expected one file a rank, got several of rank {twice[0]}")
    if missing := [str(rank) for rank in range(size) if rank not in times]:
        one = len(missing) == 1
        raise ValueError(
            f"[merge] the run had {size} ranks, and the file{'' if one else 's'} of "
            f"rank{'' if one else 's'} {', '.join(missing)} {'is' if one else 'are'} missing; "
            "a rank that is killed before it has written its trace leaves none"
        )


def _merged(read: list[tuple[dict[str, Any], list[Event]]]) -> list[Event]:
    """All events, with the rank's number as their process and the times of one clock."""
    starts = [notes["start_ns"] + notes["offset_ns"] for notes, events in read if _times(events)]
    origin = min(starts, default=0)
    ids = count(1)
    merged: list[Event] = []
    for notes, events in read:
        process = notes["rank"] + 1  # 0 is the idle process of some viewers
        common = {"ph": "M", "pid": process, "tid": 0}
        name = {"name": f"rank {notes['rank']}"}
        merged += [
            {**common, "name": "process_name", "args": name},
            {**common, "name": "process_labels", "args": {"labels": notes["machine"]}},
            {**common, "name": "process_sort_index", "args": {"sort_index": notes["rank"]}},
        ]
        later = (notes["start_ns"] + notes["offset_ns"] - origin) / 1000
        own: dict[Any, int] = {}  # the arrows of this rank
        for event in events:
            if event["name"] == "process_name":
                continue
            moved = event | {"pid": process}
            if "ts" in event:
                moved["ts"] = event["ts"] + later
            if "id" in event:
                if event["id"] not in own:
                    own[event["id"]] = next(ids)
                moved["id"] = own[event["id"]]
            merged.append(moved)
    return merged + arrows(merged, next(ids))


def _times(events: list[Event]) -> bool:
    return any("ts" in event for event in events)
