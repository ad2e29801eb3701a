"""The benchmarks work in their smallest setting and report what they should; times do not count."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import ROOT
from tests.support.distributed.mpi import missing_for_processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.xdist_group("benchmarks"),  # they share the reports
]

FOLDER = ROOT / "benchmarks"
SHARED = ("timing", "report", "run_all", "libraries", "expressions", "comparison", "plots")
BENCHMARKS = sorted(path.stem for path in FOLDER.glob("bench_*.py"))


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The modules that the benchmarks share, as a script of their folder imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield {name: importlib.import_module(name) for name in SHARED}


@pytest.fixture(scope="module")
def timing(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["timing"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each benchmark reports, filled as they run."""
    return {"folder": tmp_path_factory.mktemp("benchmarks")}


def report_of(name: str, reports: dict[str, Any]) -> dict[str, Any]:
    """Run a benchmark once in this session; what it wrote as JSON."""
    if name not in reports:
        file = reports["folder"] / f"{name}.json"
        done = subprocess.run(
            [sys.executable, FOLDER / f"{name}.py", "--quick", "--json", file],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        reports[name] = json.loads(file.read_text()) | {"printed": done.stdout}
    report: dict[str, Any] = reports[name]
    return report


def claims(name: str, reports: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {claim["question"]: claim for claim in report_of(name, reports)["claims"]}


def contenders(name: str, question: str, reports: dict[str, Any]) -> list[str]:
    times = report_of(name, reports)["times"]
    return [row["contender"] for row in times if row["question"] == question]


# --- each benchmark


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_works(name: str, reports: dict[str, Any]) -> None:
    over_mpi = name in ("bench_distributed", "bench_scaling")
    missing = missing_for_processes() if over_mpi else None
    if missing is not None:
        pytest.skip(missing)
    report = report_of(name, reports)
    assert report["benchmark"] == name
    assert "NumPy" in report["machine"]
    assert any(claim["now"] or claim["goal"] for claim in report["claims"])
    for claim in report["claims"]:
        assert claim["question"] in report["printed"]
        assert claim["measured"]["samples"] >= 1
    for row in report["times"]:
        assert 0 < row["seconds"]["minimum"] <= row["seconds"]["median"]
        assert row["ratio"]["samples"] == row["seconds"]["samples"]


def test_dispatch_compares_with_numpy(reports: dict[str, Any]) -> None:
    report = report_of("bench_dispatch", reports)
    questions = {row["question"] for row in report["times"]}
    assert {"a + b", "a[3:7]", "(c + d).item(), asleep"} <= questions
    for question in questions:
        names = contenders("bench_dispatch", question, reports)
        assert {"oneflow_lite", "NumPy"} <= set(names)
        assert len(names) == len(set(names))


def test_machine_counts_three_ways(reports: dict[str, Any]) -> None:
    found = claims("bench_machine", reports)
    for how in ("C++, handed over", "C++, inline", "Python, handed over"):
        assert found[f"no-ops, {how}"]["measured"]["minimum"] > 0
        assert found[f"no-ops, {how}"]["at_least"]
    assert "issue-site capture, a frame" in found
    assert "profiler on, 10^5 elements" in found


def test_engine_pushes_each_kind_of_function(reports: dict[str, Any]) -> None:
    ours = {"push, C", "Operator.push, C", "push, Python", "Operator.push, Python"}
    for graph in ("independent", "chain", "diamonds", "random graph"):
        assert ours <= set(contenders("bench_engine", f"a function, {graph}", reports))
    assert "ThreadPoolExecutor" in contenders("bench_engine", "a function, chain", reports)
    found = claims("bench_engine", reports)
    assert found["chain, Operator.push, C"]["now"] == 0.5
    assert found["independent, Operator.push, C"]["now"] == 1000


def test_graphs_order_functions_as_their_variables_do(modules: dict[str, ModuleType]) -> None:
    engines = importlib.import_module("engines")
    functions = [((), (0,)), ((0,), (1,)), ((0,), (2,)), ((1, 2), (0,)), ((2,), ())]
    graph = engines.Graph("g", functions)
    assert graph.variables == 3
    assert graph.predecessors() == [(), (0,), (0,), (0, 1, 2), (2,)]


def test_overlap_measures_each_stage_alone(reports: dict[str, Any]) -> None:
    question = "stream 16 chunks, equal stages"
    names = contenders("bench_overlap", question, reports)
    assert {"h2d", "compute", "d2h", "longest stage alone"} <= set(names)
    found = claims("bench_overlap", reports)
    assert found[question]["unit"] == "x longest stage"
    together = found["h2d(i+1), compute(i), d2h(i-1) intersect"]
    assert together["now"] == 14
    assert 0 <= together["measured"]["minimum"] <= 14


def test_idle_has_each_kind_of_worker(reports: dict[str, Any]) -> None:
    kinds = {question.split(": ")[1] for question in claims("bench_idle", reports)}
    assert kinds >= {"cpu compute", "host function", "barrier", "mock h2d", "mock peer"}


def test_linalg_shows_the_floor_of_steadiness(reports: dict[str, Any]) -> None:
    found = [claim["unit"] for claim in report_of("bench_linalg", reports)["claims"]]
    for who in ("oneflow_lite", "NumPy", "Python loop"):
        in_turn = who == "oneflow_lite"
        assert found.count(f"x median, {who}") == 3 * 9 + in_turn  # kinds of stress, functions
    assert "x median of processor time, oneflow_lite" in found


def test_linalg_has_matrices_whose_determinants_are_finite(modules: dict[str, ModuleType]) -> None:
    linalg = importlib.import_module("bench_linalg")
    for matrix in linalg.matrices(linalg.LARGE):
        np.testing.assert_allclose(abs(np.linalg.det(matrix)), 1, rtol=1e-6)


def test_memory_is_measured_on_both_devices(reports: dict[str, Any]) -> None:
    found = claims("bench_memory", reports)
    for device in ("cpu", "mock:0"):
        (held,) = (found[q] for q in found if q.endswith(f"on {device}: held"))
        assert held["measured"]["median"] >= 1  # MiB: the temporary itself
        assert held["now"] == 1024


@pytest.mark.parametrize("name", ["chain", "elementwise", "indexing", "matmul", "reduce"])
def test_programs_are_measured_over_sizes(name: str, reports: dict[str, Any]) -> None:
    report = report_of(f"bench_{name}", reports)
    for curve in report["curves"]:
        assert curve["sizes"] == sorted(set(curve["sizes"]))
        assert len(curve["sizes"]) == len(curve["ratios"]) == len(curve["seconds"])
        assert min(curve["seconds"]) > 0
    by_contender = {(curve["question"], curve["contender"]) for curve in report["curves"]}
    questions = {question for question, _ in by_contender}
    assert {(q, c) for q in questions for c in ("oneflow_lite", "NumPy")} <= by_contender


def test_chain_has_its_targets(reports: dict[str, Any]) -> None:
    found = claims("bench_chain", reports)
    slowest = [found[question] for question in found if "slowest size" in question]
    assert len(slowest) == 7
    assert {claim["goal"] for claim in slowest} == {1.2}
    assert found["chain, 10^4, peak above inputs and output: held"]["goal"] == 16


def test_gradients_have_their_targets(reports: dict[str, Any]) -> None:
    found = report_of("bench_gradients", reports)["claims"]
    by_hand = [claim for claim in found if claim["unit"] == "x oneflow_lite, by hand"]
    assert len(by_hand) == 4
    assert {claim["goal"] for claim in by_hand} == {1.05}
    (first,) = (claim for claim in found if claim["question"].startswith("first call: "))
    assert first["goal"] == 12


def test_networks_are_measured_in_both_ways(reports: dict[str, Any]) -> None:
    curves = report_of("bench_graph", reports)["curves"]
    for name in ("MLP step", "transformer block", "ResNet block", "step of train_"):
        own = [curve["contender"] for curve in curves if curve["question"].startswith(name)]
        assert {"oneflow_lite", "oneflow_lite graph", "NumPy"} <= set(own)


# --- networks


@pytest.mark.parametrize("name", ["train_digits", "train_cnn"])
def test_steps_are_those_of_the_examples(
    modules: dict[str, ModuleType], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    monkeypatch.syspath_prepend(ROOT / "examples")
    example, digits = importlib.import_module(name), importlib.import_module("digits")
    if name == "train_cnn":
        network, step = example.Network("cpu", 0), digits.cnn_step
        x, labels = digits.cnn_arrays(16)[:2]
    else:
        network, step = example.Network(flow, flow.tensor, 64, 0), digits.perceptron_step
        x, labels = digits.perceptron_arrays(16)[:2]
    state = [w.copy() for w in (*network.weights.values(), *network.velocity.values())]
    for _ in range(3):
        wanted = network.step(flow.tensor(x), flow.tensor(labels)).numpy()
        loss, *state = step(flow, *map(flow.tensor, (x, labels)), *state)
        np.testing.assert_allclose(loss.numpy(), wanted, rtol=1e-5)
    for one, other in zip(
        state, (*network.weights.values(), *network.velocity.values()), strict=True
    ):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-6)


def test_other_gradients_are_an_error(modules: dict[str, ModuleType]) -> None:
    gradients = importlib.import_module("bench_gradients")
    of, ours = gradients.LOSSES[1], modules["libraries"].OURS
    arrays = of.inputs(4)
    found = gradients.found_by(ours, gradients.by_library(ours, of), arrays)
    expected = list(of.by_hand(gradients.numpy_names(), *arrays))
    gradients.check(of, "ours", found, expected)
    expected[1] = expected[1] + 2e-4 * np.abs(expected[1]).max()
    with pytest.raises(AssertionError, match="ours, result 1"):
        gradients.check(of, "ours", found, expected)


# --- programs on libraries


def program(modules: dict[str, ModuleType], run: Any, **more: Any) -> Any:
    arrays = (np.array([0.25, 4.0], np.float32),)
    return modules["comparison"].Program("p", run, lambda size: arrays, **more)


def test_other_bits_than_numpys_are_an_error(modules: dict[str, ModuleType]) -> None:
    comparison, ours = modules["comparison"], modules["libraries"].OURS
    doubles, arrays = program(modules, lambda xp, a: a * 2), [np.array([0.25, 4.0], np.float32)]
    comparison.check(doubles, ours, arrays, (arrays[0] * 2,))
    nearly = (np.nextafter(arrays[0] * 2, np.float32(9)),)
    with pytest.raises(AssertionError, match=r"\[p\] oneflow_lite: other bits"):
        comparison.check(doubles, ours, arrays, nearly)
    near = program(modules, lambda xp, a: a * 2, exact=False)
    comparison.check(near, ours, arrays, nearly)
    with pytest.raises(AssertionError, match="float64"):
        comparison.check(near, ours, arrays, (arrays[0].astype(float) * 2,))


def test_what_a_library_lacks_is_left_out_and_ours_is_not(modules: dict[str, ModuleType]) -> None:
    timing, comparison = modules["timing"], modules["comparison"]

    def lacking(xp: Any, a: Any) -> Any:
        if not isinstance(a, np.ndarray):
            raise NotImplementedError("no")
        return a

    found = comparison.Comparison("x", timing.Effort(1, 0), quick=True)
    with pytest.raises(NotImplementedError):
        found.at(program(modules, lacking), 2)


def test_programs_become_expressions(modules: dict[str, ModuleType]) -> None:
    texts: list[tuple[str, dict[str, Any]]] = []
    call = modules["expressions"].compiled(
        lambda text, local_dict: texts.append((text, local_dict)),
        lambda xp, a, b: (2 * xp.exp(-a) + b * 2.5, 1 - a / 2),
    )
    a = np.ones(2, np.float32)
    call(a, a)
    (first, names), (second, _) = texts
    assert first == "((c0 * exp((-x0))) + (x1 * c1))"
    assert (names["c0"], names["c1"], names["c0"].dtype) == (2, 2.5, np.float32)
    assert second == "(c0 - (x0 / c1))"


# --- the timing helper


def test_samples_end_when_they_take_too_long(timing: ModuleType) -> None:
    contender = timing.Contender("A", lambda times: 1.0, 1)
    measurement = timing.measure([contender], timing.Effort(100, 0, 0.0))
    assert len(measurement.samples("A")) == timing.LEAST_SAMPLES


def test_summary(timing: ModuleType) -> None:
    summary = timing.Summary.of([5.0, 1.0, 2.0, 4.0, 3.0])
    assert summary == timing.Summary(median=3.0, minimum=1.0, spread=2.0, samples=5)
    assert timing.Summary.of([7.0]) == timing.Summary(7.0, 7.0, 0.0, 1)


def test_contenders_take_turns(timing: ModuleType) -> None:
    turns: list[str] = []

    def contender(name: str) -> Any:
        return timing.Contender(name, lambda _: turns.append(name) or 1.0, 1)

    measurement = timing.measure([contender("A"), contender("B")], timing.Effort(3, 0), warm_up=1)
    assert "".join(turns) == "AB" * 4
    assert measurement.samples("A") == [1.0] * 3


def test_ratios_are_taken_within_a_turn(timing: ModuleType) -> None:
    measurement = timing.Measurement(["A", "B"])
    for a, b in ((1.0, 2.0), (10.0, 20.0), (3.0, 6.0)):
        measurement.add("A", a)
        measurement.add("B", b)
    assert measurement.ratio("B", "A") == timing.Summary(2.0, 2.0, 0.0, 3)


def test_statement_finishes_inside_and_prepares_outside(
    timing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: events.append("clock") or 0.0)
    contender = timing.statement(
        "A",
        "log('work')",
        {"log": events.append},
        finish="log('finish')",
        before=lambda: events.append("before"),
        number=2,
    )
    contender.run(2)
    assert events == ["before", "clock", "work", "work", "finish", "clock"]


def test_times_for_fills_the_sample(timing: ModuleType) -> None:
    assert timing.times_for(lambda times: 0.001 * times, 1.0) == 1000
    assert timing.times_for(lambda times: 5.0 * times, 1.0) == 1


def test_times_for_forgives_a_disturbance(timing: ModuleType) -> None:
    disturbance = iter([10.0])
    assert timing.times_for(lambda times: 0.001 * times + next(disturbance, 0.0), 1.0) == 1000


def test_processes_take_turns(timing: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import sys; open(sys.argv[1], 'a').write(sys.argv[2]); print('noise'); print(1.5)"
    programs = {name: ["-c", code, str(log), name] for name in "AB"}
    measurement = timing.measure_processes(programs, 2)
    assert log.read_text() == "ABAB"
    assert measurement.samples("B") == [1.5, 1.5]


def test_processes_get_no_flags_of_ours(
    timing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFLOW_LITE_SYNC", "1")
    code = "import json, os; print(json.dumps([k for k in os.environ if 'ONEFLOW_LITE' in k]))"
    assert timing.run_process(["-c", code]) == []
    given = {"ONEFLOW_LITE_LOG": "debug"}
    assert timing.run_process(["-c", code], given) == ["ONEFLOW_LITE_LOG"]


# --- the tables


@pytest.mark.parametrize(("at_least", "met"), [(False, "yes"), (True, "NO")])
def test_claims_say_whether_targets_are_met(
    modules: dict[str, ModuleType], at_least: bool, met: str
) -> None:
    report, measured = modules["report"], modules["timing"].Summary.of([1.0])
    cells = report.claim_cells(report.Claim("q", measured, "x", 1.3, None, at_least))
    assert cells[-3:] == [met, "", ""]


def test_readme_is_rewritten_between_its_markers(
    modules: dict[str, ModuleType], reports: dict[str, Any], tmp_path: Path
) -> None:
    run_all = modules["run_all"]
    readme = tmp_path / "README.md"
    readme.write_text((FOLDER / "README.md").read_text())
    head = readme.read_text().partition(run_all.BEGIN)[0]
    text = run_all.block({"avx2": [report_of("bench_machine", reports)]}, ["bench_x"])
    for _ in range(2):
        run_all.rewrite(readme, text)
        assert readme.read_text() == f"{head}{run_all.BEGIN}\n\n{text}\n\n{run_all.END}\n"
    assert "| no-ops, C++, handed over " in text
    assert "bench_x: FAILED" in text


def test_readme_without_markers_is_left_alone(
    modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="lacks the lines"):
        modules["run_all"].rewrite(readme, "text")
    assert readme.read_text() == "nothing"


def test_pictures_are_drawn(
    modules: dict[str, ModuleType], reports: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    drawn = modules["plots"].PICTURES
    files = modules["plots"].draw({name: report_of(name, reports) for name in drawn}, tmp_path)
    assert [file.stem for file in files] == list(drawn)
    assert all(file.stat().st_size > 10_000 for file in files)


def test_readme_names_every_benchmark(modules: dict[str, ModuleType]) -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.stem for path in modules["run_all"].scripts()] == BENCHMARKS
    assert [name for name in BENCHMARKS if f"`{name}.py`" not in text] == []
