#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "ops/loop_args.h"
#include "ops/loops.h"
#include "ops/pieces.h"
#include "ops/reduce/divided_sum.h"
#include "ops/reduce/runner.h"

namespace ofl::ops {

namespace {

constexpr int kIn = kReduceIn;
constexpr int kOut = kReduceOut;
/// Outputs beside each other in a piece: as many as there may be, so that memory is read in long
/// runs, but they stay in the cache while the rows go by.
constexpr int64_t kLeast = 256;
/// Bytes beside each other that a loop reads at a time, at least: shorter runs, each in another
/// page, took two to three times as long in all. Sums of neighbours read several rows at once.
constexpr int64_t kLeastRun = 8192;
constexpr int64_t kMostBytes = 65536;

/// Copies a result that lies in the order of the plan to the caller's output.
void copy_result(const LoopArgs& args, const ReducePlan& plan, char* result) {
  LoopArgs copy;
  copy.data[kIn] = result;
  copy.dtype[kIn] = args.resolution->out;
  copy.data[kOut] = args.data[kOut];
  copy.dtype[kOut] = args.dtype[kOut];
  copy.iteration = plan.to_caller;
  coalesce(&copy.iteration);
  copy_kernel(copy);
}

/// Of a reduction with an empty row: its outputs, where there are any, are the initial value. Kept
/// rows are told from reduced ones by their output stride, also when they are empty.
void fill_empty(const LoopArgs& args) {
  Iteration kept;
  kept.operands = 1;
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.strides[kOut] == 0) continue;
    kept.rows[kept.ndim].dim = row.dim;
    kept.rows[kept.ndim++].strides[0] = row.strides[kOut];
  }
  char* out[] = {args.data[kOut]};
  const CastFn cast = cast_function(args.resolution->out, args.dtype[kOut]);
  const char* initial = reinterpret_cast<const char*>(args.scalars[0].bytes);
  for_each_row(kept, kept.ndim, out, [&](char* const* to) { cast(initial, 0, to[0], 0, 1); });
}

/// The walk in pieces of its outermost row, where that is kept: each output is made by one piece,
/// from the chunks that it would have in the whole.
void run_kept_pieces(const LoopArgs& args, const ReducePlan& plan, char* out, double work) {
  const Iteration::Row& row = plan.rows.rows[0];
  const bool gathers = plan.outer == 0 && plan.buffered;
  const int64_t steps = steps_in_piece(row.dim, work, gathers ? plan.chunk_cores : 1);
  args.helpers->parallel_for((row.dim + steps - 1) / steps, [&](int64_t i) {
    LoopArgs piece = args;
    ReducePlan part = plan;
    const int64_t start = i * steps;
    part.rows.rows[0].dim = std::min(steps, row.dim - start);
    part.out_count = plan.out_count / row.dim * part.rows.rows[0].dim;
    piece.data[kIn] += start * row.strides[kIn];
    run_beside_others(piece, part, out + start * row.strides[kOut], args.attr[0] == 0);
  });
}

/// Reduces parts of the outputs as if they were the whole: the innermost row is kept, so that every
/// output takes its elements one after the other, whatever lies beside it.
bool reduce_beside(const LoopArgs& args, const ReducePlan& plan) {
  const int64_t stride = inner_row(plan.rows).strides[kIn];
  const bool reads_rows =
      args.op->adds && stride == static_cast<int64_t>(size_of(args.resolution->in[0]));
  const int64_t run = kLeastRun / std::max<int64_t>(1, std::abs(stride));
  const int64_t least = reads_rows ? kLeast : std::max(kLeast, run);
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.strides[kOut] == 0 || row.strides[kIn] != stride || row.dim < 2 * least) continue;
    const int64_t pieces = std::min<int64_t>(row.dim / least, 2 * args.helpers->threads());
    int64_t steps = std::min((row.dim + pieces - 1) / pieces,
                             kMostBytes / static_cast<int64_t>(size_of(args.dtype[kOut])));
    steps = (steps + kVectors - 1) / kVectors * kVectors;
    args.helpers->parallel_for((row.dim + steps - 1) / steps, [&](int64_t i) {
      LoopArgs piece = args;
      piece.helpers = nullptr;
      piece.iteration.rows[d].dim = std::min(steps, row.dim - i * steps);
      piece.data[kIn] += i * steps * row.strides[kIn];
      piece.data[kOut] += i * steps * row.strides[kOut];
      reduce_kernel(piece);
    });
    return true;
  }
  return false;
}

