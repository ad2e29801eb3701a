"""What kernels that reduce among other operations load, compute and store, walk by walk.

Threads walk what they reduce once for each reduction, and once more for what comes after. A walk
computes what it needs from what is in memory: nothing is kept between walks but what each row has
one of.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from oneflow_lite.cuda.kernels.elementwise import elementwise
from oneflow_lite.cuda.kernels.fusion.fusion import (
    SCALARS,
    Operation,
    Value,
    operations_of,
    step,
    values_of,
)
from oneflow_lite.cuda.kernels.reduce import reduce
from oneflow_lite.cuda.kernels.request import Request


class Version(NamedTuple):
    """What a value is after so many writes; 0: what was in memory."""

    value: int
    writes: int

    def __str__(self) -> str:
        return f"v{self.value}_{self.writes}"


class Node(NamedTuple):
    """An operation, with what it reads and writes."""

    operation: Operation
    text: str | None  # of what is elementwise
    reads: tuple[Version, ...]  # scalars are none
    writes: Version
    walk: int  # reductions before it
    reduces: bool

    def name_of(self, number: int) -> str:
        """Return what an operand is called in the text."""
        if number >= SCALARS:
            return f"s{number - SCALARS}"
        return next(str(version) for version in self.reads if version.value == number)


class LostError(Exception):
    """A walk needs what an earlier one has overwritten."""


class Walk(NamedTuple):
    """What one walk along a row loads, computes and stores."""

    number: int
    loads: list[Version]
    nodes: list[Node]
    stores: list[Version]
    reduction: Node | None


class Walks:
    """The operations of a request, and the walks that run them.

    Attributes
    ----------
    nodes, reductions : list of Node
        All operations in their order, and those that reduce.
    lanes : int
        Elements of the largest vectors in which values can be moved; 1: they cannot.
    is_ended : int
        The one reduction is the last operation, and no part of a walk.
    """

    def __init__(self, request: Request, has_rows: bool) -> None:
        self.operations = operations_of(request)
        self.values = values_of(request, self.operations)
        self.lanes, self.is_ended = request.options[:2]
        self.has_rows = has_rows
        self.wide = request.wide
        self.nodes = self._number()
        self._last = {node.writes.value: node.writes for node in self.nodes}
        self._of = {node.writes: node for node in self.nodes}
        self.reductions = [node for node in self.nodes if node.reduces]

    def _number(self) -> list[Node]:
        """Every write of a value makes a version of it."""
        writes = dict.fromkeys(range(len(self.values)), 0)
        nodes: list[Node] = []
        walk = 0
        for operation in self.operations:
            reads = tuple(Version(k, writes[k]) for k in operation.operands[:-1] if k < SCALARS)
            output = operation.operands[-1]
            writes[output] += 1
            reduces = operation.request.kind == "reduction"
            text = None if reduces else elementwise.expression(operation.request)
            nodes.append(
                Node(operation, text, reads, Version(output, writes[output]), walk, reduces)
            )
            walk += reduces
        return nodes

    def has_text(self) -> bool:
        """Whether every operation can be said in CUDA."""
        return all(
            (self.structure(node) if node.reduces else node.text) is not None for node in self.nodes
        )

    def structure(self, node: Node) -> str | None:
        """Return what reduce.py says of a reduction."""
        one = node.operation.request
        ends = (one.dtypes[0], one.dtypes[-1]), (one.loop[0], one.loop[-1])
        request = Request("reduction", one.op, *ends, (), True, self.wide, (1, 1, 0))
        return reduce.operation(request)

    def value(self, version: Version) -> Value:
        """Return what it is a version of."""
        return self.values[version.value]

    def is_of_row(self, version: Version) -> bool:
        """Whether each row has one of it."""
        return self.has_rows and self.value(version).still

    def is_kept(self, version: Version) -> bool:
        """Whether it is in memory when the walk that makes it has ended."""
        return self.value(version).stored and self._last.get(version.value) == version

    def in_memory(self) -> list[int]:
        """Return the numbers of values that are in memory, before or after."""
        return [k for k, value in enumerate(self.values) if value.loaded or value.stored]

    def walk(self, number: int) -> Walk:
        """Return what walk `number` does, as many as there are reductions and one more.

        Raises LostError where it needs what an earlier one has overwritten.
        """
        loads: dict[Version, None] = {}
        needed: set[Version] = set()
        stores = [
            node.writes
            for node in self.nodes
            if node.walk == number
            and not node.reduces
            and self.is_kept(node.writes)
            and not self.is_of_row(node.writes)
        ]
        ends = self.reductions[number] if number < len(self.reductions) else None
        for version in (*stores, *(ends.reads[:1] if ends else ())):
            self._load_or_compute(version, number, loads, needed)
        nodes = [node for node in self.nodes if node.writes in needed]
        return Walk(number, list(loads), nodes, stores, ends)

    def _load_or_compute(
        self, version: Version, walk: int, loads: dict[Version, None], needed: set[Version]
    ) -> None:
        if self.is_of_row(version) or version in loads or version in needed:
            return
        node = self._of.get(version)
        if node is None:
            last = self._last.get(version.value)
            if last and self.is_kept(last) and self._of[last].walk < walk:
                raise LostError
            loads[version] = None
        elif self.is_kept(version) and node.walk < walk:
            loads[version] = None
        else:
            needed.add(version)
            for read in node.reads:
                self._load_or_compute(read, walk, loads, needed)

    def load_text(self, version: Version, first: str, at: str) -> str:
        """Return the load of `lanes` elements, from element `at` on of those at `first`."""
        dtype, k = self.value(version).dtype, version.value
        if self.value(version).contiguous:
            return f"load_run<{dtype}, lanes, {str(self.lanes > 1).lower()}>({first}, {at})"
        return f"load_strided<{dtype}, lanes>(args, {k}, {first}, {at})"

    def store_text(self, version: Version, first: str, at: str) -> str:
        """Return the store of what is in `..._kept`."""
        dtype, k = self.value(version).dtype, version.value
        if self.value(version).contiguous:
            vectors = str(self.lanes > 1).lower()
            return f"store_run<{dtype}, lanes, {vectors}>({first}, {at}, {version}_kept)"
        return f"store_strided<{dtype}, lanes>(args, {k}, {first}, {at}, {version}_kept)"

    def steps(self, walk: Walk, name: Callable[[Node, int], str]) -> str:
        """Return what becomes of one element."""
        text = ""
        for node in walk.nodes:
            text += f"        Stored<{self.value(node.writes).dtype}> {node.writes};\n"
            text += step(node.operation, node.text, partial(name, node), str(node.writes))
        return text + "".join(f"        {v}_kept.lane[j] = {v};\n" for v in walk.stores)

    def kept(self, walk: Walk) -> str:
        """Return the declarations of what is stored."""
        return "".join(
            f"      Loaded<{self.value(v).dtype}, lanes> {v}_kept;\n" for v in walk.stores
        )


def with_initial(node: Node, op: str) -> str:
    """Return the text that puts what a reduction begins with to `value`."""
    if len(node.operation.operands) < 3:
        return ""
    k = node.operation.operands[1] - SCALARS
    return f"value = {op}::combine({op}::of_initial(args.scalars[{k}]), value);"


def files(request: Request) -> tuple[str, ...]:
    """Return the files that a kernel begins with: those of its operations, and its own.

    Examples
    --------
    >>> dtypes = ("float32", "float32")
    >>> sums = Request("fused_rows", "reduction:sum", dtypes, dtypes, (), False, False,
    ...                (4, 0, 0, 2, 0, 1))
    >>> files(sums)[-2:]
    ('fusion/fusion.cuh', 'fusion/rows.cuh')
    """
    names: dict[str, None] = {}
    for operation in operations_of(request):
        if operation.request.kind != "reduction":
            names |= dict.fromkeys(elementwise.files(operation.request))
    return (*(names | dict.fromkeys(reduce.FILES)), "fusion/fusion.cuh", "fusion/rows.cuh")
