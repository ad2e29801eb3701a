"""Memory shared with other libraries: one value on both sides, in program order, freed once."""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.capsules import Capsule
from tests.support.oracle import DTYPES, laid_out, same, values

SHAPES = [(), (1,), (0,), (3, 0, 2), (5,), (4, 6), (2, 3, 4)]
LARGE = 200_000  # elements: an instruction of the worker's, not one that runs at once


class Watched(np.ndarray):
    """An array that one can see go."""


def watched(size: int = 4) -> tuple[Any, weakref.ref[Any]]:
    array = np.arange(float(size)).view(Watched)
    return array, weakref.ref(array)


class Exporter:
    """Gives NumPy's capsule as an exporter of another age or device would."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Legacy(Exporter):
    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


# --- with NumPy


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_both_ways(dtype: str) -> None:
    for shape in SHAPES:
        for layout in ("plain", "fortran", "strided", "negative"):
            x = laid_out(values(shape, dtype, 1), layout)
            t = flow.from_dlpack(x)
            assert t.device == "cpu"
            if x.size:
                assert t.strides == x.strides
            same(x, t.numpy())
            back = np.from_dlpack(t)
            is_copied = any(step < 0 for step in t.strides)
            assert back.size == 0 or np.shares_memory(back, x) != is_copied
            assert back.flags.writeable
            same(x, back)


def test_negative_strides_are_handed_over_as_a_copy(device: flow.Device) -> None:
    """PyTorch ends the process where it gets some."""
    x = np.arange(6).reshape(2, 3)
    t = flow.tensor(x, device=device)
    for theirs, ours in ((x[::-1], t[::-1]), (x[:, ::-1], t[:, ::-1]), (x[::-1].T, t[::-1].T)):
        found = np.from_dlpack(ours, device="cpu")
        same(theirs, found)
        assert min(found.strides) > 0
        assert flow.from_dlpack(ours) is ours
        with pytest.raises(BufferError, match=r"^\[__dlpack__\] copy=False, but"):
            ours.__dlpack__(copy=False)
    with pytest.raises(BufferError, match=r"expected dl_device \(1, 0\), got \(2, 7\)"):
        flow.ones(2).__dlpack__(dl_device=(2, 7))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_strides_of_no_whole_number_of_elements_are_handed_over_as_a_copy(dtype: str) -> None:
    """On the host a complex number lies where one of its parts may. DLPack counts in elements."""
    part = "float32" if dtype == "complex64" else "float64"
    base = flow.arange(12, dtype=part).reshape(4, 3)[:, :2]
    t = base.view(dtype)
    assert t.strides[0] % t.itemsize != 0
    found = np.from_dlpack(t)
    same(t.numpy(), found)
    assert not np.shares_memory(found, np.asarray(base))
    with pytest.raises(BufferError, match=r"copy=False, but strides .* are no multiples of"):
        t.__dlpack__(copy=False)
    same(t[:1].numpy(), np.from_dlpack(t[:1]))  # the step of a single row does not count


def test_writes_are_seen_on_both_sides_in_program_order(naive: bool) -> None:
    for made_by_flow in (True, False):
        t = flow.zeros(LARGE) if made_by_flow else flow.from_dlpack(np.zeros(LARGE))
        a = np.from_dlpack(t)
        for i in range(10):
            t += 1
            assert (a == 2 * i + 1).all()
            a += 1
            doubled = t * 2
            view = t[::2]
            view -= 0
            a[...] = 2 * (i + 1)
            same(np.full(LARGE, 4.0 * (i + 1)), doubled.numpy())


def test_export_waits_for_what_is_in_flight() -> None:
    def slow(value: int) -> Callable[[np.ndarray], None]:
        def run(target: np.ndarray) -> None:
            threading.Event().wait(0.01)
            target[...] = value

        return run

    for export in (np.from_dlpack, np.asarray, memoryview):
        t = flow.zeros(LARGE)
        before = t + 0
        flow.vm.host_func(slow(7), writes=[t])
        late = t * 2
        a = np.asarray(export(t))
        assert (a == 7).all()
        a[...] = 0  # the reader before it has run
        assert (late.numpy() == 14).all()
        assert (before.numpy() == 0).all()


def test_operations_are_asynchronous_again_afterwards() -> None:
    t = flow.zeros(LARGE)
    a = np.from_dlpack(t)
    del a
    gate = threading.Event()
    call = flow.vm.host_func(lambda _: gate.wait(60), reads=[t])
    t += 1  # would wait for the host function, which waits for us
    gate.set()
    assert call.result() is True
    assert t[0].item() == 1


def test_a_copy_to_a_device_of_shared_memory_is_safe() -> None:
    with flow.flags(mock="h2d=100MB/s,launch=1ms"):
        a = np.zeros(LARGE)
        tensors = []
        for i in range(4):
            a[...] = i
            tensors.append(flow.from_dlpack(a, device="mock:0"))
        a[...] = -1
        for i, t in enumerate(tensors):
            assert t.device == "mock:0"
            assert (t.numpy() == i).all()


def test_read_only_memory_refuses_writes() -> None:
    a = np.arange(4.0)
    a.flags.writeable = False
    for x in (a, Legacy(np.arange(4.0))):
        t = flow.from_dlpack(x)
        same(np.arange(4.0) + 1, (t + 1).numpy())
        for write in (
            lambda t=t: t.__iadd__(1),
            lambda t=t: t.__setitem__(0, 1),
            lambda t=t: t[1:].__setitem__(..., 1),
            lambda t=t: flow.add(t, 1, out=t),
            lambda t=t: flow.vm.host_func(print, writes=[t]),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
        assert not np.from_dlpack(t).flags.writeable
        assert not np.asarray(t).flags.writeable
        with pytest.raises(BufferError, match="max_version"):
            t.__dlpack__()
        copied = flow.from_dlpack(x, copy=True)
        copied += 1
        same(np.arange(4.0) + 1, copied.numpy())


def test_a_broadcast_view_is_exported_read_only() -> None:
    t = flow.broadcast_to(flow.arange(3), (4, 3))
    a = np.from_dlpack(t)
    assert a.strides == t.strides
    assert not a.flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()
    assert "dltensor" in repr(t.__dlpack__(copy=True))


# --- the arguments


def test_devices(device: flow.Device) -> None:
    t = flow.arange(3, device=device)
    code = {"cpu": 1, "cuda": 2, "mock": 12}[device.type]
    assert t.__dlpack_device__() == (code, device.index)
    assert flow.from_dlpack(t) is t
    same(np.arange(3), flow.from_dlpack(Exporter(np.arange(3)), device=device).numpy())
    for other in ("cpu", "mock:0", "mock:1"):
        moved = flow.from_dlpack(t, device=other)
        assert moved.device == other
        same(np.arange(3), moved.numpy())
        if other != device:
            with pytest.raises(BufferError, match="copy=False"):
                flow.from_dlpack(t, device=other, copy=False)
    with flow.device(device):
        assert flow.from_dlpack(np.arange(3)).device == "cpu"


def test_the_memory_of_a_mock_device_is_not_shared() -> None:
    t = flow.arange(5, device="mock:1")[::2]
    for keywords in ({}, {"copy": True}, {"dl_device": (12, 1)}, {"max_version": (1, 0)}):
        with pytest.raises(BufferError, match="mock:1 cannot be shared"):
            t.__dlpack__(**keywords)
    with pytest.raises(BufferError, match="copy=False"):
        t.__dlpack__(dl_device=(1, 0), copy=False)
    capsule = t.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    a = np.from_dlpack(Capsule(capsule))
    same([0, 2, 4], a)
    a[...] = 0
    same([0, 2, 4], t.numpy())


def test_versions() -> None:
    t = flow.arange(3)
    names = {
        None: '"dltensor"',
        (0, 8): '"dltensor"',
        (1, 0): '"dltensor_versioned"',
        (2, 1): '"dltensor_versioned"',
    }
    for version, name in names.items():
        assert name in repr(t.__dlpack__(max_version=version))
    with pytest.raises(ValueError, match="stream=None, got 1"):
        t.__dlpack__(stream=1)
    for wrong in ((2, 99), (1, 1), (12, 0)):
        with pytest.raises(BufferError, match="dl_device"):
            t.__dlpack__(dl_device=wrong)


def test_copies() -> None:
    t = flow.arange(4)
    assert not np.shares_memory(np.from_dlpack(t, copy=True), np.from_dlpack(t))
    assert np.shares_memory(np.from_dlpack(t, copy=False), np.from_dlpack(t, copy=None))
    a = np.arange(4)
    copied, shared = flow.from_dlpack(a, copy=True), flow.from_dlpack(a, copy=False)
    a[0] = 9
    assert (copied[0].item(), shared[0].item()) == (0, 9)
    assert not flow.from_dlpack(t, copy=True).shares_storage(t)


def test_what_exporters_are_asked() -> None:
    x = Exporter(np.arange(3))
    flow.from_dlpack(x)
    flow.from_dlpack(x, copy=False)
    elsewhere = Exporter(np.arange(3), device=(10, 0))
    same(np.arange(3), flow.from_dlpack(elsewhere).numpy())
    assert x.asked == [{"max_version": (1, 0)}, {"max_version": (1, 0), "copy": False}]
    assert elsewhere.asked == [{"max_version": (1, 0), "dl_device": (1, 0), "copy": None}]
    with pytest.raises(TypeError, match="__dlpack__ and __dlpack_device__, got list"):
        flow.from_dlpack([1, 2])


# --- who frees what, and when


def test_capsules_are_consumed_once() -> None:
    a, alive = watched()
    for keywords in ({}, {"max_version": (1, 0)}):
        capsule = a.__dlpack__(**keywords)
        t = flow.from_dlpack(Capsule(capsule))
        assert "used_dltensor" in repr(capsule)
        with pytest.raises(ValueError, match="another capsule"):
            flow.from_dlpack(Capsule(capsule))
        del capsule
        same(a.view(np.ndarray), t.numpy())
        del t
    with pytest.raises(ValueError, match="got int"):
        flow.from_dlpack(Capsule(3))
    del a
    gc.collect()
    assert alive() is None


def test_a_producer_lives_as_long_as_its_last_user() -> None:
    a, alive = watched(LARGE)
    t = flow.from_dlpack(a)
    tail = t[LARGE // 2 :]
    del a, t
    gc.collect()
    assert alive() is not None
    total = tail.sum()
    del tail
    gc.collect()
    assert total.item() == np.arange(float(LARGE))[LARGE // 2 :].sum()
    assert alive() is None


def test_a_storage_lives_as_long_as_its_consumers() -> None:
    with flow.flags(sync=False):
        before = flow.memory_stats("cpu")["in_use"]
        arrays = [np.from_dlpack(flow.full((50, 1000), i)[:, ::2]) for i in range(20)]
        _ = [flow.full((50, 1000), -1) for _ in range(20)]
        assert all((a == i).all() for i, a in enumerate(arrays))
        unconsumed = flow.ones(LARGE).__dlpack__(), flow.ones(3).__dlpack__(max_version=(1, 0))
        del arrays, unconsumed, _
        gc.collect()
        flow.synchronize()
        assert flow.memory_stats("cpu")["in_use"] <= before


def test_deleters_run_in_any_thread() -> None:
    array, alive = watched(LARGE)
    box = [np.from_dlpack(flow.ones(LARGE)), flow.from_dlpack(array)]
    del array
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert alive() is None


def test_threads_share_and_compute() -> None:
    wrong: list[Any] = []
    base = np.zeros(LARGE)

    def run(seed: int) -> None:
        for i in range(20):
            t = flow.from_dlpack(base) + seed
            a = np.from_dlpack(t)
            t *= 2
            a += i
            if not (np.from_dlpack(flow.from_dlpack(a) + 0) == 2 * seed + i).all():
                wrong.append((seed, i))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_exit_with_shared_memory(run_program: Callable[..., Any]) -> None:
    code = """
