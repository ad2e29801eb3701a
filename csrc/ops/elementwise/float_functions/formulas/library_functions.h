// Float32 expm1, log1p, atan, sinh, cosh, atanh, asinh, acosh and cbrt with the bits of C libraries
// that have these formulas, as glibc 2.36 has: fdlibm's (licenses/fdlibm.txt), and for cbrt one
// step of Halley's method from a parabola. For regions that are compiled for AVX2.
//
// No product and sum are fused, but in exp and log (powers.h). Where the library goes one of
// several ways, all are computed, and masks choose.
//
// A function has: are_plain(x), a mask of the lanes that may be computed here; of(x).
#pragma once

#include "ops/elementwise/float_functions/formulas/functions.h"
#include "ops/elementwise/float_functions/formulas/lanes256.h"
#include "ops/elementwise/float_functions/formulas/powers.h"

namespace ofl::ops::float_functions {

namespace {

constexpr float kLn2High = 6.9313812256e-01f, kLn2Low = 9.0580006145e-06f;

/// c[0] + x * (c[1] + x * (...)), with two roundings for each degree.
template <typename V, int terms>
OFL_INLINE typename V::Floats rounded_polynomial(typename V::Floats x, const float (&c)[terms]) {
  typename V::Floats r = V::all(c[terms - 1]);
  for (int k = terms - 2; k >= 0; --k) r = V::add(V::all(c[k]), V::multiply(x, r));
  return r;
}

/// A function of powers.h, of floats. Its places in tables go through memory, as in DoubleBlocks.
template <typename Function>
OFL_INLINE Lanes256::Floats in_doubles(Lanes256::Floats x) {
  const __m256d low = Lanes256::low(x), high = Lanes256::high(x);
  alignas(32) int64_t at[Lanes256::kLanes];
  Doubles256::store(at, Function::at(low));
  Doubles256::store(at + Doubles256::kLanes, Function::at(high));
  asm("" : "+m"(at));
  return Lanes256::of_doubles(Function::of(low, at), Function::of(high, at + Doubles256::kLanes));
}

/// e^x - 1 = 2^k (e^r - 1) + 2^k - 1: k is the integer at x / ln 2, and r = x - k ln 2 (ln 2 in two
/// parts).
struct FloatExpm1 {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::less(x, V::all(15.5f)); }

  /// The integer in place of x / ln 2, as a float. It is 0 up to ln 2 / 2, and 1 from there to
  /// 1.5 ln 2, whatever the product is rounded to.
  static OFL_INLINE Floats whole(Floats x) {
    const Floats size = magnitude<V>(x);
    const Floats half = V::with_sign(V::all(0.5f), x);
    const Floats one = V::with_sign(V::all(1.0f), x);
    const Floats scaled = V::add(V::multiply(V::all(1.4426950216e+00f), x), half);
    const Floats k = V::select(V::less(size, of_bits<V>(0x3f851592)), one, V::truncate(scaled));
    return V::keep(V::less(of_bits<V>(0x3eb17218), size), k);
  }

  /// r + rest - (e^(r + rest) - 1).
  static OFL_INLINE Floats lack(Floats r, Floats rest) {
    constexpr float kTerms[] = {1.0f,
                                -3.3333335072e-02f,
                                1.5873016091e-03f,
                                -7.9365076090e-05f,
                                4.0082177293e-06f,
                                -2.0109921195e-07f};
    const Floats half_r = V::multiply(V::all(0.5f), r), square = V::multiply(r, half_r);
    const Floats p = rounded_polynomial<V>(square, kTerms);
    const Floats t = V::subtract(V::all(3.0f), V::multiply(p, half_r));
    const Floats below = V::subtract(V::all(6.0f), V::multiply(r, t));
    Floats e = V::multiply(square, V::divide(V::subtract(p, t), below));
    e = V::subtract(V::multiply(r, V::subtract(e, rest)), rest);
    return V::subtract(e, square);
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), half = V::all(0.5f), two = V::all(2.0f);
    const Floats k = whole(x);
    const Floats high = V::subtract(x, V::multiply(k, V::all(kLn2High)));
    const Floats low = V::multiply(k, V::all(kLn2Low));
    const Floats r = V::subtract(high, low), rest = V::subtract(V::subtract(high, r), low);
    const Floats e = lack(r, rest);
    // Of k from 2 up, and from -2 down.
    const Floats power = V::power_of_two(k);
    const Mask shrinks = V::less(k, V::all(0.0f));
    const Floats less = V::subtract(one, V::power_of_two(V::subtract(V::all(0.0f), k)));
    const Floats inner = V::subtract(V::select(shrinks, one, less), V::subtract(e, r));
    Floats result = V::subtract(V::multiply(inner, power), V::keep(shrinks, one));
    // Of the others.
    const Floats of_0 = V::subtract(r, e);
    const Floats of_minus_1 = V::subtract(V::multiply(half, of_0), half);
    const Floats below_quarter = V::multiply(V::all(-2.0f), V::subtract(e, V::add(r, half)));
    const Floats of_1 =
        V::select(V::less(r, V::all(-0.25f)), below_quarter, V::add(one, V::multiply(two, of_0)));
    result = V::select(V::equal(k, one), of_1, result);
    result = V::select(V::equal(k, V::all(-1.0f)), of_minus_1, result);
    result = V::select(V::equal(k, V::all(0.0f)), of_0, result);
    return V::select(V::at_most(x, of_bits<V>(kSign | 0x4195b844)), V::all(-1.0f), result);
  }
};

