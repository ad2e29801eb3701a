"""The rule of AlterOpLayout for convolutions: on the cpu, images in blocks of 16 channels."""

from oneflow_lite._C import Tensor
from oneflow_lite.graph.ir import Op, Value
from oneflow_lite.graph.passes.alter_layout import Altered, NCHW16c, register_alter_op_layout
from oneflow_lite.ops.convolution import conv2d

# The time that a convolution saves, as a part of the time to pack its images and unpack its
# results: the least of the layers of benchmarks/bench_conv.py, with windows of several elements
# and of one.
_GAIN, _GAIN_OF_ONE = 0.5, 0.25
_LEAST_ROW = 8  # results in a row; with fewer, blocks of channels are slower


@register_alter_op_layout("conv2d")
def blocked_conv2d(op: Op) -> Altered | None:
    """Return a convolution of images in blocks of 16 channels, with the same bits.

    The rule for ``"conv2d"`` of level 10. It gains little, so that about three convolutions in a
    row are altered, and one is not. None: on other devices than the cpu, for groups of channels,
    and for results with less than 8 elements in a row.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> def layers(x, w):
    ...     for _ in range(3):
    ...         x = flow.maximum(flow.conv2d(x, w, padding=1), 0)
    ...     return x
    >>> program = flow.graph.trace(layers, flow.ones((1, 16, 9, 9)), flow.ones((16, 16, 3, 3)))
    >>> made = passes.AlterOpLayout()(program.program)
    >>> [made.main.ops[k].name for k in (0, 1, -1)]
    ['layout_transform', 'conv2d', 'layout_transform']
    """
    x, weights, result = *op.operands, op.results[0].type
    *places, groups = op.call.attr
    if not isinstance(x, Value) or not isinstance(weights, Value):
        return None
    if groups != 1 or result.device.type != "cpu" or result.shape[-1] < _LEAST_ROW:
        return None
    stride, before, after, dilation = (tuple(places[k : k + 2]) for k in range(0, 8, 2))
    padding = tuple(zip(before, after, strict=True))

    def make(images: Tensor, weights: Tensor) -> Tensor:
        return conv2d(images, weights, stride, padding, dilation, 1, "NCHW16c")

    gain = _GAIN if max(weights.type.shape[2:]) > 1 else _GAIN_OF_ONE
    return Altered(NCHW16c, (0,), make, gain * (x.type.nbytes + result.nbytes))
