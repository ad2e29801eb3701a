// Division: how helpers share an array kernel's work. A piece is a call of the same kernel on parts
// of its arrays.
#include <cstdlib>
#include <utility>

#include "ops/launch.h"
#include "ops/pieces.h"

namespace ofl::ops {

namespace {

/// Neighbouring elements of the output that stay in one piece, for the sake of cache lines.
constexpr int64_t kTogether = 64;

/// The dimension of each operand that is cut; -1: it is whole in each piece.
using Cuts = SmallVector<int, 8>;

/// The dimension to cut, but for `except`: of those that are long enough for all threads the one
/// whose pieces lie farthest apart, else the longest; -1 when there is none.
int dimension_to_cut(const ArrayView& out, int except, int threads) {
  int best = -1;
  for (int d = 0; d < out.shape.size(); ++d) {
    if (d == except) continue;
    const auto rank = [&](int i) {
      const bool is_long = out.shape[i] >= 8 * threads;
      return std::make_pair(is_long, is_long ? std::abs(out.strides[i]) : out.shape[i]);
    };
    if (best < 0 || rank(d) > rank(best)) best = d;
  }
  return best;
}

Cuts whole(const ArrayArgs& args) {
  Cuts cuts;
  for (int k = 0; k < args.size(); ++k) cuts.push_back(-1);
  return cuts;
}

/// All arrays have one shape, but for the first along axis attr[0].
Cuts cut_lanes(const ArrayArgs& args, int threads) {
  const auto axis = static_cast<int>(args.attr[0]);
  const ArrayView& out = args.output(0);
  const int d = dimension_to_cut(out, axis, threads);
  Cuts cuts;
  for (int k = 0; k < args.size(); ++k) cuts.push_back(d);
  return cuts;
}

Cuts cut_along(const ArrayArgs& args, int threads) {
  Cuts cuts = cut_lanes(args, threads);
  const int axis = static_cast<int>(args.attr[0]);
  const ArrayView& out = args.output(0);
  if (cuts[0] < 0 || out.shape[axis] > 8 * out.shape[cuts[0]]) cuts = {-1, axis, axis};
  return cuts;
}

/// Of the places that are gathered, or of what is taken from each.
Cuts cut_places(const ArrayArgs& args, int threads) {
  Cuts cuts = whole(args);
  const ArrayView& out = args.output(0);
  const int indices = args.inputs - 1, places = args.input(1).shape.size();
  const int last = args.size() - 1;
  const int d = dimension_to_cut(out, -1, threads);
  cuts[last] = d;
  if (d < places) {
    for (int k = 1; k <= indices; ++k) cuts[k] = d;
  } else {
    cuts[0] = indices + d - places;
  }
  return cuts;
}

/// The second input and the output belong together, element by element.
Cuts cut_queries(const ArrayArgs& args, int) {
  Cuts cuts = whole(args);
  cuts[1] = cuts[args.size() - 1] = 0;
  return cuts;
}

/// The second input and the output have the same columns.
Cuts cut_columns(const ArrayArgs& args, int) {
  Cuts cuts = whole(args);
  cuts[1] = cuts[args.size() - 1] = 1;
  return cuts;
}

bool is_cut_here(Division division) {
  return division != Division::none && division != Division::own;
}

Cuts choose_cuts(const ArrayArgs& args) {
  const int threads = args.helpers->threads();
  switch (args.form().division) {
    case Division::lanes: return cut_lanes(args, threads);
    case Division::along: return cut_along(args, threads);
    case Division::places: return cut_places(args, threads);
    case Division::queries: return cut_queries(args, threads);
    case Division::columns: return cut_columns(args, threads);
    case Division::none:
    case Division::own: break;
  }
  return whole(args);
}

void cut(ArrayView* x, int d, int64_t start, int64_t length) {
  x->data += start * x->strides[d];
  x->shape[d] = length;
}

void run_pieces(const ArrayArgs& args, const Cuts& cuts) {
  const int last = args.size() - 1;
  const ArrayView& out = args.operands[last];
  const int64_t dim = out.shape[cuts[last]];
  const bool neighbours =
      std::abs(out.strides[cuts[last]]) == static_cast<int64_t>(size_of(out.dtype));
  const int64_t steps = steps_in_piece(dim, args.work, neighbours ? kTogether : 1);
  args.helpers->parallel_for((dim + steps - 1) / steps, [&](int64_t i) {
    ArrayArgs piece = args;
    const int64_t length = std::min(steps, dim - i * steps);
    for (int k = 0; k <= last; ++k) {
      if (cuts[k] >= 0) cut(&piece.operands[k], cuts[k], i * steps, length);
    }
    args.form().run(piece);
  });
}

}  // namespace

void run(const ArrayArgs& args) {
  if (is_cut_here(args.form().division) && is_divisible(args.helpers, args.work)) {
    const Cuts cuts = choose_cuts(args);
    if (cuts[args.size() - 1] >= 0) {
      try {
        return run_pieces(args, cuts);
      } catch (const Error&) {
        // of any piece: the whole tells which comes first
      }
    }
  }
  args.form().run(args);
}

}  // namespace ofl::ops
