// Keys: integers in the order in which argmax and argmin see the elements of a dtype, so that the
// search for the best one is a maximum of integers, without branches.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"

namespace ofl::ops {

/// The keys of complex128, of the real part first.
struct WideKey {
  int64_t real, imag;

  friend bool operator>(WideKey a, WideKey b) {
    return (a.real > b.real) | ((a.real == b.real) & (a.imag > b.imag));
  }
  friend bool operator==(WideKey a, WideKey b) { return (a.real == b.real) & (a.imag == b.imag); }
};

/// The key of a float that lies in `bits`. Both zeros have one, and so have all NaN: the greatest.
template <typename Bits, bool Minimum, Bits kInfinity>
inline Bits float_key(Bits bits) {
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  const auto magnitude = static_cast<Bits>(bits & kMagnitude);
  // All bits or none: what is negated, and what is NaN.
  const auto negated = static_cast<Bits>((Minimum ? ~bits : bits) >> kSign);
  const auto nan = static_cast<Bits>(static_cast<Bits>(kInfinity - magnitude) >> kSign);
  const auto key = static_cast<Bits>((magnitude ^ negated) - negated);
  return static_cast<Bits>((key & ~nan) | (kMagnitude & nan));
}

/// The keys of T in the order of argmax, or of argmin. The first of the greatest keys wins.
template <typename T, bool Minimum>
struct ArgOrder {
  using Key = T;
  static constexpr int64_t kItem = sizeof(T);
  using Place = std::make_unsigned_t<T>;  // an integer as wide as a key
  static constexpr Key kLeast = std::numeric_limits<T>::min();
  static constexpr Key kTop = std::numeric_limits<T>::max();
  static Key load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return Minimum ? static_cast<T>(~value) : value;
  }
};

template <bool Minimum>
struct ArgOrder<bool, Minimum> {
  using Key = uint8_t;
  static constexpr int64_t kItem = 1;
  using Place = uint8_t;
  static constexpr Key kLeast = 0, kTop = 1;
  static Key load(const char* from) { return static_cast<Key>((*from != 0) != Minimum); }
};

template <typename Bits, bool Minimum, Bits kInfinity>
struct FloatOrder {
  using Key = Bits;
  static constexpr int64_t kItem = sizeof(Bits);
  using Place = std::make_unsigned_t<Bits>;
  static constexpr Key kLeast = std::numeric_limits<Bits>::min();
  static constexpr Key kTop = std::numeric_limits<Bits>::max();
  static Key load(const char* from) {
    Bits bits;
    std::memcpy(&bits, from, sizeof(bits));
    return float_key<Bits, Minimum, kInfinity>(bits);
  }
};

template <bool Minimum>
using SingleOrder = FloatOrder<int32_t, Minimum, 0x7f800000>;
template <bool Minimum>
using DoubleOrder = FloatOrder<int64_t, Minimum, 0x7ff0000000000000>;

template <bool Minimum>
struct ArgOrder<Half, Minimum> : FloatOrder<int16_t, Minimum, 0x7c00> {};
template <bool Minimum>
struct ArgOrder<BFloat16, Minimum> : FloatOrder<int16_t, Minimum, 0x7f80> {};
template <bool Minimum>
struct ArgOrder<float, Minimum> : SingleOrder<Minimum> {};
template <bool Minimum>
struct ArgOrder<double, Minimum> : DoubleOrder<Minimum> {};

/// Lexicographic; a NaN in either part wins.
template <bool Minimum>
struct ArgOrder<std::complex<float>, Minimum> {
  using Key = int64_t;
  static constexpr int64_t kItem = 8;
  using Place = uint64_t;
  using Part = SingleOrder<Minimum>;
  static constexpr Key kLeast = std::numeric_limits<Key>::min();
  static constexpr Key kTop = std::numeric_limits<Key>::max();
  static Key load(const char* from) {
    const int32_t real = Part::load(from), imag = Part::load(from + sizeof(float));
    const Key key = int64_t{real} * (int64_t{1} << 32) + imag;
    const Key nan = -static_cast<Key>((real == Part::kTop) | (imag == Part::kTop));
    return (key & ~nan) | (kTop & nan);
  }
};

template <bool Minimum>
struct ArgOrder<std::complex<double>, Minimum> {
  using Key = WideKey;
  static constexpr int64_t kItem = 16;
  using Place = uint64_t;
  using Part = DoubleOrder<Minimum>;
  static constexpr Key kLeast = {Part::kLeast, Part::kLeast}, kTop = {Part::kTop, Part::kTop};
  static Key load(const char* from) {
    const int64_t real = Part::load(from), imag = Part::load(from + sizeof(double));
    const bool nan = (real == Part::kTop) | (imag == Part::kTop);
    return {nan ? Part::kTop : real, nan ? Part::kTop : imag};
  }
};

}  // namespace ofl::ops
