#include "ops/reduce/plan.h"

#include <algorithm>
#include <cstdlib>

#include "ops/buffering.h"
#include "ops/loops.h"

namespace ofl::ops {

namespace {

/// Sorts the rows by input stride, as an insertion sort from the innermost row out: broadcast rows
/// compare with nothing and stay where they are, ties keep row-major order.
void order_rows(const Iteration& from, Iteration* to) {
  Iteration::Row sorted[kMaxDims];  // innermost first
  int count = 0;
  for (int d = from.ndim - 1; d >= 0; --d) {
    const Iteration::Row& row = from.rows[d];
    if (row.dim == 1) continue;
    const int64_t stride = std::abs(row.strides[kReduceIn]);
    int position = count;
    for (int i = count - 1; i >= 0 && stride != 0; --i) {
      const int64_t other = std::abs(sorted[i].strides[kReduceIn]);
      if (other == 0) continue;
      if (other <= stride) break;
      position = i;
    }
    std::copy_backward(sorted + position, sorted + count, sorted + count + 1);
    sorted[position] = row;
    ++count;
  }
  if (count == 0) sorted[count++] = Iteration::Row{1, {}};
  std::reverse_copy(sorted, sorted + count, to->rows);
  to->ndim = count;
  to->operands = 2;
}

/// Lays the result out in the order of the rows, which have the caller's output strides so far.
void lay_out_result(int64_t item_size, ReducePlan* plan) {
  Iteration& to_caller = plan->to_caller;
  to_caller.operands = 2;
  for (int d = plan->rows.ndim - 1; d >= 0; --d) {
    Iteration::Row& row = plan->rows.rows[d];
    const int64_t caller_stride = row.strides[kReduceOut];
    if (caller_stride == 0) continue;
    row.strides[kReduceOut] = plan->out_count * item_size;
    plan->out_count *= row.dim;
    plan->out_is_caller = plan->out_is_caller && row.strides[kReduceOut] == caller_stride;
    to_caller.rows[to_caller.ndim++] = {row.dim, {row.strides[kReduceOut], caller_stride}};
  }
}

/// Decides whether the input is buffered, and the steps of the loops over it.
void choose_steps(const Buffering& buffering, bool cast, int64_t item_size, ReducePlan* plan) {
  const Iteration::Row& inner = inner_row(plan->rows);
  const Iteration::Row& outer = plan->rows.rows[plan->outer];
  plan->out_step = inner.strides[kReduceOut];
  plan->out_core_step = outer.strides[kReduceOut];
  const bool single = buffering.is_single(kReduceIn);
  const bool in_place = single || (plan->by_core && buffering.single[kReduceIn] == buffering.depth);
  plan->buffered = cast || !in_place;
  plan->chunk_cores = buffering.size / buffering.core;
  if (!plan->buffered) {
    plan->in_step = inner.strides[kReduceIn];
    plan->in_core_step = outer.strides[kReduceIn];
    return;
  }
  if (buffering.size > kNumpyBuffer) plan->chunk_cores = kNumpyBuffer / buffering.core;
  if (single && inner.strides[kReduceIn] == 0) return;  // one value for the whole chunk
  const bool repeats = plan->by_core && outer.strides[kReduceIn] == 0 && !single;
  plan->in_step = item_size;
  plan->in_core_step = repeats ? 0 : item_size * plan->core;
}

}  // namespace

ReducePlan plan_reduction(const Iteration& iteration, bool cast, int64_t item_size) {
  ReducePlan plan;
  order_rows(iteration, &plan.rows);
  lay_out_result(item_size, &plan);
  merge_rows(&plan.rows);
  const bool casts[] = {cast, false};
  const Buffering buffering = choose_buffering(plan.rows, casts, true);
  plan.outer = plan.rows.ndim - 1 - buffering.depth;
  plan.core = buffering.core;
  plan.by_core = buffering.reduce_changes;
  choose_steps(buffering, cast, item_size, &plan);
  return plan;
}

}  // namespace ofl::ops
