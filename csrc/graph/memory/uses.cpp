#include "graph/memory/uses.h"

#include <algorithm>

namespace ofl::graph {

Uses::Uses(const Accesses& accesses, const Integers& classes, const LaneClocks& clocks)
    : operations_(clocks.operations()), first_(classes.size(), operations_) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < accesses.count(); ++i) {
    for (const Accessed& accessed : accesses[i]) {
      if (accessed.how == Access::shape) continue;
      const int64_t memory = classes[accessed.value];
      first_[memory] = std::min(first_[memory], i);
      pairs.emplace_back(memory, clocks.lane(i) * operations_ + i);
    }
  }
  keys_ = grouped(static_cast<int64_t>(classes.size()), pairs);
}

int64_t Uses::last_before(int64_t memory, int64_t lane, int64_t operation) const {
  const Rows::Row keys = keys_[memory];
  const int64_t begin = lane * operations_;
  const int64_t* found = std::lower_bound(keys.begin(), keys.end(), begin + operation);
  if (found == keys.begin() || found[-1] < begin) return -1;
  return found[-1] - begin;
}

}  // namespace ofl::graph
