"""Convolutions and their gradients: NumPy's values, and bits that depend on sizes only."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import convolution
from tests.support.convolution import CASES, Case, blocked, fractions, numbers, terms

DTYPES = ("float16", "float32", "float64")
KERNELS = ("conv2d", "conv2d_input_gradient", "conv2d_weight_gradient")
BLOCKED = tuple(case for case in CASES if case.is_blocked)
THREADS = (1, 2, 3, 7)


def operands(kernel: str, case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of both operands."""
    return {
        "conv2d": (case.x, case.w),
        "conv2d_input_gradient": (case.w, case.result),
        "conv2d_weight_gradient": (case.x, case.result),
    }[kernel]


def expected(kernel: str, case: Case, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    reference = {
        "conv2d": convolution.conv2d,
        "conv2d_input_gradient": convolution.input_gradient,
        "conv2d_weight_gradient": convolution.weight_gradient,
    }[kernel]
    return reference(a, b, case)


def call(kernel: str, case: Case, a: Any, b: Any, layout: str = "NCHW", **keywords: Any) -> Any:
    x = (*case.x[:1], case.x[1] // 16, *case.x[2:], 16) if layout == "NCHW16c" else case.x
    given = {
        "conv2d": (a, b),
        "conv2d_input_gradient": (x, a, b),
        "conv2d_weight_gradient": (a, case.w, b),
    }[kernel]
    function = getattr(flow, kernel)
    return function(*given, **case.keywords, data_layout=layout, **keywords)


def length(kernel: str, case: Case) -> int:
    """Of the longest sum of an element."""
    if kernel == "conv2d_weight_gradient":
        return max(1, case.result[0] * case.result[2] * case.result[3])
    return max(1, terms(case), case.w[0] * case.w[2] * case.w[3])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_sums(kernel: str, case: Case, device: flow.Device) -> None:
    """Sums of small integers are exact, whichever order they are summed in."""
    a, b = (numbers(shape, "float32", seed) for seed, shape in enumerate(operands(kernel, case)))
    given = (flow.tensor(x, device=device) for x in (a, b))
    result = call(kernel, case, *given)
    assert result.dtype == "float32"
    assert result.device == device
    wanted = expected(kernel, case, a, b)
    assert result.shape == wanted.shape
    assert np.array_equal(result.numpy(), wanted)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES[::2], ids=str)
def test_rounded_sums(kernel: str, dtype: str, case: Case) -> None:
    a, b = (fractions(shape, dtype, seed) for seed, shape in enumerate(operands(kernel, case)))
    seen = call(kernel, case, flow.tensor(a), flow.tensor(b))
    assert seen.dtype == dtype
    wanted = expected(kernel, case, a, b)
    sums = expected(kernel, case, np.abs(a), np.abs(b))
    rounding = np.finfo("float32" if dtype == "float16" else dtype).eps
    bound = sums * rounding * length(kernel, case) + np.abs(wanted) * np.finfo(dtype).eps
    assert np.all(np.abs(seen.numpy() - wanted) <= bound)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", BLOCKED, ids=str)
def test_the_layout_changes_no_bit(kernel: str, case: Case, device: flow.Device) -> None:
    a, b = (fractions(shape, "float32", i) for i, shape in enumerate(operands(kernel, case)))
    one = call(kernel, case, *(flow.tensor(x, device=device) for x in (a, b))).numpy()
    images = {"conv2d": (True, False), "conv2d_input_gradient": (False, True)}
    are_images = images.get(kernel, (True, True))
    given = [blocked(x) if is_image else x for x, is_image in zip((a, b), are_images, strict=True)]
    tensors = (flow.tensor(x, device=device) for x in given)
    other = call(kernel, case, *tensors, layout="NCHW16c").numpy()
    wanted = one if kernel == "conv2d_weight_gradient" else blocked(one)
    assert other.shape == wanted.shape
    assert other.tobytes() == wanted.tobytes()


LARGE = (
    Case((3, 48, 30, 31), (40, 48, 3, 3), padding=((1, 1), (1, 1))),
    Case((1, 32, 29, 30), (48, 32, 3, 3), stride=(2, 2)),
    Case((2, 64, 16, 16), (96, 32, 1, 1), groups=2),
)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_threads_change_no_bit(kernel: str, dtype: str, case: Case) -> None:
    a, b = (
        flow.tensor(fractions(shape, dtype, seed))
        for seed, shape in enumerate(operands(kernel, case))
    )
    seen = set()
    for threads in THREADS:
        with flow.flags(num_threads=str(threads)):
            seen.add(call(kernel, case, a, b).numpy().tobytes())
    assert len(seen) == 1


# Tiles are of channels or of positions, whichever is faster, and positions are packed, or read as
# they lie if there is much work and their lines fit a cache: images, kernels, stride, padding.
WAYS = (
    ((5, 16, 8, 8), (48, 16, 3, 3), 2, 1),
    ((40, 3, 9, 7), (48, 3, 3, 3), 1, 1),
    ((3, 8, 30, 30), (40, 8, 3, 2), 1, 0),
    ((1, 24, 5, 5), (70, 24, 3, 3), 1, 1),
    ((2, 20, 24, 40), (34, 20, 3, 3), 1, 1),
    ((2, 64, 32, 32), (34, 64, 3, 3), 1, 0),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("of_x", "of_w", "stride", "padding"), WAYS)
def test_the_way_of_a_sum_changes_no_bit(
    of_x: tuple[int, ...], of_w: tuple[int, ...], stride: int, padding: int, dtype: str
) -> None:
    """Few channels, and few images, are summed in another way than many."""
    how = {"stride": stride, "padding": padding}
    x, w = (flow.tensor(fractions(shape, dtype, k)) for k, shape in enumerate((of_x, of_w)))
    whole = flow.conv2d(x, w, **how)
    y = flow.tensor(fractions(whole.shape, dtype, 2))
    by_w, by_x = (
        flow.conv2d_weight_gradient(x, w.shape, y, **how).numpy(),
        flow.conv2d_input_gradient(x.shape, w, y, **how).numpy(),
    )
    for some in (1, 3, 15, 17, 33):
        part = flow.conv2d(x, w[:some], **how)
        assert part.numpy().tobytes() == whole[:, :some].numpy().tobytes()
        part = flow.conv2d_weight_gradient(x, (some, *of_w[1:]), y[:, :some], **how)
        assert part.numpy().tobytes() == by_w[:some].tobytes()
    for some in (1, 2):
        part = flow.conv2d_input_gradient((of_x[0], some, *of_x[2:]), w[:, :some], y, **how)
        assert part.numpy().tobytes() == by_x[:, :some].tobytes()
        part = flow.conv2d(x[:some], w, **how)
        assert part.numpy().tobytes() == whole[:some].numpy().tobytes()


@pytest.mark.parametrize("channels", [3, 40])
def test_images_that_are_copied_some_at_a_time_change_no_bit(channels: int) -> None:
    """Those with a border are copied, and those without are read as they lie."""
    x = fractions((900, 20, 10, 10), "float32", 0)
    y = flow.tensor(fractions((900, channels, 10, 10), "float32", 1))
    shape = (channels, 20, 3, 3)
    copied = flow.conv2d_weight_gradient(flow.tensor(x), shape, y, padding=1)
    padded = flow.tensor(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))))
    in_place = flow.conv2d_weight_gradient(padded, shape, y)
    assert copied.numpy().tobytes() == in_place.numpy().tobytes()


