"""Draws of a ``RandomState`` in programs: each run draws as eager does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, TraceError, trace
from oneflow_lite.random import RandomState
from tests.graph.test_executables import DEVICES, MODES, bits
from tests.graph.test_random_numbers import run_of
from tests.support.graphs.tracing import SQUARE, leaves, works

Draw = Callable[[RandomState, str], Any]

DRAWS: dict[str, Draw] = {
    "one normal": lambda r, d: r.normal(device=d),  # another is left over
    "normal": lambda r, d: r.normal(1.0, 2.0, (3, 3), device=d),
    "cast": lambda r, d: r.gamma(2.0, size=4, dtype="float32", device=d),
    "many": lambda r, d: r.standard_normal(5001, device=d),
    "by dimensions": lambda r, d: [r.rand(2, 3, device=d), r.randn(3, device=d)],
    "integers": lambda r, d: r.randint(3, 90, 600, dtype="uint8", device=d),
    "integers of Python": lambda r, d: [r.randint(9, device=d), r.tomaxint(3, device=d)],
    "permutation": lambda r, d: r.permutation(7, device=d),
    "permutation of a tensor": lambda r, d: r.permutation(flow.arange(8, device=d) * 2),
    "choice": lambda r, d: r.choice([3.0, 4.0, 5.0], (2, 2), device=d),
    "choice of a tensor": lambda r, d: r.choice(flow.arange(9.0, device=d), 3, replace=False),
    "choice by weights": lambda r, d: r.choice(3, 5, p=np.array([0.2, 0.3, 0.5]), device=d),
    "vectors": lambda r, d: r.multivariate_normal(
        [0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], 2, "ignore", device=d
    ),
    "several": lambda r, d: [r.normal(size=3, device=d), r.randint(9, device=d), r.normal()],
    "dead": lambda r, d: [r.normal(size=5, device=d), r.normal(size=3, device=d)][1],
    "written to": lambda r, d: _shuffled(r, d),
    "seed": lambda r, d: [r.normal(size=3, device=d), r.seed(5), r.normal(size=2, device=d)],
    "own": lambda r, d: RandomState(4).normal(size=3, device=d),
}


def _shuffled(rng: RandomState, device: str) -> flow.Tensor:
    x = rng.normal(size=(5, 2), device=device)
    rng.shuffle(x)
    return x


def place(rng: RandomState) -> Any:
    """As numbers of Python."""
    name, words, *rest = rng.get_state()
    return name, words.tobytes(), *rest


@pytest.mark.parametrize("mode", [*MODES, "plain"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_eagers(name: str, device: str, mode: str) -> None:
    """Also between draws outside of the program; and a trace by itself draws nothing."""
    with flow.flags(**MODES.get(mode, {})):
        draw, rng, eager = DRAWS[name], RandomState(3), RandomState(3)
        traced = trace(lambda: leaves(draw(rng, device)))
        assert place(rng) == place(eager)
        traced.program.verify()
        run = run_of(traced.program, mode)
        for _ in range(3):
            assert bits(run()) == bits(leaves(draw(eager, device)))
            assert place(rng) == place(eager)
            assert bits([rng.normal()]) == bits([eager.normal()])
        rng.seed(9)
        eager.seed(9)
        assert bits(run()) == bits(leaves(draw(eager, device)))
        assert place(rng) == place(eager)


@pytest.mark.parametrize("name", DRAWS)
def test_text_is_read_back(name: str) -> None:
    rng = RandomState(3)
    program = trace(lambda: leaves(DRAWS[name](rng, "cpu"))).program
    again = Program.parse(str(program))
    again.verify()
    assert (str(again), again == program) == (str(program), True)


def test_what_differs_makes_programs_differ() -> None:
    rng, other = RandomState(3), RandomState(4)
    draws: list[Callable[[], Any]] = [
        lambda: rng.random(3),
        lambda: rng.randint(3, size=3),
        lambda: rng.randint(3, size=3, dtype="int32"),
        lambda: [rng.random(3), rng.random(3)],
        lambda: [rng.random(3), other.random(3)],
        lambda: [rng.random(3), rng.seed(1)],
    ]
    structures = {trace(lambda draw=draw: leaves(draw())).program.structure for draw in draws}
    assert len(structures) == len(draws)


def test_a_trace_that_fails_draws_nothing() -> None:
    rng = RandomState(3)
    rng.normal()

    def function() -> None:
        rng.normal(size=3)
        rng.seed(7)
        raise KeyError("mine")

    before = place(rng)
    with pytest.raises(KeyError, match="mine"):
        trace(function)
    assert place(rng) == before


class Model:
    def __init__(self) -> None:
        self.rng = RandomState(3)
        self.calls = 0

    def noisy(self, x: Any) -> Any:
        self.calls += 1
        return x + self.rng.normal(size=x.shape, device=x.device)


@pytest.mark.parametrize("device", DEVICES)
def test_jit(device: str) -> None:
    jitted, eager = Model(), Model()
    step = flow.jit(lambda model, x: model.noisy(x))
    x = flow.arange(5.0, device=device)
    for _ in range(3):
        assert bits([step(jitted, x)]) == bits([eager.noisy(x)])
    assert jitted.calls == 1
    for model in (jitted, eager):
        model.rng = RandomState(8)
    for _ in range(2):
        assert bits([step(jitted, x)]) == bits([eager.noisy(x)])
    assert jitted.calls == 2
    assert "is another generator" in step.explain()[1]
    for model in (jitted, eager):
        model.rng.set_state(RandomState(1).get_state())
    assert bits([step(jitted, x)]) == bits([eager.noisy(x)])
    assert jitted.calls == 2


def test_a_stream_as_an_argument() -> None:
    step = flow.jit(lambda rng: (rng.randn(3), rng.permutation(4)))
    for seed in (1, 2):
        rng, eager = RandomState(seed), RandomState(seed)
        for _ in range(2):
            assert bits(step(rng)) == bits([eager.randn(3), eager.permutation(4)])


def test_calls_that_are_checked_against_eager() -> None:
    """They draw once; the program begins where eager's call has begun, with what was left over."""
    rng, eager = RandomState(3), RandomState(3)

    @flow.graph.jit(check=2)
    def step(rng: RandomState) -> Any:
        return rng.normal(size=3), rng.rand(2)

    for _ in range(3):
        assert bits(step(rng)) == bits([eager.normal(size=3), eager.rand(2)])
        assert place(rng) == place(eager)


