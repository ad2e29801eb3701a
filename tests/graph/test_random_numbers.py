"""Random numbers in programs: eager's draws at each run, and the generators stay where eager leaves
them."""

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, TraceError, plain_run, trace
from oneflow_lite.random import Generator, Philox
from tests.graph.test_executables import DEVICES, MODES, bits
from tests.support.graphs.tracing import SQUARE, leaves, works

Draw = Callable[[Philox, Generator, str], Any]

# By a counted stream and one of NumPy's, for a device.
DRAWS: dict[str, Draw] = {
    "philox normal": lambda p, g, d: p.normal(size=(3, 2), dtype="float32", device=d),
    "philox uniform": lambda p, g, d: p.uniform(-2, 3, size=5, device=d),
    "philox half": lambda p, g, d: p.random(7, dtype="float16", device=d),
    "philox words": lambda p, g, d: p.words(3, dtype="uint64", device=d),
    "philox truths": lambda p, g, d: p.bernoulli(0.3, 40, device=d),
    "philox integers": lambda p, g, d: p.integers(-(2**40), 2**40, 4, device=d),
    "philox one": lambda p, g, d: p.exponential(device=d),
    "philox none": lambda p, g, d: [p.random((2, 0), device=d), p.random(3, device=d)],
    "philox permutation": lambda p, g, d: p.permutation(flow.arange(9, device=d)),
    "philox choice": lambda p, g, d: p.choice(9, 4, replace=False, p=[0.1] * 8 + [0.2], device=d),
    "philox often": lambda p, g, d: [p.random(3, device=d) + i for i in range(9)],
    "philox dead": lambda p, g, d: [p.random(5, device=d), p.random(3, device=d)][1],
    "philox passed over": lambda p, g, d: [p.random(3, device=d), p.advance(5), p.random(device=d)],
    "philox put back": lambda p, g, d: [p.random(9, device=d), p.advance(-2), p.random(device=d)],
    "philox only passed over": lambda p, g, d: [p.advance(7), flow.ones(2, device=d)],
    "normal": lambda p, g, d: g.normal(1.0, 2.0, (2, 3), device=d),
    "one normal": lambda p, g, d: g.normal(device=d),
    "cast": lambda p, g, d: g.gamma(2.0, size=4, dtype="float32", device=d),
    "single": lambda p, g, d: g.standard_normal(600, dtype="float32", device=d),
    "integers": lambda p, g, d: g.integers(3, 90, 600, dtype="uint8", device=d),
    "permutation": lambda p, g, d: g.permutation(7, device=d),
    "permutation of a tensor": lambda p, g, d: g.permutation(flow.arange(8, device=d) * 2),
    "permuted": lambda p, g, d: g.permuted(flow.arange(8, device=d).reshape(2, 4), axis=1),
    "permuted, all": lambda p, g, d: g.permuted(flow.arange(8, device=d).reshape(2, 4)),
    "choice": lambda p, g, d: g.choice([3.0, 4.0, 5.0], (2, 2), device=d),
    "choice of a tensor": lambda p, g, d: g.choice(flow.arange(9.0, device=d), 3, replace=False),
    "choice by weights": lambda p, g, d: g.choice(3, 5, p=np.array([0.2, 0.3, 0.5]), device=d),
    "several": lambda p, g, d: [g.random(2, device=d), g.integers(9, device=d), g.random(device=d)],
    "dead": lambda p, g, d: [g.random(5, device=d), g.random(3, device=d)][1],
    "both": lambda p, g, d: [g.random(3, device=d), p.random(3, device=d), g.random(3, device=d)],
    "written to": lambda p, g, d: _shuffled(p, g, d),
    "seed": lambda p, g, d: [g.random(2, device=d), g.seed(5), g.random(2, device=d)],
    "own philox": lambda p, g, d: [
        Philox(5).random(3, device=d),
        Philox(key=1).spawn(2)[1].random(),
    ],
    "own generator": lambda p, g, d: [
        flow.random.default_rng(4).random(3, device=d),
        flow.random.default_rng(4).spawn(2)[1].integers(0, 9, 3),
    ],
}


