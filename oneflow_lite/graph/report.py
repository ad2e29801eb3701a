"""Reports of executables: dictionaries that print as text."""

from typing import Any

_MOST_ROWS = 20


class Report(dict[str, Any]):
    """What a program has become, and how often it has run in which way.

    Keys: passes (rows of pass, operations and groups: what each pass left; the first row is what
    was given), steps, mode, release, arena_bytes (of runs in the calling thread), inline_runs,
    issued_runs, runs (by mode), groups (steps that run as one), memory, addto, additions (with
    addto: site, is_added and reason of each sum with a product in it), lanes, segments, edges and
    waits (pairs of segments). ``str`` gives it as text.

    Keys of memory: arenas (of a device and lane: bytes, lower_bound, the plan that was taken, and
    tried: the bytes of each plan until one had no more than the bound), results_bytes, alone_bytes,
    in_place (decisions with reasons), assigns_copied, peak_bytes (of each device: the most that a
    run by segments holds at one time besides its inputs), operations, and bases (memory, offset,
    bytes, whether it is an input, and the units that use it).

    Each of operations, in the order in which they are issued, has step, site (file and line), its
    operation in the program (-1: none), unit, the bases that it writes, bytes (of its results),
    place and live_bytes (of all values that are needed after it and its group).
    Places: 'tiles' (of a group, never in memory), 'arena', 'in place' (over an operand), 'result'
    (in the memory of a result), 'assigned' (in an input), 'alone' (a memory of its own), 'none'.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> traced = flow.graph.trace(lambda x: flow.tanh(x) * 2, flow.ones(3))
    >>> print(flow.graph.compile(traced.program).report())
    2 steps, mode auto, release plan
    operations: 2; after FuseOps 1 (1 groups)
    runs: inline 0, serial 0, parallel 0, sequential 0, naive 0
    groups: none
    memory: arena of cpu 0 bytes (bound 0, by size); results 24 bytes; 0 bytes by themselves
      tanh over its operand: no, the memory belongs to a feed, a variable or a constant
      multiply over its operand: yes
    peak of a run: cpu 24 bytes
      tanh: 24 bytes, result; 24 bytes live
      multiply: 24 bytes, in place; 24 bytes live
    1 segments on cpu compute; 0 waits
      0 cpu compute: tanh, multiply
    """

    def __str__(self) -> str:
        lines = [f"{self['steps']} steps, mode {self['mode']}, release {self['release']}"]
        lines.append("operations: " + _after_passes(self.get("passes", [])))
        lines.append("runs: " + ", ".join(f"{mode} {n}" for mode, n in self["runs"].items()))
        lines += self._groups()
        lines += self._memory()
        lines += self._operations()
        lines += self._additions()
        lines += self._segments()
        return "\n".join(lines)

    def _groups(self) -> list[str]:
        groups = self["groups"]
        if not groups:
            return ["groups: none"]
        rows = [f"  {_names(each['steps'])}: {each['saved_bytes']} bytes saved" for each in groups]
        return [f"groups: {len(groups)}", *_first(rows)]

    def _memory(self) -> list[str]:
        memory = self["memory"]
        arenas = "".join(
            f"arena of {each['lane'].removesuffix(' compute')} {each['bytes']} bytes "
            f"(bound {each['lower_bound']}, by {each['plan']}); "
            for each in memory["arenas"]
        )
        own = (
            f"results {memory['results_bytes']} bytes; {memory['alone_bytes']} bytes by themselves"
        )
        rows = [
            f"  {each['step']} over its operand: "
            + ("yes" if each["is_in_place"] else f"no, {each['reason']}")
            for each in memory["in_place"]
        ]
        return [f"memory: {arenas}{own}", *_first(rows)]

    def _operations(self) -> list[str]:
        memory = self["memory"]
        peaks = ", ".join(f"{device} {n} bytes" for device, n in memory["peak_bytes"].items())
        rows = [
            f"  {each['step']}: {each['bytes']} bytes, {each['place']}; "
            f"{each['live_bytes']} bytes live"
            for each in memory["operations"]
        ]
        return [f"peak of a run: {peaks or 'none'}", *_first(rows)]

    def _additions(self) -> list[str]:
        if not self["addto"]:
            return []
        rows = [
            "  sum"
            + (f" at {each['site'][0]}:{each['site'][1]}" if each["site"] else "")
            + ": "
            + ("added" if each["is_added"] else f"no, {each['reason']}")
            for each in self["additions"]
        ]
        added = sum(each["is_added"] for each in self["additions"])
        return [f"products that add into accumulators: {added} of {len(rows)}", *_first(rows)]

    def _segments(self) -> list[str]:
        rows = [
            f"  {number} {each['lane']}: {_names(each['steps'])}"
            for number, each in enumerate(self["segments"])
        ]
        lanes, waits = ", ".join(self["lanes"]), self["waits"]
        rows = _first(rows) + [f"  {after} waits for {before}" for before, after in waits]
        return [f"{len(self['segments'])} segments on {lanes}; {len(waits)} waits", *rows]


def _after_passes(rows: list[dict[str, Any]]) -> str:
    """Return how many operations there were at first, and after each pass that changed that."""
    texts, known = [], None
    for row in rows:
        counts = row["operations"], row["groups"]
        if counts != known:
            after = f"after {row['pass']} " if row["pass"] else ""
            groups = f" ({row['groups']} groups)" if row["groups"] else ""
            texts.append(f"{after}{row['operations']}{groups}")
        known = counts
    return "; ".join(texts)


def _names(steps: list[str]) -> str:
    return ", ".join(_first(steps))


def _first(rows: list[str]) -> list[str]:
    """Not more than can be read."""
    more = len(rows) - _MOST_ROWS
    return rows if more <= 0 else [*rows[:_MOST_ROWS], f"... and {more} more"]
