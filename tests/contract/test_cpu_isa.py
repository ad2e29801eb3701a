"""Flag ``cpu_isa``: one place chooses among the instruction sets, and no loop goes beyond it."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support import ON_X86, ROOT

CSRC = ROOT / "csrc"
WIDEST = _C.CPU_ISAS.index(_C.widest_cpu_isa())

# One call at least for each loop that is compiled for several sets.
EVERY_LOOP = """
import json
import numpy as np, oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.blas import in_force
started = _C.loops_chosen()
x = flow.arange(400 * 400, dtype="float32").reshape(400, 400) % 7
flow.argmax(x, axis=1), flow.take(x, flow.arange(9)[::2]), x[flow.arange(3), flow.arange(3)]
x.sum(axis=0), x[:, :100].sum(axis=1), x.T.reshape(-1), x @ x, x.astype("int64") @ x.astype("int64")
if hasattr(flow, "bfloat16"):
    x.astype(flow.bfloat16)
flow.random.Philox(0).random(4)
ranks, columns = flow.distributed.placement("cpu", [0, 1]), flow.distributed.sbp.split(1)
draw = lambda: flow.random.Philox(0).random((2, 4), placement=ranks, sbp=columns)
flow.distributed.run(draw, 2)
flow.correlate(flow.arange(100), flow.arange(30))
flow.conv2d(x[None, None], x[None, None, :3, :3])
flow.conv2d(x[None, None], flow.ones((4, 1, 3, 3), dtype="float32"))
flow.zeros((3, 2**22), dtype="float32").copy()
flow.partition(x.reshape(-1), 9), flow.argpartition(x.reshape(-1), 9)
flow.histogram(x, 9), flow.count_nonzero(x), x.astype("bool")
flow.where(x > 3, x, 0), flow.nonzero(x > 3), flow.packbits(x > 3)
core = in_force()
flow.exp(x), x + x, flow.frexp(x)
_C.has_panel_loops()
print(json.dumps([started, _C.loops_chosen(), _C.cpu_isa(), core.core, core.own_loops]))
"""


def names_in_the_source() -> set[str]:
    """Of other processors without those that are compiled for x86 alone."""
    text = "".join(path.read_text() for path in CSRC.rglob("*.cpp"))
    if not ON_X86:
        text = re.sub(r"(?ms)^#ifdef OFL_X86_VECTORS\n.*?^#(else|endif)\b", "", text)
    return set(re.findall(r'choose_by_isa(?:<\w+>)?\(\s*"(\w+)"', text))


@pytest.fixture(autouse=True)
def openblas_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variable would come first."""
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)


@pytest.mark.parametrize("limit", ["auto", *_C.CPU_ISAS[: WIDEST + 1]])
def test_no_loop_goes_beyond_the_limit(run_program: Callable[..., Any], limit: str) -> None:
    done = run_program(EVERY_LOOP, cpu_isa=limit, sync="1")
    assert done.returncode == 0, done.stderr
    started, chosen, isa, core, own_loops = json.loads(done.stdout)
    widest = WIDEST if limit == "auto" else _C.CPU_ISAS.index(limit)
    assert isa == _C.CPU_ISAS[widest]
    assert started == {}
    without_ml_dtypes = set() if hasattr(flow, "bfloat16") else {"cast"}
    assert set(chosen) == names_in_the_source() - without_ml_dtypes
    assert max(_C.CPU_ISAS.index(choice) for choice in chosen.values()) == widest
    assert own_loops == (bool(core) and isa == "avx512")
    if core and widest < WIDEST:
        assert core == {"baseline": "Nehalem", "avx2": "Haswell"}[isa]


def test_only_one_place_asks_the_processor() -> None:
    asking = r"__builtin_cpu_supports|__builtin_cpu_init|target_clones|\bcpuid\b|ifunc"
    places = [path.name for path in CSRC.rglob("*.*") if re.search(asking, path.read_text())]
    assert places == ["vectors.cpp"]


def test_functions_for_wide_vectors_are_only_handed_out_by_the_choice() -> None:
    """Each template compiled for a set, or the structure of several, is named once more: where it
    is offered to the choice.
    """
    offered = r"choose_by_isa<?[^;]*;"
    for path in CSRC.rglob("*.cpp"):
        text = path.read_text()
        wide = re.findall(r"OFL_AVX\w+ OFL_FLAT (?!static)\w+ (\w+)\(", text)
        wide += re.findall(r"struct (\w+) {(?:\n(?!};).*)*?OFL_AVX\w+ OFL_FLAT static ", text)
        assert len(wide) >= len(re.findall("OFL_AVX\\w+ OFL_FLAT", text)), path.name
        choices = " ".join(re.findall(offered, text))
        for name in wide:
            assert len(re.findall(rf"\b{name}\b", choices)) == 1, (path.name, name)
            assert len(re.findall(rf"\b{name}\b", text)) == 2, (path.name, name)


def test_what_is_compiled_in_regions_is_only_handed_out_by_the_choice() -> None:
    texts = [path.read_text() for path in CSRC.rglob("*.cpp")]
    regions = [text for text in texts if "OFL_BEGIN_AVX" in text]
    tables = {name for text in regions for name in re.findall(r"::(k\w+) =\s+&", text)}
    assert len(tables) == len(regions) > 1
    choices = " ".join(re.findall(r"choose_by_isa<?[^;]*;", " ".join(texts)))
    for name in tables:
        assert len(re.findall(rf"\b{name}\b", choices)) == 1, name
        others = [text for text in texts if text not in regions]
        assert sum(len(re.findall(rf"\b{name}\b", text)) for text in others) == 1, name


def test_a_set_that_the_processor_lacks(
    run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_C, "widest_cpu_isa", lambda: "baseline")
    row = next(row for row, _, _ in flow.flags.rows() if row.name == "cpu_isa")
    assert row.parse("Baseline ") == "baseline"
    assert row.parse("auto") == "auto"
    for isa in ("avx2", "avx512"):
        with pytest.raises(ValueError, match=rf"processor has \(baseline\), got {isa}"):
            row.parse(isa)
    done = run_program("import oneflow_lite", cpu_isa="sse9")
    assert done.returncode == 1
    assert "ONEFLOW_LITE_CPU_ISA=sse9: expected one of auto, baseline, avx2" in done.stderr


def test_it_is_chosen_once(run_program: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="read at import only"), flow.flags(cpu_isa="baseline"):
        pass
    flow.arange(9).argmax().item()
    with pytest.raises(RuntimeError, match="before the first loop is chosen"):
        _C.limit_cpu_isa(0)


def test_info_shows_it(run_program: Callable[..., Any]) -> None:
    code = "import oneflow_lite.__main__ as program; print(program.info())"
    done = run_program(code, cpu_isa="baseline")
    assert done.returncode == 0, done.stderr
    assert f"vectors      baseline (the processor has {_C.widest_cpu_isa()})\n" in done.stdout
    assert "AVX-512 loops" not in done.stdout
