"""NNVM's plan: its rules read word for word, runs on its blocks, and the faults that it has not."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    SHAPE,
    WRITE,
    BlockPlan,
    BlockProgram,
    ValueKind,
    colours,
    plan_blocks,
)
from tests.support.graphs.programs import Decisions, Program, differences, random_values


def arguments(program: Program) -> BlockProgram:
    """All that may be in place is a pair; operands of which the shape is read are ignored."""
    inputs = [[(v, how) for v, how in row if how != WRITE] for row in program.accesses]
    outputs = [[v for v, how in row if how == WRITE] for row in program.accesses]
    pairs = [
        [
            (k, o, 0)
            for k, (v, how) in enumerate(row)
            for o, output in enumerate(made)
            if how == ELEMENTWISE and program.places[v] == program.places[output]
        ]
        for row, made in zip(inputs, outputs, strict=True)
    ]
    return BlockProgram(
        [[v for v, _ in row] for row in inputs],
        outputs,
        program.values.elements,
        program.values.item_sizes,
        results=[v for v, kind in enumerate(program.kinds) if kind == ValueKind.RESULT],
        ignored=[[k for k, (_, how) in enumerate(row) if how == SHAPE] for row in inputs],
        pairs=pairs,
    )


def without_views(rng: random.Random, operations: int) -> Program:
    while True:
        program = random_values(rng, operations)
        if len(set(program.classes)) == len(program.classes):
            return program


def planned(*rows: Any, match_range: int = 16, search: bool = False, **given: Any) -> BlockPlan:
    return plan_blocks(BlockProgram(*rows, **given), match_range, search)


@dataclass
class Model:
    """The rules for one colour, step by step, with lists."""

    inputs: list[list[int]]
    outputs: list[list[int]]
    elements: list[int]
    item_sizes: list[int]
    results: list[int]
    ignored: list[list[int]]
    pairs: list[list[tuple[int, int, int]]]
    match_range: int
    devices: list[int]
    free: list[tuple[int, int]] = field(default_factory=list)  # size, block; as they were released
    sizes: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)

    def request(self, size: int, device: int) -> int:
        r = self.match_range
        mine = [entry for entry in self.free if self.device[entry[1]] == device]
        larger = [entry for entry in mine if size <= entry[0] <= size * r]
        smaller = [entry for entry in mine if r and size // r <= entry[0] < size]
        if larger:
            taken = min(larger, key=lambda entry: entry[0])  # the first of equals
        elif smaller:
            taken = max(reversed(smaller), key=lambda entry: entry[0])  # the last of equals
        else:
            self.sizes.append(size)
            self.left.append(0)
            self.device.append(device)
            return len(self.sizes) - 1
        self.free.remove(taken)
        self.sizes[taken[1]] = max(self.sizes[taken[1]], size)
        return taken[1]

    def count(self, value: int) -> int:
        reads = sum(
            x == value and k not in ignored
            for row, ignored in zip(self.inputs, self.ignored, strict=True)
            for k, x in enumerate(row)
        )
        return reads + self.results.count(value)

    def in_place(self, i: int, k: int, o: int, identity: int, block: list[int]) -> bool:
        x, y = self.inputs[i][k], self.outputs[i][o]
        places = (p for p, other in enumerate(self.inputs[i]) if other == x)
        own = [p for p in places if p not in self.ignored[i]]
        sole = own and self.left[block[x]] == len(own)
        allowed = all(any(p[:2] == (q, o) for p in self.pairs[i]) for q in own)
        return bool(
            block[y] < 0
            and self.count(y)
            and self.elements[x] == self.elements[y]
            and self.item_sizes[x] == self.item_sizes[y]
            and self.device[block[x]] == self.devices[i]
            and (identity or (sole and allowed))
        )

    def plan(self) -> tuple[list[int], list[int]]:
        block = [-1] * len(self.elements)
        in_place = [-1] * len(self.elements)
        for i, (inputs, outputs) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            taken = set()
            for k, o, identity in self.pairs[i]:
                if k in taken or block[inputs[k]] < 0:
                    continue
                if self.in_place(i, k, o, identity, block):
                    taken.add(k)
                    block[outputs[o]] = block[inputs[k]]
                    in_place[outputs[o]] = k
                    self.left[block[inputs[k]]] += self.count(outputs[o])
            wanted = [(self.elements[v] * self.item_sizes[v], k, v) for k, v in enumerate(outputs)]
            for size, _, value in sorted(wanted, reverse=True):  # of equals the last
                if block[value] < 0:
                    block[value] = self.request(size, self.devices[i])
                    self.left[block[value]] = self.count(value)
            for k, value in enumerate(inputs):
                if k not in self.ignored[i] and block[value] >= 0:
                    self.left[block[value]] -= 1
                    if self.left[block[value]] == 0:
                        self.free.append((self.sizes[block[value]], block[value]))
            for value in outputs:
                if self.count(value) == 0:
                    in_place[value] = -2
                    self.free.append((self.sizes[block[value]], block[value]))
        return block, in_place


@pytest.mark.parametrize("seed", range(150))
def test_the_plan_is_that_of_the_rules(seed: int) -> None:
    rng = random.Random(seed)
    program = without_views(rng, rng.randint(3, 25))
    given = arguments(program)._asdict()
    given["elements"] = [rng.choice([n, n, 3 * n, 5 * n]) for n in given["elements"]]
    given["item_sizes"] = [rng.choice([4, 4, 8, 1]) for _ in given["elements"]]
    given["devices"] = [rng.randrange(rng.choice([1, 2])) for _ in given["inputs"]]
    given["pairs"] = [
        [(k, o, int(rng.random() < 0.1)) for k, o, _ in row] for row in given["pairs"]
    ]
    given["match_range"] = rng.choice([0, 1, 2, 4, 8, 16])
    found = planned(**given)
    given.pop("colours")
    model = Model(**given)
    assert (found.blocks, found.in_place) == model.plan()
    assert (found.sizes, found.bytes) == (model.sizes, sum(model.sizes))


def in_memory(program: Program, plan: BlockPlan) -> Decisions:
    """Blocks as classes of memory; variables have theirs."""
    own = len(plan.sizes)
    return Decisions([b if b >= 0 else own + v for v, b in enumerate(plan.blocks)])


@pytest.mark.parametrize("seed", range(150))
def test_nothing_else_changes_in_blocks(seed: int) -> None:
    rng = random.Random(seed)
    program = without_views(rng, rng.randint(3, 14))
    plan = plan_blocks(arguments(program), match_range=rng.choice([0, 1, 2, 16]))
    lanes = [0] * len(program.accesses)
    assert differences(program, in_memory(program, plan), rng, lanes, []) == []


@pytest.mark.parametrize("seed", range(250))
def test_nothing_else_changes_in_blocks_on_lanes(seed: int) -> None:
    """Colours run side by side, ordered by what they read of each other only."""
    rng = random.Random(seed)
    program = without_views(rng, rng.randint(3, 12))
    lanes = [rng.randrange(3) for _ in program.accesses]
    plan = plan_blocks(arguments(program)._replace(colours=lanes))
    edges = program.edges()
    assert differences(program, in_memory(program, plan), rng, lanes, edges) == []


def chain(sizes: list[int], **given: Any) -> BlockPlan:
    """Value k + 1 is made of value k; 0 is a variable."""
    count = len(sizes)
    return planned(
        [[k] for k in range(count - 1)],
        [[k + 1] for k in range(count - 1)],
        elements=sizes,
        **{"item_sizes": [1] * count, "results": [count - 1], **given},
    )


def test_a_block_is_taken_within_the_range() -> None:
    assert chain([0, 10, 10, 10]).blocks == [-1, 0, 1, 0]
    assert chain([0, 160, 1, 10]).blocks == [-1, 0, 1, 0]
    assert chain([0, 161, 1, 10]).blocks == [-1, 0, 1, 2]
    assert chain([0, 161, 1, 10], match_range=17).blocks == [-1, 0, 1, 0]


def test_a_smaller_block_grows() -> None:
    plan = chain([0, 10, 1, 160])
    assert (plan.blocks, plan.sizes) == ([-1, 0, 1, 0], [160, 1])
    assert chain([0, 10, 1, 161], match_range=16).blocks == [-1, 0, 1, 0]  # 161 // 16 is 10
    assert chain([0, 10, 1, 176], match_range=16).blocks == [-1, 0, 1, 2]


def test_a_larger_block_is_better_than_a_smaller_one() -> None:
    """Free are 8 and 30; of 10 bytes, the larger one is taken, though it fits less well."""
    plan = planned(
        [[], [], [0, 1], [2]],
        [[0], [1], [2], [3]],
        elements=[8, 30, 1, 10],
        item_sizes=[1] * 4,
        results=[3],
    )
    assert plan.blocks == [0, 1, 2, 1]


def test_range_0_shares_nothing() -> None:
    assert chain([0, 10, 10, 10], match_range=0).blocks == [-1, 0, 1, 2]


def test_a_search_takes_the_first_of_the_fewest_bytes() -> None:
    sizes = [0, 100, 1, 40, 1, 100]
    tried = {r: chain(sizes, match_range=r).bytes for r in (1, 2, 4, 8, 16)}
    found = chain(sizes, search=True)
    assert found.bytes == min(tried.values())
    assert found.match_range == min(r for r, size in tried.items() if size == found.bytes)
    assert chain(sizes, search=True, match_range=1).match_range == 1


def test_a_search_with_range_0_makes_a_plan() -> None:
    """NNVM's loop from 1 to 0 plans nothing."""
    plan = chain([0, 10, 10, 10], match_range=0, search=True)
    assert (plan.blocks, plan.match_range) == ([-1, 0, 1, 2], 0)


