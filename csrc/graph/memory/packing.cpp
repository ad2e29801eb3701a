#include "graph/memory/packing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "graph/memory/free_blocks.h"

namespace ofl::graph {

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int kMostResults = 16;  // that are looked at for one class

Packing empty_packing(const Lifetimes& lifetimes) {
  Packing packing;
  packing.spaces.assign(lifetimes.count(), kArena);
  packing.offsets.assign(lifetimes.count(), kNoMemory);
  for (const int64_t item : lifetimes.results()) {
    packing.spaces[item] = item;
    packing.offsets[item] = 0;
  }
  return packing;
}

void put(Packing* packing, const Lifetimes& lifetimes, int64_t item, int64_t offset) {
  packing->offsets[item] = offset;
  packing->bytes = std::max(packing->bytes, offset + lifetimes.size(item));
}

/// Memory, and what is in it by offset.
class Space {
 public:
  Space(const Lifetimes& lifetimes, Fit fit, int64_t limit)
      : lifetimes_(lifetimes), fit_(fit), limit_(limit) {}

  /// The offset of a gap that takes the class, or the end of what it conflicts with; -1: there is
  /// no room.
  int64_t find(int64_t item) const {
    const int64_t size = lifetimes_.size(item);
    int64_t end = 0, best = -1, best_gap = kNoLimit;
    for (const Placed& other : placed_) {
      if (!lifetimes_.conflict(item, other.item)) continue;
      const int64_t gap = other.begin - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
        if (fit_ == Fit::lowest) return best;
      }
      end = std::max(end, other.end);
    }
    return best >= 0 || limit_ - end < lifetimes_.bytes(item) ? best : end;
  }

  void put(int64_t item, int64_t offset) {
    const auto place =
        std::upper_bound(placed_.begin(), placed_.end(), offset,
                         [](int64_t begin, const Placed& other) { return begin < other.begin; });
    placed_.insert(place, {offset, offset + lifetimes_.size(item), item});
  }

 private:
  struct Placed {
    int64_t begin, end, item;
  };

  const Lifetimes& lifetimes_;
  Fit fit_;
  int64_t limit_;
  std::vector<Placed> placed_;
};

/// The memory of results, until they begin.
class ResultSpaces {
 public:
  ResultSpaces(const Lifetimes& lifetimes, Fit fit)
      : lifetimes_(lifetimes), results_(lifetimes.results()) {
    std::sort(results_.begin(), results_.end(), [&](int64_t a, int64_t b) {
      return std::make_pair(lifetimes.size(a), a) < std::make_pair(lifetimes.size(b), b);
    });
    for (const int64_t result : results_) {
      spaces_.emplace_back(lifetimes, fit, lifetimes.bytes(result));
    }
  }

  /// Puts the class into the smallest result that has room for it; false: none has.
  bool put(int64_t item, Packing* packing) {
    const auto begin = std::lower_bound(
        results_.begin(), results_.end(), lifetimes_.size(item),
        [&](int64_t result, int64_t size) { return lifetimes_.size(result) < size; });
    const auto end = results_.end() - begin > kMostResults ? begin + kMostResults : results_.end();
    for (auto result = begin; result != end; ++result) {
      const bool later = lifetimes_.first(item) < lifetimes_.first(*result);
      if (!later || !lifetimes_.ends_before(item, *result)) continue;
      Space& space = spaces_[result - results_.begin()];
      const int64_t offset = space.find(item);
      if (offset < 0) continue;
      space.put(item, offset);
      packing->spaces[item] = *result;
      packing->offsets[item] = offset;
      return true;
    }
    return false;
  }

 private:
  const Lifetimes& lifetimes_;
  Integers results_;  // by size
  std::vector<Space> spaces_;
};

/// Free bytes of the arena, joined where they touch.
class FreeBytes {
 public:
  /// The smallest free range that takes the size; else the end of the arena, with what is free
  /// there.
  int64_t take(int64_t size) {
    const auto found = by_size_.lower_bound({size, 0});
    if (found != by_size_.end()) {
      const auto [length, begin] = *found;
      remove(begin, length);
      if (length > size) add(begin + size, length - size);
      return begin;
    }
    int64_t begin = end_;
    if (!by_begin_.empty()) {
      const auto [last, length] = *by_begin_.rbegin();
      if (last + length == end_) {
        begin = last;
        remove(last, length);
      }
    }
    end_ = begin + size;
    return begin;
  }

