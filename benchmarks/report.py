"""What a benchmark tells: tables of times, claims beside their targets, and the same as JSON."""

import argparse
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite._C import cpu_isa
from timing import Measurement, Summary

NOISY = 0.15  # of the median; a wider spread is marked with ~
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@dataclass(frozen=True)
class Claim:
    """A figure beside its targets, ``now`` and for the finished product (``goal``)."""

    question: str
    measured: Summary
    unit: str
    now: float | None
    goal: float | None
    at_least: bool  # the targets are lower bounds
    at: str = ""  # the size of what was measured, where that is found out

    def meets(self, target: float | None) -> bool | None:
        if target is None:
            return None
        return self.measured.median >= target if self.at_least else self.measured.median <= target


@dataclass(frozen=True)
class Row:
    """A contender's time for one question; the ratio is to the reference, which has 1."""

    question: str
    contender: str
    seconds: Summary
    reference: str
    ratio: Summary


@dataclass(frozen=True)
class Curve:
    """A contender's medians over sizes; ratios to the reference, which has 1, and their spread."""

    question: str
    contender: str
    reference: str
    sizes: list[int]
    seconds: list[float]
    ratios: list[float]
    spreads: list[float]


@dataclass(frozen=True)
class Headline:
    """A question for the first screen, and our time in times of each of the others."""

    question: str
    ratios: dict[str, float]


