// Loops of comparisons and logic: from vectors of elements to bytes that are 0 or 1. For regions
// that are compiled for AVX2.
#pragma once

#include "ops/elementwise/arithmetic/loops.h"

namespace ofl::ops::arithmetic {

namespace {

struct Less : Traits<2, false, true> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a < b;
  }
};

struct LessEqual : Traits<2, false, true> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a <= b;
  }
};

struct Equal : Traits<2> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a == b;
  }
};

struct NotEqual : Traits<2> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a != b;
  }
};

struct Greater : Traits<2, false, true> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a > b;
  }
};

struct GreaterEqual : Traits<2, false, true> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return a >= b;
  }
};

struct LogicalAnd : Traits<2> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return (a != 0) & (b != 0);
  }
};

struct LogicalOr : Traits<2> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return (a != 0) | (b != 0);
  }
};

struct LogicalXor : Traits<2> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V a, typename W::V b) {
    return (a != 0) ^ (b != 0);
  }
};

struct LogicalNot : Traits<1> {
  template <typename W>
  static OFL_INLINE auto of(typename W::V x) {
    return x == 0;
  }
};

/// The lower halves of eight elements whose bits are all the same.
OFL_INLINE __m256i halves(__m256i a, __m256i b) {
  const __m256 even = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(even), 0xd8);
}

/// Bytes of 32 elements of four bytes whose bits are all the same.
OFL_INLINE __m256i to_bytes(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i in_lanes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_permutevar8x32_epi32(in_lanes, order);
  return _mm256_and_si256(bytes, _mm256_set1_epi8(1));
}

constexpr intptr_t kTruths = 32;  // in a vector

/// `inputs.result(i)`: all bits of the elements from i on that are true.
template <typename W, typename AllInputs>
OFL_INLINE void store_truths(const AllInputs& inputs, intptr_t i, char* out) {
  __m256i x[4];
  for (int j = 0; j < 4; ++j) {
    if constexpr (W::kLanes == 8) {
      x[j] = (__m256i)inputs.result(i + 8 * j);
    } else {
      x[j] = halves((__m256i)inputs.result(i + 8 * j), (__m256i)inputs.result(i + 8 * j + 4));
    }
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), to_bytes(x[0], x[1], x[2], x[3]));
}

/// The last vector ends with the last element.
template <typename T, typename Test, bool kFirstStays, bool kSecondStays>
OFL_INLINE void find_truths(const T* a, const T* b, char* out, intptr_t n) {
  if (n < kTruths) {
    using One = Vectors<T, sizeof(T)>;
    const Inputs<One, Test, kFirstStays, kSecondStays> inputs(a, b);
    for (intptr_t i = 0; i < n; ++i) out[i] = inputs.result(i)[0] != 0;
    return;
  }
  using W = Vectors<T, 32>;
  const Inputs<W, Test, kFirstStays, kSecondStays> inputs(a, b);
  for (intptr_t i = 0; i + kTruths <= n; i += kTruths) store_truths<W>(inputs, i, out);
  if (n % kTruths != 0) store_truths<W>(inputs, n - kTruths, out);
}

/// A LoopFn.
template <typename T, typename Test>
void truth_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  constexpr int kOut = Test::kInputs;
  constexpr auto kSize = static_cast<intptr_t>(sizeof(T));
  const intptr_t n = dims[0];
  if (n <= 0) return;
  char* const out = args[kOut];
  bool usual = steps[kOut] == 1;
  for (int k = 0; k < kOut; ++k) {
    const bool stays = kOut == 2 && steps[k] == 0;
    const intptr_t bytes = stays ? kSize : n * kSize;
    usual = usual && (stays || steps[k] == kSize) && (args[k] + bytes <= out || out + n <= args[k]);
  }
  const T *const a = reinterpret_cast<const T*>(args[0]), *const b = reinterpret_cast<const T*>(
                                                              args[kOut - 1]);
  if (!usual || (kOut == 2 && steps[0] == 0 && steps[1] == 0)) {
    return leave_to_numpys<kOut>(args, n, 0, steps, data);
  }
  if (kOut == 1 || (steps[0] != 0 && steps[1] != 0))
    return find_truths<T, Test, false, false>(a, b, out, n);
  if (steps[0] != 0) return find_truths<T, Test, false, true>(a, b, out, n);
  find_truths<T, Test, true, false>(a, b, out, n);
}

/// NumPy's loops of smaller elements are as fast.
template <typename T, typename Test>
constexpr LoopFn truth_loop_of() {
  if constexpr (sizeof(T) >= 4) {
    return truth_loop<typename LoopType<T, Test>::Type, Test>;
  } else {
    return nullptr;
  }
}

/// Of a dtype, by Arithmetic.
template <typename T>
constexpr LoopFn kLoopsOf[kArithmetics] = {loop_of<T, Add>(),
                                           loop_of<T, Subtract>(),
                                           loop_of<T, Multiply>(),
                                           loop_of<T, Divide>(),
                                           loop_of<T, Sqrt>(),
                                           loop_of<T, Square>(),
                                           loop_of<T, Reciprocal>(),
                                           loop_of<T, Negative>(),
                                           loop_of<T, Absolute>(),
                                           loop_of<T, Round<_MM_FROUND_TO_NEG_INF>>(),
                                           loop_of<T, Round<_MM_FROUND_TO_POS_INF>>(),
                                           loop_of<T, Round<_MM_FROUND_TO_ZERO>>(),
                                           loop_of<T, Round<_MM_FROUND_TO_NEAREST_INT>>(),
                                           loop_of<T, Maximum>(),
                                           loop_of<T, Minimum>(),
                                           loop_of<T, And>(),
                                           loop_of<T, Or>(),
                                           loop_of<T, Xor>(),
                                           loop_of<T, Invert>(),
                                           truth_loop_of<T, Less>(),
                                           truth_loop_of<T, LessEqual>(),
                                           truth_loop_of<T, Equal>(),
                                           truth_loop_of<T, NotEqual>(),
                                           truth_loop_of<T, Greater>(),
                                           truth_loop_of<T, GreaterEqual>(),
                                           truth_loop_of<T, LogicalAnd>(),
                                           truth_loop_of<T, LogicalOr>(),
                                           truth_loop_of<T, LogicalXor>(),
                                           truth_loop_of<T, LogicalNot>()};

}  // namespace

}  // namespace ofl::ops::arithmetic
