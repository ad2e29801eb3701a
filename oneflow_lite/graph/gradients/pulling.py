"""flow.vjp: the value of a function, and a function from gradients of it to those of its arguments.

    called ─► program of the function ─► value, and what the way back needs
    pulled ─► program of the way back, with that ─► gradients

While something else is traced, both become a part of that.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from oneflow_lite import _C
from oneflow_lite._C import Executable, OpCall, Recorder, Tensor
from oneflow_lite.graph.compiling import compiled
from oneflow_lite.graph.gradients.arguments import Wanted, arranged, own
from oneflow_lite.graph.gradients.record import Record, is_real
from oneflow_lite.graph.gradients.walk import pulled
from oneflow_lite.graph.ir import Type, row_major
from oneflow_lite.graph.jit.jitted import Jitted
from oneflow_lite.graph.jit.options import Options
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.tracing import recorded
from oneflow_lite.graph.trees import Leaf, visit
from oneflow_lite.ops.creation.data import asarray

_OP = "vjp"
V = TypeVar("V")


class _Way(Leaf):
    """The way back from the results of a function to its arguments, as a program."""

    def __init__(self, program: Program, trees: tuple[Any, ...], results: list[Type]) -> None:
        self._program = program
        self.trees = trees  # of arguments, with numbers of gradients
        self.results = results  # those that have gradients

    @cached_property
    def run(self) -> Executable:
        """The program, ready to run: not before it is needed."""
        return compiled(self._program)


class _Forward:
    """What is traced: the function, and what the way back needs of it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *primals: Any) -> tuple[Any, list[Tensor], _Way]:
        recorder = _C.open_recording()
        assert recorder is not None
        begin, wanted, trees, value = _called(recorder, self.__wrapped__, primals)
        results = _results(value)
        numbers = [recorder.value_of(x) for x in results]
        record_of = partial(Record, recorder, (begin, recorder.count()[0]), wanted.values)
        rows = recorder.values()
        outputs = [Type(*rows[number][1:5]) for number in numbers]
        likes = [Type(*rows[number][1:5]) for number in wanted.values]
        needed: list[int] = []
        program = _way_back(record_of, numbers, outputs, likes, needed)
        kept = _kept(recorder, needed, numbers)
        return wanted.returned(value), kept, _Way(program, trees, outputs)


def _called(
    recorder: Recorder, function: Callable[..., Any], primals: Sequence[Any]
) -> tuple[int, Wanted, tuple[Any, ...], Any]:
    wanted = Wanted(_OP, recorder)
    begin = recorder.count()[0]
    given, trees = [], []
    for k, x in enumerate(primals):
        alias, tree = wanted.alias(x, f"args[{k}]")
        given.append(alias)
        trees.append(tree)
    value = function(*given)
    wanted.check_unwritten()
    return begin, wanted, tuple(trees), value


def _results(value: Any) -> list[Tensor]:
    """Return the tensors that have gradients, in the order of the tree."""
    found: list[Tensor] = []

    def leaf(x: Any, _: str) -> None:
        if isinstance(x, Tensor) and is_real(x.dtype):
            found.append(x)

    visit(value, leaf)
    if not found:
        raise TypeError(
            f"[{_OP}] expected the function to return tensors of real floating-point numbers, got "
            f"{type(value).__name__}"
        )
    return found


def _way_back(
    record_of: Callable[..., Record],
    numbers: list[int],
    outputs: list[Type],
    likes: list[Type],
    needed: list[int],
) -> Program:
    """Return a program of gradients of results, and of the values that it adds to ``needed``."""
    recorder = _C.Recorder(_OP)

    def parameter(number: int) -> Tensor:
        x = record.types[number]
        needed.append(number)
        return recorder.parameter_of(x.dtype, x.shape, x.strides, x.device)

    record = record_of(outside=parameter)
    with recorder:
        seeds = [
            recorder.parameter_of(x.dtype, x.shape, row_major(x.shape, x.dtype.itemsize), x.device)
            for x in outputs
        ]
        found = own(recorder, 0, pulled(record, zip(numbers, seeds, strict=True)), likes)
        results = [recorder.value_of(g) for g in found]
    return Program(_OP, {"main": recorded(recorder, _OP, results)})


