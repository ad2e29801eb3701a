"""When kernels are compiled, on the simulated driver: in the background from when a call is issued,
and once for all processes of a user."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
# The maker of kernels is told which thread asks, and may be held up there.
HEAD = """
import os, sys, threading, time
import numpy as np, oneflow_lite as flow, sim
from oneflow_lite import _C
from oneflow_lite.cuda import compiler, kernels
made, changed = [], threading.Condition()       # (operation, asked for by a worker)
def before(op, by_worker):
    pass
def make(*request):
    by_worker = open("/proc/thread-self/comm").read().startswith("cuda:")
    before(request[1], by_worker)
    image = kernels.make_for(*request)
    with changed:
        made.append((request[1], by_worker))
        changed.notify_all()
    return image
_C.set_kernel_maker(make)
def wait_for(*wanted):
    with changed:
        return changed.wait_for(lambda: set(wanted) <= set(made), timeout=60)
"""


def succeeds(run_program: Run, code: str, **flags: str) -> str:
    done = run_program(HEAD + code, cuda_sim="devices=1", **flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_profilers_see_what_a_kernel_does(run_program: Run) -> None:
    code = """
names = set()
make_any = make
def make(*request):
    names.add(request[-1])
    return make_any(*request)
_C.set_kernel_maker(make)
x = flow.ones((300, 200), dtype="float32", device="cuda:0")
fused = "ofl_fused_elementwise_multiply_elementwise_add_elementwise_exp_copy_float32_float64"
with flow.flags(fusion=True):
    for _ in range(1000):  # where the worker is faster than this thread, it runs them one by one
        y = flow.exp(x * 2 + 1).astype("float64")
        flow.synchronize()
        _C.wait_for_kernels()
        if fused in names:
            break
z = flow.sum(y, axis=0)[flow.tensor([1, 5], device="cuda:0")]
flow.synchronize()
assert len(names) > 4 and all(name.isidentifier() and len(name) <= 100 for name in names), names
for wanted in ("ofl_copy_float32", "ofl_reduction_sum_float64", "ofl_gather", fused):
    assert wanted in names, (wanted, names)
"""
    succeeds(run_program, code)


def test_kernels_are_compiled_while_the_worker_is_busy(run_program: Run) -> None:
    code = """
held = threading.Event()
def before(op, by_worker):
    if by_worker:
        assert held.wait(120)
x = flow.ones(16, dtype="float32", device="cuda:0")
results = [flow.exp(x), flow.sin(x + 1), x.astype("float64") * 2]
assert wait_for(("exp", False), ("add", False), ("sin", False), ("multiply", False)), made
assert not any(by_worker for _, by_worker in made), made
held.set()
assert np.allclose(results[0].numpy(), np.e) and np.allclose(results[1].numpy(), np.sin(2))
assert (results[2].numpy() == 2).all()
"""
    succeeds(run_program, code)


def test_all_kernels_of_a_call_are_compiled_while_the_worker_is_busy(run_program: Run) -> None:
    """Neither one that the call needs is left out, nor is one compiled that it does not need."""
    code = """
x = flow.tensor(np.arange(4096, dtype="float32").reshape(64, 64), device="cuda:0")
y = flow.tensor(np.arange(64, dtype="float32"), device="cuda:0")
rows = flow.tensor(np.ones((4, 64), dtype="float32"), device="cuda:0")
long = flow.tensor(np.arange(300_000, dtype="float32"), device="cuda:0")
index = flow.tensor(np.array([3, 1, 2, 0]), device="cuda:0")
mask = flow.tensor(np.arange(64) % 2 == 0, device="cuda:0")
calls = [
    (lambda: flow.sum(x, axis=1), "reduction:sum"),
    (lambda: flow.max(long), "reduction:max reduction:max"),  # of chunks, of what they become
    (lambda: flow.argmax(x, axis=0), "arg_reduce:largest"),
    (lambda: flow.sort(y), "sort:lanes"),
    (lambda: flow.argsort(long), "sort:places sort:counts sort:scan"),
    (lambda: flow.sort(x, axis=0), "copy:"),                  # what sorts lanes is there
    (lambda: flow.cumsum(x, axis=1), "scan:add"),
    (lambda: x @ x, "matmul:tiled"),
    (lambda: x @ y, "matmul:rows"),
    (lambda: x.astype("float64"), "copy:"),
    (lambda: x[index], "gather:"),
    (lambda: flow.searchsorted(long, y), "search:search_sorted"),
    (lambda: x.__setitem__(index, rows), "scatter:claim scatter:clear scatter:write"),
    (lambda: x.__setitem__(mask, 1), "mask:scatter"),
]
_C.use_cublas(False)
flow.synchronize()
_C.wait_for_kernels()
held, asked = threading.Event(), []
def make(*request):
    if open("/proc/thread-self/comm").read().startswith("cuda:"):
        assert held.wait(120)
    else:
        asked.append(":".join(request[:2]))
    return kernels.make_for(*request)
