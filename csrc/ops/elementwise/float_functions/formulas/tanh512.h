// Float32 tanh with the bits of NumPy's loop: each column of the table is two vectors, and one
// instruction takes sixteen of its numbers. For regions that are compiled for AVX-512.
#pragma once

#include "ops/elementwise/float_functions/formulas/functions.h"
#include "ops/elementwise/float_functions/formulas/lanes512.h"
#include "ops/elementwise/float_functions/formulas/tanh_table.h"

namespace ofl::ops::float_functions {

namespace {

struct TanhColumns {
  alignas(64) uint32_t at[kTanhTerms][kTanhRows] = {};
  constexpr TanhColumns() {
    for (int row = 0; row < kTanhRows; ++row) {
      for (int term = 0; term < kTanhTerms; ++term) {
        at[term][row] = kTanhTable[row * kTanhTerms + term];
      }
    }
  }
};
constexpr TanhColumns kTanhColumns;

struct Tanh512 {
  using Floats = Lanes512::Floats;
  using Ints = Lanes512::Ints;
  static constexpr uint32_t kLimit = 0x7f7fffff;  // the largest finite number

  static OFL_INLINE Ints key(Floats x) { return Lanes512::as_ints(magnitude<Lanes512>(x)); }

  /// The exponent and two bits of the fraction, from 1/16 and up to the last row.
  static OFL_INLINE Ints row_of(Floats x) {
    const Ints bits = _mm512_min_epi32(key(x), Lanes512::all_bits(0x41200000));
    const Ints first = Lanes512::all_bits(0x3d400000);
    return _mm512_srli_epi32(Lanes512::subtract(_mm512_max_epi32(bits, first), first), 21);
  }

  static OFL_INLINE Floats term(Ints row, int k) {
    const Floats low = _mm512_load_ps(kTanhColumns.at[k]);
    return _mm512_permutex2var_ps(low, row, _mm512_load_ps(kTanhColumns.at[k] + kTanhRows / 2));
  }

  template <int count>
  static OFL_INLINE void common(Floats (&x)[count]) {
    Ints row[count];
    Floats y[count], r[count];
    for (int j = 0; j < count; ++j) row[j] = row_of(x[j]);
    for (int j = 0; j < count; ++j) {
      y[j] = Lanes512::subtract(magnitude<Lanes512>(x[j]), term(row[j], 0));
      r[j] = term(row[j], kTanhTerms - 1);
    }
    for (int k = kTanhTerms - 2; k > 0; --k) {
      for (int j = 0; j < count; ++j) r[j] = Lanes512::fused(r[j], y[j], term(row[j], k));
    }
    for (int j = 0; j < count; ++j) x[j] = with_sign(r[j], x[j]);
  }

  static OFL_INLINE Floats any(Floats x) {
    Floats r[1] = {x};
    common(r);
    const auto infinite = Lanes512::equal(magnitude<Lanes512>(x), of_bits<Lanes512>(kInfinity));
    r[0] = Lanes512::select(infinite, with_sign(Lanes512::all(1.0f), x), r[0]);
    return Lanes512::select(Lanes512::unordered(x), of_bits<Lanes512>(kQuietNan), r[0]);
  }

 private:
  static OFL_INLINE Floats with_sign(Floats r, Floats x) {
    const Ints sign = Lanes512::bits_and(Lanes512::as_ints(x), Lanes512::all_bits(kSign));
    return Lanes512::as_floats(Lanes512::bits_or(Lanes512::as_ints(r), sign));
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
