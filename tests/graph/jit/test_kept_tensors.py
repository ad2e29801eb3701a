"""Tensors of a trace that somebody holds after it: refused where the program looks, else let be."""

import logging
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError

LIST: list[Any] = []
MODEL = SimpleNamespace(h=None, items={})


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    yield
    LIST.clear()
    MODEL.h, MODEL.items = None, {}


PLACES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "list": (lambda x: LIST.append(x * 2), r"multiply .*, in .*LIST\[0\]"),
    "argument": (lambda x: LIST.append(x), r"an argument .*, in .*LIST\[0\]"),
    "attribute": (lambda x: setattr(MODEL, "h", x * 2), r"multiply .*, in .*MODEL\.h"),
    "item": (lambda x: MODEL.items.update(h=(x * 2)[1:]), r"multiply .*, in .*MODEL\.items\['h'\]"),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("is_grad", [False, True])
def test_a_place_that_the_program_reads(name: str, is_grad: bool) -> None:
    function, where = PLACES[name]

    def keeps(x: Any) -> Any:
        function(x)
        return x.sum()

    run = flow.grad(keeps) if is_grad else flow.jit(keeps)
    kind = ".*" if is_grad else where
    with pytest.raises(TraceError, match=rf"\[keeps\] a tensor of shape .* of {kind}"):
        run(flow.ones(3))


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


log = logging.getLogger(__name__)


def logs(x: Any) -> Any:
    y = x * 2
    log.warning("%s", y)
    return y.sum()


def test_a_log_that_keeps_its_records() -> None:
    handler = Records()
    log.addHandler(handler)
    try:
        assert flow.jit(logs)(flow.ones(2)).item() == 4
        assert flow.grad(logs)(flow.ones(2)).tolist() == [2, 2]
    finally:
        log.removeHandler(handler)
    (y,) = handler.records[0].args  # type: ignore[misc]
    line = logs.__code__.co_firstlineno + 1
    with pytest.raises(TraceError, match=r"\[multiply\] .* was made while logs was rec") as raised:
        y.numpy()  # type: ignore[union-attr]
    assert any(f"{__file__}:{line}" in note for note in raised.value.__notes__)


def test_an_exception_that_is_kept() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        try:
            raise ValueError(y)
        except ValueError as error:
            MODEL.h = error
        return y.sum()

    assert flow.jit(function)(flow.ones(2)).item() == 4


def test_a_tool_that_keeps_frames() -> None:
    """As a debugger does."""
    frames: list[Any] = []

    def keep(frame: Any, *_: Any) -> Any:
        frames.append((frame, dict(frame.f_locals)))
        return keep

    def function(x: Any) -> Any:
        y = x * 2
        return y.sum()

    before = sys.gettrace()
    sys.settrace(keep)
    try:
        value = flow.jit(function)(flow.ones(2))
        gradient = flow.grad(function)(flow.ones(2))
    finally:
        sys.settrace(before)
    assert (value.item(), gradient.tolist()) == (4, [2, 2])
    assert frames


def test_the_next_call_uses_what_was_kept() -> None:
    """Where the walk does not see it: in a set."""
    held: set[Any] = set()

    def function(x: Any) -> Any:
        held.add(Held(x * 2))
        return x + next(iter(held)).x

    class Held:
        def __init__(self, x: Any) -> None:
            self.x = x

    run = flow.jit(function)
    assert run(flow.ones(2)).tolist() == [3, 3]
    with pytest.raises(TraceError, match="made while function was recorded"):
        next(iter(held)).x.numpy()
    with pytest.raises(TraceError, match="made while function was recorded"):
        flow.jit(lambda x: x + next(iter(held)).x)(flow.ones(2))
