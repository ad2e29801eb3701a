"""Texts of programs that no trace writes: an error of verify() and of compile(), never a crash."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program

CHECKS = [Program.verify, flow.graph.compile]


def _program(*lines: str, result: int = 1) -> Program:
    return Program.parse("\n".join(["program f", *lines, f"return %{result}", ""]))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "lines",
    [
        ["%1: f64[3] cpu = tanh(2)"],
        ["%1: f64[] cpu = tanh(2.0)"],
        ["%0: f64[3] cpu = empty()", "%1: f64[3] cpu = add(0, 1) into %0"],
    ],
)
def test_an_operation_of_numbers_only(check: Callable[[Program], Any], lines: list[str]) -> None:
    with pytest.raises(ValueError, match="expected a tensor among the operands, got numbers"):
        check(_program(*lines))
