"""What the device's kernels compute, held against NumPy: every elementwise row on every dtype, and
examples of all else. Errors are in units in the last place; for what IEEE 754 fixes they are 0.

Also what each kernel took to compile, as they are all needed here: in shards, as a compiler
compiles one at a time.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_libraries import DEVICE, OURS
from gpu_rows import FAILED, OK, SKIPPED, Rows
from oneflow_lite.cuda import compiler
from timing import Summary

ROOT = Path(__file__).resolve().parent.parent
FEW = 12  # loops tried on a simulated device
NEAR = 1e-4


class CompileTimes:
    """Seconds of each compilation of this process."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._compile = compiler.compile

    def install(self) -> None:
        """From now on calls of the seam are timed."""
        compiler.compile = self._timed  # type: ignore[assignment]

    def _timed(self, *arguments: Any) -> bytes:
        begin = time.perf_counter()
        try:
            return self._compile(*arguments)
        finally:
            self.seconds.append(time.perf_counter() - begin)


def check(rows: Rows, setting: Any) -> None:
    """Compare this shard's share, until the time is up; the rest is counted."""
    times = CompileTimes()
    times.install()
    shard, shards = setting.shard
    end = time.monotonic() + 0.8 * setting.seconds
    work = list(_elementwise())
    if setting.tiny:
        work = work[:: max(1, len(work) // FEW)]
    table, left = [], 0
    for name, loop, arrays, ufunc in work[shard::shards]:
        if time.monotonic() > end:
            left += 1
            continue
        table.append(_compared(rows, name, loop, arrays, ufunc))
    file = setting.folder / f"accuracy-{shard}.json"
    file.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    _summarize(rows, table)
    if left:
        rows.add("elementwise", OURS, status=SKIPPED, note=f"time is up: {left} loops are left")
    others = list(_examples(300, 700).items())[shard::shards]
    _check_each(rows, dict(others[:3] if setting.tiny else others), end)
    if times.seconds:
        measured = Summary.of(times.seconds)
        most = f"{len(times.seconds)} compiled, {sum(times.seconds):.1f} s, the longest "
        most += f"{1e3 * max(times.seconds):.0f} ms"
        rows.summary("compiling a kernel", OURS, measured, 1e3, unit="ms", note=most)


def check_examples(rows: Rows, setting: Any) -> None:
    """The examples alone, small: as a tool wants them that looks at each access."""
    examples = _examples(40, 70)
    few = dict(list(examples.items())[:3]) if setting.tiny else examples
    _check_each(rows, few, time.monotonic() + 0.8 * setting.seconds)


def _check_each(rows: Rows, examples: "dict[str, Example]", end: float) -> None:
    """A row for each, until the time is up; the rest is counted."""
    for done, (name, example) in enumerate(examples.items()):
        if time.monotonic() > end:
            note = f"partial: {done} of {len(examples)}"
            rows.add("examples", OURS, status=SKIPPED, note=note)
            return
        with rows.attempt(name, OURS):
            _example(rows, name, example)


def _elementwise() -> Iterator[tuple[str, tuple[str, ...], list[np.ndarray], Any]]:
    """Each row of the op table, each of its loops: operands of special and plain values."""
    sys.path.insert(0, str(ROOT))
    cases = importlib.import_module("tests.support.kernel_cases")
    for row in cases.ROWS.values():
        for loop in cases.loops(row):
            yield row.name, loop, cases.operands(loop), row.ufunc


def _compared(
    rows: Rows, name: str, loop: tuple[str, ...], arrays: list[np.ndarray], ufunc: Any
) -> dict[str, Any]:
    """One line of the table of errors."""
    line: dict[str, Any] = {"op": name, "loop": ",".join(loop), "status": OK}
    try:
        arrays = _defined(name, arrays)
        with np.errstate(all="ignore"):
            expected = np.asarray(ufunc(*arrays))
        function = getattr(flow, name)
        given = [flow.tensor(array, device=DEVICE) for array in arrays]
        seen = function(*given).numpy()
        line |= difference(expected, seen, arrays)
    except Exception as error:  # one kernel that fails is one line
        line["status"] = FAILED
        line["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        rows.failed(f"{name} {line['loop']}", OURS, error)
    return line


def _defined(name: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Without what has no value: negative integer powers, the integer 1 / 0, infinite powers."""
    if arrays[0].dtype.kind in "iu" and name in ("pow", "reciprocal"):
        keep = arrays[-1] >= 0 if name == "pow" else arrays[0] != 0
        return [x[keep] for x in arrays]
    if arrays[0].dtype.kind == "c" and name in ("pow", "float_power"):
        keep = np.isfinite(arrays[0]) & np.isfinite(arrays[1])
        return [x[keep] for x in arrays]
    return arrays


def difference(expected: np.ndarray, seen: np.ndarray, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Return the largest error in units in the last place, how many values have other bits, how
    many are wrong in kind (one is NaN or infinite, the other is not), and the worst operands.
    """
    if expected.dtype != seen.dtype or expected.shape != seen.shape:
        was = f"{seen.dtype} {seen.shape}"
        return {"status": FAILED, "error": f"{was}, expected {expected.dtype} {expected.shape}"}
    if expected.dtype.kind == "c":
        parts = [
            difference(getattr(expected, p), getattr(seen, p), arrays) for p in ("real", "imag")
        ]
        return max(parts, key=lambda part: (part["kinds"], part["ulp"]))
    if expected.dtype.kind in "biu":
        wrong = expected != seen
        return {"ulp": 0.0, "other": int(wrong.sum()), "kinds": int(wrong.sum())} | _where(
            wrong, expected, seen, arrays
        )
    with np.errstate(all="ignore"):
        same = (expected == seen) | (np.isnan(expected) & np.isnan(seen))
        unit = np.spacing(np.abs(expected)).astype(np.float64)
        gap = np.abs(expected.astype(np.float64) - seen.astype(np.float64)) / np.abs(unit)
        finite = np.isfinite(expected) & np.isfinite(seen)
    errors = np.where(same, 0.0, np.where(finite, gap, 0.0))
    kinds = ~same & ~finite
    result = {"ulp": float(errors.max(initial=0.0)), "other": int((~same).sum())}
    worst = kinds if kinds.any() else errors == errors.max(initial=0.0)
    found = _where(worst & ~same, expected, seen, arrays)
    return result | {"kinds": int(kinds.sum())} | found


def _where(
    wrong: np.ndarray, expected: np.ndarray, seen: np.ndarray, arrays: list[np.ndarray]
) -> dict[str, Any]:
    if not wrong.any():
        return {}
    i = int(np.flatnonzero(wrong)[0])
    given = ", ".join(repr(array.ravel()[i]) for array in arrays if array.size == wrong.size)
    return {"worst": f"({given}): {seen.ravel()[i]!r}, NumPy {expected.ravel()[i]!r}"}


def _summarize(rows: Rows, table: list[dict[str, Any]]) -> None:
    """A row for each operation: its worst loop."""
    worst: dict[str, dict[str, Any]] = {}
    for line in table:
        if line["status"] == OK:
            old = worst.get(line["op"])
            if old is None or (line["kinds"], line["ulp"]) > (old["kinds"], old["ulp"]):
                worst[line["op"]] = line
    for name, line in worst.items():
        note = f"{line['loop']}, {line['other']} of other bits {line.get('worst', '')}"
        if line["kinds"]:
            note += f"; {line['kinds']} WRONG IN KIND"
        host = "; some loops on the host" if name in flow.cuda.host_operations() else ""
        status = FAILED if line["kinds"] else OK
        rows.add(name, OURS, value=line["ulp"], unit="ulp", note=note + host, status=status)


# --- what is not elementwise

Example = tuple[Callable[[Any, Any], Any], np.ndarray]


def _examples(height: int, width: int) -> dict[str, Example]:
    """Calls with NumPy's names on both, and their operand."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(height, width)).astype(np.float32)
    i = rng.integers(-1000, 1000, (height, width))
    flat = x.ravel()
    found: dict[str, Example] = {}
    for name in ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all"):
        found[f"{name} of float32"] = (lambda xp, a, f=name: getattr(xp, f)(a / 4), x)
        found[f"{name} of rows"] = (lambda xp, a, f=name: getattr(xp, f)(a, axis=1), x)
        found[f"{name} of columns of int64"] = (lambda xp, a, f=name: getattr(xp, f)(a, axis=0), i)
    found["argsort of rows"] = (lambda xp, a: xp.argsort(a, axis=1, stable=True), x)
    found["argsort of int64"] = (lambda xp, a: xp.argsort(a, axis=0, stable=True), i)
    for name in ("argmax", "argmin", "sort", "cumsum"):
        found[f"{name} of rows"] = (lambda xp, a, f=name: getattr(xp, f)(a, axis=1), x)
        found[f"{name} of int64"] = (lambda xp, a, f=name: getattr(xp, f)(a, axis=0), i)
    found |= {
        "sort of all": (lambda xp, a: xp.sort(a), flat),
        "searchsorted": (lambda xp, a: xp.searchsorted(xp.sort(a), a), flat),
        "nonzero": (lambda xp, a: xp.nonzero(a > 1)[0], flat),
        "mask": (lambda xp, a: a[a > 0.5], flat),
        "take": (lambda xp, a: a[a.argsort()[::3]], flat),
        "where": (lambda xp, a: xp.where(a > 0, a, -a), x),
        "transposed copy": (lambda xp, a: xp.concat([a.T, a.T], axis=0), x),
        "strided assignment": (_assigned, x),
        "softmax": (_softmax, x),
        "matmul of float32": (lambda xp, a: a @ a.T, x),
        "matmul of float64": (lambda xp, a: (a + 0.5) @ (a - 0.5).T, x.astype(np.float64)),
        "matmul of float16": (lambda xp, a: a @ a.T, (x / 8).astype(np.float16)),
        "matmul of int64": (lambda xp, a: a @ a.T, i),
    }
    return found


def _assigned(xp: Any, a: Any) -> Any:
    y = a + 0
    y[1:, ::2] = a[:-1, ::2] * 2
    y[::-1, 5:9] += 1
    return y


def _softmax(xp: Any, a: Any) -> Any:
    e = xp.exp(a - xp.max(a, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def _example(rows: Rows, name: str, example: Example) -> None:
    function, array = example
    expected = np.asarray(function(np, array.copy()))
    before = set(flow.cuda.host_operations())
    seen = function(flow, flow.tensor(array, device=DEVICE)).numpy()
    host = sorted(set(flow.cuda.host_operations()) - before)
    if expected.dtype != seen.dtype or expected.shape != seen.shape:
        raise AssertionError(
            f"{seen.dtype} {seen.shape}, expected {expected.dtype} {expected.shape}"
        )
    scale = max(1.0, float(np.abs(expected).max(initial=0))) if expected.dtype.kind == "f" else 1.0
    with np.errstate(all="ignore"):
        gap = np.abs(expected.astype(np.float64) - seen.astype(np.float64)) / scale
    near = 2e-3 if expected.dtype == np.float16 else NEAR if expected.dtype.kind == "f" else 0.0
    worst = float(gap.max(initial=0.0))
    note = f"on the host: {', '.join(host)}" if host else ""
    status = OK if worst <= near else FAILED
    rows.add(name, OURS, value=worst, unit="relative error", note=note, status=status)
