"""Tensors and functions that are put where a jitted function reads none: jit sees it."""

import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow

Case = tuple[Callable[[Any], Any], list[Callable[[], object]]]  # a function, and what is put then


def w(value: float = 1.0) -> Any:
    return flow.full(2, value)


class Model:
    bias: Any = None


class Layer:
    def __init__(self, scale: float) -> None:
        self.w = w(scale)
        self.norm: Any = None

    def __call__(self, x: Any) -> Any:
        return x * self.w if self.norm is None else self.norm(x * self.w)


class Net:
    def __init__(self) -> None:
        self.layers = [Layer(2)]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


SPACE: Any = {"flow": flow}
exec("act = lambda x: x + 1\nact2 = flow.tanh\ndef f(x):\n    return act(act2(x))\n", SPACE)


def _attribute() -> Case:
    model = Model()
    put = [
        lambda: setattr(model, "bias", w()),
        lambda: setattr(model, "bias", None),
        lambda: setattr(Model, "bias", w(3)),
        lambda: setattr(Model, "bias", None) or delattr(model, "bias"),
    ]
    return lambda x: x if model.bias is None else x + model.bias, put


def _list() -> Case:
    ws: list[Any] = [w()]
    put = [lambda: ws.append(w(2)), ws.clear, lambda: ws.append(w(4)), lambda: ws.insert(0, w(8))]
    return lambda x: x + sum(ws), put


def _last() -> Case:
    ws = [w()]
    return lambda x: x + ws[-1], [lambda: ws.append(w(2)), ws.pop]


def _many() -> Case:
    ws: list[Any] = [1.0] * 100
    put = [lambda: ws.append(2.0), lambda: ws.append(w(2)), lambda: ws.append(w(3))]
    return lambda x: x + ws[-1] if isinstance(ws[-1], flow.Tensor) else x, put


def _dict(kind: Any) -> Case:
    named = kind()
    put = [lambda: named.update(a=w()), lambda: named.update(b=w(2)), named.clear]
    return lambda x: x + sum(named.values()), [*put, lambda: named.update(c=w(4))]


def _key() -> Case:
    named: Any = {"a": w()}
    put = [lambda: named.update(z=w(2)), lambda: named.update(q=w(3)), lambda: named.pop("z")]
    return lambda x: (x + named["z"] if "z" in named else x) + named.get("q", 9), put


def _deque() -> Case:
    recent: Any = deque(maxlen=2)
    return lambda x: x + sum(recent), [lambda k=k: recent.append(w(k)) for k in (1, 2, 3)]


def _nested() -> Case:
    nested: Any = {"a": {"b": []}}
    put = [lambda: nested["a"]["b"].append(w()), lambda: nested["a"]["b"].append(w(2))]
    return lambda x: x + sum(nested["a"]["b"]), put


def _asked() -> Case:
    space = types.SimpleNamespace()
    put = [lambda: setattr(space, "a", w()), lambda: setattr(space, "b", w(2))]
    return lambda x: (x + space.a if hasattr(space, "a") else x) + getattr(space, "b", 3), put


def _layers() -> Case:
    net = Net()
    put = [
        lambda: net.layers.append(Layer(3)),
        lambda: setattr(net.layers[0], "norm", Layer(5)),
        lambda: setattr(net.layers[0], "norm", flow.negative),
    ]
    return lambda x: net.forward(x), put


def _variable() -> Case:
    c: Any = 1.0

    def put() -> None:
        nonlocal c
        c = w(4)

    return lambda x: x + c, [put]


def _defaults() -> Case:
    def function(x: Any, ws: Any = [w()], *, more: Any = []) -> Any:  # noqa: B006, B008
        return x + sum(ws) + sum(more)

    assert function.__defaults__
    assert function.__kwdefaults__
    ws, more = function.__defaults__[0], function.__kwdefaults__["more"]
    return function, [lambda: ws.append(w(2)), lambda: more.append(w(3))]


def _global() -> Case:
    put = [lambda: SPACE.update(act=lambda x: x + 100), lambda: SPACE.update(act2=flow.exp)]
    return SPACE["f"], put


