"""The examples of tensors over many ranks, in a small setting; see test_examples.py."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import ROOT
from tests.support.distributed.mpi import missing_for_processes
from tests.support.examples.running import EXAMPLES, MARKS, number, run, succeed

pytestmark = MARKS


# --- distributed_digits.py


@pytest.mark.parametrize("device", ["cpu", "mock"])
def test_digits_on_many_ranks(device: str) -> None:
    arguments = ("--ranks", "3", "--device", device, "--epochs", "2")
    text = succeed("distributed_digits.py", *arguments)
    assert number(r"accuracy on test images: ([\d.]+)", text) > 0.8
    assert number(r"3 ranks; losses of one process: at most (\S+) apart", text) < 1e-4
    assert number(r"collectives beside other work: (\d+)%", text) >= 0


FINGERPRINT = r"fingerprint of the weights: ([0-9a-f]{64})\n"


def test_exact_digits_have_the_same_bits_on_any_number_of_ranks() -> None:
    found = set()
    for ranks in (1, 2, 4):
        arguments = ("--exact", "--ranks", str(ranks), "--epochs", "1")
        text = succeed("distributed_digits.py", *arguments)
        assert f"{ranks} ranks; losses of one process: at most 0.0e+00 apart" in text
        found |= set(re.findall(FINGERPRINT, text))
    assert len(found) == 1


# --- distributed_photos.py


@pytest.mark.parametrize("device", ["cpu", "mock"])
def test_heat_on_many_ranks_is_numpys(device: str, tmp_path: Path) -> None:
    moved = []
    for rows in (300, 600):
        picture = tmp_path / f"{rows}.png"
        text = succeed(
            "distributed_photos.py",
            *("--rows", str(rows), "--ranks", "3", "--steps", "5", "--device", device),
            *("--picture", str(picture)),
        )
        assert "not NumPy's, bit for bit: 0" in text
        moved.append(number(r"([\d.]+) rows", text))
        with import_module("PIL.Image").open(picture) as drawn:
            assert drawn.size == (1280, rows)
    assert 0 < moved[0] == moved[1] < 30  # those at the borders of parts


@pytest.mark.parametrize("exact", [(), ("--exact",)])
def test_digits_on_many_processes(exact: tuple[str, ...]) -> None:
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "oneflow_lite.distributed", "-n", "2"),
            *(str(EXAMPLES / "distributed_digits.py"), "--epochs", "1", *exact),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    apart = number(r"2 ranks; losses of one process: at most (\S+) apart", done.stdout)
    assert apart <= (0 if exact else 1e-4)
    assert len(re.findall(FINGERPRINT, done.stdout)) == len(exact)


# --- distributed_pixels.py


@pytest.mark.parametrize(("ranks", "device"), [(1, "cpu"), (3, "cpu"), (2, "mock")])
def test_pixels_on_many_ranks_are_scikit_learns(ranks: int, device: str) -> None:
    arguments = ("--quick", "--ranks", str(ranks), "--device", device)
    text = succeed("distributed_pixels.py", *arguments)
    assert f"34,160 pixels, 8,480 patches on {ranks} ranks" in text
    assert number(r"inertia .*: (\S+) apart", text) < 1e-4
    assert number(r"explained variances: at most (\S+) apart", text) < 1e-5


def test_pixels_go_on_from_a_file_on_other_ranks(tmp_path: Path) -> None:
    def colours(name: str, *words: str) -> Any:
        succeed("distributed_pixels.py", "--quick", "--colours", str(tmp_path / name), *words)
        return np.load(tmp_path / name)

    expected = colours("whole.npy", "--ranks", "2", "--checkpoint", str(tmp_path))
    file = tmp_path / "colours_010.npy"
    assert np.abs(np.load(file) - expected).max() > 1e-3
    found = colours("continued.npy", "--ranks", "3", "--continue-from", str(file))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    done = run("distributed_pixels.py", "--quick", "--continue-from", str(tmp_path / "whole.npy"))
    assert done.returncode == 1
    assert "expected a file that --checkpoint has made" in done.stderr


def test_pixels_on_many_processes(tmp_path: Path) -> None:
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)
    for words in (("--checkpoint", "."), ("--continue-from", "colours_010.npy")):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "oneflow_lite.distributed", "-n", "2"),
                *(str(EXAMPLES / "distributed_pixels.py"), "--quick", *words),
            ],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert number(r"inertia .*: (\S+) apart", done.stdout) < 1e-4
    assert os.listdir(tmp_path) == ["colours_010.npy"]
