"""The options of jit: what each does, and what a wrong one says."""

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError
from oneflow_lite.graph.jit.donating import with_donated


def step(x: Any, w: Any, rate: float = 0.5) -> Any:
    return w - rate * x


def test_it_is_one_object_with_two_names() -> None:
    assert flow.jit is flow.graph.jit

    @flow.jit(max_programs=2)
    def f(x: Any) -> Any:
        return x + 1

    assert f(flow.ones(1)).item() == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"static": "m"}, ValueError, r"static: step has no argument 'm'; .*: x, w, rate"),
        ({"static": 3}, ValueError, "static: step has no argument 3"),
        ({"donate": -1}, ValueError, "donate: step has no argument -1"),
        ({"static": [1.5]}, TypeError, "static: expected names and positions of arg.*, got 1.5"),
        ({"static": True}, TypeError, "static: expected names .*, got True"),
        ({"on_break": "stop"}, ValueError, "on_break: expected 'raise' or 'eager', got 'stop'"),
        ({"check": -1}, ValueError, "check: expected at least 0, got -1"),
        ({"check": 1.0}, TypeError, "check: expected an integer, got 1.0"),
        ({"freeze": "no"}, TypeError, r"\[jit\] freeze: expected True or False, got 'no'"),
        ({"addto": "no"}, TypeError, r"\[jit\] addto: expected True or False, got 'no'"),
        ({"max_programs": 0}, ValueError, "max_programs: expected at least 1, got 0"),
    ],
)
def test_wrong_options(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        flow.jit(step, **options)


def test_wrong_options_of_other_ways_to_run() -> None:
    program = flow.graph.trace(step, flow.ones(1), flow.ones(1)).program
    with pytest.raises(TypeError, match=r"\[compile\] addto: expected True or False, got 'no'"):
        flow.graph.compile(program, addto="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[Executor\] addto: expected True or False, got 1"):
        flow.graph.Executor(addto=1)  # type: ignore[arg-type]


def test_jit_of_a_jitted_function_has_options_of_its_own() -> None:
    def power(x: Any, k: int) -> Any:
        return x**k if type(k) is int else x

    power.note = "of the user's"  # type: ignore[attr-defined]
    inner = flow.jit(power, max_programs=5)
    outer = flow.jit(inner, static="k", max_programs=3)
    assert [outer(flow.full(1, 2.0), k).item() for k in (2, 3)] == [4, 8]
    assert outer.report()["traces"] == 2
    assert inner.report()["traces"] == 0
    assert outer.note == inner.note == "of the user's"  # type: ignore[attr-defined]
    inner.clear()
    assert len(outer.report()["runs"]) == 2


def test_attributes_of_an_object_do_not_hide_what_its_wrapper_has() -> None:
    class Model:
        def __init__(self) -> None:
            self.report, self._most, self.size = "done", 0, 7

        def __call__(self, x: Any) -> Any:
            return x + self.size

    run = flow.jit(Model())
    assert run(flow.ones(1)).item() == 8
    assert run.report()["traces"] == 1
    assert run.size == 7  # type: ignore[attr-defined]


def test_static_arguments_are_passed_as_they_are() -> None:
    seen: list[Any] = []

    @flow.jit(static=("shape", 2))
    def f(x: Any, shape: Any, how: Any = 1, *rest: Any) -> Any:
        seen.append((shape, how))
        return flow.broadcast_to(x, shape) * how

    assert f(flow.ones(1), (2, 3), 0.5).tolist() == [[0.5] * 3] * 2
    assert f(flow.ones(1), (2, 3), 0.5).tolist() == [[0.5] * 3] * 2
    assert f(flow.ones(1), shape=(2, 3), how=0.5).tolist() == [[0.5] * 3] * 2
    assert f(flow.ones(1), (1,), 0.25).tolist() == [0.25]
    assert seen == [((2, 3), 0.5), ((2, 3), 0.5), ((1,), 0.25)]
    with pytest.raises(TypeError, match=r"\[jit\] f: how is a Tensor, which is not hashable; a st"):
        f(flow.ones(1), (1,), flow.ones(1))
    with pytest.raises(TypeError, match=r"\[jit\] f: shape\[0\] is a ndarray, which is not"):
        f(flow.ones(1), [np.ones(1)])
    assert f(flow.ones(1), (1,), 0.25).tolist() == [0.25]


def test_static_arguments_of_methods() -> None:
    class Model:
        @flow.jit(static=1)
        def scaled(self, n: float, x: Any) -> Any:
            return x * (2 if n > 1 else 3)

    model = Model()
    assert model.scaled(1.5, flow.ones(1)).item() == 2
    assert model.scaled(0.5, flow.ones(1)).item() == 3
    assert model.scaled.report()["static"] == {}


def test_what_cannot_be_recorded_runs_eagerly() -> None:
    @flow.jit(on_break="eager")
    def f(x: Any, how: str) -> Any:
        if how == "look" and x.sum().item() > 2:
            return -x
        return x + 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (3, 1, 3):
            assert f(flow.ones(n), "look").tolist() == ([-1] * 3 if n == 3 else [2])
        assert f(flow.ones(3), "add").tolist() == [2] * 3
    (warning,) = caught
    assert warning.filename == __file__
    assert "[jit] f runs eagerly for some arguments: [item] needs the" in str(warning.message)
    report = f.report()
    assert (report["traces"], len(report["runs"]), len(report["eager"])) == (1, 1, 2)
    assert "eager: [item]" in str(report)
    with pytest.raises(TraceError, match="f runs eagerly for these arguments"):
        f.program(flow.ones(3), "look")


def test_checked_calls_write_once() -> None:
    w = flow.ones(4)
    calls = []

    @flow.jit(check=2)
    def f(x: Any, rate: float) -> Any:
        calls.append(1)
        x[1:] *= 2
        w.__isub__(rate * x)
        return {"sum": w.sum(), "same": x}

    x = flow.ones(4)
    plain_x, plain_w = flow.ones(4), flow.ones(4)
    for rate in (0.5, 0.25, 0.125):
        result = f(x, rate)
        plain_x[1:] *= 2
        plain_w -= rate * plain_x
        assert (x.tolist(), w.tolist()) == (plain_x.tolist(), plain_w.tolist())
        assert result["sum"].item() == plain_w.sum().item()
        result["same"][0] += 1
        plain_x[0] += 1
        assert x.tolist() == plain_x.tolist()
    assert len(calls) == 3  # the trace and two checks


def test_a_check_finds_what_differs() -> None:
    state = {"scale": 2}

    @flow.jit(check=3)
    def f(x: Any, a: Any) -> Any:
        a += state["scale"]
        return {"y": [x * state["scale"]]}

    f(flow.ones(3), flow.ones(2))
    state["scale"] = 3
    with pytest.raises(
        RuntimeError,
        match=r"\[jit\] f: result\['y'\]\[0\] differs in 3 of 3 elements, first at \(0,\)",
    ):
        f(flow.ones(3), flow.ones(2))
    f.clear()
    g = flow.jit(lambda a: a.__iadd__(state["scale"]) is None, check=9)
    g(flow.ones(2))
    state["scale"] = 1
    a = flow.ones(2)
    with pytest.raises(RuntimeError, match="<lambda>: a differs in 2 of 2"):
        g(a)
    assert a.tolist() == [4, 4]  # the program's
    kinds = flow.jit(lambda x: x.astype("int32" if state["scale"] > 4 else "int64"), check=9)
    kinds(flow.ones(2))
    state["scale"] = 5
    with pytest.raises(RuntimeError, match=r"result is int64\(2,\) on cpu, eagerly int32\(2,\)"):
        kinds(flow.ones(2))


def test_checked_calls_compare_bits() -> None:
    value = [np.float64("nan")]
    f = flow.jit(lambda x: (x * 0 + flow.tensor(value[0]), 1), check=9)
    f(flow.ones(2))
    f(flow.ones(2))
    value[0] = -value[0]
    with pytest.raises(RuntimeError, match=r"result\[0\] differs in 2 of 2"):
        f(flow.ones(2))


def test_frozen_captures() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = flow.ones((2, 3)).T

        def __call__(self, x: Any) -> Any:
            return x + self.w

    model = Model()
    f = flow.jit(model.__call__, freeze=True)
    assert f(flow.ones(2)).tolist() == [[2, 2]] * 3
    model.w[:] = 7
    assert f(flow.ones(2)).tolist() == [[2, 2]] * 3
    model.w = flow.zeros((3, 2))
    assert f(flow.ones(2)).tolist() == [[2, 2]] * 3
    assert f.report()["traces"] == 1
    w = flow.ones(2)
    with pytest.raises(TraceError, match=r"\[jit\] <lambda> writes to a captured tensor"):
        flow.jit(lambda x: w.__iadd__(x) is None, freeze=True)(flow.ones(2))
    assert w.tolist() == [1, 1]


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("size", [4, 100_000])
def test_donated_arguments(device: str, size: int) -> None:
    f = flow.jit(step, donate=("w",))
    w = flow.full(size, 4.0, device=device)
    x = flow.ones(size, device=device)
    for k in range(3):
        given = w
        w = f(x, given, 0.5)
        with pytest.raises(TraceError, match=rf"this tensor was donated to a call at {__file__}:"):
            given.numpy()
        with pytest.raises(TraceError, match="donated"):
            (given + 1).numpy()
        assert (w.numpy() == 4 - 0.5 * (k + 1)).all()
    assert x.numpy().sum() == size


def test_a_result_is_computed_in_a_donated_argument() -> None:
    traced = flow.graph.trace(lambda x, w: (flow.exp(x), w * 2 + x), flow.ones(9), flow.ones(9))
    program = with_donated(traced.program, (1,))
    assert [op.targets for op in program.main.ops][:2] == [(), ()]
    assert program.main.ops[2].targets == (program.main.params[1],)
    program.verify()
    run = flow.graph.compile(program)
    x, w = flow.ones(9), flow.ones(9)
    first, second = run(x, w)
    assert second.tolist() == w.tolist() == [3] * 9
    assert first.numpy()[0] == np.exp(1.0)
    read_later = flow.graph.trace(lambda w: (w + 1, w * 2), flow.ones(9)).program
    assert with_donated(read_later, (0,)).main.ops[1].targets == read_later.main.params
    kept = flow.graph.trace(lambda w: (w + 1, w), flow.ones(9)).program
    assert with_donated(kept, (0,)) == kept


def test_a_donated_argument_that_is_read_only() -> None:
    held = np.ones(3)
    held.flags.writeable = False
    f = flow.jit(lambda w, x: w * 2 - x, donate="w")
    for size in (3, 3, 3):
        w = flow.from_dlpack(held)
        assert f(w, flow.ones(size)).tolist() == [1, 1, 1]
        assert f(flow.ones(3), flow.ones(size)).tolist() == [1, 1, 1]
        with pytest.raises(TraceError, match="donated"):
            w.numpy()
    assert held.tolist() == [1, 1, 1]


def test_others_keep_the_memory_of_a_donated_argument() -> None:
    f = flow.jit(lambda x, w: w * 2 + x, donate=1)
    w = flow.ones(1000)
    view = w[:10]
    assert f(flow.ones(1000), w).tolist() == [3] * 1000
    assert view.tolist() == [1] * 10


def test_donated_twice_or_overlapping() -> None:
    f = flow.jit(step, donate=("w", "x"))
    w = flow.ones(4)
    with pytest.raises(ValueError, match=r"\[jit\] step: x is donated, and w is the same tensor"):
        f(w, w)
    whole = flow.ones(8)
    with pytest.raises(ValueError, match="x is donated, and w has memory in common with it"):
        f(whole[:4], whole[2:6])
    assert whole.tolist() == [1] * 8
    assert f(flow.ones(4), w).tolist() == [0.5] * 4
    with pytest.raises(TraceError, match="donated"):
        f(flow.ones(4), w).numpy()
    assert f(flow.ones(4), flow.ones(4)).tolist() == [0.5] * 4


class Slotted:
    __slots__ = ("w",)

    def __init__(self, value: float) -> None:
        self.w = flow.full(2, value)

    @flow.jit
    def step(self, x: Any) -> Any:
        self.w += x
        return self.w * 2


class Plain:
    def __init__(self, value: float) -> None:
        self.w = flow.full(2, value)

    @flow.jit
    def step(self, x: Any) -> Any:
        self.w += x
        return self.w * 2


def test_objects_without_a_dict() -> None:
    one, other = Slotted(1.0), Slotted(10.0)
    assert one.step(flow.ones(2)).tolist() == [4, 4]
    assert other.step(flow.ones(2)).tolist() == [22, 22]
    assert one.step(flow.ones(2)).tolist() == [6, 6]
    assert one.step.report()["traces"] == 1
    many = [Slotted(float(k)) for k in range(100)]
    assert [x.step(flow.ones(2)).tolist()[0] for x in many] == [2 * (k + 1) for k in range(100)]


def test_copies_of_objects_have_methods_of_their_own() -> None:
    model = Plain(1.0)
    assert model.step(flow.ones(2)).tolist() == [4, 4]
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.w = flow.full(2, 10.0)
        assert other.step(flow.ones(2)).tolist() == [22, 22]
    assert model.w.tolist() == [2, 2]
    model.step = lambda x: 5
    assert model.step(1) == 5


def test_recursion_without_an_end() -> None:
    @flow.jit
    def f(x: Any) -> Any:
        return f(x + 1)

    with pytest.raises(RecursionError, match=r"\[jit\] f calls itself without an end, or deeper"):
        f(flow.ones(2))

    @flow.jit
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else x * power(x, n - 1)

    assert power(flow.full(2, 3.0), 4).tolist() == [243, 243]


def test_programs_and_reports() -> None:
    f = flow.jit(step)
    program = f.program(flow.ones(3), flow.ones(3), 0.5)
    assert [op.name for op in program.main.ops] == ["multiply", "subtract"]
    assert f.report()["traces"] == 1
    f(flow.ones(3), flow.ones(3), 0.75)
    assert f.program(flow.ones(3), flow.ones(3), 0.5) is program
    f(flow.ones(3), np.ones(3), 0.75)
    f(flow.ones(4), np.ones(4), 0.75)
    f(flow.ones(4, dtype="float32"), np.ones(4), 0.75)
    f(flow.ones(8)[::2], np.ones(4), 0.75)
    reasons = [reason.partition(" (")[0] for reason in f.explain()]
    assert reasons[0] == "it is the first call"
    assert reasons[2:] == [
        "x.shape[0] 3 -> 4",
        "x.dtype float64 -> float32",
        "x.strides[0] 8 -> 16",
    ]
    text = str(f.report())
    assert text.startswith("step: 5 traces, 5 programs kept\n  traced: it is the first call\n")
    assert f"  traced: x.shape[0] 3 -> 4 ({__file__}:" in text
    assert "); 2 shapes so far\n" in text
    assert dict(f.report())["reasons"] == f.explain()
    f.clear()
    assert f.report()["programs"] == 0


def test_masks_of_numpy_in_a_trace() -> None:
    mask = np.array([True, False, True])
    rows = np.array([[True, False], [True, True]])

    def f(x: Any, y: Any) -> Any:
        y[rows] = 5.0
        y[rows,] += 1
        return x[mask], x[mask, ...] * 2, y[rows]

    run = flow.jit(f)
    x, y = flow.arange(3.0), flow.zeros((2, 2))
    for _ in range(2):
        got = [part.tolist() for part in run(x, y)]
        assert got == [[0, 2], [0, 4], [6, 6, 6]]
    assert run.report()["traces"] == 1


def test_the_first_eager_call_runs_the_body_twice() -> None:
    log: list[int] = []

    def f(x: Any) -> Any:
        log.append(1)
        return x if x.sum() > 0 else -x

    run = flow.jit(f, on_break="eager")
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        run(flow.ones(1))
    assert len(log) == 2
    run(flow.ones(1))
    assert len(log) == 3


def test_flags_are_those_around_the_call() -> None:
    def f(x: Any) -> Any:
        with flow.flags(check_nan_inf=True):
            return flow.log(x)

    run, x = flow.jit(f), flow.zeros(3)
    assert run(x).tolist() == [float("-inf")] * 3
    with flow.flags(check_nan_inf=True), pytest.raises(FloatingPointError):
        run(x).numpy()


def test_iterators_are_used_up_eagerly(tmp_path: Path) -> None:
    run = flow.jit(lambda x, given: x + sum(given), on_break="eager")
    given = iter([1, 2])
    with pytest.warns(RuntimeWarning, match="is a list_iterator, which a call uses up"):
        assert run(flow.zeros(1), given).item() == 3
    assert run(flow.zeros(1), given).item() == 0
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        assert flow.jit(lambda x, log: x + log.closed)(flow.zeros(1), log).item() == 0
