"""Find the colours of two photographs, and what their patches are made of, on many ranks.

    python examples/distributed_pixels.py                      # two ranks, threads of one process
    python examples/distributed_pixels.py --ranks 3 --device mock --quick
    python -m oneflow_lite.distributed -n 2 examples/distributed_pixels.py      # two processes

The 546,560 pixels of both photographs are split over the ranks. k-means finds 16 colours: the sums
and the numbers of the pixels near each colour are partial sums, and all that moves. The principal
components of patches of 8 x 8 pixels come from one small matrix, which is a partial sum, too. The
program compares both with scikit-learn's.

Halfway the colours are saved, if there is a folder for them, and another start goes on from there,
on any number of ranks:

    python examples/distributed_pixels.py --ranks 2 --checkpoint /tmp
    python examples/distributed_pixels.py --ranks 3 --continue-from /tmp/colours_010.npy

Needs scikit-learn and Pillow (``pip install -e ".[examples]"``).
"""

import argparse
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

import oneflow_lite as flow
from oneflow_lite.distributed import Placement, load, placement, save, sbp

Array = npt.NDArray[np.float64]
COLOURS, PATCH = 16, 8


def photographs() -> Array:
    """Return the two photographs, each 427 x 640 x 3, from 0 to 1."""
    return np.stack(load_sample_images().images) / 255.0


def pixels_of(photos: Array, step: int) -> Array:
    """Return every so many of the pixels, one below the other."""
    return np.ascontiguousarray(photos.reshape(-1, 3)[::step])


