"""What type checkers know of functions that jit, grad and vjp return."""

from typing import Any, assert_type

import oneflow_lite as flow
from oneflow_lite import Tensor


@flow.jit
def step(x: Tensor, rate: float = 0.1) -> Tensor:
    return x * rate


@flow.jit(static=("n",), lanes=2)
def times(x: Tensor, n: int) -> tuple[Tensor, int]:
    return x * n, n


class Model:
    @flow.jit
    def forward(self, x: Tensor) -> Tensor:
        return x * 2

    @flow.jit(check=1)
    def checked(self, x: Tensor, n: int) -> list[Tensor]:
        return [x + 1] * n

    def loss(self, x: Tensor) -> Tensor:
        return (x * x).sum()

    @flow.value_and_grad
    def slope(self, x: Tensor) -> Tensor:
        return (x * x).sum()


@flow.grad
def slope(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


@flow.value_and_grad
def both(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


def pair(w: Tensor) -> tuple[Tensor, int]:
    return w.sum(), 3


def legal_calls() -> None:
    x = flow.ones(2)
    assert_type(step(x, rate=0.5), Tensor)
    assert_type(times(x, 3), tuple[Tensor, int])
    flow.jit(lambda x: x + 1)(x)


def legal_methods() -> None:
    x, model = flow.ones(2), Model()
    assert_type(model.forward(x), Tensor)
    assert_type(model.checked(x, n=2), list[Tensor])
    model.forward.report()
    assert_type(flow.jit(flow.value_and_grad(model.loss))(x), tuple[Tensor, Any])


def legal_gradients() -> None:
    x = flow.ones(2)
    assert_type(slope(x, x), Any)
    assert_type(both(x, x=x), tuple[Tensor, Any])
    assert_type(flow.grad(pair, has_aux=True)(x), tuple[Any, int])
    assert_type(flow.value_and_grad(pair, has_aux=True)(x), tuple[tuple[Tensor, int], Any])
    assert_type(flow.vjp(Model().loss, x)[0], Tensor)
    flow.grad(lambda x: x**3)(2.0)


def wrong_calls(x: Tensor, model: Model) -> None:
    step(x, rte=0.5)  # type: ignore[call-arg]
    times(x, "3")  # type: ignore[arg-type]
    model.forward(x, 1)  # type: ignore[call-arg]
    model.forward("x")  # type: ignore[arg-type]
    assert_type(model.slope(x), tuple[Tensor, Any])  # its first argument is the model
    slope(x)  # type: ignore[call-arg]
    flow.jit(step, lane=2)  # type: ignore[call-overload]
