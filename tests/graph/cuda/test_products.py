"""Products of the device's library in CUDA graphs: opaque nodes in the workspace of the queue that
launches the graph."""

import subprocess
from collections.abc import Callable

import pytest

from tests.graph.cuda.test_graphs import HEAD

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.simulated, pytest.mark.slow]
PRODUCTS = """
def whole(number, *shape):
    "Small whole numbers: their products and sums are exact, by whatever kernel."
    values = np.random.default_rng(number).integers(-2, 3, shape).astype("float32")
    return flow.tensor(values, device="cuda:0")

def wholes(first, last):
    "Each has its memory before x gives its own back: a copy allocates when it runs."
    made = [whole(number, 8, 16) for number in range(first, last)]
    flow.synchronize()
    return made

def chain(x, w, v):
    "Only x moves: all that is computed is larger than the result, so it is in the arena."
    y = flow.sort(x @ w, axis=0)
    return flow.sort(flow.cumsum(y @ v, axis=0), axis=1).sum(axis=0)

def small(x, w, v):
    return flow.sort(flow.sort(x, axis=0) @ w, axis=1) @ v + 1

def same(wanted, found):
    check([wanted], found if isinstance(found, list) else [found])

def graphs():
    return run.report()["graphs"]

def launched(*given):
    "The results, and the driver's calls that the run took."
    flow.synchronize()
    with sim.counted() as calls:
        found = run(*given)
        flow.synchronize()
    return found, calls

w, v = whole(100, 16, 12), whole(101, 12, 8)
x = whole(0, 8, 16)
"""


