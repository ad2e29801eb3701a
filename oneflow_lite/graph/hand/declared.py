"""What a program that was built by hand declares: feeds, variables, names."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from oneflow_lite._C import Device, Recorder, Tensor, TraceError
from oneflow_lite.device import resolve
from oneflow_lite.graph.hand.extents import Dim, Unknowns
from oneflow_lite.graph.hand.numbers import FedNumber
from oneflow_lite.graph.ir import Function, Site, Value


def _no_operand(extent: Dim, other: Tensor, is_compared: bool) -> Tensor:
    raise TraceError(f"[Dim] {extent!r} is of no program")


@dataclass(frozen=True, slots=True, eq=False)
class Feed:
    """A value that each run is given: data()."""

    name: str
    value: Value
    shape: tuple[int | Dim, ...]
    site: Site | None


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A value that lives in a scope: parameter()."""

    name: str
    value: Value
    site: Site | None


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """What the executor knows of a program besides its function.

    ``values`` are those of the recording, by number. ``operands`` are values that are numbers made
    of unknown extents. ``last`` is what feeds and variables that are written to hold at the end.
    """

    recorder: Recorder
    values: tuple[Value, ...]
    device: Device
    unknowns: Unknowns
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    numbers: Mapping[str, FedNumber] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    names: Mapping[str, Value] = field(default_factory=dict)
    operands: Mapping[Value, Dim] = field(default_factory=dict)
    last: Mapping[Value, Value] = field(default_factory=dict)

    def find(self, x: Tensor) -> tuple[Value, tuple[int, ...]] | None:
        """Return the value that a tensor of the recording has, and how it lies in it."""
        found = self.recorder.find(x)
        return None if found is None else (self.values[found[0]], found[1])

    def last_of(self, value: Value) -> Value:
        """Return what the memory of a feed or a variable holds at the end."""
        return self.last.get(value, value)

    @staticmethod
    def nothing(name: str) -> "Declared":
        """Return what an empty program declares."""
        recorder = Recorder(name)
        return Declared(recorder, (), resolve(None), Unknowns(recorder, _no_operand))


EMPTY = Function("main", (), (), (), (), ())
