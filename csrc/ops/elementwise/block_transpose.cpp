#include "ops/elementwise/block_transpose.h"

#include <cstring>

#include "base/vectors.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
#endif

namespace ofl::ops {

#ifdef OFL_X86_VECTORS

namespace {

/// 8 x 8 words of 4 bytes: interleaves lines, then pairs of them, then halves.
OFL_AVX2 void transpose_words4(const char* in, int64_t in_step, char* const* places,
                               int64_t offset) {
  __m256 line[8], pair[8], four[8];
  for (int k = 0; k < 8; ++k) {
    line[k] = _mm256_loadu_ps(reinterpret_cast<const float*>(in + k * in_step));
  }
  for (int k = 0; k < 8; k += 2) {
    pair[k] = _mm256_unpacklo_ps(line[k], line[k + 1]);
    pair[k + 1] = _mm256_unpackhi_ps(line[k], line[k + 1]);
  }
  for (int k = 0; k < 8; k += 4) {
    for (int high = 0; high < 2; ++high) {
      four[k + 2 * high] = _mm256_shuffle_ps(pair[k + high], pair[k + high + 2], 0x44);
      four[k + 2 * high + 1] = _mm256_shuffle_ps(pair[k + high], pair[k + high + 2], 0xee);
    }
  }
  for (int k = 0; k < 4; ++k) {
    _mm256_storeu_ps(reinterpret_cast<float*>(places[k] + offset),
                     _mm256_permute2f128_ps(four[k], four[k + 4], 0x20));
    _mm256_storeu_ps(reinterpret_cast<float*>(places[k + 4] + offset),
                     _mm256_permute2f128_ps(four[k], four[k + 4], 0x31));
  }
}

/// 4 x 4 words of 8 bytes.
OFL_AVX2 void transpose_words8(const char* in, int64_t in_step, char* const* places,
                               int64_t offset) {
  __m256d line[4], pair[4];
  for (int k = 0; k < 4; ++k) {
    line[k] = _mm256_loadu_pd(reinterpret_cast<const double*>(in + k * in_step));
  }
  for (int k = 0; k < 4; k += 2) {
    pair[k] = _mm256_unpacklo_pd(line[k], line[k + 1]);
    pair[k + 1] = _mm256_unpackhi_pd(line[k], line[k + 1]);
  }
  for (int k = 0; k < 2; ++k) {
    _mm256_storeu_pd(reinterpret_cast<double*>(places[k] + offset),
                     _mm256_permute2f128_pd(pair[k], pair[k + 2], 0x20));
    _mm256_storeu_pd(reinterpret_cast<double*>(places[k + 2] + offset),
                     _mm256_permute2f128_pd(pair[k], pair[k + 2], 0x31));
  }
}

/// A square of words that a vector of 16 bytes holds a line of. Each round interleaves lines that
/// are half the square apart; as many rounds as there are bits in the number of a line.
template <int kSide, typename Low, typename High>
OFL_AVX2 inline void transpose_lines(const char* in, int64_t in_step, char* const* places,
                                     int64_t offset, const Low& low, const High& high) {
  __m128i lines[kSide], next[kSide];
  for (int k = 0; k < kSide; ++k) {
    lines[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + k * in_step));
  }
  for (int round = 1; round < kSide; round *= 2) {
    for (int k = 0; k < kSide / 2; ++k) {
      next[2 * k] = low(lines[k], lines[k + kSide / 2]);
      next[2 * k + 1] = high(lines[k], lines[k + kSide / 2]);
    }
    for (int k = 0; k < kSide; ++k) lines[k] = next[k];
  }
  for (int k = 0; k < kSide; ++k) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(places[k] + offset), lines[k]);
  }
}

OFL_AVX2 void transpose_words1(const char* in, int64_t in_step, char* const* places,
                               int64_t offset) {
  transpose_lines<16>(
      in, in_step, places, offset,
      [](__m128i a, __m128i b) OFL_AVX2 { return _mm_unpacklo_epi8(a, b); },
      [](__m128i a, __m128i b) OFL_AVX2 { return _mm_unpackhi_epi8(a, b); });
}

OFL_AVX2 void transpose_words2(const char* in, int64_t in_step, char* const* places,
                               int64_t offset) {
  transpose_lines<8>(
      in, in_step, places, offset,
      [](__m128i a, __m128i b) OFL_AVX2 { return _mm_unpacklo_epi16(a, b); },
      [](__m128i a, __m128i b) OFL_AVX2 { return _mm_unpackhi_epi16(a, b); });
}

/// The elements that no square covers.
template <typename Word>
void transpose_some(const char* in, int64_t in_step, char* const* places, int64_t offset,
                    int64_t count, int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    const char* const from = in + line * in_step;
    const int64_t to = offset + line * static_cast<int64_t>(sizeof(Word));
    for (int64_t k = 0; k < count; ++k) {
      std::memcpy(places[k] + to, from + k * sizeof(Word), sizeof(Word));
    }
  }
}

}  // namespace

BlockTranspose block_transpose(size_t item_size) {
  static const bool is_able = choose_by_isa("transpose", false, true);
  if (is_able && item_size == 1) return {16, transpose_words1, transpose_some<uint8_t>};
  if (is_able && item_size == 2) return {8, transpose_words2, transpose_some<uint16_t>};
  if (is_able && item_size == 4) return {8, transpose_words4, transpose_some<uint32_t>};
  if (is_able && item_size == 8) return {4, transpose_words8, transpose_some<uint64_t>};
  return {};
}
#else
BlockTranspose block_transpose(size_t) { return {}; }
#endif

}  // namespace ofl::ops
