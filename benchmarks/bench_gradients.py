"""Gradients by value_and_grad, jitted, beside backward passes by hand and those of jax.jit.

What all of them find is compared before it is timed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import oneflow_lite as flow
from bench_graph import network, network_arrays
from comparison import JIT, Arrays
from digits import cnn_arrays, cnn_gradients, cnn_loss
from libraries import OURS, Library, for_programs, installed
from losses import (
    cross_entropy,
    cross_entropy_arrays,
    cross_entropy_gradients,
    perceptron_gradients,
    perceptron_loss,
    transformer_gradients,
    transformer_loss,
    transformer_loss_arrays,
)
from networks import perceptron_arrays
from report import Report, arguments
from timing import Contender, Effort, Summary, measure, statement

BY_HAND = "oneflow_lite, by hand"
PAUSE_SECONDS = 120e-3  # threads of OpenBLAS spin for 104 ms after a product
TO_HAND, TO_JIT = 1.05, 1.1  # targets, in times of each
FIRST_CALL_MS = 12.0
NEAR = 1e-4  # of the largest element, that results may differ by
JITS = 3  # first calls of jax.jit, which takes about a second for each

Function = Callable[..., Any]


@dataclass(frozen=True)
class Loss:
    """A loss, its gradients by hand, and by which of the arrays.

    ``loss(xp, *arrays)`` gives a number; ``by_hand`` that, and a gradient for each of ``places``.
    A size is a batch.
    """

    name: str
    loss: Function
    by_hand: Function
    inputs: Callable[[int], Arrays]
    places: Sequence[int]
    checked: int
    size: int


WEIGHTS = tuple(range(2, 8))  # behind images and labels
LOSSES = (
    Loss(
        *("MLP 784-512-512-10", perceptron_loss, perceptron_gradients, perceptron_arrays),
        *(WEIGHTS, 8, 128),
    ),
    Loss(
        *("softmax cross-entropy, 1000 classes", cross_entropy, cross_entropy_gradients),
        *(cross_entropy_arrays, (0,), 8, 1024),
    ),
    Loss(
        *("transformer block of 128 tokens, width 512", transformer_loss, transformer_gradients),
        *(transformer_loss_arrays, tuple(range(5)), 1, 8),
    ),
    Loss("CNN of train_cnn.py", cnn_loss, cnn_gradients, cnn_arrays, WEIGHTS, 8, 64),
)


def by_library(library: Library, of: Loss) -> Function:
    """Return what computes value and gradients, compiled by a library that differentiates."""
    module, xp = library.module, library.xp

    def loss(*arrays: Any) -> Any:
        return of.loss(xp, *arrays)

    def value_and_gradients(*arrays: Any) -> Any:
        value, gradients = module.value_and_grad(loss, tuple(of.places))(*arrays)
        return value, *gradients

    return module.jit(value_and_gradients)


def by_hand(of: Loss) -> Function:
    """Return what computes the same by the backward pass by hand, compiled by ours."""
    return flow.jit(lambda *arrays: of.by_hand(OURS.xp, *arrays))


def found_by(library: Library, call: Function, arrays: Arrays) -> list[np.ndarray]:
    """Call once; return the results as NumPy arrays."""
    looked_at = eval(f"lambda x, np: {library.numpy.format('x')}")
    return [np.asarray(looked_at(x, np)) for x in call(*map(library.array, arrays))]


def check(of: Loss, name: str, found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Compare value and gradients.

    Raises
    ------
    AssertionError
        When they differ by more than NEAR.
    """
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        near = NEAR * float(np.abs(other).max())
        what = f"[{of.name}] {name}, result {k}"
        np.testing.assert_allclose(one, other, rtol=0, atol=near, err_msg=what)


def contender(library: Library, name: str, call: Function, arrays: Arrays) -> Contender:
    names = {f"x{i}": library.array(array) for i, array in enumerate(arrays)}
    code = f"r = f({', '.join(names)}); {library.finish}"
    return statement(name, code, {"f": call, "lib": library.module, "r": None, **names})