_C.set_kernel_maker(make)
for call, wanted in calls:
    held.clear()
    asked.clear()
    result = call()
    _C.wait_for_kernels()
    found = sorted(asked)
    held.set()
    flow.synchronize()
    assert found == sorted(wanted.split()), (found, wanted)
"""
    succeeds(run_program, code)


def test_a_kernel_is_made_in_the_background_once(run_program: Run) -> None:
    code = """
x = flow.ones(16, dtype="float32", device="cuda:0")
for i in range(50):
    y = x + i
assert (y.numpy() == 50).all()
_C.wait_for_kernels()
assert made.count(("add", False)) <= 1, made
z = x[::2] + x[1::2]                            # of another layout: another kernel
assert (z.numpy() == 2).all()
"""
    succeeds(run_program, code)


def test_what_fails_in_the_background_fails_where_it_is_wanted(run_program: Run) -> None:
    code = """
def before(op, by_worker):
    if op == "exp" and not by_worker:
        raise compiler.CompileError("refused in the background")
    if op == "sin":
        raise compiler.CompileError("refused")
x = flow.ones(16, dtype="float32", device="cuda:0")
y, z = flow.exp(x), flow.sin(x)
assert np.allclose(y.numpy(), np.e)
try:
    z.numpy()
except RuntimeError as error:
    assert "refused" in str(error) and "background" not in str(error), error
else:
    raise AssertionError("there is no kernel")
try:
    flow.synchronize()
except RuntimeError:
    pass
assert (x + 1).sum().item() == 32
"""
    succeeds(run_program, code)


@pytest.mark.parametrize("end", ["pass", "os._exit(0)", "sys.exit(0)", "os.fork() or os._exit(0)"])
def test_the_process_ends_in_the_middle_of_it(run_program: Run, end: str) -> None:
    code = """
begun = threading.Event()
def before(op, by_worker):
    if op == "exp" and not by_worker:
        begun.set()
        time.sleep(0.5)                         # compiles for so long
    if op == "exp" and by_worker:
        begun.wait()
x = flow.ones(16, dtype="float32", device="cuda:0")
y = flow.exp(x)
assert begun.wait(60)
END
"""
    succeeds(run_program, code.replace("END", end))


def test_a_fork_in_the_middle_of_it(run_program: Run) -> None:
    code = """
begun, go_on = threading.Event(), threading.Event()
def before(op, by_worker):
    if op == "exp" and not by_worker:
        begun.set()
        assert go_on.wait(60)
    if op == "exp" and by_worker:
        assert begun.wait(60)
x = flow.ones(16, dtype="float32", device="cuda:0")
y = flow.exp(x)
assert begun.wait(60)
flow.synchronize()                              # the worker has made it by itself
child = os.fork()
if not child:
    ok = (flow.ones(3) + 1).tolist() == [2, 2, 2]
    try:
        (x + 1).numpy()
    except RuntimeError as error:
        ok = ok and "fork" in str(error)
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
go_on.set()
assert np.allclose(y.numpy(), np.e) and wait_for(("exp", False))
"""
    succeeds(run_program, code)


def test_ctrl_c_while_a_kernel_is_compiled(tmp_path: Path) -> None:
    code = """
