// Float64 exp, log, exp2, log2 and log10 with the bits of the C libraries whose formulas are those
// of Arm's Optimized Routines (licenses/arm-optimized-routines.txt), and for log10 fdlibm's: NumPy
// calls them where it has no loop of its own. For regions that are compiled for AVX2.
//
// Where a product and a sum are one fused operation, and in which order, is that of the library
// that is compiled for processors with fused operations. Of exp2 and log10 there is no such one.
//
// A function has: reduce(x), what its other parts take; is_plain(reduced), whether the vector is
// computed here, and not by NumPy; at(reduced), where its rows of the table are, in bytes;
// of(reduced, at), the results.
#pragma once

#include "ops/elementwise/float_functions/formulas/double_tables.h"
#include "ops/elementwise/float_functions/formulas/doubles256.h"

namespace ofl::ops::float_functions {

namespace {

/// The others take the argument, and reduce it themselves.
struct Unreduced {
  using Reduced = Doubles256::Floats;
  static OFL_INLINE Reduced reduce(Reduced x) { return x; }
};

/// 2^(k / 128) * e^r: k is the integer at x * 128 / ln 2, and r = x - k ln 2 / 128, in two parts.
struct DoubleExp : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr double kRounding = 0x1.8p52;  // a sum with it has k in its low bits

  static OFL_INLINE bool is_plain(Floats x) {
    return V::is_all(V::less(V::magnitude(x), V::all(512.0)));
  }

  static OFL_INLINE Floats shifted(Floats x) {
    return V::fused(x, V::all(0x1.71547652b82fep+7), V::all(kRounding));
  }

  static OFL_INLINE Ints at(Floats x) {
    return V::left<4>(V::bits_and(V::as_ints(shifted(x)), V::all_bits(kDoubleRows - 1)));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) { return of_sum<false>(x, x, at); }

  /// e^(x + rest), or without the rest.
  template <bool has_rest>
  static OFL_INLINE Floats of_sum(Floats x, Floats rest, const int64_t* at) {
    Floats tail, scale;
    V::columns(kExpTable, at, &tail, &scale);
    const Floats t = shifted(x);
    const Floats k = V::subtract(t, V::all(kRounding));
    const Floats high = V::fused(k, V::all(-0x1.62e42fefap-8), x);
    Floats r = V::fused(k, V::all(-0x1.cf79abc9e3b3ap-47), high);
    if constexpr (has_rest) r = V::add(r, rest);
    const Floats square = V::multiply(r, r);
    const Floats low = V::fused(V::all(0x1.555555555543cp-3), r, V::all(0x1.ffffffffffdbdp-2));
    const Floats more = V::fused(r, V::all(0x1.1111167a4d017p-7), V::all(0x1.55555cf172b91p-5));
    const Floats sum = V::fused(low, square, V::add(r, tail));
    const Floats grown = V::fused(V::multiply(square, square), more, sum);
    scale = V::as_floats(V::add(V::as_ints(scale), V::left<45>(V::as_ints(t))));
    return V::fused(scale, grown, scale);
  }
};

/// k ln 2 + log(c) + log(z / c), with x = 2^k * z, and z from 11/16 up to 11/8. Close to 1 it is
/// another polynomial, of x - 1.
struct DoubleLog : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr int64_t kLeast = 0x3fe6000000000000;  // the bits of 11/16

  static OFL_INLINE bool is_plain(Floats x) {
    const Floats normal = V::at_most(V::all(0x1p-1022), x);
    return V::is_all(V::both(normal, V::at_most(x, V::all(0x1.fffffffffffffp1023))));
  }

