// Vectors of sixteen floats, under the names of lanes256.h, which says what they mean. For regions
// that are compiled for AVX-512 (OFL_BEGIN_AVX512).
#pragma once

namespace ofl::ops::float_functions {

namespace {

struct Lanes512 {
  static constexpr int kLanes = 16;
  using Floats = __m512;
  using Ints = __m512i;
  using Mask = __mmask16;

  static OFL_INLINE Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static OFL_INLINE void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  static OFL_INLINE Floats all(float x) { return _mm512_set1_ps(x); }
  static OFL_INLINE Ints all_bits(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static OFL_INLINE Floats as_floats(Ints x) { return _mm512_castsi512_ps(x); }
  static OFL_INLINE Ints as_ints(Floats x) { return _mm512_castps_si512(x); }

  static OFL_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static OFL_INLINE Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static OFL_INLINE Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static OFL_INLINE Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static OFL_INLINE Floats fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static OFL_INLINE Floats largest(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static OFL_INLINE Floats least(Floats a, Floats b) { return _mm512_min_ps(a, b); }

  static OFL_INLINE Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static OFL_INLINE Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
  static OFL_INLINE Ints bits_and(Ints a, Ints b) { return _mm512_and_si512(a, b); }
  static OFL_INLINE Ints bits_or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
  static OFL_INLINE Ints bits_xor(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
  template <int count>
  static OFL_INLINE Ints left(Ints x) {
    return _mm512_slli_epi32(x, count);
  }
  template <int count>
  static OFL_INLINE Ints right(Ints x) {
    return _mm512_srai_epi32(x, count);
  }
  static OFL_INLINE Ints largest_unsigned(Ints a, Ints b) { return _mm512_max_epu32(a, b); }
  static OFL_INLINE bool none_above(Ints x, uint32_t limit) {
    return _mm512_cmpgt_epu32_mask(x, all_bits(limit)) == 0;
  }
  static OFL_INLINE Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
  static OFL_INLINE Ints to_ints(Floats x) { return _mm512_cvtps_epi32(x); }

  static OFL_INLINE Mask less(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static OFL_INLINE Mask at_most(Floats a, Floats b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
  }
  static OFL_INLINE Mask equal(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static OFL_INLINE Mask unordered(Floats x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
  static OFL_INLINE Mask and_not(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
  static OFL_INLINE unsigned lanes_of(Mask mask) { return mask; }
  static OFL_INLINE Floats keep(Mask mask, Floats x) { return _mm512_maskz_mov_ps(mask, x); }
  static OFL_INLINE Floats select(Mask mask, Floats yes, Floats no) {
    return _mm512_mask_blend_ps(mask, no, yes);
  }
  static OFL_INLINE Floats select_by_sign(Ints sign, Floats yes, Floats no) {
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(sign), no, yes);
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
