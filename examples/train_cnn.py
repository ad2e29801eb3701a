"""Train a convolutional network on handwritten digits, with gradients by ``flow.value_and_grad``.

    python examples/train_cnn.py                    # on the cpu
    python examples/train_cnn.py --device mock:0    # on a simulated device, with copies
    python examples/train_cnn.py --draw step.html   # a picture of its step

Two convolutions of 3 x 3, each followed by a rectifier, and a matrix. The step is traced by
``flow.jit`` once for each size of a batch, and then run as a whole. The same network is trained
beside it by a step that is not traced as a whole: losses and weights have the same bits. Needs
scikit-learn (for the 1797 digits): ``pip install -e ".[examples]"``.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

import oneflow_lite as flow

CLASSES = 10
CHANNELS = (16, 32)
LEARNING_RATE = 0.1
MOMENTUM = 0.9
TEST_IMAGES = 360

Array = npt.NDArray[np.float32]
Batch = tuple[flow.Tensor, flow.Tensor]  # images (n, 1, 8, 8), one-hot labels (n, 10)
Weights = dict[str, flow.Tensor]


def load_data(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return training images and one-hot labels, then those of the test; pixels from 0 to 1."""
    digits = load_digits()
    order = rng.permutation(len(digits.data))
    images = (digits.images[order, None] / 16).astype(np.float32)
    labels = np.eye(CLASSES, dtype=np.float32)[digits.target[order]]
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def batches(
    images: Array, labels: Array, size: int, device: str, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield shuffled batches."""
    order = rng.permutation(len(images))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield flow.tensor(images[rows], device=device), flow.tensor(labels[rows], device=device)


def forward(w: Weights, x: flow.Tensor) -> flow.Tensor:
    """Return the scores of the classes, (n, 10)."""
    one = flow.maximum(flow.conv2d(x, w["k1"], padding=1) + w["b1"], 0)
    two = flow.maximum(flow.conv2d(one, w["k2"], stride=2, padding=1) + w["b2"], 0)
    return two.reshape(len(x), -1) @ w["w"] + w["b"]


def cross_entropy(w: Weights, x: flow.Tensor, target: flow.Tensor) -> flow.Tensor:
    """Return the mean cross-entropy of the scores, as a 0-d tensor."""
    scores = forward(w, x)
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_softmax = shifted - flow.log(flow.exp(shifted).sum(axis=1, keepdims=True))
    return -(log_softmax * target).sum(axis=1).mean()


# Made once: it keeps the program of each batch size.
loss_and_gradients = flow.value_and_grad(cross_entropy)


class Network:
    """relu(conv2d), relu(conv2d with stride 2), and a matrix; gradient descent with momentum."""

    def __init__(self, device: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        first, second = CHANNELS
        shapes = {
            "k1": (first, 1, 3, 3),
            "b1": (first, 1, 1),
            "k2": (second, first, 3, 3),
            "b2": (second, 1, 1),
            "w": (second * 16, CLASSES),
            "b": (CLASSES,),
        }
        self.weights: Weights = {}
        for name, shape in shapes.items():
            inputs = shape[0] if name == "w" else int(np.prod(shape[1:]))
            scale = np.sqrt(2 / inputs) if name[0] != "b" else 0.0
            values = (rng.normal(size=shape) * scale).astype(np.float32)
            self.weights[name] = flow.tensor(values, device=device)
        self.velocity = {name: flow.zeros_like(w) for name, w in self.weights.items()}

    def step(self, x: flow.Tensor, target: flow.Tensor) -> flow.Tensor:
        """Make one step down the gradient; return the cross-entropy before it, as a 0-d tensor."""
        loss, gradients = loss_and_gradients(self.weights, x, target)
        for name, gradient in gradients.items():
            self.velocity[name] *= MOMENTUM
            self.velocity[name] -= LEARNING_RATE * gradient
            self.weights[name] += self.velocity[name]
        return loss

    def accuracy(self, x: flow.Tensor, target: flow.Tensor) -> float:
        """Return the part of the images whose largest score is that of the right class."""
        scores = forward(self.weights, x)
        right = scores.argmax(axis=1) == target.argmax(axis=1)
        return float(right.astype(flow.float32).mean())


class Training(NamedTuple):
    """A network that was trained, and what that was like."""

    network: Network
    losses: list[float]
    first: float  # seconds of the first step
    speed: float  # images a second, after the first epoch
    peak: int  # bytes in use at one time, besides what was there before


def trained(arguments: argparse.Namespace, wrap: Callable[[Any], Any]) -> Training:
    """Train a new network by ``wrap(its step)``; all start from the same weights and batches."""
    device = arguments.device
    rng = np.random.default_rng(arguments.seed)
    images, labels, *_ = load_data(rng)
    network = Network(device, arguments.seed)
    step = wrap(network.step)
    losses: list[flow.Tensor] = []
    flow.synchronize()
    before, began, first = flow.memory_stats(device)["in_use"], time.perf_counter(), 0.0
    for epoch in range(arguments.epochs):
        if epoch == 1:  # the first one traces
            flow.synchronize()
            began = time.perf_counter()
        for x, target in batches(images, labels, arguments.batch, device, rng):
            losses.append(step(x, target).cpu())
            if not first:
                flow.synchronize()
                first = time.perf_counter() - began
    flow.synchronize()
    timed = max(arguments.epochs - 1, 1)
    speed = timed * len(images) / (time.perf_counter() - began)
    peak = flow.memory_stats(device)["peak_in_use"] - before
    return Training(network, [loss.item() for loss in losses], first, speed, peak)


def run(arguments: argparse.Namespace) -> None:
    """Train a network eagerly, and the same one by ``flow.jit``; say what was seen."""
    made: list[flow.graph.Jitted] = []

    def jitted(step: Any) -> Any:
        made.append(flow.jit(step))
        return made[0]

    eager = trained(arguments, lambda step: step)
    graph = trained(arguments, jitted)
    report = made[0].report()
    arena = max(sum(x["bytes"] for x in run["memory"]["arenas"]) for run in report["runs"])
    same = eager.losses == graph.losses and all(
        w.numpy().tobytes() == graph.network.weights[name].numpy().tobytes()
        for name, w in eager.network.weights.items()
    )
    *_, images, labels = load_data(np.random.default_rng(arguments.seed))
    test = [flow.tensor(x, device=arguments.device) for x in (images, labels)]
    last = np.mean(graph.losses[-(len(graph.losses) // arguments.epochs) :])
    print(f"device    {arguments.device}")
    print(f"loss      {graph.losses[0]:.3f} at first, {last:.4f} in the last epoch")
    print(f"accuracy  {graph.network.accuracy(*test):.4f} on {len(images)} test images")
    print(f"speed     eager {eager.speed:,.0f} images/s, jit {graph.speed:,.0f}")
    print(f"bits      {'the same' if same else 'others'}, of all losses and weights")
    print(f"first     step by jit in {graph.first * 1e3:.1f} ms ({report['programs']} programs)")
    print(f"memory    arena {arena:,} bytes; eager's peak {eager.peak:,}")
    if arguments.draw:
        draw(arguments)


def draw(arguments: argparse.Namespace) -> None:
    """Write a picture of a step: operations in their groups, memory, and lanes."""
    rng = np.random.default_rng(arguments.seed)
    images, labels, *_ = load_data(rng)
    network = Network(arguments.device, arguments.seed)
    batch = next(batches(images, labels, arguments.batch, arguments.device, rng))
    flow.graph.compile(flow.graph.trace(network.step, *batch).program).draw(arguments.draw)
    print(f"picture   {arguments.draw}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a convolutional network on digits.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--epochs", type=int, default=12, help="default: 12")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--draw", metavar="FILE", help="a picture of the step (.html, .svg, .dot)")
    arguments = parser.parse_args()
    if arguments.epochs < 1 or arguments.batch < 1:
        parser.error("--epochs and --batch must be at least 1")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    try:
        flow.zeros(1, device=arguments.device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    run(arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
