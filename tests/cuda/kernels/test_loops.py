"""Casts, fills, choices; flat and strided, broadcast, by value, few and many elements."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from oneflow_lite.cuda.kernels import Request
from tests.support import ON_X86
from tests.support.kernel_cases import DTYPES, copies, elementwise, fill, special, where
from tests.support.launching import Device

FLOATS = ("float32",) * 3


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, whose sums and products are exact in every dtype."""
    values = np.arange(np.prod(shape, dtype=int)) % 5 + 1
    return values.reshape(shape).astype(dtype)


def assert_equal(result: np.ndarray, expected: np.ndarray, about: str = "") -> None:
    """The same numbers; NumPy does not know that bfloat16 has NaN."""
    if result.dtype.kind == "V":
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(result, expected, about)


def castable(given: str, wanted: str) -> np.ndarray:
    """Values whose cast NumPy has: on x86 all, but for those that its vectors make other uint32."""
    values = special(given)
    if np.dtype(given).kind not in "fcV" or np.dtype(wanted).kind not in "iu":
        return values
    if ON_X86 and wanted != "uint32":
        return values
    low = 0 if np.dtype(wanted).kind == "u" else -120
    with np.errstate(all="ignore"):
        return values[np.isfinite(values) & (values.real >= low) & (values.real < 120)]


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("wanted", DTYPES)
def test_casts(device: Device, wanted: str) -> None:
    requests = [request for request in copies() if request.dtypes[-1] == wanted]
    for request, kernel in zip(requests, device.compile(requests), strict=True):
        given = castable(request.dtypes[0], wanted)
        result = np.empty(given.shape, wanted)
        device.run(kernel, [given], result)
        with np.errstate(all="ignore"):
            expected = given.astype(wanted) if wanted != "bool" else given != 0
        assert_equal(result, expected, str(request))
        if given.dtype.kind in "fV" and result.dtype.kind in "fV":
            real = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(result[real]), np.signbit(expected[real]))


def test_float64_is_rounded_to_float16_once(device: Device) -> None:
    (kernel,) = device.compile([r for r in copies() if r.dtypes == ("float64", "float16")])
    random = (
        np.random.default_rng(3).normal(size=20000)
        * 10.0 ** np.arange(-9, 6).repeat(20000 // 15 + 1)[:20000]
    )
    ties = (1 + (2 * np.arange(500) + 1) / 2048) * (1 + 2.0**-40)  # just above the middle
    given = np.concatenate([random, ties, -ties])
    result = np.empty(given.shape, np.float16)
    device.run(kernel, [given], result)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result, given.astype(np.float16))


def test_bool_bytes_that_are_neither_0_nor_1(device: Device) -> None:
    request = Request("copy", "", ("bool", "int8"), ("bool", "int8"), (False,), True, False)
    (kernel,) = device.compile([request])
    given = np.array([0, 1, 2, 255] * 8, np.uint8)
    result = np.empty(32, np.int8)
    device.run(kernel, [given], result)
    np.testing.assert_array_equal(result, given != 0)


def test_fill_and_where(device: Device) -> None:
    requests = [fill(dtype) for dtype in DTYPES] + [where(dtype) for dtype in DTYPES]
    requests += [where(dtype, (False, True, True)) for dtype in DTYPES]
    kernels = iter(device.compile(requests))
    condition = np.arange(37) % 3 == 0
    for dtype in DTYPES:
        value, result = special(dtype)[-2], np.empty(37, dtype)
        device.run(next(kernels), [value], result)
        assert_equal(result, np.full(37, value))
    for dtype in DTYPES:
        x, y = np.resize(special(dtype), 37), np.resize(special(dtype)[::-1], 37)
        result = np.empty(37, dtype)
        device.run(next(kernels), [condition, x, y], result)
        assert_equal(result, np.where(condition, x, y))
    for dtype in DTYPES:
        x, y = special(dtype)[:2]
        device.run(next(kernels), [condition, x, y], result := np.empty(37, dtype))
        assert_equal(result, np.where(condition, x, y))


