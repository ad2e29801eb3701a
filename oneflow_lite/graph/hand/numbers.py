"""Numbers that each run of a program is fed: slots of the program.

number("rate") ─► Number ─► arithmetic ─► operand of a tensor operation
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from oneflow_lite._C import TraceError
from oneflow_lite.graph.arguments.slots import Number, Slots
from oneflow_lite.graph.ir import Function, Scalar, Site, Slot
from oneflow_lite.graph.sites import at, user_site

# What arithmetic is tried with while a program is built.
_SAMPLES: dict[type, float | complex] = {float: 0.6180339887, complex: 0.6180339887 + 0.4142135623j}
KINDS = tuple(_SAMPLES)


@dataclass(frozen=True, slots=True, eq=False)
class FedNumber:
    """A number that each run is given: number()."""

    name: str
    slot: Slot
    site: Site | None


class FedNumbers(Slots):
    """The numbers of a program that is built by hand."""

    def __init__(self, name: str) -> None:
        super().__init__(name, {})
        self.fed: dict[str, FedNumber] = {}

    def add(self, name: str, kind: type) -> Number:
        """Return what the block gets for a number of this name."""
        number: Number = self.given(_SAMPLES[kind], name)
        self.fed[name] = FedNumber(name, self.slots[-1], user_site())
        return number

    def need(self, number: Number, what: str) -> NoReturn:
        """Refuse what needs a value: there is none before a run."""
        self.check(number)
        names = " and ".join(sorted(self.sources_of(number)))
        raise TraceError(
            f"[number] {what} needs the value of {names}{at(user_site())}, which each run is given "
            "anew: use it in arithmetic and as an operand of tensors, or give it as a number of "
            "Python when the program is built"
        )

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Refuse the numbers in the block: another program is recorded there."""
        thread, self._thread = self._thread, None
        try:
            yield
        finally:
            self._thread = thread


def fed_number(op: str, feed: FedNumber, given: Any) -> float | complex:
    """Return a number that is fed in the declared kind.

    Raises
    ------
    TypeError
        It is no number of that kind.
    OverflowError
        It is too large for one.
    """
    kind = feed.slot.kind
    is_real = isinstance(given, int | float | np.integer | np.floating)
    is_complex = kind is complex and isinstance(given, complex | np.complexfloating)
    if isinstance(given, bool) or not (is_real or is_complex):
        raise TypeError(
            f"{op} feed {feed.name}{at(feed.site)}: expected a {kind.__name__}, got {given!r}"
        )
    try:
        value: float | complex = kind(given)
    except OverflowError as error:
        raise OverflowError(f"{op} feed {feed.name}{at(feed.site)}: {error}") from None
    return value


def used_slots(function: Function) -> tuple[Slot, ...]:
    """Return the slots that operations use, and those they are computed from."""
    scalars = (x for op in function.ops for x in op.operands if isinstance(x, Scalar))
    used = {x.value for x in scalars if isinstance(x.value, Slot)}
    for slot in reversed(function.slots):
        if slot in used:
            used.update(x for x in slot.operands if isinstance(x, Slot))
    return tuple(slot for slot in function.slots if slot in used)
