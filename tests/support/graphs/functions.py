"""Random functions of tensors: what a jitted function may do, as source over the library itself.

Operations, views, writes through views and into arguments and captured tensors, aliases, random
numbers of both kinds, host functions, two devices, names that are bound anew, operations that fail.
A call gives an outcome: what each result, argument and captured tensor holds, or why it holds
nothing. The outcome of an eager call in naive mode is the right one.

    python -m tests.support.graphs.functions --seed 1 --count 20 --threads 3
"""

import argparse
import random
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.graph import Executable

DEVICES = (("cpu", "cpu"), ("mock:0", "mock:0"), ("cpu", "mock:0"), ("mock:1", "cpu"))
MODES = ("auto", "inline", "serial", "parallel", "sequential", "naive")
RELEASES = ("plan", "fast", "event")
POISON = 0xA5
SIZES = (6, 6, 6, 70)  # of squares: threads share the work of large ones
Function = Callable[..., Any]
Outcome = list[tuple[Any, ...]]
Call = tuple[int, bool]  # the seed of its arguments, and whether something fails
CALLS: tuple[Call, ...] = ((0, False), (1, False), (2, True), (3, False))
CallOf = Callable[["Random", "State"], Function]


@dataclass
class State:
    """What a function uses beside its arguments."""

    w: flow.Tensor
    count: flow.Tensor
    stream: Any
    numpys: Any

    @classmethod
    def on(cls, devices: Sequence[str], size: int) -> "State":
        return cls(
            flow.zeros((size, size), device=devices[0]),
            flow.zeros((), device=devices[0]),
            flow.random.Philox(7),
            flow.random.default_rng(7),
        )


def fill(scale: float) -> Callable[..., None]:
    """Write the last array: its elements times a number, and the mean of the others."""

    def write(*arrays: np.ndarray) -> None:
        *reads, target = arrays
        with np.errstate(all="ignore"):
            target[...] = target * scale + sum(float(np.round(np.mean(x), 2)) for x in reads)

    return write


