"""A program for one kind of arguments, and how its results are arranged."""

from dataclasses import dataclass, field
from typing import Any

from oneflow_lite._C import Executable, Tensor
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.arguments.slots import computed
from oneflow_lite.graph.jit.keys import Brought, Part
from oneflow_lite.graph.jit.watch import Watch
from oneflow_lite.graph.literals import literal
from oneflow_lite.graph.tracing import NumberResult, Result, Traced
from oneflow_lite.graph.trees import mapped


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
    look_ups: int = 0  # since it was last forgotten among the known calls
    next_note: int = 1  # at which of them it is noted there; 0: it cannot be
    run_in_donated: Executable | None = None  # where nobody else sees the memory of these

    def captured(self) -> list[str]:
        """Return where captured tensors and generators are."""
        return sorted({watch.text for watch in self.watched if watch.is_captured})

    def named(self, brought: Brought, parameters: Parameters) -> list[tuple[str, Tensor]]:
        """Return the tensors of a call with their paths."""
        paths: dict[int, str] = {}
        for path, part in self.parts.items():
            if isinstance(part[0], int):
                paths.setdefault(part[0], parameters.path(path))
        return [(paths[place], x) for place, x in enumerate(brought.tensors)]

    def is_to_be_noted(self) -> bool:
        """Count a look-up; tell whether the call is to be noted among the known ones.

        That is so at the first look-up, the second, the fourth and so on. What is looked up once
        more was not found, or made room for others: noting it each time would cost more than that.
        """
        self.look_ups += 1
        if self.look_ups != self.next_note:
            return False
        self.next_note *= 2
        return True

    def forget_notes(self) -> None:
        """Begin anew: it is not among the known calls any more."""
        self.look_ups, self.next_note = 0, min(self.next_note, 1)


@dataclass(frozen=True)
class StaticNumbers:
    """Which numbers of a kind of arguments are static after all, and why, by path."""

    reasons: dict[str, str]
    places: tuple[int, ...]  # among the numbers of a call

    def take(self, key: Part, brought: Brought) -> Part:
        """Move the static numbers from what a call brings along to its key."""
        numbers = brought.numbers
        values = tuple(literal(numbers[place]) for place in self.places)
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
