// Float32 exp, exp2, log, log2, log10 and pow, in doubles, and float64 pow, with the bits of the C
// libraries whose formulas are those of Arm's Optimized Routines (see double_functions.h). For
// regions that are compiled for AVX2.
//
// Those of one number are functions as in double_functions.h, of floats that are doubles here. A
// power has: are_plain(base, y), a mask of the lanes that may be computed here, and kLimit, that of
// the logarithm's magnitude; log_at(base), where its rows of the first table are; log(base, y, at),
// the logarithm of base^y; power_at(log) and power(log, at). The base is positive.
#pragma once

#include "ops/elementwise/float_functions/formulas/double_functions.h"
#include "ops/elementwise/float_functions/formulas/power_tables.h"

namespace ofl::ops::float_functions {

namespace {

constexpr double kLeastFloat = 0x1p-126, kMostFloat = 0x1.fffffep127;  // normal ones

/// 2^(k / 32) * 2^r: k is the integer at 32 x.
struct FloatExp2 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr double kRounding = 0x1.8p47;  // a sum with it has k in its low bits

  static OFL_INLINE bool is_plain(Floats x) {
    return V::is_all(V::less(V::magnitude(x), V::all(128.0)));
  }

  static OFL_INLINE Ints at(Floats x) {
    const Ints k = V::as_ints(V::add(x, V::all(kRounding)));
    return V::left<3>(V::bits_and(k, V::all_bits(kExp2Rows - 1)));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    const Floats t = V::add(x, V::all(kRounding));
    return of_rest(V::subtract(x, V::subtract(t, V::all(kRounding))), t, at);
  }

  /// With k in the low bits of t.
  static OFL_INLINE Floats of_rest(Floats r, Floats t, const int64_t* at) {
    const Ints row = V::column(kExp2Table, at);
    const Floats scale = V::as_floats(V::add(row, V::left<47>(V::as_ints(t))));
    const Floats high = V::fused(V::all(0x1.c6af84b912394p-5), r, V::all(0x1.ebfce50fac4f3p-3));
    const Floats low = V::fused(r, V::all(0x1.62e42ff0c52d6p-1), V::all(1.0));
    return V::multiply(V::fused(high, V::multiply(r, r), low), scale);
  }
};

/// 2^(x / ln 2), up to the largest float.
struct FloatExp {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr double kInverse = 0x1.71547652b82fep0;  // 1 / ln 2

  static OFL_INLINE Floats shifted(Floats x) {
    return V::fused(x, V::all(kInverse), V::all(FloatExp2::kRounding));
  }

  static OFL_INLINE Ints at(Floats x) {
    return V::left<3>(V::bits_and(V::as_ints(shifted(x)), V::all_bits(kExp2Rows - 1)));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    const Floats t = shifted(x), k = V::subtract(t, V::all(FloatExp2::kRounding));
    return FloatExp2::of_rest(V::fused_less(x, V::all(kInverse), k), t, at);
  }
};

/// k + log2(c) + log2(z / c), with x = 2^k * z, and z from 0.69921875 up to the double of it.
struct FloatLog2 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr int64_t kLeast = 0x3fe6600000000000;  // the bits of 0.69921875

  static OFL_INLINE bool is_plain(Floats x) {
    return V::is_all(
        V::both(V::at_most(V::all(kLeastFloat), x), V::at_most(x, V::all(kMostFloat))));
  }

