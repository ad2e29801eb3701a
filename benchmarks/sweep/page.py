"""The page that the sweep makes: means by size and chapter, what is slower than NumPy, and why."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from libraries import OURS
from report import Curve, rounded, seconds_str, size_str, table
from sweep.names import EXCLUDED
from sweep.results import NUMPY, Result

SLOWER = 1.1  # times of NumPy: what is above it is listed
# Pattern of "call, dtype, layout, size" -> why there is no fast way. At most ten.
REASONS: tuple[tuple[str, str], ...] = (
    (
        r"^((asarray|asanyarray|ascontiguousarray)\([xv]\)"
        r"|(asarray_chkfinite\(x\), (u?int|bool)|real_if_close\(x\), [^c]|require\(x\)).*\d{6}$)",
        "Both return their argument. To find that it is a tensor takes 5 to 15 ns more than to "
        "find that it is an array. From 10^4 elements on, each call of ours ends with "
        "synchronize(), which takes 0.2 us.",
    ),
    (
        r"^diag\(m\)",
        "NumPy returns a view of the diagonal that cannot be written to; ours is a copy that can.",
    ),
    (
        r"^empty(_like)?\(",
        "Memory is counted, and kept for what comes next: a call takes 0.1 us more than malloc.",
    ),
    (
        r"^random\.",
        "NumPy's generator draws the numbers, one after the other, but for many uniform, normal "
        "and exponential ones and integers. Ours adds the call, about 0.3 us, and a copy.",
    ),
    (
        r"^(dot|vdot|vecdot|inner|matvec|vecmat|matmul|tensordot|cov|corrcoef|"
        r"linalg\.(norm|multi_dot|matrix_power|cholesky|eigh))\b.*, (100000|3000000)$",
        "NumPy's OpenBLAS takes a second thread, which spins for 0.1 s after each product and so "
        "is there at once in a loop of products. Ours sleep 0.3 ms after one, so that they take "
        "no core from other work, or the product stays in one thread.",
    ),
    (
        r"^fft\.(?!i?fftshift)",
        "The transform is NumPy's own code. In a worker thread its temporary memory goes back to "
        "the system after each call, and comes page by page.",
    ),
    (
        r"^(meshgrid|(nan)?cum\w+|nanprod|sign|x \+= y|gradient|ediff1d|einsum\('ij->j')(\(|,)"
        r".*, 100000$",
        "One long operation, or several of about 20 us before a look, go to a worker, so that the "
        "thread is free. Here it waits at once: the hand-over adds 20 to 40 us. With "
        "ONEFLOW_LITE_INLINE=1e-2, which keeps them in the thread, the ratios are 0.7 to 1.",
    ),
    (
        r"^(repeat\(x, 2, axis=0\).*, 100000|ascontiguousarray\(c\.T\).*, 1000)$",
        "Short rows that do not join are copied one by one. A row takes 4 to 9 ns more than in "
        "NumPy: 632 rows of 1264 bytes, or 32 rows of 31 elements.",
    ),
    (
        r"^sort\(x\), complex64, contiguous, 1000$",
        "Keys of complex numbers are sorted by NumPy's vectors of uint64. With AVX-512 they take "
        "16 us for 1000 on this processor; NumPy's sort of complex64, by comparisons, takes 11 us.",
    ),
    (
        r"^take(_along_axis)?\(.*, (uint8|bool), contiguous, 100000$",
        "All indices are checked before an element is read, in 0.15 ns each. NumPy checks each one "
        "while it waits for the element before.",
    ),
)


def geometric(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def slower(results: Iterable[Result]) -> list[Result]:
    """Return what takes more than SLOWER times as long as NumPy, the worst first."""
    return sorted((r for r in results if r.ratio > SLOWER), key=lambda r: -r.ratio)


def reason_of(result: Result) -> int | None:
    """Return the number of the first reason that fits, from 1."""
    text = f"{result.call}, {result.dtype}, {result.layout}, {result.size}"
    for number, (pattern, _) in enumerate(REASONS, 1):
        if re.search(pattern, text):
            return number
    return None


def _by_chapter(results: Iterable[Result]) -> dict[str, dict[int, list[Result]]]:
    found: dict[str, dict[int, list[Result]]] = {}
    for result in results:
        found.setdefault(result.chapter, {}).setdefault(result.size, []).append(result)
    return found


def curves(results: Sequence[Result]) -> list[Curve]:
    """Return the geometric means of each chapter over sizes, of NumPy and of ours."""
    found = []
    for chapter, by_size in _by_chapter(results).items():
        at = {size: by_size[size] for size in sorted(by_size)}
        seconds = [geometric(r.seconds for r in rs) for rs in at.values()]
        ratios = [geometric(r.ratio for r in rs) for rs in at.values()]
        ours = [second * ratio for second, ratio in zip(seconds, ratios, strict=True)]
        one, none = [1.0] * len(at), [0.0] * len(at)
        for name, times, of_numpy in ((OURS.name, ours, ratios), (NUMPY, seconds, one)):
            known = ([rounded(x) for x in xs] for xs in (times, of_numpy))
            found.append(Curve(f"sweep: {chapter}", name, NUMPY, list(at), *known, none))
    return found


def means_table(results: Sequence[Result], other: str = NUMPY) -> str:
    """Return our time in times of another library's: a line for each chapter, a column a size."""
    having = [result for result in results if other in result.ratios]
    sizes = sorted({result.size for result in having})
    lines = []
    for chapter, by_size in [*_by_chapter(having).items(), ("all", {})]:
        cells = []
        for size in sizes:
            own = by_size.get(size, []) if by_size else [r for r in having if r.size == size]
            cells.append(f"{geometric(r.ratios[other] for r in own):.3g}" if own else "")
        count = sum(map(len, by_size.values())) or len(having)
        lines.append([chapter, *cells, str(count)])
    return table(("chapter", *map(size_str, sizes), "cases"), lines, markdown=True)


