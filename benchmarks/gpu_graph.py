"""Programs in graph mode on the device: kernels that are replayed as a CUDA graph, parts of
networks and convolutions, beside other libraries; and whether replays have eager's bits.
"""

import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from bench_conv import LAYERS as ALL_LAYERS, Layer
from gpu_libraries import (
    DEVICE,
    JAX,
    JIT,
    OURS,
    TORCH,
    Library,
    add_ratio,
    checked_calls,
    found,
    sustained,
    with_flags,
    with_jit,
    with_tf32,
)
from gpu_rows import FAILED, OK, SKIPPED, Rows
from libraries import torch_names
from networks import perceptron_arrays, perceptron_step, transformer_arrays, transformer_block
from oneflow_lite import _C
from timing import measure

ROOT = Path(__file__).resolve().parent.parent
EAGER, JITTED, CAPTURED = OURS, f"{OURS}, jitted", f"{OURS}, captured"
FUSED = f"{CAPTURED}, fused"
REPLAYED, COMPILED, FULL = f"{TORCH}, CUDAGraph", f"{TORCH}, compiled", f"{TORCH}, no tf32"
KERNELS = 100
KEYS = ("graphs", "kernels", "products", "launches", "updates")  # of reports
RUNS_BEFORE = 4  # a program is captured at its third run
OF_EAGER, OF_REPLAY, OF_COMPILED = 0.5, 1.1, 1.2  # targets of captured programs
NEAR, NEAR_TF32 = 1e-3, 2e-2  # JAX may round the factors of products to 10 bits
COMPILE_SECONDS = 15.0  # to compile a network: without so many left it is not begun
LAYERS = (ALL_LAYERS[0], ALL_LAYERS[3], ALL_LAYERS[4])
TINY_LAYERS = (Layer(4, 8, 4, 3),)
CALLS = tuple((number, False) for number in range(6))  # of a random function: seeds, none fails
MOST_FUNCTIONS = 12

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Network:
    """A part of a network: a function of a namespace and arrays, and what it is to give."""

    name: str
    function: Callable[..., Any]
    arrays: Arrays
    products: int
    expected: Arrays

    @classmethod
    def of(
        cls, name: str, function: Callable[..., Any], arrays: Arrays, products: int
    ) -> "Network":
        """Compute what is expected by NumPy, in double precision."""
        found = function(np, *(array.astype(np.float64) for array in arrays))
        return cls(f"{name}, a call", function, arrays, products, _tuple(found))

    def results(self, library: Library, found: Any) -> list[np.ndarray]:
        """Return what was found as NumPy arrays, which are to be near."""
        library.sync(found)
        near = NEAR_TF32 if library.name in (JAX, JIT) else NEAR
        parts = [np.asarray(library.numpy(one)) for one in _tuple(found)]
        for one, right in zip(parts, self.expected, strict=True):
            np.testing.assert_allclose(one, right, rtol=near, atol=near)
        return parts


def _tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def check(rows: Rows, setting: Any) -> None:
    """Measure programs; those that another library compiles come last, as that may take long."""
    end = time.monotonic() + setting.seconds
    libraries = found(rows, setting.alone)
    with rows.attempt(f"{KERNELS} kernels"):
        _many_kernels(rows, setting, libraries)
    _bits(rows, setting, time.monotonic() + 0.2 * setting.seconds)
    for layer in TINY_LAYERS if setting.tiny else LAYERS:
        with rows.attempt(layer.name):
            _convolution(rows, setting, libraries, layer)
    networks = _networks(setting)
    for network in networks:
        with rows.attempt(network.name):
            _network(rows, setting, libraries, network)
    for network in networks:
        for library in libraries:
            if library.name == TORCH:
                with rows.attempt(network.name, COMPILED):
                    _compiled(rows, setting, library, network, end)


# --- ours