  static OFL_INLINE Ints at(Floats x) {
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(kLeast));
    return V::bits_and(V::right<41>(from), V::all_bits((kDoubleRows - 1) << 4));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    const Floats one_up = V::less(x, V::all(0x1.109p+0));
    const Floats near_one = V::both(V::at_most(V::all(0x1.ep-1), x), one_up);
    const Floats r = any(x, at);
    return V::is_any(near_one) ? V::select(near_one, near(x), r) : r;
  }

 private:
  static OFL_INLINE Floats any(Floats x, const int64_t* at) {
    Floats inverse, log_c;
    V::columns(kLogTable, at, &inverse, &log_c);
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(kLeast));
    const Floats k = V::exponents(from);
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    const Floats z = V::as_floats(V::subtract(V::as_ints(x), scale));
    const Floats r = V::fused(z, inverse, V::all(-1.0));
    const Floats whole = V::fused(k, V::all(0x1.62e42fefa38p-1), log_c);
    const Floats high = V::add(r, whole);
    Floats low = V::add(V::subtract(whole, high), r);
    low = V::fused(k, V::all(0x1.ef35793c7673p-45), low);
    const Floats square = V::multiply(r, r);
    const Floats first = V::fused(V::all(-0x1.fffffffeb459p-3), r, V::all(0x1.555555551305bp-2));
    const Floats last = V::fused(r, V::all(-0x1.55575e506c89fp-3), V::all(0x1.999b324f10111p-3));
    low = V::fused(square, V::all(-0x1.0000000000001p-1), low);
    const Floats more = V::fused(last, square, first);
    return V::add(V::fused(V::multiply(r, square), more, low), high);
  }

  /// x - 1 - (x - 1)^2 / 2 in two parts, and the further terms.
  static OFL_INLINE Floats near(Floats x) {
    const Floats r = V::subtract(x, V::all(1.0));
    const Floats square = V::multiply(r, r), cube = V::multiply(r, square);
    const auto terms = [&](double c0, double c1, double c2) {
      return V::fused(square, V::all(c2), V::fused(V::all(c1), r, V::all(c0)));
    };
    Floats p = terms(0x1.c7184282ad6cap-4, -0x1.999eb43b068ffp-4, 0x1.78182f7afd085p-4);
    p = V::fused(cube, V::all(-0x1.5521375d145cdp-4), p);
    p = V::fused(p, cube, terms(-0x1.55555556745a7p-3, 0x1.24924a344de3p-3, -0x1.fffffa4423d65p-4));
    p = V::fused(p, cube, terms(0x1.5555555555577p-2, -0x1.ffffffffffdcbp-3, 0x1.999999995dd0cp-3));
    const Floats half = V::all(-0.5);
    const Floats upper = V::fused(V::all(-0x1p27), r, V::fused(r, V::all(0x1p27), r));
    const Floats upper_square = V::multiply(upper, upper);
    const Floats high = V::fused(upper_square, half, r);
    Floats low = V::fused(upper_square, half, V::subtract(r, high));
    low = V::fused(V::multiply(half, V::subtract(r, upper)), V::add(r, upper), low);
    return V::add(high, V::fused(p, cube, low));
  }
};

/// 2^(k / 128) * 2^r: k is the integer at 128 x. No product and sum are fused.
struct DoubleExp2 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr double kRounding = 0x1.8p45;  // a sum with it has k in its low bits

  static OFL_INLINE bool is_plain(Floats x) {
    return V::is_all(V::at_most(V::magnitude(x), V::all(928.0)));
  }

  static OFL_INLINE Ints at(Floats x) {
    const Ints k = V::as_ints(V::add(x, V::all(kRounding)));
    return V::left<4>(V::bits_and(k, V::all_bits(kDoubleRows - 1)));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    Floats tail, scale;
    V::columns(kExpTable, at, &tail, &scale);
    const Floats t = V::add(x, V::all(kRounding));
    const Floats r = V::subtract(x, V::subtract(t, V::all(kRounding)));
    const Floats square = V::multiply(r, r);
    const auto terms = [&](double c0, double c1) {
      return V::add(V::all(c0), V::multiply(r, V::all(c1)));
    };
    Floats grown = V::add(tail, V::multiply(r, V::all(0x1.62e42fefa39efp-1)));
    const Floats low = terms(0x1.ebfbdff82c424p-3, 0x1.c6b08d70cf4b5p-5);
    grown = V::add(grown, V::multiply(square, low));
    const Floats high = terms(0x1.3b2abd24650ccp-7, 0x1.5d7e09b4e3a84p-10);
    grown = V::add(grown, V::multiply(V::multiply(square, square), high));
    scale = V::as_floats(V::add(V::as_ints(scale), V::left<45>(V::as_ints(t))));
    return V::add(scale, V::multiply(scale, grown));
  }
};