/// k ln 2 + log(1 + f), with 1 + x = 2^k (1 + f), 1 + f from sqrt(1/2) to sqrt(2), and what was
/// lost where 1 + x was rounded. Near 0, f is x.
struct FloatLog1p {
  using V = Lanes256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) {
    return V::both(V::less(V::all(-1.0f), x), V::less(x, of_bits<V>(kInfinity)));
  }

  static OFL_INLINE Floats of(Floats x) {
    constexpr float kTerms[] = {6.6666668653e-01f, 4.0000000596e-01f, 2.8571429849e-01f,
                                2.2222198546e-01f, 1.8183572590e-01f, 1.5313838422e-01f,
                                1.4798198640e-01f};
    const Floats one = V::all(1.0f), zero = V::all(0.0f);
    const Mask near =
        V::both(V::at_most(of_bits<V>(0xbe95f61f), x), V::less(x, of_bits<V>(0x3ed413d7)));
    const Floats u = V::add(one, x);
    const Floats lost = V::select(V::at_most(V::all(2.0f), u), V::subtract(one, V::subtract(u, x)),
                                  V::subtract(x, V::subtract(u, one)));
    // Counted from sqrt(1/2), the exponent is k without a comparison.
    const Ints from = V::subtract(V::as_ints(u), V::all_bits(0x3f3504f7));
    const Ints scale = V::bits_and(from, V::all_bits(0xff800000));
    Floats f = V::subtract(V::as_floats(V::subtract(V::as_ints(u), scale)), one);
    const Floats k = V::drop(near, V::to_floats(V::right<23>(from)));
    const Floats more = V::drop(V::equal(k, zero), V::divide(lost, u));
    // A little below a power of two the library has a shorter formula.
    const Mask is_tiny = V::both(V::less(V::all(-0x1p-22f), f), V::less(f, zero));
    f = V::select(near, x, f);
    const Floats half_square = V::multiply(V::multiply(V::all(0.5f), f), f);
    const Floats s = V::divide(f, V::add(V::all(2.0f), f)), z = V::multiply(s, s);
    const Floats r = V::multiply(z, rounded_polynomial<V>(z, kTerms));
    const Floats tail = V::add(V::multiply(k, V::all(kLn2Low)), more);
    const Floats whole = V::multiply(s, V::add(half_square, r));
    const Floats usual = V::subtract(half_square, V::add(whole, tail));
    const Floats third = V::subtract(one, V::multiply(V::all(0.66666666666666666f), f));
    const Floats tiny = V::subtract(V::multiply(half_square, third), tail);
    const Floats sum = V::select(V::and_not(is_tiny, near), tiny, usual);
    const Floats log = V::subtract(V::multiply(k, V::all(kLn2High)), V::subtract(sum, f));
    return V::select(V::less(magnitude<V>(x), V::all(0x1p-29f)), x, log);  // -0.0, too
  }
};

