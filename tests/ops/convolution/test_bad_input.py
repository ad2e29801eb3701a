"""Wrong arguments of convolutions: errors that name function, argument, given and wanted."""

from typing import Any

import pytest

import oneflow_lite as flow

X, W = (1, 4, 5, 5), (6, 2, 3, 3)
BAD: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], str]] = {
    "rank of x": ((4, 5, 5), W, {}, r"expected x to be \(n, channels, height, width\), got shape"),
    "rank of w": (X, (6, 4, 3), {}, r"expected w to have 4 dimensions, .* got shape \(6, 4, 3\)"),
    "channels": (X, W, {}, r"expected 2 channels, 2 in each of 1 groups, got 4 \(shapes"),
    "groups": (X, W, {"groups": 4}, r"expected w to have a multiple of 4 results.* \(6, 2, 3, 3\)"),
    "no groups": (X, W, {"groups": 0}, "expected groups to be at least 1, got 0"),
    "stride": (X, W, {"groups": 2, "stride": 0}, "expected stride to be at least 1, got 0"),
    "large stride": (
        X,
        W,
        {"groups": 2, "stride": 2**31},
        "stride to be below 2147483648, got 2147",
    ),
    "strides": (X, W, {"groups": 2, "stride": (1, 0)}, r"stride to be at least 1, got \(1, 0\)"),
    "three": (X, W, {"groups": 2, "stride": (1, 1, 1)}, "expected stride to be one number or two"),
    "dilation": (X, W, {"groups": 2, "dilation": -1}, "expected dilation to be at least 1, got -1"),
    "padding": (X, W, {"groups": 2, "padding": -1}, "expected padding to be at least 0, got -1"),
    "pairs": (X, W, {"groups": 2, "padding": ((1, 1), 1)}, r"\(\(top, bottom\), \(left, right\)\)"),
    "window": (X, (6, 2, 6, 3), {"groups": 2}, "expected a window of 1 to 5 along height.*got 6"),
    "dilated": (X, W, {"groups": 2, "dilation": (1, 3)}, "window of 1 to 5 along width.*got 7"),
    "no window": (X, (6, 2, 0, 3), {"groups": 2}, "expected a window of 1 to 5 along height"),
    "layout": (X, W, {"groups": 2, "data_layout": "NHWC"}, "expected a layout of NCHW, NCHW16c"),
    "blocks": (X, W, {"data_layout": "NCHW16c"}, r"\(n, channels / 16, height, width, 16\)"),
    "results": (
        (1, 1, 5, 5, 16),
        (8, 16, 3, 3),
        {"data_layout": "NCHW16c"},
        "expected w to have a multiple of 16 results",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_conv2d(name: str) -> None:
    x, w, keywords, message = BAD[name]
    with pytest.raises(ValueError, match=rf"^\[conv2d\] .*{message}"):
        flow.conv2d(flow.ones(x), flow.ones(w), **keywords)
    made = flow.conv2d(flow.ones(X), flow.ones(W), groups=2)  # the next call works
    assert made.shape == (1, 6, 3, 3)


def test_dtypes() -> None:
    for dtype in ("int32", "bool", "complex64"):
        with pytest.raises(TypeError, match=r"\[conv2d\] expected real floating-point.*" + dtype):
            flow.conv2d(flow.ones(X, dtype=dtype), flow.ones(W, dtype=dtype))


def test_gradients() -> None:
    x, w, y = flow.ones(X), flow.ones(W), flow.ones((1, 6, 3, 2))
    wanted = r"expected a gradient of shape \(1, 6, 3, 3\), that of the result, got \(1, 6, 3, 2\)"
    with pytest.raises(ValueError, match=rf"\[conv2d_input_gradient\] {wanted}"):
        flow.conv2d_input_gradient(X, w, y, groups=2)
    with pytest.raises(ValueError, match=rf"\[conv2d_weight_gradient\] {wanted}"):
        flow.conv2d_weight_gradient(x, W, y, groups=2)
    with pytest.raises(ValueError, match=r"\[conv2d_input_gradient\] expected input_shape to be"):
        flow.conv2d_input_gradient((4, 5, 5), w, y, groups=2)
    with pytest.raises(ValueError, match=r"\[conv2d_weight_gradient\] expected weight_shape to"):
        flow.conv2d_weight_gradient(x, (6, 2, 3), y, groups=2)


def test_devices() -> None:
    with pytest.raises(ValueError, match=r"cpu.*mock:0|mock:0.*cpu"):
        flow.conv2d(flow.ones(X), flow.ones(W, device="mock:0"), groups=2)


def test_layout_transform() -> None:
    x = flow.ones((1, 24, 2, 2))
    with pytest.raises(
        ValueError, match=r"\[layout_transform\] expected a multiple of 16 chan.*24"
    ):
        flow.layout_transform(x, "NCHW", "NCHW16c")
    with pytest.raises(ValueError, match=r"\[layout_transform\] expected a layout of NCHW.*NHWC"):
        flow.layout_transform(x, "NCHW", "NHWC")
    with pytest.raises(
        ValueError, match=r"\[layout_transform\] expected x to be \(n, channels / 16"
    ):
        flow.layout_transform(x, "NCHW16c", "NCHW")
