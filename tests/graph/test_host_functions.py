"""Host functions in programs: called at each run, in the order of the program, with eager's reads,
writes and errors."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, TraceError, plain_run, trace
from oneflow_lite.vm import host_func
from tests.graph.test_executables import MODES, bits
from tests.support.graphs.tracing import SQUARE, works


def total(*arrays: np.ndarray) -> None:
    """Write the sum of the first ones to the last."""
    arrays[-1][...] = np.asarray(sum(x.sum() for x in arrays[:-1])).astype(arrays[-1].dtype)


def more(x: np.ndarray) -> None:
    x += 1


def made(x: flow.Tensor) -> Any:
    y = flow.zeros(3)
    host_func(total, [x * 2, x[1:]], [y[1:]])
    return y * 10, x + 0


def to_argument(x: flow.Tensor) -> Any:
    before = x * 1
    host_func(more, [], [x])
    host_func(more, writes=[x[::2]])
    return before, x * 2


def read_afterwards(x: flow.Tensor) -> Any:
    """The old value is needed later, so the function writes to another memory."""
    y = x * 1
    z = y[1:] * 2
    host_func(more, [], [y])
    w = x + 5
    kept = w[1:] * 1
    host_func(total, [y, z], [w[:2]])
    return y, z, x, w, kept, w[0] * 2


def several(x: flow.Tensor) -> Any:
    y, z = flow.zeros(2), flow.ones((2, 2), dtype="int64")
    host_func(lambda a, b, c: (more(b), more(c)), [x], [y, z])
    return y, z.T


FUNCTIONS = [made, to_argument, read_afterwards, several]


@pytest.mark.parametrize("mode", [*MODES, "plain"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_reads_and_writes_are_eagers(function: Callable[..., Any], mode: str) -> None:
    with flow.flags(**MODES.get(mode, {})):
        program = trace(function, flow.arange(5.0)).program
        program.verify()
        again = Program.parse(str(program))
        again.verify()
        assert (str(again), again == program) == (str(program), True)
        with pytest.raises(ValueError, match="is not known"):
            flow.graph.compile(again)
        run = flow.graph.compile(program)
        for seed in range(3):
            data = np.random.default_rng(seed).normal(size=5)
            eager, given = flow.tensor(data), flow.tensor(data)
            expected = function(eager)
            seen = plain_run.run(program.main, [given]) if mode == "plain" else run(given)
            assert bits(seen) == bits(expected)
            assert bits([given]) == bits([eager])
        assert run.report()["inline_runs"] == 0


@pytest.mark.parametrize("device", ["mock:0", "mock:1"])
def test_between_devices(device: str) -> None:
    def function(x: flow.Tensor) -> flow.Tensor:
        y = (x + 1).cpu()
        host_func(more, [], [y])
        return y.to(x.device) * 2

    x = flow.arange(4.0, device=device)
    run = flow.graph.compile(trace(function, x).program)
    for _ in range(2):
        assert run(x)[0].tolist() == [4, 6, 8, 10]


def test_functions_run_in_order() -> None:
    """Also where the first one has to wait, and the second has nothing to wait for."""
    log: list[int] = []

    def function(x: flow.Tensor) -> None:
        for i in range(4):
            late = (x * i).cpu() if i % 2 == 0 else x.cpu()
            host_func(lambda *arrays, i=i: log.append(i), [late] if i % 2 == 0 else [])

    with flow.flags(mock="devices=2,launch=5ms"):
        x = flow.ones(4, device="mock:0")
        run = flow.graph.compile(trace(function, x).program)
        run(x)
        flow.synchronize()
    assert log == [0, 1, 2, 3]


def test_a_function_that_fails() -> None:
    """What it writes is poisoned; the next one runs, and the next run is unharmed."""
    fails = [True]
    log: list[str] = []

    def fill(x: np.ndarray) -> None:
        if fails[0]:
            raise KeyError("mine")
        x[:] = 5

    def function(x: flow.Tensor) -> Any:
        y, z = flow.zeros(2), flow.zeros(2)
        host_func(fill, [], [y])
        host_func(lambda z: log.append("next"), [], [z])
        host_func(lambda y: log.append("skipped"), [y])
        host_func(lambda: log.append("last"))
        return y + 1, z + x

    run = flow.graph.compile(trace(function, flow.ones(2)).program)
    y, z = run(flow.ones(2))
    assert z.tolist() == [1, 1]
    with pytest.raises(KeyError, match="mine") as raised:
        y.numpy()
    line = function.__code__.co_firstlineno + 2
    assert any(f"{__file__}:{line}" in note for note in raised.value.__notes__)
    with pytest.raises(KeyError, match="mine"):
        flow.synchronize()
    assert log == ["next", "last"]
    fails[0] = False
    y, z = run(flow.ones(2))
    assert (y.tolist(), z.tolist()) == ([6, 6], [1, 1])
    flow.synchronize()
    assert log[2:] == ["next", "skipped", "last"]


def test_a_function_that_runs_a_program_with_functions() -> None:
    log: list[int] = []
    inner = flow.graph.compile(trace(lambda: host_func(lambda: log.append(1))).program)

    def outer() -> None:
        host_func(lambda: (inner(), flow.ones(2).numpy(), log.append(2)))
        host_func(lambda: log.append(3))

    run = flow.graph.compile(trace(outer).program)
    run()
    flow.synchronize()
    flow.synchronize()  # what the functions have issued meanwhile
    assert log.index(2) < log.index(3)
    assert sorted(log) == [1, 2, 3]


def test_runs_in_several_threads() -> None:
    log: dict[float, list[int]] = {}

    def note(i: int) -> Callable[[np.ndarray], None]:
        def function(x: np.ndarray) -> None:
            log.setdefault(float(x[0]), []).append(i)
            time.sleep(0)

        return function

    notes = [note(i) for i in range(5)]

    def function(x: flow.Tensor) -> flow.Tensor:
        for one in notes:
            host_func(one, [x * 1])
        return x

    run = flow.graph.compile(trace(function, flow.ones(1)).program)

    def work(number: int) -> None:
        for k in range(10):
            run(flow.full(1, float(100 * number + k)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flow.synchronize()
    assert len(log) == 40
    assert all(seen == [0, 1, 2, 3, 4] for seen in log.values())


def test_jit() -> None:
    log: list[list[float]] = []

    @flow.graph.jit
    def step(x: flow.Tensor) -> flow.Tensor:
        host_func(lambda x: log.append(x.tolist()), [x])
        return x * 2

    for i in range(3):
        step(flow.full(1, float(i)))
    flow.synchronize()
    assert log == [[0], [1], [2]]


def test_draws_in_a_function() -> None:
    """It runs when the program does, and draws as any code does."""
    rng, eager = flow.random.default_rng(2), flow.random.default_rng(2)

    def function() -> flow.Tensor:
        y = flow.zeros(2)
        host_func(lambda y: y.__setitem__(slice(None), rng.random(2).numpy()), [], [y])
        return y

    run = flow.graph.compile(trace(function).program)
    for _ in range(2):
        assert bits([run()[0] * 1]) == bits([eager.random(2)])


def test_the_result_of_a_recorded_call() -> None:
    kept: list[Any] = []
    for ask in (lambda call: call.result(), lambda call: call.wait()):
        with pytest.raises(TraceError, match=r"\[len\] this host function was recorded") as raised:
            trace(lambda x, ask=ask: ask(host_func(len, [x])), SQUARE)
        assert any(f"{__file__}:" in note for note in raised.value.__notes__)
    trace(lambda x: kept.append(host_func(len, [x])), SQUARE)
    with pytest.raises(TraceError, match="write what it finds into a tensor"):
        kept[0].result()
    works()


def test_what_cannot_be_recorded() -> None:
    calls: dict[str, Callable[[flow.Tensor], Any]] = {
        r"tensor 0 of writes has its memory": lambda x: host_func(more, [x[0]], [x]),
        r"tensor 1 of writes has its memory": lambda x: host_func(more, [], [x[0], x[1]]),
        r"at most 32 tensors": lambda x: host_func(more, [], [x * i for i in range(33)]),
    }
    for message, call in calls.items():
        with pytest.raises(TraceError, match=rf"^\[more\] cannot be recorded: .*{message}"):
            trace(call, SQUARE)
    for x in (flow.ones(2, device="mock:0"), _frozen()):
        with pytest.raises(ValueError, match=r"\[host_func\]") as eager:
            host_func(more, [], [x])
        with pytest.raises(ValueError, match=r"\[host_func\]") as recorded:
            trace(lambda x=x: host_func(more, [], [x]))
        assert str(recorded.value) == str(eager.value)
    works()


def _frozen() -> flow.Tensor:
    array = np.ones(3)
    array.flags.writeable = False
    return flow.from_dlpack(array)


CHECKED: dict[str, tuple[Callable[[flow.Tensor], Any], list[float], list[float]]] = {
    "nanargmax": (flow.nanargmax, [np.nan, 2.0, 3.0], [np.nan, np.nan, np.nan]),
    "nanargmin": (lambda x: flow.nanargmin(x[None], axis=1), [1.0, 2.0], [np.nan, np.nan]),
    "digitize": (lambda x: flow.digitize(flow.tensor([1.5, 9], device=x.device), x), [1, 3], []),
    "digitize, down": (
        lambda x: flow.digitize(flow.tensor([1.5, 9, 2], device=x.device), x),
        [3, 2, 1],
        [3, 1, 2],
    ),
    "histogram": (
        lambda x: flow.histogram(flow.tensor([1.5, 2], device=x.device), x)[0],
        [1, 2, 3],
        [2, 1, 3],
    ),
}


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("name", CHECKED)
def test_operands_are_checked_at_each_run(name: str, device: str) -> None:
    """Where eager looks at operands and raises, a program fails at the run that has bad ones."""
    function, good, bad = CHECKED[name]
    run = flow.graph.compile(
        trace(function, flow.tensor(good, dtype="float64", device=device)).program
    )
    for data in (good, bad, good, sorted(good)):
        x = flow.tensor(data, dtype="float64", device=device)
        if data is not bad:
            assert bits(run(x)) == bits([function(x)])
        elif bad:
            with pytest.raises(ValueError, match=r"expected") as eager:
                function(x)
            (failed,) = run(x)
            with pytest.raises(ValueError, match=r"expected") as recorded:
                failed.numpy()
            assert str(recorded.value) == str(eager.value)
            with pytest.raises(ValueError, match=r"expected"):
                flow.synchronize()


@pytest.mark.parametrize(
    "name",
    ["a  # b", "a := b", "'", "a' \"", "\\", "\\'", "a](%0) from @0 ! io", "x, y='3'", "a\nb"],
)
def test_names_in_texts(name: str) -> None:
    program = trace(lambda x: host_func(more, [], [x * 1], name=name), flow.ones(2)).program
    text = str(program)
    read = Program.parse(text)
    assert read == program
    assert str(read) == text
    assert [op.site for op in read.main.ops] == [op.site for op in program.main.ops]
    assert read.main.ops[-1].name == name
