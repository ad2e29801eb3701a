"""Arguments and captured tensors over one memory: eager's results and writes."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.arguments.sharing import memories, sharing_with

VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "overlapping": (lambda w: w[:4], lambda w: w[2:6]),
    "apart": (lambda w: w[:4], lambda w: w[4:]),
    "the same bytes": (lambda w: w[1:5], lambda w: w[1:5]),
    "reversed": (lambda w: w[:4], lambda w: w[3::-1]),
    "every other": (lambda w: w[::2], lambda w: w[1::2]),
    "part and whole": (lambda w: w, lambda w: w[2:3]),
    "matrix": (lambda w: w.reshape(2, 4)[:, :1], lambda w: w[:1]),
}


def work(x: Any, y: Any, rate: float = 0.5) -> Any:
    x += y * rate
    before = x * 2
    y *= 3
    x[0] = 7
    return before + y, x, y[:1]


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("name", VIEWS)
def test_arguments_that_share_memory(name: str, device: str) -> None:
    run = flow.jit(work)
    one, other = VIEWS[name]

    def memory() -> Any:
        return flow.arange(8.0, device=device) + 1

    for rate in (0.5, 0.25):
        for is_shared in (True, False, True):
            got, wanted = memory(), memory()
            second, plain = (got, wanted) if is_shared else (memory(), memory())
            results = run(one(got), other(second), rate)
            expected = work(one(wanted), other(plain), rate)
            for x, y in zip(results, expected, strict=True):
                assert x.tolist() == y.tolist()
            assert got.tolist() == wanted.tolist()
            assert second.tolist() == plain.tolist()
            results[1][0] = -5  # an alias of the argument
            assert one(got).tolist()[0] in (-5, [-5])
    assert run.report()["traces"] == 2, run.explain()


def test_another_overlap_is_another_program() -> None:
    run = flow.jit(work)
    for begin in (0, 1, 2, 4, 1, 0):
        got, wanted = flow.arange(8.0), flow.arange(8.0)
        run(got[:4], got[begin : begin + 4])
        work(wanted[:4], wanted[begin : begin + 4])
        assert got.tolist() == wanted.tolist(), begin
    assert run.report()["traces"] == 4


class Model:
    def __init__(self) -> None:
        self.w = flow.arange(6.0)
        self.view = self.w[1:]

    def step(self, x: Any) -> Any:
        x += self.w[:3]
        self.view *= 2
        return x + self.w[3:]


def test_captured_tensors_that_share_memory_with_an_argument() -> None:
    model, plain = Model(), Model()
    run = flow.jit(model.step)
    for begin in (None, 0, 2, None, 0):
        x = flow.ones(3) if begin is None else model.w[begin : begin + 3]
        y = flow.ones(3) if begin is None else plain.w[begin : begin + 3]
        assert run(x).tolist() == plain.step(y).tolist()
        assert model.w.tolist() == plain.w.tolist()
    traces = run.report()["traces"]
    model.w, plain.w = model.w * 2, plain.w * 2
    assert run(model.w[:3]).tolist() == plain.step(plain.w[:3]).tolist()
    assert run.report()["traces"] == traces + 1
    x, y = model.w[:3], plain.w[:3]
    model.w, plain.w = model.w * 2, plain.w * 2  # x is over the old one
    assert run(x).tolist() == plain.step(y).tolist()


@pytest.mark.parametrize("check", [0, 1])
def test_captured_views_in_the_place_of_others(check: int) -> None:
    """Also where old ones still share memory with the argument, or do not any more."""
    model = Model()
    got = np.arange(8.0)

    def step(x: Any) -> Any:
        x += model.w
        return x * 1

    run = flow.jit(step, check=check)
    at = slice
    calls = [(2, at(1, 5)), (2, at(0, 4)), (2, at(4, 8)), (4, at(1, 5)), (4, None), (2, at(3, 7))]
    for begin, place in calls:
        got[...] = np.arange(8.0)
        model.w = flow.ones(4) if place is None else flow.from_dlpack(got[place])
        for _ in range(3):
            wanted = got.copy()
            wanted[begin : begin + 4] += 1 if place is None else wanted[place].copy()
            seen = run(flow.from_dlpack(got)[begin : begin + 4])
            assert seen.tolist() == wanted[begin : begin + 4].tolist()
            assert got.tolist() == wanted.tolist()


def test_memory_of_numpy() -> None:
    got, wanted = np.arange(8.0), np.arange(8.0)
    run = flow.jit(work)
    for k in (2, 3, 2):
        run(flow.from_dlpack(got), flow.from_dlpack(got[k : k + 4])[:1])
        work(flow.from_dlpack(wanted), flow.from_dlpack(wanted[k : k + 4])[:1])
        assert got.tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="no tensor of them has all of it"):
        run(flow.from_dlpack(got[:5]), flow.from_dlpack(got[2:])[:5])
    run(flow.ones(2), flow.ones(2))


def test_nothing_is_written() -> None:
    run = flow.jit(lambda x, y: x * 2 + y)
    whole = flow.arange(8.0)
    assert run(whole[:4], flow.ones(4)).tolist() == [1, 3, 5, 7]
    assert run(whole[:4], whole[2:6]).tolist() == [2, 5, 8, 11]
    assert run.report()["traces"] == 1


def test_checked_calls_with_shared_memory() -> None:
    run = flow.jit(work, check=5)
    for _ in range(2):
        got, wanted = flow.arange(8.0), flow.arange(8.0)
        run(got[:4], got[2:6])
        work(wanted[:4], wanted[2:6])
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_no_other_input_sees_what_is_written(seed: int) -> None:
    """All pairs are looked at, wherever their memory is: of storages, and shared with NumPy."""
    rng = random.Random(seed)
    written = rng.sample(range(8), 3)

    def add(*xs: Any) -> Any:
        for k in written:
            xs[k].__iadd__(1)
        return xs[0] * 1

    run = flow.graph.compile(flow.graph.trace(add, *[flow.graph.spec(4) for _ in range(8)]).program)
    outcomes = set()
    for _ in range(60):
        array = np.zeros(60)
        wholes = [flow.zeros(60), flow.zeros(60)]
        places = [(rng.randrange(3), rng.randrange(56)) for _ in range(8)]
        given = [
            flow.from_dlpack(array[at : at + 4]) if memory == 2 else wholes[memory][at : at + 4]
            for memory, at in places
        ]
        clash = any(
            k != i and memory == places[k][0] and abs(at - places[k][1]) < 4
            for k in written
            for i, (memory, at) in enumerate(places)
        )
        outcomes.add(clash)
        if clash:
            with pytest.raises(
                ValueError, match=r"\[add\] writes to argument args\[\d\], which shares"
            ):
                run(*given)
            assert not array.any()
        else:
            run(*given)
            assert all(given[k].tolist() == [1] * 4 for k in written)
    assert outcomes == {True, False}


def test_memories() -> None:
    array = np.zeros(12)
    whole, alone = flow.zeros(8), flow.ones(2)
    parts = [flow.from_dlpack(array[k : k + 6]) for k in (6, 0, 3)]
    empty = flow.empty(4)
    given = [whole[:4], parts[0], alone, whole[4:], parts[1], empty, empty[1:]]
    assert memories(given) == [(0, 3), (1,), (2,), (4,), (5, 6)]
    assert memories([*given, parts[2]]) == [(0, 3), (1, 4, 7), (2,), (5, 6)]
    assert sharing_with(given, []) == []
    assert sharing_with(given, [parts[2], whole]) == [0, 3, 1, 4]


def test_many_donated_arguments() -> None:
    f = flow.jit(lambda weights, x: [w + x for w in weights], donate="weights")
    weights = [flow.ones(2) for _ in range(300)]
    assert f(weights, 1.5)[-1].tolist() == [2.5] * 2
    whole = flow.ones(600)
    with pytest.raises(ValueError, match=r"weights\[7\] is donated, and weights\[299\] has mem"):
        f([whole[2 * k :][:2] if k in (7, 299) else flow.ones(2) for k in range(300)], 1.5)
