"""Train the network of train_digits.py on many ranks: each has a part of every batch.

    python examples/distributed_digits.py                      # two ranks, threads of one process
    python examples/distributed_digits.py --ranks 4 --device mock
    python -m oneflow_lite.distributed -n 2 examples/distributed_digits.py      # two processes

The network is that of one process, line by line. Its weights are broadcast and its batches split,
so the gradients of the weights are partial sums, and what adds them to the weights makes them whole
first. All ranks take the same images in the same order from the same start, so the losses are those
of one process up to rounding: the program computes them, too, and prints how far they are apart.
Needs scikit-learn (for the 1797 digits) and tqdm: ``pip install -e ".[examples]"``.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from train_digits import Network, load_data

import oneflow_lite as flow
from oneflow_lite.distributed import Placement, placement, sbp

Array = npt.NDArray[np.float32]


def batches(
    images: Array, labels: Array, size: int, make: Callable[[Array], Any], seed: int
) -> Iterator[tuple[Any, Any]]:
    """Yield shuffled batches: the same on all ranks."""
    order = np.random.default_rng(seed).permutation(len(images))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield make(images[rows]), make(labels[rows])


def losses(
    given: argparse.Namespace, data: tuple[Array, ...], weight: Any, batch: Any
) -> tuple[list[float], float]:
    """Train; return the mean loss of each epoch, and the accuracy at the end."""
    images, labels, test_images, test_labels = data
    network = Network(flow, weight, images.shape[1], seed=0)
    found = []
    for epoch in range(given.epochs):
        steps = [network.step(*each) for each in batches(images, labels, given.batch, batch, epoch)]
        found.append(float(np.mean([float(loss) for loss in steps])))
    return found, network.accuracy(batch(test_images), batch(test_labels))


def hidden_part(prof: flow.profiler.Profile) -> float:
    """The part of the time of collectives in which something computes, as the machine recorded."""
    collectives = [lane for lane in prof.lanes if lane.endswith(" ccl")]
    others = [lane for lane in prof.lanes if lane not in collectives]
    total = prof.busy(*collectives) if collectives else 0
    return prof.overlap(collectives, others) / total if total else 0.0


def train(given: argparse.Namespace) -> None:
    """The program of each rank."""
    ranks: Placement = placement.all(given.device)
    data = load_data(np.random.default_rng(0))

    def weight(x: Array) -> Any:
        return flow.tensor(x, placement=ranks, sbp=sbp.broadcast)

    def batch(x: Array) -> Any:
        return flow.tensor(x, placement=ranks, sbp=sbp.split(0))

    is_first = flow.distributed.rank() == 0
    if is_first:
        with flow.profiler.profile() as prof:
            found, accuracy = losses(given, data, weight, batch)
    else:
        found, accuracy = losses(given, data, weight, batch)
    alone, _ = losses(given, data, flow.tensor, flow.tensor)
    if not is_first:
        return
    for epoch, loss in enumerate(found, 1):
        print(f"epoch {epoch}: loss {loss:.6f}")
    apart = max(abs(a - b) for a, b in zip(found, alone, strict=True))
    print(f"accuracy on test images: {accuracy:.4f}")
    print(
        f"{flow.distributed.world_size()} ranks; losses of one process: at most {apart:.1e} apart"
    )
    print(f"collectives beside other work: {hidden_part(prof):.0%} of their time")
    if apart > 1e-4:
        raise SystemExit("the losses are not those of one process")


def main() -> None:
    """Train on threads of this process, or as one of the processes that were started together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="threads, if this process is alone")
    parser.add_argument("--device", default="cpu", choices=["cpu", "mock", "cuda"])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    given = parser.parse_args()
    if flow.distributed.world_size() > 1:
        train(given)
    else:
        flow.distributed.run(train, given.ranks, given)


if __name__ == "__main__":
    main()