def measure_loss(report: Report, libraries: Sequence[Library], of: Loss, quick: bool) -> None:
    """Compare, then time, what computes value and gradients of a loss."""
    size = of.checked if quick else of.size
    arrays = of.inputs(size)
    ways = {BY_HAND: (OURS, by_hand(of))}
    ways |= {library.name: (library, by_library(library, of)) for library in libraries}
    expected = [np.asarray(x) for x in of.by_hand(numpy_names(), *arrays)]
    for name, (library, call) in ways.items():
        check(of, name, found_by(library, call, arrays), expected)
    effort = Effort(3, 1e-4) if quick else Effort(21, 20e-3, 20.0)
    contenders = [contender(library, name, call, arrays) for name, (library, call) in ways.items()]
    pause = 0.0 if quick else PAUSE_SECONDS
    found = measure(contenders, effort, warm_up=1, pause=pause)
    question = f"value and gradients, {of.name}, batch {size}"
    report.times(question, found, BY_HAND)
    for name, target in ((BY_HAND, TO_HAND), (JIT, TO_JIT)):
        if name in found.names:
            ratio = found.ratio(OURS.name, name)
            report.claim(question, ratio, f"x {name}", now=target, goal=target)
    measure_first_calls(report, libraries, of, arrays, 3 if quick else 7)


def numpy_names() -> Any:
    """Return where a function by hand finds NumPy's functions."""
    return next(x for x in installed(only_numpy=True)[0] if x.module is np).xp


def measure_first_calls(
    report: Report, libraries: Sequence[Library], of: Loss, arrays: Arrays, samples: int
) -> None:
    """From a function to its first results, each time anew."""
    for library in libraries:
        given = [library.array(array) for array in arrays]
        times = []
        for _ in range(samples if library is OURS else min(samples, JITS)):
            if library is not OURS:
                library.module.clear_caches()
            start = perf_counter()
            results = by_library(library, of)(*given)
            eval(library.finish, {"lib": library.module, "r": results})
            times.append((perf_counter() - start) * 1e3)
        question = f"value and gradients, {of.name}: first call"
        report.claim(f"{question} of {library.name}", Summary.of(times), "ms")


def measure_small_first_call(report: Report, quick: bool) -> None:
    """The first call of the network of bench_graph.py, of which the work is next to nothing."""
    arrays = [flow.tensor(array) for array in network_arrays(1)]
    times, count = [], 0
    for _ in range(3 if quick else 21):
        start = perf_counter()
        wanted = flow.value_and_grad(lambda *given: network(flow, *given), (0, 1, 2, 3))
        traced = flow.graph.trace(wanted, *arrays)
        flow.graph.compile(traced.program)(*arrays)[0].numpy()
        times.append((perf_counter() - start) * 1e3)
        count = len(traced.program.main.ops)
    question = f"first call: {count} operations with their gradients"
    report.claim(question, Summary.of(times), "ms", now=FIRST_CALL_MS, goal=FIRST_CALL_MS)


def main() -> None:
    parser = arguments(__doc__)
    names = [of.name for of in LOSSES]
    parser.add_argument("--rows", nargs="*", choices=names, help="only these; all, by default")
    options = parser.parse_args()
    found, missing = installed(only_numpy=options.quick)
    libraries = [x for x in for_programs(found) if x.name in (OURS.name, JIT)]
    versions = {x.name: x.version for x in found if x.module in [y.module for y in libraries]}
    report = Report("bench_gradients", versions)
    if "jax" in missing:
        report.note("not installed, skipped: jax")
    for of in LOSSES:
        if of.name in (options.rows or names):
            measure_loss(report, libraries, of, options.quick)
    measure_small_first_call(report, options.quick)
    report.finish(options.json)


if __name__ == "__main__":
    main()
