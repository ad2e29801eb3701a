"""The examples, run as a user runs them, in a small setting."""

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.support.examples.running import MARKS, number, run, succeed

pytestmark = MARKS


# --- train_digits.py

SHORT = ("--epochs", "3", "--batch", "100")  # the last batch is a smaller one


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, bytes]]:
    """Train for three epochs; return what was printed and the bytes of all weights."""
    folder = tmp_path_factory.mktemp("weights")

    def train(device: str, *arguments: str, **flags: str) -> tuple[str, bytes]:
        path = str(folder / "weights.npz")
        arguments = (*SHORT, "--device", device, "--save-weights", path, *arguments)
        text = succeed("train_digits.py", *arguments, **flags)
        with np.load(path) as weights:
            assert sorted(weights) == ["b1", "b2", "w1", "w2"]
            assert all(weights[name].dtype == np.float32 for name in weights)
            return text, b"".join(weights[name].tobytes() for name in sorted(weights))

    return train


@pytest.fixture(scope="module")
def naive_cpu(trained: Callable[..., tuple[str, bytes]]) -> tuple[str, bytes]:
    return trained("cpu", sync="1")


MOCK_JITTER = "jitter=100us,launch=20us"  # queues lag behind the program, each by another amount


@pytest.mark.parametrize(
    ("device", "flags"),
    [
        ("cpu", {}),
        ("mock:0", {}),
        ("mock:0", {"mock": MOCK_JITTER}),
        ("mock:0", {"sync": "1"}),
    ],
    ids=["cpu", "mock", "mock-jitter", "mock-naive"],
)
def test_digits_weights_are_those_of_the_naive_mode(
    device: str,
    flags: dict[str, str],
    trained: Callable[..., tuple[str, bytes]],
    naive_cpu: tuple[str, bytes],
) -> None:
    text, weights = trained(device, **flags)
    naive_text, naive_weights = naive_cpu
    assert weights == naive_weights
    for line in (r"(?m)^loss +(.*)$", r"(?m)^accuracy +(.*)$"):
        given, wanted = re.search(line, text), re.search(line, naive_text)
        assert given
        assert wanted
        assert given[1] == wanted[1]


def test_digits_learns_in_the_default_setting() -> None:
    text = succeed("train_digits.py")
    assert number(r"accuracy +([\d.]+)", text) >= 0.95
    assert number(r"speed +([\d,]+) images/s", text) > 0
    assert "none to hide" in text


def test_digits_seed_matters(trained: Callable[..., tuple[str, bytes]]) -> None:
    assert trained("cpu")[1] != trained("cpu", "--seed", "1")[1]


# --- train_cnn.py


def test_cnn_learns_in_the_default_setting() -> None:
    text = succeed("train_cnn.py")
    assert number(r"accuracy +([\d.]+)", text) >= 0.97
    assert "the same, of all losses and weights" in text


def test_cnn_draws_its_step(tmp_path: Path) -> None:
    path = tmp_path / "step.html"
    succeed("train_cnn.py", *SHORT[:1], "1", "--batch", "200", "--draw", str(path))
    text = path.read_text(encoding="utf-8")
    names = ("array.conv2d[", "conv2d_weight_gradient", "conv2d_input_gradient", "matmul(")
    assert [name for name in names if name not in text] == []
    assert "train_cnn.py:" in text  # lines of the forward pass


@pytest.mark.parametrize("flags", [{}, {"sync": "1"}, {"mock": MOCK_JITTER}], ids=str)
def test_cnn_has_the_same_bits_by_jit(flags: dict[str, str]) -> None:
    texts = [
        succeed("train_cnn.py", *SHORT[:1], "1", "--batch", "200", "--device", device, **flags)
        for device in ("cpu", "mock:0")
    ]
    assert all("the same, of all losses and weights" in text for text in texts)
    losses = {re.search(r"(?m)^loss +(.*)$", text)[1] for text in texts}  # type: ignore[index]
    assert len(losses) == 1


def test_mock_devices_of_the_examples_show_overlap_by_themselves() -> None:
    """Their speed is not that of memcpy, at which there would be nothing to hide."""
    text = succeed("train_digits.py", "--epochs", "2", "--device", "mock:0")
    assert number(r"(\d+)% of it hidden", text) > 0
    text = succeed("stream_photos.py", "--frames", "8", "--device", "mock:0")
    assert number(r"overlap +(\d+)%", text) > 0


def test_digits_compares_a_step_with_others() -> None:
    text = succeed("train_digits.py", *SHORT)
    assert number(r"a step +ours (\d+) us", text) > 0
    assert number(r"NumPy (\d+) us", text) > 0


