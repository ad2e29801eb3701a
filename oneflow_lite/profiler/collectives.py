"""The arrows along collectives in a trace: from the rank that came last to those that waited."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]  # of Chrome's trace event format


def arrows(events: Iterable[Event], first_id: int) -> list[Event]:
    """Return the flow events along the collectives among the events.

    A collective of one rank is the slice of the others that have its group and its number. A
    program that makes several worlds, one after the other, has several of each: they are matched in
    their order.

    Parameters
    ----------
    events : iterable of dict
        Events of all ranks, of one clock.
    first_id : int
        The number of the first arrow.

    Returns
    -------
    list of dict
        Each arrow begins where the last rank has come to the collective, and ends in the slice of
        another rank.
    """
    seen: Counter[tuple[str, int, int]] = Counter()
    meetings: defaultdict[tuple[str, int, int], list[Event]] = defaultdict(list)
    slices = [e for e in events if e.get("cat") == "run" and "collective" in e["args"]]
    for event in sorted(slices, key=lambda event: float(event["ts"])):
        group, number = event["args"]["group"], event["args"]["collective"]
        own = (group, number, event["args"]["rank"])
        meetings[group, number, seen[own]].append(event)
        seen[own] += 1
    made: list[Event] = []
    for meeting in meetings.values():
        last = meeting[-1]
        for event in meeting[:-1]:
            made += _arrow(last, event, first_id + len(made) // 2)
    return made


def _arrow(source: Event, target: Event, number: int) -> tuple[Event, Event]:
    inside = max(target["ts"], min(source["ts"], target["ts"] + target["dur"] - 0.001))
    common = {"name": "collective", "cat": "collective", "id": number}
    return (
        {"ph": "s", "pid": source["pid"], "tid": source["tid"], "ts": source["ts"], **common},
        {"ph": "f", "bp": "e", "pid": target["pid"], "tid": target["tid"], "ts": inside, **common},
    )