import numpy as np, oneflow_lite as flow
a = np.from_dlpack(flow.ones(100_000))
t = flow.from_dlpack(np.ones(100_000))
u = t * 2
capsule = u.__dlpack__()
view = memoryview(u)
"""
    done = run_program(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_fork_with_shared_memory(run_program: Callable[..., Any]) -> None:
    code = """
import os, numpy as np, oneflow_lite as flow
t = flow.from_dlpack(np.ones(100_000))
a = np.from_dlpack(t)
pid = os.fork()
t += 1
assert (a == 2).all()
del t, a
if pid == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")


# --- failures


def test_the_look_raises_what_made_the_tensor_fail() -> None:
    def fail(target: np.ndarray) -> None:
        raise ArithmeticError("no value")

    for look in (np.from_dlpack, memoryview, np.asarray, lambda t: t.__dlpack__(copy=True)):
        t = flow.zeros(3)
        flow.vm.host_func(fail, writes=[t])
        with pytest.raises(ArithmeticError, match="no value"):
            look(t)
        t2 = flow.zeros(3)
        flow.vm.host_func(lambda _: None, writes=[t2]).wait()
        assert np.from_dlpack(t2).tolist() == [0, 0, 0]
    with pytest.raises(ArithmeticError):
        flow.synchronize()


