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

/// Part of a draw: rows of numbers that follow each other.
struct DrawWindowArgs {
  DrawArgs draw;        // its count is that of the part
  int64 first, length;  // the number of the first element; numbers of a row
  int64 rows, axes;     // and axes of the rows, outermost first
  int64 counters;       // the most that the numbers of one row come from
  int64 extents[kMostDims];
  int64 steps[kMostDims];  // numbers between neighbours
};

static_assert(sizeof(DrawWindowArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
