"""OrderedDict and defaultdict are trees, as dicts are; other derived containers are refused."""

from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow


def zero() -> float:
    return 0.0


MAKERS: dict[str, Callable[..., Any]] = {
    "OrderedDict": OrderedDict,
    "defaultdict": lambda **items: defaultdict(zero, items),
}


def total(given: Any) -> Any:
    return sum(x.sum() * k for k, x in enumerate(given.values(), 1))


@pytest.mark.parametrize("name", MAKERS)
def test_tensors_in_them_are_parameters(name: str) -> None:
    given = MAKERS[name](a=flow.ones(2), b=flow.ones(3))
    traced = flow.graph.trace(total, given)
    assert traced.paths == ("args[0]['a']", "args[0]['b']")
    assert not traced.program.main.captures


@pytest.mark.parametrize("name", MAKERS)
def test_each_call_brings_others(name: str) -> None:
    both = flow.jit(lambda given: (total(given), given))
    for value in (1.0, 2.0, 3.0):
        given = MAKERS[name](a=flow.full(2, value), b=flow.full(3, value))
        sums, returned = both(given)
        assert sums.item() == 8 * value
        assert type(returned) is type(given)
        assert list(returned) == ["a", "b"]
        assert returned["a"].tolist() == [value] * 2
        assert getattr(returned, "default_factory", None) is getattr(given, "default_factory", None)
    assert both.report()["traces"] == 1


def test_the_order_and_the_class_are_a_part_of_the_program() -> None:
    run = flow.jit(total)
    a, b = flow.full((), 1.0), flow.full((), 10.0)
    given = OrderedDict(a=a, b=b)
    assert [run(given).item() for _ in range(3)] == [21] * 3
    given.move_to_end("a")
    assert [run(given).item() for _ in range(3)] == [12] * 3
    assert run({"b": b, "a": a}).item() == 12
    assert run(defaultdict(zero, b=b, a=a)).item() == 12
    assert run(defaultdict(None, b=b, a=a)).item() == 12
    assert run.report()["traces"] == 5
    assert "OrderedDict of " in run.explain()[1]


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_are_like_them(name: str) -> None:
    given = MAKERS[name](a=flow.ones(2), b=flow.ones(3))
    found = flow.grad(total)(given)
    assert type(found) is type(given)
    assert [x.tolist() for x in found.values()] == [[1, 1], [2, 2, 2]]


def test_a_missing_key_that_is_made_is_a_change() -> None:
    run = flow.jit(lambda given: given["new"] + given["a"])
    with pytest.raises(flow.graph.TraceError, match=r"given\['new'\] is new after the function"):
        run(defaultdict(zero, a=flow.ones(2)))


class Own(dict[str, Any]):
    pass


class Row(tuple[Any, ...]):
    __slots__ = ()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "deque": lambda x: deque([x]),
    "Own": lambda x: Own(a=x),
    "Row": lambda x: Row([x]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_with_tensors_are_refused(name: str) -> None:
    for x in (flow.ones(2), np.ones(2)):
        given = REFUSED[name](x)
        with pytest.raises(TypeError, match=rf"\] given\['a'\] is a {name}, whose.* OrderedDict"):
            flow.graph.trace(lambda given: given, {"a": given})
        for made in (flow.jit(len), flow.grad(len)):
            with pytest.raises(TypeError, match=r"dicts \(also OrderedDict and defaultdict\)"):
                made(given)


def test_others_without_tensors_are_passed_as_they_are() -> None:
    traced = flow.graph.trace(lambda x, n: x + len(n), flow.ones(2), deque([1, 2]))
    assert len(traced.program.main.params) == 1
    assert flow.graph.trace(lambda n, x: x + n["a"], Counter("aa"), flow.ones(2)).paths
    assert flow.graph.trace(lambda n: flow.ones(2), UserDict()).paths == ()


class Loud(OrderedDict[str, Any]):
    """Its code is not called while captured tensors are looked for."""

    is_quiet = False

    def __iter__(self) -> Any:
        assert not self.is_quiet
        return super().__iter__()

    def __getitem__(self, key: str) -> Any:
        assert not self.is_quiet
        return super().__getitem__(key)


@pytest.mark.parametrize("kind", [OrderedDict, Loud])
def test_the_order_of_a_captured_one(kind: type[OrderedDict[str, Any]]) -> None:
    held = kind(a=flow.full((), 1.0), n=None, b=flow.full((), 10.0))

    def total() -> Any:
        return sum(x * k for k, x in enumerate(OrderedDict.values(held)) if x is not None)

    run = flow.jit(total)
    held.is_quiet = True  # type: ignore[attr-defined]
    assert [run().item() for _ in range(3)] == [20] * 3
    held.move_to_end("a")
    assert [run().item() for _ in range(3)] == [12] * 3
    held.move_to_end("n", last=False)
    OrderedDict.move_to_end(held, "a", last=False)
    assert [run().item() for _ in range(3)] == [20] * 3
    OrderedDict.__delitem__(held, "a")
    assert [run().item() for _ in range(3)] == [10] * 3
