#include <cstdlib>
#include <utility>

#include "ops/loop_args.h"
#include "ops/loops.h"

namespace ofl::ops {

namespace {

/// True when `outer` belongs inside `inner`: a smaller output stride, then a smaller stride of the
/// first input that tells them apart.
bool steps_less(const Iteration::Row& outer, const Iteration::Row& inner, int operands) {
  for (int i = 0; i < operands; ++i) {
    const int k = i == 0 ? operands - 1 : i - 1;
    const int64_t a = std::abs(outer.strides[k]);
    const int64_t b = std::abs(inner.strides[k]);
    if (a != b) return a < b;
  }
  return false;
}

/// True when stepping `inner` to its end and once more is one step of `outer`.
bool merges(const Iteration::Row& outer, const Iteration::Row& inner, int operands) {
  for (int k = 0; k < operands; ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.dim) return false;
  }
  return true;
}

}  // namespace

/// Steps of 0 do not move; an operand of no elements has no bytes.
Extent LoopArgs::extent(int k) const {
  Extent extent{0, static_cast<int64_t>(size_of(dtype[k]))};
  for (int d = 0; d < iteration.ndim; ++d) {
    const auto& [dim, strides] = iteration.rows[d];
    if (dim == 0 && strides[k] != 0) return {0, 0};
    const int64_t span = (dim - 1) * strides[k];
    (span < 0 ? extent.low : extent.high) += span;
  }
  return extent;
}

void coalesce(Iteration* iteration) {
  Iteration::Row* rows = iteration->rows;
  const int operands = iteration->operands;
  int count = 0;
  for (int d = 0; d < iteration->ndim; ++d) {
    if (rows[d].dim == 0) {
      rows[0] = Iteration::Row{0, {}};
      iteration->ndim = 1;
      return;
    }
    if (rows[d].dim == 1) continue;
    if (count != d) rows[count] = rows[d];
    for (int i = count++; i > 0 && steps_less(rows[i - 1], rows[i], operands); --i) {
      std::swap(rows[i - 1], rows[i]);
    }
  }
  iteration->ndim = count;
  merge_rows(iteration);
}

void merge_rows(Iteration* iteration) {
  if (iteration->ndim == 0) return;
  Iteration::Row* rows = iteration->rows;
  int last = 0;  // the row that the next one may merge into
  for (int d = 1; d < iteration->ndim; ++d) {
    if (merges(rows[last], rows[d], iteration->operands)) {
      const int64_t dim = rows[last].dim;
      rows[last] = rows[d];
      rows[last].dim *= dim;
    } else if (++last != d) {
      rows[last] = rows[d];
    }
  }
  iteration->ndim = last + 1;
}

Scratch& thread_scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

}  // namespace ofl::ops
