"""What a hostile user gives to programs by hand: the error, and the next run."""

import re
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
            self.small = flow.graph.data("small", 2, "int8") + 0
            self.bits = flow.graph.data("bits", 2, "uint8") + 0
            self.scaled = self.y * flow.graph.number("rate")
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
        with pytest.raises(TypeError, match=r"\[parameter\] u: init: .*got .ab. .*feeds.py:\d+"):
            flow.graph.parameter("u", 2, init="ab")


@pytest.mark.slow
def test_a_huge_program() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", None)
        for _ in range(100_000):
            y = y + 1.0
    assert Executor().run(main, {"x": [1, 2]}, y).tolist() == [100_001, 100_002]


def wide(device: str) -> flow.Tensor:
    """The feed repeats one element, and a copy of it has 12 TiB."""
    return flow.broadcast_to(flow.ones((), dtype="float32", device=device), (1 << 40, 3))


def built(make: Callable[[], Any]) -> Callable[[Small], Any]:
    def call(small: Small) -> Any:
        with flow.graph.building(Program("p"), Program("q")):
            make()

    return call


def twice(name: str) -> None:
    flow.graph.data(name, 2)
    flow.graph.number(name)


# Each names what was given, what was wanted, and a line of this file.
WITH_LINES: dict[str, tuple[Callable[[Small], Any], type[Exception], str]] = {
    "an unknown feed": (lambda s: s.run({"xx": X}), ValueError, "has no feed 'xx'; did you mean x"),
    "no dict": (lambda s: s.run([X]), TypeError, "feed: expected a dict of names, got list"),
    "no dict, compiled": (
        lambda s: s.exe.compile(s.main, {"x": (2, 3)}, [s.y])([], s.scope),
        TypeError,
        "feed: expected a dict of names, got list",
    ),
    "a missing feed": (lambda s: s.run({}), ValueError, r"the feed x \(.*\) is needed, and not"),
    "a size": (
        lambda s: s.exe.compile(s.main, {"x": (2, 3)}, [s.y])({"x": X[:1]}, s.scope),
        ValueError,
        r"feed x is of shape \(1, 3\), compiled for \(2, 3\)",
    ),
    "ragged": (lambda s: s.run({"x": [[1], [1, 2]]}), ValueError, "feed x is no array"),
    "beyond the dtype": (
        lambda s: s.run({"small": [300, 1]}, [s.small]),
        ValueError,
        r"feed small is a list with 300, beyond int8, expected int8 of shape \(2,\)",
    ),
    "below the dtype": (
        lambda s: s.run({"bits": [1, -2]}, [s.bits]),
        ValueError,
        "feed bits is a list with -2, beyond uint8",
    ),
    "a number": (
        lambda s: s.run({"x": X, "rate": 10**400}, [s.scaled]),
        OverflowError,
        "feed rate .*: int too large to convert to float",
    ),
    "memory": (
        lambda s: s.run({"x": np.broadcast_to(np.float32(1), (1 << 40, 3))}),
        flow.OutOfMemoryError,
        r"feed x .* no memory for a copy of shape \(1099511627776, 3\): .*12.0 TiB",
    ),
    "memory of a tensor": (
        lambda s: s.run({"x": wide("cpu")}),
        flow.OutOfMemoryError,
        "feed x .* no memory for a copy of shape .*12.0 TiB",
    ),
    "memory of a mock device": (
        lambda s: s.run({"x": wide("mock:1")}),
        flow.OutOfMemoryError,
        "feed x .* no memory for a copy of shape .*12.0 TiB",
    ),
    "a fetch": (lambda s: s.run({"x": X}, [3]), TypeError, "a tensor or a name, got int"),
    "a set of fetches": (
        lambda s: s.run({"x": X}, {"y"}),
        TypeError,
        "fetch_list: expected tensors and names in an order, got a set",
    ),
    "a name": (lambda s: s.run({"x": X}, ["w2"]), ValueError, r"fetch_list\[0\]: there is no 'w2'"),
    "another's": (
        lambda s: s.run({"x": X}, [Small("cpu").y]),
        ValueError,
        r"fetch_list\[0\] is a tensor of another program, or of none",
    ),
    "no scope": (
        lambda s: s.exe.run(s.main, {"x": X}, [s.y], scope={}),  # type: ignore[arg-type]
        TypeError,
        "scope: expected a Scope, got dict",
    ),
    "no scope, compiled": (
        lambda s: s.exe.compile(s.main, {"x": X}, [s.y])({"x": X}, {}),  # type: ignore[arg-type]
        TypeError,
        "scope: expected a Scope, got dict",
    ),
    "before startup": (
        lambda s: s.exe.run(s.main, {"x": X}, [s.y], scope=Scope()),
        RuntimeError,
        r"the parameter w \(.*py:\d+\) has no value in the scope: run the startup program first",
    ),
    "no program": (
        lambda s: s.exe.run(3),  # type: ignore[arg-type]
        TypeError,
        "program: expected a Program, got int",
    ),
    "no executor": (
        lambda s: flow.graph.compile(s.main, {"x": X}, [s.y], executor=3),  # type: ignore[arg-type]
        TypeError,
        "executor: expected an Executor, got int",
    ),
    "built already": (
        lambda s: flow.graph.building(s.main).__enter__(),
        ValueError,
        r"\[building\] main: main is built already",
    ),
    "a block in a block": (
        built(lambda: flow.graph.building(Program("r")).__enter__()),
        flow.graph.TraceError,
        "the thread records already",
    ),
    "no block": (
        lambda s: flow.graph.data("x", 2),
        flow.graph.TraceError,
        r"\[data\] is for blocks of flow.graph.building",
    ),
    "an extent": (
        built(lambda: flow.graph.data("x", 2.5)),  # type: ignore[arg-type]
        ValueError,
        r"\[data\] x: expected an extent, a name, or None at axis 0, got 2.5",
    ),
    "a name again": (built(lambda: twice("x")), ValueError, r"\[number\] p has the name x already"),
    "many extents": (
        built(lambda: flow.graph.data("x", ("a", "b", "c", "d"))),
        ValueError,
        "at most 3 unknown extents, got d besides a, b, c",
    ),
    "an extent of a parameter": (
        built(lambda: flow.graph.parameter("x", -1)),
        ValueError,
        r"\[parameter\] x: expected known extents, got -1",
    ),
    "a ragged initializer": (
        built(lambda: flow.graph.parameter("x", 2, init=[[1], [2, 3]])),
        ValueError,
        r"\[parameter\] x: init: .*inhomogeneous",
    ),
    "no tensor": (
        built(lambda: flow.graph.named("x", 3)),  # type: ignore[arg-type]
        TypeError,
        r"\[named\] x: expected a tensor, got int",
    ),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WITH_LINES)
def test_the_error_has_a_line(name: str, device: str) -> None:
    call, error, message = WITH_LINES[name]
    small = Small(device)
    with pytest.raises(error, match=message) as caught:
        call(small)
    assert re.search(r"test_wrong_feeds\.py:\d+\)", str(caught.value))
    assert small.run({"x": X})[0].tolist() == [[3.0, 3.0]] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_lists_of_integers_that_fit(device: str) -> None:
    small = Small(device)
    given = {"small": [-128, 127], "bits": [0, 255]}
    found = small.run(given, [small.small, small.bits])
    assert [x.tolist() for x in found] == [[-128, 127], [0, 255]]


@pytest.mark.parametrize("device", DEVICES)
def test_a_broadcast_feed(device: str) -> None:
    small = Small(device)
    row = flow.ones(3, dtype="float32", device=device)
    assert small.run({"x": flow.broadcast_to(row, (4, 3))})[0].tolist() == [[3.0, 3.0]] * 4
    failed = flow.linalg.inv(flow.zeros((3, 3), dtype="float32", device=device))
    (y,) = small.run({"x": flow.broadcast_to(failed[:1], (4, 3))})  # the result has it
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        y.numpy()
