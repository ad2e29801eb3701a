// Float64 sin and cos with the bits of C libraries that have the formulas of IBM's Accurate
// Mathematical Library, as glibc from 2.28 on has: NumPy calls them where it has no loop of its
// own. For regions that are compiled for AVX2.
//
// The argument is n pi / 2 + a, and a is less than 0.86. Sine and cosine of a come from those of
// the nearest i / 128, but small sines from a polynomial.
//
// A function is as in double_functions.h.
#pragma once

#include "ops/elementwise/float_functions/formulas/doubles256.h"
#include "ops/elementwise/float_functions/formulas/sine_table.h"

namespace ofl::ops::float_functions {

namespace {

template <bool cosine>
struct DoubleSine {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  /// a in two parts. The last two bits of n count: odd is a cosine, and from 2 the sign is other.
  struct Reduced {
    Floats x, a, rest;
    Ints n;
  };

  static OFL_INLINE bool is_plain(const Reduced& reduced) {
    return V::is_all(V::less(V::magnitude(reduced.x), V::all(0x1.921fbp26)));  // 105414350
  }

  static OFL_INLINE Ints at(const Reduced& reduced) {
    const Ints row = V::bits_and(V::as_ints(shifted(V::magnitude(reduced.a))), V::all_bits(127));
    return V::add(V::left<6>(row), V::left<5>(V::bits_and(reduced.n, V::all_bits(1))));
  }

  static OFL_INLINE Floats of(const Reduced& reduced, const int64_t* at) {
    const Floats odd = V::as_floats(V::left<63>(reduced.n));  // by its sign bit: cosines
    const Floats sign = V::both(reduced.a, V::all(-0.0)), size = V::magnitude(reduced.a);
    const Floats rest = V::flip(reduced.rest, sign);
    const Floats is_small = V::and_not(V::less(size, V::all(0.126)), odd);
    const Floats r = V::select(is_small, small(size, rest), any(size, rest, odd, at));
    const Floats turned = V::both(V::as_floats(V::left<62>(reduced.n)), V::all(-0.0));
    return V::flip(r, V::flip(V::and_not(sign, odd), turned));
  }

  /// Up to 109.5 / 128, n is 0; up to 2.43 it is 1 or -1; from there pi / 2 has four parts.
  static OFL_INLINE Reduced reduce(Floats x) {
    const Floats size = V::magnitude(x);
    const Floats is_near = V::less(size, V::all(0x1.b6p-1));
    const Floats is_low = V::less(size, V::all(0x1.368fdp1));
    const Reduced low = cosine ? low_cosine(x, size) : low_sine(x, size), high = far(x);
    const auto chosen = [&](Floats near, Floats middle, Floats other) {
      return V::select(is_near, near, V::select(is_low, middle, other));
    };
    const Floats near_n = V::as_floats(V::all_bits(cosine ? 1 : 0));
    const Floats n = chosen(near_n, V::as_floats(low.n), V::as_floats(high.n));
    return {x, chosen(x, low.a, high.a), chosen(V::all(0.0), low.rest, high.rest), V::as_ints(n)};
  }

 private:
  static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiRest = 0x1.1a62633145c07p-54;

  static OFL_INLINE Reduced low_sine(Floats x, Floats size) {
    const Ints negative = V::bits_and(V::right<62>(V::as_ints(x)), V::all_bits(2));
    return {x, V::subtract(V::all(kHalfPi), size), V::all(kHalfPiRest),
            V::add(negative, V::all_bits(1))};
  }

  static OFL_INLINE Reduced low_cosine(Floats x, Floats size) {
    const Floats high = V::subtract(V::all(kHalfPi), size), rest = V::all(kHalfPiRest);
    const Floats a = V::add(high, rest);
    return {x, a, V::add(V::subtract(high, a), rest), V::all_bits(0)};
  }

  static OFL_INLINE Reduced far(Floats x) {
    const Floats rounding = V::all(0x1.8p52);  // a sum with it has n in its low bits
    const Floats t = V::fused(x, V::all(0x1.45f306dc9c883p-1), rounding);
    const Floats n = V::subtract(t, rounding);
    Floats y = V::fused(n, V::all(-0x1.921fb58p0), x);
    y = V::fused(n, V::all(0x1.dde973cp-27), y);
    const Floats third = V::all(0x1.cb3b398p-55), last = V::all(0x1.d747f23e32ed7p-83);
    const Floats z = V::fused(n, third, y);
    const Floats rest = V::fused(n, third, V::subtract(y, z));
    const Floats a = V::fused(n, last, z);
    return {x, a, V::add(rest, V::fused(n, last, V::subtract(z, a))),
            V::add(V::as_ints(t), V::all_bits(cosine ? 1 : 0))};
  }

  static constexpr double kRounding = 0x1.8p45;  // a sum with it has i in its low bits
  static OFL_INLINE Floats shifted(Floats size) { return V::add(size, V::all(kRounding)); }

  /// Of a sine.
  static OFL_INLINE Floats small(Floats x, Floats rest) {
    const Floats square = V::multiply(x, x);
    Floats p = V::fused(V::all(-0x1.addffc2fcdf59p-26), square, V::all(0x1.71de27b9a7ed9p-19));
    p = V::fused(p, square, V::all(-0x1.a01a019db08b8p-13));
    p = V::fused(p, square, V::all(0x1.1111111110ecep-7));
    p = V::fused(p, square, V::all(-0x1.5555555555555p-3));
    const Floats more = V::fused_less(p, x, V::multiply(V::all(0.5), rest));
    return V::add(x, V::fused(more, square, rest));
  }

  /// sin(c + r) = sin c + (cos c sin r - sin c (1 - cos r)), or the same of a cosine, where the
  /// table has them in the other order.
  static OFL_INLINE Floats any(Floats size, Floats rest, Floats odd, const int64_t* at) {
    Floats own, own_rest, other, other_rest;
    V::columns(&kSineTable, at, &own, &own_rest, &other, &other_rest);
    const Floats zero = V::all(0.0);
    const Floats near = V::subtract(size, V::subtract(shifted(size), V::all(kRounding)));
    const Floats r = V::select(odd, V::add(near, rest), near);
    const Floats lost = V::select(odd, zero, rest);
    const Floats square = V::multiply(r, r);
    const Floats third =
        V::fused(square, V::all(0x1.11110e829872fp-7), V::all(-0x1.5555555555515p-3));
    Floats sine = V::fused(V::multiply(r, square), third, V::select(odd, r, lost));
    sine = V::flip(V::add(sine, V::select(odd, zero, r)), odd);
    Floats less = V::fused(square, V::all(0x1.6c16bedd9e239p-10), V::all(-0x1.5555555555535p-5));
    less = V::fused(r, lost, V::multiply(square, V::fused(square, less, V::all(0.5))));
    Floats more = V::fused(sine, other_rest, own_rest);
    more = V::less_fused(own, less, more);
    return V::add(own, V::fused(other, sine, more));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
