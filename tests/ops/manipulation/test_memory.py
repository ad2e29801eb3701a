"""Copies into tensors, and whose memory and which order it is."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

CASTING: tuple[Any, ...] = ("no", "equiv", "safe", "same_kind", "unsafe")


def outcome(xp: Any, dst: Any, *args: Any, **keywords: Any) -> type | None:
    """Write; the kind of the error, if it is one."""
    try:
        assert xp.copyto(dst, *args, **keywords) is None
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("no_warnings")
def test_copyto(dtype: str, device: flow.Device) -> None:
    for shape in ((), (0,), (4,), (3, 4)):
        for source in (dtype, "int8", "float32"):
            for casting in CASTING:
                x, y = values(shape, dtype, 1), values(shape[-1:], source, 2)
                t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
                if casting == "unsafe" and x.dtype.kind != "c" and y.dtype.kind == "c":
                    continue  # which is a TypeError here
                expected = outcome(np, x, y, casting)
                assert outcome(flow, t, u, casting) is expected
                same(x, t)
    x, y = values((3, 4), dtype, 3), values((2, 4), dtype, 4)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    np.copyto(x[::2, ::-1], y)
    flow.copyto(t[::2, ::-1], u)
    same(x, t)
    np.copyto(x.T, y.T[:, :1], where=x.T > 0)
    flow.copyto(t.T, u.T[:, :1], where=t.T > 0)
    same(x, t)


@pytest.mark.parametrize("copyto", [flow.copyto, np.copyto], ids=["ours", "NumPy's"])
def test_copyto_of_numbers_and_arrays(copyto: Any, device: flow.Device) -> None:
    for number in (7, 2.5, True, -1, 300, 1j):
        for dtype in ("int8", "float32", "complex64", "uint8"):
            x = np.zeros(3, dtype)
            t = flow.tensor(x, device=device)
            where = [True, False, True]
            assert outcome(flow, t, number, where=where) is outcome(np, x, number, where=where)
            same(x, t)
    t = flow.zeros((2, 3), device=device)
    copyto(t, np.arange(3.0))
    copyto(t[0], flow.tensor([[7.0, 8, 9]], device=device))
    array = np.zeros((2, 3))
    copyto(array, t, where=t > 1)
    assert array.tolist() == [[7, 8, 9], [0, 0, 2]]
    with pytest.raises(ValueError, match=r"\[copyto\]|broadcast"):
        copyto(t, flow.ones(2, device=device))


def test_copyto_of_nothing_that_is_written() -> None:
    with pytest.raises(TypeError, match=r"\[copyto\] expected a tensor or array to .*, got list"):
        flow.copyto([1, 2], [3, 4])
    for shape in ((2,), (2, 3, 4), (4, 3)):
        with pytest.raises(ValueError, match=r"\[copyto\] expected src to broadcast to .*, got \("):
            flow.copyto(flow.zeros((3, 4)), flow.ones(shape))
    t = flow.zeros((3, 4))
    flow.copyto(t, flow.ones(4))
    flow.copyto(t[:, :2], flow.ones((3, 1)) * 2)
    assert t.tolist() == [[2.0, 2.0, 1.0, 1.0]] * 3
    with pytest.raises(TypeError, match=r"\[where\] expected a mask of dtype bool"):
        flow.copyto(flow.zeros(2), 1, where=flow.tensor([0, 1]))


def test_shared_memory(device: flow.Device) -> None:
    t = flow.ones((3, 4), device=device)
    for module in (flow, np):
        for name in ("shares_memory", "may_share_memory"):
            shares = getattr(module, name)
            assert shares(t, t.T[1:]) is True
            assert shares(t, t + 1) is False
            assert shares(t, np.ones(3)) is False
            assert shares(np.ones(3), t) is False
            if device.type == "cpu":
                array = np.asarray(t)
                assert shares(t, array) is True
                assert shares(array[2:], t[2]) is True
                assert shares(array[2:], t[:1]) is False
    array = np.ones(4)
    assert flow.may_share_memory(array[::2], array[1::2])
    assert not flow.shares_memory(array[::2], array[1::2])
    assert flow.shares_memory(array, array[2:])


def test_isfortran(device: flow.Device) -> None:
    for shape in ((), (3,), (2, 3), (1, 3), (3, 1), (2, 3, 4), (0, 2)):
        x = np.zeros(shape)
        t = flow.tensor(x, device=device)
        for a, b in ((x, t), (x.T, t.T if len(shape) == 2 else flow.transpose(t))):
            assert flow.isfortran(b) is np.isfortran(a)
            assert flow.isfortran(a) is np.isfortran(a)
    assert not flow.isfortran(flow.zeros((4, 6), device=device)[::2, ::2].T)
    assert not flow.isfortran([[1, 2], [3, 4]])


def test_recorded(device: flow.Device) -> None:
    @flow.jit
    def written(x: flow.Tensor, y: flow.Tensor) -> Any:
        flow.copyto(x, y, where=y > 1)
        return x + flow.shares_memory(x, x[1:]) + flow.may_share_memory(x, y) + flow.isfortran(x)

    y = flow.tensor([1.0, 2.0, 3.0], device=device)
    for _ in range(3):
        x = flow.zeros(3, device=device)
        assert written(x, y).tolist() == [1.0, 3.0, 4.0]
        assert x.tolist() == [0.0, 2.0, 3.0]
