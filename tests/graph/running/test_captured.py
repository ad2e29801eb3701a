"""Programs whose kernels a device launches as one graph: the same bits, and failures at the same
lines."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.graph.test_random_traces import generators, traced, wanted
from tests.support import random_program
from tests.support.graphs.functions import in_threads
from tests.support.oracle import compare

MOCK = "mock:0"
BEFORE = 2  # runs that are not captured


def graphs_of(run: Executable) -> dict[str, Any]:
    graphs: dict[str, Any] = run.report()["graphs"]
    return graphs


def chain(x: Any) -> Any:
    for _ in range(4):
        x = flow.tanh(x) * 0.5
    return x.sum(axis=0), x


def compiled(function: Callable[..., Any], *given: flow.Tensor) -> Executable:
    run: Executable = flow.graph.compile(flow.graph.trace(function, *given).program)
    return run


def feed(number: int = 0) -> flow.Tensor:
    return flow.tensor(np.random.default_rng(number).random((8, 16)), device=MOCK)


def captured(function: Callable[..., Any], *given: flow.Tensor) -> Executable:
    """A program that has run, and runs as a graph from now on."""
    run = compiled(function, *given)
    for _ in range(BEFORE + 1):
        run(*given)
    flow.synchronize()
    assert graphs_of(run)["launches"] == 1
    return run


def test_the_third_run_is_captured() -> None:
    x = feed()
    # A slow machine would end the segment where a result is there before others.
    run = compiled(lambda x: chain(x)[0], x)
    for number in range(5):
        run(x)
        flow.synchronize()
        assert graphs_of(run)["launches"] == max(0, number + 1 - BEFORE)
    assert graphs_of(run)["graphs"] == 1
    assert graphs_of(run)["kernels"] == len(run.report()["memory"]["operations"])
    assert graphs_of(run)["refused"] == []
    assert "device graphs: 1 with" in str(run.report())


def test_a_flag_turns_it_off() -> None:
    x = feed()
    run = compiled(chain, x)
    with flow.flags(cuda_graphs=False):
        for _ in range(5):
            run(x)
    assert graphs_of(run)["launches"] == 0
    run = captured(chain, x)
    with flow.flags(cuda_graphs=False):
        run(x)
        flow.synchronize()
    assert graphs_of(run)["launches"] == 1


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_an_option_takes_the_place_of_the_flag(flag: bool, asked: bool) -> None:
    x = feed()
    program = flow.graph.trace(chain, x).program
    run = flow.graph.compile(program, cuda_graph=asked)
    step = flow.jit(chain, cuda_graph=asked)
    with flow.flags(cuda_graphs=flag):
        for _ in range(BEFORE + 2):
            results = run(x), step(x)
        flow.synchronize()
    for found in results:
        for want, got in zip(chain(x), found, strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()
    assert graphs_of(run)["launches"] == 2 * asked
    assert step.report()["runs"][0]["graphs"]["launches"] == 2 * asked


@pytest.mark.parametrize("asked", [False, True])
def test_an_executor_takes_the_option(asked: bool) -> None:
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    with flow.graph.building(main, startup):
        results = chain(flow.graph.data("x", (8, 16)))
    executor = flow.graph.Executor(MOCK, cuda_graph=asked)
    run = executor.compile(main, {"x": (8, 16)}, list(results))
    with flow.flags(cuda_graphs=not asked):
        for _ in range(BEFORE + 2):
            executor.run(main, {"x": feed()}, list(results))
        flow.synchronize()
    assert graphs_of(run.executable)["launches"] == 2 * asked


def test_what_is_no_choice_about_graphs_is_refused() -> None:
    program = flow.graph.trace(chain, feed()).program
    for call in (
        lambda: flow.graph.compile(program, cuda_graph=1),
        lambda: flow.jit(chain, cuda_graph="yes"),
        lambda: flow.graph.Executor(MOCK, cuda_graph=0),
    ):
        with pytest.raises(TypeError, match="cuda_graph: expected True, False or None, got"):
            call()


def test_each_run_has_its_feeds_and_fresh_results() -> None:
    run = captured(chain, feed())
    feeds = [feed(number) for number in range(6)]
    results = [run(x) for x in feeds]  # all of them in flight
    for x, found in zip(feeds, results, strict=True):
        for want, got in zip(chain(x), found, strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert graphs_of(run)["launches"] == 1 + len(feeds)


@pytest.mark.parametrize("layout", [(MOCK,) * 3, (MOCK, "cpu", "mock:1")], ids=["mock", "mixed"])
@pytest.mark.parametrize(
    "mock",
    ["devices=2", pytest.param("devices=2,jitter=50us,launch=20us", marks=pytest.mark.slow)],
)
def test_random_programs(layout: Sequence[str], mock: str) -> None:
    launches = 0
    with flow.flags(mock=mock):
        for seed in range(12):
            one = random_program.program(seed, 25).on(layout)
            given, eager = generators(), generators()
            run = flow.graph.compile(traced(one, layout, given))
            run.fill_arena(0xA5)
            for number in range(6):
                with flow.flags(cuda_graphs=number != 4):
                    results = run()
                looks = wanted(one, layout, len(results), eager)
                for (label, seen), x in zip(looks, results, strict=True):
                    difference = compare(seen, x.numpy())
                    assert difference is None, (seed, number, label, difference)
            launches += graphs_of(run)["launches"]
    assert launches > 12


def test_several_threads_run_it() -> None:
    run = captured(chain, feed())

    def work() -> None:
        for number in range(20):
            x = feed(number)
            for want, got in zip(chain(x), run(x), strict=True):
                np.testing.assert_array_equal(got.numpy(), want.numpy())

    in_threads(4, work)


def picked(x: Any, places: Any) -> Any:
    y = flow.tanh(x) * 0.5
    z = y[places]
    return y + 1, z * 2


def test_what_a_kernel_finds_comes_out_at_its_line() -> None:
    x, good, bad = feed(), *(flow.tensor([1, n], device=MOCK) for n in (2, 99))
    run = captured(picked, x, good)
    sound, lost = run(x, bad)
    with pytest.raises(IndexError, match="99") as raised:
        lost.numpy()
    assert graphs_of(run)["launches"] == 2
    line = picked.__code__.co_firstlineno + 2
    assert any(f"test_captured.py:{line}" in note for note in raised.value.__notes__)
    np.testing.assert_array_equal(sound.numpy(), picked(x, good)[0].numpy())
    with pytest.raises(IndexError):
        flow.synchronize()
    np.testing.assert_array_equal(run(x, good)[1].numpy(), picked(x, good)[1].numpy())


def test_a_launch_that_fails_is_made_without_the_graph() -> None:
    x = feed()
    want = [y.numpy() for y in chain(x)]
    run = captured(chain, x)
    with flow.flags(fail="launch:1"):
        found = [y.numpy() for y in run(x)]
    for a, b in zip(want, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert graphs_of(run)["launches"] == 1


def profiled(run: Callable[[], Any]) -> None:
    with flow.profiler.profile() as trace:
        run()
        flow.synchronize()
    assert sum("tanh" in each.name for each in trace.records) >= 4


def checked(run: Callable[[], Any]) -> None:
    with flow.flags(check_nan_inf=True):
        run()
        flow.synchronize()


def naive(run: Callable[[], Any]) -> None:
    with flow.flags(sync=True):
        run()


@pytest.mark.parametrize("way", [profiled, checked, naive])
def test_watched_runs_are_not_captured(way: Callable[[Callable[[], Any]], None]) -> None:
    x = feed()
    run = captured(chain, x)
    way(lambda: run(x))
    assert graphs_of(run)["launches"] == 1
    run(x)
    flow.synchronize()
    assert graphs_of(run)["launches"] == 2


def test_a_program_may_go_while_its_graph_runs() -> None:
    x = feed()
    with flow.flags(mock="launch=5ms"):
        run = captured(chain, x)
        results = run(x)
        del run
    for want, got in zip(chain(x), results, strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())
