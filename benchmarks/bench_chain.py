"""Whole programs as NumPy people write them, on every library, from 1 element to 10,000,000.

The same source runs on each. The bits of ours are NumPy's, which is checked before each timing.
"""

import argparse
import json
import math
from typing import Any

import numpy as np

import oneflow_lite as flow
from bench_memory import MIB, peak_rss
from comparison import HUGE, JIT, LARGE, NUMPY, SLOWEST, UNFUSED, Arrays, Comparison, Program
from libraries import OURS
from report import Report, arguments, size_str
from timing import Effort, Summary, run_process

TARGET = {NUMPY: 0.5}
CHAIN_TARGETS = {NUMPY: 0.3, JIT: 0.7}
PEAK_TARGET_MIB = 16.0  # a few tiles for each core


def uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


# --- the programs


def chain(xp: Any, a: Any, b: Any) -> Any:
    return xp.tanh(a * 2 + b) * xp.exp(-a) + xp.sqrt(b)


def normal_cdf(xp: Any, x: Any) -> Any:
    """Abramowitz and Stegun, 26.2.17."""
    t = 1 / (1 + 0.2316419 * xp.abs(x))
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    series = t * (0.319381530 + t * (-0.356563782 + t * series))
    tail = 0.3989422804 * xp.exp(-0.5 * x * x) * series
    return xp.where(x < 0, tail, 1 - tail)


def black_scholes(xp: Any, spot: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.03, 0.25
    deviation = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (rate + volatility * volatility / 2) * years) / deviation
    discounted = strike * xp.exp(-rate * years)
    call = spot * normal_cdf(xp, d1) - discounted * normal_cdf(xp, d1 - deviation)
    return call, call + discounted - spot


def nearest_centre(xp: Any, points: Any, centres: Any) -> Any:
    distances = xp.sum((points[:, None, :] - centres) ** 2, axis=-1)
    return xp.argmin(distances, axis=-1)


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + shift


def stencil(xp: Any, grid: Any) -> Any:
    for _ in range(STEPS):  # of Jacobi's method, where all neighbours are known
        grid = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    return grid


def standardize(xp: Any, image: Any, mean: Any, deviation: Any) -> Any:
    return xp.clip((xp.astype(image, xp.float32) - mean) / deviation, -2, 2)


# --- their arrays

STEPS, CENTRES, DIMENSIONS, CLASSES = 4, 16, 16, 1000


def chain_arrays(size: int) -> Arrays:
    return uniform(-2, 2, size), uniform(0, 1, size)


def black_scholes_arrays(size: int) -> Arrays:
    return uniform(50, 150, size), uniform(60, 140, size), uniform(0.1, 2, size)


def centre_arrays(size: int) -> Arrays:
    points = max(1, size // (CENTRES * DIMENSIONS))  # size: of the array of differences
    return uniform(-1, 1, points, DIMENSIONS), uniform(-1, 1, CENTRES, DIMENSIONS)


def row_arrays(size: int) -> Arrays:
    columns = min(size, CLASSES)
    return (uniform(-4, 4, size // columns, columns),)


def layer_norm_arrays(size: int) -> Arrays:
    (x,) = row_arrays(size)
    return x, uniform(0.5, 2, x.shape[1]), uniform(-1, 1, x.shape[1])


def grid_arrays(size: int) -> Arrays:
    side = max(2 * STEPS + 1, math.isqrt(size))
    return (uniform(0, 1, side, side),)


def image_arrays(size: int) -> Arrays:
    side = max(1, math.isqrt(size // 3))
    image = np.random.default_rng(7).integers(0, 256, (side, side, 3), np.uint8)
    channels = (np.array(row, np.float32) for row in ((124, 116, 104), (58, 57, 57)))
    return image, *channels


CHAIN = Program("chain", chain, chain_arrays, most=HUGE, targets=CHAIN_TARGETS, headline=True)
PROGRAMS = (
    CHAIN,
    Program(
        "Black-Scholes", black_scholes, black_scholes_arrays, 1e-2, targets=TARGET, headline=True
    ),
    Program(
        "k-means step", nearest_centre, centre_arrays, least=CENTRES * DIMENSIONS, targets=TARGET
    ),
    Program("softmax", softmax, row_arrays, targets=TARGET, headline=True),
    Program("layer norm", layer_norm, layer_norm_arrays, targets=TARGET),
    Program("stencil", stencil, grid_arrays, least=(2 * STEPS + 1) ** 2, targets=TARGET),
    Program("standardize", standardize, image_arrays, least=3, targets=TARGET),
)


# --- what is measured


def measure_program(comparison: Comparison, program: Program, sizes: list[int]) -> float | None:
    """Report a program and its claims; return the ratio to jax.jit, where there is one."""
    curve = comparison.curve(program, sizes)
    large = comparison.claims(program, curve, SLOWEST, SLOWEST)
    report, question = comparison.report, f"{program.name}, {size_str(min(LARGE, max(curve)))}"
    if UNFUSED in large.names:
        report.claim(f"{question}, unfused", large.ratio(UNFUSED, NUMPY), f"x {NUMPY}")
    if JIT not in large.names:
        return None
    ratio = large.ratio(OURS.name, JIT)
    if JIT not in program.targets:
        report.claim(question, ratio, f"x {JIT}")
    return ratio.median


def measure_peak(report: Report, size: int) -> None:
    """Peak of memory of the chain, above inputs and output, in a process of its own."""
    used = run_process([__file__, "--child", str(size)])
    for what, growth in used.items():
        question = f"chain, {size_str(size)}, peak above inputs and output: {what}"
        tiles = PEAK_TARGET_MIB if what == "held" else None
        report.claim(question, Summary.of([growth / MIB]), "MiB", now=tiles, goal=tiles)


def child(size: int) -> None:
    """Print how much more than its inputs and its output the chain needs."""
    arrays = [flow.tensor(array) for array in chain_arrays(size)]
    flow.synchronize()
    before = peak_rss()
    result = chain(flow, *arrays)
    flow.synchronize()
    held = flow.memory_stats("cpu")["peak_held"] - 3 * result.nbytes
    print(json.dumps({"held": held, "RSS": peak_rss() - before - result.nbytes}))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help=f"the chain with {size_str(HUGE)}, too")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child)
        return
    effort = Effort(3, 1e-4) if options.quick else Effort(21, 2e-3, 1.2)
    comparison = Comparison("bench_chain", effort, options.quick, unfused=True)
    sizes = comparison.sizes(options.full)
    ratios = [measure_program(comparison, program, sizes) for program in PROGRAMS]
    to_jit = [ratio for ratio in ratios if ratio is not None]
    if to_jit:
        beaten = Summary.of([sum(ratio <= 1 for ratio in to_jit)])
        half = len(PROGRAMS) / 2
        question = f"programs not slower than {JIT}, of {len(to_jit)}"
        comparison.report.claim(question, beaten, "programs", now=half, goal=half, at_least=True)
    measure_peak(comparison.report, sizes[-1])
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
