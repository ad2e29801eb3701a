#include "ops/reduce/runner.h"

#include <algorithm>
#include <cstring>

#include "ops/buffering.h"

namespace ofl::ops {

namespace {

constexpr int kIn = kReduceIn;
constexpr int kOut = kReduceOut;

/// Where rows are parts of longer ones, the hardware stops reading ahead at the end of each.
constexpr int64_t kLine = 64;          // bytes
constexpr int64_t kAheadBytes = 1024;  // of a row, from which on it reads ahead by itself
constexpr int64_t kAheadRows = 2;

void read_ahead(const char* row) {
  for (int64_t i = 0; i < kAheadBytes; i += kLine) __builtin_prefetch(row + i);
}

}  // namespace

ReduceRunner::ReduceRunner(const LoopArgs& args, const ReducePlan& plan, char* out, bool skip_first)
    : plan_(plan),
      resolution_(*args.resolution),
      item_size_(size_of(resolution_.in[0])),
      skip_(skip_first ? plan.out_count : 0) {
  position_.in = args.data[kIn];
  position_.out = out;
  if (plan.buffered) cast_ = cast_function(args.dtype[kIn], resolution_.in[0]);
  const bool sums = args.op->adds && !skip_first;
  const bool is_truth = args.op->selects && resolution_.out == DType::b1;
  const bool of_truths = is_truth && resolution_.in[0] == DType::b1;
  if (!skip_first && plan.out_step == 0 && plan.in_step == item_size_) {
    const int64_t length = plan.core * (plan.by_core ? 1 : plan.chunk_cores);
    if (sums) reduce_rows_ = sum_rows_function(resolution_.out, length);
    if (of_truths && plan.out_count > 1) reduce_rows_ = truth_rows_function(resolution_, length);
  }
  const bool beside = plan.out_step == item_size_ && plan.in_step == item_size_;
  if (sums && beside && plan.by_core) sum_columns_ = sum_columns_function(resolution_.out);
  if (is_truth && !skip_first && plan.out_count == 1) ends_ = out;
}

void ReduceRunner::run() {
  const char initial = ends_ ? *ends_ : 0;
  do {
    const int64_t left = plan_.rows.rows[plan_.outer].dim - position_.index[plan_.outer];
    const int64_t cores = std::min(plan_.chunk_cores, left);
    visit_chunk(cores);
    if (ends_ && *ends_ != initial) return;
    advance(cores);
  } while (!done_);
}

/// One chunk: `cores` steps of row `outer`, as one loop call or as one call for each step.
void ReduceRunner::visit_chunk(int64_t cores) {
  const char* in = plan_.buffered ? gather(cores) : position_.in;
  char* out = position_.out;
  const bool first_visit = skip_ > 0 && reduced_indices_are_zero();
  const int64_t calls = plan_.by_core ? cores : 1;
  const int64_t n = plan_.by_core ? plan_.core : plan_.core * cores;
  if (sum_columns_ && calls > 1 && plan_.out_core_step == 0) {
    return sum_columns_({in, plan_.in_core_step, calls, n, out}, resolution_);
  }
  const int64_t bytes = n * plan_.in_step;
  const bool apart = !plan_.buffered && plan_.in_step > 0 && plan_.in_step < kLine &&
                     plan_.in_core_step > bytes && bytes >= 2 * kAheadBytes;
  if (reduce_rows_ && !apart) {
    return reduce_rows_({in, out, calls, n, plan_.in_core_step, plan_.out_core_step}, resolution_);
  }
  for (int64_t i = 0; i < calls; ++i) {
    if (apart && i + kAheadRows < calls) read_ahead(in + kAheadRows * plan_.in_core_step);
    visit_row(out, in, n, first_visit && (i == 0 || plan_.out_core_step != 0));
    in += plan_.in_core_step;
    out += plan_.out_core_step;
  }
}

/// One loop call. Outputs that already hold their first element skip it.
void ReduceRunner::visit_row(char* out, const char* in, int64_t n, bool first_visit) {
  if (first_visit && skip_ > 0) {
    if (plan_.out_step != 0) {
      skip_ -= n;
      return;
    }
    --skip_;
    --n;
    in += plan_.in_step;
  }
  if (n == 0) return;
  if (reduce_rows_) return reduce_rows_({in, out, 1, n, 0, 0}, resolution_);
  char* data[] = {out, const_cast<char*>(in), out};
  const intptr_t steps[] = {plan_.out_step, plan_.in_step, plan_.out_step};
  const intptr_t count = n;
  resolution_.loop(data, &count, steps, resolution_.data);
}

bool ReduceRunner::reduced_indices_are_zero() const {
  for (int d = 0; d < plan_.rows.ndim; ++d) {
    if (plan_.rows.rows[d].strides[kOut] == 0 && position_.index[d] != 0) return false;
  }
  return true;
}

/// Casts what the loop needs of this chunk into the buffer; returns the buffer.
const char* ReduceRunner::gather(int64_t cores) const {
  char* buffer = thread_scratch().bytes;
  if (plan_.in_step == 0) {
    cast_(position_.in, 0, buffer, 0, 1);
    return buffer;
  }
  char* to = buffer;
  const bool repeats = plan_.in_core_step == 0;
  const int first = repeats ? plan_.outer + 1 : plan_.outer;
  const int64_t count = repeats ? plan_.rows.rows[first].dim : cores;
  for_each_run(plan_.rows, first, count, kIn, position_.in,
               [&](const char* from, int64_t stride, int64_t n) {
                 cast_(from, stride, to, item_size_, n);
                 to += n * item_size_;
               });
  return buffer;
}

/// Steps row `outer` on; the rows inside it are at their start between chunks.
void ReduceRunner::advance(int64_t steps) {
  for (int d = plan_.outer; d >= 0; --d) {
    const Iteration::Row& row = plan_.rows.rows[d];
    position_.index[d] += steps;
    position_.in += steps * row.strides[kIn];
    position_.out += steps * row.strides[kOut];
    if (position_.index[d] < row.dim) return;
    position_.index[d] = 0;
    position_.in -= row.dim * row.strides[kIn];
    position_.out -= row.dim * row.strides[kOut];
    steps = 1;
  }
  done_ = true;
}

void run_beside_others(const LoopArgs& args, const ReducePlan& plan, char* out, bool skip_first) {
  constexpr int64_t kFew = 4 * kLine;
  const int64_t bytes = plan.out_count * static_cast<int64_t>(size_of(args.resolution->out));
  if (bytes > kFew) return ReduceRunner(args, plan, out, skip_first).run();
  alignas(kLine) char few[kFew];
  std::memcpy(few, out, static_cast<size_t>(bytes));
  ReduceRunner(args, plan, few, skip_first).run();
  std::memcpy(out, few, static_cast<size_t>(bytes));
}

void start_result(const LoopArgs& args, const ReducePlan& plan, char* out) {
  LoopArgs start;
  const bool fills = args.attr[0] == 1;
  const int to = fills ? 0 : kOut;
  start.iteration.operands = to + 1;
  start.data[kIn] = args.data[kIn];
  start.dtype[kIn] = args.dtype[kIn];
  start.data[to] = out;
  start.dtype[to] = args.resolution->out;
  start.scalars[0] = args.scalars[0];
  for (int d = 0; d < plan.rows.ndim; ++d) {
    const Iteration::Row& from = plan.rows.rows[d];
    if (from.strides[kOut] == 0) continue;
    Iteration::Row& row = start.iteration.rows[start.iteration.ndim++];
    row.dim = from.dim;
    row.strides[kIn] = from.strides[kIn];
    row.strides[to] = from.strides[kOut];
  }
  coalesce(&start.iteration);
  (fills ? fill_kernel : copy_kernel)(start);
}

}  // namespace ofl::ops
