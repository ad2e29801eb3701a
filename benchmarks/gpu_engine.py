"""Functions and kernels that are pushed to a device: what a push costs, beside the same work by
another library alone, and whether work of another library is in the order of our operations.

Each other library works on the stream that it is given, and, where it speaks DLPack, on a stream of
its own. The driver itself (by cuda-bindings) is one of them, so there always is one.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_libraries import CUPY, DEVICE, OURS, TORCH, Library, found, made_of, sustained
from gpu_machine import current_driver, ok
from gpu_rows import FAILED, OK, Rows
from oneflow_lite import engine
from timing import Contender, Summary, measure, statement

DRIVER, NUMBA = "driver", "numba"
FEW = 16  # elements of what is launched for the cost of a launch
SOURCE = 'extern "C" __global__ void increment(float* x) { x[threadIdx.x] += 1; }'

Step = Callable[[engine.Run, Any, Any], None]


@dataclass(frozen=True)
class Other:
    """Another library: what it makes of a tensor in another one, as functions for ``push``.

    Attributes
    ----------
    factor : int
        The second tensor becomes so many times the first.
    step : callable
        ``step(run, source, target)`` works on the stream of the run.
    apart : callable, optional
        The same on a stream of its own, which it names by DLPack; None: it speaks no DLPack.
    alone : callable
        ``alone()`` does the same to FEW elements of its own, without us.
    sync : callable
        Waits for what ``alone`` has enqueued.
    send, fetch : callable, optional
        ``send(run, array, target)`` copies from the host, ``fetch(run, source, array)`` to it.
    unordered : callable, optional
        As ``apart``, but it names its stream to nobody.
    """

    name: str
    factor: int
    step: Step
    apart: Step | None
    alone: Callable[[], object]
    sync: Callable[[], object]
    send: Step | None = None
    fetch: Step | None = None
    unordered: Step | None = None


def check(rows: Rows, setting: Any) -> None:
    """Measure kernels and functions, and count the steps that are out of order."""
    libraries = found(rows, setting.alone)
    _kernels(rows, setting, libraries)
    others = [_driver()]
    for library in libraries:
        make = {TORCH: _torch, CUPY: _cupy}.get(library.name)
        if make is not None:
            with rows.attempt("library", library.name):
                others.append(make(library))
    if not setting.alone:
        others += made_of(rows, "numba.cuda", _numba)
    for other in others:
        _orders(rows, setting, other)
    for other in others:
        _costs(rows, setting, other)
    for other in others:
        if other.send is not None and other.fetch is not None:
            with _case(rows, "h2d, compute, d2h", other.name):
                _copies(rows, setting, other)


@contextmanager
def _case(rows: Rows, question: str, name: str) -> Iterator[None]:
    """What raises inside is a row, as in ``Rows.attempt``, and no error of a later wait."""
    with rows.attempt(question, name):
        yield
    with suppress(Exception):
        flow.synchronize()


# --- the libraries


def _address(view: Any) -> int:
    return int(view.__cuda_array_interface__["data"][0])


def _driver() -> Other:
    driver = current_driver()
    own = int(ok(driver.cuStreamCreate(1)))
    bytes_ = FEW * 4
    blocks = [int(ok(driver.cuMemAlloc(bytes_))) for _ in range(2)]

    def copy(source: Any, target: Any, stream: int) -> None:
        count = 4 * int(np.prod(source.shape))
        ok(driver.cuMemcpyDtoDAsync(_address(target), _address(source), count, stream))

    def apart(run: engine.Run, source: Any, target: Any) -> None:
        # A consumer names its stream, and need not keep what it is handed.
        for view in (source, target):
            view.__dlpack__(stream=own, max_version=(1, 0))
        copy(source, target, own)

    def send(run: engine.Run, array: np.ndarray, target: Any) -> None:
        address = array.ctypes.data
        ok(driver.cuMemcpyHtoDAsync(_address(target), address, array.nbytes, run.stream))

    def fetch(run: engine.Run, source: Any, array: np.ndarray) -> None:
        address = array.ctypes.data
        ok(driver.cuMemcpyDtoHAsync(address, _address(source), array.nbytes, run.stream))

    return Other(
        DRIVER,
        1,
        lambda run, source, target: copy(source, target, run.stream),
        apart,
        lambda: ok(driver.cuMemcpyDtoDAsync(blocks[0], blocks[1], bytes_, own)),
        lambda: ok(driver.cuStreamSynchronize(own)),
        send,
        fetch,
        lambda run, source, target: copy(source, target, own),
    )


def _torch(library: Library) -> Other:
    torch = library.xp
    own = torch.cuda.Stream()
    x, y = (library.array(np.zeros(FEW, np.float32)) for _ in range(2))

    def triple(source: Any, target: Any) -> None:
        torch.mul(torch.from_dlpack(source), 3, out=torch.from_dlpack(target))

    def on(run: engine.Run) -> Any:
        return torch.cuda.stream(torch.cuda.ExternalStream(run.stream))

    def step(run: engine.Run, source: Any, target: Any) -> None:
        with on(run):
            triple(source, target)

    def apart(run: engine.Run, source: Any, target: Any) -> None:
        with torch.cuda.stream(own):
            triple(source, target)

    def send(run: engine.Run, array: np.ndarray, target: Any) -> None:
        with on(run):
            torch.from_dlpack(target).copy_(torch.from_numpy(array), non_blocking=True)

    def fetch(run: engine.Run, source: Any, array: np.ndarray) -> None:
        with on(run):
            torch.from_numpy(array).copy_(torch.from_dlpack(source), non_blocking=True)

    alone = partial(torch.mul, x, 3, out=y)
    return Other(TORCH, 3, step, apart, alone, torch.cuda.synchronize, send, fetch)


def _cupy(library: Library) -> Other:
    cupy = library.xp
    own = cupy.cuda.Stream(non_blocking=True)
    x, y = (library.array(np.zeros(FEW, np.float32)) for _ in range(2))
    from_external = getattr(cupy.cuda.Stream, "from_external", None)  # since 14

    def on(run: engine.Run) -> Any:
        return from_external(run) if from_external else cupy.cuda.ExternalStream(run.stream)

    def step(run: engine.Run, source: Any, target: Any) -> None:
        with on(run):
            cupy.multiply(cupy.asarray(source), 3, out=cupy.asarray(target))

    def apart(run: engine.Run, source: Any, target: Any) -> None:
        with own:
            cupy.multiply(cupy.from_dlpack(source), 3, out=cupy.from_dlpack(target))

    alone = partial(cupy.multiply, x, 3, out=y)
    return Other(CUPY, 3, step, apart, alone, partial(library.sync, None))


def _numba(cuda: Any) -> Other:
    """Compiles its kernel. It has no DLPack, and orders nothing by itself."""
    if not cuda.is_available():
        raise RuntimeError("it does not find the device")
    x, y = (cuda.to_device(np.zeros(FEW, np.float32)) for _ in range(2))

    @cuda.jit
    def triple(x: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = 3 * x[i]

    def step(run: engine.Run, source: Any, target: Any) -> None:
        blocks = -(-int(np.prod(source.shape)) // 256)
        launch = triple[blocks, 256, cuda.external_stream(run.stream)]
        launch(cuda.as_cuda_array(source), cuda.as_cuda_array(target))

    def alone() -> None:
        triple[1, 256](x, y)

    alone()
    cuda.synchronize()
    return Other(NUMBA, 3, step, None, alone, cuda.synchronize)


# --- kernels


class _Counted:
    """A contender that knows how often it was run."""

    def __init__(self, contender: Contender) -> None:
        self._run = contender.run
        self.contender = Contender(contender.name, self.run)
        self.times = 0

    def run(self, times: int) -> float:
        self.times += times
        return self._run(times)


def _kernels(rows: Rows, setting: Any, libraries: Sequence[Library]) -> None:
    """What a launch of a kernel that one wrote costs, and whether each launch has run."""
    question = f"a kernel of one's own, {FEW} float32, sustained"
    counted: list[tuple[_Counted, Callable[[], np.ndarray]]] = []
    contenders: list[Contender] = []
    for library in libraries:
        make = {OURS: _our_kernel, CUPY: _raw_kernel}.get(library.name)
        if make is not None:
            with _case(rows, question, library.name):
                call, look = make(library)
                counts = _Counted(sustained(library.name, call, library.sync))
                counts.run(3)
                np.testing.assert_array_equal(look(), np.full(FEW, 3, np.float32))
                counted.append((counts, look))
                contenders.append(counts.contender)
        with _case(rows, question, library.name):
            scope = {"x": library.array(np.zeros(FEW, np.float32)), "sync": library.sync}
            name = f"{library.name}, x += 1"
            contenders.append(statement(name, "x += 1", scope, finish="sync(x)"))
    with rows.attempt(question):
        m = measure(contenders, setting.effort(0.1), warm_up=1)
        rows.times(question, m, 1e6, "us")
    for counts, look in counted:
        with rows.attempt(question, counts.contender.name):
            _count(
                rows, f"{question}: lost", counts.contender.name, _lost(counts, look), "launches"
            )


def _our_kernel(library: Library) -> tuple[Callable[[], object], Callable[[], np.ndarray]]:
    x = library.array(np.zeros(FEW, np.float32))
    kernel = engine.CudaKernel(SOURCE, "increment")
    return partial(kernel.push, 1, FEW, [x], [x]), partial(library.numpy, x)


def _raw_kernel(library: Library) -> tuple[Callable[[], object], Callable[[], np.ndarray]]:
    x = library.array(np.zeros(FEW, np.float32))
    kernel = library.xp.RawKernel(SOURCE, "increment")
    return partial(kernel, (1,), (FEW,), (x,)), partial(library.numpy, x)


def _lost(counts: _Counted, look: Callable[[], np.ndarray]) -> int:
    """How many launches are missing; float32 counts up to 2^24."""
    return int(np.abs(min(counts.times, 1 << 24) - look()).max())


# --- order


def _orders(rows: Rows, setting: Any, other: Other) -> None:
    """Count wrong steps on our stream and on one of the library's own."""
    ways = {"on our stream": other.step, "on a stream of its own": other.apart}
    for way, step in ways.items():
        if step is None:
            continue
        question = f"steps out of order, {way}"
        with _case(rows, question, other.name):
            takes_reads = _takes_reads(step)
            size, steps = _extent(setting)
            wrong = _wrong_steps(other, step, takes_reads, size, steps)
            note = f"of {steps}, {size} float32"
            note += "" if takes_reads else "; it refuses views that may not be written to"
            _count(rows, question, other.name, wrong, "steps", note)
    if other.unordered is not None:
        _control(rows, setting, other, other.unordered)


