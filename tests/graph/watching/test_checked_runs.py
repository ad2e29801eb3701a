"""Flag check_nan_inf in runs of programs: the first operation that made some fails, as in eager."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import here, line_of

MODES = ("auto", "inline", "serial", "parallel", "sequential", "naive")


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    with flow.flags(check_nan_inf=True, fusion="always"):
        yield
    with flow.flags(check_nan_inf=False):
        for _ in range(100):
            try:
                flow.synchronize()
                return
            except FloatingPointError:
                continue


def full(value: float, *shape: int, dtype: str = "float64") -> flow.Tensor:
    return flow.full(shape, value, dtype=dtype)


Case = tuple[Callable[..., Any], list[flow.Tensor]]


def in_place(x: Any) -> Any:
    x = x + 1
    x[1:3, ::2] /= 0
    return x * 2


CASES: dict[str, Case] = {
    "a group": (lambda x: flow.tanh(flow.log(x * 2 - 4) * 3), [full(2, 30_000)]),
    "a cast": (lambda x: (x * 2).astype("float16") + 1, [full(1e5, 3, dtype="float32")]),
    "complex": (lambda x: flow.exp(x * 2) + 1, [full(1000, 3, dtype="complex64")]),
    "a sum": (lambda x: flow.sum(x * 2, axis=1), [full(8e307, 2, 9)]),
    "a running sum": (lambda x: flow.cumsum(x) * 1, [full(1e308, 3)]),
    "a product": (lambda x: x @ x.T + 1, [full(1e200, 2, 3)]),
    "through a view": (in_place, [full(2, 4, 6)]),
    "0-d": (lambda x: flow.log(x) + 1, [full(0)]),
    "of integers": (lambda x: 1 / x + 1, [full(0, 4, dtype="int32")]),
}


def text_of(x: flow.Tensor) -> tuple[str, str]:
    """What it says, and where; eager's note names the check, that of a program the operation."""
    with pytest.raises(FloatingPointError) as caught:
        x.numpy()
    return str(caught.value), line_of(caught.value).partition(": ")[2]


def on(case: str, device: str) -> Case:
    function, arguments = CASES[case]
    return function, [x.to(device) for x in arguments]


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_the_error_is_eagers(case: str, mode: str, device: str) -> None:
    function, arguments = on(case, device)
    expected = text_of(function(*arguments))
    run = flow.graph.compile(flow.graph.trace(function, *arguments).program, mode=mode)
    run.fill_arena(0xA5)
    for inline in ("0", "default"):
        with flow.flags(**({"inline": inline} if inline == "0" else {})):
            (bad,) = run(*arguments)
            assert text_of(bad) == expected
    if mode not in ("auto", "inline"):
        assert run.report()["runs"][mode] == 2


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_what_depends_on_it_fails_and_nothing_else(device: str) -> None:
    def several(x: Any, y: Any) -> Any:
        first = flow.sqrt(y) / x
        return first + 1, flow.exp(y) * 2, flow.sum(first @ first), y @ y

    line = several.__code__.co_firstlineno + 1
    x, y = flow.zeros((70, 70), device=device), flow.ones((70, 70), device=device)
    run = flow.graph.compile(flow.graph.trace(several, x, y).program, mode="serial")
    sound = [z.numpy().tobytes() for z in (flow.exp(y) * 2, y @ y)]
    with flow.flags(inline="0"):
        lost, exp, total, product = run(x, y)
        for bad in (lost, total):
            message, at = text_of(bad)
            assert message.startswith("[divide] made 0 NaN and 4900 infinite of 4900 elements")
            assert at.endswith(f"{os.path.basename(__file__)}:{line}")
        assert [exp.numpy().tobytes(), product.numpy().tobytes()] == sound
        with pytest.raises(FloatingPointError):
            flow.synchronize()
        flow.synchronize()  # one error
        assert np.isfinite(run(y, y)[2].numpy())


GIVEN: dict[str, tuple[Callable[..., Any], float]] = {
    "made of a NaN": (lambda x: flow.exp(x / 3) + 1, np.nan),
    "made of an infinity": (lambda x: flow.exp(x * 0) + 1, np.inf),
    "by a number": (lambda x: x * float("inf") + 1, 3.0),
    "moved": (lambda x: flow.where(x > 0, x, x)[::-1] * 1, np.inf),
    "reduced": (lambda x: flow.max(x) + 1, np.nan),
}


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("case", GIVEN)
def test_one_that_was_there_before_is_nobodys_fault(case: str, device: str) -> None:
    function, value = GIVEN[case]
    x = flow.full(5000, value, device=device)
    run = flow.graph.compile(flow.graph.trace(function, x).program, mode="serial")
    with flow.flags(inline="0"):
        assert not np.isfinite(run(x)[0].numpy()).all()
        flow.synchronize()


def test_numbers_of_the_call_count() -> None:
    @flow.jit
    def scaled(x: Any, rate: float) -> Any:
        return x * rate + 1

    x = flow.full(4000, 1e300)
    assert scaled(x, 2.0).numpy()[0] == 2e300
    assert scaled(x, float("inf")).numpy()[0] == np.inf
    assert text_of(scaled(x, 1e10))[0].startswith("[multiply] made 0 NaN and 4000 infinite")
    assert scaled(x, 3.0).numpy()[0] == 3e300


def chain(a: Any, b: Any) -> Any:
    y = flow.tanh(a * 2 + b) * flow.exp(-a) + flow.sqrt(b)
    z = y @ flow.sin(y).T
    return z, flow.sum(z, axis=0), flow.cumsum(y, axis=1)


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", MODES)
def test_bits_are_unchanged(mode: str, device: str) -> None:
    arrays = [np.random.default_rng(i).uniform(1, 2, (200, 200)) for i in range(2)]
    given = [flow.tensor(array, device=device) for array in arrays]
    with flow.flags(check_nan_inf=False):
        run = flow.graph.compile(flow.graph.trace(chain, *given).program, mode=mode)
        expected = [y.numpy().tobytes() for y in run(*given)]
    for inline in ("0", "100000"):
        with flow.flags(inline=inline):
            run.fill_arena(0xA5)
            assert [y.numpy().tobytes() for y in run(*given)] == expected
    flow.synchronize()


def test_beside_a_profile() -> None:
    x = flow.ones(30_000)
    run = flow.graph.compile(
        flow.graph.trace(lambda x: flow.log(x - 1) * 0 + 1, x).program, mode="serial"
    )
    with flow.flags(inline="0"), pytest.raises(FloatingPointError), flow.profiler.profile() as prof:
        run(x)[0].numpy()
    steps = [(r.name, r.group) for r in prof.records if r.kind == "step"]
    assert steps == [("subtract", 0), ("log", 0)]  # the others did not run


def test_the_line_is_of_the_group_member() -> None:
    def several_lines(x: Any) -> Any:
        y = x * 2
        z = y + 1
        bad = z / (z - z)
        return flow.tanh(bad)

    line = here() - 3

    x = flow.ones(20_000)
    run = flow.graph.compile(flow.graph.trace(several_lines, x).program, mode="serial")
    assert run.report()["groups"]
    with flow.flags(inline="0"):
        assert text_of(run(x)[0])[1].endswith(f":{line}")
