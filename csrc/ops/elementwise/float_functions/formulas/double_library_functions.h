// Float64 expm1 and log1p with the bits of C libraries that have fdlibm's formulas
// (licenses/fdlibm.txt), compiled for processors with fused operations, as glibc has from 2.39 on
// and in updates from 2.34 on. For regions that are compiled for AVX2.
//
// The functions are as in library_functions.h.
#pragma once

#include "ops/elementwise/float_functions/formulas/doubles256.h"

namespace ofl::ops::float_functions {

namespace {

constexpr double kDoubleLn2High = 6.93147180369123816490e-01;
constexpr double kDoubleLn2Low = 1.90821492927058770002e-10;

/// e^x - 1 = 2^k (e^r - 1) + 2^k - 1: k is the integer at x / ln 2, and r = x - k ln 2 (ln 2 in two
/// parts).
struct DoubleExpm1 {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE Floats are_plain(Floats x) { return V::less(x, V::all(709.0)); }

  static OFL_INLINE Floats of(Floats x) {
    x = V::largest(x, V::all(-64.0));  // the result is -1 from there on
    const Floats one = V::all(1.0), half = V::all(0.5), zero = V::all(0.0);
    const Floats outside = V::at_most(V::all(0x1.62e43p-2), V::magnitude(x));
    if (!V::is_any(outside)) return of_near(x);
    const Floats scaled = V::multiply(V::all(1.44269504088896338700e+00), x);
    const Floats k = V::keep(outside, V::truncate(V::add(scaled, V::with_sign(half, x))));
    const Floats high = V::less_fused(k, V::all(kDoubleLn2High), x);
    const Floats low = V::multiply(k, V::all(kDoubleLn2Low));
    const Floats r = V::subtract(high, low), rest = V::subtract(V::subtract(high, r), low);
    const Floats half_r = V::multiply(half, r), square = V::multiply(r, half_r);
    const Floats is_0 = V::equal(k, zero);
    Floats e = V::subtract(V::multiply(square, quotient(r, half_r, square)), rest);
    e = V::subtract(V::fused_less(r, e, V::select(is_0, square, rest)), V::drop(is_0, square));
    const Floats of_0 = V::subtract(r, e);
    const Floats of_minus_1 = V::subtract(V::multiply(half, of_0), half);
    const Floats below_quarter = V::multiply(V::all(-2.0), V::subtract(e, V::add(r, half)));
    const Floats of_1 = V::select(V::less(r, V::all(-0.25)), below_quarter,
                                  V::add(one, V::multiply(V::all(2.0), of_0)));
    Floats result = of_others(k, r, e);
    result = V::select(V::equal(k, one), of_1, result);
    result = V::select(V::equal(k, V::all(-1.0)), of_minus_1, result);
    return V::select(is_0, of_0, result);
  }

 private:
  /// Of k = 0.
  static OFL_INLINE Floats of_near(Floats x) {
    const Floats half_x = V::multiply(V::all(0.5), x), square = V::multiply(x, half_x);
    const Floats e = V::multiply(square, quotient(x, half_x, square));
    return V::subtract(x, V::fused_less(x, e, square));
  }

  /// Of a polynomial p of r^2 / 2: (p - t) / (6 - r t), with t = 3 - p r / 2.
  static OFL_INLINE Floats quotient(Floats r, Floats half_r, Floats square) {
    const auto terms = [&](double c0, double c1) {
      return V::fused(square, V::all(c1), V::all(c0));
    };
    const Floats fourth = V::multiply(square, square);
    Floats p = terms(1.0, -3.33333333333331316428e-02);
    p = V::fused(fourth, terms(1.58730158725481460165e-03, -7.93650757867487942473e-05), p);
    p = V::fused(V::multiply(fourth, fourth),
                 terms(4.00821782732936239552e-06, -2.01099218183624371326e-07), p);
    const Floats t = V::less_fused(p, half_r, V::all(3.0));
    return V::divide(V::subtract(p, t), V::less_fused(r, t, V::all(6.0)));
  }

