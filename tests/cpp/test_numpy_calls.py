"""NumPy's typed loops and sorts are called as NumPy calls them: with elements, which are aligned,
and no output over an input that is still to be read. What else they survive depends on the
processor.
"""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import ROOT
from tests.support.compiling import COMPILER, SOURCES, compiled

pytestmark = pytest.mark.xdist_group("numpy_calls")  # they share a module that is compiled


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the module numpy_watch."""
    folder = tmp_path_factory.mktemp("numpy_watch")
    includes = [sysconfig.get_paths()["include"], np.get_include()]
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", *(f"-I{path}" for path in includes)]
    source = SOURCES / "libraries/numpy_watch.cpp"
    compiled([*COMPILER, *flags, source, "-o", folder / "numpy_watch.so"])
    return folder


def run(watch: Path, *command: object) -> tuple[dict[str, int], int]:
    text = [sys.executable, *map(str, command)]
    done = subprocess.run(text, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    wrong, calls = json.loads(done.stdout)
    return wrong, calls


def test_every_function_on_few_elements(watch: Path) -> None:
    wrong, calls = run(watch, "-m", "tests.support.watched_program", watch)
    assert wrong == {}
    assert calls > 10_000


def test_the_watch_sees_wrong_calls(watch: Path) -> None:
    code = f"""
import json, sys
sys.path.insert(0, {str(watch)!r})
import numpy as np, numpy_watch
x = np.zeros(8)
np.sort(x[:0]), np.sort(x[:1]), np.add(x[:0], x[:0]), np.add(x[1:], x[1:], out=x[:-1])
numpy_watch.watch(np.add)
assert numpy_watch.seen()[0] == {{}}
np.add(x, x), np.add(x[:0], x[:0]), np.add(x[1:], x[1:], out=x[:-1]), np.add.accumulate(x)
np.add(x[:-1], x[:-1], out=x[1:]), np.add.reduce(x, out=x[3, ...]), np.add.reduce(x[:0])
assert numpy_watch.seen()[0] == {{}}
numpy_watch.misuse(np.add)
print(json.dumps(numpy_watch.seen()))
"""
    wrong, calls = run(watch, "-c", code)
    assert set(wrong) == {"add empty", "add unaligned", "add overlapping"}
    assert calls > 5


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int64", "complex64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (2, 0, 2)])
def test_nothing_to_sort(dtype: str, shape: tuple[int, ...], device: flow.Device) -> None:
    if not hasattr(flow, dtype):
        pytest.skip("needs ml_dtypes")
    x = flow.zeros(shape, dtype=getattr(flow, dtype), device=device)
    for axis in range(len(shape)):
        for stable in (False, True):
            assert flow.sort(x, axis=axis, stable=stable).shape == shape
            assert flow.argsort(x, axis=axis, stable=stable).shape == shape
    assert flow.unique_values(x).shape == (min(1, x.size),)
