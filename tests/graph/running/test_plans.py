"""Plans of executables: the checker sees what is wrong, and small arenas are the smallest."""

import copy
import importlib
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.analyses import BlockProgram, lower_bound, plan_blocks
from tests.support import ROOT
from tests.support.graphs import plans
from tests.support.graphs.plans import Base, Plan

# --- the checker can fail


class Reported:
    """A report that was changed, in the place of an executable."""

    def __init__(self, report: Any) -> None:
        self._report = report

    def report(self) -> Any:
        return self._report


def report_of(*devices: str) -> Any:
    """Of two strands of products on each device, with copies between the devices."""

    def work(x: Any) -> Any:
        results = []
        for device in devices:
            there = x.to(device)
            for scale in (0.5, 0.25):
                y = there @ there
                y = flow.tanh(y @ there) * scale
                results.append(flow.cumulative_sum(y @ y, axis=0))
        return [result.cpu() for result in results]

    x = flow.ones((20, 20))
    run = flow.graph.compile(flow.graph.trace(work, x).program, mode="parallel")
    plans.check(run)
    return copy.deepcopy(dict(run.report()))


def changed(report: Any, number: int, **fields: Any) -> None:
    row = report["memory"]["bases"][number]
    names = ("memory", "offset", "bytes", "is_input", "uses", "is_result")
    values = dict(zip(names, row, strict=True)) | fields
    report["memory"]["bases"][number] = tuple(values.values())


def in_arena(report: Any) -> Iterator[tuple[int, Base]]:
    for number, row in enumerate(report["memory"]["bases"]):
        base = Base.of(row)
        if base.memory >= 0 and report["memory"]["memories"][base.memory][2]:
            yield number, base


def overlap(report: Any) -> None:
    for number, _ in in_arena(report):
        changed(report, number, offset=0)


def outside(report: Any) -> None:
    number, base = max(in_arena(report), key=lambda pair: pair[1].offset)
    changed(report, number, offset=base.offset + base.bytes)


def in_an_input(report: Any) -> None:
    number, _ = next(in_arena(report))
    changed(report, number, memory=0, offset=0)


def over_a_result(report: Any) -> None:
    result = next(Base.of(row) for row in report["memory"]["bases"] if row[5])
    uses = [(max(u for s in report["segments"] for u in s["units"]), True)]
    number, _ = next(in_arena(report))
    changed(report, number, memory=result.memory, offset=0, uses=uses)


def two_new(report: Any) -> None:
    number, _ = next(in_arena(report))
    report["memory"]["bases"].append(report["memory"]["bases"][number])


def read_only(report: Any) -> None:
    for segment in report["segments"]:
        segment["memories"] = [(memory, False) for memory, _ in segment["memories"]]


def one_strand_as_two(report: Any) -> None:
    segment = next(s for s in report["segments"] if max(map(len, s["strands"])) > 1)
    units = [unit for strand in segment["strands"] for unit in strand]
    segment["strands"] = [[unit] for unit in units]


def no_strand(report: Any) -> None:
    report["segments"][1]["strands"].pop()


def inline_overlap(report: Any) -> None:
    rows = report["memory"]["inline_bases"]
    report["memory"]["inline_bases"] = [(0, *row[1:]) for row in rows]


def no_edge(report: Any) -> None:
    report["edges"].pop()


def one_more_edge(report: Any) -> None:
    (a, b), (c, d) = next(
        (one, two) for one in report["edges"] for two in report["edges"] if one[1] == two[0]
    )
    assert b == c
    report["edges"].append((a, d))


def an_edge_of_nothing(report: Any) -> None:
    """Between copies to two devices, the first segments."""
    report["edges"].append((0, 1))


def over_another_lane(report: Any) -> None:
    """A value of one device in the bytes of a value of the other, which nobody waits for."""
    lane = {unit: each["lane"] for each in report["segments"] for unit in each["units"]}
    _, base = next(in_arena(report))
    for other, there in in_arena(report):
        if lane[there.uses[0][0]] != lane[base.uses[0][0]] and there.bytes <= base.bytes:
            changed(report, other, memory=base.memory, offset=base.offset)


def no_wait(report: Any) -> None:
    report["waits"].pop(0)


def one_more_wait(report: Any) -> None:
    lanes = [each["lane"] for each in report["segments"]]
    known = set(report["waits"])
    report["waits"].append(
        next(
            (a, b)
            for b in range(len(lanes))
            for a in range(b)
            if lanes[a] != lanes[b] and (a, b) not in known
        )
    )


