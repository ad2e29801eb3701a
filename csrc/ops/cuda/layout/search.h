// Searches in sorted elements.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

struct SearchArgs {
  const char* sorted;
  const char* needles;
  char* out;
  int64 length, count;  // of sorted, of needles
  int64 sorted_step, needle_step, out_step;
  int32 option;  // search_sorted: behind equal ones; contains: the opposite
  int32 unused = 0;
};

/// Elements in the order of a sorter, whose positions may be wrong.
struct ReorderArgs {
  const char* in;
  const char* order;
  char* out;     // contiguous
  int64* fault;  // gets a position that is not below `length`
  int64 length, count;
  int64 in_step, order_step;
};

static_assert(sizeof(SearchArgs) <= kMostParameterBytes);
static_assert(sizeof(ReorderArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
