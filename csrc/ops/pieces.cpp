#include "ops/pieces.h"

namespace ofl::ops {

namespace {

struct Range {
  const char *low, *high;
};

Range range_of(const KernelArgs& args, int operand) {
  Range range{args.data[operand], args.data[operand] + size_of(args.dtype[operand])};
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const Iteration::Row& row = args.iteration.rows[d];
    const int64_t span = (row.dim - 1) * row.strides[operand];
    (span < 0 ? range.low : range.high) += span;
  }
  return range;
}

bool same_elements(const KernelArgs& args, int a, int b) {
  if (args.data[a] != args.data[b] || size_of(args.dtype[a]) != size_of(args.dtype[b])) {
    return false;
  }
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.strides[a] != row.strides[b]) return false;
  }
  return true;
}

}  // namespace

bool reads_what_it_writes(const KernelArgs& args) {
  const int out = args.iteration.operands - 1;
  const Range written = range_of(args, out);
  for (int k = 0; k < out; ++k) {
    const Range read = range_of(args, k);
    const bool apart = read.high <= written.low || written.high <= read.low;
    if (!apart && !same_elements(args, k, out)) return true;
  }
  return false;
}

int row_to_divide(const Iteration& iteration, int end, int threads) {
  int longest = 0;
  for (int d = 0; d < end; ++d) {
    if (iteration.rows[d].dim >= 8 * threads) return d;
    if (iteration.rows[d].dim > iteration.rows[longest].dim) longest = d;
  }
  return longest;
}

}  // namespace ofl::ops
