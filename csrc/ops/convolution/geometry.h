// What a convolution of images is: its extents, and how its windows lie on the images.
#pragma once

#include "ops/array_args.h"

namespace ofl::ops {

/// Channels of a block where the channels are blocked, and of a block of the sum in any layout.
inline constexpr int64_t kChannelBlock = 16;

/// Along one dimension of the images. Window number i begins at stride * i - before.
struct WindowAxis {
  int64_t image, window, places;  // extents: of an image, of the weights, of a result
  int64_t stride, dilation;
  int64_t before, after;  // zeros around an image

  int64_t padded() const { return image + before + after; }
  int64_t reach() const { return (window - 1) * dilation + 1; }
};

struct Convolution {
  int64_t images, groups;
  int64_t in, out;  // channels of a group
  WindowAxis y, x;
  bool is_blocked;  // images are (n, channels / 16, y, x, 16), not (n, channels, y, x)

  int64_t window() const { return y.window * x.window; }
  int64_t places() const { return y.places * x.places; }
};

/// The convolution of the images x with the weights w, (groups * out, in, y, x), whose result (or
/// the gradient of it) is y. attr: strides, zeros before and after, dilations, each along y and
/// then x; groups. Error(value) where these do not go together, or are not of one float dtype.
Convolution convolution_of(const ArrayArgs& args, const ArrayView& x, const ArrayView& w,
                           const ArrayView& y);

}  // namespace ofl::ops
