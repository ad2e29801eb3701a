// The tables of a convolution: which elements its sums are of, in which order.
#pragma once

#include <vector>

#include "ops/convolution/weight_sums.h"
#include "ops/convolution/window_sums.h"

namespace ofl::ops {

/// Sums in the order: block of 16 channels, y and x in the window, channel in its block.
/// `images`, `weights`, `results`: where these lie; images with the border of the convolution.
WindowSums forward_sums(const Convolution& c, const ImageSteps& images, const ImageSteps& weights,
                        const ImageSteps& results);

/// The gradient of the images falls apart by the places that the windows begin at: for each
/// remainder of the strides, sums over those taps that reach such places.
struct GradientSums {
  Border border;                                    // that the gradients of the results need
  std::vector<std::pair<int64_t, int64_t>> phases;  // remainders along y and x
};
GradientSums gradient_sums(const Convolution& c);
WindowSums phase_sums(const Convolution& c, const Border& border, std::pair<int64_t, int64_t> phase,
                      const ImageSteps& gradient, const ImageSteps& weights,
                      const ImageSteps& images);

WeightSums weight_sums(const Convolution& c, const ImageSteps& gradient, const ImageSteps& images);

}  // namespace ofl::ops
