// The parts of floats, from their bits and back, without branches.
#pragma once

#include "ops/elementwise/parts/loops.h"

namespace ofl::ops::parts {

namespace {

/// How a float looks.
template <typename T, typename W, typename I, int digits, int bias>
struct Format {
  using Float = T;
  using Word = W;
  using Integer = I;
  static constexpr int kDigits = digits, kBias = bias;
  static constexpr Word kOne = 1;
  static constexpr Word kSign = kOne << (8 * sizeof(W) - 1);
  static constexpr Word kQuiet = kOne << (digits - 1);
  static constexpr Word kInfinity = Word{2 * bias + 1} << digits;
};
using Single = Format<float, uint32_t, int32_t, 23, 127>;
using Double = Format<double, uint64_t, int64_t, 52, 1023>;

template <typename F>
OFL_INLINE typename F::Word word_of(typename F::Float x) {
  return bit_cast<typename F::Word>(x);
}
template <typename F>
OFL_INLINE typename F::Float float_of(typename F::Word word) {
  return bit_cast<typename F::Float>(word);
}

/// A word without its sign, as a number that compares in one instruction.
template <typename F>
OFL_INLINE typename F::Integer size_of_word(typename F::Word word) {
  return static_cast<typename F::Integer>(word & (F::kSign - 1));
}
template <typename F>
OFL_INLINE bool is_nan(typename F::Word word) {
  return size_of_word<F>(word) > static_cast<typename F::Integer>(F::kInfinity);
}
/// As it is stored: more by kBias.
template <typename F>
OFL_INLINE typename F::Integer exponent_of_word(typename F::Word word) {
  return static_cast<typename F::Integer>((word & (F::kSign - 1)) >> F::kDigits);
}
/// NaN becomes a quiet one.
template <typename F>
OFL_INLINE typename F::Word quieted(typename F::Word word) {
  return word | (is_nan<F>(word) ? F::kQuiet : 0);
}

/// A number that is not negative, without its fraction: the addition of a number whose last digit
/// is 1 rounds.
template <typename Real>
OFL_INLINE Real whole_of(Real size) {
  constexpr Real kUnit = sizeof(Real) == 4 ? Real(1 << 23) : Real(int64_t{1} << 52);
  const Real nearest = (size + kUnit) - kUnit;
  const Real below = nearest - (nearest > size ? Real(1) : Real(0));
  return size < kUnit ? below : size;
}

template <typename F>
struct Whole {
  using In = typename F::Float;
  using Out = In;
  static OFL_INLINE Out of(In x) {
    const auto word = word_of<F>(x);
    const auto whole = word_of<F>(whole_of(std::fabs(x)));
    return float_of<F>(quieted<F>(whole) | (word & F::kSign));
  }
};

/// The difference is exact.
template <typename F>
struct Fraction {
  using In = typename F::Float;
  using Out = In;
  static OFL_INLINE Out of(In x) {
    using Word = typename F::Word;
    const Word word = word_of<F>(x);
    const In size = std::fabs(x);
    const Word rest = word_of<F>(size - whole_of(size));
    const Word found = (word & (F::kSign - 1)) == F::kInfinity ? Word{0} : rest;
    return float_of<F>((is_nan<F>(word) ? word | F::kQuiet : found) | (word & F::kSign));
  }
};

/// The digits of a number that is not 0, and its exponent if they are those of [0.5, 1).
template <typename F>
struct Digits {
  explicit OFL_INLINE Digits(typename F::Word word) {
    using Word = typename F::Word;
    using Integer = typename F::Integer;
    using Float = typename F::Float;
    // A subnormal number is an integer times a power of 2: the addition of a number whose last
    // digit is 1 makes its normal form.
    constexpr Word kUnit = Word{F::kBias + F::kDigits} << F::kDigits;
    const Integer size = size_of_word<F>(word);
    const bool is_small = size < static_cast<Integer>(F::kOne << F::kDigits);
    const Word added = static_cast<Word>(size) | kUnit;
    const Word scaled = bit_cast<Word>(bit_cast<Float>(added) - bit_cast<Float>(kUnit));
    const Word normal = is_small ? scaled : static_cast<Word>(size);
    constexpr Integer kOfSmall = F::kBias - 1 + F::kDigits;
    exponent = exponent_of_word<F>(normal) - (F::kBias - 1) - (is_small ? kOfSmall : 0);
    digits = normal & ((F::kOne << F::kDigits) - 1);
    // Zero, infinities and NaN have no such form.
    is_plain = (size != 0) & (size < static_cast<Integer>(F::kInfinity));
  }
  typename F::Word digits;
  typename F::Integer exponent;
  bool is_plain;
};

template <typename F>
OFL_INLINE typename F::Word mantissa_word(const Digits<F>& parts, typename F::Word word) {
  constexpr auto kBelowOne = typename F::Word{F::kBias - 1} << F::kDigits;
  const auto mantissa = parts.digits | kBelowOne | (word & F::kSign);
  return parts.is_plain ? mantissa : quieted<F>(word);
}

template <typename F>
struct Mantissa {
  using In = typename F::Float;
  using Out = In;
  static OFL_INLINE Out of(In x) {
    const auto word = word_of<F>(x);
    return float_of<F>(mantissa_word<F>(Digits<F>(word), word));
  }
};

template <typename F>
struct Exponent {
  using In = typename F::Float;
  using Out = int32_t;
  static OFL_INLINE Out of(In x) {
    const Digits<F> parts(word_of<F>(x));
    return static_cast<int32_t>(parts.is_plain ? parts.exponent : 0);
  }
};

/// 2 to the power of an integer that has such a number.
template <typename F>
OFL_INLINE typename F::Float power_of_two(typename F::Integer power) {
  return bit_cast<typename F::Float>(static_cast<typename F::Word>(power + F::kBias) << F::kDigits);
}

/// Times a power of 2, rounded once. float32 is scaled exactly in float64.
template <typename F, typename Power>
struct Scaled {
  using In = typename F::Float;
  using Second = Power;
  using Out = In;
  using Mark = uint32_t;
  static constexpr bool kNumpysForOneDivisor = false;

