"""What programs are made of: operations in order, over typed values, each with the user's line.

Writes are new versions of values: an operation with a target makes the value that the target's
memory holds afterwards. So each value is made once, and ``assigns`` at the end is the only effect
on tensors from before.

    parameter, capture, constant ─► Value ─► Op ─► Value ─► Op ─► ... ─► results, assigns
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np

from oneflow_lite._C import Device, OpCall, Tensor

Site = tuple[str, int]
OBJECT_KINDS = ("philox", "draw", "function")


def row_major(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Return the strides of elements of ``step`` bytes, the last index fastest.

    As tensors have them, an extent of 0 counts as one of 1.
    """
    strides = []
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a value before it is computed.

    ``strides`` are in bytes; they belong to the type, as some loops round differently for others.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: Device

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def is_row_major(self) -> bool:
        """Strides are those of elements one behind the other, the last index fastest."""
        return self.strides == row_major(self.shape, self.dtype.itemsize)


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A number that each run is given, or computes from others as Python does.

    ``kind`` is float or complex. ``operation`` is the name of a function of Python's module
    operator; None: the caller of the run gives the number. Compared by identity.
    """

    kind: type
    operation: str | None = None
    operands: tuple["Slot | float | complex", ...] = ()
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """An operand that is a number: ``value`` in ``dtype``; ``weak``: one of Python's, or a Slot."""

    dtype: np.dtype[Any]
    value: Any
    weak: bool


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What an operation, an argument, a captured tensor or a constant is. Compared by identity."""

    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class HostObject:
    """An object of Python that operations use at each run. Compared by identity.

    Of kind ``philox``: a stream of counted random numbers; ``text`` says how many counters a run
    takes. ``draw``: a call of one of NumPy's generators, as ``text`` shows it. ``function``: a host
    function. ``object`` is None where it is not known, as in a program that was read from text.
    """

    kind: str
    text: str
    object: Any


@dataclass(frozen=True, slots=True)
class GroupCall:
    """A call of a primitive function of the program: operations that run as one.

    Its operands are the function's parameters, then its slots. ``targets`` has a bit for each
    result that is the next version of a target.
    """

    name: str
    targets: int = 0

    kind: ClassVar[str] = "call"
    row: ClassVar[None] = None
    kernel: ClassVar[None] = None
    attr: ClassVar[tuple[int, ...]] = ()
    codes: ClassVar[tuple[int, ...]] = ()
    pattern: ClassVar[int] = 8  # opaque: no fusion goes beyond it
    object: ClassVar[None] = None

    def replay(self, operands: Sequence[Any], targets: Sequence[Tensor] = ()) -> list[Tensor]:
        """Refuse: a function runs with its program."""
        raise ValueError(f"[{self.name}] is a function of a program: inline it first")


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An operation: ``results = call(operands)``.

    ``call`` may be a ``GroupCall``, which looks like an ``OpCall``. ``targets`` are values (or
    views of them) that the call writes to; the result in the place of each is the next version of
    the whole value. ``site``: the user's file and line. ``object``: the generator or function that
    it uses. ``effects`` are the tokens that it writes (graph/effects): an operation with effects is
    never dropped, and those of one token keep their order. ``lane``: the compute lane of its device
    that its work goes to (``flow.vm.lane``); None: that of whoever runs the program.
    """

    call: OpCall
    operands: tuple[Value | Scalar, ...]
    targets: tuple[Value, ...]
    results: tuple[Value, ...]
    site: Site | None = None
    object: HostObject | None = None
    effects: tuple[str, ...] = ()
    lane: int | None = None
    is_view: bool = field(init=False)
    """The result is the operand's memory, seen otherwise."""
    _values: tuple[Value, ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        is_view = isinstance(self.call, OpCall) and self.call.kind == "view"
        object.__setattr__(self, "is_view", is_view)
        is_fixed = type(self.operands) is tuple and type(self.targets) is tuple  # lists may change
        object.__setattr__(self, "_values", self._find_values() if is_fixed else None)

    def _find_values(self) -> tuple[Value, ...]:
        values = [operand for operand in self.operands if isinstance(operand, Value)]
        return (*values, *self.targets)

    @property
    def name(self) -> str:
        """The operation, as errors name it."""
        return self.call.name

    def values(self) -> tuple[Value, ...]:
        """Return the operands that are values, then the targets."""
        return self._find_values() if self._values is None else self._values


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A value that is there from the beginning, with its tensor.

    None: the tensor is not known, as in a program that was read from text.
    """

    value: Value
    tensor: Tensor | None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """Operations in order, between ``params`` and ``results``.

    ``captures`` are read at each run, ``constants`` never change. ``assigns`` has pairs: a
    parameter or capture, and the value that its memory holds at the end. ``slots`` are the numbers
    of a run: first those that the caller gives, then those computed from them, in order.
    ``objects`` are those that operations use, and streams that a run only passes over. For readers:
    ``names`` of parameters and of given slots, and ``extents``, what stands for unknown extents in
    types, by number. ``primitive``: the body of a fused group, which passes of functions leave
    alone.
    """

    name: str
    params: tuple[Value, ...]
    captures: tuple[Bound, ...]
    constants: tuple[Bound, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]
    assigns: tuple[tuple[Value, Value], ...] = ()
    slots: tuple[Slot, ...] = ()
    objects: tuple[HostObject, ...] = ()
    names: Mapping[Value | Slot, str] = field(default_factory=dict)
    extents: Mapping[int, str] = field(default_factory=dict)
    primitive: bool = False

    def inputs(self) -> Iterator[Value]:
        """Return what no operation makes: parameters, captures, constants."""
        yield from self.params
        yield from (bound.value for bound in (*self.captures, *self.constants))
