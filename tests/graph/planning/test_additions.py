"""Option addto: products add into accumulators, where nobody sees it but in the last bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.support.machine import here

MODES = ("inline", "serial", "parallel", "sequential", "naive")
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def given(*shapes: tuple[int, ...], dtype: str = "float64", device: str = "cpu") -> list[Any]:
    """Small integers: their products and sums are exact in any order."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
    return [flow.tensor(array, device=device).astype(dtype) for array in arrays]


def compiled(function: Callable[..., Any], arguments: list[Any], **options: Any) -> Executable:
    program = flow.graph.trace(function, *(x.copy() for x in arguments)).program
    run = flow.graph.compile(program, addto=True, **options)
    run.fill_arena(0xA5)
    return run


def check(function: Callable[..., Any], arguments: list[Any], run: Executable) -> None:
    """Results, and what is written to arguments, are eager's."""
    for _ in range(2):
        mine, others = ([x.copy() for x in arguments] for _ in range(2))
        expected, results = function(*mine), run(*others)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for x, y in zip([*expected, *mine], [*results, *others], strict=True):
            assert x.numpy().tobytes() == y.numpy().tobytes()


def judged(run: Executable) -> list[bool]:
    return [each["is_added"] for each in run.report()["additions"]]


FIRST = here() + 4


def layer(x: Any, w: Any) -> Any:
    acc = x * 2
    total = acc + x @ w
    return total


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", MODES)
def test_a_product_adds_into_what_is_there(mode: str, device: str) -> None:
    if (mode, device) == ("inline", "mock:0"):
        mode = "auto"
    arguments = given((20, 20), (20, 20), device=device)
    run = compiled(layer, arguments, mode=mode)
    report = run.report()
    assert report["steps"] == 2
    assert report["addto"]
    (note,) = report["additions"]
    assert (note["is_added"], note["site"]) == (True, (__file__, FIRST + 1))
    assert [each["step"] for each in report["memory"]["operations"]] == ["multiply", "matmul"]
    assert report["memory"]["operations"][1]["place"] == "in place"
    assert "products that add into accumulators: 1 of 1" in str(report)
    check(layer, arguments, run)


def test_it_is_off_by_default() -> None:
    arguments = given((20, 20), (20, 20))
    run = flow.graph.compile(flow.graph.trace(layer, *arguments).program)
    report = run.report()
    assert (report["steps"], report["addto"], report["additions"]) == (3, False, [])
    assert "accumulators" not in str(report)


def in_place(x: Any, w: Any) -> Any:
    acc = x * 2
    acc += x @ w
    acc += w @ x
    return acc


def chain(x: Any, w: Any) -> Any:
    return x @ x + x @ w + w @ x + w @ w


def behind(x: Any, w: Any) -> Any:
    acc = x * 2
    return x @ w + acc, flow.sum(x)


def in_a_group(x: Any, w: Any) -> Any:
    acc = flow.sin(x * 0) + 1
    return flow.abs(acc + x @ w) * 2 + 1


def turned(x: Any, w: Any) -> Any:
    return (x * 2).T + (x @ w).T


