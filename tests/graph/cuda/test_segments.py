"""Programs on a CUDA device as segments, on the simulated driver: what follows each other is one
kernel, prepared once; errors are those of the right operation."""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import threading
import numpy as np, oneflow_lite as flow, sim
from oneflow_lite import _C
rng = np.random.default_rng(3)
def on_device(*shape, dtype="float32"):
    return flow.tensor(rng.uniform(1, 2, shape).astype(dtype), device="cuda:0")
def compiled(function, *given, **options):
    return flow.graph.compile(flow.graph.trace(function, *given).program, **options)
def launches(program):
    "Kernels of a run, once all are compiled, and its results."
    program(), flow.synchronize(), _C.wait_for_kernels()
    flow.synchronize()
    with sim.counted() as calls:
        results = program()
        flow.synchronize()
    return calls["cuLaunchKernel"], results
def bits(tensors):
    return [(x.dtype, x.shape, x.numpy().tobytes()) for x in tensors]
def chain(a, b):
    return flow.tanh(a * 2 + b) * flow.exp(-a) + flow.sqrt(b)
def failure(x):
    try:
        x.numpy()
    except Exception as error:
        return type(error).__name__, str(error), " ".join(error.__notes__)
"""


def succeeds(run_program: Run, code: str, sim: str = "devices=1", **flags: str) -> None:
    done = run_program(HEAD + code, cuda_sim=sim, **flags)
    assert done.returncode == 0, done.stdout + done.stderr


def test_operations_that_follow_each_other_are_one_launch(run_program: Run) -> None:
    code = """
a, b = on_device(16), on_device(16)
with flow.flags(fusion=False):
    alone = compiled(chain, a, b)
    count, expected = launches(lambda: alone(a, b))
    assert count == 8 and not alone.report()["groups"], count
run = compiled(chain, a, b)
(group,) = run.report()["groups"]
assert len(group["steps"]) == 8 and group["saved_bytes"] == 7 * a.nbytes, group
assert run.report()["memory"]["arenas"][0]["bytes"] == 0
count, results = launches(lambda: run(a, b))
assert count == 1, count
assert bits(results) == bits(expected) == bits([chain(a, b)])
assert run.report()["runs"]["serial"] == 2
for _ in range(3):
    flow.synchronize()
    with sim.counted() as calls:
        results = run(a, b)
        flow.synchronize()
    for look in ("cuEventQuery", "cuStreamQuery"):
        calls.pop(look, 0)
    assert +calls == {"cuLaunchKernel": 1, "cuEventRecord": 1}, calls
"""
    succeeds(run_program, code)


def test_casts_and_reductions_are_in_groups(run_program: Run) -> None:
    code = """
def softmax(x):
    x = x.astype("float32")
    e = flow.exp(x - flow.max(x, axis=1, keepdims=True))
    return (e / flow.sum(e, axis=1, keepdims=True)).astype("float64")
x = on_device(50, 64, dtype="float64")
expected = softmax(x)
run = compiled(softmax, x)
count, results = launches(lambda: run(x))
assert count == 1, (count, run.report())
assert bits(results) == bits([expected])
def layer(x, w):
    return flow.tanh(x @ w + 1) * 2, flow.sum(x * x)
x, w = on_device(32, 32), on_device(32, 32)
expected = layer(x, w)
run = compiled(layer, x, w)
_C.use_cublas(False)
count, results = launches(lambda: run(x, w))
assert count <= 4, count  # the product, a group, and a sum in two stages
assert bits(results) == bits(expected)
assert [len(each["steps"]) for each in run.report()["segments"]] == [6]
"""
    succeeds(run_program, code)


def test_numbers_of_each_run_reach_the_kernel(run_program: Run) -> None:
    code = """
@flow.jit
def step(w, rate, start):
    x = flow.full(w.shape, start, dtype="float32", device=w.device)
    w -= rate * flow.tanh(w + x)
    return w * rate + x