@dataclass
class Writer:
    """Writes a function line by line."""

    seed: int
    steps: int
    can_fail: bool
    is_pure: bool = False  # reads and writes nothing but its arguments
    makes_nan: bool = False
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng, self.lanes = random.Random(self.seed), random.Random(self.seed)
        # Squares by the device that they are on, 0 or 1. Those in `fixed` are not bound anew.
        self.squares = {"x": 0, "y": 0, "z": 1} | ({} if self.is_pure else {"state.w": 0})
        self.fixed = list(self.squares)
        self.count = 0

    def new(self, expression: str, device: int) -> None:
        if len(self.squares) > 9:  # the handle of an older one is dropped
            name = self.rng.choice([n for n in self.squares if n not in self.fixed])
        else:
            self.count += 1
            name = f"v{self.count}"
        self.lines.append(f"{name} = {expression}")
        self.squares[name] = device

    def pick(self, device: int | None = None) -> str:
        names = [n for n, where in self.squares.items() if device in (None, where)]
        return self.rng.choice(names[-4:] if self.rng.random() < 0.7 else names)

    def operand(self, device: int) -> str:
        return self.rng.choice([self.pick(device), self.pick(device), "rate", "0.5", "2", "-1"])

    def view(self, x: str) -> str:
        return x + self.rng.choice(["", ".T", "[::-1]", "[:, ::-1]", "[::-1, ::-1].T"])

    def part(self) -> str:
        return self.rng.choice(["[1:]", "[:, 2]", "[::2]", "[0]", "[1:3, 2:]", "[::-1]", "[...]"])

    def step(self) -> None:
        kinds: list[tuple[Callable[[], None], int]] = [
            *((self.elementwise, 8), (self.other, 5), (self.write, 5), (self.write_out, 2)),
            *((self.move, 2), (self.host, 1), (self.fail, int(self.can_fail))),
            *((self.draw, 0 if self.is_pure else 2), (self.count_up, int(not self.is_pure))),
        ]
        kind, weights = zip(*kinds, strict=True)
        self.rng.choices(kind, weights)[0]()

    def elementwise(self) -> None:
        x = self.pick()
        device = self.squares[x]
        a, b = self.view(x), self.operand(device)
        unary = self.rng.choice(["tanh", "sin", "negative", "abs", "floor", "sign"])
        binary = self.rng.choice(["add", "subtract", "multiply", "maximum", "minimum"])
        self.new(
            self.rng.choice(
                [
                    f"flow.{unary}({a})",
                    f"flow.{binary}({a}, {b})",
                    f"flow.tanh({a} * {b} + 1)",
                    f"flow.where({a} > {b}, {a}, 0.25)",
                ]
            ),
            device,
        )

    def other(self) -> None:
        x = self.pick()
        device = self.squares[x]
        a, b = self.view(x), self.view(self.pick(device))
        expressions = [
            f"flow.tanh({a} @ {b})",
            f"{a} - flow.max({b}, axis=0)",
            f"{a} + flow.sum({b}, axis=1, keepdims=True)",
            f"flow.cumulative_sum({a}, axis=0)",
            f"flow.sort({a}, axis=1)",
            f"flow.concat([{a}[:2], {b}[2:]])",
            f"flow.take({a}, flow.argsort({b}[0]), axis=1)",
            f"{a}.copy()",
            f"{a}",
            f"{a}.astype('float32').astype('float64')",
        ]
        self.new(self.rng.choice(expressions), device)

    def write(self) -> None:
        x = self.pick()
        y = self.operand(self.squares[x])
        key = self.part()
        if y in self.squares:
            y += key
        self.lines.append(f"{x}{key} {self.rng.choice(['=', '+=', '*=', '-='])} {y}")

    def write_out(self) -> None:
        x = self.pick()
        y = self.view(self.pick(self.squares[x]))
        self.lines.append(f"flow.multiply({y}, {self.operand(self.squares[x])}, out={x})")

    def move(self) -> None:
        x = self.pick()
        device = 1 - self.squares[x]
        self.new(f"{x}.to(devices[{device}], copy=True)", device)

    def draw(self) -> None:
        device = self.rng.randrange(2)
        shape = "size=x.shape"
        self.new(
            self.rng.choice(
                [
                    f"state.stream.normal({shape}, dtype='float64', device=devices[{device}])",
                    f"state.stream.uniform({shape}, dtype='float64', device=devices[{device}])",
                    f"state.numpys.normal({shape}, device=devices[{device}])",
                ]
            ),
            device,
        )

    def host(self) -> None:
        """Host functions see what is on the host; a tensor that is written is in no other one."""
        scale = self.rng.choice([0.5, -1])
        self.lines.append(f"host = {self.pick()}.cpu().copy()")
        read = self.pick()
        self.lines.append(f"flow.vm.host_func(fill({scale}), [{read}.cpu().copy()], [host])")
        self.new("host.to(devices[0], copy=True)", 0)

    def count_up(self) -> None:
        self.lines.append("state.count += 1")

    def fail(self) -> None:
        """Singular, or an index that is not there: some runs fail, others do not."""
        x = self.pick()
        device = self.squares[x]
        expressions = [
            f"flow.linalg.inv({x} * 0 + wrong[{device}])",
            f"flow.take({x}, at[{device}], axis=0)",
        ]
        self.new(self.rng.choice(expressions), device)

    def make_nan(self) -> None:
        """Of some numbers; NaN, infinities, or both."""
        x = self.pick()
        expressions = [f"flow.log({x})", f"{x} / 0", f"flow.tanh(flow.sqrt({x}))"]
        self.new(self.rng.choice(expressions), self.squares[x])

    def on_some_lane(self, line: str) -> str:
        lanes = self.lanes
        return f"with flow.vm.lane({lanes.randrange(4)}): {line}" if lanes.random() < 0.3 else line

    def text(self) -> str:
        for step in range(self.steps):
            self.make_nan() if self.makes_nan and step in (4, 9) else self.step()
        self.lines = [self.on_some_lane(line) for line in self.lines]
        names = [n for n in self.squares if n != "state.w"]
        results = self.rng.sample(names, min(3, len(names)))
        results += [self.view(self.rng.choice(results)), results[0]]
        self.lines.append(f"return {', '.join(results)}")
        return "def function(x, y, z, wrong, at, rate):\n    " + "\n    ".join(self.lines) + "\n"


