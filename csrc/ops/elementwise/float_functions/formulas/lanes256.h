// Vectors of eight floats, under the names that functions.h, tanh.h and rows.h use. For regions
// that are compiled for AVX2 (OFL_BEGIN_AVX2).
#pragma once

namespace ofl::ops::float_functions {

namespace {

struct Lanes256 {
  static constexpr int kLanes = 8;
  using Floats = __m256;
  using Ints = __m256i;
  using Mask = __m256;

  static OFL_INLINE Floats load(const float* from) { return _mm256_loadu_ps(from); }
  static OFL_INLINE void store(float* to, Floats x) { _mm256_storeu_ps(to, x); }
  static OFL_INLINE Floats all(float x) { return _mm256_set1_ps(x); }
  static OFL_INLINE Ints all_bits(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static OFL_INLINE Floats as_floats(Ints x) { return _mm256_castsi256_ps(x); }
  static OFL_INLINE Ints as_ints(Floats x) { return _mm256_castps_si256(x); }

  static OFL_INLINE Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static OFL_INLINE Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static OFL_INLINE Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static OFL_INLINE Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static OFL_INLINE Floats square_root(Floats x) { return _mm256_sqrt_ps(x); }
  /// a * b + c, rounded once.
  static OFL_INLINE Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static OFL_INLINE Floats largest(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static OFL_INLINE Floats least(Floats a, Floats b) { return _mm256_min_ps(a, b); }

  static OFL_INLINE Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static OFL_INLINE Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
  static OFL_INLINE Ints bits_and(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  static OFL_INLINE Ints bits_or(Ints a, Ints b) { return _mm256_or_si256(a, b); }
  static OFL_INLINE Ints bits_xor(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
  template <int count>
  static OFL_INLINE Ints left(Ints x) {
    return _mm256_slli_epi32(x, count);
  }
  /// With the sign bit.
  template <int count>
  static OFL_INLINE Ints right(Ints x) {
    return _mm256_srai_epi32(x, count);
  }
  static OFL_INLINE Ints largest_unsigned(Ints a, Ints b) { return _mm256_max_epu32(a, b); }
  static OFL_INLINE bool none_above(Ints x, uint32_t limit) {
    const Ints most = all_bits(limit);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(x, most), most)) == -1;
  }
  static OFL_INLINE Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
  static OFL_INLINE Ints to_ints(Floats x) { return _mm256_cvtps_epi32(x); }
  static OFL_INLINE Floats truncate(Floats x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
  /// x with the signs of the other one. x is not negative.
  static OFL_INLINE Floats with_sign(Floats x, Floats other) {
    return _mm256_or_ps(x, _mm256_and_ps(_mm256_set1_ps(-0.0f), other));
  }
  /// 2^k, of an integer from -126 to 127.
  static OFL_INLINE Floats power_of_two(Floats k) {
    return as_floats(left<23>(add(to_ints(k), all_bits(127))));
  }
  /// The lower four as doubles, the upper four, and both again as floats.
  static OFL_INLINE __m256d low(Floats x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
  static OFL_INLINE __m256d high(Floats x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
  static OFL_INLINE Floats of_doubles(__m256d low, __m256d high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  }
  /// The numbers of the table at 0 to 7.
  static OFL_INLINE Floats lookup(const float (&table)[8], Ints at) {
    return _mm256_permutevar8x32_ps(load(table), at);
  }

  // No comparison is true of a NaN, but unordered().
  static OFL_INLINE Mask less(Floats a, Floats b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static OFL_INLINE Mask at_most(Floats a, Floats b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
  static OFL_INLINE Mask equal(Floats a, Floats b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static OFL_INLINE Mask unordered(Floats x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
  static OFL_INLINE Mask and_not(Mask a, Mask b) { return _mm256_andnot_ps(b, a); }
  static OFL_INLINE Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
  static OFL_INLINE Mask either(Mask a, Mask b) { return _mm256_or_ps(a, b); }
  static OFL_INLINE bool is_all(Mask mask) { return _mm256_movemask_ps(mask) == 0xff; }
  static OFL_INLINE unsigned lanes_of(Mask mask) {
    return static_cast<unsigned>(_mm256_movemask_ps(mask));
  }
  /// x, and 0 where the mask is not set.
  static OFL_INLINE Floats keep(Mask mask, Floats x) { return _mm256_and_ps(mask, x); }
  /// x, and 0 where the mask is set.
  static OFL_INLINE Floats drop(Mask mask, Floats x) { return _mm256_andnot_ps(mask, x); }
  static OFL_INLINE Floats select(Mask mask, Floats yes, Floats no) {
    return _mm256_blendv_ps(no, yes, mask);
  }
  static OFL_INLINE Floats select_by_sign(Ints sign, Floats yes, Floats no) {
    return _mm256_blendv_ps(no, yes, as_floats(sign));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
