"""Values of parameters and of scopes that cannot be: the error has the name and the line."""

from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, TraceError

INITS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"init": 1j}, TypeError, "not 'complex'"),
    ({"init": lambda shape: 1j}, TypeError, "not 'complex'"),
    ({"init": 300, "dtype": "int8"}, OverflowError, "300 out of bounds for int8"),
    ({"init": [300, 1], "dtype": "int8"}, OverflowError, "300 out of bounds for int8"),
    ({"init": float("nan"), "dtype": "int64"}, ValueError, "cannot convert float NaN"),
    ({"init": None}, TypeError, "expected a number, an array, or a function .*, got None"),
    ({"init": lambda shape: None}, TypeError, "expected a number, an array, .*, got None"),
    ({"init": "a"}, TypeError, "expected a number, an array, or a function .*, got 'a'"),
    ({"init": {}}, TypeError, "unsupported dtype object"),
]


@pytest.mark.parametrize(("given", "error", "words"), INITS)
def test_first_values_of_parameters(given: Any, error: type[Exception], words: str) -> None:
    main, startup = Program("main"), Program("startup")
    with pytest.raises(  # noqa: SIM117
        error, match=rf"^\[parameter\] w: init: .*{words}.* \(.*test_wrong_values\.py:\d+\)$"
    ):
        with flow.graph.building(main, startup):
            flow.graph.parameter("w", 2, **given)
    assert main.is_empty
    assert startup.is_empty


@pytest.mark.parametrize("given", ["a", None, [1, [2]], {}])
def test_values_of_a_scope(given: Any) -> None:
    scope = Scope()
    with pytest.raises(
        (TypeError, ValueError), match=r"^\[Scope\] 'w': .* \(.*test_wrong_values\.py:\d+\)$"
    ):
        scope["w"] = given
    assert "w" not in scope


def test_an_extent_that_a_convolution_cannot_take() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.convolve(flow.graph.data("x", (None,)), flow.ones(3), mode="same")
    words = "at least 3 elements in its first operand, .*, got 1, and N0 is 1"
    with pytest.raises(TraceError, match=rf"^\[correlate\].*{words}"):
        Executor().run(main, {"x": [1]}, y)
    assert Executor().run(main, {"x": [1, 1, 1]}, y).tolist() == [2, 3, 2]
