"""Joins, splits and pads: NumPy's values, and views where NumPy gives views."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

JOINS = ("concatenate", "vstack", "hstack", "dstack", "column_stack")
PARTS = [
    [(3,), (3,)],
    [(3,), (2,)],
    [(2, 3), (2, 3)],
    [(2, 3), (3,)],
    [(2, 1), (2, 3)],
    [(2, 3), (2,)],
    [(), ()],
    [(2, 3, 4), (2, 3, 4)],
    [(0,), (4,)],
    [(2, 0), (2, 3)],
]


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("shapes", PARTS, ids=str)
def test_joins(name: str, shapes: list[Any], device: flow.Device) -> None:
    pairs = zip(shapes, ("int8", "float32"), strict=True)
    arrays = [values(shape, dtype, 1) for shape, dtype in pairs]
    tensors = [flow.tensor(x, device=device) for x in arrays]
    try:
        expected = getattr(np, name)(arrays)
    except ValueError:
        with pytest.raises(ValueError, match=r"\[concat\]"):
            getattr(flow, name)(tensors)
    else:
        same(expected, getattr(flow, name)(tensors))


def test_concatenate(device: flow.Device) -> None:
    x, y = values((2, 3), "float32", 1), values((2, 3), "float64", 2)
    a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(np.concatenate([x, y], 1), flow.concatenate([a, b], 1))
    same(np.concatenate([x, y], axis=None), flow.concatenate([a, b], axis=None))
    same(np.concatenate([x, y], dtype="float32"), flow.concatenate([a, b], dtype="float32"))
    same(np.vstack([x, y], dtype="float32"), flow.vstack([a, b], dtype="float32"))
    out = flow.zeros((4, 3), device=device)
    assert flow.concatenate([a, b], out=out) is out
    same(np.concatenate([x, y]), out)
    with pytest.raises(ValueError, match=r"\[concat\].*\(4, 3\).*\(3, 4\)"):
        flow.concatenate([a, b], out=flow.zeros((3, 4), device=device))
    for name in JOINS:
        with pytest.raises(ValueError, match="at least one"):
            getattr(flow, name)([])


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_at_least(name: str, device: flow.Device) -> None:
    arrays = [values((2, 3, 4, 1)[4 - n :], "int16", n) for n in range(5)]
    tensors = [flow.tensor(x, device=device) for x in arrays]
    same(getattr(np, name)(*arrays), getattr(flow, name)(*tensors))
    for x, t in zip(arrays, tensors, strict=True):
        seen = getattr(flow, name)(t)
        same(getattr(np, name)(x), seen)
        assert seen.shares_storage(t)


@pytest.mark.parametrize("name", ["split", "array_split"])
@pytest.mark.parametrize(
    "parts",
    [1, 2, 3, 4, 6, 9, (2,), (1, 4), (0, 2, 2, 9), (4, 1), (-1,), (), np.array([1, 3])],
    ids=str,
)
def test_splits(name: str, parts: Any, device: flow.Device) -> None:
    x = values((6, 4), "float32", 1)
    t = flow.tensor(x, device=device)
    for axis in (0, 1, -1):
        try:
            expected = getattr(np, name)(x, parts, axis)
        except ValueError:
            with pytest.raises(ValueError, match=r"\[split\].*array_split"):
                getattr(flow, name)(t, parts, axis)
            continue
        seen = getattr(flow, name)(t, parts, axis=axis)
        same(expected, seen)
        assert all(part.shares_storage(t) for part in seen)
    same(np.array_split(x, [2]), flow.array_split(t, flow.tensor([2])))


def test_split_by_name(device: flow.Device) -> None:
    x = values((4, 6, 2), "int64", 1)
    t = flow.tensor(x, device=device)
    for name in ("vsplit", "hsplit", "dsplit"):
        same(getattr(np, name)(x, 2), getattr(flow, name)(t, 2))
    same(np.hsplit(x[0, 0], 2), flow.hsplit(t[0, 0], 2))
    for name in ("vsplit", "dsplit"):
        with pytest.raises(ValueError, match=rf"\[{name}\].*dimensions"):
            getattr(flow, name)(t[0, 0], 2)


def test_bad_splits() -> None:
    x = flow.zeros(4)
    with pytest.raises(IndexError, match=r"\[split\].*1"):
        flow.split(x, 2, axis=1)
    for parts in (0, -2):
        with pytest.raises(ValueError, match=r"\[split\]"):
            flow.array_split(x, parts)
    with pytest.raises(TypeError):
        flow.split(x, 2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", range(-2, 6))
def test_rot90(k: int, device: flow.Device) -> None:
    x = values((2, 3, 4), "int8", 1)
    t = flow.tensor(x, device=device)
    for axes in ((0, 1), (1, 0), (1, 2), (-1, 0)):
        same(np.rot90(x, k, axes), flow.rot90(t, k, axes))
        assert flow.rot90(t, k, axes).shares_storage(t)
    for bad in ((0, 0), (0, 3), (0, -3), (0,)):
        with pytest.raises(ValueError, match=r"\[rot90\].*ax[ei]s"):
            flow.rot90(t, k, bad)


def test_flips(device: flow.Device) -> None:
    x = values((2, 3), "float64", 1)
    t = flow.tensor(x, device=device)
    same(np.fliplr(x), flow.fliplr(t))
    same(np.flipud(x), flow.flipud(t))
    same(np.flipud(x[0]), flow.flipud(t[0]))
    with pytest.raises(ValueError, match=r"\[fliplr\].*\(3,\)"):
        flow.fliplr(t[0])


WIDTHS: list[Any] = [0, 1, 3, (2, 1), ((1, 2), (0, 3)), ((7, 8), (9, 10)), [[0, 0], [5, 0]]]


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect", "symmetric"])
@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_pad(mode: Any, width: Any, device: flow.Device) -> None:
    for shape in ((2, 3), (1, 4), (5, 2), (3, 1), (1, 1)):
        for dtype in ("int16", "float32", "bool", "complex128"):
            x = values(shape, dtype, 1)
            t = flow.tensor(x, device=device)
            same(np.pad(x, width, mode), flow.pad(t, width, mode))
            same(np.pad(x.T, width, mode), flow.pad(t.T, width, mode=mode))
            assert not flow.pad(t, width, mode).shares_storage(t)


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_pad_keeps_the_order_of_columns(mode: Any, device: flow.Device) -> None:
    x = values((4, 5, 3), "float32", 2)
    t = flow.tensor(x, device=device)
    for array, view in ((x, t), (x.T, t.T), (x[:, 0].T, t[:, 0].T), (x[:, ::2], t[:, ::2])):
        expected = np.pad(array, 2, mode)
        seen = flow.pad(view, 2, mode)
        same(expected, seen)
        assert seen.strides == expected.strides


PAD_CONSTANTS = (300, -1, 1.7, np.nan, -0.0, 2**40, 2**70, 1 + 2j, True, np.int64(-3), [[300]])
PAD_PAIRS = ((1, 300), (-1, 2.5), ((1, 2), (300, 4)), ((1, 2), (3, 4)), [[1], [300]], [[[300]]])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "uint64", "bool", "float32"])
@pytest.mark.parametrize("constant", [*PAD_CONSTANTS, *PAD_PAIRS], ids=str)
def test_pad_with_what_the_dtype_does_not_hold(
    constant: Any, dtype: str, device: flow.Device
) -> None:
    x = values((2, 3), dtype, 1)
    t = flow.tensor(x, device=device)
    try:
        expected = np.pad(x, 1, constant_values=constant)
    except (OverflowError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            flow.pad(t, 1, constant_values=constant)
    else:
        same(expected, flow.pad(t, 1, constant_values=constant))


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect", "symmetric"])
def test_pad_of_other_dimensions(mode: Any, device: flow.Device) -> None:
    x = values((2, 3, 2, 2), "int32", 1)
    same(np.pad(x, 2, mode), flow.pad(flow.tensor(x, device=device), 2, mode))
    same(
        np.pad(np.float32(3), 2, mode), flow.pad(flow.tensor(np.float32(3), device=device), 2, mode)
    )
    empty = np.zeros((0, 2))
    t = flow.tensor(empty, device=device)
    same(np.pad(empty, ((0, 0), (1, 2)), mode), flow.pad(t, ((0, 0), (1, 2)), mode))
    if mode == "constant":
        same(np.pad(empty, 1, mode), flow.pad(t, 1, mode))
    else:
        with pytest.raises(ValueError, match=r"\[pad\].*empty.*\(0, 2\)"):
            flow.pad(t, 1, mode)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("constant", [1, (1, 2), ((1, 2), (3, 4)), ((1,), (2,))], ids=str)
def test_pad_values(dtype: str, constant: Any, device: flow.Device) -> None:
    x = values((2, 2), dtype, 1)
    t = flow.tensor(x, device=device)
    expected = np.pad(x, ((1, 2), (2, 1)), constant_values=constant)
    same(expected, flow.pad(t, ((1, 2), (2, 1)), constant_values=constant))


def test_bad_pads() -> None:
    x = flow.zeros((2, 2))
    for width in ((1, 2, 3), -1, ((1, 2), (3, -1))):
        with pytest.raises(ValueError, match=r"\[pad\]"):
            flow.pad(x, width)
    with pytest.raises(TypeError, match=r"\[pad\].*float64"):
        flow.pad(x, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\[pad\].*'most'"):
        flow.pad(x, 1, "most")  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_small_joins_of_views(axis: int, device: flow.Device, naive: bool) -> None:
    """An axis of size 1 may have any stride; parts may repeat, be empty, or have steps."""
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    cut = [slice(None)] * 3
    cut[axis] = slice(0, None, 5)
    one, none = tuple(cut), tuple(slice(0, 0) if d == axis else slice(None) for d in range(3))
    tensor = flow.tensor(array, device=device)

    def parts(x: Any) -> list[Any]:
        return [x[one], x, x[none], x[one][..., ::-1], x[one]]

    same(np.concatenate(parts(array), axis), flow.concat(parts(tensor), axis=axis))
    same(np.concatenate([array[none]] * 2, axis), flow.concat([tensor[none]] * 2, axis=axis))
    rows = [array[0][None]] * 2, [tensor[0][None]] * 2  # a stride of 0
    same(np.concatenate(rows[0]), flow.concat(rows[1]))
