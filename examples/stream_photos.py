"""Tone-map a stream of photographs, with the same function on NumPy and on a device.

    python examples/stream_photos.py                             # on the cpu
    python examples/stream_photos.py --device mock:0             # on a simulated device

    # another speed: as it is, copy in, compute and copy out take about 40 ms a frame each
    export ONEFLOW_LITE_MOCK=h2d=100MB/s,d2h=100MB/s,compute=3G/s
    python examples/stream_photos.py --device mock:0

    python examples/stream_photos.py --device cuda:0             # on a GPU

    # on a simulated one (see sim/README.md), as slow
    export ONEFLOW_LITE_CUDA_SIM=devices=1,h2d=20MB/s,d2h=20MB/s,kernel=1ms
    python examples/stream_photos.py --device cuda:0

A camera pans over scikit-learn's two sample photographs. Each frame is copied to the device, tone
mapped and copied back by a plain loop; on a device with its own memory, the three overlap. Needs
scikit-learn and Pillow: ``pip install -e ".[examples]"``.
"""

import argparse
import sys
import tempfile
import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from sklearn.datasets import load_sample_images

import oneflow_lite as flow

PAN = 24  # pixels between one frame and the next
EXPOSURE = 1.2
WHITE = 1 - np.exp(-EXPOSURE).item()  # what full light becomes
GAMMA = 1.1
TARGET_MEAN, TARGET_STD = 0.5, 0.28  # of every channel, from 0 to 1
BALANCE = 0.3  # how far each channel moves towards the target
DETAIL = 1.4  # contrast of what is finer than the blur
MOCK = "h2d=20MB/s,d2h=20MB/s,compute=640M/s"  # unless ONEFLOW_LITE_MOCK says another speed
LAG = 4  # frames in flight before the program looks at one
STAGES = ("h2d", "compute", "d2h")
NEAR = 1  # step of 255: functions of a GPU are some units in the last place from NumPy's

Frame = npt.NDArray[np.uint8]  # (height, width, 3)


def tone_map(frame: Any, xp: Any) -> Any:
    """Return the frame with one pixel less on each side, in the namespace xp: np or flow."""
    light = frame.astype(xp.float32) / 255
    film = 1 - xp.exp(-EXPOSURE * light)  # bright light saturates slowly, as on film
    image = (film / WHITE) ** GAMMA

    mean = xp.mean(image, axis=(0, 1))
    std = xp.sqrt(xp.mean((image - mean) ** 2, axis=(0, 1)))
    balanced = (image - mean) * (TARGET_STD / std) + TARGET_MEAN
    image = BALANCE * balanced + (1 - BALANCE) * image

    rows = image[:-2] + image[1:-1] + image[2:]
    blurred = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9
    sharp = blurred + DETAIL * (image[1:-1, 1:-1] - blurred)
    return (xp.clip(sharp, 0, 1) * 255 + 0.5).astype(xp.uint8)


def make_frames(count: int) -> list[Frame]:
    """Return what a camera sees that pans over both photographs, side by side."""
    photos = load_sample_images().images
    panorama = np.concatenate(photos, axis=1)
    width = photos[0].shape[1]
    return [np.roll(panorama, -PAN * i, axis=1)[:, :width].copy() for i in range(count)]


def stream(frames: list[Frame], device: str) -> list[Frame]:
    """Tone-map every frame on the device."""
    results: list[Frame] = []
    in_flight: deque[flow.Tensor] = deque()
    for frame in frames:
        in_flight.append(tone_map(flow.tensor(frame, device=device), flow).cpu())  # does not wait
        if len(in_flight) > LAG:
            results.append(in_flight.popleft().numpy())  # waits for this frame only
    return results + [result.numpy() for result in in_flight]


