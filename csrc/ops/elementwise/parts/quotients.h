// Floored quotients and their remainders. For regions that are compiled for AVX2.
#pragma once

#include "ops/elementwise/parts/floats.h"

namespace ofl::ops::parts {

namespace {

/// Of floats whose quotient is no larger than its digits can tell: others are odd. It is computed
/// from absolute values: what is rounded is the same. Each choice is by one comparison, of which
/// the compiler makes vectors.
template <typename Real>
struct FloatDivision {
  using F = std::conditional_t<sizeof(Real) == 4, Single, Double>;
  using Mark = typename F::Word;

  OFL_INLINE FloatDivision(Real a, Real b, Mark* odd)
      : x(std::fabs(a)),
        y(std::fabs(b)),
        sign(std::copysign(Real(1), a) * std::copysign(Real(1), b)) {
    const Real ratio = x / y;
    // The whole part of the rounded ratio may be one too large. The difference is exact all the
    // same, and below 0 then.
    const Real found = std::fma(-std::trunc(ratio), y, x);
    rest = found + (found < 0 ? y : Real(0));
    // A sign bit comes from a large ratio, an infinity or a NaN.
    constexpr Mark kMost = Mark{F::kBias + F::kDigits - 2} << F::kDigits;
    const Mark size = bit_cast<Mark>(ratio) & (F::kSign - 1);
    *odd |= ((kMost - size) | (F::kInfinity - (bit_cast<Mark>(rest) & (F::kSign - 1)))) & F::kSign;
  }

  const Real x, y, sign;
  Real rest;  // C's fmod of x and y
};

template <typename Real>
OFL_INLINE Real remainder_of(Real a, Real b, typename FloatDivision<Real>::Mark* odd) {
  const FloatDivision<Real> parts(a, b, odd);
  const Real floored = parts.sign < 0 ? parts.y - parts.rest : parts.rest;
  return std::copysign(parts.rest == 0 ? Real(0) : floored, b);
}

/// From the remainder, and rounded to an integer, as NumPy does.
template <typename Real>
OFL_INLINE Real quotient_of(Real a, Real b, typename FloatDivision<Real>::Mark* odd) {
  const FloatDivision<Real> parts(a, b, odd);
  const Real near = (parts.x - parts.rest) / parts.y * parts.sign;
  const Real step = parts.sign < 0 ? Real(1) : Real(0);
  const Real exact = near - (parts.rest == 0 ? Real(0) : step);
  const Real below = std::floor(exact);
  const Real floored = below + (exact - below > Real(0.5) ? Real(1) : Real(0));
  return exact == 0 ? std::copysign(Real(0), parts.sign) : floored;
}

/// Of integers, as floats that hold them, and so the quotients: others are odd.
template <typename T>
struct IntegerDivision {
  using Real = std::conditional_t<sizeof(T) <= 2, float, double>;
  using Mark = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
  static constexpr bool kByAddition = sizeof(T) == 8 || std::is_same_v<T, uint32_t>;
  // AVX2 does not convert these. The last bits of the sum of an integer and this number are it.
  static constexpr double kUnit = 6755399441055744.0;  // 1.5 * 2**52

  static OFL_INLINE Real real(T x) {
    if constexpr (kByAddition) {
      return bit_cast<double>(static_cast<uint64_t>(x) + bit_cast<uint64_t>(kUnit)) - kUnit;
    } else {
      return static_cast<Real>(static_cast<int32_t>(x));
    }
  }
  static OFL_INLINE T integer(Real x) {
    if constexpr (kByAddition) {
      return static_cast<T>(bit_cast<uint64_t>(x + kUnit) - bit_cast<uint64_t>(kUnit));
    } else {
      return static_cast<T>(static_cast<int32_t>(x));
    }
  }
  static OFL_INLINE Mark is_large(T x) {
    if constexpr (sizeof(T) == 8) {
      constexpr uint64_t kMost = uint64_t{1} << 50;
      constexpr uint64_t kBelow = std::is_signed_v<T> ? kMost : 0;  // so many are negative
      return (static_cast<uint64_t>(x) + kBelow) & ~(kMost + kBelow - 1);
    } else {
      return 0;
    }
  }
  /// Quotients by 0 are 0, and by -1 the only ones that may be too large: they wrap.
  static OFL_INLINE bool is_negative_one(T b) { return std::is_signed_v<T> && b == T(-1); }
  static OFL_INLINE T plain(T b) { return (b == 0) | is_negative_one(b) ? T{1} : b; }
};

template <typename T>
OFL_INLINE T integer_remainder_of(T a, T b, typename IntegerDivision<T>::Mark* odd) {
  using As = IntegerDivision<T>;
  *odd |= As::is_large(a) | As::is_large(b);
  const auto x = As::real(a), y = As::real(As::plain(b));
  return As::integer(x - std::floor(x / y) * y);  // 0 where the divisor is another
}

template <typename T>
OFL_INLINE T integer_quotient_of(T a, T b, typename IntegerDivision<T>::Mark* odd) {
  using As = IntegerDivision<T>;
  *odd |= As::is_large(a) | As::is_large(b);
  const T found = As::integer(std::floor(As::real(a) / As::real(As::plain(b))));
  const T wrapped = static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  const T with_sign = As::is_negative_one(b) ? wrapped : found;
  return b == 0 ? T{0} : with_sign;
}

/// A division of two elements of one dtype.
template <typename T>
struct Divided {
  using In = T;
  using Second = T;
  using Out = T;
  using Mark = typename std::conditional_t<std::is_floating_point_v<T>, FloatDivision<T>,
                                           IntegerDivision<T>>::Mark;
};

template <typename T>
struct Quotient : Divided<T> {
  /// NumPy's loop multiplies by the inverse of an integer.
  static constexpr bool kNumpysForOneDivisor = std::is_integral_v<T>;
  static OFL_INLINE T of(T a, T b, typename Divided<T>::Mark* odd) {
    if constexpr (std::is_floating_point_v<T>) {
      return quotient_of(a, b, odd);
    } else {
      return integer_quotient_of(a, b, odd);
    }
  }
};

template <typename T>
struct Rest : Divided<T> {
  static constexpr bool kNumpysForOneDivisor = false;
  static OFL_INLINE T of(T a, T b, typename Divided<T>::Mark* odd) {
    if constexpr (std::is_floating_point_v<T>) {
      return remainder_of(a, b, odd);
    } else {
      return integer_remainder_of(a, b, odd);
    }
  }
};

template <template <typename> class Operation>
LoopFn division_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return loop_of_two<Operation<int8_t>, false>;
    case DType::i16: return loop_of_two<Operation<int16_t>, false>;
    case DType::i32: return loop_of_two<Operation<int32_t>, false>;
    case DType::i64: return loop_of_two<Operation<int64_t>, false>;
    case DType::u8: return loop_of_two<Operation<uint8_t>, false>;
    case DType::u16: return loop_of_two<Operation<uint16_t>, false>;
    case DType::u32: return loop_of_two<Operation<uint32_t>, false>;
    case DType::u64: return loop_of_two<Operation<uint64_t>, false>;
    case DType::f16: return loop_of_two<Operation<float>, true>;
    case DType::f32: return loop_of_two<Operation<float>, false>;
    case DType::f64: return loop_of_two<Operation<double>, false>;
    default: return nullptr;
  }
}

LoopFn division_loop(Part part, const Resolution& resolution) {
  const DType dtype = resolution.in[0];
  return part == Part::quotient ? division_of<Quotient>(dtype) : division_of<Rest>(dtype);
}

}  // namespace

}  // namespace ofl::ops::parts
