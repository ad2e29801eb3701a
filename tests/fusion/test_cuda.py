"""Fusion on CUDA devices: groups of a device queue run as one kernel, with the same bits."""

import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import numpy as np, oneflow_lite as flow
from oneflow_lite import _C
rng = np.random.default_rng(3)
a, b = rng.random((2, 60_000), dtype=np.float32)
A, B = flow.tensor(a, device="cuda:0"), flow.tensor(b, device="cuda:0")
def chain():
    return flow.tanh(A * 2 + B) * flow.exp(-A) + flow.sqrt(B)
def fused(name="instructions"):
    return flow.vm.stats()["fused_" + name]
def warm_up(program):
    for _ in range(3):
        flow.synchronize(), [program() for _ in range(5)], flow.synchronize(), _C.wait_for_kernels()
"""


def succeeds(run_program: Run, code: str, **flags: str) -> str:
    flags = {"cuda_sim": "devices=1,jitter=20us"} | flags
    done = run_program(HEAD + code, **flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_a_program_repeats_is_fused_whole(run_program: Run) -> None:
    code = """
with flow.flags(fusion=False):
    want = chain().numpy()
warm_up(chain)
groups, before, saved = fused("groups"), fused(), fused("bytes")
got = [chain() for _ in range(10)]
flow.synchronize()
assert all((x.numpy() == want).all() for x in got)
assert fused("groups") - groups >= 9, flow.vm.stats()  # the device was idle when the first began
assert fused() - before >= 9 * 8
assert fused("bytes") - saved >= 9 * 7 * a.nbytes
"""
    succeeds(run_program, code)


def test_what_others_see_is_in_memory(run_program: Run) -> None:
    code = """
def program():
    t = A * B
    u = t + 1
    v = t - u
    del t
    u *= 2
    return u, v[1:]
want = (a * b + 1) * 2, (a * b - (a * b + 1))[1:]
warm_up(program)
before = fused()
for u, v in [program() for _ in range(10)]:
    assert (u.numpy() == want[0]).all() and (v.numpy() == want[1]).all()
assert fused() > before
"""
    succeeds(run_program, code)


def test_a_failed_operand_is_not_fused_and_others_go_on(run_program: Run) -> None:
    code = """
warm_up(chain)
bad = A.reshape(-1)[flow.tensor([len(a) + 5], device="cuda:0")]
worse = bad + A
x, y = chain(), chain() + worse
assert np.isfinite(x.numpy()).all()
for failed in (worse, y):
    try:
        failed.numpy()
    except IndexError as error:
        assert "out of bounds" in str(error), error
    else:
        raise AssertionError("not told")
try:
    flow.synchronize()
except IndexError:
    pass
"""
    succeeds(run_program, code)


def test_a_launch_that_fails_poisons_all_of_its_group(run_program: Run) -> None:
    code = """
import sim
warm_up(chain)
sim.configure("fail=cuLaunchKernel:1:1")  # invalid value
x = chain()
try:
    x.numpy()
except RuntimeError as error:
    assert "cuLaunchKernel" in str(error), error
else:
    raise AssertionError("not told")
sim.configure("")
try:
    flow.synchronize()
except RuntimeError:
    pass
with flow.flags(fusion=False):
    want = chain().numpy()
assert (chain().numpy() == want).all()
"""
    succeeds(run_program, code)


def test_groups_wait_for_copies_that_others_make(run_program: Run) -> None:
    code = """
def program(i):
    x = flow.tensor(a + np.float32(i)).cuda()
    return flow.sqrt(x * 2 + B) - x
for r in range(4):
    got = [program(i) for i in range(12)]
    for i, x in enumerate(got):
        h = a + np.float32(i)
        assert (x.numpy() == np.sqrt(h * 2 + b) - h).all()
    _C.wait_for_kernels()
