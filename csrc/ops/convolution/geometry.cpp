#include "ops/convolution/geometry.h"

namespace ofl::ops {

namespace {

enum Attr { kStride = 0, kBefore = 2, kAfter = 4, kDilation = 6, kGroups = 8, kAttrs = 9 };
/// Beyond it the products of extents might not fit in 64 bits.
constexpr int64_t kMost = int64_t{1} << 31;

void require(bool is_so, const ArrayArgs& args, const char* what, const ArrayView& x,
             const ArrayView& w, const ArrayView& y) {
  if (is_so) return;
  fail(ErrorKind::value, "[", args.name, "] expected ", what, ", got images ", shape_str(x.shape),
       ", weights ", shape_str(w.shape), " and results ", shape_str(y.shape));
}

WindowAxis axis_of(const ArrayArgs& args, const ArrayView& x, const ArrayView& w,
                   const ArrayView& y, int axis) {
  const int64_t* const attr = args.attr.data() + axis;
  return {x.shape[2 + axis], w.shape[2 + axis], y.shape[2 + axis], attr[kStride],
          attr[kDilation],   attr[kBefore],     attr[kAfter]};
}

bool is_sound(const WindowAxis& axis) {
  const auto is_between = [](int64_t n, int64_t least) { return n >= least && n < kMost; };
  return is_between(axis.stride, 1) && is_between(axis.dilation, 1) && is_between(axis.before, 0) &&
         is_between(axis.after, 0) && is_between(axis.image, 0) && is_between(axis.window, 1) &&
         axis.reach() <= axis.padded() &&
         axis.places == (axis.padded() - axis.reach()) / axis.stride + 1;
}

}  // namespace

Convolution convolution_of(const ArrayArgs& args, const ArrayView& x, const ArrayView& w,
                           const ArrayView& y) {
  const bool is_blocked = x.shape.size() == 5;
  require(args.attr.size() == kAttrs && args.attr[kGroups] > 0, args, "the attributes", x, w, y);
  require((is_blocked || x.shape.size() == 4) && y.shape.size() == x.shape.size() &&
              w.shape.size() == 4,
          args, "four dimensions", x, w, y);
  require(!is_blocked || (x.shape[4] == kChannelBlock && y.shape[4] == kChannelBlock), args,
          "blocks of 16 channels", x, w, y);
  require(
      (x.dtype == DType::f32 || x.dtype == DType::f64) && w.dtype == x.dtype && y.dtype == x.dtype,
      args, "one dtype, float32 or float64", x, w, y);
  const int64_t lanes = is_blocked ? kChannelBlock : 1, groups = args.attr[kGroups];
  const Convolution c{x.shape[0],
                      groups,
                      w.shape[1],
                      w.shape[0] / groups,
                      axis_of(args, x, w, y, 0),
                      axis_of(args, x, w, y, 1),
                      is_blocked};
  require(y.shape[0] == c.images && c.in * groups == x.shape[1] * lanes &&
              c.out * groups == w.shape[0] && w.shape[0] == y.shape[1] * lanes,
          args, "channels that go together", x, w, y);
  require(is_sound(c.y) && is_sound(c.x), args, "windows that go together", x, w, y);
  return c;
}

}  // namespace ofl::ops
