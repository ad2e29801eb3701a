"""Memory that came back from another library, or came in twice: one order for all tensors over it,
and NumPy's results where they overlap."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.capsules import HandMade
from tests.support.oracle import same
from tests.support.sharing_program import Exported, Program, run_on, values_of

LARGE = 200_000  # elements: an instruction of the worker's, not one that runs at once

Export = Callable[[np.ndarray], Any]


def numpy_array(a: np.ndarray) -> Any:
    return a


def torch_tensor(a: np.ndarray) -> Any:
    return pytest.importorskip("torch").from_numpy(a)


@pytest.fixture(params=[numpy_array, torch_tensor])
def export(request: pytest.FixtureRequest) -> Export:
    """An array as another library has it."""
    if request.param is torch_tensor:
        pytest.importorskip("torch")
    return request.param


def shared_device(device: flow.Device) -> bool:
    return device.type != "mock"


# --- recognized


def test_a_tensor_that_comes_back_is_the_same_memory(device: flow.Device) -> None:
    if not shared_device(device):
        return
    x = flow.arange(12.0, device=device).reshape(3, 4)
    back = flow.from_dlpack(Exported(x))
    row = flow.from_dlpack(Exported(x[1]))
    assert x.shares_storage(back)
    assert row.shares_storage(x)
    assert not flow.copy(x).shares_storage(back)
    apart = flow.arange(3.0, device=device)
    assert not flow.from_dlpack(Exported(apart)).shares_storage(x)
    x += 1
    row *= 2
    back -= 3
    expected = np.arange(12.0).reshape(3, 4) + 1
    expected[1] *= 2
    same(expected - 3, x.numpy())
    same(expected[1] - 3, row.numpy())


def shifted_through(library: Callable[[flow.Tensor], Any]) -> None:
    x = flow.arange(6.0)
    theirs = library(x)
    y = flow.from_dlpack(theirs[1:])
    assert y.shares_storage(x)
    y[...] = x[:-1]
    same(np.array([0.0, 0, 1, 2, 3, 4]), x.numpy())


def test_through_numpy_and_the_buffer_protocol() -> None:
    for way in (np.from_dlpack, np.asarray, lambda t: np.asarray(memoryview(t))):
        shifted_through(way)


def test_through_torch() -> None:
    torch = pytest.importorskip("torch")
    shifted_through(torch.from_dlpack)
    shifted_through(lambda t: torch.from_dlpack(t).numpy())


@pytest.mark.parametrize("step", [1, -1])
def test_overlapping_results_are_numpys(export: Export, step: int, naive: bool) -> None:
    for size in (10, LARGE):
        a = np.arange(float(size))
        theirs = export(a.copy())
        x, y = flow.from_dlpack(theirs[1:]), flow.from_dlpack(theirs[:-1])
        target, source = (x, y)[::step]
        flow.add(source, 1, out=target)
        np.add(*((a[:-1], 1, a[1:]) if step == 1 else (a[1:], 1, a[:-1])))
        same(a, np.asarray(theirs))
        x[::-1] = y
        a[1:][::-1] = a[:-1].copy()
        same(a, np.asarray(theirs))
        index = np.arange(len(a) - 1)[::-1]
        x[index] = y
        a[1:][index] = a[:-1].copy()
        same(a, np.asarray(theirs))


def test_windows_then_the_whole(export: Export) -> None:
    a = np.zeros(40)
    theirs = export(a)
    windows = [flow.from_dlpack(theirs[i : i + 10]) for i in range(0, 40, 10)]
    assert not windows[0].shares_storage(windows[1])
    whole = flow.from_dlpack(theirs)
    assert all(whole.shares_storage(window) for window in windows)
    for i, window in enumerate(windows):
        window += i
    flow.add(whole[:-1], 1, out=whole[1:])
    flow.add(windows[0], whole[5:15], out=windows[0])
    expected = np.repeat(np.arange(4.0), 10)
    expected[1:] = expected[:-1] + 1
    expected[:10] += expected[5:15].copy()
    same(expected, a)
    del whole, window, windows[1:]
    gc.collect()
    windows[0] += 1
    same(expected[:10] + 1, a[:10])


def test_other_dtypes_over_the_same_bytes() -> None:
    a = np.arange(8.0)
    x, bits = flow.from_dlpack(a), flow.from_dlpack(a.view(np.uint64))
    halves = flow.from_dlpack(a.view(np.uint32)[1::2])
    assert x.shares_storage(bits)
    assert bits.shares_storage(halves)
    bits[...] = bits[::-1]
    same(np.arange(8.0)[::-1], x.numpy())
    halves[...] = 0x3FF00000
    bits &= 0xFFFFFFFF00000000
    same(np.ones(8), x.numpy())


# --- what each of them may do


def test_read_only_and_writable_handles_meet() -> None:
    a = np.arange(4.0)
    view = a.view()
    view.flags.writeable = False
    readers_first = flow.from_dlpack(view), flow.from_dlpack(a)
    for reader, writer in (readers_first, (flow.from_dlpack(view), readers_first[1])):
        with pytest.raises(ValueError, match="read-only"):
            reader += 1
        before = reader + 0
        writer += 1
        same(before.numpy() + 1, reader.numpy())
    x = flow.arange(4.0)
    view = np.asarray(x)
    view.flags.writeable = False
    back = flow.from_dlpack(view)
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1
    x[0] = 5
    assert back[0].item() == 5


def test_a_failure_is_seen_by_all_over_the_memory() -> None:
    def fail(target: np.ndarray) -> None:
        raise ArithmeticError("no value")

    x = flow.zeros(5)
    back = flow.from_dlpack(np.asarray(x)[1:])
    call = flow.vm.host_func(fail, writes=[x])
    with pytest.raises(ArithmeticError):
        call.wait()
    with pytest.raises(ArithmeticError, match="no value"):
        back.numpy()
    with pytest.raises(ArithmeticError):
        flow.synchronize()


def test_no_elements() -> None:
    for a in (np.zeros((0, 3)), np.arange(4.0)[2:2]):
        x, y = flow.from_dlpack(a), flow.from_dlpack(a)
        assert x.shape == y.shape == a.shape
        x += 1
        assert not x.shares_storage(y)
    x = flow.zeros((0, 2))
    assert flow.from_dlpack(np.asarray(x)).shape == (0, 2)


# --- lifetimes


def test_owners_are_let_go_one_by_one() -> None:
    first, second = HandMade(), HandMade()
    second.managed.array.data = first.memory.ctypes.data + 4
    x, y = flow.from_dlpack(first), flow.from_dlpack(second)
    y += 1
    del x
    gc.collect()
    assert (first.deleted, second.deleted) == (1, 0)
    same(np.array([[1, 2, 3], [4, 5, 6]], "float32") + 1, y.numpy())
    del y
    gc.collect()
    assert second.deleted == 1


@pytest.mark.slow
def test_an_address_that_is_used_again_is_something_else() -> None:
    base = np.zeros(6, "float32")
    for _ in range(3):
        memory = HandMade(data=base.ctypes.data)
        x = flow.from_dlpack(memory)
        x += 1
        del x
        gc.collect()
        assert memory.deleted == 1
    with flow.flags(sync=False):
        for i in range(50):  # the allocator gives the same block again
            x = flow.full(LARGE, i)
            theirs = np.asarray(x)
            back = flow.from_dlpack(theirs)
            other = flow.from_dlpack(np.full(5, 1.0))
            assert back.shares_storage(x)
            assert not other.shares_storage(x)
            back += 1
            same(np.full(5, i + 1), x[:5].numpy())
            del x, theirs, back


def test_operations_are_asynchronous_again_afterwards() -> None:
    x = flow.zeros(LARGE)
    back = flow.from_dlpack(np.asarray(x))
    back += 1
    del back
    gc.collect()
    gate = threading.Event()
    call = flow.vm.host_func(lambda _: gate.wait(60), reads=[x])
    x += 1  # would wait for the host function, which waits for us
    gate.set()
    assert call.result() is True
    same(np.full(3, 2.0), x[:3].numpy())


def test_operations_run_as_one_again_afterwards() -> None:
    x = flow.zeros(LARGE)
    back = flow.from_dlpack(np.asarray(x))
    back += 1
    del back
    gc.collect()
    gate = threading.Event()
    flow.vm.host_func(lambda _: gate.wait(60), reads=[x])
    before = flow.vm.stats()["fused_instructions"]
    x += 1
    x *= 2
    x -= 1
    gate.set()
    same(np.full(3, 3.0), x[:3].numpy())
    assert flow.vm.stats()["fused_instructions"] >= before + 3


def test_a_tensor_that_is_alone_again_has_nothing_left_behind() -> None:
    with flow.flags(sync=False):
        before = flow.memory_stats("cpu")["in_use"]
        for i in range(20):
            x = flow.full(LARGE, i)
            back = [flow.from_dlpack(np.asarray(x)[k:]) for k in range(5)]
            back[0] += 1
        del x, back
        gc.collect()
        flow.synchronize()
        assert flow.memory_stats("cpu")["in_use"] <= before


# --- threads, processes, random programs


def test_threads_through_handles_of_their_own() -> None:
    base = np.zeros(LARGE)
    stop = threading.Event()
    wrong: list[float] = []

    def add() -> None:
        x = flow.from_dlpack(base)
        for _ in range(40):
            x += 1

    def look() -> None:
        x = flow.from_dlpack(base)
        while not stop.is_set():
            seen = x.to("mock:0").numpy()
            if seen.min() != seen.max():
                wrong.append(float(seen.max() - seen.min()))

    with flow.flags(mock="h2d=2GB/s"):
        adders = [threading.Thread(target=add) for _ in range(2)]
        looker = threading.Thread(target=look)
        for thread in (looker, *adders):
            thread.start()
        for thread in adders:
            thread.join()
        stop.set()
        looker.join()
    assert wrong == []
    assert (base == 80).all()


def test_threads_take_in_and_let_go() -> None:
    base = np.zeros(100)
    counts = [0] * 3

    def run(seed: int) -> None:
        random = np.random.default_rng(seed)
        kept: list[flow.Tensor] = []
        for _ in range(100):
            begin, end = sorted(random.choice(101, 2, replace=False).tolist())
            x = flow.from_dlpack(base[begin:end])
            x += 1
            counts[seed] += end - begin
            kept = [*kept[-3:], x]

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert base.sum() == sum(counts)


def test_fork(run_program: Callable[..., Any]) -> None:
    code = """
