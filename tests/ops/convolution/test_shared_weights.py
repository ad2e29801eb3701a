"""Weights whose elements share memory: the bits of a copy of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import convolution
from tests.support.convolution import Case, blocked, every, fractions, numbers

# Each makes, of row-major weights, a view of their shape whose elements share places in memory.
FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "one channel": lambda w, xp: xp.broadcast_to(w[:, :1], w.shape),
    "one row": lambda w, xp: xp.broadcast_to(w[:, :, :1], w.shape),
    "one column": lambda w, xp: xp.broadcast_to(w[..., -1:], w.shape),
    "one of each window": lambda w, xp: xp.broadcast_to(w[..., :1, :1], w.shape),
    "one window": lambda w, xp: xp.broadcast_to(w[:1, :1], w.shape),
    "one result": lambda w, xp: xp.broadcast_to(w[:1], w.shape),
    "one number": lambda w, xp: xp.broadcast_to(w[0, 0, 0, 0], w.shape),
    "overlapping windows": lambda w, xp: xp.lib.stride_tricks.sliding_window_view(
        w.reshape(w.shape[0], -1)[:, : w.shape[1] * 3 + 4].copy(), w.shape[3], axis=1
    )[:, : w.shape[1] * 3].reshape(w.shape),
    "overlapping rows": lambda w, xp: strided(w, xp, (w.shape[1] * 2, 2, 1, 1)),
    "overlapping channels": lambda w, xp: strided(w, xp, (7, 2, 3, 1)),
    "overlapping results": lambda w, xp: strided(w, xp, (3, 1, 9, 2)),
    "backwards": lambda w, xp: xp.flip(xp.broadcast_to(w[:, :1], w.shape)),
}
CASES = (
    Case((1, 16, 8, 8), (32, 16, 3, 3)),
    Case((2, 32, 9, 7), (64, 16, 3, 3), groups=2, padding=every(1)),
    Case((3, 16, 9, 8), (48, 16, 3, 3), stride=(2, 1), padding=((1, 0), (2, 1))),
    Case((1, 80, 7, 7), (96, 80, 3, 3), padding=every(1)),
    Case((5, 16, 6, 6), (34, 16, 3, 3)),
)


def strided(w: Any, xp: Any, steps: tuple[int, int, int, int]) -> Any:
    """A view with these steps, in elements."""
    strides = [step * w.dtype.itemsize for step in steps]
    return xp.lib.stride_tricks.as_strided(w, w.shape, strides)


def call(kernel: str, case: Case, w: Any, other: Any, layout: str = "NCHW") -> Any:
    """A convolution or the gradient of its images."""
    if kernel == "conv2d":
        return flow.conv2d(other, w, **case.keywords, data_layout=layout)
    n, channels, *rest = case.x
    shape = case.x if layout == "NCHW" else (n, channels // 16, *rest, 16)
    return flow.conv2d_input_gradient(shape, w, other, **case.keywords, data_layout=layout)


@pytest.mark.parametrize("kernel", ["conv2d", "conv2d_input_gradient"])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_exact_sums(form: str, case: Case, kernel: str, device: flow.Device) -> None:
    whole = numbers(case.w, "float32", 0)
    other = numbers(case.x if kernel == "conv2d" else case.result, "float32", 1)
    view = np.ascontiguousarray(FORMS[form](whole, np))
    if kernel == "conv2d":
        wanted = convolution.conv2d(other, view, case)
    else:
        wanted = convolution.input_gradient(view, other, case)
    w = FORMS[form](flow.tensor(whole, device=device), flow)
    assert np.array_equal(w.numpy(), view)
    assert np.array_equal(call(kernel, case, w, flow.tensor(other, device=device)).numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kernel", ["conv2d", "conv2d_input_gradient"])
@pytest.mark.parametrize("form", FORMS)
def test_they_have_the_bits_of_a_copy(form: str, kernel: str, dtype: str) -> None:
    for case in CASES:
        w = FORMS[form](flow.tensor(fractions(case.w, dtype, 0)), flow)
        other = fractions(case.x if kernel == "conv2d" else case.result, dtype, 1)
        wanted = call(kernel, case, w.copy(), other).numpy()
        assert call(kernel, case, w, other).numpy().tobytes() == wanted.tobytes()
        if case.is_blocked:
            seen = call(kernel, case, w, blocked(other), "NCHW16c").numpy()
            assert seen.tobytes() == blocked(wanted).tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_in_programs(form: str, device: flow.Device) -> None:
    """The view is made within the program, and is differentiated through."""
    case = CASES[0]

    def total(w: Any, x: Any) -> Any:
        return flow.sum(flow.conv2d(x, FORMS[form](w, flow), **case.keywords) ** 2)

    def of_a_copy(w: Any, x: Any) -> Any:
        return flow.sum(flow.conv2d(x, FORMS[form](w, flow).copy(), **case.keywords) ** 2)

    w, x = (
        flow.tensor(numbers(shape, "float64", i), device=device)
        for i, shape in enumerate((case.w, case.x))
    )
    wanted = of_a_copy(w, x).numpy()
    assert flow.jit(total)(w, x).numpy() == wanted
    slope = flow.grad(of_a_copy)(w, x).numpy()
    for value, gradient in (
        flow.value_and_grad(total)(w, x),
        flow.jit(flow.value_and_grad(total))(w, x),
    ):
        assert value.numpy() == wanted
        assert np.array_equal(gradient.numpy(), slope)
