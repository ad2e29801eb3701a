"""What recorded programs take of memory, and calls with many shapes: rows of bench_graph.py.

Each row has a process of its own, which counts what its allocator had at most.
"""

import argparse
import json
import random
import warnings
from functools import partial
from time import perf_counter
from typing import Any

import oneflow_lite as flow
from bench_memory import peak_rss
from networks import perceptron_arrays, perceptron_step, transformer_arrays, transformer_block
from report import Report
from timing import Summary, run_process

MIB = 1 << 20
NETWORKS: dict[str, tuple[Any, Any, int]] = {
    "MLP step 784-512-512-10": (perceptron_step, perceptron_arrays, 128),
    "transformer block of 128 tokens, width 512": (transformer_block, transformer_arrays, 8),
}
CALLS, SHAPES, PROGRAMS = 10_000, 100, 64
BOUND = 1.02  # target, in times of the lower bound
TARGETS = {"in_use": 1.0, "held": 0.7, "named": 0.35}
LABELS = {
    "in_use": "x eager's peak_in_use",
    "held": "x eager's peak_held",
    "named": "x eager, each result named",
}
FLAT_MIB = 2  # growth of the process that is allowed after the 64th program


def peaks() -> tuple[int, int]:
    stats = flow.memory_stats("cpu")
    return stats["peak_in_use"], stats["peak_held"]


def network_child(name: str, batch: int, is_recorded: bool) -> dict[str, int]:
    """What one call takes beside its arguments: recorded, or eager."""
    function, arrays_of, _ = NETWORKS[name]
    arrays = [flow.tensor(array) for array in arrays_of(batch)]
    call = partial(function, flow)
    found: dict[str, int] = {}
    if is_recorded:
        run = flow.graph.compile(flow.graph.trace(call, *arrays).program, mode="serial")
        memory = run.report()["memory"]
        found["arena"] = sum(each["bytes"] for each in memory["arenas"])
        found["bound"] = sum(each["lower_bound"] for each in memory["arenas"])
        found["named"] = sum(row[2] for row in memory["bases"] if not row[3])
        call = run
    flow.synchronize()
    stats = flow.memory_stats("cpu")
    results = call(*arrays)
    flow.synchronize()
    in_use, held = peaks()
    found["in_use"] = in_use - stats["in_use"]
    found["held"] = held - stats["held"]
    found["results"] = sum(x.nbytes for x in results)
    return found


def shapes_child(calls: int) -> dict[str, Any]:
    """Calls of one jitted function with many shapes, in a random order that is always the same."""

    @flow.jit
    def work(x: flow.Tensor) -> flow.Tensor:
        for _ in range(5):
            x = flow.tanh(x * 0.5) + 1
        return x

    arrays = [flow.ones(size + 1, dtype="float32") for size in range(SHAPES)]
    order = random.Random(0).choices(range(SHAPES), k=calls)
    full = -1
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in order:
            work(arrays[number])
            if full < 0 and work.report()["traces"] > PROGRAMS:
                full = peak_rss()
    seconds = perf_counter() - begin
    return {
        "us": seconds / calls * 1e6,
        "traces": work.report()["traces"],
        "warnings": len(caught),
        "growth": peak_rss() - full,
    }


def child(*arguments: object) -> Any:
    return run_process([__file__, *map(str, arguments)])


def measure_networks(report: Report, quick: bool) -> None:
    """Claim what networks take, in times of the lower bound and of eager calls."""
    for name, (_, _, batch) in NETWORKS.items():
        size = 2 if quick else batch
        recorded = child("--network", name, "--batch", size, "--recorded")
        eager = child("--network", name, "--batch", size) | {"named": recorded["named"]}
        question = f"{name}, batch {size}: memory"
        ratio = recorded["arena"] / max(recorded["bound"], 1)
        report.claim(
            f"{question} of the arena",
            Summary.of([ratio]),
            "x lower bound",
            now=BOUND,
            goal=BOUND,
        )
        for key, goal in TARGETS.items():
            ratio = Summary.of([recorded["in_use"] / eager[key]])
            report.claim(f"{question} of a call", ratio, LABELS[key], now=goal, goal=goal)
        least = Summary.of([(recorded["results"] + recorded["bound"]) / eager["held"]])
        report.claim(f"{question}, results and lower bound", least, LABELS["held"])
        of = {"arena": recorded["arena"], "recorded": recorded["in_use"], **eager}
        parts = ", ".join(f"{key} {bytes_ / MIB:.2f}" for key, bytes_ in of.items())
        report.note(f"{question} in MiB: {parts}")


def measure_shapes(report: Report, quick: bool) -> None:
    """Claim that programs beyond the 64th take no memory, and that one warning is given."""
    calls = CALLS // 20 if quick else CALLS
    found = child("--shapes", calls)
    question = f"{calls} calls with {SHAPES} shapes"
    growth = Summary.of([found["growth"] / MIB])
    report.claim(f"{question}: growth", growth, "MiB", now=FLAT_MIB, goal=FLAT_MIB)
    warned = Summary.of([float(found["warnings"])])
    report.claim(f"{question}: warnings", warned, "", now=1, goal=1)
    report.claim(f"{question}: a call", Summary.of([found["us"]]), "us")
    report.note(f"{question}: {found['traces']} traces")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--network", choices=NETWORKS)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--shapes", type=int, default=0, help="this many calls")
    options = parser.parse_args()
    if options.network:
        print(json.dumps(network_child(options.network, options.batch, options.recorded)))
    if options.shapes:
        print(json.dumps(shapes_child(options.shapes)))


if __name__ == "__main__":
    main()
