"""NumPy arrays through the device in a naive loop: copy in, compute, copy out.

The stages are timed alone in the same run, as a program sees them (from and to NumPy arrays), so
that what the loop takes can be held against the slowest of them. Ours is traced once.
"""

import json
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_libraries import DEVICE, OURS, Library, found
from gpu_rows import Rows
from timing import Contender, Effort, Measurement, Summary, measure

LAG = 4  # chunks in flight before the loop looks at one
STAGES = ("h2d", "compute", "d2h")
SERIAL = f"{OURS}, naive mode"
SLOWEST = "slowest stage alone"
MOST_TRACE_BYTES = 8 << 20


def compute(xp: Any, x: Any, y: Any) -> Any:
    """The work for each chunk: 8 operations."""
    return xp.tanh(x * 2 + y) * xp.exp(-x) + xp.sqrt(y)


def check(rows: Rows, setting: Any) -> None:
    """Time the loop of each library, our stages alone, and trace ours."""
    count, elements = (6, 10_000) if setting.tiny else (32, 1 << 23)
    rng = np.random.default_rng(1)
    block = rng.uniform(-2, 2, elements).astype(np.float32)
    chunks = [np.roll(block, i) for i in range(count)]
    y = rng.uniform(0, 1, elements).astype(np.float32)
    question = f"{count} chunks of {4 * elements / 1e6:.3g} MB"
    expected = compute(np, chunks[-1], y)

    contenders = []
    for library in found(rows, setting.alone):
        with rows.attempt(question, library.name):
            contender = _loop(library, chunks, y, expected)
            contender.run(1)
            contenders.append(contender)
    with rows.attempt(question, SERIAL):
        contenders.append(_in_naive_mode(_loop_of(contenders, OURS)))
    contenders += _stages(rows, chunks, y)
    effort = Effort(2, 0, 1.0) if setting.tiny else Effort(9, 0, 0.6 * setting.seconds)
    m = measure(contenders, effort, warm_up=1)
    _report(rows, question, m, count * elements * 4)
    with rows.attempt("trace", OURS):
        _trace(rows, setting.folder / f"trace-{DEVICE.replace(':', '')}.json", chunks, y)


def _loop(library: Library, chunks: list[np.ndarray], y: np.ndarray, expected: Any) -> Contender:
    there = library.array(y)

    def run(_times: int) -> float:
        library.sync(there)
        begin = time.perf_counter()
        results = stream(library, chunks, there)
        seconds = time.perf_counter() - begin
        np.testing.assert_allclose(results[-1], expected, rtol=1e-4, atol=1e-5)
        return seconds

    return Contender(library.name, run, 1)


def stream(library: Library, chunks: list[np.ndarray], y: Any) -> list[np.ndarray]:
    """Return what the loop makes of the chunks: as a program without streams is written."""
    if library.name != OURS:
        return [library.numpy(compute(library.xp, library.array(x), y)) for x in chunks]
    results: list[np.ndarray] = []
    in_flight: deque[Any] = deque()
    for x in chunks:
        in_flight.append(compute(flow, flow.tensor(x, device=DEVICE), y).cpu())
        if len(in_flight) > LAG:
            results.append(in_flight.popleft().numpy())
    return results + [one.numpy() for one in in_flight]


def _loop_of(contenders: list[Contender], name: str) -> Contender:
    return next(contender for contender in contenders if contender.name == name)


def _in_naive_mode(contender: Contender) -> Contender:
    def run(times: int) -> float:
        with flow.flags(sync=True):
            return contender.run(times)

    return Contender(SERIAL, run, 1)


