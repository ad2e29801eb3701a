"""Executables give eager's results, writes and errors, in each way that they run."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable

DEVICES = ["cpu", "mock:0", "mock:1"] + (["cuda:0"] if flow.cuda.is_available() else [])
MODES: dict[str, dict[str, Any]] = {
    "inline": {"inline": "50us"},
    "issued": {"inline": "0"},
    "issued and fused": {"inline": "0", "fusion": "always"},
    "naive": {"sync": True},
}


def mlp(x: Any, w: Any, b: Any) -> Any:
    hidden = flow.maximum(x @ w + b, 0.0)
    loss = flow.mean(hidden * hidden, axis=1, keepdims=True)
    return hidden - loss, flow.exp(-hidden)


def step(x: Any, w: Any, b: Any) -> Any:
    """Write to arguments, whole and through views."""
    b -= 0.5 * flow.sum(x @ w, axis=0)
    w[1:] *= 2
    w.T[::2, 0] = b[::2]
    return w.T, flow.concat([w, b[None]])


def indexed(x: Any, w: Any, b: Any) -> Any:
    order = flow.argsort(b)
    picked = w[:, order]
    picked[0] = 7
    return flow.cumulative_sum(picked, axis=1), flow.where(x > 0, x, -x), x[::-1, 1:]


def shared(x: Any, w: Any, b: Any) -> Any:
    """Return arguments, views of them, one value twice, and constants."""
    y = x + 1
    return x, w[1], y, y.T, flow.tensor([1.0, 2.0]), flow.zeros((2, 0)), b


def constants(x: Any, w: Any, b: Any) -> Any:
    count = flow.zeros(3, device=x.device)
    count += 1
    table = flow.tensor([3.0, 4.0], device=x.device)
    table *= 2
    return count, table, flow.arange(4, device=x.device)


FUNCTIONS = [mlp, step, indexed, shared, constants]


def arguments(device: str, seed: int = 0, rows: int = 4) -> list[flow.Tensor]:
    rng = np.random.default_rng(seed)
    shapes = ((rows, 3), (3, 5), (5,))
    return [flow.tensor(rng.normal(size=shape), device=device) for shape in shapes]


def compiled(function: Callable[..., Any], given: list[flow.Tensor]) -> Executable:
    return flow.graph.compile(flow.graph.trace(function, *given).program)


def bits(tensors: Any) -> list[tuple[Any, ...]]:
    return [(str(x.device), x.dtype, x.shape, x.numpy().tobytes()) for x in tensors]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_and_writes_are_eagers(
    function: Callable[..., Any], device: str, mode: str
) -> None:
    with flow.flags(**MODES[mode]):
        run = compiled(function, arguments(device))
        for seed in range(3):
            eager, graph = arguments(device, seed), arguments(device, seed)
            expected = function(*eager)
            run.fill_arena(0xA5)
            assert bits(run(*graph)) == bits(expected)
            assert bits(graph) == bits(eager)
        if device == "cpu":
            way = "issued_runs" if mode.startswith("issued") else "inline_runs"
            assert run.report()[way] == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_no_rows_and_many(rows: int, mode: str) -> None:
    with flow.flags(**MODES[mode]):
        for function in (mlp, step):
            run = compiled(function, arguments("cpu", rows=rows))
            eager, graph = arguments("cpu", 1, rows), arguments("cpu", 1, rows)
            expected = function(*eager)
            assert bits(run(*graph)) == bits(expected)
            assert bits(graph) == bits(eager)


@pytest.mark.parametrize("mode", MODES)
def test_captured_tensors_are_read_and_written_at_each_run(mode: str) -> None:
    total = flow.zeros(3)
    wide = flow.zeros((2, 4))
    part = wide[1, ::2]

    def add(x: Any) -> Any:
        nonlocal total
        total += x
        part[...] = x[:2]
        return total * 2

    with flow.flags(**MODES[mode]):
        run = compiled(add, [flow.ones(3)])
        assert total.tolist() == [0, 0, 0]
        assert wide.sum().item() == 0
        for i in range(1, 4):
            (doubled,) = run(flow.full(3, 2.0))
            assert total.tolist() == [2 * i] * 3
            assert doubled.tolist() == [4 * i] * 3
        total[1] = 100
        assert run(flow.zeros(3))[0].tolist() == [12, 200, 12]
        assert wide.tolist() == [[0] * 4, [0, 0, 0, 0]]


@pytest.mark.parametrize("mode", MODES)
def test_results_alias_as_in_eager(mode: str) -> None:
    with flow.flags(**MODES[mode]):
        given = arguments("cpu")
        run = compiled(shared, given)
        x, row, y, turned, _, _, b = run(*given)
        x += 1
        row[...] = 5
        y[0, 0] = -3
        b *= 0
        assert bits([x, b]) == bits([given[0], given[2]])
        assert given[1][1].tolist() == [5] * 5
        assert turned[0, 0].item() == -3
        again = run(*given)
        again[4][0] = 9  # a constant is a new tensor each time
        assert run(*given)[4].tolist() == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_results_over_one_constant_are_over_one_tensor(mode: str) -> None:
    def constants(x: Any) -> Any:
        t, other = flow.tensor([1.0, 2.0, 3.0]), flow.tensor([1.0, 2.0, 3.0])
        return t, t[1:], t[::-1], other, t + x

    with flow.flags(**MODES[mode]):
        run = compiled(constants, [flow.ones(3)])
        for _ in range(2):
            t, part, turned, other, more = run(flow.ones(3))
            part[...] = 9
            turned[2] = 5
            assert t.tolist() == [5, 9, 9]
            assert other.tolist() == [1, 2, 3]
            assert more.tolist() == [2, 3, 4]


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_reaches_what_depends_on_it_and_nothing_else(mode: str) -> None:
    def solve(a: Any, b: Any) -> Any:
        b += 1
        inverse = flow.linalg.inv(a)
        return inverse @ b, b * 2

    with flow.flags(**MODES[mode]):
        run = compiled(solve, [flow.eye(3), flow.ones(3)])
        b = flow.ones(3)
        failed, sound = run(flow.zeros((3, 3)), b)
        with pytest.raises(np.linalg.LinAlgError, match="inv") as caught:
            failed.numpy()
        assert any("test_executables.py" in note for note in caught.value.__notes__)
        assert sound.tolist() == [4, 4, 4]
        assert b.tolist() == [2, 2, 2]
        with pytest.raises(np.linalg.LinAlgError):
            flow.synchronize()
        assert run(flow.eye(3), b)[0].tolist() == [3, 3, 3]  # the next run is unharmed
        poisoned = failed + 0
        with pytest.raises(np.linalg.LinAlgError):
            run(flow.eye(3), poisoned)[1].numpy()


def test_wrong_arguments_change_nothing() -> None:
    given = arguments("cpu")
    run = compiled(step, given)
    before = bits(given)
    x, w, b = given
    wrong = [
        ([x, w], r"expected 3 arguments \(x, w, b\), got 2"),
        ([x, w, b, b], r"expected 3 arguments \(x, w, b\), got 4"),
        ([x[1:], w, b], "argument x is .3, 3. float64 on cpu, expected .4, 3."),
        ([x, w.astype("float32"), b], "argument w is .3, 5. float32"),
        (
            [x, flow.tensor(w.numpy().T.copy()).T, b],
            "argument w of shape .* has strides",
        ),
        ([x, w, b.to("mock:0")], "argument b is .5,. float64 on mock:0"),
        ([x, w, flow.tensor(np.broadcast_to(1.0, 5)[:])[:0]], "argument b"),
        ([x, w, w[0]], "writes to argument w, which shares its memory with argument b"),
    ]
    for bad, message in wrong:
        with pytest.raises(ValueError, match=message):
            run(*bad)
        assert bits(given) == before
    with pytest.raises(TypeError, match="expected a tensor, got numpy.ndarray"):
        run(x, w, np.ones(5))
    assert len(run(*given)) == 2


def test_a_program_from_text_has_no_captured_tensors() -> None:
    w = flow.ones(3)
    text = str(flow.graph.trace(lambda x: x + w, flow.ones(3)).program)
    with pytest.raises(ValueError, match="captured tensor is not known"):
        flow.graph.compile(flow.graph.Program.parse(text))
    text = str(flow.graph.trace(lambda x: x * 2 + 1, flow.ones(3)).program)
    run = flow.graph.compile(flow.graph.Program.parse(text))
    assert run(flow.ones(3))[0].tolist() == [3, 3, 3]


@pytest.mark.parametrize("mode", MODES)
def test_several_threads_run_one_executable(mode: str) -> None:
    with flow.flags(**MODES[mode]):
        run = compiled(mlp, arguments("cpu"))
        expected = {seed: bits(mlp(*arguments("cpu", seed))) for seed in range(8)}
        wrong: list[int] = []

        def work(seed: int) -> None:
            given = arguments("cpu", seed)
            for _ in range(50):
                if bits(run(*given)) != expected[seed]:
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        ways = run.report()
        assert ways["inline_runs"] + ways["issued_runs"] == 8 * 50


def test_several_devices_in_one_program() -> None:
    def through(x: Any) -> Any:
        there = x.to("mock:0") * 2
        back = there.cpu() + x
        return back, there, there.to("mock:1")

    x = flow.arange(6.0)
    run = compiled(through, [x])
    for _ in range(3):
        assert bits(run(x)) == bits(through(x))
    assert run.report()["inline_runs"] == 0


def test_no_executable_runs_inside_a_recording() -> None:
    total = flow.zeros(2)

    def add(x: Any) -> None:
        nonlocal total
        total += x

    run = compiled(add, [flow.ones(2)])
    with pytest.raises(flow.graph.TraceError, match="Executable. cannot be recorded"):
        flow.graph.trace(lambda x: run(x), flow.ones(2))
    with pytest.raises(flow.graph.TraceError, match="Executable. cannot be recorded"):
        flow.graph.trace(lambda: run(flow.ones(2)))
    assert total.tolist() == [0, 0]
    run(flow.ones(2))
    assert total.tolist() == [1, 1]


def test_a_call_has_scalars_within_its_operands_only() -> None:
    (op,) = flow.graph.trace(lambda x: x * 2, flow.ones(2)).program.main.ops
    assert op.call.scalar_dtype(1) == flow.float64
    for operand in (-1, 2, 10**6):
        with pytest.raises(TypeError, match="is a number, not a tensor"):
            op.call.scalar_dtype(operand)


def test_unready_arguments_are_waited_for() -> None:
    opened = threading.Event()
    x = flow.zeros(4)
    flow.vm.host_func(lambda *_: opened.wait(60), writes=[x])
    run = compiled(lambda x: x + 1, [flow.zeros(4)])
    (y,) = run(x)  # returns at once
    assert run.report()["issued_runs"] == 1
    opened.set()
    assert y.tolist() == [1] * 4


def test_the_arena_is_shared_by_what_does_not_live_together() -> None:
    def long(x: Any) -> Any:
        for _ in range(50):
            x = flow.tanh(x * 0.5)
        return x

    run = compiled(long, [flow.ones(100)])
    assert run.report()["steps"] == 100
    assert run.report()["arena_bytes"] == 2 * 832  # of 99 temporaries of 800 bytes
    assert run(flow.ones(100))[0].numpy().tobytes() == long(flow.ones(100)).numpy().tobytes()


def test_steps_of_axes_of_one_element_do_not_matter():
    x = flow.tensor(np.arange(5.0))
    run = flow.graph.compile(flow.graph.trace(lambda a: a.T @ a + a, x[:, None]).program)
    for given in (x[:, None], flow.reshape(x, (5, 1)), x[None].T):
        assert run(given)[0].tolist() == (given.T @ given + given).tolist()
    with pytest.raises(ValueError, match="has strides"):
        run(flow.stack([x, x], axis=1)[:, :1])
