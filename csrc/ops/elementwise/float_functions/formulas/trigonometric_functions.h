// Float32 tan, asin and acos with the bits of C libraries that have these formulas, as glibc 2.36
// has: fdlibm's (licenses/fdlibm.txt), with a reduction of tan's range in doubles, and for asin a
// shorter polynomial. For regions that are compiled for AVX2. As in library_functions.h, no product
// and sum are fused, and masks choose.
#pragma once

#include "ops/elementwise/float_functions/formulas/library_functions.h"

namespace ofl::ops::float_functions {

namespace {

/// x without the lower half of its digits, so that products of two are exact.
OFL_INLINE Lanes256::Floats upper_half(Lanes256::Floats x) {
  using V = Lanes256;
  return V::as_floats(V::bits_and(V::as_ints(x), V::all_bits(0xfffff000)));
}

/// tan(y) or -1 / tan(y): k is the integer at x * 2 / pi, and y = x - k pi / 2, in two parts. Near
/// pi / 4, y is reflected there.
struct FloatTan {
  using V = Lanes256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::less(magnitude<V>(x), V::all(120.0f)); }

  /// Rounded from 24 bits after the point, which are truncated.
  static OFL_INLINE __m128i whole(__m256d x) {
    const __m256d scaled = _mm256_mul_pd(x, _mm256_set1_pd(0x1.45f306dc9c883p23));
    return _mm_srai_epi32(_mm_add_epi32(_mm256_cvttpd_epi32(scaled), _mm_set1_epi32(1 << 23)), 24);
  }

  static OFL_INLINE __m256d rest(__m256d x, __m128i k) {
    const __m256d product =
        _mm256_mul_pd(_mm256_cvtepi32_pd(k), _mm256_set1_pd(0x1.921fb54442d18p0));
    return _mm256_sub_pd(x, product);
  }

  static OFL_INLINE Floats of(Floats x) {
    const __m128i k_low = whole(V::low(x)), k_high = whole(V::high(x));
    const __m256d low = rest(V::low(x), k_low), high = rest(V::high(x), k_high);
    const Floats y = V::of_doubles(low, high);
    const Floats more =
        V::of_doubles(_mm256_sub_pd(low, V::low(y)), _mm256_sub_pd(high, V::high(y)));
    const Ints k = _mm256_set_m128i(k_high, k_low);
    return of_rest(y, more, V::as_floats(V::left<31>(k)));
  }

  /// tan(y + more) - y. y is at most 0.6744.
  static OFL_INLINE Floats excess(Floats y, Floats more) {
    constexpr float kEven[] = {1.3333334029e-01f, 2.1869488060e-02f, 3.5920790397e-03f,
                               5.8804126456e-04f, 7.8179444245e-05f, -1.8558637748e-05f};
    constexpr float kOdd[] = {5.3968254477e-02f, 8.8632395491e-03f, 1.4562094584e-03f,
                              2.4646313977e-04f, 7.1407252108e-05f, 2.5907305826e-05f};
    const Floats z = V::multiply(y, y), w = V::multiply(z, z), cube = V::multiply(z, y);
    const Floats even = rounded_polynomial<V>(w, kEven);
    const Floats odd = V::multiply(z, rounded_polynomial<V>(w, kOdd));
    const Floats inner = V::add(V::multiply(cube, V::add(even, odd)), more);
    const Floats r = V::add(more, V::multiply(z, inner));
    return V::add(r, V::multiply(V::all(3.3333334327e-01f), cube));
  }

  /// The sign of `turns` says whether it is tan or -1 / tan.
  static OFL_INLINE Floats of_rest(Floats y, Floats more, Floats turns) {
    const Floats one = V::all(1.0f), two = V::all(2.0f), size = magnitude<V>(y);
    const Floats turn = V::with_sign(one, turns);
    const Mask is_tiny = V::less(size, V::all(0x1p-13f));
    const Mask is_large = V::at_most(of_bits<V>(0x3f2ca140), size);
    const Floats sign = V::with_sign(one, y);
    const Floats lower = V::subtract(V::all(3.7748947079e-08f), V::multiply(sign, more));
    const Floats reflected = V::add(V::subtract(V::all(7.8539812565e-01f), size), lower);
    const Floats x = V::select(is_large, reflected, y);
    const Floats r = excess(x, V::drop(is_large, more)), sum = V::add(x, r);
    const Floats above = V::select(is_large, V::multiply(sum, sum), V::all(-1.0f));
    const Floats below = V::select(is_large, V::add(sum, turn), V::select(is_tiny, y, sum));
    const Floats quotient = V::divide(above, below);
    // Near pi / 4.
    const Floats signs = V::multiply(sign, turn);
    const Floats close =
        V::multiply(signs, V::subtract(one, V::multiply(V::multiply(two, turn), x)));
    Floats large = V::subtract(x, V::subtract(quotient, r));
    large = V::multiply(sign, V::subtract(turn, V::multiply(two, large)));
    large = V::select(V::less(magnitude<V>(x), V::all(0x1p-13f)), close, large);
    // -1 / (x + r), with the quotient as a first guess.
    const Floats upper = upper_half(sum), guess = upper_half(quotient);
    const Floats lost = V::subtract(r, V::subtract(upper, x));
    const Floats error = V::add(one, V::multiply(guess, upper));
    const Floats step = V::multiply(quotient, V::add(error, V::multiply(guess, lost)));
    const Floats inverse = V::select(is_tiny, quotient, V::add(guess, step));
    const Floats small = V::select_by_sign(V::as_ints(turns), inverse, V::select(is_tiny, y, sum));
    return V::select(is_large, large, small);
  }
};

/// x + x^3 P(x^2). From 1/2 it is pi / 2 - 2 asin(s), with s = sqrt((1 - |x|) / 2), and the sign of
/// x.
struct FloatAsin {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::at_most(magnitude<V>(x), V::all(1.0f)); }