  static OFL_INLINE Ints at(Floats x) {
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(kLeast));
    return V::bits_and(V::right<44>(from), V::all_bits((kLog2Rows - 1) << 4));
  }

  /// z / c - 1, and k + log2(c).
  static OFL_INLINE Floats split(Floats x, const int64_t* at, Floats* whole) {
    Floats inverse, log_c;
    V::columns(kLog2Table, at, &inverse, &log_c);
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(kLeast));
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    *whole = V::add(log_c, V::exponents(from));
    return V::fused(V::as_floats(V::subtract(V::as_ints(x), scale)), inverse, V::all(-1.0));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    Floats whole;
    const Floats r = split(x, at, &whole), square = V::multiply(r, r);
    Floats high = V::fused(V::all(0x1.ecabf496832ep-2), r, V::all(-0x1.715479ffae3dep-1));
    high = V::fused(square, V::all(-0x1.712b6f70a7e4dp-2), high);
    return V::fused(square, high, V::fused(r, V::all(0x1.715475f35c8b8p0), whole));
  }
};

/// k ln 2 + log(c) + log(z / c), as FloatLog2.
struct FloatLog {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE Ints at(Floats x) { return FloatLog2::at(x); }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    Floats inverse, log_c;
    V::columns(kFloatLogTable, at, &inverse, &log_c);
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(FloatLog2::kLeast));
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    const Floats z = V::as_floats(V::subtract(V::as_ints(x), scale));
    const Floats r = V::fused(z, inverse, V::all(-1.0)), square = V::multiply(r, r);
    const Floats whole = V::fused(V::exponents(from), V::all(0x1.62e42fefa39efp-1), log_c);
    Floats high = V::fused(V::all(0x1.5575b0be00b6ap-2), r, V::all(-0x1.ffffef20a4123p-2));
    high = V::fused(V::all(-0x1.00ea348b88334p-2), square, high);
    return V::fused(high, square, V::add(whole, r));
  }
};

/// The float nearest to log(m), times the float nearest to 1 / log(10), and k log10(2) (in two
/// parts), with x = 2^k * m: fdlibm's formula (licenses/fdlibm.txt). All roundings are to floats.
struct FloatLog10 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE bool is_plain(Floats x) { return FloatLog2::is_plain(x); }
  static OFL_INLINE Ints at(Floats x) { return FloatLog2::at(x); }

  static OFL_INLINE Floats product(Floats x, float y) {
    return V::as_of_floats(V::multiply(x, V::all(double{y})));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    constexpr int64_t kFraction = (int64_t{1} << 52) - 1, kOne = int64_t{0x3ff} << 52;
    const Floats exponent = V::exponents(V::subtract(V::as_ints(x), V::all_bits(kOne)));
    // m is below 1 where x is; then k is larger by 1.
    const Floats is_below = V::less(x, V::all(1.0));
    const Floats k = V::select(is_below, V::add(exponent, V::all(1.0)), exponent);
    const Floats scale = V::select(is_below, V::all(0.5), V::all(1.0));
    const Ints fraction = V::bits_and(V::as_ints(x), V::all_bits(kFraction));
    const Floats m = V::as_floats(V::add(fraction, V::as_ints(scale)));
    const Floats log = V::as_of_floats(FloatLog::of(m, at));
    const Floats low =
        V::as_of_floats(V::add(product(k, 7.9034151668e-07f), product(log, 4.3429449201e-01f)));
    return V::add(low, product(k, 3.0102920532e-01f));
  }
};

/// 2^(y log2(base)).
struct FloatPow {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  using Log = Floats;
  static constexpr double kLimit = 126;

  static OFL_INLINE Floats are_plain(Floats base, Floats y) {
    const Floats size = V::magnitude(y);
    const Floats are_bases =
        V::both(V::at_most(V::all(kLeastFloat), base), V::at_most(base, V::all(kMostFloat)));
    return V::both(are_bases,
                   V::both(V::less(V::all(0.0), size), V::at_most(size, V::all(kMostFloat))));
  }

