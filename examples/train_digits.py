"""Train a two-layer network on handwritten digits, with the gradients written out by hand.

    python examples/train_digits.py                    # on the cpu
    python examples/train_digits.py --device mock:0    # on a simulated device, with copies
    python examples/train_digits.py --jit              # each step as a whole, beside the eager ones

    # another speed: as it is, a batch takes about 1 ms to copy, and as long to compute
    export ONEFLOW_LITE_MOCK=h2d=100MB/s,d2h=100MB/s,compute=5G/s
    python examples/train_digits.py --device mock:0

The program is a plain loop. On a device with its own memory, each batch is copied while the one
before it computes; nothing in the loop says so. Needs scikit-learn (for the 1797 digits) and tqdm:
``pip install -e ".[examples]"``.
"""

import argparse
import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from tqdm import tqdm

import oneflow_lite as flow

HIDDEN = 128
CLASSES = 10
LEARNING_RATE = 0.1
MOMENTUM = 0.9
TEST_IMAGES = 360
MOCK = "h2d=20MB/s,d2h=20MB/s,compute=1G/s"  # unless ONEFLOW_LITE_MOCK says another speed

Array = npt.NDArray[np.float32]
Batch = tuple[flow.Tensor, flow.Tensor]  # images (n, 64), one-hot labels (n, 10)


