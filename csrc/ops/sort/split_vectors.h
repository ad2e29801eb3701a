// Vectors of elements that are split in two: those up to a bound, and the others.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/vectors.h"

#ifdef OFL_X86_VECTORS
// GCC's header leaves lanes that no mask picks uninitialized.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace ofl::ops {

#ifdef OFL_X86_VECTORS

/// For each mask of eight lanes the lanes that are set, then the others, both in their order.
/// `Parts` bytes make a lane; `Lanes` of the eight are used.
template <int Lanes, int Parts>
constexpr auto make_orders() {
  std::array<std::array<uint8_t, Lanes * Parts>, (1 << Lanes)> orders{};
  for (int mask = 0; mask < 1 << Lanes; ++mask) {
    int place = 0;
    for (int wanted = 1; wanted >= 0; --wanted) {
      for (int lane = 0; lane < Lanes; ++lane) {
        if ((mask >> lane & 1) != wanted) continue;
        for (int part = 0; part < Parts; ++part) {
          orders[mask][place++] = static_cast<uint8_t>(lane * Parts + part);
        }
      }
    }
  }
  return orders;
}
inline constexpr auto kOrders4 = make_orders<4, 2>();   // halves of 64-bit lanes
inline constexpr auto kOrders8 = make_orders<8, 1>();   // 32-bit lanes
inline constexpr auto kOrders16 = make_orders<8, 2>();  // bytes of 16-bit lanes

// Each kind of vector:
//   read(from, &v)                  reads one
//   up_to(v, bound)                 the mask of the lanes that are not above it
//   put(v, mask, left, right)       writes those at `left`, the others so that they end at `right`;
//                                   there is room for kRoom elements between them

/// 256 bits, or 128 of two-byte elements.
template <size_t ElementSize>
struct Register256 {
  using Type = __m256i;
};
template <>
struct Register256<2> {
  using Type = __m128i;
};

template <typename T>
struct Vector256 {
  static constexpr bool kFloat = std::is_floating_point_v<T>;
  static constexpr int kBytes = sizeof(T) == 2 ? 16 : 32;
  static constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  static constexpr int kRoom = 2 * kLanes;  // it is written as a whole at both ends
  using Element = T;
  using Type = typename Register256<sizeof(T)>::Type;

  static OFL_AVX2 void read(const T* from, Type* v) {
    if constexpr (sizeof(T) == 2) {
      *v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    } else {
      *v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
  }
  static OFL_AVX2 unsigned up_to(const Type& v, T bound) {
    if constexpr (std::is_same_v<T, float>) {
      const __m256 below = _mm256_cmp_ps(_mm256_castsi256_ps(v), _mm256_set1_ps(bound), _CMP_LE_OQ);
      return static_cast<unsigned>(_mm256_movemask_ps(below));
    } else if constexpr (std::is_same_v<T, double>) {
      const __m256d below =
          _mm256_cmp_pd(_mm256_castsi256_pd(v), _mm256_set1_pd(bound), _CMP_LE_OQ);
      return static_cast<unsigned>(_mm256_movemask_pd(below));
    } else {
      return ~above(v, bound) & ((1u << kLanes) - 1);
    }
  }
  static OFL_AVX2 void put(const Type& v, unsigned mask, T* left, T* right) {
    if constexpr (sizeof(T) == 2) {
      const auto* order = reinterpret_cast<const __m128i*>(kOrders16[mask].data());
      const __m128i split = _mm_shuffle_epi8(v, _mm_loadu_si128(order));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(left), split);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(right - kLanes), split);
    } else {
      const uint8_t* const row = sizeof(T) == 4 ? kOrders8[mask].data() : kOrders4[mask].data();
      const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row));
      const __m256i split = _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(order));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(left), split);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(right - kLanes), split);
    }
  }

 private:
  // The processor compares signed integers only.
  static OFL_AVX2 unsigned above(const Type& v, T bound) {
    using Signed = std::conditional_t<sizeof(T) == 2, int16_t,
                                      std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
    constexpr auto flip = static_cast<Signed>(
        std::is_unsigned_v<T> ? uint64_t{1} << (sizeof(T) * 8 - 1) : uint64_t{0});
    const auto flipped = static_cast<Signed>(static_cast<Signed>(bound) ^ flip);
    if constexpr (sizeof(T) == 2) {
      const __m128i over =
          _mm_cmpgt_epi16(_mm_xor_si128(v, _mm_set1_epi16(flip)), _mm_set1_epi16(flipped));
      return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(over, _mm_setzero_si128())));
    } else if constexpr (sizeof(T) == 4) {
      const __m256i over = _mm256_cmpgt_epi32(_mm256_xor_si256(v, _mm256_set1_epi32(flip)),
                                              _mm256_set1_epi32(flipped));
      return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(over)));
    } else {
      const __m256i over = _mm256_cmpgt_epi64(_mm256_xor_si256(v, _mm256_set1_epi64x(flip)),
                                              _mm256_set1_epi64x(flipped));
      return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(over)));
    }
  }
};

