// What NumPy's iterator (since NumPy 2.3) reads through its buffer, and in which blocks. Its loops
// do not give the same bits for every stride and length, so sharing its bits takes its choices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/loop_args.h"
#include "ops/loops.h"

namespace ofl::ops {

/// One visit of the buffer covers the innermost `depth` rows and a stretch of the row around them.
struct Buffering {
  int depth = 0;
  int64_t core = 1;             // elements of the innermost `depth` rows
  int64_t size = 1;             // elements with the row around them, when there is no limit
  int single[kMaxOperands];     // how many rows an operand walks with a single stride
  bool reduce_changes = false;  // the reduced output starts or stops moving at the row around

  bool is_single(int operand) const { return single[operand] > depth; }
};

/// Chooses by cost: 1 + the number of operands that need a buffer, per block. `buffered[k]`:
/// operand k needs one anyway. `reduces`: the last operand has stride 0 along reduced rows, and
/// each merged run of kept or reduced rows of it has a single stride. There is at least one row,
/// and none is empty.
Buffering choose_buffering(const Iteration& iteration, const bool* buffered, bool reduces);

/// Calls body(pointer, stride, n) for every run of operand k in a block that starts at `start`:
/// `count` steps of row `first` (for first == ndim: one element) with everything inside it.
template <typename Body>
void for_each_run(const Iteration& iteration, int first, int64_t count, int k, char* start,
                  Body&& body) {
  Iteration block;
  block.operands = 1;
  for (int d = first; d < iteration.ndim; ++d) {
    Iteration::Row& row = block.rows[block.ndim++];
    row.dim = d == first ? count : iteration.rows[d].dim;
    row.strides[0] = iteration.rows[d].strides[k];
  }
  const Iteration::Row& inner = inner_row(block);
  for_each_row(block, outer_rows(block), &start,
               [&](char* const* pointers) { body(pointers[0], inner.strides[0], inner.dim); });
}

}  // namespace ofl::ops
