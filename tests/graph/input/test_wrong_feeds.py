"""What a hostile user gives to programs by hand: the error, and the next run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope

DEVICES = ["cpu", "mock:0"]
X = np.ones((2, 3), np.float32)


class Small:
    def __init__(self, device: str) -> None:
        self.main, startup = Program("main"), Program("startup")
        with flow.graph.building(self.main, startup):
            self.x = flow.graph.data("x", (None, 3), "float32")
            ids = flow.graph.data("ids", 2, "int64")
            w = flow.graph.parameter("w", (3, 2), init=flow.ones, dtype="float32")
            self.y, self.z = self.x @ w, w[ids]
        self.exe, self.scope = Executor(device), Scope()
        self.exe.run(startup, scope=self.scope)

    def run(self, feed: Any, fetch: Any = None) -> Any:
        fetches = [self.y] if fetch is None else fetch
        return self.exe.run(self.main, feed, fetches, scope=self.scope)


MISMATCH = r"\[main\] feed x is {}, expected float32 of shape \(N0, 3\) \(.*wrong_feeds.py:\d+\)"
WRONG: dict[str, tuple[Callable[[Small], Any], type[Exception], str]] = {
    "one of the program": (
        lambda s: s.run({"x": s.x}),
        ValueError,
        MISMATCH.format("a tensor of a program, which has no value"),
    ),
    "one of another": (
        lambda s: s.run({"x": Small("cpu").y}),
        ValueError,
        MISMATCH.format("a tensor of a program, which has no value"),
    ),
    "a set": (lambda s: s.run({"x": {1.0}}), ValueError, MISMATCH.format("of dtype object")),
    "a negative extent": (
        lambda s: s.exe.compile(s.main, {"x": (-2, 3)}, [s.y]),
        ValueError,
        MISMATCH.format(r"of shape \(-2, 3\)"),
    ),
    "no extent": (
        lambda s: s.exe.compile(s.main, {"x": ("a", 3)}, [s.y]),
        ValueError,
        MISMATCH.format(r"of shape \('a', 3\)"),
    ),
    "no shape": (
        lambda s: s.exe.compile(s.main, {"x": None}, [s.y]),
        ValueError,
        MISMATCH.format("of shape None"),
    ),
    "an index": (
        lambda s: s.run({"ids": [1, 9]}, [s.z])[0].numpy(),
        IndexError,
        r"\[getitem\] index 9 is out of bounds for axis 0 with size 3",
    ),
    "a failed one": (
        lambda s: s.run({"x": flow.linalg.inv(flow.zeros((3, 3), dtype="float32"))})[0].numpy(),
        np.linalg.LinAlgError,
        r"\[inv\] singular matrix",
    ),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WRONG)
def test_the_error_and_the_next_run(name: str, device: str) -> None:
    call, error, message = WRONG[name]
    small = Small(device)
    with pytest.raises(error, match=message):
        call(small)
    assert small.run({"x": X})[0].tolist() == [[3.0, 3.0]] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_an_extent_that_is_not_needed_may_be_unknown(device: str) -> None:
    small = Small(device)
    assert small.run({"ids": [0, 2]}, [small.z])[0].tolist() == [[1.0, 1.0]] * 2


def test_shapes_and_initializers_of_parameters() -> None:
    with flow.graph.building(Program("main"), Program("startup")):
        assert flow.graph.parameter("w", np.int64(2)).shape == (2,)
        assert flow.graph.parameter("v", (np.int32(2), 3)).shape == (2, 3)
        for wrong in (2.5, (None, 2), -1, "ab"):
            with pytest.raises(ValueError, match=r"\[parameter\] u: expected known extents, got"):
                flow.graph.parameter("u", wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"\[parameter\] u: init: .*dtype str.*feeds.py:\d+"):
            flow.graph.parameter("u", 2, init="ab")


@pytest.mark.slow
def test_a_huge_program() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", None)
        for _ in range(100_000):
            y = y + 1.0
    assert Executor().run(main, {"x": [1, 2]}, y).tolist() == [100_001, 100_002]
