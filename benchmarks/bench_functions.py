"""Functions of floats with loops of our own on one thread, ours against NumPy's.

Once with all that the processor has, and once with both libraries limited to AVX2: each in a
process of its own, in naive mode, into memory that is there.
"""

import argparse
import json

import numpy as np

import oneflow_lite as flow
from instruction_sets import within_avx2
from oneflow_lite import _C
from report import Report, arguments
from timing import Effort, Measurement, measure, run_process, statement

OF_FLOATS = (
    *("exp", "log", "tanh", "sin", "cos", "exp2", "log2", "pow"),
    *("expm1", "log1p", "atan", "cbrt", "sinh", "atanh", "log10"),
    *("cosh", "tan", "asin", "acos", "asinh", "acosh"),
)
NAMES = [f"float32 {name}" for name in OF_FLOATS]
OF_DOUBLES = (
    *("exp", "log", "sin", "cos", "pow", "exp2", "log2", "log10", "expm1", "log1p"),
    *("cbrt", "sinh", "atanh", "cosh", "asinh", "acosh"),
)
NAMES += [f"float64 {name}" for name in OF_DOUBLES]
RANGES = dict.fromkeys(("asin", "acos", "atanh"), (0.01, 0.99)) | {"acosh": (1.01, 3)}
SIZES = (1_000, 10_000, 1_000_000)
NUMPY, OURS = "NumPy", "oneflow_lite"
LIMITS = ("as it is", "within AVX2")
GOALS = {  # of the largest size
    "float32": dict(zip(LIMITS, (0.8, 0.4), strict=True)),
    "float64": dict(zip(LIMITS, (1.0, 0.5), strict=True)),
}
ONE_THREAD = {"ONEFLOW_LITE_SYNC": "1", "ONEFLOW_LITE_NUM_THREADS": "1"}


def child(quick: bool) -> None:
    """Print the seconds of all samples, by function, size and library, and which loops ran."""
    effort = Effort(3, 1e-4) if quick else Effort(21, 2e-3)
    found: dict[str, dict[str, list[float]]] = {}
    for row in NAMES:
        dtype, name = row.split()
        for size in SIZES:
            random = np.random.default_rng(0)
            least, most = RANGES.get(name, (0.01, 3))
            count = 1 + (name == "pow")
            x = [random.uniform(least, most, size).astype(dtype) for _ in range(count)]
            out, tensors = np.empty_like(x[0]), [flow.tensor(each) for each in x]
            target = flow.empty_like(tensors[0])
            getattr(np, name)(*x, out=out)
            assert np.array_equal(out, getattr(flow, name)(*tensors, out=target).numpy()), name
            theirs = {"f": getattr(np, name), "x": x, "y": out}
            ours = {"f": getattr(flow, name), "x": tensors, "y": target}
            pair = [statement(NUMPY, "f(*x, out=y)", theirs), statement(OURS, "f(*x, out=y)", ours)]
            measured = measure(pair, effort)
            found[f"{row} {size}"] = {who: measured.samples(who) for who in (NUMPY, OURS)}
    print(json.dumps({"times": found, "loops": _C.float_functions()}))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.quick)
        return
    report = Report("bench_functions")
    setting = ["--quick"] if options.quick else []
    has_avx2 = _C.widest_cpu_isa() != "baseline"
    for limit in LIMITS[: 1 + has_avx2]:
        flags = ONE_THREAD | (within_avx2() if limit == LIMITS[1] else {})
        found = run_process([__file__, "--child", *setting], flags)
        for name in NAMES:
            over = {size: Measurement([NUMPY, OURS]) for size in SIZES}
            for size, measurement in over.items():
                for who, samples in found["times"][f"{name} {size}"].items():
                    for sample in samples:
                        measurement.add(who, sample)
            dtype, function = name.split()
            question = f"{function} {dtype}, {limit}"
            report.curve(question, over, NUMPY)
            ratio = over[SIZES[-1]].ratio(OURS, NUMPY)
            report.claim(question, ratio, "of NumPy's time", now=1.0, goal=GOALS[dtype][limit])
            report.note(f"{name}, {limit}: {found['loops'][name]}")
    report.finish(options.json)


if __name__ == "__main__":
    main()
