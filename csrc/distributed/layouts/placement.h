// Placement: a grid of ranks, and the type of the devices that they compute on.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/device.h"
#include "base/shape.h"

namespace ofl::distributed {

/// There is one object of each value, so equal ones have one address.
class Placement {
 public:
  /// The one of these ranks, which are row-major in the grid. Error(value) for a grid of no rank or
  /// of another number of ranks, and for ranks that are negative or come twice.
  static const Placement& of(DeviceType type, const Dims& grid, std::vector<int32_t> ranks);
  Placement(const Placement&) = delete;

  DeviceType type() const { return type_; }
  const Dims& grid() const { return grid_; }
  int64_t size() const { return static_cast<int64_t>(ranks_.size()); }
  int32_t rank_at(int64_t parallel_id) const { return ranks_[parallel_id]; }
  /// The place of a rank in the grid, counted row-major; -1: it is not there.
  int64_t parallel_id(int32_t rank) const;
  Dims coordinates(int64_t parallel_id) const;
  /// The grid of the ranks that differ from one of them along these axes only, which ascend. Along
  /// no axis: that rank.
  const Placement& along(const SmallVector<int, 4>& axes, int32_t rank) const;

  /// Of its value: the same in each process.
  uint64_t hash() const { return hash_; }
  /// "cpu [[0, 1], [2, 3]]"; "cuda [0..4095]" where ranks are consecutive.
  std::string str() const;

 private:
  Placement(DeviceType type, const Dims& grid, std::vector<int32_t> ranks, uint64_t hash);

  const DeviceType type_;
  const Dims grid_;
  const std::vector<int32_t> ranks_;
  const uint64_t hash_;
  std::unordered_map<int32_t, int64_t> ids_;  // by rank; empty where ranks are consecutive
};

}  // namespace ofl::distributed
