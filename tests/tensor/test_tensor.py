"""Tensors as Python objects: attributes, looks, repr, conversions, copies, pickling."""

import copy
import gc
import operator
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import DTYPES, same, values


def test_attributes(device: flow.Device) -> None:
    x = np.zeros((2, 3, 4), "float32")
    t = flow.tensor(x, device=device)
    for name in ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(t, name) == getattr(x, name), name
        assert getattr(t.T[::2], name) == getattr(x.T[::2], name), name
        with pytest.raises(AttributeError):
            setattr(t, name, 1)
    assert t.device == device
    assert t.device == str(device)
    assert t.is_contiguous()
    assert not t.T.is_contiguous()
    assert t[:1].is_contiguous()


@pytest.mark.parametrize("dtype", DTYPES)
def test_looks(dtype: str, device: flow.Device, naive: bool) -> None:
    for shape in [(), (1,), (0, 2), (3, 4), (200, 150)]:
        x = values(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        same(x, t)
        seen = t.numpy()
        assert seen.flags.writeable
        assert seen.flags.owndata or seen.base is not None
        seen[...] = 0
        same(x, t)
        assert np.array_equal(np.asarray(t), x, equal_nan=x.dtype.kind in "fc")
        same(np.array(t.tolist(), dtype).reshape(shape), t)
        assert type(t.tolist()) is type(x.tolist())
        if x.size == 1:
            assert type(t.item()) is type(x.item())
            assert t.item() == x.item() or t.item() != t.item()
            assert bool(t) == bool(x)


def test_a_look_is_a_snapshot(device: flow.Device) -> None:
    for size in (4, 100_000):
        t = flow.zeros(size, device=device)
        before = t.numpy()
        t += 1
        after = t.numpy()
        assert (before == 0).all()
        assert (after == 1).all()
        after[...] = 9
        assert t[0].item() == 1


def test_an_array_outlives_its_tensor(device: flow.Device) -> None:
    arrays = [(flow.full(10_000, i, device=device) + 0).numpy() for i in range(20)]
    gc.collect()
    _ = [flow.full(10_000, -1, device=device) for _ in range(20)]
    flow.synchronize()
    for i, array in enumerate(arrays):
        assert (array == i).all()


def test_numbers(device: flow.Device) -> None:
    t = flow.tensor(3, device=device)
    assert (int(t), float(t), complex(t), operator.index(t)) == (3, 3.0, 3 + 0j, 3)
    assert [10, 20, 30, 40][t] == 40
    assert list(range(5))[t:] == [3, 4]
    assert flow.tensor([[2.9]], device=device).item() == 2.9
    assert float(flow.tensor(True, device=device)) == 1.0
    assert complex(flow.tensor(1 + 2j, device=device)) == 1 + 2j
    assert f"{flow.tensor(2.5, device=device):.2f}" == "2.50"
    assert flow.tensor([[1, 2], [3, 4]], device=device).item(1, 0) == 3
    assert int(flow.tensor(2**64 - 1, dtype="uint64", device=device)) == 2**64 - 1
    with pytest.raises(TypeError):
        operator.index(flow.tensor(3.0, device=device))
    with pytest.raises(TypeError, match=r"\[format\]"):
        f"{flow.zeros(2):.2f}"


def test_array_protocol(device: flow.Device) -> None:
    t = flow.tensor([1.5, 2.5], device=device)
    assert np.asarray(t, "float32").dtype == "float32"
    assert np.array(t).tolist() == [1.5, 2.5]
    t[0] = 3.5
    if device.type == "cpu":
        shared = np.array(t, copy=False)
        t += 1
        assert shared.tolist() == np.asarray(t).tolist() == [4.5, 3.5]
    else:
        with pytest.raises(ValueError, match="copy=False"):
            np.array(t, copy=False)
    assert t.__array_namespace__() is flow
    assert t.__array_namespace__(api_version="2024.12") is flow
    with pytest.raises(ValueError, match="api_version"):
        t.__array_namespace__(api_version="1999.01")


def test_array_on_the_left(device: flow.Device) -> None:
    t, x = flow.tensor([1.0, 2.0], device=device), np.array([10.0, 20.0])
    for result in (x + t, x * t, x - t, x / t, x < t, x @ t, np.float64(3) + t, np.float32(2) * t):
        assert isinstance(result, flow.Tensor)
        assert result.device == device
    same(x - t.numpy(), x - t)
    same(np.float32(2) - t.numpy(), np.float32(2) - t)
    same(x < t.numpy(), x < t)
    same(x + t.numpy(), np.add(x, t))
    x += t
    assert isinstance(x, np.ndarray)
    assert x.tolist() == [11.0, 22.0]


REPRS = [
    ("flow.tensor([1.0, 2.0])", "tensor([1., 2.], dtype=float64, device='cpu')"),
    ("flow.tensor(3)", "tensor(3, dtype=int64, device='cpu')"),
    ("flow.tensor([True])", "tensor([ True], dtype=bool, device='cpu')"),
    ("flow.zeros((0, 3), dtype='int8')", "tensor([], shape=(0, 3), dtype=int8, device='cpu')"),
    (
        "flow.eye(2, device='mock:1')",
        "tensor([[1., 0.],\n        [0., 1.]], dtype=float64, device='mock:1')",
    ),
]


@pytest.mark.parametrize(("code", "text"), REPRS)
def test_repr(code: str, text: str) -> None:
    t = eval(code)
    assert repr(t) == text
    assert str(t) == (text if t.ndim else str(t.item()))
    assert f"{t}" == (text if t.ndim else "3")  # as NumPy's 0-d arrays


@pytest.mark.parametrize(
    "shape",
    [(1001,), (2, 600), (600, 2), (40, 40), (11, 11, 11), (1, 1, 5000), (8, 200), (1000, 7, 1)],
)
def test_a_long_repr_is_numpys_summary(shape: tuple[int, ...], device: flow.Device) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    x[(-1,) * x.ndim] = 1e-3
    body = np.array2string(x, separator=", ", prefix="tensor(", threshold=1000)
    assert repr(flow.tensor(x, device=device)) == (
        f"tensor({body}, shape={shape}, dtype=float64, device='{device}')"
    )


def test_repr_of_a_huge_view_is_cheap() -> None:
    view = flow.broadcast_to(flow.tensor([[1.0, 2.0]]), (1 << 40, 2))
    assert "..." in repr(view)
    assert str(1 << 40) in repr(view)


def test_copies(device: flow.Device) -> None:
    x = np.arange(12.0).reshape(3, 4)
    t = flow.tensor(x, device=device)
    for duplicate in (
        t.copy(),
        copy.copy(t),
        copy.deepcopy(t),
        pickle.loads(pickle.dumps(t)),
        t.T.T.copy(),
    ):
        assert duplicate.device == device
        assert not duplicate.shares_storage(t)
        same(x, duplicate)
        duplicate[...] = 0
        same(x, t)
    same(x.T[::2], copy.deepcopy(t.T[::2]))
    same(x.T[::2], pickle.loads(pickle.dumps(t.T[::2])))
    shared = copy.deepcopy([t, t])
    assert len(shared) == 2


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int, device: flow.Device) -> None:
    for dtype in DTYPES:
        for shape in [(), (0, 3), (4,), (90, 300)]:
            x = values(shape, dtype, 1)
            t = pickle.loads(pickle.dumps(flow.tensor(x, device=device), protocol))
            same(x, t)
            assert t.device == device


