// The search for the first of the greatest keys: along one row, and in columns side by side. All of
// it is inlined into callers that are compiled for the vectors of a CPU.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "ops/reduce/arg_reduce_keys.h"

namespace ofl::ops {

/// Elements that are tested together for a new best: most blocks have none.
inline constexpr int64_t kProbe = 1024;
/// Elements whose places are looked at together; their numbers fit into a byte. The last group of a
/// row overlaps the one before it; shorter rows have shorter groups, and the shortest none.
inline constexpr int64_t kGroup = 64, kShortGroup = 16;
/// Outputs that are searched side by side, so that memory is read in its order.
inline constexpr int64_t kColumns = 512;

// The loops below are free of branches and of changes of width, so that they vectorize, unless the
// compiler unrolls the short ones before.

template <typename T>
T load_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename Order>
typename Order::Key greatest_of(const char* from, int64_t n) {
  typename Order::Key most = Order::kLeast;
#pragma GCC unroll 1
  for (int64_t i = 0; i < n; ++i) {
    const typename Order::Key key = Order::load(from + i * Order::kItem);
    most = key > most ? key : most;
  }
  return most;
}

/// Wide elements are compared as they are, in vectors, with their places beside them.
template <typename T>
constexpr bool kIsWide = std::is_arithmetic_v<T> && sizeof(T) >= sizeof(int32_t);

/// The best elements of the lanes of a vector of so many bytes, and their places.
template <typename T, bool Minimum, int bytes>
struct BestLanes {
  using Place = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;
  typedef T V __attribute__((vector_size(bytes)));
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(1), may_alias));
  typedef Place Places __attribute__((vector_size(bytes)));
  static constexpr int kLanes = bytes / sizeof(T);

  V best;
  Places at;

  /// Of later elements, of which equal ones are no better.
  void take(const V& later, const Places& places) {
    const Places wins = Minimum ? later < best : later > best;
    best = wins ? later : best;
    at = wins ? places : at;
  }
  void merge(const BestLanes& other) {
    const Places better = Minimum ? other.best < best : other.best > best;
    const Places wins = better | ((other.best == best) & (other.at < at));
    best = wins ? other.best : best;
    at = wins ? other.at : at;
  }
  void merge_lanes(const Places& lanes) {
    for (Place width = kLanes / 2; width > 0; width /= 2) {
      BestLanes other = *this;
      shuffle(&other.best, lanes ^ width);
      shuffle(&other.at, lanes ^ width);
      merge(other);
    }
  }
  template <typename Lanes>
  static void shuffle(Lanes* lanes, const Places& from) {
#ifdef __clang__
    *lanes = __builtin_shufflevector(*lanes, from);
#else
    *lanes = __builtin_shuffle(*lanes, from);
#endif
  }
};

/// The place of the best of n neighbours, from `count` vectors at a time; -1 where one is NaN.
/// n >= count * kLanes.
template <typename T, bool Minimum, int bytes, int count>
int64_t place_of_best(const char* from, int64_t n) {
  using Lanes = BestLanes<T, Minimum, bytes>;
  using Place = typename Lanes::Place;
  using Places = typename Lanes::Places;
  constexpr Place kStep = count * Lanes::kLanes;
  const auto* vectors = reinterpret_cast<const typename Lanes::Unaligned*>(from);
  Lanes best[count];
  Places nan = {};
#pragma GCC unroll 8
  for (int v = 0; v < count; ++v) {
    best[v] = {vectors[v], Places{}};
    if constexpr (std::is_floating_point_v<T>) nan |= best[v].best != best[v].best;
  }
  const auto last = static_cast<Place>(n - kStep);  // may overlap the one before it
  for (Place start = std::min(kStep, last);; start = std::min<Place>(start + kStep, last)) {
    vectors = reinterpret_cast<const typename Lanes::Unaligned*>(from + start * int64_t{sizeof(T)});
    const Places places = Places{} + start;
#pragma GCC unroll 8
    for (int v = 0; v < count; ++v) {
      const typename Lanes::V later = vectors[v];
      best[v].take(later, places);
      if constexpr (std::is_floating_point_v<T>) nan |= later != later;
    }
    if (start == last) break;
  }
  Places lanes = {};
  for (int lane = 0; lane < Lanes::kLanes; ++lane) lanes[lane] = lane;
#pragma GCC unroll 8
  for (int v = 0; v < count; ++v) best[v].at += lanes + static_cast<Place>(v * Lanes::kLanes);
#pragma GCC unroll 8
  for (int half = count / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < half; ++v) best[v].merge(best[v + half]);
  }
  best[0].merge_lanes(lanes);
  Place any = 0;
  for (int lane = 0; lane < Lanes::kLanes; ++lane) any |= nan[lane];
  return any ? -1 : best[0].at[0];
}

