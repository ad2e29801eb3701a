// Running sums and the like.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 {
  kScanThreads = 256,  // of a block, at most
  kScanAxes = 8,
  kScanVectorBytes = 16,
};

/// How threads share lanes: neighbouring ones take neighbouring elements of one, or one each.
enum ScanForm : int32 { kScanRows, kScanColumns };
/// Of a lane in chunks: what each chunk becomes, and the chunks from what came before them.
enum ScanPhase : int32 { kWhole, kTotals, kFromCarries };

/// Elements of a vector.
constexpr int scan_lanes(int item_size) { return kScanVectorBytes / item_size; }
/// Elements of a thread of a row.
constexpr int scan_items(int item_size) {
  constexpr int kLeast = 4;
  return scan_lanes(item_size) < kLeast ? kLeast : scan_lanes(item_size);
}

/// Dims are of the lanes, outermost first.
struct ScanArgs {
  void* data[2] = {};           // input, output
  void* carries = nullptr;      // of values, [lane][chunk]
  int64 lanes = 1, count = 0;   // elements of a lane
  int64 chunks = 1, chunk = 0;  // each lane's elements in so many parts of so many
  int64 steps[2] = {};          // bytes from an element to the next
  int32 ndim = 0, threads = 1;  // that share a lane
  ScanPhase phase = kWhole;
  int32 vectors = 0;  // the elements of each thread can be loaded and stored as vectors
  int64 dims[kScanAxes] = {}, strides[kScanAxes][2] = {};
};

static_assert(sizeof(ScanArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