def ready(
    function: Callable[..., Any], given: Sequence[Any], *, cuda_graph: bool, **options: Any
) -> Callable[[], Any]:
    """Return a call of a jitted function that has run: its kernels are compiled, and captured where
    they can be and are to be."""
    run = flow.jit(function, cuda_graph=cuda_graph, **options)
    for _ in range(RUNS_BEFORE):
        run(*given)
        flow.synchronize()
        _C.wait_for_kernels()
    return partial(run, *given)


def graphs_of(run: Any) -> Counter[str]:
    """Return how many graphs, launches in them, and launches of them a jitted function has."""
    total: Counter[str] = Counter()
    for report in run.report()["runs"]:
        total.update({key: report["graphs"][key] for key in KEYS})
    return total


def _captures(rows: Rows, question: str, name: str, run: Any, target: float | None = None) -> None:
    """Add how many kernels are in graphs, and what is launched by itself and why."""
    total = graphs_of(run)
    reports = run.report()["runs"]
    refused = Counter(
        f"{each['step']}: {each['reason']}"
        for report in reports
        for each in report["graphs"]["refused"]
    )
    notes = [f"{total['graphs']} graphs, {total['launches']} launches"]
    notes += [f"{total['updates']} captures for operands elsewhere"] * (total["updates"] > 0)
    notes += [f"{count} x {reason}" for reason, count in refused.most_common()]
    if not total["graphs"] and not refused:
        notes.append("nothing was refused: kernels not compiled, or fewer than two in a piece")
    rows.add(
        f"{question}: captured",
        name,
        value=float(total["kernels"]),
        unit="kernels in graphs",
        target=target,
        at_least=True,
        note="; ".join(notes),
    )


def _captured_products(rows: Rows, question: str, name: str, run: Any, wanted: int) -> None:
    """Add how many products of the library are in graphs: all of them, where it makes them."""
    rows.add(
        f"{question}: captured products",
        name,
        value=float(graphs_of(run)["products"]),
        unit="products in graphs",
        target=float(wanted) if _C.cublas_version() else None,
        at_least=True,
    )


# --- many kernels


def many_kernels(x: Any) -> Any:
    for _ in range(KERNELS):
        x = x + 1
    return x


def _many_kernels(rows: Rows, setting: Any, libraries: Sequence[Library]) -> None:
    """Each kernel needs the one before. No passes and no fusion: each operation is a kernel."""
    question = f"{KERNELS} kernels of 16 float32, a call"
    zeros = np.zeros(16, np.float32)
    expected = np.full(16, KERNELS, np.float32)
    contenders = []
    for library in libraries:
        for name, make in _ways_of_many(library).items():
            with rows.attempt(question, name), flow.flags(fusion=name != EAGER):
                call = make(library.array(zeros))
                np.testing.assert_array_equal(library.numpy(call()), expected)
                if name == CAPTURED:
                    _captures(rows, question, name, call.func, KERNELS)
                one = sustained(name, call, library.sync)
                contenders.append(with_flags(one, name, fusion=False) if name == EAGER else one)
    m = measure(contenders, setting.effort(0.1), warm_up=1)
    rows.times(question, m, 1e6, "us")
    for other, target in ((EAGER, OF_EAGER), (JITTED, None), (REPLAYED, OF_REPLAY), (TORCH, None)):
        add_ratio(rows, question, m, CAPTURED, other, target)


def _ways_of_many(library: Library) -> dict[str, Callable[[Any], Any]]:
    """Return what makes a call of an array, by the names of contenders."""
    one_by_one = partial(partial, many_kernels)
    if library.name == TORCH:
        return {TORCH: one_by_one, REPLAYED: partial(_replayed, library.xp)}
    if library.name != OURS:
        return {}
    return {
        EAGER: one_by_one,
        JITTED: lambda x: ready(many_kernels, [x], cuda_graph=False, opt_level=0),
        CAPTURED: lambda x: ready(many_kernels, [x], cuda_graph=True, opt_level=0),
        FUSED: lambda x: ready(many_kernels, [x], cuda_graph=True),
    }


