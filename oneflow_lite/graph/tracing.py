"""Tracing: a function is called once on tensors without values, and what it does becomes a Program.

arguments ─► parameters ─► the function, under a recorder ─► Program, tree of results
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, GlobalTensor, OpCall, Tensor, TraceError
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.graph.arguments.containers import Containers
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.arguments.sharing import SharedMemoryError, Sharing
from oneflow_lite.graph.arguments.slots import Number, Slots
from oneflow_lite.graph.effects import Objects
from oneflow_lite.graph.ir import Bound, Function, Op, Scalar, Slot, Type, Value, row_major
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.trees import ContainerError, FieldError, Leaf, holds_any, mapped

_RUN_LATER: dict[type, str] = {
    GeneratorType: "a generator",
    CoroutineType: "a coroutine",
    AsyncGeneratorType: "an asynchronous generator",
}
GLOBAL_TENSOR = (
    "a global tensor, which programs do not have: call the function without jit or grad, or pass "
    "this rank's part, x.to_local()"
)


@dataclass(frozen=True)
class Spec(Leaf):
    """The type of an argument that is not there yet: a row-major tensor.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> traced = flow.graph.trace(lambda x: x + 1, flow.graph.spec((8, 64), "float32"))
    >>> traced.program.main.params[0].type.shape
    (8, 64)
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: Device


def spec(shape: int | Sequence[int], dtype: Any = None, device: DeviceLike = None) -> Spec:
    """Return the type of an argument: what trace() takes in the place of a tensor.

    Parameters
    ----------
    shape
        an extent, or several.
    dtype
        of the elements; None: float64, as flow.empty has it.
    device
        None: the thread's default device.
    """
    given = shape if isinstance(shape, Iterable) else (shape,)
    try:
        dims = tuple(index(n) for n in given)
    except TypeError:
        dims = (-1,)
    if any(n < 0 for n in dims):
        raise ValueError(f"[spec] shape: expected extents of at least 0, got {shape!r}")
    return Spec(dims, np.dtype(np.float64 if dtype is None else dtype), resolve(device))


@dataclass(frozen=True)
class Result(Leaf):
    """A leaf of the tree of results: the program's result of this number."""

    number: int


@dataclass(frozen=True)
class NumberResult(Leaf):
    """A leaf of the tree of results: the value of the program's slot of this number."""

    slot: int


@dataclass(frozen=True)
class Traced:
    """What trace() gives: the program, and how its arguments and results are arranged.

    ``paths`` has, for each parameter, how one gets at it: ``args[0]["w"]``. ``results`` is the tree
    that the function returned, with a Result in the place of each tensor, and a NumberResult in the
    place of each number that a run computes.
    """

    program: Program
    paths: tuple[str, ...]
    results: Any