/// k + log2(c) + log2(z / c), as DoubleLog. Close to 1 it is another polynomial, of x - 1.
struct DoubleLog2 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr double kInverseHigh = 0x1.71547652p+0;  // of ln 2
  static constexpr double kInverseLow = 0x1.705fc2eefa2p-33;

  static OFL_INLINE bool is_plain(Floats x) { return DoubleLog::is_plain(x); }

  static OFL_INLINE Ints at(Floats x) {
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(DoubleLog::kLeast));
    return V::bits_and(V::right<42>(from), V::all_bits((kDoubleLog2Rows - 1) << 4));
  }

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    const Floats one_up = V::less(x, V::all(1.0 + 0x1.6ab2p-5));
    const Floats near_one = V::both(V::at_most(V::all(1.0 - 0x1.5b51p-5), x), one_up);
    const Floats r = any(x, at);
    return V::is_any(near_one) ? V::select(near_one, near(x), r) : r;
  }

 private:
  /// r / ln 2 in two parts.
  static OFL_INLINE Floats divided(Floats r, Floats* low) {
    const Floats high = V::multiply(r, V::all(kInverseHigh));
    *low = V::fused(r, V::all(kInverseLow), V::fused_less(r, V::all(kInverseHigh), high));
    return high;
  }

  static OFL_INLINE Floats terms(Floats r, double c0, double c1) {
    return V::fused(r, V::all(c1), V::all(c0));
  }

  static OFL_INLINE Floats any(Floats x, const int64_t* at) {
    Floats inverse, log_c, low;
    V::columns(kDoubleLog2Table, at, &inverse, &log_c);
    const Ints from = V::subtract(V::as_ints(x), V::all_bits(DoubleLog::kLeast));
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    const Floats z = V::as_floats(V::subtract(V::as_ints(x), scale));
    const Floats r = V::fused(z, inverse, V::all(-1.0));
    const Floats first = divided(r, &low);
    const Floats whole = V::add(V::exponents(from), log_c), high = V::add(whole, first);
    low = V::add(V::add(V::subtract(whole, high), first), low);
    const Floats square = V::multiply(r, r);
    Floats p = terms(r, -0x1.71547652b8339p-1, 0x1.ec709dc3a04bep-2);
    p = V::fused(terms(r, -0x1.7154764702ffbp-2, 0x1.2776c50034c48p-2), square, p);
    const Floats last = terms(r, -0x1.ec7b328ea92bcp-3, 0x1.a6225e117f92ep-3);
    p = V::fused(last, V::multiply(square, square), p);
    return V::add(V::fused(square, p, low), high);
  }

  static OFL_INLINE Floats near(Floats x) {
    Floats low;
    const Floats r = V::subtract(x, V::all(1.0)), first = divided(r, &low);
    const Floats square = V::multiply(r, r), fourth = V::multiply(square, square);
    const Floats second = terms(r, -0x1.71547652b82fep-1, 0x1.ec709dc3a03f7p-2);
    const Floats high = V::fused(second, square, first);
    low = V::add(V::fused(second, square, V::subtract(first, high)), low);
    Floats p = terms(r, -0x1.71547652b7c3fp-2, 0x1.2776c50f05be4p-2);
    p = V::fused(terms(r, -0x1.ec709dd768fe5p-3, 0x1.a61761ec4e736p-3), square, p);
    Floats last = terms(r, -0x1.7153fbc64a79bp-3, 0x1.484d154f01b4ap-3);
    last = V::fused(terms(r, -0x1.289e4a72c383cp-3, 0x1.0b32f285aee66p-3), square, last);
    return V::add(high, V::fused(V::fused(last, fourth, p), fourth, low));
  }
};

/// log(m) / log(10) + k log10(2) (in two parts), with x = 2^k * m: fdlibm's formula
/// (licenses/fdlibm.txt). No product and sum are fused but those of log.
struct DoubleLog10 : Unreduced {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE bool is_plain(Floats x) { return DoubleLog::is_plain(x); }
  static OFL_INLINE Ints at(Floats x) { return DoubleLog::at(x); }  // which m has, too

  static OFL_INLINE Floats of(Floats x, const int64_t* at) {
    constexpr int64_t kFraction = (int64_t{1} << 52) - 1, kOne = int64_t{0x3ff} << 52;
    const Floats exponent = V::exponents(V::subtract(V::as_ints(x), V::all_bits(kOne)));
    // m is below 1 where x is; then k is larger by 1.
    const Floats is_below = V::less(x, V::all(1.0));
    const Floats k = V::add(exponent, V::keep(is_below, V::all(1.0)));
    const Floats scale = V::select(is_below, V::all(0.5), V::all(1.0));
    const Ints fraction = V::bits_and(V::as_ints(x), V::all_bits(kFraction));
    const Floats m = V::as_floats(V::add(fraction, V::as_ints(scale)));
    const Floats log = DoubleLog::of(m, at);
    const Floats low = V::add(V::multiply(k, V::all(3.69423907715893078616e-13)),
                              V::multiply(log, V::all(4.34294481903251816668e-01)));
    return V::add(low, V::multiply(k, V::all(3.01029995663611771306e-01)));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
