// What kernels divide by without dividing; see quotient() in oneflow_lite/cuda/kernels/loops.cuh.
#pragma once

#include <cstdint>

namespace ofl::ops::cuda {

struct Divisor {
  uint32_t multiplier = 0, shift = 0;

  Divisor() = default;
  /// From 1 to 2^31 - 1.
  explicit Divisor(int64_t number) {
    while ((int64_t{1} << shift) < number) ++shift;
    const auto above = static_cast<uint64_t>((int64_t{1} << shift) - number);
    multiplier = static_cast<uint32_t>((above << 32) / static_cast<uint64_t>(number) + 1);
  }
};

}  // namespace ofl::ops::cuda
