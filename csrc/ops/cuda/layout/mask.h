// Masks: copies from and to where they are true, and where that is.
#pragma once

#include "ops/cuda/layout/index.h"

namespace ofl::layout {

enum : int32 {
  kMaskTile = 4096,    // elements
  kMaskThreads = 256,  // of a block
};

/// Neighbouring dimensions that an array steps evenly over are one.
struct Steps {
  int64 ndim = 0;
  int64 dims[kNestDims] = {};
  int64 strides[kNestDims] = {};
};

struct MaskArgs {
  const char* data = nullptr;
  int64 size = 0;  // elements
  int64 tiles = 0;
  int64* counts = nullptr;  // of each tile; null where there is one
  Steps steps;              // where they are not contiguous
};

struct SumArgs {
  int64* counts;  // of tiles; then the sums before each, and one more: of all
  int64 tiles;
};

/// For the kernels that number true elements.
struct NumberArgs {
  MaskArgs mask;
  int64 expected = -1;     // how many are true; -1: any number
  int64* fault = nullptr;  // gets their number where it is another one: then nothing is written
  int64 parts = 1;         // blocks that share a tile
};

/// Copies between what a mask selects and a line. A place has a block of words.
struct SelectArgs {
  alignas(16) unsigned char scalar[16] = {};  // over and over; aligned for the longest words
  NumberArgs numbers;
  char* placed = nullptr;
  char* lined = nullptr;  // null: the scalar
  int64 lined_step = 0;
  int64 block = 0;    // words
  int64 is_long = 0;  // items: places of one word after the other, else words of one place
  Steps places;       // of the mask's elements in the array that it selects from
  Steps block_placed;
  Steps block_lined;
};

/// Coordinates of the true elements, a row for each dimension.
struct NonzeroArgs {
  NumberArgs numbers;
  char* out = nullptr;
  int64 row = 0;   // bytes from one dimension's to the next one's
  int64 step = 0;  // and from one element's
  int64 ndim = 0;
  int64 dims[kMostDims] = {};
};

static_assert(sizeof(SelectArgs) <= kMostParameterBytes);
static_assert(sizeof(NonzeroArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