def _stages(rows: Rows, chunks: list[np.ndarray], y: np.ndarray) -> list[Contender]:
    """Ours, each alone; what a stage needs is on its side already."""
    result: list[Contender] = []
    with rows.attempt("stages", OURS):
        there = [flow.tensor(x, device=DEVICE) for x in chunks[: LAG + 1]]
        factor = flow.tensor(y, device=DEVICE)
        work: dict[str, Callable[[int], Any]] = {
            "h2d": lambda i: flow.tensor(chunks[i], device=DEVICE),
            "compute": lambda i: compute(flow, there[i % len(there)], factor),
            "d2h": lambda i: there[i % len(there)].cpu(),
        }

        def alone(job: Callable[[int], Any]) -> Callable[[int], float]:
            def run(_times: int) -> float:
                flow.synchronize()
                begin = time.perf_counter()
                kept: deque[Any] = deque(maxlen=LAG + 1)
                for i in range(len(chunks)):
                    kept.append(job(i))
                flow.synchronize()
                return time.perf_counter() - begin

            return run

        result = [Contender(stage, alone(job), 1) for stage, job in work.items()]
    return result


def _report(rows: Rows, question: str, m: Measurement, size: int) -> None:
    """``size``: bytes of all chunks, which go in and come out."""
    rows.times(question, m, 1e3, "ms")
    for stage in (stage for stage in STAGES if stage in m.names):
        rates = Summary.of([1e-9 * size / s for s in m.samples(stage)])
        rows.summary(f"{stage} alone, from and to NumPy", OURS, rates, 1, unit="GB/s")
    if OURS not in m.names:
        return
    if set(STAGES) <= set(m.names):
        for together in zip(*(m.samples(stage) for stage in STAGES), strict=True):
            m.add(SLOWEST, max(together))
        share = m.pairwise(lambda ours, slowest: 100 * slowest / ours, OURS, SLOWEST)
        rows.summary(question, OURS, share, 1, unit=f"% of {SLOWEST}", target=85, at_least=True)
    for name in m.names:
        if name not in (OURS, SERIAL, SLOWEST, *STAGES):
            faster = m.pairwise(lambda ours, other: other / ours, OURS, name)
            unit = f"times as fast as {name}"
            rows.summary(question, OURS, faster, 1, unit=unit, target=2, at_least=True)
    if SERIAL in m.names:
        faster = m.pairwise(lambda ours, serial: serial / ours, OURS, SERIAL)
        rows.summary(question, OURS, faster, 1, unit="times as fast as naive mode")


def _trace(rows: Rows, file: Any, chunks: list[np.ndarray], y: np.ndarray) -> None:
    """Where the time of one loop goes; for chrome://tracing and Perfetto."""
    there = flow.tensor(y, device=DEVICE)
    flow.synchronize()
    with flow.profiler.profile() as recording:
        results = [
            compute(flow, flow.tensor(x, device=DEVICE), there).cpu() for x in chunks[: 2 * LAG]
        ]
        for one in results:
            one.numpy()
    lanes = [f"{DEVICE} {stage}" for stage in STAGES]
    busy = {lane: recording.busy(lane) / 1e6 for lane in lanes}
    for lane, ms in busy.items():
        rows.add(f"busy in the trace of {2 * LAG} chunks", lane, value=ms, unit="ms")
    hidden = recording.hidden_fraction((lanes[0], lanes[2]), lanes[1])
    rows.add("copies hidden behind compute", OURS, value=100 * hidden, unit="%")
    file.parent.mkdir(parents=True, exist_ok=True)
    recording.save(file)
    left_out = cut(file, MOST_TRACE_BYTES)
    note = f"{file.name}, without its last {left_out} events" if left_out else file.name
    rows.add("trace", OURS, note=note)


def cut(file: Path, most: int) -> int:
    """Make a trace no larger than so many bytes; return how many events that leaves out."""
    if file.stat().st_size <= most:
        return 0
    trace = json.loads(file.read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    total, size, kept = len(events), 1000, 0
    while kept < total and size + len(json.dumps(events[kept])) + 2 <= most:
        size += len(json.dumps(events[kept])) + 2
        kept += 1
    file.write_text(json.dumps({**trace, "traceEvents": events[:kept]}), encoding="utf-8")
    return total - kept
