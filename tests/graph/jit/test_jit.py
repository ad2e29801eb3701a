"""jit: one program for each kind of arguments, eager's results and writes, and when it is traced
again."""

import threading
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import oneflow_lite as flow


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class State:
    w: Any
    rate: float


def bits(x: Any) -> Any:
    return (str(x.device), x.dtype, x.shape, x.numpy().tobytes())


def test_a_kind_of_arguments_is_traced_once() -> None:
    calls = []

    @flow.graph.jit
    def f(x: Any, scale: Any = 1) -> Any:
        """Say something."""
        calls.append(1)
        return flow.tanh(x) * scale

    assert (f.__name__, f.__doc__) == ("f", "Say something.")
    for _ in range(3):
        x = flow.tensor(np.random.default_rng(0).normal(size=5))
        assert bits(f(x)) == bits(flow.tanh(x) * 1)
    assert len(calls) == 1
    others = [
        ((flow.ones(6),), {}),
        ((flow.ones(5, dtype="float32"),), {}),
        ((flow.ones(10)[::2],), {}),
        ((flow.ones(5, device="mock:0"),), {}),
        ((flow.ones(5), 2), {}),
        ((flow.ones(5),), {"scale": 2}),
    ]
    for count, (args, kwargs) in enumerate(others, 2):
        expected = flow.tanh(args[0]) * (*args, kwargs.get("scale", 1))[1]
        assert bits(f(*args, **kwargs)) == bits(expected)
        assert bits(f(*args, **kwargs)) == bits(expected)
        assert f.report()["traces"] == count == len(calls)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), ("a", "b"), (None, 0), ((1,), [1]), ((1, 2), (1, True))],
)
def test_static_values_that_differ_have_programs_of_their_own(one: Any, other: Any) -> None:
    seen = []

    def function(x: Any, s: Any) -> Any:
        seen.append(str(type(s)))
        return x + 1

    f = flow.graph.jit(function)
    for given in (one, other, one, other):
        f(flow.ones(2), given)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (2.0, 3.0),
        (1, 1.0),
        (1.0, np.float64(1)),
        *((kind(0.0), kind(-0.0)) for kind in (np.float16, np.float32, np.float64, np.longdouble)),
        (np.complex64(-1 + 0j), np.conj(np.complex64(-1 + 0j))),
        (frozenset([1]), frozenset([True])),
        (frozenset([(0.0, "a")]), frozenset([(-0.0, "a")])),
        ({(1, 2): "a"}, {(True, 2): "a"}),
        ({0.0: "a"}, {-0.0: "a"}),
        (np.datetime64("NaT"), np.datetime64("2020-01-01")),
    ],
)
def test_static_arguments_count_by_value_and_type(one: Any, other: Any) -> None:
    seen: list[Any] = []

    def function(x: Any, s: Any) -> Any:
        seen.append(s)
        return x + 1

    f = flow.graph.jit(function, static=("s",))
    for given in (one, other, one, other):
        for _ in range(2):
            f(flow.ones(2), given)
            f(flow.ones(2), s=given)
    assert [(type(x), repr(x)) for x in seen] == [
        (type(x), repr(x)) for x in (one, one, other, other)
    ]


@pytest.mark.parametrize("kind", [float, complex, np.float32, np.float64, np.complex64])
def test_nan_is_itself(kind: type) -> None:
    f = flow.graph.jit(lambda x, s: x * s, static=1)
    for _ in range(3):
        assert np.isnan(f(flow.ones(2), kind("nan")).numpy()).all()
    assert f.report()["traces"] == 1


def test_what_a_key_says_of_values() -> None:
    f = flow.graph.jit(lambda x, s: x + 1)
    for given in ({"a": 1}, {"a": 1, (2, "c"): 1}, frozenset([True]), np.float32(3), np.float32(4)):
        f(flow.ones(2), given)
    assert [reason.partition(f" ({__file__}")[0] for reason in f.explain()] == [
        "it is the first call",
        "s dict of 'a' -> dict of 'a', tuple(2, 'c')",
        "s dict of 'a' -> frozenset(True)",
        "s frozenset(True) -> float32 np.float32(3.0)",
        "s float32 np.float32(3.0) -> float32 np.float32(4.0)",
    ]


def test_trees_of_arguments_and_results() -> None:
    def f(tree: Any, pair: Any, state: Any) -> Any:
        state.w += state.rate * tree["a"][0]
        return {"sum": pair.left + pair.right, "pair": Pair(pair.right, [None, state.w * 2])}

    def given() -> tuple[Any, ...]:
        return {"a": [flow.ones(3)]}, Pair(flow.zeros(3), np.arange(3.0)), State(flow.ones(3), 0.5)

    run, eager = flow.graph.jit(f), f
    for _ in range(2):
        graph, plain = given(), given()
        got, wanted = run(*graph), eager(*plain)
        assert bits(got["sum"]) == bits(wanted["sum"])
        assert isinstance(got["pair"], Pair)
        assert got["pair"].right[0] is None
        assert bits(got["pair"].right[1]) == bits(wanted["pair"].right[1])
        assert bits(graph[2].w) == bits(plain[2].w)
    assert run.report()["traces"] == 1


