"""Changes of the caller's containers: eager makes them, a program cannot, so a trace refuses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pytest

import oneflow_lite as flow


@dataclass
class State:
    w: Any
    rate: float = 0.5

    @cached_property
    def double(self) -> Any:
        return self.w * 2


class Pair(NamedTuple):
    left: Any
    right: Any


def _put(place: Any, key: Any, value: Any) -> None:
    place[key] = value


def _w() -> Any:
    return flow.ones(2)


CHANGES: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "item of a dict": (lambda d: _put(d, "w", d["w"] + 1), {"w": _w()}, r"d\['w'\] is another one"),
    "number in a dict": (
        lambda d: _put(d, "n", d["n"] * 2),
        {"n": 0.5},
        r"d\['n'\] is another one",
    ),
    "integer in a list": (lambda d: _put(d, 0, d[0] + 1), [1], r"d\[0\] is another one"),
    "new key": (lambda d: _put(d, "z", 1), {}, r"d\['z'\] is new"),
    "key that is gone": (lambda d: d.pop("w"), {"w": _w()}, r"d\['w'\] is gone"),
    "order of keys": (lambda d: _put(d, "a", d.pop("a")), {"a": 1, "b": 2}, "d has another order"),
    "append": (lambda d: d.append(1), [_w()], r"d\[1\] is new"),
    "pop": (lambda d: d.pop(), [_w(), 1], r"d\[1\] is gone"),
    "reverse": (lambda d: d.reverse(), [_w(), _w()], r"d\[0\] is another one"),
    "in a tuple": (lambda d: d[0].clear(), ([1],), r"d\[0\]\[0\] is gone"),
    "in a named tuple": (lambda d: d.left.clear(), Pair([1], 2), r"d\.left\[0\] is gone"),
    "in a dict": (
        lambda d: d["a"]["b"].append(1),
        {"a": {"b": []}},
        r"d\['a'\]\['b'\]\[0\] is new",
    ),
    "field": (lambda d: setattr(d, "w", d.w + 1), State(_w()), r"d\.w is another one"),
    "other attribute": (lambda d: setattr(d, "z", d.w), State(_w()), r"d\.z is new"),
    "field that is gone": (lambda d: delattr(d, "w"), State(_w()), r"d\.w is gone"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_refused(name: str) -> None:
    change, given, text = CHANGES[name]

    def function(x: Any, d: Any) -> Any:
        change(d)
        return x + 1

    wanted = rf"\[function\] {text} after the function\. .*: return the new value, or write into"
    for call in (flow.jit(function), flow.jit(function, check=1), flow.grad(function)):
        with pytest.raises(flow.graph.TraceError, match=wanted):
            call(flow.ones(()), given)
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert flow.jit(function, on_break="eager")(flow.ones(2), given).tolist() == [2, 2]


def test_an_argument_that_is_differentiated_by() -> None:
    def loss(d: Any) -> Any:
        d["w"] = d["w"] * 2
        return d["w"].sum()

    with pytest.raises(ValueError, match=r"\[grad\] args\[0\]\['w'\] is another one after the fun"):
        flow.grad(loss)({"w": flow.ones(2)})
    with pytest.raises(ValueError, match=r"\[vjp\] args\[0\]\['w'\] is another one after the func"):
        flow.vjp(loss, {"w": flow.ones(2)})


def test_what_is_no_change() -> None:
    def function(d: Any, rest: Any, *more: Any, **named: Any) -> Any:
        d["w"] += 1  # writes into the tensor
        d["n"] = 1000 + d["k"]
        rest = [*rest, 1]
        rest.append(d["state"].double)
        named["new"] = 1
        copied = {**d, "w": d["w"] * 2}
        return copied["w"] + rest[-1] + len(named) + len(more)

    run = flow.jit(function)
    for calls in range(1, 4):
        d = {"w": flow.ones(2), "n": 1007, "k": 7, "state": State(flow.ones(2))}
        assert run(d, [1], 2, a=3).tolist() == [4 + 2 + 2 + 1] * 2
        assert d["w"].tolist() == [2, 2]
        assert run.report()["traces"] == 1, calls


@dataclass
class Node:
    """With attributes that are no fields."""

    w: Any

    def __post_init__(self) -> None:
        self.near: list[Any] = []
        self.known: dict[str, Any] = {}


def test_attributes_that_are_no_fields_are_not_looked_into() -> None:
    one, other = Node(flow.full(2, 3.0)), Node(flow.ones(2))
    one.near.append(other)
    other.near.append(one)
    run = flow.jit(lambda node: node.w + node.near[0].w)
    assert [run(one).tolist() for _ in range(3)] == [[4, 4]] * 3
    assert flow.graph.trace(lambda node: node.w * 2, one).paths == ("args[0].w",)
    assert flow.grad(lambda node: (node.w * node.w).sum())(one).w.tolist() == [6, 6]


def test_attributes_that_are_no_fields_are_the_callers_own() -> None:
    def function(node: Any) -> Any:
        node.known["calls"] = len(node.near)
        return node.w * 2

    def keeps(node: Any) -> Any:
        node.known["w"] = node.w * 2
        return node.known["w"]

    def replaces(node: Any) -> Any:
        node.known = {}
        return node.w

    node = Node(flow.ones(2))
    assert flow.jit(function)(node).tolist() == [2, 2]
    assert node.known == {"calls": 0}
    with pytest.raises(flow.graph.TraceError, match=r"\[keeps\] .* is kept after the function"):
        flow.jit(keeps)(node)
    with pytest.raises(
        flow.graph.TraceError, match=r"node\.known is another one after .*cached_property"
    ):
        flow.jit(replaces)(node)
