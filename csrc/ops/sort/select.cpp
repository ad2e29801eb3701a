// Selection by splitting, with pivots from samples. They are a little beyond the wanted places, so
// that two passes leave few elements. Source: Floyd and Rivest, "Expected time bounds for
// selection" (1975).
#include "ops/sort/select.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/sort/split_vectors.h"

namespace ofl::ops {

namespace {

/// So few elements are sorted: NumPy's sorts of numbers are fast.
template <typename T>
constexpr int64_t kFew = kIsComplex<T> ? 24 : 96;
constexpr int64_t kMostSamples = 1024;
/// After so many splits, chance does not help: the rest is sorted.
constexpr int kMostSplits = 64;

/// Moves the elements up to the bound to the front, and returns how many there are. They come from
/// `from`, which is `data` or elsewhere.
template <typename T>
using SplitFn = int64_t (*)(const T* from, T* data, int64_t n, T bound);

/// Complex numbers as a whole: what was written in halves would be slow to read.
template <typename T>
void exchange(T* a, T* b) {
  if constexpr (sizeof(T) == sizeof(uint64_t)) {
    uint64_t one, other;
    std::memcpy(&one, a, sizeof(T));
    std::memcpy(&other, b, sizeof(T));
    std::memcpy(static_cast<void*>(a), &other, sizeof(T));
    std::memcpy(static_cast<void*>(b), &one, sizeof(T));
  } else {
    std::swap(*a, *b);
  }
}

/// Without branches: each element changes its place with the first one that does not belong.
template <typename T, typename Belongs>
int64_t split_one_by_one(T* data, int64_t n, const Belongs& belongs) {
  int64_t front = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_front = belongs(data[i]);
    exchange(data + i, data + front);
    front += is_front;
  }
  return front;
}

template <typename T>
int64_t split_elements(const T* from, T* data, int64_t n, T bound) {
  if (from != data) std::copy_n(from, n, data);
  return split_one_by_one(data, n, [&](T x) { return !before(bound, x); });
}

/// The number of the last of n elements in their order, n > 0.
template <typename T>
using LastFn = int64_t (*)(const T* data, int64_t n);

template <typename T>
int64_t find_last(const T* data, int64_t n) {
  if constexpr (kIsComplex<T>) {
    return std::max_element(data, data + n, before<T>) - data;
  } else {
    constexpr int kLanes = 256 / sizeof(T);
    T most[kLanes];
    std::fill_n(most, kLanes, data[0]);
    bool nan = false;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      unsigned different = 0;
      for (int k = 0; k < kLanes; ++k) {
        const T x = data[i + k];
        most[k] = most[k] < x ? x : most[k];
        different |= x != x;
      }
      nan |= different != 0;
    }
    for (; i < n; ++i) {
      most[0] = most[0] < data[i] ? data[i] : most[0];
      nan |= is_nan(data[i]);
    }
    if (nan) return std::find_if(data, data + n, is_nan<T>) - data;
    return std::find(data, data + n, *std::max_element(most, most + kLanes)) - data;
  }
}

#ifdef OFL_X86_VECTORS

/// The places that are still to be written: those of [left, right).
template <typename T>
struct Gap {
  T* left;
  T* right;
};

template <typename Vector, typename T>
inline void put_vector(const typename Vector::Type& v, T bound, Gap<T>* gap) {
  const unsigned mask = Vector::up_to(v, bound);
  Vector::put(v, mask, gap->left, gap->right);
  const int below = __builtin_popcount(mask);
  gap->left += below;
  gap->right -= Vector::kLanes - below;
}

/// Writes n elements to a gap of n places.
template <typename Vector, typename T>
inline void put_elements(const T* from, int64_t n, T bound, Gap<T>* gap) {
  int64_t i = 0;
  for (; n - i >= Vector::kRoom; i += Vector::kLanes) {
    typename Vector::Type v;
    Vector::read(from + i, &v);
    put_vector<Vector>(v, bound, gap);
  }
  for (; i < n; ++i) {
    const bool below = from[i] <= bound;
    *gap->left = gap->right[-1] = from[i];
    gap->left += below;
    gap->right -= !below;
  }
}

/// Splits in place: a block of each end is kept aside, then blocks are read at the end that has
/// less room.
template <typename Vector, typename T>
inline int64_t split_in_place(T* data, int64_t n, T bound) {
  constexpr int kVectors = 8;
  constexpr int64_t kBlock = kVectors * Vector::kLanes;
  if (n < 2 * kBlock) {
    T all[2 * kBlock];
    std::memcpy(all, data, static_cast<size_t>(n) * sizeof(T));
    Gap<T> gap{data, data + n};
    put_elements<Vector>(all, n, bound, &gap);
    return gap.left - data;
  }
  T aside[3 * kBlock];
  std::memcpy(aside, data, kBlock * sizeof(T));
  std::memcpy(aside + kBlock, data + n - kBlock, kBlock * sizeof(T));
  const T *first = data + kBlock, *last = data + n - kBlock;  // not read yet
  Gap<T> gap{data, data + n};
  while (last - first >= kBlock) {
    const bool at_left = first - gap.left <= gap.right - last;
    last -= at_left ? 0 : kBlock;
    const T* const block = at_left ? first : last;
    first += at_left ? kBlock : 0;
    typename Vector::Type vectors[kVectors];  // all are read before their places are written
    for (int k = 0; k < kVectors; ++k) Vector::read(block + k * Vector::kLanes, &vectors[k]);
    for (int k = 0; k < kVectors; ++k) put_vector<Vector>(vectors[k], bound, &gap);
  }
  const int64_t left = last - first;
  std::memcpy(aside + 2 * kBlock, first, static_cast<size_t>(left) * sizeof(T));
  put_elements<Vector>(aside, 2 * kBlock + left, bound, &gap);
  return gap.left - data;
}