def test_numpy_arguments_are_read_at_each_call() -> None:
    f = flow.graph.jit(lambda a: flow.sum(a * 2))
    array = np.arange(4.0)
    assert f(array).item() == 12
    array[0] = 10
    assert f(array).item() == 32
    assert f(array[::-1]).item() == 32
    assert f.report()["traces"] == 1


def test_one_tensor_twice_is_another_kind() -> None:
    def add(x: Any, y: Any) -> Any:
        x += y
        return y * 2

    f = flow.graph.jit(add)
    x, y = flow.ones(2), flow.ones(2)
    assert f(x, y).tolist() == [2, 2]
    assert f(x, x).tolist() == [8, 8]
    assert x.tolist() == [4, 4]
    whole = flow.ones(4)
    assert f(whole[:2], whole[1:3]).tolist() == [4, 2]
    assert whole.tolist() == [2, 2, 1, 1]
    assert f(x, y).tolist() == [2, 2]


class Layer:
    def __init__(self) -> None:
        self.w = flow.full(3, 2.0)
        self.parts = [flow.ones(3)]

    def forward(self, x: Any) -> Any:
        return x * self.w + self.parts[0]


def test_captured_tensors_that_are_replaced_are_seen() -> None:
    layer = Layer()
    f = flow.graph.jit(layer.forward)
    x = flow.ones(3)
    assert f(x).tolist() == [3] * 3
    layer.w[0] = 10  # in place: no new program
    assert f(x).tolist() == [11, 3, 3]
    assert f.report()["traces"] == 1
    layer.w = flow.zeros(3)
    assert f(x).tolist() == [1] * 3
    layer.parts[0] = flow.full(3, 5.0)
    assert f(x).tolist() == [5] * 3
    layer.parts = [flow.full(3, 6.0)]
    assert f(x).tolist() == [6] * 3
    assert [reason.partition(" (")[0] for reason in f.explain()] == [
        "it is the first call",
        "self.w is another tensor",
        "self.parts[0] is another tensor",
        "self.parts[0] is another tensor",
    ]
    assert f.report()["captures"] == [["self.parts[0]", "self.w"]]


def test_tensors_of_an_argument_that_is_no_tensor_are_watched() -> None:
    f = flow.graph.jit(lambda layer, x, scale=None: layer.forward(x))
    layer = Layer()
    assert f(layer, flow.ones(3)).tolist() == [3] * 3
    layer.w = flow.zeros(3)
    assert f(layer, flow.ones(3)).tolist() == [1] * 3
    assert f(layer, x=flow.ones(3)).tolist() == [1] * 3
    layer.parts[0] = flow.full(3, 5.0)
    assert f(layer, flow.ones(3)).tolist() == [5] * 3
    assert f(layer, flow.ones(3)).tolist() == [5] * 3
    assert f.explain()[1].startswith(f"layer.w is another tensor ({__file__}:")
    assert f.report()["traces"] == 4


GLOBAL = flow.full(2, 3.0)


def helper(x: Any) -> Any:
    return x * GLOBAL


def test_globals_of_called_functions_and_closures_are_watched() -> None:
    global GLOBAL
    local = flow.ones(2)

    def f(x: Any) -> Any:
        return helper(x) + local

    run = flow.graph.jit(f)
    assert run(flow.ones(2)).tolist() == [4, 4]
    before = GLOBAL
    try:
        GLOBAL = flow.full(2, 7.0)
        assert run(flow.ones(2)).tolist() == [8, 8]
        local = flow.full(2, 2.0)
        assert run(flow.ones(2)).tolist() == [9, 9]
    finally:
        GLOBAL = before
    assert run(flow.ones(2)).tolist() == [5, 5]
    assert [reason.split()[0] for reason in run.explain()[1:]] == [
        "helper.GLOBAL",
        "local",
        "helper.GLOBAL",
    ]


def test_methods_have_programs_for_each_object() -> None:
    class Model:
        def __init__(self, value: float) -> None:
            self.w = flow.full(2, value)

        @flow.graph.jit
        def step(self, x: Any) -> Any:
            self.w += x
            return self.w * 2

    one, other = Model(1.0), Model(10.0)
    assert one.step(flow.ones(2)).tolist() == [4, 4]
    assert other.step(flow.ones(2)).tolist() == [22, 22]
    assert one.step(flow.ones(2)).tolist() == [6, 6]
    assert (one.w.tolist(), other.w.tolist()) == ([3, 3], [11, 11])
    assert one.step.report()["traces"] == 1