assert fused() > 0
"""
    succeeds(run_program, code)


def test_with_little_memory_nothing_fails_that_would_not_one_by_one(run_program: Run) -> None:
    code = """
n = 1 << 19  # 2 MiB of float32
x = flow.ones(n, device="cuda:0", dtype=flow.float32)
for r in range(6):
    outs = []
    for i in range(6):
        y = x + i
        z = y * 2
        outs.append(y - z if i % 2 else z)
        del y, z
    flow.synchronize()
    assert [float(o[0].item()) for o in outs] == [2, -2, 6, -4, 10, -6], outs
    del outs
    _C.wait_for_kernels()
"""
    succeeds(run_program, code, cuda_sim="devices=1,memory=20MiB")


ROWS = """
import threading

def run(program, arrays):
    'What it gives on the device, all that it issues waiting for one gate.'
    hosts = [flow.tensor(array) for array in arrays]
    opened = threading.Event()
    held = flow.vm.host_func(lambda *_: opened.wait(), writes=hosts)
    results = program(*(host.to("cuda:0") for host in hosts))
    opened.set()
    flow.synchronize()
    held.result()
    return [x.numpy() for x in results]

def judge(program, arrays, instructions, results):
    'One group of so many instructions and hidden results, with the bits of single kernels.'
    with flow.flags(fusion=False):
        want = run(program, arrays)
    wanted = (1, instructions, results)
    for _ in range(10):  # the first ones ask for the kernel
        before = fused("groups"), fused(), fused("results")
        got = run(program, arrays)
        made = fused("groups") - before[0], fused() - before[1], fused("results") - before[2]
        assert all((x == y).all() for x, y in zip(got, want, strict=True))
        if made == wanted:
            return want
        _C.wait_for_kernels()
    raise AssertionError(made)

def softmax(x):
    e = flow.exp(x - x.max(axis=-1, keepdims=True))
    return [e / e.sum(axis=-1, keepdims=True)]
"""


@pytest.mark.parametrize("columns", [256, 5, 8191])
def test_softmax_is_one_kernel(run_program: Run, columns: int) -> None:
    code = f"""
