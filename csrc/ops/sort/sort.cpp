// Sorting of values. NumPy's own sorts, vectorized and not stable, do the numbers of two bytes and
// more, but for floats of two bytes: integer keys of these are sorted, and many are counted. Where
// equal elements can be told apart (signed zeros, NaN) their order is restored from the input.
#include <algorithm>
#include <array>

#include "ops/lanes.h"
#include "ops/sort/order.h"

namespace ofl::ops {

namespace {

/// Where one lane comes from, and how it is to be sorted.
struct Source {
  const char* elements;
  int64_t step;
  int64_t n;
  bool descending;
  bool stable;
};

/// Fills [first, last) with the elements of the lane that `belongs` picks, in their order (or, for
/// an array that is still to be reversed, in the opposite one).
template <typename T, typename Belongs>
void restore(const Source& from, T* first, T* last, const Belongs& belongs) {
  for (int64_t i = 0; i < from.n && first != last; ++i) {
    const T value = load_element<T>(from.elements + i * from.step);
    if (!belongs(value)) continue;
    if (from.descending) {
      *--last = value;
    } else {
      *first++ = value;
    }
  }
}

/// Gives zeros and NaN of an ascending array their order in the input, signs and payloads.
template <typename T>
void restore_equals(const Source& from, T* sorted) {
  T* const end = sorted + from.n;
  T* const nans = std::partition_point(sorted, end, [](T x) { return !is_nan(x); });
  if (nans != end) restore(from, nans, end, [](T x) { return is_nan(x); });
  const T zero{};
  T* const low = std::partition_point(sorted, nans, [&](T x) { return before(x, zero); });
  T* const high = std::partition_point(low, nans, [&](T x) { return !before(zero, x); });
  if (high - low > 1) restore(from, low, high, [&](T x) { return same_value(x, zero); });
}

template <typename T>
void sort_complex(const Source& from, const Loop& sort_uint64, T* out) {
  std::vector<uint64_t> order(from.n);
  stable_order<T>(from.elements, from.step, from.n, from.descending, sort_uint64, order.data());
  for (int64_t i = 0; i < from.n; ++i) {
    out[i] = load_element<T>(from.elements + static_cast<int64_t>(order[i]) * from.step);
  }
}

/// From so many elements on, the keys are counted.
constexpr int64_t kManyCounted = 8192;

/// Sorts keys of two bytes in place.
void sort_keys(const Loop& sort_uint16, uint16_t* keys, int64_t n) {
  if (n >= kManyCounted) {
    std::vector<int64_t> counts(size_t{1} << 16);
    for (int64_t i = 0; i < n; ++i) ++counts[keys[i]];
    for (size_t key = 0; key < counts.size(); ++key) {
      keys = std::fill_n(keys, counts[key], static_cast<uint16_t>(key));
    }
  } else if (sort_uint16.function) {
    char* data = reinterpret_cast<char*>(keys);
    const intptr_t count = n;
    sort_uint16.function(&data, &count, nullptr, sort_uint16.data);
  } else {
    std::sort(keys, keys + n);
  }
}

/// By keys, which are numbers of two bytes: all NaN have one, -0 has the one before that of 0. So
/// the order among these is then restored. (NumPy's vectorized sort of float16 itself leaves arrays
/// with many -inf unsorted.)
template <typename T>
void sort_by_keys(const Source& from, const Loop& sort_uint16, T* out) {
  std::vector<uint16_t> keys(from.n);
  for (int64_t i = 0; i < from.n; ++i) {
    const T value = load_element<T>(from.elements + i * from.step);
    const unsigned key = value.bits & 0x8000 ? ~unsigned{value.bits} : value.bits | 0x8000U;
    keys[i] = static_cast<uint16_t>(is_nan(value) ? 0xffff : key);
  }
  sort_keys(sort_uint16, keys.data(), from.n);
  for (int64_t i = 0; i < from.n; ++i) {
    const unsigned bits = keys[i] & 0x8000 ? keys[i] ^ 0x8000U : ~unsigned{keys[i]};
    out[i].bits = static_cast<uint16_t>(bits);
  }
  restore_equals(from, out);
  if (from.descending) std::reverse(out, out + from.n);
}

template <typename T>
void sort_numbers(const Source& from, const Loop& sort, T* out) {
  if (from.step == sizeof(T)) {
    std::memcpy(static_cast<void*>(out), from.elements, static_cast<size_t>(from.n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < from.n; ++i) out[i] = load_element<T>(from.elements + i * from.step);
  }
  if (sort.function) {
    char* data = reinterpret_cast<char*>(out);
    const intptr_t count = from.n;
    sort.function(&data, &count, nullptr, sort.data);
  } else {
    std::sort(out, out + from.n, before<T>);
  }
  if constexpr (kIsFloating<T>) {
    if (from.stable) restore_equals(from, out);
  }
  if (from.descending) std::reverse(out, out + from.n);
}

}  // namespace

// Counting takes as long as there are numbers of a byte.
template <typename T>
void sort_bytes(const char* elements, int64_t step, int64_t n, bool descending, T* out) {
  constexpr int64_t kFew = 32;
  if (n <= kFew) {
    const auto first = [descending](T x, T y) {
      return descending ? order_key(y) < order_key(x) : order_key(x) < order_key(y);
    };
    for (int64_t i = 0; i < n; ++i) out[i] = load_element<T>(elements + i * step);
    return std::sort(out, out + n, first);
  }
  std::array<int64_t, 256> counts{};
  for (int64_t i = 0; i < n; ++i) ++counts[order_key(load_element<T>(elements + i * step))];
  constexpr unsigned sign = std::is_signed_v<T> ? 0x80 : 0;
  for (unsigned k = 0; k < counts.size(); ++k) {
    const unsigned key = descending ? 255 - k : k;
    if (counts[key] == 0) continue;
    std::memset(out, static_cast<int>(key ^ sign), counts[key]);
    out += counts[key];
  }
}

template void sort_bytes<bool>(const char*, int64_t, int64_t, bool, bool*);
template void sort_bytes<int8_t>(const char*, int64_t, int64_t, bool, int8_t*);
template void sort_bytes<uint8_t>(const char*, int64_t, int64_t, bool, uint8_t*);

namespace {

/// To compare so few costs less than to restore the order of equals after NumPy's sort.
constexpr int64_t kFewSorted = 8;

template <typename T>
void sort_few(const Source& from, T* out) {
  T values[kFewSorted];
  uint64_t places[kFewCompared];
  for (int64_t i = 0; i < from.n; ++i) {
    values[i] = load_element<T>(from.elements + i * from.step);
  }
  const auto key_of = [&](int64_t i) {
    return from.descending ? ~order_key(values[i]) : order_key(values[i]);
  };
  find_places(key_of, from.n, places);
  for (int64_t i = 0; i < from.n; ++i) out[places[i]] = values[i];
}

template <typename T>
void sort_lane(const Source& from, const Loop& loop, T* out) {
  if constexpr (kIsFloating<T>) {
    if (from.stable && from.n <= kFewSorted) return sort_few(from, out);
  }
  if constexpr (sizeof(T) == 1) {
    sort_bytes(from.elements, from.step, from.n, from.descending, out);
  } else if constexpr (kIsNarrow<T>) {
    sort_by_keys(from, loop, out);
  } else if constexpr (kIsComplex<T>) {
    sort_complex(from, loop, out);
  } else {
    sort_numbers(from, loop, out);
  }
}

}  // namespace

template <typename T>
void stable_sort(const char* elements, int64_t n, const Loop& sort, T* out) {
  sort_lane<T>({elements, sizeof(T), n, false, true}, sort, out);
}

#define OFL_SORT(T) template void stable_sort<T>(const char*, int64_t, const Loop&, T*)
OFL_SORT(bool);
OFL_SORT(int8_t);
OFL_SORT(int16_t);
OFL_SORT(int32_t);
OFL_SORT(int64_t);
OFL_SORT(uint8_t);
OFL_SORT(uint16_t);
OFL_SORT(uint32_t);
OFL_SORT(uint64_t);
OFL_SORT(Half);
OFL_SORT(BFloat16);
OFL_SORT(float);
OFL_SORT(double);
OFL_SORT(std::complex<float>);
OFL_SORT(std::complex<double>);
#undef OFL_SORT

void sort_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &out = args.output(0);
  const auto axis = static_cast<int>(args.attr[0]);
  Source from{nullptr, in.strides[axis], in.shape[axis], args.attr[1] != 0, args.attr[2] != 0};
  const int64_t out_step = out.strides[axis];
  visit_dtype(in.dtype, [&](auto type) {
    using T = decltype(type);
    const bool in_place = out_step == sizeof(T);
    const std::unique_ptr<T[]> buffer(in_place ? nullptr : new T[from.n]);
    for_each_lane({&in, &out}, axis, [&](char* const* first) {
      from.elements = first[0];
      T* const lane = in_place ? reinterpret_cast<T*>(first[1]) : buffer.get();
      sort_lane(from, args.loop, lane);
      if (in_place) return;
      for (int64_t i = 0; i < from.n; ++i) {
        std::memcpy(first[1] + i * out_step, static_cast<const void*>(lane + i), sizeof(T));
      }
    });
  });
}

}  // namespace ofl::ops
