"""The order in which reshape, ravel and flatten take elements, as NumPy."""

import numpy as np
import pytest

import oneflow_lite as flow

ORDERS = ("C", "F", "A", "K", "c", "f")


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    found = []
    for shape in ((2, 3, 4), (6,), (), (0, 3), (4, 1, 3)):
        x = rng.integers(0, 99, shape)
        found += [x, x.T, np.asfortranarray(x), np.broadcast_to(x, (2, *shape))]
        if shape:
            found += [x[::-1], x[..., ::2], np.moveaxis(x, 0, -1)]
    return found


def pair(x: np.ndarray, device: flow.Device) -> tuple[np.ndarray, flow.Tensor]:
    """An array and a tensor with the values of x, and its order of axes in memory."""
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    back = np.argsort(order).tolist()
    packed = np.array(x.transpose(order), order="C")
    tensor = flow.tensor(packed, device=device)
    return packed.transpose(back), flow.permute_dims(tensor, back) if x.ndim else tensor


@pytest.mark.parametrize("order", ORDERS)
def test_as_numpy(order: str, device: flow.Device) -> None:
    for x in arrays():
        array, t = pair(x, device)
        flat = np.ravel(array, order=order)  # type: ignore[call-overload]
        made = [flow.ravel(t, order), t.ravel(order=order)]  # type: ignore[arg-type]
        made += [t.flatten(order), np.ravel(t, order)]  # type: ignore[arg-type,call-overload]
        for seen in made:
            assert isinstance(seen, flow.Tensor)
            assert seen.device == device
            assert seen.tolist() == flat.tolist()
        if order == "K":
            continue
        shapes: list[list[int]] = [[-1], list(x.shape[::-1]), [1, *x.shape]]
        for shape in shapes if x.size else shapes[1:]:
            expected = np.reshape(array, shape, order=order)  # type: ignore[call-overload]
            made = [flow.reshape(t, shape, order)]  # type: ignore[arg-type]
            made.append(t.reshape(*shape, order=order))  # type: ignore[arg-type]
            made.append(np.reshape(t, shape, order=order))  # type: ignore[call-overload]
            for seen in made:
                assert seen.shape == expected.shape
                assert seen.tolist() == expected.tolist()


def test_views_and_copies(device: flow.Device) -> None:
    x = flow.arange(6, device=device).reshape(2, 3)
    assert x.T.ravel("F").shares_storage(x)
    assert x.T.reshape(6, order="F").shares_storage(x)
    assert not x.reshape(3, 2, order="F").shares_storage(x)
    assert not x.T.flatten("F").shares_storage(x)
    assert not x.T.reshape(6, order="F", copy=True).shares_storage(x)
    with pytest.raises(ValueError, match=r"\[reshape\] strides do not allow a view"):
        x.reshape(6, order="F", copy=False)


def test_recorded() -> None:
    @flow.jit
    def turned(x: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        return flow.reshape(x, (3, 2), "F") * 2, x.ravel("F") + 1

    for size in (6, 6):
        x = np.arange(float(size)).reshape(2, 3)
        for seen, expected in zip(
            turned(flow.tensor(x)), (x.reshape(3, 2, order="F") * 2, x.ravel("F") + 1), strict=True
        ):
            assert seen.tolist() == expected.tolist()


def test_wrong_orders() -> None:
    x = flow.ones((2, 3))
    for call in (
        lambda order: x.reshape(6, order=order),
        lambda order: flow.reshape(x, 6, order),
    ):
        for wrong in ("K", "X", ""):
            with pytest.raises(ValueError, match=r"\[reshape\] order: expected 'C', 'F' or 'A'"):
                call(wrong)
        with pytest.raises(TypeError, match=r"\[reshape\] order: expected a string, got int"):
            call(3)
    with pytest.raises(ValueError, match=r"\[ravel\] order: expected"):
        x.ravel("X")  # type: ignore[arg-type]
    g = x.to_global(flow.placement("cpu", [0]), flow.sbp.split(0))
    with pytest.raises(TypeError, match="order"):
        flow.reshape(g, (3, 2), "F")
    with pytest.raises(ValueError, match="order"):
        g.ravel("F")


@pytest.mark.parametrize("order", ["K", "C", "A", "c"])
def test_copies(order: str, device: flow.Device) -> None:
    for x in arrays():
        array, t = pair(x, device)
        expected = np.copy(array, order=order), array.copy(order)  # type: ignore[call-overload]
        seen = (flow.copy(t, order), t.copy(order=order))  # type: ignore[arg-type]
        for one, copied in zip(expected, seen, strict=True):
            assert not copied.shares_storage(t)
            assert copied.numpy().tobytes() == one.tobytes()
            if one.size:
                steps = zip(one.shape, one.strides, copied.strides, strict=True)
                assert all(n == 1 or a == b for n, a, b in steps)
    with pytest.raises(TypeError, match=r"\[copy\] order: expected 'K' or 'C' or 'A', got 'F'"):
        flow.copy(flow.ones((2, 3), device=device), "F")
    with pytest.raises(ValueError, match=r"\[copy\] order: expected 'C' or 'K' or 'A', got 'X'"):
        flow.ones((2, 3), device=device).copy("X")  # type: ignore[arg-type]
