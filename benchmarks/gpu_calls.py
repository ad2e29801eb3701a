"""How often the driver is called for an operation: a part of gpu_check.py. On a device a library
that counts stands before the driver; the simulated one counts itself.
"""

import ctypes
import importlib
import os
import platform
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpu_rows import SKIPPED, Rows, run_part

FOLDER = Path(__file__).resolve().parent
SIMULATION = "ONEFLOW_LITE_CUDA_SIM"
CALLS = "calls"
DEVICE = "cuda:0"
MANY = 960  # small operations
_FIND = "import ctypes; ctypes.CDLL('libcuda.so.1'); print(open('/proc/self/maps').read())"


class Counting:
    """Counts of calls by name."""

    def __init__(self, folder: Path) -> None:
        self._simulated = bool(os.environ.get(SIMULATION))
        if not self._simulated:
            self._library = self._load(folder)

    def _load(self, folder: Path) -> ctypes.CDLL:
        """Build the library and load it as the driver."""
        target = folder / "libcuda.so.1"
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
        source = str(FOLDER / "call_counter.cpp")
        command = [*compiler, *options, source, "-o", str(target), "-ldl"]
        subprocess.run(command, check=True, timeout=60)
        maps = subprocess.run(
            [sys.executable, "-c", _FIND], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        paths = [line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/libcuda.so" in line]
        library = ctypes.CDLL(str(target), ctypes.RTLD_GLOBAL)
        if not library.counter_open(paths[0].encode()):
            raise RuntimeError(f"{paths[0]} cannot be opened")
        library.counter_calls.restype = ctypes.c_uint64
        library.counter_name.restype = ctypes.c_char_p
        library.counter_name.argtypes = [ctypes.c_uint64]
        return library

    def now(self) -> Counter[str]:
        """Return the calls so far."""
        if self._simulated:
            return Counter(importlib.import_module("sim").counters()["calls"])
        found: Counter[str] = Counter()
        number = 0
        while (name := self._library.counter_name(number)) is not None:
            found[name.decode()] = self._library.counter_calls(name)
            number += 1
        return found


def check(rows: Rows, folder: Path) -> None:
    """A row for each program: its calls, all and by name."""
    if not os.environ.get(SIMULATION) and platform.machine() != "x86_64":
        rows.add("driver calls", status=SKIPPED, note=f"not counted on {platform.machine()}")
        return
    counting = Counting(folder)  # before the driver is opened
    sys.path.insert(0, str(FOLDER.parent))
    flow = importlib.import_module("oneflow_lite")
    for question, program, times in programs(flow):
        with rows.attempt(question):
            for _ in range(3):
                program()
                flow.synchronize()
            before = counting.now()
            kept = program()
            flow.synchronize()
            made = counting.now() - before
            del kept
            each = {name: round(count / times, 3) for name, count in made.most_common()}
            note = ", ".join(f"{name} {count:g}" for name, count in each.items())
            rows.add(
                question, "oneflow_lite", value=sum(made.values()) / times, unit="calls", note=note
            )


def programs(flow: Any) -> list[tuple[str, Callable[[], Any], int]]:
    """Return questions, what is counted, and for how many the count is to be given."""
    a, b = flow.ones((2, 16), dtype="float32", device=DEVICE)
    x = flow.ones(1 << 20, dtype="float32", device=DEVICE)
    host = np.ones(32 << 20, np.uint8)
    there = flow.tensor(host, device=DEVICE)

    def adds() -> Any:
        for _ in range(MANY):
            c = a + b
        return c

    def looks() -> Any:
        return [(a + b).numpy() for _ in range(20)]

    return [
        ("a + b, 16 float32, sustained", adds, MANY),
        ("(a + b).numpy(), 16 float32", looks, 20),
        (
            "the 8-operation chain, 1e6 float32",
            lambda: flow.tanh(x * 2 + x) * flow.exp(-x) + flow.sqrt(x),
            1,
        ),
        ("32 MiB from pageable memory", lambda: flow.tensor(host, device=DEVICE), 1),
        ("32 MiB to pageable memory", there.cpu, 1),
    ]


if __name__ == "__main__":
    run_part(__doc__, CALLS, check)
