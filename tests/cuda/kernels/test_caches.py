"""A kernel is compiled once: by threads, by processes, over time."""

import doctest
import hashlib
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from oneflow_lite.cuda import compiler, kernels
from oneflow_lite.cuda.kernels import Request, cache
from tests.support.kernel_cases import elementwise
from tests.support.launching import Device

ADD = elementwise("add", ("float32",) * 3)
# The simulated driver, which lies in the same cache, is loaded before the folder changes.
MAKE = """
import os, sys
from tests.support.kernel_cases import elementwise
from oneflow_lite.cuda import kernels
os.environ["XDG_CACHE_HOME"] = sys.argv[1]
sys.stdout.buffer.write(kernels.make(elementwise("add", ("float32",) * 3), "sm_90"))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is known yet, in memory and on disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernels, "_made", kernels._Made())
    monkeypatch.setattr(cache, "_warned", threading.Event())
    return cache.folder()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architectures that the compiler was called for."""
    calls: list[str] = []
    compile_ = compiler.compile

    def counted(source: str, arch: str, options: tuple[str, ...] = ()) -> bytes:
        calls.append(arch)
        return compile_(source, arch, options)

    monkeypatch.setattr(compiler, "compile", counted)
    return calls


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(kernels, "_made", kernels._Made())


