// Float64 expm1, log1p, sinh, cosh, atanh, asinh, acosh and cbrt with the bits of C libraries that
// have these formulas, as glibc 2.36 has: fdlibm's (licenses/fdlibm.txt), and for cbrt one step of
// Halley's method from a polynomial. For regions that are compiled for AVX2.
//
// expm1 and log1p have the bits of glibc's versions for processors with fused operations, which it
// has from 2.39 on and in updates from 2.34 on. In the formulas of the others no product and sum
// are fused, but in expm1, log1p, exp and log (double_functions.h), which they call. The functions
// are as in library_functions.h.
#pragma once

#include "ops/elementwise/float_functions/formulas/double_functions.h"
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

  /// Of k = 0.
  static OFL_INLINE Floats of_near(Floats x) {
    const Floats half_x = V::multiply(V::all(0.5), x), square = V::multiply(x, half_x);
    const Floats e = V::multiply(square, quotient(x, half_x, square));
    return V::subtract(x, V::fused_less(x, e, square));
  }

 private:
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

/// A function of double_functions.h. Its places in tables go through memory, as in DoubleBlocks.
template <typename Function>
OFL_INLINE Doubles256::Floats by_table(Doubles256::Floats x) {
  alignas(32) int64_t at[Doubles256::kLanes];
  Doubles256::store(at, Function::at(x));
  asm("" : "+m"(at));
  return Function::of(x, at);
}

/// Of t = e^|x| - 1: (t + t / (t + 1)) / 2, with the sign of x. From 22 on it is e^|x| / 2.
struct DoubleSinh {
  using V = Doubles256;
  using Floats = V::Floats;

  static OFL_INLINE Floats are_plain(Floats x) { return V::less(V::magnitude(x), V::all(512.0)); }

  static OFL_INLINE Floats of(Floats x) {
    const Floats size = V::magnitude(x), half = V::with_sign(V::all(0.5), x);
    const Floats is_large = V::at_most(V::all(22.0), size);
    Floats sum = size;
    if (!V::is_all(is_large)) sum = of_usual(size);
    if (V::is_any(is_large)) sum = V::select(is_large, by_table<DoubleExp>(size), sum);
    return V::select(V::less(size, V::all(0x1p-28)), x, V::multiply(half, sum));
  }

 private:
  static OFL_INLINE Floats of_usual(Floats size) {
    const Floats one = V::all(1.0), is_small = V::less(size, one), t = DoubleExpm1::of(size);
    const Floats quotient = V::divide(V::select(is_small, V::multiply(t, t), t), V::add(t, one));
    return V::select(is_small, V::subtract(V::multiply(V::all(2.0), t), quotient),
                     V::add(t, quotient));
  }
};

/// (t + 1 / t) / 2 of t = e^|x|. Near 0, of t = e^|x| - 1: 1 + t^2 / (2 (1 + t)). From 22 on the
/// library leaves 1 / t out, which is below half a unit in the last place of t.
struct DoubleCosh {
  using V = Doubles256;
  using Floats = V::Floats;

  static OFL_INLINE Floats are_plain(Floats x) { return DoubleSinh::are_plain(x); }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0), half = V::all(0.5), size = V::magnitude(x);
    const Floats is_small = V::less(size, V::all(0x1.62e43p-2));
    const Floats power = V::is_all(is_small) ? one : by_table<DoubleExp>(size);
    const Floats t = V::is_any(is_small) ? DoubleExpm1::of_near(size) : one, sum = V::add(one, t);
    const Floats above = V::select(is_small, V::multiply(t, t), half);
    const Floats below = V::select(is_small, V::add(sum, sum), power);
    const Floats first = V::select(is_small, one, V::multiply(half, power));
    return V::add(first, V::divide(above, below));
  }
};

/// log(1 + 2 |x| / (1 - |x|)) / 2, with the sign of x.
struct DoubleAtanh {
  using V = Doubles256;
  using Floats = V::Floats;

  static OFL_INLINE Floats are_plain(Floats x) { return V::less(V::magnitude(x), V::all(1.0)); }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0), size = V::magnitude(x), twice = V::add(size, size);
    const Floats is_small = V::less(size, V::all(0.5));
    const Floats above = V::select(is_small, V::multiply(twice, size), twice);
    const Floats quotient = V::divide(above, V::subtract(one, size));
    const Floats log = DoubleLog1p::of(V::select(is_small, V::add(twice, quotient), quotient));
    const Floats half = V::with_sign(V::all(0.5), x);
    return V::select(V::less(size, V::all(0x1p-28)), x, V::multiply(half, log));
  }
};

/// log(x) where the mask is set, and elsewhere log(1 + x).
OFL_INLINE Doubles256::Floats log_of(Doubles256::Floats is_log, Doubles256::Floats x) {
  using V = Doubles256;
  V::Floats log = x;
  if (V::is_any(is_log)) {
    log = by_table<DoubleLog>(x);
    if (V::is_all(is_log)) return log;
  }
  return V::select(is_log, log, DoubleLog1p::of(x));
}

constexpr double kDoubleLn2 = 6.93147180559945286227e-01;

/// With s = sqrt(1 + x^2) and the sign of x: log(1 + |x| + x^2 / (1 + s)). Above 2 it is
/// log(2 |x| + 1 / (s + |x|)), and above 2^28 log(|x|) + ln 2. The library looks at the upper 32
/// bits of |x| alone, so above is from 0x1.00001p1 and from 0x1.00001p28 on.
struct DoubleAsinh {
  using V = Doubles256;
  using Floats = V::Floats;

