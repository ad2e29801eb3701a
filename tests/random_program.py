"""Random programs: the oracle of the tests.

A program is Python source over a backend ``rt``. One backend is NumPy, which runs everything at
once and in order; the other is oneflow_lite, on any layout of the program's three devices. What the
two see when they look must be equal, bit for bit.

    python tests/random_program.py --seed 7 --count 500
"""

import argparse
import operator
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
LAYOUTS = {
    "cpu": ("cpu", "cpu", "cpu"),
    "mock:0": ("mock:0", "mock:0", "mock:0"),
    "mock:1": ("mock:1", "mock:1", "mock:1"),
    "mixed": ("cpu", "mock:0", "mock:1"),
    "mixed, mock first": ("mock:1", "cpu", "mock:0"),
}
SHARED = 3  # inputs that all threads read, on device 0

# Small shapes run in the calling thread, large ones (more than 16384 elements) on a worker.
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
_OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=")
_IN_PLACE = ("+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=")
_NUMPY_NAMES = {"pow": "power", "bitwise_invert": "invert", "conj": "conjugate", "concat": "concatenate"}
_FUNCTIONS = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_},
    **{"^": operator.xor, "<": operator.lt, "<=": operator.le, "==": operator.eq},
    **{"!=": operator.ne, ">": operator.gt, ">=": operator.ge},
}


def values(shape: Sequence[int], dtype: str, seed: int) -> np.ndarray:
    """Numbers of any size, the special ones among them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        limits = np.iinfo(dtype)
        small = rng.integers(-9 if kind == "i" else 0, 10, shape)
        large = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.9, small.astype(dtype), large).astype(dtype)
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        pair = values(shape, part, seed) + 1j * values(shape, part, seed + 1)
        return np.asarray(pair).astype(dtype)
    limits = np.finfo(dtype)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal],
        dtype,
    )
    normal = rng.normal(0, 4, shape).astype(dtype)
    odd = special[rng.integers(0, len(special), shape)]
    return np.asarray(np.where(rng.random(shape) < 0.97, normal, odd), dtype)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers in memory laid out otherwise; a fresh array that may be written to."""
    if layout == "fortran":
        return np.array(array, order="F")
    if layout == "swapped":
        return np.array(array, array.dtype.newbyteorder("S"))
    if layout in ("negative", "strided") and array.ndim:
        steps = tuple(slice(None, None, -1 if layout == "negative" else 3) for _ in array.shape)
        size = tuple(n * (1 if layout == "negative" else 3) for n in array.shape)
        whole = np.zeros(size, array.dtype)
        whole[steps] = array
        return whole[steps]
    return np.array(array)


def shared_inputs() -> list[np.ndarray]:
    """What every program may read and none writes."""
    shapes, dtypes = ((129, 129), (20000,), (4, 5)), ("float32", "int64", "float64")
    return [values(s, d, 100 + i) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True))]


def host_function(reads: int) -> Callable[..., float]:
    """Write the first element of each read tensor, added up, and the number of its argument."""

    def run(*arrays: np.ndarray) -> float:
        given = [np.array(x) for x in arrays[:reads]]
        total = sum(int(np.isfinite(x).sum()) % 97 for x in given)
        for i, target in enumerate(arrays[reads:]):
            target[...] = np.asarray((total + i) % 100).astype(target.dtype)
        return float(total)

    return run


