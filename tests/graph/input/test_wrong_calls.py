"""What a hostile user gives to jitted functions and executables: the error, and the next call.

Each error names the function, the argument, what was given and what was wanted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, TraceError

DEVICES = ["cpu", "mock:0"]


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def step(x: Any, extra: Any = None) -> Any:
    return x * 2


def choice(x: Any) -> Any:
    return x if x.sum() > 0 else -x


run = flow.jit(step)
chosen = flow.jit(step, static="extra")
endless = flow.jit(lambda x: endless(x + 1))


def both(x: Any) -> Any:
    return either(x)


either = flow.jit(both)


def ready(x: flow.Tensor) -> Any:
    return flow.graph.compile(flow.graph.trace(step, x).program)


def nested(x: Any, params: Any, scale: Any) -> Any:
    params["w"][0] += x
    return x * params["w"][0] * scale


def ready_nested(x: flow.Tensor) -> Any:
    return flow.graph.compile(flow.graph.trace(nested, x, {"w": [x + 0]}, scale=x - 1).program)


def donated(x: flow.Tensor) -> flow.Tensor:
    y = x + 0
    flow.jit(step, donate="x")(y)
    return y


WRONG: dict[str, tuple[Callable[[flow.Tensor], Any], type[Exception], str]] = {
    "a set": (lambda x: run(x, {1}), TypeError, r"\[jit\] step: extra is a set, which is not hash"),
    "a bytearray inside": (
        lambda x: run(x, {"a": [bytearray(b"x")]}),
        TypeError,
        r"\[jit\] step: extra\['a'\]\[0\] is a bytearray, which is not hashable; pass tensors",
    ),
    "an object": (lambda x: run(x, Unhashable()), TypeError, r"step: extra is a Unhashable, which"),
    "a static array": (
        lambda x: chosen(x, [np.ones(2)]),
        TypeError,
        r"step: extra\[0\] is a ndarray, which is not hashable; a static argument counts",
    ),
    "an iterator": (
        lambda x: run(x, {"a": iter([x])}),
        flow.graph.TraceError,
        r"step: extra\['a'\] is a list_iterator, which a call uses up: only the trace .* a list or",
    ),
    "a static generator": (
        lambda x: chosen(x, (n for n in range(3))),
        flow.graph.TraceError,
        r"step: extra is a generator, which a call uses up",
    ),
    "a set beside a static value": (
        lambda x: flow.jit(lambda x, n, s: x, static="n")(x, 1, s={1}),
        TypeError,
        r": s is a set, which is not hashable; pass tensors",
    ),
    "an array of objects": (
        lambda x: run(x, {"a": np.array([object()])}),
        TypeError,
        r"\[jit\] step: extra\['a'\]: \[tensor\] unsupported dtype object; supported: bool",
    ),
    "an array of text": (
        lambda x: run(np.array(["a"])),
        TypeError,
        r"\[jit\] step: x: \[tensor\] unsupported dtype str",
    ),
    "a spec": (
        lambda x: run(flow.graph.spec(2)),
        TypeError,
        r"\[jit\] step: x is a spec, which has no value; give a tensor",
    ),
    "too many": (lambda x: run(x, 1, 2), TypeError, r"step\(\) takes .* 3 were given"),
    "an unknown name": (lambda x: run(x, foo=1), TypeError, r"step\(\) got .* argument 'foo'"),
    "an if": (lambda x: flow.jit(choice)(x), TraceError, r"\[bool\] .* choice is recorded: choose"),
    "a donated one": (
        lambda x: donated(x).numpy(),
        TraceError,
        r"\[step\] .*donated to a call",
    ),
    "a donated operand": (lambda x: run(donated(x)).numpy(), TraceError, r"\[step\] .*donated"),
    "recursion": (endless, RecursionError, r"\[jit\] <lambda> calls itself .*wrong_calls.py:\d+"),
    "recursion of two": (either, RecursionError, r"\[jit\] both calls itself .*wrong_calls.py:\d"),
    "no device": (
        lambda x: flow.jit(lambda x: x.to("cuda:99"))(x),
        ValueError,
        r"\[device\] cuda:99 does not exist",
    ),
    "another device": (
        lambda x: flow.jit(lambda x, y: x + y)(x, flow.ones((2, 3), device="mock:1")),
        ValueError,
        r"\[add\] operands are on different devices",
    ),
    "memory, running": (
        lambda x: flow.jit(lambda x: flow.zeros(1 << 40, device=x.device) + x[0, 0])(x).numpy(),
        flow.OutOfMemoryError,
        r"out of memory: asked for 8.0 TiB",
    ),
    "memory, building": (
        lambda x: flow.jit(lambda x: flow.zeros(1 << 62, device=x.device))(x),
        ValueError,
        r"\[tensor\] shape \(4611686018427387904,\) .*too big",
    ),
    "few arguments": (
        lambda x: ready(x)(),
        ValueError,
        r"\[step\] expected 1 arguments \(x\), got 0",
    ),
    "no tensor": (
        lambda x: ready(x)(3),
        TypeError,
        r"\[step\] argument x: expected a tensor",
    ),
    "names": (lambda x: ready(x)(x=x), TypeError, r"\[step\] takes its arguments by position"),
    "strides": (
        lambda x: ready(x)(flow.ones((3, 2), device=x.device).T),
        ValueError,
        r"\[step\] argument x of shape \(2, 3\) has strides \(8, 16\), expected \(24, 8\); give a",
    ),
    "a shape": (
        lambda x: ready(x)(x[:1]),
        ValueError,
        r"\[step\] argument x is \(1, 3\) float64 on .*, expected \(2, 3\) float64 on",
    ),
    "a shape inside": (
        lambda x: ready_nested(x)(x, x[:1], x),
        ValueError,
        r"\[nested\] argument params\['w'\]\[0\] is \(1, 3\) float64 on .*, expected \(2, 3\) fl",
    ),
    "no tensor inside": (
        lambda x: ready_nested(x)(x, np.ones((2, 3)), x),
        TypeError,
        r"\[nested\] argument params\['w'\]\[0\]: expected a tensor, got numpy.ndarray",
    ),
    "memory in common": (
        lambda x: ready_nested(x)(x, x, x),
        ValueError,
        r"\[nested\] writes to argument params\['w'\]\[0\], which shares its memory with argum",
    ),
    "few arguments of three": (
        lambda x: ready_nested(x)(x),
        ValueError,
        r"\[nested\] expected 3 arguments \(x, params\['w'\]\[0\], scale\), got 1",
    ),
    "no function": (lambda x: flow.jit(3), TypeError, r"\[jit\] expected a function, got int"),
    "no function to trace": (
        lambda x: flow.graph.trace(3, x),
        TypeError,
        r"\[trace\] expected a function, got int",
    ),
    "no names": (
        lambda x: flow.jit(step, static=3.5),
        TypeError,
        r"\[jit\] static: expected names and positions of arguments, got 3.5",
    ),
    "no program": (
        lambda x: flow.graph.compile(3),
        TypeError,
        r"\[compile\] program: expected a Program, got int",
    ),
    "no text": (
        lambda x: Program.parse(3),
        TypeError,
        r"\[Program.parse\] text: expected",
    ),
    "a negative extent": (
        lambda x: flow.graph.spec((2, -1)),
        ValueError,
        r"\[spec\] shape: expected extents of at least 0, got \(2, -1\)",
    ),
    "no extent": (lambda x: flow.graph.spec("ab"), ValueError, r"\[spec\] shape: .*got 'ab'"),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WRONG)
def test_the_error_and_the_next_call(name: str, device: str) -> None:
    call, error, message = WRONG[name]
    x = flow.ones((2, 3), device=device)
    with pytest.raises(error, match=message):
        call(x)
    assert not flow._C.is_recording()
    assert run(x).tolist() == [[2.0] * 3] * 2
    assert chosen(x, "a").tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_recursion_that_ends(device: str) -> None:
    def factorial(x: Any, n: int) -> Any:
        return x if n == 0 else again(x * n, n - 1)

    again = flow.jit(factorial)
    assert again(flow.ones(2, device=device), 5).tolist() == [120.0] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_little_is_no_error(device: str) -> None:
    empty, element = flow.ones((0, 3), device=device), flow.ones((), device=device)
    nothing, sums = flow.jit(lambda *given: None), flow.jit(lambda x: (x * 2).sum())
    for _ in range(3):
        assert nothing() is nothing(empty) is None
        assert (sums(empty).item(), sums(element).item()) == (0.0, 2.0)


def add_often(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x + 1.0
    return x


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_a_huge_function(device: str) -> None:
    jitted = flow.jit(add_often)
    for _ in range(2):
        assert jitted(flow.ones(3, device=device), 100_000).tolist() == [100_001.0] * 3
    text = str(jitted.program(flow.ones(3, device=device), 100_000))
    assert text.count("add(") == 100_000
