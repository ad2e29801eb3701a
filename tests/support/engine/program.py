"""A random program of functions that are pushed, as data.

Names say what they stand for and who uses it:

    v3, c0, d1      a variable, a tensor of the cpu, a tensor of a mock device: of all threads
    v_2_1, c_2      those of thread 2 alone
    v_n17           of the functions that function 17 pushes
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

SHARED_VARIABLES = 32
THREADS = 8
OWN_VARIABLES = 4  # of each thread
SHARED_TENSORS = 2  # of each kind
DEVICES = tuple(os.environ.get("OFL_TEST_DEVICES", "mock:0,mock:1").split(","))


def is_variable(name: str) -> bool:
    return name[0] == "v"


def is_on_cpu(name: str) -> bool:
    return name[0] != "d"


def device_of(name: str) -> str:
    """Where a tensor is."""
    return "cpu" if is_on_cpu(name) else DEVICES[int(name[-1]) % len(DEVICES)]


def is_shared(name: str) -> bool:
    return "_" not in name


@dataclass(frozen=True)
class Use:
    """What a function reads or writes: a variable, or a part of a tensor."""

    name: str
    part: tuple[int, int] | None = None

    def __str__(self) -> str:
        return self.name if self.part is None else f"{self.name}[{self.part[0]}:{self.part[1]}]"


@dataclass(frozen=True)
class Function:
    """A function, and how it is pushed."""

    number: int
    flavour: str  # a row of FLAVOURS
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]
    priority: int = 0
    blocking: bool = False
    fails: str = ""  # a way in which functions of its flavour fail
    device: str = ""  # whose stream it runs on
    stream: str = "compute"
    pauses: bool = False  # other threads may run while it does
    inner: tuple["Step", ...] = ()  # in its call, before it writes

    def __str__(self) -> str:
        words = [f"f{self.number} {self.flavour}"]
        words += [f"reads {', '.join(map(str, self.reads))}"] if self.reads else []
        words += [f"writes {', '.join(map(str, self.writes))}"] if self.writes else []
        words += [f"priority {self.priority}"] if self.priority else []
        words += ["blocking"] if self.blocking else []
        words += [f"on {self.device} {self.stream}"] if self.device else []
        words += [f"fails: {self.fails}"] if self.fails else []
        words += ["pauses"] if self.pauses else []
        return ", ".join(words)


@dataclass(frozen=True)
class Flavour:
    """One kind of function. A kind that is new to the engine is a row of FLAVOURS."""

    weight: float
    takes: str  # first letters of the names that it may use
    fails: tuple[str, ...]  # how it can fail
    nests: bool = False  # it may push others
    on: str = ""  # devices of this type: it takes no tensors of others


STREAMS = ("compute", "h2d", "d2h")  # of a device

_FLAVOURS = {
    "python": Flavour(6, "vc", ("before", "after"), nests=True),
    "async": Flavour(3, "vc", ("error", "body", "dropped")),
    "callback": Flavour(0.5, "vc", ("status",)),
    "compiled": Flavour(1.5, "vc", ("status",)),
    "device": Flavour(2, "vcd", ("before", "after"), on="mock"),
    "compiled device": Flavour(0.5, "vcd", ("status",), on="mock"),
    "kernel": Flavour(3, "d", (), on="cuda"),
}
FLAVOURS = {name: row for name, row in _FLAVOURS.items() if DEVICES[0].startswith(row.on)}


@dataclass(frozen=True)
class Step:
    """One thing that a thread does.

    push, hold        push ``function``; hold: behind a function that has not completed, and cancel
    make, again       an Operator of ``function``; push that of step ``of``, ``count`` times
    tensor            an operation of the library: ``how`` on ``name`` and ``other``
    delete, renew     delete the variable ``name``; put a new one, or a new tensor, in its place
    clear             the error of ``name``
    cancel, result    of what step ``of`` has pushed
    wait, wait_all    for ``name``; for everything
    look              at the tensor ``name``
    """

    number: int
    kind: str
    function: Function | None = None
    name: str = ""
    other: str = ""
    how: str = ""
    of: int = -1
    count: int = 1

    def names(self) -> list[str]:
        """All that its pushes use."""
        uses = [*self.function.reads, *self.function.writes] if self.function else []
        return [use.name for use in uses] + [name for name in (self.name, self.other) if name]

    def __str__(self) -> str:
        words = [f"{self.number:3} {self.kind}"]
        words += [str(self.function)] if self.function else []
        words += [word for word in (self.name, self.how, self.other) if word]
        words += [f"of step {self.of}"] if self.of >= 0 else []
        words += [f"{self.count} times"] if self.count > 1 else []
        return " ".join(words)


@dataclass(frozen=True)
class Program:
    """What each thread does."""

    seed: int
    size: int  # elements of a tensor; 0: there are none
    threads: tuple[tuple[Step, ...], ...]
    names: tuple[str, ...] = field(repr=False, default=())  # that steps of threads use

    def steps(self) -> Iterator[tuple[int, Step]]:
        """With the numbers of their threads; inner ones behind their outer ones."""
        for thread, steps in enumerate(self.threads):
            for step in steps:
                yield from _with_inner(thread, step)

    def __str__(self) -> str:
        lines = [f"program {self.seed}: {len(self.threads)} threads, tensors of {self.size}"]
        for thread, steps in enumerate(self.threads):
            lines.append(f"thread {thread}")
            for step in steps:
                lines += _lines(step, "")
        return "\n".join(lines)


def _with_inner(thread: int, step: Step) -> Iterator[tuple[int, Step]]:
    yield thread, step
    for inner in step.function.inner if step.function else ():
        yield from _with_inner(thread, inner)


def _lines(step: Step, indent: str) -> list[str]:
    lines = [f"{indent}{step}"]
    for inner in step.function.inner if step.function else ():
        lines += _lines(inner, indent + "      in it: ")
    return lines