def test_items_have_their_sizes() -> None:
    """NNVM takes 4 bytes for every item: a float64 would lie in the block of a float32."""
    plan = chain([0, 10, 10, 10], item_sizes=[1, 4, 1, 8], match_range=1)
    assert (plan.blocks, plan.sizes) == ([-1, 0, 1, 2], [40, 10, 80])


def test_the_largest_output_is_requested_first() -> None:
    plan = planned(
        [[], [0], [1]],
        [[0], [1], [2, 3]],
        elements=[100, 1, 10, 100],
        item_sizes=[1] * 4,
        results=[2, 3],
        match_range=10,
    )
    assert plan.blocks == [0, 1, 2, 0]


def test_unused_outputs_share_with_no_operand() -> None:
    plan = planned(
        [[], [0], []], [[0], [1], [2]], elements=[8, 8, 8], item_sizes=[1] * 3, results=[2]
    )
    assert plan.blocks[1] != plan.blocks[0]
    assert plan.in_place[1] == -2
    assert plan.blocks[2] == plan.blocks[0]  # released before the unused output


X_TIMES_X: dict[str, Any] = {
    "inputs": [[], [0, 0]],
    "outputs": [[0], [1]],
    "elements": [8, 8],
    "item_sizes": [4, 4],
    "results": [1],
}


