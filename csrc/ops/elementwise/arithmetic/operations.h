// Operations of vectors. For regions that are compiled for AVX2.
//
//   kOfNans   two NaNs may meet, and IEEE 754 does not say which one the result is
//   kOfSigns  of integers, it depends on whether they have a sign
//   kHas      there is a loop for elements of type T; NumPy's loops of the others are as fast
#pragma once

#include "ops/elementwise/arithmetic/vectors.h"

namespace ofl::ops::arithmetic {

namespace {

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <typename T>
constexpr bool kIsSigned = std::is_signed_v<T>;
template <typename T>
constexpr bool kMultiplies = kIsFloat<T> || sizeof(T) == 2 || sizeof(T) == 4;

template <int inputs, bool of_nans = false, bool of_signs = false>
struct Traits {
  static constexpr int kInputs = inputs;
  static constexpr bool kOfNans = of_nans, kOfSigns = of_signs;
};

struct Add : Traits<2, true> {
  template <typename T>
  static constexpr bool kHas = true;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    using N = typename W::Numbers;
    return (typename W::V)((N)a + (N)b);
  }
};

struct Subtract : Traits<2, true> {
  template <typename T>
  static constexpr bool kHas = true;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    using N = typename W::Numbers;
    return (typename W::V)((N)a - (N)b);
  }
};

struct Multiply : Traits<2, true> {
  template <typename T>
  static constexpr bool kHas = kMultiplies<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    using N = typename W::Numbers;
    return (typename W::V)((N)a * (N)b);
  }
};

struct Divide : Traits<2, true> {
  template <typename T>
  static constexpr bool kHas = kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a / b;
  }
};

struct Sqrt : Traits<1> {
  template <typename T>
  static constexpr bool kHas = kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    return (typename W::V)W::Here::sqrt(x);
  }
};

struct Square : Traits<1> {
  template <typename T>
  static constexpr bool kHas = kMultiplies<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    using N = typename W::Numbers;
    return (typename W::V)((N)x * (N)x);
  }
};

struct Reciprocal : Traits<1> {
  template <typename T>
  static constexpr bool kHas = kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    return W::all(1) / x;
  }
};

struct Negative : Traits<1> {
  template <typename T>
  static constexpr bool kHas = true;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    using Bits = typename W::Bits;
    if constexpr (kIsFloat<typename W::Element>) {
      return (typename W::V)((Bits)x ^ W::kSign);
    } else {
      return (typename W::V)(-(Bits)x);
    }
  }
};

struct Absolute : Traits<1, false, true> {
  template <typename T>
  static constexpr bool kHas = kIsSigned<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    using Bits = typename W::Bits;
    if constexpr (kIsFloat<typename W::Element>) {
      return (typename W::V)((Bits)x & static_cast<typename W::Word>(~W::kSign));
    } else {
      const Bits below = (Bits)(x < 0);  // all bits of those
      return (typename W::V)(((Bits)x ^ below) - below);
    }
  }
};

template <int kMode>
struct Round : Traits<1> {
  template <typename T>
  static constexpr bool kHas = kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    return (typename W::V)W::Here::template round<kMode>(x);
  }
};

struct Maximum : Traits<2, false, true> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a > b ? a : b;
  }
};

struct Minimum : Traits<2, false, true> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a < b ? a : b;
  }
};

struct And : Traits<2> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a & b;
  }
};

struct Or : Traits<2> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a | b;
  }
};

struct Xor : Traits<2> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V a, typename W::V b) {
    return a ^ b;
  }
};

struct Invert : Traits<1> {
  template <typename T>
  static constexpr bool kHas = !kIsFloat<T>;
  template <typename W>
  static OFL_INLINE typename W::V of(typename W::V x) {
    return ~x;
  }
};

}  // namespace

}  // namespace ofl::ops::arithmetic