/// The same, of one vector at least.
template <typename T, bool Minimum, int bytes>
int64_t place_of_best(const char* from, int64_t n) {
  return n >= 4 * bytes / int64_t{sizeof(T)} ? place_of_best<T, Minimum, bytes, 4>(from, n)
                                             : place_of_best<T, Minimum, bytes, 1>(from, n);
}

/// Whether one of n neighbours is better than `best`. (Of a plain loop for int32 the compiler makes
/// two times as many instructions.)
template <typename T, bool Minimum, int bytes>
bool any_better(const char* from, int64_t n, T best) {
  using Lanes = BestLanes<T, Minimum, bytes>;
  constexpr int64_t kTogether = 4, kStep = kTogether * Lanes::kLanes;
  const typename Lanes::V bests = typename Lanes::V{} + best;
  typename Lanes::Places better = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const auto* vectors =
        reinterpret_cast<const typename Lanes::Unaligned*>(from + i * int64_t{sizeof(T)});
#pragma GCC unroll 4
    for (int64_t v = 0; v < kTogether; ++v) {
      const typename Lanes::V values = vectors[v];
      better |= Minimum ? values < bests : values > bests;
    }
  }
  typename Lanes::Place any = 0;
  for (int lane = 0; lane < Lanes::kLanes; ++lane) any |= better[lane];
  for (; i < n; ++i) {
    const T value = load_as<T>(from + i * int64_t{sizeof(T)});
    any |= (Minimum ? value < best : value > best) ? 1 : 0;
  }
  return any != 0;
}

/// Of `group` elements at least.
template <typename Order, int64_t group>
auto greatest(const char* from, int64_t n) {
  const int64_t whole = n - n % group;
  const auto most = greatest_of<Order>(from, whole);
  if (whole == n) return most;
  const auto last = greatest_of<Order>(from + (n - group) * Order::kItem, group);
  return last > most ? last : most;
}

/// The first of `group` neighbours that has this key; `group` when none has.
template <typename Order, int64_t group>
int64_t place_in(const char* from, typename Order::Key key) {
  using Place = typename Order::Place;
  Place first = group;
#pragma GCC unroll 1
  for (Place i = 0; i < group; ++i) {
    const Place place = Order::load(from + i * Order::kItem) == key ? i : Place{group};
    first = place < first ? place : first;
  }
  return static_cast<int64_t>(first);
}

/// Whether one of `group` neighbours has this key.
template <typename Order, int64_t group>
bool has_key(const char* from, typename Order::Key key) {
  typename Order::Place any = 0;
  for (int64_t i = 0; i < group; ++i) any |= Order::load(from + i * Order::kItem) == key ? 1 : 0;
  return any != 0;
}

/// The first of n neighbours that has this key; one has. n >= group.
template <typename Order, int64_t group>
int64_t find_first(const char* from, int64_t n, typename Order::Key key) {
  for (int64_t start = 0;; start += group) {
    start = std::min(start, n - group);
    const char* neighbours = from + start * Order::kItem;
    if (n > 2 * group && !has_key<Order, group>(neighbours, key)) continue;
    const int64_t place = place_in<Order, group>(neighbours, key);
    if (place < group) return start + place;
  }
}

/// The first of n neighbours that is true, or that is false; n when none is.
template <bool truth>
int64_t find_bool(const char* from, int64_t n) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = kOnes << 7;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const auto word = load_as<uint64_t>(from + i);
    const uint64_t found = truth ? word : (word - kOnes) & ~word & kHighs;
    if (found) return i + __builtin_ctzll(found) / 8;
  }
  while (i < n && (from[i] != 0) != truth) ++i;
  return i;
}

