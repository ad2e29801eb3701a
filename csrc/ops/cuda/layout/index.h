// Reads and writes by index arrays: items of work are walked through a nest of dimensions.
//
// `placed` is the array that is indexed. The elements of `lined` are in the order of the indices.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 { kNestDims = 8, kIndexArrays = kMostDims, kUnsignedIndex = 4 };

/// The effect of an index out of range.
enum IndexMode : int32 { kFault, kWrap, kClip };

/// An array of integers, and the axis that they count along.
struct IndexArray {
  const char* data = nullptr;
  int64 size = 0;  // of the axis
  int64 step = 0;  // along it
  int32 kind = 0;  // log2 of an index' bytes; kUnsignedIndex more: unsigned
  int32 unused = 0;
  int64 strides[kNestDims] = {};
};

/// The last member of an argument. The host has room for all arrays; a kernel takes the beginning,
/// with as many as it is made for.
template <int arrays>
struct Indexing {
  int64* faults = nullptr;  // a word for each array
  int32 ndim = 0;
  IndexMode mode = kFault;
  int64 dims[kNestDims] = {};
  int64 placed[kNestDims] = {};  // strides, without what indices add
  int64 lined[kNestDims] = {};
  int64 number[kNestDims] = {};  // strides of the numbers of places, in the index arrays' order
  IndexArray indices[arrays];
};

template <int arrays>
struct GatherArgs {
  int64 count = 0;  // items: words
  const char* placed = nullptr;
  char* lined = nullptr;
  Indexing<arrays> nest;
};

// --- writes, where each place claims its position in a table first

enum : int32 { kNumberBits = 22 };  // of a place, in an entry of the table

struct ClearArgs {
  int64 count;
  uint64* table;
};

template <int arrays>
struct ClaimArgs {
  int64 count = 0;  // places
  int64 first = 0;  // number of the first one
  uint64* table = nullptr;
  uint32* slot_of = nullptr;  // of each place
  int64 slots = 0;
  int64 is_direct = 0;    // every position has a slot of its own
  Indexing<arrays> nest;  // steps count positions
};

template <int arrays>
struct ScatterArgs {
  int64 count = 0;   // items: words
  int64 first = 0;   // item
  int64 number = 0;  // of the first place
  char* placed = nullptr;
  const char* lined = nullptr;    // null: the scalar
  const uint64* table = nullptr;  // null: all write
  const uint32* slot_of = nullptr;
  int64 unused = 0;
  alignas(16) unsigned char scalar[16] = {};  // over and over; aligned for the longest words
  Indexing<arrays> nest;
};

static_assert(sizeof(GatherArgs<kIndexArrays>) <= kMostParameterBytes);
static_assert(sizeof(ClaimArgs<kIndexArrays>) <= kMostParameterBytes);
static_assert(sizeof(ScatterArgs<kIndexArrays>) <= kMostParameterBytes);

}  // namespace ofl::layout
