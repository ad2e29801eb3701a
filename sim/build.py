"""Builds the simulated libraries. Builds are kept by the hash of all that goes into them."""

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sim.compiler import compiler, sanitizer_from
from sim.progress import Progress

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class Library:
    """One shared object: its SONAME and its sources, relative to this folder."""

    name: str
    sources: str
    optimization: str = "-O1"
    is_driver: bool = False


LIBRARIES = (
    Library("libcuda.so.1", "driver/*.cpp", is_driver=True),
    Library("libcublasLt.so.13", "cublas/lt.cpp"),  # what finders load before cuBLAS itself
    Library("libcublas.so.13", "cublas/cublas*.cpp", "-O3"),
    Library("libnccl.so.2", "nccl/*.cpp"),
)
_FLAGS = (
    *("-std=c++17", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread"),
    *("-ffp-contract=off", f"-I{ROOT}"),
)
_SANITIZER_FLAGS = {
    "": ("-g0",),
    "thread": ("-g1", "-fsanitize=thread"),
    "address": ("-g1", "-fsanitize=address", "-fno-omit-frame-pointer"),
}


def default_directory() -> Path:
    """Where builds are kept: ``oneflow_lite/sim`` in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "oneflow_lite" / "sim"


def build(directory: str | os.PathLike[str] | None = None, *, sanitizer: str | None = None) -> Path:
    """Build what is not built yet; any number of processes may do so at once.

    Parameters
    ----------
    directory : path, optional
        Where builds are kept, by default the user's cache folder.
    sanitizer : {"", "thread", "address"}, optional
        By default what ``OFL_SIM_SANITIZE`` says.

    Returns
    -------
    Path
        The folder of the libraries.

    Raises
    ------
    RuntimeError
        If there is no compiler, or it fails, with its log; or if another user may have written the
        folder.

    Examples
    --------
    >>> (build() / "libcuda.so.1").exists()
    True
    """
    chosen = sanitizer_from(sanitizer)
    parent = Path(directory) if directory is not None else default_directory()
    target = parent / f"{chosen or 'plain'}-{digest(chosen)}"
    if target.exists():
        require_own(target)
        return target
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=parent))
    try:
        build_into(scratch, chosen)
        with contextlib.suppress(OSError):  # another process was faster, with the same result
            scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    require_own(target)
    return target


def require_own(folder: Path) -> None:
    """What is loaded from there runs with the user's rights: nobody else may have written it."""
    found = os.lstat(folder)
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_own or found.st_mode & 0o022:
        raise RuntimeError(
            f"[sim] expected {folder} to be a folder of user {os.geteuid()} that no other one may "
            "write: remove it"
        )


def digest(sanitizer: str) -> str:
    """A hash of the sources, the compiler and the flags."""
    hashed = hashlib.sha256()
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in (".h", ".cpp", ".inc"):
            hashed.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    version = subprocess.run([*compiler(), "--version"], capture_output=True, check=True).stdout
    hashed.update(version + repr((_FLAGS[:-1], _SANITIZER_FLAGS[sanitizer], LIBRARIES)).encode())
    return hashed.hexdigest()[:16]


def flags_of(library: Library, sanitizer: str) -> list[str]:
    """The driver says itself what ThreadSanitizer is to see: driver/race_view.h."""
    if library.is_driver and sanitizer == "thread":
        return [*_FLAGS, "-g1", "-DSIM_RACE_VIEW", library.optimization]
    return [*_FLAGS, *_SANITIZER_FLAGS[sanitizer], library.optimization]


def build_into(folder: Path, sanitizer: str) -> None:
    """Compile all sources, as many at once as there are cores, and link the libraries."""
    jobs = [
        (library, source, folder / f"{source.parent.name}-{source.stem}.o")
        for library in LIBRARIES
        for source in sorted(ROOT.glob(library.sources))
    ]
    progress = Progress("the simulated CUDA driver, once", total=len(jobs))

    def compile_one(job: tuple[Library, Path, Path]) -> None:
        library, source, built = job
        run([*flags_of(library, sanitizer), "-c", str(source), "-o", str(built)])
        progress.step()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs))
    for library in LIBRARIES:
        objects = [str(built) for owner, _, built in jobs if owner is library]
        soname = f"-Wl,-soname,{library.name}"
        # The others call the driver, by the name that it is loaded under.
        needed = [
            str(folder / other.name) for other in LIBRARIES if other.is_driver > library.is_driver
        ]
        target = str(folder / library.name)
        run(
            [
                *flags_of(library, sanitizer),
                "-shared",
                soname,
                "-o",
                target,
                *objects,
                *needed,
                "-ldl",
            ]
        )
    for _, _, built in jobs:
        built.unlink()


def run(arguments: Sequence[str]) -> None:
    """The compiler, with these arguments."""
    done = subprocess.run([*compiler(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}\n{done.stderr}")
