"""Programs recorded once and run as a whole, beside the same source run eagerly and by jax.jit.

Bits are eager's, which is checked before each timing.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import digits
import graph_memory
import oneflow_lite as flow
from bench_chain import PROGRAMS, uniform
from bench_overlap import (
    CHUNKS,
    DEVICE,
    HOST,
    LONGEST,
    LOOP,
    SERIAL,
    add_longest,
    contenders,
    knobs,
    timed,
)
from comparison import JIT, NUMPY, TORCH, Arrays, Comparison, Program, check
from libraries import OURS, RECORDED
from networks import (
    perceptron_arrays,
    perceptron_products,
    perceptron_step,
    resnet_arrays,
    resnet_block,
    transformer_arrays,
    transformer_block,
)
from report import Report, arguments, size_str
from timing import (
    Contender,
    Effort,
    Measurement,
    Summary,
    measure,
    measure_processes,
    statement,
    times_for,
)

EVERYWHERE = 1.02  # target, in times of eager, at every size of the programs of bench_chain
SMALL, AT_SMALL = 16, 0.5  # and at so many elements
LOOPS = 64  # of two operations
NETWORK_EFFORT = Effort(21, 20e-3)
SPUN_SECONDS = 120e-3  # before each sample of a network: threads of OpenBLAS spin for 104 ms
FIRST_CALL_MS = 6.0
NO_COST, PROFILED = 1.02, 1.05  # of calls that nobody watches any more, and that a profiler watches
FINISH = "lib.synchronize()"


def one_operation(xp: Any, x: Any) -> Any:
    return x + 1


def many_operations(xp: Any, x: Any) -> Any:
    for _ in range(LOOPS):
        x = xp.tanh(x) * 0.5
    return x


def network(xp: Any, x: Any, first: Any, second: Any, third: Any) -> Any:
    """Four blocks of a forward pass and its loss: 41 operations."""
    for _ in range(4):
        hidden = xp.maximum(x @ first + 0.1, 0)
        hidden = xp.maximum(hidden @ second + 0.1, 0)
        x = x + xp.tanh(hidden @ third)
    return xp.mean(x * x)


def small_array(size: int) -> Arrays:
    return (uniform(-1, 1, size),)


def network_arrays(size: int) -> Arrays:
    return uniform(-1, 1, 8, 64), *(uniform(-0.1, 0.1, 64, 64) for _ in range(3))


CALLS = (
    (Program("one operation", one_operation, small_array, checked=SMALL), 0.15, None),
    (Program("128 operations", many_operations, small_array, checked=SMALL), 0.35, 0.2),
)
DIGITS = {OURS.name: 0.9, TORCH: 0.7, JIT: 1.2}
NETWORKS: tuple[tuple[Program, dict[str, float]], ...] = (  # and targets; a size is a batch
    (
        Program(
            "MLP step 784-512-512-10",
            perceptron_step,
            perceptron_arrays,
            exact=False,
            checked=8,
            most=128,
            part=Program("its products alone", perceptron_products, perceptron_arrays),
        ),
        {JIT: 1.1, TORCH: 0.55},
    ),
    (
        Program(
            "transformer block of 128 tokens, width 512",
            transformer_block,
            transformer_arrays,
            exact=False,
            checked=1,
            most=8,
        ),
        {JIT: 1.1, NUMPY: 0.75},
    ),
    (
        Program(
            "ResNet block of 64 x 56 x 56",
            resnet_block,
            resnet_arrays,
            exact=False,
            checked=1,
            most=8,
        ),
        {TORCH: 1.0, JIT: 1.3},
    ),
    (
        Program(
            "step of train_digits.py",
            digits.perceptron_step,
            digits.perceptron_arrays,
            exact=False,
            checked=8,
            most=64,
        ),
        DIGITS,
    ),
    (
        Program(
            "step of train_cnn.py, backward by hand",
            digits.cnn_step,
            digits.cnn_step_arrays,
            exact=False,
            checked=8,
            most=64,
        ),
        DIGITS,
    ),
)


def claim_ratio(
    report: Report, question: str, found: Measurement, name: str, target: float | None
) -> None:
    if name in found.names and RECORDED.name in found.names:
        ratio = found.ratio(RECORDED.name, name)
        report.claim(question, ratio, f"x {name}", now=target, goal=target)


def measure_calls(comparison: Comparison, quick: bool) -> None:
    """Measure small calls."""
    for program, to_jit, to_eager in CALLS:
        found = comparison.curve(program, [SMALL])[SMALL]
        question = f"{program.name} of {SMALL} float32 in one call"
        claim_ratio(comparison.report, question, found, JIT, to_jit)
        claim_ratio(comparison.report, question, found, OURS.name, to_eager)


def measure_programs(comparison: Comparison, quick: bool) -> None:
    """Measure the programs of bench_chain at each size against eager."""
    sizes = comparison.sizes()
    for program in PROGRAMS:
        recorded = replace(program, name=f"{program.name}, recorded", targets={}, claimed=())
        curve = comparison.curve(recorded, [*sizes, SMALL])
        for size, found in curve.items():
            target = AT_SMALL if size == SMALL else EVERYWHERE
            question = f"{program.name}, {size_str(size)}"
            claim_ratio(comparison.report, question, found, OURS.name, target)


def measure_networks(comparison: Comparison, quick: bool) -> None:
    """Measure parts of networks against each library that has a target."""
    effort, pause = (None, None) if quick else (NETWORK_EFFORT, SPUN_SECONDS)
    for program, targets in NETWORKS:
        size = program.checked if quick else program.most
        found = comparison.curve(program, [size], effort, pause)[size]
        question = f"{program.name}, batch {size}"
        for name, target in (targets | {OURS.name: targets.get(OURS.name, EVERYWHERE)}).items():
            claim_ratio(comparison.report, question, found, name, target)
        if program.part and TORCH in found.names:
            ratio = found.ratio(program.part.name, TORCH)
            comparison.report.claim(f"{question}: {program.part.name}", ratio, f"x {TORCH}")


def measure_first_call(comparison: Comparison, quick: bool) -> None:
    """From a function to its first results, each time anew."""
    report, samples = comparison.report, effort_of(quick).samples
    arrays = [flow.tensor(array) for array in network_arrays(1)]
    times = []
    for _ in range(samples):
        start = perf_counter()
        traced = flow.graph.trace(lambda *given: network(flow, *given), *arrays)
        flow.graph.compile(traced.program)(*arrays)[0].numpy()
        times.append((perf_counter() - start) * 1e3)
    question = f"first call: {len(traced.program.main.ops)} operations"
    goal = FIRST_CALL_MS
    report.claim(question, Summary.of(times), "ms", now=goal, goal=goal)


def pipeline(chunks: list[flow.Tensor]) -> list[flow.Tensor]:
    """Send each chunk to a device, compute there, fetch the result."""
    return [(chunk.to(DEVICE) + 1).cpu() for chunk in chunks]


def measure_pipeline(comparison: Comparison, quick: bool) -> None:
    """One program of copies and kernels, whose three stages take equally long."""
    report = comparison.report
    chunks = [flow.tensor(chunk) for chunk in HOST]
    run = flow.graph.compile(flow.graph.trace(pipeline, chunks).program)
    name = "one program"
    with flow.flags(mock=knobs(2e-3 if quick else 20e-3)):
        jobs = [each for each in contenders() if each.name not in (LOOP, SERIAL)]
        jobs.append(Contender(name, partial(timed, lambda: run(*chunks)), 1))
        found = measure(jobs, Effort(2 if quick else 7, 0), warm_up=1)
    add_longest(found)
    question = f"h2d, compute, d2h over {CHUNKS} chunks"
    report.claim(question, found.ratio(name, LONGEST), "x longest stage", now=1.15, goal=1.15)
    waits = Summary.of([len(run.report()["waits"])])
    report.claim(f"{question}: waits", waits, "", now=2 * CHUNKS, goal=2 * CHUNKS)


KERNELS, LAUNCH_US, CAPTURED = 100, 20, 0.1


def many_kernels(x: flow.Tensor) -> flow.Tensor:
    for _ in range(KERNELS):
        x = x + 1
    return x


def measure_captured(comparison: Comparison, quick: bool) -> None:
    """Small kernels of a mock device as one graph, in times of the same kernels one by one."""
    x = flow.zeros(SMALL, dtype="float32", device=DEVICE)
    run = flow.graph.compile(flow.graph.trace(many_kernels, x).program)

    def launched(times: int, by_graph: bool) -> float:
        with flow.flags(cuda_graphs=by_graph):
            return timed(lambda: [run(x) for _ in range(times)], times)

    with flow.flags(mock=f"launch={LAUNCH_US}us"):
        ways = (("graph", True), ("one by one", False))
        jobs = [Contender(name, partial(launched, by_graph=on), 3) for name, on in ways]
        found = measure(jobs, Effort(2 if quick else 21, 0), warm_up=3)
    question = f"{KERNELS} kernels on mock, {LAUNCH_US} us a launch: as a graph"
    ratio = found.ratio("graph", "one by one")
    comparison.report.claim(question, ratio, "x one by one", now=CAPTURED, goal=CAPTURED)


WATCHED = (  # and how many elements, or a batch
    (CALLS[1][0], SMALL),
    (NETWORKS[0][0], 128),
)


def watched_call(number: int, quick: bool) -> Contender:
    """Return a call of one of WATCHED, recorded."""
    program, size = WATCHED[number]
    arrays = [flow.tensor(array) for array in program.inputs(8 if quick else size)]
    run = flow.graph.compile(flow.graph.trace(partial(program.run, flow), *arrays).program)
    return statement(
        "off", "run(*arrays)", {"run": run, "arrays": arrays, "lib": flow}, finish=FINISH
    )


def watched(call: Contender, times: int) -> float:
    with flow.profiler.profile():
        return call.run(times)


def time_after_watching(number: int, quick: bool) -> float:
    """Return what calls take after a profiler has watched some, in times of those before."""
    call, effort = watched_call(number, quick), effort_of(quick)
    call = replace(call, number=times_for(call.run, effort.sample_seconds))
    before = measure([call], effort).summary(call.name).median
    watched(call, call.number)
    return measure([call], effort).summary(call.name).median / before


def measure_watched(comparison: Comparison, quick: bool) -> None:
    """Calls that a profiler watches, and calls after it has watched, in times of those before.

    A process has calls that nobody has watched once only, so the latter take several.
    """
    processes, setting = (1, ["--quick"]) if quick else (9, [])
    for number, (program, size) in enumerate(WATCHED):
        question = f"{program.name}, {size_str(size)}: profiler"
        child = [__file__, "--after-watching", str(number), *setting]
        after = measure_processes({"off": child}, processes).summary("off")
        comparison.report.claim(f"{question} off", after, "x before", now=NO_COST, goal=NO_COST)
        call = watched_call(number, quick)
        jobs = [call, Contender("on", partial(watched, call), call.number)]
        ratio = measure(jobs, effort_of(quick)).ratio("on", "off")
        comparison.report.claim(f"{question} on", ratio, "x off", now=PROFILED, goal=PROFILED)


def effort_of(quick: bool) -> Effort:
    return Effort(3, 1e-4) if quick else Effort(21, 2e-3, 1.2)


ROWS: dict[str, Callable[[Comparison, bool], None]] = {
    "calls": measure_calls,
    "programs": measure_programs,
    "networks": measure_networks,
    "pipeline": measure_pipeline,
    "captured": measure_captured,
    "first call": measure_first_call,
    "memory": lambda comparison, quick: graph_memory.measure_networks(comparison.report, quick),
    "shapes": lambda comparison, quick: graph_memory.measure_shapes(comparison.report, quick),
    "watched": measure_watched,
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", nargs="*", choices=ROWS, help="only these; all, by default")
    parser.add_argument("--after-watching", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.after_watching is not None:
        print(time_after_watching(options.after_watching, options.quick))
        return
    effort = effort_of(options.quick)
    comparison = Comparison("bench_graph", effort, options.quick, more=[RECORDED])
    for program in (*(row[0] for row in (*CALLS, *NETWORKS)), *PROGRAMS):
        check_bits(program)
    for name in options.rows or ROWS:
        ROWS[name](comparison, options.quick)
    comparison.finish(options.json)


def check_bits(program: Program) -> None:
    """Fail unless the recorded program has eager's bits."""
    arrays = program.inputs(program.checked)
    eager = program.run(flow, *map(flow.tensor, arrays))
    eager = tuple(x.numpy() for x in (eager if isinstance(eager, tuple) else (eager,)))
    check(replace(program, exact=True), RECORDED, arrays, tuple(map(np.asarray, eager)))


if __name__ == "__main__":
    main()