traces = []
for rate in (0.5, 0.25, 2.0, -1.0):
    w = on_device(1000)
    eager = w.copy()
    x = flow.full(w.shape, rate * 3, dtype="float32", device=w.device)
    eager -= rate * flow.tanh(eager + x)
    result = step(w, rate, rate * 3)
    assert bits([w, result]) == bits([eager, eager * rate + x]), rate
    _C.wait_for_kernels()
assert len(step.explain()) == 1, step.explain()
count, _ = launches(lambda: step(w, 0.125, 1.5))
assert count == 1, count
"""
    succeeds(run_program, code)


def test_operands_may_begin_anywhere(run_program: Run) -> None:
    code = """
def program(x, y):
    return x * 2 + y, flow.sum(flow.exp(x) * y)
whole = on_device(1100)
given = [whole[k : k + 1000] for k in range(40)]
run = compiled(program, given[0], given[1])
for _ in range(3):
    for k in range(40):
        x, y = given[k], given[39 - k]
        assert bits(run(x, y)) == bits(program(x, y)), k
    _C.wait_for_kernels()
"""
    succeeds(run_program, code)


def test_members_run_one_by_one_until_the_kernel_is_there(run_program: Run) -> None:
    """Their results need memory for so long, and give it back."""
    code = """
from oneflow_lite.cuda import kernels
held = threading.Event()
def make(*request):
    if request[0].startswith("fused"):
        held.wait(100)
    return kernels.make_for(*request)
_C.set_kernel_maker(make)
a, b = on_device(5000), on_device(5000)
with flow.flags(fusion=False):
    expected = bits([chain(a, b)])
run = compiled(chain, a, b)
run.fill_arena(0xA5)
flow.synchronize()
before = flow.memory_stats("cuda:0")["in_use"]
for _ in range(5):
    with sim.counted() as calls:
        results = run(a, b)
        flow.synchronize()
    assert calls["cuLaunchKernel"] == 8, calls
    assert bits(results) == expected
    del results
    flow.synchronize()
    assert flow.memory_stats("cuda:0")["in_use"] == before
held.set()
_C.wait_for_kernels()
count, results = launches(lambda: run(a, b))
assert count == 1 and bits(results) == expected
"""
    succeeds(run_program, code)


def test_a_kernel_that_cannot_be_made_is_not_missed(run_program: Run) -> None:
    code = """
from oneflow_lite.cuda import kernels
def make(*request):
    if request[0].startswith("fused"):
        raise RuntimeError("no compiler")
    return kernels.make_for(*request)
_C.set_kernel_maker(make)
a, b = on_device(500), on_device(500)
run = compiled(chain, a, b)
for _ in range(4):
    assert bits(run(a, b)) == bits([chain(a, b)])
    _C.wait_for_kernels()
with flow.flags(cuda_kernels=False):
    expected = bits([chain(a, b)])
    assert bits(run(a, b)) == expected == bits(compiled(chain, a, b)(a, b))
"""
    succeeds(run_program, code)


def test_an_index_out_of_range_is_the_error_of_what_depends_on_it(run_program: Run) -> None:
    code = """
def program(x, index, y):
    picked = x[index]
    y += flow.sum(picked)
    return picked * 2, x + 1, flow.exp(x) * 3, y * 2
x, good = on_device(100), flow.tensor([3, 5, 7], device="cuda:0")
bad = flow.tensor([3, 100, 7], device="cuda:0")
expected = program(x, good, flow.ones(4, device="cuda:0"))
for release in ("plan", "fast", "event"):
    run = compiled(program, x, good, flow.ones(4, device="cuda:0"), release=release)
    run.fill_arena(0xA5)
    _C.wait_for_kernels()
    for _ in range(3):
        y = flow.ones(4, device="cuda:0")
        lost, sound, other, last = run(x, bad, y)
        for each in (lost, last, y):
            name, text, notes = failure(each)
            assert name == "IndexError" and "100" in text, (name, text)
            assert "program.py:" in notes, notes
        assert bits([sound, other]) == bits(expected[1:3])
        try:
            flow.synchronize()
        except IndexError:
            pass
        results = run(x, good, flow.ones(4, device="cuda:0"))
        assert bits(results) == bits(expected)
