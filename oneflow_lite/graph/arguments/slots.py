"""Numbers that each call brings along: what a traced function gets in the place of a float.

Arithmetic with them is recorded, and done in double by each call. As operands of tensor
operations they are Python's numbers. What needs a value makes the argument static: the trace begins
again, with the number itself.

argument ─► Number ─► arithmetic ─► Number ─► operand of a tensor operation
                │
                └── its value is needed ─► the trace begins again
"""

import gc
import operator
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import Any, NoReturn

from oneflow_lite import _C
from oneflow_lite._C import Tensor, TraceError
from oneflow_lite.graph.ir import Slot
from oneflow_lite.graph.sites import at, user_site

_PYTHONS = (float, int, complex, bool)
_UNARY = ("neg", "pos", "abs")
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
ARITHMETIC = (*_UNARY, *_BINARY)


_threads = threading.local()  # .slots: those of the trace that each thread makes


class NeedsValueError(BaseException):
    """The trace has to begin again, with some arguments static. No error of the program."""


def computed(slots: Sequence[Slot], given: Sequence[Any]) -> dict[Slot, Any]:
    """Return the value of each slot, where the first ones have these.

    Raises
    ------
    ValueError
        There are more or fewer numbers.
    TypeError
        A value is of another kind than its slot.
    """
    expected = sum(slot.operation is None for slot in slots)
    if len(given) != expected:
        raise ValueError(f"expected {expected} numbers, got {len(given)}")
    values: dict[Slot, Any] = {}
    rest = iter(given)
    for slot in slots:
        if slot.operation is None:
            values[slot] = next(rest)
        else:
            operands = (values[x] if isinstance(x, Slot) else x for x in slot.operands)
            values[slot] = getattr(operator, slot.operation)(*operands)
        if type(values[slot]) is not slot.kind:
            raise TypeError(
                f"expected a {slot.kind.__name__}, got {values[slot]!r} of "
                f"{slot.operation or 'the caller'}"
            )
    return values


class Slots:
    """The numbers of one trace. ``static``: paths of arguments that are passed as they are."""

    def __init__(
        self, name: str, static: Mapping[str, str], shown: Callable[[str], str] = str
    ) -> None:
        self.name = name
        self._shown = shown  # a path as users write it
        self.slots: list[Slot] = []
        self.paths: list[str] = []  # of those that the caller gives
        self.found: dict[str, str] = {}  # paths whose values are needed, and why
        self._static = static
        self._values: list[Any] = []
        self._sources: list[frozenset[str]] = []  # the paths that each one depends on
        self._numbers: dict[Any, int] = {}  # by what they are computed from
        self._made: list[weakref.ref[Number]] = []
        self._thread: int | None = get_ident()
        _threads.slots = self

    def given(self, value: float | complex, path: str) -> Any:
        """Return what the function gets for an argument."""
        if path in self._static:
            return value
        self.paths.append(path)
        return self._add(Slot(type(value)), value, frozenset((path,)))

    def close(self) -> None:
        """End the trace: numbers have no meaning any more."""
        self._thread = None
        _threads.slots = None

    def note_kept(self) -> None:
        """Make those static that somebody holds after the function: a number has to be there."""
        if not any(reference() is not None for reference in self._made):
            return
        gc.collect()  # not who is in a ring of references
        for reference in self._made:
            kept = reference()
            if kept is not None:
                for path in self._sources[kept.number]:
                    self.found[path] = "is kept after the function"

    def check(self, number: "Number") -> None:
        """Refuse a number outside of its trace."""
        if self._thread != get_ident():
            paths = " and ".join(sorted(map(self._shown, self._sources[number.number])))
            raise TraceError(
                f"[{self.name}] the number {paths} of a recording is used outside of it: return "
                "it, or pass it as an argument"
            )

    def sources_of(self, number: "Number") -> frozenset[str]:
        """Return the paths of the numbers that the caller gives, and this one depends on."""
        return self._sources[number.number]

    def need(self, number: "Number", what: str) -> NoReturn:
        """Begin the trace again, with the arguments static that the number depends on."""
        self.check(number)
        why = f"{what} needs its value{at(user_site())}"
        self.found |= dict.fromkeys(self._sources[number.number], why)
        raise NeedsValueError

    def compute(self, operation: str, operands: tuple[Any, ...]) -> Any:
        """Return the result of arithmetic, or NotImplemented."""
        terms, values, sources, key = [], [], frozenset[str](), [operation]
        for x in operands:
            if type(x) is Number:
                self.check(x)
                if x.slots is not self:
                    return NotImplemented
                terms.append(self.slots[x.number])
                values.append(self._values[x.number])
                sources |= self._sources[x.number]
                key.append(f"%{x.number}")
            elif type(x) in _PYTHONS:
                terms.append(x)
                values.append(x)
                key.append(f"{type(x).__name__} {x!r}")
            else:
                return NotImplemented
        value = getattr(operator, operation)(*values)  # may raise: Python's own error
        known = self._numbers.get(tuple(key))
        if known is not None:
            return self.number(known)
        self._numbers[tuple(key)] = len(self.slots)
        return self._add(Slot(type(value), operation, tuple(terms), user_site()), value, sources)

    def _add(self, slot: Slot, value: Any, sources: frozenset[str]) -> "Number":
        self.slots.append(slot)
        self._values.append(value)
        self._sources.append(sources)
        return self.number(len(self.slots) - 1)

    def number(self, number: int) -> "Number":
        """Return what the function gets for a slot."""
        made = Number(self, number, self.slots[number].kind)
        self._made.append(weakref.ref(made))
        return made