def _kept(recorder: Recorder, needed: list[int], results: list[int]) -> list[Tensor]:
    """Return tensors of values that lie like them, in memories that nobody else writes to."""
    seen = {  # views and aliases, and what they are of
        made[0]: operands[0]
        for call, operands, _, made, *_ in recorder.operations()
        if call.kind == "view"
    }

    def source(value: int) -> int:
        while value in seen:
            value = seen[value]
        return value

    origins = [row[0] for row in recorder.values()]
    shown = set(map(source, (*results, *(last for _, last in recorder.written()))))
    found = []
    for value in needed:
        x = recorder.tensor_of(value)
        if origins[source(value)] != "operation" or source(value) in shown:
            made = [(x.dtype, (), ())]
            (x,) = OpCall("copy", "copy", attr=(True,), made=made).replay([x])
        found.append(x)
    return found


def vjp(function: Callable[..., V], *primals: Any) -> tuple[V, Callable[[Any], tuple[Any, ...]]]:
    """Return the value of a function, and the function that pulls gradients of it back.

    The function is traced at each call; in one that is jitted both are a part of its program.

    Parameters
    ----------
    function
        What trace() can record; it returns a tensor, or a tree of them.
    *primals
        Its arguments, all of which it is differentiated by: tensors, arrays, floats, or trees.

    Returns
    -------
    value
        What the function returns.
    pull : callable
        Of the gradient of a number by the value, as a tree like that. It returns a tuple of the
        gradients of that number by each argument. It may be called again.

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        As ``grad`` does; ``pull`` where its argument is not like the value.

    Examples
    --------
    >>> value, pull = flow.vjp(lambda x, y: x * y, flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0]))
    >>> value.tolist()
    [3.0, 8.0]
    >>> [g.tolist() for g in pull(flow.tensor([1.0, 10.0]))]
    [[3.0, 40.0], [1.0, 20.0]]
    """
    if not callable(function):
        raise TypeError(f"[{_OP}] expected a function, got {type(function).__name__}")
    recorder = _C.open_recording()
    if recorder is not None:
        return _recorded_vjp(recorder, function, primals)
    value, kept, way = Jitted(_Forward(function), Options(), _OP)(*primals)

    def pull(gradient: Any) -> tuple[Any, ...]:
        found = way.run(*_checked(gradient, value, way.results), *kept)
        return tuple(arranged(tree, found) for tree in way.trees)

    return value, pull


def _recorded_vjp(
    recorder: Recorder, function: Callable[..., Any], primals: Sequence[Any]
) -> tuple[Any, Callable[..., Any]]:
    begin, wanted, trees, value = _called(recorder, function, primals)
    results = _results(value)
    numbers = [recorder.value_of(x) for x in results]
    span = begin, recorder.count()[0]
    rows = recorder.values()
    outputs = [Type(*rows[number][1:5]) for number in numbers]
    likes = [Type(*rows[number][1:5]) for number in wanted.values]
    values = list(wanted.values)
    shown = wanted.returned(value)

    def pull(gradient: Any) -> tuple[Any, ...]:
        seeds = _checked(gradient, value, outputs)
        first = recorder.count()[0]
        record = Record(recorder, span, values)
        found = own(recorder, first, pulled(record, zip(numbers, seeds, strict=True)), likes)
        return tuple(arranged(tree, found) for tree in trees)

    return shown, pull


def _checked(gradient: Any, value: Any, results: list[Type]) -> list[Tensor]:
    """Return gradients of results, each row-major and of its type.

    Parts of the value that have no gradients have None in their places, or nothing.
    """
    found: list[Tensor] = []
    expected = iter(results)

    def note(x: Any, path: str) -> None:
        if isinstance(x, Tensor) and is_real(x.dtype):
            paths.add(path)
        else:
            is_tensor = isinstance(x, Tensor)
            others[path] = f"of dtype {x.dtype}" if is_tensor else f"of type {type(x).__name__}"

    def leaf(x: Any, path: str) -> None:
        if path in others:
            raise ValueError(
                f"[{_OP}] gradient{path}: expected None, as that part of the value is "
                f"{others[path]}, which has no gradient"
            )
        known = next(expected, None)
        if known is None or path not in paths:
            raise ValueError(f"[{_OP}] gradient{path}: the value has no such part")
        given = asarray(x, dtype=known.dtype, device=known.device)
        if given.shape != known.shape:
            raise ValueError(
                f"[{_OP}] gradient{path}: expected shape {known.shape}, as the value has it, got "
                f"{given.shape}"
            )
        found.append(_C.copy(given))

    paths: set[str] = set()
    others: dict[str, str] = {}  # what has no gradients
    visit(value, note)
    visit(gradient, leaf)
    if len(found) != len(results):
        raise ValueError(
            f"[{_OP}] expected gradients of {len(results)} tensors of the value, got {len(found)}"
        )
    return found
