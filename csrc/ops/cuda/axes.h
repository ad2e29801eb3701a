// Axes of an operand on a device, brought into the order in which its memory lies.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "ops/cuda/layout/parameters.h"

namespace ofl::ops::cuda {

using layout::kNarrow;

/// `dim` steps of so many bytes of the input and of the output, and of so many positions.
struct Axis {
  int64_t dim, in, out, position;
};

/// What it takes to walk axes from their other ends.
struct Shift {
  int64_t in = 0, out = 0, position = 0;
};

/// Makes all input strides positive, sorts the axes (outermost first) and merges those that step
/// together. Positions need not: where they do not count, they are 0.
Shift order_axes(std::vector<Axis>* axes);

/// Elements, and bytes of the input behind the first one.
struct Reach {
  int64_t elements = 1, in = 0, out = 0;
};
Reach reach_of(const std::vector<Axis>& axes);

inline int64_t next_power_of_two(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

inline int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace ofl::ops::cuda
