// Counted random numbers.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 { kCounterWords = 4 };

struct DrawArgs {
  int64 count;  // numbers
  void* out;    // contiguous
  uint64 key, low, high;
  uint64 parameters[2];
};

static_assert(sizeof(DrawArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
