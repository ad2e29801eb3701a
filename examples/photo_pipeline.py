"""Read, decode, transform, encode and write a folder of photographs, in three ways.

    python examples/photo_pipeline.py                        # photographs made for it
    python examples/photo_pipeline.py --folder holiday       # the JPEG files of a folder
    python examples/photo_pipeline.py --device mock:0        # transform on a simulated device

The ways are a plain loop, the engine and ``concurrent.futures``; all write the same bytes. With the
engine, each step of a photograph begins when its own steps before have ended, beside the steps of
other photographs. Disks are waited for by a pool of threads of their own.

The bound is the time that the slowest stage alone allows. It is the larger of two: the processor
time of all stages, shared by all cores, and the longest stage of those that take one photograph at
a time. These are the transform, which runs on one stream of the device, and the copies to and from
it. The stages are timed in the plain loop, where each has the machine for itself.

A damaged file ends the program with an error that names it. Needs scikit-learn and Pillow:
``pip install -e ".[examples]"``.
"""

import argparse
import concurrent.futures
import io
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from sklearn.datasets import load_sample_images

import oneflow_lite as flow
from oneflow_lite import engine

QUALITY = 90  # of JPEG
CONTRAST = 0.8
IN_FLIGHT = 16  # photographs that the engine has begun and not ended
SCALES = (1, 0.8, 0.6)  # of the widths of photographs
STAGES = ("read", "decode", "send", "transform", "fetch", "encode", "write")
ONE_AT_A_TIME = STAGES[2:5]  # each on one stream of the device
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

Pixels = npt.NDArray[np.uint8]  # (height, width, 3)


# --- the steps of one photograph


def size_of(source: Path) -> tuple[int, int, int]:
    """Return the shape of its pixels; only the head of the file is read."""
    with Image.open(source) as image:
        return (image.height, image.width, 3)


def decode(jpeg: bytes, source: Path) -> Pixels:
    try:
        with Image.open(io.BytesIO(jpeg)) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        raise OSError(f"{source}: {error}") from error


def send(pixels: Pixels, device: str) -> flow.Tensor:
    return ready(flow.tensor(pixels, device=device))


def transform(photo: flow.Tensor) -> flow.Tensor:
    """Return it at half its size, with mean and contrast of each channel set, and blurred."""
    height, width = (n - n % 2 for n in photo.shape[:2])
    light = photo[:height, :width].astype(flow.float32)
    rows = light[::2] + light[1::2]
    small = (rows[:, ::2] + rows[:, 1::2]) / 4

    normal = (small - flow.mean(small, axis=(0, 1))) / (flow.std(small, axis=(0, 1)) + 1)
    image = 0.5 + 0.5 * flow.tanh(CONTRAST * normal)

    rows = image[:-2] + 2 * image[1:-1] + image[2:]
    blurred = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 16
    return (blurred * 255 + 0.5).astype(flow.uint8)


def fetch(result: flow.Tensor) -> Pixels:
    return result.cpu().numpy()


def encode(pixels: Pixels, part: Path) -> None:
    """Encode into a file: Pillow holds Python's lock while it encodes into memory."""
    Image.fromarray(pixels).save(part, "JPEG", quality=QUALITY)


def write(part: Path, target: Path) -> None:
    """Wait for the disk; a file of the final name is always whole."""
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    part.replace(target)


# --- the three ways


def by_loop(sources: list[Path], folder: Path, device: str, times: "Times") -> None:
    """One step after the other; the time of each is taken."""
    for source in sources:
        part = folder / f"{source.name}.part"
        jpeg = times.of("read", source.read_bytes)
        pixels = times.of("decode", decode, jpeg, source)
        sent = times.of("send", send, pixels, device)
        result = times.of("transform", lambda x: ready(transform(x)), sent)
        fetched = times.of("fetch", fetch, result)
        times.of("encode", encode, fetched, part)
        times.of("write", write, part, folder / source.name)


def by_engine(sources: list[Path], folder: Path, device: str) -> None:
    """Everything is pushed in program order, and runs when what it needs is there. One core is left
    to the operations of the transform."""
    with flow.flags(engine_threads=max(1, CORES - 1)):
        push_all(sources, folder, device)


def push_all(sources: list[Path], folder: Path, device: str) -> None:
    in_flight: deque[engine.Completion] = deque()
    try:
        for source in sources:
            in_flight.append(begin(source, folder, device))
            if len(in_flight) > IN_FLIGHT:
                in_flight.popleft().wait()
        for done in in_flight:
            done.wait()
    finally:
        concurrent.futures.wait(in_flight)  # one may have failed: the others still write


def begin(source: Path, folder: Path, device: str) -> engine.Completion:
    """Push the steps of one photograph; the variable orders those that touch its files."""
    name, part = source.name, folder / f"{source.name}.part"
    files = engine.Var(name)
    pixels = flow.empty(size_of(source), dtype="uint8")
    jpeg = engine.push(source.read_bytes, writes=[files], blocking=True, name=f"read {name}")
    engine.push(
        lambda out: np.copyto(out, decode(jpeg.result(), source)),
        reads=[files],
        writes=[pixels],
        name=f"decode {name}",
    )
    result = transform(pixels.to(device)).cpu()  # does not wait
    engine.push(lambda x: encode(x, part), reads=[result], writes=[files], name=f"encode {name}")
    return engine.push(
        lambda: write(part, folder / name), writes=[files], blocking=True, name=f"write {name}"
    )


def by_futures(sources: list[Path], folder: Path, device: str) -> None:
    """All steps of a photograph in one thread, and so many threads that some can wait."""

    def convert(source: Path) -> None:
        part = folder / f"{source.name}.part"
        pixels = flow.tensor(decode(source.read_bytes(), source), device=device)
        encode(transform(pixels).cpu().numpy(), part)
        write(part, folder / source.name)

    with concurrent.futures.ThreadPoolExecutor(2 * CORES) as pool:
        for future in [pool.submit(convert, source) for source in sources]:
            future.result()


