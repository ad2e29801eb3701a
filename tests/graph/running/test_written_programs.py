"""Programs from text may use values that tracing never uses: old ones, and each other's."""

import random
from dataclasses import dataclass, field

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, plain_run
from oneflow_lite.graph.ir import Function, Op, Value
from tests.support.graphs.functions import MODES, RELEASES

OLD_VALUE = """
program old
%0: f64[3] cpu = parameter
%1: f64[3] cpu = multiply(%0, 2)
%2: f64[3] cpu = add(%1, 1) into %1
%3: f64[3] cpu = multiply(%1, %2)
return %3, %2
"""
SWAP = """
program swap
%0: f64[3] cpu = parameter
%1: f64[3] cpu = parameter
%2: f64[3] cpu = add(%0, 1)
%0 := %1
%1 := %0
return %2
"""
BOTH = """
program both
%0: f64[3] cpu = parameter
%1: f64[3] cpu = parameter
%2: f64[3] cpu = add(%0, %1) into %0
%3: f64[3] cpu = multiply(%0, %2) into %1
%0 := %3
%1 := %2
return %3
"""
OLD_VERSION = """
program old_version
%0: f64[3] cpu = parameter
%1: f64[3] cpu = add(%0, 1) into %0
%2: f64[3] cpu = multiply(%1, 10) into %1
%0 := %2
return %1
"""
OTHER_VERSION = """
program other_version
%0: f64[3] cpu = parameter
%1: f64[3] cpu = parameter
%2: f64[3] cpu = add(%0, 1) into %0
%0 := %1
return %2
"""
OLD_VIEW = """
program old_view
%0: f64[3] cpu = parameter
%1: f64[2] cpu = view.slice[offset=8](%0)
%2: f64[3] cpu = multiply(%1, 10) into %1
%3: f64[2] cpu = view.slice[offset=8](%2)
%4: f64[3] cpu = add(%2, 1) into %2
%0 := %4
return %3
"""
FOR_ANOTHER = """
program for_another
%0: f64[3] cpu = parameter
%1: f64[3] cpu = parameter
%2: f64[3] cpu = add(%0, 1) into %0
%3: f64[3] cpu = multiply(%2, 10) into %2
%0 := %3
%1 := %2
return %2
"""
TEXTS = {
    **{"old": OLD_VALUE, "swap": SWAP, "both": BOTH, "old version": OLD_VERSION},
    **{"other version": OTHER_VERSION, "old view": OLD_VIEW, "for another": FOR_ANOTHER},
}
WAYS = [*((mode, "plan") for mode in MODES), *(("serial", release) for release in RELEASES[1:])]


@pytest.mark.parametrize(("mode", "release"), WAYS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_values_are_those_of_the_text(text: str, mode: str, release: str) -> None:
    is_right(Program.parse(text.strip()), mode, release)


def is_right(program: Program, mode: str, release: str) -> None:
    """Results, arguments afterwards, and which results are arguments are those of a plain run."""
    types = [x.type for x in program.main.params]
    right, left = (
        [
            flow.broadcast_to(flow.tensor([k + 1.0, k + 2.0, k - 3.0]), given.shape)
            for k, given in enumerate(types)
        ]
        for _ in range(2)
    )
    expected = plain_run.run(program.main, right)
    run = flow.graph.compile(program, mode=mode, release=release)
    run.fill_arena(0xA5)
    results = run(*left)
    seen, wanted = (
        ([x.tolist() for x in (*made, *args)], [[x.shares_storage(y) for y in args] for x in made])
        for made, args in ((results, left), (expected, right))
    )
    assert seen == wanted, str(program)


def test_what_the_texts_compute() -> None:
    x, y = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 5.0])
    old = Program.parse(OLD_VALUE.strip().replace("[3]", "[2]"))
    assert [z.tolist() for z in flow.graph.compile(old)(x)] == [[6, 20], [3, 5]]
    swap = Program.parse(SWAP.strip().replace("[3]", "[2]"))
    assert flow.graph.compile(swap)(x, y)[0].tolist() == [2, 3]
    assert (x.tolist(), y.tolist()) == ([3, 5], [1, 2])
    both = Program.parse(BOTH.strip().replace("[3]", "[2]"))
    assert flow.graph.compile(both)(x, y)[0].tolist() == [12, 35]
    assert (x.tolist(), y.tolist()) == ([12, 35], [4, 7])


