// Lanes: operations of one lane run one after the other, in the order of the program. So an
// operation runs after another one because of edges and because of lanes, and a clock tells it:
//
//   lane 0   a ──────► c ──────► d        clock of d: lane 0 up to d, lane 1 up to b
//            └──┐      ▲
//   lane 1      └► b ──┘                  one wait for a (of b), one for b (of c)
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

inline constexpr int64_t kMostLanes = 256;

/// What has run when an operation starts, by a clock for each lane. Memory: 4 bytes for each lane
/// and operation; none for one lane.
class LaneClocks {
 public:
  /// The lane of each operation. Error of "[op] ..." for lanes and edges that cannot be.
  LaneClocks(const char* op, const Integers& lanes, const Edges& edges);

  int64_t operations() const { return static_cast<int64_t>(lane_.size()); }
  int64_t lanes() const { return lanes_; }
  int64_t lane(int64_t operation) const { return lane_[operation]; }
  /// The last operation of `lane` that runs before `operation`, or is it; -1: none.
  int64_t at(int64_t operation, int64_t lane) const {
    return lanes_ == 1 ? operation : clocks_[operation * lanes_ + lane];
  }
  bool before(int64_t first, int64_t second) const {
    return first < second && at(second, lane_[first]) >= first;
  }
  /// The first operation of `lane` that runs after these, one of each lane or -1; operations():
  /// none.
  int64_t first_after(const Integers& last, int64_t lane) const;

  /// The waits between lanes: (the operation that is waited for, the one that waits). Each is
  /// needed, and they order what the edges order.
  const Edges& waits() const { return waits_; }

 private:
  void advance(int64_t operation, const Rows::Row& predecessors, int64_t previous);

  Integers lane_;
  int64_t lanes_ = 1;
  Rows of_lane_;
  std::vector<int32_t> clocks_;  // [operation][lane]
  Edges waits_;
};

/// LaneClocks::waits(), sorted by the operation that waits, and by the latest that it waits for.
Edges waits(const Integers& lanes, const Edges& edges);

/// How an operation starts after another one.
enum class Start : uint8_t {
  direct,       // in the same queue of a device, once the other one is in it
  event,        // in another queue of the same device, which waits for an event
  synchronize,  // once the host knows that the other one is done
};

inline constexpr const char* kStartNames[] = {"direct", "event", "synchronize"};

inline constexpr int64_t kHost = -1;  // in the place of a device: the lane is no queue of a device

/// The start that each edge needs; `devices` has the device of each lane, or kHost.
std::vector<Start> starts(const Integers& lanes, const Edges& edges, const Integers& devices);

/// Of each pair (a value, an operation): every user of the value runs before the operation, by
/// edges and by the order of lanes. Then the operation may write over the value's bytes.
std::vector<bool> reuse_across_lanes(const Integers& lanes, const Edges& edges, const Rows& users,
                                     const std::vector<std::pair<int64_t, int64_t>>& pairs);

}  // namespace ofl::graph