TWO, ONE = ("mock:0", "mock:1"), ("cpu",)
WRONG: list[tuple[Callable[[Any], None], tuple[str, ...], str]] = [
    (overlap, TWO, "overlap|both new|written over|of two strands"),
    (outside, TWO, "ends outside"),
    (in_an_input, TWO, "lies in an input"),
    (over_another_lane, TWO, "lanes use .* and|overlap"),
    (over_a_result, TWO, "a result is written over|overlap"),
    (two_new, TWO, "both new|overlap"),
    (read_only, TWO, "not ordered by"),
    (one_strand_as_two, TWO, "of two strands"),
    (no_strand, TWO, "not in the strands"),
    (inline_overlap, ONE, "overlap"),
    (no_edge, TWO, "no edge orders"),
    (one_more_edge, TWO, "follow from others"),
    (an_edge_of_nothing, TWO, "is of no memory"),
    (no_wait, TWO, "leave a hazard"),
    (one_more_wait, TWO, "is not needed"),
]


@pytest.mark.parametrize(
    ("change", "devices", "message"), WRONG, ids=[row[0].__name__ for row in WRONG]
)
def test_the_checker_can_fail(
    change: Callable[[Any], None], devices: tuple[str, ...], message: str
) -> None:
    report = report_of(*devices)
    change(report)
    with pytest.raises(AssertionError, match=message):
        plans.check(Reported(report))  # type: ignore[arg-type]


# --- small arenas are the smallest

UNIT = 64  # bytes, the alignment on the host


def random_function(rng: random.Random) -> Callable[[Any], list[Any]]:
    """A few operations on values of 1 to 4 units, one or two of which are returned."""
    lines, known = [], ["x"]
    for k in range(rng.randint(4, 7)):
        a, b = rng.choice(known[-3:]), rng.choice(known[-3:])
        lines.append(
            f"v{k} = "
            + rng.choice(
                [
                    f"flow.tanh({a})",
                    f"{a} * 2",
                    f"{a}[:8] + {b}[:8]",
                    f"flow.cumulative_sum({a})",
                    f"flow.concat([{a}[:8], {b}])[:32]",
                    f"flow.sort({a}[::-1])",
                ]
            )
        )
        known.append(f"v{k}")
    results = [*rng.sample(known[1:-1], rng.choice([0, 1])), known[-1]]
    code = "def function(x):\n    " + "\n    ".join([*lines, f"return [{', '.join(results)}]"])
    scope: dict[str, Any] = {"flow": flow}
    exec(code, scope)
    function: Callable[[Any], list[Any]] = scope["function"]
    return function


def times(base: Base, order: dict[int, int]) -> tuple[int, int]:
    units = [order[unit] for unit, _ in base.uses]
    return min(units), max(units)


def classes_of(report: Any) -> dict[int, int]:
    """Of each base in memory the one that stands for those that are written in place."""
    plan = Plan.of(Reported(report))  # type: ignore[arg-type]
    of = {n: n for n, b in enumerate(plan.bases) if b.memory >= 0 and b.uses and b.bytes}
    for row in report["memory"]["in_place"]:
        if row["is_in_place"]:
            kept, joined = of[row["operand"]], of[row["result"]]
            of = {n: kept if each == joined else each for n, each in of.items()}
    return of