/// 512 bits; elements of two bytes are widened to four.
template <typename T>
struct Vector512 {
  static constexpr int kLanes = sizeof(T) == 8 ? 8 : 16;
  static constexpr int kRoom = kLanes;  // it is written as a whole at the left
  using Element = T;
  using Type = __m512i;

  static OFL_AVX512 void read(const T* from, Type* v) {
    if constexpr (sizeof(T) == 2) {
      const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      *v = std::is_signed_v<T> ? _mm512_cvtepi16_epi32(narrow) : _mm512_cvtepu16_epi32(narrow);
    } else {
      *v = _mm512_loadu_si512(from);
    }
  }
  static OFL_AVX512 unsigned up_to(const Type& v, T bound) {
    if constexpr (std::is_same_v<T, float>) {
      return _mm512_cmp_ps_mask(_mm512_castsi512_ps(v), _mm512_set1_ps(bound), _CMP_LE_OQ);
    } else if constexpr (std::is_same_v<T, double>) {
      return _mm512_cmp_pd_mask(_mm512_castsi512_pd(v), _mm512_set1_pd(bound), _CMP_LE_OQ);
    } else if constexpr (sizeof(T) == 8) {
      const __m512i limit = _mm512_set1_epi64(static_cast<int64_t>(bound));
      return std::is_signed_v<T> ? _mm512_cmple_epi64_mask(v, limit)
                                 : _mm512_cmple_epu64_mask(v, limit);
    } else {
      const __m512i limit = _mm512_set1_epi32(static_cast<int32_t>(bound));
      return std::is_signed_v<T> ? _mm512_cmple_epi32_mask(v, limit)
                                 : _mm512_cmple_epu32_mask(v, limit);
    }
  }
  // In registers, and then whole: a compressing store is slow on some processors.
  static OFL_AVX512 void put(const Type& v, unsigned mask, T* left, T* right) {
    const unsigned others = ~mask & ((1u << kLanes) - 1);
    const int count = __builtin_popcount(others);
    const unsigned first = (1u << count) - 1;
    if constexpr (sizeof(T) == 8) {
      _mm512_storeu_si512(left, _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), v));
      const __m512i rest = _mm512_maskz_compress_epi64(static_cast<__mmask8>(others), v);
      _mm512_mask_storeu_epi64(right - count, static_cast<__mmask8>(first), rest);
    } else {
      const __m512i chosen = _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), v);
      const __m512i rest = _mm512_maskz_compress_epi32(static_cast<__mmask16>(others), v);
      if constexpr (sizeof(T) == 4) {
        _mm512_storeu_si512(left, chosen);
        _mm512_mask_storeu_epi32(right - count, static_cast<__mmask16>(first), rest);
      } else {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(left), _mm512_cvtepi32_epi16(chosen));
        _mm256_mask_storeu_epi16(right - count, static_cast<__mmask16>(first),
                                 _mm512_cvtepi32_epi16(rest));
      }
    }
  }
};

#endif

}  // namespace ofl::ops
