#include "ops/buffering.h"

namespace ofl::ops {

namespace {

/// True when `outer` goes on where `inner` ends.
bool continues(const Iteration::Row& outer, const Iteration::Row& inner, int k) {
  return outer.strides[k] == inner.strides[k] * inner.dim;
}

bool same_kind(const Iteration::Row& a, const Iteration::Row& b, int k) {
  return (a.strides[k] == 0) == (b.strides[k] == 0);
}

}  // namespace

Buffering choose_buffering(const Iteration& iteration, const bool* buffered, bool reduces) {
  const int operands = iteration.operands;
  const Iteration::Row* inner = &iteration.rows[iteration.ndim - 1];
  Buffering best;
  std::fill_n(best.single, operands, 1);
  best.size = inner->dim;
  int64_t cost = 1 + std::count(buffered, buffered + operands, true);
  int64_t best_cost = cost;
  int64_t size = best.size;
  bool changes = false;
  for (int depth = 1; depth < iteration.ndim && !changes; ++depth, --inner) {
    if (size >= kNumpyBuffer && cost > 1) break;
    const Iteration::Row& row = *(inner - 1);
    for (int k = 0; k < operands; ++k) {
      if (best.single[k] != depth) continue;
      if (continues(row, *inner, k)) {
        ++best.single[k];
      } else if (!buffered[k]) {
        ++cost;
      }
    }
    changes = reduces && !same_kind(row, *inner, operands - 1);
    const int64_t core = size;
    size *= row.dim;
    const int64_t reach = cost > 1 ? std::min(size, kNumpyBuffer) : size;
    const double old_cost = static_cast<double>(best_cost) * static_cast<double>(reach);
    if (static_cast<double>(cost) * static_cast<double>(best.size) <= old_cost) {
      best_cost = cost;
      best.size = size;
      best.core = core;
      best.depth = depth;
      best.reduce_changes = changes;
    }
  }
  return best;
}

}  // namespace ofl::ops
