"""Which operations are worth another layout of their operands."""

from collections.abc import Collection, Iterator, Sequence, Set
from typing import Any

import numpy as np

STAYS = -1
Rows = Sequence[Collection[int]]


def assign_layouts(
    wanted: Sequence[int],
    takes: Rows,
    reads: Rows,
    makes: Rows,
    kept: Collection[int],
    costs: Sequence[float],
    gains: Sequence[float],
) -> list[int]:
    """Return the layout of each operation: the one that it wants, where that pays, or ``STAYS``.

    Operations that want one layout, and hand values to each other or share one, are a run. A run
    gets its layout if the operations gain more than it costs to pack what comes in, once for each
    value, and to unpack what others need. All of a run get it, or none. Before that, operations at
    the ends of runs that gain nothing stay as they are, where that costs less.

    Parameters
    ----------
    wanted : sequence of int
        Of each operation: the number of a layout, or ``STAYS``.
    takes, reads, makes : sequence of rows, sequences or sets, of int
        Values that an operation takes in the layout that it wants, that it needs as they were, and
        that it makes: in the layout, where it wants one. Each value is made once at most.
    kept : sequence or set of int
        Values that are needed in the end, as they were.
    costs : sequence of float
        Of each value: to pack it, or to unpack it.
    gains : sequence of float
        Of each operation: what it saves in the layout.

    Raises
    ------
    TypeError, ValueError, IndexError
        An argument is no such sequence, of another length, or names a value that is not there.

    Notes
    -----
    Nearly linear in the operations and what they take, read and make.

    Examples
    --------
    Two operations in a row; another one between others that stay.

    >>> from oneflow_lite.graph.analyses import STAYS, assign_layouts
    >>> rows = [0, 0, STAYS, 0]
    >>> taken, read, made = [[0], [1], [], [3]], [[], [], [2], []], [[1], [2], [3], [4]]
    >>> assign_layouts(rows, taken, read, made, [4], [1] * 5, [1.5, 1.5, 0, 1.5])
    [0, 0, -1, -1]
    """
    _check(wanted, takes, reads, makes, kept, costs, gains)
    wanted, reads = _trimmed(wanted, takes, reads, makes, kept, costs, gains)
    runs = _Runs(wanted, takes, makes)
    saved = [gain if layout != STAYS else 0.0 for layout, gain in zip(wanted, gains, strict=True)]
    balance = runs.balance(saved, reads, kept, costs)
    return [
        layout if layout != STAYS and balance[runs.root(i)] > 0 else STAYS
        for i, layout in enumerate(wanted)
    ]


def _check(
    wanted: Sequence[int],
    takes: Rows,
    reads: Rows,
    makes: Rows,
    kept: Collection[int],
    costs: Sequence[float],
    gains: Sequence[float],
) -> None:
    _check_items("wanted", wanted, int)
    _check_items("costs", costs, float)
    _check_items("gains", gains, float, len(wanted))
    _check_values("kept", kept, len(costs))
    for name, rows in (("takes", takes), ("reads", reads), ("makes", makes)):
        _check_items(name, rows, object, len(wanted))
        for i, row in enumerate(rows):
            _check_values(f"{name}[{i}]", row, len(costs))
    for i, layout in enumerate(wanted):
        if layout < STAYS:
            raise ValueError(
                f"[assign_layouts] wanted[{i}]: expected {STAYS} or more, got {layout}"
            )


def _check_items(
    name: str,
    given: Any,
    kind: type,
    count: int | None = None,
    may_be_set: bool = False,
) -> None:
    is_row = isinstance(given, Sequence | np.ndarray) or (may_be_set and isinstance(given, Set))
    if isinstance(given, str) or not is_row:
        raise TypeError(f"[assign_layouts] {name}: expected a sequence, got {given!r}")
    if count is not None and len(given) != count:
        raise ValueError(f"[assign_layouts] {name}: expected {count} items, got {len(given)}")
    wanted = {int: int | np.integer, float: int | float | np.integer | np.floating}.get(kind, kind)
    for i, x in enumerate(given):
        if not isinstance(x, wanted):
            raise TypeError(f"[assign_layouts] {name}[{i}]: expected a number, got {x!r}")