def report_overlap(recording: flow.profiler.Profile, device: str) -> str:
    """Say how busy each stream of the device was, and when they ran at the same time."""
    lanes = [f"{flow.Device(device)} {stage}" for stage in STAGES]
    if not set(lanes) <= set(recording.lanes):
        return f"copies   none to hide: {device} computes in host memory"
    busy = [recording.busy(lane) for lane in lanes]
    span = recording.intervals(*lanes)
    total = span[-1][1] - span[0][0]
    hidden = recording.hidden_fraction((lanes[0], lanes[2]), lanes[1])
    stages = ", ".join(f"{name} {ns / 1e6:.0f}" for name, ns in zip(STAGES, busy, strict=True))
    return (
        f"streams  {stages}: {sum(busy) / 1e6:.0f} ms of work in {total / 1e6:.0f} ms\n"
        f"overlap  {hidden:.0%} of the time of the copies was hidden behind compute"
    )


def speed_of(device: str) -> AbstractContextManager[None]:
    """Return the scope in which a mock device has a speed of its own, not that of memcpy."""
    is_mock = flow.Device(device).type == "mock" and not flow.flags.mock
    return flow.flags(mock=MOCK) if is_mock else nullcontext()


def compare(results: list[Frame], reference: list[Frame], device: str) -> tuple[bool, str]:
    """Say whether the frames are NumPy's: bit for bit, on a GPU within one step of brightness."""
    steps = 0 if flow.Device(device).type != "cuda" else NEAR
    pairs = list(zip(results, reference, strict=True))
    alike = sum(int(abs(a.astype(np.int16) - b).max()) <= steps for a, b in pairs)
    how = f"off by {NEAR} of 255 at most" if steps else "bit for bit"
    return alike == len(pairs), f"equal    {alike} of {len(pairs)} frames, {how}"


def save(frames: list[Frame], results: list[Frame], folder: Path) -> list[Path]:
    """Write three of the frames as PNG, before on the left and after on the right."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i in sorted({0, len(frames) // 2, len(frames) - 1}):
        paths.append(folder / f"frame_{i:03}.png")
        before_and_after = np.concatenate([frames[i][1:-1, 1:-1], results[i]], axis=1)
        Image.fromarray(before_and_after).save(paths[-1])
    return paths


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Tone-map a stream of photographs.")
    parser.add_argument("--device", default="cpu", help="cpu, mock:0 or cuda:0 (default: cpu)")
    parser.add_argument("--frames", type=int, default=48, help="default: 48")
    parser.add_argument("--out", type=Path, help="folder for the PNGs (default: a temporary one)")
    arguments = parser.parse_args()
    if arguments.frames < 1:
        parser.error("--frames must be at least 1")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    try:
        speed = speed_of(arguments.device)
        flow.zeros(1, device=arguments.device)
    except ValueError as error:  # there is no such device
        print(error, file=sys.stderr)
        return 2
    with speed:
        return run(make_frames(arguments.frames), arguments.device, arguments.out)


def run(frames: list[Frame], device: str, folder: Path | None) -> int:
    """Tone-map the frames with NumPy and on the device; compare, and say what was seen."""
    stream(frames[:1], device)  # warm-up: threads start, memory is mapped
    tone_map(frames[0], np)

    began = time.perf_counter()
    reference = [tone_map(frame, np) for frame in frames]
    numpy_seconds = time.perf_counter() - began

    with flow.profiler.profile() as recording:
        began = time.perf_counter()
        results = stream(frames, device)
        seconds = time.perf_counter() - began

    height, width, _ = frames[0].shape
    print(f"frames   {len(frames)} of {width} x {height}")
    print(f"numpy    {len(frames) / numpy_seconds:.1f} frames/s")
    print(f"{device:8} {len(frames) / seconds:.1f} frames/s")
    print(report_overlap(recording, device))
    is_right, text = compare(results, reference, device)
    print(text)
    for path in save(frames, results, folder or Path(tempfile.mkdtemp(prefix="photos_"))):
        print(f"wrote    {path}")
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
