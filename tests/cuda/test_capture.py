"""Other libraries capture streams of theirs into graphs, on simulated devices, while tensors work:
neither spoils the other.
"""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import sys
import ctypes, threading
import numpy as np, oneflow_lite as flow
from tests.support.cuda_library import Library, call

library = Library(0)
array = library.array([1, 2, 3])
library.synchronize()
GLOBAL = 0

class Captured:
    "A fill of the array in a graph, captured in a with block; then launched."
    def __enter__(self):
        with library.context:
            call("cuStreamBeginCapture", library.stream, ctypes.c_int(GLOBAL))
            library.fill(array.address.value, 7, 24)
    def __exit__(self, kind, *_):
        graph, replay = ctypes.c_void_p(), ctypes.c_void_p()
        with library.context:
            call("cuStreamEndCapture", library.stream, ctypes.pointer(graph))
            call("cuGraphInstantiateWithFlags", ctypes.pointer(replay), graph, ctypes.c_uint64(0))
            call("cuGraphLaunch", replay, library.stream)
        values = library.read(array.address.value, [3], "i8")
        library.synchronize()
        assert (values == 0x0707070707070707).all(), values

def work(device):
    "First uses of all that a device has, as far as a capture may meet it."
    x = np.random.default_rng(1).random((300, 400), dtype=np.float32)
    y = flow.tensor(x, device=device)                      # copies, pinned memory
    z = (flow.exp(y) + y.sum(axis=1, keepdims=True)).T     # kernels, modules
    w = (y @ y.T).cpu()                                    # cuBLAS, its workspace
    large = flow.tensor(np.ones(5 << 20), device=device)   # staged in chunks
    del y
    assert large.sum().item() == 5 << 20
    np.testing.assert_allclose(w.numpy(), x @ x.T, rtol=1e-4)
    assert (np.abs(z.numpy() - (np.exp(x) + x.sum(axis=1, keepdims=True)).T) < 1e-2).all()
    flow.synchronize()
"""


def succeeds(run_program: Run, code: str, **flags: str) -> None:
    done = run_program(HEAD + code, **{"cuda_sim": "devices=2"} | flags)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sync", ["0", "1"])
def test_the_thread_that_captures_may_use_tensors(run_program: Run, sync: str) -> None:
    code = """
for _ in range(2):
    with Captured():
        work("cuda:0")
        work("cuda:1")
        flow.tensor([1.0], device="cuda:0").cuda(1).cpu().numpy()
"""
    succeeds(run_program, code, sync=sync)


def test_other_threads_may_use_tensors(run_program: Run) -> None:
    code = """
errors = []
def run():
    try:
        work("cuda:0")
    except BaseException as error:
        errors.append(error)
for _ in range(2):
    with Captured():
        threads = [threading.Thread(target=run) for _ in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
assert errors == [], errors
"""
    succeeds(run_program, code)


def test_devices_may_end_beside_a_capture(run_program: Run) -> None:
    code = """
work("cuda:0")
with library.context:
    call("cuStreamBeginCapture", library.stream, ctypes.c_int(GLOBAL))
"""
    succeeds(run_program, code)
