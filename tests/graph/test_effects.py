"""Effects of operations: tokens in the text, the checks and the order of a program."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, trace
from oneflow_lite.graph.analyses import dependences
from oneflow_lite.vm import host_func


def show(x: np.ndarray) -> None:
    pass


def fill(x: np.ndarray) -> None:
    x[:] = 1


def program() -> Program:
    stream = flow.random.Philox(key=1)
    one, other = flow.random.default_rng(1), flow.random.default_rng(2)

    def function(x: flow.Tensor) -> Any:
        y = one.random(3) + other.integers(0, 9, 3)
        host_func(show, [y])
        z = stream.normal(1.0, size=3) * x
        host_func(fill, [], [z[1:]], name="fill it")
        one.seed(3)
        return z

    return trace(function, flow.ones(3)).program


def test_text() -> None:
    lines = [line.partition("  # ")[0] for line in str(program()).splitlines()]
    assert lines == [
        "program function",
        "@0 = philox 2",
        "@1 = draw random(3)",
        "@2 = draw integers(0, 9, 3, <class 'numpy.int64'>, False)",
        "@3 = function",
        "@4 = function",
        "@5 = draw seed(3)",
        "%0: f64[3] cpu = parameter x",
        "%1: f64[3] cpu = source.random() from @1 ! rng:0",
        "%2: i64[3] cpu = source.integers() from @2 ! rng:1",
        "%3: f64[3] cpu = add(%1, %2)",
        "none = host[name='show'](%3) from @3 ! io",
        "%4: f64[3] cpu = empty()",
        "%5: f64[3] cpu = array.normal[kernel='philox', attr=(2, 0, 0, 0, "
        "4607182418800017408, 4607182418800017408)]() into %4 from @0",
        "%6: f64[3] cpu = multiply(%5, %0)",
        "%7: f64[2] cpu = view.slice[offset=8](%6)",
        "%8: f64[3] cpu = host[name='fill it']() into %7 from @4 ! io",
        "none = source.seed() from @5 ! rng:0",
        "return %8",
    ]


def test_tokens_are_kept_in_order() -> None:
    """Draws of one generator, and functions; not counted draws, and not different generators."""
    main = program().main
    numbered = flow.graph.numbered(main)
    edges = dependences(numbered.variables(), numbered.tokens)
    places = {name: i for i, name in enumerate(numbered.names)}
    assert (places["random"], places["seed"]) in edges
    assert (places["show"], places["fill it"]) in edges
    assert (places["random"], places["integers"]) not in edges
    lost = set(edges) - set(dependences(numbered.variables()))
    assert lost == {(places["random"], places["seed"]), (places["show"], places["fill it"])}


def changed(number: int, **changes: Any) -> Program:
    main = program().main
    ops = list(main.ops)
    ops[number] = replace(ops[number], **changes)
    return Program("changed", {"main": replace(main, ops=tuple(ops))})


@pytest.mark.parametrize(
    ("number", "changes", "message"),
    [
        (0, {"effects": ()}, r"\[random\] .* of kind source has no effect rng:0"),
        (3, {"effects": ()}, r"\[show\] .* of kind host has no effect io"),
        (3, {"effects": ("rng:0",)}, r"\[show\] .* of kind host has no effect io"),
        (2, {"effects": ("noise",)}, r"\[add\] .* has the effect noise, which there is not"),
        (3, {"object": None}, r"\[show\] .* uses no function"),
        (0, {"object": None}, r"\[random\] .* uses no draw"),
    ],
)
def test_verify(number: int, changes: dict[str, Any], message: str) -> None:
    program().verify()
    with pytest.raises(ValueError, match=message):
        changed(number, **changes).verify()


def test_verify_knows_the_objects() -> None:
    main = program().main
    for objects in ((), main.objects[1:]):
        with pytest.raises(ValueError, match=r"uses an object that is not of the function"):
            Program("bare", {"main": replace(main, objects=objects)}).verify()


def test_collective_operations_have_tokens() -> None:
    """Of communication and readers, which are kept for later."""
    changed(2, effects=("comm:world", "reader:0")).verify()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("@1 = function", r"expected @0"),
        ("@0 = file", r"expected @0 and philox, draw, function"),
        ("@0 = philox many", r"expected how many counters, an integer of 64 bits, got many"),
        ("none = host[name='f']() from @0 ! io", r"list index out of range"),
    ],
)
def test_bad_texts(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"\[Program.parse\] line 2: .*{message}"):
        Program.parse(f"program test\n{line}\nreturn\n")