def _check_values(name: str, given: Any, count: int) -> None:
    _check_items(name, given, int, may_be_set=True)
    for value in given:
        if not 0 <= value < count:
            raise IndexError(f"[assign_layouts] {name}: value {value}, expected 0 to {count - 1}")


def _trimmed(
    given: Sequence[int],
    takes: Rows,
    reads: Rows,
    makes: Rows,
    kept: Collection[int],
    costs: Sequence[float],
    gains: Sequence[float],
) -> tuple[list[int], Rows]:
    """Return the layouts and what is read, without operations that are cheaper as they are.

    From the last operation on: whether others need its result in the layout is known by then.
    """
    wanted, read = list(given), list(reads)
    makers = {value: i for i, row in enumerate(makes) for value in row}
    plain = {*kept, *(value for row in reads for value in row)}  # needed as they were
    takers = [0] * len(costs)
    for i, row in enumerate(takes):
        for value in {*row} if wanted[i] != STAYS else ():
            takers[value] += 1

    def is_made(value: int, layout: int) -> bool:
        return value in makers and wanted[makers[value]] == layout

    for i in reversed(range(len(wanted))):
        layout, own = wanted[i], {*takes[i]}
        if layout == STAYS or gains[i] or any(takers[value] for value in makes[i]):
            continue
        alone = [x for x in own if takers[x] == 1 and not is_made(x, layout)]
        following = sum(costs[x] for x in (*alone, *plain.intersection(makes[i])))
        staying = sum(costs[x] for x in own - plain if is_made(x, layout))
        if staying < following:
            wanted[i], read[i] = STAYS, [*reads[i], *takes[i]]
            plain |= own
            for value in own:
                takers[value] -= 1
    return wanted, read


class _Runs:
    """Operations of one layout that share values, as sets that are joined."""

    def __init__(self, wanted: Sequence[int], takes: Rows, makes: Rows) -> None:
        self._wanted, self._takes = wanted, takes
        self._parent = list(range(len(wanted)))
        self._maker = {
            value: i for i, row in enumerate(makes) for value in row if wanted[i] != STAYS
        }
        self._first_taker: dict[tuple[int, int], int] = {}
        for i, layout in enumerate(wanted):
            for value in takes[i] if layout != STAYS else ():
                self._join(i, self._partner(value, layout, i))

    def _partner(self, value: int, layout: int, taker: int) -> int:
        """Return the operation that has the value in the layout already, or else the taker."""
        maker = self._maker.get(value)
        if maker is not None and self._wanted[maker] == layout:
            return maker
        return self._first_taker.setdefault((value, layout), taker)

    def _join(self, one: int, other: int) -> None:
        self._parent[self.root(one)] = self.root(other)

    def root(self, i: int) -> int:
        """Return the operation that stands for the run."""
        while self._parent[i] != i:
            self._parent[i] = i = self._parent[self._parent[i]]
        return i

    def balance(
        self, saved: Sequence[float], reads: Rows, kept: Collection[int], costs: Sequence[float]
    ) -> list[float]:
        """Return what each run gains, at its root: what its operations save, without its costs."""
        balance = [0.0] * len(saved)
        for i, gain in enumerate(saved):
            balance[self.root(i)] += gain
        for value, i in (*self.packed(), *self.unpacked(reads, kept)):
            balance[self.root(i)] -= costs[value]
        return balance

    def packed(self) -> Iterator[tuple[int, int]]:
        """Return values that come into a run, each with an operation of the run."""
        for (value, _), taker in self._first_taker.items():
            yield value, taker

    def unpacked(self, reads: Rows, kept: Collection[int]) -> Iterator[tuple[int, int]]:
        """Return values that are needed as they were, each with the operation that makes it."""
        needed = {*kept, *(value for row in reads for value in row)}
        for (value, _), _ in self._first_taker.items():  # made in another layout
            needed.add(value)
        for value in needed:
            if value in self._maker:
                yield value, self._maker[value]