  static OFL_INLINE Floats of(Floats x) {
    constexpr float kTerms[] = {1.666675248e-1f, 7.495297643e-2f, 4.547037598e-2f, 2.417951451e-2f,
                                4.216630880e-2f};
    constexpr float kLow = -4.37113900018624283e-8f;
    const Floats half = V::all(0.5f), two = V::all(2.0f), size = magnitude<V>(x);
    const Mask is_small = V::less(size, half);
    const Floats rest = V::multiply(V::subtract(V::all(1.0f), size), half);
    const Floats t = V::select(is_small, V::multiply(x, x), rest);
    const Floats p = V::multiply(t, rounded_polynomial<V>(t, kTerms));
    const Floats small = V::add(x, V::multiply(x, p));
    const Floats s = V::square_root(t), upper = upper_half(s);
    const Floats twice = V::multiply(two, V::add(s, V::multiply(s, p)));
    const Floats near_one =
        V::subtract(V::all(1.57079637050628662109375f), V::subtract(twice, V::all(kLow)));
    // The difference of s and its upper half.
    const Floats lack = V::divide(V::subtract(t, V::multiply(upper, upper)), V::add(s, upper));
    const Floats more = V::subtract(V::all(kLow), V::multiply(two, lack));
    const Floats part = V::subtract(V::multiply(V::multiply(two, s), p), more);
    const Floats quarter = V::all(0.785398185253143310546875f);
    const Floats left = V::subtract(quarter, V::multiply(two, upper));
    const Floats usual = V::subtract(quarter, V::subtract(part, left));
    const Floats large = V::select(V::at_most(of_bits<V>(0x3f79999a), size), near_one, usual);
    return V::select(is_small, small, V::with_sign(large, x));
  }
};

/// pi / 2 - asin(x), with asin(x) = x + x P(x^2) / Q(x^2). From 1/2 it is 2 asin(s), with
/// s = sqrt((1 - |x|) / 2), and below -1/2 pi - 2 asin(s).
struct FloatAcos {
  using V = Lanes256;
  using Floats = V::Floats;
  using Mask = V::Mask;

  static OFL_INLINE Mask are_plain(Floats x) { return V::at_most(magnitude<V>(x), V::all(1.0f)); }

  static OFL_INLINE Floats of(Floats x) {
    constexpr float kAbove[] = {1.6666667163e-01f,  -3.2556581497e-01f, 2.0121252537e-01f,
                                -4.0055535734e-02f, 7.9153501429e-04f,  3.4793309169e-05f};
    constexpr float kBelow[] = {1.0f, -2.4033949375e+00f, 2.0209457874e+00f, -6.8828397989e-01f,
                                7.7038154006e-02f};
    const Floats two = V::all(2.0f), half = V::all(0.5f), size = magnitude<V>(x);
    const Floats low = V::all(7.5497894159e-08f);
    const Mask is_small = V::less(size, half);
    const Floats rest = V::multiply(V::subtract(V::all(1.0f), size), half);
    const Floats z = V::select(is_small, V::multiply(x, x), rest);
    const Floats p = V::multiply(z, rounded_polynomial<V>(z, kAbove));
    const Floats r = V::divide(p, rounded_polynomial<V>(z, kBelow));
    const Floats less = V::subtract(x, V::subtract(low, V::multiply(x, r)));
    const Floats small = V::subtract(V::all(1.5707962513e+00f), less);
    const Floats s = V::square_root(z), upper = upper_half(s), product = V::multiply(r, s);
    const Floats below = V::add(s, V::subtract(product, low));
    const Floats negative = V::subtract(V::all(3.1415925026e+00f), V::multiply(two, below));
    // The difference of s and its upper half. It is 0 where s is.
    const Floats quotient = V::divide(V::subtract(z, V::multiply(upper, upper)), V::add(s, upper));
    const Floats lack = V::drop(V::equal(z, V::all(0.0f)), quotient);
    const Floats positive = V::multiply(two, V::add(upper, V::add(product, lack)));
    return V::select(is_small, small, V::select_by_sign(V::as_ints(x), negative, positive));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
