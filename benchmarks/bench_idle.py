"""CPU time of a process that has nothing to do, after each kind of worker has been used.

Each sample is a process of its own: it uses one kind of worker, waits for it, lets it fall asleep,
and then sleeps itself while the system counts the CPU time of all its threads.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import oneflow_lite as flow
from report import Report, arguments
from timing import Summary, measure_processes

SETTLE_SECONDS = 0.2
LARGE = 1 << 20  # elements: too many to be done inline


@dataclass(frozen=True)
class Kind:
    """A kind of worker: what uses it, and the stream that must have retired something then."""

    use: Callable[[], object]
    stream: str


def on_mock(index: int = 0) -> flow.Tensor:
    return flow.ones(LARGE, device=f"mock:{index}")


def push_some(**how: Any) -> None:
    """Functions of which several run at once."""
    for _ in range(100):
        flow.engine.push(lambda *_: time.sleep(0.0001), **how)


KINDS = {
    "cpu compute": Kind(lambda: flow.ones(LARGE) + 1, "cpu compute"),
    "host function": Kind(lambda: flow.vm.host_func(int).result(), "cpu host_func"),
    "functions": Kind(push_some, "cpu engine"),
    "blocking functions": Kind(lambda: push_some(blocking=True), "cpu blocking"),
    "function of a device": Kind(lambda: push_some(device="mock:0"), "mock:0 compute"),
    "barrier": Kind(flow.vm.barrier, "cpu barrier"),
    "mock h2d": Kind(lambda: flow.ones(LARGE).mock(), "mock:0 h2d"),
    "mock compute": Kind(lambda: on_mock() + 1, "mock:0 compute"),
    "mock d2h": Kind(lambda: on_mock().cpu(), "mock:0 d2h"),
    "mock peer": Kind(lambda: on_mock(0).mock(1), "mock:1 compute"),
}
ALL = "all of them"


def use(kind: Kind) -> None:
    kind.use()
    flow.synchronize()
    streams = flow.vm.stats()["streams"]
    if streams.get(kind.stream, {}).get("retired", 0) == 0:
        raise AssertionError(f"{kind.stream} has retired nothing; streams: {sorted(streams)}")


def child(name: str, seconds: float) -> None:
    """Print the part of one core, in percent, that the idle process uses."""
    for kind in KINDS.values() if name == ALL else [KINDS[name]]:
        use(kind)
    time.sleep(SETTLE_SECONDS)
    cpu, wall = time.process_time(), time.perf_counter()
    time.sleep(seconds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps(100 * cpu / wall))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--child", choices=[*KINDS, ALL], help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = 0.1 if options.quick else 2.0
    if options.child is not None:
        child(options.child, seconds)
        return
    report = Report("bench_idle")
    setting = ["--quick"] if options.quick else []
    programs = {name: [__file__, "--child", name, *setting] for name in [*KINDS, ALL]}
    measured = measure_processes(programs, 1 if options.quick else 3)
    for name in measured.names:
        worst = Summary.of(measured.samples(name))
        report.claim(f"idle process after: {name}", worst, "% of a core", now=1.0, goal=1.0)
    report.finish(options.json)


if __name__ == "__main__":
    main()