def trace(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Traced:
    """Call the function once on tensors without values, and return the program of what it does.

    Tensors, NumPy arrays and specs in the arguments become parameters; all else is passed as it is.
    Containers are copies, which the function may change. Nothing is computed, and no tensor is
    written to. Tensors that the function gets from elsewhere are captures: they are read, and
    written to, when the program runs.

    Raises
    ------
    TraceError
        The function needs values (``if x > 0``, ``x.item()``, ``x[mask]``), or does what cannot
        be recorded. Names the line. A tensor of the recording that is used after it raises, too.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> w = flow.ones((3, 2), dtype="float32")
    >>> x = flow.graph.spec((4, 3), "float32")
    >>> traced = flow.graph.trace(lambda x: flow.tanh(x @ w), x)
    >>> [op.name for op in traced.program.main.ops]
    ['matmul', 'tanh']
    """
    return traced(function, args, kwargs, None)


def traced(
    function: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    numbers: Slots | None,
    static: Container[int | str] = (),
    sharing: Sharing | None = None,
    in_reach: Callable[[], Iterable[tuple[str, Tensor]]] | None = None,
) -> Traced:
    """Return what trace() does.

    Parameters
    ----------
    numbers
        where floats and complex numbers become slots; None: as trace() has it.
    static
        positions and names of arguments that are passed as they are.
    sharing
        which tensors share memory that is written to: each memory is one parameter, before all
        others.
    in_reach
        the tensors that the function can get at, with where they are: none of the recording may be
        there at the end.
    """
    recorder, name = _new_recorder(function)
    parameter = _Parameters(recorder, numbers, sharing)

    def result(leaf: Any, path: str) -> Any:
        if type(leaf) is Number:
            return NumberResult(leaf.as_operand())
        if not isinstance(leaf, Tensor):
            return _made_already(name, leaf)
        results.append(recorder.value_of(leaf))
        return Result(len(results) - 1)

    results: list[int] = []
    path = Parameters(function).path
    args, kwargs = _given(args, kwargs, static, parameter, lambda text: f"[{name}] {path(text)}")
    containers = _containers(args, kwargs, static)
    try:
        with recorder:
            returned = mapped(function(*args, **kwargs), result)
    finally:
        if numbers is not None:
            numbers.close()
    changed = containers.changed()
    if changed is not None and numbers is not None:
        raise TraceError(f"[{name}] {path(changed[0])} {changed[1]}")
    parameter.made.clear()
    del args, kwargs, containers
    if numbers is not None:
        numbers.note_kept()
    check_overlaps(recorder, name, list(map(path, parameter.paths)))
    if in_reach is not None:
        _check_kept(recorder, Parameters(function), in_reach)
    paths = list(map(path, parameter.paths + (numbers.paths if numbers else [])))
    main = _named(recorded(recorder, name, results, tuple(numbers.slots) if numbers else ()), paths)
    recorder.notes().clear()  # generators that were made in the recording keep them
    return Traced(Program(name, {"main": main}), tuple(parameter.paths), returned)


def _named(main: Function, paths: list[str]) -> Function:
    """Return the function with the paths of its parameters and of the numbers that are given."""
    given = [slot for slot in main.slots if slot.operation is None]
    return replace(main, names=dict(zip((*main.params, *given), paths, strict=True)))


def _given(
    args: Any,
    kwargs: dict[str, Any],
    static: Container[int | str],
    parameter: "_Parameters",
    shown: Callable[[str], str],
) -> tuple[Any, dict[str, Any]]:
    """Return what the function gets for its arguments. Errors have their paths as ``shown``."""

    def given(x: Any, path: str) -> Any:
        try:
            return mapped(x, parameter, path)
        except (FieldError, ContainerError, _GlobalTensorError) as error:
            raise type(error)(shown(error.path), error.kind) from None

    places = tuple(x if i in static else given(x, f"args[{i}]") for i, x in enumerate(args))
    return places, {key: x if key in static else given(x, key) for key, x in kwargs.items()}


def _made_already(name: str, leaf: Any) -> Any:
    """Refuse a result that runs code of the function after it has returned."""
    if isinstance(leaf, GlobalTensor):
        raise TraceError(f"[{name}] returns {GLOBAL_TENSOR}")
    for kind, what in _RUN_LATER.items():
        if isinstance(leaf, kind):
            if isinstance(leaf, CoroutineType):
                leaf.close()  # which nobody awaits
            raise TraceError(
                f"[{name}] returns {what}, whose code runs after the function: return tensors, or "
                "call a function that does so from there"
            )
    return leaf


def _containers(args: Any, kwargs: dict[str, Any], static: Container[int | str]) -> Containers:
    found = Containers()
    named = {f"args[{i}]": x for i, x in enumerate(args) if i not in static}
    for path, x in (named | {k: x for k, x in kwargs.items() if k not in static}).items():
        found.add(x, path)
    return found


class _GlobalTensorError(TypeError):
    """An argument is a global tensor."""

    def __init__(self, path: str, kind: str = "GlobalTensor") -> None:
        self.path, self.kind = path, kind
        super().__init__(f"{path} is {GLOBAL_TENSOR}")


class _Parameters:
    """Makes parameters of the leaves of arguments."""

    def __init__(
        self, recorder: _C.Recorder, numbers: Slots | None, sharing: Sharing | None
    ) -> None:
        self.paths: list[str] = []
        self.made: dict[int, Tensor] = {}  # by the identity of the tensor that was given
        self._recorder = recorder
        self._numbers = numbers
        self._held: list[Any] = []
        for group in sharing.groups if sharing is not None else ():
            views = recorder.parameters_over(group.memory(), list(group.tensors))
            self.made |= {id(x): view for x, view in zip(group.tensors, views, strict=True)}
            self.paths.append("the memory of several arguments")

    def __call__(self, leaf: Any, path: str) -> Any:
        if self._numbers is not None and type(leaf) in (float, complex):
            return self._numbers.given(leaf, path)
        if not isinstance(leaf, Tensor | np.ndarray | Spec):
            if isinstance(leaf, GlobalTensor):
                raise _GlobalTensorError(path)
            _refuse_container(leaf, path)
            return leaf
        if id(leaf) not in self.made:
            self._held.append(leaf)
            self.made[id(leaf)] = _parameter(self._recorder, leaf)
            self.paths.append(path)
        return self.made[id(leaf)]


def _refuse_container(leaf: Any, path: str) -> None:
    """Refuse tensors that would be captures, though they look like arguments."""
    if holds_any(leaf, (Tensor, np.ndarray, Spec)):
        raise ContainerError(path, type(leaf).__name__)


def _new_recorder(function: Callable[..., Any]) -> tuple[_C.Recorder, str]:
    if not callable(function):
        raise TypeError(f"[trace] expected a function, got {type(function).__name__}")
    if _C.is_recording():
        raise TraceError("[trace] the thread records already; call the function itself")
    name = getattr(function, "__name__", type(function).__name__)
    return _C.Recorder(name), name


def check_overlaps(recorder: _C.Recorder, name: str, paths: list[str]) -> None:
    """Refuse arguments and captured tensors of one memory that is written to."""
    written = {value for value, _ in recorder.written()}
    pairs = [pair for pair in recorder.overlaps() if not written.isdisjoint(pair)]
    if not pairs:
        return
    rows = recorder.values()
    origins = [row[0] for row in rows]
    named = iter(paths)
    names = [next(named) if origin == "parameter" else "a captured tensor" for origin in origins]
    one, other = (names[value] for value in pairs[0])
    raise SharedMemoryError(
        f"[{name}] {one} and {other} have memory in common, and one is written to: pass one of "
        "them and take the other as a view of it, or pass a copy",
        [rows[value][5] for pair in pairs for value in pair if origins[value] == "capture"],
    )


def _check_kept(
    recorder: _C.Recorder,
    parameters: Parameters,
    in_reach: Callable[[], Iterable[tuple[str, Tensor]]],
) -> None:
    """Refuse to end while a tensor without a value is where the user's program looks for one.

    What else holds one, such as a debugger, a log or a traceback, is let be: its use raises.
    """
    sites = dict(recorder.held_elsewhere())
    kept = in_reach() if sites else ()
    for text, x in kept:
        found = recorder.find(x)
        if found is None or found[0] not in sites:
            continue
        value, site = found[0], sites[found[0]]
        makers = {
            value: call.name for call, _, _, values, *_ in recorder.operations() for value in values
        }
        raise TraceError(
            f"[{parameters.function}] a tensor of shape {recorder.values()[value][2]} of "
            f"{makers.get(value, 'an argument')}{at(site)} is kept after the function, in "
            f"{parameters.path(text)}: return it, or write it into a tensor that was there before"
        )


def _parameter(recorder: _C.Recorder, given: Tensor | np.ndarray | Spec) -> Tensor:
    if isinstance(given, Tensor):
        return recorder.parameter(given)
    if isinstance(given, Spec):
        strides = row_major(given.shape, given.dtype.itemsize)
        return recorder.parameter_of(given.dtype, given.shape, strides, given.device)
    strides = row_major(given.shape, given.dtype.itemsize)
    return recorder.parameter_of(given.dtype, given.shape, strides, resolve(None))


def recorded(
    recorder: _C.Recorder, name: str, results: list[int], slots: tuple[Slot, ...] = ()
) -> Function:
    """Return the function that a recorder has written down."""
    rows = recorder.values()
    values = [Value(Type(*row[1:5])) for row in rows]

    def all_of(origin: str) -> tuple[Bound, ...]:
        found = zip(values, rows, strict=True)
        return tuple(Bound(value, row[5]) for value, row in found if row[0] == origin)

    objects = Objects(recorder.notes())
    ops = []
    for call, operands, targets, made, site, lane in recorder.operations():
        if call.name == _C.ALIAS:  # another number for the same value
            values[made[0]] = values[operands[0]]
            continue
        ops.append(
            Op(
                call,
                tuple(
                    values[x] if isinstance(x, int) else _scalar(call, k, slots, *x)
                    for k, x in enumerate(operands)
                ),
                tuple(values[x] for x in targets),
                tuple(values[x] for x in made),
                site,
                *objects.of(call),
                lane=lane,
            )
        )
    return Function(
        name,
        tuple(bound.value for bound in all_of("parameter")),
        all_of("capture"),
        all_of("constant"),
        tuple(ops),
        tuple(values[number] for number in results),
        tuple((values[value], values[last]) for value, last in recorder.written()),
        slots,
        tuple(objects.known.values()),
    )


def _scalar(
    call: OpCall,
    operand: int,
    slots: tuple[Slot, ...],
    dtype: np.dtype[Any],
    value: Any,
    slot: int,
) -> Scalar:
    """Return a number as the program had it: Python's integers stay integers, in any dtype."""
    if slot >= 0:
        return Scalar(dtype, slots[slot], True)
    return scalar_of(call, operand, dtype, value)


def scalar_of(call: OpCall, operand: int, dtype: np.dtype[Any], value: Any) -> Scalar:
    """Return a number of a call that no run brings along, as the program had it."""
    if call.kind != "elementwise" or call.codes[operand] not in _C.WEAK_CODES:
        return Scalar(dtype, value, False)
    kind = (int, float, complex)[_C.WEAK_CODES.index(call.codes[operand])]
    if kind is not complex and isinstance(value, complex):
        value = value.real
    return Scalar(dtype, kind(value), True)
