"""Random programs: the oracle of the tests.

A program is Python source over a backend ``rt``. One backend is NumPy, which runs everything at
once and in order; the other is oneflow_lite, on any layout of the program's three devices. What the
two see when they look must be equal, bit for bit.

    python -m tests.support.random_program --seed 7 --count 500
"""

import argparse
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support.oracle import DTYPES, LAYOUTS, SHARED, Flow, Numpy, compare
from tests.support.precision import is_exact

LARGEST = 100_000  # elements of a result

# Small shapes run in the calling thread, large ones on a worker, where they may run as one.
_SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (0,), (3, 0, 2), (1,), (7,), (4, 5), (2, 3, 4), (1, 6, 1), (33, 17)),
    *((129, 129), (20000,), (3, 7000), (2, 100, 101), (40000,)),
)
_BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "remainder"),
    *("less", "equal", "greater_equal", "logical_and", "bitwise_xor", "bitwise_and", "hypot"),
    *("copysign", "add", "multiply", "subtract"),
)
_UNARY = (
    *("negative", "abs", "square", "sqrt", "exp", "tanh", "sin", "floor", "sign", "positive"),
    *("logical_not", "bitwise_invert", "isnan", "signbit", "reciprocal", "conj", "log1p"),
)
# Of operands of these dtypes each device has NumPy's bits.
_EXACT_DTYPES = ("bool", "int8", "int64", "uint16", "float16", "float32", "float64")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=")
_IN_PLACE = ("+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=")


@dataclass
class Variable:
    """What the generator knows of a variable beside its value."""

    device: int
    read_only: bool = False


