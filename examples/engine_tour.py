"""Go through all that the engine for any function does, in small steps that check themselves.

    python examples/engine_tour.py                     # on the cpu
    python examples/engine_tour.py --device mock:0     # operations on a simulated device
    python examples/engine_tour.py --wire 20           # a slower network between the workers

A function is pushed with what it reads and what it changes, and runs when its turn has come. The
steps follow the documentation of MXNet's engine: the order of reads and writes, a random generator
as a variable, parameters that change in place, memory that is given back, and gradients that are
reduced while the backward pass goes on. Then come functions that complete later, priorities,
errors, and asyncio. Each step prints a line, and a result that is not the expected one ends the
program with status 1.
"""

import argparse
import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import oneflow_lite as flow
from oneflow_lite import engine

READERS = 3
DRAWS = 50  # of each of two functions
STEPS = 20  # of descent
LEARNING_RATE = 0.1
WORKERS = 2
LAYERS = 4
WIDTH = 400  # of a layer, and rows of a batch
QUESTIONS = 8

Array = npt.NDArray[np.float64]


def expect(what: str, found: object, wanted: object) -> None:
    """End the program if a result is not the expected one."""
    if found != wanted:
        raise SystemExit(f"{what}: expected {wanted}, got {found}")


# --- variables


def order() -> str:
    """A variable stands for a list. Writers run in the order of their pushes; readers between two
    writers run in any order, and at the same time."""
    numbers, seen = [1], []
    variable = engine.Var("numbers")

    def look() -> None:
        seen.append(tuple(numbers))

    for k in (2, 3):
        for _ in range(READERS):
            engine.push(look, reads=[variable])
        engine.push(lambda k=k: numbers.append(k), writes=[variable])
    engine.wait(variable)
    expect("what readers saw", seen, [(1,)] * READERS + [(1, 2)] * READERS)
    return f"{READERS} readers saw {seen[0]}, {READERS} saw {seen[-1]}; the list is {numbers}"


def generator() -> str:
    """Drawing changes a generator, so a function that draws writes it. Two functions that draw
    keep their order, and the numbers are those of the serial run."""
    rng, variable = np.random.default_rng(0), engine.Var("rng")
    noise, places = flow.zeros(DRAWS), flow.zeros(DRAWS)

    def draw_noise(array: Array, k: int) -> None:
        array[k] = rng.normal()

    def draw_place(array: Array, k: int) -> None:
        array[k] = rng.integers(100)

    for k in range(DRAWS):
        engine.push(lambda array, k=k: draw_noise(array, k), writes=[variable, noise])
        engine.push(lambda array, k=k: draw_place(array, k), writes=[variable, places])

    serial = np.random.default_rng(0)
    wanted = [(serial.normal(), serial.integers(100)) for _ in range(DRAWS)]
    expect("draws", list(zip(noise.tolist(), places.tolist(), strict=True)), wanted)
    return f"{2 * DRAWS} draws of two functions are those of the serial run"


def parameters(device: str) -> str:
    """A tensor is a variable, too. One function changes the weights in place; another, and
    operations on the device, read them before the next change."""
    weights, target, norms = flow.zeros(1000), flow.arange(1000.0), []
    descend = engine.Operator(
        lambda goal, w: np.add(w, LEARNING_RATE * (goal - w), out=w), [target], [weights]
    )
    tops = []
    for _ in range(STEPS):
        engine.push(lambda w: norms.append(float(np.abs(w).max())), reads=[weights])
        tops.append((weights.to(device) * 2).max())
        descend.push()

    w, goal, wanted = np.zeros(1000), np.arange(1000.0), []
    for _ in range(STEPS):
        wanted.append((float(np.abs(w).max()), float((w * 2).max())))
        w += LEARNING_RATE * (goal - w)
    expect("weights", weights.tolist(), w.tolist())
    expect("reads", list(zip(norms, [top.item() for top in tops], strict=True)), wanted)
    return f"{STEPS} updates in place, each read before by a function and by {device}"