def _functions() -> Case:
    found: list[Any] = [lambda x: x + 1]
    put = [lambda: found.append(flow.exp), lambda: found.__setitem__(0, lambda x: x + 5)]
    return lambda x: found[-1](found[0](x)), put


def _module() -> Case:
    module: Any = types.ModuleType("settings")
    module.bias = None
    module.act = lambda x: x * 2
    put = [lambda: setattr(module, "bias", w()), lambda: setattr(module, "act", lambda x: x * 3)]
    return lambda x: module.act(x if module.bias is None else x + module.bias), put


CASES: dict[str, Callable[[], Case]] = {
    "attribute": _attribute,
    "list": _list,
    "last of a list": _last,
    "long list": _many,
    "dict": lambda: _dict(dict),
    "ordered dict": lambda: _dict(OrderedDict),
    "key of a dict": _key,
    "deque": _deque,
    "nested": _nested,
    "hasattr": _asked,
    "layers": _layers,
    "nonlocal": _variable,
    "defaults": _defaults,
    "global function": _global,
    "functions in a list": _functions,
    "module": _module,
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_put_there_later_is_seen(name: str) -> None:
    function, puts = CASES[name]()
    run = flow.jit(function)
    x = w(0.5)
    for put in (lambda: None, *puts):
        put()
        expected = function(x).tolist()
        assert [run(x).tolist() for _ in range(3)] == [expected] * 3  # the third is a known one
    assert run.report()["traces"] <= len(puts) + 1


def test_a_layer_that_is_added_to_a_jitted_method() -> None:
    class Jitted(Net):
        forward = flow.jit(Net.forward)

    net = Jitted()
    x = w()
    assert [net.forward(x).tolist() for _ in range(3)] == [[2, 2]] * 3
    net.layers.append(Layer(3))
    assert [net.forward(x).tolist() for _ in range(3)] == [[6, 6]] * 3
    assert net.forward.explain()[1].startswith("self.layers has other items (")


def test_a_list_of_an_object_among_the_arguments() -> None:
    model: Any = Model()
    model.ws = [w()]
    run = flow.jit(lambda model, x: x + sum(model.ws))
    nested = flow.jit(lambda given, x: x + sum(given["model"].ws))
    for value in (1, 3, 5):
        for _ in range(3):
            assert (
                run(model, w(0)).tolist() == nested({"model": model}, w(0)).tolist() == [value] * 2
            )
        model.ws.append(w(2))


def test_a_gradient() -> None:
    model = Model()
    model.bias = None
    slope = flow.grad(lambda x: (x * (1 if model.bias is None else model.bias)).sum())
    assert [slope(w()).tolist() for _ in range(3)] == [[1, 1]] * 3
    model.bias = w(7)
    assert [slope(w()).tolist() for _ in range(3)] == [[7, 7]] * 3


class Trainer:
    def __init__(self) -> None:
        self.w = flow.ones(1)
        self.steps, self.last, self.best = 0, None, None
        self.losses: list[Any] = []
        self.seen: dict[Any, Any] = {}

    @flow.jit
    def step(self, x: Any) -> Any:
        self.steps += 1
        self.seen[x.shape] = x.dtype
        return (x * self.w).sum()

    def fit(self) -> None:
        for k in range(20):
            loss = self.step(flow.ones(2 + k % 2))
            self.losses.append(loss)
            self.last, self.best = loss, loss.item()
            self.seen[k] = self.best
            self.steps += 1

    def __len__(self) -> int:
        return len(self.losses)


def test_what_changes_beside_the_function_is_no_reason() -> None:
    trainer = Trainer()
    trainer.fit()
    assert trainer.step.report()["traces"] == 2

    log: list[Any] = []
    shown: dict[int, float] = {}

    @flow.jit
    def logging(x: Any) -> Any:
        log.append((x.shape, object()))
        return x if shown else x + 1

    for k in range(20):
        logging(flow.ones(2 + k % 2))
        shown[k] = k
        log.append(w())
    assert logging.report()["traces"] == 2
