#include "graph/order/order.h"

#include <functional>
#include <queue>

#include "base/error.h"
#include "graph/order/closure.h"

namespace ofl::graph {

namespace {

/// An operation of a cycle: every operation that waits has a predecessor that waits.
int64_t in_cycle(const Rows& predecessors, const Integers& waits) {
  int64_t at = 0;
  while (!waits[at]) ++at;
  for (int64_t step = 0; step < predecessors.count(); ++step) {
    for (const int64_t before : predecessors[at]) {
      if (!waits[before]) continue;
      at = before;
      break;
    }
  }
  return at;
}

}  // namespace

Successors successors_by_thread(const Integers& hosts, const Edges& edges) {
  const int64_t operations = static_cast<int64_t>(hosts.size());
  check_edges("successors_by_thread", operations, edges);
  const Rows all = successors(operations, edges);
  Successors found;
  for (int64_t i = 0; i < operations; ++i) {
    for (const int64_t next : all[i]) {
      const bool alike = (hosts[i] != 0) == (hosts[next] != 0);
      (alike ? found.kept : found.given).add(next);
    }
    found.kept.end_row();
    found.given.end_row();
  }
  return found;
}

Rows last_users(int64_t operations, const Edges& edges, const Rows& users) {
  check_edges("last_users", operations, edges);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t value = 0; value < users.count(); ++value) {
    for (const int64_t user : users[value]) {
      check_index("last_users", "users: operation", user, operations);
      pairs.emplace_back(value, user);
    }
  }
  return maximal(predecessors(operations, edges), grouped(users.count(), pairs));
}

Integers order_by_priority(const Integers& priorities, const Edges& edges) {
  const int64_t operations = static_cast<int64_t>(priorities.size());
  for (const Edge& edge : edges) {
    check_index("order_by_priority", "edges: operation", edge.before, operations);
    check_index("order_by_priority", "edges: operation", edge.after, operations);
  }
  const Rows before = predecessors(operations, edges), after = successors(operations, edges);
  using Ready = std::pair<int64_t, int64_t>;  // priority, operation
  std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>> ready;
  Integers waits(operations), order;
  for (int64_t i = 0; i < operations; ++i) {
    waits[i] = before[i].size();
    if (!waits[i]) ready.emplace(priorities[i], i);
  }
  while (!ready.empty()) {
    const int64_t next = ready.top().second;
    ready.pop();
    order.push_back(next);
    for (const int64_t i : after[next]) {
      if (--waits[i] == 0) ready.emplace(priorities[i], i);
    }
  }
  if (static_cast<int64_t>(order.size()) < operations) {
    fail(ErrorKind::value, "[order_by_priority] the edges make a cycle through operation ",
         in_cycle(before, waits));
  }
  return order;
}

}  // namespace ofl::graph