def _shuffled(p: Philox, g: Generator, device: str) -> list[flow.Tensor]:
    x = g.normal(size=6, device=device)
    g.shuffle(x)
    x[1:3] += p.random(2, device=device)
    return [x, x[::2]]


def fresh() -> tuple[Philox, Generator]:
    return Philox(key=3, counter=2**64 - 4), flow.random.default_rng(3)


def places(p: Philox, g: Generator) -> Any:
    return p.state, copy.deepcopy(g.bit_generator.state)


def run_of(program: Program, mode: str) -> Callable[[], list[flow.Tensor]]:
    if mode == "plain":
        return lambda: plain_run.run(program.main, [])
    return flow.graph.compile(program)


@pytest.mark.parametrize("mode", [*MODES, "plain"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_eagers(name: str, device: str, mode: str) -> None:
    """Also between draws of the program outside; and a trace by itself draws nothing."""
    with flow.flags(**MODES.get(mode, {})):
        draw, (p, g), (eager_p, eager_g) = DRAWS[name], fresh(), fresh()
        traced = trace(lambda: leaves(draw(p, g, device)))
        assert places(p, g) == places(eager_p, eager_g)
        traced.program.verify()
        run = run_of(traced.program, mode)
        for _ in range(3):
            expected = leaves(draw(eager_p, eager_g, device))
            assert bits(run()) == bits(expected)
            assert places(p, g) == places(eager_p, eager_g)
            assert bits([p.random(3), g.random(3)]) == bits([eager_p.random(3), eager_g.random(3)])
        p.state = eager_p.state = {"key": 9, "counter": 2**128 - 1}
        assert bits(run()) == bits(leaves(draw(eager_p, eager_g, device)))
        assert places(p, g) == places(eager_p, eager_g)


@pytest.mark.parametrize("name", DRAWS)
def test_text_is_read_back(name: str) -> None:
    p, g = fresh()
    program = trace(lambda: leaves(DRAWS[name](p, g, "cpu"))).program
    again = Program.parse(str(program))
    again.verify()
    assert (str(again), again == program) == (str(program), True)
    if program.main.objects:
        with pytest.raises(ValueError, match=r"is not known"):
            flow.graph.compile(again)


def test_what_differs_makes_programs_differ() -> None:
    p, g = fresh()
    other = Philox(4)
    draws: list[Callable[[], Any]] = [
        lambda: p.random(3),
        lambda: p.random(4),
        lambda: p.normal(size=3),
        lambda: [p.random(3), p.advance(1)],
        lambda: [p.random(3), p.random(3)],
        lambda: [p.random(3), other.random(3)],
        lambda: g.random(3),
        lambda: g.normal(size=3),
        lambda: g.normal(0.5, size=3),
        lambda: g.choice(3, 3, p=np.array([0.5, 0.25, 0.25])),
        lambda: g.choice(3, 3, p=np.array([0.25, 0.5, 0.25])),
        lambda: [g.random(3), g.seed(1)],
    ]
    structures = {trace(lambda draw=draw: leaves(draw())).program.structure for draw in draws}
    assert len(structures) == len(draws)
    assert trace(draws[0]).program == trace(lambda: other.random(3)).program


def test_what_a_program_was_given_may_change() -> None:
    g, weights = flow.random.default_rng(0), np.array([1.0, 0.0])
    run = flow.graph.compile(trace(lambda: g.choice(2, 8, p=weights)).program)
    weights[:] = weights[::-1].copy()
    assert run()[0].tolist() == [0] * 8


def test_a_run_that_is_refused_draws_nothing() -> None:
    p, g = fresh()
    before = places(p, g)
    x = flow.ones(3)
    run = flow.graph.compile(trace(lambda x: (x + p.random(3), g.random(3)), x).program)
    for args in ((), (x, x), (flow.ones(4),)):
        with pytest.raises(ValueError, match=r"expected"):
            run(*args)
        with pytest.raises(ValueError, match=r"expected"):
            plain_run.run(run.program.main, args)
    assert places(p, g) == before
    run(x)
    assert places(p, g) != before


def test_a_trace_that_fails_draws_nothing() -> None:
    p, g = fresh()
    before = places(p, g)

    def function() -> None:
        p.random(3)
        g.random(3)
        g.seed(7)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trace(function)
    assert places(p, g) == before
    assert bits([p.random(2), g.random(2)]) == bits([x.random(2) for x in fresh()])


def test_threads_get_places_of_their_own() -> None:
    """Runs and eager draws of one stream, at a time."""
    p, eager = Philox(7), Philox(7)
    run = flow.graph.compile(trace(lambda: p.random(4) * 1 + p.random(2).sum() * 0).program)
    counters = 2 + 1
    found: list[tuple[float, ...]] = []

    def work(number: int) -> None:
        for _ in range(40):
            if number % 2:
                found.append(tuple(run()[0].tolist()))
            else:
                found.append(tuple(p.random(2 * counters)[:4].tolist()))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [tuple(eager.random(2 * counters)[:4].tolist()) for _ in range(160)]
    assert sorted(found) == sorted(expected)
    assert p.state == eager.state


class Model:
    def __init__(self) -> None:
        self.stream, self.numpys = fresh()
        self.calls = 0

    def drop(self, x: Any) -> Any:
        self.calls += 1
        noise = self.numpys.normal(size=x.shape, device=x.device)
        return flow.where(self.stream.bernoulli(0.5, x.shape, device=x.device), x, noise)


@pytest.mark.parametrize("device", DEVICES)
def test_jit(device: str) -> None:
    jitted, eager = Model(), Model()
    step = flow.graph.jit(lambda model, x: model.drop(x))
    x = flow.arange(40.0, device=device)
    for _ in range(3):
        assert bits([step(jitted, x)]) == bits([eager.drop(x)])
    assert jitted.calls == 1
    for model in (jitted, eager):
        model.stream, model.numpys = Philox(8), flow.random.default_rng(8)
    for _ in range(2):
        assert bits([step(jitted, x)]) == bits([eager.drop(x)])
    assert jitted.calls == 2
    assert "is another generator" in step.explain()[1]
    for model in (jitted, eager):
        model.numpys.seed(3)
    assert bits([step(jitted, x)]) == bits([eager.drop(x)])
    assert jitted.calls == 2


def test_a_generator_as_an_argument() -> None:
    step = flow.graph.jit(lambda rng: rng.random(3))
    for seed in (1, 2):
        rng, eager = Philox(seed), Philox(seed)
        for _ in range(2):
            assert bits([step(rng)]) == bits([eager.random(3)])


def test_calls_that_are_checked_against_eager() -> None:
    """They draw once; the program begins where eager's call has begun."""
    p, g = fresh()
    eager_p, eager_g = fresh()

    @flow.graph.jit(check=2)
    def step(p: Philox, g: Generator) -> Any:
        return p.random(3), g.random(3), g.seed(4), g.normal(size=2)

    for _ in range(3):
        seen = [x for x in step(p, g) if x is not None]
        assert bits(seen) == bits(
            [eager_p.random(3), eager_g.random(3), (eager_g.seed(4), eager_g.normal(size=2))[1]]
        )
    assert places(p, g) == places(eager_p, eager_g)


def test_a_rate_among_the_parameters() -> None:
    """It is a number of Python's that is drawn with: each has a program of its own."""
    p, g = fresh()
    eager_p, eager_g = fresh()
    step = flow.graph.jit(lambda rate, x: p.bernoulli(rate, 9) * x * rate + g.normal(rate, size=9))
    for rate in (0.25, 0.5, 0.25):
        x = flow.arange(9.0)
        expected = eager_p.bernoulli(rate, 9) * x * rate + eager_g.normal(rate, size=9)
        assert bits([step(rate, x)]) == bits([expected])
    assert places(p, g) == places(eager_p, eager_g)


# The functions of the module, by parameters.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("beta", "f", "gamma", "gumbel", "laplace", "logistic"), (2.0, 3.0, 4)),
    **dict.fromkeys(("lognormal", "normal", "uniform", "vonmises", "wald"), (2.0, 3.0, 4)),
    **dict.fromkeys(("chisquare", "exponential", "pareto", "poisson", "power"), (2.0, 4)),
    **dict.fromkeys(("rayleigh", "standard_gamma", "standard_t", "weibull", "zipf"), (2.0, 4)),
    **dict.fromkeys(("random", "random_sample", "ranf", "sample"), (4,)),
    **dict.fromkeys(("standard_cauchy", "standard_exponential", "standard_normal"), (4,)),
    "binomial": (10, 0.5, 4),
    "choice": (5, 3),
    "dirichlet": ([1.0, 2.0],),
    "geometric": (0.3, 4),
    "hypergeometric": (5, 5, 4, 3),
    "logseries": (0.6, 4),
    "multinomial": (10, [0.3, 0.7]),
    "multivariate_normal": ([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]),
    "negative_binomial": (3, 0.5, 4),
    "noncentral_chisquare": (2.0, 1.0, 4),
    "noncentral_f": (2.0, 3.0, 1.0, 4),
    "permutation": (5,),
    "rand": (2, 2),
    "randint": (1, 60, 4),
    "randn": (2, 2),
    "triangular": (0.0, 1.0, 3.0, 4),
}
OTHERS = {  # have other tests
    *("Generator", "Philox", "RandomState", "default_rng"),
    *("bytes", "get_state", "seed", "set_state", "shuffle"),
    *("BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "SFC64", "SeedSequence"),
}


def test_these_are_all_functions() -> None:
    assert set(ARGUMENTS) | OTHERS == set(flow.random.__all__)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_function_of_the_module(name: str) -> None:
    call = lambda: getattr(flow.random, name)(*ARGUMENTS[name])  # noqa: E731
    run = flow.graph.compile(trace(call).program)
    flow.random.seed(11)
    expected = [call(), call()]
    flow.random.seed(11)
    assert bits([*run(), *run()]) == bits(expected)


def test_shuffle_of_a_captured_tensor() -> None:
    x, rng, eager = flow.arange(9), flow.random.default_rng(1), flow.random.default_rng(1)
    run = flow.graph.compile(trace(lambda: rng.shuffle(x)).program)
    assert x.tolist() == list(range(9))
    expected = flow.arange(9)
    for _ in range(2):
        run()
        eager.shuffle(expected)
        assert x.tolist() == expected.tolist()


REFUSED: dict[str, tuple[str, Callable[[Philox, Generator], Any]]] = {
    "bytes": ("bytes", lambda p, g: g.bytes(3)),
    "spawn": ("spawn", lambda p, g: g.spawn(2)),
    "bit generator": ("bit_generator", lambda p, g: g.bit_generator.random_raw()),
    "state": ("Philox.state", lambda p, g: p.state),
    "set state": ("Philox.state", lambda p, g: setattr(p, "state", {"key": 1, "counter": 2})),
    "jumped": ("Philox.state", lambda p, g: p.jumped()),
    "Philox spawn": ("Philox.spawn", lambda p, g: p.spawn(3)),
    "fresh Philox": ("Philox without a seed", lambda p, g: Philox()),
    "fresh generator": ("default_rng without a seed", lambda p, g: flow.random.default_rng()),
    "NumPy's generator": (
        "default_rng without a seed",
        lambda p, g: Generator(np.random.default_rng(3)),
    ),
    "seed of a generator": ("seed of a generator", lambda p, g: g.seed(np.random.PCG64(3))),
    "parameters with values": ("normal", lambda p, g: g.normal(SQUARE)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """Values of Python, and sources that eager makes anew: each names the line and a way out."""
    op, call = REFUSED[name]
    p, g = fresh()
    before = places(p, g)
    with pytest.raises(TraceError, match=rf"^\[{op}\] .*do it outside") as raised:
        trace(lambda x: (call(p, g), x), SQUARE)
    assert any(f"{__file__}:" in note for note in raised.value.__notes__)
    assert places(p, g) == before
    works()