def slower_table(results: Sequence[Result]) -> str:
    """Return the cases above SLOWER, the worst first, with the number of the reason."""
    head = ("call", "dtype", "layout", "size", "NumPy", "ratio", "spread", "reason")
    lines = []
    for r in slower(results):
        reason = reason_of(r)
        cells = [f"`{r.call}`", r.dtype, r.layout, size_str(r.size), seconds_str(r.seconds)]
        lines.append(
            [*cells, f"{r.ratio:.2f}", f"{r.spread:.2g}", "" if reason is None else str(reason)]
        )
    return table(head, lines, markdown=True) if lines else "Nothing is."


def _numbered(rows: Iterable[str]) -> str:
    return "\n".join(f"{number}. {row}" for number, row in enumerate(rows, 1))


def _left_out(report: Mapping[str, Any]) -> str:
    """Functions by reason, and single cases."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in EXCLUDED.items():
        by_reason.setdefault(reason, []).append(f"`{name}`")
    by_reason["A call takes too long for this budget."] = report["slow"]
    by_reason["Ours does not take this."] = report["refused"]
    return "\n".join(f"- {reason} {'; '.join(ns)}" for reason, ns in by_reason.items() if ns)


def page(report: Mapping[str, Any], picture: str = "") -> str:
    """Return the page, as Markdown, of the report in JSON."""
    results = [Result.of_line(line) for line in report["cases"]]
    others = dict.fromkeys(name for r in results for name in r.ratios if name != NUMPY)
    above = len(slower(results))
    parts = ["# The sweep over all public functions", report["machine"]]
    parts += [f"![Geometric means]({picture})"] if picture else []
    parts += [
        "A ratio is our time in times of NumPy's. A case is a call in one dtype, layout and size. "
        f"Of {len(results)} cases {above} are above {SLOWER}.",
        "## Geometric means",
        means_table(results),
    ]
    for name in others:
        parts += [f"## Against {name}", "In the first dtype of each call.", ""]
        parts[-1] = means_table(results, name)
    parts += [f"## Above {SLOWER}", slower_table(results)]
    if REASONS:
        parts += ["## Reasons", _numbered(reason for _, reason in REASONS)]
    parts += ["## Left out", _left_out(report)]
    parts += ["## Notes", "\n".join(f"- {note}" for note in report["notes"])]
    return "\n\n".join(parts) + "\n"
