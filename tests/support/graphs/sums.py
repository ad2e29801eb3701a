"""Random functions of sums and matrix products, whose numbers are small integers.

Their sums are exact in any order, so a program in which products add into accumulators has eager's
bits, too.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support.graphs.functions import DEVICES, Call, Random

SIZE = 6
CALLS: tuple[Call, ...] = ((0, False), (1, False))


@dataclass
class Writer:
    """Writes a function of x, y and z line by line; a square is bound once, or written in place."""

    seed: int
    steps: int
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.names = ["x", "y"]

    def pick(self) -> str:
        return self.rng.choice(self.names[-4:])

    def new(self, expression: str) -> None:
        name = f"v{len(self.names)}"
        lane = self.rng.randrange(8)
        prefix = f"with flow.vm.lane({lane}): " if lane < 4 else ""
        self.lines.append(f"{prefix}{name} = {expression}")
        self.names.append(name)

    def small(self) -> None:
        """Numbers from 0 to 6, of any integers."""
        how = self.rng.choice(["{0}", "{0}.T", "{0}[::-1]", "{0} + 1"])
        self.new(f"flow.remainder({how.format(self.pick())}, 7)")

    def product(self) -> None:
        """A product of small numbers stays exact."""
        self.new(f"{self.factors()}{self.rng.choice(['', '', '', '.T'])}")

    def factors(self) -> str:
        a, b = (f"flow.remainder({self.pick()}, 7)" for _ in range(2))
        return f"{a} @ {b}"

    def sum(self) -> None:
        a, b = self.pick(), self.rng.choice([self.names[-1], f"({self.factors()})"])
        kinds = ["{0} + {1}", "{1} + {0}", "{0} + {1}", "{0} + {1}.T", "({0}.T + {1}.T)"]
        kinds += ["{0}[0] + {1}", "flow.abs({0} + {1}) - 1"]
        self.new(self.rng.choice(kinds).format(a, b))

    def add_in_place(self) -> None:
        names = self.names if self.rng.random() < 0.3 else self.names[2:] or self.names
        key = self.rng.choice(["", "", "", "[1:]"])
        part = self.rng.choice([self.names[-1], f"({self.factors()})"])
        self.lines.append(f"{self.rng.choice(names)}{key} += {part}{key}")

    def write_out(self) -> None:
        target = self.rng.choice(self.names)
        self.lines.append(f"flow.add({self.pick()}, {self.names[-1]}, out={target})")

    def text(self) -> str:
        kinds = [self.small, self.product, self.sum, self.add_in_place, self.write_out]
        for _ in range(self.steps):
            self.rng.choices(kinds, (3, 2, 5, 4, 1))[0]()
        self.lines.append(f"return {self.names[-1]}, {self.rng.choice(self.names)}")
        return "def function(x, y, z, *others):\n    " + "\n    ".join(self.lines) + "\n"


class Sums(Random):
    """A random function of sums, on one device."""

    @classmethod
    def random(cls, seed: int, steps: int = 16) -> "Sums":
        device = DEVICES[seed % 2][0]
        return cls(seed, (device, device), Writer(seed, steps).text(), SIZE)

    def arguments(self, seed: int, is_wrong: bool) -> list[Any]:
        rng = np.random.default_rng(1000 * self.seed + seed)
        arrays = [rng.integers(-3, 4, (SIZE, SIZE)).astype(float) for _ in range(3)]
        return [flow.tensor(array, device=self.devices[0]) for array in arrays]
