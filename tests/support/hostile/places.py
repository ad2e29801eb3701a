"""Where an argument can be put: each parameter of each public function, and each operator."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import numpy as np

import oneflow_lite as flow

NOT_CALLED = {"flags", "load", "save", "savez", "savez_compressed", "map_device", "Generator"}
NOT_CALLED |= {"fromfile", "genfromtxt", "loadtxt", "savetxt", "tofile"}  # files, too
NOT_CALLED |= {"printoptions", "set_printoptions", "seterr"}  # options of the whole process


def square() -> flow.Tensor:
    return flow.tensor([[2.0, 1.0], [1.0, 3.0]])


def row() -> flow.Tensor:
    return flow.tensor([1, 0])


GOOD: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("shape", "new_shape", "dimensions", "dims"), lambda: [2, 2]),
    **dict.fromkeys(("axes", "order", "axis", "axis1", "source", "n", "num", "start"), lambda: 1),
    **dict.fromkeys(("axis2", "destination", "k", "shift", "kth", "parts", "low"), lambda: 0),
    **dict.fromkeys(("repeats", "repetitions", "pad_width", "n_rows", "N", "length"), lambda: 2),
    **dict.fromkeys(("indices", "obj", "places", "bins", "sections", "multi_index"), row),
    **dict.fromkeys(("dtype", "type", "from_", "to"), lambda: "float32"),
    **dict.fromkeys(("arrays", "choicelist", "choices", "keys"), lambda: [square(), square()]),
    **dict.fromkeys(("condition", "mask"), lambda: square() > 1),
    "condlist": lambda: [square() > 1, square() > 2],
    "funclist": lambda: [1, 2],
    "subscripts": lambda: "ij,ij->i",
    "fn": lambda: lambda *arrays: None,
    "target": lambda: "cpu",
    "device": lambda: "cpu",
    "kind": lambda: "integral",
    "p": lambda: 0.5,
    "deg": lambda: 1,
    "pvals": lambda: [0.5, 0.5],
    "function": lambda: len,
}


@dataclass
class Place:
    """A parameter of a function to put something into; the others have good values."""

    function: Callable[..., Any]
    name: str
    parameter: Parameter
    before: list[Any]

    def __call__(self, value: Any) -> Any:
        if self.parameter.kind == Parameter.KEYWORD_ONLY:
            return self.function(*self.before, **{self.parameter.name: value})
        if self.parameter.kind == Parameter.VAR_POSITIONAL:
            return self.function(*self.before, value, value)
        return self.function(*self.before, value, *self.needed())

    def needed(self) -> list[Any]:
        """Good values of the parameters behind it that have no default."""
        parameters = list(inspect.signature(self.function).parameters.values())
        at = [parameter.name for parameter in parameters].index(self.parameter.name)
        behind = parameters[at + 1 :]
        return [good(p) for p in behind if p.default is Parameter.empty and positional(p)]


def positional(parameter: Parameter) -> bool:
    return parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def good(parameter: Parameter) -> Any:
    if parameter.default is not Parameter.empty:
        return parameter.default
    return GOOD.get(parameter.name, square)()


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for prefix, space in (
        ("", flow),
        ("linalg.", flow.linalg),
        ("fft.", flow.fft),
        ("random.", flow.random),
        ("vm.", flow.vm),
        ("Tensor.", flow.Tensor),
    ):
        for name in getattr(space, "__all__", dir(space)):
            function = getattr(space, name)
            special = name.startswith("_") or inspect.isclass(function) or name in NOT_CALLED
            if callable(function) and not special:
                yield prefix + name, function


def places() -> Iterator[Place]:
    for name, function in functions():
        if getattr(function, "__module__", "") == "numpy":
            continue  # NumPy's own: it is not for us to say what they take
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError:
            continue  # of C, without a signature: methods without arguments
        for i, parameter in enumerate(parameters):
            if parameter.kind == Parameter.VAR_KEYWORD or parameter.name == "self":
                continue
            before = [good(p) for p in parameters[:i] if positional(p)]
            yield Place(function, f"{name}({parameter.name})", parameter, before)
    yield from operators()


def operators() -> Iterator[Place]:
    """What is no function with a signature."""
    parameter = Parameter("key", Parameter.POSITIONAL_ONLY)

    def place(name: str, function: Callable[..., Any]) -> Place:
        return Place(function, name, parameter, [])

    def set_item(key: Any, /) -> None:
        square()[key] = 1

    def set_value(key: Any, /) -> None:
        square()[0] = key

    def update(key: Any, /) -> None:
        x = square()
        x += key

    def set_mock(key: Any, /) -> None:
        with flow.flags(mock=key):
            pass

    yield place("x[key]", lambda key, /: square()[key])
    yield place("x[0, key]", lambda key, /: square()[0, key])
    yield place("x[key, mask]", lambda key, /: square()[key, row() > 0])
    yield place("x[:key]", lambda key, /: square()[:key])
    yield place("x[key] = 1", set_item)
    yield place("x[0] = key", set_value)
    yield place("x += key", update)
    yield place("x + key", lambda key, /: square() + key)
    yield place("key @ x", lambda key, /: key @ square())
    yield place("x == key", lambda key, /: square() == key)
    yield place("x.item(key)", lambda key, /: square().item(key))
    yield place("np.concatenate(key)", lambda key, /: np.concatenate([square(), key]))
    yield place("flags(mock=key)", set_mock)
    yield place("host_func(writes)", lambda key, /: flow.vm.host_func(len, [], key))
