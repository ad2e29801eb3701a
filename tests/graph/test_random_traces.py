"""The oracle, traced: random programs that are recorded and run plainly see what NumPy sees."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, plain_run, trace
from oneflow_lite.graph.text import digest_of
from oneflow_lite.random import Generator, Philox
from tests.support import random_program
from tests.support.oracle import LAYOUTS, Flow, compare

PROGRAMS = 24
STEPS = 30


Generators = tuple[Philox, Generator]


def generators() -> Generators:
    return Philox(5), flow.random.default_rng(5)


def drawn(given: Generators, number: int, device: flow.Device) -> flow.Tensor:
    """The draw of that number of a program."""
    stream, numpys = given
    size = number % 5
    if number % 2:
        return stream.normal(size=size, dtype="float32", device=device)
    return numpys.integers(0, 100, size, device=device)


class Recorded(Flow):
    """Keeps what a look would see, and what is drawn, and returns it at the end."""

    def __init__(self, layout: Sequence[str], shared: Sequence[Any], given: Generators) -> None:
        super().__init__(layout, shared)
        self.given = given
        self.draws: list[flow.Tensor] = []

    def look(self, label: str, x: Any, how: str = "numpy") -> None:
        self.seen.append((label, x.copy()))

    def host(self, reads: list[Any], writes: list[Any]) -> None:
        """Reads and writes of a recorded function are apart."""
        apart = [x.copy() if any(x.shares_storage(y) for y in writes) else x for x in reads]
        super().host(apart, writes)

    def draw(self) -> None:
        number = len(self.draws)
        self.draws.append(drawn(self.given, number, self._layout[number % len(self._layout)]))

    def barrier(self) -> None:
        """A program has nothing to wait for."""

    synchronize = barrier


def programs() -> Iterator[random_program.Program]:
    for seed in count():
        yield random_program.program(seed, STEPS)


def traced(one: random_program.Program, layout: Sequence[str], given: Generators) -> Program:
    shared = Flow(layout).upload()
    lines = [line for row in one.lines for line in (row, *["rt.draw()"] * (len(row) % 7 == 0))]

    def function() -> list[Any]:
        backend = Recorded(layout, shared, given)
        exec("\n".join(lines), {"rt": backend, "np": np})
        return [*(x for _, x in backend.seen), *backend.draws]

    return trace(function).program


def wanted(
    one: random_program.Program, layout: Sequence[str], count: int, eager: Generators
) -> list[tuple[str, Any]]:
    """What a run of a traced program returns, which draws from these: so many results."""
    found = list(one.expected)
    for number in range(count - len(found)):
        device = flow.Device(layout[number % len(layout)])
        found.append((f"draw {number}", drawn(eager, number, device).numpy()))
    return found


def check(one: random_program.Program, layout: Sequence[str]) -> None:
    given, eager = generators(), generators()
    program = traced(one, layout, given)
    program.verify()
    run = flow.graph.compile(program)
    for results in (plain_run.run(program.main, []), run(), plain_run.run(program.main, []), run()):
        expected = wanted(one, layout, len(results), eager)
        for (label, seen), x in zip(expected, results, strict=True):
            difference = compare(seen, x.numpy())
            assert difference is None, (
                f"seed {one.seed}, look at {label}: {difference}\n{one.source(layout)}\n{program}"
            )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_random_programs(layout: Sequence[str]) -> None:
    rows = programs()
    for number in range(PROGRAMS):
        with flow.flags(sync=number % 4 == 0):
            check(next(rows).on(layout), layout)


def test_programs_draw_and_call_functions() -> None:
    kinds = [
        op.call.kind if op.object is None else op.object.kind
        for one, _ in zip(programs(), range(10), strict=False)
        for op in traced(one, LAYOUTS["cpu"], generators()).main.ops
    ]
    assert min(map(kinds.count, ("philox", "draw", "function"))) > 2


def test_text_of_random_programs() -> None:
    rows = programs()
    for _ in range(PROGRAMS // 2):
        program = traced(next(rows), LAYOUTS["mixed"], generators())
        given = dict(_constants(program))
        again = Program.parse(str(program), given)
        assert (again, str(again)) == (program, str(program))


def _constants(program: Program) -> Iterator[tuple[str, Any]]:
    for bound in program.main.constants:
        assert bound.tensor is not None
        yield digest_of(bound.tensor), bound.tensor


def test_the_oracle_can_fail() -> None:
    one = next(programs())
    one.expected[-1] = (one.expected[-1][0], np.full((3, 1), 77))
    with pytest.raises(AssertionError, match=r"(?s)seed \d+, look at .* got .*program function"):
        check(one, LAYOUTS["cpu"])
