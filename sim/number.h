// Element types of the simulated libraries: how they are read and rounded.
#pragma once

#include <cstdint>
#include <cstring>

namespace simcuda {

struct Half {
  _Float16 value;
  operator float() const { return static_cast<float>(value); }
  static Half from(double v) { return {static_cast<_Float16>(v)}; }
};

struct Bfloat16 {
  uint16_t bits;
  operator float() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float v;
    std::memcpy(&v, &wide, sizeof v);
    return v;
  }
  /// By way of float, to nearest even.
  static Bfloat16 from(double exact) {
    const float v = static_cast<float>(exact);
    uint32_t wide;
    std::memcpy(&wide, &v, sizeof wide);
    if (v != v) return {0x7fff};
    return {static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16)};
  }
};

/// From the type of a computation to that of an element.
template <typename T>
struct Rounded {
  template <typename From>
  static T from(From v) {
    return static_cast<T>(v);
  }
};
template <>
struct Rounded<Half> : Half {};
template <>
struct Rounded<Bfloat16> : Bfloat16 {};

}  // namespace simcuda