def test_digits_hides_copies_behind_compute() -> None:
    slow = "h2d=10MB/s,d2h=10MB/s,compute=1G/s"  # copies and compute of a batch take about as long
    arguments = ("--epochs", "2", "--device", "mock:0")
    text = succeed("train_digits.py", *arguments, mock=slow)
    assert number(r"copies +([\d.]+) ms", text) > 0
    assert number(r"(\d+)% of it hidden", text) > 0
    naive = succeed("train_digits.py", *arguments, mock=slow, sync="1")
    assert number(r"(\d+)% of it hidden", naive) == 0


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_digits_by_jit_are_those_of_the_naive_mode(
    device: str,
    trained: Callable[..., tuple[str, bytes]],
    naive_cpu: tuple[str, bytes],
) -> None:
    text, weights = trained(device, "--jit")
    assert weights == naive_cpu[1]
    assert "the same, of all losses and weights" in text
    assert number(r"speed +eager ([\d,]+) images/s", text) > 0
    assert number(r"jit ([\d,]+)\n", text) > 0
    assert number(r"in ([\d.]+) ms \(2 programs\)", text) > 0
    assert number(r"eager's peak ([\d,]+)", text) > 0
    assert number(r"arena ([\d,]+) bytes", text) > 0


# --- executor_tour.py


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_the_tour_of_an_executor(device: str, tmp_path: Path) -> None:
    path = tmp_path / "tour.svg"
    text = succeed("executor_tour.py", "--device", device, "--draw", str(path))
    assert "matmul(" in path.read_text(encoding="utf-8")
    losses = [float(x) for x in re.findall(r"(?m)^\d+ +(-?[\d.]+)$", text)]
    assert len(losses) == 4
    assert re.search(r"(?m)^\d+ +matmul +\d+ ", text)
    ways = re.findall(r"(?m)^(\w+ +\w+) +-?\d\.\d+ +(yes|no)$", text)
    assert len(ways) == 18  # six run modes, three release modes
    assert {same for _, same in ways} == {"yes"}


# --- memory_tour.py


def test_the_tour_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.html"
    small = ("--batch", "1", "--time", "16", "--width", "64")
    text = succeed("memory_tour.py", *small, "--draw", str(path))
    assert "lower bound" in path.read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^(\S.*\S) +([\d,]+) +(\d\.\d+)$", text)
    assert [name for name, *_ in rows] == [
        *(f"blocks, match range {n}" for n in (0, 1, 2, 4, 8, 16)),
        *("blocks, 2 colours", "offsets", "lower bound"),
    ]
    sizes = {name: int(size.replace(",", "")) for name, size, _ in rows}
    assert sizes["lower bound"] <= sizes["offsets"] <= 1.02 * sizes["lower bound"]
    assert sizes["offsets"] <= min(size for name, size in sizes.items() if name != "lower bound")
    assert sizes["blocks, match range 1"] < sizes["blocks, match range 0"]


# --- passes_tour.py


def test_the_tour_of_passes() -> None:
    """What it prints is that of the file, but for the places of the user's lines."""
    text = re.sub(r"  # .*:\d+$", "", succeed("passes_tour.py"), flags=re.MULTILINE)
    assert text == Path(__file__).with_name("passes_tour.txt").read_text(encoding="utf-8")
    counts = dict(re.findall(r"(?m)^== (.*): (\d+) operations$", text))
    assert (counts["FoldConstant"], counts["EliminateCommonSubexpr"]) == ("5", "4")
    in_a_row = [block.partition("\n\n")[0] for block in text.split("== Sequential, ")[1:]]
    assert [block.count("add(%5, %2)") for block in in_a_row] == [2, 1, 2]  # equal additions
    assert "4 layout transforms, 2 after folding" in text


# --- stream_photos.py


@pytest.mark.parametrize(
    ("device", "flags"),
    [
        ("cpu", {}),
        ("cpu", {"sync": "1"}),
        ("mock:0", {}),
        ("mock:1", {"mock": "jitter=1ms"}),
        ("mock:0", {"sync": "1"}),
    ],
    ids=["cpu", "cpu-naive", "mock", "mock-jitter", "mock-naive"],
)
def test_photos_are_those_of_numpy(device: str, flags: dict[str, str], tmp_path: Path) -> None:
    text = succeed(
        "stream_photos.py", "--frames", "7", "--device", device, "--out", str(tmp_path), **flags
    )
    assert "7 of 7 frames, bit for bit" in text
    assert number(r"numpy +([\d.]+) frames/s", text) > 0
    assert number(rf"{device} +([\d.]+) frames/s", text) > 0
    for name in ("frame_000.png", "frame_003.png", "frame_006.png"):
        assert str(tmp_path / name) in text
        with import_module("PIL.Image").open(tmp_path / name) as image:
            before, after = np.split(np.asarray(image), 2, axis=1)
        assert after.shape == (425, 638, 3)
        assert before.std() > 20  # it shows something
        assert after.std() > 20
        assert not np.array_equal(before, after)


