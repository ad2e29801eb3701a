"""Build, run and take apart the first program of Paddle's introduction.

    python examples/executor_tour.py                    # on the cpu
    python examples/executor_tour.py --device mock:0    # on a simulated device
    python examples/executor_tour.py --draw tour.html   # with a picture of the main program

The program is built by hand: data X of [None, 1], a layer of 10, the mean, and a step of descent by
0.01 with the gradients written out. The startup program runs once, then the main program with feeds
of several sizes. The tables show what comes before what, how the operations would lie on two lanes,
in which order they are issued, and that each way to run gives the same bits.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.graph import Numbered, Program
from oneflow_lite.graph.analyses import (
    colours,
    dependences,
    order_by_priority,
    successors,
    waits,
)

LAYER = 10
LEARNING_RATE = 0.01
SIZES = (10, 1, 64, 1000)
LANES = 2
MODES = ("auto", "inline", "serial", "parallel", "sequential", "naive")
RELEASES = ("plan", "fast", "event")


def build() -> tuple[Program, Program]:
    """Return the main program and the startup program."""
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("X", (None, 1), "float32")
        w = flow.graph.parameter("w", (1, LAYER), init=weights, dtype="float32")
        b = flow.graph.parameter("b", LAYER, dtype="float32")
        hidden = x @ w + b
        flow.graph.named("loss", flow.mean(hidden))
        gradient = flow.ones_like(hidden) / hidden.size
        w -= LEARNING_RATE * (x.T @ gradient)
        b -= LEARNING_RATE * gradient.sum(axis=0)
    return main, startup


def weights(shape: tuple[int, ...]) -> flow.Tensor:
    """Return numbers from 0 to 1."""
    return flow.linspace(0, 1, LAYER).reshape(shape)


def train(
    main: Program, startup: Program, device: str, mode: str = "auto", release: str = "plan"
) -> tuple[list[float], dict[str, bytes]]:
    """Run the startup program once, and the main program with each size; return the losses and
    the parameters."""
    executor, scope = flow.graph.Executor(device, mode, release), flow.graph.Scope()
    executor.run(startup, scope=scope)
    losses = []
    for size in SIZES:
        x = np.random.default_rng(size).random((size, 1), dtype=np.float32)
        (loss,) = executor.run(main, feed={"X": x}, fetch_list=["loss"], scope=scope)
        losses.append(loss.item())
    return losses, {name: scope[name].numpy().tobytes() for name in scope}


def show(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Print a table."""
    cells = [head, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    for row in cells:
        print("  ".join(x.ljust(n) for x, n in zip(row, widths, strict=True)).rstrip())
    print()


def operations(program: Numbered) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each operation: what it is, on which lane, and what comes after it."""
    count = len(program.names)
    edges = dependences(program.variables(), program.tokens)
    lanes = colours([1] * count, edges, LANES)
    after = successors(count, edges)
    place = {i: k for k, i in enumerate(order_by_priority(lanes, edges))}
    waiting: dict[int, list[int]] = {}
    for signal, wait in waits(lanes, edges):
        waiting.setdefault(wait, []).append(signal)
    for i, name in enumerate(program.names):
        yield i, name, numbers(after[i]), lanes[i], numbers(waiting.get(i, [])), place[i]


def numbers(values: list[int]) -> str:
    return " ".join(map(str, values)) or "-"


def modes(main: Program, startup: Program, device: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each way to run: the last loss, and whether all bits are those of eager's
    naive mode."""
    with flow.flags(sync=True):
        expected = train(main, startup, device)
    for mode in MODES:
        for release in RELEASES:
            found = train(main, startup, device, mode, release)
            yield mode, release, f"{found[0][-1]:.6f}", "yes" if found == expected else "no"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build, run and take apart a first program.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--draw", metavar="FILE", help="a picture: .html, .svg or .dot")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    device = arguments.device
    try:
        flow.zeros(1, device=device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    main_program, startup = build()
    show(("rows", "loss"), loss_rows(main_program, startup, device))
    compiled = flow.graph.compile(main_program, {"X": (SIZES[0], 1)}, ["loss"])
    head = ("", "operation", "before", "lane", "waits for", "issued")
    show(head, operations(flow.graph.numbered(compiled.function)))
    show(
        (f"mode on {device}", "release", "last loss", "naive's bits"),
        modes(main_program, startup, device),
    )
    if arguments.draw:
        compiled.draw(arguments.draw)
    return 0


def loss_rows(main: Program, startup: Program, device: str) -> list[tuple[Any, ...]]:
    losses, _ = train(main, startup, device)
    return [(size, f"{loss:.6f}") for size, loss in zip(SIZES, losses, strict=True)]


if __name__ == "__main__":
    raise SystemExit(main())
