"""A place in a stream of random numbers that are made by counting: a key and a counter."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from oneflow_lite import _C
from oneflow_lite.random.recorded import Recorded

_COUNTERS = 1 << 128
_STREAM = 1 << 64  # counters of one stream

_Own = TypeVar("_Own", bound="CounterStream")


@dataclass
class Counted:
    """How many counters a run of a program takes from a stream; kept while it is recorded."""

    stream: "CounterStream"
    taken: int = 0


class CounterStream(Recorded):
    """What ``Philox`` is without its numbers; see there."""

    def __init__(self, seed: Any = None, *, key: int | None = None, counter: int = 0) -> None:
        if key is not None and seed is not None:
            raise ValueError("[Philox] expected a seed or a key, got both")
        if key is None and seed is None:
            _C.refuse_while_recording("Philox without a seed", None)
        self._checked(key or 0, counter)
        super().__init__()  # _lock guards _counter and _seeds
        self._seeds = np.random.SeedSequence(_C.held(seed if key is None else key, "Philox"))
        hashed = int(self._seeds.generate_state(1, np.uint64)[0])
        self._key, self._counter = self._checked(hashed if key is None else key, counter)

    @staticmethod
    def _checked(key: int, counter: int) -> tuple[int, int]:
        for name, value, limit in (("key", key, _STREAM), ("counter", counter, _COUNTERS)):
            if not 0 <= operator.index(value) < limit:
                bits = limit.bit_length() - 1
                raise ValueError(f"[Philox] expected a {name} of {bits} bits, got {value}")
        return operator.index(key), operator.index(counter)

    def _take(self, counters: int) -> tuple[int, int]:
        """The key, and the first of so many counters that nobody else gets.

        While a program is recorded: 0, and how many of a run come before.
        """
        notes = self._notes()
        if notes is not None:
            counts = notes.setdefault(id(self), Counted(self))
            counts.taken += counters
            return 0, counts.taken - counters
        with self._lock:
            first = self._counter
            self._counter = (first + counters) % _COUNTERS
            return self._key, first

    def _mark(self) -> Callable[[], None]:
        """Return what puts the stream back to where it is now."""
        state = self.state
        return lambda: setattr(self, "state", state)

    @property
    def state(self) -> dict[str, int]:
        """The key, and the counter that the next draw begins with; may be set.

        Examples
        --------
        >>> rng = flow.random.Philox(key=3)
        >>> _ = rng.random(5)  # two counters of two numbers each, and half of a third
        >>> rng.state
        {'key': 3, 'counter': 3}
        """
        self._refuse("Philox.state")
        with self._lock:
            return {"key": self._key, "counter": self._counter}

    @state.setter
    def state(self, value: dict[str, int]) -> None:
        self._refuse("Philox.state")
        key, counter = self._checked(value["key"], value["counter"])
        with self._lock:
            self._key, self._counter = key, counter

    def advance(self, counters: int) -> None:
        """Pass over so many counters.

        Examples
        --------
        >>> rng = flow.random.Philox(key=3)
        >>> rng.advance(10)
        >>> rng.state["counter"]
        10
        """
        self._take(operator.index(counters))

    def jumped(self: _Own, jumps: int = 1) -> _Own:
        """Return a generator of the same key, 2**64 counters ahead for each jump.

        Streams that are jumps apart do not overlap unless one draws 2**64 counters.

        Examples
        --------
        >>> flow.random.Philox(key=3).jumped(2).state["counter"] == 2 * 2**64
        True
        """
        state = self.state
        counter = (state["counter"] + operator.index(jumps) * _STREAM) % _COUNTERS
        return type(self)(key=state["key"], counter=counter)

    def spawn(self: _Own, n_children: int) -> list[_Own]:
        """Return new generators with keys of their own, as ``SeedSequence.spawn`` has seeds.

        Examples
        --------
        >>> one, other = flow.random.Philox(3).spawn(2)
        >>> one.state["key"] == other.state["key"]
        False
        """
        self._refuse("Philox.spawn")
        with self._lock:
            seeds = self._seeds.spawn(n_children)
        children = []
        for seed in seeds:
            child = type(self)(key=int(seed.generate_state(1, np.uint64)[0]))
            child._seeds = seed
            children.append(child)
        return children
