#include "ops/reduce/tiles.h"

#include "ops/loops.h"
#include "ops/reduce/runner.h"

namespace ofl::ops {

namespace {

/// The input is read element after element, in the order of the rows given and not only in that of
/// memory (tiles are parts of the former), and the result is written where it belongs.
bool is_plain(const LoopArgs& args, const ReducePlan& plan) {
  auto step = static_cast<int64_t>(size_of(args.dtype[kReduceIn]));
  for (int d = args.iteration.ndim - 1; d >= 0; --d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.dim == 1) continue;
    if (row.strides[kReduceIn] != step) return false;
    step *= row.dim;
  }
  return plan.out_is_caller && args.dtype[kReduceOut] == args.resolution->out;
}

}  // namespace

std::unique_ptr<const TiledReduction> TiledReduction::make(const LoopArgs& args,
                                                           int64_t leaf_components) {
  const int64_t elements = iteration_size(args.iteration);
  if (elements == 0) return nullptr;
  const auto item_size = static_cast<int64_t>(size_of(args.resolution->out));
  const bool cast = args.dtype[kReduceIn] != args.resolution->in[0];
  const ReducePlan plan = plan_reduction(args.iteration, cast, item_size);
  if (!is_plain(args, plan)) return nullptr;
  std::unique_ptr<TiledReduction> reduction(new TiledReduction(args, plan));
  const Iteration::Row& outermost = plan.rows.rows[0];
  if (outermost.strides[kReduceOut] != 0) {
    const bool gathers = plan.outer == 0 && plan.buffered;
    reduction->step_ = elements / outermost.dim;
    reduction->unit_ = reduction->step_ * (gathers ? plan.chunk_cores : 1);
  } else if (DividedSum::accepts(args, plan)) {
    reduction->sum_.emplace(args, plan, leaf_components);
  } else {
    return nullptr;
  }
  return reduction;
}

void TiledReduction::take(int tile, int64_t count, char* in, char* out, Scalar* sums) const {
  if (sum_) return sum_->sum_leaf(tile, in, &sums[tile]);
  const int64_t dim = plan_.rows.rows[0].dim;
  LoopArgs piece = args_;
  ReducePlan part = plan_;
  piece.data[kReduceIn] = in;
  part.rows.rows[0].dim = count / step_;
  part.out_count = plan_.out_count / dim * part.rows.rows[0].dim;
  start_result(piece, part, out);
  run_beside_others(piece, part, out, args_.attr[0] == 0);
}

void TiledReduction::finish(char* out, Scalar* sums) const {
  start_result(args_, plan_, out);
  sum_->finish(out, sums);
}

}  // namespace ofl::ops
