"""A program that was built by hand, for one set of feeds and fetches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Device, Executable, OpCall, Tensor
from oneflow_lite.graph.arguments.sharing import sharing_with
from oneflow_lite.graph.compiling import made_ready
from oneflow_lite.graph.drawing.picture import PathLike
from oneflow_lite.graph.hand.declared import Declared, Feed, Variable
from oneflow_lite.graph.hand.feeds import Shape, fed_all, sizes_of
from oneflow_lite.graph.hand.instance import Setting, instance, pruned, values_read
from oneflow_lite.graph.hand.numbers import FedNumber
from oneflow_lite.graph.hand.scope import Scope, check_scope, global_scope
from oneflow_lite.graph.ir import Function, Op, Type, Value
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import at, here, user_site
from oneflow_lite.graph.text import type_text
from oneflow_lite.graph.trees import Leaf, mapped
from oneflow_lite.graph.verify import infer
from oneflow_lite.ops.creation.data import asarray, empty

Fetch = tuple[Value, tuple[int, ...]]  # a value, and how the tensor lies in it; (): as it is


@dataclass(frozen=True)
class Fetched(Leaf):
    """A leaf of the tree of fetches: the result of this number."""

    number: int


@dataclass(frozen=True)
class Fetches:
    """What is fetched: the tree, with a Fetched in the place of each leaf, and the leaves."""

    tree: Any
    leaves: tuple[Fetch, ...]


@dataclass(frozen=True)
class _Slot:
    """A variable of a compiled program."""

    variable: Variable
    type: Type
    is_read: bool
    is_written: bool


class Compiled:
    """A program that was built by hand, ready to run with feeds of known shapes.

    What ``flow.graph.compile(program, feed, fetch_list)`` returns, and what an ``Executor`` keeps.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> main = flow.graph.Program("main")
    >>> with flow.graph.building(main):
    ...     y = flow.graph.data("x", (None, 2)) + 1
    >>> run = flow.graph.compile(main, {"x": (3, 2)}, [y])
    >>> run({"x": flow.zeros((3, 2))})[0].shape
    (3, 2)
    """

    def __init__(
        self,
        program: Program,
        declared: Declared,
        shapes: Mapping[str, Shape],
        fetches: Fetches,
        device: Device | None,
        ways: tuple[str, str, int, bool, bool | None],
        context: PassContext,
    ) -> None:
        self.program = program
        self.device = device or declared.device
        self._op = f"[{program.name}]"
        self._declared, self._fetches = declared, fetches
        function = _local_feeds(program.main, declared)
        function = pruned(function, [x for x, _ in fetches.leaves])
        function = _with_results(function, fetches, declared)
        self._needed = _needed(self._op, function, declared, shapes)
        others = {x.value for x in declared.feeds.values() if x not in self._needed}
        function = replace(function, params=tuple(x for x in function.params if x not in others))
        self._shapes = {feed.name: shapes[feed.name] for feed in self._needed}
        sizes = sizes_of(self._op, declared, shapes, self._needed)
        function, inputs = _for_run(
            self._op, function, declared, Setting(sizes, declared.device, self.device)
        )
        self._slots = list(_slots(function, declared, inputs))
        known = {x.slot: x for x in declared.numbers.values()}
        self._numbers = [known[slot] for slot in function.slots if slot.operation is None]
        params = [inputs[feed.value] for feed in self._needed]
        params += [inputs[slot.variable.value] for slot in self._slots]
        self.function = replace(function, params=tuple(params))
        self._shared = _shared(self.function)
        self.executable: Executable = made_ready(
            Program(program.name, {"main": self.function}), context, *ways
        )

    def __call__(self, feed: Mapping[str, Any] | None = None, scope: Scope | None = None) -> Any:
        """Run with these feeds; return what is fetched, arranged as the fetches are."""
        if scope is not None:
            check_scope(self._op, scope)
        feeds = fed_all(self._op, self._declared, {} if feed is None else feed, self.device)
        for known in self._needed:
            if known.name not in feeds:
                raise missing(self._op, known)
            shape = tuple(getattr(feeds[known.name], "shape", ()))
            if shape != self._shapes[known.name]:
                raise ValueError(
                    f"{self._op} feed {known.name} is of shape {shape}, compiled for "
                    f"{self._shapes[known.name]}{at(known.site)}"
                )
        return self.run(feeds, self._fetches, scope)

    def run(self, feeds: Mapping[str, Any], fetches: Fetches, scope: Scope | None) -> Any:
        """Run with tensors and numbers that are checked; the tree is that of ``fetches``."""
        for number in self._numbers:
            if number.name not in feeds:
                raise missing(self._op, number)
        place = global_scope() if scope is None else scope
        variables, made = self._variables(place)
        written = [x for x, slot in zip(variables, self._slots, strict=True) if slot.is_written]
        arguments = [feeds[feed.name] for feed in self._needed]
        for k in sharing_with(arguments, written):  # a feed is a snapshot
            arguments[k] = asarray(arguments[k], copy=True)
        numbers = (feeds[number.name] for number in self._numbers)
        results = self.executable(*arguments, *variables, *numbers)
        for name, x in made.items():
            place.adopt(name, x)
        for k in self._shared:
            results[k] = asarray(results[k], copy=True)
        return mapped(
            fetches.tree, lambda leaf, _: results[leaf.number] if type(leaf) is Fetched else leaf
        )

    def _variables(self, scope: Scope) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the variables in a scope; those that the run makes are new, and by name, too."""
        found, made = [], {}
        for slot in self._slots:
            name, wanted = slot.variable.name, slot.type
            x = scope.get(name)
            given = None if x is None else Type(x.dtype, x.shape, x.strides, x.device)
            if slot.is_read and given is None:
                raise RuntimeError(
                    f"{self._op} the parameter {name}{at(slot.variable.site)} has no value in the "
                    f"scope: run the startup program first, in the same scope{here()}"
                )
            if slot.is_read and given is not None and given != wanted:
                raise ValueError(
                    f"{self._op} the parameter {name}{at(slot.variable.site)} is "
                    f"{type_text(given)} in the scope, expected {type_text(wanted)}"
                )
            is_lost = x is not None and not slot.is_read and _C.has_failed(x)
            if x is None or given != wanted or is_lost:
                x = made[name] = empty(wanted.shape, dtype=wanted.dtype, device=wanted.device)
            found.append(x)
        return found, made

    def report(self) -> dict[str, Any]:
        """Return what is known of the runs; as ``Executable.report``."""
        return self.executable.report()

    def draw(self, path: PathLike) -> None:
        """Write what the program has become as a picture; as ``Executable.draw``."""
        self.executable.draw(path)


