"""CUDA devices, on the simulated driver: each test in a process of its own, as a driver is chosen
once. What tensors do on them, all other tests show when ONEFLOW_LITE_CUDA_SIM is set."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import oneflow_lite as flow

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = "import numpy as np, oneflow_lite as flow, sys\n"


def succeeds(run_program: Run, code: str, **flags: str) -> str:
    done = run_program(HEAD + code, **flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(flow.cuda.is_available(), reason="there is a driver")
def test_without_a_driver_the_reason_says_what_to_do() -> None:
    assert flow.cuda.device_count() == 0
    reason = flow.cuda.unavailable_reason()
    assert "\n" not in reason
    assert "driver" in reason
    for use in (
        lambda: flow.ones(2, device="cuda:0"),
        lambda: flow.ones(2).cuda(),
        lambda: flow.cuda.synchronize(),
        lambda: flow.cuda.get_device_properties(0),
    ):
        with pytest.raises((RuntimeError, ValueError), match="driver"):
            use()


@pytest.mark.simulated
def test_a_driver_without_devices_says_so(run_program: Run) -> None:
    code = "print(flow.cuda.unavailable_reason()); print(flow.cuda.device_count())"
    out = succeeds(run_program, code, cuda_sim="devices=0")
    assert "sees no device" in out
    assert out.splitlines()[-1] == "0"


@pytest.mark.simulated
def test_tensors_may_be_there_when_nothing_else_is_said(run_program: Run) -> None:
    code = "x = flow.ones(3); print(x.device, (x + 1).numpy(), x.cpu().device)"
    out = succeeds(run_program, code, device="cuda:1", cuda_sim="devices=2")
    assert out.split("\n")[0] == "cuda:1 [2. 2. 2.] cpu"
    done = run_program(HEAD, device="cuda:2", cuda_sim="devices=2")
    assert done.returncode != 0
    assert "cuda:2 does not exist, there are 2 cuda devices" in done.stderr


@pytest.mark.simulated
def test_numbers_in_parameters_are_no_pointers(run_program: Run) -> None:
    code = """
for value in (2.0**49, 2.0**53, 2.0**62, 2**62 + 2**58, -2.0**53):
    assert (flow.full(3, value, device="cuda:0").numpy() == value).all()
"""
    succeeds(run_program, code, cuda_sim="devices=2")


@pytest.mark.simulated
def test_a_driver_that_cannot_start_says_so(run_program: Run) -> None:
    code = "import sim; sim.configure('fail=cuInit:1:999'); print(flow.cuda.unavailable_reason())"
    said = succeeds(run_program, code, cuda_sim="devices=1")
    assert "cannot start: CUDA_ERROR_UNKNOWN (999)" in said


@pytest.mark.simulated
def test_a_wrong_simulation_is_named(run_program: Run) -> None:
    done = run_program("import oneflow_lite", cuda_sim="devises=3")
    assert done.returncode == 1
    assert "ValueError: ONEFLOW_LITE_CUDA_SIM: " in done.stderr
    assert "devises" in done.stderr


@pytest.mark.simulated
def test_an_old_driver_is_named(run_program: Run, tmp_path: Path) -> None:
    source = tmp_path / "old.c"
    source.write_text("int cuInit(unsigned flags) { return 0; }")
    library = tmp_path / "libcuda.so.1"
    compiler = ["g++", "-x", "c", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o"]
    subprocess.run([*compiler, str(library), str(source)], check=True)
    code = f"""
import ctypes
ctypes.CDLL({str(library)!r}, ctypes.RTLD_GLOBAL)
print(flow.cuda.unavailable_reason())
"""
    assert "too old" in succeeds(run_program, code)


@pytest.mark.simulated
def test_devices_have_properties_and_no_context_until_a_tensor_names_them(
    run_program: Run,
) -> None:
    code = """
import sim
assert flow.cuda.is_available() and flow.cuda.device_count() == 2
one = flow.cuda.get_device_properties(1)
assert one.architecture == "sm_90" and one.total_memory == 64 << 20
contexts = lambda: sim.counters()["live"]["contexts"]
assert contexts() == 0
x = flow.ones(3, device="cuda:1")
assert x.sum().item() == 3 and str(x.device) == "cuda:1"
assert contexts() == 1
flow.cuda.synchronize(1)
try:
    flow.ones(3, device="cuda:2")
except ValueError as error:
    assert "there are 2 cuda devices" in str(error), error
else:
    raise AssertionError("there is no cuda:2")
