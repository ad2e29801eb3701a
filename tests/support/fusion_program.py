"""Random programs of large elementwise operations, as the machine fuses them.

All operations of a program wait for one gate, so that the worker finds them together: temporaries,
views, writes in place, broadcasts, casts and reductions among them. What is left at the end must be
NumPy's, bit for bit, in every setting; on a CUDA device, what the device gives without fusion.

    python -m tests.support.fusion_program --seed 7 --count 500
    ONEFLOW_LITE_CUDA_SIM=devices=1 python -m tests.support.fusion_program --device cuda:0
"""

import argparse
import random
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import compare, values

SHAPES = (
    *((4096,), (20_001,), (50_000,), (70, 300), (300, 70), (10_000, 3), (7, 5000), (129, 129)),
    *((40, 31, 17), (3, 9001), (2, 100, 101), (64, 1024)),
)
KINDS = ("float32", "float64", "float32", "int32", "complex64", "float16", "bool", "uint8", "int64")
UNARY = (
    *("negative", "abs", "square", "sqrt", "exp", "tanh", "sin", "floor", "sign", "positive"),
    *("logical_not", "isnan", "trunc", "reciprocal", "conj", "log1p"),
)
BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal", "hypot"),
    *("greater_equal", "logical_and", "bitwise_xor", "fmax", "floor_divide", "add", "multiply"),
)
LARGEST = 2_000_000  # elements: all of them may be in memory at once
IN_PLACE = ("+=", "-=", "*=", "/=")
SETTINGS: tuple[dict[str, Any], ...] = (
    {"num_threads": 1, "fusion": "always"},
    {"num_threads": 2, "fusion": "always"},
    {"num_threads": 3, "fusion": "always", "inline": "1us"},
    {"num_threads": 7, "fusion": "always"},
    {"num_threads": 0, "fusion": "1"},
    {"num_threads": 2, "fusion": "0"},
)