def missing(op: str, feed: Feed | FedNumber) -> ValueError:
    """Return the error for a feed that is needed and not given."""
    return ValueError(f"{op} the feed {feed.name}{at(feed.site)} is needed, and not given{here()}")


def _local_feeds(function: Function, declared: Declared) -> Function:
    """Writes to feeds end with the run."""
    feeds = {feed.value for feed in declared.feeds.values()}
    assigns = tuple(pair for pair in function.assigns if pair[0] not in feeds)
    return replace(function, assigns=assigns)


def _with_results(function: Function, fetches: Fetches, declared: Declared) -> Function:
    """Return the function with a view for each fetch that is one; nothing in the block used it."""
    lines = declared.unknowns.views
    ops, results = list(function.ops), []
    for value, attr in fetches.leaves:
        if attr:
            made = (declared.values.index(value), attr)
            name, site = ("view", lines[made]) if made in lines else ("fetch", user_site())
            view = Op(OpCall("view", name, attr=attr), (value,), (), (value,), site)
            value = Value(infer(view)[0])
            ops.append(replace(view, results=(value,)))
        results.append(value)
    return replace(function, ops=tuple(ops), results=tuple(results))


def _needed(
    op: str, function: Function, declared: Declared, shapes: Mapping[str, Shape]
) -> list[Feed]:
    read = values_read(function)
    needed = [feed for feed in declared.feeds.values() if feed.value in read]
    for feed in needed:
        if feed.name not in shapes:
            raise missing(op, feed)
    return needed


def _for_run(
    op: str, function: Function, declared: Declared, setting: Setting
) -> tuple[Function, dict[Value, Value]]:
    """Return the function for a setting, and its parameters by those that were declared."""
    if not declared.unknowns.names and setting.device == setting.home:
        return function, {value: value for value in function.params}
    try:
        made = instance(function, declared, setting)
    except KeyError as unknown:
        raise ValueError(
            f"{op} the extent {unknown.args[0]} is not known: feed one of "
            f"{', '.join(declared.feeds) or 'none'}{here()}"
        ) from None
    declared_params = [x for x in function.params if x not in declared.operands]
    return made, dict(zip(declared_params, made.params, strict=True))


def _slots(
    function: Function, declared: Declared, inputs: Mapping[Value, Value]
) -> Iterator[_Slot]:
    read = values_read(function)
    assigned = {target for target, _ in function.assigns}
    for variable in declared.variables.values():
        x = inputs[variable.value]
        if x in read or x in assigned:
            yield _Slot(variable, x.type, x in read, x in assigned)


def _shared(function: Function) -> list[int]:
    """Return the results that share memory with an input, a variable or another result."""
    whole: dict[Value, Value] = {}
    for op in function.ops:
        if op.is_view:
            operand = op.values()[0]
            whole[op.results[0]] = whole.get(operand, operand)
    seen = {*function.params, *(bound.value for bound in function.captures)}
    seen |= {last for _, last in function.assigns}
    shared = []
    for k, value in enumerate(function.results):
        root = whole.get(value, value)
        if root in seen:
            shared.append(k)
        seen.add(root)
    return shared
