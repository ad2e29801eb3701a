"""Arguments that programs do not have: errors name the function that was called and the way out."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError


def total(x: Any) -> Any:
    return x.sum()


WRAPPERS: dict[str, Callable[..., Any]] = {
    "jit": lambda x: flow.jit(total)(x),
    "grad": lambda x: flow.grad(total)(x),
    "value_and_grad": lambda x: flow.value_and_grad(total)(x),
    "vjp": lambda x: flow.vjp(total, x),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_list_that_contains_itself(name: str) -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(ValueError, match=rf"^\[{name}\] total: an argument: .* contain itself\?"):
        WRAPPERS[name](ring)


@pytest.mark.parametrize("name", WRAPPERS)
def test_what_cannot_be_hashed(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^\[{name}\] total: .* is a set, which is not hashable"):
        WRAPPERS[name]({1})


def global_ones() -> Any:
    return flow.ones(4).to_global(flow.placement.all("cpu"), flow.sbp.split(0))


def refused(call: Callable[[], Any]) -> str:
    """Return the text of the error."""
    with pytest.raises((TypeError, TraceError), match="global tensor") as raised:
        call()
    assert "call the function without jit or grad" in str(raised.value)
    return str(raised.value)


def test_global_tensors() -> None:
    def program() -> None:
        x = global_ones()
        for name, call in WRAPPERS.items():
            assert refused(lambda call=call: call(x)).startswith(f"[{name}] total: x is a global")
        assert "given['x'] is a global" in refused(lambda: flow.jit(lambda given: given)({"x": x}))
        assert refused(lambda: flow.graph.trace(total, x)).startswith("[total] x is a global")
        local = flow.ones(2)
        assert refused(lambda: flow.jit(lambda y: x + 1)(local)).startswith("[<lambda>] returns a")
        assert refused(lambda: flow.jit(lambda y: (x + 1).sum())(local)).startswith("[to_global]")
        assert refused(lambda: flow.grad(lambda y: global_ones().sum())(local))
        assert flow.jit(total)(x.to_local()).item() == 4
        works = x.sum()
        assert works.numpy().item() == 8

    flow.distributed.run(program, ranks=2)
