"""Heat flows through two photographs, split by rows over many ranks; it is NumPy's, bit for bit.

    python examples/distributed_photos.py                      # two ranks, threads of one process
    python examples/distributed_photos.py --ranks 3 --rows 4000
    python -m oneflow_lite.distributed -n 2 examples/distributed_photos.py      # two processes

A step is the usual one on slices of an array, and no line of it knows of ranks: ``u[1:]`` and the
like move rows at the borders of the parts, which the program counts. Needs scikit-learn and Pillow
(``pip install -e ".[examples]"``) for the photographs.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from sklearn.datasets import load_sample_images

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp

Array = npt.NDArray[np.float32]
RATE = np.float32(0.2)


def photograph(rows: int) -> Array:
    """Return the brightness of the sample photographs, one below the other, so many rows of it."""
    pictures = [np.asarray(each, np.float32).mean(axis=2) for each in load_sample_images().images]
    both = np.concatenate(pictures)
    return np.tile(both, (-(-rows // len(both)), 1))[:rows]


def step(u: Any) -> None:
    """Let heat flow for a while; the frame stays as it is. Of NumPy, or of the package."""
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    u[1:-1, 1:-1] = u[1:-1, 1:-1] + RATE * (around - 4 * u[1:-1, 1:-1])


def flow_of_heat(given: argparse.Namespace) -> None:
    """The program of each rank."""
    photo = photograph(given.rows)
    u = flow.tensor(photo, placement=placement.all(given.device), sbp=sbp.split(0))
    for _ in range(given.steps):
        step(u)
    found = u.full().numpy()
    if flow.distributed.rank() != 0:
        return
    expected = photo.copy()
    for _ in range(given.steps):
        step(expected)
    wrong = int((found.view(np.uint32) != expected.view(np.uint32)).sum())
    print(f"{photo.shape[0]} x {photo.shape[1]} pixels on {flow.distributed.world_size()} ranks")
    print(f"pixels that are not NumPy's, bit for bit: {wrong}")
    if given.picture:
        Image.fromarray(np.hstack([photo, found]).clip(0, 255).astype(np.uint8)).save(given.picture)
        print(f"before and after: {given.picture}")
    if wrong:
        raise SystemExit("the pixels are not NumPy's")


def main() -> None:
    """Run on threads of this process, or as one of the processes that were started together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="threads, if this process is alone")
    parser.add_argument("--device", default="cpu", choices=["cpu", "mock", "cuda"])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--picture", type=Path, help="where to draw it, such as heat.png")
    given = parser.parse_args()
    with flow.profiler.profile() as prof:
        if flow.distributed.world_size() > 1:
            flow_of_heat(given)
        else:
            flow.distributed.run(flow_of_heat, given.ranks, given)
    if flow.distributed.rank() == 0:
        borders = [r for r in prof.records if (r.kind, r.name) == ("run", "balance")]
        moved = sum(each.bytes for each in borders if each.lane.endswith(" ccl")) / given.steps
        rows = moved / photograph(1)[0].nbytes
        print(f"sent and received in a step, by this process: {moved:,.0f} bytes, {rows:.1f} rows")


if __name__ == "__main__":
    main()