import os, threading, numpy as np, oneflow_lite as flow
base = np.zeros(1000)
stop = threading.Event()
def take_in():
    while not stop.is_set():
        x = flow.from_dlpack(base[:500])
        y = flow.from_dlpack(base[250:])
        y += 1
thread = threading.Thread(target=take_in)
thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        a = np.zeros(10)
        x, y = flow.from_dlpack(a[1:]), flow.from_dlpack(a[:-1])
        flow.add(y, 1, out=x)
        os._exit(0 if a.tolist() == [0] + [1] * 9 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
thread.join()
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(device: flow.Device, seed: int) -> None:
    if shared_device(device):
        run_on(str(device), seed)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_over_foreign_memory(export: Export, seed: int, naive: bool) -> None:
    values = values_of(seed)
    memory = values.copy()
    theirs = export(memory)
    Program(seed, values, lambda begin, end: theirs[begin:end]).run(60)


@pytest.mark.simulated
def test_random_programs_on_a_simulated_device(run_program: Callable[..., Any]) -> None:
    code = """
from tests.support.cuda_library import Library
from tests.support.sharing_program import Program, run_on, values_of
for seed in range(6):
    run_on("cuda:0", seed)
    values = values_of(seed)
    theirs = Library(0).array(values)
    def window(begin, end):
        data = theirs.address.value + 8 * begin, False
        return theirs.interface(data=data, shape=(end - begin,))
    Program(seed, values, window).run(60)
"""
    for kernels in ("1", "0"):
        done = run_program(
            code, cuda_sim="devices=2,jitter=50us", cuda_kernels=kernels, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
