// Reductions and searches for the best.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 {
  kReduceThreads = 256,  // of a block, at most
  kReduceChains = 4,     // values that a thread makes side by side
  kReduceAxes = 8,       // of a kind
  kReduceVectorBytes = 16,
};

/// How threads share outputs: neighbouring ones take neighbouring elements of one output, which may
/// lie one after the other (flat), or neighbouring outputs.
enum ReduceForm : int32 { kRows, kFlatRows, kColumns };

/// Elements of a vector, of those that lie one after the other.
constexpr int reduce_lanes(int item_size) {
  return item_size < kReduceVectorBytes ? kReduceVectorBytes / item_size : 1;
}

/// Dims are outermost first. The innermost of those that vectors go along is counted in vectors.
struct ReduceArgs {
  void* data[2] = {};  // input, output
  unsigned char initial[16] = {};
  int64 outputs = 1, count = 1;  // of elements an output: vectors of rows, elements of columns
  int64 chunks = 1, chunk = 1;   // each output's elements in so many parts of so many
  int64 position = 0;            // of the first element
  int64 lane_step = 0;  // of a vector's elements: positions of rows, bytes of outputs of columns
  int32 kept = 0, reduced = 0, threads = 1;
  int32 has_initial = 0, is_partial = 0;  // partial: values, as they are
  int32 of_values = 0;                    // the input's strides are in elements, not in bytes
  int64 kept_dims[kReduceAxes] = {}, kept_strides[kReduceAxes][2] = {};
  int64 reduced_dims[kReduceAxes] = {}, reduced_strides[kReduceAxes] = {};
  int64 reduced_positions[kReduceAxes] = {};
};

static_assert(sizeof(ReduceArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
