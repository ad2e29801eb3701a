// Divisors for kernels, which do not divide: see quotient() in oneflow_lite/cuda/kernels/loops.cuh.
#pragma once

#include <cstdint>

#include "ops/cuda/layout/divisor.h"

namespace ofl::ops::cuda {

/// `number` is from 1 to 2^31 - 1.
inline layout::Divisor divisor_of(int64_t number) {
  uint32_t shift = 0;
  while ((int64_t{1} << shift) < number) ++shift;
  const auto above = static_cast<uint64_t>((int64_t{1} << shift) - number);
  return {static_cast<uint32_t>((above << 32) / static_cast<uint64_t>(number) + 1), shift};
}

}  // namespace ofl::ops::cuda
