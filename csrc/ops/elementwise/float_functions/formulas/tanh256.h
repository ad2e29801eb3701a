// Float32 tanh with the bits of NumPy's loop: rows of the table are read as vectors and transposed.
// For regions that are compiled for AVX2.
#pragma once

#include "ops/elementwise/float_functions/formulas/functions.h"
#include "ops/elementwise/float_functions/formulas/lanes256.h"
#include "ops/elementwise/float_functions/formulas/tanh_table.h"

namespace ofl::ops::float_functions {

namespace {

struct Tanh256 {
  using Element = float;
  using V = Lanes256;
  using Floats = V::Floats;
  using Ints = V::Ints;
  static constexpr int64_t kGrain = 16, kMost = 256;
  static constexpr uint32_t kLargestFinite = 0x7f7fffff;

  /// The 4 x 4 transposes of the lower and the upper halves.
  static OFL_INLINE void transpose(Floats a, Floats b, Floats c, Floats d, Floats* out) {
    const Floats ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    const Floats ab_high = _mm256_unpackhi_ps(a, b), cd_high = _mm256_unpackhi_ps(c, d);
    out[0] = _mm256_shuffle_ps(ab, cd, 0x44);
    out[1] = _mm256_shuffle_ps(ab, cd, 0xee);
    out[2] = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
    out[3] = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
  }

  /// Half a row for lane j, and half a row for lane j + 4.
  static OFL_INLINE Floats halves(const char* low, const char* high) {
    const Floats r = _mm256_castps128_ps256(_mm_load_ps(reinterpret_cast<const float*>(low)));
    return _mm256_insertf128_ps(r, _mm_load_ps(reinterpret_cast<const float*>(high)), 1);
  }

  /// Where the rows are, in bytes: for lanes 0-3 of a and of b, then for lanes 4-7. The exponent
  /// and two bits of the fraction name a row; they are the number of its bytes already.
  static OFL_INLINE Ints offsets(Ints a, Ints b) {
    const Ints last = V::all_bits(0x41200000);
    const Ints upper = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_min_epi32(a, last), 16),
                                           _mm256_srli_epi32(_mm256_min_epi32(b, last), 16));
    return _mm256_and_si256(_mm256_subs_epu16(upper, _mm256_set1_epi16(0x3d40)),
                            _mm256_set1_epi16(0x7fe0));
  }

  /// Of 8 lanes, whose rows are at at[0] to at[3] and at[8] to at[11].
  static OFL_INLINE Floats evaluate(Floats x, const uint16_t* at) {
    const char* table = reinterpret_cast<const char*>(kTanhTable);
    const char *r0 = table + at[0], *r1 = table + at[1], *r2 = table + at[2], *r3 = table + at[3];
    const char *r4 = table + at[8], *r5 = table + at[9], *r6 = table + at[10], *r7 = table + at[11];
    constexpr int kHalf = 16;
    Floats c[kTanhTerms];
    transpose(halves(r0, r4), halves(r1, r5), halves(r2, r6), halves(r3, r7), c);
    transpose(halves(r0 + kHalf, r4 + kHalf), halves(r1 + kHalf, r5 + kHalf),
              halves(r2 + kHalf, r6 + kHalf), halves(r3 + kHalf, r7 + kHalf), c + 4);
    const Floats y = V::subtract(magnitude<V>(x), c[0]);
    Floats r = c[7];
    for (int k = 6; k > 0; --k) r = V::fused(r, y, c[k]);
    return _mm256_or_ps(r, _mm256_and_ps(of_bits<V>(kSign), x));
  }

  static OFL_INLINE Floats infinite_or_nan(Floats x, Floats r) {
    const Floats one = _mm256_or_ps(V::all(1.0f), _mm256_and_ps(of_bits<V>(kSign), x));
    r = V::select(V::equal(magnitude<V>(x), of_bits<V>(kInfinity)), one, r);
    return V::select(V::unordered(x), of_bits<V>(kQuietNan), r);
  }

  /// Of n elements, a multiple of kGrain up to kMost, in two passes: first where the rows are. In
  /// one pass these, the rows and the polynomial are one chain, too long for the processor's
  /// window.
  static OFL_INLINE void many(const float* in, float* out, int64_t n, void*) {
    alignas(32) uint16_t at[kMost];
    Ints largest = V::all_bits(0);
    for (int64_t k = 0; k < n; k += kGrain) {
      const Ints a = V::as_ints(magnitude<V>(V::load(in + k)));
      const Ints b = V::as_ints(magnitude<V>(V::load(in + k + V::kLanes)));
      largest = _mm256_max_epi32(largest, _mm256_max_epi32(a, b));
      _mm256_store_si256(reinterpret_cast<Ints*>(at + k), offsets(a, b));
    }
    asm("" : "+m"(at));  // in memory: to take them from vectors keeps the ports of shuffles busy
    const bool finite = V::none_above(largest, kLargestFinite);
    for (int64_t k = 0; k < n; k += kGrain) {
      const Floats a = V::load(in + k), b = V::load(in + k + V::kLanes);
      Floats p = evaluate(a, at + k), q = evaluate(b, at + k + 4);
      if (__builtin_expect(!finite, 0)) p = infinite_or_nan(a, p), q = infinite_or_nan(b, q);
      V::store(out + k, p);
      V::store(out + k + V::kLanes, q);
    }
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
