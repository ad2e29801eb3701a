// Vectors of four doubles, under the names of lanes256.h. For regions that are compiled for AVX2.
#pragma once

namespace ofl::ops::float_functions {

namespace {

struct Doubles256 {
  static constexpr int kLanes = 4;
  using Floats = __m256d;
  using Ints = __m256i;

  static OFL_INLINE Floats load(const double* from) { return _mm256_loadu_pd(from); }
  static OFL_INLINE Floats load(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
  static OFL_INLINE void store(double* to, Floats x) { _mm256_storeu_pd(to, x); }
  static OFL_INLINE void store(float* to, Floats x) { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
  static OFL_INLINE void store(int64_t* to, Ints x) {
    _mm256_storeu_si256(reinterpret_cast<Ints*>(to), x);
  }
  static OFL_INLINE Floats all(double x) { return _mm256_set1_pd(x); }
  static OFL_INLINE Ints all_bits(int64_t x) { return _mm256_set1_epi64x(x); }
  static OFL_INLINE Floats as_floats(Ints x) { return _mm256_castsi256_pd(x); }
  static OFL_INLINE Ints as_ints(Floats x) { return _mm256_castpd_si256(x); }

  static OFL_INLINE Floats add(Floats a, Floats b) { return _mm256_add_pd(a, b); }
  static OFL_INLINE Floats subtract(Floats a, Floats b) { return _mm256_sub_pd(a, b); }
  static OFL_INLINE Floats multiply(Floats a, Floats b) { return _mm256_mul_pd(a, b); }
  static OFL_INLINE Floats divide(Floats a, Floats b) { return _mm256_div_pd(a, b); }
  static OFL_INLINE Floats square_root(Floats x) { return _mm256_sqrt_pd(x); }
  static OFL_INLINE Floats largest(Floats a, Floats b) { return _mm256_max_pd(a, b); }
  /// a * b + c, rounded once.
  static OFL_INLINE Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_pd(a, b, c); }
  /// a * b - c, rounded once.
  static OFL_INLINE Floats fused_less(Floats a, Floats b, Floats c) {
    return _mm256_fmsub_pd(a, b, c);
  }
  /// c - a * b, rounded once.
  static OFL_INLINE Floats less_fused(Floats a, Floats b, Floats c) {
    return _mm256_fnmadd_pd(a, b, c);
  }
  static OFL_INLINE Floats truncate(Floats x) {
    return _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }

  static OFL_INLINE Ints add(Ints a, Ints b) { return _mm256_add_epi64(a, b); }
  static OFL_INLINE Ints subtract(Ints a, Ints b) { return _mm256_sub_epi64(a, b); }
  static OFL_INLINE Ints bits_and(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  static OFL_INLINE Ints bits_xor(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
  template <int count>
  static OFL_INLINE Ints left(Ints x) {
    return _mm256_slli_epi64(x, count);
  }
  /// Without the sign bit.
  template <int count>
  static OFL_INLINE Ints right(Ints x) {
    return _mm256_srli_epi64(x, count);
  }
  /// The upper 12 bits, with their sign, as doubles.
  static OFL_INLINE Floats exponents(Ints x) {
    const Ints odd = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
    const __m128i upper = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, odd));
    return _mm256_cvtepi32_pd(_mm_srai_epi32(upper, 20));
  }

  // No comparison is true of a NaN.
  static OFL_INLINE Floats less(Floats a, Floats b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
  static OFL_INLINE Floats at_most(Floats a, Floats b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
  static OFL_INLINE Floats equal(Floats a, Floats b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
  static OFL_INLINE Floats both(Floats a, Floats b) { return _mm256_and_pd(a, b); }
  static OFL_INLINE Floats either(Floats a, Floats b) { return _mm256_or_pd(a, b); }
  static OFL_INLINE Floats and_not(Floats a, Floats b) { return _mm256_andnot_pd(b, a); }
  /// x, and 0 where the mask is not set.
  static OFL_INLINE Floats keep(Floats mask, Floats x) { return _mm256_and_pd(mask, x); }
  /// x, and 0 where the mask is set.
  static OFL_INLINE Floats drop(Floats mask, Floats x) { return _mm256_andnot_pd(mask, x); }
  static OFL_INLINE bool is_all(Floats mask) { return _mm256_movemask_pd(mask) == 15; }
  /// A number may stand for a mask: its sign bit counts.
  static OFL_INLINE bool is_any(Floats mask) { return _mm256_movemask_pd(mask) != 0; }
  static OFL_INLINE Floats select(Floats mask, Floats yes, Floats no) {
    return _mm256_blendv_pd(no, yes, mask);
  }
  /// To the nearest floats.
  static OFL_INLINE Floats as_of_floats(Floats x) { return _mm256_cvtps_pd(_mm256_cvtpd_ps(x)); }
  /// The signs are others where those of `signs` are negative.
  static OFL_INLINE Floats flip(Floats x, Floats signs) { return _mm256_xor_pd(x, signs); }
  static OFL_INLINE Floats magnitude(Floats x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x); }
  /// x with the signs of the other one. x is not negative.
  static OFL_INLINE Floats with_sign(Floats x, Floats other) {
    return _mm256_or_pd(x, _mm256_and_pd(_mm256_set1_pd(-0.0), other));
  }

  /// A column of a table of numbers: at[j] is where that of lane j is, in bytes.
  static OFL_INLINE Ints column(const void* table, const int64_t* at) {
    const auto row = [&](int j) {
      return reinterpret_cast<const double*>(static_cast<const char*>(table) + at[j]);
    };
    const __m128d low = _mm_loadh_pd(_mm_load_sd(row(0)), row(1));
    const __m128d high = _mm_loadh_pd(_mm_load_sd(row(2)), row(3));
    return _mm256_castpd_si256(_mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1));
  }

  /// Four columns of a table of fours.
  static OFL_INLINE void columns(const void* table, const int64_t* at, Floats* first,
                                 Floats* second, Floats* third, Floats* fourth) {
    const auto row = [&](int j) {
      return _mm256_load_pd(
          reinterpret_cast<const double*>(static_cast<const char*>(table) + at[j]));
    };
    const Floats rows[] = {row(0), row(1), row(2), row(3)};
    const Floats low[] = {_mm256_unpacklo_pd(rows[0], rows[1]),
                          _mm256_unpacklo_pd(rows[2], rows[3])};
    const Floats high[] = {_mm256_unpackhi_pd(rows[0], rows[1]),
                           _mm256_unpackhi_pd(rows[2], rows[3])};
    *first = _mm256_permute2f128_pd(low[0], low[1], 0x20);
    *second = _mm256_permute2f128_pd(high[0], high[1], 0x20);
    *third = _mm256_permute2f128_pd(low[0], low[1], 0x31);
    *fourth = _mm256_permute2f128_pd(high[0], high[1], 0x31);
  }
  static OFL_INLINE void columns(const void* table, const int64_t* at, Floats* first,
                                 Floats* second, Floats* third) {
    Floats fourth;
    columns(table, at, first, second, third, &fourth);
  }

  /// Two columns of a table of pairs.
  static OFL_INLINE void columns(const void* table, const int64_t* at, Floats* first,
                                 Floats* second) {
    const auto row = [&](int j) {
      return _mm_load_pd(reinterpret_cast<const double*>(static_cast<const char*>(table) + at[j]));
    };
    const Floats even = _mm256_insertf128_pd(_mm256_castpd128_pd256(row(0)), row(2), 1);
    const Floats odd = _mm256_insertf128_pd(_mm256_castpd128_pd256(row(1)), row(3), 1);
    *first = _mm256_unpacklo_pd(even, odd);
    *second = _mm256_unpackhi_pd(even, odd);
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
