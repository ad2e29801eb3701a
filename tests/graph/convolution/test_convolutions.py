"""Convolutions in programs: traced, parsed, of any number of images, and tampered with."""

import re

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, compile, trace
from tests.support.convolution import fractions

KEYWORDS = {"stride": (2, 1), "padding": ((1, 0), (2, 1)), "groups": 2}


def step(x: flow.Tensor, w: flow.Tensor) -> tuple[flow.Tensor, ...]:
    y = flow.conv2d(x, w, **KEYWORDS)
    gradient = flow.tanh(y)
    return (
        y,
        flow.conv2d_input_gradient(x.shape, w, gradient, **KEYWORDS),
        flow.conv2d_weight_gradient(x, w.shape, gradient, **KEYWORDS),
    )


def blocks(x: flow.Tensor, w: flow.Tensor) -> flow.Tensor:
    y = flow.conv2d(flow.layout_transform(x, "NCHW", "NCHW16c"), w, data_layout="NCHW16c")
    return flow.layout_transform(y, "NCHW16c", "NCHW")


def given(device: flow.Device, dtype: str = "float32") -> tuple[flow.Tensor, flow.Tensor]:
    return (
        flow.tensor(fractions((2, 8, 7, 9), dtype, 0), device=device),
        flow.tensor(fractions((6, 4, 3, 2), dtype, 1), device=device),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bits_of_eager(device: flow.Device, dtype: str) -> None:
    x, w = given(device, dtype)
    jitted = flow.jit(step)
    for _ in range(3):
        for seen, wanted in zip(jitted(x, w), step(x, w), strict=True):
            assert seen.numpy().tobytes() == wanted.numpy().tobytes()
        x = x * 0.5


def test_text() -> None:
    program = trace(step, *given(flow.Device("cpu"))).program
    text = str(program)
    assert "f32[2,6,3,11] cpu = array.conv2d[attr=(2, 1, 1, 2, 0, 1, 1, 1, 2)](%0, %1)" in text
    again = Program.parse(text)
    assert again == program
    again.verify()


def test_layouts() -> None:
    x = flow.tensor(fractions((2, 32, 5, 6), "float32", 0))
    w = flow.tensor(fractions((16, 32, 3, 3), "float32", 1))
    program = trace(blocks, x, w).program
    names = re.findall(r"= (?:array\.)?(\w+)[\[(]", str(program))
    assert names == ["layout_transform", "conv2d", "layout_transform"]
    (seen,) = compile(program)(x, w)
    assert seen.numpy().tobytes() == flow.conv2d(x, w).numpy().tobytes()


def test_any_number_of_images() -> None:
    """The batch is not known when the program is built."""
    main, startup = Program("main"), Program("startup")
    w = flow.tensor(fractions((6, 4, 3, 2), "float32", 1))
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None, 8, 7, 9), "float32")
        results = step(x, w)
        results = (*results, flow.layout_transform(flow.concat([x, x], axis=1), "NCHW", "NCHW16c"))
    executor = flow.graph.Executor()
    for count in (1, 5, 3):
        data = flow.tensor(fractions((count, 8, 7, 9), "float32", count))
        seen = executor.run(main, feed={"x": data}, fetch_list=list(results))
        wanted = (
            *step(data, w),
            flow.layout_transform(flow.concat([data, data], axis=1), "NCHW", "NCHW16c"),
        )
        for one, other in zip(seen, wanted, strict=True):
            assert one.shape == other.shape
            assert one.numpy().tobytes() == other.numpy().tobytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f32[2,6,3,11]", "f32[2,6,3,12]"),
        ("f32[2,6,3,11]", "f32[2,600,3,11]"),
        ("attr=(2, 1, 1", "attr=(0, 1, 1"),
        ("attr=(2, 1, 1", "attr=(2, 1, 1000000000000"),
        (", 1, 2)]", ", 1, 3)]"),
        (", 1, 2)]", ")]"),
    ],
)
def test_a_text_that_was_tampered_with(old: str, new: str) -> None:
    """What does not go together is an error of the run, and nothing is touched."""
    x, w = given(flow.Device("cpu"))
    text = str(trace(lambda x, w: flow.conv2d(x, w, **KEYWORDS), x, w).program)
    assert old in text
    program = Program.parse(text.replace(old, new))
    (result,) = compile(program)(x, w)
    with pytest.raises(ValueError, match=r"\[conv2d\] expected"):
        result.numpy()
    assert np.isfinite(flow.conv2d(x, w, **KEYWORDS).numpy()).all()