def _replayed(torch: Any, x: Any) -> Callable[[], Any]:
    """Return a call that replays PyTorch's graph, captured as its documentation says."""
    flow.synchronize()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            many_kernels(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # In this mode a capture goes on whatever our threads ask of the driver meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = many_kernels(x)

    def call() -> Any:
        graph.replay()
        return result

    return call


# --- networks


def _networks(setting: Any) -> list[Network]:
    """Return networks; tiny ones have a sixteenth of each extent."""
    given = (
        ("MLP step 784-512-512-10, batch 128", perceptron_step, perceptron_arrays(128), 8),
        (
            "transformer block of 128 tokens, width 512, batch 8",
            transformer_block,
            transformer_arrays(8),
            6,
        ),
    )
    if not setting.tiny:
        return [Network.of(*each) for each in given]
    return [
        Network.of(f"{name}, cut", function, [_cut(array) for array in arrays], products)
        for name, function, arrays, products in given
    ]


def _cut(array: np.ndarray) -> np.ndarray:
    return array[tuple(slice(max(1, extent // 16)) for extent in array.shape)].copy()


def _network(rows: Rows, setting: Any, libraries: Sequence[Library], network: Network) -> None:
    """Ours in three ways, and others that need little time to compile."""
    question = network.name
    contenders, results = [], {}
    for library in with_jit(list(libraries)):
        for way, make in _ways_of_network(library, network.function).items():
            with rows.attempt(question, way):
                call = make([library.array(array) for array in network.arrays])
                results[way] = network.results(library, call())
                _C.wait_for_kernels()
                contenders.append(sustained(way, call, library.sync))
                if way == CAPTURED:
                    _captures(rows, question, way, call.func)
                    _captured_products(rows, question, way, call.func, network.products)
    m = measure(contenders, setting.effort(0.08), warm_up=1)
    rows.times(question, m, 1e3, "ms")
    for other in (EAGER, JITTED, TORCH, JIT):
        add_ratio(rows, question, m, CAPTURED, other, None)
    for way in (JITTED, CAPTURED):
        if way in results and EAGER in results:
            _same_bits(rows, question, way, results[way], results[EAGER])


def _ways_of_network(
    library: Library, function: Callable[..., Any]
) -> dict[str, Callable[[Sequence[Any]], Any]]:
    """Return what makes a call of arrays, by the names of contenders."""
    if library.name == OURS:
        ours = partial(function, flow)
        return {
            EAGER: lambda given: partial(ours, *given),
            JITTED: lambda given: ready(ours, given, cuda_graph=False),
            CAPTURED: lambda given: ready(ours, given, cuda_graph=True),
        }
    if library.name not in (TORCH, JIT):
        return {}
    xp = torch_names(library.xp) if library.name == TORCH else library.xp
    other = library.compile(partial(function, xp))
    return {library.name: lambda given: partial(other, *given)}


def _compiled(rows: Rows, setting: Any, library: Library, network: Network, end: float) -> None:
    """PyTorch's compiler, where there is time for it, beside ours in the same turns."""
    question, function = network.name, network.function
    left = end - time.monotonic()
    if left < COMPILE_SECONDS and not setting.tiny:
        rows.add(question, COMPILED, status=SKIPPED, note=f"{left:.0f} s are left")
        return
    compiled = library.xp.compile(partial(function, torch_names(library.xp)), fullgraph=True)
    call = partial(compiled, *map(library.array, network.arrays))
    network.results(library, call())
    given = [flow.tensor(array, device=DEVICE) for array in network.arrays]
    ours = ready(partial(function, flow), given, cuda_graph=True)
    contenders = [
        sustained(CAPTURED, ours, lambda _: flow.cuda.synchronize(0)),
        sustained(COMPILED, call, library.sync),
    ]
    m = measure(contenders, setting.effort(0.06), warm_up=1)
    rows.summary(question, COMPILED, m.summary(COMPILED), 1e3, unit="ms")
    add_ratio(rows, question, m, CAPTURED, COMPILED, OF_COMPILED)


def _same_bits(
    rows: Rows, question: str, way: str, seen: Sequence[np.ndarray], eager: Sequence[np.ndarray]
) -> None:
    other = sum(
        int((a.view(np.uint32) != b.view(np.uint32)).sum())
        for a, b in zip(seen, eager, strict=True)
    )
    status = FAILED if other else OK
    rows.add(
        f"{question}: other bits than eager's",
        way,
        value=float(other),
        unit="wrong values",
        target=0.0,
        status=status,
    )


# --- convolutions


def _convolution(rows: Rows, setting: Any, libraries: Sequence[Library], layer: Layer) -> None:
    """The forward pass. Its numbers are small integers, which TF32 does not round."""
    question = f"conv2d, {layer.name}, forward"
    arrays, padding = layer.inputs(), layer.window // 2
    expected = flow.conv2d(*map(flow.tensor, arrays), layer.stride, padding).numpy()

    def make(library: Library) -> Callable[[], Any]:
        xp = torch_names(library.xp) if library.name == TORCH else flow
        return partial(xp.conv2d, *map(library.array, arrays), layer.stride, padding)

    able = [library for library in libraries if library.name in (OURS, TORCH)]
    contenders = checked_calls(rows, question, able, make, expected)
    for library in able:
        if library.name == TORCH:
            settings = library.xp.backends.cudnn
            contenders += [
                with_tf32(one, FULL, settings, False) for one in contenders if one.name == TORCH
            ]
    m = measure(contenders, setting.effort(0.04), warm_up=1)
    rows.times(question, m, 1e3, "ms")
    for other in (TORCH, FULL):
        add_ratio(rows, question, m, OURS, other, None)


# --- bits


def _bits(rows: Rows, setting: Any, end: float) -> None:
    """Count random functions of the tests whose replays, on fresh arguments, differ from eager."""
    question = "random jitted programs, replayed"
    differing, done, total = [], 0, Counter[str]()
    with rows.attempt(question, OURS):
        sys.path.insert(0, str(ROOT))
        functions = importlib.import_module("tests.support.graphs.functions")
        for seed in range(3 if setting.tiny else MOST_FUNCTIONS):
            if done and time.monotonic() > end:
                break
            with rows.attempt(f"{question}: seed {seed}", OURS):
                difference, graphs = _difference(functions, seed)
                done += 1
                total.update(graphs)
                if difference is not None:
                    differing.append(seed)
                    rows.log(f"{question}: seed {seed}", difference)
        note = f"of {done}, {len(CALLS)} calls of each, {total['launches']} launches of graphs"
        note += f"; seeds {differing}: see the log" if differing else ""
        rows.add(
            question,
            OURS,
            value=float(len(differing)),
            unit="wrong programs",
            target=0.0,
            status=OK if done and total["launches"] and not differing else FAILED,
            note=note,
        )


def _difference(functions: Any, seed: int) -> tuple[str | None, Counter[str]]:
    """Return how a function's calls differ from eager ones in naive mode, and its graphs."""
    source = functions.Writer(seed, 20, False, is_pure=seed % 2 == 0).text()
    size = functions.SIZES[seed % len(functions.SIZES)]
    one = functions.Random(seed, (DEVICE, DEVICE), source, size)
    runs = []

    def replayed(one: Any, state: Any) -> Callable[..., Any]:
        run = flow.jit(one.function(state), cuda_graph=True)
        runs.append(run)

        def call(*arguments: Any) -> Any:
            results = run(*arguments)
            flow.synchronize()
            _C.wait_for_kernels()
            return results

        return call

    difference = one.differs(one.eager(CALLS), one.outcomes(replayed, CALLS))
    return difference, graphs_of(runs[0])
