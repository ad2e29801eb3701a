#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/buffering.h"
#include "ops/kernel.h"
#include "ops/loops.h"
#include "ops/pieces.h"
#include "ops/reduce_plan.h"

namespace ofl::ops {

namespace {

constexpr int kIn = kReduceIn;
constexpr int kOut = kReduceOut;
constexpr int64_t kLeafComponents = 65536;
constexpr int64_t kLeast = 512;  // outputs beside each other in a piece

/// Where the walk stands: the index of each row at the start of a chunk, and the addresses there.
struct Position {
  int64_t index[kMaxDims] = {};
  char* in;
  char* out;
};

/// Walks a plan and calls the loop as NumPy's reduce does: loop(out, in, out).
class ReduceRunner {
 public:
  ReduceRunner(const KernelArgs& args, const ReducePlan& plan, char* out, bool skip_first)
      : plan_(plan),
        resolution_(*args.resolution),
        item_size_(size_of(resolution_.in[0])),
        skip_(skip_first ? plan.out_count : 0) {
    position_.in = args.data[kIn];
    position_.out = out;
    if (plan.buffered) cast_ = cast_function(args.dtype[kIn], resolution_.in[0]);
  }

  void run() {
    do {
      const int64_t left = plan_.rows.rows[plan_.outer].dim - position_.index[plan_.outer];
      const int64_t cores = std::min(plan_.chunk_cores, left);
      visit_chunk(cores);
      advance(cores);
    } while (!done_);
  }

 private:
  /// One chunk: `cores` steps of row `outer`, as one loop call or as one call for each step.
  void visit_chunk(int64_t cores) {
    const char* in = plan_.buffered ? gather(cores) : position_.in;
    char* out = position_.out;
    const bool first_visit = skip_ > 0 && reduced_indices_are_zero();
    const int64_t calls = plan_.by_core ? cores : 1;
    const int64_t n = plan_.by_core ? plan_.core : plan_.core * cores;
    for (int64_t i = 0; i < calls; ++i) {
      visit_row(out, in, n, first_visit && (i == 0 || plan_.out_core_step != 0));
      in += plan_.in_core_step;
      out += plan_.out_core_step;
    }
  }

  /// One loop call. Outputs that already hold their first element skip it.
  void visit_row(char* out, const char* in, int64_t n, bool first_visit) {
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
    char* data[] = {out, const_cast<char*>(in), out};
    const intptr_t steps[] = {plan_.out_step, plan_.in_step, plan_.out_step};
    const intptr_t count = n;
    resolution_.loop(data, &count, steps, resolution_.data);
  }

  bool reduced_indices_are_zero() const {
    for (int d = 0; d < plan_.rows.ndim; ++d) {
      if (plan_.rows.rows[d].strides[kOut] == 0 && position_.index[d] != 0) return false;
    }
    return true;
  }

