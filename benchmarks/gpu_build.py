"""Builds the extension in place where setuptools is not installed: Python 3.12 comes without it.

The flags are those of setup.py, which a test holds. Objects are kept in ``build/`` and made anew
when their source or any header is newer.
"""

import os
import shlex
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pybind11

ROOT = Path(__file__).resolve().parent.parent
FLAGS = (
    *("-std=c++17", "-fvisibility=hidden", "-Wall", "-Wextra", "-ffp-contract=off", "-pthread"),
    *("-O3", "-g0", "-fPIC"),
)


def build(root: Path) -> Path:
    """Compile every source under csrc/, as many at once as there are cores, and link them.

    Raises
    ------
    subprocess.CalledProcessError
        When the compiler refuses a source; what it says goes to the standard error.
    """
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    folders = [root / "csrc", pybind11.get_include(), numpy.get_include()]
    includes = [f"-I{folder}" for folder in (*folders, sysconfig.get_paths()["include"])]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    objects = root / "build" / f"plain{suffix}"
    headers = max((path.stat().st_mtime for path in (root / "csrc").rglob("*.h")), default=0.0)

    def compiled(source: Path) -> Path:
        target = objects / source.relative_to(root).with_suffix(".o")
        newest = max(headers, source.stat().st_mtime)
        if not target.exists() or target.stat().st_mtime < newest:
            target.parent.mkdir(parents=True, exist_ok=True)
            command = [*compiler, *FLAGS, *includes, "-c", str(source), "-o", str(target)]
            subprocess.run(command, check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(compiled, sorted((root / "csrc").rglob("*.cpp"))))
    library = root / "oneflow_lite" / f"_C{suffix}"
    # Beside the old one first: a process may have that open.
    beside = library.with_suffix(".new")
    link = [*compiler, "-shared", "-pthread", *map(str, made), "-o", str(beside)]
    subprocess.run(link, check=True)
    beside.replace(library)
    return library


if __name__ == "__main__":
    print(build(ROOT))