  static OFL_INLINE Power clipped(Power power, Power most) {
    const Power above = power < -most ? -most : power;
    return above > most ? most : above;
  }
  static OFL_INLINE Out of(In x, Power power, Mark*) {
    if constexpr (sizeof(In) == 4) {
      constexpr Power kMost = 300;
      const int64_t by = clipped(power, kMost);
      return static_cast<float>(static_cast<double>(x) * power_of_two<Double>(by));
    } else {
      constexpr Power kMost = 2200;     // takes each number to infinity or to 0
      constexpr int64_t kLimit = 1100;  // the same for mantissas
      const uint64_t word = word_of<Double>(x);
      const Digits<Double> parts(word);
      const double mantissa = float_of<Double>(mantissa_word<Double>(parts, word));
      const int64_t sum = parts.exponent + clipped(power, kMost);
      const int64_t above = sum < -kLimit ? -kLimit : sum;
      const auto by = static_cast<uint64_t>((above > kLimit ? kLimit : above) + 2 * kLimit);
      const uint64_t half = by >> 1;
      return mantissa * power_of_two<Double>(static_cast<int64_t>(half) - kLimit) *
             power_of_two<Double>(static_cast<int64_t>(by - half) - kLimit);
    }
  }
};

template <template <typename> class Operation>
LoopFn of_float(DType dtype) {
  switch (dtype) {
    case DType::f16: return loop_of_one<Operation<Single>, true>;
    case DType::f32: return loop_of_one<Operation<Single>, false>;
    case DType::f64: return loop_of_one<Operation<Double>, false>;
    default: return nullptr;
  }
}

template <typename Power>
LoopFn scaled_by(DType dtype) {
  switch (dtype) {
    case DType::f16: return loop_of_two<Scaled<Single, Power>, true>;
    case DType::f32: return loop_of_two<Scaled<Single, Power>, false>;
    case DType::f64: return loop_of_two<Scaled<Double, Power>, false>;
    default: return nullptr;
  }
}

LoopFn float_loop(Part part, const Resolution& resolution) {
  const DType dtype = resolution.in[0];
  switch (part) {
    case Part::fraction: return of_float<Fraction>(dtype);
    case Part::whole: return of_float<Whole>(dtype);
    case Part::mantissa: return of_float<Mantissa>(dtype);
    case Part::exponent: return of_float<Exponent>(dtype);
    case Part::scaled:
      return resolution.in[1] == DType::i32 ? scaled_by<int32_t>(dtype) : scaled_by<int64_t>(dtype);
    default: return nullptr;
  }
}

}  // namespace

}  // namespace ofl::ops::parts
