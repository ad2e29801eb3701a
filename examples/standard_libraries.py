"""Run scikit-learn and SciPy on tensors: libraries written against the array API standard.

    python examples/standard_libraries.py                    # on the cpu
    python examples/standard_libraries.py --device mock:0    # on a simulated device

Each step is one call of a library, made twice: on NumPy's arrays and on tensors. A line says how
far the results are apart, where that of the tensors lives, and how many bytes were copied to the
host on the way (none on the cpu). What is written in the standard's functions stays on the device,
but for the few numbers that a library looks at; what SciPy has compiled for NumPy goes through the
host and comes back. Needs scikit-learn, which brings SciPy (``pip install -e ".[examples]"``);
einops and array-api-extra have their steps where they are installed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # SciPy reads it when it is imported

import numpy as np

import oneflow_lite as flow

try:
    import sklearn
    from scipy import fft, integrate, ndimage, signal, special, stats
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import accuracy_score, r2_score
    from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler
except ModuleNotFoundError as error:
    print(f'{error}: install it with `pip install -e ".[examples]"`', file=sys.stderr)
    raise SystemExit(2) from None

TOLERANCE = 1e-9  # SciPy has other transforms for NumPy's arrays, which round otherwise
COMPONENTS = 8


class Data(NamedTuple):
    """Arrays of one kind, of NumPy or of this package."""

    images: Any  # (n, 8, 8), float64 from 0 to 1
    pixels: Any  # (n, 64), the same
    labels: Any  # (n,), int64 from 0 to 9


Step = Callable[[Data], Any]


def classify(data: Data) -> Any:
    """Predict the digits of images that were not learnt from."""
    parts = train_test_split(data.pixels, data.labels, test_size=0.25, random_state=0)
    learnt, tested, labels, expected = parts
    reduction = PCA(COMPONENTS, svd_solver="full").fit(learnt)
    classifier = LinearDiscriminantAnalysis().fit(reduction.transform(learnt), labels)
    predicted = classifier.predict(reduction.transform(tested))
    return predicted, accuracy_score(expected, predicted)


def fill_in(data: Data) -> Any:
    """Predict the right half of the images from the left one."""
    left = data.pixels[:, :32]
    model = Ridge(solver="svd").fit(left, data.pixels[:, 32:])
    filled = model.predict(left)
    return filled, r2_score(data.pixels[:, 32:], filled)


SCIKIT_LEARN: dict[str, Step] = {
    "MinMaxScaler": lambda d: MinMaxScaler().fit_transform(d.pixels),
    "PCA": lambda d: PCA(COMPONENTS, svd_solver="full").fit_transform(d.pixels),
    "PCA, LDA, accuracy": classify,
    "Ridge, r2_score": fill_in,
    "rbf_kernel": lambda d: rbf_kernel(d.pixels[:100]),
    "cosine_similarity": lambda d: cosine_similarity(d.pixels[:100]),
}

SCIPY: dict[str, Step] = {
    "special.softmax": lambda d: special.softmax(d.pixels, axis=1),
    "special.logsumexp": lambda d: special.logsumexp(d.pixels, axis=1),
    "special.erf": lambda d: special.erf(d.pixels),
    "stats.zscore": lambda d: stats.zscore(d.pixels, axis=1),
    "stats.skew": lambda d: stats.skew(d.pixels, axis=1),
    "stats.ttest_ind": lambda d: tuple(stats.ttest_ind(d.pixels[:, 20:24], d.pixels[:, 28:32])),
    "stats.pearsonr": lambda d: stats.pearsonr(d.pixels[:, 20], d.pixels[:, 28]).statistic,
    "signal.fftconvolve": lambda d: signal.fftconvolve(d.images, d.images[:1, :3, :3], mode="same"),
    "signal.hilbert": lambda d: signal.hilbert(d.pixels),
    "fft.rfft2": lambda d: fft.rfft2(d.images),
    "fft.dctn": lambda d: fft.dctn(d.images, axes=(1, 2)),
    "ndimage.gaussian_filter": lambda d: ndimage.gaussian_filter(d.images, (0, 1, 1)),
    "integrate.trapezoid": lambda d: integrate.trapezoid(d.images),
}


def more_steps() -> dict[str, dict[str, Step]]:
    """Return steps of the libraries that happen to be there."""
    found: dict[str, dict[str, Step]] = {}
    if find_spec("einops"):
        einops = import_module("einops.array_api")
        found["einops"] = {
            "reduce": lambda d: einops.reduce(d.images, "n (h 2) (w 2) -> n h w", "mean"),
            "rearrange": lambda d: einops.rearrange(d.images[:6], "(r c) h w -> (r h) (c w)", r=2),
        }
    if find_spec("array_api_extra"):
        extra = import_module("array_api_extra")
        found["array-api-extra"] = {
            "one_hot": lambda d: extra.one_hot(d.labels, 10),
            "cov": lambda d: extra.cov(d.pixels.T),
            "at": lambda d: extra.at(d.pixels)[:, :8].set(0.0),
        }
    return found


def leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a result."""
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from leaves(item)
    else:
        yield result


def difference(expected: Any, seen: Any) -> float:
    """Return how far two results are apart; infinity where they are not alike."""
    apart = 0.0
    for one, other in zip(leaves(expected), leaves(seen), strict=True):
        array, values = np.asarray(one), np.asarray(other)
        if (array.shape, array.dtype) != (values.shape, values.dtype):
            return np.inf
        apart = max(apart, float(np.max(np.abs(array - values), initial=0)))
    return apart


def home(result: Any) -> str:
    """Say what the first part of a result is, and on which device it is."""
    first = next(leaves(result))
    where = f" on {first.device}" if isinstance(first, flow.Tensor) else ""
    return type(first).__name__ + where


def load_data(samples: int) -> Data:
    """Return the first images and their labels as NumPy's arrays."""
    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels[:samples] / 16
    return Data(pixels.reshape(-1, 8, 8), pixels, labels[:samples].astype(np.int64))


def run(step: Step, arrays: Data, tensors: Data) -> tuple[float, str, int]:
    """Make a step on both; return their difference, where the result is, the bytes to the host."""
    expected = step(arrays)
    with flow.profiler.profile() as recording:
        seen = step(tensors)
    copies = (r for r in recording.records if r.kind == "run" and r.lane.endswith(" d2h"))
    copied = sum(record.bytes for record in copies)
    return difference(expected, seen), home(seen), copied


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run scikit-learn and SciPy on tensors.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--samples", type=int, default=1797, help="images used (default: 1797)")
    arguments = parser.parse_args()
    if arguments.samples < 200:
        parser.error("--samples must be at least 200")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    arrays = load_data(arguments.samples)
    try:
        tensors = Data(*(flow.tensor(array, device=arguments.device) for array in arrays))
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    agreeing = total = 0
    libraries = {"scikit-learn": SCIKIT_LEARN, "SciPy": SCIPY} | more_steps()
    # Some calls make arrays on the default device, not on that of their operands.
    with flow.device(arguments.device), sklearn.config_context(array_api_dispatch=True):
        for library, steps in libraries.items():
            print(f"{library:<25}  {'differs by':<10}  {'result':<18}  bytes to the host")
            for name, step in steps.items():
                apart, where, copied = run(step, arrays, tensors)
                print(f"  {name:<23}  {apart:<10.1e}  {where:<18}  {copied:,}")
                agreeing += apart <= TOLERANCE
                total += 1
    print(f"{agreeing} of {total} steps agree with NumPy to {TOLERANCE:.0e}")
    return 0 if agreeing == total else 1


if __name__ == "__main__":
    raise SystemExit(main())