def memory() -> str:
    """The engine gives a buffer back when its last use has ended; the program does not wait."""
    free = [np.zeros(4)]
    buffer, variable = free.pop(), engine.Var("buffer")
    uses = [engine.push(buffer.sum, reads=[variable]) for _ in range(READERS)]
    given_back = engine.delete(variable, lambda: free.append(buffer))
    given_back.wait()
    expect("uses that have ended", [use.done() for use in uses], [True] * READERS)
    expect("free buffers", len(free), 1)
    try:
        engine.push(int, reads=[variable])
    except RuntimeError:
        return f"given back after {READERS} uses; a later use is refused"
    raise SystemExit("a deleted variable was used")


# --- gradients that are reduced while the backward pass goes on


def reduce(device: str, wire: float) -> str:
    """The gradients of a layer are added up for all workers as soon as each has its own. The
    backward pass of earlier layers goes on meanwhile."""
    rng = np.random.default_rng(0)
    layers = [rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5 for _ in range(LAYERS)]
    batches = [rng.standard_normal((WIDTH, WIDTH)) for _ in range(WORKERS)]

    with flow.profiler.profile() as trace:
        totals = [flow.zeros((WIDTH, WIDTH)) for _ in layers]
        start_backward(layers, batches, totals, device, wire)
        flow.synchronize()

    wanted = [flow.zeros((WIDTH, WIDTH)) for _ in layers]
    with flow.flags(sync=True):  # naive mode: in program order, one after the other
        start_backward(layers, batches, wanted, device, 0)
    same = [a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(totals, wanted, strict=True)]
    expect("layers with the sums of the serial run", same, [True] * LAYERS)
    return f"{LAYERS} sums are those of the serial run; {overlap(trace, device)}"


def overlap(trace: flow.profiler.Profile, device: str) -> str:
    """Return how long reductions ran, and how long operations of the device ran meanwhile."""
    network = [lane for lane in trace.lanes if lane.startswith("cpu blocking")]
    compute = f"{flow.Device(device)} compute"
    if not network or compute not in trace.lanes:
        return "in naive mode nothing overlaps"
    busy, beside = trace.busy(*network) / 1e6, trace.overlap(network, compute) / 1e6
    return f"{beside:.0f} ms of their {busy:.0f} ms were beside operations"


def start_backward(
    layers: list[Array], batches: list[Array], totals: list[flow.Tensor], device: str, wire: float
) -> None:
    """Issue the passes of all workers, and push the reduction of each layer. Does not wait."""
    weights = [flow.tensor(layer, device=device) for layer in layers]
    inputs = [[flow.tensor(batch, device=device)] for batch in batches]
    for of_worker in inputs:
        for weight in weights:
            of_worker.append(flow.tanh(of_worker[-1] @ weight))
    errors = [of_worker[-1] for of_worker in inputs]  # the loss is half the sum of squares

    def add_up(*arrays: Array) -> None:
        *gradients, total = arrays
        time.sleep(wire)  # the network
        for gradient in gradients:
            total += gradient

    for k in reversed(range(LAYERS)):
        gradients = []
        for worker, of_worker in enumerate(inputs):
            before_tanh = errors[worker] * (1 - of_worker[k + 1] ** 2)
            gradients.append((of_worker[k].T @ before_tanh).cpu())
            errors[worker] = before_tanh @ weights[k].T
        engine.push(add_up, gradients, [totals[k]], blocking=True, name=f"reduce layer {k}")


# --- functions that complete later, and those that are ready