@dataclass
class Generator:
    """Writes a program line by line; NumPy runs each line at once and may refuse it."""

    seed: int
    steps: int = 40
    exact: bool = False  # only what kernels of a CUDA device have NumPy's bits of
    lines: list[str] = field(default_factory=list)
    backend: Numpy = field(default_factory=Numpy)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.variables: dict[str, Variable] = {}
        self.names: dict[str, Any] = {"rt": self.backend, "np": np}
        self.count = 0
        self.dtypes = _EXACT_DTYPES if self.exact else DTYPES
        self.unary, self.binary = (
            tuple(name for name in names if not self.exact or is_exact(name))
            for names in (_UNARY, _BINARY)
        )

    # --- lines

    def emit(self, line: str, name: str | None = None, variable: Variable | None = None) -> bool:
        """Run the line, on some lane; keep it when NumPy takes it."""
        if self.rng.random() < 0.25:
            line = f"with rt.lane({self.rng.randrange(4)}): {line}"
        seen = len(self.backend.seen)
        try:
            with np.errstate(all="ignore"):
                exec(line, self.names)
        except (TypeError, ValueError, OverflowError, IndexError):
            del self.backend.seen[seen:]
            return False
        self.lines.append(line)
        if name is not None and variable is not None:
            self.variables[name] = variable
        return True

    def new(self, expression: str, device: int, read_only: bool = False) -> str | None:
        self.count += 1
        name = f"v{self.count}"
        done = self.emit(f"{name} = {expression}", name, Variable(device, read_only))
        return name if done else None

    def pick(self, device: int | None = None, writable: bool = False) -> str | None:
        names = [
            name
            for name, variable in self.variables.items()
            if (device is None or variable.device == device)
            and not (writable and variable.read_only)
        ]
        # Late variables are more likely to be views with work in flight.
        return self.rng.choice(names[-6:] if self.rng.random() < 0.6 else names) if names else None

    def value(self, name: str) -> np.ndarray:
        return self.names[name]

    # --- parts of lines

    def scalar(self) -> str:
        scalars = ["2", "3", "1", "0", "-1", "0.5", "-2.25", "True", "1.5j", "float('nan')"]
        scalars += ["np.float32(1.5)", "np.int8(3)", "np.float64(0.1)", "np.uint16(7)"]
        return self.rng.choice([text for text in scalars if not (self.exact and "j" in text)])

    def slice(self, size: int) -> str:
        start, stop = sorted(self.rng.choices(range(size + 1), k=2))
        step = self.rng.choice([1, 1, 2, 3])
        if self.rng.random() < 0.3:
            return self.rng.choice(["::-1", f"::{-step}", f"{stop}:{start}:{-step}"])
        return self.rng.choice(
            [":", f"{start}:{stop}:{step}", f"{start}:", f":{stop}", "1:", ":-1"]
        )

    def key(self, shape: tuple[int, ...]) -> str:
        """An index; the ellipsis keeps a 0-d result a view in NumPy."""
        parts = []
        for size in shape:
            if self.rng.random() < 0.15 and size:
                parts.append(str(self.rng.randrange(-size, size)))
            else:
                parts.append(self.slice(size))
            if self.rng.random() < 0.05:
                parts.append("None")
        if self.rng.random() < 0.3:
            parts = parts[: self.rng.randrange(len(parts) + 1)]
        return ", ".join([*parts, "..."])

    def operand(self, device: int) -> str:
        """A variable of the device, or a scalar."""
        name = self.pick(device) if self.rng.random() < 0.75 else None
        return name or self.scalar()

    def is_large(self, *names: str | None) -> bool:
        """Together they would make something that takes long."""
        shapes = [self.value(name).shape for name in names if name in self.variables]
        try:
            broadcast = np.prod(np.broadcast_shapes(*shapes), dtype=float)
        except ValueError:
            broadcast = 0
        return max(broadcast, sum(np.prod(shape, dtype=float) for shape in shapes)) > LARGEST

    # --- steps

    def create(self) -> None:
        shape, dtype = self.rng.choice(_SHAPES), self.rng.choice(self.dtypes)
        device = self.rng.randrange(3)
        if self.rng.random() < 0.2:
            self.new(f"rt.full({shape}, {self.rng.randrange(9)}, {dtype!r}, {device})", device)
            return
        layout = self.rng.choice(["plain", "fortran", "negative", "strided", "swapped"])
        seed = self.rng.randrange(10**6)
        self.new(f"rt.make({shape}, {dtype!r}, {seed}, {layout!r}, {device})", device)

    def elementwise(self) -> None:
        x = self.pick()
        if x is None:
            return
        device = self.variables[x].device
        y = self.operand(device)
        choice = self.rng.random()
        if self.is_large(x, y):
            return
        if choice < 0.3:
            self.new(f"rt.call({self.rng.choice(self.unary)!r}, {x})", device)
        elif choice < 0.6:
            self.new(f"rt.call({self.rng.choice(self.binary)!r}, {x}, {y})", device)
        elif choice < 0.7:
            self.new(f"rt.operate({self.rng.choice(_OPERATORS)!r}, {y}, {x})", device)
        elif choice < 0.8:
            # NumPy's where wraps an integer that does not fit; ours refuses it.
            y = "1" if y == "-1" and self.value(x).dtype.kind == "u" else y
            self.new(f"rt.call('where', rt.call('isfinite', {x}), {x}, {y})", device)
        elif choice < 0.9 and not self.exact:
            self.new(f"rt.call('clip', {x}, {self.scalar()}, {self.scalar()})", device)
        else:
            self.with_array(x, device)

    def with_array(self, x: str, device: int) -> None:
        shape, dtype = self.value(x).shape, self.rng.choice(self.dtypes)
        layout = self.rng.choice(["plain", "negative"])
        line = f"array = rt.array({shape}, {dtype!r}, {self.rng.randrange(999)}, {layout!r})"
        if self.emit(line) and self.new(f"rt.call('add', {x}, array)", device):
            self.emit("rt.forget(array)")

    def same_device(self) -> tuple[str, str] | None:
        target = self.pick(writable=True)
        source = target and self.pick(self.variables[target].device)
        return (target, source) if target and source else None

    def castable(self, source: str, target: str) -> bool:
        """The cast is defined by the C standard, and both have it."""
        x, dtype = self.value(source), self.value(target).dtype
        if x.dtype.kind == "c":
            return dtype.kind == "c"
        if x.dtype.kind != "f" or dtype.kind in "fcb":
            return True
        limits = np.iinfo(dtype)
        with np.errstate(all="ignore"):
            inside = (x.astype("f8") > max(limits.min, -(2**53))) & (x < min(limits.max, 2**53))
        return bool(inside.all())

    def in_place(self) -> None:
        x = self.pick(writable=True)
        if x is None:
            return
        y = self.operand(self.variables[x].device)
        key = self.key(self.value(x).shape)
        target = x if self.rng.random() < 0.5 else f"{x}[{key}]"
        if self.rng.random() < 0.3:
            name = self.rng.choice(self.binary)
            self.emit(f"rt.call({name!r}, {self.operand(self.variables[x].device)}, {y}, out={x})")
        elif self.rng.random() < 0.3:
            self.emit(
                f"{x}[{key}] {self.rng.choice(_IN_PLACE)} {x}[{self.key(self.value(x).shape)}]"
            )
        else:
            self.emit(f"{target} {self.rng.choice(_IN_PLACE)} {y}")

    def assign(self) -> None:
        pair = self.same_device()
        if pair is None:
            return
        target, source = pair
        key = self.key(self.value(target).shape)
        if self.rng.random() < 0.3:
            self.emit(f"{target}[{key}] = {self.rng.choice(['0', '1', '3', 'True'])}")
        elif not self.castable(source, target):
            return
        elif self.rng.random() < 0.5:
            other = self.key(self.value(source).shape)
            self.emit(f"{target}[{key}] = {source}[{other}]")
        else:
            self.emit(f"{target}[...] = {source}")

    def shift(self) -> None:
        """A view written from an overlapping view of itself."""
        x = self.pick(writable=True)
        if x is None or self.value(x).ndim == 0:
            return
        a, b = self.rng.choice([("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), ("2:", ":-2")])
        self.emit(f"{x}[{a}] {self.rng.choice(['=', '+=', '-=', '*=', '|='])} {x}[{b}]")

    def view(self) -> None:
        x = self.pick()
        if x is None:
            return
        array, old = self.value(x), self.variables[x]
        choice = self.rng.random()
        if choice < 0.5:
            expression = f"{x}[{self.key(array.shape)}]"
        elif choice < 0.65:
            axes = tuple(self.rng.sample(range(array.ndim), array.ndim))
            expression = f"rt.view('permute_dims', {x}, {axes})"
        elif choice < 0.8:
            shape = self.rng.choice([(-1,), (array.size,), (1, *array.shape), (2, -1), (-1, 3)])
            expression = f"rt.view('reshape', {x}, {shape})"
        elif choice < 0.9:
            expression = (
                f"{x}.{self.rng.choice(['real', 'imag'] if array.dtype.kind == 'c' else ['T'])}"
            )
        else:
            shape = (self.rng.choice([1, 2, 3]), *array.shape)
            if np.prod(shape, dtype=float) <= LARGEST:
                self.new(f"rt.view('broadcast_to', {x}, {shape})", old.device, True)
            return
        self.new(expression, old.device, old.read_only)

    def move(self) -> str | None:
        x = self.pick()
        if x is None:
            return None
        old, target = self.variables[x], self.rng.randrange(3)
        read_only = old.read_only and old.device == target
        return self.new(f"rt.move({x}, {old.device}, {target})", target, read_only)

    def race(self) -> None:
        """Readers on other streams, then a write through a view of what they read."""
        x = self.pick(writable=True)
        if x is None:
            return
        device = self.variables[x].device
        for target in self.rng.sample([0, 1, 2], 2):
            self.new(f"rt.move({x}, {device}, {target})", target)
        self.new(f"rt.call('positive', {x})", device)
        key = self.key(self.value(x).shape)
        self.emit(f"{x}[{key}] = {self.rng.choice(['0', '1', '5'])}")

    def reduce(self) -> None:
        x = self.pick()
        if x is None:
            return
        array, device = self.value(x), self.variables[x].device
        names = ["any", "all", "argmax", "argmin"]
        if not self.exact or array.dtype.kind != "f":  # which of -0 and 0 is the larger is open
            names += ["max", "min"]
        if array.dtype.kind in "iub":
            names += ["sum", "sum", "prod"]
        name = self.rng.choice(names)
        axis: Any = self.rng.choice([None, *range(-array.ndim, array.ndim)])
        if name == "prod" and array.dtype.kind == "b":
            return
        keep = self.rng.random() < 0.3
        self.new(f"rt.call({name!r}, {x}, axis={axis}, keepdims={keep})", device)

    def convert(self) -> None:
        x = self.pick()
        if x is None:
            return
        device = self.variables[x].device
        choice = self.rng.random()
        if choice < 0.3:
            self.new(f"rt.copy({x})", device)
        elif choice < 0.5:
            y = self.pick(device)
            if not self.is_large(x, y):
                self.new(f"rt.call({self.rng.choice(['concat', 'stack'])!r}, [{x}, {y}])", device)
        else:
            dtype = self.rng.choice(self.dtypes)
            self.names["_probe"] = np.empty((), dtype)
            if self.castable(x, "_probe"):
                self.new(f"rt.astype({x}, {dtype!r})", device)

    def host(self) -> None:
        writes = [x for x in (self.pick(writable=True),) if x]
        reads = [x for x in (self.pick(), self.pick()) if x]
        self.emit(f"rt.host([{', '.join(reads)}], [{', '.join(writes)}])")

    def look(self) -> None:
        x = self.pick()
        if x is None:
            return
        how = self.rng.choice(["numpy", "numpy", "array", "item"])
        if self.value(x).size < 100:
            how = self.rng.choice([how, "tolist"])
        self.emit(f"rt.look({x!r}, {x}, {how!r})")

    def drop(self) -> None:
        x = self.pick()
        if x is not None and self.emit(f"del {x}"):
            del self.variables[x]

    def other(self) -> None:
        x = self.pick()
        self.emit(self.rng.choice(["rt.barrier()", "rt.synchronize()", f"rt.poll({x})"]))

    def generate(self) -> "Program":
        weighted = [
            *((self.elementwise, 8), (self.view, 8), (self.in_place, 6), (self.assign, 6)),
            *((self.shift, 2), (self.move, 5), (self.race, 4), (self.reduce, 2)),
            *((self.convert, 3), (self.host, 2), (self.look, 2), (self.drop, 4)),
            *((self.other, 1), (self.create, 3)),
        ]
        steps, weights = zip(*weighted, strict=True)
        for i in range(SHARED):
            if self.rng.random() < 0.5:
                self.new(f"rt.shared({i})", 0, read_only=True)
        for _ in range(3):
            self.create()
        for step in self.rng.choices(steps, weights, k=self.steps):
            step()
            if len(self.variables) > 14:
                self.drop()
        for name in self.variables:
            self.emit(f"rt.look({name!r}, {name})")
        return Program(self.seed, self.lines, self.backend.seen)


@dataclass
class Program:
    """Source lines, and what NumPy sees."""

    seed: int
    lines: list[str]
    expected: list[tuple[str, Any]]

    def on(self, layout: Sequence[str]) -> "Program":
        """The same; where a device's functions are not NumPy's, the naive mode is the oracle."""
        if not flow.flags.cuda_kernels or not any(name.startswith("cuda") for name in layout):
            return self
        backend = Flow(layout)
        with flow.flags(sync=True):
            exec("\n".join(self.lines), {"rt": backend, "np": np})
        return replace(self, expected=backend.seen)

    def source(self, layout: Sequence[str]) -> str:
        return "\n".join(
            [
                "import numpy as np",
                "from tests.support.oracle import Flow",
                f"rt = Flow({tuple(layout)!r})",
                *self.lines,
            ]
        )

    def run(self, layout: Sequence[str], shared: Sequence[Any] | None = None) -> None:
        """Raise AssertionError, with the source, where a look differs from NumPy's."""
        backend = Flow(layout, shared)
        names = {"rt": backend, "np": np}
        for i, line in enumerate(self.lines):
            try:
                exec(line, names)
            except Exception as error:
                raise AssertionError(
                    f"seed {self.seed}, line {i}, {line!r} raised {type(error).__name__}: {error}\n"
                    + self.source(layout)
                ) from error
        for (label, expected), (_, seen) in zip(self.expected, backend.seen, strict=True):
            difference = compare(expected, seen)
            if difference:
                raise AssertionError(
                    f"seed {self.seed}, look at {label}: {difference}\n{self.source(layout)}"
                )


def program(seed: int, steps: int = 40, exact: bool = False) -> Program:
    """The program of a seed: the same in every process."""
    return Generator(seed, steps, exact).generate()


def run_threads(seeds: Sequence[int], layout: Sequence[str], steps: int = 40) -> None:
    """Run programs at the same time, one a thread, over the same inputs."""
    programs = [program(seed, steps).on(layout) for seed in seeds]
    shared = Flow(layout).upload()
    failures: list[BaseException] = []

    def run(one: Program) -> None:
        try:
            one.run(layout, shared)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def knobs() -> Iterator[dict[str, str]]:
    """Different timings of the devices and borders of what runs where, for different orders."""
    yield {"inline": "1us", "fusion": "always"}
    yield {"mock": "jitter=200us", "inline": "0", "fusion": "always"}
    yield {"mock": "jitter=50us,launch=20us,h2d=1GB/s,d2h=500MB/s", "inline": "1us", "fusion": "0"}
    yield {}


def main() -> int:
    """Run seeds on every layout, in both modes; stop at the first failure unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--steps", type=int, default=40, help="steps of a program")
    parser.add_argument("--threads", type=int, default=0, help="programs at the same time")
    parser.add_argument("--layout", default="", help="only layouts with this in their names")
    parser.add_argument("--print", action="store_true", help="print the first program only")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure")
    given = parser.parse_args()
    if given.print:
        print(program(given.seed, given.steps).source(LAYOUTS["mixed"]))
        return 0
    timings, failed = list(knobs()), 0
    chosen = {name: layout for name, layout in LAYOUTS.items() if given.layout in name}
    for seed in range(given.seed, given.seed + given.count):
        for name, layout in chosen.items():
            one = program(seed, given.steps).on(layout)
            try:
                with flow.flags(**timings[seed % len(timings)]):
                    one.run(layout)
                    if given.threads:
                        run_threads(range(seed, seed + given.threads), layout, given.steps)
                with flow.flags(sync=True):
                    one.run(layout)
            except AssertionError as error:
                failed += 1
                print(f"FAILED on {name}, {error}", file=sys.stderr)
                if not given.keep_going:
                    return 1
        print(f"seed {seed} has run", flush=True)
    print(f"{given.count} programs from seed {given.seed}: {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