/// atan(c) + atan((|x| - c) / (1 + c |x|)), with c one of 0, 1/2, 1, 3/2 and infinity.
struct FloatAtan {
  using V = Lanes256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::equal(x, x); }

  static OFL_INLINE Floats of(Floats x) {
    constexpr float kEven[] = {3.3333334327e-01f, 1.4285714924e-01f, 9.0908870101e-02f,
                               6.6610731184e-02f, 4.9768779427e-02f, 1.6285819933e-02f};
    constexpr float kOdd[] = {-2.0000000298e-01f, -1.1111110449e-01f, -7.6918758452e-02f,
                              -5.8335702866e-02f, -3.6531571299e-02f};
    // By how many of four limits are not above |x|: the quotient is (a |x| + b) / (c |x| + d).
    constexpr float kA[8] = {1, 2, 1, 1, 0}, kB[8] = {0, -1, -1, -1.5f, -1};
    constexpr float kC[8] = {0, 1, 1, 1.5f, 1}, kD[8] = {1, 2, 1, 1, 0};
    constexpr float kHigh[8] = {0, 4.6364760399e-01f, 7.8539812565e-01f, 9.8279368877e-01f,
                                1.5707962513e+00f};
    constexpr float kLow[8] = {0, 5.0121582440e-09f, 3.7748947079e-08f, 3.4473217170e-08f,
                               7.5497894159e-08f};
    const Floats size = magnitude<V>(x);
    Ints row = V::all_bits(0);
    for (const float limit : {0.4375f, 0.6875f, 1.1875f, 2.4375f}) {
      row = V::subtract(row, V::as_ints(V::at_most(V::all(limit), size)));
    }
    const Floats above = V::add(V::multiply(V::lookup(kA, row), size), V::lookup(kB, row));
    const Floats below = V::add(V::multiply(V::lookup(kC, row), size), V::lookup(kD, row));
    const Floats y = V::divide(above, below), z = V::multiply(y, y), w = V::multiply(z, z);
    const Floats even = V::multiply(z, rounded_polynomial<V>(w, kEven));
    const Floats odd = V::multiply(w, rounded_polynomial<V>(w, kOdd));
    const Floats less = V::subtract(V::multiply(y, V::add(even, odd)), V::lookup(kLow, row));
    Floats r = V::subtract(V::lookup(kHigh, row), V::subtract(less, y));
    r = V::select(V::at_most(V::all(0x1p25f), size), V::all(kHigh[4] + kLow[4]), r);
    return V::with_sign(r, x);
  }
};

/// Of t = e^|x| - 1: (t + t / (t + 1)) / 2, with the sign of x.
struct FloatSinh {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return FloatExpm1::are_plain(magnitude<V>(x)); }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), size = magnitude<V>(x), t = FloatExpm1::of(size);
    const Floats half = V::with_sign(V::all(0.5f), x);
    const Mask is_small = V::less(size, one);
    const Floats quotient = V::divide(V::select(is_small, V::multiply(t, t), t), V::add(t, one));
    const Floats sum = V::select(is_small, V::subtract(V::multiply(V::all(2.0f), t), quotient),
                                 V::add(t, quotient));
    return V::select(V::less(size, V::all(0x1p-28f)), x, V::multiply(half, sum));
  }
};

/// (t + 1 / t) / 2 of t = e^|x|. Near 0, of t = e^|x| - 1: 1 + t^2 / (2 (1 + t)).
struct FloatCosh {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) {
    return V::less(magnitude<V>(x), of_bits<V>(0x42b17180));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), half = V::all(0.5f), size = magnitude<V>(x);
    const Mask is_small = V::less(size, of_bits<V>(0x3eb17218));
    const Floats power = in_doubles<FloatExp>(size);
    const Floats t = V::subtract(size, FloatExpm1::lack(size, V::all(0.0f)));
    const Floats sum = V::add(one, t);
    const Floats above = V::select(is_small, V::multiply(t, t), half);
    const Floats below = V::select(is_small, V::add(sum, sum), power);
    const Floats first = V::select(is_small, one, V::multiply(half, power));
    return V::add(first, V::divide(above, below));
  }
};

/// log(1 + 2 |x| / (1 - |x|)) / 2, with the sign of x.
struct FloatAtanh {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::less(magnitude<V>(x), V::all(1.0f)); }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), size = magnitude<V>(x), twice = V::add(size, size);
    const Mask is_small = V::less(size, V::all(0.5f));
    const Floats above = V::select(is_small, V::multiply(twice, size), twice);
    const Floats quotient = V::divide(above, V::subtract(one, size));
    const Floats log = FloatLog1p::of(V::select(is_small, V::add(twice, quotient), quotient));
    const Floats half = V::with_sign(V::all(0.5f), x);
    return V::select(V::less(size, V::all(0x1p-28f)), x, V::multiply(half, log));
  }
};

/// log(x) where the mask is set, and elsewhere log(1 + x).
OFL_INLINE Lanes256::Floats log_of(Lanes256::Mask is_log, Lanes256::Floats x) {
  using V = Lanes256;
  V::Floats log = x;
  if (V::lanes_of(is_log) != 0) {
    log = in_doubles<FloatLog>(x);
    if (V::is_all(is_log)) return log;
  }
  return V::select(is_log, log, FloatLog1p::of(x));
}

constexpr float kLn2 = 6.9314718246e-01f;

/// With s = sqrt(1 + x^2) and the sign of x: log(1 + |x| + x^2 / (1 + s)). Above 2 it is
/// log(2 |x| + 1 / (s + |x|)), and above 2^15 log(|x|) + ln 2.
struct FloatAsinh {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) {
    return V::less(magnitude<V>(x), of_bits<V>(kInfinity));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), size = magnitude<V>(x), square = V::multiply(size, size);
    const Mask is_log = V::less(V::all(2.0f), size), is_large = V::less(V::all(0x1p15f), size);
    const Floats root = V::square_root(V::add(one, square));
    const Floats above = V::select(is_log, one, square);
    const Floats quotient = V::divide(above, V::add(root, V::select(is_log, size, one)));
    const Floats first = V::select(is_log, V::add(size, size), size);
    const Floats log = log_of(is_log, V::select(is_large, size, V::add(first, quotient)));
    const Floats result = V::add(log, V::keep(is_large, V::all(kLn2)));
    return V::select(V::less(size, V::all(0x1p-15f)), x, V::with_sign(result, x));
  }
};