std::atomic<unsigned> reads{0};  // by any thread; only its parity counts, and that is a hint

/// Calls body(i) for each of `count` pieces of what is only read, in turns from the first one on
/// and from the last one: what the read before has ended with is still in the cache.
template <typename Body>
void for_each_read(ep::HelperPool* helpers, int64_t count, const Body& body) {
  const bool backwards = reads.fetch_add(1, std::memory_order_relaxed) % 2 != 0;
  helpers->parallel_for(count, [&](int64_t i) { body(backwards ? count - 1 - i : i); });
}

void run_divided_sum(const LoopArgs& args, const ReducePlan& plan, char* out) {
  const DividedSum sum(args, plan, kLeafComponents);
  const std::unique_ptr<Scalar[]> sums(new Scalar[sum.leaves()]);
  // Long pieces of a long sum: the hardware's prefetch starts anew with each.
  const int64_t most = 4 * kLeafComponents / sum.count(0);
  const int64_t shares = sum.leaves() / (16 * args.helpers->threads());
  const int64_t least = std::max<int64_t>(1, kLeafComponents / sum.count(0));
  const int64_t group = std::max(least, std::min(most, shares));
  for_each_read(args.helpers, (sum.leaves() + group - 1) / group, [&](int64_t i) {
    const int64_t end = std::min<int64_t>((i + 1) * group, sum.leaves());
    for (auto leaf = static_cast<int>(i * group); leaf < end; ++leaf) {
      sum.sum_leaf(leaf, args.data[kIn] + sum.start(leaf) * plan.rows.rows[0].strides[kIn],
                   &sums[leaf]);
    }
  });
  sum.finish(out, sums.get());
}

/// Of equal elements that differ (zeros, NaN) the order decides which one it is. NumPy's loops of
/// float16 and complex numbers take one element after the other, and keep the first: of pieces in
/// their order, too.
bool is_ambiguous(const char* result, DType dtype) {
  const auto test = [result](auto value) {
    std::memcpy(&value, result, sizeof value);
    return !(value < 0 || value > 0);
  };
  return dtype == DType::f32 ? test(float{}) : dtype == DType::f64 && test(double{});
}

/// The work of one element, in float32 additions, each of which takes 0.3 ns. A complex number was
/// seen to take 3 ns, a float16 8 ns, and a byte of other elements 0.03 ns.
double choice_work(DType dtype) {
  if (dtype == DType::c64 || dtype == DType::c128) return 10;
  return dtype == DType::f16 ? 25 : 0.1 * static_cast<double>(size_of(dtype));
}

