"""Shapes: views share storage where NumPy's do, and everything else has NumPy's values."""

from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(24.0).reshape(2, 3, 4)


RESHAPES = [
    *(
        (24,),
        (-1,),
        (4, 6),
        (2, -1, 2),
        (1, 24, 1),
        (2, 12),
        (6, 4),
        (2, 3, 2, 2),
        (3, 8),
        (1, 2, 3, 4),
    ),
]
SOURCES = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "swapped": lambda x: x.transpose(1, 0, 2),
    "reversed": lambda x: x[::-1],
    "steps": lambda x: x[:, :, ::2],
    "rows": lambda x: x[1:],
    "column": lambda x: x[:, 1],
    "broadcast": lambda x: (
        np.broadcast_to(x[:1], (3, 3, 4))
        if isinstance(x, np.ndarray)
        else flow.broadcast_to(x[:1], (3, 3, 4))
    ),
}


@pytest.mark.parametrize("shape", RESHAPES, ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_reshape(x: np.ndarray, source: str, shape: tuple[int, ...], device: flow.Device) -> None:
    a, t = SOURCES[source](x), SOURCES[source](flow.tensor(x, device=device))
    try:
        expected = a.reshape(shape)
    except ValueError:
        with pytest.raises(ValueError, match=r"\[reshape\] cannot reshape"):
            t.reshape(shape)
        return
    same(expected, t.reshape(shape))
    same(expected, t.reshape(*shape))
    same(expected, flow.reshape(t, shape))
    assert t.shares_storage(t.reshape(shape)) == np.shares_memory(a, expected)
    assert not t.shares_storage(t.reshape(shape, copy=True))
    if np.shares_memory(a, expected):
        assert t.shares_storage(t.reshape(shape, copy=False))
    else:
        with pytest.raises(ValueError, match=r"\[reshape\].*copy=False"):
            t.reshape(shape, copy=False)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0), (-1, 3), (0, -1)], ids=str)
def test_reshape_of_no_elements(shape: tuple[int, ...], device: flow.Device) -> None:
    empty = np.empty((2, 0, 3))
    try:
        expected = empty.reshape(shape)
    except ValueError:
        with pytest.raises(ValueError, match=r"\[reshape\]"):
            flow.tensor(empty, device=device).reshape(shape)
    else:
        same(expected, flow.tensor(empty, device=device).reshape(shape))