  static OFL_INLINE Ints log_at(Floats base) { return FloatLog2::at(base); }
  static OFL_INLINE Log log(Floats base, Floats y, const int64_t* at) {
    Floats whole;
    const Floats r = FloatLog2::split(base, at, &whole), square = V::multiply(r, r);
    const Floats last = V::fused(V::all(0x1.27616c9496e0bp-2), r, V::all(-0x1.71969a075c67ap-2));
    const Floats more = V::fused(V::all(0x1.ec70a6ca7baddp-2), r, V::all(-0x1.7154748bef6c8p-1));
    const Floats first = V::fused(square, more, V::fused(r, V::all(0x1.71547652ab82bp0), whole));
    return V::multiply(V::fused(last, V::multiply(square, square), first), y);
  }

  static OFL_INLINE Floats magnitude(Log log) { return V::magnitude(log); }
  static OFL_INLINE Ints power_at(Log log) { return FloatExp2::at(log); }
  static OFL_INLINE Floats power(Log log, const int64_t* at) { return FloatExp2::of(log, at); }
};

/// e^(y log(base)), with the logarithm in two parts.
struct DoublePow {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  struct Log {
    Floats high, low;
  };
  static constexpr double kLimit = 512;
  static constexpr int64_t kLeast = 0x3fe6955500000000;  // the bits of 0x1.69555p-1

  static OFL_INLINE Floats are_plain(Floats base, Floats y) {
    const Floats size = V::magnitude(y);
    const Floats are_bases = V::both(V::at_most(V::all(0x1p-1022), base),
                                     V::at_most(base, V::all(0x1.fffffffffffffp1023)));
    return V::both(are_bases,
                   V::both(V::at_most(V::all(0x1p-65), size), V::less(size, V::all(0x1p63))));
  }

  static OFL_INLINE Ints log_at(Floats base) {
    const Ints from = V::subtract(V::as_ints(base), V::all_bits(kLeast));
    return V::bits_and(V::right<40>(from), V::all_bits((kPowRows - 1) << 5));
  }

  static OFL_INLINE Log log(Floats base, Floats y, const int64_t* at) {
    Floats inverse, log_c, tail;
    V::columns(kPowTable, at, &inverse, &log_c, &tail);
    const Ints from = V::subtract(V::as_ints(base), V::all_bits(kLeast));
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    const Floats k = V::exponents(from);
    const Floats z = V::as_floats(V::subtract(V::as_ints(base), scale));
    const Floats r = V::fused(z, inverse, V::all(-1.0));
    const Floats whole = V::fused(k, V::all(0x1.62e42fefa38p-1), log_c);
    const Floats sum = V::add(r, whole);
    Floats low = V::fused(k, V::all(0x1.ef35793c7673p-45), tail);
    low = V::add(low, V::add(V::subtract(whole, sum), r));
    const Floats half = V::multiply(r, V::all(-0.5));
    const Floats square = V::multiply(r, half);  // times -1/2
    const Floats high = V::add(sum, square);
    low = V::add(low, V::fused_less(half, r, square));
    low = V::add(low, V::add(V::subtract(sum, high), square));
    const Floats first = V::fused(V::all(0x1.0000000000006p-1), r, V::all(-0x1.555555555556p-1));
    const Floats more = V::fused(V::all(-0x1.555555529a47ap-1), r, V::all(0x1.999999959554ep-1));
    Floats last = V::fused(r, V::all(0x1.0002b8b263fc3p0), V::all(-0x1.2495b9b4845e9p0));
    last = V::fused(square, V::fused(last, square, more), first);
    low = V::fused(V::multiply(r, square), last, low);
    const Floats log = V::add(high, low);
    const Floats rest = V::add(V::subtract(high, log), low);
    const Floats product = V::multiply(log, y);
    return {product, V::fused(y, rest, V::fused_less(log, y, product))};
  }

  static OFL_INLINE Floats magnitude(const Log& log) { return V::magnitude(log.high); }
  static OFL_INLINE Ints power_at(const Log& log) { return DoubleExp::at(log.high); }
  static OFL_INLINE Floats power(const Log& log, const int64_t* at) {
    return DoubleExp::of_sum<true>(log.high, log.low, at);
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