class Numpy:
    """The reference: everything at once, in order. Results are C-ordered, as tensors are."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._shared = shared_inputs()
        for array in self._shared:
            array.flags.writeable = False

    def make(self, shape: Any, dtype: str, seed: int, layout: str, device: int) -> np.ndarray:
        return np.array(laid_out(values(shape, dtype, seed), layout), dtype, order="C")

    def full(self, shape: Any, value: Any, dtype: str, device: int) -> np.ndarray:
        return np.full(shape, value, dtype)

    def shared(self, i: int) -> np.ndarray:
        return self._shared[i]

    def call(self, name: str, *operands: Any, **keywords: Any) -> np.ndarray:
        function = getattr(np, _NUMPY_NAMES.get(name, name))
        result = function(*operands, **keywords)
        return result if "out" in keywords else np.asarray(result, order="C")

    def operate(self, name: str, a: Any, b: Any) -> np.ndarray:
        return np.asarray(_FUNCTIONS[name](a, b), order="C")

    def array(self, shape: Any, dtype: str, seed: int, layout: str) -> np.ndarray:
        return laid_out(values(shape, dtype, seed), layout)

    def forget(self, array: np.ndarray) -> None:
        """The program is done with an array that was an operand: it may change at once."""

    def view(self, name: str, x: np.ndarray, *arguments: Any) -> np.ndarray:
        return getattr(np, {"permute_dims": "transpose"}.get(name, name))(x, *arguments)

    def astype(self, x: np.ndarray, dtype: str) -> np.ndarray:
        return x.astype(dtype, order="C")

    def copy(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def move(self, x: np.ndarray, source: int, target: int) -> np.ndarray:
        return x if source == target else x.copy()

    def host(self, reads: list[Any], writes: list[Any]) -> None:
        host_function(len(reads))(*reads, *writes)

    def barrier(self) -> None:
        pass

    synchronize = barrier

    def poll(self, x: Any) -> None:
        pass

    def look(self, label: str, x: np.ndarray, how: str = "numpy") -> None:
        self.seen.append((label, np.array(x)))


class Flow:
    """oneflow_lite, with the program's three devices where ``layout`` says."""

    def __init__(self, layout: Sequence[str], shared: Sequence[Any] | None = None) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._layout = [flow.Device(spec) for spec in layout]
        self._shared = shared if shared is not None else self.upload()

    def upload(self) -> list[Any]:
        return [flow.tensor(x, device=self._layout[0]) for x in shared_inputs()]

    def make(self, shape: Any, dtype: str, seed: int, layout: str, device: int) -> Any:
        source = laid_out(values(shape, dtype, seed), layout)
        made = flow.tensor(source, device=self._layout[device])
        self.forget(source)
        return made

    def full(self, shape: Any, value: Any, dtype: str, device: int) -> Any:
        return flow.full(shape, value, dtype=dtype, device=self._layout[device])

    def shared(self, i: int) -> Any:
        return self._shared[i]

    def call(self, name: str, *operands: Any, **keywords: Any) -> Any:
        return getattr(flow, name)(*operands, **keywords)

    def operate(self, name: str, a: Any, b: Any) -> Any:
        return _FUNCTIONS[name](a, b)

    array = Numpy.array

    def forget(self, array: np.ndarray) -> None:
        array[...] = np.asarray(77).astype(array.dtype)

    def view(self, name: str, x: Any, *arguments: Any) -> Any:
        return getattr(flow, name)(x, *arguments)

    def astype(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def copy(self, x: Any) -> Any:
        return x.copy()

    def move(self, x: Any, source: int, target: int) -> Any:
        return x.to(self._layout[target], copy=source != target)

    def host(self, reads: list[Any], writes: list[Any]) -> None:
        on_host = [x.cpu() for x in writes]
        flow.vm.host_func(host_function(len(reads)), [x.cpu() for x in reads], on_host)
        for x, written in zip(writes, on_host, strict=True):
            if x is not written:
                x[...] = written.to(x.device)

    def barrier(self) -> None:
        flow.vm.barrier()

    def synchronize(self) -> None:
        flow.synchronize()

    def poll(self, x: Any) -> None:
        x.is_ready()

    def look(self, label: str, x: Any, how: str = "numpy") -> None:
        if how == "tolist":
            seen = np.array(x.tolist(), dtype=x.dtype).reshape(x.shape)
        elif how == "item" and x.size == 1:
            seen = np.full(x.shape, x.item(), x.dtype)
        else:
            seen = np.asarray(x) if how == "array" else x.numpy()
        self.seen.append((label, seen))


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
    lines: list[str] = field(default_factory=list)
    backend: Numpy = field(default_factory=Numpy)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.variables: dict[str, Variable] = {}
        self.names: dict[str, Any] = {"rt": self.backend, "np": np}
        self.count = 0

    # --- lines

    def emit(self, line: str, name: str | None = None, variable: Variable | None = None) -> bool:
        """Run the line; keep it when NumPy takes it."""
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
        return self.rng.choice(
            ["2", "3", "1", "0", "-1", "0.5", "-2.25", "True", "1.5j", "float('nan')"]
            + ["np.float32(1.5)", "np.int8(3)", "np.float64(0.1)", "np.uint16(7)"]
        )

    def slice(self, size: int) -> str:
        start, stop = sorted(self.rng.choices(range(size + 1), k=2))
        step = self.rng.choice([1, 1, 2, 3])
        if self.rng.random() < 0.3:
            return self.rng.choice(["::-1", f"::{-step}", f"{stop}:{start}:{-step}"])
        return self.rng.choice([":", f"{start}:{stop}:{step}", f"{start}:", f":{stop}", "1:", ":-1"])

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

    # --- steps

    def create(self) -> None:
        shape, dtype = self.rng.choice(_SHAPES), self.rng.choice(DTYPES)
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
        if choice < 0.3:
            self.new(f"rt.call({self.rng.choice(_UNARY)!r}, {x})", device)
        elif choice < 0.6:
            self.new(f"rt.call({self.rng.choice(_BINARY)!r}, {x}, {y})", device)
        elif choice < 0.7:
            self.new(f"rt.operate({self.rng.choice(_OPERATORS)!r}, {y}, {x})", device)
        elif choice < 0.8:
            self.new(f"rt.call('where', rt.call('isfinite', {x}), {x}, {y})", device)
        elif choice < 0.9:
            self.new(f"rt.call('clip', {x}, {self.scalar()}, {self.scalar()})", device)
        else:
            self.with_array(x, device)

    def with_array(self, x: str, device: int) -> None:
        shape, dtype = self.value(x).shape, self.rng.choice(DTYPES)
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
            name = self.rng.choice(_BINARY)
            self.emit(f"rt.call({name!r}, {self.operand(self.variables[x].device)}, {y}, out={x})")
        elif self.rng.random() < 0.3:
            self.emit(f"{x}[{key}] {self.rng.choice(_IN_PLACE)} {x}[{self.key(self.value(x).shape)}]")
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
            expression = f"{x}.{self.rng.choice(['real', 'imag'] if array.dtype.kind == 'c' else ['T'])}"
        else:
            shape = (self.rng.choice([1, 2, 3]), *array.shape)
            if np.prod(shape, dtype=float) <= 10**5:
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
        names = ["max", "min", "any", "all", "argmax", "argmin"]
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
            self.new(f"rt.call({self.rng.choice(['concat', 'stack'])!r}, [{x}, {y}])", device)
        else:
            dtype = self.rng.choice(DTYPES)
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

    def source(self, layout: Sequence[str]) -> str:
        return "\n".join(
            [
                "import numpy as np",
                "from random_program import Flow",
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


def compare(expected: np.ndarray, seen: np.ndarray) -> str | None:
    """What differs: dtype, shape, or bits (the payload and sign of a NaN may)."""
    if expected.dtype != seen.dtype or expected.shape != seen.shape:
        return f"expected {expected.dtype} {expected.shape}, got {seen.dtype} {seen.shape}"
    for part in ("real", "imag") if expected.dtype.kind == "c" else ("real",):
        a, b = getattr(expected, part), getattr(seen, part)
        same = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
        same = same | ((a != a) & (b != b))
        if not same.all():
            where = tuple(int(i) for i in np.argwhere(~same)[0])
            return f"{(~same).sum()} of {same.size} differ, first at {where}: {a[where]!r}, got {b[where]!r}"
    return None


def program(seed: int, steps: int = 40) -> Program:
    """The program of a seed: the same in every process."""
    return Generator(seed, steps).generate()


def run_threads(seeds: Sequence[int], layout: Sequence[str], steps: int = 40) -> None:
    """Run programs at the same time, one a thread, over the same inputs."""
    programs = [program(seed, steps) for seed in seeds]
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
    """Mock devices with different timings, to bring different orders about."""
    yield {}
    yield {"mock": "jitter=200us"}
    yield {"mock": "jitter=50us,launch=20us,h2d=1GB/s,d2h=500MB/s"}


def main() -> int:
    """Run seeds on every layout, in both modes; stop at the first failure unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--steps", type=int, default=40, help="steps of a program")
    parser.add_argument("--threads", type=int, default=0, help="programs at the same time")
    parser.add_argument("--print", action="store_true", help="print the first program only")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure")
    given = parser.parse_args()
    if given.print:
        print(program(given.seed, given.steps).source(LAYOUTS["mixed"]))
        return 0
    timings, failed = list(knobs()), 0
    for seed in range(given.seed, given.seed + given.count):
        one = program(seed, given.steps)
        for name, layout in LAYOUTS.items():
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
    print(f"{given.count} programs from seed {given.seed}: {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
