"""Train the network of train_digits.py on many ranks: each has a part of every batch.

    python examples/distributed_digits.py                      # two ranks, threads of one process
    python examples/distributed_digits.py --ranks 4 --device mock
    python examples/distributed_digits.py --exact              # the same bits on any number of them
    python -m oneflow_lite.distributed -n 2 examples/distributed_digits.py      # two processes

The network is that of one process, line by line. Its weights are broadcast and its batches split,
so the gradients of the weights are partial sums. A list of them is made whole at once, in one
bucket. All ranks take the same images in the same order from the same start, so the losses are
those of one process up to rounding: the program computes them, too, and prints how far they are
apart.

With --exact, a batch is 8 blocks of images, whatever the number of ranks is. A rank computes the
gradients of some of the blocks, and ``tree_sum`` adds those of all 8 in one order. So the weights
have the same bits on 1, 2, 4 and any other number of ranks; the program prints a fingerprint.
Needs scikit-learn (for the 1797 digits) and tqdm: ``pip install -e ".[examples]"``.
"""

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from train_digits import Network, load_data

import oneflow_lite as flow
from oneflow_lite.distributed import Placement, placement, sbp, to_global, tree_sum

BLOCKS = 8

Array = npt.NDArray[np.float32]
Make = Callable[[Array], Any]
Step = Callable[[Network, Array, Array], Any]  # on images and labels; returns the loss


def batches(images: Array, labels: Array, size: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield shuffled batches: the same on all ranks."""
    order = np.random.default_rng(seed).permutation(len(images))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield images[rows], labels[rows]


def trained(
    given: argparse.Namespace, data: tuple[Array, ...], weight: Make, step: Step
) -> tuple[list[float], Network]:
    """Train; return the mean loss of each epoch, and the network."""
    images, labels, *_ = data
    network = Network(flow, weight, images.shape[1], seed=0)
    found = []
    for epoch in range(given.epochs):
        losses = [step(network, *each) for each in batches(images, labels, given.batch, epoch)]
        found.append(float(np.mean([float(loss) for loss in losses])))
    return found, network


# --- steps


def alone(network: Network, images: Array, labels: Array) -> Any:
    """The step of one process."""
    return network.step(flow.tensor(images), flow.tensor(labels))


def split(ranks: Placement) -> Step:
    """Return the step in which each rank has some rows of a batch."""

    def step(network: Network, images: Array, labels: Array) -> Any:
        x, target = (flow.tensor(a, placement=ranks, sbp=sbp.split(0)) for a in (images, labels))
        loss, gradients = network.gradients(x, target)
        whole = to_global(list(gradients.values()), sbp=sbp.broadcast)
        network.update(dict(zip(gradients, whole, strict=True)))
        return loss

    return step


def in_blocks(make: Make, rank: int, ranks: int, add: Callable[[list[Any]], Any]) -> Step:
    """Return the step in which each rank has some blocks, and ``add`` gives the sum of all."""

    def step(network: Network, images: Array, labels: Array) -> Any:
        cut = np.array_split(np.arange(len(images)), min(BLOCKS, len(images)))
        blocks = []
        for k in np.array_split(np.arange(len(cut)), ranks)[rank]:
            loss, gradients = network.gradients(make(images[cut[k]]), make(labels[cut[k]]))
            flat = flow.concat([each.reshape(-1) for each in (loss, *gradients.values())])
            blocks.append(flat * np.float32(len(cut[k]) / len(images)))
        total, start, gradients = add(blocks), 1, {}
        for name, weight in network.weights.items():
            gradients[name] = total[start : start + weight.size].reshape(weight.shape)
            start += weight.size
        network.update(gradients)
        return total[0]

    return step


def tree(blocks: Sequence[Any]) -> Any:
    """The sum of blocks of one process, in the order of ``tree_sum``."""
    while len(blocks) > 1:
        odd = blocks[len(blocks) - len(blocks) % 2 :]
        blocks = [*(a + b for a, b in zip(blocks[::2], blocks[1::2], strict=False)), *odd]
    return blocks[0]


# --- the program of a rank


def hidden_part(prof: flow.profiler.Profile) -> float:
    """The part of the time of collectives in which something computes, as the machine recorded."""
    collectives = [lane for lane in prof.lanes if lane.endswith(" ccl")]
    others = [lane for lane in prof.lanes if lane not in collectives]
    total = prof.busy(*collectives) if collectives else 0
    return prof.overlap(collectives, others) / total if total else 0.0


def fingerprint(network: Network) -> str:
    """Return a hash of the bytes of all weights."""
    found = hashlib.sha256()
    for _, weight in sorted(network.weights.items()):
        found.update(weight.numpy().tobytes())
    return found.hexdigest()


def train(given: argparse.Namespace) -> None:
    """The program of each rank."""
    ranks = placement.all(given.device)
    rank, size = flow.distributed.rank(), flow.distributed.world_size()
    data = load_data(np.random.default_rng(0))

    def whole(x: Array) -> Any:
        return flow.tensor(x, placement=ranks, sbp=sbp.broadcast)

    def local(x: Array) -> flow.Tensor:
        return whole(x).to_local()

    if given.exact:
        make = local
        step = in_blocks(local, rank, size, lambda blocks: tree_sum(blocks, ranks).to_local())
        reference = in_blocks(local, 0, 1, tree)
    else:
        make, step, reference = whole, split(ranks), alone
    if rank == 0:
        with flow.profiler.profile() as prof:
            found, network = trained(given, data, make, step)
    else:
        found, network = trained(given, data, make, step)
    accuracy = network.accuracy(make(data[2]), make(data[3]))
    expected, one = trained(given, data, local if given.exact else flow.tensor, reference)
    if rank == 0:
        for epoch, loss in enumerate(found, 1):
            print(f"epoch {epoch}: loss {loss:.6f}")
        print(f"accuracy on test images: {accuracy:.4f}")
        apart = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        print(f"{size} ranks; losses of one process: at most {apart:.1e} apart")
        print(f"collectives beside other work: {hidden_part(prof):.0%} of their time")
        if given.exact:
            print(f"fingerprint of the weights: {fingerprint(network)}")
        if apart > (0 if given.exact else 1e-4):
            raise SystemExit("the losses are not those of one process")
    if given.exact and fingerprint(network) != fingerprint(one):
        raise SystemExit("the weights are not those of one process")


def main() -> None:
    """Train on threads of this process, or as one of the processes that were started together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="threads, if this process is alone")
    parser.add_argument("--device", default="cpu", choices=["cpu", "mock", "cuda"])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--exact", action="store_true", help="the same bits on any number of ranks")
    given = parser.parse_args()
    if flow.distributed.world_size() > 1:
        train(given)
    else:
        flow.distributed.run(train, given.ranks, given)


if __name__ == "__main__":
    main()