def test_x_times_x_is_in_place() -> None:
    """NNVM counts two uses, and asks for one."""
    plan = planned(**X_TIMES_X, pairs=[[], [(0, 0, 0), (1, 0, 0)]])
    assert (plan.blocks, plan.in_place) == ([0, 0], [-1, 0])


def test_an_operation_that_reads_the_input_otherwise_too_is_not_in_place() -> None:
    """x + sum(x): elementwise in its first operand only."""
    assert planned(**X_TIMES_X, pairs=[[], [(0, 0, 0)]]).blocks == [0, 1]


def test_an_ignored_input_is_not_written_over() -> None:
    """The count of 1 is that of another reader, which comes later."""
    given: dict[str, Any] = {
        "inputs": [[], [], [0, 1], [0]],
        "outputs": [[0], [1], [2], []],
        "elements": [8] * 3,
        "item_sizes": [4] * 3,
        "results": [2],
        "pairs": [[], [], [(0, 0, 0)], []],
    }
    assert planned(**given, ignored=[[], [], [0], []]).in_place[2] == -1
    assert planned(**given, ignored=[[], [], [0, 1], []]).in_place[2] == -1


def test_an_ignored_input_lives_no_longer() -> None:
    plan = planned(
        [[], [0], [1], [0, 2]],
        [[0], [1], [2], [3]],
        elements=[8] * 4,
        item_sizes=[4] * 4,
        results=[3],
        ignored=[[], [], [], [0]],
    )
    assert plan.blocks == [0, 1, 0, 1]


