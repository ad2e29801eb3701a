"""Numbers that are fed: eager's bits without a new program, and errors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, TraceError

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(4, 3)
RATES = (0.5, 0.1, -3.0, 0.0, 1e30)


def built(function: Callable[..., Any], kind: type = float) -> tuple[Program, Any]:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", ("rows", 3), "float32")
        y = function(x, flow.graph.number("rate", kind))
    return main, y


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "an operand": lambda x, r: (x * r, r - x, x / (2 + r * r)),
    "computed": lambda x, r: x * (1 - abs(r)) ** 2 + -r / 3,
    "of other dtypes": lambda x, r: (x.astype("float64") * r, (x > 0) * r),
    "in place": lambda x, r: (x * 1).__iadd__(r),
    "written": lambda x, r: written(x * 1, r),
    "beside an extent": lambda x, r: x * r / x.shape[0],
}


def written(y: Any, r: Any) -> Any:
    y[1:] = r
    return flow.where(y > r, y, r)


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_they_have_eagers_bits(name: str, device: str) -> None:
    function = ARITHMETIC[name]
    main, y = built(function)
    exe = Executor(device)
    for rate in RATES:
        expected = function(flow.tensor(X, device=device), rate)
        found = exe.run(main, {"x": X, "rate": rate}, y)
        several = isinstance(y, tuple)
        for one, other in zip(
            expected if several else [expected], found if several else [found], strict=True
        ):
            assert (one.dtype, one.device) == (other.dtype, other.device)
            assert one.numpy().tobytes() == other.numpy().tobytes()
    assert exe.report()["compiled"] == 1


def test_numbers_of_all_kinds() -> None:
    main, y = built(lambda x, r: x.sum() * r)
    compiled = flow.graph.compile(main, {"x": (4, 3)}, y)
    for rate in (2, 2.0, np.float32(2), np.int8(2)):
        assert compiled({"x": X, "rate": rate}).item() == X.sum() * np.float32(2)
    main, y = built(lambda x, r: x * r, complex)
    for factor in (1j, 2.0, np.complex64(3j)):
        wanted = flow.tensor(X) * complex(factor)
        assert Executor().run(main, {"x": X, "rate": factor}, y).tolist() == wanted.tolist()


def test_training_with_a_rate() -> None:
    main, startup, scope = Program("main"), Program("startup"), Scope()
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None, 3), "float32")
        w = flow.graph.parameter("w", 3, init=1.0, dtype="float32")
        w -= flow.graph.number("rate") * 2 * x.sum(axis=0)
    assert "%s0: float = parameter rate" in str(main)
    assert "%s1: float = mul(%s0, 2)" in str(main)
    assert str(Program.parse(str(main))) == str(main)
    exe, eager = Executor(), flow.ones(3, dtype="float32")
    exe.run(startup, scope=scope)
    for rate in RATES[:3]:
        exe.run(main, {"x": X, "rate": rate}, scope=scope)
        eager -= rate * 2 * flow.tensor(X).sum(axis=0)
    assert scope["w"].tolist() == eager.tolist()


def test_one_that_is_not_needed_may_be_missing() -> None:
    main, (y, z) = built(lambda x, r: (x + 1, x * (r + 1)))
    exe = Executor()
    assert exe.run(main, {"x": X}, [y])[0].shape == (4, 3)
    with pytest.raises(ValueError, match=r"\[main\] the feed rate \(.*fed_numbers.py:\d+\) is nee"):
        exe.run(main, {"x": X}, [z])
    with pytest.raises(ValueError, match=r"\[main\] has no feed 'rat'.*rate"):
        exe.run(main, {"x": X, "rat": 1.0}, [z])
    assert exe.run(main, {"x": X, "rate": 1}, [z])[0].tolist() == (X * 2).tolist()


@pytest.mark.parametrize("given", ["a", None, True, [1.0], np.ones(1), 1j, flow.ones(())])
def test_what_is_no_number(given: Any) -> None:
    main, y = built(lambda x, r: x * r)
    exe = Executor()
    with pytest.raises(TypeError, match=r"\[main\] feed rate \(.*py:\d+\): expected a float, got"):
        exe.run(main, {"x": X, "rate": given}, y)
    assert exe.run(main, {"x": X, "rate": 1.0}, y).tolist() == X.tolist()


LOOKS: dict[str, Callable[[Any, Any], Any]] = {
    "a decision": lambda x, r: x if r > 0 else -x,
    "a function of Python": lambda x, r: x * math.sqrt(r),
    "an exponent": lambda x, r: x**r,
    "a text": lambda x, r: f"{r}",
    "a range": lambda x, r: flow.arange(r),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_needs_the_value_is_refused_with_its_line(name: str) -> None:
    line = LOOKS[name].__code__.co_firstlineno
    with pytest.raises(TraceError, match=rf"needs the value of rate \(.*py:{line}\), which"):
        built(LOOKS[name])
    assert not flow._C.is_recording()


def test_where_they_mean_nothing() -> None:
    kept: list[Any] = []
    built(lambda x, r: kept.append(r))
    with pytest.raises(TraceError, match=r"\[main\] the number rate .* used outside"):
        flow.ones(2) * kept[0]
    with flow.graph.building(Program("main"), Program("startup")):
        rate = flow.graph.number("rate")
        with pytest.raises(TraceError, match="the number rate"):
            flow.graph.parameter("w", 2, init=lambda shape: flow.ones(shape) * rate)
        with pytest.raises(ValueError, match=r"\[data\] main has the name rate already"):
            flow.graph.data("rate", 2)
        with pytest.raises(TypeError, match=r"\[number\] n: expected float or complex as kind"):
            flow.graph.number("n", int)
    with pytest.raises(TraceError, match=r"\[number\] is for blocks"):
        flow.graph.number("rate")


def test_a_number_that_becomes_complex() -> None:
    main, y = built(lambda x, r: x * (r + 1) ** 0.5)
    exe = Executor()
    with pytest.raises(TypeError, match=r"\[main\] a number became complex, recorded as float"):
        exe.run(main, {"x": X, "rate": -3.0}, y)
    assert exe.run(main, {"x": X, "rate": 3.0}, y).tolist() == (X * np.float32(2)).tolist()
