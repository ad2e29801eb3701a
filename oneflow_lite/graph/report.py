"""Reports of executables and jitted functions: dictionaries that are texts and pages, too."""

from collections.abc import Mapping
from typing import Any

from oneflow_lite.graph.drawing.page import Chapter, page_of

_MOST_ROWS = 20


class Readable(dict[str, Any]):
    """A report for programs and for readers: ``str`` gives it as text."""

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of dictionaries, lists, texts and numbers alone, as JSON has them."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def page(self) -> str:
        """Return the report as a page of HTML, which needs nothing from elsewhere."""
        return page_of(f"report of {self['name']}", self.chapters())

    def chapters(self) -> list[Chapter]:
        """Return the parts of the page."""
        return [Chapter(self["name"], (), self)]


class Report(Readable):
    """What a program has become, and how often it has run in which way.

    Keys: name, passes (rows of pass, operations and groups: what each pass left; the first row is
    what was given), functions (primitive ones: name, how many operations, kernels: the
    steps of each that it runs by, and saved_bytes of these), steps, mode, release, arena_bytes (of
    runs in the calling thread), inline_runs, issued_runs, runs (by mode), groups (steps that run as
    one), memory, addto, additions (with addto: site, is_added and reason of each sum with a product
    in it), graphs, lanes, segments, edges and waits (pairs of segments). ``str`` gives it as text,
    ``page()`` as HTML.

    Keys of graphs, of devices: graphs, kernels (in them), launches, changes (of the arguments of a
    kernel, for a run with other memory or numbers) and refused (step, site and reason of each
    operation that no graph has).

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
    operations: 2; after FuseOps 1 (1 of them groups)
      fused_tanh_multiply in 2 kernels: tanh | multiply
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

    @classmethod
    def of(cls, found: dict[str, Any], noted: Mapping[str, Any]) -> "Report":
        """Return the report with what was noted when the executable was made."""
        passes, functions = noted.get("passes", []), noted.get("functions", [])
        rows = _functions(found, functions)
        return cls(name=noted.get("name", ""), passes=passes, functions=rows, **found)

    def __str__(self) -> str:
        lines = [f"{self['steps']} steps, mode {self['mode']}, release {self['release']}"]
        lines.append("operations: " + _after_passes(self["passes"]))
        lines += _first([_function_text(row) for row in self["functions"]])
        lines.append("runs: " + ", ".join(f"{mode} {n}" for mode, n in self["runs"].items()))
        lines += self._groups()
        lines += self._memory()
        lines += self._operations()
        lines += self._additions()
        lines += self._graphs()
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

    def _graphs(self) -> list[str]:
        graphs = self["graphs"]
        if not graphs["graphs"] and not graphs["refused"]:
            return []
        products = f" and {graphs['products']} products of a library" * (graphs["products"] > 0)
        text = (
            f"device graphs: {graphs['graphs']} with {graphs['kernels']} kernels{products}; "
            f"{graphs['launches']} launches, {graphs['changes']} kernels changed for one"
            + f", {graphs['updates']} captures for operands elsewhere"
            * (graphs["updates"] > 0)
        )
        rows = [
            f"  {each['step']}"
            + (f" at {each['site'][0]}:{each['site'][1]}" if each["site"] else "")
            + f" by itself: {each['reason']}"
            for each in graphs["refused"]
        ]
        return [text, *_first(rows)]

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
            groups = f" ({row['groups']} of them groups)" if row["groups"] else ""
            texts.append(f"{after}{row['operations']}{groups}")
        known = counts
    return "; ".join(texts)


def _functions(found: Mapping[str, Any], noted: list[tuple[str, list[int]]]) -> list[Any]:
    """Return a row for each primitive function: the units that its operations run in."""
    units: dict[int, list[str]] = {}
    unit_of: dict[int, list[int]] = {}
    for row in found["memory"]["operations"]:
        units.setdefault(row["unit"], []).append(row["step"])
        unit_of.setdefault(row["operation"], []).append(row["unit"])
    grouped = [unit for unit in sorted(units) if len(units[unit]) > 1]
    saved = {unit: each["saved_bytes"] for unit, each in zip(grouped, found["groups"], strict=True)}
    rows = []
    for name, operations in noted:
        own = dict.fromkeys(unit for k in operations for unit in unit_of.get(k, ()))
        rows.append(
            {
                "name": name,
                "operations": len(operations),
                "kernels": [units[unit] for unit in own],
                "saved_bytes": sum(saved.get(unit, 0) for unit in own),
            }
        )
    return rows


def _function_text(row: Mapping[str, Any]) -> str:
    kernels = row["kernels"]
    steps = " | ".join(_names(each) for each in kernels) or "none"
    saved = f"; {row['saved_bytes']} bytes saved" if row["saved_bytes"] else ""
    count = f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}"
    return f"  {row['name']} in {count}: {steps}{saved}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(x) for x in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _names(steps: list[str]) -> str:
    return ", ".join(_first(steps))


def _first(rows: list[str]) -> list[str]:
    """Not more than can be read."""
    more = len(rows) - _MOST_ROWS
    return rows if more <= 0 else [*rows[:_MOST_ROWS], f"... and {more} more"]
