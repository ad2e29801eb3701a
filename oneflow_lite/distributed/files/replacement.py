"""A file or a folder is written beside its place, and put there when it is whole."""

import errno
import os
import shutil
from pathlib import Path


class Replacement:
    """The temporary name of a file or folder, of which all ranks know, and what becomes of it.

    ``create`` and ``put_in_place`` are called by one rank, ``discard`` by all of them.
    """

    def __init__(self, target: Path, token: str) -> None:
        self.target = target
        self.temporary = target.with_name(f".{target.name}.{token}")

    def put_in_place(self) -> None:
        """Give it its name; what had that name before is replaced.

        A file is replaced in one step. A folder takes two, between which neither has the name; the
        old one comes back where the second step fails.
        """
        if self.temporary.is_dir() and self.target.exists():
            old = self.temporary.with_name(self.temporary.name + ".old")
            os.rename(self.target, old)
            try:
                os.rename(self.temporary, self.target)
            except BaseException:
                os.rename(old, self.target)
                raise
            sync_folder(self.target.parent)
            shutil.rmtree(old)
            return
        os.replace(self.temporary, self.target)
        sync_folder(self.target.parent)

    def discard(self) -> None:
        """Remove what was written, if it is there."""
        if self.temporary.is_dir():
            shutil.rmtree(self.temporary, ignore_errors=True)  # other ranks remove it, too
        else:
            self.temporary.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Wait until a file is on its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on its disk, if the file system can do that."""
    try:
        sync_file(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def require_parent(name: str, target: Path) -> None:
    """Refuse a name in a folder that is not there, or that this rank cannot write to.

    Raises
    ------
    FileNotFoundError, PermissionError
    """
    if not target.parent.is_dir():
        raise FileNotFoundError(f"[{name}] there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"[{name}] the folder {target.parent} cannot be written to")