rows, columns = {60_000 // columns}, {columns}
x = rng.standard_normal((rows, columns + 1), np.float32)
want, = judge(softmax, [x[:, 1:]], 5, 4)
assert abs(want.sum(axis=-1) - 1).max() < 1e-5
if columns == 256:
    judge(softmax, [x[:, 1:].astype(np.float16)], 5, 4)
judge(lambda x: softmax(x[:, 1:] * 1), [x], 6, 5)  # its rows begin where no vector may
"""
    succeeds(run_program, ROWS + code)


def test_normalized_rows_are_one_kernel(run_program: Run) -> None:
    code = """
def program(x, scale):
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    deviation = flow.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    return [centred / deviation * scale, mean, deviation]
judge(program, [a.reshape(100, 600), b[:600]], 10, 7)
"""
    succeeds(run_program, ROWS + code)


def test_distances_are_summed_where_they_are_made(run_program: Run) -> None:
    code = """
points, centres = a.reshape(10_000, 6), b[:60].reshape(10, 6)
judge(lambda x, y: [((x[:, None] - y) ** 2).sum(axis=-1)], [points, centres], 3, 2)
judge(lambda x, y: [((x[::2, ::-1] - y[0]) ** 2).sum(axis=-1)], [points, centres], 3, 2)
judge(lambda x: [(x[:, :3] * x[:, 3:]).sum(axis=-1)], [points], 2, 1)
"""
    succeeds(run_program, ROWS + code)


def test_rows_of_several_dtypes(run_program: Run) -> None:
    code = """
x, z = a.astype(np.float64).reshape(100, 600), (a * (1 - 2j * b)).reshape(100, 600)
def share_of_the_chosen(x, y):
    chosen = (x > 0.3) & (y > 0)  # eight bits, beside which float64 makes no vectors
    count = chosen.sum(axis=1, keepdims=True)
    return [x / count, count]
judge(share_of_the_chosen, [x, (b > 0.5).astype(np.int8).reshape(100, 600)], 5, 3)
judge(lambda z: [(z * z).max(axis=-1)], [z], 2, 1)  # the first of several NaN: by its place
"""
    succeeds(run_program, ROWS + code)


def test_a_sum_of_all_ends_its_group(run_program: Run) -> None:
    code = """
big = np.tile(a, 5)
judge(lambda x: [((x - 0.5) ** 2).sum()], [big], 3, 2)
judge(lambda x: [flow.square(x).sum()], [big], 2, 1)
judge(lambda x: [flow.abs(x - 0.5).max()], [big], 3, 2)
"""
    succeeds(run_program, ROWS + code)


def test_columns_end_their_group(run_program: Run) -> None:
    code = """
table = np.tile(a, 4)  # so that columns are cut into chunks, or not
for shape in ((240, 1000), (24_000, 10), (80, 1000, 3), (40, 5999)):
    x = table[: np.prod(shape)].reshape(shape)
    mean = x.mean(axis=tuple(range(len(shape) - 1)))
    over = tuple(range(len(shape) - 1))
    judge(lambda x, m: [((x - m) ** 2).sum(axis=over)], [x, mean], 3, 2)
weights = b[:240].reshape(240, 1)
def program(x, w):
    y = flow.maximum(x * w, 0.2)
    return [y, y.max(axis=0)]
judge(program, [table[:240_000].reshape(240, 1000), weights], 3, 1)
judge(lambda x: [(x[:, 1:] * x[:, :-1]).sum(axis=0)], [table[:240_000].reshape(240, 1000)], 2, 1)
"""
    succeeds(run_program, ROWS + code)


def test_rows_that_are_written_in_place(run_program: Run) -> None:
    code = """
def softmax_in_place(x):
    e = x - x.max(axis=-1, keepdims=True)
    flow.exp(e, out=e)
    e /= e.sum(axis=-1, keepdims=True)
    return [e]
judge(softmax_in_place, [a.reshape(100, 600)], 5, 2)

def doubled(x):
    'A walk needs what one before has overwritten: there is no kernel, and all is right.'
    twice = x * 2
    x += 1
    total = twice.sum(axis=1, keepdims=True)
    return [twice / total, x, total]
with flow.flags(fusion=False):
    want = run(doubled, [a.reshape(100, 600)])
for _ in range(4):
    got = run(doubled, [a.reshape(100, 600)])
    assert all((x == y).all() for x, y in zip(got, want, strict=True))
    _C.wait_for_kernels()
"""
    succeeds(run_program, ROWS + code)


def test_fusion_can_be_turned_off(run_program: Run) -> None:
    code = """
warm_up(chain)
assert fused() == 0
"""
    succeeds(run_program, code, fusion="0")


def test_random_programs_have_the_bits_of_single_kernels() -> None:
    given = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.support.fusion_program",
            "--count",
            "12",
            "--device",
            "cuda:0",
        ],
        cwd=ROOT,
        env=given | {"ONEFLOW_LITE_CUDA_SIM": "devices=1,jitter=20us"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"'fused_groups': (\d+)", done.stdout)[1]) > 0


def test_without_memory_for_a_group_they_run_one_by_one(run_program: Run) -> None:
    """Its other members, which wait for their turn, give no memory back meanwhile."""
    code = """
def outcome(x):
    try:
        return float(x.sum().item())
    except flow.OutOfMemoryError:
        return None
with flow.flags(memory_limit="15MiB", hang_timeout=5):
    x = flow.ones(500_000, device="cuda:0")
    found = [outcome(y) for y in [x * k for k in range(6)]]
print(found)
"""
    assert succeeds(run_program, code).split() == ["[0.0,", "500000.0,", *["None,"] * 3, "None]"]
