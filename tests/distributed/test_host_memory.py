"""The memory that ranks of one host share: all of them have it, or none."""

import errno
import itertools
import mmap
import os
import threading
from collections.abc import Callable, Iterator
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


def map_zeros(file: int) -> mmap.mmap:
    assert os.fstat(file).st_mode & 0o777 == 0o600
    return mmap.mmap(file, SIZE)


def shared(
    wanted: tuple[bool, ...], map_file: Callable[[int], mmap.mmap] = map_zeros
) -> list[mmap.mmap | None]:
    told, barrier = [None] * len(wanted), threading.Barrier(len(wanted), timeout=60)
    nodes = [Node(rank, told, barrier) for rank in range(len(wanted))]
    with ThreadPoolExecutor(len(wanted)) as pool:
        sizes, maps = [SIZE] * len(wanted), [map_file] * len(wanted)
        return list(pool.map(host_memory.share, nodes, sizes, wanted, maps))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is left in it, and no file is left open."""
    monkeypatch.setattr(host_memory, "_FOLDER", tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    opened = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    assert not any(str(tmp_path) in one for one in opened)


def test_all_have_the_same_zeros(folder: Path) -> None:
    memories = [memory for memory in shared((True, True, True)) if memory is not None]
    assert len(memories) == 3
    memories[1][100:104] = b"here"
    for memory in memories:
        assert memory[:] == bytes(100) + b"here" + bytes(SIZE - 104)


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


def test_one_cannot_map_it(folder: Path) -> None:
    times = itertools.count()

    def map_file(file: int) -> mmap.mmap:
        if next(times) == 1:
            raise MemoryError("no address space")
        return map_zeros(file)

    assert shared((True, True, True), map_file) == [None, None, None]


def test_an_end_in_between_leaves_no_file(folder: Path) -> None:
    class Broken(Node):
        def allgather(self, value: Any) -> list[Any]:
            raise KeyboardInterrupt

        def bcast(self, value: Any) -> Any:
            return value

    with pytest.raises(KeyboardInterrupt):
        host_memory.share(Broken(0, [None, None], threading.Barrier(2)), SIZE, True, lambda _: 0)


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