"""
    succeeds(run_program, code, cuda_sim="devices=2,memory=64MiB")


@pytest.mark.simulated
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_copies_and_kernels_are_ordered_whatever_the_queues_do(run_program: Run, seed: str) -> None:
    code = """
rng = np.random.default_rng(int(sys.argv[1]))
want, got = [], []
for i in range(30):
    a, b = rng.normal(size=(2, 50, 40)).astype(np.float32)
    x, y = flow.tensor(a).cuda(i % 2), flow.tensor(b, device=f"cuda:{i % 2}")
    z = x * y + x
    z[1:] -= y[:-1]
    got.append((z.cuda(1 - i % 2) @ y.cuda(1 - i % 2).T).sum(axis=0))
    c = a * b + a
    c[1:] -= b[:-1]
    want.append((c @ b.T).sum(axis=0))
for one, other in zip(got, want):
    np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-4)
stats = flow.vm.stats()
"""
    knobs = f"devices=2,jitter=200us,seed={seed}"
    succeeds(run_program, code.replace("sys.argv[1]", seed), cuda_sim=knobs)


@pytest.mark.simulated
def test_a_lost_device_says_so_and_the_others_go_on(run_program: Run) -> None:
    code = """
import sim
x, y = flow.ones(1000, device="cuda:0"), flow.ones(1000, device="cuda:1")
(x + x).numpy(), (y + y).numpy()
sim.configure("die=copy:1:700")
z = x.cpu()
try:
    z.numpy()
except RuntimeError as error:
    assert "cuda:0" in str(error) and "ILLEGAL_ADDRESS" in str(error), error
    assert "program.py" in error.__notes__[0]
else:
    raise AssertionError("the copy failed")
for use in (lambda: (x + 1).numpy(), lambda: flow.ones(3, device="cuda:0").numpy()):
    try:
        use()
    except RuntimeError as error:
        assert "lost" in str(error) and "restart" in str(error), error
    else:
        raise AssertionError("the device is lost")
assert (y + y).sum().item() == 2000 and (flow.ones(3) + 1).tolist() == [2, 2, 2]
try:
    flow.synchronize()
except RuntimeError:
    pass
"""
    succeeds(run_program, code, cuda_sim="devices=2")


@pytest.mark.simulated
def test_memory_runs_out_and_comes_back(run_program: Run) -> None:
    code = """
x = flow.zeros((4 << 20,), dtype=flow.uint8, device="cuda:0")
y = flow.zeros((64 << 20,), dtype=flow.uint8, device="cuda:0")
try:
    y.numpy()
except flow.OutOfMemoryError as error:
    assert "capacity 16.0 MiB" in str(error), error
else:
    raise AssertionError("there is not so much")
del y
assert flow.zeros((8 << 20,), dtype=flow.uint8, device="cuda:0").sum().item() == 0
for _ in range(50):
    x = x + 1
assert x[0].item() == 50
"""
    succeeds(run_program, code, cuda_sim="devices=1,memory=16MiB")


@pytest.mark.simulated
def test_a_failed_call_poisons_its_tensor_and_nothing_else(run_program: Run) -> None:
    code = """
import sim
x = flow.ones(100, device="cuda:0")
x.numpy()
for call in ("cuMemcpyDtoHAsync", "cuEventRecord"):
    sim.configure(f"fail={call}:1:1")
    try:
        (x + 1).numpy()
    except RuntimeError as error:
        assert call in str(error) and "program.py" in error.__notes__[0], error
    else:
        raise AssertionError(call)
    sim.reset_faults()
    try:
        flow.synchronize()
    except RuntimeError:
        pass
    assert (x + 1).sum().item() == 200
"""
    succeeds(run_program, code, cuda_sim="devices=1")


@pytest.mark.simulated
def test_a_forked_child_is_told(run_program: Run) -> None:
    code = """
import os
x = flow.ones(100, device="cuda:0")
x.numpy()
child = os.fork()
if child == 0:
    status = 1
    try:
        (x + 1).numpy()
    except RuntimeError as error:
        status = 0 if "fork" in str(error) else 2
    if status == 0 and (flow.ones(3) + 1).tolist() != [2, 2, 2]:
        status = 3
    os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (x + 1).sum().item() == 200
"""
    succeeds(run_program, code, cuda_sim="devices=1")


@pytest.mark.simulated
def test_nothing_is_left_behind(run_program: Run) -> None:
    code = """
import gc, sim
def work():
    for i in range(20):
        x = flow.tensor(np.ones((100, 100), np.float32)).cuda(i % 2)
        ((x @ x).sum() + i).item()
    flow.synchronize()
    gc.collect()
    flow.empty_cache()
    return sim.counters()["live"]