def test_photos_overlap_on_a_device(tmp_path: Path) -> None:
    slow = "h2d=40MB/s,d2h=40MB/s,compute=1.6G/s"  # the three stages of a frame take 20 ms each
    arguments = ("--frames", "8", "--device", "mock:0", "--out", str(tmp_path))
    text = succeed("stream_photos.py", *arguments, mock=slow)
    assert number(r"overlap +(\d+)%", text) > 0
    naive = succeed("stream_photos.py", *arguments, mock=slow, sync="1")
    assert number(r"overlap +(\d+)%", naive) == 0


@pytest.mark.simulated
def test_photos_on_a_simulated_gpu_are_near_those_of_numpy() -> None:
    slow = "devices=2,jitter=1ms,h2d=100MB/s,d2h=100MB/s"
    done = run("stream_photos.py", "--frames", "6", "--device", "cuda:1", cuda_sim=slow)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 frames, off by 1 of 255 at most" in done.stdout
    assert number(r"overlap +(\d+)%", done.stdout) > 0


# --- photo_pipeline.py

FEW_PHOTOS = ("--photos", "5", "--width", "160", "--rounds", "1")


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("flags", [{}, {"sync": "1"}, {"engine_threads": "1"}], ids=str)
def test_photos_by_the_engine_are_those_of_the_loop(device: str, flags: dict[str, str]) -> None:
    text = succeed("photo_pipeline.py", *FEW_PHOTOS, "--device", device, **flags)
    assert "5 of 5 files, byte for byte" in text
    for way in ("bound", "loop", "engine", "futures"):
        assert number(rf"(?m)^{way} +([\d.]+) photos/s", text) > 0


def test_a_damaged_photo_is_named(tmp_path: Path) -> None:
    photo = import_module("PIL.Image").new("RGB", (64, 48), (10, 80, 200))
    for name in ("a.jpg", "b.jpg"):
        photo.save(tmp_path / name)
    whole = (tmp_path / "b.jpg").read_bytes()
    for part in (whole[:-100], whole[:10]):  # its end is missing, or its head, too
        (tmp_path / "b.jpg").write_bytes(part)
        done = run("photo_pipeline.py", "--folder", str(tmp_path))
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert str(tmp_path / "b.jpg") in done.stderr


# --- engine_tour.py


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize(
    "flags", [{}, {"sync": "1"}, {"engine_threads": "1"}, {"benchmark": "1"}], ids=str
)
def test_the_tour_of_the_engine(device: str, flags: dict[str, str]) -> None:
    done = run("engine_tour.py", "--device", device, **flags)
    assert (done.returncode, done.stderr == "") == (0, "benchmark" not in flags)
    text = done.stdout
    lines = dict(re.findall(r"(?m)^(\w+) +(\S.*)$", text))
    assert list(lines) == [
        *("order", "generator", "parameters", "memory", "reduce"),
        *("timer", "sockets", "priorities", "errors", "await"),
    ]
    naive = "sync" in flags or "benchmark" in flags
    assert ("in naive mode nothing overlaps" in lines["reduce"]) == naive
    assert ("run as (5, 1, 0, -3)" in lines["priorities"]) != naive


# --- standard_libraries.py


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("sync", ["0", "1"], ids=["threaded", "naive"])
def test_libraries_agree_with_numpy(device: str, sync: str) -> None:
    text = succeed("standard_libraries.py", "--device", device, "--samples", "300", sync=sync)
    steps = re.findall(r"(?m)^  \S.*? +[\d.e+-]+  +(\S.*?)  +[\d,]+$", text)
    assert steps.count(f"Tensor on {device}") >= 16
    assert set(steps) <= {f"Tensor on {device}", "ndarray"}  # of older versions of SciPy
    assert f"{len(steps)} of {len(steps)} steps agree" in text


def test_a_library_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scipy.py").write_text("raise ModuleNotFoundError(\"No module named 'scipy'\")")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    done = run("standard_libraries.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "No module named 'scipy'" in done.stderr
    assert "pip install" in done.stderr


# --- all


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("train_digits.py", "cuda:0"),
        ("train_digits.py", "gpu"),
        ("train_cnn.py", "cuda:0"),
        ("stream_photos.py", "cuda:0"),
        ("standard_libraries.py", "cuda:0"),
        ("executor_tour.py", "cuda:0"),
        ("photo_pipeline.py", "cuda:0"),
        ("engine_tour.py", "cuda:0"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(name: str, device: str) -> None:
    done = run(name, "--device", device)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert device in done.stderr


@pytest.mark.parametrize(
    ("name", "option", "least"),
    [
        ("train_digits.py", "--epochs", 1),
        ("train_cnn.py", "--batch", 1),
        ("stream_photos.py", "--frames", 1),
        ("standard_libraries.py", "--samples", 200),
        ("memory_tour.py", "--width", 8),
        ("photo_pipeline.py", "--width", 16),
        ("engine_tour.py", "--wire", 0),
    ],
)
def test_bad_arguments_are_told(name: str, option: str, least: int) -> None:
    done = run(name, option, str(least - 1))
    assert done.returncode == 2
    assert f"must be at least {least}" in done.stderr
