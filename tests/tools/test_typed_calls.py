"""What mypy --strict knows of functions that jit, grad and vjp return."""

import re
from pathlib import Path

import pytest

from tests.support import ROOT

api = pytest.importorskip("mypy.api")

pytestmark = pytest.mark.slow

# A line that mypy refuses has the kind of its error behind it; one that it reveals, the type.
USES = """
import oneflow_lite as flow
from oneflow_lite import Tensor

@flow.jit
def step(x: Tensor, rate: float = 0.1) -> Tensor:
    return x

@flow.jit(static=("n",), lanes=2)
def times(x: Tensor, n: int) -> tuple[Tensor, int]:
    return x, n

class Model:
    @flow.jit
    def forward(self, x: Tensor) -> Tensor:
        return x

    @flow.jit(check=1)
    def checked(self, x: Tensor, n: int) -> list[Tensor]:
        return [x] * n

    def loss(self, x: Tensor) -> Tensor:
        return x

    @flow.value_and_grad
    def slope(self, x: Tensor) -> Tensor:
        return x

@flow.grad
def slope(w: Tensor, x: Tensor) -> Tensor:
    return x

@flow.value_and_grad
def both(w: Tensor, x: Tensor) -> Tensor:
    return x

def pair(w: Tensor) -> tuple[Tensor, int]:
    return w, 3

x = flow.ones(2)
model = Model()
reveal_type(step(x, rate=0.5))  # Tensor
step(x, rte=0.5)  # call-arg
reveal_type(times(x, 3))  # tuple[Tensor, int]
times(x, "3")  # arg-type
reveal_type(model.forward(x))  # Tensor
model.forward(x, 1)  # call-arg
model.forward("x")  # arg-type
reveal_type(model.checked(x, n=2))  # list[Tensor]
reveal_type(model.forward)  # Jitted[[x: Tensor], Tensor]
model.forward.report()
reveal_type(slope(x, x))  # Any
slope(x)  # call-arg
reveal_type(both(x, x=x))  # tuple[Tensor, Any]
reveal_type(model.slope(x))  # tuple[Tensor, Any]
reveal_type(flow.grad(pair, has_aux=True)(x))  # tuple[Any, int]
reveal_type(flow.value_and_grad(pair, has_aux=True)(x))  # tuple[tuple[Tensor, int], Any]
reveal_type(flow.vjp(pair, x)[0])  # tuple[Tensor, int]
reveal_type(flow.jit(flow.value_and_grad(model.loss))(x))  # tuple[Tensor, Any]
flow.jit(lambda x: x + 1)(x)
flow.grad(lambda x: x**3)(2.0)
flow.jit(step, lane=2)  # call-overload
"""


def test_types_of_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "uses.py"
    file.write_text(USES)
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    cache = str(tmp_path / "cache")
    report, errors, _ = api.run(["--strict", "--cache-dir", cache, str(file)])
    assert not errors
    found: dict[int, str] = {}
    for line in report.splitlines():
        place = re.match(r".*uses\.py:(\d+): (error|note): (.*)", line)
        if place is None:
            continue
        number, kind, text = int(place[1]), place[2], place[3]
        if kind == "error":
            found[number] = text.rpartition("[")[2].rstrip("]")
        elif text.startswith("Revealed type is"):
            found[number] = re.sub(r"[\w.]+\.(?=\w)", "", text.split('"')[1])
    lines = enumerate(USES.splitlines(), 1)
    assert found == {k: line.partition("  # ")[2] for k, line in lines if "  # " in line}
