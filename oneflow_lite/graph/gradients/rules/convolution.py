"""Convolutions of images, of which the three are the gradients of each other; those of rows."""

from collections.abc import Sequence
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.step import Step, kernel_rule
from oneflow_lite.ops.convolution import (
    conv2d,
    conv2d_input_gradient,
    conv2d_weight_gradient,
    layout_transform,
)
from oneflow_lite.ops.numpy.convolution import convolve, correlate


def _window(step: Step, images: int) -> dict[str, Any]:
    """Return how windows go over images, which have the type of an operand."""
    y, x, top, left, bottom, right, down, across, groups = step.call.attr
    return {
        "stride": (y, x),
        "padding": ((top, bottom), (left, right)),
        "dilation": (down, across),
        "groups": groups,
        "data_layout": _layout(step.type(images).shape),
    }


def _layout(shape: tuple[int, ...]) -> str:
    return "NCHW" if len(shape) == 4 else "NCHW16c"


@kernel_rule("conv2d")
def convolution(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give the gradients of images and weights."""
    x, w, how = step.operand(0), step.operand(1), _window(step, 0)
    of_x = conv2d_input_gradient(x.shape, w, g, **how) if step.needs(0) else None
    of_w = conv2d_weight_gradient(x, w.shape, g, **how) if step.needs(1) else None
    return of_x, of_w


@kernel_rule("conv2d_input_gradient")
def input_gradient(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give the gradients of the result's gradient and of the weights."""
    given, w, how = step.operand(0), step.operand(1), _window(step, 0)
    of_given = conv2d(g, w, **how) if step.needs(0) else None
    of_w = conv2d_weight_gradient(g, w.shape, given, **how) if step.needs(1) else None
    return of_given, of_w


@kernel_rule("conv2d_weight_gradient")
def weight_gradient(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give the gradients of the images and of the result's gradient."""
    x, given, how = step.operand(0), step.operand(1), _window(step, 0)
    of_x = conv2d_input_gradient(x.shape, g, given, **how) if step.needs(0) else None
    of_given = conv2d(x, g, **how) if step.needs(1) else None
    return of_x, of_given


@kernel_rule("layout_transform")
def transform(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Put the elements back into the layout that they had."""
    return (layout_transform(g, _layout(step.out_type.shape), _layout(step.type(0).shape)),)


@kernel_rule("correlate")
def correlation(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give the gradients of both: out[i] is the sum of x[i + k - before] * w[k]."""
    (before,), (count,) = step.call.attr, step.out_type.shape
    (n,), (m,) = step.type(0).shape, step.type(1).shape
    of_x = of_w = None
    if step.needs(0):
        of_x = convolve(g, step.operand(1))[before : before + n]
    if step.needs(1):
        begin = count - 1 - before
        of_w = correlate(step.operand(0), g, "full")[begin : begin + m]
    return of_x, of_w
