"""Programs from text may use values that tracing never uses: old ones, and each other's."""

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, plain_run
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
WAYS = [*((mode, "plan") for mode in MODES), *(("serial", release) for release in RELEASES[1:])]


@pytest.mark.parametrize(("mode", "release"), WAYS)
@pytest.mark.parametrize("text", [OLD_VALUE, SWAP, BOTH], ids=["old", "swap", "both"])
def test_values_are_those_of_the_text(text: str, mode: str, release: str) -> None:
    program = Program.parse(text.strip())
    count = len(program.main.params)
    given = [flow.tensor([1.0, 2.0, 3.0]), flow.tensor([5.0, 7.0, 11.0])][:count]
    right = [x.copy() for x in given]
    expected = [x.tolist() for x in plain_run.run(program.main, right)]
    run = flow.graph.compile(program, mode=mode, release=release)
    run.fill_arena(0xA5)
    assert [x.tolist() for x in run(*given)] == expected
    assert [x.tolist() for x in given] == [x.tolist() for x in right]


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
