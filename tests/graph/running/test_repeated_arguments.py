"""Arguments whose strides repeat elements: a program writes to what eager writes to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, plain_run, trace
from tests.support.graphs import plans
from tests.support.graphs.functions import MODES, RELEASES

WAYS = [*((mode, "plan") for mode in MODES), *(("serial", release) for release in RELEASES[1:])]
N, M = 300, 400  # elements enough that groups pay, and that threads share the work


def memory(size: int, device: str) -> flow.Tensor:
    return flow.tensor(np.random.default_rng(0).normal(size=size), device=device)


def rows(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(M, device)
    return base, flow.broadcast_to(base, (N, M))


def columns(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(M, device)
    return base, flow.broadcast_to(base, (N, M)).T


def backwards(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(2 * M, device)
    return base, flow.broadcast_to(base[::-2], (N, M))


def layers(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(7 * M, device)
    return base, flow.broadcast_to(base.reshape(7, 1, M), (7, 40, M))[3]


def one_number(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(1, device)
    return base, flow.broadcast_to(base, (N, M))


def windows(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    base = memory(N + M - 1, device)
    return base, flow.lib.stride_tricks.sliding_window_view(base, M, writeable=True)


def element(x: flow.Tensor, y: flow.Tensor) -> Any:
    before = x + y
    x[2, 3] = 7
    return before, x * 2


def first_row(x: flow.Tensor, y: flow.Tensor) -> Any:
    before = flow.tanh(x)
    x[0] -= 2 * y[0]
    return before, flow.exp(x - 1) * y, x[1:]


def parts(x: flow.Tensor, y: flow.Tensor) -> Any:
    x[-1, ::2] *= y[0, ::2]
    a = x + 1
    x[3, 1::2] = a[0, 1::2]
    return a.sum(axis=0), x - a, x


def first_column(x: flow.Tensor, y: flow.Tensor) -> Any:
    x[:, :1] += y[:, :1]
    a = x.copy()
    x[:, 3] = flow.sort(a[:, 3])
    return a, x @ y.T


FUNCTIONS = [element, first_row, parts, first_column]
ARGUMENTS = [rows, columns, backwards, layers, one_number, windows]
Outcome = tuple[str, list[bytes]]


def outcome(call: Callable[..., Any], base: flow.Tensor, x: flow.Tensor) -> Outcome:
    """The error, or else what is returned, and what memory holds."""
    y = flow.full(x.shape, 0.75, device=x.device)
    try:
        results = list(call(x, y))
        return "", [z.numpy().tobytes() for z in (*results, base, y)]
    except ValueError as error:
        return str(error), [base.numpy().tobytes()]


def compiled(function: Callable[..., Any], mode: str, release: str) -> Callable[..., Any]:
    def call(x: flow.Tensor, y: flow.Tensor) -> Any:
        run = flow.graph.compile(trace(function, x, y).program, mode=mode, release=release)
        plans.check(run)
        run.fill_arena(0xA5)
        return run(x, y)

    return call


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_way_writes_what_eager_writes(
    function: Callable[..., Any], argument: Callable[..., Any], device: str
) -> None:
    with flow.flags(sync=True):
        expected = outcome(function, *argument(device))
    for mode, release in WAYS:
        with flow.flags(fusion="always" if mode != "serial" else "1"):
            assert outcome(compiled(function, mode, release), *argument(device)) == expected, mode
    assert outcome(flow.jit(function), *argument(device)) == expected


def test_some_may_be_written_and_others_not() -> None:
    refused = {
        (function.__name__, argument.__name__)
        for function in FUNCTIONS
        for argument in ARGUMENTS
        if outcome(function, *argument("cpu"))[0]
    }
    assert ("element", "one_number") not in refused
    assert ("first_row", "rows") not in refused
    assert ("first_row", "columns") in refused
    assert ("first_column", "columns") not in refused
    assert ("first_column", "rows") in refused
    assert ("parts", "windows") not in refused


@pytest.mark.parametrize("function", FUNCTIONS)
def test_checked_and_plain_runs(function: Callable[..., Any]) -> None:
    def plain(x: flow.Tensor, y: flow.Tensor) -> Any:
        return plain_run.run(trace(function, x, y).program.main, [x, y])

    for argument in (rows, columns, backwards):
        expected = outcome(function, *argument("cpu"))
        assert outcome(flow.jit(function, check=2), *argument("cpu")) == expected
        assert outcome(plain, *argument("cpu")) == expected


def test_a_checked_run_only_reads_an_argument() -> None:
    base, x = rows("cpu")
    assert flow.jit(lambda x: flow.sum(x), check=1)(x).item() == flow.sum(x).item()
    assert base.tolist() == memory(M, "cpu").tolist()


def test_an_argument_of_other_strides() -> None:
    """Whether a write is sound depends on strides, which a program fixes."""
    _, x = rows("cpu")
    y = flow.ones((N, M))
    run = flow.graph.compile(trace(first_row, x, y).program)
    with pytest.raises(
        ValueError, match=r"argument x of shape .* has strides .*, expected \(0, 8\)"
    ):
        run(y, x)
    step = flow.jit(first_row)
    for given in (x, flow.ones((N, M)), x):
        step(given, y)
    assert step.report()["programs"] == 2


def test_a_read_only_argument_is_named() -> None:
    array = np.ones(3)
    run = flow.graph.compile(trace(lambda row: row.__iadd__(1), flow.ones(3)).program)
    array.flags.writeable = False
    with pytest.raises(
        ValueError, match=r"writes to argument row, a read-only tensor of shape \(3,"
    ):
        run(flow.from_dlpack(array))
    assert array.tolist() == [1, 1, 1]


SUM = "array.cumsum[kernel='accumulate', attr=(0, 1, 1, 1), loop=('add', 'dd->d')](%0)"
WRITES_ALL = {
    "elementwise": "add(%0, 1) into %0",
    "copy": "copy.assign(%1) into %0",
    "fill": "fill.full(f64(2.0)) into %0",
    "array": f"{SUM} into %0",
    "host": "host[name='show']() into %0 from @0 ! io",
}


@pytest.mark.parametrize("check", [Program.verify, flow.graph.compile])
@pytest.mark.parametrize("call", WRITES_ALL.values(), ids=WRITES_ALL)
def test_a_text_that_writes_elements_twice(call: str, check: Callable[[Program], Any]) -> None:
    lines = [
        *("program f", "@0 = function", "%0: f64[2,3]{0,8} cpu = parameter"),
        *("%1: f64[2,3] cpu = parameter", f"%2: f64[2,3]{{0,8}} cpu = {call}", "return %2", ""),
    ]
    with pytest.raises(ValueError, match=r"cannot write into a broadcast view of shape \(2, 3\)"):
        check(Program.parse("\n".join(lines)))
