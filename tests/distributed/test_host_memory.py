"""The memory that ranks of one host share: all of them have it, or none."""

import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from oneflow_lite.distributed import host_memory
from tests.support.distributed.mpi import Start, missing_for_processes

SIZE = 1 << 16


class Node:
    """What is used of a communicator, for ranks that are threads."""

    def __init__(self, rank: int, told: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(told)
        self._told, self._barrier = told, barrier

    def allgather(self, value: Any) -> list[Any]:
        self._barrier.wait()
        self._told[self.rank] = value
        self._barrier.wait()
        return list(self._told)

    def bcast(self, value: Any) -> Any:
        return self.allgather(value)[0]


def shared(wanted: tuple[bool, ...]) -> list[int | None]:
    told, barrier = [None] * len(wanted), threading.Barrier(len(wanted), timeout=60)
    nodes = [Node(rank, told, barrier) for rank in range(len(wanted))]
    with ThreadPoolExecutor(len(wanted)) as pool:
        return list(pool.map(host_memory.share, nodes, [SIZE] * len(wanted), wanted))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is left in it, and no file is left open."""
    monkeypatch.setattr(host_memory, "_FOLDER", tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    opened = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    assert not any(str(tmp_path) in one for one in opened)


def test_all_have_the_same_zeros(folder: Path) -> None:
    files = [file for file in shared((True, True, True)) if file is not None]
    assert len(files) == 3
    os.pwrite(files[1], b"here", 100)
    for file in files:
        assert os.fstat(file).st_size == SIZE
        assert os.fstat(file).st_mode & 0o777 == 0o600
        assert os.pread(file, SIZE, 0) == bytes(100) + b"here" + bytes(SIZE - 104)
        os.close(file)


def test_a_rank_alone_needs_none(folder: Path) -> None:
    assert shared((True,)) == [None]


@pytest.mark.parametrize("wanted", [(False, True), (True, False), (False, False)])
def test_one_does_not_want_it(wanted: tuple[bool, ...], folder: Path) -> None:
    assert shared(wanted) == [None, None]


def test_there_is_no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, begin: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert shared((True, True)) == [None, None]


def test_there_is_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "_FOLDER", folder / "missing")
    assert shared((True, True)) == [None, None]


def test_another_rank_has_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers on one host; where a rank looks for the file, it is not."""
    opened = host_memory._open
    monkeypatch.setattr(host_memory, "_open", lambda path: opened(folder / "elsewhere" / path.name))
    assert shared((True, True, True)) == [None, None, None]


@pytest.mark.process
@pytest.mark.parametrize("is_wanted", ["1", "0"])
def test_processes_have_it_mapped(is_wanted: str, start: Start) -> None:
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)
    code = """
mapped = [line.split()[5:] for line in open("/proc/self/maps") if "/dev/shm/oneflow_lite-" in line]
named = [name for name in os.listdir("/dev/shm") if "oneflow_lite-" in name]
x = flow.arange(300_000, dtype="float32").to_global(everywhere, sbp.partial_sum)
assert x.full()[-1].item() == 2 * 299_999
say(rank, mapped and mapped[0][-1], named)
"""
    done = start(2, code=code, ccl_shared_memory=is_wanted)
    assert done.returncode == 0, done.stdout
    told = "(deleted)" if is_wanted == "1" else "[]"
    assert sorted(done.stdout.splitlines()) == [f"0 {told} []", f"1 {told} []"], done.stdout
