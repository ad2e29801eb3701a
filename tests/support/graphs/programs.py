"""Programs of integers, and checkers that know nothing of how the analyses work.

A program is run on memory of a few elements, element by element, as a kernel may do it. So a result
that is written over what is still read shows as a wrong number.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    SHAPE,
    WRITE,
    Access,
    ValueKind,
    Values,
    dependences,
)

Edges = list[tuple[int, int]]
P = (1 << 61) - 1

# --- Order


def ancestors(operations: int, edges: Iterable[tuple[int, int]]) -> list[set[int]]:
    """What comes before each operation, by paths of edges that go forward."""
    before: list[set[int]] = [set() for _ in range(operations)]
    for first, second in sorted(edges, key=lambda edge: edge[1]):
        before[second] |= before[first] | {first}
    return before


def lane_edges(lanes: Sequence[int]) -> Edges:
    """Operations of one lane run one after the other."""
    return [
        edge
        for lane in set(lanes)
        for edge in pairwise(i for i, other in enumerate(lanes) if other == lane)
    ]


def superfluous(operations: int, edges: Edges, fixed: Iterable[tuple[int, int]] = ()) -> Edges:
    """The edges that follow from the others and the fixed ones."""
    found = []
    for k, (first, second) in enumerate(edges):
        others = [*edges[:k], *edges[k + 1 :], *fixed]
        if first in ancestors(operations, others)[second]:
            found.append((first, second))
    return found


def random_edges(rng: random.Random, operations: int, count: int) -> Edges:
    if operations < 2:
        return []
    pairs = [sorted(rng.sample(range(operations), 2)) for _ in range(count)]
    return [(first, second) for first, second in pairs]


def linear_orders(
    rng: random.Random, operations: int, edges: Edges, count: int
) -> Iterator[list[int]]:
    """Random orders that the edges allow, the program's own first."""
    yield list(range(operations))
    for _ in range(count):
        left = {i: {a for a, b in edges if b == i} for i in range(operations)}
        order: list[int] = []
        while left:
            ready = [i for i, before in left.items() if not before]
            order.append(rng.choice(ready))
            del left[order[-1]]
            for before in left.values():
                before.discard(order[-1])
        yield order


# --- Programs of values

MAPS = {0: (0, 1, 2, 3), 1: (3, 2, 1, 0), 2: (0, 1), 3: (2, 3), 4: (1,)}  # place -> elements


@dataclass
class Program:
    """Values with their memory, and operations over them."""

    classes: list[int] = field(default_factory=list)
    kinds: list[ValueKind] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    accesses: list[list[tuple[int, Access]]] = field(default_factory=list)
    assignments: list[tuple[int, int, int]] = field(default_factory=list)
    additions: list[tuple[int, int, int, int]] = field(default_factory=list)

    def value(self, kind: ValueKind = ValueKind.TEMPORARY, place: int = 0) -> int:
        self.classes.append(len(self.classes))
        self.kinds.append(kind)
        self.places.append(place)
        return len(self.classes) - 1

    def view(self, of: int, place: int) -> int:
        view = self.value(place=place)
        self.classes[view] = self.classes[of]
        return view

    def operation(self, reads: Iterable[tuple[int, Access]], *results: int) -> int:
        self.accesses.append([*reads, *((result, WRITE) for result in results)])
        return len(self.accesses) - 1

    def assign(self, variable: int, source: int) -> int:
        operation = self.operation([(source, READ)], variable)
        self.assignments.append((operation, variable, source))
        return operation

    def add(self, accumulator: int, part: int, result: int) -> int:
        reads = [(accumulator, ELEMENTWISE), (part, ELEMENTWISE)]
        operation = self.operation(reads, result)
        self.additions.append((operation, accumulator, part, result))
        return operation

    @property
    def values(self) -> Values:
        elements, sizes = [len(MAPS[place]) for place in self.places], [4] * len(self.kinds)
        return Values(self.classes, self.kinds, self.places, elements, sizes)

    def edges(self) -> Edges:
        """The order that reads and writes of memory need, when nothing is shared yet."""
        return dependences([[(self.classes[v], how) for v, how in row] for row in self.accesses])


@dataclass
class Decisions:
    """What was decided about a program: classes of memory, and operations that go."""

    classes: list[int]
    gone: set[int] = field(default_factory=set)
    adds: dict[int, tuple[int, int]] = field(default_factory=dict)  # product: part, accumulator