def ready(tensor: flow.Tensor) -> flow.Tensor:
    engine.wait(tensor)
    return tensor


# --- their times


class Times:
    """Seconds of each stage: by the clock, and of all processors."""

    def __init__(self) -> None:
        self.wall = dict.fromkeys(STAGES, 0.0)
        self.processor = dict.fromkeys(STAGES, 0.0)

    def of(self, stage: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call it; add what that took."""
        wall, processor = time.perf_counter(), time.process_time()
        result = call(*arguments)
        self.wall[stage] += time.perf_counter() - wall
        self.processor[stage] += time.process_time() - processor
        return result


def least(seconds: list[dict[str, float]]) -> dict[str, float]:
    """Return the best time of each stage."""
    return {stage: min(each[stage] for each in seconds) for stage in STAGES}


def bound_of(wall: dict[str, float], processor: dict[str, float]) -> tuple[float, str]:
    """Return the seconds that the slowest stage alone allows, and which stage that is."""
    shared = sum(processor.values()) / CORES
    slowest = max(ONE_AT_A_TIME, key=wall.__getitem__)
    if shared >= wall[slowest]:
        return shared, f"all work, on {CORES} cores"
    return wall[slowest], f"{slowest}, one photograph at a time"


def measure(sources: list[Path], folder: Path, device: str, rounds: int) -> bool:
    """Go all ways in turn; print the best time of each, and whether the files are equal."""
    folders = {way: folder / way for way in ("loop", "engine", "futures")}
    for each in folders.values():
        each.mkdir(exist_ok=True)
    by_loop(sources[:1], folders["loop"], device, Times())  # warm-up: threads start

    alone, loops = [Times() for _ in range(rounds)], [Times() for _ in range(rounds)]
    seconds: dict[str, list[float]] = {way: [] for way in folders}
    for k in range(rounds):
        with flow.flags(num_threads=1):  # threads that share work also wait for each other
            by_loop(sources, folders["loop"], device, alone[k])
        ways: tuple[Callable[..., None], ...] = (
            partial(by_loop, times=loops[k]),
            by_engine,
            by_futures,
        )
        for way, go in zip(folders, ways, strict=True):
            began = time.perf_counter()
            go(sources, folders[way], device)
            seconds[way].append(time.perf_counter() - began)
    wall, processor = least([x.wall for x in loops]), least([x.processor for x in alone])
    report(wall, processor, {way: min(each) for way, each in seconds.items()}, len(sources))

    contents = [[(each / s.name).read_bytes() for s in sources] for each in folders.values()]
    alike = sum(a == b == c for a, b, c in zip(*contents, strict=True))
    print(f"equal     {alike} of {len(sources)} files, byte for byte")
    return alike == len(sources)


def report(
    wall: dict[str, float], processor: dict[str, float], best: dict[str, float], count: int
) -> None:
    """Print the times of each stage, the bound, and the three ways."""
    print("stage     ms a photo   of a processor")
    for stage in STAGES:
        print(f"{stage:9} {wall[stage] / count * 1e3:10.2f}", end="")
        print(f"{processor[stage] / count * 1e3:17.2f}")
    bound, reason = bound_of(wall, processor)
    print(f"bound     {count / bound:.1f} photos/s: {reason}")
    for way, seconds in best.items():
        print(f"{way:9} {count / seconds:.1f} photos/s, {seconds / bound:.2f} of the bound's time")


# --- the program


def make_photos(folder: Path, count: int, width: int) -> None:
    """Write crops of both sample photographs, of three widths, as a camera would."""
    photos = [Image.fromarray(photo) for photo in load_sample_images().images]
    rng = np.random.default_rng(0)
    for i in range(count):
        photo = photos[i % len(photos)]
        left, top = (int(rng.integers(n // 3)) for n in photo.size)
        box = (left, top, left + 2 * photo.width // 3, top + 2 * photo.height // 3)
        target = max(8, round(width * SCALES[i % len(SCALES)]))
        size = (target, max(8, target * photo.height // photo.width))
        photo.resize(size, box=box).save(folder / f"photo_{i:03}.jpg", quality=QUALITY)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Transform a folder of photographs.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--folder", type=Path, help="of *.jpg; results go to folders in it")
    parser.add_argument("--photos", type=int, default=48, help="that are made (default: 48)")
    parser.add_argument("--width", type=int, default=1280, help="of the widest (default: 1280)")
    parser.add_argument("--rounds", type=int, default=3, help="the best counts (default: 3)")
    arguments = parser.parse_args()
    for name, least in (("photos", 1), ("width", 16), ("rounds", 1)):
        if getattr(arguments, name) < least:
            parser.error(f"--{name} must be at least {least}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    try:
        flow.zeros(1, device=arguments.device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="photos_") as temporary:
        folder = arguments.folder or Path(temporary)
        if arguments.folder is None:
            make_photos(folder, arguments.photos, arguments.width)
        sources = sorted(folder.glob("*.jpg"))
        if not sources:
            print(f"no *.jpg in {folder}", file=sys.stderr)
            return 2
        size = sum(source.stat().st_size for source in sources)
        print(f"photos    {len(sources)}, {size / 1e6:.1f} MB, on {arguments.device}")
        try:
            return 0 if measure(sources, folder, arguments.device, arguments.rounds) else 1
        except OSError as error:  # a damaged file, or a full disk
            print(error, file=sys.stderr)
            return 1


if __name__ == "__main__":
    raise SystemExit(main())
