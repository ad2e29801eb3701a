#include "graph/planning/crossing.h"

#include <algorithm>
#include <numeric>

#include "graph/order/lanes.h"

namespace ofl::graph {

namespace {

/// A base looks at so many others at most, those that were used last: time stays linear, also
/// where all are in use until the end.
constexpr size_t kMostLookedAt = 256;

struct Lifetime {
  int64_t base;
  int64_t first, last;  // units
};

class Sharing {
 public:
  Sharing(const Lowered& lowered, const std::vector<Unit>& units,
          const std::vector<bool>& may_share)
      : lowered_(lowered), users_of_(lowered.bases.size()) {
    std::vector<bool> begins_written(lowered.bases.size());
    for (size_t u = 0; u < units.size(); ++u) {
      const auto unit = static_cast<int64_t>(u);
      for_each_base(lowered, units[u], [&](int64_t base, bool is_written) {
        Integers& users = users_of_[base];
        if (users.empty() || users.front() == unit) {
          begins_written[base] = begins_written[base] || is_written;
        }
        if (users.empty() || users.back() != unit) users.push_back(unit);
      });
    }
    for (size_t b = 0; b < users_of_.size(); ++b) {
      const Integers& users = users_of_[b];
      if (!may_share[b] || users.empty() || !begins_written[b] || !lowered.bases[b].bytes) continue;
      lifetimes_.push_back({static_cast<int64_t>(b), users.front(), users.back()});
    }
    std::stable_sort(lifetimes_.begin(), lifetimes_.end(),
                     [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
  }

  Integers owners(const UnitOrder& order) {
    Integers owner(users_of_.size());
    std::iota(owner.begin(), owner.end(), int64_t{0});
    compare(order);
    std::vector<bool> is_free(lifetimes_.size(), true);  // no other lifetime follows in its memory
    std::vector<size_t> bytes(users_of_.size());         // of the memory that each base owns
    for (size_t y = 0; y < lifetimes_.size(); ++y) {
      const int64_t base = lifetimes_[y].base;
      const size_t wanted = lowered_.bases[base].bytes;
      int64_t best = -1;
      for (const int64_t x : before_[y]) {
        if (is_free[x] && (best < 0 || fits_better(bytes_in(x, owner, bytes),
                                                   bytes_in(best, owner, bytes), wanted))) {
          best = x;
        }
      }
      if (best >= 0) {
        is_free[best] = false;
        owner[base] = owner[lifetimes_[best].base];
      }
      bytes[owner[base]] = std::max(bytes[owner[base]], wanted);
    }
    return owner;
  }

 private:
  static bool fits_better(size_t one, size_t other, size_t wanted) {
    const bool is_enough = one >= wanted, was_enough = other >= wanted;
    if (is_enough != was_enough) return is_enough;
    return is_enough ? one < other : one > other;
  }
  size_t bytes_in(int64_t x, const Integers& owner, const std::vector<size_t>& bytes) const {
    return bytes[owner[lifetimes_[x].base]];
  }

  /// Finds the lifetimes that are over, for each unit of each lane, when another one begins.
  void compare(const UnitOrder& order) {
    Rows users;
    for (const Lifetime& one : lifetimes_) {
      for (const int64_t unit : users_of_[one.base]) users.add(unit);
      users.end_row();
    }
    std::vector<std::pair<int64_t, int64_t>> pairs, asked;  // (x, unit), (x, y)
    for (size_t y = 0; y < lifetimes_.size(); ++y) {
      const size_t end = y > kMostLookedAt ? y - kMostLookedAt : 0;
      for (size_t x = y; x-- > end;) {
        const bool is_over = lifetimes_[x].last < lifetimes_[y].first;
        if (!is_over || state_of(x) != state_of(y)) continue;
        pairs.emplace_back(static_cast<int64_t>(x), lifetimes_[y].first);
        asked.emplace_back(static_cast<int64_t>(x), static_cast<int64_t>(y));
      }
    }
    const std::vector<bool> answers = reuse_across_lanes(order.stream, order.edges, users, pairs);
    before_.assign(lifetimes_.size(), {});
    for (size_t p = 0; p < asked.size(); ++p) {
      if (answers[p]) before_[asked[p].second].push_back(asked[p].first);
    }
  }
  const vm::DeviceState* state_of(size_t x) const {
    return lowered_.bases[lifetimes_[x].base].state;
  }

  const Lowered& lowered_;
  std::vector<Integers> users_of_;   // of each base: units
  std::vector<Lifetime> lifetimes_;  // by their first units
  std::vector<Integers> before_;     // of each lifetime: those that it may follow in their memory
};

}  // namespace

Integers share_across_lanes(const Lowered& lowered, const std::vector<Unit>& units,
                            const UnitOrder& order, const std::vector<bool>& may_share) {
  return Sharing(lowered, units, may_share).owners(order);
}

}  // namespace ofl::graph