@pytest.mark.parametrize("kernel", ["conv2d", "conv2d_input_gradient"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_images_change_no_bit(kernel: str, dtype: str) -> None:
    """Weights are packed for many positions, and read as they lie for few."""
    case = Case((40, 10, 9, 8), (34, 5, 3, 2), groups=2)
    a, b = (fractions(shape, dtype, seed) for seed, shape in enumerate(operands(kernel, case)))
    whole = call(kernel, case, flow.tensor(a), flow.tensor(b)).numpy()
    one = replace(case, x=(1, *case.x[1:]))
    for i in range(0, 40, 13):
        images = (a[i : i + 1], b) if kernel == "conv2d" else (a, b[i : i + 1])
        alone = call(kernel, one, *map(flow.tensor, images)).numpy()
        np.testing.assert_array_equal(alone[0], whole[i])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", [CASES[1], CASES[4]], ids=str)
def test_operands_may_lie_anyhow(kernel: str, case: Case, device: flow.Device) -> None:
    a, b = (
        flow.tensor(fractions(shape, "float32", seed), device=device)
        for seed, shape in enumerate(operands(kernel, case))
    )
    wanted = call(kernel, case, a, b).numpy().tobytes()
    for form in (
        lambda x: flow.flip(flow.flip(x).copy()),
        lambda x: flow.permute_dims(flow.permute_dims(x, (3, 1, 0, 2)).copy(), (2, 1, 3, 0)),
        lambda x: flow.repeat(x, 2, axis=3)[..., ::2],
        lambda x: flow.concat([x, x], axis=2)[:, :, x.shape[2] :],
    ):
        assert call(kernel, case, form(a), form(b)).numpy().tobytes() == wanted


@pytest.mark.parametrize("kernel", KERNELS)
def test_out(kernel: str, device: flow.Device) -> None:
    case = Case((2, 3, 5, 5), (3, 3, 3, 3), padding=((1, 1), (1, 1)))
    a, b = (
        flow.tensor(fractions(shape, "float32", seed), device=device)
        for seed, shape in enumerate(operands(kernel, case))
    )
    wanted = call(kernel, case, a, b)
    out = flow.zeros(wanted.shape, dtype="float64", device=device)
    assert call(kernel, case, a, b, out=out) is out
    assert np.array_equal(out.numpy(), wanted.numpy())
    array = np.zeros(wanted.shape, "float64")
    assert call(kernel, case, a, b, out=array) is array
    assert np.array_equal(array, wanted.numpy())
    half = flow.zeros(wanted.shape, dtype="float16", device=device)
    assert np.array_equal(call(kernel, case, a, b, out=half).numpy(), array.astype("float16"))
    if kernel == "conv2d":  # into what is read
        assert call(kernel, case, a, b, out=a) is a
        assert np.array_equal(a.numpy(), wanted.numpy())
    with pytest.raises(ValueError, match=rf"\[{kernel}\] expected out of shape"):
        call(kernel, case, a, b, out=flow.zeros((2, 2), device=device))
    for wrong in ([1], 1.0, "out", True):
        with pytest.raises(TypeError, match=rf"\[{kernel}\] expected out to be a tensor"):
            call(kernel, case, a, b, out=wrong)
    for dtype in ("int32", "int64", "bool"):
        kept = flow.zeros(wanted.shape, dtype=dtype, device=device)
        with pytest.raises(TypeError, match=rf"\[{kernel}\] .*{dtype}"):
            call(kernel, case, a, b, out=kept)
        assert not kept.numpy().any()


@pytest.mark.skipif(not hasattr(flow, "bfloat16"), reason="needs ml_dtypes")
@pytest.mark.parametrize("kernel", KERNELS)
def test_bfloat16_is_summed_in_float32(kernel: str, device: flow.Device) -> None:
    case = CASES[4]
    a, b = (
        flow.tensor(fractions(shape, "float32", seed), device=device).astype(flow.bfloat16)
        for seed, shape in enumerate(operands(kernel, case))
    )
    wide = call(kernel, case, a.astype("float32"), b.astype("float32"))
    seen = call(kernel, case, a, b)
    assert seen.dtype == flow.bfloat16
    assert seen.astype("float32").numpy().tobytes() == (
        wide.astype(flow.bfloat16).astype("float32").numpy().tobytes()
    )


def test_operands_are_promoted() -> None:
    x, w = numbers((1, 2, 4, 4), "float32", 0), numbers((3, 2, 2, 2), "float64", 1)
    case = Case((1, 2, 4, 4), (3, 2, 2, 2))
    made = flow.conv2d(x, w)
    assert made.dtype == "float64"
    assert np.array_equal(made.numpy(), convolution.conv2d(x, w, case))


@pytest.mark.parametrize("case", BLOCKED, ids=str)
def test_layout_transform(case: Case, device: flow.Device) -> None:
    x = fractions(case.x, "float32", 0)
    there = flow.layout_transform(flow.tensor(x, device=device), "NCHW", "NCHW16c")
    assert there.shape == blocked(x).shape
    assert there.numpy().tobytes() == blocked(x).tobytes()
    turned = flow.layout_transform(there, "NCHW16c", "NCHW")
    assert turned.shape == x.shape
    assert turned.numpy().tobytes() == x.tobytes()
    same = flow.layout_transform(there, "NCHW16c", "NCHW16c")
    assert not same.shares_storage(there)
    assert same.numpy().tobytes() == there.numpy().tobytes()
    odd = flow.tensor(fractions((2, 3, 4, 5), "float64", 1), device=device)
    seen = flow.layout_transform(odd, "NCHW", "NCHW")
    assert seen.numpy().tobytes() == odd.numpy().tobytes()


def test_by_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for case in CASES:
        if 0 in (*case.x, *case.w):
            continue
        x, w = fractions(case.x, "float64", 0), fractions(case.w, "float64", 1)
        (top, bottom), (left, right) = case.padding
        padded = torch.nn.functional.pad(torch.from_numpy(x), (left, right, top, bottom))
        wanted = torch.nn.functional.conv2d(
            padded, torch.from_numpy(w), None, case.stride, 0, case.dilation, case.groups
        )
        seen = call("conv2d", case, flow.tensor(x), flow.tensor(w)).numpy()
        np.testing.assert_allclose(seen, wanted.numpy(), rtol=1e-12, atol=1e-12)