def number_of(slot: int) -> "Number":
    """Return the number of a slot of the trace that the calling thread makes."""
    slots: Slots = _threads.slots
    return slots.number(slot)


class Number:
    """A float or complex argument of a function that is traced, or what is computed from some."""

    __slots__ = ("__weakref__", "kind", "number", "slots")

    def __init__(self, slots: Slots, number: int, kind: type) -> None:
        self.slots = slots
        self.number = number
        self.kind = kind

    @property  # type: ignore[misc]  # so that isinstance(x, float) is true
    def __class__(self) -> type:
        return self.kind

    @property
    def is_complex(self) -> bool:
        """The values are complex numbers."""
        return self.kind is complex

    def as_operand(self) -> int:
        """Return the number of the slot, for an operation that is recorded."""
        self.slots.check(self)
        return self.number

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} {self.number} of {self.slots.name}>"

    def __copy__(self) -> "Number":
        return self

    def __deepcopy__(self, memo: Any) -> "Number":
        return self

    def __divmod__(self, other: Any) -> Any:
        quotient = self.slots.compute("floordiv", (self, other))
        if quotient is NotImplemented:
            return quotient
        return quotient, self.slots.compute("mod", (self, other))

    def __rdivmod__(self, other: Any) -> Any:
        quotient = self.slots.compute("floordiv", (other, self))
        if quotient is NotImplemented:
            return quotient
        return quotient, self.slots.compute("mod", (other, self))

    def __getattr__(self, name: str) -> Any:
        if hasattr(self.kind, name):
            self.slots.need(self, name)
        raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if any(isinstance(x, Tensor) for x in inputs):
            return NotImplemented
        self.slots.need(self, ufunc.__name__)


def _add_arithmetic() -> None:
    def unary(operation: str) -> Callable[..., Any]:
        return lambda self: self.slots.compute(operation, (self,))

    def binary(operation: str) -> Callable[..., Any]:
        return lambda self, other: self.slots.compute(operation, (self, other))

    def reflected(operation: str) -> Callable[..., Any]:
        return lambda self, other: self.slots.compute(operation, (other, self))

    for operation in _UNARY:
        setattr(Number, f"__{operation}__", unary(operation))
    for operation in _BINARY:
        setattr(Number, f"__{operation}__", binary(operation))
        setattr(Number, f"__r{operation}__", reflected(operation))


def _add_looks() -> None:
    def look(what: str) -> Callable[..., Any]:
        return lambda self, *_, **__: self.slots.need(self, what)

    def comparison(what: str) -> Callable[..., Any]:
        def compare(self: Number, other: Any) -> Any:
            return NotImplemented if isinstance(other, Tensor) else self.slots.need(self, what)

        return compare

    for name in ("bool", "float", "int", "complex", "hash", "str", "format", "round", "trunc"):
        setattr(Number, f"__{name}__", look(name))
    for name in ("floor", "ceil", "array", "reduce_ex"):
        setattr(Number, f"__{name}__", look(name))
    for name, sign in {
        "lt": "<",
        "le": "<=",
        "eq": "==",
        "ne": "!=",
        "gt": ">",
        "ge": ">=",
    }.items():
        setattr(Number, f"__{name}__", comparison(sign))


_add_arithmetic()
_add_looks()
_C.set_slot_type(Number)