  /// Casts what the loop needs of this chunk into the buffer; returns the buffer.
  const char* gather(int64_t cores) const {
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
  void advance(int64_t steps) {
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

  const ReducePlan& plan_;
  const Resolution& resolution_;
  const int64_t item_size_;
  CastFn cast_ = nullptr;
  int64_t skip_;  // outputs whose first element is still to be skipped
  Position position_;
  bool done_ = false;
};

/// Writes the initial value, or the first element along the reduced rows, to every output.
void start_result(const KernelArgs& args, const ReducePlan& plan, char* out) {
  KernelArgs start;
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

/// Copies a result that lies in the order of the plan to the caller's output.
void copy_result(const KernelArgs& args, const ReducePlan& plan, char* result) {
  KernelArgs copy;
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
void fill_empty(const KernelArgs& args) {
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
void run_kept_pieces(const KernelArgs& args, const ReducePlan& plan, char* out, double work) {
  const Iteration::Row& row = plan.rows.rows[0];
  const bool gathers = plan.outer == 0 && plan.buffered;
  const int64_t steps = steps_in_piece(row.dim, work, gathers ? plan.chunk_cores : 1);
  args.helpers->parallel_for((row.dim + steps - 1) / steps, [&](int64_t i) {
    KernelArgs piece = args;
    ReducePlan part = plan;
    const int64_t start = i * steps;
    part.rows.rows[0].dim = std::min(steps, row.dim - start);
    part.out_count = plan.out_count / row.dim * part.rows.rows[0].dim;
    piece.data[kIn] += start * row.strides[kIn];
    ReduceRunner(piece, part, out + start * row.strides[kOut], args.attr[0] == 0).run();
  });
}

/// Reduces parts of the outputs as if they were the whole: the innermost row is kept, so that every
/// output takes its elements one after the other, whatever lies beside it.
bool reduce_beside(const KernelArgs& args, const ReducePlan& plan) {
  const int64_t stride = inner_row(plan.rows).strides[kIn];
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.strides[kOut] == 0 || row.strides[kIn] != stride || row.dim < 2 * kLeast) continue;
    const int64_t pieces = std::min<int64_t>(row.dim / kLeast, 4 * args.helpers->threads());
    const int64_t steps = (row.dim + pieces - 1) / pieces;
    args.helpers->parallel_for((row.dim + steps - 1) / steps, [&](int64_t i) {
      KernelArgs piece = args;
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

/// Leaves of NumPy's pairwise summation tree, from the left. It halves what it sums until 128
/// components are left (numpy/_core/src/umath/loops_utils.h.src), and so does this until a leaf is
/// worth a piece; the loop itself goes on from there.
void pairwise_leaves(int64_t components, SmallVector<int64_t, 16>* leaves) {
  if (components <= kLeafComponents) return leaves->push_back(components);
  const int64_t half = components / 2 - components / 2 % 8;
  pairwise_leaves(half, leaves);
  pairwise_leaves(components - half, leaves);
}

/// One sum of everything, in one row: the loop calls (or the leaves of the only one) by themselves,
/// each starting with -0, which changes nothing it is added to; then their results in NumPy's
/// order.
class DividedSum {
 public:
  DividedSum(const KernelArgs& args, const ReducePlan& plan) : args_(args), plan_(plan) {
    const DType dtype = args.resolution->out;
    components_ = info(dtype).kind == DTypeKind::complex ? 2 : 1;
    const int64_t dim = plan.rows.rows[0].dim;
    if (plan.buffered) {
      for (int64_t i = 0; i < dim; i += plan.chunk_cores) {
        counts_.push_back(std::min(plan.chunk_cores, dim - i));
      }
    } else {
      pairwise_leaves(dim * components_, &counts_);
      for (int64_t& count : counts_) count /= components_;
    }
    sums_.reset(new Scalar[counts_.size()]);
    starts_.push_back(0);
    for (int64_t count : counts_) starts_.push_back(starts_.back() + count);
  }

  void run(char* out) {
    const int64_t group = std::max<int64_t>(1, kLeafComponents / counts_[0]);
    args_.helpers->parallel_for((counts_.size() + group - 1) / group, [&](int64_t i) {
      const int64_t end = std::min<int64_t>((i + 1) * group, counts_.size());
      for (int64_t leaf = i * group; leaf < end; ++leaf) sum_leaf(static_cast<int>(leaf));
    });
    if (!plan_.buffered) {
      int leaf = 0;
      return add(out, fold(plan_.rows.rows[0].dim * components_, &leaf));
    }
    for (int leaf = 0; leaf < counts_.size(); ++leaf) add(out, &sums_[leaf]);
  }

 private:
  void sum_leaf(int leaf) {
    KernelArgs piece = args_;
    ReducePlan part = plan_;
    part.rows.rows[0].dim = counts_[leaf];
    piece.data[kIn] += starts_[leaf] * plan_.rows.rows[0].strides[kIn];
    char* sum = reinterpret_cast<char*>(&sums_[leaf]);
    write_negative_zero(sum);
    ReduceRunner(piece, part, sum, false).run();
  }

  void write_negative_zero(char* to) const {
    if (is_integer(args_.resolution->out)) return;  // already 0
    const bool is_double = size_of(args_.resolution->out) / components_ == sizeof(double);
    for (int i = 0; i < components_; ++i) {
      if (is_double) {
        reinterpret_cast<double*>(to)[i] = -0.0;
      } else {
        reinterpret_cast<float*>(to)[i] = -0.0F;
      }
    }
  }

  /// The sum of a subtree, left in the place of its first leaf.
  Scalar* fold(int64_t components, int* leaf) {
    if (components <= kLeafComponents) return &sums_[(*leaf)++];
    const int64_t half = components / 2 - components / 2 % 8;
    Scalar* left = fold(half, leaf);
    add(reinterpret_cast<char*>(left), fold(components - half, leaf));
    return left;
  }

  void add(char* to, Scalar* value) const {
    Scalar sum;
    char* data[] = {to, reinterpret_cast<char*>(value), reinterpret_cast<char*>(&sum)};
    const auto size = static_cast<intptr_t>(size_of(args_.resolution->out));
    const intptr_t steps[] = {size, size, size};
    const intptr_t one = 1;
    args_.resolution->loop(data, &one, steps, args_.resolution->data);
    std::memcpy(to, sum.bytes, size);
  }

  const KernelArgs& args_;
  const ReducePlan& plan_;
  int components_;
  SmallVector<int64_t, 16> counts_, starts_;  // of the leaves, in elements
  std::unique_ptr<Scalar[]> sums_;
};

/// float16 adds in float32 inside its loop: partial sums would be rounded once more.
bool is_divisible_sum(const KernelArgs& args, const ReducePlan& plan) {
  const DType dtype = args.resolution->out;
  return args.op->adds && args.attr[0] == 1 && dtype != DType::f16 && dtype != DType::b1 &&
         plan.rows.ndim == 1 && plan.out_count == 1 && plan.in_step != 0;
}

/// Divides the walk where that leaves every bit; false where it does not or would not pay.
bool run_divided(const KernelArgs& args, const ReducePlan& plan, char* out, bool direct) {
  const auto work = static_cast<double>(iteration_size(args.iteration));
  if (!is_divisible(args.helpers, work) || reads_what_it_writes(args)) return false;
  const Iteration::Row& outermost = plan.rows.rows[0];
  if (outermost.strides[kOut] != 0 && outermost.dim >= 2 * args.helpers->threads()) {
    start_result(args, plan, out);
    run_kept_pieces(args, plan, out, work);
    return true;
  }
  if (direct && plan.out_step != 0) return reduce_beside(args, plan);
  if (!is_divisible_sum(args, plan)) return false;
  start_result(args, plan, out);
  DividedSum(args, plan).run(out);
  return true;
}

}  // namespace

void reduce_kernel(const KernelArgs& args) {
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
