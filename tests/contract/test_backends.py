"""A device is one folder and one row: a backend that no table of the tree knows works like others.

``tests/cpp/libraries/toy_backend.cpp`` is compiled as a library of its own, against the headers of
csrc, and linked with the extension. So there is one copy of the base classes in the process, and an
interface that the extension does not export is an error of the linker. ``_C.register_backend``
takes the library's row in a capsule, as a program may do at any time, and refuses one of another
version.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oneflow_lite import _C
from tests.support import ROOT
from tests.support.compiling import COMPILER, SOURCES, compiled

pytestmark = [
    pytest.mark.slow,
    pytest.mark.toolchain,
    pytest.mark.skipif(sys.platform != "linux", reason="links with a loaded extension"),
    pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason=f"no {COMPILER[0]}"),
]

PRELUDE = """
import ctypes
import sys

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

toys = ctypes.CDLL(sys.argv[1])
toys.toy_backend.restype = toys.toy_backend_with.restype = ctypes.c_void_p
toys.toy_backend_with.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_bool]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = b"oneflow_lite.backend"


def register(row, name=NAME):
    _C.register_backend(new_capsule(row, name, None))


def raises(error, message):
    return pytest.raises(error, match=message)

"""

USE = """
assert "toy:0" not in flow.devices()
register(toys.toy_backend())
assert flow.devices()[-2:] == ["toy:0", "toy:1"]

x = flow.tensor([1.0, 2.0], device="toy:0")
y = x + x * 3
assert repr(y) == "tensor([4., 8.], dtype=float64, device='toy:0')"
y[::-1][0] = 5
assert y.tolist() == [4.0, 5.0] and y.cpu().device == "cpu" and y.sum().item() == 9
host = np.arange(100_000.0)
far = flow.tensor(host).to("toy:1")
for device in ("toy:0", "mock:1", "cpu"):
    assert (far * 2).to(device).numpy().tolist() == (host * 2).tolist()
with flow.device("toy:1"):
    assert (flow.zeros(3) + 1).device == "toy:1"
flow.synchronize()
assert flow.memory_stats("toy:1")["in_use"] >= host.nbytes

with raises(ValueError, "toy:7 does not exist, there are 2 toy devices; the box has no more"):
    x.to("toy:7")
with raises(ValueError, 'expected "cpu", "mock:N", "cuda:N" or "toy:N"'):
    flow.Device("train:0")
with raises(flow.OutOfMemoryError, "toy:0. out of memory"):
    flow.zeros(1 << 28, device="toy:0").sum().item()

assert x.__dlpack_device__() == (16, 0)
with raises(BufferError, "memory of toy:0 cannot be shared"):
    x.__dlpack__()
with raises(BufferError, "expected dl_device"):
    x.cpu().__dlpack__(dl_device=(16, 0))
assert np.from_dlpack(flow.from_dlpack(x).cpu()).tolist() == [1.0, 2.0]
in_flight = far + 1
"""

ORACLE = """
from tests.support.random_program import program

register(toys.toy_backend())
for layout in (("toy:0", "cpu", "toy:1"), ("mock:0", "toy:1", "toy:0")):
    for seed in range(20):
        with flow.flags(sync=seed % 4 == 0):
            program(seed).run(layout)
"""

REFUSED = """
OWN = 2  # ep::Backend::kVersion
for version, name, has_make, message in (
    (9, b"toy", True, f"a row of version {OWN}, got 9"),
    (OWN, b"toy:1", True, 'a name of small letters, got "toy:1"'),
    (OWN, b"", True, "a name of small letters"),
    (OWN, None, True, "a name of small letters"),
    (OWN, b"mock", True, 'a backend named "mock"'),
    (OWN, b"toy", False, "lacks a function"),
):
    with raises(ValueError, message):
        register(toys.toy_backend_with(version, name, has_make))
with raises(ValueError, "incorrect name"):
    register(toys.toy_backend(), b"dltensor")
with raises(TypeError, "incompatible"):
    _C.register_backend(object())
assert list(_C.device_types()) == ["cpu", "mock", "cuda"]

names = [b"a", b"b", b"c", b"d", b"e"]
for name in names:
    register(toys.toy_backend_with(OWN, name, True))
assert flow.ones(2, device="e:1").tolist() == [1.0, 1.0]
with raises(ValueError, 'no place for "toy" beside 8 other types'):
    register(toys.toy_backend())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("toys") / "libtoys.so"
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wl,-z,defs", f"-I{ROOT / 'csrc'}"]
    source = SOURCES / "libraries/toy_backend.cpp"
    compiled([*COMPILER, *options, source, _C.__file__, "-o", target])
    return target


RunProgram = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("sync", ["0", "1"])
def test_a_device_from_elsewhere(run_program: RunProgram, library: Path, sync: str) -> None:
    done = run_program(PRELUDE + USE, str(library), sync=sync)
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.split()
    assert words[:2] == ["toys", "leave:"]
    assert int(words[2]) > 5
    assert int(words[4]) > 5


def test_its_results_are_those_of_numpy(run_program: RunProgram, library: Path) -> None:
    done = run_program(PRELUDE + ORACLE, str(library))
    assert done.returncode == 0, done.stderr


def test_rows_that_are_refused(run_program: RunProgram, library: Path) -> None:
    done = run_program(PRELUDE + REFUSED, str(library))
    assert done.returncode == 0, done.stderr
