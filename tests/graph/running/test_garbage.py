"""Programs that lead to themselves, through what they call, are garbage like all else."""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import trace
from oneflow_lite.vm import host_func

MODES: list[dict[str, Any]] = [{}, {"sync": True}]


class Model:
    def __init__(self) -> None:
        self.w = flow.ones(3)
        self.seen: list[float] = []
        self.stream = flow.random.Philox(3)
        self.generator = flow.random.default_rng(3)
        self.stream.owner = self.generator.owner = self  # type: ignore[attr-defined]

    def note(self, x: np.ndarray) -> None:
        self.seen.append(float(x[0] + self.w[0]))

    def observed(self, x: Any) -> Any:
        y = x * 1
        host_func(self.note, reads=[y])
        host_func(self.note, reads=[y * 2])
        return y

    def drawn(self, x: Any) -> Any:
        return x + self.stream.random(3) + self.generator.random(3)

    jitted = flow.jit(observed)
    jitted_draws = flow.jit(drawn)


def by_compile(function: Callable[[Any], Any]) -> Any:
    x = flow.zeros(3)
    run = flow.graph.compile(trace(function, x).program)
    return lambda: run(x)


def by_jit(function: Callable[[Any], Any]) -> Any:
    run = flow.jit(function)
    return lambda: run(flow.zeros(3))


WAYS: dict[str, Callable[[Model], Any]] = {
    "a jitted method": lambda model: lambda: model.jitted(flow.zeros(3)),
    "jit of a method": lambda model: by_jit(model.observed),
    "a compiled program": lambda model: by_compile(model.observed),
    "draws of a jitted method": lambda model: lambda: model.jitted_draws(flow.zeros(3)),
    "draws of jit of a method": lambda model: by_jit(model.drawn),
    "draws of a compiled program": lambda model: by_compile(model.drawn),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_program_calls_may_lead_to_it(way: str, mode: dict[str, Any]) -> None:
    with flow.flags(**mode):
        model = Model()
        model.run = WAYS[way](model)  # type: ignore[attr-defined]
        for _ in range(3):
            model.run()  # type: ignore[attr-defined]
        flow.synchronize()
        gc.collect()
        assert model.seen == ([] if "draws" in way else [1.0] * 6)
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None


def test_what_is_traced_alone_is_garbage_too() -> None:
    model = Model()
    model.program = trace(model.observed, flow.zeros(3)).program  # type: ignore[attr-defined]
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_function_in_flight_is_no_garbage() -> None:
    begun, may_end = threading.Event(), threading.Event()
    seen: list[float] = []

    class Waiting(Model):
        def note(self, x: np.ndarray) -> None:
            begun.set()
            may_end.wait(30)
            super().note(x)
            seen.extend(self.seen)

    def start() -> Any:
        model = Waiting()
        model.jitted(flow.zeros(3))
        return weakref.ref(model)

    try:
        gone = start()
        assert begun.wait(30)
        gc.collect()
        gc.collect()
        assert gone() is not None
    finally:
        may_end.set()
    flow.synchronize()
    assert seen == [1.0, 1.0, 1.0]
    gc.collect()
    assert gone() is None


def test_a_program_keeps_what_it_calls() -> None:
    seen: list[float] = []
    run = by_compile(lambda x: host_func(lambda y: seen.append(float(y[0])), reads=[x]))
    gc.collect()
    run()
    flow.synchronize()
    gc.collect()
    run()
    flow.synchronize()
    assert seen == [0.0, 0.0]
