"""Tensors as text where there are no elements to show: failed, or held while a debugger looks."""

import bdb
import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate, here


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not now")


def failed(error: BaseException, size: int = 4) -> flow.Tensor:
    x = flow.zeros(size)

    def fail(_: object) -> None:
        raise error

    flow.vm.host_func(fail, writes=[x], name="fail")
    return x


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    for _ in range(2):
        try:
            flow.synchronize()
        except BaseException:
            continue
        return
    pytest.fail("synchronize raised twice")


@pytest.mark.parametrize("size", [1, 4, 5000])
@pytest.mark.parametrize("show", [repr, str, "{}".format, "{0!r}".format, lambda x: f"{[x]}"[1:-1]])
def test_a_failed_tensor_says_why(
    device: flow.Device, naive: bool, show: Callable[[object], str], size: int
) -> None:
    line = here() + 1
    x = failed(MemoryError("none left\nnot one byte"), size).to(device)
    text = show(x)
    assert text.startswith("tensor(<failed: MemoryError: none left; ")
    assert re.search(rf"issued at .*test_display.py:\d+>, shape=\({size},\), dtype=float64", text)
    assert text.endswith(f", device='{device}')")
    assert line > 0
    with pytest.raises(MemoryError):
        x.numpy()


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (SystemExit(3), "<failed: SystemExit: 3; fail: issued at "),
        (KeyboardInterrupt(), "<failed: KeyboardInterrupt; fail: issued at "),
        (Unprintable(), "<failed: Unprintable: unprintable; fail: issued at "),
        (ValueError("\n"), "<failed: ValueError: ; fail: issued at "),
        (ValueError("x" * 300), "x" * 300),
    ],
)
def test_it_never_raises(error: BaseException, shown: str) -> None:
    for x in (failed(error), failed(error) + 1, failed(error).mock(0)):
        assert shown in repr(x)
        assert shown in str(x)


def test_a_device_that_fails(device: flow.Device) -> None:
    if device.type != "mock":
        pytest.skip("faults are injected into mock devices")
    x = flow.ones(4, device=device)
    flow.synchronize()
    with flow.flags(fail="launch:1"):
        y = x + 1
        assert "<failed: RuntimeError: " in repr(y)
    x.numpy()
    with flow.flags(fail="copy:1"):
        assert "<failed: RuntimeError: " in repr(x)  # it is sound, its copy to the host is not
    assert repr(x).startswith("tensor([1., 1., 1., 1.]")


def test_a_format_needs_the_value() -> None:
    x = failed(ValueError("on purpose"), 1)
    with pytest.raises(ValueError, match="on purpose"):
        f"{x[0]:.1f}"


class Debugger(bdb.Bdb):
    """Looks at x where it stops."""

    def user_line(self, frame: FrameType) -> None:
        if frame.f_code.co_name == "program" and "x" in frame.f_locals and not shown:
            shown.append(repr(frame.f_locals["x"]))


shown: list[str] = []


@pytest.mark.skipif(sys.gettrace() is not None, reason="somebody traces already")
def test_a_debugger_does_not_wait(device: flow.Device) -> None:
    shown.clear()
    with Gate() as gate:

        def program() -> None:
            x = gate.on(device) + 1
            assert not x.is_ready()

        Debugger().runcall(program)
    dtype = f"shape=(4,), dtype=float64, device='{device}'"
    assert shown == [f"tensor(<pending>, {dtype})"]


@pytest.mark.skipif(sys.gettrace() is not None, reason="somebody traces already")
def test_a_debugger_sees_what_is_there(device: flow.Device) -> None:
    def made(error: BaseException | None) -> flow.Tensor:
        x = (flow.ones(4) if error is None else failed(error)).to(device)
        with contextlib.suppress(ValueError):
            flow.synchronize()
        return x

    for error, text in ((None, "tensor([1., 1., 1., 1.]"), (ValueError("no"), "<failed: Value")):
        shown.clear()

        def program(error: BaseException | None = error) -> None:
            x = made(error)
            assert x.is_ready()

        Debugger().runcall(program)
        assert text in shown[0]


def test_what_was_looked_at_is_ready() -> None:
    for _ in range(2000):  # the copy of a failed tensor may retire before what failed
        x = failed(ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            x.numpy()
        assert x.is_ready()
        with pytest.raises(ValueError, match="no"):
            flow.synchronize()


@pytest.mark.skipif(sys.gettrace() is not None, reason="somebody traces already")
def test_a_tool_that_only_traces_sees_the_value() -> None:
    with Gate() as gate:
        x = gate.tensor + 1
        gate.open()
        sys.settrace(lambda *_: None)
        try:
            text = repr(x)
        finally:
            sys.settrace(None)
    assert text.startswith("tensor([1., 1., 1., 1.]")


def test_pdb_shows_what_is_held(run_program: Callable[..., Any]) -> None:
    code = """
import pdb, sys, threading, oneflow_lite as flow
opened = threading.Event()
x = flow.zeros(3)
flow.vm.host_func(lambda _: opened.wait(), writes=[x])
commands = iter(["p x", "p [x, 1]", "c"])
debugger = pdb.Pdb(nosigint=True, readrc=False)
debugger.cmdqueue = list(commands)
debugger.set_trace()
opened.set()
"""
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("tensor(<pending>, shape=(3,)") == 2


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
def test_the_text_of_a_number_is_numpys(device: flow.Device, dtype: str) -> None:
    for value in (0.1, 1e20, -2.0, float("nan")) if "f" in dtype or "c" in dtype else (0, 1):
        theirs = np.array(value).astype(dtype)[()]
        x = flow.tensor(theirs, device=device)
        assert f"{x!s} {x}" == f"{theirs!s} {theirs}"
        assert "%s" % x == "%s" % theirs  # noqa: UP031
        assert repr(x).startswith("tensor(")
    assert str(flow.ones(1, device=device)) == f"tensor([1.], dtype=float64, device='{device}')"


def test_the_text_of_no_number(device: flow.Device) -> None:
    x = failed(MemoryError("none left"), 1).to(device)
    assert str(x[0]).startswith("tensor(<failed: MemoryError: none left; ")
    seen = []
    y = flow.ones(2, device=device)
    flow.graph.trace(lambda y: [seen.append(str(y.sum())), y + 1][1], y)
    assert seen == [f"tensor(<recorded>, shape=(), dtype=float64, device='{device}')"]
