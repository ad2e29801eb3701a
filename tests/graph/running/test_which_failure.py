"""What needs two values that were not made has the error of the one that was issued first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs.functions import MODES

Function = Callable[[Any, Any], Any]


def taken(x: Any, at: Any) -> Any:
    return flow.take(x, at, axis=0)


def inverse(x: Any) -> Any:
    return flow.linalg.inv(x)


def first_on_the_left(x: Any, at: Any) -> Any:
    return taken(x, at) + inverse(x)


def first_on_the_right(x: Any, at: Any) -> Any:
    a, b = taken(x, at), inverse(x)
    return b + a


def in_a_sum_of_products(x: Any, at: Any) -> Any:
    a, b = taken(x, at), inverse(x)
    return b @ x + a @ x + b.T


def written_to(x: Any, at: Any) -> Any:
    a, b = taken(x, at), inverse(x)
    b += a @ x
    return b


def partly_written_to(x: Any, at: Any) -> Any:
    a, b = taken(x, at), inverse(x)
    b[:, 2] = a[:, 2]
    return b


def on_two_lanes(x: Any, at: Any) -> Any:
    with flow.vm.lane(1):
        a = taken(x, at)
    b = inverse(x)
    return b * a


def the_second_of_three(x: Any, at: Any) -> Any:
    a, b, c = inverse(x), taken(x, at), inverse(x + 0)
    return (c * b) @ a


FUNCTIONS = (
    *(first_on_the_left, first_on_the_right, in_a_sum_of_products, written_to),
    *(partly_written_to, on_two_lanes, the_second_of_three),
)


def error_of(result: Any) -> str:
    try:
        result.numpy()
    except (IndexError, np.linalg.LinAlgError) as error:
        return type(error).__name__
    return "none"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_error_is_that_of_eager(function: Function, mode: str, device: flow.Device) -> None:
    x = flow.ones((6, 6), device=device)
    at = flow.tensor(np.array([0, 1, 2, 3, 9, 5]), device=device)
    with flow.flags(sync=True):
        expected = error_of(function(x, at))
    assert expected != "none"
    program = flow.graph.trace(function, x, at).program
    for lanes in (1, 2):
        run = flow.graph.compile(program, mode=mode, lanes=lanes)
        assert error_of(run(x, at)[0]) == expected
    assert error_of(flow.jit(function)(x, at)) == expected
    with pytest.raises((IndexError, np.linalg.LinAlgError)):
        flow.synchronize()  # tells of those that nobody looked at
