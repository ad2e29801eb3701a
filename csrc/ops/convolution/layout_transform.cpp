#include "ops/convolution/layout_transform.h"

#include "ops/convolution/geometry.h"

namespace ofl::ops {

namespace {

/// Byte steps of images, planes of channels, channels in a plane, y and x.
struct Steps {
  int64_t extents[5], bytes[5];
};

/// In blocks of so many channels, whatever the layout.
Steps steps_of(const ArrayView& x, int64_t block) {
  const Dims &n = x.shape, &s = x.strides;
  if (n.size() == 5) {
    return {{n[0], n[1], n[4], n[2], n[3]}, {s[0], s[1], s[4], s[2], s[3]}};
  }
  return {{n[0], n[1] / block, block, n[2], n[3]}, {s[0], s[1] * block, s[1], s[2], s[3]}};
}

bool is_layout(const ArrayView& x, int64_t block) {
  if (x.shape.size() == 5) return x.shape[4] == block;
  return x.shape.size() == 4 && x.shape[1] % block == 0;
}

}  // namespace

LoopArgs copy_of_layout(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const bool has_blocks = x.shape.size() == 5 || out.shape.size() == 5;
  const int64_t block = has_blocks ? kChannelBlock : 1;
  bool is_sound = is_layout(x, block) && is_layout(out, block) && x.dtype == out.dtype;
  LoopArgs copy;
  if (is_sound) {
    const Steps from = steps_of(x, block), to = steps_of(out, block);
    for (int d = 0; d < 5; ++d) {
      is_sound = is_sound && from.extents[d] == to.extents[d];
      copy.iteration.rows[d] = {from.extents[d], {from.bytes[d], to.bytes[d]}};
    }
  }
  if (!is_sound) {
    fail(ErrorKind::value, "[", args.name, "] expected images of one dtype and shape, got ",
         shape_str(x.shape), " and ", shape_str(out.shape));
  }
  copy.kernel = KernelId::copy;
  copy.name = args.name;
  copy.helpers = args.helpers;
  copy.data[0] = x.data;
  copy.data[1] = out.data;
  copy.dtype[0] = copy.dtype[1] = x.dtype;
  copy.iteration.operands = 2;
  copy.iteration.ndim = 5;
  return copy;
}

void layout_transform_kernel(const ArrayArgs& args) {
  if (element_count(args.output(0).shape) > 0) copy_kernel(copy_of_layout(args));
}

}  // namespace ofl::ops
