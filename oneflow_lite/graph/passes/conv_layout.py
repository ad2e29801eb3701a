"""The rule of AlterOpLayout for convolutions: on the cpu, images in blocks of 16 channels."""

from oneflow_lite._C import Tensor
from oneflow_lite.graph.ir import Op, Value
from oneflow_lite.graph.passes.alter_layout import Altered, NCHW16c, register_alter_op_layout
from oneflow_lite.ops.convolution import conv2d

# What a convolution saves, as a part of packing its images and unpacking its results: at least, of
# those that benchmarks/bench_conv.py measures. With larger windows, and with windows of one element.
_GAIN, _GAIN_OF_ONE = 0.5, 0.25
_LEAST_ROW = 8  # results in a row; with fewer, blocks of channels are slower


@register_alter_op_layout("conv2d")
def _packed_images(op: Op) -> Altered | None:
    """Return the convolution of packed images, which has the same bits."""
    x, result = op.operands[0], op.results[0].type
    *places, groups = op.call.attr
    if not isinstance(x, Value) or groups != 1 or result.device.type != "cpu":
        return None
    if result.shape[-1] < _LEAST_ROW:
        return None
    stride, before, after, dilation = (tuple(places[k : k + 2]) for k in range(0, 8, 2))
    padding = tuple(zip(before, after, strict=True))

    def make(images: Tensor, weights: Tensor) -> Tensor:
        return conv2d(images, weights, stride, padding, dilation, 1, "NCHW16c")

    weights = op.operands[1]
    assert isinstance(weights, Value)
    gain = _GAIN if max(weights.type.shape[2:]) > 1 else _GAIN_OF_ONE
    return Altered(NCHW16c, (0,), make, gain * (x.type.nbytes + result.nbytes))