def load_data(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Return training images and one-hot labels, then those of the test; pixels from 0 to 1."""
    digits = load_digits()
    order = rng.permutation(len(digits.data))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = np.eye(CLASSES, dtype=np.float32)[digits.target[order]]
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def batches(
    images: Array, labels: Array, size: int, device: str, rng: np.random.Generator
) -> Iterator[Batch]:
    """Yield shuffled batches; when one is yielded, the copy of the next has been issued."""
    order = rng.permutation(len(images))
    ready: Batch | None = None
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        following = (
            flow.tensor(images[rows], device=device),
            flow.tensor(labels[rows], device=device),
        )
        if ready is not None:
            yield ready
        ready = following
    if ready is not None:
        yield ready


class Network:
    """relu(x @ w1 + b1) @ w2 + b2, trained by gradient descent with momentum.

    Parameters
    ----------
    xp : namespace
        ``flow``, or another with NumPy's names, to compare with.
    array : callable
        Makes an array of the namespace of one of NumPy.
    """

    def __init__(self, xp: Any, array: Callable[[Array], Any], pixels: int, seed: int) -> None:
        self.xp = xp
        self.weights: dict[str, Any] = {}
        rng = np.random.default_rng(seed)
        for name, shape in {
            "w1": (pixels, HIDDEN),
            "b1": (HIDDEN,),
            "w2": (HIDDEN, CLASSES),
            "b2": (CLASSES,),
        }.items():
            scale = np.sqrt(2 / shape[0]) if len(shape) == 2 else 0.0
            self.weights[name] = array((rng.normal(size=shape) * scale).astype(np.float32))
        self.velocity = {name: xp.zeros_like(w) for name, w in self.weights.items()}

    def forward(self, x: Any) -> tuple[Any, Any]:
        """Return the hidden layer and the scores of the classes."""
        w = self.weights
        hidden = self.xp.maximum(x @ w["w1"] + w["b1"], 0)
        return hidden, hidden @ w["w2"] + w["b2"]

    def step(self, x: Any, target: Any) -> Any:
        """Make one step down the gradient; return the cross-entropy before it, as a 0-d array."""
        loss, gradients = self.gradients(x, target)
        self.update(gradients)
        return loss

    def gradients(self, x: Any, target: Any) -> tuple[Any, dict[str, Any]]:
        """Return the mean cross-entropy of images, as a 0-d array, and its gradients."""
        xp = self.xp
        hidden, scores = self.forward(x)
        exponents = xp.exp(scores - scores.max(axis=1, keepdims=True))
        softmax = exponents / exponents.sum(axis=1, keepdims=True)
        loss = -xp.log((softmax * target).sum(axis=1) + 1e-12).mean()

        d_scores = (softmax - target) / len(x)
        d_hidden = (d_scores @ self.weights["w2"].T) * (hidden > 0)
        return loss, {
            "w1": x.T @ d_hidden,
            "b1": d_hidden.sum(axis=0),
            "w2": hidden.T @ d_scores,
            "b2": d_scores.sum(axis=0),
        }

    def update(self, gradients: dict[str, Any]) -> None:
        """Make one step down these gradients."""
        for name, gradient in gradients.items():
            self.velocity[name] *= MOMENTUM
            self.velocity[name] -= LEARNING_RATE * gradient
            self.weights[name] += self.velocity[name]

    def accuracy(self, x: flow.Tensor, target: flow.Tensor) -> float:
        """Return the part of the images whose largest score is that of the right class."""
        _, scores = self.forward(x)
        right = scores.argmax(axis=1) == target.argmax(axis=1)
        return float(right.astype(flow.float32).mean())


def compiled_by_jax(images: Array, labels: Array, seed: int) -> Callable[[], object] | None:
    """Return a function that makes the same step by ``jax.jit``, where JAX is installed."""
    try:
        import jax  # noqa: PLC0415 - optional
    except ImportError:
        return None
    network = Network(jax.numpy, jax.numpy.asarray, images.shape[1], seed)

    @jax.jit
    def pure(weights: Any, velocity: Any, x: Any, target: Any) -> Any:
        inner = copy.copy(network)
        inner.weights, inner.velocity = dict(weights), dict(velocity)
        loss = inner.step(x, target)
        return inner.weights, inner.velocity, loss

    x, target = jax.numpy.asarray(images), jax.numpy.asarray(labels)

    def step() -> object:
        network.weights, network.velocity, loss = pure(network.weights, network.velocity, x, target)
        return jax.block_until_ready(loss)

    return step


def steps_beside_others(images: Array, labels: Array, seed: int) -> dict[str, Callable[[], object]]:
    """Return, for each library, a function that trains a network of its own on one batch."""
    ours = Network(flow, flow.tensor, images.shape[1], seed)
    theirs = Network(np, np.array, images.shape[1], seed)
    batch = flow.tensor(images), flow.tensor(labels)
    steps = {"ours": lambda: ours.step(*batch), "NumPy": lambda: theirs.step(images, labels)}
    compiled = compiled_by_jax(images, labels, seed)
    return steps if compiled is None else steps | {"jax.jit": compiled}


def report_steps(images: Array, labels: Array, seed: int) -> str:
    """Time the same step in each library, in turn, and say what it takes: the median of 20."""
    steps = steps_beside_others(images, labels, seed)
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(21):
        for name, step in steps.items():
            began = time.perf_counter()
            for _ in range(50):
                step()
            flow.synchronize()
            seconds[name].append((time.perf_counter() - began) / 50)
    # The first round compiles and warms up.
    medians = {name: np.median(taken[1:]) * 1e6 for name, taken in seconds.items()}
    return ", ".join(f"{name} {median:.0f} us" for name, median in medians.items())


def report_copies(recording: flow.profiler.Profile, device: str) -> str:
    """Say how much of the time of the copies was hidden behind compute."""
    names = [f"{flow.Device(device)} {kind}" for kind in ("h2d", "d2h")]
    copies = [name for name in names if name in recording.lanes]
    if not copies:
        return f"none to hide: {device} computes in host memory"
    hidden = recording.hidden_fraction(copies, f"{flow.Device(device)} compute")
    return f"{recording.busy(*copies) / 1e6:.2f} ms in the last epoch, {hidden:.0%} of it hidden"


def speed_of(device: str) -> AbstractContextManager[None]:
    """Return the scope in which a mock device has a speed of its own, not that of memcpy."""
    is_mock = flow.Device(device).type == "mock" and not flow.flags.mock
    return flow.flags(mock=MOCK) if is_mock else nullcontext()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a two-layer network on handwritten digits.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--epochs", type=int, default=50, help="default: 50")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--jit", action="store_true", help="trace the step, and run it as a whole")
    parser.add_argument("--save-weights", metavar="FILE.npz", help="where the weights go")
    arguments = parser.parse_args()
    if arguments.epochs < 1 or arguments.batch < 1:
        parser.error("--epochs and --batch must be at least 1")
    return arguments


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
    network = Network(flow, partial(flow.tensor, device=device), images.shape[1], arguments.seed)
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


def run_jit(arguments: argparse.Namespace) -> None:
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
    data = load_data(np.random.default_rng(arguments.seed))
    test = [flow.tensor(x, device=arguments.device) for x in data[2:]]
    last = np.mean(graph.losses[-(len(graph.losses) // arguments.epochs) :])
    print(f"device    {arguments.device}")
    print(f"loss      {graph.losses[0]:.3f} at first, {last:.4f} in the last epoch")
    print(f"accuracy  {graph.network.accuracy(*test):.4f} on {len(test[0])} test images")
    print(f"speed     eager {eager.speed:,.0f} images/s, jit {graph.speed:,.0f}")
    print(f"bits      {'the same' if same else 'others'}, of all losses and weights")
    print(f"first     step by jit in {graph.first * 1e3:.1f} ms ({report['programs']} programs)")
    print(f"memory    arena {arena:,} bytes; eager's peak {eager.peak:,}")
    save_weights(graph.network, arguments.save_weights)


def save_weights(network: Network, path: str | None) -> None:
    if path:
        np.savez(path, **{name: w.numpy() for name, w in network.weights.items()})


def main() -> int:
    arguments = parse_arguments()
    try:
        speed = speed_of(arguments.device)
        flow.zeros(1, device=arguments.device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    with speed:
        (run_jit if arguments.jit else run)(arguments)
    return 0


def run(arguments: argparse.Namespace) -> None:
    """Train a network, and say what was seen."""
    device = arguments.device
    rng = np.random.default_rng(arguments.seed)
    images, labels, test_images, test_labels = load_data(rng)
    network = Network(flow, partial(flow.tensor, device=device), images.shape[1], arguments.seed)
    losses: list[flow.Tensor] = []

    def train(epochs: int) -> None:
        for _ in range(epochs):
            for x, target in batches(images, labels, arguments.batch, device, rng):
                losses.append(network.step(x, target).cpu())  # does not wait
                progress.update()
                if len(losses) % 50 == 0:
                    recent = losses[-50].item()  # ready by now
                    progress.set_postfix(loss=f"{recent:.3f}", refresh=False)

    steps = -(-len(images) // arguments.batch)
    with tqdm(total=arguments.epochs * steps, unit="step", disable=None) as progress:
        began = time.perf_counter()
        train(arguments.epochs - 1)
        flow.synchronize()  # so that the recording of the last epoch holds all of its work, only
        with flow.profiler.profile() as recording:
            train(1)
        seconds = time.perf_counter() - began

    test = flow.tensor(test_images, device=device), flow.tensor(test_labels, device=device)
    last = np.mean([loss.item() for loss in losses[-steps:]])
    speed = arguments.epochs * len(images) / seconds
    print(f"device    {device}")
    print(f"loss      {losses[0].item():.3f} at first, {last:.4f} in the last epoch")
    print(f"accuracy  {network.accuracy(*test):.4f} on {len(test_images)} test images")
    print(f"speed     {speed:,.0f} images/s ({len(losses)} steps in {seconds:.2f} s)")
    print(f"copies    {report_copies(recording, device)}")
    if flow.Device(device).type == "cpu":
        batch = images[: arguments.batch], labels[: arguments.batch]
        print(f"a step    {report_steps(*batch, arguments.seed)} (batch {arguments.batch})")
    save_weights(network, arguments.save_weights)


if __name__ == "__main__":
    raise SystemExit(main())