def before(op, by_worker):
    if op == "exp" and by_worker:
        print("compiling", flush=True)
        time.sleep(1)
x = flow.ones(16, dtype="float32", device="cuda:0")
y = flow.exp(x)
try:
    y.numpy()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert np.allclose(y.numpy(), np.e)
"""
    program = tmp_path / "program.py"
    program.write_text(HEAD + code)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        env=os.environ | {"ONEFLOW_LITE_CUDA_SIM": "devices=1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "compiling\n"
    time.sleep(0.2)  # it waits by now; where it does not yet, the interrupt comes at that
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "interrupted" in out


def test_the_first_slow_compilation_is_said_in_the_log(run_program: Run, tmp_path: Path) -> None:
    code = f"""
import io, logging
os.environ["XDG_CACHE_HOME"] = {str(tmp_path / "cache")!r}
compile_, slow = compiler.compile, "exp sin".split()
lines = io.StringIO()
logging.getLogger("oneflow_lite").addHandler(logging.StreamHandler(lines))
clock, late = time.perf_counter, 0.0
def compile_slowly(text, *args):
    global late
    image = compile_(text, *args)
    late += delay
    return image
compiler.compile = compile_slowly
kernels.time = type("time", (), {{"perf_counter": staticmethod(lambda: late)}})
x = flow.ones(16, dtype="float32", device="cuda:0")
def said(use, seconds):
    global delay
    delay = seconds
    start = lines.tell()
    use(x).numpy()
    _C.wait_for_kernels()
    return lines.getvalue()[start:].splitlines()
delay = 0.09
assert said(flow.cos, 0.09) == []
shown = said(flow.exp, 0.25)
assert len(shown) == 1 and "elementwise exp(float32" in shown[0] and "250 ms" in shown[0], shown
assert said(flow.sin, 0.25) == []               # one line by default
logging.getLogger("oneflow_lite").setLevel("INFO")
assert len(said(flow.tan, 0.25)) == 1
"""
    succeeds(run_program, code)


def test_a_header_of_another_build_is_refused(run_program: Run) -> None:
    code = """
texts = sys.modules["oneflow_lite.cuda.kernels.source"]
read = texts._read
def planted(path):
    included, text = read(path)
    for name in ("ReduceArgs", "ElementwiseRow"):
        text = text.replace("struct %s {" % name, "struct %s { int64 planted;" % name)
    return included, text
texts._read = planted
x = flow.tensor(np.arange(60_000, dtype="float32"), device="cuda:0")
assert (x + 1)[1].item() == 2                   # no rows: the argument is as before
for refused in (lambda: x.sum(), lambda: x[::2] + 1):
    try:
        refused().numpy()
    except RuntimeError as error:
        assert "the host gives the argument of ofl_" in str(error), error
    else:
        raise AssertionError("the kernel was taken")
"""
    succeeds(run_program, code)


def test_a_second_process_compiles_nothing(run_program: Run, tmp_path: Path) -> None:
    """All calls of a round are issued before the first one runs: each round has the same groups."""
    code = f"""
# After the simulated driver was found; not where programs run, as it gets a folder "oneflow_lite".
os.environ["XDG_CACHE_HOME"] = {str(tmp_path / "cache")!r}
count, compile_ = [], compiler.compile
compiler.compile = lambda *args: (count.append(args[1]), compile_(*args))[1]
for _ in range(4):
    host, opened = flow.tensor(np.arange(60_000, dtype="float32")), threading.Event()
    held = flow.vm.host_func(lambda *_: opened.wait(), writes=[host])
    x = host.to("cuda:0")
    y = flow.exp(-x) * 2 + flow.sqrt(x)
    results = [y.sum(), flow.sort(y)[5], y.astype("float64").max()]
    m = x[:2500].reshape(50, 50)
    results.append((m @ m)[3, 4])
    opened.set()
    flow.synchronize()
    _C.wait_for_kernels()
print(len(count))
"""
    first, second = (int(succeeds(run_program, code).split()[-1]) for _ in range(2))
    assert first >= 5
    assert second == 0
