"""What is kept of the benchmarks becomes tables with columns for each instruction set."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.xdist_group("benchmarks")  # they import the same modules

FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The modules that make the tables, as a script of their folder imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        names = ("timing", "report", "figures", "run_all")
        yield {name: importlib.import_module(name) for name in names}


def cells_of(text: str) -> list[list[str]]:
    """The cells of a table in Markdown, without the line below its head."""
    lines = [line for line in text.splitlines() if line.startswith("|") and "--" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def made_report(modules: dict[str, ModuleType], name: str, median: float) -> dict[str, Any]:
    """A report with one claim, one row and one curve for ours and NumPy."""
    report, measured = modules["report"], modules["timing"].Summary.of([median])
    made = report.Report(name)
    made.claim("add", measured, "x NumPy", now=1.0, at="10^4")
    for contender, ratio in (("oneflow_lite", median), ("NumPy", 1.0)):
        made.add(report.Curve("add", contender, "NumPy", [1, 10], [1.0, 2.0], [ratio, 1.0], [0, 0]))
    found: dict[str, Any] = json.loads(json.dumps(made.as_json()))
    row = {"question": "a + b", "contender": "oneflow_lite", "reference": "NumPy"}
    row |= dict.fromkeys(("seconds", "ratio"), vars(measured))
    return found | {"times": [row], "headlines": [{"question": "add", "ratios": {"NumPy": median}}]}


def test_headline_has_a_column_for_each_other(modules: dict[str, ModuleType]) -> None:
    row = {"question": "add", "ratios": {"NumPy": 0.5, "JAX jit": 0.251}}
    report = {"benchmark": "x", "headlines": [row]}
    assert cells_of(modules["figures"].headline({"avx2": [report]}))[-1] == [
        *("add", "0.5", "", "0.25")
    ]


def test_tables_have_each_instruction_set(modules: dict[str, ModuleType]) -> None:
    sets = {
        "avx512": [made_report(modules, "x", 0.5)],
        "avx2": [made_report(modules, "x", 2.0), made_report(modules, "y", 3.0)],
    }
    headline = cells_of(modules["figures"].headline(sets))
    assert headline[0][1::3] == ["AVX-512: / NumPy's", "AVX2: / NumPy's"]
    assert [row[1::3] for row in headline[1:]] == [["0.5", "2"], ["", "3"]]
    rows = cells_of(modules["figures"].block(sets))
    assert [
        "add",
        "0.5 at 10^4",
        "0",
        "2 at 10^4",
        "0",
        "x NumPy",
        "<= 1",
        "NO: AVX2",
        "",
        "",
    ] in rows
    assert ["", "", "", "3 at 10^4", "0", "x NumPy", "<= 1", "NO: AVX2", "", ""] in rows
    assert ["add", "AVX-512", "0.5", "1"] in rows
    assert ["", "AVX2", "2", "1"] in rows
    assert ["add", "AVX-512", "10", "2 s", "1", "1"] in rows
    assert ["a + b", "oneflow_lite", "500 ms", "0.5", "0", "2 s", "2", "0"] in rows


def test_rows_of_one_name_are_an_error(modules: dict[str, ModuleType]) -> None:
    report = made_report(modules, "x", 0.5)
    twice = report | {"claims": report["claims"] * 2}
    with pytest.raises(ValueError, match="x, AVX2 has two rows of .'add', 'x NumPy'"):
        modules["figures"].block({"avx2": [twice]})


def test_reports_are_kept_by_instruction_set(
    modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    for isa in ("avx2", "avx512"):
        (tmp_path / isa).mkdir()
        (tmp_path / isa / "bench_x.json").write_text(json.dumps({"benchmark": isa}))
    kept = modules["run_all"].kept(tmp_path)
    assert list(kept.items()) == [(isa, [{"benchmark": isa}]) for isa in ("avx512", "avx2")]


def test_what_is_kept_has_no_row_twice(modules: dict[str, ModuleType]) -> None:
    sets = modules["run_all"].kept(FOLDER / "results")
    assert list(sets) == ["avx512", "avx2"]
    assert "FAILED" not in modules["figures"].block(sets)
