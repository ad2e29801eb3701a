"""What runs before a group: small work that its members need, in programs by hand and jitted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable

SHAPE = (300, 200)
ROWS = SHAPE[0]


def given(device: str) -> tuple[flow.Tensor, flow.Tensor]:
    rng = np.random.default_rng(0)
    x, row = rng.uniform(1, 2, SHAPE), rng.uniform(1, 2, (ROWS, 1))
    return tuple(flow.tensor(a.astype("float32"), device=device) for a in (x, row))


def compiled(function: Callable[..., Any], *arguments: flow.Tensor, **options: Any) -> Executable:
    program = flow.graph.trace(function, *(x.copy() for x in arguments)).program
    return flow.graph.compile(program, **options)


def groups_of(run: Executable) -> list[list[str]]:
    return [each["steps"] for each in run.report()["groups"]]


def a_value_for_each_row(x: Any, row: Any) -> Any:
    wide = x * x
    return wide + x * (row / 3 - 1)


def two_that_need_each_other(x: Any, row: Any) -> Any:
    wide = x * x
    one = row / 3
    two = flow.sqrt(one) + one
    return wide - x * two + one


def as_large_as_the_group(x: Any, row: Any) -> Any:
    wide = x * x
    turned = x[::-1] @ x.T  # (300, 300): no loop, and not small
    return wide + turned[:, :200]


def of_a_member(x: Any, row: Any) -> Any:
    wide = x * x
    sums = flow.sum(wide, axis=0)  # of all rows: ready when the group has ended
    return wide - flow.sqrt(sums)


def over_what_is_read(x: Any, row: Any) -> Any:
    wide = x * row
    row += 1  # must stay behind the member that reads it
    return wide + x * row


FUNCTIONS = {
    a_value_for_each_row: [["multiply", "multiply", "add"]],
    two_that_need_each_other: [["multiply", "multiply", "subtract", "add"]],
    as_large_as_the_group: None,
    of_a_member: None,
    over_what_is_read: None,
}


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", ["serial", "parallel", "sequential", "naive"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_small_work_comes_before_the_group_that_needs_it(
    function: Callable[..., Any], mode: str, device: str
) -> None:
    with flow.flags(fusion="always"):
        x, row = given(device)
        wanted = function(x, row)
        run = compiled(function, *given(device), mode=mode)
        again = given(device)
        (result,) = run(*again)
        assert result.numpy().tobytes() == wanted.numpy().tobytes()
        for seen, eager in zip(again, (x, row), strict=True):
            assert seen.numpy().tobytes() == eager.numpy().tobytes()
        if FUNCTIONS[function] is not None and device == "cpu" and mode != "naive":
            assert groups_of(run) == FUNCTIONS[function]


def test_what_is_saved() -> None:
    """Neither product is in memory, as the group needs no second one for it."""
    with flow.flags(fusion="always"):
        run = compiled(a_value_for_each_row, *given("cpu"))
        (group,) = run.report()["groups"]
        assert group["saved_bytes"] == 2 * 4 * SHAPE[0] * SHAPE[1]


def test_what_comes_before_may_be_a_result() -> None:
    def function(x: flow.Tensor, row: flow.Tensor) -> tuple[flow.Tensor, ...]:
        wide = x * x
        one = row / 3
        return wide + x * (one - 1), one, flow.sum(flow.exp(one))

    with flow.flags(fusion="always"):
        wanted = [each.numpy().tobytes() for each in function(*given("cpu"))]
        jitted = flow.jit(function)
        for _ in range(3):
            assert [each.numpy().tobytes() for each in jitted(*given("cpu"))] == wanted


def test_a_failure_before_the_group_is_that_of_its_results() -> None:
    def function(x: flow.Tensor, row: flow.Tensor, w: flow.Tensor) -> flow.Tensor:
        wide = x * x
        return wide + x * (w[row.astype("int64")[:, 0]][:, None] - 1)

    x, row = given("cpu")
    jitted = flow.jit(function)
    good, bad = flow.arange(5.0, dtype="float32"), flow.arange(1.0, dtype="float32")
    wanted = function(x, row, good).numpy().tobytes()
    for _ in range(3):
        assert jitted(x, row, good).numpy().tobytes() == wanted
        with pytest.raises(IndexError, match="out of bounds"):
            jitted(x, row, bad).numpy()
