"""Arguments and captured tensors that share memory: a trace sees one memory, with views of it.

x = whole[:4] ─┐
               ├─► the bytes of whole ─► a parameter, of which x and y are views
y = whole[2:] ─┘
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor, TraceError


class SharedMemoryError(TraceError):
    """Memory is written to that several tensors share; ``captures`` are those that are captured."""

    def __init__(self, message: str, captures: Sequence[Tensor]) -> None:
        super().__init__(message)
        self.captures = tuple(captures)


@dataclass(frozen=True)
class Group:
    """Tensors over the memory of one storage: the holder's."""

    numbers: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    holder: Tensor
    offset: int  # bytes to the holder's first element
    nbytes: int

    def memory(self) -> Tensor:
        """Return all of the memory, as bytes."""
        call = OpCall("view", "view", attr=(_C.type_code("uint8"), -self.offset, self.nbytes, 1))
        (memory,) = call.replay([self.holder])
        return memory


@dataclass(frozen=True)
class Sharing:
    """Which of a call's tensors share memory. A program depends on the ``pattern``."""

    groups: tuple[Group, ...]
    pattern: tuple[Any, ...]

    def inputs(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return what a run is given: memories, then the tensors that share none."""
        shared = {number for group in self.groups for number in group.numbers}
        apart = [x for number, x in enumerate(tensors) if number not in shared]
        return [*(group.memory() for group in self.groups), *apart]


@dataclass(frozen=True)
class _Place:
    storage: int
    offset: int  # of the first element in the storage
    nbytes: int  # of the storage
    address: int  # of the storage; 0: no other one is over its memory

    def contains(self, other: "_Place") -> bool:
        if self.storage == other.storage:
            return True
        start = other.address - self.address
        return start >= 0 and start + other.nbytes <= self.nbytes


def sharing_of(tensors: Sequence[Tensor], captures: Sequence[Tensor]) -> Sharing | None:
    """Return which tensors share memory with an argument; None: none does.

    Raises
    ------
    ValueError
        Tensors lie in one memory, of which no storage has all.
    """
    given = [*tensors, *captures]
    places = [_Place(*_C.place_of(x)) for x in given]
    groups: list[Group] = []
    pattern: list[Any] = []
    for numbers in _memories(given, places):
        if len(numbers) == 1 or numbers[0] >= len(tensors):
            continue
        holder = _holder(places, numbers)
        place = places[holder]
        members = tuple(given[k] for k in numbers)
        groups.append(Group(numbers, members, given[holder], place.offset, place.nbytes))
        starts = (
            0 if places[k].storage == place.storage else places[k].address - place.address
            for k in numbers
        )
        offsets = tuple(places[k].offset + start for k, start in zip(numbers, starts, strict=True))
        pattern.append((numbers, offsets, place.nbytes))
    return Sharing(tuple(groups), tuple(pattern)) if groups else None


def memories(given: Sequence[Tensor]) -> list[tuple[int, ...]]:
    """Return the numbers of tensors by memory: that of a storage, or of several that overlap."""
    return _memories(given, [_Place(*_C.place_of(x)) for x in given])


def sharing_with(tensors: Sequence[Tensor], others: Sequence[Tensor]) -> list[int]:
    """Return the numbers of the tensors that have memory in common with one of the others."""
    count = len(tensors)
    shared = (x for x in memories([*tensors, *others]) if x[-1] >= count) if others else ()
    return [k for numbers in shared for k in numbers if k < count]


def _memories(given: Sequence[Tensor], places: Sequence[_Place]) -> list[tuple[int, ...]]:
    by_storage: dict[int, list[int]] = {}
    for k, place in enumerate(places):
        by_storage.setdefault(place.storage, []).append(k)
    by_address = [(str(given[k].device), places[k].address, k) for k, *_ in by_storage.values()]
    found: list[list[int]] = []
    device, end = "", 0  # of the last memory
    for at, address, k in sorted(by_address):
        place = places[k]
        if at != device or address >= end:
            found.append([])
            device, end = at, 0
        found[-1] += by_storage[place.storage]
        end = max(end, address + place.nbytes) if address else 0
    return sorted(tuple(sorted(numbers)) for numbers in found)


def _holder(places: Sequence[_Place], numbers: Iterable[int]) -> int:
    """Return the number of a tensor whose storage has the memory of all."""
    of = list(numbers)
    for k in of:
        if all(places[k].contains(places[other]) for other in of):
            return k
    raise ValueError(
        "[jit] arguments lie in one memory that is written to, and no tensor of them has all of "
        "it: pass views of one tensor, or copies"
    )