class Search:
    """All ways to put temporaries into results and an arena of some units.

    What is written in place is one of them: which values are is decided before.
    """

    def __init__(self, report: Any) -> None:
        plan = Plan.of(Reported(report))  # type: ignore[arg-type]
        order = {unit: place for place, unit in enumerate(plan.segment_of())}
        of = classes_of(report)
        members = {c: [plan.bases[n] for n in of if of[n] == c] for c in of.values()}
        spans = {c: [times(base, order) for base in bases] for c, bases in members.items()}
        self.time = {c: (min(a for a, _ in s), max(b for _, b in s)) for c, s in spans.items()}
        self.size = {c: -(-max(b.bytes for b in bases) // UNIT) for c, bases in members.items()}
        given = [c for c, bases in members.items() if any(b.is_input for b in bases)]
        self.results = [
            c for c, bases in members.items() if c not in given and any(b.is_result for b in bases)
        ]
        self.items = [c for c in members if c not in given and c not in self.results]

    def is_apart(self, a: int, b: int, at: dict[int, tuple[int, int]]) -> bool:
        if at[a][0] != at[b][0]:
            return True
        one, two = sorted((a, b), key=lambda n: self.time[n])
        if self.time[one][1] < self.time[two][0]:
            return True
        begin, other = at[a][1], at[b][1]
        return begin >= other + self.size[b] or other >= begin + self.size[a]

    def fits(self, height: int, at: dict[int, tuple[int, int]], left: list[int]) -> bool:
        """Whether what is left has room beside what has a place: (space, unit); -1: the arena."""
        if not left:
            return True
        item, *others = left
        for space in (-1, *self.results):
            limit = height if space < 0 else self.size[space]
            if space >= 0 and self.time[item][0] >= self.time[space][0]:
                continue  # a result is not written over
            for unit in range(limit - self.size[item] + 1):
                tried = at | {item: (space, unit)}
                if all(self.is_apart(item, n, tried) for n in at) and self.fits(
                    height, tried, others
                ):
                    return True
        return False

    def smallest(self) -> int:
        """The units of the smallest arena."""
        at = {result: (result, 0) for result in self.results}
        height = 0
        while not self.fits(height, at, self.items):
            height += 1
        return height


@pytest.mark.parametrize("seed", range(60))
def test_small_arenas_are_the_smallest(seed: int) -> None:
    rng = random.Random(seed)
    function, x = random_function(rng), flow.arange(float(8 * rng.randint(1, 4)))
    with flow.flags(fusion="0"):
        run = flow.graph.compile(flow.graph.trace(function, x).program, mode="serial")
        report = run.report()
        plans.check(run)
    (arena,) = report["memory"]["arenas"]
    assert arena["bytes"] == UNIT * Search(report).smallest()
    assert [y.tolist() for y in run(x)] == [y.tolist() for y in function(x)]


# --- networks


def network(name: str, batch: int) -> tuple[Callable[..., Any], list[flow.Tensor]]:
    networks = importlib.import_module("networks")
    arrays = getattr(networks, f"{name.partition('_')[0]}_arrays")(batch)
    function = getattr(networks, name)
    return lambda *given: function(flow, *given), [flow.tensor(array) for array in arrays]


def in_blocks(report: Any) -> int:
    """NNVM's plan for the temporaries of a report that are written over no result."""
    plan = Plan.of(Reported(report))  # type: ignore[arg-type]
    of = classes_of(report)
    apart = {c for n, c in of.items() if plan.bases[n].is_result or plan.bases[n].is_input}
    kept = sorted(n for n, c in of.items() if c not in apart)
    over = [
        (row["operand"], row["result"])
        for row in report["memory"]["in_place"]
        if row["is_in_place"] and row["result"] in kept
    ]
    inputs: list[list[int]] = [[] for _ in plan.segment_of()]
    outputs: list[list[int]] = [[] for _ in inputs]
    for number in kept:
        maker = plan.bases[number].uses[0][0]
        outputs[maker].append(number)
        for unit in dict.fromkeys(unit for unit, _ in plan.bases[number].uses if unit != maker):
            inputs[unit].append(number)
    pairs = [
        [(i, o, 0) for o, b in enumerate(out) for i, a in enumerate(given) if (a, b) in over]
        for given, out in zip(inputs, outputs, strict=True)
    ]
    units = [-(-base.bytes // UNIT) for base in plan.bases]
    sizes = [UNIT] * len(units)
    return plan_blocks(BlockProgram(inputs, outputs, units, sizes, pairs=pairs), search=True).bytes


def bound_of(report: Any) -> int:
    """The largest sum of temporaries that are in memory at one time, if results are apart."""
    plan = Plan.of(Reported(report))  # type: ignore[arg-type]
    order = {unit: place for place, unit in enumerate(plan.segment_of())}
    temporaries = [b for b in plan.in_memory() if not b.is_input and not b.is_result]
    return lower_bound(
        [base.bytes for base in temporaries], [list(times(base, order)) for base in temporaries]
    )


@pytest.mark.parametrize(
    ("name", "batch"), [("perceptron_step", 128), ("transformer_block", 8)], ids=["mlp", "block"]
)
def test_arenas_of_networks(name: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    function, given = network(name, batch)
    run = flow.graph.compile(flow.graph.trace(function, *given).program, mode="serial")
    report = run.report()
    plans.check(run)
    (arena,) = report["memory"]["arenas"]
    assert 0 < arena["bytes"] <= 1.02 * arena["lower_bound"]
    assert arena["lower_bound"] <= bound_of(report)
    assert arena["bytes"] <= in_blocks(report)


def test_the_bound_is_that_of_all_temporaries() -> None:
    """A chain of products that no result has room for: two lie side by side."""

    def work(x: Any) -> Any:
        for _ in range(5):
            x = x @ x
        return flow.sum(x)

    x = flow.tensor(np.eye(30))
    run = flow.graph.compile(flow.graph.trace(work, x).program, mode="serial")
    (arena,) = run.report()["memory"]["arenas"]
    size = 30 * 30 * 8 + 32
    assert arena["bytes"] == arena["lower_bound"] == bound_of(run.report()) == 2 * size
    offsets = [base.offset for base in Plan.of(run).in_memory() if not base.is_result][1:]
    assert all(a != b for a, b in pairwise(offsets))
