// Division by a number that many threads divide by: a product and a shift.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

/// Of numbers from 1 to 2^31 - 1; the host makes it, kernels use it in quotient().
struct Divisor {
  uint32 multiplier, shift;
};

}  // namespace ofl::layout