def _extent(setting: Any) -> tuple[int, int]:
    """Return how many elements a step has, and how many steps there are."""
    return (1000, 10) if setting.tiny else (1 << 24, 100)


def _control(rows: Rows, setting: Any, other: Other, step: Step) -> None:
    """Count the same where nobody orders it: none would say that the counts above see nothing."""
    question = "steps out of order, on a stream that nobody orders"
    with _case(rows, question, other.name):
        size, steps = _extent(setting)
        wrong = _wrong_steps(other, step, True, size, steps)
        note = f"of {steps}: a control, which has no target"
        rows.add(question, other.name, value=float(wrong), unit="late steps", note=note)


def _takes_reads(step: Step) -> bool:
    """Whether it takes views that are only read: what speaks DLPack before 1.0 does not."""
    x, y = (flow.zeros(FEW, flow.float32, device=DEVICE) for _ in range(2))
    try:
        engine.push(step, [x], [y], device=DEVICE).result()
    except BufferError:
        return False
    return True


def _lists(takes_reads: bool, x: flow.Tensor, y: flow.Tensor) -> tuple[list[Any], list[Any]]:
    """Return what a push reads and what it writes: both, where views of reads are refused."""
    return ([x], [y]) if takes_reads else ([], [x, y])


def _wrong_steps(other: Other, step: Step, takes_reads: bool, size: int, steps: int) -> int:
    """Count steps that did not see what we did before, or whose results came too late for us.

    Nobody waits. So a device falls behind where the size is large, and what is not in order shows.
    """
    x = flow.zeros(size, flow.float32, device=DEVICE)
    y = flow.zeros(size, flow.float32, device=DEVICE)
    reads, writes = _lists(takes_reads, x, y)
    ends = []
    for _ in range(steps):
        x += 1
        engine.push(step, reads, writes, device=DEVICE)
        ends.append((y.min(), y.max()))
        y[...] = -1
    wrong = _differing(ends, [other.factor * (k + 1) for k in range(steps)])
    other.sync()  # what is late must not write to memory that has been given back
    return wrong


