"""``x.view(dtype)``: the same bytes in another dtype, by NumPy's rules."""

import itertools
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

DTYPES = ("bool", "int8", "uint16", "int32", "float32", "int64", "float64", "complex128")
SHAPES = ((), (1,), (0,), (16,), (2, 8), (8, 0), (3, 1))


@pytest.mark.parametrize(("before", "after"), list(itertools.product(DTYPES, DTYPES)))
def test_bytes_are_numpys(device: flow.Device, before: str, after: str) -> None:
    for shape in SHAPES:
        numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        a = (numbers % (2 if after == "bool" else 9)).astype(before)
        x = flow.tensor(a, device=device)
        try:
            theirs = a.view(after)
        except ValueError:
            with pytest.raises(ValueError, match=r"^\[view\] "):
                x.view(after)
            continue
        ours = x.view(after)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        assert not a.size or ours.strides == theirs.strides
        assert ours.shares_storage(x)
        assert ours.numpy().tobytes() == theirs.tobytes()


def test_views_of_views(device: flow.Device) -> None:
    a = np.arange(24, dtype="int32").reshape(4, 6)
    x = flow.tensor(a, device=device)
    for cut in (np.s_[:, ::2], np.s_[::-1], np.s_[1:, 2:4]):
        assert x[cut].view("float32").numpy().tobytes() == a[cut].view("float32").tobytes()
    for cut in (np.s_[::-1], np.s_[1:, 2:4]):
        assert x[cut].view("int64").tolist() == a[cut].view("int64").tolist()
        assert x[cut].view("uint8").tolist() == a[cut].view("uint8").tolist()
    for cut in (np.s_[:, ::2], np.s_[:, ::-1]):
        with pytest.raises(ValueError, match="the last axis has gaps"):
            x[cut].view("int16")
        with pytest.raises(ValueError, match="last axis must be contiguous"):
            a[cut].view("int16")


def test_elements_begin_at_their_size(device: flow.Device) -> None:
    x = flow.zeros(9, dtype="uint8", device=device)
    assert x[:8].view("float64").tolist() == [0.0]
    with pytest.raises(ValueError, match="begins at multiples of 8 bytes: .* at byte 1"):
        x[1:].view("float64")
    assert x[1:].copy().view("float64").tolist() == [0.0]


def test_memory_of_others_begins_at_any_byte() -> None:
    whole = np.arange(64, dtype="uint8")
    even = -whole.ctypes.data % 8
    for start in (even, even + 1, even + 4):
        x = flow.from_dlpack(whole[start : start + 24])
        for dtype in ("uint16", "float32", "int64", "complex128"):
            if dtype == "complex128":
                x = x[:16]
            if (start - even) % min(np.dtype(dtype).itemsize, 8):
                with pytest.raises(ValueError, match=r"at byte 0 of memory at address \d+"):
                    x.view(dtype)
                continue
            assert x.view(dtype).tolist() == x.numpy().view(dtype).tolist()
            assert x.copy().view(dtype).tolist() == x.numpy().view(dtype).tolist()


def test_writes_are_in_order(device: flow.Device) -> None:
    x = flow.tensor(np.arange(5000, dtype="float32"), device=device)
    a = np.arange(5000, dtype="float32")
    for n in range(4):  # each reads what the one before has written, in the other dtype
        bits, theirs = x.view("int32"), a.view("int32")
        bits += n
        theirs += n
        x *= 3
        a *= 3
    assert x.numpy().tobytes() == a.tobytes()
    x.view(flow.int32)[:] = x  # NumPy's casts of an array to itself
    a.view("int32")[:] = a
    assert x.numpy().tobytes() == a.tobytes()


def test_without_a_dtype_it_is_another_handle() -> None:
    x = flow.zeros(3)
    for y in (x.view(), x.view(flow.float64), x.view(flow.ndarray), x.view(type=flow.Tensor)):
        assert y is not x
        assert y.shares_storage(x)
        y[0] += 1
    assert x[0].item() == 4.0
    wrong: Any = np.ndarray
    with pytest.raises(TypeError, match=r"\[view\] type: expected flow.Tensor"):
        x.view(type=wrong)
    with pytest.raises(TypeError, match=r"\[view\] unsupported dtype str"):
        x.view(str)


def test_in_recorded_programs(device: flow.Device) -> None:
    def mixed(x: flow.Tensor) -> flow.Tensor:
        bits = (x * 2).view("int32")
        bits ^= 1
        return bits.view("float32") + x

    ran = flow.jit(mixed)
    for n in range(3):
        x = flow.tensor(np.arange(4, dtype="float32") + n, device=device)
        assert ran(x).numpy().tobytes() == mixed(x).numpy().tobytes()
    with pytest.raises(TypeError, match=r"\[view\] .*may begin at any byte"):
        flow.jit(lambda x: x.view("int32"))(flow.zeros(8, dtype="uint8", device=device))


def test_its_gradient_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="sees bytes of float64 as float32"):
        flow.grad(lambda x: x.view("float32").sum())(flow.ones(3))
    assert flow.grad(lambda x: (x.view() * x).sum())(flow.ones(3)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.simulated
def test_kernels_of_a_device_read_complex_numbers_as_a_whole(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    code = """
import oneflow_lite as flow, pytest
x = flow.arange(6.0, device="cuda")
pairs = x.view("complex128")
assert x[2:].view("complex128").tolist() == [2 + 3j, 4 + 5j]
for use in (
    lambda: x[1:5].view("complex128"),
    lambda: flow.lib.stride_tricks.as_strided(pairs, (4,), (8,)),
):
    with pytest.raises(ValueError, match="begins at multiples of 16 bytes"):
        use()
with pytest.raises(TypeError, match="may begin at any byte"):
    flow.jit(lambda x: x.view("complex128"))(x)
"""
    done = run_program(code, cuda_sim="devices=1")
    assert done.returncode == 0, done.stdout + done.stderr
