"""Random programs give the same bits after each pass, and after all of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, plain_run
from tests.graph.test_random_traces import generators, programs, traced, wanted
from tests.support.oracle import LAYOUTS, compare

PROGRAMS = 20
ROWS = {
    "FoldConstant": ["FoldConstant"],
    "EliminateCommonSubexpr": ["EliminateCommonSubexpr"],
    "DeadCode": ["DeadCode"],
    "all": ["FoldConstant", "EliminateCommonSubexpr", "DeadCode", "InferType"],
}


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


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("names", ROWS.values(), ids=ROWS)
def test_random_programs(names: Sequence[str], layout: Sequence[str]) -> None:
    rows = programs()
    removed = 0
    for _ in range(PROGRAMS):
        one = next(rows).on(layout)
        given, eager = generators(), generators()
        program = frozen(traced(one, layout, given))
        made = transformed(program, names)
        made.verify()
        removed += len(program.main.ops) - len(made.main.ops)
        run = flow.graph.compile(made)
        for results in (plain_run.run(made.main, []), run(), run()):
            expected = wanted(one, layout, len(results), eager)
            for (label, seen), x in zip(expected, results, strict=True):
                difference = compare(seen, x.numpy())
                assert difference is None, (
                    f"seed {one.seed}, {label}: {difference}\n{program}\n{made}"
                )
    assert removed > 0
