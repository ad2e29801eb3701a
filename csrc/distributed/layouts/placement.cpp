#include "distributed/layouts/placement.h"

#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/error.h"
#include "base/fingerprint.h"

namespace ofl::distributed {

namespace {

bool are_consecutive(const std::vector<int32_t>& ranks) {
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] != ranks[0] + static_cast<int32_t>(i)) return false;
  }
  return true;
}

void check(const Dims& grid, const std::vector<int32_t>& ranks) {
  if (ranks.empty()) fail(ErrorKind::value, "[placement] expected ranks, got none");
  int64_t places = 1;
  for (const int64_t extent : grid) places *= extent;
  if (grid.empty() || places != static_cast<int64_t>(ranks.size())) {
    fail(ErrorKind::value, "[placement] a grid of ", shape_str(grid), " has ", places,
         " places, got ", ranks.size(), " ranks");
  }
  std::unordered_set<int32_t> seen;
  for (const int32_t rank : ranks) {
    if (rank < 0) fail(ErrorKind::value, "[placement] rank ", rank, " is negative");
    if (!seen.insert(rank).second) {
      fail(ErrorKind::value, "[placement] rank ", rank, " comes twice");
    }
  }
}

/// All that there are, by hash.
struct Known {
  std::mutex mutex;  // guards the map; entries stay
  std::multimap<uint64_t, std::unique_ptr<Placement>> placements;
};

Known& known() {
  static Known* all = new Known;
  return *all;
}

void append(const Dims& grid, int axis, const std::vector<int32_t>& ranks, size_t* next,
            std::string* text) {
  *text += "[";
  for (int64_t i = 0; i < grid[axis]; ++i) {
    if (i > 0) *text += ", ";
    if (axis + 1 < grid.size()) {
      append(grid, axis + 1, ranks, next, text);
    } else {
      *text += std::to_string(ranks[(*next)++]);
    }
  }
  *text += "]";
}

}  // namespace

Placement::Placement(DeviceType type, const Dims& grid, std::vector<int32_t> ranks, uint64_t hash)
    : type_(type), grid_(grid), ranks_(std::move(ranks)), hash_(hash) {
  if (are_consecutive(ranks_)) return;
  for (size_t i = 0; i < ranks_.size(); ++i) ids_[ranks_[i]] = static_cast<int64_t>(i);
}

const Placement& Placement::of(DeviceType type, const Dims& grid, std::vector<int32_t> ranks) {
  check(grid, ranks);
  Fingerprint fingerprint;
  // The name, as the number of a type is that of its registration.
  for (const char* c = device_type_names[static_cast<int>(type)]; c && *c; ++c) {
    fingerprint.add(static_cast<uint64_t>(*c));
  }
  fingerprint.add_all(grid);
  fingerprint.add_all(ranks);
  const uint64_t hash = fingerprint.value();
  std::lock_guard<std::mutex> lock(known().mutex);
  const auto [first, last] = known().placements.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const Placement& one = *entry->second;
    if (one.type_ == type && one.grid_ == grid && one.ranks_ == ranks) return one;
  }
  std::unique_ptr<Placement> made(new Placement(type, grid, std::move(ranks), hash));
  return *known().placements.emplace(hash, std::move(made))->second;
}

int64_t Placement::parallel_id(int32_t rank) const {
  if (ids_.empty()) {
    const int64_t id = int64_t{rank} - ranks_[0];
    return id >= 0 && id < size() ? id : -1;
  }
  const auto found = ids_.find(rank);
  return found == ids_.end() ? -1 : found->second;
}

Dims Placement::coordinates(int64_t parallel_id) const {
  Dims coordinates(grid_.size());
  for (int axis = grid_.size() - 1; axis >= 0; --axis) {
    coordinates[axis] = parallel_id % grid_[axis];
    parallel_id /= grid_[axis];
  }
  return coordinates;
}

const Placement& Placement::along(const SmallVector<int, 4>& axes, int32_t rank) const {
  Dims at = coordinates(parallel_id(rank)), grid;
  for (const int axis : axes) grid.push_back(grid_[axis]);
  if (axes.empty()) grid.push_back(1);
  std::vector<int32_t> ranks;
  for (int64_t place = 0; place < element_count(grid); ++place) {
    int64_t left = place, id = 0;
    for (int k = axes.size() - 1; k >= 0; --k) {
      at[axes[k]] = left % grid[k];
      left /= grid[k];
    }
    for (int axis = 0; axis < grid_.size(); ++axis) id = id * grid_[axis] + at[axis];
    ranks.push_back(rank_at(id));
  }
  return of(type_, grid, std::move(ranks));
}

std::string Placement::str() const {
  std::string text = concat(device_type_names[static_cast<int>(type_)], " ");
  if (ids_.empty() && grid_.size() == 1 && size() > 8) {
    return text + concat("[", ranks_.front(), "..", ranks_.back(), "]");
  }
  size_t next = 0;
  append(grid_, 0, ranks_, &next, &text);
  return text;
}

}  // namespace ofl::distributed
