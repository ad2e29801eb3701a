"""What a part of the GPU check finds: rows, written one by one, so that a part that crashes or
hangs leaves those that it had. Needs nothing but Python: the extension may not be built yet.
"""

import argparse
import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from timing import Measurement, Summary

OK, FAILED, SKIPPED = "ok", "FAILED", "skipped"
TOO_LONG = 124  # the status of what was killed for it, as of timeout(1)
MOST_NOTE = 220  # characters in the table; all of it is in the JSON
HEAD = ("part", "question", "contender", "value", "spread", "unit", "target", "met", "note")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    value, spread : float, optional
        Median and interquartile range; None for what has no number.
    target : float, optional
        A lower bound where ``at_least``, else an upper one.
    status : str
        OK, FAILED or SKIPPED; the note then says why.
    """

    part: str
    question: str
    contender: str = ""
    value: float | None = None
    unit: str = ""
    spread: float | None = None
    samples: int = 1
    target: float | None = None
    at_least: bool = False
    status: str = OK
    note: str = ""

    def cells(self) -> list[str]:
        """Return the row as HEAD has it."""
        sign = ">=" if self.at_least else "<="
        target = "" if self.target is None else f"{sign} {self.target:g}"
        note = self.note if self.status == OK else f"{self.status}: {self.note}".removesuffix(": ")
        return [
            *(self.part, self.question, self.contender, _digits(self.value)),
            *(_digits(self.spread), self.unit, target, self._met()),
            " ".join(note.split())[:MOST_NOTE],
        ]

    def _met(self) -> str:
        if self.target is None or self.value is None:
            return ""
        below, above = self.value <= self.target, self.value >= self.target
        return "yes" if (above if self.at_least else below) else "NO"


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


class Rows:
    """Where a part writes: rows (``file``, a JSON object a line), tracebacks (``log``)."""

    def __init__(self, part: str, file: Path, log: Path) -> None:
        self.part = part
        self._file = file
        self._log = log

    def add(self, question: str, contender: str = "", **columns: object) -> None:
        """Write a row; ``columns`` are the fields of ``Row``."""
        row = Row(self.part, question, contender, **columns)  # type: ignore[arg-type]
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")

    def summary(
        self, question: str, contender: str, measured: Summary, scale: float, **columns: object
    ) -> None:
        """Write a row of a median and its spread, both multiplied by ``scale``."""
        value, spread = measured.median * scale, measured.spread * scale
        given = {"value": value, "spread": spread, "samples": measured.samples}
        self.add(question, contender, **given, **columns)

    def times(self, question: str, measurement: Measurement, scale: float, unit: str) -> None:
        """Write a row for each contender: its time multiplied by ``scale``."""
        for name in measurement.names:
            self.summary(question, name, measurement.summary(name), scale, unit=unit)

    def failed(self, question: str, contender: str, error: BaseException) -> None:
        """Write that something raised, and the traceback to the log."""
        self.log(
            f"{self.part}: {question}, {contender}", "".join(traceback.format_exception(error))
        )
        text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
        self.add(question, contender, status=FAILED, note=text)

    def log(self, title: str, text: str) -> None:
        """Append to the log, beside which the table stands."""
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"=== {time.strftime('%H:%M:%S')} {title}\n{text.rstrip()}\n\n")

    @contextmanager
    def attempt(self, question: str, contender: str = "") -> Iterator[None]:
        """What raises inside is a row, and the part goes on."""
        try:
            yield
        except Exception as error:
            self.failed(question, contender, error)


def run_part(text: str | None, part: str, check: Callable[[Rows, Path], None]) -> None:
    """Run a program that is one part; ``text`` describes it. Its arguments are gpu_parts.py's."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("part", choices=[part])
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--shard", type=int, nargs=2, default=(0, 1))
    given = parser.parse_args()
    rows = Rows(given.part, given.rows, given.log)
    with rows.attempt("the whole part"):
        check(rows, given.rows.parent)


def read(file: Path) -> list[Row]:
    """Return the rows that a part has written so far."""
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def markdown(rows: Sequence[Row]) -> str:
    """Return the table."""
    lines = [list(HEAD), *(row.cells() for row in rows)]
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )
