#include "ops/convolution/convolution.h"

#include <utility>

namespace ofl::ops {

namespace {

/// A tap of the window along one dimension.
struct Tap {
  int64_t window, place;  // its number, and how far from a position's place it reads
};

std::vector<Tap> forward_taps(const WindowAxis& axis) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < axis.window; ++i) taps.push_back({i, i * axis.dilation});
  return taps;
}

/// Those that windows reach places of this remainder with; a place is that of a window.
std::vector<Tap> gradient_taps(const WindowAxis& axis, int64_t remainder) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < axis.window; ++i) {
    const int64_t from = remainder + axis.before - i * axis.dilation;
    if (from % axis.stride == 0) taps.push_back({i, from / axis.stride});
  }
  return taps;
}

/// Places of an image with this remainder.
int64_t places_of(const WindowAxis& axis, int64_t remainder) {
  return (axis.image - remainder + axis.stride - 1) / axis.stride;
}

/// body(channel, tap along y, tap along x), in the order of the sum.
template <typename Body>
void for_each_term(int64_t channels, const std::vector<Tap>& y, const std::vector<Tap>& x,
                   const Body& body) {
  for (int64_t block = 0; block < channels; block += kChannelBlock) {
    for (const Tap& down : y) {
      for (const Tap& across : x) {
        for (int64_t c = block; c < std::min(block + kChannelBlock, channels); ++c) {
          body(c, down, across);
        }
      }
    }
  }
}

/// The terms of sums over `terms` channels of each group, for `channels` of them.
WindowSums sums_over(const Convolution& c, int64_t terms, int64_t channels,
                     const std::vector<Tap>& y, const std::vector<Tap>& x, const ImageSteps& images,
                     const ImageSteps& results) {
  WindowSums sums;
  sums.groups = c.groups;
  sums.channels = channels;
  sums.terms = terms * static_cast<int64_t>(y.size() * x.size());
  for (int64_t g = 0; g < c.groups; ++g) {
    for_each_term(terms, y, x, [&](int64_t channel, const Tap& down, const Tap& across) {
      sums.image_terms.push_back(images.channel(g * terms + channel) +
                                 images.at(down.place, across.place));
    });
    for (int64_t i = 0; i < channels; ++i) {
      sums.out_channels.push_back(results.channel(g * channels + i));
    }
  }
  return sums;
}

void add_positions(int64_t down, int64_t across, const ImageSteps& steps, int64_t y_step,
                   int64_t x_step, int64_t first, Offsets* positions) {
  for (int64_t i = 0; i < down; ++i) {
    for (int64_t j = 0; j < across; ++j) {
      positions->push_back(first + steps.at(i * y_step, j * x_step));
    }
  }
}

void widen(const WindowAxis& axis, int64_t remainder, int64_t* before, int64_t* after) {
  const int64_t places = places_of(axis, remainder);
  for (const Tap& tap : gradient_taps(axis, remainder)) {
    *before = std::max(*before, -tap.place);
    *after = std::max(*after, tap.place + places - axis.places);
  }
}

}  // namespace

WindowSums forward_sums(const Convolution& c, const ImageSteps& images, const ImageSteps& weights,
                        const ImageSteps& results) {
  const std::vector<Tap> y = forward_taps(c.y), x = forward_taps(c.x);
  WindowSums sums = sums_over(c, c.in, c.out, y, x, images, results);
  for_each_term(c.in, y, x, [&](int64_t channel, const Tap& down, const Tap& across) {
    sums.weight_terms.push_back(weights.channel(channel) + weights.at(down.window, across.window));
  });
  for (int64_t i = 0; i < c.out; ++i) sums.weight_channels.push_back(i * weights.image);
  for (int64_t g = 0; g < c.groups; ++g) sums.weight_groups.push_back(g * c.out * weights.image);
  add_positions(c.y.places, c.x.places, images, c.y.stride, c.x.stride, 0, &sums.image_positions);
  add_positions(c.y.places, c.x.places, results, 1, 1, 0, &sums.out_positions);
  sums.positions = c.places();
  sums.row = c.x.places;
  return sums;
}

GradientSums gradient_sums(const Convolution& c) {
  GradientSums found;
  for (int64_t y = 0; y < std::min(c.y.stride, c.y.image); ++y) {
    widen(c.y, y, &found.border.top, &found.border.bottom);
    for (int64_t x = 0; x < std::min(c.x.stride, c.x.image); ++x) found.phases.push_back({y, x});
  }
  for (int64_t x = 0; x < std::min(c.x.stride, c.x.image); ++x) {
    widen(c.x, x, &found.border.left, &found.border.right);
  }
  return found;
}

WindowSums phase_sums(const Convolution& c, const Border& border, std::pair<int64_t, int64_t> phase,
                      const ImageSteps& gradient, const ImageSteps& weights,
                      const ImageSteps& images) {
  const std::vector<Tap> y = gradient_taps(c.y, phase.first);
  const std::vector<Tap> x = gradient_taps(c.x, phase.second);
  WindowSums sums = sums_over(c, c.out, c.in, y, x, gradient, images);
  for_each_term(c.out, y, x, [&](int64_t channel, const Tap& down, const Tap& across) {
    sums.weight_terms.push_back(channel * weights.image + weights.at(down.window, across.window));
  });
  for (int64_t i = 0; i < c.in; ++i) sums.weight_channels.push_back(weights.channel(i));
  for (int64_t g = 0; g < c.groups; ++g) sums.weight_groups.push_back(g * c.out * weights.image);
  const int64_t down = places_of(c.y, phase.first), across = places_of(c.x, phase.second);
  add_positions(down, across, gradient, 1, 1, gradient.at(border.top, border.left),
                &sums.image_positions);
  add_positions(down, across, images, c.y.stride, c.x.stride, images.at(phase.first, phase.second),
                &sums.out_positions);
  sums.positions = down * across;
  sums.row = across;
  return sums;
}

WeightSums weight_sums(const Convolution& c, const ImageSteps& gradient, const ImageSteps& images) {
  WeightSums sums;
  sums.groups = c.groups;
  sums.channels = c.out;
  sums.columns = c.in * c.window();
  sums.positions = c.places();
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t i = 0; i < c.out; ++i) {
      sums.gradient_channels.push_back(gradient.channel(g * c.out + i));
    }
    for (int64_t i = 0; i < c.in; ++i) {
      add_positions(c.y.window, c.x.window, images, c.y.dilation, c.x.dilation,
                    images.channel(g * c.in + i), &sums.image_columns);
    }
  }
  add_positions(c.y.places, c.x.places, gradient, 1, 1, 0, &sums.gradient_positions);
  add_positions(c.y.places, c.x.places, images, c.y.stride, c.x.stride, 0, &sums.image_positions);
  return sums;
}

}  // namespace ofl::ops