def run(program: Program, decisions: Decisions, order: Sequence[int]) -> dict[object, object]:
    """All that can be seen: what each operation computed, and results and variables at the end."""
    memory = {c: [_hash("memory", c, i) for i in range(4)] for c in set(decisions.classes)}
    for value, kind in enumerate(program.kinds):
        if kind == ValueKind.GIVEN:
            memory[decisions.classes[value]] = [_hash("given", value, i) for i in range(4)]

    def load(value: int, element: int) -> int:
        where = MAPS[program.places[value]]
        return memory[decisions.classes[value]][where[element if len(where) > 1 else 0]]

    def store(value: int, element: int, number: int) -> None:
        memory[decisions.classes[value]][MAPS[program.places[value]][element]] = number

    def whole(value: int) -> tuple[int, ...]:
        return tuple(load(value, i) for i in range(len(MAPS[program.places[value]])))

    seen: dict[object, object] = {}
    sums = {operation for operation, *_ in program.additions}
    copies = {operation: source for operation, _, source in program.assignments}
    for operation in order:
        row = program.accesses[operation]
        results = [value for value, how in row if how == WRITE]
        part, accumulator = decisions.adds.get(operation, (-1, -1))
        computed: dict[int, list[int]] = {result: [] for result in results}
        count = max((len(MAPS[program.places[result]]) for result in results), default=0)
        for i in range(count if operation not in decisions.gone else 0):
            each = [load(v, i) for v, how in row if how == ELEMENTWISE]
            parts = [whole(v) for v, how in row if how == READ]
            for k, result in enumerate(results):
                if operation in sums:
                    number = sum(each) % P
                elif operation in copies:
                    number = load(copies[operation], i)
                else:
                    number = _hash(operation, k, i, *each, *parts)
                computed[result].append(number)
            for result in results:
                if result == part:
                    store(accumulator, i, (load(accumulator, i) + computed[result][i]) % P)
                else:
                    store(result, i, computed[result][i])
        if not results:
            seen[operation] = [whole(v) for v, how in row if how != SHAPE]
        elif operation not in sums and operation not in decisions.gone:
            seen[operation] = computed
    for value, kind in enumerate(program.kinds):
        if kind != ValueKind.TEMPORARY:
            seen["end", value] = whole(value)
    return seen


def _hash(*what: object) -> int:
    return hash(what) % P


def differences(
    program: Program, decisions: Decisions, rng: random.Random, lanes: Sequence[int], edges: Edges
) -> list[object]:
    """What differs from a run in which nothing shares memory, in any order that is allowed."""
    operations = len(program.accesses)
    expected = run(program, Decisions(program.classes), range(operations))
    wrong: list[object] = []
    for order in linear_orders(rng, operations, [*edges, *lane_edges(lanes)], 4):
        found = run(program, decisions, order)
        wrong += [key for key, value in found.items() if expected[key] != value]
    return wrong


def random_values(rng: random.Random, operations: int, variables: int = 2) -> Program:
    """Elementwise operations, others, views, broadcasts, reads of shapes, and results."""
    program = Program()
    known = [program.value(ValueKind.GIVEN) for _ in range(variables)]
    for _ in range(operations):
        reads, place = [], rng.choice([0, 0, 0, 0, 1, 2])
        for value in rng.choices(known[-5:], k=rng.randint(1, 2)):
            fits = len(MAPS[program.places[value]]) in (1, len(MAPS[place]))
            how = ELEMENTWISE if fits else READ
            reads.append((value, rng.choice([how, how, how, READ, SHAPE])))
        results = [program.value(place=place) for _ in range(rng.choice([1, 1, 1, 2]))]
        program.operation(reads, *results)
        known += results
        if rng.random() < 0.2 and len(MAPS[place]) == 4:  # all of the memory is written
            known.append(program.view(rng.choice(results), rng.choice(list(MAPS))))
        if rng.random() < 0.2:
            program.operation([(rng.choice(known[-5:]), READ)])
    for value in rng.sample(range(variables, len(program.kinds)), 2):
        program.kinds[value] = ValueKind.RESULT
    return program


# --- Plans of memory


def overlaps(
    sizes: Sequence[int],
    users: Sequence[Sequence[int]],
    spaces: Sequence[int],
    offsets: Sequence[int],
    before: Sequence[set[int]],
) -> Edges:
    """Pairs of classes that lie on the same bytes while both may be in use."""

    def is_over(one: int, other: int) -> bool:
        return all(a in before[b] for a in users[one] for b in users[other])

    return [
        (one, other)
        for one in range(len(sizes))
        for other in range(one)
        if users[one]
        and users[other]
        and spaces[one] == spaces[other]
        and offsets[one] < offsets[other] + sizes[other]
        and offsets[other] < offsets[one] + sizes[one]
        and not is_over(one, other)
        and not is_over(other, one)
    ]
