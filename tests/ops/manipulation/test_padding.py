"""Pads by statistics, ramps and odd mirrors: NumPy's bits, strides and errors."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

WIDTHS: list[Any] = [
    *(0, 3, (2, 1), ((1, 2), (0, 3)), ((7, 8), (9, 10)), [[0, 0], [5, 0]]),
    *({0: 2}, {-1: (1, 3)}, {0: (2, 0), 1: 1}, {}),
]
SHAPES = ((2, 3), (1, 4), (3, 1), (4, 6))
LENGTHS = (None, 1, 2, (1, 3), ((1, 2), (3, 1)), 1.5)
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "linear_ramp": [
        {},
        *({"end_values": v} for v in (3, (1, 2.5), ((1, 2), (3, 4)), ((-7,), (300,)))),
        {"end_values": np.float32(2)},
    ],
    **{
        mode: [{"stat_length": length} for length in LENGTHS]
        for mode in ("maximum", "minimum", "mean", "median")
    },
    **{
        mode: [{"reflect_type": kind} for kind in ("odd", "even")]
        for mode in ("reflect", "symmetric")
    },
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy warns of empty means and of casts."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def check(x: Any, t: flow.Tensor, width: Any, mode: Any, given: dict[str, Any]) -> None:
    """Compare a pad, or its error, with NumPy's."""
    try:
        expected = np.pad(x, width, mode, **given)
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        with pytest.raises(type(error), match=r"\[pad\]"):
            flow.pad(t, width, mode, **given)
    else:
        seen = flow.pad(t, width, mode, **given)
        same(expected, seen)
        assert seen.strides == expected.strides or not seen.size
        assert not seen.shares_storage(t)


@pytest.mark.parametrize("mode", ARGUMENTS)
@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_modes(mode: str, width: Any, device: flow.Device) -> None:
    for shape in SHAPES:
        for dtype in ("bool", "uint8", "int64", "float16", "float32"):
            x = values(shape, dtype, 1)
            t = flow.tensor(x, device=device)
            for given in ARGUMENTS[mode]:
                check(x, t, width, mode, given)
                check(x.T, t.T, width, mode, given)


