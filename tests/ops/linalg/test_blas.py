"""The library of products: found, loaded, chosen, done without."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops import blas
from oneflow_lite.ops.blas import in_force
from tests.support import ON_X86

FOLDER = Path(flow.__file__).parent / "openblas"
HAS_OPENBLAS = any(FOLDER.glob("libscipy_openblas.*"))
# Of all layouts, on both sides of where products are cut: prints what depends on the threads.
PRODUCTS_BY_THREADS = """
import numpy as np, oneflow_lite as flow
numbers = np.random.default_rng(0)
shapes = ((200, 200, 200), (100, 1000, 600), (600, 100, 97), (300, 300, 64), (512, 257, 130),
          (97, 700, 97), (9000, 300, 8), (60, 900, 1200), (112, 112, 112), (130, 130, 130),
          (144, 144, 144), (168, 200, 130), (100, 60, 400), (300, 300, 1), (1, 300, 300),
          (1, 50000, 1))
for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
    for m, k, n in shapes:
        x, y = numbers.normal(size=(m, k)).astype(dtype), numbers.normal(size=(k, n)).astype(dtype)
        if dtype[0] == "c":
            x, y = x + 1j * x[::-1], y + 1j * y[::-1]
        a, b = flow.tensor(x), flow.tensor(y)
        c, d = flow.tensor(x.T.copy()).T, flow.tensor(y.T.copy()).T
        for left, right in ((a, b), (c, b), (a, d)):
            with flow.flags(num_threads=1):
                alone = (left @ right).numpy()
            for threads in (2, 3, 5):
                with flow.flags(num_threads=threads):
                    if not ((left @ right).numpy() == alone).all():
                        print(dtype, (m, k, n), left is c, right is d, threads)
        assert dtype == "float16" or np.allclose(alone, x @ y, rtol=0.01, atol=0.01)
"""
needs_openblas = pytest.mark.skipif(not HAS_OPENBLAS, reason="this build has no OpenBLAS")


def test_info_says_which_library(run_program: Callable[..., Any]) -> None:
    assert ("OpenBLAS" in in_force().name) == HAS_OPENBLAS
    done = subprocess.run(
        [sys.executable, "-m", "oneflow_lite", "info"], capture_output=True, text=True, check=True
    )
    assert f"BLAS         {in_force().name}" in done.stdout
    assert "ONEFLOW_LITE_BLAS_CORE" in done.stdout


@needs_openblas
def test_the_core_type_can_be_chosen(run_program: Callable[..., Any]) -> None:
    code = """
import oneflow_lite as flow
from oneflow_lite.ops.blas import in_force
x = flow.arange(90_000.0).reshape(300, 300)
(x @ x).numpy()
print(in_force().core)
"""
    assert run_program(code).stdout.strip() == in_force().core
    if in_force().core == "SkylakeX":
        assert run_program(code, blas_core="haswell").stdout.strip() == "Haswell"


@pytest.mark.parametrize("core", blas.core_types())
@needs_openblas
def test_every_core_type_that_is_offered_runs(run_program: Callable[..., Any], core: str) -> None:
    done = run_program(PRODUCTS_BY_THREADS, blas_core=core)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("given", ["SkylakeX", "skylakex", "Haswell", "Zen", "Fantasy", "Unknown"])
def test_a_core_type_that_the_processor_cannot_be(
    run_program: Callable[..., Any], given: str
) -> None:
    done = run_program("import oneflow_lite", blas_core=given, cpu_isa="baseline")
    assert done.returncode == 1
    assert f"ONEFLOW_LITE_BLAS_CORE={given}: expected auto, numpy or a core type" in done.stderr
    without_avx = ("Prescott", "Nehalem")
    offered = [core for core in blas.core_types() if core in without_avx or not ON_X86]
    assert f"({', '.join(offered)})" in done.stderr
    known = given not in ("Fantasy", "Unknown") and ON_X86
    assert ("flag cpu_isa is baseline" if known else "which is not known") in done.stderr


@pytest.mark.skipif(not ON_X86, reason="a core type of x86")
@needs_openblas
def test_openblas_own_variable_is_checked_as_well(
    monkeypatch: pytest.MonkeyPatch, run_program: Callable[..., Any]
) -> None:
    code = """
import sys, oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops import blas
_C.cpu_features = lambda: ["sse3", "sse4.2", "avx"]
for _ in range(2):
    try:
        flow.ones((2, 3)) @ flow.ones((3, 2))
    except ValueError as error:
        print(error)
print(flow.ones((2, 3), dtype="int32").sum().item())
"""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "haswell")
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    *errors, total = done.stdout.splitlines()
    assert total == "6"
    for error in errors:
        assert error.startswith("[blas] OPENBLAS_CORETYPE=haswell: expected auto, numpy or a core")
        assert "(Prescott, Nehalem, Sandybridge), got haswell, which needs avx2, bmi2" in error
    assert len(errors) == 2


@needs_openblas
def test_a_core_type_by_name_makes_all_products(run_program: Callable[..., Any]) -> None:
    code = """
