#include "graph/order/lanes.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace ofl::graph {

namespace {

int64_t checked_lanes(const char* op, const Integers& lanes) {
  if (lanes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorKind::overflow, "[", op, "] ", lanes.size(), " operations are too many");
  }
  int64_t count = 1;
  for (const int64_t lane : lanes) {
    check_index(op, "lane", lane, kMostLanes);
    count = std::max(count, lane + 1);
  }
  return count;
}

Rows operations_of(int64_t lanes, const Integers& lane) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < lane.size(); ++i) pairs.emplace_back(lane[i], i);
  return grouped(lanes, pairs);
}

}  // namespace

LaneClocks::LaneClocks(const char* op, const Integers& lanes, const Edges& edges)
    : lane_(lanes), lanes_(checked_lanes(op, lanes)) {
  check_edges(op, operations(), edges);
  if (lanes_ == 1) return;
  of_lane_ = operations_of(lanes_, lane_);
  clocks_.assign(lane_.size() * lanes_, -1);
  const Rows before = predecessors(operations(), edges);
  Integers previous(lanes_, -1);
  for (int64_t i = 0; i < operations(); ++i) {
    advance(i, before[i], previous[lane_[i]]);
    previous[lane_[i]] = i;
  }
}

// The latest predecessor first: its clock may cover the others. An edge that is covered follows
// from the other edges and the lanes, so no wait could be left out.
void LaneClocks::advance(int64_t operation, const Rows::Row& predecessors, int64_t previous) {
  int32_t* const clock = &clocks_[operation * lanes_];
  if (previous >= 0) std::copy_n(&clocks_[previous * lanes_], lanes_, clock);
  for (const int64_t* p = predecessors.end(); p != predecessors.begin();) {
    const int64_t before = *--p;
    if (clock[lane_[before]] >= before) continue;
    const int32_t* const other = &clocks_[before * lanes_];
    for (int64_t lane = 0; lane < lanes_; ++lane) clock[lane] = std::max(clock[lane], other[lane]);
    waits_.push_back({before, operation});
  }
  clock[lane_[operation]] = static_cast<int32_t>(operation);
}

int64_t LaneClocks::first_after(const Integers& last, int64_t lane) const {
  if (lanes_ == 1) return last[0] + 1;
  const Rows::Row candidates = of_lane_[lane];
  const auto comes_too_early = [&](int64_t operation) {
    if (operation <= last[lane]) return true;
    for (int64_t other = 0; other < lanes_; ++other) {
      if (at(operation, other) < last[other]) return true;
    }
    return false;
  };
  const int64_t* const found =
      std::partition_point(candidates.begin(), candidates.end(), comes_too_early);
  return found == candidates.end() ? operations() : *found;
}

Edges waits(const Integers& lanes, const Edges& edges) {
  return LaneClocks("waits", lanes, edges).waits();
}

std::vector<Start> starts(const Integers& lanes, const Edges& edges, const Integers& devices) {
  const int64_t operations = static_cast<int64_t>(lanes.size());
  check_edges("starts", operations, edges);
  for (const int64_t lane : lanes) {
    check_index("starts", "lane", lane, static_cast<int64_t>(devices.size()));
  }
  for (const int64_t device : devices) {
    if (device >= kHost) continue;
    fail(ErrorKind::value, "[starts] device ", device, ": expected -1 (the host) or more");
  }
  std::vector<Start> found;
  for (const Edge& edge : edges) {
    const int64_t first = lanes[edge.before], second = lanes[edge.after];
    const bool one_device = devices[first] == devices[second] && devices[first] != kHost;
    found.push_back(!one_device       ? Start::synchronize
                    : first == second ? Start::direct
                                      : Start::event);
  }
  return found;
}

std::vector<bool> reuse_across_lanes(const Integers& lanes, const Edges& edges, const Rows& users,
                                     const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  constexpr const char* kOp = "reuse_across_lanes";
  const LaneClocks clocks(kOp, lanes, edges);
  RowsOf<Edge> lasts;  // the last users of each value, one of each lane that it has users in
  Integers last(clocks.lanes(), -1);
  for (int64_t value = 0; value < users.count(); ++value) {
    for (const int64_t user : users[value]) {
      check_index(kOp, "users: operation", user, clocks.operations());
      int64_t& latest = last[clocks.lane(user)];
      latest = std::max(latest, user);
    }
    for (const int64_t user : users[value]) {
      int64_t& latest = last[clocks.lane(user)];
      if (latest >= 0) lasts.add({latest, value});
      latest = -1;
    }
    lasts.end_row();
  }
  std::vector<bool> found;
  for (const auto& [value, writer] : pairs) {
    check_index(kOp, "pairs: value", value, users.count());
    check_index(kOp, "pairs: operation", writer, clocks.operations());
    const auto row = lasts[value];
    found.push_back(std::all_of(row.begin(), row.end(), [&, by = writer](const Edge& user) {
      return clocks.before(user.before, by);
    }));
  }
  return found;
}

}  // namespace ofl::graph
