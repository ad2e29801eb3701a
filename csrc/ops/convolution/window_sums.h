// Sums over windows: what a convolution is, and what the gradient of its images is.
#pragma once

#include "ops/convolution/images.h"
#include "ops/convolution/packing.h"

namespace ofl::ops {

/// out[g][c][p] of each image = the sum over terms l, in their order, of
/// weights[g][c][l] * image[g][l][p]. An element is where the sum of its offsets says.
struct WindowSums {
  int64_t groups = 1, channels = 0, terms = 0, positions = 0;  // channels, terms: of a group
  int64_t row = 0;          // positions that follow each other in one step
  Offsets weight_groups;    // [groups]
  Offsets weight_channels;  // [channels]
  Offsets weight_terms;     // [terms]
  Offsets image_terms;      // [groups][terms]
  Offsets image_positions;  // [positions]
  Offsets out_channels;     // [groups][channels]
  Offsets out_positions;    // [positions]

  /// Multiplications for one image.
  double work() const {
    return static_cast<double>(groups * channels) * static_cast<double>(terms) *
           static_cast<double>(positions);
  }
};

/// Steps of the elements of a result.
template <typename T>
struct Results {
  T* data;
  int64_t image;
};

/// The sums for all images; there are some images, channels and positions. Those of blocked
/// channels are read as they lie, others are packed. Each element has the same bits either way,
/// with any helpers.
template <typename T>
void run_window_sums(const WindowSums& sums, const T* weights, Images<T>& images, int64_t count,
                     const Results<T>& out, ep::HelperPool* helpers);

extern template void run_window_sums<float>(const WindowSums&, const float*, Images<float>&,
                                            int64_t, const Results<float>&, ep::HelperPool*);
extern template void run_window_sums<double>(const WindowSums&, const double*, Images<double>&,
                                             int64_t, const Results<double>&, ep::HelperPool*);

}  // namespace ofl::ops
