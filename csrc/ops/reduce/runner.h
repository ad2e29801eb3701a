// Walks a reduction as reduce_plan.h has it, or a part of it.
#pragma once

#include "ops/loops.h"
#include "ops/reduce/columns.h"
#include "ops/reduce/plan.h"
#include "ops/reduce/rows.h"

namespace ofl::ops {

/// Where the walk stands: the index of each row at the start of a chunk, and the addresses there.
struct ReducePosition {
  int64_t index[kMaxDims] = {};
  char* in;
  char* out;
};

/// Walks a plan and calls the loop as NumPy's reduce does: loop(out, in, out).
class ReduceRunner {
 public:
  /// `out`: the result, in the order of the plan. `skip_first`: it holds the first elements
  /// already.
  ReduceRunner(const LoopArgs& args, const ReducePlan& plan, char* out, bool skip_first);

  void run();

 private:
  void visit_chunk(int64_t cores);
  void visit_row(char* out, const char* in, int64_t n, bool first_visit);
  bool reduced_indices_are_zero() const;
  const char* gather(int64_t cores) const;
  void advance(int64_t steps);

  const ReducePlan& plan_;
  const Resolution& resolution_;
  const int64_t item_size_;
  CastFn cast_ = nullptr;
  // Instead of calls of the loop.
  ReduceRowsFn reduce_rows_ = nullptr;
  SumColumnsFn sum_columns_ = nullptr;
  const char* ends_ = nullptr;  // the only output, a bool that changes once at most
  int64_t skip_;                // outputs whose first element is still to be skipped
  ReducePosition position_;
  bool done_ = false;
};

/// The walk of such a runner, where other threads write beside `out`. Some loops write their result
/// for each element: few results are made apart, in lines that no other thread writes.
void run_beside_others(const LoopArgs& args, const ReducePlan& plan, char* out, bool skip_first);

/// Writes the initial value, or the first element along the reduced rows, to every output.
void start_result(const LoopArgs& args, const ReducePlan& plan, char* out);

}  // namespace ofl::ops
