"""The stub of the extension says of the tensors' methods what they are at run time."""

import ast
import inspect
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support import ROOT

STUB = ast.parse((ROOT / "oneflow_lite/_C.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
KINDS = inspect.Parameter
OF_ALL = {*dir(object), "__module__", "__weakref__", "__slotnames__"}  # the last is of pickle's
OF_ALL -= {"__repr__", "__str__", "__eq__", "__ne__"}
MATMUL = ("__matmul__", "__rmatmul__")  # functions, whose parameters have other names
BUFFER = {"__buffer__", "__release_buffer__"}  # seen from Python 3.12 on
RAISE = {  # they exist to say so, and a checker shall refuse them
    flow.Tensor: {"__delitem__"},
    _C.GlobalTensor: {"__array__"},
}


def declared(name: str) -> dict[str, ast.stmt]:
    """What the stub has of a class, by name."""
    found: dict[str, ast.stmt] = {}
    for node in CLASSES[name].body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def parameters_of(node: ast.FunctionDef) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of each parameter but self."""
    given, no = node.args, inspect.Parameter.empty
    plain = [(each, KINDS.POSITIONAL_ONLY) for each in given.posonlyargs]
    plain += [(each, KINDS.POSITIONAL_OR_KEYWORD) for each in given.args]
    defaults = [no] * (len(plain) - len(given.defaults)) + list(given.defaults)
    rows = [(each.arg, kind, value) for (each, kind), value in zip(plain, defaults, strict=True)]
    if given.vararg:
        rows.append((given.vararg.arg, KINDS.VAR_POSITIONAL, no))
    for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        rows.append((each.arg, KINDS.KEYWORD_ONLY, no if value is None else value))
    if given.kwarg:
        rows.append((given.kwarg.arg, KINDS.VAR_KEYWORD, no))
    return [
        (name, kind, value if value is no else ast.literal_eval(value))
        for name, kind, value in rows[1:]
    ]


def real_parameters(method: Any) -> list[tuple[str, Any, Any]] | None:
    """The same at run time; None where the extension says nothing."""
    try:
        given = list(inspect.signature(method).parameters.values())
    except ValueError:
        return None
    return [(each.name, each.kind, each.default) for each in given[1:]]


def agree(stub: list[tuple[str, Any, Any]], real: list[tuple[str, Any, Any]]) -> bool:
    """Whether they are the same, where the stub may name what the method takes as **options."""
    if real and real[-1][1] is KINDS.VAR_KEYWORD and stub[-1][1] is not KINDS.VAR_KEYWORD:
        real = real[:-1]
        return stub[: len(real)] == real and all(
            kind is KINDS.KEYWORD_ONLY for _, kind, _ in stub[len(real) :]
        )
    return stub == real


@pytest.mark.parametrize(
    "kind", [flow.Tensor, flow.distributed.GlobalTensor], ids=lambda kind: kind.__name__
)
def test_all_that_a_tensor_has_is_in_the_stub(kind: type) -> None:
    stub = set(declared(kind.__name__))
    real = {name for name in dir(kind) if name not in OF_ALL | RAISE[kind]}
    assert "__getattr__" not in stub
    assert sorted(real - stub - BUFFER) == []
    assert sorted(stub - set(dir(kind)) - BUFFER) == []


@pytest.mark.parametrize(
    "kind", [flow.Tensor, flow.distributed.GlobalTensor], ids=lambda kind: kind.__name__
)
def test_methods_have_the_parameters_that_the_stub_says(kind: type) -> None:
    wrong, compared = [], 0
    for name, node in declared(kind.__name__).items():
        if name in BUFFER:
            continue
        method = inspect.getattr_static(kind, name)
        is_operator = type(method).__name__ == "wrapper_descriptor" or name in MATMUL
        if not isinstance(node, ast.FunctionDef) or not callable(method) or is_operator:
            continue
        real = real_parameters(method)
        if real is None:
            continue
        compared += 1
        stub = parameters_of(node)
        if not agree(stub, real):
            wrong.append(f"{name}: {stub}, but {real}")
    assert compared > 40
    assert wrong == []