def test_jit_in_jit_is_one_program() -> None:
    inner = flow.graph.jit(lambda x: flow.exp(x))
    outer = flow.graph.jit(lambda x: inner(x) + 1)
    assert bits(outer(flow.ones(3))) == bits(flow.exp(flow.ones(3)) + 1)
    assert inner.report()["traces"] == 0
    assert outer.report()["runs"][0]["steps"] == 2


def test_the_cache_is_bounded_and_warns_once() -> None:
    f = flow.graph.jit(lambda x: x + 1, max_programs=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 20):
            assert f(flow.ones(n)).shape == (n,)
    (warning,) = caught
    assert warning.filename == __file__
    text = str(warning.message)
    assert text.startswith(f"[jit] retraced <lambda>: x.shape[0] 7 -> 8 ({__file__}:")
    assert text.endswith("); 5 shapes so far; 8 traces so far, which take time")
    assert f.report()["programs"] == 4
    f(flow.ones(19))
    assert f.report()["traces"] == 19
    f.clear()
    assert f.report()["programs"] == 0
    assert f(flow.ones(2)).tolist() == [2, 2]


def test_errors_leave_the_next_call_working() -> None:
    def f(x: Any, how: str) -> Any:
        if how == "look":
            return x if x.sum() > 0 else -x
        if how == "raise":
            raise KeyError("own")
        return x + 1

    run = flow.graph.jit(f)
    with pytest.raises(flow.graph.TraceError, match="bool.*needs the values"):
        run(flow.ones(2), "look")
    with pytest.raises(KeyError, match="own"):
        run(flow.ones(2), "raise")
    with pytest.raises(TypeError, match=r"\[jit\] f: how is a set, which is not hashable"):
        run(flow.ones(2), {1})
    assert run(flow.ones(2), "add").tolist() == [2, 2]
    with pytest.raises(TypeError, match="expected a function, got int"):
        flow.graph.jit(3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="max_programs: expected at least 1, got 0"):
        flow.graph.jit(f, max_programs=0)
    with pytest.raises(TypeError, match="missing 1 required"):
        run(flow.ones(2))


def test_several_threads_trace_once() -> None:
    traces = []

    def f(x: Any) -> Any:
        traces.append(1)
        return flow.tanh(x) * 2

    run = flow.graph.jit(f)
    expected = bits(flow.tanh(flow.ones(9)) * 2)
    wrong = []

    def work() -> None:
        for _ in range(50):
            if bits(run(flow.ones(9))) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert traces == [1]


def test_threads_with_more_programs_than_are_kept() -> None:
    f = flow.jit(lambda x, s: flow.exp(x) * s + s, max_programs=2)
    wrong = []

    def work(k: int) -> None:
        for i in range(60):
            x, s = flow.arange(1.0 + (i * 7 + k) % 4), (i % 5) / 2
            if bits(f(x, s)) != bits(flow.exp(x) * s + s):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert f.report()["programs"] == 2


def test_arguments_of_numpy_without_dimensions() -> None:
    f = flow.jit(lambda a, s: a * s)
    for value in (3.0, 4.0):
        assert f(np.array(value), 2.0).tolist() == value * 2
    assert f.report()["traces"] == 1


def test_class_methods() -> None:
    class Model:
        @classmethod
        @flow.jit
        def add(cls, x: Any) -> Any:
            return x + len(cls.__name__)

    assert (Model.add(flow.ones(1)).item(), Model().add(flow.ones(1)).item()) == (6, 6)


def test_the_default_device_and_the_standard_are_a_part_of_the_key() -> None:
    f = flow.graph.jit(lambda: flow.ones(2))
    assert str(f().device) == "cpu"
    with flow.device("mock:0"):
        assert str(f().device) == "mock:0"
    assert str(f().device) == "cpu"
    assert f.report()["traces"] == 2
    assert f.explain()[1].startswith("the default device or a flag changed (")


def test_containers_that_contain_themselves_are_refused() -> None:
    items: list[object] = []
    items.append(items)
    named: dict[str, object] = {}
    named["own"] = named
    for given in (items, named):
        with pytest.raises(ValueError, match=r"\[jit\] same: .* does one contain itself\?"):
            flow.jit(same)(given)
        with pytest.raises(ValueError, match="does one contain itself"):
            flow.jit(lambda x, given=given: given)(flow.ones(2))
    nested: Any = flow.ones(2)
    for _ in range(90):
        nested = [nested]
    assert str(flow.jit(same)(nested)).count("[") > 90


def same(x: Any) -> Any:
    return x


def test_forgotten_traces_are_not_warned_of() -> None:
    run = flow.jit(lambda x: x + 1)
    for _ in range(10):
        run(flow.ones(2))
        run.clear()
    assert run.report()["traces"] == 10
