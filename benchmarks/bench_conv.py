"""Convolutions of images: five layers of residual networks, in both layouts, one image each."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import convolutions
from libraries import OURS, Library, for_programs, installed
from report import Report, arguments
from timing import Contender, Effort, measure, statement

BLOCKED = "oneflow_lite, NCHW16c"
OTHERS = ("PyTorch", "JAX jit")
IN_NUMPY = "NumPy, windows times weights"
PAUSE_SECONDS = 120e-3  # threads of OpenBLAS spin for 104 ms after a product
NOW = GOAL = 1.3  # target for layout NCHW
NOW_BLOCKED = GOAL_BLOCKED = 1.1
NOW_NUMPY = GOAL_NUMPY = 1.0


@dataclass(frozen=True)
class Layer:
    """A convolution of one image: channels, extent, results, window, stride; padded to keep it."""

    channels: int
    extent: int
    results: int
    window: int
    stride: int = 1

    @property
    def name(self) -> str:
        """What it is called in reports."""
        step = f" / {self.stride}" if self.stride > 1 else ""
        return (
            f"{self.channels} x {self.extent} x {self.extent} to {self.results}, "
            f"{self.window} x {self.window}{step}"
        )

    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the image and the weights: small whole numbers, whose sums are exact."""
        random = np.random.default_rng(5)
        x = random.integers(-4, 5, (1, self.channels, self.extent, self.extent))
        w = random.integers(-4, 5, (self.results, self.channels, self.window, self.window))
        return x.astype(np.float32), w.astype(np.float32)


LAYERS = (
    Layer(64, 56, 64, 3),
    Layer(128, 28, 128, 3),
    Layer(256, 14, 256, 3),
    Layer(512, 7, 512, 3),
    Layer(256, 56, 64, 1),
)


def convolution(library: Library, layer: Layer) -> Any:
    """Return ``f(x, w)`` of a library, compiled by it where it can."""
    padding = layer.window // 2

    def call(xp: Any, x: Any, w: Any) -> Any:
        return xp.conv2d(x, w, layer.stride, padding)

    return library.compile(call, library.xp)


def contender(library: Library, layer: Layer, expected: np.ndarray) -> Contender:
    """Return a library's convolution, whose values were compared."""
    x, w = (library.array(array) for array in layer.inputs())
    call = convolution(library, layer)
    looked_at = eval(f"lambda x, np: {library.numpy.format('x')}")
    np.testing.assert_array_equal(np.asarray(looked_at(call(x, w), np)), expected)
    scope = {"f": call, "x": x, "w": w, "lib": library.module, "r": None}
    return statement(library.name, f"r = f(x, w); {library.finish}", scope, finish=library.finish)


def blocked(layer: Layer) -> Contender:
    """Return ours on images in blocks of 16 channels."""
    flow = OURS.module
    x, w = (flow.tensor(array) for array in layer.inputs())
    scope = {
        "f": flow.conv2d,
        "x": flow.layout_transform(x, "NCHW", "NCHW16c"),
        "w": w,
        "lib": flow,
    }
    padding = layer.window // 2
    code = f"f(x, w, {layer.stride}, {padding}, data_layout='NCHW16c'); {OURS.finish}"
    return statement(BLOCKED, code, scope, finish=OURS.finish)


def in_numpy(layer: Layer, expected: np.ndarray) -> Contender:
    """Return what is written without a convolution: each window as a row, one matrix product."""
    x, w = layer.inputs()
    call = partial(convolutions.of_numpy()["conv2d"], x, w, layer.stride, layer.window // 2)
    np.testing.assert_array_equal(call(), expected)
    return statement(IN_NUMPY, "r = f()", {"f": call, "r": None})


def main() -> None:
    options = arguments(__doc__).parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(15, 2e-2, 2.0)
    found, missing = installed(only_numpy=options.quick)
    libraries = [x for x in for_programs(found) if x.name in (OURS.name, *OTHERS)]
    report = Report("bench_conv", {library.name: library.version for library in found})
    if missing:
        report.note(f"not installed, skipped: {', '.join(missing)}")
    present = [name for name in OTHERS if name in [x.name for x in libraries]]
    targets = {IN_NUMPY: ((NOW_NUMPY, GOAL_NUMPY),) * 2}
    targets.update(dict.fromkeys(present[:1], ((NOW, GOAL), (NOW_BLOCKED, GOAL_BLOCKED))))
    for layer in LAYERS[-1:] if options.quick else LAYERS:
        expected = convolution(OURS, layer)(*map(OURS.array, layer.inputs())).numpy()
        contenders = [contender(x, layer, expected) for x in libraries]
        contenders += [blocked(layer), in_numpy(layer, expected)]
        pause = 0.0 if options.quick else PAUSE_SECONDS
        measurement = measure(contenders, effort, warm_up=1, pause=pause)
        report.times(layer.name, measurement, [*present, IN_NUMPY][0])
        for name in (*present, IN_NUMPY):
            goals = targets.get(name, ((None, None),) * 2)
            for ours, (now, goal) in zip((OURS.name, BLOCKED), goals, strict=True):
                question = f"{layer.name}, {'NCHW16c' if ours == BLOCKED else 'NCHW'}"
                ratio = measurement.ratio(ours, name)
                report.claim(question, ratio, f"x {name}", now=now, goal=goal)
    report.finish(options.json)


if __name__ == "__main__":
    main()