ADDED: dict[str, tuple[Callable[..., Any], int]] = {
    "in place": (in_place, 2),
    "a chain": (chain, 3),
    "the product stands first": (behind, 1),
    "in a group": (in_a_group, 1),
    "transposed": (turned, 1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ADDED)
def test_sums_that_go(case: str, mode: str) -> None:
    function, count = ADDED[case]
    arguments = given((40, 40), (40, 40))
    run = compiled(function, arguments, mode=mode)
    assert judged(run) == [True] * count
    check(function, arguments, run)


def read_since(x: Any, w: Any) -> Any:
    acc = x * 2
    part = acc @ w
    return acc + part


def used_later(x: Any, w: Any) -> Any:
    acc = x * 2
    return (acc + x @ w) * acc


def made_later(x: Any, w: Any) -> Any:
    part = x @ w
    return part + x * 2


def part_is_result(x: Any, w: Any) -> Any:
    part = x @ w
    return x * 2 + part, part


def part_is_used(x: Any, w: Any) -> Any:
    acc, part = x * 2, x @ w
    return acc + part, flow.sum(part)


def broadcast(x: Any, w: Any) -> Any:
    row = x[0] * 2
    return row + x @ w


def handed_out(x: Any, w: Any) -> Any:
    acc = x * 2
    return acc + x @ w, acc


def of_an_argument(x: Any, w: Any) -> Any:
    x += w @ w
    return x * 1


def a_part_of_one(x: Any, w: Any) -> Any:
    acc = flow.concat([x, x]) * 2
    return acc[:40] + x @ w


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "the product reads it": (read_since, "the old value is used when or after"),
    "it is used later": (used_later, "the memory is used after the operation"),
    "it is made later": (made_later, "the accumulator is made after the product"),
    "the product is a result": (part_is_result, "result that is handed out"),
    "the product is used": (part_is_used, "other uses"),
    "broadcast": (broadcast, "the operand is broadcast"),
    "it is a result": (handed_out, "result that is handed out"),
    "it is an argument": (of_an_argument, "has its memory already"),
    "a part of it": (a_part_of_one, "lie differently"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_sums_that_stay(case: str) -> None:
    function, reason = REFUSED[case]
    arguments = given((40, 40), (40, 40))
    run = compiled(function, arguments)
    (note,) = run.report()["additions"]
    assert not note["is_added"]
    assert reason in note["reason"]
    assert reason in str(run.report())
    check(function, arguments, run)


def test_elements_that_no_product_adds() -> None:
    arguments = [x.astype("int64") for x in given((5, 5), (5, 5))]
    run = compiled(layer, arguments)
    (note,) = run.report()["additions"]
    assert (note["is_added"], note["reason"]) == (False, "no product of these matrices adds")
    check(layer, arguments, run)


def summed(acc: Any, a: Any, b: Any) -> Any:
    return acc * 2 + a @ b


SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "one": ((1, 1), (1, 1), (1, 1)),
    "small": ((3, 5), (3, 4), (4, 5)),
    "a column": ((7, 1), (7, 9), (9, 1)),
    "a row": ((1, 7), (1, 9), (9, 7)),
    "a vector": ((7,), (7, 9), (9,)),
    "an inner product": ((), (100,), (100,)),
    "a batch": ((6, 3, 5), (6, 3, 4), (6, 4, 5)),
    "one factor for a batch": ((6, 3, 5), (6, 3, 4), (4, 5)),
    "large": ((300, 280), (300, 130), (130, 280)),
    "panels of several parts": ((520, 300), (520, 1100), (1100, 300)),
    "a long sum": ((2, 3), (2, 140_000), (140_000, 3)),
    "a large matrix and a vector": ((900,), (900, 1000), (1000,)),
    "nothing to sum": ((3, 4), (3, 0), (0, 4)),
    "empty": ((0, 4), (0, 3), (3, 4)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_and_elements(shape: str, dtype: str) -> None:
    arguments = given(*SHAPES[shape], dtype=dtype)
    if dtype in ("float16", "bfloat16"):  # few enough to be exact
        arguments = [(x > 2).astype(dtype) for x in arguments]
    for threads in (1, 3):
        with flow.flags(num_threads=threads, fusion="0"):
            run = compiled(summed, arguments)
            expected = shape not in ("nothing to sum", "empty", "an inner product")
            assert judged(run) in ([expected], [True])
            check(summed, arguments, run)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_factors_that_lie_otherwise(dtype: str) -> None:
    def strided(acc: Any, a: Any, b: Any) -> Any:
        return acc * 2 + a[::2, ::-1] @ b.T, (acc.T * 2).T + a.T[:60, :60] @ a[:60, :60]

    arguments = given((60, 60), (120, 60), (60, 60), dtype=dtype)
    run = compiled(strided, arguments)
    assert judged(run)[0]
    check(strided, arguments, run)


def test_a_symmetric_product_adds_to_what_is_not() -> None:
    def squared(acc: Any, a: Any) -> Any:
        return acc * 2 + a @ a.T

    arguments = given((500, 500), (500, 300))
    run = compiled(squared, arguments)
    assert judged(run) == [True]
    check(squared, arguments, run)


def test_the_arena_is_smaller() -> None:
    def sums(x: Any, w: Any) -> Any:
        total = x * 0
        for k in range(4):
            total = total + flow.sin(x + k) @ w  # products that differ
        return total

    arguments = given((300, 300), (300, 300))
    program = flow.graph.trace(sums, *arguments).program
    peaks = [
        flow.graph.compile(program, addto=addto).report()["memory"]["peak_bytes"]["cpu"]
        for addto in (False, True)
    ]
    assert peaks[0] - peaks[1] >= 300 * 300 * 8


def test_jit_takes_the_option() -> None:
    step = flow.jit(layer, addto=True)
    x, w = given((20, 20), (20, 20))
    for _ in range(3):
        assert step(x, w).tolist() == layer(x, w).tolist()
    with pytest.raises(ValueError, match=r"\[jit\] addto changes the last bits .* check"):
        flow.jit(layer, addto=True, check=2)


def test_an_executor_takes_the_option() -> None:
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None, 4))
        y = layer(x, x[:4])
    exe = flow.graph.Executor(addto=True)
    rows = np.arange(20.0).reshape(5, 4)
    (out,) = exe.run(main, feed={"x": rows}, fetch_list=[y])
    assert out.tolist() == (rows * 2 + rows @ rows[:4]).tolist()
    run = exe.compile(main, {"x": (5, 4)}, [y])
    assert judged(run.executable) == [True]


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", ["inline", "serial"])
def test_a_failure_is_that_of_the_sum(mode: str, device: str) -> None:
    def fails(a: Any, x: Any) -> Any:
        acc = flow.linalg.inv(a) * 2
        return acc + x @ x, x @ (x * 1)  # another product

    a, x = flow.zeros((3, 3), device=device), flow.ones((3, 3), device=device)
    run = flow.graph.compile(flow.graph.trace(fails, a, x).program, addto=True, mode=mode)
    assert judged(run) == [True]
    lost, sound = run(a, x)
    assert sound.tolist() == [[3, 3, 3]] * 3
    for look in (lost.numpy, flow.synchronize):
        with pytest.raises(np.linalg.LinAlgError):
            look()


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_checked_sums(device: str) -> None:
    x, w = flow.full((20, 20), 1e200, device=device), flow.full((20, 20), 1.0, device=device)
    bad = flow.full((20, 20), np.inf, device=device)
    traced = flow.graph.trace(summed, x, x.copy(), x.copy())
    run = flow.graph.compile(traced.program, addto=True, mode="serial")
    with flow.flags(check_nan_inf=True):
        with pytest.raises(FloatingPointError, match=r"\[matmul\] made 0 NaN and 400 inf"):
            run(x, x, x)[0].numpy()
        assert np.isinf(run(bad, w, w)[0].numpy()).all()  # nobody's fault
        with pytest.raises(FloatingPointError):
            flow.synchronize()
        assert run(w, w, w)[0].numpy()[0, 0] == 22
