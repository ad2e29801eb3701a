"""Convolutions of images, their gradients, and the layouts of images."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float32, float64
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device, promoted
from oneflow_lite.ops.table import exported

LAYOUTS = ("NCHW", "NCHW16c")
_BLOCK = 16  # channels
_MOST = 2**31  # of strides, padding and dilations: products of extents fit in 64 bits

Pair = int | Sequence[int]
Padding = int | Sequence[int] | Sequence[Sequence[int]]


def conv2d(
    x: Any,
    w: Any,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    *,
    out: Any = None,
) -> Tensor:
    """Return the convolution of images with weights, which are not turned: a cross-correlation.

    Parameters
    ----------
    x : Tensor or array
        Images, (n, channels, height, width), or (n, channels / 16, height, width, 16) for layout
        ``"NCHW16c"``; of real floating-point numbers.
    w : Tensor or array
        Weights, (results, channels / groups, height, width), for either layout.
    stride : int or pair of int
        How far apart the windows are, along height and width.
    padding : int, pair of int, or pair of pairs
        Zeros around each image: along height and width, or ((top, bottom), (left, right)).
    dilation : int or pair of int
        How far apart the elements of a window are.
    groups : int
        Results of each group see the channels of that group only.
    data_layout : {"NCHW", "NCHW16c"}
        Of the images and of the result; changes no bit.
    out : Tensor or array, optional
        Where the result goes, of its shape, in a dtype of its kind or of a higher one.

    Returns
    -------
    Tensor
        (n, results, height, width), or in blocks of 16 as x, of the promoted dtype. The elements of
        float16 and bfloat16 are summed in float32, and rounded once.

    Raises
    ------
    ValueError
        Where the shapes do not go together, or a window is larger than a padded image.

    Examples
    --------
    >>> x, w = flow.ones((1, 1, 3, 3)), flow.ones((1, 1, 2, 2))
    >>> flow.conv2d(x, w, padding=((1, 0), (0, 0))).numpy()
    array([[[[2., 2.],
             [4., 4.],
             [4., 4.]]]])
    """
    op = "conv2d"
    images, weights = _operands(op, x, w)
    window = _Window.of(op, stride, padding, dilation, groups, data_layout)
    window.check_rank("x", images)
    window.check_weights("w", weights.shape)
    shape = window.result_shape(images.shape, weights.shape)
    return _written(op, (images, weights), shape, window, out)


def conv2d_input_gradient(
    input_shape: Sequence[int],
    w: Any,
    gradient: Any,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    *,
    out: Any = None,
) -> Tensor:
    """Return the gradient of a convolution with respect to its images.

    Parameters
    ----------
    input_shape : sequence of int
        Of the images: ``x.shape``.
    w : Tensor or array
        The weights.
    gradient : Tensor or array
        With respect to the result of the convolution, of its shape.
    stride, padding, dilation, groups, data_layout, out
        As for ``conv2d``.

    Examples
    --------
    >>> w = flow.ones((1, 1, 2, 2))
    >>> flow.conv2d_input_gradient((1, 1, 3, 3), w, flow.ones((1, 1, 2, 2))).numpy()
    array([[[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]]])
    """
    op = "conv2d_input_gradient"
    given, weights = _operands(op, gradient, w)
    window = _Window.of(op, stride, padding, dilation, groups, data_layout)
    shape = window.shape("input_shape", input_shape)
    window.check_weights("w", weights.shape)
    _check_gradient(op, given, window.result_shape(shape, weights.shape))
    return _written(op, (given, weights), shape, window, out)


def conv2d_weight_gradient(
    x: Any,
    weight_shape: Sequence[int],
    gradient: Any,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    *,
    out: Any = None,
) -> Tensor:
    """Return the gradient of a convolution with respect to its weights.

    Parameters
    ----------
    x : Tensor or array
        The images.
    weight_shape : sequence of int
        Of the weights: ``w.shape``.
    gradient : Tensor or array
        With respect to the result of the convolution, of its shape.
    stride, padding, dilation, groups, data_layout, out
        As for ``conv2d``.

    Examples
    --------
    >>> x = flow.arange(9.0).reshape(1, 1, 3, 3)
    >>> flow.conv2d_weight_gradient(x, (1, 1, 2, 2), flow.ones((1, 1, 2, 2))).numpy()
    array([[[[ 8., 12.],
             [20., 24.]]]])
    """
    op = "conv2d_weight_gradient"
    images, given = _operands(op, x, gradient)
    window = _Window.of(op, stride, padding, dilation, groups, data_layout)
    window.check_rank("x", images)
    shape = tuple(operator.index(n) for n in weight_shape)
    window.check_weights("weight_shape", shape)
    _check_gradient(op, given, window.result_shape(images.shape, shape))
    return _written(op, (images, given), shape, window, out)


def layout_transform(x: Any, src_layout: str, dst_layout: str) -> Tensor:
    """Return a copy of images in another layout.

    Parameters
    ----------
    x : Tensor or array
        (n, channels, height, width) for ``"NCHW"``, (n, channels / 16, height, width, 16) for
        ``"NCHW16c"``.
    src_layout, dst_layout : {"NCHW", "NCHW16c"}
        Of x, and of the result.

    Examples
    --------
    >>> flow.layout_transform(flow.ones((1, 32, 2, 3)), "NCHW", "NCHW16c").shape
    (1, 2, 2, 3, 16)
    """
    op = "layout_transform"
    given = asarray(x)
    for layout in (src_layout, dst_layout):
        _check_layout(op, layout)
    _check_rank(op, "x", given.shape, src_layout)
    n, channels, *rest = given.shape
    if src_layout == dst_layout:
        shape = given.shape
    elif src_layout == "NCHW":
        if channels % _BLOCK:
            raise ValueError(
                f"[{op}] expected a multiple of {_BLOCK} channels, got {channels} in x of shape "
                f"{given.shape}"
            )
        shape = (n, channels // _BLOCK, *rest, _BLOCK)
    else:
        shape = (n, channels * _BLOCK, *rest[:2])
    return _C.call_kernel(op, op, [given], [(shape, given.dtype)])[0]


@dataclass(frozen=True)
class _Window:
    """How windows go over images."""

    op: str
    stride: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    data_layout: str

    @classmethod
    def of(
        cls, op: str, stride: Pair, padding: Padding, dilation: Pair, groups: int, layout: str
    ) -> "_Window":
        _check_layout(op, layout)
        before, after = _padding(op, padding)
        given = operator.index(groups)
        if given < 1:
            raise ValueError(f"[{op}] expected groups to be at least 1, got {given}")
        return cls(
            op,
            _pair(op, "stride", stride, 1),
            before,
            after,
            _pair(op, "dilation", dilation, 1),
            given,
            layout,
        )

    @property
    def attr(self) -> tuple[int, ...]:
        return (*self.stride, *self.before, *self.after, *self.dilation, self.groups)

    @property
    def lanes(self) -> int:
        return 1 if self.data_layout == "NCHW" else _BLOCK

    def check_rank(self, name: str, x: Tensor) -> None:
        _check_rank(self.op, name, x.shape, self.data_layout)

    def shape(self, name: str, given: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of images, checked."""
        items = tuple(given)
        # The first extent may be one that is not known yet.
        shape = (*items[:1], *(operator.index(n) for n in items[1:]))
        _check_rank(self.op, name, shape, self.data_layout)
        return shape

    def check_weights(self, name: str, shape: Sequence[int]) -> None:
        if len(shape) != 4:
            raise ValueError(
                f"[{self.op}] expected {name} to have 4 dimensions, (results, channels / groups, "
                f"height, width), got shape {tuple(shape)}"
            )
        if shape[0] % self.groups or shape[0] % self.lanes:
            raise ValueError(
                f"[{self.op}] expected {name} to have a multiple of "
                f"{_common(self.groups, self.lanes)} results, for groups={self.groups} and "
                f"data_layout={self.data_layout!r}, got shape {tuple(shape)}"
            )

    def result_shape(self, x: Sequence[int], w: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the result for images and weights of these shapes."""
        channels = x[1] * self.lanes
        if channels != w[1] * self.groups:
            raise ValueError(
                f"[{self.op}] expected {w[1] * self.groups} channels, {w[1]} in each of "
                f"{self.groups} groups, got {channels} (shapes {tuple(x)} and {tuple(w)})"
            )
        places = [self._places(axis, x, w) for axis in range(2)]
        blocks = (_BLOCK,) if self.lanes > 1 else ()
        return (x[0], w[0] // self.lanes, *places, *blocks)

    def _places(self, axis: int, x: Sequence[int], w: Sequence[int]) -> int:
        """How many windows fit along height (0) or width."""
        padded = x[2 + axis] + self.before[axis] + self.after[axis]
        reach = (w[2 + axis] - 1) * self.dilation[axis] + 1
        if w[2 + axis] < 1 or padded < reach:
            raise ValueError(
                f"[{self.op}] expected a window of 1 to {padded} along "
                f"{('height', 'width')[axis]}, the padded extent, got {reach} (shapes {tuple(x)} "
                f"and {tuple(w)}, padding {self.before[axis]} and {self.after[axis]}, dilation "
                f"{self.dilation[axis]})"
            )
        return (padded - reach) // self.stride[axis] + 1


def _common(a: int, b: int) -> int:
    return math.lcm(a, b)


def _operands(op: str, x: Any, w: Any) -> list[Tensor]:
    given = on_one_device(x, w)
    for operand in given:
        if operand.dtype.kind != "f" and operand.dtype.name != "bfloat16":
            raise TypeError(
                f"[{op}] expected real floating-point numbers, got {operand.dtype.name}"
            )
    return promoted(*given)


def _check_layout(op: str, layout: Any) -> None:
    if not isinstance(layout, str):
        raise TypeError(f"[{op}] expected a layout by name, got {type(layout).__name__}")
    if layout not in LAYOUTS:
        raise ValueError(f"[{op}] expected a layout of {', '.join(LAYOUTS)}, got {layout!r}")


def _check_rank(op: str, name: str, shape: Sequence[int], layout: str) -> None:
    wanted = "(n, channels, height, width)"
    if layout == "NCHW" and len(shape) == 4:
        return
    if layout != "NCHW":
        wanted = "(n, channels / 16, height, width, 16)"
        if len(shape) == 5 and shape[4] == _BLOCK:
            return
    raise ValueError(f"[{op}] expected {name} to be {wanted}, got shape {tuple(shape)}")


def _check_gradient(op: str, gradient: Tensor, shape: Sequence[int]) -> None:
    if tuple(gradient.shape) != tuple(shape):
        raise ValueError(
            f"[{op}] expected a gradient of shape {tuple(shape)}, that of the result, got "
            f"{tuple(gradient.shape)}"
        )


def _pair(op: str, name: str, given: Any, least: int) -> tuple[int, int]:
    items = given if isinstance(given, Sequence) else (given, given)
    if len(items) != 2:
        raise ValueError(f"[{op}] expected {name} to be one number or two, got {given!r}")
    one, two = (operator.index(item) for item in items)
    for number in (one, two):
        if not least <= number < _MOST:
            bound = f"at least {least}" if number < least else f"below {_MOST}"
            raise ValueError(f"[{op}] expected {name} to be {bound}, got {given!r}")
    return one, two


def _padding(op: str, given: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the zeros before (along height and width), and after."""
    if isinstance(given, Sequence) and any(isinstance(item, Sequence) for item in given):
        if len(given) != 2 or not all(isinstance(item, Sequence) for item in given):
            raise ValueError(
                f"[{op}] expected padding to be ((top, bottom), (left, right)), got {given!r}"
            )
        (top, bottom), (left, right) = (_pair(op, "padding", item, 0) for item in given)
        return (top, left), (bottom, right)
    both = _pair(op, "padding", given, 0)
    return both, both


def _written(
    op: str,
    operands: tuple[Tensor, Tensor],
    shape: Sequence[int],
    window: _Window,
    out: Any,
) -> Tensor:
    """Run a kernel: of half precision in float32."""
    dtype = operands[0].dtype
    wide = dtype if dtype in (float32, float64) else float32
    given = [_C.astype(x, wide, False) for x in operands]
    (made,) = _C.call_kernel(op, op, given, [(shape, wide)], window.attr)
    result = _C.astype(made, dtype, False)
    if out is None:
        return result
    stored: Tensor = store(op, out, result)
    return stored


if not TYPE_CHECKING:
    __all__ = exported(globals())
