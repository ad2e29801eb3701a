"""Draws what the benchmarks reported, where matplotlib is installed."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison import JIT, NUMPY, TORCH, UNFUSED
from libraries import OURS
from report import Curve, curve_of, size_str

try:
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
except ImportError:
    Figure = None

# Contender -> colour (of Okabe and Ito, for every eye), marker, line.
STYLES = {
    OURS.name: ("#D55E00", "o", "-"),
    UNFUSED: ("#E69F00", "D", "--"),
    NUMPY: ("#000000", "", ":"),
    "numexpr": ("#999999", "v", "-"),
    TORCH: ("#CC79A7", "s", "-"),
    "JAX": ("#56B4E9", "^", "--"),
    JIT: ("#0072B2", "^", "-"),
    "MLX": ("#009E73", "P", "-"),
}
TIMES_NUMPY = "time / NumPy's time"
DPI = 100
TICKS = (0.03, 0.1, 0.3, 1, 3, 10, 30)
LIMITS = (0.02, 50)
Curves = Sequence[Curve]


def _line(axes: Any, name: str, x: Sequence[float], y: Sequence[float]) -> None:
    colour, marker, line = STYLES[name]
    width, size, order = (2.6, 6, 3) if name == OURS.name else (1.3, 4, 2)
    look = {"linewidth": width, "markersize": size, "zorder": order, "label": name}
    axes.plot(x, y, color=colour, marker=marker, linestyle=line, **look)


def _panel(axes: Any, curves: Curves, title: str) -> None:
    """Ratios to NumPy over sizes, both logarithmic; what lies outside is cut off."""
    for curve in curves:
        if curve.contender != NUMPY:
            _line(axes, curve.contender, curve.sizes, curve.ratios)
    axes.axhline(1, color="black", linestyle=":", linewidth=1.3, label=NUMPY)
    axes.set(xscale="log", yscale="log", ylim=LIMITS, title=title, xlabel="elements")
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _finish(figure: Any, machine: str, title: str, path: Path) -> None:
    """Add title, legend and the machine, and write the file."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    names = [name for name in STYLES if name in found]
    handles = [found[name] for name in names]
    look = {"title": title, "title_fontsize": 13, "frameon": False}
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), **look)
    figure.supxlabel(machine.replace("; ", "\n"), fontsize=8, color="#555555")
    figure.savefig(path, dpi=DPI)


def _of(curves: Curves, question: str) -> list[Curve]:
    return [curve for curve in curves if curve.question == question]


