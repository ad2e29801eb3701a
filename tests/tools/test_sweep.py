"""The sweep of benchmarks/ has every public function, and its page says what was measured."""

import importlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support import ROOT

FOLDER = ROOT / "benchmarks"
PARTS = ("names", "operands", "calls", "results", "measuring", "page")


@pytest.fixture(scope="module")
def sweep() -> Iterator[dict[str, ModuleType]]:
    """The modules of the sweep, as a script of the folder imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        found = {part: importlib.import_module(f"sweep.{part}") for part in PARTS}
        outside = ("bench_sweep", "instruction_sets", "libraries", "timing")
        yield found | {name: importlib.import_module(name) for name in outside}


@pytest.fixture
def measuring(sweep: dict[str, ModuleType]) -> Any:
    """A sweep of ours and NumPy in the shortest setting."""
    libraries, _ = sweep["libraries"].installed(only_numpy=True)
    return sweep["measuring"].Sweep(libraries, 1e-4, 0.0)


def case(sweep: dict[str, ModuleType], name: str, **changes: Any) -> Any:
    """The main case of a call, as ``sum(x)``."""
    cases = sweep["calls"].all_cases()
    return replace(next(c for c in cases if c.name == name and c.is_main), **changes)


def made_result(sweep: dict[str, ModuleType], ratio: float, **changes: Any) -> Any:
    given = {"chapter": "sorting", "call": "sort(x)", "dtype": "float32", "layout": "strided"}
    given |= {"size": 1000, "seconds": 1e-6, "spread": 0.1, "ratios": {"NumPy": ratio}}
    return sweep["results"].Result(**(given | changes))


# --- the functions


def test_every_public_function_is_called_or_left_out_with_a_reason(
    sweep: dict[str, ModuleType],
) -> None:
    names = sweep["names"]
    called = {case.function for case in sweep["calls"].all_cases()} - {""}
    assert called | set(names.EXCLUDED) == set(names.public())
    assert called & set(names.EXCLUDED) == set()
    assert all(reason.endswith(".") for reason in names.EXCLUDED.values())
    of_the_table = {name for name, f in names.public().items() if isinstance(f, flow.Op)}
    assert len(of_the_table) > 70
    assert of_the_table <= called
    assert names.aliases()["arccos"] == "acos"
    assert {"sum", "linalg.det", "fft.rfft", "random.normal"} <= called


def test_every_call_has_numpys_result(sweep: dict[str, ModuleType], measuring: Any) -> None:
    cases = [case for case in sweep["calls"].all_cases() if case.is_main]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in cases:
            measuring.both(one, one.sizes[0])  # SweepError or Refused, which say where
    assert len(cases) > 350


def test_a_new_function_is_in_it_by_itself(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(x: Any, /, axis: int | None = None) -> Any: ...

    monkeypatch.setattr(flow, "doubled", doubled, raising=False)
    own = [case for case in sweep["calls"].all_cases() if case.function == "doubled"]
    assert {case.name for case in own} == {
        *("doubled(x)", "doubled(x, axis=0)", "doubled(x, axis=-1)"),
    }
    of_two = {sweep["operands"].NARROW}
    assert {case.layout for case in own} == set(sweep["operands"].LAYOUTS) - of_two
    assert {case.dtype for case in own} == set(sweep["calls"].NUMBERS)


def test_a_function_that_cannot_be_called_is_an_error(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def frobnicated(x: Any, /, amount: int) -> Any: ...

    monkeypatch.setattr(flow.linalg, "frobnicated", frobnicated, raising=False)
    sentence = r"cannot call linalg\.frobnicated\(.*its parameter 'amount'; add a call to LISTED"
    with pytest.raises(sweep["names"].SweepError, match=sentence):
        sweep["calls"].all_cases()


def test_what_numpy_never_takes_is_an_error(sweep: dict[str, ModuleType], measuring: Any) -> None:
    lacking = case(sweep, "sum(x)", function="no_such_function")
    with pytest.raises(sweep["names"].SweepError, match=r"in any dtype: no_such_function\(x\);"):
        sweep["bench_sweep"].swept(measuring, [lacking], (1,))


def test_names_that_are_no_functions_are_an_error(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sweep["names"].EXCLUDED, "gone", "It is gone.")
    with pytest.raises(sweep["names"].SweepError, match="no public functions, but listed: gone"):
        sweep["calls"].all_cases()
    monkeypatch.undo()
    with pytest.raises(sweep["names"].SweepError, match="neither functions nor chapters: gone"):
        sweep["bench_sweep"].chosen(["gone", "arccos"], quick=True)
    (only,) = sweep["bench_sweep"].chosen(["arccos"], quick=True)
    assert only.function == "acos"


# --- operands, values and times


def test_operands_have_their_layouts(sweep: dict[str, ModuleType]) -> None:
    (numpy,) = (x for x in sweep["libraries"].installed(True)[0] if x.name == "NumPy")
    found = {}
    for layout in sweep["operands"].LAYOUTS:
        one = case(sweep, "sum(x)", layout=layout)
        found[layout] = sweep["measuring"].prepared(one, 1000, numpy).scope["x"]
    added = case(sweep, "add(x, y)", layout="rows of 8")
    column = sweep["measuring"].prepared(added, 1000, numpy).scope["y"]
    shapes = {layout: array.shape for layout, array in found.items()}
    assert shapes.pop("contiguous") == shapes.pop("strided") == (1000,)
    assert shapes.pop("rows of 8") == shapes.pop("axis -1, rows of 8") == (125, 8)
    assert column.shape == (125, 1)
    assert set(shapes.values()) == {(31, 32)}
    item = 4
    assert found["contiguous"].strides == (item,)
    assert found["strided"].strides == (2 * item,)
    assert found["transposed"].strides == (item, 31 * item)
    assert found["broadcast"].strides == (0, item)
    assert found["axis 0"].flags.c_contiguous


def test_other_values_than_numpys_are_an_error(
    sweep: dict[str, ModuleType], measuring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "sum", lambda x: x.max())
    with pytest.raises(sweep["names"].SweepError, match=r"sum\(x\), float32, .*: other values"):
        measuring.run(case(sweep, "sum(x)"), (16,))
    monkeypatch.setattr(flow, "sum", lambda x: x.sum(axis=0, keepdims=True))
    with pytest.raises(sweep["names"].SweepError, match=r"shape \(1,\), NumPy \(\)"):
        measuring.run(case(sweep, "sum(x)"), (16,))


def test_what_ours_refuses_is_told(sweep: dict[str, ModuleType], measuring: Any) -> None:
    both = [case(sweep, "astype(x, 'int64')", dtype=dtype) for dtype in ("float32", "complex64")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, which takes the real part
        results, (refused,) = sweep["bench_sweep"].swept(measuring, both, (1,))
    assert [result.dtype for result in results] == ["float32"]
    assert refused.startswith("astype(x, 'int64'), complex64, contiguous, 1 elements: TypeError")


def test_slow_calls_have_few_samples_or_none(sweep: dict[str, ModuleType]) -> None:
    timed, contender = sweep["measuring"].timed, sweep["measuring"].Contender
    slow = [contender("A", lambda times: 2.0 * times), contender("B", lambda times: 1.0 * times)]
    measured = timed(slow, seconds=0.1)
    assert measured.samples("A") == [2.0] * sweep["measuring"].SLOW_SAMPLES
    assert timed(slow, seconds=0.1, most=5.0) is None


def test_after_spinning_threads_there_is_a_pause(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    timing, made, log = sweep["timing"], sweep["measuring"].Contender, []
    monkeypatch.setattr(timing.time, "sleep", lambda seconds: log.append(f"wait {seconds}"))

    def contender(name: str, spins: float) -> object:
        return made(name, lambda times: log.append(name) or 1.0, number=1, spins=spins)

    pair = [contender("ours", 0.0), contender("NumPy", 0.5)]
    timing.measure(pair, timing.Effort(1, 0.0), warm_up=0)
    assert log == ["wait 0.5", "ours", "ours", "NumPy", "NumPy"]  # once to wake its threads
    log.clear()
    timing.measure([contender("ours", 0.0)], timing.Effort(1, 0.0), warm_up=0)
    assert log == ["ours"]


def test_each_call_of_a_large_one_is_waited_for(sweep: dict[str, ModuleType]) -> None:
    ours = sweep["libraries"].OURS
    codes = [sweep["measuring"].prepared(case(sweep, "sum(x)"), size, ours) for size in (16, 10**5)]
    assert [code.code for code in codes] == [
        "result = f(x); pass",
        "result = f(x); lib.synchronize()",
    ]
    assert {code.finish for code in codes} == {"lib.synchronize()"}


# --- the page


def test_results_survive_as_lines(sweep: dict[str, ModuleType]) -> None:
    result = made_result(sweep, 1.25, ratios={"NumPy": 1.25, "JAX": 0.5})
    assert sweep["results"].Result.of_line(result.as_line()) == result


def test_the_page_has_means_and_the_worst_first(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = sweep["page"]
    monkeypatch.setattr(page, "REASONS", ((r"^sort.* 16$", "Nobody knows one."),))
    found = [
        made_result(sweep, ratio, size=size) for ratio, size in ((4, 1000), (1, 1000), (9, 16))
    ]
    report = {"machine": "M, avx2", "cases": [r.as_line() for r in found], "notes": ["a note"]}
    text = page.page(report | {"slow": ["this one"], "refused": []}, "p.png")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert ["sorting", "9", "2", "3"] in rows
    above = [
        (row[5], row[7]) for row in rows if row[0] == "`sort(x)`" or row[0:2] == ["", "float32"]
    ]
    assert above == [("9.00", "1"), ("4.00", "")]
    for part in (
        "M, avx2",
        "(p.png)",
        "1. Nobody knows one.",
        "this one",
        "- a note",
        "2 are above",
    ):
        assert part in text
    curves = {curve.contender: curve.ratios for curve in page.curves(found)}
    assert curves == {"oneflow_lite": [9.0, 2.0], "NumPy": [1.0, 1.0]}


def test_reasons_are_few(sweep: dict[str, ModuleType]) -> None:
    reasons = sweep["page"].REASONS
    assert len(reasons) <= 10
    assert all(reason.endswith(".") for _, reason in reasons)


def test_the_page_is_drawn(sweep: dict[str, ModuleType], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots = importlib.import_module("plots")
    curves = [vars(curve) for curve in sweep["page"].curves([made_result(sweep, 1.5)])]
    drawn = plots.draw({"bench_sweep": {"curves": curves, "machine": "M"}}, tmp_path)
    assert [file.name for file in drawn] == ["bench_sweep.png"]
    assert drawn[0].stat().st_size > 5_000


# --- the instruction set


@pytest.mark.process
@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="this processor has no AVX2")
def test_the_sweep_runs_within_avx2(tmp_path: Path) -> None:
    file = tmp_path / "sweep.json"
    given = ["--quick", "--only", "acos", "--isa", "avx2", "--json", file]
    subprocess.run([sys.executable, FOLDER / "bench_sweep.py", *given], check=True, timeout=120)
    report = json.loads(file.read_text())
    assert ", avx2, " in report["machine"]
    assert len(report["cases"]) == 2
    assert {curve["question"] for curve in report["curves"]} == {"sweep: elementwise"}


def test_a_restart_limits_all_libraries(
    sweep: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    sets, started = sweep["instruction_sets"], []
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    monkeypatch.setattr(os, "execve", lambda *given: started.append(given))
    monkeypatch.setattr(_C, "cpu_isa", lambda: "avx2")
    sets.restart("native")
    assert started == []
    sets.restart("avx2")
    ((program, arguments, environment),) = started
    assert program == arguments[0] == sys.executable
    assert environment["ONEFLOW_LITE_CPU_ISA"] == "avx2"
    assert environment["XLA_FLAGS"] == "--xla_dump_to=x --xla_cpu_max_isa=AVX2"
    features: Any = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    beyond = environment["NPY_DISABLE_CPU_FEATURES"].split()
    assert all(features[name] for name in beyond)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sets, "_beyond", list)  # what a restarted NumPy says
    sets.restart("avx2")
    assert len(started) == 1