@dataclass
class FusionProgram:
    """Source lines over ``xp``, and the names that are alive at the end."""

    seed: int
    steps: int = 30
    lines: list[str] = field(default_factory=list)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.shape = self.rng.choice(SHAPES)
        self.names: dict[str, Any] = {"xp": np}
        for i in range(3):
            array = values(self.shape, self.rng.choice(KINDS), self.seed * 8 + i)
            self.inputs[f"a{i}"] = array
        row, column = self.shape[-1:], (*self.shape[:-1], 1)
        self.inputs["row"] = values(row, "float32", self.seed + 1)
        self.inputs["column"] = values(column, "float64", self.seed + 2)
        self.inputs["point"] = values((), "float32", self.seed + 3)
        self.names |= {name: np.array(array) for name, array in self.inputs.items()}
        self.mine = ["a0", "a1", "a2"]  # what steps pick from
        for number in range(self.steps):
            self._step(f"t{number}")

    def _try(self, line: str) -> bool:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                exec(line, self.names)
                made = self.names.get(line.partition(" = ")[0])
                if isinstance(made, np.ndarray) and made.size > LARGEST:
                    raise ValueError("a column and a row made a square")
        except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.ComplexWarning):
            self.names.pop(line.partition(" = ")[0], None)
            return False
        self.lines.append(line)
        return True

    def _pick(self) -> str:
        return self.rng.choice(self.mine[-5:] if self.rng.random() < 0.7 else self.mine)

    def _operand(self) -> str:
        others = ["row", "column", "point", "2", "0.5", "-1"]
        return self._pick() if self.rng.random() < 0.6 else self.rng.choice(others)

    def _expression(self) -> str:
        x, y, z = self._pick(), self._operand(), self._operand()
        choice = self.rng.random()
        if choice < 0.25:
            return f"xp.{self.rng.choice(UNARY)}({x})"
        if choice < 0.6:
            name = self.rng.choice(BINARY)
            return f"xp.{name}({x}, {y})" if self.rng.random() < 0.7 else f"xp.{name}({y}, {x})"
        if choice < 0.68:
            return f"{x}.astype(xp.{self.rng.choice(KINDS)})"
        if choice < 0.76:
            return f"xp.where({x} > {y}, {x}, {self._pick()})"
        if choice < 0.82:
            view = self.rng.choice([f"{x}[::-1]", f"{x}[..., ::-1]", f"{x}[1:]", f"{x}[..., :-1]"])
            return self.rng.choice([view, f"{view} + {view}", f"{x}[1:] - {x}[:-1]"])
        if choice < 0.85:
            return self._over_rows(x, y)
        if choice < 0.92:
            name = self.rng.choice(["sum", "max", "min", "mean", "any", "sum"])
            axis = self.rng.choice(["None", "-1", "0", "-1"])
            taken = self.rng.choice([f"{x} * {y}", f"{x} * {y}", x, f"({x} * {y}).T", f"{x}.T"])
            return f"xp.{name}({taken}, axis={axis}, keepdims=True)"
        return f"({x} * {y} + {z})"

    def _over_rows(self, x: str, y: str) -> str:
        """What is made of an array and of what its rows, or all of it, are reduced to."""
        name = self.rng.choice(["sum", "max", "mean", "sum", "min", "prod"])
        axis = self.rng.choice(["-1", "-1", "-1", "None"])
        taken = self.rng.choice([x, f"xp.tanh({x})", f"({x} - {y})", f"({x} * {x})"])
        reduced = f"xp.{name}({taken}, axis={axis}, keepdims=True)"
        operator = self.rng.choice(["-", "/", "*", "<"])
        return self.rng.choice([f"({x} {operator} {reduced})", f"({reduced} * {y} + {taken})"])

    def _step(self, name: str) -> None:
        choice = self.rng.random()
        if choice < 0.12:
            x, y = self._pick(), self._operand()
            where = self.rng.choice(["", "", "[...]", "[1:]", "[..., ::2]"])
            source = self.rng.choice([y, y, f"{x}{where}", f"{x}[:-1]"])
            self._try(f"{x}{where} {self.rng.choice(IN_PLACE)} {source}")
        elif choice < 0.18 and len(self.mine) > 3:
            dropped = self.rng.choice(self.mine)
            self.mine.remove(dropped)
            self._try(f"del {dropped}")
        elif self._try(f"{name} = {self._expression()}"):
            self.mine.append(name)
            if len(self.mine) > 6 and self.rng.random() < 0.8:
                self._try(f"del {self.mine.pop(0)}")

    def results(self, device: str) -> dict[str, np.ndarray]:
        """What is left when it has run on a device, all operations waiting for one gate."""
        names: dict[str, Any] = {name: flow.tensor(array) for name, array in self.inputs.items()}
        opened = threading.Event()
        held = flow.vm.host_func(lambda *_: opened.wait(), writes=list(names.values()))
        try:
            names = {name: x.to(device) for name, x in names.items()} | {"xp": flow}
            for line in self.lines:
                exec(line, names)
        finally:
            opened.set()
        flow.synchronize()  # a look at what is held would keep the rest out of the groups
        held.result()
        return {name: names[name].numpy() for name in self.mine}

    def run(self) -> None:
        """Run it on the cpu; AssertionError where a result is not NumPy's."""
        self._judge(self.names, self.results("cpu"))

    def run_on(self, device: str) -> None:
        """Run it with fused kernels; AssertionError where they do not give what single ones do."""
        with flow.flags(fusion=False):
            want = self.results(device)
        for _ in range(4):  # the first ones ask for the kernels
            self._judge(want, self.results(device))
            _C.wait_for_kernels()

    def _judge(self, want: Mapping[str, Any], got: Mapping[str, np.ndarray]) -> None:
        for name in self.mine:
            difference = compare(want[name], got[name])
            if difference:
                source = "\n".join(self.lines)
                raise AssertionError(
                    f"seed {self.seed}, shape {self.shape}, {name}: {difference}\n{source}"
                )


def main() -> int:
    """Run seeds in every setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--device", default="cpu", help="where they run")
    given = parser.parse_args()
    failed = 0
    for seed in range(given.seed, given.seed + given.count):
        program = FusionProgram(seed)
        for setting in SETTINGS if given.device == "cpu" else SETTINGS[:1]:
            try:
                with flow.flags(**setting):
                    program.run() if given.device == "cpu" else program.run_on(given.device)
            except AssertionError as error:
                failed += 1
                print(f"{setting}: {error}\n")
    fused = {name: count for name, count in flow.vm.stats().items() if name.startswith("fused")}
    print(f"{given.count} programs from seed {given.seed}: {failed} failures, {fused}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