def test_variables_are_never_written_over() -> None:
    plan = planned(
        [[0]], [[1]], elements=[8, 8], item_sizes=[4, 4], results=[1], pairs=[[(0, 0, 0)]]
    )
    assert (plan.blocks, plan.in_place) == ([-1, 0], [-1, -1])


def test_an_identity_shares_though_others_read() -> None:
    given: dict[str, Any] = {
        "inputs": [[], [0], [0, 1]],
        "outputs": [[0], [1], [2]],
        "elements": [8] * 3,
        "item_sizes": [4] * 3,
        "results": [2],
    }
    assert planned(**given, pairs=[[], [(0, 0, 1)], []]).blocks == [0, 0, 1]
    assert planned(**given, pairs=[[], [(0, 0, 0)], []]).blocks == [0, 1, 2]


def test_devices_have_blocks_of_their_own() -> None:
    assert chain([0, 8, 8, 8], devices=[0, 0, 1]).blocks == [-1, 0, 1, 2]


def test_colours_have_blocks_of_their_own() -> None:
    """Of the colour that released it: two branches, of one path each."""
    inputs = [[], [0], [1], [2], [0], [4], [5], [3, 6]]
    edges = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (3, 7), (6, 7)]
    given: dict[str, Any] = {
        "outputs": [[v] for v in range(8)],
        "elements": [8] * 8,
        "item_sizes": [4] * 8,
        "results": [7],
    }
    two = colours([1] * 8, edges, 2)
    blocks = planned(inputs, **given, colours=two).blocks
    assert not {blocks[1], blocks[2], blocks[3]} & {blocks[4], blocks[5], blocks[6]}
    one = planned(inputs, **given).blocks
    assert len(set(one)) < len(set(blocks))


def test_a_reader_of_another_colour_is_waited_for() -> None:
    """0 is read on lane 1 and, last in the program, on lane 0: NNVM gives its block to value 3."""
    program = Program()
    x, y, z, w = (program.value() for _ in range(4))
    program.operation([], x)
    program.operation([(x, READ)], y)
    program.operation([(x, READ)], z)
    program.operation([(z, READ)], w)
    program.operation([(y, READ), (w, READ)])
    lanes = [0, 1, 0, 0, 0]
    plan = plan_blocks(arguments(program)._replace(colours=lanes))
    assert plan.blocks[w] != plan.blocks[x]
    in_spite = Decisions([0, 1, 2, 0])
    edges = program.edges()
    assert any(differences(program, in_spite, random.Random(s), lanes, edges) for s in range(9))
    waited = planned(
        [[], [0], [0], [1, 2], [3]],
        [[0], [1], [2], [3], [4]],
        elements=[8] * 5,
        item_sizes=[4] * 5,
        results=[4],
        colours=lanes,
    )
    assert waited.blocks[3] == waited.blocks[0]  # by then lane 0 has what lane 1 made of it


def test_in_place_waits_for_a_reader_of_another_colour() -> None:
    given: dict[str, Any] = {
        "inputs": [[], [0], [0], [1, 2]],
        "outputs": [[0], [1], [2], [3]],
        "elements": [8] * 4,
        "item_sizes": [4] * 4,
        "results": [3],
        "pairs": [[], [], [(0, 0, 0)], []],
    }
    assert planned(**given).in_place[2] == 0
    assert planned(**given, colours=[0, 1, 0, 0]).in_place[2] == -1


def test_empty_programs_and_sizes() -> None:
    assert planned([], [], elements=[], item_sizes=[]) == ([], [], [], 0, 16)
    assert chain([0, 0, 0, 0]).bytes == 0
