// Sorts.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 {
  kSortThreads = 256,
  kDigits = 256,     // a thread for each
  kLaneTile = 2048,  // elements of short lanes in a block
};

/// Elements of a tile that a thread has.
constexpr int sort_items(int item_size) { return item_size <= 4 ? 16 : 8; }

struct SortArgs {
  const void* in = nullptr;
  void* out = nullptr;              // null: nobody wants the elements
  const void* places_in = nullptr;  // of Index; null: elements are still in their places
  void* places_out = nullptr;
  int64* order = nullptr;  // places, in the last pass
  void* counts = nullptr;
  void* totals = nullptr;
  int64 lanes = 0, length = 0;
  int64 chunks = 0, chunk = 0;  // of a lane; elements of one, whole tiles
  int32 digit = 0, descending = 0;
  int32 padded = 1;       // short lanes: length, to a power of two
  int32 row_threads = 1;  // of scan_digits, for one row of counts
};

static_assert(kDigits == kSortThreads);
static_assert(sizeof(SortArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
