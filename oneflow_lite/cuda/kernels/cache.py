"""Images on disk, shared by processes and kept between them, for one user only.

An image is code that runs with the user's rights. So nothing is taken from a folder or a file that
another user may have made or may write, and each image is signed with a key that only this user
can read::

    oneflow_lite/image-key        0600  32 random bytes
    oneflow_lite/images/          0700
    oneflow_lite/images/NAME      0600  HMAC-SHA256 of the name and the image, then the image
"""

import hashlib
import hmac
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oneflow_lite.flags import LOG

_DIGEST_BYTES = hashlib.sha256().digest_size
_KEY_BYTES = 32
_warned = threading.Event()


def folder() -> Path:
    """Return where images are kept: ``oneflow_lite/images`` in the user's cache folder.

    That is ``XDG_CACHE_HOME``, or ``~/.cache`` where the variable has no absolute path.

    Examples
    --------
    >>> folder().name
    'images'
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.expanduser("~/.cache")
    return Path(cache) / "oneflow_lite" / "images"


def key(*parts: object) -> str:
    """Return the name of what is made of these parts.

    Examples
    --------
    >>> key("source", "sm_90") == key("source", "sm_90") != key("source", "sm_80")
    True
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load(name: str) -> bytes | None:
    """Return an image; None where there is none, or not the whole of it.

    The first image or folder that is refused is logged.

    Examples
    --------
    >>> load("a name that no image has") is None
    True
    """
    try:
        with _opened(folder(), create=False) as (directory, signing):
            content = _read(name, directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(error)
        return None
    digest, image = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return image if hmac.compare_digest(digest, _signature(signing, name, image)) else None


def store(name: str, image: bytes) -> None:
    """Keep an image, for any process that loads it from now on; the first failure is logged.

    Readers see all of it or nothing: it gets its name by a rename when it is complete.

    Examples
    --------
    >>> store(key("an example"), b"image")
    """
    try:
        with _opened(folder(), create=True) as (directory, signing):
            _write(name, _signature(signing, name, image) + image, directory, os.replace)
    except OSError as error:
        _warn(error)


def _signature(signing: bytes, name: str, image: bytes) -> bytes:
    return hmac.digest(signing, name.encode() + b"\0" + image, "sha256")


def _warn(error: OSError) -> None:
    if not _warned.is_set():
        _warned.set()
        LOG.warning("[cuda] compiled kernels are not kept for the next process: %s", error)


@contextmanager
def _opened(path: Path, create: bool) -> Iterator[tuple[int, bytes]]:
    """Open the folder; yield it with the key of its images.

    What is done with the open folder is done in the one that was checked, whatever its path names
    by then.
    """
    if not path.is_absolute():
        raise OSError(f"expected an absolute path of the cache folder, got {path}")
    if create:
        for part in (*reversed(path.parents), path):
            if not part.exists():
                part.mkdir(mode=0o700, exist_ok=True)
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        directory = os.open(path.name, flags, dir_fd=parent)
        try:
            _require_private(os.fstat(directory), stat.S_IFDIR, path)
            yield directory, _signing_key(parent, create)
        finally:
            os.close(directory)
    finally:
        os.close(parent)


def _signing_key(parent: int, create: bool) -> bytes:
    """Return the key; the first one that is made counts for all processes."""
    name = "image-key"
    if create:
        with suppress(FileExistsError):
            _write(name, secrets.token_bytes(_KEY_BYTES), parent, os.link)
    signing = _read(name, parent)
    if len(signing) != _KEY_BYTES:
        raise OSError(f"expected {_KEY_BYTES} bytes in {name}, got {len(signing)}: remove it")
    return signing


def _read(name: str, directory: int) -> bytes:
    # Neither a symbolic link, nor a FIFO, at which an ordinary open would wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(name, flags, dir_fd=directory), "rb") as file:
        _require_private(os.fstat(file.fileno()), stat.S_IFREG, name)
        return file.read()


def _write(name: str, content: bytes, directory: int, put: Callable[..., None]) -> None:
    """Write a file under a name of its own, then put it in its place: os.replace or os.link."""
    scratch = f"writing-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with open(os.open(scratch, flags, 0o600, dir_fd=directory), "wb") as file:
            file.write(content)
        put(scratch, name, src_dir_fd=directory, dst_dir_fd=directory)
    finally:
        with suppress(OSError):
            os.unlink(scratch, dir_fd=directory)


def _require_private(found: os.stat_result, kind: int, name: object) -> None:
    what, mode = ("folder", 0o700) if kind == stat.S_IFDIR else ("file", 0o600)
    if stat.S_IFMT(found.st_mode) != kind:
        raise OSError(f"expected {name} to be a {what}: remove it")
    if found.st_uid != os.geteuid():
        raise OSError(f"expected {name} to belong to user {os.geteuid()}, not {found.st_uid}")
    if found.st_mode & 0o077:
        given = stat.S_IMODE(found.st_mode)
        raise OSError(
            f"expected {name} to have the mode {mode:o}, got {given:o}: "
            f"remove it, or use chmod if no other user has written it"
        )