template <typename Vector, typename T>
inline int64_t split_vectors(const T* from, T* data, int64_t n, T bound) {
  if (from == data) return split_in_place<Vector>(data, n, bound);
  Gap<T> gap{data, data + n};
  put_elements<Vector>(from, n, bound, &gap);
  return gap.left - data;
}

template <typename T>
OFL_AVX2 OFL_FLAT int64_t split_256(const T* from, T* data, int64_t n, T bound) {
  return split_vectors<Vector256<T>>(from, data, n, bound);
}
template <typename T>
OFL_AVX512 OFL_FLAT int64_t split_512(const T* from, T* data, int64_t n, T bound) {
  return split_vectors<Vector512<T>>(from, data, n, bound);
}

template <typename T>
OFL_AVX2 OFL_FLAT int64_t find_last_256(const T* data, int64_t n) {
  return find_last(data, n);
}
template <typename T>
OFL_AVX512 OFL_FLAT int64_t find_last_512(const T* data, int64_t n) {
  return find_last(data, n);
}

#endif

/// The loops over many elements, for the instruction set of this processor.
template <typename T>
struct Passes {
  SplitFn<T> split = split_elements<T>;
  LastFn<T> last = find_last<T>;

  Passes() {
#ifdef OFL_X86_VECTORS
    if constexpr (!kIsComplex<T>) {
      split = choose_by_isa("partition", split, split_256<T>, split_512<T>);
      last = choose_by_isa("partition", last, find_last_256<T>, find_last_512<T>);
    }
#endif
  }
};

template <typename T>
const Passes<T>& passes() {
  static const Passes<T> chosen;
  return chosen;
}

template <typename T>
class Selection {
 public:
  Selection(const T* from, T* data, const Loop& sort)
      : from_(from), data_(data), sort_(sort), passes_(passes<T>()) {}

  /// Of the elements from `low` to before `high`, which are where sorted ones would be.
  void select(int64_t low, int64_t high, const int64_t* places, const int64_t* end);

 private:
  void sort(T* first, int64_t n) const;

  /// They are all in `data` from now on.
  void bring(int64_t low, int64_t high) {
    if (from_ != data_) std::copy(from_ + low, from_ + high, data_ + low);
    from_ = data_;
  }

  void draw_samples(int64_t low, int64_t n);
  T pivot_for(int64_t low, int64_t high, const int64_t* places, const int64_t* end,
              bool* with_equals) const;
  int64_t split(int64_t low, int64_t high, T pivot, bool with_equals);
  int64_t split_at(int64_t low, int64_t high, T bound) {
    const T* const from = from_ + low;
    from_ = data_;
    return low + passes_.split(from, data_ + low, high - low, bound);
  }
  /// The last of the elements in their order comes to the end.
  void put_last(int64_t low, int64_t high) {
    std::swap(data_[high - 1], data_[low + passes_.last(data_ + low, high - low)]);
  }

  const T* from_;
  T* const data_;
  const Loop& sort_;
  const Passes<T>& passes_;
  std::vector<T> samples_;
  uint32_t random_ = 1;
};

/// The bits of floats as integers in their order; the same again gives the bits.
template <typename T>
void exchange_order(T* first, T* end) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr int sign = sizeof(T) * 8 - 1;
  constexpr Bits most = std::numeric_limits<Bits>::max();
  for (; first != end; ++first) {
    const Bits bits = bit_cast<Bits>(*first);
    *first = bit_cast<T>(static_cast<Bits>(bits ^ ((bits >> sign) & most)));
  }
}

/// NumPy's sorts of floats forget the signs of zeros and what NaN hold, those of integers nothing.
template <typename T>
void Selection<T>::sort(T* first, int64_t n) const {
  if (!sort_.function) {
    return std::sort(first, first + n, [](T a, T b) { return before(a, b); });
  }
  T* end = first + n;
  if constexpr (std::is_floating_point_v<T>) {
    end = std::partition(first, end, [](T x) { return !is_nan(x); });
    exchange_order(first, end);
  }
  char* data = reinterpret_cast<char*>(first);
  const intptr_t count = end - first;
  sort_.function(&data, &count, nullptr, sort_.data);
  if constexpr (std::is_floating_point_v<T>) exchange_order(first, end);
}