def _differing(ends: Sequence[tuple[flow.Tensor, flow.Tensor]], values: Sequence[int]) -> int:
    """How many of the least and largest elements are not both the value."""
    return sum(
        (low.item(), high.item()) != (value, value)
        for (low, high), value in zip(ends, values, strict=True)
    )


def _count(rows: Rows, question: str, name: str, wrong: int, unit: str, note: str = "") -> None:
    """Add how many are wrong, of which there should be none."""
    status = FAILED if wrong else OK
    rows.add(
        question,
        name,
        value=float(wrong),
        unit=f"wrong {unit}",
        target=0.0,
        status=status,
        note=note,
    )


# --- costs


def _costs(rows: Rows, setting: Any, other: Other) -> None:
    """A push of the library's work, and the same by the library alone."""
    question = f"a push of work by {other.name}, {FEW} float32, sustained"
    with _case(rows, question, OURS):
        x, y = (flow.zeros(FEW, flow.float32, device=DEVICE) for _ in range(2))
        lists = _lists(_takes_reads(other.step), x, y)
        push = partial(engine.push, other.step, *lists, device=DEVICE)
        operator = engine.Operator(other.step, *lists, device=DEVICE)
        wait = partial(flow.cuda.synchronize, 0)
        contenders = [
            sustained(f"{OURS}, push", push, lambda _: wait()),
            sustained(f"{OURS}, Operator.push", operator.push, lambda _: wait()),
            sustained(f"{other.name} alone", other.alone, lambda _: other.sync()),
        ]
        m = measure(contenders, setting.effort(0.08), warm_up=1)
        rows.times(question, m, 1e6, "us")


