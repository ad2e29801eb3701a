"""An unknown extent as an argument of a function of the library: an operand, or refused with the
function and the line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, TraceError

# By the operation that the error names; each is called with x of shape (N0, 4).
REFUSED: dict[str, Callable[[Any], Any]] = {
    "full": lambda x: flow.full((x.shape[0],), x.shape[0]),
    "full_like": lambda x: flow.full_like(x, x.shape[0]),
    "tensor": lambda x: flow.tensor([x.shape[0]]),
    "setitem": lambda x: (x + 1).__setitem__(0, x.shape[0]),
    "permutation": lambda x: flow.random.permutation(x.shape[0]),
    "pad": lambda x: flow.pad(x, x.shape[0]),
    "repeat": lambda x: flow.repeat(x, x.shape[0], axis=0),
    "sum": lambda x: x.sum(axis=(x.shape[0],)),
    "mean": lambda x: flow.mean(x, axis=x.shape[0]),
    "argmax": lambda x: x.argmax(axis=x.shape[0]),
    "expand_dims": lambda x: flow.expand_dims(x, x.shape[0]),
    "permute_dims": lambda x: x.transpose(x.shape[0], 0),
    "matmul": lambda x: flow.matmul(x, x.shape[0]),
    "sin": lambda x: flow.sin(x.shape[0]),
    "add": lambda x: flow.add(x.shape[0], 2.0),
    "where": lambda x: flow.where(x > 0, x.shape[0], np.ones(4)),
}
_MAKERS = ("full", "full_like")  # of a tensor, by which they are named


@pytest.mark.parametrize("op", REFUSED)
def test_what_needs_the_number_is_refused_with_its_line(op: str) -> None:
    line = REFUSED[op].__code__.co_firstlineno
    with pytest.raises(TraceError, match=r"unknown extent N0 is") as caught:  # noqa: SIM117
        with flow.graph.building(Program("main")):
            REFUSED[op](flow.graph.data("x", (None, 4)))
    assert str(caught.value).startswith(f"[{'tensor' if op in _MAKERS else op}] ")
    assert f"test_extents_as_arguments.py:{line})" in str(caught.value)


def test_an_operand_in_place_is_written_to_the_parameter() -> None:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None,))
        w = flow.graph.parameter("w", 2, init=1.0)
        w += x.shape[0]
    exe, scope = Executor(), Scope()
    exe.run(startup, scope=scope)
    for size in (3, 4):
        exe.run(main, {"x": np.zeros(size)}, [x], scope=scope)
    assert scope["w"].tolist() == [8.0, 8.0]


@pytest.mark.parametrize("look", [flow.nonzero, lambda x: x[x > 0]], ids=["nonzero", "mask"])
def test_numbers_that_stand_for_extents_are_in_no_error(look: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match=r"a tensor of shape \(2\*N0, 4\)"):  # noqa: SIM117
        with flow.graph.building(Program("main")):
            x = flow.graph.data("x", (None, 4))
            look(flow.concat([x, x]))