"""
    succeeds(run_program, code)


def test_a_launch_that_fails_is_that_operations_error(run_program: Run) -> None:
    code = """
def program(x, y):
    return flow.sort(x), flow.cumulative_sum(y), flow.tanh(x) * 2, flow.sort(y) + 1
x, y = on_device(64), on_device(64)
run = compiled(program, x, y)
run.fill_arena(0xA5)
count, expected = launches(lambda: run(x, y))
expected = bits(expected)
hits = set()
for nth in range(1, count + 1):
    sim.configure(f"fail=cuLaunchKernel:{nth}:701")
    results = run(x, y)
    failures = [failure(each) for each in results]
    sim.reset_faults()
    for got, right, lost in zip(results, expected, failures):
        if lost is None:
            assert bits([got]) == [right], nth
        else:
            assert "cuLaunchKernel" in lost[1] and "program.py:" in lost[2], lost
    hits.add(tuple(k for k, lost in enumerate(failures) if lost))
    try:
        flow.synchronize()
    except RuntimeError:
        pass
    assert bits(run(x, y)) == expected
assert hits == {(0,), (1,), (2,), (3,)}, hits
"""
    succeeds(run_program, code, cuda_graphs="0")


def test_out_of_memory_loses_what_needs_the_memory(run_program: Run) -> None:
    code = """
def program(x, y):
    big = flow.zeros((2000, 2000), device="cuda:0")   # 32 MB
    big += flow.sum(x)
    return big, y + 1
x, y = on_device(100), on_device(100)
expected = bits([y + 1])
run = compiled(program, x, y)
for limit, fits in (("20MB", False), ("200MB", True), ("20MB", False)):
    flow.synchronize()
    with flow.flags(memory_limit=limit):
        big, sound = run(x, y)
        lost = failure(big)
        assert (lost is None) == fits, (limit, lost)
        if lost:
            assert lost[0] == "OutOfMemoryError" and "program.py:" in lost[2], lost
        assert bits([sound]) == expected
        del big, sound
        try:
            flow.synchronize()
        except flow.OutOfMemoryError:
            pass
"""
    succeeds(run_program, code)


def test_runs_that_queue_up_do_not_raise_the_peak(run_program: Run) -> None:
    code = """
def products(x):
    for _ in range(6):
        x = flow.sin(x @ x)
    return x
x = flow.full((100, 100), 0.01, device="cuda:0")
run = compiled(products, x)
run(x)[0].numpy(), _C.wait_for_kernels()  # a workspace of cuBLAS is there
before = flow.memory_stats("cuda:0")["in_use"]
results = [run(x)[0] for _ in range(8)]
flow.synchronize()
assert (flow.memory_stats("cuda:0")["peak_in_use"] - before) / x.nbytes < 11
"""
    succeeds(run_program, code, "devices=1,kernel=1ms")


def test_the_first_operation_that_makes_a_nan_is_told(run_program: Run) -> None:
    """Of a group, with its line and the counts; runs before and afterwards are sound."""
    code = """
def work(x):
    y = flow.log(x)
    z = y * 2                                     # has them, too, and made none
    return z + 1, x + 1
x, wrong = flow.ones(100, device="cuda:0"), flow.zeros(100, device="cuda:0")
run = flow.graph.compile(flow.graph.trace(work, x).program)
assert run(x)[0].tolist() == [1] * 100
with flow.flags(check_nan_inf=True):
    assert run(x)[0].tolist() == [1] * 100
    bad, good = run(wrong)
    kind, text, notes = failure(bad)
    assert kind == "FloatingPointError" and "[log]" in text and "100" in text, (kind, text)
    assert "program.py:LINE" in notes, notes
    assert good.tolist() == [1] * 100
try:
    flow.synchronize()
except FloatingPointError:
    pass
assert run(wrong)[0].tolist() == [float("-inf")] * 100
"""
    line = 1 + (HEAD + code).splitlines().index("    y = flow.log(x)")
    succeeds(run_program, code.replace("LINE", str(line)))