/// The best element so far of one output, by vectors of so many bytes.
template <typename T, bool Minimum, int bytes>
class Best {
 public:
  using Order = ArgOrder<T, Minimum>;

  /// Before the first element, which has the index given.
  explicit Best(int64_t index) : index_(index) {}

  int64_t index() const { return index_; }
  bool is_final() const { return key_ == Order::kTop; }

  /// Looks at n elements, the first of which has index `first`. Copies of those that lie apart are
  /// put side by side before. One call looks at both kinds: each call is inlined.
  void scan(const char* from, int64_t stride, int64_t n, int64_t first) {
    const bool is_gathered = stride != kItem;
    if (is_gathered && n < kShortGroup) return scan_apart(from, stride, n, first);
    const int64_t step = is_gathered ? kGathered : n;
    T block[kGathered];
    for (int64_t i = 0; i < n && !is_final(); i += step) {
      const int64_t count = std::min(step, n - i);
      const char* elements = from + i * stride;
      if (is_gathered) {
        gather(elements, stride, count, block);
        elements = reinterpret_cast<const char*>(block);
      }
      const int64_t before = index_;
      const bool had_best = best_ != nullptr;
      scan_together(elements, count, first + i);
      const bool is_of_block = is_gathered && (!had_best || index_ != before);
      if (is_of_block) best_ = from + (index_ - first) * stride;
    }
  }

 private:
  using Key = typename Order::Key;
  using Place = typename Order::Place;
  static constexpr int64_t kItem = sizeof(T);
  static constexpr int64_t kGathered = 256;

  /// Of neighbours.
  void scan_together(const char* from, int64_t n, int64_t first) {
    constexpr bool kHasWideKey = std::is_same_v<Key, WideKey>;
    constexpr int64_t kBlock = kHasWideKey ? kShortGroup : kProbe;
    int64_t i = 0;
    if constexpr (std::is_same_v<T, bool>) {  // the first ones usually decide
      if (is_final()) return;
      i = std::min(kGroup, n);
      const int64_t place = find_bool<!Minimum>(from, i);
      if (place < i) return take(Order::kTop, from + place, first + place);
      if (!best_) take(Order::kLeast, from, first);
    }
    for (; i < n && !is_final(); i += kBlock) {
      const char* block = from + i * kItem;
      const int64_t count = std::min(kBlock, n - i);
      if (best_ && !any_wins(block, count)) continue;
      if (kHasWideKey || count < kShortGroup) {
        scan_apart(block, kItem, count, first + i);
      } else if constexpr (!kHasWideKey) {
        scan_block(block, count, first + i);
      }
    }
  }

