"""Ctrl-C while a recording begins: the thread does not go on recording, whoever holds the error."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import passes
from oneflow_lite.graph.verify import verify

GRAPH = str(Path(flow.graph.__file__).parent)


class NoNegative(passes.Rewriter):
    def visit_op(self, op: Any) -> Any:
        return self.emit(flow.multiply, op.operands[0], -1)


def built() -> None:
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    with flow.graph.building(main, startup):
        w = flow.graph.parameter("w", 3, init=lambda shape: flow.ones(shape) * 2)
        w += flow.graph.data("x", 3)


def recordings() -> dict[str, Callable[[], Any]]:
    x = flow.tensor([1.0, 2.0])
    main = flow.graph.trace(lambda x: -x, x).program.main
    return {
        "trace": lambda: flow.graph.trace(lambda x: x + 1, x),
        "way back": lambda: flow.vjp(lambda x: x * x, x),
        "operation of a program": lambda: verify(main, {"main": main}),
        "operation of a rewriter": lambda: NoNegative().rewritten(main),
        "program by hand": built,
    }


@pytest.fixture(autouse=True)
def nothing_is_traced_afterwards() -> Iterator[None]:
    before = sys.gettrace()
    yield
    sys.settrace(before)


def interrupted_at(number: int, call: Callable[[], Any]) -> BaseException | None:
    """Raise KeyboardInterrupt behind the call that makes the thread record, the n-th such one."""
    known: list[Any] = [None]
    begun = 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal begun
        frame.f_trace_opcodes = True
        recorder = _C.open_recording()
        while known and recorder is not known[-1]:
            if recorder in known:
                known.pop()
                continue
            known.append(recorder)
            begun += 1
            if begun == number:
                raise KeyboardInterrupt
        return step

    def enters(frame: FrameType, event: str, given: Any) -> Any:
        return step(frame, event, given) if frame.f_code.co_filename.startswith(GRAPH) else None

    sys.settrace(enters)
    try:
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(None)
    return None


@pytest.mark.parametrize("name", recordings())
def test_an_interrupt_as_it_begins_ends_it(name: str) -> None:
    call, number = recordings()[name], 0
    held: BaseException | None = KeyboardInterrupt()
    while held is not None:
        number += 1
        held = interrupted_at(number, call)
        assert not _C.is_recording()
        assert (flow.ones(2) + 1).tolist() == [2, 2]
    assert number > 1