def test_equality() -> None:
    t = flow.ones(2)
    same([True, True], t == t)
    assert (t == None) is False  # noqa: E711
    assert (t != "a") is True


def test_weak_references() -> None:
    t = flow.ones(2)
    reference = weakref.ref(t)
    assert reference() is t
    del t
    assert reference() is None


def test_attributes_cannot_be_added() -> None:
    with pytest.raises(AttributeError):
        flow.ones(2).colour = "red"


def test_methods_are_the_functions(device: flow.Device) -> None:
    x = np.array([[1.5, -2.5], [0.0, 3.0]])
    t = flow.tensor(x, device=device)
    for name in ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"):
        same(getattr(x, name)(), getattr(t, name)())
        same(getattr(x, name)(axis=1), getattr(t, name)(axis=1))
    same(x.clip(-1, 1), t.clip(-1, 1))
    same(x.round(), t.round())
    same(x.ravel(), t.ravel())
    same(x.T.flatten(), t.T.flatten())
    same(x[:1].squeeze(), t[:1].squeeze())
    same(x.astype("int8"), t.astype("int8"))
    same(x.astype("int8"), t.to("int8"))
    for function in (operator.neg, operator.pos, operator.abs):
        same(function(x), function(t))
    assert not (+t).shares_storage(t)
    same(~x.astype("int8"), ~t.astype("int8"))