def timer() -> str:
    """A function may return before it is complete, and no thread waits for it meanwhile. It is
    complete when it has called what it was given; then the functions behind it run."""
    page, events = engine.Var("page"), []

    def fetch(run: engine.Run, on_complete: Callable[..., None]) -> None:
        def end() -> None:
            events.append("fetched")
            on_complete("text")

        threading.Timer(0.01, end).start()

    done = engine.push_async(fetch, writes=[page])
    engine.push(lambda: events.append("read"), reads=[page]).wait()
    expect("events", events, ["fetched", "read"])
    return f"a timer gave {done.result()!r}, and the reader came after it"


def sockets() -> str:
    """Functions that wait for something outside run on a pool of threads that grows as needed:
    here all of them may wait for an answer at once."""
    pairs = [socket.socketpair() for _ in range(QUESTIONS)]

    def serve() -> None:
        for _, there in pairs:
            there.sendall(there.recv(100).upper())

    def ask(k: int) -> bytes:
        here, _ = pairs[k]
        here.sendall(b"question %d" % k)
        return here.recv(100)

    server = threading.Thread(target=serve)
    server.start()
    asked = [engine.push(lambda k=k: ask(k), blocking=True) for k in range(QUESTIONS)]
    answers = [done.result() for done in asked]
    server.join()
    for end in (end for pair in pairs for end in pair):
        end.close()
    expect("answers", answers, [b"QUESTION %d" % k for k in range(QUESTIONS)])
    return f"{QUESTIONS} functions had their answers"


def priorities() -> str:
    """Of the functions that are ready and have no thread yet, the highest runs first."""
    given, ran = (0, 5, -3, 1), []

    def push_all() -> None:  # keeps the only thread while it pushes
        for priority in given:
            engine.push(lambda p=priority: ran.append(p), priority=priority)

    with flow.flags(engine_threads=1):
        engine.push(push_all).wait()
        engine.wait_all()  # for all that is pushed by now
    naive = flow.flags.sync or flow.flags.benchmark  # runs each at its push
    expect("order", ran, list(given) if naive else sorted(given, reverse=True))
    return f"pushed with {given}, run as {tuple(ran)}" + (" (naive mode)" if naive else "")


def errors() -> str:
    """What a failed function should have written has its error. Functions that need it are skipped,
    until the error is cleared."""
    table, ran = engine.Var("table"), []
    failed = engine.push(lambda: 1 / 0, writes=[table], name="fill the table")
    skipped = engine.push(lambda: ran.append("skipped"), reads=[table])
    table.clear_error()
    engine.push(lambda: ran.append("cleared"), reads=[table]).wait()
    expect("what has run", ran, ["cleared"])
    expect(
        "errors", [type(each.exception()) for each in (failed, skipped)], [ZeroDivisionError] * 2
    )
    try:
        engine.wait_all()  # raises an error that nobody has seen here, once
    except ZeroDivisionError as error:
        return f"the reader has the writer's error ({error.__notes__[0]}), and the next one ran"
    raise SystemExit("wait_all did not raise the error")


def awaited() -> str:
    """A completion is awaited in asyncio like any future; the loop goes on meanwhile."""

    async def main() -> list[int]:
        return await asyncio.gather(*[engine.push(lambda k=k: k * k) for k in range(5)])

    squares = asyncio.run(main())
    expect("squares", squares, [0, 1, 4, 9, 16])
    return f"gathered {squares}"


# --- the program


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Go through all that the engine does.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--wire", type=int, default=5, help="ms of a reduction (default: 5)")
    arguments = parser.parse_args()
    if arguments.wire < 0:
        parser.error("--wire must be at least 0")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    device = arguments.device
    try:
        flow.zeros(1, device=device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    steps: dict[str, Callable[[], str]] = {
        "order": order,
        "generator": generator,
        "parameters": lambda: parameters(device),
        "memory": memory,
        "reduce": lambda: reduce(device, arguments.wire / 1000),
        "timer": timer,
        "sockets": sockets,
        "priorities": priorities,
        "errors": errors,
        "await": awaited,
    }
    for name, step in steps.items():
        print(f"{name:11} {step()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