import numpy as np, oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.blas import in_force
x = np.random.default_rng(0).normal(size=(400, 400)).astype("float32")
np.testing.assert_allclose((flow.tensor(x) @ flow.tensor(x)).numpy(), x @ x, rtol=1e-4, atol=1e-4)
print(in_force().own_loops, _C.has_panel_loops())
"""
    by_name = run_program(code, blas_core=blas.core_types()[-1].lower())
    assert by_name.stdout.split()[0] == "False", by_name.stderr
    ours, possible = run_program(code).stdout.split()
    assert ours == ("False" if "OPENBLAS_CORETYPE" in os.environ else possible)


def test_numpys_loops_instead(run_program: Callable[..., Any]) -> None:
    code = """
import numpy as np, oneflow_lite as flow
from oneflow_lite.ops.blas import in_force
for dtype in "efdFD":
    x, y = np.random.default_rng(0).normal(size=(2, 70, 70)).astype(dtype)
    assert ((flow.tensor(x) @ flow.tensor(y)).numpy() == x @ y).all()
print(in_force().name)
"""
    done = run_program(code, blas_core="numpy")
    assert (done.returncode, done.stdout) == (0, "NumPy's loops (flag blas_core)\n"), done.stderr


def test_a_build_without_the_library(run_program: Callable[..., Any]) -> None:
    code = """
import pathlib
import oneflow_lite as flow
from oneflow_lite.ops import blas
blas._FOLDER = pathlib.Path("nowhere")
assert (flow.ones((2, 3)) @ flow.ones((3, 2))).tolist() == [[3, 3], [3, 3]]
print(blas.in_force().name)
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "NumPy's loops (this build has no OpenBLAS)\n"


@needs_openblas
def test_the_build_requirement_is_not_needed_to_run(run_program: Callable[..., Any]) -> None:
    code = """
import sys
sys.modules["scipy_openblas32"] = None  # importing it fails
import oneflow_lite as flow
from oneflow_lite.ops.blas import in_force
assert (flow.ones((2, 3)) @ flow.ones((3, 2))).tolist() == [[3, 3], [3, 3]]
print(in_force().name)
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libscipy_openblas.so" in line})
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [in_force().name, str(FOLDER / "libscipy_openblas.so")]


@needs_openblas
@pytest.mark.skipif(find_spec("scipy_openblas32") is None, reason="needs another copy of it")
def test_another_copy_of_the_library_is_left_alone(run_program: Callable[..., Any]) -> None:
    code = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = "3"
import scipy_openblas32  # its symbols are visible to all that is loaded from now on
other = scipy_openblas32.dll
before = other.scipy_openblas_get_num_threads()
import oneflow_lite as flow
from oneflow_lite.ops.blas import in_force
x = flow.ones((300, 300))
for _ in range(3):
    assert ((x @ x).numpy() == 300).all()
assert other.scipy_openblas_get_num_threads() == before
print(in_force().core)
"""
    done = run_program(code)
    assert (done.returncode, done.stdout.strip()) == (0, in_force().core), done.stderr
    chosen = run_program(code, blas_core="Nehalem")
    assert (chosen.returncode, chosen.stdout.strip()) == (0, "Nehalem"), chosen.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="asks the C library")
def test_the_environment_is_as_before(run_program: Callable[..., Any]) -> None:
    code = """
import ctypes, os, sys
if sys.argv[1]:
    os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[1]
import oneflow_lite as flow
(flow.ones((2, 3)) @ flow.ones((3, 2))).numpy()
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"OPENBLAS_NUM_THREADS"), getenv(b"OPENBLAS_CORETYPE"))
"""
    core = _bytes("OPENBLAS_CORETYPE")
    assert run_program(code, "").stdout == f"{_bytes('OPENBLAS_NUM_THREADS')} {core}\n"
    assert run_program(code, "5").stdout == f"b'5' {core}\n"


def _bytes(name: str) -> bytes | None:
    return os.environ[name].encode() if name in os.environ else None


def test_it_is_not_loaded_before_the_first_product(run_program: Callable[..., Any]) -> None:
    code = """
import oneflow_lite as flow
from oneflow_lite.ops import blas
(flow.ones((2, 3)) + 1).sum().item()
flow.ones((2, 3), dtype="int64") @ flow.ones((3, 2), dtype="int64")
print(blas._found)
"""
    assert run_program(code).stdout == "None\n"


@pytest.mark.parametrize("core", ["", "Skylake X", "a/b"])
def test_bad_core_types(run_program: Callable[..., Any], core: str) -> None:
    with pytest.raises(ValueError, match="read at import only"), flow.flags(blas_core="Haswell"):
        pass
    done = run_program("import oneflow_lite", blas_core=core)
    assert (done.returncode == 0) == (core == "")
    assert core == "" or "ONEFLOW_LITE_BLAS_CORE" in done.stderr


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")  # of JAX, if it is loaded
def test_products_in_a_forked_child() -> None:
    x = np.random.default_rng(0).normal(size=(500, 400))
    t = flow.tensor(x)
    expected = (t @ t.T).numpy()
    running = [t @ t.T for _ in range(5)]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            again = (t @ t.T).numpy()
            code = 0 if (again == expected).all() and (running[-1].numpy() == expected).all() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (running[0].numpy() == expected).all()


def test_products_in_flight_at_exit(run_program: Callable[..., Any]) -> None:
    code = """
import oneflow_lite as flow
for device in ("cpu", "mock:0"):
    x = flow.ones((400, 400), device=device)
    products = [x @ x for _ in range(10)]
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")
