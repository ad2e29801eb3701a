#include "graph/memory/free_blocks.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace ofl::graph {

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

}  // namespace

void FreeBlocks::start(int64_t operation) {
  for (const Released& each : released_[operation]) {
    free_[each.pool].emplace(sizes_[each.block], each.block);
  }
}

int64_t FreeBlocks::request(Pool pool, int64_t size) {
  if (range_ > 0) {
    Free& free = free_[pool];
    const auto as_large = free.lower_bound(size);
    const int64_t largest = size > kMost / range_ ? kMost : size * range_;
    if (as_large != free.end() && as_large->first <= largest) return take(free, as_large, size);
    if (as_large != free.begin()) {
      const auto smaller = std::prev(as_large);
      if (smaller->first >= size / range_) return take(free, smaller, size);
    }
  }
  sizes_.push_back(size);
  return static_cast<int64_t>(sizes_.size()) - 1;
}

int64_t FreeBlocks::take(Free& free, Free::iterator found, int64_t size) {
  const int64_t block = found->second;
  sizes_[block] = std::max(sizes_[block], size);
  free.erase(found);
  return block;
}

void FreeBlocks::release(int64_t block, Pool pool, int64_t from) {
  if (from < static_cast<int64_t>(released_.size())) released_[from].push_back({block, pool});
}

int64_t FreeBlocks::bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0});
}

Integers match_ranges(const char* op, int64_t most, bool search) {
  if (most < 0) fail(ErrorKind::value, "[", op, "] negative match_range ", most);
  if (!search || most == 0) return {most};
  Integers ranges;
  for (int64_t range = 1; range <= most; range *= 2) {
    ranges.push_back(range);
    if (range > kMost / 2) break;
  }
  return ranges;
}

}  // namespace ofl::graph
