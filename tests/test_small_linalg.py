"""Linear algebra of small matrices by the library of products: bits, and whose threads work."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.blas import in_force

SMALL = {
    "det": lambda xp, x: xp.linalg.det(x),
    "slogdet": lambda xp, x: xp.linalg.slogdet(x)[1],
    "solve": lambda xp, x: xp.linalg.solve(x, x[..., ::-1, :]),
    "solve of a column": lambda xp, x: xp.linalg.solve(x, x[..., :1]),
    "inv": lambda xp, x: xp.linalg.inv(x),
    "cholesky": lambda xp, x: xp.linalg.cholesky(x),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("name", SMALL)
def test_bits_do_not_depend_on_the_threads(name: str, dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(0)
    for shape in ((0, 0), (1, 1), (3, 7, 7), (65, 65), (150, 150), (2, 200, 200), (256, 256)):
        x = rng.normal(size=shape)
        x = x + 1j * x[..., ::-1, :] if dtype[0] == "c" else x
        x = (x @ x.conj().swapaxes(-1, -2) / 100 + np.eye(shape[-1])).astype(dtype)
        call = SMALL[name]
        t = flow.tensor(x, device=device)
        with flow.flags(num_threads=1):
            alone = call(flow, t).numpy()
        with np.errstate(over="ignore"):
            expected = call(np, x)
        tolerance = 1e-3 if dtype == "float32" else 1e-7
        np.testing.assert_allclose(alone, expected, rtol=tolerance, atol=tolerance)
        for threads in (2, 3):
            with flow.flags(num_threads=threads):
                assert np.array_equal(alone, call(flow, t).numpy(), equal_nan=True)
        with flow.flags(sync=True):
            assert np.array_equal(alone, call(flow, t).numpy(), equal_nan=True)
        turned = flow.matrix_transpose(flow.matrix_transpose(t).copy())
        assert np.array_equal(alone, call(flow, turned).numpy(), equal_nan=True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_small_matrices_leave_the_threads_of_numpys_library_asleep(
    run_program: Callable[..., Any],
) -> None:
    if not in_force().core:
        pytest.skip("this build has no OpenBLAS")
    code = """
import os, time
import numpy as np
x = np.random.default_rng(0).normal(size=(200, 200))
theirs = sorted(set(os.listdir("/proc/self/task")) - {str(os.getpid())})
def used():
    return [int(open(f"/proc/self/task/{one}/schedstat").read().split()[0]) for one in theirs]
import oneflow_lite as flow
t = flow.tensor(x)
spd = flow.tensor(x @ x.T + np.eye(200))
before = None
while before != (before := used()):  # they spin for a while after they were started
    time.sleep(0.3)
for _ in range(10):
    flow.linalg.det(t).item(), flow.linalg.slogdet(t)[1].item(), flow.linalg.inv(t).numpy()
    flow.linalg.solve(t, t[:, 0]).numpy(), flow.linalg.solve(t, t).numpy()
    flow.linalg.cholesky(spd).numpy()
print(used() == before)
"""
    done = run_program(code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
