"""The engines to compare with: how each runs functions in the order that a graph gives them.

The optional ones are imported here and nowhere else.
"""

import ctypes
import importlib
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib import metadata, util
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from oneflow_lite import engine
from report import core_count

Numbers = tuple[int, ...]
Run = Callable[[int], object]
INDEPENDENT, CHAIN, DIAMONDS, RANDOM = "independent", "chain", "diamonds", "random graph"
POOL = "ThreadPoolExecutor"
# Functions in a sample: of C, of Python, and of engines that take longer than 50 us for each.
MANY, SOME, FEW = 100_000, 10_000, 1000
VARIABLES = 1000  # of the random graph
MOST_READS, MOST_WRITES = 3, 2


@dataclass(frozen=True)
class Graph:
    """Functions in the order of their pushes.

    Attributes
    ----------
    functions : list of pair
        What each function reads and what it writes: numbers of variables.
    """

    name: str
    functions: Sequence[tuple[Numbers, Numbers]]

    @property
    def variables(self) -> int:
        return 1 + max((i for lists in self.functions for part in lists for i in part), default=-1)

    def predecessors(self) -> list[Numbers]:
        """Return the functions that each function comes after: for engines without variables."""
        writer: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        found = []
        for k, (reads, writes) in enumerate(self.functions):
            before = {writer[i] for i in (*reads, *writes) if i in writer}
            before.update(reader for i in writes for reader in readers.pop(i, ()))
            found.append(tuple(sorted(before)))
            for i in reads:
                readers.setdefault(i, []).append(k)
            writer.update(dict.fromkeys(writes, k))
        return found


def graphs() -> list[Graph]:
    """Return the graphs of MANY functions."""
    diamond = [((0,), (1,)), ((0,), (2,)), ((1, 2), (0,))]
    rng = random.Random(7)

    def at_random() -> tuple[Numbers, Numbers]:
        reads, writes = rng.randint(0, MOST_READS), rng.randint(0, MOST_WRITES)
        chosen = rng.sample(range(VARIABLES), reads + writes)
        return tuple(chosen[:reads]), tuple(chosen[reads:])

    return [
        Graph(INDEPENDENT, [((), ())] * MANY),
        Graph(CHAIN, [((), (0,))] * MANY),
        Graph(DIAMONDS, (diamond * MANY)[:MANY]),
        Graph(RANDOM, [at_random() for _ in range(MANY)]),
    ]


@dataclass(frozen=True)
class Engine:
    """One contender.

    Attributes
    ----------
    prepare : callable
        Of a graph: ``run(n)``, which pushes its first n functions and waits for them; None where
        the engine has no way to give functions this order.
    number : int
        Functions in a sample.
    version : str
        Of a package of its own.
    """

    name: str
    prepare: Callable[[Graph], Run | None]
    number: int
    version: str = ""


def nothing(*_: object) -> None:
    """The function of Python that is pushed."""


LIBC: Any = ctypes.CDLL(None)
C_NOTHING = engine.CFunction(LIBC.labs)  # it has no effect but its result, which nobody reads


# --- ours


def _pushing(function: Any) -> Callable[[Graph], Run]:
    def prepare(graph: Graph) -> Run:
        variables = [engine.Var() for _ in range(graph.variables)]
        lists = [
            ([variables[i] for i in reads], [variables[i] for i in writes])
            for reads, writes in graph.functions
        ]
        push = engine.push

        def run(times: int) -> None:
            for reads, writes in islice(lists, times):
                push(function, reads, writes)
            engine.wait_all()

        return run

    return prepare


def _operators(function: Any) -> Callable[[Graph], Run]:
    """One operator for each reads and writes that differ."""

    def prepare(graph: Graph) -> Run:
        variables = [engine.Var() for _ in range(graph.variables)]
        made: dict[tuple[Numbers, Numbers], engine.Operator] = {}
        for reads, writes in graph.functions:
            if (reads, writes) not in made:
                lists = [[variables[i] for i in part] for part in (reads, writes)]
                made[reads, writes] = engine.Operator(function, *lists)
        pushes = [made[lists].push for lists in graph.functions]

        def run(times: int) -> None:
            for push in islice(pushes, times):
                push()
            engine.wait_all()

        return run

    return prepare