  static OFL_INLINE Floats are_plain(Floats x) {
    return V::at_most(V::magnitude(x), V::all(0x1.fffffffffffffp1023));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0), size = V::magnitude(x), square = V::multiply(size, size);
    const Floats is_log = V::at_most(V::all(0x1.00001p1), size);
    const Floats is_large = V::at_most(V::all(0x1.00001p28), size);
    const Floats root = V::square_root(V::add(one, square));
    const Floats above = V::select(is_log, one, square);
    const Floats quotient = V::divide(above, V::add(root, V::select(is_log, size, one)));
    const Floats first = V::select(is_log, V::add(size, size), size);
    const Floats log = log_of(is_log, V::select(is_large, size, V::add(first, quotient)));
    const Floats result = V::add(log, V::keep(is_large, V::all(kDoubleLn2)));
    return V::select(V::less(size, V::all(0x1p-28)), x, V::with_sign(result, x));
  }
};

/// With t = x - 1: log(1 + t + sqrt(2 t + t^2)). Above 2 it is
/// log(2 x - 1 / (x + sqrt(x^2 - 1))), and from 2^28 log(x) + ln 2.
struct DoubleAcosh {
  using V = Doubles256;
  using Floats = V::Floats;

  static OFL_INLINE Floats are_plain(Floats x) {
    return V::both(V::at_most(V::all(1.0), x), V::at_most(x, V::all(0x1.fffffffffffffp1023)));
  }

  static OFL_INLINE Floats of(Floats x) {
    const Floats one = V::all(1.0), twice = V::add(x, x), t = V::subtract(x, one);
    const Floats is_log = V::less(V::all(2.0), x), is_large = V::at_most(V::all(0x1p28), x);
    const Floats above_2 = V::subtract(V::multiply(x, x), one);
    const Floats up_to_2 = V::add(V::add(t, t), V::multiply(t, t));
    const Floats root = V::square_root(V::select(is_log, above_2, up_to_2));
    const Floats usual = V::subtract(twice, V::divide(one, V::add(x, root)));
    const Floats argument = V::select(is_log, usual, V::add(t, root));
    const Floats log = log_of(is_log, V::select(is_large, x, argument));
    return V::add(log, V::keep(is_large, V::all(kDoubleLn2)));
  }
};

/// The root of m, from 1/2 to 1, times that of a power of two.
struct DoubleCbrt {
  using V = Doubles256;
  using Floats = V::Floats;
  using Ints = V::Ints;

  static OFL_INLINE Floats are_plain(Floats x) {
    const Floats size = V::magnitude(x);
    const Floats normal = V::both(V::at_most(V::all(0x1p-1022), size),
                                  V::at_most(size, V::all(0x1.fffffffffffffp1023)));
    return V::either(normal, V::equal(x, V::all(0.0)));
  }

  static OFL_INLINE Floats of(Floats x) {
    constexpr int64_t kFraction = (int64_t{1} << 52) - 1, kHalf = int64_t{0x3fe} << 52;
    const Floats two = V::all(2.0);
    const Ints bits = V::as_ints(V::magnitude(x));
    const Floats exponent = V::subtract(V::exponents(bits), V::all(1022.0));
    const Floats m =
        V::as_floats(V::add(V::bits_and(bits, V::all_bits(kFraction)), V::all_bits(kHalf)));
    // The factor is a little above 1/3, so that no third of a multiple of 3 is too small.
    const Floats third = V::truncate(V::multiply(exponent, V::all(0x1.5555555555556p-2)));
    const Floats remainder = V::subtract(exponent, V::multiply(V::all(3.0), third));
    const Floats u = first_guess(m), cube = V::multiply(V::multiply(u, u), u);
    const Floats above = V::multiply(u, V::add(cube, V::multiply(two, m)));
    const Floats below = V::add(V::multiply(two, cube), m);
    const Floats root = V::multiply(V::divide(above, below), factor(remainder));
    // The sum has the third in its low bits.
    const Ints power = V::left<52>(V::as_ints(V::add(third, V::all(0x1.8p52))));
    const Floats scaled = V::as_floats(V::add(V::as_ints(root), power));
    return V::select(V::equal(x, V::all(0.0)), x, V::with_sign(scaled, x));
  }

 private:
  static OFL_INLINE Floats first_guess(Floats m) {
    Floats r = V::all(0.145263899385486367);
    for (const double term : {0.784932344976639262, 1.83469277483613086, 2.44693122563534430,
                              2.11499494167371287, 1.50819193781584896}) {
      r = V::subtract(V::all(term), V::multiply(r, m));
    }
    return V::add(V::all(0.354895765043919860), V::multiply(r, m));
  }

  /// 2^(r / 3), for r from -2 to 2.
  static OFL_INLINE Floats factor(Floats r) {
    constexpr double kRoot2 = 1.2599210498948731648, kRoot4 = 1.5874010519681994748;
    const Floats one = V::all(1.0), size = V::magnitude(r);
    const Floats is_1 = V::equal(size, one), is_0 = V::less(size, one);
    const Floats up = V::select(is_1, V::all(kRoot2), V::all(kRoot4));
    const Floats down = V::select(is_1, V::all(1.0 / kRoot2), V::all(1.0 / kRoot4));
    return V::select(is_0, one, V::select(V::less(r, V::all(0.0)), down, up));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