def panels(questions: Sequence[str], title: str) -> Callable[[Curves, str, Path], None]:
    """Return what draws a panel for each of the questions."""

    def draw(curves: Curves, machine: str, path: Path) -> None:
        figure = Figure(figsize=(12, 3.2 * (len(questions) // 3) + 1), layout="constrained")
        grid = figure.subplots(len(questions) // 3, 3, sharey=True)
        for axes, question in zip(grid.flat, questions, strict=True):
            _panel(axes, _of(curves, question), question)
        for row in grid:
            row[0].set_ylabel(TIMES_NUMPY)
        _finish(figure, machine, title, path)

    return draw


_VALUE: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7, "rotation": 90}


def _bars(axes: Any, curves: Curves) -> None:
    """A group of bars for each program, at the largest size that all contenders have."""
    questions = list(dict.fromkeys(curve.question for curve in curves))
    names = [name for name in STYLES if name != NUMPY and any(c.contender == name for c in curves)]
    width, size = 0.85 / len(names), min(curve.sizes[-1] for curve in curves)
    for number, name in enumerate(names):
        own = {c.question: c.ratios[c.sizes.index(size)] for c in curves if c.contender == name}
        offset = (number - len(names) / 2 + 0.5) * width
        places = [questions.index(question) + offset for question in own]
        axes.bar(places, own.values(), width, color=STYLES[name][0])
        for place, ratio in zip(places, own.values(), strict=True):
            axes.text(place, ratio * 1.07, f"{ratio:.2f}", **_VALUE)
    axes.axhline(1, color="black", linestyle=":", linewidth=1.3)
    axes.set_xticks(range(len(questions)), questions)
    axes.set(yscale="log", ylim=(LIMITS[0], 12), ylabel=TIMES_NUMPY)
    axes.set_yticks(TICKS[:-1], [f"{tick:g}" for tick in TICKS[:-1]])
    axes.minorticks_off()
    axes.set_title(f"${size_str(size)}$ elements")


def chain(curves: Curves, machine: str, path: Path) -> None:
    figure = Figure(figsize=(12, 8.5), layout="constrained")
    grid = figure.subplot_mosaic("AAA;BCD", gridspec_kw={"height_ratios": [1.2, 1]})
    _bars(grid["A"], curves)
    questions = ("chain", "Black-Scholes", "softmax")
    for letter, question in zip("BCD", questions, strict=True):
        _panel(grid[letter], _of(curves, question), question)
    grid["B"].set_ylabel(TIMES_NUMPY)
    _finish(figure, machine, "Programs as NumPy people write them (lower is faster)", path)


def matmul(curves: Curves, machine: str, path: Path) -> None:
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    questions = ("n x n, float32", "n x n, float64")
    for axes, question in zip(figure.subplots(1, 2), questions, strict=True):
        for curve in _of(curves, question):
            speeds = [2e-9 * n**3 / s for n, s in zip(curve.sizes, curve.seconds, strict=True)]
            _line(axes, curve.contender, curve.sizes, speeds)
        axes.set_xscale("log", base=2)
        axes.set(yscale="log", title=question, xlabel="n", ylabel="GFLOP/s")
        axes.set_xticks(curve.sizes, [str(n) for n in curve.sizes])
        axes.grid(alpha=0.3, which="both")
    _finish(figure, machine, "Products of square matrices (higher is faster)", path)


def sweep(curves: Curves, machine: str, path: Path) -> None:
    """A map: a line for each chapter, a column for each size, and our time in times of NumPy's."""
    own = [curve for curve in curves if curve.contender == OURS.name]
    sizes = sorted({size for curve in own for size in curve.sizes})
    figure = Figure(figsize=(8, 0.4 * len(own) + 2), layout="constrained")
    axes = figure.subplots()
    for line, curve in enumerate(own):
        for size, ratio in zip(curve.sizes, curve.ratios, strict=True):
            column = sizes.index(size)
            share = max(-1.0, min(1.0, math.log(ratio, 4)))
            colour = (*to_rgb(STYLES[OURS.name if share > 0 else JIT][0]), abs(share))
            axes.add_patch(Rectangle((column - 0.5, line - 0.5), 1, 1, color=colour))
            axes.text(column, line, f"{ratio:.2f}", ha="center", va="center")
    axes.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(len(own) - 0.5, -0.5), xlabel="elements")
    axes.set_xticks(range(len(sizes)), [f"${size_str(size)}$" for size in sizes])
    axes.set_yticks(range(len(own)), [curve.question.removeprefix("sweep: ") for curve in own])
    axes.set_title(f"{TIMES_NUMPY}, geometric means (lower is faster)")
    figure.supxlabel(machine.replace("; ", "\n"), fontsize=8, color="#555555")
    figure.savefig(path, dpi=DPI)


# Benchmark -> what draws its curves.
PICTURES: dict[str, Callable[[Curves, str, Path], None]] = {
    "bench_chain": chain,
    "bench_elementwise": panels(
        (
            *("add float32", "exp float32", "where float32"),
            *("float32 to float64", "copy of a.T", "copy of a[::2]"),
        ),
        "Single operations (lower is faster)",
    ),
    "bench_reduce": panels(
        (
            *("sum float32", "sum, axis 0", "sum, axis -1"),
            *("max float32", "argmax float32", "var float32"),
        ),
        "Reductions (lower is faster)",
    ),
    "bench_matmul": matmul,
    "bench_sweep": sweep,
}


def draw(reports: Mapping[str, Mapping[str, Any]], folder: Path, suffix: str = "") -> list[Path]:
    """Draw the pictures of some reports; return the files, none where matplotlib is not."""
    if Figure is None:
        return []
    files = []
    for name, draw_one in PICTURES.items():
        if name in reports:
            curves = [curve_of(given) for given in reports[name]["curves"]]
            files.append(folder / f"{name}{suffix}.png")
            draw_one(curves, reports[name]["machine"], files[-1])
    return files
