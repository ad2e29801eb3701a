"""Plan the memory of a transformer block in three ways, and compare what each needs.

    python examples/memory_tour.py                              # (8, 128, 512), 8 heads
    python examples/memory_tour.py --batch 1 --time 16 --width 64
    python examples/memory_tour.py --draw memory.html           # with a picture of the plan

The block is traced, so nothing is computed: its operations and the sizes of its values are all that
the plans need. They are NNVM's blocks, which values share, for each match range and by colours for
two lanes; and offsets in one arena. No plan is smaller than the lower bound: the most bytes that
are in use at one time.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import oneflow_lite as flow
from oneflow_lite.graph import Numbered, Program, numbered, spec, trace
from oneflow_lite.graph.analyses import (
    WRITE,
    BlockProgram,
    ValueKind,
    class_users,
    colours,
    dependences,
    in_place,
    lower_bound,
    plan_blocks,
    plan_offsets,
)

HEADS = 8
RANGES = (0, 1, 2, 4, 8, 16)
LANES = 2
WEIGHTS = ("query", "key", "value", "out", "wide", "narrow")


def softmax(x: Any) -> Any:
    exponents = flow.exp(x - x.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def normalized(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / flow.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def block(x: Any, weights: dict[str, Any]) -> Any:
    """Return self-attention and a layer of twice two products, each with a way around."""
    batch, time, width = x.shape

    def split(y: Any) -> Any:
        return flow.permute_dims(y.reshape((batch, time, HEADS, width // HEADS)), (0, 2, 1, 3))

    h = normalized(x)
    query, key, value = (split(h @ weights[name]) for name in WEIGHTS[:3])
    attention = softmax(query @ key.mT / (width // HEADS) ** 0.5)
    mixed = flow.permute_dims(attention @ value, (0, 2, 1, 3)).reshape((batch, time, width))
    x = x + mixed @ weights["out"]
    inner = normalized(x) @ weights["wide"]
    inner = inner * 0.5 * (1 + flow.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
    return x + inner @ weights["narrow"]


def traced_block(batch: int, time: int, width: int) -> Program:
    """Return the block's operations and values."""
    shapes = dict.fromkeys(WEIGHTS, (width, width))
    shapes |= {"wide": (width, 4 * width), "narrow": (4 * width, width)}
    weights = {name: spec(shape, "float32") for name, shape in shapes.items()}
    return trace(block, spec((batch, time, width), "float32"), weights).program


def blocks_program(program: Numbered, lanes: list[int] | None = None) -> BlockProgram:
    """Return the program as NNVM's planner takes it; a view is a use of what it is of."""
    values, classes = program.values, list(program.values.classes)
    first = {c: classes.index(c) for c in set(classes)}
    inputs, outputs, pairs = [], [], []
    may = {(operation, operand) for operation, operand, _ in program.pairs}
    for operation, row in enumerate(program.accesses):
        inputs.append([first[classes[x]] for x, access in row if access != WRITE])
        outputs.append([first[classes[x]] for x, access in row if access == WRITE])
        operands = [x for x, access in row if access != WRITE]
        pairs.append([(k, 0, 0) for k, x in enumerate(operands) if (operation, x) in may])
    results = [first[classes[x]] for x, kind in enumerate(values.kinds) if kind == ValueKind.RESULT]
    return BlockProgram(
        inputs, outputs, values.elements, values.item_sizes, results, pairs=pairs, colours=lanes
    )


def plans(program: Numbered) -> Iterator[tuple[str, int]]:
    """Yield each plan's name and the bytes that it needs, results included."""
    for match_range in RANGES:
        found = plan_blocks(blocks_program(program), match_range)
        yield f"blocks, match range {match_range}", found.bytes
    edges = dependences(program.variables(), program.tokens)
    lanes = colours([1] * len(program.names), edges, LANES)
    found = plan_blocks(blocks_program(program, lanes))
    yield f"blocks, {LANES} colours", found.bytes
    written = in_place(program.accesses, program.pairs, program.values)
    sizes, users = memories(program, written.classes)
    yield "offsets", plan_offsets(sizes, users).bytes
    yield "lower bound", lower_bound(sizes, users)


def memories(program: Numbered, classes: list[int]) -> tuple[list[int], list[list[int]]]:
    """Return the bytes and the users of each memory; arguments need none, results are used last."""
    values = program.values
    users = class_users(program.accesses, classes)
    sizes = [0] * len(users)
    for x, c in enumerate(classes):
        sizes[c] = max(sizes[c], values.elements[x] * values.item_sizes[x])
        if values.kinds[x] == ValueKind.RESULT:
            users[c] = sorted({*users[c], len(program.names) - 1})
    for x, c in enumerate(classes):
        if values.kinds[x] == ValueKind.GIVEN:
            users[c] = []
    return sizes, users


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Plan the memory of a transformer block.")
    parser.add_argument("--batch", type=int, default=8, help="default: 8")
    parser.add_argument("--time", type=int, default=128, help="words in a row (default: 128)")
    parser.add_argument("--width", type=int, default=512, help="a multiple of 8 (default: 512)")
    parser.add_argument("--draw", metavar="FILE", help="a picture: .html, .svg or .dot")
    arguments = parser.parse_args()
    if min(arguments.batch, arguments.time) < 1:
        parser.error("--batch and --time must be at least 1")
    if arguments.width < HEADS or arguments.width % HEADS:
        parser.error(f"--width must be at least {HEADS}, and a multiple of it")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    traced = traced_block(arguments.batch, arguments.time, arguments.width)
    program = numbered(traced.main)
    rows = list(plans(program))
    bound = rows[-1][1]
    shape = (arguments.batch, arguments.time, arguments.width)
    print(f"transformer block {shape}, {len(program.names)} operations\n")
    print(f"{'plan':<24}{'bytes':>14}{'of the bound':>14}")
    for name, size in rows:
        print(f"{name:<24}{size:>14,}{size / bound:>14.3f}")
    if arguments.draw:
        flow.graph.compile(traced).draw(arguments.draw)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
