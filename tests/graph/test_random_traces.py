"""The oracle, traced: random programs that are recorded and run plainly see what NumPy sees."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, plain_run, trace
from oneflow_lite.graph.text import digest_of
from tests.support import random_program
from tests.support.oracle import LAYOUTS, Flow, compare

PROGRAMS = 40
STEPS = 30


class Recorded(Flow):
    """Keeps what a look would see, and returns it at the end."""

    def look(self, label: str, x: Any, how: str = "numpy") -> None:
        self.seen.append((label, x.copy()))

    def barrier(self) -> None:
        """A program has nothing to wait for."""

    synchronize = barrier


def recordable() -> Iterator[random_program.Program]:
    """Programs without functions of the host."""
    for seed in count():
        one = random_program.program(seed, STEPS)
        if not any("rt.host(" in line for line in one.lines):
            yield one


def traced(one: random_program.Program, layout: Sequence[str]) -> Program:
    shared = Flow(layout).upload()

    def function() -> list[Any]:
        backend = Recorded(layout, shared)
        exec("\n".join(one.lines), {"rt": backend, "np": np})
        return [x for _, x in backend.seen]

    return trace(function).program


def check(one: random_program.Program, layout: Sequence[str]) -> None:
    program = traced(one, layout)
    program.verify()
    for _ in range(2):
        results = plain_run.run(program.main, [])
        for (label, expected), x in zip(one.expected, results, strict=True):
            difference = compare(expected, x.numpy())
            assert difference is None, (
                f"seed {one.seed}, look at {label}: {difference}\n{one.source(layout)}\n{program}"
            )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_random_programs(layout: Sequence[str]) -> None:
    programs = recordable()
    for number in range(PROGRAMS):
        with flow.flags(sync=number % 4 == 0):
            check(next(programs).on(layout), layout)


def test_text_of_random_programs() -> None:
    programs = recordable()
    for _ in range(PROGRAMS // 2):
        program = traced(next(programs), LAYOUTS["mixed"])
        given = dict(_constants(program))
        again = Program.parse(str(program), given)
        assert (again, str(again)) == (program, str(program))


def _constants(program: Program) -> Iterator[tuple[str, Any]]:
    for bound in program.main.constants:
        assert bound.tensor is not None
        yield digest_of(bound.tensor), bound.tensor


def test_the_oracle_can_fail() -> None:
    one = next(recordable())
    one.expected[-1] = (one.expected[-1][0], np.full((3, 1), 77))
    with pytest.raises(AssertionError, match=r"(?s)seed \d+, look at .* got .*program function"):
        check(one, LAYOUTS["cpu"])