def succeeds(run_program: Run, code: str, **flags: str) -> None:
    done = run_program(
        HEAD + PRODUCTS + code, **{"cuda_sim": "devices=1,jitter=20us,seed=1"} | flags
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_step_of_training_is_one_graph(run_program: Run) -> None:
    code = """
def step(x, t, w, v):
    h = flow.tanh(x @ w)
    d = (h @ v - t) * 0.1
    e = (d @ v.T) * (1 - h * h)
    v -= h.T @ d
    w -= x.T @ e
    return (d * d).sum()

def trained(step, **flags):
    w, v, losses = feed(3, 16, 12), feed(4, 12, 8), []
    x, t = feed(1, 8, 16), feed(2, 8, 8)
    with flow.flags(**flags):
        for number in range(6):
            flow.synchronize()
            with sim.counted() as calls:
                losses.append(step(x, t, w, v).numpy())
                flow.synchronize()
            _C.wait_for_kernels()
    return [*losses, w.numpy(), v.numpy()], calls

step_captured, step_launched = flow.jit(step), flow.jit(step)
found, calls = trained(step_captured)
assert calls["cuGraphLaunch"] == 1 and not calls["cuLaunchKernel"], calls
assert not calls["cuMemAlloc"] and not calls["cuGraphInstantiateWithFlags"], calls
report = step_captured.report()["runs"][0]
graphs = report["graphs"]
assert graphs["graphs"] == 1 and graphs["products"] == 5 and not graphs["refused"], graphs
assert graphs["launches"] == 4 and graphs["updates"] == 0, graphs
assert "and 5 products of a library" in str(report), str(report)
for other, flags in ((step_launched, {"cuda_graphs": False}), (step, {})):
    for a, b in zip(found, trained(other, **flags)[0], strict=True):
        assert a.tobytes() == b.tobytes(), other
"""
    succeeds(run_program, code)


def test_the_capture_takes_no_memory_for_the_library(run_program: Run) -> None:
    code = """
run = compiled(small, x, w, v)
before = sim.counters()["live"]
found, calls = launched(x, w, v)
after = sim.counters()["live"]
assert calls["cuStreamBeginCapture"] == 1 and not calls["cuMemAlloc"], calls
assert after["bytes"] == before["bytes"] and after["streams"] == before["streams"], (before, after)
same(small(x, w, v), found)
"""
    succeeds(run_program, code)


def test_operands_elsewhere_make_versions_of_the_graph(run_program: Run) -> None:
    code = """
run = compiled(chain, x, w, v)
run(x, w, v)
kept = wholes(1, 6)
wanted = [chain(x, w, v) for x in kept]
for number, x in enumerate(kept, 1):
    found, calls = launched(x, w, v)
    assert calls["cuGraphLaunch"] == 1 and calls["cuLaunchKernel"] == graphs()["kernels"], calls
    assert calls["cuGraphInstantiateWithFlags"] == (number <= 3), calls
    assert calls["cuGraphExecUpdate"] == (number > 3), calls
    assert graphs()["updates"] == number, graphs()
    same(wanted[number - 1], found)
for number in (4, 3, 2, 1, 3, 1, 4):  # of which there are versions
    found, calls = launched(kept[number], w, v)
    assert calls["cuGraphLaunch"] == 1 and not calls["cuStreamBeginCapture"], calls
    same(wanted[number], found)
found, calls = launched(kept[0], w, v)
assert calls["cuGraphLaunch"] == calls["cuGraphExecUpdate"] == 1, calls
same(wanted[0], found)
assert graphs()["graphs"] == 1 and graphs()["updates"] == 6 and not graphs()["refused"], graphs()
assert "6 captures for operands elsewhere" in str(run.report()), str(run.report())
now = sim.counters()["live"]
assert (now["graphs"], now["executables"]) == (4, 4), now
"""
    succeeds(run_program, code)


def test_results_in_turn_at_some_places(run_program: Run) -> None:
    """A product writes to the memory of a result, of which two are there at a time."""
    code = """
run = compiled(small, x, w, v)
wanted, found = small(x, w, v), None
for _ in range(30):
    found, calls = launched(x, w, v)
    same(wanted, found)
assert calls["cuGraphLaunch"] == 1 and not calls["cuStreamBeginCapture"], calls
assert graphs()["launches"] == 30 and not graphs()["refused"], graphs()
assert 1 <= graphs()["updates"] <= 3, graphs()
"""
    succeeds(run_program, code)


def test_kernels_are_found_between_products(run_program: Run) -> None:
    """Kernels before, between and behind the library's nodes get other arguments."""
    code = """
def work(x, w, v, a, b, c):
    p = flow.sort(x + a, axis=0) @ w
    q = flow.sort(flow.cumsum(p, axis=0) + b, axis=0) @ v
    return flow.sort(flow.cumsum(q, axis=0) + c, axis=1)

feeds = [[whole(10 * n + k, 8, (16, 12, 8)[k]) for k in range(3)] for n in range(3)]
wanted = [work(x, w, v, *given) for given in feeds]
run = compiled(work, x, w, v, *feeds[0])
sets = 0
for number in range(8):
    found, calls = launched(x, w, v, *feeds[number % 3])
    assert calls["cuGraphLaunch"] == 1, calls
    same(wanted[number % 3], found)
    sets += not calls["cuStreamBeginCapture"] and calls["cuGraphExecKernelNodeSetParams"] >= 3
assert sets > 4, graphs()
"""
    succeeds(run_program, code)


def test_an_update_that_does_not_fit_makes_another_graph(run_program: Run) -> None:
    code = """
run = compiled(chain, x, w, v)
kept = wholes(0, 6)
for x in kept:
    wanted = chain(x, w, v)
    flow.synchronize()
    if x is kept[4]:
        sim.configure("fail=cuGraphExecUpdate:1:910")
    found, calls = launched(x, w, v)
    same(wanted, found)
    assert calls["cuGraphLaunch"] == 1, calls
    assert calls["cuGraphInstantiateWithFlags"] == (x is not kept[5]), calls
    assert calls["cuGraphExecUpdate"] == (x is kept[4] or x is kept[5]), calls
assert sim.counters()["live"]["executables"] == 4
"""
    succeeds(run_program, code)


def test_a_product_that_always_moves_leaves_the_graph(run_program: Run) -> None:
    code = """
run = compiled(chain, x, w, v)
run(x, w, v)
kept = wholes(0, 14)
for x in kept:
    same(chain(x, w, v), run(x, w, v))
seen = graphs()
assert seen["updates"] == 9, seen
(refused,) = seen["refused"]
assert refused["step"] == "matmul", refused
reason = "a library makes the product, whose operands are elsewhere in many runs"
assert refused["reason"] == reason, refused
assert seen["graphs"] == 1 and seen["products"] == 1, seen
found, calls = launched(kept[0], w, v)
assert calls["cuGraphLaunch"] == 1 and not calls["cuStreamBeginCapture"], calls
assert graphs()["launches"] == seen["launches"] + 1
"""
    succeeds(run_program, code)


def test_a_product_that_moves_now_and_then_stays(run_program: Run) -> None:
    code = """
run = compiled(chain, x, w, v)
run(x, w, v)
kept = wholes(0, 16)
for number in range(80):
    x = kept[number // 5]
    same(chain(x, w, v), run(x, w, v))
assert graphs()["updates"] == 16 and not graphs()["refused"], graphs()
"""
    succeeds(run_program, code)


@pytest.mark.parametrize(
    "fault",
    ["cublasGemm:1:14", "cublasGemm:2:14", "cuStreamBeginCapture:1:1", "cuStreamEndCapture:1:1"],
)
def test_a_capture_that_fails_leaves_the_library_usable(run_program: Run, fault: str) -> None:
    code = f"""
run = compiled(small, x, w, v)
wanted = small(x, w, v)
flow.synchronize()
sim.configure("fail={fault}")
found, calls = launched(x, w, v)
assert calls["cuStreamBeginCapture"] == 1 and not calls["cuGraphLaunch"], calls
same(wanted, found)
same(flow.tensor(x.numpy() @ w.numpy()), x @ w)
same(wanted, run(x, w, v))
assert graphs()["launches"] == 1 and graphs()["products"] == 2, graphs()
same(wanted, small(x, w, v))
"""
    succeeds(run_program, code)


@pytest.mark.parametrize("fault", ["cublasGemm:1:14", "cuStreamEndCapture:1:1"])
def test_an_update_that_fails(run_program: Run, fault: str) -> None:
    code = f"""
run = compiled(chain, x, w, v)
run(x, w, v)
other = whole(1, 8, 16)
wanted = chain(other, w, v)
flow.synchronize()
sim.configure("fail={fault}")
found, calls = launched(other, w, v)
assert calls["cuStreamBeginCapture"] == 1 and not calls["cuGraphLaunch"], calls
same(wanted, found)
same(wanted, run(other, w, v))
assert graphs()["launches"] == 2 and graphs()["graphs"] == 1, graphs()
"""
    succeeds(run_program, code)


def test_a_stream_that_is_not_taken_back_is_asked_for_again(run_program: Run) -> None:
    code = """
run = compiled(small, x, w, v)
wanted, product = small(x, w, v), (x @ w).numpy()
flow.synchronize()
sim.configure("fail=cublasSetStream:2:14")  # the first one is of the capture
same(wanted, run(x, w, v))
assert graphs()["launches"] == 1
assert (x @ w).numpy().tobytes() == product.tobytes()
"""
    succeeds(run_program, code)


def test_a_product_that_the_library_does_not_support(run_program: Run) -> None:
    """A kernel of our own takes its place in the graph."""
    code = """
run = compiled(small, x, w, v)
wanted = small(x, w, v)
flow.synchronize()
sim.configure("fail=cublasGemm:2:15")
for _ in range(3):
    found, calls = launched(x, w, v)
    same(wanted, found)
    _C.wait_for_kernels()
assert calls["cuGraphLaunch"] == 1 and not calls["cuLaunchKernel"], calls
seen = graphs()
assert seen["products"] == 1 and seen["launches"] == 2 and not seen["refused"], seen
same(wanted, small(x, w, v))
"""
    succeeds(run_program, code)


def test_batches_and_operands_that_are_copied(run_program: Run) -> None:
    code = """
def work(x, y, z, w):
    x = flow.sort(x, axis=-1)
    return (x @ y) + 1, x[0] @ y[1], x[:, ::2, ::-1] @ y, z @ w

x, y = whole(1, 3, 6, 8), whole(2, 3, 8, 5)
z, w = whole(3, 2, 3, 6, 8), whole(4, 3, 8, 5)
run = compiled(work, x, y, z, w)
for number in range(3):
    check(work(x, y, z, w), run(x, y, z, w))
    x[...] = whole(number, 3, 6, 8)
seen = graphs()
assert seen["graphs"] == 1 and not seen["refused"] and seen["launches"] == 3, seen
assert seen["products"] == 5, seen  # of z a call for each of the two rows
"""
    succeeds(run_program, code)


def test_flags_are_those_of_the_run(run_program: Run) -> None:
    code = """
run = compiled(small, x, w, v)
def runs(products, updates):
    same(small(x, w, v), run(x, w, v))
    same(small(x, w, v), run(x, w, v))
    seen = graphs()
    assert (seen["products"], seen["updates"]) == (products, updates), seen
runs(2, 0)
with flow.flags(cuda_tf32=True):
    runs(2, 1)
runs(2, 1)  # the version from before
with flow.flags(cuda_blas=False):
    runs(0, 1)
runs(2, 1)
assert graphs()["launches"] == 10, graphs()
"""
    succeeds(run_program, code)


def test_another_queue_does_not_share_the_workspace(run_program: Run) -> None:
    code = """
run = compiled(small, x, w, v)
same(small(x, w, v), run(x, w, v))
with flow.vm.lane(1):
    found, calls = launched(x, w, v)
    assert not calls["cuGraphLaunch"], calls
same(small(x, w, v), found)
same(small(x, w, v), run(x, w, v))
assert graphs()["launches"] == 2, graphs()
"""
    succeeds(run_program, code)
