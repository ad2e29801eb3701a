"""The serial run of what an execution has noted, and the comparison of the two.

A function is skipped if anything that it reads or writes has an error, and has the error of the
function that was pushed first. What it would have written has that error, too. Where functions have
failed and others were cancelled, it has the error of one of them.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from tests.support.engine.execution import Record, Run
from tests.support.engine.functions import (
    MASK,
    STATUS,
    Boom,
    Operand,
    Place,
    change,
    changed,
    total_of,
    value_of,
)
from tests.support.engine.program import is_shared
from tests.support.engine.tensors import OPERATIONS

Origins = frozenset[Record]  # of an error: one of them, as pushes of two threads may overlap
NONE: Origins = frozenset()

WRITES_BEFORE_IT_FAILS = ("after", "error", "dropped")


def earliest(errors: Iterable[Origins]) -> Origins:
    """Which of the errors may be that of the function that was pushed first."""
    given = [each for each in errors if each]

    def is_before(one: Record, other: Record) -> bool:
        """The engine says of no cancelled function when it was pushed."""
        return one.end < other.start and not one.cancelled and not other.cancelled

    def is_late(one: Record) -> bool:
        return any(all(is_before(other, one) for other in each) for each in given)

    return frozenset(one for each in given for one in each if not is_late(one))


def origin_of(error: BaseException) -> str:
    """The name of the function that failed: the note has it."""
    return str(error.__notes__[0]).split(":")[0] if hasattr(error, "__notes__") else ""


class Serial:
    """Does one record after the other."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.differences: list[str] = []
        self.numbers: list[int] = list(run.first_numbers)
        self.tensors: dict[Place, Any] = {
            place: place.first.copy() for place in run.all_places if not place.is_variable
        }
        self.errors: dict[Place, Origins] = {}
        self.failed: list[Record] = []  # by themselves
        self.calls = dict.fromkeys(run.bodies, 0)

    def compare(self) -> list[str]:
        """What differs."""
        for record in sorted(self.run.records, key=lambda each: each.start):
            getattr(self, f"do_{record.kind}")(record)
        for body, calls in self.calls.items():
            if body.function.flavour != "kernel" and body.calls != calls:
                self.differ(f"f{body.function.number}", "calls", body.calls, calls)
        for place in self.run.all_places:
            self.compare_place(place)
        return self.differences

    def differ(self, where: Any, what: str, seen: Any, expected: Any) -> None:
        self.differences.append(f"{where}: {what} {seen!r}, expected {expected!r}")

    def compare_place(self, place: Place) -> None:
        if place.is_variable:
            seen = self.run.cells[place.cell]
            if seen != self.numbers[place.cell]:
                self.differ(place.name, "has", seen, self.numbers[place.cell])
            return
        try:
            values, error = place.token.numpy(), None
        except Exception as raised:
            values, error = None, raised
        self.compare_tensor(place.name, values, error, place)

    def compare_tensor(
        self, where: Any, values: Any, error: BaseException | None, place: Place
    ) -> None:
        origins = self.errors.get(place, NONE)
        if origins or error is not None:
            self.compare_error(where, error, origins)
        elif not np.array_equal(values, self.tensors[place]):
            self.differ(where, "has", values[:8], self.tensors[place][:8])

    # --- errors

    def error_of(self, operands: Iterable[Operand]) -> Origins:
        return earliest(self.errors.get(each.place, NONE) for each in operands)

    def spoil(self, operands: Iterable[Operand], error: Origins) -> None:
        for each in operands:
            self.errors[each.place] = earliest([self.errors.get(each.place, NONE), error])

    def compare_error(self, where: Any, error: BaseException | None, origins: Origins) -> Origins:
        """Those of the origins that the error may be from."""
        name = None if error is None else origin_of(error)
        found = frozenset(each for each in origins if each.name == name)
        if error is None or not found:
            names = sorted(each.name for each in origins)
            self.differ(where, "error", (name, error), f"one of {names}")
            return origins
        if not any(self.is_error_of(error, each) for each in found):
            self.differ(where, "error", error, f"that of {name}")
        return found

    def is_error_of(self, error: BaseException, origin: Record) -> bool:
        if origin.kind == "delete":
            return type(error) is ValueError and error.args == (origin.step.number,)
        assert origin.body is not None
        function = origin.body.function
        if origin.cancelled:
            return isinstance(error, CancelledError)
        if function.fails == "dropped":
            return "dropped without a call" in str(error)
        if function.fails == "status":
            return f"returned status {STATUS}" in str(error)
        return type(error) is Boom and error.args == (function.number,)

    # --- what each kind of record does

    def do_hold(self, record: Record) -> None:
        error = self.error_of(record.writes)
        if error:
            self.spoil(record.writes, error)
            self.compare_error(record.step, record.error, error)
        elif record.error is not None:
            self.differ(record.step, "raised", record.error, None)

    def do_function(self, record: Record) -> None:
        body = record.body
        assert body is not None
        error = self.error_of((*record.reads, *record.writes))
        if record.cancelled:
            if not isinstance(record.error, CancelledError):
                self.differ(record.step, "cancelled, and gave", record.error, CancelledError)
            self.spoil(record.writes, error or frozenset([record]))
        elif error:
            self.spoil(record.writes, self.compare_error(record.step, record.error, error))
        elif record.was_held:
            self.differ(record.step, "cancel()", False, True)
        else:
            self.call(record)
        if record.completion.cancelled() != record.cancelled:
            self.differ(record.step, "cancelled()", not record.cancelled, record.cancelled)
        is_watched = record.step.kind != "again" and body.function.number % 3 == 0
        if record.told != [record.completion] * is_watched:
            self.differ(record.step, "callbacks", record.told, f"{int(is_watched)}")

    def call(self, record: Record) -> None:
        body = record.body
        assert body is not None
        function = body.function
        self.calls[body] += 1
        total = total_of(function.number, [self.read(each) for each in record.reads])
        if not function.fails or function.fails in WRITES_BEFORE_IT_FAILS:
            for k, each in enumerate(record.writes):
                self.write(each, total + k)
        if function.fails:
            self.failed.append(record)
            origin = frozenset([record])
            self.compare_error(record.step, record.error, origin)
            self.spoil(record.writes, origin)
            return
        expected = total if function.flavour in ("python", "async", "device") else None
        if record.error is not None or record.value != expected:
            self.differ(record.step, "gave", record.error or record.value, expected)

    def read(self, operand: Operand) -> int:
        if operand.place.is_variable:
            return self.numbers[operand.place.cell]
        return value_of(self.part(operand))

    def write(self, operand: Operand, total: int) -> None:
        if operand.place.is_variable:
            cell = operand.place.cell
            self.numbers[cell] = changed(self.numbers[cell], total & MASK)
        else:
            change(self.part(operand), total)

    def part(self, operand: Operand) -> Any:
        values = self.tensors[operand.place]
        return values if operand.part is None else values[slice(*operand.part)]

    def do_tensor(self, record: Record) -> None:
        x, y = record.writes[0].place, record.reads[0].place
        # A poisoned source spoils the target only if the operation reads it.
        uses_source = record.step.how not in ("scale", "shift")
        error = self.error_of([*record.writes, *(record.reads if uses_source else ())])
        if error:
            self.spoil(record.writes, error)
        else:
            OPERATIONS[record.step.how](self.tensors[x], self.tensors[y])

    def do_clear(self, record: Record) -> None:
        self.errors.pop(record.writes[0].place, None)

    def do_delete(self, record: Record) -> None:
        place = record.writes[0].place
        if record.told != [None] * bool(record.step.how):
            self.differ(record.step, "calls", len(record.told), "one where it has a function")
        if record.step.how == "fails":
            self.failed.append(record)
            self.compare_error(record.step, record.error, frozenset([record]))
            self.spoil(record.writes, frozenset([record]))
            return
        expected = self.numbers[place.cell] if record.step.how else None
        if record.error is not None or record.value != expected:
            self.differ(record.step, "gave", record.error or record.value, expected)

    def do_look(self, record: Record) -> None:
        self.compare_tensor(record.step, record.value, record.error, record.reads[0].place)

    def do_wait(self, record: Record) -> None:
        """Of a place that others change meanwhile, the error may be older or newer."""
        place = record.reads[0].place
        origins = self.errors.get(place, NONE)
        if not is_shared(place.name):
            self.expect_error(record, origins)
        elif record.error is not None and origin_of(record.error) not in self.names():
            self.differ(record.step, "raised", record.error, "an error of the program")

    def expect_error(self, record: Record, origins: Origins) -> None:
        if origins:
            self.compare_error(record.step, record.error, origins)
        elif record.error is not None:
            self.differ(record.step, "raised", record.error, None)

    def names(self) -> Sequence[str]:
        return [each.name for each in self.run.records]

    def do_wait_all(self, record: Record) -> None:
        """The last one, and the only one, raises the first failure."""
        waits = [each for each in self.run.records if each.kind == "wait_all"]
        failed = [frozenset([each]) for each in self.failed]
        if len(waits) == 1:
            self.expect_error(record, earliest(failed))
        elif record.error is not None and origin_of(record.error) not in self.names():
            self.differ(record.step, "raised", record.error, "an error of the program")