  /// Of k from 2 up, and from -2 down.
  static OFL_INLINE Floats of_others(Floats k, Floats r, Floats e) {
    const Floats one = V::all(1.0), less = V::subtract(e, r);
    // The sum has k in its low bits.
    const Ints power = V::left<52>(V::as_ints(V::add(k, V::all(0x1.8p52))));
    const Floats inverse = V::as_floats(V::subtract(V::as_ints(one), power));  // 2^-k
    const Floats is_last = V::either(V::less(k, V::all(0.0)), V::less(V::all(56.0), k));
    const Floats of_few = V::subtract(V::subtract(one, inverse), less);
    const Floats of_many = V::add(V::subtract(r, V::add(e, inverse)), one);
    Floats y = V::select(V::less(k, V::all(20.0)), of_few, of_many);
    y = V::select(is_last, V::subtract(one, less), y);
    y = V::as_floats(V::add(V::as_ints(y), power));
    return V::subtract(y, V::keep(is_last, one));
  }
};

/// k ln 2 + log(1 + f), with 1 + x = 2^k (1 + f), 1 + f from sqrt(1/2) to sqrt(2), and what was
/// lost where 1 + x was rounded. Near 0, f is x.
struct DoubleLog1p {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE Floats are_plain(Floats x) {
    return V::both(V::less(V::all(-1.0), x), V::at_most(x, V::all(0x1.fffffffffffffp1023)));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats near =
        V::both(V::less(V::all(-0x1.2bec4p-2), x), V::less(x, V::all(0x1.a827ap-2)));
    const Floats log = V::is_all(near) ? of_near(x) : of_any(x, near);
    const Floats tiny = V::less_fused(V::multiply(x, x), V::all(0.5), x);  // of -0.0, too
    return V::select(V::less(V::magnitude(x), V::all(0x1p-29)), tiny, log);
  }

 private:
  static OFL_INLINE Floats of_near(Floats x) {
    const Floats half_square = V::multiply(V::multiply(V::all(0.5), x), x);
    return V::subtract(x, V::subtract(half_square, product(x, half_square)));
  }

  static OFL_INLINE Floats of_any(Floats x, Floats near) {
    const Floats one = V::all(1.0), zero = V::all(0.0), is_large = V::at_most(V::all(0x1p53), x);
    const Floats u = V::add(x, V::drop(is_large, one));
    const Floats lost = V::select(V::at_most(V::all(2.0), u), V::subtract(one, V::subtract(u, x)),
                                  V::subtract(x, V::subtract(u, one)));
    // Counted from sqrt(1/2), the exponent is k without a comparison.
    const Ints from = V::subtract(V::as_ints(u), V::all_bits(0x3fe6a09e00000000));
    const Ints scale = V::bits_and(from, V::all_bits(INT64_MIN >> 11));
    Floats f = V::subtract(V::as_floats(V::subtract(V::as_ints(u), scale)), one);
    const Floats k = V::drop(near, V::exponents(from));
    const Floats has_none = V::either(is_large, V::equal(k, zero));
    const Floats more = V::drop(has_none, V::divide(lost, u));
    // Close to a power of two the library has a shorter formula.
    const Floats is_close = V::both(V::at_most(V::all(-0x1.8p-20), f), V::less(f, V::all(0x1p-20)));
    const Floats is_short = V::and_not(is_close, near);
    f = V::select(near, x, f);
    const Floats half_square = V::multiply(V::multiply(V::all(0.5), f), f);
    const Floats tail = V::fused(k, V::all(kDoubleLn2Low), more);
    Floats sum = V::subtract(half_square, V::add(product(f, half_square), tail));
    if (__builtin_expect(V::is_any(is_short), 0)) {
      const Floats third = V::less_fused(V::all(0.66666666666666666), f, one);
      const Floats of_short = V::subtract(V::multiply(half_square, third), tail);
      sum = V::select(is_short, of_short, sum);
    }
    return V::fused_less(k, V::all(kDoubleLn2High), V::subtract(sum, f));
  }

  /// s (f^2 / 2 + a polynomial of s^2), with s = f / (2 + f).
  static OFL_INLINE Floats product(Floats f, Floats half_square) {
    const Floats s = V::divide(f, V::add(V::all(2.0), f)), z = V::multiply(s, s);
    const auto terms = [&](double c0, double c1) { return V::fused(z, V::all(c1), V::all(c0)); };
    const Floats square = V::multiply(z, z), fourth = V::multiply(square, square);
    Floats p = terms(3.999999999940941908e-01, 2.857142874366239149e-01);
    p = V::fused(z, V::all(6.666666666666735130e-01), V::multiply(square, p));
    p = V::fused(fourth, terms(2.222219843214978396e-01, 1.818357216161805012e-01), p);
    p = V::fused(V::multiply(square, fourth),
                 terms(1.531383769920937332e-01, 1.479819860511658591e-01), p);
    return V::multiply(s, V::add(half_square, p));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
