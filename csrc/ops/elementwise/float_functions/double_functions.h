// Float64 exp and log with the bits of the C libraries whose formulas are those of Arm's Optimized
// Routines (licenses/arm-optimized-routines.txt): NumPy calls them where it has no loop of its own.
// For regions that are compiled for AVX2.
//
// Where a product and a sum are one fused operation, and in which order, is that of the library
// that is compiled for processors with fused operations.
//
// A function has: reduce(x), what its other parts take; is_plain(reduced), whether the vector is
// computed here, and not by NumPy; at(reduced), where its rows of the table are, in bytes;
// of(reduced, at), the results.
#pragma once

#include "ops/elementwise/float_functions/double_tables.h"
#include "ops/elementwise/float_functions/doubles256.h"

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

}  // namespace

}  // namespace ofl::ops::float_functions
