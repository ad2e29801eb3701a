"""A function as integers: what the analyses take."""

from collections.abc import Iterator
from typing import NamedTuple

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    WRITE,
    Access,
    ValueKind,
    Values,
    alias_classes,
)
from oneflow_lite.graph.ir import Function, Op, Value

_ELEMENTWISE_KINDS = ("elementwise", "where", "copy")


class Numbered(NamedTuple):
    """A function as integers, as ``flow.graph.analyses`` takes it.

    Attributes
    ----------
    names : list of str
        Of each operation. Views are none; each assign at the end is one.
    accesses : rows of (value, Access)
        What each operation uses.
    values : Values
        What is known of the values; views and new versions are in the class of what they are of.
    pairs : list of (operation, operand, result)
        Where a result may be written over an operand.
    tokens : rows of int
        What orders each operation besides values: those of one token keep their order.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> function = flow.graph.trace(lambda x: flow.tanh(x).T + 1, flow.ones((2, 3))).program.main
    >>> program = flow.graph.numbered(function)
    >>> program.names, list(program.values.classes)
    (['tanh', 'add'], [0, 1, 1, 2])
    """

    names: list[str]
    accesses: list[list[tuple[int, Access]]]
    values: Values
    pairs: list[tuple[int, int, int]]
    tokens: list[list[int]]

    def variables(self) -> list[list[tuple[int, Access]]]:
        """Return the accesses to memories, by class."""
        classes = list(self.values.classes)
        return [[(classes[x], access) for x, access in row] for row in self.accesses]


def numbered(function: Function) -> Numbered:
    """Return a function as integers; ``Numbered`` says how."""
    return _Numbering(function).made()


class _Numbering:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.numbers: dict[Value, int] = {}
        self.whole: dict[Value, Value] = {}
        self.shared: list[tuple[int, int]] = []
        self.rows: list[list[tuple[int, Access]]] = []
        self.names: list[str] = []
        self.pairs: list[tuple[int, int, int]] = []
        self.tokens: list[list[int]] = []
        self.known_tokens: dict[str, int] = {}
        for value in function.inputs():
            self._add(value)

    def made(self) -> Numbered:
        last = self._last_uses()
        for i, op in enumerate(self.function.ops):
            if op.is_view:
                self._view(op)
            else:
                self._op(i, op, last)
        for target, source in self.function.assigns:
            if self.whole[source] is not target:
                self.names.append("assign")
                self.tokens.append([])
                self.rows.append(
                    [(self.numbers[source], ELEMENTWISE), (self.numbers[target], WRITE)]
                )
        return Numbered(self.names, self.rows, self._facts(), self.pairs, self.tokens)

    def _add(self, value: Value, whole: Value | None = None) -> int:
        self.numbers[value] = len(self.numbers)
        self.whole[value] = value if whole is None else self.whole[whole]
        return self.numbers[value]

    def _last_uses(self) -> dict[Value, int]:
        """Return the operation that uses each value, or a view of it, at last."""
        root: dict[Value, Value] = {}
        last: dict[Value, int] = {}
        for i, op in enumerate(self.function.ops):
            for value in op.values():
                last[root.get(value, value)] = i
            if op.is_view:
                operand = op.values()[0]
                root[op.results[0]] = root.get(operand, operand)
        for value in self._kept():
            last[root.get(value, value)] = len(self.function.ops)
        return last

    def _kept(self) -> Iterator[Value]:
        yield from self.function.results
        yield from (source for _, source in self.function.assigns)

    def _view(self, op: Op) -> None:
        operand = op.values()[0]
        number = self._add(op.results[0], operand)
        self.shared.append((number, self.numbers[operand]))

    def _op(self, i: int, op: Op, last: dict[Value, int]) -> None:
        place, is_elementwise = len(self.rows), op.call.kind in _ELEMENTWISE_KINDS
        row: dict[int, Access] = {}
        made = []
        for value in op.values():
            lies_alike = is_elementwise and op.results[0].type.shape == value.type.shape
            access = ELEMENTWISE if lies_alike else READ
            number = self.numbers[value]
            row[number] = min(access, row.get(number, access))
        written = iter(op.targets)
        for k, value in enumerate(op.results):
            target = self.whole[next(written)] if op.call.targets >> k & 1 else None
            in_place = target is not None and last.get(target, -1) <= i
            number = self._add(value, target if in_place else None)
            if in_place and target is not None:
                self.shared.append((number, self.numbers[target]))
            made.append(number)
        operands = [number for number, access in row.items() if access == ELEMENTWISE]
        self.pairs += [
            (place, x, result) for result in made[:1] for x in operands if not op.targets
        ]
        known = self.known_tokens
        self.tokens.append([known.setdefault(token, len(known)) for token in op.effects])
        self.names.append(op.name)
        self.rows.append([*row.items(), *((number, WRITE) for number in made)])

    def _facts(self) -> Values:
        given, kept = set(self.function.inputs()), set(self.function.results)
        types = [value.type for value in self.numbers]
        layouts: dict[object, int] = {}
        return Values(
            alias_classes(len(types), self.shared),
            [
                ValueKind.GIVEN
                if value in given
                else ValueKind.RESULT
                if value in kept
                else ValueKind.TEMPORARY
                for value in self.numbers
            ],
            [layouts.setdefault((x.shape, x.strides), len(layouts)) for x in types],
            [x.size for x in types],
            [x.dtype.itemsize for x in types],
        )