first = work()
second = work()
pooled = ("events", "modules")  # some more, or one for each kernel
assert all(second[k] == first[k] for k in first if k not in pooled), (first, second)
assert second["events"] < 100
"""
    succeeds(run_program, code, cuda_sim="devices=2")


@pytest.mark.simulated
def test_what_runs_on_the_host_is_said_once(run_program: Run) -> None:
    code = """
x = flow.tensor([[4.0, 0.0], [0.0, 9.0]], device="cuda:0")
cholesky = flow.linalg.cholesky
assert cholesky(x).tolist() == cholesky(x).tolist() == [[2, 0], [0, 3]]
assert "cholesky" in flow.cuda.host_operations()
"""
    done = run_program(HEAD + code, cuda_sim="devices=1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cholesky has no kernel") == 1


@pytest.mark.simulated
@pytest.mark.parametrize("kernels", [True, False])
def test_who_computes_is_decided_when_it_is_issued(run_program: Run, kernels: bool) -> None:
    code = f"""
import threading
gate = threading.Event()
values = np.arange(60000.0)
host = flow.tensor(values)
flow.vm.host_func(lambda _: gate.wait(60), writes=[host])
x = host.to("cuda:0")
y = host.to("cuda:0")
with flow.flags(cuda_kernels=False):
    on_host = flow.sin(x), flow.sort(x)
    flow.add(y[1:], 1, out=y[:-1])  # in the order of memory: no other place is needed
    y *= 2
    y -= x
with flow.flags(cuda_kernels=True):
    on_device = flow.cos(x), flow.argsort(x)
    flow.add(y[1:], 1, out=y[:-1])
with flow.flags(cuda_kernels={kernels}):
    gate.set()
    flow.synchronize()
names = flow.cuda.host_operations()
assert "sin" in names and "sort" in names, names
assert "cos" not in names and "argsort" not in names, names
assert (on_host[0].numpy() == np.sin(values)).all()
assert (on_device[1].numpy() == np.arange(60000)).all()
expected = values.copy()
for step in range(2):
    np.add(expected[1:], 1, out=expected[:-1])
    if step == 0:
        expected *= 2
        expected -= values
assert (y.numpy() == expected).all()
"""
    succeeds(run_program, code, cuda_sim="devices=1,jitter=50us")


@pytest.mark.simulated
@pytest.mark.parametrize("peer", ["1", "0"])
def test_a_lost_device_does_not_take_its_peer_along(run_program: Run, peer: str) -> None:
    """A copy between the two fails with the code of the lost one, which is not the target's."""
    code = """
import sim
x, y = flow.ones(5, device="cuda:0"), flow.ones(5, device="cuda:1")
x.numpy(), y.numpy()
if IS_KNOWN:
    x.cuda(1).numpy()
sim.configure("die=kernel:1:700")
late = x + x  # the copy is issued before the loss is known
for use in (lambda: late.cuda(1).numpy(), lambda: x.cuda(1).numpy(), lambda: x.cuda(1).numpy()):
    try:
        use()
    except RuntimeError as error:
        assert "[cuda:0]" in str(error) and "ILLEGAL_ADDRESS" in str(error), error
        assert "program.py" in error.__notes__[0]
    else:
        raise AssertionError("the copy failed")
    assert (y + 1).tolist() == [2] * 5
try:
    flow.synchronize()
except RuntimeError:
    pass
"""
    for is_known in ("False", "True"):
        knobs = f"devices=2,jitter=50us,peer={peer}"
        succeeds(run_program, code.replace("IS_KNOWN", is_known), cuda_sim=knobs)


@pytest.mark.simulated
@pytest.mark.parametrize("nth", ["1", "7", "20"])
def test_a_device_is_lost_while_all_its_streams_are_at_work(run_program: Run, nth: str) -> None:
    code = """
import sim
x = flow.ones((50, 40), device="cuda:0")
x.numpy()
sim.configure("jitter=100us,die=copy:NTH:700")
results = [flow.fft.fft(flow.tensor(np.ones((50, 40))).cuda() + i).cpu() for i in range(30)]
lost = 0
for one in results:
    try:
        one.numpy()
    except RuntimeError as error:
        lost += 1
assert lost > 0
del x, results, one
assert (flow.ones(3) + 1).tolist() == [2, 2, 2]
assert flow.ones(3, device="cuda:1").sum().item() == 3
try:
    flow.synchronize()
except RuntimeError:
    pass
"""
    succeeds(run_program, code.replace("NTH", nth), cuda_sim="devices=2")
