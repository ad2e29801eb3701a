"""What it costs to push a function that does nothing, against pools of threads and other engines.

A sample pushes the functions of a graph and ends when all have run. *C* is a function of C,
*Python* one of Python. Engines without dependences run what they can: independent functions, and a
chain by waiting for each future.

From C++ the machine alone is measured, in a program that is compiled here (about half a minute);
``--quick`` leaves it out unless ``--cpp`` is given.
"""

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engines import (
    C_OPERATOR,
    C_PUSH,
    CHAIN,
    INDEPENDENT,
    POOL,
    PYTHON_PUSH,
    Engine,
    Graph,
    Run,
    graphs,
    installed,
)
from report import Report, arguments
from timing import Contender, Effort, Measurement, Summary, measure

FOLDER = Path(__file__).resolve().parent
CSRC = FOLDER.parent / "csrc"
LAYERS = ("base", "ep", "vm")  # what the program is linked with
COMPILER = shlex.split(os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++")
FLAGS = ("-O3", "-pthread", f"-I{CSRC}")
FROM_CPP = "64 variables"  # of the program's questions, the one with a target
COUNT, SAMPLES = 1_000_000, 15  # of the program
QUICK = 100  # times fewer functions
# Contender -> thousands of independent functions a second that it is to reach.
RATES = {C_PUSH: 300, C_OPERATOR: 1000, PYTHON_PUSH: 100}
TIMES_POOL = 5  # functions of Python, in times of the pool's rate
CHAIN_MICROSECONDS = 0.5


def rate(measurement: Measurement, name: str, unit: float) -> Summary:
    """Functions a second, in units of so many."""
    return Summary.of([1 / (seconds * unit) for seconds in measurement.samples(name)])


def contender(engine: Engine, run: Run, less: int) -> Contender:
    def timed(times: int) -> float:
        begin = time.perf_counter()
        run(times)
        return time.perf_counter() - begin

    return Contender(engine.name, timed, engine.number // less)


def run_graph(
    report: Report, graph: Graph, engines: list[Engine], effort: Effort, less: int
) -> Measurement:
    runs = [(engine, engine.prepare(graph)) for engine in engines]
    contenders = [contender(engine, run, less) for engine, run in runs if run is not None]
    measurement = measure(contenders, effort, warm_up=1)
    report.times(f"a function, {graph.name}", measurement, C_PUSH)
    return measurement


def claim(report: Report, graph: Graph, measurement: Measurement) -> None:
    """Report the targets of a graph."""
    if graph.name == INDEPENDENT:
        for name, target in RATES.items():
            measured = rate(measurement, name, 1e3)
            report.claim(f"independent, {name}", measured, "k/s", now=target, at_least=True)
        more = measurement.ratio(POOL, PYTHON_PUSH)
        question, unit = f"independent, {PYTHON_PUSH}", f"x {POOL}'s rate"
        report.claim(question, more, unit, now=TIMES_POOL, at_least=True)
    elif graph.name == CHAIN:
        for name in (C_OPERATOR, C_PUSH):
            each = Summary.of([1e6 * seconds for seconds in measurement.samples(name)])
            limit = CHAIN_MICROSECONDS if name == C_OPERATOR else None
            report.claim(f"chain, {name}", each, "us", now=limit)


# --- from C++


def program(folder: Path) -> Path:
    """Compile the program, with the newest standard that the compiler and Taskflow know.

    Raises
    ------
    subprocess.CalledProcessError
        When the compiler refuses a source; what it says goes to the standard error.
    """

    def compiled(source: Path) -> Path:
        target = folder / f"{source.parent.name}_{source.stem}.o"
        command = [*COMPILER, *FLAGS, "-std=c++17", "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True)
        return target

    sources = sorted(source for layer in LAYERS for source in (CSRC / layer).rglob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [str(made) for made in pool.map(compiled, sources)]
    target = folder / "engine_pushes"
    source = str(FOLDER / "engine_pushes.cpp")
    command = [*COMPILER, *FLAGS, "-std=c++20", source, *objects, "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def from_cpp(report: Report, less: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sizes = [str(COUNT // less), str(SAMPLES if less == 1 else 3)]
        command = [str(program(Path(folder))), *sizes]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line.split("\t") for line in text.splitlines()]
    measurement = Measurement([name for name, *_ in lines])
    for name, *samples in lines:
        for sample in samples:
            measurement.add(name, float(sample) * 1e-9)
    report.times("a function, from C++", measurement, FROM_CPP)
    for name in measurement.names:
        target = 5 if name == FROM_CPP else None
        measured = rate(measurement, name, 1e6)
        report.claim(f"from C++, {name}", measured, "M/s", now=target, at_least=True)
    if not any(name.startswith("Taskflow") for name in measurement.names):
        report.note("the compiler finds no Taskflow, skipped")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--cpp", action="store_true", help="with --quick: from C++, too")
    options = parser.parse_args()
    engines, missing = installed()
    versions = {engine.name: engine.version for engine in engines if engine not in engines[:4]}
    report = Report(
        "bench_engine", {name: version for name, version in versions.items() if version}
    )
    if missing:
        report.note(f"not installed, skipped: {', '.join(missing)}")
    less = QUICK if options.quick else 1
    effort = Effort(3, 0) if options.quick else Effort(15, 0)
    for graph in graphs():
        claim(report, graph, run_graph(report, graph, engines, effort, less))
    if shutil.which(COMPILER[0]) is None:
        report.note(f"from C++: not measured, there is no compiler {COMPILER[0]}")
    elif options.quick and not options.cpp:
        report.note("from C++: not measured, --cpp measures it in this setting, too")
    else:
        from_cpp(report, less)
    report.finish(options.json)


if __name__ == "__main__":
    main()
