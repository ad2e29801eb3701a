"""Queueing more work never raises the peak: many queued operations that make 1 MiB temporaries.

Each device has a process of its own, which counts what its allocator held at most and by how much
its resident memory grew. The bound is on the bytes that instructions in flight pin.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from report import Report, arguments
from timing import Summary, run_process

DEVICES = ("cpu", "mock:0")
MIB = 1 << 20
BOUND_MIB = 1024  # bytes that the instructions in flight on a device may pin, by default
OPERATIONS, FULL_OPERATIONS, QUICK_OPERATIONS = 100_000, 1_000_000, 2_000


def peak_rss() -> int:
    """Return the most memory that this process has had, in bytes."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def child(device: str, operations: int) -> None:
    """Print what the operations needed."""
    x = flow.tensor(np.zeros(MIB // 4, np.float32), device=device)
    (x + 1).cpu().numpy()
    before, begin = peak_rss(), time.perf_counter()
    queued = 0
    for i in range(operations):
        x + 1
        if i % 100 == 0:
            queued = max(queued, flow.vm.stats()["in_flight"])
    flow.synchronize()
    result = {
        "seconds": time.perf_counter() - begin,
        "queued": queued,
        "held": flow.memory_stats(device)["peak_held"],
        "growth": peak_rss() - before,
    }
    print(json.dumps(result))


def measure_device(report: Report, device: str, operations: int) -> None:
    used: dict[str, Any] = run_process([__file__, "--child", device, "--count", str(operations)])
    question = f"{operations} queued ops of 1 MiB on {device}"
    for what, key in (("held", "held"), ("growth of RSS", "growth")):
        mib = Summary.of([used[key] / MIB])
        report.claim(f"{question}: {what}", mib, "MiB", now=BOUND_MIB)
    rate = operations / used["seconds"]
    report.note(f"{question}: {rate:.0f} ops/s, at most {used['queued']} seen in flight")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help=f"{FULL_OPERATIONS} operations")
    parser.add_argument("--count", type=int, help="this many operations")
    parser.add_argument("--child", choices=DEVICES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    default = FULL_OPERATIONS if options.full else OPERATIONS
    operations = options.count or (QUICK_OPERATIONS if options.quick else default)
    if options.child is not None:
        child(options.child, operations)
        return
    report = Report("bench_memory")
    for device in DEVICES:
        measure_device(report, device, operations)
    report.finish(options.json)


if __name__ == "__main__":
    main()
