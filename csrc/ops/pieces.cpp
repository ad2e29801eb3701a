#include "ops/pieces.h"

namespace ofl::ops {

namespace {

bool same_elements(const LoopArgs& args, int a, int b) {
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

bool reads_what_it_writes(const LoopArgs& args) {
  const int out = args.iteration.operands - 1;
  const Extent written = args.extent(out);
  for (int k = 0; k < out; ++k) {
    const Extent read = args.extent(k);
    const bool apart = args.data[k] + read.high <= args.data[out] + written.low ||
                       args.data[out] + written.high <= args.data[k] + read.low;
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
