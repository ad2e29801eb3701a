// NumPy's order of elements: NaN last, signed zeros equal, complex numbers by their real and then
// their imaginary parts (those with a NaN in the imaginary, the real, both parts last, in this
// order).
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "ops/array_args.h"

namespace ofl::ops {

template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <typename T>
inline constexpr bool kIsNarrow = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsNarrow<T>;

/// Reads an element at any address; a bool of any byte but 0 is true.
template <typename T>
inline T load_element(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != 0;
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), from, sizeof(T));
    return value;
  }
}

template <typename T>
inline bool is_nan(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return (value.bits & 0x7fff) > 0x7c00;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return (value.bits & 0x7fff) > 0x7f80;
  } else if constexpr (kIsComplex<T>) {
    return is_nan(value.real()) || is_nan(value.imag());
  } else {
    return value != value;
  }
}

/// Unsigned numbers in the order of the elements, equal for equal ones (all NaN are equal here).
/// For complex numbers a coarse order, that of the real parts: equal keys say nothing.
template <typename T>
inline uint64_t order_key(T value) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    return order_key(is_nan(value) ? std::numeric_limits<Part>::quiet_NaN() : value.real());
  } else if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return value;
  } else {
    using Bits = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<sizeof(T) == 2, uint16_t,
                           std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
    const Bits bits = bit_cast<Bits>(value);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Bits>(bits ^ sign);
    } else {
      const Bits ordered = static_cast<Bits>(bits & sign ? ~bits : bits | sign);
      const Bits key = static_cast<Bits>(bits << 1) == 0 ? sign : ordered;  // -0 is 0
      return is_nan(value) ? static_cast<Bits>(~Bits{0}) : key;
    }
  }
}

/// True when a comes strictly before b.
template <typename T>
inline bool before(T a, T b) {
  if constexpr (kIsComplex<T>) {
    const bool unordered = (a.real() != a.real()) | (a.imag() != a.imag()) |
                           (b.real() != b.real()) | (b.imag() != b.imag());
    if (__builtin_expect(!unordered, 1)) {
      return (a.real() < b.real()) | ((a.real() == b.real()) & (a.imag() < b.imag()));
    }
    const int a_class = 2 * is_nan(a.real()) + is_nan(a.imag());
    const int b_class = 2 * is_nan(b.real()) + is_nan(b.imag());
    if (a_class != b_class) return a_class < b_class;
    if (before(a.real(), b.real())) return true;
    return !before(b.real(), a.real()) && before(a.imag(), b.imag());
  } else if constexpr (kIsNarrow<T>) {
    return order_key(a) < order_key(b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return (a < b) | ((b != b) & (a == a));
  } else {
    return a < b;
  }
}

/// a == b as the comparison has it: NaN equals nothing.
template <typename T>
inline bool same_value(T a, T b) {
  if constexpr (kIsNarrow<T>) {
    return !is_nan(a) && order_key(a) == order_key(b);
  } else {
    return a == b;
  }
}

/// Whether these neighbours of a sorted array are different elements of a set.
template <typename T, bool EqualNan>
inline bool are_distinct(T a, T b) {
  return !same_value(a, b) && !(EqualNan && is_nan(a) && is_nan(b));
}

/// Each of so few elements is compared with each: no branch of that depends on values.
inline constexpr int64_t kFewCompared = 12;

/// Writes the places of n elements, up to kFewCompared, in their stable order by `key_of(i)`.
template <typename KeyOf>
inline void find_places(const KeyOf& key_of, int64_t n, uint64_t* places) {
  uint64_t keys[kFewCompared];
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = key_of(i);
    auto place = static_cast<uint64_t>(i);
    for (int64_t j = 0; j < i; ++j) {
      const uint64_t is_later = keys[j] > key;
      places[j] += is_later;
      place -= is_later;
    }
    keys[i] = key;
    places[i] = place;
  }
}

/// Sorts n contiguous elements in place, in no stable way: NumPy's sort of this type, or where
/// this NumPy does not hand it out (an empty loop) the standard library's.
void sort_unsigned(const Loop& sort, uint64_t* first, int64_t n);

/// Writes n elements of one byte in their order, by counting them.
template <typename T>
void sort_bytes(const char* elements, int64_t step, int64_t n, bool descending, T* out);

/// Writes n contiguous elements in their stable order. `sort` is that of sort_kernel.
template <typename T>
void stable_sort(const char* elements, int64_t n, const Loop& sort, T* out);

/// Writes the positions of n elements in their stable order: those that are equal keep theirs, in
/// descending order too. `sort` is for uint64.
template <typename T>
void stable_order(const char* elements, int64_t step, int64_t n, bool descending, const Loop& sort,
                  uint64_t* order);
/// The same for elements of a dtype that is known when it runs.
void stable_order(DType dtype, const char* elements, int64_t step, int64_t n, const Loop& sort,
                  uint64_t* order);

}  // namespace ofl::ops