def test_it_counts_as_a_look() -> None:
    gate = threading.Event()
    t = flow.zeros(3)
    flow.vm.host_func(lambda _: gate.wait(60), writes=[t])
    with flow.flags(implicit_sync="error"):
        for look in (np.from_dlpack, memoryview, np.asarray):
            with pytest.raises(RuntimeError, match="not ready"):
                look(t)
    gate.set()
    assert np.from_dlpack(t).tolist() == [0, 0, 0]


# --- with other libraries


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in DTYPES:
        x = values((3, 4), dtype, 2)
        t = flow.tensor(x)
        theirs = torch.from_dlpack(t)
        assert str(theirs.dtype) == f"torch.{dtype}"
        same(x, theirs.numpy())
        same(x.T[:, 1:], torch.from_dlpack(t.T[:, 1:]).numpy())
        ours = flow.from_dlpack(torch.from_numpy(x.copy()).T)
        same(x.T, ours.numpy())
    running = flow.ones((300, 300)) @ flow.ones((300, 300)) + 1
    theirs = torch.from_dlpack(running)
    theirs += 1
    running += 1
    assert (theirs == 303).all()


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    for dtype in ("bool", "int8", "uint16", "int32", "float16", "float32", "complex64"):
        x = values((3, 4), dtype, 2)
        theirs = jax.dlpack.from_dlpack(flow.tensor(x))
        same(x, np.array(theirs))
        ours = flow.from_dlpack(jax.numpy.asarray(x))
        same(x, ours.numpy())
        with pytest.raises(ValueError, match="read-only"):
            ours[...] = 0
    running = jax.numpy.ones((300, 300)) @ jax.numpy.ones((300, 300))
    assert (flow.from_dlpack(running) == 300).all().item()