def patches_of(photos: Array) -> Array:
    """Return the brightness of patches that do not overlap, one below the other."""
    grey = photos.mean(axis=3)
    rows, columns = (extent // PATCH for extent in grey.shape[1:])
    grey = grey[:, : rows * PATCH, : columns * PATCH]
    cut = grey.reshape(-1, rows, PATCH, columns, PATCH).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(cut.reshape(-1, PATCH * PATCH))


def first_colours(pixels: Array) -> Array:
    """Return the colours that both k-means begin with: near those of pixels far apart in order.

    They are a little beside them, so that no pixel is as near to one as to another.
    """
    different = np.unique(pixels, axis=0)
    chosen = different[np.linspace(0, len(different) - 1, COLOURS).astype(int)]
    return chosen + np.random.default_rng(0).uniform(0, 1 / 255, size=chosen.shape)


# --- k-means


def distances(pixels: Any, colours: Any) -> Any:
    """Squared distances of pixels to colours, up to a number for each pixel."""
    return (colours**2).sum(axis=1) - 2 * (pixels @ colours.T)


def moved(pixels: Any, colours: Any) -> Any:
    """One step: each colour becomes the mean of the pixels that are nearest to it."""
    nearest = distances(pixels, colours).argmin(axis=1)
    is_near = (nearest.reshape(-1, 1) == np.arange(COLOURS)).astype("float64")
    sums = (is_near.T @ pixels).to_global(sbp=sbp.broadcast)
    counts = is_near.sum(axis=0).to_global(sbp=sbp.broadcast).reshape(-1, 1)
    return flow.where(counts > 0, sums / flow.maximum(counts, 1), colours)


def inertia(pixels: Any, colours: Any) -> float:
    """The sum of squared distances of pixels to the nearest colour."""
    nearest = distances(pixels, colours).min(axis=1)
    return float((nearest + (pixels**2).sum(axis=1)).sum())


def found_colours(given: argparse.Namespace, pixels: Any, first: Array) -> Any:
    """Take the steps of k-means, from the beginning or from a file."""
    ranks: Placement = pixels.placement
    done = 0
    colours: Any = flow.tensor(first, placement=ranks, sbp=sbp.broadcast)
    if given.continue_from:
        done = steps_in(given.continue_from)
        colours = load(given.continue_from, placement=ranks, sbp=sbp.broadcast)
    for step in range(done + 1, given.steps + 1):
        colours = moved(pixels, colours)
        if given.checkpoint and step == given.steps // 2:
            file = given.checkpoint / f"colours_{step:03}.npy"
            save(file, colours)
            if flow.distributed.rank() == 0:
                print(f"after {step} steps: {file}")
    return colours


def steps_in(path: Path) -> int:
    """How many steps have led to a file of colours; its name says so."""
    named = re.fullmatch(r"colours_(\d+)\.npy", path.name)
    if named is None:
        raise SystemExit(f"{path}: expected a file that --checkpoint has made, colours_010.npy")
    return int(named[1])


# --- principal components


def variances_of(patches: Any) -> Array:
    """The variances along the principal components, the largest first; each rank finds them."""
    centred = patches - patches.mean(axis=0)
    covariance = (centred.T @ centred).to_global(sbp=sbp.broadcast) / (patches.shape[0] - 1)
    variances: Array = flow.linalg.eigh(covariance).eigenvalues.numpy()
    return variances[::-1]


# --- both, and scikit-learn's


def program(given: argparse.Namespace) -> None:
    """The program of each rank."""
    photos = photographs()
    pixels, patches = pixels_of(photos, 16 if given.quick else 1), patches_of(photos)
    ranks = placement.all(given.device)
    begin = time.perf_counter()
    x = flow.tensor(pixels, placement=ranks, sbp=sbp.split(0))
    colours = found_colours(given, x, first_colours(pixels))
    own, values = inertia(x, colours), colours.numpy()
    variances = variances_of(flow.tensor(patches, placement=ranks, sbp=sbp.split(0)))
    if flow.distributed.rank() != 0:
        return
    seconds = time.perf_counter() - begin
    print(
        f"{len(pixels):,} pixels, {len(patches):,} patches on {flow.distributed.world_size()} ranks"
    )
    if given.colours:
        np.save(given.colours, values)
    for red, green, blue in (255 * values).round().astype(int)[:4]:
        print(f"  a colour: #{red:02x}{green:02x}{blue:02x}")
    print(
        f"the first 3 of {PATCH * PATCH} components have {share(variances, 3):.1%} of the variance"
    )
    print(f"{given.steps} steps and the components: {seconds:.2f} s")
    compare(given, pixels, patches, own, variances)


def share(variances: Array, count: int) -> float:
    """The part of the variance that so many components have."""
    return float(variances[:count].sum() / variances.sum())


def compare(
    given: argparse.Namespace, pixels: Array, patches: Array, own: float, variances: Array
) -> None:
    """Print how far from scikit-learn's the results are; end with an error if it is too far."""
    kmeans = KMeans(COLOURS, init=first_colours(pixels), n_init=1, max_iter=given.steps, tol=0)
    theirs = float(kmeans.fit(pixels).inertia_)
    expected = PCA(svd_solver="full").fit(patches).explained_variance_
    off = abs(own / theirs - 1)
    apart = float(np.abs(variances / expected - 1).max())
    print(f"inertia {own:.4f}, scikit-learn's {theirs:.4f}: {off:.1e} apart")
    print(f"explained variances: at most {apart:.1e} apart")
    if off > 1e-4 or apart > 1e-5:
        raise SystemExit("the results are not scikit-learn's")


def main() -> None:
    """Run on threads of this process, or as one of the processes that were started together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="threads, if this process is alone")
    parser.add_argument("--device", default="cpu", choices=["cpu", "mock", "cuda"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="a sixteenth of the pixels")
    parser.add_argument(
        "--checkpoint", type=Path, help="folder for the colours after half the steps"
    )
    parser.add_argument("--continue-from", type=Path, help="file of colours to go on from")
    parser.add_argument("--colours", type=Path, help="where to save the colours, such as c.npy")
    given = parser.parse_args()
    if flow.distributed.world_size() > 1:
        program(given)
    else:
        flow.distributed.run(program, given.ranks, given)


if __name__ == "__main__":
    main()
