"""Floats and complex numbers as arguments: given to a program at each call, with eager's bits,
errors and warnings; and when one becomes a part of the program after all."""

import math
import operator
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, plain_run
from oneflow_lite.graph.arguments.slots import Slots

NUMBERS = [0.5, 0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e6, -3.25, 1e300, 5e-324]
DTYPES = ["float16", "float32", "float64", "bfloat16", "complex64", "int32", "bool"]

# What a number may be an operand of: each takes a tensor and the number.
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, s: x + s,
    "from the left": lambda x, s: s - x,
    "divide": lambda x, s: x / s,
    "function": lambda x, s: flow.maximum(x, s),
    "numpy": lambda x, s: np.multiply(x, s),
    "numpy from the left": lambda x, s: np.multiply(s, x),
    "compare": lambda x, s: x < s,
    "compare from the left": lambda x, s: s == x,
    "base of a power": lambda x, s: s**x,
    "where": lambda x, s: flow.where(x < 1, x, s),
    "clip": lambda x, s: flow.clip(x, s, 2.0),
    "full": lambda x, s: flow.full((2, 3), s) + x,
    "full of a dtype": lambda x, s: flow.full(3, s, dtype="float32") + x,
    "full_like": lambda x, s: flow.full_like(x, s, dtype="float64"),
    "tensor": lambda x, s: flow.tensor(s) * x,
    "asarray": lambda x, s: flow.asarray(s, dtype="float64") + x,
    "function of the number": lambda x, s: flow.exp(s) + x,
    "two numbers": lambda x, s: flow.add(s, s * 2) + x,
    "arithmetic": lambda x, s: x * ((s + 1) * 2 - s / 4) + (-s),
    "abs and divmod": lambda x, s: x * abs(s) + sum(divmod(s, 0.75)),
    "alike": lambda x, s: x * (s + 1) + (s + 2) - (1 + s),
    "integer power": lambda x, s: x * s**3,
}


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """Return bits, warnings and errors of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = function(*args)
            result = (result.dtype, result.shape, result.numpy().tobytes())
        except Exception as error:
            result = (type(error), str(error))
    return result, {(w.category, str(w.message)) for w in caught}


def x_of(dtype: str) -> Any:
    return flow.tensor([[0, 1, 2], [3, 1, 0]]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers_have_eagers_bits_and_one_trace(name: str, dtype: str) -> None:
    f = OPERATIONS[name]
    run = flow.jit(f)
    failed = 0
    for number in NUMBERS:
        x = x_of(dtype)
        expected = outcome(f, x, number)
        failed += isinstance(expected[0][0], type)
        assert outcome(run, x, number) == expected, number
    if not failed:
        assert run.report()["traces"] == 1, run.report()


@pytest.mark.parametrize("kind", ["inline", "issued", "mock"])
def test_numbers_are_patched_in_each_way_to_run(kind: str) -> None:
    device = "mock:0" if kind == "mock" else "cpu"
    size = 300_000 if kind == "issued" else 8
    f = lambda x, s, t: flow.where(x > 2, flow.exp(x * s) + t, s) * (s - t)  # noqa: E731
    run = flow.jit(f)
    x = flow.arange(float(size), device=device) / size
    for s, t in [(0.5, 1.0), (-1.5, 0.0), (1e-3, 7.0)]:
        assert outcome(run, x, s, t) == outcome(f, x, s, t)
    assert run.report()["traces"] == 1
    assert run.report()["runs"][0]["inline_runs" if kind == "inline" else "issued_runs"] == 3


def test_writes_of_numbers() -> None:
    def f(x: Any, s: float) -> Any:
        x[0] = s
        x[1, 1] = s * 2
        x[x > 1.5] = s - 1
        x[flow.tensor([2]), 0] = s
        x[3].fill(s)
        x[4:] += s
        return x + 0

    run = flow.jit(f)
    for s in (0.5, 3.0, float("nan")):
        x, y = flow.ones((6, 3)), flow.ones((6, 3))
        assert outcome(run, x, s) == outcome(f, y, s)
        assert x.numpy().tobytes() == y.numpy().tobytes()
    assert run.report()["traces"] == 1


def test_complex_numbers() -> None:
    f = lambda x, z: x * (z + 1) + abs(z) * z**2  # noqa: E731
    run = flow.jit(f)
    for z in (1j, complex(-0.0, 2), complex(math.nan, 1)):
        assert outcome(run, flow.ones(3), z) == outcome(f, flow.ones(3), z)
        assert outcome(run, flow.ones(3, dtype="complex64"), z) == outcome(
            f, flow.ones(3, dtype="complex64"), z
        )
    assert run.report()["traces"] == 2
    assert flow.jit(lambda x, z: x + z)(flow.ones(2), 2.0).dtype == np.float64
    with pytest.raises(TypeError):
        flow.jit(lambda x, z: x.fill(z))(flow.ones(2), 2j)


@pytest.mark.parametrize(
    ("what", "use"),
    [
        ("bool", lambda x, s: x if s else -x),
        (">", lambda x, s: x if s > 1 else -x),
        ("==", lambda x, s: x if s == 1 else -x),
        ("int", lambda x, s: x[: int(s)]),
        ("hash", lambda x, s: x * {2.0: 3}.get(s, 4)),
        ("format", lambda x, s: x * len(f"{s:.3f}")),
        ("str", lambda x, s: x * len(str(s))),
        ("round", lambda x, s: x * round(s)),
        ("is_integer", lambda x, s: x * s.is_integer()),
        ("array", lambda x, s: x * np.asarray([s, 1.0, 2.0])),
        ("sqrt", lambda x, s: x * np.sqrt(s)),
        ("multiply", lambda x, s: x * (np.float64(2) * s)),
        ("float", lambda x, s: x**s),
        ("in", lambda x, s: x * (s in (1.0, 2.0))),
        ("keyword", lambda x, s: flow.sum(x, initial=s)),
        ("caught", lambda x, s: caught(x, s)),
        ("float", lambda x, s: x * math.sqrt(s)),
    ],
)
def test_a_number_whose_value_is_needed_becomes_static(
    what: str, use: Callable[[Any, Any], Any]
) -> None:
    traces = []

    def f(x: Any, rate: float, other: float) -> Any:
        traces.append(type(rate))
        return use(x, rate) + other

    run = flow.jit(f)
    x = flow.tensor([1.0, 2.0, 3.0])
    for rate in (2.0, 1.0, 2.0):
        for other in (0.5, 0.25):
            assert outcome(run, x, rate, other) == outcome(f, x, rate, other)
    assert run.report()["traces"] == 2
    assert list(run.report()["static"]) == ["rate"]
    assert what in ("in", "caught", "keyword") or f"{what} needs" in run.report()["static"]["rate"]
    assert f"({__file__}:" in run.report()["static"]["rate"]
    assert "static: rate: " in str(run.report())


def caught(x: Any, s: Any) -> Any:
    """Hide all exceptions of a look."""
    try:
        return x * float(s)
    except BaseException:
        return x


def test_a_number_whose_type_is_asked_for_becomes_static() -> None:
    def f(x: Any, s: Any) -> Any:
        if type(s) is not float:
            raise TypeError("expected a float")
        return x * s

    run = flow.jit(f)
    assert run(flow.ones(2), 2.0).tolist() == [2, 2]
    assert run(flow.ones(2), 3.0).tolist() == [3, 3]
    assert "TypeError without its value: expected a float" in run.report()["static"]["s"]
    assert isinstance(Slots("f", {}).given(1.0, "s"), float)
    with pytest.raises(TypeError, match="unsupported operand"):
        flow.jit(lambda x, s: x + (s + "a"))(flow.ones(2), 1.0)


def test_arithmetic_raises_what_python_raises() -> None:
    f = lambda x, s: x * (1 / s) + s % 2  # noqa: E731
    run = flow.jit(f)
    x = flow.ones(2)
    assert run(x, 2.0).tolist() == [0.5, 0.5]
    for _ in range(2):
        assert outcome(run, x, 0.0) == outcome(f, x, 0.0)
    assert outcome(run, x, 4.0) == outcome(f, x, 4.0)
    assert run.report()["traces"] == 1
    with pytest.raises(OverflowError):
        flow.jit(lambda x, s: x * s**400)(x, 1e300)
    first = flow.jit(f)
    with pytest.raises(ZeroDivisionError):
        first(x, 0.0)
    assert first(x, 2.0).tolist() == [0.5, 0.5]


def test_a_power_that_becomes_complex() -> None:
    f = lambda x, base, exponent: x * base**exponent  # noqa: E731
    run = flow.jit(f)
    x = flow.ones(2)
    for base, exponent in [(2.0, 0.5), (3.0, 2.0), (-2.0, 0.5), (2.0, 0.5)]:
        assert outcome(run, x, base, exponent) == outcome(f, x, base, exponent)
    assert "became complex" in run.report()["static"]["base"]


def test_numbers_come_back_as_numbers() -> None:
    run = flow.jit(lambda x, s: {"x": x + s, "s": s, "half": [s * 0.5]})
    for s in (1.0, -0.0, 3.0):
        result = run(flow.ones(1), s)
        assert (repr(result["s"]), repr(result["half"])) == (repr(s), repr([s * 0.5]))
        assert type(result["s"]) is float
    assert run.report()["traces"] == 1


def test_a_number_that_is_kept_becomes_static() -> None:
    kept: list[Any] = []

    def f(x: Any, s: float) -> Any:
        kept.append(s * 2)
        return x * s

    run = flow.jit(f)
    assert run(flow.ones(1), 3.0).tolist() == [3]
    assert kept[-1] == 6.0
    assert type(kept[-1]) is float
    assert run.report()["static"] == {"s": "is kept after the function"}
    with pytest.raises(flow.graph.TraceError, match=r"\[f\] the number s of a recording is used"):
        kept[0] + 1
    with pytest.raises(flow.graph.TraceError, match="outside of it"):
        flow.ones(2) * kept[0]


def test_a_number_in_a_ring_of_references_is_not_kept() -> None:
    def f(x: Any, s: float) -> Any:
        def scaled(n: int) -> Any:
            return x if n == 0 else scaled(n - 1) * s

        return scaled(3)

    run = flow.jit(f)
    assert [run(flow.ones(1), s).item() for s in (2.0, 3.0)] == [8, 27]
    assert (run.report()["traces"], run.report()["static"]) == (1, {})


def test_numbers_in_containers_and_by_name() -> None:
    run = flow.jit(lambda x, options, *, scale: x * options["rates"][0] + scale)
    for rate, scale in [(0.5, 1.0), (0.25, 2.0)]:
        got = run(flow.ones(1), {"rates": [rate, 1.0]}, scale=scale)
        assert got.tolist() == [rate + scale]
    assert run.report()["traces"] == 1
    assert (
        str(run.program(flow.ones(1), {"rates": [1.0, 2.0]}, scale=3.0)).count("= parameter") == 4
    )


@pytest.mark.parametrize("value", [np.float64(2), np.float32(2), True, 2])
def test_other_numbers_are_static(value: Any) -> None:
    f = lambda x, s: x * s  # noqa: E731
    run = flow.jit(f)
    x = flow.ones(2, dtype="float32")
    for _ in range(2):
        assert outcome(run, x, value) == outcome(f, x, value)
    run(x, type(value)(0))
    assert run.report()["traces"] == 2


def program() -> Program:
    run = flow.jit(lambda x, s, z: (x * (1 - s) + flow.full(2, z, dtype="complex64"), x < s * 3))
    made: Program = run.program(flow.ones(2), 0.5, 1j)
    return made


def test_the_same_arithmetic_is_one_slot() -> None:
    run = flow.jit(lambda x, s: x * (s + 1) + (s + 1) * (1 + s))
    assert len(run.program(flow.ones(2), 0.5).main.slots) == 4


def test_text_with_numbers_is_read_back() -> None:
    one = program()
    text = str(one)
    assert "%s0: float = parameter" in text
    assert "%s1: complex = parameter" in text
    assert "%s2: float = sub(1, %s0)  # " in text
    assert "= multiply(%0, %s2)  # " in text
    again = Program.parse(text)
    assert (again, again.digest, str(again)) == (one, one.digest, text)
    again.verify()
    assert Program.parse(text.replace("sub(1", "sub(2")) != one
    run = flow.graph.compile(again)
    for s, z in [(0.5, 1j), (2.0, 3 + 1j)]:
        plain = plain_run.run(one.main, [flow.ones(2)], [s, z])
        for x, y in zip(run(flow.ones(2), s, z), plain, strict=True):
            assert x.numpy().tobytes() == y.numpy().tobytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sub(1, %s0)", "sub(1, %s7)", "line 5.*there is no number %s7"),
        ("%s1: complex", "%s4: complex", "line 4.*expected the next number"),
        ("%s1: complex = parameter", "%s1: int = parameter", "line 4.*expected the next number"),
        ("sub(1, %s0)", "round(%s0)", "computed from what is not there"),
        ("(1, %s0)", "(1, 2)", "computed from what is not there"),
    ],
)
def test_wrong_numbers_are_refused(old: str, new: str, message: str) -> None:
    text = str(program())
    assert old in text
    with pytest.raises(ValueError, match=message):
        Program.parse(text.replace(old, new)).verify()


def test_a_run_checks_its_numbers() -> None:
    run = flow.graph.compile(program())
    with pytest.raises(ValueError, match="expected 2 numbers behind the tensors, got 1 arg"):
        run(flow.ones(2))
    with pytest.raises(TypeError, match="number z: expected a complex, got float"):
        run(flow.ones(2), 0.5, 1.0)
    with pytest.raises(TypeError, match="number s: expected a float, got int"):
        run(flow.ones(2), 1, 1j)
    with pytest.raises(ValueError, match="expected 2 numbers, got 1"):
        plain_run.run(program().main, [flow.ones(2)], [0.5])
    with pytest.raises(TypeError, match="expected a float, got 1 of the caller"):
        plain_run.run(program().main, [flow.ones(2)], [1, 1j])


def test_threads_with_numbers_of_their_own() -> None:
    run = flow.jit(lambda x, s: flow.exp(x * s) + s)
    x = flow.arange(64.0)
    wrong = []

    def work(s: float) -> None:
        expected = (flow.exp(x * s) + s).numpy().tobytes()
        for _ in range(100):
            if run(x, s).numpy().tobytes() != expected:
                wrong.append(s)

    threads = [threading.Thread(target=work, args=(k / 10,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert run.report()["traces"] == 1


def test_the_operators_are_pythons() -> None:
    slots = Slots("f", {})
    one, other = slots.given(7.5, "a"), slots.given(2.0, "b")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        function = getattr(operator, name)
        for operands in [(one, other), (one, 3), (3, other), (True, one), (one, 2j)]:
            values = [{id(one): 7.5, id(other): 2.0}.get(id(x), x) for x in operands]
            try:
                expected = function(*values)
            except TypeError as error:
                with pytest.raises(TypeError, match=str(error).replace("(", r"\(")[:20]):
                    function(*operands)
                continue
            made = function(*operands)
            assert slots._values[made.number] == expected
            assert made.kind is type(expected)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numbers_are_weak_in_a_program(dtype: str) -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, s: flow.concat([x, s], axis=None),
        lambda x, s: flow.stack([x[0], s]),
        lambda x, s: flow.append(x, s),
        lambda x, s: flow.select([x > 1], [x], s),
        lambda x, s: flow.select([x > 1], [s], 2),
        lambda x, s: flow.choose(x > 1, [x, s]),
        lambda x, s: flow.isclose(x, s, rtol=0, atol=0),
    ]
    x = flow.tensor([2.1, 0.3], dtype=dtype)
    for call in calls:
        run = flow.jit(call)
        for number in (2.1, 0.3, 2.1):
            expected, seen = call(x, number), run(x, number)
            assert seen.dtype == expected.dtype
            assert seen.tolist() == expected.tolist()
