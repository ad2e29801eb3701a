// Sums over all places of the windows: the gradient of the weights.
#pragma once

#include "ops/convolution/images.h"
#include "ops/convolution/packing.h"

namespace ofl::ops {

/// out[g][c][j] = the sum, over all images and then the positions p, in their order, of
/// gradient[g][c][p] * image[g][j][p]. An element is where the sum of its offsets says.
struct WeightSums {
  int64_t groups = 1, channels = 0, columns = 0, positions = 0;  // channels, columns: of a group
  Offsets gradient_channels;                                     // [groups][channels]
  Offsets gradient_positions;                                    // [positions]
  Offsets image_columns;                                         // [groups][columns]
  Offsets image_positions;                                       // [positions]

  /// For so many images, in float32 additions.
  double work(int64_t images) const {
    return 0.05 * static_cast<double>(groups * channels) * static_cast<double>(columns) *
           static_cast<double>(positions * images);
  }
};

/// `out` is row-major. The sum is one of parts: each of some images, or of some positions of one.
/// The bits depend on neither the helpers nor the way the images lie, nor on that of the sums.
template <typename T>
void run_weight_sums(const WeightSums& sums, Images<T>& gradient, Images<T>& images, int64_t count,
                     T* out, ep::HelperPool* helpers);

extern template void run_weight_sums<float>(const WeightSums&, Images<float>&, Images<float>&,
                                            int64_t, float*, ep::HelperPool*);
extern template void run_weight_sums<double>(const WeightSums&, Images<double>&, Images<double>&,
                                             int64_t, double*, ep::HelperPool*);

}  // namespace ofl::ops
