"""Writes random programs. A seed gives the same program in every process."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.support.engine.program import (
    DEVICES,
    FLAVOURS,
    OWN_VARIABLES,
    SHARED_TENSORS,
    SHARED_VARIABLES,
    STREAMS,
    THREADS,
    Function,
    Program,
    Step,
    Use,
    device_of,
    is_on_cpu,
    is_shared,
    is_variable,
)
from tests.support.engine.tensors import OPERATIONS


@dataclass
class Thread:
    """What the generator knows of a thread."""

    names: list[str]  # that it may use
    pushed: list[int] = field(default_factory=list)  # numbers of its steps
    operators: list[Step] = field(default_factory=list)


class Generator:
    """Makes the choices of one program."""

    def __init__(self, seed: int, functions: int) -> None:
        self.seed = seed
        rng = self.rng = random.Random(seed)
        count = rng.choice((1, 1, 2, 2, 3, 4, THREADS))
        self.size = rng.choice((0, 0, 4, 4, 40, 3000))
        self.fails = rng.random() < 0.35
        self.cancels = rng.random() < 0.35
        self.deletes = rng.random() < 0.35
        self.nests = rng.random() < 0.4
        self.left = functions
        self.number = 0
        shared = [f"v{k}" for k in range(rng.choice((2, 4, 8, SHARED_VARIABLES)))]
        if self.size:
            shared += [f"{kind}{k}" for kind in "cd" for k in range(SHARED_TENSORS)]
        self.threads = [Thread(shared + self.own_names(k)) for k in range(count)]
        if count == 1 or rng.random() < 0.8:
            return
        for k, thread in enumerate(self.threads):  # no thread waits for another one
            thread.names = self.own_names(k)

    def own_names(self, thread: int) -> list[str]:
        tensors = [f"c_{thread}", f"d_{thread}"] if self.size else []
        return [f"v_{thread}_{k}" for k in range(OWN_VARIABLES)] + tensors

    def next_number(self) -> int:
        self.number += 1
        return self.number

    # --- functions

    def part(self, name: str) -> tuple[int, int] | None:
        if is_variable(name) or self.rng.random() < 0.6:
            return None
        begin = self.rng.randrange(self.size - 1)
        return begin, self.rng.randrange(begin + 1, self.size)

    def uses(self, names: Sequence[str], most: int) -> list[Use]:
        chosen = self.rng.sample(list(names), min(self.rng.randint(1, most), len(names)))
        return [Use(name, self.part(name)) for name in chosen]

    def function(self, names: Sequence[str], depth: int = 0) -> Function:
        """A function over some of these; inner ones use others than those around them."""
        rng = self.rng
        self.left -= 1
        number = self.next_number()
        flavours = [each for each in FLAVOURS if self.size or FLAVOURS[each].takes != "d"]
        flavour = rng.choices(flavours, [FLAVOURS[each].weight for each in flavours])[0]
        row = FLAVOURS[flavour]
        device = rng.choice(DEVICES) if row.on else ""
        usable = [
            name
            for name in names
            if name[0] in row.takes and (is_on_cpu(name) or device_of(name) == device)
        ]
        uses = self.uses(usable, 5)
        cut = rng.randint(0, max(len(uses) - (rng.random() < 0.8), 0))
        reads, writes = uses[:cut], uses[cut:]
        if writes and not is_variable(writes[0].name) and rng.random() < 0.3:
            half, name = self.size // 2, writes[0].name
            reads.append(Use(name, (0, half)))
            writes[0] = Use(name, (half, self.size))
        inner: tuple[Step, ...] = ()
        if self.nests and row.nests and depth < 2 and rng.random() < 0.4:
            taken = {use.name for use in uses}
            inner = self.inner(number, [name for name in names if name not in taken], depth + 1)
        return Function(
            number,
            flavour,
            tuple(reads),
            tuple(writes),
            rng.choice((0, 0, 0, *range(-5, 6))),
            rng.random() < 0.25,
            rng.choice(row.fails) if row.fails and self.fails and rng.random() < 0.2 else "",
            device,
            rng.choice(STREAMS),
            rng.random() < 0.5,
            inner,
        )

    def inner(self, outer: int, names: Sequence[str], depth: int) -> tuple[Step, ...]:
        """Steps of a function: it waits for its own variable only, which waits for nobody."""
        shared = [name for name in names if is_shared(name)]
        steps: list[Step] = []
        for _ in range(self.rng.randint(1, 3)):
            is_own = not shared or self.rng.random() < 0.5
            function = self.function([f"v_n{outer}"] if is_own else shared, depth)
            steps.append(Step(self.next_number(), "push", function))
            if is_own and self.rng.random() < 0.5:
                steps.append(Step(self.next_number(), "result", of=steps[-1].number))
        return tuple(steps)

    # --- steps

    def push(self, thread: Thread) -> Step:
        return Step(self.next_number(), "push", self.function(thread.names))

    def make(self, thread: Thread) -> Step:
        function = self.function(thread.names, depth=9)
        if function.flavour in ("async", "kernel"):  # operators have none
            return Step(self.next_number(), "push", function)
        thread.operators.append(Step(self.next_number(), "make", function))
        return thread.operators[-1]

    def again(self, thread: Thread) -> Step | None:
        if not thread.operators:
            return None
        made, count = self.rng.choice(thread.operators), self.rng.randint(1, 4)
        self.left -= count
        return Step(self.next_number(), "again", of=made.number, count=count)

    def tensor(self, thread: Thread) -> Step | None:
        tensors = [name for name in thread.names if not is_variable(name)]
        if not tensors:
            return None
        x, y = self.rng.choices(tensors, k=2)
        how = self.rng.choice(list(OPERATIONS))
        return Step(self.next_number(), "tensor", name=x, other=y, how=how)

    def hold(self, thread: Thread) -> Step | None:
        variables = [name for name in thread.names if is_variable(name)]
        if not self.cancels:
            return None
        name = self.rng.choice(variables)
        function = self.function(thread.names)
        if function.flavour == "kernel":  # it takes no variables
            return Step(self.next_number(), "push", function)
        if name not in [use.name for use in (*function.reads, *function.writes)]:
            reads = (*function.reads, Use(name))
            function = replace(function, reads=reads, fails="", inner=())
        return Step(self.next_number(), "hold", function, name)

    def named(self, thread: Thread, kind: str) -> Step | None:
        """A step on one variable or tensor."""
        names = [
            name
            for name in thread.names
            if (kind not in ("delete", "clear") or is_variable(name))
            and (kind != "look" or not is_variable(name))
            and (kind != "wait" or is_on_cpu(name))
        ]
        if not names or (kind == "delete" and not self.deletes):
            return None
        if kind == "clear" and not (self.fails or self.cancels):
            return None
        ways = {"delete": ("", "function", "function", "fails" if self.fails else "")}
        how = self.rng.choice(ways.get(kind, ("",)))
        return Step(self.next_number(), kind, name=self.rng.choice(names), how=how)

    def of_pushed(self, thread: Thread, kind: str) -> Step | None:
        if not thread.pushed or (kind == "cancel" and not self.cancels):
            return None
        return Step(self.next_number(), kind, of=self.rng.choice(thread.pushed[-4:]))

    def step(self, thread: Thread) -> Step | None:
        rng = self.rng
        named = {"wait": 1.0, "look": 1.5, "delete": 1, "renew": 0.7, "clear": 1}
        of_pushed = {"cancel": 3.0, "result": 1}
        others = {"push": 12.0, "make": 1, "again": 2, "tensor": 4, "hold": 1.5, "wait_all": 0.3}
        weights = named | of_pushed | others
        kind = rng.choices(list(weights), list(weights.values()))[0]
        if kind in named:
            return self.named(thread, kind)
        if kind in of_pushed:
            return self.of_pushed(thread, kind)
        if kind == "wait_all":
            return Step(self.next_number(), kind)
        step: Step | None = getattr(self, kind)(thread)
        return step

    def program(self) -> Program:
        lists: list[list[Step]] = [[] for _ in self.threads]
        while self.left > 0:
            k = self.rng.randrange(len(self.threads))
            thread = self.threads[k]
            step = self.step(thread)
            if step is None:
                continue
            lists[k].append(step)
            if step.kind in ("push", "again"):
                thread.pushed.append(step.number)
                if self.cancels and self.rng.random() < 0.1:
                    lists[k].append(Step(self.next_number(), "cancel", of=step.number))
        names = sorted({name for thread in self.threads for name in thread.names})
        return Program(self.seed, self.size, tuple(map(tuple, lists)), tuple(names))


def program(seed: int, functions: int = 20) -> Program:
    """The program of a seed."""
    return Generator(seed, functions).program()