@pytest.mark.parametrize(
    "shape", [(-1, -1), (-2, 12), (5, -1), (2**62, 4), (2**63 - 1,), ()], ids=str
)
def test_bad_reshape(x: np.ndarray, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[reshape\]"):
        flow.tensor(x).reshape(shape)


def test_shapes_and_axes_in_an_array(x: np.ndarray, device: flow.Device) -> None:
    """Methods take numbers one by one, and together in an array or a tensor."""
    t = flow.tensor(x, device=device)
    for numbers in ([4, 6], [-1], [3, 2, 4]):
        for given in (np.asarray(numbers), np.asarray(numbers, "int8"), flow.tensor(numbers)):
            same(x.reshape(numbers), t.reshape(given))
            assert not t.reshape(given, copy=True).shares_storage(t)
    for given in (np.asarray([2, 0, 1]), flow.tensor([2, 0, 1], device=device)):
        same(x.transpose(2, 0, 1), t.transpose(given))
        same(x.transpose(2, 0, 1), t.permute_dims(given))
    same(x.reshape(24), t.reshape(np.asarray(24)))
    with pytest.raises(TypeError, match=r"\[reshape\] expected integers"):
        t.reshape(np.asarray([4.0, 6.0]))


def test_permutations(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for axes in [(0, 1, 2), (2, 0, 1), (1, 2, 0), (-1, 0, 1)]:
        same(x.transpose(axes), flow.permute_dims(t, axes))
        same(x.transpose(axes), t.permute_dims(*axes))
        same(x.transpose(axes), t.transpose(axes))
    same(x.T, t.T)
    same(x.mT, t.mT)
    same(x.T, t.transpose())
    same(x.mT, flow.matrix_transpose(t))
    same(np.moveaxis(x, 0, -1), flow.moveaxis(t, 0, -1))
    same(np.moveaxis(x, (0, 1), (-1, 0)), flow.moveaxis(t, (0, 1), (-1, 0)))
    assert t.T.shares_storage(t)
    same(np.array(3.0).T, flow.tensor(3.0).T)


@pytest.mark.parametrize(
    "axes", [(0, 1), (0, 0, 1), (0, 1, 3), (0, 1, 2, 3), (0, 1, -4), ()], ids=str
)
def test_bad_permutations(x: np.ndarray, axes: tuple[int, ...]) -> None:
    with pytest.raises((ValueError, IndexError), match=r"\[permute_dims\]"):
        flow.permute_dims(flow.tensor(x), axes)


def test_mt_needs_two_dimensions() -> None:
    with pytest.raises(ValueError, match=r"\[mT\].*\(3,\)"):
        _ = flow.zeros(3).mT


def test_dimensions_of_size_one(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for axis in (0, 1, -1, 3, (0, 2), (0, -1)):
        expected = np.expand_dims(x, axis)
        same(expected, flow.expand_dims(t, axis=axis))
        same(np.squeeze(expected), flow.squeeze(flow.expand_dims(t, axis=axis)))
        same(np.squeeze(expected, axis), flow.squeeze(flow.expand_dims(t, axis=axis), axis=axis))
    with pytest.raises(ValueError, match=r"\[squeeze\].*\(2, 3, 4\)"):
        flow.squeeze(t, axis=0)
    for axis in (4, -5, (0, 0), (1, -4)):
        with pytest.raises((ValueError, IndexError), match=r"\[expand_dims\]"):
            flow.expand_dims(t, axis=axis)
    same(x.ravel(), flow.ravel(t))
    same(x.T.flatten(), t.T.flatten())
    assert not t.flatten().shares_storage(t)
    assert t.ravel().shares_storage(t)


def test_exchanges_and_flips(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for one, two in ((0, 1), (2, 0), (-1, 1), (1, 1)):
        same(np.swapaxes(x, one, two), flow.swapaxes(t, one, two))
        same(x.swapaxes(one, two), t.swapaxes(one, two))
    for axis in (None, 0, -1, (0, 2), ()):
        same(np.flip(x, axis), flow.flip(t, axis=axis))
        assert flow.flip(t, axis=axis).shares_storage(t)
    same(np.array(3.0), flow.flip(flow.tensor(3.0)))
    for rows, tensor in zip(x.swapaxes(0, 1), flow.unstack(t, axis=1), strict=True):
        same(rows, tensor)
        assert tensor.shares_storage(t)
    assert flow.unstack(flow.zeros((0, 2))) == ()
    with pytest.raises(ValueError, match=r"\[unstack\].*0-d"):
        flow.unstack(flow.tensor(1))
    for call in (flow.flip, flow.unstack):
        with pytest.raises(AxisError, match=rf"\[{call.__name__}\] axis 3"):
            call(t, axis=3)


@pytest.mark.parametrize("layout", ["whole", "transposed", "reversed", "broadcast"])
def test_roll(x: np.ndarray, layout: str, device: flow.Device) -> None:
    a, t = SOURCES[layout](x), SOURCES[layout](flow.tensor(x, device=device))
    for shift in (0, 1, -1, 3, 100, -100):
        same(np.roll(a, shift), flow.roll(t, shift))
        for axis in (0, 1, -1):
            same(np.roll(a, shift, axis), flow.roll(t, shift, axis=axis))
    for shifts, axes in (
        ((1, 2), (0, 1)),
        (2, (0, 2)),
        ((1, 1, -3), 0),
        ((1, 2), (1, 1)),
        ((), ()),
    ):
        same(np.roll(a, shifts, axes), flow.roll(t, shifts, axis=axes))
    same(np.roll(a, (1, 2)), flow.roll(t, (1, 2)))
    assert not flow.roll(t, 0).shares_storage(t)


def test_roll_of_little(device: flow.Device) -> None:
    for shape in ((), (0,), (0, 3), (3, 0), (1,)):
        array = values(shape, "int8", 1)
        t = flow.tensor(array, device=device)
        same(np.roll(array, 2), flow.roll(t, 2))
        if shape:
            same(np.roll(array, 2, 0), flow.roll(t, 2, axis=0))
    with pytest.raises(ValueError, match=r"\[roll\].*\(1, 2, 3\).*\(0, 1\)"):
        flow.roll(flow.zeros((2, 2)), (1, 2, 3), axis=(0, 1))
    with pytest.raises(AxisError, match=r"\[roll\] axis 2"):
        flow.roll(flow.zeros((2, 2)), 1, axis=2)


COUNTS: list[Any] = [0, 1, 3, [2], [2, 0], [1, 1], [0, 0], [3, 1], np.array([5, 2], "uint8"), True]


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_repeat(x: np.ndarray, counts: Any, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    same(np.repeat(x, counts, 0), flow.repeat(t, counts, axis=0))
    same(np.repeat(x.T, counts, -1), flow.repeat(t.T, counts, axis=-1))
    same(np.repeat(x, counts, 0), t.repeat(flow.tensor(counts, device=device), axis=0))
    if np.size(counts) == 1:
        same(np.repeat(x, counts), flow.repeat(t, counts))
        same(np.repeat(x[:, :0], counts, 1), flow.repeat(t[:, :0], counts, axis=1))
        same(np.repeat(7.0, counts), flow.repeat(flow.tensor(7.0, device=device), counts))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_repeats_side_by_side(dtype: str, device: flow.Device, naive: bool) -> None:
    for shape in ((), (1,), (0,), (33,), (5, 7), (2, 3, 4), (3000,), (90, 70)):
        x = values(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        for array, seen in ((x, t), (x.T, t.T), (x[..., ::-2], t[..., ::-2]) if shape else (x, t)):
            for count in (0, 1, 2, 3, 4, 5, 70):
                same(np.repeat(array, count), flow.repeat(seen, count))
                for axis in range(-x.ndim, x.ndim):
                    same(np.repeat(array, count, axis), flow.repeat(seen, count, axis))
    with pytest.raises(ValueError, match=r"\[repeat\] counts may not be negative"):
        flow.repeat(t, -1)
    with pytest.raises(np.exceptions.AxisError, match=r"\[repeat\] axis 2"):
        flow.repeat(t, 2, 2)


def test_repeat_of_many(device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    array, counts = rng.normal(size=(500, 2)), rng.integers(0, 4, 500)
    t = flow.tensor(array, device=device)
    same(np.repeat(array, counts, 0), flow.repeat(t, flow.tensor(counts, device=device), axis=0))
    assert flow.repeat(t[:0], flow.tensor([], dtype="int64"), axis=0).shape == (0, 2)


def test_bad_repeat() -> None:
    t = flow.zeros((2, 3))
    for counts in (-1, [1, -1]):
        with pytest.raises(ValueError, match=r"\[repeat\].*negative"):
            flow.repeat(t, counts, axis=0)
    with pytest.raises(ValueError, match=r"\[repeat\] expected 1 or 2 counts, got 3"):
        flow.repeat(t, [1, 2, 3], axis=0)
    for counts in (1.5, [[1, 2]], "a", None):
        with pytest.raises(TypeError, match=r"\[repeat\].*integer"):
            flow.repeat(t, counts)
    with pytest.raises(AxisError, match=r"\[repeat\] axis 2"):
        flow.repeat(t, 1, axis=2)


@pytest.mark.parametrize(
    "times", [1, 0, 3, (2,), (2, 3), (1, 2, 1), (2, 1, 3, 2), (0, 2), ()], ids=str
)
def test_tile(x: np.ndarray, times: Any, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for a, b in ((x, t), (x.T, t.T), (x[0, 0], t[0, 0]), (x[:0], t[:0]), (x[0, 0, 0], t[0, 0, 0])):
        same(np.tile(a, times), flow.tile(b, times))
        assert not flow.tile(b, times).shares_storage(t)


def test_bad_tile() -> None:
    with pytest.raises(ValueError, match=r"\[tile\].*negative"):
        flow.tile(flow.zeros(2), (2, -1))
    with pytest.raises(TypeError):
        flow.tile(flow.zeros(2), 1.5)  # type: ignore[arg-type]


def test_broadcast_shapes() -> None:
    for shapes in (
        ((2, 1), (3,)),
        (3, (2, 1)),
        ((),),
        (),
        ((0,), (1, 1)),
        ((5, 1, 4), (3, 1), (4,)),
    ):
        assert flow.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    with pytest.raises(ValueError, match=r"\[broadcast_shapes\] shapes \(2,\), \(3,\)"):
        flow.broadcast_shapes((2,), (3,))


def test_where_takes_anything(device: flow.Device) -> None:
    mask, array = values((3, 4), "bool", 1), values((3, 4), "float32", 2)
    t, m = flow.tensor(array, device=device), flow.tensor(mask, device=device)
    for condition in (m, mask, mask.tolist(), m.to("int8"), True, 0):
        plain = mask if isinstance(condition, flow.Tensor) else condition
        for other in (2, 2.5, np.float64(1), np.ones(4, "int8"), [1, 2, 3, 4]):
            seen = flow.where(condition, t, other)
            same(np.where(plain, array, other), seen)
            assert seen.device == device
            same(np.where(plain, other, array), flow.where(condition, other, t))
    same(np.where(mask, 1, 2.5), flow.where(m, 1, 2.5))
    with pytest.raises(ValueError, match=r"\[where\].*broadcast"):
        flow.where(m, t, flow.ones(3, device=device))


def test_numpys_arrays_come_along(device: flow.Device) -> None:
    """What is no tensor goes to the device of what is one."""
    array, t = np.ones((2, 2)), flow.zeros((2, 2), device=device)
    for name in ("concat", "stack", "vstack", "hstack", "dstack", "column_stack", "concatenate"):
        assert getattr(flow, name)([array, t]).device == device
    assert [x.device for x in flow.broadcast_arrays(array, t, 1.0)] == [device] * 3
    assert [x.device for x in flow.meshgrid(array[0], t[0])] == [device] * 2
    assert flow.isclose(array, t).device == device
    assert flow.array_equal([[0.0, 0.0]] * 2, t)


BROADCASTS = [
    *(
        ((3,), (2, 3)),
        ((1,), (5,)),
        ((2, 1), (2, 4)),
        ((), (2, 2)),
        ((1, 1), (0, 3)),
        ((2, 3), (2, 3)),
    ),
    *(((3,), (2,)), ((2, 3), (3,)), ((2, 3), ()), ((0,), (3,)), ((3,), (2, 0))),
]


@pytest.mark.parametrize(("source", "target"), BROADCASTS, ids=str)
def test_broadcast_to(source: Any, target: Any, device: flow.Device) -> None:
    x = values(source, "float32", 1)
    t = flow.tensor(x, device=device)
    try:
        expected = np.broadcast_to(x, target)
    except ValueError:
        with pytest.raises(ValueError, match=r"\[broadcast_to\]"):
            flow.broadcast_to(t, target)
    else:
        same(expected, flow.broadcast_to(t, target))
        assert flow.broadcast_to(t, target).shares_storage(t)


def test_broadcast_arrays(device: flow.Device) -> None:
    a, b = values((3, 1), "int8", 1), values((4,), "float32", 2)
    results = flow.broadcast_arrays(
        flow.tensor(a, device=device), flow.tensor(b, device=device), flow.tensor(1)
    )
    for expected, result in zip(np.broadcast_arrays(a, b, 1), results, strict=True):
        same(expected, result)
    with pytest.raises(ValueError, match=r"\[broadcast_arrays\].*\(2,\).*\(3,\)"):
        flow.broadcast_arrays(flow.zeros(2), flow.zeros(3))


@pytest.mark.parametrize("function", ["concat", "stack"])
@pytest.mark.parametrize("axis", [0, 1, -1, 2])
def test_concat_and_stack(function: str, axis: int, device: flow.Device) -> None:
    name = {"concat": "concatenate"}.get(function, function)
    for dtypes in [
        ("float32", "float32"),
        ("int8", "uint8"),
        ("bool", "float16"),
        ("int64", "complex64"),
    ]:
        arrays = [values((3, 4, 2), d, i) for i, d in enumerate(dtypes)]
        tensors = [flow.tensor(a, device=device) for a in arrays]
        same(getattr(np, name)(arrays, axis=axis), getattr(flow, function)(tensors, axis=axis))
        views = [t.transpose(1, 0, 2)[::-1] for t in tensors]
        expected = getattr(np, name)([a.transpose(1, 0, 2)[::-1] for a in arrays], axis=axis)
        same(expected, getattr(flow, function)(views, axis=axis))


def test_concat_of_everything(device: flow.Device) -> None:
    parts = [values((n, 3), "float64", n) for n in (0, 1, 5, 9000)]
    tensors = [flow.tensor(p, device=device) for p in parts]
    same(np.concatenate(parts), flow.concat(tensors))
    same(np.concatenate(parts, axis=None), flow.concat(tensors, axis=None))
    same(np.concatenate([parts[3]] * 20), flow.concat([tensors[3]] * 20))
    x = tensors[2]
    joined = flow.concat([x, x])
    x[...] = 0
    same(np.concatenate([parts[2]] * 2), joined)


def test_numbers_are_weak_where_they_are_flattened(device: flow.Device) -> None:
    for dtype, number in (("uint8", 2), ("uint8", -1), ("int8", 2.5), ("float32", 2.5), ("?", 2)):
        x = np.ones(2, dtype)
        t = flow.tensor(x, device=device)
        same(np.concatenate([x, number], axis=None), flow.concat([t, number], axis=None))
        same(np.stack([x[0], number]), flow.stack([t[0], number]))
        same(np.union1d(x, number), flow.union1d(t, number))
        same(np.union1d(number, x), flow.union1d(number, t))
    out = flow.zeros(3, dtype="uint8", device=device)
    assert flow.concat([flow.ones_like(out)[:2], 2], axis=None, out=out).tolist() == [1, 1, 2]
    with pytest.raises(TypeError, match=r"\[concat\] cannot cast float64 to uint8"):
        flow.concat([out, 2.5], axis=None, out=flow.zeros(4, dtype="uint8", device=device))
    with pytest.raises(TypeError, match=r"\[concat\] cannot cast int64 to bool"):
        flow.concat([out > 0, 2], axis=None, dtype="bool")


def test_bad_concat() -> None:
    for arrays, axis in [
        ([flow.zeros((2, 3)), flow.zeros((3, 3))], 1),
        ([flow.zeros(2), flow.zeros((2, 2))], 0),
    ]:
        with pytest.raises(ValueError, match=r"\[concat\].*\(2"):
            flow.concat(arrays, axis=axis)
        with pytest.raises(ValueError, match=r"\[stack\].*\(2"):
            flow.stack(arrays)
    for function in (flow.concat, flow.stack):
        with pytest.raises(ValueError, match="at least one"):
            function([])
        with pytest.raises(TypeError, match="sequence"):
            function(flow.zeros((2, 2)))
        with pytest.raises((ValueError, IndexError), match=r"axis"):
            function([flow.zeros(2)], axis=5)
    with pytest.raises(ValueError, match=r"(?s)\[concat\].*cpu.*mock:0|\[concat\].*mock:0.*cpu"):
        flow.concat([flow.zeros(2), flow.zeros(2, device="mock:0")])
    with pytest.raises((ValueError, IndexError), match=r"\[concat\]"):
        flow.concat([flow.tensor(1.0)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype: str, device: flow.Device) -> None:
    """Casts that C defines; NumPy's bits."""
    for source in DTYPES:
        x = values((7, 300), source, 3)
        if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
            with pytest.raises(TypeError, match=r"\[astype\].*complex.*real"):
                flow.tensor(x, device=device).astype(dtype)
            continue
        if x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
            x = np.clip(np.nan_to_num(x), 0, 100).astype(source)
        t = flow.tensor(x, device=device)
        with np.errstate(all="ignore"):
            same(x.astype(dtype), t.astype(dtype))
            same(x[::-1, ::3].astype(dtype), t[::-1, ::3].astype(dtype))
            same(x.T.astype(dtype), flow.astype(t.T, dtype))
            target = flow.zeros((7, 300), dtype=dtype, device=device)
            target[...] = t
            same(x.astype(dtype), target)
    t = flow.zeros(3, dtype=dtype, device=device)
    assert t.astype(dtype, copy=False) is t
    assert not t.astype(dtype).shares_storage(t)


def test_nothing_is_repeated_any_number_of_times(device: flow.Device) -> None:
    for shape, axis in (((0,), None), ((0,), 0), ((0, 3), 0)):
        x = np.zeros(shape)
        t = flow.tensor(x, device=device)
        for times in (0, 3, 2**62, -1):
            same(np.repeat(x, times, axis), flow.repeat(t, times, axis))
    same(np.tile(np.zeros(0), 2**62), flow.tile(flow.zeros(0, device=device), 2**62))


def test_repeats_of_nothing_are_an_int64(device: flow.Device) -> None:
    x = flow.zeros(0, device=device)
    assert flow.repeat(x, 2**62).shape == (0,)
    with pytest.raises(OverflowError):
        flow.repeat(x, 2**63)


def test_repeat_by_an_empty_list(device: flow.Device) -> None:
    for shape, axis in (((0,), None), ((1, 0, 2), 1)):
        x = np.ones(shape, "float32")
        same(np.repeat(x, [], axis), flow.repeat(flow.tensor(x, device=device), [], axis))
    with pytest.raises(TypeError, match=r"\[repeat\] expected an integer"):
        flow.repeat(flow.ones(0, device=device), np.array([]))
    with pytest.raises(ValueError, match=r"\[repeat\] expected 1 or 2 counts, got 0"):
        flow.repeat(flow.ones(2, device=device), [])
