"""What the benchmarks found with each instruction set, side by side: the tables of the READMEs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from comparison import JIT, NUMPY, TORCH
from instruction_sets import LABELS
from libraries import OURS
from report import (
    Curve,
    claim_of,
    curve_of,
    measured_cells,
    row_of,
    seconds_str,
    size_str,
    sizes_table,
    table,
    target_str,
)

Report = Mapping[str, Any]  # a benchmark's, in JSON
Sets = Mapping[str, Sequence[Report]]  # instruction set -> reports
Key = tuple[str, ...]
Rows = Callable[[Report], Iterator[tuple[Key, Any]]]


def headline(sets: Sets) -> str:
    """Return the table for the first screen: our time in times of the others', with each set."""
    others = (NUMPY, TORCH, JIT)

    def rows(report: Report) -> Iterator[tuple[Key, list[str]]]:
        for given in report["headlines"]:
            ratios = [given["ratios"].get(name) for name in others]
            yield (given["question"],), ["" if r is None else f"{r:.2g}" for r in ratios]

    return _joined([f"{OURS.name}'s time"], [f"/ {name}'s" for name in others], sets, rows)


def block(sets: Sets, failed: Sequence[str] = ()) -> str:
    """Return the text between the markers: what was reported, and which benchmarks failed."""
    parts = ["## Targets", _claims(sets)]
    curves = _curves(sets)
    if any(curves.values()):
        parts += ["## Large arrays", "Times in times of NumPy's, whose own time is given."]
        parts += [_large(curves)]
        parts += [
            "## Sizes",
            "Our time in times of NumPy's, over the number of elements (products: n).",
        ]
        parts += [_sizes(curves)]
    if any(report["times"] for _, report in _in_turn(sets)):
        parts += ["## Small operations and the machine", _times(sets)]
    lines = [f"{_name(isa, report)}: {report['machine']}" for isa, report in _in_turn(sets)]
    for isa, report in _in_turn(sets):
        lines += [f"{_name(isa, report)}: {note}" for note in report["notes"]]
    lines += [f"{name}: FAILED, no figures" for name in failed]
    parts += ["## Machine", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(parts)


def _name(isa: str, report: Report) -> str:
    return f"{report['benchmark']}, {LABELS[isa]}"


def _in_turn(sets: Sets) -> Iterator[tuple[str, Report]]:
    """Yield the reports of one benchmark with each set, then those of the next."""
    names = {report["benchmark"] for reports in sets.values() for report in reports}
    for name in sorted(names):
        for isa, reports in sets.items():
            yield from ((isa, report) for report in reports if report["benchmark"] == name)


def _found(sets: Sets, rows: Rows) -> list[tuple[Sequence[str], dict[str, Any]]]:
    """Return each row's key, and what each set has there.

    Raises
    ------
    ValueError
        When a report has two rows of one key.
    """
    found: dict[Key, dict[str, Any]] = {}
    for isa, report in _in_turn(sets):
        for key, value in rows(report):
            own = found.setdefault((report["benchmark"], *key), {})
            if isa in own:
                raise ValueError(f"[figures] {_name(isa, report)} has two rows of {key}")
            own[isa] = value
    return [(key, own) for (_, *key), own in found.items()]


def _heads(sets: Sets, heads: Sequence[str]) -> list[str]:
    return [f"{LABELS[isa]}: {head}" for isa in sets for head in heads]


def _cells(sets: Sets, own: Mapping[str, list[str]], count: int) -> list[str]:
    """Return the cells of each set, empty where it has no such row."""
    return [cell for isa in sets for cell in own.get(isa, [""] * count)]


def _joined(first: Sequence[str], heads: Sequence[str], sets: Sets, rows: Rows) -> str:
    """Return a table with the columns of each set side by side."""
    lines = [[*key, *_cells(sets, own, len(heads))] for key, own in _found(sets, rows)]
    return table([*first, *_heads(sets, heads)], lines, markdown=True)


def _claims(sets: Sets) -> str:
    """Figures beside their targets."""

    def rows(report: Report) -> Iterator[tuple[Key, Any]]:
        for claim in map(claim_of, report["claims"]):
            yield (claim.question, claim.unit), claim

    lines = []
    for (question, unit), own in _found(sets, rows):
        measured = {isa: measured_cells(claim) for isa, claim in own.items()}
        cells = [question, *_cells(sets, measured, 2), unit]
        newest = list(own.values())[-1]
        for target in (newest.now, newest.goal):
            missed = [LABELS[isa] for isa, claim in own.items() if claim.meets(target) is False]
            met = f"NO: {', '.join(missed)}" if missed else "yes"
            cells += [target_str(newest, target), "" if target is None else met]
        lines.append(cells)
    heads = [*_heads(sets, ("measured", "spread")), "unit", "target now", "met", "goal", "met"]
    return table(["question", *heads], lines, markdown=True)


def _times(sets: Sets) -> str:
    def rows(report: Report) -> Iterator[tuple[Key, list[str]]]:
        for row in map(row_of, report["times"]):
            is_one = row.contender == row.reference
            ratio = ["1", ""] if is_one else [f"{row.ratio.median:.3g}", f"{row.ratio.spread:.2g}"]
            yield (row.question, row.contender), [seconds_str(row.seconds.median), *ratio]

    return _joined(("question", "contender"), ("median", "ratio", "spread"), sets, rows)


# --- curves


def _curves(sets: Sets) -> dict[str, dict[str, list[Curve]]]:
    """Return the curves of each question with each set."""
    found: dict[str, dict[str, list[Curve]]] = {}
    for isa, report in _in_turn(sets):
        for curve in map(curve_of, report["curves"]):
            found.setdefault(curve.question, {}).setdefault(isa, []).append(curve)
    return found


def _sizes(curves: Mapping[str, Mapping[str, Sequence[Curve]]]) -> str:
    """Our times over sizes: a line for each set."""
    own = [
        replace(curve, contender=LABELS[isa])
        for by_set in curves.values()
        for isa, of_set in by_set.items()
        for curve in of_set
        if curve.contender == OURS.name
    ]
    return sizes_table(own, markdown=True, of="vectors")


def _large(curves: Mapping[str, Mapping[str, Sequence[Curve]]]) -> str:
    """Times at the largest size that all contenders have: a line for each set."""
    each = [curve for by_set in curves.values() for own in by_set.values() for curve in own]
    names = list(dict.fromkeys(curve.contender for curve in each))
    lines = []
    for question, by_set in curves.items():
        for isa, of_set in by_set.items():
            own = {curve.contender: curve for curve in of_set}
            size = min(curve.sizes[-1] for curve in of_set)
            at = {name: curve.sizes.index(size) for name, curve in own.items()}
            reference = of_set[0].reference
            seconds = seconds_str(own[reference].seconds[at[reference]])
            cells = [f"{own[name].ratios[at[name]]:.3g}" if name in own else "" for name in names]
            lines.append([question, LABELS[isa], size_str(size), seconds, *cells])
    return table(("question", "vectors", "size", "time of 1", *names), lines, markdown=True)
