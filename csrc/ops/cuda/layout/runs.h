// Runs of equal elements, some of the elements in their order, numbers counted. All arrays are
// one-dimensional, steps are in bytes.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 { kSharedCounts = 4096 };  // that a block keeps for itself

/// Of kernels that keep some of their elements.
struct CompactArgs {
  const char* in = nullptr;
  const char* kept = nullptr;  // a bool for each element, contiguous, where flags decide
  char* out = nullptr;
  int64* counts = nullptr;  // of each chunk
  int64* total = nullptr;
  int64* ends = nullptr;  // gets the length behind the places; or null
  int64 length = 0, in_step = 0, out_step = 0;
  int64 chunk = 0, chunks = 0;
  int32 writes = 0;  // or counts
  int32 equal_nan = 0;
};

struct RunNumberArgs {
  const char* starts;
  const char* order;
  char* out;
  int64 runs, count;
  int64 start_step, order_step, out_step;
};

struct BincountArgs {
  const char* numbers = nullptr;
  const char* weights = nullptr;
  const int64* order = nullptr;  // the positions that sort the numbers
  void* out = nullptr;           // zeros, where numbers are counted
  int64* fault = nullptr;        // is written where a number is not below the length
  int64 count = 0, length = 0;
  int64 number_step = 0, weight_step = 0;
};

/// Of the kernel that makes numbers of places: a negative place counts from the end.
struct SettleArgs {
  const char* numbers = nullptr;
  int64* settled = nullptr;
  int64* fault = nullptr;  // gets a place that there is not, with its sign bit flipped
  int64 count = 0, length = 0, number_step = 0;
};

struct AddRowsArgs {
  const char* numbers = nullptr;  // from 0 on, below the length
  const char* rows = nullptr;
  const int64* order = nullptr;  // the positions that sort the numbers
  void* out = nullptr;           // contiguous
  int64 count = 0, length = 0, width = 0;
  int64 number_step = 0, row_step = 0, column_step = 0;
};

static_assert(sizeof(CompactArgs) <= kMostParameterBytes);
static_assert(sizeof(RunNumberArgs) <= kMostParameterBytes);
static_assert(sizeof(BincountArgs) <= kMostParameterBytes);
static_assert(sizeof(SettleArgs) <= kMostParameterBytes);
static_assert(sizeof(AddRowsArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
