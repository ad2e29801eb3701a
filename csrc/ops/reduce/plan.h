// How NumPy's iterator walks a reduction: the order of the rows, what is merged, what goes through
// its buffer and how long each inner loop is. A pairwise sum rounds differently for other lengths,
// so sums have NumPy's bits only when these choices are NumPy's.
#pragma once

#include <cstdint>

#include "ops/loop_args.h"

namespace ofl::ops {

inline constexpr int kReduceIn = 0;
inline constexpr int kReduceOut = 1;

/// The walk over the input and a result that lies in the order of the rows (stride 0: reduced).
/// A loop call sees `core` elements (by_core) or a chunk. A chunk is some steps of row `outer` with
/// everything inside it, and does not cross the end of that row.
struct ReducePlan {
  Iteration rows;
  int outer = 0;
  int64_t core = 1;         // elements inside one step of row `outer`
  int64_t chunk_cores = 1;  // most steps of row `outer` in a chunk
  bool by_core = false;     // the result changes between reduced and kept at row `outer`
  bool buffered = false;    // the input is gathered (and cast) first
  int64_t in_step = 0, in_core_step = 0;  // of a loop, and from one core to the next
  int64_t out_step = 0, out_core_step = 0;
  int64_t out_count = 1;      // elements of the result
  bool out_is_caller = true;  // the caller's output has the strides of the result
  Iteration to_caller;        // from the result to the caller's output
};

/// Plans the rows of `iteration` (input, output), none of which is empty. `cast`: the input has
/// another dtype than the loop's, which has the item size given.
ReducePlan plan_reduction(const Iteration& iteration, bool cast, int64_t item_size);

}  // namespace ofl::ops