def test_the_functions_of_the_module() -> None:
    step = flow.jit(lambda x: x + flow.random.normal(size=3) * flow.random.rand(3))
    numpys = np.random.RandomState(42)
    flow.random.seed(42)
    for _ in range(3):
        expected = numpys.normal(size=3) * numpys.rand(3)
        assert step(flow.zeros(3)).tolist() == expected.tolist()


def test_a_class_that_is_derived_is_recorded() -> None:
    """Its objects are made with other arguments."""

    class Named(RandomState):
        def __init__(self, name: str, seed: int) -> None:
            super().__init__(seed)
            self.name = name

    rng, eager = Named("noise", 5), RandomState(5)
    step = flow.jit(lambda: rng.normal(size=3))
    for _ in range(2):
        assert bits([step()]) == bits([eager.normal(size=3)])


REFUSED: dict[str, tuple[str, Callable[[RandomState], Any]]] = {
    "bytes": ("bytes", lambda r: r.bytes(3)),
    "state": ("get_state", lambda r: r.get_state()),
    "set state": ("set_state", lambda r: r.set_state(np.random.RandomState(3).get_state())),
    "a fresh one": ("RandomState without a seed", lambda r: RandomState()),
    "NumPy's": (
        "RandomState without a seed",
        lambda r: RandomState(np.random.MT19937(3)),
    ),
    "parameters with values": ("normal", lambda r: r.normal(SQUARE)),
    "limits with values": ("randint", lambda r: r.randint(SQUARE)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    op, call = REFUSED[name]
    rng = RandomState(3)
    before = place(rng)
    with pytest.raises(TraceError, match=rf"^\[{op}\] .*do it outside"):
        trace(lambda x: (call(rng), x), SQUARE)
    assert place(rng) == before
    works()