/// With t = x - 1: log(1 + t + sqrt(2 t + t^2)). Above 2 it is
/// log(2 x - 1 / (x + sqrt(x^2 - 1))), and from 2^28 log(x) + ln 2.
struct FloatAcosh {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) {
    return V::both(V::at_most(V::all(1.0f), x), V::less(x, of_bits<V>(kInfinity)));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0f), twice = V::add(x, x), t = V::subtract(x, one);
    const Mask is_log = V::less(V::all(2.0f), x), is_large = V::at_most(V::all(0x1p28f), x);
    const Floats above_2 = V::subtract(V::multiply(x, x), one);
    const Floats up_to_2 = V::add(V::add(t, t), V::multiply(t, t));
    const Floats root = V::square_root(V::select(is_log, above_2, up_to_2));
    const Floats usual = V::subtract(twice, V::divide(one, V::add(x, root)));
    const Floats argument = V::select(is_log, usual, V::add(t, root));
    const Floats log = log_of(is_log, V::select(is_large, x, argument));
    return V::add(log, V::keep(is_large, V::all(kLn2)));
  }
};

/// The root of m, from 1/2 to 1, times that of a power of two.
struct FloatCbrt {
  using V = Lanes256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) {
    const Floats size = magnitude<V>(x);
    const Mask normal =
        V::both(V::at_most(of_bits<V>(kLeastNormal), size), V::less(size, of_bits<V>(kInfinity)));
    return V::either(normal, V::equal(x, V::all(0.0f)));
  }

  /// In double precision.
  static OFL_INLINE __m256d first_guess(__m256d m) {
    const __m256d slope = _mm256_sub_pd(_mm256_set1_pd(0.697570460207922770),
                                        _mm256_mul_pd(_mm256_set1_pd(0.191502161678719066), m));
    return _mm256_add_pd(_mm256_set1_pd(0.492659620528969547), _mm256_mul_pd(slope, m));
  }

  static OFL_INLINE __m256d better_guess(__m256d u, __m256d cube, __m256d m, __m256d factor) {
    const __m256d two = _mm256_set1_pd(2.0);
    const __m256d above = _mm256_mul_pd(u, _mm256_add_pd(cube, _mm256_mul_pd(two, m)));
    const __m256d below = _mm256_add_pd(_mm256_mul_pd(two, cube), m);
    return _mm256_mul_pd(_mm256_div_pd(above, below), factor);
  }

  static OFL_INLINE Floats of(Floats x) {
    constexpr double kRoot2 = 1.2599210498948731648, kRoot4 = 1.5874010519681994748;
    // 2^(r / 3), for r from -2 to 2.
    alignas(64) static constexpr double kFactors[] = {1.0 / kRoot4, 1.0 / kRoot2, 1.0, kRoot2,
                                                      kRoot4};
    const Ints bits = V::as_ints(magnitude<V>(x));
    const Ints exponent = V::subtract(V::right<23>(bits), V::all_bits(126));
    const Floats m = V::as_floats(
        V::bits_or(V::bits_and(bits, V::all_bits(0x007fffff)), V::all_bits(0x3f000000)));
    // exponent / 3, towards zero: right for all from -126 to 128.
    Ints third = V::right<16>(_mm256_mullo_epi32(exponent, V::all_bits(21846)));
    third = V::subtract(third, V::right<31>(exponent));
    const Ints remainder = V::subtract(exponent, V::add(third, V::add(third, third)));
    const Ints row = V::add(remainder, V::all_bits(2));
    const Floats u = V::of_doubles(first_guess(V::low(m)), first_guess(V::high(m)));
    const Floats cube = V::multiply(V::multiply(u, u), u);
    const __m256d factor_low = _mm256_i32gather_pd(kFactors, _mm256_castsi256_si128(row), 8);
    const __m256d factor_high = _mm256_i32gather_pd(kFactors, _mm256_extracti128_si256(row, 1), 8);
    const Floats root =
        V::of_doubles(better_guess(V::low(u), V::low(cube), V::low(m), factor_low),
                      better_guess(V::high(u), V::high(cube), V::high(m), factor_high));
    const Ints scaled = V::add(V::as_ints(root), V::left<23>(third));
    const Floats signed_root = V::with_sign(V::as_floats(scaled), x);
    return V::select(V::equal(x, V::all(0.0f)), x, signed_root);
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
