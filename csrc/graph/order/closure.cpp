#include "graph/order/closure.h"

#include <algorithm>

namespace ofl::graph {

namespace {

constexpr int kWords = 8;
constexpr int64_t kWidth = 64 * kWords;

/// Some of kWidth operations.
struct Set {
  uint64_t words[kWords] = {};

  void add(int64_t place) { words[place / 64] |= uint64_t{1} << place % 64; }
  bool has(int64_t place) const { return words[place / 64] >> place % 64 & 1; }
  void unite(const Set& other) {
    for (int k = 0; k < kWords; ++k) words[k] |= other.words[k];
  }
};

class Closure {
 public:
  Closure(const Rows& predecessors, const Rows& groups)
      : predecessors_(predecessors), groups_(groups), covered_(groups.items()) {}

  Rows run() {
    const Rows asked = groups_by_part();
    for (int64_t part = 0; part < asked.count(); ++part) {
      if (!asked[part].empty()) sweep(part * kWidth, asked[part]);
    }
    Rows found;
    for (int64_t group = 0; group < groups_.count(); ++group) {
      const int64_t begin = groups_.begin(group);
      for (int64_t k = 0; k < groups_[group].size(); ++k) {
        if (!covered_[begin + k]) found.add(groups_[group][k]);
      }
      found.end_row();
    }
    return found;
  }

 private:
  /// The groups with a member in each part of the program. A member that is alone, or the last one,
  /// happens before no other.
  Rows groups_by_part() const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t group = 0; group < groups_.count(); ++group) {
      const Rows::Row members = groups_[group];
      for (int64_t k = 0; k + 1 < members.size(); ++k) {
        const int64_t part = members[k] / kWidth;
        if (k == 0 || part != members[k - 1] / kWidth) pairs.emplace_back(part, group);
      }
    }
    return grouped((predecessors_.count() + kWidth - 1) / kWidth, pairs);
  }

  void sweep(int64_t first, Rows::Row asked) {
    int64_t last = first;
    for (const int64_t group : asked) last = std::max(last, groups_[group].back());
    if (before_.size() < static_cast<size_t>(last - first + 1)) before_.resize(last - first + 1);
    for (int64_t operation = first; operation <= last; ++operation) {
      Set set;
      const Rows::Row row = predecessors_[operation];
      for (const int64_t* p = row.end(); p != row.begin() && p[-1] >= first; --p) {
        set.unite(before_[p[-1] - first]);
        if (p[-1] < first + kWidth) set.add(p[-1] - first);
      }
      before_[operation - first] = set;
    }
    for (const int64_t group : asked) cover(group, first);
  }

  /// Notes the members of the group, within the part, that happen before a later member.
  void cover(int64_t group, int64_t first) {
    const Rows::Row members = groups_[group];
    const int64_t* const begin = std::lower_bound(members.begin(), members.end(), first);
    Set set;
    for (const int64_t* m = begin; m != members.end(); ++m) set.unite(before_[*m - first]);
    for (const int64_t* m = begin; m != members.end() && *m < first + kWidth; ++m) {
      if (set.has(*m - first)) covered_[groups_.begin(group) + (m - members.begin())] = 1;
    }
  }

  const Rows& predecessors_;
  const Rows& groups_;
  std::vector<char> covered_;  // by the place of a member among all items of groups_
  std::vector<Set> before_;    // of each operation from the first of the part on
};

}  // namespace

Rows maximal(const Rows& predecessors, const Rows& groups) {
  return Closure(predecessors, groups).run();
}

}  // namespace ofl::graph