  void give(int64_t begin, int64_t length) {
    const auto next = by_begin_.lower_bound(begin);
    if (next != by_begin_.end() && next->first == begin + length) {
      const int64_t more = next->second;
      remove(begin + length, more);
      length += more;
    }
    const auto after = by_begin_.lower_bound(begin);
    if (after != by_begin_.begin()) {
      const auto [before, less] = *std::prev(after);
      if (before + less == begin) {
        remove(before, less);
        begin = before;
        length += less;
      }
    }
    add(begin, length);
  }

 private:
  void add(int64_t begin, int64_t length) {
    by_begin_[begin] = length;
    by_size_.emplace(length, begin);
  }
  void remove(int64_t begin, int64_t length) {
    by_begin_.erase(begin);
    by_size_.erase({length, begin});
  }

  int64_t end_ = 0;
  std::map<int64_t, int64_t> by_begin_;            // begin, length
  std::set<std::pair<int64_t, int64_t>> by_size_;  // length, begin
};

/// The temporaries by the operation that begins them, the largest first.
Rows by_beginning(const Lifetimes& lifetimes) {
  Integers items = lifetimes.temporaries();
  const auto place = [&](int64_t item) {
    return std::make_tuple(lifetimes.first(item), -lifetimes.size(item), item);
  };
  std::sort(items.begin(), items.end(), [&](int64_t a, int64_t b) { return place(a) < place(b); });
  Rows rows;
  auto next = items.begin();
  for (int64_t i = 0; i < lifetimes.operations(); ++i) {
    for (; next != items.end() && lifetimes.first(*next) == i; ++next) rows.add(*next);
    rows.end_row();
  }
  return rows;
}

}  // namespace

Packing pack(const Lifetimes& lifetimes, const Integers& order, Fit fit) {
  Packing packing = empty_packing(lifetimes);
  ResultSpaces in_results(lifetimes, fit);
  Space arena(lifetimes, fit, kNoLimit);
  for (const int64_t item : order) {
    if (lifetimes.size(item) == 0) {
      packing.offsets[item] = 0;
    } else if (!in_results.put(item, &packing)) {
      const int64_t offset = arena.find(item);
      arena.put(item, offset);
      put(&packing, lifetimes, item, offset);
    }
  }
  return packing;
}

Packing pack_by_time(const Lifetimes& lifetimes) {
  Packing packing = empty_packing(lifetimes);
  const Rows beginning = by_beginning(lifetimes);
  std::vector<Integers> ending(lifetimes.operations() + 1);  // by when all lanes have released them
  FreeBytes free;
  for (int64_t i = 0; i < lifetimes.operations(); ++i) {
    for (const int64_t item : ending[i]) free.give(packing.offsets[item], lifetimes.size(item));
    for (const int64_t item : beginning[i]) {
      if (lifetimes.size(item) == 0) {
        packing.offsets[item] = 0;
        continue;
      }
      put(&packing, lifetimes, item, free.take(lifetimes.size(item)));
      int64_t end = 0;
      for (int64_t lane = 0; lane < lifetimes.clocks().lanes(); ++lane) {
        end = std::max(end, lifetimes.released(item, lane));
      }
      ending[end].push_back(item);
    }
  }
  return packing;
}

Packing pack_in_blocks(const Lifetimes& lifetimes, int64_t match_range) {
  Packing packing = empty_packing(lifetimes);
  const Rows beginning = by_beginning(lifetimes);
  std::vector<Integers> ending(lifetimes.operations());
  FreeBlocks free(match_range, lifetimes.operations());
  Integers block(lifetimes.count(), -1);
  for (int64_t i = 0; i < lifetimes.operations(); ++i) {
    const int64_t lane = lifetimes.clocks().lane(i);
    free.start(i);
    for (const int64_t item : beginning[i]) {
      block[item] = free.request({0, lane}, lifetimes.size(item));
      ending[lifetimes.last(item)].push_back(item);
    }
    for (const int64_t item : ending[i]) {
      free.release(block[item], {0, lane}, lifetimes.released(item, lane));
    }
  }
  Integers begin{0};
  for (const int64_t size : free.sizes()) begin.push_back(begin.back() + size);
  for (const int64_t item : lifetimes.temporaries()) {
    put(&packing, lifetimes, item, begin[block[item]]);
  }
  packing.bytes = free.bytes();
  return packing;
}

}  // namespace ofl::graph