/// One of all elements: those of pieces, then one of these. False where it is ambiguous.
bool run_divided_choice(const LoopArgs& args, const ReducePlan& plan, char* out) {
  const DType dtype = args.resolution->out;
  const bool known = dtype != DType::bf16;
  if (!args.op->selects || !known || plan.rows.ndim != 1 || plan.out_count != 1 || plan.buffered) {
    return false;
  }
  const Iteration::Row& row = plan.rows.rows[0];
  const double work = static_cast<double>(row.dim) * choice_work(args.resolution->in[0]);
  if (!is_divisible(args.helpers, work) || reads_what_it_writes(args)) return false;
  const int64_t steps = steps_in_piece(row.dim, work, kVectors);
  const int64_t pieces = (row.dim + steps - 1) / steps;
  const std::unique_ptr<Scalar[]> results(new Scalar[pieces]);
  const bool may_end = args.attr[0] == 1 && dtype == DType::b1;  // any, all
  std::atomic<bool> ended{false};
  const auto run_piece = [&](int64_t i) {
    LoopArgs piece = args;
    ReducePlan part = plan;
    part.rows.rows[0].dim = std::min(steps, row.dim - i * steps);
    piece.data[kIn] += i * steps * row.strides[kIn];
    Scalar result;  // some loops write it for each element: in no line that other threads write
    char* to = reinterpret_cast<char*>(result.bytes);
    start_result(piece, part, to);
    results[i] = result;
    if (ended.load(std::memory_order_relaxed)) return;
    ReduceRunner(piece, part, to, args.attr[0] == 0).run();
    results[i] = result;
    if (may_end && *to != static_cast<char>(args.scalars[0].bytes[0])) {
      ended.store(true, std::memory_order_relaxed);  // a hint; the results say it
    }
  };
  run_piece(0);  // often enough says it all
  std::memcpy(out, results[0].bytes, size_of(dtype));
  if (ended.load(std::memory_order_relaxed)) return true;
  const auto run_later = [&](int64_t i) { run_piece(i + 1); };
  if (may_end) {
    args.helpers->parallel_for(pieces - 1, run_later);  // what ends it may stand near the front
  } else {
    for_each_read(args.helpers, pieces - 1, run_later);
  }
  char* data[] = {out, reinterpret_cast<char*>(results.get()), out};
  const intptr_t stride = sizeof(Scalar), count = pieces;
  const intptr_t loop_steps[] = {0, stride, 0};
  args.resolution->loop(data, &count, loop_steps, args.resolution->data);
  return !is_ambiguous(out, dtype);
}

/// Divides the walk where that leaves every bit; false where it does not or would not pay.
bool run_divided(const LoopArgs& args, const ReducePlan& plan, char* out, bool direct) {
  const bool is_beside = direct && plan.out_step != 0;
  if (!is_beside && run_divided_choice(args, plan, out)) return true;
  const auto work = static_cast<double>(iteration_size(args.iteration));
  if (!is_divisible(args.helpers, work) || reads_what_it_writes(args)) return false;
  const Iteration::Row& outermost = plan.rows.rows[0];
  if (outermost.strides[kOut] != 0 && outermost.dim >= 2 * args.helpers->threads()) {
    start_result(args, plan, out);
    run_kept_pieces(args, plan, out, work);
    return true;
  }
  if (is_beside) return reduce_beside(args, plan);
  if (!DividedSum::accepts(args, plan)) return false;
  start_result(args, plan, out);
  run_divided_sum(args, plan, out);
  return true;
}

}  // namespace

void reduce_kernel(const LoopArgs& args) {
  if (iteration_size(args.iteration) == 0) {
    if (args.attr[0] == 1) fill_empty(args);
    return;
  }
  const Resolution& resolution = *args.resolution;
  const int64_t item_size = static_cast<int64_t>(size_of(resolution.out));
  const bool cast = args.dtype[kIn] != resolution.in[0];
  const ReducePlan plan = plan_reduction(args.iteration, cast, item_size);

  const bool direct = plan.out_is_caller && args.dtype[kOut] == resolution.out;
  std::unique_ptr<Scalar[]> result;  // 16-byte aligned
  char* out = args.data[kOut];
  if (!direct) {
    result.reset(new Scalar[(plan.out_count * item_size + sizeof(Scalar) - 1) / sizeof(Scalar)]);
    out = reinterpret_cast<char*>(result.get());
  }
  if (!run_divided(args, plan, out, direct)) {
    start_result(args, plan, out);
    ReduceRunner(args, plan, out, args.attr[0] == 0).run();
  }
  if (!direct) copy_result(args, plan, out);
}

}  // namespace ofl::ops
