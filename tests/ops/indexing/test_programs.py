"""Random programs that read and write by arrays and masks what views of it are written through."""

import os
from collections.abc import Sequence

import pytest

import oneflow_lite as flow
from tests.support.oracle import computes_itself
from tests.support.random_program import LARGEST, LAYOUTS, Generator, Program, knobs

pytestmark = pytest.mark.slow

PROGRAMS = int(os.environ.get("OFL_TEST_PROGRAMS", "400")) // 16
TIMINGS = list(knobs())


class IndexingGenerator(Generator):
    """Half of the views, assignments and in-place operations are by arrays."""

    def indices(self, size: int, most: int) -> str:
        """The source of an array of places along an axis, of the host or of any device."""
        count = self.rng.choice([n for n in (1, 3, 7, 150, 3000) if n <= most] or [1])
        if self.rng.random() < 0.25:
            return str([self.rng.randrange(-size, size) for _ in range(min(count, 7))])
        shape = self.rng.choice([(count,), (count,), (2, count), ()])
        dtype = self.rng.choice(["int64", "int32"])
        seed, device = self.rng.randrange(999), self.rng.randrange(3)
        made = f"rt.make({shape}, {dtype!r}, {seed}, 'plain', {device})"
        places = f"rt.call('remainder', {made}, {size})"
        return places if self.rng.random() < 0.7 else f"rt.operate('-', {places}, {size})"

    def array_key(self, x: str) -> str | None:
        shape, device = self.value(x).shape, self.variables[x].device
        if not shape or not self.value(x).size:
            return None
        if self.rng.random() < 0.35:
            same = [y for y in self.variables if self.value(y).shape == shape]
            if self.rng.random() < 0.3:
                seed = self.rng.randrange(99)
                return f"rt.make({shape[:1]}, 'bool', {seed}, 'plain', {device}), ..."
            return f"rt.operate('!=', {self.rng.choice(same)}, 0), ..."
        axis = self.rng.randrange(len(shape))
        rest = self.value(x).size // shape[axis]
        parts = [self.slice(size) for size in shape]
        parts[axis] = self.indices(shape[axis], LARGEST // (4 * rest))
        if len(shape) > 1 and self.rng.random() < 0.3:
            other = self.rng.choice([d for d in range(len(shape)) if d != axis])
            parts[other] = str(self.rng.randrange(shape[other]))
        return ", ".join([*parts[: self.rng.randrange(axis + 1, len(shape) + 1)], "..."])

    def view(self) -> None:
        x = self.pick() if self.rng.random() < 0.5 else None
        key = x and self.array_key(x)
        if key:
            self.new(f"rt.copy({x}[{key}])", self.variables[x].device)
        else:
            super().view()

    def assign(self) -> None:
        pair = self.same_device() if self.rng.random() < 0.7 else None
        key = pair and self.array_key(pair[0])
        if not pair or not key:
            return super().assign()
        target, source = pair
        if self.rng.random() < 0.4:
            self.emit(f"{target}[{key}] = {self.rng.choice(['0', '1', '3', 'True'])}")
        elif self.castable(source, target):
            other = self.array_key(source) or "..."
            self.emit(f"{target}[{key}] = {source}[{self.rng.choice([key, other, '...', '0'])}]")

    def in_place(self) -> None:
        x = self.pick(writable=True) if self.rng.random() < 0.6 else None
        key = x and self.array_key(x)
        if not key:
            return super().in_place()
        if self.rng.random() < 0.3:
            self.emit(f"rt.look({x!r}, {x}[{key}])")
        y = self.operand(self.variables[x].device) if self.rng.random() < 0.3 else "1"
        self.emit(f"{x}[{key}] {self.rng.choice(['+=', '-=', '*=', '|='])} {y}")


def program(seed: int, exact: bool = False) -> Program:
    return IndexingGenerator(seed, 50, exact).generate()


def judged(seed: int, layout: Sequence[str]) -> Program:
    """Where a device computes itself, half of the programs do only what has NumPy's bits there; of
    the others the naive mode is the oracle."""
    if any(computes_itself(flow.Device(device)) for device in layout) and seed % 2 == 0:
        return program(seed, exact=True)
    return program(seed).on(layout)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_indexing_programs(layout: Sequence[str], naive: bool) -> None:
    for seed in range(PROGRAMS):
        with flow.flags(**TIMINGS[seed % len(TIMINGS)]):
            judged(seed, layout).run(layout)


def test_programs_do_what_they_are_for() -> None:
    text = "\n".join(line for seed in range(40) for line in program(seed).lines)
    for part in (
        "remainder', rt.make(",
        "[rt.operate('!=', ",
        "...] +=",
        "...] = v",
        "[[",
    ):
        assert part in text
