#include "graph/memory/memory_order.h"

#include <functional>
#include <queue>
#include <utility>

#include "base/error.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "order_by_memory";

/// A list schedule. How much an operation changes what is alive only falls while it waits: it falls
/// when the operation is the last user of a class that is left. So a heap of what was true when it
/// was put there, with a newer entry after each fall, has the smallest on top.
class Ordering {
 public:
  Ordering(int64_t operations, const Integers& sizes, const Rows& users, const Edges& edges,
           std::vector<bool> is_kept)
      : sizes_(sizes),
        users_(users),
        after_(successors(operations, edges)),
        is_kept_(std::move(is_kept)),
        waits_(operations),
        change_(operations),
        is_done_(operations),
        left_(users.count()) {
    for (int64_t i = 0; i < operations; ++i) {
      for (const int64_t next : after_[i]) ++waits_[next];
    }
    find_uses(operations);
  }

  Integers order() {
    const auto count = static_cast<int64_t>(waits_.size());
    for (int64_t i = 0; i < count; ++i) {
      if (waits_[i] == 0) put(i);
    }
    Integers order;
    order.reserve(count);
    while (!ready_.empty()) {
      const auto [change, i] = ready_.top();
      ready_.pop();
      if (is_done_[i] || change != change_[i]) continue;  // a newer entry is true
      order.push_back(i);
      run(i);
    }
    return order;
  }

 private:
  using Ready = std::pair<int64_t, int64_t>;  // bytes, operation

  void find_uses(int64_t operations) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t c = 0; c < users_.count(); ++c) {
      left_[c] = users_[c].size();
      for (const int64_t user : users_[c]) pairs.emplace_back(user, c);
      if (users_[c].empty()) continue;
      change_[users_[c][0]] += sizes_[c];
      if (left_[c] == 1) end(c);
    }
    used_ = grouped(operations, pairs);
  }

  /// One user is left: it ends the life of the class.
  void end(int64_t c) {
    if (is_kept_[c]) return;
    for (const int64_t user : users_[c]) {
      if (is_done_[user]) continue;
      change_[user] -= sizes_[c];
      if (waits_[user] == 0) put(user);
    }
  }

  void put(int64_t i) { ready_.emplace(change_[i], i); }

  void run(int64_t i) {
    is_done_[i] = true;
    for (const int64_t c : used_[i]) {
      if (--left_[c] == 1) end(c);
    }
    for (const int64_t next : after_[i]) {
      if (--waits_[next] == 0) put(next);
    }
  }

  const Integers& sizes_;
  const Rows& users_;
  const Rows after_;
  const std::vector<bool> is_kept_;
  Rows used_;        // the classes that each operation uses
  Integers waits_;   // predecessors of each operation that are left
  Integers change_;  // of the bytes that are alive, by each operation
  std::vector<bool> is_done_;
  Integers left_;  // users of each class that are left
  std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>> ready_;
};

void check(int64_t operations, const Integers& sizes, const Rows& users, const Integers& results,
           const Edges& edges) {
  check_edges(kOp, operations, edges);
  check_length(kOp, "users", users.count(), static_cast<int64_t>(sizes.size()));
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0) fail(ErrorKind::value, "[", kOp, "] negative size ", size);
    if (__builtin_add_overflow(sum, size, &sum)) {
      fail(ErrorKind::overflow, "[", kOp, "] the sizes are too big to be added");
    }
  }
  for (int64_t c = 0; c < users.count(); ++c) {
    for (const int64_t user : users[c]) check_index(kOp, "users: operation", user, operations);
  }
  for (const int64_t result : results) check_index(kOp, "results: class", result, users.count());
}

}  // namespace

Integers order_by_memory(int64_t operations, const Integers& sizes, const Rows& users,
                         const Integers& results, const Edges& edges) {
  check(operations, sizes, users, results, edges);
  std::vector<bool> is_kept(sizes.size());
  for (const int64_t result : results) is_kept[result] = true;
  return Ordering(operations, sizes, users, edges, std::move(is_kept)).order();
}

}  // namespace ofl::graph
