"""Images on disk, shared by processes and kept between them."""

import hashlib
import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from oneflow_lite.flags import LOG

_HASH_BYTES = hashlib.sha256().digest_size
_warned = threading.Event()


def folder() -> Path:
    """Return where images are kept: ``oneflow_lite/kernels`` in the user's cache folder.

    Examples
    --------
    >>> folder().name
    'kernels'
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "oneflow_lite" / "kernels"


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

    Examples
    --------
    >>> load("a name that no image has") is None
    True
    """
    try:
        content = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, image = content[:_HASH_BYTES], content[_HASH_BYTES:]
    return image if hashlib.sha256(image).digest() == digest else None


def store(name: str, image: bytes) -> None:
    """Keep an image, for any process that loads it from now on; the first failure is logged.

    Readers see all of it or nothing: it gets its name by a rename when it is complete.

    Examples
    --------
    >>> store(key("an example"), b"image")
    """
    target = folder() / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix="writing-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(image).digest() + image)
            os.replace(scratch, target)
        except OSError:
            with suppress(OSError):
                os.unlink(scratch)
            raise
    except OSError as error:
        if not _warned.is_set():
            _warned.set()
            LOG.warning("[cuda] compiled kernels are not kept for the next process: %s", error)