def test_is_ready_never_waits(device: flow.Device) -> None:
    with flow.flags(mock="launch=100ms,h2d=1MB/s"):
        t = flow.ones(100_000, device=device) + 1
        flags = [t.is_ready() for _ in range(100)]
        t.numpy()
        assert t.is_ready()
    if device.type == "mock":
        assert not flags[0]


def test_devices() -> None:
    assert flow.Device("mock") == flow.Device("mock:0") == flow.Device("mock", 0) == "mock:0"
    assert flow.Device("cpu") == "cpu" == flow.Device("cpu:0")
    assert flow.Device("mock:1") != "mock:0"
    assert len({flow.Device("mock:0"), flow.Device("mock"), flow.Device("mock:1")}) == 2
    assert (flow.Device("mock:1").type, flow.Device("mock:1").index) == ("mock", 1)
    assert flow.devices()[:3] == ["cpu", "mock:0", "mock:1"]
    assert pickle.loads(pickle.dumps(flow.Device("mock:1"))) == "mock:1"
    assert copy.deepcopy(flow.Device("mock:1")) == "mock:1"
    assert flow.device("mock:1") == flow.Device("mock:1")


def test_tensors_name_a_device_by_one_object(device: flow.Device) -> None:
    x = flow.ones(2, device=device)
    other = flow.zeros((), "int8", device="cpu" if device.type == "mock" else "mock:1")
    assert x.device is (x + 1).device is flow.ones(3, device=str(device)).device
    assert x.device is not other.device != x.device
    with flow.device(flow.Device(str(device))):
        assert _C.get_default_device() is x.device
        assert np.add(other, 1).device is other.device  # its own home, not the default
        assert np.add.reduce(x, where=np.array([True, False])).device is x.device


def test_the_default_device_is_of_the_thread() -> None:
    seen = []
    with flow.device("mock:1"):
        thread = threading.Thread(target=lambda: seen.append(flow.zeros(1).device))
        thread.start()
        thread.join()
    assert seen == ["cpu"]
    with pytest.raises(RuntimeError, match="out"), flow.device("mock:0"):
        raise RuntimeError("out")
    assert flow.zeros(1).device == "cpu"
    with pytest.raises(ValueError, match="mock:77"), flow.device("mock:77"):
        pass
    assert flow.zeros(1).device == "cpu"


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "f", None])
def test_bytes_in_an_order(order: Any, device: flow.Device) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for turn in (lambda a: a, lambda a: a.T, lambda a: a.swapaxes(0, 1), lambda a: a[::-1].T):
        ours = turn(flow.tensor(x, device=device))
        assert ours.tobytes(order) == ours.tobytes(order=order) == turn(x).tobytes(order)
    with pytest.raises(ValueError, match=r"\[tobytes\] order"):
        flow.zeros(2).tobytes("Q")
