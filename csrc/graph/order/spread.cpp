#include "graph/order/spread.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "spread";

void check(const Integers& costs, const Integers& devices, const Edges& edges, int64_t most,
           int64_t wait) {
  const auto operations = static_cast<int64_t>(costs.size());
  check_length(kOp, "devices", static_cast<int64_t>(devices.size()), operations);
  check_edges(kOp, operations, edges);
  if (most < 1 || most > kMostLanes) {
    fail(ErrorKind::value, "[", kOp, "] most ", most, ": expected 1 to ", kMostLanes);
  }
  if (wait < 0) fail(ErrorKind::value, "[", kOp, "] wait ", wait, ": expected at least 0");
  int64_t sum = 0;
  for (const int64_t cost : costs) {
    if (cost < 0) fail(ErrorKind::value, "[", kOp, "] cost ", cost, ": expected at least 0");
    if (__builtin_add_overflow(sum, cost, &sum) || __builtin_add_overflow(sum, wait, &sum)) {
      fail(ErrorKind::overflow, "[", kOp, "] the costs are too large to be added");
    }
  }
  for (const int64_t device : devices) {
    if (device < kNoLane) {
      fail(ErrorKind::value, "[", kOp, "] device ", device, ": expected -1 (no lanes) or more");
    }
  }
}

class Spreading {
 public:
  Spreading(const Integers& costs, const Integers& devices, int64_t most, int64_t wait)
      : costs_(costs),
        devices_(devices),
        most_(most),
        wait_(wait),
        lane_(costs.size(), kNoLane),
        end_(costs.size()) {
    for (const int64_t device : devices) known_.push_back(device);
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    free_.assign(known_.size() * most, 0);
  }

  Integers lanes(const Edges& edges) {
    const Rows before = predecessors(static_cast<int64_t>(costs_.size()), edges);
    for (size_t i = 0; i < costs_.size(); ++i) {
      place(static_cast<int64_t>(i), before[static_cast<int64_t>(i)]);
    }
    return std::move(lane_);
  }

 private:
  /// When what the operation needs is over, seen from a lane of its device.
  int64_t ready(int64_t operation, const Rows::Row& before, int64_t lane) const {
    int64_t time = lane > 0 ? wait_ : 0;
    for (const int64_t other : before) {
      const bool is_here = devices_[other] == devices_[operation] && lane_[other] == lane;
      time = std::max(time, end_[other] + (is_here ? 0 : wait_));
    }
    return time;
  }

  void place(int64_t operation, const Rows::Row& before) {
    if (devices_[operation] == kNoLane) {
      end_[operation] = ready(operation, before, kNoLane) + costs_[operation];
      return;
    }
    const auto device = std::lower_bound(known_.begin(), known_.end(), devices_[operation]);
    int64_t* const free = &free_[(device - known_.begin()) * most_];
    const int64_t kept = lane_of_latest(operation, before);
    int64_t best = -1, least = std::numeric_limits<int64_t>::max();
    const auto look_at = [&](int64_t lane) {
      const int64_t start = std::max(free[lane], ready(operation, before, lane));
      if (start >= least) return;
      best = lane;
      least = start;
    };
    if (kept != kNoLane) look_at(kept);
    for (int64_t lane = 0; lane < most_; ++lane) look_at(lane);
    lane_[operation] = best;
    free[best] = end_[operation] = least + costs_[operation];
  }

  int64_t lane_of_latest(int64_t operation, const Rows::Row& before) const {
    int64_t lane = kNoLane, end = -1;
    for (const int64_t other : before) {
      if (devices_[other] != devices_[operation] || end_[other] <= end) continue;
      lane = lane_[other];
      end = end_[other];
    }
    return lane;
  }

  const Integers& costs_;
  const Integers& devices_;
  const int64_t most_, wait_;
  Integers lane_, end_;  // of each operation
  Integers known_;       // the devices
  Integers free_;        // of each device and lane: when it has done what is placed there
};

}  // namespace

Integers spread(const Integers& costs, const Integers& devices, const Edges& edges, int64_t most,
                int64_t wait) {
  check(costs, devices, edges, most, wait);
  return Spreading(costs, devices, most, wait).lanes(edges);
}

}  // namespace ofl::graph