def test_the_second_time_nothing_is_compiled(
    device: Device, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = kernels.make(ADD, "sm_90")
    assert image is not None
    assert kernels.make(ADD, "sm_90") is image
    forget(monkeypatch)
    assert kernels.make(ADD, "sm_90") == image
    assert compiled == ["sm_90"]
    x = np.arange(5, dtype=np.float32)
    device.run(device.load(image), [x, x], result := np.empty_like(x))
    np.testing.assert_array_equal(result, x + x)
    kernels.make(ADD, "sm_80")
    assert compiled == ["sm_90", "sm_80"]


def test_memory_is_enough(folder: Path, compiled: list[str]) -> None:
    image = kernels.make(ADD, "sm_90")
    for path in folder.iterdir():
        path.unlink()
    assert kernels.make(ADD, "sm_90") is image
    assert len(compiled) == 1


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_what_is_not_whole_is_made_again(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    image = kernels.make(ADD, "sm_90")
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    forget(monkeypatch)
    assert kernels.make(ADD, "sm_90") == path.read_bytes()[32:]
    assert len(compiled) == 2
    forget(monkeypatch)
    assert kernels.make(ADD, "sm_90") is not image
    assert len(compiled) == 2


def test_a_folder_that_cannot_be_written_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING, "oneflow_lite"):
        assert kernels.make(ADD, "sm_90")
        assert kernels.make(elementwise("add", ("float64",) * 3), "sm_90")
    assert len([r for r in caplog.records if "not kept" in r.getMessage()]) == 1


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architectures that the compiler was asked for, which only pretends to compile."""
    calls: list[str] = []

    def pretend(source: str, arch: str, options: tuple[str, ...] = ()) -> bytes:
        calls.append(arch)
        return b"\x7fELF" + source.encode()

    monkeypatch.setattr(compiler, "identity", lambda: "pretended")
    monkeypatch.setattr(compiler, "compile", pretend)
    return calls


def refused(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings since the last call."""
    texts = [r.getMessage() for r in caplog.records if "not kept" in r.getMessage()]
    caplog.clear()
    cache._warned.clear()
    return texts


def test_other_users_read_nothing(folder: Path, asked: list[str]) -> None:
    before = os.umask(0)
    try:
        kernels.make(ADD, "sm_90")
    finally:
        os.umask(before)
    (path,) = folder.iterdir()
    key = folder.parent / "image-key"
    modes = [stat.S_IMODE(x.stat().st_mode) for x in (folder.parent, folder, path, key)]
    assert modes == [0o700, 0o700, 0o600, 0o600]
    assert sorted(x.name for x in folder.parent.iterdir()) == ["image-key", "images"]


@pytest.mark.parametrize("place", ["folder", "image", "key"])
@pytest.mark.parametrize("bits", [0o040, 0o020, 0o004, 0o002])
def test_what_other_users_may_touch_is_refused(
    folder: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    place: str,
    bits: int,
) -> None:
    kernels.make(ADD, "sm_90")
    (image,) = folder.iterdir()
    path = {"folder": folder, "image": image, "key": folder.parent / "image-key"}[place]
    path.chmod(path.stat().st_mode | bits)
    forget(monkeypatch)
    assert kernels.make(ADD, "sm_90")
    assert len(asked) == 2
    (text,) = refused(caplog)
    assert f"{path.name} to have the mode {700 if place == 'folder' else 600}, got" in text
    forget(monkeypatch)
    kernels.make(ADD, "sm_90")  # an image has been replaced by one of our own
    assert (len(asked), len(refused(caplog))) == ((2, 0) if place == "image" else (3, 1))


def test_what_another_user_owns_is_refused(
    folder: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kernels.make(ADD, "sm_90")
    forget(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert kernels.make(ADD, "sm_90")
    assert len(asked) == 2
    (text,) = refused(caplog)
    assert "to belong to user" in text


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
@pytest.mark.parametrize("place", ["folder", "image", "key"])
def test_only_files_and_folders_are_opened(
    folder: Path,
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    place: str,
    kind: str,
) -> None:
    """An ordinary open of a FIFO would wait for somebody who writes to it."""
    kernels.make(ADD, "sm_90")
    (image,) = folder.iterdir()
    path = {"folder": folder, "image": image, "key": folder.parent / "image-key"}[place]
    moved = path.rename(tmp_path / "moved")
    if kind == "fifo":
        os.mkfifo(path, 0o600)
    elif kind == "link":
        path.symlink_to(moved)
    else:
        path.mkdir(mode=0o700)
    forget(monkeypatch)
    assert kernels.make(ADD, "sm_90")
    assert len(asked) == 2
    assert len(refused(caplog)) == (0 if (place, kind) == ("folder", "folder") else 1)


def test_a_planted_image_is_not_taken(
    folder: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cannot read the key cannot sign; and an image is signed with its name."""
    kernels.make(ADD, "sm_90")
    (path,) = folder.iterdir()
    planted = b"\x7fELF planted"
    other = kernels.make(elementwise("add", ("float64",) * 3), "sm_90")
    (second,) = set(folder.iterdir()) - {path}
    contents = [
        hashlib.sha256(planted).digest() + planted,
        hashlib.sha256(path.name.encode() + b"\0" + planted).digest() + planted,
        second.read_bytes(),
        planted,
    ]
    for count, content in enumerate(contents, 3):
        path.write_bytes(content)
        forget(monkeypatch)
        assert kernels.make(ADD, "sm_90") not in (planted, other)
        assert len(asked) == count


@pytest.mark.parametrize("given", ["", "relative", "./cache", "~/cache"])
def test_a_relative_folder_is_none(
    given: str,
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "oneflow_lite" / "images"
    monkeypatch.setenv("HOME", "home")
    assert kernels.make(ADD, "sm_90")
    assert "expected an absolute path" in refused(caplog)[0]
    assert list(tmp_path.iterdir()) == []


def test_other_compilers_have_other_images(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.make(ADD, "sm_90")
    forget(monkeypatch)
    monkeypatch.setattr(compiler, "identity", lambda: "another")
    kernels.make(ADD, "sm_90")
    assert len(compiled) == len(list(folder.iterdir())) == 2


def test_threads_wait_for_the_first(compiled: list[str]) -> None:
    start, images = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        images.append(kernels.make(ADD, "sm_90"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert len(images) == 8
    assert all(image is images[0] for image in images)


def test_a_failure_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise compiler.CompileError("refused")

    with monkeypatch.context() as failing:
        failing.setattr(compiler, "compile", refuse)
        for _ in range(2):
            with pytest.raises(compiler.CompileError, match="refused"):
                kernels.make(ADD, "sm_90")
    assert kernels.make(ADD, "sm_90")


def test_two_processes_at_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    command = [sys.executable, "-c", MAKE, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    images = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    (path,) = folder.iterdir()
    assert path.read_bytes()[32:] in images
    assert all(image[:4] == b"\x7fELF" for image in images)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_makes_what_its_parent_was_making(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, started, go_on = os.getpid(), threading.Event(), threading.Event()

    def compile_(*_: object) -> bytes:
        if os.getpid() == parent:
            started.set()
            assert go_on.wait(60)
        return b"image"

    monkeypatch.setattr(compiler, "compile", compile_)
    thread = threading.Thread(target=kernels.make, args=(ADD, "sm_90"))
    thread.start()
    assert started.wait(60)
    child = os.fork()
    if not child:
        os._exit(0 if kernels.make(ADD, "sm_90") == b"image" else 1)
    assert os.waitpid(child, 0)[1] == 0
    go_on.set()
    thread.join()


def test_what_has_no_text() -> None:
    assert kernels.make(elementwise("nothing", ("float32",) * 2), "sm_90") is None
    unknown = Request(
        "no such family", "add", ("float32",) * 2, ("float32",) * 2, (False,), True, False
    )
    assert kernels.make(unknown, "sm_90") is None


def test_the_compiler_says_where_it_stopped() -> None:
    with pytest.raises(compiler.CompileError, match="kernel.cu:2"):
        compiler.compile('\nextern "C" __global__ void f() { nothing(); }', "sm_90")


@pytest.mark.parametrize(
    "name", ["build_id", "compiler", "kernels", "kernels.cache", "kernels.source"]
)
def test_examples(name: str) -> None:
    result = doctest.testmod(import_module(f"oneflow_lite.cuda.{name}"))
    assert result.attempted
    assert not result.failed