ROW, PART, REPEATED = "f64[3]", "f64[2]", "f64[2,3]{0,8}"


@dataclass
class Writer:
    """Writes a random text: operations, views, writes to old and new values, and assignments.

    ``whole`` is the type of the parameters, ``part`` that of views of them.
    """

    rng: random.Random
    whole: str
    part: str
    lines: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)  # what each value is a view of

    def define(self, given: str, text: str, root: str | None = None) -> None:
        name = f"%{len(self.types)}"
        self.types[name], self.roots[name] = given, root or name
        self.lines.append(f"{name}: {given} cpu = {text}")

    def pick(self, *types: str) -> str:
        of = [x for x, given in self.types.items() if given in types]
        return self.rng.choice(of[-3:] if self.rng.random() < 0.7 else of)

    def view(self) -> None:
        x = self.pick(*self.types.values())
        if self.types[x] == self.whole:
            offset = self.rng.choice(["", "[offset=8]"]) if self.part == PART else ""
            self.define(self.part, f"view.slice{offset}({x})", self.roots[x])
        elif self.whole == REPEATED:
            self.define(self.whole, f"view.broadcast_to({x})", self.roots[x])

    def compute(self) -> None:
        kinds = sorted({*self.types.values()} - {REPEATED})
        if not kinds:
            return
        given, name = self.rng.choice(kinds), self.rng.choice(["add", "multiply"])
        call = f"{name}({self.pick(given)}, {self.rng.choice([self.pick(given), 2, 3, 10])})"
        if self.rng.random() < 0.4:
            return self.define(given, call)
        target = self.pick(given)
        self.define(self.types[self.roots[target]], f"{call} into {target}")

    def text(self, params: int, operations: int) -> str:
        for _ in range(params):
            self.define(self.whole, "parameter")
        given = list(self.types)
        for _ in range(operations):
            self.rng.choice([self.view, self.compute, self.compute])()
        self.lines += [f"{x} := {self.pick(self.whole)}" for x in given if self.rng.random() < 0.8]
        results = [self.pick(*self.types.values()) for _ in range(self.rng.randint(1, 3))]
        return "\n".join(["program random", *self.lines, f"return {', '.join(results)}", ""])


@pytest.mark.parametrize(("mode", "release"), WAYS)
@pytest.mark.parametrize(
    ("whole", "part"), [(ROW, PART), (REPEATED, ROW)], ids=["rows", "repeated rows"]
)
def test_values_are_those_of_random_texts(whole: str, part: str, mode: str, release: str) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        text = Writer(rng, whole, part).text(rng.randint(1, 3), rng.randint(1, 10))
        is_right(Program.parse(text), mode, release)


def without_copies(function: Function) -> Function:
    """The same with the operands of copies in the place of the copies."""

    class NoCopies(passes.Rewriter):
        def visit_op(self, op: Op) -> Op | Value | tuple[Value, ...]:
            is_copy = op.call.kind == "copy" and not op.targets
            return op.values()[0] if is_copy else super().visit_op(op)

    return NoCopies().rewritten(function)


def test_a_pass_that_leaves_copies_out() -> None:
    def function(x: flow.Tensor) -> flow.Tensor:
        x += 1
        y = x.copy()
        x *= 10
        return y

    x = flow.tensor([1.0, 2.0])
    program = flow.graph.trace(function, x).program
    changed = Program("changed", {"main": without_copies(program.main)})
    assert "copy" not in str(changed)
    (result,) = flow.graph.compile(changed)(x)
    assert (result.tolist(), x.tolist()) == ([2, 3], [20, 30])
