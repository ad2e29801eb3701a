// Conversions of the floats of two bytes, round to nearest even, branch-free per element, so that
// loops vectorize. Of IEEE binary16, NaN payloads are kept as NumPy keeps them (cut to the width of
// the target, never quieted); of bfloat16, only the sign of a NaN is, as in ml_dtypes.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace ofl::ops {

template <typename To, typename From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// How one wider format looks next to binary16.
struct FloatFormat {
  using Bits = uint32_t;
  static constexpr int mantissa = 23;
  static constexpr int bias = 127;
};
struct DoubleFormat {
  using Bits = uint64_t;
  static constexpr int mantissa = 52;
  static constexpr int bias = 1023;
};

/// Narrows a float or double. Rounds once. Subnormals round in an addition whose last bit is 2^-24.
template <typename Format, typename Value>
inline Half narrow_to_half(Value value) {
  using Bits = typename Format::Bits;
  constexpr int shift = Format::mantissa - 10;
  constexpr Bits one = 1;
  constexpr Bits sign_bit = one << (sizeof(Bits) * 8 - 1);
  constexpr Bits infinity = Bits{2 * Format::bias + 1} << Format::mantissa;
  constexpr Bits overflow = Bits{Format::bias + 16} << Format::mantissa;
  constexpr Bits smallest_normal = Bits{Format::bias - 14} << Format::mantissa;
  constexpr Bits magic = Bits{Format::bias + Format::mantissa - 24} << Format::mantissa;

  const Bits all = bit_cast<Bits>(value);
  const Bits bits = all & ~sign_bit;
  const Bits sum = bit_cast<Bits>(bit_cast<Value>(bits) + bit_cast<Value>(magic));
  const Bits subnormal = sum - magic;
  const Bits odd = (bits >> shift) & 1;
  const Bits rounding = (one << (shift - 1)) - 1 - (Bits{Format::bias - 15} << Format::mantissa);
  const Bits normal = (bits + rounding + odd) >> shift;
  const Bits payload = (bits >> shift) & 0x3ff;
  const Bits nan = 0x7c00 | (payload == 0 ? one : payload);

  Bits result = bits < smallest_normal ? subnormal : normal;
  result = bits >= overflow ? Bits{0x7c00} : result;
  result = bits > infinity ? nan : result;
  return Half{static_cast<uint16_t>(result | ((all & sign_bit) >> (sizeof(Bits) * 8 - 16)))};
}

/// Widens to float or double; exact.
template <typename Format, typename Value>
inline Value widen_half(Half half) {
  using Bits = typename Format::Bits;
  constexpr int shift = Format::mantissa - 10;
  constexpr Bits exponent_mask = Bits{0x7c00} << shift;
  constexpr Bits smallest_normal = Bits{Format::bias - 14} << Format::mantissa;

  const Bits magnitude = Bits(half.bits & 0x7fff) << shift;
  const Bits exponent = magnitude & exponent_mask;
  const Bits normal = magnitude + (Bits{Format::bias - 15} << Format::mantissa);
  const Bits special = magnitude + (Bits{2 * Format::bias + 1 - 31} << Format::mantissa);
  const Value subnormal =
      bit_cast<Value>(magnitude + smallest_normal) - bit_cast<Value>(smallest_normal);

  Bits result = exponent == exponent_mask ? special : normal;
  result = exponent == 0 ? bit_cast<Bits>(subnormal) : result;
  return bit_cast<Value>(result | (Bits(half.bits & 0x8000) << (sizeof(Bits) * 8 - 16)));
}

inline Half float_to_half(float value) { return narrow_to_half<FloatFormat>(value); }
inline Half double_to_half(double value) { return narrow_to_half<DoubleFormat>(value); }
inline float half_to_float(Half half) { return widen_half<FloatFormat, float>(half); }
inline double half_to_double(Half half) { return widen_half<DoubleFormat, double>(half); }

inline float bfloat16_to_float(BFloat16 x) { return bit_cast<float>(uint32_t{x.bits} << 16); }

inline BFloat16 float_to_bfloat16(float value) {
  const auto bits = bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
  return {static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded)};
}

inline Half bfloat16_to_half(BFloat16 x) {
  const Half nan{static_cast<uint16_t>((x.bits & 0x8000) | 0x7e00)};
  return (x.bits & 0x7fff) > 0x7f80 ? nan : float_to_half(bfloat16_to_float(x));
}

}  // namespace ofl::ops