@pytest.mark.parametrize("mode", ARGUMENTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(mode: str, dtype: str, device: flow.Device) -> None:
    for shape in ((5,), (2, 3, 4)):
        x = values(shape, dtype, 2)
        check(x, flow.tensor(x, device=device), 2, mode, {})


def test_special_numbers(device: flow.Device) -> None:
    x = np.array([[np.nan, 1, -0.0, 5e-324], [np.inf, 0.0, 2, 3]])
    t = flow.tensor(x, device=device)
    for mode in ARGUMENTS:
        check(x, t, ((0, 0), (3, 2)), mode, {})
        check(x, t, 1, mode, {})


@pytest.mark.parametrize("end", [0.0, -0.0, np.inf, np.nan, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
def test_ramps_of_one_step(end: Any, dtype: str, device: flow.Device) -> None:
    x = np.array([-1, 0, 3]).astype(dtype)
    for ends in (end, (end, 2), ((end, end),)):
        check(x, flow.tensor(x, device=device), 1, "linear_ramp", {"end_values": ends})
    if dtype[0] != "i":
        x = np.array([-0.0, np.inf, np.nan], dtype)
        check(x, flow.tensor(x, device=device), 1, "linear_ramp", {"end_values": end})


def test_empty_tensors_and_numbers(device: flow.Device) -> None:
    x = np.zeros((0, 2))
    t = flow.tensor(x, device=device)
    for mode in ARGUMENTS:
        check(x, t, ((0, 0), (1, 2)), mode, {})
        check(x, t, 1, mode, {})
        check(np.float32(3), flow.tensor(np.float32(3), device=device), 2, mode, {})
    for width in (1, ((0, 0), (1, 2))):
        assert flow.pad(t, width, "empty").shape == np.pad(x, width, "empty").shape


def test_nothing_is_known_of_empty(device: flow.Device) -> None:
    x = values((2, 3), "int16", 1)
    for array, t in ((x, flow.tensor(x, device=device)), (x.T, flow.tensor(x, device=device).T)):
        expected, seen = np.pad(array, 1, "empty"), flow.pad(t, 1, "empty")
        assert (seen.shape, seen.dtype, seen.strides) == (
            *(expected.shape, expected.dtype, expected.strides),
        )
        same(array, seen[1:-1, 1:-1])


def test_arguments_of_other_modes(device: flow.Device) -> None:
    x = values((2, 3), "float32", 1)
    t = flow.tensor(x, device=device)
    for mode in ("constant", "edge", "wrap", "empty", *ARGUMENTS):
        own = "" if mode == "constant" else next(iter(ARGUMENTS.get(mode, [{}])[-1]), "")
        for name, value in {"end_values": 1, "stat_length": 1, "reflect_type": "odd"}.items():
            if name != own:
                check(x, t, 1, mode, {name: value})
        if mode != "constant":
            check(x, t, 1, mode, {"constant_values": 1})
    for mode in ("maximum", "minimum", "mean", "median"):
        check(x, t, 1, mode, {"stat_length": -1})
        check(x, t, 1, mode, {"stat_length": 0})
    for width in ({2: 1}, {-3: 1}, {0: -1}):
        with pytest.raises((IndexError, ValueError), match=r"\[pad\]"):
            flow.pad(t, width)
    with pytest.raises(TypeError, match=r"\[pad\] mode: a function"):
        flow.pad(t, 1, print)  # type: ignore[arg-type]


def test_padding_does_not_look(device: flow.Device) -> None:
    t = flow.tensor(values((3, 4), "float32", 1), device=device)
    with flow.flags(implicit_sync="error"):
        for mode, rows in ARGUMENTS.items():
            for given in rows:
                flow.pad(t + 1, 2, mode, **given)  # type: ignore[arg-type]


def test_padding_is_recorded() -> None:
    x = flow.tensor(values((3, 4), "float32", 1))
    for mode, rows in ARGUMENTS.items():
        for given in rows:
            program = flow.jit(lambda t, mode=mode, given=given: flow.pad(t, 2, mode, **given))
            same(np.pad(x.numpy(), 2, mode, **given), program(x))  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", ["wrap", "reflect", "symmetric"])
def test_pads_much_wider_than_the_tensor(mode: Any, device: flow.Device) -> None:
    for shape in ((3,), (2, 3), (1, 2, 5)):
        for dtype in ("bool", "int16", "float32", "complex128"):
            x = values(shape, dtype, 3)
            t = flow.tensor(x, device=device)
            for width in (40, (0, 100), (101, 3)):
                check(x, t, width, mode, {})
                check(x.T, t.T, width, mode, {})
                check(x[..., ::-1], t[..., ::-1], width, mode, {})
    x = values((3,), "float32", 3)
    t = flow.tensor(x, device=device)
    with flow.flags(implicit_sync="error"):
        seen = flow.pad(t, 10_000, mode)
    same(np.pad(x, 10_000, mode), seen)
    program = flow.jit(lambda t: flow.pad(t, 10_000, mode))
    same(np.pad(x, 10_000, mode), program(t))


@pytest.mark.parametrize("mode", ["wrap", "reflect", "symmetric"])
def test_a_wide_pad_is_few_operations(mode: Any) -> None:
    program = flow.graph.trace(lambda t: flow.pad(t, 10_000, mode), flow.ones(3)).program
    assert len(program.main.ops) < 10


@pytest.mark.parametrize(
    ("mode", "most"), [("linear_ramp", 15), ("mean", 10), ("median", 16), ("maximum", 9)]
)
def test_a_pad_of_one_element_is_few_operations(mode: Any, most: int) -> None:
    program = flow.graph.trace(lambda t: flow.pad(t, 1, mode), flow.ones(3)).program
    assert len(program.main.ops) <= most


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "linear_ramp", "mean", "empty"])
@pytest.mark.parametrize("value", [0, 0.0, False, 1, [0, 0]])
def test_values_are_of_one_mode_only(mode: Any, value: Any, device: flow.Device) -> None:
    x = flow.ones((2, 3), device=device)
    for function, given in ((np.pad, x.numpy()), (flow.pad, x), (np.pad, x)):
        with pytest.raises(ValueError, match="constant_values"):
            function(given, 1, mode, constant_values=value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_that_are_given(dtype: str, device: flow.Device) -> None:
    x = values((2, 3), dtype, 1)
    for value in (0, 1, 2.5, True, (1, 0), [[1, 0], [0, 1]]):
        for seen in (x, x.T, x[:, ::-1]):
            t = flow.tensor(seen, device=device)
            same(np.pad(seen, 1, constant_values=value), flow.pad(t, 1, constant_values=value))
            same(np.pad(seen, (1, 2)), flow.pad(t, (1, 2)))
