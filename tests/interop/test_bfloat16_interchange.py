"""bfloat16 outside: creation, looks, elements, NumPy, DLPack, files; and where it is not there."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.bfloat16 import ALL, B, bits, check, ml_dtypes, numbers, rounded, wide
from tests.support.oracle import same

pytestmark = pytest.mark.usefixtures("no_warnings")


# --- data


def test_creation(device: flow.Device) -> None:
    check(np.array([1, 2.5, 0.1], B), flow.tensor([1, 2.5, 0.1], dtype=B, device=device))
    check(np.array([1, 0], B), flow.tensor([True, False], dtype="bfloat16", device=device))
    check(np.array(2.5, B), flow.tensor(ml_dtypes.bfloat16(2.5), device=device))
    check(np.full(3, 0.1, B), flow.full(3, 0.1, dtype=B, device=device))
    check(np.full(3, 2, B), flow.full_like(flow.zeros(3, dtype=B, device=device), 2))
    check(np.arange(300).astype(B), flow.arange(300, dtype=B, device=device))
    check(np.linspace(0, 1, 7).astype(B), flow.linspace(0, 1, 7, dtype=B, device=device))
    end = flow.tensor(3, dtype=B, device=device)
    check(np.array([0, 1.5, 3], B), flow.linspace(0, end, 3))
    assert flow.arange(end).tolist() == [0, 1, 2]
    check(np.eye(3).astype(B), flow.eye(3, dtype=B, device=device))
    assert flow.tensor([2**70], dtype=B).item() == 2.0**70
    drawn = flow.random.default_rng(3).normal(size=20, dtype=B, device=device)
    check(np.random.default_rng(3).normal(size=20).astype(B), drawn)
    check(np.array([1.5, 2], B), flow.tensor(["1.5", "2"], dtype=B, device=device))
    with pytest.raises(TypeError, match=r"\[tensor\]"):
        flow.tensor([1j], dtype=B)
    with pytest.raises(ValueError, match=r"\[tensor\]"):
        flow.tensor(["a"], dtype=B)


def test_looks(device: flow.Device) -> None:
    x = flow.tensor([1.0, 2.5, -0.0], dtype=B, device=device)
    assert x.numpy().dtype == B
    assert x.tolist() == [1.0, 2.5, 0.0]
    assert type(x[1].item()) is float
    assert float(x[1]) == 2.5
    assert int(x[1]) == 2
    assert bool(x[1])
    assert repr(x) == f"tensor([1, 2.5, -0], dtype=bfloat16, device='{device}')"
    assert x.itemsize == 2
    assert x.nbytes == 6
    assert f"{x[1]:.2f}" == "2.50"
    assert x.tobytes() == x.numpy().tobytes()


def test_elements(device: flow.Device) -> None:
    given = numbers((6, 7))
    x, expected = flow.tensor(given, device=device), given.copy()
    check(given[1:4, ::-2], x[1:4, ::-2])
    check(given[[0, 3, 3]], x[[0, 3, 3]])
    mask = wide(given) > 0
    check(given[mask], x[flow.tensor(mask, device=device)])
    x[0], expected[0] = 0.1, B.type(0.1)
    x[[1, 2]], expected[[1, 2]] = x[[3, 4]], expected[[3, 4]]
    x[flow.tensor(mask, device=device)], expected[mask] = 7, B.type(7)
    x[5, 5], expected[5, 5] = float("nan"), B.type(np.nan)
    check(expected, x)
    check(np.concatenate([expected, expected]), flow.concat([x, x]))
    check(np.take(expected, [1, 1], 1), flow.take(x, flow.tensor([1, 1], device=device), axis=1))
    check(expected, x.cpu())
    check(expected, flow.tensor(expected).to(device))
    check(expected, x.copy())
    assert flow.array_equal(x.T.copy(), x.T, equal_nan=True)


# --- interchange


def test_numpy_sees_the_memory() -> None:
    x = flow.ones(3, dtype=B)
    seen = np.asarray(x)
    x += 1
    assert seen.dtype == B
    assert seen.tolist() == [2, 2, 2]
    seen[0] = 5
    assert x.tolist() == [5, 2, 2]
    assert np.shares_memory(x.__array__(copy=False), seen)
    assert np.may_share_memory(x, seen)
    assert not np.shares_memory(np.array(x), seen)
    assert np.shares_memory(np.asarray(x, dtype=x.dtype), seen)
    assert np.shares_memory(np.asarray(x, dtype=flow.bfloat16, copy=False), seen)
    del seen
    assert np.asarray(flow.broadcast_to(x[:1], (3,))).flags.writeable is False
    with pytest.raises(BufferError, match="no format for bfloat16; use"):
        memoryview(x)
    with pytest.raises(ValueError, match="by a copy only"):
        np.asarray(x.mock(), copy=False)


def test_numpy_functions() -> None:
    given = numbers(100)
    x = flow.tensor(given)
    check(rounded(wide(given) + wide(given)), np.add(x, given))
    check(rounded(wide(given) + wide(given)), given + x)
    check(rounded(wide(given)), np.multiply(x, 1, dtype=B))
    same(wide(given) + 1, np.add(x, 1, dtype=np.float32))
    check(np.maximum.reduce(wide(given)).astype(B), np.maximum.reduce(x))
    check(rounded(np.add.accumulate(wide(given))), np.cumsum(x))
    assert np.result_type(x, flow.ones(1, dtype="float16")) == "float32"
    target = np.zeros(100, B)
    np.multiply(x, 2, out=target)
    np.testing.assert_array_equal(bits(target), bits(rounded(wide(given) * 2)))
    half = np.zeros(100, np.float16)
    np.multiply(x, 1, out=half)
    same(given.astype(np.float16), half)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_dlpack(name: str) -> None:
    library = pytest.importorskip(name)
    given = ALL.reshape(256, 256)
    x = flow.tensor(given)
    exported = (library if name == "torch" else library.dlpack).from_dlpack(x)
    assert str(exported.dtype).endswith("bfloat16")
    back = flow.from_dlpack(exported)
    assert back.dtype == B
    np.testing.assert_array_equal(bits(back), bits(given))
    if name == "torch":
        exported += 1  # the same memory
        assert x.shares_storage(x)
        assert x[0, 0].item() == 1
        view = flow.from_dlpack(library.ones((4, 6), dtype=library.bfloat16).T[::2])
        assert view.shape == (3, 4)
        assert view.sum().item() == 12


def test_files(tmp_path: Path, device: flow.Device) -> None:
    given = numbers((5, 7))
    x = flow.tensor(given, device=device)
    file = io.BytesIO()
    flow.save(file, x)
    file.seek(0)
    np.testing.assert_array_equal(bits(np.load(file).view(B)), bits(given))
    file.seek(0)
    loaded = flow.load(file, device=device)
    assert loaded.dtype == B
    assert loaded.device == device
    np.testing.assert_array_equal(bits(loaded), bits(given))
    flow.savez(tmp_path / "all.npz", x=x, y=flow.ones(2))
    both = flow.load(tmp_path / "all.npz")
    assert isinstance(both, dict)
    assert both["x"].dtype == B
    assert both["y"].dtype == "float64"
    flow.save(tmp_path / "x.npy", x)
    mapped = flow.load(tmp_path / "x.npy", mmap_mode="r+", device="cpu")
    assert isinstance(mapped, flow.Tensor)
    mapped[0, 0] = 3
    flow.synchronize()
    assert flow.load(tmp_path / "x.npy")[0, 0].item() == 3
    for protocol in range(2, 6):
        copied = pickle.loads(pickle.dumps(x, protocol))
        assert copied.dtype == B
        assert copied.device == device
        np.testing.assert_array_equal(bits(copied), bits(given))


# --- what is not there


def test_refusals() -> None:
    x = flow.ones((2, 2), dtype=B)
    for name in ("inv", "svd", "qr", "eigh"):
        with pytest.raises(TypeError, match="bfloat16; cast to float32 first"):
            getattr(flow.linalg, name)(x)
    assert flow.fft.fft(x).dtype == "complex64"
    assert flow.fft.irfft(x).dtype == "float32"
    for call in (lambda: x & x, lambda: x << 1, lambda: flow.gcd(x, x), lambda: x[x]):
        with pytest.raises((TypeError, IndexError), match="bfloat16"):
            call()


MISSING = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, oneflow_lite as flow
from tests.support.capsules import DataType, HandMade

advice = 'bfloat16 needs the package ml_dtypes: pip install "oneflow_lite[bfloat16]"'
x = flow.arange(6).astype("float16")
assert (x + x).sum().item() == 30 and (x @ x).item() == 55 and flow.prod(x).item() == 0
assert not hasattr(flow, "bfloat16") and "bfloat16" not in dir(flow)
for call in (
    lambda: flow.bfloat16,
    lambda: flow.zeros(2, dtype="bfloat16"),
    lambda: x.astype("bfloat16"),
    lambda: flow.from_dlpack(HandMade(dtype=DataType(4, 16, 1))),
    lambda: flow.load(sys.argv[1]),
):
    try:
        call()
    except (AttributeError, TypeError) as error:
        assert advice in str(error), error
    else:
        raise AssertionError(call)
"""


def test_without_the_package(run_program: Callable[..., Any], tmp_path: Path) -> None:
    flow.save(tmp_path / "x.npy", flow.ones(2, dtype=B))
    done = run_program(MISSING, str(tmp_path / "x.npy"))
    assert done.returncode == 0, done.stderr