class Report:
    """Collects what one benchmark finds."""

    def __init__(self, name: str, versions: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._machine = machine(versions or {})
        self._rows: list[Row] = []
        self._claims: list[Claim] = []
        self._curves: list[Curve] = []
        self._headlines: list[Headline] = []
        self._notes: list[str] = []
        self._more: dict[str, Any] = {}

    def times(self, question: str, measurement: Measurement, reference: str) -> None:
        for name in measurement.names:
            seconds, ratio = measurement.summary(name), measurement.ratio(name, reference)
            self._rows.append(Row(question, name, seconds, reference, ratio))

    def curve(self, question: str, over: Mapping[int, Measurement], reference: str) -> None:
        """Add a curve for each contender: what was measured at each size."""
        names = dict.fromkeys(name for measurement in over.values() for name in measurement.names)
        for name in names:
            at = {size: m for size, m in over.items() if name in m.names}
            ratios = [m.ratio(name, reference) for m in at.values()]
            self._curves.append(
                Curve(
                    question,
                    name,
                    reference,
                    list(at),
                    [rounded(m.summary(name).median) for m in at.values()],
                    [rounded(ratio.median) for ratio in ratios],
                    [rounded(ratio.spread) for ratio in ratios],
                )
            )

    def add(self, curve: Curve) -> None:
        """Add a curve that is made already."""
        self._curves.append(curve)

    def keep(self, name: str, value: Any) -> None:
        """Keep more in the JSON, which is not printed."""
        self._more[name] = value

    def headline(self, question: str, measurement: Measurement, ours: str) -> None:
        others = [name for name in measurement.names if name != ours]
        ratios = {name: rounded(measurement.ratio(ours, name).median) for name in others}
        self._headlines.append(Headline(question, ratios))

    def claim(
        self,
        question: str,
        measured: Summary,
        unit: str,
        *,
        now: float | None = None,
        goal: float | None = None,
        at_least: bool = False,
        at: str = "",
    ) -> None:
        self._claims.append(Claim(question, measured, unit, now, goal, at_least, at))

    def note(self, text: str) -> None:
        self._notes.append(text)

    def finish(self, json_file: Path | None) -> None:
        """Print everything, and write it as JSON where a file is given."""
        print(f"{self._name}: {self._machine}\n")
        if self._rows:
            print(table(TIMES_HEAD, [times_cells(row) for row in self._rows]) + "\n")
        if self._curves:
            print(sizes_table(self._curves) + "\n")
        if self._claims:
            print(table(CLAIMS_HEAD, [claim_cells(claim) for claim in self._claims]) + "\n")
        for note in self._notes:
            print(f"note: {note}")
        if json_file is not None:
            json_file.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")

    def as_json(self) -> dict[str, Any]:
        """Return what the JSON file has."""
        return {
            "benchmark": self._name,
            "machine": self._machine,
            "times": [asdict(row) for row in self._rows],
            "claims": [asdict(claim) for claim in self._claims],
            "curves": [asdict(curve) for curve in self._curves],
            "headlines": [asdict(headline) for headline in self._headlines],
            "notes": self._notes,
            **self._more,
        }


def row_of(given: Mapping[str, Any]) -> Row:
    """Return the row that JSON has."""
    both = {key: Summary(**given[key]) for key in ("seconds", "ratio")}
    return Row(**{**given, **both})


def claim_of(given: Mapping[str, Any]) -> Claim:
    """Return the claim that JSON has."""
    return Claim(**{**given, "measured": Summary(**given["measured"])})


def curve_of(given: Mapping[str, Any]) -> Curve:
    """Return the curve that JSON has."""
    return Curve(**given)


def rounded(value: float) -> float:
    """Return it with the four digits that a measurement may have."""
    return float(f"{value:.4g}")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return the parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smallest setting: does it work?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    return parser


# --- the machine


def cpu_model() -> str:
    """Return the processor's name, as the system has it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def core_count() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine(versions: Mapping[str, str]) -> str:
    """Return processor, vectors of our loops, cores, load, system and versions in one line."""
    known = {"Python": platform.python_version(), "oneflow_lite": flow.__version__}
    known |= {"NumPy": np.__version__, **versions}
    listed = ", ".join(f"{name} {version}" for name, version in known.items())
    found = f"{cpu_isa()}, {core_count()} cores, load {os.getloadavg()[0]:.1f}"
    return f"{cpu_model()}, {found}, {platform.system()}; {listed}"


# --- tables

TIMES_HEAD = ("question", "contender", "median", "min", "spread", "ratio", "spread")
CLAIMS_HEAD = ("question", "measured", "spread", "unit", "target now", "met", "goal", "met")
_TEXT_COLUMNS = {"contender", "dtype", "layout", "met", "unit", "vectors"}  # besides the first


def seconds_str(seconds: float) -> str:
    """Return a time with the unit that suits it."""
    unit, name = next((row for row in _UNITS if abs(seconds) >= row[0]), _UNITS[-1])
    return f"{seconds / unit:.3g} {name}"


def size_str(size: int) -> str:
    """Return a size as a power of ten, where it is one."""
    exponent = len(str(size)) - 1
    return f"10^{exponent}" if exponent > 1 and size == 10**exponent else str(size)


def noise_mark(measured: Summary) -> str:
    """Return the mark of a wide spread."""
    return "~" if measured.spread > NOISY * abs(measured.median) else ""


def times_cells(row: Row) -> list[str]:
    times = (row.seconds.median, row.seconds.minimum, row.seconds.spread)
    is_reference = row.contender == row.reference
    ratio = ["1", ""] if is_reference else [f"{row.ratio.median:.3g}", f"{row.ratio.spread:.2g}"]
    median, minimum, spread = map(seconds_str, times)
    return [row.question, row.contender, median, minimum, noise_mark(row.seconds) + spread, *ratio]


def target_str(claim: Claim, target: float | None) -> str:
    """Return one of the claim's targets, "" where it has none."""
    return "" if target is None else f"{'>=' if claim.at_least else '<='} {target:g}"


def measured_cells(claim: Claim) -> list[str]:
    """Return the claim's figure and its spread."""
    measured = claim.measured
    figure = f"{measured.median:.3g}" + (f" at {claim.at}" if claim.at else "")
    return [figure, f"{noise_mark(measured)}{measured.spread:.2g}"]


def claim_cells(claim: Claim) -> list[str]:
    cells = [claim.question, *measured_cells(claim), claim.unit]
    for target in (claim.now, claim.goal):
        met = {True: "yes", False: "NO", None: ""}[claim.meets(target)]
        cells += [target_str(claim, target), met]
    return cells


def sizes_table(curves: Sequence[Curve], markdown: bool = False, of: str = "contender") -> str:
    """Return times in times of the reference's: a line for each contender, a column a size."""
    sizes = sorted({size for curve in curves for size in curve.sizes})
    lines = []
    for curve in curves:
        ratios = dict(zip(curve.sizes, curve.ratios, strict=True))
        cells = [f"{ratios[size]:.3g}" if size in ratios else "" for size in sizes]
        lines.append([curve.question, curve.contender, *cells])
    return table(("question", of, *map(size_str, sizes)), lines, markdown)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool = False) -> str:
    """Return an aligned table; numbers to the right, a repeated first cell left out."""
    cells: list[Sequence[str]] = []
    previous = None
    for row in rows:
        cells.append(["" if row[0] == previous else row[0], *row[1:]])
        previous = row[0]
    widths = [max(len(row[column]) for row in (head, *cells)) for column in range(len(head))]
    left = [name in _TEXT_COLUMNS for name in head]
    left[0] = True

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ]
        return f"| {' | '.join(padded)} |" if markdown else "  ".join(padded).rstrip()

    rules = ["-" * width for width in widths]
    if markdown:
        rules = [
            rule if to_left else rule[:-1] + ":" for rule, to_left in zip(rules, left, strict=True)
        ]
    return "\n".join([line(head), line(rules), *map(line, cells)])