MIXED = (
    FLOATS,
    ("int8", "int8", "int8"),
    ("float16", "float16", "float16"),
    ("float32", "int16", "float64"),
    ("uint8", "complex64", "complex128"),
    ("int64", "float64", "float32"),
)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("scalars", [(False, False), (True, False), (False, True), (True, True)])
def test_sizes_around_vectors(device: Device, wide: bool, scalars: tuple[bool, bool]) -> None:
    def request(dtypes: tuple[str, ...]) -> Request:
        loop = (np.result_type(*dtypes).name,) * 3
        return elementwise("add", loop, dtypes=dtypes, scalars=scalars, wide=wide)

    for dtypes, kernel in zip(MIXED, device.compile([request(d) for d in MIXED]), strict=True):
        for count in (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 255, 256, 257, 4100):
            for shift in (0, 1):  # by one element: not aligned for vectors
                x, y, result = (numbers(dtype, (count + shift,))[shift:] for dtype in dtypes)
                inputs = [v[0] if s and count else v for v, s in zip((x, y), scalars, strict=True)]
                if any(scalars) and not count:
                    continue
                device.run(kernel, inputs, result, blocks=3 if count > 1000 else 1)
                np.testing.assert_array_equal(result, (inputs[0] + inputs[1]).astype(dtypes[-1]))


def transposed(dtype: str) -> np.ndarray:
    return numbers(dtype, (7, 5, 3)).transpose(2, 0, 1)


VIEWS: dict[str, Callable[[str], np.ndarray]] = {
    "transposed": transposed,
    "backward": lambda dtype: numbers(dtype, (3, 14, 5))[::-1, ::-2, ::-1],
    "broadcast": lambda dtype: np.broadcast_to(numbers(dtype, (7, 1)), (3, 7, 5)),
    "constant": lambda dtype: np.broadcast_to(numbers(dtype, (1,)), (3, 7, 5)),
}


@pytest.mark.parametrize("wide", [False, True])
def test_strides(device: Device, wide: bool) -> None:
    choices = [(False, False), (True, False)]
    requests = [
        elementwise(
            "subtract",
            ("float64",) * 3,
            dtypes=("int16", "float32", "float64"),
            scalars=scalars,
            flat=False,
            wide=wide,
        )
        for scalars in choices
    ]
    plain, with_scalar = device.compile(requests)
    for first in VIEWS.values():
        for second in VIEWS.values():
            x, y = first("int16"), second("float32")
            for output in (np.zeros((3, 7, 5)), np.zeros((7, 3, 10)).transpose(1, 0, 2)[..., ::2]):
                device.run(plain, [x, y], output)
                np.testing.assert_array_equal(output, x.astype(float) - y)
                device.run(with_scalar, [np.int16(9), y], output)
                np.testing.assert_array_equal(output, 9.0 - y)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 2, 1, 2, 3, 1, 2, 2), (300, 7)])
def test_strided_shapes(device: Device, shape: tuple[int, ...]) -> None:
    kernels = device.compile(
        [replace(elementwise("add", FLOATS), flat=False, wide=wide) for wide in (False, True)]
    )
    x, y = numbers("float32", shape), numbers("float32", shape).T.copy().T
    for kernel in kernels:
        result = np.zeros(shape, np.float32)
        device.run(kernel, [x, y], result)
        np.testing.assert_array_equal(result, x + y)


def test_in_place(device: Device) -> None:
    flat, strided = device.compile(
        [elementwise("add", FLOATS), replace(elementwise("add", FLOATS), flat=False)]
    )
    for kernel in (flat, strided):
        x = numbers("float32", (1000,))
        device.run(kernel, [x, x], x)
        np.testing.assert_array_equal(x, 2 * numbers("float32", (1000,)))


def test_three_inputs_by_value_and_in_memory(device: Device) -> None:
    loop = ("float32",) * 4
    request = elementwise("clip", loop, scalars=(False, True, True))
    (kernel,) = device.compile([request])
    x = np.linspace(-3, 3, 101, dtype=np.float32)
    result = np.empty_like(x)
    device.run(kernel, [x, np.float32(-1), np.float32(2)], result)
    np.testing.assert_array_equal(result, np.clip(x, -1, 2))