template <typename T>
void Selection<T>::draw_samples(int64_t low, int64_t n) {
  int64_t count = n > (1 << 18) ? kMostSamples : n > (1 << 14) ? kMostSamples / 4 : 64;
  if (kIsComplex<T>) count = std::min(count, n > (1 << 14) ? count : n / 64 + 8);
  const auto step = static_cast<uint64_t>(n / count);
  samples_.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    random_ = random_ * 1664525u + 1013904223u;
    const uint64_t offset = (uint64_t{random_} * std::min<uint64_t>(step, 0xffffffff)) >> 32;
    samples_[i] = from_[low + i * static_cast<int64_t>(step) + static_cast<int64_t>(offset)];
  }
  sort(samples_.data(), count);
}

/// Beyond the places, so that the larger end goes; of places that are far apart, between them.
template <typename T>
T Selection<T>::pivot_for(int64_t low, int64_t high, const int64_t* places, const int64_t* end,
                          bool* with_equals) const {
  const auto samples = static_cast<int64_t>(samples_.size());
  const double scale = static_cast<double>(samples) / static_cast<double>(high - low);
  const auto rank = [&](int64_t place) {
    return static_cast<int64_t>(static_cast<double>(place - low) * scale);
  };
  const int64_t first = places[0], last = end[-1];
  *with_equals = true;
  if (last - first > (high - low) / 2) {
    int64_t widest = 0;
    for (int64_t i = 1; i + 1 < end - places; ++i) {
      if (places[i + 1] - places[i] > places[widest + 1] - places[widest]) widest = i;
    }
    return samples_[rank(places[widest] + (places[widest + 1] - places[widest]) / 2)];
  }
  const auto margin = static_cast<int64_t>(std::sqrt(static_cast<double>(samples)));
  const int64_t above = rank(last) + margin, below = rank(first) - margin;
  *with_equals = below < 0 || (above < samples && high - last > first - low);
  return samples_[*with_equals ? std::min(above, samples - 1) : below];
}

/// Splits at a pivot: elements up to it, or before it, come first. Returns where the others start.
template <typename T>
int64_t Selection<T>::split(int64_t low, int64_t high, T pivot, bool with_equals) {
  if constexpr (kIsComplex<T>) {
    if (with_equals) return split_at(low, high, pivot);
    bring(low, high);
    return low + split_one_by_one(data_ + low, high - low, [&](T x) { return before(x, pivot); });
  } else if constexpr (std::is_floating_point_v<T>) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    if (is_nan(pivot)) return with_equals ? high : split_at(low, high, infinity);
    if (with_equals) return split_at(low, high, pivot);
    return pivot == -infinity ? low : split_at(low, high, std::nextafter(pivot, -infinity));
  } else {
    if (with_equals) return split_at(low, high, pivot);
    if (pivot == std::numeric_limits<T>::min()) return low;
    return split_at(low, high, static_cast<T>(pivot - 1));
  }
}

template <typename T>
void Selection<T>::select(int64_t low, int64_t high, const int64_t* places, const int64_t* end) {
  int splits = 0;
  while (places != end) {
    const int64_t n = high - low;
    if (n <= kFew<T> || splits > kMostSplits) {
      bring(low, high);
      return sort(data_ + low, n);
    }
    if (end[-1] == high - 1) {
      if (--end != places) select(low, high, places, end);
      bring(low, high);
      return put_last(places == end ? low : end[-1] + 1, high);
    }
    draw_samples(low, n);
    bool with_equals;
    const T pivot = pivot_for(low, high, places, end, &with_equals);
    int64_t middle = split(low, high, pivot, with_equals);
    ++splits;
    bool left_done = false, right_done = false;
    if (middle == low || middle == high) {  // the pivot is the first or the last of all
      middle = split(low, high, pivot, !with_equals);
      (with_equals ? right_done : left_done) = true;
    }
    const int64_t* const right = std::lower_bound(places, end, middle);
    if (right_done) end = right;
    if (left_done) places = right;
    if (places == right || left_done) {
      low = middle;
    } else if (right == end || right_done) {
      high = middle;
    } else {
      select(low, middle, places, right);
      places = right;
      low = middle;
    }
  }
}

}  // namespace

template <typename T>
void select_places(const T* from, T* data, int64_t n, const int64_t* places, int64_t count,
                   const Loop& sort) {
  if (count == 0) {
    if (from != data) std::copy_n(from, n, data);
    return;
  }
  Selection<T>(from, data, sort).select(0, n, places, places + count);
}

#define OFL_SELECT(T) \
  template void select_places<T>(const T*, T*, int64_t, const int64_t*, int64_t, const Loop&)
OFL_SELECT(int16_t);
OFL_SELECT(uint16_t);
OFL_SELECT(int32_t);
OFL_SELECT(uint32_t);
OFL_SELECT(int64_t);
OFL_SELECT(uint64_t);
OFL_SELECT(float);
OFL_SELECT(double);
OFL_SELECT(std::complex<float>);
OFL_SELECT(std::complex<double>);
#undef OFL_SELECT

}  // namespace ofl::ops
