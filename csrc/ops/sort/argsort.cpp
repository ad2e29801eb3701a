// Stable order by one sort of 64-bit integers: each holds as much of an element's key as fits above
// the element's position. Positions make the order stable; elements whose truncated keys are equal
// are compared afterwards. NumPy's vectorized sort of uint64 does nearly all of the work. Where
// there are few different keys, such as of bytes, elements are counted instead.
#include <algorithm>
#include <utility>
#include <vector>

#include "ops/lanes.h"
#include "ops/sort/order.h"

namespace ofl::ops {

namespace {

int bit_width(uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

/// The elements of one lane, and their keys in the order asked for.
template <typename T>
struct Lane {
  const char* elements;
  int64_t step;
  bool descending;

  T element(int64_t i) const { return load_element<T>(elements + i * step); }
  uint64_t key(int64_t i) const {
    const uint64_t key = order_key(element(i));
    return descending ? ~key : key;
  }
};

/// Keys of so small a range are counted: the counts stay in the cache, and are fewer than elements.
constexpr uint64_t kMostCounted = uint64_t{1} << 14;
constexpr int64_t kFewestCounted = 32;

/// The positions of elements whose keys are from `least` on, `range` different ones.
template <typename T>
void order_by_counts(const Lane<T>& lane, uint64_t least, uint64_t range, int64_t n,
                     uint64_t* order) {
  std::vector<int64_t> next(range);  // the place of the next element with a key
  for (int64_t i = 0; i < n; ++i) ++next[lane.key(i) - least];
  int64_t place = 0;
  for (int64_t& each : next) place += std::exchange(each, place);
  for (int64_t i = 0; i < n; ++i) order[next[lane.key(i) - least]++] = static_cast<uint64_t>(i);
}

/// Puts the elements with equal truncated keys, which follow each other, into their order.
template <typename T>
void order_ties(const Lane<T>& lane, int position_bits, uint64_t* packed, int64_t n) {
  const uint64_t positions = (uint64_t{1} << position_bits) - 1;
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && (packed[end] & ~positions) == (packed[i] & ~positions)) ++end;
    if (end - i > 1) {
      std::stable_sort(packed + i, packed + end, [&](uint64_t a, uint64_t b) {
        const T x = lane.element(a & positions), y = lane.element(b & positions);
        return lane.descending ? before(y, x) : before(x, y);
      });
    }
    i = end;
  }
}

}  // namespace

void sort_unsigned(const Loop& sort, uint64_t* first, int64_t n) {
  if (!sort.function) return std::sort(first, first + n);
  char* data = reinterpret_cast<char*>(first);
  const intptr_t count = n;
  sort.function(&data, &count, nullptr, sort.data);
}

template <typename T>
void stable_order(const char* elements, int64_t step, int64_t n, bool descending, const Loop& sort,
                  uint64_t* order) {
  if (n < 2) {
    std::fill_n(order, n, 0);
    return;
  }
  const Lane<T> lane{elements, step, descending};
  if (!kIsComplex<T> && n <= kFewCompared) {
    uint64_t places[kFewCompared];
    find_places([&](int64_t i) { return lane.key(i); }, n, places);
    for (int64_t i = 0; i < n; ++i) order[places[i]] = static_cast<uint64_t>(i);
    return;
  }
  uint64_t least = lane.key(0), most = least;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = lane.key(i);
    order[i] = key;
    least = std::min(least, key);
    most = std::max(most, key);
  }
  const uint64_t range = most - least;  // one less than different keys
  if (!kIsComplex<T> && n >= kFewestCounted && range < kMostCounted &&
      range < static_cast<uint64_t>(n)) {
    return order_by_counts(lane, least, range + 1, n, order);
  }
  const int position_bits = bit_width(n - 1);
  const int lost = std::max(0, bit_width(range) + position_bits - 64);
  for (int64_t i = 0; i < n; ++i) {
    order[i] = ((order[i] - least) >> lost) << position_bits | static_cast<uint64_t>(i);
  }
  sort_unsigned(sort, order, n);
  if (lost > 0 || kIsComplex<T>) order_ties(lane, position_bits, order, n);
  const uint64_t positions = (uint64_t{1} << position_bits) - 1;
  for (int64_t i = 0; i < n; ++i) order[i] &= positions;
}

#define OFL_ORDER(T) \
  template void stable_order<T>(const char*, int64_t, int64_t, bool, const Loop&, uint64_t*)
OFL_ORDER(bool);
OFL_ORDER(int8_t);
OFL_ORDER(int16_t);
OFL_ORDER(int32_t);
OFL_ORDER(int64_t);
OFL_ORDER(uint8_t);
OFL_ORDER(uint16_t);
OFL_ORDER(uint32_t);
OFL_ORDER(uint64_t);
OFL_ORDER(Half);
OFL_ORDER(BFloat16);
OFL_ORDER(float);
OFL_ORDER(double);
OFL_ORDER(std::complex<float>);
OFL_ORDER(std::complex<double>);
#undef OFL_ORDER

void stable_order(DType dtype, const char* elements, int64_t step, int64_t n, const Loop& sort,
                  uint64_t* order) {
  visit_dtype(dtype, [&](auto type) {
    stable_order<decltype(type)>(elements, step, n, false, sort, order);
  });
}

void argsort_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  const bool descending = args.attr[1] != 0;
  const int64_t n = in.shape[axis], step = in.strides[axis], out_step = out.strides[axis];
  const bool in_place = out_step == sizeof(int64_t);
  std::vector<uint64_t> buffer(in_place ? 0 : n);
  visit_dtype(in.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_lane({&in, &out}, axis, [&](char* const* first) {
      auto* order = in_place ? reinterpret_cast<uint64_t*>(first[1]) : buffer.data();
      stable_order<T>(first[0], step, n, descending, args.loop, order);
      if (in_place) return;
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(first[1] + i * out_step, order + i, sizeof(*order));
    });
  });
}

}  // namespace ofl::ops