C_PUSH, C_OPERATOR = "push, C", "Operator.push, C"
PYTHON_PUSH, PYTHON_OPERATOR = "push, Python", "Operator.push, Python"
OURS = (
    Engine(C_PUSH, _pushing(C_NOTHING), MANY),
    Engine(C_OPERATOR, _operators(C_NOTHING), MANY),
    Engine(PYTHON_PUSH, _pushing(nothing), SOME),
    Engine(PYTHON_OPERATOR, _operators(nothing), SOME),
)


# --- others


def _thread_pool(_: ModuleType) -> Engine:
    pool = ThreadPoolExecutor(core_count())

    def independent(times: int) -> None:
        wait([pool.submit(nothing) for _ in range(times)])

    def chain(times: int) -> None:
        for _ in range(times):
            pool.submit(nothing).result()

    runs = {INDEPENDENT: independent, CHAIN: chain}
    return Engine(POOL, lambda graph: runs.get(graph.name), SOME)


def _joblib(module: ModuleType) -> Engine:
    parallel = module.Parallel(n_jobs=core_count(), backend="threading")
    call = module.delayed(nothing)

    def run(times: int) -> None:
        parallel(call() for _ in range(times))

    def prepare(graph: Graph) -> Run | None:
        return run if graph.name == INDEPENDENT else None

    return Engine("joblib", prepare, FEW, module.__version__)


def _dask(module: ModuleType) -> Engine:
    def prepare(graph: Graph) -> Run:
        predecessors = graph.predecessors()

        def run(times: int) -> None:
            tasks = {k: (nothing, *before) for k, before in enumerate(predecessors[:times])}
            module.get(tasks, list(tasks), num_workers=core_count())

        return run

    return Engine("dask", prepare, FEW, metadata.version("dask"))


def _mxnet(folder: Path) -> Engine:
    """By its C interface: the Python package is for NumPy 1. Arrays are its variables there."""
    library = ctypes.CDLL(str(folder / "libmxnet.so"))
    address, integer = ctypes.c_void_p, ctypes.c_int
    push = library.MXEnginePushSyncND
    push.argtypes = [address] * 5 + [integer, address, integer, address, integer, ctypes.c_char_p]
    function = ctypes.cast(LIBC.labs, address)
    cpu = (integer * 2)(1, 0)  # kind and number of the device

    def check(status: int) -> None:
        if status:
            raise RuntimeError("[mxnet] a call of its C interface failed")

    def array() -> Any:
        handle, shape = address(), (ctypes.c_uint * 1)(1)
        check(library.MXNDArrayCreate(shape, 1, *cpu, 1, ctypes.byref(handle)))
        return handle.value

    def prepare(graph: Graph) -> Run:
        arrays = [array() for _ in range(graph.variables)]
        lists = [
            [(address * len(part))(*(arrays[i] for i in part)) for part in pair]
            for pair in graph.functions
        ]

        def run(times: int) -> None:
            for reads, writes in islice(lists, times):
                push(
                    *(function, None, None, cpu),
                    *(reads, len(reads), writes, len(writes)),
                    *(None, 0, None),
                )
            check(library.MXNDArrayWaitAll())

        return run

    return Engine("MXNet, C", prepare, MANY, metadata.version("mxnet"))


# Module to import -> the engine.
_OTHERS: dict[str, Callable[[ModuleType], Engine]] = {
    "concurrent.futures": _thread_pool,
    "joblib": _joblib,
    "dask.threaded": _dask,
}


def installed() -> tuple[list[Engine], list[str]]:
    """Return ours and every other engine that is there, and the names of those that are not."""
    found, missing = list(OURS), []
    for name, make in _OTHERS.items():
        try:
            found.append(make(importlib.import_module(name)))
        except ImportError:
            missing.append(name)
    spec = util.find_spec("mxnet")
    if spec is None or spec.origin is None:
        missing.append("mxnet")
    else:
        found.append(_mxnet(Path(spec.origin).parent))
    return found, missing
