"""A program for one kind of arguments, and how its results are arranged."""

from dataclasses import dataclass, field
from typing import Any

from oneflow_lite._C import Executable, Tensor
from oneflow_lite.graph.arguments.slots import computed
from oneflow_lite.graph.jit.keys import Brought, Part
from oneflow_lite.graph.jit.watching import Watch
from oneflow_lite.graph.tracing import NumberResult, Result, Traced
from oneflow_lite.graph.trees import mapped

_MOST_NOTES = 8  # a call that was noted so often without a new trace is never found


@dataclass
class Entry:
    """A program for one kind of arguments. Without a run: it is called eagerly."""

    parts: dict[str, Part]
    traced: Traced | None = None
    run: Executable | None = None
    watched: list[Watch] = field(default_factory=list)
    shared: tuple[Tensor, ...] = ()  # captured tensors that share memory with arguments
    checks: int = 0  # calls that are still to be compared with eager ones
    donated: tuple[int, ...] = ()  # places of tensors
    notes: int = _MOST_NOTES  # how often it may be noted among the known calls; 0: it cannot be
    run_in_donated: Executable | None = None  # where nobody else sees the memory of these

    def renew_notes(self) -> None:
        """Let it be noted as often as at first, unless it cannot be."""
        if self.notes:
            self.notes = _MOST_NOTES


@dataclass(frozen=True)
class StaticNumbers:
    """Which numbers of a kind of arguments are static after all, and why, by path."""

    reasons: dict[str, str]
    places: tuple[int, ...]  # among the numbers of a call

    def take(self, key: Part, brought: Brought) -> Part:
        """Move the static numbers from what a call brings along to its key."""
        numbers = brought.numbers
        values = tuple(repr(numbers[place]) for place in self.places)
        brought.given = [x for k, x in enumerate(numbers) if k not in self.places]
        return key, values


def arranged(entry: Entry, results: list[Tensor], numbers: list[Any]) -> Any:
    """Return results as the function arranges them."""
    assert entry.traced is not None
    slots = entry.traced.program.main.slots
    tree = entry.traced.results
    if type(tree) is Result:
        return results[tree.number]
    values: list[Any] = []

    def leaf(x: Any, _: str) -> Any:
        if type(x) is Result:
            return results[x.number]
        if type(x) is not NumberResult:
            return x
        if not values:
            values.extend(computed(slots, numbers).values())
        return values[x.slot]

    return mapped(tree, leaf)