def _copies(rows: Rows, setting: Any, other: Other) -> None:
    """Functions on the streams of copies, with work of the host and of the device between."""
    assert other.send is not None
    assert other.fetch is not None
    size, steps = (1000, 5) if setting.tiny else (4 << 20, 20)
    host, back = (flow.zeros(size, flow.float32, pin_memory=True) for _ in range(2))
    x = flow.zeros(size, flow.float32, device=DEVICE)
    there, again = ([host], [x]), _lists(_takes_reads(other.step), x, back)
    ends = []
    for _ in range(steps):
        host += 1
        engine.push(other.send, *there, device=DEVICE, stream="h2d")
        x *= 2
        engine.push(other.fetch, *again, device=DEVICE, stream="d2h")
        ends.append((back.min(), back.max()))
    wrong = _differing(ends, [2 * (k + 1) for k in range(steps)])
    _count(rows, "h2d, compute, d2h", other.name, wrong, "steps", f"of {steps}, {size} float32")
    for stream, step, lists in (("h2d", other.send, there), ("d2h", other.fetch, again)):
        rates = []
        for _ in range(2 if setting.tiny else 9):
            begin = time.perf_counter()
            engine.push(step, *lists, device=DEVICE, stream=stream).wait()
            rates.append(1e-9 * 4 * size / (time.perf_counter() - begin))
        question = f"a function on {stream}, waited for"
        rows.summary(question, other.name, Summary.of(rates), 1, unit="GB/s")
