"""Random programs give the same bits after each pass, and after all of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, plain_run
from oneflow_lite.graph.primitives import inlined
from oneflow_lite.graph.text import digest_of
from tests.graph.test_random_traces import generators, programs, traced, wanted
from tests.support.oracle import LAYOUTS, compare

PROGRAMS = 12
# A pass sees devices as names: the second one of a kind is like the first.
ROWS_OF_DEVICES = {
    name: row
    for name, row in LAYOUTS.items()
    if name not in ("mock:1", "mixed, mock first", "cuda:1")
}
ROWS = {
    "FoldConstant": ["FoldConstant"],
    "EliminateCommonSubexpr": ["EliminateCommonSubexpr"],
    "DeadCode": ["DeadCode"],
    "FuseOps": ["DeadCode", "FuseOps"],
    "WidenGroups": ["DeadCode", "FuseOps", "WidenGroups", "InferType"],
    "all": ["FoldConstant", "EliminateCommonSubexpr", "DeadCode", "InferType"],
}
ALONE = [name for name in ROWS if name != "all"]  # the quick tests run all of them in a row
EACH = ["all", *(pytest.param(name, marks=pytest.mark.slow) for name in ALONE)]
LEVELS = [3, *(pytest.param(level, marks=pytest.mark.slow) for level in range(3))]


def frozen(program: Program) -> Program:
    """The same with constants in the place of captured tensors that nobody writes to."""
    main = program.main
    written = {target for target, _ in main.assigns}
    known = tuple(bound for bound in main.captures if bound.value not in written)
    left = tuple(bound for bound in main.captures if bound.value in written)
    changed = replace(main, captures=left, constants=(*known, *main.constants))
    return Program(program.name, {"main": changed})


def transformed(program: Program, names: Sequence[str]) -> Program:
    row = passes.Sequential([passes.find_pass(name) for name in names])
    with passes.PassContext(opt_level=3):
        return row(program)


def constants_of(program: Program) -> dict[str, flow.Tensor]:
    tensors = [x.tensor for x in program.main.constants if x.tensor is not None]
    return {digest_of(x): x for x in tensors}


@pytest.mark.parametrize("layout", ROWS_OF_DEVICES.values(), ids=ROWS_OF_DEVICES)
@pytest.mark.parametrize("names", EACH)
def test_random_programs(names: str, layout: Sequence[str]) -> None:
    rows = programs()
    removed = 0
    for _ in range(PROGRAMS):
        one = next(rows).on(layout)
        given, eager = generators(), generators()
        program = frozen(traced(one, layout, given))
        made = transformed(program, ROWS[names])
        made.verify()
        again = Program.parse(str(made), constants_of(made))
        again.verify()
        assert again == made
        removed += len(program.main.ops) - len(made.main.ops)
        plain, _ = inlined(made.main, made.functions)
        run = flow.graph.compile(made)
        for results in (plain_run.run(plain, []), run(), run()):
            expected = wanted(one, layout, len(results), eager)
            for (label, seen), x in zip(expected, results, strict=True):
                difference = compare(seen, x.numpy())
                assert difference is None, (
                    f"seed {one.seed}, {label}: {difference}\n{program}\n{made}"
                )
    assert removed > 0


@pytest.mark.parametrize("layout", ROWS_OF_DEVICES.values(), ids=ROWS_OF_DEVICES)
@pytest.mark.parametrize("level", LEVELS)
def test_levels(level: int, layout: Sequence[str]) -> None:
    rows = programs()
    groups = 0
    for _ in range(PROGRAMS):
        one = next(rows).on(layout)
        given, eager = generators(), generators()
        program = frozen(traced(one, layout, given))
        run = flow.graph.compile(program, opt_level=level, mode="serial")
        groups += len(run.report()["groups"])
        for results in (run(), run()):
            expected = wanted(one, layout, len(results), eager)
            for (label, seen), x in zip(expected, results, strict=True):
                difference = compare(seen, x.numpy())
                assert difference is None, f"seed {one.seed}, {label}: {difference}\n{program}"
    assert level or not groups
