"""Options of compile and Executor that are of another type: the error names function and option."""

from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program

WRONG: list[tuple[str, Any, str]] = [
    ("mode", None, r"expected a string, got None"),
    ("mode", 3, r"expected a string, got 3"),
    ("release", 3, r"expected a string, got 3"),
    ("addto", "x", r"expected True or False, got 'x'"),
    ("addto", None, r"expected True or False, got None"),
    ("lanes", None, r"expected an integer, got None"),
    ("cuda_graph", 1, r"expected True, False or None, got 1"),
    ("opt_level", "a", r"expected an integer, got 'a'"),
]


@pytest.mark.parametrize(("option", "given", "words"), WRONG)
def test_options_of_another_type(option: str, given: Any, words: str) -> None:
    program, main = flow.graph.trace(lambda x: x + 1, flow.ones(3)).program, Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", (2,)) + 1
    for compiled in (program, main):
        with pytest.raises(TypeError, match=rf"^\[compile\] {option}: {words}$"):
            flow.graph.compile(compiled, **{option: given})
    with pytest.raises(TypeError, match=rf"^\[Executor\] {option}: {words}$"):
        Executor(**{option: given})
    assert Executor().run(main, {"x": [1, 2]}, y).tolist() == [2, 3]


@pytest.mark.parametrize("given", [3, ["cpu"], b"cpu"])
def test_a_device_that_is_none(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^\[Executor\] device: expected a device or its name"):
        Executor(given)