def square(size: int, seed: int, number: int) -> np.ndarray:
    return np.random.default_rng(100 * seed + number).normal(0, 2, (size, size))


def seen(x: flow.Tensor) -> tuple[Any, ...]:
    """What a tensor holds, or why it holds nothing."""
    try:
        array = x.numpy()
    except Exception as error:
        reason = str(error).splitlines()[0]
        return str(x.device), x.dtype, x.shape, type(error).__name__, reason
    array = np.where(np.isnan(array), np.nan, array)  # signs of NaN may differ
    return str(x.device), x.dtype, x.shape, array.tobytes()


@dataclass
class Random:
    """A random function, on two devices."""

    seed: int
    devices: Sequence[str]
    source: str
    size: int

    @classmethod
    def of(
        cls,
        seed: int,
        steps: int = 20,
        can_fail: bool = False,
        is_pure: bool = False,
        makes_nan: bool = False,
    ) -> "Random":
        devices = DEVICES[seed % len(DEVICES)]
        size = SIZES[seed // len(DEVICES) % len(SIZES)]
        source = Writer(seed, steps, can_fail, is_pure, makes_nan).text()
        return cls(seed, devices, source, size)

    def function(self, state: State) -> Function:
        scope = {"flow": flow, "state": state, "devices": self.devices, "fill": fill}
        exec(compile(self.source, f"random function {self.seed}", "exec"), scope)
        function: Function = scope["function"]
        return function

    def outcomes(self, call_of: CallOf, calls: Sequence[Call] = CALLS) -> list[Outcome]:
        """Of calls one after the other, each on fresh arguments, over one state."""
        state = State.on(self.devices, self.size)
        call = call_of(self, state)
        return [self.outcome(call, state, *each) for each in calls]

    def outcome(self, call: Function, state: State, seed: int, is_wrong: bool) -> Outcome:
        state.w[...] = square(self.size, seed, 0)
        state.count[...] = seed
        arguments = self.arguments(seed, is_wrong)
        results = call(*arguments)
        x, y, z, *_ = arguments
        found = [seen(each) for each in (*results, x, y, z, state.w, state.count)]
        aliases = [a.shares_storage(b) for a in results for b in (*results, x, y, z)]
        with suppress(Exception):
            flow.synchronize()  # raises what has failed, once
        return [*found, tuple(aliases)]

    def arguments(self, seed: int, is_wrong: bool) -> list[Any]:
        first, second = self.devices
        wrong = np.full((self.size,) * 2, 1.0) if is_wrong else np.eye(self.size)
        at = np.arange(self.size)[::-1].copy()
        at[4] += self.size * is_wrong
        return [
            *(
                flow.tensor(square(self.size, seed, k), device=d)
                for k, d in ((1, first), (2, first))
            ),
            flow.tensor(square(self.size, seed, 3), device=second),
            [flow.tensor(wrong, device=device) for device in self.devices],
            [flow.tensor(at, device=device) for device in self.devices],
            0.5,
        ]

    def eager(self, calls: Sequence[Call] = CALLS) -> list[Outcome]:
        """The right ones: eager calls in naive mode."""
        with flow.flags(sync=True):
            return self.outcomes(Random.function, calls)

    def differs(self, expected: Sequence[Outcome], found: Sequence[Outcome]) -> str | None:
        for number, (right, got) in enumerate(zip(expected, found, strict=True)):
            for k, (a, b) in enumerate(zip(right, got, strict=True)):
                if a != b:
                    what = f"expected {str(a)[:200]}, got {str(b)[:200]}"
                    return f"call {number}, tensor {k}: {what}\n{self}"
        return None

    def __str__(self) -> str:
        return f"# seed {self.seed}, squares of {self.size} on {self.devices}\n{self.source}"


def jitted(one: Random, state: State) -> Function:
    """Jitted; memory of each run holds poison before it."""
    run = flow.jit(one.function(state))

    def call(*arguments: Any) -> Any:
        for entry in run._entries.values():
            if entry.run is not None:
                entry.run.fill_arena(POISON)
        return run(*arguments)

    return call


def shared_jit(one: Random, state: State) -> Function:
    """Jitted, as any thread may call it: a call that is known does not look it up."""
    run: Function = flow.jit(one.function(state))
    return run


def compiled(
    mode: str,
    release: str,
    keep: Callable[[Executable], object] = id,
    lanes: int = 1,
    addto: bool = False,
) -> CallOf:
    """Traced, and compiled for a way to run; `keep` is shown the executable."""

    def call_of(one: Random, state: State) -> Function:
        traced = flow.graph.trace(one.function(state), *one.arguments(0, False))
        run = flow.graph.compile(
            traced.program, mode=mode, release=release, lanes=lanes, addto=addto
        )
        keep(run)

        def call(*arguments: Any) -> Any:
            run.fill_arena(POISON)
            results = run(*(x for x in leaves(arguments) if isinstance(x, flow.Tensor)))
            return [results[leaf.number] for leaf in leaves(traced.results)]

        return call

    return call_of


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return [leaf for one in tree for leaf in leaves(one)]
    return [tree]


def by_hand(one: Random, state: State) -> Function:
    """Built, with feeds in the place of arguments; they are snapshots."""
    main = flow.graph.Program("main")
    given = one.arguments(0, False)
    tensors = [x for x in leaves(given) if isinstance(x, flow.Tensor)]
    with flow.graph.building(main):
        feeds = [
            flow.graph.data(f"x{k}", x.shape, x.dtype, device=x.device)
            for k, x in enumerate(tensors)
        ]
        x, y, z, *others = feeds
        fetches = one.function(state)(x, y, z, others[:2], others[2:], given[-1])
    executor = flow.graph.Executor()

    def call(*arguments: Any) -> Any:
        fed = [x for x in leaves(arguments) if isinstance(x, flow.Tensor)]
        return executor.run(main, {f"x{k}": x for k, x in enumerate(fed)}, list(fetches))

    return call


def in_threads(threads: int, work: Callable[[], None]) -> None:
    """Call it in each of them at the same time, and raise what one of them raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if raised:
        raise raised[0]


def run_threads(functions: Sequence[Random], ways: Sequence[CallOf], threads: int) -> list[str]:
    """What differs where several threads run these at the same time, each in each way."""
    expected = [one.eager() for one in functions]
    wrong: list[str] = []

    def work() -> None:
        for one, right in zip(functions, expected, strict=True):
            for way in ways:
                difference = one.differs(right, one.outcomes(way))
                if difference is not None:
                    wrong.append(difference)

    in_threads(threads, work)
    return wrong


def run_shared(one: Random, way: CallOf, threads: int) -> list[str]:
    """What differs where several threads call one program, on arguments of their own.

    Results of a function that is not pure are looked at, and not compared.
    """
    state = State.on(one.devices, one.size)
    with flow.flags(sync=True):
        right = [seen(x) for x in one.function(state)(*one.arguments(1, False))]
    call = way(one, state)
    wrong: list[str] = []

    def work() -> None:
        for number in range(8):
            for x in call(*one.arguments(2, number % 4 == 3)):
                seen(x)
            got = [seen(x) for x in call(*one.arguments(1, False))]
            if "state." not in one.source and got != right:
                wrong.append(f"expected {right}, got {got}\n{one}")

    in_threads(threads, work)
    with suppress(Exception):
        flow.synchronize()
    return wrong


def main() -> int:
    """Run seeds in all ways by several threads; stop at the first difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=8, help="how many seeds")
    parser.add_argument("--threads", type=int, default=3, help="at the same time")
    parser.add_argument("--print", action="store_true", help="print the first function only")
    given = parser.parse_args()
    if given.print:
        print(Random.of(given.seed, can_fail=True))
        return 0
    ways = [jitted, *(compiled(mode, release) for mode in MODES for release in RELEASES)]
    for seed in range(given.seed, given.seed + given.count):
        some = [Random.of(seed, can_fail=True, is_pure=is_pure) for is_pure in (True, False)]
        with flow.flags(inline="0" if seed % 2 else "50us", fusion="always" if seed % 3 else "0"):
            wrong = run_threads(some[1:], ways, given.threads)
            for one in some:
                for way in [*ways, shared_jit, by_hand]:
                    wrong += run_shared(one, way, given.threads)
        if wrong:
            print(wrong[0], file=sys.stderr)
            return 1
    print(f"{given.count} functions from seed {given.seed}: no differences")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