  static void gather(const char* from, int64_t stride, int64_t n, T* to) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < n; ++k, from += stride) {
      std::memcpy(static_cast<void*>(to + k), from, sizeof(T));
    }
  }

  void scan_apart(const char* from, int64_t stride, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n && !is_final(); ++i, from += stride) {
      const Key key = Order::load(from);
      if (key > key_ || !best_) take(key, from, first + i);
    }
  }

  void scan_block(const char* block, int64_t n, int64_t first) {
    if constexpr (kIsWide<T>) {
      const int64_t place = place_of_best<T, Minimum, bytes>(block, n);
      const bool is_found = std::is_integral_v<T> || place >= 0;  // no NaN
      if (is_found) return scan_apart(block + place * kItem, kItem, 1, first + place);
    }
    if constexpr (!(kIsWide<T> && std::is_integral_v<T>)) {
      n >= kGroup ? scan_groups<kGroup>(block, n, first)
                  : scan_groups<kShortGroup>(block, n, first);
    }
  }

  template <int64_t group>
  void scan_groups(const char* block, int64_t n, int64_t first) {
    const Key most = greatest<Order, group>(block, n);
    if (best_ && !(most > key_)) return;
    const int64_t place = find_first<Order, group>(block, n, most);
    take(most, block + place * kItem, first + place);
  }

  bool any_wins(const char* from, int64_t n) const {
    constexpr Place kAll = static_cast<Place>(~Place{0});
    Place any = 0;
    if constexpr (std::is_floating_point_v<T>) {  // one comparison, that a NaN fails
      const T best = load_as<T>(best_);
      for (int64_t i = 0; i < n; ++i) {
        const T value = load_as<T>(from + i * kItem);
        any |= (Minimum ? value >= best : value <= best) ? Place{0} : kAll;
      }
    } else if constexpr (kIsWide<T>) {
      return any_better<T, Minimum, bytes>(from, n, load_as<T>(best_));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {  // as they are
      const T best = load_as<T>(best_);
      T found = best;
      for (int64_t i = 0; i < n; ++i) {
        const T value = load_as<T>(from + i * kItem);
        found = (Minimum ? value < found : value > found) ? value : found;
      }
      return found != best;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      const auto best_real = load_as<double>(best_);
      const auto best_imag = load_as<double>(best_ + sizeof(double));
      for (int64_t i = 0; i < n; ++i) {
        const auto real = load_as<double>(from + i * kItem);
        const auto imag = load_as<double>(from + i * kItem + sizeof(double));
        // a NaN fails the comparisons
        const Place less = (Minimum ? real > best_real : real < best_real) ? 1 : 0;
        const Place equal = real == best_real ? 1 : 0;
        const Place no_more = (Minimum ? imag >= best_imag : imag <= best_imag) ? 1 : 0;
        const Place number = imag == imag ? 1 : 0;
        any |= ((less | (equal & no_more)) & number) ^ 1;
      }
    } else {
      const Key best = key_;
      for (int64_t i = 0; i < n; ++i) {
        any |= Order::load(from + i * kItem) > best ? Place{1} : Place{0};
      }
    }
    return any != 0;
  }

  void take(Key key, const char* place, int64_t index) {
    key_ = key;
    best_ = place;
    index_ = index;
  }

  Key key_ = Order::kLeast;
  const char* best_ = nullptr;  // where it lies; nullptr before the first element
  int64_t index_;
};

/// The best elements so far of outputs that lie side by side.
template <typename T, bool Minimum>
class BestOfColumns {
 public:
  using Order = ArgOrder<T, Minimum>;
  using Place = typename Order::Place;

  explicit BestOfColumns(int64_t columns) : columns_(columns) {
    std::fill_n(keys_, columns, Order::kLeast);
    std::fill_n(indices_, columns, 0);
  }

  int64_t index(int64_t column) const { return indices_[column]; }

  /// Looks at n elements of each column, the first of which have index `first`.
  void scan(const char* from, int64_t stride, int64_t column_stride, int64_t n, int64_t first) {
    constexpr int64_t kMost = sizeof(Place) == 1 ? 128 : 16384;  // places below kNone
    for (int64_t start = 0; start < n; start += kMost) {
      const auto rows = static_cast<Place>(std::min(kMost, n - start));
      std::fill_n(places_, columns_, kNone);
      for (Place row = 0; row < rows; ++row, from += stride) {
        if (column_stride == sizeof(T)) {
          take_row(from, sizeof(T), row);
        } else {
          take_row(from, column_stride, row);
        }
      }
      for (int64_t c = 0; c < columns_; ++c) {
        const int64_t index = first + start + static_cast<int64_t>(places_[c]);
        indices_[c] = places_[c] == kNone ? indices_[c] : index;
      }
    }
  }

 private:
  static constexpr auto kNone = static_cast<Place>(~Place{0});

  void take_row(const char* from, int64_t column_stride, Place row) {
    for (int64_t c = 0; c < columns_; ++c) {
      const typename Order::Key key = Order::load(from + c * column_stride);
      const bool wins = key > keys_[c];
      keys_[c] = wins ? key : keys_[c];
      places_[c] = wins ? row : places_[c];
    }
  }

  const int64_t columns_;
  typename Order::Key keys_[kColumns];
  Place places_[kColumns];  // of the best among the rows that are looked at
  int64_t indices_[kColumns];
};

}  // namespace ofl::ops
